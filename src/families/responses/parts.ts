// Reads the parts of messages and of outputs of tools in the input of a response: texts, pictures, files and audio. A
// part that is not read must be refused by its place.

import { asObject } from '../../lib/objects'
import { missingField, textAt, wrongType, wrongValue } from './refusals'

/** A part of a message, with its place in the request. */
export type InputPart =
  | { type: 'text'; text: string; at: string }
  | { type: 'image'; url: string; detail: string | undefined; at: string }
  | { type: 'file'; from: 'file_data' | 'file_url'; source: string; filename: string | undefined; at: string }
  | { type: 'audio'; data: string; format: string; at: string }

const PARTS = ['input_text', 'input_image', 'input_file', 'input_audio', 'output_text', 'refusal'] as const

/** The parts of a content or an output; a string is one text. Texts that say nothing are left out. */
export function partsOf(content: unknown, at: string): InputPart[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content, at }]
  if (Array.isArray(content))
    return content.flatMap((part, index) => partOf(asObject(part), `${at}[${index}]`))
  if (content === undefined || content === null) throw missingField(at)
  throw wrongType(at, 'a string or an array of parts', content)
}

/** The text of a content that may have no other parts, such as one of the assistant. */
export function textOfContent(content: unknown, at: string): string {
  return partsOf(content, at)
    .map((part) => {
      if (part.type === 'text') return part.text
      throw wrongValue(`${part.at}.type`, `input_${part.type}`, ['input_text', 'output_text', 'refusal'])
    })
    .join('\n\n')
}

function partOf(part: Record<string, unknown>, at: string): InputPart | [] {
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
    case 'input_audio': {
      const audio = asObject(part.input_audio)
      const place = `${at}.input_audio`
      return { type: 'audio', data: textAt(audio, 'data', place), format: textAt(audio, 'format', place), at }
    }
    case undefined:
      throw missingField(`${at}.type`)
    default:
      throw wrongValue(`${at}.type`, part.type, PARTS)
  }
}

function textPart(text: string, at: string): InputPart | [] {
  return text === '' ? [] : { type: 'text', text, at }
}

function imagePart(part: Record<string, unknown>, at: string): InputPart {
  const { detail } = part
  return {
    type: 'image',
    url: textAt(part, 'image_url', at),
    detail: typeof detail === 'string' ? detail : undefined,
    at,
  }
}

function filePart(part: Record<string, unknown>, at: string): InputPart {
  const { filename, file_url: url, file_data: data } = part
  const from = typeof url === 'string' && typeof data !== 'string' ? 'file_url' : 'file_data'
  return {
    type: 'file',
    from,
    source: textAt(part, from, at),
    filename: typeof filename === 'string' && filename !== '' ? filename : undefined,
    at,
  }
}
