// The request log by itself: what is written comes back in order, whatever pages it lies in, and what is old goes.

import { describe, expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSqlite } from '../../src/db/sqlite'
import { openPages } from '../../src/request-log/pages'
import { openRequestLog, type RequestLog } from '../../src/request-log/request-log'
import type { RequestLogRow } from '../../src/request-log/row'

const DAY_MS = 86_400_000
const START = 1_800_000_000_000

function entry(id: string, at = START): RequestLogRow {
  return {
    id,
    startedAt: 0,
    at,
    operation: 'chat',
    account: 'alice',
    keyId: 'key_1',
    model: 'house "quoted" 世界',
    upstream: null,
    stream: true,
    status: 200,
    errorCode: null,
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
    sentMs: 1.2,
    upstreamMs: 6.5,
    upstreamRequestId: 'vendor-1',
    attempts: null,
    trace: null,
  }
}

async function open(file = join(mkdtempSync(join(tmpdir(), 'gateway-test-')), 'journal.sqlite')) {
  return openRequestLog(await openPages(openSqlite(file, { durable: false }), 30 * DAY_MS), () => {})
}

async function idsOf(requestLog: RequestLog, limit: number): Promise<unknown[]> {
  return (await requestLog.recent(limit)).map(({ id }) => id)
}

/** Writes pages of these sizes, with ids that count up. */
async function writePages(requestLog: RequestLog, sizes: readonly number[], at?: (id: number) => number) {
  let id = 0
  for (const size of sizes) {
    for (let index = 0; index < size; index++) requestLog.write(entry(`${++id}`, at?.(id)))
    await requestLog.flush()
  }
}

describe('the request log', () => {
  test('gives every field back as it was written', async () => {
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
      },
    ])
    await requestLog.close()
  })

  test('lists the newest first across pages of any size, and no more than was asked for', async () => {
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

  test('writes 256 rows without waiting, and goes on counting when it is opened again', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'gateway-test-')), 'journal.sqlite')
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

  test('drops pages that are older than 30 days, and keeps one that is old only in part', async () => {
    const requestLog = await open()
    await writePages(requestLog, [2, 2, 2], (id) => START + id * DAY_MS)
    // The third row is 31 days old, the fourth 30 and not yet older.
    await requestLog.trim(START + 34 * DAY_MS)
    expect(await idsOf(requestLog, 10)).toEqual(['6', '5', '4', '3'])
    await requestLog.trim(START + 100 * DAY_MS)
    expect(await idsOf(requestLog, 10)).toEqual([])
    await requestLog.close()
  })
})
