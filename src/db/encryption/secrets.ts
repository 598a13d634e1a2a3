// Secrets that the gateway generates for itself once and stores in the database, shared by all nodes. They must never leave the
// process, or change while anything made with them is in use.

import { apply, type Db, type Statement } from '../db'
import { isClearThoughKeySet, trustedText } from './keys'
import type { EncodedTable } from './reencryption'

/** The secret that signs checkpoints of the books. */
export const CHECKPOINTS_SECRET = 'checkpoints'

const ADVICE =
  'Restore the row from a backup, or delete it: then a new secret is made, and what was made with the old one is worth nothing.'

/** The secret of this name, created on first use. Throws `UnreadableText` if it is unreadable, or was replaced. */
export async function secretOf(db: Db, name: string, make: () => string, now: number): Promise<string> {
  return trustedText(db, await storedSecret(db, name, make, now), placeOf(name), ADVICE)
}

/**
 * The secret of this name, created on first use; undefined if it is stored in clear text although a key is set, no matter since
 * when: for a secret that proves something to the operator, which clear text in the database cannot.
 */
export async function encryptedSecretOf(
  db: Db,
  name: string,
  make: () => string,
  now: number,
): Promise<string | undefined> {
  const stored = await storedSecret(db, name, make, now)
  return isClearThoughKeySet(db, stored) ? undefined : db.codec.decode(stored, placeOf(name))
}

/** A secret as stored, encrypted or not; undefined if it does not exist. */
export async function readSecret(db: Db, name: string): Promise<string | undefined> {
  const [row] = await db.query({ sql: 'select value from secrets where name = $1', parameters: [name] })
  return row?.value as string | undefined
}

/** The statement that replaces a stored secret, unless it has changed. */
export function secretUpdate({ codec }: Db, name: string, secret: string, stored = ''): Statement {
  return {
    sql: 'update secrets set value = $1 where name = $2 and value = $3',
    parameters: [codec.encode(secret, placeOf(name)), name, stored],
    guard: true,
  }
}

async function storedSecret(db: Db, name: string, make: () => string, now: number): Promise<string> {
  const known = await readSecret(db, name)
  if (known !== undefined) return known
  // Another process may do the same at the same time: the first one wins.
  await apply(db, [insertSecret(db, name, make(), now)])
  const stored = await readSecret(db, name)
  if (stored === undefined) throw new Error(`the secret ${name} is gone`)
  return stored
}

function insertSecret({ codec }: Db, name: string, secret: string, now: number): Statement {
  return {
    sql: 'insert into secrets (name, value, created_at) values ($1, $2, $3) on conflict (name) do nothing',
    parameters: [name, codec.encode(secret, placeOf(name)), now],
  }
}

/** The statements that replace the secret of this name with a new one. */
export function replaceSecret(db: Db, name: string, secret: string, now: number): Statement[] {
  return [
    { sql: 'delete from secrets where name = $1', parameters: [name] },
    insertSecret(db, name, secret, now),
  ]
}

function placeOf(name: string): string {
  return `secrets.value ${name}`
}

export const secretTexts: EncodedTable = {
  table: 'secrets',
  primaryKey: ['name'],
  columns: ['value'],
  id: 'name',
  placeOf,
  keepsClear: (id) => id === CHECKPOINTS_SECRET,
}
