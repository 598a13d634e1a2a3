// The pace of polls for one upstream: a limit per second that all nodes share, a limit of running polls, and a few at once so that
// callers do not notice thousands of due tasks. It must never exceed the vendor's limit.

import type { Upstream } from '../contract/upstream'
import { claimDue, countDue, reservePolls } from './leases'
import type { PollWorld } from './poll'
import type { Task } from './task'

/** Longer than a cancellation and a poll may take, so that only a dead node loses a lease. */
const LEASE_MS = 45_000
/** Maximum number of concurrent polls of one upstream on a node: vendors are slow, and the limit per second is theirs. */
const PARALLEL_POLLS = 100
/** Number of tasks per claim, because a query costs as much as several polls. */
const TASKS_PER_CLAIM = 40
/** Number of polls that start at once, and the pause before the next ones. */
const POLLS_AT_ONCE = 3
const PAUSE_MS = 3

export class UpstreamPace {
  private readonly world: Pick<PollWorld, 'db' | 'now' | 'after' | 'log'>
  private readonly upstream: Pick<Upstream, 'name' | 'pollsPerSecond'>
  private readonly poll: (task: Task) => Promise<void>
  private readonly running = new Set<Promise<void>>()
  /** The running query: two at once would take the same slots. */
  private looking: Promise<void> | undefined
  /** True if the last query took all that it may, so that more may be due. */
  private isCrowded = false
  private isStopped = false

  /** Creates a pace; `poll` must never throw. */
  constructor(
    world: Pick<PollWorld, 'db' | 'now' | 'after' | 'log'>,
    upstream: Pick<Upstream, 'name' | 'pollsPerSecond'>,
    poll: (task: Task) => Promise<void>,
  ) {
    this.world = world
    this.upstream = upstream
    this.poll = poll
  }

  /** Starts polls of due tasks. Resolves when they have started, not when they have ended. */
  startPolls(): Promise<void> {
    this.looking ??= this.startDue().finally(() => {
      this.looking = undefined
    })
    return this.looking
  }

  /** Stops starting polls, and waits for the running ones. */
  async stop(): Promise<void> {
    this.isStopped = true
    // Claimed tasks are polled even now, so they are waited for.
    await this.looking?.catch(() => {})
    await Promise.all(this.running)
  }

  private async startDue(): Promise<void> {
    while (!this.isStopped) {
      const tasks = await this.take()
      for (let from = 0; from < tasks.length; from += POLLS_AT_ONCE) {
        for (const task of tasks.slice(from, from + POLLS_AT_ONCE)) this.start(task)
        // Claimed tasks are polled even when the gateway stops.
        if (!this.isStopped) await new Promise<void>((resolve) => this.world.after(PAUSE_MS, resolve))
      }
      // Without a free slot, the end of a poll checks again.
      if (!this.isCrowded || this.freePlaces() === 0) return
    }
  }

  /** Claims due tasks, at most as many as the vendor's limit allows. */
  private async take(): Promise<Task[]> {
    const { db, now } = this.world
    const { name, pollsPerSecond } = this.upstream
    const at = now()
    const free = Math.min(this.freePlaces(), TASKS_PER_CLAIM)
    const due = free > 0 ? await countDue(db, name, at, Math.min(free, pollsPerSecond)) : 0
    const allowed = due > 0 ? await reservePolls(db, name, { wanted: due, pollsPerSecond, now: at }) : 0
    this.isCrowded = allowed === free
    return allowed === 0 ? [] : claimDue(db, name, at, { limit: allowed, leaseMs: LEASE_MS })
  }

  private start(task: Task): void {
    const poll = this.poll(task).finally(() => {
      this.running.delete(poll)
      this.startMorePolls()
    })
    this.running.add(poll)
  }

  /** Checks again after a poll. Waiting for the next beat would limit fast vendors to a few polls per beat. */
  private startMorePolls(): void {
    // A running query finds out itself whether there was room for all.
    if (this.isStopped || this.looking || !this.isCrowded || this.freePlaces() < TASKS_PER_CLAIM) return
    this.startPolls().catch((error) =>
      this.world.log('job_failed', { job: 'poll tasks', reason: String(error) }),
    )
  }

  private freePlaces(): number {
    return PARALLEL_POLLS - this.running.size
  }
}
