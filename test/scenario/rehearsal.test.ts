// The ledger at other prices: at the same prices no account differs by a nano-dollar, whatever the history; at others each charge
// costs what the gateway would have billed; and charges that cannot be derived are counted by reason and keep their amount.

import { afterEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { folderPlace } from '../../src/backup/place'
import { addCredit, hold, settle } from '../../src/billing/ledger/ledger'
import { signingKey } from '../../src/billing/proofs/checkpoint'
import { type Rehearsal, rehearse } from '../../src/billing/rehearsal/rehearsal'
import { RehearsedPrices } from '../../src/billing/rehearsal/rehearsed-prices'
import { addToTotals, DAY_MS, HOUR_MS } from '../../src/billing/reports/usage-totals'
import { type Config, faultsOf, type ModelConfig } from '../../src/config/schema'
import type { Quantities } from '../../src/contract/units'
import { apply, type Db } from '../../src/db/db'
import { NANO_PER_USD } from '../../src/lib/money'
import { runRetention } from '../../src/retention/run'
import {
  type DatabaseKind,
  databaseKinds,
  openTestDatabase,
  temporaryFolder,
} from '../support/databases/databases'
import { makeCharge, makeSettlement } from '../support/databases/ledger-rows'
import { ACCOUNTS, billOfUse, PricedHistory, randomConfig } from '../support/priced-history'
import { casesOf, createRandom, seedOf } from '../support/random'

setDefaultTimeout(240_000)

const seed = seedOf('REHEARSAL_SEED')
const MARCH = Date.UTC(2026, 2)
/** A database of PostgreSQL for each history takes longer. */
const CASES = { sqlite: casesOf(20), postgres: casesOf(10) }
const ALL = { since: 0, until: Number.MAX_SAFE_INTEGER }
const open: Db[] = []
afterEach(async () => {
  for (const db of open.splice(0)) await db.close()
})

async function newDatabase(kind: DatabaseKind): Promise<Db> {
  const db = await openTestDatabase(kind)
  open.push(db)
  return db
}

interface Wish {
  after?: Config
  routes?: Record<string, string>
  known?: ReadonlyMap<string, Quantities>
  since?: number
  until?: number
}

function tryPrices(db: Db, before: Config, { after = before, routes = {}, known, ...period }: Wish = {}) {
  const prices = new RehearsedPrices({ before, after, routes: new Map(Object.entries(routes)) })
  return rehearse(db, { ...ALL, ...period, prices, recorded: async () => known ?? new Map() })
}

async function newHistory(
  kind: DatabaseKind,
  number: number,
  { richNano = 10 ** 13, charges = 60, stepMs = 60_000 } = {},
) {
  const random = createRandom(seed + number)
  const config = randomConfig(random)
  expect(faultsOf(config)).toEqual([])
  const db = await newDatabase(kind)
  const history = new PricedHistory(db, config, random)
  await history.begin(MARCH, richNano)
  for (let index = 0; index < charges; index++) {
    await history.grow(MARCH + index * stepMs)
    if (random.chance(0.05)) await addToTotals(db)
  }
  return { db, config, random, history }
}

const quantitiesOf = ({ charges }: PricedHistory, share = 1, random = createRandom(seed)) =>
  new Map(charges.flatMap(({ id, quantities }) => (random.chance(share) ? [[id, quantities]] : [])))

function expectSame({ total, accounts }: Rehearsal): void {
  for (const sums of [total, ...accounts.values()]) {
    expect(sums.wouldPayNano - sums.paidNano).toBe(0n)
    expect(sums.refused).toBe(0)
  }
}

describe.each(databaseKinds)('a rehearsal on %s', (kind) => {
  test(`at the paid prices nothing differs (REHEARSAL_SEED=${seed})`, async () => {
    let [keptWithoutLog, settledInAll] = [0, 0]
    for (let number = 0; number < CASES[kind]; number++) {
      // A poor account falls short, and meets the end of its balance again and again.
      const richNano = number % 2 === 0 ? 10 ** 13 : 20_000_000
      const { db, config, history } = await newHistory(kind, number, { richNano })
      const settled = history.charges.filter(({ state }) => state !== 'released').length
      const whole = await tryPrices(db, config, { known: quantitiesOf(history) })
      expectSame(whole)
      expect(whole.total.requests).toBe(history.charges.length)
      const cut = history.charges.filter(({ state }) => state === 'cut').length
      expect(whole.total.kept).toBe(cut)
      // Without what the log recorded, more keeps what was paid, and most is still found.
      const bare = await tryPrices(db, config)
      expectSame(bare)
      keptWithoutLog += bare.total.kept
      settledInAll += settled
      expectSame(await tryPrices(db, config, { known: quantitiesOf(history, 0.5) }))
      const middle = MARCH + 30 * 60_000
      const halves = [
        await tryPrices(db, config, { until: middle }),
        await tryPrices(db, config, { since: middle }),
      ]
      halves.forEach(expectSame)
      expect(halves.reduce((sum, { total }) => sum + total.paidNano, 0n)).toBe(whole.total.paidNano)
    }
    expect(keptWithoutLog).toBeLessThan(settledInAll * 0.75)
  })

  test(`at other prices each charge costs what the request line would have billed (REHEARSAL_SEED=${seed})`, async () => {
    for (let number = 100; number < 100 + CASES[kind]; number++) {
      const { db, config, random, history } = await newHistory(kind, number)
      const other = randomConfig(random)
      const after: Config = {
        ...config,
        models: { ...config.models, talk: other.models.talk as ModelConfig },
        plans: { ...config.plans, gold: { priceFactor: '1.5' } },
      }
      const found = await tryPrices(db, config, {
        after,
        routes: { chatter: 'talk' },
        known: quantitiesOf(history),
      })
      const expected = new Map<string, bigint>()
      for (const { state, priceNano, ...charge } of history.charges) {
        if (state !== 'settled') continue
        const { request: _, ...quantities } = charge.quantities
        const use = { ...charge, quantities }
        const was = billOfUse(config, use)
        expect(was.priceNano).toBe(priceNano)
        // A tier without a price was paid as usual, and is stored nowhere.
        const stored = JSON.parse(was.pricesJson)
        const { tier } = (Array.isArray(stored) ? stored : stored.price)[0]
        const model = charge.model === 'chatter' ? 'talk' : charge.model
        const next = billOfUse(after, { ...use, model, tier })
        expected.set(charge.account, (expected.get(charge.account) ?? 0n) + BigInt(next.priceNano))
      }
      for (const account of Object.keys(ACCOUNTS)) {
        const { wouldPayNano = 0n, keptNano = 0n } = found.accounts.get(account) ?? {}
        expect(wouldPayNano).toBe((expected.get(account) ?? 0n) + keptNano)
      }
    }
  })

  test('closed months keep the paid amounts, and are counted under that name', async () => {
    const { db, config, history } = await newHistory(kind, 300, { charges: 90, stepMs: DAY_MS })
    await addToTotals(db)
    const known = quantitiesOf(history)
    const before = await tryPrices(db, config, { known })
    const now = MARCH + 92 * DAY_MS
    const key = await signingKey(db, (count) => crypto.getRandomValues(new Uint8Array(count)), now)
    const place = folderPlace(temporaryFolder())
    await runRetention({ db, place, key, scratch: temporaryFolder(), now: () => now }, 1)
    const [closed] = await db.query({ sql: 'select max(ended_before) as until from closings' })
    const until = closed?.until as number
    expect(until).toBeGreaterThan(MARCH)
    const inArchives = history.charges.filter(({ endedAt }) => endedAt < until)
    const free: Config = {
      ...config,
      models: { ...config.models, talk: { family: 'openai-chat', upstream: 'vendor', free: true } },
    }
    for (const after of [config, free]) {
      const found = await tryPrices(db, config, { known, after })
      expect(found.kept.get('closed')?.requests).toBe(inArchives.length)
      expect(found.total.paidNano).toBe(before.total.paidNano)
      expect(found.total.requests).toBe(before.total.requests)
      if (after === config) expectSame(found)
      else expect(found.total.wouldPayNano).toBeLessThan(found.total.paidNano)
    }
    // Within a month, where all is closed, and behind it, where nothing is.
    const inMonth = await tryPrices(db, config, { since: MARCH + DAY_MS, until: MARCH + 9 * DAY_MS, known })
    expectSame(inMonth)
    expect(inMonth.total.kept).toBe(inMonth.total.requests)
    const behind = await tryPrices(db, config, { since: until, known, after: free })
    expect(behind.kept.has('closed')).toBe(false)
    const open = history.charges.filter(({ endedAt }) => endedAt >= until).length
    expect(behind.total.requests).toBe(open)
  })

  test('a charge that an account could not have paid is refused, in the order of deposits and charges', async () => {
    const db = await newDatabase(kind)
    const entry = (price: string): ModelConfig => ({
      family: 'dashscope-speech',
      upstream: 'vendor',
      price: { per_1m_characters: price },
    })
    const config = (price: string): Config => ({
      upstreams: { vendor: { kind: 'dashscope', apiKey: 'none' } },
      models: { voice: entry(price) },
    })
    const cents = NANO_PER_USD / 100
    const deposit = (id: string, hours: number, amount: number) =>
      addCredit(db, {
        id,
        account: 'ann',
        amountNano: amount * cents,
        now: MARCH + hours * HOUR_MS,
        note: null,
      })
    const pay = async (id: string, hours: number) => {
      const at = MARCH + hours * HOUR_MS
      const { priceNano, pricesJson } = billOfUse(config('10000'), {
        account: 'ann',
        model: 'voice',
        quantities: { character: 40 },
        tier: undefined,
        variant: undefined,
      })
      const charge = makeCharge(priceNano, { id, account: 'ann', model: 'voice', createdAt: at, pricesJson })
      expect(await hold(db, charge)).toEqual({ held: true })
      await settle(db, charge, makeSettlement(priceNano, { endedAt: at, usageSource: 'counted' }))
    }
    await deposit('first', 0, 100)
    await pay('one', 1)
    await pay('two', 2)
    await deposit('second', 3, 50)
    await pay('three', 4)
    const rows = [
      // Price of a million characters, requests refused, cents paid.
      ['10000', 0, 120],
      ['12500', 0, 150],
      // 60 of 100, then 60 of 40, then 60 of 90.
      ['15000', 1, 120],
      // 80 of 100, then 80 of 20, then 80 of 70.
      ['20000', 2, 80],
      ['30000', 2, 120],
      ['40000', 3, 0],
    ] as const
    for (const [price, refused, paid] of rows) {
      const { total } = await tryPrices(db, config('10000'), { after: config(price) })
      expect({ price, refused: total.refused, paid: Number(total.wouldPayNano) / cents }).toEqual({
        price,
        refused,
        paid,
      })
      expect(total.refusedNano).toBe(BigInt((refused * Number(price) * 40 * cents) / 10_000))
    }
    // A part of the period begins with the balance of that time.
    const late = { after: config('20000'), since: MARCH + 3 * HOUR_MS }
    expect((await tryPrices(db, config('10000'), late)).total).toMatchObject({ requests: 1, refused: 1 })
  })

  test('only one page of charges is in memory, however many there are', async () => {
    const db = await newDatabase(kind)
    const config = randomConfig(createRandom(7))
    const { pricesJson, priceNano } = billOfUse(config, {
      account: 'ann',
      model: 'voice',
      quantities: { character: 100 },
      tier: undefined,
      variant: undefined,
    })
    await addCredit(db, { id: 'rich', account: 'ann', amountNano: 10 ** 13, now: MARCH, note: null })
    const first = makeCharge(priceNano, { account: 'ann', model: 'voice', createdAt: MARCH, pricesJson })
    await hold(db, first)
    await settle(db, first, makeSettlement(priceNano, { endedAt: MARCH, usageSource: 'counted' }))
    const COUNT = 23_000
    const numbers =
      kind === 'postgres'
        ? `select number from generate_series(1, ${COUNT}) as numbers (number)`
        : `with recursive numbers (number) as (select 1 union all select number + 1 from numbers where number < ${COUNT})
          select number from numbers`
    await apply(db, [
      {
        sql: `insert into ended_charges (id, series, price_list, state, held, amount, shortfall, usage_source, ended_by, created_at, ended_at)
          select 'copy-' || number, series, price_list, state, held, amount, shortfall, usage_source, ended_by, created_at, ended_at
          from ended_charges cross join (${numbers}) as copies`,
      },
    ])
    let most = 0
    const counted = Object.create(db) as Db
    counted.query = async (statement) => {
      const rows = await db.query(statement)
      most = Math.max(most, rows.length)
      return rows
    }
    const found = await tryPrices(counted, config)
    expect(found.total.requests).toBe(COUNT + 1)
    expectSame(found)
    expect(found.total.kept).toBe(0)
    expect(most).toBeLessThanOrEqual(5_000)
  })
})
