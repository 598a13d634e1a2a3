// The request log in isolation: rows are returned in order, whatever pages they are in, and old ones are deleted.

import { describe, expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../../src/db/drivers/sqlite'
import { clearCodec, createCodec, type RowCodec } from '../../src/db/encryption/codec'
import { explanationOf, type FailedRow } from '../../src/request-log/explanation'
import { type RequestFilter, rowConditionsOf } from '../../src/request-log/filter'
import { rowsForTests } from '../../src/request-log/page-columns'
import { openPageFile } from '../../src/request-log/page-file'
import { openRequestLog, type RequestLog } from '../../src/request-log/request-log'
import { COLUMNS, loggedRequestOf, type RequestLogRow, valuesOf } from '../../src/request-log/row'
import { Summing } from '../../src/request-log/summary'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const START = 1_800_000_000_000

function entry(id: string, at = START): RequestLogRow {
  return {
    id,
    startedAt: 0,
    at,
    operation: 'chat',
    account: 'alice',
    keyId: 'key_1',
    spenderId: 'spn_1',
    model: 'house "quoted" 世界',
    requestedModel: 'smart',
    upstream: null,
    stream: true,
    status: 200,
    errorCode: null,
    errorMessage: 'not "so"',
    errorParam: 'messages[0].role',
    failedBy: 'vendor',
    vendorStatus: 422,
    firstByteMs: 1.6,
    durationMs: 9.4,
    inputTokens: 3,
    outputTokens: null,
    amountNano: Number.MAX_SAFE_INTEGER,
    usageSource: 'upstream',
    endedBy: 'done',
    clientAddress: '192.0.2.7',
    heldNano: 7,
    sentAt: null,
    isSent: true,
    sentMs: 1.2,
    upstreamMs: 6.5,
    upstreamRequestId: 'vendor-1',
    upstreamKey: null,
    session: 'content 0a1b2c3d',
    restingKeys: [3, 1],
    cache: 'miss',
    passedOver: [{ model: 'm', upstream: 'u', reason: 'context', detail: 'too long' }],
    routeOrder: { prefer: 'cheapest', models: [] },
    quantities: null,
    attempts: null,
    metadata: null,
    trace: null,
    refusals: null,
  }
}

async function open(file = join(mkdtempSync(join(tmpdir(), 'gateway-test-')), 'requests.sqlite')) {
  return openRequestLog(await openPageFile(openSqlite(file, { durable: false }), 30 * DAY_MS), () => {})
}

async function idsOf(requestLog: RequestLog, limit: number): Promise<unknown[]> {
  return (await requestLog.recent(limit)).map(({ id }) => id)
}

/** Writes pages of these sizes, with ascending ids. */
async function writePages(requestLog: RequestLog, sizes: readonly number[], at?: (id: number) => number) {
  let id = 0
  for (const size of sizes) {
    for (let index = 0; index < size; index++) requestLog.write(entry(`${++id}`, at?.(id)))
    await requestLog.flush()
  }
}

describe('the request log', () => {
  test('keeps ten rows per network and minute for unknown keys, and counts all', async () => {
    const lines: object[] = []
    const log = (event: string, fields?: object) => lines.push({ event, fields })
    const file = openSqlite(join(mkdtempSync(join(tmpdir(), 'gateway-test-')), 'rows.sqlite'), {})
    let [counted, written] = [0, 0]
    const requestLog = openRequestLog(await openPageFile(file, 30 * DAY_MS), log, {
      counting: [(rows) => (counted += rows.length)],
      writing: [(rows) => (written += rows.length)],
    })
    let id = 0
    const ask = (clientAddress: string, keyId: string | null, at = START) =>
      requestLog.write({ ...entry(`${++id}`, at), clientAddress, keyId })
    for (let index = 0; index < 500; index++) {
      ask('192.0.2.1', null)
      // One caller with IPv6 can use any number of addresses.
      ask(`2001:db8::${index.toString(16)}`, null)
      ask('192.0.2.1', 'key_1')
    }
    await requestLog.flush()
    expect({ counted, written }).toEqual({ counted: 1_500, written: 520 })
    expect(await requestLog.recent(2_000)).toHaveLength(520)
    // The limit holds for any number of networks.
    for (let index = 0; index < 5_000; index++)
      ask(`10.0.${index >> 8}.${index % 256}`, null, START + MINUTE_MS)
    await requestLog.flush()
    await requestLog.trim(START + 2 * MINUTE_MS)
    expect(written).toBeLessThanOrEqual(520 + 100 + 10)
    expect(lines).toContainEqual({
      event: 'unknown_callers_omitted',
      fields: { requests: 980, networks: '192.0.2.1 2001:db8:0:0::' },
    })
    await requestLog.close()
  })

  test('returns every field as it was written', async () => {
    const requestLog = await open()
    requestLog.write(entry('req_1'))
    await requestLog.flush()
    expect(await requestLog.recent(10)).toEqual([
      {
        number: 1,
        id: 'req_1',
        at: START,
        operation: 'chat',
        account: 'alice',
        key_id: 'key_1',
        model: 'house "quoted" 世界',
        upstream: null,
        stream: 1,
        status: 200,
        error_code: null,
        first_byte_ms: 2,
        duration_ms: 9,
        input_tokens: 3,
        output_tokens: null,
        amount: Number.MAX_SAFE_INTEGER,
        usage_source: 'upstream',
        ended_by: 'done',
        client_address: '192.0.2.7',
        held: 7,
        sent_ms: 1,
        upstream_ms: 7,
        upstream_request_id: 'vendor-1',
        attempts: null,
        metadata: null,
        quantities: null,
        upstream_key: null,
        session: 'content 0a1b2c3d',
        spender_id: 'spn_1',
        resting_keys: '3,1',
        passed_over: '[{"model":"m","upstream":"u","reason":"context","detail":"too long"}]',
        route_order: '{"prefer":"cheapest","models":[]}',
        error_message: 'not "so"',
        error_param: 'messages[0].role',
        asked_model: 'smart',
        failed_by: 'vendor',
        vendor_status: 422,
        cache: 'miss',
      },
    ])
    await requestLog.close()
  })

  test('encrypts and finds the words of an error if a key is set, and omits them without the key', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'gateway-test-')), 'requests.sqlite')
    const current = new Uint8Array(32).fill(7)
    const codec = createCodec({ current, older: [] }, (count) =>
      crypto.getRandomValues(new Uint8Array(count)),
    )
    const messageOf = async (options: { codec?: RowCodec }) => {
      const store = await openPageFile(openSqlite(file, { durable: false, ...options }), 30 * DAY_MS)
      if (options.codec) await store.insert([entry('req_1')])
      const row = await store.find('req_1')
      const period = { since: 0, until: START + DAY_MS }
      const found = new Summing({ ...period, text: 'NOT "so' }, options.codec ?? clearCodec)
      const { requests } = found.summary(await store.scan(period, found))
      await store.close()
      return { message: row?.error_message, requests }
    }
    expect(await messageOf({ codec })).toEqual({ message: 'not "so"', requests: 1 })
    const db = openSqlite(file, { durable: false })
    const [page] = await db.query({ sql: 'select rows, columns || searched as others from request_pages' })
    await db.close()
    expect(page?.rows).toContain('messages[0].role')
    expect(page?.others).toContain('req_1')
    expect(`${page?.rows}${page?.others}`).not.toContain('so\\"')
    expect(await messageOf({})).toEqual({ message: null, requests: 0 })
  })

  test('reads rows of versions without failure reasons, and shows no reason for them', async () => {
    const older = { ...entry('req_1'), status: 502, errorCode: 'upstream_error' }
    const values = valuesOf(older, clearCodec).slice(
      0,
      COLUMNS.findIndex(([name]) => name === 'error_message'),
    )
    const row = loggedRequestOf(values, clearCodec)
    expect(row).toMatchObject({
      resting_keys: '3,1',
      passed_over: null,
      route_order: null,
      error_message: null,
      asked_model: null,
      failed_by: null,
    })
    expect(explanationOf(row as object as FailedRow)).toBeNull()
    const fits = (filter: RequestFilter) =>
      rowConditionsOf(filter, clearCodec).every(({ on }) => on(rowsForTests([values]))(0))
    expect(fits({ model: older.model ?? '', status: 'failed' })).toBe(true)
    expect(fits({ failedBy: 'vendor' })).toBe(false)
  })

  test('lists the newest first across pages of any size, and no more than requested', async () => {
    const requestLog = await open()
    expect(await requestLog.recent(10)).toEqual([])
    await writePages(requestLog, [1, 5, 2, 300, 1])
    const newestFirst = Array.from({ length: 309 }, (_none, index) => `${309 - index}`)
    for (const limit of [1, 2, 300, 301, 302, 303, 304, 308, 309, 10_000]) {
      expect(await idsOf(requestLog, limit)).toEqual(newestFirst.slice(0, limit))
    }
    const numbers = (await requestLog.recent(309)).map(({ number }) => number)
    expect(numbers).toEqual(Array.from({ length: 309 }, (_none, index) => 309 - index))
    await requestLog.close()
  })

  test('writes 256 rows without waiting, and continues counting when it is opened again', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'gateway-test-')), 'requests.sqlite')
    const first = await open(file)
    for (let id = 1; id <= 256; id++) first.write(entry(`${id}`))
    await Bun.sleep(50)
    const other = await open(file)
    expect(await idsOf(other, 1)).toEqual(['256'])
    await other.close()
    await first.close()
    const second = await open(file)
    second.write(entry('257'))
    await second.close()
    const third = await open(file)
    expect(await third.recent(2)).toMatchObject([
      { number: 257, id: '257' },
      { number: 256, id: '256' },
    ])
    await third.close()
  })

  test('deletes pages older than 30 days, and keeps one that is only partly old', async () => {
    const requestLog = await open()
    await writePages(requestLog, [2, 2, 2], (id) => START + id * DAY_MS)
    // The third row is 31 days old, the fourth exactly 30.
    await requestLog.trim(START + 34 * DAY_MS)
    expect(await idsOf(requestLog, 10)).toEqual(['6', '5', '4', '3'])
    await requestLog.trim(START + 100 * DAY_MS)
    expect(await idsOf(requestLog, 10)).toEqual([])
    await requestLog.close()
  })

  test('reads a file of small pages in slices, lets other work run in between, and joins the pages', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'gateway-test-')), 'requests.sqlite')
    const db = openSqlite(file, { durable: false })
    const store = await openPageFile(db, 30 * DAY_MS)
    const pages = 3_000
    for (let id = 1; id <= pages; id++) {
      await store.insert([{ ...entry(`req_${id}`, START + id), keyId: id === 7 ? 'key_7' : 'key_1' }])
    }
    const both = { keyId: 'key_7', model: 'other' }
    const pageCount = async () =>
      (await db.query({ sql: 'select count(*) as n from request_pages' }))[0]?.n as number
    const ask = async () => [
      await store.list({ keyId: 'key_7' }, { limit: 5 }),
      await store.list(both, { limit: 5 }),
      await store.find('req_none'),
      (await store.find('req_1500'))?.at,
      (await store.list({ since: START + 2_999 }, { limit: 5 })).rows.map(({ id }) => id),
      (await store.list({ until: START + 3 }, { limit: 5 })).rows.map(({ id }) => id),
    ]
    const { result, turns } = await withTurns(ask)
    expect(turns).toBeGreaterThan(30)
    expect(result).toEqual([
      { rows: [expect.objectContaining({ id: 'req_7', number: 7 })], next: null, looked: null },
      { rows: [], next: null, looked: null },
      undefined,
      START + 1_500,
      ['req_3000', 'req_2999'],
      ['req_2', 'req_1'],
    ])
    const before = await pageCount()
    const all = (await store.list({}, { limit: 10_000 })).rows
    await store.trim(START + pages)
    expect([before, await pageCount()]).toEqual([pages, Math.ceil((pages - 2) / 256) + 2])
    expect((await store.list({}, { limit: 10_000 })).rows).toEqual(all)
    expect(await ask()).toEqual(result)
    for (let id = pages + 1; id <= pages + 5; id++) await store.insert([entry(`req_${id}`, START + id)])
    await store.trim(START + pages)
    expect((await store.list({}, { limit: 10_000 })).rows.slice(5)).toEqual(all)
    expect(await pageCount()).toBeLessThanOrEqual(Math.ceil((pages + 5) / 256) + 2)
    await store.close()
  })

  test('ends a search without results after a number of rows, and can continue from there', async () => {
    const db = openSqlite(join(mkdtempSync(join(tmpdir(), 'gateway-test-')), 'requests.sqlite'), {
      durable: false,
    })
    const store = await openPageFile(db, 30 * DAY_MS)
    const total = 210_000
    for (let id = 1; id <= total; id += 1_000) {
      // Every page has the account and the model, but no row has both.
      const row = (index: number) => {
        const made = entry(`req_${id + index}`, START + id)
        return index % 2 === 0 ? { ...made, account: 'bob' } : { ...made, model: 'fast' }
      }
      await store.insert(Array.from({ length: 1_000 }, (_none, index) => row(index)))
    }
    const filter = { account: 'bob', model: 'fast' }
    const { result: first, turns } = await withTurns(() => store.list(filter, { limit: 5 }))
    expect(first).toEqual({ rows: [], next: '9001', looked: 201_000 })
    expect(turns).toBeGreaterThan(200)
    const rest = await store.list(filter, { limit: 5, after: first.next as string })
    expect(rest).toEqual({ rows: [], next: null, looked: null })
    await store.close()
  })
})

/** The result of some work, and how often other work had its turn meanwhile. */
async function withTurns<Result>(work: () => Promise<Result>): Promise<{ result: Result; turns: number }> {
  let turns = 0
  let isDone = false
  const count = () => {
    if (isDone) return
    turns++
    setImmediate(count)
  }
  setImmediate(count)
  const result = await work()
  isDone = true
  return { result, turns }
}
