// GET /v1/artifacts/{id}: a kept result, for anybody with its signed address; no key is needed. Every faulty address
// must get the same 404, and nothing may run as a script from here.

import { Elysia } from 'elysia'
import { ARTIFACTS_PATH } from '../../artifacts/addresses'
import type { Artifacts } from '../../artifacts/artifacts'
import type { Artifact } from '../../artifacts/rows'
import { GatewayError } from '../../lib/errors'
import { fileEndingOf } from '../../lib/file-formats/media-types'
import type { System } from '../../lib/system'
import { errorResponse } from '../errors'
import { partOf } from '../range'
import { queryOf } from '../target'

export interface ArtifactRoutesWorld extends Pick<System, 'now' | 'newId' | 'log'> {
  /** Null if results are not kept. */
  artifacts: Artifacts | null
}

export function artifactRoutes(world: ArtifactRoutesWorld) {
  async function answer(request: Request, id: string): Promise<Response> {
    const requestId = world.newId('req')
    try {
      const artifact = await findSignedArtifact(world, id, queryOf(request))
      if (!artifact) throw notFound()
      return await sendArtifact(world, artifact, request, requestId)
    } catch (error) {
      return errorResponse(error, 'openai', requestId, world.log)
    }
  }

  return new Elysia({ name: 'artifacts' })
    .get(`${ARTIFACTS_PATH}/:id`, ({ request, params }) => answer(request, params.id))
    .head(`${ARTIFACTS_PATH}/:id`, ({ request, params }) => answer(request, params.id))
}

/** The artifact of a signed address. `query` is that of the address. */
export async function findSignedArtifact(
  { artifacts }: Pick<ArtifactRoutesWorld, 'artifacts'>,
  id: string,
  query: URLSearchParams,
): Promise<Artifact | undefined> {
  return artifacts?.find(id, query.get('expires') ?? '', query.get('signature') ?? '')
}

/** Sends the whole artifact, or the part that the request wants. */
export async function sendArtifact(
  world: ArtifactRoutesWorld,
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

/** The bytes as a stream, because Bun applies the Range header to files by itself and ignores If-Range. */
async function read(
  world: ArtifactRoutesWorld,
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
  if (body) return body
  world.log('artifact_lost', { artifact: artifact.id, place: artifact.place })
  throw notFound()
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

function notFound(): GatewayError {
  return new GatewayError(404, {
    code: 'artifact_not_found',
    type: 'invalid_request_error',
    message:
      'There is no such file, or its address has expired or was changed on its way: use it exactly as it came, with its query.',
  })
}
