// The parts of a request of responses that translations of other dialects to it have in common. It must never know the
// dialect that is translated.

import type { Model } from '../../contract/family'
import { type GatewayError, invalidRequest } from '../../lib/errors'
import { asObject } from '../../lib/objects'

export type SentPart =
  | { type: 'input_text'; text: string }
  | { type: 'input_image'; image_url: string; detail?: string }
  | { type: 'input_file'; filename?: string; file_data: string }

/** Fewest output tokens that vendors of responses take as a limit. */
const LEAST_LIMIT = 16

/**
 * The limit of the output that is asked for: clients that only try whether a model answers ask for one token. The answer
 * may be longer than the caller's limit then, and is held and paid as it is. Throws 400 for no output at all.
 */
export function servedLimit<Limit extends number | null | undefined>(
  limit: Limit,
  field: string,
  model: Model,
): Limit | number {
  if (typeof limit !== 'number') return limit
  if (limit > 0) return Math.max(limit, LEAST_LIMIT)
  throw invalidRequest(
    field,
    `Invalid '${field}': integer below minimum value. ${model.id} always writes: ask for 1 token or more.`,
    'integer_below_min_value',
  )
}

/**
 * The settings for thinking. A summary is requested only for a caller who shows it: organizations that the vendor has not
 * verified are refused one (home-assistant/core#160212, continuedev/continue#9607, January 2026).
 */
export function reasoningSettings(effort: string | undefined, showsThinking: boolean): object | undefined {
  const summary = showsThinking && effort !== 'none' ? 'auto' : undefined
  if (effort === undefined && summary === undefined) return undefined
  return { ...(effort !== undefined && { effort }), ...(summary && { summary }) }
}

/** A request without the summary of reasoning; undefined if the vendor refused something else. */
export function withoutSummary<Request extends object>(
  { status, param }: GatewayError,
  request: Request,
): Request | undefined {
  if (status !== 400 || param !== 'reasoning.summary') return undefined
  const { summary, ...reasoning } = asObject((request as { reasoning?: unknown }).reasoning)
  return summary === undefined ? undefined : { ...request, reasoning }
}

interface FunctionTool {
  name: string
  description: unknown
  parameters: unknown
  isStrict: boolean
}

/** A function as a flat tool. Without a word about strictness the vendor would decide, and refuse loose schemas. */
export function responsesTool({ name, description, parameters, isStrict }: FunctionTool) {
  const described = typeof description === 'string' && { description }
  const schema = parameters ?? { type: 'object', properties: {} }
  return { type: 'function', name, ...described, parameters: schema, strict: isStrict }
}
