// Answers of vendors of chat completions as chunks, in the styles of many servers.

import { chatStream } from '../answers/chat-streams'
import type { Random } from '../random'
import type { Json } from '../scenario'
import { type AnswerSamples, dataOf, type StreamSample } from './answer-samples'

const usage = {
  prompt_tokens: 31,
  completion_tokens: 20,
  total_tokens: 51,
  prompt_tokens_details: { cached_tokens: 8 },
  completion_tokens_details: { reasoning_tokens: 4 },
}
const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_770_000_001, model: 'odd' }
const chunk = (delta: Json, finish_reason: Json = null, more: Json = {}): Json => ({
  ...head,
  choices: [{ index: 0, delta, finish_reason, ...more }],
})
const figures = { ...head, choices: [], usage }
const fn = (name: Json, text: Json = ''): Json => ({ function: { name, arguments: text } })
const piece = (index: Json, id: Json, called: Json, more: Json = {}): Json => ({
  tool_calls: [{ index, id, type: 'function', ...called, ...more }],
})
const goOn = (index: Json, text: string): Json => ({ tool_calls: [{ index, function: { arguments: text } }] })
const signature = { google: { thought_signature: 'c2ln' } }
const logprobs = { content: [{ token: 'Hi', logprob: -0.1, bytes: [72], top_logprobs: [] }], refusal: null }

/** Deltas of one answer, and its finish reason. */
const scripts: Readonly<Record<string, readonly [deltas: readonly Json[], finish: Json]>> = {
  text: [[{ role: 'assistant', content: '' }, { content: 'Hi' }, { content: ' you' }], 'stop'],
  'nothing at all': [[], 'stop'],
  'thinking before text': [
    [{ reasoning_content: 'Hm' }, { reasoning_content: '.' }, { content: 'Hi' }],
    'stop',
  ],
  'thinking after text': [
    [{ content: 'Hi' }, { reasoning: 'Hm.' }, { content: ' you' }, { reasoning: 'Again.' }],
    'stop',
  ],
  'thinking and text at once': [[{ reasoning_content: 'Hm.', content: 'Hi' }, { content: ' you' }], 'stop'],
  'thinking only': [[{ reasoning_content: 'Hm.' }], 'length'],
  'both members of thinking': [[{ reasoning_content: 'Hm.', reasoning: 'Hm.' }, { content: 'Hi' }], 'stop'],
  'empty pieces': [
    [
      { content: '' },
      { reasoning_content: '' },
      { tool_calls: [] },
      {},
      { content: 'Hi' },
      { content: null },
    ],
    'stop',
  ],
  'parts as content': [
    [
      {
        content: [
          { type: 'text', text: 'Hi' },
          { type: 'thinking', thinking: 'x' },
        ],
      },
    ],
    'stop',
  ],
  refusal: [[{ refusal: 'N' }, { refusal: 'o.' }], 'stop'],
  'refusal filtered': [[{ content: 'Hm' }, { refusal: 'No.' }], 'content_filter'],
  filtered: [[{ content: 'Hm' }], 'content_filter'],
  'an unknown end': [[{ content: 'Hi' }], 'eos'],
  'a limit': [[{ content: 'Hi' }, piece(0, 'call_1', fn('look', '{"a"'))], 'length'],
  'a call in pieces': [[piece(0, 'call_1', fn('look')), goOn(0, '{"pla'), goOn(0, 'ce":"x"}')], 'tool_calls'],
  'a whole call': [[piece(0, 'call_1', fn('look', '{"place":"x"}'))], 'tool_calls'],
  'a call without arguments': [[piece(0, 'call_1', fn('look'))], 'tool_calls'],
  'calls one after another': [
    [
      piece(0, 'call_1', fn('look')),
      goOn(0, '{}'),
      piece(1, 'call_2', fn('weather')),
      goOn(1, '{"city":'),
      goOn(1, '"Rome"}'),
    ],
    'tool_calls',
  ],
  'mixed calls': [
    [
      piece(0, 'call_1', fn('look')),
      piece(1, 'call_2', fn('weather')),
      goOn(1, '{"city"'),
      goOn(0, '{"place"'),
      goOn(1, ':"Rome"}'),
      goOn(0, ':"x"}'),
    ],
    'tool_calls',
  ],
  'a late name': [
    [piece(0, 'call_1', fn(undefined)), goOn(0, '{"pl'), piece(0, undefined, fn('look', 'ace":1}'))],
    'tool_calls',
  ],
  'a missing name': [[piece(0, 'call_1', fn(undefined, '{}'))], 'tool_calls'],
  'repeated ids': [
    [piece(0, 'call_1', fn('look', '{}')), piece(1, 'call_1', fn('look', '{"a":1}'))],
    'tool_calls',
  ],
  'no ids': [[piece(0, undefined, fn('look', '{}')), piece(1, '', fn('weather', '{}'))], 'tool_calls'],
  'one index for two': [
    [piece(0, 'call_1', fn('look', '{}')), piece(0, 'call_2', fn('weather', '{}'))],
    'tool_calls',
  ],
  'no index': [
    [piece(undefined, 'call_1', fn('look', '{}')), piece(undefined, 'call_2', fn('look', '{}'))],
    'stop',
  ],
  'odd ids': [[piece(0, 'functions.look:0', fn('look', '{}'))], 'tool_calls'],
  'parsed arguments': [[piece(0, 'call_1', fn('look', { place: 'x' }))], 'tool_calls'],
  'arguments that are not JSON': [[piece(0, 'call_1', fn('look', 'not json'))], 'tool_calls'],
  'space after the arguments': [
    [piece(0, 'call_1', fn('look', '{}')), { content: 'Now' }, goOn(0, '\n'), { content: ' then' }],
    'tool_calls',
  ],
  'text among calls': [
    [
      { content: 'I' },
      piece(0, 'call_1', fn('look')),
      { content: ' look' },
      goOn(0, '{}'),
      { reasoning_content: 'And' },
      piece(1, 'call_2', fn('weather', '{}')),
      { content: 'Done' },
    ],
    'tool_calls',
  ],
  'tools of all kinds': [
    [
      piece(0, 'call_1', fn('note', '{"input":"raw\\n')),
      goOn(0, 'text"}'),
      piece(1, 'call_2', fn('files__look', '{"place":"x"}')),
      piece(2, 'call_3', fn('shell', '{"commands":["ls"]}')),
      piece(3, 'call_4', fn('apply_patch', '{"type":"delete_file","path":"a"}')),
      piece(4, 'call_5', fn('tool_search', '{"query":"x"}')),
      piece(5, 'call_6', fn('local_shell', '{"command":["ls"]}')),
      piece(6, 'call_7', fn('made_up', '{}')),
      piece(7, 'call_8', fn('note', '{"other":1}')),
    ],
    'tool_calls',
  ],
  'raw text with escapes in pieces': [
    [
      piece(0, 'call_1', fn('note', '{"input":"a\\u4e')),
      goOn(0, '16\\ud83c'),
      goOn(0, '\\udf89 \\'),
      goOn(0, '"b\\'),
      goOn(0, 'n"}'),
    ],
    'tool_calls',
  ],
  'raw text that is cut': [[piece(0, 'call_1', fn('note', '{"input":"a\\u4e'))], 'length'],
  'a custom call': [
    [{ tool_calls: [{ index: 0, id: 'call_1', type: 'custom', custom: { name: 'note', input: 'raw' } }] }],
    'tool_calls',
  ],
  'a legacy function call': [[{ function_call: { name: 'look', arguments: '{}' } }], 'function_call'],
  'details of reasoning': [
    [
      { reasoning: 'Hm', reasoning_details: [{ type: 'reasoning.text', text: 'Hm', index: 0 }] },
      {
        reasoning: '.',
        reasoning_details: [{ type: 'reasoning.text', text: '.', index: 0, signature: 's' }],
      },
      { reasoning_details: [{ type: 'reasoning.encrypted', data: 'x', index: 1 }] },
      piece(0, 'call_1', fn('look', '{}')),
    ],
    'tool_calls',
  ],
  'details after text': [
    [{ content: 'Hi' }, { reasoning_details: [{ type: 'reasoning.summary', summary: 'Hm.', index: 0 }] }],
    'stop',
  ],
  'signatures of calls': [
    [
      { reasoning_content: 'Hm.' },
      piece(0, 'call_1', fn('look', '{}'), { extra_content: signature }),
      piece(1, 'call_2', fn('look', '{"a":1}')),
    ],
    'tool_calls',
  ],
  'a signature without a call': [[{ content: 'Hi' }, { content: '', extra_content: signature }], 'stop'],
  'a signature before a call': [
    [{ extra_content: signature, content: 'Hi' }, piece(0, 'call_1', fn('look', '{}'))],
    'tool_calls',
  ],
  citations: [
    [
      { content: 'Hi' },
      { annotations: [{ type: 'url_citation', url_citation: { url: 'https://example.com' } }] },
    ],
    'stop',
  ],
}

const streams: readonly StreamSample[] = [
  ...Object.entries(scripts).map(([label, [deltas, finish]]) => ({
    label,
    events: [...deltas.map((delta) => chunk(delta)), chunk({}, finish), figures, '[DONE]'],
  })),
  { label: 'no end', events: [chunk({ content: 'Hi' })] },
  { label: 'no figures', events: [chunk({ content: 'Hi' }), chunk({}, 'stop'), '[DONE]'] },
  { label: 'figures at the end', events: [chunk({ content: 'Hi' }), { ...chunk({}, 'stop'), usage }] },
  {
    label: 'figures with each',
    events: [
      { ...chunk({ content: 'Hi' }), usage: { ...usage, completion_tokens: 1 } },
      { ...chunk({ content: ' you' }, 'stop'), usage },
      '[DONE]',
    ],
  },
  {
    label: 'absurd figures',
    events: [chunk({ content: 'Hi' }, 'stop'), { ...figures, usage: { prompt_tokens: -1 } }],
  },
  {
    label: 'a tier',
    events: [{ ...chunk({ content: 'Hi' }, 'stop'), service_tier: 'flex' }, figures, '[DONE]'],
  },
  {
    label: 'probabilities',
    events: [
      chunk({ content: 'Hi' }, null, { logprobs }),
      chunk({}, 'stop', { logprobs: null }),
      figures,
      '[DONE]',
    ],
  },
  {
    label: 'a second choice',
    events: [
      { ...head, choices: [{ index: 1, delta: { content: 'no' } }] },
      chunk({ content: 'Hi' }, 'stop'),
    ],
  },
]

export const chatAnswers: AnswerSamples = {
  recorded: /^(?:openai-chat|messages-on-chat|responses-on-chat)$/,
  streams,
  closing: ['[DONE]'],
  anywhere: [
    { error: { message: 'Overloaded', type: 'server_error', code: 'overloaded' } },
    { object: 'unknown.event', mood: 'sunny' },
    chunk({}),
    { choices: null },
    'not json',
  ],
  generated(random: Random): StreamSample {
    const { text, thinking, answer, calls } = chatStream(random)
    return { label: 'generated', events: dataOf(text), reported: { thinking, answer, calls } }
  },
}
