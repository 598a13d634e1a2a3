// Sends traces and logs to a collector over OTLP/HTTP as JSON (https://opentelemetry.io/docs/specs/otlp/). The queue is limited:
// records that do not fit, or cannot be sent, are dropped and counted. Nothing must ever wait for it.

import type { TelemetryConfig } from '../config/telemetry'
import type { Origin, Transport } from '../http-client/transport'
import { CancelToken } from '../lib/cancel-token'
import type { After, Log } from '../lib/system'
import { beginTrace, type CallerTrace, type TraceContext } from '../lib/trace-context'
import type { RequestLogRow } from '../request-log/row'
import { attributesOf, recordOf, requestRecord, spansOf } from './spans'

interface ExporterWorld {
  transport: Transport
  after: After
  wall: () => number
  random: () => number
  randomBytes: (count: number) => Uint8Array
  log: Log
  version: string
}

type Signal = 'traces' | 'logs'

const MAX_QUEUE = 8_192
const BATCH = 512
const SEND_MS = 1_000
const TIMEOUT_MS = 10_000
const ATTEMPTS = 3
const CLOSE_MS = 2_000
const SIGNALS: readonly Signal[] = ['traces', 'logs']

export class Exporter {
  /** Number of spans and log records that were not sent. */
  dropped = 0
  private readonly queues: Record<Signal, object[]> = { traces: [], logs: [] }
  private readonly origin: Origin
  private readonly basePath: string
  private readonly headers: Readonly<Record<string, string>>
  private cancelTimer: (() => void) | undefined
  private sending: Promise<void> | undefined

  constructor(
    private readonly config: TelemetryConfig,
    private readonly world: ExporterWorld,
  ) {
    this.origin = world.transport.open(config.endpoint)
    this.basePath = new URL(config.endpoint).pathname.replace(/\/+$/, '')
    this.headers = { 'content-type': 'application/json', ...config.headers }
  }

  /** The trace of a request that begins. */
  begin(caller: CallerTrace): TraceContext {
    const { random, randomBytes } = this.world
    const { sampleRatio = 1 } = this.config
    return beginTrace(
      caller,
      (bytes) => Buffer.from(randomBytes(bytes)).toString('hex'),
      () => random() < sampleRatio,
    )
  }

  readonly rows = (rows: readonly RequestLogRow[]): void => {
    for (const row of rows) {
      for (const span of spansOf(row)) this.add('traces', span)
      this.add('logs', requestRecord(row))
    }
  }

  /** A log whose lines are sent too. */
  exported(log: Log): Log {
    return (event, fields) => {
      log(event, fields)
      this.add('logs', recordOf(event, fields, this.world.wall()))
    }
  }

  /** Sends the rest, for a short time. */
  async close(): Promise<void> {
    this.cancelTimer?.()
    const deadline = Promise.withResolvers<void>()
    const cancel = this.world.after(CLOSE_MS, deadline.resolve)
    await Promise.race([this.send(), deadline.promise])
    cancel()
    this.origin.close()
  }

  private add(signal: Signal, record: object): void {
    const queue = this.queues[signal]
    if (queue.length >= MAX_QUEUE) {
      this.dropped++
      return
    }
    queue.push(record)
    this.cancelTimer ??= this.world.after(SEND_MS, () => void this.send())
  }

  private send(): Promise<void> {
    this.cancelTimer = undefined
    this.sending ??= this.sendAll().finally(() => {
      this.sending = undefined
    })
    return this.sending
  }

  private async sendAll(): Promise<void> {
    const before = this.dropped
    let reason = 'the queue is full'
    for (const signal of SIGNALS) {
      const queue = this.queues[signal]
      while (queue.length > 0) {
        const batch = queue.splice(0, BATCH)
        try {
          await this.post(signal, batch)
        } catch (error) {
          this.dropped += batch.length
          reason = String(error)
        }
      }
    }
    if (this.dropped > before) this.world.log('telemetry_lost', { records: this.dropped - before, reason })
  }

  private async post(signal: Signal, batch: readonly object[]): Promise<void> {
    const body = JSON.stringify(this.envelope(signal, batch))
    for (let attempt = 1; ; attempt++) {
      const { status, wait } = await this.attempt(signal, body)
      if (status >= 200 && status < 300) return
      const mayHelp = status === 0 || status === 429 || (status >= 502 && status <= 504)
      if (!mayHelp || attempt === ATTEMPTS) throw new Error(`the collector answered ${status || 'nothing'}`)
      await new Promise<void>((resolve) => this.world.after(wait ?? SEND_MS * attempt, resolve))
    }
  }

  private async attempt(signal: Signal, body: string): Promise<{ status: number; wait?: number }> {
    const token = new CancelToken()
    const cancel = this.world.after(TIMEOUT_MS, () => token.abort())
    try {
      const path = `${this.basePath}/v1/${signal}`
      const response = await this.origin.send({
        method: 'POST',
        path,
        headers: this.headers,
        body,
        signal: token,
      })
      await response.body.bytes(MAX_ANSWER_BYTES)
      const seconds = Number(response.header('retry-after') ?? Number.NaN)
      const wait = Number.isFinite(seconds) ? Math.min(seconds * 1000, TIMEOUT_MS) : undefined
      return { status: response.status, ...(wait !== undefined && { wait }) }
    } catch {
      return { status: 0 }
    } finally {
      cancel()
    }
  }

  private envelope(signal: Signal, records: readonly object[]): object {
    const { serviceName = 'gateway' } = this.config
    const { version } = this.world
    const resource = {
      attributes: attributesOf({ 'service.name': serviceName, 'service.version': version }),
    }
    const scope = { name: 'gateway', version }
    return signal === 'traces'
      ? { resourceSpans: [{ resource, scopeSpans: [{ scope, spans: records }] }] }
      : { resourceLogs: [{ resource, scopeLogs: [{ scope, logRecords: records }] }] }
  }
}

const MAX_ANSWER_BYTES = 64 * 1024
