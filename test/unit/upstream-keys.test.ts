// The keys of one upstream: which key a session uses, which is next without a session, which refusals make a key rest,
// and for how long.

import { describe, expect, test } from 'bun:test'
import { hashOf } from '../../src/lib/rendezvous'
import { type KeyRefusal, UpstreamKeys } from '../../src/upstreams/upstream-keys'

function keysOf(count: number) {
  const clock = { now: 1_000 }
  const keys = new UpstreamKeys(['a', 'b', 'c'].slice(0, count), () => clock.now)
  return { clock, keys, next: () => keys.choose(undefined).key.secret }
}

const operator = (status: number): KeyRefusal => ({ status, whose: 'operator', retryAfterMs: undefined })
const busy = (retryAfterMs?: number): KeyRefusal => ({ status: 429, whose: 'caller', retryAfterMs })

describe('keys in turn', () => {
  test('are used one after another', () => {
    const { next } = keysOf(3)
    expect([next(), next(), next(), next()]).toEqual(['a', 'b', 'c', 'a'])
  })

  const rows: readonly [string, KeyRefusal, number][] = [
    ['a key that is not served rests for five minutes', operator(401), 300_000],
    ['a key without credit at the vendor rests as long', operator(402), 300_000],
    ['an invalid key reported with a 400 rests as long', operator(400), 300_000],
    ['a key over its rate limit rests for five seconds', busy(), 5_000],
    ['a key over its rate limit rests as long as the vendor requests', busy(20_000), 20_000],
    ['but no longer than ten minutes', busy(86_400_000), 600_000],
  ]
  for (const [title, refusal, restMs] of rows) {
    test(title, () => {
      const { clock, keys, next } = keysOf(2)
      expect(keys.refused(keys.choose(undefined).key, refusal)).toBe(true)
      expect([next(), next()]).toEqual(['b', 'b'])
      clock.now += restMs - 1
      expect(next()).toBe('b')
      clock.now += 1
      expect([next(), next()].sort()).toEqual(['a', 'b'])
    })
  }

  const others: readonly [string, KeyRefusal][] = [
    ['a model that is gone', operator(404)],
    ['a mistake of the caller', { status: 400, whose: 'caller', retryAfterMs: undefined }],
    ['a fault of the vendor', { status: 500, whose: 'caller', retryAfterMs: undefined }],
  ]
  for (const [title, refusal] of others) {
    test(`${title} makes no key rest`, () => {
      const { keys, next } = keysOf(2)
      expect(keys.refused(keys.choose(undefined).key, refusal)).toBe(false)
      expect([next(), next()]).toEqual(['b', 'a'])
    })
  }

  test('a single key never rests', () => {
    const { keys, next } = keysOf(1)
    expect(keys.refused(keys.choose(undefined).key, operator(401))).toBe(false)
    expect([next(), next()]).toEqual(['a', 'a'])
  })

  test('if all keys rest, there is no alternative, and the one whose rest ends first is used', () => {
    const { keys, next } = keysOf(2)
    expect(keys.refused(keys.choose(undefined).key, busy(20_000))).toBe(true)
    expect(keys.refused(keys.choose(undefined).key, busy(10_000))).toBe(false)
    expect([next(), next()]).toEqual(['b', 'b'])
  })
})

describe('the keys of sessions', () => {
  const SESSIONS = 10_000
  const sessions = Array.from({ length: SESSIONS }, (_, number) => hashOf(`session-${number}`))
  const secrets = ['sk-1', 'sk-2', 'sk-3', 'sk-4']

  function nodeOf(list = secrets) {
    const clock = { now: 1_000 }
    const keys = new UpstreamKeys(list, () => clock.now)
    const all = () => sessions.map((session) => keys.choose(session).key.secret as string)
    return { clock, keys, all }
  }

  test('are the same on every node, in every order of the list, and after any other calls', () => {
    const [one, other] = [nodeOf(), nodeOf(secrets.toReversed())]
    const first = one.all()
    one.keys.choose(undefined)
    expect(one.all()).toEqual(first)
    expect(other.all()).toEqual(first)
  })

  test('are shared equally, within 3 %', () => {
    const counts = Map.groupBy(nodeOf().all(), (secret) => secret)
    for (const secret of secrets)
      expect(Math.abs((counts.get(secret)?.length ?? 0) / SESSIONS - 1 / 4)).toBeLessThan(0.03)
  })

  test.each(secrets)(
    'change only for sessions of %s while it rests, to all others equally, and then return',
    (resting) => {
      const { clock, keys, all } = nodeOf()
      const before = all()
      const key = keys.choose(sessions[before.indexOf(resting)]).key
      keys.refused(key, busy(20_000))
      const during = all()
      const moved = during.filter((secret, index) => secret !== before[index])
      expect(moved).toHaveLength(before.filter((secret) => secret === resting).length)
      expect(during).not.toContain(resting)
      for (const [, group] of Map.groupBy(moved, (secret) => secret))
        expect(Math.abs(group.length / moved.length - 1 / 3)).toBeLessThan(0.03)
      clock.now += 20_000
      expect(all()).toEqual(before)
    },
  )

  test('change only to a new key, and only for its share of the sessions', () => {
    const [before, after] = [nodeOf().all(), nodeOf([...secrets, 'sk-5']).all()]
    const moved = after.filter((secret, index) => secret !== before[index])
    expect(new Set(moved)).toEqual(new Set(['sk-5']))
    expect(Math.abs(moved.length / SESSIONS - 1 / 5)).toBeLessThan(0.03)
  })

  test('report the resting keys that the session prefers, in its order', () => {
    const { keys } = nodeOf()
    const session = sessions[0] as number
    const order: (number | null)[] = []
    for (let count = 0; count < secrets.length; count++) {
      const { key, resting } = keys.choose(session)
      expect(resting).toEqual(order.length === 0 ? null : (order as number[]))
      order.push(key.number)
      keys.refused(key, busy(20_000 + count))
    }
    expect(order.toSorted()).toEqual([1, 2, 3, 4])
    // All keys rest: the one whose rest ends first is used, and none is preferred to it.
    expect(keys.choose(session)).toMatchObject({ key: { number: order[0] }, resting: null })
  })
})
