// Reads the parts of a chat completion's messages: texts, pictures, files, audio and video. An unsupported part must be refused
// with its place.

import { type GatewayError, invalidRequest } from '../../../lib/errors'
import { asObject, isObject } from '../../../lib/objects'
import type { CacheMark, Part, TextPart } from '../../conversation/conversation'

type Fields = Record<string, unknown>

/** A text of the assistant, or an instruction. */
export interface AssistantText extends TextPart {
  isRefusal?: true
}

/** The parts of content; a string is one text. Empty texts are omitted. */
export function partsOfMessage(content: unknown, at: string): Part[] {
  if (!Array.isArray(content)) return plainText(content, at)
  return content.flatMap((part, index) => partOf(asObject(part), `${at}[${index}]`))
}

/** The texts of content that allows no other parts. `whose` begins the error message. */
export function chatTexts(content: unknown, at: string, whose: string): AssistantText[] {
  if (!Array.isArray(content)) return plainText(content, at)
  return content.flatMap((each, index) => {
    const part = asObject(each)
    const { type } = part
    if (type === 'text' || type === 'refusal') return textOf(part, type, `${at}[${index}]`)
    const place = `${at}[${index}].type`
    throw invalidRequest(place, `Invalid value for '${place}': ${whose} are texts only.`)
  })
}

function plainText(content: unknown, at: string): TextPart[] {
  return typeof content === 'string' && content !== '' ? [{ type: 'text', text: content, at }] : []
}

function textOf(part: Fields, type: 'text' | 'refusal', at: string): AssistantText[] {
  const text = requiredString(part[type], `${at}.${type}`)
  const said = { type: 'text', text, at, ...cacheMarkIn(part) } as const
  return text === '' ? [] : [type === 'refusal' ? { ...said, isRefusal: true } : said]
}

function partOf(part: Fields, at: string): Part[] {
  const { type } = part
  switch (type) {
    case 'text':
    case 'refusal':
      return textOf(part, type, at)
    case 'image_url': {
      const { url, detail } = isObject(part.image_url) ? part.image_url : { url: part.image_url }
      const seen = typeof detail === 'string' && { detail }
      return [{ type: 'image', ...fileAt(url, `${at}.image_url.url`), at, ...seen, ...cacheMarkIn(part) }]
    }
    case 'file': {
      const { file_data: data, filename } = asObject(part.file)
      const named = typeof filename === 'string' && filename !== '' && { filename }
      return [
        { type: 'document', ...fileAt(data, `${at}.file.file_data`), at, ...named, ...cacheMarkIn(part) },
      ]
    }
    case 'input_audio': {
      const { data, format } = asObject(part.input_audio)
      const place = `${at}.input_audio`
      const url = `data:audio/${requiredString(format, `${place}.format`)};base64,${requiredString(data, `${place}.data`)}`
      return [{ type: 'audio', url, urlAt: `${place}.data`, at, ...cacheMarkIn(part) }]
    }
  }
  throw invalidRequest(
    `${at}.type`,
    `Invalid value for '${at}.type': this model takes text, image_url and file parts, not ${type}.`,
  )
}

function fileAt(url: unknown, urlAt: string): { url: string; urlAt: string } {
  if (url === '') throw missingParameter(urlAt)
  return { url: requiredString(url, urlAt), urlAt }
}

/** The cache mark of a part or a tool, in the form of Anthropic's messages. */
export function cacheMarkIn({ cache_control: control }: Fields): { cache?: CacheMark } {
  if (!isObject(control)) return {}
  return { cache: control.ttl === undefined ? {} : { ttl: control.ttl } }
}

export function requiredString(value: unknown, at: string): string {
  if (typeof value === 'string') return value
  if (value === undefined || value === null) throw missingParameter(at)
  throw invalidRequest(at, `Invalid type for '${at}': expected a string.`, 'invalid_type')
}

export function missingParameter(at: string): GatewayError {
  return invalidRequest(at, `Missing required parameter: '${at}'.`, 'missing_required_parameter')
}
