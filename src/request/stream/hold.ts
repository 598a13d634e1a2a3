// Holds the price of a stream in steps: the input and the first output before it begins, and more before that is used up. Delivered
// output must never exceed what is held, whatever limit the vendor keeps. Per event it costs only a comparison.

import { type Charge, type Extension, extendHold, refreshHold } from '../../billing/ledger/ledger'
import { conditionsToExtend, type KeyLimits } from '../../billing/ledger/limits'
import { billOf, type Outcome, quoteOf, requestedTier, tariffOf } from '../../billing/ledger/metering'
import type { Model, OutputTokens, ParsedRequest } from '../../contract/family'
import { heldNano, heldTable, tableNano } from '../../contract/prices'
import {
  inputOf,
  inputTokensOf,
  outputTokensOf,
  type Quantities,
  type Unit,
  unitTable,
} from '../../contract/units'
import { DatabaseUnavailable, type Db } from '../../db/db'
import { countTexts, TOKENS_FOR_ONE } from '../lean-hold'
import type { Reservation } from '../reservation'
import type { RequestWorld } from '../world'
import type { StreamMeter } from './meter'

/** How long a step waits for an unavailable database, and between two attempts, in milliseconds. */
const DATABASE_MS = 5_000
const RETRY_MS = 250
/** How long the end of a stream waits for a running extension, in milliseconds. */
const NOTED_MS = 1_000
/** Minimum step, in tokens: if the account cannot pay for a whole one, half of it is tried. */
const MIN_STEP_TOKENS = 64
/**
 * Bytes per token of a request's own limit that pass without a count. Few answers have more, so almost no honest stream is counted:
 * a count takes longer than relaying it.
 */
const UNCOUNTED_BYTES = 4
/** The share of a hold that may stay unused when the money ends, so that the last tokens are not counted one by one. */
const UNUSED_SHARE = 1 / 64

/** The output of a stream that can be cut, and how many tokens per candidate are held at once. */
interface Steps {
  output: OutputTokens
  first: number
  next: number
}

/** The steps of a stream that is paid by its output; undefined for any other request. */
function stepsOf(parsed: ParsedRequest, model: Model): Steps | undefined {
  const { body } = parsed
  const { family, reserveOutputTokens } = model
  if ((body as { stream?: unknown }).stream !== true || !isPaidByOutput(model)) return undefined
  const canCut = family.kind === 'made' ? family.stream : family.kind === 'json' && family.stream?.follow
  if (!canCut) return undefined
  const output = family.output?.(body, model)
  if (output) {
    const first = Math.min(output.most, reserveOutputTokens, parsed.lean?.firstTokens ?? output.most)
    return { output, first, next: reserveOutputTokens }
  }
  const most = outputTokensOf(family.quote(parsed, model))
  return { output: { most, least: most, candidates: 1 }, first: most, next: reserveOutputTokens }
}

/**
 * Output tokens per candidate that are held before a request is sent; undefined if its whole quote is held. Only a stream can be
 * cut when no more can be held.
 */
export function firstTokens(parsed: ParsedRequest, model: Model): number | undefined {
  const steps = stepsOf(parsed, model)
  return steps && steps.first < steps.output.most ? steps.first : undefined
}

function isPaidByOutput({ priceList: { isFree, tables } }: Model): boolean {
  return !isFree && tables.some(({ listed }) => Boolean(listed.output_token))
}

/** A request that is quoted with a maximum of output tokens per candidate. */
export function withOutput(parsed: ParsedRequest, outputTokens: number | undefined): ParsedRequest {
  return outputTokens === undefined ? parsed : { ...parsed, outputTokens }
}

/** The part of a request that is held before it is sent. */
export function firstStep(parsed: ParsedRequest, model: Model): ParsedRequest {
  return withOutput(parsed, firstTokens(parsed, model))
}

/**
 * Extends the hold of a charge, and records it there. `again` if the charge holds another amount than was known, which is recorded:
 * an extension may have succeeded although its result was lost.
 */
export async function extendCharge(
  db: Db,
  key: KeyLimits,
  charge: Charge,
  extension: Extension,
): Promise<'held' | 'again' | Exclude<Awaited<ReturnType<typeof extendHold>>, { held: true }>['refusedBy']> {
  const result = await extendHold(db, charge, extension, conditionsToExtend(key, charge, extension))
  if ('refusedBy' in result) {
    return result.refusedBy === 'charge' && (await refreshHold(db, charge)) ? 'again' : result.refusedBy
  }
  charge.heldNano += extension.amountNano
  charge.windowTokens += extension.windowTokens
  return 'held'
}

type HoldWorld = Pick<RequestWorld, 'db' | 'log' | 'monotonic' | 'after' | 'tokenCounter'>

/** The steps of a stream whose first one is held; undefined for a stream that is not paid by its output. */
export function createStreamHold(world: HoldWorld, reservation: Reservation): StreamHold | undefined {
  const steps = stepsOf(reservation.request.parsed, reservation.request.model)
  return steps && new StreamHold(world, reservation, steps)
}

/** `failed` if the database did not accept the change within the time of a step: a smaller step would not help. */
type Answer = 'held' | 'refused' | 'failed'

export class StreamHold {
  /**
   * Maximum number of output tokens that may be delivered with the current hold, compared with the meter's upper bound of them. That bound
   * is the number of bytes of the text, which is never below its number of tokens, until a count replaces it (`recount`). If the
   * whole limit of the request is held, `UNCOUNTED_BYTES` per token pass first, then `TOKENS_FOR_ONE` times the limit by count.
   */
  heldTokens = 0
  /** Number of delivered tokens at which the next step should be held. */
  renewAt = 0
  /** Why no more could be held, once `demand` has returned false. */
  shortOf: 'balance' | 'database' = 'balance'
  /** Output tokens per candidate that are held. */
  private each = 0
  /** The running extension. There is only one at a time, because each adds to the previous one. */
  private running: Promise<Answer> | undefined
  /** Output tokens per candidate that the next extension holds: fewer if the account has little left. */
  private step: number
  /** True once a step was refused: from then on the hold is compared with the price of what was delivered. */
  private isPoor = false
  /** The counted input; undefined before it is counted. */
  private input: Quantities | undefined

  constructor(
    private readonly world: HoldWorld,
    private readonly reservation: Reservation,
    private readonly steps: Steps,
  ) {
    this.step = steps.next
    this.note(steps.first)
  }

  /** Holds the next step in advance, while the stream continues. */
  renew(meter: StreamMeter): void {
    if (this.running || meter.countTokens() <= this.renewAt || meter.isComplete()) return
    // If refused, the extension is retried when the stream has to wait.
    this.renewAt = Number.POSITIVE_INFINITY
    void this.extend(meter.mostTokens(), this.steps.next)
  }

  /**
   * Holds what the next events need. False if the account cannot pay for it, or the database is unavailable. Never rejects. True
   * means progress: otherwise the relay would ask again at once, endlessly, and no timer of the process would run.
   */
  async demand(meter: StreamMeter): Promise<boolean> {
    this.shortOf = 'balance'
    const before = this.heldTokens
    try {
      const isHeld = await this.holdOrCount(meter)
      const neededTokens = meter.neededTokens()
      if (isHeld && neededTokens > this.heldTokens && this.heldTokens <= before)
        throw new Error(`the next event needs ${neededTokens} tokens, and still only ${before} are held`)
      return isHeld
    } catch (error) {
      this.world.log('hold_not_extended', { request: this.reservation.charge.id, error: String(error) })
      return false
    }
  }

  /**
   * Resolves when no extension runs: then the charge holds what it records. There is no waiting for an unresponsive database: an
   * end finds out by itself what is held.
   */
  async whenNoted(): Promise<void> {
    if (!this.running) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const cancel = this.world.after(NOTED_MS, resolve)
    await Promise.race([this.running, promise])
    cancel()
  }

  private async holdOrCount(meter: StreamMeter): Promise<boolean> {
    if ((await this.running) === 'failed') return false
    // An answer within its limit never needs more than that. From then on, the count applies instead of bytes.
    if (this.isAtLimit()) {
      if (await this.recount(meter, this.limitTokens())) return true
      this.heldTokens = Math.min(this.heldTokens, this.ownTokens())
    }
    for (; ; this.step = Math.floor(this.step / 2)) {
      if (meter.neededTokens() <= this.heldTokens) return true
      const answer = await this.extend(meter.neededTokens(), this.step)
      if (answer === 'held' && !this.isPoor) return true
      if (answer === 'failed') return false
      if (answer !== 'refused' || this.step <= MIN_STEP_TOKENS) break
    }
    this.isPoor = true
    return this.goOn(meter)
  }

  /** Whether exactly the request's own limit is held. */
  private isAtLimit(): boolean {
    return this.each === this.steps.output.most
  }

  private limitTokens(): number {
    return this.steps.output.most * this.steps.output.candidates
  }

  /** Maximum number of tokens, by our count, of an answer within the held limit; 0 while less than that limit is held, or more. */
  private ownTokens(): number {
    return this.isAtLimit() ? this.limitTokens() * TOKENS_FOR_ONE : 0
  }

  private note(each: number): void {
    const { next, output } = this.steps
    this.each = each
    this.heldTokens = this.isAtLimit() ? this.limitTokens() * UNCOUNTED_BYTES : each * output.candidates
    this.renewAt = this.isAtLimit()
      ? Number.POSITIVE_INFINITY
      : this.heldTokens - (Math.min(next, each) * output.candidates) / 2
  }

  private extend(neededTokens: number, step: number): Promise<Answer> {
    this.running = this.hold(neededTokens, step)
      .catch((error): Answer => {
        this.world.log('hold_not_extended', { request: this.reservation.charge.id, error: String(error) })
        this.shortOf = 'database'
        return 'failed'
      })
      .finally(() => {
        this.running = undefined
      })
    return this.running
  }

  /** Extends the hold one step beyond the tokens that are needed, or that are held. */
  private async hold(neededTokens: number, step: number): Promise<Answer> {
    const { db } = this.world
    const {
      request: { key },
      charge,
    } = this.reservation
    const { most, candidates } = this.steps.output
    const from = this.isPoor ? this.each : Math.max(this.each, Math.ceil(neededTokens / candidates))
    // Only a vendor that ignores the request's limit gets beyond it.
    const each = from < most ? Math.min(most, from + step) : from + step
    const moreNano = this.isPoor ? this.quoteNano(each) - this.quoteNano(from) : undefined
    const needNano = moreNano === undefined ? this.quoteNano(each) : charge.heldNano + moreNano
    const answer = await this.patiently(async (isLate) => {
      const amountNano = needNano - charge.heldNano
      // The most expensive model of a route may already have held it.
      if (amountNano <= 0) return 'held'
      const windowTokens = charge.windowMinute === null ? 0 : (each - this.each) * candidates
      const known = { ...charge }
      const answer = await extendCharge(db, key, known, { amountNano, windowTokens })
      // If an abandoned step succeeds later, the end of the charge finds out.
      if (isLate()) return 'failed'
      charge.heldNano = known.heldNano
      charge.windowTokens = known.windowTokens
      return answer === 'held' || answer === 'again' ? answer : 'refused'
    })
    if (answer === 'held') this.note(each)
    return answer
  }

  /** Retries while the database cannot accept the change, until the time of the step is over, whatever is running then. */
  private async patiently(work: (isLate: () => boolean) => Promise<Answer | 'again'>): Promise<Answer> {
    const { monotonic, after } = this.world
    const endsAt = monotonic() + DATABASE_MS
    const isLate = () => monotonic() >= endsAt
    const late = Promise.withResolvers<never>()
    const tooLate = new DatabaseUnavailable('the database did not take a step of the stream in time')
    const cancel = after(DATABASE_MS, () => late.reject(tooLate))
    try {
      for (;;) {
        try {
          const answer = await Promise.race([work(isLate), late.promise])
          if (answer !== 'again') return answer
        } catch (error) {
          if (!(error instanceof DatabaseUnavailable) || error === tooLate || isLate()) throw error
          await new Promise<void>((resolve) => after(RETRY_MS, resolve))
        }
      }
    } finally {
      cancel()
    }
  }

  /** The maximum price of the request with this many output tokens per candidate, even above its limit. */
  private quoteNano(each: number): number {
    const { parsed, model } = this.reservation.request
    const { most, candidates } = this.steps.output
    const quantities = { ...quoteOf(withOutput(parsed, Math.min(each, most)), model) }
    const unit = quantities.output_audio_token === undefined ? 'output_token' : 'output_audio_token'
    quantities[unit] = (quantities[unit] ?? 0) + Math.max(0, each - most) * candidates
    return heldNano(tariffOf(parsed, model), quantities, requestedTier(parsed))
  }

  /** Whether more can be delivered with the current hold when the account has no more. */
  private async goOn(meter: StreamMeter): Promise<boolean> {
    const paidTokens = await this.paidTokens(meter)
    const isWithin = await this.recount(meter, Math.max(this.ownTokens(), paidTokens * (1 - UNUSED_SHARE)))
    if (isWithin) this.heldTokens = Math.max(this.heldTokens, paidTokens)
    return isWithin
  }

  /**
   * Counts the tokens of the delivered text: fewer than its bytes. True if the next event fits in that many tokens:
   * then it is delivered, and so are others until their bytes may exceed it.
   */
  private async recount(meter: StreamMeter, mostTokens: number): Promise<boolean> {
    const { text, textOmitted } = meter.outcome('balance')
    const { tokenCounter } = this.world
    const [said, next] = await Promise.all([tokenCounter.count(text), tokenCounter.count(meter.nextText())])
    // An estimate is enough for an answer within its own limit, but not when the money ends.
    if (!(said.exact && next.exact) && !this.isAtLimit()) return false
    // The part that was not kept is assumed to be as dense as the kept part.
    meter.recount(Math.ceil(said.tokens * (1 + textOmitted / Math.max(1, text.length))))
    if (meter.countTokens() + next.tokens > mostTokens) return false
    this.heldTokens = Math.max(mostTokens, this.ownTokens(), meter.neededTokens())
    this.renewAt = Number.POSITIVE_INFINITY
    return true
  }

  /** Output tokens that the hold pays for, at the prices that the stream has reported so far. */
  private async paidTokens(meter: StreamMeter): Promise<number> {
    const {
      request: { parsed, model },
      charge,
    } = this.reservation
    const outcome = meter.outcome('balance')
    const used = { ...withoutTokens(quoteOf(parsed, model)), ...(await this.inputUsed(outcome)) }
    const delivered = { ...used, output_token: meter.countTokens() + 1 }
    const table =
      outcome.serviceTier === undefined
        ? heldTable(tariffOf(parsed, model), delivered, requestedTier(parsed))
        : billOf(parsed, model, delivered, outcome).table
    const { output_token: outputPico = 0, output_audio_token: soundPico = 0 } = table.heldPrices
    const leftNano = charge.heldNano - tableNano(used, { ...table, prices: table.heldPrices })
    return Math.max(0, Math.floor((leftNano * 1_000) / Math.max(outputPico, soundPico)))
  }

  /** The input: as the vendor has reported it, or by a count of its texts, if it contains nothing else. */
  private async inputUsed({ usage }: Outcome): Promise<Quantities> {
    if (typeof usage === 'object' && inputTokensOf(usage) > 0) return inputOf(usage)
    this.input ??= await this.countInput()
    return this.input
  }

  private async countInput(): Promise<Quantities> {
    const { parsed, model, family } = this.reservation.request
    const quoted = inputOf(quoteOf(parsed, model))
    const [unit, ...others] = Object.keys(quoted) as Unit[]
    if (unit === undefined || others.length > 0) return quoted
    if ((family.mediaTokens?.(parsed.body, model) ?? 0) > 0) return quoted
    const { lean } = parsed
    const tokens =
      lean?.textTokens ?? (await countTexts(this.world.tokenCounter, this.reservation.request))?.tokens
    const most = quoted[unit] ?? 0
    // Candidates that are separate calls read the prompt again.
    const times = Math.max(1, Math.round(most / (lean ?? parsed).byteLength))
    return tokens === undefined ? quoted : { [unit]: Math.min(tokens * times, most) }
  }
}

function withoutTokens(quantities: Quantities): Quantities {
  return Object.fromEntries(
    Object.entries(quantities).filter(([unit]) => !('tokens' in unitTable[unit as Unit])),
  )
}
