// The operator's log: its levels and forms, the line of a request, and that every logged event is in the table.

import { describe, expect, test } from 'bun:test'
import { Glob } from 'bun'
import { createLogOutput } from '../../src/app/log'
import { formatLine } from '../../src/app/log-lines'
import { logEvents } from '../../src/lib/log-events'
import { newLogRow } from '../../src/request-log/row'
import { hostileText, TERMINAL_CONTROL } from '../support/hostile-text'
import { casesOf, createRandom, seedOf } from '../support/random'

const AT = Date.UTC(2026, 10, 22, 9, 30)

function written(entry: Parameters<typeof createLogOutput>[0]['log'], format: 'json' | 'text' = 'json') {
  const lines: string[] = []
  const output = createLogOutput(
    { log: entry },
    { write: (text) => lines.push(text), format, wall: () => AT },
  )
  return { output, lines }
}

const row = {
  ...newLogRow(
    { requestId: 'req_1', operation: { name: 'chat' }, clientAddress: '192.0.2.7' },
    { now: () => AT, monotonic: () => 0 },
  ),
  status: 200,
  account: 'alice',
  keyId: 'key_1',
  model: 'fast',
  upstream: 'openai',
  amountNano: 1_500_000,
  durationMs: 12.34,
  upstreamMs: 10,
}

describe('a line', () => {
  test('is one JSON object, or a list of names with values', () => {
    const fields = { request: 'req_1', reason: 'two words', broken: 'a\nb', nothing: null, count: 3 }
    const line = { at: AT, level: 'warn', event: 'job_failed', fields } as const
    expect(formatLine(line, 'json')).toBe(
      '{"at":"2026-11-22T09:30:00.000Z","level":"warn","event":"job_failed","request":"req_1","reason":"two words","broken":"a\\nb","nothing":null,"count":3}\n',
    )
    expect(formatLine(line, 'text')).toBe(
      '2026-11-22T09:30:00.000Z WARN  job_failed request=req_1 reason="two words" broken="a\\nb" count=3\n',
    )
  })

  test('cannot be split or faked by its content', () => {
    for (const text of ['a\nb', 'a\r\nERROR x', '\u2028', 'x=1 y=2', '\u001b[31m', '"']) {
      const line = formatLine({ at: AT, level: 'info', event: 'request', fields: { text } }, 'text')
      expect(line.split('\n')).toHaveLength(2)
      expect(line).not.toContain('\u001b')
      expect(line).toContain('text="')
    }
  })

  const seed = seedOf('PRINTABLE_SEED')
  test(`contains no terminal control character, in either form (seed ${seed})`, () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(2_000); round++) {
      const fields = { text: hostileText(random), [hostileText(random)]: [hostileText(random)] }
      const line = { at: AT, level: 'info', event: 'request', fields } as const
      const json = formatLine(line, 'json')
      expect(JSON.parse(json)).toMatchObject(fields)
      for (const text of [json, formatLine(line, 'text')]) {
        expect(text.slice(0, -1)).not.toMatch(TERMINAL_CONTROL)
        expect(text).toEndWith('\n')
      }
    }
  })
})

describe('the log', () => {
  test('writes lines of the configured level or above', () => {
    const { output, lines } = written({ level: 'warn' })
    output.log('webhook_attempt', {})
    output.log('task_ended', {})
    output.log('job_failed', { job: 'x' })
    output.log('internal_error', {})
    expect(lines.map((line) => JSON.parse(line).level)).toEqual(['warn', 'error'])
  })

  test('has one line per request, with times, money and the client', () => {
    const { output, lines } = written({})
    output.requests?.([
      row,
      { ...row, id: 'req_2', status: 502, errorCode: 'upstream_error', amountNano: null },
    ])
    const [one, other] = lines
      .join('')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(lines).toHaveLength(1)
    expect(one).toMatchObject({
      level: 'info',
      event: 'request',
      request: 'req_1',
      status: 200,
      account: 'alice',
      key: 'key_1',
      client: '192.0.2.7',
      cost_usd: '0.0015',
      duration_ms: 12.3,
      overhead_ms: 2.3,
    })
    expect(other).toMatchObject({ level: 'warn', request: 'req_2', status: 502, error: 'upstream_error' })
  })

  test('has no request lines if they are turned off, and only those of failed requests at level warn', () => {
    expect(written({ requests: false }).output.requests).toBeUndefined()
    const { output, lines } = written({ level: 'warn', format: 'text' })
    output.requests?.([row])
    expect(lines).toEqual([])
    output.requests?.([{ ...row, status: 500 }])
    expect(lines).toHaveLength(1)
  })
})

test('the table has exactly the events that are logged', async () => {
  const events = new Set<string>(['request'])
  for await (const path of new Glob('{src,cli}/**/*.ts').scan('.')) {
    const text = await Bun.file(path).text()
    for (const [, event = ''] of text.matchAll(/\blog\(\s*'(\w+)'/g)) events.add(event)
  }
  expect(Object.keys(logEvents).sort()).toEqual([...events].sort())
})
