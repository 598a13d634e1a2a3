// Shared by all families of embeddings: the caller's side of POST /v1/embeddings, and the reply. The vendor's side must
// stay in each family's own file.

import { type Static, Type } from '@sinclair/typebox'
import type { Model, ParsedRequest, PlainForm, Quantities } from '../../contract/family'
import { type Reading, SHOWN, usageReading } from '../../contract/reading'
import { invalidRequest } from '../../lib/errors'
import { optionalField } from '../shared-schemas'
import { toBase64 } from './vectors'

/**
 * Maximum number of inputs in a request. Vendors accept fewer per call, so the inputs are split; the merged answer has a vector of
 * thousands of numbers for each.
 */
const MAX_INPUTS = 8192

export const EmbeddingsBody = Type.Object(
  {
    model: Type.String({ description: 'Id from GET /v1/models.' }),
    input: Type.Union([
      Type.String({ minLength: 1 }),
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: MAX_INPUTS }),
      Type.Array(Type.Integer({ minimum: 0 }), { minItems: 1, maxItems: 300_000 }),
      Type.Array(Type.Array(Type.Integer({ minimum: 0 }), { minItems: 1 }), {
        minItems: 1,
        maxItems: MAX_INPUTS,
      }),
    ]),
    encoding_format: Type.Optional(Type.Union([Type.Literal('float'), Type.Literal('base64'), Type.Null()])),
    dimensions: optionalField(Type.Integer({ minimum: 1 })),
    user: optionalField(Type.String()),
  },
  { additionalProperties: true },
)
export type EmbeddingsBody = Static<typeof EmbeddingsBody>

export const plainEmbeddings: PlainForm = { fields: [], body: ({ text }) => ({ input: text }) }

export interface Embedding {
  index: number
  vector: number[]
}

/** The inputs as a list of texts or token arrays. */
export function inputsOf(body: EmbeddingsBody): (string | number[])[] {
  const { input } = body
  if (typeof input === 'string') return [input]
  return typeof input[0] === 'number' ? [input as number[]] : (input as (string | number[])[])
}

/** The inputs for a model that reads only text. */
export function textsOf(body: EmbeddingsBody): string[] {
  return inputsOf(body).map((input) => {
    if (typeof input === 'string') return input
    throw invalidRequest(
      'input',
      "Invalid type for 'input': this model takes a string or an array of strings, not tokens.",
      'invalid_type',
    )
  })
}

export function checkDimensions({ dimensions }: EmbeddingsBody, model: Model): void {
  checkVectorLength('dimensions', dimensions, model)
}

/** Throws 400 if a model has no vectors of the length that a field requests. */
export function checkVectorLength(field: string, length: number | null | undefined, model: Model): void {
  const allowed = model.dimensions
  if (length === undefined || length === null || allowed === undefined) return
  const list = Array.isArray(allowed) ? (allowed as readonly number[]) : undefined
  const range = list ? undefined : (allowed as { min: number; max: number })
  if (list?.includes(length) || (range && length >= range.min && length <= range.max)) return
  const expected = list ? `one of ${list.join(', ')}` : `${range?.min} to ${range?.max}`
  throw invalidRequest(field, `Invalid '${field}': ${model.id} has ${expected}, but got ${length} instead.`)
}

/** Tokens held for the inputs: no tokenizer produces more tokens than the text has bytes, and a token array is its own count. */
export function quoteInputs({ body, byteLength }: ParsedRequest<EmbeddingsBody>): Quantities {
  const inputs = inputsOf(body)
  if (typeof inputs[0] === 'string') return { input_token: byteLength }
  return { input_token: inputs.reduce((sum, input) => sum + input.length, 0) }
}

/** Cuts a list into runs of at most `maxItems` inputs and `maxTokens` tokens, if given. A byte counts as a token. */
export function chunk<Input extends string | number[]>(
  inputs: Input[],
  maxItems: number,
  maxTokens = Number.POSITIVE_INFINITY,
): Input[][] {
  const chunks: Input[][] = []
  let current: Input[] = []
  let tokens = 0
  for (const input of inputs) {
    const size = typeof input === 'string' ? Buffer.byteLength(input) : input.length
    if (current.length > 0 && (current.length >= maxItems || tokens + size > maxTokens)) {
      chunks.push(current)
      current = []
      tokens = 0
    }
    current.push(input)
    tokens += size
  }
  return [...chunks, current]
}

/** OpenAI's reply: vectors in the order of the inputs, in the form that the caller requested. */
export function embeddingsReply(
  chunks: Embedding[][],
  usage: Quantities,
  body: EmbeddingsBody,
  model: Model,
): unknown {
  const tokens = usage.input_token ?? 0
  let offset = 0
  const data: unknown[] = []
  for (const embeddings of chunks) {
    for (const { index, vector } of [...embeddings].sort((a, b) => a.index - b.index)) {
      if (!isVector(vector)) throw new Error('a vector without numbers')
      const embedding = body.encoding_format === 'base64' ? toBase64(vector) : vector
      data.push({ object: 'embedding', index: offset + index, embedding })
    }
    offset += embeddings.length
  }
  if (data.length !== inputsOf(body).length) throw new Error('not as many vectors as inputs')
  return { object: 'list', data, model: model.id, usage: { prompt_tokens: tokens, total_tokens: tokens } }
}

/** Whether a value is a vector. Only its first number is checked, because an answer has millions. */
function isVector(vector: unknown): boolean {
  return Array.isArray(vector) && typeof vector[0] === 'number'
}

/**
 * One reading of a reply: its list of vectors, and the vendor's token count. The vectors are checked when the answer is made.
 */
export function readVectors(list: unknown, tokens: unknown): Reading {
  return {
    output: SHOWN,
    usage: usageReading(tokenUsage(tokens)),
    end: Array.isArray(list) ? 'finished' : 'failed',
  }
}

/** A vendor's token count. Zero means that the vendor does not count, because no input is empty. */
function tokenUsage(tokens: unknown): Quantities | 'invalid' | undefined {
  if (tokens === undefined || tokens === null || tokens === 0) return undefined
  if (!Number.isSafeInteger(tokens) || (tokens as number) < 0 || (tokens as number) > 100_000_000)
    return 'invalid'
  return { input_token: tokens as number }
}
