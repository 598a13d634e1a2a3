// Bounds the output by the bytes of events that nobody reads: their length without what precedes and follows the text
// in every event of a kind. It may count too much as output, and never too little: an event of an unknown kind counts
// in full.

import { toLatin1 } from '../../lib/sse'
import { startOfReport } from './event-search'

/** The parts that are the same in all events of a kind, such as the pieces of a text or of a tool call, as Latin-1. */
interface EventKind {
  /** The bytes before the text, with its opening quote. */
  before: string
  /** The bytes after the text, from its closing quote to the blank line. */
  after: string
  /** True if there is nothing to report in these parts. A text has no unescaped quote, so it cannot have a report either. */
  isPlain: boolean
}

/** Facts about events that nobody has read. */
interface Bound {
  /** Maximum number of tokens in their output: no tokenizer makes more of a text than it has bytes. */
  tokens: number
  /** Length of the first of them that cannot have usage, an error, or the operator's account. */
  plainLength: number
}

const BLANK_LINE = '\n\n'
const QUOTE = '"'
const BACKSLASH = 92
/** The end of a member's name and what precedes its value. */
const MEMBER_LEADS = ['":', '": ']
/** Maximum number of known kinds at a time: candidates and tool calls alternate. */
const MAX_KINDS = 4

export class OutputBound {
  /** Maximum number of tokens in events that were passed on and not read yet. */
  unreadTokens = 0
  /** How many kinds were learnt so far. */
  knownKinds = 0
  private readonly kinds: EventKind[] = []
  /** Whether an event of an unknown kind has come since the last was learnt. */
  private hasUnknown = false

  /** The bound of whole events. */
  of(whole: Buffer): Bound {
    if (this.kinds.length === 0) {
      this.hasUnknown = true
      return { tokens: whole.length, plainLength: 0 }
    }
    const text = whole.toString('latin1')
    const bound = { tokens: 0, plainLength: 0 }
    for (let at = 0; at < text.length; ) at = this.add(text, at, bound)
    return bound
  }

  /**
   * Learns the kind of an event that was read since, as the vendor sent it. `text` is all of its output. True if the kind
   * was not known before.
   */
  learn(event: string, text: string): boolean {
    const { hasUnknown, kinds } = this
    this.hasUnknown = false
    if (!hasUnknown) return false
    // As most vendors write it. Where it is written otherwise, it is not known how long a text is.
    const written = toLatin1(JSON.stringify(text))
    const at = placeOf(event, written)
    if (at === -1) return false
    const before = event.slice(0, at + 1)
    const after = event.slice(at + written.length - 1)
    if (kinds.some((kind) => kind.before === before && kind.after === after)) return false
    if (kinds.length === MAX_KINDS) kinds.pop()
    kinds.unshift({ before, after, isPlain: startOfReport(Buffer.from(before + after, 'latin1'), 0) === -1 })
    this.knownKinds++
    return true
  }

  /** Adds the event at an index to a bound. Returns the index after the event. */
  private add(text: string, at: number, bound: Bound): number {
    for (const { before, after, isPlain } of this.kinds) {
      if (!text.startsWith(before, at)) continue
      const end = endOfString(text, at + before.length)
      if (!text.startsWith(after, end)) continue
      bound.tokens += end - at - before.length
      const next = end + after.length
      if (isPlain && bound.plainLength === at) bound.plainLength = next
      return next
    }
    const blank = text.indexOf(BLANK_LINE, at)
    const end = blank === -1 ? text.length : blank + BLANK_LINE.length
    bound.tokens += end - at
    this.hasUnknown = true
    return end
  }
}

/** Index of the quote that ends a string which begins before an index; the length if the string is cut off. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf(QUOTE, from); at !== -1; at = text.indexOf(QUOTE, at + 1)) {
    let escapes = at
    while (text.charCodeAt(escapes - 1) === BACKSLASH) escapes--
    if ((at - escapes) % 2 === 0) return at
  }
  return text.length
}

/** Index of the only string that may be the output; -1 if no member or several members may be. */
function placeOf(event: string, written: string): number {
  const places = MEMBER_LEADS.flatMap((lead) => {
    const [first, last] = [event.indexOf(lead + written), event.lastIndexOf(lead + written)]
    return first === -1 ? [] : [first + lead.length, last + lead.length]
  })
  const [place = -1] = places
  return places.every((each) => each === place) ? place : -1
}
