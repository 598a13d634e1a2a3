// GET /v1/models describes each model, with the shipped catalogue: its purpose, its limits and its prices in the fields that
// clients read, and no data of the operator.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import OpenAI from 'openai'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

let gateway: TestGateway
let narrow: string

beforeAll(async () => {
  gateway = await startTestGateway({
    upstreams: { 'secret-deal': { kind: 'openai', baseUrl: 'http://127.0.0.1:9', apiKey: 'none' } },
    models: {
      unshaped: {
        family: 'anthropic-messages',
        upstream: 'bedrock',
        upstreamModel: 'us.anthropic.claude-opus-4-8',
        price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '5.00' },
      },
      ...(shipped.models as Record<string, ModelConfig>),
      unnamed: {
        family: 'openai-chat',
        upstream: 'secret-deal',
        upstreamModel: 'internal-name-7',
        price: { per_1m_input_tokens: '1', per_1m_output_tokens: '2', per_request: '0.001' },
      },
      gift: { family: 'openai-chat', upstream: 'secret-deal', free: true },
      either: { route: ['claude-haiku-4-5', 'pgt-4.1-mini'] },
    },
  })
  narrow = (await gateway.makeKey('narrow', '0', { models: ['either', 'gift'] })).secret
})
afterAll(() => gateway.close())

async function read(path: string, key = gateway.secret, headers: Record<string, string> = {}) {
  const response = await fetch(`${gateway.url}${path}`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
  })
  const text = await response.text()
  return { status: response.status, text, json: JSON.parse(text) as Json }
}

async function cardOf(id: string): Promise<Json> {
  return (await read(`/v1/models/${id}`)).json
}

const idsOf = ({ json }: { json: Json }): string[] => json.data.map(({ id }: Json) => id)

describe('a model', () => {
  test('of chat has all that a chat client asks for', async () => {
    const card = await cardOf('claude-haiku-4-5')
    expect(card).toMatchObject({
      id: 'claude-haiku-4-5',
      name: 'claude-haiku-4-5',
      object: 'model',
      owned_by: 'anthropic',
      architecture: {
        modality: 'text+image+file->text',
        input_modalities: ['text', 'image', 'file'],
        output_modalities: ['text'],
      },
      context_length: 200_000,
      max_completion_tokens: 64_000,
      top_provider: { context_length: 200_000, max_completion_tokens: 64_000, is_moderated: false },
      pricing: {
        prompt: '0.000001',
        completion: '0.000005',
        input_cache_read: '0.0000001',
        input_cache_write: '0.00000125',
        input_cache_write_1h: '0.000002',
        web_search: '0.01',
      },
      prices: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '5.00' },
    })
    expect(card.operations).toEqual(expect.arrayContaining(['chat', 'messages']))
    expect(card.supported_parameters).toEqual(
      expect.arrayContaining(['max_tokens', 'stop', 'temperature', 'tool_choice', 'tools']),
    )
    expect(card.supported_parameters).not.toContain('logit_bias')
  })

  test('that does not answer by a schema does not claim to', async () => {
    const { supported_parameters: taken } = await cardOf('unshaped')
    expect(taken).toContain('response_format')
    expect(taken).not.toContain('structured_outputs')
  })

  test('that reasons names no field that it ignores', async () => {
    const { supported_parameters: taken } = await cardOf('pgt-5-mini')
    expect(taken).toEqual(expect.arrayContaining(['reasoning_effort', 'tools', 'structured_outputs']))
    expect(taken).not.toContain('temperature')
    const { supported_parameters: switched } = await cardOf('qnx3.8-max')
    expect(switched).toContain('temperature')
    expect(switched).not.toContain('reasoning_effort')
    const { supported_parameters: others } = await cardOf('pgt-4.1-mini')
    expect(others).toContain('temperature')
    expect(others).not.toContain('reasoning_effort')
  })

  test('that thinks says how much, in the words of OpenRouter', async () => {
    const reasoningOf = async (id: string) => (await cardOf(id)).reasoning
    expect(await reasoningOf('pgt-5-mini')).toEqual({
      mandatory: true,
      default_enabled: true,
      supported_efforts: ['high', 'medium', 'low', 'minimal'],
      supports_max_tokens: false,
    })
    expect(await reasoningOf('claude-haiku-5-5')).toMatchObject({
      mandatory: false,
      supported_efforts: ['max', 'xhigh', 'high', 'medium', 'low', 'none'],
    })
    expect(await reasoningOf('claude-haiku-4-5')).toEqual({
      mandatory: false,
      default_enabled: false,
      supported_efforts: null,
      supports_max_tokens: true,
    })
    expect(await reasoningOf('pgt-4.1-mini')).toBeUndefined()
  })

  const rows: [id: string, operations: string[], modality: string, pricing: Json][] = [
    ['qnx-image-2.0', ['image'], 'text->image', { image_output: '0.035' }],
    ['qnx-image-edit', ['image', 'image-edit'], 'text+image->image', { image_output: '0.045' }],
    [
      'gkx-imagine-image-quality',
      ['image', 'image-edit'],
      'text+image->image',
      { image: '0.01', image_output: '0.07' },
    ],
    ['gmx-3.1-flash-image', ['image', 'image-edit'], 'text+image->image', { prompt: '0.0000005' }],
    ['dle-2', ['image', 'image-edit'], 'text+image->image', { image_output: '0.02' }],
    ['vgx-4', ['embeddings'], 'text->embeddings', { completion: '0' }],
    ['qnx3-tts-flash', ['speech'], 'text->speech', { prompt: '0', completion: '0' }],
    ['whisper-1', ['transcription', 'translation'], 'audio->transcription', { prompt: '0' }],
    ['rerank-2.5', ['rerank'], 'text->rerank', { completion: '0' }],
    ['vidw2.6-t2v', ['video'], 'text->video', { prompt: '0' }],
  ]
  test.each(rows)('%s is for %p', async (id, operations, modality, pricing) => {
    const card = await cardOf(id)
    expect([...card.operations].sort()).toEqual(operations)
    expect(card.architecture.modality).toBe(modality)
    expect(card.pricing).toMatchObject(pricing)
    expect(card.supported_parameters).toBeUndefined()
    expect(Object.keys(card.prices).length).toBeGreaterThan(0)
  })

  test('without a name of its owner has the kind of its upstream, never the operator’s name for it', async () => {
    const { text } = await read('/v1/models')
    expect(text).not.toContain('secret-deal')
    expect(text).not.toContain('internal-name-7')
    expect(text).not.toContain('docs.x.ai')
    const card = await cardOf('unnamed')
    expect(card).toMatchObject({ owned_by: 'openai', context_length: null, max_completion_tokens: null })
    expect(card.pricing).toEqual({ request: '0.001', prompt: '0.000001', completion: '0.000002' })
    const gift = await cardOf('gift')
    expect(gift.pricing).toEqual({ prompt: '0', completion: '0' })
    expect(gift.prices).toBeUndefined()
  })

  test('that is a route has the abilities that all of its models share, at the highest price, without their names', async () => {
    const { json, text } = await read('/v1/models/either', narrow)
    expect(json).toMatchObject({
      context_length: 200_000,
      pricing: { prompt: '0.000001', completion: '0.000005' },
    })
    expect(json.prices).toBeUndefined()
    expect(text).not.toContain('haiku')
    expect(idsOf(await read('/v1/models', narrow)).sort()).toEqual(['either', 'gift'])
    expect((await read('/v1/models/pgt-4.1-mini', narrow)).status).toBe(404)
  })
})

describe('the list', () => {
  /** Members that a chat client of many gateways requires of every model before it reads prices and limits. */
  const ChatClient: TSchema = Type.Object({
    data: Type.Array(
      Type.Object({
        id: Type.String(),
        pricing: Type.Object({ prompt: Type.String(), completion: Type.String() }),
        context_length: Type.Number(),
      }),
    ),
  })

  test('of the shipped catalogue fits what chat clients require, for every model', async () => {
    const { json } = await read('/v1/models')
    const shippedOnly = json.data.filter(({ id }: Json) => id in shipped.models)
    expect(shippedOnly.length).toBe(Object.keys(shipped.models).length)
    expect([...Value.Errors(ChatClient, { data: shippedOnly })]).toEqual([])
    for (const { pricing } of json.data) {
      for (const price of Object.values(pricing)) expect(price).toMatch(/^\d+(\.\d+)?$/)
    }
  })

  test('has every model unless a client asks for some', async () => {
    const all = await read('/v1/models')
    expect(idsOf(all)).toEqual(expect.arrayContaining(['whisper-1', 'vgx-4', 'qnx-image-2.0', 'unnamed']))
    expect(idsOf(await read('/v1/models?output_modalities=all'))).toEqual(idsOf(all))
    const chat = await read('/v1/models?operation=chat')
    expect(chat.json.data.every(({ operations }: Json) => operations.includes('chat'))).toBe(true)
    expect(idsOf(chat)).toEqual(
      idsOf({ json: { data: all.json.data.filter(({ operations }: Json) => operations.includes('chat')) } }),
    )
    expect(idsOf(chat).length).toBeGreaterThan(10)
    const texts = idsOf(await read('/v1/models?output_modalities=text'))
    expect(texts).toEqual(expect.arrayContaining(idsOf(chat)))
    expect(texts).not.toContain('whisper-1')
    expect(idsOf(await read('/v1/models?output_modalities=image,video'))).toEqual(
      expect.arrayContaining(['dle-2', 'vidw2.6-t2v']),
    )
    const tools = idsOf(await read('/v1/models?supported_parameters=tools,temperature'))
    expect(tools).toContain('claude-haiku-4-5')
    expect(tools).not.toContain('pgt-5-mini')
  })

  test('is narrowed by `mode` in the query or a header, and repeats no alias and no second name', async () => {
    const chat = idsOf(await read('/v1/models?operation=chat'))
    expect(idsOf(await read('/v1/models?mode=chat'))).toEqual(chat)
    const header = { 'x-gateway-mode': 'chat' }
    expect(idsOf(await read('/v1/models', gateway.secret, header))).toEqual(chat)
    // What a query asks for wins over the header.
    expect(idsOf(await read('/v1/models?mode=rerank', gateway.secret, header))).not.toContain(chat[0])
    const all = idsOf(await read('/v1/models'))
    expect(new Set(all).size).toBe(all.length)
    const { aliases, realNames } = gateway.server.world.catalogue
    for (const name of [...aliases.map(({ name }) => name), ...realNames.keys()])
      expect(all).not.toContain(name)
    for (const [path, headers, param] of [
      ['/v1/models?mode=dance', {}, 'mode'],
      ['/v1/models', { 'x-gateway-mode': 'dance' }, 'x-gateway-mode'],
    ] as const) {
      const { status, json } = await read(path, gateway.secret, headers)
      expect({ status, param: json.error.param }).toEqual({ status: 400, param })
    }
  })

  test('for clients of messages has the limits, and the same filters', async () => {
    const headers = { 'anthropic-version': '2023-06-01' }
    const { json } = await read('/v1/models?limit=1000&operation=messages', gateway.secret, headers)
    expect(json.data.find(({ id }: Json) => id === 'claude-haiku-4-5')).toMatchObject({
      type: 'model',
      max_input_tokens: 200_000,
      max_tokens: 64_000,
    })
    expect(idsOf({ json })).not.toContain('whisper-1')
  })

  test('rejects an operation that does not exist, by name', async () => {
    const { status, json } = await read('/v1/models?operation=dance')
    expect({ status, param: json.error.param }).toEqual({ status: 400, param: 'operation' })
    expect(json.error.message).toContain('image-edit')
  })

  test('is read by the official clients', async () => {
    const openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret })
    const ids: string[] = []
    for await (const { id, object, created, owned_by } of openai.models.list()) {
      expect([object, typeof created, typeof owned_by]).toEqual(['model', 'number', 'string'])
      ids.push(id)
    }
    expect(ids).toContain('qnx-image-2.0')
    expect((await openai.models.retrieve('dle-2')).id).toBe('dle-2')
    const anthropic = new Anthropic({ baseURL: gateway.url, authToken: gateway.secret, apiKey: null })
    const seen: string[] = []
    for await (const { id } of anthropic.models.list({ limit: 50 })) seen.push(id)
    expect(seen).toEqual(ids)
    expect(await anthropic.models.retrieve('claude-haiku-4-5')).toMatchObject({ max_tokens: 64_000 })
  })
})
