// The keys of one upstream: whose turn it is, which refusals let one rest, and for how long.

import { describe, expect, test } from 'bun:test'
import { type KeyRefusal, KeysInTurn } from '../../src/upstreams/keys-in-turn'

function keysOf(count: number) {
  const clock = { now: 1_000 }
  const keys = new KeysInTurn(['a', 'b', 'c'].slice(0, count), () => clock.now)
  return { clock, keys, next: () => keys.next().secret }
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
    ['a key of which the vendor wants money does so too', operator(402), 300_000],
    ['a bad key by a 400 does so too', operator(400), 300_000],
    ['a key over its rate rests for five seconds', busy(), 5_000],
    ['a key over its rate rests as long as the vendor says', busy(20_000), 20_000],
    ['but no longer than ten minutes', busy(86_400_000), 600_000],
  ]
  for (const [title, refusal, restMs] of rows) {
    test(title, () => {
      const { clock, keys, next } = keysOf(2)
      expect(keys.refused(keys.next(), refusal)).toBe(true)
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
    test(`${title} lets no key rest`, () => {
      const { keys, next } = keysOf(2)
      expect(keys.refused(keys.next(), refusal)).toBe(false)
      expect([next(), next()]).toEqual(['b', 'a'])
    })
  }

  test('a single key never rests', () => {
    const { keys, next } = keysOf(1)
    expect(keys.refused(keys.next(), operator(401))).toBe(false)
    expect([next(), next()]).toEqual(['a', 'a'])
  })

  test('where all rest no other may do, and the one that wakes first is next', () => {
    const { keys, next } = keysOf(2)
    expect(keys.refused(keys.next(), busy(20_000))).toBe(true)
    expect(keys.refused(keys.next(), busy(10_000))).toBe(false)
    expect([next(), next()]).toEqual(['b', 'b'])
  })
})
