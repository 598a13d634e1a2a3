// Begins a session of the console for an authenticated person. It must never leave an earlier session of the same browser open, or
// answer with a session whose owner was revoked meanwhile.

import {
  endSession,
  makeSessionToken,
  openSession,
  type SessionKind,
  type SessionOwner,
  SessionToken,
} from '../accounts/sessions'
import { type Actor, recording } from '../admin/audit-trail'
import { sessionTimesOf } from '../config/console'
import type { Config } from '../config/schema'
import type { Db, Statement } from '../db/db'
import { isoTime } from '../db/iso-time'
import { addSessionCookie, cookieTokenOf } from '../http/session-cookie'
import type { System } from '../lib/system'

export interface SessionWorld extends Pick<System, 'now' | 'newId'> {
  db: Db
  readonly config: Config
  randomBytes(count: number): Uint8Array
}

/** The source of a console request, and who may sign in there. */
export interface ConsolePlace {
  clientAddress: string | null
  kinds: readonly SessionKind[]
}

interface Beginning {
  request: Request
  requestId: string
  place: ConsolePlace
  owner: SessionOwner & { name: string }
  /** How the person signed in: `token`, `link` or the name of an identity provider. */
  by: string
  /** The hash of the link that it consumes. */
  linkHash?: string | undefined
  /** Additional statements that are executed with it or not at all, for the id of the session. */
  also?(sessionId: string): readonly Statement[]
  /** The path of the gateway behind a proxy, such as `/gateway`. */
  base: string
  isSecure: boolean
}

/** A new session, and the headers with its cookies. */
export interface Begun {
  token: SessionToken
  cookies: Headers
}

/** Begins a session. Undefined if its link was used, or its owner revoked, meanwhile. */
export async function beginSession(
  world: SessionWorld,
  { request, requestId, place, owner, by, linkHash, also, base, isSecure }: Beginning,
): Promise<Begun | undefined> {
  const { config, now, newId, randomBytes } = world
  const at = now()
  const text = makeSessionToken(randomBytes)
  const { idleMs, maxMs } = sessionTimesOf(config.console)
  const id = newId('ses')
  const { clientAddress, kinds } = place
  const userAgent = request.headers.get('user-agent')
  const session = { ...owner, id, token: text, idleMs, maxMs, now: at, clientAddress, userAgent }
  const statements = [...openSession(session, linkHash), ...(also?.(id) ?? [])]
  for (const kind of kinds) {
    const earlier = cookieTokenOf(request, kind)
    if (earlier) statements.push(endSession(earlier, at))
  }
  const actor: Actor = { name: actorNameOf(owner), requestId, clientAddress }
  const after = { id, by, ends_at: isoTime(at + maxMs) }
  const change = { action: 'session.begin', target: `${owner.kind}:${owner.name}`, after }
  if ('missed' in (await recording(world, actor, change).batch(statements))) return undefined
  const cookies = new Headers()
  const cookie = { kind: owner.kind, base, isSecure }
  for (const kind of kinds) if (kind !== owner.kind) addSessionCookie(cookies, { ...cookie, kind }, '', 0)
  addSessionCookie(cookies, cookie, text, Math.floor(maxMs / 1_000))
  return { token: new SessionToken(text), cookies }
}

/** The name of the user in the audit trail: it distinguishes holders of keys from admins. */
export function actorNameOf({ kind, name }: { kind: SessionKind; name: string }): string {
  return kind === 'key' ? `key ${name}` : name
}
