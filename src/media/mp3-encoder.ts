// Makes MP3 from samples, in a worker that starts on demand and stops when idle. An encoder needs milliseconds per second of audio,
// which must never block the event loop. The number of concurrent MP3s is limited.

import { GatewayError } from '../lib/errors'
import type { PcmFormat } from '../lib/file-formats/wav'

const IDLE_MS = 10_000
/** Number of concurrent MP3s; each needs about two megabytes in the worker. */
const MAX_SOUNDS = 256

/**
 * The worker's path: next to this file in a checkout; in an executable all code is one file, and the worker keeps its
 * folder.
 */
const WORKER = import.meta.url.endsWith('/src/media/mp3-encoder.ts')
  ? './mp3-worker.ts'
  : './src/media/mp3-worker.ts'

/** A message to the worker. Only `drop`, for an MP3 that is no longer wanted, has no answer. */
export type Mp3Task = { id: number; sound: number } & (
  | { kind: 'encode'; samples: Uint8Array; format: PcmFormat }
  | { kind: 'finish' }
  | { kind: 'drop' }
)
export type Mp3Answer = { id: number; bytes: Uint8Array } | { id: number; error: string }

export interface Mp3Encoder {
  /** Takes a slot. Throws 503 if none is free. */
  open(): Mp3Sound
  close(): void
}

/** One MP3 in progress. Calls must not overlap. */
export interface Mp3Sound {
  /** The MP3 bytes that are ready after these samples: often none at first. */
  encode(samples: Uint8Array, format: PcmFormat): Promise<Uint8Array>
  /** The rest of the MP3. */
  finish(): Promise<Uint8Array>
  /** Returns the slot, whatever happened to the MP3. */
  close(): void
}

export function createMp3Encoder(): Mp3Encoder {
  let worker: Worker | undefined
  let idle: Timer | undefined
  let lastId = 0
  const sounds = new Set<number>()
  const waiting = new Map<number, PromiseWithResolvers<Uint8Array>>()

  function stop(reason = 'the encoder was stopped'): void {
    clearTimeout(idle)
    worker?.terminate()
    worker = undefined
    for (const { reject } of waiting.values()) reject(new Error(reason))
    waiting.clear()
  }

  function start(): Worker {
    const started = new Worker(new URL(WORKER, import.meta.url).href)
    started.onmessage = ({ data }: MessageEvent<Mp3Answer>) => {
      const asked = waiting.get(data.id)
      waiting.delete(data.id)
      if ('bytes' in data) asked?.resolve(data.bytes)
      else asked?.reject(new Error(data.error))
    }
    started.onerror = ({ message }) => stop(message)
    started.unref()
    return started
  }

  function ask(task: Mp3Task, transfer: ArrayBuffer[] = []): Promise<Uint8Array> {
    worker ??= start()
    const asked = Promise.withResolvers<Uint8Array>()
    waiting.set(task.id, asked)
    worker.postMessage(task, transfer)
    return asked.promise
  }

  return {
    open() {
      if (sounds.size >= MAX_SOUNDS) throw noPlace()
      clearTimeout(idle)
      const sound = ++lastId
      sounds.add(sound)
      return {
        encode(samples, format) {
          const own = new Uint8Array(samples)
          return ask({ id: ++lastId, sound, kind: 'encode', samples: own, format }, [own.buffer])
        },
        finish: () => ask({ id: ++lastId, sound, kind: 'finish' }),
        close() {
          if (!sounds.delete(sound)) return
          worker?.postMessage({ id: 0, sound, kind: 'drop' } satisfies Mp3Task)
          if (sounds.size > 0) return
          idle = setTimeout(stop, IDLE_MS)
          idle.unref()
        },
      }
    },
    close: () => stop(),
  }
}

function noPlace(): GatewayError {
  return new GatewayError(503, {
    code: 'encoder_busy',
    message: `This gateway makes ${MAX_SOUNDS} MP3 files at a time, and all are in use. Try again in a moment, or request wav.`,
    headers: { 'retry-after': '1' },
  })
}
