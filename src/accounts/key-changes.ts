// Changes of keys by operators, and their rules: keys are created, changed and replaced. Only the result that creates a secret
// contains it, and it must never be stored.

import { openAccount } from '../billing/ledger/ledger'
import { type CacheRule, cacheRuleFaults } from '../config/models/response-cache'
import type { Config } from '../config/schema'
import type { Db } from '../db/db'
import { isoTime } from '../db/iso-time'
import { conflict, type GatewayError, invalidRequest, notFound } from '../lib/errors'
import { networkNamed } from '../lib/network'
import { makeWebhookSecret, OVERLAP_MS, rollWebhookSecret } from '../webhooks/secrets'
import { type AccountDetails, assertOpen, findAccount, setDetails } from './accounts'
import { createKey, findKey, type Key, type KeySettings, makeSecret, type NewKey, rollKey } from './keys'
import { isName, NAME_RULE } from './names'
import type { SessionToken } from './sessions'

interface Source {
  now(): number
  newId(prefix: string): string
  randomBytes(count: number): Uint8Array
}

/** A key by its name or id. Rejects with 404. */
export async function requireKey(db: Db, nameOrId: string): Promise<Key> {
  const key = await findKey(db, nameOrId)
  if (!key) throw notFound('key', nameOrId)
  return key
}

/** A key that is not revoked. Rejects with 404 or 409. */
export async function requireUsableKey(db: Db, nameOrId: string): Promise<Key> {
  const key = await requireKey(db, nameOrId)
  if (key.revokedAt === null) return key
  throw conflict('key_revoked', `Key ${key.name} was revoked at ${isoTime(key.revokedAt)}: make another one.`)
}

/** Throws 400 for invalid settings, and for models that this gateway does not have. */
export function checkKeySettings(
  { models, budgetNano, budgetPeriod }: Pick<KeySettings, 'models' | 'budgetNano' | 'budgetPeriod'>,
  config: Pick<Config, 'models'>,
): void {
  const unknown = models?.find((id) => !Object.hasOwn(config.models, id))
  if (unknown !== undefined)
    throw invalidRequest('models', `Invalid 'models': there is no model \`${unknown.slice(0, 128)}\`.`)
  if (budgetNano === null && budgetPeriod !== null)
    throw invalidRequest('budget_period', "'budget_period' needs 'budget_usd'.")
  if (budgetNano !== null && (budgetNano <= 0 || budgetPeriod === null))
    throw invalidRequest(
      'budget_usd',
      "A budget is more than 0, and needs 'budget_period': day, week or month.",
    )
}

/** Throws 400 for an invalid response cache. */
export function checkCacheRule(rule: CacheRule): void {
  const [fault] = cacheRuleFaults(rule)
  if (fault === undefined) return
  const [place = 'cache', reason] = fault.slice(1).split(': ', 2)
  throw invalidRequest(place, `Invalid '${place}': ${reason}.`)
}

/**
 * Networks in CIDR form, without duplicates; null if there is no list. Rejects with 400 for a text that names neither a network nor
 * an address.
 */
export function networksOf(texts: readonly string[] | null): string[] | null {
  if (!texts) return null
  const networks = texts.map((text) => {
    const network = networkNamed(text)
    if (network !== undefined) return network
    throw invalidRequest(
      'addresses',
      `Invalid 'addresses': \`${text.slice(0, 64)}\` is neither an address nor a network such as \`203.0.113.0/24\`.`,
    )
  })
  return [...new Set(networks)]
}

/** A key to store, with new secrets. Rejects with 400 for an invalid name, and with 409 if its account is closed. */
export async function draftKey(db: Db, source: Source, name: string, account: string): Promise<NewKey> {
  for (const [field, text] of Object.entries({ name, account }))
    if (!isName(text)) throw invalidRequest(field, `Invalid '${field}': expected ${NAME_RULE}.`)
  const payer = await findAccount(db, account)
  if (payer) assertOpen(payer)
  return {
    id: source.newId('key'),
    name,
    account,
    secret: makeSecret(source.randomBytes),
    webhookSecret: makeWebhookSecret(source.randomBytes),
    createdAt: source.now(),
  }
}

/** Stores a drafted key, and its account if that is new. Rejects with 409 if the name is taken. */
export async function storeKey(db: Db, key: NewKey, settings: KeySettings): Promise<void> {
  if (await createKey(db, { ...key, ...settings })) return
  throw await nameTaken(db, key)
}

/** Stores a new account with its details and its first key. Rejects with 409 if the name of either is taken. */
export async function storeCustomer(
  db: Db,
  key: NewKey,
  settings: KeySettings,
  details: Omit<AccountDetails, 'account'>,
): Promise<void> {
  const { account, createdAt } = key
  const first = [{ ...openAccount(account, createdAt), guard: true }, setDetails({ ...details, account })]
  if (await createKey(db, { ...key, ...settings }, first)) return
  if (await findAccount(db, account))
    throw conflict('account_exists', `An account named ${account} already exists: make a key for it.`)
  throw await nameTaken(db, key)
}

async function nameTaken(db: Db, key: NewKey): Promise<GatewayError> {
  const taken = await findKey(db, key.name)
  const why = taken?.revokedAt ? ' It is revoked, and names are not reused.' : ''
  return conflict('key_exists', `A key named ${key.name} already exists.${why}`)
}

/**
 * Gives a key a new secret; the old one is refused, and so are tokens and sessions made with it, except for the calling session.
 * Rejects with 409 if the key is revoked.
 */
export async function giveNewSecret(
  db: Db,
  key: Key,
  { randomBytes, now }: Pick<Source, 'randomBytes' | 'now'>,
  asking?: SessionToken,
): Promise<string> {
  const secret = makeSecret(randomBytes)
  if (!(await rollKey(db, key.id, secret, now(), asking))) throw justRevoked(key)
  return secret
}

/** Replaces the secret that signs webhooks; the old one also signs for a while. Rejects with 409 if the key is revoked. */
export async function giveNewWebhookSecret(
  db: Db,
  key: Key,
  source: Pick<Source, 'randomBytes' | 'now'>,
): Promise<{ secret: string; oldUntil: number }> {
  const secret = makeWebhookSecret(source.randomBytes)
  const now = source.now()
  if (!(await rollWebhookSecret(db, key.id, secret, now))) throw justRevoked(key)
  return { secret, oldUntil: now + OVERLAP_MS }
}

function justRevoked({ name }: Key) {
  return conflict('key_revoked', `Key ${name} has just been revoked.`)
}
