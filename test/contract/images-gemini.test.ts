// POST /v1/images/generations in the form of interactions: the body and the answer pass unchanged, whole or streamed, tokens are
// charged by modality, and a request that exceeds the balance is rejected.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import shipped from '../../gateway.config'
import { picture as pictureOf } from '../../sandbox/pictures'
import type { ModelConfig } from '../../src/config/schema'
import type { Quantities } from '../../src/contract/family'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { createRandom, seedOf } from '../support/random'
import { type Json, type Played, play, type Scenario } from '../support/scenario'
import { eventStream, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const catalogue: Record<string, ModelConfig> = shipped.models
const entry = (id: string) => catalogue[id] as ModelConfig
const seed = seedOf('CUT_SEED')

const flash = 'gmx-3.1-flash-image'
const pro = 'gmx-3-pro-image'
const odd = 'test-odd'
// The prices of the flash model, in nano-dollars.
const INPUT = 500
const CACHED = 50
const OUTPUT = 3_000
const IMAGE = 60_000
/** Held for text and thoughts if the caller sets no limit. */
const RESERVE = 4_096

let gateway: TestGateway
let vendor: OddVendor

beforeAll(async () => {
  vendor = startVendor()
  const { price = {} } = entry(flash)
  gateway = await startTestGateway({
    upstreams: { odd: { ...vendor.upstream, kind: 'google' } },
    models: {
      [flash]: entry(flash),
      [pro]: entry(pro),
      [odd]: { ...entry(flash), upstream: 'odd', price: { ...price, per_1m_cached_input_tokens: '0.05' } },
      'odd-pro': { ...entry(flash), upstream: 'odd', upstreamModel: 'gemini-3-pro-image' },
      'odd-older': { ...entry(flash), upstream: 'odd', upstreamModel: 'gemini-2.5-flash-image' },
      'test-gone': { ...entry(flash), upstreamModel: 'gemini-2.5-flash-image-preview' },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

function price(quantities: Quantities): number {
  const { input_token = 0, cached_input_token = 0, output_token = 0, output_image_token = 0 } = quantities
  return (
    input_token * INPUT + cached_input_token * CACHED + output_token * OUTPUT + output_image_token * IMAGE
  )
}

function interact(body: Record<string, unknown>, expected: Partial<Scenario> = {}): Promise<Played> {
  const rest = { status: 200, vendorCalls: body.model === odd ? 0 : 1, charges: 1, ...expected }
  const whole = { model: flash, input: 'a red fox', ...body }
  return play(gateway, { name: 'interaction', path: '/v1/images/generations', body: whole, ...rest })
}

function asked({ calls }: Played): Json {
  return JSON.parse(calls[0]?.body ?? '{}')
}

describe('passes unchanged', () => {
  test('the exact body, except the model', async () => {
    const text = `{ "input" : "a fox","model":"${flash}" , "labels":{"n":"1"}, "generation_config": {"seed": 12345678901234567890, "temperature":1.0} }`
    const { calls } = await play(gateway, {
      name: 'bytes',
      path: '/v1/images/generations',
      body: text,
      status: 200,
      vendorCalls: 1,
      charges: 1,
    })
    expect(calls[0]).toMatchObject({ method: 'POST', path: '/v1beta/interactions' })
    expect(calls[0]?.headers).toMatchObject({ 'x-goog-api-key': gateway.sandbox.secrets.google })
    expect(calls[0]?.headers).not.toHaveProperty('authorization')
    expect(calls[0]?.body).toBe(text.replace(flash, 'gemini-3.1-flash-image'))
  })

  test('the answer, except the model', async () => {
    const { json } = await interact({ response_format: { type: 'image', mime_type: 'image/jpeg' } })
    expect(json).toMatchObject({ object: 'interaction', model: flash, status: 'completed' })
    expect(json.id).toStartWith('v1_')
    const [thought, output] = json.steps
    expect(thought.type).toBe('thought')
    expect(output.content.map(({ type }: Json) => type)).toEqual(['text', 'image'])
    const bytes = Buffer.from(output.content[1].data, 'base64')
    expect(bytes.toString('hex', 0, 3)).toBe('ffd8ff')
  })

  test("the vendor's rejection of another format", async () => {
    const words = ["The value 'image/png' is not supported for 'response_format.mime_type'"]
    const format = { type: 'image', mime_type: 'image/png' }
    await interact({ response_format: format }, { status: 400, words })
  })

  const image = { type: 'image', mime_type: 'image/png', data: 'iVBORw0KGgo=' }
  const inputs: [name: string, input: unknown][] = [
    ['a text', 'a red fox'],
    [
      'parts',
      [{ type: 'text', text: 'like this' }, image, { type: 'image', uri: 'https://example.com/a.png' }],
    ],
    ['one part', { type: 'text', text: 'a red fox' }],
    [
      'steps',
      [
        { type: 'user_input', content: [{ type: 'text', text: 'a red fox' }] },
        { type: 'model_output', content: [image] },
        { type: 'user_input', content: [{ type: 'text', text: 'now in snow' }] },
      ],
    ],
  ]
  for (const [name, input] of inputs) {
    test(`an input that is ${name}`, async () => {
      const played = await interact({ input })
      expect(asked(played)).toEqual({ model: 'gemini-3.1-flash-image', input })
      expect(played.charges).toMatchObject([{ state: 'settled', usage_source: 'upstream', shortfall: 0 }])
    })
  }
})

describe('the cost', () => {
  test('is the vendor’s token count of each modality', async () => {
    const { json, charges, logRows, response } = await interact({
      input: '[sandbox prompt_tokens=100 reasoning=40] a fox',
      response_format: { type: 'image', image_size: '2K' },
    })
    const text = json.usage.total_output_tokens - 1_680
    const amount = price({ input_token: 100, output_token: 40 + text, output_image_token: 1_680 })
    expect(charges).toMatchObject([{ state: 'settled', amount, usage_source: 'upstream', shortfall: 0 }])
    expect(JSON.parse(String(charges[0]?.usage))).toEqual(json.usage)
    expect(logRows).toMatchObject([
      { operation: 'image', input_tokens: 100, output_tokens: 40 + text + 1_680, amount },
    ])
    expect(Number(response.headers.get('x-gateway-cost-usd'))).toBe(amount / 1e9)
  })

  const bound = { max_output_tokens: 1_000 }
  const holds: [name: string, body: Record<string, unknown>, held: Quantities][] = [
    ['no size: 1K', {}, { output_token: RESERVE, output_image_token: 1_290 }],
    ['an output limit', { generation_config: bound }, { output_token: 1_000, output_image_token: 1_290 }],
    ...(
      [
        ['512', 747],
        ['1K', 1_290],
        ['2K', 1_680],
        ['4K', 2_520],
      ] as const
    ).map(([size, tokens]): (typeof holds)[number] => [
      size,
      { response_format: { type: 'image', image_size: size } },
      { output_token: RESERVE, output_image_token: tokens },
    ]),
    [
      'the form of 2025',
      { generation_config: { ...bound, image_config: { image_size: '4K' } } },
      { output_token: 1_000, output_image_token: 2_520 },
    ],
    [
      'two images next to a text',
      { response_format: [{ type: 'text' }, { type: 'image' }, { type: 'image', image_size: '2K' }] },
      { output_token: RESERVE, output_image_token: 1_290 + 1_680 },
    ],
  ]
  for (const [name, body, held] of holds) {
    test(`is held in advance: ${name}`, async () => {
      const { charges, calls } = await interact(body)
      const sent = { model: flash, input: 'a red fox', ...body }
      const input_token = Buffer.byteLength(JSON.stringify(sent))
      expect(charges).toMatchObject([{ held: price({ ...held, input_token }), shortfall: 0 }])
      expect(calls).toHaveLength(1)
    })
  }

  test('of an input image is held as an image, not as text', async () => {
    const part = { type: 'image', mime_type: 'image/png', data: 'A'.repeat(400_000) }
    const input = [part, { type: 'user_input', content: [part, { type: 'text', text: 'both' }] }]
    const { charges } = await interact({ input })
    const letters = Buffer.byteLength(JSON.stringify({ model: flash, input })) - 800_000
    const input_token = letters + 2 * 2_240
    expect(charges).toMatchObject([
      { held: price({ input_token, output_token: RESERVE, output_image_token: 1_290 }) },
    ])
  })

  test('of text that looks like an image is held as text', async () => {
    const result = { type: 'function_result', call_id: '1', result: { data: 'A'.repeat(40_000) } }
    const { charges } = await interact({ input: [{ type: 'text', text: 'draw it' }, result] })
    expect(charges[0]?.held as number).toBeGreaterThan(price({ input_token: 40_000 }))
  })

  test('of a story with more images than were held follows the usage', async () => {
    const { charges, json } = await interact({
      input: '[sandbox images=6] a story',
      response_format: { type: 'image' },
    })
    expect(json.steps[1].content.filter(({ type }: Json) => type === 'image')).toHaveLength(6)
    const [charge] = charges
    expect(charge).toMatchObject({ state: 'settled', usage_source: 'upstream', shortfall: 0 })
    // The rest was held before it was delivered.
    expect(charge?.held).toBe(charge?.amount as number)
    expect(charge?.amount as number).toBeGreaterThan(price({ output_image_token: 6 * 1_120 }))
  })

  test('beyond the balance: the request is rejected before the vendor is called', async () => {
    const { secret } = await gateway.makeKey('poor', '0.01')
    await interact(
      {},
      { key: secret, status: 402, vendorCalls: 0, charges: 0, error: { code: 'insufficient_balance' } },
    )
  })
})

const picture = { type: 'image', mime_type: 'image/jpeg', data: '/9j/2Q==' }
const words = { type: 'text', text: 'Here you go' }

function interaction(content: unknown[], usage: unknown, rest: Record<string, unknown> = {}): Json {
  return {
    id: 'v1_x',
    object: 'interaction',
    model: 'gemini-3.1-flash-image',
    status: 'completed',
    steps: [{ type: 'thought' }, { type: 'model_output', content }],
    ...(usage === undefined ? {} : { usage }),
    ...rest,
  }
}

/** Tokens of `a red fox` and `Here you go`, by the gateway's count. */
const FOX = 3
const HERE = 3
/** An answer without usage: its texts are counted, and an image of unknown size counts as 1K. */
const byCount = { input_token: FOX, output_image_token: 1_120 }
const byCountOfWords = { input_token: FOX, output_token: HERE }

interface Counted {
  name: string
  reply: Json
  paid: Quantities
  /** False if the charge does not follow the vendor's usage. */
  isReported?: boolean
  logged?: boolean
  /** The vendor's usage exceeds the possible usage of the request. */
  isAbove?: boolean
}

const byImage = (tokens: number) => [{ modality: 'image', tokens }]

const counted: Counted[] = [
  {
    name: 'thoughts next to the output',
    reply: interaction([words, picture], {
      total_tokens: 1_348,
      total_input_tokens: 7,
      total_output_tokens: 1_290,
      output_tokens_by_modality: byImage(1_290),
      total_thought_tokens: 51,
    }),
    paid: { input_token: 7, output_token: 51, output_image_token: 1_290 },
  },
  {
    name: 'thoughts inside the output',
    reply: interaction([words, picture], {
      total_tokens: 1_300,
      total_input_tokens: 10,
      total_output_tokens: 1_290,
      output_tokens_by_modality: byImage(1_120),
      total_thought_tokens: 90,
    }),
    paid: { input_token: 10, output_token: 170, output_image_token: 1_120 },
  },
  {
    name: 'no total',
    reply: interaction([picture], {
      total_input_tokens: 10,
      total_output_tokens: 1_125,
      output_tokens_by_modality: byImage(1_120),
      total_thought_tokens: 90,
    }),
    paid: { input_token: 10, output_token: 95, output_image_token: 1_120 },
  },
  {
    name: 'cached input, and input for tools',
    reply: interaction([picture], {
      total_tokens: 1_250,
      total_input_tokens: 100,
      total_cached_tokens: 60,
      total_output_tokens: 1_120,
      output_tokens_by_modality: byImage(1_120),
      total_tool_use_tokens: 30,
    }),
    isAbove: true,
    paid: { input_token: 70, cached_input_token: 60, output_token: 0, output_image_token: 1_120 },
  },
  {
    name: 'the form of 2025',
    reply: {
      id: 'v1_x',
      status: 'completed',
      outputs: [words, picture],
      usage: {
        total_input_tokens: 5,
        total_output_tokens: 1_300,
        output_tokens_by_modality: [{ modality: 'IMAGE', tokens: 1_290 }],
      },
    },
    paid: { input_token: 5, output_token: 10, output_image_token: 1_290 },
  },
  {
    name: 'a text and no image',
    reply: interaction([words], { total_tokens: 25, total_input_tokens: 5, total_output_tokens: 20 }),
    paid: { input_token: 5, output_token: 20 },
  },
  {
    name: 'an answer that a limit cut short',
    reply: interaction([words], { total_input_tokens: 5, total_output_tokens: 20 }, { status: 'incomplete' }),
    paid: { input_token: 5, output_token: 20 },
  },
  { name: 'no figures', reply: interaction([picture], undefined), paid: byCount, isReported: false },
  { name: 'empty figures', reply: interaction([picture], {}), paid: byCount, isReported: false },
  {
    name: 'an image that was not counted',
    reply: interaction([picture], { total_input_tokens: 5, total_output_tokens: 1_300 }),
    paid: byCount,
    isReported: false,
    logged: true,
  },
  {
    name: 'the same in the form of 2025',
    reply: { outputs: [picture], usage: { total_input_tokens: 5, total_output_tokens: 1_300 } },
    paid: byCount,
    isReported: false,
    logged: true,
  },
  ...[-1, '7', 1.5, 1e308].map(
    (tokens): Counted => ({
      name: `an input of ${JSON.stringify(tokens)}`,
      reply: interaction([words], { total_input_tokens: tokens, total_output_tokens: 20 }),
      paid: byCountOfWords,
      isReported: false,
      logged: true,
    }),
  ),
  {
    name: 'more tokens of images than of output',
    reply: interaction([picture], {
      total_input_tokens: 5,
      total_output_tokens: 100,
      output_tokens_by_modality: byImage(1_120),
    }),
    paid: byCount,
    isReported: false,
    logged: true,
  },
  {
    name: 'more cached input than input',
    reply: interaction([words], { total_input_tokens: 5, total_cached_tokens: 6, total_output_tokens: 1 }),
    paid: byCountOfWords,
    isReported: false,
    logged: true,
  },
  {
    name: 'a fortune that the request cannot have come to',
    reply: interaction([picture], {
      total_input_tokens: 5,
      total_output_tokens: 50_000_000,
      output_tokens_by_modality: byImage(50_000_000),
    }),
    paid: byCount,
    isReported: false,
    logged: true,
  },
]

describe('usage of the vendor', () => {
  for (const { name, reply, paid, isReported = true, logged = false, isAbove = false } of counted) {
    test(name, async () => {
      vendor.answer = () => Response.json(reply)
      const logs = gateway.log.length
      const { charges, json } = await interact({ model: odd })
      expect(json).toEqual({ ...reply, ...(reply.model ? { model: odd } : {}) })
      const [charge] = charges
      expect(charge).toMatchObject({
        state: 'settled',
        amount: price(paid),
        usage_source: isReported ? 'upstream' : 'estimated',
        shortfall: 0,
      })
      expect(gateway.log.slice(logs).map(({ event }) => event)).toEqual(
        logged ? ['upstream_usage_invalid'] : isAbove ? ['usage_above_quote'] : [],
      )
    })
  }

  const sized = (width: number, height: number) => ({
    ...picture,
    data: Buffer.from(pictureOf('png', width, height).bytes).toString('base64'),
  })
  const pictures: [model: string, width: number, height: number, tokens: number][] = [
    [odd, 512, 512, 747],
    [odd, 1_024, 1_024, 1_120],
    [odd, 1_376, 768, 1_120],
    [odd, 2_048, 2_048, 1_680],
    [odd, 4_096, 4_096, 2_520],
    ['odd-pro', 1_024, 1_024, 1_120],
    ['odd-pro', 2_048, 2_048, 1_120],
    ['odd-pro', 4_096, 4_096, 2_000],
    ['odd-older', 1_024, 1_024, 1_290],
  ]
  test.each(pictures)(
    'missing for %s is that of an image of %i x %i',
    async (model, width, height, tokens) => {
      vendor.answer = () => Response.json(interaction([words, sized(width, height)], undefined))
      const size = { response_format: { type: 'image', image_size: '4K' } }
      const { charges } = await interact({ model, ...size }, { vendorCalls: 0 })
      const paid = { input_token: FOX, output_token: HERE, output_image_token: tokens }
      expect(charges).toMatchObject([{ usage_source: 'estimated', amount: price(paid) }])
    },
  )

  test('if missing is never above the hold', async () => {
    vendor.answer = () => Response.json(interaction([sized(4_096, 4_096)], undefined))
    const { charges } = await interact({ model: odd })
    expect(charges).toMatchObject([{ amount: price({ input_token: FOX, output_image_token: 1_290 }) }])
  })

  test('if missing includes the input images', async () => {
    vendor.answer = () => Response.json(interaction([picture], undefined))
    const input = [{ type: 'text', text: 'a red fox' }, sized(64, 64), sized(64, 64)]
    const { charges } = await interact({ model: odd, input })
    const paid = { input_token: FOX + 2 * 1_120, output_image_token: 1_120 }
    expect(charges).toMatchObject([{ usage_source: 'estimated', amount: price(paid) }])
  })

  test('if missing is counted for each image of a request in OpenAI’s form', async () => {
    vendor.answer = () => Response.json(interaction([sized(1_024, 1_024)], undefined))
    const { json, charges } = await interact({ model: odd, input: undefined, prompt: 'a red fox', n: 2 })
    // The texts of both calls are counted together, with the line between them.
    const paid = { input_token: 2 * FOX + 1, output_image_token: 2 * 1_120 }
    expect(json.usage).toMatchObject({ input_tokens: paid.input_token, output_tokens: 2 * 1_120 })
    expect(charges).toMatchObject([{ usage_source: 'estimated', amount: price(paid) }])
  })

  test('beyond the balance: the output is neither delivered nor charged', async () => {
    const { secret } = await gateway.makeKey('bob', '0.15')
    const usage = {
      total_input_tokens: 5,
      total_output_tokens: 5_000,
      output_tokens_by_modality: byImage(5_000),
    }
    vendor.answer = () => Response.json(interaction([picture], usage))
    const error = { code: 'insufficient_balance' }
    const { charges } = await interact({ model: odd }, { key: secret, status: 402, error })
    expect(charges).toMatchObject([{ state: 'released', amount: 0, shortfall: 0 }])
    expect(await gateway.balance('bob')).toMatchObject({ balanceNano: 150_000_000, heldNano: 0 })
  })
})

describe('rejected before the vendor is called', () => {
  const rows: [body: Record<string, unknown>, param: string, words: string[]][] = [
    [{ input: undefined }, 'input', ['Missing required parameter']],
    [{ input: '' }, 'input', ['empty string']],
    [{ input: [] }, 'input', ['empty array']],
    [{ input: ['a red fox'] }, 'input[0]', ['expected an object']],
    [{ input: 7 }, 'input', ['expected a string or an array or an object']],
    [{ background: true }, 'background', ['cannot be billed', 'stream']],
    [{ agent: 'deep-research-pro-preview' }, 'agent', ['models only', 'Leave it out']],
    [{ service_tier: 'priority' }, 'service_tier', ['no price']],
    [
      { tools: [{ type: 'function', name: 'a' }, { type: 'google_search' }] },
      'tools[1].type',
      ["'google_search'", 'no price'],
    ],
    [{ generation_config: { max_output_tokens: 0 } }, 'generation_config.max_output_tokens', ['>= 1']],
    [{ stream: 'yes' }, 'stream', ['expected a boolean']],
  ]
  for (const [body, param, words] of rows) {
    test(JSON.stringify(body), async () => {
      const expected = { status: 400, vendorCalls: 0, charges: 0, words }
      await interact(body, { ...expected, error: { param, type: 'invalid_request_error' } })
    })
  }

  test('but not what only says so', async () => {
    const body = {
      background: false,
      agent: null,
      tools: null,
      service_tier: 'standard',
      stream: false,
      store: false,
    }
    const { json } = await interact({ ...body, agent: undefined })
    expect(json).not.toHaveProperty('id')
  })
})

describe('failures are free', () => {
  const rows: [name: string, body: Record<string, unknown>, status: number, code: string, words: string[]][] =
    [
      [
        'an unsupported size',
        { model: pro, response_format: { type: 'image', image_size: '8K' } },
        400,
        'INVALID_ARGUMENT',
        ['Invalid image_size: 8K'],
      ],
      ['an unknown field', { prompt: 'a fox' }, 400, 'INVALID_ARGUMENT', ['Unknown name']],
      ['a removed model', { model: 'test-gone' }, 502, 'upstream_model_missing', ['no longer']],
      [
        'the wait that the body reports',
        { input: '[sandbox status=429 retry_after=7]' },
        429,
        'RESOURCE_EXHAUSTED',
        ['exceeded your current quota'],
      ],
      [
        'a server error of the vendor',
        { input: '[sandbox status=500]' },
        502,
        'upstream_error',
        ['HTTP 500'],
      ],
      ['an overload', { input: '[sandbox status=503]' }, 503, 'upstream_error', ['overloaded']],
      [
        'the operator’s bill',
        { input: '[sandbox quota]' },
        503,
        'upstream_unavailable',
        ['Its operator can see why'],
      ],
      ['an answer that is not JSON', { input: '[sandbox garbage]' }, 502, 'upstream_garbage', ['not JSON']],
      ['an answer that is cut off', { input: '[sandbox cut_after=1]' }, 502, 'upstream_garbage', ['cut off']],
      [
        'a rejected stream',
        { input: '[sandbox status=400]', stream: true },
        400,
        'INVALID_ARGUMENT',
        ['invalid argument'],
      ],
    ]
  for (const [name, body, status, code, words] of rows) {
    test(name, async () => {
      const { charges, response } = await interact(body, { status, error: { code }, words })
      expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
      if (status === 429) expect(response.headers.get('retry-after')).toBe('7')
    })
  }

  const usage = { total_input_tokens: 5, total_output_tokens: 20 }
  const failed: [
    name: string,
    rest: Record<string, unknown>,
    status: number,
    code: string,
    words: string[],
  ][] = [
    ['without a reason', { status: 'failed' }, 502, 'upstream_empty', ['without a reason']],
    ['cancelled', { status: 'cancelled' }, 502, 'upstream_empty', ['without a reason']],
    [
      'with an error',
      { status: 'failed', error: { message: 'too odd', code: 'blocked' } },
      400,
      'blocked',
      ['too odd'],
    ],
    [
      'with errors',
      { status: 'failed', errors: [{ message: 'too odd', code: 'IMAGE_SAFETY' }] },
      400,
      'IMAGE_SAFETY',
      ['too odd'],
    ],
    [
      'in a step',
      { status: 'failed', steps: [{ type: 'thought' }, { error: { message: 'too odd', code: 13 } }] },
      400,
      'upstream_refused',
      ['too odd'],
    ],
  ]
  for (const [name, rest, status, code, words] of failed) {
    test(`an interaction that failed, ${name}`, async () => {
      vendor.answer = () => Response.json(interaction([], usage, rest))
      const { charges } = await interact({ model: odd }, { status, error: { code }, words })
      expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
    })
  }
})

/** The data of each event, parsed if it is JSON. */
function dataOf(text: string): Json[] {
  const lines = text.split('\n').filter((line) => line.startsWith('data: '))
  return lines.map((line) => (line === 'data: [DONE]' ? '[DONE]' : JSON.parse(line.slice('data: '.length))))
}

function deltasOf(events: Json[], type: string): Json[] {
  return events.flatMap(({ delta }) => (delta?.type === type ? [delta] : []))
}

function eventText(type: string, rest: Json): string {
  return `event: ${type}\ndata: ${JSON.stringify({ ...rest, event_type: type })}\n\n`
}

const begun = eventText('interaction.created', {
  interaction: { id: 'v1_x', status: 'in_progress', object: 'interaction', model: 'gemini-3.1-flash-image' },
})
const text = (piece: string) => eventText('step.delta', { index: 1, delta: { text: piece, type: 'text' } })
const image = (data: string) =>
  eventText('step.delta', { index: 1, delta: { mime_type: 'image/jpeg', data, type: 'image' } })
const figures = {
  total_tokens: 1_250,
  total_input_tokens: 30,
  total_output_tokens: 1_220,
  output_tokens_by_modality: byImage(1_120),
}
const completed = (usage: unknown = figures, rest: Json = {}) =>
  eventText('interaction.completed', { interaction: { id: 'v1_x', status: 'completed', ...rest, usage } })
const done = 'event: done\ndata: [DONE]\n\n'

describe('streams', () => {
  test('the events of the vendor, with our model', async () => {
    const { text, charges, response } = await interact({
      input: '[sandbox prompt_tokens=9] Grüße',
      stream: true,
    })
    expect(response.headers.get('content-type')).toStartWith('text/event-stream')
    const events = dataOf(text)
    expect(events.at(-1)).toBe('[DONE]')
    const last = events.at(-2)
    expect(last).toMatchObject({ event_type: 'interaction.completed', interaction: { model: flash } })
    expect(events[0].interaction.model).toBe(flash)
    expect(text).not.toContain('gemini-3.1')
    expect(
      deltasOf(events, 'text')
        .map((delta) => delta.text)
        .join(''),
    ).toContain('Here is your picture: Grüße')
    expect(deltasOf(events, 'image')).toHaveLength(1)
    const { usage } = last.interaction
    const output_token = usage.total_thought_tokens + usage.total_output_tokens - 1_120
    const amount = price({ input_token: 9, output_token, output_image_token: 1_120 })
    expect(charges).toMatchObject([{ state: 'settled', amount, usage_source: 'upstream', ended_by: 'done' }])
    expect(JSON.parse(String(charges[0]?.usage))).toEqual(usage)
  })

  test(`are the same if split at any byte (CUT_SEED=${seed})`, async () => {
    const random = createRandom(seed)
    const whole = `${begun}${text('Grüße, 世界 🎉')}${image('/9j/'.repeat(40_000))}${text(' done')}${completed()}${done}`
    const bytes = Buffer.from(whole)
    const expected = whole.replaceAll('gemini-3.1-flash-image', odd)
    for (let round = 0; round < 12; round++) {
      const most = random.pick([1, 7, 100, 5_000, 70_000])
      // A thousand small pieces are enough: the rest is sent at once.
      vendor.answer = () => eventStream(pieces(bytes, () => 1 + random.below(most), 1_000))
      const played = await interact({ model: odd, stream: true })
      expect(played.text).toBe(expected)
      expect(played.charges).toMatchObject([
        {
          state: 'settled',
          amount: price({ input_token: 30, output_token: 100, output_image_token: 1_120 }),
          usage_source: 'upstream',
          usage: JSON.stringify(figures),
        },
      ])
    }
  })

  interface Ending {
    /** The vendor's own error, by its code in the request log. */
    reported?: string
    name: string
    body: string
    state: 'settled' | 'released'
    paid: Quantities
    /** The code of the gateway's error event; null: no event. */
    error: string | null
    logged?: boolean
  }
  const full = { input_token: 30, output_token: 100, output_image_token: 1_120 }
  const endings: Ending[] = [
    {
      name: 'whole, without the closing event',
      body: begun + image('AA') + completed(),
      state: 'settled',
      paid: full,
      error: null,
    },
    {
      name: 'whole, in the form of 2025',
      body:
        eventText('interaction.start', { interaction: { model: 'gemini-3.1-flash-image' } }) +
        eventText('content.delta', { index: 0, delta: { type: 'image', data: 'AA' } }) +
        eventText('interaction.complete', { interaction: { status: 'completed', usage: figures } }),
      state: 'settled',
      paid: full,
      error: null,
    },
    {
      name: 'whole, without figures',
      body: begun + image('AA') + completed(undefined, {}).replace(/,"usage":\{.*?\}\]\}/, '') + done,
      state: 'settled',
      paid: byCount,
      error: null,
    },
    {
      name: 'whole, with absurd figures',
      body: begun + image('AA') + completed({ ...figures, total_input_tokens: -5 }) + done,
      state: 'settled',
      paid: byCount,
      error: null,
      logged: true,
    },
    {
      name: 'whole, with figures in an update of the status alone',
      body:
        begun +
        image('AA') +
        eventText('interaction.status_update', {
          interaction_id: 'v1_x',
          status: 'completed',
          usage: figures,
        }) +
        eventText('interaction.completed', { interaction: { id: 'v1_x', status: 'completed' } }) +
        done,
      state: 'settled',
      paid: full,
      error: null,
    },
    { name: 'cut before anything', body: begun, state: 'released', paid: {}, error: 'upstream_cut' },
    {
      name: 'cut after a text: the image did not come',
      body: begun + text('Here'),
      state: 'released',
      paid: {},
      error: 'upstream_cut',
    },
    {
      name: 'cut after an image',
      body: begun + text('Here') + image('AA'),
      state: 'settled',
      paid: { ...byCount, output_token: 1 },
      error: 'upstream_cut',
    },
    {
      name: 'an error of the vendor before the image',
      body:
        begun +
        text('Here') +
        eventText('error', { error: { message: 'Deadline expired', code: 'gateway_timeout' } }),
      state: 'released',
      paid: {},
      error: null,
      reported: 'gateway_timeout',
    },
    {
      name: 'failed at the end',
      body: begun + text('Here') + completed(figures, { status: 'failed' }) + done,
      state: 'released',
      paid: {},
      error: null,
      reported: 'upstream_error',
    },
    {
      name: 'failed after an image',
      body: begun + image('AA') + completed(figures, { status: 'failed' }) + done,
      state: 'settled',
      paid: byCount,
      error: null,
      reported: 'upstream_error',
    },
  ]
  for (const { name, body, state, paid, error, reported, logged = false } of endings) {
    test(name, async () => {
      vendor.answer = () => eventStream(body)
      const logs = gateway.log.length
      const played = await interact(
        { model: odd, stream: true },
        { logRows: 1, ...(reported && { reported }) },
      )
      const [charge] = played.charges
      const amount = price(paid)
      expect(charge).toMatchObject({ state, amount, shortfall: 0 })
      const codes = dataOf(played.text).flatMap((event) =>
        event.error?.request_id ? [event.error.code] : [],
      )
      expect(codes).toEqual(error === null ? [] : [error])
      expect(gateway.log.slice(logs).map(({ event }) => event)).toEqual(
        logged ? ['upstream_usage_invalid'] : [],
      )
    })
  }

  const leaving: [name: string, sent: string, paid: Quantities][] = [
    ['before any output', begun, {}],
    ['after a text', begun + text('Once'), { input_token: FOX, output_token: 1 }],
    ['after an image', begun + image('AA'), byCount],
  ]
  for (const [name, sent, paid] of leaving) {
    test(`a caller who disconnects ${name}`, async () => {
      vendor.answer = () => eventStream(held(sent))
      const before = (await gateway.charges()).length
      const response = await gateway.post('/v1/images/generations', {
        model: odd,
        input: 'a red fox',
        stream: true,
      })
      const reader = response.body?.getReader()
      let heard = ''
      while (reader && heard.length < sent.length - 'gemini-3.1-flash-image'.length) {
        heard += Buffer.from((await reader.read()).value ?? []).toString()
      }
      await reader?.cancel()
      const last = async () => (await gateway.charges()).slice(before)[0]
      await waitFor(async () => (await last())?.state !== 'held')
      const charge = await last()
      expect(charge).toMatchObject({
        state: price(paid) > 0 ? 'settled' : 'released',
        ended_by: 'client',
        amount: price(paid),
      })
    })
  }
})

/** The bytes in at most `most` pieces of the given sizes, and then the rest. */
function pieces(bytes: Uint8Array, size: () => number, most: number): ReadableStream<Uint8Array> {
  let at = 0
  let count = 0
  return new ReadableStream({
    pull(controller) {
      const end = ++count < most ? at + size() : bytes.length
      controller.enqueue(bytes.subarray(at, end))
      at = end
      if (at >= bytes.length) controller.close()
    },
  })
}

/** A stream that begins and never ends. */
function held(begin: string): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.enqueue(Buffer.from(begin)) })
}
