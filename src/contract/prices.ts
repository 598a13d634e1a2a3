// Prices: the cost of one of each unit, and the total cost of quantities, in whole pico-dollars (1 USD = 10^12), summed exactly,
// and rounded up to a nano-dollar once. Nothing here must know a vendor, a database or HTTP.

import { MAX_NANO } from '../lib/money'
import { inputTokensOf, type Quantities, rowOf, type Unit, units } from './units'

const PICO_PER_NANO = 1_000

/** Pico-dollars for one of each unit. */
export type Prices = { [unit in Unit]?: number }

/** The prices of all requests with one service tier and one range of prompt lengths. */
export interface PriceTable<Each = number> {
  /** The service tier, as the vendor's answer names it; null for all tiers without their own table. */
  tier: string | null
  /** The table applies to requests with more input tokens than this. */
  above: number
  /** The minimum charge of a request, in pico-dollars. */
  minimumPico: number
  /** Prices as the configuration lists them. */
  listed: { [unit in Unit]?: Each }
  /** The factor of the plan by which these prices were multiplied, in millionths; absent for prices of the configuration. */
  factor?: number
  /**
   * The share of each price that is charged, in millionths, for an answer from the response cache; absent: all of it.
   */
  share?: number
}

/** A price list of the configuration. A unit may have several variants, such as an image by its size. */
export interface PriceList {
  isFree: boolean
  tables: readonly PriceTable<number | { [variant: string]: number }>[]
}

/** A table by which requests are billed. */
export interface BilledTable extends PriceTable {
  /** Prices, including those of units that use another unit's price. */
  prices: Prices
  /** Amounts to hold for one of each unit: its maximum price. */
  heldPrices: Prices
  /** The table as stored with a charge that it billed. */
  json: string
}

/** The prices of one request, which are also stored with its charge until its table is known. */
export interface Tariff {
  tables: readonly [BilledTable, ...BilledTable[]]
  /** The vendor's prices for the same requests; absent if unknown. */
  cost?: Tariff
  json: string
}

/** The tables by which a request is billed. */
export interface Bill {
  table: BilledTable
  /** The vendor's table; absent if its prices are unknown. */
  cost: BilledTable | undefined
  /** Both as stored with the charge. */
  json: string
}

/** Decimals of a factor on prices: a millionth is finer than any vendor's. */
export const FACTOR_DECIMALS = 6

/** A price times a factor in millionths, rounded up to a whole pico-dollar. */
export function picoTimes(pico: number, factor: bigint): number {
  const one = 10n ** BigInt(FACTOR_DECIMALS)
  return Number((BigInt(pico) * factor + one - 1n) / one)
}

/** The list times a factor in millionths, each price rounded up to a whole pico-dollar. */
export function timesFactor({ isFree, tables }: PriceList, factor: bigint): PriceList {
  const times = (pico: number) => picoTimes(pico, factor)
  return {
    isFree,
    tables: tables.map((table) => ({
      ...table,
      minimumPico: times(table.minimumPico),
      factor: Number(factor),
      listed: Object.fromEntries(
        pricesIn(table.listed).map(([unit, price]) => [
          unit,
          typeof price === 'number'
            ? times(price)
            : Object.fromEntries(Object.entries(price).map(([variant, each]) => [variant, times(each)])),
        ]),
      ),
    })),
  }
}

/** The list if only a share of its prices is charged, in millionths. The sum of a request is rounded up once. */
export function withShare({ isFree, tables }: PriceList, share: number): PriceList {
  return { isFree, tables: tables.map((table) => ({ ...table, share })) }
}

/** A part of the stored price list that only repeated answers have: the member `share`. */
export const STORED_SHARE = '"share"'

/** Whether the list has its own price for a unit. If not, a request must not make the vendor bill it. */
export function hasPrice({ isFree, tables }: PriceList, unit: Unit): boolean {
  return isFree || tables[0]?.listed[unit] !== undefined
}

/** Vendors' names for the default tier. */
const BASE_TIERS: ReadonlySet<string> = new Set(['auto', 'default', 'standard', 'standard_only'])

export function isBaseTier(tier: string): boolean {
  return BASE_TIERS.has(tier)
}

/** Whether the list has prices for a service tier. If not, a request must not ask for it. */
export function hasServiceTier({ isFree, tables }: PriceList, tier: string): boolean {
  return isFree || isBaseTier(tier) || tables.some((table) => table.tier === tier)
}

/** All names by which prices differ, such as sizes. */
export function variantsOf({ tables }: PriceList): string[] {
  const prices = tables.flatMap(({ listed }) => Object.values(listed))
  return [...new Set(prices.flatMap((price) => (typeof price === 'object' ? Object.keys(price) : [])))]
}

/**
 * The prices of a variant, with the vendor's if they are known for it too. Undefined if the list has none of its names for
 * some unit.
 */
export function tariffOfVariant(
  prices: PriceList,
  names: readonly string[],
  costs?: PriceList,
): Tariff | undefined {
  const tables = tablesOfVariant(prices, names)
  return tables && withCost(tariffOfTables(tables), costs && tablesOfVariant(costs, names))
}

function tablesOfVariant({ tables }: PriceList, names: readonly string[]): PriceTable[] | undefined {
  const chosen: PriceTable[] = []
  for (const table of tables) {
    const listed: Prices = {}
    for (const [unit, price] of pricesIn(table.listed)) {
      const each = typeof price === 'number' ? price : variantOf(price, names)
      if (each === undefined) return undefined
      listed[unit] = each
    }
    chosen.push({ ...table, listed })
  }
  return chosen
}

/** A price list together with the vendor's. Units without a price of the vendor are free there. */
function withCost(tariff: Tariff, tables: readonly PriceTable[] | undefined): Tariff {
  if (!tables) return tariff
  const cost = tariffOfTables(tables)
  for (const { prices, heldPrices } of cost.tables) {
    for (const unit of units) {
      prices[unit] ??= 0
      heldPrices[unit] ??= 0
    }
  }
  return { ...tariff, cost, json: jsonOf(tariff.json, cost.json) }
}

/** Prices and costs, as stored together. */
function jsonOf(price: string, cost: string): string {
  return `{"price":${price},"cost":${cost}}`
}

/** The units that have prices, with these: most units have none. */
function pricesIn<Each>(prices: { [unit in Unit]?: Each }): [Unit, Each][] {
  return Object.entries(prices) as [Unit, Each][]
}

function variantOf(prices: { [variant: string]: number }, names: readonly string[]): number | undefined {
  const name = names.find((name) => Object.hasOwn(prices, name))
  return name === undefined ? undefined : prices[name]
}

function tariffOfTables(tables: readonly PriceTable[]): Tariff {
  const [first, ...others] = tables.map((table) => {
    const prices = withFallbacks(table.listed)
    const json = `[${JSON.stringify(stored(table))}]`
    return { ...table, prices, heldPrices: heldPricesOf(prices), json }
  })
  if (!first) throw new Error('a price list without a table')
  const json = others.length === 0 ? first.json : JSON.stringify(tables.map(stored))
  return { tables: [first, ...others], json }
}

/** Units that use the price of another unit if they have none. */
const fallbacks = units.flatMap((unit): [Unit, Unit][] => {
  const { fallback } = rowOf(unit)
  return fallback ? [[unit, fallback]] : []
})

function withFallbacks(listed: Prices): Prices {
  const prices = { ...listed }
  for (const [unit, fallback] of fallbacks) {
    const other = prices[fallback]
    if (other !== undefined) prices[unit] ??= other
  }
  return prices
}

function heldPricesOf(prices: Prices): Prices {
  const held: Prices = {}
  for (const [unit, price] of pricesIn(prices)) {
    held[unit] = (rowOf(unit).becomes ?? []).reduce(
      (most, other) => Math.max(most, prices[other] ?? 0),
      price,
    )
  }
  return held
}

interface StoredTable {
  tier?: string
  above?: number
  minimum?: number
  factor?: number
  share?: number
  pico: Prices
}

function tableOfStored({ tier, above = 0, minimum = 0, factor, share, pico }: StoredTable): PriceTable {
  return {
    tier: tier ?? null,
    above,
    minimumPico: minimum,
    listed: pico,
    ...(factor !== undefined && { factor }),
    ...(share !== undefined && { share }),
  }
}

function stored({ tier, above, minimumPico, factor, share, listed }: PriceTable): StoredTable {
  return {
    ...(tier !== null && { tier }),
    ...(above > 0 && { above }),
    ...(minimumPico > 0 && { minimum: minimumPico }),
    ...(factor !== undefined && { factor }),
    ...(share !== undefined && { share }),
    pico: listed,
  }
}

/** The prices that were stored with a charge. Older charges have one object of nano-dollars per unit. */
export function tariffOfJson(json: string): Tariff {
  const value = JSON.parse(json) as StoredTable[] | { price: StoredTable[]; cost: StoredTable[] } | Prices
  if (Array.isArray(value)) return tariffOfTables(value.map(tableOfStored))
  if ('price' in value)
    return withCost(tariffOfTables(value.price.map(tableOfStored)), value.cost.map(tableOfStored))
  const listed: Prices = { ...value }
  for (const unit of units) {
    const nano = listed[unit]
    if (nano !== undefined) listed[unit] = nano * PICO_PER_NANO
  }
  return tariffOfTables([{ tier: null, above: 0, minimumPico: 0, listed }])
}

/**
 * The table by which a request is billed, from the reported service tier and the reported input tokens, or the longest of several
 * prompts. Without a reported tier, the more expensive of the requested and the default one.
 */
export function billedTable(
  { tables }: Tariff,
  quantities: Quantities,
  reportedTier: string | undefined,
  requestedTier: string | undefined,
  longestPrompt?: number,
): BilledTable {
  const first = tables[0]
  if (tables.length === 1) return first
  const inputTokens = longestPrompt ?? inputTokensOf(quantities)
  const usual = tableFor(tables, null, inputTokens) ?? first
  const reported = reportedTier === undefined ? undefined : tableFor(tables, reportedTier, inputTokens)
  if (reported) return reported
  if (requestedTier === undefined || (reportedTier !== undefined && isBaseTier(reportedTier))) return usual
  // Not reported, or without a price: some vendors report a tier under another name than in the request.
  const asked = tableFor(tables, requestedTier, inputTokens)
  return asked && tableNano(quantities, asked) > tableNano(quantities, usual) ? asked : usual
}

/** The bill for a usage: its price and, if known, the vendor's price for the same. */
export function billByTariff(
  tariff: Tariff,
  quantities: Quantities,
  reportedTier: string | undefined,
  requestedTier: string | undefined,
  longestPrompt?: number,
): Bill {
  const table = billedTable(tariff, quantities, reportedTier, requestedTier, longestPrompt)
  if (!tariff.cost) return { table, cost: undefined, json: table.json }
  const cost = billedTable(tariff.cost, quantities, reportedTier, requestedTier, longestPrompt)
  // Most models have one table of each, whose texts are already built.
  const isWhole = tariff.tables.length === 1 && tariff.cost.tables.length === 1
  return { table, cost, json: isWhole ? tariff.json : jsonOf(table.json, cost.json) }
}

/**
 * The table for a known tier and prompt length. A tier without a table is billed at the standard prices, as when a vendor reports a
 * tier that the list lacks.
 */
export function tableOfTier({ tables }: Tariff, tier: string | null, inputTokens: number): BilledTable {
  return (
    (tier === null ? undefined : tableFor(tables, tier, inputTokens)) ??
    tableFor(tables, null, inputTokens) ??
    tables[0]
  )
}

function tableFor(
  tables: readonly BilledTable[],
  tier: string | null,
  inputTokens: number,
): BilledTable | undefined {
  let found: BilledTable | undefined
  for (const table of tables) {
    const fits = table.tier === tier && isReached(table.above, inputTokens)
    if (fits && (!found || table.above > found.above)) found = table
  }
  return found
}

function isReached(above: number, inputTokens: number): boolean {
  return above === 0 || inputTokens > above
}

/** The cost of quantities by a table, in nano-dollars. */
export function tableNano(quantities: Quantities, { prices, minimumPico, share }: BilledTable): number {
  return priceNano(quantities, prices, minimumPico, share)
}

/** The maximum that quantities can cost, in nano-dollars. */
export function heldNano(tariff: Tariff, quantities: Quantities, requestedTier: string | undefined): number {
  const { heldPrices, minimumPico, share } = heldTable(tariff, quantities, requestedTier)
  return priceNano(quantities, heldPrices, minimumPico, share)
}

/** The most expensive table that a request of at most these quantities can reach. */
export function heldTable(
  { tables }: Tariff,
  quantities: Quantities,
  requestedTier: string | undefined,
): BilledTable {
  const first = tables[0]
  if (tables.length === 1) return first
  const inputTokens = inputTokensOf(quantities)
  // A request that names no tier, or leaves it to the vendor, may get any.
  const isOpen = requestedTier === undefined || requestedTier === 'auto'
  const nanoBy = ({ heldPrices, minimumPico, share }: BilledTable) =>
    priceNano(quantities, heldPrices, minimumPico, share)
  return tables
    .filter(
      ({ tier, above }) =>
        (isOpen || tier === null || tier === requestedTier) && isReached(above, inputTokens),
    )
    .reduce((dearest, table) => (nanoBy(table) > nanoBy(dearest) ? table : dearest), first)
}

/**
 * The cost of quantities in nano-dollars: exact, except that a fraction is rounded up, and that the largest representable amount is
 * the limit. `share` is the part that is charged, in millionths; absent: everything.
 */
export function priceNano(quantities: Quantities, prices: Prices, minimumPico = 0, share?: number): number {
  let pico = 0
  for (const name in quantities) {
    const unit = name as Unit
    const count = quantities[unit]
    if (count === undefined || count === 0) continue
    const each = prices[unit]
    if (each === undefined) throw new Error(`no price for ${unit}`)
    pico += count * each
  }
  // A sum up to nine thousand dollars is exact as a number; a larger one is computed again.
  if (pico > Number.MAX_SAFE_INTEGER) return largeNano(quantities, prices, share)
  if (!Number.isSafeInteger(pico) || pico < 0) throw new RangeError(`not a price: ${pico}`)
  if (pico < minimumPico) pico = minimumPico
  if (share !== undefined) pico = picoTimes(pico, BigInt(share))
  const begun = pico % PICO_PER_NANO
  return (pico - begun) / PICO_PER_NANO + (begun > 0 ? 1 : 0)
}

function largeNano(quantities: Quantities, prices: Prices, share?: number): number {
  let pico = 0n
  for (const unit of units) pico += BigInt(quantities[unit] ?? 0) * BigInt(prices[unit] ?? 0)
  const parts = BigInt(PICO_PER_NANO) * (share === undefined ? 1n : 10n ** BigInt(FACTOR_DECIMALS))
  const nano = Number((pico * BigInt(share ?? 1) + parts - 1n) / parts)
  // No account can have more than this, so a request that may cost more is refused.
  return Math.min(nano, MAX_NANO)
}
