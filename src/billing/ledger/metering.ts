// What a request used: the vendor's own figures if plausible, otherwise a count of the delivered text. It must never turn a
// vendor's error into a free charge, or into a credit.

import { type EndedBy, endsAtHold } from '../../contract/failures'
import type { Model, ParsedRequest } from '../../contract/family'
import {
  type Bill,
  billByTariff,
  hasPrice,
  heldNano,
  isBaseTier,
  type Prices,
  type Tariff,
  tableNano,
  tariffOfVariant,
  variantsOf,
} from '../../contract/prices'
import { type Made, type Reading, worthMore } from '../../contract/reading'
import {
  addQuantities,
  callUnits,
  inputOf,
  inputTokensOf,
  outputTokensOf,
  type Quantities,
  rowOf,
  tokensOf,
  type Unit,
  units,
  withoutSide,
} from '../../contract/units'
import { invalidRequest } from '../../lib/errors'
import type { TokenCounter } from '../../media/token-counter'
import type { UsageSource } from './ledger'

/** The largest figures that are accepted from any model, as a multiple of the quote. */
const PLAUSIBLE_FACTOR = 4
/** Input tokens that are accepted beyond the quote for a model whose context is unknown: vendors add some of their own. */
const PLAUSIBLE_EXTRA_TOKENS = 50_000
/**
 * Output tokens that are also accepted from a model whose context is unknown: a caller that sets no limit can get as much as a
 * model can write at once.
 */
const PLAUSIBLE_OUTPUT_TOKENS = 2_000_000

/** How a request went, whatever the form of its answer. */
export interface Outcome {
  endedBy: EndedBy
  /** The vendor's figures; `invalid` if they were absurd. */
  usage: ReportedUsage
  /** True if the figures were reported before the output. */
  early?: boolean
  /** The service tier that the vendor reports. */
  serviceTier?: string | undefined
  /** Input tokens of the longest of several calls; absent for one call. Prices may depend on the length of a call. */
  longestPrompt?: number | undefined
  /** The usage as the vendor wrote it. */
  usageJson: string | null
  /** The text that the model wrote, as far as it was kept, and the length of the rest. */
  text: string
  textOmitted: number
  /** How useful the model's output was: its most valuable part. */
  output: Made['kind'] | undefined
  /** Calls of the vendor's tools that its answer reports; charged unless its figures include them. */
  calls?: Quantities | undefined
  /** Quantities counted on their way to the caller; undefined if the family counts only text. */
  made?: Quantities | undefined
  /** True if the vendor reported a failure. */
  failed: boolean
  /** True if other replies failed, so that the answer is made from only some of them. */
  isPart?: boolean
}

export interface Measure {
  quantities: Quantities
  source: UsageSource
  /** The vendor's figures if it reports more calls of its tools than are held and charged; absent: the quantities. */
  reported?: Quantities
}

/**
 * The usage to charge. Undefined if nothing is charged: the answer has no output, because it failed, was cut before any, or ended
 * normally. It is a promise only if text must be counted.
 */
export function measure(
  ended: Outcome,
  parsed: ParsedRequest,
  model: Model,
  counter: TokenCounter,
): Measure | undefined | Promise<Measure> {
  const outcome = withoutZeros(ended)
  const { usage, output, made, failed, endedBy } = outcome
  // An answer that is cut at the hold counts as ended by its limit.
  const broken = failed || (endedBy !== 'done' && !endsAtHold(endedBy))
  const thought = output === 'hidden' && !broken
  const empty = !hasOutput(outcome)
  if (usage === undefined || usage === 'invalid') {
    if (empty && !thought) return undefined
    // A caller that disconnected after a first state of a result pays the price of the whole.
    if (output === 'partial') return asQuoted(outcome, parsed, model)
    const texts = model.family.texts?.(parsed.body, model)
    if (made && !texts) return asMade(made, outcome, parsed, model)
    // The vendor broke off before any result: anything else is worthless, and events that cannot be counted are not worth the
    // quote.
    const isAround = output === 'words' || !texts
    if (isAround && broken && output !== 'shown' && endedBy !== 'client') return undefined
    return texts ? count(outcome, texts, parsed, model, counter) : asQuoted(outcome, parsed, model)
  }
  // A caller that disconnected pays for the usage that the vendor counted. A caller whose vendor failed does not, even after long
  // thinking.
  const used = endedBy === 'client' && (outcome.early || (usage.output_token ?? 0) > 0)
  if (empty && !used && !(thought && outputTokensOf(usage) > 0)) return undefined
  if (outcome.early || outcome !== ended || usage.input_token === undefined) {
    const texts = model.family.texts?.(parsed.body, model)
    if (texts) return count(outcome, texts, parsed, model, counter)
  }
  const held = withHeldCalls(usage, parsed, model)
  const quantities = withRequest(held, model)
  return { quantities, source: 'upstream', ...(held !== usage && { reported: usage }) }
}

/**
 * The figures with at most as many calls of the vendor's tools as are held: the request limits them, and a vendor that makes more
 * must not charge an account for those. The same figures if none is above.
 */
function withHeldCalls(usage: Quantities, parsed: ParsedRequest, model: Model): Quantities {
  if (callUnits.every((unit) => !usage[unit])) return usage
  const quote = model.family.quote(parsed, model)
  const above = callUnits.filter((unit) => (usage[unit] ?? 0) > (quote[unit] ?? 0))
  if (above.length === 0) return usage
  return { ...usage, ...Object.fromEntries(above.map((unit) => [unit, quote[unit] ?? 0])) }
}

/**
 * The outcome without zeros for things that were in fact read or written: a vendor that reports zeros does not count. The same
 * outcome if it has none.
 */
function withoutZeros(outcome: Outcome): Outcome {
  const { usage, text } = outcome
  if (typeof usage !== 'object' || !hasOutput(outcome)) return outcome
  const isUnread = inputTokensOf(usage) === 0 && usage.input_token !== undefined
  const isUnwritten = outputTokensOf(usage) === 0 && text !== ''
  let figures = isUnread ? withoutSide('input', usage) : usage
  if (isUnwritten) figures = withoutSide('output', figures)
  const isNothing = isAllZero(figures)
  return isUnread || isUnwritten || isNothing
    ? { ...outcome, usage: isNothing ? undefined : figures }
    : outcome
}

function isAllZero(figures: Quantities): boolean {
  for (const unit in figures) if (figures[unit as Unit] !== 0) return false
  return true
}

/** Whether the caller has any output that is useful by itself. */
function hasOutput({ output, endedBy }: Outcome): boolean {
  return output === 'shown' || output === 'words' || (output === 'partial' && endedBy === 'client')
}

/** Counts what the vendor did not report: everything, the output, or the input that it read. */
async function count(
  outcome: Outcome,
  texts: string[],
  parsed: ParsedRequest,
  model: Model,
  counter: TokenCounter,
): Promise<Measure> {
  const { usage, text, textOmitted } = outcome
  const reported = usage === 'invalid' ? {} : { ...withHeldCalls(usage ?? {}, parsed, model) }
  const input = reported.input_token === undefined ? await counter.count(texts.join('\n')) : undefined
  const output = await counter.count(text)
  const scale = text === '' ? 1 : (text.length + textOmitted) / text.length
  // If there is no text, as with audio or inputs that are already tokens, the quote is the only figure. A family may count other
  // content of a request than its texts, such as pictures.
  const counted =
    texts.length > 0
      ? { input_token: (input?.tokens ?? 0) + (outcome.made?.input_token ?? 0) }
      : inputOf(model.family.quote(parsed, model))
  const exact =
    usage !== 'invalid' &&
    !outcome.made &&
    input?.exact !== false &&
    output.exact &&
    textOmitted === 0 &&
    (texts.length > 0 || input === undefined)
  const outputTokens = Math.max(reported.output_token ?? 0, Math.round(output.tokens * scale))
  const quote = model.family.quote(parsed, model)
  const quantities: Quantities = {
    // For input other than text the quote is the only figure, unless the family has counted it.
    ...(outcome.made && { ...inputOf(quote), ...atMost(outcome.made, quote) }),
    ...(reported.input_token === undefined && counted),
    ...reported,
    ...(outputTokens > 0 ? { output_token: outputTokens } : {}),
    ...(usage === undefined || usage === 'invalid' ? callsOf(outcome, parsed, model) : {}),
  }
  return { quantities: withRequest(quantities, model), source: exact ? 'counted' : 'estimated' }
}

/** Calls that have a price, up to the number held. */
function callsOf({ calls = {} }: Outcome, parsed: ParsedRequest, model: Model): Quantities {
  const quote = model.family.quote(parsed, model)
  const made: Quantities = {}
  for (const unit of callUnits) {
    const count = Math.min(calls[unit] ?? 0, quote[unit] ?? 0)
    if (count > 0 && hasPrice(model.priceList, unit)) made[unit] = count
  }
  return made
}

/** Quantities that were made, up to the number requested. */
function asMade(made: Quantities, { usage }: Outcome, parsed: ParsedRequest, model: Model): Measure {
  const quantities = atMost(made, model.family.quote(parsed, model))
  return { quantities: withRequest(quantities, model), source: usage === undefined ? 'counted' : 'estimated' }
}

function atMost(made: Quantities, quote: Quantities): Quantities {
  const quantities: Quantities = {}
  for (const unit of units) {
    if (made[unit] !== undefined) quantities[unit] = Math.min(made[unit], quote[unit] ?? 0)
  }
  return quantities
}

/**
 * The price of a request that nobody counts afterwards: exact if it depends only on the caller's own characters, otherwise the
 * maximum.
 */
function asQuoted({ usage }: Outcome, parsed: ParsedRequest, model: Model): Measure {
  const quantities = model.family.quote(parsed, model)
  const exact = usage === undefined && tokensOf(quantities) === 0
  return { quantities: withRequest(quantities, model), source: exact ? 'counted' : 'estimated' }
}

export type ReportedUsage = Quantities | 'invalid' | undefined

/**
 * The vendor's figures if a request of this size can have used them, otherwise `invalid`. The check is generous with tokens,
 * because vendors add hidden prompts and results of their tools, up to the model's whole context; but a vendor's mistake must not
 * empty an account.
 */
export function plausible(usage: ReportedUsage, parsed: ParsedRequest, model: Model): ReportedUsage {
  if (usage === undefined || usage === 'invalid') return usage
  const quote = model.family.quote(parsed, model)
  const { contextTokens } = model
  const mostInput = Math.max(
    PLAUSIBLE_FACTOR * inputTokensOf(quote) + PLAUSIBLE_EXTRA_TOKENS,
    contextTokens ?? 0,
  )
  const mostOutput =
    PLAUSIBLE_FACTOR * outputTokensOf(quote) +
    (contextTokens === undefined
      ? PLAUSIBLE_OUTPUT_TOKENS
      : contextTokens * (model.family.output?.(parsed.body, model)?.candidates ?? 1))
  const sane =
    inputTokensOf(usage) <= mostInput && outputTokensOf(usage) <= mostOutput && isEachPlausible(usage, quote)
  if (!sane) return 'invalid'
  const tariff = tariffOf(parsed, model)
  return withSound(withPrices(usage, tariff), quote, tariff)
}

/** Whether the figures of units that are judged one by one are plausible. */
function isEachPlausible(usage: Quantities, quote: Quantities): boolean {
  for (const name in usage) {
    const unit = name as Unit
    const { most } = rowOf(unit)
    if (most && !((usage[unit] ?? 0) <= most.times * (quote[unit] ?? 0) + most.more)) return false
  }
  return true
}

/**
 * The figures of a request with audio, from a vendor that does not report how much of its input that was: as much as possible, if
 * it costs more than text.
 */
function withSound(
  usage: Quantities | undefined,
  { input_audio_token: most = 0 }: Quantities,
  { tables: [{ prices }] }: Tariff,
): Quantities | undefined {
  const { input_token: input = 0, input_audio_token: audio } = usage ?? {}
  const sound = Math.min(most, input)
  if (audio !== undefined || sound === 0) return usage
  if ((prices.input_audio_token ?? 0) <= (prices.input_token ?? 0)) return usage
  return { ...usage, input_token: input - sound, input_audio_token: sound }
}

/** Tokens of each side, and those that a request could use by its size and its limit. */
interface AboveQuote {
  inputTokens: number
  outputTokens: number
  quotedInputTokens: number
  /** Undefined if the request sets no limit. */
  quotedOutputTokens: number | undefined
}

/** The tokens that a vendor counted, if any figure exceeds what the request could use; undefined otherwise. */
export function aboveQuote(
  quantities: Quantities,
  parsed: ParsedRequest,
  model: Model,
): AboveQuote | undefined {
  const { family } = model
  const quote = family.quote(parsed, model)
  const output = family.output?.(parsed.body, model)
  // Without a limit a quote is only the usual length of an answer.
  const mostOutput = output ? output.most * output.candidates : outputTokensOf(quote)
  const inputTokens = inputTokensOf(quantities)
  const outputTokens = outputTokensOf(quantities)
  const quotedInputTokens = inputTokensOf(quote)
  const quotedOutputTokens = Number.isFinite(mostOutput) ? mostOutput : undefined
  const isAbove =
    inputTokens > quotedInputTokens || outputTokens > mostOutput || isAnyAbove(quantities, quote)
  return isAbove ? { inputTokens, outputTokens, quotedInputTokens, quotedOutputTokens } : undefined
}

/** Whether there is more of a unit than was quoted. Tokens are compared together, and no vendor counts requests. */
function isAnyAbove(quantities: Quantities, quote: Quantities): boolean {
  for (const name in quantities) {
    const unit = name as Unit
    if (unit === 'request' || rowOf(unit).tokens !== undefined) continue
    if ((quantities[unit] ?? 0) > (quote[unit] ?? 0)) return true
  }
  return false
}

/**
 * The figures of units that have a price. What a vendor counts in other units is ignored: the operator chooses the units of a
 * model's price, and a request that could make the vendor bill more was refused.
 */
function withPrices(usage: Quantities, { tables: [{ prices }] }: Tariff): Quantities | undefined {
  for (const unit in usage) if (prices[unit as Unit] === undefined) return onlyPriced(usage, prices)
  return usage
}

function onlyPriced(usage: Quantities, prices: Prices): Quantities | undefined {
  const priced = Object.entries(usage).filter(([unit]) => prices[unit as Unit] !== undefined)
  return priced.length > 0 ? Object.fromEntries(priced) : undefined
}

/** The prices for the hold and the settlement. Throws 400 for a tier that the model does not have. */
export function tariffOf({ body }: ParsedRequest, model: Model): Tariff {
  if (model.tariff) return model.tariff
  const { field, names } = model.family.tier?.(body, model) ?? { field: null, names: [] }
  const tariff = tariffOfVariant(model.priceList, names, model.costList)
  if (tariff) return tariff
  const known = variantsOf(model.priceList)
  throw invalidRequest(
    field,
    `Invalid value for '${field}': ${model.id} has no price for ${names[0]}. It has one for: ${known.join(', ')}.`,
  )
}

/** The maximum that a request can use, by the count of its texts if they were counted for its hold. */
export function quoteOf(parsed: ParsedRequest, model: Model): Quantities {
  const { lean } = parsed
  const sized = lean ? { ...parsed, byteLength: lean.byteLength } : parsed
  return withRequest(priced(model.family.quote(sized, model), model), model)
}

/** The maximum that a request can cost, in nano-dollars. */
export function quoteNano(parsed: ParsedRequest, model: Model): number {
  return heldNano(tariffOf(parsed, model), quoteOf(parsed, model), requestedTier(parsed))
}

/** The tables that a request is billed by, from the service tier and the prompt length that the vendor reports. */
export function billOf(
  parsed: ParsedRequest,
  model: Model,
  quantities: Quantities,
  { serviceTier, longestPrompt }: Pick<Outcome, 'serviceTier' | 'longestPrompt'>,
): Bill {
  return billByTariff(tariffOf(parsed, model), quantities, serviceTier, requestedTier(parsed), longestPrompt)
}

/** The facts that choose the price table for several calls: the longest prompt, and the most expensive tier. */
function tableOfParts(
  parts: readonly Pick<Outcome, 'usage' | 'serviceTier'>[],
  parsed: ParsedRequest,
  model: Model,
): Pick<Outcome, 'serviceTier' | 'longestPrompt'> {
  const longestPrompt = parts.reduce(
    (most, { usage }) => (typeof usage === 'object' ? Math.max(most ?? 0, inputTokensOf(usage)) : most),
    undefined as number | undefined,
  )
  const tiers = [...new Set(parts.map(({ serviceTier }) => serviceTier))]
  const nanoOf = (serviceTier: string | undefined) => {
    const quote = quoteOf(parsed, model)
    return tableNano(quote, billOf(parsed, model, quote, { serviceTier }).table)
  }
  const serviceTier = tiers.reduce(
    (dearest, tier) => (nanoOf(tier) > nanoOf(dearest) ? tier : dearest),
    tiers[0],
  )
  return { serviceTier, longestPrompt }
}

/** The service tier that a request asks for; undefined leaves it to the vendor. A faster mode is a separate tier. */
export function requestedTier({ body }: ParsedRequest): string | undefined {
  const { serviceTier, service_tier: tier = serviceTier, speed } = body as Readonly<Record<string, unknown>>
  if (typeof speed === 'string' && !isBaseTier(speed)) return speed
  return typeof tier === 'string' ? tier : undefined
}

/** The outcome of a request with a whole answer: the family's reading of the reply, and the vendor's usage object. */
export function outcomeOfReply(
  reading: Reading,
  usageJson: string | null,
  parsed: ParsedRequest,
  model: Model,
): Outcome {
  const { output, usage, serviceTier, calls } = reading
  const shown = output?.kind === 'shown' ? output : undefined
  return {
    endedBy: 'done',
    usage: plausible(usage?.figures, parsed, model),
    serviceTier,
    usageJson,
    text: shown?.text ?? '',
    textOmitted: 0,
    output: output?.kind,
    calls,
    made: shown?.counted,
    failed: false,
  }
}

/** The outcome of a request answered in parts, replies or streams: the sum of the parts. */
export function sumOutcomes(outcomes: readonly Outcome[], parsed: ParsedRequest, model: Model): Outcome {
  const [first] = outcomes
  if (!first || outcomes.length === 1) return first as Outcome
  const some = (is: (outcome: Outcome) => boolean | undefined) =>
    outcomes.some((outcome) => is(outcome) === true)
  return {
    endedBy: first.endedBy,
    usage: plausible(sumUsage(outcomes), parsed, model),
    early: some(({ early }) => early),
    ...tableOfParts(outcomes, parsed, model),
    usageJson: `[${outcomes.map(({ usageJson }) => usageJson ?? 'null').join()}]`,
    text: outcomes.map(({ text }) => text).join(''),
    textOmitted: outcomes.reduce((sum, { textOmitted }) => sum + textOmitted, 0),
    output: outcomes.map(({ output }) => output).reduce(worthMore),
    calls: sumOf(outcomes.map(({ calls }) => calls)),
    made: sumOf(outcomes.map(({ made }) => made)),
    failed: some(({ failed }) => failed),
  }
}

/** The sum of the figures; unknown if a part with output had none. */
function sumUsage(outcomes: readonly Outcome[]): ReportedUsage {
  let sum: Quantities | undefined
  for (const outcome of outcomes) {
    const { usage, output } = outcome
    // A part that has not begun adds nothing, and the figures of the others are reliable.
    if (usage === undefined && output === undefined) continue
    if (usage === undefined || usage === 'invalid') return usage
    if (withoutZeros(outcome) !== outcome) return undefined
    sum ??= {}
    addQuantities(sum, usage)
  }
  return sum
}

/** The sum of the quantities of parts; undefined if none has any. */
function sumOf(parts: readonly (Quantities | undefined)[]): Quantities | undefined {
  let sum: Quantities | undefined
  for (const part of parts) {
    if (!part) continue
    sum ??= {}
    addQuantities(sum, part)
  }
  return sum
}

function withRequest(quantities: Quantities, model: Model): Quantities {
  return hasPrice(model.priceList, 'request') ? { ...quantities, request: 1 } : quantities
}

/**
 * The quantities without calls of tools that have no price. Requests that could make such calls were refused, so these are not the
 * caller's fault.
 */
function priced(quantities: Quantities, model: Model): Quantities {
  for (const unit of callUnits) {
    if (quantities[unit] === undefined || hasPrice(model.priceList, unit)) continue
    const { [unit]: _, ...rest } = quantities
    return priced(rest, model)
  }
  return quantities
}
