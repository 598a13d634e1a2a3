// Follows the tasks at vendors: polls each when it is due, and ends it when its vendor has. Every node runs an equal poller; leases
// divide the work. It must never poll a task without its lease.

import type { Upstream } from '../contract/upstream'
import { hasOpenTasks } from './leases'
import { UpstreamPace } from './pace'
import { type PollWorld, TaskPolls } from './poll'
import { sweepTasks } from './sweep'

export interface Poller {
  /**
   * Polls due tasks. Returns when the polls have started, not when they have ended: true if there are open tasks, so that
   * the next beat should come within a fraction of a second. A new task is first polled some seconds later.
   */
  beat(): Promise<boolean>
  /**
   * Handles tasks that wait for a vendor's id: those of a process that died, and those past their deadline. With `alone` only the
   * live processes can be sending them, so none is too young.
   */
  sweep(options?: { alone?: boolean; liveProcesses?: readonly string[] }): Promise<void>
  /** Stops starting polls, and waits for the running ones. */
  stop(): Promise<void>
}

export function createPoller(world: PollWorld): Poller {
  const polls = new TaskPolls(world)
  /** The pace of each upstream of the catalogue; a reload brings another catalogue. */
  let paces = new Map<Upstream, UpstreamPace>()
  /** Paces of upstreams that are no longer in the catalogue, until their last polls have ended. */
  const ending = new Set<Promise<void>>()

  function follow(upstreams: Iterable<Upstream>): void {
    const before = paces
    paces = new Map(
      Array.from(upstreams, (upstream) => [
        upstream,
        before.get(upstream) ?? new UpstreamPace(world, upstream, (task) => polls.poll(task)),
      ]),
    )
    for (const [upstream, pace] of before) {
      if (paces.has(upstream)) continue
      const end = pace.stop().finally(() => ending.delete(end))
      ending.add(end)
    }
  }

  return {
    async beat() {
      if (!(await hasOpenTasks(world.db))) return false
      follow(world.catalogue.upstreams.values())
      await Promise.all([...paces.values()].map((pace) => pace.startPolls()))
      return true
    },
    sweep: (options = {}) => sweepTasks(world, polls, options),
    async stop() {
      await Promise.all([...ending, ...[...paces.values()].map((pace) => pace.stop())])
    },
  }
}
