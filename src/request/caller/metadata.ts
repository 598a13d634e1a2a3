// Metadata of a request, by which its usage is counted: from a header, or from the body. Only names of the configuration are read,
// and a value is truncated at a maximum length. It must never be sent to a vendor from here.

import { asObject } from '../../lib/objects'

/** Maximum length of a stored value, in characters. */
const MAX_VALUE_LENGTH = 64
/** Maximum length of a header that is read, in characters. */
const MAX_HEADER_LENGTH = 4_096

/** The configured metadata as JSON with its names in order; undefined if the request has none. */
export function metadataOf(
  names: readonly string[],
  body: unknown,
  header: string | null | undefined,
): string | undefined {
  const given = header ? valuesOfHeader(header) : undefined
  const { metadata, user } = (body ?? {}) as { metadata?: unknown; user?: unknown }
  const sent = asObject(metadata)
  const found: [string, string][] = []
  for (const name of names) {
    // Clients of messages name their user in a field of their metadata.
    const own = name === 'user' ? (sent.user ?? user ?? sent.user_id) : sent[name]
    const value = metadataValue(given?.[name] ?? own)
    if (value !== undefined) found.push([name, value])
  }
  if (found.length === 0) return undefined
  found.sort(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify(Object.fromEntries(found))
}

/** Values of a header: a JSON object, or `team=search, project=x`. */
export function valuesOfHeader(header: string): Record<string, unknown> {
  if (header.length > MAX_HEADER_LENGTH) return {}
  if (header.trimStart().startsWith('{')) {
    try {
      return asObject(JSON.parse(header))
    } catch {
      return {}
    }
  }
  const pairs = header.split(',').map((pair) => pair.split('='))
  return Object.fromEntries(
    pairs.flatMap(([name = '', ...value]) => (value.length > 0 ? [[name.trim(), value.join('=')]] : [])),
  )
}

/** A value as it is stored: one line of limited length; undefined if it is not a plain value, or empty. */
export function metadataValue(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
  const text = String(value)
    .slice(0, 4 * MAX_VALUE_LENGTH)
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is replaced
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\s]+/g, ' ')
    .trim()
    .slice(0, MAX_VALUE_LENGTH)
    .toWellFormed()
  return text === '' ? undefined : text
}
