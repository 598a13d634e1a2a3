// How fast the tasks of one upstream are polled: no more a second than the vendor lets all nodes together, no more at a
// time than a node can hold, and a few at once so that callers do not feel that thousands are due.

import type { Upstream } from '../contract/upstream'
import { claimDue, countDue, takeTurns } from './leases'
import type { PollWorld } from './poll'
import type { Task } from './task'

/** Longer than a cancel and a poll may take, so that a lease is only lost by a node that died. */
const LEASE_MS = 45_000
/** Polls of one upstream that a node runs at a time: vendors are slow, the limit a second is theirs. */
const PARALLEL_POLLS = 100
/** Tasks that are taken at a time, because a look costs as much as some polls. */
const TASKS_A_LOOK = 40
/** How many polls begin at a time, and the pause before the next. */
const POLLS_AT_ONCE = 3
const PAUSE_MS = 3

export class UpstreamPace {
  private readonly world: Pick<PollWorld, 'db' | 'now' | 'after' | 'log'>
  private readonly upstream: Pick<Upstream, 'name' | 'pollsPerSecond'>
  private readonly poll: (task: Task) => Promise<void>
  private readonly running = new Set<Promise<void>>()
  /** The look that goes on: two at a time would take the same places. */
  private looking: Promise<void> | undefined
  /** The last look took all that it may, so that more may be due. */
  private isCrowded = false
  private isStopped = false

  /** `poll` must never throw. */
  constructor(
    world: Pick<PollWorld, 'db' | 'now' | 'after' | 'log'>,
    upstream: Pick<Upstream, 'name' | 'pollsPerSecond'>,
    poll: (task: Task) => Promise<void>,
  ) {
    this.world = world
    this.upstream = upstream
    this.poll = poll
  }

  /** Starts polls of what is due. Resolves when they have been started, not when they have ended. */
  look(): Promise<void> {
    this.looking ??= this.startDue().finally(() => {
      this.looking = undefined
    })
    return this.looking
  }

  /** Stops starting polls, and waits for the running ones. */
  async stop(): Promise<void> {
    this.isStopped = true
    // What a look has taken is begun, and so has to be waited for.
    await this.looking?.catch(() => {})
    await Promise.all(this.running)
  }

  private async startDue(): Promise<void> {
    while (!this.isStopped) {
      const tasks = await this.take()
      for (let from = 0; from < tasks.length; from += POLLS_AT_ONCE) {
        for (const task of tasks.slice(from, from + POLLS_AT_ONCE)) this.start(task)
        // What has been taken is begun, also when the gateway stops.
        if (!this.isStopped) await new Promise<void>((resolve) => this.world.after(PAUSE_MS, resolve))
      }
      // Without a free place it is the end of a poll that looks again.
      if (!this.isCrowded || this.freePlaces() === 0) return
    }
  }

  /** Takes due tasks, no more than the vendor may be asked after now. */
  private async take(): Promise<Task[]> {
    const { db, now } = this.world
    const { name, pollsPerSecond } = this.upstream
    const at = now()
    const free = Math.min(this.freePlaces(), TASKS_A_LOOK)
    const due = free > 0 ? await countDue(db, name, at, Math.min(free, pollsPerSecond)) : 0
    const allowed = due > 0 ? await takeTurns(db, name, { wanted: due, pollsPerSecond, now: at }) : 0
    this.isCrowded = allowed === free
    return allowed === 0 ? [] : claimDue(db, name, at, { limit: allowed, leaseMs: LEASE_MS })
  }

  private start(task: Task): void {
    const poll = this.poll(task).finally(() => {
      this.running.delete(poll)
      this.lookAgain()
    })
    this.running.add(poll)
  }

  /** Waiting for the next beat would hold a vendor that answers at once to so many polls a beat. */
  private lookAgain(): void {
    // A look that has begun says itself whether there was place for all.
    if (this.isStopped || this.looking || !this.isCrowded || this.freePlaces() < TASKS_A_LOOK) return
    this.look().catch((error) => this.world.log('job_failed', { job: 'poll tasks', reason: String(error) }))
  }

  private freePlaces(): number {
    return PARALLEL_POLLS - this.running.size
  }
}
