// GET /v1/models in both of its forms, and the root that clients look at first.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

let gateway: TestGateway
let narrow: string

beforeAll(async () => {
  gateway = await startTestGateway({
    models: { 'owner/name:tag': { family: 'openai-chat', upstream: 'openai', free: true } },
  })
  narrow = (await gateway.makeKey('narrow', '0', { models: ['test-chat', 'test-messages'] })).secret
})
afterAll(() => gateway.close())

const MESSAGES = { 'anthropic-version': '2023-06-01' }

async function read(path: string, headers: Record<string, string> = {}, key = gateway.secret) {
  const response = await fetch(`${gateway.url}${path}`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
  })
  return { status: response.status, headers: response.headers, json: (await response.json()) as Json }
}

const idsOf = ({ json }: { json: Json }): string[] => json.data.map((model: Json) => model.id)

describe('the list', () => {
  test('in the form of the spec', async () => {
    const { json } = await read('/v1/models')
    expect(Object.keys(json)).toEqual(['object', 'data'])
    expect(json.data[0]).toMatchObject({
      id: expect.any(String),
      object: 'model',
      created: expect.any(Number),
      owned_by: expect.any(String),
    })
  })

  test('for clients of messages: the same models in their form', async () => {
    const all = await read('/v1/models')
    const { json, headers } = await read('/v1/models?limit=1000', MESSAGES)
    expect(idsOf({ json })).toEqual(idsOf(all))
    expect(json).toMatchObject({
      has_more: false,
      first_id: json.data[0].id,
      last_id: json.data.at(-1).id,
    })
    expect(json.data[0]).toEqual({
      type: 'model',
      id: json.data[0].id,
      display_name: json.data[0].id,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      max_input_tokens: 1_047_576,
      max_tokens: 32_768,
    })
    expect(headers.get('request-id')).toBe(headers.get('x-request-id'))
  })

  test('a page at a time, forwards and backwards', async () => {
    const all = idsOf(await read('/v1/models'))
    const byDefault = await read('/v1/models', MESSAGES)
    expect(idsOf(byDefault)).toEqual(all.slice(0, 20))
    expect(byDefault.json.has_more).toBe(all.length > 20)
    const seen: string[] = []
    for (let after = ''; ; ) {
      const { json } = await read(`/v1/models?limit=4${after && `&after_id=${after}`}`, MESSAGES)
      seen.push(...idsOf({ json }))
      if (!json.has_more) break
      expect(json.data).toHaveLength(4)
      after = encodeURIComponent(json.last_id)
    }
    expect(seen).toEqual(all)
    const back = await read(`/v1/models?limit=2&before_id=${encodeURIComponent(all[5] ?? '')}`, MESSAGES)
    expect(idsOf(back)).toEqual(all.slice(3, 5))
    expect(back.json.has_more).toBe(true)
    const none = await read(`/v1/models?after_id=${encodeURIComponent(all.at(-1) ?? '')}`, MESSAGES)
    expect(none.json).toEqual({ data: [], has_more: false, first_id: null, last_id: null })
  })

  for (const query of [
    'limit=0',
    'limit=1001',
    'limit=ten',
    'limit=1.5',
    'after_id=nothing',
    'before_id=nothing',
  ]) {
    test(`${query}: 400 that names the field`, async () => {
      const { status, json } = await read(`/v1/models?${query}`, MESSAGES)
      expect(status).toBe(400)
      expect(json).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
      expect(json.error.message).toContain(`'${query.split('=')[0]}'`)
    })
  }

  test('only what the key may use, in both forms', async () => {
    for (const headers of [{}, MESSAGES]) {
      expect(idsOf(await read('/v1/models', headers, narrow)).sort()).toEqual(['test-chat', 'test-messages'])
      expect((await read('/v1/models/vgx-4', headers, narrow)).status).toBe(404)
    }
  })

  test('without a key: 401 in the form of the caller', async () => {
    const open = await read('/v1/models', {}, 'sk-wrong')
    expect(open).toMatchObject({ status: 401, json: { error: { code: 'invalid_api_key' } } })
    const messages = await read('/v1/models', MESSAGES, 'sk-wrong')
    expect(messages).toMatchObject({
      status: 401,
      json: { type: 'error', error: { type: 'authentication_error' } },
    })
    expect(messages.headers.get('request-id')).toMatch(/^req_/)
  })
})

describe('one model', () => {
  test('in both forms, also with a slash in its id', async () => {
    const id = 'owner/name:tag'
    for (const path of [`/v1/models/${id}`, `/v1/models/${encodeURIComponent(id)}`]) {
      expect((await read(path)).json).toMatchObject({ id, object: 'model' })
      expect((await read(path, MESSAGES)).json).toMatchObject({ id, type: 'model', display_name: id })
    }
  })

  test('that does not exist: 404 in the form of the caller', async () => {
    const open = await read('/v1/models/nothing')
    expect(open).toMatchObject({ status: 404, json: { error: { code: 'model_not_found', param: 'model' } } })
    const messages = await read('/v1/models/nothing', MESSAGES)
    expect(messages).toMatchObject({ status: 404, json: { error: { type: 'not_found_error' } } })
  })
})

test('paths with /v1 twice', async () => {
  expect((await read('/v1/v1/models')).json).toEqual((await read('/v1/models')).json)
  expect((await read('/v1/v1/models/test-chat', MESSAGES)).json.id).toBe('test-chat')
})

test('the root answers without a key and shows nothing', async () => {
  for (const method of ['HEAD', 'GET']) {
    const response = await fetch(`${gateway.url}/`, { method, redirect: 'manual' })
    expect(response.status).toBe(200)
    expect(await response.text()).toBe('')
  }
})
