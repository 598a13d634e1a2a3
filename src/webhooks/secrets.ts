// The secrets that sign webhooks: one per key, shown once, and replaced with a period in which both are valid. They are stored in
// readable form, because signing needs them; they must never be shown again or logged.

import { type Db, tryApply, type Value } from '../db/db'
import { UnreadableText } from '../db/encryption/codec'
import { trustedText } from '../db/encryption/keys'
import type { EncodedTable } from '../db/encryption/reencryption'

/** How long the old secret also signs, in milliseconds. */
export const OVERLAP_MS = 24 * 3_600_000
const SECRET_BYTES = 32
const ADVICE = 'Make a new one with `gateway keys roll-webhook`.'

export function makeWebhookSecret(randomBytes: (count: number) => Uint8Array): string {
  return `whsec_${Buffer.from(randomBytes(SECRET_BYTES)).toString('base64')}`
}

/** All valid secrets, the newest first. */
export async function webhookSecretsOf(db: Db, keyId: string, now: number): Promise<string[]> {
  const rows = await db.query({
    sql: 'select webhook_secret, webhook_secret_before, webhook_secret_before_until from keys where id = $1',
    parameters: [keyId],
  })
  const [row] = rows
  if (!row) return []
  const { webhook_secret: current, webhook_secret_before: before, webhook_secret_before_until: until } = row
  const textOf = (stored: Value | undefined) =>
    trustedText(db, stored as string, webhookSecretPlace(keyId), ADVICE)
  const secrets = current === null ? [] : [await textOf(current)]
  if (before === null || Number(until) <= now) return secrets
  // A new secret immediately helps against a compromised one.
  return textOf(before).then(
    (text) => [...secrets, text],
    (error) => {
      if (error instanceof UnreadableText && secrets.length > 0) return secrets
      throw error
    },
  )
}

/**
 * The place of a key's secrets. It is the same for both, because the current secret becomes the previous one in its stored form.
 */
export function webhookSecretPlace(keyId: string): string {
  return `keys.webhook_secret ${keyId}`
}

export const webhookSecretTexts: EncodedTable = {
  table: 'keys',
  primaryKey: ['id'],
  columns: ['webhook_secret', 'webhook_secret_before'],
  id: 'id',
  placeOf: webhookSecretPlace,
}

/** Adds a new secret, next to the previous one. False if the key does not exist or is revoked. */
export async function rollWebhookSecret(
  db: Db,
  keyId: string,
  secret: string,
  now: number,
): Promise<boolean> {
  return tryApply(db, [
    {
      sql: `update keys set webhook_secret_before = webhook_secret, webhook_secret_before_until = $3, webhook_secret = $2
        where id = $1 and revoked_at is null`,
      parameters: [keyId, db.codec.encode(secret, webhookSecretPlace(keyId)), now + OVERLAP_MS],
      guard: true,
    },
  ])
}
