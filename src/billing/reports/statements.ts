// Statements: the deposits, the usage and the balance of an account per month. Each is made once for a finished month, numbered
// without gaps, and stored with the hash of the previous one. It must never change, or state sums that differ from the ledger.

import { createHash } from 'node:crypto'
import { PERCENT_DECIMALS, type StatementsEntry } from '../../config/statements'
import { type Db, type Row, tryApply } from '../../db/db'
import { isoDay, isoTime } from '../../db/iso-time'
import { isObjects, jsonOfColumn } from '../../db/json-column'
import { GatewayError, notFound } from '../../lib/errors'
import { formatUsd, parseDecimal, parseUsd } from '../../lib/money'
import { asObject } from '../../lib/objects'
import { bookOf } from '../ledger/balances'
import { isSpender, type Usage, usageBy } from './usage-report'

/**
 * How long after its end a month counts as finished, in milliseconds: by then, everything that ended in it is in the books of every
 * node.
 */
const OVER_AFTER_MS = 3_600_000
/** How often the next number is tried while other processes issue statements. */
const TRIES = 100

/** The content of a statement. Amounts are dollars as text. */
export interface StatementContent {
  account: string
  display_name: string | null
  month: string
  /** The first and the last day. */
  from: string
  to: string
  currency: 'USD'
  seller: { name: string; address: string[]; tax_id: string | null; contact: string | null } | null
  logo: string | null
  note: string | null
  /** The final balance of the previous statement; for the first one, the balance at the beginning of the month. */
  opening_usd: string
  /** Movements of earlier months that are on no statement. */
  earlier_usd: string
  /** Deposits and withdrawals other than usage: top-ups, corrections, allowances. */
  transfers: { at: string; kind: string; amount_usd: string; note: string | null }[]
  usage: { model: string; requests: number; amount_usd: string }[]
  /**
   * Usage by spender, the most expensive first; `null` is usage without a spender. Absent without spenders. It contains only ids: a
   * statement never changes, and names are deleted on request.
   */
  spenders?: { spender: string | null; requests: number; amount_usd: string }[]
  /** The sum of `usage`. */
  used_usd: string
  /** The tax included in the usage or added to it; null if none is configured. */
  tax: {
    name: string
    percent: string
    included: boolean
    net_usd: string
    tax_usd: string
    total_usd: string
  } | null
  closing_usd: string
}

export type IssuedStatement = ReturnType<typeof statementOfRow>

function statementOfRow(row: Row) {
  return {
    number: row.number as number,
    account: row.account as string,
    month: row.month as string,
    issuedAt: row.issued_at as number,
    /** Null for an unreadable statement, as after a disk failure. */
    content: contentOfRow(row),
    /** SHA-256 of the number, the hash of the previous statement, and the stored content. */
    hash: row.hash as string,
  }
}

/** A statement that can be shown. */
export type ReadableStatement = IssuedStatement & { content: StatementContent }

function contentOfRow({ content }: Row): StatementContent | null {
  return jsonOfColumn<StatementContent | null>(content, null, (parsed) => {
    const { opening_usd, earlier_usd, used_usd, closing_usd, transfers, usage } = asObject(parsed)
    const sums = [opening_usd, earlier_usd, used_usd, closing_usd]
    return sums.every((usd) => typeof usd === 'string') && isObjects(transfers) && isObjects(usage)
  })
}

/** The beginning and the end of a month such as `2026-10`, in milliseconds since 1970; undefined for any other text. */
export function monthOf(text: string): { since: number; until: number } | undefined {
  const [, year, month] = /^(20\d\d)-(0[1-9]|1[0-2])$/.exec(text) ?? []
  if (year === undefined) return undefined
  return { since: Date.UTC(Number(year), Number(month) - 1), until: Date.UTC(Number(year), Number(month)) }
}

/** Whether statements of a month may be issued: it is over, and everything that was ending with it is booked. */
export function isOver({ until }: { until: number }, now: number): boolean {
  return now >= until + OVER_AFTER_MS
}

/** Statements of a finished month, for accounts that had a movement or a balance, except those that already have one. */
export async function draftStatements(
  db: Db,
  month: string,
  { statements = {} }: { statements?: StatementsEntry | undefined },
  only?: string,
): Promise<StatementContent[]> {
  const period = monthOf(month)
  if (!period) throw new RangeError(`not a month: ${month}`)
  const within = { ...period, ...(only !== undefined && { account: only }) }
  const [before, transfers, used, spent, details, issued] = await Promise.all([
    balancesBefore(db, period.since, only),
    transfersWithin(db, period, only),
    usageBy(db, 'account', within, 'model'),
    usageBy(db, 'account', within, 'spender'),
    db.query({ sql: 'select name, display_name from account_details where display_name is not null' }),
    db.query({
      sql: `select account, month, content from statements where month <= $1 and (account = $2 or cast($2 as text) is null)
        order by month`,
      parameters: [month, only ?? null],
    }),
  ])
  const names = new Map(details.map((row) => [row.name as string, row.display_name as string]))
  const last = new Map(issued.map((row) => [row.account as string, row]))
  const usage = Map.groupBy(used, ({ name }) => name)
  const bySpender = Map.groupBy(spent, ({ name }) => name)
  const accounts = new Set([...before.keys(), ...transfers.keys(), ...usage.keys()])
  return [...accounts].sort().flatMap((account) => {
    const previous = last.get(account)
    if (previous?.month === month) return []
    const openingNano = before.get(account) ?? 0
    const lines = linesOf(usage.get(account)).map(({ name, ...line }) => ({ model: name, ...line }))
    const moved = transfers.get(account) ?? []
    if (openingNano === 0 && lines.length === 0 && moved.length === 0) return []
    const known = previous && contentOfRow(previous)
    const content = contentOf({
      account,
      displayName: names.get(account) ?? null,
      month,
      ...period,
      openingNano,
      previousNano: known ? (parseUsd(known.closing_usd) as number) : openingNano,
      transfers: moved,
      lines,
      entry: statements,
    })
    const spenders = spendersOf(linesOf(bySpender.get(account)))
    return [spenders ? { ...content, spenders } : content]
  })
}

interface Line {
  name: string
  requests: number
  amountNano: number
}

/** Paid usage by its second dimension. */
function linesOf(usage: readonly Usage[] = []): Line[] {
  return usage
    .filter(({ amountNano }) => amountNano > 0)
    .map(({ second = '', requests, running, released, amountNano }) => ({
      name: second,
      requests: requests - running - released,
      amountNano,
    }))
}

/** Usage by spender as statements show it; undefined if no spender was named. */
function spendersOf(lines: readonly Line[]): StatementContent['spenders'] {
  const named = lines.filter(({ name }) => isSpender(name))
  if (named.length === 0) return undefined
  const rest = lines.filter(({ name }) => !isSpender(name))
  const sumOf = (some: readonly Line[]) => ({
    requests: some.reduce((sum, { requests }) => sum + requests, 0),
    amount_usd: formatUsd(some.reduce((sum, { amountNano }) => sum + amountNano, 0)),
  })
  return [
    ...named.map((line) => ({ spender: line.name, ...sumOf([line]) })),
    ...(rest.length > 0 ? [{ spender: null, ...sumOf(rest) }] : []),
  ]
}

interface Figures {
  account: string
  displayName: string | null
  month: string
  since: number
  until: number
  /** The balance at the beginning of the month according to the ledger, and according to the previous statement. */
  openingNano: number
  previousNano: number
  transfers: readonly Transfer[]
  lines: readonly { model: string; requests: number; amountNano: number }[]
  entry: StatementsEntry
}

function contentOf({ account, displayName, month, since, until, ...figures }: Figures): StatementContent {
  const { openingNano, previousNano, transfers, lines, entry } = figures
  const usedNano = lines.reduce((sum, { amountNano }) => sum + amountNano, 0)
  const movedNano = transfers.reduce((sum, { amountNano }) => sum + amountNano, 0)
  const { seller, logo = null, note = null } = entry
  return {
    account,
    display_name: displayName,
    month,
    from: isoDay(since),
    to: isoDay(until - 1),
    currency: 'USD',
    seller: seller
      ? {
          name: seller.name,
          address: seller.address ?? [],
          tax_id: seller.taxId ?? null,
          contact: seller.contact ?? null,
        }
      : null,
    logo,
    note,
    opening_usd: formatUsd(previousNano),
    earlier_usd: formatUsd(openingNano - previousNano),
    transfers: transfers.map(({ at, kind, amountNano, note: noted }) => ({
      at: isoTime(at) as string,
      kind,
      amount_usd: formatUsd(amountNano),
      note: noted,
    })),
    usage: lines.map(({ model, requests, amountNano }) => ({
      model,
      requests,
      amount_usd: formatUsd(amountNano),
    })),
    used_usd: formatUsd(usedNano),
    tax: entry.tax ? taxOf(usedNano, entry.tax) : null,
    closing_usd: formatUsd(openingNano + movedNano - usedNano),
  }
}

/** The tax included in an amount, or added to it, rounded to the nearest nano-dollar; the rest is net, so that both sum to the amount. */
export function taxOf(
  amountNano: number,
  { name, percent, included = true }: NonNullable<StatementsEntry['tax']>,
): StatementContent['tax'] {
  const rate = parseDecimal(percent, PERCENT_DECIMALS) as bigint
  const whole = 100n * 10n ** BigInt(PERCENT_DECIMALS)
  const divisor = included ? whole + rate : whole
  const tax = (2n * BigInt(amountNano) * rate + divisor) / (2n * divisor)
  const net = included ? BigInt(amountNano) - tax : BigInt(amountNano)
  return {
    name,
    percent,
    included,
    net_usd: formatUsd(net),
    tax_usd: formatUsd(tax),
    total_usd: formatUsd(net + tax),
  }
}

/** The balances of accounts by the ledger before a time, except zero balances. */
async function balancesBefore(db: Db, at: number, only: string | undefined): Promise<Map<string, number>> {
  const rows = await db.query({
    sql: `select book, cast(sum(amount) as bigint) as booked from (
        select to_book as book, amount from transfers where at < $1
        union all select from_book, -amount from transfers where at < $1) as legs
      where book like 'account:%' and (book = $2 or cast($2 as text) is null) group by book`,
    parameters: [at, only === undefined ? null : bookOf(only)],
  })
  const balances = new Map(
    rows.map((row) => [(row.book as string).slice(bookOf('').length), row.booked as number]),
  )
  const used = await usageBy(db, 'account', {
    since: 0,
    until: at,
    ...(only !== undefined && { account: only }),
  })
  for (const { name, amountNano } of used) balances.set(name, (balances.get(name) ?? 0) - amountNano)
  return new Map([...balances].filter(([, nano]) => nano !== 0))
}

interface Transfer {
  at: number
  kind: string
  amountNano: number
  note: string | null
}

async function transfersWithin(
  db: Db,
  { since, until }: { since: number; until: number },
  only: string | undefined,
): Promise<Map<string, Transfer[]>> {
  const rows = await db.query({
    sql: `select at, kind, from_book, to_book, amount, note from transfers where at >= $1 and at < $2
      and (from_book = $3 or to_book = $3 or cast($3 as text) is null) order by at, id`,
    parameters: [since, until, only === undefined ? null : bookOf(only)],
  })
  const transfers = new Map<string, Transfer[]>()
  for (const row of rows) {
    const isIn = row.from_book === 'funding'
    const account = String(isIn ? row.to_book : row.from_book).slice(bookOf('').length)
    const amountNano = (isIn ? 1 : -1) * (row.amount as number)
    const list = transfers.get(account) ?? []
    list.push({ at: row.at as number, kind: row.kind as string, amountNano, note: row.note as string | null })
    transfers.set(account, list)
  }
  return transfers
}

/** Stores a statement with the next number. Undefined if the account already has one of this month. */
export async function issueStatement(
  db: Db,
  content: StatementContent,
  now: number,
): Promise<ReadableStatement | undefined> {
  const { account, month } = content
  const text = JSON.stringify(content)
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const [last] = await db.query({ sql: 'select number, hash from statements order by number desc limit 1' })
    const number = ((last?.number ?? 0) as number) + 1
    const hash = hashOf(number, (last?.hash ?? '') as string, text)
    const isStored = await tryApply(db, [
      {
        sql: `insert into statements (number, account, month, issued_at, content, hash) values ($1, $2, $3, $4, $5, $6)
          on conflict do nothing`,
        parameters: [number, account, month, now, text, hash],
        guard: true,
      },
    ])
    if (isStored) return { number, account, month, issuedAt: now, content, hash }
    if (await findStatement(db, { account, month })) return undefined
  }
  throw new Error(`no number of a statement was free after ${TRIES} tries`)
}

function hashOf(number: number, before: string, content: string): string {
  return createHash('sha256').update(`${number}\n${before}\n${content}`).digest('hex')
}

/** Statements by number, after one of them; optionally the newest first. */
export async function listStatements(
  db: Db,
  filter: {
    account?: string | undefined
    month?: string | undefined
    isNewestFirst?: boolean
    after?: number | undefined
    limit: number
  },
): Promise<IssuedStatement[]> {
  const { account = null, month = null, isNewestFirst = false, limit } = filter
  const { after = isNewestFirst ? Number.MAX_SAFE_INTEGER : 0 } = filter
  const [beyond, order] = isNewestFirst ? ['<', 'desc'] : ['>', 'asc']
  const rows = await db.query({
    sql: `select * from statements where number ${beyond} $1 and (account = $2 or cast($2 as text) is null)
      and (month = $3 or cast($3 as text) is null) order by number ${order} limit $4`,
    parameters: [after, account, month, limit],
  })
  return rows.map(statementOfRow)
}

export async function findStatement(
  db: Db,
  by: { number: number } | { account: string; month: string },
): Promise<IssuedStatement | undefined> {
  const [row] = await db.query(
    'number' in by
      ? { sql: 'select * from statements where number = $1', parameters: [by.number] }
      : {
          sql: 'select * from statements where account = $1 and month = $2',
          parameters: [by.account, by.month],
        },
  )
  return row && statementOfRow(row)
}

const NUMBER = /^[1-9]\d{0,14}$/

/**
 * A statement by the text of its number. Rejects with 404 if it does not exist, or belongs to another account than the named one,
 * and with 500 if it is unreadable.
 */
export async function requireStatement(db: Db, text: string, account?: string): Promise<ReadableStatement> {
  const found = NUMBER.test(text) ? await findStatement(db, { number: Number(text) }) : undefined
  if (!found || (account !== undefined && found.account !== account)) throw notFound('statement', text)
  const { content, ...statement } = found
  if (content) return { ...statement, content }
  throw new GatewayError(500, {
    code: 'statement_unreadable',
    message: `Statement ${text} cannot be read: its row is damaged. A repeat does not help; restore the row from a backup.`,
  })
}

/** Number of statements per check. */
const PAGE = 1_000

/** One sentence for each statement that is missing, was changed, or states sums that differ from the ledger. */
export async function faultsOfStatements(db: Db): Promise<{ checked: number; faults: string[] }> {
  const faults: string[] = []
  const balances = new Map<string, Promise<Map<string, number>>>()
  let before = { number: 0, hash: '' }
  for (;;) {
    const rows = await db.query({
      sql: `select * from statements where number > $1 order by number limit ${PAGE}`,
      parameters: [before.number],
    })
    for (const row of rows) {
      const { number, hash, content, month, account } = statementOfRow(row)
      if (number !== before.number + 1) faults.push(`statement ${before.number + 1} is missing`)
      if (hash !== hashOf(number, before.hash, row.content as string))
        faults.push(`statement ${number} is not as it was issued`)
      before = { number, hash }
      if (!content) continue
      const { until } = monthOf(month) as { until: number }
      if (!balances.has(month)) balances.set(month, balancesBefore(db, until, undefined))
      const closing = (await balances.get(month))?.get(account) ?? 0
      const sums = sumOf(content)
      if (sums !== parseUsd(content.closing_usd)) faults.push(`statement ${number} does not add up`)
      else if (sums !== closing)
        faults.push(
          `statement ${number} of ${account} for ${month} ends with $${content.closing_usd}, its ledger with $${formatUsd(closing)}: the next one has the difference as earlier movements`,
        )
    }
    if (rows.length < PAGE) return { checked: before.number, faults }
  }
}

function sumOf({ opening_usd, earlier_usd, transfers, usage }: StatementContent): number {
  const nano = (usd: string) => parseUsd(usd) as number
  return (
    nano(opening_usd) +
    nano(earlier_usd) +
    transfers.reduce((sum, { amount_usd }) => sum + nano(amount_usd), 0) -
    usage.reduce((sum, { amount_usd }) => sum + nano(amount_usd), 0)
  )
}
