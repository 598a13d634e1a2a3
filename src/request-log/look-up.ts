// Looks up requests: lists of rows, and everything known about one, with its charges and its task. It serves commands and pages
// alike. It must never write, or show a body or a secret.

import { type Closing, closingAt } from '../billing/proofs/closings'
import { beginOf, type ChargeView, type Cost, chargesOf, costsBetween } from '../billing/reports/usage-report'
import { firstPositionSince, lastPositionUntil } from '../billing/reports/usage-totals'
import type { Db } from '../db/db'
import { isObjects, jsonOfColumn } from '../db/json-column'
import { findTask } from '../tasks/find'
import type { Task } from '../tasks/task'
import { type Webhook, type Attempt as WebhookAttempt, webhookOf } from '../webhooks/rows'
import type { PageRequest, RequestFilter, RequestPage } from './filter'
import type { RequestStore } from './request-log'
import type { FailedAttempt, LoggedRequest } from './row'
import { type RequestSummary, Summing, type Unpaid } from './summary'

interface LookUpWorld {
  db: Db
  requests: Pick<RequestStore, 'list' | 'find'>
}

interface SummingWorld {
  db: Db
  requests: Pick<RequestStore, 'scan'>
}

/** Everything about one request. */
export interface RequestDetails {
  /** Undefined if the row has been dropped, or is not written yet. */
  row: LoggedRequest | undefined
  /** Models of a route that failed before the one of the row. */
  attempts: readonly FailedAttempt[]
  /** Usually one; a video that succeeded late has a second. Empty if nothing was held. */
  charges: readonly ChargeView[]
  /** The closed month whose archive contains its charge, if it had one; undefined if charges are in the database. */
  closing: Closing | undefined
  task: Task | undefined
  webhook: { webhook: Webhook; attempts: WebhookAttempt[] } | undefined
}

/** How much earlier than its row in the log a charge may have begun, because of clocks, in milliseconds. */
const CLOCKS_MS = 60_000

/** Maximum duration of a request, in milliseconds. */
const MAX_MS = 86_400_000
/** How long after its request a charge may end, in milliseconds: the longest of `taskDeadlineMs`, and a day. */
const ENDED_AFTER_MS = 8 * 86_400_000
/** Number of charge positions per read. */
const POSITIONS = 20_000
/** Number of rows per read of an export. */
const EXPORT_ROWS = 1_000

/** One page of requests, newest first, each with the final payment for it. */
export async function listRequests(
  { db, requests }: LookUpWorld,
  filter: RequestFilter,
  request: PageRequest,
): Promise<RequestPage> {
  const page = await requests.list(filter, request)
  return { ...page, rows: await new Costs(db).added(page.rows) }
}

/** All matching requests, newest first, in pages (one of them in memory), up to a limit. */
export async function* exportRequests(
  { db, requests }: LookUpWorld,
  filter: RequestFilter,
  most = Number.MAX_SAFE_INTEGER,
): AsyncGenerator<LoggedRequest[]> {
  const costs = new Costs(db)
  let left = most
  for (let after: string | undefined; left > 0; ) {
    const { rows, next } = await requests.list(filter, { limit: Math.min(EXPORT_ROWS, left), after })
    if (rows.length > 0) yield await costs.added(rows)
    left -= rows.length
    if (next === null) return
    after = next
  }
}

/**
 * Sums of the matching requests. `scope` contains the conditions that no facet omits, such as the key of the caller; its period is
 * that of the sums.
 */
export async function summariseRequests(
  { db, requests }: SummingWorld,
  scope: RequestFilter & { since: number; until: number },
  filter: RequestFilter,
): Promise<RequestSummary> {
  const summing = new Summing({ ...filter, ...scope }, db.codec)
  const isWhole = await requests.scan(scope, summing)
  const { unpaid } = summing.summary(isWhole)
  const costs = await new Costs(db).of(unpaid)
  for (const { id, at } of unpaid) summing.addAmount(at, costs.get(id)?.amountNano ?? 0)
  return summing.summary(isWhole)
}

/** A request by its id; undefined if unknown. */
export async function findRequest(
  { db, requests }: LookUpWorld,
  id: string,
): Promise<RequestDetails | undefined> {
  const row = await requests.find(id)
  // To prove that there is none, all charges since then would have to be read.
  const charges = row && row.held === null ? [] : await chargesOf(db, id)
  const begin = row?.at ?? beginOf(id)
  const closing = charges.length === 0 && begin > 0 ? await closingAt(db, begin) : undefined
  if (!row && charges.length === 0 && !closing) return undefined
  const task = charges.length > 0 ? await taskOfCharge(db, id) : undefined
  return {
    row,
    attempts: jsonOfColumn<FailedAttempt[]>(row?.attempts, [], isObjects) ?? [],
    charges,
    closing,
    task,
    webhook: task && (await webhookOf(db, task.id)),
  }
}

async function taskOfCharge(db: Db, charge: string): Promise<Task | undefined> {
  // The price of a task that succeeded late has moved to the additional charge.
  const sql = 'select id from tasks where charge in ($1, $2)'
  const [row] = await db.query({ sql, parameters: [charge, `${charge}:late`] })
  return row && findTask(db, null, row.id as string)
}

/**
 * Finds payments for requests after they were answered, as for a video: for pages of rows, each with requests that ended earlier.
 * Charges are read once, newest first; those whose request may be on a later page are kept.
 */
class Costs {
  private readonly kept = new Map<string, Cost>()
  /** The position down to which the charges of an operation have been read. */
  private readonly readFrom = new Map<string, number>()

  constructor(private readonly db: Db) {}

  /** The rows with the final payments for them. */
  async added(rows: readonly LoggedRequest[]): Promise<LoggedRequest[]> {
    const open = rows.filter(isUnpaid)
    const costs = await this.of(
      open.map(({ id, at, operation }) => ({ id, at, operation: String(operation) })),
    )
    return rows.map((row) => {
      const cost = isUnpaid(row) ? costs.get(row.id) : undefined
      if (!cost) return row
      return { ...row, amount: cost.amountNano, usage_source: cost.usageSource, ended_by: cost.endedBy }
    })
  }

  /** Later payments for requests, by their ids. */
  async of(requests: readonly Unpaid[]): Promise<Map<string, Cost>> {
    const found = new Map<string, Cost>()
    for (const [operation, group] of Map.groupBy(requests, (request) => request.operation)) {
      await this.read(operation, group)
      // Reading for the next operation discards some of it.
      for (const { id } of group) {
        const cost = this.kept.get(id)
        if (cost) found.set(id, cost)
      }
    }
    return found
  }

  private async read(operation: string, rows: readonly Unpaid[]): Promise<void> {
    const wanted = new Set(rows.map(({ id }) => id))
    const oldest = rows.reduce((first, { at }) => Math.min(first, at), Number.MAX_SAFE_INTEGER)
    const newest = rows.reduce((last, { at }) => Math.max(last, at), 0)
    // Requests of later pages ended earlier, and so began at most this much later.
    const begunBefore = newest + MAX_MS
    for (const [id, { createdAt }] of this.kept) if (createdAt >= begunBefore) this.kept.delete(id)
    const first = await firstPositionSince(this.db, oldest - CLOCKS_MS)
    let to = this.readFrom.get(operation) ?? (await lastPositionUntil(this.db, newest + ENDED_AFTER_MS)) + 1
    while (to > first) {
      const from = Math.max(first, to - POSITIONS)
      for (const cost of await costsBetween(this.db, operation, { from, to, begunBefore })) {
        const isNear = wanted.has(cost.request) || cost.createdAt < oldest + MAX_MS
        // Of two charges, the later one is the one that may have been paid, and it was read first.
        if (isNear && !this.kept.has(cost.request)) this.kept.set(cost.request, cost)
      }
      to = from
    }
    this.readFrom.set(operation, to)
  }
}

/** Whether a request was answered, and its row does not contain its price. */
function isUnpaid({ amount, status }: LoggedRequest): boolean {
  return amount === null && Number(status) < 400
}
