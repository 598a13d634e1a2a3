// The vendors of the simulation: what they do is drawn, what they have done is known exactly. They answer chats, whole and
// streamed, embeddings and videos, and fail in every way in which a server can; webhooks are received here as well.

import { HttpBody, HttpResponse } from '../../src/http-client/response'
import { type HttpRequest, NotConnected } from '../../src/http-client/transport'
import type { Random } from './random'
import type { VirtualTime } from './simulation-time'

/** What a vendor made of a request, told apart by the mark in its prompt. */
export interface Work {
  /** Submits of videos that were begun. */
  begun: number
  /** The tokens of each whole answer. */
  answers: { input: number; output: number }[]
}

export interface VendorTask {
  id: string
  mark: string
  endsAt: number
  result: 'succeeded' | 'failed' | 'never'
  cancelled: boolean
}

export interface Delivery {
  id: string
  body: string
  accepted: boolean
}

export interface SimulatedVendor {
  send(request: HttpRequest): Promise<HttpResponse>
  works: Map<string, Work>
  tasks: Map<string, VendorTask>
  deliveries: Delivery[]
  /** From now on nothing fails. */
  heal(): void
}

const MARK = /mark-\d+/
const DEEP = `{"output":${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}}`

export function createVendor(time: VirtualTime, random: Random): SimulatedVendor {
  const works = new Map<string, Work>()
  const tasks = new Map<string, VendorTask>()
  const deliveries: Delivery[] = []
  let faultShare = 0.35
  let ids = 0

  const pause = (most = 3_000) =>
    new Promise<void>((resolve) => void time.after(20 + random.below(most), resolve))
  const isFault = () => random.chance(faultShare)

  function workOf(mark: string): Work {
    const work = works.get(mark) ?? { begun: 0, answers: [] }
    works.set(mark, work)
    return work
  }

  /** Until the request is given up. */
  function hang(signal: HttpRequest['signal']): Promise<never> {
    return new Promise((_resolve, reject) => {
      if (signal.aborted) reject(signal.reason)
      else signal.addEventListener('abort', () => reject(signal.reason))
    })
  }

  /** The failures that every request may meet before it has been worked on. Undefined: it is worked on. */
  async function early(signal: HttpRequest['signal']): Promise<HttpResponse | undefined> {
    if (!isFault()) return undefined
    switch (random.below(5)) {
      case 0:
        throw new NotConnected('refused', 'ECONNREFUSED')
      case 1:
        return answer(signal, 429, '{"error":{"message":"busy"}}', { 'retry-after': '1' })
      case 2:
        return answer(signal, 400, '{"error":{"message":"no"}}')
      case 3:
        return answer(signal, 503, 'later')
      default:
        return undefined
    }
  }

  /** The failures of an answer to what has been worked on. Undefined: it is told as it is. */
  async function late(signal: HttpRequest['signal']): Promise<HttpResponse | undefined> {
    if (!isFault()) return undefined
    switch (random.below(7)) {
      case 0:
        throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
      case 1:
        return answer(signal, 500, '{"error":{"message":"broken"}}')
      case 2:
        return answer(signal, 200, '<html>not what you wanted</html>')
      case 3:
        return answer(signal, 200, DEEP)
      case 4:
        return answer(signal, 200, '{"half":', {}, true)
      case 5:
        return hang(signal)
      default:
        return undefined
    }
  }

  function answer(
    signal: HttpRequest['signal'],
    status: number,
    body: string | readonly string[],
    headers: Record<string, string> = {},
    breaks = false,
  ): HttpResponse {
    const pieces = typeof body === 'string' ? [body] : [...body]
    let isOver = false
    const flow = {
      pause() {},
      resume() {},
      cancel() {
        isOver = true
      },
    }
    const content = new HttpBody(flow)
    const fail = (error: unknown) => {
      if (!isOver) content.fail(error)
      isOver = true
    }
    const next = () => {
      if (isOver) return
      const piece = pieces.shift()
      if (piece === undefined) {
        isOver = true
        return content.end()
      }
      content.push(Buffer.from(piece))
      if (breaks && pieces.length === 0) fail(Object.assign(new Error('reset'), { code: 'ECONNRESET' }))
      else if (pieces.length === 0) next()
      else time.after(random.below(400), next)
    }
    signal.addEventListener('abort', () => fail(signal.reason))
    time.after(random.below(5), next)
    const given: Record<string, string> = { 'content-type': 'application/json', ...headers }
    return new HttpResponse({ status, get: (name) => given[name] ?? null }, content)
  }

  async function chat(request: HttpRequest, mark: string, isStream: boolean): Promise<HttpResponse> {
    const { signal } = request
    await pause()
    const failure = (await early(signal)) ?? (await late(signal))
    if (failure) return failure
    const usage = { input: 5 + random.below(10), output: 1 + random.below(30) }
    const shown = {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.output,
    }
    const head = { id: 'c', created: 1, model: 'gpt-4.1-mini' }
    if (!isStream) {
      workOf(mark).answers.push(usage)
      const message = { role: 'assistant', content: `answer to ${mark}` }
      const choices = [{ index: 0, message, finish_reason: 'stop' }]
      return answer(
        signal,
        200,
        JSON.stringify({ ...head, object: 'chat.completion', choices, usage: shown }),
      )
    }
    const event = (data: object) =>
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...data })}\n\n`
    const words = Array.from({ length: 1 + random.below(8) }, (_none, index) =>
      event({ choices: [{ index: 0, delta: { content: `word ${index} ` }, finish_reason: null }] }),
    )
    const cut = isFault() && random.chance(0.5)
    const end = [
      event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
      event({ choices: [], usage: shown }),
      'data: [DONE]\n\n',
    ]
    if (!cut) workOf(mark).answers.push(usage)
    return answer(signal, 200, cut ? words : [...words, ...end], { 'content-type': 'text/event-stream' }, cut)
  }

  async function embed(request: HttpRequest, mark: string, inputs: number): Promise<HttpResponse> {
    await pause()
    const failure = (await early(request.signal)) ?? (await late(request.signal))
    if (failure) return failure
    const input = inputs + random.below(inputs)
    workOf(mark).answers.push({ input, output: 0 })
    const data = Array.from({ length: inputs }, (_none, index) => ({
      object: 'embedding',
      index,
      embedding: [0.5, 1],
    }))
    const usage = { prompt_tokens: input, total_tokens: input }
    return answer(request.signal, 200, JSON.stringify({ object: 'list', data, model: 'm', usage }))
  }

  async function submit(request: HttpRequest, mark: string): Promise<HttpResponse> {
    await pause()
    const refusal = await early(request.signal)
    if (refusal) return refusal
    workOf(mark).begun++
    const id = `vendor-${++ids}`
    const result = random.pick(['succeeded', 'succeeded', 'succeeded', 'failed', 'never'] as const)
    const endsAt = time.monotonic() + 5_000 + random.below(120_000)
    tasks.set(id, { id, mark, endsAt, result, cancelled: false })
    const loss = await late(request.signal)
    return (
      loss ??
      answer(
        request.signal,
        200,
        JSON.stringify({ request_id: 'r', output: { task_status: 'PENDING', task_id: id } }),
      )
    )
  }

  async function poll(request: HttpRequest, id: string): Promise<HttpResponse> {
    await pause(1_000)
    if (isFault()) return (await late(request.signal)) ?? answer(request.signal, 503, 'later')
    const task = tasks.get(id)
    if (!task) return answer(request.signal, 404, '{"code":"NotFound","message":"none"}')
    const output: Record<string, unknown> = { task_id: id, task_status: 'RUNNING' }
    if (task.cancelled) output.task_status = 'CANCELED'
    else if (time.monotonic() >= task.endsAt && task.result !== 'never') {
      output.task_status = task.result.toUpperCase()
      if (task.result === 'succeeded') output.video_url = `https://files.example.com/${id}.mp4`
    }
    return answer(request.signal, 200, JSON.stringify({ request_id: 'r', output }))
  }

  async function cancel(request: HttpRequest, id: string): Promise<HttpResponse> {
    await pause(1_000)
    const task = tasks.get(id)
    if (!task || time.monotonic() >= task.endsAt || random.chance(0.3))
      return answer(request.signal, 400, '{"code":"UnsupportedOperation","message":"too late"}')
    task.cancelled = true
    return (await late(request.signal)) ?? answer(request.signal, 200, '{"request_id":"r"}')
  }

  /** A receiver of webhooks. */
  async function receive({ headers, body, signal }: HttpRequest): Promise<HttpResponse> {
    await pause(2_000)
    const id = headers['webhook-id'] ?? ''
    const isLost = isFault()
    deliveries.push({ id, body: String(body), accepted: !isLost })
    if (!isLost) return answer(signal, 200, 'ok')
    if (random.chance(0.4)) return answer(signal, 500, 'no')
    if (random.chance(0.5)) return hang(signal)
    throw new Error('reset')
  }

  return {
    works,
    tasks,
    deliveries,
    heal() {
      faultShare = 0
    },
    send(request) {
      const { path, body } = request
      const text = typeof body === 'string' ? body : ''
      const mark = MARK.exec(text)?.[0] ?? ''
      const id = /tasks\/([^/]+)/.exec(path)?.[1]
      const work = () => {
        if (request.headers['webhook-id']) return receive(request)
        if (path.endsWith('/cancel')) return cancel(request, id ?? '')
        if (id !== undefined) return poll(request, id)
        if (path.endsWith('/chat/completions')) return chat(request, mark, text.includes('"stream":true'))
        if (path.endsWith('/embeddings'))
          return embed(request, mark, (JSON.parse(text) as { input: string[] }).input.length)
        return submit(request, mark)
      }
      return Promise.race([work(), hang(request.signal)])
    },
  }
}
