// Reads the parts of messages and of outputs of tools in the input of a response: texts, pictures, files and audio. An unsupported
// part must be refused with its place.

import { asObject } from '../../../lib/objects'
import type { Part, TextPart } from '../../conversation/conversation'
import { missingField, textAt, wrongType, wrongValue } from '../../responses/refusals'

const PARTS = ['input_text', 'input_image', 'input_file', 'input_audio', 'output_text', 'refusal'] as const

/** The parts of content or output; a string is one text. Empty texts are omitted. */
export function contentParts(content: unknown, at: string): Part[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content, at }]
  if (Array.isArray(content))
    return content.flatMap((part, index) => partOf(asObject(part), `${at}[${index}]`))
  if (content === undefined || content === null) throw missingField(at)
  throw wrongType(at, 'a string or an array of parts', content)
}

/** The texts of content that allows no other parts, such as the assistant's. */
export function textPartsOf(content: unknown, at: string): TextPart[] {
  return contentParts(content, at).map((part) => {
    if (part.type === 'text') return part
    const type = part.type === 'document' ? 'file' : part.type
    throw wrongValue(`${part.at}.type`, `input_${type}`, ['input_text', 'output_text', 'refusal'])
  })
}

function partOf(part: Record<string, unknown>, at: string): Part | [] {
  switch (part.type) {
    case 'input_text':
    case 'output_text':
    case 'summary_text':
      return textPart(textAt(part, 'text', at), at)
    case 'refusal':
      return textPart(textAt(part, 'refusal', at), at)
    case 'input_image':
    case 'computer_screenshot':
      return imagePart(part, at)
    case 'input_file':
      return filePart(part, at)
    case 'input_audio':
      return audioPart(asObject(part.input_audio), at)
    case undefined:
      throw missingField(`${at}.type`)
    default:
      throw wrongValue(`${at}.type`, part.type, PARTS)
  }
}

function textPart(text: string, at: string): Part | [] {
  return text === '' ? [] : { type: 'text', text, at }
}

function imagePart(part: Record<string, unknown>, at: string): Part {
  const { detail } = part
  const seen = typeof detail === 'string' && { detail }
  return { type: 'image', ...fileIn(part, 'image_url', at), ...seen }
}

function filePart(part: Record<string, unknown>, at: string): Part {
  const { filename, file_url: url, file_data: data } = part
  const from = typeof url === 'string' && typeof data !== 'string' ? 'file_url' : 'file_data'
  const named = typeof filename === 'string' && filename !== '' && { filename }
  return { type: 'document', ...fileIn(part, from, at), ...named }
}

/** Audio, whose data and format are separate members. */
function audioPart(audio: Record<string, unknown>, at: string): Part {
  const place = `${at}.input_audio`
  const data = textAt(audio, 'data', place)
  const url = `data:audio/${textAt(audio, 'format', place)};base64,${data}`
  return { type: 'audio', url, urlAt: `${place}.data`, at }
}

function fileIn(part: Record<string, unknown>, name: string, at: string) {
  const urlAt = `${at}.${name}`
  const url = textAt(part, name, at)
  if (url === '') throw missingField(urlAt)
  return { url, urlAt, at }
}
