// The rest of Google's API: addresses, model lists, embeddings, token counts, keys and errors, with the real app and
// @google/genai in its default mode.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ApiError, GoogleGenAI } from '@google/genai'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { clients } from '../../src/api-document/clients'
import { newId } from '../../src/app/world'
import type { contentsMethods } from '../../src/http/contents-methods'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { type Json, play, type Scenario } from '../support/scenario'
import { startCollector } from '../support/servers/collector'

const price = { per_1m_input_tokens: '1.00' }
const embedding = { family: 'openai-embeddings', upstream: 'openai', price } as const

let gateway: TestGateway
let client: GoogleGenAI

beforeAll(async () => {
  gateway = await startTestGateway({
    models: {
      'owner/name:tag': { ...embedding, upstreamModel: 'text-embedding-3-small' },
      google: {
        family: 'gemini-embeddings',
        upstream: 'google',
        upstreamModel: 'gemini-embedding-001',
        price,
      },
      voyage: { family: 'voyage-embeddings', upstream: 'voyage', upstreamModel: 'voyage-4', price },
    },
  })
  client = clientOf(gateway.secret)
})
afterAll(() => gateway.close())

function clientOf(apiKey: string, { url } = gateway): GoogleGenAI {
  return new GoogleGenAI({ apiKey, httpOptions: { baseUrl: url } })
}

/** The status and the body of the error that a client throws. */
async function refused(work: Promise<unknown>): Promise<{ status: number; error: Json }> {
  try {
    await work
  } catch (error) {
    const { status, message } = error as ApiError
    return { status, error: JSON.parse(message).error }
  }
  throw new Error('it was not rejected')
}

function detailOf(error: Json, kind: string): Json {
  return error.details.find((detail: Json) => detail['@type'] === `type.googleapis.com/google.rpc.${kind}`)
}

const PATH = '/v1beta/models/google:embedContent'
const content = (text: string) => ({ content: { parts: [{ text }] } })
const batch = (...requests: object[]) => ({ requests })

function ask(body: unknown, expected: Partial<Scenario> = {}) {
  const rest = { status: 200, vendorCalls: 1, charges: 1, ...expected }
  return play(gateway, { name: 'gemini', path: PATH, body, ...rest })
}

test('the client of @google/genai finds the gateway by its variables', async () => {
  const { variables } = clients.gemini.settings({
    url: gateway.url,
    secret: gateway.secret,
    model: undefined,
  })
  Object.assign(process.env, variables)
  try {
    expect((await new GoogleGenAI({}).models.get({ model: 'google' })).name).toBe('models/google')
  } finally {
    for (const name in variables) delete process.env[name]
  }
})

describe('each method is served under both versions', () => {
  const contents = [{ role: 'user', parts: [{ text: 'Hello there' }] }]
  const texts = (json: Json) => JSON.stringify([json].flat().map(({ candidates }) => candidates))
  /** The model, a request, and whether the answer belongs to the method. */
  const methods: Record<
    keyof typeof contentsMethods,
    [model: string, body: object, is: (json: Json) => boolean]
  > = {
    generateContent: ['test-chat', { contents }, (json) => texts(json).includes('Hello there')],
    streamGenerateContent: ['test-chat', { contents }, (json) => Array.isArray(json) && json.length > 1],
    countTokens: ['test-chat', { contents }, ({ totalTokens }) => totalTokens > 0],
    embedContent: ['google', content('one'), ({ embedding }) => embedding.values.length > 10],
    batchEmbedContents: [
      'google',
      batch(content('one'), content('two')),
      ({ embeddings }) => embeddings.length === 2,
    ],
  }
  for (const [method, [model, body, isAnswer]] of Object.entries(methods)) {
    for (const version of ['v1', 'v1beta']) {
      test(`/${version}/models/{id}:${method}`, async () => {
        const path = `/${version}/models/${model}:${method}`
        const isFree = method === 'countTokens'
        const effects = isFree ? { vendorCalls: 0, charges: 0, logRows: 0 } : {}
        const { json } = await ask(body, { path, ...effects })
        expect([json, isAnswer(json)]).toEqual([json, true])
        const { json: rejected } = await ask(body, {
          ...{ path, key: 'sk-wrong', status: 401, vendorCalls: 0, charges: 0 },
          ...(isFree && { logRows: 0 }),
        })
        expect(rejected.error).toMatchObject({ code: 401, status: 'UNAUTHENTICATED' })
      })
    }
  }

  test('GET /v1/models keeps the form of OpenAI', async () => {
    const response = await fetch(`${gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${gateway.secret}` },
    })
    expect(await response.json()).toMatchObject({ object: 'list', data: expect.any(Array) })
  })
})

describe('models', () => {
  test('that the key may use are all listed, in pages', async () => {
    const seen: string[] = []
    for await (const { name } of await client.models.list({ config: { pageSize: 2 } })) seen.push(`${name}`)
    const own = await fetch(`${gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${gateway.secret}` },
    })
    const { data } = (await own.json()) as Json
    expect(seen).toEqual(data.map(({ id }: Json) => `models/${id}`))
  })

  test('are listed with their methods and limits', async () => {
    expect(await client.models.get({ model: 'google' })).toMatchObject({
      name: 'models/google',
      supportedActions: ['embedContent', 'batchEmbedContents'],
    })
    expect(await client.models.get({ model: 'test-chat' })).toMatchObject({
      inputTokenLimit: 1_047_576,
      outputTokenLimit: 32_768,
    })
  })

  for (const id of ['owner/name:tag', 'owner%2Fname%3Atag', 'models%2Fowner']) {
    test(`are found by the id in the path: ${id}`, async () => {
      const response = await fetch(`${gateway.url}/v1beta/models/${id}`, {
        headers: { 'x-goog-api-key': gateway.secret },
      })
      const json = (await response.json()) as Json
      if (id.startsWith('owner')) expect(json.name).toBe('models/owner/name:tag')
      else expect(json.error).toMatchObject({ code: 404, status: 'NOT_FOUND' })
    })
  }

  test('that the key may not use are not found, nor a page of another list', async () => {
    const { secret } = await gateway.makeKey('narrow', '1', { models: ['google'] })
    const narrow = clientOf(secret)
    const pager = await narrow.models.list()
    expect(pager.page.map(({ name }) => name)).toEqual(['models/google'])
    expect(await refused(narrow.models.get({ model: 'voyage' }))).toMatchObject({
      status: 404,
      error: { status: 'NOT_FOUND' },
    })
    const { status, error } = await refused(client.models.list({ config: { pageToken: 'bm9uZQ' } }))
    expect([status, error.status]).toEqual([400, 'INVALID_ARGUMENT'])
    expect(detailOf(error, 'BadRequest').fieldViolations[0].field).toBe('pageToken')
  })
})

describe('embeddings', () => {
  for (const model of ['google', 'owner/name:tag', 'voyage']) {
    test(`from ${model} by the official client`, async () => {
      const { embeddings } = await client.models.embedContent({ model, contents: ['one', 'two'] })
      expect(embeddings).toHaveLength(2)
      for (const { values } of embeddings ?? []) expect(values?.length).toBeGreaterThan(10)
    })
  }

  test('of one content are one vector, and charged', async () => {
    const { json, response } = await ask(content('hello'))
    expect(json.embedding.values.length).toBeGreaterThan(10)
    expect(json.usageMetadata.promptTokenCount).toBeGreaterThan(0)
    expect(response.headers.get('x-gateway-model')).toBe('google')
    expect(Number(response.headers.get('x-gateway-cost-usd'))).toBeGreaterThan(0)
  })

  for (const id of ['owner/name:tag', 'owner%2Fname%3Atag']) {
    for (const version of ['v1', 'v1beta']) {
      test(`by the address /${version}/models/${id}`, async () => {
        const path = `/${version}/models/${id}:embedContent`
        const { response } = await ask({ model: 'models/another', ...content('hello') }, { path })
        expect(response.headers.get('x-gateway-model')).toBe('owner/name:tag')
      })
    }
  }

  test('task, title and dimensions are sent to a vendor that supports them', async () => {
    const one = {
      ...content('hello'),
      taskType: 'RETRIEVAL_DOCUMENT',
      title: 'A',
      output_dimensionality: 256,
    }
    const path = '/v1beta/models/google:batchEmbedContents'
    const { calls, response } = await ask(batch(one, { ...one, title: 'B' }), { path })
    const sent = JSON.parse(calls[0]?.body ?? '').requests
    expect(sent.map(({ title }: Json) => title)).toEqual(['A', 'B'])
    expect(sent[0]).toMatchObject({ taskType: 'RETRIEVAL_DOCUMENT', outputDimensionality: 256 })
    expect(response.headers.has('x-gateway-ignored')).toBe(false)
  })

  test('the task is translated for another vendor, and reported if there is no equivalent', async () => {
    const one = { ...content('hello'), taskType: 'RETRIEVAL_QUERY', title: 'A' }
    const voyage = await ask(one, { path: '/v1beta/models/voyage:embedContent' })
    expect(JSON.parse(voyage.calls[0]?.body ?? '').input_type).toBe('query')
    expect(voyage.response.headers.get('x-gateway-ignored')).toBe('title')
    const openai = await ask(one, { path: '/v1beta/models/owner/name:tag:embedContent' })
    expect(Object.keys(JSON.parse(openai.calls[0]?.body ?? '')).sort()).toEqual(['input', 'model'])
    expect(openai.response.headers.get('x-gateway-ignored')).toBe('taskType, title')
  })

  const wrong: [name: string, path: string, body: object, status: number, field: string | null][] = [
    ['no content', 'google:embedContent', {}, 400, 'content'],
    ['an empty text', 'google:embedContent', content(''), 400, 'content'],
    [
      'an image',
      'google:embedContent',
      { content: { parts: [{ inlineData: {} }] } },
      400,
      'content.parts[0]',
    ],
    [
      'dimensions that the model does not have',
      'voyage:embedContent',
      { ...content('a'), outputDimensionality: 3 },
      400,
      'outputDimensionality',
    ],
    [
      'two tasks in a batch',
      'google:batchEmbedContents',
      batch(content('a'), { ...content('a'), taskType: 'CLUSTERING' }),
      400,
      'requests[].taskType',
    ],
    ['an unknown model', 'none:embedContent', content('a'), 404, 'model'],
    ['a model for another operation', 'test-chat:embedContent', content('a'), 404, 'model'],
  ]
  for (const [name, path, body, status, field] of wrong) {
    test(`${name} is rejected with its place`, async () => {
      const { json } = await ask(body, { path: `/v1beta/models/${path}`, status, vendorCalls: 0, charges: 0 })
      expect(json.error.code).toBe(status)
      expect(json.error.status).toBe(status === 404 ? 'NOT_FOUND' : 'INVALID_ARGUMENT')
      expect(detailOf(json.error, 'BadRequest')?.fieldViolations[0].field ?? null).toBe(field)
    })
  }
})

describe('tokens', () => {
  test('are counted for free, whatever the contents', async () => {
    const { secret } = await gateway.makeKey('poor', '0')
    const poor = clientOf(secret)
    const count = async (contents: string) =>
      (await poor.models.countTokens({ model: 'test-chat', contents })).totalTokens ?? 0
    const short = await count('Hello')
    expect(short).toBeGreaterThan(0)
    expect(await count('Hello '.repeat(100))).toBeGreaterThan(short + 90)
    const path = '/v1beta/models/test-chat:countTokens'
    const request = {
      systemInstruction: { parts: [{ text: 'Be kind to everybody' }] },
      tools: [{ functionDeclarations: [{ name: 'get_weather' }] }],
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
    }
    const free = { path, vendorCalls: 0, charges: 0, logRows: 0 }
    const { json } = await ask({ generateContentRequest: request }, free)
    expect(json.totalTokens).toBeGreaterThan(short + 8)
    const { json: refusal } = await ask({}, { ...free, status: 400 })
    expect(detailOf(refusal.error, 'BadRequest').fieldViolations[0].field).toBe('contents')
  })
})

describe('keys', () => {
  test('that are wrong are rejected once, with Google’s reason', async () => {
    const { status, error } = await refused(clientOf('sk-wrong').models.list())
    expect([status, error.status]).toEqual([401, 'UNAUTHENTICATED'])
    expect(detailOf(error, 'ErrorInfo')).toMatchObject({
      reason: 'API_KEY_INVALID',
      domain: 'googleapis.com',
    })
  })

  test('a bearer token is accepted too, and has precedence', async () => {
    const both = { 'x-goog-api-key': 'sk-wrong', authorization: `Bearer ${gateway.secret}` }
    expect((await fetch(`${gateway.url}/v1beta/models`, { headers: both })).status).toBe(200)
  })

  test('no money: 402, which no client retries', async () => {
    const { secret } = await gateway.makeKey('broke', '0')
    const { status, error } = await refused(
      clientOf(secret).models.embedContent({ model: 'google', contents: ['hello'] }),
    )
    expect([status, error.status]).toEqual([402, 'FAILED_PRECONDITION'])
    expect(error.message).toContain('available')
  })

  test('too many requests: 429 with the time to wait', async () => {
    const { secret } = await gateway.makeKey('slow', '1', { requestsPerMinute: 1 })
    const slow = clientOf(secret)
    const embed = () => slow.models.embedContent({ model: 'google', contents: ['hello'] })
    await embed()
    const { status, error } = await refused(embed())
    expect([status, error.status]).toEqual([429, 'RESOURCE_EXHAUSTED'])
    expect(detailOf(error, 'RetryInfo').retryDelay).toMatch(/^\d+s$/)
  })
})

describe('a key in the URL', () => {
  const asked = (at: TestGateway, key: string) =>
    fetch(`${at.url}${PATH}?key=${key}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(content('hello')),
    })

  test('is rejected with an explanation', async () => {
    const response = await asked(gateway, gateway.secret)
    expect(response.status).toBe(401)
    const { error } = (await response.json()) as Json
    expect(error.message).toContain('x-goog-api-key')
    expect(error.message).toContain('server.acceptKeyInAddress')
  })

  test('is in no log, row, trace or page of the console if it is allowed', async () => {
    const collector = startCollector()
    const open = await startTestGateway({
      config: {
        server: { acceptKeyInAddress: true },
        telemetry: { endpoint: collector.endpoint },
        log: { bodies: {} },
      },
    })
    const canary = 'sk-canary-in-the-address'
    try {
      // Answered, of a model that has another operation, wrong, on an unknown path, with a wrong method, in a preflight, and malformed.
      const rows: [method: string, path: string, key: string, status: number][] = [
        ['GET', '/v1beta/models', open.secret, 200],
        ['POST', '/v1beta/models/gmx-embedding-001:embedContent', open.secret, 200],
        ['POST', '/v1beta/models/test-chat:embedContent', open.secret, 404],
        ['GET', '/v1beta/models', canary, 401],
        ['POST', '/v1beta/models/test-chat:embedContent', canary, 401],
        ['POST', '/v1beta/none', canary, 404],
        ['PUT', '/v1beta/models', canary, 405],
        ['OPTIONS', '/v1beta/models', canary, 204],
        ['POST', '/v1beta/models/a%5Cb:embedContent', canary, 400],
      ]
      for (const [method, path, key, status] of rows) {
        const response = await fetch(`${open.url}${path}?key=${key}`, {
          method,
          headers: { 'content-type': 'application/json' },
          ...(method === 'POST' && { body: JSON.stringify(content('hello')) }),
        })
        expect([path, response.status]).toEqual([path, status])
        expect(await response.text()).not.toContain(key)
      }
      await open.chat({ model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] })
      const logged = await open.requestLog()
      await waitFor(() => collector.spans.length > 0)
      const shown = await shownInConsole(open)
      const kept = JSON.stringify([open.log, logged, collector.spans, collector.logs, shown])
      expect(open.log.map(({ event }) => event)).toContain('request_malformed')
      for (const key of [open.secret, canary]) expect(kept).not.toContain(key)
    } finally {
      await open.close()
    }
  })

  /** Everything that the console shows of requests: the list, each with its bodies, sums with facets, files, and what happened. */
  async function shownInConsole(at: TestGateway): Promise<string[]> {
    const { db, requestLog } = at.server.world
    const token = makeToken((count) => crypto.getRandomValues(new Uint8Array(count)))
    const operator = { id: newId('adm'), name: 'ann', role: 'operator' as const, token, expiresAt: null }
    await createAdmin(db, { ...operator, createdAt: 1 })
    await requestLog.bodies?.flush()
    const read = async (path: string) => {
      const headers = { authorization: `Bearer ${token}` }
      const response = await fetch(`${at.url}/admin/v1${path}`, { headers })
      expect([path, response.status]).toEqual([path, 200])
      return response.text()
    }
    const list = await read('/requests?limit=100')
    const requests = (JSON.parse(list) as Json).data
    const answered = requests.find(({ model }: Json) => model === 'gmx-embedding-001')
    expect(requests.map(({ status }: Json) => status)).toEqual(expect.arrayContaining([200, 401, 404]))
    const bodies = await read(`/requests/${answered.id}/bodies`)
    expect(bodies).toContain('hello')
    const summary = await read('/requests/summary')
    expect((JSON.parse(summary) as Json).facets.error.length).toBeGreaterThan(0)
    const others = [
      '/requests?format=csv',
      '/usage',
      '/overview',
      '/events',
      '/conditions',
      '/audit',
      '/keys',
    ]
    const paths = [...requests.map(({ id }: Json) => `/requests/${id}`), ...others]
    return [list, bodies, summary, ...(await Promise.all(paths.map(read)))]
  }
})

describe('paths that are not served', () => {
  for (const path of [
    '/v1beta/tunedModels/x:generateContent',
    '/v1beta/models/google:predict',
    '/v1beta/files',
    '/v1/models/google',
  ]) {
    test(path, async () => {
      const response = await fetch(`${gateway.url}${path}`, {
        method: 'POST',
        headers: { 'x-goog-api-key': gateway.secret, 'content-type': 'application/json' },
        body: '{}',
      })
      expect(response.status).toBe(404)
      const { error } = (await response.json()) as Json
      expect(error).toMatchObject({
        code: 404,
        status: 'NOT_FOUND',
        message: expect.stringContaining('There is no POST'),
      })
    })
  }
})
