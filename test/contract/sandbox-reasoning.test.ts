// Conversations that simulated vendors reject with the recorded messages because earlier reasoning is missing, and those
// that they accept.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Sandbox, startSandbox } from '../../sandbox'
import type { Json } from '../support/scenario'

type Vendor = 'google' | 'deepseek' | 'moonshot' | 'zai'

let sandbox: Sandbox

beforeAll(() => {
  sandbox = startSandbox()
})
afterAll(() => sandbox.stop())

/** The error message; undefined if the conversation is accepted. */
async function refusalOf(vendor: Vendor, path: string, model: string, turns: Json[], more: Json = {}) {
  const response = await fetch(`${sandbox.baseUrls[vendor]}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${sandbox.secrets[vendor]}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model,
      max_tokens: 50,
      messages: [{ role: 'user', content: 'Go' }, ...turns],
      ...more,
    }),
  })
  const body = (await response.json()) as Json
  if (response.status === 200) return undefined
  expect(response.status).toBe(400)
  return [body].flat()[0].error.message
}

const call = (extra: Json = {}) => ({
  id: 'a',
  type: 'function',
  function: { name: 'look', arguments: '{}' },
  ...extra,
})
const signed = (thought_signature: string) => call({ extra_content: { google: { thought_signature } } })
const calls = (more: Json = {}, ...all: Json[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: all.length > 0 ? all : [call()],
  ...more,
})
const result = { role: 'tool', tool_call_id: 'a', content: 'fine' }
const user = { role: 'user', content: 'And?' }
const said = (reasoning_content?: string) => ({
  role: 'assistant',
  content: 'So.',
  ...(reasoning_content !== undefined && { reasoning_content }),
})
const thought = { reasoning_content: 'Hm.' }
const use = { type: 'tool_use', id: 'a', name: 'look', input: {} }
const uses = (...before: Json[]) => ({ role: 'assistant', content: [...before, use] })
const used = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'fine' }] }

const google = ['google', '/openai/chat/completions', 'gemini-3-flash-preview'] as const
const deepseek = ['deepseek', '/chat/completions', 'deepseek-v4-pro'] as const
const kimi = ['moonshot', '/v1/chat/completions', 'kimi-k2.6'] as const
const glm = ['zai', '/api/paas/v4/chat/completions', 'glm-5'] as const
const unsigned = (position: number) =>
  `Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call \`default_api:look\` , position ${position}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`
const skip = 'skip_thought_signature_validator'
const notBack = (member = 'reasoning_content') =>
  `The \`${member}\` in the thinking mode must be passed back to the API.`
const isMissing = (place: number) =>
  `thinking is enabled but reasoning_content is missing in assistant tool call message at index ${place}`

const off = { thinking: { type: 'disabled' } }

const rows: [string, readonly [Vendor, string, string], Json[], string | undefined, Json?][] = [
  ['a call without a signature', google, [calls(), result], unsigned(2)],
  [
    'a call without a signature in the second step',
    google,
    [calls({}, signed(skip)), result, calls(), result],
    unsigned(4),
  ],
  ['parallel calls, the first signed', google, [calls({}, signed(skip), call()), result], undefined],
  ['parallel calls, the second signed', google, [calls({}, call(), signed(skip)), result], unsigned(2)],
  ['a call of an earlier turn', google, [calls(), result, said(), user], undefined],
  ['a forged signature', google, [calls({}, signed('abc=')), result], 'Corrupted thought signature.'],
  ['an older model', ['google', google[1], 'gemini-2.5-flash'], [calls(), result], undefined],

  ['calls without reasoning', deepseek, [calls(), result], notBack()],
  ['calls with empty reasoning', deepseek, [calls({ reasoning_content: '' }), result], notBack()],
  ['calls with reasoning', deepseek, [calls(thought), result], undefined],
  ['calls of an earlier turn', deepseek, [calls(), result, said('Hm.'), user], notBack()],
  ['a text of an earlier turn', deepseek, [calls(thought), result, said(), user], undefined],
  ['a text before the calls of a turn', deepseek, [said(), calls(thought), result], notBack()],
  ['a conversation without calls', deepseek, [said(), user], undefined],
  ['without thinking', deepseek, [calls(), result], undefined, off],
  ['a model without thinking', ['deepseek', deepseek[1], 'deepseek-chat'], [calls(), result], undefined],
  [
    'messages without thinking',
    ['deepseek', '/anthropic/v1/messages', 'deepseek-v4-pro'],
    [uses(), used],
    notBack('content[].thinking'),
  ],
  [
    'messages with thinking',
    ['deepseek', '/anthropic/v1/messages', 'deepseek-v4-pro'],
    [uses({ type: 'thinking', thinking: 'Hm.' }), used],
    undefined,
  ],

  ['calls without reasoning', kimi, [calls(), result], isMissing(1)],
  ['calls with empty reasoning', kimi, [calls({ reasoning_content: '' }), result], isMissing(1)],
  ['calls with a space as reasoning', kimi, [calls({ reasoning_content: ' ' }), result], undefined],
  ['a text without reasoning', kimi, [calls(thought), result, said(), user], undefined],
  ['without thinking', kimi, [calls(), result], undefined, off],
  [
    'a model that does not think',
    ['moonshot', kimi[1], 'kimi-k2-0905-preview'],
    [calls(), result],
    undefined,
  ],

  ['calls without reasoning', glm, [calls(), result], undefined],
]

test.each(rows.map((row) => ({ name: `${row[0]} (${row[1].join(' ')})`, row })))('$name', async ({ row }) => {
  const [, [vendor, path, model], turns, words, more] = row
  expect(await refusalOf(vendor, path, model, turns, more)).toBe(words as string)
})
