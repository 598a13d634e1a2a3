// Pictures and audio in the answers of tools: small ones inline, others as links. A paid result must never be lost because it could
// not be stored.

import { safeTypeOf, UNKNOWN_TYPE } from '../lib/file-formats/media-types'
import { fileOf } from '../upstreams/result-file'
import type { McpCall, ToolContent, ToolWorld } from './tool'

/** Maximum size of an inline medium, in bytes. Clients cut answers that are larger than a model can read. */
const MAX_INLINE_BYTES = 1024 * 1024
const STORE_TIMEOUT_MS = 60_000

interface Medium {
  kind: 'image' | 'audio'
  mimeType: string
  bytes: Buffer
}

/** The medium as content, and its part of the structured answer. */
export interface Shown {
  content: ToolContent
  facts: { url?: string; mime_type?: string; bytes?: number; inline?: boolean }
}

export function showLink(uri: string, kind: string): Shown {
  const type = safeTypeOf(null, URL.parse(uri)?.pathname ?? '')
  const known = type !== UNKNOWN_TYPE
  return {
    content: { type: 'resource_link', uri, name: kind, ...(known && { mimeType: type }) },
    facts: { url: uri, ...(known && { mime_type: type }) },
  }
}

export async function showMedium(medium: Medium, world: ToolWorld, call: McpCall): Promise<Shown> {
  const { kind, mimeType, bytes } = medium
  const facts = { mime_type: mimeType, bytes: bytes.byteLength }
  if (bytes.byteLength > MAX_INLINE_BYTES) {
    const uri = await store(medium, world, call)
    if (uri !== undefined) {
      return { content: { type: 'resource_link', uri, name: kind, mimeType }, facts: { url: uri, ...facts } }
    }
  }
  const content: ToolContent = { type: kind, data: bytes.toString('base64'), mimeType }
  return { content, facts: { ...facts, inline: true } }
}

/**
 * The link to a stored medium. Undefined if artifacts are disabled, or storing failed: then the medium is inline, whatever its
 * size.
 */
async function store(
  { mimeType, bytes }: Medium,
  { artifacts, log }: ToolWorld,
  { key, requestId, gatewayUrl }: McpCall,
): Promise<string | undefined> {
  if (!artifacts) return undefined
  const source = {
    account: key.account,
    keyId: key.id,
    charge: requestId,
    fetchFile: async () => fileOf(bytes, mimeType),
    gatewayUrl: gatewayUrl(),
    timeoutMs: STORE_TIMEOUT_MS,
  }
  return artifacts.keep('', source).catch((error) => {
    log('results_not_kept', { request: requestId, reason: String(error) })
    return undefined
  })
}

/** Pictures anywhere in a model's answer, in order: bytes as base64, or URLs. */
export function collectPictures(answer: unknown): (Medium | { url: string })[] {
  if (Array.isArray(answer)) return answer.flatMap(collectPictures)
  if (typeof answer !== 'object' || answer === null) return []
  const { b64_json: base64, data, mime_type: type, ...rest } = answer as Record<string, unknown>
  if (typeof base64 === 'string' && base64 !== '') return [pictureOf(base64)]
  if (typeof data === 'string' && typeof type === 'string' && type.startsWith('image/')) {
    return [pictureOf(data, type)]
  }
  return Object.entries({ ...rest, data }).flatMap(([name, value]) => {
    const isPlace = (name === 'url' || name === 'image' || name === 'uri') && typeof value === 'string'
    if (!isPlace || value === '') return collectPictures(value)
    const inline = /^data:(image\/[a-z]+);base64,(.*)$/s.exec(value)
    return inline ? [pictureOf(inline[2] ?? '', inline[1])] : [{ url: value }]
  })
}

/** How base64 of each format begins. */
const signatures = [
  ['iVBOR', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['UklGR', 'image/webp'],
] as const

function pictureOf(base64: string, type = 'image/png'): Medium {
  const found = signatures.find(([start]) => base64.startsWith(start))
  return { kind: 'image', mimeType: found?.[1] ?? type, bytes: Buffer.from(base64, 'base64') }
}
