// Sends a request of the playground and reads its answer as it comes: text, calls of tools, pictures, sound, a video,
// vectors, and what it cost. What a model writes is text, and is never anything else.

import { ApiError, send, urlOf } from './api'
import { askRequest } from './key-api'
import type { Kind, PlaygroundRequest, ToolCall } from './playground-request'
import { keyTexts } from './texts'

const words = keyTexts.playground

export interface Answer {
  text: string
  thinking: string
  calls: readonly ToolCall[]
  /** Addresses of pictures that can be shown here. */
  pictures: readonly string[]
  /** Addresses at other places, which this page does not load. */
  elsewhere: readonly string[]
  sound: string | null
  video: string | null
  vectors: readonly (readonly number[])[]
  /** The state of a task. */
  state: string | null
  requestId: string | null
  costUsd: string | null
}

export const NO_ANSWER: Answer = {
  text: '',
  thinking: '',
  calls: [],
  pictures: [],
  elsewhere: [],
  sound: null,
  video: null,
  vectors: [],
  state: null,
  requestId: null,
  costUsd: null,
}

/** Longest text that is kept of an answer, in characters. */
const MOST_TEXT = 2_000_000
/** How long the server holds a question for a task, in seconds. */
const TASK_WAIT_SECONDS = 10

/** Sends a request. `show` gets the answer as far as it has come. Rejects with an ApiError. */
export async function run(
  kind: Kind,
  { path, body }: Pick<PlaygroundRequest, 'path' | 'body'>,
  show: (answer: Answer) => void,
  signal: AbortSignal,
): Promise<Answer> {
  const response = await send('POST', path.slice(1), { body, signal })
  const begun: Answer = {
    ...NO_ANSWER,
    requestId: response.headers.get('x-request-id'),
    costUsd: response.headers.get('x-gateway-cost-usd'),
  }
  show(begun)
  const read = {
    chat: readChat,
    image: readImages,
    speech: readSound,
    video: readVideo,
    embeddings: readVectors,
  }
  const answer = await read[kind](response, begun, show, signal)
  const whole = { ...answer, costUsd: answer.costUsd ?? (await costOf(answer.requestId, signal)) }
  show(whole)
  return whole
}

/** The amount that was paid for a request that has ended. Its charge ends before the last byte of its answer. */
async function costOf(id: string | null, signal: AbortSignal): Promise<string | null> {
  if (id === null) return null
  const found = await askRequest(id, signal).catch(() => undefined)
  const ended = found?.charges.find(({ state }) => state !== 'held')
  return ended?.amount_usd ?? null
}

interface CallPart {
  index?: number
  id?: string
  function?: { name?: string; arguments?: string }
}

interface ChatChunk {
  error?: { message?: string; code?: string | null }
  choices?: {
    delta?: {
      content?: string | null
      reasoning_content?: string | null
      tool_calls?: CallPart[]
    }
  }[]
}

async function readChat(response: Response, begun: Answer, show: (answer: Answer) => void): Promise<Answer> {
  let answer = begun
  for await (const data of eventsOf(response)) {
    if (data === '[DONE]') break
    const chunk = JSON.parse(data) as ChatChunk
    if (chunk.error)
      throw new ApiError(chunk.error.message ?? words.brokeOff, 502, chunk.error.code ?? null, null)
    const delta = chunk.choices?.[0]?.delta
    if (!delta) continue
    answer = {
      ...answer,
      text: (answer.text + (delta.content ?? '')).slice(0, MOST_TEXT),
      thinking: (answer.thinking + (delta.reasoning_content ?? '')).slice(0, MOST_TEXT),
      calls: withCalls(answer.calls, delta.tool_calls ?? []),
    }
    show(answer)
  }
  return answer
}

function withCalls(calls: readonly ToolCall[], parts: readonly CallPart[]): readonly ToolCall[] {
  if (parts.length === 0) return calls
  const all = [...calls]
  for (const { index = 0, id, function: part } of parts) {
    const before = all[index] ?? { id: '', name: '', arguments: '' }
    all[index] = {
      // Some servers repeat the id, or an empty one, with each piece.
      id: id || before.id,
      name: before.name + (part?.name ?? ''),
      arguments: (before.arguments + (part?.arguments ?? '')).slice(0, MOST_TEXT),
    }
  }
  return all
}

/** The data of server-sent events. */
async function* eventsOf({ body }: Response): AsyncGenerator<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const piece = await reader?.read()
    if (!piece || piece.done) return
    text += piece.value
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) if (line.startsWith('data:')) yield line.slice(5).trim()
  }
}

async function readImages(response: Response, begun: Answer): Promise<Answer> {
  const { data = [] } = (await response.json()) as { data?: { b64_json?: string; url?: string }[] }
  const places = data.flatMap(({ b64_json: base64, url }) =>
    base64 ? [`data:${typeOfPicture(base64)};base64,${base64}`] : url ? [url] : [],
  )
  return { ...begun, ...byPlace(places) }
}

/** The type of a picture by the beginning of its base64. */
function typeOfPicture(base64: string): string {
  if (base64.startsWith('/9j/')) return 'image/jpeg'
  return base64.startsWith('UklGR') ? 'image/webp' : 'image/png'
}

/** Only this gateway's own files are loaded into the page. */
function byPlace(places: readonly string[]): Pick<Answer, 'pictures' | 'elsewhere'> {
  const isOwn = (place: string) =>
    place.startsWith('data:image/') || URL.parse(place)?.origin === location.origin
  return {
    pictures: places.filter(isOwn),
    elsewhere: places.filter((place) => !isOwn(place) && /^https?:/.test(place)),
  }
}

async function readSound(response: Response, begun: Answer): Promise<Answer> {
  return { ...begun, sound: URL.createObjectURL(await response.blob()) }
}

async function readVectors(response: Response, begun: Answer): Promise<Answer> {
  const { data = [] } = (await response.json()) as { data?: { embedding?: unknown }[] }
  const vectors = data.map(({ embedding }) => (Array.isArray(embedding) ? (embedding as number[]) : []))
  return { ...begun, vectors }
}

async function readVideo(
  response: Response,
  begun: Answer,
  show: (answer: Answer) => void,
  signal: AbortSignal,
): Promise<Answer> {
  const { id = '' } = (await response.json()) as { id?: string }
  const place = `v1/videos/generations/${encodeURIComponent(id)}?wait=${TASK_WAIT_SECONDS}`
  show({ ...begun, state: 'submitted' })
  for (;;) {
    const task = (await (await send('GET', place, { signal })).json()) as ShownTask
    if (task.error) throw new ApiError(task.error.message, 502, task.error.code, null)
    if (task.status === 'succeeded') {
      const video = urlOf(`v1/videos/${encodeURIComponent(id)}/content`)
      // What was paid is known with the end of the task.
      return { ...begun, state: task.status, video, costUsd: null }
    }
    show({ ...begun, state: task.status })
  }
}

interface ShownTask {
  status: string
  error?: { code: string; message: string }
}
