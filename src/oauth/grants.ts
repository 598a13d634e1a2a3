// Grants: the access that the holder of a key allows a program. A grant is a token of the key, of the kind `mcp`, with its own
// budget and expiry; its secret is issued for a code and replaced with each refresh. A code works once, and so does each refresh
// token: a used one that is presented again was stolen, so the grant ends.

import type { Key } from '../accounts/keys'
import { hashSecret, hintOf, isTokenSecret, makeTokenSecret } from '../accounts/keys'
import { insertToken } from '../accounts/spenders'
import { draftToken } from '../accounts/tokens'
import { type Db, type Row, type Statement, tryApply } from '../db/db'
import type { AuthorizationRequest } from './authorization'
import { OAuthError } from './error'
import { SCOPE } from './metadata'

export interface GrantSource {
  now(): number
  newId(prefix: string): string
  randomBytes(count: number): Uint8Array
}

type Grant = ReturnType<typeof grantOfRow>

function grantOfRow(row: Row) {
  return {
    id: row.id as string,
    clientId: row.client_id as string,
    spenderId: row.spender_id as string,
    redirectUri: row.redirect_uri as string,
    challenge: row.challenge as string,
    codeEndsAt: row.code_ends_at as number,
    codeUsedAt: row.code_used_at as number | null,
    refreshHash: row.refresh_hash as string | null,
    endsAt: row.ends_at as number,
  }
}

const CODE_MS = 60_000
/** Lifetime of a secret before it is refreshed, in milliseconds. */
const SECRET_MS = 3_600_000
const REFRESH_FORM = /^rt-([\w-]{43})\.([\w-]{43})$/
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

/** The answer to a code or a refresh token. */
export interface IssuedTokens {
  access_token: string
  token_type: 'Bearer'
  expires_in: number
  refresh_token: string
  scope: string
}

/** Stores a grant, and returns the code for the program. `db` writes the audit trail. False if the key has too many. */
export async function createGrant(
  db: Db,
  source: GrantSource,
  key: Key,
  { client, redirectUri, challenge, budgetNano, endsAt }: Omit<AuthorizationRequest, 'state'> & Limits,
): Promise<string | undefined> {
  const now = source.now()
  const code = randomText(source)
  // Nobody knows the first secret: the code is exchanged for the next one.
  const token = draftToken(source, key, {
    kind: 'mcp',
    name: client.name,
    models: null,
    requestsPerMinute: null,
    budgetNano,
    budgetPeriod: null,
    expiresAt: endsAt,
  })
  const isStored = await tryApply(db, [
    insertToken(token),
    {
      sql: `insert into oauth_grants (id, client_id, spender_id, redirect_uri, challenge, code_hash, code_ends_at, ends_at, created_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      parameters: [
        source.newId('gra'),
        client.id,
        token.id,
        redirectUri,
        challenge,
        hashSecret(code),
        now + CODE_MS,
        endsAt,
        now,
      ],
    },
  ])
  return isStored ? code : undefined
}

export interface Limits {
  budgetNano: number
  endsAt: number
}

/** Why a grant ends, for the audit trail. */
export type GrantEnd = 'code_used_twice' | 'refresh_token_used_twice' | 'revoked_by_program'
export type EndGrant = (spenderId: string, why: GrantEnd) => Promise<void>

interface CodeRequest {
  code: string
  clientId: string
  redirectUri: string
  verifier: string
}

/** Issues tokens for a code, once. Rejects with `OAuthError`. */
export async function exchangeCode(
  db: Db,
  source: GrantSource,
  { code, clientId, redirectUri, verifier }: CodeRequest,
  end: EndGrant,
): Promise<IssuedTokens> {
  const grant = await findGrant(db, 'code_hash = $1', hashSecret(code))
  // Another program may present the same secret, and must not end the grant of the real one.
  if (!grant || grant.clientId !== clientId) throw notValid('code')
  if (grant.codeUsedAt !== null) {
    await end(grant.spenderId, 'code_used_twice')
    throw notValid('code')
  }
  const now = source.now()
  const isProven = VERIFIER.test(verifier) && challengeOf(verifier) === grant.challenge
  if (grant.codeEndsAt <= now || grant.redirectUri !== redirectUri || !isProven) throw notValid('code')
  const next = nextSecrets(source, randomText(source), grant, now)
  const isFirst = await tryApply(db, [
    {
      sql: `update oauth_grants set code_used_at = $2, family_hash = $3, refresh_hash = $4
        where id = $1 and code_used_at is null`,
      parameters: [grant.id, now, next.familyHash, next.refreshHash],
      guard: true,
    },
    next.replaceSecret,
  ])
  if (!isFirst) throw notValid('code')
  return next.issued
}

/** Issues new tokens for a refresh token, which is consumed. Rejects with `OAuthError`. */
export async function refreshTokens(
  db: Db,
  source: GrantSource,
  { refreshToken, clientId }: { refreshToken: string; clientId: string },
  end: EndGrant,
): Promise<IssuedTokens> {
  const [, family = '', part = ''] = REFRESH_FORM.exec(refreshToken) ?? []
  const grant = await findGrant(db, 'family_hash = $1', hashSecret(family))
  if (!grant || grant.clientId !== clientId) throw notValid('refresh_token')
  const usedHash = hashSecret(part)
  if (grant.refreshHash !== usedHash) {
    await end(grant.spenderId, 'refresh_token_used_twice')
    throw notValid('refresh_token')
  }
  const next = nextSecrets(source, family, grant, source.now())
  const isFirst = await tryApply(db, [
    {
      sql: 'update oauth_grants set refresh_hash = $2 where id = $1 and refresh_hash = $3',
      parameters: [grant.id, next.refreshHash, usedHash],
      guard: true,
    },
    next.replaceSecret,
  ])
  if (!isFirst) throw notValid('refresh_token')
  return next.issued
}

/** Ends the grant of an access or a refresh token (RFC 7009). An unknown token, or one of another program, changes nothing. */
export async function revokeGrant(
  db: Db,
  { token, clientId }: { token: string; clientId: string },
  end: EndGrant,
): Promise<void> {
  const [, family] = REFRESH_FORM.exec(token) ?? []
  const grant =
    family !== undefined
      ? await findGrant(db, 'family_hash = $1', hashSecret(family))
      : isTokenSecret(token)
        ? await findGrant(db, 'spender_id = (select id from spenders where hash = $1)', hashSecret(token))
        : undefined
  if (grant?.clientId === clientId) await end(grant.spenderId, 'revoked_by_program')
}

/** Statements that delete ended grants, and end those whose code nobody has used. */
export function forgetGrants(now: number): Statement[] {
  const parameters = [now]
  const unused = 'code_used_at is null and code_ends_at < $1'
  return [
    {
      sql: `update spenders set ended_at = $1 where ended_at is null
        and id in (select spender_id from oauth_grants where ${unused})`,
      parameters,
    },
    {
      sql: `delete from oauth_grants where ends_at < $1 or (${unused})
      or not exists (select 1 from spenders where spenders.id = oauth_grants.spender_id and ended_at is null)`,
      parameters,
    },
  ]
}

/** New secrets of a grant, with the statement that replaces the previous access token. */
function nextSecrets(source: GrantSource, family: string, grant: Grant, now: number) {
  const secret = makeTokenSecret(source.randomBytes)
  const part = randomText(source)
  const secretEndsAt = Math.min(now + SECRET_MS, grant.endsAt)
  const replaceSecret: Statement = {
    sql: `update spenders set hash = $2, hint = $3, secret_ends_at = $4
      where id = $1 and ended_at is null and expires_at > $5`,
    parameters: [grant.spenderId, hashSecret(secret), hintOf(secret), secretEndsAt, now],
    guard: true,
  }
  const issued: IssuedTokens = {
    access_token: secret,
    token_type: 'Bearer',
    expires_in: Math.max(1, Math.floor((secretEndsAt - now) / 1_000)),
    refresh_token: `rt-${family}.${part}`,
    scope: SCOPE,
  }
  return { issued, replaceSecret, familyHash: hashSecret(family), refreshHash: hashSecret(part) }
}

function challengeOf(verifier: string): string {
  return new Bun.CryptoHasher('sha256').update(verifier).digest('base64url')
}

/** 256 random bits as 43 characters. */
function randomText({ randomBytes }: Pick<GrantSource, 'randomBytes'>): string {
  return Buffer.from(randomBytes(32)).toString('base64url')
}

async function findGrant(db: Db, condition: string, value: string): Promise<Grant | undefined> {
  const [row] = await db.query({ sql: `select * from oauth_grants where ${condition}`, parameters: [value] })
  return row && grantOfRow(row)
}

function notValid(what: 'code' | 'refresh_token'): OAuthError {
  return new OAuthError(
    'invalid_grant',
    `This ${what} is not valid: it was used, has expired, or belongs to another program. Connect again.`,
  )
}
