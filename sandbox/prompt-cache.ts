// The prompt caches of simulated vendors: one per key and model. The prefix that a prompt shares with an earlier one is read from
// the cache. It must never report more tokens than the prompt has.

import { asArray, type JsonObject } from './json'
import { countTokens } from './pieces'

/** Minimum of cached tokens, and the step above it (https://developers.openai.com/cookbook/examples/prompt_caching_201). */
const MIN_TOKENS = 1_024
const STEP_TOKENS = 128

export class PromptCaches {
  private readonly beginnings = new Map<string, Set<string>>()

  /** The tokens of a prompt that a key's cache contains. Adds the prompt to the cache. */
  read(key: string, body: JsonObject): number {
    const cache = this.beginnings.get(key) ?? new Set()
    this.beginnings.set(key, cache)
    let [tokens, cached] = [0, 0]
    let beginning = ''
    const messages = asArray(body.messages) ?? asArray(body.input) ?? []
    for (const part of [body.model, body.system, body.instructions, body.tools, ...messages]) {
      if (part === undefined) continue
      const text = JSON.stringify(part)
      beginning = Bun.hash.xxHash64(beginning + text).toString(36)
      tokens += countTokens(text)
      if (cache.has(beginning)) cached = tokens
      cache.add(beginning)
    }
    return cached < MIN_TOKENS ? 0 : cached - (cached % STEP_TOKENS)
  }
}

/** Headers that may contain the key of a request. */
const KEY_HEADERS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']

/** The name of an additional key of a vendor, which is its secret with `+NAME` appended, and the headers with the secret alone. */
export function keyIn(headers: Readonly<Record<string, string>>): {
  name: string
  headers: Readonly<Record<string, string>>
} {
  for (const header of KEY_HEADERS) {
    const [, secret, name] = /^(.*)\+(\w+)$/.exec(headers[header] ?? '') ?? []
    if (secret !== undefined && name !== undefined) return { name, headers: { ...headers, [header]: secret } }
  }
  return { name: '', headers }
}
