// Idempotency keys: the same key and request return the same answer and are charged once, however often they are sent. The key is
// claimed in the transaction of the hold, and the answer is saved in the transaction of the settlement or of a task's submission.
// Neither must ever exist without the other. A request that failed frees its key, so it can be sent again.

import type { Db, Statement } from '../../db/db'
import type { EncodedTable } from '../../db/encryption/reencryption'
import { GatewayError, invalidRequest } from '../../lib/errors'
import type { Charge, Condition } from './ledger'

const MAX_KEY_LENGTH = 255
/** Maximum size of a stored answer, in bytes. */
export const MAX_SAVED_LENGTH = 4 * 1024 * 1024
const KEEP_MS = 24 * 3_600_000

/** A caller's key on one request of one account. */
export interface IdempotencyKey {
  account: string
  value: string
  /** Hash of the path and the body. */
  requestHash: string
}

export interface SavedAnswer {
  status: number
  contentType: string
  /** Bytes for audio, otherwise text. */
  body: string | Uint8Array
}

/** The answer of an earlier request, with its charge. */
export interface EarlierAnswer extends SavedAnswer {
  charge: string
}

/** The key of a request; prefixes separate those of different owners. */
export function idempotencyKeyOf(
  { account, prefix }: { account: string; prefix: string },
  value: string | null,
  path: string,
  body: string,
): IdempotencyKey | null {
  if (value === null) return null
  if (value === '' || value.length > MAX_KEY_LENGTH) {
    throw invalidRequest('Idempotency-Key', `An Idempotency-Key has 1 to ${MAX_KEY_LENGTH} characters.`)
  }
  const requestHash = new Bun.CryptoHasher('sha256').update(path).update('\n').update(body).digest('hex')
  return { account, value: `${prefix}${value}`, requestHash }
}

export function claimKey(key: IdempotencyKey, chargeId: string, now: number): Condition {
  return {
    sql: `insert into saved_answers (account, idempotency_key, request_hash, charge, created_at)
      values ($1, $2, $3, $4, $5) on conflict (account, idempotency_key) do nothing`,
    parameters: [key.account, key.value, key.requestHash, chargeId, now],
    guard: 'idempotency',
    columns: { idempotency_key: key.value, request_hash: key.requestHash },
  }
}

/** Claims a key again that was freed with its hold, unless another request has it by now. */
export function retakeKey(
  key: IdempotencyKey,
  { id, createdAt }: Pick<Charge, 'id' | 'createdAt'>,
): Statement {
  const { sql, parameters = [] } = claimKey(key, id, createdAt)
  return { sql, parameters }
}

/** The statement that saves an answer; it must be in the batch of the settlement. */
export function saveAnswer({ codec }: Pick<Db, 'codec'>, chargeId: string, answer: SavedAnswer): Statement {
  const text = typeof answer.body === 'string' ? answer.body : Buffer.from(answer.body).toString('base64')
  const kept = Buffer.byteLength(text) <= MAX_SAVED_LENGTH
  const body = kept ? codec.encode(text, placeOf(chargeId)) : null
  return {
    sql: 'update saved_answers set status = $2, content_type = $3, body = $4 where charge = $1',
    parameters: [chargeId, answer.status, answer.contentType, body],
    columns: { answer_status: answer.status, answer_type: answer.contentType, answer_body: body },
  }
}

function placeOf(chargeId: string): string {
  return `saved_answers.body ${chargeId}`
}

export const savedAnswerTexts: EncodedTable = {
  table: 'saved_answers',
  primaryKey: ['account', 'idempotency_key'],
  columns: ['body'],
  id: 'charge',
  placeOf,
}

/** The statement that frees a key; it must be in the batch of the release. */
export function freeKey(chargeId: string): Statement {
  return {
    sql: 'delete from saved_answers where charge = $1',
    parameters: [chargeId],
    columns: { frees_key: true },
  }
}

/** The statement that deletes expired answers. */
export function forgetAnswers(now: number): Statement {
  return {
    sql: 'delete from saved_answers where created_at < $1 and status is not null',
    parameters: [now - KEEP_MS],
  }
}

/**
 * The answer for a claimed key: the saved one; throws the reason if no answer is saved. Undefined if the key has just been freed.
 */
export async function answerAgain(db: Db, key: IdempotencyKey): Promise<EarlierAnswer | undefined> {
  const [row] = await db.query({
    sql: 'select * from saved_answers where account = $1 and idempotency_key = $2',
    parameters: [key.account, key.value],
  })
  if (!row) return undefined
  if (row.request_hash !== key.requestHash) {
    throw new GatewayError(422, {
      code: 'idempotency_key_reused',
      type: 'idempotency_error',
      message: 'This Idempotency-Key was used for another request. Use a new key for a new request.',
    })
  }
  if (row.status === null) {
    throw new GatewayError(409, {
      code: 'idempotency_key_in_use',
      type: 'idempotency_error',
      message:
        'A request with this Idempotency-Key is still running. Try again when it has ended to get its answer.',
      headers: { 'retry-after': '1', 'x-should-retry': 'true' },
    })
  }
  if (row.body === null) {
    throw new GatewayError(409, {
      code: 'idempotency_answer_too_large',
      type: 'idempotency_error',
      message:
        'The request with this Idempotency-Key was answered and charged; its answer was too large to be stored.',
      headers: { 'x-should-retry': 'false' },
    })
  }
  const contentType = row.content_type as string
  const charge = row.charge as string
  const text = db.codec.decode(row.body as string, placeOf(charge))
  const body = contentType.startsWith('audio/') ? Buffer.from(text, 'base64') : text
  return { status: row.status as number, contentType, body, charge }
}
