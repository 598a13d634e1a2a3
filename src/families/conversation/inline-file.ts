// Files that a conversation contains itself, as data URLs. Nothing here must know a dialect or a protocol.

import type { ImagePart } from './conversation'

const DATA_URL = /^data:([a-z0-9.+/-]+)(?:;[a-z0-9-]+=[^;,]*)*;base64,/i
const TEXT = /^(?:text\/|application\/(?:json|xml|x-yaml|yaml)$)/

/** A file by its media type, in lower case, and its bytes in base64. */
export interface InlineFile {
  type: string
  data: string
}

/** The file in a data URL; undefined for an address. */
export function inlineFile({ url }: Pick<ImagePart, 'url'>): InlineFile | undefined {
  const [head = '', type] = DATA_URL.exec(url) ?? []
  return type === undefined ? undefined : { type: type.toLowerCase(), data: url.slice(head.length) }
}

/** The text of a file; undefined if its type is not text. */
export function textOfFile({ type, data }: InlineFile): string | undefined {
  return TEXT.test(type) ? Buffer.from(data, 'base64').toString('utf8') : undefined
}
