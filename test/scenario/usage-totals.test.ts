// Totals of usage compared with the charges: reports from them match the charges to the last request, however much of the
// charges is in the totals already.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { ledgerOf } from '../../src/billing/ledger/account-ledger'
import { addCredit, type Charge, hold, release, settle } from '../../src/billing/ledger/ledger'
import {
  chargesOf,
  type UsageDimension,
  type UsagePeriod,
  usageBy,
  usageDimensions,
} from '../../src/billing/reports/usage-report'
import {
  addToTotals,
  DAY_MS,
  firstPositionSince,
  HOUR_MS,
  highestPosition,
  markOf,
  positionsBetween,
  rebuildTotals,
} from '../../src/billing/reports/usage-totals'
import type { Db } from '../../src/db/db'
import { findRequest } from '../../src/request-log/look-up'
import type { LoggedRequest } from '../../src/request-log/row'
import { type DatabaseKind, databaseKinds, openTestDatabase } from '../support/databases/databases'
import { ledgerFromItsEnd, makeCharge, makeSettlement, START } from '../support/databases/ledger-rows'
import { holdTask } from '../support/databases/task-rows'
import { createRandom, type Random, seedOf } from '../support/random'

setDefaultTimeout(120_000)

const seed = seedOf('USAGE_SEED')

async function charge(db: Db, random: Random): Promise<void> {
  const endedAt = START + random.below(5 * DAY_MS)
  const account = random.pick(['alice', 'bob'])
  const each = makeCharge(100, {
    account,
    keyId: `${account} ${random.below(2)}`,
    model: random.pick(['m', 'n']),
    operation: random.pick(['chat', 'image']),
    createdAt: endedAt - random.below(HOUR_MS),
  })
  await hold(db, each)
  if (random.chance(0.05)) return
  if (random.chance(0.2)) await release(db, each, { endedBy: 'client', endedAt })
  else {
    const usageSource = random.pick(['upstream', 'counted', 'estimated'] as const)
    const costNano = random.chance(0.3) ? null : random.below(150)
    await settle(db, each, makeSettlement(random.below(150), { endedAt, usageSource, costNano }))
  }
}

/** The charges themselves, added up one by one. */
async function reference(
  db: Db,
  by: UsageDimension,
  { since, until = Number.MAX_SAFE_INTEGER }: UsagePeriod,
) {
  const sums = new Map<string, Record<string, number>>()
  for (const row of await db.query({ sql: 'select * from charges' })) {
    const at = (row.state === 'held' ? row.created_at : row.ended_at) as number
    if (at < since || at >= until) continue
    const names = {
      ...row,
      key: row.key_id,
      spender: row.spender_id ?? '(none)',
      day: at - (at % DAY_MS),
      hour: at - (at % HOUR_MS),
    }
    const name = String((names as Record<string, unknown>)[by])
    const sum = sums.get(name) ?? {
      requests: 0,
      running: 0,
      released: 0,
      counted: 0,
      estimated: 0,
      amountNano: 0,
      shortfallNano: 0,
      costNano: 0,
      costedNano: 0,
    }
    const more = {
      requests: 1,
      running: Number(row.state === 'held'),
      released: Number(row.state === 'released'),
      counted: Number(row.usage_source === 'counted'),
      estimated: Number(row.usage_source === 'estimated'),
      amountNano: row.amount as number,
      shortfallNano: row.shortfall as number,
      costNano: (row.cost ?? 0) as number,
      costedNano: row.cost === null ? 0 : (row.amount as number),
    }
    for (const [field, figure] of Object.entries(more)) sum[field] = (sum[field] as number) + figure
    sums.set(name, sum)
  }
  return [...sums]
    .map(([name, sum]) => ({ name, ...sum }))
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
}

async function expectExact(db: Db, random: Random): Promise<void> {
  for (let round = 0; round < 8; round++) {
    const since = random.chance(0.2) ? 0 : START - HOUR_MS + random.below(5 * DAY_MS)
    const period = random.chance(0.4) ? { since } : { since, until: since + random.below(3 * DAY_MS) }
    const by = random.pick([...usageDimensions])
    const used = await usageBy(db, by, period)
    const sorted = used.toSorted((one, other) => (one.name < other.name ? -1 : 1))
    expect({ by, period, used: sorted as object }).toEqual({
      by,
      period,
      used: await reference(db, by, period),
    })
  }
}

function totalsContract(kind: DatabaseKind): void {
  test(`reports are exact before, between and after charges are added up (USAGE_SEED=${seed})`, async () => {
    const random = createRandom(seed)
    const db = await openTestDatabase(kind)
    for (const account of ['alice', 'bob'])
      await addCredit(db, { id: account, account, amountNano: 50_000, now: START, note: null })
    for (let round = 0; round < 5; round++) {
      for (let count = 0; count < 60; count++) await charge(db, random)
      await expectExact(db, random)
      if (round % 2 === 0) {
        expect(await addToTotals(db)).toBeGreaterThan(0)
        await expectExact(db, random)
      }
    }
    const before = await db.query({ sql: 'select * from usage_totals order by span, start, series' })
    await addToTotals(db)
    await rebuildTotals(db, () => {})
    await expectExact(db, random)
    expect((await db.query({ sql: 'select * from usage_totals' })).length).toBeGreaterThanOrEqual(
      before.length,
    )
    await db.close()
  })

  test('each charge is added once, whoever adds at the same time', async () => {
    const random = createRandom(seed)
    const db = await openTestDatabase(kind)
    await addCredit(db, { id: 'a', account: 'alice', amountNano: 50_000, now: START, note: null })
    await addCredit(db, { id: 'b', account: 'bob', amountNano: 50_000, now: START, note: null })
    const adding = Array.from({ length: 40 }, async () => {
      await charge(db, random)
      await addToTotals(db).catch(() => 0)
    })
    await Promise.all(adding)
    await addToTotals(db)
    const [row] = await db.query({
      sql: `select (select cast(sum(requests) as bigint) from usage_totals where span = ${HOUR_MS}) as added,
        (select count(*) from ended_charges) as ended`,
    })
    expect(row?.added).toBe(row?.ended as number)
    await db.close()
  })

  test('say where the charges of a time begin', async () => {
    const db = await openTestDatabase(kind)
    await addCredit(db, { id: 'a', account: 'alice', amountNano: 50_000, now: START, note: null })
    for (const hours of [0, 1, 2, 26, 76]) {
      const endedAt = START + hours * HOUR_MS
      const each = makeCharge(10)
      await hold(db, each)
      await settle(db, each, makeSettlement(5, { endedAt }))
    }
    expect(await firstPositionSince(db, START + HOUR_MS)).toBe(1)
    await addToTotals(db)
    expect(await markOf(db)).toBe(5)
    const found = [-24, 0, 1.5, 3, 25.5, 27, 76.9, 77].map((hours) => START + hours * HOUR_MS)
    const first = await Promise.all(found.map((at) => firstPositionSince(db, at)))
    expect(first).toEqual([1, 1, 2, 4, 4, 5, 5, 6])
    const before = [0, 1, 1.5, 12, 26.5, 77].map((hours) => START + hours * HOUR_MS)
    const ranges = await Promise.all(before.map((at) => positionsBetween(db, 0, at)))
    expect(ranges.map(([range]) => range?.[1])).toEqual([0, 1, 2, 3, 4, 5])
    await db.close()
  })
}

/** Entries of a ledger, and the same by the movements of the account one by one. */
async function expectLedger(db: Db, account: string, since: number, until: number): Promise<void> {
  const entries = (await Array.fromAsync(ledgerOf(db, account, { since, until }))).flat()
  const book = `account:${account}`
  const rows = await db.query({
    sql: 'select * from movements where from_book = $1 or to_book = $1 order by at, id',
    parameters: [book],
  })
  const signed = rows.map((row) => ({
    id: row.id,
    at: row.at as number,
    amount: (row.to_book === book ? 1 : -1) * (row.amount as number),
  }))
  const before = signed.filter(({ at }) => at < since).reduce((sum, { amount }) => sum + amount, 0)
  const inside = signed.filter(({ at }) => at >= since && at < until)
  expect(entries.map(({ id }) => id).toSorted()).toEqual(inside.map(({ id }) => id as string).toSorted())
  let balance = before
  for (const entry of entries) {
    balance += entry.amountNano
    expect(entry.balanceAfterNano).toBe(balance)
  }
  expect(balance).toBe(before + inside.reduce((sum, { amount }) => sum + amount, 0))
  for (const limit of [4, 1_000])
    expect(await ledgerFromItsEnd(db, account, { since, until }, limit)).toEqual(entries.toReversed())
}

function emptyPeriodContract(kind: DatabaseKind): void {
  test('a period without any time in it has no usage', async () => {
    const db = await openTestDatabase(kind)
    const random = createRandom(seed)
    await addCredit(db, { id: 'alice', account: 'alice', amountNano: 50_000, now: START, note: null })
    for (let count = 0; count < 20; count++) await charge(db, random)
    await addToTotals(db)
    for (const since of [0, START, START + 1, START + 2 * DAY_MS + 1])
      for (const back of [0, 1, HOUR_MS, 3 * DAY_MS])
        for (const by of usageDimensions)
          expect(await usageBy(db, by, { since, until: since - back })).toEqual([])
    await db.close()
  })
}

function ledgerContract(kind: DatabaseKind): void {
  test('has every movement of a period once, and the balance before it', async () => {
    const random = createRandom(seed)
    const db = await openTestDatabase(kind)
    for (let round = 0; round < 4; round++) {
      for (const account of ['alice', 'bob']) {
        const now = START + random.below(5 * DAY_MS)
        await addCredit(db, { id: `${account} ${round}`, account, amountNano: 20_000, now, note: null })
      }
      for (let count = 0; count < 50; count++) await charge(db, random)
      if (round === 1) await addToTotals(db)
      for (let period = 0; period < 4; period++) {
        const since = random.chance(0.3) ? 0 : START + random.below(5 * DAY_MS)
        const until = random.chance(0.3) ? Number.MAX_SAFE_INTEGER : since + random.below(3 * DAY_MS)
        await expectLedger(db, random.pick(['alice', 'bob', 'nobody']), since, until)
      }
    }
    await db.close()
  })
}

const REQUEST_LENGTH = 12

/** A charge under the id of a request that came at a time. */
async function chargeOfRequest(db: Db, at: number, operation: string, suffix = ''): Promise<Charge> {
  const id = `req_${at.toString(16).padStart(REQUEST_LENGTH, '0')}${'7'.padEnd(20, '0')}${suffix}`
  const each = makeCharge(10, { id, operation, createdAt: at })
  await hold(db, each)
  return each
}

function lookUpContract(kind: DatabaseKind): void {
  test('are found without those behind them, a late one and one that ended late too', async () => {
    const db = await openTestDatabase(kind)
    await addCredit(db, { id: 'a', account: 'alice', amountNano: 1e9, now: START, note: null })
    const times = [0, 1, 2, 3, 4].map((days) => START + days * DAY_MS)
    const [failed, video, deleted, slow, last] = times as [number, number, number, number, number]
    const chat = await chargeOfRequest(db, failed, 'chat')
    await release(db, chat, { endedBy: 'upstream', endedAt: failed })
    const videos = [
      await chargeOfRequest(db, video, 'video'),
      await chargeOfRequest(db, deleted, 'video'),
    ] as const
    for (const each of videos) await release(db, each, { endedBy: 'upstream', endedAt: each.createdAt })
    const slowest = await chargeOfRequest(db, slow, 'chat')
    const open = await chargeOfRequest(db, last, 'chat')
    await addToTotals(db)
    for (const { createdAt } of videos) {
      const late = await chargeOfRequest(db, createdAt, 'video', ':late')
      await settle(db, late, makeSettlement(5, { endedAt: last + 40 * DAY_MS }))
    }
    await settle(db, slowest, makeSettlement(5, { endedAt: last + 60 * DAY_MS }))
    await addToTotals(db)

    let furthest = 0
    const watched: Db = {
      ...db,
      query: (statement) => {
        if (/charge_history/.test(statement.sql))
          furthest = Math.max(furthest, Number(statement.parameters?.[3]))
        return db.query(statement)
      },
    }
    const statesOf = async ({ id }: Charge) => {
      furthest = 0
      return (await chargesOf(watched, id)).map(({ state }) => state)
    }
    expect(await statesOf(chat)).toEqual(['released'])
    expect(furthest).toBeLessThan(await highestPosition(db))
    expect(await statesOf(open)).toEqual(['held'])
    expect(furthest).toBe(0)
    for (const each of videos) expect(await statesOf(each)).toEqual(['released', 'settled'])
    expect(await statesOf(slowest)).toEqual(['settled'])
    // A video that has failed, without a further charge.
    await holdTask(db, { id: 'video_own', charge: `task ${kind}`, createdAt: failed })
    await db.batch([{ sql: 'update tasks set charge = $1', parameters: [videos[0].id] }])
    expect(await statesOf(videos[0])).toEqual(['released'])
    expect(furthest).toBeLessThan(await highestPosition(db))
    await db.close()
  })

  test('are not looked for where nothing was held', async () => {
    const db = await openTestDatabase(kind)
    const query: Db['query'] = (statement) => {
      expect(statement.sql).not.toContain('charge')
      return db.query(statement)
    }
    const row = { id: 'req_1', at: START, held: null } as unknown as LoggedRequest
    const requests = { find: async () => row, list: () => Promise.reject(new Error('not asked')) }
    const found = await findRequest({ db: { ...db, query }, requests }, 'req_1')
    expect(found).toMatchObject({ row, charges: [] })
    await db.close()
  })
}

describe.each(databaseKinds)('charges of a request on %s', lookUpContract)
describe.each(databaseKinds)('the ledger of an account on %s', ledgerContract)
describe.each(databaseKinds)('totals of usage on %s', totalsContract)
describe.each(databaseKinds)('usage of nothing on %s', emptyPeriodContract)
