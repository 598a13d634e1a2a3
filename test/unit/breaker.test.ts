// The circuit breaker as a table: the state after each event, and whether requests may be sent in each state.

import { describe, expect, test } from 'bun:test'
import {
  BREAKER_FAILURES,
  BREAKER_OPEN_MS,
  Breaker,
  type BreakerEvent,
  type BreakerState,
  nextBreaker,
} from '../../src/upstreams/breaker'

const NOW = 1_000
const closed = (failures: number): BreakerState => ({ is: 'closed', failures })
const open = (until: number): BreakerState => ({ is: 'open', until })
const halfOpen = (until: number): BreakerState => ({ is: 'half-open', until })
const LATER = NOW + BREAKER_OPEN_MS

const rows: readonly [BreakerState, BreakerEvent, BreakerState][] = [
  [closed(0), 'attempted', closed(0)],
  [closed(0), 'answered', closed(0)],
  [closed(0), 'failed', closed(1)],
  [closed(0), 'cut', closed(0)],
  [closed(BREAKER_FAILURES - 1), 'attempted', closed(BREAKER_FAILURES - 1)],
  [closed(BREAKER_FAILURES - 1), 'answered', closed(0)],
  [closed(BREAKER_FAILURES - 2), 'failed', closed(BREAKER_FAILURES - 1)],
  [closed(BREAKER_FAILURES - 1), 'failed', open(LATER)],
  [closed(BREAKER_FAILURES - 1), 'cut', closed(BREAKER_FAILURES - 1)],
  [open(NOW + 1), 'attempted', open(NOW + 1)],
  [open(NOW), 'attempted', halfOpen(NOW)],
  [open(NOW - 1), 'attempted', halfOpen(NOW - 1)],
  // Requests that were sent before it opened.
  [open(NOW + 1), 'answered', closed(0)],
  [open(NOW + 1), 'failed', open(LATER)],
  [open(NOW + 1), 'cut', open(NOW + 1)],
  [halfOpen(NOW), 'attempted', halfOpen(NOW)],
  [halfOpen(NOW), 'answered', closed(0)],
  [halfOpen(NOW), 'failed', open(LATER)],
  [halfOpen(NOW), 'cut', open(NOW)],
]

describe('the breaker', () => {
  for (const [state, event, next] of rows) {
    test(`${JSON.stringify(state)} and ${event}: ${JSON.stringify(next)}`, () => {
      expect(nextBreaker(state, event, NOW)).toEqual(next)
    })
  }

  test('has a row for every state with every event', () => {
    const pairs = new Set(rows.map(([{ is }, event]) => `${is} ${event}`))
    expect(pairs.size).toBe(3 * 4)
  })

  test('opens after five failures in a row, and then lets one request try when its pause is over', () => {
    let now = NOW
    const breaker = new Breaker(() => now)
    const fail = (times: number) => {
      for (let count = 0; count < times; count++) breaker.report('failed')
    }
    fail(4)
    breaker.report('answered')
    fail(4)
    expect(breaker.allows()).toBe(true)
    fail(1)
    expect(breaker.allows()).toBe(false)
    now += BREAKER_OPEN_MS - 1
    expect(breaker.allows()).toBe(false)
    now += 1
    expect([breaker.allows(), breaker.allows(), breaker.allows()]).toEqual([true, false, false])
    // The attempt failed: the breaker stays open for the same time again.
    fail(1)
    expect(breaker.allows()).toBe(false)
    now += BREAKER_OPEN_MS
    expect([breaker.allows(), breaker.allows()]).toEqual([true, false])
    // The outcome is unknown: the next request may try.
    breaker.report('cut')
    expect([breaker.allows(), breaker.allows()]).toEqual([true, false])
    breaker.report('answered')
    expect([breaker.allows(), breaker.allows(), breaker.allows()]).toEqual([true, true, true])
    fail(4)
    expect(breaker.allows()).toBe(true)
  })
})
