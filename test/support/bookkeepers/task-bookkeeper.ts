// A second bookkeeper for tasks: their rules in plain memory, one account after another, to predict the answers of the real ones.
// It must stay too simple to be wrong, and must not use any code of the gateway except types.

import type { NewTask } from '../../../src/tasks/rows'
import { SECOND_NANO } from '../databases/task-rows'

/** A task as the database must store it. */
export interface Line {
  task: NewTask
  /** State of its charge, and the amount that it holds or has paid. */
  charge: string
  heldNano: number
  costNano: number
  state: 'submitted' | 'succeeded' | 'failed'
  code: string | null
  upstreamId: string | null
  sent: boolean
  pollAt: number
  polls: number
  misses: number
  missing: number
  cancelAt: number | null
  cancelAnswer: string | null
  leaseUntil: number
  fence: number
}

interface TaskSheet {
  balance: number
  held: number
  lines: Map<string, Line>
  /** Charges that ended without a payment. */
  released: number
  /** Tasks whose end was reported, once per report. */
  reported: string[]
  /** Upstream ids in use. */
  taken: Set<string>
}

export class TaskBookkeeper {
  readonly sheets = new Map<string, TaskSheet>()
  private readonly balance: number

  /** `balance` is the initial balance of each account. */
  constructor(balance: number) {
    this.balance = balance
  }

  sheet(account: string): TaskSheet {
    const known = this.sheets.get(account)
    if (known) return known
    const made = {
      balance: this.balance,
      held: 0,
      lines: new Map(),
      released: 0,
      reported: [],
      taken: new Set<string>(),
    }
    this.sheets.set(account, made)
    return made
  }

  /** The current line, while the task runs. */
  private open({ task }: Line): Line | undefined {
    const line = this.sheet(task.account).lines.get(task.id)
    return line?.state === 'submitted' ? line : undefined
  }

  /** The open line, if its earlier reader still owns the lease. */
  private owned(seen: Line): Line | undefined {
    const line = this.open(seen)
    return line?.fence === seen.fence ? line : undefined
  }

  private withdraw(line: Line | undefined): boolean {
    if (!line) return false
    const book = this.sheet(line.task.account)
    book.lines.delete(line.task.id)
    book.held -= line.heldNano
    book.released++
    return true
  }

  /** Returns the paid part of the price: at most the available balance. */
  private end(line: Line, state: 'succeeded' | 'failed', code: string | null, price: number): number {
    const book = this.sheet(line.task.account)
    book.held -= line.heldNano
    const costNano = Math.min(price, book.balance - book.held)
    book.balance -= costNano
    if (state === 'failed') book.released++
    if (line.task.webhookUrl !== null) book.reported.push(line.task.id)
    Object.assign(line, { state, code, costNano, leaseUntil: 0, polls: line.polls + 1 })
    return costNano
  }

  private endOwned(seen: Line, ...ending: ['succeeded' | 'failed', string | null, number]): boolean {
    const line = this.owned(seen)
    if (line) this.end(line, ...ending)
    return line !== undefined
  }

  /** The line of a task that failed, was not stopped, and can be polled at its vendor. */
  private mendable({ task }: Line): Line | undefined {
    const line = this.sheet(task.account).lines.get(task.id)
    const mends = line?.state === 'failed' && line.code !== 'canceled' && line.upstreamId !== null
    return mends ? line : undefined
  }

  insert(task: NewTask, heldNano: number): { held: true } | { refusedBy: string } {
    const book = this.sheet(task.account)
    if (book.balance - book.held < heldNano) return { refusedBy: 'balance' }
    book.held += heldNano
    const at = { pollAt: task.createdAt, polls: 0, misses: 0, missing: 0, leaseUntil: 0, fence: 0 }
    const unknown = { code: null, upstreamId: null, sent: false, cancelAt: null, cancelAnswer: null }
    const money = { charge: task.charge, heldNano, costNano: task.costNano }
    book.lines.set(task.id, { task, ...money, state: 'submitted', ...unknown, ...at })
    return { held: true }
  }

  /** False if it was sent before, or is gone. */
  markSent(id: string, account: string): boolean {
    const line = this.sheet(account).lines.get(id)
    if (line?.state !== 'submitted' || line.sent) return false
    line.sent = true
    line.fence++
    return true
  }

  accept(seen: Line, upstreamId: string, pollAt: number): boolean {
    const line = this.open(seen)
    const { taken } = this.sheet(seen.task.account)
    if (!line?.sent || line.upstreamId !== null || taken.has(upstreamId)) return false
    taken.add(upstreamId)
    Object.assign(line, { upstreamId, pollAt, code: null, fence: line.fence + 1 })
    return true
  }

  refuse(seen: Line): boolean {
    const line = this.open(seen)
    return this.withdraw(line?.upstreamId === null ? line : undefined)
  }

  takeBack(seen: Line): boolean {
    const line = this.open(seen)
    return this.withdraw(line?.upstreamId === null && !line.sent ? line : undefined)
  }

  markUnknown(seen: Line): void {
    const line = this.open(seen)
    if (line?.sent && line.upstreamId === null) line.code = 'unknown'
  }

  /** The claimed tasks as they are after the claim, the longest due first. */
  claim(account: string, now: number, limit: number, leaseMs: number): Line[] {
    const due = [...this.sheet(account).lines.values()]
      .filter((line) => line.state === 'submitted' && line.upstreamId !== null)
      .filter((line) => line.pollAt <= now && line.leaseUntil <= now)
      .sort((one, other) => one.pollAt - other.pollAt || (one.task.id < other.task.id ? -1 : 1))
      .slice(0, limit)
    for (const line of due) Object.assign(line, { leaseUntil: now + leaseMs, fence: line.fence + 1 })
    return due.map((line) => ({ ...line }))
  }

  postpone(
    seen: Line,
    next: { pollAt: number; misses: number; missing: number; cancelAnswer: string | null },
  ): boolean {
    const line = this.owned(seen)
    if (!line) return false
    const isNewWish = line.cancelAt !== null && line.cancelAt !== seen.cancelAt
    line.pollAt = isNewWish ? line.task.createdAt : next.pollAt
    if (!isNewWish) line.cancelAt = null
    line.misses = next.misses
    line.missing = next.missing
    line.cancelAnswer = next.cancelAnswer ?? line.cancelAnswer
    line.leaseUntil = 0
    line.polls++
    return true
  }

  succeed(seen: Line, seconds: number): boolean {
    return this.endOwned(seen, 'succeeded', null, seconds * SECOND_NANO)
  }

  fail(seen: Line, code: string): boolean {
    return this.endOwned(seen, 'failed', code, 0)
  }

  /** Changes a failed task to succeeded. Returns the paid amount and the shortfall. */
  succeedLate(seen: Line, seconds: number): { paidNano: number; shortfallNano: number } | undefined {
    const line = this.mendable(seen)
    if (!line) return undefined
    Object.assign(line, { charge: `${line.charge}:late`, heldNano: 0 })
    const paidNano = this.end(line, 'succeeded', null, seconds * SECOND_NANO)
    return { paidNano, shortfallNano: seconds * SECOND_NANO - paidNano }
  }

  /** Makes a task due again, if it has not changed since it was read. */
  askAgain(seen: Line): boolean {
    const line = this.mendable(seen)
    if (!line || seen.state !== 'failed' || line.fence !== seen.fence) return false
    Object.assign(line, { charge: `${line.charge}:late`, heldNano: 0, state: 'submitted', code: null })
    const cleared = { misses: 0, missing: 0, cancelAt: null, cancelAnswer: null }
    Object.assign(line, { ...cleared, pollAt: line.task.createdAt, fence: line.fence + 1 })
    return true
  }

  cancel(seen: Line, at: number): boolean {
    const line = this.open(seen)
    if (!line || line.upstreamId === null) return false
    Object.assign(line, { cancelAt: at, cancelAnswer: null, pollAt: line.task.createdAt })
    return true
  }
}
