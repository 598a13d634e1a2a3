// Limits the output by the bytes of events that nobody reads: their length without the parts before and after the text that all
// events of a kind share. It may overestimate the output, and never underestimate it: an event of an unknown kind counts in full.

import { toLatin1 } from '../lib/sse'

/** The parts that all events of a kind share, such as the pieces of a text or of a tool call. */
interface EventKind {
  /** Bytes before the text. */
  before: Buffer
  /** Bytes after the text. */
  after: Buffer
  /** Length without the text. */
  length: number
}

const BLANK_LINE = Buffer.from('\n\n')
/** The end of a member's name and what precedes its value. */
const MEMBER_LEADS = ['":', '": ']
/** Maximum of known kinds at a time: candidates and tool calls alternate. */
const MOST_KINDS = 4

export class OutputBound {
  /** Maximum of tokens in the events that were passed on and not read yet. */
  unreadTokens = 0
  /** How many kinds are known so far. */
  knownKinds = 0
  private readonly kinds: EventKind[] = []
  /** Whether an event of an unknown kind has arrived since the last one was learnt. */
  private hasUnknown = false

  /** Maximum of tokens in the output of whole events: no tokenizer makes more tokens than the text has bytes. */
  most(whole: Buffer): number {
    const [kind] = this.kinds
    // Nearly always one event, of the same kind as the previous one.
    if (kind && whole.length < 2 * kind.length && isOfKind(whole, 0, whole.length, kind)) {
      return whole.length - kind.length
    }
    let most = 0
    for (let at = 0; at < whole.length; ) {
      const blank = whole.indexOf(BLANK_LINE, at)
      const end = blank === -1 ? whole.length : blank + BLANK_LINE.length
      most += this.mostIn(whole, at, end)
      at = end
    }
    return most
  }

  /**
   * Learns the kind of an event that has been read since, as the vendor sent it. `text` is all of its output. True if the kind was
   * unknown before.
   */
  learn(event: string, text: string): boolean {
    const { hasUnknown, kinds } = this
    this.hasUnknown = false
    if (!hasUnknown) return false
    // As most vendors write it. If it is written otherwise, the length of a text is unknown.
    const written = toLatin1(JSON.stringify(text))
    const at = placeOf(event, written)
    if (at === -1) return false
    const before = Buffer.from(event.slice(0, at + 1), 'latin1')
    const after = Buffer.from(event.slice(at + written.length - 1), 'latin1')
    if (kinds.some((kind) => kind.before.equals(before) && kind.after.equals(after))) return false
    if (kinds.length === MOST_KINDS) kinds.pop()
    kinds.unshift({ before, after, length: before.length + after.length })
    this.knownKinds++
    return true
  }

  private mostIn(whole: Buffer, from: number, end: number): number {
    const kind = this.kinds.find((each) => isOfKind(whole, from, end, each))
    if (kind) return end - from - kind.length
    this.hasUnknown = true
    return end - from
  }
}

/** Index of a string that is the value of one member; -1 if there is none, or several that may each be the output. */
function placeOf(event: string, written: string): number {
  const places = MEMBER_LEADS.flatMap((lead) => {
    const [first, last] = [event.indexOf(lead + written), event.lastIndexOf(lead + written)]
    return first === -1 ? [] : [first + lead.length, last + lead.length]
  })
  const [place = -1] = places
  return places.every((each) => each === place) ? place : -1
}

function isOfKind(whole: Buffer, from: number, end: number, { before, after, length }: EventKind): boolean {
  return (
    end - from >= length &&
    whole.compare(before, 0, before.length, from, from + before.length) === 0 &&
    whole.compare(after, 0, after.length, end - after.length, end) === 0
  )
}
