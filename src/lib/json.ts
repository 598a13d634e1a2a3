// Reads where the top-level members of a JSON object stand, so that single fields can be edited in the
// caller's own text and everything else stays as it was sent: big integers, `1.0`, key order, white space.
// It must never re-encode what it does not edit. It does not validate: JSON.parse does that.

/** Nesting that no honest request needs, and that would make other JSON code slow or overflow its stack. */
export const MAX_DEPTH = 128

interface Member {
  /** Index of the opening quote of the key. */
  start: number
  valueStart: number
  /** Index after the value's last character. */
  valueEnd: number
}

export interface ScannedObject {
  members: Map<string, Member>
  /** Index of the closing brace. */
  end: number
}

type Scan = ScannedObject | { fault: 'not an object' | 'too deep' | 'duplicate key'; key?: string }

export interface Edit {
  /** Members to set, as JSON text; an existing value is replaced in place. */
  set?: Record<string, string>
  drop?: readonly string[]
}

const QUOTE = 34
const BACKSLASH = 92
const OPEN_BRACE = 123
const CLOSE_BRACE = 125
const OPEN_BRACKET = 91
const CLOSE_BRACKET = 93
const COMMA = 44
const COLON = 58

/** Finds the members of the object that `text` is, in one pass that skips strings at native speed. */
export function scanObject(text: string): Scan {
  let at = skipSpace(text, 0)
  if (text.charCodeAt(at) !== OPEN_BRACE) return { fault: 'not an object' }
  const members = new Map<string, Member>()
  at = skipSpace(text, at + 1)
  if (text.charCodeAt(at) === CLOSE_BRACE) return { members, end: at }
  for (;;) {
    if (text.charCodeAt(at) !== QUOTE) return { fault: 'not an object' }
    const keyEnd = skipString(text, at)
    const key = decodeKey(text.slice(at, keyEnd))
    const colon = skipSpace(text, keyEnd)
    if (key === undefined || text.charCodeAt(colon) !== COLON) return { fault: 'not an object' }
    // A second member of the same name would let us and the vendor read two different requests.
    if (members.has(key)) return { fault: 'duplicate key', key }
    const valueStart = skipSpace(text, colon + 1)
    const valueEnd = skipValue(text, valueStart)
    if (valueEnd === -1) return { fault: 'not an object' }
    if (valueEnd === -2) return { fault: 'too deep', key }
    members.set(key, { start: at, valueStart, valueEnd })
    at = skipSpace(text, valueEnd)
    const next = text.charCodeAt(at)
    if (next === CLOSE_BRACE) return { members, end: at }
    if (next !== COMMA) return { fault: 'not an object' }
    at = skipSpace(text, at + 1)
  }
}

const NOTHING: ReadonlySet<string> = new Set()

/** `text` with single members set or dropped and every other character untouched. */
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
  const kept = drop.size === 0 ? scan.members.size : addDrops(changes, scan, drop)
  if (added) changes.push({ from: scan.end, to: scan.end, put: kept === 0 ? added.slice(1) : added })
  changes.sort((a, b) => a.from - b.from)
  let result = ''
  let at = 0
  for (const { from, to, put } of changes) {
    result += text.slice(at, from) + put
    at = to
  }
  return result + text.slice(at)
}

/** Adds the removal of each dropped member with one comma beside it. Answers how many members stay. */
function addDrops(
  changes: { from: number; to: number; put: string }[],
  scan: ScannedObject,
  drop: ReadonlySet<string>,
): number {
  let kept = 0
  let previousEnd = -1
  for (const [key, { start, valueEnd }] of scan.members) {
    if (!drop.has(key)) {
      // The first one that stays loses the comma in front of it.
      if (kept === 0 && previousEnd !== -1) changes.push({ from: previousEnd, to: start, put: '' })
      kept++
    } else {
      // What is dropped goes with all that stands between it and the member before.
      changes.push({ from: previousEnd === -1 ? start : previousEnd, to: valueEnd, put: '' })
    }
    previousEnd = valueEnd
  }
  return kept
}

function decodeKey(quoted: string): string | undefined {
  if (!quoted.includes('\\')) return quoted.slice(1, -1)
  try {
    return JSON.parse(quoted)
  } catch {
    return undefined
  }
}

function skipSpace(text: string, at: number): number {
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return at
    at++
  }
}

/** The index after the string that opens at `at`; the text's length when it never closes. */
function skipString(text: string, at: number): number {
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

/** The index after the value at `at`; -1 when there is none, -2 when it nests too deep. */
function skipValue(text: string, at: number): number {
  const first = text.charCodeAt(at)
  if (first === QUOTE) return skipString(text, at)
  if (first === OPEN_BRACE || first === OPEN_BRACKET) return skipNested(text, at)
  let index = at
  for (; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === COMMA || code === CLOSE_BRACE || code <= 32) break
  }
  return index === at ? -1 : index
}

function skipNested(text: string, at: number): number {
  let depth = 0
  let index = at
  while (index < text.length) {
    const code = text.charCodeAt(index)
    if (code === QUOTE) {
      index = skipString(text, index)
      continue
    }
    if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      // The object around all members is the first level.
      if (++depth >= MAX_DEPTH) return -2
    } else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) {
      if (--depth === 0) return index + 1
    }
    index++
  }
  return -1
}

/** The text with other strings in the place of those that are keys of the map, however they are escaped in it. */
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
