// Converts the names that are read here to one spelling: Google accepts both `maxOutputTokens` and `max_output_tokens`. It must
// never rename anything else, such as arguments and schemas.

import { isObject } from '../../lib/objects'
import { snakeCase } from '../dialects/gemini/body'

type Fields = Record<string, unknown>

/** Names, by their other spelling. */
const NAMES: ReadonlyMap<string, string> = new Map(
  [
    'systemInstruction',
    'safetySettings',
    'cachedContent',
    'toolConfig',
    'functionCallingConfig',
    'allowedFunctionNames',
    'generationConfig',
    'maxOutputTokens',
    'topP',
    'topK',
    'stopSequences',
    'frequencyPenalty',
    'presencePenalty',
    'responseLogprobs',
    'responseMimeType',
    'responseSchema',
    'responseJsonSchema',
    'thinkingConfig',
    'thinkingLevel',
    'thinkingBudget',
    'includeThoughts',
  ].map((name) => [snakeCase(name), name]),
)
/** Members whose own names are read too. */
const READ_WITHIN = new Set(['generationConfig', 'thinkingConfig', 'toolConfig', 'functionCallingConfig'])

/** The request in camel case; the same object if nothing changes. */
export function inCamelCase<Request extends object>(request: Request): Request {
  let isChanged = false
  const entries = Object.entries(request).map(([written, value]) => {
    const name = NAMES.get(written) ?? written
    const own = READ_WITHIN.has(name) && isObject(value) ? inCamelCase<Fields>(value) : value
    isChanged ||= name !== written || own !== value
    return [name, own]
  })
  return isChanged ? Object.fromEntries(entries) : request
}
