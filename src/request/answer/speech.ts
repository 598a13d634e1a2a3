// Answers with speech: builds the requested audio file from the vendor's samples, or passes on the vendor's own file.
// Until the first bytes are ready, every fault must be an error with its own status.

import { rateHeadersOf } from '../../billing/ledger/limits'
import { quoteNano } from '../../billing/ledger/metering'
import type { AudioEvents, AudioFormat } from '../../contract/audio'
import { garbage } from '../../contract/failures'
import type { Model, SpeechFamily } from '../../contract/family'
import { GatewayError } from '../../lib/errors'
import { wavOf } from '../../lib/file-formats/wav'
import { formatUsd } from '../../lib/money'
import type { Mp3Sound } from '../../media/mp3-encoder'
import type { Line } from '../ending'
import type { Reservation } from '../reservation'
import { pacedStream } from '../stream/paced-body'
import { cutWhenCallerLeaves, send } from '../upstream-call'
import type { FileAnswer, Requester, StreamAnswer } from './answer'
import { type AudioFile, outcomeOfSpeech, SpeechStream } from './speech-stream'
import { type AudioNotes, type AudioPiece, readAudio, readAudioFile } from './upstream-audio'

const contentTypes: Record<AudioFormat, string> = { mp3: 'audio/mpeg', wav: 'audio/wav' }
const EVENTS_TYPE = 'text/event-stream; charset=utf-8'

/** Bytes per call of the encoder: about a second of speech, so that other requests get their turn. */
const ENCODED_BYTES = 64 * 1024
/**
 * Maximum size of a WAV file, in bytes: ten minutes of speech. Its sizes precede its samples, so it waits in memory until it is
 * complete.
 */
const MAX_WAV_BYTES = 32 * 1024 * 1024

export async function answerSpeech(
  line: Line,
  reservation: Reservation,
  family: SpeechFamily,
  caller: Requester,
): Promise<FileAnswer | StreamAnswer> {
  const { world } = line
  const { audio } = family
  const {
    request: { parsed, model, key },
    logRow,
  } = reservation
  const stopListening = cutWhenCallerLeaves(reservation, caller)
  try {
    const notes: AudioNotes = { usageJson: null, bytes: 0 }
    const events = audio.kind === 'file' ? audio.events(parsed.body) : undefined
    const file = makeFile(line, reservation, family, events, notes)
    const first = await file.next()
    logRow.firstByteMs = world.monotonic() - logRow.startedAt
    const fileType =
      audio.kind === 'file'
        ? (notes.type ?? audio.type(parsed.body))
        : contentTypes[audio.format(parsed.body, model)]
    const contentType = events ? EVENTS_TYPE : fileType
    const isMetered = audio.kind === 'file' && audio.isMetered?.(model)
    const headers = {
      'content-type': contentType,
      // A price per character is exact before the audio exists.
      ...(!isMetered && { 'x-gateway-cost-usd': formatUsd(quoteNano(parsed, model)) }),
      ...(await rateHeadersOf(world.db, key, world.now())),
    }
    if (first.done) {
      const saved = { status: 200, contentType, body: first.value }
      return { kind: 'file', outcome: outcomeOfSpeech(reservation, 'done', true, notes), saved, headers }
    }
    const growing = { first: first.value, rest: file, contentType, notes, events }
    const body = pacedStream(world.backlog, new SpeechStream(line, reservation, growing).body)
    // Proxies such as nginx would otherwise buffer the audio.
    return { kind: 'stream', body, headers: { ...headers, 'x-accel-buffering': 'no' } }
  } finally {
    stopListening()
  }
}

async function* makeFile(
  { world }: Line,
  reservation: Reservation,
  family: SpeechFamily,
  events: AudioEvents | undefined,
  notes: AudioNotes,
): AudioFile {
  const {
    request: { parsed, model },
    cancelToken,
  } = reservation
  const { audio } = family
  const source = { parsed, model, cancelToken }
  const isEncoded = audio.kind === 'samples' && audio.format(parsed.body, model) === 'mp3'
  // Opened before the vendor is called: its audio must not be lost because there is no encoder.
  const mp3 = isEncoded ? world.mp3Encoder.open() : undefined
  try {
    const { response, done } = await send(world, reservation, family.call(parsed, model))
    try {
      if (audio.kind === 'file') {
        const bytes = readAudioFile(response, audio, source, notes, world.after)
        return events ? yield* writeEvents(bytes, events) : yield* passOn(bytes)
      }
      const pieces = readAudio(response, audio, source, notes, world.after)
      return mp3 ? yield* encode(pieces, mp3) : await collect(pieces, model)
    } finally {
      done()
    }
  } finally {
    mp3?.close()
  }
}

/** Passes bytes on as they arrive, all but the last one, which is returned: it is sent when the answer has been paid. */
async function* passOn(pieces: AsyncIterable<Uint8Array>): AudioFile {
  let last: Uint8Array = new Uint8Array()
  for await (const piece of pieces) {
    if (piece.length === 0) continue
    const bytes = last.length > 0 ? Buffer.concat([last, piece]) : piece
    if (bytes.length > 1) yield bytes.subarray(0, -1)
    last = bytes.slice(-1)
  }
  return last
}

/** Makes an event of each piece. The last event says what was charged, and is written when that is known. */
async function* writeEvents(pieces: AsyncIterable<Uint8Array>, { piece }: AudioEvents): AudioFile {
  for await (const bytes of pieces) yield Buffer.from(piece(bytes))
  return new Uint8Array()
}

async function* encode(pieces: AsyncIterable<AudioPiece>, mp3: Mp3Sound): AudioFile {
  for await (const { format, samples } of pieces) {
    for (let at = 0; at < samples.length; at += ENCODED_BYTES) {
      const bytes = await mp3.encode(samples.subarray(at, at + ENCODED_BYTES), format)
      if (bytes.length > 0) yield bytes
    }
  }
  return mp3.finish()
}

async function collect(pieces: AsyncIterable<AudioPiece>, model: Model): Promise<Uint8Array> {
  const collected: Uint8Array[] = []
  let bytes = 0
  let last: AudioPiece | undefined
  for await (const piece of pieces) {
    last = piece
    bytes += piece.samples.length
    if (bytes > MAX_WAV_BYTES) throw tooLong(model)
    collected.push(piece.samples)
  }
  if (!last) throw garbage(model, 'without a sound')
  return wavOf(last.format, collected)
}

function tooLong({ upstream }: Model): GatewayError {
  return new GatewayError(502, {
    code: 'sound_too_long',
    message: `The upstream ${upstream.name} made more sound than fits into a WAV file here (${MAX_WAV_BYTES} bytes). Send a shorter text.`,
    headers: { 'x-should-retry': 'false' },
  })
}
