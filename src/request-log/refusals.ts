// Requests that vendors refused for their content, counted by model and field with the vendor's message, so that an unknown rule is
// noticed on its first day. A crash loses a minute at most. Nothing else of a caller may be kept.

import type { Db, Statement } from '../db/db'
import { readableText } from '../db/encryption/codec'
import type { EncodedTable } from '../db/encryption/reencryption'
import type { RequestLogRow, VendorRefusal } from './row'

export interface CountedRefusal extends VendorRefusal {
  count: number
  firstAt: number
  lastAt: number
}

/** Maximum number of stored rows, those of the last refusals. */
const MAX_ROWS = 500
/** Maximum length of a vendor's stored message, in characters. */
const MAX_MESSAGE_LENGTH = 500

/** Counts the refusals of one process. */
export class RefusalKeeper {
  private counted = new Map<string, CountedRefusal>()

  constructor(private readonly db: Db) {}

  /** Counts the refusals of ended requests. Models and fields beyond the maximum wait for the next run. */
  readonly fold = (rows: readonly RequestLogRow[]): void => {
    for (const { refusals, at, durationMs } of rows) {
      for (const refusal of refusals ?? []) this.add(refusal, Math.round(at + durationMs))
    }
  }

  /** Writes the counts. Rejects with DatabaseUnavailable. */
  async store(): Promise<void> {
    if (this.counted.size === 0) return
    const counted = this.counted
    this.counted = new Map()
    const statements = [...counted].map(([id, refusal]) => saveRefusal(this.db, id, refusal))
    await this.db.batch([...statements, forgetOthers]).catch((error) => {
      for (const [id, refusal] of counted) this.put(id, refusal)
      throw error
    })
  }

  private add(refusal: VendorRefusal, at: number): void {
    const { upstream, model, field } = refusal
    const message = refusal.message.slice(0, MAX_MESSAGE_LENGTH)
    this.put(JSON.stringify([upstream, model, field]), {
      ...refusal,
      message,
      count: 1,
      firstAt: at,
      lastAt: at,
    })
  }

  private put(id: string, refusal: CountedRefusal): void {
    const before = this.counted.get(id)
    if (before === undefined && this.counted.size >= MAX_ROWS) return
    this.counted.set(id, {
      ...refusal,
      count: refusal.count + (before?.count ?? 0),
      firstAt: Math.min(refusal.firstAt, before?.firstAt ?? refusal.firstAt),
      lastAt: Math.max(refusal.lastAt, before?.lastAt ?? refusal.lastAt),
    })
  }
}

const placeOf = (id: string, column: string) => `vendor_refusals.${column} ${id}`

export const refusalTexts: EncodedTable = {
  table: 'vendor_refusals',
  primaryKey: ['id'],
  columns: ['message'],
  id: 'id',
  placeOf,
}

function saveRefusal({ codec }: Db, id: string, refusal: CountedRefusal): Statement {
  const { upstream, model, field, status, message, count, firstAt, lastAt } = refusal
  return {
    sql: `insert into vendor_refusals (id, upstream, model, field, status, message, refusals, first_at, last_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
      on conflict (id) do update set refusals = vendor_refusals.refusals + excluded.refusals,
        status = excluded.status, message = excluded.message, last_at = excluded.last_at`,
    parameters: [
      id,
      upstream,
      model,
      field,
      status,
      codec.encode(message, placeOf(id, 'message')),
      count,
      firstAt,
      lastAt,
    ],
  }
}

const forgetOthers: Statement = {
  sql: `delete from vendor_refusals where id not in
    (select id from vendor_refusals order by last_at desc, id limit $1)`,
  parameters: [MAX_ROWS],
}

/** All stored refusals, the last first. */
export async function listRefusals(db: Db): Promise<CountedRefusal[]> {
  const rows = await db.query({
    sql: `select id, upstream, model, field, status, message, refusals, first_at, last_at from vendor_refusals
      order by last_at desc, id`,
  })
  return rows.map((row) => ({
    upstream: row.upstream as string,
    model: row.model as string,
    field: row.field as string,
    status: row.status as number,
    message: readableText(db.codec, row.message as string, placeOf(row.id as string, 'message')) ?? '',
    count: row.refusals as number,
    firstAt: row.first_at as number,
    lastAt: row.last_at as number,
  }))
}
