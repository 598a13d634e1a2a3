// Requests in flight: from the hold to the end of the charge. Each ends exactly once, whatever happens to it, and its
// row in the journal is written then. A charge that the database cannot end now is ended later.

import type { Key } from '../accounts/keys'
import {
  answerAgain,
  freeKey,
  type IdempotencyKey,
  idempotencyKeyOf,
  type SavedAnswer,
  saveAnswer,
  takeKey,
} from '../billing/idempotency'
import { balanceOf, type Charge, hold, release, settle } from '../billing/ledger'
import {
  budgetPeriodOf,
  conditionsOf,
  isCounted,
  refusalOf,
  tooManyRunning,
  windowMinuteOf,
} from '../billing/limits'
import { type Measure, measure, type Outcome, quoteNano, tableOf, tariffOf } from '../billing/metering'
import type { Config } from '../config/schema'
import { type EndedBy, endedByOf, notPaid, shuttingDown, timedOut } from '../contract/failures'
import type { Model, TaskFamily } from '../contract/family'
import { tableNano } from '../contract/prices'
import { inputTokensOf, outputTokensOf, tokensOf } from '../contract/units'
import { DatabaseUnavailable, type Db, type Statement } from '../db/db'
import { Canceller } from '../lib/cancel-token'
import { GatewayError } from '../lib/errors'
import { type Member, Roster } from '../lib/indexed-set'
import { formatUsd } from '../lib/money'
import type { System } from '../lib/system'
import type { Pulse } from '../lib/ticker'
import type { TokenCounter } from '../media/token-counter'
import { deleteTask, insertTask, type NewTask } from '../tasks/rows'
import type { CheckedRequest } from './check'
import type { Journal, JournalEntry } from './request-log'

/** A request whose price is held. */
export interface Flight extends CheckedRequest, Member {
  charge: Charge
  idempotencyKey: IdempotencyKey | null
  entry: JournalEntry
  /** Cuts the calls to the vendor; the reason is the error that the caller then gets. */
  controller: Canceller
  /** When the wait for the vendor is over, on the monotonic clock. */
  deadlineAt: number
  ended: boolean
  /** What the vendor works on after our answer, for a family of tasks. */
  task: NewTask | undefined
  /** Called when it ends, for an answer that goes on after the request was handled. */
  onEnd: (() => void) | undefined
}

/** What the caller says beside the request itself. */
interface Origin {
  idempotencyKey: string | null
  gatewayUrl(): string
  videoSize?(): string | undefined
  maxCostNano?: number
}

export interface Flights {
  size(): number
  /** Counts a request among those of its key that run in this process. Throws 429 where the key has too many of them. */
  enter(key: Key): void
  /** Ends that count for a request that came to no flight; a flight ends it by itself. */
  leave(key: Key): void
  /** Whether this process still works on a charge, be it only on its end. */
  runs(charge: string): boolean
  /** Holds the request's worst price, or finds the answer that its idempotency key has already. */
  admit(checked: CheckedRequest, entry: JournalEntry, from: Origin): Promise<Flight | SavedAnswer>
  /** Ends the charge of a request that was answered. Answers what was paid, in nano-dollars. */
  land(flight: Flight, outcome: Outcome, saved: SavedAnswer, known?: Measure): Promise<number>
  /** Ends the charge of a request that failed before there was an answer. */
  giveUp(flight: Flight, error: unknown): Promise<void>
  /** Turns to another model, before there is an answer: its prices hold from now on. */
  reroute(flight: Flight, model: Model): void
  /** Lets a request go whose task lives on: its charge stays open, and ends with the task. */
  depart(flight: Flight, status: number): void
  /** Runs a change of the database; what it cannot take now is tried again until it can. False when that is still to come. */
  persist(flight: Flight, work: () => Promise<unknown>): Promise<boolean>
  /** Waits for all to end, then cuts the rest. Answers how many were cut. */
  drain(graceMs: number): Promise<number>
  /** Tries again to end the charges that the database could not end. */
  endLater(): Promise<void>
}

/**
 * Requests of one key in this process, beside the key's own limit, which is in the database and exact on any number of
 * nodes. From the moment that the key is known: bodies that are still on their way hold memory and connections too.
 */
const MAX_REQUESTS_PER_KEY = 2_000

interface Unended {
  charge: string
  work(): Promise<unknown>
}

/** How much longer than the longest request a hold lives: the gateway's clock may go a little faster than time itself. */
const HOLD_MARGIN_MS = 60_000
const HOLD_MARGIN_SHARE = 0.25
/** How long `drain` waits for cut requests to be settled. */
const SETTLE_MS = 5_000

export interface FlightsWorld extends Pick<System, 'now' | 'monotonic' | 'after' | 'newId' | 'log'> {
  config: Pick<Config, 'server'>
  db: Db
  journal: Pick<Journal, 'write'>
  pulse: Pulse
  tokenCounter: TokenCounter
}

export function createFlights(world: FlightsWorld): Flights {
  const { db } = world
  const flights = new Roster<Flight>()
  const maxPerKey = world.config.server?.maxRequestsPerKey ?? MAX_REQUESTS_PER_KEY
  const running = new Map<string, number>()
  let unended: Unended[] = []

  // One watch for all: a timer for each wait of each request would cost more than the rest of the bookkeeping.
  world.pulse.watch((at) => {
    for (const { deadlineAt, controller, model } of flights.all()) {
      if (at >= deadlineAt) controller.abort(timedOut(model))
    }
  })

  function enter(key: Key): void {
    const count = running.get(key.id) ?? 0
    const most = Math.max(maxPerKey, key.concurrency ?? 0)
    if (count >= most) throw tooManyRunning(most)
    running.set(key.id, count + 1)
  }

  function leave({ id }: Key): void {
    const count = running.get(id) ?? 0
    if (count > 1) running.set(id, count - 1)
    else running.delete(id)
  }

  function ended(flight: Flight): void {
    flight.ended = true
    leave(flight.key)
    flight.onEnd?.()
  }

  async function admit(
    checked: CheckedRequest,
    entry: JournalEntry,
    from: Origin,
  ): Promise<Flight | SavedAnswer> {
    const { key, model, ask, fingerprint, operation } = checked
    const now = world.now()
    const idempotencyKey = idempotencyKeyOf(key.account, from.idempotencyKey, operation.path, fingerprint)
    const saved = idempotencyKey && (await answerAgain(db, idempotencyKey))
    if (saved) return saved
    const charge: Charge = {
      id: entry.id,
      account: key.account,
      keyId: key.id,
      model: model.id,
      operation: operation.name,
      heldNano: mostNano(checked),
      pricesJson: tariffOf(ask, model).json,
      createdAt: now,
      expiresAt: now + Math.ceil(mostOf(checked, longestMs) * (1 + HOLD_MARGIN_SHARE)) + HOLD_MARGIN_MS,
      budgetPeriod: budgetPeriodOf(key, now),
      windowMinute: windowMinuteOf(key, now),
      windowTokens: isCounted(key) ? estimateTokens(checked) : 0,
    }
    if (charge.heldNano > (from.maxCostNano ?? charge.heldNano)) throw tooDear(charge, from.maxCostNano)
    const conditions = conditionsOf(key, charge)
    if (idempotencyKey) conditions.push(takeKey(idempotencyKey, charge.id, now))
    const { family } = checked
    const task =
      family.kind === 'task' ? newTask(checked, family, charge, from, world.newId('video')) : undefined
    const result = await hold(db, charge, conditions, task ? [insertTask(task)] : [])
    if ('held' in result) {
      const flight = begin(checked, charge, idempotencyKey, entry, task)
      flights.add(flight)
      return flight
    }
    if (result.refusedBy === 'balance') throw notPaid(charge, await balanceOf(db, key.account))
    if (result.refusedBy !== 'idempotency' || !idempotencyKey) {
      throw await refusalOf(db, result.refusedBy, key, charge, now)
    }
    // Somebody took the key between our look and our hold; by now they may even have their answer.
    const twin = await answerAgain(db, idempotencyKey)
    return twin ?? admit(checked, entry, from)
  }

  async function land(
    flight: Flight,
    outcome: Outcome,
    saved: SavedAnswer,
    known?: Measure,
  ): Promise<number> {
    if (flight.ended) throw new Error('a flight ended twice')
    ended(flight)
    const { model, ask, entry, charge } = flight
    const measured = known ?? (await measure(outcome, ask, model, world.tokenCounter))
    let paidNano = 0
    if (measured) {
      const settled = await end(flight, () => settleMeasured(flight, outcome, measured, saved))
      paidNano = settled?.paidNano ?? 0
    } else {
      await end(flight, () => releaseUnpaid(flight, outcome.endedBy))
    }
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
    entry.inputTokens = measured ? inputTokensOf(measured.quantities) : null
    entry.outputTokens = measured ? outputTokensOf(measured.quantities) : null
    entry.durationMs = world.monotonic() - entry.startedAt
    world.journal.write(entry)
    return paidNano
  }

  function settleMeasured(flight: Flight, outcome: Outcome, measured: Measure, saved: SavedAnswer) {
    const { charge, model, idempotencyKey } = flight
    const { endedBy, usageJson, failed } = outcome
    const table = tableOf(flight.ask, model, measured.quantities, outcome)
    // Another model of a route may have answered than the one that was held for, and it is billed by one table of prices.
    const isAsHeld = model.id === charge.model && table.json === charge.pricesJson
    const answered = isAsHeld ? charge : { ...charge, model: model.id, pricesJson: table.json }
    return settle(
      db,
      answered,
      {
        priceNano: tableNano(measured.quantities, table),
        usageSource: measured.source,
        usageJson,
        endedBy,
        endedAt: world.now(),
        tokens: tokensOf(measured.quantities),
      },
      idempotencyKey
        ? // Only a whole answer may be given again.
          [endedBy === 'done' && !failed ? saveAnswer(charge.id, saved) : freeKey(charge.id)]
        : [],
    )
  }

  async function giveUp(flight: Flight, error: unknown): Promise<void> {
    flight.controller.abort(error)
    if (flight.ended) return
    ended(flight)
    const endedBy = endedByOf(error)
    flight.entry.endedBy = endedBy
    await end(flight, () => releaseUnpaid(flight, endedBy))
  }

  function reroute(flight: Flight, model: Model): void {
    // What still runs for the model that could not answer is of no use, as other parts of a batch.
    flight.controller.abort()
    flight.controller = new Canceller()
    flight.deadlineAt = Number.POSITIVE_INFINITY
    flight.model = model
    flight.family = model.family
    flight.entry.model = model.id
    flight.entry.upstream = model.upstream.name
  }

  function depart(flight: Flight, status: number): void {
    const { entry } = flight
    ended(flight)
    flights.delete(flight)
    entry.status = status
    entry.durationMs = world.monotonic() - entry.startedAt
    world.journal.write(entry)
  }

  function releaseUnpaid({ charge, idempotencyKey, task }: Flight, endedBy: EndedBy): Promise<boolean> {
    const also: Statement[] = idempotencyKey ? [freeKey(charge.id)] : []
    if (task) also.push(deleteTask(task.id))
    return release(db, charge, { endedBy, endedAt: world.now() }, also)
  }

  /** Runs the end of a charge. Undefined when the database cannot take it now: it is tried again until it can. */
  async function end<Result>(flight: Flight, work: () => Promise<Result>): Promise<Result | undefined> {
    try {
      return await work()
    } catch (error) {
      tryLater(flight, work, error)
      return undefined
    } finally {
      flights.delete(flight)
    }
  }

  async function persist(flight: Flight, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      tryLater(flight, work, error)
      return false
    }
  }

  function tryLater(flight: Flight, work: () => Promise<unknown>, error: unknown): void {
    if (!(error instanceof DatabaseUnavailable)) throw error
    world.log('charge_not_ended_yet', { request: flight.charge.id, reason: error.message })
    unended.push({ charge: flight.charge.id, work })
  }

  async function drain(graceMs: number): Promise<number> {
    await waitUntil(world, () => flights.size === 0, graceMs)
    const cut = flights.size
    for (const flight of flights.all()) flight.controller.abort(shuttingDown())
    await waitUntil(world, () => flights.size === 0, SETTLE_MS)
    await endLater()
    return cut
  }

  async function endLater(): Promise<void> {
    // Each stays in the list while it is tried, or its hold could be given back as one that nobody works on.
    for (const attempt of [...unended]) {
      try {
        await attempt.work()
        unended = unended.filter((other) => other !== attempt)
      } catch (error) {
        if (error instanceof DatabaseUnavailable) continue
        unended = unended.filter((other) => other !== attempt)
        // A fault of our own, which trying again does not mend. It must not keep the others from being tried.
        world.log('charge_not_ended', { error: String(error) })
      }
    }
  }

  function runs(charge: string): boolean {
    for (const flight of flights.all()) if (flight.charge.id === charge) return true
    return unended.some((attempt) => attempt.charge === charge)
  }

  return {
    size: () => flights.size,
    runs,
    enter,
    leave,
    admit,
    land,
    giveUp,
    reroute,
    depart,
    persist,
    drain,
    endLater,
  }
}

/** Field by field: to spread the request takes most of a microsecond. */
function begin(
  { operation, key, model, family, others, ask, source, fingerprint }: CheckedRequest,
  charge: Charge,
  idempotencyKey: IdempotencyKey | null,
  entry: JournalEntry,
  task: NewTask | undefined,
): Flight {
  return {
    operation,
    key,
    model,
    family,
    others,
    ask,
    source,
    fingerprint,
    charge,
    idempotencyKey,
    entry,
    controller: new Canceller(),
    deadlineAt: Number.POSITIVE_INFINITY,
    ended: false,
    task,
    onEnd: undefined,
    place: -1,
  }
}

/** The most that a request can cost, whichever of its models answers. */
export function mostNano(checked: CheckedRequest): number {
  return mostOf(checked, (each) => quoteNano(checked.ask, each))
}

function tooDear({ heldNano }: Charge, maxCostNano = 0): GatewayError {
  return new GatewayError(400, {
    code: 'max_cost_exceeded',
    message: `This request can cost up to ${formatUsd(heldNano)} USD, more than the ${formatUsd(maxCostNano)} USD that you allow. Nothing was sent: allow more, or ask for less.`,
    param: 'max_cost_usd',
  })
}

/** The most of a figure among the models that may answer. */
function mostOf({ model, others }: CheckedRequest, figure: (model: Model) => number): number {
  return others.reduce((most, other) => Math.max(most, figure(other)), figure(model))
}

/** How long the charge of a request may stay open at most. */
function longestMs({ family, upstream }: Model): number {
  return family.kind === 'task' ? upstream.taskDeadlineMs : upstream.maxDurationMs
}

/** A usual request's tokens, for the key's token limit until the true figure is known. */
function estimateTokens({ family, ask, model }: CheckedRequest): number {
  const quote = family.quote(ask, model)
  return Math.ceil(inputTokensOf(quote) / 4) + outputTokensOf(quote)
}

/** The task that goes with a charge: written with the hold, so that no submit is ever without a row. */
function newTask(
  { ask, key, model }: CheckedRequest,
  family: TaskFamily,
  charge: Charge,
  from: Origin,
  id: string,
): NewTask {
  const { webhook_url: webhookUrl } = ask.body as { webhook_url?: string | null }
  return {
    id,
    account: key.account,
    keyId: key.id,
    model: model.id,
    upstream: model.upstream.name,
    charge: charge.id,
    memo: family.task.memo(ask.body, model),
    quantities: family.quote(ask, model),
    costNano: charge.heldNano,
    webhookUrl: webhookUrl ?? null,
    gatewayUrl: from.gatewayUrl(),
    size: from.videoSize?.() ?? null,
    createdAt: charge.createdAt,
    deadlineAt: charge.createdAt + model.upstream.taskDeadlineMs,
  }
}

async function waitUntil(
  { monotonic, after }: Pick<System, 'monotonic' | 'after'>,
  condition: () => boolean,
  timeoutMs: number,
): Promise<void> {
  const deadline = monotonic() + timeoutMs
  while (!condition() && monotonic() < deadline) await new Promise<void>((resolve) => after(20, resolve))
}
