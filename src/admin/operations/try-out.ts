// What operators try before callers do: the price of some usage, and whether an upstream answers. A try must never cost
// anything at a vendor, nor change anything: the audit trail has none of them.

import { Type } from '@sinclair/typebox'
import { costListOf } from '../../config/costs'
import { priceListOf } from '../../config/prices'
import { isRoute, sharesOf } from '../../config/schema'
import type { Call } from '../../contract/family'
import { billByTariff, tableNano, tariffOfVariant } from '../../contract/prices'
import { type Quantities, type Unit, units } from '../../contract/units'
import { CancelToken } from '../../lib/cancel-token'
import { GatewayError, invalidRequest, notFound } from '../../lib/errors'
import { formatUsd } from '../../lib/money'
import { upstreamKinds } from '../../upstreams/kinds'
import { type AdminWorld, Nullable, open, operation, optionalText } from '../operation'

const tag = 'Models and upstreams'
const PROBE_MS = 20_000
const LIST: Call = { method: 'GET', path: '/models', protocol: 'openai', body: null, stream: false }
const MOST_COUNT = 1_000_000_000
const QUANTITY = /^([a-z0-9_]{1,40}):(\d{1,10})$/

/** Reads `input_token:1000,output_token:200`. */
function quantitiesOf(text: string): Quantities {
  const quantities: Quantities = {}
  for (const part of text.split(',')) {
    const [, name = '', count = ''] = QUANTITY.exec(part.trim()) ?? []
    const unit = units.find((each): each is Unit => each === name)
    if (!unit || Number(count) > MOST_COUNT)
      throw invalidRequest(
        'quantities',
        "Invalid 'quantities': expected units with their counts, such as input_token:1000,output_token:200.",
      )
    quantities[unit] = Number(count)
  }
  return quantities
}

const quote = operation({
  id: 'quotePrice',
  method: 'GET',
  path: '/models/{model}/quote',
  role: 'viewer',
  tag,
  summary: 'The price of some usage of a model, and what its vendor asks for the same, if that is known',
  query: Type.Object({
    quantities: Type.String({
      minLength: 1,
      maxLength: 2_000,
      description: 'Units with their counts: `input_token:1000,output_token:200`.',
    }),
    variant: optionalText('The size, quality or resolution, where the price depends on one.'),
    tier: optionalText('The service tier.'),
  }),
  reply: Type.Object({ amount_usd: Type.String(), cost_usd: Nullable(Type.String()) }, open),
  async run({ world: { config }, params: { model = '' } }, query) {
    const entry = Object.hasOwn(config.models, model) ? config.models[model] : undefined
    if (!entry || isRoute(entry)) throw notFound('model', model)
    const names = query.variant === undefined ? [] : [query.variant]
    const upstream = sharesOf(entry)[0]?.[0] ?? ''
    const tariff = tariffOfVariant(priceListOf(entry), names, costListOf(entry, upstream))
    if (!tariff)
      throw invalidRequest('variant', "Invalid 'variant': the price of this model has no such name.")
    const quantities = quantitiesOf(query.quantities)
    const { table, cost } = billByTariff(tariff, quantities, query.tier, query.tier)
    const missing = Object.keys(quantities).find((unit) => table.prices[unit as Unit] === undefined)
    if (missing !== undefined)
      throw invalidRequest('quantities', `Invalid 'quantities': ${model} has no price for ${missing}.`)
    const amountNano = tableNano(quantities, table)
    const costNano = cost ? tableNano(quantities, cost) : null
    return {
      amount_usd: formatUsd(amountNano),
      cost_usd: costNano === null ? null : formatUsd(costNano),
      margin_usd: costNano === null ? null : formatUsd(amountNano - costNano),
    }
  },
})

const testUpstream = operation({
  id: 'testUpstream',
  method: 'POST',
  path: '/upstreams/{upstream}/test',
  role: 'operator',
  tag,
  summary: 'Ask an upstream for something that costs nothing: whether it is there, and takes the key',
  reply: Type.Object(
    { state: Type.String(), duration_ms: Type.Integer(), reason: Nullable(Type.String()) },
    open,
  ),
  async run({ world, params }) {
    const startedAt = world.monotonic()
    const found = await probe(world, params.upstream ?? '')
    return { ...found, duration_ms: Math.round(world.monotonic() - startedAt) }
  },
})

/** Asks an upstream for its models, or whatever else is free there. `reached`: it answers, but the key is not proved. */
async function probe(
  { catalogue, config, after }: AdminWorld,
  name: string,
): Promise<{ state: 'ready' | 'reached' | 'failed'; reason: string | null }> {
  const entry = Object.hasOwn(config.upstreams, name) ? config.upstreams[name] : undefined
  if (!entry) throw notFound('upstream', name)
  const upstream = catalogue.upstreams.get(name)
  if (!upstream)
    return { state: 'failed', reason: 'It has no key: set one in the configuration, and reload.' }
  const call = upstream.adapt(upstreamKinds.get(entry.kind)?.probe ?? LIST, '')
  const { body } = call
  const token = new CancelToken()
  const cancel = after(PROBE_MS, () => token.abort(new Error(`no answer within ${PROBE_MS / 1000} seconds`)))
  try {
    const { response, done } = await upstream.send(
      call,
      body && 'json' in body ? JSON.stringify(body.json) : null,
      token.signal,
      'operator',
    )
    response.body.cancel()
    done()
    return { state: 'ready', reason: null }
  } catch (error) {
    if (!(error instanceof GatewayError)) return { state: 'failed', reason: String(error) }
    const isThere = error.status < 500
    return {
      state: isThere ? 'reached' : 'failed',
      reason: isThere ? `It answers: ${error.message}` : `${error.message} The log of the gateway says more.`,
    }
  } finally {
    cancel()
  }
}

export const tryOutOperations = [quote, testUpstream]
