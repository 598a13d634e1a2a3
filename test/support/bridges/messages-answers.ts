// Answers of vendors of messages as events.

import { messageStream } from '../answers/message-streams'
import type { Random } from '../random'
import type { Json } from '../scenario'
import { type AnswerSamples, dataOf, type StreamSample } from './answer-samples'

const usage = {
  input_tokens: 31,
  cache_read_input_tokens: 8,
  cache_creation_input_tokens: 5,
  output_tokens: 20,
  output_tokens_details: { thinking_tokens: 4 },
}
const message = { id: 'msg_7', type: 'message', role: 'assistant', model: 'odd' }
const START = {
  type: 'message_start',
  message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
}
const STOP = { type: 'message_stop' }
const ended = (stop_reason: Json, more: Json = {}): Json => ({
  type: 'message_delta',
  delta: { stop_reason, stop_sequence: null, ...more },
  usage: { output_tokens: 20, output_tokens_details: { thinking_tokens: 4 } },
})

/** A block as it starts, and its deltas. */
type Block = readonly [start: Json, ...deltas: Json[]]
const text = (...pieces: string[]): Block => [
  { type: 'text', text: '' },
  ...pieces.map((piece) => ({ type: 'text_delta', text: piece })),
]
const thinking = (signature: string | undefined, ...pieces: string[]): Block => [
  { type: 'thinking', thinking: '', signature: '' },
  ...pieces.map((piece) => ({ type: 'thinking_delta', thinking: piece })),
  ...(signature === undefined ? [] : [{ type: 'signature_delta', signature }]),
]
const use = (id: Json, name: Json, input: Json, ...pieces: string[]): Block => [
  { type: 'tool_use', id, name, input },
  ...pieces.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
]
const redacted: Block = [{ type: 'redacted_thinking', data: 'c2VjcmV0' }]

const scripts: Readonly<Record<string, readonly [blocks: readonly Block[], reason: Json]>> = {
  text: [[text('Hi', ' you')], 'end_turn'],
  'nothing at all': [[], 'end_turn'],
  'an empty text': [[text()], 'end_turn'],
  'empty pieces': [[text('', 'Hi', '')], 'end_turn'],
  'text at the start': [
    [
      [
        { type: 'text', text: 'Hi' },
        { type: 'text_delta', text: ' you' },
      ],
    ],
    'end_turn',
  ],
  'thinking before text': [[thinking('EuYB', 'Hm', '.'), text('Hi')], 'end_turn'],
  'thinking after text': [[text('Hi'), thinking('EuYB', 'Hm.'), text(' you')], 'end_turn'],
  'thinking without a signature': [[thinking(undefined, 'Hm.'), text('Hi')], 'end_turn'],
  'a signature alone': [[thinking('EuYB'), text('Hi')], 'end_turn'],
  'a signature in pieces': [
    [[...thinking('Eu', 'Hm.'), { type: 'signature_delta', signature: 'YB' }], text('Hi')],
    'end_turn',
  ],
  'thinking twice': [
    [thinking('a', 'One.'), thinking('b', 'Two.'), use('toolu_1', 'look', {}, '{}')],
    'tool_use',
  ],
  'redacted thinking': [[redacted, text('Hi')], 'end_turn'],
  'redacted among thinking': [
    [thinking('a', 'One.'), redacted, thinking('b', 'Two.'), text('Hi')],
    'end_turn',
  ],
  'a call in pieces': [[use('toolu_1', 'look', {}, '', '{"pla', 'ce":"x"}')], 'tool_use'],
  'a whole call': [[use('toolu_1', 'look', { place: 'x' })], 'tool_use'],
  'a call whole and in pieces': [[use('toolu_1', 'look', { place: 'x' }, '{"place":"x"}')], 'tool_use'],
  'a call without arguments': [[use('toolu_1', 'look', {})], 'tool_use'],
  'a call without input': [[use('toolu_1', 'look', undefined, '{}')], 'tool_use'],
  'text after calls': [
    [
      text('I'),
      use('toolu_1', 'look', {}, '{}'),
      text('and'),
      use('toolu_2', 'weather', {}, '{"city":"Rome"}'),
      text('.'),
    ],
    'tool_use',
  ],
  'thinking between calls': [
    [
      thinking('a', 'One.'),
      use('toolu_1', 'look', {}, '{}'),
      thinking('b', 'Two.'),
      use('toolu_2', 'look', {}, '{}'),
    ],
    'tool_use',
  ],
  'repeated ids': [[use('toolu_1', 'look', {}, '{}'), use('toolu_1', 'look', {}, '{"a":1}')], 'tool_use'],
  'no ids and names': [[use(undefined, 'look', {}, '{}'), use('toolu_2', undefined, {}, '{}')], 'tool_use'],
  'tools of all kinds': [
    [
      use('toolu_1', 'note', {}, '{"input":"raw\\n', 'text"}'),
      use('toolu_2', 'files__look', {}, '{"place":"x"}'),
      use('toolu_3', 'shell', {}, '{"commands":["ls"]}'),
      use('toolu_4', 'apply_patch', {}, '{"type":"delete_file","path":"a"}'),
      use('toolu_5', 'tool_search', {}, '{"query":"x"}'),
      use('toolu_6', 'local_shell', {}, '{"command":["ls"]}'),
      use('toolu_7', 'made_up', {}, '{}'),
      use('toolu_8', 'note', {}, '{"other":1}'),
    ],
    'tool_use',
  ],
  'raw text with escapes in pieces': [
    [use('toolu_1', 'note', {}, '{"input":"a\\u4e', '16\\ud83c', '\\udf89 \\', '"b\\', 'n"}')],
    'tool_use',
  ],
  'raw text that is cut': [[use('toolu_1', 'note', {}, '{"input":"a\\u4e')], 'max_tokens'],
  'a limit': [[text('Hi'), use('toolu_1', 'look', {}, '{"a"')], 'max_tokens'],
  'a limit in raw text': [[use('toolu_1', 'note', {}, '{"input":"raw')], 'max_tokens'],
  'a full window': [[text('Hi')], 'model_context_window_exceeded'],
  refusal: [[text('No.')], 'refusal'],
  'refusal without a word': [[], 'refusal'],
  pause: [[text('Wait')], 'pause_turn'],
  'a stop sequence': [[text('Hi')], 'stop_sequence'],
  'an unknown reason': [[text('Hi')], 'a_new_reason'],
  'no reason': [[text('Hi')], null],
  'other blocks': [
    [
      [
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: {} },
        { type: 'input_json_delta', partial_json: '{"query":"no"}' },
      ],
      [{ type: 'web_search_tool_result', content: [{ title: 'no' }] }],
      [{ type: 'weather_report' }, { type: 'reading_delta', millimetres: 3 }],
      [
        ...text('Hi'),
        { type: 'citations_delta', citation: { type: 'web_search_result_location', url: 'https://a.b' } },
      ],
    ],
    'end_turn',
  ],
}

function eventsOf(blocks: readonly Block[], end: readonly Json[]): Json[] {
  return [
    START,
    ...blocks.flatMap(([content_block, ...deltas], index) => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    ...end,
  ]
}

const two = eventsOf(
  [use('toolu_1', 'look', {}, '{"a"', ':1}'), use('toolu_2', 'look', {}, '{"b"', ':2}')],
  [],
)
const streams: readonly StreamSample[] = [
  ...Object.entries(scripts).map(([label, [blocks, reason]]) => ({
    label,
    events: eventsOf(blocks, [ended(reason), STOP]),
  })),
  { label: 'no end', events: eventsOf([text('Hi')], []) },
  { label: 'no stop', events: eventsOf([text('Hi')], [ended('end_turn')]) },
  { label: 'no reason event', events: eventsOf([text('Hi')], [STOP]) },
  { label: 'no start', events: eventsOf([text('Hi')], [ended('end_turn'), STOP]).slice(1) },
  {
    label: 'a sequence',
    events: eventsOf([text('Hi')], [ended('stop_sequence', { stop_sequence: 'END' }), STOP]),
  },
  {
    label: 'mixed calls',
    events: [...[0, 1, 5, 6, 2, 7, 3, 4, 8].map((place) => two[place]), ended('tool_use'), STOP],
  },
  {
    label: 'two ends',
    events: eventsOf(
      [text('Hi')],
      [{ ...ended(null), delta: {} }, ended('end_turn', { container: { id: 'c' } }), STOP],
    ),
  },
  {
    label: 'figures of a tier',
    events: eventsOf(
      [text('Hi')],
      [{ ...ended('end_turn'), usage: { ...usage, service_tier: 'priority' } }, STOP],
    ),
  },
  { label: 'a ping', events: eventsOf([text('Hi')], [{ type: 'ping' }, ended('end_turn'), STOP]) },
]

export const messagesAnswers: AnswerSamples = {
  recorded: /^(?:anthropic-messages|chat-on-messages|responses-on-messages)$/,
  streams,
  closing: [STOP],
  anywhere: [
    { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    { type: 'message_mood', mood: 'sunny' },
    { type: 'ping' },
    { type: 'content_block_delta', index: 99, delta: { type: 'text_delta', text: 'lost' } },
    'not json',
  ],
  generated(random: Random): StreamSample {
    const { text: stream, thinking: thought, answer, calls, finish } = messageStream(random)
    const reported = { thinking: thought, answer, calls }
    // A refusal may be reported in the gateway's own words.
    return { label: 'generated', events: dataOf(stream), ...(finish !== 'content_filter' && { reported }) }
  },
}
