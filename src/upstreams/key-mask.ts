// Removes an upstream's keys from its answers, headers included, before they are read, relayed, logged or stored. It must never
// change an answer without a key.

import { type BodySink, type Flow, HttpBody, HttpResponse } from '../http-client/response'
import { isEventStream } from './reply'
import { SplitKeys, type SplitMask } from './split-keys'

export interface Mask {
  /** Returns the answer with keys masked in its headers and its body. */
  response(response: HttpResponse): HttpResponse
  /** Masks keys in a short text that did not arrive in an answer's body. */
  text(text: string): string
}

/** Replaces a key. */
const MASK = '…'
const MASK_BYTES = Buffer.from(MASK)
/** Minimum length of a truncated key that is also masked, in bytes. */
const MIN_SECRET_LENGTH = 8
/**
 * Shorter values of only letters or digits are words and numbers such as `none`, `ollama` or `1234`, which occur in honest answers
 * too: they are placeholders for servers that need no key. Others, such as `sk-1234`, are keys.
 */
const SHORT_SECRET = /^(?=.*[^a-z])[a-z].{5,}$/i
const MIN_SHORT_SECRET_LENGTH = 4
/** The start of every JSON escape of an ASCII character. */
const ESCAPE = Buffer.from('\\u00')
const ESCAPE_LENGTH = 6
const ESCAPED_SLASH = Buffer.from('\\/')
const BACKSLASH = 92
const SLASH = 47
const NOTHING = Buffer.alloc(0)

export function createMask(secrets: readonly (string | null)[]): Mask {
  // Trimmed as for sending: a key from a file often ends with a line break.
  const keys = [...new Set(secrets.flatMap((secret) => secret?.trim() || []))].sort(longestFirst)
  const secretKeys = keys.filter(isMaskable)
  const search = secretKeys.length === 0 ? undefined : createSearch(secretKeys.map((key) => Buffer.from(key)))
  const splitKeys = new SplitKeys(secretKeys, MASK)
  const text = (shown: string) => secretKeys.reduce((masked, key) => masked.replaceAll(key, MASK), shown)
  return {
    response(response) {
      if (!search) return response
      const get = (name: string) => {
        const value = response.header(name)
        return value === null ? null : text(value)
      }
      const split = isEventStream(response)
        ? splitKeys.inStream()
        : response.header('content-type')?.includes('json')
          ? splitKeys.inDocument()
          : undefined
      const mask = new BodyMask(response.body, search, split)
      response.body.start(mask)
      return new HttpResponse({ status: response.status, get }, mask.masked)
    },
    text,
  }
}

/** Whether a key is masked. One that can occur in honest text by chance, such as `k` or `none`, is not. */
export function isMaskable(key: string): boolean {
  return key.length >= MIN_SECRET_LENGTH || SHORT_SECRET.test(key)
}

function longestFirst(one: string, other: string): number {
  return other.length - one.length
}

/** Masks a body as it arrives: it receives the vendor's body, and is the source of the masked one. */
class BodyMask implements BodySink, Flow {
  readonly masked = new HttpBody(this)
  private isOver = false
  /** The beginning of a possible key, at the end of a piece. */
  private held: Buffer = NOTHING

  constructor(
    private readonly body: HttpBody,
    private readonly search: Search,
    private readonly split: SplitMask | undefined,
  ) {}

  pause(): void {
    this.body.pause()
  }

  resume(): void {
    this.body.resume()
  }

  cancel(): void {
    this.isOver = true
    this.body.cancel()
  }

  data(piece: Uint8Array): void {
    if (this.isOver) return
    try {
      this.mask(this.held.length === 0 ? bufferOf(piece) : Buffer.concat([this.held, piece]))
    } catch (error) {
      this.breakOff(error)
    }
  }

  end(): void {
    if (this.isOver) return
    try {
      this.release()
      this.isOver = true
      this.masked.end()
    } catch (error) {
      this.breakOff(error)
    }
  }

  fail(error: unknown): void {
    if (this.isOver) return
    try {
      this.release()
      this.breakOff(error)
    } catch (tooLong) {
      this.breakOff(tooLong)
    }
  }

  private mask(whole: Buffer): void {
    const bytes = this.search.mask(whole)
    const end = this.search.beginningAt(bytes)
    this.held = end === bytes.length ? NOTHING : Buffer.from(bytes.subarray(end))
    if (end > 0) this.pass(end === bytes.length ? bytes : bytes.subarray(0, end))
  }

  private pass(bytes: Buffer): void {
    const shown = this.split ? this.split.push(bytes) : bytes
    if (shown.length > 0) this.masked.push(shown)
  }

  /** Releases what is held. At the end of the body it can only be part of a key. */
  private release(): void {
    const { held } = this
    if (held.length > 0) this.pass(held.length < this.search.least ? held : MASK_BYTES)
    this.held = NOTHING
    const rest = this.split?.end() ?? NOTHING
    if (rest.length > 0) this.masked.push(rest)
  }

  /** Ends both bodies: the vendor's has failed, or has an event that is too long. */
  private breakOff(error: unknown): void {
    if (this.isOver) return
    this.isOver = true
    this.masked.fail(error)
    this.body.cancel()
  }
}

function bufferOf(piece: Uint8Array): Buffer {
  return Buffer.isBuffer(piece) ? piece : Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
}

interface Search {
  /** Minimum length of a truncated key that is masked, in bytes. */
  least: number
  /** The bytes with keys masked; the input if there are none. */
  mask(bytes: Buffer): Buffer
  /** Index of a truncated key at the end; the length if the text does not end with one. */
  beginningAt(bytes: Buffer): number
}

function createSearch(keys: readonly Buffer[]): Search {
  const plain = [...keys, ...keys.flatMap(inAddress)]
  // Searching for a whole long key would take twenty times as long.
  const beginnings = plain.map((form) => form.subarray(0, MIN_SECRET_LENGTH))
  const characters = new Set(keys.flatMap((key) => [...key]))
  /** Bytes that may be the last one of a truncated key. */
  const inside = new Set([
    ...characters,
    ...plain.flatMap((form) => [...form]),
    ...Buffer.from('\\u0123456789abcdefABCDEF"'),
  ])
  const longest = ESCAPE_LENGTH * Math.max(...keys.map(({ length }) => length))

  /** Whether some character may be written as `\u00…`. Accents and the like need no closer check. */
  function hasEscapes(bytes: Buffer): boolean {
    if (characters.has(SLASH) && bytes.indexOf(ESCAPED_SLASH) !== -1) return true
    for (let at = bytes.indexOf(ESCAPE); at !== -1; at = bytes.indexOf(ESCAPE, at + ESCAPE_LENGTH)) {
      if (characters.has(escapedAt(bytes, at))) return true
    }
    return false
  }

  const isShort = keys.some(({ length }) => length < MIN_SECRET_LENGTH)
  return {
    least: isShort ? MIN_SHORT_SECRET_LENGTH : MIN_SECRET_LENGTH,
    mask(bytes) {
      let masked = bytes
      for (let index = 0; index < plain.length; index++) {
        if (masked.indexOf(beginnings[index] as Buffer) !== -1)
          masked = withoutForm(masked, plain[index] as Buffer)
      }
      return hasEscapes(masked) ? replaced(masked, (from) => findEscaped(masked, from, keys)) : masked
    },
    beginningAt(bytes) {
      if (!inside.has(bytes[bytes.length - 1] as number)) return bytes.length
      for (let at = Math.max(0, bytes.length - longest); at < bytes.length; at++) {
        if (plain.some((form) => beginsWithRest(form, bytes, at))) return at
        if (keys.some((key) => readKey(key, bytes, at) === BROKEN_OFF)) return at
      }
      return bytes.length
    },
  }
}

/** Forms of a key in a URL, if they differ. */
function inAddress(key: Buffer): Buffer[] {
  const text = encodeURIComponent(key.toString())
  return text.length === key.length ? [] : [Buffer.from(text)]
}

function beginsWithRest(form: Buffer, bytes: Buffer, at: number): boolean {
  const length = bytes.length - at
  return length < form.length && form.compare(bytes, at, bytes.length, 0, length) === 0
}

function withoutForm(bytes: Buffer, form: Buffer): Buffer {
  return replaced(bytes, (from) => {
    const start = bytes.indexOf(form, from)
    return start === -1 ? undefined : [start, start + form.length]
  })
}

/** The bytes with the mask in place of each range that `find` returns from an index on. */
function replaced(bytes: Buffer, find: (from: number) => [start: number, end: number] | undefined): Buffer {
  let found = find(0)
  if (!found) return bytes
  const pieces: Buffer[] = []
  let at = 0
  for (; found; found = find(at)) {
    pieces.push(bytes.subarray(at, found[0]), MASK_BYTES)
    at = found[1]
  }
  return Buffer.concat([...pieces, bytes.subarray(at)])
}

/** The first key from an index on, however its characters are escaped. */
function findEscaped(bytes: Buffer, from: number, keys: readonly Buffer[]): [number, number] | undefined {
  for (let at = from; at < bytes.length; at++) {
    for (const key of keys) {
      const end = readKey(key, bytes, at)
      if (end > 0) return [at, end]
    }
  }
  return undefined
}

const NO_KEY = -1
const BROKEN_OFF = -2

/** The index after the key that begins at `at`, escaped or not. */
function readKey(key: Buffer, bytes: Buffer, at: number): number {
  let index = at
  for (let position = 0; position < key.length; position++) {
    const character = key[position]
    if (index >= bytes.length) return BROKEN_OFF
    const byte = bytes[index]
    if (byte === BACKSLASH && character !== BACKSLASH) {
      const next = bytes[index + 1]
      if (next === SLASH && character === SLASH) index += 2
      else if (
        index + ESCAPE_LENGTH > bytes.length &&
        ESCAPE.indexOf(bytes.subarray(index, index + ESCAPE.length)) === 0
      )
        return BROKEN_OFF
      else if (escapedAt(bytes, index) === character) index += ESCAPE_LENGTH
      else return NO_KEY
    } else if (byte === character) index++
    else return NO_KEY
  }
  return index
}

/** The character of the escape `\u00…` at `at`; NaN if `at` is not such an escape. */
function escapedAt(bytes: Buffer, at: number): number {
  for (let index = 0; index < ESCAPE.length; index++)
    if (bytes[at + index] !== ESCAPE[index]) return Number.NaN
  return 16 * hexDigit(bytes[at + 4]) + hexDigit(bytes[at + 5])
}

function hexDigit(byte: number | undefined): number {
  return byte === undefined ? Number.NaN : Number.parseInt(String.fromCharCode(byte), 16)
}
