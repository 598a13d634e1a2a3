// Verifies the header Stripe-Signature: a time and HMAC-SHA256 signatures of the time and the body, as
// https://docs.stripe.com/webhooks/signature says. Pure. The time of its comparison must never reveal how much was correct.

import { createHmac, timingSafeEqual } from 'node:crypto'

/** Maximum deviation of the time of a signed message, in milliseconds, as in Stripe's own libraries. */
const SIGNATURE_TOLERANCE_MS = 300_000

/** Maximum length of a header: it has several signatures while a secret is replaced. */
const MAX_HEADER_LENGTH = 2_048

/** Why a message is not trusted; undefined if it was just signed with the secret. */
export function signatureFault(
  header: string | null,
  body: Uint8Array,
  { secret, now }: { secret: string; now: number },
): string | undefined {
  if (header === null || header.length > MAX_HEADER_LENGTH)
    return 'the header Stripe-Signature is missing or too long'
  const parts = header.split(',').map((part) => part.trim().split('=', 2))
  const time = parts.find(([name]) => name === 't')?.[1] ?? ''
  // Other schemes are test signatures: accepting them would make forging easier.
  const signatures = parts.flatMap(([name, value = '']) => (name === 'v1' ? [value] : []))
  if (!/^\d{1,12}$/.test(time) || signatures.length === 0)
    return 'the header Stripe-Signature has no time or no signature of the scheme v1'
  if (Math.abs(now - Number(time) * 1_000) > SIGNATURE_TOLERANCE_MS)
    return `it was signed more than ${SIGNATURE_TOLERANCE_MS / 60_000} minutes from now`
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  const isSigned = signatures
    .filter((signature) => /^[0-9a-f]{64}$/.test(signature))
    .some((signature) => timingSafeEqual(Buffer.from(signature, 'hex'), expected))
  return isSigned ? undefined : 'no signature is of the secret of this gateway'
}
