// POST /v1/embeddings over all its families, with the shipped catalogue: vectors are returned in the order of the
// inputs whatever the vendor does, in the requested form, and a batch is charged as a whole or not at all.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { type Json, type Played, play, type Scenario } from '../support/scenario'

/** The models that the spec names for this endpoint and whose vendors still serve them. */
const living = [
  'text-embedding-v4',
  'gmx-embedding-001',
  'gmx-embedding-2-preview',
  'vgx-4-large',
  'vgx-4',
  'vgx-4-lite',
] as const
const retired = 'text-embedding-004'
const models = [...living, 'text-embedding-3-small']

let gateway: TestGateway

beforeAll(async () => {
  const catalogue: Record<string, ModelConfig> = shipped.models
  // One price for all, so that a token is 1,000 nano-dollars.
  const price = { per_1m_input_tokens: '1.00' }
  const entries = [...models, retired].map((id) => [id, { ...catalogue[id], price }])
  gateway = await startTestGateway({
    models: {
      ...Object.fromEntries(entries),
      // A vendor that numbers every vector 0 and counts no tokens.
      'test-unnumbered': {
        family: 'openai-embeddings',
        upstream: 'google',
        upstreamModel: 'gemini-embedding-001',
        price,
      },
    },
  })
})
afterAll(() => gateway.close())

function embed(body: Record<string, unknown>, expected: Partial<Scenario> = {}): Promise<Played> {
  const rest = { status: 200, vendorCalls: 1, charges: 1, ...expected }
  return play(gateway, { name: 'embeddings', path: '/v1/embeddings', body, ...rest })
}

function texts(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `text number ${index}`)
}

function vectorsOf({ json }: Played): number[][] {
  return json.data.map((item: Json) => item.embedding)
}

/** Inputs that the vendors received, in the order of the request. */
function vendorBodies({ calls }: Played): Json[] {
  return calls.map((call) => JSON.parse(call.body))
}

function inputsIn(vendorBody: Json): string[] {
  return vendorBody.input ?? vendorBody.requests.map((item: Json) => item.content.parts[0].text)
}

describe('order', () => {
  for (const model of [...models, 'test-unnumbered']) {
    test(`${model}: every vector is at the index of its input`, async () => {
      const inputs = texts(25)
      const batch = await embed(
        { model, input: inputs },
        { vendorCalls: model === 'text-embedding-v4' ? 3 : 1 },
      )
      expect(batch.json).toMatchObject({ object: 'list', model })
      expect(batch.json.data.map((item: Json) => item.index)).toEqual([...inputs.keys()])
      expect(batch.json.data.every((item: Json) => item.object === 'embedding')).toBe(true)
      for (const index of [0, 13, 24]) {
        const alone = await embed({ model, input: inputs[index] })
        expect(vectorsOf(batch)[index]).toEqual(vectorsOf(alone)[0])
      }
    })
  }

  test('is kept if a vendor shuffles vectors or a part arrives late', async () => {
    const inputs = texts(30)
    const plain = await embed({ model: 'text-embedding-v4', input: inputs }, { vendorCalls: 3 })
    inputs[3] = '[sandbox delay_ms=80 shuffle]'
    const late = await embed({ model: 'text-embedding-v4', input: inputs }, { vendorCalls: 3 })
    for (const index of [0, 2, 9, 10, 29]) {
      expect(vectorsOf(late)[index]).toEqual(vectorsOf(plain)[index])
    }
    expect(late.json.data.map((item: Json) => item.index)).toEqual([...inputs.keys()])
  })
})

describe('form', () => {
  for (const model of models) {
    test(`${model}: base64 contains the same numbers as float, whether the vendor supports it or not`, async () => {
      const input = ['one', 'two']
      const float = await embed({ model, input, encoding_format: 'float' })
      const base64 = await embed({ model, input, encoding_format: 'base64' })
      const decoded = base64.json.data.map((item: Json) => {
        const bytes = Buffer.from(item.embedding, 'base64')
        return Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readFloatLE(index * 4))
      })
      expect(decoded).toEqual(vectorsOf(float).map((vector) => vector.map(Math.fround)))
      expect(vendorBodies(base64)).toEqual(vendorBodies(float))
      expect(vendorBodies(base64)[0]).not.toHaveProperty('encoding_format')
      expect(base64.json.usage).toEqual(float.json.usage)
    })
  }

  test('the answer has only the spec’s members', async () => {
    const { json, response } = await embed({ model: 'text-embedding-v4', input: 'one two three' })
    expect(Object.keys(json).sort()).toEqual(['data', 'model', 'object', 'usage'])
    expect(Object.keys(json.usage).sort()).toEqual(['prompt_tokens', 'total_tokens'])
    expect(json.data).toHaveLength(1)
    expect(response.headers.get('x-gateway-cost-usd')).toMatch(/^0\.0+\d+$/)
  })
})

describe('batches', () => {
  const long = 'words '.repeat(8_000)
  const rows: [model: string, input: string[], sizes: number[]][] = [
    ['text-embedding-v4', texts(10), [10]],
    ['text-embedding-v4', texts(11), [10, 1]],
    ['text-embedding-v4', texts(25), [10, 10, 5]],
    ['gmx-embedding-001', texts(250), [100, 100, 50]],
    ['gmx-embedding-2-preview', texts(101), [100, 1]],
    ['vgx-4', texts(1_001), [1_000, 1]],
    // 48,000 bytes each: no tokenizer makes more tokens than that, so two are sure to fit into 120,000.
    ['vgx-4-large', [long, long, long], [2, 1]],
    ['vgx-4', [long, long, long], [3]],
    ['text-embedding-3-small', texts(300), [300]],
  ]
  for (const [model, input, sizes] of rows) {
    test(`${model} gets ${input.length} inputs as ${sizes.join(' + ')}`, async () => {
      const played = await embed({ model, input, dimensions: 256 }, { vendorCalls: sizes.length })
      const parts = vendorBodies(played).map(inputsIn)
      // Parts are sent concurrently, so they may arrive in any order.
      parts.sort((left, right) => input.indexOf(left[0] as string) - input.indexOf(right[0] as string))
      if (input[0] !== long) expect(parts.flat()).toEqual(input)
      expect(parts.map((part) => part.length).sort()).toEqual([...sizes].sort())
      expect(played.json.data).toHaveLength(input.length)
    })
  }

  test('usage and price are the sums over all parts', async () => {
    const { json, charges, logRows } = await embed(
      { model: 'text-embedding-v4', input: texts(25).fill('[sandbox prompt_tokens=70] x', 10, 11) },
      { vendorCalls: 3 },
    )
    // The vendor counts four tokens for each text.
    const tokens = json.usage.prompt_tokens
    expect(json.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens })
    const reported = JSON.parse(String(charges[0]?.usage)) as Json[]
    expect(reported).toHaveLength(3)
    expect(reported[1].prompt_tokens).toBe(70)
    expect(reported.reduce((sum, usage) => sum + usage.prompt_tokens, 0)).toBe(tokens)
    expect(charges).toMatchObject([{ state: 'settled', amount: tokens * 1_000, usage_source: 'upstream' }])
    expect(logRows).toMatchObject([{ input_tokens: tokens, output_tokens: 0, amount: tokens * 1_000 }])
  })

  for (const model of ['gmx-embedding-001', 'test-unnumbered']) {
    test(`${model}: the gateway counts tokens, because the vendor does not`, async () => {
      const { json, charges } = await embed({ model, input: ['one two three', 'four five'] })
      expect(json.usage.prompt_tokens).toBeWithin(4, 9)
      expect(charges).toMatchObject([
        { amount: json.usage.prompt_tokens * 1_000, usage_source: 'counted', state: 'settled' },
      ])
    })
  }

  test('if one part has no usage, the gateway counts the whole batch', async () => {
    const input = texts(12)
    input[11] = '[sandbox usage=missing] x'
    const { json, charges } = await embed({ model: 'text-embedding-v4', input }, { vendorCalls: 2 })
    expect(charges).toMatchObject([{ usage_source: 'counted', amount: json.usage.prompt_tokens * 1_000 }])
    expect(json.usage.prompt_tokens).toBeGreaterThan(12)
  })

  for (const fault of ['negative', 'string', 'huge', 'overflow']) {
    test(`usage that is ${fault} causes neither a credit nor an enormous price`, async () => {
      const { json, charges } = await embed({ model: 'vgx-4', input: `[sandbox usage=${fault}] one two` })
      expect(charges).toMatchObject([{ usage_source: 'estimated', shortfall: 0 }])
      expect(json.usage.prompt_tokens).toBeWithin(5, 40)
      expect(gateway.log.at(-1)).toMatchObject({ event: 'upstream_usage_invalid' })
    })
  }
})

describe('a batch that fails in part', () => {
  const failures: [model: string, count: number, directive: string, status: number, code: string][] = [
    [
      'text-embedding-v4',
      25,
      'status=400 error_text="This text is not liked."',
      400,
      'invalid_parameter_error',
    ],
    ['text-embedding-v4', 25, 'status=500', 502, 'upstream_error'],
    ['text-embedding-v4', 25, 'status=429 retry_after=3', 429, 'limit_requests'],
    ['text-embedding-v4', 25, 'garbage', 502, 'upstream_garbage'],
    ['text-embedding-v4', 25, 'cut_after=1', 502, 'upstream_garbage'],
    ['text-embedding-v4', 25, 'empty', 502, 'upstream_garbage'],
    ['gmx-embedding-001', 250, 'status=400', 400, 'INVALID_ARGUMENT'],
    ['gmx-embedding-001', 250, 'empty', 502, 'upstream_garbage'],
    ['vgx-4', 1_100, 'status=400', 400, 'upstream_refused'],
    ['vgx-4', 1_100, 'empty', 502, 'upstream_garbage'],
  ]
  for (const [model, count, directive, status, code] of failures) {
    test(`${model}, ${directive}: an error, and nothing is charged`, async () => {
      const before = await gateway.balance()
      const input = texts(count)
      // In the last part, when the others have been sent.
      input[count - 1] = `[sandbox ${directive}]`
      const response = await gateway.post('/v1/embeddings', { model, input, dimensions: 256 })
      const body = (await response.json()) as Json
      expect({ status: response.status, code: body.error.code }).toEqual({ status, code })
      expect(body).not.toHaveProperty('data')
      expect(await gateway.newestCharge()).toMatchObject({ state: 'released', amount: 0 })
      expect(await gateway.balance()).toEqual(before)
    })
  }
})

describe('dimensions', () => {
  const fieldOf: Record<string, (vendorBody: Json) => unknown> = {
    'text-embedding-v4': (body) => body.dimensions,
    'text-embedding-3-small': (body) => body.dimensions,
    'gmx-embedding-001': (body) => body.requests[0].outputDimensionality,
    'gmx-embedding-2-preview': (body) => body.requests[0].outputDimensionality,
    'vgx-4-large': (body) => body.output_dimension,
    'vgx-4': (body) => body.output_dimension,
    'vgx-4-lite': (body) => body.output_dimension,
  }
  const rows: [model: string, byDefault: number, allowed: number[], refused: number[]][] = [
    ['text-embedding-v4', 1024, [64, 128, 256, 512, 768, 1024, 1536, 2048], [1, 100, 4096]],
    ['text-embedding-3-small', 1536, [1, 700, 1536], [1537]],
    ['gmx-embedding-001', 3072, [128, 700, 3072], [127, 3073]],
    ['gmx-embedding-2-preview', 3072, [128, 768], [127, 3073]],
    ['vgx-4-large', 1024, [256, 512, 1024, 2048], [255, 300, 4096]],
    ['vgx-4', 1024, [256, 2048], [300]],
    ['vgx-4-lite', 1024, [256, 2048], [300]],
  ]
  for (const [model, byDefault, allowed, refused] of rows) {
    test(`${model}: ${byDefault} by default; accepts ${allowed.join(', ')}; rejects ${refused.join(', ')}`, async () => {
      for (const dimensions of [undefined, null]) {
        const played = await embed({ model, input: 'one', dimensions })
        expect(vectorsOf(played)[0]).toHaveLength(byDefault)
      }
      for (const dimensions of allowed) {
        const played = await embed({ model, input: 'one', dimensions })
        expect(vectorsOf(played)[0]).toHaveLength(dimensions)
        expect(fieldOf[model]?.(vendorBodies(played)[0])).toBe(dimensions)
      }
      for (const dimensions of refused) {
        await embed(
          { model, input: 'one', dimensions },
          {
            status: 400,
            vendorCalls: 0,
            charges: 0,
            error: { param: 'dimensions', code: 'invalid_value', type: 'invalid_request_error' },
            words: [model, String(dimensions)],
          },
        )
      }
    })
  }

  test('shortened vectors are normalised, also if the vendor does not do that', async () => {
    for (const model of models) {
      const [vector] = vectorsOf(await embed({ model, input: 'one', dimensions: 256 }))
      expect(Math.hypot(...(vector as number[]))).toBeCloseTo(1, 5)
    }
  })
})

describe('inputs as tokens', () => {
  test('are sent to a vendor that accepts them, and counted exactly', async () => {
    const flat = await embed({ model: 'text-embedding-3-small', input: [5, 6, 7] })
    expect(flat.json.data).toHaveLength(1)
    expect(flat.json.usage.prompt_tokens).toBe(3)
    expect(vendorBodies(flat)[0].input).toEqual([[5, 6, 7]])
    const lists = await embed({ model: 'text-embedding-3-small', input: [[5, 6], [7]] })
    expect(lists.json.data).toHaveLength(2)
    expect(lists.json.usage.prompt_tokens).toBe(3)
  })

  for (const model of living.filter((id) => id !== 'text-embedding-v4')) {
    test(`${model} rejects them before the vendor is called`, async () => {
      for (const input of [
        [5, 6, 7],
        [[5, 6], [7]],
      ]) {
        await embed(
          { model, input },
          {
            status: 400,
            vendorCalls: 0,
            charges: 0,
            error: { param: 'input', code: 'invalid_type' },
            words: ['an array of strings, not tokens'],
          },
        )
      }
    })
  }

  test('text-embedding-v4: the vendor rejects them in its own words', async () => {
    const { charges } = await embed(
      { model: 'text-embedding-v4', input: [[5, 6], [7]] },
      {
        status: 400,
        error: { type: 'InvalidParameter' },
        words: ['contents is neither str nor list of str'],
      },
    )
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })
})

describe('fields other than the input', () => {
  test('Voyage gets its own fields, but none that it would reject', async () => {
    const played = await embed({
      model: 'vgx-4',
      input: 'one',
      input_type: 'query',
      truncation: false,
      user: 'user-1',
      encoding_format: 'base64',
    })
    expect(vendorBodies(played)).toEqual([
      { model: 'voyage-4', input: ['one'], input_type: 'query', truncation: false },
    ])
  })

  test('Voyage’s own name of the dimensions has the same effect', async () => {
    const ask = { model: 'vgx-4', input: 'one' }
    for (const lengths of [{ output_dimension: 256 }, { output_dimension: 256, dimensions: 256 }]) {
      const played = await embed({ ...ask, ...lengths })
      expect(vectorsOf(played)[0]).toHaveLength(256)
      expect(vendorBodies(played)[0].output_dimension).toBe(256)
    }
    const played = await embed({ ...ask, output_dimension: null })
    expect(vectorsOf(played)[0]).toHaveLength(1_024)
    const rejected = { status: 400, vendorCalls: 0, charges: 0, error: { param: 'output_dimension' } }
    for (const lengths of [
      { output_dimension: 300 },
      { output_dimension: '256' },
      { output_dimension: 256, dimensions: 512 },
    ]) {
      await embed({ ...ask, ...lengths }, rejected)
    }
  })

  test('Voyage’s packed numbers are refused, and floats are what every answer has', async () => {
    const ask = { model: 'vgx-4', input: 'one' }
    for (const output_dtype of ['float', null])
      expect(vectorsOf(await embed({ ...ask, output_dtype }))[0]).toHaveLength(1_024)
    const rejected = { status: 400, vendorCalls: 0, charges: 0, error: { param: 'output_dtype' } }
    for (const output_dtype of ['int8', 'ubinary', 8]) await embed({ ...ask, output_dtype }, rejected)
  })

  test('OpenAI-compatible vendors get all others', async () => {
    const played = await embed({ model: 'text-embedding-3-small', input: 'one', user: 'user-1' })
    expect(vendorBodies(played)).toEqual([
      { model: 'text-embedding-3-small', input: ['one'], user: 'user-1' },
    ])
  })
})

test.each(['float', 'base64'])(
  'more inputs than a vendor accepts are split, as %s, and charged once',
  async (format) => {
    const inputs = Array.from({ length: 5_000 }, (_, index) => `word ${index}`)
    const before = { calls: gateway.sandbox.calls.length, charges: (await gateway.charges()).length }
    const body = { model: 'test-embedding', input: inputs, encoding_format: format, dimensions: 2 }
    const response = await gateway.post('/v1/embeddings', body)
    const { data, usage } = (await response.json()) as Json
    expect(data.map(({ index }: Json) => index)).toEqual(inputs.map((_, index) => index))
    const calls = gateway.sandbox.calls.slice(before.calls).map(({ body }) => JSON.parse(body).input.length)
    expect(calls.sort((a, b) => a - b)).toEqual([904, 2_048, 2_048])
    // Each input has its own vector.
    for (const index of [0, 2_047, 2_048, 4_999]) {
      const one = (await (
        await gateway.post('/v1/embeddings', { ...body, input: inputs[index] })
      ).json()) as Json
      expect(data[index].embedding).toEqual(one.data[0].embedding)
    }
    const charges = (await gateway.charges()).slice(before.charges)
    expect(charges).toHaveLength(5)
    expect(charges[0]).toMatchObject({ state: 'settled', amount: usage.prompt_tokens * 1_000 })
    expect(usage.prompt_tokens).toBeGreaterThan(9_000)
  },
)

describe('a model that its vendor has retired', () => {
  test('is a clear error without retry, and does not affect the vendor’s other models', async () => {
    for (let attempt = 0; attempt < 7; attempt++) {
      const { charges } = await embed(
        { model: retired, input: 'one' },
        {
          status: 502,
          error: { code: 'upstream_model_missing', type: 'server_error' },
          words: ['does not have this model, or no longer'],
          answers: { 'x-should-retry': 'false' },
        },
      )
      expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
    }
    await embed({ model: 'gmx-embedding-001', input: 'one' })
    expect(gateway.log.at(-1)).toMatchObject({
      event: 'upstream_refused_operator',
      fields: { upstream: 'google', status: 404 },
    })
  })
})
