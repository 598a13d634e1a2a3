// Re-encrypts all encoded rows with the current key, in small batches while requests run, and removes older keys when no row uses
// them. A row must never be lost: it is replaced only if it has not changed since it was read.

import type { Log } from '../../lib/system'
import { apply, type Db, type Row, type Statement, type Value } from '../db'
import { CLEAR, storedBy, UnreadableText } from './codec'
import { forgetKey, noteUse, type UsedKey, usedKeys } from './keys'

/** Columns of one table that are encoded. */
export interface EncodedTable {
  table: string
  /** The columns of the primary key, in order. */
  primaryKey: readonly string[]
  columns: readonly string[]
  /** The column that identifies rows in places. */
  id: string
  /** The place of a column's text, for the row with this id. */
  placeOf(id: string, column: string): string
  /** Rows whose clear text is left unencrypted: otherwise untrusted text would look trustworthy. */
  keepsClear?(id: string): boolean
}

interface ReencryptionParts {
  db: Db
  tables: readonly EncodedTable[]
  log: Log
}

/** Number of rows per read. */
const ROWS = 32
/** Length of stored texts per write, in characters: encoding them blocks the process. */
const BATCH_LENGTH = 262_144
/**
 * Consecutive checks at which an older key must have been unused. A node that was delayed longer records its key again at its next
 * beat: then the key counts as used again, and nothing is lost.
 */
const IDLE_CHECKS = 5
/** Beats from one warning to the next. */
const WARNING_BEATS = 6

export class Reencryption {
  private readonly db: Db
  private readonly tables: readonly EncodedTable[]
  private readonly log: Log
  /** Uses of other keys at the last check, and at how many consecutive checks they were unchanged. */
  private readonly idle = new Map<string, { uses: number; checks: number }>()
  private beats = 0
  private isStopped = false

  constructor({ db, tables, log }: ReencryptionParts) {
    this.db = db
    this.tables = tables
    this.log = log
  }

  /** Ends a running pass soon. The rest is done after the next start. */
  stop(): void {
    this.isStopped = true
  }

  /**
   * For the start of the only serving process: encrypts all rows with the key, and removes the previous texts from the file.
   */
  async runAlone(): Promise<void> {
    const others = this.otherKeys(await usedKeys(this.db))
    if (others.length === 0) return
    this.log('rows_encrypting', { key: this.db.codec.currentId, before: others.map(({ id }) => id) })
    const rows = await this.pass()
    if (rows === undefined) return
    try {
      await this.db.compact?.()
    } catch (error) {
      this.log('database_not_compacted', {
        reason: String(error),
        advice: 'It is tried again at the next start.',
      })
      return
    }
    await this.forget(others, rows)
  }

  /**
   * Call it every few seconds: it shows other processes that this process uses its key. When no process uses another key any more,
   * it re-encrypts all rows with this one; a file that must be rewritten for it waits for the next start.
   */
  async beat(): Promise<void> {
    const used = await usedKeys(this.db)
    if (used.length === 0) return
    const { codec } = this.db
    await apply(this.db, [noteUse(codec.currentId)])
    const others = this.otherKeys(used)
    const unknown = others.filter(({ id }) => !codec.knows(id)).map(({ id }) => id)
    if (unknown.length > 0 && this.beats++ % WARNING_BEATS === 0) {
      const advice =
        'Another process encrypts with a key that this one lacks: add it to secrets.olderKeys here.'
      this.log('encryption_key_unknown', { keys: unknown, advice })
    }
    const idle = others.filter((key) => this.looksIdle(key))
    if (idle.length === 0 || idle.length < others.length || unknown.length > 0 || this.db.compact) return
    const rows = await this.pass()
    // An unreadable row is not searched again at each beat.
    this.idle.clear()
    if (rows !== undefined) await this.forget(others, rows)
  }

  private otherKeys(used: readonly UsedKey[]): UsedKey[] {
    return used.filter(({ id }) => id !== this.db.codec.currentId)
  }

  private looksIdle({ id, uses }: UsedKey): boolean {
    const before = this.idle.get(id)
    const checks = before?.uses === uses ? before.checks + 1 : 0
    this.idle.set(id, { uses, checks })
    return checks >= IDLE_CHECKS
  }

  private async forget(keys: readonly UsedKey[], rows: number): Promise<void> {
    await apply(this.db, keys.map(forgetKey))
    const left = this.otherKeys(await usedKeys(this.db)).map(({ id }) => id)
    const forgotten = keys.map(({ id }) => id).filter((id) => !left.includes(id))
    this.log('rows_encrypted', { key: this.db.codec.currentId, rows, forgotten })
  }

  /** Processes all rows. Returns how many were changed; undefined if it was stopped or a row is unreadable. */
  private async pass(): Promise<number | undefined> {
    let changed = 0
    let isWhole = true
    for (const table of this.tables) {
      let last: Row | undefined
      do {
        if (this.isStopped) return undefined
        const rows = await this.db.query(pageAfter(table, last))
        for (const statements of this.changesOf(table, rows, () => {
          isWhole = false
        })) {
          await apply(this.db, statements)
          changed += statements.length
        }
        last = rows.length < ROWS ? undefined : rows.at(-1)
      } while (last)
    }
    return isWhole ? changed : undefined
  }

  /** The statements for rows that do not use the key yet, in batches. */
  private *changesOf(
    table: EncodedTable,
    rows: readonly Row[],
    onUnreadable: () => void,
  ): Generator<Statement[]> {
    let batch: Statement[] = []
    let length = 0
    for (const row of rows) {
      for (const column of table.columns) {
        const stored = row[column]
        if (typeof stored !== 'string' || storedBy(stored) === this.db.codec.currentId) continue
        if (storedBy(stored) === CLEAR && table.keepsClear?.(row[table.id] as string)) continue
        const encoded = this.encodeAgain(stored, table.placeOf(row[table.id] as string, column))
        if (encoded === undefined) onUnreadable()
        else batch.push(replace(table, row, column, encoded))
        length += stored.length
        if (length < BATCH_LENGTH) continue
        yield batch
        batch = []
        length = 0
      }
    }
    if (batch.length > 0) yield batch
  }

  private encodeAgain(stored: string, place: string): string | undefined {
    try {
      const { codec } = this.db
      return codec.encode(codec.decode(stored, place), place)
    } catch (error) {
      if (!(error instanceof UnreadableText)) throw error
      this.log('row_unreadable', { reason: error.message })
      return undefined
    }
  }
}

function pageAfter({ table, primaryKey, columns, id }: EncodedTable, last: Row | undefined): Statement {
  const names = [...new Set([...primaryKey, id, ...columns])].join(', ')
  const key = primaryKey.join(', ')
  const places = primaryKey.map((_, index) => `$${index + 1}`).join(', ')
  return {
    sql: `select ${names} from ${table} ${last ? `where (${key}) > (${places})` : ''} order by ${key} limit ${ROWS}`,
    parameters: last ? keyOf(primaryKey, last) : [],
  }
}

/** Replaces a text unless it has changed since it was read. */
function replace({ table, primaryKey }: EncodedTable, row: Row, column: string, encoded: string): Statement {
  const conditions = primaryKey.map((name, index) => `${name} = $${index + 3}`)
  return {
    sql: `update ${table} set ${column} = $1 where ${column} = $2 and ${conditions.join(' and ')}`,
    parameters: [encoded, row[column] as Value, ...keyOf(primaryKey, row)],
  }
}

function keyOf(primaryKey: readonly string[], row: Row): Value[] {
  return primaryKey.map((name) => row[name] as Value)
}
