// POST /v1/audio/speech over servers that operators run themselves: LocalAI, Speaches and Kokoro-FastAPI. Callers get one contract
// from all of them: each format with the media type of its bytes, errors with the reason, and a price per character.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import OpenAI from 'openai'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { type Spoken, speak } from '../support/speech'
import { type SpeechServerName, soundOf, speechServers } from '../support/vendors/speech-servers'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(60_000)

/** Nano-dollars of a character. */
const CHARACTER = 1_000
const INPUT = 'Hello there!'
const FORMATS = ['mp3', 'opus', 'aac', 'flac', 'wav', 'pcm']

interface Expected {
  /** Media types of formats that differ from the usual ones. */
  types: Record<string, string>
  /** The format that is made in place of another. */
  made: Record<string, string>
  /** The format without `response_format`. */
  usual: string
  /** Status and words for a model that the server lacks: a 404 is the operator's fault, whatever its words. */
  missing: [status: number, words: string]
  broken: string
}

const expected: Record<SpeechServerName, Expected> = {
  LocalAI: {
    types: { opus: 'audio/ogg', pcm: 'audio/wav' },
    made: { pcm: 'wav' },
    usual: 'wav',
    missing: [502, 'does not have this model'],
    broken: 'failed to load the voice',
  },
  Speaches: {
    types: {},
    made: {},
    usual: 'mp3',
    missing: [502, 'does not have this model'],
    broken: 'Internal Server Error',
  },
  'Kokoro-FastAPI': {
    types: {},
    made: {},
    usual: 'mp3',
    missing: [400, 'Unsupported model: missing'],
    broken: 'CUDA error: out of memory',
  },
}
const names = Object.keys(speechServers) as SpeechServerName[]
const types: Record<string, string> = { mp3: 'audio/mpeg' }

describe.each(names)('%s', (name) => {
  const { types: own, made, usual, missing, broken } = expected[name]
  let server: OddVendor
  let gateway: TestGateway
  /** The bodies that reached the server. */
  const bodies: Json[] = []

  beforeAll(async () => {
    server = startVendor({
      async answer(request) {
        const body = (await request.json()) as Json
        bodies.push(body)
        return speechServers[name](body)
      },
    })
    const speaker = (upstreamModel: string): ModelConfig => ({
      family: 'openai-speech',
      upstream: 'own',
      upstreamModel,
      price: { per_1m_characters: '1' },
    })
    gateway = await startTestGateway({
      upstreams: { own: server.upstream },
      models: {
        voice: { ...speaker('kokoro'), voices: ['af_heart', 'am_michael'] },
        missing: speaker('missing'),
        broken: speaker('broken'),
      },
    })
  })
  afterAll(async () => {
    await gateway.close()
    await server.stop()
  })

  const say = (body: Json = {}) =>
    speak(gateway, { model: 'voice', input: INPUT, voice: 'af_heart', ...body })

  function expectPaid({ response, isBroken, charges }: Spoken): void {
    expect({ status: response.status, isBroken }).toEqual({ status: 200, isBroken: false })
    const amount = INPUT.length * CHARACTER
    expect(charges).toMatchObject([{ state: 'settled', held: amount, amount, usage_source: 'counted' }])
    expect(response.headers.get('x-gateway-cost-usd')).toBe('0.000012')
  }

  test.each(FORMATS)('makes %s, with the media type of its bytes', async (format) => {
    const spoken = await say({ response_format: format })
    expectPaid(spoken)
    expect(spoken.bytes.toString()).toBe(soundOf(made[format] ?? format, INPUT))
    const type = own[format] ?? types[format] ?? `audio/${format}`
    expect(spoken.response.headers.get('content-type')).toBe(type)
    expect(spoken.response.headers.has('content-disposition')).toBe(false)
  })

  test.each([{}, { response_format: null, speed: null, instructions: null, stream_format: null }])(
    'makes its usual format if none is named, and says which: %j',
    async (body) => {
      const spoken = await say(body)
      expectPaid(spoken)
      expect(spoken.response.headers.get('content-type')).toBe(types[usual] ?? `audio/${usual}`)
      expect(spoken.bytes.toString()).toBe(soundOf(usual, INPUT))
      // Null means an absent field, which strict servers do not know.
      expect(bodies.at(-1)).toEqual({ model: 'kokoro', input: INPUT, voice: 'af_heart' })
    },
  )

  test('gets its own fields unchanged', async () => {
    const fields = { lang_code: 'a', language: 'en', sample_rate: 16_000, volume_multiplier: 2 }
    expectPaid(await say({ ...fields, voice: 'af_heart+am_michael', speed: 1.5 }))
    expect(bodies.at(-1)).toMatchObject({ ...fields, voice: 'af_heart+am_michael', speed: 1.5 })
  })

  test('sends the file for events, which the gateway makes with the price of the characters', async () => {
    const spoken = await say({ stream_format: 'sse', response_format: 'flac' })
    expectPaid(spoken)
    expect(bodies.at(-1)).not.toHaveProperty('stream_format')
    const events: Json[] = spoken.bytes
      .toString()
      .trimEnd()
      .split('\n\n')
      .map((event) => JSON.parse(event.replace('data: ', '')))
    const sound = events.map(({ audio = '' }) => Buffer.from(audio, 'base64').toString()).join('')
    expect(sound).toBe(soundOf('flac', INPUT))
    expect(events.at(-1)).toMatchObject({ type: 'speech.audio.done', usage: { total_tokens: 0 } })
  })

  test('without the model: the caller gets the reason, and pays nothing', async () => {
    const { response, json, charges } = await say({ model: 'missing' })
    expect({ status: response.status, message: json.error.message }).toEqual({
      status: missing[0],
      message: expect.stringContaining(missing[1]),
    })
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })

  test('that fails: the caller gets 502 with the reason, and pays nothing', async () => {
    const { response, json, charges } = await say({ model: 'broken' })
    expect({ status: response.status, code: json.error.code, message: json.error.message }).toEqual({
      status: 502,
      code: 'upstream_error',
      message: expect.stringContaining(broken),
    })
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })

  test('speaks to the official client, and its voices are listed', async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret })
    const response = await client.audio.speech.create({ model: 'voice', voice: 'af_heart', input: INPUT })
    expect(await response.text()).toBe(soundOf(usual, INPUT))
    const { secret } = await gateway.makeKey('alice', '1', { models: ['voice'] })
    const listed = await fetch(`${gateway.url}/v1/audio/voices`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    const { voices } = (await listed.json()) as Json
    expect(voices.map(({ id }: Json) => id)).toEqual(['af_heart', 'am_michael'])
  })

  const refusals: Partial<Record<SpeechServerName, [body: Json, words: string][]>> = {
    Speaches: [
      [{ voice: null }, 'body.voice: Field required'],
      [{ speed: 4 }, 'Speed must be between 0.5 and 2.0'],
    ],
    'Kokoro-FastAPI': [[{ voice: 'alloy' }, "Voice 'alloy' not found. Available voices: af_heart"]],
  }
  for (const [body, words] of refusals[name] ?? [])
    test(`refuses ${JSON.stringify(body)} in its own words, and the caller pays nothing`, async () => {
      const { response, json, charges } = await say(body)
      expect({ status: response.status, message: json.error.message }).toEqual({
        status: 400,
        message: expect.stringContaining(words),
      })
      expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
    })

  if (name === 'LocalAI')
    test('streams WAV for `stream`, whatever the format', async () => {
      const spoken = await say({ stream: true, voice: null })
      expectPaid(spoken)
      expect(spoken.response.headers.get('content-type')).toBe('audio/wav')
      expect(spoken.bytes.toString()).toBe(soundOf('wav', INPUT))
      expect(bodies.at(-1)).toMatchObject({ stream: true })
    })
})
