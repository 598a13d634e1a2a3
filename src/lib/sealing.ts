// Text that only this gateway can read back and nobody can change: AES-256-GCM under keys that can be replaced. Opening must never
// throw or reveal why it failed: sealed texts come from callers.

import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto'

export interface Sealer {
  /**
   * The sealed form of a text, in the characters `A-Za-z0-9._-` and a third longer. It opens only with the same `associated` text,
   * which names its owner and is not stored in it.
   */
  seal(plain: string, associated: string): string
  /** The text that was sealed; undefined for anything else: foreign, changed, of another owner, or with a removed key. */
  open(sealed: string, associated: string): string | undefined
  /** Whether a text looks like one sealed by a known key: if it cannot be unsealed, it was altered. */
  knows(sealed: string): boolean
}

/** Length of a key in bytes. */
export const KEY_BYTES = 32
/** The version of the form. A key's id and a dot follow, then salt, nonce, ciphertext and tag in base64url. */
export const SEALED_PREFIX = 'gw1.'

const CIPHER = 'aes-256-gcm'
const ID_BYTES = 6
const SALT_BYTES = 16
const NONCE_BYTES = 12
const TAG_BYTES = 16
const HEAD_BYTES = SALT_BYTES + NONCE_BYTES
/** Prefix and id of a sealed text. */
const FORM = new RegExp(`^${SEALED_PREFIX.replace('.', '\\.')}([0-9a-f]{${2 * ID_BYTES}})\\.`)

/** The sealed text that a client read as bytes in base64, or rewrote in the URL alphabet; undefined if it contains none. */
export function sealedInBase64(text: string): string | undefined {
  const sealed = Buffer.from(text, 'base64').toString('latin1')
  return sealed.startsWith(SEALED_PREFIX) ? sealed : undefined
}

/** The public id of a key, from which the key cannot be derived. */
export function sealingKeyId(key: Uint8Array): string {
  return derive(key, 'id', ID_BYTES).toString('hex')
}

/** The id of the key that sealed a text; undefined if the text does not have the form of a sealed one. */
export function sealedBy(text: string): string | undefined {
  return FORM.exec(text)?.[1]
}

/**
 * A sealer for one purpose, whose texts no sealer of another purpose opens. The first key seals, all keys open. `randomBytes` must
 * be the system's secure source.
 */
export function createSealer(
  keys: readonly [Uint8Array, ...Uint8Array[]],
  purpose: string,
  randomBytes: (count: number) => Uint8Array,
): Sealer {
  const known = new Map(keys.map((key) => [sealingKeyId(key), derive(key, `seal ${purpose}`, KEY_BYTES)]))
  const newestId = sealingKeyId(keys[0])
  const newest = derive(keys[0], `seal ${purpose}`, KEY_BYTES)
  return {
    knows: (sealed) => known.has(sealedBy(sealed) ?? ''),
    seal(plain, associated) {
      const head = randomBytes(HEAD_BYTES)
      const cipher = createCipheriv(CIPHER, keyOfText(newest, head), head.subarray(SALT_BYTES), {
        authTagLength: TAG_BYTES,
      })
      cipher.setAAD(Buffer.from(associated))
      const parts = [head, cipher.update(plain, 'utf8'), cipher.final(), cipher.getAuthTag()]
      return `${SEALED_PREFIX}${newestId}.${Buffer.concat(parts).toString('base64url')}`
    },
    open(sealed, associated) {
      const key = known.get(sealedBy(sealed) ?? '')
      return key && openBytes(key, sealed.slice(SEALED_PREFIX.length + newestId.length + 1), associated)
    },
  }
}

function openBytes(key: Buffer, encoded: string, associated: string): string | undefined {
  const bytes = Buffer.from(encoded, 'base64url')
  // Decoding skips unknown characters, but one text must have only one spelling.
  if (bytes.length < HEAD_BYTES + TAG_BYTES || bytes.toString('base64url') !== encoded) return undefined
  const head = bytes.subarray(0, HEAD_BYTES)
  const end = bytes.length - TAG_BYTES
  try {
    const decipher = createDecipheriv(CIPHER, keyOfText(key, head), head.subarray(SALT_BYTES), {
      authTagLength: TAG_BYTES,
    })
    decipher.setAAD(Buffer.from(associated))
    decipher.setAuthTag(bytes.subarray(end))
    return Buffer.concat([decipher.update(bytes.subarray(HEAD_BYTES, end)), decipher.final()]).toString()
  } catch {
    return undefined
  }
}

/** The key of one text: a random nonce of 12 bytes is too short for all texts of a busy gateway under one key. */
function keyOfText(key: Uint8Array, head: Uint8Array): Buffer {
  return createHmac('sha256', key).update(head.subarray(0, SALT_BYTES)).digest()
}

function derive(key: Uint8Array, purpose: string, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `unified-model-gateway ${purpose}`, bytes))
}
