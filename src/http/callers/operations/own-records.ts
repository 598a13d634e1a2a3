// What a key has done, for who holds it: GET /v1/requests and /v1/tasks, with one of each by its id, /v1/holds, and /v1/artifacts for
// the results that are kept. It must never write, nor show another key, an upstream, or what the operator pays.

import { type Static, Type } from '@sinclair/typebox'
import { Nullable, OneOf } from '../../../api-operation/operation'
import { ARTIFACTS_PATH } from '../../../artifacts/addresses'
import { listArtifacts } from '../../../artifacts/rows'
import type { ChargeView } from '../../../billing/reports/usage-report'
import { isoTime } from '../../../db/iso-time'
import { GatewayError, invalidRequest } from '../../../lib/errors'
import { formatUsd } from '../../../lib/money'
import { isStatusWord, type RequestFilter, UnknownCursor } from '../../../request-log/filter'
import { findRequest, listRequests } from '../../../request-log/look-up'
import { ownRequestJson } from '../../../request-log/own-request'
import { parsedJson } from '../../../request-log/request-json'
import type { LoggedRequest } from '../../../request-log/row'
import { findTask, listTasks, type TaskFilter } from '../../../tasks/find'
import type { Task } from '../../../tasks/task'
import { progressOf, taskStateOf } from '../../../tasks/task-json'
import { gatewayUrlOf } from '../../gateway-url'
import { periodOfQuery } from '../../query-time'
import { callerOperation } from '../operation'
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
} from '../schemas'
import { refusing } from '../values'
import { ownKey } from './own-key'

const MAX_HOLDS = 200
const ARTIFACT_ID = /^art_[0-9a-f]{32}$/
const TASK_CURSOR = /^(\d{1,15})\.([^\0]{1,200})$/s

/** A text to compare with. No database keeps one with a NUL. */
const word = (description: string) =>
  Type.Optional(Type.String({ maxLength: 256, pattern: '^[^\\u0000]*$', description }))
const optional = (description: string) => Type.Optional(Type.String({ description }))
const PAGE_AFTER = 'The page after another one, by its `next`.'
const pages = { limit: limitParameter(50, 200), after: optional(PAGE_AFTER) }
const closed = { additionalProperties: false }

const OwnRequest = Type.Object({
  id: text,
  at: text,
  operation: text,
  model: maybeText,
  stream: Type.Boolean(),
  status: count,
  error_code: maybeText,
  first_byte_ms: maybeCount,
  duration_ms: maybeCount,
  input_tokens: maybeCount,
  output_tokens: maybeCount,
  held_usd: maybeText,
  amount_usd: maybeText,
  usage_source: maybeText,
  ended_by: maybeText,
})
const OwnCharge = Type.Object({
  id: text,
  state: OneOf(['held', 'settled', 'released']),
  held_usd: dollars,
  amount_usd: dollars,
  usage: Type.Unknown(),
  usage_source: maybeText,
  ended_by: maybeText,
  created_at: text,
  ended_at: maybeText,
})
const OwnTask = Type.Object({
  id: text,
  state: text,
  model: text,
  progress: Nullable(Type.Number()),
  held_usd: dollars,
  amount_usd: dollars,
  error: Nullable(Type.Object({ code: text, message: maybeText })),
  webhook_url: maybeText,
  created_at: text,
  ended_at: maybeText,
  deadline_at: text,
})
const OwnHold = Type.Object({
  id: text,
  model: text,
  operation: text,
  held_usd: dollars,
  created_at: text,
  expires_at: text,
})
const OwnArtifact = Type.Object({
  id: text,
  request: Type.String({ description: 'The request that has made it.' }),
  content_type: text,
  bytes: count,
  created_at: text,
  expires_at: Type.String({
    description: 'When it is deleted, or sooner if the gateway needs the room.',
  }),
  url: Type.String({ description: 'Where it can be read until then, without a key.' }),
})

const requests = callerOperation(CursorPage(OwnRequest))({
  ...ownKey,
  id: 'listOwnRequests',
  path: '/v1/requests',
  summary: 'Requests of this key, the last that ended first',
  query: Type.Object(
    {
      status: optional(
        'A status such as `429`, a class such as `5xx`, or `failed`: those from 400 on, and streams that broke after 200.',
      ),
      model: word('Only those of this model.'),
      operation: word('Only this operation, such as `chat`.'),
      since: optional('From this time in UTC, such as `2026-10-01`.'),
      until: optional('Before this time.'),
      ...pages,
    },
    closed,
  ),
  async run({ world: { db, requestLog }, key }, { limit, after, since, until, ...words }) {
    if (words.status !== undefined && !isStatusWord(words.status))
      throw invalidRequest(
        'status',
        "Invalid 'status': expected a status such as 429, a class such as 5xx, or failed.",
      )
    const filter: RequestFilter = { ...words, ...periodOfQuery({ since, until }), keyId: key.id }
    const page = await listRequests({ db, requests: requestLog }, filter, { limit, after }).catch((error) => {
      throw error instanceof UnknownCursor ? unknownPage() : error
    })
    return { object: 'list', data: page.rows.map(shownRequest), next: page.next }
  },
})

const request = callerOperation(
  Type.Object({
    object: Type.Literal('request'),
    id: text,
    request: Nullable(OwnRequest),
    charges: list(OwnCharge),
    task: Nullable(OwnTask),
  }),
)({
  ...ownKey,
  id: 'getOwnRequest',
  path: '/v1/requests/{id}',
  params: { id: 'The id of the request, as its header `x-request-id` had it.' },
  summary: 'A request of this key, with what was held and paid for it',
  missing: notOfKey('request', 'req_1'),
  async run({ world: { db, requestLog }, key, params: { id = '' } }) {
    const found = await findRequest({ db, requests: requestLog }, knownId(id))
    const owner = found?.row?.key_id ?? found?.charges[0]?.keyId
    if (!found || owner !== key.id) throw notOfKey('request', id)
    const { row, charges, task } = found
    return {
      object: 'request',
      id,
      request: row ? shownRequest(row) : null,
      charges: charges.map(ownChargeJson),
      task: task ? ownTaskJson(task) : null,
    }
  },
})

function ownChargeJson(charge: ChargeView) {
  return {
    id: charge.id,
    state: charge.state,
    held_usd: formatUsd(charge.heldNano),
    amount_usd: formatUsd(charge.amountNano),
    usage: parsedJson(charge.usageJson),
    usage_source: charge.usageSource,
    ended_by: charge.endedBy,
    created_at: isoTime(charge.createdAt),
    ended_at: isoTime(charge.endedAt),
  }
}

const tasks = callerOperation(CursorPage(OwnTask))({
  ...ownKey,
  id: 'listOwnTasks',
  path: '/v1/tasks',
  summary: 'Video tasks of this key, newest first',
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
    return { object: 'list', data: shown.map(ownTaskJson), next }
  },
})

const task = callerOperation(OwnTask)({
  ...ownKey,
  id: 'getOwnTask',
  path: '/v1/tasks/{id}',
  params: { id: 'The id of the task, or that of the vendor.' },
  summary: 'A video task of this key, with what is held or paid for it',
  missing: notOfKey('task', 'video_1'),
  async run({ world: { db }, key, params: { id = '' } }) {
    const task = await findTask(db, key.account, knownId(id))
    if (task?.keyId === key.id) return ownTaskJson(task)
    throw notOfKey('task', id)
  },
})

function ownTaskJson(task: Task) {
  const isRunning = task.state === 'submitted'
  return {
    id: task.id,
    state: taskStateOf(task),
    model: task.model,
    progress: progressOf(task),
    held_usd: formatUsd(isRunning ? task.costNano : 0),
    amount_usd: formatUsd(isRunning ? 0 : task.costNano),
    error: task.errorCode === null ? null : { code: task.errorCode, message: task.errorMessage },
    webhook_url: task.webhookUrl,
    created_at: isoTime(task.createdAt),
    ended_at: isoTime(task.endedAt),
    deadline_at: isoTime(task.deadlineAt),
  }
}

/** Amounts held for requests of this key that have not ended. */
const holds = callerOperation(WholeList(OwnHold))({
  ...ownKey,
  id: 'listOwnHolds',
  path: '/v1/holds',
  summary: 'What is held for requests of this key that have not ended',
  async run({ world: { db }, key }) {
    const rows = await db.query({
      sql: `select id, model, operation, held, created_at, expires_at from open_charges where key_id = $1
        order by created_at desc, id limit ${MAX_HOLDS}`,
      parameters: [key.id],
    })
    const data = rows.map((row) => ({
      id: row.id as string,
      model: row.model as string,
      operation: row.operation as string,
      held_usd: formatUsd(row.held as number),
      created_at: isoTime(row.created_at as number),
      expires_at: isoTime(row.expires_at as number),
    }))
    return { object: 'list', data }
  },
})

/** Results of this key that are kept, each with the signed address at which it can be read until it expires. */
const artifacts = callerOperation(CursorPage(OwnArtifact))({
  ...ownKey,
  id: 'listOwnArtifacts',
  path: ARTIFACTS_PATH,
  summary: 'Pictures, videos and sounds of this key that are kept, newest first',
  query: Type.Object(
    {
      request: word('Only those of this request.'),
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
    const data = shown.map((artifact) => ({
      id: artifact.id,
      request: artifact.charge,
      content_type: artifact.contentType,
      bytes: artifact.bytes,
      created_at: isoTime(artifact.createdAt),
      expires_at: isoTime(artifact.expiresAt),
      url: artifacts.addressOf(artifact, gatewayUrl),
    }))
    return { object: 'list', data, next: rows.length > limit ? (shown.at(-1)?.id ?? null) : null }
  },
})

function shownRequest(row: LoggedRequest) {
  return ownRequestJson(row) as Static<typeof OwnRequest>
}

/** An id as a database may keep it: without a NUL. */
function knownId(id: string): string {
  return id.slice(0, 200).replaceAll('\0', '')
}

function notOfKey(what: 'request' | 'task', id: string): GatewayError {
  return new GatewayError(404, {
    code: `${what}_not_found`,
    type: 'invalid_request_error',
    message: `There is no ${what} \`${id.slice(0, 128)}\` of this key.`,
  })
}

function unknownPage(): GatewayError {
  return invalidRequest('after', "Invalid 'after': no page has given it. Begin again without it.")
}

export const ownRecordOperations = [requests, request, tasks, task, holds, artifacts]
