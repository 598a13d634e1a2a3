// Reads the audio in a vendor's answer in any form: pieces in a stream of events, one piece in a reply, or a file at an
// address. It must never treat audio that broke off as complete.

import { garbage } from '../../contract/failures'
import type { AudioContract } from '../../contract/family'
import { hasFailed, hasFinished } from '../../contract/reading'
import type { HttpResponse } from '../../http-client/response'
import { GatewayError } from '../../lib/errors'
import { createPcmReader, type PcmFormat, type PcmReader } from '../../lib/file-formats/wav'
import { createEventSplitter, dataOfEvent, objectIn, splitEvents } from '../../lib/sse'
import type { After } from '../../lib/system'
import { readReply, usageJsonOf } from '../../upstreams/reply'
import type { CheckedRequest } from '../check'
import type { Reservation } from '../reservation'

export interface AudioPiece {
  format: PcmFormat
  /** Whole frames. */
  samples: Uint8Array
}

/** Facts that are reported besides the audio. */
export interface AudioNotes {
  /** The vendor's figures as written. */
  usageJson: string | null
}

interface Message {
  json: object
  /** The status of an error in an answer whose own status was 200. */
  status: number
}

type Source = Pick<CheckedRequest, 'model' | 'parsed'> & Pick<Reservation, 'cancelToken'>

/** How long a vendor may leave its stream open after the audio is complete, in milliseconds. */
const CLOSE_MS = 1_000

/** Reads audio. Throws the vendor's error, or what is wrong with its answer. */
export async function* readAudio(
  response: HttpResponse,
  audio: AudioContract,
  source: Source,
  notes: AudioNotes,
  after: After,
): AsyncGenerator<AudioPiece, void, void> {
  const { model, parsed } = source
  const isStream = response.header('content-type')?.includes('text/event-stream') === true
  let cancelClosing: (() => void) | undefined
  let isComplete = !isStream
  let isHeard = false
  let url: string | undefined
  const reader = createPcmReader(audio.plain)
  const messages = isStream ? readEvents(response, audio, source) : readWhole(response, audio, source)
  try {
    for await (const { json, status } of messages) {
      const reading = model.family.read(json, parsed, model)
      if (hasFailed(reading)) throw model.upstream.errorOf(status, json)
      notes.usageJson = usageJsonOf(json) ?? notes.usageJson
      const part = audio.read(json)
      url = part.url ?? url
      const piece = part.piece && take(reader, part.piece, source)
      if (piece) {
        isHeard = true
        yield piece
      }
      if (!hasFinished(reading)) continue
      isComplete = true
      cancelClosing ??= after(CLOSE_MS, () => response.body.cancel())
    }
  } finally {
    cancelClosing?.()
  }
  if (!isComplete) throw garbage(model, 'cut off')
  if (isHeard) return
  if (url === undefined) throw garbage(model, 'without a sound')
  yield* readFile(url, source)
}

/** Reads the file at an address in an answer. */
async function* readFile(url: string, source: Source): AsyncGenerator<AudioPiece, void, void> {
  const { model, cancelToken } = source
  const response = await model.upstream.fetchFile(url, cancelToken.signal)
  const reader = createPcmReader()
  let isHeard = false
  for await (const bytes of readBytes(response.body, source)) {
    const piece = take(reader, bytes, source)
    if (!piece) continue
    isHeard = true
    yield piece
  }
  if (!reader.isWhole()) throw garbage(model, 'cut off')
  if (!isHeard) throw garbage(model, 'without a sound')
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

async function* readWhole(
  response: HttpResponse,
  audio: AudioContract,
  source: Source,
): AsyncGenerator<Message> {
  const { json } = await readReply(response, source.model, source.cancelToken.signal)
  yield { json, status: statusOf(audio, json, '') }
}

/** The status of an error. Without a stated one, the caller's request is the most likely cause. */
function statusOf(audio: AudioContract, json: object, event: string): number {
  return audio.status?.(json, event) ?? 400
}

async function* readEvents(
  { body }: HttpResponse,
  audio: AudioContract,
  source: Source,
): AsyncGenerator<Message> {
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

  /** The message of an event; none if it is only a comment. */
  function* messageIn(event: string): Generator<Message> {
    const data = dataOfEvent(event)
    if (data === undefined) return
    const json = objectIn(data)
    if (!json) throw garbage(source.model, 'not JSON')
    yield { json, status: statusOf(audio, json, event) }
  }
}

/** The bytes of an answer, which end with the call that they answer. */
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
