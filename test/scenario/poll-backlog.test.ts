// More due tasks than a node polls at a time: one beat starts some of them, and each ended poll makes room for the next, within the
// vendor's limit. The clock does not move, so nothing here depends on the speed of the machine.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { databaseKinds } from '../support/databases/databases'
import { followTask } from '../support/databases/task-rows'
import { waitFor } from '../support/gateway'
import { START, startTaskNodes } from '../support/task-nodes'
import { heldBack, startTaskVendor, succeeded } from '../support/vendors/task'

setDefaultTimeout(180_000)

const DUE = 250
/** As many polls as a node runs at a time (src/tasks/poller.ts). */
const PARALLEL_POLLS = 100
/** Enough of them to make place for others. */
const SOON = 60

for (const kind of databaseKinds) {
  async function startBacklog(vendor: ReturnType<typeof startTaskVendor>, pollsPerSecond: number) {
    const dashscope = { ...vendor.upstream, pollsPerSecond }
    const group = await startTaskNodes(kind, 1, { upstreams: { dashscope } })
    const { world, poller } = group.nodes[0]
    await Promise.all(Array.from({ length: DUE }, () => followTask(world.db, { createdAt: START })))
    return { group, poller }
  }

  test(`a backlog on ${kind} is polled from one beat, never more tasks at a time than there are slots`, async () => {
    using vendor = startTaskVendor()
    let [running, most] = [0, 0]
    vendor.answerPoll = async (id) => {
      most = Math.max(most, ++running)
      await Bun.sleep(1)
      running--
      return succeeded(id)
    }
    const { group, poller } = await startBacklog(vendor, 10_000)
    await using _group = group
    await poller.beat()
    await waitFor(() => group.count('task_ended') === DUE)
    expect(group.count('task_ended')).toBe(DUE)
    expect(new Set(vendor.polls).size).toBe(DUE)
    expect(vendor.polls).toHaveLength(DUE)
    expect(most).toBeLessThanOrEqual(PARALLEL_POLLS)
  })

  test(`a backlog on ${kind} keeps the vendor's limit of one second`, async () => {
    using vendor = startTaskVendor()
    vendor.answerPoll = succeeded
    const { group, poller } = await startBacklog(vendor, 170)
    await using _group = group
    await poller.beat()
    await waitFor(() => group.count('task_ended') === 170)
    expect(group.count('task_ended')).toBe(170)
    await poller.beat()
    await poller.stop()
    expect(vendor.polls).toHaveLength(170)
    expect(group.count('task_ended')).toBe(170)
  })

  test(`a backlog on ${kind} is no longer polled once the node stops, which waits for begun deliveries`, async () => {
    using vendor = startTaskVendor()
    const [soon, late] = [heldBack(succeeded), heldBack(succeeded)]
    vendor.answerPoll = (id) => (vendor.polls.length <= SOON ? soon : late).answer(id)
    const { group, poller } = await startBacklog(vendor, 10_000)
    await using _group = group
    await poller.beat()
    await waitFor(() => vendor.polls.length === PARALLEL_POLLS)
    const stopped = poller.stop()
    soon.letGo()
    await waitFor(() => group.count('task_ended') === SOON)
    expect(group.count('task_ended')).toBe(SOON)
    late.letGo()
    await stopped
    expect(vendor.polls).toHaveLength(PARALLEL_POLLS)
    expect(group.count('task_ended')).toBe(PARALLEL_POLLS)
  })
}
