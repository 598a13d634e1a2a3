// Reads the blocks of a messages request as parts of a conversation. Blocks that only Anthropic's API has a form for are refused
// with their place.

import { type GatewayError, invalidRequest } from '../../../lib/errors'
import { isObject } from '../../../lib/objects'
import type { CacheMark, DocumentPart, ImagePart, Part, TextPart } from '../../conversation/conversation'

type Fields = Record<string, unknown>

/** A block and its place in the request. */
export interface Placed {
  block: Fields
  at: string
}

const BLANK_LINE = '\n\n'

/** The parts of a block of a user, or of the result of a tool. The last of them has the mark of the block. */
export function partsOf({ block, at }: Placed): Part[] {
  const parts = unmarkedParts({ block, at })
  const last = parts.at(-1)
  const mark = cacheMarkOf(block)
  return last && mark.cache ? [...parts.slice(0, -1), { ...last, ...mark }] : parts
}

function unmarkedParts({ block, at }: Placed): Part[] {
  switch (block.type) {
    case 'text':
    case 'compaction':
      return textPart(wordsOf({ block, at }), at)
    case 'image':
      return [{ type: 'image', ...pictureOf(objectAt(block, 'source', at), at), at } satisfies ImagePart]
    case 'document':
      return documentParts(block, objectAt(block, 'source', at), at)
    case 'search_result': {
      const found = placed(block.content, `${at}.content`)
      const texts = found.map((inner) => stringAt(inner.block, 'text', inner.at))
      return textPart(joined([wordIn(block.title), ...texts]), at)
    }
    // The tool that a tool search has found; all tools are sent to this model anyway.
    case 'tool_reference':
      return textPart(stringAt(block, 'tool_name', at), at)
    default:
      throw unsupported(at, `a block of type '${block.type}'`)
  }
}

/** A text, or a summary of earlier turns. */
export function wordsOf({ block, at }: Placed): string {
  return stringAt(block, block.type === 'compaction' ? 'content' : 'text', at)
}

export function textPart(text: string, at: string): TextPart[] {
  return text === '' ? [] : [{ type: 'text', text, at }]
}

function pictureOf(source: Fields, at: string): { url: string; urlAt: string } {
  const inside = `${at}.source`
  if (source.type === 'url') return { url: stringAt(source, 'url', inside), urlAt: `${inside}.url` }
  if (source.type === 'base64') return { url: dataUrl(source, at), urlAt: inside }
  throw unsupported(inside, `a picture by '${source.type}'; send it as base64 or by its URL`)
}

function documentParts(block: Fields, source: Fields, at: string): Part[] {
  const title = wordIn(block.title)
  const context = wordIn(block.context)
  const inside = `${at}.source`
  if (source.type === 'text') return textPart(joined([title, context, stringAt(source, 'data', inside)]), at)
  if (source.type === 'content') {
    const parts = placed(source.content, `${inside}.content`).flatMap(partsOf)
    return [...textPart(joined([title, context]), at), ...parts]
  }
  if (source.type !== 'base64') {
    throw unsupported(inside, `a document by '${source.type}'; send it as base64 or as text`)
  }
  const file = { url: dataUrl(source, at), urlAt: inside, at, ...(title !== '' && { filename: title }) }
  return [...textPart(context, at), { type: 'document', ...file } satisfies DocumentPart]
}

function dataUrl(source: Fields, at: string): string {
  const inside = `${at}.source`
  return `data:${stringAt(source, 'media_type', inside)};base64,${stringAt(source, 'data', inside)}`
}

/** The cache mark of a block, a tool or a request. */
export function cacheMarkOf(holder: object): { cache?: CacheMark } {
  const { cache_control: control } = holder as Fields
  if (!isObject(control)) return {}
  return { cache: control.ttl === undefined ? {} : { ttl: control.ttl } }
}

function wordIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function joined(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join(BLANK_LINE)
}

/** A content as blocks: a string is one block of text. */
export function placed(content: unknown, at: string): Placed[] {
  if (typeof content === 'string') return [{ block: { type: 'text', text: content }, at }]
  if (!Array.isArray(content)) throw wrongType(at, 'a string or an array of blocks')
  return content.map((block, index) => {
    if (!isObject(block)) throw wrongType(`${at}[${index}]`, 'a block')
    return { block, at: `${at}[${index}]` }
  })
}

export function stringAt(holder: Fields, field: string, at: string): string {
  const value = holder[field]
  if (typeof value !== 'string') throw wrongType(`${at}.${field}`, 'a string')
  return value
}

function objectAt(holder: Fields, field: string, at: string): Fields {
  const value = holder[field]
  if (!isObject(value)) throw wrongType(`${at}.${field}`, 'an object')
  return value
}

function wrongType(at: string, expected: string): GatewayError {
  return invalidRequest(at, `Invalid type for '${at}': expected ${expected}.`, 'invalid_type')
}

export function unsupported(at: string, what: string): GatewayError {
  const message = `Unsupported value: '${at}' is ${what}. This model is served through another API, which does not support it: leave it out, or choose another model.`
  return invalidRequest(at, message, 'unsupported_value')
}
