// Finds the top-level members of a JSON object, so that single fields can be edited in the caller's own text.
// Everything else stays as sent: large integers, `1.0`, key order, white space. It counts what the text contains before anything is
// built from it. It must never re-encode what it does not edit. It does not validate: JSON.parse does that.

/** Maximum nesting. Honest requests need less; deeper ones would slow other JSON code or overflow its stack. */
export const MAX_DEPTH = 128

/** The limits of one text. Each of these costs time to build and to check. */
export interface JsonLimits {
  /** Members of the outermost object. */
  fields: number
  /** Members of all objects together. */
  members: number
  /** Objects, arrays and strings that are values. */
  parts: number
  /** Values of any kind, numbers in arrays among them. */
  values: number
  /** Backslashes that escape a character. */
  escapes: number
  /** Characters outside of strings: numbers, white space, punctuation. */
  plainCharacters: number
}

export type JsonLimit = keyof JsonLimits

interface Member {
  /** Index of the opening quote of the key. */
  start: number
  valueStart: number
  /** Index after the value's last character. */
  valueEnd: number
}

export interface ScannedObject {
  members: Map<string, Member>
  /** Members of all objects in the text, including the outermost, each as often as it is written. */
  memberCount: number
  /** Index of the closing brace. */
  end: number
}

type Scan =
  | ScannedObject
  | { fault: 'not an object' }
  | { fault: 'too deep'; key: string }
  | { fault: 'duplicate key'; key: string }
  /** `key` is the field in which the limit was exceeded. */
  | { fault: 'too much'; limit: JsonLimit; key: string | undefined }

export interface Edit {
  /** Members to set, as JSON text. An existing value is replaced in place. */
  set?: Record<string, string>
  drop?: readonly string[]
  /** Members that are objects, which are edited in their own text. A member that is not an object is replaced. */
  inside?: Record<string, Edit>
}

const QUOTE = 34
const BACKSLASH = 92
const OPEN_BRACE = 123
const CLOSE_BRACE = 125
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const COMMA = 44
const COLON = 58

const UNLIMITED: JsonLimits = {
  fields: Number.POSITIVE_INFINITY,
  members: Number.POSITIVE_INFINITY,
  parts: Number.POSITIVE_INFINITY,
  values: Number.POSITIVE_INFINITY,
  escapes: Number.POSITIVE_INFINITY,
  plainCharacters: Number.POSITIVE_INFINITY,
}

/** The counts so far. */
interface Count {
  limits: JsonLimits
  members: number
  parts: number
  values: number
  /** Characters in strings, quotes included. */
  quoted: number
  /** The index where the scan stopped early. */
  stoppedAt: number
}

const NOT_AN_OBJECT = { fault: 'not an object' } as const

/** Finds the members of the object in `text`, in one pass that skips strings at native speed. */
export function scanObject(text: string, limits: JsonLimits = UNLIMITED): Scan {
  const count: Count = { limits, members: 0, parts: 0, values: 0, quoted: 0, stoppedAt: 0 }
  const members = new Map<string, Member>()
  if (hasMoreEscapes(text, limits.escapes)) return { fault: 'too much', limit: 'escapes', key: undefined }
  let at = skipSpace(text, 0, count)
  if (text.charCodeAt(at) !== OPEN_BRACE) return failure(count, at)
  at = skipSpace(text, at + 1, count)
  if (text.charCodeAt(at) === CLOSE_BRACE) return finished(text, members, count, at)
  for (;;) {
    if (text.charCodeAt(at) !== QUOTE) return failure(count, at)
    const keyEnd = skipString(text, at)
    const key = decodeKey(text.slice(at, keyEnd))
    count.quoted += keyEnd - at
    const colon = skipSpace(text, keyEnd, count)
    if (key === undefined || text.charCodeAt(colon) !== COLON) return failure(count, colon)
    // With two members of the same name, the gateway and the vendor could read different requests.
    if (members.has(key)) return { fault: 'duplicate key', key }
    if (members.size === limits.fields) return { fault: 'too much', limit: 'fields', key: undefined }
    count.members++
    count.values++
    const valueStart = skipSpace(text, colon + 1, count)
    const valueEnd = skipValue(text, valueStart, count)
    if (valueEnd === TOO_DEEP) return { fault: 'too deep', key }
    if (valueEnd === NO_VALUE) return failure(count, Math.max(count.stoppedAt, valueStart), key)
    members.set(key, { start: at, valueStart, valueEnd })
    at = skipSpace(text, valueEnd, count)
    const next = text.charCodeAt(at)
    if (next === CLOSE_BRACE) return finished(text, members, count, at)
    if (next !== COMMA) return failure(count, at, key)
    at = skipSpace(text, at + 1, count)
  }
}

/** The text of a field's value, read from the beginning of an object's text; undefined if it is not complete there. */
export function leadingField(text: string, name: string): string | undefined {
  const count: Count = { limits: UNLIMITED, members: 0, parts: 0, values: 0, quoted: 0, stoppedAt: 0 }
  let at = skipSpace(text, 0, count)
  if (text.charCodeAt(at) !== OPEN_BRACE) return undefined
  do {
    at = skipSpace(text, at + 1, count)
    if (text.charCodeAt(at) !== QUOTE) return undefined
    const keyEnd = skipString(text, at)
    const key = decodeKey(text.slice(at, keyEnd))
    const colon = skipSpace(text, keyEnd, count)
    const valueStart = skipSpace(text, colon + 1, count)
    const valueEnd = skipValue(text, valueStart, count)
    if (text.charCodeAt(colon) !== COLON || valueEnd < 0) return undefined
    at = skipSpace(text, valueEnd, count)
    const next = text.charCodeAt(at)
    if (next !== COMMA && next !== CLOSE_BRACE) return undefined
    if (key === name) return text.slice(valueStart, valueEnd)
  } while (text.charCodeAt(at) === COMMA)
  return undefined
}

function finished(text: string, members: Map<string, Member>, count: Count, end: number): Scan {
  // JSON.parse refuses text after the object, unless there is too much of it to read.
  const limit = passedLimit(count, text.length - 1)
  if (limit !== undefined) return { fault: 'too much', limit, key: undefined }
  return { members, memberCount: count.members, end }
}

function failure(count: Count, at: number, key?: string): Scan {
  const limit = passedLimit(count, at)
  return limit === undefined ? NOT_AN_OBJECT : { fault: 'too much', limit, key }
}

/** The limit that is exceeded up to an index of the text; undefined if none is. */
function passedLimit({ limits, members, parts, values, quoted }: Count, at: number): JsonLimit | undefined {
  if (members > limits.members) return 'members'
  if (parts > limits.parts) return 'parts'
  if (values > limits.values) return 'values'
  return at - quoted >= limits.plainCharacters ? 'plainCharacters' : undefined
}

function hasMoreEscapes(text: string, most: number): boolean {
  // An escape takes two characters, so only large texts can have too many.
  if (text.length <= 2 * most) return false
  let escapes = 0
  for (let at = text.indexOf('\\'); at !== -1; at = text.indexOf('\\', at + 2)) {
    if (++escapes > most) return true
  }
  return false
}

const NOTHING: ReadonlySet<string> = new Set()

/** `text` with some members set or dropped and every other character unchanged. */
export function editObject(text: string, scan: ScannedObject, edit: Edit): string {
  const drop = edit.drop?.length ? new Set(edit.drop) : NOTHING
  let added = ''
  const changes: { from: number; to: number; put: string }[] = []
  for (const key in edit.set) {
    const member = scan.members.get(key)
    const value = edit.set[key] as string
    if (member && !drop.has(key)) changes.push({ from: member.valueStart, to: member.valueEnd, put: value })
    else added += `,${JSON.stringify(key)}:${value}`
  }
  for (const key in edit.inside) {
    const member = scan.members.get(key)
    const value = editedMember(text, member, edit.inside[key] as Edit)
    if (member) changes.push({ from: member.valueStart, to: member.valueEnd, put: value })
    else added += `,${JSON.stringify(key)}:${value}`
  }
  const kept = drop.size === 0 ? scan.members.size : addDrops(changes, scan, drop)
  if (added) changes.push({ from: scan.end, to: scan.end, put: kept === 0 ? added.slice(1) : added })
  if (changes.length > 1) changes.sort((a, b) => a.from - b.from)
  let result = ''
  let at = 0
  for (const { from, to, put } of changes) {
    result += text.slice(at, from) + put
    at = to
  }
  return result + text.slice(at)
}

function editedMember(text: string, member: Member | undefined, edit: Edit): string {
  const value = member ? text.slice(member.valueStart, member.valueEnd) : '{}'
  const scan = scanObject(value)
  return 'members' in scan ? editObject(value, scan, edit) : editedMember('', undefined, edit)
}

/** Adds the removal of each dropped member with one comma. Returns how many members stay. */
function addDrops(
  changes: { from: number; to: number; put: string }[],
  scan: ScannedObject,
  drop: ReadonlySet<string>,
): number {
  let kept = 0
  let previousEnd = -1
  for (const [key, { start, valueEnd }] of scan.members) {
    if (!drop.has(key)) {
      // The first member that stays loses the comma in front of it.
      if (kept === 0 && previousEnd !== -1) changes.push({ from: previousEnd, to: start, put: '' })
      kept++
    } else {
      // A dropped member is removed with everything between it and the previous member.
      changes.push({ from: previousEnd === -1 ? start : previousEnd, to: valueEnd, put: '' })
    }
    previousEnd = valueEnd
  }
  return kept
}

export function decodeKey(quoted: string): string | undefined {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted)
  } catch {
    return undefined
  }
}

/** The index of the next character that is not white space, or that exceeds the limit outside of strings. */
function skipSpace(text: string, from: number, { limits, quoted }: Count): number {
  const most = limits.plainCharacters + quoted
  let at = from
  for (; at <= most; at++) {
    const code = text.charCodeAt(at)
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return at
  }
  return at
}

/** The index after the string that opens at `at`; the text's length if it never closes. */
export function skipString(text: string, at: number): number {
  let from = at + 1
  for (;;) {
    const quote = text.indexOf('"', from)
    if (quote === -1) return text.length
    let slashes = 0
    while (text.charCodeAt(quote - 1 - slashes) === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote + 1
    from = quote + 1
  }
}

const NO_VALUE = -1
const TOO_DEEP = -2

/**
 * The index after the value at `at`; NO_VALUE if no value begins there or a limit is exceeded, TOO_DEEP if it is too deeply nested.
 */
function skipValue(text: string, at: number, count: Count): number {
  const first = text.charCodeAt(at)
  if (first === QUOTE) {
    const end = skipString(text, at)
    count.quoted += end - at
    count.parts++
    return end
  }
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return skipNested(text, at, count)
  const most = Math.min(text.length, count.limits.plainCharacters + count.quoted)
  let index = at
  for (; index < most; index++) {
    const code = text.charCodeAt(index)
    if (code === COMMA || code === CLOSE_BRACE || code <= 32) break
  }
  return index === at ? NO_VALUE : index
}

/** Skips an object or array. The hottest loop, so it keeps its counts in local variables. */
function skipNested(text: string, at: number, count: Count): number {
  const { limits } = count
  let { members, parts, values, quoted } = count
  let depth = 0
  let index = at
  let result = NO_VALUE
  let most = Math.min(text.length, limits.plainCharacters + quoted)
  while (index < most) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) {
      const end = skipString(text, index)
      quoted += end - index
      most = Math.min(text.length, limits.plainCharacters + quoted)
      index = end
      // Keys are counted as parts too; each colon takes one off.
      if (++parts > limits.parts + 1) break
      continue
    }
    if (code === COMMA) {
      if (++values > limits.values) break
    } else if (code === COLON) {
      parts--
      if (++members > limits.members) break
    } else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      // The outermost object is the first level.
      if (++depth >= MAX_DEPTH) {
        result = TOO_DEEP
        break
      }
      values++
      if (++parts > limits.parts) break
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (--depth === 0) {
        result = index + 1
        break
      }
    }
    index++
  }
  count.members = members
  count.parts = parts
  count.values = values
  count.quoted = quoted
  count.stoppedAt = index
  return result
}

/** The text with the strings that are keys of the map replaced, however they are escaped. */
export function replaceStrings(text: string, replacements: ReadonlyMap<string, string>): string {
  if (replacements.size === 0) return text
  let result = ''
  let copied = 0
  for (let at = text.indexOf('"'); at !== -1; ) {
    const end = skipString(text, at)
    const replacement = replacements.get(decodeKey(text.slice(at, end)) ?? '')
    if (replacement !== undefined) {
      result += text.slice(copied, at) + JSON.stringify(replacement)
      copied = end
    }
    at = text.indexOf('"', end)
  }
  return result + text.slice(copied)
}

/** Length of a text whose deepest nesting, half as many levels, is harmless. Most events of streams are shorter. */
const SHALLOW_LENGTH = 1024

/** Thrown for a value nested deeper than MAX_DEPTH. */
export class TooDeep extends Error {}

/**
 * Parses external JSON, such as a vendor's. Throws TooDeep if recursive code could overflow the stack.
 */
export function parseForeign(text: string): unknown {
  const value: unknown = JSON.parse(text)
  // A text that is short or has few opening brackets cannot be deep, and few texts have many.
  if (text.length > SHALLOW_LENGTH && hasBrackets(text, MAX_DEPTH) && isDeeper(value, MAX_DEPTH))
    throw new TooDeep('the JSON is nested too deeply')
  return value
}

/** Whether the text has more than `most` opening brackets, those in strings included. */
function hasBrackets(text: string, most: number): boolean {
  let count = 0
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      count++
      if (count > most) return true
    }
  }
  return false
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object' && isDeeper(item, levels - 1)) return true
    return false
  }
  for (const key in value) if (isDeeper((value as Record<string, unknown>)[key], levels - 1)) return true
  return false
}
