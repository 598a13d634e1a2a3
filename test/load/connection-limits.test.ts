// More connections than there is room for: the executable with 512 descriptors, on real sockets. Honest callers are served
// all the while or refused at once, what runs continues, and the process rests.

import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Config } from '../../src/config/schema'
import { say, waitFor } from '../support/gateway'
import { ask, type Installation, install, type Running, stopWell } from '../support/processes/executable'
import { askSteadily, Flood, watchCpu } from '../support/servers/flood'

setDefaultTimeout(180_000)

const PARTIAL = 'GET /health HTTP/1.1\r\nHost: gateway\r\nX-Slow: '
const HEALTH = 'GET /health HTTP/1.1\r\nHost: gateway\r\n\r\n'
/** Generous: the machine may be busy with other things. */
const PATIENCE_MS = 60_000

const floods: Flood[] = []
afterAll(() => {
  for (const flood of floods) flood.end()
})

async function start(server: Config['server'] = {}) {
  const installation = await install({ config: { server } })
  const secret = await installation.makeKey('alice', '100')
  const running = await installation.serve({ before: 'ulimit -n 512' })
  const flood = (...options: [first?: string, from?: string]) => {
    const made = new Flood(running.url, ...options)
    floods.push(made)
    return made
  }
  return { installation, secret, running, flood }
}

/** Requests on connections of their own, fifty a second, and a stream that takes four seconds. */
function honest(running: Running, secret: string) {
  const steady = askSteadily(20, () =>
    ask(running, secret, {}, { headers: { connection: 'close' }, signal: AbortSignal.timeout(PATIENCE_MS) }),
  )
  const stream = ask(running, secret, {
    stream: true,
    messages: say('[sandbox tokens=100 token_delay_ms=40] Hello!'),
  }).then((response) => response.text())
  return { ...steady, stream }
}

const log = ({ stderr }: Running) =>
  stderr()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

/** The lines of the log about anything but single requests. */
const lines = (running: Running) => log(running).filter(({ event }) => event !== 'request')

const events = (running: Running): string[] => lines(running).map(({ event }) => event)

async function end(installation: Installation, running: Running): Promise<void> {
  for (const flood of floods) if (flood.url === running.url) flood.end()
  await stopWell(installation, running)
}

// Each has an executable of its own, which rests most of the time.
describe.concurrent('with 512 descriptors', () => {
  test('700 silent connections are closed, and other callers are served as before', async () => {
    const { installation, secret, running, flood } = await start()
    const others = honest(running, secret)
    await waitFor(() => Number(others.outcomes['200']) > 10, PATIENCE_MS)
    const idle = flood()
    const isAtRest = watchCpu(running.pid)
    idle.open(700)
    expect(await others.stream).toEndWith('data: [DONE]\n\n')
    // Some two hundred requests in four seconds are in it.
    expect(isAtRest()).toBe(true)
    const outcomes = await others.stop()
    // The line of a request says why it was not served.
    expect(log(running).filter(({ event, status }) => event === 'request' && status !== 200)).toEqual([])
    expect(Object.keys(outcomes)).toEqual(['200'])
    expect(new Set(events(running))).toEqual(new Set(['connections_closed']))
    await end(installation, running)
  })

  test('silent connections that keep coming are closed as they come', async () => {
    const { installation, secret, running, flood } = await start()
    const others = honest(running, secret)
    const idle = flood()
    for (let times = 0; times < 200; times++) {
      // As fast as they are closed: faster ones are refused, and others with them.
      await waitFor(() => idle.alive < 700, PATIENCE_MS)
      idle.open(20)
      await Bun.sleep(10)
    }
    expect(await others.stream).toEndWith('data: [DONE]\n\n')
    const { '200': served = 0, ...unserved } = await others.stop()
    expect(served).toBeGreaterThan(50)
    // One that comes in the moment in which all is taken may be refused, as it would be by any server.
    expect(Object.values(unserved).reduce((sum, count) => sum + count, 0)).toBeLessThan(served / 10)
    await end(installation, running)
  })

  test('while all connections send headers, new callers are refused, running requests continue, and later all are served', async () => {
    const { installation, secret, running, flood } = await start({ headersTimeoutMs: 10_000 })
    const others = honest(running, secret)
    await waitFor(() => Number(others.outcomes['200']) > 10, PATIENCE_MS)
    const partial = flood(PARTIAL)
    const isAtRest = watchCpu(running.pid)
    const doors = () => events(running).filter((event) => event !== 'connections_closed')
    // On a busy machine the first ones time out before the last are open: then further ones fill the free places.
    await waitFor(() => {
      if (doors().at(-1) !== 'connections_refused') partial.open(700 - partial.alive)
      return Number(others.outcomes.ECONNREFUSED) > 10
    }, PATIENCE_MS)
    expect(await others.stream).toEndWith('data: [DONE]\n\n')
    expect(isAtRest()).toBe(true)
    await waitFor(() => doors().at(-1) === 'connections_accepted', PATIENCE_MS)
    const answer = await ask(running, secret)
    expect(answer.status).toBe(200)
    const { '200': served, ECONNREFUSED: refused, ...rest } = await others.stop()
    expect(served).toBeGreaterThan(10)
    expect(refused).toBeGreaterThan(10)
    // What waited to be accepted when the door was shut.
    expect(Object.values(rest).reduce((sum, count) => sum + count, 0)).toBeLessThan(10)
    expect(doors()).toEqual(
      doors().map((_event, index) => `connections_${index % 2 === 0 ? 'refused' : 'accepted'}`),
    )
    await end(installation, running)
  })
})

test.concurrent('connections of one address are limited; answered ones stay, and other addresses are not affected', async () => {
  const { installation, secret, running, flood } = await start({ maxConnectionsPerAddress: 50 })
  const answered = flood(HEALTH, '127.0.0.2')
  answered.open(30)
  await waitFor(() => answered.answered === 30, PATIENCE_MS)
  const greedy = flood(PARTIAL, '127.0.0.2')
  greedy.open(150)
  const modest = flood(PARTIAL, '127.0.0.3')
  modest.open(40)
  await waitFor(() => greedy.alive <= 20, PATIENCE_MS)
  expect([answered.alive, greedy.alive, modest.alive]).toEqual([30, 20, 40])
  expect((await ask(running, secret)).status).toBe(200)
  const excess = () => lines(running).reduce((sum, line) => sum + line.excess, 0)
  await waitFor(() => excess() === 130, PATIENCE_MS)
  const closed = { event: 'connections_closed', address: '127.0.0.2', mostPerAddress: 50 }
  for (const line of lines(running)) expect(line).toMatchObject(closed)
  await end(installation, running)
})
