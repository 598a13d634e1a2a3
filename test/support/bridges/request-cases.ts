// The requests for comparing families: recorded ones, those of the tests of vendors, samples, samples with one value changed at
// every place, and random mixtures. A seed repeats them. It must never use the families' results.

import { requestsOf } from '../../vendors/requests'
import { fixtures } from '../answers/fixtures'
import { branchesOf, withValue } from '../answers/json-paths'
import { createRandom, type Random } from '../random'
import type { Json } from '../scenario'
import { chatRequests } from './chat-requests'
import { messagesRequests } from './messages-requests'
import type { CallerDialect, RequestSamples } from './request-samples'
import { responsesRequests } from './responses-requests'

export interface RequestCase {
  label: string
  /** The body without its model. It contains marks of sealed reasoning. */
  body: Json
  /** Whether the case is tried with only one model, instead of every model. */
  isOfOneModel?: true
}

const samples: Record<CallerDialect, RequestSamples> = {
  chat: chatRequests,
  messages: messagesRequests,
  responses: responsesRequests,
}

/** Families whose recorded requests are of a dialect, by the beginning and end of their names. */
const recordedAs: Record<CallerDialect, RegExp> = {
  chat: /^(?:openai-chat|chat-on-)/,
  messages: /^(?:anthropic-messages|messages-on-|bedrock-converse)/,
  responses: /^(?:openai-responses|responses-on-)/,
}

const ODD = [
  undefined,
  null,
  7,
  -1,
  '',
  'x',
  true,
  [],
  [null],
  {},
  { type: 'x' },
  [{ type: 'function', name: 'f' }],
]

/** The number of random mixtures; also, one of this many changed samples is used, or none if 0. */
export interface Chance {
  seed: number
  mixtures: number
  step: number
}

/** All cases of a dialect. */
export function requestCases(dialect: CallerDialect, { seed, mixtures, step }: Chance): RequestCase[] {
  const { base, fields } = samples[dialect]
  const recorded = fixtures
    .filter(({ family }) => recordedAs[dialect].test(family))
    .map(({ family, name, request }) => ({ label: `recorded ${family}/${name}`, body: request }))
  const asked = requestsOf(dialect).map(({ label, body }) => ({ label: `asked ${label}`, body }))
  const sampled = fields.map((members, place) => ({
    label: `sample ${place} ${Object.keys(members)}`,
    body: { ...base, ...members },
  }))
  return [
    { label: 'base', body: base },
    ...recorded,
    ...asked,
    ...sampled,
    ...changedCases([...recorded, ...sampled], seed, step),
    ...mixedCases(samples[dialect], seed, mixtures),
  ]
}

/** Copies with another value at each place: one odd value per place, chosen by the seed and the place. */
function changedCases(cases: readonly RequestCase[], seed: number, step: number): RequestCase[] {
  const random = createRandom(seed)
  let count = 0
  return cases.flatMap(({ label, body }) =>
    branchesOf(body).flatMap((path): RequestCase | [] => {
      if (count++ % step !== seed % step) return []
      const value = random.pick(ODD)
      const changed = withValue(body, path, value)
      return { label: `${label}, ${path} = ${JSON.stringify(value)}`, body: changed, isOfOneModel: true }
    }),
  )
}

function mixedCases(
  { base, fields, conversation }: RequestSamples,
  seed: number,
  count: number,
): RequestCase[] {
  return Array.from({ length: count }, (_, place): RequestCase => {
    const random = createRandom(seed + place)
    const turns = conversation(random)
    const members = mixture(random, fields, Object.keys(turns))
    return { label: `mixture ${seed + place}`, body: { ...base, ...members, ...turns }, isOfOneModel: true }
  })
}

/** Members of several samples, without those of the conversation. */
function mixture(random: Random, fields: readonly Json[], without: readonly string[]): Json {
  const chosen = Array.from({ length: random.below(5) }, () => random.pick(fields))
  const members = Object.assign({}, ...chosen)
  return Object.fromEntries(Object.entries(members).filter(([name]) => !without.includes(name)))
}
