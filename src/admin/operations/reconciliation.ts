// Compares a vendor's report with the charges, over the admin API: by day and model of one upstream. It must never write.

import { type Static, Type } from '@sinclair/typebox'
import { Nullable, open } from '../../api-operation/operation'
import { closedPart, closingAt } from '../../billing/proofs/closings'
import { reconcileOwn as compareOwn, type OwnReconciliation } from '../../billing/proofs/own-reconciliation'
import { percentDifference } from '../../billing/proofs/price-drift'
import {
  reconcile as compareUsage,
  type Difference,
  type Reconciliation,
} from '../../billing/proofs/reconciliation'
import { monthOf } from '../../billing/reports/statements'
import { isListPrice } from '../../config/models/costs'
import { type Config, isRoute, sharesOf } from '../../config/schema'
import { isoTime } from '../../db/iso-time'
import { periodOfQuery } from '../../http/query-time'
import { conflict, invalidRequest, notFound } from '../../lib/errors'
import type { FigureName, UsageFigures, VendorUsage } from '../../lib/file-formats/vendor-usage'
import { formatUsd } from '../../lib/money'
import { closedBody, operationsIn, optionalText, periodQuery, Text } from '../operation'
import { amountOf } from './accounts'

const operation = operationsIn('Usage')
const MAX_ROWS = 10_000
const DEFAULT_TOLERANCE_PERCENT = 1
const DEFAULT_OWN_MS = 30 * 86_400_000

/** Names of figures as they are printed. */
const FIGURES = {
  requests: 'requests',
  inputTokens: 'input_tokens',
  outputTokens: 'output_tokens',
  costNano: 'cost_usd',
} as const satisfies Record<FigureName, string>

const Cost = Type.String({ maxLength: 40, description: 'Dollars, as text.' })
const UsageRow = Type.Object(
  {
    day: Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$', description: 'In UTC: `2026-10-31`.' }),
    model: Text("The vendor's name of the model, with or without a date behind it."),
    requests: Type.Optional(Type.Integer()),
    input_tokens: Type.Optional(
      Type.Integer({ description: 'With those that were read from caches and written to them.' }),
    ),
    output_tokens: Type.Optional(Type.Integer()),
    cost_usd: Type.Optional(Cost),
  },
  closedBody,
)
const Figures = Type.Object({
  requests: Nullable(Type.Integer()),
  input_tokens: Nullable(Type.Integer()),
  output_tokens: Nullable(Type.Integer()),
  cost_usd: Nullable(Cost),
})
const DifferenceReply = Type.Object(
  {
    day: Type.String(),
    model: Type.String(),
    figure: Type.Union(Object.values(FIGURES).map((name) => Type.Literal(name))),
    vendor: Type.Union([Type.Integer(), Cost]),
    charges: Type.Union([Type.Integer(), Cost]),
  },
  open,
)

const reconcile = operation({
  id: 'reconcileUpstream',
  endpoint: 'POST /upstreams/{upstream}/reconciliation',
  role: 'viewer',
  summary: 'Compare a month with a vendor',
  description: 'What it says was used, with the charges, by day and model. Changes nothing.',
  body: Type.Object(
    {
      month: Text('A month in UTC, such as `2026-10`.'),
      rows: Type.Array(UsageRow, {
        minItems: 1,
        maxItems: MAX_ROWS,
        description: 'What the vendor says. A figure that no row has is not compared.',
      }),
      tolerance_percent: Type.Optional(
        Type.Number({
          minimum: 0,
          maximum: 99.9999,
          description: 'Differences that are not listed. Default 1.',
        }),
      ),
    },
    closedBody,
  ),
  reply: Type.Object(
    {
      ok: Type.Boolean(),
      differences: Type.Array(DifferenceReply),
      compared: Type.Integer(),
      vendor: Figures,
      charges: Figures,
      charges_without_figures: Type.Integer(),
      shared_models: Type.Array(Type.String()),
    },
    open,
  ),
  async run({ world, params: { upstream = '' } }, _query, { month, rows, tolerance_percent: percent }) {
    const period = monthOf(month)
    if (!period) throw invalidRequest('month', "Invalid 'month': expected a month such as 2026-10.")
    const { vendorNames, shared } = modelsOfUpstream(world.config, upstream)
    const { db } = await world.reportSource()
    const closing = await closingAt(db, period.since)
    if (closing)
      throw conflict(
        'month_closed',
        `The charges of ${month} are closed and can no longer be compared: they are in ${closing.archive}.`,
      )
    const tolerance = (percent ?? DEFAULT_TOLERANCE_PERCENT) / 100
    const found = await compareUsage(db, rows.map(usageOfRow), { ...period, vendorNames, tolerance })
    return reconciliationJson(found, shared)
  },
})

/**
 * The vendor's name of each model of an upstream, and the models that other upstreams serve too. Throws 404 for an unknown
 * upstream.
 */
function modelsOfUpstream({ models, upstreams }: Config, upstream: string) {
  if (!Object.hasOwn(upstreams, upstream)) throw notFound('upstream', upstream)
  const vendorNames = new Map<string, string>()
  const shared: string[] = []
  for (const [id, entry] of Object.entries(models)) {
    if (isRoute(entry)) continue
    const served = sharesOf(entry).map(([name]) => name)
    if (!served.includes(upstream)) continue
    vendorNames.set(id, entry.upstreamModel ?? id)
    if (served.length > 1) shared.push(id)
  }
  return { vendorNames, shared }
}

function usageOfRow(row: Static<typeof UsageRow>): VendorUsage {
  const { day, model, requests, input_tokens: inputTokens, output_tokens: outputTokens, cost_usd: cost } = row
  return {
    day,
    model,
    ...(requests !== undefined && { requests }),
    ...(inputTokens !== undefined && { inputTokens }),
    ...(outputTokens !== undefined && { outputTokens }),
    ...(cost !== undefined && { costNano: amountOf(cost, 'cost_usd') }),
  }
}

function reconciliationJson(found: Reconciliation, shared: string[]) {
  return {
    ok: found.differences.length === 0,
    differences: found.differences.map(differenceJson),
    compared: found.compared,
    vendor: figuresJson(found.vendor),
    charges: figuresJson(found.charged),
    charges_without_figures: found.withoutFigures,
    shared_models: shared,
  }
}

function differenceJson({ day, model, figure, vendor, charged }: Difference) {
  const shown = (value: number) => (figure === 'costNano' ? formatUsd(value) : value)
  return { day, model, figure: FIGURES[figure], vendor: shown(vendor), charges: shown(charged) }
}

function figuresJson({ requests, inputTokens, outputTokens, costNano }: UsageFigures) {
  return {
    requests: requests ?? null,
    input_tokens: inputTokens ?? null,
    output_tokens: outputTokens ?? null,
    cost_usd: costNano === undefined ? null : formatUsd(costNano),
  }
}

const OwnRow = Type.Object(
  {
    model: Type.String(),
    basis: Type.Union([Type.Literal('cost'), Type.Literal('price')], {
      description: 'What is compared: the cost of the model, or its price before any plan.',
    }),
    requests: Type.Integer(),
    list_usd: Cost,
    vendor_usd: Cost,
    percent: Type.String({ description: "The vendor's sum minus ours, in percent of ours: `+1.25`." }),
    differs: Type.Boolean(),
  },
  open,
)

const reconcileOwn = operation({
  id: 'reconcileOwn',
  endpoint: 'GET /reconciliation',
  role: 'viewer',
  summary: 'Compare prices with vendors',
  description:
    'Those that they reported for single requests, with the price list, by model. Changes nothing.',
  query: Type.Object({
    upstream: optionalText('Only models of this upstream.'),
    ...periodQuery,
    tolerance_percent: Type.Optional(
      Type.String({
        pattern: '^\\d{1,2}(\\.\\d{1,4})?$',
        description: 'Differences that do not count. Default 1.',
      }),
    ),
  }),
  reply: Type.Object(
    {
      ok: Type.Boolean(),
      since: Type.String(),
      until: Nullable(Type.String()),
      models: Type.Array(OwnRow),
      not_compared: Type.Integer(),
    },
    open,
  ),
  async run({ world }, query) {
    const { config, now } = world
    const wanted = periodOfQuery(query, now() - DEFAULT_OWN_MS)
    const vendorNames =
      query.upstream === undefined ? undefined : modelsOfUpstream(config, query.upstream).vendorNames
    const { db } = await world.reportSource()
    const { endedBefore } = await closedPart(db)
    const { until = now() + 1 } = wanted
    if (until <= endedBefore) {
      const closed = `The charges before ${isoTime(endedBefore)} are closed and can no longer be compared.`
      throw conflict('month_closed', closed)
    }
    const since = Math.max(wanted.since, endedBefore)
    const tolerance = Number(query.tolerance_percent ?? DEFAULT_TOLERANCE_PERCENT) / 100
    const found = await compareOwn(db, {
      since,
      until,
      tolerance,
      ...(vendorNames && { models: vendorNames }),
      isListPrice(model) {
        const entry = config.models[model]
        return entry !== undefined && !isRoute(entry) && isListPrice(entry)
      },
    })
    return { since: isoTime(since), until: isoTime(wanted.until ?? null), ...ownJson(found) }
  },
})

function ownJson({ models, notCompared }: OwnReconciliation) {
  return {
    ok: models.every(({ isApart }) => !isApart),
    models: models.map(({ model, basis, requests, listNano, vendorNano, isApart }) => ({
      model,
      basis,
      requests,
      list_usd: formatUsd(listNano),
      vendor_usd: formatUsd(vendorNano),
      percent: percentDifference(listNano, vendorNano),
      differs: isApart,
    })),
    not_compared: notCompared,
  }
}

export const reconciliationOperations = [reconcile, reconcileOwn]
