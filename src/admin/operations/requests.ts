// Requests and usage over the admin API. It must never write, and never show a body.

import { Type } from '@sinclair/typebox'
import { findKey, type Key, keyNames } from '../../accounts/keys'
import {
  METADATA_DIMENSION,
  nameOfUsage,
  totalUsage,
  type UsagePeriod,
  usageBy,
  usageDimensionOf,
  usageDimensions,
  usageWithCostJson,
} from '../../billing/usage-report'
import { isoTime } from '../../db/iso-time'
import { periodOfQuery } from '../../http/query-time'
import { invalidRequest, notFound } from '../../lib/errors'
import { type RequestFilter, statusRange, UnknownCursor } from '../../request-log/filter'
import { findRequest, listRequests } from '../../request-log/look-up'
import { detailsJson, type NameOf, requestJson } from '../../request-log/request-json'
import { csvResponse } from '../csv'
import {
  type Asked,
  limitOf,
  Nullable,
  OneOf,
  open,
  operation,
  optionalText,
  PageOf,
  pageQuery,
  periodQuery,
  unknownCursor,
} from '../operation'

const DAY_MS = 86_400_000
const DEFAULT_DAYS = 30
/** Hours are listed for no longer than this, in days. */
const MAX_HOURLY_DAYS = 93
const MOST_USAGE_ROWS = 20_000

const filterQuery = {
  key: optionalText('Only those of this key, by name or id.'),
  account: optionalText('Only those of this account.'),
  model: optionalText('Only those of this model.'),
  upstream: optionalText('Only those of this upstream.'),
  operation: optionalText('Only this operation, such as `chat`.'),
  status: optionalText('A status such as `429`, a class such as `5xx`, or `failed`.'),
}

async function namesOf({ world }: Asked): Promise<NameOf> {
  const names = await keyNames(world.db)
  return (id) => names.get(String(id)) ?? null
}

/** The key that a query names; also one that is gone from the table may stand in rows, by its id. */
async function keyIdOf({ world }: Asked, text: string | undefined): Promise<string | undefined> {
  if (text === undefined) return undefined
  const key: Key | undefined = await findKey(world.db, text)
  return key?.id ?? text
}

const list = operation({
  id: 'listRequests',
  method: 'GET',
  path: '/requests',
  role: 'viewer',
  tag: 'Requests',
  summary: 'Requests, the last that ended first',
  query: Type.Object({ ...filterQuery, ...periodQuery, ...pageQuery }),
  reply: PageOf(Type.Object({ id: Type.String(), at: Type.String(), status: Type.Integer() }, open)),
  async run(asked, query) {
    const { key, since, until, limit: _limit, after, status, ...equal } = query
    if (status !== undefined && !statusRange(status))
      throw invalidRequest(
        'status',
        "Invalid 'status': expected a status such as 429, a class such as 5xx, or failed.",
      )
    const keyId = await keyIdOf(asked, key)
    const filter = Object.fromEntries(
      Object.entries({ ...equal, status, keyId, ...periodOfQuery({ since, until }) }).filter(
        ([, value]) => value !== undefined,
      ),
    ) as RequestFilter
    const { db, requestLog } = await asked.world.reportSource()
    const page = await listRequests({ db, requests: requestLog }, filter, {
      limit: limitOf(query),
      after,
    }).catch((error) => {
      throw error instanceof UnknownCursor ? unknownCursor() : error
    })
    const nameOf = await namesOf(asked)
    const data = page.rows.map((row) => requestJson(row, nameOf))
    return { data, next: page.next, looked: page.looked }
  },
})

const show = operation({
  id: 'getRequest',
  method: 'GET',
  path: '/requests/{id}',
  role: 'viewer',
  tag: 'Requests',
  summary: 'Everything about a request: times, money, attempts, task and webhook',
  reply: Type.Object({ id: Type.String(), charges: Type.Array(Type.Object({}, open)) }, open),
  async run(asked) {
    const { id = '' } = asked.params
    const { db, requestLog } = await asked.world.reportSource()
    const details = await findRequest({ db, requests: requestLog }, id)
    if (!details) throw notFound('request', id)
    return detailsJson(id, details, await namesOf(asked))
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

const usage = operation({
  id: 'getUsage',
  method: 'GET',
  path: '/usage',
  role: 'viewer',
  tag: 'Usage',
  summary:
    'Requests and what was paid for them, by one or two of key, account, model, operation, day and hour',
  query: Type.Object({
    by: Type.Optional(Dimension('What to sum by. Default `key`.')),
    and: Type.Optional(Dimension('A second dimension: a row for each pair. Default: none.')),
    key: filterQuery.key,
    account: filterQuery.account,
    ...periodQuery,
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
  async run(asked, query) {
    const { now } = asked.world
    const { db } = await asked.world.reportSource()
    const { account } = query
    const by = usageDimensionOf(query.by ?? 'key') ?? 'key'
    const and = query.and === undefined ? undefined : usageDimensionOf(query.and)
    const times = periodOfQuery(query, now() - DEFAULT_DAYS * DAY_MS)
    const { since, until } = times
    if ((by === 'hour' || and === 'hour') && (until ?? now()) - since > MAX_HOURLY_DAYS * DAY_MS)
      throw invalidRequest('since', `Hours are listed for ${MAX_HOURLY_DAYS} days at most.`)
    const keyId = await keyIdOf(asked, query.key)
    const period: UsagePeriod = {
      ...times,
      ...(keyId !== undefined && { keyId }),
      ...(account !== undefined && { account }),
    }
    const used = await usageBy(db, by, period, and)
    const rows = used.map((each) => ({
      [by]: nameOfUsage(each, by),
      ...(and && { [and]: nameOfUsage({ name: each.second ?? '' }, and) }),
      ...usageWithCostJson(each),
    }))
    const total = usageWithCostJson(totalUsage(used))
    if (query.format === 'csv') {
      const titles = [by, ...(and ? [and] : []), ...Object.keys(total)]
      return csvResponse('usage.csv', titles, [rows], (row) => Object.values(row))
    }
    if (rows.length > MOST_USAGE_ROWS)
      throw invalidRequest(
        'since',
        `These are more than ${MOST_USAGE_ROWS} rows: choose a shorter period, or ask for them with format=csv.`,
      )
    return {
      since: isoTime(since),
      until: isoTime(until ?? null),
      by,
      and: and ?? null,
      rows,
      total,
    }
  },
})

export const requestOperations = [list, show, usage]
