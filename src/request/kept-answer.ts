// Replaces addresses of results at the vendor by the gateway's own. The request has been paid by now: no failure here
// may reach the caller.

import type { Source } from '../artifacts/artifacts'
import { saveAnswer } from '../billing/idempotency'
import { apply } from '../db/db'
import type { HttpResponse } from '../http-client/response'
import { replaceStrings } from '../lib/json'
import { fileOf } from '../upstreams/result-file'
import type { Reservation } from './reservation'
import type { RequestWorld } from './world'

/** Longest time that an answer waits for copies, in milliseconds. */
const COPY_TIMEOUT_MS = 60_000

/** Copies the results of an answer. `replies` are the vendor's, `body` is the answer made of them. */
export async function keepResults(
  world: RequestWorld,
  reservation: Reservation,
  body: string,
  replies: readonly object[],
  from: { gatewayUrl(): string },
): Promise<string> {
  const { family, model, parsed, charge, idempotencyKey } = reservation
  const links = family.kind === 'json' || family.kind === 'made' ? family.links : undefined
  if (!world.artifacts || !links) return body
  try {
    const source: Source = {
      account: charge.account,
      keyId: charge.keyId,
      charge: charge.id,
      fetchFile: (url, signal) => inlineFile(url) ?? model.upstream.fetchFile(url, signal),
      gatewayUrl: from.gatewayUrl(),
      timeoutMs: COPY_TIMEOUT_MS,
    }
    const kept = await world.artifacts.keepAll(
      replies.flatMap((reply) => links(reply, parsed.body)),
      source,
    )
    const answer = replaceStrings(body, kept)
    if (idempotencyKey && kept.size > 0) {
      const saved = { status: 200, contentType: 'application/json', body: answer }
      // Until then the same key answers with the vendor's addresses, which are valid for a day.
      await apply(world.db, [saveAnswer(world.db, charge.id, saved)]).catch((error) =>
        logFailure(world, reservation, error),
      )
    }
    return answer
  } catch (error) {
    logFailure(world, reservation, error)
    return body
  }
}

/** The file of a data URL: some vendors answer with the bytes where the caller wants an address. */
function inlineFile(url: string): Promise<HttpResponse> | undefined {
  const [, type, base64] = /^data:([a-z]+\/[a-z0-9.+-]+);base64,(.*)$/s.exec(url) ?? []
  if (type === undefined || base64 === undefined) return undefined
  return Promise.resolve(fileOf(Buffer.from(base64, 'base64'), type))
}

function logFailure(world: RequestWorld, { charge }: Reservation, error: unknown): void {
  world.log('results_not_kept', { request: charge.id, reason: String(error) })
}
