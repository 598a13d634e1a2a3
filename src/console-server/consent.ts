// Consent: GET /console/consent shows the holder of a key what a program requests, POST allows or refuses it. Both receive the
// query that the program sent, and check it again: the page's own claims are not trusted. It must never be decided by another site,
// or by anybody but the holder of the key.

import { sessionEnded } from '../accounts/authenticator'
import type { Key } from '../accounts/keys'
import { recording } from '../admin/audit-trail'
import { isoTime } from '../db/iso-time'
import { errorResponse } from '../http/errors'
import { sessionTokenOf } from '../http/session-cookie'
import { queryOf } from '../http/target'
import { GatewayError, invalidRequest } from '../lib/errors'
import { formatUsd, parseUsd } from '../lib/money'
import { isLoopback } from '../lib/url-host'
import { type AuthorizationRequest, readAuthorization, redirectTo } from '../oauth/authorization'
import { OAuthError } from '../oauth/error'
import { createGrant } from '../oauth/grants'
import { issuerOf } from '../oauth/metadata'
import type { ConsolePlace } from './begin-session'
import { type ConsoleWorld, readConsoleBody } from './sign-in'

const DAY_MS = 86_400_000
const MAX_DAYS = 365

export class Consent {
  constructor(private readonly world: ConsoleWorld) {}

  /** Answers a request of the page. Never rejects. */
  async answer(request: Request, place: ConsolePlace): Promise<Response> {
    const requestId = this.world.newId('req')
    try {
      const issuer = issuerOf(this.world.config)
      if (issuer === undefined) throw notServed()
      const key = await this.holderOf(request, place)
      const answer =
        request.method === 'POST'
          ? await this.decide(request, place, { issuer, key, requestId })
          : await this.show(request, issuer, key)
      return Response.json(answer, { headers: { 'cache-control': 'no-store' } })
    } catch (error) {
      const known = error instanceof OAuthError ? invalidRequest(null, error.message, 'invalid_value') : error
      return errorResponse(known, 'openai', requestId, this.world.log)
    }
  }

  /** The key that signed in. Only the console's own page is allowed, and a change needs that page's token. */
  private async holderOf(request: Request, { kinds, clientAddress }: ConsolePlace): Promise<Key> {
    const { config, authenticator } = this.world
    if (!['GET', 'POST'].includes(request.method))
      throw new GatewayError(405, {
        code: 'method_not_allowed',
        message: '/console/consent takes GET and POST.',
        headers: { allow: 'GET, POST' },
      })
    const token = kinds.includes('key') ? sessionTokenOf(request, 'key', config) : null
    if (!token) throw sessionEnded()
    return authenticator.authenticate(token, clientAddress)
  }

  private async show(request: Request, issuer: string, { name, account }: Key): Promise<object> {
    const { client, redirectUri } = await readAuthorization(this.world.db, queryOf(request), issuer)
    return { program: client.name, ...placeOf(redirectUri), key: name, account }
  }

  private async decide(
    request: Request,
    { clientAddress }: ConsolePlace,
    { issuer, key, requestId }: { issuer: string; key: Key; requestId: string },
  ): Promise<object> {
    const { query, allow, limit_usd: limit, days } = await readConsoleBody(request)
    if (typeof query !== 'string')
      throw invalidRequest('query', "Invalid 'query': expected what the program sent.")
    const authorization = await readAuthorization(this.world.db, new URLSearchParams(query), issuer)
    if (allow !== true) return { location: redirectTo(authorization, issuer, { error: 'access_denied' }) }
    const limits = this.limitsOf(limit, days)
    const actor = { name: `key ${key.name}`, requestId, clientAddress }
    const code = await createGrant(
      recording(this.world, actor, allowed(authorization, key, limits)),
      this.world,
      key,
      { ...authorization, ...limits },
    )
    if (code === undefined)
      throw new GatewayError(429, {
        code: 'too_many_attempts',
        message: 'This key has too many tokens, or was revoked. Revoke those that are not needed.',
      })
    return { location: redirectTo(authorization, issuer, { code }) }
  }

  private limitsOf(limit: unknown, days: unknown): { budgetNano: number; endsAt: number } {
    const budgetNano = typeof limit === 'string' ? parseUsd(limit) : undefined
    if (budgetNano === undefined || budgetNano <= 0)
      throw invalidRequest('limit_usd', 'Invalid \'limit_usd\': expected dollars above 0, such as "5".')
    if (typeof days !== 'number' || !Number.isInteger(days) || days < 1 || days > MAX_DAYS)
      throw invalidRequest('days', `Invalid 'days': expected 1 to ${MAX_DAYS}.`)
    return { budgetNano, endsAt: this.world.now() + days * DAY_MS }
  }
}

/** Where a program gets its answer: the only thing that it cannot invent. */
function placeOf(redirectUri: string): { host: string; is_this_machine: boolean } {
  const { host, hostname, protocol } = new URL(redirectUri)
  return { host, is_this_machine: protocol === 'http:' && isLoopback(hostname) }
}

function allowed(
  { client, redirectUri }: AuthorizationRequest,
  key: Key,
  { budgetNano, endsAt }: { budgetNano: number; endsAt: number },
) {
  return {
    action: 'token.create',
    target: `key:${key.name}`,
    after: {
      kind: 'mcp',
      program: client.name,
      client: client.id,
      host: new URL(redirectUri).host,
      budget_usd: formatUsd(budgetNano),
      expires_at: isoTime(endsAt),
    },
  }
}

function notServed(): GatewayError {
  return new GatewayError(404, {
    code: 'unknown_route',
    message: 'Programs cannot connect by OAuth here. The operator can allow it with server.mcpSignIn.',
  })
}
