// Shared by families of many contracts: schemas, and readers of vendors' figures. Nothing here must decide by a vendor's name.

import { type TSchema, Type } from '@sinclair/typebox'
import type { Model, ParsedRequest } from '../contract/family'

/** A field that may be absent or null, which SDKs treat as equal. */
export const optionalField = <Schema extends TSchema>(schema: Schema) =>
  Type.Optional(Type.Union([schema, Type.Null()]))

/**
 * Output tokens of each candidate in a quote. `limit` is that of the request; without one, the usual length of answers
 * counts.
 */
export function quotedOutput(
  limit: number | undefined,
  { outputTokens }: Pick<ParsedRequest, 'outputTokens'>,
  { reserveOutputTokens }: Pick<Model, 'reserveOutputTokens'>,
): number {
  if (outputTokens === undefined) return limit ?? reserveOutputTokens
  return Math.min(outputTokens, limit ?? outputTokens)
}

/** Minimum of output tokens for a truncated answer to be useful. */
export const USEFUL_OUTPUT_TOKENS = 256

/** More than any answer can have, in tokens or seconds: a larger figure is an error of the vendor. */
export const ABSURD_FIGURE = 100_000_000

/** A count in a vendor's answer; 0 if absent, NaN if invalid, so that no sum with it passes a check. */
export function reportedCount(value: unknown): number {
  if (value === undefined || value === null) return 0
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : Number.NaN
}

/**
 * The output if cached tokens are reported in addition to the input: some models of xAI report 4,328 cached tokens with an input of
 * 4,142 (vercel/ai#12485). `rest` is the total without the input. It is not documented whether that includes cached tokens, so
 * thinking outside the output is read from its own figure.
 */
export function outputWithSeparateCache(
  { rest, output, cached }: { rest: number; output: number; cached: number },
  thinking: unknown,
): number {
  const isWithin = rest <= output || rest === output + cached
  return isWithin ? output : Math.min(rest, output + reportedCount(thinking))
}

/** A vendor's figure; 0 if absent, NaN if invalid or absurdly large. */
export function figureOf(value: unknown): number {
  if (value === undefined || value === null) return 0
  return typeof value === 'number' && value >= 0 && value <= ABSURD_FIGURE ? value : Number.NaN
}

/** A figure that must be an integer, such as tokens. */
export function countedFigure(value: unknown): number {
  const figure = figureOf(value)
  return Number.isInteger(figure) ? figure : Number.NaN
}

/** The number of tokens in a vendor's answer to a token count; undefined if it has none. */
export function countedTokens(reply: object): number | undefined {
  const { input_tokens: tokens } = reply as { input_tokens?: unknown }
  return Number.isSafeInteger(tokens) && (tokens as number) >= 0 ? (tokens as number) : undefined
}
