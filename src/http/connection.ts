// How long the connection of a caller may be silent: a short time until its first request has arrived, no limit while the
// request is worked on, and a longer time between requests. Bun closes what is silent for longer, some seconds late, and
// does not take dribbled bytes of a head for life. A request must never be left without limit once it is answered.

import type { Config } from '../config/schema'

/** As much of the server as a request needs. */
export interface Listener {
  url: URL
  timeout(request: Request, seconds: number): void
}

/** From a new connection to the end of the head of its first request. */
const HEADERS_TIMEOUT_MS = 20_000
/** Longer than clients and proxies keep theirs, so that none is closed under a request on its way. */
const KEEP_ALIVE_TIMEOUT_MS = 120_000

/** From the answer to a request whose body is not whole to the end of that body: time to read the answer. */
const LINGER_TIMEOUT_SECONDS = 8

/** For Bun, which waits for ten at least, and looks after connections every four. */
export function headersTimeoutSeconds({ server }: Config): number {
  return Math.ceil((server?.headersTimeoutMs ?? HEADERS_TIMEOUT_MS) / 1000)
}

/** Bun cuts quiet connections, and a model may think for minutes: the gateway's own time limits apply instead. */
export function exempt(listener: Listener | null, request: Request): void {
  listener?.timeout(request, 0)
}

/** The answer is made: from here on the caller has to take it, or ask again. */
export function rest(listener: Listener | null, request: Request, { server }: Pick<Config, 'server'>): void {
  listener?.timeout(request, Math.ceil((server?.keepAliveTimeoutMs ?? KEEP_ALIVE_TIMEOUT_MS) / 1000))
}

/** The answer is made before the body has come: what is still to come of it may take only so long, however steady it is. */
export function linger(listener: Listener | null, request: Request): void {
  listener?.timeout(request, LINGER_TIMEOUT_SECONDS)
}
