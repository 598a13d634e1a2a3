// Calls operations of the admin API by their ids: in this process, on a database, or over HTTP. Both are made from the list of
// operations, so that a caller gets the same answers and the same errors from either. A token must never be sent to a server other
// than the named one.

import { Type } from '@sinclair/typebox'
import type { TypedOperation } from '../api-operation/operation'
import { GatewayError } from '../lib/errors'
import { isObject } from '../lib/objects'
import { createValidator } from '../lib/validate'
import { type AdminOperation, CHANGED_HEADER, type OperationContext } from './operation'
import { adminOperations, type KnownOperation } from './operations'

export type OperationId = KnownOperation['id']
type Types<Id> =
  Extract<KnownOperation, { id: Id }> extends TypedOperation<
    AdminOperation,
    Id,
    infer Query,
    infer Body,
    infer Reply
  >
    ? { query: Query; body: Body; reply: Reply }
    : never
type Given<Fields> = { [Name in keyof Fields]: Fields[Name] | undefined }

/** JSON answer of an operation. */
export type ReplyOf<Id extends OperationId> = Types<Id>['reply']

export interface OperationCall<Id extends OperationId> {
  /** The parameters in its path, by name. */
  params?: Readonly<Record<string, string>>
  query?: Given<Types<Id>['query']>
  body?: Given<Types<Id>['body']>
  /** For operations that take one: makes a repeat harmless. */
  idempotencyKey?: string | undefined
}

/** A failed operation, with the status and the code of its error, or with the status 0 if there was no answer. */
export class CallFailed extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

/** Rejects with CallFailed if an operation fails. */
export interface AdminClient {
  call<Id extends OperationId>(id: Id, call?: OperationCall<Id>): Promise<ReplyOf<Id>>
  /** A list from an operation, as comma-separated values. */
  csv<Id extends OperationId>(id: Id, call?: OperationCall<Id>): Promise<ReadableStream<Uint8Array>>
}

interface Prepared {
  operation: AdminOperation
  params: Readonly<Record<string, string>>
  query: Record<string, unknown>
  body: Record<string, unknown>
  idempotencyKey: string | null
}

/** A client of operations in this process. `context` says who calls, and on what. */
export function createLocalClient(
  context: Omit<OperationContext, 'params' | 'idempotencyKey' | 'onChange'>,
): AdminClient {
  const run = async ({ operation, params, query, body, idempotencyKey }: Prepared) => {
    try {
      createValidator(operation.query ?? Type.Object({}))(query)
      createValidator(operation.body ?? Type.Object({}))(body)
      return await operation.run(
        { ...context, params, idempotencyKey, onChange() {} },
        query as never,
        body as never,
      )
    } catch (error) {
      throw error instanceof GatewayError ? new CallFailed(error.status, error.code, error.message) : error
    }
  }
  return {
    async call(id, call) {
      // As it would arrive over HTTP.
      return JSON.parse(JSON.stringify(await run(prepared(id, call))))
    },
    async csv(id, call) {
      return streamOf(id, await run(withCsv(prepared(id, call))))
    },
  }
}

interface RemoteGateway {
  /** The address of its admin API, up to `/admin/v1`. */
  url: string
  token: string
  /** The version of this program. */
  version: string
  send(url: string, request: RequestInit): Promise<Response>
  /** Called when an operation has changed something there. */
  onChange(): void
  wait(milliseconds: number): Promise<unknown>
}

/** Maximum time until an answer begins, in milliseconds. */
const PATIENCE_MS = 30_000
/** Maximum time until an operation that reads a lot, such as a backup, answers, in milliseconds. */
const LONG_PATIENCE_MS = 30 * 60_000
/** Operations that check what they have written before they answer, or read each charge of a month. */
const LONG = new Set([
  'makeBackup',
  'closeMonths',
  'reconcileUpstream',
  'reconcileOwn',
  'rehearsePrices',
  'fillSandbox',
])
/** Waits before a harmless request is repeated, in milliseconds. */
const REPEATS_MS = [250, 1_000]
/** Statuses of servers and proxies that may be temporary. */
const PASSING = new Set([0, 502, 503, 504])

/** A client of a gateway somewhere else. */
export function createRemoteClient(gateway: RemoteGateway): AdminClient {
  const send = async (call: Prepared): Promise<Response> => {
    const isHarmless = call.operation.method === 'GET' || call.idempotencyKey !== null
    for (let attempt = 0; ; attempt++) {
      try {
        return await sendOnce(gateway, call)
      } catch (error) {
        const waitMs = REPEATS_MS[attempt]
        if (!isHarmless || waitMs === undefined || !isPassing(error)) throw error
        await gateway.wait(waitMs)
      }
    }
  }
  return {
    async call(id, call) {
      const toSend = prepared(id, call)
      const body: unknown = await (await send(toSend)).json().catch((error) => {
        if (error instanceof SyntaxError) return undefined
        throw noAnswer(gateway, 'closed the connection early')
      })
      try {
        createValidator(toSend.operation.reply)(body)
      } catch {
        throw noAnswer(
          gateway,
          `answers ${id} in a form that this program (${gateway.version}) does not know`,
        )
      }
      return body as never
    },
    async csv(id, call) {
      return streamOf(id, await send(withCsv(prepared(id, call))))
    },
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof CallFailed && PASSING.has(error.status)
}

/** Codes for certificates that are untrusted, issued for another name, or expired. */
const UNTRUSTED = /CERT|SIGNATURE|ISSUER/

function notReached(reason: string): string {
  return UNTRUSTED.test(reason)
    ? `has a certificate that is not trusted here (${reason}): \`gateway contexts add NAME --ca-file FILE\` takes that of its authority`
    : `cannot be reached (${reason}): look at its address, and whether it runs`
}

async function sendOnce(gateway: RemoteGateway, call: Prepared): Promise<Response> {
  const { operation, body, idempotencyKey } = call
  const patience = new AbortController()
  const { signal } = patience
  const timer = setTimeout(() => patience.abort(), LONG.has(operation.id) ? LONG_PATIENCE_MS : PATIENCE_MS)
  timer.unref()
  let response: Response
  try {
    response = await gateway.send(addressOf(gateway.url, call), {
      method: operation.method,
      headers: {
        authorization: `Bearer ${gateway.token}`,
        ...(operation.body && { 'content-type': 'application/json' }),
        ...(idempotencyKey !== null && { 'idempotency-key': idempotencyKey }),
      },
      ...(operation.body && { body: JSON.stringify(body) }),
      // A token is only for the named server.
      redirect: 'manual',
      signal,
    })
  } catch (error) {
    const why = signal.aborted ? 'did not answer in time' : notReached(reasonOf(error))
    const isUnsure = operation.method !== 'GET' && idempotencyKey === null
    const advice = isUnsure ? ' Look whether it was done before you repeat it' : ''
    throw noAnswer(gateway, `${why}.${advice}`.replace(/\.$/, ''))
  }
  // A file may take longer than this, once it has begun.
  if (call.query.format === 'csv') clearTimeout(timer)
  if (response.headers.get(CHANGED_HEADER) !== null) gateway.onChange()
  if (response.ok) return response
  throw await errorOf(gateway, call, response)
}

function addressOf(base: string, { operation, params, query }: Prepared): string {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(params[name] ?? ''))
  const search = new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
  )
  return `${base}${path}${search.size > 0 ? `?${search}` : ''}`
}

/** The error in an answer, as the gateway threw it. */
async function errorOf(
  gateway: RemoteGateway,
  { operation }: Prepared,
  response: Response,
): Promise<CallFailed> {
  const { status, headers } = response
  if (status >= 300 && status < 400)
    return noAnswer(gateway, `sends its callers to ${headers.get('location')}: name that address`)
  const answer: unknown = await response.json().catch(() => undefined)
  const error = isObject(answer) && isObject(answer.error) ? answer.error : undefined
  if (typeof error?.message !== 'string' || typeof error.code !== 'string')
    return noAnswer(
      gateway,
      `answers ${operation.id} with the status ${status} and no reason: it is not a gateway, or is too old`,
    )
  const theirs = headers.get('x-gateway-version')
  const isOther =
    theirs !== null && theirs !== gateway.version && (status === 400 || error.code === 'unknown_route')
  const versions = isOther ? ` The gateway has version ${theirs}, this program ${gateway.version}.` : ''
  const refused = status === 401 ? `The gateway at ${gateway.url} refuses the token: ` : ''
  return new CallFailed(status, error.code, `${refused}${error.message}${versions}`)
}

function noAnswer({ url }: RemoteGateway, what: string): CallFailed {
  return new CallFailed(0, 'no_answer', `The gateway at ${url} ${what}.`)
}

/** The code of a failed connection, which is clearer than its text. */
function reasonOf(error: unknown): string {
  const { code, message = String(error) } = error as { code?: string; message?: string }
  return code ?? message.split('\n')[0] ?? ''
}

function prepared<Id extends OperationId>(id: Id, call: OperationCall<Id> = {}): Prepared {
  const operation = adminOperations.find((each) => each.id === id)
  if (!operation) throw new Error(`there is no operation ${id}`)
  const { params = {}, query = {}, body = {}, idempotencyKey = null } = call
  return { operation, params, query: present(query), body: present(body), idempotencyKey }
}

function withCsv(call: Prepared): Prepared {
  return { ...call, query: { ...call.query, format: 'csv' } }
}

/** The fields that have a value. */
function present(fields: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function streamOf(id: string, answer: object): ReadableStream<Uint8Array> {
  if (answer instanceof Response && answer.body) return answer.body
  throw new Error(`${id} does not return comma-separated values`)
}
