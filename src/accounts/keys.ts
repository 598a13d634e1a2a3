// Keys: bearer tokens of accounts. Only the SHA-256 of a secret is stored, and the secret is shown once, when it is created. A key
// must never be looked up or compared by a part of its secret.

import { openAccount } from '../billing/ledger/ledger'
import type { Plan } from '../config/models/plans'
import type { CacheRule } from '../config/models/response-cache'
import type { BudgetPeriod } from '../contract/budgets'
import { Conditions } from '../db/conditions'
import { apply, type Db, type Row, type Statement, tryApply, type Value } from '../db/db'
import { jsonOfColumn, listOfColumn, listText } from '../db/json-column'
import { asObject, isObject } from '../lib/objects'
import { webhookSecretPlace } from '../webhooks/secrets'
import { accountBudgetOfRow, accountStatusOf } from './accounts'
import { endSessionsOf, followSecret, type SessionToken } from './sessions'
import { UNREADABLE_RULE } from './spender-rule'
import { revokeTokensOf, type Spender } from './spenders'

export interface Key extends ReturnType<typeof keyOfRow> {
  /** The effective plan: only for a key that makes a request. Null without a plan, undefined if the plan is not configured. */
  plan?: Plan | null | undefined
  /** The token that acts for it, or the user that a request names; absent for its holder. */
  spender?: Spender | null
}

function keyOfRow(row: Row) {
  return {
    id: row.id as string,
    name: row.name as string,
    account: row.account as string,
    /** The first and last characters of the secret, by which people recognise it. */
    hint: row.hint as string,
    /** Ids of the models that the key may use; null means all. */
    models: listOfColumn(row.models),
    /** Networks (CIDR) from which the key may be used; null means anywhere. */
    addresses: listOfColumn(row.addresses),
    requestsPerMinute: row.requests_per_minute as number | null,
    tokensPerMinute: row.tokens_per_minute as number | null,
    concurrency: row.concurrency as number | null,
    budgetNano: row.budget as number | null,
    budgetPeriod: row.budget_period as BudgetPeriod | null,
    /** How its requests name their spenders; null if they name none. */
    spenders: jsonOfColumn(row.spenders, UNREADABLE_RULE, (rule) => Array.isArray(asObject(rule).from)),
    /** How its answers are cached, overriding its plan and the model; false disables caching, null leaves it to them. */
    cache: jsonOfColumn<CacheRule>(row.cache, false, (rule) => rule === false || isObject(rule)),
    expiresAt: row.expires_at as number | null,
    revokedAt: row.revoked_at as number | null,
    /** Since when it is paused. */
    pausedAt: row.paused_at as number | null,
    accountState: accountStatusOf({
      frozenAt: row.frozen_at as number | null,
      closedAt: row.closed_at as number | null,
    }),
    /** The name of the account's plan; null if it has no plan. */
    planName: row.plan as string | null,
    accountBudget: accountBudgetOfRow(row),
    createdAt: row.created_at as number,
  }
}

/** The settings that an operator can set on a key. */
export type KeySettings = Pick<
  Key,
  | 'models'
  | 'addresses'
  | 'requestsPerMinute'
  | 'tokensPerMinute'
  | 'concurrency'
  | 'budgetNano'
  | 'budgetPeriod'
  | 'expiresAt'
  | 'spenders'
  | 'cache'
>

/** The settings of a key that may use all models from anywhere, up to the balance of its account. */
export const unlimited: KeySettings = {
  models: null,
  addresses: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrency: null,
  budgetNano: null,
  budgetPeriod: null,
  expiresAt: null,
  spenders: null,
  cache: null,
}

const SECRET_LENGTH = 33 // base62 digits: 196 random bits
const CHECK_LENGTH = 6
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_FORM = new RegExp(`^(sk-|sk-tok-)([0-9A-Za-z]{${SECRET_LENGTH}})([0-9A-Za-z]{${CHECK_LENGTH}})$`)
const KEY_PREFIX = 'sk-'
/** The prefix of tokens that act for a key. */
const TOKEN_PREFIX = 'sk-tok-'

/**
 * Creates a secret: prefix, random digits, and a checksum by which scanners and the gateway detect typing errors without a look-up.
 */
export function makeSecret(randomBytes: RandomBytes): string {
  return secretAfter(KEY_PREFIX, randomBytes)
}

/** Creates the secret of a token, which cannot be confused with that of a key. */
export function makeTokenSecret(randomBytes: RandomBytes): string {
  return secretAfter(TOKEN_PREFIX, randomBytes)
}

type RandomBytes = (count: number) => Uint8Array

function secretAfter(prefix: string, randomBytes: RandomBytes): string {
  let digits = ''
  while (digits.length < SECRET_LENGTH) {
    for (const byte of randomBytes(SECRET_LENGTH)) {
      // 248 = 4 * 62: larger bytes would make some digits more likely than others.
      if (byte < 248 && digits.length < SECRET_LENGTH) digits += DIGITS[byte % 62]
    }
  }
  return `${prefix}${digits}${checksum(digits)}`
}

export function isSecret(text: string): boolean {
  return prefixOf(text) === KEY_PREFIX
}

export function isTokenSecret(text: string): boolean {
  return prefixOf(text) === TOKEN_PREFIX
}

/** The prefix of a secret of this gateway; undefined for any other text. */
function prefixOf(text: string): string | undefined {
  const [, prefix, digits = '', check] = SECRET_FORM.exec(text) ?? []
  return checksum(digits) === check ? prefix : undefined
}

/**
 * Secrets of keys imported from other gateways: long enough that nobody can guess one.
 */
const IMPORTED_FORM = /^sk-[\w.-]{17,253}$/

/**
 * The secret of an imported key that a caller may have sent; undefined for text of another form. One API and New API accept
 * their keys with and without `sk-` (middleware/auth.go trims that prefix), so a bare key gets it back.
 */
export function importedSecretOf(text: string): string | undefined {
  const secret = text.startsWith('sk-') ? text : `sk-${text}`
  return IMPORTED_FORM.test(secret) ? secret : undefined
}

export function hashSecret(secret: string): string {
  return new Bun.CryptoHasher('sha256').update(secret).digest('hex')
}

export function mayUse({ models, plan }: Key, modelId: string): boolean {
  return (models === null || models.includes(modelId)) && (plan?.mayUse(modelId) ?? true)
}

/** Whether a token acts for a key, of a web page or of a program: it must see nothing that others did with the key. */
export function isToken({ spender }: Pick<Key, 'spender'>): boolean {
  return spender?.kind === 'browser' || spender?.kind === 'mcp'
}

/** A key to store, with its secrets. */
export interface NewKey extends Pick<Key, 'id' | 'name' | 'account' | 'createdAt'> {
  secret: string
  /** Signs the webhooks of its tasks. */
  webhookSecret: string
}

/**
 * Stores a new key and makes sure that its account exists. False if the name is taken, or a guard of `first` is missed: those
 * statements are executed with it or not at all.
 */
export async function createKey(
  db: Db,
  key: NewKey & KeySettings,
  first: readonly Statement[] = [],
): Promise<boolean> {
  const hashed = { hash: hashSecret(key.secret), hint: hintOf(key.secret), isImported: false, pausedAt: null }
  return tryApply(db, [...first, ...insertKey(db, { ...key, ...hashed })])
}

/** Stores a key of another gateway by the hash of its secret. False if its name or its secret is known. */
export async function importKey(db: Db, key: HashedKey & KeySettings): Promise<boolean> {
  return tryApply(db, insertKey(db, { ...key, isImported: true }))
}

/** A new key whose secret is known only as its SHA-256, in hexadecimal. */
interface HashedKey extends Pick<Key, 'id' | 'name' | 'account' | 'hint' | 'pausedAt' | 'createdAt'> {
  hash: string
  webhookSecret: string
}

function insertKey(db: Db, key: HashedKey & KeySettings & { isImported: boolean }): Statement[] {
  return [
    {
      sql: `insert into keys (id, name, account, hash, hint, models, addresses, requests_per_minute, tokens_per_minute,
          concurrency, budget, budget_period, expires_at, spenders, cache, created_at, webhook_secret, paused_at, imported)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19) on conflict do nothing`,
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

/** How many unrevoked keys each of these accounts has. */
export async function countKeys(db: Db, accounts: readonly string[]): Promise<Map<string, number>> {
  if (accounts.length === 0) return new Map()
  const places = accounts.map((_, index) => `$${index + 1}`).join(', ')
  const rows = await db.query({
    sql: `select account, count(*) as keys from keys where revoked_at is null and account in (${places}) group by account`,
    parameters: accounts,
  })
  return new Map(rows.map((row) => [row.account as string, Number(row.keys)]))
}

/** A key by its name or its id. */
export async function findKey(db: Db, nameOrId: string): Promise<Key | undefined> {
  const rows = await db.query({
    sql: `${SELECT_KEYS} where keys.name = $1 or keys.id = $1`,
    parameters: [nameOrId],
  })
  return rows[0] && keyOfRow(rows[0])
}

/** Finds a key by the hash of its secret. */
export async function findKeyByHash(db: Db, hash: string): Promise<Key | undefined> {
  const rows = await db.query({ sql: `${SELECT_KEYS} where hash = $1`, parameters: [hash] })
  return rows[0] && keyOfRow(rows[0])
}

export async function updateKey(db: Db, id: string, settings: KeySettings): Promise<void> {
  await apply(db, [
    {
      sql: `update keys set models = $2, addresses = $3, requests_per_minute = $4, tokens_per_minute = $5, concurrency = $6,
        budget = $7, budget_period = $8, expires_at = $9, spenders = $10, cache = $11 where id = $1`,
      parameters: [id, ...settingValues(settings)],
    },
  ])
}

/**
 * Replaces the secret of a key; the old one is refused from then on, and so are tokens and sessions made with it, except for the
 * calling session. False if the key is revoked.
 */
export async function rollKey(
  db: Db,
  id: string,
  secret: string,
  now: number,
  asking?: SessionToken,
): Promise<boolean> {
  const hash = hashSecret(secret)
  return tryApply(db, [
    {
      sql: 'update keys set hash = $2, hint = $3 where id = $1 and revoked_at is null',
      parameters: [id, hash, hintOf(secret)],
      guard: true,
    },
    revokeTokensOf(id, now),
    ...(asking ? [followSecret(asking, hash)] : []),
  ])
}

/** Revokes a key permanently. False if it was already revoked. */
export async function revokeKey(db: Db, id: string, now: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: 'update keys set revoked_at = $2 where id = $1 and revoked_at is null',
      parameters: [id, now],
      guard: true,
    },
    endSessionsOf({ kind: 'key', subject: id }, now),
    revokeTokensOf(id, now),
  ])
}

/** Pauses a key until it is resumed. False if it is paused or revoked. */
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

/** Resumes a paused key. False if it is not paused. */
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
    listText(settings.models),
    listText(settings.addresses),
    settings.requestsPerMinute,
    settings.tokensPerMinute,
    settings.concurrency,
    settings.budgetNano,
    settings.budgetPeriod,
    settings.expiresAt,
    settings.spenders && JSON.stringify(settings.spenders),
    settings.cache === null ? null : JSON.stringify(settings.cache),
  ]
}

export function hintOf(secret: string): string {
  return `${secret.slice(0, 6)}…${secret.slice(-4)}`
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
