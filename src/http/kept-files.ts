// Sends stored results, whole or in part, to anybody with their signed URL. Every faulty URL must get the same 404, and nothing
// from here may run as a script.

import type { Artifacts } from '../artifacts/artifacts'
import type { Artifact } from '../artifacts/rows'
import { GatewayError } from '../lib/errors'
import { fileEndingOf } from '../lib/file-formats/media-types'
import type { System } from '../lib/system'
import type { Backlog } from '../request/stream/backlog'
import { pacedStream } from '../request/stream/paced-body'
import { partOf } from './range'

export interface KeptFilesWorld extends Pick<System, 'now' | 'log'> {
  /** Null if results are not stored. */
  artifacts: Artifacts | null
  backlog: Backlog
}

/** Sends the whole artifact, or the requested part. */
export async function sendArtifact(
  world: KeptFilesWorld,
  artifact: Artifact,
  request: Request,
  requestId: string,
): Promise<Response> {
  const headers = headersOf(artifact, world.now(), requestId)
  if (request.headers.get('if-none-match') === headers.etag)
    return new Response(null, { status: 304, headers })
  const { bytes } = artifact
  const isHead = request.method === 'HEAD'
  const part = isHead ? 'all' : partOf(request.headers, bytes, headers.etag)
  if (part === 'none') {
    return new Response(null, {
      status: 416,
      headers: { 'content-range': `bytes */${bytes}`, 'x-request-id': requestId },
    })
  }
  const { start, end } = part === 'all' ? { start: 0, end: bytes } : part
  const body = isHead ? null : await read(world, artifact, start, end)
  return new Response(body, {
    status: part === 'all' ? 200 : 206,
    headers: {
      ...headers,
      'content-length': String(end - start),
      ...(part !== 'all' && { 'content-range': `bytes ${start}-${end - 1}/${bytes}` }),
    },
  })
}

/** The bytes as a stream, because Bun applies the Range header to files itself and ignores If-Range. */
async function read(
  world: KeptFilesWorld,
  artifact: Artifact,
  start: number,
  end: number,
): Promise<ReadableStream<Uint8Array>> {
  const body = await world.artifacts?.read(artifact, start, end).catch((cause) => {
    throw new GatewayError(503, {
      code: 'artifact_unavailable',
      message: 'The gateway cannot read this file now. Try again later.',
      headers: { 'retry-after': '30' },
      cause,
    })
  })
  // Bun sends a file on disk itself, with little of it in memory.
  if (body) return artifact.place === 'disk' ? body : pacedStream(world.backlog, body)
  world.log('artifact_lost', { artifact: artifact.id, place: artifact.place })
  throw fileNotFound()
}

function headersOf({ id, contentType, sha256, expiresAt }: Artifact, now: number, requestId: string) {
  return {
    'x-request-id': requestId,
    'content-type': contentType,
    'content-disposition': `inline; filename="${id}.${fileEndingOf(contentType)}"`,
    'x-content-type-options': 'nosniff',
    'accept-ranges': 'bytes',
    etag: `"${sha256}"`,
    'repr-digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    'cache-control': `private, max-age=${Math.floor((expiresAt - now) / 1000)}, immutable`,
  }
}

/** The error for any URL that has no file. */
export function fileNotFound(): GatewayError {
  return new GatewayError(404, {
    code: 'artifact_not_found',
    type: 'invalid_request_error',
    message:
      'There is no such file, or its URL has expired or was changed: use it exactly as received, with its query.',
  })
}
