// Writes the contents of Google's countTokens as a chat request, so that they are counted as any other. It is only counted,
// never sent to be answered: what has no place in a chat is counted as its JSON.

import { invalidRequest } from '../../lib/errors'
import { asObject, isObject } from '../../lib/objects'

type Part = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }

/** A chat request with the contents, and with the rest of the request that is to be counted. */
export function chatOfContents(body: Record<string, unknown>, model: string): object {
  const request = asObject(body.generateContentRequest ?? body.generate_content_request ?? body)
  const { contents, tools } = request
  const system = request.systemInstruction ?? request.system_instruction
  if (!Array.isArray(contents) || contents.length === 0) {
    throw invalidRequest(
      'contents',
      `Missing required parameter: 'contents'. Send what is to be counted, such as [{"parts": [{"text": "Hello"}]}].`,
      'missing_required_parameter',
    )
  }
  const messages = [
    ...(system === undefined ? [] : [{ role: 'system', content: partsOf(system, 'systemInstruction') }]),
    ...(tools === undefined ? [] : [{ role: 'system', content: JSON.stringify(tools) }]),
    ...contents.map((content, place) => ({ role: 'user', content: partsOf(content, `contents[${place}]`) })),
  ]
  return { model, messages }
}

function partsOf(content: unknown, path: string): Part[] {
  const parts = isObject(content) ? content.parts : undefined
  if (!Array.isArray(parts) || parts.length === 0) {
    throw invalidRequest(`${path}.parts`, `Invalid '${path}.parts': expected a list of parts.`)
  }
  return parts.map(partOf)
}

function partOf(part: unknown): Part {
  const { text, inlineData, inline_data } = asObject(part)
  if (typeof text === 'string') return { type: 'text', text }
  const { mimeType, mime_type, data } = asObject(inlineData ?? inline_data)
  const type = mimeType ?? mime_type
  if (typeof type === 'string' && type.startsWith('image/') && typeof data === 'string')
    return { type: 'image_url', image_url: { url: `data:${type};base64,${data}` } }
  return { type: 'text', text: JSON.stringify(part) }
}
