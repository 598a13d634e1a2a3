// Sound as bytes: samples from any file in any pieces, exact headers, and MP3 that another library decodes to the same
// tone. Many concurrent sounds are encoded like a single one, outside the event loop.

import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { samplesPerSecond, toneBytes, toneFile } from '../../sandbox/sounds'
import { createPcmReader, type PcmFormat, wavOf } from '../../src/lib/file-formats/wav'
import { createMp3Encoder, type Mp3Encoder } from '../../src/media/mp3-encoder'
import { createRandom, type Random, seedOf } from '../support/random'
import { rejection } from '../support/rejection'
import { pitchOf, readMp3, readWav } from '../support/sounds'

setDefaultTimeout(180_000)

const seed = seedOf('SOUND_SEED')
const plain: PcmFormat = { sampleRate: samplesPerSecond, channels: 1 }
/** The number of samples that an encoder may add: its delay, and the rest of its last frame. */
const FRAME_SAMPLES = 576
const DELAY_SAMPLES = 1_105

function cut(random: Random, bytes: Uint8Array): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = random.pick([0, 1, 1, 2, 3, 7, 44, 1_000, bytes.length])
    pieces.push(bytes.subarray(at, at + length))
    at += length
  }
  return pieces
}

/** All samples that the parser finds in these pieces. */
function read(pieces: readonly Uint8Array[], form?: PcmFormat) {
  const reader = createPcmReader(form)
  const samples = Buffer.concat(pieces.map((piece) => Buffer.from(reader.push(piece))))
  return { samples, format: reader.format(), isWhole: reader.isWhole() }
}

interface FileParts {
  channels?: number
  sampleRate?: number
  bits?: number
  tag?: number
  /** Chunks before and after the samples, by name. */
  before?: Record<string, Buffer>
  behind?: Record<string, Buffer>
  statedBytes?: number
}

function fileOf(samples: Uint8Array, parts: FileParts = {}): Buffer {
  const { channels = 1, sampleRate = 24_000, bits = 16, tag = 1, before = {}, behind = {} } = parts
  const format = Buffer.alloc(tag === 1 ? 16 : 40)
  format.writeUInt16LE(tag, 0)
  format.writeUInt16LE(channels, 2)
  format.writeUInt32LE(sampleRate, 4)
  format.writeUInt16LE(bits, 14)
  const chunk = (name: string, data: Uint8Array, statedBytes = data.length) => {
    const size = Buffer.alloc(4)
    size.writeUInt32LE(statedBytes)
    return Buffer.concat([Buffer.from(name), size, data, Buffer.alloc(data.length % 2)])
  }
  const chunks = (list: Record<string, Buffer>) =>
    Object.entries(list).map(([name, data]) => chunk(name, data))
  return Buffer.concat([
    Buffer.from('RIFF....WAVE'),
    ...chunks(before),
    chunk('fmt ', format),
    chunk('data', samples, parts.statedBytes),
    ...chunks(behind),
  ])
}

describe(`samples in pieces (SOUND_SEED=${seed})`, () => {
  const tone = Buffer.from(toneBytes({ hertz: 440, samples: 3_000 }, 0, 3_000))

  test('pieces of any size give the same samples and the same file, with and without a header', () => {
    const random = createRandom(seed)
    for (let round = 0; round < 300; round++) {
      for (const bytes of [tone, toneFile({ hertz: 440, samples: 3_000 })]) {
        const { samples, format } = read(cut(random, bytes), plain)
        expect(Buffer.compare(samples, tone)).toBe(0)
        expect(format).toEqual(plain)
        expect(Buffer.compare(wavOf(plain, [samples]), toneFile({ hertz: 440, samples: 3_000 }))).toBe(0)
      }
    }
  })

  const files: [name: string, file: Buffer, format: PcmFormat][] = [
    [
      'with other chunks around the samples',
      fileOf(tone, { before: { LIST: Buffer.alloc(333) }, behind: { 'id3 ': Buffer.alloc(77) } }),
      plain,
    ],
    [
      'in two channels',
      fileOf(tone, { channels: 2, sampleRate: 48_000 }),
      { channels: 2, sampleRate: 48_000 },
    ],
    ['in the extensible form', fileOf(tone, { tag: 0xfffe }), plain],
    ['whose header was written before its size was known', fileOf(tone, { statedBytes: 0xffffffff }), plain],
    ['without a size', fileOf(tone, { statedBytes: 0 }), plain],
  ]
  test.each(files)('a file %s', (_, file, format) => {
    const random = createRandom(seed)
    for (let round = 0; round < 50; round++) {
      expect(read(cut(random, file))).toEqual({ samples: tone, format, isWhole: true })
    }
  })

  test('half a frame at the end is dropped', () => {
    expect(read([tone, Buffer.from([7])], plain).samples).toEqual(tone)
    const odd = Buffer.concat([tone, tone.subarray(0, 2)])
    expect(read([fileOf(odd, { channels: 2, statedBytes: 0 })]).samples).toEqual(tone)
  })

  test('samples that merely begin like a header are samples', () => {
    const bytes = Buffer.concat([Buffer.from('RIF'), tone])
    expect(
      read([bytes.subarray(0, 2), bytes.subarray(2)], plain)
        .samples.subarray(0, 3)
        .toString(),
    ).toBe('RIF')
  })

  test('a file that is shorter than its header says is incomplete', () => {
    const { samples, isWhole } = read([fileOf(tone, { statedBytes: tone.length + 2 })])
    expect({ bytes: samples.length, isWhole }).toEqual({ bytes: tone.length, isWhole: false })
    // In a stream, the header is written when only the first piece is known.
    expect(read([fileOf(tone, { statedBytes: 10 })], plain)).toMatchObject({ samples: tone, isWhole: true })
  })

  const refused: [name: string, file: Buffer][] = [
    ['HTML', Buffer.from('<html><body>no</body></html>')],
    ['another RIFF file', Buffer.from('RIFF....AVI LIST')],
    ['samples of 8 bits', fileOf(tone, { bits: 8 })],
    ['samples as floating-point numbers', fileOf(tone, { tag: 3, bits: 32 })],
    ['three channels', fileOf(tone, { channels: 3 })],
    ['an absurd rate', fileOf(tone, { sampleRate: 4_000_000_000 })],
    ['samples before their format', Buffer.concat([Buffer.from('RIFF....WAVEdata\u0008\0\0\0'), tone])],
    [
      'an endless header',
      Buffer.concat([Buffer.from('RIFF....WAVELIST\u0000\0\u00ff\0', 'latin1'), Buffer.alloc(70_000)]),
    ],
  ]
  test.each(refused)('refuses %s', (_, file) => {
    expect(() => read([file])).toThrow()
  })
})

describe('MP3', () => {
  const encoder = createMp3Encoder()
  afterAll(() => encoder.close())

  async function encode(
    from: Mp3Encoder,
    samples: Uint8Array,
    format = plain,
    step = 9_600,
  ): Promise<Buffer> {
    const sound = from.open()
    const pieces: Uint8Array[] = []
    for (let at = 0; at < samples.length; at += step) {
      pieces.push(await sound.encode(samples.subarray(at, at + step), format))
    }
    pieces.push(await sound.finish())
    sound.close()
    return Buffer.concat(pieces)
  }

  const rows: [samples: number, hertz: number, format: PcmFormat][] = [
    [1, 440, plain],
    [2_400, 440, plain],
    [72_000, 700, plain],
    [72_000, 700, { sampleRate: 24_000, channels: 2 }],
    [44_100, 300, { sampleRate: 44_100, channels: 1 }],
  ]
  test.each(rows)(
    '%p samples of %p Hz decode to the same length and pitch',
    async (samples, hertz, format) => {
      const { channels, sampleRate } = format
      const tone = Buffer.from(
        toneBytes({ hertz: (hertz * samplesPerSecond) / sampleRate, samples }, 0, samples),
      )
      const wide = Buffer.alloc(tone.length * channels)
      for (let at = 0; at < samples * channels; at++) {
        wide.writeInt16LE(tone.readInt16LE(2 * Math.floor(at / channels)), 2 * at)
      }
      const heard = await readMp3(await encode(encoder, wide, format))
      expect(heard.sampleRate).toBe(sampleRate)
      const added = heard.samples.length - samples
      expect(added).toBeWithin(0, DELAY_SAMPLES + 2 * FRAME_SAMPLES)
      if (samples >= 2_400) expect(Math.abs(pitchOf(heard) - hertz)).toBeLessThan(hertz / 100)
    },
  )

  test('is the same for pieces of any size', async () => {
    const tone = toneBytes({ hertz: 440, samples: 30_000 }, 0, 30_000)
    const whole = await encode(encoder, tone, plain, tone.length)
    for (const step of [1_000, 4_802]) {
      expect(Buffer.compare(await encode(encoder, tone, plain, step), whole)).toBe(0)
    }
  })

  test('of concurrent sounds is the same as of each alone, and the event loop keeps running', async () => {
    const tones = Array.from({ length: 100 }, (_, index) => {
      return toneBytes({ hertz: 300 + 10 * index, samples: 24_000 }, 0, 24_000)
    })
    const alone = await encode(encoder, tones[70] as Uint8Array)
    let turns = 0
    let isOver = false
    const count = () => {
      turns++
      if (!isOver) setImmediate(count)
    }
    count()
    const together = await Promise.all(tones.map((tone) => encode(encoder, tone)))
    isOver = true
    // Five pieces of each sound, each of which would block the event loop for a turn if it were encoded there.
    expect(turns).toBeGreaterThan(tones.length)
    expect(Buffer.compare(together[70] as Buffer, alone)).toBe(0)
    expect(new Set(together.map((bytes) => bytes.toString('latin1'))).size).toBe(100)
  })

  test('of a canceled sound leaves nothing in the next one', async () => {
    const tone = toneBytes({ hertz: 440, samples: 12_000 }, 0, 12_000)
    const own = createMp3Encoder()
    const fresh = await encode(own, tone)
    const left = own.open()
    await left.encode(toneBytes({ hertz: 999, samples: 5_000 }, 0, 5_000), plain)
    left.close()
    expect(Buffer.compare(await encode(own, tone), fresh)).toBe(0)
    own.close()
  })

  test('has a limit of concurrent sounds, and closing one frees its place', () => {
    const own = createMp3Encoder()
    const sounds = Array.from({ length: 256 }, () => own.open())
    expect(() => own.open()).toThrow('Try again in a moment, or request wav')
    sounds[3]?.close()
    sounds[3]?.close()
    own.open()
    expect(() => own.open()).toThrow()
    own.close()
  })

  test('fails for waiting samples when the encoder closes', async () => {
    const own = createMp3Encoder()
    const waiting = own.open().encode(toneBytes({ hertz: 440, samples: 5_000 }, 0, 5_000), plain)
    own.close()
    expect((await rejection(waiting)).message).toContain('stopped')
  })
})

test('the header of a WAV file states its content', () => {
  const samples = toneBytes({ hertz: 440, samples: 1_000 }, 0, 1_000)
  const file = wavOf({ sampleRate: 48_000, channels: 2 }, [samples.subarray(0, 500), samples.subarray(500)])
  expect(file).toHaveLength(2_044)
  expect(readWav(file)).toMatchObject({ sampleRate: 48_000, channels: 2, riffBytes: 2_036, dataBytes: 2_000 })
})
