// Replaces the vendor's URLs of results with the gateway's own, before the answer is settled and saved: a repeated request must get
// the same answer. A failure here must never reach the caller.

import type { Source } from '../../artifacts/artifacts'
import type { HttpResponse } from '../../http-client/response'
import type { CancelSignal } from '../../lib/cancel-token'
import { replaceStrings } from '../../lib/json/json'
import { noteUpstreamEnd } from '../../request-log/row'
import { fileOf } from '../../upstreams/result-file'
import type { Reservation } from '../reservation'
import type { RequestWorld } from '../world'

/** Maximum time that an answer waits for copies, in milliseconds. */
const COPY_TIMEOUT_MS = 60_000

/** Copies the results of an answer. `replies` are the vendor's, `body` is the answer made from them. */
export async function keepResults(
  world: RequestWorld,
  reservation: Reservation,
  body: string,
  replies: readonly object[],
  from: { gatewayUrl(): string },
): Promise<string> {
  const {
    request: { family, model, parsed },
    charge,
    cancelToken,
  } = reservation
  const links = family.kind === 'json' || family.kind === 'made' ? family.links : undefined
  if (!world.artifacts || !links) return body
  // The vendor has answered: copies have their own time limit.
  noteUpstreamEnd(reservation.logRow, world.monotonic())
  reservation.deadlineAt = Number.POSITIVE_INFINITY
  try {
    const source: Source = {
      account: charge.account,
      keyId: charge.keyId,
      charge: charge.id,
      fetchFile: (url, signal) => inlineFile(url) ?? model.upstream.fetchFile(url, signal),
      gatewayUrl: from.gatewayUrl(),
      timeoutMs: COPY_TIMEOUT_MS,
    }
    const urls = replies.flatMap((reply) => links(reply, parsed.body))
    const kept = await unlessCut(cancelToken.signal, world.artifacts.keepAll(urls, source))
    return replaceStrings(body, kept)
  } catch (error) {
    world.log('results_not_kept', { request: charge.id, reason: String(error) })
    return body
  }
}

/** Waits for work that continues by itself; rejects when the request is cut off. */
async function unlessCut<Result>(signal: CancelSignal, work: Promise<Result>): Promise<Result> {
  const cut = Promise.withResolvers<never>()
  const abort = () => cut.reject(signal.reason)
  signal.addEventListener('abort', abort)
  if (signal.aborted) abort()
  try {
    return await Promise.race([work, cut.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** The file in a data URL: some vendors return the bytes if the caller wants a URL. */
function inlineFile(url: string): Promise<HttpResponse> | undefined {
  const [, type, base64] = /^data:([a-z]+\/[a-z0-9.+-]+);base64,(.*)$/s.exec(url) ?? []
  if (type === undefined || base64 === undefined) return undefined
  return Promise.resolve(fileOf(Buffer.from(base64, 'base64'), type))
}
