// The ledger of an account, page by page, so that its length costs time and no memory: deposits and corrections, merged
// with the charges in the order in which the books took them. It must never write.

import type { Db, Row } from '../db/db'
import { isoTime } from '../db/iso-time'
import { formatUsd } from '../lib/money'
import { bookOf } from './balances'
import { usageBy } from './usage-report'
import { positionsBetween } from './usage-totals'

export interface LedgerEntry {
  id: string
  at: number
  kind: string
  /** Signed, as the account sees it. */
  amountNano: number
  balanceAfterNano: number
  charge: string | null
  note: string | null
}

/** A time from which on and before which movements are read, in milliseconds since 1970. Absent: all. */
export interface LedgerPeriod {
  since?: number
  until?: number
}

/** Positions of charges, and transfers, that are read at once. */
const PAGE = 5_000
const NEVER = Number.MAX_SAFE_INTEGER

type Movement = Omit<LedgerEntry, 'balanceAfterNano'>

/** A credit or a correction by its id. */
export async function findTransfer(
  db: Db,
  id: string,
): Promise<(Omit<LedgerEntry, 'balanceAfterNano'> & { account: string }) | undefined> {
  const [row] = await db.query({ sql: 'select * from transfers where id = $1', parameters: [id] })
  if (!row) return undefined
  const book = (row.from_book === 'funding' ? row.to_book : row.from_book) as string
  return { account: book.slice(bookOf('').length), ...movementOfTransfer(row, book) }
}

/** Pages of the movements of an account, oldest first, with the balance after each. */
export async function* ledgerOf(
  db: Db,
  account: string,
  period: LedgerPeriod = {},
): AsyncGenerator<LedgerEntry[]> {
  const { since = 0, until = NEVER } = period
  let balanceAfterNano = await balanceBefore(db, account, since)
  const withBalance = (movement: Movement): LedgerEntry => {
    balanceAfterNano += movement.amountNano
    return { ...movement, balanceAfterNano }
  }
  const transfers = transfersOf(db, account, since, until)
  let waiting = await nextPage(transfers)
  for await (const charges of chargesOf(db, account, since, until)) {
    const page: LedgerEntry[] = []
    for (const charge of charges) {
      while (waiting[0] && waiting[0].at <= charge.at) {
        page.push(withBalance(waiting.shift() as Movement))
        if (waiting.length === 0) waiting = await nextPage(transfers)
      }
      page.push(withBalance(charge))
    }
    if (page.length > 0) yield page
  }
  for (; waiting.length > 0; waiting = await nextPage(transfers)) yield waiting.map(withBalance)
}

/** The last movements of an account, oldest first. */
export async function endOfLedger(
  db: Db,
  account: string,
  period: LedgerPeriod,
  limit: number,
): Promise<LedgerEntry[]> {
  let last: LedgerEntry[] = []
  for await (const page of ledgerOf(db, account, period)) last = [...last, ...page].slice(-limit)
  return last
}

/** An entry with its time in ISO and its amounts in dollars, as text. */
export function entryJson(entry: LedgerEntry) {
  return {
    id: entry.id,
    at: isoTime(entry.at),
    kind: entry.kind,
    amount_usd: formatUsd(entry.amountNano),
    balance_after_usd: formatUsd(entry.balanceAfterNano),
    charge: entry.charge,
    note: entry.note,
  }
}

async function nextPage(pages: AsyncGenerator<Movement[]>): Promise<Movement[]> {
  const { value, done } = await pages.next()
  return done ? [] : value
}

/** The balance of an account before a time. */
async function balanceBefore(db: Db, account: string, at: number): Promise<number> {
  if (at <= 0) return 0
  const [row] = await db.query({
    sql: `select cast(coalesce(sum(case when to_book = $1 then amount else -amount end), 0) as bigint) as booked
      from transfers where (to_book = $1 or from_book = $1) and at < $2`,
    parameters: [bookOf(account), at],
  })
  const used = await usageBy(db, 'account', { since: 0, until: at })
  return (row?.booked as number) - (used.find(({ name }) => name === account)?.amountNano ?? 0)
}

async function* transfersOf(
  db: Db,
  account: string,
  since: number,
  until: number,
): AsyncGenerator<Movement[]> {
  const book = bookOf(account)
  let [at, id] = [since, '']
  for (;;) {
    const rows = await db.query({
      sql: `select * from transfers where (to_book = $1 or from_book = $1) and at < $2 and (at > $3 or (at = $3 and id > $4))
        order by at, id limit ${PAGE}`,
      parameters: [book, until, at, id],
    })
    if (rows.length > 0) yield rows.map((row) => movementOfTransfer(row, book))
    if (rows.length < PAGE) return
    const last = rows.at(-1) as Row
    ;[at, id] = [last.at as number, last.id as string]
  }
}

async function* chargesOf(db: Db, account: string, since: number, until: number): AsyncGenerator<Movement[]> {
  for (const [from, to] of await positionsBetween(db, since, until)) {
    for (let after = from; after < to; after += PAGE) {
      const rows = await db.query({
        sql: `select id, ended_at, amount from ended_charges where position > $1 and position <= $2
          and series in (select id from charge_series where account = $3)
          and amount > 0 and ended_at >= $4 and ended_at < $5 order by position`,
        parameters: [after, Math.min(after + PAGE, to), account, since, until],
      })
      if (rows.length > 0) yield rows.map(movementOfCharge)
    }
  }
}

function movementOfTransfer(row: Row, book: string): Movement {
  const amount = row.amount as number
  return {
    id: row.id as string,
    at: row.at as number,
    kind: row.kind as string,
    amountNano: row.to_book === book ? amount : -amount,
    charge: null,
    note: row.note as string | null,
  }
}

function movementOfCharge(row: Row): Movement {
  const id = row.id as string
  const amountNano = -(row.amount as number)
  return { id, at: row.ended_at as number, kind: 'charge', amountNano, charge: id, note: null }
}
