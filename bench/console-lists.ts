// `bun bench/console-lists.ts [ROWS] [FOLDER]`: fills a SQLite database with a number of requests, charges and tasks, and measures
// the time of each list of the console, with each filter and on a later page. It measures processor time, which a busy machine
// changes little. It must never fail because something was slow: it only reports.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lowBalances, openNow, spendOf } from '../src/admin/overview-figures'
import { openRequestStore } from '../src/app/request-store'
import { pageOfLedger } from '../src/billing/ledger/account-ledger'
import { usageBy } from '../src/billing/reports/usage-report'
import { DAY_MS } from '../src/billing/reports/usage-totals'
import { apply, type Db } from '../src/db/db'
import { openSqlite } from '../src/db/drivers/sqlite'
import { migrate } from '../src/db/migrations'
import type { RequestFilter } from '../src/request-log/filter'
import { findRequest, listRequests, summariseRequests } from '../src/request-log/look-up'
import type { RequestStore } from '../src/request-log/request-log'
import { newLogRow, type RequestLogRow } from '../src/request-log/row'
import { listTasks, type TaskFilter } from '../src/tasks/find'
import { ACCOUNTS, addCharges, prepareHistory, processorMs } from './history-rows'

const DAYS = 90
const END = Date.UTC(2026, 9)
const START = END - DAYS * DAY_MS
const BATCH = 256
const PAGE = 50
/** One in this many requests failed, and one in this many was for a rarely used model. */
const FAILED_EVERY = 1_000
const RARE_EVERY = 100_000
/** Number of metadata values: nearly every row of a page of the log has a different one. */
const USERS = 10_000

const idOf = (at: number, index: number) =>
  `req_${at.toString(16).padStart(12, '0')}7${index.toString(16).padStart(19, '0')}`

function rowOf(index: number, at: number): RequestLogRow {
  const clock = { now: () => at, monotonic: () => 0 }
  return {
    ...newLogRow(
      { requestId: idOf(at, index), operation: { name: 'chat' }, clientAddress: '10.0.0.1' },
      clock,
    ),
    account: `account ${index % ACCOUNTS}`,
    keyId: `key ${index % (3 * ACCOUNTS)}`,
    model: index % RARE_EVERY === 7 ? 'rare' : `model ${index % 4}`,
    upstream: 'openai',
    status: index % FAILED_EVERY === 5 ? 502 : 200,
    firstByteMs: 400,
    durationMs: 1_800,
    inputTokens: 1_000,
    outputTokens: 200,
    heldNano: 8_000_000,
    amountNano: 1_000_000,
    metadata: `{"team":"team ${index % 50}","user":"user ${index % USERS}"}`,
    usageSource: 'upstream',
    endedBy: 'done',
    upstreamMs: 1_700,
  }
}

async function fillRequests(store: RequestStore, rows: number): Promise<void> {
  const stepMs = (END - START) / rows
  for (let from = 0; from < rows; from += BATCH) {
    const count = Math.min(BATCH, rows - from)
    await store.insert(
      Array.from({ length: count }, (_, each) =>
        rowOf(from + each, Math.floor(START + (from + each) * stepMs)),
      ),
    )
  }
}

async function fillTasks(db: Db, rows: number): Promise<void> {
  const at = `${START} + cast(i * ${(END - START) / rows} as integer)`
  await apply(db, [
    {
      sql: `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${rows - 1})
        insert into tasks (id, account, key_id, model, upstream, charge, upstream_id, state, memo, quantities, cost, gateway_url,
          document, created_at, sent_at, ended_at, deadline_at, poll_at, polls, misses, missing, lease_until, fence)
        select 'video_' || printf('%012x', i), 'account ' || (i % ${ACCOUNTS}), 'key ' || (i % ${3 * ACCOUNTS}),
          case i % ${RARE_EVERY} when 7 then 'rare' else 'model ' || (i % 4) end, 'dashscope', 'charge ' || i, 'vendor ' || i,
          case i % ${FAILED_EVERY} when 5 then 'failed' else 'succeeded' end, '{}', '{"second":5}', 50000000, 'https://gateway.example',
          '{"status":"succeeded","progress":100}', ${at}, ${at}, ${at} + 60000, ${at} + 86400000, ${at}, 12, 0, 0, 0, 1 from n`,
    },
  ])
}

/** The queries of the console's pages. */
function questionsOf(db: Db, requests: RequestStore, rows: number): Record<string, () => Promise<unknown>> {
  const list = (filter: RequestFilter, after?: string) =>
    listRequests({ db, requests }, filter, { limit: PAGE, after })
  const day = { since: END - DAY_MS }
  const month = { since: END - 30 * DAY_MS }
  const tasks = (filter: Omit<TaskFilter, 'limit'>) => listTasks(db, { ...filter, limit: PAGE })
  const all = { since: START, until: END }
  const middle = START + Math.floor((END - START) / 2)
  return {
    'requests: the newest': () => list(day),
    'requests: of all time': () => list({}),
    'requests: a page in the middle': () => list({}, String(Math.floor(rows / 2))),
    'requests: failed, one in 1,000': () => list({ status: 'failed' }),
    'requests: of a key': () => list({ keyId: 'key 7' }),
    'requests: of a model that is rare': () => list({ model: 'rare' }),
    'requests: of a model that is unknown': () => list({ model: 'none' }),
    'requests: of a team, by metadata': () => list({ metadata: { name: 'team', value: 'team 7' } }),
    'requests: of a user, one in 10,000': () => list({ metadata: { name: 'user', value: 'user 7' } }),
    'requests: of a user who is unknown': () => list({ metadata: { name: 'user', value: 'none' } }),
    'requests: an id that nobody has': () =>
      findRequest({ db, requests }, `${idOf(middle, 1).slice(0, -1)}f`),
    'requests: no id of a gateway': () => findRequest({ db, requests }, 'none'),
    'requests: one by its id': () => {
      const index = Math.floor(rows / 3)
      return findRequest({ db, requests }, idOf(Math.floor(START + (index * (END - START)) / rows), index))
    },
    'sums: all, at most 200,000': () => summariseRequests({ db, requests }, all, {}),
    'sums: failed ones of two models': () =>
      summariseRequests({ db, requests }, all, { status: 'failed', model: ['model 1', 'model 2'] }),
    'sums: by words': () => summariseRequests({ db, requests }, all, { text: 'model 1' }),
    'usage: by model and day, a month': () => usageBy(db, 'model', month, 'day'),
    'usage: by key and model, all time': () => usageBy(db, 'key', { since: 0 }, 'model'),
    'overview: spend of a day': () => spendOf(db, { since: END - DAY_MS, until: END }),
    'overview: spend of 90 days': () => spendOf(db, { since: START, until: END }),
    'overview: open now, and low balances': async () => [await openNow(db), await lowBalances(db, END)],
    'tasks: the newest': () => tasks({}),
    'tasks: a page in the middle': () => tasks({ after: { createdAt: middle, id: 'video_' } }),
    'tasks: failed, one in 1,000': () => tasks({ state: 'failed' }),
    'tasks: unknown, none': () => tasks({ state: 'unknown' }),
    'tasks: of a model that is rare': () => tasks({ model: 'rare' }),
    'tasks: of an account': () => tasks({ account: 'account 7' }),
    'ledger: the last entries of an account': () => pageOfLedger(db, 'account 7', {}, PAGE),
    'ledger: a page in the middle of an account': () =>
      pageOfLedger(db, 'account 7', {}, PAGE, { position: Math.floor(rows / 2), at: middle, id: '' }),
    'ledger: the last of a month in the middle': () =>
      pageOfLedger(db, 'account 7', { since: middle, until: middle + 30 * DAY_MS }, PAGE),
  }
}

async function measure(rows: number, folder: string): Promise<void> {
  const db = openSqlite(join(folder, 'gateway.sqlite'), { durable: false })
  await migrate(db)
  await prepareHistory(db)
  await addCharges(db, rows, START, END - START)
  await fillTasks(db, rows)
  const requests = await openRequestStore({ log: { keep: '365d' } }, { db, dataDir: folder }, END)
  await fillRequests(requests, rows)
  for (const [name, ask] of Object.entries(questionsOf(db, requests, rows))) {
    await ask()
    const begin = performance.now()
    const ms = await processorMs(ask)
    console.log(
      `${name.padEnd(44)} ${ms.toFixed(1).padStart(8)} ms  (${(performance.now() - begin).toFixed(1)} ms by the clock)`,
    )
  }
  await requests.close()
  await db.close()
}

const folder = process.argv[3] ?? mkdtempSync(join(tmpdir(), 'gateway-lists-'))
try {
  await measure(Number(process.argv[2] ?? 1_000_000), folder)
} finally {
  if (process.argv[3] === undefined) rmSync(folder, { recursive: true })
}
process.exit(0)
