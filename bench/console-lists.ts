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
import type { Db } from '../src/db/db'
import { openSqlite } from '../src/db/drivers/sqlite'
import { migrate } from '../src/db/migrations'
import type { RequestFilter } from '../src/request-log/filter'
import { findRequest, listRequests, summariseRequests } from '../src/request-log/look-up'
import type { RequestStore } from '../src/request-log/request-log'
import { listTasks, type TaskFilter } from '../src/tasks/find'
import { fillRequests, fillTasks, type History, idOf, timeOf } from './console-rows'
import { ACCOUNTS, addCharges, prepareHistory, processorMs } from './history-rows'

const DAYS = 90
const END = Date.UTC(2026, 9)
const START = END - DAYS * DAY_MS
const PAGE = 50
/** The queries of the console's pages. */
function questionsOf(
  db: Db,
  requests: RequestStore,
  history: History,
): Record<string, () => Promise<unknown>> {
  const list = (filter: RequestFilter, after?: string) =>
    listRequests({ db, requests }, filter, { limit: PAGE, after })
  const day = { since: END - DAY_MS }
  const month = { since: END - 30 * DAY_MS }
  const tasks = (filter: Omit<TaskFilter, 'limit'>) => listTasks(db, { ...filter, limit: PAGE })
  const all = { since: START, until: END }
  const { rows } = history
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
      return findRequest({ db, requests }, idOf(timeOf(history, index), index))
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
  const history = { rows, accounts: ACCOUNTS, start: START, end: END }
  await fillTasks(db, history)
  const requests = await openRequestStore({ log: { keep: '365d' } }, { db, dataDir: folder }, END)
  await fillRequests(requests, history)
  for (const [name, ask] of Object.entries(questionsOf(db, requests, history))) {
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
