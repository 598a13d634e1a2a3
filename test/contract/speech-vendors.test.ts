// POST /v1/audio/speech of vendors with an API of their own: the caller's words in those of the vendor, the vendor's file
// unchanged, its refusals in its own words.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateSpeech } from 'ai'
import OpenAI from 'openai'
import { type Sandbox, startSandbox } from '../../sandbox'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { readWav } from '../support/sounds'
import { type Spoken, speak } from '../support/speech'
import { eventStream, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

/** Nano-dollars of a character. */
const CHARACTER = 80_000
const models: Record<string, ModelConfig> = {
  eleven: elevenlabs('elevenlabs'),
  'own-eleven': elevenlabs('own'),
  'odd-eleven': elevenlabs('odd-eleven'),
  minimax: minimax('minimax'),
  'own-minimax': minimax('own-minimax'),
  'odd-minimax': minimax('odd-minimax'),
}

function elevenlabs(upstream: string): ModelConfig {
  const price = { per_1m_characters: '80' }
  return { family: 'elevenlabs-speech', upstream, upstreamModel: 'eleven_multilingual_v2', price }
}

function minimax(upstream: string): ModelConfig {
  const price = { per_1m_characters: '80' }
  return { family: 'minimax-speech', upstream, upstreamModel: 'speech-2.8-hd', price }
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
      'own-minimax': {
        kind: 'minimax',
        baseUrl: baseUrls.minimax,
        apiKey: secrets.minimax,
        sharedAccount: false,
      },
      'odd-minimax': { kind: 'minimax', ...oddly },
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

  test('rejects in its own words, and the caller pays nothing', async () => {
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

  test('recognizes an error with the status 200', async () => {
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

describe('MiniMax', () => {
  const sound = (text: string, status = 1) => ({ audio: Buffer.from(text).toString('hex'), status })
  const good = { status_code: 0, status_msg: 'success' }
  const stream = (...list: object[]) =>
    eventStream(list.map((value) => `data: ${JSON.stringify({ base_resp: good, ...value })}\n\n`).join(''))

  test.each([
    [undefined, 'audio/mpeg', { format: 'mp3' }],
    ['flac', 'audio/flac', { format: 'flac' }],
    ['pcm', 'audio/pcm', { format: 'pcm', sample_rate: 24_000, channel: 1 }],
  ])('makes %s of events', async (response_format, type, audio_setting) => {
    const spoken = await speak(gateway, { model: 'minimax', response_format })
    expect(spoken.calls[0]?.path).toBe('/v1/t2a_v2')
    expect(sentBody(spoken)).toEqual({
      model: 'speech-2.8-hd',
      text: 'Hello!',
      stream: true,
      stream_options: { exclude_aggregated_audio: true },
      voice_setting: { voice_id: 'English_expressive_narrator' },
      audio_setting,
    })
    expect(spoken.response.headers.get('content-type')).toBe(type)
    expectPaid(spoken, 6 * CHARACTER, 'upstream')
    expect(spoken.response.headers.get('x-gateway-cost-usd')).toBeNull()
  })

  test('makes WAV as a whole, the sound of the vendor byte for byte', async () => {
    const spoken = await speak(gateway, { model: 'minimax', response_format: 'wav' })
    expect(sentBody(spoken)).toMatchObject({ stream: false, audio_setting: { format: 'wav' } })
    expect(readWav(spoken.bytes)).toMatchObject({ dataBytes: spoken.bytes.length - 44 })
    odd.answer = () => Response.json({ data: sound('abc', 2), base_resp: good })
    expect((await speak(gateway, { model: 'odd-minimax', response_format: 'wav' })).bytes.toString()).toBe(
      'abc',
    )
  })

  test('does not repeat a sound that the last event has again, and begins with one that only that has', async () => {
    odd.answer = () => stream({ data: sound('one') }, { data: sound('two') }, { data: sound('onetwo', 2) })
    expect((await speak(gateway, { model: 'odd-minimax' })).bytes.toString()).toBe('onetwo')
    odd.answer = () => stream({ data: sound('all', 2) })
    expect((await speak(gateway, { model: 'odd-minimax' })).bytes.toString()).toBe('all')
  })

  test.each([
    ['Hello', 5, 5],
    ['你好!', 5, 5],
    // Held for twice as much as is billed.
    ['Grüße', 5, 7],
  ])('bills %j as the vendor counts it', async (input, billed, held) => {
    const spoken = await speak(gateway, { model: 'minimax', input })
    expectPaid(spoken, billed * CHARACTER, 'upstream')
    expect(spoken.charges[0]?.held).toBe(held * CHARACTER)
  })

  test.each(['missing', 'negative', 'string', 'huge'])(
    'bills the caller’s own characters with usage that is %s',
    async (fault) => {
      const input = `[sandbox usage=${fault}]你`
      const spoken = await speak(gateway, { model: 'minimax', input })
      const source = fault === 'missing' ? 'counted' : 'estimated'
      expectPaid(spoken, [...input].length * CHARACTER, source)
    },
  )

  test('is sent the speed and its own fields', async () => {
    const own = { language_boost: 'German', pronunciation_dict: { tone: ['a/b'] } }
    const body = { ...own, speed: 1.5, voice: 'FEMALE-yujie', voice_setting: { pitch: 2, voice_id: 'x' } }
    const spoken = await speak(gateway, { model: 'minimax', ...body, subtitle_enable: true })
    expect(sentBody(spoken)).toMatchObject({
      ...own,
      voice_setting: { voice_id: 'female-yujie', speed: 1.5, pitch: 2 },
    })
    expect(sentBody(spoken)).not.toHaveProperty('subtitle_enable')
  })

  test('speaks with a voice of the account only where the account is not shared', async () => {
    const voice = 'MyVoice001'
    const { response, json, calls } = await speak(gateway, { model: 'minimax', voice })
    expect([response.status, json.error.param, calls.length]).toEqual([400, 'voice', 0])
    const own = await speak(gateway, { model: 'own-minimax', voice })
    expect([own.response.status, own.json?.error]).toEqual([200, undefined])
  })

  test('rejects in its own words, and the caller pays nothing', async () => {
    await expectFree({ model: 'minimax', speed: 3 }, 400, 'invalid params, voice_setting.speed')
    await expectFree({ model: 'minimax', input: 'a'.repeat(10_001) }, 400, 'text length should be')
    await expectFree({ model: 'minimax', input: '[sandbox status=429]' }, 429, 'rate limit exceeded(RPM)')
    await expectFree({ model: 'minimax', input: '[sandbox quota]' }, 503)
    await expectFree({ model: 'minimax', input: '[sandbox empty]' }, 502, 'without a sound')
    await expectFree({ model: 'minimax', response_format: 'opus' }, 400, 'response_format')
    await expectFree({ model: 'minimax', instructions: 'Softly.' }, 400, 'instructions')
  })

  test.each([
    [1002, 429],
    [1004, 503],
    [1008, 503],
    [1026, 400],
    [1033, 502],
    [2013, 400],
    [2045, 429],
    [2049, 503],
  ])('recognizes the code %d in a successful answer', async (status_code, status) => {
    odd.answer = () => Response.json({ data: null, base_resp: { status_code, status_msg: 'odd' } })
    await expectFree({ model: 'odd-minimax' }, status)
    odd.answer = () => stream({ data: null, base_resp: { status_code, status_msg: 'odd' } })
    await expectFree({ model: 'odd-minimax' }, status)
  })

  test.each(['cut_after=2', 'error_after=2', 'no_done'])(
    'that breaks off is paid in full: %s',
    async (fault) => {
      const input = `[sandbox ${fault}]`.padEnd(60)
      const { isBroken, charges } = await speak(gateway, { model: 'minimax', input })
      expect(isBroken).toBe(true)
      expect(charges).toMatchObject([{ state: 'settled', amount: 60 * CHARACTER, ended_by: 'upstream' }])
    },
  )
})

describe.each(['eleven', 'minimax'])('%s', (model) => {
  test('is rejected with 402 to an account that cannot pay, without a call', async () => {
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
