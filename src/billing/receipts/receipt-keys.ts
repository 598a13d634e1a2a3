// The keys that sign receipts and months: the current one, and the public parts of earlier ones. The private part is one of the
// gateway's secrets, created on first use. It must never leave the process, and a replaced one is deleted.

import type { KeyObject } from 'node:crypto'
import { type Db, tryApply } from '../../db/db'
import { readSecret, secretOf, secretUpdate } from '../../db/encryption/secrets'
import { isoTime } from '../../db/iso-time'
import type { System } from '../../lib/system'
import { type PublicJwk, publicJwkOf, publicKeysIn, SEED_BYTES, type SigningKey, signingKeyOf } from './jws'

const RECEIPTS_SECRET = 'receipts'
/** How long a process uses the cached key before it checks whether another one replaced it, in milliseconds. */
const FRESH_MS = 1_000

/** The secret as it is stored. */
interface StoredKeys {
  /** The private key, in base64url, and the time since which it signs, in milliseconds since 1970. */
  seed: string
  since: number
  past: readonly { x: string; since: number; until: number }[]
}

/** A public key, and the period in which it signed. */
export interface ListedKey extends PublicJwk {
  since: string
  /** Null for the current key. */
  until: string | null
}

interface KeyWorld extends Pick<System, 'now' | 'monotonic'> {
  db: Db
  randomBytes(count: number): Uint8Array
}

export class ReceiptKeys {
  private known: { key: SigningKey; stored: StoredKeys; readAt: number } | undefined
  private reading: Promise<SigningKey> | undefined

  constructor(private readonly world: KeyWorld) {}

  /** The signing key. It is a promise only if it has to be read. Rejects with `UnreadableText` if it is unreadable. */
  current(): SigningKey | Promise<SigningKey> {
    const { known } = this
    if (known && this.world.monotonic() - known.readAt < FRESH_MS) return known.key
    this.reading ??= this.read().finally(() => {
      this.reading = undefined
    })
    return this.reading
  }

  private async read(): Promise<SigningKey> {
    const readAt = this.world.monotonic()
    const stored = await storedKeys(this.world)
    const key =
      this.known?.stored.seed === stored.seed
        ? this.known.key
        : signingKeyOf(Buffer.from(stored.seed, 'base64url'))
    this.known = { key, stored, readAt }
    return key
  }
}

/** Whether there is a key; it is created on first use. */
export async function hasReceiptKeys(db: Db): Promise<boolean> {
  return (await readSecret(db, RECEIPTS_SECRET)) !== undefined
}

type StoreWorld = Pick<KeyWorld, 'db' | 'now' | 'randomBytes'>

/** All public keys, the current one first. */
export async function listReceiptKeys(world: StoreWorld): Promise<ListedKey[]> {
  const { seed, since, past } = await storedKeys(world)
  const { x } = signingKeyOf(Buffer.from(seed, 'base64url'))
  return [{ x, since, until: null }, ...past].map(({ x, since, until }) => ({
    ...publicJwkOf(x),
    since: isoTime(since) as string,
    until: isoTime(until),
  }))
}

/** All public keys by id, as a check needs them; empty if no key was ever created. It never creates one. */
export async function receiptKeysOf(db: Db): Promise<Map<string, KeyObject>> {
  if (!(await hasReceiptKeys(db))) return new Map()
  const randomBytes = () => {
    throw new Error('the key of receipts is gone')
  }
  return publicKeysIn(JSON.stringify({ keys: await listReceiptKeys({ db, now: () => 0, randomBytes }) }))
}

/** Replaces the current key with a new one. False if another process did so at the same time. `db` is the transaction of the change. */
export async function rotateReceiptKey(world: StoreWorld, db: Db): Promise<boolean> {
  // Creates the key on first use.
  await storedKeys(world)
  const stored = await readSecret(world.db, RECEIPTS_SECRET)
  const before = await storedKeys(world)
  const now = world.now()
  const { x } = signingKeyOf(Buffer.from(before.seed, 'base64url'))
  const next: StoredKeys = {
    seed: newSeed(world),
    since: now,
    past: [{ x, since: before.since, until: now }, ...before.past],
  }
  return tryApply(db, [secretUpdate(world.db, RECEIPTS_SECRET, JSON.stringify(next), stored)])
}

async function storedKeys(world: StoreWorld): Promise<StoredKeys> {
  const { db, now } = world
  const make = () => JSON.stringify({ seed: newSeed(world), since: now(), past: [] } satisfies StoredKeys)
  return JSON.parse(await secretOf(db, RECEIPTS_SECRET, make, now())) as StoredKeys
}

function newSeed({ randomBytes }: Pick<KeyWorld, 'randomBytes'>): string {
  return Buffer.from(randomBytes(SEED_BYTES)).toString('base64url')
}
