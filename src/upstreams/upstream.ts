// A vendor connection, and the only place that calls one with its key: keys in turn, a limit on running requests, a
// breaker. It must never follow a redirect, send a vendor's key to another host, or repeat a request that the vendor may
// have begun.

import type { Call } from '../contract/family'
import type { CallBody, Upstream, UpstreamKind, VendorError } from '../contract/upstream'
import type { HttpResponse } from '../http-client/response'
import { MalformedResponse } from '../http-client/response-parser'
import { NotConnected, type Transport } from '../http-client/transport'
import type { Cancellation } from '../lib/cancel-token'
import { NO_REASON, statedStatus } from '../lib/error-shapes'
import { GatewayError } from '../lib/errors'
import { parseForeign, TooDeep } from '../lib/json'
import { callerWords } from './caller-view'
import { createMask } from './key-mask'
import { createFetchFile } from './result-file'
import type { UpstreamConfig } from './settings'

/** What a connection needs from outside. */
export interface UpstreamWorld {
  transport: Transport
  /** The machine's clock, for the times that vendors name. */
  wall: () => number
  monotonic: () => number
  log: (event: string, fields: Record<string, unknown>) => void
}

const DEFAULT_TIMEOUT_MS = 10 * 60_000
const DEFAULT_IDLE_TIMEOUT_MS = 2 * 60_000
const DEFAULT_MAX_DURATION_MS = 30 * 60_000
const DEFAULT_CONCURRENCY = 4096
/** What the strictest vendors allow an account. */
const DEFAULT_POLLS_PER_SECOND = 20
const DEFAULT_TASK_DEADLINE_MS = 24 * 3_600_000
/** Attempts in all: other keys after 401 and 429, and a second try where the connection was refused. */
const MAX_ATTEMPTS = 3
/** How long a key rests that the vendor does not serve, and one that is over its rate when the vendor does not say how long. */
const UNKNOWN_KEY_REST_MS = 300_000
const BUSY_KEY_REST_MS = 5_000
const MAX_KEY_REST_MS = 600_000
/** Failures in a row that open the breaker, and how long it stays open before one request may try. */
const BREAKER_FAILURES = 5
const BREAKER_OPEN_MS = 5_000
/** What counts as a failure: no answer at all. One of 500 or 403 may be about one request or one model only. */
const VENDOR_DOWN = new Set(['upstream_unreachable', 'upstream_timeout'])
/** When to come back after a refusal that the operator has to see to. */
const OPERATOR_RETRY_SECONDS = 30
const MAX_ERROR_BYTES = 64 * 1024
/** Some servers want their key in the address. */
const SECRET_PARAMETER = /key|token|secret|signature/i
/** An error that is no JSON is quoted up to this length: a longer one is no sentence but a page or a dump. */
const MAX_SENTENCE_LENGTH = 500

type CallHeaders = Readonly<Record<string, string>>

/** One of the vendor's keys; after a refusal it rests while others are tried. */
interface VendorKey {
  secret: string | null
  restsUntil: number
  /** Of calls by their protocol, and of those that want a stream. */
  headers: Map<string, CallHeaders>
  streamHeaders: Map<string, CallHeaders>
}

export function createUpstream(
  name: string,
  kind: UpstreamKind,
  config: UpstreamConfig,
  world: UpstreamWorld,
): Upstream {
  const baseUrl = config.baseUrl ?? kind.baseUrl
  const { pathname, search, searchParams } = new URL(baseUrl)
  const basePath = pathname.replace(/\/+$/, '')
  const origin = world.transport.open(baseUrl)
  const secrets = config.apiKey === null ? [null] : [config.apiKey ?? []].flat()
  const keys = secrets.map(
    (secret): VendorKey => ({
      secret,
      restsUntil: 0,
      headers: new Map(),
      streamHeaders: new Map(),
    }),
  )
  const secretParameters = [...searchParams].filter(([parameter]) => SECRET_PARAMETER.test(parameter))
  const mask = createMask([...secrets, ...secretParameters.map(([, value]) => value)])
  const breaker = createBreaker(world.monotonic)
  const concurrency = config.concurrency ?? DEFAULT_CONCURRENCY
  const timeoutMs = config.timeoutMs ?? DEFAULT_TIMEOUT_MS
  let running = 0
  let turn = 0

  /** The next key that is not resting, or the one that wakes first. */
  function nextKey() {
    let earliest = keys[0] as VendorKey
    for (let offset = 0; offset < keys.length; offset++) {
      const key = keys[(turn + offset) % keys.length] as VendorKey
      if (key.restsUntil <= world.monotonic()) {
        turn = (turn + offset + 1) % keys.length
        return key
      }
      if (key.restsUntil < earliest.restsUntil) earliest = key
    }
    return earliest
  }

  function attempt(
    call: Call,
    body: CallBody,
    signal: Cancellation,
    account: string,
    key: VendorKey,
  ): Promise<HttpResponse> {
    return origin.send({
      method: call.method ?? 'POST',
      path: withQuery(`${basePath}${kind.prefix[call.protocol]}${call.path}`, search),
      headers: headersOf(key, call, body),
      body: body === null || typeof body === 'string' ? body : body.stream(),
      signal,
      partition: account,
    })
  }

  function headersOf(key: VendorKey, call: Call, body: CallBody): CallHeaders {
    const usual = usualHeadersOf(key, call)
    if (typeof body === 'string' && !call.headers) return usual
    const { 'content-type': json, ...others } = usual
    const headers = { ...others, ...call.headers }
    if (body === null) return headers
    if (typeof body === 'string') return { 'content-type': json as string, ...headers }
    return { ...headers, 'content-type': body.contentType, 'content-length': String(body.byteLength) }
  }

  /** Made once for each kind of call: they are the same every time. */
  function usualHeadersOf(key: VendorKey, { protocol, stream }: Call): CallHeaders {
    const made = stream ? key.streamHeaders : key.headers
    let headers = made.get(protocol)
    if (!headers) {
      headers = {
        'content-type': 'application/json',
        accept: stream ? 'text/event-stream' : 'application/json',
        // We relay bytes: compressed ones would only have to be unpacked here.
        'accept-encoding': 'identity',
        // Without a name some vendors' firewalls refuse a request.
        'user-agent': 'unified-model-gateway',
        ...(key.secret === null ? {} : kind.headers(key.secret, protocol)),
      }
      made.set(protocol, headers)
    }
    return headers
  }

  async function sendWithRetries(
    call: Call,
    body: CallBody,
    signal: Cancellation,
    account: string,
  ): Promise<HttpResponse> {
    for (let attempts = 1; ; attempts++) {
      const key = nextKey()
      let response: HttpResponse
      try {
        response = mask.response(await attempt(call, body, signal, account, key))
      } catch (error) {
        if (signal.aborted) throw signal.reason
        if (error instanceof MalformedResponse) {
          throw failed(
            502,
            'upstream_garbage',
            `The answer of the upstream ${name} was not proper HTTP, so nothing of it was taken. Try again.`,
            error,
          )
        }
        // Not a byte was sent: the only failure after which another vendor may be asked, and this one again.
        const unsent = error instanceof NotConnected
        if (attempts < MAX_ATTEMPTS && unsent && error.code === 'ECONNREFUSED') continue
        const unreachable = failed(
          502,
          'upstream_unreachable',
          `The upstream ${name} cannot be reached. Try again later.`,
          error,
        )
        throw unsent ? notTaken(unreachable) : unreachable
      }
      if (response.ok) return response
      const refusal = await readRefusal(response)
      if (
        restKey(key, refusal) &&
        attempts < MAX_ATTEMPTS &&
        keys.some(({ restsUntil }) => restsUntil <= world.monotonic())
      )
        continue
      throw refusal.error
    }
  }

  /** Lets a key rest that the vendor refused; another one may do. A single key is never tried twice. */
  function restKey(
    key: VendorKey,
    refusal: { status: number; whose: VendorError['whose']; retryAfterMs: number | undefined },
  ): boolean {
    // Some vendors answer 400 to a bad key; a model that is gone is gone for every key.
    const ofKey = refusal.status === 429 || (refusal.whose === 'operator' && refusal.status !== 404)
    if (!ofKey || keys.length === 1) return false
    const restMs = refusal.status === 429 ? (refusal.retryAfterMs ?? BUSY_KEY_REST_MS) : UNKNOWN_KEY_REST_MS
    key.restsUntil = world.monotonic() + Math.min(restMs, MAX_KEY_REST_MS)
    return true
  }

  async function readRefusal(response: HttpResponse) {
    const text = await readText(response)
    const vendor = readError(response.status, parse(text))
    const retryAfterMs = retryAfterOf(response, vendor, world.wall())
    tellOperator(response.status, vendor)
    const error = toCaller(response.status, vendor, retryAfterMs)
    // A server that fails may have failed after its work; one that is too busy has not begun.
    error.notTaken = response.status < 500 || response.status === 503 || response.status === 529
    return { status: response.status, whose: vendor.whose, retryAfterMs, error }
  }

  function tellOperator(status: number, { whose, code, message }: VendorError): void {
    if (whose === 'operator')
      world.log('upstream_refused_operator', { upstream: name, status, code, message })
  }

  /** An error body in our terms. */
  function readError(status: number, body: unknown): VendorError {
    const vendor = kind.error(status, body)
    const message = mask.text(vendor.message)
    // A vendor's 402 is the operator's bill; callers who read 402 would look at their own balance.
    return { ...vendor, message, whose: status === 402 ? 'operator' : vendor.whose }
  }

  /** How a vendor's refusal reads for the caller: their own mistakes as they are, the operator's troubles as ours. */
  function toCaller(status: number, told: VendorError, retryAfterMs?: number): GatewayError {
    const vendor = { ...told, message: callerWords(told.message) }
    const retryAfter =
      retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) }
    if (status === 404 && vendor.whose === 'operator') {
      return new GatewayError(502, {
        code: 'upstream_model_missing',
        message: `The upstream ${name} does not have this model, or no longer. Choose another one from GET /v1/models.`,
        headers: { 'x-should-retry': 'false' },
      })
    }
    if (vendor.whose === 'operator') {
      return new GatewayError(503, {
        code: 'upstream_unavailable',
        message: `The upstream ${name} does not serve this gateway now. Its operator can see why in the log.`,
        // Soon nothing changes: a client that waits and repeats would only show the reason later.
        headers: { 'retry-after': String(OPERATOR_RETRY_SECONDS), 'x-should-retry': 'false' },
      })
    }
    if (status >= 300 && status < 400) {
      return failed(
        502,
        'upstream_redirect',
        `The upstream ${name} answered with a redirect, which is not followed.`,
      )
    }
    if (status === 429) {
      return new GatewayError(429, {
        code: vendor.code ?? 'Throttling.RateQuota',
        message: vendor.message,
        headers: { 'retry-after': '1', ...retryAfter },
      })
    }
    if (status >= 500) {
      const unavailable = status === 503 || status === 529
      const known = status === 503 || status === 504 || (status === 529 && vendor.verbatim)
      return new GatewayError(known ? status : unavailable ? 503 : 502, {
        code: 'upstream_error',
        ...(vendor.verbatim && vendor.type !== null
          ? { type: vendor.type, message: vendor.message }
          : { message: `The upstream ${name} failed (HTTP ${status}): ${vendor.message}` }),
        headers: unavailable ? { 'retry-after': '1', ...retryAfter } : retryAfter,
      })
    }
    return new GatewayError(status === 422 ? 400 : status, {
      code: vendor.code ?? 'upstream_refused',
      type: vendor.type ?? 'invalid_request_error',
      message: vendor.message,
      param: vendor.param,
      relayed: vendor.relayed && { ...vendor.relayed, message: vendor.message },
    })
  }

  return {
    name,
    onAbort: config.onAbort ?? 'cancel',
    sharedAccount: config.sharedAccount ?? true,
    streamUsage: config.streamUsage ?? true,
    timeoutMs,
    idleTimeoutMs: config.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
    maxDurationMs: config.maxDurationMs ?? DEFAULT_MAX_DURATION_MS,
    pollsPerSecond: config.pollsPerSecond ?? DEFAULT_POLLS_PER_SECOND,
    taskDeadlineMs: config.taskDeadlineMs ?? DEFAULT_TASK_DEADLINE_MS,
    async send(call, body, signal, account) {
      if (running >= concurrency) {
        throw notTaken(
          new GatewayError(429, {
            code: 'Throttling.ConcurrencyQuota',
            message: `The upstream ${name} already runs ${concurrency} requests, its limit here. Try again in a moment.`,
            headers: { 'retry-after': '1' },
          }),
        )
      }
      if (!breaker.allows()) {
        throw notTaken(
          new GatewayError(503, {
            code: 'upstream_unavailable',
            message: `The upstream ${name} has failed repeatedly and is being left alone for a few seconds.`,
            headers: { 'retry-after': String(Math.ceil(BREAKER_OPEN_MS / 1000)) },
          }),
        )
      }
      running++
      let freed = false
      const done = () => {
        if (!freed) running--
        freed = true
      }
      try {
        const response = await sendWithRetries(call, body, signal, account)
        breaker.report(true)
        return { response, done }
      } catch (error) {
        done()
        if (error instanceof GatewayError && VENDOR_DOWN.has(error.code)) breaker.report(false)
        // A refusal is an answer; a call that was cut, as when its caller left, says nothing about the vendor.
        else breaker.report(signal.aborted ? undefined : true)
        throw error
      }
    },
    fetchFile: createFetchFile(name, kind, config, world),
    close: origin.close,
    errorOf(assumed, body) {
      const status = statedStatus(body) ?? assumed
      const vendor = readError(status, body)
      tellOperator(status, vendor)
      if (vendor.code !== null || vendor.message !== NO_REASON) return toCaller(status, vendor)
      return failed(
        502,
        'upstream_empty',
        `The upstream ${name} answered without a result and without a reason. Try again.`,
      )
    },
  }
}

/** Opens after failures in a row; when its time is up, one request may try and decides for the others. */
export function createBreaker(monotonic: () => number) {
  let failures = 0
  let openUntil = 0
  let probing = false
  return {
    allows(): boolean {
      if (failures < BREAKER_FAILURES) return true
      if (monotonic() < openUntil || probing) return false
      probing = true
      return true
    },
    /** Undefined: the request ended without telling anything about the vendor. */
    report(ok: boolean | undefined): void {
      probing = false
      if (ok === undefined) return
      failures = ok ? 0 : failures + 1
      if (failures >= BREAKER_FAILURES) openUntil = monotonic() + BREAKER_OPEN_MS
    },
  }
}

/** Some servers want the same query with every call, such as their API's version. */
function withQuery(path: string, search: string): string {
  if (search.length <= 1) return path
  return path.includes('?') ? `${path}&${search.slice(1)}` : path + search
}

function failed(status: number, code: string, message: string, cause?: unknown): GatewayError {
  return new GatewayError(status, { code, message, cause })
}

function notTaken(error: GatewayError): GatewayError {
  error.notTaken = true
  return error
}

/** As much of an error as may be of interest. */
async function readText({ body }: HttpResponse): Promise<string> {
  try {
    let text = ''
    const decoder = new TextDecoder()
    for await (const bytes of body) {
      text += decoder.decode(bytes, { stream: true })
      if (text.length >= MAX_ERROR_BYTES) break
    }
    return text
  } catch {
    return ''
  }
}

function parse(text: string): unknown {
  try {
    return parseForeign(text)
  } catch (error) {
    // One that is nested too deeply says nothing that anybody could read.
    return error instanceof TooDeep || text.length > MAX_SENTENCE_LENGTH ? {} : text
  }
}

function retryAfterOf(response: HttpResponse, vendor: VendorError, now: number): number | undefined {
  const header = response.header('retry-after')
  if (header === null)
    return vendor.retryAfterSeconds === undefined ? undefined : vendor.retryAfterSeconds * 1000
  const seconds = Number(header)
  if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
