// A random history over months, stored twice: by the ledger in a database, and in memory with the second bookkeeper, which never
// closes a month. Reports, ledgers and balances are compared with the memory.

import { expect } from 'bun:test'
import { ledgerOf } from '../../../src/billing/ledger/account-ledger'
import { addCredit, hold, release, settle } from '../../../src/billing/ledger/ledger'
import { referencesOf } from '../../../src/billing/ledger/shared-rows'
import { audit } from '../../../src/billing/proofs/audit'
import { closedPart, closingsOf } from '../../../src/billing/proofs/closings'
import { type UsagePeriod, usageBy, usageDimensions } from '../../../src/billing/reports/usage-report'
import { addToTotals, DAY_MS, HOUR_MS } from '../../../src/billing/reports/usage-totals'
import type { Db } from '../../../src/db/db'
import { createBookkeeper } from '../bookkeepers/bookkeeper'
import type { Random } from '../random'
import { ledgerFromItsEnd, makeCharge, makeKey, makeSettlement } from './ledger-rows'

/** The first month of all histories. */
const FIRST_MONTH = Date.UTC(2025, 0)

/** An ended charge in memory. */
interface RememberedCharge {
  id: string
  account: string
  keyId: string
  model: string
  operation: string
  state: 'settled' | 'released'
  usageSource: string | null
  usage: string | null
  amount: number
  shortfall: number
  cost: number | null
  endedAt: number
  metadata: string | null
}

export const ACCOUNTS = ['alice', 'bob', 'zoë, "ltd"']

export class LongHistory {
  readonly charges = new Map<string, RememberedCharge>()
  /** Charges by the month in which they were closed. */
  readonly closedWith = new Map<string, string>()
  private readonly transfers: { id: string; account: string; at: number; amount: number }[] = []
  private readonly books = createBookkeeper()
  private ids = 0

  constructor(
    readonly db: Db,
    private readonly random: Random,
  ) {}

  /** Some charges and credits that end around a time, a few of them written late. */
  async grow(at: number, spanMs: number, count: number): Promise<void> {
    const { random } = this
    for (const account of ACCOUNTS) await this.credit(account, at + random.below(spanMs))
    const times = Array.from({ length: count }, () => at + random.below(spanMs)).sort(
      (one, other) => one - other,
    )
    for (const [index, time] of times.entries()) {
      const endedAt = random.chance(0.1) ? (times[Math.max(0, index - 1 - random.below(8))] as number) : time
      await this.charge(endedAt)
      if (random.chance(0.03)) await addToTotals(this.db)
    }
  }

  private async credit(account: string, at: number): Promise<void> {
    const amount = 1 + this.random.below(5_000)
    const id = `credit ${++this.ids} ${account}`
    this.books.credit(account, amount)
    this.transfers.push({ id, account, at, amount })
    await addCredit(this.db, { id, account, amountNano: amount, now: at, note: null })
  }

  private async charge(endedAt: number): Promise<void> {
    const { random, books, db } = this
    const account = random.pick(ACCOUNTS)
    const key = makeKey({ id: `${account} ${random.below(2)}`, account })
    const metadata = random.pick([null, null, '{"team":"red"}', '{"team":"blue"}'])
    const metadataId = metadata === null ? 0 : await referencesOf(db).metadataId(metadata, 10)
    const charge = makeCharge(random.below(300), {
      metadataId,
      account,
      keyId: key.id,
      model: random.pick(['m', 'n']),
      operation: random.pick(['chat', 'image']),
      createdAt: endedAt - random.below(HOUR_MS),
    })
    const expected = books.hold(charge, key)
    expect(await hold(db, charge)).toEqual(expected as never)
    if (!('held' in expected)) return
    const common = {
      id: charge.id,
      account,
      keyId: key.id,
      model: charge.model,
      operation: charge.operation,
      endedAt,
      metadata,
    }
    if (random.chance(0.2)) {
      books.release(charge)
      await release(db, charge, { endedBy: 'client', endedAt })
      const nothing = {
        state: 'released',
        usageSource: null,
        usage: null,
        amount: 0,
        shortfall: 0,
        cost: null,
      } as const
      this.charges.set(charge.id, { ...common, ...nothing })
      return
    }
    const price = random.below(400)
    const usageSource = random.pick(['upstream', 'counted', 'estimated'] as const)
    const usage = random.chance(0.2)
      ? null
      : `{"in":${random.below(90)},"id":"${'x'.repeat(random.below(60))}"}`
    const cost = random.chance(0.3) ? null : random.below(200)
    const paid = books.settle(charge, price, 0)
    expect(
      await settle(
        db,
        charge,
        makeSettlement(price, { endedAt, usageSource, usageJson: usage, costNano: cost }),
      ),
    ).toEqual(paid)
    const amounts = { amount: paid?.paidNano ?? 0, shortfall: paid?.shortfallNano ?? 0, cost }
    this.charges.set(charge.id, { ...common, state: 'settled', usageSource, usage, ...amounts })
  }

  /** Records the months that were closed since the last time. */
  async noteClosed(): Promise<void> {
    const known = new Set(this.closedWith.values())
    const open = new Set((await this.db.query({ sql: 'select id from charges' })).map(({ id }) => id))
    const gone = [...this.charges.values()].filter(({ id }) => !open.has(id) && !this.closedWith.has(id))
    let fresh = (await closingsOf(this.db)).filter(({ month }) => !known.has(month))
    // Ordered by position, as in memory.
    for (const { id } of gone) {
      const [closing] = fresh
      if (!closing) throw new Error(`charge ${id} is gone, and no closing has it`)
      this.closedWith.set(id, closing.month)
      const counted = [...this.closedWith.values()].filter((month) => month === closing.month).length
      if (counted === closing.charges) fresh = fresh.slice(1)
    }
    expect(fresh).toEqual([])
  }

  /** Throws if the database differs from the memory. */
  async compare(): Promise<void> {
    for (const [name, { balance, held }] of this.books.accounts) {
      const [row] = await this.db.query({
        sql: 'select balance, held from accounts where name = $1',
        parameters: [name],
      })
      expect(row as object).toEqual({ balance, held })
    }
    const { problems, charges, books } = await audit(this.db, FIRST_MONTH)
    expect({ problems, charges }).toEqual({ problems: [], charges: this.charges.size })
    const sum = (field: 'amount' | 'shortfall') =>
      [...this.charges.values()].reduce((all, each) => all + each[field], 0)
    expect(books.revenueNano).toBe(BigInt(sum('amount') + sum('shortfall')))
    expect(books.shortfallNano).toBe(BigInt(sum('shortfall')))
    for (let round = 0; round < 6; round++) await this.compareUsage()
    for (let round = 0; round < 4; round++) await this.compareLedger()
  }

  private anyPeriod(): { since: number; until?: number } {
    const { random } = this
    const since = random.chance(0.2) ? 0 : FIRST_MONTH + random.below(150 * DAY_MS)
    return random.chance(0.4) ? { since } : { since, until: since + random.below(60 * DAY_MS) }
  }

  private async compareUsage(): Promise<void> {
    const by = this.random.pick([...usageDimensions])
    const period = this.anyPeriod()
    const used = await usageBy(this.db, by, period)
    const sorted = used.toSorted((one, other) => (one.name < other.name ? -1 : 1))
    const { endedBefore } = await closedPart(this.db)
    expect({ by, period, used: sorted as object }).toEqual({
      by,
      period,
      used: this.usage(by, period, endedBefore),
    })
  }

  private usage(
    by: (typeof usageDimensions)[number],
    { since, until = Number.MAX_SAFE_INTEGER }: UsagePeriod,
    closedBefore: number,
  ) {
    const within = (at: number) => (at < closedBefore ? at - (at % HOUR_MS) : at)
    const sums = new Map<string, Record<string, number>>()
    for (const charge of this.charges.values()) {
      const { endedAt: at } = charge
      if (at < within(since) || at >= within(until)) continue
      const { account, model, operation, keyId } = charge
      const names = {
        account,
        model,
        operation,
        key: keyId,
        // No account of this history has a spender.
        spender: '(none)',
        day: at - (at % DAY_MS),
        hour: at - (at % HOUR_MS),
      }
      const name = String(names[by])
      const sum = sums.get(name) ?? {}
      const more = {
        requests: 1,
        running: 0,
        released: Number(charge.state === 'released'),
        counted: Number(charge.usageSource === 'counted'),
        estimated: Number(charge.usageSource === 'estimated'),
        amountNano: charge.amount,
        shortfallNano: charge.shortfall,
        costNano: charge.cost ?? 0,
        costedNano: charge.cost === null ? 0 : charge.amount,
      }
      for (const [field, figure] of Object.entries(more)) sum[field] = (sum[field] ?? 0) + figure
      sums.set(name, sum)
    }
    return [...sums]
      .map(([name, sum]) => ({ name, ...sum }))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
  }

  private async compareLedger(): Promise<void> {
    const account = this.random.pick([...ACCOUNTS, 'nobody'])
    const period = this.anyPeriod()
    const { since, until = Number.MAX_SAFE_INTEGER } = period
    const all = await this.movements(account)
    const entries = (await Array.fromAsync(ledgerOf(this.db, account, period))).flat()
    const inside = all.filter(({ at }) => at >= since && at < until)
    expect(entries.map(({ id }) => id).toSorted()).toEqual(inside.map(({ id }) => id).toSorted())
    const sumOf = (movements: typeof all) => movements.reduce((sum, { amount }) => sum + amount, 0)
    let balance = sumOf(all.filter(({ at }) => at < since))
    const end = balance + sumOf(inside)
    for (const entry of entries) {
      balance += entry.amountNano
      expect(entry.balanceAfterNano).toBe(balance)
    }
    expect(balance).toBe(end)
    const limit = this.random.pick([3, 10, 200])
    expect(await ledgerFromItsEnd(this.db, account, period, limit)).toEqual(entries.toReversed())
  }

  /** The movements of an account, with its closed charges as one movement per month. */
  private async movements(account: string): Promise<{ id: string; at: number; amount: number }[]> {
    const found = this.transfers.filter((transfer) => transfer.account === account)
    const charges = [...this.charges.values()].filter(
      (charge) => charge.account === account && charge.amount > 0,
    )
    const open = charges.filter(({ id }) => !this.closedWith.has(id))
    const months = (await closingsOf(this.db)).map(({ month, endedBefore }) => {
      const closed = charges.filter(({ id }) => this.closedWith.get(id) === month)
      const amount = -closed.reduce((sum, charge) => sum + charge.amount, 0)
      return { id: `closing-${month}`, at: endedBefore - 1, amount }
    })
    return [
      ...found.map(({ id, at, amount }) => ({ id, at, amount })),
      ...open.map(({ id, endedAt, amount }) => ({ id, at: endedAt, amount: -amount })),
      ...months.filter(({ amount }) => amount !== 0),
    ]
  }
}
