// The reservations of this process: requests whose price is held, from the hold to the end of the charge. Each must be
// settled, released or handed over exactly once, whatever happens. A charge that the database cannot end now is ended
// later.

import { freeKey, type IdempotencyKey, type SavedAnswer, saveAnswer } from '../billing/idempotency'
import { type Charge, refreshHold, release, type Settled, settle } from '../billing/ledger'
import { billOf, type Measure, type Outcome } from '../billing/metering'
import { type EndedBy, shuttingDown, timedOut } from '../contract/failures'
import type { Model } from '../contract/family'
import { tableNano } from '../contract/prices'
import { tokensOf } from '../contract/units'
import { DatabaseUnavailable, type Statement } from '../db/db'
import { CancelToken } from '../lib/cancel-token'
import type { ErrorCode } from '../lib/error-codes'
import type { GatewayError } from '../lib/errors'
import { IndexedSet, type Member } from '../lib/indexed-set'
import { watchWhileNeeded } from '../lib/ticker'
import { noteFailedAttempt, type RequestLogRow } from '../request-log/row'
import { endStatements, type ResponseToKeep } from '../responses/keep'
import { deleteTask, type NewTask } from '../tasks/rows'
import { releaseInBackground, settleInBackground } from './answer-background'
import type { BodyRecord } from './body-record'
import type { CheckedRequest } from './check'
import type { RunningRequests } from './running-requests'
import type { RequestWorld } from './world'

/** A request whose price is held. */
export interface Reservation extends CheckedRequest, Member {
  charge: Charge
  idempotencyKey: IdempotencyKey | null
  /** The row of the request log, written at the end. */
  logRow: RequestLogRow
  /** Cuts the calls to the vendor; the reason is the error that the caller then gets. */
  cancelToken: CancelToken
  /** End of the wait for the vendor, on the monotonic clock. */
  deadlineAt: number
  isEnded: boolean
  /** The task of a request whose answer comes later; undefined for other families. */
  task: NewTask | undefined
  /** The answer that is kept for later requests; undefined if it is not. */
  toKeep: ResponseToKeep | undefined
  /** Absent unless the answer is made in the background. */
  background?: { isFollowed: boolean }
  /** Notes what is delivered; absent unless bodies are kept. */
  record?: BodyRecord
  /** The caller to notify of the end, if the answer continues after the request was handled. */
  caller: { rest?(): void } | undefined
}

/** An end of a charge that the database could not store yet. */
interface PendingEnd {
  charge: string
  work(): Promise<unknown>
  /** Present where the hold may just as well expire: a process that stops does not wait for this end. */
  canExpire?: true
}

/** How long `drain` waits for cut requests to be settled, in milliseconds. */
const SETTLE_MS = 5_000
const DRAIN_LOOK_MS = 20
/** Pause between tries to store the ends of charges while the gateway stops, in milliseconds. */
const PENDING_LOOK_MS = 500
/** Ends that wait at most before a lost hold is left to its expiry: a database that is away refuses every request. */
const MOST_TAKEN_BACK = 1_000

export class Reservations {
  /** True when the gateway stops: no request begins any more. */
  isDraining = false
  /** How many requests were cut at the end of their grace, by any call of `drain`. */
  private cut = 0
  private readonly world: RequestWorld
  private readonly running: RunningRequests
  private readonly open = new IndexedSet<Reservation>()
  private readonly watch: () => void
  private pending: PendingEnd[] = []

  constructor(world: RequestWorld, running: RunningRequests) {
    this.world = world
    this.running = running
    // One watch for all: a timer for each wait of each request would cost more than the rest of the bookkeeping.
    this.watch = watchWhileNeeded(world.ticker, (at) => {
      for (const { deadlineAt, cancelToken, model } of this.open.all()) {
        if (at >= deadlineAt) cancelToken.abort(timedOut(model))
      }
      return this.open.size > 0
    })
  }

  get size(): number {
    return this.open.size
  }

  add(reservation: Reservation): void {
    this.open.add(reservation)
    this.watch()
  }

  /**
   * Settles the charge of an answered request. Returns the paid nano-dollars: 0 if the database stores the settlement
   * only later.
   */
  async settle(
    reservation: Reservation,
    outcome: Outcome,
    measured: Measure,
    saved: SavedAnswer,
  ): Promise<number> {
    this.close(reservation)
    const settled = await this.end(reservation, async () => {
      const ended = await this.asHeld(reservation, () =>
        this.settleCharge(reservation, outcome, measured, saved),
      )
      if (!ended && reservation.background) this.world.backgroundResponses.lose(reservation.toKeep?.id)
      return ended
    })
    return settled?.paidNano ?? 0
  }

  /** Releases the charge of a request that has nothing to pay for. The outcome tells what the vendor asks nevertheless. */
  async release(reservation: Reservation, endedBy: EndedBy, outcome?: Outcome): Promise<void> {
    this.close(reservation)
    await this.end(reservation, () =>
      this.asHeld(reservation, () => this.releaseCharge(reservation, endedBy, outcome)),
    )
  }

  /** Hands the charge over to a task: it stays open, and ends with the task. */
  handOver(reservation: Reservation): void {
    this.close(reservation)
    this.open.delete(reservation)
  }

  /** Moves to another model after an error, before there is an answer: its prices apply from now on. */
  moveTo(reservation: Reservation, model: Model, error: GatewayError): void {
    // Calls that still run for the failed model, such as other parts of a batch, are of no use.
    reservation.cancelToken.abort()
    reservation.cancelToken = new CancelToken()
    reservation.deadlineAt = Number.POSITIVE_INFINITY
    reservation.model = model
    reservation.family = model.family
    noteFailedAttempt(reservation.logRow, error, this.world.monotonic())
    reservation.logRow.model = model.id
    reservation.logRow.upstream = model.upstream.name
  }

  /**
   * Takes back what a hold may have taken whose answer was lost with the database: nothing is sent for it, and until then its
   * money and its Idempotency-Key are not free.
   */
  takeBack(charge: Charge, task: NewTask | undefined, error: unknown): void {
    if (!(error instanceof DatabaseUnavailable) || this.pending.length >= MOST_TAKEN_BACK) return
    const also = [freeKey(charge.id), ...(task ? [deleteTask(task.id)] : [])]
    const work = () => release(this.world.db, charge, { endedBy: 'expired', endedAt: this.world.now() }, also)
    this.pending.push({ charge: charge.id, work, canExpire: true })
  }

  /** Runs a change of the database, and repeats it until the database accepts it. False if that is still to come. */
  async persist({ charge }: Reservation, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      this.tryLater(charge, work, error)
      return false
    }
  }

  /** Whether this process still works on a charge, if only on its end. */
  runs(charge: string): boolean {
    for (const reservation of this.open.all()) if (reservation.charge.id === charge) return true
    return this.pending.some((end) => end.charge === charge)
  }

  /**
   * Waits for all reservations to end, then cuts the rest; a database that is away has the same time to come back for
   * charges whose end it could not store. Returns how many were cut, by an earlier call too.
   */
  async drain(graceMs: number): Promise<number> {
    const { monotonic, after } = this.world
    const endsAt = monotonic() + graceMs
    this.isDraining = true
    await this.waitUntilEmpty(graceMs)
    for (const { cancelToken } of this.open.all()) {
      if (!cancelToken.signal.aborted) this.cut++
      cancelToken.abort(shuttingDown())
    }
    await this.waitUntilEmpty(SETTLE_MS)
    await this.endLater()
    while (this.pending.some(({ canExpire }) => !canExpire) && monotonic() < endsAt) {
      await new Promise<void>((resolve) => after(PENDING_LOOK_MS, resolve))
      await this.endLater()
    }
    return this.cut
  }

  /** Tries again to end charges that the database could not end. */
  async endLater(): Promise<void> {
    // Each stays in the list while it is tried; otherwise its hold could be released as abandoned.
    for (const attempt of [...this.pending]) {
      try {
        await attempt.work()
      } catch (error) {
        if (error instanceof DatabaseUnavailable) continue
        // An error of our own, which a repeat does not fix. It must not keep the others from being tried.
        this.world.log('charge_not_ended', { error: String(error) })
      }
      this.pending = this.pending.filter((other) => other !== attempt)
    }
  }

  /** Marks the request as ended and stops counting it among the running ones of its key. */
  private close(reservation: Reservation): void {
    if (reservation.isEnded) throw new Error('a reservation ended twice')
    reservation.isEnded = true
    this.running.leave(reservation.key)
  }

  /**
   * Runs the end of a charge, which the last bytes of an answer wait for. Undefined if the database cannot store it now: it is
   * repeated until it can.
   */
  private async end<Result>(
    reservation: Reservation,
    work: () => Promise<Result>,
  ): Promise<Result | undefined> {
    try {
      return await work()
    } catch (error) {
      this.tryLater(reservation.charge, work, error)
      return undefined
    } finally {
      this.open.delete(reservation)
      reservation.caller?.rest?.()
    }
  }

  /** Runs the end of a charge, again if it holds more than this process knows: an answer of the database was lost. */
  private async asHeld<Result>({ charge }: Reservation, work: () => Promise<Result>): Promise<Result> {
    const result = await work()
    return !result && (await refreshHold(this.world.db, charge)) ? work() : result
  }

  private tryLater(charge: Charge, work: () => Promise<unknown>, error: unknown): void {
    if (!(error instanceof DatabaseUnavailable)) throw error
    this.world.log('charge_not_ended_yet', { request: charge.id, reason: error.message })
    this.pending.push({ charge: charge.id, work })
  }

  private settleCharge(
    reservation: Reservation,
    outcome: Outcome,
    { quantities, source }: Measure,
    saved: SavedAnswer,
  ): Promise<Settled | undefined> {
    const { parsed, charge, model, idempotencyKey, toKeep, background } = reservation
    const { endedBy, usageJson, failed } = outcome
    const { table, cost, json } = billOf(parsed, model, quantities, outcome)
    const priceNano = tableNano(quantities, table)
    const settlement = {
      // What the vendor made and the caller did not get is not paid beyond the hold.
      priceNano: endedBy === 'balance' ? Math.min(priceNano, charge.heldNano) : priceNano,
      costNano: cost ? tableNano(quantities, cost) : null,
      usageSource: source,
      usageJson,
      endedBy,
      endedAt: this.world.now(),
      tokens: tokensOf(quantities),
    }
    // Only a whole answer may be replayed.
    const isWhole = (endedBy === 'done' || endedBy === 'balance') && !failed
    const also = idempotencyKey
      ? [isWhole ? saveAnswer(this.world.db, charge.id, saved) : freeKey(charge.id)]
      : []
    if (toKeep) also.push(...endStatements(this.world, toKeep, isWhole))
    const billed = asBilled(charge, model, json)
    const settleWith = (more: readonly Statement[]) => settle(this.world.db, billed, settlement, more)
    if (!background || !toKeep) return settleWith(also)
    const release = () => {
      reservation.logRow.errorCode ??= 'server_error' satisfies ErrorCode
      return this.releaseCharge(reservation, 'expired', outcome)
    }
    return settleInBackground(this.world, toKeep, { settle: settleWith, release, also })
  }

  private async releaseCharge(
    reservation: Reservation,
    endedBy: EndedBy,
    outcome?: Outcome,
  ): Promise<boolean> {
    const { charge, idempotencyKey, task, background, toKeep } = reservation
    const also: Statement[] = idempotencyKey ? [freeKey(charge.id)] : []
    if (task) also.push(deleteTask(task.id))
    const releaseWith = (more: readonly Statement[]) => this.releaseFor(reservation, more, endedBy, outcome)
    return background && toKeep ? releaseInBackground(this.world, toKeep, releaseWith) : releaseWith(also)
  }

  private releaseFor(
    { parsed, charge, model }: Reservation,
    also: readonly Statement[],
    endedBy: EndedBy,
    outcome?: Outcome,
  ): Promise<boolean> {
    const ending = { endedBy, endedAt: this.world.now() }
    // The caller pays nothing for what did not arrive, but the vendor asks for what it reports.
    const usage = outcome?.usage
    if (!model.costList || !outcome || typeof usage !== 'object')
      return release(this.world.db, charge, ending, also)
    const { cost, json } = billOf(parsed, model, usage, outcome)
    const costNano = cost ? tableNano(usage, cost) : null
    const known = { ...ending, costNano, usageJson: outcome.usageJson }
    return release(this.world.db, asBilled(charge, model, json), known, also)
  }

  private async waitUntilEmpty(timeoutMs: number): Promise<void> {
    const { monotonic, after } = this.world
    const deadline = monotonic() + timeoutMs
    while (this.open.size > 0 && monotonic() < deadline) {
      await new Promise<void>((resolve) => after(DRAIN_LOOK_MS, resolve))
    }
  }
}

/** A charge by the model that answered: another one of a route may have, and one table of its prices applies. */
function asBilled(charge: Charge, model: Model, pricesJson: string): Charge {
  const isAsHeld = model.id === charge.model && pricesJson === charge.pricesJson
  return isAsHeld ? charge : { ...charge, model: model.id, pricesJson }
}
