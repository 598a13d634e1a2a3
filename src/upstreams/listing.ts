// Requests a vendor's list of models: for a command of the operator, or automatically if the models are free and the operator
// enables it (`discover`). It must never happen while a request waits.

import type { Call } from '../contract/family'
import type { ListedModels, Upstream, UpstreamKind } from '../contract/upstream'
import type { CancelSignal } from '../lib/cancel-token'
import { parseForeign } from '../lib/json/json'

const MAX_LIST_BYTES = 32 * 1024 * 1024
const MAX_DETAILS_BYTES = 4 * 1024 * 1024
/** Maximum number of models whose details are requested one by one. */
const MAX_DETAILED = 1_000
/** The account of these calls, which is not a customer's. */
const ACCOUNT = 'operator'

/** The vendor's models; undefined if it has no list for this gateway. Throws a GatewayError, or the error of an unreadable list. */
export async function fetchModelList(
  upstream: Upstream,
  { listing }: UpstreamKind,
  signal: CancelSignal,
): Promise<ListedModels | undefined> {
  if (!listing) return undefined
  const list = await ask(upstream, listing.call, signal, MAX_LIST_BYTES)
  const calls = [...(listing.details?.(list) ?? [])].slice(0, MAX_DETAILED)
  const details = new Map<string, unknown>()
  for (const [name, call] of calls) details.set(name, await ask(upstream, call, signal, MAX_DETAILS_BYTES))
  return listing.read(list, details)
}

async function ask(
  upstream: Upstream,
  call: Call,
  signal: CancelSignal,
  mostBytes: number,
): Promise<unknown> {
  const body = call.body && 'json' in call.body ? JSON.stringify(call.body.json) : null
  const { response, done } = await upstream.send(call, body, signal, { account: ACCOUNT })
  const bytes = await response.body.bytes(mostBytes).finally(done)
  return parseForeign(new TextDecoder().decode(bytes))
}
