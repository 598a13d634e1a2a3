// The parts removed from bodies before they are kept, for any text: whole, cut, invalid, or made to take long.

import { describe, expect, test } from 'bun:test'
import { redacted, redactionRules } from '../../src/request-log/redaction'
import { createRandom } from '../support/random'

const rules = redactionRules(['email', 'User'], 4_000)
const KEY = `sk-${'a1B2'.repeat(8)}`
const PICTURE = Buffer.alloc(900, 'picture').toString('base64')

const asJson: [title: string, body: unknown, kept: unknown][] = [
  ['harmless text', { a: 'b', n: [1, null, true, ' "x" \\ '] }, { a: 'b', n: [1, null, true, ' "x" \\ '] }],
  [
    'named fields of any form',
    { email: { x: ['}'] }, user: 7, n: 1 },
    { email: '[redacted]', user: '[redacted]', n: 1 },
  ],
  [
    'names of keys',
    { api_key: 'abc', Authorization: ['x'] },
    { api_key: '[redacted]', Authorization: '[redacted]' },
  ],
  ['limits with "tokens" in their names', { max_tokens: 5 }, { max_tokens: 5 }],
  ['keys in a text', { text: `use ${KEY}, or Bearer abc.def` }, { text: 'use [redacted], or [redacted]' }],
  ['a key as a name', { [KEY]: 1 }, { '[redacted]': 1 }],
  ['data URLs', { url: `data:image/png;base64,${PICTURE}` }, { url: '[1222 characters of media]' }],
  [
    'a data URL in a text',
    { text: `see ![](data:image/png;base64,${PICTURE}) there` },
    { text: 'see ![]([1222 characters of media]) there' },
  ],
  ['base64', { b64_json: PICTURE }, { b64_json: '[1200 characters of media]' }],
  ['a long text', { text: 'hello there '.repeat(100) }, { text: 'hello there '.repeat(100) }],
  [
    'JSON in a text',
    { arguments: '{"email":"a@b.c","n":"x"}' },
    { arguments: '{"email":"[redacted]","n":"x"}' },
  ],
]

describe('redaction', () => {
  test.each(asJson)('of %s', (_title, body, kept) => {
    for (const indent of [undefined, 2]) {
      expect(JSON.parse(redacted(JSON.stringify(body, null, indent), rules))).toEqual(kept as never)
    }
  })

  test('of names written with escapes', () => {
    expect(redacted('{"\\u0065mail":"a@b.c"}', rules)).toBe('{"\\u0065mail":"[redacted]"}')
  })

  test('of event streams', () => {
    const events = `event: x\ndata: {"email":"a@b.c","delta":"hi"}\n\ndata: [DONE]\n\n`
    expect(redacted(events, rules)).toBe(
      `event: x\ndata: {"email":"[redacted]","delta":"hi"}\n\ndata: [DONE]\n\n`,
    )
  })

  test('adds nothing to a text that only begins like JSON', () => {
    const body = JSON.stringify({ content: '[note] he said "hello' })
    expect(redacted(body, rules)).toBe(body)
  })

  test('keeps a limited length and states the length of the body', () => {
    const text = JSON.stringify({ text: 'many words '.repeat(1_000), tail: KEY })
    expect(redacted(text, redactionRules([], 20))).toBe(`{"text":"many words … [${text.length} bytes in all]`)
    for (let maxLength = 1; maxLength < 60; maxLength++) {
      expect(redacted(`{"a":"${KEY}"}`, redactionRules([], maxLength))).not.toContain(KEY.slice(0, 5))
    }
  })

  test('never leaves a key or a named value, wherever the text is cut', () => {
    const random = createRandom(11)
    const whole = JSON.stringify({
      messages: [{ content: `"\\ {[: ${KEY}`, user: { id: 'HIDDEN-1', deep: ['HIDDEN-2', '}', '\\"'] } }],
      tool: JSON.stringify({ EMAIL: 'HIDDEN-3', list: [{ user: 'HIDDEN-4' }] }),
      email: 'HIDDEN-5',
    })
    for (let round = 0; round < 2_000; round++) {
      const text = whole.slice(0, random.below(whole.length + 1))
      const kept = redacted(text, redactionRules(['email', 'user'], 1 + random.below(2 * whole.length)))
      expect(kept).not.toMatch(/HIDDEN|(?:a1B2){4}/)
    }
  })

  test('reads hostile texts only once', () => {
    const length = 300_000
    const hostile = [
      '"',
      '\\"',
      '{"a":',
      '["',
      'eyJ-',
      'Bearer ',
      '-----BEGIN PRIVATE KEY-----',
      '{"email":',
      'data:a/b;',
      ' ',
      '\\\\',
    ]
    for (const part of hostile) {
      const kept = redacted(part.repeat(length / part.length), redactionRules(['email'], 64_000))
      expect(kept.length).toBeLessThan(70_000)
    }
  })
})
