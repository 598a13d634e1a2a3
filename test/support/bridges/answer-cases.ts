// The answers for comparing families: recorded ones, samples, samples with one event lost, repeated, moved, changed or added at
// every place, and generated ones. It must never use the families' results.

import { fixtures } from '../answers/fixtures'
import { branchesOf, withValue } from '../answers/json-paths'
import { createRandom, type Random } from '../random'
import type { Json } from '../scenario'
import type { AnswerSamples, StreamSample, VendorProtocol } from './answer-samples'
import { chatAnswers } from './chat-answers'
import { converseAnswers } from './converse-answers'
import { messagesAnswers } from './messages-answers'
import { responsesAnswers } from './responses-answers'

const samples: Record<VendorProtocol, AnswerSamples> = {
  chat: chatAnswers,
  messages: messagesAnswers,
  responses: responsesAnswers,
  converse: converseAnswers,
}

const ODD = [undefined, null, 7, -1, '', 'x', true, [], [null], {}, { type: 'x' }]

/** One of this many changed answers is generated. */
export function streamCases(
  protocol: VendorProtocol,
  { seed, step, generated }: { seed: number; step: number; generated: number },
): StreamSample[] {
  const { recorded, streams, closing, anywhere, generated: generate } = samples[protocol]
  const all: StreamSample[] = [
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
    ...Array.from({ length: generated }, (_, place): StreamSample => {
      const made = generate(createRandom(seed + place))
      return { ...made, label: `generated ${seed + place}` }
    }),
  ]
}

/** Copies of the stream with each of its events lost, repeated, moved after the next, changed, or preceded by another one. */
function changedStreams(
  { label, events }: StreamSample,
  anywhere: readonly Json[],
  random: Random,
): StreamSample[] {
  return events.flatMap((event, place): StreamSample[] => {
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
    }))
  })
}
