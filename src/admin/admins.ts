// Operators of the admin API and their tokens. Only the SHA-256 of a token is stored, and the token is shown once, when it
// is made. A token must never be looked up or compared by a part of it.

import { timingSafeEqual } from 'node:crypto'
import { hashSecret, hintOf, isSecret, makeSecret } from '../accounts/keys'
import { type Db, type Row, type Statement, tryApply } from '../db/db'
import { isoTime } from '../db/iso-time'
import { GatewayError } from '../lib/errors'

/** The rights of an operator, each with those before it: to look, to manage keys and money, to manage the gateway. */
export const ROLES = ['viewer', 'operator', 'owner'] as const
export type Role = (typeof ROLES)[number]

export interface Admin {
  id: string
  name: string
  role: Role
  /** The first and last characters of the token, for people to recognise it. */
  hint: string
  expiresAt: number | null
  revokedAt: number | null
  createdAt: number
}

const PREFIX = 'adm-'
const KEY_PREFIX = 'sk-'

/** Makes a token: like the secret of a key, with a prefix that neither can be taken for the other. */
export function makeToken(randomBytes: (count: number) => Uint8Array): string {
  return makeSecret(randomBytes).replace(KEY_PREFIX, PREFIX)
}

function isToken(text: string): boolean {
  return text.startsWith(PREFIX) && isSecret(`${KEY_PREFIX}${text.slice(PREFIX.length)}`)
}

export function hasRole({ role }: Pick<Admin, 'role'>, wanted: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(wanted)
}

/** Stores a new operator. False if the name is taken, also by one that was revoked: names are not reused. */
export async function createAdmin(
  db: Db,
  { token, ...admin }: Pick<Admin, 'id' | 'name' | 'role' | 'expiresAt' | 'createdAt'> & { token: string },
): Promise<boolean> {
  return tryApply(db, [
    {
      sql: `insert into admins (id, name, role, hash, hint, expires_at, created_at)
        values ($1, $2, $3, $4, $5, $6, $7) on conflict (name) do nothing`,
      parameters: [
        admin.id,
        admin.name,
        admin.role,
        hashSecret(token),
        hintOf(token),
        admin.expiresAt,
        admin.createdAt,
      ],
      guard: true,
    },
  ])
}

export async function listAdmins(db: Db): Promise<Admin[]> {
  return (await db.query({ sql: 'select * from admins order by id' })).map(adminOfRow)
}

export async function findAdmin(db: Db, nameOrId: string): Promise<Admin | undefined> {
  const statement: Statement = {
    sql: 'select * from admins where name = $1 or id = $1',
    parameters: [nameOrId],
  }
  const [row] = await db.query(statement)
  return row && adminOfRow(row)
}

/** Refuses an operator from now on. False if that was so before. */
export async function revokeAdmin(db: Db, id: string, now: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: 'update admins set revoked_at = $2 where id = $1 and revoked_at is null',
      parameters: [id, now],
      guard: true,
    },
  ])
}

/** The operator of an Authorization header, as the database has it at this moment. Rejects with 401. */
export async function authenticateAdmin(db: Db, authorization: string | null, now: number): Promise<Admin> {
  const token = /^Bearer +(\S{1,200}) *$/i.exec(authorization ?? '')?.[1]
  if (token === undefined)
    throw unauthorized(
      'Send the token of an admin as `Authorization: Bearer adm-…`; `gateway admins create` makes one.',
    )
  const hash = hashSecret(token)
  const [row] = isToken(token)
    ? await db.query({ sql: 'select * from admins where hash = $1', parameters: [hash] })
    : []
  if (!row || !timingSafeEqual(Buffer.from(row.hash as string), Buffer.from(hash)))
    throw unauthorized('This is no token of this gateway, or it was mistyped.')
  const admin = adminOfRow(row)
  if (admin.revokedAt !== null) throw unauthorized('This token has been revoked.')
  if (admin.expiresAt !== null && admin.expiresAt <= now) throw unauthorized('This token has expired.')
  return admin
}

export function adminJson(admin: Admin, now: number) {
  const hasExpired = admin.expiresAt !== null && admin.expiresAt <= now
  return {
    id: admin.id,
    name: admin.name,
    role: admin.role,
    hint: admin.hint,
    status: admin.revokedAt !== null ? 'revoked' : hasExpired ? 'expired' : 'active',
    expires_at: isoTime(admin.expiresAt),
    revoked_at: isoTime(admin.revokedAt),
    created_at: isoTime(admin.createdAt),
  }
}

function adminOfRow(row: Row): Admin {
  return {
    id: row.id as string,
    name: row.name as string,
    role: row.role as Role,
    hint: row.hint as string,
    expiresAt: row.expires_at as number | null,
    revokedAt: row.revoked_at as number | null,
    createdAt: row.created_at as number,
  }
}

function unauthorized(message: string): GatewayError {
  return new GatewayError(401, {
    code: 'invalid_admin_token',
    type: 'invalid_request_error',
    message,
    headers: { 'www-authenticate': 'Bearer' },
  })
}
