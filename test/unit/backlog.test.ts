// What waits for slow callers is bounded for all of them together, and the slowest is cut first.

import { expect, test } from 'bun:test'
import { Backlog } from '../../src/request/stream/backlog'
import { rejection } from '../support/rejection'
import { sourceOf, startRelaying } from '../support/relaying'
import { chunk, DONE, usageChunk } from '../support/vendors/vendor'

const PIECE = Buffer.from(chunk('x'.repeat(40_000)))
const END = Buffer.from(usageChunk(1, 2) + DONE)

function startBacklog(mostBytes: number) {
  const log: string[] = []
  const cut: string[] = []
  const backlog = new Backlog((event) => log.push(event), mostBytes)
  return { backlog, log, cut, caller: (name: string) => ({ giveUp: () => void cut.push(name) }) }
}

test('the caller that has waited longest without taking anything is cut first', () => {
  const { backlog, log, cut, caller } = startBacklog(100_000)
  const [first, second, third] = [caller('first'), caller('second'), caller('third')]
  backlog.note(first, 30_000)
  backlog.note(second, 20_000)
  // More of the same wait does not make it younger.
  backlog.note(first, 40_000)
  backlog.note(third, 40_000)
  expect({ log, cut }).toEqual({ log: [], cut: [] })
  // The first takes all that waits, and begins to wait anew.
  backlog.forget(first)
  backlog.note(first, 60_000)
  expect({ log, cut }).toEqual({ log: ['slow_caller_cut'], cut: ['second'] })
  backlog.note(caller('fourth'), 200_000)
  expect(cut).toEqual(['second', 'third', 'first', 'fourth'])
})

test('callers with little are never counted', () => {
  const { backlog, cut, caller } = startBacklog(100_000)
  for (let index = 0; index < 1_000; index++) backlog.note(caller('small'), 16_000)
  expect(cut).toEqual([])
})

test('a stream that is cut ends as one whose caller has left', async () => {
  const { backlog, log } = startBacklog(20_000)
  const { reader, outcomes, aborts } = startRelaying(sourceOf([PIECE, PIECE, END]).body, { backlog })
  await reader.read()
  expect((await rejection(reader.read())).message).toContain('stopped reading')
  expect(log).toEqual(['slow_caller_cut'])
  expect(outcomes.map(({ endedBy }) => endedBy)).toEqual(['client'])
  expect(aborts()).toBe(1)
})

test('streams whose callers take their bytes are never cut, however many they are', async () => {
  const { backlog, log } = startBacklog(3 * PIECE.length)
  for (let round = 0; round < 20; round++) {
    const { reader, outcomes } = startRelaying(sourceOf([PIECE, PIECE, END]).body, { backlog })
    while (!(await reader.read()).done);
    expect(outcomes.map(({ endedBy }) => endedBy)).toEqual(['done'])
  }
  expect(log).toEqual([])
})

test('streams that come in one piece are forgotten when they have ended', async () => {
  const { backlog, log } = startBacklog(3 * PIECE.length)
  for (let round = 0; round < 20; round++) {
    const whole = Buffer.concat([PIECE, END])
    const { reader, outcomes } = startRelaying(sourceOf([whole]).body, { backlog })
    while (!(await reader.read()).done);
    expect(outcomes.map(({ endedBy }) => endedBy)).toEqual(['done'])
  }
  expect(log).toEqual([])
})
