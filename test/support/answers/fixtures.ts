// Answers of vendors according to their documentation: test/fixtures/<family>/<case>.json. They must never be made by the code that
// they test.

import { resolve } from 'node:path'
import { Glob } from 'bun'
import type { Quantities } from '../../../src/contract/family'
import type { Json } from '../scenario'

export interface Fixture {
  family: string
  name: string
  about: string
  /** The caller's request without its model. */
  request: Record<string, Json>
  /** Files of a form: each is `png 64x48`, `jpeg` or `webp`, or audio such as `wav 9s`. */
  files?: Record<string, string[]>
  /** The vendor's reply, or the events of its stream. */
  reply?: Json
  events?: Json[]
  /** The bytes of a sound as base64, if the answer is neither. */
  sound?: string
  /** For a reply with the id of a task: the vendor's report of the ended task. */
  poll?: Json
  /** The vendor's answer to the call for the result, if that differs from the call for the state. */
  result?: Json
  /** For a family that translates: the request to the vendor without its model, and the caller's answer. */
  sent?: Json
  answer?: Json
  /** The charged quantities; absent if only an estimate is possible. */
  usage?: Quantities
  /** The source of these figures: the vendor, unless they can only be counted here. */
  source?: 'counted'
}

const FOLDER = resolve(import.meta.dir, '../../fixtures')

export const fixtures: readonly Fixture[] = await Promise.all(
  [...new Glob('*/*.json').scanSync(FOLDER)].sort().map(async (path) => {
    const [family = '', file = ''] = path.replaceAll('\\', '/').split('/')
    return { family, name: file.replace(/\.json$/, ''), ...(await Bun.file(`${FOLDER}/${path}`).json()) }
  }),
)
