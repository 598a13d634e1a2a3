// Tracks in the database which keys its rows may be encrypted with: a process that lacks one of them must not start. Only ids of
// keys are stored here; a key itself must never be in the database.

import { apply, DatabaseUnavailable, type Db, type Statement } from '../db'
import { CLEAR, storedBy, UnreadableText } from './codec'

/** Thrown if rows may be encrypted with a key that the configuration lacks. The message says what to do. */
class KeyMissing extends Error {
  override readonly name = 'KeyMissing'
}

/** A key with which rows may be encrypted. */
export interface UsedKey {
  id: string
  /** Increases as long as any process encrypts with it. */
  uses: number
}

/** All keys that rows may be encrypted with; empty if there never was one. `clear` means unencrypted. */
export async function usedKeys(db: Db): Promise<UsedKey[]> {
  const rows = await db.query({ sql: 'select id, uses from encryption_keys order by id' })
  return rows.map(({ id, uses }) => ({ id: id as string, uses: uses as number }))
}

/** Why this process cannot read all rows, and what to do; undefined if it can. */
function missingKeyFault({ codec }: Db, used: readonly UsedKey[]): string | undefined {
  const missing = used.filter(({ id }) => !codec.knows(id)).map(({ id }) => id)
  if (missing.length === 0) return undefined
  const names = `${missing.length === 1 ? 'the key' : 'the keys'} ${missing.join(', ')}`
  if (codec.currentId === CLEAR) {
    return `rows of the database are encrypted with ${names}, and the configuration has no such key: set it as secrets.key`
  }
  return `rows of the database are encrypted with ${names}, and secrets.key is the key ${codec.currentId}: if it replaces the other, add that to secrets.olderKeys; if not, set the right one`
}

/**
 * The text of a secret that must be trustworthy. Clear text is accepted only without a key, or while rows from before the first key
 * exist: after that, only somebody with write access to the database can have put it there. Throws `UnreadableText`.
 */
export async function trustedText(db: Db, stored: string, place: string, advice: string): Promise<string> {
  if (isClearThoughKeySet(db, stored) && !(await usedKeys(db)).some(({ id }) => id === CLEAR)) {
    throw new UnreadableText(
      `${place} is in the database as clear text, though secrets.key is set and all rows were encrypted: somebody replaced it. ${advice}`,
    )
  }
  return db.codec.decode(stored, place)
}

/** Whether a stored text is not encrypted, although the operator has set a key. */
export function isClearThoughKeySet({ codec }: Pick<Db, 'codec'>, stored: string): boolean {
  return codec.currentId !== CLEAR && storedBy(stored) === CLEAR
}

/** The encryption of a database, for an operator. */
export interface Encryption {
  /** The id of the encrypting key; `clear` without a key. */
  key: string
  /** Ids of other keys that rows may still be encrypted with, including `clear`. */
  before: string[]
  /** Why some rows are unreadable, and what to do; undefined if all are readable. */
  fault: string | undefined
}

/** The encryption of a database that may not have the tables of this version yet; undefined if nothing was ever encrypted. */
export async function readEncryption(db: Db): Promise<Encryption | undefined> {
  const used = await usedKeys(db).catch((error) => {
    if (error instanceof DatabaseUnavailable) throw error
    return []
  })
  const { currentId } = db.codec
  if (used.length === 0 && currentId === CLEAR) return undefined
  const before = used.map(({ id }) => id).filter((id) => id !== currentId)
  return { key: currentId, before, fault: missingKeyFault(db, used) }
}

/** All keys that rows may be encrypted with. Throws `KeyMissing` if this process lacks one. */
export async function requireKeys(db: Db): Promise<UsedKey[]> {
  const used = await usedKeys(db)
  const fault = missingKeyFault(db, used)
  if (fault !== undefined) throw new KeyMissing(fault)
  return used
}

/** Records the key of this process before anything is encrypted with it. Throws `KeyMissing` if it lacks one. */
export async function registerKey(db: Db): Promise<void> {
  const used = await requireKeys(db)
  const { currentId } = db.codec
  if (used.length === 0 && currentId === CLEAR) return
  // Rows from before the first key, and other processes that do not know of it yet.
  const before = used.length === 0 ? [noteUse(CLEAR)] : []
  await apply(db, [...before, noteUse(currentId)])
}

/** The statement that records that a process encrypts with a key. */
export function noteUse(id: string): Statement {
  return {
    sql: `insert into encryption_keys (id, uses) values ($1, 1)
      on conflict (id) do update set uses = encryption_keys.uses + 1`,
    parameters: [id],
  }
}

/** The statement that removes a key that no row uses any more, unless it was used since it was read. */
export function forgetKey({ id, uses }: UsedKey): Statement {
  return { sql: 'delete from encryption_keys where id = $1 and uses = $2', parameters: [id, uses] }
}
