// The order in which a route with a preference tries its models for a request: finds the figure of each, and records the order in
// the row of the request. A price here must be the caller's, from the quote that determines the hold.

import { quoteOf, requestedTier, tariffOf } from '../../billing/ledger/metering'
import type { Preference } from '../../config/models/route-entry'
import type { Model, ParsedRequest } from '../../contract/family'
import { heldTable, priceNano } from '../../contract/prices'
import type { Quantities, Unit } from '../../contract/units'
import { GatewayError } from '../../lib/errors'
import { formatUsd } from '../../lib/money'
import { hashOf } from '../../lib/rendezvous'
import type { PlacedModel, PlaceReason } from '../../request-log/row'
import { type CheckedRequest, checkRequest, type ReadRequest, type RequestSource } from '../check'
import type { Line } from '../ending'
import { firstStep } from '../stream/hold'
import type { RoutingParts } from './choice'
import { type Candidate, inOrderOfPreference } from './preference'

/** A model at one upstream, with its variants: one for each family that serves the operation. */
interface RouteMember extends Candidate {
  name: string
  forms: readonly [Model, ...Model[]]
  detail: string
}

interface Figure {
  figure: number | undefined
  detail: string
}

type Warm = ReturnType<Line['warmSessions']['find']>

/** The candidates of a route in the order of its preference, and the positions of their models. */
export function inRouteOrder(
  { world, paces, warmSessions }: Omit<RoutingParts, 'textCounts'>,
  read: ReadRequest,
  { parsed }: CheckedRequest,
  prefer: Preference,
  asking: RequestSource,
): { candidates: [Model, ...Model[]]; places: PlacedModel[] } {
  const { route, session } = read
  const routeId = route?.id ?? ''
  const warm = session && warmSessions.find(routeId, session.hash, world.monotonic())
  const isWarm = ([{ id, upstream }]: RouteMember['forms']) =>
    warm !== undefined && warm.model === id && warm.upstream === upstream.name
  const figureOf = (forms: RouteMember['forms'], name: string, weight: number): Figure => {
    switch (prefer) {
      case 'cheapest':
        return priceFigure(
          { ...read, candidates: forms },
          asking,
          parsed.at,
          isWarm(forms) ? warm : undefined,
        )
      case 'fastest':
        return paceFigure(paces.meanMs(routeId, name))
      case 'least_busy':
        return loadFigure(forms[0].upstream.health().running, weight)
    }
  }
  const members = membersOf(read.candidates, figureOf)
  const stays = members.find(({ forms }) => isWarm(forms))
  const isMeasured = prefer === 'fastest' && !stays && isStream(parsed)
  const name = isMeasured
    ? paces.toMeasure(
        routeId,
        members.map((each) => each.name),
      )
    : undefined
  const { order, reason } = inOrderOfPreference(members, {
    prefer,
    session: session?.hash,
    stays,
    measured: members.find((each) => each.name === name),
    random: world.random,
  })
  const candidates = order.flatMap(({ forms }) => forms) as [Model, ...Model[]]
  return { candidates, places: order.map((member, index) => placeOf(member, index === 0 ? reason : 'later')) }
}

/** The name of a model at one upstream. */
export function memberNameOf({ id, upstream }: Model): string {
  return `${id} ${upstream.name}`
}

function isStream({ body }: ParsedRequest): boolean {
  return (body as { stream?: unknown }).stream === true
}

function membersOf(
  candidates: readonly Model[],
  figureOf: (forms: RouteMember['forms'], name: string, weight: number) => Figure,
): RouteMember[] {
  const groups = [...Map.groupBy(candidates, memberNameOf)] as [string, [Model, ...Model[]]][]
  return groups.map(([name, forms]) => {
    const [{ id, share }] = forms
    const shares = groups.flatMap(([, [other]]) => (other.id === id ? [other.share] : []))
    const weight = (share * shares.length) / shares.reduce((sum, each) => sum + each, 0)
    return { name, forms, hash: hashOf(name), weight, ...figureOf(forms, name, weight) }
  })
}

function placeOf({ forms: [{ id, upstream }], detail }: RouteMember, reason: PlaceReason): PlacedModel {
  return { model: id, upstream: upstream.name, reason, detail }
}

/** The maximum that a request can cost its caller with a model before it is sent. Cached input counts at the price of cached input. */
function priceFigure(read: ReadRequest, asking: RequestSource, now: number, warm: Warm): Figure {
  try {
    const { parsed, model } = checkRequest(read, asking, now)
    const cachedShare = warm?.isCached ? Math.min(1, warm.byteLength / Math.max(1, parsed.byteLength)) : 0
    const figure = warmNano(firstStep(parsed, model), model, cachedShare)
    const cached = cachedShare > 0 ? `, ${Math.round(cachedShare * 100)} % of the prompt cached` : ''
    return { figure, detail: `at most $${formatUsd(figure)}${cached}` }
  } catch (error) {
    if (error instanceof GatewayError) return { figure: undefined, detail: 'it cannot take the request' }
    throw error
  }
}

/** Units of input that a cache may replace. */
const CACHEABLE: readonly Unit[] = ['input_token', 'cache_write_token', 'cache_write_1h_token']

/** The quote of a request, a share of whose input is in a vendor's cache, in nano-dollars. */
function warmNano(parsed: ParsedRequest, model: Model, cachedShare: number): number {
  const quote: Quantities = { ...quoteOf(parsed, model) }
  const { prices, heldPrices, minimumPico, share } = heldTable(
    tariffOf(parsed, model),
    quote,
    requestedTier(parsed),
  )
  for (const unit of CACHEABLE) {
    const cached = Math.floor((quote[unit] ?? 0) * cachedShare)
    if (cached === 0) continue
    quote[unit] = (quote[unit] ?? 0) - cached
    quote.cached_input_token = (quote.cached_input_token ?? 0) + cached
  }
  const cachedPrice = prices.cached_input_token
  return priceNano(
    quote,
    { ...heldPrices, ...(cachedPrice !== undefined && { cached_input_token: cachedPrice }) },
    minimumPico,
    share,
  )
}

function paceFigure(meanMs: number | undefined): Figure {
  const detail = meanMs === undefined ? 'not measured yet' : `first output after ${Math.round(meanMs)} ms`
  return { figure: meanMs, detail }
}

/** Running calls, for an upstream with an average share. */
function loadFigure(running: number, weight: number): Figure {
  const calls = running === 1 ? '1 call runs' : `${running} calls run`
  return { figure: running / weight, detail: weight === 1 ? calls : `${calls}, share ${weight.toFixed(2)}` }
}
