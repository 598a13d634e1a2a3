// Nodes that only follow tasks, on a clock that moves only when a test moves it. Nothing happens by itself: a node whose poller is
// no longer called is a dead node.

import { type Sandbox, startSandbox } from '../../sandbox'
import { openWorld, outside, type World } from '../../src/app/world'
import { createPoller, type Poller } from '../../src/tasks/poller'
import { type DatabaseKind, postgresUrl, temporaryFolder } from './databases/databases'
import { TABLES } from './databases/postgres'
import { fund } from './databases/task-rows'
import { whenTestsEnd } from './ending'
import { clocksOf, type TestGatewayOptions, testConfig, waitFor } from './gateway'
import { heldBack, type TaskVendor } from './vendors/task'

interface TaskNode {
  world: World
  poller: Poller
  log: { event: string; fields: Record<string, unknown> }[]
}

export interface TaskNodes {
  nodes: [TaskNode, ...TaskNode[]]
  clock: { now: number }
  /** The fields of each occurrence of an event in the logs of all nodes. */
  find(event: string): TaskNode['log'][number]['fields'][]
  count(event: string): number
  /** Called at the end of `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** The duration of a node's lease on a task (src/tasks/poller.ts). */
export const LEASE_MS = 45_000
export const START = Date.UTC(2026, 2, 10, 12)
const BALANCE_NANO = 100_000_000_000

let vendors: Sandbox | undefined

/** On SQLite they share the one connection, on PostgreSQL each has its own. The account `alice` has a hundred dollars. */
export async function startTaskNodes(
  kind: DatabaseKind,
  count: number,
  options: TestGatewayOptions = {},
): Promise<TaskNodes> {
  if (!vendors) {
    const sandbox = startSandbox()
    whenTestsEnd(() => sandbox.stop())
    vendors = sandbox
  }
  const config = testConfig(
    vendors,
    options,
    kind === 'postgres' ? await postgresUrl({ template: TABLES }) : undefined,
  )
  const clock = { now: START }
  const open = async (log: TaskNode['log']) => {
    const world = await openWorld(config, temporaryFolder(), {
      ...outside,
      ...clocksOf(() => clock.now),
      log: (event, fields) => log.push({ event, fields }),
    })
    return world
  }
  const log: TaskNode['log'] = []
  const world = await open(log)
  const nodes: [TaskNode, ...TaskNode[]] = [{ world, poller: createPoller(world), log }]
  while (nodes.length < count) {
    const ownLog = kind === 'sqlite' ? log : []
    const own = kind === 'sqlite' ? world : await open(ownLog)
    nodes.push({ world: own, poller: createPoller(own), log: ownLog })
  }
  await fund(world.db, 'alice', BALANCE_NANO, START)
  const find: TaskNodes['find'] = (event) =>
    [...new Set(nodes.map((node) => node.log))]
      .flat()
      .filter((line) => line.event === event)
      .map(({ fields }) => fields)
  return {
    nodes,
    clock,
    find,
    count: (event) => find(event).length,
    async [Symbol.asyncDispose]() {
      await Promise.all(nodes.map(({ poller }) => poller.stop()))
      await Promise.all([...new Set(nodes.map((node) => node.world))].map((world) => world.close()))
    },
  }
}

/**
 * Polls the one due task this number of times, each poll by the next node and after the lease of the previous one. All wait for
 * their answer until the returned function is called.
 */
export async function pollHeldBack(
  { nodes, clock }: TaskNodes,
  vendor: TaskVendor,
  polls: number,
  answer: (id: string) => Response,
): Promise<() => void> {
  const together = heldBack(answer)
  vendor.answerPoll = together.answer
  const before = vendor.polls.length
  for (let poll = 1; poll <= polls; poll++) {
    await nodes[poll % nodes.length]?.poller.beat()
    await waitFor(() => vendor.polls.length === before + poll)
    if (vendor.polls.length !== before + poll) throw new Error(`poll ${poll} did not reach the vendor`)
    clock.now += LEASE_MS
  }
  return together.letGo
}
