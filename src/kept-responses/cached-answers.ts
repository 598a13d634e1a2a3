// The rows of the response cache: answers that may be repeated. Every function takes the account: an answer of another account must
// look exactly like a missing one. Their bytes count among those of kept responses, which are never removed for them.

import { type Db, type Row, tryApply } from '../db/db'
import type { EncodedTable } from '../db/encryption/reencryption'
import { addBytes, keptBytes, subtractBytes } from './rows'

export interface CachedAnswer {
  /** Hash of the account, the model and the request. */
  id: string
  account: string
  model: string
  operation: string
  /** The request that made it. */
  request: string
  contentType: string
  /** Bytes for audio, otherwise text. */
  body: string | Uint8Array
  /** The usage that the answer was charged for, as JSON. */
  measured: string
  createdAt: number
  expiresAt: number
}

/** A cached answer without its content. */
type CachedHead = ReturnType<typeof headOf>

function headOf({ id, account, bytes, created_at: createdAt }: Row) {
  return {
    id: id as string,
    account: account as string,
    bytes: bytes as number,
    createdAt: createdAt as number,
  }
}

/** Number of rows per read when answers are removed. */
const PAGE = 100
const HEAD = 'select id, account, bytes, created_at from cached_answers'

function placeOf(id: string): string {
  return `cached_answers.body ${id}`
}

export const cachedAnswerTexts: EncodedTable = {
  table: 'cached_answers',
  primaryKey: ['id'],
  columns: ['body'],
  id: 'id',
  placeOf,
}

/** The unexpired answer with an id that was made after a time; undefined if none is stored. */
export async function findCachedAnswer(
  db: Db,
  { id, account }: Pick<CachedAnswer, 'id' | 'account'>,
  { madeAfter, now }: { madeAfter: number; now: number },
): Promise<CachedAnswer | undefined> {
  const [row] = await db.query({
    sql: `select * from cached_answers where id = $1 and account = $2 and created_at > $3 and expires_at > $4`,
    parameters: [id, account, madeAfter, now],
  })
  if (!row) return undefined
  const contentType = row.content_type as string
  const text = db.codec.decode(row.body as string, placeOf(id))
  return {
    id,
    account,
    model: row.model as string,
    operation: row.operation as string,
    request: row.request as string,
    contentType,
    body: isAudio(contentType) ? Buffer.from(text, 'base64') : text,
    measured: row.measured as string,
    createdAt: row.created_at as number,
    expiresAt: row.expires_at as number,
  }
}

function isAudio(contentType: string): boolean {
  return contentType.startsWith('audio/')
}

/**
 * Stores an answer in place of one with the same id, if its account has space for it among its stored responses; older cached
 * answers make space. False if it is not stored.
 */
export async function keepCachedAnswer(db: Db, answer: CachedAnswer, maxBytes: number): Promise<boolean> {
  const { id, account, body } = answer
  const text = typeof body === 'string' ? body : Buffer.from(body).toString('base64')
  const bytes = Buffer.byteLength(text) + answer.measured.length
  const [before] = await db.query({
    sql: `${HEAD} where id = $1 and account = $2`,
    parameters: [id, account],
  })
  if (before) await deleteCachedAnswer(db, headOf(before))
  if ((await makeRoomAmongCached(db, account, bytes, maxBytes)) > 0) return false
  return tryApply(db, [
    {
      // If two are made at once, the first is stored.
      sql: `insert into cached_answers
          (id, account, model, operation, request, content_type, body, measured, bytes, created_at, expires_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) on conflict (id) do nothing`,
      parameters: [
        id,
        account,
        answer.model,
        answer.operation,
        answer.request,
        answer.contentType,
        db.codec.encode(text, placeOf(id)),
        answer.measured,
        bytes,
        answer.createdAt,
        answer.expiresAt,
      ],
      guard: true,
    },
    addBytes(account, bytes),
  ])
}

/**
 * Removes the oldest cached answers of an account until a number of additional bytes fit next to everything that the account
 * stores. Returns the number of excess bytes.
 */
export async function makeRoomAmongCached(
  db: Db,
  account: string,
  bytes: number,
  maxBytes: number,
): Promise<number> {
  let excess = (await keptBytes(db, account)) + bytes - maxBytes
  while (excess > 0) {
    const oldest = await db.query({
      sql: `${HEAD} where account = $1 order by created_at, id limit ${PAGE}`,
      parameters: [account],
    })
    if (oldest.length === 0) break
    for (const row of oldest) {
      if (excess <= 0) break
      const head = headOf(row)
      if (await deleteCachedAnswer(db, head)) excess -= head.bytes
    }
  }
  return Math.max(0, excess)
}

/** Removes the answers that have expired. */
export async function sweepCachedAnswers(db: Db, now: number): Promise<void> {
  for (;;) {
    const expired = await db.query({
      sql: `${HEAD} where expires_at <= $1 order by expires_at limit ${PAGE}`,
      parameters: [now],
    })
    for (const row of expired) await deleteCachedAnswer(db, headOf(row))
    if (expired.length < PAGE) return
  }
}

/** Deletes an answer, unless another has replaced it. False if it was gone. */
function deleteCachedAnswer(db: Db, { id, account, bytes, createdAt }: CachedHead): Promise<boolean> {
  return tryApply(db, [
    // This comes first, so that one of two concurrent deletions finds nothing, and the bytes are subtracted once.
    {
      sql: 'delete from cached_answers where id = $1 and account = $2 and created_at = $3 and bytes = $4',
      parameters: [id, account, createdAt, bytes],
      guard: true,
    },
    subtractBytes(account, bytes),
  ])
}
