// Parts of a faulty configuration that a command on the database can use. It must never lead to a database other than the one that
// the file names, and no faulty setting may be read.

import { extname } from 'node:path'
import { type Config, settingTables } from '../../src/config/schema'
import { isObject } from '../../src/lib/objects'
import { nearNames } from '../lib/near-names'
import { PROGRAMS } from './config-file'

const SETTINGS = Object.keys(settingTables[0].schema.properties)
/** Settings that decide which database is opened, and how. */
const OF_DATABASE: readonly string[] = ['database', 'databaseReplica', 'secrets']
const ADDRESS = /postgres(ql)?:\/\//i
const COMMENT_LINES = /^\s*(\/\/|#).*$/gm
const TYPE_IMPORTS = /\bimport\s+type\b[^'"]*/g
/** How a program reads another file. Its own text then does not show all settings. */
const READS_FILES = /\b(import|require|Bun)\b|\bfrom\s*['"]/

/**
 * A configuration whose faulty settings throw `failure` when they are read. Undefined if one of the faults may concern the
 * database.
 */
export function withoutFaulty(value: unknown, faults: readonly string[], failure: Error): Config | undefined {
  if (!isObject(value)) return undefined
  const faulty = faults.map((fault) => /^\w*/.exec(fault)?.[0] ?? '')
  if (faulty.some((name) => mayConcernDatabase(name, value[name]))) return undefined
  return throwing(value, faulty, failure)
}

function mayConcernDatabase(name: string, setting: unknown): boolean {
  if (OF_DATABASE.includes(name)) return true
  // The address may be in a wrong place.
  if (ADDRESS.test(Bun.inspect(setting, { depth: 8 }))) return true
  if (SETTINGS.includes(name)) return false
  // A misspelt name. Without a value, its intended meaning is unknown.
  return setting === undefined || nearNames(name, OF_DATABASE).length > 0
}

/**
 * The configuration of a file that could not be loaded: `known` are its settings from elsewhere. A setting that the text of the
 * file may contain throws `failure` when it is read.
 */
export function withoutFile(known: Partial<Config>, file: string, text: string, failure: Error): Config {
  const unknown = SETTINGS.filter((name) => !OF_DATABASE.includes(name) && mayName(file, text, name))
  return throwing(known, [...unknown, 'upstreams', 'models'], failure)
}

/** Whether the text of a file that could not be loaded may have a setting. */
export function mayName(file: string, text: string, setting: string): boolean {
  const written = text.replaceAll(COMMENT_LINES, '')
  if (
    PROGRAMS.includes(extname(file).toLowerCase()) &&
    READS_FILES.test(written.replaceAll(TYPE_IMPORTS, ''))
  )
    return true
  return new RegExp(`(?<![a-z])${setting}(?![a-z])`, 'i').test(written)
}

function throwing(value: object, names: readonly string[], failure: Error): Config {
  const property = {
    enumerable: true,
    get() {
      throw failure
    },
  }
  const properties = Object.fromEntries(names.map((name) => [name, property]))
  return Object.defineProperties({ ...value }, properties) as Config
}
