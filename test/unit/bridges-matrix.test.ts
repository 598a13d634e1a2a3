// Every dialect of callers with every protocol of vendors. A request is refused with the place of its fault, or the
// vendor gets exactly its content, once. An answer, whole or as a stream, arrives with exactly its text, calls and
// figures, in the grammar of the dialect, also if it is cut or fails. TEST_WHOLE=1 tries 1,000 random streams for each
// pair, other runs a part of them. MATRIX_PAIR=chat-on-messages tests only that pair, MATRIX_STREAMS and
// MATRIX_REQUESTS set the number of random cases, and MATRIX_SEED repeats a run.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { MadeFamily, Translator } from '../../src/contract/family'
import { families } from '../../src/families'
import { streamOutcome } from '../support/bridges/answer-outcome'
import { withFamily } from '../support/bridges/models'
import { requestCases } from '../support/bridges/request-cases'
import type { CallerDialect } from '../support/bridges/request-samples'
import {
  oddStreamFaults,
  oddStreamsOf,
  repliesOf,
  replyFaults,
  streamFaults,
  streamsOf,
} from '../support/matrix/answers'
import { geminiCases } from '../support/matrix/gemini-requests'
import { grammarFaults } from '../support/matrix/grammars'
import { type Meeting, meetings, requestOf } from '../support/matrix/pairs'
import { requestFaults, tableFaults } from '../support/matrix/requests'
import { casesOf, createRandom } from '../support/random'
import type { Json } from '../support/scenario'

setDefaultTimeout(300_000)

const { MATRIX_PAIR: chosen, MATRIX_SEED, MATRIX_STREAMS, MATRIX_REQUESTS } = process.env
const seed = Number(MATRIX_SEED ?? 1)
const streams = Number(MATRIX_STREAMS ?? casesOf(1_000))
const requests = Number(MATRIX_REQUESTS ?? 60)

const tried = meetings.filter(({ name }) => chosen === undefined || name === chosen)
const rows = tried.map((meeting): [string, Meeting] => [meeting.name, meeting])

const requestsOf = ({ dialect }: Meeting, count: number) =>
  dialect === 'gemini'
    ? geminiCases(seed, count)
    : requestCases(dialect as CallerDialect, { seed, mixtures: count, step: 0 })

const modelOf = ({ models }: Meeting, place: number) =>
  models[place % models.length] as Meeting['models'][number]

function faultsOfRequests(
  meeting: Meeting,
  count: number,
): { faults: string[]; accepted: number; refused: number } {
  const outcomes = requestsOf(meeting, count).map((each, place) =>
    requestFaults(meeting, modelOf(meeting, place), each),
  )
  const faults = outcomes.flatMap((outcome) => outcome ?? [])
  const refused = outcomes.filter((outcome) => outcome === undefined).length
  return { faults, accepted: outcomes.length - refused, refused }
}

const faultsOfStreams = (meeting: Meeting, count: number): string[] =>
  streamsOf(meeting.protocol, seed, count).flatMap((stream, place) =>
    streamFaults(meeting, modelOf(meeting, place), stream, createRandom(seed + place)),
  )

test('every pair of a dialect and a protocol is tested', () => {
  // Without this check, a dialect or a protocol could be missing unnoticed.
  const operations = new Set(meetings.map(({ family }) => family.operation))
  const served = [...families.values()].filter(({ bridge, operation }) => bridge && operations.has(operation))
  expect(meetings.map(({ family }) => family.name).sort()).toEqual(served.map(({ name }) => name).sort())
  expect(tried.length).toBeGreaterThan(0)
})

describe('a vendor gets the content of a request exactly once', () => {
  test.each(rows)('%s', (_, meeting) => {
    const { faults, accepted, refused } = faultsOfRequests(meeting, requests)
    expect(faults.slice(0, 5)).toEqual([])
    expect(Math.min(accepted, refused)).toBeGreaterThan(2)
  })
})

describe('fields are treated as their table specifies', () => {
  test.each(rows)('%s', (_, meeting) => {
    const samples = requestsOf(meeting, 0).filter(({ label }) => label.startsWith('sample'))
    expect(tableFaults(meeting, samples)).toEqual([])
  })
})

describe('an answer arrives unchanged', () => {
  test.each(rows)('%s', (_, meeting) => {
    const whole = repliesOf(meeting.protocol).flatMap((reply, place) =>
      replyFaults(meeting, modelOf(meeting, place), reply),
    )
    expect([...whole, ...faultsOfStreams(meeting, streams)].slice(0, 5)).toEqual([])
  })
})

describe('an unusual answer is translated to a valid one', () => {
  test.each(rows)('%s', (_, meeting) => {
    const faults = oddStreamsOf(meeting.protocol, seed).flatMap((stream, place) =>
      oddStreamFaults(meeting, modelOf(meeting, place), stream),
    )
    expect(faults.slice(0, 5)).toEqual([])
  })
})

test('a failed response contains a call whose name its vendor had not sent yet', () => {
  const found = meetings.find(({ name }) => name === 'responses-on-chat') as Meeting
  const model = modelOf(found, 0)
  const piece = (delta: Json) => ({ id: 'c', choices: [{ index: 0, delta }] })
  const called = { index: 0, id: 'call_1', type: 'function', function: { arguments: '{"city":"Ber' } }
  const broken = { error: { message: 'overloaded', type: 'server_error' } }
  const sent = [piece({ content: 'I look.' }), piece({ tool_calls: [called] }), broken]
  const last = { ending: 'fail' } as const
  const ended = [
    streamOutcome(model, requestOf(found, model, true), [sent], last),
    streamOutcome(model, requestOf(found, model, true), [sent.slice(0, 2)], last),
  ]
  for (const { answer, events } of ended) {
    expect(answer).toMatchObject({
      status: 'failed',
      output: [
        { type: 'message', content: [{ text: 'I look.' }] },
        { type: 'function_call', name: '', arguments: '{"city":"Ber', status: 'incomplete' },
      ],
    })
    expect(grammarFaults('responses', events, 'failed')).toEqual([])
  }
})

/** Turns a family into a faulty one. */
type Mutation = (family: MadeFamily) => MadeFamily

const withJson =
  (change: (json: Json) => Json): Mutation =>
  (family) => ({
    ...family,
    call(parsed, model) {
      const [call] = [family.call(parsed, model)].flat() as Json[]
      const json = structuredClone(call.body.json)
      return { ...call, body: { json: change(json) } } as ReturnType<MadeFamily['call']>
    },
  })

let pieces = 0
const withFrames =
  (change: (frames: string[]) => string[]): Mutation =>
  (family) => {
    const stream = family.stream as NonNullable<MadeFamily['stream']>
    return {
      ...family,
      stream: {
        ...stream,
        translate(parsed, model) {
          const translator = stream.translate(parsed, model) as Translator
          const push = translator.push.bind(translator)
          translator.push = (...event) => change(push(...event).split(/(?<=\n\n)/)).join('')
          return translator
        },
      },
    }
  }

const ofRequests: Record<string, Mutation> = {
  'a text is sent twice': withJson((json) => ({
    ...json,
    again: json.messages ?? json.contents ?? json.input,
  })),
  'a text is lost': withJson((json) => JSON.parse(JSON.stringify(json).replace(/mark0000q/, ''))),
  'a text is invented': withJson((json) => ({ ...json, instructions: 'Be kind.' })),
}
const ofStreams: Record<string, Mutation> = {
  'every twentieth event is lost': withFrames((frames) => (pieces++ % 20 === 19 ? frames.slice(1) : frames)),
  'an event is sent twice': withFrames((frames) => (pieces++ % 20 === 19 ? [...frames, ...frames] : frames)),
  'events are swapped': withFrames((frames) => frames.toReversed()),
}

if (chosen === undefined) {
  describe('the tests of this file find a fault:', () => {
    const mutated = (mutate: Mutation, place: number): Meeting => {
      const meeting = meetings[(place * 5) % meetings.length] as Meeting
      const family = mutate(meeting.family)
      return { ...meeting, family, models: meeting.models.map((model) => withFamily(model, family)) }
    }
    test.each(Object.entries(ofRequests))('%s', (_, mutate) => {
      expect(faultsOfRequests(mutated(mutate, 1), 5).faults).not.toEqual([])
    })
    test.each(Object.entries(ofStreams))('%s', (_, mutate) => {
      expect(faultsOfStreams(mutated(mutate, 2), 20)).not.toEqual([])
    })
  })
}
