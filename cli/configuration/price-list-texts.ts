// Reads the lists in prices/ while the program is built: a macro, whose result is part of the executable. It must not be called at
// run time, when there is no such folder.

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dir, '../../prices')

/** The texts of the lists, by the kind of upstream. */
export function readPriceLists(): Record<string, string> {
  const files = readdirSync(FOLDER).filter((name) => name !== 'accepted.json')
  return Object.fromEntries(
    files.sort().map((name) => [name.replace('.json', ''), readFileSync(join(FOLDER, name), 'utf8')]),
  )
}
