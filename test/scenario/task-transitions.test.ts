// The tables of transitions compared with the SQL: a task of each kind is brought into each stage on every path, and then every
// process tries every change. Listed changes must happen, with the listed charge; others must leave the row and the money
// unchanged.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join, resolve } from 'node:path'
import { Glob } from 'bun'
import { balanceOf } from '../../src/billing/ledger/balances'
import { hold, release, settle } from '../../src/billing/ledger/ledger'
import { audit } from '../../src/billing/proofs/audit'
import { batchOf, type Db, type Row } from '../../src/db/db'
import { endDeferred, findSilent, renewTaskLease, stopDeferred } from '../../src/tasks/deferred'
import { findOverdue, findStranded, findTask } from '../../src/tasks/find'
import { endTask, failUnsubmitted, type TaskEnding } from '../../src/tasks/finish'
import { askAgain, succeedLate } from '../../src/tasks/late-success'
import { claimDue, extendLease, postpone, requestCancel } from '../../src/tasks/leases'
import {
  acceptTask,
  deleteEnded,
  deleteTask,
  insertTask,
  markSent,
  markUnknown,
  type NewTask,
  voidTask,
} from '../../src/tasks/rows'
import type { Task } from '../../src/tasks/task'
import {
  deferredTransitions,
  type Effect,
  type Stage,
  stageOf,
  type Transition,
  transitions,
} from '../../src/tasks/transitions'
import { databaseKinds, openTestDatabase } from '../support/databases/databases'
import { chargeOf, fund, makeTask } from '../support/databases/task-rows'
import { VIDEO_NANO } from '../support/vendors/task'

setDefaultTimeout(180_000)

const NOW = Date.UTC(2026, 2, 10, 12)
const DAY_MS = 86_400_000
/** Behind the deadline of every task. */
const LATER = NOW + 2 * DAY_MS
const BALANCE_NANO = 10 * VIDEO_NANO

/** A task of its own account and upstream, so that many can be tried concurrently. */
interface Trial {
  db: Db
  life: Life
  task: NewTask
  stage: Stage
  /** As it was last read. */
  seen: Task
}

/** A kind of task with its table. */
interface Life {
  name: string
  operation: 'video' | 'image'
  table: readonly Transition[]
}

const lives: Life[] = [
  { name: 'videos', operation: 'video', table: transitions },
  { name: 'deferred requests', operation: 'image', table: deferredTransitions },
]

const success = {
  state: 'succeeded',
  document: {},
  videoUrl: 'https://files.example.com/1.mp4',
  usageJson: null,
} as const

const failure = (code: string): TaskEnding => ({
  state: 'failed',
  document: {},
  error: { code, message: 'It has failed.' },
})

let ids = 0
const options = () => ({ now: NOW, webhookId: `msg-${++ids}` })

/** How each process makes each of its changes. A change that throws has changed nothing, or the test sees it. */
const changes: Record<string, (trial: Trial) => Promise<unknown>> = {
  'submitter: insert': ({ db, task }) => hold(db, chargeOf(task), [], [insertTask(task)]),
  'submitter: mark sent': ({ db, task }) => markSent(db, task.id, NOW + ++ids),
  'submitter: store id': ({ db, task }) => acceptTask(db, task.id, `ds-${++ids}`, NOW),
  'submitter: mark unknown': ({ db, task }) => db.batch([markUnknown(task.id)]),
  'submitter: refuse': ({ db, task }) =>
    release(db, chargeOf(task), { endedBy: 'upstream', endedAt: NOW }, [deleteTask(task.id)]),
  'poller: postpone': polled((db, task) =>
    postpone(db, task, { pollAt: NOW, misses: 0, missing: 0, document: null }, null),
  ),
  'poller: extend lease': polled((db, task) => extendLease(db, task, NOW)),
  'poller: succeed': polled((db, task) => endTask(db, task, success, options())),
  'poller: fail': polled((db, task) => endTask(db, task, failure('bad'), options())),
  'poller: stop': polled((db, task) => endTask(db, task, failure('canceled'), options())),
  'sweeper: take back': swept(findStranded, (db, task) => voidTask(db, task, NOW)),
  'sweeper: mark unknown': swept(findStranded, (db, task) => db.batch([markUnknown(task.id)])),
  'sweeper: time out': swept(
    (db, now) => findOverdue(db, now, []),
    (db, task) => endTask(db, task, failure('timed_out'), options()),
  ),
  'cancel request: ask to stop': ({ db, task }) => requestCancel(db, task.id, NOW + ++ids),
  'owner: delete': ({ db, task }) => deleteEnded(db, task.id),
  'operator: give the id': ({ db, task }) => acceptTask(db, task.id, `ds-${++ids}`, NOW),
  'operator: declare not begun': ({ db, seen }) => failUnsubmitted(db, seen, options()),
  'operator: ask again': ({ db, seen }) => askAgain(db, seen, NOW),
  'maker: renew the lease': ({ db, task }) => db.batch([renewTaskLease(task.charge, NOW)]),
  'maker: succeed': ({ db, task }) =>
    settle(
      db,
      chargeOf(task),
      {
        priceNano: VIDEO_NANO,
        usageSource: 'counted',
        usageJson: null,
        endedBy: 'done',
        endedAt: NOW,
        tokens: 0,
      },
      endDeferred(db, task, { state: 'succeeded', shown: {}, priceNano: VIDEO_NANO }, options()),
    ),
  'maker: fail': ({ db, task }) =>
    release(
      db,
      chargeOf(task),
      { endedBy: 'upstream', endedAt: NOW },
      endDeferred(
        db,
        task,
        { state: 'failed', error: { code: 'bad', message: 'It has failed.' } },
        options(),
      ),
    ),
  'sweeper: give up': swept(findSilent, (db, task) =>
    endTask(db, task, failure('task_interrupted'), options()),
  ),
  'cancel request: stop': ({ db, seen }) => stopDeferred(db, seen, options()),
  'late success: succeed': ({ db, seen }) => succeedLate(db, seen, success, options()),
}

/** Changes by the owner of a lease. */
function polled(act: (db: Db, task: Task) => Promise<unknown>) {
  return async ({ db, task }: Trial) => {
    const [claimed] = await claimDue(db, task.upstream, NOW, { limit: 1, leaseMs: 45_000 })
    if (claimed) await act(db, claimed)
  }
}

/** Changes of a task that a check has found. */
function swept(
  look: (db: Db, now: number) => Promise<Task[]>,
  act: (db: Db, task: Task) => Promise<unknown>,
) {
  return async ({ db, task }: Trial) => {
    const found = (await look(db, LATER)).find(({ id }) => id === task.id)
    if (found) await act(db, found)
  }
}

interface Books {
  balanceNano: number
  heldNano: number
  charges: { id: string; state: string; held: number; amount: number }[]
}

/** State of the money of a task after a change. */
const effects: Record<Effect, (before: Books, charge: string) => Books> = {
  held: (before, charge) => ({
    balanceNano: before.balanceNano,
    heldNano: VIDEO_NANO,
    charges: [{ id: charge, state: 'held', held: VIDEO_NANO, amount: 0 }],
  }),
  kept: (before) => before,
  settled: (before, charge) => ended(before, charge, 'settled', VIDEO_NANO),
  released: (before, charge) => ended(before, charge, 'released', 0),
  reopened: (before, charge) => ({
    ...before,
    charges: [...before.charges, { id: `${charge}:late`, state: 'held', held: 0, amount: 0 }],
  }),
  'settled late': (before, charge) => ({
    ...before,
    balanceNano: before.balanceNano - VIDEO_NANO,
    charges: [...before.charges, { id: `${charge}:late`, state: 'settled', held: 0, amount: VIDEO_NANO }],
  }),
}

function ended(before: Books, charge: string, state: string, amount: number): Books {
  const open = before.charges.find(({ id }) => id === charge)
  return {
    balanceNano: before.balanceNano - amount,
    heldNano: before.heldNano - (open?.held ?? 0),
    charges: before.charges.map((each) => (each.id === charge ? { ...each, state, amount } : each)),
  }
}

describe('the table of transitions', () => {
  test('lists each change of each stage once, and each change can be tried', () => {
    for (const { table } of lives) {
      const listed = table.flatMap((each) => each.from.map((from) => `${nameOf(each)} of ${from}`))
      expect(new Set(listed).size).toBe(listed.length)
    }
    const names = lives.flatMap(({ table }) => table.map(nameOf))
    expect([...new Set(names)].sort()).toEqual(Object.keys(changes).sort())
  })

  for (const kind of databaseKinds) {
    test(`is what happens on ${kind}, and nothing else does`, async () => {
      const plain = await openTestDatabase(kind)
      const written = new Set<string>()
      const db: Db = {
        ...plain,
        query: (statement) => plain.query(statement),
        batch(statements) {
          for (const { sql } of statements) written.add(sql)
          return plain.batch(statements)
        },
        move(movement) {
          for (const { sql } of batchOf(movement)) written.add(sql)
          return plain.move(movement)
        },
      }
      const faults: string[] = []
      const tried = new Set<string>()
      let stages = 0
      for (const life of lives) {
        for (const way of waysToAllStages(life.table)) {
          const stage = way.at(-1)?.to ?? 'new'
          await Promise.all(
            Object.keys(changes).map(async (name) => {
              // An id is never used again.
              if (stage === 'removed' && name === 'submitter: insert') return
              tried.add(`${name} of ${stage} of ${life.name}`)
              faults.push(...(await tryChange(await bring(db, life, way), name)))
            }),
          )
        }
        stages += new Set(life.table.flatMap(({ from, to }) => [...from, to])).size
      }
      expect(faults).toEqual([])
      expect(tried.size).toBe(Object.keys(changes).length * stages - lives.length)
      expect((await audit(db, NOW)).problems).toEqual([])
      await db.close()
      // Whoever writes a statement that changes tasks finds that it has to be listed.
      expect((await statementsOfSource()).filter((sql) => !written.has(sql))).toEqual(WITHOUT_STAGE)
    })
  }
})

/** Statements that change no stage and no charge: the shown cost, and the leases of a dead process. */
const WITHOUT_STAGE = [
  'update tasks set cost = $2 where id = $1',
  `update tasks set lease_until = 0 where state = 'submitted' and lease_until > 0`,
]

/** All texts of the program that change rows of tasks. */
async function statementsOfSource(): Promise<string[]> {
  const root = resolve(import.meta.dir, '../..')
  const paths = [...new Glob('{src,cli}/**/*.ts').scanSync(root)]
  const texts = await Promise.all(paths.map((path) => Bun.file(join(root, path)).text()))
  const forms = [
    /`((?:insert into|update|delete from) tasks\b[^`]*)`/g,
    /'((?:insert into|update|delete from) tasks\b[^']*)'/g,
  ]
  return texts
    .flatMap((text) => forms.flatMap((form) => [...text.matchAll(form)].map(([, sql]) => sql ?? '')))
    .sort()
}

/** The shortest way to each stage, and for each line of the table one that ends with it. */
function waysToAllStages(table: readonly Transition[]): Transition[][] {
  const shortest = new Map<Stage, Transition[]>([['new', []]])
  const others: Transition[][] = []
  const open = table.flatMap((each) => each.from.map((from) => ({ ...each, from: [from] })))
  while (open.length > 0) {
    const next = open.findIndex(({ from }) => shortest.has(from[0] as Stage))
    const [step] = open.splice(next, 1)
    if (!step) throw new Error('the table leads from nowhere')
    const way = [...(shortest.get(step.from[0] as Stage) ?? []), step]
    if (shortest.has(step.to)) others.push(way)
    else shortest.set(step.to, way)
  }
  return [...shortest.values(), ...others]
}

/** A task that has gone through states of the table. */
async function bring(db: Db, life: Life, way: readonly Transition[]): Promise<Trial> {
  const number = ++ids
  const { operation } = life
  const task = makeTask({
    operation,
    account: `account-${number}`,
    upstream: `vendor-${number}`,
    createdAt: NOW,
  })
  await fund(db, task.account, BALANCE_NANO, NOW)
  const trial: Trial = { db, life, task, stage: 'new', seen: unwritten(task) }
  for (const step of way) {
    await changes[nameOf(step)]?.(trial)
    await look(trial)
    if (trial.stage !== step.to) throw new Error(`${nameOf(step)} led to ${trial.stage}`)
  }
  return trial
}

/** Faults of one change of a task in one stage. */
async function tryChange(trial: Trial, name: string): Promise<string[]> {
  const { stage, seen, life } = trial
  const listed = life.table.find((each) => nameOf(each) === name && each.from.includes(stage))
  const [row, books] = [await rowOf(trial), await booksOf(trial)]
  await changes[name]?.(trial).catch(() => {})
  await look(trial)
  const about = `${name} of ${stage} of ${life.name}`
  const [after, booksAfter] = [await rowOf(trial), await booksOf(trial)]
  if (!listed) {
    const isSame = Bun.deepEquals(after, row) && Bun.deepEquals(booksAfter, books)
    return isSame ? [] : [`${about} is not listed, and led to ${trial.stage}`]
  }
  const faults: string[] = []
  if (trial.stage !== listed.to) faults.push(`${about} led to ${trial.stage}`)
  if (Bun.deepEquals(after, row)) faults.push(`${about} changed nothing`)
  const expected = effects[listed.money](books, seen.charge)
  if (!Bun.deepEquals(booksAfter, expected)) {
    faults.push(`${about} left ${JSON.stringify(booksAfter)}, should be ${JSON.stringify(expected)}`)
  }
  const charge = booksAfter.charges.at(-1)?.id
  if (trial.stage !== 'removed' && trial.seen.charge !== charge)
    faults.push(`${about} left the charge ${charge}`)
  return faults
}

async function look(trial: Trial): Promise<void> {
  const task = await findTask(trial.db, null, trial.task.id)
  if (task) trial.seen = task
  if (task) trial.stage = stageOf(task)
  else if (trial.stage !== 'new') trial.stage = 'removed'
}

async function rowOf({ db, task }: Trial): Promise<Row | undefined> {
  return (await db.query({ sql: 'select * from tasks where id = $1', parameters: [task.id] }))[0]
}

async function booksOf({ db, task }: Trial): Promise<Books> {
  const charges = await db.query({
    sql: 'select id, state, held, amount from charges where account = $1 order by length(id)',
    parameters: [task.account],
  })
  const { balanceNano = 0, heldNano = 0 } = (await balanceOf(db, task.account)) ?? {}
  return { balanceNano, heldNano, charges: charges as unknown as Books['charges'] }
}

function nameOf({ by, change }: Transition): string {
  return `${by}: ${change}`
}

/** A task as known to a process that has never read its row. */
function unwritten(task: NewTask): Task {
  return {
    ...task,
    ...{ upstreamId: null, state: 'submitted', document: null, videoUrl: null, errorCode: null },
    ...{ errorMessage: null, sentAt: null, endedAt: null, pollAt: NOW, polls: 0, misses: 0, missing: 0 },
    ...{ cancelAt: null, cancelAnswer: null, leaseUntil: 0, fence: 0 },
  }
}
