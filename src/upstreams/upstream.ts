// An upstream for the request line, and the only way to a vendor: a limit on running requests and a circuit breaker in front of the
// connection. It must never let an uncounted request through, or count one that has ended.

import type { Call } from '../contract/family'
import type {
  CallBody,
  CallSender,
  FetchFile,
  OperatorFields,
  SentCall,
  Upstream,
  UpstreamHealth,
  UpstreamKind,
  UpstreamPlace,
} from '../contract/upstream'
import type { CancelSignal } from '../lib/cancel-token'
import { GatewayError } from '../lib/errors'
import { Breaker } from './breaker'
import { circuitOpen, modelMissing, overConcurrency } from './caller-errors'
import { UpstreamConnection, type UpstreamWorld } from './connection'
import { createFetchFile } from './result-file'
import { keysOfUpstream } from './secrets'
import type { UpstreamConfig } from './settings'

const DEFAULT_TIMEOUT_MS = 10 * 60_000
const DEFAULT_IDLE_TIMEOUT_MS = 2 * 60_000
const DEFAULT_MAX_DURATION_MS = 30 * 60_000
const DEFAULT_CONCURRENCY = 4096
/** The limit of the strictest vendors. */
const DEFAULT_POLLS_PER_SECOND = 20
const DEFAULT_TASK_DEADLINE_MS = 24 * 3_600_000
/** Failures for the breaker. An answer of 500 or 403 may concern only one request or one model. */
const NO_ANSWER = new Set(['upstream_unreachable', 'upstream_timeout'])

export function createUpstream(
  name: string,
  kind: UpstreamKind,
  config: UpstreamConfig,
  world: UpstreamWorld,
): Upstream {
  return new LimitedUpstream(name, kind, config, world)
}

class LimitedUpstream implements Upstream {
  readonly name: string
  readonly kind: string
  readonly onAbort: Upstream['onAbort']
  readonly sharedAccount: boolean
  readonly allowPrivateAddresses: boolean
  readonly streamUsage: boolean
  readonly servesResponses: boolean
  readonly timeoutMs: number
  readonly idleTimeoutMs: number
  readonly maxDurationMs: number
  readonly pollsPerSecond: number
  readonly taskDeadlineMs: number
  readonly fetchFile: FetchFile
  readonly operatorFields?: OperatorFields
  readonly refused: UpstreamKind['refused']
  private readonly omitted: NonNullable<UpstreamKind['renamed']>
  private readonly renamed: NonNullable<UpstreamKind['renamed']>
  private readonly upstreamKind: UpstreamKind
  private readonly place: UpstreamPlace
  private readonly concurrency: number
  private readonly connection: UpstreamConnection
  private readonly breaker: Breaker
  private running = 0

  constructor(name: string, kind: UpstreamKind, config: UpstreamConfig, world: UpstreamWorld) {
    this.name = name
    this.kind = kind.kind
    this.upstreamKind = kind
    const [secret] = keysOfUpstream(kind, config) ?? []
    this.place = { ...(secret ? kind.placeOf?.(secret) : {}), ...config }
    this.onAbort = config.onAbort ?? 'cancel'
    this.sharedAccount = config.sharedAccount ?? true
    this.allowPrivateAddresses = config.allowPrivateAddresses ?? false
    this.streamUsage = config.streamUsage ?? kind.streamUsage ?? true
    this.servesResponses = kind.servesResponses?.(this.place) ?? false
    this.timeoutMs = config.timeoutMs ?? DEFAULT_TIMEOUT_MS
    this.idleTimeoutMs = config.idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS
    this.maxDurationMs = config.maxDurationMs ?? DEFAULT_MAX_DURATION_MS
    this.pollsPerSecond = config.pollsPerSecond ?? DEFAULT_POLLS_PER_SECOND
    this.taskDeadlineMs = config.taskDeadlineMs ?? DEFAULT_TASK_DEADLINE_MS
    this.omitted = Object.fromEntries((config.omittedFields ?? []).map((field) => [field, null]))
    this.renamed = { ...kind.renamed, ...this.omitted }
    this.refused = kind.refused
    const operatorFields = operatorFieldsOf(config)
    if (operatorFields) this.operatorFields = operatorFields
    this.fetchFile = createFetchFile(name, kind, config, world)
    this.concurrency = config.concurrency ?? DEFAULT_CONCURRENCY
    this.connection = new UpstreamConnection(name, kind, config, world)
    this.breaker = new Breaker(world.monotonic)
  }

  async send(
    call: Call,
    body: CallBody,
    signal: CancelSignal,
    sender: CallSender,
    failed?: (error: GatewayError) => void,
  ): Promise<SentCall & { done(): void }> {
    if (this.running >= this.concurrency) throw overConcurrency(this.name, this.concurrency)
    if (!this.breaker.allows()) throw circuitOpen(this.name)
    this.running++
    let isDone = false
    const done = () => {
      if (!isDone) this.running--
      isDone = true
    }
    try {
      const sent = await this.connection.send(call, body, signal, sender, failed)
      this.breaker.report('answered')
      return { ...sent, done }
    } catch (error) {
      done()
      if (error instanceof GatewayError && NO_ANSWER.has(error.code)) this.breaker.report('failed')
      // A refusal is an answer; a call that was cut off, such as when its caller disconnected, says nothing about the vendor.
      else this.breaker.report(signal.aborted || signal.tooLate?.() ? 'cut' : 'answered')
      throw error
    }
  }

  get hasSeveralKeys(): boolean {
    return this.connection.hasSeveralKeys
  }

  adapt(call: Call, model: string): Call {
    if (!this.upstreamKind.adapt) return call
    const adapted = this.upstreamKind.adapt(call, model, this.place)
    if (!adapted) throw modelMissing(this.name)
    return adapted
  }

  namesOfFields(protocol: Call['protocol']): UpstreamKind['renamed'] {
    return protocol === 'openai' ? this.renamed : this.omitted
  }

  errorOf(status: number, body: unknown): GatewayError {
    return this.connection.refusals.errorOf(status, body)
  }

  health(): UpstreamHealth {
    const { running, concurrency } = this
    return { breaker: this.breaker.state.is, running, concurrency }
  }

  close(): void {
    this.connection.close()
  }
}

function operatorFieldsOf({ defaultBody, forcedBody }: UpstreamConfig): OperatorFields | undefined {
  if (!defaultBody && !forcedBody) return undefined
  return { defaults: asJson(defaultBody ?? {}), forced: asJson(forcedBody ?? {}) }
}

function asJson(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, JSON.stringify(value)]))
}
