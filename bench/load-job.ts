// Jobs of the load generator and its reports, as plain data that is sent between two processes. It must never contain behaviour:
// both processes import it.

/** Closed loop: every connection sends its next request when the reply to the last one is complete. */
export interface LoopJob {
  kind: 'loop'
  port: number
  /** The path of the requests; chat by default. */
  path?: '/v1/messages' | '/v1/responses'
  headers: Record<string, string>
  body: string
  stream: boolean
  /** Whether streams of responses must end with `[DONE]`, which only the gateway sends. */
  endsWithDone?: boolean
  connections: number
  durationMs: number
  /** Ends a connection's work earlier than `durationMs`. */
  repliesPerConnection?: number
}

/** How much work a closed loop does. */
export type LoopSize = Pick<LoopJob, 'connections' | 'durationMs' | 'repliesPerConnection'>

export interface LoopReport {
  replies: number
  errors: number
  /** Text frames that were missing, repeated, out of order or different. */
  framesWrong: number
  elapsedMs: number
  latencyMs: { p50: number; p99: number; max: number }
  /** The first few reasons of errors. */
  faults: string[]
}

/** Opens marked streams, some at a time, and cuts each after a few frames. */
export interface CutJob {
  kind: 'cut'
  port: number
  headers: Record<string, string>
  /** Contains `CUT_MARK` once, which every request replaces by its own mark. */
  body: string
  streams: number
  atOnce: number
}

export interface CutReport {
  cuts: [mark: string, cutAtMs: number][]
  errors: number
  faults: string[]
}

/** One request after the other at a steady rate, whether the last one was answered or not. */
export interface SteadyJob {
  kind: 'steady'
  port: number
  headers: Record<string, string>
  body: string
  perSecond: number
  durationMs: number
}

export interface SteadyReport {
  /** Measured from the moment when each request was due. */
  latenciesMs: number[]
  errors: number
  faults: string[]
}

/** Requests at a steady rate, and probes of the server's event loop next to them. */
export interface LagJob extends Omit<SteadyJob, 'kind'> {
  kind: 'lag'
  /** Process id of the server. */
  pid: number
  probesPerSecond: number
}

/** One probe of the event loop, in milliseconds from the moment when it was sent. */
export interface Probe {
  tookMs: number
  /** Milliseconds that the server, or this side, was ready to run but waited for a processor; the longer of the two. */
  waitedMs: number
}

export interface LagReport {
  probes: Probe[]
  chatLatenciesMs: number[]
  errors: number
  faults: string[]
}

/** Short turns of several servers, in a different order each round, over connections that stay open. */
export interface TurnsJob {
  kind: 'turns'
  servers: TurnsServer[]
  body: string
  connections: number
  /** Requests of each connection in a turn. */
  repliesPerConnection: number
  /** Duration of the warm-up turns, which are not measured. */
  warmUpMs: number
  durationMs: number
}

export interface TurnsServer {
  port: number
  pid: number
  headers: Record<string, string>
}

/** One entry for each server, in their order. */
export interface TurnsReport {
  servers: TurnsFigures[]
  replies: number
  errors: number
  faults: string[]
}

/** Processor time of one server. */
export interface TurnsFigures {
  /** Microseconds per request, one value per round. */
  micros: number[]
  /** Share of a core that it used while others had their turns. */
  besideShare: number
}

export type LoadJob = LoopJob | CutJob | SteadyJob | LagJob | TurnsJob
export type LoadReport = LoopReport | CutReport | SteadyReport | LagReport | TurnsReport

export const CUT_MARK = 'bench-cut-0000000'

/** All marks have the same length, so that the content-length is correct for every request. */
export function cutMark(index: number): string {
  return `bench-cut-${String(index).padStart(7, '0')}`
}

/** The bytes of one request, prepared so that sending takes one write. */
export function encodeRequest(job: LoopJob | CutJob): Buffer {
  const path = ('path' in job && job.path) || '/v1/chat/completions'
  const headers = Object.entries(job.headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const head =
    `POST ${path} HTTP/1.1\r\nhost: 127.0.0.1:${job.port}\r\naccept: */*\r\n` +
    `content-type: application/json\r\n${headers.join('')}content-length: ${Buffer.byteLength(job.body)}\r\n\r\n`
  return Buffer.from(head + job.body)
}
