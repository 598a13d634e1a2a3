// Checks a simulated run after every step, with the gateway's audit and the vendors' records: the books are correct, every answer
// that a vendor may still give is covered by a hold, and no process has worked on something that another one had taken over.

import { audit } from '../../../src/billing/proofs/audit'
import type { Db, Row } from '../../../src/db/db'
import { isLater, SPENDER_BUDGET_NANO } from './callers'
import type { Simulation } from './simulation'
import type { VendorTask } from './vendor'

/**
 * A hold outlives the longest request, by the gateway's clock, which may be faster. Only a paused process can still run an older
 * one.
 */
const SURELY_HELD_MS = 110_000
/** Some sweeps of undisturbed nodes: the first finds a hold expired, and a later one finds that nobody works on it. */
const SWEPT_BY_MS = 3 * 60_000
/** The number of successive polls that must report a missing task. */
const MISSING_POLLS = 3

export async function checkNow(simulation: Simulation, isQuiet = false): Promise<void> {
  const { database, vendor, count } = simulation
  const violations = [...database.violations, ...vendor.violations]
  must(violations.length === 0, violations.join('; '))
  for (const [mark, { begun }] of vendor.works)
    must(begun <= 1, `the video of ${mark} was begun ${begun} times`)
  const { db } = database
  const open = await db.query({ sql: 'select id, account, key_id, expires_at from open_charges' })
  const tasks = await db.query({ sql: 'select * from tasks' })
  checkRunning(simulation, open)
  checkTasks(simulation, tasks)
  checkConcurrency(simulation, open)
  await checkKeys(simulation)
  count('check')
  // If nothing was written, the books have not changed.
  if (simulation.checkedChanges === database.changes && !isQuiet) return
  simulation.checkedChanges = database.changes
  await checkBooks(simulation, isQuiet)
  await checkSpenders(simulation)
  await checkExpired(simulation)
}

async function checkBooks({ database, nodes }: Simulation, isQuiet: boolean): Promise<void> {
  // By the nodes' time, which also determined the expiry of the hold.
  const times = nodes.filter(({ life }) => !life.isDead()).map(({ world }) => world.now())
  // Reading the whole file takes longer than the rest, so it is done once at the end.
  const books: Db = isQuiet ? database.db : { ...database.db, kind: 'postgres' }
  const { problems } = await audit(books, times.length > 0 ? Math.min(...times) - SWEPT_BY_MS : 0)
  // A start after a long time, or an outage, finds holds that have expired, and needs a moment for them.
  const wrong = problems.filter((problem) => isQuiet || !problem.endsWith('still held though it expired'))
  must(wrong.length === 0, wrong.join('; '))
}

/**
 * The used part of a spender's budget is the sum of the holds of its open charges and the prices of the ended ones. It is within
 * the budget, except for answers that arrived after the release of their hold.
 */
async function checkSpenders({ database: { db }, asked, count }: Simulation): Promise<void> {
  const spenders = await db.query({ sql: 'select id, key_id, name from spenders' })
  if (spenders.length === 0) return
  const charges = new Map((await db.query({ sql: 'select * from charges' })).map((row) => [row.id, row]))
  const budgets = await db.query({ sql: 'select key_id, committed from budgets' })
  for (const { id, key_id: keyId, name } of spenders) {
    const named = asked.filter((one) => one.keyId === keyId && one.spender === name)
    const own = named.flatMap((one) => [charges.get(one.id), charges.get(`${one.id}:late`)])
    const counted = sumOf(own, (row) => (row.state === 'held' ? row.held : row.amount))
    const lateNano = sumOf(own, (row) => (String(row.id).endsWith(':late') ? row.amount : 0))
    const committed = budgets.flatMap((row) => (row.key_id === id ? [row.committed as number] : []))
    const sum = committed.reduce((total, each) => total + each, 0)
    must(sum === counted, `${name} of ${keyId} has used ${sum} of its budget, but has charges of ${counted}`)
    const isWithin = committed.every((each) => each <= SPENDER_BUDGET_NANO + lateNano)
    must(
      isWithin,
      `${name} of ${keyId} has used ${committed} of ${SPENDER_BUDGET_NANO}, ${lateNano} of it late`,
    )
    count('spender')
    if (lateNano > 0) count('spender charged late')
  }
}

function sumOf(rows: readonly (Row | undefined)[], figure: (row: Row) => unknown): number {
  return rows.reduce((total, row) => total + (row ? (figure(row) as number) : 0), 0)
}

/** While a vendor works on a paid call, and somebody waits for it, its price is held. */
function checkRunning({ vendor, asked, time }: Simulation, open: readonly Row[]): void {
  const held = new Set(open.map(({ id }) => id))
  for (const { mark, caller, signal, startedAt } of vendor.running) {
    // Another node may have ended the task of a process that was silent for longer than its lease.
    if (isLaterMark(asked, mark) && caller.wasPausedSince(startedAt)) continue
    if (caller.isDead() || signal.aborted || time.monotonic() - startedAt > SURELY_HELD_MS) continue
    must(
      asked.some((one) => one.mark === mark && held.has(one.id)),
      `a vendor works on ${mark}, which has no hold`,
    )
  }
}

function isLaterMark(asked: Simulation['asked'], mark: string): boolean {
  return asked.some((one) => one.mark === mark && isLater(one.kind))
}

/** A task begun by a vendor exists, and ends only for a reason. */
function checkTasks({ vendor, asked, states }: Simulation, tasks: readonly Row[]): void {
  const marks = new Map(asked.map(({ id, mark }) => [id, mark]))
  const markOf = ({ charge }: Row) => marks.get(String(charge).split(':')[0] as string)
  const known = new Set(tasks.map(markOf))
  for (const { mark, id } of vendor.tasks.values())
    must(known.has(mark), `the vendor has begun ${id} for ${mark}, but there is no task`)
  for (const task of tasks) {
    const { id, state } = task
    const before = states.get(id as string)
    must(before !== 'succeeded' || state === 'succeeded', `task ${id} had succeeded, and is ${state}`)
    states.set(id as string, state as string)
    if (task.operation !== 'video') continue
    const truth = vendor.tasks.get(task.upstream_id as string)
    if (state === 'failed')
      must(mayFail(task, truth), `task ${id} failed (${task.error_code}), which its vendor has not reported`)
    if (state === 'succeeded')
      must(truth !== undefined && !truth.cancelled, `task ${id} succeeded, which its vendor has not reported`)
  }
}

function mayFail(
  { error_code: code, ended_at: endedAt, deadline_at: deadlineAt }: Row,
  truth?: VendorTask,
): boolean {
  if (code === 'timed_out') return (endedAt as number) >= (deadlineAt as number)
  if (code === 'task_lost') return (truth?.reportedMissing ?? 0) >= MISSING_POLLS
  return truth?.cancelled || truth?.reportedFailed || false
}

/** No key ever has more open charges than the number of requests that it may run at a time, except expired ones. */
function checkConcurrency({ customers, nodes }: Simulation, open: readonly Row[]): void {
  const now = Math.max(...nodes.map(({ world }) => world.now()))
  for (const { keyId, account, concurrency } of customers) {
    const running = open.filter(
      ({ id, key_id: key, expires_at: expiresAt }) =>
        key === keyId && (expiresAt as number) > now && !String(id).endsWith(':late'),
    )
    must(concurrency === null || running.length <= concurrency, `${account} runs ${running.length} requests`)
  }
}

/** An Idempotency-Key without an answer belongs to an open charge. Otherwise nobody could use it for a day. */
async function checkKeys({ database: { db } }: Simulation): Promise<void> {
  const lost = await db.query({
    sql: `select idempotency_key, charge from saved_answers where status is null
      and charge not in (select id from open_charges)`,
  })
  must(lost.length === 0, `an idempotency key without an open charge: ${JSON.stringify(lost)}`)
}

/** A process never lets its own running charge expire, however long it was paused. */
async function checkExpired({ database: { db }, asked, size }: Simulation): Promise<void> {
  // With several processes, the others may.
  if (size > 1) return
  const expired = await db.query({ sql: `select id from charges where ended_by = 'expired'` })
  const ids = new Set(expired.map(({ id }) => id))
  for (const { id, life, code } of asked)
    must(
      !ids.has(id) || life.isDead() || code === 'database_unavailable',
      `${id} has expired while its process worked on it`,
    )
}

export function must(isSo: boolean, otherwise: string): asserts isSo {
  if (!isSo) throw new Error(otherwise)
}
