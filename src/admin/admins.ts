// Operators of the admin API and their tokens. Only the SHA-256 of a token is stored. The token is shown only once.
// A token must never be looked up or compared by a part of it.

import { timingSafeEqual } from 'node:crypto'
import { assertAllowed, sessionEnded } from '../accounts/authenticator'
import { hashSecret, hintOf, isSecret, makeSecret } from '../accounts/keys'
import { isName, NAME_RULE } from '../accounts/names'
import { endSessionsOf, roleOfSubject, type SessionToken, useSession } from '../accounts/sessions'
import { Nullable, OneOf } from '../api-operation/operation'
import { list, maybeText, text } from '../api-operation/schemas'
import { viewOf } from '../api-operation/view'
import { ROLES, type Role } from '../contract/roles'
import { type Db, type Row, type Statement, tryApply } from '../db/db'
import { isoTime } from '../db/iso-time'
import { listOfColumn, listText } from '../db/json-column'
import { conflict, GatewayError, invalidRequest, notFound } from '../lib/errors'

export type Admin = ReturnType<typeof adminOfRow>

function adminOfRow(row: Row) {
  return {
    id: row.id as string,
    name: row.name as string,
    role: row.role as Role,
    /** The first and last characters of the token, by which people recognise it. */
    hint: row.hint as string,
    /** Networks (CIDR) that the token may be used from; null means anywhere. */
    addresses: listOfColumn(row.addresses),
    expiresAt: row.expires_at as number | null,
    revokedAt: row.revoked_at as number | null,
    createdAt: row.created_at as number,
  }
}

/** The actor in the audit trail for a link of `gateway console`. No admin has a name with a space. */
const LINK_NAME = 'console link'
const PREFIX = 'adm-'
const KEY_PREFIX = 'sk-'

/** Creates a token: like the secret of a key, with a prefix that distinguishes the two. */
export function makeToken(randomBytes: (count: number) => Uint8Array): string {
  return makeSecret(randomBytes).replace(KEY_PREFIX, PREFIX)
}

function isToken(text: string): boolean {
  return text.startsWith(PREFIX) && isSecret(`${KEY_PREFIX}${text.slice(PREFIX.length)}`)
}

export function hasRole({ role }: Pick<Admin, 'role'>, wanted: Role): boolean {
  return ROLES.indexOf(role) >= ROLES.indexOf(wanted)
}

/** An operator to store, with the token; without addresses, it may be used from anywhere. */
interface NewAdmin
  extends Pick<Admin, 'id' | 'name' | 'role' | 'expiresAt' | 'createdAt'>,
    Partial<Pick<Admin, 'addresses'>> {
  token: string
}

/**
 * Stores a new operator. False if the name is taken, even by a revoked operator: names are not reused. Also false if a guard of
 * `first` is missed: those statements are executed with it or not at all.
 */
export async function createAdmin(
  db: Db,
  { token, addresses = null, ...admin }: NewAdmin,
  first: readonly Statement[] = [],
): Promise<boolean> {
  return tryApply(db, [
    ...first,
    {
      sql: `insert into admins (id, name, role, hash, hint, addresses, expires_at, created_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (name) do nothing`,
      parameters: [
        admin.id,
        admin.name,
        admin.role,
        hashSecret(token),
        hintOf(token),
        listText(addresses),
        admin.expiresAt,
        admin.createdAt,
      ],
      guard: true,
    },
  ])
}

/** A new operator with the rights of the role. Rejects with 400 for an invalid name. */
export function draftAdmin(
  {
    newId,
    randomBytes,
    now,
  }: { newId(prefix: string): string; randomBytes(count: number): Uint8Array; now(): number },
  { name, role, expiresAt, addresses }: Pick<Admin, 'name' | 'role' | 'expiresAt' | 'addresses'>,
) {
  if (!isName(name)) throw invalidRequest('name', `Invalid 'name': expected ${NAME_RULE}.`)
  const token = makeToken(randomBytes)
  return { id: newId('adm'), name, role, token, addresses, expiresAt, createdAt: now() }
}

/** Stores a drafted operator. Rejects with 409 if the name is taken. */
export async function storeAdmin(db: Db, admin: ReturnType<typeof draftAdmin>): Promise<void> {
  if (await createAdmin(db, admin)) return
  throw conflict('admin_exists', `There is or was an admin named ${admin.name}, and names are not reused.`)
}

/** An operator by name or id. Rejects with 404. */
export async function requireAdmin(db: Db, nameOrId: string): Promise<Admin> {
  const admin = await findAdmin(db, nameOrId)
  if (!admin) throw notFound('admin', nameOrId)
  return admin
}

/** All operators, newest first. */
export async function listAdmins(db: Db): Promise<Admin[]> {
  return (await db.query({ sql: 'select * from admins order by id desc' })).map(adminOfRow)
}

export async function findAdmin(db: Db, nameOrId: string): Promise<Admin | undefined> {
  const statement: Statement = {
    sql: 'select * from admins where name = $1 or id = $1',
    parameters: [nameOrId],
  }
  const [row] = await db.query(statement)
  return row && adminOfRow(row)
}

/** Revokes an operator. False if it was already revoked. */
export async function revokeAdmin(db: Db, id: string, now: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: 'update admins set revoked_at = $2 where id = $1 and revoked_at is null',
      parameters: [id, now],
      guard: true,
    },
    endSessionsOf({ kind: 'admin', subject: id }, now),
  ])
}

/** When and from where a token is used. The address is null if it is unknown. */
interface Use {
  now: number
  clientAddress: string | null
}

/**
 * The operator of an Authorization header, according to the database at this moment. Rejects with 401, and with 403 as
 * `assertActive`.
 */
export async function authenticateAdmin(db: Db, authorization: string | null, use: Use): Promise<Admin> {
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
    throw unauthorized('This is not a token of this gateway, or it was mistyped.')
  return assertActive(adminOfRow(row), use)
}

/** The operator. Throws 401 if the token was revoked or has expired, and 403 if it may not be used from the address. */
export function assertActive(admin: Admin, { now, clientAddress }: Use): Admin {
  if (admin.revokedAt !== null) throw unauthorized('This token has been revoked.')
  if (admin.expiresAt !== null && admin.expiresAt <= now) throw unauthorized('This token has expired.')
  assertAllowed(admin.addresses, clientAddress, 'This token')
  return admin
}

/** The operator of a session of the console. Rejects with 401, and with 403 as `assertActive`. */
export async function adminOfSession(db: Db, token: SessionToken, use: Use): Promise<Admin> {
  const session = await useSession(db, token, 'admin', use.now)
  const admin = session && (await adminOfSubject(db, session.subject, session.createdAt))
  if (!admin) throw sessionEnded()
  return assertActive(admin, use)
}

/** The admin with this id; for a link of the command line, an admin with its role that is in no table. */
export async function adminOfSubject(db: Db, subject: string, createdAt: number): Promise<Admin | undefined> {
  const role = ROLES.find((each) => each === roleOfSubject(subject))
  if (!role) return findAdmin(db, subject)
  const free = { hint: '', addresses: null, expiresAt: null, revokedAt: null }
  return { id: subject, name: LINK_NAME, role, ...free, createdAt }
}

/** An operator as others see one. */
export const adminView = viewOf<{ admin: Admin; now: number }>()({
  id: [text, ({ admin }) => admin.id],
  name: [text, ({ admin }) => admin.name],
  role: [OneOf(ROLES), ({ admin }) => admin.role],
  hint: [text, ({ admin }) => admin.hint],
  addresses: [Nullable(list(text)), ({ admin }) => admin.addresses],
  status: [OneOf(['active', 'expired', 'revoked']), statusOfAdmin],
  expires_at: [maybeText, ({ admin }) => isoTime(admin.expiresAt)],
  revoked_at: [maybeText, ({ admin }) => isoTime(admin.revokedAt)],
  created_at: [text, ({ admin }) => isoTime(admin.createdAt)],
})

function statusOfAdmin({ admin, now }: { admin: Admin; now: number }): 'active' | 'expired' | 'revoked' {
  if (admin.revokedAt !== null) return 'revoked'
  return admin.expiresAt !== null && admin.expiresAt <= now ? 'expired' : 'active'
}

function unauthorized(message: string): GatewayError {
  return new GatewayError(401, {
    code: 'invalid_admin_token',
    type: 'invalid_request_error',
    message,
    headers: { 'www-authenticate': 'Bearer' },
  })
}
