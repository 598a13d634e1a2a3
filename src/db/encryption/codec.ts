// How texts that a copy of the database must not reveal are stored: encrypted if the operator has set a key, otherwise in clear
// text. A key, or a text that was encrypted, must never appear in an error or in the log.

import { createSealer, SEALED_PREFIX, type Sealer, sealedBy, sealingKeyId } from '../../lib/sealing'

export interface RowCodec {
  /** The id of the encrypting key, or `clear`. */
  currentId: string
  /** Whether texts of this key id can be read here. */
  knows(id: string): boolean
  /**
   * The stored form of a text. `place` is its table, column and row, such as `webhooks.body msg_1`: the stored form can
   * be read only there.
   */
  encode(text: string, place: string): string
  /** The text of a stored form, encrypted or not. Throws `UnreadableText` if its key is unknown, or it was changed. */
  decode(stored: string, place: string): string
}

/** The keys that an operator has set. Each has the length of a sealing key. */
interface MasterKeys {
  /** The encrypting key; undefined if nothing is encrypted. */
  current: Uint8Array | undefined
  /** Keys that only decrypt. */
  older: readonly Uint8Array[]
}

/** The id for unencrypted texts. */
export const CLEAR = 'clear'

/** Thrown for a stored text that cannot be decrypted. */
export class UnreadableText extends Error {
  override readonly name = 'UnreadableText'
}

/** Prefix of an unencrypted text that begins as if it were encrypted. */
const CLEAR_PREFIX = 'gw0.'

/** The id of the key of a stored text, or `clear`. */
export function storedBy(stored: string): string {
  return sealedBy(stored) ?? CLEAR
}

export function createCodec(
  { current, older }: MasterKeys,
  randomBytes: (count: number) => Uint8Array,
): RowCodec {
  const [first, ...rest] = current ? [current, ...older] : older
  const sealer = first && createSealer([first, ...rest], 'rows', randomBytes)
  const encrypt = current && sealer
  const ids = new Set([CLEAR, ...[first ?? [], rest].flat().map(sealingKeyId)])
  return {
    currentId: current ? sealingKeyId(current) : CLEAR,
    knows: (id) => ids.has(id),
    encode: (text, place) => (encrypt ? encrypt.seal(text, place) : clearForm(text)),
    decode: (stored, place) => decode(sealer, stored, place),
  }
}

function clearForm(text: string): string {
  return text.startsWith(SEALED_PREFIX) || text.startsWith(CLEAR_PREFIX) ? CLEAR_PREFIX + text : text
}

/**
 * The text of a stored form; undefined if it is unreadable. For lists, and wherever a row can be shown without its text: one row
 * must not hide the others.
 */
export function readableText({ decode }: RowCodec, stored: string, place: string): string | undefined {
  try {
    return decode(stored, place)
  } catch (error) {
    if (error instanceof UnreadableText) return undefined
    throw error
  }
}

function decode(sealer: Sealer | undefined, stored: string, place: string): string {
  if (stored.startsWith(CLEAR_PREFIX)) return stored.slice(CLEAR_PREFIX.length)
  const id = sealedBy(stored)
  if (id === undefined) return stored
  const text = sealer?.open(stored, place)
  if (text !== undefined) return text
  throw new UnreadableText(
    `${place} cannot be read: it was encrypted with the key ${id}, which is not among secrets.key and secrets.olderKeys of this process, or it was changed since`,
  )
}

/** The codec of a database without a key. */
export const clearCodec: RowCodec = createCodec({ current: undefined, older: [] }, () => {
  throw new Error('nothing is encrypted without a key')
})
