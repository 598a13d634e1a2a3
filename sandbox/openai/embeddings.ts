// The embeddings form of OpenAI: inputs and vectors, as several vendors use it. It must never name a vendor: limits and
// variations come from the caller.

import { asNumber, asObject, type JsonObject } from '../json'
import { countTokens } from '../pieces'
import type { VendorRequest } from '../simulator'
import { reportUsage } from '../usage'
import { asBase64, asNumbers, shortened, shuffled, unitVector } from '../vectors'

export interface EmbeddingInput {
  text: string
  tokens: number
}

export interface EmbeddingModel {
  /** Length of the full vector. */
  dimensions: number
  /** True if a shortened vector is scaled back to unit length. */
  normalised: boolean
}

/** The inputs: a string, strings, token ids, or lists of token ids; undefined for anything else. */
export function readInputs(input: unknown): EmbeddingInput[] | undefined {
  if (typeof input === 'string') return [textInput(input)]
  if (!Array.isArray(input)) return undefined
  if (input.every((item) => typeof item === 'string')) return input.map(textInput)
  if (input.every(isTokenId)) return [tokenInput(input)]
  return input.every((item) => Array.isArray(item) && item.every(isTokenId))
    ? input.map(tokenInput)
    : undefined
}

export function countInputs(inputs: readonly EmbeddingInput[], request: VendorRequest): number {
  return request.directives.promptTokens ?? inputs.reduce((sum, input) => sum + input.tokens, 0)
}

export function vectorOf(text: string, model: EmbeddingModel, length: number): Float64Array {
  return shortened(unitVector(text, model.dimensions), length, model.normalised)
}

/** The items of `data`, in the order of this vendor or of a directive. */
export function embeddingItems(
  request: VendorRequest,
  inputs: readonly EmbeddingInput[],
  model: EmbeddingModel,
): JsonObject[] {
  if (request.directives.empty) return []
  const body = asObject(request.json) ?? {}
  const length = asNumber(body.dimensions) ?? model.dimensions
  const items = inputs.map((input, index): JsonObject => {
    const vector = vectorOf(input.text, model, length)
    const asText = body.encoding_format === 'base64'
    const embedding = asText ? asBase64(Float32Array.from(vector)) : asNumbers(vector)
    return { object: 'embedding', index, embedding }
  })
  return request.directives.shuffle ? shuffled(items) : items
}

export function embeddingList(
  request: VendorRequest,
  items: JsonObject[],
  model: string,
  usage: JsonObject,
): JsonObject {
  return { object: 'list', data: items, model, usage: reportUsage(usage, request.directives.usage) }
}

function textInput(text: string): EmbeddingInput {
  return { text, tokens: countTokens(text) }
}

function tokenInput(ids: unknown[]): EmbeddingInput {
  return { text: ids.join(' '), tokens: ids.length }
}

function isTokenId(value: unknown): boolean {
  return Number.isInteger(value)
}
