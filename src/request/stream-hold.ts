// Holds the price of a stream in steps: the input and the first output before it begins, more before that is used up. What
// is delivered must never be more than what is held. The path of an event has no part in it but a comparison.

import { extendHold, refreshHold } from '../billing/ledger'
import { conditionsToExtend } from '../billing/limits'
import { quoteNano } from '../billing/metering'
import type { Model, OutputTokens, ParsedRequest } from '../contract/family'
import { outputTokensOf } from '../contract/units'
import { DatabaseUnavailable } from '../db/db'
import type { Reservation } from './reservation'
import type { StreamMeter } from './stream-meter'
import type { RequestWorld } from './world'

/** How long a stream waits for a database that cannot take an extension, and between two tries, in milliseconds. */
const DATABASE_MS = 5_000
const RETRY_MS = 250
/** Smallest step, in tokens: where the account cannot pay for a whole one, half of it is tried. */
const LEAST_STEP_TOKENS = 256
/** Most tokens of a vendor for one of ours: tokenizers differ. */
const TOKENS_FOR_ONE = 2

/**
 * Output tokens of each candidate that are held before a request is sent; undefined if its whole quote is. Only a stream
 * can be cut where nothing more can be held.
 */
export function firstTokens({ body }: ParsedRequest, model: Model): number | undefined {
  const { family, reserveOutputTokens } = model
  if ((body as { stream?: unknown }).stream !== true || !isPaidByOutput(model)) return undefined
  const canCut = family.kind === 'made' ? family.stream : family.kind === 'json' && family.stream?.follow
  const output = canCut ? family.output?.(body, model) : undefined
  return output && output.most > reserveOutputTokens ? reserveOutputTokens : undefined
}

function isPaidByOutput({ priceList: { isFree, tables } }: Model): boolean {
  return !isFree && tables.some(({ listed }) => listed.output_token !== 0)
}

/** A request that is quoted with at most so many output tokens of each candidate. */
export function withOutput(parsed: ParsedRequest, outputTokens: number | undefined): ParsedRequest {
  return outputTokens === undefined ? parsed : { ...parsed, outputTokens }
}

type HoldWorld = Pick<RequestWorld, 'db' | 'log' | 'monotonic' | 'after' | 'tokenCounter'>

/** The steps of a stream whose first one is held; undefined if all that it can use is held. */
export function createStreamHold(world: HoldWorld, reservation: Reservation): StreamHold | undefined {
  const { parsed, model, family } = reservation
  const first = firstTokens(parsed, model)
  const output = first === undefined ? undefined : family.output?.(parsed.body, model)
  return first && output ? new StreamHold(world, reservation, first, output) : undefined
}

type Answer = 'held' | 'refused'

export class StreamHold {
  /** Output tokens that are held; Infinity when all that the request can use is. */
  heldTokens = 0
  /** Delivered tokens from which on the next step is to be held. */
  renewAt = 0
  /** Output tokens of each candidate that are held. */
  private each: number
  /** The extension that runs. There is one at a time, because each adds to what the one before has held. */
  private running: Promise<Answer> | undefined

  constructor(
    private readonly world: HoldWorld,
    private readonly reservation: Reservation,
    private readonly step: number,
    private readonly output: OutputTokens,
  ) {
    this.each = step
    this.note(step)
  }

  /** Holds the next step ahead of need, beside the stream. */
  renew(meter: StreamMeter): void {
    if (this.running || meter.countTokens() <= this.renewAt || meter.isComplete()) return
    // Who is refused asks again when the stream has to wait.
    this.renewAt = Number.POSITIVE_INFINITY
    void this.extend(meter.mostTokens(), this.step)
  }

  /** Holds what the next events need. False if the account cannot pay for it. Never rejects. */
  async demand(meter: StreamMeter): Promise<boolean> {
    if (this.running) await this.running
    for (let step = this.step; ; step = Math.ceil(step / 2)) {
      if (meter.neededTokens() <= this.heldTokens) return true
      if (step < Math.min(this.step, LEAST_STEP_TOKENS)) return this.recount(meter)
      if ((await this.extend(meter.neededTokens(), step)) === 'held') return true
    }
  }

  /** Resolves when no extension runs: the charge holds what is noted in it. */
  async whenNoted(): Promise<void> {
    await this.running
  }

  private note(each: number): void {
    const { most, candidates } = this.output
    this.each = each
    const isAll = each >= most
    this.heldTokens = isAll ? Number.POSITIVE_INFINITY : each * candidates
    this.renewAt = this.heldTokens - (this.step * candidates) / 2
  }

  private extend(neededTokens: number, step: number): Promise<Answer> {
    this.running = this.hold(neededTokens, step)
      .catch((error): Answer => {
        this.world.log('hold_not_extended', { request: this.reservation.charge.id, error: String(error) })
        return 'refused'
      })
      .finally(() => {
        this.running = undefined
      })
    return this.running
  }

  /** Holds a step more than the tokens that are needed, or than are held. */
  private async hold(neededTokens: number, step: number): Promise<Answer> {
    const { db } = this.world
    const { parsed, model, key, charge } = this.reservation
    const { most, candidates } = this.output
    const from = Math.max(this.each, Math.ceil(neededTokens / candidates))
    const each = Math.min(most, from + step)
    const needNano = quoteNano(withOutput(parsed, each), model)
    const answer = await this.patiently(async () => {
      const amountNano = needNano - charge.heldNano
      // The dearest model of a route may have held it already.
      if (amountNano <= 0) return 'held'
      const windowTokens = charge.windowMinute === null ? 0 : (each - this.each) * candidates
      const extension = { amountNano, windowTokens }
      const result = await extendHold(db, charge, extension, conditionsToExtend(key, charge, extension))
      if ('held' in result) {
        charge.heldNano += amountNano
        charge.windowTokens += windowTokens
        return 'held'
      }
      // An extension may have been made whose answer was lost.
      return result.refusedBy === 'charge' && (await refreshHold(db, charge)) ? 'again' : 'refused'
    })
    if (answer === 'held') this.note(each)
    return answer
  }

  /** Tries again while the database cannot take the change, for a while. */
  private async patiently(work: () => Promise<Answer | 'again'>): Promise<Answer> {
    const { monotonic, after } = this.world
    const endsAt = monotonic() + DATABASE_MS
    for (;;) {
      try {
        const answer = await work()
        if (answer !== 'again') return answer
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable) || monotonic() >= endsAt) throw error
        await new Promise<void>((resolve) => after(RETRY_MS, resolve))
      }
    }
  }

  /**
   * Counts what was delivered by its tokens, of which there are fewer than bytes. True if more can be delivered of what
   * is held.
   */
  private async recount(meter: StreamMeter): Promise<boolean> {
    const { text, textOmitted, usage, early } = meter.outcome('balance')
    // A vendor that counts on its way knows best.
    if (typeof usage === 'object' && !early && outputTokensOf(usage) > 0) return false
    const { tokens, exact } = await this.world.tokenCounter.count(text)
    if (!exact || text === '') return false
    // What was not kept is as dense as what was.
    meter.recount(Math.ceil(tokens * TOKENS_FOR_ONE * (1 + textOmitted / text.length)))
    const room = this.heldTokens - meter.neededTokens()
    return room >= Math.min(this.step / 4, LEAST_STEP_TOKENS)
  }
}
