// GET /v1/audio/models and /v1/audio/voices, as Open WebUI requests them: without a key, in its own form, and with
// names that work in requests.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import catalogue from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

setDefaultTimeout(180_000)

const listed = catalogue.models as Record<string, ModelConfig>
const SPEAKING = ['qnx3-tts-flash', 'qnx3-tts-instruct-flash'] as const

let gateway: TestGateway

beforeAll(async () => {
  const models = Object.fromEntries(SPEAKING.map((id) => [id, listed[id] as ModelConfig]))
  gateway = await startTestGateway({ balance: '10', models })
})
afterAll(() => gateway.close())

async function get(
  path: string,
  secret?: string,
): Promise<{ status: number; json: Json; response: Response }> {
  const headers = secret === undefined ? {} : { authorization: `Bearer ${secret}` }
  const response = await fetch(gateway.url + path, { headers })
  return { status: response.status, json: await response.json(), response }
}

const keyFor = async (...models: string[]) => (await gateway.makeKey('alice', '1', { models })).secret
const named = (ids: readonly string[]) => ids.map((id) => ({ id, name: id }))

/** The lists that Open WebUI reads from the answers. */
const modelsShown = (json: Json) => json.models.map(({ id }: Json) => id)
const voicesShown = (json: Json) =>
  Object.fromEntries(json.voices.map(({ id, name }: Json): [string, string] => [id, name]))

test.each(['', '/v1'])('below %s/v1, without a key: all speech models, with all voices', async (prefix) => {
  const models = await get(`${prefix}/v1/audio/models`)
  expect([models.status, models.json]).toEqual([200, { models: named(SPEAKING) }])
  expect(modelsShown(models.json)).toEqual([...SPEAKING])
  const voices = await get(`${prefix}/v1/audio/voices`)
  expect(voices.status).toBe(200)
  expect(voices.response.headers.get('x-request-id')).toMatch(/^req_/)
  expect(voicesShown(voices.json)).toMatchObject({
    Cherry: 'Cherry',
    'Eldric Sage': 'Eldric Sage',
    Kiki: 'Kiki',
  })
  const ids = voices.json.voices.map(({ id }: Json) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

describe('a key gets', () => {
  test('one model, with its own voices', async () => {
    const secret = await keyFor('qnx3-tts-instruct-flash', 'test-chat')
    expect((await get('/v1/audio/models', secret)).json).toEqual({
      models: named(['qnx3-tts-instruct-flash']),
    })
    const shown = voicesShown((await get('/v1/audio/voices', secret)).json)
    expect(shown).toHaveProperty('Cherry')
    expect(shown).not.toHaveProperty('Kiki')
  })

  test('nothing, if it may use no speech model', async () => {
    const secret = await keyFor('test-chat')
    expect((await get('/v1/audio/models', secret)).json).toEqual({ models: [] })
    expect((await get('/v1/audio/voices', secret)).json).toEqual({ voices: [] })
  })

  test.each(['/v1/audio/models', '/v1/audio/voices'])('%s rejects a wrong key', async (path) => {
    const { status, json, response } = await get(path, 'sk-wrong')
    expect([status, json.error.code]).toEqual([401, 'invalid_api_key'])
    expect(response.headers.get('x-should-retry')).toBe('false')
  })
})

test.each([...SPEAKING])('every voice listed for %s works', async (model) => {
  const { json } = await get('/v1/audio/voices', await keyFor(model))
  expect(json.voices.length).toBeGreaterThan(20)
  for (const { id: voice } of json.voices) {
    const spoken = await gateway.post('/v1/audio/speech', { model, input: 'hi', voice })
    expect({ voice, status: spoken.status }).toEqual({ voice, status: 200 })
    await spoken.bytes()
    expect(JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '').input.voice).toBe(voice)
  }
})
