// POST /v1/moderations: free or paid, by a named model or by the first one that moderates.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import OpenAI from 'openai'
import catalogue from '../../gateway.config'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const family = 'openai-moderation'
const PICTURE = { type: 'image_url' as const, image_url: { url: 'https://example.com/a.png' } }

let gateway: TestGateway
let odd: OddVendor
let openai: OpenAI

beforeAll(async () => {
  odd = startVendor()
  gateway = await startTestGateway({
    balance: '1',
    upstreams: { odd: odd.upstream },
    models: {
      'omni-moderation-latest': catalogue.models['omni-moderation-latest'],
      'by-request': {
        family,
        upstream: 'openai',
        upstreamModel: 'local-guard',
        price: { per_request: '0.001' },
      },
      'by-token': {
        family,
        upstream: 'openai',
        upstreamModel: 'local-guard',
        price: { per_1m_input_tokens: '1.00' },
      },
      odd: { family, upstream: 'odd', price: { per_1m_input_tokens: '1.00' } },
    },
  })
  openai = clientOf(gateway.secret)
})
afterAll(async () => {
  await gateway.close()
  await odd.stop()
})

function clientOf(apiKey: string): OpenAI {
  return new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
}

const sent = () => JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '')

describe('the official client', () => {
  test('a text without a model is judged by the first moderation model, for free', async () => {
    const before = await gateway.balance()
    const { data, response } = await openai.moderations
      .create({ input: 'It is about violence.' })
      .withResponse()
    expect(data.model).toBe('omni-moderation-latest')
    expect(data.results).toHaveLength(1)
    expect(data.results[0]).toMatchObject({ flagged: true, categories: { violence: true, hate: false } })
    expect(sent()).toEqual({ input: 'It is about violence.', model: 'omni-moderation-latest' })
    expect(response.headers.get('x-gateway-cost-usd')).toBe('0.00')
    expect(await gateway.balance()).toEqual(before)
  })

  test('an account without money may ask a free model', async () => {
    const { secret } = await gateway.makeKey('broke', '0')
    const { results } = await clientOf(secret).moderations.create({ input: 'hello' })
    expect(results[0]?.flagged).toBe(false)
  })

  test('several texts are judged one by one', async () => {
    const { results } = await openai.moderations.create({
      model: 'omni-moderation-latest',
      input: ['hello', 'hate'],
    })
    expect(results.map(({ flagged }) => flagged)).toEqual([false, true])
  })

  test('parts are judged together', async () => {
    const { results } = await openai.moderations.create({
      input: [{ type: 'text', text: 'violence' }, PICTURE],
    })
    expect(results).toHaveLength(1)
    expect(results[0]?.category_applied_input_types.violence).toEqual(['text', 'image'])
  })
})

describe('money', () => {
  test.each([
    ['by-request', 1_000_000],
    // Three words and a dot.
    ['by-token', undefined],
  ])('%s', async (model, amount) => {
    const response = await gateway.post('/v1/moderations', { model, input: 'Is this harmful?' })
    expect(response.status).toBe(200)
    const charge = await gateway.newestCharge()
    expect(charge).toMatchObject({ operation: 'moderation', state: 'settled', usage_source: 'counted' })
    if (amount === undefined) expect(Number(charge?.amount)).toBeWithin(3_000, 6_000)
    else expect(charge).toMatchObject({ amount, held: amount })
  })

  test("a vendor's own count is paid", async () => {
    odd.answer = () => Response.json({ results: [{ flagged: false }], usage: { prompt_tokens: 7 } })
    await gateway.post('/v1/moderations', { model: 'odd', input: 'Is this harmful?' })
    expect(await gateway.newestCharge()).toMatchObject({ amount: 7_000, usage_source: 'upstream' })
  })

  test('an image without a count costs what was held', async () => {
    odd.answer = () => Response.json({ results: [{ flagged: false }] })
    await gateway.post('/v1/moderations', { model: 'odd', input: [PICTURE] })
    const charge = await gateway.newestCharge()
    expect(charge).toMatchObject({ usage_source: 'estimated', amount: charge?.held })
  })
})

describe('which model', () => {
  test('a key never gets a moderation model that it may not use', async () => {
    const paid = await gateway.makeKey('bob', '1', { models: ['by-request'] })
    const { model } = await clientOf(paid.secret).moderations.create({ input: 'hello' })
    expect(model).toBe('by-request')
    const none = await gateway.makeKey('carol', '1', { models: ['test-chat'] })
    const refused = await clientOf(none.secret)
      .moderations.create({ input: 'hello' })
      .catch((error) => error)
    expect(refused).toMatchObject({ status: 400, code: 'model_not_found', param: 'model' })
  })

  test('a model that does not moderate is rejected with the paths that it serves', async () => {
    const refused = await openai.moderations
      .create({ model: 'test-chat', input: 'hello' })
      .catch((error) => error)
    expect(refused).toMatchObject({ status: 400, code: 'endpoint_model_mismatch' })
  })

  test('other operations still need one', async () => {
    const response = await gateway.post('/v1/embeddings', { input: 'hello' })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { code: 'missing_required_parameter' } })
  })
})
