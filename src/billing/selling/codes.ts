// Prepaid codes: created by an operator, redeemed once by any holder of a key. Only the SHA-256 of a code is stored, and the code
// is shown once, when it is created. A code must never be credited twice, or be found by a part of it.

import { OneOf } from '../../api-operation/operation'
import { dollars, maybeText, text } from '../../api-operation/schemas'
import { viewOf } from '../../api-operation/view'
import { Conditions } from '../../db/conditions'
import { type Db, type Row, type Statement, tryApply } from '../../db/db'
import { isoTime } from '../../db/iso-time'
import { conflict, notFound } from '../../lib/errors'
import { formatUsd } from '../../lib/money'
import { addCredit } from '../ledger/ledger'

export type Code = ReturnType<typeof codeOfRow>

function codeOfRow(row: Row) {
  return {
    id: row.id as string,
    /** The last characters of the code, by which people recognise it. */
    hint: row.hint as string,
    amountNano: row.amount as number,
    note: row.note as string | null,
    createdAt: row.created_at as number,
    expiresAt: row.expires_at as number | null,
    revokedAt: row.revoked_at as number | null,
    redeemedAt: row.redeemed_at as number | null,
    /** The account that redeemed it. */
    redeemedBy: row.redeemed_by as string | null,
  }
}

export const CODE_STATES = ['open', 'redeemed', 'revoked', 'expired'] as const
type CodeStatus = (typeof CODE_STATES)[number]

/** Conditions for codes in each state, in addition to the time at which they expire. */
const IN_STATE: Record<CodeStatus, string> = {
  open: 'redeemed_at is null and revoked_at is null',
  redeemed: 'redeemed_at is not null',
  revoked: 'redeemed_at is null and revoked_at is not null',
  expired: 'redeemed_at is null and revoked_at is null',
}

/** Letters and digits that are not easily confused: Crockford's base 32. */
const CODE_DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** 100 random bits. */
const RANDOM_LENGTH = 20
const GROUP_LENGTH = 5
const CODE_FORM = new RegExp(`^[${CODE_DIGITS}]{${RANDOM_LENGTH + GROUP_LENGTH}}$`)
/**
 * Codes imported from One API and New API: a random UUID as 32 hexadecimal digits (`Key char(32)` of model/redemption.go, made by
 * GetUUID). Correcting typing errors changes none of their digits.
 */
const IMPORTED_FORM = /^[0-9A-F]{32}$/
const MINUTE_MS = 60_000

/** Maximum number of codes per request. */
export const MAX_NEW_CODES = 10_000

/** Attempts per minute, including wrong ones: of one key, and of all keys together. */
export const CODE_ATTEMPTS = { ofKey: 10, ofAll: 1_000 } as const

/** Makes a code of five groups, the last of them a checksum: a typing error is detected without a look-up. */
export function makeCode(randomBytes: (count: number) => Uint8Array): string {
  const digits = [...randomBytes(RANDOM_LENGTH)].map((byte) => CODE_DIGITS[byte % 32]).join('')
  return (digits + codeChecksum(digits)).replace(/.{5}(?=.)/g, '$&-')
}

/** A code in its original form, however it was typed (case, spaces and dashes); undefined if it was mistyped. */
function readCode(text: string): string | undefined {
  const typed = text.toUpperCase().replace(/[\s-]/g, '').replace(/O/g, '0').replace(/[IL]/g, '1')
  if (IMPORTED_FORM.test(typed)) return typed
  if (!CODE_FORM.test(typed)) return undefined
  return codeChecksum(typed.slice(0, RANDOM_LENGTH)) === typed.slice(RANDOM_LENGTH) ? typed : undefined
}

/** The last characters of a code. */
export function hintOfCode(code: string): string {
  return `…${code.slice(-GROUP_LENGTH)}`
}

/** The hash under which a code is stored; undefined if the text cannot be a code. */
export function hashCode(text: string): string | undefined {
  const code = readCode(text)
  return code && new Bun.CryptoHasher('sha256').update(code).digest('hex')
}

function statusOfCode(code: Code, now: number): CodeStatus {
  if (code.redeemedAt !== null) return 'redeemed'
  if (code.revokedAt !== null) return 'revoked'
  return code.expiresAt !== null && code.expiresAt <= now ? 'expired' : 'open'
}

/** A code to store, with its clear text. */
interface NewCode extends Pick<Code, 'id' | 'amountNano' | 'note' | 'createdAt' | 'expiresAt'> {
  code: string
}

/** Stores new codes, all of them or none. */
export async function createCodes(db: Db, codes: readonly NewCode[]): Promise<void> {
  const statements = codes.map(({ id, code, amountNano, note, createdAt, expiresAt }): Statement => {
    const hash = hashCode(code)
    if (hash === undefined)
      throw new Error('a code has neither the form of makeCode nor that of an imported one')
    return {
      sql: `insert into top_up_codes (id, hash, hint, amount, note, created_at, expires_at)
        values ($1, $2, $3, $4, $5, $6, $7)`,
      parameters: [id, hash, hintOfCode(code), amountNano, note, createdAt, expiresAt],
    }
  })
  await tryApply(db, statements)
}

interface CodeList {
  limit: number
  before?: { createdAt: number; id: string } | undefined
  /** Only those in this state now. */
  status?: CodeStatus | undefined
}

/** Codes, newest first, before one of them. */
export async function listCodes(db: Db, { limit, before, status }: CodeList, now: number): Promise<Code[]> {
  const list = new Conditions(...(status ? [IN_STATE[status]] : []))
    .where('(expires_at is null or expires_at > ?)', status === 'open' ? now : undefined)
    .where('expires_at <= ?', status === 'expired' ? now : undefined)
    .where('created_at <= ?', before?.createdAt)
  if (before) list.where(`(created_at < ${list.place(before.createdAt)} or id < ?)`, before.id)
  const rows = await db.query({
    sql: `select * from top_up_codes ${list.sql} order by created_at desc, id desc limit ${list.place(limit)}`,
    parameters: list.parameters,
  })
  return rows.map(codeOfRow)
}

/** All codes, newest first, page by page. */
export async function* codesByPage(
  db: Db,
  status: CodeStatus | undefined,
  now: number,
): AsyncGenerator<Code[]> {
  const limit = 5_000
  let before: Code | undefined
  for (;;) {
    const page = await listCodes(db, { limit, before, status }, now)
    yield page
    if (page.length < limit) return
    before = page.at(-1)
  }
}

/** A code by its id, or by the code itself. Rejects with 404. */
export async function requireCode(db: Db, idOrCode: string): Promise<Code> {
  const code = await findCode(db, idOrCode)
  if (!code) throw notFound('code', idOrCode)
  return code
}

/** Finds a code by its id, or by the code itself. */
async function findCode(db: Db, idOrCode: string): Promise<Code | undefined> {
  const rows = await db.query({
    sql: 'select * from top_up_codes where id = $1 or hash = $2',
    parameters: [idOrCode, hashCode(idOrCode) ?? ''],
  })
  return rows[0] && codeOfRow(rows[0])
}

/** Revokes a code permanently. False if it was already redeemed or revoked. */
export async function revokeCode(db: Db, id: string, now: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: 'update top_up_codes set revoked_at = $2 where id = $1 and revoked_at is null and redeemed_at is null',
      parameters: [id, now],
      guard: true,
    },
  ])
}

/** Revokes a code permanently. Rejects with 409 if it was already redeemed or revoked. */
export async function revokeOpenCode(db: Db, { id }: Pick<Code, 'id'>, now: number): Promise<Code> {
  const isRevoked = await revokeCode(db, id, now)
  const code = await requireCode(db, id)
  if (isRevoked) return code
  const by = code.redeemedBy === null ? '' : ` by account ${code.redeemedBy}`
  throw conflict('code_ended', `The code ${code.hint} was ${statusOfCode(code, now)} before${by}.`)
}

/** A code as operators see it: only its last characters. */
export const codeView = viewOf<{ code: Code; now: number }>()({
  id: [text, ({ code }) => code.id],
  hint: [text, ({ code }) => code.hint],
  status: [OneOf(CODE_STATES), ({ code, now }) => statusOfCode(code, now)],
  amount_usd: [dollars, ({ code }) => formatUsd(code.amountNano)],
  note: [maybeText, ({ code }) => code.note],
  created_at: [text, ({ code }) => isoTime(code.createdAt)],
  expires_at: [maybeText, ({ code }) => isoTime(code.expiresAt)],
  revoked_at: [maybeText, ({ code }) => isoTime(code.revokedAt)],
  redeemed_at: [maybeText, ({ code }) => isoTime(code.redeemedAt)],
  redeemed_by: [maybeText, ({ code }) => code.redeemedBy],
})

/** Counts an attempt of a key. False if there were too many in this minute, by the key or by all keys. */
export async function countCodeAttempt(db: Db, keyId: string, now: number): Promise<boolean> {
  const minute = Math.floor(now / MINUTE_MS)
  // The key is counted first: a refused key uses nothing of the limit of all keys.
  const limits = [
    [`code attempts of ${keyId}`, CODE_ATTEMPTS.ofKey],
    ['code attempts', CODE_ATTEMPTS.ofAll],
  ] as const
  return tryApply(
    db,
    limits.map(([name, most]) => ({
      sql: `insert into rate_windows (key_id, minute, requests, tokens) values ($1, $2, 1, 0)
        on conflict (key_id, minute) do update set requests = rate_windows.requests + 1 where rate_windows.requests < $3`,
      parameters: [name, minute, most],
      guard: true,
    })),
    { mayBeLate: true },
  )
}

type Redemption = { redeemed: Code } | { refusedBy: 'unknown' } | { refusedBy: CodeStatus; code: Code }

/**
 * Credits an account with a code, once across all accounts. The code and the entry in the ledger, which has its id, change together
 * or not at all. Throws a RangeError if the balance would be too large to be counted exactly.
 */
export async function redeemCode(
  db: Db,
  { text, account, keyId, now }: { text: string; account: string; keyId: string; now: number },
): Promise<Redemption> {
  const hash = hashCode(text)
  const code = hash === undefined ? undefined : await findCode(db, text)
  if (!code) return { refusedBy: 'unknown' }
  const status = statusOfCode(code, now)
  if (status !== 'open') return { refusedBy: status, code }
  const { id, amountNano } = code
  const note = `code ${code.hint}${code.note === null ? '' : `, ${code.note}`}`
  const isCredited = await addCredit(db, { id, kind: 'code', account, amountNano, now, note }, [
    {
      sql: `update top_up_codes set redeemed_at = $2, redeemed_by = $3, redeemed_by_key = $4
        where id = $1 and redeemed_at is null and revoked_at is null and (expires_at is null or expires_at > $2)`,
      parameters: [id, now, account, keyId],
      guard: true,
    },
  ])
  const after = (await findCode(db, id)) ?? code
  return isCredited ? { redeemed: after } : { refusedBy: statusOfCode(after, now), code: after }
}

function codeChecksum(digits: string): string {
  let rest = Bun.hash.crc32(digits)
  let result = ''
  for (let index = 0; index < GROUP_LENGTH; index++) {
    result = CODE_DIGITS[rest % 32] + result
    rest = Math.floor(rest / 32)
  }
  return result
}
