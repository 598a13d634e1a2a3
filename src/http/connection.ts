// Limits how long a caller's connection may be silent: a short time until its first request has arrived, no limit while
// the request runs, and a longer time between requests. Bun closes silent connections some seconds late, and does not
// count dribbled bytes of a head as activity. A request must never be left without a limit once it is answered.

import type { Config } from '../config/schema'

/** The part of the server that a request needs. */
export interface Listener {
  url: URL
  timeout(request: Request, seconds: number): void
  /** The other end of the connection; null for a unix socket, and when it is closed. */
  requestIP(request: Request): { address: string } | null
}

/** Time from a new connection to the end of the head of its first request, in milliseconds. */
const HEADERS_TIMEOUT_MS = 20_000
/** Longer than clients and proxies keep theirs, so that none is closed while a request is on its way. */
const KEEP_ALIVE_TIMEOUT_MS = 120_000

/** Time from the answer to the end of an incomplete body, in seconds: enough to read the answer. */
const LINGER_TIMEOUT_SECONDS = 8

const FOLLOW_TIMEOUT_SECONDS = 60

/** The timeout for Bun, which waits at least ten seconds and checks connections every four. */
export function headersTimeoutSeconds({ server }: Config): number {
  return Math.ceil((server?.headersTimeoutMs ?? HEADERS_TIMEOUT_MS) / 1000)
}

/** Lifts Bun's timeout for a request: a model may think for minutes, and the gateway's own time limits apply. */
export function disableTimeout(listener: Listener | null, request: Request): void {
  listener?.timeout(request, 0)
}

/** Sets the timeout after an answer: from then on the caller must read it, or send another request. */
export function setKeepAliveTimeout(
  listener: Listener | null,
  request: Request,
  { server }: Pick<Config, 'server'>,
): void {
  listener?.timeout(request, Math.ceil((server?.keepAliveTimeoutMs ?? KEEP_ALIVE_TIMEOUT_MS) / 1000))
}

/**
 * Sets the timeout of a stream that shows at least every 15 seconds that it continues: a caller that reads nothing for so long is
 * gone.
 */
export function setStreamTimeout(listener: Listener | null, request: Request): void {
  listener?.timeout(request, FOLLOW_TIMEOUT_SECONDS)
}

/** Sets the timeout after an answer that may be a stream of events, which has not ended then. */
export function restAfter(
  response: unknown,
  listener: Listener | null,
  request: Request,
  config: Pick<Config, 'server'>,
): void {
  const type = response instanceof Response ? response.headers.get('content-type') : null
  if (type?.startsWith('text/event-stream')) setStreamTimeout(listener, request)
  else setKeepAliveTimeout(listener, request, config)
}

/**
 * Sets the timeout for an answer before its body has arrived: the rest of the body may take at most this time, however steadily it
 * arrives.
 */
export function setBodyTimeout(listener: Listener | null, request: Request): void {
  listener?.timeout(request, LINGER_TIMEOUT_SECONDS)
}
