// What a request came to: the vendor's own figures where it gave sane ones, else a count of the text that really passed.
// It must never turn a vendor's fault into a charge for nothing, or into a credit.

import type { EndedBy } from '../contract/failures'
import type { Ask, Model, Reading } from '../contract/family'
import {
  type BilledTable,
  billedTable,
  hasPrice,
  heldNano,
  isBaseTier,
  type Tariff,
  tableNano,
  tariffOfVariant,
  variantsOf,
} from '../contract/prices'
import {
  addQuantities,
  callUnits,
  inputTokensOf,
  judgedUnits,
  outputTokensOf,
  type Quantities,
  tokensOf,
  type Unit,
  units,
} from '../contract/units'
import { invalidRequest } from '../lib/errors'
import type { TokenCounter } from '../media/token-counter'
import type { UsageSource } from './ledger'

const PLAUSIBLE_FACTOR = 4
const PLAUSIBLE_EXTRA_TOKENS = 50_000
/** A caller who sets no limit can get all that a model can write at once. */
const PLAUSIBLE_OUTPUT_TOKENS = 2_000_000

/** How a request went, whatever way it was answered. */
export interface Outcome {
  endedBy: EndedBy
  /** The vendor's figures; `invalid` when they were absurd. */
  usage: ReportedUsage
  /** They are from before its output. */
  early?: boolean
  /** The service tier that the vendor says it has served. */
  serviceTier?: string | undefined
  /** Input tokens of the longest of several calls; absent: all of them are of one. Prices go by the length of a call. */
  longestPrompt?: number | undefined
  /** The same, as the vendor wrote them. */
  usageJson: string | null
  /** The text that the model made, as far as it was kept, and the length of the rest. */
  text: string
  textOmitted: number
  /** Something of worth went to the caller, also what is not text. */
  delivered: boolean
  /** There was output, text or other, whether or not it was kept here. */
  hasOutput: boolean
  /** There was output that is not shown, unless the vendor's figures have none. */
  unseen?: boolean
  /** What was counted on its way to the caller; undefined where the family counts nothing but text. */
  made?: Quantities | undefined
  /** The vendor said that it failed. */
  failed: boolean
}

export interface Measure {
  quantities: Quantities
  source: UsageSource
}

/**
 * What is to be paid for; undefined when it is nothing: the answer has no output, whether it failed, was cut before any, or
 * ended as if all were well. A promise only where text must be counted.
 */
export function measure(
  outcome: Outcome,
  ask: Ask,
  model: Model,
  counter: TokenCounter,
): Measure | undefined | Promise<Measure> {
  const { usage, delivered, made, failed, endedBy } = outcome
  const broken = failed || endedBy !== 'done'
  const thought = outcome.unseen && !broken
  const empty = !outcome.hasOutput && !isSomething(made)
  if (usage === undefined || usage === 'invalid') {
    if (empty && !thought) return undefined
    if (made) return asMade(made, outcome, ask, model)
    const { texts } = model.family
    // A vendor that broke off what cannot be counted, before any result: the words around it are not worth the whole.
    if (!texts && broken && !delivered && endedBy !== 'client') return undefined
    return texts ? count(outcome, texts(ask.body), ask, model, counter) : asQuoted(outcome, ask, model)
  }
  // A caller who left has used what the vendor counted; one whom the vendor failed has not, even if it thought for long.
  const used = endedBy === 'client' && (outcome.early || (usage.output_token ?? 0) > 0)
  if (empty && !used && !(thought && outputTokensOf(usage) > 0)) return undefined
  const { texts } = model.family
  if (texts && (outcome.early || usage.input_token === undefined)) {
    return count(outcome, texts(ask.body), ask, model, counter)
  }
  return { quantities: withRequest(usage, model), source: 'upstream' }
}

/** Whether a reply, or an event, has output that is seen. */
export function hasOutput({ delivered, text }: Reading): boolean {
  return delivered === true || Boolean(text)
}

function isSomething(made: Quantities | undefined): boolean {
  return made !== undefined && units.some((unit) => (made[unit] ?? 0) > 0)
}

/** What the vendor did not tell is counted: all of it, or its output, or the input that it read. */
async function count(
  outcome: Outcome,
  texts: string[],
  ask: Ask,
  model: Model,
  counter: TokenCounter,
): Promise<Measure> {
  const { usage, text, textOmitted } = outcome
  const told = usage === 'invalid' ? {} : { ...usage }
  const input = told.input_token === undefined ? await counter.count(texts.join('\n')) : undefined
  const output = await counter.count(text)
  const scale = text === '' ? 1 : (text.length + textOmitted) / text.length
  // Without any text, as with inputs that are tokens already, the quote is the only figure there is.
  const counted = texts.length > 0 ? input?.tokens : inputTokensOf(model.family.quote(ask, model))
  const exact =
    usage !== 'invalid' &&
    input?.exact !== false &&
    output.exact &&
    textOmitted === 0 &&
    (texts.length > 0 || input === undefined)
  const outputTokens = Math.max(told.output_token ?? 0, Math.round(output.tokens * scale))
  const quantities = {
    ...told,
    input_token: told.input_token ?? counted ?? 0,
    ...(outputTokens > 0 ? { output_token: outputTokens } : {}),
  }
  return { quantities: withRequest(quantities, model), source: exact ? 'counted' : 'estimated' }
}

/** What came, whole by whole, as far as it was asked for. */
function asMade(made: Quantities, { usage }: Outcome, ask: Ask, model: Model): Measure {
  const quote = model.family.quote(ask, model)
  const quantities: Quantities = {}
  for (const unit of units) {
    if (made[unit] !== undefined) quantities[unit] = Math.min(made[unit], quote[unit] ?? 0)
  }
  return { quantities: withRequest(quantities, model), source: usage === undefined ? 'counted' : 'estimated' }
}

/** The price of a request that nobody counts afterwards: exact where it is of the caller's own characters, else the most. */
function asQuoted({ usage }: Outcome, ask: Ask, model: Model): Measure {
  const quantities = model.family.quote(ask, model)
  const exact = usage === undefined && tokensOf(quantities) === 0
  return { quantities: withRequest(quantities, model), source: exact ? 'counted' : 'estimated' }
}

export type ReportedUsage = Quantities | 'invalid' | undefined

/**
 * A vendor's figures, where a request of this size can have come to them. Generous with tokens, because vendors add some
 * of their own and pictures have more than their links show; but a slip of the vendor's must not empty an account.
 */
export function plausible(usage: ReportedUsage, ask: Ask, model: Model): ReportedUsage {
  if (usage === undefined || usage === 'invalid') return usage
  const quote = model.family.quote(ask, model)
  const mostInput = PLAUSIBLE_FACTOR * inputTokensOf(quote) + PLAUSIBLE_EXTRA_TOKENS
  const mostOutput = PLAUSIBLE_FACTOR * outputTokensOf(quote) + PLAUSIBLE_OUTPUT_TOKENS
  const sane =
    inputTokensOf(usage) <= mostInput &&
    outputTokensOf(usage) <= mostOutput &&
    judgedUnits.every(({ unit, times, more }) => (usage[unit] ?? 0) <= times * (quote[unit] ?? 0) + more)
  if (!sane) return 'invalid'
  const known = priced(usage, model)
  return hasPrices(known, tariffOf(ask, model)) ? known : undefined
}

/** Whether all that is counted has a price. What a vendor counts in other units than its price list has says nothing. */
function hasPrices(usage: Quantities, { tables: [{ prices }] }: Tariff): boolean {
  for (const unit in usage) if (prices[unit as Unit] === undefined) return false
  return true
}

/** The prices that a request is held and settled at. Throws 400 for a tier that the model does not have. */
export function tariffOf({ body }: Ask, model: Model): Tariff {
  if (model.tariff) return model.tariff
  const { field, names } = model.family.tier?.(body, model) ?? { field: null, names: [] }
  const tariff = tariffOfVariant(model.priceList, names)
  if (tariff) return tariff
  const known = variantsOf(model.priceList)
  throw invalidRequest(
    field,
    `Invalid value for '${field}': ${model.id} has no price for ${names[0]}. It has one for: ${known.join(', ')}.`,
  )
}

/** The most that a request can come to. */
export function quoteOf(ask: Ask, model: Model): Quantities {
  return withRequest(priced(model.family.quote(ask, model), model), model)
}

/** The most that a request can cost, in nano-dollars. */
export function quoteNano(ask: Ask, model: Model): number {
  return heldNano(tariffOf(ask, model), quoteOf(ask, model), askedTier(ask))
}

/** What a request is billed by: the prices of the service tier and the prompt length that the vendor reports. */
export function tableOf(
  ask: Ask,
  model: Model,
  quantities: Quantities,
  { serviceTier, longestPrompt }: Pick<Outcome, 'serviceTier' | 'longestPrompt'>,
): BilledTable {
  return billedTable(tariffOf(ask, model), quantities, serviceTier, askedTier(ask), longestPrompt)
}

/** What of the answers to several calls says by which prices they are billed: the longest prompt, and the dearest tier. */
function tableOfParts(
  parts: readonly Pick<Outcome, 'usage' | 'serviceTier'>[],
  ask: Ask,
  model: Model,
): Pick<Outcome, 'serviceTier' | 'longestPrompt'> {
  const longestPrompt = parts.reduce(
    (most, { usage }) => (typeof usage === 'object' ? Math.max(most ?? 0, inputTokensOf(usage)) : most),
    undefined as number | undefined,
  )
  const tiers = [...new Set(parts.map(({ serviceTier }) => serviceTier))]
  const nanoOf = (serviceTier: string | undefined) => {
    const quote = quoteOf(ask, model)
    return tableNano(quote, tableOf(ask, model, quote, { serviceTier }))
  }
  const serviceTier = tiers.reduce(
    (dearest, tier) => (nanoOf(tier) > nanoOf(dearest) ? tier : dearest),
    tiers[0],
  )
  return { serviceTier, longestPrompt }
}

/** The service tier that a request asks for; undefined leaves it to the vendor. A faster mode is a tier of its own. */
export function askedTier({ body }: Ask): string | undefined {
  const { service_tier: tier, speed } = body as { service_tier?: unknown; speed?: unknown }
  if (typeof speed === 'string' && !isBaseTier(speed)) return speed
  return typeof tier === 'string' ? tier : undefined
}

/** How a request went that was answered whole: what the family reads in the reply, and its figures as they stand there. */
export function outcomeOfReply(reading: Reading, usageJson: string | null, ask: Ask, model: Model): Outcome {
  return {
    endedBy: 'done',
    usage: plausible(reading.usage, ask, model),
    serviceTier: reading.serviceTier,
    usageJson,
    text: reading.text ?? '',
    textOmitted: 0,
    delivered: reading.delivered === true,
    hasOutput: hasOutput(reading),
    unseen: reading.unseen === true,
    made: reading.made,
    failed: false,
  }
}

/** How the parts of one request went, replies or streams, as one: all that any of them brought. */
export function sumOutcomes(outcomes: readonly Outcome[], ask: Ask, model: Model): Outcome {
  const [first] = outcomes
  if (!first || outcomes.length === 1) return first as Outcome
  const some = (is: (outcome: Outcome) => boolean | undefined) =>
    outcomes.some((outcome) => is(outcome) === true)
  return {
    endedBy: first.endedBy,
    usage: plausible(sumUsage(outcomes), ask, model),
    early: some(({ early }) => early),
    ...tableOfParts(outcomes, ask, model),
    usageJson: `[${outcomes.map(({ usageJson }) => usageJson ?? 'null').join()}]`,
    text: outcomes.map(({ text }) => text).join(''),
    textOmitted: outcomes.reduce((sum, { textOmitted }) => sum + textOmitted, 0),
    delivered: some(({ delivered }) => delivered),
    hasOutput: some(({ hasOutput }) => hasOutput),
    unseen: some(({ unseen }) => unseen),
    made: sumMade(outcomes),
    failed: some(({ failed }) => failed),
  }
}

/** The sum of the figures, or nothing sure when a part that brought anything had none. */
function sumUsage(outcomes: readonly Outcome[]): ReportedUsage {
  let sum: Quantities | undefined
  for (const { usage, hasOutput, unseen } of outcomes) {
    // One that has not begun has nothing to add; the figures of the others are sure.
    if (usage === undefined && !hasOutput && !unseen) continue
    if (usage === undefined || usage === 'invalid') return usage
    sum ??= {}
    addQuantities(sum, usage)
  }
  return sum
}

function sumMade(outcomes: readonly Outcome[]): Quantities | undefined {
  let sum: Quantities | undefined
  for (const { made } of outcomes) {
    if (!made) continue
    sum ??= {}
    addQuantities(sum, made)
  }
  return sum
}

function withRequest(quantities: Quantities, model: Model): Quantities {
  return hasPrice(model.priceList, 'request') ? { ...quantities, request: 1 } : quantities
}

/** Without calls of tools that have no price: a request that could make them was refused, so they are no fault of the caller. */
function priced(quantities: Quantities, model: Model): Quantities {
  for (const unit of callUnits) {
    if (quantities[unit] === undefined || hasPrice(model.priceList, unit)) continue
    const { [unit]: _, ...rest } = quantities
    return priced(rest, model)
  }
  return quantities
}
