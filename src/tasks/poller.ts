// Follows the tasks that vendors work on: asks after each when it is due, and ends it when its vendor has.
// Every node runs one, all equal: leases share the work out, and fences keep late answers from changing anything. A vendor
// that is down, slow or talks nonsense must never end a task; only its own word or the task's deadline does. A fault of
// our own in the handling of one task must never stop the others, nor keep that one open beyond its deadline.

import { saveAnswer } from '../billing/idempotency'
import type { UsageSource } from '../billing/ledger'
import type { Catalogue } from '../catalogue/models'
import { timedOut } from '../contract/failures'
import { type Call, type Model, type Quantities, type TaskOutcome, taskOf } from '../contract/family'
import type { Upstream } from '../contract/upstream'
import { apply, DatabaseUnavailable, type Statement } from '../db/db'
import type { HttpResponse } from '../http-client/response'
import type { Cancellation } from '../lib/cancel-token'
import { GatewayError } from '../lib/errors'
import { formatUsd } from '../lib/money'
import type { System } from '../lib/system'
import { callerComplaint } from '../upstreams/caller-view'
import { MAX_DOCUMENT_BYTES, readReply, usageJsonOf } from '../upstreams/reply'
import { findOverdue, findStranded } from './find'
import { type EndOptions, endTask, NOTHING_READ, type TaskEnding } from './finish'
import { type KeepVideoWorld, keepVideo } from './keep-video'
import { succeedLate } from './late-success'
import { claimDue, countDue, postpone } from './leases'
import { markUnknown, voidTask } from './rows'
import { documentOf, type Task } from './task'
import { CANCELED } from './transitions'

export interface Poller {
  /** Polls what is due. Called several times a second; returns when the polls have been started, not when they have ended. */
  beat(): Promise<void>
  /**
   * Sees to tasks that wait for a vendor's id: those of a process that died, and those whose time is over. With `alone`
   * nobody else can be sending them, so none is too young.
   */
  sweep(options?: { alone?: boolean }): Promise<void>
  /** Stops starting polls, and waits for the running ones. */
  stop(): Promise<void>
}

/** Longer than a cancel and a poll may take, so that a lease is only lost by a node that died. */
const LEASE_MS = 45_000
const POLL_TIMEOUT_MS = 20_000
/** Polls of one upstream that a node runs at a time: vendors are slow, the limit a second is theirs. */
const PARALLEL_POLLS = 100
/** Tasks that are taken at a time, because a look costs as much as some polls. */
const TASKS_A_LOOK = 40
/** How many polls begin at a time, and the pause before the next: callers shall not feel that thousands are due at once. */
const POLLS_AT_ONCE = 3
const PAUSE_MS = 3
/** Between polls of a task: a part of its age, so that short ones end soon and long ones cost little. */
const POLL_SHARE = 0.1
const MIN_POLL_MS = 3_000
const MAX_POLL_MS = 30_000
/** After polls that brought nothing. */
const MIN_RETRY_MS = 5_000
const MAX_RETRY_MS = 300_000
/** A vendor that says so often in a row that there is no such task means it. */
const MISSING_POLLS = 3
/** Tasks with a fault of our own whose reason is remembered, so that it is logged once. */
const MOST_FAULTY = 1_000
const MAX_REASON_LENGTH = 500
/** A submit that has not been answered for so long never will be: longer than any submit may take. */
const STRANDED_MS = 15 * 60_000

interface PollerWorld extends KeepVideoWorld, Pick<System, 'now' | 'after' | 'newId' | 'log'> {
  catalogue: Pick<Catalogue, 'models' | 'upstreams'>
}

export function createPoller(world: PollerWorld): Poller {
  const { db, catalogue, now } = world
  const running = new Map<Upstream, Set<Promise<void>>>()
  const looks = new Map<Upstream, Promise<void>>()
  /** Upstreams whose last look took all that it may, so that more may be due. */
  const crowded = new Set<Upstream>()
  const faulty = new Set<string>()
  let stopped = false

  async function beat(): Promise<void> {
    await Promise.all(Array.from(catalogue.upstreams.values(), look))
  }

  /** One look at a time for each upstream, or two would take the same places. */
  function look(upstream: Upstream): Promise<void> {
    const begun = looks.get(upstream)
    if (begun) return begun
    const look = startDue(upstream).finally(() => looks.delete(upstream))
    looks.set(upstream, look)
    return look
  }

  async function startDue(upstream: Upstream): Promise<void> {
    while (!stopped) {
      const tasks = await take(upstream)
      for (let from = 0; from < tasks.length; from += POLLS_AT_ONCE) {
        for (const task of tasks.slice(from, from + POLLS_AT_ONCE)) start(upstream, task)
        // What has been taken is begun, also when the gateway stops.
        if (!stopped) await new Promise<void>((resolve) => world.after(PAUSE_MS, resolve))
      }
      // Without a free place it is the end of a poll that looks again.
      if (!crowded.has(upstream) || freePlaces(upstream) === 0) return
    }
  }

  /** Due tasks of an upstream, no more than the vendor lets us ask after now. */
  async function take(upstream: Upstream): Promise<Task[]> {
    const at = now()
    const free = Math.min(freePlaces(upstream), TASKS_A_LOOK)
    const due = free > 0 ? await countDue(db, upstream.name, at, Math.min(free, upstream.pollsPerSecond)) : 0
    const allowed = due > 0 ? await takeTurns(upstream, due, at) : 0
    if (allowed === free) crowded.add(upstream)
    else crowded.delete(upstream)
    return allowed === 0 ? [] : claimDue(db, upstream.name, at, { limit: allowed, leaseMs: LEASE_MS })
  }

  /** How many of so many polls fit into this second's limit, which all nodes share. */
  async function takeTurns(upstream: Upstream, wanted: number, at: number): Promise<number> {
    const second = Math.floor(at / 1000)
    const [row] = await db.query({
      sql: 'select polls from poll_windows where upstream = $1 and second = $2',
      parameters: [upstream.name, second],
    })
    const count = Math.min(wanted, upstream.pollsPerSecond - Number(row?.polls ?? 0))
    if (count <= 0) return 0
    const turns: Statement = {
      sql: `insert into poll_windows (upstream, second, polls) values ($1, $2, $3)
        on conflict (upstream) do update set second = $2,
          polls = case when poll_windows.second = $2 then poll_windows.polls + $3 else $3 end
        where poll_windows.second <> $2 or poll_windows.polls + $3 <= $4`,
      parameters: [upstream.name, second, count, upstream.pollsPerSecond],
      guard: true,
    }
    return 'rows' in (await db.batch([turns])) ? count : 0
  }

  function start(upstream: Upstream, task: Task): void {
    const polls = running.get(upstream) ?? new Set()
    running.set(upstream, polls)
    const askedAt = now()
    const poll = follow(task, askedAt)
      .catch((error) => giveUpPoll(task, askedAt, error))
      .finally(() => {
        polls.delete(poll)
        lookAgain(upstream)
      })
    polls.add(poll)
  }

  function freePlaces(upstream: Upstream): number {
    return PARALLEL_POLLS - (running.get(upstream)?.size ?? 0)
  }

  /** Waiting for the next beat would hold a vendor that answers at once to so many polls a beat. */
  function lookAgain(upstream: Upstream): void {
    // A look that has begun says itself whether there was place for all.
    if (stopped || freePlaces(upstream) < TASKS_A_LOOK || looks.has(upstream) || !crowded.has(upstream))
      return
    look(upstream).catch((error) => world.log('job_failed', { job: 'poll tasks', reason: String(error) }))
  }

  async function follow(task: Task, askedAt: number): Promise<void> {
    const model = modelOf(task)
    // Out of the catalogue for now: its task waits, and only its deadline ends it.
    const answer: Answer = model
      ? await ask(task, model)
      : { error: `${task.upstream} has no model ${task.model}` }
    const ending = endingOf(task, answer, askedAt)
    if (ending) {
      const isMade = model && ending.state === 'succeeded'
      await end(task, isMade ? await keepVideo(world, task, model, ending) : ending)
      return
    }
    // Not before it is known that the task has not ended: some vendors take a cancel then as a wish to forget its result.
    const cancelAnswer = task.cancelAt === null ? null : await cancel(task, model)
    if (cancelAnswer === CANCELLED) {
      await end(task, { state: 'failed', document: lastOf(task), error: CANCELLED_ERROR })
      return
    }
    const outcome = 'outcome' in answer ? answer.outcome : undefined
    const heard = outcome?.status === 'submitted'
    const misses = heard ? 0 : task.misses + 1
    const missing = outcome?.status === 'missing' ? task.missing + 1 : 0
    const waitMs = heard ? pauseOf(now() - task.createdAt) : retryPauseOf(misses, answer)
    if ('error' in answer)
      world.log('task_poll_without_answer', { task: task.id, misses, reason: answer.error })
    const document = heard ? documentOf(task, progressed(outcome), 'submitted') : task.document
    await postpone(db, task, { pollAt: nextPollAt(task, waitMs), misses, missing, document, cancelAnswer })
    faulty.delete(task.id)
  }

  /**
   * After a fault of our own: asks again later, and ends the task when its time is over, without a look at what the vendor
   * or an earlier poll has left behind. A database that is away passes: the task is due again after its lease. Never throws.
   */
  async function giveUpPoll(task: Task, askedAt: number, error: unknown): Promise<void> {
    const isAway = error instanceof DatabaseUnavailable
    if (isAway || !faulty.has(task.id))
      world.log('task_poll_failed', { task: task.id, error: String(error).slice(0, MAX_REASON_LENGTH) })
    if (isAway) return
    if (faulty.size >= MOST_FAULTY) faulty.clear()
    faulty.add(task.id)
    try {
      if (askedAt >= task.deadlineAt)
        return await end(task, { state: 'failed', document: NOTHING_READ, error: TIMED_OUT })
      const misses = task.misses + 1
      const pollAt = nextPollAt(task, retryPauseOf(misses))
      const { missing, document } = task
      await postpone(db, task, { pollAt, misses, missing, document, cancelAnswer: null })
    } catch (fault) {
      world.log('task_poll_failed', { task: task.id, error: String(fault).slice(0, MAX_REASON_LENGTH) })
    }
  }

  /** The last poll is at the deadline itself, so that a task that ended in time is never called late. */
  function nextPollAt({ deadlineAt }: Task, waitMs: number): number {
    return Math.max(now() + 1, Math.min(now() + Math.round(waitMs), deadlineAt))
  }

  /** What this answer ends the task with, if anything. */
  function endingOf(task: Task, answer: Answer, askedAt: number): TaskEnding | undefined {
    const outcome = 'outcome' in answer ? answer.outcome : undefined
    const last = lastOf(task)
    if (outcome?.status === 'succeeded') {
      const { document, videoUrl, quantities, serviceTier } = outcome
      return {
        state: 'succeeded',
        document,
        videoUrl,
        ...(quantities && withinQuote(task, quantities)),
        ...(serviceTier !== undefined && { serviceTier }),
        usageJson: usageJsonOf(document),
      }
    }
    if (outcome?.status === 'failed')
      return { state: 'failed', ...callerComplaint({ document: outcome.document, error: outcome.error }) }
    if (outcome?.status === 'missing' && task.missing + 1 >= MISSING_POLLS) {
      const message = 'The upstream does not know this task any more.'
      return { state: 'failed', document: last, error: { code: 'task_lost', message } }
    }
    return askedAt >= task.deadlineAt ? { state: 'failed', document: last, error: TIMED_OUT } : undefined
  }

  /** A vendor's own figure, which can only be less than what was held for the most. That is paid where it makes no sense. */
  function withinQuote(
    task: Task,
    quantities: Quantities,
  ): { quantities?: Quantities; usageSource: UsageSource } {
    const seconds = quantities.second
    const most = task.quantities.second ?? 0
    if (seconds !== undefined && seconds > 0 && seconds <= most)
      return { quantities: { ...task.quantities, second: Math.ceil(seconds) }, usageSource: 'upstream' }
    world.log('upstream_usage_invalid', { task: task.id, seconds: seconds ?? null })
    return { usageSource: 'estimated' }
  }

  async function end(task: Task, ending: TaskEnding): Promise<void> {
    const options = { now: now(), webhookId: world.newId('msg') }
    const ended = await endTask(db, task, ending, options)
    faulty.delete(task.id)
    if (!ended) return endLate(task, ending, options)
    world.log('task_ended', {
      task: task.id,
      state: ending.state,
      ...(ending.state === 'failed' && ending.error),
    })
  }

  /** Somebody else has ended it, or holds it now. */
  async function endLate(task: Task, ending: TaskEnding, options: EndOptions): Promise<void> {
    const settled = ending.state === 'succeeded' ? await succeedLate(db, task, ending, options) : undefined
    if (!settled) return world.log('task_end_lost', { task: task.id, state: ending.state })
    world.log('task_succeeded_late', {
      task: task.id,
      paid_usd: formatUsd(settled.paidNano),
      shortfall_usd: formatUsd(settled.shortfallNano),
    })
  }

  async function ask(task: Task, model: Model): Promise<Answer> {
    const contract = taskOf(model.family)
    if (!contract || task.upstreamId === null) return { error: 'the task has no vendor to ask' }
    try {
      const reply = await send(world, task, model, contract.poll(task.upstreamId), (response, signal) =>
        readReply(response, model, signal, { mayBeEmpty: true, mostBytes: MAX_DOCUMENT_BYTES }),
      )
      const outcome = contract.outcome(reply.json, task.memo)
      return outcome ? { outcome } : { error: 'upstream_garbage' }
    } catch (error) {
      if (!(error instanceof GatewayError)) return { error: String(error) }
      if (error.code === 'upstream_model_missing') return { outcome: { status: 'missing' } }
      return { error: error.code, retryAfterMs: Number(error.headers['retry-after'] ?? 0) * 1000 }
    }
  }

  /** Has the vendor stop a task; answers why it does not. */
  async function cancel(task: Task, model: Model | undefined): Promise<string> {
    const call = model && taskOf(model.family)?.cancel?.(task.upstreamId as string)
    if (!model || !call) return 'Tasks of this model cannot be stopped.'
    try {
      // Its status says it; what else is in the answer is of no use.
      await send(world, task, model, call, async ({ body }) => body.cancel())
      return CANCELLED
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }

  async function sweep(options: { alone?: boolean } = {}): Promise<void> {
    const before = options.alone ? Number.MAX_SAFE_INTEGER : now() - STRANDED_MS
    let stranded: Task[]
    do {
      stranded = await findStranded(db, before)
      // Side by side, because a process that died under load has left many, and callers wait for this one to start.
    } while ((await Promise.all(stranded.map(tryRecover))).includes(true))
    for (const task of await findOverdue(db, now(), [...catalogue.upstreams.keys()])) await endOverdue(task)
  }

  async function endOverdue(task: Task): Promise<void> {
    try {
      await end(task, { state: 'failed', document: lastOf(task), error: TIMED_OUT })
    } catch (error) {
      await giveUpPoll(task, now(), error)
    }
  }

  async function tryRecover(task: Task): Promise<boolean> {
    try {
      return await recover(task)
    } catch (error) {
      if (error instanceof DatabaseUnavailable) throw error
      world.log('task_not_recovered', { task: task.id, error: String(error).slice(0, MAX_REASON_LENGTH) })
      return false
    }
  }

  /**
   * A task whose process died around its submit: never sent, it is taken back; perhaps sent, it is never sent again,
   * and its caller's Idempotency-Key answers it. False when it has moved on.
   */
  async function recover(task: Task): Promise<boolean> {
    if (task.sentAt === null) return voidTask(db, task, now())
    const model = modelOf(task)
    const contract = model && taskOf(model.family)
    const body = documentOf(task, {}, 'submitted')
    const answer = { status: contract?.submittedStatus ?? 202, contentType: 'application/json', body }
    await apply(db, [markUnknown(task.id), saveAnswer(task.charge, answer)])
    world.log('task_unknown', { task: task.id, upstream: task.upstream, reason: 'its process ended' })
    return true
  }

  /** None when it is out of the catalogue, or another vendor's now, who would not know the task. */
  function modelOf(task: Task): Model | undefined {
    return catalogue.models
      .get(task.model)
      ?.find(({ family, upstream }) => family.kind === 'task' && upstream.name === task.upstream)
  }

  return {
    beat,
    sweep,
    async stop() {
      stopped = true
      // What a look has taken is begun, and so has to be waited for.
      await Promise.allSettled(looks.values())
      await Promise.all([...running.values()].flatMap((polls) => [...polls]))
    },
  }
}

type Answer = { outcome: TaskOutcome } | { error: string; retryAfterMs?: number }

const TIMED_OUT = {
  code: 'timed_out',
  message:
    'The upstream did not finish this task within the time that is allowed for it. Nothing was charged.',
}

/** The vendor's word that it has stopped a task. */
const CANCELLED = ''
const CANCELLED_ERROR = { code: CANCELED, message: 'The task was canceled. Nothing was charged.' }

/** What was last known of a task. */
function lastOf(task: Task): object {
  return task.document === null ? {} : JSON.parse(task.document)
}

function progressed(outcome: TaskOutcome & { status: 'submitted' }): object {
  return outcome.progress === undefined
    ? outcome.document
    : { ...outcome.document, progress: outcome.progress }
}

/** One call with a time limit of its own, until its answer has been read. */
async function send<Result>(
  { after }: Pick<System, 'after'>,
  { account }: Task,
  model: Model,
  call: Call,
  read: (response: HttpResponse, signal: Cancellation) => Promise<Result>,
): Promise<Result> {
  const { upstream } = model
  const controller = new AbortController()
  const timeoutMs = Math.min(POLL_TIMEOUT_MS, upstream.timeoutMs)
  const cancel = after(timeoutMs, () => controller.abort(timedOut(model)))
  try {
    const { response, done } = await upstream.send(call, null, controller.signal, account)
    return await read(response, controller.signal).finally(done)
  } finally {
    cancel()
  }
}

function pauseOf(ageMs: number): number {
  return Math.min(MAX_POLL_MS, Math.max(MIN_POLL_MS, ageMs * POLL_SHARE))
}

function retryPauseOf(misses: number, answer?: Answer): number {
  const asked = answer && 'retryAfterMs' in answer ? (answer.retryAfterMs ?? 0) : 0
  return Math.min(MAX_RETRY_MS, Math.max(asked, MIN_RETRY_MS * 2 ** Math.min(misses - 1, 10)))
}
