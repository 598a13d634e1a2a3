// Writes the names of a request in one spelling, where they are read here: Google reads `maxOutputTokens` and `max_output_tokens`. It
// must never rename what is the caller's own, such as arguments and schemas.

import { isObject } from '../../lib/objects'

type Fields = Record<string, unknown>

/** Members whose own names are read too. */
const READ_WITHIN = new Set(['generationConfig', 'thinkingConfig', 'toolConfig', 'functionCallingConfig'])

/** The same object if its names are so already. */
export function inCamelCase<Request extends object>(request: Request): Request {
  let isChanged = false
  const entries = Object.entries(request).map(([name, value]) => {
    const camel = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
    const own = READ_WITHIN.has(camel) && isObject(value) ? inCamelCase<Fields>(value) : value
    isChanged ||= camel !== name || own !== value
    return [camel, own]
  })
  return isChanged ? Object.fromEntries(entries) : request
}
