// GET /v1/videos/{id}/content: the bytes of a finished video, from the stored copy or otherwise from the vendor. It must never
// fetch a URL that the vendor may not use, or keep a video in memory.

import type { Catalogue } from '../../catalogue/models'
import { readableOf } from '../../http-client/body-stream'
import type { HttpResponse } from '../../http-client/response'
import { GatewayError } from '../../lib/errors'
import { safeTypeOf } from '../../lib/file-formats/media-types'
import { pacedStream } from '../../request/stream/paced-body'
import { showTask, type Task } from '../../tasks/task'
import { type KeptFilesWorld, sendArtifact } from '../kept-files'

/** Headers that the request and the call to the vendor share. */
const COPIED_HEADERS = ['range', 'if-range']
const PASSED_HEADERS = ['content-length', 'content-range', 'accept-ranges', 'etag', 'last-modified']
/** Maximum time until the vendor begins, in milliseconds. */
const TIMEOUT_MS = 30_000
/** How long vendors store videos, in milliseconds. */
const VENDOR_KEEPS_MS = 24 * 3_600_000

export interface VideoWorld extends KeptFilesWorld {
  catalogue: Pick<Catalogue, 'upstreams'>
}

export async function sendVideo(
  world: VideoWorld,
  task: Task,
  request: Request,
  requestId: string,
): Promise<Response> {
  const url = addressOf(task)
  const kept = await keptAt(world, task)
  return kept ? sendArtifact(world, kept, request, requestId) : relay(world, task, url, request, requestId)
}

/** The URL of a video at the vendor. Throws 404 for a failed task, and 409 for one that has not ended. */
function addressOf({ id, state, videoUrl, errorCode, errorMessage }: Task): string {
  if (state === 'failed') {
    throw new GatewayError(404, {
      code: 'video_failed',
      message: `There is no video of ${id}: the task failed (${errorCode}: ${errorMessage}).`,
    })
  }
  if (videoUrl !== null) return videoUrl
  throw new GatewayError(409, {
    code: 'video_not_ready',
    message: `The video of ${id} is not ready. GET /v1/videos/${id} shows its state: try again when its status is completed.`,
    type: 'invalid_request_error',
    headers: { 'x-should-retry': 'false' },
  })
}

/** The address of a video at the vendor, for the vendor itself. Throws 404 and 409, also if it no longer exists. */
export function freshAddressOf(task: Task, now: number): string {
  const url = addressOf(task)
  if (now - (task.endedAt ?? 0) >= VENDOR_KEEPS_MS) throw gone(task)
  return url
}

/** The stored copy; undefined if there never was one, or it has expired. */
function keptAt(world: VideoWorld, task: Task) {
  const { video_url: shown } = JSON.parse(showTask(task)) as { video_url?: string }
  const url = shown === undefined || shown === task.videoUrl ? null : URL.parse(shown)
  const { searchParams } = url ?? {}
  return world.artifacts?.find(
    url?.pathname.split('/').at(-1) ?? '',
    searchParams?.get('expires') ?? '',
    searchParams?.get('signature') ?? '',
  )
}

async function relay(
  world: VideoWorld,
  task: Task,
  url: string,
  request: Request,
  requestId: string,
): Promise<Response> {
  const response = await fetchFile(world, task, url, request)
  const headers = new Headers({
    'x-request-id': requestId,
    'content-type': safeTypeOf(response.header('content-type'), URL.parse(url)?.pathname ?? ''),
    'content-disposition': `inline; filename="${task.id}.mp4"`,
    'x-content-type-options': 'nosniff',
    'cache-control': 'private',
  })
  copyHeaders((name) => response.header(name), headers, PASSED_HEADERS)
  const body = readableOf(response.body, (reason) => {
    world.log('video_cut', { task: task.id, upstream: task.upstream, reason: String(reason) })
    // The reason is omitted: the vendor's URL may be in it, and must not be logged.
    return new Error('the vendor stopped early')
  })
  return new Response(pacedStream(world.backlog, body), { status: response.status, headers })
}

async function fetchFile(
  world: VideoWorld,
  task: Task,
  url: string,
  request: Request,
): Promise<HttpResponse> {
  const upstream = world.catalogue.upstreams.get(task.upstream)
  if (!upstream) throw gone(task)
  const part = new Headers()
  copyHeaders((name) => request.headers.get(name), part, COPIED_HEADERS)
  const controller = new AbortController()
  const signal = AbortSignal.any([request.signal, controller.signal])
  const timer = setTimeout(() => controller.abort(late(task)), TIMEOUT_MS)
  try {
    return await upstream.fetchFile(url, signal, Object.fromEntries(part))
  } catch (error) {
    const isGone = error instanceof GatewayError && error.code === 'upstream_file_unavailable'
    throw isGone && world.now() - (task.endedAt ?? 0) >= VENDOR_KEEPS_MS ? gone(task) : error
  } finally {
    clearTimeout(timer)
  }
}

function copyHeaders(from: (name: string) => string | null, to: Headers, names: readonly string[]): void {
  for (const name of names) {
    const value = from(name)
    if (value !== null) to.set(name, value)
  }
}

/** The error for a video that nobody has any more. */
function gone({ id }: Task): GatewayError {
  return new GatewayError(404, {
    code: 'video_expired',
    message: `The video of ${id} no longer exists: vendors keep videos for a day.`,
  })
}

function late({ upstream }: Task): GatewayError {
  return new GatewayError(504, {
    code: 'upstream_timeout',
    message: `The upstream ${upstream} did not deliver the video in time. Try again.`,
  })
}
