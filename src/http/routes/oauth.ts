// OAuth for the tools: metadata, registration of programs, and tokens for codes. Browsers may request all of it from any page,
// because nothing here reads a cookie. A program must never be sent, or send a person, to a URL that it did not register; and
// without `server.mcpSignIn` none of these paths exists.

import { Elysia } from 'elysia'
import { revokeToken } from '../../accounts/spenders'
import type { Config } from '../../config/schema'
import type { Db } from '../../db/db'
import { GatewayError } from '../../lib/errors'
import type { System } from '../../lib/system'
import { checkResource, checkScope, one, readAuthorization } from '../../oauth/authorization'
import { readRegistration, storeClient } from '../../oauth/clients'
import { OAuthError } from '../../oauth/error'
import { type EndGrant, exchangeCode, refreshTokens, revokeGrant } from '../../oauth/grants'
import {
  AUTHORIZATION_SERVER,
  ENDPOINTS,
  issuerOf,
  PROTECTED_RESOURCE,
  RESOURCE_PATHS,
  resourceMetadata,
  serverMetadata,
} from '../../oauth/metadata'
import { AttemptLimit } from '../attempt-limit'
import type { BodyReader } from '../body'
import { clientAddressOf } from '../client-address'
import { disableTimeout, type Listener } from '../connection'
import { errorResponse } from '../errors'
import { queryOf } from '../target'

interface OAuthWorld extends Pick<System, 'newId' | 'log' | 'now' | 'monotonic'> {
  db: Db
  readonly config: Pick<Config, 'server'>
  randomBytes(count: number): Uint8Array
}

/** The database for one change by a program, with the entry in the audit trail. */
export type RecordedProgram = (
  clientId: string,
  change: { action: 'token.revoke'; target: string; before: object },
  from: { requestId: string; request: Request },
) => Db

/** A request, with everything that its answer needs. */
interface OAuthContext {
  request: Request
  listener: Listener | null
  issuer: string
  requestId: string
}

type Run = (context: OAuthContext) => Promise<Response> | Response

const SHARED = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST',
  'access-control-allow-headers': 'authorization, content-type, accept, mcp-protocol-version',
}
const NOT_KEPT = { 'cache-control': 'no-store', pragma: 'no-cache' }

export function oauthRoutes(world: OAuthWorld, bodies: BodyReader, recorded: RecordedProgram) {
  const server = new OAuthServer(world, bodies, recorded)
  const app = new Elysia({ name: 'oauth' })
  const serve = (path: string, method: 'GET' | 'POST', run: Run) =>
    app.all(path, (route) => server.answer(route.request, route.server, method, run), { parse: 'none' })
  for (const path of RESOURCE_PATHS)
    serve(`${PROTECTED_RESOURCE}${path}`, 'GET', ({ issuer }) => shown(resourceMetadata(issuer, path)))
  serve(PROTECTED_RESOURCE, 'GET', ({ issuer }) => shown(resourceMetadata(issuer, RESOURCE_PATHS[0])))
  serve(AUTHORIZATION_SERVER, 'GET', ({ issuer }) => shown(serverMetadata(issuer)))
  serve(ENDPOINTS.authorize, 'GET', (context) => server.authorize(context))
  serve(ENDPOINTS.register, 'POST', (context) => server.register(context))
  serve(ENDPOINTS.token, 'POST', (context) => server.giveTokens(context))
  serve(ENDPOINTS.revoke, 'POST', (context) => server.revoke(context))
  return app
}

class OAuthServer {
  private readonly registrations: AttemptLimit

  constructor(
    private readonly world: OAuthWorld,
    private readonly bodies: BodyReader,
    private readonly recorded: RecordedProgram,
  ) {
    this.registrations = new AttemptLimit(world.monotonic, 'registrations')
  }

  async answer(
    request: Request,
    listener: Listener | null,
    method: 'GET' | 'POST',
    run: Run,
  ): Promise<Response> {
    const requestId = this.world.newId('req')
    const issuer = issuerOf(this.world.config)
    try {
      if (issuer === undefined) throw notServed()
      if (request.method === 'OPTIONS') return new Response(null, { status: 204, headers: SHARED })
      if (request.method !== method) throw notTaken(request.method, method)
      const response = await run({ request, listener, issuer, requestId })
      for (const [name, value] of Object.entries(SHARED)) response.headers.set(name, value)
      response.headers.set('x-request-id', requestId)
      return response
    } catch (error) {
      if (!(error instanceof OAuthError)) return errorResponse(error, 'openai', requestId, this.world.log)
      return Response.json(error.body(), { status: error.status, headers: { ...SHARED, ...NOT_KEPT } })
    }
  }

  async register({ request, listener }: OAuthContext): Promise<Response> {
    const address = clientAddressOf(request, listener, this.world.config) ?? 'unknown'
    this.registrations.check(address)
    this.registrations.fail(address)
    const { name, redirectUris } = readRegistration(parsed(await this.textOf(request, listener)))
    const client = { id: this.world.newId('cli'), name, redirectUris, createdAt: this.world.now() }
    await storeClient(this.world.db, client)
    const registered = {
      client_id: client.id,
      client_id_issued_at: Math.floor(client.createdAt / 1_000),
      client_name: name,
      redirect_uris: redirectUris,
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    }
    return Response.json(registered, { status: 201, headers: NOT_KEPT })
  }

  /** Redirects a person to the page that asks whether the program may connect. */
  async authorize({ request, issuer }: OAuthContext): Promise<Response> {
    const query = queryOf(request)
    try {
      await readAuthorization(this.world.db, query, issuer)
    } catch (error) {
      if (error instanceof OAuthError) return refusal(error)
      throw error
    }
    const location = `${issuer}/console#/allow?${query}`
    return new Response(null, {
      status: 302,
      headers: { location, ...NOT_KEPT, 'referrer-policy': 'no-referrer' },
    })
  }

  async giveTokens(context: OAuthContext): Promise<Response> {
    const form = await this.formOf(context)
    const clientId = one(form, 'client_id')
    checkScope(form.get('scope'))
    checkResource(form.getAll('resource'), context.issuer)
    const end = this.endingBy(clientId, context)
    const grantType = one(form, 'grant_type')
    if (grantType === 'authorization_code') {
      const code = one(form, 'code')
      const redirectUri = one(form, 'redirect_uri')
      const verifier = one(form, 'code_verifier')
      return given(
        await exchangeCode(this.world.db, this.world, { code, clientId, redirectUri, verifier }, end),
      )
    }
    if (grantType === 'refresh_token')
      return given(
        await refreshTokens(
          this.world.db,
          this.world,
          { refreshToken: one(form, 'refresh_token'), clientId },
          end,
        ),
      )
    throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token.')
  }

  async revoke(context: OAuthContext): Promise<Response> {
    const form = await this.formOf(context)
    const clientId = one(form, 'client_id')
    await revokeGrant(
      this.world.db,
      { token: one(form, 'token'), clientId },
      this.endingBy(clientId, context),
    )
    return new Response(null, { status: 200, headers: NOT_KEPT })
  }

  private endingBy(clientId: string, { request, requestId }: OAuthContext): EndGrant {
    return async (id, why) => {
      const change = { action: 'token.revoke' as const, target: `token:${id}`, before: { id, why } }
      await revokeToken(
        this.recorded(clientId.slice(0, 64), change, { requestId, request }),
        id,
        this.world.now(),
      )
      if (why !== 'revoked_by_program') this.world.log('oauth_reuse', { token: id, reason: why })
    }
  }

  private async formOf({ request, listener }: OAuthContext): Promise<URLSearchParams> {
    const type = request.headers.get('content-type') ?? ''
    if (!/^application\/x-www-form-urlencoded\b/i.test(type))
      throw new OAuthError('invalid_request', 'Send a form: application/x-www-form-urlencoded.')
    return new URLSearchParams(await this.textOf(request, listener))
  }

  private async textOf(request: Request, listener: Listener | null): Promise<string> {
    const pieces: Uint8Array[] = []
    const exempt = () => disableTimeout(listener, request)
    for await (const piece of this.bodies.pieces(request, 'connection', exempt)) pieces.push(piece)
    return Buffer.concat(pieces).toString()
  }
}

function shown(metadata: object): Response {
  return Response.json(metadata)
}

function given(tokens: object): Response {
  return Response.json(tokens, { headers: NOT_KEPT })
}

/** The page for a person whose program sent an unsupported request: it redirects nowhere. */
function refusal({ message, status }: OAuthError): Response {
  return new Response(`This program cannot connect to the gateway.\n\n${message}\n`, {
    status,
    headers: {
      ...NOT_KEPT,
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    },
  })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new OAuthError('invalid_client_metadata', 'The body is not JSON.')
  }
}

function notServed(): GatewayError {
  return new GatewayError(404, {
    code: 'unknown_route',
    message: 'Programs do not connect by OAuth here: send a key. The operator allows it by server.mcpSignIn.',
  })
}

function notTaken(method: string, taken: string): GatewayError {
  return new GatewayError(405, {
    code: 'method_not_allowed',
    message: `This path takes ${taken}, not ${method}.`,
    headers: { allow: taken },
  })
}
