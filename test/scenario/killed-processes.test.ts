// Leftovers of a killed process on the disk: temporary files of backups, restores and archives, uploads, sockets, and files on
// their way to another disk. They are removed, but not those of a running process.

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ControlHandlers, openControl } from '../../cli/process/control-channel'
import { registerProcess } from '../../cli/process/processes'
import { newId } from '../../src/app/world'
import { folderPlace } from '../../src/backup/place'
import { removeAbandoned, withScratchFolder } from '../../src/db/scratch-folder'
import { openUploads } from '../../src/media/uploads'
import { temporaryFolder } from '../support/databases/databases'
import { startTestGateway, waitFor } from '../support/gateway'

setDefaultTimeout(180_000)

const WORKER = join(import.meta.dir, '../support/processes/stay-until-killed.ts')
const running: Bun.Subprocess[] = []
afterEach(async () => {
  for (const child of running.splice(0)) await kill(child)
})

/** A process in a data directory, and the paths of its files. */
async function startProcess(dataDir: string) {
  const child = Bun.spawn([process.execPath, WORKER, dataDir], { stdout: 'pipe', stderr: 'inherit' })
  running.push(child)
  const { value } = await child.stdout.getReader().read()
  const paths = JSON.parse(new TextDecoder().decode(value)) as Record<
    'scratch' | 'uploads' | 'socket',
    string
  >
  return { child, ...paths }
}

async function kill(child: Bun.Subprocess): Promise<void> {
  child.kill('SIGKILL')
  await child.exited
}

/** Makes a file or a folder look some days old. */
function age(path: string): void {
  const days = Date.now() / 1000 - 3 * 86_400
  utimesSync(path, days, days)
}

test('temporary files are removed once their process was killed, and never while it lives', async () => {
  const dataDir = temporaryFolder()
  const { child, scratch } = await startProcess(dataDir)
  expect(readdirSync(scratch).sort()).toEqual(['copy.sqlite', 'lock'])
  expect(statSync(scratch).mode & 0o777).toBe(0o700)
  age(scratch)
  // A separate clean-up, and that of the next process that needs a folder.
  await removeAbandoned(dataDir)
  await withScratchFolder(dataDir, async (own) => {
    age(own)
    await removeAbandoned(dataDir)
    expect(existsSync(own)).toBe(true)
  })
  expect(readdirSync(scratch).sort()).toEqual(['copy.sqlite', 'lock'])
  await kill(child)
  await withScratchFolder(dataDir, async () => expect(existsSync(scratch)).toBe(false))
  expect(readdirSync(dataDir).filter((name) => name.startsWith('temporary-'))).toEqual([])
})

test('a new folder stays: its process may not have locked it yet', async () => {
  const dataDir = temporaryFolder()
  const young = join(dataDir, 'temporary-young')
  mkdirSync(young)
  await removeAbandoned(dataDir)
  expect(existsSync(young)).toBe(true)
  age(young)
  await removeAbandoned(dataDir)
  expect(existsSync(young)).toBe(false)
})

test('uploads of a process that is killed while another one serves are removed by that one', async () => {
  const dataDir = temporaryFolder()
  const other = await startProcess(dataDir)
  const uploads = openUploads(join(dataDir, 'uploads'), newId, registerProcess(dataDir))
  expect(readdirSync(other.uploads)).toHaveLength(1)
  await kill(other.child)
  uploads.removeAbandoned()
  expect(existsSync(other.uploads)).toBe(false)
  expect(readdirSync(join(dataDir, 'uploads'))).toHaveLength(1)
})

test('a gateway removes leftovers soon after its start', async () => {
  const dataDir = temporaryFolder()
  const { child, scratch } = await startProcess(dataDir)
  await kill(child)
  age(scratch)
  const gateway = await startTestGateway({ dataDir })
  await waitFor(() => !existsSync(scratch))
  await gateway.close()
})

test('a socket on its way to its place, or away from it, is removed by the next process once it is old', async () => {
  const dataDir = temporaryFolder()
  const { child, socket } = await startProcess(dataDir)
  await kill(child)
  const listen = (name: string) => {
    const path = join(dataDir, name)
    const listener = Bun.listen({ unix: path, socket: { data() {} } })
    age(path)
    return { path, [Symbol.dispose]: () => listener.stop(true) }
  }
  using leaving = listen('control.sock.7-removed')
  // By its name that of a place of its own.
  using other = listen('control.sock.mine')
  const open = () => openControl(dataDir, {} as ControlHandlers, (event) => expect(event).toBe(''))
  const channel = open()
  expect(existsSync(socket)).toBe(true)
  age(socket)
  const newer = open()
  expect(existsSync(socket)).toBe(false)
  expect(existsSync(leaving.path)).toBe(false)
  expect(existsSync(other.path)).toBe(true)
  await Promise.all([channel.close(), newer.close()])
})

test('a file on its way from another disk is removed by a later backup, unless it still grows', async () => {
  const folder = temporaryFolder()
  const backup = 'gateway-20261122T060000Z.sqlite.zst.part'
  const growing = 'gateway-20261123T060000Z.sqlite.zst.part'
  const archive = `charges-2026-01-${'0'.repeat(64)}.ndjson.zst.part`
  for (const name of [backup, growing, archive, 'mine.part']) writeFileSync(join(folder, name), 'half')
  for (const name of [backup, archive, 'mine.part']) age(join(folder, name))
  const made = join(temporaryFolder(), 'made')
  writeFileSync(made, 'whole')
  await folderPlace(folder).put(made, 'gateway-20261124T060000Z.sqlite.zst')
  expect(readdirSync(folder).sort()).toEqual(
    [growing, 'gateway-20261124T060000Z.sqlite.zst', 'mine.part'].sort(),
  )
})
