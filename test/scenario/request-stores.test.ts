// The stores for rows of requests: all of them return the same pages for the same query as a list in memory. The specific tests of
// each store follow.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Db } from '../../src/db/db'
import { openSqlite } from '../../src/db/drivers/sqlite'
import { clearCodec } from '../../src/db/encryption/codec'
import { PARTIES } from '../../src/request-log/failure'
import { type RequestFilter, rowConditionsOf, UnknownCursor } from '../../src/request-log/filter'
import { rowsForTests } from '../../src/request-log/page-columns'
import { openPageFile } from '../../src/request-log/page-file'
import { openPartitions } from '../../src/request-log/partitions'
import { openRequestLog, type RequestStore } from '../../src/request-log/request-log'
import {
  endedInError,
  type LoggedRequest,
  newLogRow,
  type RequestLogRow,
  valuesOf,
} from '../../src/request-log/row'
import { Summing } from '../../src/request-log/summary'
import { openAddress, postgresUrl } from '../support/databases/databases'
import { createRandom } from '../support/random'
import { rejection } from '../support/rejection'

setDefaultTimeout(120_000)

const DAY_MS = 86_400_000
const KEEP_MS = 30 * DAY_MS
const START = Date.UTC(2026, 10, 20, 12)
const SETS = [null, '{"team":"search"}', '{"team":"a \\"b\\" c","user":"ann"}', '{"user":"search"}']
const ENDS = [
  { status: 200, errorCode: null },
  { status: 200, errorCode: null },
  { status: 202, errorCode: null },
  // A stream that broke after it had begun.
  { status: 200, errorCode: 'upstream_cut' },
  { status: 400, errorCode: 'invalid_request' },
  { status: 402, errorCode: 'insufficient_balance' },
  { status: 429, errorCode: 'rate_limit_exceeded' },
  { status: 500, errorCode: 'internal_error' },
  { status: 503, errorCode: 'upstream_unavailable' },
]

const pick = <Item>(items: readonly Item[], random: ReturnType<typeof createRandom>) =>
  items[random.below(items.length)] as Item

/** Rows of three days, in the order of their time. */
function makeRows(count: number): RequestLogRow[] {
  const random = createRandom(7)
  return Array.from({ length: count }, (_none, index) => {
    const at = START + Math.floor((index * 3 * DAY_MS) / count)
    const id = `req_${at.toString(16).padStart(12, '0')}7${index.toString(16).padStart(19, '0')}`
    return {
      ...newLogRow(
        { requestId: id, operation: { name: pick(['chat', 'image'], random) } },
        { now: () => at, monotonic: () => 0 },
      ),
      account: pick(['alice', 'bob', null], random),
      keyId: pick(['key_1', 'key_2', 'key_3', null], random),
      model: pick(['fast', 'o\'hara\\ "x"', null], random),
      requestedModel: pick(['fast', 'smart', null], random),
      upstream: pick(['east', 'west'], random),
      failedBy: pick([...PARTIES, null], random),
      ...pick(ENDS, random),
      amountNano: index,
      errorMessage: index % 5 === 0 ? `It did not answer in ${index % 3} s.` : null,
      metadata: pick(SETS, random),
    }
  })
}

const rows = makeRows(700)
const filters: RequestFilter[] = [
  {},
  { keyId: 'key_1' },
  { account: 'bob', upstream: 'west' },
  { model: 'o\'hara\\ "x"' },
  { operation: 'image', status: '5xx' },
  { status: 'failed' },
  { model: 'smart' },
  { model: 'smart', failedBy: 'vendor' },
  { status: '429', keyId: 'key_2' },
  { since: START + DAY_MS },
  { until: START + DAY_MS },
  { since: START + DAY_MS, until: START + 2 * DAY_MS, account: 'alice' },
  { metadata: { name: 'team', value: 'search' } },
  { metadata: { name: 'team', value: 'a "b" c' }, status: 'failed' },
  { metadata: { name: 'team', value: 'a' } },
  { keyId: ['key_1', 'key_2'], status: ['429', '5xx'] },
  { error: ['rate_limited', 'upstream_error'] },
  { text: "O'HARA" },
  { text: 'did NOT answer in 2' },
  { text: 'not answer', keyId: 'key_1', metadata: { name: 'user', value: 'ann' } },
  { text: '7000000000000000002a' },
  { slowerMs: 300 },
  { aboveNano: 600 },
  { keyId: 'nobody' },
  { keyId: "' or 1=1 --" },
]

function meets(filter: RequestFilter, row: RequestLogRow): boolean {
  const values = rowsForTests([valuesOf(row, clearCodec)])
  return rowConditionsOf(filter, clearCodec).every(({ on }) => on(values)(0))
}

/** Opens an empty database, and the store of requests in one. */
interface Opener {
  database(): Promise<Db>
  store(db: Db): Promise<RequestStore>
}

const openers: [name: string, opener: Opener][] = [
  [
    'SQLite',
    {
      database: async () => openSqlite(':memory:', { durable: false }),
      store: (db) => openPageFile(db, KEEP_MS),
    },
  ],
  [
    'PostgreSQL',
    {
      database: async () => openAddress(await postgresUrl()),
      store: (db) => openPartitions(db, KEEP_MS, START),
    },
  ],
]

describe.each(openers)('%s', (_name, opener) => {
  test('answers every query like a list in memory, in pages of any size', async () => {
    const store = await opener.store(await opener.database())
    for (let from = 0; from < rows.length; from += 37) await store.insert(rows.slice(from, from + 37))
    for (const filter of filters) {
      const wanted = rows.filter((row) => meets(filter, row)).map(({ id }) => id)
      for (const limit of [1_000, 50, 7]) {
        const found: string[] = []
        let after: string | undefined
        do {
          const page = await store.list(filter, { limit, after })
          expect(page.rows.length).toBeLessThanOrEqual(limit)
          found.push(...page.rows.map(({ id }) => id))
          after = page.next ?? undefined
        } while (after !== undefined && found.length <= rows.length)
        expect({ filter, limit, found }).toEqual({ filter, limit, found: wanted.toReversed() })
        if (wanted.length > 200 && limit === 50) break
      }
    }
    const { rows: failed } = await store.list({ status: 'failed' }, { limit: 1_000 })
    expect(failed.map(({ id }) => id)).toEqual(
      rows
        .filter(({ errorCode }) => errorCode !== null)
        .map(({ id }) => id)
        .toReversed(),
    )
    for (const index of [0, 350, 699]) {
      const row = rows[index] as RequestLogRow
      expect(await store.find(row.id)).toMatchObject({
        id: row.id,
        at: row.at,
        amount: index,
        model: row.model,
      })
    }
    expect(await store.find('req_none')).toBeUndefined()
    expect(await rejection(store.list({}, { limit: 1, after: "1' or '1" }))).toBeInstanceOf(UnknownCursor)
    await store.close()
  })
})

test('PostgreSQL has a partition for each day, and drops whole days', async () => {
  const db = openAddress(await postgresUrl())
  const store = await openPartitions(db, KEEP_MS, START)
  await Promise.all([openPartitions(db, KEEP_MS, START), openPartitions(db, KEEP_MS, START)])
  for (let from = 0; from < rows.length; from += 50) await store.insert(rows.slice(from, from + 50))
  const partitions = async () =>
    (
      await db.query({
        sql: `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'request_pages'::regclass`,
      })
    )
      .map(({ name }) => name)
      .sort()
  expect(await partitions()).toEqual([20, 21, 22, 23].map((day) => `request_pages_202611${day}`))
  await store.trim(START + KEEP_MS + 2 * DAY_MS)
  expect(await partitions()).toEqual(
    [
      'request_pages_20261122',
      'request_pages_20261123',
      'request_pages_20261222',
      'request_pages_20261223',
    ].sort(),
  )
  const left = (await store.list({}, { limit: 1_000 })).rows
  expect(left.length).toBeGreaterThan(200)
  expect(left.length).toBeLessThan(500)
  for (const question of [
    'select number from request_pages where number >= 1 and number <= 700 order by number desc limit 256',
    'select number from request_pages where ended_at >= 1 order by ended_at, number limit 64',
  ]) {
    // An index has this order, and the server prefers it once there are many pages.
    const without = ['seqscan', 'bitmapscan', 'sort'].map((way) => ({ sql: `set local enable_${way} = off` }))
    const plan = JSON.stringify(await db.batch([...without, { sql: `explain ${question}` }]))
    expect(plan).toMatch(/Index (Only )?Scan/)
    expect(plan).not.toContain('->  Sort')
  }
  await db.close()
})

describe.each(openers)('sums (%s)', (_name, opener) => {
  test('are those of the rows that match, in all, over time, and by the values of each filter under all others', async () => {
    const store = await opener.store(await opener.database())
    for (let from = 0; from < rows.length; from += 37) await store.insert(rows.slice(from, from + 37))
    const period = { since: START, until: START + 3 * DAY_MS }
    for (const filter of filters.filter(({ since, until }) => since === undefined && until === undefined)) {
      const summing = new Summing({ ...filter, ...period }, clearCodec)
      const isWhole = await store.scan(period, summing)
      const sums = summing.summary(isWhole)
      const wanted = rows.filter((row) => meets(filter, row))
      const failed = wanted.filter(({ status, errorCode }) => endedInError(status, errorCode))
      expect({ filter, ...sums }).toMatchObject({
        filter,
        requests: wanted.length,
        failed: failed.length,
        amountNano: wanted.reduce((sum, { amountNano }) => sum + (amountNano ?? 0), 0),
        looked: rows.length,
        coveredSince: undefined,
      })
      for (const party of PARTIES)
        expect(sums.failedBy[party]).toBe(failed.filter(({ failedBy }) => failedBy === party).length)
      expect(sums.spans.reduce((sum, span) => sum + span.requests, 0)).toBe(wanted.length)
      for (const span of sums.spans) {
        const inside = wanted.filter(({ at }) => at >= span.since && at < span.since + sums.spanMs)
        expect(span.requests).toBe(inside.length)
      }
      for (const facet of ['account', 'operation', 'upstream'] as const) {
        const { [facet]: _own, ...others } = filter
        const counts = Map.groupBy(
          rows.filter((row) => meets(others, row)),
          (row) => row[facet],
        )
        counts.delete(null)
        expect({
          filter,
          facet,
          values: new Map(sums.facets[facet].map((each) => [each.value, each.requests])),
        }).toEqual({
          filter,
          facet,
          values: new Map([...counts].map(([value, own]) => [String(value), own.length])),
        })
      }
    }
    const one = new Summing({ ...period }, clearCodec)
    expect(await store.scan({ ...period, keyId: 'nobody' }, one)).toBe(true)
    expect(one.summary(true).looked).toBe(0)
    await store.close()
  })
})

test('pages of older gateways, which lack columns, are found and summed like newer ones', async () => {
  const db = openSqlite(':memory:', { durable: false })
  await db.batch([
    {
      sql: `create table request_pages (number integer primary key, oldest_at integer not null,
        ended_at integer not null, terms text not null, rows text not null)`,
    },
  ])
  const store = await openPageFile(db, KEEP_MS)
  for (let from = 0; from < rows.length; from += 37) await store.insert(rows.slice(from, from + 37))
  const period = { since: START, until: START + 3 * DAY_MS }
  const sums = () =>
    Promise.all(
      [{ status: ['failed'] }, { text: 'not answer' }].map(async (filter) => {
        const summing = new Summing({ ...period, ...filter }, clearCodec)
        return summing.summary(await store.scan(period, summing))
      }),
    )
  const newer = await sums()
  for (const { requests } of newer) expect(requests).toBeGreaterThan(0)
  for (const change of [
    'searched = null where number % 3 = 0',
    'columns = null, searched = null where number % 2 = 0',
    // Joined by an older gateway, which knows nothing of them.
    "searched = 'req_1\n[[],[-1]]\n[[],[-1]]'",
    "searched = 'damaged'",
  ]) {
    await db.batch([{ sql: `update request_pages set ${change}` }])
    expect({ change, sums: await sums() }).toEqual({ change, sums: newer })
  }
  await db.close()
})

test('pages that nodes store in a different order than they ended are all listed', async () => {
  const store = await openPartitions(openAddress(await postgresUrl()), KEEP_MS, START)
  const [first, second, third, last] = rows as [RequestLogRow, RequestLogRow, RequestLogRow, RequestLogRow]
  for (const row of [third, second, first, last]) await store.insert([row])
  const listed = async (filter: RequestFilter) =>
    (await store.list(filter, { limit: 9 })).rows.map(({ id }) => id)
  expect(await listed({})).toEqual([last.id, first.id, second.id, third.id])
  expect(await listed({ since: third.at })).toEqual([last.id, third.id])
  expect(await listed({ until: third.at })).toEqual([first.id, second.id])
  expect(await store.find(third.id)).toMatchObject({ id: third.id })
  await store.close()
})

test('nodes that write and join pages in PostgreSQL at the same time lose and double no row', async () => {
  const url = await postgresUrl()
  const dbs = [0, 1, 2].map(() => openAddress(url))
  const stores = await Promise.all(dbs.map((db) => openPartitions(db, KEEP_MS, START)))
  await Promise.all(
    stores.map(async (store, node) => {
      for (let from = node; from < rows.length; from += 6) {
        await store.insert(rows.slice(from, from + 1))
        if (from + 3 < rows.length) await store.insert(rows.slice(from + 3, from + 4))
        if (from % 10 === node) await store.trim(START)
      }
    }),
  )
  await Promise.all(stores.map((store) => store.trim(START)))
  const [store, db] = [stores[0] as RequestStore, dbs[0] as Db]
  const listed: LoggedRequest[] = []
  let after: string | undefined
  do {
    const page = await store.list({}, { limit: 97, after })
    listed.push(...page.rows)
    after = page.next ?? undefined
  } while (after !== undefined)
  expect(listed.map(({ number }) => number)).toEqual(rows.map((_, index) => rows.length - index))
  expect(listed.map(({ id }) => id).sort()).toEqual(rows.map(({ id }) => id).sort())
  const [pages] = await db.query({ sql: 'select count(*) as count from request_pages' })
  expect(pages?.count).toBeLessThan(10)
  await Promise.all(dbs.map((each) => each.close()))
})

test.each(openers)('%s: searches lose and double no row while pages are joined', async (_name, opener) => {
  const few = rows.slice(0, 300)
  const period = { since: START, until: START + 3 * DAY_MS }
  const questions: [name: string, ask: (store: RequestStore) => Promise<unknown>][] = [
    [
      'list',
      async (store) => (await store.list({}, { limit: 1_000 })).rows.map(({ number, id }) => [number, id]),
    ],
    [
      'filter',
      async (store) => (await store.list({ keyId: 'key_1' }, { limit: 1_000 })).rows.map(({ id }) => id),
    ],
    ['find', async (store) => (await store.find((few[100] as RequestLogRow).id))?.id],
    ...[{}, { text: 'alice' }].map((filter): (typeof questions)[number] => [
      `sums of ${JSON.stringify(filter)}`,
      async (store) => {
        const summing = new Summing({ ...filter, ...period }, clearCodec)
        return summing.summary(await store.scan(period, summing))
      },
    ]),
  ]
  for (const [question, ask] of questions) {
    let wanted: unknown
    let queries = 0
    for (let joinedAt = 0; joinedAt === 0 || joinedAt <= queries; joinedAt += 1 + Math.floor(queries / 8)) {
      const db = await opener.database()
      const store = await opener.store(db)
      for (const row of few) await store.insert([row])
      queries = 0
      const joining: Db = {
        ...db,
        async query(statement) {
          if (++queries === joinedAt) await store.trim(START)
          return db.query(statement)
        },
      }
      const found = await ask(await opener.store(joining))
      wanted ??= found
      expect({ question, joinedAt, found }).toEqual({ question, joinedAt, found: wanted })
      await db.close()
    }
    expect(queries).toBeGreaterThan(1)
  }
})

test('an unknown id is searched only in the pages of its time', async () => {
  const db = openSqlite(':memory:', { durable: false })
  let looked = 0
  const counting: Db = {
    ...db,
    async query(statement) {
      const found = await db.query(statement)
      if (statement.sql.includes(' as fits ')) looked += found.length
      return found
    },
  }
  const store = await openPageFile(counting, KEEP_MS)
  const idAt = (at: number) => `req_${at.toString(16).padStart(12, '0')}7${'f'.repeat(19)}`
  // The clock of a node is half an hour wrong.
  const odd = { ...(rows[350] as RequestLogRow), id: idAt(START + 1.5 * DAY_MS - 1_800_000) }
  for (const row of rows.with(350, odd)) await store.insert([row])
  expect(await store.find(idAt(START - 3 * DAY_MS))).toBeUndefined()
  expect(looked).toBeLessThan(5)
  expect(await store.find(idAt(START + 10 * 60_000))).toBeUndefined()
  // All of a day, of which the row of a long request may be the last.
  expect(looked).toBeLessThan(rows.length / 2)
  expect(await store.find(odd.id)).toMatchObject({ id: odd.id })
  await store.close()
})

test('rows are dropped and counted if the store cannot keep up, but live readers get them all', async () => {
  const gate = Promise.withResolvers<void>()
  const events: string[] = []
  let read = 0
  const slow: RequestStore = {
    insert: () => gate.promise,
    list: async () => ({ rows: [], next: null, looked: null }),
    find: async () => undefined,
    scan: async () => true,
    trim: async () => {},
    close: async () => {},
  }
  const requestLog = openRequestLog(slow, (event) => events.push(event), {
    counting: [(batch) => (read += batch.length)],
  })
  for (let index = 0; index < 11_000; index++)
    requestLog.write({ ...(rows[0] as RequestLogRow), keyId: 'key_1' })
  void requestLog.flush()
  expect(read).toBe(11_000)
  expect(requestLog.lostRows()).toBeGreaterThanOrEqual(1_000 - 256)
  expect(events).toContain('request_rows_lost')
  gate.resolve()
  await requestLog.close()
})
