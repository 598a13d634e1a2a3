// Video tasks on several nodes: which node polls them, how others take over the tasks of a dead node, and that a task ends once
// whatever the nodes see at the same time. Nothing here waits for a lease, because the test sets the clock.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { SQL } from 'bun'
import { balanceOf } from '../../src/billing/ledger/balances'
import { audit } from '../../src/billing/proofs/audit'
import type { Db } from '../../src/db/db'
import { claimDue } from '../../src/tasks/leases'
import {
  type DatabaseKind,
  databaseAddress,
  databaseKinds,
  openAddress,
  postgresUrl,
} from '../support/databases/databases'
import { TABLES } from '../support/databases/postgres'
import { followTask, fund, readTask } from '../support/databases/task-rows'
import { startTestGateway, waitFor } from '../support/gateway'
import { install } from '../support/processes/executable'
import { idsOf, RECEIVER_NETWORK, startReceiver } from '../support/servers/webhook-receiver'
import { LEASE_MS, pollHeldBack, START, startTaskNodes, type TaskNodes } from '../support/task-nodes'
import {
  failed,
  heldBack,
  startTaskVendor,
  succeeded,
  type TaskVendor,
  taken,
  VIDEO_NANO,
  videoBody,
} from '../support/vendors/task'

setDefaultTimeout(180_000)

const BALANCE_NANO = 100_000_000_000
const MINUTE_MS = 60_000
const HOOK = 'http://192.0.2.1/ended'

for (const kind of databaseKinds) {
  describe(`tasks of several nodes on ${kind}`, () => {
    sharingContract(kind)
    deathContract(kind)
    endContract(kind)
  })
}

function sharingContract(kind: DatabaseKind): void {
  test('are polled by one at a time, and all nodes together keep the limit of the vendor', async () => {
    using vendor = startTaskVendor()
    vendor.answerPoll = succeeded
    const perSecond = 20
    await using group = await startTaskNodes(kind, 3, { upstreams: { dashscope: vendor.upstream } })
    const { db } = group.nodes[0].world
    await followMany(db, 90)
    for (let second = 1; second <= 5; second++) {
      const asked = Math.min(90, second * perSecond)
      for (let beats = 0; beats < 6; beats++) {
        await Promise.all(group.nodes.map(({ poller }) => poller.beat()))
      }
      await waitFor(async () => (await countEnded(db)) >= asked)
      expect({ polls: vendor.polls.length, ended: await countEnded(db) }).toEqual({
        polls: asked,
        ended: asked,
      })
      group.clock.now += 1_000
    }
    expect(vendor.mostAtOnce).toBe(1)
    expect(new Set(vendor.polls).size).toBe(90)
    await expectPaid(db, 90, START)
  })
}

function deathContract(kind: DatabaseKind): void {
  test('of a node that died are taken over within its lease and five seconds, and it cannot change them any more', async () => {
    using vendor = startTaskVendor()
    const late = heldBack(failed)
    vendor.answerPoll = late.answer
    await using group = await startTaskNodes(kind, 3, { upstreams: { dashscope: vendor.upstream } })
    const { nodes, clock } = group
    const [dead, ...others] = nodes
    const { db } = dead.world
    await followMany(db, 100)
    for (let second = 0; second < 5; second++) {
      await dead.poller.beat()
      clock.now += 1_000
    }
    await waitFor(() => vendor.polls.length === 100)
    expect(vendor.polls).toHaveLength(100)

    vendor.answerPoll = succeeded
    const firstLeaseEnds = START + LEASE_MS
    clock.now = firstLeaseEnds - 1
    await Promise.all(others.map(({ poller }) => poller.beat()))
    expect(vendor.polls).toHaveLength(100)
    const lastLeaseEnds = firstLeaseEnds + 4_000
    for (clock.now = firstLeaseEnds; clock.now <= lastLeaseEnds + 5_000; clock.now += 250) {
      await Promise.all(others.map(({ poller }) => poller.beat()))
    }
    // The clock no longer moves: beats that a busy database refused are repeated within the five seconds.
    await waitFor(async () => {
      await Promise.all(others.map(({ poller }) => poller.beat()))
      return (await countEnded(db)) === 100
    })
    expect(await countEnded(db)).toBe(100)
    expect(vendor.polls).toHaveLength(200)

    // The dead one was only slow, and has another answer.
    late.letGo()
    await waitFor(() => group.count('task_end_lost') === 100)
    expect(group.count('task_end_lost')).toBe(100)
    await expectPaid(db, 100, clock.now)
  })

  test('that continue: a late owner does not delay a task that another one follows', async () => {
    using vendor = startTaskVendor()
    const late = heldBack(taken)
    vendor.answerPoll = late.answer
    await using group = await startTaskNodes(kind, 2, { upstreams: { dashscope: vendor.upstream } })
    const { nodes, clock } = group
    const [slow, quick] = nodes as [(typeof nodes)[0], (typeof nodes)[0]]
    const { db } = slow.world
    const task = await followTask(db, { createdAt: START })
    await slow.poller.beat()
    await waitFor(() => vendor.polls.length === 1)
    clock.now += LEASE_MS
    const current = heldBack(succeeded)
    vendor.answerPoll = current.answer
    await quick.poller.beat()
    await waitFor(() => vendor.polls.length === 2)
    const before = await readTask(db, task.id)
    late.letGo()
    await slow.poller.stop()
    expect(await readTask(db, task.id)).toEqual(before)
    current.letGo()
    await quick.poller.stop()
    expect((await readTask(db, task.id)).state).toBe('succeeded')
    await expectPaid(db, 1, clock.now)
  })
}

function endContract(kind: DatabaseKind): void {
  test('that twenty pollers see fail together are released once, with one webhook', async () => {
    using vendor = startTaskVendor()
    await using group = await startTaskNodes(kind, 4, { upstreams: { dashscope: vendor.upstream } })
    const { task, db } = await pollTogether(group, vendor, 20, failed)
    await waitFor(() => group.count('task_ended') + group.count('task_end_lost') === 20)
    expect({ ended: group.count('task_ended'), lost: group.count('task_end_lost') }).toEqual({
      ended: 1,
      lost: 19,
    })
    expect(await readTask(db, task)).toMatchObject({ state: 'failed', errorCode: 'InvalidParameter' })
    expect(await db.query({ sql: 'select state, task from webhooks' })).toEqual([{ state: 'pending', task }])
    await expectPaid(db, 0, group.clock.now)
  })

  test('that some see fail and others succeed end as reported to the owner of the lease', async () => {
    using vendor = startTaskVendor()
    await using group = await startTaskNodes(kind, 4, { upstreams: { dashscope: vendor.upstream } })
    // The last of twenty polls holds the lease; it is the twentieth answer that says succeeded.
    let answers = 0
    const mixed = (id: string) => (++answers % 20 === 0 ? succeeded(id) : failed(id))
    const { task, db } = await pollTogether(group, vendor, 20, mixed)
    await waitFor(() => group.count('task_ended') + group.count('task_end_lost') === 20)
    expect({ ended: group.count('task_ended'), lost: group.count('task_end_lost') }).toEqual({
      ended: 1,
      lost: 19,
    })
    const { state } = await readTask(db, task)
    expect(state).toBe('succeeded')
    expect(await db.query({ sql: 'select task from webhooks' })).toEqual([{ task }])
    await expectPaid(db, 1, group.clock.now)
  })
}

async function followMany(db: Db, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, () => followTask(db, { createdAt: START })))
}

/** Polls one task this number of times and answers all polls at once. */
async function pollTogether(
  group: TaskNodes,
  vendor: TaskVendor,
  polls: number,
  answer: (id: string) => Response,
) {
  const { db } = group.nodes[0].world
  const { id } = await followTask(db, { createdAt: START, webhookUrl: HOOK })
  const letGo = await pollHeldBack(group, vendor, polls, answer)
  letGo()
  return { task: id, db }
}

async function countEnded(db: Db): Promise<number> {
  const [row] = await db.query({ sql: `select count(*) as count from tasks where state <> 'submitted'` })
  return Number(row?.count)
}

/** This number of videos were paid, once each, and nothing is held any more. */
async function expectPaid(db: Db, videos: number, now: number): Promise<void> {
  expect(await balanceOf(db, 'alice')).toMatchObject({
    balanceNano: BALANCE_NANO - videos * VIDEO_NANO,
    heldNano: 0,
  })
  const [row] = await db.query({ sql: `select count(*) as count from movements where kind = 'charge'` })
  expect(Number(row?.count)).toBe(videos)
  expect((await audit(db, now)).problems).toEqual([])
}

test.skipIf(!databaseKinds.includes('postgres'))(
  'a task that another node takes between the choice and the change is not taken twice',
  async () => {
    const address = await postgresUrl({ template: TABLES })
    const db = openAddress(address)
    await fund(db, 'alice', BALANCE_NANO, START)
    const { id, upstream } = await followTask(db, { createdAt: START })
    const now = START + MINUTE_MS
    await using other = new SQL(address, { max: 1 })
    let claimed: ReturnType<typeof claimDue> | undefined
    await other.begin(async (transaction) => {
      await transaction.unsafe(
        `update tasks set lease_until = ${now + LEASE_MS}, fence = fence + 1 where id = '${id}'`,
      )
      claimed = claimDue(db, upstream, now, { limit: 10, leaseMs: LEASE_MS })
      // It has chosen the row by its committed state, and waits to change it.
      const waiting = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      await waitFor(async () => (await db.query({ sql: waiting })).length === 1)
    })
    expect(await claimed).toEqual([])
    await db.close()
  },
)

test('tasks of a process that is killed with leases are ended by another node on PostgreSQL', async () => {
  using vendor = startTaskVendor()
  using receiver = startReceiver()
  const late = heldBack(failed)
  vendor.answerPoll = late.answer
  const databaseUrl = await databaseAddress('postgres')
  const options = {
    upstreams: { dashscope: vendor.upstream },
    config: { webhooks: { allow: [RECEIVER_NETWORK] } },
  }
  const installation = await install({
    ...options,
    config: { ...options.config, database: databaseUrl },
  })
  const secret = await installation.makeKey('alice', '100')
  const killed = await installation.serve()
  const tasks = 12
  for (let number = 1; number <= tasks; number++) {
    const reply = await fetch(`${killed.url}/v1/videos/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(videoBody(`${number}`, { webhook_url: receiver.url })),
    })
    expect(reply.status).toBe(202)
  }
  await waitFor(() => vendor.polls.length === tasks)
  killed.kill('SIGKILL')
  await killed.ended
  vendor.answerPoll = succeeded
  let aheadMs = 0
  const survivor = await startTestGateway({
    ...options,
    databaseUrl,
    balance: '0',
    outside: { now: () => Date.now() + aheadMs },
  })
  // While the leases last, no node polls.
  await Bun.sleep(600)
  expect(vendor.polls).toHaveLength(tasks)
  aheadMs = LEASE_MS
  const { db } = survivor.server.world
  await waitFor(async () => (await countEnded(db)) === tasks)
  await waitFor(() => receiver.deliveries.length === tasks)
  expect(vendor.polls).toHaveLength(2 * tasks)
  expect(vendor.submits).toHaveLength(tasks)
  expect(idsOf(receiver)).toHaveLength(tasks)
  await expectPaid(db, tasks, Date.now() + aheadMs)
  await survivor.close()
})

test("a connection to PostgreSQL that is cut when the vendor's id is to be stored: it is stored later, and sent once", async () => {
  using vendor = startTaskVendor()
  const answer = heldBack(taken)
  vendor.answerSubmit = answer.answer
  vendor.answerPoll = succeeded
  const gateway = await startTestGateway({
    database: 'postgres',
    upstreams: { dashscope: vendor.upstream },
  })
  const { db } = gateway.server.world
  const submitted = gateway.post('/v1/videos/generations', videoBody('one'))
  await waitFor(() => vendor.submits.length === 1)
  // Another connection locks the task's row, so that the change waits for it and can be cut in the middle.
  const other = new SQL(gateway.databaseUrl as string, { max: 1 })
  const keeper = await other.reserve()
  await keeper.unsafe('begin')
  await keeper.unsafe('select id from tasks for update')
  answer.letGo()
  const watcher = openAddress(gateway.databaseUrl as string)
  const cut = {
    sql: `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like 'update tasks set upstream_id%'`,
  }
  await waitFor(async () => (await watcher.query(cut)).length > 0)
  const reply = await submitted
  expect(reply.status).toBe(202)
  const { id } = (await reply.json()) as { id: string }
  expect(gateway.log.map(({ event }) => event)).toContain('charge_not_ended_yet')
  expect(await readTask(db, id)).toMatchObject({ upstreamId: null, state: 'submitted' })
  await keeper.unsafe('rollback')
  keeper.release()
  await waitFor(async () => (await readTask(db, id)).state === 'succeeded')
  expect(await readTask(db, id)).toMatchObject({ state: 'succeeded', upstreamId: 'ds-1' })
  expect(vendor.submits).toHaveLength(1)
  await expectPaid(db, 1, Date.now())
  await other.close()
  await watcher.close()
  await gateway.close()
})
