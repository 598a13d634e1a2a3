// Sessions of the console: POST /console/session signs in with a token, a key or a link, GET says who is signed in, and DELETE
// signs out. A session must never be created for a page of another origin, or accepted before it is stored.

import type { Authenticator } from '../accounts/authenticator'
import { sessionEnded } from '../accounts/authenticator'
import {
  csrfTokenOf,
  endSession,
  hashToken,
  ownerOfLink,
  type Session,
  type SessionKind,
  type SessionOwner,
  type SessionToken,
  useSession,
} from '../accounts/sessions'
import { adminOfSession, adminOfSubject, assertActive, authenticateAdmin } from '../admin/admins'
import { recording } from '../admin/audit-trail'
import { issuerOfSession } from '../admin/session-checks'
import { isoTime } from '../db/iso-time'
import type { AttemptLimit } from '../http/attempt-limit'
import { errorResponse } from '../http/errors'
import { addSessionCookie, isPageSecure, requireOwnPage, sessionTokenOf } from '../http/session-cookie'
import { queryOf } from '../http/target'
import { GatewayError, invalidRequest } from '../lib/errors'
import type { System } from '../lib/system'
import type { Issuers } from '../sign-in/issuers'
import { actorNameOf, beginSession, type ConsolePlace, type SessionWorld } from './begin-session'

export interface ConsoleWorld extends SessionWorld, Pick<System, 'monotonic' | 'log'> {
  authenticator: Authenticator
  issuers: Issuers
}

/** Who is signed in. */
export interface SignedIn {
  session: Session
  token: SessionToken
  name: string
  role?: string
  /** The account of a key. */
  account?: string
}

const MAX_BODY_BYTES = 4_096
/** The path of the gateway behind a proxy: it is stored in a cookie. */
const BASE = /^(\/[\w.~-]{1,64}){0,8}$/

export class SignIn {
  constructor(
    private readonly world: ConsoleWorld,
    private readonly logins: AttemptLimit,
  ) {}

  /** Answers a request for the session. Never rejects. */
  async answer(request: Request, place: ConsolePlace): Promise<Response> {
    const requestId = this.world.newId('req')
    try {
      return await this.run(request, place, requestId)
    } catch (error) {
      return errorResponse(error, 'openai', requestId, this.world.log)
    }
  }

  private run(request: Request, place: ConsolePlace, requestId: string): Promise<Response> {
    if (request.method === 'POST') return this.begin(request, place, requestId)
    if (request.method === 'DELETE') return this.end(request, place, requestId)
    if (request.method === 'GET') return this.show(request, place)
    throw new GatewayError(405, {
      code: 'method_not_allowed',
      message: `/console/session takes GET, POST and DELETE, not ${request.method}.`,
      headers: { allow: 'GET, POST, DELETE' },
    })
  }

  /** Who is signed in, by the cookie of a request. Rejects with 401. */
  async signedIn(request: Request, { kinds, clientAddress }: ConsolePlace): Promise<SignedIn> {
    for (const kind of kinds) {
      const token = sessionTokenOf(request, kind, this.world.config)
      const found = token && (await this.ownerOfSession(token, kind, clientAddress))
      if (found) return found
    }
    throw new GatewayError(401, {
      code: 'not_signed_in',
      type: 'invalid_request_error',
      message: 'Nobody is signed in here. Sign in with a token, a key or a link of `gateway console`.',
    })
  }

  private async ownerOfSession(
    token: SessionToken,
    kind: SessionKind,
    clientAddress: string | null,
  ): Promise<SignedIn | undefined> {
    const { db, now, authenticator } = this.world
    const session = await useSession(db, token, kind, now())
    if (!session) return undefined
    try {
      if (kind === 'admin') {
        const { name, role } = await adminOfSession(db, token, { now: now(), clientAddress })
        return { session, token, name, role }
      }
      const { name, account } = await authenticator.authenticate(token, clientAddress)
      return { session, token, name, account }
    } catch (error) {
      // The key or the token has expired meanwhile, or may not be used from here.
      if (error instanceof GatewayError && error.status < 500) return undefined
      throw error
    }
  }

  private async show(request: Request, place: ConsolePlace): Promise<Response> {
    const found = await this.signedIn(request, place)
    return answerOf(found, Math.min(this.world.now() + found.session.idleMs, found.session.endsAt))
  }

  private async begin(request: Request, place: ConsolePlace, requestId: string): Promise<Response> {
    const { config } = this.world
    requireOwnPage(request, config)
    const address = place.clientAddress ?? 'unknown'
    this.logins.check(address)
    const signIn = await readSignIn(request)
    const owner = await this.identify(signIn, place).catch((error) => {
      if (error instanceof GatewayError && error.status === 401) {
        this.logins.fail(address)
        this.world.log('console_login_failed', { client: place.clientAddress })
      }
      throw error
    })
    const begun = await beginSession(this.world, {
      request,
      requestId,
      place,
      owner,
      by: signIn.link === undefined ? 'token' : 'link',
      linkHash: signIn.link === undefined ? undefined : hashToken(signIn.link),
      base: signIn.base,
      isSecure: isPageSecure(request),
    })
    // A link that was used meanwhile signs nobody in, and neither does anything of a revoked owner.
    if (!begun) throw signIn.link === undefined ? sessionEnded() : unusableLink()
    const found = await this.ownerOfSession(begun.token, owner.kind, place.clientAddress)
    if (!found) throw unusableLink()
    const response = answerOf(found, found.session.expiresAt)
    for (const cookie of begun.cookies.getSetCookie()) response.headers.append('set-cookie', cookie)
    return response
  }

  /** The person behind a token, a key or a link. Rejects with 401 if it is invalid, and with 403 if it gives no access here. */
  private async identify(
    { token, link }: SignInRequest,
    { kinds, clientAddress }: ConsolePlace,
  ): Promise<SessionOwner & { name: string }> {
    const { db, authenticator, now } = this.world
    if (link !== undefined) {
      const owner = await ownerOfLink(db, link, now())
      if (!owner) throw unusableLink()
      if (!kinds.includes(owner.kind)) throw notHere(owner.kind)
      return { ...owner, name: await this.nameOf(owner, clientAddress) }
    }
    const kind = token.startsWith('adm-') ? 'admin' : 'key'
    if (!kinds.includes(kind)) throw notHere(kind)
    const { id, name } =
      kind === 'admin'
        ? await authenticateAdmin(db, `Bearer ${token}`, { now: now(), clientAddress })
        : await authenticator.authenticate(`Bearer ${token}`, clientAddress)
    return { kind, subject: id, name }
  }

  /** The name of the owner of a link. Rejects with 401 and 403 if they may not sign in. */
  private async nameOf({ kind, subject }: SessionOwner, clientAddress: string | null): Promise<string> {
    const { db, authenticator, now } = this.world
    if (kind === 'key') return (await authenticator.authenticateOwner(subject, clientAddress)).name
    const admin = await adminOfSubject(db, subject, now())
    if (!admin) throw unusableLink()
    return assertActive(admin, { now: now(), clientAddress }).name
  }

  private async end(request: Request, place: ConsolePlace, requestId: string): Promise<Response> {
    const { now, config } = this.world
    const base = baseOf(queryOf(request).get('base') ?? '')
    requireOwnPage(request, config)
    const found = await this.signedIn(request, place)
    const { kind } = found.session
    const actor = {
      name: actorNameOf({ kind, name: found.name }),
      requestId,
      clientAddress: place.clientAddress,
    }
    const change = {
      action: 'session.end',
      target: `${kind}:${found.name}`,
      before: { id: found.session.id },
    }
    const location = await this.signOutAddress(request, found.session.id, base)
    await recording(this.world, actor, change).batch([endSession(found.token, now())])
    const headers = { 'cache-control': 'no-store' }
    const response = location
      ? Response.json({ location }, { headers })
      : new Response(null, { status: 204, headers })
    addSessionCookie(response.headers, { kind, base, isSecure: isPageSecure(request) }, '', 0)
    return response
  }

  /** The URL at the identity provider where the browser signs out; undefined if no provider began the session, or it does not answer. */
  private async signOutAddress(
    request: Request,
    sessionId: string,
    base: string,
  ): Promise<string | undefined> {
    const begunBy = await issuerOfSession(this.world.db, sessionId)
    const origin = request.headers.get('origin')
    const issuer = begunBy && this.world.issuers.get(begunBy.name)
    return origin === null
      ? undefined
      : issuer?.signOutAddress(`${origin}${base}/console`, begunBy?.idToken).catch(() => undefined)
  }
}

function answerOf({ session, token, name, role, account }: SignedIn, expiresAt: number): Response {
  const body = {
    kind: session.kind,
    id: session.subject,
    name,
    ...(role !== undefined && { role }),
    ...(account !== undefined && { account }),
    csrf: csrfTokenOf(token.text),
    expiresAt: isoTime(expiresAt),
  }
  return Response.json(body, { headers: { 'cache-control': 'no-store' } })
}

interface SignInRequest {
  /** A token or a key; empty if a link is given. */
  token: string
  link: string | undefined
  base: string
}

/** The JSON object in the body of a page's request. Throws 400, 413 and 415. */
export async function readConsoleBody(request: Request): Promise<Record<string, unknown>> {
  const { headers } = request
  if (!/^application\/json\b/i.test(headers.get('content-type') ?? ''))
    throw new GatewayError(415, {
      code: 'unsupported_media_type',
      message: "This endpoint accepts JSON only. Send it with the header 'Content-Type: application/json'.",
    })
  const length = Number(headers.get('content-length') ?? Number.NaN)
  if (!(length <= MAX_BODY_BYTES))
    throw new GatewayError(413, {
      code: 'body_too_large',
      message: `Send at most ${MAX_BODY_BYTES} bytes, with their Content-Length.`,
    })
  return parseObject(await request.text())
}

async function readSignIn(request: Request): Promise<SignInRequest> {
  const { token, link, base = '' } = await readConsoleBody(request)
  if (typeof base !== 'string') throw invalidRequest('base', "Invalid 'base': expected a path.")
  if (typeof link === 'string' && link !== '' && token === undefined)
    return { token: '', link, base: baseOf(base) }
  if (typeof token === 'string' && token.trim() !== '' && link === undefined)
    return { token: token.trim(), link: undefined, base: baseOf(base) }
  throw invalidRequest('token', "Send either 'token', with the token of an admin or a key, or 'link'.")
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  } catch {
    // Falls through to the error.
  }
  throw invalidRequest(null, 'The body is not a JSON object.', 'invalid_json')
}

export function baseOf(text: string): string {
  if (BASE.test(text)) return text
  throw invalidRequest('base', "Invalid 'base': expected the path of the gateway, such as /gateway.")
}

function unusableLink(): GatewayError {
  return new GatewayError(401, {
    code: 'link_not_usable',
    type: 'invalid_request_error',
    message: 'This link was used or has expired. Make another one: gateway console',
  })
}

function notHere(kind: SessionKind): GatewayError {
  return new GatewayError(403, {
    code: 'sign_in_not_here',
    message:
      kind === 'admin'
        ? 'Admins do not sign in here: only on the machine of the gateway, or where `admin` of its configuration allows it.'
        : 'Keys do not sign in here: only on the machine of the gateway, unless `console.allowRemote` of its configuration is true.',
  })
}
