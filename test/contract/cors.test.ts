// CORS headers for web pages of other origins, tested over plain HTTP because a browser would hide them.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startTestGateway, type TestGateway } from '../support/gateway'

const ORIGINS = ['https://app.example.com', 'https://elsewhere.example'] as const

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.close())

test('server.corsOrigins names the origin, so that a cache does not give one page the answer of another', async () => {
  const limited = await startTestGateway({ config: { server: { corsOrigins: [ORIGINS[0]] } } })
  for (const [origin, allowed] of [
    [ORIGINS[0], ORIGINS[0]],
    [ORIGINS[1], null],
  ] as const) {
    const response = await fetch(`${limited.url}/v1/models`, { headers: { origin } })
    expect(response.headers.get('access-control-allow-origin')).toBe(allowed)
    expect(response.headers.get('vary')).toContain('origin')
  }
  await limited.close()
})

// A page of this computer may use tools.
test.each(['/mcp', '/v1/mcp'])('a page of a foreign origin cannot use the tools at %s', async (path) => {
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: { origin: 'https://elsewhere.example', authorization: `Bearer ${gateway.secret}` },
  })
  expect(response.status).toBe(403)
  expect(response.headers.get('access-control-allow-origin')).toBeNull()
})

describe('the answer to a preflight', () => {
  const ask = (url: string, path: string, headers: Record<string, string>) =>
    fetch(`${url}${path}`, { method: 'OPTIONS', headers: { origin: 'https://app.example.com', ...headers } })

  test('allows any origin and every requested header, never credentials', async () => {
    const response = await ask(gateway.url, '/v1/chat/completions', {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,x-stainless-lang',
    })
    expect(response.status).toBe(204)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-headers': 'authorization,content-type,x-stainless-lang',
      'access-control-allow-methods': 'GET, HEAD, POST, DELETE',
      'access-control-max-age': '86400',
    })
    expect(response.headers.has('access-control-allow-credentials')).toBe(false)
  })

  test.each([
    '/v1/usage',
    '/dashboard/billing/subscription',
    '/dashboard/billing/usage',
    '/api/v1/credits',
    '/api/v1/key',
  ])('lets pages read balances at %s, as clients of other gateways do', async (path) => {
    const asked = await ask(gateway.url, path, {
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization',
    })
    const headers = { origin: ORIGINS[0], authorization: `Bearer ${gateway.secret}` }
    const read = await fetch(`${gateway.url}${path}`, { headers })
    for (const [{ status, headers }, expected] of [
      [asked, 204],
      [read, 200],
    ] as const)
      expect([status, headers.get('access-control-allow-origin')]).toEqual([expected, '*'])
  })

  test('does not repeat a value that is not a list of headers', async () => {
    const response = await ask(gateway.url, '/v1/models', {
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'a;b"<script>',
    })
    expect(response.headers.get('access-control-allow-headers')).toBe('authorization, content-type')
  })

  test('is an Allow header without an Origin, and 404 for unknown paths', async () => {
    const plain = await fetch(`${gateway.url}/v1/chat/completions`, { method: 'OPTIONS' })
    expect([plain.status, plain.headers.get('allow')]).toEqual([204, 'POST, OPTIONS'])
    expect((await fetch(`${gateway.url}/v1/nothing`, { method: 'OPTIONS' })).status).toBe(404)
  })
})

test('a request without an Origin gets no CORS header', async () => {
  const response = await gateway.chat()
  expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
  expect(response.headers.has('vary')).toBe(false)
})
