// All results of one run, as plain data, for `--json` and for the table. It must never contain a judgement: the table has the
// thresholds.
import type { Fault } from './load-client'
import type { TurnsFigures } from './load-job'
import type { PerTarget } from './targets'

export interface Figures {
  start?: StartFigures
  memory?: MemoryFigures
  cpu?: CpuFigures
  latency?: PerTarget<LatencyFigures>
  throughput?: PerTarget<ThroughputFigures>
  streams?: PerTarget<StreamsFigures>
  native?: NativeFigures
  translation?: TranslationFigures
  cache?: CacheFigures
  affinity?: AffinityFigures
  spenders?: SpendersFigures
  parts?: PartsFigures
  cuts?: CutsFigures
  polls?: PollsFigures
  endings?: EndingsFigures
  hostile?: HostileFigures
  nodes?: NodesFigures
  history?: HistoryFigures
  faults: Fault[]
}

/** One value per start. */
export interface StartFigures {
  healthMs: number[]
  modelsMs: number[]
  /** To the first answer of `/health`, with many models. */
  manyHealthMs: number[]
}

interface MemoryFigures {
  idleMb: PerTarget<number>
  peakMb: PerTarget<number>
  afterMb: PerTarget<number>
}

/** Microseconds of processor time per request or stream, one value per round. */
export interface CpuFigures {
  /** Values at 32 connections, and at 128. */
  wholeMicros: PerTarget<number[]>
  busyMicros: PerTarget<number[]>
  burstMicros: PerTarget<number[]>
  pacedMicros: PerTarget<number[]>
}

/** Streams as their vendors send them. */
export interface NativeFigures {
  messages: NativeCost
  responses: NativeCost
}

/** Microseconds of processor time per stream, one value per round. */
export interface NativeCost {
  burstMicros: PerTarget<number[]>
  pacedMicros: PerTarget<number[]>
}

/** One connection; one value per round. */
export interface LatencyFigures {
  p50Ms: number[]
  p99Ms: number[]
}

/** 128 connections; one value per round. */
export interface ThroughputFigures extends LatencyFigures {
  repliesPerSecond: number[]
  replies: number
  errors: number
}

export interface StreamsFigures {
  streams: number
  errors: number
  framesWrong: number
  framesPerSecond: number
  cpuMicrosPerFrame: number
}

/** Processor time of a gateway with each part, with none, and of another one with none; one entry per generation. */
export type PartsFigures = Record<'none' | 'again' | 'metrics' | 'lines' | 'console', TurnsFigures[]>

/** Processor time of the gateway per answer, in microseconds, one value per round. */
export interface TranslationFigures {
  whole: TranslationCost
  burst: TranslationCost
  paced: TranslationCost
}

export interface TranslationCost {
  /** Chat completions that pass unchanged. */
  passedMicros: number[]
  /** Chat completions that are translated to responses. */
  translatedMicros: number[]
}

/** Processor time of the gateway per answer, in microseconds, one value per round. */
export interface CacheFigures {
  /** Answers of the vendor. */
  passedMicros: number[]
  /** Answers of the response cache. */
  cachedMicros: number[]
}

/** Processor time of the gateway per answer, in microseconds, one value per round. */
export interface AffinityFigures {
  /** Answers of a model over one upstream. */
  oneMicros: number[]
  /** Answers of a model over two upstreams. */
  equalMicros: number[]
  /** Answers of a route with a preference. */
  preferredMicros: number[]
}

/** Processor time of the gateway per answer, in microseconds, one value per round. */
export interface SpendersFigures {
  /** Answers for a key without a rule for spenders. */
  withoutMicros: number[]
  /** Answers for a key with one, whose requests name nobody. */
  unnamedMicros: number[]
  /** Answers for the same key, whose requests name a spender with a budget. */
  namedMicros: number[]
}

export interface CutsFigures {
  closing: PerTarget<ClosingFigures>
  /** Memory of the gateway only: the other targets store nothing per stream. */
  rss?: { warmMb: number; peakMb: number; endMb: number }
}

/** Time from the client's cut to the closing of the vendor's connection. */
export interface ClosingFigures {
  streams: number
  /** Cuts that never reached the vendor while the stream was running. */
  unclosed: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

/** Open tasks, each polled when it is due. */
export interface PollsFigures {
  tasks: number
  polled: number
  /** Due tasks that were not polled; their whole wait is counted. */
  unpolled: number
  pollsPerSecond: number
  /** Processor time over wall time: 1 is one core all the time. */
  coreShare: number
  /** Time from when a task was due to its poll at the vendor. */
  latenessMs: Spread
}

/** Tasks that ended at once, half with webhooks to a fast receiver and half to a slow one, during chat. */
export interface EndingsFigures {
  tasks: number
  /** Tasks that had not ended when the run gave up. */
  open: number
  chatBeforeMs: Spread
  chatDuringMs: Spread
  /** Time until the last task had ended and the fast receiver had its last webhook. */
  tookMs: number
  quick: { received: number; of: number }
  slow: { received: number; of: number }
}

/** A history of two years, the first of which is closed. Times are processor times. */
export interface HistoryFigures {
  charges: number
  closed: number
  /** Size of the archives of all closed charges. */
  archiveBytes: number
  /** Processor time of closing: verifying, writing and reading archives back, and removing. */
  closingMs: number
  /** A verification of all charges. */
  wholeMs: number
  before: ReportFigures
  after: ReportFigures
}

export interface ReportFigures {
  /** Usage by key in total, and of one month by the slowest dimension. */
  everMs: number
  monthMs: number
  /** The last 50 entries of a month in the ledger of one account, its last 50 in total, and its whole ledger. */
  pageMs: number
  newestMs: number
  ledgerMs: number
  /** One charge of a year ago, by its id. */
  chargeMs: number
  /** A hold and a settlement, one at a time. */
  movementMs: number
  /** A verification after one more day of charges. */
  verifyMs: number
  /** Size in the database: of charges, and of totals and closings. */
  chargeBytes: number
  sumBytes: number
  rssMb: number
}

/** The effect of hostile bodies on other requests. */
export interface HostileFigures {
  /** The figures without hostile bodies. */
  quiet: LagFigures
  under: Record<string, LagFigures>
}

export interface LagFigures {
  /**
   * Delay of the smallest request by the event loop, without the wait for a processor, which is this machine's fault.
   */
  lag: Spread & { p999: number }
  /** Delay of the smallest request, with the wait for a processor. */
  probe: Spread & { p999: number }
  /** Latency of the honest requests. */
  chat: Spread
  /** Statuses of the answers to the hostile bodies. */
  statuses: Record<string, number>
}

export interface Spread {
  p50: number
  p99: number
  max: number
}

/** One value per round. */
export interface NodesFigures {
  sqlite: NodeFigures[]
  postgres: NodeFigures[]
  /** Several nodes that serve requests of a single account. */
  oneAccount: NodeFigures[]
  /** Several nodes, each serving a different account. */
  manyAccounts: NodeFigures[]
}

export interface NodeFigures {
  repliesPerSecond: number
  p50Ms: number
  p99Ms: number
  /** Processor time for a request, in microseconds. */
  databaseMicros: number
  ownMicros: number
  errors: number
}
