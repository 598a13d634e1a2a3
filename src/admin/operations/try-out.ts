// What operators test before callers use it: the price of some usage, and whether an upstream answers. A test must never cost
// anything at a vendor, or change anything: the audit trail has no entries for it.

import { Type } from '@sinclair/typebox'
import { Nullable, OneOf, open } from '../../api-operation/operation'
import { endsAt } from '../../catalogue/retirement'
import { costListOf } from '../../config/models/costs'
import { priceListOf } from '../../config/models/prices'
import { isRoute, sharesOf } from '../../config/schema'
import { billByTariff, tableNano, tariffOfVariant } from '../../contract/prices'
import { type Quantities, type Unit, units } from '../../contract/units'
import { conflict, invalidRequest, notFound } from '../../lib/errors'
import { formatUsd } from '../../lib/money'
import { upstreamKinds } from '../../upstreams/kinds'
import { probeUpstream } from '../../upstreams/probe'
import { keyVariableOf } from '../../upstreams/secrets'
import { operationsIn, optionalText } from '../operation'

const operation = operationsIn('Models and upstreams')
const MAX_COUNT = 1_000_000_000
const QUANTITY = /^([a-z0-9_]{1,40}):(\d{1,10})$/

/** Reads `input_token:1000,output_token:200`. */
function quantitiesOf(text: string): Quantities {
  const quantities: Quantities = {}
  for (const part of text.split(',')) {
    const [, name = '', count = ''] = QUANTITY.exec(part.trim()) ?? []
    const unit = units.find((each): each is Unit => each === name)
    if (!unit || Number(count) > MAX_COUNT)
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
  endpoint: 'GET /models/{model}/quote',
  role: 'viewer',
  summary: 'Price of a usage',
  description: 'What a model asks for it, and what its vendor asks for the same, if that is known.',
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
  endpoint: 'POST /upstreams/{upstream}/test',
  role: 'operator',
  summary: 'Test an upstream',
  description: 'Asks it for something that costs nothing: whether it is there, and takes the key.',
  reply: Type.Object(
    {
      upstream: Type.String(),
      kind: Type.String(),
      state: OneOf(
        ['ready', 'reached', 'failed'],
        '`reached`: it answers, but the key could not be verified.',
      ),
      duration_ms: Type.Integer(),
      address: Type.String(),
      reason: Nullable(Type.String()),
      advice: Nullable(Type.String()),
      shutdown_dates: Type.Array(
        Type.Object(
          {
            model: Type.String(),
            configured: Nullable(Type.String()),
            vendor: Nullable(Type.String({ description: 'The day on which the vendor ends it.' })),
          },
          open,
        ),
      ),
    },
    open,
  ),
  async run({ world: { config, catalogue, ...world }, params: { upstream: name = '' } }) {
    const entry = Object.hasOwn(config.upstreams, name) ? config.upstreams[name] : undefined
    const kind = upstreamKinds.get(entry?.kind ?? '')
    if (!entry || !kind) throw notFound('upstream', name)
    const upstream = catalogue.upstreams.get(name)
    if (!upstream)
      throw conflict(
        'upstream_without_key',
        `The upstream ${name} has no key: set ${keyVariableOf(kind, entry)}, or apiKey in the configuration.`,
      )
    return probeUpstream({ upstream, kind, entry, ends: endsAt(config, name) }, world)
  },
})

export const tryOutOperations = [quote, testUpstream]
