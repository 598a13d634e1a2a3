// The routes of the operations of callers: authenticate, check, run, answer. It must never do any work before the key is known, or
// send an error in the wrong form.

import { Elysia, NotFoundError } from 'elysia'
import { API_TOKENS } from '../../accounts/authenticator'
import type { Key } from '../../accounts/keys'
import { checkBody, readQuery } from '../../api-operation/values'
import { countFreeRequest } from '../../billing/ledger/limits'
import { compaction, operations } from '../../contract/operations'
import { parseBody, scanBody } from '../../lib/json/body'
import { jsonAnswer } from '../../request/stream/paced-body'
import { authorizationOf } from '../authorization'
import type { BodyReader, Entrance } from '../body'
import { clientAddressOf } from '../client-address'
import { disableTimeout, type Listener, setKeepAliveTimeout } from '../connection'
import { errorResponse } from '../errors'
import { servedPaths, toleratedPaths } from '../paths'
import { pathOf, queryOf } from '../target'
import type { CallerContext, CallerOperation, CallerWorld } from './operation'
import { callerOperations } from './operations'

/** The paths of paid operations, whose words are not ids: there is no video `generations`. */
const paidPaths = new Set([...operations, compaction].flatMap((operation) => servedPaths(operation)))

interface CallerParts extends Pick<CallerContext, 'world' | 'recorded' | 'countTokens' | 'gateway'> {
  bodies: BodyReader
  /** Headers for the answers of marked operations. */
  mark: Readonly<Record<string, string>>
}

export function callerRoutes(parts: CallerParts) {
  const begun = { ...parts, startedAt: parts.world.now() }
  const app = new Elysia({ name: 'callers' })
  for (const operation of callerOperations) {
    for (const path of pathsOf(operation)) {
      app.route(
        operation.method,
        path.replace(/\{\+\w+\}/, '*').replaceAll(/\{(\w+)\}/g, ':$1'),
        ({ request, params, server }) => answer(begun, operation, { request, params, listener: server }),
        { parse: 'none' },
      )
    }
  }
  return app
}

function pathsOf({ path, aliases }: CallerOperation): string[] {
  return aliases ? [path, ...aliases] : toleratedPaths(path)
}

type Begun = CallerParts & Pick<CallerContext, 'startedAt'>

interface Sent {
  request: Request
  params: Record<string, string>
  listener: Listener | null
}

async function answer(parts: Begun, operation: CallerOperation, sent: Sent): Promise<Response> {
  const { world, bodies } = parts
  const { request, listener } = sent
  if (paidPaths.has(pathOf(request))) throw new NotFoundError()
  if (operation.body) setKeepAliveTimeout(listener, request, world.config)
  const dialect = operation.dialectOf?.(request) ?? 'openai'
  const requestId = world.newId('req')
  const response = await run(parts, operation, { ...sent, requestId, dialect }).catch((error) =>
    errorResponse(error, dialect, requestId, world.log),
  )
  if (!operation.body) return response
  setKeepAliveTimeout(listener, request, world.config)
  return response.ok ? response : bodies.answer(request, response, listener)
}

async function run(
  parts: Begun,
  operation: CallerOperation,
  received: Sent & Pick<CallerContext, 'requestId' | 'dialect'>,
): Promise<Response> {
  const { world, bodies, recorded, gateway, countTokens, startedAt } = parts
  const { request, listener, requestId, dialect } = received
  const key = await keyOf(world, operation, received)
  const query = readQuery(operation.query, queryOf(request))
  const fields = await readBody(parts, operation, received, key)
  // The types of an operation say whether it may have no key.
  const context: CallerContext = {
    ...{ ...received, world, key: key as Key, recorded, gateway, countTokens, startedAt },
    bytes: (check) =>
      bodies.read(request, operation.entrance as Entrance, () => disableTimeout(listener, request), check),
  }
  const result = await operation.run(context, query as never, fields as never)
  const response = result instanceof Response ? result : jsonAnswer(world.backlog, result)
  response.headers.set('x-request-id', requestId)
  if (dialect === 'messages') response.headers.set('request-id', requestId)
  if (operation.isPrivate) response.headers.set('cache-control', 'no-store')
  const mark = operation.isMarked ? parts.mark : {}
  for (const name in mark) response.headers.set(name, mark[name] as string)
  return response
}

async function keyOf(
  { authenticator, config }: CallerWorld,
  { access, mayRest = false, forTokens = false }: CallerOperation,
  { request, listener, dialect }: Pick<CallerContext, 'request' | 'listener' | 'dialect'>,
): Promise<Key | undefined> {
  if (access === 'no key') return undefined
  const authorization = authorizationOf(request, config, dialect)
  if (access === 'optional key' && authorization === null) return undefined
  const clientAddress = clientAddressOf(request, listener, config)
  const tokens = forTokens ? API_TOKENS : []
  return mayRest
    ? authenticator.identify(authorization, clientAddress, tokens)
    : authenticator.authenticate(authorization, clientAddress, tokens)
}

async function readBody(
  { world, bodies }: CallerParts,
  { body, entrance, isRaw = false, isBodyOptional = false, isCounted = false }: CallerOperation,
  { request, listener }: Sent,
  key: Key | undefined,
): Promise<Record<string, unknown>> {
  if (!body || !entrance || isRaw) return {}
  const content =
    isBodyOptional && !hasBody(request)
      ? undefined
      : await bodies.read(request, entrance, () => disableTimeout(listener, request))
  const fields = content ? parseBody(scanBody(content)) : {}
  if (isCounted && key) await countFreeRequest(world.db, key, world.now())
  checkBody(body, fields)
  return fields
}

function hasBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0
}
