// The price that a vendor reports for a request, in the usage object that is stored with the charge. Pure. It must never reach a
// caller, or decide what is charged.

import { MAX_NANO, parseDecimal } from '../../lib/money'
import { asObject, isObject } from '../../lib/objects'

/** Number of decimals that are read from a price in dollars; vendors print the shortest text of a number. */
const DECIMALS = 12
const PARTS_PER_NANO = 10n ** BigInt(DECIMALS - 9)
/** xAI counts in ticks of 10^-10 dollars (`cost_in_usd_ticks`, `cost.py` of xai-sdk 1.21). */
const PARTS_PER_TICK = 10n ** BigInt(DECIMALS - 10)
/** The largest price whose parts are exact as a number: 2^51 of them are $2,251. */
const EXACT_USD = 1_000
const MAX_PARTS = BigInt(MAX_NANO) * PARTS_PER_NANO

/**
 * The price in nano-dollars, rounded up; undefined if the usage contains none. If there are several answers, all of them must have
 * one.
 */
export function vendorCostNano(usage: unknown): number | undefined {
  const parts = partsOf(usage)
  if (parts === undefined || parts > MAX_PARTS) return undefined
  return Number((parts + PARTS_PER_NANO - 1n) / PARTS_PER_NANO)
}

/** The price in the JSON of a usage object, like `vendorCostNano`. JSON without a price is not parsed, to save time per request. */
export function vendorCostOfJson(usageJson: string | null): number | undefined {
  if (usageJson === null || !usageJson.includes(COST_MEMBER)) return undefined
  try {
    return vendorCostNano(JSON.parse(usageJson))
  } catch {
    return undefined
  }
}

/** The prefix of every member that contains a price. */
export const COST_MEMBER = '"cost'

/** The price in units of 10^-12 dollars. */
function partsOf(usage: unknown): bigint | undefined {
  if (Array.isArray(usage)) {
    let sum: bigint | undefined
    for (const each of usage) {
      const parts = partsOf(each)
      if (parts === undefined) return undefined
      sum = (sum ?? 0n) + parts
    }
    return sum
  }
  if (!isObject(usage)) return undefined
  const { cost_in_usd_ticks: ticks, cost, currency, is_byok: isByok, cost_details: details } = usage
  if (typeof ticks === 'number' && Number.isSafeInteger(ticks) && ticks >= 0)
    return BigInt(ticks) * PARTS_PER_TICK
  if (currency !== undefined && currency !== null && !/^usd$/i.test(String(currency))) return undefined
  // OpenRouter: the charge of its account, in dollars (`ChatUsage` of @openrouter/sdk 1.3.19).
  const charged = partsOfUsd(cost)
  if (isByok !== true) return charged
  // With the operator's own key at a provider, `cost` is only OpenRouter's fee and often zero; the provider bills the rest
  // (openrouter.ai/docs/cookbook/administration/usage-accounting). Without such a key both members have the same amount.
  const billed = partsOfUsd(asObject(details).upstream_inference_cost)
  return charged === undefined || billed === undefined ? undefined : charged + billed
}

function partsOfUsd(cost: unknown): bigint | undefined {
  if (typeof cost !== 'number' || !(cost >= 0 && cost <= MAX_NANO / 1e9)) return undefined
  // Below this the product is off by less than half a unit, and no text has to be built: every request passes here.
  if (cost < EXACT_USD) return BigInt(Math.round(cost * 10 ** DECIMALS))
  const parts = parseDecimal(cost.toFixed(DECIMALS), DECIMALS)
  return typeof parts === 'bigint' ? parts : undefined
}
