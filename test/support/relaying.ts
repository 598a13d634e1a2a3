// relayEvents with a vendor, a caller and a clock that the test controls. The relay and the family are the real ones; everything
// around them is simulated.

import { outside } from '../../src/app/world'
import type { Outcome } from '../../src/billing/ledger/metering'
import { buildCatalogue } from '../../src/catalogue/models'
import type { EndedBy } from '../../src/contract/failures'
import type { Model } from '../../src/contract/family'
import { HttpBody } from '../../src/http-client/response'
import type { Ticker } from '../../src/lib/ticker'
import { Backlog } from '../../src/request/stream/backlog'
import { createStreamMeter, type StreamMeter, type StreamMeterOptions } from '../../src/request/stream/meter'
import { type RelayOptions, relayEvents } from '../../src/request/stream/relay'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { testModels } from './gateway'
import { bodyOf } from './stream-body'

/** A clock and its ticker that only a test moves. */
interface HandClock {
  ticker: Ticker
  now: () => number
  /** Lets everything settle, moves the clock at once, and then gives one beat. */
  pass(milliseconds: number): Promise<void>
  /** The number of callers waiting for a beat. */
  watchers(): number
}

export function createHandClock(): HandClock {
  const beats = new Set<(now: number) => void>()
  let at = 1_000_000
  return {
    ticker: {
      watch(beat) {
        beats.add(beat)
        return () => beats.delete(beat)
      },
      stop: () => beats.clear(),
    },
    now: () => at,
    async pass(milliseconds) {
      await Bun.sleep(0)
      at += milliseconds
      for (const beat of [...beats]) beat(at)
      await Bun.sleep(0)
    },
    watchers: () => beats.size,
  }
}

/** A model of the test catalogue, of an upstream with these settings. */
export function modelForRelay(id = 'test-chat', upstream: Partial<UpstreamConfig> = {}): Model {
  const entry = testModels[id]
  if (!entry) throw new Error(`there is no test model ${id}`)
  const kind = entry.upstream as string
  const upstreams = { [kind]: { kind, apiKey: 'none', ...upstream } }
  const catalogue = buildCatalogue({ upstreams, models: { [id]: entry } }, outside)
  return catalogue.models.get(id)?.[0] as Model
}

/** A vendor's body that gives one piece per pull, and records every operation on it. */
export interface Source {
  body: ReadableStream<Uint8Array>
  /** The number of pieces read. */
  taken(): number
  cancelled(): boolean
}

export function sourceOf(pieces: readonly Uint8Array[], end: 'close' | 'break' = 'close'): Source {
  let taken = 0
  let cancelled = false
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = pieces[taken]
        if (piece) {
          taken++
          controller.enqueue(piece)
        } else if (end === 'close') controller.close()
        else controller.error(new Error('the vendor hung up'))
      },
      cancel() {
        cancelled = true
      },
    },
    { highWaterMark: 0 },
  )
  return { body, taken: () => taken, cancelled: () => cancelled }
}

/** The part of a stream's reader that a caller needs; the types of Bun and Node.js differ in the rest. */
export interface Reader {
  read(): Promise<{ done: boolean; value?: Uint8Array | undefined }>
  cancel(): Promise<void>
}

interface Relaying {
  reader: Reader
  /** Arguments of `finish`, which is called at most once. */
  outcomes: Outcome[]
  /** How often the call to the vendor was stopped. */
  aborts(): number
  captured(): string
}

/** The event with which the relays of these tests report why they ended early. */
export function earlyEnd(endedBy: EndedBy): string {
  return `data: {"error":{"code":"ended_by_${endedBy}"}}\n\n`
}

export function startRelaying(
  body: ReadableStream<Uint8Array> | HttpBody,
  options: Partial<RelayOptions & StreamMeterOptions> & { clock?: HandClock } = {},
): Relaying {
  const { clock = createHandClock(), hideUsage = true, judge = (usage) => usage, ...rest } = options
  const translateError = (json: object) => `data: ${JSON.stringify({ error: json })}\n\n`
  const model = rest.model ?? modelForRelay()
  const outcomes: Outcome[] = []
  let aborts = 0
  let captured = ''
  const output = relayEvents(body instanceof HttpBody ? body : bodyOf(body), {
    model,
    meter: createStreamMeter({ model, hideUsage, judge, translateError }),
    keepAlive: () => ': keep-alive\n\n',
    drain: false,
    backlog: new Backlog(() => {}),
    startedAt: clock.now(),
    ticker: clock.ticker,
    monotonic: clock.now,
    after: outside.after,
    async finish(outcome) {
      outcomes.push(outcome)
      return undefined
    },
    abort() {
      aborts++
    },
    whyCut: () => 'upstream',
    errorEvent: earlyEnd,
    capture(bytes) {
      captured += Buffer.from(bytes).toString('latin1')
    },
    ...rest,
  })
  return { reader: output.getReader(), outcomes, aborts: () => aborts, captured: () => captured }
}

/** Everything that a caller gets when reading to the end. */
export async function readAll(reader: Reader): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for (;;) {
    const { value } = await reader.read()
    if (!value) return Buffer.concat(pieces)
    pieces.push(value)
  }
}

/** A caller's stream for a vendor's bytes in pieces that end at these offsets, paid as the vendor reports. */
export function metered(meter: StreamMeter, bytes: Buffer, cuts: readonly number[] = []): string {
  const places = [0, ...[...cuts].sort((a, b) => a - b), bytes.length]
  const pieces = places.slice(1).map((end, index) => meter.push(bytes.subarray(places[index], end)).bytes)
  const rest = meter.close()
  const { usage } = meter.outcome('done')
  return Buffer.concat([...pieces, rest, meter.finish(typeof usage === 'object' ? usage : {})]).toString()
}
