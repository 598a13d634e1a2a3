// Tasks that no process follows: those of an ended process, those whose submit was never answered, and those of a vendor that is no
// longer in the configuration. Each ends, and none is ever sent again.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { balanceOf } from '../../src/billing/ledger/balances'
import { claimKey } from '../../src/billing/ledger/idempotency'
import { hold, releaseExpired } from '../../src/billing/ledger/ledger'
import { audit } from '../../src/billing/proofs/audit'
import type { Db } from '../../src/db/db'
import { migrate } from '../../src/db/migrations'
import { endTask } from '../../src/tasks/finish'
import { claimDue } from '../../src/tasks/leases'
import { markUnknown, type NewTask } from '../../src/tasks/rows'
import {
  type DatabaseKind,
  databaseKinds,
  openAddress,
  postgresUrl,
  temporaryFolder,
} from '../support/databases/databases'
import { makeCharge } from '../support/databases/ledger-rows'
import { followTask, fund, holdTask, readTask, sendTask } from '../support/databases/task-rows'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { START, startTaskNodes } from '../support/task-nodes'
import { startTaskVendor, succeeded, type TaskVendor, VIDEO_NANO, videoBody } from '../support/vendors/task'

setDefaultTimeout(180_000)

const MINUTE_MS = 60_000
const BALANCE_NANO = 100_000_000_000
const HOOK = 'http://192.0.2.1/ended'
/** The number of tasks of each kind: both together are more than one check finds. */
const MANY = 600

describe('a start on SQLite, where nobody else can be serving', () => {
  test('undoes unsent requests, keeps possibly sent ones, and follows the rest at once', async () => {
    using vendor = startTaskVendor()
    vendor.answerPoll = succeeded
    const place = await prepare('sqlite')
    const now = Date.now()
    const [held, sent, followed] = [
      await holdTask(place.db, { createdAt: now }),
      await sendTask(place.db, { createdAt: now }),
      await followTask(place.db, { createdAt: now }),
    ]
    await takeKeys(place.db, [held, sent])
    // Its owner died in the middle of a poll.
    await claimDue(place.db, 'dashscope', now, { limit: 1, leaseMs: 45_000 })
    await hold(place.db, makeCharge(1_000, { id: 'chat', createdAt: now, expiresAt: now + MINUTE_MS }))
    const gateway = await startAt(place, vendor)

    const { db } = gateway.server.world
    expect(await db.query({ sql: 'select id from tasks order by created_at, id' })).toEqual([
      { id: sent.id },
      { id: followed.id },
    ])
    expect(await stateOfCharge(db, held.charge)).toBe('released')
    expect(await stateOfCharge(db, 'chat')).toBe('released')
    expect(await stateOfCharge(db, sent.charge)).toBe('held')
    expect(await readTask(db, sent.id)).toMatchObject({ state: 'submitted', errorCode: 'unknown' })
    expect(alarmsOf(gateway)).toEqual([sent.id])
    // The key of the one that was never sent is free; the other one's gives its task.
    const kept = await db.query({ sql: 'select charge, status, body from saved_answers' })
    expect(kept).toEqual([{ charge: sent.charge, status: 202, body: expect.stringContaining(sent.id) }])
    await waitFor(async () => (await readTask(db, followed.id)).state === 'succeeded')
    expect(vendor.polls).toEqual([`ds-${followed.id}`])
    expect(vendor.submits).toEqual([])
    await giveUp(db, sent)
    await expectPaid(db, 1)
    await gateway.close()
  })

  test(`handles all tasks that a busy process has left, ${MANY} of each kind`, async () => {
    using vendor = startTaskVendor()
    const place = await prepare('sqlite')
    const createdAt = Date.now()
    const each = Array.from({ length: MANY })
    await Promise.all(each.map(() => holdTask(place.db, { createdAt })))
    const sent = await Promise.all(each.map(() => sendTask(place.db, { createdAt })))
    const gateway = await startAt(place, vendor)
    const { db } = gateway.server.world
    const rows = await db.query({
      sql: 'select error_code, count(*) as count from tasks group by error_code',
    })
    expect(rows).toEqual([{ error_code: 'unknown', count: MANY }])
    expect(alarmsOf(gateway)).toHaveLength(MANY)
    await Promise.all(sent.map((task) => giveUp(db, task)))
    await expectPaid(db, 0)
    await gateway.close()
  })
})

describe('a start on PostgreSQL, where other nodes may be serving', () => {
  test('leaves young rows, and ends those that are older than any submit', async () => {
    using vendor = startTaskVendor()
    const place = await prepare('postgres')
    const now = Date.now()
    const old = now - 16 * MINUTE_MS
    const young = [
      await holdTask(place.db, { createdAt: now }),
      await sendTask(place.db, { createdAt: now }),
      await sendTask(place.db, { createdAt: now - 14 * MINUTE_MS }),
    ]
    const [oldHeld, oldSent] = [
      await holdTask(place.db, { createdAt: old }),
      await sendTask(place.db, { createdAt: old }),
    ]
    await takeKeys(place.db, [oldHeld, oldSent])
    const polled = await followTask(place.db, { createdAt: now })
    await claimDue(place.db, 'dashscope', now, { limit: 1, leaseMs: 45_000 })
    await hold(place.db, makeCharge(1_000, { id: 'chat', createdAt: now, expiresAt: now + MINUTE_MS }))
    const before = await Promise.all(young.map(({ id }) => readTask(place.db, id)))
    const gateway = await startAt(place, vendor)

    const { db } = gateway.server.world
    expect(await Promise.all(young.map(({ id }) => readTask(db, id)))).toEqual(before)
    expect(await stateOfCharge(db, 'chat')).toBe('held')
    expect(await stateOfCharge(db, oldHeld.charge)).toBe('released')
    expect(await readTask(db, oldSent.id)).toMatchObject({ state: 'submitted', errorCode: 'unknown' })
    expect(alarmsOf(gateway)).toEqual([oldSent.id])
    const kept = await db.query({ sql: 'select charge, status from saved_answers' })
    expect(kept).toEqual([{ charge: oldSent.charge, status: 202 }])
    // Another node polls it.
    expect((await readTask(db, polled.id)).leaseUntil).toBeGreaterThan(now)
    expect({ polls: vendor.polls, submits: vendor.submits }).toEqual({ polls: [], submits: [] })
    await releaseExpired(db, 0, { all: true })
    for (const task of [...young, oldSent, polled]) await giveUp(db, task)
    await expectPaid(db, 0)
    await gateway.close()
  })
})

for (const kind of databaseKinds) {
  describe(`tasks that nobody follows on ${kind}`, () => deadlineTests(kind))
  describe(`a vendor on ${kind}`, () => vendorTests(kind))
}

function deadlineTests(kind: DatabaseKind): void {
  test('keep their holds, however long ago these expired', async () => {
    await using group = await startTaskNodes(kind, 1)
    const { db } = group.nodes[0].world
    const tasks = [await followTask(db, { createdAt: START }), await sendTask(db, { createdAt: START })]
    await hold(db, makeCharge(1_000, { id: 'chat', createdAt: START, expiresAt: START + MINUTE_MS }))
    expect(await releaseExpired(db, Number.MAX_SAFE_INTEGER)).toBe(1)
    expect(await stateOfCharge(db, 'chat')).toBe('released')
    for (const { charge } of tasks) expect(await stateOfCharge(db, charge)).toBe('held')
  })

  test('and which may or may not have begun end at their deadline, not before', async () => {
    await using group = await startTaskNodes(kind, 1)
    const { world, poller } = group.nodes[0]
    const deadlineAt = START + 30 * MINUTE_MS
    const { id } = await sendTask(world.db, { createdAt: START, deadlineAt, webhookUrl: HOOK })
    await world.db.batch([markUnknown(id)])
    group.clock.now = deadlineAt - 1
    await poller.sweep()
    expect(await readTask(world.db, id)).toMatchObject({ state: 'submitted', errorCode: 'unknown' })
    group.clock.now = deadlineAt
    await poller.sweep()
    await poller.sweep()
    const task = await readTask(world.db, id)
    expect(task).toMatchObject({ state: 'failed', errorCode: 'timed_out' })
    expect(task.document).toContain('Nothing was charged')
    expect(await world.db.query({ sql: 'select task, state from webhooks' })).toEqual([
      { task: id, state: 'pending' },
    ])
    await expectPaid(world.db, 0, deadlineAt)
  })

  test('because their vendor is no longer in the configuration end at their deadline, and no other vendor is called', async () => {
    using vendor = startTaskVendor()
    await using group = await startTaskNodes(kind, 1, { upstreams: { dashscope: vendor.upstream } })
    const { world, poller } = group.nodes[0]
    const deadlineAt = START + 30 * MINUTE_MS
    // The model of both is served by the vendor of this test now.
    const tasks = [
      await followTask(world.db, { createdAt: START, deadlineAt, upstream: 'gone' }),
      await followTask(world.db, { createdAt: START, deadlineAt, upstream: 'xai' }),
    ]
    for (const at of [START, START + MINUTE_MS, deadlineAt - 1]) {
      group.clock.now = at
      await poller.beat()
      await poller.sweep()
    }
    for (const { id } of tasks) expect((await readTask(world.db, id)).state).toBe('submitted')
    group.clock.now = deadlineAt + MINUTE_MS
    await poller.beat()
    await poller.sweep()
    const states = () => Promise.all(tasks.map(async ({ id }) => (await readTask(world.db, id)).errorCode))
    await waitFor(async () => (await states()).every((code) => code !== null))
    expect(await states()).toEqual(['timed_out', 'timed_out'])
    expect(vendor.polls).toEqual([])
    await expectPaid(world.db, 0, group.clock.now)
  })
}

function vendorTests(kind: DatabaseKind): void {
  test('that failed to answer is not believed if it reports the task missing once', async () => {
    using vendor = startTaskVendor()
    await using group = await startTaskNodes(kind, 1, { upstreams: { dashscope: vendor.upstream } })
    const { world, poller } = group.nodes[0]
    const { id } = await followTask(world.db, { createdAt: START })
    const missing = () =>
      Response.json({ code: 'NotFound', message: 'There is no such task.' }, { status: 404 })
    const down = () => Response.json({ code: 'InternalError', message: 'It failed.' }, { status: 500 })
    const answers = [down, down, missing, missing, down, missing, missing]
    for (const [polls, answer] of answers.entries()) {
      vendor.answerPoll = answer
      group.clock.now = (await readTask(world.db, id)).pollAt
      await poller.beat()
      await waitFor(async () => (await readTask(world.db, id)).polls === polls + 1)
      expect(await readTask(world.db, id)).toMatchObject({ state: 'submitted', misses: polls + 1 })
    }
    group.clock.now = (await readTask(world.db, id)).pollAt
    await poller.beat()
    await waitFor(async () => (await readTask(world.db, id)).state === 'failed')
    expect(await readTask(world.db, id)).toMatchObject({ state: 'failed', errorCode: 'task_lost' })
    await expectPaid(world.db, 0, group.clock.now)
  })

  test('that gives one id to many: one task has it, the others are unknown and hold their price', async () => {
    using vendor = startTaskVendor()
    vendor.answerPoll = succeeded
    vendor.answerSubmit = () => Response.json({ output: { task_status: 'PENDING', task_id: 'ds-same' } })
    const gateway = await startTestGateway({ database: kind, upstreams: { dashscope: vendor.upstream } })
    const { db } = gateway.server.world
    const many = 12
    const replies = await Promise.all(
      Array.from({ length: many }, (_, index) =>
        gateway.post('/v1/videos/generations', videoBody(`${index}`)),
      ),
    )
    expect(replies.map(({ status }) => status)).toEqual(Array(many).fill(202))
    expect(vendor.submits).toHaveLength(many)
    expect(gateway.log.filter(({ event }) => event === 'task_id_refused')).toHaveLength(many - 1)
    const rows = await db.query({ sql: 'select * from tasks' })
    expect(rows.filter((row) => row.upstream_id === 'ds-same')).toHaveLength(1)
    const unknown = rows.filter((row) => row.upstream_id === null)
    expect(unknown.map((row) => row.error_code)).toEqual(Array(many - 1).fill('unknown'))
    await waitFor(async () => (await balanceOf(db, 'alice'))?.heldNano === (many - 1) * VIDEO_NANO)
    for (const row of unknown) await giveUp(db, { id: row.id as string })
    await expectPaid(db, 1)
    await gateway.close()
  })
}

/** A database with a funded account, as a process left it. */
async function prepare(kind: DatabaseKind) {
  const dataDir = temporaryFolder()
  const databaseUrl = kind === 'postgres' ? await postgresUrl() : undefined
  const db = openAddress(databaseUrl ?? join(dataDir, 'gateway.sqlite'))
  await migrate(db)
  await fund(db, 'alice', BALANCE_NANO, Date.now())
  return { db, where: { dataDir, ...(databaseUrl !== undefined && { databaseUrl }) } }
}

async function startAt({ db, where }: Awaited<ReturnType<typeof prepare>>, vendor: TaskVendor) {
  await db.close()
  return startTestGateway({ ...where, balance: '0', upstreams: { dashscope: vendor.upstream } })
}

/** The Idempotency-Keys of requests that were running. */
async function takeKeys(db: Db, tasks: readonly NewTask[]): Promise<void> {
  const keys = tasks.map(({ id, charge, createdAt }) =>
    claimKey({ account: 'alice', value: `key of ${id}`, requestHash: 'any' }, charge, createdAt),
  )
  await db.batch(keys)
}

function alarmsOf({ log }: TestGateway): unknown[] {
  return log.flatMap(({ event, fields }) => (event === 'task_unknown' ? [fields.task] : []))
}

async function stateOfCharge(db: Db, id: string): Promise<unknown> {
  const rows = await db.query({ sql: 'select state from charges where id = $1', parameters: [id] })
  return rows[0]?.state
}

/** Ends a task that the vendor never began, as an operator does. */
async function giveUp(db: Db, { id }: Pick<NewTask, 'id'>): Promise<void> {
  const error = { code: 'not_begun', message: 'It was never begun.' }
  const task = await readTask(db, id)
  expect(
    await endTask(
      db,
      task,
      { state: 'failed', document: {}, error },
      { now: Date.now(), webhookId: `msg-${id}` },
    ),
  ).toBe(true)
}

/** This number of videos were paid, and nothing is held any more. */
async function expectPaid(db: Db, videos: number, now = Date.now()): Promise<void> {
  expect(await balanceOf(db, 'alice')).toMatchObject({
    balanceNano: BALANCE_NANO - videos * VIDEO_NANO,
    heldNano: 0,
  })
  expect((await audit(db, now)).problems).toEqual([])
}
