// Signed texts in the compact form of JSON Web Signatures (RFC 7515) with Ed25519 (RFC 8037, named as in RFC 9864), and their keys
// as JSON Web Keys (RFC 7517). The bytes that are sent are those that are signed. It must never choose an algorithm from the
// content of a text.

import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import { isObject } from '../../lib/objects'

/** Length of the seed of a private key, in bytes. */
export const SEED_BYTES = 32
const ALGORITHM = 'Ed25519'
/** PKCS #8 of an Ed25519 key up to its seed (RFC 8410, section 7). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex')

/** A public key: `x` is its 32 bytes in base64url. */
export interface PublicJwk {
  kty: 'OKP'
  crv: typeof ALGORITHM
  x: string
  kid: string
  alg: typeof ALGORITHM
  use: 'sig'
}

export interface SigningKey {
  kid: string
  x: string
  /** Signs a payload of this type. The same bytes always have the same signature. */
  sign(type: string, payload: string): string
}

/** The signing key, from its seed. */
export function signingKeyOf(seed: Uint8Array): SigningKey {
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_HEAD, seed]),
    format: 'der',
    type: 'pkcs8',
  })
  const { x = '' } = createPublicKey(privateKey).export({ format: 'jwk' })
  const kid = thumbprintOf(x)
  return {
    kid,
    x,
    sign(type, payload) {
      const head = JSON.stringify({ alg: ALGORITHM, kid, typ: type })
      const signed = `${base64url(head)}.${base64url(payload)}`
      return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`
    },
  }
}

export function publicJwkOf(x: string): PublicJwk {
  return { kty: 'OKP', crv: ALGORITHM, x, kid: thumbprintOf(x), alg: ALGORITHM, use: 'sig' }
}

/** The id of a key: its thumbprint (RFC 7638). */
function thumbprintOf(x: string): string {
  return createHash('sha256').update(`{"crv":"${ALGORITHM}","kty":"OKP","x":"${x}"}`).digest('base64url')
}

/** A text whose signature has not been checked. */
interface ReadJws {
  type: string
  kid: string
  payload: string
}

/** The parts of a signed text; undefined for any other text. */
export function readJws(text: string): ReadJws | undefined {
  const [head, payload, signature, ...rest] = text.split('.')
  if (!head || !payload || !signature || rest.length > 0) return undefined
  try {
    const { alg, kid, typ } = JSON.parse(textOf(head)) as Record<string, unknown>
    if (alg !== ALGORITHM || typeof kid !== 'string' || typeof typ !== 'string') return undefined
    return { type: typ, kid, payload: textOf(payload) }
  } catch {
    return undefined
  }
}

/** Whether a key has signed a text. */
export function isSignedBy(text: string, key: KeyObject): boolean {
  const end = text.lastIndexOf('.')
  const signature = Buffer.from(text.slice(end + 1), 'base64url')
  return verify(null, Buffer.from(text.slice(0, end)), key, signature)
}

/** The keys in JSON, which may be a single key or a set, by id. Throws an Error with the reason for any other text. */
export function publicKeysIn(text: string): Map<string, KeyObject> {
  const json: unknown = JSON.parse(text)
  const keys = isObject(json) && Array.isArray(json.keys) ? json.keys : [json]
  return new Map(
    keys.map((key) => {
      if (!isObject(key) || key.kty !== 'OKP' || key.crv !== ALGORITHM || typeof key.x !== 'string')
        throw new Error('it is not a public key of Ed25519 as a JSON Web Key')
      // The id is derived from the key: an id that is written next to it proves nothing.
      const { kty, crv, x } = publicJwkOf(key.x)
      return [thumbprintOf(x), createPublicKey({ key: { kty, crv, x }, format: 'jwk' })]
    }),
  )
}

function base64url(text: string): string {
  return Buffer.from(text).toString('base64url')
}

function textOf(encoded: string): string {
  return Buffer.from(encoded, 'base64url').toString()
}
