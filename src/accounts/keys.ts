// Keys: bearer tokens of accounts. Only the SHA-256 of a secret is stored, and the secret is shown once, when it is
// made. A key must never be looked up or compared by a part of its secret.

import { openAccount } from '../billing/ledger/ledger'
import type { KeyLimits } from '../billing/ledger/limits'
import type { Plan } from '../config/models/plans'
import type { BudgetPeriod } from '../contract/budgets'
import { Conditions } from '../db/conditions'
import { apply, type Db, type Row, type Statement, tryApply, type Value } from '../db/db'
import type { ErrorCode } from '../lib/error-codes'
import { GatewayError } from '../lib/errors'
import { webhookSecretPlace } from '../webhooks/secrets'
import { accountBudgetOfRow } from './accounts'
import { endSessionsOf, followSecret, SessionToken, useSession } from './sessions'

export interface Key extends KeyLimits {
  name: string
  account: string
  /** The first and last characters of the secret, for people to recognise it. */
  hint: string
  /** Ids of the models that the key may use; null means all. */
  models: string[] | null
  expiresAt: number | null
  revokedAt: number | null
  /** Since when it is refused until it is resumed. */
  pausedAt: number | null
  accountState: AccountState
  /** The name of the account's plan; null without one. */
  planName: string | null
  /** The plan as it is in force: only of a key that makes a request. Null without one, undefined where it is not configured. */
  plan?: Plan | null | undefined
  createdAt: number
}

/** A frozen account is refused until it is open again, a closed one permanently. */
type AccountState = 'open' | 'frozen' | 'closed'

/** The settings that an operator can set on a key. */
export type KeySettings = Pick<
  Key,
  | 'models'
  | 'requestsPerMinute'
  | 'tokensPerMinute'
  | 'concurrency'
  | 'budgetNano'
  | 'budgetPeriod'
  | 'expiresAt'
>

/** The settings of a key that may use all models, as much as its account pays for. */
export const unlimited: KeySettings = {
  models: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrency: null,
  budgetNano: null,
  budgetPeriod: null,
  expiresAt: null,
}

/** Longest age of a cached key, in milliseconds: every node refuses a revoked key within this time. */
const CACHE_MS = 500
const CACHE_ENTRIES = 10_000

const SECRET_LENGTH = 33 // base62 digits: 196 random bits
const CHECK_LENGTH = 6
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_FORM = new RegExp(`^sk-[0-9A-Za-z]{${SECRET_LENGTH + CHECK_LENGTH}}$`)

/**
 * Makes a secret: prefix, random digits, and a checksum by which scanners and the gateway detect typing errors without
 * a look-up.
 */
export function makeSecret(randomBytes: (count: number) => Uint8Array): string {
  let digits = ''
  while (digits.length < SECRET_LENGTH) {
    for (const byte of randomBytes(SECRET_LENGTH)) {
      // 248 = 4 * 62: larger bytes would make some digits more likely than others.
      if (byte < 248 && digits.length < SECRET_LENGTH) digits += DIGITS[byte % 62]
    }
  }
  return `sk-${digits}${checksum(digits)}`
}

export function isSecret(text: string): boolean {
  return (
    SECRET_FORM.test(text) && checksum(text.slice(3, 3 + SECRET_LENGTH)) === text.slice(3 + SECRET_LENGTH)
  )
}

/**
 * Secrets that keys of other gateways were imported with: so many characters that nobody finds one by trying.
 */
const IMPORTED_FORM = /^sk-[\w.-]{17,253}$/

/** Whether a text can be the secret of a key that was imported. */
export function isImportableSecret(text: string): boolean {
  return IMPORTED_FORM.test(text)
}

export function hashSecret(secret: string): string {
  return new Bun.CryptoHasher('sha256').update(secret).digest('hex')
}

/** An Authorization header, or the session of the console that a page asks with. */
export type Authorization = string | SessionToken | null

export interface Authenticator {
  /** The key in an Authorization header. Throws or rejects with 401, and with 403 for a key that rests. */
  authenticate(authorization: Authorization): Key | Promise<Key>
  /** The key whose id it is. Rejects with 401 and 403 as `authenticate` does. */
  authenticateOwner(id: string): Promise<Key>
  /** The key in an Authorization header, also one that rests: it may see why. Throws or rejects with 401. */
  identify(authorization: Authorization): Key | Promise<Key>
}

/** Creates the look-up of keys, with a short-lived cache in front of the database. */
export function createAuthenticator(
  db: Db,
  {
    now,
    monotonic,
    plan = () => undefined,
  }: { now: () => number; monotonic: () => number; plan?: (name: string) => Plan | undefined },
): Authenticator {
  const isImported = importsOf(db, monotonic)
  // Keyed by the whole header, never by a part of the secret. It holds nothing that the requests do not hold.
  const cache = new Map<string, { key: Key; readAt: number }>()
  /** Keys that are being read: of all requests that wait for one, the first asks. */
  const reading = new Map<string, Promise<Key>>()

  function find(authorization: string | null): Promise<Key> {
    const header = authorization ?? ''
    const begun = reading.get(header)
    if (begun) return begun
    const read = readKey(authorization).finally(() => reading.delete(header))
    reading.set(header, read)
    return read
  }

  async function readKey(authorization: string | null): Promise<Key> {
    const secret = secretOf(authorization)
    // Both are looked up in the same way: by the hash of the whole. A wrong one costs no look-up: secrets of this gateway have
    // check digits, and of foreign ones the hashes are known.
    if (!isSecret(secret) && !(isImportableSecret(secret) && (await isImported(hashSecret(secret))))) {
      throw unauthorized('Incorrect API key: this is not a key of this gateway, or it was mistyped.')
    }
    const readAt = monotonic()
    const rows = await db.query({
      sql: `${SELECT_KEYS} where hash = $1`,
      parameters: [hashSecret(secret)],
    })
    if (!rows[0]) throw unauthorized('Incorrect API key.')
    const key = withPlan(keyOfRow(rows[0]), plan)
    if (cache.size >= CACHE_ENTRIES) cache.clear()
    cache.set(authorization ?? '', { key, readAt })
    return assertValid(key, now())
  }

  async function findBySession(token: SessionToken): Promise<Key> {
    const session = await useSession(db, token, 'key', now())
    if (!session) throw sessionEnded()
    return findById(session.subject)
  }

  async function findById(id: string): Promise<Key> {
    const key = await findKey(db, id)
    if (!key) throw sessionEnded()
    return assertValid(withPlan(key, plan), now())
  }

  function identify(authorization: Authorization): Key | Promise<Key> {
    if (authorization instanceof SessionToken) return findBySession(authorization)
    const cached = cache.get(authorization ?? '')
    if (cached && monotonic() - cached.readAt < CACHE_MS) return assertValid(cached.key, now())
    return find(authorization)
  }

  return {
    identify,
    authenticateOwner: async (id) => assertAwake(await findById(id)),
    authenticate(authorization) {
      const key = identify(authorization)
      return key instanceof Promise ? key.then(assertAwake) : assertAwake(key)
    },
  }
}

/** How often it is looked whether more keys have been imported, in milliseconds. */
const IMPORTS_MS = 10_000

/** Tells whether a hash is that of an imported key. However many are asked for, the database is asked rarely. */
function importsOf(db: Db, monotonic: () => number): (hash: string) => Promise<boolean> {
  let hashes = new Set<string>()
  let lookedAt = Number.NEGATIVE_INFINITY
  let looking: Promise<void> | undefined
  async function look(): Promise<void> {
    const [row] = await db.query({ sql: 'select count(*) as count from keys where imported = 1' })
    if (row?.count !== hashes.size) {
      const rows = await db.query({ sql: 'select hash from keys where imported = 1' })
      hashes = new Set(rows.map(({ hash }) => hash as string))
    }
    lookedAt = monotonic()
  }
  return async (hash) => {
    if (hashes.has(hash)) return true
    if (monotonic() - lookedAt < IMPORTS_MS) return false
    looking ??= look().finally(() => {
      looking = undefined
    })
    await looking
    return hashes.has(hash)
  }
}

/** Throws 403 for a key that is paused, or whose account is frozen or closed. */
export function assertAwake(key: Key): Key {
  if (key.accountState === 'closed')
    throw resting('account_closed', 'The account of this key is closed. Use a key of another account.')
  if (key.accountState === 'frozen')
    throw resting(
      'account_frozen',
      'The account of this key is frozen by the operator of this gateway. Ask them why; a repeat does not help until then.',
    )
  if (key.planName !== null && !key.plan)
    throw resting(
      'plan_missing',
      'The account of this key has a plan that is not configured. The operator of this gateway must configure it, or give the account another.',
    )
  if (key.pausedAt !== null)
    throw resting(
      'key_paused',
      'This API key is paused by the operator of this gateway. Use another key, or ask them to resume it.',
    )
  return key
}

function resting(code: ErrorCode, message: string): GatewayError {
  return new GatewayError(403, { code, message })
}

function secretOf(authorization: string | null): string {
  if (!authorization) throw unauthorized('No API key: send the header `Authorization: Bearer <API_KEY>`.')
  const secret = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
  if (!secret) throw unauthorized('The Authorization header must read `Bearer <API_KEY>`.')
  return secret
}

function assertValid(key: Key, now: number): Key {
  if (key.revokedAt !== null) throw unauthorized('This API key has been revoked.')
  if (key.expiresAt !== null && key.expiresAt <= now) throw unauthorized('This API key has expired.')
  return key
}

export function mayUse({ models, plan }: Key, modelId: string): boolean {
  return (models === null || models.includes(modelId)) && (plan?.mayUse(modelId) ?? true)
}

/** The key with what its account's plan allows: of each limit the lower one, and the budget that the account has itself. */
function withPlan(key: Key, planNamed: (name: string) => Plan | undefined): Key {
  const plan = key.planName === null ? null : planNamed(key.planName)
  if (!plan) return { ...key, plan }
  return {
    ...key,
    plan,
    requestsPerMinute: lower(key.requestsPerMinute, plan.requestsPerMinute),
    tokensPerMinute: lower(key.tokensPerMinute, plan.tokensPerMinute),
    concurrency: lower(key.concurrency, plan.concurrency),
    accountBudget: key.accountBudget ?? plan.budget,
  }
}

function lower(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other)
}

/** A key to be stored, with its secrets. */
export interface NewKey extends Pick<Key, 'id' | 'name' | 'account' | 'createdAt'> {
  secret: string
  /** Signs the webhooks of its tasks. */
  webhookSecret: string
}

/** Stores a new key and makes sure that its account exists. False if the name is taken. */
export async function createKey(db: Db, key: NewKey & KeySettings): Promise<boolean> {
  const hashed = { hash: hashSecret(key.secret), hint: hintOf(key.secret), isImported: false, pausedAt: null }
  return tryApply(db, insertKey(db, { ...key, ...hashed }))
}

/** Stores a key of another gateway by the hash of its secret. False if its name or its secret is known. */
export async function importKey(db: Db, key: HashedKey & KeySettings): Promise<boolean> {
  return tryApply(db, insertKey(db, { ...key, isImported: true }))
}

/** A new key of which only the SHA-256 of its secret is known, in hexadecimal. */
interface HashedKey extends Pick<Key, 'id' | 'name' | 'account' | 'hint' | 'pausedAt' | 'createdAt'> {
  hash: string
  webhookSecret: string
}

function insertKey(db: Db, key: HashedKey & KeySettings & { isImported: boolean }): Statement[] {
  return [
    {
      sql: `insert into keys (id, name, account, hash, hint, models, requests_per_minute, tokens_per_minute, concurrency,
          budget, budget_period, expires_at, created_at, webhook_secret, paused_at, imported)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) on conflict do nothing`,
      parameters: [
        key.id,
        key.name,
        key.account,
        key.hash,
        key.hint,
        ...settingValues(key),
        key.createdAt,
        db.codec.encode(key.webhookSecret, webhookSecretPlace(key.id)),
        key.pausedAt,
        key.isImported ? 1 : null,
      ],
      guard: true,
    },
    openAccount(key.account, key.createdAt),
  ]
}

const SELECT_KEYS = `select keys.*, frozen_at, closed_at, plan, account_budget, account_budget_period from keys
  left join account_details on account_details.name = keys.account`

export async function listKeys(db: Db): Promise<Key[]> {
  return (await db.query({ sql: `${SELECT_KEYS} order by keys.created_at, keys.name` })).map(keyOfRow)
}

/** The names of keys by their ids: of some, or of all. */
export async function keyNames(db: Db, ids?: readonly string[]): Promise<Map<string, string>> {
  const places = ids?.map((_, index) => `$${index + 1}`).join(', ')
  const rows =
    places === ''
      ? []
      : await db.query({
          sql: `select id, name from keys ${places === undefined ? '' : `where id in (${places})`}`,
          parameters: ids ?? [],
        })
  return new Map(rows.map(({ id, name }) => [id as string, name as string]))
}

/** Keys, newest first, after one of them. */
export async function listKeysAfter(
  db: Db,
  { after, account, limit }: { after?: string | undefined; account?: string | undefined; limit: number },
): Promise<Key[]> {
  const list = new Conditions().where('keys.id < ?', after).where('keys.account = ?', account)
  const rows = await db.query({
    sql: `${SELECT_KEYS} ${list.sql} order by keys.id desc limit ${list.place(limit)}`,
    parameters: list.parameters,
  })
  return rows.map(keyOfRow)
}

/** Finds a key by its name or its id. */
export async function findKey(db: Db, nameOrId: string): Promise<Key | undefined> {
  const rows = await db.query({
    sql: `${SELECT_KEYS} where keys.name = $1 or keys.id = $1`,
    parameters: [nameOrId],
  })
  return rows[0] && keyOfRow(rows[0])
}

export async function updateKey(db: Db, id: string, settings: KeySettings): Promise<void> {
  await apply(db, [
    {
      sql: `update keys set models = $2, requests_per_minute = $3, tokens_per_minute = $4, concurrency = $5, budget = $6,
        budget_period = $7, expires_at = $8 where id = $1`,
      parameters: [id, ...settingValues(settings)],
    },
  ])
}

/**
 * Replaces the secret of a key; the old one is refused from then on, and so are sessions that were made with it, except for
 * the one that asks for this. False if the key is revoked.
 */
export async function rollKey(db: Db, id: string, secret: string, asking?: SessionToken): Promise<boolean> {
  const hash = hashSecret(secret)
  return tryApply(db, [
    {
      sql: 'update keys set hash = $2, hint = $3 where id = $1 and revoked_at is null',
      parameters: [id, hash, hintOf(secret)],
      guard: true,
    },
    ...(asking ? [followSecret(asking, hash)] : []),
  ])
}

/** Refuses a key permanently. False if it was revoked before. */
export async function revokeKey(db: Db, id: string, now: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: 'update keys set revoked_at = $2 where id = $1 and revoked_at is null',
      parameters: [id, now],
      guard: true,
    },
    endSessionsOf({ kind: 'key', subject: id }, now),
  ])
}

/** Refuses a key until it is resumed. False if it is paused or revoked. */
export async function pauseKey(db: Db, id: string, now: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: 'update keys set paused_at = $2 where id = $1 and paused_at is null and revoked_at is null',
      parameters: [id, now],
      guard: true,
    },
    endSessionsOf({ kind: 'key', subject: id }, now),
  ])
}

/** Takes a paused key again. False if it is not paused. */
export async function resumeKey(db: Db, id: string): Promise<boolean> {
  return tryApply(db, [
    {
      sql: 'update keys set paused_at = null where id = $1 and paused_at is not null',
      parameters: [id],
      guard: true,
    },
  ])
}

function settingValues(settings: KeySettings): Value[] {
  return [
    settings.models && JSON.stringify(settings.models),
    settings.requestsPerMinute,
    settings.tokensPerMinute,
    settings.concurrency,
    settings.budgetNano,
    settings.budgetPeriod,
    settings.expiresAt,
  ]
}

export function hintOf(secret: string): string {
  return `${secret.slice(0, 6)}…${secret.slice(-4)}`
}

function keyOfRow(row: Row): Key {
  return {
    id: row.id as string,
    name: row.name as string,
    account: row.account as string,
    hint: row.hint as string,
    models: row.models === null ? null : JSON.parse(row.models as string),
    requestsPerMinute: row.requests_per_minute as number | null,
    tokensPerMinute: row.tokens_per_minute as number | null,
    concurrency: row.concurrency as number | null,
    budgetNano: row.budget as number | null,
    budgetPeriod: row.budget_period as BudgetPeriod | null,
    expiresAt: row.expires_at as number | null,
    revokedAt: row.revoked_at as number | null,
    pausedAt: row.paused_at as number | null,
    accountState: row.closed_at !== null ? 'closed' : row.frozen_at !== null ? 'frozen' : 'open',
    planName: row.plan as string | null,
    accountBudget: accountBudgetOfRow(row),
    createdAt: row.created_at as number,
  }
}

/** 401: no key of this gateway is in the request. */
export function unauthorized(message: string): GatewayError {
  return new GatewayError(401, {
    code: 'invalid_api_key',
    type: 'invalid_request_error',
    message,
    headers: { 'www-authenticate': 'Bearer' },
  })
}

/** The error of a session that is over. */
export function sessionEnded(): GatewayError {
  return new GatewayError(401, {
    code: 'session_ended',
    type: 'invalid_request_error',
    message: 'This session of the console has ended. Sign in again.',
  })
}

function checksum(digits: string): string {
  let rest = Bun.hash.crc32(digits)
  let result = ''
  for (let index = 0; index < CHECK_LENGTH; index++) {
    result = DIGITS[rest % 62] + result
    rest = Math.floor(rest / 62)
  }
  return result
}
