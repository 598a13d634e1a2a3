// Follows the tasks that vendors work on: polls each when it is due, and ends it when its vendor has.
// Every node runs one, all equal: leases share the work out.

import { UpstreamPace } from './pace'
import { type PollWorld, TaskPolls } from './poll'
import { sweepTasks } from './sweep'

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

export function createPoller(world: PollWorld): Poller {
  const polls = new TaskPolls(world)
  const paces = Array.from(
    world.catalogue.upstreams.values(),
    (upstream) => new UpstreamPace(world, upstream, (task) => polls.poll(task)),
  )
  return {
    async beat() {
      await Promise.all(paces.map((pace) => pace.look()))
    },
    sweep: (options = {}) => sweepTasks(world, polls, options),
    async stop() {
      await Promise.all(paces.map((pace) => pace.stop()))
    },
  }
}
