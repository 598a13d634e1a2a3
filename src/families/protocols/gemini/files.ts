// Writes files as parts: their data or their address. Google has accepted public and signed addresses of HTTPS since January 2026
// (https://blog.google/innovation-and-ai/technology/developers-tools/gemini-api-new-file-limits, vercel/ai#16757), and addresses in
// its storage.

import { invalidRequest } from '../../../lib/errors'
import type { Part } from '../../conversation/conversation'
import { inlineFile } from '../../conversation/inline-file'

type File = Exclude<Part, { type: 'text' }>
type SentFile =
  | { inlineData: { mimeType: string; data: string } }
  | { fileData: { mimeType: string; fileUri: string } }

const ADDRESS = /^(?:https?|gs):\/\//i
/** The type of a file whose address does not reveal it: Vertex AI requires one. */
const USUAL_TYPES: Readonly<Record<File['type'], string>> = {
  image: 'image/jpeg',
  document: 'application/pdf',
  audio: 'audio/mpeg',
  video: 'video/mp4',
}

/** The part of a file. Throws 400 for one that is neither an address nor a data URL. */
export function filePart(part: File): SentFile {
  const { type, url, urlAt } = part
  const inline = inlineFile(part)
  if (inline) return { inlineData: { mimeType: inline.type, data: inline.data } }
  if (ADDRESS.test(url)) return { fileData: { mimeType: typeOf(type, url), fileUri: url } }
  throw invalidRequest(urlAt, `Invalid '${urlAt}': expected an http or https address, or a data URL.`)
}

/** Files that Gemini 3 accepts inside results of calls, as data: https://ai.google.dev/gemini-api/docs/function-calling. */
export function isTakenInResults({ url }: File): boolean {
  return /^data:(?:image\/(?:png|jpeg|webp)|application\/pdf|text\/plain)[;,]/i.test(url)
}

/** The type by the extension of the address, if it fits the kind of the part. */
function typeOf(kind: File['type'], url: string): string {
  const [path = ''] = url.split(/[?#]/)
  const [named = ''] = Bun.file(path.slice(path.lastIndexOf('/') + 1)).type.split(';')
  const isOfKind =
    kind === 'document'
      ? /^(?:text\/|application\/(?!octet-stream))/.test(named)
      : named.startsWith(`${kind}/`)
  return isOfKind ? named : USUAL_TYPES[kind]
}
