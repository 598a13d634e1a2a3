// Looks requests up: lists of rows, and everything that is known of one, with its money and its task. For commands and
// for pages alike. It must never write, and never show a body or a secret.

import { type Closing, closingAt } from '../billing/closings'
import { beginOf, type ChargeView, type Cost, chargesOf, costsSince } from '../billing/usage-report'
import type { Db } from '../db/db'
import { findTask } from '../tasks/find'
import type { Task } from '../tasks/task'
import { type Webhook, type Attempt as WebhookAttempt, webhookOf } from '../webhooks/rows'
import type { PageWish, RequestFilter, RequestPage } from './filter'
import type { RequestStore } from './request-log'
import type { FailedAttempt, LoggedRequest } from './row'

export interface LookUpWorld {
  db: Db
  requests: Pick<RequestStore, 'list' | 'find'>
}

/** Everything about one request. */
export interface RequestDetails {
  /** Undefined where the row has been dropped, or is not written yet. */
  row: LoggedRequest | undefined
  /** Models of a route that failed before the one of the row. */
  attempts: readonly FailedAttempt[]
  /** Usually one; a video that succeeded late has a second. None where nothing was held. */
  charges: readonly ChargeView[]
  /** The closed month whose archive has its charge, if it had one; undefined where charges are in the database. */
  closing: Closing | undefined
  task: Task | undefined
  webhook: { webhook: Webhook; attempts: WebhookAttempt[] } | undefined
}

/** How much earlier than its row in the log a charge may have begun, by the clock, in milliseconds. */
const CLOCKS_MS = 60_000

/** One page of requests, newest first, each with what was paid for it in the end. */
export async function listRequests(
  { db, requests }: LookUpWorld,
  filter: RequestFilter,
  wish: PageWish,
): Promise<RequestPage> {
  const page = await requests.list(filter, wish)
  return { ...page, rows: await withCosts(db, page.rows) }
}

/** A request by its id; undefined if nothing is known of it. */
export async function findRequest(
  { db, requests }: LookUpWorld,
  id: string,
): Promise<RequestDetails | undefined> {
  const row = await requests.find(id)
  const charges = await chargesOf(db, id)
  const begin = row?.at ?? beginOf(id)
  const closing = charges.length === 0 && begin > 0 ? await closingAt(db, begin) : undefined
  if (!row && charges.length === 0 && !closing) return undefined
  const task = charges.some(({ operation }) => operation === 'video') ? await taskOfCharge(db, id) : undefined
  return {
    row,
    attempts: typeof row?.attempts === 'string' ? (JSON.parse(row.attempts) as FailedAttempt[]) : [],
    charges,
    closing,
    task,
    webhook: task && (await webhookOf(db, task.id)),
  }
}

async function taskOfCharge(db: Db, charge: string): Promise<Task | undefined> {
  const [row] = await db.query({ sql: 'select id from tasks where charge = $1', parameters: [charge] })
  return row && findTask(db, null, row.id as string)
}

/** The rows with what was paid after their request was answered, as for a video. */
async function withCosts(db: Db, rows: readonly LoggedRequest[]): Promise<LoggedRequest[]> {
  const open = rows.filter(isUnpaid)
  const since = open.reduce((first, { at }) => Math.min(first, at), Number.MAX_SAFE_INTEGER)
  const operations = [...new Set(open.map(({ operation }) => operation as string))]
  const costs = await Promise.all(operations.map((operation) => costsSince(db, operation, since - CLOCKS_MS)))
  const byId = new Map<string, Cost>(costs.flatMap((each) => [...each]))
  return rows.map((row) => {
    const cost = isUnpaid(row) ? byId.get(row.id) : undefined
    if (!cost) return row
    return { ...row, amount: cost.amountNano, usage_source: cost.usageSource, ended_by: cost.endedBy }
  })
}

/** Whether a request was answered, and its row does not say at what price. */
function isUnpaid({ amount, status }: LoggedRequest): boolean {
  return amount === null && Number(status) < 400
}
