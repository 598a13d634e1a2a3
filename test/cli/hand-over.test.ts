// The handover of a process to its successor, if that one dies: the report says which of the two serves.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { controlSocketOf } from '../../cli/process/control-channel'
import { Handover } from '../../cli/process/take-over'
import { temporaryFolder } from '../support/databases/databases'
import { waitFor } from '../support/gateway'
import { isAlive } from '../support/processes/executable'

setDefaultTimeout(60_000)

/** A process that hands over to a successor that waits until `die` is called; commands already reach the successor. */
function startHandover() {
  const dataDir = temporaryFolder()
  const [pidFile, endFile] = [join(dataDir, 'pid'), join(dataDir, 'end')]
  const calls: string[] = []
  const handedOver = Promise.withResolvers<void>()
  let isLocked = true
  const handover = new Handover({
    dataDir,
    command: ['sh', '-c', `echo $$ > ${pidFile}; until [ -e ${endFile} ]; do sleep 0.05; done; kill -9 $$`],
    server: {
      giveWay: async () => {},
      takeBack: () => calls.push('takeBack'),
      handOver: () => {
        calls.push('handOver')
        return handedOver.promise
      },
    },
    lock: {
      release() {
        isLocked = false
      },
      take() {
        isLocked = true
        return true
      },
    },
    reopenControl: () => calls.push('reopenControl'),
    onLeft: async () => void calls.push('onLeft'),
  })
  return {
    handover,
    handedOver,
    calls,
    isLocked: () => isLocked,
    pid: async () => {
      await waitFor(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8').endsWith('\n'))
      return Number(readFileSync(pidFile, 'utf8'))
    },
    /** Lets commands reach the successor. */
    answer: () =>
      Bun.serve({ unix: controlSocketOf(dataDir), fetch: () => Response.json({ pid: process.pid + 1 }) }),
    /** Resolves once its parent knows its end: until then the system keeps its id. */
    async die(pid: number) {
      writeFileSync(endFile, '')
      await waitFor(() => !isAlive(pid))
    },
  }
}

test('a successor that dies once it has taken over is reported as the one that took over', async () => {
  const { handover, handedOver, calls, pid, answer, die } = startHandover()
  const restarting = handover.restart()
  const successor = await pid()
  using _control = answer()
  await handover.handOver(() => true)
  await waitFor(() => calls.includes('handOver'))
  await die(successor)
  handedOver.resolve()
  expect(await restarting).toEqual({ pid: successor })
  expect(calls).toEqual(['handOver', 'onLeft'])
})

test('a successor that dies before commands reach it leaves this process serving', async () => {
  const { handover, calls, pid, die, isLocked } = startHandover()
  const restarting = handover.restart()
  const successor = await pid()
  await handover.handOver(() => true)
  expect(isLocked()).toBe(false)
  await die(successor)
  expect(await restarting).toEqual({ fault: expect.stringContaining('ended (SIGKILL) before it had taken') })
  expect(isLocked()).toBe(true)
  expect(calls).not.toContain('handOver')
  expect(calls).toContain('takeBack')
})
