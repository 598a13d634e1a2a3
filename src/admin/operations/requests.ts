// Requests and usage over the admin API. It must never write, or show a body, except for the one operation that shows what
// `log.bodies` has stored, and records in the audit trail who read it.

import { type Static, Type } from '@sinclair/typebox'
import { findKey, type Key, keyNames } from '../../accounts/keys'
import { usageNaming } from '../../accounts/spender-usage'
import { spenderIds, spenderNames } from '../../accounts/spenders'
import { Nullable, OneOf, open } from '../../api-operation/operation'
import { cacheSavings, type SavedSums, savingsBy, sumSavings } from '../../billing/reports/cache-savings'
import {
  METADATA_DIMENSION,
  totalUsage,
  type Usage,
  type UsageDimension,
  type UsagePeriod,
  usageBy,
  usageDimensionOf,
  usageDimensions,
  usageWithCostJson,
} from '../../billing/reports/usage-report'
import { METADATA_NAME } from '../../config/usage'
import type { Db } from '../../db/db'
import { UnreadableText } from '../../db/encryption/codec'
import { isoTime } from '../../db/iso-time'
import { csvResponse } from '../../http/csv'
import { periodOfQuery } from '../../http/query-time'
import { conflict, invalidRequest, notFound } from '../../lib/errors'
import { formatUsd } from '../../lib/money'
import { metadataValue } from '../../request/caller/metadata'
import { type Metadata, type RequestFilter, UnknownCursor } from '../../request-log/filter'
import {
  choicesOfQuery,
  defined,
  filterOfQuery,
  ownFilterQuery,
  summarySchema,
} from '../../request-log/filter-query'
import { exportRequests, findRequest, listRequests, summariseRequests } from '../../request-log/look-up'
import { recordedQuantities } from '../../request-log/recorded-quantities'
import { detailsJson, type NameOf, requestJson, summaryJson } from '../../request-log/request-json'
import type { LoggedRequest } from '../../request-log/row'
import { FACETS } from '../../request-log/summary'
import { record } from '../audit-trail'
import { requestCells, requestTitles } from '../csv'
import { type FailedBy, failuresBetween } from '../failure-figures'
import {
  limitOf,
  type OperationContext,
  operationsIn,
  optionalText,
  PageOf,
  pageQuery,
  periodQuery,
  unknownCursor,
} from '../operation'

const operation = operationsIn('Requests')
const usageOperation = operationsIn('Usage')
const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
/** Hours are listed for at most this many days. */
const MAX_HOURLY_DAYS = 93
const MAX_USAGE_ROWS = 20_000

const filterQuery = {
  key: optionalText('Only those of this key, by name or id.'),
  account: optionalText('Only those of this account.'),
  upstream: optionalText('Only those of this upstream.'),
  ...ownFilterQuery,
  metadata: optionalText('Only those with this metadata, such as `team=search`.'),
}
const filterSchema = Type.Object({ ...filterQuery, ...periodQuery })
type FilterQuery = {
  [Name in keyof Static<typeof filterSchema>]?: Static<typeof filterSchema>[Name] | undefined
}

const METADATA_PAIR = new RegExp(`^(${METADATA_NAME})=(.+)$`, 's')

/** The names of the keys and the spenders of some rows. */
async function namesOf({ world: { db } }: OperationContext, rows: readonly LoggedRequest[]): Promise<NameOf> {
  const idsIn = (column: string) => [
    ...new Set(rows.map((row) => row[column]).filter((id) => typeof id === 'string')),
  ]
  return namesOfIds(db, idsIn('key_id'), idsIn('spender_id'))
}

async function namesOfIds(db: Db, keys: readonly string[], spenders: readonly string[]): Promise<NameOf> {
  const [ofKeys, ofSpenders] = await Promise.all([keyNames(db, keys), spenderNames(db, spenders)])
  return (id) => ofKeys.get(String(id)) ?? ofSpenders.get(String(id)) ?? null
}

/** Pages of rows with the cells of each. */
async function* cellsOf(
  context: OperationContext,
  pages: AsyncIterable<readonly LoggedRequest[]>,
  metadataNames: readonly string[],
) {
  for await (const rows of pages) {
    const nameOf = await namesOf(context, rows)
    yield rows.map((row) => requestCells(requestJson(row, nameOf), metadataNames))
  }
}

/** The key in a query; rows may still have the id of a key that is no longer in the table. */
async function keyIdOf({ world }: OperationContext, text: string | undefined): Promise<string | undefined> {
  if (text === undefined) return undefined
  const key: Key | undefined = await findKey(world.db, text)
  return key?.id ?? text
}

/** The filter of a query. Throws 400 if it is invalid. */
async function filterOf(context: OperationContext, query: FilterQuery): Promise<RequestFilter> {
  const { metadata, account, upstream, since, until } = query
  const keys = choicesOfQuery(query.key, 'key')
  const keyId = keys && (await Promise.all(keys.map((key) => keyIdOf(context, key))))
  const spenders = choicesOfQuery(query.spender, 'spender')
  const ids = spenders && (await Promise.all(spenders.map((each) => spenderIds(context.world.db, each))))
  return defined({
    ...filterOfQuery(query),
    keyId: keyId?.filter((id) => id !== undefined),
    spenderId: ids?.flat(),
    account: choicesOfQuery(account, 'account'),
    upstream: choicesOfQuery(upstream, 'upstream'),
    metadata: metadata === undefined ? undefined : metadataOfQuery(metadata),
    ...periodOfQuery({ since, until }),
  })
}

/** One value of metadata, in the form in which rows have it. */
function metadataOfQuery(text: string): Metadata {
  const [, name, value] = METADATA_PAIR.exec(text) ?? []
  const kept = metadataValue(value)
  if (name !== undefined && kept !== undefined) return { name, value: kept }
  throw invalidRequest(
    'metadata',
    "Invalid 'metadata': expected a name of usage.metadata and a value, such as team=search.",
  )
}

const list = operation({
  id: 'listRequests',
  endpoint: 'GET /requests',
  role: 'viewer',
  summary: 'Requests, most recently ended first',
  query: Type.Object({
    ...filterQuery,
    ...periodQuery,
    ...pageQuery,
    last: Type.Optional(
      Type.Integer({ minimum: 1, description: 'With `format=csv`: only so many, the last that ended.' }),
    ),
    format: Type.Optional(
      OneOf(
        ['json', 'csv'],
        '`csv` returns all matching rows as a file, most recently ended first. Default `json`.',
      ),
    ),
  }),
  reply: PageOf(Type.Object({ id: Type.String(), at: Type.String(), status: Type.Integer() }, open)),
  async run(context, query) {
    const { last, after, format } = query
    const filter = await filterOf(context, query)
    const { db, requestLog: requests } = await context.world.reportSource()
    if (format === 'csv') {
      if (after !== undefined) throw unknownCursor()
      const names = context.world.config.usage?.metadata ?? []
      const pages = exportRequests({ db, requests }, filter, last)
      return csvResponse(
        'requests.csv',
        requestTitles(names),
        cellsOf(context, pages, names),
        (cells) => cells,
      )
    }
    if (last !== undefined)
      throw invalidRequest('last', "'last' needs format=csv: pages take 'limit' and 'after'.")
    const limit = limitOf(query)
    const page = await listRequests({ db, requests }, filter, { limit, after }).catch((error) => {
      throw error instanceof UnknownCursor ? unknownCursor() : error
    })
    const nameOf = await namesOf(context, page.rows)
    const data = page.rows.map((row) => requestJson(row, nameOf))
    return { data, next: page.next, looked: page.looked }
  },
})

const summary = operation({
  id: 'summariseRequests',
  endpoint: 'GET /requests/summary',
  role: 'viewer',
  summary: 'Sums of requests',
  description: 'Over time and by the values of each filter. Default: of the last day.',
  query: Type.Object({ ...filterQuery, ...periodQuery }),
  reply: summarySchema,
  async run(context, query) {
    const now = context.world.now()
    const { db, requestLog: requests } = await context.world.reportSource()
    const { since = now - DAY_MS, until = now + 1, ...filter } = await filterOf(context, query)
    const found = await summariseRequests({ db, requests }, { since, until }, filter)
    const [keys, spenders] = [found.facets.keyId, found.facets.spenderId].map((values) =>
      values.map(({ value }) => value),
    )
    return summaryJson(found, FACETS, await namesOfIds(db, keys ?? [], spenders ?? []))
  },
})

const show = operation({
  id: 'getRequest',
  endpoint: 'GET /requests/{id}',
  role: 'viewer',
  summary: 'One request',
  description: 'Everything about it: times, money, attempts, task and webhook.',
  reply: Type.Object(
    { id: Type.String(), explanation: Nullable(Type.String()), charges: Type.Array(Type.Object({}, open)) },
    open,
  ),
  async run(context) {
    const { id = '' } = context.params
    const { db, requestLog } = await context.world.reportSource()
    const details = await findRequest({ db, requests: requestLog }, id)
    if (!details) throw notFound('request', id)
    return detailsJson(id, details, await namesOf(context, details.row ? [details.row] : []))
  },
})

const bodies = operation({
  id: 'getRequestBodies',
  endpoint: 'GET /requests/{id}/bodies',
  role: 'operator',
  summary: 'Request and response',
  description: 'As `log.bodies` has kept them; null for nothing. The audit trail names who looked.',
  reply: Type.Object({
    id: Type.String(),
    bodies: Nullable(Type.Object({ request: Nullable(Type.String()), answer: Nullable(Type.String()) })),
  }),
  async run({ world, actor, params: { id = '' } }) {
    // No database stores a NUL.
    const kept = await world.requestLog.bodiesOf(id.replaceAll('\0', '')).catch((error) => {
      if (!(error instanceof UnreadableText)) throw error
      throw conflict(
        'bodies_encrypted',
        `The bodies of ${id} are encrypted with a key that is not configured: add it to secrets.olderKeys.`,
      )
    })
    // Nobody may read callers' texts without a record of it.
    if (kept) await record(world, actor, { action: 'request.bodies', target: `request:${id}` })
    return { id, bodies: kept ?? null }
  },
})

/** A dimension of usage; metadata by its names. */
const Dimension = (description: string) =>
  Type.Union(
    [
      ...usageDimensions.map((word) => Type.Literal(word)),
      Type.String({ pattern: METADATA_DIMENSION.source, description: 'Metadata: `metadata.team`.' }),
    ],
    { description },
  )

const usage = usageOperation({
  id: 'getUsage',
  endpoint: 'GET /usage',
  role: 'viewer',
  summary: 'Usage',
  description:
    'Requests and what was paid for them, by one or two of key, account, spender, model, operation, day, hour and names of metadata.',
  query: Type.Object({
    by: Type.Optional(Dimension('What to sum by. Default `key`.')),
    and: Type.Optional(Dimension('A second dimension: a row for each pair. Default: none.')),
    key: filterQuery.key,
    account: filterQuery.account,
    ...periodQuery,
    saved: Type.Optional(
      OneOf(
        ['true'],
        "Also what vendors' prompt caches saved, by the prices of each charge. It reads all charges of the period.",
      ),
    ),
    format: Type.Optional(OneOf(['json', 'csv'], 'Default `json`.')),
  }),
  reply: Type.Object(
    {
      since: Type.String(),
      until: Nullable(Type.String()),
      by: Type.String(),
      rows: Type.Array(Type.Object({}, open)),
      total: Type.Object({}, open),
    },
    open,
  ),
  async run(context, query) {
    const { now, config, requestLog } = context.world
    const metadataNames = config.usage?.metadata ?? []
    const { db } = await context.world.reportSource()
    const { account } = query
    const by = usageDimensionOf(query.by ?? 'key') ?? 'key'
    const and = query.and === undefined ? undefined : usageDimensionOf(query.and)
    const times = periodOfQuery(query, now() - DEFAULT_DAYS * DAY_MS)
    const { since, until } = times
    if ((by === 'hour' || and === 'hour') && (until ?? now()) - since > MAX_HOURLY_DAYS * DAY_MS)
      throw invalidRequest('since', `Hourly figures are listed for at most ${MAX_HOURLY_DAYS} days.`)
    const keyId = await keyIdOf(context, query.key)
    const period: UsagePeriod = {
      ...times,
      ...(keyId !== undefined && { keyId }),
      ...(account !== undefined && { account }),
    }
    const used = await usageBy(db, by, period, and)
    const saved = query.saved === undefined ? undefined : await savingsOf(context, period, [by, and])
    await requestLog.storeFigures()
    const failures = await failuresBetween(db, { ...period, until: until ?? now() + 1 }, by)
    const failuresBy = and === undefined ? failures.byName : undefined
    const shown = withFailed(used, by, failuresBy)
    const namesIn = await usageNaming(db, shown, and ? [by, and] : [by])
    const rows = shown.map((each) => ({
      ...namesIn(each),
      ...usageWithCostJson(each),
      ...(saved && savedJson(saved.of(each))),
      ...(failuresBy && failedJson(failuresBy.get(each.name))),
    }))
    const sums = { ...usageWithCostJson(totalUsage(used)), ...(saved && savedJson(saved.total)) }
    const total = { ...sums, ...failedJson(failures.total) }
    if (query.format === 'csv') {
      const titles = Object.keys({
        ...namesIn({ ...totalUsage([]), name: '' }),
        ...(failuresBy ? total : sums),
      })
      return csvResponse('usage.csv', titles, [rows], (row) => Object.values(row))
    }
    if (rows.length > MAX_USAGE_ROWS)
      throw invalidRequest(
        'since',
        `The result has more than ${MAX_USAGE_ROWS} rows: choose a shorter period, or use format=csv.`,
        'too_many_rows',
      )
    return {
      since: isoTime(since),
      until: isoTime(until ?? null),
      by,
      and: and ?? null,
      dimensions: [...usageDimensions, ...metadataNames.map((name) => `metadata.${name}`)],
      ...(saved && { saved_since: isoTime(saved.since) }),
      rows,
      total,
    }
  },
})

/** The savings of caches in a period, for each row of usage by these dimensions and in total. */
async function savingsOf(
  { world }: OperationContext,
  period: UsagePeriod,
  dimensions: readonly [UsageDimension, UsageDimension | undefined],
) {
  const { db, requestLog: requests } = await world.reportSource()
  const { savings, since } = await cacheSavings(db, {
    ...period,
    until: period.until ?? world.now() + DAY_MS,
    recorded: (charges) => recordedQuantities({ db, requests }, charges),
  })
  const names = await keyNames(world.db, [...new Set(savings.map(({ series }) => series.keyId))])
  const of = savingsBy(savings, dimensions, (id) => names.get(id) ?? id)
  return { of, total: sumSavings(savings), since }
}

/** Rows of usage, with those of days, hours or models whose requests all failed before they had a charge. */
function withFailed(
  used: readonly Usage[],
  by: UsageDimension,
  failures: ReadonlyMap<string, FailedBy> | undefined,
): Usage[] {
  const known = new Set(used.map(({ name }) => name))
  const further = [...(failures ?? [])].flatMap(([name, { caller, gateway, vendor }]) =>
    known.has(name) || caller + gateway + vendor === 0 ? [] : [{ ...totalUsage([]), name }],
  )
  const rows = [...used, ...further]
  return by === 'day' || by === 'hour'
    ? rows.toSorted((one, two) => Number(one.name) - Number(two.name))
    : rows
}

function failedJson(failed: FailedBy | undefined) {
  return {
    failed_by_vendor: failed?.vendor ?? 0,
    failed_by_gateway: failed?.gateway ?? 0,
    failed_by_caller: failed?.caller ?? 0,
  }
}

function savedJson({ savedNano, unknown }: SavedSums) {
  return { saved_usd: formatUsd(savedNano), saved_unknown: unknown }
}

export const requestOperations = [list, summary, show, bodies, usage]
