// Counts what is in a JSON text while its bytes still come, so that a large body with too much in it is refused long before
// it is whole. It finds the same figures as `scanObject` does in the text; it does not validate, and keeps no byte.

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
  /** The last piece ended in the middle of an escape. */
  #inEscape = false

  constructor(limits: JsonLimits) {
    this.#limits = limits
  }

  /** The limit that is passed with the next bytes of the text. */
  push(bytes: Uint8Array): JsonLimit | undefined {
    let at = this.#inEscape ? 1 : 0
    this.#inEscape = false
    while (at < bytes.length) {
      at = this.#inString ? this.#skipString(bytes, at) : this.#skipPlain(bytes, at)
      if (at === STOPPED) return this.#passed()
    }
    return undefined
  }

  /** The index after the string, or the end of the bytes; STOPPED where it has too many escapes. */
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
    // Keys are among them, for which each colon takes one off.
    return ++this.#counts.parts > this.#limits.parts + 1 ? STOPPED : quote + 1
  }

  /** The index behind the quote of the next string, or the end of the bytes; STOPPED where a limit is passed. */
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

/** The length where there is none. */
function indexOf(bytes: Uint8Array, byte: number, from: number): number {
  const index = bytes.indexOf(byte, from)
  return index === -1 ? bytes.length : index
}
