// The vendors of the simulation: their behaviour is random, and known exactly afterwards. They answer every kind of request of the
// gateway, and fail in every way in which a server can; webhooks are received here as well.

import { HttpBody, HttpResponse } from '../../../src/http-client/response'
import { type HttpRequest, NotConnected } from '../../../src/http-client/transport'
import type { Random } from '../random'
import {
  chatAnswer,
  editAnswer,
  embeddingsAnswer,
  fileAt,
  imageAnswer,
  type Made,
  messageAnswer,
  speechAnswer,
  transcriptAnswer,
  type Wish,
} from './answers'
import { FILE_HOST, VENDOR_SECRET } from './config'
import { type Life, MAX_CALM_PAUSE_MS } from './life'
import type { VirtualTime } from './time'

/** A vendor's work on a request, found by the mark in its prompt. */
export interface Work {
  /** The submits of begun videos. */
  begun: number
  /** The model, by the vendor's name, and the cost of each whole answer. */
  made: { model: string; nano: number }[]
}

export interface VendorTask {
  id: string
  mark: string
  endsAt: number
  result: (typeof RESULTS)[number]
  cancelled: boolean
  /** The states in answers to polls, whether or not the answers arrived. */
  reportedFailed: boolean
  reportedSucceeded: boolean
  reportedMissing: number
}

export interface Delivery {
  id: string
  body: string
  accepted: boolean
  at: number
}

/** A paid call on which a vendor works. */
interface RunningCall {
  mark: string
  startedAt: number
  caller: Life
  signal: HttpRequest['signal']
}

interface Exchange {
  request: HttpRequest
  caller: Life
  mark: string
  text: string
  /** Called when the vendor has sent everything. */
  over(): void
}

/** The share of failures about tasks and webhooks for which the waiting process is paused. */
const PAUSE_SHARE = 0.04
/**
 * How a task ends, or is reported to end: two change from failed to succeeded, and one from succeeded to failed after its first
 * report.
 */
const RESULTS = [
  ...(['succeeded', 'succeeded', 'succeeded', 'succeeded', 'failed', 'never'] as const),
  ...(['fickle', 'forgotten', 'wavering'] as const),
]
const MARK = /mark-\d+/
const DEEP = `{"output":${'{"a":'.repeat(3_000)}1${'}'.repeat(3_000)}}`
/** How long a fickle vendor reports that a task has failed, and a forgetful one that it does not exist. */
const WRONG_MS = 60_000
/** The longest time between the lease of a task and the request to the vendor, in a running process. */
const RECENT_MS = 1_000

export class SimulatedVendor {
  readonly works = new Map<string, Work>()
  readonly tasks = new Map<string, VendorTask>()
  readonly deliveries: Delivery[] = []
  readonly running = new Set<RunningCall>()
  /** Violations: actions that no gateway may ever take. */
  readonly violations: string[] = []
  private readonly time: VirtualTime
  private readonly random: Random
  private readonly onDelivery: (id: string) => void
  private readonly polling = new Map<string, { caller: Life; at: number }>()
  private faultShare = 0.35
  private ids = 0

  /** `onDelivery` is called now and then while a webhook is being received. */
  constructor(time: VirtualTime, random: Random, onDelivery: (id: string) => void) {
    this.time = time
    this.random = random
    this.onDelivery = onDelivery
  }

  /** From now on no request fails. */
  heal(): void {
    this.faultShare = 0
  }

  private pause(most = 3_000): Promise<void> {
    return new Promise<void>((resolve) => void this.time.after(20 + this.random.below(most), resolve))
  }

  private isFault(): boolean {
    return this.random.chance(this.faultShare)
  }

  private workOf(mark: string): Work {
    const work = this.works.get(mark) ?? { begun: 0, made: [] }
    this.works.set(mark, work)
    return work
  }

  /** The failures that every request may meet before the vendor works on it. Undefined: no failure. */
  private async early(exchange: Exchange): Promise<HttpResponse | undefined> {
    if (!this.isFault()) return undefined
    switch (this.random.below(6)) {
      case 0:
        throw new NotConnected('refused', 'ECONNREFUSED')
      case 1:
        return this.answer(exchange, 429, '{"error":{"message":"busy"}}', { 'retry-after': '1' })
      case 2:
        return this.answer(exchange, 400, '{"error":{"message":"no"}}')
      case 3:
        return this.answer(exchange, 503, 'later')
      case 4:
        return this.answer(exchange, 400, `{"error":{"message":"nothing for ${VENDOR_SECRET}"}}`)
      default:
        return undefined
    }
  }

  /** The failures of an answer after the work. Undefined: the answer is unchanged. */
  private async late(exchange: Exchange): Promise<HttpResponse | undefined> {
    if (!this.isFault()) return undefined
    switch (this.random.below(7)) {
      case 0:
        throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
      case 1:
        return this.answer(exchange, 500, '{"error":{"message":"broken"}}')
      case 2:
        return this.answer(exchange, 200, '<html>not what you wanted</html>')
      case 3:
        return this.answer(exchange, 200, DEEP)
      case 4:
        return this.answer(exchange, 200, '{"half":', {}, true)
      case 5:
        return hang(exchange.request.signal)
      default:
        return undefined
    }
  }

  private answer(
    { request: { signal }, caller, over }: Exchange,
    status: number,
    body: string | readonly string[],
    headers: Record<string, string> = {},
    breaks = false,
  ): HttpResponse {
    const pieces = typeof body === 'string' ? [body] : [...body]
    let isOver = false
    const end = (tell: () => void) => {
      if (isOver) return
      isOver = true
      over()
      tell()
    }
    const content = new HttpBody({ pause() {}, resume() {}, cancel: () => end(() => {}) })
    const next = () => {
      if (isOver) return
      const piece = pieces.shift()
      if (piece === undefined) return end(() => content.end())
      // Before the last bytes are sent, because the gateway may end the charge when it has them.
      if (pieces.length === 0) over()
      content.push(Buffer.from(piece, 'latin1'))
      if (breaks && pieces.length === 0)
        end(() => content.fail(Object.assign(new Error('reset'), { code: 'ECONNRESET' })))
      else if (pieces.length === 0) next()
      else caller.after(this.random.below(400), next)
    }
    signal.addEventListener('abort', () => end(() => content.fail(signal.reason)))
    caller.after(this.random.below(5), next)
    const given: Record<string, string> = { 'content-type': 'application/json', ...headers }
    return new HttpResponse({ status, get: (name) => given[name] ?? null }, content)
  }

  /** Answers with a result that is made at once, whole or in pieces. */
  private async make(exchange: Exchange, made: (wish: Wish) => Made): Promise<HttpResponse> {
    const { mark, text } = exchange
    await this.pause()
    const failure = (await this.early(exchange)) ?? (await this.late(exchange))
    if (failure) return failure
    const [, inJson, inForm = ''] = /"model":"([^"]+)"|name="model"\s+(\S+)/.exec(text) ?? []
    const model = inJson ?? inForm
    const { pieces, contentType, nano, cutAt } = made({
      model,
      mark,
      isStream: text.includes('"stream":true'),
      random: this.random,
    })
    const isCut = pieces.length > 1 && this.isFault() && this.random.chance(0.5)
    if (!isCut) this.workOf(mark).made.push({ model, nano })
    return this.answer(
      exchange,
      200,
      isCut ? pieces.slice(0, cutAt) : pieces,
      { 'content-type': contentType },
      isCut,
    )
  }

  private async submit(exchange: Exchange): Promise<HttpResponse> {
    const { mark } = exchange
    await this.pause()
    const refusal = await this.early(exchange)
    if (refusal) return refusal
    this.workOf(mark).begun++
    const id = `vendor-${++this.ids}`
    const result = this.random.pick(RESULTS)
    const endsAt = this.time.monotonic() + 3_000 + this.random.below(this.random.pick([10_000, 120_000]))
    this.tasks.set(id, {
      id,
      mark,
      endsAt,
      result,
      cancelled: false,
      reportedFailed: false,
      reportedSucceeded: false,
      reportedMissing: 0,
    })
    const loss = await this.late(exchange)
    const output = { task_status: 'PENDING', task_id: id }
    return loss ?? this.answer(exchange, 200, JSON.stringify({ request_id: 'r', output }))
  }

  /** The reported state of a task, which is not always the real one. */
  private statusOf(task: VendorTask): string | undefined {
    const late = this.time.monotonic() - task.endsAt
    if (task.cancelled) return 'CANCELED'
    if (late < 0 || task.result === 'never') return 'RUNNING'
    if (task.result === 'fickle') return late < WRONG_MS ? 'FAILED' : 'SUCCEEDED'
    if (task.result === 'forgotten') return late < WRONG_MS ? undefined : 'SUCCEEDED'
    if (task.result === 'wavering') return task.reportedSucceeded ? 'FAILED' : 'SUCCEEDED'
    return task.result.toUpperCase()
  }

  /**
   * Two nodes poll a task at once only if one of them was paused, and so has lost its lease: during its poll, or between taking the
   * lease and polling.
   */
  private checkPolls({ request: { signal }, caller }: Exchange, id: string): () => void {
    const other = this.polling.get(id)
    const isLate = caller.wasPausedSince(this.time.monotonic() - RECENT_MS)
    if (
      other &&
      other.caller !== caller &&
      !isLate &&
      !other.caller.isDead() &&
      !other.caller.wasPausedSince(other.at)
    )
      this.violations.push(`two nodes poll ${id} at once`)
    const poll = { caller, at: this.time.monotonic() }
    this.polling.set(id, poll)
    const end = () => {
      if (this.polling.get(id) === poll) this.polling.delete(id)
    }
    signal.addEventListener('abort', end)
    return end
  }

  private async poll(exchange: Exchange, id: string): Promise<HttpResponse> {
    const end = this.checkPolls(exchange, id)
    try {
      return await this.answerPoll(exchange, id)
    } finally {
      end()
    }
  }

  private async answerPoll(exchange: Exchange, id: string): Promise<HttpResponse> {
    await this.pause(1_000)
    if (this.isFault()) return (await this.late(exchange)) ?? this.answer(exchange, 503, 'later')
    const task = this.tasks.get(id)
    const status = task && this.statusOf(task)
    if (!task || !status) {
      if (task) task.reportedMissing++
      return this.answer(exchange, 404, '{"code":"NotFound","message":"none"}')
    }
    if (status === 'FAILED') task.reportedFailed = true
    if (status === 'SUCCEEDED') task.reportedSucceeded = true
    // A node may act on one report after the other has arrived elsewhere.
    if (task.result === 'wavering' && status === 'SUCCEEDED') exchange.caller.pause(MAX_CALM_PAUSE_MS)
    const video = status === 'SUCCEEDED' ? { video_url: `http://${FILE_HOST}/${id}.mp4` } : {}
    const output = { task_id: id, task_status: status, ...video }
    return this.answer(exchange, 200, JSON.stringify({ request_id: 'r', output }))
  }

  private async cancel(exchange: Exchange, id: string): Promise<HttpResponse> {
    await this.pause(1_000)
    const task = this.tasks.get(id)
    if (!task || this.time.monotonic() >= task.endsAt || this.random.chance(0.3))
      return this.answer(exchange, 400, '{"code":"UnsupportedOperation","message":"too late"}')
    task.cancelled = true
    return (await this.late(exchange)) ?? this.answer(exchange, 200, '{"request_id":"r"}')
  }

  private async file(exchange: Exchange): Promise<HttpResponse> {
    const { path } = exchange.request
    await this.pause()
    const content = fileAt(path)
    const headers = { 'content-type': 'image/png', 'content-length': String(content.length) }
    if (!this.isFault()) return this.answer(exchange, 200, content, headers)
    if (this.random.chance(0.3)) return hang(exchange.request.signal)
    if (this.random.chance(0.3)) return this.answer(exchange, 404, 'gone')
    return this.answer(exchange, 200, content.slice(0, 7), headers, this.random.chance(0.5))
  }

  /** A receiver of webhooks. */
  private async receive(exchange: Exchange, id: string): Promise<HttpResponse> {
    const { body, signal } = exchange.request
    const at = this.time.monotonic()
    await this.pause(2_000)
    const isLost = this.isFault()
    if (this.isFault() && this.random.chance(0.5)) this.onDelivery(id)
    this.deliveries.push({ id, body: String(body), accepted: !isLost, at })
    if (!isLost) return this.answer(exchange, 200, 'ok')
    if (this.random.chance(0.4)) return this.answer(exchange, 500, 'no')
    if (this.random.chance(0.5)) return hang(signal)
    throw new Error('reset')
  }

  /** Does the paid work on a request. */
  private work(exchange: Exchange): Promise<HttpResponse> {
    const { request, text } = exchange
    if (request.path.endsWith('/chat/completions')) return this.make(exchange, chatAnswer)
    if (request.path.endsWith('/messages')) return this.make(exchange, messageAnswer)
    if (request.path.endsWith('/images/edits')) return this.make(exchange, editAnswer)
    if (request.path.endsWith('/audio/transcriptions')) return this.make(exchange, transcriptAnswer)
    if (request.path.endsWith('/embeddings')) {
      const { length } = (JSON.parse(text) as { input: string[] }).input
      return this.make(exchange, (wish) => embeddingsAnswer(wish, length))
    }
    if (!request.path.endsWith('/multimodal-generation/generation')) return this.submit(exchange)
    const spoken = (JSON.parse(text) as { input: { text?: string } }).input.text
    return this.make(exchange, spoken === undefined ? imageAnswer : (wish) => speechAnswer(wish, spoken))
  }

  private async paid(request: HttpRequest, caller: Life): Promise<HttpResponse> {
    const { body, signal } = request
    const text = typeof body === 'string' ? body : await this.time.track(textOf(body))
    const mark = MARK.exec(text)?.[0] ?? ''
    const call: RunningCall = { mark, startedAt: this.time.monotonic(), caller, signal }
    const over = () => void this.running.delete(call)
    this.running.add(call)
    try {
      return await Promise.race([this.work({ request, caller, mark, text, over }), hang(signal)])
    } catch (error) {
      over()
      throw error
    }
  }

  send(request: HttpRequest, caller: Life, host: string): Promise<HttpResponse> {
    const { path, signal, headers } = request
    const id = /tasks\/([^/]+)/.exec(path)?.[1]
    const webhook = headers['webhook-id']
    if (host !== FILE_HOST && id === undefined && webhook === undefined) return this.paid(request, caller)
    const exchange = { request, caller, mark: '', text: '', over() {} }
    // The answer arrives when others may have taken over.
    if (this.isFault() && this.random.chance(PAUSE_SHARE)) caller.pause(MAX_CALM_PAUSE_MS)
    const free = () => {
      if (webhook !== undefined) return this.receive(exchange, webhook)
      if (host === FILE_HOST) return this.file(exchange)
      return path.endsWith('/cancel') ? this.cancel(exchange, id ?? '') : this.poll(exchange, id ?? '')
    }
    return Promise.race([free(), hang(signal)])
  }
}

/** Rejects when the request is canceled. */
function hang(signal: HttpRequest['signal']): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    else signal.addEventListener('abort', () => reject(signal.reason))
  })
}

async function textOf(body: HttpRequest['body']): Promise<string> {
  let text = ''
  for await (const piece of body ?? []) text += Buffer.from(piece as Uint8Array).toString('latin1')
  return text
}
