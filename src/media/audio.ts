// Finds the format and the duration of audio from the file's own bytes, in workers that start on demand and stop when
// idle: a long file takes seconds, a malicious one may take forever. It must never trust a name or a type that was sent along, or a
// duration that so few bytes cannot contain.

import type { Upload } from '../contract/family'
import { GatewayError } from '../lib/errors'
import { createSemaphore } from '../lib/semaphore'

type Audio = NonNullable<Upload['audio']>

/** Number of files that are read at once, each in its own worker. */
const WORKERS = 4
const MAX_WAITING = 256
const IDLE_MS = 10_000
/** Maximum time for reading a file; audio files need less than a tenth of it. */
const LIMIT_MS = 2_000
const LIMIT_MS_PER_MEBIBYTE = 200
const MEBIBYTE = 1024 * 1024
/** Minimum number of bytes per second of audio: even silence needs these, whatever the codec. */
const MIN_BYTES_PER_SECOND = 10
/** Bytes that hold the marks of all formats. */
const HEAD_BYTES = 16

/**
 * The worker's path: next to this file in a checkout; in an executable all code is one file, and the worker keeps its
 * folder.
 */
const WORKER = import.meta.url.endsWith('/src/media/audio.ts')
  ? './audio-worker.ts'
  : './src/media/audio-worker.ts'

export class AudioReader {
  readonly #semaphore = createSemaphore(WORKERS)
  readonly #idleMs: number
  readonly #limitMs: number
  readonly #spare: Worker[] = []
  #idle: Timer | undefined
  #asked = 0

  constructor({ idleMs = IDLE_MS, limitMs = LIMIT_MS } = {}) {
    this.#idleMs = idleMs
    this.#limitMs = limitMs
  }

  /**
   * Reads a file. Undefined if it is neither audio nor a video that may contain some. Throws 503 if too many files wait, and
   * the reason of the signal when that fires.
   */
  async read(file: Blob, signal: AbortSignal): Promise<Audio | undefined> {
    const format = formatOf(await file.slice(0, HEAD_BYTES).bytes())
    if (!format) return undefined
    if (this.#asked >= WORKERS + MAX_WAITING) throw tooMany()
    this.#asked++
    try {
      const seconds = await this.#semaphore.run(signal, () => this.#measure(file))
      const isKnown = seconds !== undefined && seconds > 0 && seconds <= file.size / MIN_BYTES_PER_SECOND
      return { format, seconds: isKnown ? seconds : undefined }
    } finally {
      this.#asked--
    }
  }

  close(): void {
    clearTimeout(this.#idle)
    for (const worker of this.#spare.splice(0)) worker.terminate()
  }

  async #measure(file: Blob): Promise<number | undefined> {
    clearTimeout(this.#idle)
    const worker = this.#spare.pop() ?? (await startWorker())
    const answer = Promise.withResolvers<{ seconds: number | undefined } | undefined>()
    const limit = this.#limitMs + (LIMIT_MS_PER_MEBIBYTE * file.size) / MEBIBYTE
    const deadline = setTimeout(() => answer.resolve(undefined), limit)
    worker.onmessage = ({ data }: MessageEvent<number | undefined>) => answer.resolve({ seconds: data })
    worker.onerror = () => answer.resolve(undefined)
    worker.postMessage(file)
    const answered = await answer.promise
    clearTimeout(deadline)
    if (answered) this.#keep(worker)
    else worker.terminate()
    return answered?.seconds
  }

  #keep(worker: Worker): void {
    this.#spare.push(worker)
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => this.close(), this.#idleMs)
    this.#idle.unref()
  }
}

/** Starts a worker and waits until it is ready, because its start does not count as reading time. */
function startWorker(): Promise<Worker> {
  const started = new Worker(new URL(WORKER, import.meta.url).href)
  const ready = Promise.withResolvers<Worker>()
  started.onmessage = () => ready.resolve(started)
  started.onerror = ({ message }) => ready.reject(new Error(message))
  started.unref()
  return ready.promise
}

/** The format by the mark that a file begins with. */
function formatOf(head: Uint8Array): Audio['format'] | undefined {
  const text = Buffer.from(head).toString('latin1')
  if (text.startsWith('RIFF') && text.startsWith('WAVE', 8)) return 'wav'
  if (text.startsWith('OggS')) return 'ogg'
  if (text.startsWith('fLaC')) return 'flac'
  if (text.startsWith('\x1a\x45\xdf\xa3')) return 'webm'
  if (text.startsWith('ftyp', 4)) return 'mp4'
  if (text.startsWith('ID3')) return 'mp3'
  return /^\xff[\xf0\xf1\xf8\xf9]/.test(text) ? 'aac' : /^\xff[\xe0-\xff]/.test(text) ? 'mp3' : undefined
}

function tooMany(): GatewayError {
  return new GatewayError(503, {
    code: 'audio_busy',
    message: 'Too many audio files are being read. Try again in a moment.',
    headers: { 'retry-after': '1' },
  })
}
