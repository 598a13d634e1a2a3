// Closed charges: a month whose charges were moved to an archive stays in the books as sums, one entry per series.
// Closed charges extend from the first charge to a position. It must never write.

import { createHash } from 'node:crypto'
import type { Db, Row } from '../../db/db'
import { FIGURES } from '../reports/usage-figures'

/** Charges that were closed together, as stored in the books. */
export type Closing = ReturnType<typeof closingOfRow>

function closingOfRow(row: Row) {
  return {
    /** The position of the last charge in it. It begins after the last position of the previous closing. */
    position: row.position as number,
    /** The month in UTC, such as `2026-10`, with late charges of earlier months. */
    month: row.month as string,
    /** The end of the month, in milliseconds since 1970: all its charges ended before this time. */
    endedBefore: row.ended_before as number,
    at: row.at as number,
    charges: row.charges as number,
    /** Hash of the rows as they were in the database. */
    hash: row.hash as string,
    entriesHash: row.entries_hash as string,
    /** The name of the archive with the charges. */
    archive: row.archive as string,
    archiveBytes: row.archive_bytes as number,
    signature: row.signature as string,
  }
}

/** Sums of the closed charges of one series, by the names of the columns. */
export type ClosingFigures = Record<(typeof FIGURES)[number], number>

/** How far charges are closed: up to a position, and a time before which all of them ended. Zeros if none are closed. */
export interface ClosedPart {
  position: number
  endedBefore: number
}

export async function closedPart(db: Db): Promise<ClosedPart> {
  const [row] = await db.query({
    sql: 'select coalesce(max(position), 0) as position, coalesce(max(ended_before), 0) as until from closings',
  })
  return { position: row?.position as number, endedBefore: row?.until as number }
}

/** All closings, oldest first. */
export async function closingsOf(db: Db): Promise<Closing[]> {
  return (await db.query({ sql: 'select * from closings order by position' })).map(closingOfRow)
}

/** The closing that contains the charges of a time; undefined if they are not closed. */
export async function closingAt(db: Db, at: number): Promise<Closing | undefined> {
  return (await closingsOf(db)).find(({ endedBefore }) => at < endedBefore)
}

/** An entry in the form that is hashed and compared: the owner of the charges, and their sums. */
export type ClosingEntry = [
  series: number,
  account: string,
  keyId: string,
  model: string,
  operation: string,
  ...figures: number[],
]

/** The hash of the entries of a closing, in the order of their series. */
export function hashOfEntries(entries: readonly ClosingEntry[]): string {
  const hash = createHash('sha256')
  for (const entry of entries.toSorted(([one], [other]) => one - other)) hash.update(JSON.stringify(entry))
  return hash.digest('hex')
}

/** The entries of a closing, in the order of their series. */
export async function entriesOf(db: Db, { position }: Pick<Closing, 'position'>): Promise<ClosingEntry[]> {
  const rows = await db.query({
    sql: `select series, account, key_id, model, operation, ${FIGURES.join(', ')}
      from closing_entries left join charge_series on charge_series.id = series where closing = $1 order by series`,
    parameters: [position],
  })
  return rows.map((row) => Object.values(row) as ClosingEntry)
}

/** Sums of all closed charges, per account and in total. Amounts as decimal texts. */
export async function closedSums(
  db: Db,
): Promise<{ charges: number; paid: Record<string, string>; shortfall: string }> {
  const rows = await db.query({
    sql: `select account, cast(sum(requests) as bigint) as charges, cast(sum(amount) as text) as paid,
        cast(sum(shortfall) as text) as shortfall
      from closing_entries left join charge_series on charge_series.id = series group by account`,
  })
  return {
    charges: rows.reduce((sum, { charges }) => sum + (charges as number), 0),
    paid: Object.fromEntries(rows.map(({ account, paid }) => [String(account), paid as string])),
    shortfall: String(rows.reduce((sum, { shortfall }) => sum + BigInt(shortfall as string), 0n)),
  }
}

/** Payments and shortfalls per closing, by its position. */
export async function closedTotals(
  db: Db,
): Promise<Map<number, { amountNano: number; shortfallNano: number }>> {
  const rows = await db.query({
    sql: `select closing, cast(sum(amount) as bigint) as amount, cast(sum(shortfall) as bigint) as shortfall
      from closing_entries group by closing`,
  })
  return new Map(
    rows.map((row) => [
      row.closing as number,
      { amountNano: row.amount as number, shortfallNano: row.shortfall as number },
    ]),
  )
}

/** Payments of an account in closed months that ended in a period, oldest first. Months without a payment are omitted. */
export async function closedPayments(
  db: Db,
  account: string,
  since: number,
  until: number,
): Promise<
  {
    closing: Pick<Closing, 'month' | 'endedBefore' | 'archive' | 'position'>
    requests: number
    amountNano: number
  }[]
> {
  const rows = await db.query({
    sql: `select position, month, ended_before, archive, cast(sum(requests) as bigint) as requests,
        cast(sum(amount) as bigint) as amount
      from closings join closing_entries on closing = position
      where ended_before > $1 and ended_before <= $2 and series in (select id from charge_series where account = $3)
      group by position, month, ended_before, archive having sum(amount) > 0 order by position`,
    parameters: [since, until, account],
  })
  return rows.map((row: Row) => ({
    closing: {
      position: row.position as number,
      month: row.month as string,
      endedBefore: row.ended_before as number,
      archive: row.archive as string,
    },
    requests: row.requests as number,
    amountNano: row.amount as number,
  }))
}
