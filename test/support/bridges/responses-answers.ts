// Answers of vendors of responses as events.

import type { Random } from '../random'
import type { Json } from '../scenario'
import { type AnswerSamples, type AnswerWords, cut, type StreamSample } from './answer-samples'
import { many, words } from './request-samples'

const usage = {
  input_tokens: 31,
  input_tokens_details: { cached_tokens: 8 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 4 },
  total_tokens: 51,
}
const response = { id: 'resp_0a1b', object: 'response', created_at: 1_771_000_000, model: 'odd', output: [] }
const begun = { ...response, status: 'in_progress', usage: null }
const CREATED = [
  { type: 'response.created', response: begun },
  { type: 'response.in_progress', response: begun },
]
const ended = (output: readonly Json[], more: Json = {}): Json => {
  const status = more.status ?? 'completed'
  return {
    type: `response.${status}`,
    response: { ...response, status, output, usage, incomplete_details: null, ...more },
  }
}
const cutAt = (reason: string): Json => ({ status: 'incomplete', incomplete_details: { reason } })

/** A finished item and its pieces: the type and the text of each. */
interface Item {
  item: Json
  pieces: readonly (readonly [type: string, text: Json, more?: Json])[]
}
const text = (...pieces: string[]): Item => ({
  item: {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    content: [{ type: 'output_text', text: pieces.join(''), annotations: [], logprobs: [] }],
  },
  pieces: pieces.map((piece) => ['response.output_text.delta', piece]),
})
const refusal = (...pieces: string[]): Item => ({
  item: {
    type: 'message',
    id: 'msg_2',
    role: 'assistant',
    content: [{ type: 'refusal', refusal: pieces.join('') }],
  },
  pieces: pieces.map((piece) => ['response.refusal.delta', piece]),
})
const reasoning = (encrypted: Json, ...summaries: string[]): Item => ({
  item: {
    type: 'reasoning',
    id: 'rs_1',
    summary: summaries.map((each) => ({ type: 'summary_text', text: each })),
    ...(encrypted !== undefined && { encrypted_content: encrypted }),
  },
  pieces: summaries.flatMap((each, summary_index): Item['pieces'][number][] => [
    [
      'response.reasoning_summary_part.added',
      undefined,
      { summary_index, part: { type: 'summary_text', text: '' } },
    ],
    ['response.reasoning_summary_text.delta', each, { summary_index }],
    [
      'response.reasoning_summary_part.done',
      undefined,
      { summary_index, part: { type: 'summary_text', text: each } },
    ],
  ]),
})
const raw = (...pieces: string[]): Item => ({
  item: {
    type: 'reasoning',
    id: 'rs_2',
    summary: [],
    content: [{ type: 'reasoning_text', text: pieces.join('') }],
  },
  pieces: pieces.map((piece) => ['response.reasoning_text.delta', piece]),
})
const call = (call_id: Json, name: Json, ...pieces: string[]): Item => ({
  item: {
    type: 'function_call',
    id: `fc_${call_id}`,
    call_id,
    name,
    arguments: pieces.join(''),
    status: 'completed',
  },
  pieces: pieces.map((piece) => ['response.function_call_arguments.delta', piece]),
})
const custom = (call_id: Json, name: Json, ...pieces: string[]): Item => ({
  item: {
    type: 'custom_tool_call',
    id: `ctc_${call_id}`,
    call_id,
    name,
    input: pieces.join(''),
    status: 'completed',
  },
  pieces: pieces.map((piece) => ['response.custom_tool_call_input.delta', piece]),
})
const silent = ({ item }: Item): Item => ({ item, pieces: [] })
const other = (item: Json): Item => ({ item, pieces: [] })
const cited = [{ type: 'url_citation', url: 'https://example.com', title: 'T', start_index: 0, end_index: 2 }]
const withSources: Item = {
  item: { type: 'message', id: 'msg_3', content: [{ type: 'output_text', text: 'Hi', annotations: cited }] },
  pieces: [
    [
      'response.output_text.delta',
      'Hi',
      { logprobs: [{ token: 'Hi', logprob: -0.1, bytes: [72], top_logprobs: [] }] },
    ],
    ['response.output_text.annotation.added', undefined, { annotation: cited[0], annotation_index: 0 }],
  ],
}

const scripts: Readonly<Record<string, readonly [items: readonly Item[], end?: Json]>> = {
  text: [[text('Hi', ' you')]],
  'nothing at all': [[]],
  'two texts': [[text('Hi'), text(' you')]],
  'an empty text': [[text()]],
  'empty pieces': [[text('', 'Hi', '')]],
  'text without pieces': [[silent(text('Hi'))]],
  'one text without pieces': [[text('Hi'), silent(text(' you'))]],
  refusal: [[refusal('N', 'o.')]],
  'refusal without pieces': [[silent(refusal('No.'))]],
  'reasoning before text': [[reasoning('enc', 'Hm.'), text('Hi')]],
  'reasoning after text': [[text('Hi'), reasoning('enc', 'Hm.'), text(' you')]],
  'two parts of reasoning': [[reasoning('enc', 'One.', 'Two.'), text('Hi')]],
  'two reasonings': [[reasoning('a', 'One.'), reasoning('b', 'Two.'), call('call_1', 'look', '{}')]],
  'reasoning without a summary': [[reasoning('enc'), text('Hi')]],
  'reasoning that is not sealed': [[reasoning(undefined, 'Hm.'), text('Hi')]],
  'reasoning without pieces': [[silent(reasoning('enc', 'Hm.')), text('Hi')]],
  'raw reasoning': [[raw('Hm', '.'), text('Hi')]],
  'reasoning only': [[reasoning('enc', 'Hm.')], cutAt('max_output_tokens')],
  'a call in pieces': [[call('call_1', 'look', '', '{"pla', 'ce":"x"}')]],
  'a call without pieces': [[silent(call('call_1', 'look', '{"place":"x"}'))]],
  'a call without arguments': [[call('call_1', 'look')]],
  'calls after reasoning': [
    [reasoning('enc', 'Hm.'), call('call_1', 'look', '{}'), call('call_2', 'look', '{"a":1}')],
  ],
  'text among calls': [
    [text('I'), call('call_1', 'look', '{}'), text('and'), call('call_2', 'weather', '{}'), text('.')],
  ],
  'reasoning among calls': [
    [reasoning('a'), call('call_1', 'look', '{}'), reasoning('b', 'Hm.'), call('call_2', 'look', '{}')],
  ],
  'repeated ids': [[call('call_1', 'look', '{}'), call('call_1', 'look', '{"a":1}')]],
  'no ids and names': [[call(undefined, 'look', '{}'), call('call_2', undefined, '{}')]],
  'custom calls': [
    [
      custom('call_1', 'note', 'raw\n', 'text'),
      silent(custom('call_2', 'note', 'more')),
      custom('call_3', 'note'),
    ],
  ],
  'arguments that are not JSON': [[call('call_1', 'look', 'not json'), call('call_2', 'look', '[1]')]],
  sources: [[withSources]],
  'a limit': [[text('Hi')], cutAt('max_output_tokens')],
  'a limit in a call': [[call('call_1', 'look', '{"a"')], cutAt('max_output_tokens')],
  filtered: [[text('Hi')], cutAt('content_filter')],
  'an unknown shortfall': [[text('Hi')], cutAt('other')],
  'a tier': [[text('Hi')], { service_tier: 'flex' }],
  'no figures': [[text('Hi')], { usage: null }],
  'other items': [
    [
      other({
        type: 'web_search_call',
        id: 'ws_1',
        status: 'completed',
        action: { type: 'search', query: 'x' },
      }),
      other({ type: 'weather_report', id: 'wr_1', millimetres: 3 }),
      text('Hi'),
    ],
  ],
}

/** The events of an item at its index. */
function itemEvents({ item, pieces }: Item, output_index: number): Json[] {
  const at = { item_id: item.id, output_index }
  return [
    { type: 'response.output_item.added', output_index, item: begunItem(item) },
    ...pieces.map(([type, delta, more]) => ({
      type,
      ...at,
      ...(delta !== undefined && { delta }),
      ...(type.startsWith('response.output_text') && { content_index: 0, logprobs: [] }),
      ...more,
    })),
    { type: 'response.output_item.done', output_index, item },
  ]
}

function begunItem(item: Json): Json {
  const { content, summary, arguments: text, input, ...rest } = item
  return {
    ...rest,
    ...(content && { content: [] }),
    ...(summary && { summary: [] }),
    ...(text !== undefined && { arguments: '' }),
    ...(input !== undefined && { input: '' }),
    status: 'in_progress',
  }
}

const numbered = (events: readonly Json[]): Json[] =>
  events.map((event, sequence_number) => (typeof event === 'object' ? { ...event, sequence_number } : event))

function eventsOf(items: readonly Item[], end: Json = {}): Json[] {
  return numbered([
    ...CREATED,
    ...items.flatMap(itemEvents),
    ended(
      items.map(({ item }) => item),
      end,
    ),
  ])
}

const two = eventsOf([call('call_1', 'look', '{"a"', ':1}'), call('call_2', 'look', '{"b"', ':2}')])
const streams: readonly StreamSample[] = [
  ...Object.entries(scripts).map(([label, [items, end]]) => ({ label, events: eventsOf(items, end) })),
  { label: 'mixed calls', events: [0, 1, 2, 6, 7, 3, 8, 4, 9, 5, 10].map((place) => two[place]) },
  { label: 'no end', events: eventsOf([text('Hi')]).slice(0, -1) },
  { label: 'no beginning', events: eventsOf([text('Hi')]).slice(2) },
  {
    label: 'pieces without an item',
    events: eventsOf([text('Hi')]).filter(({ type }) => !/item/.test(type)),
  },
  {
    label: 'items without a beginning',
    events: eventsOf([text('Hi'), call('call_1', 'look', '{}')]).filter(({ type }) => !/added/.test(type)),
  },
  {
    label: 'the end alone',
    events: [CREATED[0], ended([text('Hi').item, call('call_1', 'look', '{}').item])],
  },
]

export const responsesAnswers: AnswerSamples = {
  recorded: /^(?:openai-responses|chat-on-responses|messages-on-responses)$/,
  streams,
  closing: [],
  anywhere: [
    { type: 'error', code: 'server_error', message: 'Overloaded', param: null },
    {
      type: 'response.failed',
      response: { ...begun, status: 'failed', error: { code: 'server_error', message: 'No.' } },
    },
    { type: 'response.mood', mood: 'sunny' },
    { type: 'keepalive', sequence_number: 3 },
    { error: { message: 'Overloaded' } },
    'not json',
  ],
  generated,
}

function generated(random: Random): StreamSample {
  const reported: AnswerWords = { thinking: '', answer: '', calls: [] }
  const items = random.chance(0.05) ? [] : many(random, 5, (place) => item(random, place, reported))
  const end = random.pick([{}, {}, cutAt('max_output_tokens')])
  // Not every dialect has calls of raw text.
  const hasCustom = items.some(({ item: { type } }) => type === 'custom_tool_call')
  return { label: 'generated', events: mixed(random, items, end), ...(!hasCustom && { reported }) }
}

function item(random: Random, place: number, reported: AnswerWords): Item {
  const kind = random.pick(['text', 'text', 'reasoning', 'call', 'call', 'custom'])
  const written = words(random)
  if (kind === 'text') {
    reported.answer += written
    return text(...cut(random, written))
  }
  if (kind === 'reasoning') return reasoning(random.chance(0.7) ? `enc ${place}` : undefined)
  const name = `tool_${random.below(3)}`
  const given = kind === 'custom' ? written : JSON.stringify({ query: written })
  reported.calls.push({ name, arguments: given })
  const made = (kind === 'custom' ? custom : call)(`call_${place}`, name, ...cut(random, given))
  return random.chance(0.2) ? silent(made) : made
}

/** The events of all items: each keeps its order, and items begin in order; events of calls may be mixed. */
function mixed(random: Random, items: readonly Item[], end: Json): Json[] {
  const done = ended(
    items.map(({ item }) => item),
    end,
  )
  const events: Json[] = [...CREATED]
  const open: Json[][] = []
  for (const [place, each] of items.entries()) {
    const own = itemEvents({ ...each, item: { ...each.item, id: `it_${place}` } }, place)
    const isCall = /call/.test(each.item.type)
    if (!isCall || random.chance(0.5)) while (open.length > 0) drain(random, open, events)
    events.push(own.shift())
    open.push(own)
    for (let count = random.below(4); isCall && count > 0 && open.length > 0; count--)
      drain(random, open, events)
    if (!isCall) while (open.length > 0) drain(random, open, events)
  }
  while (open.length > 0) drain(random, open, events)
  return numbered([...events, done])
}

function drain(random: Random, open: Json[][], events: Json[]): void {
  const list = random.pick(open)
  events.push(list.shift())
  if (list.length === 0) open.splice(open.indexOf(list), 1)
}
