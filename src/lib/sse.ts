// Splits a server-sent event stream into whole events, wherever the network cut it, and reads the data of an event. It must never
// change a byte, or keep more than one unfinished event.

import { parseForeign } from './json/json'

/** A comment, sent when a stream has been silent for `KEEP_ALIVE_MS`, so that no proxy considers it dead. */
export const KEEP_ALIVE = ': keep-alive\n\n'
export const KEEP_ALIVE_MS = 15_000

/**
 * Maximum size of an event, in bytes; no vendor sends a longer one, and it would be held in memory. The longest are pictures: 3840
 * by 2160 pixels with transparency are 33 MB, and a PNG of noise is 44 MB as base64.
 */
export const MAX_EVENT_BYTES = 64 * 1024 * 1024

interface EventSplitter {
  /**
   * Receives a piece of the stream. Returns the part that consists of whole events, which is empty if none ended in it.
   */
  push(piece: Uint8Array): Buffer
  /** The bytes after the last whole event. */
  rest(): Buffer
}

const NEW_LINE = 10
const RETURN = 13
const EMPTY = Buffer.alloc(0)
const BLANK_LINE = Buffer.from('\n\n')
const NEW_LINES = ['\n\n']
const BLANK_LINES = [...NEW_LINES, '\r\r', '\r\n\r\n']
const blankLine = /\n\n|\r\n\r\n|\r\r/g
/** Characters that occur in every meaningful event. */
const DATA = 'data'
/** As bytes, because searching for a string converts it to bytes each time. */
const DATA_BYTES = Buffer.from(DATA)

export function createEventSplitter(): EventSplitter {
  // The unfinished event, with room to grow. Joining it again with each piece would take time that grows with the square of its
  // size: seconds for a large picture.
  let store: Buffer = EMPTY
  let carried = 0

  function join(bytes: Buffer): Buffer {
    const length = carried + bytes.length
    if (length > store.length) {
      const roomier = Buffer.allocUnsafe(Math.max(2 * store.length, length))
      store.copy(roomier, 0, 0, carried)
      store = roomier
    }
    bytes.copy(store, carried)
    return store.subarray(0, length)
  }

  return {
    push(piece) {
      // Checking the type is cheaper than another view.
      const bytes = Buffer.isBuffer(piece)
        ? piece
        : Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
      const whole = carried > 0 ? join(bytes) : bytes
      // A new end can only be at or after the start of the new piece.
      const end = endOfLastEvent(whole, carried)
      if (whole.length - end > MAX_EVENT_BYTES) throw new Error('an event of the stream is too long')
      // Bytes that were passed on are never overwritten: a restarted buffer is full, so the next piece moves it.
      if (end > 0 || carried === 0) store = end === whole.length ? EMPTY : whole.subarray(end)
      carried = whole.length - end
      return end === whole.length ? whole : whole.subarray(0, end)
    },
    rest: () => store.subarray(0, carried),
  }
}

/** Index after the last blank line: \n\n, \r\r or \r\n\r\n. The search starts three bytes before `from`. */
function endOfLastEvent(bytes: Buffer, from: number): number {
  const floor = Math.max(1, from - 3)
  for (let at = bytes.length - 1; at >= floor; at--) {
    const byte = bytes[at]
    if (byte !== NEW_LINE && byte !== RETURN) continue
    const before = bytes[at - 1]
    if (before === byte) return at + 1
    if (byte === NEW_LINE && before === RETURN && bytes[at - 2] === NEW_LINE && bytes[at - 3] === RETURN)
      return at + 1
  }
  return 0
}

/** The `data` of one event as Latin-1, with its lines joined; undefined for a comment or an empty event. */
export function dataOfEvent(event: string): string | undefined {
  const data = dataIn(event)
  return data === undefined ? undefined : fromLatin1(data)
}

/** The `data` of one event, encoded like its text, with its lines joined; undefined for a comment or an empty event. */
export function dataIn(event: string): string | undefined {
  // Nearly all events have one line of data, possibly after a name. Lines in a list take three times as long.
  const at = event.startsWith('event: ') ? event.indexOf('\n') + 1 : 0
  if (event.startsWith('data: ', at) && event.indexOf('\n', at) === event.length - 2 && !event.includes('\r'))
    return event.slice(at + 6, -2)
  let data: string | undefined
  for (const line of event.split(/\r\n|\n|\r/)) {
    if (!line.startsWith('data')) continue
    if (line.length > 4 && line[4] !== ':') continue
    const value = line.slice(line[5] === ' ' ? 6 : 5)
    data = data === undefined ? value : `${data}\n${value}`
  }
  return data
}

/** The JSON object or array in the data of an event; undefined for other data, or if it is too deeply nested. */
export function objectIn(data: string): object | undefined {
  try {
    const json = parseForeign(data)
    return typeof json === 'object' && json !== null ? json : undefined
  } catch {
    return undefined
  }
}

/**
 * Single events of a text that consists of whole ones, each with its closing blank line. Consecutive events without data, which
 * mean nothing, are returned as one: a million of them would be a million strings.
 */
export function splitEvents(whole: string): string[] {
  const events: string[] = []
  const hasReturns = whole.includes('\r')
  const blankLines = hasReturns ? BLANK_LINES : NEW_LINES
  for (let at = 0; at < whole.length; ) {
    const data = whole.indexOf(DATA, at)
    if (data === -1) {
      events.push(whole.slice(at))
      break
    }
    const start = data === at ? at : startBefore(whole, blankLines, at, data)
    if (start > at) events.push(whole.slice(at, start))
    at = hasReturns ? endOfFirst(whole, data) : endOfBlankLine(whole, data)
    events.push(whole.slice(start, at))
  }
  return events
}

/** Index after the first blank line from an index on, in a text without carriage returns. A pattern takes twice as long. */
function endOfBlankLine(whole: string, from: number): number {
  const at = whole.indexOf('\n\n', from)
  return at === -1 ? whole.length : at + 2
}

/** Index after the first blank line of any form from an index on. */
function endOfFirst(whole: string, from: number): number {
  blankLine.lastIndex = from
  return blankLine.exec(whole) ? blankLine.lastIndex : whole.length
}

/**
 * Where the last blank line between `from` and `to` ends; `from` if there is none. It does not search the text before `from`: the time
 * to split a text would then grow with the square of its number of events.
 */
function startBefore(whole: string, blankLines: readonly string[], from: number, to: number): number {
  let start = from
  for (const line of blankLines) {
    // A blank line may have begun in the previous event.
    const searchedFrom = Math.max(0, from - line.length + 1)
    const at = whole.slice(searchedFrom, to).lastIndexOf(line)
    if (at !== -1) start = Math.max(start, searchedFrom + at + line.length)
  }
  return start
}

/** Single events of bytes that consist of whole ones, from an index on, like `splitEvents`. Each is made on demand. */
export function* eventsIn(whole: Buffer, from: number): Generator<string, void, undefined> {
  if (whole.includes(RETURN, from)) {
    yield* splitEvents(whole.toString('latin1', from))
    return
  }
  for (let at = from; at < whole.length; ) {
    const data = whole.indexOf(DATA_BYTES, at)
    const blank = data === at ? -1 : whole.lastIndexOf(BLANK_LINE, data === -1 ? undefined : data)
    if (data === -1 || blank >= at) {
      const start = data === -1 ? whole.length : blank + BLANK_LINE.length
      yield whole.toString('latin1', at, start)
      at = start
    } else {
      const end = whole.indexOf(BLANK_LINE, data)
      const next = end === -1 ? whole.length : end + BLANK_LINE.length
      yield whole.toString('latin1', at, next)
      at = next
    }
  }
}

export function toLatin1(text: string): string {
  return Buffer.from(text).toString('latin1')
}

export function fromLatin1(text: string): string {
  return Buffer.from(text, 'latin1').toString('utf8')
}
