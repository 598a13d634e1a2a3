// Reads the ledger of an account page by page, so that a long ledger costs time but no memory: deposits and corrections, merged
// with the charges in booking order; oldest first for exports, newest first for people. A closed month is one entry. It must never
// write.

import { dollars, maybeText, text } from '../../api-operation/schemas'
import { viewOf } from '../../api-operation/view'
import { DatabaseUnavailable, type Db, type Row } from '../../db/db'
import { isoTime } from '../../db/iso-time'
import { formatUsd } from '../../lib/money'
import { closedPart, closedPayments } from '../proofs/closings'
import { usageBy } from '../reports/usage-report'
import {
  DAY_MS,
  HOUR_MS,
  highestPosition,
  markOf,
  positionsBetween,
  totalsOfSeries,
} from '../reports/usage-totals'
import { bookOf } from './balances'

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

/** The period of the movements that are read: from and until, in milliseconds since 1970. Absent: all. */
export interface LedgerPeriod {
  since?: number
  until?: number
}

/**
 * A place in a ledger: it precedes the charges from a position on, and the transfers from a time and an id on. Both have their own
 * order, which does not depend on clocks.
 */
export interface LedgerPlace {
  position: number
  at: number
  id: string
}

/** Number of transfers per read. */
const PAGE = 5_000
/**
 * Number of charge positions per read. A PostgreSQL statement searches the partition of each month, which takes as long as tens of
 * thousands of positions.
 */
const POSITIONS = { sqlite: 5_000, postgres: 50_000 }
/** Positions of other accounts that are read and skipped, because excluding them would take another statement. */
const MIN_GAP = 500
const NEVER = Number.MAX_SAFE_INTEGER
const END: LedgerPlace = { position: NEVER, at: NEVER, id: '' }

/** An entry with the position of its charge; 0 for a transfer. */
type Placed = LedgerEntry & { position: number }
type Movement = Omit<Placed, 'balanceAfterNano'>

/** Positions after the first and up to the second. */
type Positions = readonly [after: number, to: number]

/** Paid charges of an account between two positions that ended in a period. */
const PAID_BETWEEN = `from ended_charges where position > $1 and position <= $2
  and series in (select id from charge_series where account = $3) and amount > 0 and ended_at >= $4 and ended_at < $5`

/** The part of a ledger to read. */
interface Stretch extends Required<LedgerPeriod> {
  before: LedgerPlace
  /** No charge before the place ended at this time or later. */
  chargesUntil: number
  /** How many of the last charges are listed one by one: the others are one movement. Absent: all. */
  most?: number
}

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

/** Movements of an account, page by page, oldest first, with the balance after each. */
export async function* ledgerOf(
  db: Db,
  account: string,
  { since = 0, until = NEVER }: LedgerPeriod = {},
): AsyncGenerator<LedgerEntry[]> {
  const stretch = { since, until, before: END, chargesUntil: until }
  for await (const page of placedLedger(db, account, stretch)) yield page.map(entryOf)
}

function entryOf({ position: _position, ...entry }: Placed): LedgerEntry {
  return entry
}

async function* placedLedger(db: Db, account: string, stretch: Stretch): AsyncGenerator<Placed[]> {
  let balanceAfterNano = await balanceBefore(db, account, stretch.since)
  const withBalance = (movement: Movement): Placed => {
    balanceAfterNano += movement.amountNano
    return { ...movement, balanceAfterNano }
  }
  const transfers = transfersOf(db, account, stretch)
  let waiting = await nextPage(transfers)
  for await (const charges of chargesOf(db, account, stretch)) {
    const page: Placed[] = []
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

/**
 * The last movements of an account before a place, newest first, with the balance after each. `next` is the place of the movements
 * before them; null if there are none. Starts reading at the hour that contains them, according to the totals. Undefined if charges
 * of the place were closed after it was given.
 */
export async function pageOfLedger(
  db: Db,
  account: string,
  { since = 0, until = NEVER }: LedgerPeriod,
  limit: number,
  before: LedgerPlace = END,
): Promise<{ entries: LedgerEntry[]; next: LedgerPlace | null } | undefined> {
  const closed = await closedPart(db)
  if (before.position <= closed.position && !(await isClosing(db, before.position))) return undefined
  const chargesUntil = await endOfCharges(db, account, until, before.position)
  // One additional entry shows whether there are more before.
  const most = limit + 1
  for (let wanted = most; ; wanted *= 4) {
    const hour = await hourWithLast(db, account, { since, until: chargesUntil }, before.position, wanted)
    // Closed months have few entries, fewer than their charges.
    const from = hour < closed.endedBefore ? since : Math.max(since, hour)
    let last: Placed[] = []
    for await (const page of placedLedger(db, account, { since: from, until, before, chargesUntil, most }))
      last = [...last, ...page].slice(-most)
    if (from > since) {
      // Free charges are not entries, so there may be fewer than were counted.
      if (last.length < most) continue
      const first = last.find(({ position }) => position > 0)
      // A charge that ended earlier may have been written after one of these.
      const written = await lastPositionBetween(db, account, since, from)
      if (written >= (first?.position ?? before.position)) continue
    }
    const shown = last.slice(-limit)
    return {
      entries: shown.map(entryOf).reverse(),
      next: last.length > limit ? placeBefore(shown, before) : null,
    }
  }
}

/** The place that precedes some entries, which themselves precede another place. */
function placeBefore(entries: readonly Placed[], { position, at, id }: LedgerPlace): LedgerPlace {
  const charge = entries.find((entry) => entry.position > 0)
  const transfer = entries.find((entry) => entry.position === 0)
  return { position: charge?.position ?? position, at: transfer?.at ?? at, id: transfer?.id ?? id }
}

async function isClosing(db: Db, position: number): Promise<boolean> {
  const sql = 'select 1 as one from closings where position = $1'
  return (await db.query({ sql, parameters: [position] })).length > 0
}

/** A time by which all charges of an account that precede both a position and the end of a period had ended. */
async function endOfCharges(db: Db, account: string, until: number, position: number): Promise<number> {
  // Charges that the totals do not include yet may have ended at any time.
  if (position > (await markOf(db)) + 1) return until
  const [row] = await db.query({
    sql: `select coalesce(max(start), 0) as last
      from ${totalsOfSeries(db.kind, 'account = $1', { span: DAY_MS, from: '0', to: '$2' })} and first_position < $3`,
    parameters: [account, until, position],
  })
  return Math.min((row?.last as number) + DAY_MS, until)
}

/** The highest position of an account's charges that ended between two hours, at least as far back as the first day. */
async function lastPositionBetween(db: Db, account: string, since: number, until: number): Promise<number> {
  const day = until - (until % DAY_MS)
  const mark = await markOf(db)
  const [row] = await db.query({
    sql: `select coalesce(max(last), 0) as last from (
        select max(last_position) as last from ${totalsOfSeries(db.kind, 'account = $1', { span: DAY_MS, from: '$2', to: '$3' })}
        union all
        select max(last_position) from ${totalsOfSeries(db.kind, 'account = $1', { span: HOUR_MS, from: '$3', to: '$4' })}
        union all
        select max(position) from ended_charges where position > $5 and ended_at < $4
          and series in (select id from charge_series where account = $1)) as found`,
    parameters: [account, since - (since % DAY_MS), day, until, mark],
  })
  return row?.last as number
}

/** The latest hour since which an account has a number of paid charges before a position, according to the totals; 0 if it has fewer. */
async function hourWithLast(
  db: Db,
  account: string,
  { since, until }: Required<LedgerPeriod>,
  position: number,
  wanted: number,
): Promise<number> {
  const [row] = await db.query({
    sql: `select max(start) as last from usage_totals where span = ${DAY_MS} and start < $1`,
    parameters: [until],
  })
  if (row?.last == null) return 0
  let counted = 0
  let end = (row.last as number) + DAY_MS
  for (let days = 1; end > since; days *= 2) {
    const begin = end - days * DAY_MS
    const hours = await db.query({
      sql: `select start, cast(sum(requests - released) as bigint) as paid
        from ${totalsOfSeries(db.kind, 'account = $1', { span: HOUR_MS, from: '$2', to: '$3' })} and first_position < $4
        group by start order by start desc`,
      parameters: [account, begin, Math.min(end, until), position],
    })
    for (const { start, paid } of hours) {
      counted += paid as number
      if (counted >= wanted) return start as number
    }
    end = begin
  }
  return 0
}

/** An entry as holders and operators see it. */
export const entryView = viewOf<LedgerEntry>()({
  id: [text, ({ id }) => id],
  at: [text, ({ at }) => isoTime(at)],
  kind: [text, ({ kind }) => kind],
  amount_usd: [dollars, ({ amountNano }) => formatUsd(amountNano)],
  balance_after_usd: [dollars, ({ balanceAfterNano }) => formatUsd(balanceAfterNano)],
  charge: [maybeText, ({ charge }) => charge],
  note: [maybeText, ({ note }) => note],
})

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
  return (row?.booked as number) - (await paidBefore(db, account, at))
}

/** The sum that an account has paid before a time. A closed month counts at its end. */
async function paidBefore(db: Db, account: string, at: number): Promise<number> {
  const closed = await closedPart(db)
  if (at >= closed.endedBefore) {
    const [used] = await usageBy(db, 'account', { since: 0, until: at, account })
    return used?.amountNano ?? 0
  }
  let paidNano = 0
  for (const { amountNano } of await closedPayments(db, account, 0, at)) paidNano += amountNano
  for (const [after, to] of await positionsBetween(db, 0, at)) {
    const [row] = await db.query({
      sql: `select cast(coalesce(sum(amount), 0) as bigint) as paid from ended_charges
        where position > $1 and position <= $2 and ended_at < $3
          and series in (select id from charge_series where account = $4)`,
      parameters: [after, to, at, account],
    })
    paidNano += row?.paid as number
  }
  await requireOpen(db, closed.position)
  return paidNano
}

/** Throws if charges after a position have been closed: some of those read there may be missing. */
async function requireOpen(db: Db, after: number): Promise<void> {
  if ((await closedPart(db)).position <= after) return
  throw new DatabaseUnavailable('charges were closed while they were read: ask again')
}

async function* transfersOf(
  db: Db,
  account: string,
  { since, until, before }: Stretch,
): AsyncGenerator<Movement[]> {
  const book = bookOf(account)
  let [at, id] = [since, '']
  for (;;) {
    const rows = await db.query({
      sql: `select * from transfers where (to_book = $1 or from_book = $1) and at < $2 and (at > $3 or (at = $3 and id > $4))
        and (at < $5 or (at = $5 and id < $6)) order by at, id limit ${PAGE}`,
      parameters: [book, until, at, id, before.at, before.id],
    })
    if (rows.length > 0) yield rows.map((row) => movementOfTransfer(row, book))
    if (rows.length < PAGE) return
    const last = rows.at(-1) as Row
    ;[at, id] = [last.at as number, last.id as string]
  }
}

async function* chargesOf(db: Db, account: string, stretch: Stretch): AsyncGenerator<Movement[]> {
  const { since, until, before, chargesUntil, most } = stretch
  const closed = await closedPart(db)
  const months = await closedPayments(db, account, since, until)
  const earlier = months.filter(({ closing }) => closing.position < before.position)
  if (earlier.length > 0) yield earlier.map(movementOfClosing)
  const mark = await markOf(db)
  const end = await highestPosition(db)
  const last = before.position - 1
  // Charges that the totals do not include yet may have ended at any time.
  const ranges = [...(await rangesOf(db, account, since, chargesUntil, mark)), [mark, end] as const]
    .map(([after, to]): Positions => [Math.max(after, closed.position), Math.min(to, last)])
    .filter(([after, to]) => after < to)
  const { summed, single } = await parted(db, account, stretch, ranges, most)
  if (summed) yield [summed]
  for (const [from, to] of single) {
    for (let after = from; after < to; after += POSITIONS[db.kind]) {
      const rows = await db.query({
        sql: `select position, id, ended_at, amount ${PAID_BETWEEN} order by position`,
        parameters: [after, Math.min(after + POSITIONS[db.kind], to), account, since, until],
      })
      await requireOpen(db, after)
      if (rows.length > 0) yield rows.map(movementOfCharge)
    }
  }
}

/** Splits ranges into those with the last charges, and all earlier ones as one movement, which is never shown. */
async function parted(
  db: Db,
  account: string,
  { since, until }: Stretch,
  ranges: readonly Positions[],
  most: number | undefined,
): Promise<{ summed?: Movement; single: readonly Positions[] }> {
  const first = most === undefined ? 0 : await positionOfLast(db, account, { since, until }, ranges, most)
  if (first === 0) return { single: ranges }
  const summed: Movement = {
    id: '',
    at: 0,
    kind: 'sum',
    amountNano: 0,
    charge: null,
    note: null,
    position: 0,
  }
  for (const [after, to] of ranges) {
    if (after >= first - 1) break
    const [row] = await db.query({
      sql: `select coalesce(max(ended_at), 0) as at, cast(coalesce(sum(amount), 0) as bigint) as paid ${PAID_BETWEEN}`,
      parameters: [after, Math.min(to, first - 1), account, since, until],
    })
    await requireOpen(db, after)
    summed.at = Math.max(summed.at, row?.at as number)
    summed.amountNano -= row?.paid as number
  }
  const single = ranges
    .map(([after, to]): Positions => [Math.max(after, first - 1), to])
    .filter(([after, to]) => after < to)
  return { summed, single }
}

/** The position since which an account has a number of charges in some ranges; 0 if there are fewer. */
async function positionOfLast(
  db: Db,
  account: string,
  { since, until }: Required<LedgerPeriod>,
  ranges: readonly Positions[],
  count: number,
): Promise<number> {
  let left = count
  for (const [after, to] of ranges.toReversed()) {
    for (let end = to; end > after; end -= POSITIONS[db.kind]) {
      const rows = await db.query({
        sql: `select position ${PAID_BETWEEN} order by position desc limit ${left}`,
        parameters: [Math.max(after, end - POSITIONS[db.kind]), end, account, since, until],
      })
      left -= rows.length
      if (left === 0) return rows.at(-1)?.position as number
    }
  }
  return 0
}

/**
 * Ranges of positions, exclusive and inclusive, with all open-month charges of an account that ended in a period. In order, without
 * overlap.
 */
export async function rangesOfCharges(
  db: Db,
  account: string,
  since: number,
  until: number,
): Promise<(readonly [after: number, to: number])[]> {
  const closed = await closedPart(db)
  const mark = await markOf(db)
  const ranges = [
    ...(await rangesOf(db, account, since, until, mark)),
    [mark, await highestPosition(db)] as const,
  ]
  return ranges.map(([after, to]): Positions => [Math.max(after, closed.position), to])
}

/**
 * Ranges of positions, exclusive and inclusive, with the charges of an account that ended in a period, up to the mark. Hours
 * without charges are omitted. In order, without overlap.
 */
async function rangesOf(
  db: Db,
  account: string,
  since: number,
  until: number,
  mark: number,
): Promise<Positions[]> {
  const hours = await db.query({
    sql: `select min(first_position) as first, max(last_position) as last
      from ${totalsOfSeries(db.kind, 'account = $1', { span: HOUR_MS, from: '$2', to: '$3' })}
      group by start order by 1`,
    parameters: [account, since - (since % HOUR_MS), until],
  })
  const ranges: [number, number][] = []
  for (const { first, last } of hours) {
    // Charges that are added meanwhile are read after the mark.
    const [after, to] = [(first as number) - 1, Math.min(last as number, mark)]
    const before = ranges.at(-1)
    if (before && after <= before[1] + MIN_GAP) before[1] = Math.max(before[1], to)
    else if (after < to) ranges.push([after, to])
  }
  return ranges
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
    position: 0,
  }
}

function movementOfClosing({
  closing,
  requests,
  amountNano,
}: Awaited<ReturnType<typeof closedPayments>>[number]): Movement {
  return {
    id: `closing-${closing.month}`,
    at: closing.endedBefore - 1,
    kind: 'closing',
    amountNano: -amountNano,
    charge: null,
    note: `${requests} ${requests === 1 ? 'charge' : 'charges'} up to ${closing.month}, in ${closing.archive}`,
    position: closing.position,
  }
}

function movementOfCharge(row: Row): Movement {
  const id = row.id as string
  const amountNano = -(row.amount as number)
  return {
    id,
    at: row.ended_at as number,
    kind: 'charge',
    amountNano,
    charge: id,
    note: null,
    position: row.position as number,
  }
}
