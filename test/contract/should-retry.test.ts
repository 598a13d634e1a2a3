// Every error of every route says whether a retry can help, because some clients otherwise retry with a wrong key for
// minutes. The routes are those of the API documentation, so that a new one is tested too.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { operations } from '../../src/contract/operations'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import type { Json } from '../support/scenario'

setDefaultTimeout(180_000)

let gateway: TestGateway
let paths: [path: string, methods: string[]][]

beforeAll(async () => {
  gateway = await startTestGateway({ balance: '10' })
  const document = (await (await fetch(`${gateway.url}/openapi.json`)).json()) as Json
  paths = Object.entries(document.paths as Record<string, object>)
    .filter(([path]) => path !== ROLL)
    .map(([path, methods]) => [path, Object.keys(methods)])
})
afterAll(() => gateway.close())

/** Replaces the secret that the other requests use. */
const ROLL = '/v1/me/roll'
const REPEATABLE = [408, 409, 429, 500, 502, 503, 504, 529]

/** Sends a request, and checks the required parts of the error. Returns the status. */
async function ask(method: string, path: string, options: RequestInit = {}): Promise<number> {
  const response = await fetch(gateway.url + path, { method, redirect: 'manual', ...options })
  const text = await response.text()
  const about = { method, path, status: response.status, text: text.slice(0, 200) }
  const word = response.headers.get('x-should-retry')
  if (response.status < 400) expect({ ...about, word }).toEqual({ ...about, word: null })
  else if (REPEATABLE.includes(response.status))
    expect({ ...about, word }).toEqual({ ...about, word: expect.stringMatching(/^(true|false)$/) })
  else expect({ ...about, word }).toEqual({ ...about, word: 'false' })
  return response.status
}

const concrete = (path: string) => path.replace('{id}', 'none')
const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
const json = { 'content-type': 'application/json' }

async function askAll(options: (method: string) => RequestInit): Promise<Set<number>> {
  const seen = new Set<number>()
  for (const [path, methods] of paths)
    for (const method of methods) seen.add(await ask(method.toUpperCase(), concrete(path), options(method)))
  return seen
}

const withBody = (method: string, body: string, headers: Record<string, string>): RequestInit =>
  method === 'post' ? { headers: { ...json, ...headers }, body } : { headers }

describe('every route', () => {
  test('without a key, and with a wrong one', async () => {
    expect(paths.length).toBeGreaterThan(20)
    for (const headers of [{}, bearer('sk-wrong'), { 'x-api-key': 'sk-wrong' }])
      expect(await askAll((method) => withBody(method, '{}', headers))).toContain(401)
  })

  test.each(['{', '[]', '{}', '"x"', '{"model":"none"}', '{"model":7}', `{"a":${'['.repeat(9999)}`])(
    'with the body %s',
    async (body) => {
      expect(
        await askAll((method) => withBody(method, body.slice(0, 20_000), bearer(gateway.secret))),
      ).toContain(400)
    },
  )

  test('with a body of another type', async () => {
    const text = { 'content-type': 'text/plain' }
    const packed = { 'content-encoding': 'br' }
    for (const headers of [text, packed])
      await askAll((method) => withBody(method, 'hello', { ...bearer(gateway.secret), ...headers }))
  })

  test('with each method', async () => {
    const seen = new Set<number>()
    for (const [path] of paths) {
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'QUERY', 'TRACE'])
        seen.add(await ask(method, concrete(path), { headers: bearer(gateway.secret) }))
    }
    expect(seen).toContain(405)
  })

  test('that replaces the key', async () => {
    const { secret } = await gateway.makeKey('rolled', '1')
    const rows: [method: string, headers: Record<string, string>, status: number][] = [
      ['POST', {}, 401],
      ['POST', bearer('sk-wrong'), 401],
      ['PUT', bearer(secret), 405],
      ['POST', bearer(secret), 200],
    ]
    for (const [method, headers, status] of rows)
      expect([method, await ask(method, ROLL, { headers })]).toEqual([method, status])
    await waitFor(async () => (await ask('GET', '/v1/me', { headers: bearer(secret) })) === 401)
  })

  test('with the address of a WebSocket', async () => {
    const headers = { ...bearer(gateway.secret), upgrade: 'websocket', connection: 'upgrade' }
    await askAll(() => ({ headers }))
  })

  test('with what is too large', async () => {
    const body = `{"model":"none","input":"${'x'.repeat(2 * 1024 * 1024)}"}`
    const answered = await ask('POST', '/v1/audio/speech', {
      headers: { ...json, ...bearer(gateway.secret) },
      body,
    })
    expect(answered).toBe(413)
  })
})

test.each([
  ['GET', '/'.concat('x'.repeat(3_000))],
  ['GET', '/v2/models'],
  ['POST', '/v1/responses/none'],
  ['POST', '/responses'],
  ['POST', '/chat/completions'],
  ['POST', '/v1/files'],
  ['DELETE', '/v1/models/gpt-5-mini'],
  ['GET', '/v1/models/%ff'],
  ['GET', '/v1/videos/%00'],
])('%s %s, which is not served', async (method, path) => {
  expect(await ask(method, path, { headers: bearer(gateway.secret) })).toBeGreaterThanOrEqual(400)
})

test.each([400, 401, 402, 403, 404, 405, 409, 413, 422, 424, 429, 500, 502, 503, 504, 529])(
  'a vendor who answers %d',
  async (status) => {
    for (const [path, body] of [
      [
        '/v1/chat/completions',
        { model: 'test-chat', messages: [{ role: 'user', content: `[sandbox status=${status}]` }] },
      ],
      [
        '/v1/messages',
        {
          model: 'test-messages',
          max_tokens: 9,
          messages: [{ role: 'user', content: `[sandbox status=${status}]` }],
        },
      ],
      ['/v1/embeddings', { model: 'test-embedding', input: `[sandbox status=${status}]` }],
    ] as const)
      await ask('POST', path, { headers: { ...json, ...bearer(gateway.secret) }, body: JSON.stringify(body) })
  },
)

test('tools: an unsupported version, a page of another origin, and texts that are not a message', async () => {
  const headers = { ...json, ...bearer(gateway.secret), accept: 'application/json, text/event-stream' }
  const message = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })
  const asked: [headers: Record<string, string>, body: string, status: number][] = [
    [{ 'mcp-protocol-version': '1999-01-01' }, message, 400],
    [{ origin: 'https://evil.example' }, message, 403],
    [{}, '[]', 400],
    [{}, '{"jsonrpc":"2.0"}', 400],
    [{ accept: 'text/html' }, message, 406],
  ]
  for (const [more, body, status] of asked)
    expect([more, await ask('POST', '/mcp', { headers: { ...headers, ...more }, body })]).toEqual([
      more,
      status,
    ])
})

test('every operation is among the routes', () => {
  const known = paths.map(([path]) => path)
  for (const { path } of operations) expect(known).toContain(path)
})
