// People of identity providers as admins and holders of keys here: created at the first sign-in, and changed as their groups
// change. A person can choose any name, so a name must never make anybody an existing admin, key or account.

import { findAccount, introduceAccount } from '../accounts/accounts'
import { draftKey } from '../accounts/key-changes'
import { createKey, findKey, unlimited } from '../accounts/keys'
import { endSessionsOf, type SessionKind, type SessionOwner } from '../accounts/sessions'
import { openAccount } from '../billing/ledger/ledger'
import type { Role } from '../contract/roles'
import { apply, type Db, type Row, type Statement } from '../db/db'
import { isoTime } from '../db/iso-time'
import { GatewayError } from '../lib/errors'
import type { System } from '../lib/system'
import type { Issuer } from '../sign-in/issuer'
import { type Claims, type Membership, membershipOf, personNameOf } from '../sign-in/membership'
import { createAdmin, draftAdmin, findAdmin } from './admins'
import { type Actor, recording } from './audit-trail'

export interface PeopleWorld extends Pick<System, 'now' | 'newId'> {
  db: Db
  randomBytes(count: number): Uint8Array
}

/** A person as a verified token of an identity provider describes them. */
interface Person {
  issuer: string
  subject: string
  name: string
  /** When the provider said so, in milliseconds since 1970. */
  assertedAt: number
  membership: Membership
}

type Identity = ReturnType<typeof identityOfRow>

function identityOfRow(row: Row) {
  return {
    kind: row.kind as SessionKind,
    account: row.account as string,
    owner: row.owner as string,
    assertedAt: row.asserted_at as number,
    lostAt: row.lost_at as number | null,
  }
}

/** The request that a person makes. */
type Sender = Omit<Actor, 'name'>

/** The tables of owners. */
const OWNERS: Record<SessionKind, 'admins' | 'keys'> = { admin: 'admins', key: 'keys' }
/** How often the look-up of a person that another request is creating is retried. */
const ATTEMPTS = 3
/** Digits that distinguish people with the same name. */
const SUFFIX_DIGITS = 12

/**
 * The owner that a person signs in as, among the kinds that may sign in here: an admin first. Rejects with 403 if no group is in
 * the table.
 */
export async function ownerOf(
  world: PeopleWorld,
  issuer: Issuer,
  claims: Claims,
  kinds: readonly SessionKind[],
  sender: Sender,
): Promise<SessionOwner & { name: string }> {
  const person = personOf(issuer, claims)
  const actor = { ...sender, name: actorOf(issuer) }
  await followGroups(world, person, actor)
  const kind = kindsOf(person).find((each) => kinds.includes(each))
  if (!kind) throw notMember(issuer, kindsOf(person))
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const known = (await identitiesOf(world.db, person)).find((each) => isOf(each, person, kind))
    if (known && known.lostAt !== null) throw notMember(issuer, [])
    const owner = known?.owner ?? (await makeOwner(world, person, kind, actor))
    if (owner !== undefined) return { kind, subject: owner, name: await ownerName(world.db, kind, owner) }
  }
  throw new Error(`no name is free for ${person.name}`)
}

/** Stores what a provider now says about a person. A lost group ends the access that it gave, and the person's sessions. */
export async function noteGroups(
  world: PeopleWorld,
  issuer: Issuer,
  claims: Claims,
  sender: Sender = { requestId: null, clientAddress: null },
): Promise<void> {
  await followGroups(world, personOf(issuer, claims), { ...sender, name: actorOf(issuer) })
}

/** The actor in the audit trail for changes by an identity provider. No admin has a name with a space. */
export function actorOf({ name }: Pick<Issuer, 'name'>): string {
  return `sign-in ${name}`
}

function personOf({ entry }: Issuer, claims: Claims): Person {
  const { iss, sub, iat } = claims
  if (typeof iss !== 'string' || typeof sub !== 'string' || typeof iat !== 'number')
    throw new Error('the token was not verified')
  return {
    issuer: iss,
    subject: sub,
    name: personNameOf(claims),
    assertedAt: iat * 1_000,
    membership: membershipOf(claims, entry),
  }
}

function kindsOf({ membership: { role, holder } }: Person): SessionKind[] {
  return [...(role ? (['admin'] as const) : []), ...(holder ? (['key'] as const) : [])]
}

/** Whether an identity matches the groups of a person. */
function isOf({ kind, account }: Identity, { membership }: Person, wanted: SessionKind): boolean {
  if (kind !== wanted) return false
  if (kind === 'admin') return membership.role !== null
  return membership.holder !== null && account === (membership.holder.account ?? '')
}

/** Updates the stored facts about a person to those of the newest token. An older token changes nothing. */
async function followGroups(world: PeopleWorld, person: Person, actor: Actor): Promise<void> {
  const known = await identitiesOf(world.db, person)
  if (known.some(({ assertedAt }) => assertedAt > person.assertedAt)) return
  for (const identity of known) {
    const isGiven = isOf(identity, person, identity.kind)
    if (isGiven !== (identity.lostAt === null))
      await (isGiven ? giveBack : takeAway)(world, person, identity, actor)
    if (isGiven && person.membership.role && identity.kind === 'admin')
      await followRole(world, identity.owner, person.membership.role, actor)
  }
  if (known.some(({ assertedAt }) => assertedAt < person.assertedAt))
    await apply(world.db, [
      {
        sql: 'update identities set asserted_at = $3 where issuer = $1 and subject = $2 and asserted_at < $3',
        parameters: [person.issuer, person.subject, person.assertedAt],
      },
    ])
}

async function takeAway(
  world: PeopleWorld,
  person: Person,
  { kind, account, owner }: Identity,
  actor: Actor,
): Promise<void> {
  const now = world.now()
  const table = OWNERS[kind]
  const change = {
    action: `${kind}.update`,
    target: `${kind}:${await ownerName(world.db, kind, owner)}`,
    after: { expires_at: isoTime(now), why: 'no group gives it any more' },
  }
  await recording(world, actor, change).batch([
    {
      sql: `update identities set lost_at = $5, expires_before = (select expires_at from ${table} where id = $6)
        where issuer = $1 and subject = $2 and kind = $3 and account = $4 and lost_at is null`,
      parameters: [person.issuer, person.subject, kind, account, now, owner],
      guard: true,
    },
    {
      sql: `update ${table} set expires_at = $2 where id = $1 and (expires_at is null or expires_at > $2)`,
      parameters: [owner, now],
    },
    endSessionsOf({ kind, subject: owner }, now),
  ])
}

async function giveBack(
  world: PeopleWorld,
  person: Person,
  { kind, account, owner, lostAt }: Identity,
  actor: Actor,
): Promise<void> {
  const table = OWNERS[kind]
  const place = [person.issuer, person.subject, kind, account]
  const at = 'issuer = $1 and subject = $2 and kind = $3 and account = $4'
  const change = {
    action: `${kind}.update`,
    target: `${kind}:${await ownerName(world.db, kind, owner)}`,
    after: { why: 'a group gives it again' },
  }
  await recording(world, actor, change).batch([
    {
      // Clears only an expiry that the lost group has set: one that an operator has set since then stays.
      sql: `update ${table} set expires_at = (select expires_before from identities where ${at})
        where id = $5 and expires_at = $6`,
      parameters: [...place, owner, lostAt],
    },
    {
      sql: `update identities set lost_at = null, expires_before = null where ${at} and lost_at is not null`,
      parameters: place,
      guard: true,
    },
  ])
}

async function followRole(world: PeopleWorld, id: string, role: Role, actor: Actor): Promise<void> {
  const admin = await findAdmin(world.db, id)
  if (!admin || admin.role === role) return
  const change = {
    action: 'admin.update',
    target: `admin:${admin.name}`,
    before: { role: admin.role },
    after: { role },
  }
  await recording(world, actor, change).batch([
    { sql: 'update admins set role = $2 where id = $1 and role <> $2', parameters: [id, role], guard: true },
  ])
}

/** Creates the admin or key of a person at the first sign-in. Undefined if another request has just created it. */
async function makeOwner(
  world: PeopleWorld,
  person: Person,
  kind: SessionKind,
  actor: Actor,
): Promise<string | undefined> {
  for (const name of namesOf(person)) {
    const made = await (kind === 'admin' ? makeAdmin : makeHolder)(world, person, name, actor)
    if (made !== undefined) return made
    if ((await identitiesOf(world.db, person)).some((each) => isOf(each, person, kind))) return undefined
  }
  return undefined
}

/** The preferred name of a person, or one that nobody else has. */
function namesOf({ name, issuer, subject }: Person): string[] {
  const own = new Bun.CryptoHasher('sha256').update(`${issuer}\n${subject}`).digest('hex')
  return [name, `${name}.${own.slice(0, SUFFIX_DIGITS)}`]
}

async function makeAdmin(
  world: PeopleWorld,
  person: Person,
  name: string,
  actor: Actor,
): Promise<string | undefined> {
  const role = person.membership.role as Role
  const admin = draftAdmin(world, { name, role, expiresAt: null, addresses: null })
  const after = { role, issuer: person.issuer, subject: person.subject }
  const db = recording(world, actor, { action: 'admin.create', target: `admin:${name}`, after })
  const first = insertIdentity(person, { kind: 'admin', account: '', owner: admin.id }, world.now())
  return (await createAdmin(db, admin, [first])) ? admin.id : undefined
}

async function makeHolder(
  world: PeopleWorld,
  person: Person,
  name: string,
  actor: Actor,
): Promise<string | undefined> {
  const { account: shared, plan } = person.membership.holder as NonNullable<Membership['holder']>
  const account = shared ?? name
  const [hasAccount, hasKey] = [await findAccount(world.db, account), await findKey(world.db, name)]
  if (hasKey || (hasAccount && shared === null)) return undefined
  const key = await draftKey(world.db, world, name, account)
  const after = { account, plan, issuer: person.issuer, subject: person.subject }
  const db = recording(world, actor, { action: 'key.create', target: `key:${name}`, after })
  const details = { account, displayName: null, note: null, plan, frozenAt: null }
  const made = await createKey(db, { ...key, ...unlimited }, [
    insertIdentity(person, { kind: 'key', account: shared ?? '', owner: key.id }, world.now()),
    // An account of their own must be new: an existing one may hold somebody else's money.
    ...(shared === null ? [{ ...openAccount(account, world.now()), guard: true }] : []),
    ...(hasAccount ? [] : [introduceAccount(details)]),
  ])
  return made ? key.id : undefined
}

function insertIdentity(
  { issuer, subject, assertedAt }: Person,
  { kind, account, owner }: Pick<Identity, 'kind' | 'account' | 'owner'>,
  now: number,
): Statement {
  return {
    sql: `insert into identities (issuer, subject, kind, account, owner, asserted_at, created_at)
      values ($1, $2, $3, $4, $5, $6, $7) on conflict (issuer, subject, kind, account) do nothing`,
    parameters: [issuer, subject, kind, account, owner, assertedAt, now],
    guard: true,
  }
}

async function identitiesOf(db: Db, { issuer, subject }: Person): Promise<Identity[]> {
  const rows = await db.query({
    sql: 'select * from identities where issuer = $1 and subject = $2 order by kind, account',
    parameters: [issuer, subject],
  })
  return rows.map(identityOfRow)
}

async function ownerName(db: Db, kind: SessionKind, id: string): Promise<string> {
  const owner = await (kind === 'admin' ? findAdmin(db, id) : findKey(db, id))
  return owner?.name ?? id
}

function notMember({ title }: Issuer, kinds: readonly SessionKind[]): GatewayError {
  return kinds.length > 0
    ? new GatewayError(403, {
        code: 'sign_in_not_here',
        message: 'You may sign in to this gateway, but not here. Ask its operator for the right address.',
      })
    : new GatewayError(403, {
        code: 'not_a_member',
        message: `${title} knows you, but none of your groups may use this gateway. Ask its operator; a repeat does not help until then.`,
      })
}
