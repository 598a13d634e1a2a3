// Random streams of messages in the style of many servers, with the words in them, to prove that a translation neither invents nor
// loses anything. It must not use the translation's own rules.

import type { Random } from '../random'
import type { Json } from '../scenario'

export interface GeneratedMessage {
  /** The whole stream as a vendor would send it. */
  text: string
  thinking: string
  answer: string
  calls: { id: string; name: string; arguments: string }[]
  finish: string
  usage: { input: number; cached: number; written: number; output: number; thinking: number }
}

const words = [
  'the',
  ' cat',
  '\n\n',
  '世界',
  '🎉',
  ' "quoted"',
  '}',
  '\\',
  ' data: {"type":"message_stop"}',
  'event: error',
  '\u2028',
  ' ',
]

/** Why a message ends, and the corresponding word of a chat completion; undefined if its calls decide. */
const endings: readonly [reason: string | null, finish?: string][] = [
  ['end_turn'],
  ['stop_sequence'],
  ['pause_turn'],
  ['tool_use'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
  ['a_new_reason'],
  [null],
]

interface Block {
  start: Json
  deltas: Json[]
}

export function messageStream(random: Random): GeneratedMessage {
  const reported = { thinking: '', answer: '', calls: [] as GeneratedMessage['calls'] }
  const blocks = Array.from({ length: random.below(7) }, (_, index) => block(random, index, reported))
  const byCalls = reported.calls.length > 0 ? 'tool_calls' : 'stop'
  const [reason, finish = byCalls] = random.pick(endings)
  const usage = {
    input: random.below(500),
    cached: random.below(300),
    written: random.below(300),
    output: 20 + random.below(200),
    thinking: random.below(20),
  }
  const events = [
    ...startOf(random, usage),
    ...blocks.flatMap(({ start, deltas }, index) => [
      { type: 'content_block_start', index, content_block: start },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    ...endOf(random, reason, usage),
  ]
  return { ...reported, finish, usage, text: textOf(random, events) }
}

function block(
  random: Random,
  index: number,
  reported: Omit<GeneratedMessage, 'text' | 'finish' | 'usage'>,
): Block {
  const kind = random.pick(['text', 'text', 'thinking', 'tool_use', 'tool_use', 'other'])
  if (kind === 'tool_use') return call(random, index, reported.calls)
  if (kind === 'other') return otherBlock(random)
  const first = random.chance(0.2) ? random.pick(words) : ''
  const pieces = Array.from({ length: random.below(6) }, () => (random.chance(0.1) ? '' : random.pick(words)))
  reported[kind === 'text' ? 'answer' : 'thinking'] += first + pieces.join('')
  const deltas: Json[] = pieces.map((piece) => ({ type: `${kind}_delta`, [kind]: piece }))
  if (kind === 'thinking') deltas.push({ type: 'signature_delta', signature: 'EuYB' })
  else if (random.chance(0.2)) deltas.push({ type: 'citations_delta', citation: { cited_text: 'no' } })
  return { start: { type: kind, [kind]: first }, deltas }
}

/** How the input of a tool arrives: in pieces, whole at the start, both, or not at all. */
function call(random: Random, index: number, calls: GeneratedMessage['calls']): Block {
  const value = Array.from({ length: 1 + random.below(5) }, () => random.pick(words)).join('')
  const input = random.pick([{}, { query: value }, { deep: [{ query: value }], n: random.below(9) }])
  const manner = random.pick(['pieces', 'whole', 'both', 'none'])
  const text = JSON.stringify(manner === 'none' ? {} : input)
  const id = `toolu_${index}_${random.below(1e6)}`
  const name = `tool_${random.below(3)}`
  calls.push({ id, name, arguments: text })
  const atStart = manner === 'whole' || manner === 'both' ? input : {}
  const pieces = manner === 'pieces' || manner === 'both' ? ['', ...cut(random, text)] : ['']
  return {
    start: { type: 'tool_use', id, name, input: atStart },
    deltas: pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
  }
}

function cut(random: Random, text: string): string[] {
  const letters = Array.from(text)
  const pieces: string[] = []
  while (letters.length > 0) pieces.push(letters.splice(0, 1 + random.below(8)).join(''))
  return pieces
}

/** Blocks that a chat completion cannot express. */
function otherBlock(random: Random): Block {
  return random.pick([
    { start: { type: 'redacted_thinking', data: 'c2VjcmV0' }, deltas: [] },
    {
      start: { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
      deltas: [{ type: 'input_json_delta', partial_json: '{"query":"no"}' }],
    },
    { start: { type: 'web_search_tool_result', content: [{ title: 'no' }] }, deltas: [] },
    { start: { type: 'weather_report' }, deltas: [{ type: 'reading_delta', millimetres: 3 }] },
  ])
}

/** The start has the input tokens, which may not be final; the figure of a later event counts. */
function startOf(random: Random, usage: GeneratedMessage['usage']): Json[] {
  const figures = {
    input_tokens: usage.input,
    cache_read_input_tokens: usage.cached,
    cache_creation_input_tokens: usage.written,
    output_tokens: 1,
  }
  const message = { id: 'msg_7', type: 'message', role: 'assistant', content: [], usage: figures }
  const events: Json[] = [{ type: 'message_start', message: { ...message, model: 'odd', stop_reason: null } }]
  if (random.chance(0.2)) events.push({ type: 'message_mood', mood: 'sunny' })
  return events
}

function endOf(random: Random, reason: string | null, usage: GeneratedMessage['usage']): Json[] {
  const delta = { stop_reason: reason, stop_sequence: null }
  const details = { output_tokens_details: { thinking_tokens: usage.thinking } }
  const final = { output_tokens: usage.output, ...details }
  const again = random.pick([
    {},
    { input_tokens: usage.input, cache_read_input_tokens: usage.cached },
    { input_tokens: null, cache_read_input_tokens: null, cache_creation_input_tokens: null },
  ])
  const early = { type: 'message_delta', delta: {}, usage: { output_tokens: 2 } }
  const last = { type: 'message_delta', delta, usage: { ...final, ...again } }
  return random.chance(0.2) ? [early, last] : [last]
}

/** The events as text: with or without names, with pings, and in the style of this server. */
function textOf(random: Random, events: Json[]): string {
  const lineEnd = random.pick(['\n', '\r\n'])
  const named = random.chance(0.8)
  const close = random.pick([
    '{"type":"message_stop"}',
    '{"type": "message_stop"}',
    '{"type":"message_stop","x":1}',
  ])
  const frame = (type: string, data: string) =>
    `${named ? `event: ${type}${lineEnd}` : ''}data: ${data}${lineEnd}${lineEnd}`
  const ping = () => {
    if (random.chance(0.9)) return ''
    return random.chance(0.5) ? frame('ping', '{"type":"ping"}') : `: keep-alive${lineEnd}${lineEnd}`
  }
  const body = events.map((event) => frame(event.type, JSON.stringify(event)) + ping()).join('')
  return body + frame('message_stop', close)
}
