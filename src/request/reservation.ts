// The reservations of this process: requests whose price is held, from the hold to the end of the charge. Each must be
// settled, released or handed over exactly once, whatever happens. A charge that the database cannot end now is ended
// later: its end is on this machine's disk before the last byte of the answer is sent, or that byte is not sent.

import { type ChargeEnd, type Ended, endCharge, lateFields } from '../billing/ledger/charge-ends'
import {
  freeKey,
  type IdempotencyKey,
  retakeKey,
  type SavedAnswer,
  saveAnswer,
} from '../billing/ledger/idempotency'
import type { Charge } from '../billing/ledger/ledger'
import { billOf, type Measure, type Outcome } from '../billing/ledger/metering'
import { chargeOfEnd, type EndedCharge, storeQuantities } from '../billing/receipts/receipts'
import { cutError, type EndedBy, endsAtHold, shuttingDown, timedOut } from '../contract/failures'
import type { Model } from '../contract/family'
import { tableNano } from '../contract/prices'
import { tokensOf } from '../contract/units'
import { apply, DatabaseUnavailable, type Statement } from '../db/db'
import { endStatements } from '../kept-responses/keep'
import { CancelToken } from '../lib/cancel-token'
import type { ErrorCode } from '../lib/error-codes'
import type { GatewayError } from '../lib/errors'
import { IndexedSet, type Member } from '../lib/indexed-set'
import { watchWhileNeeded } from '../lib/ticker'
import { noteFailure } from '../request-log/failure'
import { noteFailedAttempt, noteRefusal, type RequestLogRow } from '../request-log/row'
import { DEFERRED_LEASE_MS, renewTaskLease } from '../tasks/deferred'
import { deleteTask, type NewTask } from '../tasks/rows'
import { releaseInBackground, settlementInBackground } from './answer/background'
import { releaseOfDeferred, settlementOfDeferred } from './answer/deferred'
import type { BodyRecord } from './body-record'
import type { CheckedRequest } from './check'
import { type Unwanted, UnwantedAnswer } from './route/unwanted'
import type { RunningRequests } from './running-requests'
import type { RequestWorld } from './world'

/** A request whose price is held. */
export interface Reservation extends Member {
  request: CheckedRequest
  charge: Charge
  idempotencyKey: IdempotencyKey | null
  /** The row of the request log, written at the end. */
  logRow: RequestLogRow
  /** Cuts off the calls to the vendor; the reason is the error that the caller then gets. */
  cancelToken: CancelToken
  /** Deadline for the vendor, on the monotonic clock. */
  deadlineAt: number
  isEnded: boolean
  /** Models to try if the one of the request cannot answer. */
  next: readonly Model[]
  /** Why an answer of the model is rejected while another model is left; undefined if none is rejected. */
  unwanted: ReadonlySet<Unwanted> | undefined
  /** The vendors' charges for rejected answers, in nano-dollars; null if unknown, 0 if nothing was rejected. */
  unwantedCostNano: number | null
  /** The task of a request whose answer arrives later; undefined for other families. */
  task: NewTask | undefined
  /** The error that the request ends with, for readers of the task; absent: it is derived from the end. */
  failure?: GatewayError | undefined
  /** Records the delivered bytes; absent unless bodies are stored. */
  record?: BodyRecord | undefined
  /** The caller to notify of the end, if the answer continues after the request was handled. */
  caller: { rest?(): void } | undefined
  /** The end of the charge, once it is known. */
  end: ChargeEnd | undefined
  /** The ended charge, for its receipt; undefined until then, without receipts, or if only the ledger knows it. */
  charged: EndedCharge | undefined
  /** Where the end is on disk; undefined unless the database has refused it. */
  place: number | undefined
}

/** An end of a charge that the database could not store yet. */
interface PendingEnd {
  charge: string
  work(): Promise<unknown>
  /** Where it is on disk; absent if it is only in memory. */
  place?: number | undefined
  /** Whether a deferred task ends with it. */
  isOfTask?: boolean
  /** Present if the hold may also expire: a stopping process does not wait for this end. */
  canExpire?: true
}

/** How long `drain` waits for cut requests to be settled, in milliseconds. */
const SETTLE_MS = 5_000
const DRAIN_CHECK_MS = 20
/** Pause between attempts to store the ends of charges while the gateway stops, in milliseconds. */
const PENDING_CHECK_MS = 500
/** Maximum number of waiting ends before a lost hold is left to expire: an unavailable database refuses every request. */
const MAX_WAITING_ENDS = 1_000
/** How long an expired hold of another process is observed before it is released, in milliseconds: several sweeps of that process. */
const SILENT_MS = 20_000
/** Number of expired holds that are observed at once. */
const MAX_WATCHED = 10_000

export class Reservations {
  /** True when the gateway stops: no new requests begin. */
  isDraining = false
  /** How many requests were cut off at the end of their grace period, by any call of `drain`. */
  private cut = 0
  private readonly world: RequestWorld
  private readonly running: RunningRequests
  private readonly open = new IndexedSet<Reservation>()
  private readonly watch: () => void
  private pending: PendingEnd[] = []
  /** Expired holds of other processes: their expiry, and since when it has not changed, on the monotonic clock. */
  private readonly expired = new Map<string, { expiresAt: number; since: number }>()

  constructor(world: RequestWorld, running: RunningRequests) {
    this.world = world
    this.running = running
    // One timer for all: one for each wait of each request would cost more than the rest of the bookkeeping.
    this.watch = watchWhileNeeded(world.ticker, (at) => {
      for (const { deadlineAt, cancelToken, request } of this.open.all()) {
        if (at >= deadlineAt) cancelToken.abort(timedOut(request.model))
      }
      return this.open.size > 0
    })
  }

  get size(): number {
    return this.open.size
  }

  /** How many requests were cut off, including those that would be if the process ended now. */
  get cutRequests(): number {
    return this.cut + this.open.all().filter(({ cancelToken }) => !cancelToken.signal.aborted).length
  }

  add(reservation: Reservation): void {
    this.open.add(reservation)
    this.watch()
  }

  /** Settles the charge of an answered request. Returns the nano-dollars that are paid, or certainly will be. */
  settle(reservation: Reservation, outcome: Outcome, measured: Measure, saved: SavedAnswer): Promise<number> {
    this.close(reservation)
    return this.end(reservation, () => this.settlementOf(reservation, outcome, measured, saved))
  }

  /** Releases the charge of a request without anything to charge. The outcome has the vendor's charge, if any. */
  async release(reservation: Reservation, endedBy: EndedBy, outcome?: Outcome): Promise<void> {
    this.close(reservation)
    await this.end(reservation, () => this.releaseOf(reservation, endedBy, outcome))
  }

  /** Hands the charge over to a task: it stays open, and ends with the task. */
  handOver(reservation: Reservation): void {
    this.close(reservation)
    this.open.delete(reservation)
  }

  /** Moves to another model after an error, before there is an answer: its prices apply from now on. */
  moveTo(reservation: Reservation, model: Model, error: GatewayError): void {
    // Calls that still run for the failed model, such as other parts of a batch, are useless.
    reservation.cancelToken.abort()
    reservation.cancelToken = new CancelToken()
    reservation.deadlineAt = Number.POSITIVE_INFINITY
    reservation.request.model = model
    reservation.request.family = model.family
    noteRefusal(reservation.logRow, error)
    const unwanted = error instanceof UnwantedAnswer ? error : undefined
    if (unwanted) reservation.unwantedCostNano = sumOf(reservation.unwantedCostNano, unwanted.costNano)
    noteFailedAttempt(reservation.logRow, error, this.world.monotonic(), unwanted?.costNano)
    reservation.logRow.model = model.id
    reservation.logRow.upstream = model.upstream.name
  }

  /**
   * Undoes a hold whose result is unknown because the database connection was lost. Nothing is sent for it; until it is undone, its
   * money and its Idempotency-Key are not free.
   */
  takeBack(charge: Charge, task: NewTask | undefined, error: unknown): void {
    if (!(error instanceof DatabaseUnavailable)) return
    this.giveBackLater(charge, [freeKey(charge.id), ...(task ? [deleteTask(task.id)] : [])])
  }

  /**
   * Runs a change of the database, and repeats it until the database accepts it. False if it is still pending. `also` are
   * statements with which another process makes the change if this one ends before.
   */
  async persist(
    { charge }: Reservation,
    work: () => Promise<unknown>,
    also: () => Statement[],
  ): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      this.repeat({ charge: charge.id, work, place: this.keep({ charge, also: also() }) }, error)
      return false
    }
  }

  /** Renews the leases of the deferred tasks that this process makes, or whose end it has yet to store. */
  async renewTasks(): Promise<void> {
    const { db, now } = this.world
    const running = [...this.open.all()].filter(({ request }) => request.deferral)
    const charges = [...running.map(({ charge }) => charge.id), ...this.pendingTasks]
    if (charges.length === 0) return
    const leaseUntil = now() + DEFERRED_LEASE_MS
    await apply(
      db,
      charges.map((charge) => renewTaskLease(charge, leaseUntil)),
    )
  }

  private get pendingTasks(): string[] {
    return this.pending.flatMap(({ charge, isOfTask }) => (isOfTask ? [charge] : []))
  }

  /** Whether this process still works on a charge, even if only on its end. */
  runs(charge: string): boolean {
    for (const reservation of this.open.all()) if (reservation.charge.id === charge) return true
    return this.pending.some((end) => end.charge === charge)
  }

  /**
   * Whether nobody seems to work on an expired hold of another process: a process extends the holds of its running requests. Its
   * clock, or ours, may be wrong, so the expiry alone proves nothing.
   */
  isSilent({ id, expiresAt }: Charge): boolean {
    const now = this.world.monotonic()
    const known = this.expired.get(id)
    if (known?.expiresAt !== expiresAt) {
      // A hold that was released elsewhere is not checked again.
      if (this.expired.size >= MAX_WATCHED) this.expired.clear()
      this.expired.set(id, { expiresAt, since: now })
      return false
    }
    return now - known.since >= SILENT_MS && this.expired.delete(id)
  }

  /**
   * Waits for all reservations to end, then cuts off the rest; an unavailable database has the same time to return for charges
   * whose end it could not store. Returns how many were cut off, including those of an earlier call.
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
      await new Promise<void>((resolve) => after(PENDING_CHECK_MS, resolve))
      await this.endLater()
    }
    this.saveEnds()
    return this.cut
  }

  /** Writes the ends that wait for the database to the disk, before the process ends. */
  saveEnds(): void {
    for (const reservation of this.open.all()) {
      if (reservation.end) reservation.place ??= this.keep(reservation.end)
    }
  }

  /** Retries ends of charges that the database did not accept. */
  async endLater(): Promise<void> {
    // Each stays in the list while it is tried; otherwise its hold could be released as abandoned.
    for (const attempt of [...this.pending]) {
      try {
        await attempt.work()
        if (attempt.place !== undefined) this.world.pendingEnds.remove(attempt.place)
      } catch (error) {
        if (error instanceof DatabaseUnavailable) continue
        // An internal error, which a repeat does not fix. It must not prevent the others from being tried; the next process tries
        // the ends on disk.
        this.world.log('charge_not_ended', { request: attempt.charge, error: String(error) })
      }
      this.pending = this.pending.filter((other) => other !== attempt)
    }
  }

  /** Marks the request as ended and stops counting it among the running ones of its key. */
  private close(reservation: Reservation): void {
    if (reservation.isEnded) throw new Error('a reservation ended twice')
    reservation.isEnded = true
    this.running.leave(reservation.request.key)
  }

  /**
   * Ends the charge, for which the last bytes of an answer wait. Returns the paid amount. If the database cannot accept it now, it
   * is on disk, and is repeated until the database accepts it; throws if the disk cannot accept it either.
   */
  private async end(reservation: Reservation, make: () => ChargeEnd | Promise<ChargeEnd>): Promise<number> {
    try {
      const made = make()
      const end = made instanceof Promise ? await made : made
      reservation.end = end
      const paidNano = await this.make(reservation, end)
      reservation.charge.heldNano = end.charge.heldNano
      if (reservation.place !== undefined) this.world.pendingEnds.remove(reservation.place)
      return paidNano
    } catch (error) {
      if (error instanceof DatabaseUnavailable) return this.putOff(reservation, error)
      if (reservation.request.background) this.world.backgroundResponses.lose(reservation.request.toKeep?.id)
      throw error
    } finally {
      this.open.delete(reservation)
      reservation.caller?.rest?.()
    }
  }

  private async make(reservation: Reservation, end: ChargeEnd, now?: number): Promise<number> {
    const { log, config } = this.world
    const ended = await endCharge(this.world.db, end, now)
    // A later attempt ends it at a time that is unknown here.
    if (config.receipts && ended.made && now === undefined)
      reservation.charged = chargeOfEnd(ended.made, ended)
    if (ended.isLate) log('charge_late', lateFields(end.charge, ended))
    if (reservation.request.background) this.endInBackground(reservation, end, ended)
    return ended.paidNano
  }

  /** Ends a background response with its charge. */
  private endInBackground(
    { request: { toKeep }, logRow }: Reservation,
    { settlement }: ChargeEnd,
    ended: Ended,
  ): void {
    const { backgroundResponses, log } = this.world
    if (!toKeep) return
    if (ended.isMissed && !settlement) backgroundResponses.lose(toKeep.id)
    else backgroundResponses.forget(toKeep.id)
    if (!settlement || ended.isPaid) return
    log('background_lost', { response: toKeep.id })
    if (logRow.errorCode === null)
      noteFailure(
        logRow,
        'Another node has ended this response as failed.',
        'server_error' satisfies ErrorCode,
      )
  }

  private putOff(reservation: Reservation, error: DatabaseUnavailable): number {
    const { charge, end } = reservation
    if (!end) throw error
    const place = reservation.place ?? this.keep(end)
    if (place === undefined && end.settlement) {
      // The last byte is not sent, so nothing is paid.
      this.giveBackLater(charge, [freeKey(charge.id)])
      throw error
    }
    const isOfTask = reservation.task !== undefined
    this.repeat(
      { charge: charge.id, work: () => this.make(reservation, end, this.world.now()), place, isOfTask },
      error,
    )
    return end.settlement?.priceNano ?? 0
  }

  /** Stores an end on disk. Returns its place; undefined if the file is full. */
  private keep(end: ChargeEnd): number | undefined {
    return this.world.pendingEnds.add(JSON.stringify(end))
  }

  private repeat(end: PendingEnd, { message }: DatabaseUnavailable): void {
    this.world.log('charge_not_ended_yet', { request: end.charge, reason: message })
    this.pending.push(end)
  }

  private giveBackLater(charge: Charge, also: readonly Statement[]): void {
    if (this.pending.length >= MAX_WAITING_ENDS) return
    const { db, now } = this.world
    const end = { charge, released: { endedBy: 'expired' as const, endedAt: now() }, also }
    let misses = 0
    const work = async () => {
      const { isMissed } = await endCharge(db, end, now())
      if (!isMissed || ++misses > 1) return
      throw new DatabaseUnavailable('a server that answers again may still make the hold')
    }
    this.pending.push({ charge: charge.id, work, canExpire: true })
  }

  private settlementOf(
    reservation: Reservation,
    outcome: Outcome,
    { quantities, source }: Measure,
    saved: SavedAnswer,
  ): ChargeEnd | Promise<ChargeEnd> {
    const {
      request: { parsed, model, toKeep, background },
      charge,
      idempotencyKey,
      task,
    } = reservation
    const { db, now, config } = this.world
    const { endedBy, usageJson, failed } = outcome
    const { table, cost, json } = billOf(parsed, model, quantities, outcome)
    const priceNano = tableNano(quantities, table)
    const settlement = {
      // Output that was not delivered is never charged beyond the hold.
      priceNano: endsAtHold(endedBy) ? Math.min(priceNano, charge.heldNano) : priceNano,
      costNano: sumOf(cost ? tableNano(quantities, cost) : null, reservation.unwantedCostNano),
      usageSource: source,
      usageJson,
      endedBy,
      endedAt: now(),
      tokens: tokensOf(quantities),
    }
    // Only a complete answer may be replayed.
    const isWhole = (endedBy === 'done' || endedBy === 'balance') && !failed
    const also =
      idempotencyKey && !task ? [isWhole ? saveAnswer(db, charge.id, saved) : freeKey(charge.id)] : []
    if (task && !isWhole) return this.releaseOf(reservation, endedBy, outcome)
    if (toKeep) also.push(...endStatements(this.world, toKeep, isWhole))
    const again = idempotencyKey && isWhole && !task ? [retakeKey(idempotencyKey, charge)] : []
    if (config.receipts) also.push(storeQuantities(charge.id, quantities, settlement.endedAt))
    const end = {
      charge: asBilled(charge, model, json),
      settlement,
      also,
      again,
      ...(config.receipts && { quantities }),
    }
    if (task) {
      const release = this.releaseFor(reservation, 'expired', outcome)
      const made = { ...task, model: model.id, upstream: model.upstream.name }
      return settlementOfDeferred(this.world, made, end, saved, release)
    }
    if (!background || !toKeep) return end
    return settlementInBackground(this.world, toKeep, end, this.releaseFor(reservation, 'expired', outcome))
  }

  private releaseOf(
    reservation: Reservation,
    endedBy: EndedBy,
    outcome?: Outcome,
  ): ChargeEnd | Promise<ChargeEnd> {
    const { background, toKeep, deferral } = reservation.request
    const end = this.releaseFor(reservation, endedBy, outcome)
    if (deferral && reservation.task)
      return releaseOfDeferred(this.world, reservation.task, end, reservation.failure ?? cutError(endedBy))
    return background && toKeep ? releaseInBackground(this.world, toKeep, end) : end
  }

  private releaseFor(
    { request: { parsed, model, deferral }, charge, idempotencyKey, task, unwantedCostNano }: Reservation,
    endedBy: EndedBy,
    outcome?: Outcome,
  ): ChargeEnd {
    // A deferred request has its answer, the task, whatever happens to it.
    const also: Statement[] = idempotencyKey && !deferral ? [freeKey(charge.id)] : []
    if (task && !deferral) also.push(deleteTask(task.id))
    const released = {
      endedBy,
      endedAt: this.world.now(),
      ...(unwantedCostNano !== 0 && { costNano: unwantedCostNano }),
    }
    // The caller pays nothing for an answer that did not arrive, but the vendor charges the reported usage.
    const usage = outcome?.usage
    if (!model.costList || !outcome || typeof usage !== 'object') return { charge, released, also }
    const { cost, json } = billOf(parsed, model, usage, outcome)
    const costNano = sumOf(cost ? tableNano(usage, cost) : null, unwantedCostNano)
    const known = { ...released, costNano, usageJson: outcome.usageJson }
    return { charge: asBilled(charge, model, json), released: known, also }
  }

  private async waitUntilEmpty(timeoutMs: number): Promise<void> {
    const { monotonic, after } = this.world
    const deadline = monotonic() + timeoutMs
    while (this.open.size > 0 && monotonic() < deadline) {
      await new Promise<void>((resolve) => after(DRAIN_CHECK_MS, resolve))
    }
  }
}

/** The sum of two amounts; null if one of them is unknown. */
function sumOf(one: number | null, other: number | null): number | null {
  return one === null || other === null ? null : one + other
}

/**
 * A charge at the prices of the model that answered: another model of a route may have done so, and one price table applies. It is
 * a copy, which a late extension cannot change.
 */
function asBilled(charge: Charge, model: Model, pricesJson: string): Charge {
  return { ...charge, model: model.id, pricesJson }
}
