// POST /v1/audio/transcriptions and /v1/audio/translations, with the official client and without: JSON, texts, subtitles and
// events, billed by the second or by tokens, whatever the file's header and the vendor say. On both databases.

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import OpenAI, { toFile } from 'openai'
import catalogue from '../../gateway.config'
import { picture } from '../../sandbox/pictures'
import type { ModelConfig } from '../../src/config/schema'
import { wavOf } from '../../src/lib/file-formats/wav'
import { audioFile, audioFileFormats, recordedWebm } from '../support/audio-files'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { eventStream, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

/** Nano-dollars per second at 0.006 USD per minute. */
const SECOND = 100_000
const listed = catalogue.models as Record<string, ModelConfig>
const byMinute = { family: 'openai-transcriptions', price: { per_audio_minute: '0.006' } }
const byTokens = {
  family: 'openai-transcriptions',
  price: { per_1m_input_tokens: '1', per_1m_input_audio_tokens: '6', per_1m_output_tokens: '10' },
}

for (const database of databaseKinds) {
  describe(`on ${database}`, () => {
    let gateway: TestGateway
    let odd: OddVendor
    let client: OpenAI
    let wav: File

    beforeAll(async () => {
      odd = startVendor()
      gateway = await startTestGateway({
        database,
        balance: '100',
        upstreams: { odd: odd.upstream },
        models: {
          'whisper-1': listed['whisper-1'] as ModelConfig,
          'pgt-transcribe': listed['pgt-transcribe'] as ModelConfig,
          'pgt-4o-transcribe': listed['pgt-4o-transcribe'] as ModelConfig,
          'pgt-4o-transcribe-diarize': listed['pgt-4o-transcribe-diarize'] as ModelConfig,
          'odd-minutes': {
            ...byMinute,
            family: ['openai-transcriptions', 'openai-translations'],
            upstream: 'odd',
          },
          'odd-tokens': { ...byTokens, upstream: 'odd' },
        },
      })
      client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })
      const samples = new Uint8Array(8_000 * 2 * 7)
      wav = new File([new Uint8Array(wavOf({ sampleRate: 8_000, channels: 1 }, [samples]))], 'seven.wav')
    })
    afterAll(async () => {
      await gateway.close()
      await odd.stop()
    })
    beforeEach(() => {
      odd.answer = () => Response.json({ text: 'Seven seconds.' })
    })

    async function lastCharge(): Promise<Record<string, unknown>> {
      const { db } = gateway.server.world
      const [charge] = await db.query({
        sql: 'select * from charges order by created_at desc, id desc limit 1',
      })
      return charge as Record<string, unknown>
    }

    async function post(path: string, fields: [name: string, value: string | File][], key = gateway.secret) {
      const form = new FormData()
      for (const [name, value] of fields) form.append(name, value)
      const headers = { authorization: `Bearer ${key}` }
      return fetch(`${gateway.url}${path}`, { method: 'POST', headers, body: form })
    }

    const transcribe = (fields: [string, string | File][], key?: string) =>
      post('/v1/audio/transcriptions', fields, key)

    test('the official client gets JSON and is charged by the second', async () => {
      const reply = await client.audio.transcriptions.create({
        model: 'whisper-1',
        file: wav,
        language: 'en',
        prompt: 'Numbers',
        temperature: 0.2,
      })
      expect(reply.text).toContain('seven.wav')
      expect(reply.usage).toEqual({ type: 'duration', seconds: 7 })
      expect(await lastCharge()).toMatchObject({
        state: 'settled',
        operation: 'transcription',
        amount: 7 * SECOND,
        held: 7 * SECOND,
        usage_source: 'upstream',
      })
    })

    test.each(['text', 'srt', 'vtt'] as const)(
      '%s is returned unchanged and billed by the length of the file',
      async (format) => {
        const reply = await client.audio.transcriptions.create({
          model: 'whisper-1',
          file: wav,
          response_format: format,
        })
        expect(reply).toContain('seven.wav')
        if (format === 'vtt') expect(reply).toStartWith('WEBVTT\n\n00:00:00.000 --> ')
        if (format === 'srt') expect(reply).toStartWith('1\n00:00:00,000 --> ')
        expect(await lastCharge()).toMatchObject({
          amount: 7 * SECOND,
          held: 7 * SECOND,
          usage_source: 'counted',
        })
        const raw = await transcribe([
          ['model', 'whisper-1'],
          ['file', wav],
          ['response_format', format],
        ])
        const types = { text: 'text/plain', srt: 'application/x-subrip', vtt: 'text/vtt' }
        expect(raw.headers.get('content-type')).toBe(`${types[format]}; charset=utf-8`)
        expect(raw.headers.get('x-gateway-cost-usd')).toBe('0.0007')
        expect(await raw.text()).toBe(reply)
      },
    )

    test('verbose JSON with lists, which are sent to the vendor as lists', async () => {
      const reply = await client.audio.transcriptions.create({
        model: 'whisper-1',
        file: wav,
        response_format: 'verbose_json',
        timestamp_granularities: ['word', 'segment'],
      })
      expect(reply.duration).toBeCloseTo(7, 1)
      expect(reply.segments?.length).toBeGreaterThan(0)
      const form = gateway.sandbox.calls
        .at(-1)
        ?.form?.map(([name, value]) => [name, value instanceof File ? value.name : value])
      expect(form).toEqual([
        ['model', 'whisper-1'],
        ['response_format', 'verbose_json'],
        ['timestamp_granularities[]', 'word'],
        ['timestamp_granularities[]', 'segment'],
        ['file', 'seven.wav'],
      ])
    })

    test('a stream of the official client, billed by tokens', async () => {
      const stream = await client.audio.transcriptions.create({
        model: 'pgt-4o-transcribe',
        file: wav,
        stream: true,
        include: ['logprobs'],
        chunking_strategy: { type: 'server_vad', threshold: 0.5 },
      })
      let text = ''
      let done: OpenAI.Audio.TranscriptionTextDoneEvent | undefined
      for await (const event of stream) {
        if (event.type === 'transcript.text.delta') text += event.delta
        if (event.type === 'transcript.text.done') done = event
      }
      expect(done?.text).toBe(text)
      const { input_tokens: input = 0, output_tokens: output = 0 } = done?.usage ?? {}
      expect(input).toBe(70)
      const charge = await lastCharge()
      expect(charge).toMatchObject({
        state: 'settled',
        usage_source: 'upstream',
        amount: input * 2_500 + output * 10_000,
      })
      expect(Number(charge.held)).toBeGreaterThanOrEqual(Number(charge.amount))
    })

    test('a stream priced by the minute, speakers, and a model without streaming', async () => {
      const stream = await client.audio.transcriptions.create({
        model: 'pgt-transcribe',
        file: wav,
        stream: true,
      })
      for await (const _ of stream);
      expect(await lastCharge()).toMatchObject({ state: 'settled', amount: 7 * 75_000 })
      const spoken = await client.audio.transcriptions.create({
        model: 'pgt-4o-transcribe-diarize',
        file: wav,
        response_format: 'diarized_json',
      })
      expect(spoken).toHaveProperty('segments')
      const whole = await transcribe([
        ['model', 'whisper-1'],
        ['stream', 'true'],
        ['file', wav],
      ])
      expect(await whole.json()).toHaveProperty('text')
    })

    test('a translation, which only some models support', async () => {
      const reply = await client.audio.translations.create({ model: 'whisper-1', file: wav })
      expect(reply.text).toContain('seven.wav')
      expect(await lastCharge()).toMatchObject({ operation: 'translation', amount: 7 * SECOND })
      const refused = await client.audio.translations
        .create({ model: 'pgt-4o-transcribe', file: wav })
        .catch((error) => error)
      expect(refused).toMatchObject({ status: 400, code: 'endpoint_model_mismatch' })
    })

    for (const format of audioFileFormats) {
      test(`${format} is held and charged by its length, whatever its file name`, async () => {
        const file = await toFile(await audioFile(format, 12), 'noise', { type: 'application/octet-stream' })
        const response = await transcribe([
          ['response_format', 'text'],
          ['file', file],
          ['model', 'whisper-1'],
        ])
        expect(response.status).toBe(200)
        const charge = await lastCharge()
        expect([12 * SECOND, 13 * SECOND]).toContain(Number(charge.amount))
        expect(charge.held).toBe(charge.amount)
        const sent = gateway.sandbox.calls.at(-1)?.form?.find(([name]) => name === 'file')?.[1] as File
        expect(sent.name).toBe(`noise.${format === 'mp4' ? 'm4a' : format}`)
      })
    }

    test('a browser’s recording is charged by its length', async () => {
      await transcribe([
        ['model', 'odd-minutes'],
        ['file', new File([await recordedWebm(12)], 'a.webm')],
      ])
      expect([12 * SECOND, 13 * SECOND]).toContain(Number((await lastCharge()).amount))
    })

    describe('money', () => {
      test.each([
        ['seconds', { usage: { type: 'duration', seconds: 6.2 } }, 7 * SECOND, 'upstream'],
        ['only a duration', { duration: 4.2 }, 5 * SECOND, 'upstream'],
        ['nothing', {}, 7 * SECOND, 'counted'],
        [
          'tokens with a price per minute',
          { usage: { type: 'tokens', input_tokens: 9, output_tokens: 9 } },
          7 * SECOND,
          'counted',
        ],
        ['an impossible duration', { usage: { type: 'duration', seconds: 1e9 } }, 7 * SECOND, 'estimated'],
        ['a negative duration', { usage: { type: 'duration', seconds: -1 } }, 7 * SECOND, 'estimated'],
      ])('a vendor that reports %s', async (_, more, amount, source) => {
        odd.answer = () => Response.json({ text: 'Seven seconds.', ...more })
        await transcribe([
          ['model', 'odd-minutes'],
          ['file', wav],
        ])
        expect(await lastCharge()).toMatchObject({ amount, usage_source: source })
      })

      test('a file longer than its header says is charged by the length that the vendor reports', async () => {
        odd.answer = () => Response.json({ text: 'An hour.', usage: { type: 'duration', seconds: 3_600 } })
        await transcribe([
          ['model', 'odd-minutes'],
          ['file', wav],
        ])
        expect(await lastCharge()).toMatchObject({
          amount: 3_600 * SECOND,
          // The rest was held before the text was delivered.
          held: 3_600 * SECOND,
          usage_source: 'upstream',
        })
        // Mistral's form of usage.
        odd.answer = () => Response.json({ text: 'Nine seconds.', usage: { prompt_audio_seconds: 9 } })
        await transcribe([
          ['model', 'odd-minutes'],
          ['file', wav],
        ])
        expect(await lastCharge()).toMatchObject({ amount: 9 * SECOND, usage_source: 'upstream' })
        odd.answer = () => new Response('1\n00:00:00,000 --> 00:10:00,500\nTen minutes.\n\n')
        await transcribe([
          ['model', 'odd-minutes'],
          ['file', wav],
          ['response_format', 'srt'],
        ])
        expect(await lastCharge()).toMatchObject({ amount: 601 * SECOND })
        odd.answer = () => new Response('A very long speech. '.repeat(300))
        await transcribe([
          ['model', 'odd-minutes'],
          ['file', wav],
          ['response_format', 'text'],
        ])
        expect(await lastCharge()).toMatchObject({ amount: 200 * SECOND })
      })

      test('with a price per token, text is counted and audio is estimated from its length', async () => {
        odd.answer = () => new Response('Seven seconds.')
        await transcribe([
          ['model', 'odd-tokens'],
          ['file', wav],
          ['response_format', 'text'],
        ])
        const charge = await lastCharge()
        expect(charge).toMatchObject({ state: 'settled', usage_source: 'estimated' })
        // 117 tokens of audio, and three or four of text; those of the form are a few.
        expect(Number(charge.amount)).toBeWithin(117 * 6_000 + 30_000, 117 * 6_000 + 100_000)
        expect(Number(charge.held)).toBeGreaterThan(Number(charge.amount))
      })

      test.each([
        ['JSON', 'json', () => Response.json({ text: ' ' })],
        ['a text', 'text', () => new Response('\n')],
        ['subtitles', 'vtt', () => new Response('WEBVTT\n\n')],
      ])('silence costs nothing: %s', async (_, format, answer) => {
        odd.answer = answer
        const response = await transcribe([
          ['model', 'odd-minutes'],
          ['file', wav],
          ['response_format', format],
        ])
        expect(response.status).toBe(200)
        expect(await lastCharge()).toMatchObject({ state: 'released', amount: 0 })
      })

      test('an error instead of a text is an error and free', async () => {
        odd.answer = () => Response.json({ error: { message: 'The model is asleep.' } })
        const response = await transcribe([
          ['model', 'odd-minutes'],
          ['file', wav],
          ['response_format', 'srt'],
        ])
        expect(response.status).toBe(400)
        expect(await response.text()).toContain('The model is asleep.')
        expect(await lastCharge()).toMatchObject({ state: 'released', amount: 0 })
      })

      test('a stream that breaks off is charged for the delivered part', async () => {
        const delta = (text: string) =>
          `data: ${JSON.stringify({ type: 'transcript.text.delta', delta: text })}\n\n`
        odd.answer = () => eventStream(delta('Seven '))
        const response = await transcribe([
          ['model', 'odd-tokens'],
          ['file', wav],
          ['stream', 'true'],
        ])
        expect(await response.text()).toContain('upstream_cut')
        const cut = await lastCharge()
        expect(cut).toMatchObject({ state: 'settled', usage_source: 'estimated' })
        expect(Number(cut.amount)).toBeLessThan(Number(cut.held))
        odd.answer = () => eventStream(': nothing\n\n')
        await (
          await transcribe([
            ['model', 'odd-tokens'],
            ['file', wav],
            ['stream', 'true'],
          ])
        ).text()
        expect(await lastCharge()).toMatchObject({ state: 'released', amount: 0 })
      })

      test('a request that costs more than the balance is rejected before the vendor is called', async () => {
        const poor = await gateway.makeKey('poor', '0.0006')
        const before = odd.requests
        const response = await transcribe(
          [
            ['model', 'odd-minutes'],
            ['file', wav],
          ],
          poor.secret,
        )
        expect(response.status).toBe(402)
        expect(await response.text()).toContain('$0.0007')
        expect(odd.requests).toBe(before)
      })

      test('a repeated request is replayed and charged once', async () => {
        odd.answer = () => new Response('Once.')
        const send = () => {
          const form = new FormData()
          form.append('model', 'odd-minutes')
          form.append('file', wav)
          form.append('response_format', 'text')
          const headers = {
            authorization: `Bearer ${gateway.secret}`,
            'idempotency-key': `twice-${database}`,
          }
          return fetch(`${gateway.url}/v1/audio/transcriptions`, { method: 'POST', headers, body: form })
        }
        const [first, second] = [await send(), await send()]
        expect([await first.text(), await second.text()]).toEqual(['Once.', 'Once.'])
        expect(second.headers.get('idempotent-replayed')).toBe('true')
        expect(second.headers.get('content-type')).toBe('text/plain; charset=utf-8')
      })
    })

    describe('a file whose length cannot be read', () => {
      const broken = new File([Buffer.concat([Buffer.from('OggS'), new Uint8Array(29_996)])], 'a.ogg')

      test('is held by its size: a second per thousand bytes', async () => {
        odd.answer = () => Response.json({ text: 'Four.', usage: { type: 'duration', seconds: 4 } })
        await transcribe([
          ['model', 'odd-minutes'],
          ['file', broken],
        ])
        expect(await lastCharge()).toMatchObject({ held: 30 * SECOND, amount: 4 * SECOND })
      })

      test('gets no text answer, because its price is unknown', async () => {
        const response = await transcribe([
          ['model', 'odd-minutes'],
          ['file', broken],
          ['response_format', 'text'],
        ])
        expect(response.status).toBe(400)
        expect(await response.json()).toMatchObject({
          error: { code: 'unreadable_audio', param: 'response_format' },
        })
      })
    })

    const png = new File([picture('png', 8, 8).bytes], 'a.png')
    test.each([
      ['no file', [], 'file', 'missing_required_parameter'],
      ['a text instead of a file', [['file', 'a.wav']], 'file', 'invalid_type'],
      ['an image', [['file', png]], 'file', 'unsupported_audio_format'],
      [
        'two files',
        [
          ['file', png],
          ['file', png],
        ],
        'file',
        'invalid_value',
      ],
      [
        'an address',
        [
          ['file', 'wav'],
          ['url', 'https://example.com/a.wav'],
        ],
        'url',
        'unsupported_parameter',
      ],
      [
        'an unsupported model',
        [
          ['file', 'wav'],
          ['models[]', 'a'],
        ],
        'models',
        'unsupported_parameter',
      ],
      [
        'a list instead of a text',
        [
          ['file', 'wav'],
          ['language[]', 'en'],
          ['language[]', 'de'],
        ],
        'language',
        'duplicate_field',
      ],
      [
        'a model twice',
        [
          ['file', 'wav'],
          ['model[]', 'a'],
        ],
        'model',
        'duplicate_field',
      ],
    ] as [string, [string, string | File][], string, string][])(
      'rejected: %s',
      async (_, fields, param, code) => {
        const given = fields.map(([name, value]): [string, string | File] => [
          name,
          value === 'wav' ? wav : value,
        ])
        const response = await transcribe([['model', 'odd-minutes'], ...given])
        expect({ status: response.status, ...((await response.json()) as object) }).toMatchObject({
          status: 400,
          error: { param, code },
        })
      },
    )
  })
}
