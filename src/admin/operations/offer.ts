// What a gateway offers, over the admin API: models with prices and availability, and upstreams with their health. It must never
// call a vendor, or show a vendor's key.

import { Type } from '@sinclair/typebox'
import { Nullable, OneOf, open } from '../../api-operation/operation'
import { text } from '../../api-operation/schemas'
import { viewOf } from '../../api-operation/view'
import { listUpstreams } from '../../catalogue/upstream-list'
import { describeCosts } from '../../config/models/costs'
import { describePriceList, priceListOf } from '../../config/models/prices'
import { isRoute, type ModelConfig, type RouteConfig, sharesOf } from '../../config/schema'
import { type PriceList, variantsOf } from '../../contract/prices'
import { type Unit, units } from '../../contract/units'
import { isoTime } from '../../db/iso-time'
import { notFound } from '../../lib/errors'
import { type CountedRefusal, listRefusals } from '../../request-log/refusals'
import { type AdminWorld, limitOf, operationsIn, PageOf, pageOf, pageQuery } from '../operation'

const operation = operationsIn('Models and upstreams')
const ModelReply = Type.Object(
  { id: Type.String(), available: Type.Boolean(), reason: Nullable(Type.String()) },
  open,
)
const UpstreamReply = Type.Object(
  {
    name: Type.String(),
    kind: Type.String(),
    key: OneOf(['set', 'none', 'missing'], 'Whether it has a key; `none`: it needs none.'),
    variable: Nullable(Type.String({ description: 'The variable that sets a key which is missing.' })),
    models: Type.Integer(),
    address: Type.String(),
    settings: Type.Array(Type.String({ description: 'A setting that changes how the vendor is asked.' })),
    health: Nullable(
      Type.Object({ breaker: Type.String(), running: Type.Integer(), concurrency: Type.Integer() }, open),
    ),
  },
  open,
)

function modelJson({ catalogue, config }: AdminWorld, id: string, entry: ModelConfig | RouteConfig) {
  const reason = catalogue.hidden.get(id) ?? null
  const aliases = Object.entries(config.aliases ?? {}).flatMap(([alias, target]) =>
    target === id ? [alias] : [],
  )
  const common = { id, aliases, available: reason === null, reason }
  if (isRoute(entry)) return { ...common, route: entry.route, owned_by: entry.ownedBy ?? 'route' }
  const forms = catalogue.models.get(id) ?? []
  const list = priceListOf(entry)
  return {
    ...common,
    operations: [...new Set(forms.map(({ family }) => family.operation))],
    families: [entry.family].flat(),
    upstreams: sharesOf(entry).map(([name]) => name),
    upstream_model: entry.upstreamModel ?? id,
    owned_by: forms[0]?.ownedBy ?? entry.ownedBy ?? null,
    price: describePriceList(list),
    price_units: unitsOf(list),
    price_variants: variantsOf(list),
    price_source: entry.price?.source ?? null,
    price_as_of: entry.price?.as_of ?? null,
    retires: entry.retires ?? null,
    successor: entry.successor ?? null,
    hands_over: entry.onRetirement === 'successor',
    cost: describeCosts(
      entry,
      sharesOf(entry).map(([name]) => name),
    ),
  }
}

/** Units that a request of the model may be billed by. */
function unitsOf({ isFree, tables: [base] }: PriceList): Unit[] {
  return isFree ? [] : units.filter((unit) => base?.listed[unit] !== undefined)
}

const listModels = operation({
  id: 'listModels',
  endpoint: 'GET /models',
  role: 'viewer',
  summary: 'Models and routes',
  description: 'Those of the configuration in force, with prices, and why some are not available.',
  query: Type.Object(pageQuery),
  reply: PageOf(ModelReply),
  async run({ world }, query) {
    const limit = limitOf(query)
    const rows = Object.entries(world.config.models)
      .filter(([id]) => id > (query.after ?? ''))
      .sort(([one], [other]) => (one < other ? -1 : 1))
    return pageOf(
      rows,
      limit,
      ([id, entry]) => modelJson(world, id, entry),
      ([id]) => id,
    )
  },
})

const getModel = operation({
  id: 'getModel',
  endpoint: 'GET /models/{model}',
  role: 'viewer',
  summary: 'One model or route',
  description: 'Slashes in its id are encoded.',
  reply: ModelReply,
  async run({ world, params: { model = '' } }) {
    const entry = Object.hasOwn(world.config.models, model) ? world.config.models[model] : undefined
    if (!entry) throw notFound('model', model)
    return modelJson(world, model, entry)
  },
})

const upstreams = operation({
  id: 'listUpstreams',
  endpoint: 'GET /upstreams',
  role: 'viewer',
  summary: 'Upstreams',
  description: 'With the health that this process knows of them.',
  query: Type.Object(pageQuery),
  reply: PageOf(UpstreamReply),
  async run({ world: { config, catalogue } }, query) {
    const rows = listUpstreams(config).filter(({ name }) => name > (query.after ?? ''))
    return pageOf(
      rows,
      limitOf(query),
      // Without a key the model is not available.
      (listed) => ({ ...listed, health: catalogue.upstreams.get(listed.name)?.health() ?? null }),
      ({ name }) => name,
    )
  },
})

const refusalView = viewOf<CountedRefusal>()({
  upstream: [text, ({ upstream }) => upstream],
  model: [text, ({ model }) => model],
  field: [
    Nullable(Type.String(), { description: 'Null if the vendor names none.' }),
    ({ field }) => field || null,
  ],
  status: [Type.Integer(), ({ status }) => status],
  message: [
    Type.String({
      description: 'The latest message of the vendor, without keys. Empty if they cannot be decrypted.',
    }),
    ({ message }) => message,
  ],
  count: [Type.Integer(), ({ count }) => count],
  first_at: [text, ({ firstAt }) => isoTime(firstAt)],
  last_at: [text, ({ lastAt }) => isoTime(lastAt)],
})

const refusals = operation({
  id: 'listRefusals',
  endpoint: 'GET /upstreams/refusals',
  role: 'viewer',
  summary: 'Refusals of vendors',
  description: 'By model and field, newest first: rules that the gateway does not know yet.',
  query: Type.Object(pageQuery),
  reply: PageOf(refusalView.reply),
  async run({ world: { db, requestLog } }, query) {
    await requestLog.storeFigures()
    const rows = await listRefusals(db)
    const start = query.after === undefined ? 0 : rows.findIndex((row) => cursorOf(row) === query.after) + 1
    return pageOf(rows.slice(start), limitOf(query), refusalView.show, cursorOf)
  },
})

function cursorOf({ upstream, model, field }: CountedRefusal): string {
  return Buffer.from(JSON.stringify([upstream, model, field])).toString('base64url')
}

export const offerOperations = [listModels, getModel, upstreams, refusals]
