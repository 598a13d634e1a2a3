// Rows of the request log and of tasks for measurements of the console, next to the charges of `history-rows.ts`, with the
// same names of accounts, keys and models.

import { apply, type Db } from '../src/db/db'
import type { RequestStore } from '../src/request-log/request-log'
import { newLogRow, type RequestLogRow } from '../src/request-log/row'

/** Rows that are spread evenly over a period, of all accounts in turn. */
export interface History {
  rows: number
  accounts: number
  /** Unix time in milliseconds. */
  start: number
  end: number
}

const BATCH = 256
/** One in this many requests failed, and one in this many was for a rarely used model. */
const FAILED_EVERY = 1_000
const RARE_EVERY = 100_000
/** Number of metadata values: nearly every row of a page of the log has a different one. */
const USERS = 10_000

/** The time and the id of a request. */
export function timeOf({ rows, start, end }: History, index: number): number {
  return Math.floor(start + (index * (end - start)) / rows)
}

export function idOf(at: number, index: number): string {
  return `req_${at.toString(16).padStart(12, '0')}7${index.toString(16).padStart(19, '0')}`
}

function rowOf(history: History, index: number): RequestLogRow {
  const at = timeOf(history, index)
  const clock = { now: () => at, monotonic: () => 0 }
  return {
    ...newLogRow(
      { requestId: idOf(at, index), operation: { name: 'chat' }, clientAddress: '10.0.0.1' },
      clock,
    ),
    account: `account ${index % history.accounts}`,
    keyId: `key ${index % (3 * history.accounts)}`,
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

export async function fillRequests(store: RequestStore, history: History): Promise<void> {
  for (let from = 0; from < history.rows; from += BATCH) {
    const count = Math.min(BATCH, history.rows - from)
    await store.insert(Array.from({ length: count }, (_, each) => rowOf(history, from + each)))
  }
}

/** Adds ended tasks, in a SQLite database. */
export async function fillTasks(db: Db, { rows, accounts, start, end }: History): Promise<void> {
  const at = `${start} + cast(i * ${(end - start) / rows} as integer)`
  await apply(db, [
    {
      sql: `with recursive n(i) as (select 0 union all select i + 1 from n where i < ${rows - 1})
        insert into tasks (id, account, key_id, model, upstream, charge, upstream_id, state, memo, quantities, cost, gateway_url,
          document, created_at, sent_at, ended_at, deadline_at, poll_at, polls, misses, missing, lease_until, fence)
        select 'video_' || printf('%012x', i), 'account ' || (i % ${accounts}), 'key ' || (i % ${3 * accounts}),
          case i % ${RARE_EVERY} when 7 then 'rare' else 'model ' || (i % 4) end, 'dashscope', 'charge ' || i, 'vendor ' || i,
          case i % ${FAILED_EVERY} when 5 then 'failed' else 'succeeded' end, '{}', '{"second":5}', 50000000, 'https://gateway.example',
          '{"status":"succeeded","progress":100}', ${at}, ${at}, ${at} + 60000, ${at} + 86400000, ${at}, 12, 0, 0, 0, 1 from n`,
    },
  ])
}
