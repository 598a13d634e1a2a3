// Internal errors in the handling of one task: whatever a poll answer or a stored row causes, the other tasks continue, the faulty
// one is polled at growing intervals, and its deadline ends it and releases its hold.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { balanceOf } from '../../src/billing/ledger/balances'
import { audit } from '../../src/billing/proofs/audit'
import type { Db } from '../../src/db/db'
import { type DatabaseKind, databaseKinds } from '../support/databases/databases'
import { followTask, readTask, sendTask } from '../support/databases/task-rows'
import { waitFor } from '../support/gateway'
import { START, startTaskNodes, type TaskNodes } from '../support/task-nodes'
import { startTaskVendor, succeeded, type TaskVendor, VIDEO_NANO, working } from '../support/vendors/task'

setDefaultTimeout(180_000)

const BALANCE_NANO = 100_000_000_000
const DAY_MS = 86_400_000
const LEVELS = 50_000
const HOOK = 'http://192.0.2.1/ended'

/** An answer that can be read but not written again: its members are nested too deep. */
function deep(id: string, status: string): Response {
  const output = JSON.stringify({
    task_id: id,
    task_status: status,
    video_url: 'https://files.example.com/a',
  })
  const nested = `${'{"a":'.repeat(LEVELS)}0${'}'.repeat(LEVELS)}`
  const text = `{"request_id":"r","output":${output},"usage":${nested},"more":${nested}}`
  return new Response(text, { headers: { 'content-type': 'application/json' } })
}

/** An answer with much more content than the state of a task. */
function large(id: string, status: string): Response {
  const output = { task_id: id, task_status: status, video_url: 'https://files.example.com/a' }
  return Response.json({ request_id: 'r', output, more: 'x'.repeat(2 * 1024 * 1024) })
}

/** A reason with a character that PostgreSQL cannot store. */
function unstorable(id: string): Response {
  const output = { task_id: id, task_status: 'FAILED', code: 'Bad', message: 'no \u0000 reason' }
  return Response.json({ request_id: 'r', output })
}

const answers: [name: string, answer: (id: string) => Response, kinds?: readonly DatabaseKind[]][] = [
  ['a success that is too deeply nested', (id) => deep(id, 'SUCCEEDED')],
  ['a failure that is too deeply nested', (id) => deep(id, 'FAILED')],
  ['progress that is too deeply nested', (id) => deep(id, 'RUNNING')],
  ['a success that is too large', (id) => large(id, 'SUCCEEDED')],
  ['a text that the database cannot store', unstorable, ['postgres']],
]

/** Columns as an older, newer or broken program may have left them. */
const rows: [name: string, sql: string][] = [
  ['notes that are not JSON', `update tasks set memo = '{"seed":'`],
  ['quantities that are not JSON', `update tasks set quantities = ''`],
  ['a document that is not JSON', `update tasks set document = '<html>'`],
  ['a webhook address that is invalid', `update tasks set webhook_url = 'nowhere'`],
]

for (const kind of databaseKinds) {
  describe(`on ${kind}`, () => {
    for (const [name, answer, kinds = databaseKinds] of answers) {
      if (kinds.includes(kind)) test(name, () => endsAtDeadline(kind, answer))
    }
    for (const [name, sql] of rows) test(name, () => endsAtDeadline(kind, working, sql))
    test('tasks that nobody polls', () => endsUnpolled(kind))
  })
}

async function endsAtDeadline(kind: DatabaseKind, answer: (id: string) => Response, sql?: string) {
  using vendor = startTaskVendor()
  await using group = await startTaskNodes(kind, 1, { upstreams: { dashscope: vendor.upstream } })
  const { db } = group.nodes[0].world
  const faulty = await followTask(db, { createdAt: START, webhookUrl: HOOK })
  const upstreamId = `ds-${faulty.id}`
  if (sql) await db.batch([{ sql: `${sql} where id = $1`, parameters: [faulty.id] }])
  vendor.answerPoll = (id) => (id === upstreamId ? answer(id) : succeeded(id))
  const sound = await followTask(db, { createdAt: START })

  await pollUntil(group, vendor, 1)
  await waitFor(async () => (await readTask(db, sound.id)).state === 'succeeded')
  expect(await readTask(db, sound.id)).toMatchObject({ state: 'succeeded' })

  // Repeatedly, after a fault each time later, until its time is over.
  const times: number[] = []
  for (let at = START + 5_000; at < START + DAY_MS; at += 150_000) {
    group.clock.now = at
    const before = countOf(vendor, upstreamId)
    await settleDown(group)
    if (countOf(vendor, upstreamId) > before) times.push(at)
    expect(await stateOf(db, faulty.id)).toBe('submitted')
    if (times.length === 3) break
  }
  expect(times).toHaveLength(3)
  // Once each, however often it recurs.
  expect(group.count('task_poll_failed')).toBeLessThanOrEqual(1)

  group.clock.now = START + DAY_MS
  await settleDown(group)
  const [row] = await db.query({
    sql: 'select state, error_code from tasks where id = $1',
    parameters: [faulty.id],
  })
  expect(row).toEqual({ state: 'failed', error_code: 'timed_out' })
  await expectRight(db, START + DAY_MS)
}

/** Tasks whose upstream is gone from the configuration, or whose id the vendor never reported. */
async function endsUnpolled(kind: DatabaseKind) {
  await using group = await startTaskNodes(kind, 1)
  const { db } = group.nodes[0].world
  const ids: string[] = []
  for (const [, sql] of rows) {
    const gone = await followTask(db, { createdAt: START, upstream: 'gone', webhookUrl: HOOK })
    const lost = await sendTask(db, { createdAt: START, webhookUrl: HOOK })
    ids.push(gone.id, lost.id)
    for (const id of [gone.id, lost.id]) await db.batch([{ sql: `${sql} where id = $1`, parameters: [id] }])
  }
  group.clock.now = START + DAY_MS
  await group.nodes[0].poller.sweep()
  for (const id of ids) expect(await stateOf(db, id)).toBe('failed')
  expect(await balanceOf(db, 'alice')).toMatchObject({ balanceNano: BALANCE_NANO, heldNano: 0 })
  expect((await audit(db, START + DAY_MS)).problems).toEqual([])
}

async function pollUntil({ nodes }: TaskNodes, vendor: TaskVendor, polls: number): Promise<void> {
  await nodes[0].poller.beat()
  await waitFor(() => vendor.polls.length >= polls)
}

/** Starts everything due and waits until nothing runs any more. */
async function settleDown({ nodes }: TaskNodes): Promise<void> {
  const { db } = nodes[0].world
  const claimed = async () =>
    (await db.query({ sql: `select id from tasks where state = 'submitted' and lease_until > 0` })).length
  await nodes[0].poller.beat()
  await waitFor(async () => (await claimed()) === 0)
}

function countOf({ polls }: TaskVendor, upstreamId: string): number {
  return polls.filter((id) => id === upstreamId).length
}

async function stateOf(db: Db, id: string) {
  return (await db.query({ sql: 'select state from tasks where id = $1', parameters: [id] }))[0]?.state
}

/** One video was paid, nothing is held, and the end of the other was reported. */
async function expectRight(db: Db, now: number): Promise<void> {
  expect(await balanceOf(db, 'alice')).toMatchObject({ balanceNano: BALANCE_NANO - VIDEO_NANO, heldNano: 0 })
  expect((await audit(db, now)).problems).toEqual([])
}
