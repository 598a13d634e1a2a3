// Answers with speech: builds the requested audio file from the vendor's pieces. Until the first bytes are ready, every
// fault must be an error with its own status.

import { rateHeadersOf } from '../../billing/ledger/limits'
import { quoteNano } from '../../billing/ledger/metering'
import { garbage } from '../../contract/failures'
import type { AudioFormat, Model, SpeechFamily } from '../../contract/family'
import { GatewayError } from '../../lib/errors'
import { wavOf } from '../../lib/file-formats/wav'
import { formatUsd } from '../../lib/money'
import type { Mp3Sound } from '../../media/mp3-encoder'
import type { Line } from '../ending'
import type { Reservation } from '../reservation'
import { cutWhenCallerLeaves, send } from '../upstream-call'
import type { FileAnswer, Requester, StreamAnswer } from './answer'
import { type AudioFile, outcomeOfSpeech, SpeechStream } from './speech-stream'
import { type AudioNotes, type AudioPiece, readAudio } from './upstream-audio'

const contentTypes: Record<AudioFormat, string> = { mp3: 'audio/mpeg', wav: 'audio/wav' }

/** Bytes for the encoder at a time: a second of speech or so, so that other requests get their turn. */
const ENCODED_BYTES = 64 * 1024
/**
 * Largest WAV, in bytes: ten minutes of speech. Its sizes stand before its samples, so it waits in memory until it is
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
  const {
    request: { parsed, model, key },
    logRow,
  } = reservation
  const stopListening = cutWhenCallerLeaves(reservation, caller)
  try {
    const format = family.audio.format(parsed.body, model)
    const contentType = contentTypes[format]
    const headers = {
      'content-type': contentType,
      // The price depends on the caller's own characters, so it is exact before the audio is there.
      'x-gateway-cost-usd': formatUsd(quoteNano(parsed, model)),
      ...(await rateHeadersOf(world.db, key, world.now())),
    }
    const notes: AudioNotes = { usageJson: null }
    const file = makeFile(line, reservation, family, format, notes)
    const first = await file.next()
    logRow.firstByteMs = world.monotonic() - logRow.startedAt
    if (first.done) {
      const saved = { status: 200, contentType, body: first.value }
      return { kind: 'file', outcome: outcomeOfSpeech('done', true, notes), saved, headers }
    }
    const stream = new SpeechStream(line, reservation, { first: first.value, rest: file, contentType, notes })
    // Proxies such as nginx would otherwise buffer the audio.
    return { kind: 'stream', body: stream.body, headers: { ...headers, 'x-accel-buffering': 'no' } }
  } finally {
    stopListening()
  }
}

async function* makeFile(
  { world }: Line,
  reservation: Reservation,
  family: SpeechFamily,
  format: AudioFormat,
  notes: AudioNotes,
): AudioFile {
  const {
    request: { parsed, model },
    cancelToken,
  } = reservation
  // Opened before the vendor is called: its audio must not be lost for want of an encoder.
  const mp3 = format === 'mp3' ? world.mp3Encoder.open() : undefined
  try {
    const { response, done } = await send(world, reservation, family.call(parsed, model))
    try {
      const pieces = readAudio(response, family.audio, { parsed, model, cancelToken }, notes, world.after)
      return mp3 ? yield* encode(pieces, mp3) : await collect(pieces, model)
    } finally {
      done()
    }
  } finally {
    mp3?.close()
  }
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
