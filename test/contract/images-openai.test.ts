// POST /v1/images/generations with the models in OpenAI's form, from the shipped catalogue: their images and
// refusals, and that every image is charged by the vendor's usage, whole or as a stream.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import shipped from '../../gateway.config'
import { picture } from '../../sandbox/pictures'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { type Json, type Played, play, type Scenario } from '../support/scenario'
import { eventStream, type OddVendor, startVendor } from '../support/vendors/vendor'

/** Nano-dollars for a token, as the catalogue has them for `pgt-image-2`. */
const TEXT_IN = 5_000
const TEXT_OUT = 10_000
const IMAGE_OUT = 30_000

const catalogue: Record<string, ModelConfig> = shipped.models
let gateway: TestGateway
let vendor: OddVendor

beforeAll(async () => {
  vendor = startVendor()
  const entry = (id: string) => catalogue[id] as ModelConfig
  gateway = await startTestGateway({
    upstreams: { odd: vendor.upstream },
    models: {
      'pgt-image-2': entry('pgt-image-2'),
      'pgt-image-1': entry('pgt-image-1'),
      'pgt-image-2.5': { ...entry('pgt-image-2'), upstreamModel: 'gpt-image-2.5-flare' },
      'odd-image-2.5': { ...entry('pgt-image-2'), upstream: 'odd', upstreamModel: 'gpt-image-2.5-flare' },
      'dle-2': entry('dle-2'),
      'odd-image': { ...entry('pgt-image-2'), upstream: 'odd', upstreamModel: 'local-image' },
      'few-sizes': { ...entry('dle-2'), price: { per_image: { '256x256': '0.01' } } },
    },
  })
})

afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

const prompt = 'a red fox in the snow'

function generate(body: Record<string, unknown>, expected: Partial<Scenario> = {}): Promise<Played> {
  const rest = { status: 200, vendorCalls: 1, charges: 1, ...expected }
  const sent = { model: 'pgt-image-2', prompt, ...body }
  return play(gateway, { name: 'generate', path: '/v1/images/generations', body: sent, ...rest })
}

/** A request that is rejected before the vendor is called. */
function refuse(body: Record<string, unknown>, error: Scenario['error'], ...words: string[]) {
  return generate(body, { status: 400, vendorCalls: 0, charges: 0, ...(error && { error }), words })
}

function vendorBody({ calls }: Played): Json {
  return JSON.parse(calls[0]?.body ?? '')
}

/** Width and height of a PNG. */
function sizeOf(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  expect(bytes.toString('latin1', 1, 4)).toBe('PNG')
  return `${bytes.readUInt32BE(16)}x${bytes.readUInt32BE(20)}`
}

/** The data of the events in a stream, each with its `event:` line. */
function eventsIn(text: string): Json[] {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('event: '))
    .map((event) => {
      const [, name, data = ''] = /^event: (.*)\ndata: (.*)$/s.exec(event) ?? []
      const json = JSON.parse(data)
      expect(json.type).toBe(name)
      return json
    })
}

describe('an image', () => {
  const made: [model: string, body: Record<string, unknown>, tokens: number, size: string][] = [
    ['pgt-image-2', { size: '1024x1024', quality: 'low' }, 196, '1024x1024'],
    ['pgt-image-2', { size: '1024x1024', quality: 'medium' }, 1756, '1024x1024'],
    ['pgt-image-2', { size: '1024x1024', quality: 'high' }, 7024, '1024x1024'],
    ['pgt-image-2', { size: '1536x1024', quality: 'high' }, 5488, '1536x1024'],
    ['pgt-image-2', { size: '1792x1024', quality: 'high' }, 5063, '1792x1024'],
    ['pgt-image-2', { size: '3840x2160', quality: 'high' }, 13342, '3840x2160'],
    ['pgt-image-2', { size: '2160x3840', quality: 'high' }, 13342, '2160x3840'],
    ['pgt-image-2', { size: '1440x480', quality: 'low' }, 54, '1440x480'],
    ['pgt-image-2', {}, 7024, '1024x1024'],
    ['pgt-image-2', { size: 'auto', quality: 'auto', n: 1 }, 7024, '1024x1024'],
    ['pgt-image-2', { size: null, quality: null, n: null, stream: null }, 7024, '1024x1024'],
    ['pgt-image-2.5', { size: '1024x1024', quality: 'medium' }, 439, '1024x1024'],
    ['pgt-image-2.5', { size: '1024x1024', quality: 'xhigh' }, 3122, '1024x1024'],
    ['pgt-image-2.5', { size: '1024x1536', quality: 'xhigh' }, 2459, '1024x1536'],
    ['pgt-image-2.5', { size: '1024x1024', quality: 'max' }, 7024, '1024x1024'],
    ['pgt-image-2.5', { size: '3840x2160', quality: 'max' }, 13342, '3840x2160'],
    ['pgt-image-1', { size: '1024x1536', quality: 'high' }, 6240, '1024x1536'],
    ['pgt-image-1', { size: '1536x1024', quality: 'low' }, 400, '1536x1024'],
    ['pgt-image-1', { size: 'auto', quality: 'medium' }, 1056, '1024x1024'],
  ]
  for (const [model, body, tokens, size] of made) {
    test(`${model} ${JSON.stringify(body)}: ${tokens} tokens, held before and paid after`, async () => {
      const played = await generate({ model, ...body })
      const { data, usage } = played.json
      expect(data).toHaveLength(1)
      expect(sizeOf(data[0].b64_json)).toBe(size)
      expect(played.json).toMatchObject({ size, background: 'opaque', output_format: 'png' })
      expect(usage.output_tokens).toBe(tokens)
      const amount = usage.input_tokens * TEXT_IN + tokens * (model === 'pgt-image-1' ? 40_000 : IMAGE_OUT)
      expect(played.charges).toMatchObject([
        { state: 'settled', usage_source: 'upstream', amount, shortfall: 0 },
      ])
      expect(Number(played.charges[0]?.held)).toBeGreaterThanOrEqual(amount)
      expect(played.logRows).toMatchObject([
        { input_tokens: usage.input_tokens, output_tokens: tokens, amount },
      ])
    })
  }

  test.each([
    ['low', 196],
    ['medium', 439],
    ['high', 1_756],
    ['xhigh', 3_122],
    ['max', 7_024],
  ])(
    'of the newest model in quality %s that nobody counts is counted as %d tokens',
    async (quality, tokens) => {
      const b64_json = Buffer.from(picture('png', 1024, 1024).bytes).toString('base64')
      vendor.answer = () => Response.json({ created: 1, quality, data: [{ b64_json }] })
      const { charges } = await generate(
        { model: 'odd-image-2.5', size: '1024x1024', quality },
        { vendorCalls: 0 },
      )
      expect(charges).toMatchObject([{ state: 'settled' }])
      const text = countTokens(prompt) * TEXT_IN
      expect(charges[0]?.amount).toBe(text + tokens * IMAGE_OUT)
    },
  )

  test('several cost as much as their number', async () => {
    const { json, charges } = await generate({ n: 10, size: '1024x1024', quality: 'low' })
    expect(json.data).toHaveLength(10)
    expect(charges).toMatchObject([{ amount: json.usage.input_tokens * TEXT_IN + 1960 * IMAGE_OUT }])
  })

  const formats: [format: string | undefined, background: string, signature: string][] = [
    [undefined, 'transparent', '\x89PNG'],
    ['png', 'transparent', '\x89PNG'],
    ['webp', 'transparent', 'RIFF'],
    ['jpeg', 'opaque', '\xff\xd8\xff'],
    ['jpeg', 'auto', '\xff\xd8\xff'],
  ]
  for (const [format, background, signature] of formats) {
    test(`has the format ${format} with a background that is ${background}`, async () => {
      const compression = format === 'jpeg' ? { output_compression: 80 } : {}
      const { json } = await generate({ output_format: format, background, ...compression })
      const bytes = Buffer.from(json.data[0].b64_json, 'base64').toString('latin1')
      expect(bytes).toStartWith(signature)
      expect(json).toMatchObject({
        output_format: format ?? 'png',
        background: background === 'auto' ? 'opaque' : background,
      })
    })
  }
})

describe('the request', () => {
  test('is sent to the vendor as it was written, except its model', async () => {
    const body = `{ "prompt":"a fox \\u00fc" , "model" : "pgt-image-2", "n":1.0,"seed_of_mine":[12345678901234567890, 1.0],"user":"u-1" }`
    const played = await generate({}, { body, status: 400, words: ['seed_of_mine'] })
    expect(played.calls[0]?.body).toBe(body.replace('"pgt-image-2"', '"gpt-image-2"'))
    // A vendor that knows the field would accept it; this one reports it.
    expect(played.json.error).toMatchObject({ code: 'unknown_parameter', param: 'seed_of_mine' })
    expect(played.charges).toMatchObject([{ state: 'released', amount: 0 }])
  })

  for (const [alias, quality] of [
    ['standard', 'medium'],
    ['hd', 'high'],
    ['low', 'low'],
    ['auto', 'auto'],
  ]) {
    test(`asks for the quality ${quality} where the caller says ${alias}`, async () => {
      const played = await generate({ quality: alias })
      expect(vendorBody(played)).toEqual({ model: 'gpt-image-2', prompt, quality })
    })
  }

  for (const format of ['b64_json', 'url', null]) {
    test(`takes the response format ${format}, which the vendor rejects, and answers with base64`, async () => {
      const played = await generate({ response_format: format, user: 'u-1', moderation: 'low' })
      expect(vendorBody(played)).toEqual({ model: 'gpt-image-2', prompt, user: 'u-1', moderation: 'low' })
      expect(played.json.data[0]).toHaveProperty('b64_json')
    })
  }
})

describe('rejected before the vendor is called, for free', () => {
  const wrong: [field: string, value: unknown, ...words: string[]][] = [
    ['prompt', undefined, 'Missing required parameter'],
    ['prompt', '', 'empty string'],
    ['prompt', ['a fox'], 'expected a string'],
    ['n', 0, '>= 1'],
    ['n', 11, '<= 10'],
    ['n', 1.5, 'expected an integer'],
    ['n', '2', 'expected an integer'],
    ['quality', 'ultra', 'low'],
    ['background', 'blue', 'transparent'],
    ['output_format', 'gif', 'webp'],
    ['output_compression', 101, '<= 100'],
    ['response_format', 'file', 'b64_json'],
    ['stream', 'yes', 'expected a boolean'],
    ['partial_images', 4, '<= 3'],
    ['partial_images', -1, '>= 0'],
    ['user', 7, 'expected a string'],
    ...[
      '1000x1000',
      '3856x2048',
      '1536x496',
      '496x1536',
      '1024*1024',
      '1024X1024',
      '1024 x 1024',
      '1024',
      '1024x1024x16',
      '0x0',
      '-16x16',
      '16.0x16',
      '01024x1024',
      'AUTO',
      'big',
    ].map((size): [string, unknown, ...string[]] => ['size', size, 'multiples of 16', size]),
    ['size', 1024, 'expected a string'],
    ['size', 'x'.repeat(5000), `Got ${'x'.repeat(32)}…`],
  ]
  for (const [field, value, ...words] of wrong) {
    test(`${field}: ${JSON.stringify(value)?.slice(0, 40)}`, async () => {
      const { json } = await refuse(
        { [field]: value },
        { param: field, type: 'invalid_request_error' },
        ...words,
      )
      // In OpenAI's form alone: other models of this path have another one.
      expect(Object.keys(json)).toEqual(['error'])
    })
  }

  test('sizes that a model does not make, with those that it makes', async () => {
    for (const size of ['2048x2048', '512x512', 'big']) {
      await refuse(
        { model: 'pgt-image-1', size },
        { param: 'size' },
        'pgt-image-1 makes auto, 1024x1024',
        size,
      )
    }
  })

  test('a transparent JPEG', () =>
    refuse({ background: 'transparent', output_format: 'jpeg' }, { param: 'background' }, 'png or webp'))

  test('usage that the account cannot pay: four times the balance', async () => {
    const { secret } = await gateway.makeKey('small', '0.25')
    const body = { model: 'pgt-image-2', prompt, size: '1024x1024', quality: 'high', n: 4 }
    const refused = { status: 402, vendorCalls: 0, charges: 0, error: { code: 'insufficient_balance' } }
    await generate({}, { key: secret, body, ...refused })
    await generate({}, { key: secret, body: { ...body, n: 1 } })
  })

  test('a model on a path that it does not serve', () =>
    play(gateway, {
      name: 'chat',
      body: { model: 'pgt-image-2', messages: [{ role: 'user', content: 'x' }] },
      status: 400,
      error: { code: 'endpoint_model_mismatch', param: 'model' },
      words: ['image and image-edit'],
    }))
})

describe('what the vendor rejects', () => {
  const rows: [body: Record<string, unknown>, status: number, error: Scenario['error'], words: string][] = [
    [{ size: '3840x3840' }, 400, { param: 'size', code: 'invalid_value' }, 'pixel budget'],
    [{ size: '256x256' }, 400, { param: 'size' }, 'minimum pixel budget'],
    [{ stream: true, n: 2 }, 400, {}, 'Streaming is only supported with n=1.'],
    [{ output_compression: 50 }, 400, { param: 'output_compression' }, 'not supported for PNG'],
    [
      { prompt: '[sandbox blocked=1] a fight' },
      400,
      { code: 'moderation_blocked', type: 'image_generation_user_error' },
      'safety system',
    ],
    [{ prompt: '[sandbox status=429 retry_after=7]' }, 429, { code: 'rate_limit_exceeded' }, 'Rate limit'],
    [{ prompt: '[sandbox quota]' }, 503, { code: 'upstream_unavailable' }, 'operator'],
    [{ prompt: '[sandbox status=500]' }, 502, { code: 'upstream_error' }, 'had an error'],
    [{ prompt: '[sandbox garbage]' }, 502, { code: 'upstream_garbage' }, 'not JSON'],
    [{ prompt: '[sandbox cut_after=1]' }, 502, { code: 'upstream_garbage' }, 'cut off'],
  ]
  for (const [body, status, error, words] of rows) {
    test(`${JSON.stringify(body)} is reported as ${status}, and costs nothing`, async () => {
      const { charges } = await generate(body, { status, ...(error && { error }), words: [words] })
      expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
    })
  }

  test('a model that it has retired', async () => {
    vendor.answer = () =>
      Response.json(
        { error: { message: 'The model `gpt-image-2` does not exist.', code: 'model_not_found' } },
        { status: 404 },
      )
    const body = { model: 'odd-image' }
    await generate(body, { status: 502, vendorCalls: 0, error: { code: 'upstream_model_missing' } })
  })
})

describe('the price', () => {
  for (const fault of ['missing', 'negative', 'string', 'huge', 'overflow']) {
    test(`is counted from the image where the usage is ${fault}`, async () => {
      const { json, charges } = await generate({
        prompt: `[sandbox usage=${fault}] fox`,
        size: '1024x1024',
        quality: 'low',
      })
      const amount = json.usage.input_tokens * TEXT_IN + 196 * IMAGE_OUT
      expect(json.usage).toMatchObject({ input_tokens: expect.any(Number), output_tokens: 196 })
      expect(charges).toMatchObject([{ state: 'settled', usage_source: 'estimated', amount, shortfall: 0 }])
    })
  }

  // The answer of a server that speaks this API without counting: an image of its own size, at the price of the older models.
  test.each([
    ['of one pixel', picture('png', 1, 1), 'high', 1 * 2],
    ['of a JPEG', picture('jpeg', 64, 64), 'medium', 2 * 3],
    ['of a WebP', picture('webp', 64, 64), 'low', 1 * 2],
  ] as const)('%s is that of its own size', async (_, { bytes }, quality, tokens) => {
    const data = [{ b64_json: Buffer.from(bytes).toString('base64') }]
    vendor.answer = () => Response.json({ created: 1, data })
    const { json, charges } = await generate({ model: 'odd-image', quality }, { vendorCalls: 0 })
    const amount = json.usage.input_tokens * TEXT_IN + tokens * IMAGE_OUT
    expect(json).toMatchObject({ data, usage: { output_tokens: tokens } })
    expect(charges).toMatchObject([{ state: 'settled', usage_source: 'estimated', amount }])
  })

  test('has the text that a model writes next to the image', async () => {
    const { json, charges } = await generate({
      prompt: '[sandbox reasoning=300] fox',
      size: '1024x1024',
      quality: 'low',
    })
    expect(json.usage.output_tokens).toBe(496)
    const amount = json.usage.input_tokens * TEXT_IN + 300 * TEXT_OUT + 196 * IMAGE_OUT
    expect(charges).toMatchObject([{ amount, shortfall: 0 }])
  })

  test('is zero if no image comes', async () => {
    const { charges } = await generate(
      { prompt: '[sandbox empty]' },
      { status: 502, error: { code: 'upstream_empty' } },
    )
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })

  // An image with an unreadable size: billed as the largest that the model may choose, in the requested quality.
  const reply = { created: 1, data: [{ b64_json: 'iVBORw0KGgo=' }] }
  test('of a usage without details is of text in and images out', async () => {
    const usage = { input_tokens: 7, output_tokens: 100 }
    vendor.answer = () => Response.json({ ...reply, usage })
    const { json, charges } = await generate({ model: 'odd-image', quality: 'low' }, { vendorCalls: 0 })
    expect(json).toEqual({ ...reply, usage })
    expect(charges[0]?.amount).toBe(3_035_000)
  })

  test.each([
    ['of zeros, as servers write that do not count', { input_tokens: 0, output_tokens: 0 }],
    ['without an output', { input_tokens: 7 }],
    [
      'with more of a kind than in all',
      { input_tokens: 7, output_tokens: 9, input_tokens_details: { image_tokens: 8 } },
    ],
    ['that is null', null],
  ])('of a usage %s is counted', async (_, usage) => {
    vendor.answer = () => Response.json({ ...reply, usage })
    const { json, charges } = await generate({ model: 'odd-image', quality: 'low' }, { vendorCalls: 0 })
    expect(json).toMatchObject({ ...reply, usage: { output_tokens: 408 } })
    expect(charges[0]?.amount).toBe(json.usage.input_tokens * TEXT_IN + 408 * IMAGE_OUT)
  })
})

describe('a stream', () => {
  test('of unfinished images and the whole one, with its price', async () => {
    const played = await generate(
      { stream: true, partial_images: 3, size: '1536x1024', quality: 'low', response_format: 'b64_json' },
      { answers: { 'content-type': /^text\/event-stream/ }, absent: ['[DONE]'] },
    )
    const events = eventsIn(played.text)
    expect(events.map(({ type }) => type)).toEqual([
      ...Array(3).fill('image_generation.partial_image'),
      'image_generation.completed',
    ])
    expect(events.flatMap(({ partial_image_index: index }) => index ?? [])).toEqual([0, 1, 2])
    for (const { b64_json } of events) expect(sizeOf(b64_json)).toBe('1536x1024')
    const { usage } = events.at(-1)
    expect(usage.output_tokens).toBe(158 + 300)
    const amount = usage.input_tokens * TEXT_IN + usage.output_tokens * IMAGE_OUT
    expect(played.charges).toMatchObject([
      { state: 'settled', usage_source: 'upstream', amount, ended_by: 'done' },
    ])
    expect(JSON.parse(String(played.charges[0]?.usage))).toEqual(usage)
    expect(vendorBody(played)).toMatchObject({ stream: true, partial_images: 3 })
  })

  for (const way of ['split', 'crlf']) {
    test(`is whole when the vendor writes it ${way}`, async () => {
      const body = {
        prompt: `[sandbox ${way}] fox`,
        stream: true,
        partial_images: 1,
        size: '1024x1024',
        quality: 'low',
      }
      const { text, charges } = await generate(body)
      const events = eventsIn(text.replaceAll('\r\n', '\n'))
      expect(events.map(({ b64_json }) => sizeOf(b64_json))).toEqual(['1024x1024', '1024x1024'])
      expect(charges).toMatchObject([{ usage_source: 'upstream' }])
    })
  }

  const broken: [directive: string, events: number, code: string, state: string][] = [
    ['cut_after=1', 1, 'upstream_cut', 'released'],
    ['no_done', 2, 'upstream_cut', 'released'],
    ['error_after=0', 1, 'image_generation_failed', 'released'],
  ]
  for (const [directive, count, code, state] of broken) {
    test(`that breaks by ${directive} says so, and is ${state}`, async () => {
      const body = { prompt: `[sandbox ${directive}] fox`, stream: true, partial_images: 2 }
      const reported = code === 'upstream_cut' ? {} : { reported: code }
      const { text, charges } = await generate(body, { words: [code], ...reported })
      expect(eventsIn(text)).toHaveLength(count)
      expect(charges).toMatchObject([{ state, amount: state === 'settled' ? charges[0]?.held : 0 }])
    })
  }

  test('without usage at its end is counted from the image', async () => {
    const body = { prompt: '[sandbox usage=missing] fox', stream: true, size: '1024x1024', quality: 'low' }
    const { charges } = await generate(body, { words: ['image_generation.completed'] })
    expect(charges).toMatchObject([{ state: 'settled', usage_source: 'estimated' }])
    const input = countTokens('[sandbox usage=missing] fox') * TEXT_IN
    expect(charges[0]?.amount).toBe(input + 272 * IMAGE_OUT)
  })

  test('whose caller disconnects after an unfinished image is charged', async () => {
    const calls = gateway.sandbox.calls.length
    const body = {
      model: 'pgt-image-2',
      prompt: '[sandbox token_delay_ms=60000]',
      stream: true,
      partial_images: 2,
    }
    const response = await gateway.post('/v1/images/generations', body)
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    await waitFor(async () => (await gateway.newestCharge())?.state === 'settled')
    const charge = await gateway.newestCharge()
    expect(charge).toMatchObject({ ended_by: 'client', usage_source: 'estimated', amount: charge?.held })
    await waitFor(() => gateway.sandbox.calls[calls]?.aborted === true)
    expect(gateway.sandbox.calls[calls]?.aborted).toBe(true)
  })

  test('of events of many megabytes arrives byte by byte', async () => {
    const base64 = Buffer.alloc(15 * 1024 * 1024, 'ABCdef0+/').toString('latin1')
    const event = (type: string, more: object) =>
      `event: ${type}\ndata: ${JSON.stringify({ type, b64_json: base64, ...more })}\n\n`
    const usage = { input_tokens: 10, output_tokens: 13_342, total_tokens: 13_352 }
    const sent = Buffer.from(
      event('image_generation.partial_image', { partial_image_index: 0 }) +
        event('image_generation.completed', { usage }),
    )
    vendor.answer = () => eventStream(inPieces(sent, 48_000))
    const body = { model: 'odd-image', prompt, stream: true, size: '3840x2160' }
    const response = await gateway.post('/v1/images/generations', body)
    const received = Buffer.from(await response.arrayBuffer())
    expect(received.length).toBe(sent.length)
    expect(received.equals(sent)).toBe(true)
    expect(await gateway.newestCharge()).toMatchObject({
      state: 'settled',
      usage_source: 'upstream',
      amount: 10 * TEXT_IN + 13_342 * IMAGE_OUT,
    })
  })

  test('request that a server answers with a whole reply gets that reply', async () => {
    const usage = { input_tokens: 7, output_tokens: 100 }
    vendor.answer = () => Response.json({ created: 1, data: [{ b64_json: 'iVBORw0KGgo=' }], usage })
    const played = await generate({ model: 'odd-image', stream: true }, { vendorCalls: 0 })
    expect(played.json.usage).toEqual(usage)
    expect(played.charges).toMatchObject([{ amount: 3_035_000 }])
  })
})

describe('the legacy model', () => {
  const sizes: [size: string | undefined, made: string, amount: number][] = [
    ['256x256', '256x256', 16_000_000],
    ['512x512', '512x512', 18_000_000],
    ['1024x1024', '1024x1024', 20_000_000],
    ['auto', '1024x1024', 20_000_000],
    [undefined, '1024x1024', 20_000_000],
  ]
  for (const [size, made, amount] of sizes) {
    test(`${size} costs ${amount} nano-dollars an image`, async () => {
      const played = await generate({ model: 'dle-2', size, n: 3 })
      expect(played.json.data.map(({ b64_json }: Json) => sizeOf(b64_json))).toEqual([made, made, made])
      expect(played.charges).toMatchObject([
        { amount: 3 * amount, held: 3 * amount, usage_source: 'counted' },
      ])
      expect(vendorBody(played)).toEqual({
        model: 'dall-e-2',
        prompt,
        n: 3,
        size: made,
        response_format: 'b64_json',
      })
    })
  }

  test('answers with addresses on request', async () => {
    const played = await generate({ model: 'dle-2', size: '256x256', n: 2, response_format: 'url' })
    const urls: string[] = played.json.data.map(({ url }: Json) => url)
    expect(new Set(urls).size).toBe(2)
    for (const url of urls) {
      const file = await fetch(url)
      expect(file.headers.get('content-type')).toBe('image/png')
      expect(sizeOf(Buffer.from(await file.bytes()).toString('base64'))).toBe('256x256')
    }
    expect(played.charges).toMatchObject([{ amount: 32_000_000 }])
  })

  test('accepts fields of newer models’ callers if they change nothing, and does not send them on', async () => {
    const newer = {
      quality: 'hd',
      output_format: 'png',
      background: 'auto',
      stream: false,
      partial_images: 0,
    }
    const played = await generate({ model: 'dle-2', ...newer, user: 'u-1' })
    expect(Object.keys(vendorBody(played)).sort()).toEqual([
      'model',
      'prompt',
      'response_format',
      'size',
      'user',
    ])
  })

  const refused: [field: string, value: unknown][] = [
    ['output_format', 'webp'],
    ['background', 'transparent'],
    ['background', 'opaque'],
    ['stream', true],
    ['partial_images', 1],
    ['size', '1536x1024'],
    ['size', '100x100'],
  ]
  for (const [field, value] of refused) {
    test(`rejects ${field} ${value}`, () =>
      refuse({ model: 'dle-2', [field]: value }, { param: field }, 'dle-2'))
  }

  test('with a price for one size makes that size only', async () => {
    await generate({ model: 'few-sizes', size: '256x256' })
    await refuse({ model: 'few-sizes' }, { param: 'size' }, 'no price for 1024x1024', '256x256')
  })

  test('costs nothing if no image comes', async () => {
    const { charges } = await generate({ model: 'dle-2', prompt: '[sandbox empty]', n: 4 }, { status: 502 })
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })
})

function inPieces(bytes: Uint8Array, length: number): ReadableStream<Uint8Array> {
  let at = 0
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close()
      controller.enqueue(bytes.slice(at, at + length))
      at += length
    },
  })
}
