// Money that went into and out of all accounts, except charges: newest first, page by page, and its sums by kind. It must never
// write.

import { dollars, maybeText, text } from '../../api-operation/schemas'
import { viewOf } from '../../api-operation/view'
import { Conditions } from '../../db/conditions'
import type { Db, Row } from '../../db/db'
import { isoTime } from '../../db/iso-time'
import { formatUsd } from '../../lib/money'
import { bookOf } from './balances'

export const TRANSFER_KINDS = ['payment', 'code', 'credit', 'adjust', 'allowance', 'allowance_end'] as const
export type TransferKind = (typeof TRANSFER_KINDS)[number]

export type ListedTransfer = ReturnType<typeof transferOfRow>

function transferOfRow(row: Row) {
  const isIncoming = row.from_book === 'funding'
  const book = (isIncoming ? row.to_book : row.from_book) as string
  const amountNano = row.amount as number
  return {
    id: row.id as string,
    at: row.at as number,
    account: book.slice(bookOf('').length),
    kind: row.kind as string,
    /** Signed, as the account sees it. */
    amountNano: isIncoming ? amountNano : -amountNano,
    note: row.note as string | null,
  }
}

export interface TransferFilter {
  kind?: TransferKind | undefined
  account?: string | undefined
  since: number
  until?: number | undefined
}

/** Books between which a transfer moves money: each transfer has one of them on one side, and an account on the other. */
const SIDES = ['from_book', 'to_book'] as const
const FUNDING = "'funding'"

/** Transfers of a period, newest first, before one of them. */
export async function listTransfers(
  db: Db,
  filter: TransferFilter,
  { limit, before }: { limit: number; before?: { at: number; id: string } | undefined },
): Promise<ListedTransfer[]> {
  const conditions = new Conditions()
  const sides = SIDES.map((side) => {
    const texts = conditionsOf(filter, side, conditions)
    if (before) {
      const at = conditions.place(before.at)
      texts.push(`(at < ${at} or (at = ${at} and id < ${conditions.place(before.id)}))`)
    }
    return `select * from (select * from transfers where ${texts.join(' and ')}
      order by at desc, id desc limit ${conditions.place(limit)}) as ${side}s`
  })
  const rows = await db.query({
    sql: `${sides.join(' union all ')} order by at desc, id desc limit ${conditions.place(limit)}`,
    parameters: conditions.parameters,
  })
  return rows.map(transferOfRow)
}

/** All transfers of a period, newest first, page by page. */
export async function* transfersByPage(db: Db, filter: TransferFilter): AsyncGenerator<ListedTransfer[]> {
  const limit = 5_000
  let before: ListedTransfer | undefined
  for (;;) {
    const page = await listTransfers(db, filter, { limit, before })
    yield page
    if (page.length < limit) return
    before = page.at(-1)
  }
}

/** How many transfers of each kind a period has, and their signed sum in nano-dollars. */
export async function transferSums(
  db: Db,
  filter: TransferFilter,
): Promise<{ kind: string; count: number; amountNano: bigint }[]> {
  const conditions = new Conditions()
  const sides = SIDES.map((side) => {
    const sign = side === 'from_book' ? '' : '-'
    const texts = conditionsOf(filter, side, conditions)
    return `select kind, ${sign}amount as moved from transfers where ${texts.join(' and ')}`
  })
  const rows = await db.query({
    sql: `select kind, count(*) as transfers, cast(sum(moved) as text) as moved
      from (${sides.join(' union all ')}) as transfers_of_period group by kind order by kind`,
    parameters: conditions.parameters,
  })
  return rows.map((row) => ({
    kind: row.kind as string,
    count: Number(row.transfers),
    amountNano: BigInt(row.moved as string),
  }))
}

function conditionsOf(
  { kind, account, since, until }: TransferFilter,
  side: (typeof SIDES)[number],
  conditions: Conditions,
): string[] {
  const other = side === 'from_book' ? 'to_book' : 'from_book'
  const texts = [`${side} = ${FUNDING}`, `at >= ${conditions.place(since)}`]
  if (until !== undefined) texts.push(`at < ${conditions.place(until)}`)
  if (kind !== undefined) texts.push(`kind = ${conditions.place(kind)}`)
  if (account !== undefined) texts.push(`${other} = ${conditions.place(bookOf(account))}`)
  return texts
}

export const transferView = viewOf<ListedTransfer>()({
  id: [text, ({ id }) => id],
  at: [text, ({ at }) => isoTime(at)],
  account: [text, ({ account }) => account],
  kind: [text, ({ kind }) => kind],
  amount_usd: [dollars, ({ amountNano }) => formatUsd(amountNano)],
  note: [maybeText, ({ note }) => note],
})
