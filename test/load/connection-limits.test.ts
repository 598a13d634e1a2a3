// More connections than there is room for: the executable with 512 descriptors, on real sockets. Honest callers are served
// all the while or refused at once, what runs goes on, and the process rests.

import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  type Caller,
  type Door,
  guardConnections,
  mostConnections,
  type Sockets,
} from '../../src/app/connection-guard'
import type { Config } from '../../src/config/schema'
import { ask, type Installation, install, type Running, stopWell } from '../support/executable'
import { askSteadily, Flood, watchCpu } from '../support/flood'
import { say, waitFor } from '../support/gateway'

setDefaultTimeout(180_000)

const PARTIAL = 'GET /health HTTP/1.1\r\nHost: gateway\r\nX-Slow: '
const HEALTH = 'GET /health HTTP/1.1\r\nHost: gateway\r\n\r\n'
/** Generous: the machine may be busy with other things. */
const PATIENCE_MS = 60_000

const floods: Flood[] = []
afterEach(() => {
  for (const flood of floods.splice(0)) flood.end()
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

/** Requests on connections of their own, fifty a second, and a stream that takes some seconds. */
function honest(running: Running, secret: string) {
  const steady = askSteadily(20, () =>
    ask(running, secret, {}, { headers: { connection: 'close' }, signal: AbortSignal.timeout(PATIENCE_MS) }),
  )
  const stream = ask(running, secret, {
    stream: true,
    messages: say('[sandbox tokens=100 token_delay_ms=60] Hello!'),
  }).then((response) => response.text())
  return { ...steady, stream }
}

/** The lines of the log about anything but single requests. */
const lines = ({ stderr }: Running) =>
  stderr()
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event !== 'request')

const events = (running: Running): string[] => lines(running).map(({ event }) => event)

async function end(installation: Installation, running: Running): Promise<void> {
  for (const flood of floods) flood.end()
  await stopWell(installation, running)
}

describe('with 512 descriptors', () => {
  test('700 silent connections are closed, and others are served as before', async () => {
    const { installation, secret, running, flood } = await start()
    const others = honest(running, secret)
    await waitFor(() => Number(others.outcomes['200']) > 10, PATIENCE_MS)
    const idle = flood()
    const isAtRest = watchCpu(running.pid)
    idle.open(700)
    expect(await others.stream).toEndWith('data: [DONE]\n\n')
    // Some three hundred requests in six seconds are in it.
    expect(isAtRest()).toBe(true)
    const outcomes = await others.stop()
    expect(Object.keys(outcomes)).toEqual(['200'])
    expect(new Set(events(running))).toEqual(new Set(['connections_closed']))
    await end(installation, running)
  })

  test('silent connections that keep coming are closed as they come', async () => {
    const { installation, secret, running, flood } = await start()
    const others = honest(running, secret)
    const idle = flood()
    for (let times = 0; times < 300; times++) {
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

  test('while all are in the middle of their headers new callers are refused, running requests go on, and later all are served', async () => {
    const { installation, secret, running, flood } = await start({ headersTimeoutMs: 10_000 })
    const others = honest(running, secret)
    await waitFor(() => Number(others.outcomes['200']) > 10, PATIENCE_MS)
    const partial = flood(PARTIAL)
    const isAtRest = watchCpu(running.pid)
    partial.open(700)
    expect(await others.stream).toEndWith('data: [DONE]\n\n')
    expect(isAtRest()).toBe(true)
    await waitFor(() => events(running).includes('connections_accepted'), PATIENCE_MS)
    const answer = await ask(running, secret)
    expect(answer.status).toBe(200)
    const { '200': served, ECONNREFUSED: refused, ...rest } = await others.stop()
    expect(served).toBeGreaterThan(10)
    expect(refused).toBeGreaterThan(10)
    // What waited to be accepted when the door was shut.
    expect(Object.values(rest).reduce((sum, count) => sum + count, 0)).toBeLessThan(10)
    expect(events(running).filter((event) => event !== 'connections_closed')).toEqual([
      'connections_refused',
      'connections_accepted',
    ])
    await end(installation, running)
  })
})

test('an address has no more connections than it may; those that were answered stay, and other addresses are not touched', async () => {
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
  await waitFor(() => events(running).length > 0, PATIENCE_MS)
  expect(lines(running)[0]).toMatchObject({
    event: 'connections_closed',
    excess: 130,
    address: '127.0.0.2',
    mostPerAddress: 50,
  })
  await end(installation, running)
})

describe('the guard by itself', () => {
  const config = (server: Config['server'] = {}) => ({ server }) as Config
  const door: Door = { port: 1, closeIdle: () => 0, shut() {}, open() {} }
  const callersOf = (addresses: Record<string, number>): Caller[] =>
    Object.entries(addresses).flatMap(([address, count]) =>
      Array.from({ length: count }, () => ({ descriptor: 0, address, port: 0 })),
    )

  /** As many connections as each address has left in the end. */
  async function left(addresses: Record<string, number>, server: Config['server'] = {}) {
    const callers = callersOf(addresses).map((caller, descriptor) => ({ ...caller, descriptor }))
    const ended = new Set<number>()
    let sweeps = 0
    const sockets: Sockets = {
      limit: 10_000,
      open: () => callers.length - ended.size,
      callers: (_port, from, to) => {
        if (from === 0) sweeps++
        const part = callers.slice(from, to)
        return { callers: part, open: part.length }
      },
      isSilent: () => false,
      isAnswered: ({ descriptor }) => descriptor % 2 === 0,
      end: ({ descriptor }) => ended.add(descriptor),
      steer: () => false,
      listeners: () => [],
      stopListening: () => false,
      hasCallers: () => false,
    }
    const stop = guardConnections({ sockets, door, config: config(server), log: () => {} })
    // The first two are over when the third begins.
    await waitFor(() => sweeps === 3, PATIENCE_MS)
    stop()
    const counts: Record<string, number> = {}
    for (const { address, descriptor } of callers) {
      if (!ended.has(descriptor)) counts[address] = (counts[address] ?? 0) + 1
    }
    return counts
  }

  test.concurrent('the descriptors of the system are the limit, less an eighth', () => {
    const rows: [limit: number, server: Config['server'], most: number][] = [
      [512, {}, 448],
      [1_024, {}, 896],
      [20_000, {}, 18_976],
      [1_048_576, {}, 20_000],
      [1_048_576, { maxConnections: 50_000 }, 50_000],
      [512, { maxConnections: 50_000 }, 448],
      [20, {}, 4],
      [8, {}, 1],
    ]
    for (const [limit, server, most] of rows) expect(mostConnections(config(server), limit)).toBe(most)
  })
  test.concurrent('a public address has a thousand at most; private ones, where proxies stand, as many as they need', async () => {
    const addresses = {
      '203.0.113.1': 1_200,
      '127.0.0.1': 1_100,
      '10.0.0.1': 1_100,
      'fd00:0:0:0:0:0:0:1': 1_100,
    }
    expect(await left(addresses)).toEqual({ ...addresses, '203.0.113.1': 1_000 })
  })
  test.concurrent('a limit that is set holds for private addresses too', async () => {
    expect(await left({ '127.0.0.1': 30, '10.0.0.1': 5 }, { maxConnectionsPerAddress: 10 })).toEqual({
      '127.0.0.1': 10,
      '10.0.0.1': 5,
    })
  })
  test.concurrent('proxies that are trusted have as many as they need, whatever is set for an address', async () => {
    const server = { maxConnectionsPerAddress: 10, trustedProxies: ['10.0.0.0/8'] }
    expect(await left({ '10.0.0.1': 30, '127.0.0.1': 30 }, server)).toEqual({
      '10.0.0.1': 30,
      '127.0.0.1': 10,
    })
  })
  test.concurrent('the addresses of one network of IPv6 are one; an address of IPv4 is the same in either form', async () => {
    const counts = await left(
      {
        '2001:db8:0:1:0:0:0:1': 8,
        '2001:db8:0:1:0:0:0:2': 8,
        '2001:db8:0:2:0:0:0:1': 8,
        '0:0:0:0:0:ffff:c633:6401': 8,
        '198.51.100.1': 8,
      },
      { maxConnectionsPerAddress: 10 },
    )
    const { '2001:db8:0:1:0:0:0:1': one = 0, '2001:db8:0:1:0:0:0:2': two = 0 } = counts
    const { '198.51.100.1': short = 0, '0:0:0:0:0:ffff:c633:6401': mapped = 0 } = counts
    expect([one + two, counts['2001:db8:0:2:0:0:0:1'], short + mapped]).toEqual([10, 8, 10])
  })
})
