// The connection guard in isolation: how many connections each address may keep, without real sockets.
// test/load/connection-limits.test.ts tests the executable with real sockets.

import { describe, expect, test } from 'bun:test'
import type { Config } from '../../src/config/schema'
import {
  type Caller,
  connectionLimit,
  type GuardedServer,
  guardConnections,
  type Sockets,
} from '../../src/listen/connection-guard'
import { waitFor } from '../support/gateway'

describe('the guard by itself', () => {
  const config = (server: Config['server'] = {}) => ({ server }) as Config
  const door: GuardedServer = { port: 1, closeIdle: () => 0, shut() {}, open() {} }
  const callersOf = (addresses: Record<string, number>): Caller[] =>
    Object.entries(addresses).flatMap(([address, count]) =>
      Array.from({ length: count }, () => ({ descriptor: 0, address, port: 0 })),
    )

  /** Opens connections and returns the number that each address has left. */
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
    // The first two have ended when the third begins.
    await waitFor(() => sweeps === 3)
    stop()
    const counts: Record<string, number> = {}
    for (const { address, descriptor } of callers) {
      if (!ended.has(descriptor)) counts[address] = (counts[address] ?? 0) + 1
    }
    return counts
  }

  test.concurrent('the limit is the number of descriptors, minus an eighth', () => {
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
    for (const [limit, server, most] of rows) expect(connectionLimit(config(server), limit)).toBe(most)
  })
  test.concurrent('a public address has at most 1,000 connections, and a private one, which may be a proxy, any number', async () => {
    const addresses = {
      '203.0.113.1': 1_200,
      '127.0.0.1': 1_100,
      '10.0.0.1': 1_100,
      'fd00:0:0:0:0:0:0:1': 1_100,
    }
    expect(await left(addresses)).toEqual({ ...addresses, '203.0.113.1': 1_000 })
  })
  test.concurrent('a configured limit applies to private addresses too', async () => {
    expect(await left({ '127.0.0.1': 30, '10.0.0.1': 5 }, { maxConnectionsPerAddress: 10 })).toEqual({
      '127.0.0.1': 10,
      '10.0.0.1': 5,
    })
  })
  test.concurrent('trusted proxies have any number of connections, whatever the limit for an address', async () => {
    const server = { maxConnectionsPerAddress: 10, trustedProxies: ['10.0.0.0/8'] }
    expect(await left({ '10.0.0.1': 30, '127.0.0.1': 30 }, server)).toEqual({
      '10.0.0.1': 30,
      '127.0.0.1': 10,
    })
  })
  test.concurrent('the addresses of an IPv6 network count as one, and both forms of an IPv4 address are the same', async () => {
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
