// The identity of this program: its version, the commit from which it was built, and its schema. It must never be read from a
// database or a file of the machine.

import { version } from '../../../package.json'
import { migrations } from './steps'

/** Set by the build; absent if the program runs from its source. */
declare const GATEWAY_COMMIT: string | undefined

export interface Program {
  version: string
  /** The first digits of the commit; `source` if the program was not built. */
  commit: string
  /** The number of its schema. */
  schema: number
}

/** The program as built. */
export const built = { version, commit: typeof GATEWAY_COMMIT === 'string' ? GATEWAY_COMMIT : 'source' }

export function program(): Program {
  return { ...built, schema: migrations.length }
}

/** `1.0.0 (schema 1, commit 1f3a5b7c9d11)`. */
export function programText({ version, commit, schema } = program()): string {
  return `${version} (schema ${schema}, ${commit === 'source' ? 'from source' : `commit ${commit}`})`
}
