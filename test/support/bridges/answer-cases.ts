// The answers that families are compared by: recorded ones, samples, samples with one event lost, doubled, moved, changed or
// added at every place, and generated ones; and the requests that they answer. It must never know what a family makes of
// them.

import { fixtures } from '../answers/fixtures'
import { branchesOf, withValue } from '../answers/json-paths'
import { createRandom, type Random } from '../random'
import type { Json } from '../scenario'
import type { AnswerSamples, StreamSample, VendorProtocol } from './answer-samples'
import { chatAnswers } from './chat-answers'
import { converseAnswers } from './converse-answers'
import { messagesAnswers } from './messages-answers'
import { type CallerDialect, schema } from './request-samples'
import { responsesAnswers } from './responses-answers'

const samples: Record<VendorProtocol, AnswerSamples> = {
  chat: chatAnswers,
  messages: messagesAnswers,
  responses: responsesAnswers,
  converse: converseAnswers,
}

const names = ['tool_0', 'tool_1', 'tool_2', 'look', 'weather']
const chatTools = names.map((name) => ({ type: 'function', function: { name, parameters: schema } }))
const messagesTools = names.map((name) => ({ name, input_schema: schema }))
const flat = (name: string) => ({ type: 'function', name, parameters: schema })
const custom = (name: string) => ({ type: 'custom', name })
const responsesTools = [
  ...['tool_0', 'look', 'weather'].map(flat),
  custom('tool_1'),
  custom('note'),
  { type: 'namespace', name: 'files', tools: [flat('look'), custom('edit')] },
  { type: 'shell' },
  { type: 'local_shell' },
  { type: 'apply_patch' },
  { type: 'tool_search', execution: 'client' },
]
const hello = { messages: [{ role: 'user', content: 'Hi' }] }

/** Requests that answers are read for, by what of them shows in an answer. Those that a family refuses are left out. */
export const answeredRequests: Readonly<Record<CallerDialect, readonly Json[]>> = {
  chat: [
    hello,
    { ...hello, stream: true, stream_options: { include_usage: true }, tools: chatTools },
    { ...hello, logprobs: true, include_reasoning: true, reasoning_effort: 'low' },
    { ...hello, n: 2, stream: true, stream_options: { include_usage: true } },
    {
      ...hello,
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
      max_tokens: 50,
    },
  ],
  messages: [
    { ...hello, max_tokens: 500 },
    { ...hello, max_tokens: 9_000, stream: true, tools: messagesTools },
    { ...hello, max_tokens: 9_000, thinking: { type: 'enabled', budget_tokens: 1_024 } },
    {
      ...hello,
      max_tokens: 9_000,
      thinking: { type: 'adaptive', display: 'summarized' },
      stop_sequences: ['END'],
    },
    {
      ...hello,
      max_tokens: 50,
      thinking: { type: 'disabled' },
      output_config: { format: { type: 'json_schema', schema } },
    },
  ],
  responses: [
    { input: 'Hi' },
    { input: 'Hi', stream: true, tools: responsesTools, parallel_tool_calls: false, metadata: { a: 'b' } },
    {
      input: 'Hi',
      max_output_tokens: 9_000,
      reasoning: { effort: 'low', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      store: false,
    },
    {
      input: 'Hi',
      instructions: 'Be brief.',
      include: ['message.output_text.logprobs'],
      top_logprobs: 2,
      temperature: 0.5,
    },
    { input: [{ role: 'user', content: 'Hi' }, { type: 'compaction_trigger' }], tools: responsesTools },
    { input: 'Hi', text: { format: { type: 'json_schema', name: 'a', schema }, verbosity: 'low' } },
  ],
}

export interface ReplyCase {
  label: string
  reply: Json
  isOfOneRequest?: true
}

export interface StreamCase extends StreamSample {
  isOfOneRequest?: true
}

const ODD = [undefined, null, 7, -1, '', 'x', true, [], [null], {}, { type: 'x' }]

/** Every so many of the changed answers is made. */
export function replyCases(protocol: VendorProtocol, seed: number, step: number): ReplyCase[] {
  const { recorded, replies } = samples[protocol]
  const all: ReplyCase[] = [
    ...fixtures
      .filter(({ family, reply }) => recorded.test(family) && reply !== undefined)
      .map(({ family, name, reply }) => ({ label: `recorded ${family}/${name}`, reply })),
    ...replies.map((reply, place) => ({ label: `reply ${place}`, reply })),
  ]
  const random = createRandom(seed)
  let count = 0
  const changed = all.flatMap(({ label, reply }) =>
    branchesOf(reply).flatMap((path): ReplyCase | [] => {
      if (count++ % step !== seed % step) return []
      const value = random.pick(ODD)
      const other = withValue(reply, path, value)
      return { label: `${label}, ${path} = ${JSON.stringify(value)}`, reply: other, isOfOneRequest: true }
    }),
  )
  return [...all, ...changed]
}

export function streamCases(
  protocol: VendorProtocol,
  { seed, step, generated }: { seed: number; step: number; generated: number },
): StreamCase[] {
  const { recorded, streams, closing, anywhere, generated: generate } = samples[protocol]
  const all: StreamCase[] = [
    ...fixtures
      .filter(({ family, events }) => recorded.test(family) && events !== undefined)
      .map(({ family, name, events = [] }) => ({
        label: `recorded ${family}/${name}`,
        events: [...events, ...closing],
      })),
    ...streams,
  ]
  const random = createRandom(seed)
  return [
    ...all,
    ...all
      .flatMap((stream) => changedStreams(stream, anywhere, random))
      .filter((_, place) => place % step === seed % step),
    ...Array.from({ length: generated }, (_, place): StreamCase => {
      const made = generate(createRandom(seed + place))
      return { ...made, label: `generated ${seed + place}`, isOfOneRequest: true }
    }),
  ]
}

/** The stream with each of its events lost, doubled, moved behind the next, or changed, and with others in front of it. */
function changedStreams(
  { label, events }: StreamSample,
  anywhere: readonly Json[],
  random: Random,
): StreamCase[] {
  return events.flatMap((event, place): StreamCase[] => {
    const before = events.slice(0, place)
    const after = events.slice(place + 1)
    const [next, ...rest] = after
    const paths = branchesOf(event)
    const path = paths.length > 0 ? random.pick(paths) : undefined
    const value = random.pick(ODD)
    const changes: Record<string, readonly Json[]> = {
      [`without event ${place}`]: [...before, ...after],
      [`event ${place} twice`]: [...before, event, event, ...after],
      ...(next !== undefined && { [`event ${place} after the next`]: [...before, next, event, ...rest] }),
      [`another event before ${place}`]: [...before, random.pick(anywhere), event, ...after],
      ...(path !== undefined && {
        [`event ${place}, ${path} = ${JSON.stringify(value)}`]: [
          ...before,
          withValue(event, path, value),
          ...after,
        ],
      }),
    }
    return Object.entries(changes).map(([change, changed]) => ({
      label: `${label}, ${change}`,
      events: changed,
      isOfOneRequest: true,
    }))
  })
}
