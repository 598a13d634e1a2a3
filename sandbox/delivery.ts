// Sends a reply as bytes and applies transport faults: pauses, cuts, odd pieces. It must never know a vendor, or hold a whole
// stream in memory.

import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Directives } from './directives'
import { printJson } from './json'
import type { EventFrame, EventStream, Reply, ReplyBody } from './simulator'

interface Delivery {
  directives: Directives
  tokenDelayMs: number
  /** Aborted when the client has disconnected or the sandbox stops. */
  ended: AbortSignal
  /** Called once, after the last byte was handed over. */
  finished(): void
}

class ConnectionCut extends Error {}

const beforeCutMs = 25

export function deliver(reply: Reply, delivery: Delivery): Response {
  const headers = new Headers(reply.headers)
  headers.set('x-sandbox', 'true')
  const { body, status } = reply
  if (body.kind === 'events') {
    headers.set('content-type', body.stream.framing?.contentType ?? 'text/event-stream; charset=utf-8')
    headers.set('cache-control', 'no-cache')
    return new Response(byteStream(eventBytes(body.stream, delivery), delivery), { status, headers })
  }
  headers.set('content-type', body.kind === 'json' ? 'application/json' : body.contentType)
  const bytes = bytesOf(body)
  if (delivery.directives.cutAfter !== undefined) {
    return new Response(byteStream(halfOf(bytes), delivery), { status, headers })
  }
  delivery.finished()
  return new Response(bytes, { status, headers })
}

function bytesOf(body: Exclude<ReplyBody, { kind: 'events' }>): Uint8Array<ArrayBuffer> {
  if (body.kind === 'bytes') return body.bytes as Uint8Array<ArrayBuffer>
  return Buffer.from(body.kind === 'text' ? body.text : printJson(body.value))
}

/** Resolves after the delay, or at once when the request has ended. */
export function pause(delayMs: number, ended: AbortSignal): Promise<void> {
  // Even without a delay the event loop gets a turn. A stream that fills memory as fast as it can would otherwise keep the process
  // from noticing that the client has disconnected.
  if (delayMs <= 0) return nextTurn()
  if (ended.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const finish = () => {
      clearTimeout(timer)
      ended.removeEventListener('abort', finish)
      resolve()
    }
    const timer = setTimeout(finish, delayMs)
    ended.addEventListener('abort', finish)
  })
}

/** Resolves only when the request has ended. */
export function untilEnded(ended: AbortSignal): Promise<void> {
  if (ended.aborted) return Promise.resolve()
  return new Promise((resolve) => ended.addEventListener('abort', () => resolve(), { once: true }))
}

function byteStream(bytes: AsyncGenerator<Uint8Array>, delivery: Delivery): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const next = await bytes.next()
        if (!next.done) return controller.enqueue(next.value)
        delivery.finished()
        controller.close()
      } catch (error) {
        // An errored body makes the server drop the socket without the closing chunk, so the client sees a broken
        // transfer. A client that learns of a cut drops unread bytes, so it first gets time to read.
        await pause(beforeCutMs, delivery.ended)
        delivery.finished()
        controller.error(error)
      }
    },
    async cancel() {
      await bytes.return(undefined)
    },
  })
}

async function* halfOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes.subarray(0, Math.ceil(bytes.length / 2))
  throw new ConnectionCut()
}

async function* eventBytes(stream: EventStream, delivery: Delivery): AsyncGenerator<Uint8Array> {
  const { directives, ended } = delivery
  const delayMs = directives.tokenDelayMs ?? delivery.tokenDelayMs
  const encoder = new TextEncoder()
  let sent = 0
  for (const frame of faultyFrames(stream, directives)) {
    await pause(sent === 0 ? 0 : delayMs, ended)
    if (ended.aborted) return
    const bytes =
      stream.framing?.encode(frame) ?? encoder.encode(printFrame(frame, directives.crlf ? '\r\n' : '\n'))
    if (directives.split) yield* oddPieces(bytes)
    else yield bytes
    sent++
  }
}

function* faultyFrames(stream: EventStream, directives: Directives): Generator<EventFrame> {
  let sent = 0
  for (const frame of framesToTheEnd(stream, directives)) {
    if (sent === directives.cutAfter) throw new ConnectionCut()
    if (sent === directives.errorAfter) {
      yield* [stream.failure].flat()
      return
    }
    yield frame
    sent++
  }
}

function* framesToTheEnd(stream: EventStream, directives: Directives): Generator<EventFrame> {
  yield* stream.frames
  if (stream.last && !directives.noDone) yield stream.last
}

function printFrame({ id, event, comment, data, tight }: EventFrame, lineEnd: string): string {
  const gap = tight ? '' : ' '
  const line = (name: string, value: string | undefined) =>
    value === undefined ? '' : `${name}:${gap}${value}${lineEnd}`
  return `${line('id', id)}${line('event', event)}${line('', comment)}${line('data', data)}${lineEnd}`
}

const pieceBytes = 17

/** Pieces of an odd length, with a cut after the first byte of every multi-byte character. */
async function* oddPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  let start = 0
  for (let index = 0; index < bytes.length; index++) {
    const leadsCharacter = (bytes[index] ?? 0) >= 0xc0
    if (!leadsCharacter && index - start + 1 < pieceBytes && index !== bytes.length - 1) continue
    yield bytes.slice(start, index + 1)
    await nextTurn()
    start = index + 1
  }
}
