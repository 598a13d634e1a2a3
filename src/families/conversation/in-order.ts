// Serializes items for dialects whose items never overlap, although vendors mix the pieces of several: pieces of a later item wait
// until the one before is closed. It must never lose, repeat or reorder a piece.

import type { AnswerItem } from './answer'

/** Receives items one after another: each ends before the next one begins. */
export interface ItemRow {
  open(item: AnswerItem): void
  /** A non-empty piece. */
  add(item: AnswerItem, piece: string): void
  close(item: AnswerItem): void
}

/** An item that has not ended. The first of the queue may be open, the others wait. */
interface Waiting {
  item: AnswerItem
  /** Text that has arrived and was not yet passed on. */
  unsent: string
  isOpen: boolean
  isClosed: boolean
}

export class InOrder {
  /** In order. */
  private readonly queue = new Map<AnswerItem, Waiting>()

  constructor(private readonly row: ItemRow) {}

  open(item: AnswerItem): void {
    this.queue.set(item, { item, unsent: '', isOpen: false, isClosed: false })
    this.advance()
  }

  add(item: AnswerItem, piece: string): void {
    const waiting = this.queue.get(item)
    if (!waiting) return
    waiting.unsent += piece
    if (waiting === this.first()) this.advance()
  }

  close(item: AnswerItem): void {
    const waiting = this.queue.get(item)
    if (!waiting) return
    waiting.isClosed = true
    if (waiting === this.first()) this.advance()
  }

  private first(): Waiting | undefined {
    return this.queue.values().next().value
  }

  /** Passes on what it can: everything of the first item, and of later ones once those before them are closed. */
  private advance(): void {
    for (let first = this.first(); first; first = this.first()) {
      const { item } = first
      if (!first.isOpen) {
        // A call is not shown before it has its name.
        if (item.kind === 'call' && item.name === '' && !first.isClosed) return
        first.isOpen = true
        this.row.open(item)
      }
      const { unsent } = first
      first.unsent = ''
      if (unsent !== '') this.row.add(item, unsent)
      if (!first.isClosed) return
      this.queue.delete(item)
      this.row.close(item)
    }
  }
}
