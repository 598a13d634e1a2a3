// The parts of a request of responses that translations of other dialects to it have in common. It must never know the
// dialect that is translated.

import type { Model } from '../../contract/family'
import { invalidRequest } from '../../lib/errors'

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
