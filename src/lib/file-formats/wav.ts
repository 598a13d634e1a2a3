// Reads the samples of a WAV file that arrives in pieces, and writes WAV headers. It must never depend on where the pieces were
// split, or trust a size that was written before the audio was complete.

/** Samples of 16 bits, little-endian, channels interleaved. */
export interface PcmFormat {
  sampleRate: number
  channels: number
}

export interface PcmReader {
  /** Takes the next piece and returns the whole frames that it completes. Throws if it is not audio of 16 bits. */
  push(piece: Uint8Array): Uint8Array
  /** The format; undefined until enough has arrived to know it. */
  format(): PcmFormat | undefined
  /** False while there is less than the header declares. */
  isWhole(): boolean
}

const BYTES_PER_SAMPLE = 2
const HEADER_BYTES = 44
/** Maximum length of a header, in bytes: it is held in memory. */
export const MAX_HEADER_BYTES = 64 * 1024
const PCM = 1
/** The format code of a WAV whose header describes its channels in more detail. */
const EXTENSIBLE = 0xfffe
/** Format codes of samples that all have the same size: integers, floats, A-law and mu-law. */
const PLAIN_SAMPLES: ReadonlySet<number> = new Set([PCM, 3, 6, 7, EXTENSIBLE])
/** Sizes from this value on mean "not known yet". */
const UNKNOWN_BYTES = 0x7fff0000
const EMPTY = Buffer.alloc(0)

/**
 * Creates a reader of samples. With `plain` the samples may arrive without a header, and a header's size is not trusted: it was
 * written when only the first piece existed. Without `plain` a complete file is expected.
 */
export function createPcmReader(plain?: PcmFormat): PcmReader {
  let head: Buffer | undefined = EMPTY
  let format: PcmFormat | undefined
  let bytesLeft = Number.POSITIVE_INFINITY
  let sizeIsKnown = false
  let odd: Buffer = EMPTY

  /** The part of a piece after the header, once that is complete. */
  function behindHeader(piece: Buffer): Buffer {
    if (!head) return piece
    head = Buffer.concat([head, piece])
    const start = head
    if (plain && !isRiff(start)) {
      format = plain
      head = undefined
      return start
    }
    const header = readHeader(start)
    if (!header) return EMPTY
    format = header.format
    if (!plain && header.dataBytes !== undefined) {
      bytesLeft = header.dataBytes
      sizeIsKnown = true
    }
    head = undefined
    return start.subarray(header.dataOffset)
  }

  return {
    push(piece) {
      const bytes = behindHeader(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))
      const samples = bytes.subarray(0, Math.min(bytes.length, bytesLeft))
      bytesLeft -= samples.length
      if (!format) return EMPTY
      const joined = odd.length > 0 ? Buffer.concat([odd, samples]) : samples
      const whole = joined.length - (joined.length % (BYTES_PER_SAMPLE * format.channels))
      odd = Buffer.from(joined.subarray(whole))
      return joined.subarray(0, whole)
    },
    format: () => format,
    isWhole: () => !sizeIsKnown || bytesLeft === 0,
  }
}

/**
 * Whether the header of a WAV file states the size of a frame that its channels and samples have. Readers that trust a larger one
 * compute a shorter duration than others. True for a file that is not a WAV, or whose samples are compressed.
 */
export function hasTrueFrames(head: Buffer): boolean {
  if (head.toString('latin1', 8, 12) !== 'WAVE') return true
  for (let at = 12; at + 24 <= head.length; ) {
    const [name, size] = [head.toString('latin1', at, at + 4), head.readUInt32LE(at + 4)]
    if (name === 'data') return true
    if (name === 'fmt ') {
      const [tag, channels] = [head.readUInt16LE(at + 8), head.readUInt16LE(at + 10)]
      const [frameBytes, bits] = [head.readUInt16LE(at + 20), head.readUInt16LE(at + 22)]
      if (PLAIN_SAMPLES.has(tag) && 8 * frameBytes !== channels * bits) return false
    }
    at += 8 + size + (size % 2)
  }
  return false
}

/** A whole WAV file with exact sizes. */
export function wavOf({ sampleRate, channels }: PcmFormat, samples: readonly Uint8Array[]): Uint8Array {
  const dataBytes = samples.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const frameBytes = BYTES_PER_SAMPLE * channels
  const header = Buffer.alloc(HEADER_BYTES)
  header.write('RIFF', 0, 'latin1')
  header.writeUInt32LE(HEADER_BYTES - 8 + dataBytes, 4)
  header.write('WAVEfmt ', 8, 'latin1')
  header.writeUInt32LE(16, 16)
  header.writeUInt16LE(PCM, 20)
  header.writeUInt16LE(channels, 22)
  header.writeUInt32LE(sampleRate, 24)
  header.writeUInt32LE(sampleRate * frameBytes, 28)
  header.writeUInt16LE(frameBytes, 32)
  header.writeUInt16LE(8 * BYTES_PER_SAMPLE, 34)
  header.write('data', 36, 'latin1')
  header.writeUInt32LE(dataBytes, 40)
  return Buffer.concat([header, ...samples])
}

/** Also true for less than four bytes that may become a RIFF mark. */
function isRiff(bytes: Buffer): boolean {
  return 'RIFF'.startsWith(bytes.toString('latin1', 0, 4))
}

interface Header {
  format: PcmFormat
  dataOffset: number
  /** Undefined if it was not known when the header was written. */
  dataBytes: number | undefined
}

/** The header; undefined while it is incomplete. */
function readHeader(bytes: Buffer): Header | undefined {
  if (!isRiff(bytes) || (bytes.length >= 12 && bytes.toString('latin1', 8, 12) !== 'WAVE')) {
    throw new Error('not a WAV file')
  }
  let format: PcmFormat | undefined
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = bytes.toString('latin1', at, at + 4)
    const size = bytes.readUInt32LE(at + 4)
    if (name === 'data') {
      if (!format) throw new Error('a WAV file that does not describe its samples')
      const dataBytes = size === 0 || size >= UNKNOWN_BYTES ? undefined : size
      return { format, dataOffset: at + 8, dataBytes }
    }
    if (name === 'fmt ') {
      if (at + 24 > bytes.length) break
      format = readFormat(bytes.subarray(at + 8, at + 24))
    }
    // Chunks begin at even offsets.
    at += 8 + size + (size % 2)
  }
  if (bytes.length > MAX_HEADER_BYTES) throw new Error('a WAV file without samples')
  return undefined
}

function readFormat(bytes: Buffer): PcmFormat {
  const [tag, channels, sampleRate] = [bytes.readUInt16LE(0), bytes.readUInt16LE(2), bytes.readUInt32LE(4)]
  const bits = bytes.readUInt16LE(14)
  const isKnown = (tag === PCM || tag === EXTENSIBLE) && bits === 8 * BYTES_PER_SAMPLE
  if (!isKnown || channels < 1 || channels > 2 || sampleRate < 8_000 || sampleRate > 192_000) {
    throw new Error(`samples of ${bits} bits in ${channels} channels at ${sampleRate} Hz, form ${tag}`)
  }
  return { sampleRate, channels }
}
