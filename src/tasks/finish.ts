// The end of a task: with its charge and its webhook, in one transaction. A task must never end twice, and never
// without its charge, no matter who tries to end it at the same time.

import {
  type Charge,
  findOpenCharge,
  release,
  type Settled,
  settle,
  type UsageSource,
} from '../billing/ledger/ledger'
import type { ListedAmounts } from '../billing/proofs/price-drift'
import { storeQuantities } from '../billing/receipts/receipts'
import { billByTariff, tableNano, tariffOfJson } from '../contract/prices'
import type { Quantities } from '../contract/units'
import { apply, type Db, type Statement } from '../db/db'
import type { ErrorCode } from '../lib/error-codes'
import { insertWebhook } from '../webhooks/rows'
import { documentOf, isDeferred, type Task, taskTextPlace } from './task'
import { CANCELED } from './transitions'

export interface Success {
  state: 'succeeded'
  document: object
  videoUrl: string
  usageJson: string | null
  /** Quantities that the vendor reports, charged instead of the requested ones. */
  quantities?: Quantities
  /** The service tier that the vendor reports. */
  serviceTier?: string
  /** The default is `counted`, because the price is for the requested seconds. */
  usageSource?: UsageSource
}

interface Failure {
  state: 'failed'
  document: object
  error: { code: string; message: string }
}

/** The beginning of the event's name in webhooks of deferred requests. */
export const DEFERRED_EVENT = 'task'

/** The document of an end that reads nothing stored earlier, because that may have made other ends throw. */
export const NOTHING_READ: object = {}

interface Reason {
  code: ErrorCode
  message: string
}

/** Reasons why the gateway itself has decided that a task failed. */
export const TIMED_OUT = {
  code: 'timed_out',
  message: 'The upstream did not finish this task within the allowed time. Nothing was charged.',
} satisfies Reason
export const LOST = {
  code: 'task_lost',
  message: 'The upstream no longer knows this task.',
} satisfies Reason
export const STOPPED = {
  code: CANCELED,
  message: 'The task was canceled. Nothing was charged.',
} satisfies Reason
export const INTERRUPTED = {
  code: 'task_interrupted',
  message:
    'The gateway process of this task has stopped. The request is not sent again, because the upstream may have begun it. Nothing was charged: send the request again.',
} satisfies Reason
const NOT_BEGUN = {
  code: 'not_begun',
  message: 'The upstream never began this task. Nothing was charged.',
} satisfies Reason

export type TaskEnding = Success | Failure

export interface EndOptions {
  now: number
  webhookId: string
  /** Whether what was used is stored for a receipt. */
  receipts?: boolean | undefined
}

/**
 * Ends a task: its charge is settled if it succeeded, released if it failed. False if the lease was lost or the task
 * has ended already: then nothing was changed.
 */
export async function endTask(db: Db, task: Task, ending: TaskEnding, options: EndOptions): Promise<boolean> {
  return (await settleTask(db, task, ending, options)) !== undefined
}

/** The amounts that were paid for a task, and its price and cost if it succeeded. */
export interface SettledTask extends Settled {
  amounts?: ListedAmounts
}

/** Ends a task like `endTask`, and returns what was paid; undefined if nothing was changed. */
export async function settleTask(
  db: Db,
  task: Task,
  ending: TaskEnding,
  options: EndOptions,
): Promise<SettledTask | undefined> {
  // A charge ends with its task: if it is no longer open, something else has ended the task.
  const charge = await findOpenCharge(db, task.keyId, task.charge)
  if (!charge) return undefined
  if (ending.state === 'succeeded') return succeed(db, task, charge, ending, options)
  const also = endStatements(db, task, charge, ending, 0, options)
  const isReleased = await release(db, charge, { endedBy: 'upstream', endedAt: options.now }, also)
  return isReleased ? { paidNano: 0, shortfallNano: 0 } : undefined
}

/** Ends a task that never reached the vendor, according to an operator. False if the vendor's id is known. */
export async function failUnsubmitted(db: Db, task: Task, options: EndOptions): Promise<boolean> {
  if (task.upstreamId !== null || isDeferred(task)) return false
  return endTask(db, task, { state: 'failed', document: {}, error: NOT_BEGUN }, options)
}

/** Ends a task as succeeded, if it is still in the state that was read. `first` opens the charge if needed. */
export async function succeed(
  db: Db,
  task: Task,
  charge: Charge,
  ending: Success,
  options: EndOptions & { first?: readonly Statement[] },
): Promise<SettledTask | undefined> {
  const quantities = ending.quantities ?? task.quantities
  const { table, cost } = billByTariff(
    tariffOfJson(charge.pricesJson),
    quantities,
    ending.serviceTier,
    undefined,
  )
  const priceNano = tableNano(quantities, table)
  const costNano = cost ? tableNano(quantities, cost) : null
  const usageSource = ending.usageSource ?? 'counted'
  const also = endStatements(db, task, charge, ending, priceNano, options)
  if (options.receipts) also.push(storeQuantities(charge.id, quantities, options.now))
  const settled = await settle(
    db,
    charge,
    {
      priceNano,
      costNano,
      usageSource,
      usageJson: ending.usageJson,
      endedBy: 'done',
      endedAt: options.now,
      tokens: 0,
    },
    also,
    options.first,
  )
  // The amount that the account could not pay is known only now. The books already have it; this is for readers of the task.
  if (settled && settled.shortfallNano > 0) await apply(db, [correctCost(task, settled.paidNano)])
  return settled && { ...settled, amounts: { priceNano, costNano, usageSource, table } }
}

function endStatements(
  db: Db,
  task: Task,
  charge: Charge,
  ending: TaskEnding,
  priceNano: number,
  { now, webhookId }: EndOptions,
): Statement[] {
  const error = ending.state === 'failed' ? ending.error : undefined
  const made = ending.state === 'succeeded' ? ending : undefined
  // Every ended task has a seed: the vendor's, otherwise the requested one.
  const seed = ending.document === NOTHING_READ ? null : (task.pollContext.seed ?? null)
  const shown = isDeferred(task) ? ending.document : { seed, ...ending.document }
  const document = documentOf(task, shown, ending.state, error)
  const stored = (text: string | undefined, column: string) =>
    text === undefined ? null : db.codec.encode(text, taskTextPlace(task.id, column))
  const statements: Statement[] = [
    {
      // The state that was read: submitted, or failed for a late success.
      sql: `update tasks set state = $3, document = $4, error_code = $5, error_message = $6, ended_at = $7, video_url = $8,
        quantities = coalesce($9, quantities), cost = $10, charge = $11, lease_until = 0, polls = polls + 1
        where id = $1 and fence = $2 and state = $12`,
      parameters: [
        task.id,
        task.fence,
        ending.state,
        stored(document, 'document'),
        error?.code ?? null,
        stored(error?.message, 'error_message'),
        now,
        stored(made?.videoUrl, 'video_url'),
        made?.quantities ? JSON.stringify(made.quantities) : null,
        priceNano,
        charge.id,
        task.state,
      ],
      guard: true,
    },
  ]
  const { id, account, keyId, webhookUrl } = task
  const event = isDeferred(task) ? { event: DEFERRED_EVENT } : {}
  if (webhookUrl !== null)
    statements.push(
      insertWebhook(db, webhookId, { id, account, keyId, webhookUrl, ...event }, ending.state, document, now),
    )
  return statements
}

function correctCost(task: Task, paidNano: number): Statement {
  return { sql: 'update tasks set cost = $2 where id = $1', parameters: [task.id, paidNano] }
}
