// Requests and usage over the admin API. It must never write, and never show a body.

import { Type } from '@sinclair/typebox'
import { findKey, type Key, keyNames } from '../../accounts/keys'
import {
  nameOfUsage,
  totalUsage,
  type UsagePeriod,
  usageBy,
  usageDimensions,
  usageJson,
} from '../../billing/usage-report'
import { isoTime } from '../../db/iso-time'
import { timeOfQuery } from '../../http/query-time'
import { invalidRequest } from '../../lib/errors'
import { type RequestFilter, statusRange, UnknownCursor } from '../../request-log/filter'
import { findRequest, listRequests } from '../../request-log/look-up'
import { detailsJson, type NameOf, requestJson } from '../../request-log/request-json'
import { csvResponse } from '../csv'
import {
  type Asked,
  limitOf,
  Nullable,
  notFound,
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
    const times = { since: timeOfQuery('since', since), until: timeOfQuery('until', until) }
    const filter = Object.fromEntries(
      Object.entries({ ...equal, status, keyId, ...times }).filter(([, value]) => value !== undefined),
    ) as RequestFilter
    const { db, requestLog } = asked.world
    const page = await listRequests({ db, requests: requestLog }, filter, {
      limit: limitOf(query),
      after,
    }).catch((error) => {
      throw error instanceof UnknownCursor ? unknownCursor() : error
    })
    const nameOf = await namesOf(asked)
    return { data: page.rows.map((row) => requestJson(row, nameOf)), next: page.next }
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
    const { db, requestLog } = asked.world
    const details = await findRequest({ db, requests: requestLog }, id)
    if (!details) throw notFound('request', id)
    return detailsJson(id, details, await namesOf(asked))
  },
})

const FIGURES = [
  'requests',
  'running',
  'released',
  'counted',
  'estimated',
  'amount_usd',
  'shortfall_usd',
] as const

const usage = operation({
  id: 'getUsage',
  method: 'GET',
  path: '/usage',
  role: 'viewer',
  tag: 'Usage',
  summary: 'Requests and what was paid for them, by key, account, model, operation, day or hour',
  query: Type.Object({
    by: Type.Optional(
      Type.Union(
        usageDimensions.map((word) => Type.Literal(word)),
        { description: 'What to sum by. Default `key`.' },
      ),
    ),
    key: filterQuery.key,
    account: filterQuery.account,
    ...periodQuery,
    format: Type.Optional(
      Type.Union([Type.Literal('json'), Type.Literal('csv')], { description: 'Default `json`.' }),
    ),
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
    const { db, now } = asked.world
    const { by = 'key', account } = query
    const since = timeOfQuery('since', query.since) ?? now() - DEFAULT_DAYS * DAY_MS
    const until = timeOfQuery('until', query.until)
    if (by === 'hour' && (until ?? now()) - since > MAX_HOURLY_DAYS * DAY_MS)
      throw invalidRequest('since', `Hours are listed for ${MAX_HOURLY_DAYS} days at most.`)
    const keyId = await keyIdOf(asked, query.key)
    const period: UsagePeriod = {
      since,
      ...(until !== undefined && { until }),
      ...(keyId !== undefined && { keyId }),
      ...(account !== undefined && { account }),
    }
    const used = await usageBy(db, by, period)
    const rows = used.map((each) => ({ [by]: nameOfUsage(each, by), ...usageJson(each) }))
    if (query.format === 'csv') {
      return csvResponse('usage.csv', [by, ...FIGURES], [rows], (row) => Object.values(row))
    }
    return {
      since: isoTime(since),
      until: isoTime(until ?? null),
      by,
      rows,
      total: usageJson(totalUsage(used)),
    }
  },
})

export const requestOperations = [list, show, usage]
