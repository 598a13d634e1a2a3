// Measures a sound: length, format and pitch. The MP3 decoder is not part of the library that encodes.

import { MPEGDecoder } from 'mpg123-decoder'

interface Sound {
  sampleRate: number
  channels: number
  /** Samples of the first channel. */
  samples: Float32Array
}

interface SoundFile extends Sound {
  /** The sizes as the header states them. */
  riffBytes: number
  dataBytes: number
}

const HEADER_BYTES = 44
const FULL_SCALE = 32_768

/** Reads only WAV files of the plainest form. */
export function readWav(bytes: Uint8Array): SoundFile {
  const file = Buffer.from(bytes)
  const words = [
    file.toString('latin1', 0, 4),
    file.toString('latin1', 8, 16),
    file.toString('latin1', 36, 40),
  ]
  if (words.join() !== 'RIFF,WAVEfmt ,data') throw new Error(`no plain WAV file: ${words}`)
  const channels = file.readUInt16LE(22)
  const frames = Math.floor((file.length - HEADER_BYTES) / (2 * channels))
  const samples = Float32Array.from({ length: frames }, (_, frame) => {
    return file.readInt16LE(HEADER_BYTES + 2 * channels * frame) / FULL_SCALE
  })
  return {
    sampleRate: file.readUInt32LE(24),
    channels,
    samples,
    riffBytes: file.readUInt32LE(4),
    dataBytes: file.readUInt32LE(40),
  }
}

export async function readMp3(bytes: Uint8Array): Promise<Sound> {
  const decoder = new MPEGDecoder()
  await decoder.ready
  try {
    const { sampleRate, channelData, errors } = decoder.decode(bytes)
    if (errors.length > 0) throw new Error(errors.map(({ message }) => message).join())
    // The decoder turns one channel into two.
    return { sampleRate, channels: channelData.length, samples: channelData[0] ?? new Float32Array() }
  } finally {
    decoder.free()
  }
}

/** The pitch of a tone, measured from its first to its last rise through zero. */
export function pitchOf({ samples, sampleRate }: Sound): number {
  const rises: number[] = []
  // An encoder leaves faint noise before and after the tone.
  const [start, end] = [Math.floor(samples.length * 0.35), Math.floor(samples.length * 0.75)]
  for (let at = start; at < end; at++) {
    if ((samples[at - 1] as number) < 0 && (samples[at] as number) >= 0) rises.push(at)
  }
  const [first, last] = [rises[0], rises.at(-1)]
  if (first === undefined || last === undefined || first === last) throw new Error('there is no tone')
  return ((rises.length - 1) * sampleRate) / (last - first)
}
