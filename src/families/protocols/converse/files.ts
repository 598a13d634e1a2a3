// Writes pictures and documents as blocks of Converse, which accepts only their bytes. A file of an unsupported format is refused
// with its place.

import { type GatewayError, invalidRequest } from '../../../lib/errors'
import type { DocumentPart, ImagePart } from '../../conversation/conversation'
import { type InlineFile, inlineFile, textOfFile } from '../../conversation/inline-file'

type Fields = Record<string, unknown>

const IMAGE_FORMATS: ReadonlySet<string> = new Set(['png', 'jpeg', 'gif', 'webp'])
/** Formats of documents by their media types. */
const DOCUMENT_FORMATS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/plain': 'txt',
  'text/markdown': 'md',
  'application/msword': 'doc',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
}

export function imageBlock(part: ImagePart): Fields {
  const { type, data } = fileIn(part, 'a picture')
  const format = type.replace('image/', '').replace('jpg', 'jpeg')
  if (IMAGE_FORMATS.has(format)) return { image: { format, source: { bytes: data } } }
  throw unsupported(part.urlAt, `a picture of type '${type}'; it takes PNG, JPEG, GIF and WebP`)
}

/** A document, or a text. `names` are the names of the documents before it. */
export function documentBlock(part: DocumentPart, names: Set<string>): Fields {
  const file = fileIn(part, 'a document')
  const format = DOCUMENT_FORMATS[file.type]
  const { filename = '' } = part
  if (format !== undefined) {
    return { document: { format, name: documentName(filename, names), source: { bytes: file.data } } }
  }
  // Other kinds of text have no format.
  const text = textOfFile(file)
  if (text === undefined) throw unsupported(part.urlAt, `a document of type '${file.type}'`)
  return { text: filename === '' ? text : `${filename}\n\n${text}` }
}

function fileIn(part: ImagePart | DocumentPart, what: string): InlineFile {
  const file = inlineFile(part)
  if (file) return file
  throw unsupported(part.urlAt, `${what} by its address; send it as base64, or as a data URL of it`)
}

/** A name, unique in the request, that contains only letters that Converse accepts. */
function documentName(title: string, names: Set<string>): string {
  const plain =
    title
      .replaceAll(/[^A-Za-z0-9\s()[\]-]/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim()
      .slice(0, 180) || 'document'
  let name = plain
  for (let number = 2; names.has(name); number++) name = `${plain} (${number})`
  names.add(name)
  return name
}

function unsupported(at: string, what: string): GatewayError {
  return invalidRequest(
    at,
    `Unsupported value: '${at}' is ${what}. This model is served through another API, which does not support it: leave it out, or choose another model.`,
    'unsupported_value',
  )
}
