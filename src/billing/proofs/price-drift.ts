// Compares the price that a vendor reports for a request with our price list: with the cost of the model, or, without a cost, with
// its price before any plan. It must never change a charge.

import type { Model } from '../../contract/family'
import { type PriceTable, tariffOfJson } from '../../contract/prices'
import { rowOf, type Unit } from '../../contract/units'
import { isoDay } from '../../db/iso-time'
import { formatUsd } from '../../lib/money'
import type { System } from '../../lib/system'
import { vendorCostOfJson } from './vendor-cost'

/** The amounts of a settled charge, in nano-dollars. */
export interface ListedAmounts {
  /** The price of the usage, before a hold or a balance limits it. */
  priceNano: number
  /** The cost of the same usage; null if the model has none. */
  costNano: number | null
  usageSource: string | null
  /** The table that produced the price. */
  table: Pick<PriceTable, 'listed' | 'factor'>
}

/** The price of a request by our list and by the vendor, in nano-dollars. */
export interface Comparison {
  listNano: number
  vendorNano: number
  /** Whether our amount is a cost or a price. A price may be the operator's own, with a margin. */
  basis: 'cost' | 'price'
}

/** Maximum accepted difference, as a share of our amount. */
export const DRIFT_TOLERANCE = 0.01
/** Maximum difference caused by rounding, in nano-dollars: each amount is rounded up, and so is the price of a plan. */
const ROUNDING_NANO = 2
const ONE = 1_000_000n

/**
 * Both amounts of a request. Undefined if one of them is unknown or zero, or if the gateway did not charge by the vendor's own
 * figures.
 */
export function compareCost(
  { priceNano, costNano, usageSource, table }: ListedAmounts,
  vendorNano: number | undefined,
): Comparison | undefined {
  if (!vendorNano || !isExact(usageSource, table)) return undefined
  const basis = costNano === null ? 'price' : 'cost'
  const listNano = costNano ?? withoutFactor(priceNano, table)
  return listNano > 0 ? { listNano, vendorNano, basis } : undefined
}

/** A charge as stored. */
interface StoredCharge {
  pricesJson: string | null
  usageJson: string | null
  usageSource: string | null
  costNano: number | null
  amountNano: number
  shortfallNano: number
  endedBy: string | null
}

/** Both amounts of a settled charge; undefined as for `compareCost`. */
export function compareCharge(charge: StoredCharge): Comparison | undefined {
  const { pricesJson, costNano, amountNano, shortfallNano, usageSource } = charge
  const vendorNano = vendorCostOfJson(charge.usageJson)
  // An answer that was cut at its hold is charged only up to the hold. Without a cost, its whole price is not stored.
  const isCut = costNano === null && charge.endedBy === 'balance'
  if (vendorNano === undefined || pricesJson === null || isCut) return undefined
  const [table] = tariffOfJson(pricesJson).tables
  return compareCost({ priceNano: amountNano + shortfallNano, costNano, usageSource, table }, vendorNano)
}

/** Whether the charge counts the units that the vendor bills: its own figures, or pictures, seconds and characters. */
function isExact(usageSource: string | null, { listed }: ListedAmounts['table']): boolean {
  if (usageSource === 'counted') return Object.keys(listed).every((unit) => !rowOf(unit as Unit).tokens)
  return usageSource === 'upstream'
}

/** A price without the factor of a plan. */
function withoutFactor(priceNano: number, { factor }: ListedAmounts['table']): number {
  if (factor === undefined) return priceNano
  const millionths = BigInt(factor)
  return Number((BigInt(priceNano) * ONE + millionths / 2n) / millionths)
}

/**
 * Whether the amounts differ by more than a share of ours. An operator's own price is never too high: the difference is the margin.
 */
export function exceedsTolerance(
  { listNano, vendorNano, basis }: { [Name in keyof Comparison]: Comparison[Name] | bigint },
  isListPrice: boolean,
  tolerance = DRIFT_TOLERANCE,
): boolean {
  const apart = Number(vendorNano) - Number(listNano)
  if (apart < 0 && basis === 'price' && !isListPrice) return false
  return Math.abs(apart) > Math.max(ROUNDING_NANO, Number(listNano) * tolerance)
}

/** The vendor's amount minus ours, in percent of ours, with a sign: `+10.00`. */
export function percentDifference(listNano: number | bigint, vendorNano: number | bigint): string {
  const hundredths = ((BigInt(vendorNano) - BigInt(listNano)) * 10_000n) / BigInt(listNano)
  const digits = String(hundredths < 0n ? -hundredths : hundredths).padStart(3, '0')
  return `${hundredths < 0n ? '-' : '+'}${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** A settled request. */
export interface Priced {
  request: string
  model: Pick<Model, 'id' | 'upstream' | 'isListPrice'>
  /** The usage as the vendor wrote it. */
  usageJson: string | null
}

const DAY_MS = 86_400_000
/** Maximum number of models that are reported per day. */
const MAX_MODELS = 10_000

/** Logs the first difference per model and day. */
export class PriceDrifts {
  private readonly world: Pick<System, 'now' | 'log'>
  private day = 0
  private readonly reported = new Set<string>()

  constructor(world: Pick<System, 'now' | 'log'>) {
    this.world = world
  }

  /** Compares a request. `amounts` is called only if the vendor reported a price, because every request passes here. */
  note({ request, model, usageJson }: Priced, amounts: () => ListedAmounts): void {
    const vendorNano = vendorCostOfJson(usageJson)
    if (vendorNano === undefined) return
    // A number rather than text, because every request of such a vendor is checked, and building a text would take longer than the
    // rest of the check.
    const now = this.world.now()
    const day = Math.floor(now / DAY_MS)
    if (day !== this.day) this.reported.clear()
    this.day = day
    const { id, upstream, isListPrice = false } = model
    if (this.reported.has(id) || this.reported.size >= MAX_MODELS) return
    const compared = compareCost(amounts(), vendorNano)
    if (!compared || !exceedsTolerance(compared, isListPrice)) return
    this.reported.add(id)
    const { listNano, basis } = compared
    this.world.log('price_drift', {
      model: id,
      day: isoDay(now),
      upstream: upstream.name,
      request,
      list_usd: formatUsd(listNano),
      vendor_usd: formatUsd(vendorNano),
      percent: percentDifference(listNano, vendorNano),
      basis,
    })
  }
}
