// Everything that one run found out, as plain data: what `--json` prints and what the table is made of. It must never
// hold a judgement; the bars are the table's.
import type { Fault } from './load-client'
import type { PerTarget } from './targets'

export interface Figures {
  start?: StartFigures
  memory?: MemoryFigures
  cpu?: CpuFigures
  latency?: PerTarget<LatencyFigures>
  throughput?: PerTarget<ThroughputFigures>
  streams?: PerTarget<StreamsFigures>
  cuts?: CutsFigures
  polls?: PollsFigures
  endings?: EndingsFigures
  hostile?: HostileFigures
  faults: Fault[]
}

/** One value per start. */
export interface StartFigures {
  healthMs: number[]
  modelsMs: number[]
}

export interface MemoryFigures {
  idleMb: PerTarget<number>
  peakMb: PerTarget<number>
  afterMb: PerTarget<number>
}

/** Microseconds of processor time per request or stream, one value per round. */
export interface CpuFigures {
  /** At 32 connections, and at 128. */
  wholeMicros: PerTarget<number[]>
  busyMicros: PerTarget<number[]>
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

export interface CutsFigures {
  closing: PerTarget<ClosingFigures>
  /** Of the gateway only: it is the one that keeps anything about a stream. */
  rss?: { warmMb: number; peakMb: number; endMb: number }
}

/** From the client's cut to the moment when the vendor's connection closed. */
export interface ClosingFigures {
  streams: number
  /** Cuts of which the vendor never heard, although the stream was still running. */
  unclosed: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

/** Open tasks, each asked after when it is due. */
export interface PollsFigures {
  tasks: number
  polled: number
  /** Due and not polled: they count with all the time that they have waited. */
  unpolled: number
  pollsPerSecond: number
  /** Processor time over wall time: 1 is one core all the time. */
  coreShare: number
  /** From the time when a task was due to the moment when the vendor was asked. */
  latenessMs: Spread
}

/** Tasks that ended at once, half with webhooks to a quick receiver and half to a slow one, while chat went on. */
export interface EndingsFigures {
  tasks: number
  /** How many had not ended when the run gave up. */
  open: number
  chatBeforeMs: Spread
  chatDuringMs: Spread
  /** Until the last task had ended and the quick receiver had its last webhook. */
  tookMs: number
  quick: { received: number; of: number }
  slow: { received: number; of: number }
}

/** What hostile bodies do to the others. */
export interface HostileFigures {
  /** The same without any. */
  quiet: LagFigures
  under: Record<string, LagFigures>
}

export interface LagFigures {
  /** How long the event loop keeps the smallest request waiting, less waiting for a processor, which is this machine's fault. */
  lag: Spread & { p999: number }
  /** The same with that. */
  probe: Spread & { p999: number }
  /** Of the honest requests, as their callers have it. */
  chat: Spread
  /** Of the answers to the hostile bodies. */
  statuses: Record<string, number>
}

export interface Spread {
  p50: number
  p99: number
  max: number
}
