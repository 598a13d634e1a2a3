// Counts what a JSON text contains while its bytes arrive, so that a body with too much content is refused early. Its figures equal
// those of `scanObject`. It must never keep a byte; it does not validate.

import type { JsonLimit, JsonLimits } from './json'

const QUOTE = 34
const COMMA = 44
const COLON = 58
const OPEN_BRACKET = 91
const BACKSLASH = 92
const CLOSE_BRACKET = 93
const OPEN_BRACE = 123
const CLOSE_BRACE = 125

export class JsonCounter {
  readonly #limits: JsonLimits
  readonly #counts: JsonLimits = {
    fields: 0,
    members: 0,
    parts: 0,
    values: 0,
    escapes: 0,
    plainCharacters: 0,
  }
  #depth = 0
  #inString = false
  /** True if the last piece ended within an escape. */
  #inEscape = false

  constructor(limits: JsonLimits) {
    this.#limits = limits
  }

  /** Adds bytes of the text. Returns the limit that they exceed, if any. */
  push(bytes: Uint8Array): JsonLimit | undefined {
    let at = this.#inEscape ? 1 : 0
    this.#inEscape = false
    while (at < bytes.length) {
      at = this.#inString ? this.#skipString(bytes, at) : this.#skipPlain(bytes, at)
      if (at === STOPPED) return this.#passed()
    }
    return undefined
  }

  /** The index after the string, or the end of the bytes; STOPPED if it has too many escapes. */
  #skipString(bytes: Uint8Array, from: number): number {
    let at = from
    let quote = indexOf(bytes, QUOTE, at)
    for (let slash = indexOf(bytes, BACKSLASH, at); slash < quote; slash = indexOf(bytes, BACKSLASH, at)) {
      if (++this.#counts.escapes > this.#limits.escapes) return STOPPED
      at = slash + 2
      if (at > bytes.length) {
        this.#inEscape = true
        return bytes.length
      }
      if (quote < at) quote = indexOf(bytes, QUOTE, at)
    }
    if (quote === bytes.length) return quote
    this.#inString = false
    // Keys are counted as parts too; each colon takes one off.
    return ++this.#counts.parts > this.#limits.parts + 1 ? STOPPED : quote + 1
  }

  /** The index after the opening quote of the next string, or the end of the bytes; STOPPED if a limit is exceeded. */
  #skipPlain(bytes: Uint8Array, from: number): number {
    const counts = this.#counts
    const limits = this.#limits
    const end = Math.min(bytes.length, from + limits.plainCharacters - counts.plainCharacters)
    let at = from
    for (; at < end; at++) {
      const code = bytes[at]
      if (code === QUOTE) {
        counts.plainCharacters += at - from
        this.#inString = true
        return at + 1
      }
      if (code === COMMA) {
        if (this.#depth > 1) counts.values++
        if (counts.values > limits.values || counts.parts > limits.parts) return STOPPED
      } else if (code === COLON) {
        counts.parts--
        if (this.#depth === 1) {
          counts.values++
          if (++counts.fields > limits.fields) return STOPPED
        }
        if (++counts.members > limits.members || counts.values > limits.values) return STOPPED
      } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
        if (this.#depth++ > 0) {
          counts.values++
          if (++counts.parts > limits.parts || counts.values > limits.values) return STOPPED
        }
      } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
        this.#depth--
        if (counts.parts > limits.parts) return STOPPED
      }
    }
    counts.plainCharacters += at - from
    if (at === bytes.length) return at
    if (bytes[at] !== QUOTE) {
      counts.plainCharacters++
      return STOPPED
    }
    this.#inString = true
    return at + 1
  }

  #passed(): JsonLimit | undefined {
    return (Object.keys(this.#counts) as JsonLimit[]).find(
      (limit) => this.#counts[limit] > this.#limits[limit],
    )
  }
}

const STOPPED = -1

/** The index of a byte; the length if absent. */
function indexOf(bytes: Uint8Array, byte: number, from: number): number {
  const index = bytes.indexOf(byte, from)
  return index === -1 ? bytes.length : index
}
