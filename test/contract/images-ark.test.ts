// POST /v1/images/generations with the series family: single images, series and streams of them. The hold covers the maximum number of images
// of a request; delivered images are charged, however the answer ends.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { type Json, type Played, play, type Scenario } from '../support/scenario'
import { eventStream, startVendor } from '../support/vendors/vendor'

const PATH = '/v1/images/generations'
const CENT = 10_000_000
const PICTURE = 'https://example.com/cat.png'
const ids = ['seedream-4.0', 'seedream-4.5', 'seedream-5.0-lite'] as const

const catalogue: Record<string, ModelConfig> = shipped.models
const models = Object.fromEntries(ids.map((id) => [id, { ...catalogue[id], price: { per_image: '0.01' } }]))
const odd = startVendor()

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({
    upstreams: { odd: { kind: 'ark', baseUrl: odd.url, apiKey: 'none' } },
    models: {
      ...models,
      'odd-image': { ...models['seedream-4.5'], upstream: 'odd' },
      'gone-image': { ...models['seedream-4.5'], upstreamModel: 'seedream-1-0' },
      'two-references': { ...models['seedream-4.5'], referenceImages: { min: 1, max: 2 }, sizes: ['2K'] },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await odd.stop()
})

/** Sends a request that is answered and charged unless the row says otherwise. */
function draw(body: Record<string, unknown>, expected: Partial<Scenario> = {}): Promise<Played> {
  const rest = { status: 200, vendorCalls: 1, charges: 1, ...expected }
  return play(gateway, {
    name: 'image',
    path: PATH,
    body: { model: 'seedream-4.5', prompt: 'a red fox', ...body },
    ...rest,
  })
}

async function refuse(body: Record<string, unknown>, param: string, ...said: string[]): Promise<void> {
  const { json } = await draw(body, {
    status: 400,
    vendorCalls: 0,
    charges: 0,
    error: { param, type: 'invalid_request_error' },
    words: said,
  })
  expect(Object.keys(json)).toEqual(['error'])
}

function sent({ calls }: Played): Json {
  return JSON.parse(calls[0]?.body ?? '')
}

function series(most?: number): Record<string, unknown> {
  return {
    sequential_image_generation: 'auto',
    ...(most === undefined ? {} : { sequential_image_generation_options: { max_images: most } }),
  }
}

interface Streamed {
  events: { name: string; data: Json }[]
  charge: Json
}

/** Streams a request to its end and reads how its charge ended. */
async function stream(body: Record<string, unknown>, headers?: Record<string, string>): Promise<Streamed> {
  const response = await gateway.post(
    PATH,
    { model: 'seedream-4.5', prompt: 'a red fox', stream: true, ...body },
    headers,
  )
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toStartWith('text/event-stream')
  const events = eventsOf(await response.text())
  const id = response.headers.get('x-request-id')
  const read = () => gateway.charge(id)
  await waitFor(async () => (await read())?.state !== 'held')
  return { events, charge: await read() }
}

function eventsOf(text: string): Streamed['events'] {
  return text
    .split('\n\n')
    .filter((event) => event !== '')
    .map((event) => {
      const name = /^event: (.*)$/m.exec(event)?.[1] ?? ''
      const data = /^data: (.*)$/m.exec(event)?.[1] ?? ''
      return { name, data: jsonOf(data) }
    })
}

/** Text that is not JSON is returned unchanged. */
function jsonOf(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function namesOf({ events }: Streamed): string[] {
  return events.map(({ name, data }) => name || (data.error ? 'error' : data))
}

const SUCCEEDED = 'image_generation.partial_succeeded'
const FAILED = 'image_generation.partial_failed'
const COMPLETED = 'image_generation.completed'

describe('one image', () => {
  test.each(ids)('%s: the vendor’s reply with our model, and one image charged', async (model) => {
    const played = await draw({ model })
    expect(Object.keys(played.json).sort()).toEqual(['created', 'data', 'model', 'usage'])
    expect(played.json).toMatchObject({ model, usage: { generated_images: 1, output_tokens: 16_384 } })
    expect(played.json.data).toEqual([{ url: expect.stringMatching(/^http/), size: '2048x2048' }])
    expect(played.charges).toMatchObject([
      { state: 'settled', held: CENT, amount: CENT, usage_source: 'upstream' },
    ])
    expect(played.logRows).toMatchObject([{ model, operation: 'image', amount: CENT }])
    expect(sent(played)).toEqual({ model: catalogue[model]?.upstreamModel, prompt: 'a red fox' })
    expect(played.calls[0]).toMatchObject({ vendor: 'ark', path: '/api/v3/images/generations' })
  })

  test('the address serves the image for a day', async () => {
    const { json } = await draw({})
    const url = json.data[0].url as string
    const response = await fetch(url)
    expect(response.headers.get('content-type')).toBe('image/jpeg')
    expect(Buffer.from(await response.arrayBuffer()).subarray(0, 2)).toEqual(Buffer.from([0xff, 0xd8]))
    expect((await fetch(url.replace(/Date=\d{4}/, 'Date=2020'))).status).toBe(401)
  })

  test('base64 and PNG if the vendor supports them', async () => {
    const { json } = await draw({
      model: 'seedream-5.0-lite',
      response_format: 'b64_json',
      output_format: 'png',
      size: '2560x1440',
    })
    const bytes = Buffer.from(json.data[0].b64_json, 'base64')
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([2560, 1440])
    expect(json.data[0]).not.toHaveProperty('url')
  })

  test('references, as an address, a data URL or a list of them', async () => {
    for (const image of [PICTURE, 'data:image/png;base64,iVBORw0KGgo=', [PICTURE, PICTURE]]) {
      const played = await draw({ image, size: '4K', watermark: false })
      expect(sent(played)).toMatchObject({ image, size: '4K', watermark: false })
      expect(played.charges).toMatchObject([{ amount: CENT }])
    }
  })

  test('the caller’s text is sent on exactly, except the model', async () => {
    const text = `{ "prompt":"Gr\\u00fc\\u00dfe","guidance_scale": 2.50, "model" : "seedream-4.5","seed":9007199254740993,
      "optimize_prompt_options":{"mode":"standard"}, "image": null, "size":"2K" }`
    const played = await play(gateway, {
      name: 'letters',
      path: PATH,
      body: text,
      status: 200,
      vendorCalls: 1,
      charges: 1,
    })
    expect(played.calls[0]?.body).toBe(text.replace('"seedream-4.5"', '"seedream-4-5-251128"'))
  })
})

describe('a series', () => {
  const rows: [what: string, body: Record<string, unknown>, held: number, made: number][] = [
    ['of at most 3', series(3), 3, 3],
    ['that ends before its limit', { ...series(9), prompt: '[sandbox images=2] foxes' }, 9, 2],
    ['without a limit', series(), 15, 4],
    ['of the maximum length', { ...series(), prompt: '[sandbox images=99] foxes' }, 15, 15],
    [
      'limited by the number of references',
      { ...series(), image: Array(10).fill(PICTURE), prompt: '[sandbox images=99] foxes' },
      5,
      5,
    ],
    ['with as many images as the references allow', { ...series(1), image: Array(14).fill(PICTURE) }, 1, 1],
    [
      'that is disabled',
      { sequential_image_generation: 'disabled', sequential_image_generation_options: { max_images: 5 } },
      1,
      1,
    ],
    ['with two blocked images', { ...series(5), prompt: '[sandbox blocked=2] foxes' }, 5, 3],
    ['with all images blocked', { ...series(2), prompt: '[sandbox blocked=2] foxes' }, 2, 0],
  ]
  test.each(rows)('%s', async (_what, body, held, made) => {
    const { json, charges } = await draw(body)
    expect(json.usage.generated_images).toBe(made)
    expect(json.data.filter((item: Json) => item.url)).toHaveLength(made)
    expect(charges).toMatchObject([
      { state: made > 0 ? 'settled' : 'released', held: held * CENT, amount: made * CENT, shortfall: 0 },
    ])
  })

  test('a failed image has an error at its index', async () => {
    const { json } = await draw({ ...series(2), prompt: '[sandbox blocked=1] foxes' })
    expect(json.data).toEqual([
      { url: expect.stringMatching(/^http/), size: '2048x2048' },
      { error: { code: 'OutputImageSensitiveContentDetected', message: expect.any(String) } },
    ])
  })
})

describe('bad requests', () => {
  const options = 'sequential_image_generation_options.max_images'
  const rows: [what: string, body: Record<string, unknown>, param: string, ...said: string[]][] = [
    ['no prompt', { prompt: undefined }, 'prompt', 'Missing required parameter'],
    ['an empty prompt', { prompt: '' }, 'prompt', 'empty string'],
    ['a prompt that is a list', { prompt: ['a'] }, 'prompt', 'expected a string'],
    ['n of 2 in a stream', { n: 2, stream: true }, 'n', options],
    ['a series of 0', series(0), options, '>= 1'],
    ['a series of 16', series(16), options, '<= 15'],
    [
      'more than 15 references and results',
      { ...series(6), image: Array(10).fill(PICTURE) },
      options,
      'with 10 references at most 5',
    ],
    ['15 references', { image: Array(15).fill(PICTURE) }, 'image', '0 to 14 reference images, but got 15'],
    ['an empty list of references', { image: [] }, 'image', 'at least one item'],
    ['a reference that is an object', { image: { url: PICTURE } }, 'image', 'expected a string or an array'],
    [
      'a reference that is not an address',
      { image: [PICTURE, 'cat.png'] },
      'image[1]',
      'the URL of an image',
    ],
    ['a file of the server', { image: 'file:///etc/passwd' }, 'image', 'a file of the server'],
    [
      'an unknown kind of series',
      { sequential_image_generation: 'yes' },
      'sequential_image_generation',
      "'auto', 'disabled'",
    ],
    ['an unknown response_format', { response_format: 'png' }, 'response_format', "'url', 'b64_json'"],
    ['stream as a string', { stream: 'yes' }, 'stream', 'expected a boolean'],
    [
      'more references than the operator allows',
      { model: 'two-references', image: Array(3).fill(PICTURE) },
      'image',
      'two-references takes 1 to 2 reference images, but got 3',
    ],
    [
      'fewer references than the operator requires',
      { model: 'two-references' },
      'image',
      'two-references takes 1 to 2 reference images, but got 0',
    ],
    [
      'a size that the operator does not offer',
      { model: 'two-references', image: PICTURE, size: '4K' },
      'size',
      'two-references makes 2K',
    ],
  ]
  test.each(rows)('%s', (_what, body, param, ...words) => refuse(body, param, ...words))
})

describe('errors of the vendor', () => {
  const rows: [
    what: string,
    body: Record<string, unknown>,
    status: number,
    code: string,
    ...said: string[],
  ][] = [
    ['an aspect ratio that is too narrow', { size: '16000x300' }, 400, 'InvalidParameter', 'Request id: '],
    [
      'an unsupported size',
      { size: '1K' },
      400,
      'InvalidParameter',
      "must be one of 'WIDTHxHEIGHT', '2k', '4k'",
    ],
    ['a field of another model', { output_format: 'png' }, 400, 'InvalidParameter', 'not supported'],
    [
      'a rate limit',
      { prompt: '[sandbox status=429 retry_after=7] x' },
      429,
      'ModelAccountRpmRateLimitExceeded',
    ],
    [
      'moderation',
      { prompt: '[sandbox status=400 error_code=InputTextSensitiveContentDetected] x' },
      400,
      'InputTextSensitiveContentDetected',
    ],
    ['an unpaid bill', { prompt: '[sandbox quota] x' }, 503, 'upstream_unavailable'],
    ['an unpaid bill inside a 200', { prompt: '[sandbox quota soft] x' }, 503, 'upstream_unavailable'],
    [
      'a limit of the operator’s account',
      { prompt: '[sandbox status=429 error_code=SetLimitExceeded] x' },
      503,
      'upstream_unavailable',
    ],
    [
      'a quota of the operator’s account',
      { prompt: '[sandbox status=429 error_code=QuotaExceeded] x' },
      503,
      'upstream_unavailable',
    ],
    [
      'a model that is not activated',
      { prompt: '[sandbox status=400 error_code=ModelNotOpen] x' },
      503,
      'upstream_unavailable',
    ],
    ['a removed model', { model: 'gone-image' }, 502, 'upstream_model_missing'],
    ['a wrong key', { prompt: '[sandbox status=401] x' }, 503, 'upstream_unavailable'],
    ['a server error', { prompt: '[sandbox status=500] x' }, 502, 'upstream_error'],
    ['garbage', { prompt: '[sandbox garbage] x' }, 502, 'upstream_garbage'],
    [
      'an error inside a 200',
      { prompt: '[sandbox status=400 soft error_text="bad picture"] x' },
      400,
      'InvalidParameter',
      'bad picture',
    ],
  ]
  for (const [what, body, status, code, ...said] of rows) {
    test(`${what}, whole or streamed`, async () => {
      for (const streamed of what === 'garbage' ? [false] : [false, true]) {
        const { charges } = await draw(
          { ...body, ...(streamed && { stream: true }) },
          { status, error: { code }, words: said },
        )
        expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
      }
    })
  }

  test('the rate limit in the flat form, with the vendor’s retry time', async () => {
    const { json, response } = await draw(
      { prompt: '[sandbox status=429 retry_after=7] x' },
      { status: 429, error: { type: 'rate_limit_error' } },
    )
    expect(json).toMatchObject({ code: 'ModelAccountRpmRateLimitExceeded', message: json.error.message })
    expect(response.headers.get('retry-after')).toBe('7')
  })

  test('a bad parameter keeps the vendor’s type and field', () =>
    draw(
      { size: '1K' },
      { status: 400, error: { type: 'BadRequest', param: 'size', code: 'InvalidParameter' } },
    ))

  test('an empty message of the vendor is ignored', async () => {
    const error = { code: 'InvalidParameter', message: 'no such size', param: '', type: '' }
    odd.answer = () => Response.json({ error }, { status: 400 })
    await draw(
      { model: 'odd-image' },
      { status: 400, vendorCalls: 0, error: { type: 'invalid_request_error', param: null } },
    )
  })
})

describe('wrong usage', () => {
  test.each(['missing', 'negative', 'string', 'huge', 'overflow', 'nan'])(
    '%s: delivered images are charged, whole or streamed',
    async (fault) => {
      const body = { ...series(6), prompt: `[sandbox usage=${fault} images=4 blocked=1] foxes` }
      const usage_source = fault === 'missing' ? 'counted' : 'estimated'
      const paid = { state: 'settled', held: 6 * CENT, amount: 3 * CENT, usage_source, shortfall: 0 }
      // The bare word NaN makes a whole reply unreadable, but only one event of a stream.
      if (fault !== 'nan') expect((await draw(body)).charges).toMatchObject([paid])
      expect((await stream(body)).charge).toMatchObject(paid)
    },
  )

  const data = [{ url: 'https://x.volces.com/1.jpeg', size: '1x1' }]
  const rows: [what: string, reply: unknown, status: number, paid: number][] = [
    ['more images than requested', { data: [...data, ...data], usage: { generated_images: 2 } }, 200, 1],
    ['a count above the requested number', { data, usage: { generated_images: 500 } }, 200, 1],
    ['a fractional count', { data, usage: { generated_images: 0.5 } }, 200, 1],
    ['a list as usage', { data, usage: [1] }, 200, 1],
    ['no valid images', { data: [null, {}, { url: '' }, 'x'] }, 502, 0],
    ['an empty list', { data: [], usage: { generated_images: 0 } }, 502, 0],
    ['nothing', {}, 502, 0],
    ['an object as data', { data: { url: 'x' } }, 502, 0],
  ]
  test.each(rows)('a reply with %s', async (_what, reply, status, paid) => {
    odd.answer = () => Response.json(reply)
    const { charges } = await draw({ model: 'odd-image' }, { status, vendorCalls: 0 })
    expect(charges).toMatchObject([{ state: status === 200 ? 'settled' : 'released', amount: paid * CENT }])
  })
})

describe('a stream', () => {
  test('has an event for each image, the usage and the end, with our model', async () => {
    const streamed = await stream({ ...series(4), prompt: '[sandbox images=3 blocked=1] foxes' })
    expect(namesOf(streamed)).toEqual([SUCCEEDED, SUCCEEDED, FAILED, COMPLETED, '[DONE]'])
    const [first, second, failed, completed] = streamed.events.map(({ data }) => data)
    expect(first).toMatchObject({ type: SUCCEEDED, model: 'seedream-4.5', image_index: 0, size: '2048x2048' })
    expect(second.image_index).toBe(1)
    expect(failed).toMatchObject({
      image_index: 2,
      error: { code: 'OutputImageSensitiveContentDetected' },
    })
    expect(completed.usage).toMatchObject({ generated_images: 2 })
    expect(streamed.charge).toMatchObject({
      state: 'settled',
      held: 4 * CENT,
      amount: 2 * CENT,
      usage_source: 'upstream',
      ended_by: 'done',
    })
  })

  test('returns large images in base64, split at any byte', async () => {
    const body = {
      ...series(3),
      response_format: 'b64_json',
      model: 'seedream-5.0-lite',
      output_format: 'png',
    }
    for (const directive of ['images=3', 'images=3 cut_after=3']) {
      const { events, charge } = await stream({ ...body, prompt: `[sandbox ${directive}] foxes` })
      const made = events.filter(({ name }) => name === SUCCEEDED)
      expect(made.map(({ data }) => data.image_index)).toEqual([0, 1, 2])
      expect(Buffer.from(made[2]?.data.b64_json, 'base64').readUInt32BE(16)).toBe(2048)
      expect(charge).toMatchObject({ state: 'settled', amount: 3 * CENT })
    }
  })

  const cuts: [directive: string, last: string, paid: number, state: string, endedBy: string][] = [
    ['cut_after=1', 'error', 1, 'settled', 'upstream'],
    ['cut_after=3', 'error', 3, 'settled', 'upstream'],
    ['blocked=3 cut_after=2', 'error', 1, 'settled', 'upstream'],
    ['blocked=4 cut_after=2', 'error', 0, 'released', 'upstream'],
    ['error_after=2', 'error', 2, 'settled', 'done'],
    ['error_after=0', 'error', 0, 'released', 'done'],
    ['no_done', COMPLETED, 4, 'settled', 'done'],
    ['crlf', '[DONE]', 4, 'settled', 'done'],
    ['split', '[DONE]', 4, 'settled', 'done'],
    ['empty', '[DONE]', 0, 'released', 'done'],
    ['blocked=4', '[DONE]', 0, 'released', 'done'],
  ]
  test.each(cuts)('%s', async (directive, last, paid, state, endedBy) => {
    const prompt = `[sandbox images=4 ${directive}] foxes`
    const response = await gateway.post(PATH, {
      model: 'seedream-4.5',
      prompt,
      stream: true,
      ...series(6),
    })
    const text = (await response.text()).replaceAll('\r\n', '\n')
    expect(namesOf({ events: eventsOf(text), charge: undefined }).at(-1)).toBe(last)
    const id = response.headers.get('x-request-id')
    const charge = await gateway.charge(id)
    expect(charge).toMatchObject({ state, held: 6 * CENT, amount: paid * CENT })
    if (last !== 'error') expect(charge?.ended_by).toBe(endedBy)
  })

  test('is charged for the delivered images if the caller disconnects', async () => {
    const controller = new AbortController()
    const response = await fetch(`${gateway.url}${PATH}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'seedream-4.5',
        prompt: '[sandbox images=9 token_delay_ms=1500] foxes',
        stream: true,
        ...series(9),
      }),
      signal: controller.signal,
    })
    const reader = response.body?.getReader()
    let text = ''
    while (!text.includes('"image_index":1')) {
      const { value } = (await reader?.read()) ?? {}
      text += Buffer.from(value ?? new Uint8Array()).toString()
    }
    controller.abort()
    const id = response.headers.get('x-request-id')
    const read = () => gateway.charge(id)
    await waitFor(async () => (await read())?.state !== 'held')
    expect(await read()).toMatchObject({
      state: 'settled',
      ended_by: 'client',
      amount: 2 * CENT,
      usage_source: 'counted',
    })
    const call = gateway.sandbox.calls.at(-1)
    await waitFor(() => call?.aborted === true)
    expect(call?.aborted).toBe(true)
  })

  const images = [0, 1].map((image_index) => ({
    type: SUCCEEDED,
    image_index,
    url: 'https://x.volces.com/1.jpeg',
  }))
  const completed = (generated_images: unknown) => ({ type: COMPLETED, usage: { generated_images } })
  const rows: [what: string, events: unknown[], paid: number][] = [
    ['without usage', images, 2],
    ['with usage of fewer images', [...images, completed(1)], 1],
    ['with usage of more images than requested', [...images, completed(9)], 2],
    ['with more images than requested', [...images, ...images, completed(4)], 3],
    ['with previews', [{ type: 'image_generation.partial_image', b64_json: 'AAAA' }, ...images], 2],
    ['with invalid images', [{ type: SUCCEEDED, url: '' }, { type: SUCCEEDED }, completed(0)], 0],
    ['with usage twice', [completed(2), ...images, completed(2)], 2],
    ['with only a failed image', [{ type: FAILED, error: { code: 'x', message: 'y' } }], 0],
  ]
  test.each(rows)('%s', async (_what, events, paid) => {
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    odd.answer = () => eventStream(`${text}data: [DONE]\n\n`)
    const { charge } = await stream({ model: 'odd-image', ...series(3) })
    const state = paid > 0 ? 'settled' : 'released'
    expect(charge).toMatchObject({ state, amount: paid * CENT, ended_by: 'done', shortfall: 0 })
  })

  test('is replayed under the same Idempotency-Key, and charged once', async () => {
    const body = { ...series(2), stream: true, model: 'seedream-4.5', prompt: 'twice' }
    const headers = { 'idempotency-key': 'two-foxes' }
    const first = await draw(body, { headers })
    const again = await draw(body, {
      headers,
      vendorCalls: 0,
      charges: 0,
      answers: { 'idempotent-replayed': 'true' },
    })
    expect(again.text).toBe(first.text)
  })
})

describe('the official SDK', () => {
  const client = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })

  test('makes an image, and streams a series with the family’s own fields', async () => {
    const params = { model: 'seedream-4.5', prompt: 'a red fox', n: 1 }
    const whole = await client().images.generate(params)
    expect(whole.data?.[0]?.url).toStartWith('http')
    const more = { ...params, ...series(2), stream: true } as const
    const types: string[] = []
    for await (const event of await client().images.generate(more)) types.push(event.type)
    expect(types).toEqual([SUCCEEDED, SUCCEEDED, COMPLETED])
  })

  test('shows why a request is rejected', async () => {
    const body = { model: 'seedream-4.5', prompt: 'a red fox', n: 11 }
    const error = await client()
      .images.generate(body)
      .catch((reason: unknown) => reason)
    expect(error).toMatchObject({ status: 400, param: 'n', code: 'integer_above_max_value' })
  })
})

describe('the simulated vendor, called directly, rejects the same requests as the real one', () => {
  const rows: [what: string, body: Record<string, unknown>, code: string, param: string, said: string][] = [
    ['no model', { model: undefined }, 'MissingParameter', 'model', 'missing `model`'],
    ['no prompt', { prompt: undefined }, 'MissingParameter', 'prompt', 'missing `prompt`'],
    [
      'a reference that is not an address',
      { image: 'x' },
      'InvalidParameter',
      'image',
      'invalid url specified',
    ],
    [
      '15 references',
      { image: Array(15).fill(PICTURE) },
      'InvalidParameter',
      'image',
      'at most 14 images but got 15',
    ],
    [
      'an unknown kind of series',
      { sequential_image_generation: 'yes' },
      'InvalidParameter',
      'sequential_image_generation',
      "'auto'",
    ],
    [
      'a series that is too long',
      series(16),
      'InvalidParameter',
      'sequential_image_generation_options.max_images',
      'between 1 and 15',
    ],
    ['too many pixels', { size: '8192x8192' }, 'InvalidParameter', 'size', 'at most 16777216 pixels'],
    ['an extreme aspect ratio', { size: '16000x300' }, 'InvalidParameter', 'size', 'between 1/16 and 16'],
  ]
  test.each(rows)('%s', async (_what, body, code, param, said) => {
    const { baseUrls, secrets } = gateway.sandbox
    const response = await fetch(`${baseUrls.ark}/images/generations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secrets.ark}` },
      body: JSON.stringify({ model: 'seedream-4-5-251128', prompt: 'a fox', ...body }),
    })
    expect(response.status).toBe(400)
    const { error } = (await response.json()) as Json
    expect(error).toMatchObject({ code, param, type: 'BadRequest' })
    expect(error.message).toContain(said)
    expect(error.message).toEndWith(`Request id: ${response.headers.get('x-request-id')}`)
  })
})

test('the catalogue’s prices and vendor model names', () => {
  expect(ids.map((id) => [catalogue[id]?.upstreamModel, catalogue[id]?.price?.per_image])).toEqual([
    ['seedream-4-0-250828', '0.03'],
    ['seedream-4-5-251128', '0.04'],
    ['seedream-5-0-260128', '0.035'],
  ])
})
