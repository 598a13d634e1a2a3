// Answers with sound: makes the file that the caller asked for out of the vendor's pieces, and sends it while it grows.
// The charge is settled before the last byte goes out, and a sound that breaks off must never end as if it were whole.

import { MAX_SAVED_LENGTH, type SavedAnswer } from '../billing/idempotency'
import { rateHeadersOf } from '../billing/limits'
import { type Outcome, quoteNano } from '../billing/metering'
import { callerLeft, type EndedBy, endedByOf, garbage } from '../contract/failures'
import type { AudioFormat, Model } from '../contract/family'
import type { Upstream } from '../contract/upstream'
import type { Db } from '../db/db'
import { GatewayError } from '../lib/errors'
import { formatUsd } from '../lib/money'
import type { System } from '../lib/system'
import { wavOf } from '../lib/wav'
import type { Mp3Encoder, Mp3Sound } from '../media/mp3-encoder'
import type { Flight, Flights } from './reservation'
import { readSound, type SoundNotes, type SoundPiece } from './upstream-audio'

/** Calls the vendor; `done` when its answer has been read or given up. */
type Send = () => ReturnType<Upstream['send']>

/** The bytes of a file: yields them as they come, and returns the last ones, which may be all. */
type Growing = AsyncGenerator<Uint8Array, Uint8Array, void>

const contentTypes: Record<AudioFormat, string> = { mp3: 'audio/mpeg', wav: 'audio/wav' }

/** What the encoder gets at a time: a second of speech or so, that others have their turn. */
const ENCODED_BYTES = 64 * 1024
/** The sizes in a WAV stand before its samples, so it waits in memory until it is complete: ten minutes of speech. */
const MAX_WAV_BYTES = 32 * 1024 * 1024
/** A caller that takes no byte for this long is gone. */
const STALL_MS = 300_000
/** A connection that breaks loses what it has not sent yet, and the caller has paid for that: it goes out first. */
const FLUSH_MS = 50
/** How long a sound is read on after its caller left. */
const DRAIN_MS = 120_000
const NOTHING = new Uint8Array()

export interface SpeechWorld extends Pick<System, 'now' | 'monotonic' | 'log'> {
  db: Db
  mp3Encoder: Mp3Encoder
}

/** Resolves when the first bytes are there; until then every fault is an error with a status of its own. */
export async function serveSound(
  world: SpeechWorld,
  flights: Flights,
  flight: Flight,
  send: Send,
): Promise<Response> {
  const { family, ask, model, entry, key, charge } = flight
  if (family.kind !== 'speech') throw new Error(`${family.name} makes no speech`)
  const format = family.audio.format(ask.body, model)
  const contentType = contentTypes[format]
  const headers = {
    'content-type': contentType,
    'x-request-id': entry.id,
    // Of the caller's own characters, so it is exact before the sound is there.
    'x-gateway-cost-usd': formatUsd(quoteNano(ask, model)),
    ...(await rateHeadersOf(world.db, key, charge, world.now())),
  }
  const notes: SoundNotes = { usageJson: null }
  const file = makeFile(world, flight, format, send, notes)
  const first = await file.next()
  entry.firstByteMs = world.monotonic() - entry.startedAt
  if (first.done) {
    const saved = { status: 200, contentType, body: first.value }
    await flights.land(flight, outcomeOf('done', true, notes), saved)
    return new Response(first.value as Uint8Array<ArrayBuffer>, { headers })
  }
  const body = streamFile(world, flights, flight, { first: first.value, rest: file, contentType, notes })
  // Proxies such as nginx would collect the sound otherwise.
  return new Response(body, { headers: { ...headers, 'x-accel-buffering': 'no' } })
}

async function* makeFile(
  { mp3Encoder }: Pick<SpeechWorld, 'mp3Encoder'>,
  flight: Flight,
  format: AudioFormat,
  send: Send,
  notes: SoundNotes,
): Growing {
  const { family, model } = flight
  if (family.kind !== 'speech') throw new Error(`${family.name} makes no speech`)
  // Before the vendor is called: what it makes shall not be lost for want of a place.
  const mp3 = format === 'mp3' ? mp3Encoder.open() : undefined
  try {
    const { response, done } = await send()
    try {
      const pieces = readSound(response, family.audio, flight, notes)
      return mp3 ? yield* encode(pieces, mp3) : await collect(pieces, model)
    } finally {
      done()
    }
  } finally {
    mp3?.close()
  }
}

async function* encode(pieces: AsyncIterable<SoundPiece>, mp3: Mp3Sound): Growing {
  for await (const { format, samples } of pieces) {
    for (let at = 0; at < samples.length; at += ENCODED_BYTES) {
      const bytes = await mp3.encode(samples.subarray(at, at + ENCODED_BYTES), format)
      if (bytes.length > 0) yield bytes
    }
  }
  return mp3.finish()
}

async function collect(pieces: AsyncIterable<SoundPiece>, model: Model): Promise<Uint8Array> {
  const collected: Uint8Array[] = []
  let bytes = 0
  let last: SoundPiece | undefined
  for await (const piece of pieces) {
    last = piece
    bytes += piece.samples.length
    if (bytes > MAX_WAV_BYTES) throw tooLong(model)
    collected.push(piece.samples)
  }
  if (!last) throw garbage(model, 'without a sound')
  return wavOf(last.format, collected)
}

interface Streaming {
  /** What is there already. */
  first: Uint8Array
  rest: Growing
  contentType: string
  notes: SoundNotes
}

function streamFile(
  world: SpeechWorld,
  flights: Flights,
  flight: Flight,
  { first, rest, contentType, notes }: Streaming,
): ReadableStream<Uint8Array> {
  const { entry, model, idempotencyKey, controller } = flight
  const { idleTimeoutMs, maxDurationMs } = model.upstream
  const kept = createKept(idempotencyKey !== null)
  let early: IteratorResult<Uint8Array, Uint8Array> | undefined = { done: false, value: first }
  let lastAt = entry.startedAt + maxDurationMs
  let waitsForVendor = false
  let isGone = false
  let delivered = false
  let ending: Promise<void> | undefined
  let output: ReadableStreamDefaultController<Uint8Array>

  /** Settles, once. */
  function end(endedBy: EndedBy): Promise<void> {
    controller.signal.removeEventListener('abort', interrupt)
    ending ??= land(endedBy)
    return ending
  }

  async function land(endedBy: EndedBy): Promise<void> {
    const saved: SavedAnswer = { status: 200, contentType, body: kept.bytes() }
    try {
      await flights.land(flight, outcomeOf(endedBy, delivered, notes), saved)
    } catch (error) {
      world.log('charge_not_ended', { request: flight.charge.id, error: String(error) })
      throw error
    }
  }

  /** Ends the sound before its end. */
  function breakOff(error: unknown, endedBy: EndedBy): Promise<void> {
    if (ending) return ending
    if (!isGone) entry.errorCode = error instanceof GatewayError ? error.code : 'internal_error'
    const ended = end(isGone ? 'client' : endedBy)
    controller.abort(error)
    rest.return(NOTHING).catch(() => {})
    return ended
  }

  /** The wait is over, or the gateway shuts down. */
  function interrupt(): void {
    const { reason } = controller.signal
    const endedBy = endedByOf(reason)
    // While the vendor's sound waits to be taken, it is the caller who is slow.
    const ended = breakOff(reason, endedBy === 'timeout' && !waitsForVendor ? 'client' : endedBy)
    void ended.catch(() => {}).then(() => fail(reason))
  }

  /** What the caller sees of it: a connection that breaks. */
  async function fail(error: unknown): Promise<void> {
    if (delivered) await Bun.sleep(FLUSH_MS)
    if (!isGone) output.error(error)
  }

  async function take(): Promise<IteratorResult<Uint8Array, Uint8Array>> {
    if (early) {
      const result = early
      early = undefined
      return result
    }
    waitsForVendor = true
    flight.deadlineAt = Math.min(world.monotonic() + idleTimeoutMs, lastAt)
    const result = await rest.next()
    waitsForVendor = false
    flight.deadlineAt = Math.min(world.monotonic() + STALL_MS, lastAt)
    return result
  }

  /** Passes one piece on. True when there is no more. */
  async function step(): Promise<boolean> {
    const { done, value } = await take()
    if (ending) return true
    kept.add(value)
    delivered ||= value.length > 0
    if (done) await end('done')
    if (isGone) return done === true
    if (value.length > 0) output.enqueue(value)
    if (done) output.close()
    return done === true
  }

  function leave(): void {
    isGone = true
    if (ending) return
    // Only a caller with an idempotency key can come back for the rest; the price is the same either way.
    if (!idempotencyKey) {
      breakOff(callerLeft(), 'client').catch(() => {})
      return
    }
    lastAt = Math.min(lastAt, world.monotonic() + DRAIN_MS)
    const finish = async () => {
      while (!(await step())) {
        // Kept, not sent.
      }
    }
    finish().catch((error) => breakOff(error, 'client').catch(() => {}))
  }

  // From here on the sound watches its own time.
  flight.deadlineAt = Math.min(world.monotonic() + STALL_MS, lastAt)
  controller.signal.addEventListener('abort', interrupt)
  return new ReadableStream<Uint8Array>(
    {
      start(controller) {
        output = controller
      },
      async pull() {
        try {
          await step()
        } catch (error) {
          await breakOff(error, endedByOf(error)).catch(() => {})
          await fail(error)
        }
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  )
}

/** What has gone out, for a caller who sends the same request again; no more than can be kept. */
function createKept(isWanted: boolean) {
  const pieces: Uint8Array[] = []
  let length = 0
  return {
    add(bytes: Uint8Array): void {
      if (!isWanted || length > MAX_SAVED_LENGTH) return
      pieces.push(bytes)
      length += bytes.length
    },
    bytes: (): Uint8Array => Buffer.concat(pieces),
  }
}

/** The price is the quote: speech is paid for by the character, in full as soon as sound has gone out. */
function outcomeOf(endedBy: EndedBy, delivered: boolean, { usageJson }: SoundNotes): Outcome {
  return {
    endedBy,
    usage: undefined,
    usageJson,
    text: '',
    textOmitted: 0,
    delivered,
    hasOutput: delivered,
    failed: false,
  }
}

function tooLong({ upstream }: Model): GatewayError {
  return new GatewayError(502, {
    code: 'sound_too_long',
    message: `The upstream ${upstream.name} made more sound than fits into a WAV file here (${MAX_WAV_BYTES} bytes). Send a shorter text.`,
    headers: { 'x-should-retry': 'false' },
  })
}
