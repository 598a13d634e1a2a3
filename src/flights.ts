// Requests in flight: from the hold to the end of the charge. Each ends exactly once, whatever happens to it, and its
// row in the journal is written then. A charge that the database cannot end now is ended later.

import { DatabaseUnavailable, type Statement } from './db/db'
import { endedByOf, notPaid, shuttingDown, timedOut } from './failures'
import { priceNano } from './family'
import {
  answerAgain,
  freeKey,
  type IdempotencyKey,
  idempotencyKeyOf,
  type SavedAnswer,
  saveAnswer,
  takeKey,
} from './idempotency'
import type { JournalEntry } from './journal'
import { balanceOf, type Charge, type EndedBy, hold, release, settle } from './ledger'
import { conditionsOf, countersOf, refusalOf } from './limits'
import { type Measure, measure, type Outcome, quoteNano, tokensOf } from './metering'
import type { CheckedRequest } from './request'
import type { World } from './world'

/** A request whose price is held. */
export interface Flight extends CheckedRequest {
  charge: Charge
  idempotencyKey: IdempotencyKey | null
  entry: JournalEntry
  /** Cuts the calls to the vendor; the reason is the error that the caller then gets. */
  controller: AbortController
  /** When the wait for the vendor is over. */
  deadlineAt: number
  ended: boolean
}

export interface Flights {
  size(): number
  /** Holds the request's worst price, or finds the answer that its idempotency key has already. */
  admit(
    checked: CheckedRequest,
    entry: JournalEntry,
    idempotencyKey: string | null,
  ): Promise<Flight | SavedAnswer>
  /** Ends the charge of a request that was answered. Answers what was paid, in nano-dollars. */
  land(flight: Flight, outcome: Outcome, saved: SavedAnswer, known?: Measure): Promise<number>
  /** Ends the charge of a request that failed before there was an answer. */
  giveUp(flight: Flight, error: unknown): Promise<void>
  /** Waits for all to end, then cuts the rest. Answers how many were cut. */
  drain(graceMs: number): Promise<number>
  /** Tries again to end the charges that the database could not end. */
  endLater(): Promise<void>
}

/** How much longer than the longest request a hold lives. */
const HOLD_MARGIN_MS = 60_000
/** How long `drain` waits for cut requests to be settled. */
const SETTLE_MS = 5_000

const MAX_SPARE_CONTROLLERS = 1_024
/** Stands in the place of a controller that has been recycled; nobody listens to it. */
const LANDED = new AbortController()

export function createFlights(world: World): Flights {
  const { db } = world
  const flights = new Set<Flight>()
  const spareControllers: AbortController[] = []
  let unended: (() => Promise<unknown>)[] = []

  // One watch for all: a timer for each wait of each request would cost more than the rest of the bookkeeping.
  world.pulse.watch((now) => {
    for (const { deadlineAt, controller, model } of flights) {
      if (now >= deadlineAt) controller.abort(timedOut(model))
    }
  })

  async function admit(
    checked: CheckedRequest,
    entry: JournalEntry,
    idempotencyHeader: string | null,
  ): Promise<Flight | SavedAnswer> {
    const { key, model, ask, text, operation } = checked
    const now = world.now()
    const idempotencyKey = idempotencyKeyOf(key.account, idempotencyHeader, operation.path, text)
    const saved = idempotencyKey && (await answerAgain(db, idempotencyKey))
    if (saved) return saved
    const charge: Charge = {
      id: entry.id,
      account: key.account,
      keyId: key.id,
      model: model.id,
      operation: operation.name,
      heldNano: quoteNano(ask, model),
      pricesJson: model.pricesJson,
      createdAt: now,
      expiresAt: now + model.upstream.maxDurationMs + HOLD_MARGIN_MS,
      ...countersOf(key, estimateTokens(checked), now),
    }
    const conditions = conditionsOf(key, charge)
    if (idempotencyKey) conditions.push(takeKey(idempotencyKey, charge.id, now))
    const result = await hold(db, charge, conditions)
    if ('held' in result) {
      const controller = spareControllers.pop() ?? new AbortController()
      const deadlineAt = Number.POSITIVE_INFINITY
      const flight: Flight = {
        ...checked,
        charge,
        idempotencyKey,
        entry,
        controller,
        deadlineAt,
        ended: false,
      }
      flights.add(flight)
      return flight
    }
    if (result.refusedBy === 'balance') throw notPaid(charge, await balanceOf(db, key.account))
    if (result.refusedBy !== 'idempotency' || !idempotencyKey) {
      throw await refusalOf(db, result.refusedBy, key, charge, now)
    }
    // Somebody took the key between our look and our hold; by now they may even have their answer.
    const twin = await answerAgain(db, idempotencyKey)
    return twin ?? admit(checked, entry, idempotencyHeader)
  }

  async function land(
    flight: Flight,
    outcome: Outcome,
    saved: SavedAnswer,
    known?: Measure,
  ): Promise<number> {
    if (flight.ended) throw new Error('a flight ended twice')
    flight.ended = true
    recycleController(flight)
    const { model, ask, entry, charge } = flight
    const measured = known ?? (await measure(outcome, ask, model, world.tokenCounter))
    let paidNano = 0
    await safely(flight, async () => {
      if (!measured) return releaseUnpaid(flight, outcome.endedBy)
      const settled = await settleMeasured(flight, outcome, measured, saved)
      paidNano = settled?.paidNano ?? 0
    })
    if (outcome.usage === 'invalid') {
      world.log('upstream_usage_invalid', {
        request: charge.id,
        upstream: model.upstream.name,
        usage: outcome.usageJson,
      })
    }
    entry.status = 200
    entry.endedBy = outcome.endedBy
    entry.usageSource = measured?.source ?? null
    entry.amountNano = paidNano
    entry.inputTokens = measured ? tokensOf({ ...measured.quantities, output_token: 0 }) : null
    entry.outputTokens = measured?.quantities.output_token ?? null
    entry.durationMs = world.now() - entry.at
    world.journal.write(entry)
    return paidNano
  }

  /** Making a controller and having it collected costs more than most of what a request needs otherwise. */
  function recycleController(flight: Flight): void {
    const { controller, deadlineAt } = flight
    // A stream has no such deadline, and the last bytes of its call may still be on their way.
    const over = deadlineAt !== Number.POSITIVE_INFINITY && !controller.signal.aborted
    if (!over || spareControllers.length >= MAX_SPARE_CONTROLLERS) return
    spareControllers.push(controller)
    // Whoever still holds this flight must not cut the next one.
    flight.controller = LANDED
  }

  function settleMeasured(flight: Flight, outcome: Outcome, measured: Measure, saved: SavedAnswer) {
    const { charge, model, idempotencyKey } = flight
    const { endedBy, usageJson, failed } = outcome
    // Only a whole answer may be given again.
    const keep = () => (endedBy === 'done' && !failed ? saveAnswer(charge.id, saved) : freeKey(charge.id))
    return settle(
      db,
      charge,
      {
        priceNano: priceNano(measured.quantities, model.prices),
        usageSource: measured.source,
        usageJson,
        endedBy,
        endedAt: world.now(),
        tokens: tokensOf(measured.quantities),
      },
      idempotencyKey ? [keep()] : [],
    )
  }

  async function giveUp(flight: Flight, error: unknown): Promise<void> {
    flight.controller.abort(error)
    if (flight.ended) return
    flight.ended = true
    const endedBy = endedByOf(error)
    flight.entry.endedBy = endedBy
    await safely(flight, () => releaseUnpaid(flight, endedBy))
  }

  function releaseUnpaid({ charge, idempotencyKey }: Flight, endedBy: EndedBy): Promise<boolean> {
    const also: Statement[] = idempotencyKey ? [freeKey(charge.id)] : []
    return release(db, charge, { endedBy, endedAt: world.now() }, also)
  }

  /** Runs the end of a charge; when the database cannot take it now, it is tried again until it can. */
  async function safely(flight: Flight, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      world.log('charge_not_ended_yet', { request: flight.charge.id, reason: error.message })
      unended.push(work)
    } finally {
      flights.delete(flight)
    }
  }

  async function drain(graceMs: number): Promise<number> {
    await waitUntil(() => flights.size === 0, graceMs)
    const cut = flights.size
    for (const flight of flights) flight.controller.abort(shuttingDown())
    await waitUntil(() => flights.size === 0, SETTLE_MS)
    await endLater()
    return cut
  }

  async function endLater(): Promise<void> {
    const work = unended
    unended = []
    for (const attempt of work) {
      try {
        await attempt()
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) throw error
        unended.push(attempt)
      }
    }
  }

  return { size: () => flights.size, admit, land, giveUp, drain, endLater }
}

/** A usual request's tokens, for the key's token limit until the true figure is known. */
function estimateTokens({ family, ask, model }: CheckedRequest): number {
  const quote = family.quote(ask, model)
  return Math.ceil((quote.input_token ?? 0) / 4) + (quote.output_token ?? 0)
}

async function waitUntil(condition: () => boolean, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!condition() && performance.now() < deadline) await Bun.sleep(20)
}
