// Derives the quantities of a charge from its stored data, and prices them by another list. Pure. It must never guess: quantities
// are valid only if they give exactly the charged price at the prices stored with the charge.

import {
  type BilledTable,
  hasPrice,
  type PriceList,
  type Tariff,
  tableNano,
  tableOfTier,
  tariffOfVariant,
  variantsOf,
} from '../../contract/prices'
import {
  addQuantities,
  callUnits,
  inputTokensOf,
  type Quantities,
  rowOf,
  type Unit,
  units,
} from '../../contract/units'
import { readingsOf } from '../../families/stored-usage'

/** Reasons why a charge cannot be priced by another list. It then keeps its amount. */
export type Unpriced =
  /** The quantities are not stored, or do not give the charged price. */
  | 'usage'
  /** The answer was cut at the held amount, which depends on the price. */
  | 'cut'
  /** The stored price list is missing, or in a form that cannot be read. */
  | 'prices'
  /** The new prices do not include the model. */
  | 'model'
  /** The plan of the account is not configured. */
  | 'plan'
  /** The new prices lack a unit that was used. */
  | 'unit'
  /** The price depends on a size, quality or resolution that is not stored. */
  | 'variant'
  /** The request made several calls, and the new price depends on the length of each. */
  | 'calls'

/** A settled charge, with the members that its use and its price need. */
export interface StoredUse {
  /** The charged price in nano-dollars: the amount and the shortfall. */
  priceNano: number
  endedBy: string
  /** The vendor's usage object, unchanged. */
  usageJson: string | null
  /** Quantities from a task or the request log; undefined if neither has any. */
  recorded: Quantities | undefined
}

/** The quantities of a charge and the table that billed them. */
export interface RecordedUse {
  quantities: Quantities
  /** The stored table that gives the charged price. */
  table: BilledTable
  /** Input tokens of the longest call; undefined if there were several calls of unknown length. */
  longestPrompt: number | undefined
}

/** Finds the quantities of a charge by its stored prices. Returns the reason if they cannot be derived. */
export function recordedUse(charge: StoredUse, tariff: Tariff): RecordedUse | Unpriced {
  const calls = callsIn(charge.usageJson)
  // A usage object may not count calls of tools, and a price of zero does not reveal them.
  const hasFreeCalls = tariff.tables.some(({ prices }) => callUnits.some((unit) => prices[unit] === 0))
  const read = calls && !hasFreeCalls ? sumOf(calls) : []
  const groups: Quantities[][] = [
    charge.recorded ? [charge.recorded] : [],
    read,
    onlyQuantity(charge, tariff),
  ]
  for (const candidates of groups) {
    const found = matchOf(candidates, charge.priceNano, tariff)
    if (found) return { ...found, longestPrompt: longestOf(charge.usageJson, calls, found.quantities) }
  }
  return charge.endedBy === 'balance' ? 'cut' : 'usage'
}

/** The only candidate that gives the price; undefined if none does, or several that differ. */
function matchOf(
  candidates: readonly Quantities[],
  priceNano: number,
  { tables }: Tariff,
): Pick<RecordedUse, 'quantities' | 'table'> | undefined {
  const found = new Map<string, Pick<RecordedUse, 'quantities' | 'table'>>()
  for (const candidate of candidates) {
    for (const table of tables) {
      const quantities = billedIn(candidate, table)
      if (!quantities || tableNano(quantities, table) !== priceNano) continue
      const name = JSON.stringify(units.map((unit) => quantities[unit] ?? 0))
      if (!found.has(name)) found.set(name, { quantities, table })
    }
  }
  const [first, ...others] = found.values()
  return others.length === 0 ? first : undefined
}

/** Quantities as a table bills them; undefined if one is invalid. */
function billedIn(quantities: Quantities, table: BilledTable): Quantities | undefined {
  const priced = pricedIn(quantities, table)
  if (!priced || table.prices.request === undefined) return priced
  return { request: 1, ...priced }
}

/** Quantities that have a price; undefined if one is invalid. */
function pricedIn(quantities: Quantities, { prices }: BilledTable): Quantities | undefined {
  const priced: Quantities = {}
  for (const unit of units) {
    const count = quantities[unit] ?? 0
    if (!Number.isSafeInteger(count) || count < 0) return undefined
    if (count > 0 && prices[unit] !== undefined) priced[unit] = count
  }
  return priced
}

/** The readings of each call in a usage object, or in a list of several. Undefined if nothing is stored. */
function callsIn(usageJson: string | null): Quantities[][] | undefined {
  if (usageJson === null) return undefined
  let usage: unknown
  try {
    usage = JSON.parse(usageJson)
  } catch {
    return undefined
  }
  return [usage].flat().map(readingsOf)
}

/** The readings of one call, or the sum of several that can each be read in only one way. */
function sumOf(calls: readonly Quantities[][]): Quantities[] {
  if (calls.length === 1) return calls[0] as Quantities[]
  const sum: Quantities = {}
  for (const readings of calls) {
    const [reading] = readings
    if (!reading || readings.length > 1) return []
    addQuantities(sum, reading)
  }
  return calls.length === 0 ? [] : [sum]
}

function longestOf(
  usageJson: string | null,
  calls: readonly Quantities[][] | undefined,
  paid: Quantities,
): number | undefined {
  if (!usageJson?.startsWith('[') || calls?.length === 1) return inputTokensOf(paid)
  const lengths = calls?.map((readings) =>
    readings.length === 1 ? inputTokensOf(readings[0] as Quantities) : undefined,
  )
  if (!lengths || lengths.length === 0 || lengths.includes(undefined)) return undefined
  return Math.max(...(lengths as number[]))
}

/**
 * The quantity of a list with a single unit, such as pictures or characters, computed from the price. It is exact if the price is above
 * the minimum and one unit costs at least a nano-dollar; otherwise the result is empty.
 */
function onlyQuantity({ priceNano, endedBy }: StoredUse, { tables }: Tariff): Quantities[] {
  const [table] = tables
  if (tables.length > 1 || endedBy === 'balance' || table.share !== undefined) return []
  const { request = 0, ...others } = table.listed
  const [[unit, each] = [], more] = Object.entries(others) as [Unit, number][]
  if (unit === undefined || each === undefined || more) return []
  // Tokens of several kinds may have had the same price.
  if (rowOf(unit).tokens || isFallback(unit) || each < PICO_PER_NANO) return []
  const count = Math.floor((priceNano * PICO_PER_NANO - request) / each)
  const isMinimum = count * each + request <= table.minimumPico
  return count > 0 && Number.isSafeInteger(count * each) && !isMinimum ? [{ [unit]: count }] : []
}

const PICO_PER_NANO = 1_000

function isFallback(unit: Unit): boolean {
  return units.some((other) => rowOf(other).fallback === unit)
}

/**
 * Prices a recorded use by a list, in nano-dollars. `variants` returns the possible sizes, qualities or resolutions; the price is known
 * only if all of them have the same one.
 */
export function priceOfUse(
  use: RecordedUse,
  prices: PriceList,
  variants: () => readonly string[],
): number | Unpriced {
  const lacking = (quantities: Quantities, table: BilledTable) =>
    pricesAll(quantities, table) ? tableNano(quantities, table) : 'unit'
  return byEachTariff(use, prices, variants, lacking, use.table.share)
}

/** The vendor's cost of a recorded use, in nano-dollars. Units without a cost are free. */
export function costOfUse(
  use: RecordedUse,
  costs: PriceList,
  variants: () => readonly string[],
): number | Unpriced {
  const asked = (quantities: Quantities, table: BilledTable) =>
    tableNano(pricedIn(quantities, table) ?? {}, table)
  // An answer from the response cache costs nothing at the vendor.
  return byEachTariff(use, costs, variants, asked, use.table.share === undefined ? undefined : 0)
}

function byEachTariff(
  { quantities, table, longestPrompt }: RecordedUse,
  prices: PriceList,
  variants: () => readonly string[],
  nanoOf: (quantities: Quantities, table: BilledTable) => number | Unpriced,
  share: number | undefined,
): number | Unpriced {
  const plain = tariffOfVariant(prices, [])
  const tariffs = plain ? [plain] : variants().map((name) => tariffOfVariant(prices, [name]))
  const { request = 1, ...others } = quantities
  // A price per request applies once, unless the stored list had one and did not apply it.
  const isCounted = table.prices.request === undefined || quantities.request !== undefined
  const used = hasPrice(prices, 'request') && isCounted ? { ...others, request } : others
  const found = new Set<number | Unpriced>(
    tariffs.map((tariff) => {
      if (!tariff) return 'variant'
      const isByLength = tariff.tables.some(({ above }) => above > 0)
      if (isByLength && longestPrompt === undefined) return 'calls'
      const priced = tableOfTier(tariff, table.tier, longestPrompt ?? 0)
      return nanoOf(used, share === undefined ? priced : { ...priced, share })
    }),
  )
  const [nano = 'variant', ...more] = found
  return more.length === 0 ? nano : 'variant'
}

function pricesAll(quantities: Quantities, { prices }: BilledTable): boolean {
  return Object.entries(quantities).every(
    ([unit, count]) => count === 0 || prices[unit as Unit] !== undefined,
  )
}

/** Names of variants with which some of the lists give exactly the prices stored with a charge. */
export function variantsStored(stored: Tariff, lists: readonly PriceList[]): string[] {
  const names = lists.flatMap((list) =>
    variantsOf(list).filter((name) => {
      const tables = tariffOfVariant(list, [name])?.tables ?? []
      return stored.tables.every(({ json }) => tables.some((table) => table.json === json))
    }),
  )
  return [...new Set(names)]
}
