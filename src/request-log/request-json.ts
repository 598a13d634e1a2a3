// Shows requests to operators as JSON: a row of the log, and everything about one request. It must never show a body.

import { compareCharge, percentDifference } from '../billing/proofs/price-drift'
import { vendorCostOfJson } from '../billing/proofs/vendor-cost'
import { chargeLinesJson } from '../billing/reports/bill-lines'
import type { ChargeView } from '../billing/reports/usage-report'
import { operations } from '../contract/operations'
import type { Quantities } from '../contract/units'
import { isoTime } from '../db/iso-time'
import { isObjects, jsonOfColumn } from '../db/json-column'
import { formatUsd } from '../lib/money'
import { deliveryJson, taskJson } from '../tasks/task-json'
import { explanationOf, type FailedRow } from './explanation'
import type { RequestDetails } from './look-up'
import {
  ABOVE_QUOTE,
  type FailedAttempt,
  type LoggedColumns,
  type LoggedRequest,
  type PassedOver,
  quantitiesOfRow,
  type RouteOrder,
} from './row'
import type { Facet, FacetValue, RequestSummary } from './summary'

/** The name of a key or a spender by its id; null for an unknown one. */
export type NameOf = (id: unknown) => string | null

type Shown = Omit<
  LoggedColumns,
  | 'id'
  | 'at'
  | 'stream'
  | 'amount'
  | 'held'
  | 'attempts'
  | 'metadata'
  | 'quantities'
  | 'session'
  | 'resting_keys'
  | 'passed_over'
  | 'route_order'
>

export function requestJson(row: LoggedRequest, nameOf: NameOf) {
  const { number: _, id, at, stream, amount, held, attempts, metadata, session, ...others } = row
  const {
    resting_keys: resting,
    passed_over: passedOver,
    route_order: order,
    quantities: _paid,
    ...rest
  } = others
  return {
    id,
    at: isoTime(at),
    key: nameOf(row.key_id),
    spender: nameOf(row.spender_id),
    ...(rest as object as Shown),
    stream: stream === 1,
    held_usd: usdOf(held),
    amount_usd: usdOf(amount),
    attempts: jsonOfColumn<FailedAttempt[]>(attempts, [], isObjects) ?? [],
    passed_over: jsonOfColumn<PassedOver[]>(passedOver, [], isObjects) ?? [],
    route_order: jsonOfColumn<RouteOrder | null>(order, null),
    metadata: jsonOfColumn<Record<string, string> | null>(metadata, null),
    session: typeof session === 'string' ? sessionJson(session) : null,
    resting_keys: typeof resting === 'string' ? resting.split(',').map(Number) : [],
  }
}

/** Sums of requests; `nameOf` names keys and spenders, and facets that were not requested are omitted. */
export function summaryJson(summary: RequestSummary, facets: readonly Facet[], nameOf: NameOf) {
  const { requests, failed, failedBy, amountNano, firstBytes, durations, spans, spanMs } = summary
  return {
    requests,
    failed,
    failed_by: failedBy,
    amount_usd: formatUsd(amountNano),
    input_tokens: summary.inputTokens,
    output_tokens: summary.outputTokens,
    first_byte_p50_ms: firstBytes.percentile(0.5),
    first_byte_p99_ms: firstBytes.percentile(0.99),
    duration_p50_ms: durations.percentile(0.5),
    duration_p99_ms: durations.percentile(0.99),
    span_ms: spanMs,
    spans: spans.map((span) => ({
      since: isoTime(span.since),
      requests: span.requests,
      failed: span.failed,
      amount_usd: formatUsd(span.amountNano),
    })),
    facets: Object.fromEntries(
      facets.map((facet) => [
        FACET_NAMES[facet],
        facet === 'keyId' || facet === 'spenderId'
          ? withNames(summary.facets[facet], nameOf)
          : summary.facets[facet],
      ]),
    ) as Record<string, FacetValue[]>,
    looked: summary.looked,
    covered_since: summary.coveredSince === undefined ? null : isoTime(summary.coveredSince),
  }
}

/** Values of a facet by name; values with the same name are merged. A name with a comma cannot be used in a filter; its id can. */
function withNames(values: readonly FacetValue[], nameOf: NameOf): FacetValue[] {
  const named = new Map<string, FacetValue>()
  for (const each of values) {
    const name = nameOf(each.value)
    const value = name === null || name.includes(',') ? each.value : name
    const known = named.get(value)
    named.set(value, {
      value,
      requests: each.requests + (known?.requests ?? 0),
      failed: each.failed + (known?.failed ?? 0),
    })
  }
  return [...named.values()]
}

/** Facets under the names of query parameters. */
const FACET_NAMES: Record<Facet, string> = {
  status: 'status',
  error: 'error',
  failedBy: 'failed_by',
  model: 'model',
  keyId: 'key',
  spenderId: 'spender',
  account: 'account',
  upstream: 'upstream',
  operation: 'operation',
}

/** The session that chose the key and the upstream of a request: the header or field it came from, and its hash. */
function sessionJson(session: string): { by: string; hash: string } {
  const [by = '', hash = ''] = session.split(' ')
  return { by, hash }
}

/** An amount of a row in dollars; null for none. */
export function usdOf(nano: unknown): string | null {
  return typeof nano === 'number' ? formatUsd(nano) : null
}

export function detailsJson(
  id: string,
  { row, charges, closing, task, webhook }: RequestDetails,
  nameOf: NameOf,
) {
  return {
    id,
    explanation: row ? explanationOf(row as object as FailedRow) : null,
    request: row ? requestJson(row, nameOf) : null,
    endpoint: row ? endpointOf(row.operation) : null,
    charges: charges.map((charge) => chargeJson(charge, quantitiesOf(charge, { row, task }), row)),
    archive: closing?.archive ?? null,
    archive_month: closing?.month ?? null,
    task: task ? taskJson(task) : null,
    webhook: webhook ? deliveryJson(webhook) : null,
  }
}

/** The route of an operation with its form; null if it is no longer valid. */
function endpointOf(name: unknown): { path: string; body: 'json' | 'form' } | null {
  const found = operations.find((operation) => operation.name === name)
  return found ? { path: found.path, body: found.body } : null
}

/** Quantities that a charge paid: for a task, those of its result, and for any other request, those of its row. */
function quantitiesOf(
  { id, state }: ChargeView,
  { row, task }: Pick<RequestDetails, 'row' | 'task'>,
): Quantities | undefined {
  if (state !== 'settled') return undefined
  if (task) return task.charge === id ? task.quantities : undefined
  return row && quantitiesOfRow(row)
}

function chargeJson(charge: ChargeView, quantities: Quantities | undefined, row: LoggedRequest | undefined) {
  const compared = charge.state === 'settled' ? compareCharge(charge) : undefined
  return {
    id: charge.id,
    state: charge.state,
    account: charge.account,
    key_id: charge.keyId,
    model: charge.model,
    operation: charge.operation,
    held_usd: formatUsd(charge.heldNano),
    amount_usd: formatUsd(charge.amountNano),
    shortfall_usd: formatUsd(charge.shortfallNano),
    cost_usd: usdOf(charge.costNano),
    margin_usd: charge.costNano === null ? null : formatUsd(charge.amountNano - charge.costNano),
    vendor_cost_usd: usdOf(vendorCostOfJson(charge.usageJson)),
    list_cost_usd: usdOf(compared?.listNano),
    vendor_percent: compared ? percentDifference(compared.listNano, compared.vendorNano) : null,
    metadata: parsedJson(charge.metadata),
    usage_source:
      charge.usageSource === 'upstream' && row?.usage_source === ABOVE_QUOTE
        ? ABOVE_QUOTE
        : charge.usageSource,
    usage: parsedJson(charge.usageJson),
    prices: parsedJson(charge.pricesJson),
    lines: quantities === undefined ? null : chargeLinesJson(charge, quantities),
    ended_by: charge.endedBy,
    created_at: isoTime(charge.createdAt),
    ended_at: isoTime(charge.endedAt),
  }
}

/** A text as JSON, or as it is. */
export function parsedJson(json: string | null): unknown {
  if (json === null) return null
  try {
    return JSON.parse(json)
  } catch {
    return json
  }
}
