// The admin API: passes a request to its operation in five steps: find the operation, authenticate the caller, check its rights,
// check the request, run it. It must never do any work for an unknown caller, or answer with a secret that it did not just create.

import { Type } from '@sinclair/typebox'
import { readQuery } from '../api-operation/values'
import { AttemptLimit } from '../http/attempt-limit'
import { errorResponse } from '../http/errors'
import type { DocsPage } from '../http/routes/docs-page'
import { isFromOtherSite, sessionTokenOf } from '../http/session-cookie'
import { pathOf, queryOf } from '../http/target'
import { GatewayError, invalidRequest } from '../lib/errors'
import { createValidator } from '../lib/validate'
import { type Admin, adminOfSession, assertActive, authenticateAdmin, findAdmin, hasRole } from './admins'
import {
  type AdminOperation,
  type AdminWorld,
  CHANGED_HEADER,
  type OperationContext,
  type ProcessControl,
} from './operation'
import { adminOperations } from './operations'

const ADMIN_PATH = '/admin/v1'

const MAX_BODY_BYTES = 256 * 1024
const MAX_IDEMPOTENCY_KEY_LENGTH = 255
/** Maximum time for the body of a request, in milliseconds. */
const BODY_MS = 10_000

interface Route {
  operation: AdminOperation
  words: readonly string[]
  checkBody: (body: unknown) => void
}

/** The id of a request, and the address from which it came. */
interface Sender {
  requestId: string
  clientAddress: string | null
}

export class AdminApi {
  private readonly routes: readonly Route[] = adminOperations.map(routeOf)
  private readonly logins: AttemptLimit
  private page: Promise<DocsPage> | undefined

  constructor(
    private readonly world: AdminWorld,
    private readonly control: () => ProcessControl,
    private readonly version: string,
  ) {
    this.logins = new AttemptLimit(world.monotonic)
  }

  /** Answers a request of the client at an address. Never rejects. */
  async answer(request: Request, clientAddress: string | null): Promise<Response> {
    const requestId = this.world.newId('req')
    let hasChanged = false
    const onChange = () => {
      hasChanged = true
    }
    const response = await this.responseTo(request, { requestId, clientAddress }, onChange).catch((error) =>
      errorResponse(error, 'openai', requestId, this.world.log),
    )
    if (hasChanged) response.headers.set(CHANGED_HEADER, 'yes')
    response.headers.set('x-gateway-version', this.version)
    return response
  }

  private async responseTo(request: Request, from: Sender, onChange: () => void): Promise<Response> {
    const path = pathOf(request).slice(ADMIN_PATH.length)
    const page = request.method === 'GET' ? await this.document(path, request) : undefined
    if (page) return page
    const result = await this.run(request, path, from, onChange)
    const { requestId } = from
    if (!(result instanceof Response))
      return Response.json(result, { headers: { 'x-request-id': requestId, 'cache-control': 'no-store' } })
    result.headers.set('x-request-id', requestId)
    return result
  }

  private async run(request: Request, path: string, from: Sender, onChange: () => void): Promise<object> {
    // An unknown caller does not learn what exists either.
    const admin = await this.login(request, from)
    const { route, params } = this.find(request.method, path)
    const { operation } = route
    const actor = { name: admin.name, ...from }
    if (!hasRole(admin, operation.role)) {
      this.world.log('admin_refused', { request: from.requestId, admin: admin.name, operation: operation.id })
      throw new GatewayError(403, {
        code: 'role_not_sufficient',
        message: `${admin.name} is ${admin.role}; this requires the role ${operation.role}.`,
      })
    }
    const query = readQuery(operation.query, queryOf(request), true)
    const body = operation.body ? await this.readBody(request) : {}
    route.checkBody(body)
    const context: OperationContext = {
      world: this.world,
      control: this.control(),
      admin,
      actor,
      request,
      params,
      idempotencyKey: operation.isIdempotent ? idempotencyKeyOf(request) : null,
      onChange,
    }
    return operation.run(context, query as never, body as never)
  }

  private async login(request: Request, from: Sender): Promise<Admin> {
    const { clientAddress } = from
    const { db, config, now } = this.world
    const use = { now: now(), clientAddress }
    const session = sessionTokenOf(request, 'admin', config)
    // Sessions do not count as attempts: nobody guesses one of 2^256, and a page whose session has ended may call often.
    if (session) return adminOfSession(db, session, use)
    const authorization = request.headers.get('authorization')
    const address = clientAddress ?? 'unknown'
    // Requests that another site's page makes a browser send have no token, and must not lock out callers with one.
    const isAttempt = hasToken(authorization)
    if (isAttempt && isFromOtherSite(request, config)) throw fromOtherSite()
    if (isAttempt) this.logins.check(address)
    try {
      return (
        (await this.adminOfToken(authorization, from)) ?? (await authenticateAdmin(db, authorization, use))
      )
    } catch (error) {
      if (isAttempt && error instanceof GatewayError && error.status === 401) {
        this.logins.fail(address)
        this.world.log('admin_login_failed', { client: clientAddress })
      }
      throw error
    }
  }

  /** The operator for a token of an identity provider; undefined if it is invalid, or if such tokens are not accepted. */
  private async adminOfToken(authorization: string | null, from: Sender): Promise<Admin | undefined> {
    const { db, bearerTokens, now } = this.world
    const [, token] = /^Bearer +(\S+) *$/i.exec(authorization ?? '') ?? []
    const id = token === undefined ? undefined : await bearerTokens?.ownerOf(token, 'adminApi', from)
    const admin = id === undefined ? undefined : await findAdmin(db, id)
    return admin && assertActive(admin, { now: now(), clientAddress: from.clientAddress })
  }

  private find(method: string, path: string): { route: Route; params: Record<string, string> } {
    const words = path.split('/').slice(1)
    const fitting = this.routes.flatMap((route) => {
      const params = paramsOf(route.words, words)
      return params ? [{ route, params }] : []
    })
    const found = fitting.find(({ route }) => route.operation.method === method)
    if (found) return found
    if (fitting.length === 0)
      throw new GatewayError(404, {
        code: 'unknown_route',
        message: `There is no ${method} ${ADMIN_PATH}${path.slice(0, 200)} here. GET ${ADMIN_PATH}/openapi.json lists all operations, and ${ADMIN_PATH}/docs shows them.`,
      })
    const allow = [...new Set(fitting.map(({ route }) => route.operation.method))].join(', ')
    throw new GatewayError(405, {
      code: 'method_not_allowed',
      message: `${ADMIN_PATH}${path.slice(0, 200)} takes ${allow}, not ${method}.`,
      headers: { allow },
    })
  }

  /** The document of the API and its viewer, which anybody who reaches it may read: they reveal nothing about this gateway. */
  private async document(path: string, request: Request): Promise<Response | undefined> {
    if (!['/openapi.json', '/docs', '/docs/viewer.js'].includes(path)) return undefined
    this.page ??= import('./document').then(({ createAdminPage }) => createAdminPage(this.version))
    const page = await this.page
    if (path === '/docs') return page.html()
    return path === '/openapi.json' ? page.json() : page.script(request)
  }

  private async readBody(request: Request): Promise<unknown> {
    const type = request.headers.get('content-type') ?? 'application/json'
    if (!/^application\/json\b/i.test(type))
      throw new GatewayError(415, {
        code: 'unsupported_media_type',
        message: "This endpoint accepts JSON only. Send it with the header 'Content-Type: application/json'.",
      })
    const bytes = await this.readBytes(request)
    if (bytes.length === 0) return {}
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    } catch {
      throw invalidRequest(null, 'The body is not valid JSON.', 'invalid_json')
    }
  }

  private async readBytes({ body }: Request): Promise<Buffer> {
    if (!body) return Buffer.alloc(0)
    const reader = body.getReader()
    const slow = Promise.withResolvers<never>()
    const cancel = this.world.after(BODY_MS, () => slow.reject(tooSlow()))
    const chunks: Uint8Array[] = []
    try {
      for (let length = 0; ; ) {
        const { done, value } = await Promise.race([reader.read(), slow.promise])
        if (done) return Buffer.concat(chunks)
        length += value.length
        if (length > MAX_BODY_BYTES) throw tooLarge()
        chunks.push(value)
      }
    } finally {
      cancel()
      reader.releaseLock()
    }
  }
}

function routeOf(operation: AdminOperation): Route {
  return {
    operation,
    words: operation.path.split('/').slice(1),
    checkBody: createValidator(operation.body ?? Type.Object({})),
  }
}

/** The values in a path; undefined if the path does not match. */
function paramsOf(pattern: readonly string[], words: readonly string[]): Record<string, string> | undefined {
  if (pattern.length !== words.length) return undefined
  const params: Record<string, string> = {}
  for (const [index, word] of pattern.entries()) {
    const given = words[index] ?? ''
    if (!word.startsWith('{')) {
      if (word !== given) return undefined
    } else params[word.slice(1, -1)] = decoded(given)
  }
  return params
}

function decoded(word: string): string {
  try {
    // No database stores this character.
    return decodeURIComponent(word).replaceAll('\0', '�').slice(0, 1_000)
  } catch {
    return word
  }
}

function hasToken(authorization: string | null): boolean {
  return authorization !== null && /^\s*\S+\s+\S/.test(authorization)
}

function fromOtherSite(): GatewayError {
  return new GatewayError(403, {
    code: 'cross_origin',
    message:
      'The admin API does not answer pages of other sites. Call it from a server or from its own page.',
  })
}

function idempotencyKeyOf({ headers }: Request): string | null {
  const key = headers.get('idempotency-key')
  if (key === null) return null
  if (key.trim() === '' || key.length > MAX_IDEMPOTENCY_KEY_LENGTH)
    throw invalidRequest(
      'Idempotency-Key',
      `Invalid 'Idempotency-Key': expected 1 to ${MAX_IDEMPOTENCY_KEY_LENGTH} characters.`,
    )
  return key
}

function tooLarge(): GatewayError {
  return new GatewayError(413, {
    code: 'body_too_large',
    message: `The body is larger than ${MAX_BODY_BYTES} bytes. Send less.`,
  })
}

function tooSlow(): GatewayError {
  return new GatewayError(408, { code: 'body_too_slow', message: 'The body took too long to arrive.' })
}
