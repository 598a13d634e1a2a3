// Items whose caller was refused because the database hung: the database may still append them when it continues. In that case they
// are deleted, so that a repeat of the caller adds them once. In the memory of this process: one that ends before leaves late items
// in place.

import { DatabaseUnavailable, type Db } from '../db/db'
import { type ConversationHead, deleteItem } from './conversation-rows'

interface LateAppend {
  conversation: Pick<ConversationHead, 'id' | 'account'>
  /** Ids that only this append has. */
  itemIds: readonly string[]
  /** How many checks have found nothing. */
  misses: number
}

/** Maximum number of remembered appends: an unavailable database refuses every one. */
const MAX_APPENDS = 1_000
/** A server that has just resumed may still execute earlier statements, so the first check is not the last. */
const MAX_MISSES = 2

export class LateAppends {
  private appends: LateAppend[] = []

  constructor(private readonly db: Db) {}

  /** Deletes refused items, repeatedly if necessary. Their ids must belong to this append only. */
  takeBack({ id, account }: LateAppend['conversation'], itemIds: readonly string[]): void {
    if (this.appends.length >= MAX_APPENDS || itemIds.length === 0) return
    this.appends.push({ conversation: { id, account }, itemIds, misses: 0 })
  }

  /** Deletes items that were appended since then. Called every few seconds. */
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

  /** Whether the items are gone, and will not appear any more. */
  private async isGone(append: LateAppend): Promise<boolean> {
    let deleted = 0
    for (const itemId of append.itemIds) if (await deleteItem(this.db, append.conversation, itemId)) deleted++
    return deleted > 0 || ++append.misses >= MAX_MISSES
  }
}
