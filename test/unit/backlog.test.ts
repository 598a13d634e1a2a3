// The data waiting for all slow callers together is limited, and the slowest caller is cut off first.

import { describe, expect, test } from 'bun:test'
import { Backlog } from '../../src/request/stream/backlog'
import { pacedStream, wholeAnswer } from '../../src/request/stream/paced-body'
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

test('the caller that has read nothing for the longest time is cut off first', () => {
  const { backlog, log, cut, caller } = startBacklog(100_000)
  const [first, second, third] = [caller('first'), caller('second'), caller('third')]
  backlog.note(first, 30_000)
  backlog.note(second, 20_000)
  // More data during a wait does not restart the wait.
  backlog.note(first, 40_000)
  backlog.note(third, 40_000)
  expect({ log, cut }).toEqual({ log: [], cut: [] })
  // The first caller reads all waiting data, and then starts a new wait.
  backlog.forget(first)
  backlog.note(first, 60_000)
  expect({ log, cut }).toEqual({ log: ['slow_caller_cut'], cut: ['second'] })
  backlog.note(caller('fourth'), 200_000)
  expect(cut).toEqual(['second', 'third', 'first', 'fourth'])
})

test('callers with little waiting data are never counted', () => {
  const { backlog, cut, caller } = startBacklog(100_000)
  for (let index = 0; index < 1_000; index++) backlog.note(caller('small'), 16_000)
  expect(cut).toEqual([])
})

test('a stream that is cut off ends like one whose caller has disconnected', async () => {
  const { backlog, log } = startBacklog(20_000)
  const { reader, outcomes, aborts } = startRelaying(sourceOf([PIECE, PIECE, END]).body, { backlog })
  await reader.read()
  expect((await rejection(reader.read())).message).toContain('stopped reading')
  expect(log).toEqual(['slow_caller_cut'])
  expect(outcomes.map(({ endedBy }) => endedBy)).toEqual(['client'])
  expect(aborts()).toBe(1)
})

test('streams whose callers read are never cut off, however many there are', async () => {
  const { backlog, log } = startBacklog(3 * PIECE.length)
  for (let round = 0; round < 20; round++) {
    const { reader, outcomes } = startRelaying(sourceOf([PIECE, PIECE, END]).body, { backlog })
    while (!(await reader.read()).done);
    expect(outcomes.map(({ endedBy }) => endedBy)).toEqual(['done'])
  }
  expect(log).toEqual([])
})

test('a stream in one piece is no longer counted when it has ended', async () => {
  const { backlog, log } = startBacklog(3 * PIECE.length)
  for (let round = 0; round < 20; round++) {
    const whole = Buffer.concat([PIECE, END])
    const { reader, outcomes } = startRelaying(sourceOf([whole]).body, { backlog })
    while (!(await reader.read()).done);
    expect(outcomes.map(({ endedBy }) => endedBy)).toEqual(['done'])
  }
  expect(log).toEqual([])
})

describe('a whole answer', () => {
  const LARGE = Buffer.from(Array.from({ length: 1_100_003 }, (_, index) => index % 251))

  test('is sent in pieces if it is large, and counts as a whole until its end, because it stays in memory', async () => {
    const { backlog, log } = startBacklog(10_000_000)
    const reader = (wholeAnswer(backlog, LARGE, {}).body as ReadableStream<Uint8Array>).getReader()
    expect(backlog.waitingBytes).toBe(0)
    const pieces: Uint8Array[] = []
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      expect(backlog.waitingBytes).toBe(LARGE.length)
      pieces.push(next.value)
    }
    expect(pieces.length).toBe(5)
    expect(Buffer.concat(pieces)).toEqual(LARGE)
    expect({ waits: backlog.waitingBytes, log }).toEqual({ waits: 0, log: [] })
  })

  test('that is text may be split within a character', async () => {
    const text = 'x€'.repeat(600_000)
    expect(await wholeAnswer(startBacklog(10_000_000).backlog, text, {}).text()).toBe(text)
  })

  test('fails when its caller is cut off, and is then no longer counted', async () => {
    const { backlog, log } = startBacklog(1_500_000)
    const [slow, other] = [LARGE, LARGE].map((body) =>
      (wholeAnswer(backlog, body, {}).body as ReadableStream<Uint8Array>).getReader(),
    )
    await slow?.read()
    await other?.read()
    expect((await rejection(slow?.read() as Promise<unknown>)).message).toContain('stopped reading')
    expect(log).toEqual(['slow_caller_cut'])
    expect(backlog.waitingBytes).toBe(LARGE.length)
    await other?.cancel()
    expect(backlog.waitingBytes).toBe(0)
  })
})

describe('a stream that is pulled', () => {
  const source = (pieces: number, ended: { reason?: unknown } = {}) =>
    new ReadableStream<Uint8Array>(
      {
        pull(output) {
          if (pieces-- > 0) output.enqueue(PIECE)
          else output.close()
        },
        cancel(reason) {
          ended.reason = reason
        },
      },
      { highWaterMark: 0 },
    )

  test('counts only the last piece sent', async () => {
    const { backlog } = startBacklog(10_000_000)
    const reader = pacedStream(backlog, source(2)).getReader()
    await reader.read()
    expect(backlog.waitingBytes).toBe(PIECE.length)
    await reader.read()
    expect(backlog.waitingBytes).toBe(PIECE.length)
    expect((await reader.read()).done).toBe(true)
    expect(backlog.waitingBytes).toBe(0)
  })

  test('is canceled when its caller is cut off', async () => {
    const ended: { reason?: unknown } = {}
    const { backlog, log } = startBacklog(PIECE.length - 1)
    const reader = pacedStream(backlog, source(2, ended)).getReader()
    await reader.read().catch(() => {})
    expect((await rejection(reader.read())).message).toContain('stopped reading')
    expect(log).toEqual(['slow_caller_cut'])
    expect(String(ended.reason)).toContain('stopped reading')
  })

  test('fails with its source, also while its caller does not read', async () => {
    const { backlog } = startBacklog(10_000_000)
    let output: ReadableStreamDefaultController<Uint8Array> | undefined
    const broken = new ReadableStream<Uint8Array>(
      {
        start(controller) {
          output = controller
        },
        pull: (controller) => controller.enqueue(PIECE),
      },
      { highWaterMark: 0 },
    )
    const reader = pacedStream(backlog, broken).getReader()
    await reader.read()
    output?.error(new Error('the vendor broke off'))
    expect((await rejection(reader.closed)).message).toBe('the vendor broke off')
    expect(backlog.waitingBytes).toBe(0)
  })
})
