// The worker that makes MP3; the only file that loads the encoder. It serves many MP3s at once, each in turn. It must
// never answer out of order.

import { createEncoder } from 'wasm-media-encoders'
import codePath from 'wasm-media-encoders/wasm/mp3' with { type: 'file' }
import type { Mp3Answer, Mp3Task } from './mp3-encoder'

/** More than enough for speech in one channel. A constant rate lets players know the duration without a table. */
const KILOBITS_PER_SECOND = 96
/** Maximum number of idle encoders that are kept to reuse their memory. */
const MAX_SPARE = 16
const FULL_SCALE = 32_768

type Encoder = Awaited<ReturnType<typeof createEncoder<'audio/mpeg'>>>

declare const self: Worker

// Compiled once for all encoders: with a copy each, they would start slowly and be eight times as slow.
const code = Bun.file(codePath)
  .arrayBuffer()
  .then((bytes) => WebAssembly.compile(bytes))
const busy = new Map<number, { encoder: Encoder; channels: number }>()
const spare: Encoder[] = []
// Messages run one after the other, so that the end of an MP3 is never seen before its beginning.
let queue = Promise.resolve()

self.onmessage = ({ data }: MessageEvent<Mp3Task>) => {
  queue = queue.then(async () => {
    try {
      const bytes = await work(data)
      if (bytes) self.postMessage({ id: data.id, bytes } satisfies Mp3Answer, [bytes.buffer])
    } catch (error) {
      release(data.sound)
      self.postMessage({ id: data.id, error: String(error) } satisfies Mp3Answer)
    }
  })
}

async function work(task: Mp3Task): Promise<Uint8Array<ArrayBuffer> | undefined> {
  if (task.kind === 'drop') {
    release(task.sound)
    return undefined
  }
  if (task.kind === 'finish') {
    // The encoder returns a view into its own memory.
    const rest = busy.get(task.sound)?.encoder.finalize().slice() ?? new Uint8Array()
    release(task.sound)
    return rest
  }
  const { encoder, channels } = busy.get(task.sound) ?? (await start(task))
  return encoder.encode(channelsOf(task.samples, channels)).slice()
}

async function start({ sound, format: { sampleRate, channels } }: Mp3Task & { kind: 'encode' }) {
  const encoder = spare.pop() ?? (await createEncoder('audio/mpeg', await code))
  encoder.configure({ sampleRate, channels: channels === 2 ? 2 : 1, bitrate: KILOBITS_PER_SECOND })
  const started = { encoder, channels }
  busy.set(sound, started)
  return started
}

function release(sound: number): void {
  const encoder = busy.get(sound)?.encoder
  busy.delete(sound)
  if (encoder && spare.length < MAX_SPARE) spare.push(encoder)
}

/** The samples of each channel as numbers from -1 to 1. */
function channelsOf(samples: Uint8Array, channels: number): Float32Array[] {
  const view = new DataView(samples.buffer, samples.byteOffset, samples.byteLength)
  const frames = samples.byteLength / (2 * channels)
  return Array.from({ length: channels }, (_, channel) => {
    const numbers = new Float32Array(frames)
    for (let frame = 0; frame < frames; frame++) {
      numbers[frame] = view.getInt16(2 * (frame * channels + channel), true) / FULL_SCALE
    }
    return numbers
  })
}
