// Sessions of the console: who signed in with a token, a key or a link, and until when. Only the SHA-256 of a session's token is
// stored. A session must never outlive its secret, key, account or admin.

import { OneOf } from '../api-operation/operation'
import { maybeText, text } from '../api-operation/schemas'
import { viewOf } from '../api-operation/view'
import { type Db, type Row, type Statement, tryApply } from '../db/db'
import { isoTime } from '../db/iso-time'

export const SESSION_KINDS = ['admin', 'key'] as const
export type SessionKind = (typeof SESSION_KINDS)[number]

/** Who signs in: an admin or a key by its id, or a role for a link of the command line. */
export interface SessionOwner {
  kind: SessionKind
  subject: string
}

export type Session = ReturnType<typeof sessionOfRow>

function sessionOfRow(row: Row) {
  return {
    id: row.id as string,
    kind: row.kind as SessionKind,
    subject: row.subject as string,
    /** Without use it ends this long after its last use, in milliseconds. */
    idleMs: row.idle_ms as number,
    createdAt: row.created_at as number,
    usedAt: row.used_at as number,
    /** When it ends unless it is used. */
    expiresAt: row.expires_at as number,
    /** When it ends even if it is used. */
    endsAt: row.ends_at as number,
    revokedAt: row.revoked_at as number | null,
    clientAddress: row.client_address as string | null,
    userAgent: row.user_agent as string | null,
    /** Whether its owner may still sign in with the original secret. */
    isOwned: row.is_owned === 1,
  }
}

/** The token of a session instead of an Authorization header, with which it cannot be confused. */
export class SessionToken {
  constructor(readonly text: string) {}
}

const MAX_SESSIONS_OF_OWNER = 20
const MAX_USER_AGENT = 200
/** Ended sessions are listed this long, in milliseconds. */
const REMEMBERED_MS = 30 * 86_400_000
/** Uses are recorded when this share of the idle time has passed: a page calls many times a second. */
const NOTED_PART = 20
const ROLE_PREFIX = 'role:'

/** A token of 256 random bits: guessing one is hopeless, so no checksum is needed. */
export function makeSessionToken(randomBytes: (count: number) => Uint8Array): string {
  return Buffer.from(randomBytes(32)).toString('base64url')
}

export function hashToken(token: string): string {
  return new Bun.CryptoHasher('sha256').update(token).digest('hex')
}

/** The token that a page must send with each change, which another site cannot know. It reveals nothing about the session's token. */
export function csrfTokenOf(token: string): string {
  return new Bun.CryptoHasher('sha256', token).update('console csrf').digest('base64url')
}

/** The role that a session of a link of the command line has; undefined for the session of an admin. */
export function roleOfSubject(subject: string): string | undefined {
  return subject.startsWith(ROLE_PREFIX) ? subject.slice(ROLE_PREFIX.length) : undefined
}

export function subjectOfRole(role: string): string {
  return `${ROLE_PREFIX}${role}`
}

interface NewSession extends SessionOwner {
  id: string
  token: string
  idleMs: number
  maxMs: number
  now: number
  clientAddress: string | null
  userAgent: string | null
}

/**
 * The hash of the secret of an owner who may sign in, for two expressions of its id and the time; no row for one that is revoked,
 * expired or paused, or whose account is frozen or closed.
 */
const OWNER: Record<SessionKind, (id: string, now: string) => string> = {
  admin: (id, now) => `select hash from admins
    where id = ${id} and revoked_at is null and (expires_at is null or expires_at > ${now})`,
  key: (id, now) => `select hash from keys left join account_details on account_details.name = keys.account
    where keys.id = ${id} and revoked_at is null and (expires_at is null or expires_at > ${now})
      and paused_at is null and frozen_at is null and closed_at is null`,
}
/** Used for links of the command line, whose owner is in no table. */
const ROLE_OWNER = "select '' as hash"

function ownerOf({ kind, subject }: SessionOwner, id: string, now: string): string {
  return roleOfSubject(subject) === undefined ? OWNER[kind](id, now) : ROLE_OWNER
}

/** Sessions at a time, which is the first parameter, with whether each is owned. */
const SELECT_SESSIONS = `select console_sessions.*, case
    when kind = 'admin' and subject like '${ROLE_PREFIX}%' then 1
    when secret_hash = case kind when 'admin' then (${OWNER.admin('console_sessions.subject', '$1')})
      else (${OWNER.key('console_sessions.subject', '$1')}) end then 1
    else 0 end as is_owned
  from console_sessions`

/**
 * Statements that create a session. If there are too many, the oldest one of the same owner ends. `link` is the hash of a link that
 * the session consumes. A batch that is too late, or for an owner who may not sign in, changes nothing.
 */
export function openSession(session: NewSession, linkHash?: string): Statement[] {
  const { kind, subject, now } = session
  const endsAt = now + session.maxMs
  return [
    ...(linkHash === undefined ? [] : [useLink(linkHash, now)]),
    {
      sql: `insert into console_sessions (id, hash, kind, subject, secret_hash, idle_ms, created_at, used_at, expires_at,
          ends_at, client_address, user_agent)
        select $1, $2, $3, $4, owner.hash, $5, $6, $6, $7, $8, $9, $10
        from (${ownerOf(session, '$4', '$6')}) as owner`,
      parameters: [
        session.id,
        hashToken(session.token),
        kind,
        subject,
        session.idleMs,
        now,
        Math.min(now + session.idleMs, endsAt),
        endsAt,
        session.clientAddress,
        session.userAgent?.slice(0, MAX_USER_AGENT) ?? null,
      ],
      guard: true,
    },
    {
      sql: `update console_sessions set revoked_at = $1 where kind = $2 and subject = $3 and revoked_at is null
        and id not in (select id from console_sessions where kind = $2 and subject = $3 and revoked_at is null
          order by created_at desc, id desc limit ${MAX_SESSIONS_OF_OWNER})`,
      parameters: [now, kind, subject],
    },
  ]
}

/**
 * The session of a token, if it has not ended and its owner still has the original secret. Using it keeps it alive until its end.
 */
export async function useSession(
  db: Db,
  { text }: SessionToken,
  kind: SessionKind,
  now: number,
): Promise<Session | undefined> {
  const [row] = await db.query({
    sql: `${SELECT_SESSIONS} where hash = $2 and kind = $3`,
    parameters: [now, hashToken(text), kind],
  })
  const session = row && sessionOfRow(row)
  if (!session || !isOpen(session, now)) return undefined
  if (now - session.usedAt >= session.idleMs / NOTED_PART) await noteUse(db, session, now)
  return session
}

/** Whether a session has not ended, without using it. */
export async function isSessionOpen(db: Db, id: string, now: number): Promise<boolean> {
  const session = await findSession(db, id, now)
  return session !== undefined && isOpen(session, now)
}

function isOpen({ revokedAt, expiresAt, isOwned }: Session, now: number): boolean {
  return revokedAt === null && expiresAt > now && isOwned
}

async function noteUse(db: Db, { id, idleMs, endsAt }: Session, now: number): Promise<void> {
  await tryApply(db, [
    {
      sql: `update console_sessions set used_at = $2, expires_at = $3
        where id = $1 and revoked_at is null and expires_at > $2 and used_at < $2`,
      parameters: [id, now, Math.min(now + idleMs, endsAt)],
    },
  ])
}

/** Ends all sessions of an owner. To be executed in the transaction that ends them. */
export function endSessionsOf({ kind, subject }: SessionOwner, now: number): Statement {
  return {
    sql: `update console_sessions set revoked_at = $3
      where kind = $1 and subject = $2 and revoked_at is null and expires_at > $3`,
    parameters: [kind, subject, now],
  }
}

/** Ends all sessions of the keys of an account. */
export function endSessionsOfAccount(account: string, now: number): Statement {
  return {
    sql: `update console_sessions set revoked_at = $2 where kind = 'key' and revoked_at is null and expires_at > $2
      and subject in (select id from keys where account = $1)`,
    parameters: [account, now],
  }
}

/** Lets the session that changes the secret of its owner continue with the new one. */
export function followSecret(token: SessionToken, secretHash: string): Statement {
  return {
    sql: 'update console_sessions set secret_hash = $2 where hash = $1',
    parameters: [hashToken(token.text), secretHash],
  }
}

interface SessionFilter {
  kind?: SessionKind | undefined
  subject?: string | undefined
  /** Only those of keys of this account. */
  account?: string | undefined
  /** Sessions that began before the one with this id. */
  before?: string | undefined
  limit: number
}

/** Sessions, including ended ones, newest first. */
export async function listSessions(db: Db, filter: SessionFilter, now: number): Promise<Session[]> {
  const rows = await db.query({
    sql: `${SELECT_SESSIONS} where (kind = $2 or cast($2 as text) is null)
      and (subject = $3 or cast($3 as text) is null) and (id < $4 or cast($4 as text) is null)
      and (cast($6 as text) is null or (kind = 'key' and subject in (select id from keys where account = $6)))
      order by id desc limit $5`,
    parameters: [
      now,
      filter.kind ?? null,
      filter.subject ?? null,
      filter.before ?? null,
      filter.limit,
      filter.account ?? null,
    ],
  })
  return rows.map(sessionOfRow)
}

export async function findSession(db: Db, id: string, now: number): Promise<Session | undefined> {
  const [row] = await db.query({ sql: `${SELECT_SESSIONS} where id = $2`, parameters: [now, id] })
  return row && sessionOfRow(row)
}

/** Ends a session. False if it had already ended. */
export async function revokeSession(db: Db, id: string, now: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: 'update console_sessions set revoked_at = $2 where id = $1 and revoked_at is null and expires_at > $2',
      parameters: [id, now],
      guard: true,
    },
  ])
}

/** Ends the session of a token, if it has not ended. */
export function endSession({ text }: SessionToken, now: number): Statement {
  return {
    sql: 'update console_sessions set revoked_at = $2 where hash = $1 and revoked_at is null and expires_at > $2',
    parameters: [hashToken(text), now],
  }
}

/** A session as operators see it. `name` is that of its owner. */
export const sessionView = viewOf<{ session: Session; name: string; now: number }>()({
  id: [text, ({ session }) => session.id],
  kind: [OneOf(SESSION_KINDS), ({ session }) => session.kind],
  name: [text, ({ name }) => name],
  status: [OneOf(['active', 'expired', 'ended']), ({ session, now }) => statusOfSession(session, now)],
  created_at: [text, ({ session }) => isoTime(session.createdAt)],
  used_at: [text, ({ session }) => isoTime(session.usedAt)],
  expires_at: [text, ({ session }) => isoTime(session.expiresAt)],
  ends_at: [text, ({ session }) => isoTime(session.endsAt)],
  client_address: [maybeText, ({ session }) => session.clientAddress],
  user_agent: [maybeText, ({ session }) => session.userAgent],
})

function statusOfSession(session: Session, now: number): 'active' | 'expired' | 'ended' {
  if (isOpen(session, now)) return 'active'
  return session.revokedAt === null && session.expiresAt <= now ? 'expired' : 'ended'
}

/** Stores a link that signs its owner in, once. False for an owner who may not sign in: then nothing is changed. */
export async function createLink(
  db: Db,
  owner: SessionOwner,
  { token, now, expiresAt }: { token: string; now: number; expiresAt: number },
): Promise<boolean> {
  return tryApply(db, [
    {
      sql: `insert into console_links (hash, kind, subject, created_at, expires_at)
        select $1, $2, $3, $4, $5 from (${ownerOf(owner, '$3', '$4')}) as owner`,
      parameters: [hashToken(token), owner.kind, owner.subject, now, expiresAt],
      guard: true,
    },
  ])
}

/** The owner of a link, if it was not used and has not expired. */
export async function ownerOfLink(db: Db, token: string, now: number): Promise<SessionOwner | undefined> {
  const [row] = await db.query({
    sql: 'select kind, subject from console_links where hash = $1 and used_at is null and expires_at > $2',
    parameters: [hashToken(token), now],
  })
  return row && { kind: row.kind as SessionKind, subject: row.subject as string }
}

function useLink(hash: string, now: number): Statement {
  return {
    sql: 'update console_links set used_at = $2 where hash = $1 and used_at is null and expires_at > $2',
    parameters: [hash, now],
    guard: true,
  }
}

/** Statements that remove sessions and links that ended long ago. */
export function forgetSessions(now: number): Statement[] {
  return [
    { sql: 'delete from console_sessions where expires_at < $1', parameters: [now - REMEMBERED_MS] },
    { sql: 'delete from console_links where expires_at < $1', parameters: [now] },
  ]
}
