// The settings of the response cache, of a model, a plan or a key. A setting with which a stored answer is never found, or is
// charged wrongly, must be a fault.

import { type Static, Type } from '@sinclair/typebox'
import type { Family, ResponseCaching } from '../../contract/family'
import { FACTOR_DECIMALS } from '../../contract/prices'
import { parseDurationMs } from '../../lib/durations'
import { parseDecimal } from '../../lib/money'
import { closed, optionalSetting, requiredSetting } from '../../lib/setting'

/** As vendors charge for reads from their own prompt caches. */
const DEFAULT_PRICE = '0.1'
const MAX_TTL = '30d'
const WHOLE = 10n ** BigInt(FACTOR_DECIMALS)

export const CacheEntry = Type.Object(
  {
    ttl: requiredSetting(
      `How long an answer may be returned again: \`1h\`. At most \`${MAX_TTL}\`.`,
      Type.String(),
    ),
    price: optionalSetting(
      `The price of a returned answer, as a fraction of its original price: from \`0\` to \`1\`. Default \`${DEFAULT_PRICE}\`.`,
      Type.String(),
    ),
  },
  closed,
)
export type CacheEntry = Static<typeof CacheEntry>

/** The rule of a plan or a key, for all its models. */
export const CacheRule = Type.Union([CacheEntry, Type.Literal(false)])
export type CacheRule = Static<typeof CacheRule>

/** Whether answers of a family can be repeated: tasks and transcriptions have their own results or files. */
export function canBeCached({ kind, operation }: Family): boolean {
  return kind !== 'task' && operation !== 'transcription' && operation !== 'translation'
}

/** Faults of the entry of a model, each with its place below the model; empty if the entry does not fit the schema. */
export function cacheFaults(entry: CacheEntry, isFree: boolean, families: readonly Family[]): string[] {
  const faults = cacheRuleFaults(entry)
  if (entry.price !== undefined && isFree)
    faults.push('.cache.price: a free model has no price: leave it out')
  if (families.length > 0 && !families.some(canBeCached))
    faults.push(
      `.cache: no answer of ${families.map(({ name }) => name).join(', ')} can be given again: leave it out`,
    )
  return faults
}

/** Faults of a rule, each with its place below the owner of the rule. */
export function cacheRuleFaults(rule: CacheRule): string[] {
  if (rule === false) return []
  const { ttl, price } = rule
  const faults: string[] = []
  const ttlMs = parseDurationMs(ttl)
  if (ttlMs === undefined) faults.push(`.cache.ttl: "${ttl}" is not a duration such as "1h"`)
  else if (ttlMs > (parseDurationMs(MAX_TTL) as number))
    faults.push(`.cache.ttl: "${ttl}" is longer than "${MAX_TTL}", the longest that an answer is kept`)
  if (price !== undefined && shareOf(price) === undefined)
    faults.push(
      `.cache.price: "${price}" is not a fraction from "0" to "1" with at most ${FACTOR_DECIMALS} decimals, such as "0.1"`,
    )
  return faults
}

/** The share of a fraction in millionths; undefined if the text is not one. */
function shareOf(price: string): number | undefined {
  const parts = parseDecimal(price, FACTOR_DECIMALS)
  return typeof parts === 'bigint' && parts <= WHOLE ? Number(parts) : undefined
}

/** The cache settings of a valid entry. */
export function cachingOf({ ttl, price = DEFAULT_PRICE }: CacheEntry): ResponseCaching {
  return { ttlMs: parseDurationMs(ttl) as number, share: shareOf(price) as number }
}
