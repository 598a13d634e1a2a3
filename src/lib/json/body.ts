// Reads JSON from callers. Every entrance that accepts JSON uses it. It must never build a value before its cost has been counted
// on the text, or accept a name that readers could understand differently.

import { type GatewayError, invalidRequest } from '../errors'
import { countMembers, findDuplicate } from '../field-names'
import {
  type JsonLimit,
  type JsonLimits,
  leadingField,
  MAX_DEPTH,
  type ScannedObject,
  scanObject,
} from './json'

/**
 * Limits above those of honest requests (128 tools with large schemas, thousands of messages, 300,000 tokens as numbers). A body
 * within them is read in 5 to 20 ms.
 */
export const BODY_LIMITS: JsonLimits = {
  fields: 1_000,
  members: 40_000,
  parts: 60_000,
  values: 500_000,
  escapes: 1_000_000,
  plainCharacters: 4 * 1024 * 1024,
}

/** A body as text, with the position of each field. */
export interface JsonBody {
  text: string
  scanned: ScannedObject
}

/** Maximum length of the caller's text that an error repeats, in characters. */
const MAX_SHOWN_LENGTH = 128

const decoder = new TextDecoder('utf-8', { fatal: true })

/** Scans a body. Throws 400 if it is not a JSON object or exceeds the limits. The text may still be invalid JSON. */
export function scanBody(bytes: Uint8Array): JsonBody {
  const text = decode(bytes)
  const scanned = scanObject(text, BODY_LIMITS)
  if ('members' in scanned) return { text, scanned }
  if (scanned.fault === 'not an object') throw notJson('The body is not a JSON object.')
  const field = shown(scanned.key)
  if (scanned.fault === 'too deep') {
    throw invalidRequest(field, `The field '${field}' nests more than ${MAX_DEPTH} levels deep.`, 'too_deep')
  }
  if (scanned.fault === 'duplicate key') throw duplicate(field ?? '')
  throw tooComplex(scanned.limit, field)
}

/** The 400 for a body that exceeds a limit. `field` is where, if known. */
export function tooComplex(limit: JsonLimit, field: string | null = null): GatewayError {
  const place = field === null ? '' : ` (it is in the field '${field}')`
  return invalidRequest(
    field,
    `The body has more than ${BODY_LIMITS[limit].toLocaleString('en-US')} ${limitWords[limit]}, the most that is read${place}. Send less in one request; a repeat of the same cannot help.`,
    'body_too_complex',
  )
}

/** One field of a body before the rest is parsed; undefined if absent. */
export function fieldOf({ text, scanned }: JsonBody, name: string): unknown {
  const member = scanned.members.get(name)
  return member && parse(text.slice(member.valueStart, member.valueEnd))
}

/** A field of plain letters, read from the beginning of a body that is still arriving; undefined if not found there. */
export function leadingText(beginning: Uint8Array, name: string): string | undefined {
  // Latin-1 is one character per byte: the piece may end in the middle of a letter.
  const quoted = leadingField(Buffer.from(beginning).toString('latin1'), name)
  return quoted && /^"[\w .:/-]*"$/.test(quoted) ? quoted.slice(1, -1) : undefined
}

/** Parses a scanned body. Throws 400 for invalid JSON and for a name that appears twice in one object. */
export function parseBody({ text, scanned }: JsonBody): Record<string, unknown> {
  const body = parse(text) as Record<string, unknown>
  // The parser keeps one member of each name.
  if (countMembers(body) !== scanned.memberCount) throw duplicate(shown(findDuplicate(text)) ?? '')
  return body
}

const limitWords: Readonly<Record<JsonLimit, string>> = {
  fields: 'fields',
  members: 'members in its objects',
  parts: 'objects, arrays and texts',
  values: 'values',
  escapes: 'escaped characters in its texts',
  plainCharacters: 'characters outside of its texts',
}

function decode(bytes: Uint8Array): string {
  if (bytes.byteLength === 0) throw notJson('The body is empty: send a JSON object.')
  try {
    return decoder.decode(bytes)
  } catch {
    throw notJson('The body is not valid UTF-8.')
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw notJson('The body is not valid JSON.')
  }
}

function shown(name: string | undefined): string | null {
  return name?.slice(0, MAX_SHOWN_LENGTH) ?? null
}

function duplicate(field: string): GatewayError {
  return invalidRequest(field, `The body has the field '${field}' twice.`, 'duplicate_field')
}

function notJson(message: string): GatewayError {
  return invalidRequest(null, message, 'invalid_json')
}
