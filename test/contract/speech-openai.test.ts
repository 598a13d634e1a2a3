// POST /v1/audio/speech of OpenAI and of servers that speak its API: the vendor's file unchanged and as it comes, or events made
// of it, paid by the character or by the vendor's own count of tokens before the last byte.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { generateSpeech } from 'ai'
import OpenAI from 'openai'
import type { PriceConfig } from '../../src/config/models/prices'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { readMp3, readWav } from '../support/sounds'
import { endOf, heldEvents, type Spoken, speak } from '../support/speech'
import { eventStream, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const PATH = '/v1/audio/speech'
/** Nano-dollars of a character, a token of text and a token of sound. */
const CHARACTER = 15_000
const TEXT_TOKEN = 600
const SOUND_TOKEN = 12_000
const byCharacter = { per_1m_characters: '15' }
const byToken = { per_1m_input_tokens: '0.6', per_1m_output_audio_tokens: '12' }
const speaker = (upstream: string, upstreamModel: string, price: PriceConfig): ModelConfig => ({
  family: 'openai-speech',
  upstream,
  upstreamModel,
  price,
})

const models: Record<string, ModelConfig> = {
  'tts-1': speaker('openai', 'tts-1', byCharacter),
  'mini-tts': speaker('openai', 'gpt-4o-mini-tts', byToken),
  kokoro: { ...speaker('openai', 'local-kokoro', byCharacter), voices: ['af_heart', 'bm_george'] },
  odd: speaker('odd', 'local-odd', byCharacter),
  'odd-tokens': speaker('odd', 'local-odd', byToken),
  drained: speaker('drained', 'local-odd', byToken),
}

let odd: OddVendor
let gateway: TestGateway

beforeAll(async () => {
  odd = startVendor()
  const upstreams = { odd: odd.upstream, drained: { ...odd.upstream, onAbort: 'drain' as const } }
  gateway = await startTestGateway({ models, upstreams })
})
afterAll(async () => {
  await gateway.close()
  await odd.stop()
})

const sentBody = ({ calls }: Spoken) => JSON.parse(calls.at(-1)?.body ?? '{}')
const sound = (bytes: Uint8Array | string, type = 'audio/mpeg') =>
  new Response(bytes as string, { headers: { 'content-type': type } })
const event = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const delta = (text: string) =>
  event({ type: 'speech.audio.delta', audio: Buffer.from(text).toString('base64') })
const done = (input: number, output: number) =>
  event({
    type: 'speech.audio.done',
    usage: { input_tokens: input, output_tokens: output, total_tokens: input + output },
  })
const eventsIn = (bytes: Buffer) =>
  bytes
    .toString()
    .trimEnd()
    .split('\n\n')
    .map((each) => JSON.parse(each.replace(/^data: /, '')))
const soundIn = (list: { audio?: string }[]) =>
  Buffer.concat(list.map(({ audio = '' }) => Buffer.from(audio, 'base64')))

/** The file that the vendor itself sends for a request. */
async function fromVendor(body: object): Promise<Buffer> {
  const { baseUrls, secrets } = gateway.sandbox
  const response = await fetch(`${baseUrls.openai}/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secrets.openai}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return Buffer.from(await response.arrayBuffer())
}

function expectPaid({ response, isBroken, charges, logRows }: Spoken, amount: number, source: string): void {
  expect({ status: response.status, isBroken }).toEqual({ status: 200, isBroken: false })
  expect(charges).toMatchObject([
    { state: 'settled', amount, usage_source: source, ended_by: 'done', shortfall: 0 },
  ])
  expect(charges[0]?.held).toBeGreaterThanOrEqual(amount)
  expect(logRows).toMatchObject([{ operation: 'speech', status: 200, amount, error_code: null }])
}

async function expectFree(body: Record<string, unknown>, status: number, code: string): Promise<void> {
  const { response, json, charges } = await speak(gateway, body)
  expect({ status: response.status, code: json.error.code }).toEqual({ status, code })
  for (const charge of charges) expect(charge).toMatchObject({ state: 'released', amount: 0 })
}

describe('the file', () => {
  const types = {
    mp3: 'audio/mpeg',
    opus: 'audio/opus',
    aac: 'audio/aac',
    flac: 'audio/flac',
    wav: 'audio/wav',
    pcm: 'audio/pcm',
  }
  test.each(Object.entries(types))('%s is that of the vendor, byte for byte', async (format, type) => {
    const body = { input: 'Hello there', voice: 'nova', response_format: format }
    const expected = await fromVendor({ model: 'tts-1', ...body })
    for (const model of ['tts-1', 'mini-tts', 'kokoro']) {
      const { response, bytes } = await speak(gateway, { model, ...body })
      expect([model, response.status, response.headers.get('content-type')]).toEqual([model, 200, type])
      const own =
        model === 'tts-1' ? expected : await fromVendor({ ...body, model: models[model]?.upstreamModel })
      expect(Buffer.compare(bytes, own)).toBe(0)
    }
  })

  test('is MP3 without a format, and can be played', async () => {
    const { response, bytes } = await speak(gateway, { model: 'tts-1', input: 'Hello there' })
    expect(response.headers.get('content-type')).toBe('audio/mpeg')
    expect((await readMp3(bytes)).sampleRate).toBe(24_000)
    const wav = await speak(gateway, { model: 'mini-tts', response_format: 'wav' })
    expect(readWav(wav.bytes)).toMatchObject({ sampleRate: 24_000, dataBytes: wav.bytes.length - 44 })
  })

  test.each([
    ['one byte', ['a']],
    ['single bytes', ['a', 'b', 'c']],
    ['empty pieces', ['', 'ab', '', 'c', '']],
  ])('of %s comes whole', async (_, pieces) => {
    odd.answer = () =>
      sound(
        new ReadableStream({
          async pull(output) {
            const piece = pieces.shift()
            if (piece === undefined) return output.close()
            await Bun.sleep(5)
            output.enqueue(Buffer.from(piece))
          },
        }) as unknown as string,
        'audio/wav; rate=24000',
      )
    const whole = pieces.join('')
    const { response, bytes } = await speak(gateway, { model: 'odd' })
    expect(bytes.toString()).toBe(whole)
    // The vendor's own statement about its output is decisive.
    expect(response.headers.get('content-type')).toBe('audio/wav; rate=24000')
  })

  test('begins before the vendor has made all of it, and ends when it is paid', async () => {
    let output: ReadableStreamDefaultController<Uint8Array> | undefined
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        output = controller
      },
    })
    odd.answer = () => sound(body as unknown as string)
    output?.enqueue(Buffer.from('first'))
    const response = await gateway.post(PATH, { model: 'odd', input: 'Hello!' })
    const reader = (response.body as ReadableStream<Uint8Array>).getReader()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('firs')
    expect(await gateway.newestCharge()).toMatchObject({ state: 'held', held: 6 * CHARACTER })
    output?.enqueue(Buffer.from('second'))
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('tsecon')
    output?.close()
    expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe('d')
    expect(await gateway.newestCharge()).toMatchObject({ state: 'settled', amount: 6 * CHARACTER })
  })
})

describe('the vendor gets', () => {
  test('the model by its own name, with all that the caller says', async () => {
    const body = {
      input: 'Hi',
      voice: 'af_sky+af_bella',
      speed: 1.5,
      lang_code: 'a',
      instructions: 'Softly.',
    }
    const spoken = await speak(gateway, { model: 'kokoro', ...body, stream_format: 'audio' })
    expect(spoken.calls[0]?.path).toBe('/v1/audio/speech')
    expect(sentBody(spoken)).toEqual({ model: 'local-kokoro', ...body })
  })

  test('for events where tokens are paid, whatever the caller wants', async () => {
    for (const stream_format of ['sse', 'audio', undefined]) {
      const spoken = await speak(gateway, { model: 'mini-tts', voice: 'ash', stream_format })
      expect(sentBody(spoken)).toMatchObject({ model: 'gpt-4o-mini-tts', stream_format: 'sse' })
      const plain = await speak(gateway, { model: 'tts-1', voice: 'ash', stream_format })
      expect(sentBody(plain)).not.toHaveProperty('stream_format')
    }
  })

  test.each([
    [undefined, 'alloy'],
    [null, 'alloy'],
    ['', 'alloy'],
    ['Nova', 'nova'],
    ['Cherry', 'alloy'],
    ['af_heart', 'alloy'],
    ['Kore', 'alloy'],
  ])('the voice %j of OpenAI is %s', async (voice, own) => {
    expect(sentBody(await speak(gateway, { model: 'tts-1', voice })).voice).toBe(own)
  })

  test.each([undefined, 'alloy', 'af_heart', 'Cherry'])(
    'the voice %j of another server stays',
    async (voice) => {
      expect(sentBody(await speak(gateway, { model: 'kokoro', voice })).voice).toBe(voice)
    },
  )
})

describe('the price', () => {
  test.each([
    ['a', 1],
    ['Grüße 😀!', 8],
    ['你好世界', 4],
  ])('%j is %d characters', async (input, characters) => {
    const spoken = await speak(gateway, { model: 'tts-1', input })
    expectPaid(spoken, characters * CHARACTER, 'counted')
    expect(Number(spoken.response.headers.get('x-gateway-cost-usd'))).toBe((characters * CHARACTER) / 1e9)
  })

  test.each(['sse', 'audio'])('of tokens is what the vendor counts, as %s', async (stream_format) => {
    odd.answer = () => eventStream(delta('one') + delta('two') + done(14, 101))
    const spoken = await speak(gateway, { model: 'odd-tokens', stream_format })
    expectPaid(spoken, 14 * TEXT_TOKEN + 101 * SOUND_TOKEN, 'upstream')
    // What it costs is known at its end only.
    expect(spoken.response.headers.get('x-gateway-cost-usd')).toBeNull()
  })

  test.each([
    // Four seconds of samples, and two of MP3.
    ['pcm', 192_000, 80],
    ['wav', 192_000, 80],
    ['mp3', 32_000, 40],
    // 60 characters are four seconds, whatever the bytes.
    ['opus', 32_000, 80],
    // A server that makes WAV by default.
    [undefined, 192_000, 80],
  ])('of tokens that a server does not count is estimated: %s', async (response_format, bytes, tokens) => {
    odd.answer = () => sound(Buffer.alloc(bytes), `audio/${response_format ?? 'wav'}`)
    const spoken = await speak(gateway, { model: 'odd-tokens', input: 'word '.repeat(12), response_format })
    const [charge] = spoken.charges
    const textTokens = (Number(charge?.amount) - tokens * SOUND_TOKEN) / TEXT_TOKEN
    expect(textTokens).toBeWithin(10, 20)
    expectPaid(spoken, Number(charge?.amount), 'estimated')
  })

  test.each(['missing', 'negative', 'string', 'huge'])(
    'with usage that is %s is estimated',
    async (fault) => {
      const input = `[sandbox usage=${fault}]`
      const spoken = await speak(gateway, { model: 'mini-tts', input, response_format: 'pcm' })
      const seconds = spoken.bytes.length / 48_000
      const amount = Number(spoken.charges[0]?.amount)
      expect(amount - Math.ceil(seconds * 20) * SOUND_TOKEN).toBeWithin(TEXT_TOKEN, 30 * TEXT_TOKEN)
      expectPaid(spoken, amount, 'estimated')
    },
  )

  test.each([
    // Ten seconds for pauses, and six letters or two and a half other characters a second.
    ['Hello there!', {}, 245],
    ['你好世界', {}, 232],
    ['Hello there!', { speed: 0.5 }, 290],
    ['Hello there!', { speed: 2 }, 245],
  ])('of %j %j is held by its length', async (input, more, tokens) => {
    const { charges } = await speak(gateway, { model: 'mini-tts', input, ...more })
    const held = Number(charges[0]?.held) - tokens * SOUND_TOKEN
    // The text is held by the bytes of the request.
    expect(held).toBeWithin(40 * TEXT_TOKEN, 120 * TEXT_TOKEN)
  })

  test('is rejected with 402 to an account that cannot pay, without a call', async () => {
    const { secret } = await gateway.makeKey('poor', '0')
    for (const model of ['tts-1', 'mini-tts']) {
      const { response, calls } = await speak(gateway, { model }, { authorization: `Bearer ${secret}` })
      expect([response.status, calls.length]).toEqual([402, 0])
    }
  })
})

describe('events', () => {
  test('have the sound, and in the end what was paid', async () => {
    odd.answer = () => eventStream(`: hello\n\n${delta('one')}${delta('two')}${done(14, 101)}`)
    const { response, bytes } = await speak(gateway, { model: 'odd-tokens', stream_format: 'sse' })
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const list = eventsIn(bytes)
    expect(soundIn(list).toString()).toBe('onetwo')
    expect(list.at(-1)).toEqual({
      type: 'speech.audio.done',
      usage: { input_tokens: 14, output_tokens: 101, total_tokens: 115 },
    })
  })

  test.each(['tts-1', 'kokoro'])('are made from the file of %s, whose server has none', async (model) => {
    const body = { input: 'Hello there', voice: 'nova', response_format: 'wav' }
    const spoken = await speak(gateway, { model, ...body, stream_format: 'sse' })
    expectPaid(spoken, 11 * CHARACTER, 'counted')
    const list = eventsIn(spoken.bytes)
    const file = await fromVendor({ ...body, model: models[model]?.upstreamModel })
    expect(Buffer.compare(soundIn(list), file)).toBe(0)
    expect(list.at(-1)).toMatchObject({ type: 'speech.audio.done', usage: { total_tokens: 0 } })
  })

  test('end with an error where the vendor broke off, and without the last one', async () => {
    odd.answer = () =>
      eventStream(delta('one') + event({ type: 'error', error: { message: 'oh no', code: 'bad' } }))
    const { bytes, isBroken, charges } = await speak(gateway, { model: 'odd-tokens', stream_format: 'sse' })
    const list = eventsIn(bytes)
    expect({ isBroken, types: list.map(({ type }) => type) }).toEqual({
      isBroken: false,
      types: ['speech.audio.delta', undefined],
    })
    expect(list[1].error).toMatchObject({ message: expect.stringContaining('oh no') })
    expect(charges).toMatchObject([{ state: 'settled', ended_by: 'upstream', usage_source: 'estimated' }])
  })
})

describe('a sound that breaks off', () => {
  test('is paid in full by the character', async () => {
    const input = '[sandbox cut_after=2]'.padEnd(60)
    const { response, bytes, isBroken, charges } = await speak(gateway, { model: 'tts-1', input })
    expect({ status: response.status, isBroken }).toEqual({ status: 200, isBroken: true })
    expect(bytes.length).toBeGreaterThan(0)
    expect(charges).toMatchObject([{ state: 'settled', amount: 60 * CHARACTER, ended_by: 'upstream' }])
  })

  test.each(['cut_after=2', 'error_after=2', 'no_done'])(
    'is paid as far as it came by tokens: %s',
    async (fault) => {
      const input = `[sandbox ${fault}]`.padEnd(600)
      const body = { model: 'mini-tts', input, response_format: 'pcm' }
      const { bytes, isBroken, charges } = await speak(gateway, body)
      expect(isBroken).toBe(true)
      expect(charges).toMatchObject([{ state: 'settled', ended_by: 'upstream', usage_source: 'estimated' }])
      const sound = Number(charges[0]?.amount) - Math.ceil((bytes.length / 48_000) * 20) * SOUND_TOKEN
      // The last byte is kept back.
      expect(sound).toBeWithin(TEXT_TOKEN, SOUND_TOKEN + 600 * TEXT_TOKEN)
    },
  )

  test.each([
    ['HTML', () => sound('<html>Hello</html>', 'text/html'), 502, 'upstream_garbage'],
    ['nothing', () => sound(''), 502, 'upstream_garbage'],
    ['JSON without a sound', () => Response.json({}), 502, 'upstream_garbage'],
    ['events without a sound', () => eventStream(done(3, 4)), 502, 'upstream_garbage'],
    [
      'an error with the status 200',
      () => Response.json({ error: { message: 'no', code: 'x1' } }),
      400,
      'x1',
    ],
    [
      'an error event',
      () => eventStream(event({ type: 'error', error: { message: 'no', code: 'x2' } })),
      400,
      'x2',
    ],
    ['status 500', () => new Response('down', { status: 500 }), 502, 'upstream_error'],
    ['status 429', () => new Response('busy', { status: 429 }), 429, 'Throttling.RateQuota'],
  ] as const)('before it began is free: %s', async (_, answer, status, code) => {
    odd.answer = answer
    for (const model of ['odd', 'odd-tokens'])
      for (const stream_format of ['audio', 'sse']) await expectFree({ model, stream_format }, status, code)
  })
})

describe('a caller who disconnects in the middle', () => {
  /** Reads the first piece of audio that continues, and disconnects. */
  async function leave(model: string) {
    const caller = new AbortController()
    const response = await fetch(gateway.url + PATH, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, input: 'Hello!', response_format: 'pcm' }),
      signal: caller.signal,
    })
    await response.body?.getReader().read()
    caller.abort()
    return (await endOf(gateway)).charge
  }
  const heldVendor = (text: string) => {
    const held = heldEvents()
    held.send(text)
    odd.answer = held.response
    return held
  }

  test('pays for the delivered part by tokens, and the vendor is stopped', async () => {
    // Two seconds of samples.
    const held = heldVendor(delta('\0'.repeat(96_000)))
    const charge = await leave('odd-tokens')
    expect(charge).toMatchObject({ state: 'settled', ended_by: 'client', usage_source: 'estimated' })
    expect(Number(charge?.amount) - 40 * SOUND_TOKEN).toBeWithin(0, 10 * TEXT_TOKEN)
    await waitFor(held.isCancelled)
  })

  test('pays what the vendor counts if the upstream is drained', async () => {
    const held = heldVendor(delta('one'))
    const leaving = leave('drained')
    await waitFor(async () => (await gateway.newestCharge())?.state === 'held')
    await Bun.sleep(100)
    held.send(delta('two') + done(14, 101))
    held.close()
    const charge = await leaving
    expect(charge).toMatchObject({ state: 'settled', usage_source: 'upstream' })
    expect(charge?.amount).toBe(14 * TEXT_TOKEN + 101 * SOUND_TOKEN)
  })
})

describe('a wrong request', () => {
  test.each([
    [{ input: '' }, 'input'],
    [{ input: '  ' }, 'input'],
    [{ response_format: 'ogg' }, 'response_format'],
    [{ speed: 5 }, 'speed'],
    [{ voice: 7 }, 'voice'],
    [{ voice: { id: 'voice_1234' } }, 'voice.id'],
    [{ voice: 'voice_1234' }, 'voice'],
    [{ stream_format: 'events' }, 'stream_format'],
  ])('%j is rejected by the name of the field, without a call', async (body, param) => {
    const { response, json, calls, charges } = await speak(gateway, { model: 'tts-1', ...body })
    expect([response.status, json.error.param, calls.length, charges.length]).toEqual([400, param, 0, 0])
  })

  test('of a voice that the vendor lacks is relayed in its words', async () => {
    const { response, json, charges } = await speak(gateway, { model: 'tts-1', voice: 'robot' })
    expect(response.status).toBe(400)
    expect(json.error.message).toContain("Supported values are: 'alloy'")
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })
})

test.each(['audio', 'sse'])(
  'a repeat with the same idempotency key is free and the same, as %s',
  async (stream_format) => {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const body = { model: 'mini-tts', input: 'Again and again.', stream_format }
    const first = await speak(gateway, body, headers)
    const again = await speak(gateway, body, headers)
    expect(again.response.headers.get('idempotent-replayed')).toBe('true')
    expect(again.response.headers.get('content-type')).toBe(first.response.headers.get('content-type'))
    expect(Buffer.compare(again.bytes, first.bytes)).toBe(0)
    expect([again.calls.length, again.charges.length]).toEqual([0, 0])
  },
)

test('voices and models are listed: those that the vendor documents, or that the entry names', async () => {
  const list = async (path: string, ...allowed: string[]) => {
    const { secret } = await gateway.makeKey('alice', '1', { models: allowed })
    const response = await fetch(gateway.url + path, { headers: { authorization: `Bearer ${secret}` } })
    const json = (await response.json()) as Record<string, { id: string }[]>
    return Object.values(json)[0]?.map(({ id }) => id)
  }
  expect(await list('/v1/audio/models', 'tts-1', 'kokoro', 'test-chat')).toEqual(['tts-1', 'kokoro'])
  expect(await list('/v1/audio/voices', 'kokoro')).toEqual(['af_heart', 'bm_george'])
  expect(await list('/v1/audio/voices', 'odd')).toEqual([])
  for (const model of ['tts-1', 'mini-tts']) {
    const voices = (await list('/v1/audio/voices', model)) ?? []
    expect(voices).toHaveLength(model === 'tts-1' ? 9 : 13)
    for (const voice of voices) expect((await speak(gateway, { model, voice })).response.status).toBe(200)
  }
})

describe('official clients', () => {
  test('the OpenAI SDK gets the file, and a stream of it', async () => {
    const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret })
    const input = '[sandbox token_delay_ms=2] '.padEnd(300, 'word ')
    for (const model of ['tts-1', 'mini-tts']) {
      const response = await client.audio.speech
        .create({ model, voice: 'marin', input: 'Hello' })
        .catch((e) => e)
      // The older model does not have this voice.
      if (model === 'tts-1') expect(response).toBeInstanceOf(OpenAI.BadRequestError)
      else expect((await response.arrayBuffer()).byteLength).toBeGreaterThan(0)
      const streamed = await client.audio.speech.create({ model, voice: 'ash', input })
      let pieces = 0
      for await (const _ of streamed.body ?? []) pieces++
      expect(pieces).toBeGreaterThan(3)
    }
  })

  test('the AI SDK makes speech', async () => {
    const provider = createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret })
    for (const model of ['tts-1', 'mini-tts']) {
      const { audio } = await generateSpeech({ model: provider.speech(model), text: 'Hello', voice: 'nova' })
      expect(audio.mediaType).toBe('audio/mpeg')
      expect(audio.uint8Array.length).toBeGreaterThan(0)
    }
  })
})
