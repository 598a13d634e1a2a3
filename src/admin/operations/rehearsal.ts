// Prices the ledger again at other prices, over the admin API. It must never write, or apply a price.

import { type Static, Type } from '@sinclair/typebox'
import { Nullable, open } from '../../api-operation/operation'
import {
  type KeptReason,
  type Rehearsal,
  type RehearsedSums,
  rehearse,
} from '../../billing/rehearsal/rehearsal'
import { RehearsedPrices } from '../../billing/rehearsal/rehearsed-prices'
import { type Catalogue, idOfName } from '../../catalogue/models'
import { type OtherPrices, rehearsedConfig } from '../../config/rehearsed'
import { isRoute } from '../../config/schema'
import { isoTime } from '../../db/iso-time'
import { periodOfQuery } from '../../http/query-time'
import { invalidRequest, notFound } from '../../lib/errors'
import { formatUsd } from '../../lib/money'
import { recordedQuantities } from '../../request-log/recorded-quantities'
import {
  closedBody,
  type OperationContext,
  operationsIn,
  optionalText,
  periodQuery,
  Text,
} from '../operation'

const operation = operationsIn('Usage')
const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30

const Entries = (description: string) =>
  Type.Optional(Type.Record(Type.String(), Type.Object({}), { description }))
const Dollars = Type.String({ description: 'Dollars, as text.' })
const Sums = {
  requests: Type.Integer(),
  paid_usd: Dollars,
  would_pay_usd: Dollars,
  difference_usd: Dollars,
  cost_usd: Nullable(Dollars),
  margin_usd: Nullable(Dollars),
  amount_with_cost_usd: Dollars,
  refused: Type.Integer({ description: 'Requests that the account could not have paid for.' }),
  refused_usd: Dollars,
  kept: Type.Integer({
    description: 'Requests that keep what was paid, because their new price is not known.',
  }),
  kept_usd: Dollars,
}
const reasons = [
  'usage',
  'prices',
  'cut',
  'model',
  'plan',
  'unit',
  'variant',
  'calls',
  'closed',
] as const satisfies readonly KeptReason[]

const Body = Type.Object(
  {
    ...periodQuery,
    model: optionalText('Only charges of this model. Balances are not replayed then.'),
    list: Type.Optional(
      Type.Object(
        {
          kind: Text('The kind of upstream whose models it prices.'),
          source: Type.String({ maxLength: 500 }),
          fetchedAt: Text('The day of the list, such as `2026-11-25`.'),
          models: Type.Record(Type.String(), Type.Object({}), {
            description: "Models by the vendor's names, each with its `price` or `free`.",
          }),
        },
        { ...closedBody, description: "A vendor's list of prices, as the files of `prices/` have it." },
      ),
    ),
    models: Entries('Prices of models by their ids: `price`, `cost` and `free` as in the configuration.'),
    plans: Entries('Prices of plans by their names: `priceFactor` and `priceFactors`.'),
    routes: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'Models that are priced as others: `{ "old": "new" }`.',
      }),
    ),
  },
  closedBody,
)

const rehearseCharges = operation({
  id: 'rehearsePrices',
  endpoint: 'POST /rehearsal',
  role: 'viewer',
  summary: 'Rehearse other prices',
  description: 'Prices the charges of a period by them, by account. Changes nothing.',
  body: Body,
  reply: Type.Object(
    {
      since: Nullable(Type.String()),
      until: Type.String(),
      accounts: Type.Array(Type.Object({ account: Type.String(), ...Sums }, open)),
      total: Type.Object(Sums, open),
      kept: Type.Array(
        Type.Object(
          {
            reason: Type.Union(reasons.map((reason) => Type.Literal(reason))),
            requests: Type.Integer(),
            paid_usd: Dollars,
          },
          open,
        ),
      ),
    },
    open,
  ),
  async run(context, _query, body) {
    const { world } = context
    const now = world.now()
    const { since, until = now + 1 } = periodOfQuery(body, now - DEFAULT_DAYS * DAY_MS)
    const find = modelFinder(context)
    const prices = await pricesOf(context, body, find)
    const { db, requestLog: requests } = await world.reportSource()
    const model = body.model === undefined ? undefined : await find('model', body.model)
    const found = await rehearse(db, {
      since,
      until,
      prices,
      ...(model !== undefined && { model }),
      recorded: (charges) => recordedQuantities({ db, requests }, charges),
    })
    return { since: since === 0 ? null : isoTime(since), until: isoTime(until), ...rehearsalJson(found) }
  },
})

async function pricesOf(
  { world }: OperationContext,
  { list, models, plans, routes = {} }: Static<typeof Body>,
  find: (field: string, name: string) => Promise<string>,
) {
  const { config } = world
  const other = { ...(list && { list }), ...(models && { models }), ...(plans && { plans }) } as OtherPrices
  const rehearsed = rehearsedConfig(config, other)
  if ('faults' in rehearsed) {
    const [first = '', ...others] = rehearsed.faults
    const more = others.length > 0 ? ` There are ${others.length} more faults.` : ''
    throw invalidRequest(null, `These prices have faults: ${first}.${more}`)
  }
  const pairs: [string, string][] = []
  for (const [from, to] of Object.entries(routes)) {
    const target = await find('routes', to)
    const entry = Object.hasOwn(config.models, target) ? config.models[target] : undefined
    if (!entry) throw notFound('model', to)
    if (isRoute(entry))
      throw invalidRequest(
        'routes',
        `Invalid 'routes': ${target} is a route. Name one of its models: ${entry.route.join(', ')}.`,
      )
    pairs.push([await find('routes', from), target])
  }
  return new RehearsedPrices({ before: config, after: rehearsed.config, routes: new Map(pairs) })
}

/** Finds the id of a model by any of its names, or of one that only charges still have. */
function modelFinder({ world }: OperationContext) {
  let catalogue: Catalogue | undefined
  return async (field: string, name: string): Promise<string> => {
    catalogue ??= world.catalogue
    const id = idOfName(catalogue, name)
    if (Object.hasOwn(world.config.models, id)) return id
    const sql = 'select 1 as one from charge_series where model = $1 limit 1'
    if ((await world.db.query({ sql, parameters: [name] })).length > 0) return name
    throw invalidRequest(
      field,
      `Invalid '${field}': no model "${name}" is configured, and it has no charges.`,
      'model_not_found',
    )
  }
}

export function rehearsalJson({ accounts, total, kept }: Rehearsal) {
  const byPaid = [...accounts].toSorted(
    ([one, { paidNano: paid }], [other, { paidNano }]) =>
      Number(paidNano > paid) - Number(paidNano < paid) || (one < other ? -1 : 1),
  )
  return {
    accounts: byPaid.map(([account, sums]) => ({ account, ...sumsJson(sums) })),
    total: sumsJson(total),
    kept: [...kept].map(([reason, { requests, paidNano }]) => ({
      reason,
      requests,
      paid_usd: formatUsd(paidNano),
    })),
  }
}

function sumsJson(sums: RehearsedSums) {
  const hasCost = sums.costNano > 0n || sums.costedNano > 0n
  return {
    requests: sums.requests,
    paid_usd: formatUsd(sums.paidNano),
    would_pay_usd: formatUsd(sums.wouldPayNano),
    difference_usd: formatUsd(sums.wouldPayNano - sums.paidNano),
    cost_usd: hasCost ? formatUsd(sums.costNano) : null,
    margin_usd: hasCost ? formatUsd(sums.costedNano - sums.costNano) : null,
    amount_with_cost_usd: formatUsd(sums.costedNano),
    refused: sums.refused,
    refused_usd: formatUsd(sums.refusedNano),
    kept: sums.kept,
    kept_usd: formatUsd(sums.keptNano),
  }
}

export const rehearsalOperations = [rehearseCharges]
