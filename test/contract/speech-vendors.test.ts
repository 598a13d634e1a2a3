// POST /v1/audio/speech of vendors with an API of their own: the caller's words in those of the vendor, the vendor's file
// unchanged, its refusals in its own words.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateSpeech } from 'ai'
import OpenAI from 'openai'
import { type Sandbox, startSandbox } from '../../sandbox'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { type Spoken, speak } from '../support/speech'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

/** Nano-dollars of a character. */
const CHARACTER = 80_000
const models: Record<string, ModelConfig> = {
  eleven: elevenlabs('elevenlabs'),
  'own-eleven': elevenlabs('own'),
  'odd-eleven': elevenlabs('odd-eleven'),
}

function elevenlabs(upstream: string): ModelConfig {
  const price = { per_1m_characters: '80' }
  return { family: 'elevenlabs-speech', upstream, upstreamModel: 'eleven_multilingual_v2', price }
}

let odd: OddVendor
let ownSandbox: Sandbox
let gateway: TestGateway

beforeAll(async () => {
  odd = startVendor()
  ownSandbox = startSandbox()
  const { baseUrls, secrets } = ownSandbox
  const oddly = { baseUrl: `${odd.url}/v1`, apiKey: 'none' }
  gateway = await startTestGateway({
    models,
    upstreams: {
      own: {
        kind: 'elevenlabs',
        baseUrl: baseUrls.elevenlabs,
        apiKey: secrets.elevenlabs,
        sharedAccount: false,
      },
      'odd-eleven': { kind: 'elevenlabs', ...oddly },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await odd.stop()
  await ownSandbox.stop()
})

const sentBody = ({ calls }: Spoken) => JSON.parse(calls.at(-1)?.body ?? '{}')

function expectPaid({ response, isBroken, charges, logRows }: Spoken, amount: number, source: string): void {
  expect({ status: response.status, isBroken }).toEqual({ status: 200, isBroken: false })
  expect(charges).toMatchObject([{ state: 'settled', amount, usage_source: source, shortfall: 0 }])
  expect(logRows).toMatchObject([{ operation: 'speech', status: 200, amount, error_code: null }])
}

async function expectFree(body: Record<string, unknown>, status: number, words = ''): Promise<void> {
  const { response, json, charges } = await speak(gateway, body)
  expect({ status: response.status, message: json.error.message }).toEqual({
    status,
    message: expect.stringContaining(words),
  })
  for (const charge of charges) expect(charge).toMatchObject({ state: 'released', amount: 0 })
}

describe('ElevenLabs', () => {
  test.each([
    [undefined, 'mp3_44100_128', 'audio/mpeg'],
    ['mp3', 'mp3_44100_128', 'audio/mpeg'],
    ['opus', 'opus_48000_128', 'audio/opus'],
    ['pcm', 'pcm_24000', 'audio/pcm'],
  ])('makes %s', async (response_format, name, type) => {
    const spoken = await speak(gateway, { model: 'eleven', input: 'Grüße 😀!', response_format })
    expect(spoken.calls[0]?.path).toBe(`/v1/text-to-speech/JBFqnCBsd6RMkjVDRZzb/stream?output_format=${name}`)
    expect(spoken.calls[0]?.headers['xi-api-key']).toBe(gateway.sandbox.secrets.elevenlabs)
    expect(sentBody(spoken)).toEqual({ text: 'Grüße 😀!', model_id: 'eleven_multilingual_v2' })
    expect(spoken.response.headers.get('content-type')).toBe(type)
    expectPaid(spoken, 8 * CHARACTER, 'counted')
    expect(Number(spoken.response.headers.get('x-gateway-cost-usd'))).toBe((8 * CHARACTER) / 1e9)
  })

  test('is sent the speed and its own fields, and nothing that names what its account keeps', async () => {
    const own = { language_code: 'de', seed: 7, voice_settings: { stability: 0.5 } }
    const others = { previous_request_ids: ['a'], pronunciation_dictionary_locators: [], user: 'me' }
    const spoken = await speak(gateway, { model: 'eleven', speed: 1.1, ...own, ...others })
    expect(sentBody(spoken)).toMatchObject({ ...own, voice_settings: { stability: 0.5, speed: 1.1 } })
    expect(Object.keys(sentBody(spoken))).toHaveLength(5)
  })

  test.each([
    [undefined, 'JBFqnCBsd6RMkjVDRZzb'],
    ['alloy', 'JBFqnCBsd6RMkjVDRZzb'],
    [{ id: 'voice_1234' }, 'JBFqnCBsd6RMkjVDRZzb'],
    ['sarah', 'EXAVITQu4vr4xnSDxMaL'],
    ['EXAVITQu4vr4xnSDxMaL', 'EXAVITQu4vr4xnSDxMaL'],
  ])('speaks with the voice %j as %s', async (voice, id) => {
    const { response, calls } = await speak(gateway, { model: 'eleven', voice })
    expect([response.status, calls[0]?.path]).toEqual([200, expect.stringContaining(`/${id}/`)])
  })

  test('speaks with a voice of the account only where the account is not shared', async () => {
    const voice = 'OwnVoiceOfTheSandbox'
    const { response, json, calls } = await speak(gateway, { model: 'eleven', voice })
    expect([response.status, json.error.param, calls.length]).toEqual([400, 'voice', 0])
    const own = await speak(gateway, { model: 'own-eleven', voice })
    expect([own.response.status, own.json?.error]).toEqual([200, undefined])
  })

  test('refuses in its own words, and the caller pays nothing', async () => {
    await expectFree(
      { model: 'eleven', voice: 'robot' },
      400,
      'A voice with the voice_id robot was not found.',
    )
    await expectFree({ model: 'eleven', speed: 2 }, 400, 'Invalid setting for speed received')
    await expectFree(
      { model: 'eleven', input: 'a'.repeat(10_001) },
      400,
      'exceeds the character limit of 10000',
    )
    await expectFree({ model: 'eleven', input: '[sandbox status=429]' }, 429, 'Too many concurrent requests')
    await expectFree({ model: 'eleven', input: '[sandbox quota]' }, 503)
    await expectFree({ model: 'eleven', input: '[sandbox empty]' }, 502, 'without a sound')
    await expectFree({ model: 'eleven', response_format: 'flac' }, 400, 'response_format')
    await expectFree({ model: 'eleven', instructions: 'Softly.' }, 400, 'instructions')
  })

  test('says of an error with the status 200 what it is', async () => {
    odd.answer = () => Response.json({ detail: { status: 'quota_exceeded', message: 'All is spent.' } })
    await expectFree({ model: 'odd-eleven' }, 400, 'All is spent.')
  })

  test('that breaks off is paid in full, and broken', async () => {
    const input = '[sandbox cut_after=2]'.padEnd(60)
    const { isBroken, charges } = await speak(gateway, { model: 'eleven', input })
    expect(isBroken).toBe(true)
    expect(charges).toMatchObject([{ state: 'settled', amount: 60 * CHARACTER, ended_by: 'upstream' }])
  })
})

describe.each(['eleven'])('%s', (model) => {
  test('is refused with 402 to an account that cannot pay, without a call', async () => {
    const { secret } = await gateway.makeKey('poor', '0')
    const { response, calls } = await speak(gateway, { model }, { authorization: `Bearer ${secret}` })
    expect([response.status, calls.length]).toEqual([402, 0])
  })

  test.each(['audio', 'sse'])(
    'answers a repeat with the same key for nothing, as %s',
    async (stream_format) => {
      const headers = { 'idempotency-key': crypto.randomUUID() }
      const body = { model, input: 'Again and again.', stream_format }
      const first = await speak(gateway, body, headers)
      const again = await speak(gateway, body, headers)
      expect(Buffer.compare(again.bytes, first.bytes)).toBe(0)
      expect([again.calls.length, again.charges.length]).toEqual([0, 0])
    },
  )

  test('speaks to the official clients, by every voice that is listed', async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret })
    const { secret } = await gateway.makeKey('alice', '1', { models: [model] })
    const listed = await fetch(`${gateway.url}/v1/audio/voices`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    const { voices } = (await listed.json()) as { voices: { id: string }[] }
    expect(voices.length).toBeGreaterThan(9)
    for (const { id: voice } of voices) {
      const response = await client.audio.speech.create({ model, voice, input: 'Hi' })
      expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(0)
    }
    const provider = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret })
    const { audio } = await generateSpeech({ model: provider.speech(model), text: 'Hello', voice: 'alloy' })
    expect(audio.mediaType).toBe('audio/mpeg')
  })
})
