// Tasks as rows: every change names the state that it expects, so that repeats, late owners and a wrong order change
// nothing. Also 10,000 random changes compared with a second bookkeeper, and many concurrent ends of the same task.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { SQL } from 'bun'
import { balanceOf } from '../../src/billing/ledger/balances'
import { release } from '../../src/billing/ledger/ledger'
import { audit } from '../../src/billing/proofs/audit'
import type { Db } from '../../src/db/db'
import { migrate } from '../../src/db/migrations'
import { endTask, type TaskEnding } from '../../src/tasks/finish'
import { claimDue } from '../../src/tasks/leases'
import { acceptTask, deleteTask, voidTask } from '../../src/tasks/rows'
import { TaskFuzz } from '../support/bookkeepers/task-fuzz'
import {
  type DatabaseKind,
  databaseKinds,
  openAddress,
  openTestDatabase,
  postgresUrl,
} from '../support/databases/databases'
import { chargeOf, followTask, fund, holdTask, readTask, sendTask } from '../support/databases/task-rows'
import { waitFor } from '../support/gateway'
import { createRandom, isWholeRun, seedOf } from '../support/random'
import { VIDEO_NANO } from '../support/vendors/task'

setDefaultTimeout(180_000)

/** PostgreSQL needs several times as long. */
const OPERATIONS: Record<DatabaseKind, number> = { sqlite: 10_000, postgres: isWholeRun ? 10_000 : 3_000 }
const NOW = Date.UTC(2026, 2, 10, 12)
const BALANCE_NANO = 10 * VIDEO_NANO
const seed = seedOf('TASK_SEED')

const good: TaskEnding = {
  state: 'succeeded',
  document: {},
  videoUrl: 'https://files.example.com/1.mp4',
  usageJson: null,
}
const bad: TaskEnding = { state: 'failed', document: {}, error: { code: 'bad', message: 'It is bad.' } }

for (const kind of databaseKinds) {
  const operations = OPERATIONS[kind]
  test(`${operations} random changes on ${kind} have the results of a second bookkeeper (TASK_SEED=${seed})`, async () => {
    const db = await openTestDatabase(kind)
    const fuzz = await TaskFuzz.open(db, createRandom(seed))
    let done = 0
    for (let waves = 0; done < operations; waves++) {
      if (waves % 4 === 0) await fuzz.compare()
      done += await fuzz.wave()
    }
    await fuzz.compare()
    expect(done).toBeGreaterThanOrEqual(operations)
    // Among so many it is practically impossible that one of these never occurs.
    if (isWholeRun) expect(commonAnswers.filter((answer) => (fuzz.seen.get(answer) ?? 0) < 5)).toEqual([])
    await db.close()
  })

  describe(`the lease of a task on ${kind}`, () => leaseTests(kind))
  describe(`the end of a task on ${kind}`, () => endTests(kind))
  describe(`the vendor's id of a task on ${kind}`, () => idTests(kind))
}

const commonAnswers = [
  'insert: {"held":true}',
  'insert: {"refusedBy":"balance"}',
  ...['claim: some', 'claim: none', 'unknown: true', 'expire: 0'],
  ...['send', 'accept', 'refuse', 'take back', 'cancel', 'postpone', 'succeed', 'fail', 'ask again'].flatMap(
    (what) => [`${what}: true`, `${what}: false`],
  ),
  ...['succeed late: paid', 'succeed late: short', 'succeed late: undefined'],
]

function leaseTests(kind: DatabaseKind): void {
  test('is given to one of twelve at once, and again after its end', async () => {
    const db = await openBooks(kind)
    const tasks = await Promise.all(Array.from({ length: 8 }, () => followTask(db, { createdAt: NOW })))
    const ids = tasks.map(({ id }) => id).sort()
    const leaseMs = 45_000
    for (const now of [NOW, NOW + leaseMs]) {
      const claims = Array.from({ length: 12 }, () => claimDue(db, 'dashscope', now, { limit: 8, leaseMs }))
      const claimed = (await Promise.all(claims)).flat()
      expect(claimed.map(({ id }) => id).sort()).toEqual(ids)
      expect(await claimDue(db, 'dashscope', now + leaseMs - 1, { limit: 8, leaseMs })).toEqual([])
    }
    await closeBooks(db, 0, 8)
  })
}

test('a lease on PostgreSQL is given once, even if two nodes have chosen the same task before either had it', async () => {
  const url = await postgresUrl()
  const db = openAddress(url)
  await migrate(db)
  await fund(db, 'alice', BALANCE_NANO, NOW)
  const { id } = await followTask(db, { createdAt: NOW })
  // Another connection locks the row, so that both choose it and then wait for it.
  const other = new SQL(url, { max: 1 })
  const keeper = await other.reserve()
  await keeper.unsafe('begin')
  await keeper.unsafe('select id from tasks for update')
  const claims = [1, 2].map(() => claimDue(db, 'dashscope', NOW, { limit: 1, leaseMs: 45_000 }))
  const waiting = `select pid from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
  await waitFor(async () => (await db.query({ sql: waiting })).length === 2)
  expect(await db.query({ sql: waiting })).toHaveLength(2)
  await keeper.unsafe('rollback')
  keeper.release()
  await other.close()
  expect((await Promise.all(claims)).flat().map((task) => task.id)).toEqual([id])
  await closeBooks(db, 0, 1)
})

function endTests(kind: DatabaseKind): void {
  test('happens once in forty attempts, together with the webhook', async () => {
    const db = await openBooks(kind)
    const { id } = await followTask(db, { createdAt: NOW, webhookUrl: 'http://192.0.2.1/ended' })
    const task = await readTask(db, id)
    const ends = Array.from({ length: 40 }, (_, index) =>
      endTask(db, task, index % 2 === 0 ? good : bad, { now: NOW, webhookId: `msg-${index}` }),
    )
    const winners = (await Promise.all(ends)).flatMap((won, index) => (won ? [index] : []))
    expect(winners).toHaveLength(1)
    const winner = winners[0] ?? -1
    expect(await db.query({ sql: 'select id from webhooks' })).toEqual([{ id: `msg-${winner}` }])
    const { state } = await readTask(db, id)
    expect(state).toBe(winner % 2 === 0 ? 'succeeded' : 'failed')
    await closeBooks(db, state === 'succeeded' ? 1 : 0, 0)
  })

  test('cannot be undone: nothing is refused, taken back or ended again afterwards', async () => {
    const db = await openBooks(kind)
    const charge = await followTask(db, { createdAt: NOW })
    const task = await readTask(db, charge.id)
    expect(await endTask(db, task, bad, { now: NOW, webhookId: 'msg-1' })).toBe(true)
    const before = await readTask(db, task.id)
    for (const ending of [good, bad]) {
      expect(await endTask(db, task, ending, { now: NOW + 1, webhookId: 'msg-2' })).toBe(false)
      expect(await endTask(db, before, ending, { now: NOW + 1, webhookId: 'msg-2' })).toBe(false)
    }
    expect(await voidTask(db, before, NOW + 1)).toBe(false)
    expect(await acceptTask(db, task.id, 'ds-other', NOW)).toBe(false)
    expect(await readTask(db, task.id)).toEqual(before)
    await closeBooks(db, 0, 0)
  })
}

function idTests(kind: DatabaseKind): void {
  test('keeps the hold, even where a refusal is booked by mistake', async () => {
    const db = await openBooks(kind)
    const task = await followTask(db, { createdAt: NOW })
    const ending = { endedBy: 'upstream', endedAt: NOW } as const
    expect(await release(db, chargeOf(task), ending, [deleteTask(task.id)])).toBe(false)
    expect((await readTask(db, task.id)).state).toBe('submitted')
    await closeBooks(db, 0, 1)
  })

  test('that comes at the last moment: the task is not ended as lost', async () => {
    const db = await openBooks(kind)
    const { id } = await sendTask(db, { createdAt: NOW })
    const lost = await readTask(db, id)
    expect(await acceptTask(db, id, 'ds-1', NOW)).toBe(true)
    expect(await endTask(db, lost, bad, { now: NOW, webhookId: 'msg-1' })).toBe(false)
    expect(await readTask(db, id)).toMatchObject({ state: 'submitted', upstreamId: 'ds-1' })
    await closeBooks(db, 0, 1)
  })

  test('is of one task only', async () => {
    const db = await openBooks(kind)
    const tasks = await Promise.all([1, 2, 3].map(() => sendTask(db, { createdAt: NOW })))
    const accepted: boolean[] = []
    for (const { id } of tasks) accepted.push(await acceptTask(db, id, 'ds-1', NOW))
    expect(accepted).toEqual([true, false, false])
    await closeBooks(db, 0, 3)
  })

  test('is needed to end a task that was taken back: there is nothing left to end', async () => {
    const db = await openBooks(kind)
    const { id } = await holdTask(db, { createdAt: NOW })
    const task = await readTask(db, id)
    expect(await voidTask(db, task, NOW)).toBe(true)
    expect(await voidTask(db, task, NOW)).toBe(false)
    expect(await acceptTask(db, id, 'ds-1', NOW)).toBe(false)
    expect(await endTask(db, task, good, { now: NOW, webhookId: 'msg-1' })).toBe(false)
    expect(await db.query({ sql: 'select id from tasks' })).toEqual([])
    await closeBooks(db, 0, 0)
  })
}

async function openBooks(kind: DatabaseKind): Promise<Db> {
  const db = await openTestDatabase(kind)
  await fund(db, 'alice', BALANCE_NANO, NOW)
  return db
}

/** These numbers of videos were paid and are still held. */
async function closeBooks(db: Db, paid: number, held: number): Promise<void> {
  expect(await balanceOf(db, 'alice')).toMatchObject({
    balanceNano: BALANCE_NANO - paid * VIDEO_NANO,
    heldNano: held * VIDEO_NANO,
  })
  expect((await audit(db, NOW)).problems).toEqual([])
  await db.close()
}
