// Prices in the configuration: how they are written, possible faults, and how they are shown. A typing error in a price must stop
// the start; it must never under-bill.

import type { Family } from '../../contract/family'
import { FACTOR_DECIMALS, isBaseTier, type PriceList, type Prices, picoTimes } from '../../contract/prices'
import { type PriceKey, rowOf, type Unit, unitOfKey, units } from '../../contract/units'
import { formatDecimal, parseDecimal } from '../../lib/money'
import { isObject } from '../../lib/objects'

/** Dollars as a decimal string such as `0.25`; for some units one per size, quality or resolution. */
export type Amounts = { [key in PriceKey]?: string | Record<string, string> }
/** Prices of requests with longer prompts: `above_200k` for those of more than 200,000 input tokens, `above_1m`. */
type ByLength = { [above: `above_${string}`]: Amounts }

export type PriceConfig = Amounts &
  ByLength & {
    /**
     * Prices by the service tier that the vendor reports: a factor on the prices above such as `0.5`, or other prices.
     */
    service_tiers?: Record<string, string | (Amounts & ByLength)>
    /** The minimum price of a charged request. */
    minimum?: string
    /** The page where the vendor lists these prices, and when it was read: `2026-11`, `2026-11-05`. For people only. */
    source?: string
    as_of?: string
  }

type Listed = PriceList['tables'][number]['listed']

/** Decimals of a whole pico-dollar. */
const DECIMALS = 12
const DAY = /^20\d\d-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?$/
const KNOWN_KEYS = units.map((unit) => rowOf(unit).key).join(', ')
const ABOVE = /^above_([1-9]\d{0,8})(k|m)?$/

/** Faults in the prices of a model of these families, each with its place below them. */
export function priceFaults(price: unknown, families: readonly Family[]): string[] {
  if (!isObject(price)) return [': expected prices such as { per_1m_input_tokens: "0.25" }']
  const { service_tiers: tiers, minimum, source = '', as_of: asOf = '2026-11', ...base } = price
  const faults = [
    ...rangeFaults(base, '', ', service_tiers, minimum, source and as_of'),
    ...(typeof source === 'string' ? [] : ['.source: expected the address of a page, or its name']),
    ...(typeof asOf === 'string' && DAY.test(asOf)
      ? []
      : ['.as_of: expected a month or a day such as "2026-11-05"']),
    ...(minimum === undefined ? [] : amountFaults(minimum, DECIMALS).map((fault) => `.minimum: ${fault}`)),
    ...(tiers === undefined ? [] : tierFaults(tiers, base)),
  ]
  return faults.length > 0 ? faults : familyFaults(price as PriceConfig, families)
}

function familyFaults(price: PriceConfig, families: readonly Family[]): string[] {
  const faults: string[] = []
  const tiered = Object.entries(price).find(([key, amount]) => unitOfKey(key) && typeof amount === 'object')
  for (const family of families) {
    if (tiered && !family.tier) {
      faults.push(`.${tiered[0]}: the family ${family.name} has no tiers: give one amount`)
    }
    const lacking = family.units.map((list) =>
      list.map((unit) => rowOf(unit).key).filter((key) => !(key in price)),
    )
    if (lacking.some((keys) => keys.length === 0)) continue
    const wanted = lacking.map((keys) => keys.join(' and ')).join(', or ')
    faults.push(`: the family ${family.name} needs ${wanted}`)
  }
  return faults
}

/** Faults in prices, and in those of longer prompts. */
function rangeFaults(table: Record<string, unknown>, place: string, more = ''): string[] {
  const ranges = Object.entries(table).filter(([key]) => key.startsWith('above_'))
  const own =
    ranges.length === 0
      ? table
      : Object.fromEntries(Object.entries(table).filter(([key]) => !key.startsWith('above_')))
  const known = `there are ${KNOWN_KEYS}, above_200k and the like${more}`
  return [
    ...tableFaults(own, place, known),
    ...ranges.flatMap(([key, prices]) => {
      const at = `${place}.${key}`
      if (!ABOVE.test(key)) return [`${at}: a number of input tokens such as above_200k or above_1m`]
      if (!isObject(prices)) return [`${at}: expected prices`]
      const other = ranges.find(([range]) => range !== key && thresholdOf(range) === thresholdOf(key))
      if (other) return [`${at}: says the same as ${other[0]}`]
      return [...tableFaults(prices, at, 'there are the same as above'), ...sameKeys(prices, own, at)]
    }),
  ]
}

function tierFaults(tiers: unknown, base: Record<string, unknown>): string[] {
  if (!isObject(tiers)) return ['.service_tiers: expected tiers such as { flex: "0.5" }']
  return Object.entries(tiers).flatMap(([tier, prices]) => {
    const at = `.service_tiers.${tier}`
    if (isBaseTier(tier)) return [`${at}: the usual prices go above`]
    if (typeof prices === 'string') {
      const factor = parseDecimal(prices, FACTOR_DECIMALS)
      return typeof factor === 'bigint' && factor > 0n
        ? []
        : [`${at}: "${prices}" is not a factor such as "0.5"`]
    }
    if (!isObject(prices)) return [`${at}: expected a factor such as "0.5", or prices`]
    const lengths = Object.keys(base).filter((key) => key.startsWith('above_') && !(key in prices))
    return [
      ...rangeFaults(prices, at),
      ...sameKeys(prices, base, at),
      ...lengths.map((key) => `${at}: ${key} is missing, which the prices above have`),
    ]
  })
}

/** Faults in one table: unknown names and invalid amounts. */
function tableFaults(table: Record<string, unknown>, place: string, known: string): string[] {
  return Object.entries(table).flatMap(([key, amount]) => {
    const unit = unitOfKey(key)
    const at = `${place}.${key}`
    if (!unit) return [`${at}: there is no such price; ${known}`]
    const { per, variants } = rowOf(unit)
    const decimals = decimalsOf(per)
    if (typeof amount === 'string') return amountFaults(amount, decimals).map((fault) => `${at}: ${fault}`)
    if (!isObject(amount)) return [`${at}: expected dollars as a text such as "0.25"`]
    if (!variants) return [`${at}: has one amount, such as "0.25"`]
    if (Object.keys(amount).length === 0) return [`${at}: expected an amount for each size or the like`]
    return Object.entries(amount).flatMap(([variant, each]) =>
      amountFaults(each, decimals).map((fault) => `${at}.${variant}: ${fault}`),
    )
  })
}

function amountFaults(amount: unknown, decimals: number): string[] {
  if (typeof amount !== 'string') return ['expected dollars as a text such as "0.25"']
  const pico = parseDecimal(amount, decimals)
  if (pico === undefined) return [`"${amount}" is not an amount of dollars such as "0.25"`]
  if (pico === 'too fine') {
    return [`"${amount}" is not a whole number of pico-dollars for one: use at most ${decimals} decimals`]
  }
  return pico <= Number.MAX_SAFE_INTEGER ? [] : [`"${amount}" is more than $9,007 for one`]
}

/**
 * Faults of a table that replaces another but lacks some of its names. Such a gap would bill nothing by an oversight.
 */
function sameKeys(table: Record<string, unknown>, base: Record<string, unknown>, place: string): string[] {
  const names = (of: Record<string, unknown>, keepFlat: boolean) =>
    Object.keys(of).filter((key) => {
      const unit = unitOfKey(key)
      return unit !== undefined && (keepFlat || !rowOf(unit).flat)
    })
  return [
    ...names(base, false)
      .filter((key) => !(key in table))
      .map((key) => `${place}: ${key} is missing, which the prices above have`),
    ...names(table, true)
      .filter((key) => !(key in base))
      .map((key) => `${place}.${key}: the prices above have none`),
  ]
}

/** Decimals of an amount for `per` units: no finer than a whole pico-dollar each, or than rounding to it can distinguish. */
function decimalsOf(per: number): number {
  return DECIMALS - zerosOf(per)
}

function zerosOf(per: number): number {
  let zeros = 0
  for (let power = 1; power < per; power *= 10) zeros++
  return zeros
}

/** Pico-dollars for one unit, from an amount for `per` units; rounded up if a minute has no whole number a second. */
function picoOf(text: string, per: number): number {
  return Math.ceil((Number(parseDecimal(text, decimalsOf(per))) * 10 ** zerosOf(per)) / per)
}

/** The price list of a model that has no faults. */
export function priceListOf({ free, price }: { free?: true; price?: PriceConfig }): PriceList {
  if (free || !price) {
    const listed = Object.fromEntries(units.map((unit) => [unit, 0]))
    return { isFree: true, tables: [{ tier: null, above: 0, minimumPico: 0, listed }] }
  }
  const { service_tiers: tiers = {}, minimum = '0', source: _, as_of: __, ...base } = price
  const minimumPico = Number(parseDecimal(minimum, DECIMALS))
  const usual = rangesOf(base, listedOf(base))
  const special = Object.entries(tiers).flatMap(([tier, prices]) => {
    const ranges =
      typeof prices === 'string'
        ? usual.map(({ above, listed }) => ({ above, listed: multiplied(listed, prices) }))
        : rangesOf(prices, { ...flatOf(listedOf(base)), ...listedOf(prices) })
    return ranges.map((range) => ({ ...range, tier, minimumPico }))
  })
  return {
    isFree: false,
    tables: [...usual.map((range) => ({ ...range, tier: null, minimumPico })), ...special],
  }
}

function rangesOf(config: Amounts & ByLength, listed: Listed): { above: number; listed: Listed }[] {
  const longer = Object.entries(config).flatMap(([key, prices]) => {
    const above = thresholdOf(key)
    if (above === undefined) return []
    return [{ above, listed: { ...flatOf(listed), ...listedOf(prices as Amounts) } }]
  })
  return [{ above: 0, listed }, ...longer]
}

/** Input tokens of a key such as `above_200k`. */
function thresholdOf(key: string): number | undefined {
  const [, count, factor] = ABOVE.exec(key) ?? []
  return count === undefined
    ? undefined
    : Number(count) * (factor === 'm' ? 1_000_000 : factor === 'k' ? 1_000 : 1)
}

function listedOf(amounts: Amounts): Listed {
  const listed: Listed = {}
  // In the order of the table, because a charge stores its prices as text.
  const named = Object.keys(amounts).flatMap((key) => unitOfKey(key) ?? [])
  if (named.length > 1) named.sort((one, other) => units.indexOf(one) - units.indexOf(other))
  for (const unit of named) {
    const { key, per } = rowOf(unit)
    const amount = amounts[key]
    if (amount !== undefined) listed[unit] = eachOf(amount, (text: string) => picoOf(text, per))
  }
  return listed
}

function flatOf(listed: Listed): Listed {
  return Object.fromEntries(Object.entries(listed).filter(([unit]) => rowOf(unit as Unit).flat))
}

/**
 * Prices raised by a percentage such as `12.5`, each rounded up to what a price can express. Factors of service tiers stay, and the
 * vendor's page is not stated for the new prices.
 */
export function markedUp({ source: _, as_of: __, ...price }: PriceConfig, percent: string): PriceConfig {
  const part = 10n ** BigInt(FACTOR_DECIMALS)
  const factor = 100n * part + (parseDecimal(percent, FACTOR_DECIMALS) as bigint)
  const raised = (amount: string, decimals: number) => {
    const most = (parseDecimal(amount, decimals) as bigint) * factor
    return formatDecimal((most + 100n * part - 1n) / (100n * part), decimals)
  }
  const walk = (value: unknown, key: string, decimals: number): unknown => {
    if (typeof value === 'string') return key === '' ? value : raised(value, decimals)
    return Object.fromEntries(
      Object.entries(value as object).map(([name, each]) => {
        const unit = unitOfKey(name)
        if (unit) return [name, walk(each, name, decimalsOf(rowOf(unit).per))]
        if (name === 'minimum') return [name, walk(each, name, DECIMALS)]
        // A variant of a unit has the decimals of the unit; below a service tier a text is a factor.
        return [name, walk(each, key, decimals)]
      }),
    )
  }
  return walk(price, '', 0) as PriceConfig
}

/** The price times a factor, rounded up to whole pico-dollars. */
function multiplied(listed: Listed, text: string): Listed {
  const factor = parseDecimal(text, FACTOR_DECIMALS) as bigint
  return Object.fromEntries(
    Object.entries(listed).map(([unit, price]) => [
      unit,
      rowOf(unit as Unit).flat ? price : eachOf(price, (pico) => picoTimes(pico, factor)),
    ]),
  )
}

function eachOf<From, To>(
  price: From | Record<string, From>,
  change: (each: From) => To,
): To | Record<string, To> {
  if (!isObject(price)) return change(price as From)
  return Object.fromEntries(Object.entries(price).map(([variant, each]) => [variant, change(each as From)]))
}

export interface DescribedPrices {
  [key: string]: string | DescribedPrices
}

/** A price list in the terms of the configuration, for people and for `models list --json`. */
export function describePriceList({ tables }: PriceList): DescribedPrices {
  const described: DescribedPrices = {}
  const tiers: DescribedPrices = {}
  for (const { tier, above, minimumPico, listed } of tables) {
    const into = tier === null ? described : ((tiers[tier] ?? {}) as DescribedPrices)
    if (tier !== null) tiers[tier] = into
    if (above === 0) Object.assign(into, describeListed(listed))
    else into[aboveKey(above)] = describeListed(listed)
    if (minimumPico > 0 && tier === null && above === 0) described.minimum = dollars(minimumPico, 1)
  }
  return Object.keys(tiers).length > 0 ? { ...described, service_tiers: tiers } : described
}

/** Prices in the terms of the configuration. */
export function describePrices(prices: Prices): Record<string, string> {
  return describeListed(prices) as Record<string, string>
}

function describeListed(listed: Listed): DescribedPrices {
  const described: DescribedPrices = {}
  for (const unit of units) {
    const { key, per } = rowOf(unit)
    const price = listed[unit]
    if (price !== undefined) described[key] = eachOf(price, (pico: number) => dollars(pico, per))
  }
  return described
}

/** The key for a number of input tokens: `above_200k`. */
export function aboveKey(above: number): string {
  if (above % 1_000_000 === 0) return `above_${above / 1_000_000}m`
  return above % 1_000 === 0 ? `above_${above / 1_000}k` : `above_${above}`
}

/** Pico-dollars as dollars. */
export function dollarsOfOne(pico: number): string {
  return formatDecimal(BigInt(pico), DECIMALS)
}

/** Dollars as they were written, even if the unit price was rounded up. */
function dollars(pico: number, per: number): string {
  const rounding = (BigInt(pico) * BigInt(per)) % 10n ** BigInt(zerosOf(per))
  return formatDecimal(BigInt(pico) * BigInt(per) - rounding, DECIMALS)
}
