// Answers from the cache: the bytes of the earlier answer, a stream as a stream. Nothing is sent to a vendor.

import { rateHeadersOf } from '../../billing/ledger/limits'
import { formatUsd } from '../../lib/money'
import type { CacheHit } from '../cache/response-cache'
import type { CheckedRequest } from '../check'
import type { RequestWorld } from '../world'
import type { FileAnswer } from './answer'

export async function answerCached(
  world: RequestWorld,
  { key }: CheckedRequest,
  { answer: { contentType, body }, outcome, measured, priceNano }: CacheHit,
): Promise<FileAnswer> {
  const isStream = contentType.startsWith('text/event-stream')
  const headers = {
    'content-type': isStream ? 'text/event-stream; charset=utf-8' : contentType,
    ...(isStream && { 'cache-control': 'no-cache' }),
    'x-gateway-cost-usd': formatUsd(priceNano),
    ...(await rateHeadersOf(world.db, key, world.now())),
  }
  return { kind: 'file', outcome, measured, saved: { status: 200, contentType, body }, headers }
}

/** Headers that say whether an answer comes from the cache, and its age in seconds. */
export function cacheHeaders({ cacheUse }: CheckedRequest): Record<string, string> {
  if (!cacheUse) return {}
  const { state, hit } = cacheUse
  return { 'x-gateway-cache': state, ...(hit && { age: String(Math.floor(hit.ageMs / 1_000)) }) }
}
