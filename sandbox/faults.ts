// Replies that a directive puts in place of the answer, and the count of each bracket's uses. It must never write the text of an
// error: that is left to the vendor.

import { asObject } from './json'
import type { EventFrame, Reply, Simulator, VendorRequest } from './simulator'

export function provokedReply(simulator: Simulator, request: VendorRequest): Reply | undefined {
  const { directives } = request
  if (directives.redirect !== undefined) {
    const body = { kind: 'text', text: '', contentType: 'text/plain' } as const
    return { status: 302, headers: { location: directives.redirect }, body }
  }
  const error = provokedError(simulator, request)
  if (error) return directives.soft ? { ...error, status: 200 } : error
  return directives.garbage ? garbage(request) : undefined
}

function provokedError(simulator: Simulator, request: VendorRequest): Reply | undefined {
  const { directives } = request
  if (directives.quota) return simulator.outOfQuota(request)
  if (directives.status === undefined) return undefined
  return simulator.fail(request, {
    status: directives.status,
    retryAfterSeconds: directives.retryAfterSeconds,
    text: directives.errorText,
    code: directives.errorCode,
  })
}

function garbage(request: VendorRequest): Reply {
  const text = '<html><body>This is not what you asked for.</body></html>'
  const streams = asObject(request.json)?.stream === true || request.path.includes(':stream')
  if (!streams) return { status: 200, headers: {}, body: { kind: 'text', text, contentType: 'text/html' } }
  const frame: EventFrame = { data: text }
  return { status: 200, headers: {}, body: { kind: 'events', stream: { frames: [frame], failure: frame } } }
}

const marksMax = 1000

/** Counts the uses of each bracket with `times`; the oldest is forgotten first. */
export class UseCounter {
  readonly #counts = new Map<string, number>()

  count(mark: string): number {
    const count = (this.#counts.get(mark) ?? 0) + 1
    this.#counts.delete(mark)
    this.#counts.set(mark, count)
    const oldest = this.#counts.size > marksMax ? this.#counts.keys().next().value : undefined
    if (oldest !== undefined) this.#counts.delete(oldest)
    return count
  }
}
