// Checkpoints of the books: verified entries are signed, so that the next verification reads only later ones. A checkpoint must
// never be written over wrong books. A change to charges before a checkpoint is found when all of them are read.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { apply, type Db, type Row, type Statement, tryApply } from '../../db/db'
import { CHECKPOINTS_SECRET, encryptedSecretOf, replaceSecret } from '../../db/encryption/secrets'
import { pagesOfCharges, RowsHash } from '../ledger/charge-rows'
import { FIGURES } from '../reports/usage-figures'
import type { Closing, ClosingEntry } from './closings'

/** A position up to which charges were verified, and the lifetime sums that the next verification continues from. */
export type Checkpoint = ReturnType<typeof checkpointOfRow>

function checkpointOfRow(row: Row) {
  return {
    position: row.position as number,
    at: row.at as number,
    /** Hash of the charges since the previous checkpoint. */
    hash: row.hash as string,
    /** Null if the row is damaged: then its signature is wrong too. */
    sums: sumsIn(row.sums as string),
    signature: row.signature as string,
  }
}

export interface Sums {
  charges: number
  /** Nano-dollars that accounts have paid, as decimal text: years of all accounts exceed the range of a number. */
  paid: Record<string, string>
  shortfall: string
}

const SECRET_BYTES = 32
const DECIMAL = /^-?\d+$/

function sumsIn(text: string): Sums | null {
  try {
    const sums: Sums = JSON.parse(text)
    const amounts = [...Object.values(sums.paid), sums.shortfall]
    // The same object, because the order of its members is signed.
    return Number.isSafeInteger(sums.charges) && amounts.every(isDecimal) ? sums : null
  } catch {
    return null
  }
}

function isDecimal(value: unknown): boolean {
  return typeof value === 'string' && DECIMAL.test(value)
}

/**
 * The signing key, stored among the secrets: encrypted with `secrets.key` if the operator has set one. Undefined if it is stored in
 * clear text nevertheless: it is older than that setting, or somebody with write access to the database has written it.
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
  return (await db.query({ sql: 'select * from checkpoints order by position' })).map(checkpointOfRow)
}

/** Whether each closing and each checkpoint after it was signed with the key, in sequence. */
export function areSigned(
  closings: readonly Closing[],
  checkpoints: readonly Checkpoint[],
  key: string,
): boolean {
  let before = ''
  return [...closings, ...checkpoints].every((signed) => {
    const expected =
      'month' in signed ? signatureOfClosing(signed, before, key) : signatureOf(signed, before, key)
    before = signed.signature
    const [one, other] = [Buffer.from(expected), Buffer.from(signed.signature)]
    return one.length === other.length && timingSafeEqual(one, other)
  })
}

/** Signs and writes a checkpoint after the last one. Another process may have written one at this position. */
export async function writeCheckpoint(
  db: Db,
  checkpoint: Omit<Checkpoint, 'signature'>,
  before: string,
  key: string,
): Promise<void> {
  await apply(db, [insertCheckpoint(checkpoint, before, key)])
}

/**
 * Discards all checkpoints with their signing key, and begins with this one and a new key, which also signs the closings.
 */
export async function beginCheckpoints(
  db: Db,
  checkpoint: Omit<Checkpoint, 'signature'>,
  closings: readonly Closing[],
  key: string,
): Promise<void> {
  let before = ''
  const signed = closings.map((closing): Statement => {
    before = signatureOfClosing(closing, before, key)
    return {
      sql: 'update closings set signature = $1 where position = $2',
      parameters: [before, closing.position],
    }
  })
  await apply(db, [
    { sql: 'delete from checkpoints' },
    ...replaceSecret(db, CHECKPOINTS_SECRET, key, checkpoint.at),
    ...signed,
    insertCheckpoint(checkpoint, before, key),
  ])
}

/** A closing, and what must exist for it to be written. */
interface ClosingWrite {
  closing: Omit<Closing, 'signature'>
  entries: readonly ClosingEntry[]
  /** The existing closings and checkpoints. */
  closings: readonly Closing[]
  checkpoints: readonly Checkpoint[]
  /** Checkpoints that replace all from the first one after the closing. */
  kept: readonly Omit<Checkpoint, 'signature'>[]
}

/**
 * Writes a closing with its entries. It replaces the checkpoints before it, and later ones are signed again. False if a closing or
 * a checkpoint was written meanwhile: then nothing is changed.
 */
export function writeClosing(db: Db, write: ClosingWrite, key: string): Promise<boolean> {
  const { closing, entries, closings, checkpoints, kept } = write
  const { position, month, endedBefore, at, charges, hash, entriesHash, archive, archiveBytes } = closing
  const last = closings.at(-1)
  let before = signatureOfClosing(closing, last?.signature ?? '', key)
  const insert: Statement = {
    sql: `insert into closings (position, month, ended_before, at, charges, hash, entries_hash, archive, archive_bytes,
        signature)
      select cast($1 as bigint), cast($2 as text), cast($3 as bigint), cast($4 as bigint), cast($5 as bigint),
        cast($6 as text), cast($7 as text), cast($8 as text), cast($9 as bigint), cast($10 as text)
      where coalesce((select max(position) from closings), 0) = $11 and ${LAST_SIGNATURE} = $12`,
    parameters: [
      ...[position, month, endedBefore, at, charges, hash, entriesHash, archive, archiveBytes, before],
      ...[last?.position ?? 0, (checkpoints.at(-1) ?? last)?.signature ?? ''],
    ],
    guard: true,
  }
  const signed = kept.map((checkpoint): Statement => {
    const statement = insertCheckpoint(checkpoint, before, key)
    before = signatureOf(checkpoint, before, key)
    return { ...statement, guard: true }
  })
  return tryApply(db, [
    // A checkpoint that is written meanwhile would follow one that no longer exists.
    ...(db.kind === 'postgres' ? [{ sql: 'lock table checkpoints in exclusive mode' }] : []),
    {
      // Removed charges must be in the totals, which may be being rebuilt at this moment.
      sql: `update marks set position = position where name = 'usage' and position >= $1`,
      parameters: [position],
      guard: true,
    },
    insert,
    ...entries.map((entry) => insertEntry(position, entry)),
    { sql: 'delete from checkpoints' },
    ...signed,
  ])
}

function insertEntry(closing: number, [series, , , , , ...figures]: ClosingEntry): Statement {
  return {
    sql: `insert into closing_entries (closing, series, ${FIGURES.join(', ')}) values ($1, $2, ${figures.map((_, index) => `$${index + 3}`).join(', ')})`,
    parameters: [closing, series, ...figures],
  }
}

/** The signature that the next checkpoint follows. */
const LAST_SIGNATURE = `coalesce((select signature from checkpoints order by position desc limit 1),
  (select signature from closings order by position desc limit 1), '')`

function insertCheckpoint(checkpoint: Omit<Checkpoint, 'signature'>, before: string, key: string): Statement {
  const { position, at, hash, sums } = checkpoint
  return {
    sql: `insert into checkpoints (position, at, hash, sums, signature) select cast($1 as bigint), cast($2 as bigint),
      cast($3 as text), cast($4 as text), cast($5 as text)
      where ${LAST_SIGNATURE} = $6 on conflict do nothing`,
    parameters: [position, at, hash, JSON.stringify(sums), signatureOf(checkpoint, before, key), before],
  }
}

function signatureOf(
  { position, at, hash, sums }: Omit<Checkpoint, 'signature'>,
  before: string,
  key: string,
): string {
  return hmacOf([position, at, hash, sums, before], key)
}

function signatureOfClosing(closing: Omit<Closing, 'signature'>, before: string, key: string): string {
  const { position, month, endedBefore, at, charges, hash, entriesHash, archive, archiveBytes } = closing
  return hmacOf(
    ['closing', position, month, endedBefore, at, charges, hash, entriesHash, archive, archiveBytes, before],
    key,
  )
}

function hmacOf(content: unknown[], key: string): string {
  return createHmac('sha256', key).update(JSON.stringify(content)).digest('hex')
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
  const hash = new RowsHash()
  let shortfall = BigInt(sums.shortfall)
  for await (const { rows, position } of pagesOfCharges(db, after, to)) {
    for (const row of rows) {
      hash.add(row)
      const account = String(accounts.get(row.series as number))
      paid.set(account, (paid.get(account) ?? 0n) + BigInt(row.amount as number))
      shortfall += BigInt(row.shortfall as number)
    }
    sums.charges += rows.length
    onPage(rows, position)
  }
  sums.paid = Object.fromEntries([...paid].map(([account, nano]) => [account, String(nano)]))
  sums.shortfall = String(shortfall)
  return hash.digest()
}
