// Answers of Amazon Bedrock's Converse as events.

import type { Random } from '../random'
import type { Json } from '../scenario'
import { type AnswerSamples, type AnswerWords, cut, type StreamSample } from './answer-samples'
import { many, words } from './request-samples'

const usage = {
  inputTokens: 31,
  outputTokens: 20,
  totalTokens: 64,
  cacheReadInputTokens: 8,
  cacheWriteInputTokens: 5,
}
const START = { messageStart: { role: 'assistant' } }
const ended = (stopReason: Json): Json => ({ messageStop: { stopReason } })
const FIGURES = { metadata: { usage, metrics: { latencyMs: 600 } } }

/** A block: its start, if the vendor sends one, and its pieces. */
interface Block {
  start?: Json
  pieces: readonly Json[]
}
const text = (...pieces: string[]): Block => ({
  pieces: pieces.map((each) => ({ text: each })),
})
const thinking = (signature: string | undefined, ...pieces: string[]): Block => ({
  pieces: [
    ...pieces.map((each) => ({ reasoningContent: { text: each } })),
    ...(signature === undefined ? [] : [{ reasoningContent: { signature } }]),
  ],
})
const redacted: Block = {
  pieces: [{ reasoningContent: { redactedContent: 'c2VjcmV0' } }],
}
const use = (toolUseId: Json, name: Json, ...pieces: string[]): Block => ({
  start: { toolUse: { toolUseId, name } },
  pieces: pieces.map((input) => ({ toolUse: { input } })),
})

const scripts: Readonly<Record<string, readonly [blocks: readonly Block[], reason: Json]>> = {
  text: [[text('Hi', ' you')], 'end_turn'],
  'nothing at all': [[], 'end_turn'],
  'two texts': [[text('Hi'), text(' you')], 'end_turn'],
  'empty pieces': [[text('', 'Hi', '')], 'end_turn'],
  'text that is begun': [[{ ...text('Hi'), start: {} }], 'end_turn'],
  'thinking before text': [[thinking('c2ln', 'Hm', '.'), text('Hi')], 'end_turn'],
  'thinking after text': [[text('Hi'), thinking('c2ln', 'Hm.'), text(' you')], 'end_turn'],
  'thinking without a signature': [[thinking(undefined, 'Hm.'), text('Hi')], 'end_turn'],
  'redacted thinking': [[redacted, thinking('c2ln', 'Hm.'), text('Hi')], 'end_turn'],
  'a call in pieces': [[use('tooluse_1', 'look', '', '{"pla', 'ce":"x"}')], 'tool_use'],
  'a call without input': [[use('tooluse_1', 'look')], 'tool_use'],
  'text among calls': [
    [
      text('I'),
      use('tooluse_1', 'look', '{}'),
      text('and'),
      use('tooluse_2', 'weather', '{"city":"Rome"}'),
      text('.'),
    ],
    'tool_use',
  ],
  'thinking among calls': [
    [
      thinking('a', 'One.'),
      use('tooluse_1', 'look', '{}'),
      thinking('b', 'Two.'),
      use('tooluse_2', 'look', '{}'),
    ],
    'tool_use',
  ],
  'repeated ids': [[use('tooluse_1', 'look', '{}'), use('tooluse_1', 'look', '{"a":1}')], 'tool_use'],
  'no ids and names': [[use(undefined, 'look', '{}'), use('tooluse_2', undefined, '{}')], 'tool_use'],
  'tools of all kinds': [
    [
      use('tooluse_1', 'note', '{"input":"raw\\n', 'text"}'),
      use('tooluse_2', 'files__look', '{"place":"x"}'),
      use('tooluse_3', 'shell', '{"commands":["ls"]}'),
      use('tooluse_4', 'made_up', '{}'),
    ],
    'tool_use',
  ],
  'a limit': [[text('Hi'), use('tooluse_1', 'look', '{"a"')], 'max_tokens'],
  'a full window': [[text('Hi')], 'model_context_window_exceeded'],
  'a guardrail': [[text('No.')], 'guardrail_intervened'],
  filtered: [[text('Hi')], 'content_filtered'],
  'a stop sequence': [[text('Hi')], 'stop_sequence'],
  'a malformed use': [[text('Hi')], 'malformed_tool_use'],
  'no reason': [[text('Hi')], undefined],
  'other blocks': [
    [
      {
        start: { weather: {} },
        pieces: [{ weather: { millimetres: 3 } }],
      },
      { pieces: [] },
      { pieces: [{ citation: { title: 'T' } }, { text: 'Hi' }] },
    ],
    'end_turn',
  ],
}

function blockEvents({ start, pieces }: Block, contentBlockIndex: number): Json[] {
  return [
    ...(start ? [{ contentBlockStart: { contentBlockIndex, start } }] : []),
    ...pieces.map((delta) => ({ contentBlockDelta: { contentBlockIndex, delta } })),
    { contentBlockStop: { contentBlockIndex } },
  ]
}

function eventsOf(blocks: readonly Block[], end: readonly Json[]): Json[] {
  return [START, ...blocks.flatMap(blockEvents), ...end]
}

const reasons = ['end_turn', 'tool_use', 'max_tokens', 'stop_sequence', 'content_filtered', 'new_reason']
export const converseAnswers: AnswerSamples = {
  recorded: /^(?:bedrock-converse|chat-on-converse|responses-on-converse)$/,
  streams: [
    ...Object.entries(scripts).map(([label, [blocks, reason]]) => ({
      label,
      events: eventsOf(blocks, [ended(reason), FIGURES]),
    })),
    { label: 'no end', events: eventsOf([text('Hi')], []) },
    { label: 'no figures', events: eventsOf([text('Hi')], [ended('end_turn')]) },
    { label: 'no stop', events: eventsOf([text('Hi')], [FIGURES]) },
    { label: 'no start', events: eventsOf([text('Hi')], [ended('end_turn'), FIGURES]).slice(1) },
    {
      label: 'no block ends',
      events: eventsOf(
        [thinking('a', 'Hm.'), text('Hi'), use('tooluse_1', 'look', '{}')],
        [ended('tool_use'), FIGURES],
      ).filter((event) => !('contentBlockStop' in event)),
    },
  ],
  closing: [],
  anywhere: [
    { type: 'error', error: { type: 'throttlingException', message: 'Overloaded' } },
    { throttlingException: { message: 'Overloaded' } },
    { message: 'Overloaded', __type: 'ThrottlingException' },
    { weatherReport: { millimetres: 12 } },
    { contentBlockDelta: { contentBlockIndex: 99, delta: { toolUse: { input: '{}' } } } },
    'not json',
  ],
  generated(random: Random): StreamSample {
    const reported: AnswerWords = { thinking: '', answer: '', calls: [] }
    const blocks = random.chance(0.05) ? [] : many(random, 6, (place) => block(random, place, reported))
    const reason = random.pick(reasons)
    const events = eventsOf(blocks, [ended(reason), FIGURES])
    // A refusal may be reported in the gateway's own words.
    return { label: 'generated', events, ...(reason !== 'content_filtered' && { reported }) }
  },
}

function block(random: Random, place: number, reported: AnswerWords): Block {
  const kind = random.pick(['text', 'text', 'thinking', 'use', 'use', 'redacted'])
  if (kind === 'redacted') return redacted
  const written = words(random)
  if (kind === 'text') {
    reported.answer += written
    return text(...cut(random, written))
  }
  if (kind === 'thinking') {
    reported.thinking += written
    return thinking(random.chance(0.7) ? `sig ${place}` : undefined, ...cut(random, written))
  }
  const given = JSON.stringify({ query: written })
  const name = `tool_${random.below(3)}`
  reported.calls.push({ name, arguments: given })
  return use(`tooluse_${place}`, name, ...cut(random, given))
}
