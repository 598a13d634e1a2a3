// Reads the audio in a vendor's answer in any form: pieces in a stream of events, one piece in a reply, a file at a URL, or the
// bytes of the answer themselves. It must never treat audio that broke off as complete.

import type { AudioFileContract, SamplesContract } from '../../contract/audio'
import { garbage } from '../../contract/failures'
import type { SpeechFamily } from '../../contract/family'
import { hasFailed, hasFinished, type UsageReading } from '../../contract/reading'
import type { HttpResponse } from '../../http-client/response'
import { GatewayError } from '../../lib/errors'
import { createPcmReader, type PcmFormat, type PcmReader } from '../../lib/file-formats/wav'
import { createEventSplitter, dataOfEvent, objectIn, splitEvents } from '../../lib/sse'
import type { After } from '../../lib/system'
import { isEventStream, readReply, usageJsonOf } from '../../upstreams/reply'
import type { CheckedRequest } from '../check'
import type { Reservation } from '../reservation'

export interface AudioPiece {
  format: PcmFormat
  /** Whole frames. */
  samples: Uint8Array
}

/** Facts that are reported in addition to the audio. */
export interface AudioNotes {
  /** The vendor's figures as written. */
  usageJson: string | null
  /** The figures as read; absent if the vendor reported none. */
  usage?: UsageReading
  /** Bytes of a file that have arrived. */
  bytes: number
  /** The media type of a file, if the vendor names it. */
  type?: string
}

interface Message {
  json: object
  /** The status of an error in an answer whose own status was 200. */
  status: number
}

type Contract = SpeechFamily['audio']
type Source = Pick<CheckedRequest, 'model' | 'parsed'> & Pick<Reservation, 'cancelToken'>

/** How long a vendor may leave its stream open after the audio is complete, in milliseconds. */
const CLOSE_MS = 1_000
/** Media types of answers that are files. Nothing else is accepted: a page of HTML is not audio. */
const FILE = /^(?:audio\/|video\/|application\/(?:octet-stream|ogg)|binary\/octet-stream)/i
/** A media type of audio with parameters such as a rate, in the form sent to the caller. */
const AUDIO_TYPE = /^audio\/[\w.+-]+(?: *; *[\w-]+=[\w-]+)*$/i

/** Reads samples. Throws the vendor's error, or the fault in its answer. */
export async function* readAudio(
  response: HttpResponse,
  audio: SamplesContract,
  source: Source,
  notes: AudioNotes,
  after: After,
): AsyncGenerator<AudioPiece, void, void> {
  let hasSound = false
  let url: string | undefined
  const reader = createPcmReader(audio.plain)
  for await (const json of readJson(response, audio, source, notes, after)) {
    const part = audio.read(json)
    url = part.url ?? url
    const piece = part.piece && take(reader, part.piece, source)
    if (!piece) continue
    hasSound = true
    yield piece
  }
  if (hasSound) return
  if (url === undefined) throw garbage(source.model, 'without a sound')
  yield* readFile(url, source)
}

/** Reads the bytes of a file that the vendor makes. Throws as `readAudio` does. */
export async function* readAudioFile(
  response: HttpResponse,
  audio: AudioFileContract,
  source: Source,
  notes: AudioNotes,
  after: After,
): AsyncGenerator<Uint8Array, void, void> {
  const type = response.header('content-type') ?? 'application/octet-stream'
  if (FILE.test(type)) {
    if (AUDIO_TYPE.test(type)) notes.type = type
    for await (const bytes of readBytes(response.body, source)) {
      notes.bytes += bytes.length
      yield bytes
    }
  } else {
    for await (const json of readJson(response, audio, source, notes, after)) {
      const bytes = audio.read(json, notes.bytes > 0)
      if (!bytes) continue
      notes.bytes += bytes.length
      yield bytes
    }
  }
  if (notes.bytes === 0) throw garbage(source.model, 'without a sound')
}

/** The events of a stream, or the one reply. Throws an error that is reported in them. */
async function* readJson(
  response: HttpResponse,
  audio: Contract,
  source: Source,
  notes: AudioNotes,
  after: After,
): AsyncGenerator<object, void, void> {
  const { model, parsed } = source
  const isStream = isEventStream(response)
  let cancelClosing: (() => void) | undefined
  let isComplete = !isStream
  const messages = isStream ? readEvents(response, audio, source) : readWhole(response, audio, source)
  try {
    for await (const { json, status } of messages) {
      const reading = model.family.read(json, parsed, model)
      if (hasFailed(reading)) throw model.upstream.errorOf(status, json)
      notes.usageJson = usageJsonOf(json, reading.usage?.reported) ?? notes.usageJson
      if (reading.usage) notes.usage = reading.usage
      yield json
      if (!hasFinished(reading)) continue
      isComplete = true
      cancelClosing ??= after(CLOSE_MS, () => response.body.cancel())
    }
  } finally {
    cancelClosing?.()
  }
  if (!isComplete) throw garbage(model, 'cut off')
}

/** Reads the file at a URL in an answer. */
async function* readFile(url: string, source: Source): AsyncGenerator<AudioPiece, void, void> {
  const { model, cancelToken } = source
  const response = await model.upstream.fetchFile(url, cancelToken.signal)
  const reader = createPcmReader()
  let hasSound = false
  for await (const bytes of readBytes(response.body, source)) {
    const piece = take(reader, bytes, source)
    if (!piece) continue
    hasSound = true
    yield piece
  }
  if (!reader.isWhole()) throw garbage(model, 'cut off')
  if (!hasSound) throw garbage(model, 'without a sound')
}

function take(reader: PcmReader, bytes: Uint8Array, { model }: Source): AudioPiece | undefined {
  try {
    const samples = reader.push(bytes)
    const format = reader.format()
    return format && samples.length > 0 ? { format, samples } : undefined
  } catch (error) {
    throw garbage(model, 'a sound that cannot be read', error)
  }
}

async function* readWhole(response: HttpResponse, audio: Contract, source: Source): AsyncGenerator<Message> {
  const { json } = await readReply(response, source.model, source.cancelToken.signal)
  yield { json, status: statusOf(audio, json, '') }
}

/** The status of an error. If none is stated, the caller's request is the most likely cause. */
function statusOf(audio: Contract, json: object, event: string): number {
  return audio.status?.(json, event) ?? 400
}

async function* readEvents({ body }: HttpResponse, audio: Contract, source: Source): AsyncGenerator<Message> {
  const splitter = createEventSplitter()
  for await (const bytes of readBytes(body, source)) {
    for (const event of splitEvents(split(bytes).toString('latin1'))) yield* messageIn(event)
  }
  yield* messageIn(splitter.rest().toString('latin1').trimEnd())

  function split(bytes: Uint8Array): Buffer {
    try {
      return splitter.push(bytes)
    } catch (error) {
      throw garbage(source.model, 'too large', error)
    }
  }

  /** The message of an event; undefined if it is only a comment. */
  function* messageIn(event: string): Generator<Message> {
    const data = dataOfEvent(event)
    // Some servers close every stream like one of chat completions.
    if (data === undefined || data.trim() === '[DONE]') return
    const json = objectIn(data)
    if (!json) throw garbage(source.model, 'not JSON')
    yield { json, status: statusOf(audio, json, event) }
  }
}

/** The bytes of an answer, which end together with their call. */
async function* readBytes(
  body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  { model, cancelToken: { signal } }: Source,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    for await (const bytes of body) {
      if (signal.aborted) throw signal.reason
      yield bytes
    }
    if (signal.aborted) throw signal.reason
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw error instanceof GatewayError ? error : garbage(model, 'cut off', error)
  }
}
