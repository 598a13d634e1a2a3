// Groups of movements on PostgreSQL: in random groups every request gets the same result as from the ledger's single statements on
// SQLite, in the documented order, and the rows are the same. A fault affects only its own movement.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { claimKey, freeKey, saveAnswer } from '../../src/billing/ledger/idempotency'
import { addCredit, type Charge, extendHold, hold, release, settle } from '../../src/billing/ledger/ledger'
import { conditionsOf, conditionsToExtend } from '../../src/billing/ledger/limits'
import { referencesOf } from '../../src/billing/ledger/shared-rows'
import { audit } from '../../src/billing/proofs/audit'
import type { Db, Statement } from '../../src/db/db'
import { clearCodec } from '../../src/db/encryption/codec'
import { migrate } from '../../src/db/migrations'
import { databaseKinds, openAddress, openTestDatabase, postgresUrl } from '../support/databases/databases'
import {
  countersOf,
  makeCharge,
  makeKey,
  makeSettlement,
  makeSpender,
  START,
} from '../support/databases/ledger-rows'
import { TABLES as WITH_TABLES } from '../support/databases/postgres'
import { waitFor } from '../support/gateway'
import { createRandom, type Random, seedOf } from '../support/random'

setDefaultTimeout(300_000)

const seed = seedOf('GROUPS_SEED')
const GROUPS = Number(process.env.GROUPS ?? 120)
/** The maximum number of groups until each answer has occurred, and how often accounts get money again. */
const MAX_GROUPS = 600
const DEPOSIT_EVERY = 40
const TABLES = ['accounts', 'open_charges', 'charges', 'budgets', 'rate_windows', 'saved_answers', 'things']

/** One request of a group, as it is made on any database. */
interface Work {
  name: string
  /** Place in the order in which the function makes the movements of a group. */
  order: [phase: number, ...names: string[]]
  run(db: Db): Promise<unknown>
}

const group = databaseKinds.includes('postgres') ? describe : describe.skip
group('a group of movements', () => {
  test(`${GROUPS} random ones or more have the same result as the statements one by one (GROUPS_SEED=${seed})`, async () => {
    const random = createRandom(seed)
    const [grouped, reference] = [await openTestDatabase('postgres'), await openTestDatabase('sqlite')]
    for (const db of [grouped, reference]) await prepare(db)
    const requests = new Requests(random)
    const seen = new Map<string, number>()
    const isMissing = () => COMMON.some((kind) => !seen.has(kind))
    for (let round = 0; round < GROUPS || (isMissing() && round < MAX_GROUPS); round++) {
      if (round % DEPOSIT_EVERY === 0)
        for (const db of [grouped, reference]) await deposit(db, `deposit ${round}`)
      const works = Array.from({ length: 1 + random.below(24) }, () => requests.next())
      const expected = new Map<Work, unknown>()
      for (const work of works.toSorted(byOrder)) expected.set(work, await work.run(reference))
      const results = await Promise.all(works.map((work) => work.run(grouped)))
      for (const [index, work] of works.entries()) {
        const result = results[index]
        if (!Bun.deepEquals(result, expected.get(work))) {
          throw new Error(
            `group ${round}: ${work.name} gave ${JSON.stringify(result)}, one by one ${JSON.stringify(expected.get(work))}`,
          )
        }
        const kind = `${work.name}: ${JSON.stringify(result)?.replaceAll(/\d+/g, 'n')}`
        seen.set(kind, (seen.get(kind) ?? 0) + 1)
      }
      await requests.refresh(reference)
      for (const table of TABLES) expect(await rowsOf(grouped, table)).toEqual(await rowsOf(reference, table))
    }
    expect((await audit(grouped, START)).problems).toEqual([])
    expect(COMMON.filter((kind) => !seen.has(kind))).toEqual([])
    for (const db of [grouped, reference]) await db.close()
  })

  test('is sent to the server in one call', async () => {
    const db = await openTestDatabase('postgres')
    await addCredit(db, { id: 'd', account: 'alice', amountNano: 1_000, now: START, note: null })
    const charges = Array.from({ length: 40 }, () => makeCharge(10))
    // The first request of a price list writes it down.
    await referencesOf(db).priceListId(makeCharge(10).pricesJson)
    await Promise.all(charges.map((charge) => hold(db, charge)))
    // The system column names the transaction that has written a row.
    const rows = await db.query({ sql: 'select distinct cast(xmin as text) as made_by from open_charges' })
    expect(rows).toHaveLength(1)
    await db.close()
  })

  test('with a faulty one among them is made without it', async () => {
    const db = await openTestDatabase('postgres')
    await addCredit(db, { id: 'd', account: 'alice', amountNano: 1_000, now: START, note: null })
    const twin = makeCharge(10)
    await hold(db, twin)
    const charges = [makeCharge(10), { ...twin }, makeCharge(10)]
    const results = await Promise.allSettled(charges.map((charge) => hold(db, charge)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    const nothing: Statement = { sql: 'insert into no_such_table values (1)' }
    const others = await Promise.allSettled([
      settle(db, charges[0] as Charge, makeSettlement(5)),
      settle(db, twin, makeSettlement(5), [nothing]),
    ])
    expect(others.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
    expect((await audit(db, START)).problems).toEqual([])
    await db.close()
  })

  test('finds its charges among many, even if the server believes that the table is empty', async () => {
    const url = await postgresUrl({ template: WITH_TABLES })
    const db = openAddress(url)
    await addCredit(db, { id: 'd', account: 'alice', amountNano: 1_000_000, now: START, note: null })
    const holdMany = async () => {
      const charges = Array.from({ length: 500 }, () => makeCharge(10))
      await Promise.all(charges.map((charge) => hold(db, charge)))
      return charges
    }
    await Promise.all((await holdMany()).map((charge) => settle(db, charge, makeSettlement(5))))
    // As autovacuum finds it when nothing runs.
    await db.query({ sql: 'vacuum (analyze, truncate false) open_charges' })
    const charges = await holdMany()
    await db.close()
    const [read, node] = [openAddress(url), openAddress(url)]
    const rowsRead = async () => {
      const sql = `select idx_tup_fetch as rows from pg_stat_user_tables where relname = 'open_charges'`
      return Number((await read.query({ sql }))[0]?.rows)
    }
    // The session above reports its 500 settlements some time after it was closed.
    await waitFor(async () => (await rowsRead()) >= 500)
    const before = await rowsRead()
    await Promise.all(charges.slice(0, 3).map((charge) => settle(node, charge, makeSettlement(5))))
    // A session reports its reads at the latest when it ends.
    await node.close()
    await waitFor(async () => (await rowsRead()) > before)
    expect((await rowsRead()) - before).toBeLessThan(100)
    await read.close()
  })

  test('stores texts unchanged, except that lone surrogates are replaced', async () => {
    const db = await openTestDatabase('postgres')
    const account = 'o"hara\\ (x), {y} null ünï'
    await addCredit(db, { id: 'd', account, amountNano: 1_000, now: START, note: null })
    const texts = ['🎉 "quotes" \\ud83d \\u0000 \n', '\ud83d alone']
    for (const [index, body] of texts.entries()) {
      const charge = makeCharge(10, { account, operation: '' })
      const key = { account, value: `key ${index}`, requestHash: 'h' }
      await hold(db, charge, [claimKey(key, charge.id, START)])
      const answer = { status: 200, contentType: 'text/plain', body }
      await settle(db, charge, makeSettlement(5), [saveAnswer(db, charge.id, answer)])
      const rows = await db.query({
        sql: 'select body from saved_answers where charge = $1',
        parameters: [charge.id],
      })
      expect(rows).toEqual([{ body: body.toWellFormed() }])
    }
    expect(await db.query({ sql: 'select distinct account, operation from charges' })).toEqual([
      { account, operation: '' },
    ])
    await db.close()
  })
})

group('a server without the function', () => {
  const user = 'no_functions'

  test('whose user may not create it serves requests one by one, with the same books', async () => {
    const url = await postgresUrl()
    const admin = openAddress(url)
    await admin.batch([
      {
        sql: `do $$ begin create role ${user} login password 'secret'; exception when others then null; end $$`,
      },
      { sql: `grant all on schema public to ${user}` },
      { sql: 'revoke usage on language plpgsql from public' },
    ])
    const address = new URL(url)
    address.username = user
    address.password = 'secret'
    const db = openAddress(address.href)
    await migrate(db)
    expect(await db.query({ sql: `select proname from pg_proc where proname like 'move_money%'` })).toEqual(
      [],
    )
    await addCredit(db, { id: 'd', account: 'alice', amountNano: 100, now: START, note: null })
    const charges = Array.from({ length: 20 }, () => makeCharge(10))
    const results = await Promise.all(charges.map((charge) => hold(db, charge)))
    const held = charges.filter((_, index) => 'held' in (results[index] as object))
    expect(held).toHaveLength(10)
    await Promise.all(held.map((charge) => settle(db, charge, makeSettlement(4))))
    expect((await audit(db, START)).problems).toEqual([])
    await db.close()
    await admin.close()
  })
})

const USAGE = '{"a":1}'
const COMMON = [
  'hold: {"held":true}',
  ...['balance', 'rate', 'concurrency', 'budget', 'account budget', 'idempotency'].map(
    (name) => `hold: {"refusedBy":"${name}"}`,
  ),
  'hold of a spender: {"held":true}',
  ...['balance', 'spender rate', 'spender budget', 'account budget'].map(
    (name) => `hold of a spender: {"refusedBy":"${name}"}`,
  ),
  'settle of a spender: {"paidNano":n,"shortfallNano":n}',
  'release of a spender: true',
  'extend: {"refusedBy":"spender budget"}',
  'hold with more: {"held":true}',
  'settle: {"paidNano":n,"shortfallNano":n}',
  'settle: undefined',
  'settle with more: undefined',
  'release: true',
  'release: false',
  'extend: {"held":true}',
  'extend: {"refusedBy":"charge"}',
]

const ACCOUNTS = ['alice', 'bob', 'carol']
const LIMITS = [
  { requestsPerMinute: 9, concurrency: 3 },
  { tokensPerMinute: 2_000, budgetNano: 40_000, budgetPeriod: 'day' },
  { requestsPerMinute: 400, concurrency: 2, budgetNano: 1_500, budgetPeriod: 'month' },
] as const

/** Limits of the spenders of a key of each account, which has no limits itself. */
const SPENDERS = [
  { budgetNano: 2_500, budgetPeriod: 'day' },
  { requestsPerMinute: 3, budgetNano: 40_000, budgetPeriod: null },
  { budgetNano: 9_000, budgetPeriod: 'month' },
] as const

/** Budgets of the accounts, which all keys of each share. */
const BUDGETS = [null, { amountNano: 30_000, period: 'day' }, { amountNano: 90_000, period: 'week' }] as const

/** Without money again and again, an account refuses what its limits would have refused. */
async function deposit(db: Db, id: string): Promise<void> {
  for (const [index, account] of ACCOUNTS.entries()) {
    const amountNano = 3_000 * 10 ** index
    await addCredit(db, { id: `${id} ${account}`, account, amountNano, now: START, note: null })
  }
}

async function prepare(db: Db): Promise<void> {
  await db.batch([{ sql: 'create table things (id bigint primary key, word text)' }])
  const references = referencesOf(db)
  for (const account of ACCOUNTS) {
    // Names used for the first time are written before their movement, which then joins a later group.
    for (const keyId of [`${account} free`, `${account} limited`, `${account} shared`]) {
      const charge = makeCharge(0, { account, keyId })
      await references.priceListId(charge.pricesJson)
      await references.usage(await references.seriesId(charge), USAGE)
    }
  }
}

/** Random requests of few accounts and keys, so that they meet each other and their limits. */
class Requests {
  private readonly keys = ACCOUNTS.flatMap((account, index) => {
    const shared = { account, accountBudget: BUDGETS[index] ?? null }
    const spender = makeSpender({ id: `${account} spender`, kind: 'user', ...SPENDERS[index] })
    return [
      makeKey({ id: `${account} free`, ...shared }),
      makeKey({ id: `${account} limited`, ...shared, ...LIMITS[index] }),
      makeKey({ id: `${account} shared`, ...shared, spender }),
    ]
  })
  private now = START
  private count = 0
  private open: Charge[] = []
  private ended: Charge[] = []

  constructor(private readonly random: Random) {}

  next(): Work {
    const dice = this.random.below(100)
    if (dice < 45 || this.open.length === 0) return this.holding()
    return dice < 88 ? this.ending() : this.extending()
  }

  /** Learns which charges are open, and with how much. */
  async refresh(db: Db): Promise<void> {
    const rows = new Map((await rowsOf(db, 'open_charges')).map((row) => [row.id, row]))
    this.ended = [...this.ended, ...this.open.filter(({ id }) => !rows.has(id))].slice(-50)
    this.open = this.open.filter(({ id }) => rows.has(id))
    for (const charge of this.open) {
      charge.heldNano = rows.get(charge.id)?.held as number
      charge.windowTokens = rows.get(charge.id)?.window_tokens as number
    }
    this.now += this.random.pick([0, 0, 1, 500, 20_000])
  }

  private holding(): Work {
    const { random, now } = this
    const key = random.pick(this.keys)
    const charge = makeCharge(random.below(random.pick([3, 100, 900])), {
      id: `charge ${String(++this.count).padStart(8, '0')}`,
      account: key.account,
      keyId: key.id,
      createdAt: now,
      expiresAt: now + 60_000,
      ...countersOf(key, random.below(300), now),
    })
    const conditions = conditionsOf(key, charge)
    if (random.chance(0.2)) {
      const value = `key ${random.below(30)}`
      conditions.push(claimKey({ account: key.account, value, requestHash: 'hash' }, charge.id, now))
    }
    const { name, also } = charge.spender ? ofSpender() : this.more(false)
    this.open.push(charge)
    const minute = String(charge.windowMinute ?? '~')
    return {
      name: `hold${name}`,
      order: name ? [2] : [1, charge.account, charge.keyId, minute],
      run: (db) => hold(db, charge, conditions, also),
    }
  }

  private ending(): Work {
    const { random, now } = this
    const known = random.pick(this.ended.length > 0 && random.chance(0.1) ? this.ended : this.open)
    const charge = random.chance(0.05) ? { ...known, heldNano: known.heldNano + 1 } : { ...known }
    const { name, also } = charge.spender ? ofSpender() : this.more(true)
    const answer = { status: 200, contentType: 'text/plain', body: 'ünï' }
    if (random.chance(0.3))
      also.unshift(
        random.chance(0.5) ? saveAnswer({ codec: clearCodec }, charge.id, answer) : freeKey(charge.id),
      )
    const order: Work['order'] = name ? [2] : [0, charge.account, charge.keyId, charge.id]
    const costNano = random.chance(0.5) ? null : random.below(500)
    if (random.chance(0.3)) {
      const end = { endedBy: 'upstream', endedAt: now, costNano } as const
      return { name: `release${name}`, order, run: (db) => release(db, charge, end, also) }
    }
    // A settlement above the hold of a spender is a transaction of its own, and so at no known place among the others.
    const isBeyond = !charge.spender && random.chance(0.3)
    const price = isBeyond ? charge.heldNano + random.below(500) : random.below(charge.heldNano + 1)
    const settlement = makeSettlement(price, {
      endedAt: now,
      tokens: random.below(300),
      usageJson: USAGE,
      costNano,
    })
    return { name: `settle${name}`, order, run: (db) => settle(db, charge, settlement, also) }
  }

  private extending(): Work {
    const charge = { ...this.random.pick(this.open) }
    const key = this.keys.find(({ id }) => id === charge.keyId) ?? makeKey()
    const extension = { amountNano: 1 + this.random.below(400), windowTokens: this.random.below(100) }
    const conditions = conditionsToExtend(key, charge, extension)
    return { name: 'extend', order: [2], run: (db) => extendHold(db, charge, extension, conditions) }
  }

  /** An added statement, and for an end one that may miss. */
  private more(guarded: boolean): { name: string; also: Statement[] } {
    if (this.random.chance(0.8)) return { name: '', also: [] }
    const id = ++this.count
    const insert = { sql: 'insert into things (id, word) values ($1, $2)', parameters: [id, 'it’s $1'] }
    const sql = 'update things set word = $2 where id = $1'
    const guard = { sql, parameters: [this.random.below(id + 20), null], guard: true }
    return { name: ' with more', also: guarded ? [insert, guard] : [insert] }
  }
}

/** Like added statements: such statements, made by the ledger itself, count the budget of a spender. */
function ofSpender(): { name: string; also: Statement[] } {
  return { name: ' of a spender', also: [] }
}

function byOrder(one: Work, other: Work): number {
  for (const [index, name] of one.order.entries()) {
    const against = other.order[index]
    if (against === undefined || name === against) continue
    return name < against ? -1 : 1
  }
  return 0
}

async function rowsOf(db: Db, table: string) {
  const rows = await db.query({ sql: `select * from ${table}` })
  return rows.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))
}
