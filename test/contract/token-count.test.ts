// POST /v1/messages/count_tokens: forwarded to the vendor or counted by the gateway, always free.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { say, startTestGateway, type TestGateway, waitFor, withinOneMinute } from '../support/gateway'
import { type Played, play, type Scenario } from '../support/scenario'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

let gateway: TestGateway
let odd: OddVendor
let poor: string

const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }

beforeAll(async () => {
  odd = startVendor()
  const entry = { family: 'anthropic-messages', upstreamModel: 'claude-sonnet-4-5', price }
  gateway = await startTestGateway({
    models: {
      'test-odd': { ...entry, upstream: 'odd' },
      'test-first': { ...entry, upstream: 'odd' },
      'test-route': { route: ['test-first', 'test-messages'] },
    },
    upstreams: { odd: { kind: 'anthropic', baseUrl: odd.url, apiKey: null } },
  })
  poor = (await gateway.makeKey('poor', '0')).secret
})
afterAll(async () => {
  await gateway.close()
  await odd.stop()
})

const PATH = '/v1/messages/count_tokens'
const valid = { model: 'test-messages', messages: say('How long is this?') }

/** No amount is ever charged, and the log of paid requests has no row. */
function count(body: unknown, expected: Partial<Scenario> = {}): Promise<Played> {
  const rest = { status: 200, vendorCalls: 1, charges: 0, logRows: 0, ...expected }
  return play(gateway, { name: 'count', path: PATH, body, ...rest })
}

function refuse(status: number, error: string) {
  return () => Response.json({ type: 'error', error: { type: error, message: 'Not now.' } }, { status })
}

describe('forwarded to the vendor', () => {
  test('byte for byte, except the model and the fields about the answer', async () => {
    const text =
      '{ "system":[{"type":"text","text":"Be kind","cache_control":{"type":"ephemeral"}}], "max_tokens":9,' +
      ' "model":"test-messages","messages":[{"role":"user","content":"Hi 12345678901234567890"}], "stream":true,' +
      '"temperature":1.0, "tools":[{"name":"a","input_schema":{"type":"object"},"x":1.0}],"context_management":{}}'
    const headers = { 'anthropic-version': '2024-10-22', 'anthropic-beta': 'context-management-2025-06-27' }
    const { calls, json, response } = await count(text, { path: `${PATH}?beta=true`, headers })
    expect(calls[0]?.path).toBe('/v1/messages/count_tokens')
    expect(calls[0]?.headers).toMatchObject(headers)
    expect(calls[0]?.body).toBe(
      text
        .replace('test-messages', 'claude-sonnet-4-5')
        .replace(' "max_tokens":9,', '')
        .replace(' "stream":true,', '')
        .replace('"temperature":1.0,', ''),
    )
    expect(json).toEqual({ input_tokens: expect.any(Number) })
    expect(response.headers.get('request-id')).toBe(response.headers.get('x-request-id'))
  })

  test('a request without a limit goes as it came', async () => {
    const { calls } = await count(valid)
    expect(JSON.parse(calls[0]?.body ?? '')).toEqual({ ...valid, model: 'claude-sonnet-4-5' })
  })

  test('a path with /v1 twice', async () => {
    await count(valid, { path: `/v1${PATH}` })
  })

  test('a key without money may count', async () => {
    await count(valid, { key: poor })
  })

  test("the vendor's refusals in its own words", async () => {
    const body = { ...valid, foo: 1 }
    const { json } = await count(body, { status: 400, words: ['"foo: Extra inputs are not permitted"'] })
    expect(json.error.type).toBe('invalid_request_error')
    const busy = { ...valid, messages: say('[sandbox status=429 retry_after=9]') }
    await count(busy, { status: 429, words: ['rate_limit_error'], answers: { 'retry-after': '9' } })
    const overloaded = { ...valid, messages: say('[sandbox status=529]') }
    await count(overloaded, { status: 529, words: ['overloaded_error', 'Overloaded'] })
    const operator = { ...valid, messages: say('[sandbox status=401]') }
    await count(operator, { status: 503, words: ['Its operator can see why'] })
  })

  test('an answer without a number is the vendor’s fault', async () => {
    odd.answer = () => Response.json({ input_tokens: -5 })
    await count({ ...valid, model: 'test-odd' }, { status: 502, vendorCalls: 0, words: ['without a number'] })
  })

  test('of a route the next model gets the request when the first one cannot answer', async () => {
    odd.answer = refuse(503, 'api_error')
    const before = odd.requests
    const { calls } = await count({ ...valid, model: 'test-route' })
    expect(odd.requests - before).toBe(1)
    expect(calls[0]?.body).toContain('How long is this?')
    odd.answer = refuse(400, 'invalid_request_error')
    await count({ ...valid, model: 'test-route' }, { status: 400, vendorCalls: 0, words: ['Not now.'] })
  })

  test('a caller who disconnects ends the call to the vendor', async () => {
    const leaving = new AbortController()
    const before = gateway.sandbox.calls.length
    const asked = fetch(`${gateway.url}${PATH}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secret}` },
      body: JSON.stringify({ ...valid, messages: say('[sandbox hang]') }),
      signal: leaving.signal,
    }).catch((error: Error) => error.name)
    await waitFor(() => gateway.sandbox.calls.length > before)
    leaving.abort()
    expect(await asked).toBe('AbortError')
    await waitFor(() => gateway.sandbox.calls.at(-1)?.aborted === true)
    expect(gateway.sandbox.calls.at(-1)?.aborted).toBe(true)
    expect(gateway.log.filter(({ event }) => event === 'internal_error')).toEqual([])
  })
})

describe('counted by the gateway', () => {
  const here = { vendorCalls: 0 }

  test('for a server that has no such path', async () => {
    odd.answer = refuse(404, 'not_found_error')
    const { json } = await count({ ...valid, model: 'test-odd' }, here)
    expect(json).toEqual({ input_tokens: 5 })
  })

  test('for the models of other formats: all texts, and images by their usual size', async () => {
    const body = { ...valid, model: 'test-chat' }
    const plain = (await count(body, here)).json.input_tokens
    expect(plain).toBe(5)
    const more = async (change: Record<string, unknown>) =>
      (await count({ ...body, ...change }, here)).json.input_tokens - plain
    expect(await more({ system: 'Answer in one word.' })).toBeWithin(4, 8)
    expect(await more({ system: [{ type: 'text', text: 'Answer in one word.' }] })).toBeWithin(4, 8)
    expect(await more({ tools: [{ name: 'get_weather', input_schema: { type: 'object' } }] })).toBeWithin(
      10,
      40,
    )
    const turn = (content: unknown) => ({ messages: [...valid.messages, { role: 'user', content }] })
    const source = { type: 'base64', media_type: 'image/png', data: 'QUJD'.repeat(1_000) }
    expect(await more(turn([{ type: 'image', source }]))).toBeWithin(1_500, 1_502)
    const only = { ...body, messages: [{ role: 'user', content: [{ type: 'image', source }] }] }
    expect((await count(only, here)).json.input_tokens).toBe(1_500)
    const result = {
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: [{ type: 'text', text: 'It is raining.' }],
    }
    expect(await more(turn([result]))).toBeWithin(4, 8)
    const quoted = { type: 'text', media_type: 'text/plain', data: 'A text in a document.' }
    expect(await more(turn([{ type: 'document', source: quoted }]))).toBeWithin(5, 9)
  })

  test('a long text is bounded work, and many at a time take turns', async () => {
    const long = { model: 'test-chat', messages: say('some words '.repeat(300_000)) }
    const counts = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const response = await gateway.post(PATH, long)
        return ((await response.json()) as { input_tokens: number }).input_tokens
      }),
    )
    for (const tokens of counts) expect(tokens).toBeWithin(590_000, 610_000)
  })
})

describe('rejected', () => {
  const refusals: [name: string, scenario: Partial<Scenario>, status: number, type: string, word: string][] =
    [
      ['without a key', { key: null }, 401, 'authentication_error', '`Authorization: Bearer <API_KEY>`'],
      ['a wrong key', { key: 'sk-wrong' }, 401, 'authentication_error', 'Incorrect API key'],
      ['no JSON', { body: 'x' }, 400, 'invalid_request_error', 'not a JSON object'],
      [
        'bytes that are not text',
        { body: Buffer.from('{"a":"\xff"}', 'latin1') },
        400,
        'invalid_request_error',
        'UTF-8',
      ],
      ['a field twice', { body: '{"model":"a","model":"b"}' }, 400, 'invalid_request_error', 'twice'],
      [
        'no model',
        { body: { messages: say('x') } },
        400,
        'invalid_request_error',
        'You must provide a model',
      ],
      [
        'an unknown model',
        { body: { ...valid, model: 'x' } },
        400,
        'invalid_request_error',
        '`x` does not exist',
      ],
      [
        'a model of another operation',
        { body: { ...valid, model: 'vgx-4' } },
        400,
        'invalid_request_error',
        'does not serve /v1/messages',
      ],
      ['no messages', { body: { model: 'test-messages' } }, 400, 'invalid_request_error', "'messages'"],
    ]
  for (const [name, scenario, status, type, word] of refusals) {
    test(`${name}: ${status} ${type}`, async () => {
      const { json } = await count(valid, { vendorCalls: 0, ...scenario, status, words: [word] })
      expect(json.error.type).toBe(type)
    })
  }

  test('a model that the key may not use', async () => {
    const { secret } = await gateway.makeKey('narrow', '1', { models: ['test-chat'] })
    await count(valid, { key: secret, status: 400, vendorCalls: 0, words: ['this key may not use it'] })
  })

  test('more requests than the key may have in a minute', () =>
    withinOneMinute(async () => {
      const { secret } = await gateway.makeKey('limited', '1', { requestsPerMinute: 2 })
      await count(valid, { key: secret })
      await count(valid, { key: secret })
      const { json, response } = await count(valid, { key: secret, status: 429, vendorCalls: 0 })
      expect(json.error).toEqual({
        type: 'rate_limit_error',
        message: expect.stringContaining('This key may use 2 requests a minute'),
      })
      expect(Number(response.headers.get('retry-after'))).toBeWithin(1, 61)
    }))
})
