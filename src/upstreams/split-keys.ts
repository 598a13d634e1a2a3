// Masks a key that is spread over several strings of an answer, such as the deltas of a stream, however many. It must never change
// text that is not part of a complete key, or hold back an event that does not end with the beginning of one.

import { createEventSplitter, dataIn, eventsIn, fromLatin1, objectIn, toLatin1 } from '../lib/sse'

/** Maximum number of characters of a key's beginning that pass at once, such as `sk-`: a text that ends with them is not held back. */
const MAX_OPEN_CHARACTERS = 7
/** The share of a key that may pass before it is known whether the rest follows. */
const OPEN_SHARE = 1 / 4
/** Maximum number of bytes of events that wait for the rest of a key, and of a document that is read as a whole. */
const MAX_HELD_BYTES = 256 * 1024
/** Maximum number of waiting events: other candidates and pings may arrive between the strings that contain a key. */
const MAX_HELD_EVENTS = 4_096
/** Maximum number of places whose strings end with the beginning of a key at the same time. */
const MAX_PLACES = 64
const QUOTE = 34
const COLON = 58
const BACKSLASH = 92
const NOTHING = Buffer.alloc(0)
/** The beginnings of escapes in which a character of a key may be written. */
const ESCAPES = [Buffer.from('\\u00'), Buffer.from('\\/')]
/** Number of bytes of a key that are searched: searching for all of a long one would take twenty times as long. */
const SEARCHED_BYTES = 8
/** Number of bytes of a beginning that is found without the quote after it: few honest texts contain them. */
const RARE_BYTES = 4
const INDEX = /index$/

interface HeldEvent {
  /** As the vendor sent it, in Latin-1. */
  text: string
  json: object
  isChanged: boolean
  /** How many strings wait for the rest of a key. */
  waiting: number
}

/** A string value in an event. */
interface Piece {
  event: HeldEvent
  parent: Record<string, unknown>
  name: string
}

/** Strings with one name, of one candidate and one block. */
interface Place {
  /** The part of the beginning of a key that was passed on. */
  passed: string
  /** The strings that contain the rest of the beginning. */
  pieces: Piece[]
}

interface Key {
  /** The complete key, or everything after its first letters. */
  text: string
  /** Characters that pass at once. */
  open: number
}

/** Whether the strings in bytes must be read. */
type Shares = (bytes: Buffer) => boolean

export interface SplitMask {
  /** The bytes to pass on. Throws if an event is too long. */
  push(piece: Buffer): Buffer
  /** The rest to pass on. */
  end(): Buffer
}

export class SplitKeys {
  private readonly keys: readonly Key[]
  private readonly mayShare: Shares

  constructor(
    private readonly texts: readonly string[],
    private readonly mask: string,
  ) {
    this.keys = texts.map(keyOf)
    this.mayShare = sharesOf(this.keys.map(({ text }) => Buffer.from(text)))
  }

  /** A mask for one stream of events. */
  inStream(): SplitMask {
    return new StreamMask(new Places(this.keys, this.mask), this.mayShare)
  }

  /** A mask for a JSON document. */
  inDocument(): SplitMask {
    const keys = this.texts.map((text) => ({ text, open: 0 }))
    return new DocumentMask(new Places(keys, this.mask), this.mayShare)
  }
}

/**
 * A key as it is searched in streams: from a character on with which few words end, if one is among those that may pass. One word
 * in ten ends with the first letter of `sk-`, and each would have to be read.
 */
function keyOf(key: string): Key {
  const open = Math.min(MAX_OPEN_CHARACTERS, Math.floor(key.length * OPEN_SHARE))
  const rare = key.search(/[^a-z]/)
  const from = rare === -1 || rare > open ? 0 : rare
  return { text: key.slice(from), open: open - from }
}

class StreamMask implements SplitMask {
  private readonly splitter = createEventSplitter()
  private held: HeldEvent[] = []
  private heldBytes = 0

  constructor(
    private readonly places: Places,
    private readonly mayShare: Shares,
  ) {}

  push(piece: Buffer): Buffer {
    const whole = this.splitter.push(piece)
    if (whole.length === 0 || (this.places.size === 0 && !this.mayShare(whole))) return whole
    let shown = ''
    let at = 0
    for (const event of eventsIn(whole, 0)) {
      const bytes = whole.subarray(at, at + event.length)
      at += event.length
      // Reading costs as much as all other work on an event.
      shown += this.places.size === 0 && !this.mayShare(bytes) ? event : this.take(event)
    }
    return Buffer.from(shown, 'latin1')
  }

  end(): Buffer {
    const rest = this.splitter.rest().toString('latin1')
    const last = rest === '' ? '' : this.take(rest)
    return Buffer.from(last + this.release(), 'latin1')
  }

  private take(text: string): string {
    const data = dataIn(text)
    const json = data === undefined ? undefined : objectIn(fromLatin1(data))
    // Data that is not JSON, such as the closing event of some vendors, ends all texts.
    if (data !== undefined && !json) return this.release() + text
    const event = { text, json: json ?? {}, isChanged: false, waiting: 0 }
    this.places.take(event)
    return this.withEvent(event)
  }

  private withEvent(event: HeldEvent): string {
    this.held.push(event)
    this.heldBytes += event.text.length
    if (this.heldBytes > MAX_HELD_BYTES || this.held.length > MAX_HELD_EVENTS) return this.release()
    let shown = ''
    while (this.held[0]?.waiting === 0) {
      const first = this.held.shift() as HeldEvent
      this.heldBytes -= first.text.length
      shown += shownOf(first)
    }
    return shown
  }

  private release(): string {
    this.places.giveUp()
    const shown = this.held.map(shownOf).join('')
    this.held = []
    this.heldBytes = 0
    return shown
  }
}

/** An event, with its data rewritten if part of a key was removed. */
function shownOf({ text, json, isChanged }: HeldEvent): string {
  if (!isChanged) return text
  const names = text.split(/\r\n|\n|\r/).filter((line) => line !== '' && !line.startsWith('data'))
  return [...names, `data: ${toLatin1(JSON.stringify(json))}`, '', ''].join('\n')
}

class DocumentMask implements SplitMask {
  private pieces: Buffer[] = []
  private length = 0

  constructor(
    private readonly places: Places,
    private readonly mayShare: Shares,
  ) {}

  /** A document that is too large to be read here passes unchanged. */
  push(piece: Buffer): Buffer {
    this.pieces.push(piece)
    this.length += piece.length
    return this.length > MAX_HELD_BYTES ? this.take() : NOTHING
  }

  end(): Buffer {
    if (this.length > MAX_HELD_BYTES) return this.take()
    const whole = this.take()
    if (!this.mayShare(whole)) return whole
    const json = objectIn(whole.toString())
    if (!json) return whole
    const event = { text: '', json, isChanged: false, waiting: 0 }
    this.places.take(event)
    return event.isChanged ? Buffer.from(JSON.stringify(json)) : whole
  }

  private take(): Buffer {
    const { pieces } = this
    this.pieces = []
    return pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces)
  }
}

/** Places whose last strings end with a possible beginning of a key. */
class Places {
  private readonly places = new Map<string, Place>()

  constructor(
    private readonly keys: readonly Key[],
    private readonly mask: string,
  ) {}

  get size(): number {
    return this.places.size
  }

  /** Reads the strings of an event, and masks the keys that end in them. */
  take(event: HeldEvent): void {
    this.walk(event, event.json as Record<string, unknown>, '')
  }

  /** Stops waiting. Masks beginnings that are most of a key. */
  giveUp(): void {
    for (const place of this.places.values()) {
      const text = place.passed + textOf(place.pieces)
      const key = this.keys.find((each) => 2 * endOf(text, each.text) >= each.text.length)
      if (key) replace(place, text.length - endOf(text, key.text), text.length, this.mask)
      place.passed = text
      settle(place, place.pieces.length)
    }
  }

  private walk(event: HeldEvent, parent: Record<string, unknown>, above: string, name = ''): void {
    let indexes = above
    for (const member in parent) {
      const value = parent[member]
      if (typeof value === 'number' && INDEX.test(member)) indexes += `${member}=${value};`
    }
    for (const member in parent) {
      const value = parent[member]
      const own = Array.isArray(parent) ? name : member
      if (typeof value === 'string') {
        if (value !== '') this.read(`${indexes}${own}`, { event, parent, name: member })
      } else if (typeof value === 'object' && value !== null) {
        this.walk(event, value as Record<string, unknown>, indexes, own)
      }
    }
  }

  private read(name: string, piece: Piece): void {
    const known = this.places.get(name)
    const place = known ?? { passed: '', pieces: [] }
    place.pieces.push(piece)
    piece.event.waiting++
    let text = place.passed + textOf(place.pieces)
    for (const { text: key } of this.keys) {
      for (let at = text.indexOf(key); at !== -1; at = text.indexOf(key)) {
        replace(place, at, at + key.length, this.mask)
        text = place.passed + textOf(place.pieces)
      }
    }
    this.keep(name, place, text, known !== undefined)
  }

  /** Holds back the end of a place's text that may be the beginning of a key. */
  private keep(name: string, place: Place, text: string, isKnown: boolean): void {
    let longest = 0
    let waiting = 0
    for (const { text: key, open } of this.keys) {
      const length = endOf(text, key)
      longest = Math.max(longest, length)
      if (length > open) waiting = Math.max(waiting, length)
    }
    let from = place.pieces.length
    for (let length = 0; length < waiting && from > 0; from--) {
      length += pieceText(place.pieces[from - 1] as Piece).length
    }
    const heldLength = textOf(place.pieces.slice(from)).length
    const passed = text.slice(0, text.length - heldLength)
    place.passed = passed.slice(-Math.max(1, longest))
    settle(place, from)
    if (longest === 0) this.places.delete(name)
    else if (!isKnown) this.add(name, place)
  }

  private add(name: string, place: Place): void {
    if (this.places.size >= MAX_PLACES) {
      const [oldest] = this.places
      if (oldest) {
        settle(oldest[1], oldest[1].pieces.length)
        this.places.delete(oldest[0])
      }
    }
    this.places.set(name, place)
  }
}

/** Releases the first pieces of a place. */
function settle(place: Place, count: number): void {
  for (const { event } of place.pieces.splice(0, count)) event.waiting--
}

function textOf(pieces: readonly Piece[]): string {
  let text = ''
  for (const piece of pieces) text += pieceText(piece)
  return text
}

function pieceText({ parent, name }: Piece): string {
  return parent[name] as string
}

/** Writes the mask in place of a range that covers passed-on text and the pieces; passed-on text stays. */
function replace({ passed, pieces }: Place, from: number, end: number, mask: string): void {
  let at = passed.length
  let written = mask
  for (const { event, parent, name } of pieces) {
    const text = parent[name] as string
    const [first, last] = [Math.max(from - at, 0), Math.min(end - at, text.length)]
    at += text.length
    if (first >= last) continue
    parent[name] = text.slice(0, first) + written + text.slice(last)
    event.isChanged = true
    written = ''
  }
}

/** Length of the longest incomplete beginning of a key with which a text ends. */
function endOf(text: string, key: string): number {
  const last = text.charCodeAt(text.length - 1)
  for (let length = Math.min(text.length, key.length - 1); length > 0; length--) {
    if (key.charCodeAt(length - 1) === last && text.endsWith(key.slice(0, length))) return length
  }
  return 0
}

/** Whether a string in bytes may end with the beginning of one of the keys, or contain all of it. Almost no string of a stream does. */
function sharesOf(keys: readonly Buffer[]): Shares {
  /** Lengths of the beginnings that end with a byte. */
  const beginnings: { key: Buffer; length: number }[][] = Array.from({ length: 256 }, () => [])
  for (const key of keys) {
    for (let length = 1; length < key.length; length++) {
      const others = beginnings[key[length - 1] as number]
      if (
        !others?.some((each) => each.length === length && each.key.compare(key, 0, length, 0, length) === 0)
      )
        others?.push({ key, length })
    }
  }
  const starts = keys.map((key) => key.subarray(0, SEARCHED_BYTES))
  const words = wordsOf(keys)
  const isLast = Uint8Array.from(beginnings, (each) => (each.length > 0 ? 1 : 0))
  const endsInBeginning = (bytes: Buffer) => {
    for (let at = 1; at < bytes.length; at++) {
      if (bytes[at] !== QUOTE || isLast[bytes[at - 1] as number] === 0 || bytes[at + 1] === COLON) continue
      for (const { key, length } of beginnings[bytes[at - 1] as number] ?? []) {
        if (length <= at && key.compare(bytes, at - length, at, 0, length) === 0) return true
      }
    }
    return false
  }
  return (bytes) => {
    // The runtime's searches are ten times as fast as a loop here, which only gets bytes that contain one of the words.
    if (words.some((word) => bytes.includes(word))) {
      if (starts.some((start) => bytes.includes(start)) || endsInBeginning(bytes)) return true
    }
    return bytes.includes(BACKSLASH) && ESCAPES.some((start) => bytes.includes(start))
  }
}

/** Bytes with a key, or with a string that ends with the beginning of one, contain at least one of these words. */
function wordsOf(keys: readonly Buffer[]): Buffer[] {
  const words = keys.flatMap((key) => {
    const rare = key.toString('latin1', 0, RARE_BYTES)
    const short = Array.from({ length: rare.length - 1 }, (_, index) => `${rare.slice(0, index + 1)}"`)
    return [rare, ...short]
  })
  return [...new Set(words)].map((word) => Buffer.from(word, 'latin1'))
}
