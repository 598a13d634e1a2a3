// The compiled executable is replaced repeatedly while streams run and new connections come: none is refused, none is reset, every
// stream ends in its own time, and every charge is correct. A process that is killed while it drains leaves nothing behind.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { say, waitFor } from '../support/gateway'
import { ask, type Installation, install, type Running, stopWell } from '../support/processes/executable'
import { freePort } from '../support/processes/free-port'
import { isWholeRun } from '../support/random'

setDefaultTimeout(300_000)

const onLinux = process.platform === 'linux' ? test.concurrent : test.skip
const RESTARTS = isWholeRun ? 20 : 4
const NEW_CONNECTIONS_A_SECOND = 100
/** Longer than a start takes, so that a stream of each process outlives it. */
const STREAM = { stream: true, messages: say('[sandbox tokens=160 token_delay_ms=50] Hello!') }

const serveAt = (installation: Installation, port: number, ...flags: string[]) =>
  installation.serve({ port, flags })

onLinux(
  `${RESTARTS} restarts under streams and ${NEW_CONNECTIONS_A_SECOND} new connections a second`,
  async () => {
    const installation = await install()
    const secret = await installation.makeKey('alice', '100')
    const port = await freePort()
    let server = await serveAt(installation, port)
    const { url } = server
    const failures: string[] = []
    let asked = 0
    const one = async () => {
      asked++
      try {
        const response = await ask({ url }, secret, {}, { headers: { connection: 'close' } })
        await response.text()
        if (response.status !== 200) failures.push(String(response.status))
      } catch (error) {
        failures.push((error as { code?: string }).code ?? String(error))
      }
    }
    const requests: Promise<void>[] = []
    const caller = setInterval(() => requests.push(one()), 1_000 / NEW_CONNECTIONS_A_SECOND)
    const streams: Promise<string>[] = []
    const replaced: Running[] = []
    for (let restart = 0; restart < RESTARTS; restart++) {
      streams.push(ask({ url }, secret, STREAM).then((response) => response.text()))
      const next = await serveAt(installation, port, '--take-over')
      replaced.push(server)
      server = next
    }
    clearInterval(caller)
    await Promise.all(requests)
    expect(failures).toEqual([])
    expect(asked).toBeGreaterThan(RESTARTS)
    const ends = await Promise.all(streams)
    expect(ends.filter((text) => !text.trimEnd().endsWith('data: [DONE]'))).toEqual([])
    for (const { ended } of replaced) expect((await ended).code).toBe(0)
    const charges = await installation.rows(`select state, count(*) as count from charges group by state`)
    expect(charges).toEqual([{ state: 'settled', count: asked + RESTARTS }])
    await stopWell(installation, server)
  },
)

onLinux(
  'a process that is killed while it drains: its holds are released, and requests of the newer process continue',
  async () => {
    const installation = await install()
    const secret = await installation.makeKey('alice', '100')
    const port = await freePort()
    const first = await serveAt(installation, port)
    const dying = ask(first, secret, STREAM).then((response) => response.text())
    await waitFor(async () => (await installation.rows('select id from open_charges')).length === 1)
    const second = await serveAt(installation, port, '--take-over')
    const living = ask(second, secret, STREAM).then((response) => response.text())
    await waitFor(async () => (await installation.rows('select id from open_charges')).length === 2)
    first.kill('SIGKILL')
    await dying.catch(() => {})
    await waitFor(async () => (await installation.rows('select id from open_charges')).length === 1)
    expect(await installation.rows(`select ended_by from charges where state = 'released'`)).toEqual([
      { ended_by: 'expired' },
    ])
    expect((await living).trimEnd()).toEndWith('data: [DONE]')
    await stopWell(installation, second)
  },
)

test.concurrent('a second gateway on the data directory, or on the port, is refused without --take-over', async () => {
  const installation = await install()
  const port = await freePort()
  const server = await serveAt(installation, port)
  const again = await installation.serveUntilRefused()
  expect(again.code).toBe(1)
  expect(again.stderr).toContain('--take-over')
  const other = await install()
  const rival = await other.serveUntilRefused({ port })
  expect(rival).toMatchObject({ code: 1 })
  expect(rival.stderr).toContain('in use')
  await stopWell(installation, server)
})

test.concurrent('--take-over where nothing serves is a plain start, and a broken configuration leaves the old gateway serving', async () => {
  const installation = await install()
  const port = await freePort()
  const server = await serveAt(installation, port, '--take-over')
  writeFileSync(installation.configFile, 'export default { models: {} }')
  const failed = await installation.serveUntilRefused({ port, flags: ['--take-over'] })
  expect(failed.code).toBe(1)
  expect((await fetch(`${server.url}/health`)).status).toBe(200)
  server.kill('SIGTERM')
  expect((await server.ended).code).toBe(0)
})
