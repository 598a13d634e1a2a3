// Reads what an upstream says when it does not serve a request: takes its keys out, tells the operator what is theirs, and
// makes the caller's error. Lenient in what it reads: whatever the answer is, an error comes of it.

import type { UpstreamKind, VendorError } from '../contract/upstream'
import type { HttpResponse } from '../http-client/response'
import { NO_REASON, statedStatus } from '../lib/error-shapes'
import type { GatewayError } from '../lib/errors'
import { parseForeign, TooDeep } from '../lib/json'
import type { System } from '../lib/system'
import { emptyAnswer, isNotTaken, refusedByVendor } from './caller-errors'
import type { Mask } from './key-mask'
import type { KeyRefusal } from './keys-in-turn'

export interface Refusal extends KeyRefusal {
  error: GatewayError
}

const MAX_ERROR_BYTES = 64 * 1024
/** An error that is no JSON is quoted up to this length: a longer one is no sentence but a page or a dump. */
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

  /** Of an answer whose status is not 2xx; its body is read here. */
  async read(response: HttpResponse): Promise<Refusal> {
    const { status } = response
    const vendor = this.told(status, parse(await readText(response)))
    const retryAfterMs = retryAfterOf(response, vendor, this.world.wall())
    const error = refusedByVendor(this.name, status, vendor, retryAfterMs)
    error.notTaken = isNotTaken(status)
    return { status, whose: vendor.whose, retryAfterMs, error }
  }

  /** Of an answer of status 200 with an error in its body; a status that the body names wins over `assumed`. */
  errorOf(assumed: number, body: unknown): GatewayError {
    const status = statedStatus(body) ?? assumed
    const vendor = this.told(status, body)
    if (vendor.code === null && vendor.message === NO_REASON) return emptyAnswer(this.name)
    return refusedByVendor(this.name, status, vendor)
  }

  /** An error body in the gateway's terms; what is the operator's stands in the log. */
  private told(status: number, body: unknown): VendorError {
    const vendor = this.kind.error(status, body)
    const message = this.mask.text(vendor.message)
    // A vendor's 402 is the operator's bill; callers who read 402 would look at their own balance.
    const whose = status === 402 ? 'operator' : vendor.whose
    if (whose === 'operator') {
      const fields = { upstream: this.name, status, code: vendor.code, message }
      this.world.log('upstream_refused_operator', fields)
    }
    return { ...vendor, message, whose }
  }
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
