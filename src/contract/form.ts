// A form with files, independent of HTTP, and the body that a family reads from it. The files stay where they are: nothing here
// must read their bytes.

import type { TSchema } from '@sinclair/typebox'
import { invalidRequest } from '../lib/errors'
import { findDuplicate } from '../lib/field-names'
import type { Upload } from './family'

/** Maximum length of the caller's text that an error repeats, in characters. */
const MAX_SHOWN_LENGTH = 128

export interface Form {
  /**
   * The text fields. A list if the form has several with a bracketed name: `include[]`, or `include[0]` and `include[1]`.
   */
  fields: ReadonlyMap<string, string | readonly string[]>
  /** The files by field; `image`, `image[]` and `image[0]` are all the field `image`. */
  files: ReadonlyMap<string, readonly Upload[]>
  /** Bytes of all text fields. */
  textBytes: number
  /** Hash of the names and contents of all fields and files, independent of the boundary. */
  hash: string
  /** Removes the files from disk. */
  dispose(): Promise<void>
}

/**
 * The form as the object that a family's schema describes: files as arrays of uploads, and texts as numbers and booleans where the
 * schema expects them. Other texts stay, for the schema to refuse by name.
 */
export function bodyOfForm(form: Form, schema: TSchema): Record<string, unknown> {
  const properties = (schema.properties ?? {}) as Record<string, TSchema>
  const texts = [...form.fields].map(([name, text]) => [name, readField(name, text, properties[name])])
  // Built in one step, because a field may be called `__proto__`.
  return Object.fromEntries([...texts, ...form.files])
}

/**
 * The body in the form of JSON, for the same rules: `images[0][file_id]` and `images[0].file_id` are the member of an item, as most
 * servers parse them, and texts outside the schema are parsed as JSON. Throws 400 for a name that parsers read differently, and for
 * two names of the same place.
 */
export function readPlaces(body: Record<string, unknown>, schema: TSchema): Record<string, unknown> {
  const known = (schema.properties ?? {}) as Record<string, unknown>
  const root: Branch = new Map()
  for (const [name, value] of Object.entries(body)) {
    const steps = stepsOfName(name)
    const isKnown = steps.length === 1 && Object.hasOwn(known, name)
    addAt(root, steps, typeof value === 'string' && !isKnown ? readJson(name, value) : value, name)
  }
  return Object.fromEntries([...root].map(([name, value]) => [name, readBranch(value, name)]))
}

type Branch = Map<string, unknown>

const PLACE = /^[^[\].]+(?:\[[^[\]]*\]|\.[^[\].]+)*$/
const PLAIN_NAME = /^[\w-]+$/
const INDEX = /^\d*$/

/** The steps of a field name. Some servers ignore blanks and quotes around a word, and forms send quotes as `%22`. */
function stepsOfName(written: string): string[] {
  if (PLAIN_NAME.test(written)) return [written]
  const name = written.replaceAll('%22', '"')
  if (!PLACE.test(name))
    throw unclear(name, "its brackets or dots name no place: write it as 'field[0][member]'")
  const steps = [...name.matchAll(/\[([^[\]]*)\]|[^[\].]+/g)]
  return steps.map(([whole, inside]) => (inside ?? whole).trim().replace(/^(["'])(.*)\1$/s, '$2'))
}

function addAt(root: Branch, steps: readonly string[], value: unknown, name: string): void {
  let branch = root
  for (const step of steps.slice(0, -1)) {
    const next = branch.get(step) ?? new Map()
    if (!(next instanceof Map)) throw unclear(name, 'another field of the form has a value in its place')
    branch.set(step, next)
    branch = next
  }
  const last = steps.at(-1) as string
  if (branch.has(last)) throw unclear(name, 'another field of the form means the same place')
  branch.set(last, value)
}

/** A list if all steps are numbers or empty; otherwise an object. */
function readBranch(value: unknown, name: string): unknown {
  if (!(value instanceof Map)) return value
  const steps = [...(value as Branch).keys()]
  const numbers = steps.filter((step) => INDEX.test(step)).length
  if (numbers > 0 && numbers < steps.length) throw unclear(name, 'it is a list and an object at once')
  const members = [...(value as Branch)].map(([step, member]) => [step, readBranch(member, name)] as const)
  return numbers > 0 ? members.map(([, member]) => member) : Object.fromEntries(members)
}

function readJson(name: string, text: string): unknown {
  if (!/^\s*[{[]/.test(text)) return text
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  const twice = findDuplicate(text)
  if (twice !== undefined) throw unclear(name, `its JSON has '${twice.slice(0, MAX_SHOWN_LENGTH)}' twice`)
  return value
}

function unclear(name: string, why: string) {
  const shown = name.slice(0, MAX_SHOWN_LENGTH)
  return invalidRequest(shown, `Invalid form: the field '${shown}' can be read in more than one way: ${why}.`)
}

/**
 * A field by its schema: a single text becomes a list of one if the schema expects a list. Throws 400 for several texts if it does
 * not.
 */
function readField(name: string, text: string | readonly string[], schema: TSchema | undefined): unknown {
  const list = typesOf(schema).includes('array')
  if (typeof text === 'string') return list ? [text] : readValue(text, schema)
  if (list) return text
  throw invalidRequest(name, `The form has the field '${name}' twice.`, 'duplicate_field')
}

function readValue(text: string, schema: TSchema | undefined): unknown {
  const types = typesOf(schema)
  if ((types.includes('integer') || types.includes('number')) && /^-?\d{1,15}(\.\d{1,15})?$/.test(text)) {
    return Number(text)
  }
  if (types.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return text
}

function typesOf(schema: TSchema | undefined): unknown[] {
  if (!schema) return []
  return schema.anyOf ? (schema.anyOf as TSchema[]).flatMap(typesOf) : [schema.type]
}
