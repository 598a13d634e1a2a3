// Makes MP3 out of samples, in a worker that is started at need and stopped when idle: an encoder needs milliseconds for
// each second of sound, which must never be taken from the event loop. How many sounds it makes at a time is limited.

import { GatewayError } from '../lib/errors'
import type { PcmFormat } from '../lib/wav'

const IDLE_MS = 10_000
/** Each has some two megabytes of its own in the worker. */
const MAX_SOUNDS = 256

/** Beside this file in a checkout; in an executable all code is one file, and the worker keeps its folder. */
const WORKER = import.meta.url.endsWith('/src/media/mp3-encoder.ts')
  ? './mp3-worker.ts'
  : './src/media/mp3-worker.ts'

/** What the worker is asked. Only `drop`, for a sound that nobody wants any more, has no answer. */
export type Mp3Task = { id: number; sound: number } & (
  | { kind: 'encode'; samples: Uint8Array; format: PcmFormat }
  | { kind: 'finish' }
  | { kind: 'drop' }
)
export type Mp3Answer = { id: number; bytes: Uint8Array } | { id: number; error: string }

export interface Mp3Encoder {
  /** Takes one of the places; throws 503 where there is none. */
  open(): Mp3Sound
  close(): void
}

/** One sound in the making. One call at a time. */
export interface Mp3Sound {
  /** The MP3 that is ready after these samples: often nothing at first. */
  encode(samples: Uint8Array, format: PcmFormat): Promise<Uint8Array>
  /** The rest of the MP3. */
  finish(): Promise<Uint8Array>
  /** Gives the place back, whatever has become of the sound. */
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
    message: `This gateway makes ${MAX_SOUNDS} MP3 sounds at a time, and all places are taken. Try again in a moment, or ask for wav.`,
    headers: { 'retry-after': '1' },
  })
}
