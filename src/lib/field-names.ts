// Finds field names that two readers of one body could take differently: a name that appears twice in an object (parsers
// keep the first, the last or both), and a name that differs from a known field only by case (Go's encoding/json
// accepts it). What is billed must never differ from what any reader of the body sees. Free-form objects, such as JSON schemas, may
// use any name, but none twice.

import type { TSchema } from '@sinclair/typebox'
import { decodeKey, skipString } from './json/json'

/** The number of members of all objects in a parsed value. Fewer than in the text means that a name appears twice. */
export function countMembers(value: unknown): number {
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object' && item !== null) count += countMembers(item)
    return count
  }
  for (const name in value as Record<string, unknown>) {
    count++
    const member = (value as Record<string, unknown>)[name]
    if (typeof member === 'object' && member !== null) count += countMembers(member)
  }
  return count
}

/** An object or array that is open at some position of the text, and the key or index there. */
interface Level {
  /** Undefined for an array. */
  names: Set<string> | undefined
  name: string
  index: number
}

/**
 * The path of the first field, such as `messages[0].content`, that appears twice in its object. `text` must be valid
 * JSON.
 */
export function findDuplicate(text: string): string | undefined {
  const levels: Level[] = []
  let wantsName = false
  for (let at = 0; at < text.length; at++) {
    const code = text[at]
    const level = levels.at(-1)
    if (code === '"') {
      const end = skipString(text, at)
      if (wantsName && level?.names) {
        level.name = decodeKey(text.slice(at, end)) ?? ''
        if (level.names.has(level.name)) return pathOf(levels)
        level.names.add(level.name)
        wantsName = false
      }
      at = end - 1
    } else if (code === '{' || code === '[') {
      wantsName = code === '{'
      levels.push({ names: wantsName ? new Set() : undefined, name: '', index: 0 })
    } else if (code === '}' || code === ']') {
      levels.pop()
      wantsName = false
    } else if (code === ',' && level) {
      wantsName = level.names !== undefined
      level.index++
    }
  }
  return undefined
}

function pathOf(levels: readonly Level[]): string {
  let path = ''
  for (const { names, name, index } of levels) path = names ? joined(path, name) : `${path}[${index}]`
  return path
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

/**
 * The names that a schema knows in an object, or in the items of an array. An object without described members accepts
 * any name.
 */
export interface KnownNames {
  members: ReadonlyMap<string, KnownNames | undefined>
  /** Known names by their folded form. */
  folded: ReadonlyMap<string, string>
  items: KnownNames | undefined
}

export interface Variant {
  /** The path of the name, as the caller wrote it. */
  path: string
  /** The known name that differs only by case. */
  known: string
}

/**
 * The names known to a schema; undefined if it has none. `paths` are fields that the schema leaves open:
 * `messages[].audio`.
 */
export function knownNamesOf(schema: TSchema, paths: readonly string[] = []): KnownNames | undefined {
  return paths.reduce((all, path) => merged(all, namesOfPath(stepsOf(path))), namesOfSchema(schema))
}

/**
 * The steps of a path: `messages[].audio` is `messages`, `[]`, `audio`. Text after a space is a type, for readers only.
 */
export function stepsOf(path: string): string[] {
  return (path.split(' ')[0] as string).replaceAll('[]', '.[]').split('.')
}

function namesOfSchema(schema: TSchema): KnownNames | undefined {
  const variants = variantsOf(schema)
  const members = new Map<string, KnownNames | undefined>()
  for (const { properties } of variants) {
    for (const [name, member] of Object.entries((properties ?? {}) as Record<string, TSchema>)) {
      members.set(name, merged(members.get(name), namesOfSchema(member)))
    }
  }
  const items = variants.reduce<KnownNames | undefined>(
    (all, variant) => (variant.items ? merged(all, namesOfSchema(variant.items as TSchema)) : all),
    undefined,
  )
  return members.size === 0 && !items ? undefined : namesOf(members, items)
}

function namesOfPath([step, ...steps]: readonly string[]): KnownNames | undefined {
  if (step === undefined) return undefined
  const inner = namesOfPath(steps)
  return step === '[]' ? namesOf(new Map(), inner) : namesOf(new Map([[step, inner]]), undefined)
}

/** The simple alternatives of a schema, including those of nested unions. */
function variantsOf(schema: TSchema): TSchema[] {
  return schema.anyOf ? (schema.anyOf as TSchema[]).flatMap(variantsOf) : [schema]
}

function namesOf(members: ReadonlyMap<string, KnownNames | undefined>, items: KnownNames | undefined) {
  return { members, items, folded: new Map([...members.keys()].map((name) => [fold(name), name])) }
}

function merged(one: KnownNames | undefined, other: KnownNames | undefined): KnownNames | undefined {
  if (!one || !other) return one ?? other
  const members = new Map(one.members)
  for (const [name, inner] of other.members) members.set(name, merged(members.get(name), inner))
  return namesOf(members, merged(one.items, other.items))
}

/** Longer names match no known name and would be slow to compare. */
const MAX_COMPARED_LENGTH = 256

/** The first name that differs only by case from a known name, or from another name of the same object. */
export function findVariant(value: unknown, known: KnownNames): Variant | undefined {
  if (Array.isArray(value)) {
    if (!known.items) return undefined
    for (let index = 0; index < value.length; index++) {
      const item: unknown = value[index]
      if (typeof item !== 'object' || item === null) continue
      const found = findVariant(item, known.items)
      if (found) return { ...found, path: behind(`[${index}]`, found.path) }
    }
    return undefined
  }
  if (known.members.size === 0) return undefined
  let others: Map<string, string> | undefined
  for (const name in value as Record<string, unknown>) {
    if (!known.members.has(name)) {
      if (name.length > MAX_COMPARED_LENGTH) continue
      const folded = fold(name)
      const equal = known.folded.get(folded) ?? others?.get(folded)
      if (equal !== undefined) return { path: name, known: equal }
      others ??= new Map()
      others.set(folded, name)
      continue
    }
    const names = known.members.get(name)
    const member = names && (value as Record<string, unknown>)[name]
    if (typeof member !== 'object' || member === null || !names) continue
    const found = findVariant(member, names)
    if (found) return { ...found, path: behind(name, found.path) }
  }
  return undefined
}

/** Called only if there is a fault, so that most requests build no path texts. */
function behind(place: string, path: string): string {
  return path.startsWith('[') ? place + path : `${place}.${path}`
}

/**
 * Folds a name so that all spellings that some reader treats as equal become equal. Upper case comes first, for `ſ` and the Kelvin
 * sign.
 */
export function fold(name: string): string {
  return name.toUpperCase().toLowerCase()
}
