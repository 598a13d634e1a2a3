// The length of audio, computed from its packets, in every format; and malicious files.

import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { wavOf } from '../../src/lib/file-formats/wav'
import { AudioReader } from '../../src/media/audio'
import { audioFile, audioFileFormats, recordedWebm } from '../support/audio-files'
import { waitFor } from '../support/gateway'
import { createRandom, seedOf } from '../support/random'
import { rejection } from '../support/rejection'

setDefaultTimeout(180_000)

const reader = new AudioReader()
afterAll(() => reader.close())
const { signal } = new AbortController()
const random = createRandom(seedOf('AUDIO_SEED'))

const secondsOf = async (file: Blob) => (await reader.read(file, signal))?.seconds

function noise(length: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length }, () => random.below(256))
}

describe('the length', () => {
  for (const format of audioFileFormats) {
    for (const seconds of [1, 75]) {
      test(`of ${seconds} s of ${format}`, async () => {
        const read = await reader.read(await audioFile(format, seconds), signal)
        expect(read?.format).toBe(format)
        expect(Math.abs((read?.seconds ?? 0) - seconds)).toBeLessThan(0.1)
      })
    }
  }

  test('of a browser’s recording, whose header has no length', async () => {
    expect(Math.abs(((await secondsOf(await recordedWebm(75))) ?? 0) - 75)).toBeLessThan(0.1)
  })

  test('of a file on disk, and of many at the same time', async () => {
    const path = `${process.env.TMPDIR ?? '/tmp'}/audio-${process.pid}.wav`
    await Bun.write(path, wavOf({ sampleRate: 8_000, channels: 1 }, [new Uint8Array(16_000)]))
    expect(await Promise.all(Array.from({ length: 40 }, () => secondsOf(Bun.file(path))))).toEqual(
      Array.from({ length: 40 }, () => 1),
    )
    await Bun.file(path).delete()
  })
})

describe('a false header is ignored', () => {
  test('of an MP3 that says it has one frame', async () => {
    const file = Buffer.from(await (await audioFile('mp3', 75)).bytes())
    const at = Math.max(file.indexOf('Xing'), file.indexOf('Info'))
    expect(at).toBeGreaterThan(0)
    file.writeUInt32BE(1, at + 8)
    expect((await secondsOf(new Blob([file]))) ?? 0).toBeGreaterThan(74)
  })

  test('of a WebM that says it lasts a second', async () => {
    const file = Buffer.from(await (await audioFile('webm', 75)).bytes())
    const at = file.indexOf(Buffer.from([0x44, 0x89, 0x88]))
    expect(at).toBeGreaterThan(0)
    file.writeDoubleBE(1_000, at + 3)
    expect((await secondsOf(new Blob([file]))) ?? 0).toBeGreaterThan(74)
  })

  test('of a WAV that says it has more samples than there are bytes', async () => {
    const file = Buffer.from(wavOf({ sampleRate: 8_000, channels: 1 }, [new Uint8Array(16_000)]))
    file.writeUInt32LE(0xfffffff0, 40)
    expect((await secondsOf(new Blob([file]))) ?? 0).toBeLessThan(2)
  })

  test('of a WAV that says its frames are sixty times as large', async () => {
    const file = Buffer.from(wavOf({ sampleRate: 8_000, channels: 1 }, [new Uint8Array(60 * 16_000)]))
    expect(await secondsOf(new Blob([file]))).toBe(60)
    file.writeUInt16LE(120, 32)
    expect(await secondsOf(new Blob([file]))).toBeUndefined()
    // The same in the longer form, after another chunk.
    const note = Buffer.from('LIST\x04\0\0\0note', 'latin1')
    file.writeUInt16LE(0xfffe, 20)
    const later = Buffer.concat([file.subarray(0, 12), note, file.subarray(12)])
    expect(await secondsOf(new Blob([later]))).toBeUndefined()
  })

  test('of a WAV that claims a second for every few bytes', async () => {
    const file = Buffer.from(wavOf({ sampleRate: 8_000, channels: 1 }, [new Uint8Array(16_000)]))
    file.writeUInt32LE(1, 24)
    expect(await secondsOf(new Blob([file]))).toBeUndefined()
  })
})

describe('a file that cannot be read', () => {
  test('has no length, and delays no other file', async () => {
    const impatient = new AudioReader({ limitMs: 300 })
    const heads = {
      mp3: '\xff\xfb\x90\x00',
      id3: 'ID3\x04\x00\x00\x7f\x7f\x7f\x7f',
      ogg: 'OggS\x00\x02',
      flac: 'fLaC\x00\x00\x00\x22',
      webm: '\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm',
      mp4: '\x00\x00\x00\x18ftypM4A ',
      wav: 'RIFF\xff\xff\xff\xffWAVEfmt \xff\xff\xff\x7f',
      aac: '\xff\xf1\x50\x80',
    }
    for (const head of Object.values(heads)) {
      for (const rest of [new Uint8Array(), new Uint8Array(300_000), noise(300_000)]) {
        const file = new Blob([Buffer.from(head, 'latin1'), rest])
        const read = await impatient.read(file, signal)
        expect(read).toBeDefined()
        expect(read?.seconds).toBeUndefined()
      }
    }
    // The workers still read a good file, whatever happened to them. On a busy machine it can take longer than the
    // short wait.
    const good = await audioFile('mp4', 2)
    const seconds = async () => (await impatient.read(good, signal))?.seconds ?? 0
    await waitFor(async () => (await seconds()) > 1.9)
    expect(await seconds()).toBeGreaterThan(1.9)
    impatient.close()
  })

  test('that is cut off or damaged at any place', async () => {
    const impatient = new AudioReader({ limitMs: 300 })
    for (const format of audioFileFormats) {
      const whole = Buffer.from(await (await audioFile(format, 3)).bytes())
      for (let round = 0; round < 6; round++) {
        const cut = whole.subarray(0, random.below(whole.length))
        const broken = Buffer.from(whole)
        for (let fault = 0; fault < 8; fault++) broken[16 + random.below(400)] = random.below(256)
        for (const file of [cut, broken]) {
          const { seconds } = (await impatient.read(new Blob([new Uint8Array(file)]), signal)) ?? {}
          if (seconds !== undefined) expect(seconds).toBeLessThanOrEqual(file.length / 10)
        }
      }
    }
    impatient.close()
  })

  test('that is not audio', async () => {
    for (const text of ['', 'RIFF', 'hello', '%PDF-1.7', '\x89PNG\r\n\x1a\n', '<html>', 'GIF89a']) {
      expect(await reader.read(new Blob([Buffer.from(text, 'latin1')]), signal)).toBeUndefined()
    }
  })
})

test('a read that is canceled while it waits ends before its turn', async () => {
  const slow = new AudioReader({ limitMs: 1_000 })
  const stuck = new Blob([Buffer.from('fLaC\x00\x00\x00\x22', 'latin1'), noise(200_000)])
  const before = Array.from({ length: 4 }, () => slow.read(stuck, signal))
  const leaving = new AbortController()
  const mine = slow.read(await audioFile('mp4', 1), leaving.signal)
  leaving.abort(new Error('gone'))
  expect((await rejection(mine)).message).toContain('gone')
  await Promise.all(before)
  slow.close()
})
