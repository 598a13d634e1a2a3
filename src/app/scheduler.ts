// Runs jobs in the background, each soon after the start and again some time after it ended. One timer drives all of
// them. It is slow while no task or webhook is due soon, so that an idle process sleeps. A job that fails is logged and
// runs again; it must never stop the others or the process.

import { forgetSessions } from '../accounts/sessions'
import { forgetTokens } from '../accounts/spenders'
import { checkSessions, forgetChecks } from '../admin/session-checks'
import type { BackupSchedule } from '../backup/schedule'
import { forgetAnswers } from '../billing/ledger/idempotency'
import { releaseExpired } from '../billing/ledger/ledger'
import { forgetWindows } from '../billing/ledger/limits'
import { MonthSeals } from '../billing/receipts/sealed-months'
import { addToTotals } from '../billing/reports/usage-totals'
import { renewAllowances } from '../billing/selling/allowances'
import { makeChargePartitions } from '../db/charge-partitions'
import { apply } from '../db/db'
import type { Reencryption } from '../db/encryption/reencryption'
import { removeAbandoned } from '../db/scratch-folder'
import { watchEvents } from '../events/watch'
import { sweepResponses } from '../kept-responses/keep'
import { forgetClients } from '../oauth/clients'
import { forgetGrants } from '../oauth/grants'
import { DRILLS_FRESH_MS } from '../request/answer/drills'
import type { Gateway } from '../request/line'
import { forgetFigures } from '../request-log/figures'
import type { RetentionSchedule } from '../retention/schedule'
import type { Poller } from '../tasks/poller'
import { forgetWebhooks } from '../webhooks/rows'
import { createWebhookSender, type WebhookSender } from '../webhooks/sender'
import type { World } from './world'

interface Job {
  name: string
  everyMs: number
  /** Runs the job. If it resolves with true, something is due soon, and the timer beats quickly. */
  run(): Promise<unknown>
}

export interface Scheduler {
  /** Leaves tasks, webhooks and sweeps to another process. What runs here, such as a backup, is still finished. */
  leave(): Promise<void>
  stop(): Promise<void>
}

/** Jobs for requests that still run when another process has taken over. */
const KEEP_HOLDS = 'release expired holds'
const END_LATE = 'end charges late'
const FOLLOW_TIME = 'follow the time'
const KEEP_TASKS = 'keep the leases of tasks'
const FOLLOW_DRILLS = 'follow drills'
const STAYING = new Set([KEEP_HOLDS, END_LATE, KEEP_TASKS, FOLLOW_TIME, FOLLOW_DRILLS])

const MINUTE_MS = 60_000
/** When rare jobs run first: processes that are replaced often must not postpone them forever. */
const FIRST_MS = 5_000
/** How often a process records which key it encrypts with; a file has no other users that would wait for it. */
const ENCRYPTION_MS = { sqlite: MINUTE_MS, postgres: 10_000 }
/** Interval of the timer while anything is due soon. */
export const BEAT_MS = 250
/** Interval of the timer otherwise: within the second that webhooks look ahead, and the two before the first poll of a task. */
export const REST_MS = 1_000

interface Work {
  gateway: Gateway
  poller: Poller
  reencryption: Reencryption
  entrance: { renew(): Promise<void> }
  backups: Pick<BackupSchedule, 'beat' | 'stop'>
  retention: Pick<RetentionSchedule, 'beat' | 'stop'>
  takeover: { check(): Promise<void> }
  discovery: { refresh(): Promise<void> }
}

export function startScheduler(world: World, work: Work): Scheduler {
  const { poller, reencryption, backups, retention } = work
  const { backgroundResponses } = world
  const webhooks = createWebhookSender(world)
  const jobs = jobsOf(world, work, webhooks)
  /** Milliseconds until each job runs again; a running one is missing. */
  const waits = new Map(jobs.map((job) => [job, Math.min(job.everyMs, FIRST_MS)]))
  const running = new Set<Promise<void>>()
  /** Jobs that found something due soon when they last ended. */
  const busy = new Set<Job>()
  let pauseMs = REST_MS
  let stopped = false
  let hasLeft = false
  let cancel = () => {}

  function plan(): void {
    pauseMs = busy.size > 0 ? BEAT_MS : REST_MS
    cancel = world.after(pauseMs, tick)
  }

  function tick(): void {
    for (const [job, waitMs] of waits) {
      if (waitMs > pauseMs) waits.set(job, waitMs - pauseMs)
      else start(job)
    }
    plan()
  }

  function start(job: Job): void {
    waits.delete(job)
    const run = runJob(job).then((isBusy) => {
      running.delete(run)
      if (!hasLeft || STAYING.has(job.name)) waits.set(job, job.everyMs)
      if (isBusy) busy.add(job)
      else busy.delete(job)
      if (!isBusy || pauseMs === BEAT_MS || stopped) return
      cancel()
      plan()
    })
    running.add(run)
  }

  /** Runs a job. True if something is due soon. */
  async function runJob(job: Job): Promise<boolean> {
    try {
      return (await job.run()) === true
    } catch (error) {
      world.log('job_failed', { job: job.name, reason: String(error) })
      return false
    }
  }

  plan()
  return {
    async leave() {
      hasLeft = true
      for (const job of waits.keys()) if (!STAYING.has(job.name)) waits.delete(job)
      reencryption.stop()
      await Promise.all([poller.stop(), webhooks.stop()])
    },
    async stop() {
      stopped = true
      cancel()
      reencryption.stop()
      if (!hasLeft) backups.stop()
      retention.stop()
      await Promise.all([...running, poller.stop(), webhooks.stop(), backgroundResponses.stop()])
    },
  }
}

function jobsOf(
  world: World,
  { gateway, poller, reencryption, entrance, takeover, backups, retention, discovery }: Work,
  webhooks: WebhookSender,
): Job[] {
  const { db, requestLog, backgroundResponses, lateAppends, now } = world
  const seals = new MonthSeals(world)
  return [
    { name: KEEP_HOLDS, everyMs: 5_000, run: () => releaseExpired(db, now(), gateway) },
    { name: END_LATE, everyMs: 2_000, run: () => gateway.endLater().then(() => lateAppends.retry()) },
    { name: KEEP_TASKS, everyMs: 10_000, run: () => gateway.renewTasks() },
    { name: 'poll tasks', everyMs: BEAT_MS, run: () => poller.beat() },
    { name: 'sweep tasks', everyMs: 30_000, run: () => gateway.renewTasks().then(() => poller.sweep()) },
    { name: 'deliver webhooks', everyMs: BEAT_MS, run: () => webhooks.beat() },
    { name: 'remove artifacts', everyMs: MINUTE_MS, run: async () => world.artifacts?.sweep() },
    { name: 'remove kept responses', everyMs: MINUTE_MS, run: () => sweepResponses(world) },
    { name: 'end responses', everyMs: 10_000, run: () => backgroundResponses.sweep() },
    { name: FOLLOW_TIME, everyMs: 15_000, run: () => world.followTime() },
    { name: 'encrypt rows again', everyMs: ENCRYPTION_MS[db.kind], run: () => reencryption.beat() },
    { name: 'take over what processes left', everyMs: 1_000, run: () => takeover.check() },
    {
      name: 'remove temporary files',
      everyMs: MINUTE_MS,
      async run() {
        world.uploads.removeAbandoned()
        await removeAbandoned(world.dataDir)
      },
    },
    { name: 'renew the certificate', everyMs: MINUTE_MS, run: () => entrance.renew() },
    { name: 'discover models', everyMs: MINUTE_MS, run: () => discovery.refresh() },
    { name: 'back up', everyMs: MINUTE_MS, run: () => backups.beat() },
    { name: 'check sessions', everyMs: 15_000, run: () => checkSessions(world) },
    { name: 'watch events', everyMs: 15_000, run: () => watchEvents(world) },
    { name: 'close old charges', everyMs: 10 * MINUTE_MS, run: () => retention.beat() },
    { name: 'add up usage', everyMs: MINUTE_MS, run: () => addToTotals(db) },
    {
      name: 'renew allowances',
      everyMs: MINUTE_MS,
      run: () => renewAllowances(db, world.plans.values(), now()),
    },
    { name: FOLLOW_DRILLS, everyMs: DRILLS_FRESH_MS, run: () => world.drills.follow() },
    { name: 'seal months', everyMs: 10 * MINUTE_MS, run: () => seals.beat() },
    { name: 'make partitions', everyMs: 10 * MINUTE_MS, run: () => makeChargePartitions(db, now()) },
    { name: 'trim request log', everyMs: MINUTE_MS, run: () => requestLog.trim(now()) },
    {
      name: 'forget old rows',
      everyMs: 10 * MINUTE_MS,
      run: () =>
        apply(db, [
          forgetAnswers(now()),
          forgetWindows(now()),
          ...forgetWebhooks(now()),
          ...forgetSessions(now()),
          forgetChecks(now()),
          ...forgetFigures(now()),
          ...forgetTokens(now()),
          ...forgetGrants(now()),
          forgetClients(now()),
        ]),
    },
  ]
}
