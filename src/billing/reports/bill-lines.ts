// A price as people check it: a line for each quantity with the listed price and its product, and a line for the rest
// of the amount. It must never compute a price that differs from src/contract/prices.ts: the lines of a charge sum to its amount.

import { strict as assert } from 'node:assert'
import { describePrices } from '../../config/models/prices'
import { type BilledTable, type Prices, picoTimes, tableNano, tariffOfJson } from '../../contract/prices'
import { perOf, pluralOf, type Quantities, type Unit, units } from '../../contract/units'
import { formatDecimal } from '../../lib/money'

interface QuantityLine {
  unit: Unit
  count: number
  /** Dollars for `per` units, as in the price list. */
  priceUsd: string
  /** `1M`, `1K`, `minute`; empty for one. */
  per: string
  /** Exact dollars, even below one nano-dollar. */
  amountUsd: string
}

/**
 * Reasons for the rest of an amount: the minimum charge of a request, an answer from the response cache, rounding up, or the limit
 * of a hold or a balance.
 */
type OtherReason = 'minimum' | 'cache' | 'rounding' | 'hold' | 'shortfall'

/** A charge that has ended, with the members that its price needs. Amounts in nano-dollars. */
interface EndedCharge {
  pricesJson: string | null
  amountNano: number
  shortfallNano: number
  endedBy: string | null
}

const PICO_PER_NANO = 1_000n
const DECIMALS = 12

/** One line per quantity. Units without a price are free. */
export function quantityLines(quantities: Quantities, prices: Prices): QuantityLine[] {
  return (Object.entries(quantities) as [Unit, number][]).map(([unit, count]) => {
    const pico = prices[unit] ?? 0
    const [priceUsd = ''] = Object.values(describePrices({ [unit]: pico }))
    return { unit, count, priceUsd, per: perOf(unit), amountUsd: usdOf(BigInt(count) * BigInt(pico)) }
  })
}

/** The lines of a charge as JSON; null if these quantities at its prices do not give its amount. */
export function chargeLinesJson(charge: EndedCharge, quantities: Quantities) {
  const table = tableOf(charge, quantities)
  if (!table) return null
  // In the order of the table of units: vendors report them in any order.
  const used: Quantities = Object.fromEntries(
    units.flatMap((unit) => ((quantities[unit] ?? 0) > 0 ? [[unit, quantities[unit]]] : [])),
  )
  const counted = quantityLines(used, table.prices).map(({ unit, count, priceUsd, per, amountUsd }) => ({
    kind: 'quantity' as const,
    unit: (count === 1 ? unit : pluralOf(unit)).replaceAll('_', ' '),
    count,
    price_usd: priceUsd,
    per,
    amount_usd: amountUsd,
  }))
  const others = otherAmounts(charge, used, table).map(([kind, pico]) => ({ kind, amount_usd: usdOf(pico) }))
  return [...counted, ...others]
}

/** The price table of the charge: if there are several, as for a video, the one that gives its price. */
function tableOf(charge: EndedCharge, quantities: Quantities): BilledTable | undefined {
  const { pricesJson, amountNano, shortfallNano, endedBy } = charge
  if (pricesJson === null) return undefined
  const priceNano = amountNano + shortfallNano
  return tariffOfJson(pricesJson).tables.find((table) => {
    const isPriced = Object.entries(quantities).every(
      ([unit, count]) => count === 0 || table.prices[unit as Unit] !== undefined,
    )
    if (!isPriced) return false
    const nano = tableNano(quantities, table)
    // An answer that is cut at the hold costs no more than the hold.
    return nano === priceNano || (endedBy === 'balance' && nano > priceNano)
  })
}

/** Amounts other than those of quantities, in pico-dollars; never 0. */
function otherAmounts(
  { amountNano, shortfallNano }: EndedCharge,
  quantities: Quantities,
  table: BilledTable,
): [OtherReason, bigint][] {
  const counted = picoOf(quantities, table.prices)
  const least = counted < BigInt(table.minimumPico) ? BigInt(table.minimumPico) : counted
  const { share } = table
  const charged = share === undefined ? least : BigInt(picoTimes(Number(least), BigInt(share)))
  const price = BigInt(tableNano(quantities, table)) * PICO_PER_NANO
  const paid = BigInt(amountNano + shortfallNano) * PICO_PER_NANO
  const shortfall = BigInt(shortfallNano) * PICO_PER_NANO
  const amounts: [OtherReason, bigint][] = [
    ['minimum', least - counted],
    ['cache', charged - least],
    ['rounding', price - charged],
    ['hold', paid - price],
    ['shortfall', -shortfall],
  ]
  const sum = amounts.reduce((total, [, pico]) => total + pico, counted)
  assert(sum === BigInt(amountNano) * PICO_PER_NANO, 'the lines of a charge sum to its amount')
  return amounts.filter(([, pico]) => pico !== 0n)
}

function picoOf(quantities: Quantities, prices: Prices): bigint {
  return (Object.entries(quantities) as [Unit, number][]).reduce(
    (sum, [unit, count]) => sum + BigInt(count) * BigInt(prices[unit] ?? 0),
    0n,
  )
}

function usdOf(pico: bigint): string {
  return pico < 0n ? `-${formatDecimal(-pico, DECIMALS)}` : formatDecimal(pico, DECIMALS)
}
