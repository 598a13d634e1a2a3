// Random changes of tasks in the database and in the second bookkeeper, which must agree in every answer and every row. Repeats,
// late owners and wrong orders are as likely as the correct order. Accounts are used in parallel, each in its own order, so that
// many transactions run at once and every answer can still be predicted.

import { hold, release, releaseExpired } from '../../../src/billing/ledger/ledger'
import { audit } from '../../../src/billing/proofs/audit'
import type { Db } from '../../../src/db/db'
import { endTask, type Success } from '../../../src/tasks/finish'
import { askAgain, succeedLate } from '../../../src/tasks/late-success'
import { claimDue, postpone, requestCancel } from '../../../src/tasks/leases'
import { acceptTask, deleteTask, insertTask, markSent, markUnknown, voidTask } from '../../../src/tasks/rows'
import type { Task } from '../../../src/tasks/task'
import { chargeOf, fund, makeTask, SECOND_NANO } from '../databases/task-rows'
import type { Random } from '../random'
import { type Line, TaskBookkeeper } from './task-bookkeeper'

interface Step {
  what: string
  expected: unknown
  run(): Promise<unknown>
}

const START = Date.UTC(2026, 0, 30, 23, 50)
const ACCOUNTS = 24
const STEPS_PER_ACCOUNT = 16
const LEASE_MS = 45_000
const PAUSES_MS = [0, 1, 900, 900, 20_000, LEASE_MS]
/** Enough for some concurrent tasks at first, and soon for none until some fail. */
const BALANCE_NANO = 120 * SECOND_NANO
const MAX_SECONDS = 10
const HOOK = 'http://192.0.2.1/ended'
const SUCCEEDED: Success = {
  state: 'succeeded',
  document: {},
  videoUrl: 'https://files.example.com/1.mp4',
  usageJson: null,
}

export class TaskFuzz {
  /** Number of answers of each kind, by operation. */
  readonly seen = new Map<string, number>()
  private readonly db: Db
  private readonly random: Random
  private readonly books = new TaskBookkeeper(BALANCE_NANO)
  private readonly accounts = Array.from({ length: ACCOUNTS }, (_, index) => `account-${index}`)
  /** All states of tasks read so far: a later change may be based on any of them. */
  private readonly glimpses = new Map<string, Line[]>(this.accounts.map((account) => [account, []]))
  private now = START
  private ids = 0
  private ticks = 0

  private constructor(db: Db, random: Random) {
    this.db = db
    this.random = random
  }

  /** A database with accounts that have a balance. */
  static async open(db: Db, random: Random): Promise<TaskFuzz> {
    const fuzz = new TaskFuzz(db, random)
    for (const account of fuzz.accounts) {
      fuzz.books.sheet(account)
      await fund(db, account, BALANCE_NANO, START)
    }
    return fuzz
  }

  /** All values are different, so that the order in which tasks are due is known. */
  private moment(laterMs: number): number {
    return this.now + laterMs * 100_000 + (++this.ticks % 100_000)
  }

  private insertStep(account: string): Step {
    const quantities = { second: 1 + this.random.below(MAX_SECONDS) }
    const webhookUrl = this.random.chance(0.5) ? HOOK : null
    const heldNano = quantities.second * SECOND_NANO
    const costNano = heldNano
    const task = makeTask({
      account,
      upstream: account,
      quantities,
      costNano,
      webhookUrl,
      createdAt: this.now,
    })
    const expected = this.books.insert(task, heldNano)
    const line = this.books.sheet(account).lines.get(task.id)
    if (line) this.glimpses.get(account)?.push({ ...line })
    return {
      what: 'insert',
      expected,
      run: () => hold(this.db, chargeOf(task, heldNano), [], [insertTask(task)]),
    }
  }

  private claimStep(account: string): Step {
    const limit = 1 + this.random.below(4)
    const at = this.now
    const claimed = this.books.claim(account, at, limit, LEASE_MS)
    this.glimpses.get(account)?.push(...claimed)
    return {
      what: 'claim',
      expected: claimed.map(({ task, fence }) => `${task.id} ${fence}`).sort(),
      run: async () =>
        (await claimDue(this.db, account, at, { limit, leaseMs: LEASE_MS }))
          .map(({ id, fence }) => `${id} ${fence}`)
          .sort(),
    }
  }

  private submitStep(line: Line): Step {
    const { task } = line
    const { id } = task
    const dice = this.random.below(100)
    if (dice < 30) {
      const expected = this.books.markSent(id, task.account)
      const run = () =>
        markSent(this.db, id, this.now).then(
          () => true,
          () => false,
        )
      return { what: 'send', expected, run }
    }
    if (dice < 75) {
      // A tenth of the vendor's ids are in use already.
      const taken = [...this.books.sheet(task.account).taken]
      const upstreamId =
        taken.length > 0 && this.random.chance(0.1) ? this.random.pick(taken) : `ds-${++this.ids}`
      const pollAt = this.moment(0)
      const expected = this.books.accept(line, upstreamId, pollAt)
      return { what: 'accept', expected, run: () => acceptTask(this.db, id, upstreamId, pollAt) }
    }
    if (dice < 85) {
      this.books.markUnknown(line)
      const run = async () => 'rows' in (await this.db.batch([markUnknown(id)]))
      return { what: 'unknown', expected: true, run }
    }
    if (dice < 92) {
      const expected = this.books.refuse(line)
      const ending = { endedBy: 'upstream', endedAt: this.now } as const
      const run = () => release(this.db, chargeOf(task, line.heldNano), ending, [deleteTask(id)])
      return { what: 'refuse', expected, run }
    }
    return {
      what: 'take back',
      expected: this.books.takeBack(line),
      run: () => voidTask(this.db, taskOf(line), this.now),
    }
  }

  private followStep(line: Line): Step {
    const dice = this.random.below(100)
    if (dice < 15) {
      const at = this.moment(0)
      const expected = this.books.cancel(line, at)
      return { what: 'cancel', expected, run: () => requestCancel(this.db, line.task.id, at) }
    }
    if (dice < 60) {
      const next = {
        pollAt: this.moment(this.random.below(2)),
        misses: this.random.below(9),
        missing: this.random.below(3),
      }
      const cancelAnswer = this.random.chance(0.2) ? 'no' : null
      const expected = this.books.postpone(line, { ...next, cancelAnswer })
      return {
        what: 'postpone',
        expected,
        run: () => postpone(this.db, taskOf(line), { ...next, document: null }, cancelAnswer),
      }
    }
    const options = { now: this.now, webhookId: `msg-${++this.ids}` }
    if (dice < 80) {
      const { ending, second } = this.success(line)
      const expected = this.books.succeed(line, second)
      return { what: 'succeed', expected, run: () => endTask(this.db, taskOf(line), ending, options) }
    }
    const code = this.random.chance(0.2) ? 'canceled' : 'late'
    const ending = { state: 'failed', document: {}, error: { code, message: 'It was late.' } } as const
    const expected = this.books.fail(line, code)
    return { what: 'fail', expected, run: () => endTask(this.db, taskOf(line), ending, options) }
  }

  /** A success is noticed after its task may have failed, or an operator reopens the task. */
  private mendStep(account: string, glimpse: Line): Step {
    const failed = [...this.books.sheet(account).lines.values()].filter(({ state }) => state === 'failed')
    const line = failed.length > 0 && this.random.chance(0.8) ? { ...this.random.pick(failed) } : glimpse
    if (this.random.chance(0.6)) {
      const options = { now: this.now, webhookId: `msg-${++this.ids}` }
      const { ending, second } = this.success(line)
      const expected = this.books.succeedLate(line, second)
      return {
        what: 'succeed late',
        expected,
        run: async () => {
          const settled = await succeedLate(this.db, taskOf(line), ending, options)
          return settled && { paidNano: settled.paidNano, shortfallNano: settled.shortfallNano }
        },
      }
    }
    const at = this.moment(0)
    const expected = this.books.askAgain(line)
    return { what: 'ask again', expected, run: () => askAgain(this.db, taskOf(line), at) }
  }

  private success({ task }: Line): { ending: Success; second: number } {
    const most = task.quantities.second ?? 0
    const second = this.random.chance(0.5) ? most : 1 + this.random.below(most)
    return { ending: { ...SUCCEEDED, ...(second < most && { quantities: { second } }) }, second }
  }

  private nextStep(account: string): Step {
    const known = this.glimpses.get(account) as Line[]
    const dice = this.random.below(100)
    if (known.length === 0 || dice < 14) return this.insertStep(account)
    if (dice < 32) return this.claimStep(account)
    // Mostly a recent state; sometimes an old one.
    const line = this.random.chance(0.8) ? this.random.pick(known.slice(-12)) : this.random.pick(known)
    if (dice < 38) return this.mendStep(account, line)
    return this.random.chance(line.upstreamId === null ? 0.85 : 0.1)
      ? this.submitStep(line)
      : this.followStep(line)
  }

  private async perform({ what, expected, run }: Step): Promise<void> {
    const answer = await run()
    const kind = kindOf(answer)
    this.seen.set(`${what}: ${kind}`, (this.seen.get(`${what}: ${kind}`) ?? 0) + 1)
    if (Bun.deepEquals(answer, expected)) return
    throw new Error(
      `${what} answered ${JSON.stringify(answer)}, the second bookkeeper says ${JSON.stringify(expected)}`,
    )
  }

  /** Runs some operations on every account. Returns their number. */
  async wave(): Promise<number> {
    const chains = this.accounts.map((account) =>
      Array.from({ length: STEPS_PER_ACCOUNT }, () => this.nextStep(account)),
    )
    await Promise.all(
      chains.map(async (chain) => {
        for (const step of chain) await this.perform(step)
      }),
    )
    this.now += this.random.pick(PAUSES_MS)
    // The sweep never releases holds of tasks, whatever the clock says.
    await this.perform({
      what: 'expire',
      expected: 0,
      run: () => releaseExpired(this.db, Number.MAX_SAFE_INTEGER, { all: true }),
    })
    return chains.flat().length
  }

  /** Throws if a figure in the database differs from the bookkeeper's, or the audit finds a fault. */
  async compare(): Promise<void> {
    for (const [account, sheet] of this.books.sheets) {
      const rows = await this.db.query({
        sql: 'select * from tasks where account = $1',
        parameters: [account],
      })
      const lines = [...sheet.lines.values()].map(rowOf)
      const found = rows.map((row) => pick(row, Object.keys(lines[0] ?? {})))
      expectSame(`tasks of ${account}`, byId(found), byId(lines))
      const [money] = await this.db.query({
        sql: `select balance, held,
          (select count(*) from charges where account = $1 and state = 'released') as released,
          (select count(*) from webhooks where account = $1) as webhooks,
          (select count(distinct task) from webhooks where account = $1) as reported
          from accounts where name = $1`,
        parameters: [account],
      })
      expectSame(`figures of ${account}`, money, {
        balance: sheet.balance,
        held: sheet.held,
        released: sheet.released,
        webhooks: sheet.reported.length,
        reported: new Set(sheet.reported).size,
      })
    }
    // Like new ones, reopened tasks are not ended at their deadline.
    const { problems } = await audit(this.db, START)
    if (problems.length > 0) throw new Error(`the audit found: ${problems.join('; ')}`)
  }
}

function kindOf(answer: unknown): string | undefined {
  if (Array.isArray(answer)) return answer.length > 0 ? 'some' : 'none'
  if (typeof answer !== 'object' || answer === null || !('shortfallNano' in answer))
    return JSON.stringify(answer)
  return answer.shortfallNano === 0 ? 'paid' : 'short'
}

/** Arguments for the functions under test, as of the time when the task was read. */
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
