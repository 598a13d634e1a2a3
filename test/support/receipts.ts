// Reads receipts as docs/receipts.md describes them, with WebCrypto and without the program's code, as an independent check.

import { createHash } from 'node:crypto'
import type { Json } from './scenario'

export interface JsonWebKeySet {
  keys: { kid: string; x: string; kty: string; crv: string; since: string; until: string | null }[]
}

/** The payload of a signed text. Throws for any other text. */
export async function openSigned(
  text: string,
  type: string,
  { keys }: JsonWebKeySet,
): Promise<{ payload: string; json: Json; kid: string }> {
  const [head = '', body = '', signature = '', ...rest] = text.split('.')
  if (rest.length > 0 || !/^[\w-]+\.[\w-]+\.[\w-]+$/.test(text)) throw new Error(`not three parts: ${text}`)
  const { alg, typ, kid } = JSON.parse(Buffer.from(head, 'base64url').toString())
  if (alg !== 'Ed25519' || typ !== type) throw new Error(`${alg} ${typ}`)
  const known = keys.find((key) => key.kid === kid)
  if (!known) throw new Error(`unknown key ${kid}`)
  const { kty, crv, x } = known
  const thumbprint = createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url')
  if (thumbprint !== kid) throw new Error(`${kid} is not the thumbprint ${thumbprint}`)
  const key = await crypto.subtle.importKey('jwk', { kty, crv, x }, 'Ed25519', false, ['verify'])
  const isRight = await crypto.subtle.verify(
    'Ed25519',
    key,
    Buffer.from(signature, 'base64url'),
    Buffer.from(`${head}.${body}`),
  )
  if (!isRight) throw new Error('the signature does not fit')
  const payload = Buffer.from(body, 'base64url').toString()
  return { payload, json: JSON.parse(payload), kid }
}

/** The receipt at the end of a stream of events; undefined for a stream without one. */
export function receiptInStream(text: string): string | undefined {
  const member = /"gateway":\{[^{}]*"receipt":"([\w.-]+)"[^{}]*\}/.exec(text)?.[1]
  const comment = /^: x-gateway-receipt: ([\w.-]+)$/m.exec(text)?.[1]
  return member ?? comment
}
