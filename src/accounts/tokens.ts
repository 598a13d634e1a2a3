// Changes of tokens by holders of keys, and their rules. A token acts for its key within its own limits, for minutes in a browser
// or for longer as an agent. Only the result that creates its secret contains it, and it must never be stored.

import type { Db } from '../db/db'
import { GatewayError, invalidRequest, notFound } from '../lib/errors'
import { hashSecret, hintOf, type Key, makeTokenSecret, mayUse } from './keys'
import { createToken, findSpender, MAX_TOKENS, type NewToken, type Spender } from './spenders'

interface Source {
  now(): number
  newId(prefix: string): string
  randomBytes(count: number): Uint8Array
}

/** Settings of a token; null means the same as its key. */
export interface TokenSettings
  extends Pick<
    Spender,
    'name' | 'models' | 'requestsPerMinute' | 'budgetNano' | 'budgetPeriod' | 'expiresAt'
  > {
  kind: 'browser' | 'mcp'
}

/** A token of a key to store, with its secret. Rejects with 400 for models that its key may not use. */
export function draftToken(source: Source, key: Key, settings: TokenSettings): NewToken & { secret: string } {
  const unusable = settings.models?.find((id) => !mayUse(key, id))
  if (unusable !== undefined)
    throw invalidRequest('models', `Invalid 'models': this key may not use \`${unusable.slice(0, 128)}\`.`)
  const secret = makeTokenSecret(source.randomBytes)
  return {
    ...settings,
    id: source.newId('tok'),
    keyId: key.id,
    secret,
    hash: hashSecret(secret),
    hint: hintOf(secret),
    createdAt: source.now(),
  }
}

/** Stores a drafted token. Rejects with 429 if its key has too many. */
export async function storeToken(db: Db, token: NewToken): Promise<void> {
  if (await createToken(db, token)) return
  throw new GatewayError(429, {
    code: 'Throttling.ConcurrencyQuota',
    message: `A key may have at most ${MAX_TOKENS} tokens at a time. Revoke some, or wait until they expire.`,
    headers: { 'retry-after': '60' },
  })
}

/** A token of a key by its id. Rejects with 404. */
export async function requireToken(db: Db, id: string, keyId: string): Promise<Spender> {
  const token = await findSpender(db, id)
  if (token?.hint && token.keyId === keyId) return token
  throw notFound('token', id)
}
