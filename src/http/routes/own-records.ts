// What a key has done, for who holds it: GET /v1/requests and /v1/tasks, with one of each by its id, /v1/holds, and /v1/artifacts for
// the results that are kept. It must never write, nor tell of another key, of an upstream, or of what the operator pays.

import { Elysia } from 'elysia'
import type { Key } from '../../accounts/keys'
import { ARTIFACTS_PATH } from '../../artifacts/addresses'
import type { Artifacts } from '../../artifacts/artifacts'
import { listArtifacts } from '../../artifacts/rows'
import type { ChargeView } from '../../billing/reports/usage-report'
import type { Db } from '../../db/db'
import { isoTime } from '../../db/iso-time'
import { GatewayError, invalidRequest } from '../../lib/errors'
import { formatUsd } from '../../lib/money'
import type { System } from '../../lib/system'
import { isStatusWord, type RequestFilter, UnknownCursor } from '../../request-log/filter'
import { findRequest, listRequests } from '../../request-log/look-up'
import { ownRequestJson } from '../../request-log/own-request'
import { parsedJson } from '../../request-log/request-json'
import type { RequestStore } from '../../request-log/request-log'
import { findTask, listTasks, type TaskFilter } from '../../tasks/find'
import type { Task } from '../../tasks/task'
import { progressOf, taskStateOf } from '../../tasks/task-json'
import type { Listener } from '../connection'
import { gatewayUrlOf } from '../gateway-url'
import { assertKnownQuery } from '../known-query'
import { tolerated } from '../paths'
import { limitOfQuery } from '../query-limit'
import { periodOfQuery } from '../query-time'
import { queryOf } from '../target'
import { answerIdentified, type KeyedWorld } from '../with-key'

const LIMITS = { usual: 50, most: 200 }
const MAX_HOLDS = 200
const MAX_WORD_LENGTH = 256
const TASK_STATES = ['submitted', 'succeeded', 'failed'] as const

const ARTIFACT_ID = /^art_[0-9a-f]{32}$/

type OwnRecordsWorld = KeyedWorld &
  Pick<System, 'now'> & {
    db: Db
    requestLog: Pick<RequestStore, 'list' | 'find'>
    /** Null if results are not kept. */
    artifacts: Artifacts | null
  }

/** A request of a key's holder for some of these records. */
interface Asked {
  request: Request
  /** The id in the path; empty for a list. */
  id: string
  server: Listener | null
}

export function ownRecordRoutes(world: OwnRecordsWorld) {
  const app = new Elysia({ name: 'own-records' })
  const get = (path: string, show: (key: Key, asked: Asked) => Promise<object>) => {
    for (const each of tolerated(path))
      app.get(each, ({ request, params, server }) => {
        const id = (params as { id?: string } | undefined)?.id ?? ''
        return answerIdentified(world, request, (key) => show(key, { request, id, server }))
      })
  }
  get('/v1/requests', (key, { request }) => listOwnRequests(world, key, queryOf(request)))
  get('/v1/requests/:id', (key, { id }) => showOwnRequest(world, key, id))
  get('/v1/tasks', (key, { request }) => listOwnTasks(world, key, queryOf(request)))
  get('/v1/tasks/:id', (key, { id }) => showOwnTask(world, key, id))
  get('/v1/holds', (key) => listOwnHolds(world, key))
  get(ARTIFACTS_PATH, (key, asked) => listOwnArtifacts(world, key, asked))
  return app
}

async function listOwnRequests(
  { db, requestLog }: OwnRecordsWorld,
  { id: keyId }: Key,
  query: URLSearchParams,
): Promise<object> {
  assertKnownQuery(query, ['status', 'model', 'operation', 'since', 'until', 'limit', 'after'])
  const status = query.get('status') ?? undefined
  if (status !== undefined && !isStatusWord(status))
    throw invalidRequest(
      'status',
      "Invalid 'status': expected a status such as 429, a class such as 5xx, or failed.",
    )
  const wanted = {
    status,
    model: wordOfQuery('model', query),
    operation: wordOfQuery('operation', query),
    ...periodOfQuery({ since: query.get('since'), until: query.get('until') }),
  }
  const filter = Object.fromEntries(
    Object.entries(wanted).filter(([, value]) => value !== undefined),
  ) as RequestFilter
  const page = await listRequests(
    { db, requests: requestLog },
    { ...filter, keyId },
    { limit: limitOfQuery(query, LIMITS), after: query.get('after') ?? undefined },
  ).catch((error) => {
    throw error instanceof UnknownCursor ? unknownPage() : error
  })
  return { object: 'list', data: page.rows.map(ownRequestJson), next: page.next }
}

async function showOwnRequest(
  { db, requestLog }: OwnRecordsWorld,
  { id: keyId }: Key,
  id: string,
): Promise<object> {
  // No database keeps a NUL.
  const known = id.slice(0, 200).replaceAll('\0', '')
  const found = await findRequest({ db, requests: requestLog }, known)
  const owner = found?.row?.key_id ?? found?.charges[0]?.keyId
  if (!found || owner !== keyId)
    throw new GatewayError(404, {
      code: 'request_not_found',
      type: 'invalid_request_error',
      message: `There is no request \`${id.slice(0, 128)}\` of this key.`,
    })
  const { row, charges, task } = found
  return {
    object: 'request',
    id,
    request: row ? ownRequestJson(row) : null,
    charges: charges.map(ownChargeJson),
    task: task ? ownTaskJson(task) : null,
  }
}

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

async function listOwnTasks(
  { db }: OwnRecordsWorld,
  { id: keyId, account }: Key,
  query: URLSearchParams,
): Promise<object> {
  assertKnownQuery(query, ['state', 'limit', 'after'])
  const limit = limitOfQuery(query, LIMITS)
  const state = TASK_STATES.find((word) => word === query.get('state'))
  if (query.has('state') && state === undefined)
    throw invalidRequest('state', `Invalid 'state': expected one of ${TASK_STATES.join(', ')}.`)
  const after = query.get('after')
  const [, at, id] = after === null ? [] : (/^(\d{1,15})\.(.{1,200})$/s.exec(after) ?? [])
  if (after !== null && (at === undefined || id === undefined || id.includes('\0'))) throw unknownPage()
  const filter: TaskFilter = {
    account,
    keyId,
    limit: limit + 1,
    ...(state !== undefined && { state }),
    ...(at !== undefined && id !== undefined && { after: { createdAt: Number(at), id } }),
  }
  const rows = await listTasks(db, filter)
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const next = rows.length > limit && last ? `${last.createdAt}.${last.id}` : null
  return { object: 'list', data: shown.map(ownTaskJson), next }
}

async function showOwnTask(
  { db }: OwnRecordsWorld,
  { id: keyId, account }: Key,
  id: string,
): Promise<object> {
  const task = await findTask(db, account, id.slice(0, 200).replaceAll('\0', ''))
  if (task?.keyId === keyId) return ownTaskJson(task)
  throw new GatewayError(404, {
    code: 'task_not_found',
    type: 'invalid_request_error',
    message: `There is no task \`${id.slice(0, 128)}\` of this key.`,
  })
}

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
async function listOwnHolds({ db }: OwnRecordsWorld, { id: keyId }: Key): Promise<object> {
  const rows = await db.query({
    sql: `select id, model, operation, held, created_at, expires_at from open_charges where key_id = $1
      order by created_at desc, id limit ${MAX_HOLDS}`,
    parameters: [keyId],
  })
  const data = rows.map((row) => ({
    id: row.id,
    model: row.model,
    operation: row.operation,
    held_usd: formatUsd(row.held as number),
    created_at: isoTime(row.created_at as number),
    expires_at: isoTime(row.expires_at as number),
  }))
  return { object: 'list', data }
}

/** Results of this key that are kept, each with the signed address at which it can be read until it expires. */
async function listOwnArtifacts(
  { db, artifacts, config, now }: OwnRecordsWorld,
  { id: keyId }: Key,
  { request, server }: Asked,
): Promise<object> {
  const query = queryOf(request)
  assertKnownQuery(query, ['request', 'limit', 'after'])
  const limit = limitOfQuery(query, LIMITS)
  const charge = wordOfQuery('request', query)
  const after = query.get('after') ?? undefined
  if (after !== undefined && !ARTIFACT_ID.test(after)) throw unknownPage()
  if (!artifacts) return { object: 'list', data: [], next: null }
  const rows = await listArtifacts(db, { keyId, charge, readableAt: now(), after, limit: limit + 1 })
  const shown = rows.slice(0, limit)
  const gatewayUrl = gatewayUrlOf(config.server?.publicUrl, request, server)
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
}

/** A text to compare with. No database keeps one with a NUL. */
function wordOfQuery(name: string, query: URLSearchParams): string | undefined {
  const text = query.get(name) ?? undefined
  if (text === undefined || (text.length <= MAX_WORD_LENGTH && !text.includes('\0'))) return text
  throw invalidRequest(name, `Invalid '${name}': too long, or no text.`)
}

function unknownPage(): GatewayError {
  return invalidRequest('after', "Invalid 'after': no page has given it. Begin again without it.")
}
