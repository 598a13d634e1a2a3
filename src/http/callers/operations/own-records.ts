// The records of a key, for its holder: GET /v1/requests and /v1/tasks, /v1/holds, and /v1/artifacts for stored results. It must
// never write, or show another key, an upstream, or the costs of the operator.

import { Type } from '@sinclair/typebox'
import type { Key } from '../../../accounts/keys'
import { spenderIds, spenderNames } from '../../../accounts/spenders'
import { Nullable, OneOf } from '../../../api-operation/operation'
import {
  CursorPage,
  count,
  dollars,
  limitParameter,
  list,
  maybeCount,
  maybeText,
  text,
  WholeList,
} from '../../../api-operation/schemas'
import { refusing } from '../../../api-operation/values'
import { viewOf } from '../../../api-operation/view'
import { ARTIFACTS_PATH } from '../../../artifacts/addresses'
import { type ListedArtifact, listArtifacts } from '../../../artifacts/rows'
import type { ChargeView } from '../../../billing/reports/usage-report'
import type { Db, Row } from '../../../db/db'
import { isoTime } from '../../../db/iso-time'
import { GatewayError, invalidRequest } from '../../../lib/errors'
import { formatUsd } from '../../../lib/money'
import { type RequestFilter, UnknownCursor } from '../../../request-log/filter'
import {
  choicesOfQuery,
  filterOfQuery,
  type OwnFilterQuery,
  ownFilterQuery,
  summarySchema,
} from '../../../request-log/filter-query'
import { findRequest, listRequests, summariseRequests } from '../../../request-log/look-up'
import { parsedJson, summaryJson, usdOf } from '../../../request-log/request-json'
import type { LoggedRequest } from '../../../request-log/row'
import type { Facet } from '../../../request-log/summary'
import { listTasks, type TaskFilter } from '../../../tasks/find'
import type { Task } from '../../../tasks/task'
import { progressOf, taskStateOf } from '../../../tasks/task-json'
import { gatewayUrlOf } from '../../gateway-url'
import { periodOfQuery } from '../../query-time'
import { callerOperation } from '../operation'
import { ownKey } from './own-key'

const DAY_MS = 86_400_000
const MAX_HOLDS = 200
const ARTIFACT_ID = /^art_[0-9a-f]{32}$/
const TASK_CURSOR = /^(\d{1,15})\.([^\0]{1,200})$/s

const optional = (description: string) => Type.Optional(Type.String({ description }))
const PAGE_AFTER = 'Continues a list after its `next`.'
const pages = { limit: limitParameter(50, 200), after: optional(PAGE_AFTER) }
const closed = { additionalProperties: false }
const ownPeriod = {
  since: optional('From this time in UTC, such as `2026-10-01`.'),
  until: optional('Before this time.'),
}
/** Upstreams are the operator's own business. */
const OWN_FACETS: readonly Facet[] = ['status', 'error', 'failedBy', 'model', 'operation', 'spenderId']

/** A request. Upstreams, addresses and attempts are the operator's own business. */
export const ownRequest = viewOf<LoggedRequest>()({
  id: [text, ({ id }) => id],
  at: [text, ({ at }) => isoTime(at)],
  operation: [text, ({ operation }) => operation as string],
  model: [maybeText, ({ model }) => model as string | null],
  stream: [Type.Boolean(), ({ stream }) => stream === 1],
  status: [count, ({ status }) => status as number],
  error_code: [maybeText, ({ error_code }) => error_code as string | null],
  error_message: [maybeText, ({ error_message }) => error_message as string | null],
  error_param: [maybeText, ({ error_param }) => error_param as string | null],
  asked_model: [maybeText, ({ asked_model }) => asked_model as string | null],
  spender_id: [maybeText, ({ spender_id }) => spender_id as string | null],
  failed_by: [maybeText, ({ failed_by }) => failed_by as string | null],
  first_byte_ms: [maybeCount, ({ first_byte_ms }) => first_byte_ms as number | null],
  duration_ms: [maybeCount, ({ duration_ms }) => duration_ms as number | null],
  input_tokens: [maybeCount, ({ input_tokens }) => input_tokens as number | null],
  output_tokens: [maybeCount, ({ output_tokens }) => output_tokens as number | null],
  held_usd: [maybeText, ({ held }) => usdOf(held)],
  amount_usd: [maybeText, ({ amount }) => usdOf(amount)],
  usage_source: [maybeText, ({ usage_source }) => usage_source as string | null],
  ended_by: [maybeText, ({ ended_by }) => ended_by as string | null],
})
const ownCharge = viewOf<ChargeView>()({
  id: [text, ({ id }) => id],
  state: [OneOf(['held', 'settled', 'released']), ({ state }) => state],
  held_usd: [dollars, ({ heldNano }) => formatUsd(heldNano)],
  amount_usd: [dollars, ({ amountNano }) => formatUsd(amountNano)],
  usage: [Type.Unknown(), ({ usageJson }) => parsedJson(usageJson)],
  usage_source: [maybeText, ({ usageSource }) => usageSource],
  ended_by: [maybeText, ({ endedBy }) => endedBy],
  created_at: [text, ({ createdAt }) => isoTime(createdAt)],
  ended_at: [maybeText, ({ endedAt }) => isoTime(endedAt)],
})
const isRunning = ({ state }: Task) => state === 'submitted'
export const ownTask = viewOf<Task>()({
  id: [text, ({ id }) => id],
  operation: [text, ({ operation }) => operation],
  state: [text, taskStateOf],
  model: [text, ({ model }) => model],
  progress: [Nullable(Type.Number()), progressOf],
  held_usd: [dollars, (task) => formatUsd(isRunning(task) ? task.costNano : 0)],
  amount_usd: [dollars, (task) => formatUsd(isRunning(task) ? 0 : task.costNano)],
  error: [
    Nullable(Type.Object({ code: text, message: maybeText })),
    ({ errorCode: code, errorMessage: message }) => (code === null ? null : { code, message }),
  ],
  webhook_url: [maybeText, ({ webhookUrl }) => webhookUrl],
  created_at: [text, ({ createdAt }) => isoTime(createdAt)],
  ended_at: [maybeText, ({ endedAt }) => isoTime(endedAt)],
  deadline_at: [text, ({ deadlineAt }) => isoTime(deadlineAt)],
})
const ownHold = viewOf<Row>()({
  id: [text, ({ id }) => id as string],
  model: [text, ({ model }) => model as string],
  operation: [text, ({ operation }) => operation as string],
  held_usd: [dollars, ({ held }) => formatUsd(held as number)],
  created_at: [text, ({ created_at }) => isoTime(created_at as number)],
  expires_at: [text, ({ expires_at }) => isoTime(expires_at as number)],
})
const EXPIRES = 'When it is deleted, or sooner if the gateway needs the space.'
const ownArtifact = viewOf<ListedArtifact & { url: string }>()({
  id: [text, ({ id }) => id],
  request: [Type.String({ description: 'The request that has made it.' }), ({ charge }) => charge],
  content_type: [text, ({ contentType }) => contentType],
  bytes: [count, ({ bytes }) => bytes],
  created_at: [text, ({ createdAt }) => isoTime(createdAt)],
  expires_at: [Type.String({ description: EXPIRES }), ({ expiresAt }) => isoTime(expiresAt)],
  url: [Type.String({ description: 'Where it can be read until then, without a key.' }), ({ url }) => url],
})

/** The filter of a query, with the ids of its spenders. */
async function ownFilter(db: Db, key: Key, query: OwnFilterQuery): Promise<RequestFilter> {
  const spenders = choicesOfQuery(query.spender, 'spender')
  const ids = spenders && (await Promise.all(spenders.map((each) => spenderIds(db, each, key.id))))
  return { ...filterOfQuery(query), ...(ids && { spenderId: ids.flat() }) }
}

const requests = callerOperation(CursorPage(ownRequest.schema))({
  ...ownKey,
  id: 'listOwnRequests',
  endpoint: 'GET /v1/requests',
  summary: 'Requests of this key, most recently ended first',
  query: Type.Object(
    {
      ...ownFilterQuery,
      ...ownPeriod,
      ...pages,
    },
    closed,
  ),
  async run({ world: { db, requestLog }, key }, { limit, after, since, until, ...words }) {
    const filter: RequestFilter = {
      ...(await ownFilter(db, key, words)),
      ...periodOfQuery({ since, until }),
      keyId: key.id,
    }
    const page = await listRequests({ db, requests: requestLog }, filter, { limit, after }).catch((error) => {
      throw error instanceof UnknownCursor ? unknownPage() : error
    })
    return { object: 'list', data: page.rows.map(ownRequest.show), next: page.next }
  },
})

const summary = callerOperation(summarySchema)({
  ...ownKey,
  id: 'summariseOwnRequests',
  endpoint: 'GET /v1/requests/summary',
  summary: 'Sums of requests of this key',
  description: 'Over time and by values. Default: of the last day.',
  query: Type.Object({ ...ownFilterQuery, ...ownPeriod }, closed),
  async run({ world: { db, requestLog, now }, key }, { since: from, until: to, ...words }) {
    const { since = now() - DAY_MS, until = now() + 1 } = periodOfQuery({ since: from, until: to })
    const scope = { since, until, keyId: key.id }
    const filter = await ownFilter(db, key, words)
    const found = await summariseRequests({ db, requests: requestLog }, scope, filter)
    const spenders = found.facets.spenderId.map(({ value }) => value)
    const names = await spenderNames(db, spenders)
    return summaryJson(found, OWN_FACETS, (id) => names.get(String(id)) ?? null)
  },
})

const request = callerOperation(
  Type.Object({
    object: Type.Literal('request'),
    id: text,
    request: Nullable(ownRequest.schema),
    charges: list(ownCharge.schema),
    task: Nullable(ownTask.schema),
  }),
)({
  ...ownKey,
  id: 'getOwnRequest',
  endpoint: 'GET /v1/requests/{id}',
  params: { id: 'The id of the request, from its header `x-request-id`.' },
  summary: 'One request of this key',
  description: 'With what was held and paid for it.',
  missing: notOfKey('request', 'req_1'),
  async run({ world: { db, requestLog }, key, params: { id = '' } }) {
    const found = await findRequest({ db, requests: requestLog }, knownId(id))
    const owner = found?.row?.key_id ?? found?.charges[0]?.keyId
    if (!found || owner !== key.id) throw notOfKey('request', id)
    const { row, charges, task } = found
    return {
      object: 'request',
      id,
      request: row ? ownRequest.show(row) : null,
      charges: charges.map(ownCharge.show),
      task: task ? ownTask.show(task) : null,
    }
  },
})

const tasks = callerOperation(CursorPage(ownTask.schema))({
  ...ownKey,
  id: 'listOwnTasks',
  endpoint: 'GET /v1/tasks',
  summary: 'Tasks of this key, newest first',
  description: 'Videos, and requests that are answered later.',
  query: Type.Object(
    {
      state: Type.Optional(OneOf(['submitted', 'succeeded', 'failed'], 'Only tasks in this state.')),
      ...pages,
    },
    closed,
  ),
  async run({ world: { db }, key: { id: keyId, account } }, { state, limit, after }) {
    const [, at, id] = after === undefined ? [] : (TASK_CURSOR.exec(after) ?? [])
    if (after !== undefined && id === undefined) throw unknownPage()
    const filter: TaskFilter = {
      account,
      keyId,
      limit: limit + 1,
      ...(state !== undefined && { state }),
      ...(id !== undefined && { after: { createdAt: Number(at), id } }),
    }
    const rows = await listTasks(db, filter)
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    const next = rows.length > limit && last ? `${last.createdAt}.${last.id}` : null
    return { object: 'list', data: shown.map(ownTask.show), next }
  },
})

/** Amounts held for requests of this key that have not ended. */
const holds = callerOperation(WholeList(ownHold.schema))({
  ...ownKey,
  id: 'listOwnHolds',
  endpoint: 'GET /v1/holds',
  summary: 'Holds of this key',
  description: 'What is held for requests that have not ended.',
  async run({ world: { db }, key }) {
    const rows = await db.query({
      sql: `select id, model, operation, held, created_at, expires_at from open_charges where key_id = $1
        order by created_at desc, id limit ${MAX_HOLDS}`,
      parameters: [key.id],
    })
    return { object: 'list', data: rows.map(ownHold.show) }
  },
})

/** Stored results of this key, each with the signed URL at which it can be read until it expires. */
const artifacts = callerOperation(CursorPage(ownArtifact.schema))({
  ...ownKey,
  id: 'listOwnArtifacts',
  endpoint: `GET ${ARTIFACTS_PATH}`,
  summary: 'Kept results of this key, newest first',
  description: 'Pictures, videos and sounds.',
  query: Type.Object(
    {
      request: Type.Optional(Type.String({ maxLength: 256, description: 'Only those of this request.' })),
      ...pages,
      after: refusing(
        Type.Optional(Type.String({ pattern: ARTIFACT_ID.source, description: PAGE_AFTER })),
        unknownPage,
      ),
    },
    closed,
  ),
  async run({ world, key: { id: keyId }, request, listener }, { request: charge, limit, after }) {
    const { db, artifacts, config, now } = world
    if (!artifacts) return { object: 'list', data: [], next: null }
    const rows = await listArtifacts(db, { keyId, charge, readableAt: now(), after, limit: limit + 1 })
    const shown = rows.slice(0, limit)
    const gatewayUrl = gatewayUrlOf(config.server?.publicUrl, request, listener)
    const data = shown.map((artifact) =>
      ownArtifact.show({ ...artifact, url: artifacts.addressOf(artifact, gatewayUrl) }),
    )
    return { object: 'list', data, next: rows.length > limit ? (shown.at(-1)?.id ?? null) : null }
  },
})

/** An id that a database can store: without a NUL. */
export function knownId(id: string): string {
  return id.slice(0, 200).replaceAll('\0', '')
}

export function notOfKey(what: 'request' | 'task', id: string): GatewayError {
  return new GatewayError(404, {
    code: `${what}_not_found`,
    type: 'invalid_request_error',
    message: `There is no ${what} \`${id.slice(0, 128)}\` of this key.`,
  })
}

function unknownPage(): GatewayError {
  return invalidRequest('after', "Invalid 'after': it is not the 'next' of a page. Start again without it.")
}

export const ownRecordOperations = [requests, summary, request, tasks, holds, artifacts]
