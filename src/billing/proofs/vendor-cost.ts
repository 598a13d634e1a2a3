// The price that a vendor itself names for a request, in the usage object that is kept with the charge. Pure. It must never reach
// a caller, nor decide what is charged.

import { MAX_NANO, parseDecimal } from '../../lib/money'
import { isObject } from '../../lib/objects'

/** xAI counts in ticks of 10^-10 dollars (`cost_in_usd_ticks`, `cost.py` of xai-sdk 1.21). */
const TICKS_PER_NANO = 10n
/** Decimals of a price in dollars that are read; vendors print the shortest text of a number. */
const DECIMALS = 12
const PARTS_PER_NANO = 10n ** BigInt(DECIMALS - 9)

/**
 * The price in nano-dollars, a begun one counts; undefined if the usage names none. Of several answers all must have one.
 */
export function vendorCostNano(usage: unknown): number | undefined {
  if (Array.isArray(usage)) {
    const costs = usage.map(vendorCostNano)
    return costs.length === 0 || costs.includes(undefined)
      ? undefined
      : costs.reduce((sum: number, cost = 0) => sum + cost, 0)
  }
  if (!isObject(usage)) return undefined
  const { cost_in_usd_ticks: ticks, cost } = usage
  if (typeof ticks === 'number' && Number.isSafeInteger(ticks) && ticks >= 0)
    return Number((BigInt(ticks) + TICKS_PER_NANO - 1n) / TICKS_PER_NANO)
  // OpenRouter: what its account is charged, in dollars (`ChatUsage` of @openrouter/sdk 1.3.19).
  if (typeof cost !== 'number' || !(cost >= 0 && cost <= MAX_NANO / 1e9)) return undefined
  const parts = parseDecimal(cost.toFixed(DECIMALS), DECIMALS)
  return typeof parts === 'bigint' ? Number((parts + PARTS_PER_NANO - 1n) / PARTS_PER_NANO) : undefined
}
