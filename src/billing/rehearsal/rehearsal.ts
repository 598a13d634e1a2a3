// Prices the charges of a period at other prices: the amount that each account would have paid, the cost at vendors, and the
// requests that it could not have paid for. Charges are read page by page in ledger order, so memory does not grow with their
// number. It must never write.

import type { Quantities } from '../../contract/units'
import { DatabaseUnavailable, type Db, type Row } from '../../db/db'
import { bookOf } from '../ledger/balances'
import { type ArchivedCharge, archivedCharge, pagesOfCharges, readReferences } from '../ledger/charge-rows'
import { closedPart } from '../proofs/closings'
import { SUMS } from '../reports/usage-figures'
import { type Usage, usageBy } from '../reports/usage-report'
import { HOUR_MS, positionsBetween } from '../reports/usage-totals'
import { BalanceReplay } from './balance-replay'
import type { Unpriced } from './recorded-use'
import type { RehearsedPrices } from './rehearsed-prices'

/** Reasons why a charge keeps its amount. `closed`: its month is closed and the charge is in an archive. */
export type KeptReason = Unpriced | 'closed'

/** Sums of charges, in nano-dollars. */
export interface RehearsedSums {
  requests: number
  paidNano: bigint
  /** The new amount, without requests that would have been refused. */
  wouldPayNano: bigint
  /** The cost at vendors, as far as known. */
  costNano: bigint
  /** The part of the new amount whose cost is known. */
  costedNano: bigint
  /** Requests that would have been refused with 402, because the balance was below their price. */
  refused: number
  /** The new price of the refused requests. */
  refusedNano: bigint
  /** Requests that keep their amount. */
  kept: number
  /** The amount of the requests that keep it. */
  keptNano: bigint
}

export interface Rehearsal {
  accounts: ReadonlyMap<string, RehearsedSums>
  total: RehearsedSums
  /** Requests that keep their amount, by reason. */
  kept: ReadonlyMap<KeptReason, { requests: number; paidNano: bigint }>
}

export interface RehearsalOptions {
  /** The period, in milliseconds since 1970. */
  since: number
  until: number
  /** Only charges of this model, without a replay of balances. Absent: all. */
  model?: string
  prices: RehearsedPrices
  /** Looks up quantities outside the ledger, by charge id. */
  recorded(charges: readonly ArchivedCharge[]): Promise<ReadonlyMap<string, Quantities>>
}

/** Number of transfers per read. */
const PAGE = 5_000
/** Number of charges that are priced before other work of the process may run. */
const TURN = 250
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Prices the charges of a period at other prices. Rejects with DatabaseUnavailable if a month is closed meanwhile. */
export async function rehearse(db: Db, options: RehearsalOptions): Promise<Rehearsal> {
  const run = new Run(db, options)
  const { position } = await closedPart(db)
  // The last position is read first: everything that its charge refers to exists by then.
  const ranges = await positionsBetween(db, options.since, options.until)
  const references = await readReferences(db)
  await run.begin()
  for (const [after, to] of ranges) {
    for await (const { rows } of pagesOfCharges(db, after, to)) {
      await run.add(rows.filter((row) => run.isWithin(row)).map((row) => archivedCharge(row, references)))
    }
  }
  if ((await closedPart(db)).position !== position)
    throw new DatabaseUnavailable('a month was closed while its charges were read: try again')
  return run.result
}

class Run {
  readonly result = {
    accounts: new Map<string, RehearsedSums>(),
    total: noSums(),
    kept: new Map<KeptReason, { requests: number; paidNano: bigint }>(),
  }
  private readonly balances = new BalanceReplay()
  private readonly transfers: AsyncGenerator<Row>
  private next: Row | undefined
  private plans: ReadonlyMap<string, string> = new Map()

  constructor(
    private readonly db: Db,
    private readonly options: RehearsalOptions,
  ) {
    this.transfers = transfersBetween(db, options)
  }

  isWithin({ ended_at: at }: Row): boolean {
    const { since, until } = this.options
    return (at as number) >= since && (at as number) < until
  }

  /** Reads the balances at the start of the period, and adds its closed charges, which keep their amount. */
  async begin(): Promise<void> {
    const { db } = this
    const { since, model } = this.options
    const rows = await db.query({ sql: 'select name, plan from account_details where plan is not null' })
    this.plans = new Map(rows.map(({ name, plan }) => [name as string, plan as string]))
    for (const { book, booked } of await db.query({
      sql: `select book, cast(sum(amount) as bigint) as booked from (
          select to_book as book, amount from transfers where at < $1
          union all select from_book, -amount from transfers where at < $1) as legs
        where book like 'account:%' group by book`,
      parameters: [since],
    }))
      this.balances.move((book as string).slice(bookOf('').length), booked as number)
    const before = since > 0 ? await usageBy(db, 'account', { since: 0, until: since }) : []
    for (const { name, amountNano } of before) this.balances.move(name, -amountNano)
    for (const { account, used } of await closedUsage(db, this.options)) {
      if (model !== undefined && used.second !== model) continue
      this.balances.move(account, -used.amountNano)
      this.addKept(account, 'closed', used)
    }
    this.next = (await this.transfers.next()).value
  }

  async add(charges: readonly ArchivedCharge[]): Promise<void> {
    const { model, prices, recorded } = this.options
    const wanted = charges.filter((charge) => model === undefined || charge.model === model)
    const settled = wanted.filter(({ state }) => state === 'settled')
    const quantities = settled.length > 0 ? await recorded(settled) : new Map<string, Quantities>()
    for (const [index, charge] of wanted.entries()) {
      if (index % TURN === TURN - 1) await nextTurn()
      await this.moveUntil(charge.ended_at)
      const { account, amount, cost } = charge
      const sums = this.sumsOf(account)
      for (const each of sums) {
        each.requests++
        each.paidNano += BigInt(amount)
      }
      if (charge.state !== 'settled') {
        // A released charge costs its account nothing at any price; its cost at the vendor stays.
        for (const each of sums) each.costNano += BigInt(cost ?? 0)
        continue
      }
      const plan = this.plans.get(account) ?? null
      const found = prices.price(charge, plan, quantities.get(charge.id))
      if ('keeps' in found) this.keep(charge, found.keeps)
      else this.charge(charge, found)
    }
  }

  private charge(
    { account, amount, shortfall, held }: ArchivedCharge,
    { priceNano, costNano }: { priceNano: number; costNano: number | null },
  ): void {
    const isReplayed = this.options.model === undefined
    const charge = { account, amountNano: amount, shortfallNano: shortfall, priceNano, isHeld: held > 0 }
    const { paidNano, isRefused } = isReplayed
      ? this.balances.charge(charge)
      : { paidNano: priceNano, isRefused: false }
    for (const sums of this.sumsOf(account)) {
      sums.wouldPayNano += BigInt(paidNano)
      if (isRefused) {
        sums.refused++
        sums.refusedNano += BigInt(priceNano)
      } else if (costNano !== null) {
        sums.costNano += BigInt(costNano)
        sums.costedNano += BigInt(paidNano)
      }
    }
  }

  private keep({ account, amount, cost }: ArchivedCharge, reason: KeptReason): void {
    this.balances.move(account, -amount)
    const costNano = cost ?? 0
    const kept = { requests: 1, amountNano: amount, costNano, costedNano: cost === null ? 0 : amount }
    this.addKeptSums(account, reason, kept)
  }

  /** Adds charges whose sums alone are known. */
  private addKept(account: string, reason: KeptReason, used: Usage): void {
    for (const sums of this.sumsOf(account)) {
      sums.requests += used.requests
      sums.paidNano += BigInt(used.amountNano)
    }
    this.addKeptSums(account, reason, used)
  }

  private addKeptSums(
    account: string,
    reason: KeptReason,
    {
      requests,
      amountNano,
      costNano,
      costedNano,
    }: Pick<Usage, 'requests' | 'amountNano' | 'costNano' | 'costedNano'>,
  ): void {
    for (const sums of this.sumsOf(account)) {
      sums.kept += requests
      sums.keptNano += BigInt(amountNano)
      sums.wouldPayNano += BigInt(amountNano)
      sums.costNano += BigInt(costNano)
      sums.costedNano += BigInt(costedNano)
    }
    const known = this.result.kept.get(reason) ?? { requests: 0, paidNano: 0n }
    this.result.kept.set(reason, {
      requests: known.requests + requests,
      paidNano: known.paidNano + BigInt(amountNano),
    })
  }

  /** Applies the transfers up to a time. */
  private async moveUntil(at: number): Promise<void> {
    while (this.next && (this.next.at as number) <= at) {
      const { from_book: from, to_book: to, amount } = this.next
      for (const [book, nano] of [
        [to as string, amount as number],
        [from as string, -(amount as number)],
      ] as const) {
        if (book.startsWith(bookOf(''))) this.balances.move(book.slice(bookOf('').length), nano)
      }
      this.next = (await this.transfers.next()).value
    }
  }

  private sumsOf(account: string): [RehearsedSums, RehearsedSums] {
    const known = this.result.accounts.get(account) ?? noSums()
    this.result.accounts.set(account, known)
    return [known, this.result.total]
  }
}

function noSums(): RehearsedSums {
  return {
    requests: 0,
    paidNano: 0n,
    wouldPayNano: 0n,
    costNano: 0n,
    costedNano: 0n,
    refused: 0,
    refusedNano: 0n,
    kept: 0,
    keptNano: 0n,
  }
}

/** The transfers of a period in order, read page by page. */
async function* transfersBetween(
  db: Db,
  { since, until }: Pick<RehearsalOptions, 'since' | 'until'>,
): AsyncGenerator<Row, undefined> {
  let [at, id] = [since, '']
  for (;;) {
    const rows = await db.query({
      sql: `select * from transfers where at < $1 and (at > $2 or (at = $2 and id > $3)) order by at, id limit ${PAGE}`,
      parameters: [until, at, id],
    })
    yield* rows
    if (rows.length < PAGE) return undefined
    const last = rows.at(-1) as Row
    ;[at, id] = [last.at as number, last.id as string]
  }
}

/**
 * Usage of closed months in a period, by account and model: the totals minus the charges that are still in the database. In closed
 * months a period starts and ends on the hour.
 */
async function closedUsage(
  db: Db,
  { since, until }: Pick<RehearsalOptions, 'since' | 'until'>,
): Promise<{ account: string; used: Usage }[]> {
  const closed = await closedPart(db)
  const end = Math.min(until, closed.endedBefore)
  if (since >= end) return []
  const from = since - (((since % HOUR_MS) + HOUR_MS) % HOUR_MS)
  const used = await usageBy(db, 'account', { since: from, until: end }, 'model')
  const rows = await db.query({
    sql: `select account, model, cast(sum(requests) as bigint) as requests, cast(sum(amount) as bigint) as amount,
        cast(sum(cost) as bigint) as cost, cast(sum(costed) as bigint) as costed
      from (select series, ${SUMS} from ended_charges where position > $1 and ended_at >= $2 and ended_at < $3
        group by series) as late join charge_series on charge_series.id = series group by account, model`,
    parameters: [closed.position, from, end],
  })
  const late = new Map(rows.map((row) => [`${row.account}\n${row.model}`, row]))
  return used.flatMap((all) => {
    const own = late.get(`${all.name}\n${all.second}`)
    const less = (figure: number, column: string) => figure - ((own?.[column] as number | undefined) ?? 0)
    const requests = less(all.requests, 'requests') - all.running
    if (requests <= 0) return []
    return {
      account: all.name,
      used: {
        ...all,
        requests,
        amountNano: less(all.amountNano, 'amount'),
        costNano: less(all.costNano, 'cost'),
        costedNano: less(all.costedNano, 'costed'),
      },
    }
  })
}
