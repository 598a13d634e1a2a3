// Which models get sealed reasoning back: a text goes to any model of the same maker, a signature only to the same
// model at the same vendor.

import { expect, test } from 'bun:test'
import type { Model, ParsedRequest } from '../../src/contract/family'
import { openReasoning, sealReasoning, together } from '../../src/families/sealed-reasoning'
import { openSeals } from '../support/answers/response-bridges'

const parsed = { answer: openSeals } as ParsedRequest
const modelOf = (name: string): Model => {
  const [kind, upstreamModel] = name.split(' ')
  return { upstreamModel, upstream: { kind } } as Model
}
const chat = { kind: 'chat', text: 'Hm.', extra: { a: 1 }, calls: { c: { b: 2 } }, details: [{}] } as const
const ALL = chat
const TEXT = { kind: 'chat', text: 'Hm.' } as const
const NOTHING = { kind: 'chat', text: '' } as const

test.each([
  ['google gemini-3-pro-preview', 'google gemini-3-pro-preview', ALL],
  ['google models/gemini-3-pro-preview', 'google gemini-3-pro-preview', ALL],
  ['google gemini-3-pro-preview', 'vertex google/gemini-3-pro-preview', TEXT],
  ['google gemini-3.1-pro', 'google gemini-3.5-flash', TEXT],
  ['google gemini-3-pro', 'google gemini-3-flash', TEXT],
  ['openrouter moonshotai/kimi-k2.6', 'moonshot kimi-k2-thinking', TEXT],
  ['deepseek deepseek-v4-pro', 'openrouter deepseek/deepseek-v4-flash', TEXT],
  ['deepseek deepseek-v4-pro', 'moonshot kimi-k2.6', NOTHING],
  ['google gemini-3-pro', 'openai gpt-6', NOTHING],
] as const)('reasoning in a completion of %s opens for %s', (writer, reader, opened) => {
  const sealed = sealReasoning(parsed, modelOf(writer), chat) as string
  expect(openReasoning(parsed, modelOf(reader), sealed)).toEqual(opened)
})

test.each([
  ['anthropic claude-sonnet-4-5', 'bedrock us.anthropic.claude-sonnet-4-5-20250929-v1:0', true],
  ['vertex claude-sonnet-4-5@20250929', 'anthropic claude-sonnet-4-5-20250929', true],
  ['anthropic claude-sonnet-4-5', 'anthropic claude-opus-4-5', false],
  ['openrouter anthropic/claude-sonnet-4.5', 'openrouter anthropic/claude-sonnet-4.6', false],
] as const)('blocks that %s signed open for %s: %p', (writer, reader, isOpened) => {
  const blocks = [{ thinking: 'Hm.', signature: 's' }]
  const sealed = sealReasoning(parsed, modelOf(writer), { kind: 'messages', blocks }) as string
  expect(openReasoning(parsed, modelOf(reader), sealed)).toEqual(
    isOpened ? { kind: 'messages', blocks } : undefined,
  )
})

test.each([
  'a sealed text that is not JSON',
  'sealed []',
  'sealed {"kind":"other"}',
  'sealed {"kind":"messages"}',
  'foreign',
])('%p opens for no model', (sealed) => {
  expect(openReasoning(parsed, modelOf('google gemini-3-pro'), sealed)).toBeUndefined()
})

const SIGNATURES = { kind: 'gemini', text: 'a', calls: { c: 'b' } } as const

test.each([
  ['google gemini-3-pro-preview', 'google models/gemini-3-pro-preview', true],
  ['google gemini-3-pro-preview', 'vertex google/gemini-3-pro-preview', false],
  ['google gemini-3.1-pro', 'google gemini-3.5-flash', false],
] as const)('signatures of parts of %s open for %s: %p', (writer, reader, isOpened) => {
  const sealed = sealReasoning(parsed, modelOf(writer), SIGNATURES) as string
  expect(openReasoning(parsed, modelOf(reader), sealed)).toEqual(isOpened ? SIGNATURES : undefined)
})

test('signatures of adjacent parts are joined, and invalid ones are omitted', () => {
  const other = { kind: 'gemini', calls: { d: 'e' } } as const
  expect(together(SIGNATURES, other)).toEqual({ kind: 'gemini', text: 'a', calls: { c: 'b', d: 'e' } })
  const forged = 'sealed {"kind":"gemini","writer":"google gemini-3-pro","text":1,"calls":{"c":{}}}'
  expect(openReasoning(parsed, modelOf('google gemini-3-pro'), forged)).toEqual({ kind: 'gemini' })
})
