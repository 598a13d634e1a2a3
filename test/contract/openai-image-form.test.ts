// OpenAI's image form on every image family, with the shipped catalogue: which form a request
// has, what the vendor receives, what the answer contains, and that every image is held and charged.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateImage } from 'ai'
import OpenAI, { toFile } from 'openai'
import shipped from '../../gateway.config'
import { picture } from '../../sandbox/pictures'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { type Json, type Played, play, type Scenario } from '../support/scenario'
import { type PictureVendor, pictureReply, resultUrl, startPictureVendor } from '../support/vendors/picture'

setDefaultTimeout(60_000)

const catalogue: Record<string, ModelConfig> = shipped.models
const ids = [
  'qnx-image-2.0',
  'qnx-image-edit',
  'seedream-4.0',
  'seedream-4.5',
  'gmx-3.1-flash-image',
  'gkx-imagine-image',
]
const PATH = '/v1/images/generations'
const PNG = 'data:image/png;base64,iVBORw0KGgo='

let gateway: TestGateway
let vendor: PictureVendor
let client: OpenAI

beforeAll(async () => {
  vendor = startPictureVendor()
  const entry = (id: string) => catalogue[id] as ModelConfig
  gateway = await startTestGateway({
    upstreams: { pictures: { kind: 'dashscope', baseUrl: vendor.url, apiKey: 'none' } },
    models: {
      ...Object.fromEntries(ids.map((id) => [id, entry(id)])),
      picture: { family: 'dashscope-images', upstream: 'pictures', price: { per_image: '0.01' } },
      either: { route: ['picture', 'gkx-imagine-image'] },
    },
  })
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })
})

afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

function draw(
  model: string,
  body: Record<string, unknown>,
  expected: Partial<Scenario> = {},
): Promise<Played> {
  const rest = { status: 200, vendorCalls: 1, charges: 1, ...expected }
  return play(gateway, { name: model, path: PATH, body: { model, prompt: 'a red fox', ...body }, ...rest })
}

const refuse = (model: string, body: Record<string, unknown>, param: string, words: string[] = []) =>
  draw(model, body, { status: 400, vendorCalls: 0, charges: 0, error: { param }, words })

const sent = ({ calls }: Played, index = 0): Json => JSON.parse(calls[index]?.body as string)

const kindOf = (base64: string | undefined) =>
  Buffer.from(base64 ?? '', 'base64')
    .subarray(1, 4)
    .toString('latin1') === 'PNG'
    ? 'png'
    : 'other'

describe('Qwen-Image', () => {
  const model = 'qnx-image-2.0'

  test('receives one message, and the answer is a list', async () => {
    const played = await draw(model, { size: '1024x1024', user: 'u1', quality: 'hd', moderation: 'low' })
    expect(sent(played)).toEqual({
      model: 'qwen-image-2.0',
      input: { messages: [{ role: 'user', content: [{ text: 'a red fox' }] }] },
      parameters: { size: '1024*1024' },
    })
    expect(played.json).toEqual({
      created: expect.any(Number),
      data: [{ url: expect.stringContaining('1024x1024.png') }],
      size: '1024x1024',
    })
    expect(played.charges).toMatchObject([{ state: 'settled', amount: 35_000_000, held: 35_000_000 }])
  })

  test.each([
    ['1536x1024', '1472*1140'],
    ['1024x1536', '1140*1472'],
    ['1792x1024', '1664*928'],
    ['512x512', '1024*1024'],
    ['1300x1300', '1328*1328'],
    ['auto', '1024*1024'],
    [undefined, '1024*1024'],
  ])('makes of the size %s the nearest that it has, %s', async (size, own) => {
    expect(sent(await draw(model, { size })).parameters.size).toBe(own)
  })

  test('makes several in separate calls, each held and charged', async () => {
    const played = await draw(model, { n: 3 }, { vendorCalls: 3 })
    expect(new Set(played.json.data.map(({ url }: Json) => url)).size).toBe(3)
    expect(played.charges).toMatchObject([{ amount: 105_000_000, held: 105_000_000 }])
  })

  test('returns the bytes on request', async () => {
    const { json } = await draw(model, { response_format: 'b64_json', n: 2 }, { vendorCalls: 4 })
    expect(json.data.map(({ b64_json, ...rest }: Json) => [kindOf(b64_json), rest])).toEqual([
      ['png', {}],
      ['png', {}],
    ])
  })

  test('accepts its own settings in addition', async () => {
    const played = await draw(model, { seed: 7, watermark: true, size: '1280x720' })
    expect(sent(played).parameters).toEqual({ size: '1280*720', seed: 7, watermark: true })
  })

  test('keeps its native form and reply, and its own errors there', async () => {
    const native = {
      prompt: undefined,
      input: { messages: [{ role: 'user', content: [{ text: 'a fox' }] }] },
    }
    const { json } = await draw(model, native)
    expect(json).toMatchObject({ output: { choices: [{}] }, usage: { image_count: 1 } })
    const wrong = await draw(
      model,
      { ...native, parameters: { size: '1x1' } },
      { status: 400, vendorCalls: 0, charges: 0 },
    )
    expect(wrong.json).toMatchObject({ code: 'InvalidParameter', error: { param: 'parameters.size' } })
  })

  test('rejects unsupported fields by name', async () => {
    await refuse(model, { stream: true }, 'stream')
    await refuse(model, { size: '4096x512' }, 'size', ['1024x1024'])
    await refuse(model, { size: 'huge' }, 'size')
    await refuse(model, { n: 11 }, 'n')
    await refuse(model, { output_format: 'webp' }, 'output_format', ['PNG'])
    await refuse(model, { background: 'transparent' }, 'background')
    await refuse(model, { input_image: PNG }, 'input_image')
    await refuse(model, { image: PNG }, 'image', ['text alone'])
    await refuse(model, { prompt: '' }, 'prompt')
    // Fields without effect are accepted.
    await draw(model, { stream: false, output_format: 'png', background: 'auto', style: 'vivid', n: null })
  })

  test('uses reference images', async () => {
    const played = await draw('qnx-image-edit', { image: [PNG, PNG] })
    expect(sent(played).input.messages[0].content).toEqual([
      { image: PNG },
      { image: PNG },
      { text: 'a red fox' },
    ])
    await refuse('qnx-image-edit', {}, 'image', ['1 to 3'])
    await refuse('qnx-image-edit', { image: 'http://example.com/fox.png' }, 'image', ['https'])
  })

  test('reports the vendor’s error in OpenAI’s form', async () => {
    const { json } = await draw(model, { prompt: '[sandbox blocked=1] a fox' }, { status: 400 })
    expect(json).toMatchObject({ error: { message: expect.stringContaining('inappropriate') } })
    expect(json.code).toBeUndefined()
  })
})

describe('a fetched image', () => {
  const ask = (expected: Partial<Scenario> = {}) =>
    draw('picture', { response_format: 'b64_json' }, { vendorCalls: 0, ...expected })
  const bytes = picture('png', 16, 16).bytes as Uint8Array<ArrayBuffer>

  test('is returned unchanged', async () => {
    vendor.serve = () => new Response(bytes)
    const { json } = await ask()
    expect(json.data[0].b64_json).toBe(Buffer.from(bytes).toString('base64'))
  })

  const faults: [what: string, serve: PictureVendor['serve'], code: string][] = [
    ['is missing', () => new Response('', { status: 404 }), 'upstream_file_unavailable'],
    ['is a page', () => new Response('<html>Not found</html>'), 'upstream_garbage'],
    ['is empty', () => new Response(''), 'upstream_garbage'],
    ['is too large', () => new Response(new Uint8Array(17 * 1024 * 1024)), 'upstream_garbage'],
    [
      'is endless',
      () =>
        new Response(
          new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1024 * 1024)) }),
        ),
      'upstream_garbage',
    ],
    [
      'is redirected to another host',
      () => Response.redirect('http://127.0.0.1:1/secret.png'),
      'upstream_file_unavailable',
    ],
  ]
  test.each(faults)('fails free of charge if it %s', async (_, serve, code) => {
    vendor.serve = serve
    const { charges } = await ask({ status: 502, error: { code } })
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })

  test('is not fetched from a host of another party', async () => {
    const usual = vendor.reply
    vendor.reply = () => JSON.stringify(pictureReply('http://127.0.0.1:9/x.png'))
    await ask({ status: 502, error: { code: 'upstream_file_refused' } })
    vendor.reply = usual
  })

  test('is fetched once if two items are the same', async () => {
    const url = resultUrl(vendor)
    const usual = vendor.reply
    vendor.reply = () => JSON.stringify(pictureReply(url, url))
    let fetched = 0
    vendor.serve = () => {
      fetched++
      return new Response(bytes)
    }
    const { json } = await ask()
    expect([json.data.length, fetched]).toEqual([2, 1])
    vendor.reply = usual
  })
})

describe('several images, some of which fail', () => {
  const ask = (fails: readonly number[], expected: Partial<Scenario> = {}) => {
    const usual = vendor.answer
    let asked = 0
    vendor.answer = () => {
      const call = asked++
      if (!fails.includes(call)) return Response.json(pictureReply(resultUrl(vendor)))
      const refusal = { code: 'DataInspectionFailed', message: 'Held back.', request_id: 'r' }
      // Some of these have a success status.
      return Response.json(refusal, { status: call % 2 === 0 ? 400 : 200 })
    }
    const drawn = draw('picture', { n: 3, response_format: 'url' }, { vendorCalls: 0, ...expected })
    return drawn.finally(() => {
      vendor.answer = usual
    })
  }

  test.each([[[0]], [[1]], [[0, 1]]])('return and charge the successful ones (without %p)', async (fails) => {
    const { json, charges } = await ask(fails)
    const made = 3 - fails.length
    expect(json.data).toHaveLength(made)
    expect(charges).toMatchObject([{ state: 'settled', amount: made * 10_000_000, held: 30_000_000 }])
  })

  test('return the vendor’s error if all fail', async () => {
    const { charges } = await ask([0, 1, 2], { status: 400, words: ['Held back.'] })
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })
})

describe('stored results', () => {
  test('have an address of the gateway, whatever the vendor returned', async () => {
    const keeper = await startTestGateway({
      models: {
        gmx: catalogue['gmx-3.1-flash-image'] as ModelConfig,
        qnx: catalogue['qnx-image-2.0'] as ModelConfig,
      },
      config: { artifacts: { keep: '7d' } },
    })
    for (const model of ['gmx', 'qnx']) {
      const answer = await keeper.post(PATH, { model, prompt: 'a red fox', response_format: 'url' })
      const { data } = (await answer.json()) as Json
      expect(data[0].url).toStartWith(`${keeper.url}/v1/artifacts/art_`)
      const file = await fetch(data[0].url)
      expect([file.status, file.headers.get('content-type')]).toEqual([
        200,
        expect.stringMatching(/^image\//),
      ])
    }
    const stored = () => keeper.server.world.db.query({ sql: 'select * from artifacts' })
    expect(await stored()).toHaveLength(2)
    for (const model of ['gmx', 'qnx']) {
      const answer = await keeper.post(PATH, { model, prompt: 'a red fox', response_format: 'b64_json' })
      expect(((await answer.json()) as Json).data[0].b64_json.length).toBeGreaterThan(100)
    }
    // The caller already has the bytes.
    expect(await stored()).toHaveLength(2)
    await keeper.close()
  })
})

describe('Seedream', () => {
  const model = 'seedream-4.5'

  test('is in OpenAI’s form if a field exists only there', async () => {
    const native = await draw(model, { size: '2K' })
    expect(native.json).toMatchObject({ model, usage: { generated_images: 1 } })
    for (const body of [
      { n: 1 },
      { quality: 'high' },
      { user: 'u' },
      { size: '1024x1024' },
      { size: 'auto' },
    ]) {
      const { json } = await draw(model, body)
      expect(json).toEqual({
        created: expect.any(Number),
        data: [{ url: expect.any(String) }],
        size: expect.stringMatching(/^\d+x\d+$/),
      })
    }
  })

  test.each([
    ['seedream-4.5', '1024x1024', '1920x1920'],
    ['seedream-4.5', '1536x1024', '2352x1568'],
    ['seedream-4.5', '2048x2048', '2048x2048'],
    ['seedream-4.5', '2K', '2K'],
    ['seedream-4.0', '1024x1024', '1024x1024'],
    ['seedream-4.0', '512x512', '960x960'],
  ])('%s turns %s into at least: %s', async (id, size, own) => {
    expect(sent(await draw(id, { n: 1, size })).size).toBe(own)
  })

  test('makes several in separate calls', async () => {
    const played = await draw(
      model,
      { n: 2, response_format: 'b64_json', watermark: false },
      { vendorCalls: 2 },
    )
    expect(sent(played)).toEqual({
      model: 'seedream-4-5-251128',
      prompt: 'a red fox',
      response_format: 'b64_json',
      watermark: false,
    })
    expect(played.json.data).toHaveLength(2)
    expect(played.json.data[0].b64_json.length).toBeGreaterThan(100)
    expect(played.charges).toMatchObject([{ amount: 80_000_000 }])
  })

  test('reports that moderation blocked the image', async () => {
    const { charges } = await draw(
      model,
      { n: 1, prompt: '[sandbox blocked=1] a fox' },
      { status: 400, error: { code: 'content_policy_violation' } },
    )
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })
})

describe('Gemini', () => {
  const model = 'gmx-3.1-flash-image'

  test('makes JPEG only: another format is rejected before the vendor is called', async () => {
    for (const format of ['png', 'webp']) {
      await refuse(model, { output_format: format }, 'output_format', ['JPEG'])
    }
  })

  test('receives an interaction, and the answer is a list with its tokens', async () => {
    const played = await draw(model, { size: '1792x1024', output_format: 'jpeg' })
    expect(sent(played)).toEqual({
      model: 'gemini-3.1-flash-image',
      input: [{ type: 'text', text: 'a red fox' }],
      response_format: { type: 'image', aspect_ratio: '16:9' },
    })
    const { data, usage } = played.json
    expect(data).toEqual([{ b64_json: expect.stringMatching(/^[\w+/=]{100,}$/) }])
    expect(usage.output_tokens_details.image_tokens).toBe(1_120)
    expect(usage.total_tokens).toBe(usage.input_tokens + usage.output_tokens)
  })

  test.each([
    [{ size: '1024x1024' }, { aspect_ratio: '1:1' }],
    [{ size: '2048x2048' }, { aspect_ratio: '1:1', image_size: '2K' }],
    [{ size: '1536x1024' }, { aspect_ratio: '3:2' }],
    [{ size: '4k' }, { image_size: '4K' }],
    [{ quality: 'hd' }, { image_size: '2K' }],
    [{ quality: 'hd', size: '1024x1536' }, { aspect_ratio: '2:3' }],
  ])('makes of %p %p', async (body, format) => {
    expect(sent(await draw(model, body)).response_format).toEqual({ type: 'image', ...format })
  })

  test('receives no format if none is requested', async () => {
    expect(sent(await draw(model, { size: 'auto', quality: 'low' })).response_format).toBeUndefined()
  })

  test('holds and charges each of several', async () => {
    const { charges, json } = await draw(model, { n: 2, size: '4096x4096' }, { vendorCalls: 2 })
    expect(json.usage.output_tokens_details.image_tokens).toBe(2 * 2_520)
    const [charge] = charges
    expect(Number(charge?.amount)).toBeGreaterThan(2 * 2_520 * 60_000)
    expect(Number(charge?.held)).toBeGreaterThanOrEqual(Number(charge?.amount))
  })

  test('returns a data URL on request', async () => {
    const { json } = await draw(model, { response_format: 'url' })
    expect(json.data[0].url).toStartWith('data:image/')
    expect(json.data[0].b64_json).toBeUndefined()
  })
})

describe('Imagine', () => {
  test('accepts only the file format that it makes', async () => {
    const played = await draw('gkx-imagine-image', {
      output_format: 'jpeg',
      n: 2,
      response_format: 'b64_json',
    })
    expect(sent(played)).toEqual({
      model: 'grok-imagine-image',
      prompt: 'a red fox',
      n: 2,
      response_format: 'b64_json',
    })
    await refuse('gkx-imagine-image', { output_format: 'png' }, 'output_format', ['JPEG'])
    await refuse('gkx-imagine-image', { stream: true }, 'stream')
  })

  test('can share a route with models of another form', async () => {
    const usual = vendor.answer
    const asked: string[] = []
    vendor.answer = ({ url }) => {
      asked.push(new URL(url).pathname)
      return new Response('', { status: 503 })
    }
    const { json, calls } = await draw('either', { response_format: 'url', size: '1024x1024' })
    vendor.answer = usual
    expect(asked).toEqual([expect.stringContaining('/multimodal-generation/')])
    expect(calls.map(({ body }) => JSON.parse(body))).toMatchObject([{ aspect_ratio: '1:1' }])
    expect(json.data[0].url).toStartWith('http')
  })
})

describe('images.edit', () => {
  const fox = () => toFile(picture('png', 64, 64).bytes, 'fox.png', { type: 'image/png' })
  const cat = () => toFile(picture('jpeg').bytes, 'cat.jpg', { type: 'image/jpeg' })
  const called = (): Json =>
    JSON.parse(gateway.sandbox.calls.findLast(({ body }) => body !== '')?.body as string)
  const dataUrl = /^data:image\/png;base64,iVBOR[\w+/]+=*$/

  test('sends the files within the message of Qwen-Image', async () => {
    const images = await client.images.edit({
      model: 'qnx-image-edit',
      image: [await fox(), await cat()],
      prompt: 'a red scarf',
      response_format: 'b64_json',
    })
    expect(kindOf(images.data?.[0]?.b64_json)).toBe('png')
    expect(called().input.messages[0].content).toEqual([
      { image: expect.stringMatching(dataUrl) },
      { image: expect.stringMatching(/^data:image\/jpeg;base64,\/9j/) },
      { text: 'a red scarf' },
    ])
  })

  test('sends them within the request of Seedream', async () => {
    const images = await client.images.edit({
      model: 'seedream-4.5',
      image: await fox(),
      prompt: 'a red scarf',
      size: '1024x1024',
      n: 2,
      response_format: 'url',
    })
    expect(images.data?.map(({ url }) => typeof url)).toEqual(['string', 'string'])
    expect(called()).toEqual({
      model: 'seedream-4-5-251128',
      prompt: 'a red scarf',
      size: '1920x1920',
      response_format: 'url',
      image: [expect.stringMatching(dataUrl)],
    })
  })

  test.each(['qnx-image-edit', 'seedream-4.5', 'gkx-imagine-image'])(
    'returns bytes unless an address is requested, of %s',
    async (model) => {
      const body = { model, image: await fox(), prompt: 'a red scarf' }
      const usual = await client.images.edit(body)
      expect(usual.data?.[0]?.b64_json?.length).toBeGreaterThan(100)
      const linked = await client.images.edit({ ...body, response_format: 'url' })
      expect(linked.data?.[0]?.url).toStartWith('http')
    },
  )

  test('sends them as parts to Gemini', async () => {
    const images = await client.images.edit({
      model: 'gmx-3.1-flash-image',
      image: await fox(),
      prompt: 'a red scarf',
    })
    expect(images.data?.[0]?.b64_json?.length).toBeGreaterThan(100)
    expect(images.usage?.output_tokens).toBeGreaterThan(1_000)
    expect(called().input).toEqual([
      { type: 'image', data: expect.stringMatching(/^iVBOR/), mime_type: 'image/png' },
      { type: 'text', text: 'a red scarf' },
    ])
  })

  test('sends them as references to Imagine, which makes several at once', async () => {
    const { data: images, response } = await client.images
      .edit({
        model: 'gkx-imagine-image',
        image: [await fox(), await fox()],
        prompt: 'a red scarf',
        n: 2,
        size: '1536x1024',
        response_format: 'b64_json',
      })
      .withResponse()
    expect(images.data).toHaveLength(2)
    expect(called()).toMatchObject({
      n: 2,
      aspect_ratio: '3:2',
      images: [{ url: expect.stringMatching(dataUrl), type: 'image_url' }, { type: 'image_url' }],
    })
    // Two images, and two references at 0.2 cents each.
    expect(response.headers.get('x-gateway-cost-usd')).toBe('0.044')
  })

  test('rejects a mask, a model without references, and files that are not images', async () => {
    const before = gateway.sandbox.calls.length
    const attempts: [Partial<OpenAI.ImageEditParamsNonStreaming>, Json][] = [
      [{ mask: await fox() }, { status: 400, param: 'mask' }],
      [{ model: 'qnx-image-2.0' }, { status: 400, code: 'endpoint_model_mismatch' }],
      [{ image: await toFile(Buffer.from('no picture'), 'x.png') }, { code: 'unsupported_image_format' }],
      [{ image: await Promise.all([fox(), fox(), fox(), fox()]) }, { status: 400, param: 'image' }],
      [{ size: '4096x256' as '256x256' }, { status: 400, param: 'size' }],
      [{ background: 'transparent' }, { status: 400, param: 'background' }],
      [{ prompt: '' }, { status: 400, param: 'prompt' }],
    ]
    for (const [changed, error] of attempts) {
      const body = { model: 'qnx-image-edit', image: await fox(), prompt: 'a scarf', ...changed }
      expect(await client.images.edit(body).catch((reason: unknown) => reason)).toMatchObject(error)
    }
    const large = new File([picture('png').bytes as never, new Uint8Array(21 * 1024 * 1024)], 'large.png')
    const body = { model: 'qnx-image-edit', image: large, prompt: 'a scarf' }
    expect(await client.images.edit(body).catch((reason: unknown) => reason)).toMatchObject({
      status: 400,
      param: 'image',
      message: expect.stringContaining('bytes together'),
    })
    expect(gateway.sandbox.calls.length).toBe(before)
  })
})

describe('the Vercel AI SDK', () => {
  const openai = () => createOpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret })

  test.each(ids.filter((id) => id !== 'qnx-image-edit'))('draws with %s', async (id) => {
    const { images } = await generateImage({
      model: openai().image(id),
      prompt: 'a red fox',
      n: 2,
      size: '1024x1024',
    })
    expect(images.map(({ base64 }) => base64.length > 100)).toEqual([true, true])
  })

  test.each(['qnx-image-edit', 'seedream-4.5', 'gmx-3.1-flash-image', 'gkx-imagine-image'])(
    'edits with %s',
    async (id) => {
      const { images } = await generateImage({
        model: openai().image(id),
        prompt: { text: 'a red scarf', images: [picture('png', 64, 64).bytes] },
        n: 2,
      })
      expect(images.map(({ base64 }) => base64.length > 100)).toEqual([true, true])
    },
  )

  test('draws with the provider for servers of this form', async () => {
    const provider = createOpenAICompatible({
      name: 'gateway',
      baseURL: `${gateway.url}/v1`,
      apiKey: gateway.secret,
    })
    const { images } = await generateImage({
      model: provider.imageModel('qnx-image-2.0'),
      prompt: 'a red fox',
      // The client itself fetches no local address.
      providerOptions: { gateway: { response_format: 'b64_json' } },
    })
    expect(images[0]?.base64.length).toBeGreaterThan(100)
  })
})
