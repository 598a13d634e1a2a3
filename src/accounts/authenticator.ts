// Authenticates callers: finds the key of an Authorization header or of a console session, and the reason if it is refused. Keys
// are cached for half a second, and a wrong secret costs no look-up. It must never compare a secret by a part of it.

import type { SpenderKind } from '../billing/ledger/limits'
import type { Plan } from '../config/models/plans'
import type { Db } from '../db/db'
import type { ErrorCode } from '../lib/error-codes'
import { GatewayError } from '../lib/errors'
import { isInNetworks } from '../lib/network'
import {
  findKey,
  findKeyByHash,
  hashSecret,
  importedSecretOf,
  isSecret,
  isTokenSecret,
  type Key,
} from './keys'
import { SessionToken, useSession } from './sessions'
import { findSpenderByHash, type Spender } from './spenders'

/** Maximum age of a cached key, in milliseconds: every node refuses a revoked key within this time. */
const CACHE_MS = 500
const CACHE_ENTRIES = 10_000

/** An Authorization header, or the session of a console page. */
export type Authorization = string | SessionToken | null

/** Kinds of tokens that may act for their keys in a request. */
export type TokenKinds = readonly SpenderKind[]
/** Tokens for the paths of the API. A token of a connected program is valid only for these. */
export const API_TOKENS: TokenKinds = ['browser']
export const TOOL_TOKENS: TokenKinds = ['mcp']
const NO_TOKENS: TokenKinds = []

/**
 * Each gets the address of the client, null if unknown, and refuses a key that may not be used from there with 403. A token is also
 * refused with 403, unless its kind is listed; then it acts as the key with the limits of both.
 */
export interface Authenticator {
  /** The key in an Authorization header. Throws or rejects with 401, and with 403 for a paused key, or one whose account is frozen. */
  authenticate(
    authorization: Authorization,
    clientAddress: string | null,
    tokens?: TokenKinds,
  ): Key | Promise<Key>
  /** The key with an id. Rejects with 401 and 403 as `authenticate` does. */
  authenticateOwner(id: string, clientAddress: string | null): Promise<Key>
  /** The key in an Authorization header, even if it is paused: its holder may see why. Throws or rejects with 401. */
  identify(
    authorization: Authorization,
    clientAddress: string | null,
    tokens?: TokenKinds,
  ): Key | Promise<Key>
}

interface Source {
  now: () => number
  monotonic: () => number
  plan?: (name: string) => Plan | undefined
  /** The id of the key for a token of an identity provider; undefined if the token is invalid. Rejects with 401 and 403. */
  keyOfToken?: (token: string) => Promise<string | undefined>
}

/** Creates the look-up of keys, with a short-lived cache in front of the database. */
export function createAuthenticator(db: Db, source: Source): Authenticator {
  const { now, plan = () => undefined } = source
  const findByHeader = createHeaderLookUp(db, source)

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

  function identify(
    authorization: Authorization,
    clientAddress: string | null,
    tokens: TokenKinds = NO_TOKENS,
  ): Key | Promise<Key> {
    const found =
      authorization instanceof SessionToken ? findBySession(authorization) : findByHeader(authorization)
    const check = (key: Key) => assertHolder(assertAllowedFrom(key, clientAddress), tokens)
    return found instanceof Promise ? found.then(check) : check(found)
  }

  return {
    identify,
    authenticateOwner: async (id, clientAddress) =>
      assertAwake(assertAllowedFrom(await findById(id), clientAddress)),
    authenticate(authorization, clientAddress, tokens) {
      const key = identify(authorization, clientAddress, tokens)
      return key instanceof Promise ? key.then(assertAwake) : assertAwake(key)
    },
  }
}

/** Finds keys by Authorization headers. Throws or rejects with 401. */
function createHeaderLookUp(
  db: Db,
  { now, monotonic, plan = () => undefined, keyOfToken }: Source,
): (header: string | null) => Key | Promise<Key> {
  const isImported = importsOf(db, monotonic)
  // Keyed by the whole header, never by a part of the secret. The cache contains nothing that the requests do not contain.
  const cache = new Map<string, { key: Key; readAt: number }>()
  /** Keys that are being read: of all requests that wait for one, only the first queries. */
  const reading = new Map<string, Promise<Key>>()

  async function find(authorization: string | null): Promise<Key> {
    const sent = secretOf(authorization)
    if (isTokenSecret(sent)) return findByToken(db, sent, plan)
    const keyId = isSecret(sent) ? undefined : await keyOfToken?.(sent)
    const found = keyId === undefined ? await findBySecret(sent) : await findKey(db, keyId)
    if (!found) throw unauthorized('Incorrect API key.')
    return withPlan(found, plan)
  }

  async function findBySecret(sent: string): Promise<Key | undefined> {
    const secret = isSecret(sent) ? sent : importedSecretOf(sent)
    // Both are looked up in the same way: by the hash of the whole secret. A wrong one causes no look-up: secrets of this gateway
    // have check digits, and the hashes of foreign ones are known.
    const hash = secret === undefined ? undefined : hashSecret(secret)
    if (hash === undefined || !(isSecret(sent) || (await isImported(hash)))) {
      throw unauthorized('Incorrect API key: this is not a key of this gateway, or it was mistyped.')
    }
    return findKeyByHash(db, hash)
  }

  async function read(authorization: string | null): Promise<Key> {
    const readAt = monotonic()
    const key = await find(authorization)
    if (cache.size >= CACHE_ENTRIES) cache.clear()
    cache.set(authorization ?? '', { key, readAt })
    return assertValid(key, now())
  }

  return (authorization) => {
    const header = authorization ?? ''
    const cached = cache.get(header)
    if (cached && monotonic() - cached.readAt < CACHE_MS) return assertValid(cached.key, now())
    const begun = reading.get(header)
    if (begun) return begun
    const found = read(authorization).finally(() => reading.delete(header))
    reading.set(header, found)
    return found
  }
}

/** The key that a token acts for, with the limits of both. */
async function findByToken(
  db: Db,
  secret: string,
  planNamed: (name: string) => Plan | undefined,
): Promise<Key> {
  const token = await findSpenderByHash(db, hashSecret(secret))
  const key = token && (await findKey(db, token.keyId))
  if (!key) throw unauthorized('Incorrect token.')
  return withSpender(withPlan(key, planNamed), token)
}

/** A key with the limits of a spender that acts on its behalf. */
export function withSpender(key: Key, spender: Spender): Key {
  const { models } = spender
  const known = key.models
  return {
    ...key,
    models: models === null || known === null ? (models ?? known) : models.filter((id) => known.includes(id)),
    spender,
  }
}

/** How often newly imported keys are checked for, in milliseconds. */
const IMPORTS_MS = 10_000

/** Whether a hash is that of an imported key. The database is queried rarely, however many are checked. */
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
    throw byOperator(
      'account_frozen',
      'The account of this key is frozen by the operator of this gateway. Ask them why; a retry does not help until then.',
    )
  if (key.planName !== null && !key.plan)
    throw byOperator(
      'plan_missing',
      "The plan of this key's account is not configured. The operator of this gateway must configure it, or give the account another one.",
    )
  if (key.pausedAt !== null)
    throw byOperator(
      'key_paused',
      'This API key is paused by the operator of this gateway. Use another key, or ask them to resume it.',
    )
  return key
}

/** Throws 403 for a token of a kind that is not listed. */
function assertHolder(key: Key, tokens: TokenKinds): Key {
  if (!key.spender || tokens.includes(key.spender.kind)) return key
  throw resting(
    'token_not_allowed',
    'This token may only send requests to models and read their results. Use the API key for everything else.',
  )
}

function assertAllowedFrom(key: Key, clientAddress: string | null): Key {
  assertAllowed(key.addresses, clientAddress, 'This API key')
  return key
}

/** Throws 403 if a secret may not be used from an address. An unknown address is in no network. */
export function assertAllowed(
  networks: readonly string[] | null,
  clientAddress: string | null,
  what: string,
): void {
  if (networks === null || (clientAddress !== null && isInNetworks(clientAddress, networks))) return
  throw resting(
    'address_not_allowed',
    `${what} may not be used from ${clientAddress ?? 'an unknown address'}. Ask the operator of this gateway to add the address; a retry does not help until then.`,
  )
}

function resting(code: ErrorCode, message: string): GatewayError {
  return new GatewayError(403, { code, message })
}

/** 403: the operator has decided this, or must configure something. */
function byOperator(code: ErrorCode, message: string): GatewayError {
  return Object.assign(resting(code, message), { isOperators: true })
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
  const { spender } = key
  if (!spender) return key
  if (spender.endedAt !== null) throw unauthorized('This token has been revoked.')
  const endsAt = spender.secretEndsAt ?? spender.expiresAt
  if (endsAt !== null && endsAt <= now) throw unauthorized('This token has expired.')
  return key
}

/** The key with the limits of its account's plan: the lower one of each limit, and the account's own budget. */
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

/** 401: no key of this gateway is in the request. */
export function unauthorized(message: string): GatewayError {
  return new GatewayError(401, {
    code: 'invalid_api_key',
    type: 'invalid_request_error',
    message,
    headers: { 'www-authenticate': 'Bearer' },
  })
}

/** The error for an ended session. */
export function sessionEnded(): GatewayError {
  return new GatewayError(401, {
    code: 'session_ended',
    type: 'invalid_request_error',
    message: 'This session of the console has ended. Sign in again.',
  })
}
