// Audio of the simulators: a plain tone as samples of 16 bits, whole or in pieces, and files of it. WAV and MP3 can be played, and
// MP3 is silent; files of other formats only begin as they should. It must never depend on anything but the arguments, or hold a
// long tone in memory.

export const samplesPerSecond = 24_000

export interface Tone {
  hertz: number
  samples: number
}

const bytesPerSample = 2
const loudness = 10_000
const headerBytes = 44

/** The samples from one position to another, in mono and little-endian. */
export function toneBytes({ hertz }: Tone, from: number, to: number): Uint8Array {
  const bytes = Buffer.alloc((to - from) * bytesPerSample)
  for (let at = from; at < to; at++) {
    const angle = (2 * Math.PI * hertz * at) / samplesPerSecond
    bytes.writeInt16LE(Math.round(loudness * Math.sin(angle)), (at - from) * bytesPerSample)
  }
  return bytes
}

export function* tonePieces(tone: Tone, samplesPerPiece: number): Generator<Uint8Array> {
  for (let at = 0; at < tone.samples; at += samplesPerPiece) {
    yield toneBytes(tone, at, Math.min(at + samplesPerPiece, tone.samples))
  }
}

export function toneFile(tone: Tone): Uint8Array {
  const data = toneBytes(tone, 0, tone.samples)
  const header = Buffer.alloc(headerBytes)
  header.write('RIFF....WAVEfmt ', 0, 'latin1')
  header.writeUInt32LE(headerBytes - 8 + data.length, 4)
  header.writeUInt32LE(16, 16)
  // Plain samples in one channel.
  header.writeUInt16LE(1, 20)
  header.writeUInt16LE(1, 22)
  header.writeUInt32LE(samplesPerSecond, 24)
  header.writeUInt32LE(samplesPerSecond * bytesPerSample, 28)
  header.writeUInt16LE(bytesPerSample, 32)
  header.writeUInt16LE(8 * bytesPerSample, 34)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(data.length, 40)
  return Buffer.concat([header, data])
}

/** How the files of other formats begin. */
const firstBytes: Readonly<Record<string, string>> = { opus: 'OggS', aac: '\u00ff\u00f1', flac: 'fLaC' }
/** A frame of MP3 without sound, of 24 ms at 24 kHz and 128 kbit/s in one channel. */
const silence = Buffer.concat([Buffer.from([0xff, 0xf3, 0xc4, 0xc0]), Buffer.alloc(380)])
const samplesPerFrame = 576
const bytesPerPiece = 3_200

/** A file as it is made, by the name of its format; `pcm` are plain samples. */
export function* filePieces(tone: Tone, format: string): Generator<Uint8Array> {
  if (tone.samples === 0) return
  const bytes = format === 'pcm' ? toneBytes(tone, 0, tone.samples) : wholeFile(tone, format)
  for (let at = 0; at < bytes.length; at += bytesPerPiece) yield bytes.subarray(at, at + bytesPerPiece)
}

function wholeFile(tone: Tone, format: string): Uint8Array {
  if (format === 'wav') return toneFile(tone)
  const frames = Math.ceil(tone.samples / samplesPerFrame)
  if (format === 'mp3') return Buffer.concat(Array.from({ length: frames }, () => silence))
  const bytes = Buffer.alloc(frames * silence.length)
  bytes.write(firstBytes[format] ?? '', 'latin1')
  return bytes
}
