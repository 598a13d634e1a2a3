// Spenders: users or programs that spend on behalf of a key, within limits of their own below those of the key. A token is a
// spender with a secret; only its SHA-256 is stored. It must never be able to do more than its key.

import type { SpenderLimits } from '../billing/ledger/limits'
import type { BudgetPeriod } from '../contract/budgets'
import { Conditions } from '../db/conditions'
import { apply, type Db, type Row, type Statement, tryApply } from '../db/db'
import { listOfColumn, listText } from '../db/json-column'

export interface Spender extends SpenderLimits {
  keyId: string
  /** Ids of the models of its key that it may use; null means all of them. */
  models: string[] | null
  /** The first and last characters of a token's secret; null for a spender without a token. */
  hint: string | null
  expiresAt: number | null
  /** When its secret expires, unless it is renewed; null or absent for the end of the token. */
  secretEndsAt?: number | null
  /** When a token was revoked; null while it is valid. */
  endedAt: number | null
  createdAt: number
}

/** A token to store, with the hash of its secret. */
export type NewToken = Omit<Spender, 'endedAt'> & { kind: 'browser' | 'mcp'; hash: string }

/** Maximum number of valid tokens per key. */
export const MAX_TOKENS = 10_000
const DAY_MS = 86_400_000
/** How long a token is listed after its end, in milliseconds. */
const LISTED_MS = DAY_MS
/** The SQL condition for spenders with a secret. Others are named by requests. */
const IS_TOKEN = `kind in ('browser', 'mcp')`
/** Maximum number of spenders of one name that a filter finds. */
const MAX_NAMESAKES = 500
/** Number of tokens that are deleted at once. */
const MAX_DELETED = 1_000

/** Stores a token. False if its key has too many, or was revoked meanwhile. */
export async function createToken(db: Db, token: NewToken): Promise<boolean> {
  return tryApply(db, [insertToken(token)])
}

/** The guarded statement that stores a token. */
export function insertToken(token: NewToken): Statement {
  return {
    sql: `insert into spenders (id, key_id, kind, name, hash, hint, models, requests_per_minute, budget, budget_period,
          expires_at, created_at)
        select cast($1 as text), cast($2 as text), cast($3 as text), cast($4 as text), cast($5 as text), cast($6 as text),
          cast($7 as text), cast($8 as bigint), cast($9 as bigint), cast($10 as text), cast($11 as bigint),
          cast($12 as bigint)
        where exists (select 1 from keys where id = $2 and revoked_at is null)
          and (select count(*) from spenders where key_id = $2 and ${IS_TOKEN} and ended_at is null
            and (expires_at is null or expires_at > $12)) < ${MAX_TOKENS}`,
    parameters: [
      token.id,
      token.keyId,
      token.kind,
      token.name,
      token.hash,
      token.hint,
      listText(token.models),
      token.requestsPerMinute,
      token.budgetNano,
      token.budgetPeriod,
      token.expiresAt,
      token.createdAt,
    ],
    guard: true,
  }
}

export async function findSpender(db: Db, id: string): Promise<Spender | undefined> {
  const [row] = await db.query({ sql: 'select * from spenders where id = $1', parameters: [id] })
  return row && spenderOfRow(row)
}

/** The token with a secret, or the spender with a name, by its hash. */
export async function findSpenderByHash(db: Db, hash: string): Promise<Spender | undefined> {
  const [row] = await db.query({ sql: 'select * from spenders where hash = $1', parameters: [hash] })
  return row && spenderOfRow(row)
}

/** Names of spenders by their ids; a token without a name has the first and last characters of its secret. */
export async function spenderNames(db: Db, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const places = ids.map((_, index) => `$${index + 1}`).join(', ')
  const rows = await db.query({
    sql: `select id, coalesce(name, hint) as name from spenders where id in (${places})`,
    parameters: ids,
  })
  return new Map(rows.flatMap(({ id, name }) => (name === null ? [] : [[id as string, name as string]])))
}

/** Ids of the spenders with a name, of all keys or of one; the text itself if it is the id of one. */
export async function spenderIds(db: Db, text: string, keyId?: string): Promise<string[]> {
  const named = new Conditions().where('name = ?', text).where('key_id = ?', keyId)
  const rows = await db.query({
    sql: `select id from spenders ${named.sql} order by id limit ${named.place(MAX_NAMESAKES)}`,
    parameters: named.parameters,
  })
  return [...rows.map(({ id }) => id as string), text]
}

/** Spenders, newest first, after one of them. */
export async function listSpenders(
  db: Db,
  {
    keyId,
    after,
    limit,
    onlyTokens = false,
  }: { keyId?: string | undefined; after?: string | undefined; limit: number; onlyTokens?: boolean },
): Promise<Spender[]> {
  const tokens = onlyTokens ? [IS_TOKEN] : []
  const list = new Conditions(...tokens).where('key_id = ?', keyId).where('id < ?', after)
  const rows = await db.query({
    sql: `select * from spenders ${list.sql} order by id desc limit ${list.place(limit)}`,
    parameters: list.parameters,
  })
  return rows.map(spenderOfRow)
}

/** Stores a spender that a request has named. No effect if it exists, or its key has created too many today. */
export async function createNamedSpender(
  db: Db,
  {
    id,
    keyId,
    kind,
    name,
    hash,
    createdAt,
  }: Pick<Spender, 'id' | 'keyId' | 'kind' | 'name' | 'createdAt'> & { hash: string },
  mostToday: number,
): Promise<void> {
  await apply(db, [
    // Locks the row of the key, so that requests at the same time are counted one after another.
    { sql: 'update keys set spenders = spenders where id = $1', parameters: [keyId] },
    {
      sql: `insert into spenders (id, key_id, kind, name, hash, created_at)
        select cast($1 as text), cast($2 as text), cast($3 as text), cast($4 as text), cast($5 as text), cast($6 as bigint)
        where (select count(*) from spenders where key_id = $2 and kind in ('user', 'tag') and created_at >= $7) < $8
        on conflict do nothing`,
      parameters: [id, keyId, kind, name, hash, createdAt, createdAt - (createdAt % DAY_MS), mostToday],
    },
  ])
}

/** The limits of a spender that an operator can set. */
export type SpenderSettings = Pick<Spender, 'models' | 'requestsPerMinute' | 'budgetNano' | 'budgetPeriod'>

export async function updateSpender(db: Db, id: string, settings: SpenderSettings): Promise<void> {
  const { models, requestsPerMinute, budgetNano, budgetPeriod } = settings
  await apply(db, [
    {
      sql: 'update spenders set models = $2, requests_per_minute = $3, budget = $4, budget_period = $5 where id = $1',
      parameters: [id, listText(models), requestsPerMinute, budgetNano, budgetPeriod],
    },
  ])
}

/** Deletes the identity of a spender, also for later requests with the same name. Its sums stay with its id. */
export async function forgetSpender(db: Db, id: string, now: number): Promise<void> {
  await apply(db, [
    {
      sql: `update spenders set name = null, hint = null, hash = 'forgotten ' || id, ended_at = coalesce(ended_at, $2)
        where id = $1`,
      parameters: [id, now],
    },
  ])
}

/** Revokes a token permanently. False if it was already revoked. */
export async function revokeToken(db: Db, id: string, now: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: `update spenders set ended_at = $2 where id = $1 and ended_at is null and ${IS_TOKEN}`,
      parameters: [id, now],
      guard: true,
    },
  ])
}

/** The statement that revokes all tokens of a key permanently. */
export function revokeTokensOf(keyId: string, now: number): Statement {
  return {
    sql: `update spenders set ended_at = $2 where key_id = $1 and ended_at is null and ${IS_TOKEN}`,
    parameters: [keyId, now],
  }
}

/** Statements that delete tokens whose end is long past, with their budgets. Their charges stay those of the key. */
export function forgetTokens(now: number): Statement[] {
  const past = `select id from spenders where expires_at < $1 order by expires_at limit ${MAX_DELETED}`
  const parameters = [now - LISTED_MS]
  return [
    { sql: `delete from budgets where key_id in (${past})`, parameters },
    { sql: `delete from spenders where id in (${past})`, parameters },
  ]
}

function spenderOfRow(row: Row): Spender {
  return {
    id: row.id as string,
    keyId: row.key_id as string,
    kind: row.kind as Spender['kind'],
    name: row.name as string | null,
    hint: row.hint as string | null,
    models: listOfColumn(row.models),
    requestsPerMinute: row.requests_per_minute as number | null,
    budgetNano: row.budget as number | null,
    budgetPeriod: row.budget_period as BudgetPeriod | null,
    expiresAt: row.expires_at as number | null,
    secretEndsAt: (row.secret_ends_at ?? null) as number | null,
    endedAt: row.ended_at as number | null,
    createdAt: row.created_at as number,
  }
}
