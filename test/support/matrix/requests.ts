// Translates callers' requests for a pair of a dialect and a protocol, and reports faults: a refusal that names no field, content
// of the caller that is lost or sent twice, and invented words.

import type { Model } from '../../../src/contract/family'
import { GatewayError } from '../../../src/lib/errors'
import { stepsOf } from '../../../src/lib/field-names'
import { isPlain, valuesAt } from '../bridges/field-values'
import type { RequestCase } from '../bridges/request-cases'
import { attempt, checked } from '../bridges/request-outcome'
import { withSeals } from '../bridges/sealed'
import type { Json } from '../scenario'
import { countOf, markedRequest, wordsBeside } from './marked-requests'
import type { Meeting } from './pairs'

/** Faults of a request; undefined if it is refused with the name of the field. */
export function requestFaults(
  { name, family }: Meeting,
  model: Model,
  { label, body }: RequestCase,
): string[] | undefined {
  const marked = markedRequest(body)
  const text = withSeals(JSON.stringify({ ...marked.body, model: model.id }), model)
  const where = (fault: string) => `${name}, ${model.id}, ${label}: ${fault}`
  let call: Json
  try {
    const parsed = checked(model, text)
    ;[call] = [family.call(parsed, model)].flat()
  } catch (error) {
    if (!(error instanceof GatewayError)) return [where(`thrown: ${error}`)]
    const { status, param } = error
    if ((status === 400 || status === 404) && typeof param === 'string' && param !== '') return undefined
    return [where(`refused with ${status}, of ${param}: ${error.message}`)]
  }
  const sent = JSON.stringify(call.body.json)
  return [
    ...marked.sent
      .filter((mark) => countOf(mark, sent) !== 1)
      .map((mark) => `${mark} is sent ${countOf(mark, sent)} times`),
    ...marked.optional.filter((mark) => countOf(mark, sent) > 1).map((mark) => `${mark} is sent twice`),
    ...wordsBeside(call.body.json, JSON.parse(text))
      .filter((words) => !OWN_WORDS.test(words))
      .map((words) => `nobody said ${JSON.stringify(words)}`),
  ].map((fault) => where(`${fault}\n    ${text.slice(0, 1_500)}\n    ${sent.slice(0, 1_500)}`))
}

/** Lines that the gateway adds to those of the caller. */
const OWN_WORDS = new RegExp(
  `^(?:${[
    // Names of speakers, and instructions within the conversation.
    '\\w+:',
    '(?:</?system>)+',
    // Settings for which a protocol has no field.
    'Answer with one JSON object and nothing else\\.',
    'Keep the answer short\\.',
    'Answer at length, with all details\\.',
    // Failed results, and results with files, which are sent elsewhere.
    'Error:(?: \\(Shown in the next message\\.\\))?',
    '\\(Shown in the next message\\.\\)',
    'Files in the result of \\S*:',
    // Calls and results in a request without tools, and tools that are not sent.
    'Call \\S+ of \\S+:(?: \\{\\})?',
    'Result of call \\S*?(?:, which failed)?:',
    'Tools that can be called now: .*',
    // A patch that was applied, and the request for a summary.
    'Done\\.',
    'Write a summary of the conversation above .*',
  ].join('|')})$`,
)

/** Fields without an effect on the vendor's request: the gateway serves them itself, or uses them for the answer. */
const ELSEWHERE = /^(?:model|stream_options|previous_response_id|conversation|background)$|\.type$/
/** Incomplete rows, by the beginning of a pair's name. */
const UNTRUE: Readonly<Record<string, RegExp>> = {
  // Its schemas may have optional members, which other vendors refuse: they are sent as loose ones.
  'tools[].strict': /^messages-on-(?:chat|responses)$/,
}

/** The rows of a pair's table that its requests violate, by the samples with the field. */
export function tableFaults({ name, family, models }: Meeting, cases: readonly RequestCase[]): string[] {
  const outcomes = new Map<string, Json>()
  const outcomeOf = (body: Json, model: Model): Json => {
    const text = withSeals(JSON.stringify({ ...body, model: model.id }), model)
    if (!outcomes.has(text))
      outcomes.set(
        text,
        attempt(() => [family.call(checked(model, text), model)].flat()),
      )
    return outcomes.get(text)
  }
  return (family.bridge ?? []).flatMap((row) => {
    const { field, treatment } = row
    if (field.includes(' ') || ELSEWHERE.test(field) || UNTRUE[field]?.test(name)) return []
    const steps = stepsOf(field)
    const having = cases.filter(({ body }) =>
      valuesAt(body, steps).some(
        (value) => value !== undefined && value !== null && !(treatment === 'refused' && isPlain(value, row)),
      ),
    )
    if (having.length === 0) return []
    const isDropped = ({ body }: RequestCase, model: Model) => {
      const [all, rest] = [outcomeOf(body, model), outcomeOf(without(body, steps), model)]
      return Array.isArray(all) && Array.isArray(rest) && Bun.deepEquals(all, rest)
    }
    const isHeld = {
      ignored: () =>
        having.slice(0, 8).every((each, place) => {
          const model = models[place % models.length] as Model
          return isDropped(each, model) || !Array.isArray(outcomeOf(each.body, model))
        }),
      refused: () =>
        having.slice(0, 8).every(({ body }, place) => {
          const model = models[place % models.length] as Model
          // Some models ignore fields that other models refuse.
          const isIgnored = family.ignoredFor?.(model.traits).includes(field)
          return isIgnored || outcomeOf(body, model).refused
        }),
      translated: () =>
        having.some((each) =>
          models.some((model) => Array.isArray(outcomeOf(each.body, model)) && !isDropped(each, model)),
        ),
    }
    return isHeld[treatment]() ? [] : [`${name}: ${field} is not ${treatment}`]
  })
}

/** A body without a member, wherever its path leads. */
function without(body: Json, steps: readonly string[]): Json {
  const [step, ...rest] = steps
  if (step === undefined || typeof body !== 'object' || body === null) return body
  if (step === '[]') return Array.isArray(body) ? body.map((each) => without(each, rest)) : body
  if (!(step in body)) return body
  const { [step]: value, ...others } = body
  return rest.length === 0 ? others : { ...others, [step]: without(value, rest) }
}
