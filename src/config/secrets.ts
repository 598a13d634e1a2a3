// The part of the configuration that contains the keys with which the database's secrets and contents are encrypted. No message
// about it may quote a key, or a text that was meant to be one.

import { readFileSync } from 'node:fs'
import { type Static, Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import { KEY_BYTES } from '../lib/sealing'
import { closed, optionalSetting } from '../lib/setting'

export const SecretsEntry = Type.Object(
  {
    key: optionalSetting(
      'The key that encrypts: 32 random bytes in base64 or hex, as `openssl rand -base64 32` makes them. `null`: encryption ends.',
      // Undefined, like an unset environment variable.
      Type.Union([Type.String(), Type.Null(), Type.Undefined()]),
    ),
    keyFile: optionalSetting(
      'Instead of `key`: a file with the key on its first line. Older keys may follow, each on a line.',
      Type.String({ minLength: 1 }),
    ),
    olderKeys: optionalSetting(
      'Keys used only to decrypt: previous keys, until nothing is encrypted with them, and the next key, until all nodes know it.',
      Type.Array(Type.Union([Type.String(), Type.Undefined()])),
    ),
  },
  closed,
)
type SecretsEntry = Static<typeof SecretsEntry>

const KEY_FORM = 'not a key: 32 random bytes in base64 or hex, as `openssl rand -base64 32` makes them'
const UNSET = 'missing; is its environment variable set?'

/** The keys of a valid entry. Reads the file that the setting names. */
export function masterKeysOf(entry: SecretsEntry | undefined): {
  current: Uint8Array | undefined
  older: Uint8Array[]
} {
  const { keys, faults } = keysOf(entry ?? { key: null })
  if (faults.length > 0) throw new Error(faults.join('; '))
  const [current, ...older] = keys
  return { current: current ?? undefined, older: older.flatMap((key) => key ?? []) }
}

/** Faults that the schema cannot express; empty if the entry does not fit the schema. Reads the file that the setting names. */
export function secretFaults(entry: unknown): string[] {
  return Check(SecretsEntry, entry) ? keysOf(entry).faults : []
}

/** The keys, the encrypting one first; null there if nothing is encrypted. */
function keysOf({ key, keyFile, olderKeys = [] }: SecretsEntry): {
  keys: (Uint8Array | null)[]
  faults: string[]
} {
  const faults: string[] = []
  const read = (place: string, text: string | undefined): Uint8Array | null => {
    const bytes = text === undefined ? undefined : keyOfText(text)
    if (!bytes) faults.push(`secrets.${place}: ${text === undefined ? UNSET : KEY_FORM}`)
    return bytes ?? null
  }
  if (keyFile !== undefined && key !== undefined) faults.push('secrets.keyFile: give either key or keyFile')
  const keys: (Uint8Array | null)[] = []
  if (keyFile === undefined) keys.push(key === null ? null : read('key', key))
  else keys.push(...linesOf(keyFile, faults).map((line) => read('keyFile', line)))
  keys.push(...olderKeys.map((text, index) => read(`olderKeys.${index}`, text)))
  return { keys, faults: [...new Set(faults)] }
}

/** The lines of a key file; empty, with a fault, if it cannot be read or has no keys. */
function linesOf(keyFile: string, faults: string[]): string[] {
  try {
    const lines = readFileSync(keyFile, 'utf8').split(/\r?\n/)
    const filled = lines.map((line) => line.trim()).filter((line) => line !== '')
    if (filled.length === 0) faults.push(`secrets.keyFile: ${keyFile} is empty`)
    return filled
  } catch (error) {
    const reason = (error as { code?: string }).code ?? 'no such file'
    faults.push(`secrets.keyFile: ${keyFile} cannot be read (${reason})`)
    return []
  }
}

/** A key as bytes; undefined if the text is invalid. */
function keyOfText(text: string): Uint8Array | undefined {
  if (/^[0-9a-f]{64}$/i.test(text)) return Buffer.from(text, 'hex')
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === KEY_BYTES ? bytes : undefined
}
