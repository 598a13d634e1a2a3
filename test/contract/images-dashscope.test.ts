// POST /v1/images/generations with the spec's `qnx-image-*` models, in the shipped catalogue: every rule of its
// table, errors in the flat form, and one charge per generated image.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway, withinOneMinute } from '../support/gateway'
import { type Json, type Played, play, type Scenario } from '../support/scenario'
import { startVendor } from '../support/vendors/vendor'

const PATH = '/v1/images/generations'
const CENT = 10_000_000
const painters = ['qnx-image-2.0', 'qnx-image-2.0-pro', 'qnx-image-max'] as const
const editors = ['qnx-image-edit', 'qnx-image-edit-plus', 'qnx-image-edit-max'] as const
const sizes = [
  '1024*1024',
  '1664*928',
  '1472*1140',
  '1328*1328',
  '1140*1472',
  '928*1664',
  '1280*720',
  '720*1280',
]
const PICTURE = 'https://example.com/cat.png'

const catalogue: Record<string, ModelConfig> = shipped.models
const models = Object.fromEntries(
  [...painters, ...editors].map((id) => [id, { ...catalogue[id], price: { per_image: '0.01' } }]),
)
const odd = startVendor()

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({
    upstreams: { odd: { kind: 'dashscope', baseUrl: odd.url, apiKey: 'none' } },
    models: {
      ...models,
      'odd-image': { ...models['qnx-image-2.0'], upstream: 'odd' },
      'gone-image': { ...models['qnx-image-2.0'], upstreamModel: 'qwen-image-0.1' },
      'own-sizes': { ...models['qnx-image-max'], sizes: ['1328*1328', '928*1664'] },
      'fixed-sizes': { ...models['qnx-image-max'], upstreamModel: 'qwen-image-plus' },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await odd.stop()
})

type Block = { text: string } | { image: string }

function words(...content: Block[]): Json {
  return { messages: [{ role: 'user', content }] }
}

const fox = words({ text: 'a red fox' })
const edit = words({ image: PICTURE }, { text: 'make it night' })

/** Sends a request that is charged unless the row says otherwise. */
function draw(body: Record<string, unknown>, expected: Partial<Scenario> = {}): Promise<Played> {
  const rest = { status: 200, vendorCalls: 1, charges: 1, ...expected }
  return play(gateway, { name: 'image', path: PATH, body, ...rest })
}

/** Sends a request that fails validation: the error has the flat form and an `error` object. */
async function refuse(body: unknown, param: string | null, ...said: string[]): Promise<void> {
  const error = { param, type: 'invalid_request_error' }
  const { json, response } = await play(gateway, {
    name: 'refused',
    path: PATH,
    body,
    status: 400,
    error,
    words: said,
  })
  expect(json).toMatchObject({ code: 'InvalidParameter', message: json.error.message })
  expect(json.request_id).toBe(response.headers.get('x-request-id'))
}

function sent({ calls }: Played): Json {
  return JSON.parse(calls[0]?.body ?? '')
}

function imagesOf({ json }: Played): string[] {
  return json.output.choices.flatMap((choice: Json) => choice.message.content.map((part: Json) => part.image))
}

describe('text to image', () => {
  test.each(painters)('%s: the vendor’s reply unchanged, and one image charged', async (model) => {
    const played = await draw({ model, input: fox })
    expect(Object.keys(played.json).sort()).toEqual(['output', 'request_id', 'usage'])
    expect(played.json.request_id).toMatch(/^[0-9a-f-]{36}$/)
    expect(played.json.usage).toEqual({ image_count: 1, width: 1024, height: 1024 })
    expect(played.json.output.choices).toMatchObject([
      { finish_reason: 'stop', message: { role: 'assistant' } },
    ])
    expect(imagesOf(played)).toHaveLength(1)
    expect(played.charges).toMatchObject([{ state: 'settled', amount: CENT, usage_source: 'upstream' }])
    expect(played.logRows).toMatchObject([{ model, amount: CENT, operation: 'image' }])
    expect(played.response.headers.get('x-gateway-cost-usd')).toBe('0.01')
    // The spec's default size, which differs from the vendor's default.
    expect(sent(played)).toEqual({
      model: catalogue[model]?.upstreamModel,
      input: fox,
      parameters: { size: '1024*1024' },
    })
    expect(played.calls[0]?.path).toBe('/api/v1/services/aigc/multimodal-generation/generation')
  })

  test('the address serves a PNG of that size without a key', async () => {
    const played = await draw({ model: 'qnx-image-2.0', input: fox, parameters: { size: '1280*720' } })
    const [url = ''] = imagesOf(played)
    const response = await fetch(url)
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(response.headers.get('content-type')).toBe('image/png')
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([1280, 720])
    const expired = await fetch(url.replace(/Expires=\d+/, 'Expires=1'))
    expect(expired.status).toBe(401)
  })

  test.each(painters)('%s accepts every size of the spec', async (model) => {
    for (const size of sizes) {
      const played = await draw({ model, input: fox, parameters: { size } })
      const [width, height] = size.split('*').map(Number)
      expect(played.json.usage).toMatchObject({ width, height })
      expect(sent(played).parameters).toEqual({ size })
    }
  })

  test('the request is sent byte for byte except the model', async () => {
    const text = `{ "input": {"messages":[{"content":[{"text":"Gr\\u00fc\\u00dfe"}],"role":"user"}], "later": 1.0},
      "parameters":{"seed":  7,"size":"1328*1328","n":1.0, "watermark":true,"prompt_extend":false,
      "negative_prompt":"blurry", "big":9007199254740993}, "model":"qnx-image-2.0" }`
    const played = await draw(text as never)
    expect(played.calls[0]?.body).toBe(text.replace('qnx-image-2.0', 'qwen-image-2.0'))
  })

  test('only a size is added to the given parameters', async () => {
    const parameters = { n: 1, seed: 42, watermark: false, negative_prompt: 'blurry', other: { a: [1] } }
    const played = await draw({ model: 'qnx-image-2.0', input: fox, parameters })
    expect(sent(played).parameters).toEqual({ ...parameters, size: '1024*1024' })
  })

  test('an operator’s own list of sizes replaces it, with its first as the default', async () => {
    const played = await draw({ model: 'own-sizes', input: fox })
    expect(sent(played).parameters).toEqual({ size: '1328*1328' })
    await draw({ model: 'own-sizes', input: fox, parameters: { size: '928*1664' } })
    await refuse(
      { model: 'own-sizes', input: fox, parameters: { size: '1024*1024' } },
      'parameters.size',
      'own-sizes makes 1328*1328, 928*1664',
    )
  })
})

describe('editing', () => {
  for (const model of editors) {
    test(`${model}: 1 to 3 references in any order, and no default size`, async () => {
      for (const count of [1, 2, 3]) {
        const images = Array.from({ length: count }, (_, index) => ({ image: `${PICTURE}?${index}` }))
        for (const input of [words(...images, { text: 'x' }), words({ text: 'x' }, ...images)]) {
          const played = await draw({ model, input })
          expect(sent(played)).toEqual({ model: catalogue[model]?.upstreamModel, input })
          expect(played.charges).toMatchObject([{ state: 'settled', amount: CENT }])
        }
      }
    })

    test(`${model} without a reference, with four, or without a text: 400`, async () => {
      const param = 'input.messages[0].content'
      const said = `${model} needs 1 to 3 reference images, each in an \`image\` block, but got`
      await refuse({ model, input: fox }, param, `${said} 0`)
      const four = Array.from({ length: 4 }, () => ({ image: PICTURE }))
      await refuse({ model, input: words(...four, { text: 'x' }) }, param, `${said} 4`)
      await refuse({ model, input: words({ image: PICTURE }) }, param, 'add a block with a `text`')
    })
  }

  test('a requested size is sent, and a data URL works like an address', async () => {
    const image = 'data:image/png;base64,iVBORw0KGgo='
    const input = words({ image }, { text: 'x' })
    const played = await draw({ model: 'qnx-image-edit-plus', input, parameters: { size: '1280*720' } })
    expect(sent(played)).toEqual({ model: 'qwen-image-edit-plus', input, parameters: { size: '1280*720' } })
    expect(played.json.usage).toMatchObject({ width: 1280, height: 720 })
  })
})

describe('bad requests', () => {
  const model = 'qnx-image-2.0'
  const content = 'input.messages[0].content'
  const message = { role: 'user', content: [{ text: 'x' }] }
  const rows: [what: string, body: Record<string, unknown>, param: string, ...said: string[]][] = [
    ['no input', {}, 'input', 'Missing required parameter'],
    ['a string as input', { input: 'a fox' }, 'input', 'expected an object'],
    ['no messages', { input: {} }, 'input.messages', 'Missing required parameter'],
    ['an empty list of messages', { input: { messages: [] } }, 'input.messages', 'at least one item'],
    ['two messages', { input: { messages: [message, message] } }, 'input.messages', 'at most 1'],
    [
      'an unsupported role',
      { input: { messages: [{ ...message, role: 'system' }] } },
      'input.messages[0].role',
      "'user'",
    ],
    ['a string as content', { input: { messages: [{ role: 'user', content: 'x' }] } }, content, 'an array'],
    ['no content block', { input: words() }, content, 'at least one item'],
    [
      'a block with text and image',
      { input: words({ text: 'x', image: PICTURE }) },
      `${content}[0]`,
      'either a `text` or an `image`',
    ],
    [
      'a block without text or image',
      { input: words({ text: 'x' }, {} as Block) },
      `${content}[1]`,
      'either a `text` or an `image`',
    ],
    ['an empty text', { input: words({ text: '' }) }, `${content}[0].text`, 'empty string'],
    [
      'a reference image',
      { input: words({ text: 'x' }, { image: PICTURE }) },
      content,
      'qnx-image-2.0 makes images from text alone',
    ],
    [
      'a size of the vendor that is not in the spec',
      { input: fox, parameters: { size: '1472*1104' } },
      'parameters.size',
      'qnx-image-2.0 makes 1024*1024, 1664*928, 1472*1140',
    ],
    ['a size with an x', { input: fox, parameters: { size: '1024x1024' } }, 'parameters.size', '1024*1024'],
    ['no image', { input: fox, parameters: { n: 0 } }, 'parameters.n', '>= 1'],
    ['two images', { input: fox, parameters: { n: 2 } }, 'parameters.n', '<= 1'],
    [
      'a fractional seed',
      { input: fox, parameters: { seed: 0.5 } },
      'parameters.seed',
      'expected an integer',
    ],
    [
      'a watermark as a string',
      { input: fox, parameters: { watermark: 'no' } },
      'parameters.watermark',
      'boolean',
    ],
    ['a list as parameters', { input: fox, parameters: [] }, 'parameters', 'expected an object'],
  ]
  test.each(rows)('%s', (_what, body, param, ...words) => refuse({ model, ...body }, param, ...words))

  test.each(['http://example.com/cat.png', 'cat.png', 'https://', 'file:///etc/passwd', 'https://a b'])(
    'a reference at %s',
    (image) =>
      refuse(
        { model: 'qnx-image-edit', input: words({ image }, { text: 'x' }) },
        `${content}[0].image`,
        'an https URL that the public internet can reach',
      ),
  )

  test('an unknown model and a missing model', async () => {
    await refuse({ model: 'qnx-image-9', input: fox }, 'model', 'qnx-image-9', 'GET /v1/models')
    await refuse({ input: fox }, 'model', 'You must provide a model')
    await refuse({ model: 'test-chat', input: fox }, 'model', 'does not serve /v1/images/generations')
  })

  test('a body that is not JSON', () => refuse('{"model"', null, 'JSON'))

  test('an invalid key and no key: 401', async () => {
    for (const key of ['sk-wrong', null]) {
      const { json } = await draw(
        { model, input: fox },
        { key, status: 401, vendorCalls: 0, charges: 0, error: { code: 'invalid_api_key' } },
      )
      expect(json).toMatchObject({ code: json.error.code, message: json.error.message })
    }
  })
})

describe('errors of the vendor', () => {
  const model = 'qnx-image-2.0'

  async function provoke(directive: string, status: number, code: string, ...said: string[]) {
    const played = await draw(
      { model, input: words({ text: `[sandbox ${directive}] a fox` }) },
      { status, error: { code }, words: said },
    )
    expect(played.charges).toMatchObject([{ state: 'released', amount: 0 }])
    expect(played.json).toMatchObject({ code, message: played.json.error.message })
    return played
  }

  test('moderation: its code and message', () =>
    provoke('blocked=1', 400, 'DataInspectionFailed', 'Output data may contain inappropriate content.'))

  test('a bad parameter that only the vendor knows', async () => {
    const { charges } = await draw(
      { model, input: fox, parameters: { seed: 2_147_483_648 } },
      { status: 400, error: { code: 'InvalidParameter' }, words: ['seed must be in [0, 2147483647]'] },
    )
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
    await draw(
      { model: 'fixed-sizes', input: fox, parameters: { size: '1472*1140' } },
      { status: 400, error: { code: 'InvalidParameter' }, words: ['size must be in 1664*928,1472*1104'] },
    )
  })

  test('its rate limit: 429 in the flat form, with a retry time', async () => {
    const { response, json } = await provoke(
      'status=429',
      429,
      'Throttling.RateQuota',
      'Requests rate limit exceeded',
    )
    expect(response.headers.get('retry-after')).toBe('1')
    expect(json.request_id).toBe(response.headers.get('x-request-id'))
  })

  test('an unpaid bill of the operator is a 503 without details', async () => {
    const { text } = await provoke('quota', 503, 'upstream_unavailable')
    expect(text).not.toContain('Arrearage')
    expect(gateway.log.at(-1)).toMatchObject({
      event: 'upstream_refused_operator',
      fields: { code: 'Arrearage' },
    })
    await provoke('quota soft', 503, 'upstream_unavailable')
    expect(gateway.log.at(-1)).toMatchObject({ fields: { code: 'Arrearage' } })
  })

  test('a model that is unknown to the vendor', async () => {
    await draw({ model: 'gone-image', input: fox }, { status: 503, error: { code: 'upstream_unavailable' } })
    expect(gateway.log.at(-1)).toMatchObject({ fields: { message: 'Model not exist.' } })
  })

  test('an error inside a 200 is reported as an error', () =>
    provoke(
      'status=400 soft error_code=InvalidURL error_text="download image failed"',
      400,
      'InvalidURL',
      'download image failed',
    ))

  test('a 200 without an image is free', () => provoke('empty', 502, 'upstream_empty', 'without a result'))

  test.each([
    ['status=500', 502, 'upstream_error'],
    ['status=503', 503, 'upstream_error'],
    ['garbage', 502, 'upstream_garbage'],
    ['cut_after=1', 502, 'upstream_garbage'],
  ] as const)('%s', async (directive, status, code) => {
    await provoke(directive, status, code)
  })
})

describe('money', () => {
  test.each(['missing', 'negative', 'string', 'huge', 'overflow'])(
    'usage that is %s: the returned image is charged',
    async (fault) => {
      const { charges } = await draw({
        model: 'qnx-image-2.0',
        input: words({ text: `[sandbox usage=${fault}] a fox` }),
      })
      const usage_source = fault === 'missing' ? 'upstream' : 'estimated'
      expect(charges).toMatchObject([{ state: 'settled', amount: CENT, held: CENT, usage_source }])
    },
  )

  test('images beyond the requested number are free', async () => {
    const { json, charges } = await draw({
      model: 'qnx-image-2.0',
      input: words({ text: '[sandbox images=3] a fox' }),
    })
    expect(json.usage.image_count).toBe(3)
    expect(charges).toMatchObject([{ state: 'settled', amount: CENT, shortfall: 0 }])
  })

  const odds: [what: string, reply: unknown][] = [
    ['nothing', {}],
    ['output that is null', { output: null }],
    ['an object as choices', { output: { choices: {} } }],
    ['null in choices', { output: { choices: [null, { message: null }, { message: { content: 'x' } }] } }],
    ['null in content', { output: { choices: [{ message: { content: [null, {}, { image: 1 }] } }] } }],
  ]
  test.each(odds)('a reply with %s has no image', async (_what, reply) => {
    odd.answer = () => Response.json(reply)
    const { charges } = await draw(
      { model: 'odd-image', input: fox },
      { status: 502, vendorCalls: 0, error: { code: 'upstream_empty' } },
    )
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })

  test('insufficient balance: 402 before the vendor is called', async () => {
    const { secret } = await gateway.makeKey('poor', '0.009')
    const { json, response } = await draw(
      { model: 'qnx-image-2.0', input: fox },
      { key: secret, status: 402, vendorCalls: 0, charges: 0, error: { code: 'insufficient_balance' } },
    )
    expect(json.error.message).toContain('may cost up to $0.01')
    expect(response.headers.get('x-should-retry')).toBe('false')
  })

  test('a limit of the gateway: 429 in the flat form', () =>
    withinOneMinute(async () => {
      const { secret } = await gateway.makeKey('limited', '1', { requestsPerMinute: 1 })
      const body = { model: 'qnx-image-2.0', input: fox }
      await draw(body, { key: secret })
      const { json, response } = await draw(body, {
        key: secret,
        status: 429,
        vendorCalls: 0,
        charges: 0,
        error: { type: 'rate_limit_error' },
      })
      expect(json).toMatchObject({ code: 'Throttling.RateQuota', message: json.error.message })
      expect(json.request_id).toBe(response.headers.get('x-request-id'))
      expect(Number(response.headers.get('retry-after'))).toBeWithin(1, 61)
    }))

  test('the same Idempotency-Key: the same image, charged once', async () => {
    const headers = { 'idempotency-key': 'one-fox' }
    const body = { model: 'qnx-image-2.0', input: fox }
    const first = await draw(body, { headers })
    const again = await draw(body, {
      headers,
      vendorCalls: 0,
      charges: 0,
      answers: { 'idempotent-replayed': 'true' },
    })
    expect(again.text).toBe(first.text)
    const other = await draw(
      { ...body, input: edit },
      {
        headers,
        status: 400,
        vendorCalls: 0,
        charges: 0,
      },
    )
    expect(other.json.code).toBe('InvalidParameter')
  })
})

describe('the simulated vendor, called directly, rejects the same requests as the real one', () => {
  const PICTURES = { image: PICTURE }
  const rows: [what: string, model: string, input: Json, parameters: Json, said: string][] = [
    ['an unknown model', 'qwen-image-0.1', fox, {}, 'Model not exist.'],
    ['no messages', 'qwen-image-2.0', {}, {}, 'No messages found in input'],
    [
      'two messages',
      'qwen-image-2.0',
      { messages: [...fox.messages, ...fox.messages] },
      {},
      'messages length only support 1',
    ],
    ['no text', 'qwen-image-edit', words(PICTURES), {}, 'lack of image or text'],
    ['no image to edit', 'qwen-image-edit', fox, {}, 'lack of image or text'],
    [
      'four images',
      'qwen-image-edit',
      words(PICTURES, PICTURES, PICTURES, PICTURES, { text: 'x' }),
      {},
      'content length only support 4',
    ],
    ['an image for a text-to-image model', 'qwen-image-max', edit, {}, 'content length only support 1'],
    [
      'a reference that is not an address',
      'qwen-image-edit',
      words({ image: 'x' }, { text: 'x' }),
      {},
      'url error, please check url!',
    ],
    ['n of 2', 'qwen-image-max', fox, { n: 2 }, 'num_images_per_prompt must be 1.'],
    ['n of 7', 'qwen-image-2.0', fox, { n: 7 }, 'between 1 and 6'],
    ['a negative seed', 'qwen-image-2.0', fox, { seed: -1 }, 'seed must be in [0, 2147483647]'],
    ['a malformed size', 'qwen-image-2.0', fox, { size: '1024x1024' }, 'Invalid input format'],
    ['too many pixels', 'qwen-image-2.0', fox, { size: '4096*2048' }, 'total pixels'],
    ['a side below the minimum', 'qwen-image-max', fox, { size: '500*1024' }, 'between 512 and 2048'],
    [
      'a size of the spec that it does not support',
      'qwen-image-plus',
      fox,
      { size: '1472*1140' },
      'size must be in 1664*928,1472*1104',
    ],
  ]

  function ask(body: unknown): Promise<Response> {
    const { baseUrls, secrets } = gateway.sandbox
    return fetch(`${baseUrls.dashscope}/api/v1/services/aigc/multimodal-generation/generation`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secrets.dashscope}` },
      body: JSON.stringify(body),
    })
  }

  test.each(rows)('%s', async (_what, model, input, parameters, said) => {
    const response = await ask({ model, input, parameters })
    const body = (await response.json()) as Json
    expect({ status: response.status, code: body.code }).toEqual({ status: 400, code: 'InvalidParameter' })
    expect(body.message).toContain(said)
    expect(Object.keys(body)).toEqual(['code', 'message', 'request_id'])
  })

  test('and makes several if it can, in its own sizes', async () => {
    const several = (await (
      await ask({ model: 'qwen-image-2.0', input: fox, parameters: { n: 3 } })
    ).json()) as Json
    expect(several.usage).toEqual({ image_count: 3, width: 2048, height: 2048 })
    expect(several.output.choices[0].message.content).toHaveLength(3)
    // The oldest editor ignores both.
    const one = (await (
      await ask({ model: 'qwen-image-edit', input: edit, parameters: { n: 1, size: '9*9' } })
    ).json()) as Json
    expect(one.usage).toEqual({ image_count: 1, width: 1024, height: 1024 })
  })
})

test('the spec’s catalogue: prices, and which models edit', () => {
  const prices = ['0.035', '0.075', '0.075', '0.045', '0.03', '0.075']
  expect([...painters, ...editors].map((id) => catalogue[id]?.price?.per_image)).toEqual(prices)
  for (const id of painters) expect(catalogue[id]?.referenceImages).toBeUndefined()
  for (const id of editors) expect(catalogue[id]?.referenceImages).toEqual({ min: 1, max: 3 })
})
