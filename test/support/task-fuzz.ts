// Random changes of tasks beside the second bookkeeper, who has to agree with every answer and every row. Repeats, late
// owners and things in a wrong order are as likely as the right way. Accounts are worked on side by side, each in its own
// order, so that many transactions run at once and every answer can still be told in advance.

import { audit } from '../../src/billing/audit'
import { hold, release, releaseExpired } from '../../src/billing/ledger'
import type { Db } from '../../src/db/db'
import { endTask, type Success } from '../../src/tasks/finish'
import { askAgain, succeedLate } from '../../src/tasks/late-success'
import { claimDue, postpone, requestCancel } from '../../src/tasks/leases'
import { acceptTask, deleteTask, insertTask, markSent, markUnknown, voidTask } from '../../src/tasks/rows'
import type { Task } from '../../src/tasks/task'
import type { Random } from './random'
import { createTaskBookkeeper, type Line } from './task-bookkeeper'
import { chargeOf, fund, makeTask, SECOND_NANO } from './task-rows'

export interface TaskFuzz {
  /** Some operations on every account. Answers how many that were. */
  wave(): Promise<number>
  /** Throws when a figure in the database is not the bookkeeper's, or the audit finds a fault. */
  compare(): Promise<void>
  /** How often each operation came to each kind of answer. */
  seen: Map<string, number>
}

interface Step {
  what: string
  expected: unknown
  run(): Promise<unknown>
}

const ACCOUNTS = 24
const STEPS_PER_ACCOUNT = 16
const LEASE_MS = 45_000
const PAUSES_MS = [0, 1, 900, 900, 20_000, LEASE_MS]
/** Enough for some tasks at a time, and soon for none, until some fail. */
const BALANCE_NANO = 120 * SECOND_NANO
const SECONDS_MOST = 10
const HOOK = 'http://192.0.2.1/ended'
const SUCCEEDED: Success = {
  state: 'succeeded',
  document: {},
  videoUrl: 'https://files.example.com/1.mp4',
  usageJson: null,
}

export async function createTaskFuzz(db: Db, random: Random): Promise<TaskFuzz> {
  const books = createTaskBookkeeper(BALANCE_NANO)
  const accounts = Array.from({ length: ACCOUNTS }, (_, index) => `account-${index}`)
  const seen = new Map<string, number>()
  /** All that somebody has seen of tasks, now or earlier: whoever looked may act on it at any time. */
  const glimpses = new Map<string, Line[]>(accounts.map((account) => [account, []]))
  const start = Date.UTC(2026, 0, 30, 23, 50)
  let now = start
  let ids = 0
  for (const account of accounts) {
    books.sheet(account)
    await fund(db, account, BALANCE_NANO, now)
  }

  /** No two are the same, so that it is known which task is the longest due. */
  let ticks = 0
  const moment = (laterMs: number) => now + laterMs * 100_000 + (++ticks % 100_000)

  function insertStep(account: string): Step {
    const quantities = { second: 1 + random.below(SECONDS_MOST) }
    const webhookUrl = random.chance(0.5) ? HOOK : null
    const heldNano = quantities.second * SECOND_NANO
    const costNano = heldNano
    const task = makeTask({ account, upstream: account, quantities, costNano, webhookUrl, createdAt: now })
    const expected = books.insert(task, heldNano)
    const line = books.sheet(account).lines.get(task.id)
    if (line) glimpses.get(account)?.push({ ...line })
    return { what: 'insert', expected, run: () => hold(db, chargeOf(task, heldNano), [], [insertTask(task)]) }
  }

  function claimStep(account: string): Step {
    const limit = 1 + random.below(4)
    const at = now
    const claimed = books.claim(account, at, limit, LEASE_MS)
    glimpses.get(account)?.push(...claimed)
    return {
      what: 'claim',
      expected: claimed.map(({ task, fence }) => `${task.id} ${fence}`).sort(),
      run: async () =>
        (await claimDue(db, account, at, { limit, leaseMs: LEASE_MS }))
          .map(({ id, fence }) => `${id} ${fence}`)
          .sort(),
    }
  }

  function submitStep(line: Line): Step {
    const { task } = line
    const { id } = task
    const dice = random.below(100)
    if (dice < 30) {
      const expected = books.markSent(id, task.account)
      const run = () =>
        markSent(db, id, now).then(
          () => true,
          () => false,
        )
      return { what: 'send', expected, run }
    }
    if (dice < 75) {
      // A tenth of the vendor's ids were given before.
      const taken = [...books.sheet(task.account).taken]
      const upstreamId = taken.length > 0 && random.chance(0.1) ? random.pick(taken) : `ds-${++ids}`
      const pollAt = moment(0)
      const expected = books.accept(line, upstreamId, pollAt)
      return { what: 'accept', expected, run: () => acceptTask(db, id, upstreamId, pollAt) }
    }
    if (dice < 85) {
      books.markUnknown(line)
      const run = async () => 'rows' in (await db.batch([markUnknown(id)]))
      return { what: 'unknown', expected: true, run }
    }
    if (dice < 92) {
      const expected = books.refuse(line)
      const ending = { endedBy: 'upstream', endedAt: now } as const
      const run = () => release(db, chargeOf(task, line.heldNano), ending, [deleteTask(id)])
      return { what: 'refuse', expected, run }
    }
    return { what: 'take back', expected: books.takeBack(line), run: () => voidTask(db, taskOf(line), now) }
  }

  function followStep(line: Line): Step {
    const dice = random.below(100)
    if (dice < 15) {
      const at = moment(0)
      const expected = books.cancel(line, at)
      return { what: 'cancel', expected, run: () => requestCancel(db, line.task.id, at) }
    }
    if (dice < 60) {
      const next = {
        pollAt: moment(random.below(2)),
        misses: random.below(9),
        missing: random.below(3),
      }
      const cancelAnswer = random.chance(0.2) ? 'no' : null
      const expected = books.postpone(line, { ...next, cancelAnswer })
      return {
        what: 'postpone',
        expected,
        run: () => postpone(db, taskOf(line), { ...next, document: null }, cancelAnswer),
      }
    }
    const options = { now, webhookId: `msg-${++ids}` }
    if (dice < 80) {
      const { ending, second } = success(line)
      const expected = books.succeed(line, second)
      return { what: 'succeed', expected, run: () => endTask(db, taskOf(line), ending, options) }
    }
    const code = random.chance(0.2) ? 'canceled' : 'late'
    const ending = { state: 'failed', document: {}, error: { code, message: 'It was late.' } } as const
    const expected = books.fail(line, code)
    return { what: 'fail', expected, run: () => endTask(db, taskOf(line), ending, options) }
  }

  /** Somebody hears of a success after its task may have failed, or an operator asks. */
  function mendStep(account: string, glimpse: Line): Step {
    const failed = [...books.sheet(account).lines.values()].filter(({ state }) => state === 'failed')
    const line = failed.length > 0 && random.chance(0.8) ? { ...random.pick(failed) } : glimpse
    if (random.chance(0.6)) {
      const options = { now, webhookId: `msg-${++ids}` }
      const { ending, second } = success(line)
      const expected = books.succeedLate(line, second)
      return { what: 'succeed late', expected, run: () => succeedLate(db, taskOf(line), ending, options) }
    }
    const at = moment(0)
    const expected = books.askAgain(line)
    return { what: 'ask again', expected, run: () => askAgain(db, taskOf(line), at) }
  }

  function success({ task }: Line): { ending: Success; second: number } {
    const most = task.quantities.second ?? 0
    const second = random.chance(0.5) ? most : 1 + random.below(most)
    return { ending: { ...SUCCEEDED, ...(second < most && { quantities: { second } }) }, second }
  }

  function nextStep(account: string): Step {
    const known = glimpses.get(account) as Line[]
    const dice = random.below(100)
    if (known.length === 0 || dice < 14) return insertStep(account)
    if (dice < 32) return claimStep(account)
    // Mostly what was seen lately; sometimes what was seen long ago.
    const line = random.chance(0.8) ? random.pick(known.slice(-12)) : random.pick(known)
    if (dice < 38) return mendStep(account, line)
    return random.chance(line.upstreamId === null ? 0.85 : 0.1) ? submitStep(line) : followStep(line)
  }

  async function perform({ what, expected, run }: Step): Promise<void> {
    const answer = await run()
    const kind = kindOf(answer)
    seen.set(`${what}: ${kind}`, (seen.get(`${what}: ${kind}`) ?? 0) + 1)
    if (Bun.deepEquals(answer, expected)) return
    throw new Error(
      `${what} answered ${JSON.stringify(answer)}, the second bookkeeper says ${JSON.stringify(expected)}`,
    )
  }

  return {
    seen,
    async wave() {
      const chains = accounts.map((account) =>
        Array.from({ length: STEPS_PER_ACCOUNT }, () => nextStep(account)),
      )
      await Promise.all(
        chains.map(async (chain) => {
          for (const step of chain) await perform(step)
        }),
      )
      now += random.pick(PAUSES_MS)
      // Whatever the clock says, the holds of tasks are not the sweep's.
      await perform({
        what: 'expire',
        expected: 0,
        run: () => releaseExpired(db, Number.MAX_SAFE_INTEGER, { all: true }),
      })
      return chains.flat().length
    },
    async compare() {
      for (const [account, sheet] of books.sheets) {
        const rows = await db.query({ sql: 'select * from tasks where account = $1', parameters: [account] })
        const lines = [...sheet.lines.values()].map(rowOf)
        const found = rows.map((row) => pick(row, Object.keys(lines[0] ?? {})))
        expectSame(`tasks of ${account}`, byId(found), byId(lines))
        const [money] = await db.query({
          sql: `select balance, held,
            (select count(*) from charges where account = $1 and state = 'released') as released,
            (select count(*) from webhooks where account = $1) as webhooks,
            (select count(distinct task) from webhooks where account = $1) as told
            from accounts where name = $1`,
          parameters: [account],
        })
        expectSame(`figures of ${account}`, money, {
          balance: sheet.balance,
          held: sheet.held,
          released: sheet.released,
          webhooks: sheet.told.length,
          told: new Set(sheet.told).size,
        })
      }
      // As at the start: what is asked again here is not ended at its deadline.
      const { problems } = await audit(db, start)
      if (problems.length > 0) throw new Error(`the audit found: ${problems.join('; ')}`)
    },
  }
}

function kindOf(answer: unknown): string | undefined {
  if (Array.isArray(answer)) return answer.length > 0 ? 'some' : 'none'
  if (typeof answer !== 'object' || answer === null || !('shortfallNano' in answer))
    return JSON.stringify(answer)
  return answer.shortfallNano === 0 ? 'paid' : 'short'
}

/** What somebody who saw the task then hands to the functions under test. */
function taskOf(line: Line): Task {
  const { task, code, ...rest } = line
  return {
    ...task,
    ...rest,
    document: null,
    videoUrl: null,
    errorCode: code,
    errorMessage: null,
    sentAt: line.sent ? task.createdAt : null,
    endedAt: null,
  }
}

function rowOf(line: Line): Record<string, string | number | null> & { id: string } {
  return {
    id: line.task.id,
    charge: line.charge,
    cost: line.costNano,
    state: line.state,
    error_code: line.code,
    upstream_id: line.upstreamId,
    poll_at: line.pollAt,
    polls: line.polls,
    misses: line.misses,
    missing: line.missing,
    cancel_at: line.cancelAt,
    cancel_answer: line.cancelAnswer,
    lease_until: line.leaseUntil,
    fence: line.fence,
  }
}

function pick(row: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, row[name]]))
}

function byId(rows: readonly Record<string, unknown>[]): Record<string, unknown>[] {
  return [...rows].sort((one, other) => String(one.id).localeCompare(String(other.id)))
}

function expectSame(what: string, found: unknown, expected: unknown): void {
  if (Bun.deepEquals(found, expected)) return
  throw new Error(`${what}: ${JSON.stringify(found)}, should be ${JSON.stringify(expected)}`)
}
