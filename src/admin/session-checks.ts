// Sessions of the console that began at an identity provider: while one is open, the provider is asked at least once a minute
// whether it is still valid, using its refresh token. Only one of several nodes asks: providers end a session whose refresh token
// is used twice. Its tokens must never be logged.

import { revokeSession } from '../accounts/sessions'
import { apply, type Db, type Row, type Statement, tryApply } from '../db/db'
import { readableText, UnreadableText } from '../db/encryption/codec'
import type { EncodedTable } from '../db/encryption/reencryption'
import type { System } from '../lib/system'
import { type Issuer, SignInRefused } from '../sign-in/issuer'
import { IssuerUnreachable } from '../sign-in/issuer-fetch'
import type { Issuers } from '../sign-in/issuers'
import { recording } from './audit-trail'
import { actorOf, noteGroups, type PeopleWorld } from './people'

export interface CheckWorld extends PeopleWorld, Pick<System, 'log'> {
  issuers: Issuers
}

/** A check follows the previous one after this time, in milliseconds; the job that runs them starts every 15 seconds. */
const EVERY_MS = 30_000
/** How long a session continues while its provider does not answer, in milliseconds. */
const UNANSWERED_MS = 10 * 60_000
/** Maximum number of checks per run, and of concurrent ones. */
const MAX_CHECKS = 500
const AT_A_TIME = 10

type OpenCheck = ReturnType<typeof checkOfRow>

function checkOfRow(row: Row) {
  return {
    session: row.session as string,
    issuer: row.issuer as string,
    /** The refresh token as it is stored; null if the provider gave none. */
    stored: row.refresh_token as string | null,
    checkedAt: row.checked_at as number,
    answeredAt: row.answered_at as number,
  }
}

/** The statement that records which provider began a session; it is executed together with it. */
export function insertCheck(
  { codec }: Pick<Db, 'codec'>,
  session: string,
  {
    issuer,
    refreshToken,
    idToken,
    now,
  }: { issuer: string; refreshToken: string | undefined; idToken: string; now: number },
): Statement {
  return {
    sql: `insert into session_checks (session, issuer, refresh_token, id_token, checked_at, answered_at)
      values ($1, $2, $3, $4, $5, $5)`,
    parameters: [
      session,
      issuer,
      refreshToken === undefined ? null : codec.encode(refreshToken, placeOf(session)),
      codec.encode(idToken, placeOf(session, 'id_token')),
      now,
    ],
  }
}

/**
 * The name of the provider that began a session, and its last ID token if it can be read; undefined for a session that was
 * begun with a token, a key or a link.
 */
export async function issuerOfSession(
  db: Db,
  session: string,
): Promise<{ name: string; idToken: string | undefined } | undefined> {
  const [row] = await db.query({
    sql: 'select issuer, id_token from session_checks where session = $1',
    parameters: [session],
  })
  return (
    row && { name: row.issuer as string, idToken: readIdToken(db, session, row.id_token as string | null) }
  )
}

function readIdToken({ codec }: Db, session: string, stored: string | null): string | undefined {
  return stored === null ? undefined : readableText(codec, stored, placeOf(session, 'id_token'))
}

/** Asks the providers about all sessions that are due. */
export async function checkSessions(world: CheckWorld): Promise<void> {
  const due = await dueChecks(world)
  const failures: unknown[] = []
  const next = async (): Promise<void> => {
    for (let check = due.shift(); check; check = due.shift())
      await checkOne(world, check).catch((error) => failures.push(error))
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, next))
  if (failures.length > 0) throw failures[0]
}

async function dueChecks({ db, now }: CheckWorld): Promise<OpenCheck[]> {
  const rows = await db.query({
    sql: `select session_checks.* from session_checks join console_sessions on console_sessions.id = session
      where checked_at <= $1 and revoked_at is null and expires_at > $2
      order by checked_at limit ${MAX_CHECKS}`,
    parameters: [now() - EVERY_MS, now()],
  })
  return rows.map(checkOfRow)
}

async function checkOne(world: CheckWorld, check: OpenCheck): Promise<void> {
  const { db, log } = world
  const issuer = world.issuers.get(check.issuer)
  if (!issuer) return endCheck(world, check, 'the configuration has no such provider any more')
  if (!(await claim(world, check)) || check.stored === null) return
  try {
    const before = db.codec.decode(check.stored, placeOf(check.session))
    const { claims, refreshToken = before, idToken } = await issuer.refresh(before)
    await apply(db, [answered(world, check, refreshToken, idToken)])
    if (claims) await noteGroups(world, issuer, claims)
  } catch (error) {
    if (error instanceof SignInRefused) return endCheck(world, check, 'the provider has ended it', issuer)
    if (error instanceof UnreadableText)
      return endCheck(world, check, 'its refresh token cannot be read', issuer)
    if (!(error instanceof IssuerUnreachable)) throw error
    log('issuer_unreachable', { issuer: issuer.name, reason: error.message })
    if (world.now() - check.answeredAt >= UNANSWERED_MS)
      await endCheck(world, check, 'the provider has not answered for 10 minutes', issuer)
  }
}

/** Claims a check. False if another node has. */
function claim({ db, now }: CheckWorld, { session, checkedAt }: OpenCheck): Promise<boolean> {
  return tryApply(db, [
    {
      sql: 'update session_checks set checked_at = $2 where session = $1 and checked_at = $3',
      parameters: [session, now(), checkedAt],
      guard: true,
    },
  ])
}

function answered(
  { db, now }: CheckWorld,
  { session }: OpenCheck,
  refreshToken: string,
  idToken: string | undefined,
): Statement {
  return {
    sql: `update session_checks set answered_at = $2, refresh_token = $3, id_token = coalesce($4, id_token)
      where session = $1`,
    parameters: [
      session,
      now(),
      db.codec.encode(refreshToken, placeOf(session)),
      idToken === undefined ? null : db.codec.encode(idToken, placeOf(session, 'id_token')),
    ],
  }
}

async function endCheck(world: CheckWorld, check: OpenCheck, why: string, issuer?: Issuer): Promise<void> {
  const actor = {
    name: actorOf({ name: issuer?.name ?? check.issuer }),
    requestId: null,
    clientAddress: null,
  }
  const change = { action: 'session.end', target: `session:${check.session}`, after: { why } }
  await revokeSession(recording(world, actor, change), check.session, world.now())
}

/** Deletes the tokens of ended sessions. */
export function forgetChecks(now: number): Statement {
  return {
    sql: `delete from session_checks where session not in (
      select id from console_sessions where revoked_at is null and expires_at > $1)`,
    parameters: [now],
  }
}

function placeOf(session: string, column = 'refresh_token'): string {
  return `session_checks.${column} ${session}`
}

export const sessionCheckTexts: EncodedTable = {
  table: 'session_checks',
  primaryKey: ['session'],
  columns: ['refresh_token', 'id_token'],
  id: 'session',
  placeOf,
}
