// Settings of a response as bridges read them: how long to think, the format of the answer, and the user. A value without meaning
// on a bridge must be refused with its place, never guessed.

import { invalidRequest } from '../../../lib/errors'
import { asObject, isObject } from '../../../lib/objects'
import type { AnswerFormat, Settings } from '../../conversation/conversation'
import type { ResponsesBody } from '../../responses/caller-side'
import { asksCompaction, SUMMARY_REQUEST_BYTES } from '../../responses/compaction'
import { missingField, repeated, wrongType, wrongValue } from '../../responses/refusals'
import { EFFORTS } from '../../traits/efforts'
import { flatToolsOf } from './tools'
import type { Input } from './turns'

/** The value of `include` that requests the probabilities of tokens. */
export const PROBABILITIES = 'message.output_text.logprobs'

const VERBOSITIES = ['low', 'medium', 'high'] as const

/** The settings of a body and of the items that change them. */
export function responseSettings(body: ResponsesBody, input: Input): Settings {
  const { max_output_tokens: tokens, temperature, top_p, top_logprobs: count, include } = body
  const wantsProbabilities = (count ?? 0) > 0 || include?.includes(PROBABILITIES)
  return {
    stream: body.stream === true,
    candidates: 1,
    limit: tokens ? { tokens, at: 'max_output_tokens' } : undefined,
    temperature: temperature ?? undefined,
    topP: top_p ?? undefined,
    topK: undefined,
    stop: [],
    seed: undefined,
    frequencyPenalty: undefined,
    presencePenalty: undefined,
    format: formatOf(body, input),
    reasoning: {
      effort: effortOf(body, input),
      effortAt: 'reasoning.effort',
      budgetTokens: undefined,
      isShown: wantsSummary(body),
      isCarried: true,
    },
    verbosity: verbosityOf(body),
    isVerbosityDefault: true,
    logprobs: wantsProbabilities ? (count ?? 0) : undefined,
    user: hashedUser(body),
    cacheKey: body.prompt_cache_key ?? undefined,
    serviceTier: body.service_tier ?? undefined,
  }
}

/** How long to think; undefined leaves it to the model. An item of the input may change the setting of the request. */
function effortOf({ reasoning }: ResponsesBody, { effort }: Input): string | undefined {
  const wanted = effort ?? asObject(reasoning).effort
  if (wanted === undefined || wanted === null) return undefined
  const known = EFFORTS.find((word) => word === wanted)
  if (known) return known
  throw wrongValue('reasoning.effort', wanted, EFFORTS)
}

/** Whether the caller wants a summary of the thinking. */
function wantsSummary({ reasoning }: ResponsesBody): boolean {
  const { summary } = asObject(reasoning)
  return typeof summary === 'string' && summary !== 'none'
}

function verbosityOf({ text }: ResponsesBody): Settings['verbosity'] {
  const { verbosity } = asObject(text)
  if (verbosity === undefined || verbosity === null) return undefined
  const known = VERBOSITIES.find((word) => word === verbosity)
  if (known) return known
  throw wrongValue('text.verbosity', verbosity, VERBOSITIES)
}

/** The format of the answer; undefined for text. */
function formatOf({ text }: ResponsesBody, input: Input): AnswerFormat | undefined {
  const format = input.format ?? asObject(text).format
  if (format === undefined || format === null) return undefined
  const { type, name, description, schema, strict } = asObject(format)
  if (type === 'text') return undefined
  if (type === 'json_object') return { type }
  if (type === undefined) throw missingField('text.format.type')
  if (type !== 'json_schema')
    throw wrongValue('text.format.type', type, ['text', 'json_object', 'json_schema'])
  if (typeof name !== 'string' || name === '') throw missingField('text.format.name')
  if (!isObject(schema)) {
    const isMissing = schema === undefined || schema === null
    throw isMissing
      ? missingField('text.format.schema')
      : wrongType('text.format.schema', 'an object', schema)
  }
  const words = typeof description === 'string' ? description : undefined
  return { type, name, description: words, schema, isStrict: strict === true }
}

/** The identity of the user, as a hash: vendors want to distinguish users, not to know them. */
function hashedUser({ safety_identifier: identifier, user }: ResponsesBody): string | undefined {
  const known = identifier ?? user
  return known ? new Bun.CryptoHasher('sha256').update(known).digest('hex') : undefined
}

const MAX_LABELS = 16
const MAX_LABEL_NAME_LENGTH = 64
const MAX_LABEL_LENGTH = 512

/** Checks members that are only returned to the caller. */
export function checkLabels({ metadata }: ResponsesBody): void {
  if (!metadata) return
  const labels = Object.entries(metadata)
  if (labels.length > MAX_LABELS) {
    throw invalidRequest(
      'metadata',
      `Invalid 'metadata': too many properties. Expected an object with at most ${MAX_LABELS} properties, but got ${labels.length} instead.`,
    )
  }
  for (const [name, value] of labels) {
    const place = `metadata.${repeated(name)}`
    if (typeof value !== 'string') throw wrongType(place, 'a string', value)
    if (name.length <= MAX_LABEL_NAME_LENGTH && value.length <= MAX_LABEL_LENGTH) continue
    throw invalidRequest(
      place,
      `Invalid '${place}': a name has at most ${MAX_LABEL_NAME_LENGTH} characters, and a value ${MAX_LABEL_LENGTH}.`,
    )
  }
}

/** Bytes of the text in which a bridge describes a tool, or a format. */
const BYTES_PER_TOOL = 64
const BYTES_PER_BUILT_IN = 768
const BYTES_OF_HINTS = 128

/** An upper bound of the bytes by which a translated request is longer than the caller's. */
export function addedBytes(body: ResponsesBody): number {
  const { list } = flatToolsOf(body)
  const builtIn = list.filter(({ origin }) => origin.kind !== 'function').length
  const asked = asksCompaction(body) ? SUMMARY_REQUEST_BYTES : 0
  return BYTES_OF_HINTS + BYTES_PER_TOOL * list.length + BYTES_PER_BUILT_IN * builtIn + asked
}
