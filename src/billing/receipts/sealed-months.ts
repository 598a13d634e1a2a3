// Sealed months of accounts: a signed hash over the receipts of all charges of a month, with which the holder of a key can check a
// statement without seeing the charges of others (docs/receipts.md). A seal is written once, and must never cover a period that is
// not over.

import { createHash, type KeyObject } from 'node:crypto'
import type { Quantities } from '../../contract/units'
import { apply, type Db, type Row } from '../../db/db'
import { isoTime } from '../../db/iso-time'
import { formatUsd } from '../../lib/money'
import type { System } from '../../lib/system'
import { rangesOfCharges } from '../ledger/account-ledger'
import { closedPart } from '../proofs/closings'
import { isOver, monthOf } from '../reports/statements'
import { usageBy } from '../reports/usage-report'
import { positionsBetween } from '../reports/usage-totals'
import { isSignedBy, readJws, type SigningKey } from './jws'
import { receiptKeysOf } from './receipt-keys'
import { receiptText } from './receipts'

export const MONTH_TYPE = 'gateway-month'
const VERSION = 1
/** Number of charges per read: a few milliseconds during which other work waits. */
const PAGE = 500
/** Number of positions per read, for one account among others. */
const POSITIONS = 5_000

/** A charge in a sealed month. */
export interface SealedLine {
  position: number
  keyId: string
  /** The text of its receipt. */
  text: string
  amountNano: number
}

export interface SealedMonth {
  account: string
  month: string
  /** The last position that the seal of the month covers. */
  position: number
  /** The signed text. */
  seal: string
}

/** Running hash and sums of the charges of an account. */
class Chain {
  charges = 0
  amountNano = 0n
  head: string

  constructor(
    private readonly account: string,
    private readonly month: string,
  ) {
    this.head = sha256(`${MONTH_TYPE} ${VERSION}\n${account}\n${month}`)
  }

  add({ text, amountNano }: SealedLine): void {
    this.head = sha256(`${this.head}\n${sha256(text)}\n${formatUsd(amountNano)}`)
    this.charges++
    this.amountNano += BigInt(amountNano)
  }

  sealed(key: SigningKey, now: number): string {
    return key.sign(MONTH_TYPE, JSON.stringify({ ...this.claims(), sealed_at: isoTime(now) }))
  }

  /** The members of a seal that are derived from the charges. */
  claims() {
    const { account, month, charges, amountNano, head } = this
    return { version: VERSION, account, month, charges, amount_usd: formatUsd(amountNano), head }
  }
}

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

interface SealWorld extends Pick<System, 'now' | 'after'> {
  db: Db
  readonly config: { receipts?: boolean }
  receiptKeys: { current(): SigningKey | Promise<SigningKey> }
}

/** Seals the last month once it is over. */
export class MonthSeals {
  /** The month that was found sealed, so that it is not checked again. */
  private done = ''

  constructor(private readonly world: SealWorld) {}

  async beat(): Promise<void> {
    const { world } = this
    const date = new Date(world.now())
    const month = new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - 1)).toISOString().slice(0, 7)
    const period = monthOf(month)
    if (!world.config.receipts || month === this.done || !period || !isOver(period, world.now())) return
    await sealMonth(world, month, period)
    this.done = month
  }
}

/** Seals a month for each account that had a request in it and has no seal. Returns the number of new seals. */
async function sealMonth(
  { db, now, after, receiptKeys }: SealWorld,
  month: string,
  { since, until }: { since: number; until: number },
): Promise<number> {
  const rows = await db.query({
    sql: 'select account from sealed_months where month = $1',
    parameters: [month],
  })
  const sealed = new Set(rows.map(({ account }) => account))
  const used = await usageBy(db, 'account', { since, until })
  const chains = new Map(
    used.filter(({ name }) => !sealed.has(name)).map(({ name }) => [name, new Chain(name, month)]),
  )
  if (chains.size === 0) return 0
  const ranges = await positionsBetween(db, since, until)
  for await (const page of pagesOf(db, ranges, { since, until })) {
    for (const line of page) chains.get(line.account)?.add(line)
    // Lets other requests run.
    await new Promise<void>((resolve) => after(1, resolve))
  }
  const position = Math.max(...ranges.map(([, last]) => last))
  const key = await receiptKeys.current()
  for (const [account, chain] of chains)
    await apply(db, [
      {
        sql: `insert into sealed_months (account, month, position, seal, sealed_at) values ($1, $2, $3, $4, $5)
          on conflict (account, month) do nothing`,
        parameters: [account, month, position, chain.sealed(key, now()), now()],
      },
    ])
  return chains.size
}

/** All charges of a period, in the order of their positions, as pages. */
async function* pagesOf(
  db: Db,
  ranges: readonly (readonly [after: number, to: number])[],
  period: { since: number; until: number },
) {
  for (const [first, last] of ranges)
    for (let from = first; from < last; from += PAGE)
      yield await readLines(db, { after: from, to: Math.min(from + PAGE, last), ...period })
}

/**
 * A sentence for each seal since a time that differs from the one this gateway signed. If `since` is null, all seals are checked,
 * and also compared with their charges; charges in an archive are omitted.
 */
export async function faultsOfSeals(db: Db, since: number | null): Promise<string[]> {
  const rows = await db.query({
    sql: 'select account, month, position, seal from sealed_months where sealed_at >= $1 order by month, account',
    parameters: [since ?? 0],
  })
  const keys = await receiptKeysOf(db)
  const faults: string[] = []
  for (const [month, seals] of Map.groupBy(rows, (row) => row.month as string)) {
    const chains = since === null ? await chainsOf(db, month, seals) : undefined
    for (const { account, seal } of seals) {
      const fault = faultOf(seal as string, { account, month }, chains?.get(account as string), keys)
      if (fault !== undefined) faults.push(`the seal of ${account} for ${month}: ${fault}`)
    }
  }
  return faults
}

function faultOf(
  seal: string,
  of: Record<string, unknown>,
  chain: Chain | undefined,
  keys: ReadonlyMap<string, KeyObject>,
): string | undefined {
  const read = readJws(seal)
  const key = read?.type === MONTH_TYPE ? keys.get(read.kid) : undefined
  if (!read || !key || !isSignedBy(seal, key)) return 'this gateway has not signed it'
  const claims = JSON.parse(read.payload) as Record<string, unknown>
  const differs = (expected: Record<string, unknown>) =>
    Object.entries(expected).some(([name, value]) => claims[name] !== value)
  if (differs(of)) return `it was signed for ${claims.account} and ${claims.month}`
  if (!chain || !differs(chain.claims())) return undefined
  return `it says ${claims.charges} charges of $${claims.amount_usd}, and the ledger has others: ${chain.charges} of $${formatUsd(chain.amountNano)}`
}

/** The charges of accounts in a month, up to the position of each seal; undefined once they are in an archive. */
async function chainsOf(
  db: Db,
  month: string,
  seals: readonly Row[],
): Promise<Map<string, Chain> | undefined> {
  const period = monthOf(month)
  if (!period || (await closedPart(db)).endedBefore > period.since) return undefined
  const positions = new Map(seals.map(({ account, position }) => [account as string, position as number]))
  const chains = new Map([...positions.keys()].map((account) => [account, new Chain(account, month)]))
  const ranges = await positionsBetween(db, period.since, period.until)
  for await (const page of pagesOf(db, ranges, period))
    for (const line of page)
      if (line.position <= (positions.get(line.account) ?? 0)) chains.get(line.account)?.add(line)
  return chains
}

export async function findSealedMonth(
  db: Db,
  account: string,
  month: string,
): Promise<SealedMonth | undefined> {
  const [row] = await db.query({
    sql: 'select position, seal from sealed_months where account = $1 and month = $2',
    parameters: [account, month],
  })
  return row && { account, month, position: row.position as number, seal: row.seal as string }
}

/** The next charges of a sealed month after a position, up to a limit. */
export async function linesOfMonth(
  db: Db,
  { account, month, position }: SealedMonth,
  after: number,
  limit: number,
): Promise<SealedLine[]> {
  const period = monthOf(month)
  if (!period) throw new RangeError(`not a month: ${month}`)
  const lines: SealedLine[] = []
  for (const [first, last] of await rangesOfCharges(db, account, period.since, period.until)) {
    const end = Math.min(last, position)
    for (let from = Math.max(first, after); from < end; from += POSITIONS) {
      const to = Math.min(from + POSITIONS, end)
      lines.push(
        ...(await readLines(db, { after: from, to, ...period, account, limit: limit - lines.length })),
      )
      if (lines.length >= limit) return lines
    }
  }
  return lines
}

interface Stretch {
  after: number
  to: number
  since: number
  until: number
  account?: string
  limit?: number
}

async function readLines(
  db: Db,
  { after, to, since, until, account, limit = PAGE }: Stretch,
): Promise<(SealedLine & { account: string })[]> {
  const rows = await db.query({
    sql: `select h.*, q.quantities from charge_history h
        left join charge_quantities q on q.request = replace(h.id, ':late', '')
      where h.position > $1 and h.position <= $2 and h.ended_at >= $3 and h.ended_at < $4
        and (h.account = $5 or cast($5 as text) is null) order by h.position limit $6`,
    parameters: [after, to, since, until, account ?? null, limit],
  })
  return rows.map(lineOfRow)
}

function lineOfRow(row: Row): SealedLine & { account: string } {
  const account = row.account as string
  const amountNano = row.amount as number
  const isPaid = row.state === 'settled' && row.quantities !== null
  const text = receiptText({
    id: row.id as string,
    account,
    keyId: row.key_id as string,
    model: row.model as string,
    operation: row.operation as string,
    state: row.state as string,
    endedBy: row.ended_by as string | null,
    quantities: isPaid ? (JSON.parse(row.quantities as string) as Quantities) : null,
    usageSource: row.usage_source as string | null,
    pricesJson: row.prices as string | null,
    amountNano,
    shortfallNano: row.shortfall as number,
    createdAt: row.created_at as number,
    endedAt: row.ended_at as number,
  })
  return { position: row.position as number, account, keyId: row.key_id as string, text, amountNano }
}
