// The step between the check and the hold of a request whose key, plan or model has a response cache: it finds the answer to the
// same request, or waits for the one in progress, and stores new answers after they are paid. An unavailable cache must never cause
// an error or delay an answer.

import type { Key } from '../../accounts/keys'
import type { SavedAnswer } from '../../billing/ledger/idempotency'
import { billOf, type Measure, type Outcome } from '../../billing/ledger/metering'
import { cachingOf, canBeCached } from '../../config/models/response-cache'
import { callerLeft } from '../../contract/failures'
import type { Model, ResponseCaching } from '../../contract/family'
import { tableNano, tariffOfVariant, withShare } from '../../contract/prices'
import { type CachedAnswer, findCachedAnswer, keepCachedAnswer } from '../../kept-responses/cached-answers'
import type { RequestLogRow } from '../../request-log/row'
import type { CheckedRequest } from '../check'
import type { Incoming } from '../line'
import type { RequestWorld } from '../world'
import { type Bypass, cacheControlOf, cacheIdOf, isCacheable } from './cache-rules'

/** Use of the cache by a request. */
export interface CacheUse {
  state: 'hit' | 'miss' | 'bypass'
  bypass?: Bypass
  /** The name of the answer; absent if it is not stored. */
  id?: string
  /** The model whose answer is stored: a fallback model makes a different one. */
  model?: Model
  /** How long the answer is stored. */
  caching?: ResponseCaching
  /** The repeated answer; present for a hit. */
  hit?: CacheHit
  /** Ends the wait of identical requests; present for the first of them. */
  finish?: () => void
}

/** A repeated answer. */
export interface CacheHit {
  answer: CachedAnswer
  /** Usage of the answer when it was made. */
  outcome: Outcome
  measured: Measure
  /** Price of a repeat now, in nano-dollars. */
  priceNano: number
  ageMs: number
}

/** The usage charged for an answer, as stored. */
type Measured = Measure & Pick<Outcome, 'usageJson' | 'serviceTier' | 'longestPrompt'>

/** A stored answer that can be used: that of one model, under one name. */
interface Place {
  model: Model
  caching: ResponseCaching
  id: string
}

/** Maximum time that a request waits for an identical running one, in milliseconds: nothing is sent to its caller meanwhile. */
const MAX_WAIT_MS = 60_000

type CacheWorld = Pick<RequestWorld, 'db' | 'now' | 'after' | 'log' | 'keptResponses'>
type Caller = Pick<Incoming, 'header' | 'signal'>

export class ResponseCache {
  /** Requests that run here, by their names in the cache: each resolves when its answer is stored or cannot be stored. */
  private readonly running = new Map<string, Promise<void>>()
  private readonly writes = new Set<Promise<void>>()

  constructor(private readonly world: CacheWorld) {}

  /**
   * Gives a request its answer from the cache, or the task of making it. Waits for an identical request that runs in this process;
   * if its answer cannot be stored, the others continue by themselves. Rejects only if the caller disconnects meanwhile. Undefined
   * if answers of the request are not cached.
   */
  begin(request: CheckedRequest, from: Caller, logRow: RequestLogRow): Promise<void> | undefined {
    const models = modelsToAsk(request)
    return models.length === 0 ? undefined : this.ask(models, request, from, logRow)
  }

  /** Looks for an answer of one of these models, and adds the result to the request and to its row of the log. */
  private async ask(
    models: readonly [model: Model, caching: ResponseCaching][],
    request: CheckedRequest,
    from: Caller,
    logRow: RequestLogRow,
  ): Promise<void> {
    const control = cacheControlOf(from.header?.('cache-control'))
    const use: CacheUse = { state: 'miss' }
    const places: Place[] = []
    for (const [model, caching] of models) {
      const named = control.isNotStored
        ? { bypass: 'no-store' as const }
        : cacheIdOf({ ...request, model, family: model.family })
      if ('id' in named) places.push({ model, caching, id: named.id })
      else if (model === request.model) Object.assign(use, { state: 'bypass', bypass: named.bypass })
    }
    request.cacheUse = use
    const own = places.find(({ model }) => model === request.model)
    if (own) Object.assign(use, own)
    if (places.length > 0) await this.lookUp(request, places, control.maxAgeMs, () => from.signal())
    noteUse(logRow, use)
  }

  private async lookUp(
    request: CheckedRequest,
    places: readonly Place[],
    maxAgeMs: number,
    signal: () => AbortSignal,
  ): Promise<void> {
    const use = request.cacheUse as CacheUse
    const same = places.map(({ id }) => this.running.get(id)).find((each) => each !== undefined)
    if (same) {
      if (maxAgeMs > 0 && (await this.waitFor(same, signal()))) await this.find(request, places, maxAgeMs)
      return
    }
    // Done before the first wait, so that only one of two simultaneous requests makes the answer.
    if (use.id !== undefined) this.announce(use, use.id)
    if (maxAgeMs > 0 && (await this.find(request, places, maxAgeMs))) use.finish?.()
  }

  /** Makes equal requests wait for the answer of the first one. */
  private announce(use: CacheUse, id: string): void {
    const made = Promise.withResolvers<void>()
    this.running.set(id, made.promise)
    use.finish = () => {
      delete use.finish
      this.running.delete(id)
      made.resolve()
    }
  }

  /** Waits for an answer in progress. False if that takes too long. */
  private waitFor(made: Promise<void>, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.reject(callerLeft())
    const waiting = Promise.withResolvers<boolean>()
    const leave = () => waiting.reject(callerLeft())
    signal.addEventListener('abort', leave, { once: true })
    const cancel = this.world.after(MAX_WAIT_MS, () => waiting.resolve(false))
    void made.then(() => waiting.resolve(true))
    return waiting.promise.finally(() => {
      cancel()
      signal.removeEventListener('abort', leave)
    })
  }

  /** Gives a request the first answer that is stored under one of its names, if there is one. */
  private async find(request: CheckedRequest, places: readonly Place[], maxAgeMs: number): Promise<boolean> {
    const { db, now, log } = this.world
    const { account } = request.key
    try {
      for (const { id, model, caching } of places) {
        const at = now()
        // The current time to live also applies to answers that were stored before.
        const madeAfter = at - Math.min(caching.ttlMs, maxAgeMs)
        const answer = await findCachedAnswer(db, { id, account }, { madeAfter, now: at })
        if (!answer) continue
        request.model = atCachePrice(model, caching)
        request.family = model.family
        request.others = []
        Object.assign(request.cacheUse as CacheUse, { state: 'hit', hit: hitOf(request, answer, at) })
        return true
      }
    } catch (error) {
      log('cache_not_read', { account, model: request.model.id, reason: String(error) })
    }
    return false
  }

  /** Stores the answer of a paid request, if it may be repeated. Returns at once. */
  offer(
    { request, logRow }: { request: CheckedRequest; logRow: RequestLogRow },
    saved: SavedAnswer,
    outcome: Outcome,
    measured: Measure | undefined,
  ): void {
    const { cacheUse: use, parsed, model } = request
    if (!use) return
    const isKept =
      use.id !== undefined &&
      !use.hit &&
      use.model === model &&
      // A request that its account could not pay in full was sent with another limit.
      parsed.outputTokens === undefined &&
      isCacheable(outcome, saved, measured)
    if (!isKept || !measured || !use.caching) {
      this.leave(request)
      return
    }
    const { quantities, source } = measured
    const { usageJson, serviceTier, longestPrompt } = outcome
    const stored: Measured = { quantities, source, usageJson, serviceTier, longestPrompt }
    const createdAt = this.world.now()
    const answer: CachedAnswer = {
      id: use.id as string,
      account: request.key.account,
      model: model.id,
      operation: request.operation.name,
      request: logRow.id,
      contentType: saved.contentType,
      body: saved.body,
      measured: JSON.stringify(stored),
      createdAt,
      expiresAt: createdAt + use.caching.ttlMs,
    }
    const written = Promise.withResolvers<void>()
    this.writes.add(written.promise)
    // Runs after the last bytes of the answer.
    this.world.after(0, () => {
      void this.keep(answer).then(() => {
        this.leave(request)
        this.writes.delete(written.promise)
        written.resolve()
      })
    })
  }

  private async keep(answer: CachedAnswer): Promise<void> {
    const { db, keptResponses, log } = this.world
    try {
      await keepCachedAnswer(db, answer, keptResponses.maxBytes)
    } catch (error) {
      const { account, model, request } = answer
      log('cache_not_written', { account, model, request, reason: String(error) })
    }
  }

  /** Gives up storing the answer of a request. */
  forgo(request: CheckedRequest): void {
    delete request.cacheUse?.id
    this.leave(request)
  }

  /** Lets the requests that wait for this one continue. */
  leave({ cacheUse }: CheckedRequest): void {
    cacheUse?.finish?.()
  }

  /** Resolves when the answers that are being written are stored. */
  async drain(): Promise<void> {
    await Promise.all(this.writes)
  }
}

function hitOf({ parsed, model }: CheckedRequest, answer: CachedAnswer, now: number): CacheHit {
  const { quantities, source, ...facts } = JSON.parse(answer.measured) as Measured
  const outcome: Outcome = {
    endedBy: 'done',
    usage: quantities,
    text: '',
    textOmitted: 0,
    output: 'shown',
    failed: false,
    ...facts,
  }
  return {
    answer,
    outcome,
    measured: { quantities, source },
    priceNano: tableNano(quantities, billOf(parsed, model, quantities, outcome).table),
    ageMs: Math.max(0, now - answer.createdAt),
  }
}

/**
 * The models whose stored answers are acceptable, with the rule of each. A preference may send the same request to another model
 * the next time, so all models of its route are looked up; any other route begins with its first model.
 */
function modelsToAsk(request: CheckedRequest): [model: Model, caching: ResponseCaching][] {
  const asked: [model: Model, caching: ResponseCaching][] = []
  for (const model of request.route?.prefer ? [request.model, ...request.others] : [request.model]) {
    const caching = canBeCached(model.family) && ruleFor(request.key, model)
    if (caching) asked.push([model, caching])
  }
  return asked
}

/** How answers are cached: the rule of the key takes precedence over that of its plan, and that over the model's. */
function ruleFor({ cache, plan }: Key, model: Model): ResponseCaching | false | undefined {
  if (cache !== null) return cache && cachingOf(cache)
  return plan?.cache ?? model.cache
}

/** Models at the prices of their cached answers, by the share of the price. */
const cachePriced = new WeakMap<Model, Map<number, Model>>()

/** The model at the price of its cached answers, which are free at its vendor. The same object each time. */
function atCachePrice(model: Model, { share }: ResponseCaching): Model {
  const known = cachePriced.get(model) ?? new Map<number, Model>()
  cachePriced.set(model, known)
  const found = known.get(share)
  if (found) return found
  const priceList = withShare(model.priceList, share)
  const costList = withShare(model.costList ?? model.priceList, 0)
  const priced = { ...model, priceList, costList, tariff: tariffOfVariant(priceList, [], costList) }
  known.set(share, priced)
  return priced
}

/** Records the use in the row of a request: `hit req_…`, `miss`, `bypass tools`. */
function noteUse(logRow: RequestLogRow, { state, bypass, hit }: CacheUse): void {
  const detail = hit?.answer.request ?? bypass
  logRow.cache = detail === undefined ? state : `${state} ${detail}`
  if (!hit) return
  // A cached answer calls no upstream.
  logRow.upstream = null
  logRow.model = hit.answer.model
}
