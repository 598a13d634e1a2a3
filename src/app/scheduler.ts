// Runs jobs in the background, each again some time after it ended. A job that fails is logged and runs again; it must
// never stop the others or the process.

import { forgetAnswers } from '../billing/idempotency'
import { releaseExpired } from '../billing/ledger'
import { forgetWindows } from '../billing/limits'
import { apply } from '../db/db'
import type { Reencryption } from '../db/reencryption'
import type { Gateway } from '../request/line'
import { sweepResponses } from '../responses/keep'
import type { Poller } from '../tasks/poller'
import { forgetWebhooks } from '../webhooks/rows'
import { createWebhookSender } from '../webhooks/sender'
import type { World } from './world'

interface Job {
  name: string
  everyMs: number
  run(): Promise<unknown>
}

interface Scheduler {
  stop(): Promise<void>
}

const MINUTE_MS = 60_000
const BEAT_MS = 250

interface Work {
  gateway: Gateway
  poller: Poller
  reencryption: Reencryption
}

export function startScheduler(world: World, { gateway, poller, reencryption }: Work): Scheduler {
  const { db, requestLog, backgroundResponses, now } = world
  const webhooks = createWebhookSender(world)
  const jobs: Job[] = [
    { name: 'release expired holds', everyMs: 5_000, run: () => releaseExpired(db, now(), gateway) },
    { name: 'end charges late', everyMs: 2_000, run: () => gateway.endLater() },
    { name: 'poll tasks', everyMs: BEAT_MS, run: () => poller.beat() },
    { name: 'sweep tasks', everyMs: 30_000, run: () => poller.sweep() },
    { name: 'deliver webhooks', everyMs: BEAT_MS, run: () => webhooks.beat() },
    { name: 'remove artifacts', everyMs: MINUTE_MS, run: async () => world.artifacts?.sweep() },
    { name: 'remove kept responses', everyMs: MINUTE_MS, run: () => sweepResponses(world) },
    { name: 'follow responses', everyMs: BEAT_MS, run: () => backgroundResponses.beat() },
    { name: 'end responses', everyMs: 10_000, run: () => backgroundResponses.sweep() },
    { name: 'follow the time', everyMs: 15_000, run: () => world.followTime() },
    { name: 'encrypt rows again', everyMs: MINUTE_MS, run: () => reencryption.beat() },
    { name: 'trim request log', everyMs: MINUTE_MS, run: () => requestLog.trim(now()) },
    {
      name: 'forget old rows',
      everyMs: 10 * MINUTE_MS,
      run: () => apply(db, [forgetAnswers(now()), forgetWindows(now()), ...forgetWebhooks(now())]),
    },
  ]
  let stopped = false
  const timers = new Map<Job, Timer>()
  const running = new Set<Promise<void>>()

  function plan(job: Job): void {
    if (stopped) return
    const timer = setTimeout(() => {
      const run = runJob(job).finally(() => {
        running.delete(run)
        plan(job)
      })
      running.add(run)
    }, job.everyMs)
    timers.set(job, timer)
  }

  async function runJob(job: Job): Promise<void> {
    try {
      await job.run()
    } catch (error) {
      world.log('job_failed', { job: job.name, reason: String(error) })
    }
  }

  for (const job of jobs) plan(job)
  return {
    async stop() {
      stopped = true
      reencryption.stop()
      for (const timer of timers.values()) clearTimeout(timer)
      await Promise.all([...running, poller.stop(), webhooks.stop(), backgroundResponses.stop()])
    },
  }
}
