// Reads the cost fields of LiteLLM, in its price file and in its configuration, as a price list of ours. Each field has a row here:
// the price that it becomes, or the reason why it does not matter. A field without a row makes the model unusable: a guess would
// under-bill. The lists of prices/ are made by the same rows.

import { FINE_DECIMALS, fineAmount } from '../../src/config/models/price-leaps'
import { FACTOR_DECIMALS } from '../../src/contract/prices'
import type { PriceKey } from '../../src/contract/units'
import { formatDecimal } from '../../src/lib/money'
import { isObject } from '../../src/lib/objects'

/** The fields of a model in LiteLLM. Numbers are kept as the text in the file: a float never comes between. */
export type Entry = Readonly<Record<string, unknown>>

/** The amounts of one prompt length: dollars by our names of prices. */
type Amounts = Partial<Record<PriceKey, string>>
/** A price list in the form of the configuration. */
export interface Price extends Amounts {
  /** Prices of other tiers: a factor on those above, or a list of their own. */
  service_tiers?: Record<string, string | Amounts>
  /** The minimum charge of a request. */
  minimum?: string
  [above: `above_${string}`]: Amounts
}

interface Row {
  key: PriceKey
  /** The factor from the source's unit to ours. */
  times: 1 | 60 | 1_000 | 1_000_000
}

const MILLION = 1_000_000
/** Decimals of an amount in a price list. */
const AMOUNT_DECIMALS = 12

/** Prices by the field of the source, without the suffixes for longer prompts and for tiers. */
const rows: Readonly<Record<string, Row>> = {
  input_cost_per_token: { key: 'per_1m_input_tokens', times: MILLION },
  cache_read_input_token_cost: { key: 'per_1m_cached_input_tokens', times: MILLION },
  cache_creation_input_token_cost: { key: 'per_1m_cache_write_tokens', times: MILLION },
  cache_creation_input_token_cost_above_1hr: { key: 'per_1m_cache_write_1h_tokens', times: MILLION },
  input_cost_per_audio_token: { key: 'per_1m_input_audio_tokens', times: MILLION },
  output_cost_per_token: { key: 'per_1m_output_tokens', times: MILLION },
  output_cost_per_audio_token: { key: 'per_1m_output_audio_tokens', times: MILLION },
  input_cost_per_query: { key: 'per_1k_searches', times: 1_000 },
  input_cost_per_character: { key: 'per_1m_characters', times: MILLION },
  input_cost_per_second: { key: 'per_audio_minute', times: 60 },
}

/** The order in which prices are printed. */
const ORDER = Object.values(rows).map(({ key }): string => key)

/** Fields that repeat another field. If they differ, the model is omitted. */
const repeated: Readonly<Record<string, string>> = {
  output_cost_per_reasoning_token: 'output_cost_per_token',
  input_cost_per_image_token: 'input_cost_per_token',
  input_cost_per_video_token: 'input_cost_per_token',
  input_cost_per_token_cache_hit: 'cache_read_input_token_cost',
  cache_read_input_image_token_cost: 'cache_read_input_token_cost',
}

/** Fields of features that cannot be requested here, or never cost more than the price that is read. */
const unused: Readonly<Record<string, string>> = {
  cache_creation_input_token_cost_above_12hr: 'a request that keeps a cache that long is refused',
  google_maps_grounding_cost_per_query: 'a request for maps is refused',
  // 10 % of the input, while reads from the vendor's automatic cache cost 20 %: alibabacloud.com/help/en/model-studio/context-cache
  explicit_cache_read_input_token_cost: 'cheaper than tokens of a cache that the vendor keeps by itself',
  off_peak_pricing: 'cheaper at some hours; the price is that of the others',
  regional_processing_uplift_multiplier_eu: 'of endpoints of a region',
  regional_processing_uplift_multiplier_us: 'of endpoints of a region',
  code_interpreter_cost_per_session: 'a request for the interpreter is refused',
}

/** Service tiers that can be requested and have their own prices. */
const TIERS = ['flex', 'priority']
/** Kinds of requests that are not served. */
const OTHER_WAYS = ['batches', 'decisions', 'ultrafast']

/** Fields that are read separately. */
const STRUCTURED = ['tiered_pricing', 'search_context_cost_per_query']
const FIELD = new RegExp(`^(.+?)(?:_above_(\\d+)k_tokens)?(?:_(${[...TIERS, ...OTHER_WAYS].join('|')}))?$`)

/** The entries of a price file by name, with each number as its own text, such as `1.25e-07`. */
export function entriesIn(text: string): ReadonlyMap<string, Entry> {
  const list = JSON.parse(text, (_key, value, context?: { source?: string }) =>
    typeof value === 'number' ? (context?.source ?? String(value)) : value,
  ) as Record<string, Entry>
  return new Map(Object.entries(list).filter(([name]) => name !== 'sample_spec'))
}

/** Thrown for an entry by which this gateway could not bill; the message is the reason. */
export class Unbillable extends Error {}

/** An entry without the prices of features that are never requested here. Throws `Unbillable`. */
export function servedEntry(entry: Entry): Entry {
  return entry.mode === 'embedding' ? ofText(entry) : withoutSound(withoutEstimate(entry))
}

/** The entry of an embedding model, without the prices of pictures, audio and videos: the families send it only text. */
function ofText(entry: Entry): Entry {
  const others = Object.entries(entry).filter(([field]) => !/^input_cost_per_(image|audio|video)/.test(field))
  return Object.fromEntries(others)
}

/**
 * The entry without the price per minute if audio tokens have one: the vendor estimates a minute from these. Speech has no text
 * output, whatever the source says.
 */
function withoutEstimate(entry: Entry): Entry {
  const isSpeech = entry.mode === 'audio_speech' && entry.output_cost_per_audio_token !== undefined
  const estimates = [
    ...(entry.input_cost_per_audio_token === undefined ? [] : ['input_cost_per_second']),
    ...(isSpeech ? ['output_cost_per_second', 'output_cost_per_token'] : []),
  ]
  return Object.fromEntries(Object.entries(entry).filter(([field]) => !estimates.includes(field)))
}

/**
 * The entry of an audio model as that of one without audio, if cached audio has its own price: there is no unit for it.
 */
function withoutSound(entry: Entry): Entry {
  if (!Object.keys(entry).some((field) => field.startsWith('cache_read_input_audio_token_cost'))) return entry
  if (entry.mode !== 'chat') throw new Unbillable('sound that is read from a cache has no unit here')
  const others = Object.entries(entry).filter(([field]) => !/audio/.test(field))
  return { ...Object.fromEntries(others), supports_audio_input: false }
}

interface PriceOptions {
  /** Prices that the list must have even if they are zero. */
  needed: readonly string[]
  /** How web searches are billed by a vendor that counts them. */
  searches?: 'each' | 'as_listed'
  /** Price per thousand searches if the entry has none. */
  searchPrice?: string | undefined
}

/** The price list of an entry. Throws `Unbillable`. */
export function priceOf(entry: Entry, { needed, searches, searchPrice }: PriceOptions): Price {
  const tables = new Map<string, Amounts>()
  for (const [field, value] of Object.entries(entry)) {
    if (!/cost|pric/.test(field) || value === null || STRUCTURED.includes(field)) continue
    const [, base = '', above = '', tier = ''] = FIELD.exec(field) ?? []
    if (OTHER_WAYS.includes(tier) || base in unused) continue
    const equal = repeated[base]
    if (equal !== undefined) {
      if (isZero(value) || isSame(value, entry[field.replace(base, equal)])) continue
      throw new Unbillable(`${field} differs from ${equal}, and has no unit of its own here`)
    }
    if (rows[base]) add(tables, `${above}/${tier}`, rows[base], field, value)
    else if (!isZero(value)) throw new Unbillable(`${field} has no unit here`)
  }
  readRanges(entry.tiered_pricing, tables)
  const kept = new Map([...tables].map(([name, amounts]) => [name, readable(amounts, needed)]))
  return assembled(kept, searches ? searchesOf(entry, searches, searchPrice) : {})
}

/** The price with the minimum charge of a request: that of a number of seconds of audio, if audio is billed by the second. */
export function withLeast<Some extends Price>(price: Some, seconds: number): Some {
  const { per_audio_minute: minute } = price
  if (minute === undefined) return price
  const parts = fineAmount(minute) * BigInt(seconds)
  const perPart = 60n * 10n ** BigInt(FINE_DECIMALS - AMOUNT_DECIMALS)
  return { ...price, minimum: formatDecimal((parts + perPart - 1n) / perPart, AMOUNT_DECIMALS) }
}

/** Prices by the length of the prompt, as a list of ranges: the first one is that of short prompts. */
function readRanges(ranges: unknown, tables: Map<string, Amounts>): void {
  if (ranges === undefined) return
  if (!Array.isArray(ranges)) throw new Unbillable('tiered_pricing is not a list')
  for (const { range, ...costs } of ranges) {
    const from = Number(range?.[0])
    if (!Number.isInteger(from) || from % 1_000 !== 0) throw new Unbillable(`a range begins at ${range?.[0]}`)
    for (const [field, value] of Object.entries(costs)) {
      const row = rows[field]
      if (row) add(tables, `${from === 0 ? '' : from / 1_000}/`, row, `${field} of a range`, value)
      else if (!isSame(value, costs[repeated[field] ?? '']))
        throw new Unbillable(`${field} of a range has no unit here`)
    }
  }
}

function add(tables: Map<string, Amounts>, name: string, row: Row, field: string, value: unknown): void {
  const table = tables.get(name) ?? {}
  tables.set(name, table)
  const amount = amountOf(field, value, row.times)
  const earlier = table[row.key]
  if (earlier !== undefined && earlier !== amount)
    throw new Unbillable(`${row.key} is ${earlier} and ${amount}`)
  table[row.key] = amount
}

/** The tables as one price list. A tier that lacks some price of the standard list is not sold. */
function assembled(tables: ReadonlyMap<string, Amounts>, searches: Amounts): Price {
  const usual = withRanges(tables, '')
  if (Object.keys(usual).length === 0) throw new Unbillable('the source has no price')
  const tiers = TIERS.flatMap((tier) => {
    const prices = withRanges(tables, tier)
    return isLike(prices, usual) ? [[tier, factorBetween(usual, prices) ?? prices] as const] : []
  })
  const first = { ...usual, ...searches }
  return tiers.length > 0 ? { ...first, service_tiers: Object.fromEntries(tiers) } : first
}

/** The common factor between all prices of two lists, such as `0.5`; undefined if the factors differ. */
function factorBetween(one: object, other: object): string | undefined {
  const factors = new Set(
    Object.entries(one).map(([key, value]) => {
      const times = (other as Record<string, unknown>)[key]
      if (isObject(value) && isObject(times)) return factorBetween(value, times)
      const [from, to] = [fineAmount(String(value)), fineAmount(String(times))]
      const parts = to * 10n ** BigInt(FACTOR_DECIMALS)
      return from > 0n && parts % from === 0n ? formatDecimal(parts / from, FACTOR_DECIMALS) : undefined
    }),
  )
  const [factor] = factors
  return factors.size === 1 ? factor : undefined
}

/** The prices of a tier with those of longer prompts, shortest first. */
function withRanges(tables: ReadonlyMap<string, Amounts>, tier: string): Omit<Price, 'service_tiers'> {
  const base = tables.get(`/${tier}`) ?? {}
  const ranges = [...tables.keys()]
    .filter((name) => name.endsWith(`/${tier}`) && !name.startsWith('/'))
    .sort((one, other) => Number.parseInt(one, 10) - Number.parseInt(other, 10))
    .map((name) => {
      const prices = tables.get(name) ?? {}
      if (!isLike(prices, base))
        throw new Unbillable(`prices above ${name.split('/')[0]}k are not of the same units`)
      return [`above_${name.split('/')[0]}k`, prices] as const
    })
  return { ...base, ...Object.fromEntries(ranges) }
}

/** Amounts in printing order, without zeros that no family needs. */
function readable(amounts: Amounts, needed: readonly string[]): Amounts {
  const listed = Object.entries(amounts).filter(([key, amount]) => needed.includes(key) || !isZero(amount))
  return Object.fromEntries(listed.sort(([one], [other]) => ORDER.indexOf(one) - ORDER.indexOf(other)))
}

function isLike(prices: object, other: object): boolean {
  return Object.keys(prices).sort().join() === Object.keys(other).sort().join()
}

/** The price per thousand searches or prompts, if it does not depend on the size of the search; otherwise empty. */
function searchesOf(
  { search_context_cost_per_query: costs, web_search_billing_unit: unit }: Entry,
  searches: NonNullable<PriceOptions['searches']>,
  searchPrice: string | undefined,
): Amounts {
  if (!isObject(costs)) return searchPrice === undefined ? {} : { per_1k_web_searches: searchPrice }
  const [cost, ...others] = new Set(Object.values(costs))
  if (others.length > 0) return {}
  const amount = amountOf('search_context_cost_per_query', cost, 1_000)
  const isEach = searches === 'each' || unit === 'per_query'
  return { [isEach ? 'per_1k_web_searches' : 'per_1k_grounded_prompts']: amount }
}

/** An amount of the source times a number, as a decimal: `1.25e-07` per million is `0.125`. Exact. */
export function amountOf(field: string, value: unknown, times: number): string {
  const match = typeof value === 'string' ? /^(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(value) : null
  if (!match) throw new Unbillable(`${field} is ${JSON.stringify(value)}, which is not an amount`)
  const [, whole = '', fraction = '', exponent = '0'] = match
  const digits = BigInt(whole + fraction) * BigInt(times)
  const decimals = fraction.length - Number(exponent)
  if (decimals <= 0) return formatDecimal(digits * 10n ** BigInt(-decimals) * 100n, 2)
  return formatDecimal(digits, decimals)
}

function isSame(one: unknown, other: unknown): boolean {
  return other !== undefined && amountOf('', one, 1) === amountOf('', other, 1)
}

function isZero(value: unknown): boolean {
  return typeof value === 'string' && /^0*(\.0*)?$/.test(value)
}
