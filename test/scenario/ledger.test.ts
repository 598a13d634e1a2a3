// Money: how holds, settlements, releases, expiry, credits and corrections change a balance, one at a time and many at
// once, on both databases; random operations compared with a second bookkeeper; and an audit that finds every tampering.

import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { encodedTables } from '../../src/app/encoded-tables'
import { ledgerOf } from '../../src/billing/ledger/account-ledger'
import { balanceOf } from '../../src/billing/ledger/balances'
import { claimKey } from '../../src/billing/ledger/idempotency'
import {
  addCredit,
  adjust,
  type Charge,
  extendHold,
  hold,
  openAccount,
  release,
  releaseExpired,
  settle,
} from '../../src/billing/ledger/ledger'
import { conditionsOf, forgetWindows, periodOf } from '../../src/billing/ledger/limits'
import { referencesOf } from '../../src/billing/ledger/shared-rows'
import { audit } from '../../src/billing/proofs/audit'
import { signingKey } from '../../src/billing/proofs/checkpoint'
import { verify } from '../../src/billing/proofs/verify'
import { withWholeUsage } from '../../src/billing/reports/usage-form'
import type { Db, Statement, Value } from '../../src/db/db'
import { createCodec } from '../../src/db/encryption/codec'
import { Reencryption } from '../../src/db/encryption/reencryption'
import { formatUsd, MAX_NANO } from '../../src/lib/money'
import { createLedgerFuzz } from '../support/bookkeepers/ledger-fuzz'
import { type DatabaseKind, databaseKinds, openTestDatabase } from '../support/databases/databases'
import { countersOf, makeCharge, makeKey, makeSettlement, START } from '../support/databases/ledger-rows'
import { createRandom, isWholeRun, seedOf } from '../support/random'
import { rejection } from '../support/rejection'

/** A hundred thousand operations take a busy machine some minutes. */
setDefaultTimeout(600_000)

/** PostgreSQL needs several times as long. LEDGER_OPERATIONS=100000 runs as many on each. */
const OPERATIONS: Record<DatabaseKind, number> = { sqlite: 100_000, postgres: isWholeRun ? 20_000 : 5_000 }
const { LEDGER_OPERATIONS } = process.env
const seed = seedOf('LEDGER_SEED')

for (const kind of databaseKinds) {
  describe(`a hold on ${kind}`, () => holdTests(kind))
  describe(`the end of a charge on ${kind}`, () => endTests(kind))
  describe(`a price above the hold on ${kind}`, () => shortfallTests(kind))
  describe(`concurrent movements on ${kind}`, () => concurrencyTests(kind))
  describe(`a hold in steps on ${kind}`, () => stepTests(kind))
  describe(`expiry on ${kind}`, () => expiryTests(kind))
  describe(`deposits and corrections on ${kind}`, () => depositTests(kind))
  describe(`counters of a key on ${kind}`, () => counterTests(kind))
  describe(`the audit on ${kind}`, () => auditTests(kind))
  describe(`checkpoints on ${kind}`, () => checkpointTests(kind))
  describe(`signatures on ${kind}`, () => signatureTests(kind))

  const operations = Number(LEDGER_OPERATIONS ?? OPERATIONS[kind])
  test(`${operations} random operations on ${kind} have the results of a second bookkeeper (LEDGER_SEED=${seed})`, async () => {
    const db = await openTestDatabase(kind)
    const fuzz = await createLedgerFuzz(db, createRandom(seed))
    let done = 0
    for (let waves = 0; done < operations; waves++) {
      if (waves % 25 === 0) await fuzz.compare()
      done += await fuzz.wave()
    }
    await fuzz.compare()
    expect(done).toBeGreaterThanOrEqual(operations)
    // Among so many it is practically impossible that one of these never occurs.
    if (operations < OPERATIONS.sqlite) return db.close()
    for (const answer of commonAnswers) expect(fuzz.seen.get(answer) ?? 0).toBeGreaterThan(9)
    await db.close()
  })
}

const commonAnswers = [
  'hold: {"held":true}',
  ...['balance', 'rate', 'concurrency', 'budget', 'account budget', 'spender budget', 'spender rate'].map(
    (name) => `hold: {"refusedBy":"${name}"}`,
  ),
  'settle: {"paidNano":n,"shortfallNano":0}',
  'settle: undefined',
  'settle beyond: {"paidNano":n,"shortfallNano":0}',
  'settle beyond: {"paidNano":n,"shortfallNano":n}',
  'settle beyond: undefined',
  'extend: {"held":true}',
  ...['balance', 'budget', 'account budget', 'spender budget', 'charge'].map(
    (name) => `extend: {"refusedBy":"${name}"}`,
  ),
  'release: true',
  'release: false',
  'expire: n',
  'credit: true',
  'redeem: ["redeemed","redeemed","redeemed"]',
  'adjust: true',
  'adjust: false',
]

function holdTests(kind: DatabaseKind): void {
  test('reduces the available amount and not the balance', async () => {
    const db = await openBooks(kind, 1_000)
    expect(await hold(db, makeCharge(300))).toEqual({ held: true })
    expect(await hold(db, makeCharge(700))).toEqual({ held: true })
    expect(await money(db)).toEqual([1_000, 1_000])
    await closeBooks(db)
  })

  test('above the available amount changes nothing', async () => {
    const db = await openBooks(kind, 1_000)
    await hold(db, makeCharge(300))
    expect(await hold(db, makeCharge(701))).toEqual({ refusedBy: 'balance' })
    expect(await money(db)).toEqual([1_000, 300])
    expect(await rowsOf(db, 'charges')).toHaveLength(1)
    await closeBooks(db)
  })

  test('of zero requires an account but no money', async () => {
    const db = await openBooks(kind, 0)
    expect(await hold(db, makeCharge(0))).toEqual({ held: true })
    expect(await hold(db, makeCharge(0, { account: 'nobody' }))).toEqual({ refusedBy: 'balance' })
    await closeBooks(db)
  })

  test.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])(
    'of %d is an internal error',
    async (amount) => {
      const db = await openBooks(kind, 1_000)
      await rejection(hold(db, makeCharge(amount)))
      expect(await money(db)).toEqual([1_000, 0])
      await closeBooks(db)
    },
  )

  test('keeps the prices at its time', async () => {
    const db = await openBooks(kind, 1_000)
    const charge = makeCharge(5, { pricesJson: '{"input_token":7}' })
    await hold(db, charge)
    expect(await rowOf(db, charge)).toMatchObject({
      prices: '{"input_token":7}',
      held: 5,
      amount: 0,
      state: 'held',
    })
    await closeBooks(db)
  })

  test('names the condition that it missed, and changes nothing', async () => {
    const db = await openBooks(kind, 1_000)
    const condition = (guard: 'rate' | 'budget', holds: boolean) => ({
      sql: `select 1 as ok where ${holds ? '1 = 1' : '1 = 0'}`,
      guard,
    })
    const holding = (...conditions: ReturnType<typeof condition>[]) => hold(db, makeCharge(100), conditions)
    expect(await holding(condition('rate', false), condition('budget', true))).toEqual({ refusedBy: 'rate' })
    expect(await holding(condition('rate', true), condition('budget', false))).toEqual({
      refusedBy: 'budget',
    })
    expect(await money(db)).toEqual([1_000, 0])
    expect(await holding(condition('rate', true), condition('budget', true))).toEqual({ held: true })
    await closeBooks(db)
  })
}

function endTests(kind: DatabaseKind): void {
  test.each([0, 1, 400])('at a price of %d charges it and releases the rest of 400', async (price) => {
    const db = await openBooks(kind, 1_000)
    const charge = await held(db, 400)
    expect(await settle(db, charge, makeSettlement(price))).toEqual({ paidNano: price, shortfallNano: 0 })
    expect(await money(db)).toEqual([1_000 - price, 0])
    expect(await rowOf(db, charge)).toMatchObject({ state: 'settled', amount: price, shortfall: 0 })
    expect(await rowsOf(db, 'movements')).toHaveLength(price === 0 ? 1 : 2)
    await closeBooks(db)
  })

  test('keeps its origin', async () => {
    const db = await openBooks(kind, 1_000)
    const charge = await held(db, 400)
    const usageJson = '{"prompt_tokens":9007199254740993}'
    await settle(db, charge, makeSettlement(10, { usageJson, usageSource: 'estimated', endedBy: 'timeout' }))
    expect(await rowOf(db, charge)).toMatchObject({
      usage: usageJson,
      usage_source: 'estimated',
      ended_by: 'timeout',
      ended_at: START + 1_000,
    })
    await closeBooks(db)
  })

  test('by release charges nothing', async () => {
    const db = await openBooks(kind, 1_000)
    const charge = await held(db, 400)
    expect(await release(db, charge, { endedBy: 'upstream', endedAt: START })).toBe(true)
    expect(await money(db)).toEqual([1_000, 0])
    expect(await rowOf(db, charge)).toMatchObject({ state: 'released', amount: 0, ended_by: 'upstream' })
    await closeBooks(db)
  })

  test('happens once, whatever is tried afterwards', async () => {
    const db = await openBooks(kind, 10_000)
    const ending = { endedBy: 'upstream', endedAt: START } as const
    const settled = await held(db, 400)
    await settle(db, settled, makeSettlement(100))
    const released = await held(db, 400)
    await release(db, released, ending)
    const unknown = makeCharge(400)
    for (const charge of [settled, released, unknown]) {
      expect(await settle(db, charge, makeSettlement(50))).toBeUndefined()
      expect(await settle(db, charge, makeSettlement(5_000))).toBeUndefined()
      expect(await release(db, charge, ending)).toBe(false)
    }
    expect(await money(db)).toEqual([9_900, 0])
    await closeBooks(db)
  })

  test('applies its additional statements, and only if it is the first end', async () => {
    const db = await openBooks(kind, 10_000)
    const charge = await held(db, 400)
    const also = (account: string): Statement[] => [openAccount(account, START)]
    await settle(db, charge, makeSettlement(100), also('with-settlement'))
    await settle(db, charge, makeSettlement(100), also('too-late'))
    await release(db, charge, { endedBy: 'done', endedAt: START }, also('too-late'))
    await settle(db, await held(db, 1), makeSettlement(5), also('beyond'))
    const names = (await rowsOf(db, 'accounts')).map(({ name }) => name).sort()
    expect(names).toEqual(['alice', 'beyond', 'with-settlement'])
    await closeBooks(db)
  })

  test.each([-1, 0.5, Number.NaN])('at a price of %d is an internal error', async (price) => {
    const db = await openBooks(kind, 1_000)
    const charge = await held(db, 400)
    await rejection(settle(db, charge, makeSettlement(price)))
    expect(await money(db)).toEqual([1_000, 400])
    await closeBooks(db)
  })
}

function shortfallTests(kind: DatabaseKind): void {
  test('is taken from the available amount', async () => {
    const db = await openBooks(kind, 1_000)
    const charge = await held(db, 100)
    expect(await settle(db, charge, makeSettlement(1_000))).toEqual({ paidNano: 1_000, shortfallNano: 0 })
    expect(await money(db)).toEqual([0, 0])
    await closeBooks(db)
  })

  test('becomes a shortfall if nothing is available', async () => {
    const db = await openBooks(kind, 1_000)
    const charge = await held(db, 1_000)
    expect(await settle(db, charge, makeSettlement(1_700))).toEqual({ paidNano: 1_000, shortfallNano: 700 })
    expect(await money(db)).toEqual([0, 0])
    expect(await rowOf(db, charge)).toMatchObject({ amount: 1_000, shortfall: 700 })
    const { books } = await audit(db, START)
    expect(books).toEqual({ fundingNano: 1_000n, revenueNano: 1_700n, shortfallNano: 700n })
    await closeBooks(db)
  })

  test('never uses holds of other requests', async () => {
    const db = await openBooks(kind, 1_000)
    const other = await held(db, 600)
    const charge = await held(db, 100)
    expect(await settle(db, charge, makeSettlement(5_000))).toEqual({ paidNano: 400, shortfallNano: 4_600 })
    expect(await money(db)).toEqual([600, 600])
    expect(await settle(db, other, makeSettlement(600))).toEqual({ paidNano: 600, shortfallNano: 0 })
    await closeBooks(db)
  })

  test('of a zero hold on an empty account is a shortfall', async () => {
    const db = await openBooks(kind, 0)
    const charge = await held(db, 0)
    expect(await settle(db, charge, makeSettlement(5))).toEqual({ paidNano: 0, shortfallNano: 5 })
    expect(await money(db)).toEqual([0, 0])
    expect(await rowsOf(db, 'movements')).toHaveLength(1)
    await closeBooks(db)
  })
}

function concurrencyTests(kind: DatabaseKind): void {
  test('of 500 holds with money for 100, exactly 100 succeed', async () => {
    const db = await openBooks(kind, 100 * 77)
    const results = await Promise.all(Array.from({ length: 500 }, () => hold(db, makeCharge(77))))
    expect(results.filter((result) => 'held' in result)).toHaveLength(100)
    expect(results.filter((result) => 'refusedBy' in result && result.refusedBy === 'balance')).toHaveLength(
      400,
    )
    expect(await money(db)).toEqual([7_700, 7_700])
    expect(await rowsOf(db, 'charges')).toHaveLength(100)
    await closeBooks(db)
  })

  test('a charge ends once, however many processes try and in whatever way', async () => {
    const db = await openBooks(kind, 100_000)
    for (let round = 0; round < 8; round++) {
      const charge = await held(db, 500)
      const [before] = await money(db)
      const attempts = Array.from({ length: 30 }, (_, index) => {
        if (index % 3 === 0) return settle(db, charge, makeSettlement(100 + index))
        if (index % 3 === 1) return settle(db, charge, makeSettlement(600 + index))
        return release(db, charge, { endedBy: 'done', endedAt: START })
      })
      const ends = (await Promise.all(attempts)).filter((end) => end !== undefined && end !== false)
      expect(ends).toHaveLength(1)
      const paid = ends[0] === true ? 0 : (ends[0] as { paidNano: number }).paidNano
      expect(await money(db)).toEqual([(before as number) - paid, 0])
    }
    await closeBooks(db)
  })

  test('settlements beyond their holds share the balance and are fully booked', async () => {
    const db = await openBooks(kind, 1_000)
    const charges = await Promise.all(Array.from({ length: 50 }, () => held(db, 10)))
    const ends = await Promise.all(charges.map((charge) => settle(db, charge, makeSettlement(30))))
    const sum = (field: 'paidNano' | 'shortfallNano') =>
      ends.reduce((all, end) => all + (end?.[field] ?? 0), 0)
    expect([sum('paidNano'), sum('shortfallNano')]).toEqual([1_000, 500])
    expect(await money(db)).toEqual([0, 0])
    await closeBooks(db)
  })

  test('deposits, corrections, holds and ends of one account all count', async () => {
    const db = await openBooks(kind, 10_000)
    const work = Array.from({ length: 60 }, async (_, index) => {
      const charge = makeCharge(100)
      if (!('held' in (await hold(db, charge)))) throw new Error('there was money enough')
      await deposit(db, 7)
      if (index % 2 === 0) await settle(db, charge, makeSettlement(index % 4 === 0 ? 40 : 140))
      else await release(db, charge, { endedBy: 'client', endedAt: START })
      await adjust(db, { id: `down-${index}`, account: 'alice', amountNano: -3, now: START, note: 'n' })
    })
    await Promise.all(work)
    expect(await money(db)).toEqual([10_000 + 60 * 7 - 60 * 3 - 15 * 40 - 15 * 140, 0])
    await closeBooks(db)
  })
}

function stepTests(kind: DatabaseKind): void {
  test('is released with all its steps when it expires, and no step is held afterwards', async () => {
    const db = await openBooks(kind, 1_000)
    const charge = makeCharge(300)
    await hold(db, charge)
    const step = { amountNano: 200, windowTokens: 0 }
    expect(await extendHold(db, charge, step)).toEqual({ held: true })
    // A process that knows only the first step ends nothing.
    expect(await release(db, charge, { endedBy: 'upstream', endedAt: START })).toBe(false)
    expect(await money(db)).toEqual([1_000, 500])
    expect(await releaseExpired(db, charge.expiresAt)).toBe(1)
    expect(await money(db)).toEqual([1_000, 0])
    const known = { ...charge, heldNano: 500 }
    expect(await extendHold(db, known, step)).toEqual({ refusedBy: 'charge' })
    expect(await release(db, known, { endedBy: 'upstream', endedAt: START })).toBe(false)
    expect(await money(db)).toEqual([1_000, 0])
    await closeBooks(db)
  })
}

function expiryTests(kind: DatabaseKind): void {
  test('releases only expired holds', async () => {
    const db = await openBooks(kind, 1_000)
    const [old, edge, young] = await Promise.all(
      [-1, 0, 1].map((offset) => held(db, 100, { expiresAt: START + 5_000 + offset })),
    )
    const ended = await held(db, 100, { expiresAt: START })
    await settle(db, ended, makeSettlement(50))
    expect(await releaseExpired(db, START + 5_000)).toBe(2)
    expect(await money(db)).toEqual([950, 100])
    for (const charge of [old, edge]) {
      expect(await rowOf(db, charge as Charge)).toMatchObject({
        state: 'released',
        ended_by: 'expired',
        amount: 0,
      })
    }
    expect(await rowOf(db, young as Charge)).toMatchObject({ state: 'held' })
    expect(await releaseExpired(db, START + 5_000)).toBe(0)
    await closeBooks(db)
  })

  test('releases all holds after a restart, however many there are', async () => {
    const db = await openBooks(kind, 1_500)
    await Promise.all(Array.from({ length: 1_100 }, () => held(db, 1)))
    expect(await releaseExpired(db, START, { all: true, runs: () => true })).toBe(0)
    expect(await releaseExpired(db, START, { all: true })).toBe(1_100)
    expect(await money(db)).toEqual([1_500, 0])
    await closeBooks(db)
  })

  test('refuses a settlement that comes too late', async () => {
    const db = await openBooks(kind, 1_000)
    const charge = await held(db, 100)
    await releaseExpired(db, charge.expiresAt)
    expect(await settle(db, charge, makeSettlement(60))).toBeUndefined()
    expect(await money(db)).toEqual([1_000, 0])
    await closeBooks(db)
  })

  test('by several nodes at once releases once', async () => {
    const db = await openBooks(kind, 1_000)
    await Promise.all(Array.from({ length: 30 }, () => held(db, 10)))
    const counts = await Promise.all([1, 2, 3, 4].map(() => releaseExpired(db, START + 60_000)))
    expect(counts.reduce((all, count) => all + count, 0)).toBe(30)
    expect(await money(db)).toEqual([1_000, 0])
    await closeBooks(db)
  })

  test('frees an idempotency key without an answer', async () => {
    const db = await openBooks(kind, 1_000)
    const key = { account: 'alice', value: 'once', requestHash: 'h' }
    const charge = makeCharge(10)
    await hold(db, charge, [claimKey(key, charge.id, START)])
    expect(await hold(db, makeCharge(10), [claimKey(key, 'another', START)])).toEqual({
      refusedBy: 'idempotency',
    })
    await releaseExpired(db, charge.expiresAt)
    expect(await rowsOf(db, 'saved_answers')).toEqual([])
    await closeBooks(db)
  })
}

function depositTests(kind: DatabaseKind): void {
  test('a deposit opens the account, and the next one adds', async () => {
    const db = await emptyBooks(kind)
    await deposit(db, 5)
    await deposit(db, 6)
    expect(await money(db)).toEqual([11, 0])
    await closeBooks(db)
  })

  test.each([0, -5, 0.5])('a deposit of %d is an internal error', async (amount) => {
    const db = await openBooks(kind, 100)
    await rejection(deposit(db, amount))
    expect(await money(db)).toEqual([100, 0])
    await closeBooks(db)
  })

  test('an account never exceeds the largest safe integer', async () => {
    const db = await openBooks(kind, MAX_NANO - 10)
    expect((await rejection(deposit(db, 11))).message).toContain('$9007199.254740991')
    const more = { id: 'more', account: 'alice', amountNano: 11, now: START, note: 'n' }
    expect(await adjust(db, more)).toBe(false)
    expect(await money(db)).toEqual([MAX_NANO - 10, 0])
    await deposit(db, 10)
    expect(await money(db)).toEqual([MAX_NANO, 0])
    await closeBooks(db)
  })

  test('a correction reduces the balance to zero at most', async () => {
    const db = await openBooks(kind, 1_000)
    await held(db, 300)
    const correct = (amountNano: number, account = 'alice') =>
      adjust(db, { id: `correct ${amountNano} ${account}`, account, amountNano, now: START, note: 'a note' })
    expect(await correct(-701)).toBe(false)
    expect(await correct(-700)).toBe(true)
    expect(await correct(-1)).toBe(false)
    expect(await correct(50)).toBe(true)
    expect(await correct(50, 'nobody')).toBe(false)
    await rejection(correct(0))
    expect(await money(db)).toEqual([350, 300])
    await closeBooks(db)
  })

  test('the ledger of an account lists every movement with the balance after it', async () => {
    const db = await openBooks(kind, 0)
    await addCredit(db, { id: 'c1', account: 'alice', amountNano: 1_000, now: START, note: 'card' })
    const charge = await held(db, 500)
    await settle(db, charge, makeSettlement(200, { endedAt: START + 1 }))
    await adjust(db, { id: 'a1', account: 'alice', amountNano: -50, now: START + 2, note: 'fee' })
    await adjust(db, { id: 'a2', account: 'alice', amountNano: 20, now: START + 3, note: 'gift' })
    const entries = (await Array.fromAsync(ledgerOf(db, 'alice'))).flat()
    expect(
      entries.map(({ kind: word, amountNano, balanceAfterNano }) => [word, amountNano, balanceAfterNano]),
    ).toEqual([
      ['credit', 1_000, 1_000],
      ['charge', -200, 800],
      ['adjust', -50, 750],
      ['adjust', 20, 770],
    ])
    expect(entries.map(({ note, charge: of }) => note ?? of)).toEqual(['card', charge.id, 'fee', 'gift'])
    await closeBooks(db)
  })
}

function counterTests(kind: DatabaseKind): void {
  test('a budget counts holds in full and then the paid amounts', async () => {
    const db = await openBooks(kind, 10_000)
    const key = makeKey({ budgetNano: 1_000, budgetPeriod: 'day' })
    const charging = (amount: number) => chargeFor(key, amount)
    const committed = async () => (await rowsOf(db, 'budgets'))[0]?.committed
    const [first, second, third] = [charging(600), charging(400), charging(1)]
    for (const charge of [first, second]) await hold(db, charge, conditionsOf(key, charge))
    expect(await committed()).toBe(1_000)
    expect(await hold(db, third, conditionsOf(key, third))).toEqual({ refusedBy: 'budget' })
    await settle(db, first, makeSettlement(100))
    expect(await committed()).toBe(500)
    await release(db, second, { endedBy: 'upstream', endedAt: START })
    expect(await committed()).toBe(100)
    const large = charging(901)
    expect(await hold(db, large, conditionsOf(key, large))).toEqual({ refusedBy: 'budget' })
    const beyond = charging(800)
    await hold(db, beyond, conditionsOf(key, beyond))
    await settle(db, beyond, makeSettlement(850))
    expect(await committed()).toBe(950)
    await closeBooks(db)
  })

  test('a first request larger than the whole budget is refused, and 50 at once share it exactly', async () => {
    const db = await openBooks(kind, 10_000)
    const key = makeKey({ budgetNano: 100, budgetPeriod: 'week' })
    const large = chargeFor(key, 101)
    expect(await hold(db, large, conditionsOf(key, large))).toEqual({ refusedBy: 'budget' })
    const charges = Array.from({ length: 50 }, () => chargeFor(key, 30))
    const results = await Promise.all(charges.map((charge) => hold(db, charge, conditionsOf(key, charge))))
    expect(results.filter((result) => 'held' in result)).toHaveLength(3)
    expect(await rowsOf(db, 'budgets')).toEqual([
      { key_id: key.id, period: 'week 2026-03-09', committed: 90 },
    ])
    await closeBooks(db)
  })

  test('a window counts requests permanently, and tokens first as assumed and then as used', async () => {
    const db = await openBooks(kind, 10_000)
    const key = makeKey({ requestsPerMinute: 3, tokensPerMinute: 1_000 })
    const window = async () =>
      (await rowsOf(db, 'rate_windows')).map(({ requests, tokens }) => [requests, tokens])
    const charges = [400, 500, 600, 1].map((tokens) => chargeFor(key, 10, tokens))
    const [first, second, third, fourth] = charges as [Charge, Charge, Charge, Charge]
    for (const charge of [first, second, third]) {
      expect(await hold(db, charge, conditionsOf(key, charge))).toEqual({ held: true })
    }
    expect(await window()).toEqual([[3, 1_500]])
    await settle(db, first, makeSettlement(5, { tokens: 450 }))
    await release(db, second, { endedBy: 'upstream', endedAt: START })
    await settle(db, third, makeSettlement(500, { tokens: 0 }))
    expect(await window()).toEqual([[3, 450]])
    expect(await hold(db, fourth, conditionsOf(key, fourth))).toEqual({ refusedBy: 'rate' })
    await db.batch([forgetWindows(START + 86_400_000), forgetWindows(START)])
    expect(await window()).toEqual([[3, 450]])
    await db.batch([forgetWindows(START + 86_400_000 + 60_000)])
    expect(await window()).toEqual([])
    await closeBooks(db)
  })

  test('places for running requests are exact and become free', async () => {
    const db = await openBooks(kind, 10_000)
    const key = makeKey({ concurrency: 4 })
    const charges = Array.from({ length: 40 }, () => chargeFor(key, 10))
    const results = await Promise.all(charges.map((charge) => hold(db, charge, conditionsOf(key, charge))))
    const running = charges.filter((_, index) => 'held' in (results[index] as object))
    expect(running).toHaveLength(4)
    await settle(db, running[0] as Charge, makeSettlement(5))
    const next = chargeFor(key, 10)
    expect(await hold(db, next, conditionsOf(key, next))).toEqual({ held: true })
    const late = { ...chargeFor(key, 10), createdAt: next.expiresAt }
    // Expired holds take no place, even before they are swept.
    expect(await hold(db, late, conditionsOf(key, late))).toEqual({ held: true })
    await closeBooks(db)
  })
}

test.each([
  ['day', '2026-12-31T23:59:59Z', '2026-12-31', '2027-01-01'],
  ['week', '2026-03-09T00:00:00Z', 'week 2026-03-09', '2026-03-16'],
  ['week', '2027-01-03T23:00:00Z', 'week 2026-12-28', '2027-01-04'],
  ['month', '2028-02-29T12:00:00Z', '2028-02', '2028-03-01'],
  ['month', '2026-12-01T00:00:00Z', '2026-12', '2027-01-01'],
] as const)('a budget of a %s at %s counts in %s and is renewed on %s', (budgetPeriod, now, name, end) => {
  const period = periodOf(makeKey({ budgetPeriod, budgetNano: 1 }), Date.parse(now))
  expect(period).toMatchObject({ name, endsAt: Date.parse(end) })
  expect(period.beginsAt <= Date.parse(now) && Date.parse(now) < period.endsAt).toBe(true)
})

interface Tampering {
  name: string
  sql: string
  finds: RegExp
}

/** Each kind of damage that somebody with database access could cause, accidentally or not. */
const tamperings: Tampering[] = [
  {
    name: 'a balance is raised',
    sql: `update accounts set balance = balance + 1 where name = 'alice'`,
    finds: /account alice: balance 871 differs/,
  },
  {
    name: 'an account has money without a deposit',
    sql: `insert into accounts (name, balance, held, created_at) values ('mallory', 5, 0, 0)`,
    finds: /account mallory: balance 5 differs/,
  },
  { name: 'an account is deleted', sql: `delete from accounts where name = 'alice'`, finds: /alice/ },
  {
    name: 'a hold is forgotten',
    sql: `update accounts set held = held - 1 where name = 'alice'`,
    finds: /account alice: held 49 differs/,
  },
  {
    name: 'an open charge is deleted',
    sql: `delete from open_charges where id = 'open'`,
    finds: /account alice: held 50 differs/,
  },
  {
    name: 'an open charge also exists as an ended one',
    sql: `insert into ended_charges (series, state, amount, shortfall, ended_at, created_at, ended_by, held, price_list, id)
      select s.id, 0, 0, 0, o.created_at, o.created_at, 0, o.held, o.price_list, o.id
      from open_charges o join charge_series s on s.account = o.account and s.key_id = o.key_id where o.id = 'open'`,
    finds: /charge open: there more than once/,
  },
  {
    name: 'a charge is in a state that does not exist',
    sql: `update ended_charges set state = 7 where id = 'settled'`,
    finds: /charge settled: impossible state 7/,
  },
  {
    name: 'a released charge costs something',
    sql: `update ended_charges set amount = 5 where id = 'released'`,
    finds: /charge released/,
  },
  {
    name: 'a settled charge has another amount',
    sql: `update ended_charges set amount = amount + 1 where id = 'settled'`,
    finds: /account alice: balance 870 differs from its ledger 869/,
  },
  {
    name: 'a settled charge is called released',
    sql: `update ended_charges set state = 0 where id = 'settled'`,
    finds: /charge settled: impossible state released/,
  },
  {
    name: 'a settled charge is deleted',
    sql: `delete from ended_charges where id = 'settled'`,
    finds: /account alice: balance 870 differs from its ledger 900/,
  },
  {
    name: 'a settled charge is on another account',
    sql: `update ended_charges set series = (select series from ended_charges where id = 'beyond') where id = 'settled'`,
    finds: /account bob: balance 0 differs/,
  },
  {
    name: 'a settled charge is on an account that does not exist',
    sql: `update ended_charges set series = (select id from charge_series where account = 'mallory') where id = 'settled'`,
    finds: /account:mallory: the ledger has -30 for an account that does not exist/,
  },
  {
    name: 'a charge is settled twice',
    sql: `insert into ended_charges (series, state, amount, shortfall, ended_at, created_at, ended_by, held, price_list, id)
      select series, state, amount, shortfall, ended_at, created_at, ended_by, held, price_list, id
      from ended_charges where id = 'settled'`,
    finds: /charge settled: there more than once/,
  },
  {
    name: 'a shortfall is invented',
    sql: `insert into ended_charges (series, state, amount, shortfall, ended_at, created_at, ended_by, held, price_list, id)
      select series, state, amount, 9, ended_at, created_at, ended_by, held, price_list, 'short'
      from ended_charges where id = 'settled'`,
    finds: /charge short: a shortfall of 9 though only 30 of/,
  },
  {
    name: 'a booking of a deposit is deleted',
    sql: `delete from transfers where id = 'deposit'`,
    finds: /account alice: balance 870 differs/,
  },
  {
    name: 'a deposit has another amount',
    sql: `update transfers set amount = amount + 1 where id = 'deposit'`,
    finds: /account alice: balance 870 differs/,
  },
  {
    name: 'a deposit is on another account',
    sql: `update transfers set to_book = 'account:bob' where id = 'deposit'`,
    finds: /account alice: balance 870 differs/,
  },
  {
    name: 'a charge that never existed is booked',
    sql: `insert into transfers (id, at, kind, from_book, to_book, amount) values ('ghost', 0, 'charge', 'account:alice', 'revenue', 30)`,
    finds: /transfer ghost/,
  },
  {
    name: 'revenue is invented',
    sql: `insert into transfers (id, at, kind, from_book, to_book, amount) values ('profit', 0, 'adjust', 'funding', 'revenue', 30)`,
    finds: /transfer profit/,
  },
  {
    name: 'a booking has a kind that does not exist',
    sql: `update transfers set kind = 'gift' where id = 'deposit'`,
    finds: /transfer deposit/,
  },
  {
    name: 'a redeemed code was never booked',
    sql: `insert into top_up_codes (id, hash, hint, amount, created_at, redeemed_at, redeemed_by)
      values ('gift', 'hash', 'hint', 5, 0, 1, 'alice')`,
    finds: /code gift: it was redeemed, but the ledger does not say the same/,
  },
  {
    name: 'a booked code was never redeemed',
    sql: `update transfers set kind = 'code' where id = 'deposit'`,
    finds: /transfer deposit: it credits a code that was not redeemed/,
  },
  {
    name: 'a hold exists after its expiry',
    sql: `update open_charges set expires_at = 5 where id = 'open'`,
    finds: /charge open: still held though it expired/,
  },
]

function checkpointTests(kind: DatabaseKind): void {
  test.each(tamperings)('finds after a checkpoint that $name', async ({ sql, finds }) => {
    const db = await openAuditedBooks(kind, async (each) => {
      await addCredit(each, { id: 'first', account: 'alice', amountNano: 100, now: START, note: null })
      const charge = await held(each, 100)
      await settle(each, charge, makeSettlement(100))
      expect(await verifyBooks(each)).toMatchObject({ problems: [], since: null, read: 1 })
    })
    await db.batch([{ sql }])
    const { problems, since } = await verifyBooks(db)
    expect(since).toBe(START)
    expect(problems.join('\n')).toMatch(finds)
  })

  test('reads only charges after a checkpoint, and finds an earlier changed charge in a full audit', async () => {
    const db = await openAuditedBooks(kind)
    expect(await verifyBooks(db)).toMatchObject({ problems: [], since: null, read: 3 })
    const charge = await held(db, 7)
    await settle(db, charge, makeSettlement(5))
    const second = await verifyBooks(db)
    expect(second).toMatchObject({ problems: [], since: START, read: 1 })
    const { accounts, charges, books } = await audit(db, START)
    expect(second).toMatchObject({ accounts, charges, books })
    expect(await verifyBooks(db)).toMatchObject({ problems: [], since: START, read: 0 })
    // Books that add up: the price of one charge is moved to another of the account.
    await db.batch([
      { sql: `update ended_charges set amount = amount - 1 where id = 'settled'` },
      { sql: `update ended_charges set amount = amount + 1, held = held + 1 where id = '${charge.id}'` },
    ])
    expect((await audit(db, START)).problems).toEqual([])
    expect((await verifyBooks(db)).problems).toEqual([])
    const { problems } = await verifyBooks(db, true)
    expect(problems).toHaveLength(2)
    expect(problems[0]).toMatch(/charges at positions 1 to \d+ are not those that were verified on/)
  })
}

function signatureTests(kind: DatabaseKind): void {
  test('does not trust a checkpoint that was signed with another key', async () => {
    const db = await openAuditedBooks(kind)
    await verifyBooks(db)
    await db.batch([{ sql: `update checkpoints set at = at + 1` }])
    const { problems, since } = await verifyBooks(db)
    expect(problems).toEqual([expect.stringMatching(/^the checkpoints are not as this gateway signed them/)])
    expect(since).toBeNull()
    const anew = await verify(db, { now: START, key: 'new', whole: false, signsAnew: true, onProgress() {} })
    expect(anew).toMatchObject({ problems: [], since: null, read: 3 })
    expect((await verifyBooks(db)).problems).toHaveLength(1)
    const after = { now: START, key: 'new', whole: false, onProgress() {} }
    expect(await verify(db, after)).toMatchObject({ problems: [], since: START, read: 0 })
  })

  test.each(['', '{', 'null', '{}', '{"charges":1,"paid":{"alice":"x"},"shortfall":"0"}'])(
    'reads all charges if the sums of a checkpoint are damaged: %j',
    async (sums) => {
      const db = await openAuditedBooks(kind)
      await verifyBooks(db)
      await db.batch([{ sql: 'update checkpoints set sums = $1', parameters: [sums] }])
      const { problems, since, read } = await verifyBooks(db)
      expect({ since, read }).toEqual({ since: null, read: 3 })
      expect(problems).toEqual([
        expect.stringMatching(/^the checkpoints are not as this gateway signed them/),
      ])
      const anew = await verify(db, {
        now: START,
        key: 'new',
        whole: false,
        signsAnew: true,
        onProgress() {},
      })
      expect(anew).toMatchObject({ problems: [], since: null, read: 3 })
    },
  )

  test('signs nothing over books that are wrong', async () => {
    const db = await openAuditedBooks(kind)
    await verifyBooks(db)
    await db.batch([{ sql: `update accounts set balance = balance + 1 where name = 'alice'` }])
    const before = await db.query({ sql: 'select * from checkpoints' })
    const options = { now: START, key: 'new', whole: false, signsAnew: true, onProgress() {} }
    expect((await verify(db, options)).problems).not.toEqual([])
    expect(await db.query({ sql: 'select * from checkpoints' })).toEqual(before)
  })

  test('does not trust a key that was stored in the database as plain text', async () => {
    const db = await openAuditedBooks(kind)
    const random = (count: number) => new Uint8Array(count).fill(7)
    const codec = createCodec({ current: random(32), older: [] }, random)
    const encrypted: Db = { ...db, codec, query: (each) => db.query(each), batch: (each) => db.batch(each) }
    const check = async (key: string | undefined, signsAnew = false) =>
      verify(encrypted, { now: START, key, whole: false, signsAnew, onProgress() {} })
    const own = await signingKey(encrypted, random, START)
    expect(await check(own)).toMatchObject({ problems: [], since: null })
    await db.batch([{ sql: `update secrets set value = 'mine' where name = 'checkpoints'` }])
    expect(await signingKey(encrypted, random, START)).toBeUndefined()
    // Neither while rows from before a first key are encrypted.
    const log = () => {}
    await db.batch([{ sql: `insert into encryption_keys (id, uses) values ('clear', 1)` }])
    await new Reencryption({ db: encrypted, tables: encodedTables, log }).runAlone()
    expect(await signingKey(encrypted, random, START)).toBeUndefined()
    const { problems, since } = await check(undefined)
    expect([problems, since]).toEqual([[expect.stringMatching(/clear text .*--sign-anew/)], null])
    expect((await check('next', true)).problems).toEqual([])
    expect(await signingKey(encrypted, random, START)).toBe('next')
    expect(await check('next')).toMatchObject({ problems: [], since: START })
  })
}

function auditTests(kind: DatabaseKind): void {
  test('finds nothing in correct books', async () => {
    const db = await openAuditedBooks(kind)
    expect(await audit(db, START)).toEqual({
      accounts: 2,
      charges: 4,
      transfers: 6,
      books: { fundingNano: 1_120n, revenueNano: 380n, shortfallNano: 130n },
      problems: [],
    })
  })

  test('adds up sums above the largest safe integer', async () => {
    const db = await emptyBooks(kind)
    for (const account of ['alice', 'bob', 'carol']) {
      await addCredit(db, { id: account, account, amountNano: MAX_NANO, now: START, note: null })
      const charge = makeCharge(MAX_NANO, { account })
      await hold(db, charge)
      await settle(db, charge, makeSettlement(MAX_NANO))
    }
    const { books, problems } = await audit(db, START)
    expect(problems).toEqual([])
    const sum = 3n * BigInt(MAX_NANO)
    expect(books).toEqual({ fundingNano: sum, revenueNano: sum, shortfallNano: 0n })
    expect(formatUsd(books.fundingNano)).toBe('27021597.764222973')
  })

  test.each(tamperings)('finds that $name', async ({ sql, finds }) => {
    const db = await openAuditedBooks(kind)
    await db.batch([{ sql }])
    const { problems } = await audit(db, START)
    expect(problems.join('\n')).toMatch(finds)
  })

  test('finds a hold that no balance covers, if the database no longer checks it', async () => {
    const db = await fillBooks(await openTestDatabase(kind))
    if (kind === 'sqlite') await db.query({ sql: 'pragma ignore_check_constraints = 1' })
    else
      await db.batch(
        ['accounts_check', 'accounts_check1', 'accounts_held_check'].map((name) => ({
          sql: `alter table accounts drop constraint if exists ${name}`,
        })),
      )
    await db.batch([{ sql: `update accounts set balance = 20 where name = 'alice'` }])
    expect((await audit(db, START)).problems.join('\n')).toMatch(
      /account alice: balance 20 does not cover held 50/,
    )
    await db.close()
  })

  test('tolerates an expired hold that was not swept yet', async () => {
    const db = await openAuditedBooks(kind)
    expect((await audit(db, START + 60_000 + 59_999)).problems).toEqual([])
    expect((await audit(db, START + 60_000 + 60_001)).problems).toEqual([
      'charge open: still held though it expired',
    ])
  })
}

/** Every kind of row: deposits, a settled, a released, a short and an open charge. */
async function openAuditedBooks(
  kind: DatabaseKind,
  before: (db: Db) => Promise<void> = async () => {},
): Promise<Db> {
  const db = await emptyBooks(kind)
  await before(db)
  return fillBooks(db)
}

function verifyBooks(db: Db, whole = false): ReturnType<typeof verify> {
  return verify(db, { now: START, key: 'key', whole, onProgress() {} })
}

async function fillBooks(db: Db): Promise<Db> {
  for (const [id, account, amountNano] of [
    ['deposit', 'alice', 900],
    ['other', 'bob', 350],
  ] as const) {
    await addCredit(db, { id, account, amountNano, now: START, note: null })
  }
  for (const id of ['settled', 'released', 'open']) await hold(db, makeCharge(50, { id }))
  await hold(db, makeCharge(100, { id: 'beyond', account: 'bob' }))
  await adjust(db, { id: 'take', account: 'bob', amountNano: -130, now: START, note: 'n' })
  await settle(db, makeCharge(50, { id: 'settled' }), makeSettlement(30))
  await referencesOf(db).seriesId(makeCharge(0, { account: 'mallory' }))
  await release(db, makeCharge(50, { id: 'released' }), { endedBy: 'upstream', endedAt: START })
  await settle(db, makeCharge(100, { id: 'beyond', account: 'bob' }), makeSettlement(350))
  return db
}

function chargeFor(key: ReturnType<typeof makeKey>, heldNano: number, tokens = 0): Charge {
  return makeCharge(heldNano, countersOf(key, tokens, START))
}

const shared = new Map<DatabaseKind, Promise<Db>>()

afterAll(async () => {
  for (const db of shared.values()) await (await db).close()
})

/** Empty books. The tests take turns on one database of each kind: making one takes PostgreSQL a while. */
async function emptyBooks(kind: DatabaseKind): Promise<Db> {
  const opening = shared.get(kind) ?? openTestDatabase(kind)
  shared.set(kind, opening)
  const db = await opening
  const tables = [
    'accounts',
    'open_charges',
    'ended_charges',
    'checkpoints',
    'secrets',
    'encryption_keys',
    'transfers',
    'rate_windows',
    'budgets',
    'saved_answers',
    'top_up_codes',
  ]
  await db.batch(tables.map((table) => ({ sql: `delete from ${table}` })))
  return db
}

async function openBooks(kind: DatabaseKind, balanceNano: number): Promise<Db> {
  const db = await emptyBooks(kind)
  await db.batch([openAccount('alice', START)])
  if (balanceNano > 0) await deposit(db, balanceNano)
  return db
}

/** Every test ends with the proof that the books are right. */
async function closeBooks(db: Db): Promise<void> {
  expect((await audit(db, START)).problems).toEqual([])
}

let deposits = 0

async function deposit(db: Db, amountNano: number): Promise<void> {
  await addCredit(db, { id: `deposit-${++deposits}`, account: 'alice', amountNano, now: START, note: null })
}

/** A charge whose hold has succeeded. */
async function held(db: Db, heldNano: number, fields: Partial<Charge> = {}): Promise<Charge> {
  const charge = makeCharge(heldNano, fields)
  expect(await hold(db, charge)).toEqual({ held: true })
  return charge
}

/** Alice's balance, and the held part of it. */
async function money(db: Db): Promise<[number, number]> {
  const balance = await balanceOf(db, 'alice')
  return [balance?.balanceNano ?? Number.NaN, balance?.heldNano ?? Number.NaN]
}

function rowsOf(db: Db, table: string): Promise<Record<string, Value>[]> {
  return db.query({ sql: `select * from ${table}` })
}

async function rowOf(db: Db, charge: Charge): Promise<Record<string, Value>> {
  const [row] = await db.query({ sql: 'select * from charges where id = $1', parameters: [charge.id] })
  return row ? withWholeUsage(row) : {}
}
