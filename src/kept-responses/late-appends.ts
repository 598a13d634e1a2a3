// Items whose caller was refused because the database hung: it may still append them when it continues. They are deleted then, so
// that a repeat of the caller adds them once. In the memory of this process: one that ends before leaves what was appended late.

import { DatabaseUnavailable, type Db } from '../db/db'
import { type ConversationHead, deleteItem } from './conversation-rows'

interface LateAppend {
  conversation: Pick<ConversationHead, 'id' | 'account'>
  /** Ids that no other append has. */
  itemIds: readonly string[]
  /** How often nothing was found. */
  misses: number
}

/** Appends that are remembered: a database that is away refuses every one. */
const MOST_APPENDS = 1_000
/** A server that has just gone on may still make what it was sent before, so the first look is not the last. */
const MOST_MISSES = 2

export class LateAppends {
  private appends: LateAppend[] = []

  constructor(private readonly db: Db) {}

  /** Has items deleted that were refused, as often as it takes. Their ids must be of this append alone. */
  takeBack({ id, account }: LateAppend['conversation'], itemIds: readonly string[]): void {
    if (this.appends.length >= MOST_APPENDS || itemIds.length === 0) return
    this.appends.push({ conversation: { id, account }, itemIds, misses: 0 })
  }

  /** Deletes what was appended since. Called every few seconds. */
  async retry(): Promise<void> {
    for (const append of [...this.appends]) {
      try {
        if (await this.isGone(append)) this.appends = this.appends.filter((other) => other !== append)
      } catch (error) {
        if (error instanceof DatabaseUnavailable) return
        throw error
      }
    }
  }

  /** Whether the items are gone, and will not come any more. */
  private async isGone(append: LateAppend): Promise<boolean> {
    let deleted = 0
    for (const itemId of append.itemIds) if (await deleteItem(this.db, append.conversation, itemId)) deleted++
    return deleted > 0 || ++append.misses >= MOST_MISSES
  }
}
