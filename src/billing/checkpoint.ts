// Checkpoints of the books: what was verified is signed, so that the next time only what came after it is read. A checkpoint
// must never be written over books that are wrong. Who changes charges behind one is found when all of them are read.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { apply, type Db, type Row, type Statement } from '../db/db'
import { CHECKPOINTS_SECRET, encryptedSecretOf, replaceSecret } from '../db/secrets'

/** A position up to which charges were verified, and the sums since ever that the next verification goes on from. */
export interface Checkpoint {
  position: number
  at: number
  /** Hash of the charges since the checkpoint before. */
  hash: string
  sums: Sums
  signature: string
}

export interface Sums {
  charges: number
  /** Nano-dollars that accounts have paid, as decimal texts: years of all accounts exceed what a number holds. */
  paid: Record<string, string>
  shortfall: string
}

/** Charges that are read at once. */
const PAGE = 5_000
const SECRET_BYTES = 32

/**
 * The key that signs, kept among the secrets: encrypted with `secrets.key` where the operator has set one. Undefined if it
 * stands there in clear nevertheless: it is from before, or somebody who can write to the database has put it there.
 */
export function signingKey(
  db: Db,
  randomBytes: (count: number) => Uint8Array,
  now: number,
): Promise<string | undefined> {
  return encryptedSecretOf(db, CHECKPOINTS_SECRET, () => makeSigningKey(randomBytes), now)
}

export function makeSigningKey(randomBytes: (count: number) => Uint8Array): string {
  return Buffer.from(randomBytes(SECRET_BYTES)).toString('hex')
}

/** All checkpoints, oldest first. */
export async function checkpointsOf(db: Db): Promise<Checkpoint[]> {
  return (await db.query({ sql: 'select * from checkpoints order by position' })).map((row) => ({
    position: row.position as number,
    at: row.at as number,
    hash: row.hash as string,
    sums: JSON.parse(row.sums as string) as Sums,
    signature: row.signature as string,
  }))
}

/** Whether each checkpoint was signed with the key, after the one before it. */
export function areSigned(checkpoints: readonly Checkpoint[], key: string): boolean {
  return checkpoints.every((checkpoint, index) => {
    const expected = signatureOf(checkpoint, checkpoints[index - 1]?.signature ?? '', key)
    const [one, other] = [Buffer.from(expected), Buffer.from(checkpoint.signature)]
    return one.length === other.length && timingSafeEqual(one, other)
  })
}

/** Signs and writes a checkpoint after the last one. Another process may have written one at this position. */
export async function writeCheckpoint(
  db: Db,
  checkpoint: Omit<Checkpoint, 'signature'>,
  before: Checkpoint | undefined,
  key: string,
): Promise<void> {
  await apply(db, [insertCheckpoint(checkpoint, before?.signature ?? '', key)])
}

/** Throws all checkpoints away with the key that signed them, and begins with this one and a new key. */
export async function beginCheckpoints(
  db: Db,
  checkpoint: Omit<Checkpoint, 'signature'>,
  key: string,
): Promise<void> {
  await apply(db, [
    { sql: 'delete from checkpoints' },
    ...replaceSecret(db, CHECKPOINTS_SECRET, key, checkpoint.at),
    insertCheckpoint(checkpoint, '', key),
  ])
}

function insertCheckpoint(checkpoint: Omit<Checkpoint, 'signature'>, before: string, key: string): Statement {
  const { position, at, hash, sums } = checkpoint
  return {
    sql: `insert into checkpoints (position, at, hash, sums, signature) select cast($1 as bigint), cast($2 as bigint),
      cast($3 as text), cast($4 as text), cast($5 as text)
      where coalesce((select signature from checkpoints order by position desc limit 1), '') = $6 on conflict do nothing`,
    parameters: [position, at, hash, JSON.stringify(sums), signatureOf(checkpoint, before, key), before],
  }
}

function signatureOf(
  { position, at, hash, sums }: Omit<Checkpoint, 'signature'>,
  before: string,
  key: string,
) {
  return createHmac('sha256', key)
    .update(JSON.stringify([position, at, hash, sums, before]))
    .digest('hex')
}

/** Reads the charges between two positions. Returns their hash, adds their amounts to the sums, and shows each row. */
export async function readCharges(
  db: Db,
  after: number,
  to: number,
  sums: Sums,
  onPage: (rows: readonly Row[], position: number) => void = () => {},
): Promise<string> {
  const accounts = new Map(
    (await db.query({ sql: 'select id, account from charge_series' })).map(({ id, account }) => [
      id,
      account,
    ]),
  )
  const paid = new Map(Object.entries(sums.paid).map(([account, nano]) => [account, BigInt(nano)]))
  const hash = createHash('sha256')
  let shortfall = BigInt(sums.shortfall)
  for (let from = after; from < to; from += PAGE) {
    const rows = await db.query({
      sql: `select position, id, series, price_list, state, held, amount, shortfall, usage_shape, usage, usage_source,
          ended_by, created_at, ended_at
        from ended_charges where position > $1 and position <= $2 order by position`,
      parameters: [from, Math.min(from + PAGE, to)],
    })
    for (const row of rows) {
      hash.update(JSON.stringify(Object.values(row)))
      const account = String(accounts.get(row.series as number))
      paid.set(account, (paid.get(account) ?? 0n) + BigInt(row.amount as number))
      shortfall += BigInt(row.shortfall as number)
    }
    sums.charges += rows.length
    onPage(rows, Math.min(from + PAGE, to))
  }
  sums.paid = Object.fromEntries([...paid].map(([account, nano]) => [account, String(nano)]))
  sums.shortfall = String(shortfall)
  return hash.digest('hex')
}
