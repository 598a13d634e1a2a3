// Audio files of any length in every format that is transcribed: real containers around packets without sound.

import {
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacket,
  FlacOutputFormat,
  Mp3OutputFormat,
  Mp4OutputFormat,
  OggOutputFormat,
  Output,
  type OutputFormat,
  WavOutputFormat,
  WebMOutputFormat,
} from 'mediabunny'
import type { Upload } from '../../src/contract/family'

type AudioFileFormat = Exclude<NonNullable<Upload['audio']>['format'], 'aac'>

interface Recipe {
  container: () => OutputFormat
  codec: 'opus' | 'aac' | 'mp3' | 'flac' | 'pcm-s16'
  config: AudioDecoderConfig
  packet: Uint8Array
  packetSeconds: number
}

const RATE = 48_000
const mono = (codec: string, description?: Uint8Array): AudioDecoderConfig => ({
  codec,
  sampleRate: RATE,
  numberOfChannels: 1,
  ...(description && { description }),
})
/** A frame of 20 ms without sound. */
const opusPacket = Uint8Array.of(0x08, 0xff, 0xfe)
const opusHead = Buffer.concat([
  Buffer.from('OpusHead'),
  Buffer.from([1, 1, 0, 0, 0x80, 0xbb, 0, 0, 0, 0, 0]),
])
/** MPEG-1 Layer III at 64 kbit/s, 48 kHz, one channel. */
const mp3Packet = Buffer.concat([Buffer.from([0xff, 0xfb, 0x54, 0xc4]), Buffer.alloc(188)])
const flacHead = Buffer.concat([
  Buffer.from('fLaC'),
  Buffer.from([0x80, 0, 0, 34, 0x10, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0x0b, 0xb8, 0, 0xf0, 0, 0, 0, 0]),
  Buffer.alloc(16),
])

const recipes: Record<AudioFileFormat, Recipe> = {
  wav: {
    container: () => new WavOutputFormat(),
    codec: 'pcm-s16',
    config: mono('pcm-s16'),
    packet: new Uint8Array(9_600),
    packetSeconds: 0.1,
  },
  mp3: {
    container: () => new Mp3OutputFormat(),
    codec: 'mp3',
    config: mono('mp3'),
    packet: mp3Packet,
    packetSeconds: 1152 / RATE,
  },
  mp4: {
    container: () => new Mp4OutputFormat(),
    codec: 'aac',
    config: mono('mp4a.40.2', Uint8Array.of(0x11, 0x88)),
    packet: new Uint8Array(60),
    packetSeconds: 1024 / RATE,
  },
  ogg: {
    container: () => new OggOutputFormat(),
    codec: 'opus',
    config: mono('opus', opusHead),
    packet: opusPacket,
    packetSeconds: 0.02,
  },
  flac: {
    container: () => new FlacOutputFormat(),
    codec: 'flac',
    config: mono('flac', flacHead),
    packet: flacFrame(0),
    packetSeconds: 4096 / RATE,
  },
  webm: {
    container: () => new WebMOutputFormat(),
    codec: 'opus',
    config: mono('opus', opusHead),
    packet: opusPacket,
    packetSeconds: 0.02,
  },
}

export const audioFileFormats = Object.keys(recipes) as AudioFileFormat[]

/** A file of this duration, accurate to a packet. `container` replaces the usual one. */
export async function audioFile(
  format: AudioFileFormat,
  seconds: number,
  container: OutputFormat = recipes[format].container(),
): Promise<Blob> {
  const { codec, config, packet, packetSeconds } = recipes[format]
  const target = new BufferTarget()
  const output = new Output({ format: container, target })
  const source = new EncodedAudioPacketSource(codec)
  output.addAudioTrack(source)
  await output.start()
  const count = Math.round(seconds / packetSeconds)
  for (let index = 0; index < count; index++) {
    const data = format === 'flac' ? flacFrame(index) : packet
    const each = new EncodedPacket(data, 'key', index * packetSeconds, packetSeconds)
    await source.add(each, index === 0 ? { decoderConfig: config } : undefined)
  }
  await output.finalize()
  return new Blob([target.buffer ?? new ArrayBuffer()])
}

/** As a browser records it: without a length in its header. */
export function recordedWebm(seconds: number): Promise<Blob> {
  return audioFile('webm', seconds, new WebMOutputFormat({ appendOnly: true }))
}

/** A FLAC frame of silence: 4,096 samples of 16 bits at 48 kHz, in one channel. */
function flacFrame(index: number): Uint8Array {
  const head = [0xff, 0xf8, 0xca, 0x08, ...utf8Of(index)]
  const start = Uint8Array.from([...head, crc(head, 8, 0x07)])
  const body = Uint8Array.from([...start, 0, 0, 0])
  const end = crc([...body], 16, 0x8005)
  return Uint8Array.from([...body, end >> 8, end & 0xff])
}

/** A number as FLAC writes it, which is as UTF-8 writes characters. */
function utf8Of(value: number): number[] {
  if (value < 0x80) return [value]
  if (value < 0x800) return [0xc0 | (value >> 6), 0x80 | (value & 0x3f)]
  return [0xe0 | (value >> 12), 0x80 | ((value >> 6) & 0x3f), 0x80 | (value & 0x3f)]
}

function crc(bytes: readonly number[], bits: 8 | 16, polynomial: number): number {
  let sum = 0
  for (const byte of bytes) {
    sum ^= byte << (bits - 8)
    for (let bit = 0; bit < 8; bit++) sum = sum & (1 << (bits - 1)) ? (sum << 1) ^ polynomial : sum << 1
    sum &= 2 ** bits - 1
  }
  return sum
}
