// Bounds the output in the bytes of events that nobody reads: their length without what stands before and after the text in
// every event of a kind. It may take too much for output, and never too little: of an event of a kind that it does not know
// it takes all.

import { toLatin1 } from '../lib/sse'

/** The parts that are the same in all events of a kind, such as the pieces of a text or of a tool call. */
interface EventKind {
  /** Bytes before the text. */
  before: Buffer
  /** Length without the text. */
  length: number
}

const BLANK_LINE = Buffer.from('\n\n')
/** Most kinds that are known at a time: candidates and tool calls take turns. */
const MOST_KINDS = 4

export class OutputBound {
  /** Most tokens in the events that were passed on and not read yet. */
  unreadTokens = 0
  private readonly kinds: EventKind[] = []

  /** Most tokens of the output in whole events: no tokenizer makes more of a text than it has bytes. */
  most(whole: Buffer): number {
    let most = 0
    for (let at = 0; at < whole.length; ) {
      const blank = whole.indexOf(BLANK_LINE, at)
      const end = blank === -1 ? whole.length : blank + BLANK_LINE.length
      most += this.mostIn(whole, at, end)
      at = end
    }
    return most
  }

  /** Learns the kind of an event from its text. The event is Latin-1. */
  learn(event: string, text: string): void {
    // As most vendors write it. Where it is written otherwise, it is not known how long a text is.
    const written = toLatin1(JSON.stringify(text))
    const at = event.indexOf(written)
    if (at === -1) return
    const before = Buffer.from(event.slice(0, at + 1), 'latin1')
    if (this.kinds.some((kind) => kind.before.equals(before))) return
    if (this.kinds.length === MOST_KINDS) this.kinds.shift()
    this.kinds.push({ before, length: event.length - written.length + 2 })
  }

  private mostIn(whole: Buffer, from: number, end: number): number {
    for (const { before, length } of this.kinds) {
      const isKnown =
        end - from >= length && whole.compare(before, 0, before.length, from, from + before.length) === 0
      if (isKnown) return end - from - length
    }
    return end - from
  }
}
