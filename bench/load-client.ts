// The bench's end of the load generator: sends it a job, waits for the report, and measures the target meanwhile. It must never
// ignore a job's errors: all are in one list, which is printed with the figures.
import { join } from 'node:path'
import { Child } from './children'
import { requestBody, responsesBody } from './exchange'
import type {
  CutJob,
  CutReport,
  LagJob,
  LagReport,
  LoadJob,
  LoadReport,
  LoopJob,
  LoopReport,
  LoopSize,
  SteadyJob,
  SteadyReport,
  TurnsFigures,
  TurnsJob,
  TurnsReport,
} from './load-job'
import { messagesBody } from './native-streams'
import { fineCpuMs, rssMb } from './process-meter'
import type { PerTarget, Target } from './targets'

const RSS_EVERY_MS = 100

/** The errors of one target within one subject. */
export interface Fault {
  subject: string
  target: string
  errors: number
  of: number
  examples: string[]
}

export interface Metered {
  report: LoopReport
  cpuMs: number
}

export class LoadClient {
  readonly faults: Fault[] = []
  readonly peakRssMb: PerTarget<number> = {}
  /** The subject that is measured, for the list of faults. */
  subject = ''
  private readonly child: Child
  private takeReport: (report: LoadReport) => void = () => {}

  constructor(directory: string) {
    this.child = new Child({
      name: 'load',
      command: [process.execPath, join(import.meta.dir, 'load.ts')],
      directory,
      onMessage: (message) => this.takeReport(message as LoadReport),
    })
  }

  /** Loads one target with one kind of answer. CPU time is the target's from the first request to the last reply. */
  async loop(target: Target, answer: string, stream: boolean, size: LoopSize): Promise<Metered> {
    return await this.meteredLoop(target, {
      body: requestBody(target.model(answer), stream),
      stream,
      ...size,
    })
  }

  /** Loads a target with responses. */
  async responses(target: Target, answer: string, stream: boolean, size: LoopSize): Promise<Metered> {
    const body = responsesBody(target.model(answer), stream)
    return await this.meteredLoop(target, {
      path: '/v1/responses',
      body,
      stream,
      endsWithDone: target.name === 'gateway',
      ...size,
    })
  }

  /** Loads a target with streams of messages. */
  async messages(target: Target, answer: string, size: LoopSize): Promise<Metered> {
    const body = messagesBody(target.model(answer))
    return await this.meteredLoop(target, { path: '/v1/messages', body, stream: true, ...size })
  }

  async cut(target: Target, job: Omit<CutJob, 'kind' | 'port' | 'headers'>): Promise<CutReport> {
    const { port, headers } = target
    const report = (await this.run(target, { kind: 'cut', port, headers, ...job })) as CutReport
    this.note(target, report.errors, job.streams, report.faults)
    return report
  }

  /** The latency of each request at a steady rate. */
  async steady(target: Target, job: Omit<SteadyJob, 'kind' | 'port' | 'headers'>): Promise<number[]> {
    const { port, headers } = target
    const report = (await this.run(target, { kind: 'steady', port, headers, ...job })) as SteadyReport
    this.note(target, report.errors, report.latenciesMs.length, report.faults)
    return report.latenciesMs
  }

  /** Processor time of several gateways that take short turns, in their order. */
  async turns(
    targets: readonly [Target, ...Target[]],
    answer: string,
    job: Omit<TurnsJob, 'kind' | 'servers' | 'body'>,
  ): Promise<TurnsFigures[]> {
    const [first] = targets
    const servers = targets.map(({ port, pid, headers }) => ({ port, pid, headers }))
    const body = requestBody(first.model(answer), false)
    const report = (await this.run(first, { kind: 'turns', servers, body, ...job })) as TurnsReport
    this.note(first, report.errors, report.replies, report.faults)
    return report.servers
  }

  /** Delays of probes by the target's event loop, and of its callers. */
  async lag(target: Target, job: Omit<LagJob, 'kind' | 'port' | 'pid' | 'headers'>): Promise<LagReport> {
    const { port, pid, headers } = target
    const report = (await this.run(target, { kind: 'lag', port, pid, headers, ...job })) as LagReport
    this.note(target, report.errors, report.chatLatenciesMs.length, report.faults)
    return report
  }

  private async meteredLoop(
    target: Target,
    job: Omit<LoopJob, 'kind' | 'port' | 'headers'>,
  ): Promise<Metered> {
    const { port, headers, pid } = target
    const before = fineCpuMs(pid)
    const report = (await this.run(target, { kind: 'loop', port, headers, ...job })) as LoopReport
    this.note(target, report.errors, report.replies, report.faults)
    return { report, cpuMs: fineCpuMs(pid) - before }
  }

  private async run(target: Target, job: LoadJob): Promise<LoadReport> {
    const { promise, resolve } = Promise.withResolvers<LoadReport>()
    this.takeReport = resolve
    const watchPeak = () => {
      this.peakRssMb[target.name] = Math.max(this.peakRssMb[target.name] ?? 0, rssMb(target.pid))
    }
    const watch = setInterval(watchPeak, RSS_EVERY_MS)
    try {
      this.child.process.send(job)
      return await Promise.race([promise, this.broken()])
    } finally {
      watchPeak()
      clearInterval(watch)
    }
  }

  private async broken(): Promise<never> {
    await this.child.process.exited
    throw this.child.failure('ended in the middle of a job')
  }

  private note(target: Target, errors: number, of: number, examples: string[]): void {
    if (errors === 0) return
    const same = (fault: Fault) => fault.subject === this.subject && fault.target === target.name
    const known = this.faults.find(same)
    if (known === undefined) {
      this.faults.push({ subject: this.subject, target: target.name, errors, of, examples })
    } else {
      known.errors += errors
      known.of += of
    }
  }
}
