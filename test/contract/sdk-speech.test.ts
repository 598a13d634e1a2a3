// The official OpenAI SDK speaks through the compiled executable, in which the encoder and its code are a part of the file.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import OpenAI from 'openai'
import { type Installation, install, type Running, stopWell } from '../support/processes/executable'
import { rejection } from '../support/rejection'
import { pitchOf, readMp3, readWav } from '../support/sounds'
import { speechModels } from '../support/speech'

setDefaultTimeout(180_000)

const { 'qnx3-tts-flash': flash, 'qnx3-tts-instruct-flash': instruct } = speechModels
const SAMPLES_PER_CHARACTER = 1_440
/** Samples that an encoder may add: its delay, and the rest of its last frame. */
const ADDED_SAMPLES = 1_105 + 2 * 576

let installation: Installation
let server: Running
let client: OpenAI

beforeAll(async () => {
  const models = { 'qnx3-tts-flash': { ...flash }, 'qnx3-tts-instruct-flash': { ...instruct } }
  installation = await install({ models })
  const apiKey = await installation.makeKey('alice', '100')
  server = await installation.serve()
  client = new OpenAI({ baseURL: `${server.url}/v1`, apiKey })
})

afterAll(() => stopWell(installation, server))

const vendorCalls = () => installation.sandbox.calls.length

describe('speech', () => {
  test('as MP3, with a voice that only OpenAI has', async () => {
    const input = 'The executable speaks.'
    const response = await client.audio.speech.create({ model: 'qnx3-tts-flash', voice: 'alloy', input })
    expect(response.headers.get('content-type')).toBe('audio/mpeg')
    expect(response.headers.get('x-gateway-cost-usd')).toBe('0.000022')
    const heard = await readMp3(new Uint8Array(await response.arrayBuffer()))
    expect(heard.samples.length - input.length * SAMPLES_PER_CHARACTER).toBeWithin(0, ADDED_SAMPLES)
    expect(Math.abs(pitchOf(heard) - 440)).toBeLessThan(4)
  })

  test('as a stream of MP3', async () => {
    const input = '[sandbox token_delay_ms=5] '.padEnd(200, 'word ')
    const response = await client.audio.speech.create({ model: 'qnx3-tts-flash', voice: 'nova', input })
    const pieces: Uint8Array[] = []
    for await (const piece of response.body ?? []) pieces.push(piece as Uint8Array)
    expect(pieces.length).toBeGreaterThan(1)
    const heard = await readMp3(Buffer.concat(pieces))
    expect(heard.samples.length - 200 * SAMPLES_PER_CHARACTER).toBeWithin(0, ADDED_SAMPLES)
  })

  test('as WAV', async () => {
    const response = await client.audio.speech.create({
      model: 'qnx3-tts-flash',
      voice: 'Serena',
      input: 'Hello',
      response_format: 'wav',
      speed: 2,
    })
    const bytes = new Uint8Array(await response.arrayBuffer())
    expect(readWav(bytes)).toMatchObject({ dataBytes: bytes.length - 44, sampleRate: 24_000, channels: 1 })
  })

  test('by instructions', async () => {
    const request = {
      model: 'qnx3-tts-instruct-flash',
      voice: 'ash',
      input: 'Hello',
      instructions: 'Gently.',
    }
    const response = await client.audio.speech.create(request)
    expect(response.headers.get('content-type')).toBe('audio/wav')
    expect(JSON.parse(installation.sandbox.calls.at(-1)?.body ?? '').input.instructions).toBe('Gently.')
  })

  test('by many at once, each whole', async () => {
    const request = { model: 'qnx3-tts-flash', voice: 'alloy', input: 'All together now.' }
    const speak = async () => (await client.audio.speech.create(request)).arrayBuffer()
    const alone = Buffer.from(await speak())
    for (const bytes of await Promise.all(Array.from({ length: 30 }, speak))) {
      expect(Buffer.compare(Buffer.from(bytes), alone)).toBe(0)
    }
  })
})

describe('what goes wrong', () => {
  test('a voice that the vendor does not have is an error with its words, asked for once', async () => {
    const calls = vendorCalls()
    const request = { model: 'qnx3-tts-flash', voice: 'Cherry2', input: 'Hello' }
    const error = await client.audio.speech.create(request).catch((error) => error)
    expect(error).toBeInstanceOf(OpenAI.BadRequestError)
    expect(error).toMatchObject({ status: 400, code: 'endpoint_model_mismatch' })
    expect(error.message).toContain("The requested voice 'Cherry2' is not supported.")
    expect(vendorCalls() - calls).toBe(1)
  })

  test('an empty text, and a form that no model has, are errors that name the field', async () => {
    const calls = vendorCalls()
    const request = { model: 'qnx3-tts-flash', voice: 'alloy', input: 'Hello' }
    const wrong = [
      { ...request, input: '' },
      { ...request, response_format: 'flac' as const },
      { ...request, model: 'qnx3-tts-instruct-flash', response_format: 'aac' as const },
    ]
    const params: unknown[] = []
    for (const body of wrong) {
      const error = await client.audio.speech.create(body).catch((error) => error)
      expect(error).toBeInstanceOf(OpenAI.BadRequestError)
      params.push(error.param)
    }
    expect(params).toEqual(['input', 'response_format', 'response_format'])
    expect(vendorCalls()).toBe(calls)
  })

  test('a sound that breaks off is not a sound', async () => {
    const input = '[sandbox cut_after=4]'.padEnd(100)
    const response = await client.audio.speech.create({ model: 'qnx3-tts-flash', voice: 'alloy', input })
    await rejection(response.arrayBuffer())
  })

  test('a vendor that is busy once is asked again by the SDK', async () => {
    const calls = vendorCalls()
    const input = '[sandbox status=429 times=1] Hello'
    const response = await client.audio.speech.create({ model: 'qnx3-tts-flash', voice: 'alloy', input })
    expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(0)
    expect(vendorCalls() - calls).toBe(2)
  })
})
