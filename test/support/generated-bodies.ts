// Random request bodies of every family, with what a vendor could count in them at most: the other half of the proof
// that a hold covers the price. It must not use the families' own rules.

import type { Random } from './random'

/** How many tokens a text has. */
export type Count = (text: string) => number

export interface GeneratedBody {
  body: Record<string, unknown>
  /** Tokens of input, with what vendors add around each message. */
  inputTokens(count: Count): number
  /** The most tokens of output that the body allows. */
  outputTokens: number
}

/** A generator for each family, by the family's name. */
export const generators: Record<string, (random: Random, model: string) => GeneratedBody> = {
  'openai-chat': chatBody,
  'openai-embeddings': (random, model) =>
    random.chance(0.3) ? tokenArrays(random, model) : textInputs(random, model),
  'gemini-embeddings': textInputs,
  'voyage-embeddings': textInputs,
}

/** The marks of a role and of a name, around each message, and those that begin the answer. */
const TOKENS_PER_MESSAGE = 5
const TOKENS_TO_BEGIN = 3
/** The largest that vendors' documentation gives for a picture at full detail. */
const TOKENS_PER_IMAGE = 3_800

const scripts: ((random: Random) => string)[] = [
  (random) => random.pick(['the', ' cat', ' sat', ' on', ' antidisestablishmentarianism', '. ', '\n']),
  (random) =>
    random.pick(['世', '界', '人工智能', 'こんにちは', '안녕하세요', 'สวัสดี', 'مرحبا', 'नमस्ते', 'Ω≈ç√∫', 'ﷺ']),
  (random) =>
    random.pick([
      '🎉',
      '👩‍👩‍👧‍👦',
      '🏳️‍🌈',
      '🇺🇦',
      '👍🏽',
      '𓀀',
      '𠜎',
      'e\u0301\u0302\u0303',
      '\u200d',
      '\ufeff',
    ]),
  (random) =>
    random.pick([
      '\u0001',
      '\u001f',
      '\u007f',
      '\t',
      '\r\n',
      '   ',
      '\u00a0',
      '\u2028',
      '"',
      '\\',
      '/',
      '{"a":[1,2]}',
    ]),
  (random) => String.fromCodePoint(32 + random.below(0xd7ff - 32)),
  (random) => String.fromCodePoint(0x10000 + random.below(0x20000)),
  (random) => random.below(1_000_000_007).toString(random.pick([2, 10, 16, 36])),
  (random) => random.pick(['a', '!', '-', '0', ' ']).repeat(1 + random.below(40)),
]

function text(random: Random): string {
  const length = random.pick([1, 1, 3, 10, 40])
  const script = random.chance(0.5) ? random.pick(scripts) : undefined
  return Array.from({ length }, () => (script ?? random.pick(scripts))(random)).join('')
}

function many<Item>(random: Random, most: number, make: () => Item): Item[] {
  return Array.from({ length: 1 + random.below(most) }, make)
}

function textInputs(random: Random, model: string): GeneratedBody {
  const input = random.chance(0.3) ? text(random) : many(random, 12, () => text(random))
  const body = { model, input, ...(random.chance(0.3) ? { encoding_format: 'base64' } : {}) }
  return {
    body,
    inputTokens: (count) => [input].flat().reduce((sum, one) => sum + count(one), 0),
    outputTokens: 0,
  }
}

function tokenArrays(random: Random, model: string): GeneratedBody {
  const tokens = () => many(random, 30, () => random.below(200_000))
  const input = random.chance(0.5) ? tokens() : many(random, 5, tokens)
  return { body: { model, input }, inputTokens: () => input.flat().length, outputTokens: 0 }
}

function chatBody(random: Random, model: string): GeneratedBody {
  const limit = 1 + random.below(60)
  const n = random.chance(0.3) ? 1 + random.below(4) : undefined
  const messages = [...many(random, 6, () => message(random)), { role: 'user', content: text(random) }]
  const tools = random.chance(0.3) ? many(random, 3, () => tool(random)) : undefined
  const body = {
    model,
    messages,
    [random.chance(0.5) ? 'max_tokens' : 'max_completion_tokens']: limit,
    ...(n === undefined ? {} : { n }),
    ...(tools === undefined ? {} : { tools, tool_choice: 'none' }),
    ...(random.chance(0.3) ? { stream: true } : {}),
  }
  return {
    body,
    outputTokens: limit * (n ?? 1),
    inputTokens: (count) =>
      TOKENS_TO_BEGIN +
      messages.reduce((sum, one) => sum + TOKENS_PER_MESSAGE + stringsIn(one, count), 0) +
      (tools === undefined ? 0 : count(JSON.stringify(tools))),
  }
}

function message(random: Random): Record<string, unknown> {
  const role = random.pick(['system', 'user', 'assistant', 'tool'])
  if (role === 'tool') return { role, tool_call_id: `call_${random.below(1e9)}`, content: text(random) }
  if (role === 'assistant' && random.chance(0.5)) {
    const call = { name: 'look_up', arguments: JSON.stringify({ query: text(random) }) }
    return { role, content: null, tool_calls: [{ id: 'call_1', type: 'function', function: call }] }
  }
  if (role !== 'user' || random.chance(0.5)) return { role, content: text(random) }
  return { role, content: many(random, 4, () => part(random)) }
}

function part(random: Random): Record<string, unknown> {
  if (random.chance(0.6)) return { type: 'text', text: text(random) }
  const url = random.chance(0.5) ? 'https://example.com/a.png' : 'data:image/png;base64,iVBORw0KGgo='
  return { type: 'image_url', image_url: { url, detail: random.pick(['low', 'high', 'auto']) } }
}

function tool(random: Random): Record<string, unknown> {
  const properties = { [`field_${random.below(99)}`]: { type: 'string', description: text(random) } }
  const parameters = { type: 'object', properties }
  return {
    type: 'function',
    function: { name: `tool_${random.below(99)}`, description: text(random), parameters },
  }
}

/** Tokens of every string in a message; a picture has its own figure. */
function stringsIn(value: unknown, count: Count): number {
  if (typeof value === 'string') return count(value)
  if (typeof value !== 'object' || value === null) return 0
  if ((value as { type?: unknown }).type === 'image_url') return TOKENS_PER_IMAGE
  return Object.values(value).reduce((sum: number, member) => sum + stringsIn(member, count), 0)
}
