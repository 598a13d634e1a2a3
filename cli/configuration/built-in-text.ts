// Reads the text of the built-in catalogue while the program is built: a macro, whose result is in the executable. It must not
// be called at run time, when there is no such file.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The file gateway.config.ts. */
export function readBuiltInText(): string {
  return readFileSync(join(import.meta.dir, '../../gateway.config.ts'), 'utf8')
}
