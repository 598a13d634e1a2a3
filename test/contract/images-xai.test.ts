// POST /v1/images/generations with `gkx-imagine-image*` (spec): OpenAI's form is translated to the vendor's, only
// images that arrive are charged, and the caller's mistakes are reported before the vendor is called.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import OpenAI from 'openai'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { type Json, type Played, play, type Scenario } from '../support/scenario'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const catalogue: Record<string, ModelConfig> = shipped.models
const entry = (id: string) => catalogue[id] as ModelConfig
const MILLI = 1_000_000

const plain = 'gkx-imagine-image'
const quality = 'gkx-imagine-image-quality'
/** A model of the generation with several qualities at different prices. */
const second = 'test-second-generation'
const odd = 'test-odd'

let gateway: TestGateway
let vendor: OddVendor

beforeAll(async () => {
  vendor = startVendor()
  gateway = await startTestGateway({
    upstreams: { odd: { ...vendor.upstream, kind: 'xai' } },
    models: {
      [plain]: entry(plain),
      [quality]: entry(quality),
      [second]: {
        ...entry(quality),
        upstreamModel: 'grok-imagine-image-2.0',
        price: {
          per_image: { '1k low': '0.04', '1k medium': '0.06', '1k high': '0.08', '2k': '0.10' },
          per_input_image: '0.01',
        },
      },
      'test-small': { ...entry(plain), price: { per_image: { '1k': '0.02' }, per_input_image: '0' } },
      'test-few-sizes': { ...entry(plain), sizes: ['1024x1024', '1024x1536'] },
      [odd]: { ...entry(quality), upstream: 'odd' },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

function draw(body: Record<string, unknown>, expected: Partial<Scenario> = {}): Promise<Played> {
  const rest = { status: 200, vendorCalls: 1, charges: 1, ...expected }
  const whole = { model: plain, prompt: 'a cat in a tree', ...body }
  return play(gateway, { name: 'image', path: '/v1/images/generations', body: whole, ...rest })
}

/** Path of the call to the vendor, and the members of its body besides model and prompt. */
function asked({ calls }: Played): { path: string | undefined; body: Json } {
  const { model, prompt, ...body } = JSON.parse(calls[0]?.body ?? '{}')
  expect([typeof model, prompt]).toEqual(['string', 'a cat in a tree'])
  return { path: calls[0]?.path, body }
}

const GENERATE = '/v1/images/generations'
const EDIT = '/v1/images/edits'
const cat = { url: 'https://example.com/cat.jpg' }
const catSent = { type: 'image_url', url: 'https://example.com/cat.jpg' }

interface Translation {
  body: Record<string, unknown>
  path?: string
  /** Members that the vendor gets next to model and prompt. */
  sent: Record<string, unknown>
  /** Thousandths of a dollar. */
  paid: number
}

const translations: Translation[] = [
  { body: {}, sent: {}, paid: 20 },
  { body: { n: 10 }, sent: { n: 10 }, paid: 200 },
  { body: { n: null, size: null, quality: null, image: null, images: null }, sent: { n: null }, paid: 20 },
  { body: { size: 'auto', quality: 'auto' }, sent: {}, paid: 20 },
  { body: { size: '1024x1024' }, sent: { aspect_ratio: '1:1', resolution: '1k' }, paid: 20 },
  { body: { size: '256x256' }, sent: { aspect_ratio: '1:1', resolution: '1k' }, paid: 20 },
  { body: { size: '1536x1024' }, sent: { aspect_ratio: '3:2', resolution: '1k' }, paid: 20 },
  { body: { size: '1024x1536' }, sent: { aspect_ratio: '2:3', resolution: '1k' }, paid: 20 },
  { body: { size: '1792x1024' }, sent: { aspect_ratio: '16:9', resolution: '1k' }, paid: 20 },
  { body: { size: '1080x1920' }, sent: { aspect_ratio: '9:16', resolution: '1k' }, paid: 20 },
  { body: { size: '1200x900' }, sent: { aspect_ratio: '4:3', resolution: '1k' }, paid: 20 },
  { body: { size: '2170x1000' }, sent: { aspect_ratio: '19.5:9', resolution: '2k' }, paid: 20 },
  { body: { size: '1000x2400' }, sent: { aspect_ratio: '9:20', resolution: '2k' }, paid: 20 },
  {
    body: { model: quality, size: '2048x2048' },
    sent: { aspect_ratio: '1:1', resolution: '2k' },
    paid: 70,
  },
  {
    body: { model: quality, size: '1024x1024', n: 3 },
    sent: { aspect_ratio: '1:1', resolution: '1k', n: 3 },
    paid: 150,
  },
  // The vendor's own fields pass, and win.
  {
    body: { aspect_ratio: '19.5:9', resolution: '2k' },
    sent: { aspect_ratio: '19.5:9', resolution: '2k' },
    paid: 20,
  },
  {
    body: { model: quality, size: '2048x2048', aspect_ratio: '16:9', resolution: '1k' },
    sent: { aspect_ratio: '16:9', resolution: '1k' },
    paid: 50,
  },
  {
    body: { response_format: 'b64_json', user: 'user-1' },
    sent: { response_format: 'b64_json', user: 'user-1' },
    paid: 20,
  },
  { body: { storage_options: { days: 2 } }, sent: { storage_options: { days: 2 } }, paid: 20 },
  // One quality: more of it is more pixels, unless the caller says how many.
  { body: { model: quality, quality: 'hd' }, sent: { resolution: '2k' }, paid: 70 },
  { body: { model: quality, quality: 'high' }, sent: { resolution: '2k' }, paid: 70 },
  {
    body: { model: quality, quality: 'hd', size: '1024x1024' },
    sent: { aspect_ratio: '1:1', resolution: '1k' },
    paid: 50,
  },
  ...['low', 'medium', 'standard'].map((word) => ({
    body: { model: quality, quality: word },
    sent: {},
    paid: 50,
  })),
  // Several qualities, each with its price.
  { body: { model: second }, sent: { quality: 'low' }, paid: 40 },
  { body: { model: second, quality: 'auto' }, sent: { quality: 'low' }, paid: 40 },
  { body: { model: second, quality: 'standard' }, sent: { quality: 'low' }, paid: 40 },
  { body: { model: second, quality: 'medium' }, sent: { quality: 'medium' }, paid: 60 },
  { body: { model: second, quality: 'hd' }, sent: { quality: 'high' }, paid: 80 },
  {
    body: { model: second, quality: 'low', resolution: '2k' },
    sent: { quality: 'low', resolution: '2k' },
    paid: 100,
  },
  { body: { model: second, image: cat }, path: EDIT, sent: { quality: 'medium', image: catSent }, paid: 70 },
  // Reference images go where they count.
  { body: { image: cat }, path: EDIT, sent: { image: catSent }, paid: 22 },
  {
    body: { model: quality, image: { ...cat, detail: 'high' }, n: 2 },
    path: EDIT,
    sent: { image: { ...catSent, detail: 'high' }, n: 2 },
    paid: 110,
  },
  {
    body: { images: [cat, { url: 'data:image/png;base64,iVBORw0KGgo=' }, cat] },
    path: EDIT,
    sent: { images: [catSent, { type: 'image_url', url: 'data:image/png;base64,iVBORw0KGgo=' }, catSent] },
    paid: 26,
  },
  // One reference has a shape of its own, several have not.
  {
    body: { model: quality, image: cat, size: '2048x1024' },
    path: EDIT,
    sent: { image: catSent, resolution: '1k' },
    paid: 60,
  },
  {
    body: { images: [cat, cat], size: '1536x1024' },
    path: EDIT,
    sent: { images: [catSent, catSent], aspect_ratio: '3:2', resolution: '1k' },
    paid: 24,
  },
  { body: { images: [] }, sent: {}, paid: 20 },
]

describe('the vendor’s request, and its price', () => {
  for (const { body, path = GENERATE, sent, paid } of translations) {
    test(JSON.stringify(body), async () => {
      const played = await draw(body)
      expect(asked(played)).toEqual({ path, body: sent })
      expect(played.charges).toMatchObject([
        {
          state: 'settled',
          amount: paid * MILLI,
          held: paid * MILLI,
          usage_source: 'upstream',
          shortfall: 0,
        },
      ])
      expect(played.logRows).toMatchObject([{ operation: 'image', amount: paid * MILLI }])
      expect(Number(played.response.headers.get('x-gateway-cost-usd'))).toBe(paid / 1000)
    })
  }

  test('every other character of the body stays as it came', async () => {
    const text = `{ "seed" : 12345678901234567890,"model":"${plain}" , "prompt":"\\u0061 cat", "size":"1024x1024", "x": 1.0 }`
    const { calls } = await play(gateway, {
      name: 'bytes',
      path: '/v1/images/generations',
      body: text,
      status: 200,
      vendorCalls: 1,
      charges: 1,
    })
    expect(calls[0]?.body).toBe(
      '{ "seed" : 12345678901234567890,"model":"grok-imagine-image" , "prompt":"\\u0061 cat", "x": 1.0 ,"aspect_ratio":"1:1","resolution":"1k"}',
    )
  })
})

describe('the answer', () => {
  test('is the list that OpenAI’s clients read, with a time', async () => {
    const before = Math.floor(Date.now() / 1000)
    const { json, response } = await draw({ n: 2 })
    expect(Object.keys(json).sort()).toEqual(['created', 'data'])
    expect(json.created).toBeWithin(before, before + 60)
    expect(json.data).toHaveLength(2)
    for (const item of json.data) {
      expect(item).toMatchObject({ mime_type: 'image/jpeg', respect_moderation: true })
      expect(item.url).toStartWith('http://127.0.0.1:')
    }
    expect(response.headers.get('content-type')).toBe('application/json')
  })

  test('does not show the vendor’s cost, which only the books have', async () => {
    const { text, charges } = await draw({ model: quality, size: '2048x2048', n: 2, image: cat })
    expect(text).not.toContain('ticks')
    expect(JSON.parse(String(charges[0]?.usage))).toEqual({ cost_in_usd_ticks: 1_500_000_000 })
  })

  test('without usage of the vendor costs the same', async () => {
    const { charges } = await draw({ prompt: '[sandbox usage=missing] a cat', n: 2 })
    expect(charges).toMatchObject([{ state: 'settled', amount: 40 * MILLI, usage: null }])
  })
})

interface Refusal {
  body: Record<string, unknown>
  param: string
  words: string[]
  code?: string
}

const refusals: Refusal[] = [
  {
    body: { image: 'https://example.com/cat.jpg' },
    param: 'image',
    code: 'invalid_type',
    words: ["'image'", 'expected an object', 'a bare string', '{\\"url\\": \\"https://'],
  },
  { body: { image: '' }, param: 'image', words: ['expected an object'] },
  { body: { image: [cat] }, param: 'image', words: ['expected an object'] },
  { body: { image: 7 }, param: 'image', words: ['expected an object', '`7`'] },
  {
    body: { image: {} },
    param: 'image.url',
    code: 'missing_required_parameter',
    words: ["Missing 'image.url'"],
  },
  { body: { image: { url: '' } }, param: 'image.url', words: ["Missing 'image.url'"] },
  { body: { image: { url: { a: 1 } } }, param: 'image.url', words: ["Missing 'image.url'"] },
  { body: { images: cat }, param: 'images', words: ['an array of objects'] },
  { body: { images: [cat, 'https://example.com/cat.jpg'] }, param: 'images[1]', words: ['a bare string'] },
  { body: { images: [cat], image: cat }, param: 'images', words: ["either 'image' or 'images'"] },
  { body: { images: [cat, cat, cat, cat] }, param: 'images', words: ['at most 3', 'got 4'] },
  { body: { size: 'large' }, param: 'size', words: ["'1536x1024'", "'auto'", "'large'"] },
  { body: { size: '', quality: 'ultra' }, param: 'quality', words: ["'medium'", "'hd'"] },
  { body: { size: '1024' }, param: 'size', words: ["'1536x1024'"] },
  { body: { size: '1024*1024' }, param: 'size', words: ["'1536x1024'"] },
  { body: { size: '0x1024' }, param: 'size', words: ["'1536x1024'"] },
  { body: { size: '-5x10' }, param: 'size', words: ["'1536x1024'"] },
  { body: { size: `${'9'.repeat(500)}x1` }, param: 'size', words: ["'1536x1024'"] },
  { body: { size: '4096x4096' }, param: 'size', words: ['2048x2048', 'the maximum'] },
  { body: { size: '2400x800' }, param: 'size', words: ['no shape', '16:9'] },
  { body: { model: 'test-few-sizes', size: '512x512' }, param: 'size', words: ['1024x1024, 1024x1536'] },
  { body: { resolution: '4k' }, param: 'resolution', words: ['no price for 4k. It has one for: 1k, 2k.'] },
  { body: { model: 'test-small', size: '2048x2048' }, param: 'size', words: ['no price for 2k.'] },
  { body: { model: 'test-small', quality: 'hd' }, param: 'quality', words: ['no price for 2k.'] },
  { body: { model: second, resolution: '4k' }, param: 'resolution', words: ['no price for 4k low.'] },
  { body: { quality: 'ultra' }, param: 'quality', words: ["'standard'"] },
  { body: { response_format: 'png' }, param: 'response_format', words: ["'b64_json'"] },
  { body: { n: 0 }, param: 'n', words: ['>= 1'] },
  { body: { n: 11 }, param: 'n', words: ['<= 10'] },
  { body: { n: 1.5 }, param: 'n', words: ["'n'"] },
  { body: { stream: true }, param: 'stream', words: ["'false'"] },
  { body: { prompt: undefined }, param: 'prompt', words: ['Missing required parameter'] },
  { body: { prompt: '' }, param: 'prompt', words: ['empty string'] },
  { body: { prompt: ['a'] }, param: 'prompt', words: ['expected a string'] },
]

describe('rejected before the vendor is called', () => {
  for (const { body, param, words, code } of refusals) {
    test(JSON.stringify(body).slice(0, 80), async () => {
      const { json } = await draw(body, {
        status: 400,
        vendorCalls: 0,
        charges: 0,
        words,
        error: { param, type: 'invalid_request_error', ...(code ? { code } : {}) },
      })
      expect(Object.keys(json)).toEqual(['error'])
      expect(json.error.message.length).toBeLessThan(400)
    })
  }

  test('what cannot be paid', async () => {
    const { secret } = await gateway.makeKey('poor', '0.05')
    const body = { model: quality, size: '2048x2048' }
    await draw(body, {
      key: secret,
      status: 402,
      vendorCalls: 0,
      charges: 0,
      error: { code: 'insufficient_balance' },
      words: ['may cost up to $0.07', '$0.05 available'],
    })
    await draw({ model: quality }, { key: secret })
  })

  test('a model on the wrong endpoint', async () => {
    await play(gateway, {
      name: 'chat',
      body: { model: plain, messages: [{ role: 'user', content: 'Hi' }] },
      status: 400,
      error: { code: 'endpoint_model_mismatch' },
    })
  })
})

interface Failure {
  name: string
  body?: Record<string, unknown>
  prompt?: string
  status: number
  code: string
  words: string[]
  absent?: string[]
}

const failures: Failure[] = [
  {
    name: 'a field that the vendor does not have',
    body: { style: 'vivid' },
    status: 400,
    code: 'Client specified an invalid argument',
    words: ['Argument not supported: style'],
  },
  {
    name: 'a body that the vendor cannot parse: 422 becomes 400',
    body: { aspect_ratio: '7:3' },
    status: 400,
    code: 'upstream_refused',
    words: ['unknown variant `7:3`'],
  },
  {
    name: 'a reference that is not an address',
    body: { image: { url: 'cat.jpg' } },
    status: 400,
    code: 'upstream_refused',
    words: ['the URL is not valid'],
  },
  {
    name: 'moderation of the whole request',
    prompt: '[sandbox status=400 error_text="Generated image rejected by content moderation."]',
    status: 400,
    code: 'content_policy_violation',
    words: ['Generated image rejected by content moderation.'],
  },
  {
    name: 'a refusal that names the operator’s team',
    prompt:
      '[sandbox status=403 error_text="Content violates usage guidelines. Team: 1f2e, API key ID: 77aa"]',
    status: 403,
    code: 'content_policy_violation',
    words: ['Content violates usage guidelines.'],
    absent: ['1f2e', '77aa'],
  },
  {
    name: 'too many requests',
    prompt: '[sandbox status=429 retry_after=3]',
    status: 429,
    code: 'Some resource has been exhausted',
    words: ['Too many requests'],
  },
  {
    name: 'a fault of the vendor',
    prompt: '[sandbox status=500]',
    status: 502,
    code: 'upstream_error',
    words: ['HTTP 500'],
  },
  {
    name: 'the operator’s empty account',
    prompt: '[sandbox quota]',
    status: 503,
    code: 'upstream_unavailable',
    words: ['Its operator can see why'],
    absent: ['credits'],
  },
  {
    name: 'an answer that is not JSON',
    prompt: '[sandbox garbage]',
    status: 502,
    code: 'upstream_garbage',
    words: ['not JSON'],
  },
  {
    name: 'an answer that is cut',
    prompt: '[sandbox cut_after=1]',
    status: 502,
    code: 'upstream_garbage',
    words: ['cut off'],
  },
  {
    name: 'an answer without any image',
    prompt: '[sandbox empty]',
    status: 502,
    code: 'upstream_empty',
    words: ['without a result'],
  },
]

describe('failures are free', () => {
  for (const { name, body, prompt, status, code, words, absent } of failures) {
    test(name, async () => {
      const before = await gateway.balance()
      const { charges } = await draw(
        { ...body, ...(prompt ? { prompt } : {}) },
        { status, error: { code }, words, ...(absent ? { absent } : {}) },
      )
      expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
      expect(await gateway.balance()).toEqual(before)
    })
  }
})

describe('images that moderation holds back', () => {
  for (const form of ['url', 'b64_json'] as const) {
    test(`some of them, as ${form}: not in the list, counted next to it, and not paid`, async () => {
      const { json, charges } = await draw({
        model: quality,
        prompt: '[sandbox blocked=2] a cat',
        n: 5,
        response_format: form,
        image: cat,
      })
      expect(json.data).toHaveLength(3)
      expect(json.data.every((item: Json) => item[form].length > 20)).toBe(true)
      expect(json.blocked).toBe(2)
      expect(charges).toMatchObject([
        { state: 'settled', held: 260 * MILLI, amount: 160 * MILLI, usage_source: 'upstream' },
      ])
    })

    test(`all of them, as ${form}: an error, and free`, async () => {
      const { charges, json } = await draw(
        { prompt: '[sandbox blocked=2] a cat', n: 2, response_format: form },
        {
          status: 400,
          error: { code: 'content_policy_violation', type: 'invalid_request_error', param: 'prompt' },
          words: ["withheld by the model's content moderation", 'Nothing is charged'],
        },
      )
      expect(json).not.toHaveProperty('data')
      expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
    })
  }
})

describe('a vendor that answers oddly', () => {
  const item = (url: unknown, rest: Json = {}) => ({ url, ...rest })
  const rows: [name: string, reply: unknown, images: number | undefined, paid: number][] = [
    ['without its model', { data: [item('https://x.ai/1.jpeg')] }, 1, 50],
    [
      'marked as blocked though it has an address',
      { data: [item('https://x.ai/1.jpeg', { respect_moderation: false }), item('https://x.ai/2.jpeg')] },
      1,
      50,
    ],
    [
      'empty though it is not marked',
      { data: [item(''), item(null), null, item('https://x.ai/2.jpeg')] },
      1,
      50,
    ],
    [
      'more images than were asked for: those asked for are paid',
      { data: Array(5).fill(item('https://x.ai/1.jpeg')) },
      5,
      100,
    ],
    ['no list', { data: 'https://x.ai/1.jpeg' }, undefined, 0],
    ['no data', { images: [] }, undefined, 0],
  ]
  for (const [name, reply, images, paid] of rows) {
    test(name, async () => {
      vendor.answer = () => Response.json(reply)
      const { json, charges } = await draw(
        { model: odd, n: 2 },
        images === undefined
          ? { status: 502, error: { code: 'upstream_empty' }, vendorCalls: 0 }
          : { vendorCalls: 0 },
      )
      expect(json.data?.length).toBe(images)
      expect(charges).toMatchObject([{ state: paid > 0 ? 'settled' : 'released', amount: paid * MILLI }])
    })
  }

  test('more images than requested are in the log', async () => {
    vendor.answer = () => Response.json({ data: Array(3).fill(item('https://x.ai/1.jpeg')) })
    const { charges } = await draw({ model: odd }, { vendorCalls: 0 })
    expect(charges).toMatchObject([{ usage_source: 'estimated', amount: 50 * MILLI }])
    expect(gateway.log.at(-1)).toMatchObject({ event: 'upstream_usage_invalid' })
  })

  const errors: [body: unknown, code: string][] = [
    [
      { code: 'Client specified an invalid argument', error: 'no such cat' },
      'Client specified an invalid argument',
    ],
    [{ error: { message: 'no such cat', type: 'invalid_request_error', param: null, code: 'cats' } }, 'cats'],
    [{ error: 'no such cat' }, 'upstream_refused'],
  ]
  for (const [body, code] of errors) {
    test(`an error of the shape ${JSON.stringify(body).slice(0, 24)}`, async () => {
      vendor.answer = () => Response.json(body, { status: 400 })
      const expected = { status: 400, vendorCalls: 0, error: { code }, words: ['no such cat'] }
      const { charges } = await draw({ model: odd }, expected)
      expect(charges).toMatchObject([{ state: 'released' }])
    })
  }
})

describe('the official SDK', () => {
  const client = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })

  test('gets addresses that hold images', async () => {
    const result = await client().images.generate({
      model: plain,
      prompt: 'a cat',
      n: 2,
      size: '1536x1024',
      quality: 'hd',
    })
    expect(result.created).toBeGreaterThan(1_700_000_000)
    expect(result.data).toHaveLength(2)
    for (const { url } of result.data ?? []) {
      const file = await fetch(url as string)
      expect([file.status, file.headers.get('content-type')]).toEqual([200, 'image/jpeg'])
      expect(isJpeg(await file.bytes())).toBe(true)
    }
  })

  test('gets the images themselves', async () => {
    const result = await client().images.generate({
      model: plain,
      prompt: 'a cat',
      response_format: 'b64_json',
    })
    expect(isJpeg(Buffer.from(result.data?.[0]?.b64_json ?? '', 'base64'))).toBe(true)
    expect(result.data?.[0]?.url).toBeUndefined()
  })

  test('understands why there is no image', async () => {
    const prompt = '[sandbox blocked=1] a cat'
    const caught = await client()
      .images.generate({ model: plain, prompt })
      .catch((error: unknown) => error)
    expect(caught).toBeInstanceOf(OpenAI.BadRequestError)
    expect(caught).toMatchObject({ code: 'content_policy_violation', status: 400 })
  })

  test('recognizes an error about a size', async () => {
    const caught = await client()
      .images.generate({ model: plain, prompt: 'a cat', size: 'huge' as '256x256' })
      .catch((error: unknown) => error)
    expect(caught).toBeInstanceOf(OpenAI.BadRequestError)
    expect(caught).toMatchObject({ param: 'size' })
    expect((caught as Error).message).toContain("such as '1536x1024'")
  })
})

describe('the simulator', () => {
  async function ask(path: string, body: unknown): Promise<{ status: number; json: Json }> {
    const response = await fetch(`${gateway.sandbox.baseUrls.xai}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.sandbox.secrets.xai}` },
      body: JSON.stringify({ model: 'grok-imagine-image', prompt: 'a cat', ...(body as object) }),
    })
    return { status: response.status, json: await response.json() }
  }

  test('ignores a reference image where the vendor does, and bills the image', async () => {
    const { status, json } = await ask('/images/generations', { image: cat })
    expect({ status, usage: json.usage }).toEqual({ status: 200, usage: { cost_in_usd_ticks: 200_000_000 } })
    const edited = await ask('/images/edits', { image: cat })
    expect(edited.json.usage).toEqual({ cost_in_usd_ticks: 220_000_000 })
  })

  const rows: [path: string, body: unknown, status: number, words: string][] = [
    ['/images/generations', { size: '1024x1024' }, 400, 'Argument not supported: size'],
    ['/images/generations', { quality: 'high' }, 400, 'Argument not supported: quality'],
    ['/images/generations', { resolution: '4k' }, 422, 'unknown variant `4k`'],
    ['/images/generations', { n: 'two' }, 422, 'expected u32'],
    ['/images/generations', { n: 11 }, 400, 'between 1 and 10'],
    ['/images/generations', { prompt: null }, 422, 'missing field `prompt`'],
    ['/images/generations', { model: 'grok-2-image' }, 404, 'does not exist'],
    ['/images/edits', { image: cat.url }, 422, 'invalid type: string'],
    ['/images/edits', {}, 400, 'needs an image'],
    ['/images/edits', { images: [cat, cat, cat, cat] }, 400, 'At most 3 images'],
  ]
  for (const [path, body, status, words] of rows) {
    test(`rejects ${JSON.stringify(body)} on ${path} as the vendor does`, async () => {
      const refused = await ask(path, body)
      expect(refused.status).toBe(status)
      expect(refused.json.error).toContain(words)
    })
  }
})

function isJpeg(bytes: Uint8Array): boolean {
  return bytes.length > 100 && bytes[0] === 0xff && bytes[1] === 0xd8 && bytes.at(-1) === 0xd9
}
