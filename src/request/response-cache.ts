// The step between the check and the hold of a request whose model has a response cache: it finds the answer to the same request, or
// waits for the one that is being made, and keeps new answers after they are paid. A cache that cannot be read or written must never
// be an error, nor hold up an answer.

import type { SavedAnswer } from '../billing/ledger/idempotency'
import { billOf, type Measure, type Outcome } from '../billing/ledger/metering'
import { callerLeft } from '../contract/failures'
import type { Model } from '../contract/family'
import { tableNano, tariffOfVariant, withShare } from '../contract/prices'
import { type CachedAnswer, findCachedAnswer, keepCachedAnswer } from '../kept-responses/cached-answers'
import type { RequestLogRow } from '../request-log/row'
import { type Bypass, cacheControlOf, cacheIdOf, isCacheable } from './cache-rules'
import type { CheckedRequest } from './check'
import type { RequestWorld } from './world'

/** Use of the cache by a request. */
export interface CacheUse {
  state: 'hit' | 'miss' | 'bypass'
  bypass?: Bypass
  /** The name of the answer; absent if it is not kept. */
  id?: string
  /** The model whose answer is kept: one that takes its place makes another. */
  model?: Model
  /** The answer that is given again; present for a hit. */
  hit?: CacheHit
  /** Ends the wait of the same requests; present for the first of them. */
  finish?: () => void
}

/** An answer that is given again. */
export interface CacheHit {
  answer: CachedAnswer
  /** Usage of the answer when it was made. */
  outcome: Outcome
  measured: Measure
  /** Price of a repeat now, in nano-dollars. */
  priceNano: number
  ageMs: number
}

/** Usage that an answer was charged for, as it is stored. */
type Measured = Measure & Pick<Outcome, 'usageJson' | 'serviceTier' | 'longestPrompt'>

/** How long a request waits at most for the same one that runs, in milliseconds: nothing is sent to its caller meanwhile. */
const MOST_WAIT_MS = 60_000

type CacheWorld = Pick<RequestWorld, 'db' | 'now' | 'after' | 'log' | 'keptResponses'>

export class ResponseCache {
  /** Requests that run here, by their names in the cache: each resolves when its answer is kept, or there is none. */
  private readonly running = new Map<string, Promise<void>>()
  private readonly writes = new Set<Promise<void>>()

  constructor(private readonly world: CacheWorld) {}

  /**
   * Gives a request its answer from the cache, or the task of making it. Waits for the same request, where one runs in this process;
   * one whose answer cannot be kept makes the others continue by themselves. Rejects only if the caller leaves meanwhile.
   */
  async begin(
    request: CheckedRequest,
    from: { header?(name: string): string | null; signal(): AbortSignal },
    logRow: RequestLogRow,
  ): Promise<void> {
    const { cache } = request.model
    if (!cache || request.family.kind === 'task') return
    const control = cacheControlOf(from.header?.('cache-control'))
    const named = control.isNotStored ? { bypass: 'no-store' as const } : cacheIdOf(request)
    const use: CacheUse =
      'bypass' in named
        ? { state: 'bypass', bypass: named.bypass }
        : { state: 'miss', id: named.id, model: request.model }
    request.cacheUse = use
    if (use.id !== undefined) await this.lookUp(request, use.id, control.maxAgeMs, () => from.signal())
    noteUse(logRow, use)
  }

  private async lookUp(
    request: CheckedRequest,
    id: string,
    maxAgeMs: number,
    signal: () => AbortSignal,
  ): Promise<void> {
    const same = this.running.get(id)
    const use = request.cacheUse as CacheUse
    if (same) {
      if (maxAgeMs > 0 && (await this.waitFor(same, signal()))) await this.find(request, id, maxAgeMs)
      return
    }
    // Before the first wait, so that of two at once one makes the answer.
    const made = Promise.withResolvers<void>()
    this.running.set(id, made.promise)
    use.finish = () => {
      delete use.finish
      this.running.delete(id)
      made.resolve()
    }
    if (maxAgeMs > 0 && (await this.find(request, id, maxAgeMs))) use.finish()
  }

  /** Waits for an answer that is being made. False if that takes too long. */
  private waitFor(made: Promise<void>, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.reject(callerLeft())
    const waiting = Promise.withResolvers<boolean>()
    const leave = () => waiting.reject(callerLeft())
    signal.addEventListener('abort', leave, { once: true })
    const cancel = this.world.after(MOST_WAIT_MS, () => waiting.resolve(false))
    void made.then(() => waiting.resolve(true))
    return waiting.promise.finally(() => {
      cancel()
      signal.removeEventListener('abort', leave)
    })
  }

  /** Gives a request the answer with a name, if there is one. */
  private async find(request: CheckedRequest, id: string, maxAgeMs: number): Promise<boolean> {
    const { db, now, log } = this.world
    const { key, model, cacheUse: use } = request
    if (!model.cache || !use) return false
    try {
      const at = now()
      // The time to live of today counts for what was kept before, too.
      const madeAfter = at - Math.min(model.cache.ttlMs, maxAgeMs)
      const answer = await findCachedAnswer(db, { id, account: key.account }, { madeAfter, now: at })
      if (!answer) return false
      const priced = atCachePrice(model)
      use.hit = hitOf(request, priced, answer, at)
      use.state = 'hit'
      request.model = priced
      request.others = []
      return true
    } catch (error) {
      log('cache_not_read', { account: key.account, model: model.id, reason: String(error) })
      return false
    }
  }

  /** Keeps the answer of a request that has been paid, if it may be given again. Returns at once. */
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
    if (!isKept || !measured || !model.cache) {
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
      expiresAt: createdAt + model.cache.ttlMs,
    }
    const written = Promise.withResolvers<void>()
    this.writes.add(written.promise)
    // Behind the last bytes of the answer.
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

  /** Gives up keeping the answer of a request. */
  forgo(request: CheckedRequest): void {
    delete request.cacheUse?.id
    this.leave(request)
  }

  /** Lets the requests that wait for this one continue. */
  leave({ cacheUse }: CheckedRequest): void {
    cacheUse?.finish?.()
  }

  /** Resolves when the answers that are being written are kept. */
  async drain(): Promise<void> {
    await Promise.all(this.writes)
  }
}

function hitOf({ parsed }: CheckedRequest, model: Model, answer: CachedAnswer, now: number): CacheHit {
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

const cachePriced = new WeakMap<Model, Model>()

/** The model at the price of its cached answers, which cost nothing at its vendor. The same object each time. */
function atCachePrice(model: Model): Model {
  const known = cachePriced.get(model)
  if (known || !model.cache) return known ?? model
  const priceList = withShare(model.priceList, model.cache.share)
  const costList = withShare(model.costList ?? model.priceList, 0)
  const priced = { ...model, priceList, costList, tariff: tariffOfVariant(priceList, [], costList) }
  cachePriced.set(model, priced)
  return priced
}

/** Notes the use in the row of a request: `hit req_…`, `miss`, `bypass tools`. */
function noteUse(logRow: RequestLogRow, { state, bypass, hit }: CacheUse): void {
  const detail = hit?.answer.request ?? bypass
  logRow.cache = detail === undefined ? state : `${state} ${detail}`
  // A cached answer asks no upstream.
  if (hit) logRow.upstream = null
}
