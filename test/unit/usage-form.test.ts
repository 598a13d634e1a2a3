// The short form of usage objects restores the vendor's text character by character, and its shape is shared by
// requests of one kind.

import { expect, test } from 'bun:test'
import { shortUsageOf, wholeUsageOf } from '../../src/billing/reports/usage-form'
import { createRandom, seedOf } from '../support/random'

const chat = (input: number, output: number) =>
  JSON.stringify({
    prompt_tokens: input,
    completion_tokens: output,
    prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
    service_tier: 'default',
  })

test('requests of one kind share a shape and differ only in figures', () => {
  const [first, second] = [shortUsageOf(chat(1_000, 20)), shortUsageOf(chat(7, 0))]
  expect(first.shape).toBe(second.shape)
  expect([first.figures, second.figures]).toEqual(['1000,20,,', '7,,,'])
  expect(wholeUsageOf(second)).toBe(chat(7, 0))
})

const texts = [
  '{"prompt_tokens":9007199254740993}',
  '{"cost":1.50e-7,"more":[-0,0,-1,00]}',
  '[{"a":1},null,{"a":0}]',
  '{"ephemeral_5m_tokens":5,"note":"a:1,2[3"}',
  '{"note":"\\u0001","a":1}',
  '{"raw":"\u0001","a":1}',
  `{"id":"${'x'.repeat(60)}","a":1}`,
  `[${'{"a":1},'.repeat(500)}1]`,
  '5',
  '-1',
  'null',
  '"1"',
  '{}',
  '[1]',
  '{"a":-}',
  '{"a":"e5"}',
]

test.each(texts)('%s is restored exactly', (text) => {
  expect(wholeUsageOf(shortUsageOf(text))).toBe(text)
})

test('any text is restored exactly', () => {
  const random = createRandom(seedOf('USAGE_SEED'))
  const letters = '{}[]:,"0123456789eE+-. ab\u0001'
  for (let count = 0; count < 20_000; count++) {
    let text = ''
    for (let length = random.below(24); length > 0; length--) text += letters[random.below(letters.length)]
    expect(wholeUsageOf(shortUsageOf(text))).toBe(text)
  }
})
