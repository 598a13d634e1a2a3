// Reads an upstream's refusal: removes its keys, logs the part for the operator, and makes the caller's error. It must always
// produce an error, whatever the answer.

import type { UpstreamError, UpstreamKind } from '../contract/upstream'
import type { HttpResponse } from '../http-client/response'
import { NO_REASON, statedStatus } from '../lib/error-shapes'
import type { GatewayError } from '../lib/errors'
import { parseForeign, TooDeep } from '../lib/json/json'
import type { System } from '../lib/system'
import { emptyAnswer, isNotTaken, notServed, refusedByUpstream } from './caller-errors'
import type { Mask } from './key-mask'
import { loadingSeconds } from './loading'
import { requestIdOf } from './request-id'
import type { KeyRefusal } from './upstream-keys'

export interface Refusal extends KeyRefusal {
  error: GatewayError
}

const MAX_ERROR_BYTES = 64 * 1024
/** Maximum length of a quoted error that is not JSON, in characters: a longer one is a page or a dump. */
const MAX_SENTENCE_LENGTH = 500

export class Refusals {
  private readonly name: string
  private readonly kind: UpstreamKind
  private readonly mask: Mask
  private readonly world: Pick<System, 'wall' | 'log'>

  constructor(name: string, kind: UpstreamKind, mask: Mask, world: Pick<System, 'wall' | 'log'>) {
    this.name = name
    this.kind = kind
    this.mask = mask
    this.world = world
  }

  /** Reads an answer whose status is not 2xx, with its body. */
  async read(response: HttpResponse): Promise<Refusal> {
    const body = parse(await readText(response))
    const vendor = this.readError(response.status, body, (name) => response.header(name))
    const status = vendor.status ?? response.status
    const retryAfterMs = retryAfterOf(response, vendor, this.world.wall())
    const error = refusedByUpstream(this.name, status, vendor, retryAfterMs)
    error.notTaken = isNotTaken(status)
    error.upstreamRequestId = requestIdOf(response)
    error.vendorStatus = response.status
    if (vendor.whose === 'operator')
      error.operatorRefusal = { status: response.status, message: vendor.message }
    return { status, whose: vendor.whose, retryAfterMs, error }
  }

  /** The error for a 200 with an error in its body; a status in the body takes precedence over `assumed`. */
  errorOf(assumed: number, body: unknown): GatewayError {
    const status = statedStatus(body) ?? assumed
    const vendor = this.readError(status, body)
    if (vendor.code === null && vendor.message === NO_REASON) return emptyAnswer(this.name)
    const error = refusedByUpstream(this.name, vendor.status ?? status, vendor)
    error.vendorStatus = statedStatus(body) ?? vendor.status ?? 200
    if (vendor.whose === 'operator') error.operatorRefusal = { status, message: vendor.message }
    return error
  }

  /** The error for a key that was not exchanged for a token, before anything was sent. */
  withoutToken({ message }: Error): GatewayError {
    const operatorRefusal = { status: 401, message: this.mask.text(message) }
    const fields = { upstream: this.name, code: null, ...operatorRefusal }
    this.world.log('upstream_refused_operator', fields)
    return Object.assign(notServed(this.name), { notTaken: true, operatorRefusal })
  }

  /** An error body in the gateway's terms; the part for the operator is logged. */
  private readError(status: number, body: unknown, header?: (name: string) => string | null): UpstreamError {
    const vendor = this.kind.error(status, body, header)
    const message = this.mask.text(vendor.message)
    // A vendor's 402 is the operator's bill; callers that get 402 would check their own balance.
    const whose = status === 402 ? 'operator' : vendor.whose
    if (whose === 'operator') {
      const fields = { upstream: this.name, status, code: vendor.code, message }
      this.world.log('upstream_refused_operator', fields)
    }
    const seconds = loadingSeconds(status, body, message)
    const loading = seconds !== undefined && {
      isLoading: true as const,
      retryAfterSeconds: vendor.retryAfterSeconds ?? seconds,
    }
    return { ...vendor, message, whose, ...loading }
  }
}

/** The beginning of an error body. */
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
    // A too deeply nested error is unreadable anyway.
    return error instanceof TooDeep || text.length > MAX_SENTENCE_LENGTH ? {} : text
  }
}

function retryAfterOf(response: HttpResponse, vendor: UpstreamError, now: number): number | undefined {
  const header = response.header('retry-after')
  if (header === null)
    return vendor.retryAfterSeconds === undefined ? undefined : vendor.retryAfterSeconds * 1000
  const seconds = Number(header)
  if (Number.isFinite(seconds) && seconds >= 0) return seconds * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
