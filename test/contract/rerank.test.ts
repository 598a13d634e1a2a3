// POST /v1/rerank in the forms of Cohere, Jina and Voyage: results by relevance, billed by searches or by tokens.

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import catalogue from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

/** Nano-dollars of a search, at 2.50 USD for a thousand. */
const SEARCH = 2_500_000
const listed = catalogue.models as Record<string, ModelConfig>
const question = {
  query: 'What is the capital of the United States?',
  documents: [
    'Carson City is a city of Nevada.',
    'Washington is the capital of the United States.',
    { text: 'Capital punishment has existed for long.' },
  ],
}

let gateway: TestGateway
let odd: OddVendor

beforeAll(async () => {
  odd = startVendor()
  gateway = await startTestGateway({
    balance: '100',
    upstreams: { odd: odd.upstream },
    models: {
      'rerank-v4.0-pro': listed['rerank-v4.0-pro'] as ModelConfig,
      'vgx-rerank-2.5': listed['vgx-rerank-2.5'] as ModelConfig,
      local: {
        family: 'cohere-rerank',
        upstream: 'openai',
        upstreamModel: 'local-reranker',
        price: { per_1m_input_tokens: '1' },
      },
      'odd-searches': { family: 'cohere-rerank', upstream: 'odd', price: { per_1k_searches: '2.50' } },
      'odd-tokens': { family: 'cohere-rerank', upstream: 'odd', price: { per_1m_input_tokens: '1' } },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await odd.stop()
})
const results = [{ index: 1, relevance_score: 0.9 }]
beforeEach(() => {
  odd.answer = () => Response.json({ results })
})

async function rerank(body: Record<string, unknown>) {
  const response = await gateway.post('/v1/rerank', { ...question, ...body })
  const json = (await response.json()) as Record<string, never>
  const { db } = gateway.server.world
  const [charge] = await db.query({ sql: 'select * from charges order by id desc limit 1' })
  return { status: response.status, json, charge: charge as Record<string, unknown> }
}

test('the form of Cohere, billed by searches', async () => {
  const { status, json, charge } = await rerank({ model: 'rerank-v4.0-pro', top_n: 2 })
  expect(status).toBe(200)
  expect(json).toMatchObject({
    results: [{ index: 1 }, { index: 2 }],
    meta: { billed_units: { search_units: 1 } },
  })
  expect(charge).toMatchObject({
    operation: 'rerank',
    amount: SEARCH,
    held: SEARCH,
    usage_source: 'upstream',
  })
})

test('the form of Jina, billed by tokens', async () => {
  const { json, charge } = await rerank({ model: 'local', return_documents: true, top_n: 1 })
  expect(json).toMatchObject({
    model: 'local',
    results: [{ index: 1, document: { text: question.documents[1] } }],
  })
  const { total_tokens: tokens } = json.usage as unknown as { total_tokens: number }
  expect(charge).toMatchObject({ amount: tokens * 1_000, usage_source: 'upstream' })
  expect(Number(charge.held)).toBeGreaterThan(Number(charge.amount))
})

test('Voyage gets requests in its own form, and its answers have the common form', async () => {
  const { json, charge } = await rerank({ model: 'vgx-rerank-2.5', top_n: 1, return_documents: true })
  expect(json).toEqual({
    model: 'vgx-rerank-2.5',
    object: 'list',
    results: [{ index: 1, relevance_score: expect.any(Number), document: { text: question.documents[1] } }],
    // What Voyage's own client reads.
    data: [{ index: 1, relevance_score: expect.any(Number), document: question.documents[1] }],
    usage: { total_tokens: expect.any(Number) },
  } as never)
  expect(JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '')).toEqual({
    model: 'rerank-2.5',
    query: question.query,
    documents: [
      'Carson City is a city of Nevada.',
      question.documents[1],
      'Capital punishment has existed for long.',
    ],
    top_k: 1,
    return_documents: true,
  })
  expect(charge).toMatchObject({ state: 'settled', usage_source: 'upstream' })
})

describe('clients of the vendors', () => {
  // As `voyageai` 0.5 for Python sends it (voyageai/client.py), without a limit and with one.
  test.each([
    ['no limit', null, 3],
    ['a limit', 2, 2],
  ])('Voyage, with %s under its own name', async (_, topK, count) => {
    const documents = question.documents.slice(0, 2).concat('a third one')
    const body = { model: 'vgx-rerank-2.5', documents, top_k: topK, truncation: true }
    const { status, json } = await rerank(body)
    expect(status).toBe(200)
    expect(json.data).toHaveLength(count)
    expect(json).toMatchObject({
      data: json.results,
      usage: { total_tokens: expect.any(Number) },
    })
    const { top_k: sent = null, top_n: other } = JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '')
    expect([sent, other]).toEqual([topK, undefined])
  })

  test('a limit of Voyage reaches a model of Cohere under the name that it knows', async () => {
    const { status, json } = await rerank({ model: 'rerank-v4.0-pro', top_k: 1 })
    expect(status).toBe(200)
    expect(json.results).toHaveLength(1)
    const { top_k: dropped, top_n: sent } = JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '')
    expect([dropped, sent]).toEqual([undefined, 1])
  })

  // `V2RerankRequest` of cohere-ai 8 has texts for documents, and neither field.
  test('a model of Cohere gets texts, and its results the documents that the caller sent', async () => {
    const documents = [
      'one city',
      { text: 'a capital' },
      { title: 'Washington', state: 'of the capital', note: 'x' },
    ]
    const body = { model: 'rerank-v4.0-pro', query: 'capital', documents, return_documents: true }
    const { status, json } = await rerank({ ...body, rank_fields: ['title', 'state'], max_chunks_per_doc: 2 })
    expect(status).toBe(200)
    expect(JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '')).toEqual({
      model: 'rerank-v4.0-pro',
      query: 'capital',
      documents: ['one city', 'a capital', 'title: Washington\nstate: of the capital'],
    })
    const results = json.results as unknown as { index: number; document: unknown }[]
    expect(results.map(({ index, document }) => [index, document]).sort()).toEqual([
      [0, { text: 'one city' }],
      [1, { text: 'a capital' }],
      [2, documents[2]],
    ] as never)
    const plain = await rerank({ ...body, return_documents: false })
    expect(JSON.stringify(plain.json)).not.toContain('"document"')
  })

  test.each(['rerank-v4.0-pro', 'vgx-rerank-2.5'])(
    '%s rejects two limits, and takes one twice',
    async (model) => {
      const both = await rerank({ model, top_k: 1, top_n: 2 })
      expect(both).toMatchObject({ status: 400, json: { error: { param: 'top_k' } } })
      expect((await rerank({ model, top_k: 2, top_n: 2 })).status).toBe(200)
    },
  )

  // As `cohere` 7.3 for Python and `cohere-ai` for TypeScript: ClientV2 asks /v2/rerank, the older client /v1/rerank.
  test.each(['/v2/rerank', '/v1/v2/rerank', '/v1/rerank'])('Cohere at %s', async (path) => {
    for (const model of ['rerank-v4.0-pro', 'vgx-rerank-2.5']) {
      const body = { model, query: question.query, documents: question.documents.slice(0, 2), top_n: 1 }
      const response = await gateway.post(path, body)
      expect({ status: response.status, json: await response.json() }).toMatchObject({
        status: 200,
        json: { results: [{ index: expect.any(Number), relevance_score: expect.any(Number) }] },
      })
    }
    expect((await gateway.post(path, {})).headers.get('x-request-id')).toStartWith('req')
  })
})

describe('money', () => {
  test('many and long documents are several searches', async () => {
    const documents = [...Array.from({ length: 150 }, () => 'short'), 'x'.repeat(40_000)]
    const { charge } = await rerank({ model: 'odd-searches', documents })
    // 150 short ones and a hundred parts of the long one; the vendor says nothing.
    expect(charge).toMatchObject({ held: 3 * SEARCH, amount: 3 * SEARCH, usage_source: 'counted' })
    odd.answer = () => Response.json({ results, meta: { billed_units: { search_units: 2 } } })
    expect((await rerank({ model: 'odd-searches', documents })).charge).toMatchObject({ amount: 2 * SEARCH })
    odd.answer = () => Response.json({ results, meta: { billed_units: { search_units: 4 } } })
    expect((await rerank({ model: 'odd-searches', documents })).charge).toMatchObject({
      amount: 3 * SEARCH,
      usage_source: 'estimated',
    })
  })

  test('tokens that nobody reports are counted, with the query once for each document', async () => {
    const one = await rerank({ model: 'odd-tokens', documents: ['Nevada'] })
    const two = await rerank({ model: 'odd-tokens', documents: ['Nevada', 'Nevada'] })
    expect(one.charge.usage_source).toBe('counted')
    expect(Number(two.charge.amount)).toBeWithin(
      2 * Number(one.charge.amount) - 1,
      2 * Number(one.charge.amount) + 2_000,
    )
  })

  test.each([
    ['nothing found', { results: [] }, 200],
    ['an error', { message: 'too many documents' }, 400],
    ['no answer', {}, 502],
  ])('%s is free', async (_, reply, status) => {
    odd.answer = () => Response.json(reply)
    const answer = await rerank({ model: 'odd-searches' })
    expect({ status: answer.status, charge: answer.charge }).toMatchObject({
      status,
      charge: { state: 'released', amount: 0 },
    })
  })
})
