// Sign-in by an identity provider: POST /console/sign-in/NAME sends the browser there, and it returns to …/callback with a code.
// The state of the sign-in is sealed in a cookie of that browser, so that nothing is stored here and no other browser can complete
// it. It must never send a browser to a URL from a request, or log or show a code.

import { makeSessionToken } from '../accounts/sessions'
import { record } from '../admin/audit-trail'
import { actorOf, ownerOf } from '../admin/people'
import { insertCheck } from '../admin/session-checks'
import type { AttemptLimit } from '../http/attempt-limit'
import { errorResponse } from '../http/errors'
import { requireOwnPage } from '../http/session-cookie'
import { pathOf, queryOf } from '../http/target'
import type { ErrorCode } from '../lib/error-codes'
import { GatewayError } from '../lib/errors'
import { isObject } from '../lib/objects'
import type { Sealer } from '../lib/sealing'
import { type Expected, type Issuer, SignInRefused } from '../sign-in/issuer'
import { IssuerUnreachable } from '../sign-in/issuer-fetch'
import { beginSession, type ConsolePlace } from './begin-session'
import { baseOf, type ConsoleWorld } from './sign-in'

export const SIGN_IN_PATH = '/console/sign-in'

export interface IssuerSignInWorld extends ConsoleWorld {
  sealer: Sealer
}

/** A sign-in that a browser has begun, as stored in its cookie. */
interface Begun extends Expected {
  issuer: string
  redirectUri: string
  base: string
  endsAt: number
}

const COOKIE = 'gateway_sign_in'
const SEALED_FOR = 'console sign-in'
/** How long a browser may stay at the provider, in milliseconds. */
const AWAY_MS = 10 * 60_000
const MAX_ADDRESS_LENGTH = 8_192

export class IssuerSignIn {
  constructor(
    private readonly world: IssuerSignInWorld,
    private readonly logins: AttemptLimit,
  ) {}

  /** Answers a request below /console/sign-in. Never rejects. */
  async answer(request: Request, place: ConsolePlace): Promise<Response> {
    const requestId = this.world.newId('req')
    try {
      return await this.run(request, place, requestId)
    } catch (error) {
      return errorResponse(error, 'openai', requestId, this.world.log)
    }
  }

  private run(request: Request, place: ConsolePlace, requestId: string): Promise<Response> | Response {
    const [name, step, ...rest] = pathOf(request).slice(SIGN_IN_PATH.length).split('/').slice(1)
    if (name === undefined) return this.list(request)
    const issuer = this.world.issuers.get(name)
    if (!issuer || rest.length > 0 || (step !== undefined && step !== 'callback')) throw unknownProvider()
    if (step === undefined) {
      requireMethod(request, 'POST')
      return this.begin(request, issuer)
    }
    requireMethod(request, 'GET')
    return this.comeBack(request, issuer, place, requestId)
  }

  /** The providers, for the buttons of the page, and for commands that sign in. All of it is public. */
  private list(request: Request): Response {
    requireMethod(request, 'GET')
    const data = [...this.world.issuers.all().values()].map(({ name, title, entry, scopes }) => {
      const { cliClientId, adminApi } = entry.tokens ?? {}
      const hasCli = cliClientId !== undefined && adminApi === true
      return { name, title, ...(hasCli && { cli: { issuer: entry.issuer, clientId: cliClientId, scopes } }) }
    })
    return Response.json({ data }, { headers: { 'cache-control': 'no-store' } })
  }

  private async begin(request: Request, issuer: Issuer): Promise<Response> {
    const { config, now, randomBytes, sealer } = this.world
    requireOwnPage(request, config)
    const base = baseOf(queryOf(request).get('base') ?? '')
    // The origin is the page's own, which was checked; the provider has a list of its allowed return URLs.
    const origin = request.headers.get('origin') ?? ''
    const redirectUri = `${origin}${base}${SIGN_IN_PATH}/${issuer.name}/callback`
    const [state, nonce, verifier] = [1, 2, 3].map(() => makeSessionToken(randomBytes)) as [
      string,
      string,
      string,
    ]
    const begun: Begun = {
      issuer: issuer.name,
      redirectUri,
      base,
      state,
      nonce,
      verifier,
      endsAt: now() + AWAY_MS,
    }
    const location = await issuer.signInAddress(redirectUri, begun).catch((error) => {
      throw this.failure(error, issuer)
    })
    const response = Response.json({ location }, { headers: { 'cache-control': 'no-store' } })
    const sealed = sealer.seal(JSON.stringify(begun), SEALED_FOR)
    response.headers.append('set-cookie', cookieOf(begun, sealed, AWAY_MS / 1_000))
    return response
  }

  /** Always ends at the page of the console, which shows what went wrong by its code. */
  private async comeBack(
    request: Request,
    issuer: Issuer,
    place: ConsolePlace,
    requestId: string,
  ): Promise<Response> {
    const begun = this.begunIn(request, issuer)
    if (!begun) return toConsole({ base: '' }, 'sign_in_failed')
    try {
      const { kind, cookies } = await this.signIn(request, issuer, begun, { place, requestId })
      const response = toConsole(begun, kind)
      for (const cookie of cookies.getSetCookie()) response.headers.append('set-cookie', cookie)
      response.headers.append('set-cookie', cookieOf(begun, '', 0))
      return response
    } catch (error) {
      const failure = this.failure(error, issuer)
      await this.refused(failure, issuer, { place, requestId })
      const response = toConsole(begun, failure.code)
      response.headers.append('set-cookie', cookieOf(begun, '', 0))
      return response
    }
  }

  private async signIn(
    request: Request,
    issuer: Issuer,
    begun: Begun,
    { place, requestId }: { place: ConsolePlace; requestId: string },
  ) {
    const { db, now } = this.world
    const { clientAddress, kinds } = place
    this.logins.check(clientAddress ?? 'unknown')
    const search = queryOf(request).toString()
    if (search.length > MAX_ADDRESS_LENGTH) throw new SignInRefused('the address is too long')
    const back = new URL(`${begun.redirectUri}?${search}`)
    const { claims, ...tokens } = await issuer.exchange(back, begun)
    const owner = await ownerOf(this.world, issuer, claims, kinds, { requestId, clientAddress })
    const session = await beginSession(this.world, {
      request,
      requestId,
      place,
      owner,
      by: issuer.name,
      also: (id) => [insertCheck(db, id, { issuer: issuer.name, ...tokens, now: now() })],
      base: begun.base,
      isSecure: begun.redirectUri.startsWith('https:'),
    })
    if (!session) throw ownerRefused()
    return { kind: owner.kind, cookies: session.cookies }
  }

  /** The sign-in that this browser has begun; undefined if it has begun none or it is too old. */
  private begunIn(request: Request, { name }: Issuer): Begun | undefined {
    const cookies = request.headers.get('cookie') ?? ''
    const [, sealed] = new RegExp(`(?:^|; *)${COOKIE}=([\\w.-]+)`).exec(cookies) ?? []
    const text = sealed === undefined ? undefined : this.world.sealer.open(sealed, SEALED_FOR)
    const begun: unknown = text === undefined ? undefined : JSON.parse(text)
    if (!isObject(begun)) return undefined
    const { issuer, endsAt } = begun as object as Begun
    return issuer === name && endsAt > this.world.now() ? (begun as object as Begun) : undefined
  }

  /** The error that the page shows. The provider's own message stays in the log, under its code. */
  private failure(error: unknown, { name, title }: Issuer): GatewayError {
    if (error instanceof GatewayError) return error
    if (error instanceof IssuerUnreachable) {
      this.world.log('issuer_unreachable', { issuer: name, reason: error.message })
      return new GatewayError(503, {
        code: 'issuer_unavailable',
        message: `${title} is not answering. Try again in a moment, or sign in with a token.`,
      })
    }
    if (!(error instanceof SignInRefused)) throw error
    this.world.log('sign_in_refused', { issuer: name, reason: error.message })
    return new GatewayError(401, {
      code: 'sign_in_failed',
      type: 'invalid_request_error',
      message: `The sign-in with ${title} was not completed. Start again.`,
    })
  }

  private async refused(
    { code, status }: GatewayError,
    issuer: Issuer,
    { place: { clientAddress }, requestId }: { place: ConsolePlace; requestId: string },
  ): Promise<void> {
    if (status === 401) this.logins.fail(clientAddress ?? 'unknown')
    if (status >= 500 || status === 429) return
    const actor = { name: actorOf(issuer), requestId, clientAddress }
    await record(this.world, actor, {
      action: 'session.refuse',
      target: `issuer:${issuer.name}`,
      after: { code },
    })
  }
}

/** SameSite=Lax, because the provider's answer is a navigation from its page: a stricter cookie would not be sent. */
function cookieOf({ base, redirectUri, issuer }: Begun, sealed: string, maxAgeSeconds: number): string {
  const secure = redirectUri.startsWith('https:') ? '; Secure' : ''
  return `${COOKIE}=${sealed}; Path=${base}${SIGN_IN_PATH}/${issuer}; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure}`
}

/** Sends the browser to the page of the console: only below the sealed path. */
function toConsole({ base }: Pick<Begun, 'base'>, result: string): Response {
  return new Response(null, {
    status: 303,
    headers: {
      location: `${base}/console#signed-in=${encodeURIComponent(result)}`,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
    },
  })
}

function requireMethod({ method }: Request, wanted: 'GET' | 'POST'): void {
  if (method === wanted) return
  throw new GatewayError(405, {
    code: 'method_not_allowed',
    message: `This path takes ${wanted}.`,
    headers: { allow: wanted },
  })
}

function unknownProvider(): GatewayError {
  return new GatewayError(404, {
    code: 'unknown_route',
    message: `There is no such identity provider here. GET ${SIGN_IN_PATH} lists those of the configuration.`,
  })
}

function ownerRefused(): GatewayError {
  const code: ErrorCode = 'not_a_member'
  return new GatewayError(403, {
    code,
    message:
      'Your key or admin is revoked or paused here, or your account is frozen or closed. Ask the operator.',
  })
}
