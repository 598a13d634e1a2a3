// A success reported after its task has ended as failed: however it ended and however often it is reported, there is one void, one
// new charge up to the available balance, and one webhook of each kind. A stopped task stays failed and free.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createKey } from '../../src/accounts/keys'
import { balanceOf } from '../../src/billing/ledger/balances'
import { hold } from '../../src/billing/ledger/ledger'
import { conditionsOf } from '../../src/billing/ledger/limits'
import { audit } from '../../src/billing/proofs/audit'
import { withWholeUsage } from '../../src/billing/reports/usage-form'
import type { Db } from '../../src/db/db'
import { endTask, type Success, type TaskEnding } from '../../src/tasks/finish'
import { askAgain, succeedLate } from '../../src/tasks/late-success'
import { acceptTask, insertTask, markSent } from '../../src/tasks/rows'
import type { Task } from '../../src/tasks/task'
import { redeliver, webhookOf } from '../../src/webhooks/rows'
import { type DatabaseKind, databaseKinds, openTestDatabase } from '../support/databases/databases'
import { countersOf, makeCharge, makeKey, makeSpender } from '../support/databases/ledger-rows'
import {
  chargeOf,
  followTask,
  fund,
  makeTask,
  readTask,
  SECOND_NANO,
  sendTask,
} from '../support/databases/task-rows'
import { waitFor } from '../support/gateway'
import { pollHeldBack, START, startTaskNodes, type TaskNodes } from '../support/task-nodes'
import {
  failed,
  heldBack,
  startTaskVendor,
  succeeded,
  type TaskVendor,
  VIDEO_NANO,
  working,
} from '../support/vendors/task'

setDefaultTimeout(180_000)

const BALANCE_NANO = 10 * VIDEO_NANO
const NODES_BALANCE_NANO = 100_000_000_000
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const HOOK = 'http://192.0.2.1/ended'
const VIDEO_URL = 'https://files.example.com/1.mp4'

const good: Success = {
  state: 'succeeded',
  document: { video_url: VIDEO_URL },
  videoUrl: VIDEO_URL,
  usageJson: '{"seconds":5}',
}

for (const kind of databaseKinds) {
  describe(`a late success on ${kind}`, () => {
    reportContract(kind)
    moneyContract(kind)
    priceContract(kind)
    rowContract(kind)
  })
  describe(`asking again on ${kind}`, () => {
    questionContract(kind)
    limitContract(kind)
  })
}

function reportContract(kind: DatabaseKind): void {
  test('that twenty pollers report after twenty saw it fail: one void, one charge, one webhook of each kind', async () => {
    using vendor = startTaskVendor()
    await using group = await startTaskNodes(kind, 4, { upstreams: { dashscope: vendor.upstream } })
    const { db } = group.nodes[0].world
    const { id, charge } = await followTask(db, { createdAt: START, webhookUrl: HOOK })
    const letSucceed = await pollHeldBack(group, vendor, 20, succeeded)
    const letFail = await pollHeldBack(group, vendor, 20, failed)
    letFail()
    await expectLog(group, { task_ended: 1, task_end_lost: 19, task_succeeded_late: 0 })
    expect(await readTask(db, id)).toMatchObject({ state: 'failed', errorCode: 'InvalidParameter' })
    letSucceed()
    await expectLog(group, { task_ended: 1, task_end_lost: 38, task_succeeded_late: 1 })

    expect(group.find('task_succeeded_late')).toEqual([{ task: id, paid_usd: '0.05', shortfall_usd: '0.00' }])
    const task = await readTask(db, id)
    expect(task).toMatchObject({ state: 'succeeded', errorCode: null, costNano: VIDEO_NANO })
    expect(JSON.parse(task.document ?? '')).toMatchObject({
      id,
      status: 'succeeded',
      video_url: `https://files.example.com/ds-${id}.mp4`,
    })
    expect(await chargesOf(db)).toEqual([
      { id: charge, state: 'released', amount: 0, shortfall: 0 },
      { id: task.charge, state: 'settled', amount: VIDEO_NANO, shortfall: 0 },
    ])
    expect(await reportedOf(db)).toEqual(['video.generation.failed', 'video.generation.succeeded'])
    expect(await balanceOf(db, 'alice')).toMatchObject({
      balanceNano: NODES_BALANCE_NANO - VIDEO_NANO,
      heldNano: 0,
    })
    await expectRight(db, group.clock.now)
  })

  for (const [title, fail] of Object.entries(otherFailures)) {
    test(`of a task that ${title}`, async () => {
      using vendor = startTaskVendor()
      await using group = await startTaskNodes(kind, 2, { upstreams: { dashscope: vendor.upstream } })
      const { db } = group.nodes[0].world
      const { id } = await followTask(db, { createdAt: START })
      const letSucceed = await pollHeldBack(group, vendor, 1, succeeded)
      await fail(group, vendor)
      await waitFor(async () => (await readTask(db, id)).state === 'failed')
      letSucceed()
      await expectLog(group, { task_ended: 1, task_end_lost: 0, task_succeeded_late: 1 })
      expect(await readTask(db, id)).toMatchObject({ state: 'succeeded', costNano: VIDEO_NANO })
      await expectRight(db, group.clock.now)
    })
  }

  test('of a stopped task is not charged', async () => {
    using vendor = startTaskVendor()
    await using group = await startTaskNodes(kind, 1, { upstreams: { dashscope: vendor.upstream } })
    const { db } = group.nodes[0].world
    const { id } = await followTask(db, { createdAt: START, webhookUrl: HOOK })
    const letSucceed = await pollHeldBack(group, vendor, 1, succeeded)
    await end(db, id, 'canceled')
    const stopped = await readTask(db, id)
    letSucceed()
    await expectLog(group, { task_ended: 0, task_end_lost: 1, task_succeeded_late: 0 })
    expect(await readTask(db, id)).toEqual(stopped)
    expect(await reportedOf(db)).toEqual(['video.generation.failed'])
    expect(await balanceOf(db, 'alice')).toMatchObject({ balanceNano: NODES_BALANCE_NANO, heldNano: 0 })
    await expectRight(db, group.clock.now)
  })
}

/** Ways in which the gateway itself calls a task failed, while its vendor works on. */
const otherFailures: Record<string, (group: TaskNodes, vendor: TaskVendor) => Promise<void>> = {
  'has come to its deadline': async ({ nodes, clock }, vendor) => {
    vendor.answerPoll = working
    clock.now = START + 24 * 60 * MINUTE_MS
    await nodes[0].poller.beat()
  },
  'its vendor did not know three times': async ({ nodes: [{ world, poller }], clock }, vendor) => {
    vendor.answerPoll = () => Response.json({ code: 'NotFound', message: 'no such task' }, { status: 404 })
    for (let polls = 1; polls <= 3; polls++) {
      clock.now += 5 * MINUTE_MS
      await poller.beat()
      const isCounted = async () =>
        (await world.db.query({ sql: 'select polls from tasks' }))[0]?.polls === polls
      await waitFor(isCounted)
    }
  },
}

function moneyContract(kind: DatabaseKind): void {
  const cases = [
    { title: 'all of it', availableNano: VIDEO_NANO, paidNano: VIDEO_NANO },
    { title: 'a part', availableNano: 20_000_000, paidNano: 20_000_000 },
    { title: 'nothing', availableNano: 0, paidNano: 0 },
  ]
  for (const { title, availableNano, paidNano } of cases) {
    test(`of which the account can pay ${title}: it never uses holds of others, and the operator bears the rest`, async () => {
      const db = await openFailed(kind)
      const task = await readTask(db, 'late')
      const { balanceNano } = (await balanceOf(db, 'alice')) ?? { balanceNano: 0 }
      await hold(db, makeCharge(balanceNano - availableNano, { id: 'chat', expiresAt: START + MINUTE_MS }))
      const shortfallNano = VIDEO_NANO - paidNano
      expect(await succeedLate(db, task, good, { now: START, webhookId: 'msg-2' })).toMatchObject({
        paidNano,
        amounts: { priceNano: VIDEO_NANO, costNano: null },
        shortfallNano,
      })
      expect(await balanceOf(db, 'alice')).toMatchObject({
        balanceNano: balanceNano - paidNano,
        heldNano: balanceNano - availableNano,
      })
      expect(await readTask(db, 'late')).toMatchObject({ state: 'succeeded', costNano: paidNano })
      const { books } = await expectRight(db, START)
      expect(books).toMatchObject({
        revenueNano: BigInt(VIDEO_NANO),
        shortfallNano: BigInt(shortfallNano),
      })
      await db.close()
    })
  }
}

function priceContract(kind: DatabaseKind): void {
  test('costs what the vendor reports, at the prices of its admission', async () => {
    const db = await openFailed(kind)
    const ending: Success = { ...good, quantities: { second: 3 }, usageSource: 'upstream' }
    await succeedLate(db, await readTask(db, 'late'), ending, { now: START + 1, webhookId: 'msg-2' })
    const [released, settled] = await (
      await db.query({ sql: `select * from charges where state <> 'held' order by ended_at` })
    ).map(withWholeUsage)
    expect(settled).toMatchObject({
      amount: 3 * SECOND_NANO,
      usage: good.usageJson,
      usage_source: 'upstream',
      ended_by: 'done',
      operation: 'video',
      held: 0,
      prices: released?.prices,
      created_at: released?.created_at,
    })
    expect((await readTask(db, 'late')).quantities).toEqual({ second: 3 })
    await expectRight(db, START + 1)
    await db.close()
  })

  test('counts in the budgets to which its hold was returned: of its key, of its plan, of a token', async () => {
    const db = await openTestDatabase(kind)
    await fund(db, 'alice', BALANCE_NANO, START)
    const limits = { budgetNano: BALANCE_NANO, budgetPeriod: 'day' } as const
    // No row of the database has the budget of a plan.
    const ofPlan = { accountBudget: { amountNano: BALANCE_NANO, period: 'month' } } as const
    const spender = makeSpender({ budgetNano: BALANCE_NANO })
    const key = makeKey({ ...limits, ...ofPlan, spender })
    await createKey(db, { ...key, secret: 'sk-1', webhookSecret: 'whsec_1' })
    for (const id of ['late', 'asked']) {
      const task = makeTask({ id, keyId: key.id, spenderId: spender.id, createdAt: START })
      const charge = { ...chargeOf(task), ...countersOf(key, 0, START) }
      await hold(db, charge, conditionsOf(key, charge), [insertTask(task)])
      await markSent(db, id, START)
      await acceptTask(db, id, `ds-${id}`, START)
      await end(db, id, 'bad')
    }
    const committed = () => db.query({ sql: 'select key_id, period, committed from budgets order by key_id' })
    const counted = (amount: number) => [
      { key_id: 'account:alice', period: '2026-03', committed: amount },
      { key_id: key.id, period: '2026-03-10', committed: amount },
      { key_id: spender.id, period: 'whole', committed: amount },
    ]
    expect(await committed()).toEqual(counted(0))
    // Days later it is still the day of the request that it counts in.
    const now = START + 3 * 24 * 60 * MINUTE_MS
    await succeedLate(db, await readTask(db, 'late'), good, { now, webhookId: 'msg-2' })
    expect(await committed()).toEqual(counted(VIDEO_NANO))
    expect(await ask(db, await readTask(db, 'asked'), now)).toBe(true)
    expect(await endTask(db, await readTask(db, 'asked'), good, { now, webhookId: 'msg-3' })).toBe(true)
    expect(await committed()).toEqual(counted(2 * VIDEO_NANO))
    await expectRight(db, now)
    await db.close()
  })
}

function rowContract(kind: DatabaseKind): void {
  test('is charged once for forty concurrent reports, and no failure undoes it', async () => {
    const db = await openFailed(kind)
    const task = await readTask(db, 'late')
    const reports = Array.from({ length: 40 }, (_, index) =>
      succeedLate(db, task, good, { now: START, webhookId: `msg-late-${index}` }),
    )
    const reported = (await Promise.all(reports)).filter((settled) => settled !== undefined)
    expect(reported).toMatchObject([{ paidNano: VIDEO_NANO, shortfallNano: 0 }])
    const after = await readTask(db, 'late')
    for (const seen of [task, after]) {
      expect(await endTask(db, seen, bad('bad'), { now: START, webhookId: 'msg-3' })).toBe(false)
      expect(await succeedLate(db, seen, good, { now: START, webhookId: 'msg-3' })).toBeUndefined()
    }
    expect(await readTask(db, 'late')).toEqual(after)
    expect(await reportedOf(db)).toEqual(['video.generation.failed', 'video.generation.succeeded'])
    await expectRight(db, START)
    await db.close()
  })

  test('sends its webhook after that of the failure, even if its node saw the success first', async () => {
    const db = await openFailed(kind)
    await succeedLate(db, await readTask(db, 'late'), good, { now: START - 5, webhookId: 'msg-0' })
    expect((await webhookOf(db, 'late'))?.webhook).toMatchObject({ id: 'msg-0' })
    await expectRight(db, START + 1)
    await db.close()
  })

  test('has the webhook that is shown and sent again', async () => {
    const db = await openFailed(kind)
    await succeedLate(db, await readTask(db, 'late'), good, { now: START + 1, webhookId: 'msg-2' })
    await db.batch([{ sql: `update webhooks set state = 'delivered', ended_at = next_at` }])
    expect(await redeliver(db, 'late')).toBe(true)
    expect((await webhookOf(db, 'late'))?.webhook).toMatchObject({ id: 'msg-2', state: 'pending' })
    expect(await db.query({ sql: `select id from webhooks where state = 'pending'` })).toEqual([
      { id: 'msg-2' },
    ])
    await db.close()
  })
}

function questionContract(kind: DatabaseKind): void {
  test('forty times at once reopens a failed task once, without a hold, and its success is charged', async () => {
    using vendor = startTaskVendor()
    await using group = await startTaskNodes(kind, 2, { upstreams: { dashscope: vendor.upstream } })
    const { db } = group.nodes[0].world
    const { id } = await followTask(db, { createdAt: START, webhookUrl: HOOK })
    await end(db, id, 'timed_out')
    const task = await readTask(db, id)
    const asked = await Promise.all(Array.from({ length: 40 }, () => ask(db, task)))
    expect(asked.filter(Boolean)).toEqual([true])
    expect(await readTask(db, id)).toMatchObject({ state: 'submitted', errorCode: null, document: null })
    expect(await balanceOf(db, 'alice')).toMatchObject({ heldNano: 0 })
    await expectRight(db, START)
    vendor.answerPoll = succeeded
    await group.nodes[1]?.poller.beat()
    await waitFor(async () => (await readTask(db, id)).state === 'succeeded')
    expect(await readTask(db, id)).toMatchObject({ state: 'succeeded', costNano: VIDEO_NANO })
    expect(vendor.polls).toHaveLength(1)
    expect(await reportedOf(db)).toEqual(['video.generation.failed', 'video.generation.succeeded'])
    expect(await balanceOf(db, 'alice')).toMatchObject({
      balanceNano: NODES_BALANCE_NANO - VIDEO_NANO,
      heldNano: 0,
    })
    await expectRight(db, START)
  })

  test('ends a minute after the first poll, whatever the clock of the command, and can be repeated', async () => {
    using vendor = startTaskVendor()
    await using group = await startTaskNodes(kind, 1, { upstreams: { dashscope: vendor.upstream } })
    const [{ world, poller }] = group.nodes
    const { id } = await followTask(world.db, { createdAt: START })
    await end(world.db, id, 'timed_out')
    const longAgo = await readTask(world.db, id)
    for (const [questions, aheadMs] of [0, 2 * HOUR_MS, -2 * HOUR_MS].entries()) {
      expect(await ask(world.db, await readTask(world.db, id), group.clock.now + aheadMs)).toBe(true)
      for (const waitMs of [0, MINUTE_MS - 1]) {
        group.clock.now += waitMs
        await poller.beat()
        await waitFor(async () => (await readTask(world.db, id)).leaseUntil === 0)
        expect((await readTask(world.db, id)).state).toBe('submitted')
      }
      group.clock.now += 1
      await poller.beat()
      await waitFor(async () => (await readTask(world.db, id)).state === 'failed')
      expect(await readTask(world.db, id)).toMatchObject({ state: 'failed', errorCode: 'timed_out' })
      expect(vendor.polls).toHaveLength(3 * (questions + 1))
      await expectRight(world.db, group.clock.now)
    }
    expect((await chargesOf(world.db)).map(({ state }) => state)).toEqual(Array(4).fill('released'))
    expect(await ask(world.db, longAgo, group.clock.now)).toBe(false)
    await expectRight(world.db, group.clock.now)
  })
}

function limitContract(kind: DatabaseKind): void {
  test('has no effect on a task that was stopped, has no id at its vendor, is running, or has succeeded', async () => {
    const db = await openTestDatabase(kind)
    await fund(db, 'alice', BALANCE_NANO, START)
    const ids: string[] = []
    for (const code of ['canceled', 'bad', 'open', 'good']) {
      const make = code === 'bad' ? sendTask : followTask
      const { id } = await make(db, { createdAt: START })
      const ending = code === 'good' ? good : bad(code)
      if (code !== 'open') await endTask(db, await readTask(db, id), ending, { now: START, webhookId: id })
      ids.push(id)
    }
    const tasks: Task[] = []
    for (const id of ids) tasks.push(await readTask(db, id))
    for (const task of tasks) {
      expect(await ask(db, task)).toBe(false)
      expect(await readTask(db, task.id)).toEqual(task)
    }
    await expectRight(db, START)
    await db.close()
  })

  test('at the same moment as the report of success: either may come first', async () => {
    const db = await openFailed(kind)
    const task = await readTask(db, 'late')
    const attempts = Array.from({ length: 40 }, (_, index) =>
      index % 2 === 0
        ? ask(db, task)
        : succeedLate(db, task, good, { now: START, webhookId: `msg-late-${index}` }).then(Boolean),
    )
    expect((await Promise.all(attempts)).filter(Boolean)).toEqual([true])
    const { state } = await readTask(db, 'late')
    expect(['submitted', 'succeeded']).toContain(state)
    expect(await balanceOf(db, 'alice')).toMatchObject({
      balanceNano: BALANCE_NANO - (state === 'succeeded' ? VIDEO_NANO : 0),
      heldNano: 0,
    })
    await expectRight(db, START)
    await db.close()
  })

  test('while the earlier success is still being handled: it is charged once', async () => {
    using vendor = startTaskVendor()
    await using group = await startTaskNodes(kind, 2, { upstreams: { dashscope: vendor.upstream } })
    const { db } = group.nodes[0].world
    const { id } = await followTask(db, { createdAt: START })
    const letSucceed = await pollHeldBack(group, vendor, 1, succeeded)
    await end(db, id, 'bad')
    expect(await ask(db, await readTask(db, id), group.clock.now)).toBe(true)
    const again = heldBack(succeeded)
    vendor.answerPoll = again.answer
    await group.nodes[0].poller.beat()
    await waitFor(() => vendor.polls.length === 2)
    letSucceed()
    await expectLog(group, { task_ended: 0, task_end_lost: 1, task_succeeded_late: 0 })
    again.letGo()
    await expectLog(group, { task_ended: 1, task_end_lost: 1, task_succeeded_late: 0 })
    expect(await balanceOf(db, 'alice')).toMatchObject({
      balanceNano: NODES_BALANCE_NANO - VIDEO_NANO,
      heldNano: 0,
    })
    await expectRight(db, group.clock.now)
  })
}

function bad(code: string): TaskEnding {
  return { state: 'failed', document: {}, error: { code, message: 'It ended.' } }
}

/** A database with the task `late` of alice's, which has failed, and its webhook `msg-1`. */
async function openFailed(kind: DatabaseKind): Promise<Db> {
  const db = await openTestDatabase(kind)
  await fund(db, 'alice', BALANCE_NANO, START)
  await followTask(db, { id: 'late', createdAt: START, webhookUrl: HOOK })
  await end(db, 'late', 'bad')
  return db
}

async function end(db: Db, id: string, code: string): Promise<void> {
  const ended = await endTask(db, await readTask(db, id), bad(code), { now: START, webhookId: 'msg-1' })
  expect(ended).toBe(true)
}

function ask(db: Db, task: Task, now = START): Promise<boolean> {
  return askAgain(db, task, now)
}

async function expectLog(group: TaskNodes, counts: Record<string, number>): Promise<void> {
  const found = () => Object.fromEntries(Object.keys(counts).map((event) => [event, group.count(event)]))
  await waitFor(() => Bun.deepEquals(found(), counts))
  expect(found()).toEqual(counts)
}

/** In the order in which they ended. */
function chargesOf(db: Db) {
  return db.query({
    sql: `select id, state, amount, shortfall from charges where state <> 'held' order by ended_at, id`,
  })
}

/** States that webhooks report, oldest first. */
async function reportedOf(db: Db): Promise<string[]> {
  const rows = await db.query({ sql: 'select body from webhooks order by created_at, id' })
  return rows.map(({ body }) => JSON.parse(body as string).type)
}

async function expectRight(db: Db, now: number) {
  const found = await audit(db, now)
  expect(found.problems).toEqual([])
  return found
}
