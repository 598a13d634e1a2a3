// Computes the savings of vendors' prompt caches and of the response cache, charge by charge, by the prices that were stored with
// each. It must never write or guess: a charge whose quantities do not give its price counts as unknown.

import { type BilledTable, STORED_SHARE, type Tariff, tableNano, tariffOfJson } from '../../contract/prices'
import { type Quantities, rowOf, type Unit, units } from '../../contract/units'
import type { Db, Row } from '../../db/db'
import { type ArchivedCharge, archivedCharge, pagesOfCharges, readReferences } from '../ledger/charge-rows'
import type { Series } from '../ledger/shared-rows'
import { closedPart } from '../proofs/closings'
import { recordedUse } from '../rehearsal/recorded-use'
import { type Usage, type UsageDimension, valueIn } from './usage-report'
import { DAY_MS, HOUR_MS, positionsBetween } from './usage-totals'

/** Savings of the charges of a series that ended in the same hour. */
export interface CacheSaving {
  series: Series
  /** The metadata of the series as JSON, or its number if it has none. */
  metadata: string
  /** The beginning of the hour, in milliseconds since 1970. */
  hour: number
  /** The price of cached input as uncached input, or of a whole answer from the response cache, minus what was charged for it. */
  savedNano: bigint
  /** Charges with cached input whose quantities are unknown. */
  unknown: number
}

/** Sums of savings. */
export type SavedSums = Pick<CacheSaving, 'savedNano' | 'unknown'>

export interface CacheSavings {
  savings: readonly CacheSaving[]
  /** The time since which charges were read: those of closed months are in archives. */
  since: number
}

interface SavingsPeriod {
  since: number
  until: number
  account?: string | undefined
  keyId?: string | undefined
  /** Looks up quantities outside the ledger, by charge id. */
  recorded(charges: readonly ArchivedCharge[]): Promise<ReadonlyMap<string, Quantities>>
}

/** Units of cached input, each with the unit for uncached input. */
const CACHED = units
  .filter((unit) => unit.startsWith('cached_'))
  .map((unit) => [unit, rowOf(unit).fallback] as const)

/** Text that occurs in each usage object in which a vendor reports cached input. */
const REPORTS_CACHE = /cach/i

/** Whether the price list of a charge is that of an answer from the response cache. */
function isShared(prices: string | null | undefined): boolean {
  return prices?.includes(STORED_SHARE) ?? false
}

/** Number of charges that are priced before other work of the process may run. */
const TURN = 250
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** The savings of charges that ended in a period, by series and hour. */
export async function cacheSavings(db: Db, period: SavingsPeriod): Promise<CacheSavings> {
  const { endedBefore } = await closedPart(db)
  const ranges = await positionsBetween(db, period.since, period.until)
  const references = await readReferences(db)
  const sums = new Map<string, CacheSaving>()
  const tariffs = new Map<string, Tariff | undefined>()
  const isWanted = (row: Row) => {
    const series = references.series.get(row.series as number)
    const at = row.ended_at as number
    if (at < period.since || at >= period.until) return false
    if (row.usage === null && !isShared(references.priceLists.get(row.price_list as number))) return false
    if (period.account !== undefined && series?.account !== period.account) return false
    return period.keyId === undefined || series?.keyId === period.keyId
  }
  for (const [after, to] of ranges) {
    for await (const { rows } of pagesOfCharges(db, after, to)) {
      const charges = rows.filter(isWanted).map((row) => archivedCharge(row, references))
      for (const { charge, savedNano } of await savedBy(charges, tariffs, period)) {
        const hour = charge.ended_at - (charge.ended_at % HOUR_MS)
        const series = references.series.get(charge.series) as Series
        const metadata = charge.metadata ?? String(series.metadataId ?? 0)
        const name = `${charge.series} ${hour}`
        const sum = sums.get(name) ?? { series, metadata, hour, savedNano: 0n, unknown: 0 }
        sums.set(name, sum)
        if (savedNano === undefined) sum.unknown++
        else sum.savedNano += BigInt(savedNano)
      }
    }
  }
  return { savings: [...sums.values()], since: Math.max(period.since, endedBefore) }
}

/** Savings by one or two dimensions, for rows of usage with the same dimensions. `nameOfKey` returns the name of a key by its id. */
export function savingsBy(
  savings: readonly CacheSaving[],
  [dimension, second]: readonly [UsageDimension, UsageDimension | undefined],
  nameOfKey: (id: string) => string,
): (used: Pick<Usage, 'name' | 'second'>) => SavedSums {
  const nameIn = (each: CacheSaving, by: UsageDimension) => nameOfSaving(each, by, nameOfKey)
  const sums = Map.groupBy(savings, (each) =>
    JSON.stringify([nameIn(each, dimension), second === undefined ? null : nameIn(each, second)]),
  )
  return ({ name, second: other }) => sumSavings(sums.get(JSON.stringify([name, other ?? null])) ?? [])
}

export function sumSavings(savings: readonly SavedSums[]): SavedSums {
  return {
    savedNano: savings.reduce((sum, { savedNano }) => sum + savedNano, 0n),
    unknown: savings.reduce((sum, { unknown }) => sum + unknown, 0),
  }
}

function nameOfSaving(
  { series, metadata, hour }: CacheSaving,
  by: UsageDimension,
  nameOfKey: (id: string) => string,
): string {
  switch (by) {
    case 'key':
      return nameOfKey(series.keyId)
    case 'account':
    case 'model':
    case 'operation':
      return series[by]
    case 'hour':
      return String(hour)
    case 'day':
      return String(hour - (hour % DAY_MS))
    default:
      return valueIn(metadata, by)
  }
}

/** The charges with cached input, each with its savings; undefined if its quantities are unknown. */
async function savedBy(
  charges: readonly ArchivedCharge[],
  tariffs: Map<string, Tariff | undefined>,
  { recorded }: SavingsPeriod,
): Promise<{ charge: ArchivedCharge; savedNano: number | undefined }[]> {
  const found: { charge: ArchivedCharge; savedNano: number | undefined }[] = []
  const open: (readonly [ArchivedCharge, Tariff])[] = []
  for (const [index, charge] of charges.entries()) {
    if (index % TURN === TURN - 1) await nextTurn()
    const { state, usage, prices } = charge
    if (state !== 'settled' || prices === null) continue
    if (!isShared(prices) && !REPORTS_CACHE.test(usage ?? '')) continue
    const tariff = tariffOf(prices, tariffs)
    if (!tariff) found.push({ charge, savedNano: undefined })
    if (!tariff || (!isShared(prices) && !tariff.tables.some(hasCachedPrice))) continue
    const savedNano = savedNanoOf(charge, tariff, undefined)
    if (savedNano === undefined) open.push([charge, tariff])
    else found.push({ charge, savedNano })
  }
  if (open.length === 0) return found
  // The request log is read only for charges that the ledger leaves unknown.
  const quantities = await recorded(open.map(([charge]) => charge))
  for (const [charge, tariff] of open)
    found.push({ charge, savedNano: savedNanoOf(charge, tariff, quantities.get(charge.id)) })
  return found
}

function tariffOf(json: string, known: Map<string, Tariff | undefined>): Tariff | undefined {
  if (known.has(json)) return known.get(json)
  let tariff: Tariff | undefined
  try {
    tariff = tariffOfJson(json)
  } catch {
    // A form of an earlier version that cannot be read.
  }
  known.set(json, tariff)
  return tariff
}

function hasCachedPrice({ prices }: BilledTable): boolean {
  return CACHED.some(([unit, plain]) => plain !== undefined && isCheaper(prices[unit], prices[plain]))
}

function isCheaper(cached: number | undefined, plain: number | undefined): boolean {
  return cached !== undefined && plain !== undefined && cached !== plain
}

function savedNanoOf(
  { amount, shortfall, ended_by: endedBy, usage: usageJson }: ArchivedCharge,
  tariff: Tariff,
  recorded: Quantities | undefined,
): number | undefined {
  const use = recordedUse({ priceNano: amount + shortfall, endedBy, usageJson, recorded }, tariff)
  if (typeof use === 'string') return undefined
  // An answer from the response cache saves a share of the price of the first one, including its cached input.
  const { share, ...whole } = use.table
  const plain = share === undefined ? withoutCache(use.quantities, use.table) : use.quantities
  return tableNano(plain, whole) - (amount + shortfall)
}

/** Quantities as they would have been without a cache. */
function withoutCache(quantities: Quantities, { prices }: BilledTable): Quantities {
  const plain: Quantities = { ...quantities }
  for (const [unit, other] of CACHED) {
    const count = plain[unit]
    if (count === undefined || other === undefined || prices[other] === undefined) continue
    delete plain[unit]
    plain[other as Unit] = (plain[other as Unit] ?? 0) + count
  }
  return plain
}
