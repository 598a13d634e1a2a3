// The routes of the operations of callers: authenticate, check, run, answer. It must never do any work before the key
// is known, nor send an error in the wrong form.

import { Elysia } from 'elysia'
import type { Key } from '../../accounts/keys'
import { checkBody, readQuery } from '../../api-operation/values'
import { countFreeRequest } from '../../billing/ledger/limits'
import { parseBody, scanBody } from '../../lib/json/body'
import type { BodyReader } from '../body'
import { disableTimeout, type Listener, setKeepAliveTimeout } from '../connection'
import { toleratedPaths } from '../paths'
import { queryOf } from '../target'
import { answerKeyed } from '../with-key'
import type { CallerContext, CallerOperation } from './operation'
import { callerOperations } from './operations'

interface CallerParts extends Pick<CallerContext, 'world' | 'recorded'> {
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
  const { world, bodies, recorded, startedAt } = parts
  const { request, listener } = sent
  const { dialectOf, mayRest = false, body } = operation
  const dialect = dialectOf?.(request) ?? 'openai'
  if (body) setKeepAliveTimeout(listener, request, world.config)
  const response = await answerKeyed(
    world,
    request,
    dialect,
    async (key, requestId) => {
      const context = { ...sent, world, key, requestId, dialect, recorded, startedAt }
      const query = readQuery(operation.query, queryOf(request))
      const fields = await readBody(parts, operation, sent, key)
      const result = await operation.run(context, query as never, fields as never)
      const response = result instanceof Response ? result : Response.json(result)
      const { isMarked, isPrivate } = operation
      response.headers.set('x-request-id', requestId)
      if (dialect === 'messages') response.headers.set('request-id', requestId)
      if (isPrivate) response.headers.set('cache-control', 'no-store')
      for (const name in isMarked ? parts.mark : {}) response.headers.set(name, parts.mark[name] as string)
      return response
    },
    mayRest,
  )
  if (!body) return response
  setKeepAliveTimeout(listener, request, world.config)
  return response.ok ? response : bodies.answer(request, response, listener)
}

async function readBody(
  { world, bodies }: CallerParts,
  { body, entrance, isBodyOptional = false, isCounted = false }: CallerOperation,
  { request, listener }: Sent,
  key: Key,
): Promise<Record<string, unknown>> {
  if (!body || !entrance) return {}
  const content =
    isBodyOptional && !hasBody(request)
      ? undefined
      : await bodies.read(request, entrance, () => disableTimeout(listener, request))
  const fields = content ? parseBody(scanBody(content)) : {}
  if (isCounted) await countFreeRequest(world.db, key, world.now())
  checkBody(body, fields)
  return fields
}

function hasBody({ headers }: Request): boolean {
  return headers.has('transfer-encoding') || Number(headers.get('content-length') ?? 0) > 0
}
