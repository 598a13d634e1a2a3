// Sends a request of the playground and reads its answer as it arrives, with its duration and its price. A model's output is text,
// and is never treated as anything else.

import { EventSourceParserStream } from 'eventsource-parser/stream'
import { ApiError, isCallingAs, send, urlOf } from '../api'
import { askRequest } from '../key-api'
import type { ModelReply } from './conversation'
import { DIALECTS } from './dialects'
import { formDataOf } from './files'
import {
  withPictures,
  withRanks,
  withRaw,
  withSound,
  withTranscript,
  withVectors,
  withVerdict,
} from './read-media'
import type { PlaygroundRequest } from './request'

/** How long the server may hold a request while its task runs, in seconds. */
const TASK_WAIT_SECONDS = 10

interface Running {
  request: PlaygroundRequest
  /** Receives the part of the reply that has arrived. */
  show(reply: ModelReply): void
  signal: AbortSignal
}

/** Sends a request, and shows the reply until it is whole. Rejects with an ApiError. */
export async function run(empty: ModelReply, { request, show, signal }: Running): Promise<void> {
  const startedAt = performance.now()
  const { path, body, isForm } = request
  const response = await send('POST', path.slice(1), { body: isForm ? formDataOf(body) : body, signal })
  const begun: ModelReply = {
    ...empty,
    requestId: response.headers.get('x-request-id'),
    costUsd: response.headers.get('x-gateway-cost-usd'),
  }
  show(begun)
  // The first output is recorded before it is shown.
  let firstMs: number | null = null
  const showTimed = (reply: ModelReply) => {
    if (firstMs === null && (reply.text || reply.thinking || reply.calls.length > 0))
      firstMs = performance.now() - startedAt
    show({ ...reply, firstMs })
  }
  const read = await readAnswer(response, begun, { request, show: showTimed, signal })
  const totalMs = performance.now() - startedAt
  const costUsd = read.costUsd ?? (await costOf(read.requestId, signal))
  show({ ...read, firstMs, totalMs, costUsd, state: 'done' })
}

async function readAnswer(response: Response, begun: ModelReply, running: Running): Promise<ModelReply> {
  const { operation, body } = running.request
  const isJson = response.headers.get('content-type')?.includes('json') ?? false
  switch (operation) {
    case 'chat':
    case 'responses':
    case 'messages':
      return isJson
        ? withRaw(begun, await response.json())
        : readStream(response, begun, running, DIALECTS[operation].next)
    case 'speech':
      return withSound(begun, response)
    case 'video':
      return readVideo(response, begun, running)
    case 'transcription':
    case 'translation':
      return isJson ? withTranscript(begun, await response.json()) : { ...begun, text: await response.text() }
    case 'embeddings':
      return withVectors(begun, await response.json())
    case 'rerank':
      return withRanks(begun, await response.json(), body.documents as string[])
    case 'moderation':
      return withVerdict(begun, await response.json())
    default:
      return withPictures(begun, await response.json())
  }
}

async function readStream(
  { body }: Response,
  begun: ModelReply,
  { show }: Running,
  next: (reply: ModelReply, data: unknown) => ModelReply,
): Promise<ModelReply> {
  let reply = begun
  const events = body?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
  const reader = events?.getReader()
  for (;;) {
    const event = await reader?.read()
    if (!event || event.done) return reply
    if (event.value.data === '[DONE]') continue
    reply = next(reply, JSON.parse(event.value.data))
    show(reply)
  }
}

/** The amount that was paid for a request that has ended. Its charge ends before the last byte of its answer. */
async function costOf(id: string | null, signal: AbortSignal): Promise<string | null> {
  if (id === null) return null
  const found = await askRequest(id, signal).catch(() => undefined)
  const ended = found?.charges.find(({ state }) => state !== 'held')
  return ended?.amount_usd ?? null
}

interface ShownTask {
  status: string
  error?: { code: string; message: string }
}

async function readVideo(
  response: Response,
  begun: ModelReply,
  { show, signal }: Running,
): Promise<ModelReply> {
  const { id = '' } = (await response.json()) as { id?: string }
  const place = `v1/videos/generations/${encodeURIComponent(id)}?wait=${TASK_WAIT_SECONDS}`
  let taskState = 'submitted'
  for (;;) {
    show({ ...begun, taskState })
    const task = (await (await send('GET', place, { signal })).json()) as ShownTask
    if (task.error) throw new ApiError(task.error.message, 502, task.error.code, null)
    taskState = task.status
    if (taskState !== 'succeeded') continue
    const content = `v1/videos/${encodeURIComponent(id)}/content`
    // A player cannot send a key.
    const video = isCallingAs()
      ? URL.createObjectURL(await (await send('GET', content, { signal })).blob())
      : urlOf(content)
    // The price is known at the end of the task.
    return { ...begun, taskState, video, costUsd: null }
  }
}
