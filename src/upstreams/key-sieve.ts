// Finds the events that may have a part of a key in one of their strings, so that only these are read. It must never miss one; it
// may find some that have none. Each event of a stream passes through it, so it looks only at what is new in each.

const QUOTE = 34
const COLON = 58
const BACKSLASH = 92
const SLASH = 47
/** The beginning of an escape that a character of a key may be written as. */
const ESCAPE = Buffer.from('\\u00')
/** Bytes of a key that are searched for: a search for all of a long one would take twenty times as long. */
const SEARCHED_BYTES = 8
/** Longest events that are compared with those that follow. */
const LONGEST_COMPARED = 4 * 1024
const NOTHING = Buffer.alloc(0)
const BLANK_LINE = Buffer.from('\n\n')

/** So many bytes of a key, from its first one on. */
interface Beginning {
  key: Buffer
  length: number
}

/** Finds the events whose strings have to be read. Nearly no event of a stream has one. */
export class KeySieve {
  /** The beginnings that end in a byte. */
  private readonly endings: Beginning[][] = Array.from({ length: 256 }, () => [])
  /** The beginnings of all keys, by their first byte. */
  private readonly starts: Buffer[][] = Array.from({ length: 256 }, () => [])
  /** 1 for the bytes that need a closer look. */
  private readonly isNoted = new Uint8Array(256)
  private readonly mayCompare: boolean

  constructor(keys: readonly Buffer[]) {
    for (const key of keys) {
      this.starts[key[0] as number]?.push(key.subarray(0, SEARCHED_BYTES))
      for (let length = 1; length < key.length; length++)
        this.endings[key[length - 1] as number]?.push({ key, length })
    }
    for (const byte of [QUOTE, BACKSLASH, ...keys.map((key) => key[0] as number)]) this.isNoted[byte] = 1
    this.mayCompare = !keys.some((key) => key.includes(QUOTE))
  }

  /** Looks at whole events that are alike, one after the other. */
  begin(): (events: Buffer) => boolean {
    let last = NOTHING
    // What is the same in all events: up to a quote, and from a quote on. A string that ends between them is looked at.
    let before = 0
    let after = 0
    const isAlike = (events: Buffer, at: number, end: number) =>
      end - at >= before + after &&
      events.compare(last, 0, before, at, at + before) === 0 &&
      events.compare(last, last.length - after, last.length, end - after, end) === 0
    return (events) => {
      const { length } = events
      let at = 0
      for (let end = 0; before > 0 && at < length; at = end) {
        end = length - at < 2 * last.length ? length : endOfEvent(events, at + before)
        if (!isAlike(events, at, end)) break
        if (this.holds(events, at + before, end - after + 1)) return true
      }
      if (at === length) return false
      if (this.holds(events, at, length)) return true
      if (!this.mayCompare) return false
      const start = startOfLast(events, length)
      const other = start > at ? events.subarray(startOfLast(events, start), start) : last
      const newest = events.subarray(start)
      if (newest.length > LONGEST_COMPARED) return false
      before = sameBefore(other, newest)
      after = sameAfter(other, newest, before)
      last = Buffer.from(newest)
      return false
    }
  }

  /** Whether a string may end in the beginning of a key between two places, or has all of one there. */
  holds(bytes: Buffer, from: number, end: number): boolean {
    const { isNoted } = this
    for (let at = from; at < end; at++) {
      const byte = bytes[at] as number
      if (isNoted[byte] === 1 && this.isFound(bytes, at, byte)) return true
    }
    return false
  }

  private isFound(bytes: Buffer, at: number, byte: number): boolean {
    if (byte === BACKSLASH) return bytes[at + 1] === SLASH || bytes.indexOf(ESCAPE, at) === at
    if (byte === QUOTE) {
      if (bytes[at + 1] === COLON) return false
      const endings = this.endings[bytes[at - 1] ?? 0] as Beginning[]
      for (const { key, length } of endings)
        if (length <= at && key.compare(bytes, at - length, at, 0, length) === 0) return true
    }
    const starts = this.starts[byte] as Buffer[]
    return starts.some(
      (start) => at + start.length <= bytes.length && start.compare(bytes, at, at + start.length) === 0,
    )
  }
}

/** Index after the event that an index is in. */
function endOfEvent(events: Buffer, at: number): number {
  const blank = events.indexOf(BLANK_LINE, at)
  return blank === -1 ? events.length : blank + BLANK_LINE.length
}

/** Index at which the last event before an index begins. */
function startOfLast(events: Buffer, end: number): number {
  const blank = end <= BLANK_LINE.length ? -1 : events.lastIndexOf(BLANK_LINE, end - BLANK_LINE.length - 1)
  return blank === -1 ? 0 : blank + BLANK_LINE.length
}

/** Bytes that two events have in common at their beginning, up to a quote. */
function sameBefore(one: Buffer, other: Buffer): number {
  let same = 0
  while (same < one.length && one[same] === other[same]) same++
  while (same > 0 && one[same - 1] !== QUOTE) same--
  return same
}

/** Bytes that two events have in common at their end, from a quote on, beside those at their beginning. */
function sameAfter(one: Buffer, other: Buffer, before: number): number {
  const most = Math.min(one.length, other.length) - before
  let same = 0
  while (same < most && one[one.length - 1 - same] === other[other.length - 1 - same]) same++
  while (same > 0 && one[one.length - same] !== QUOTE) same--
  return same
}
