// The vendors' own names work as ids next to those of the catalogue: the same model, the same key's list, the same price,
// not listed twice. And what the built-in catalogue says of its prices.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import catalogue from '../../gateway.config'
import { extended } from '../../src/config/extension'
import { describePriceList, priceListOf } from '../../src/config/models/prices'
import { type Config, faultsOf, isRoute, type ModelConfig } from '../../src/config/schema'
import { hasServiceTier, heldNano, tariffOfVariant } from '../../src/contract/prices'
import { knownModel } from '../../src/families/traits/known-models'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

const chat: ModelConfig = {
  family: 'openai-chat',
  upstream: 'openai',
  price: { per_1m_input_tokens: '1', per_1m_output_tokens: '2' },
}

describe('a vendor’s own name', () => {
  let gateway: TestGateway
  let other: string

  beforeAll(async () => {
    gateway = await startTestGateway({
      models: {
        ours: { ...chat, upstreamModel: 'gpt-5.4' },
        // Two models behind one name, and a name that is an id or an alias of something else.
        'twin-a': { ...chat, upstreamModel: 'gpt-5-mini' },
        'twin-b': { ...chat, upstreamModel: 'gpt-5-mini' },
        'test-twisted': { ...chat, upstreamModel: 'test-chat' },
        'behind-alias': { ...chat, upstreamModel: 'known-name' },
      },
      config: { aliases: { 'known-name': 'test-chat', 'gpt-*': 'test-chat' } },
    })
    other = (await gateway.makeKey('other', '1', { models: ['test-chat'] })).secret
  })
  afterAll(() => gateway.close())

  const ask = async (model: string, key = gateway.secret) => {
    const response = await gateway.chat({ model }, { authorization: `Bearer ${key}` })
    const json = (await response.json()) as Json
    return { status: response.status, json, charged: (await gateway.newestCharge())?.model }
  }

  test('can be requested like the model’s id, and the answer has that id', async () => {
    const answer = await ask('gpt-5.4')
    expect(answer).toMatchObject({ status: 200, json: { model: 'ours' }, charged: 'ours' })
  })

  test('shared by two models identifies neither, and an id or alias has precedence', async () => {
    // The alias with a star is the next best.
    expect((await ask('gpt-5-mini')).charged).toBe('test-chat')
    expect((await ask('known-name')).charged).toBe('test-chat')
    expect((await ask('test-chat')).charged).toBe('test-chat')
  })

  test('is of no use to a key that may not use the model, which learns nothing of it', async () => {
    const answer = await ask('gpt-5.4', other)
    expect(answer).toMatchObject({
      status: 400,
      json: { error: { code: 'model_not_found', param: 'model' } },
    })
    expect(answer.json.error.message).toContain('`gpt-5.4`')
    expect(answer.json.error.message).not.toContain('ours')
  })

  test('is not in the list, but can be looked up', async () => {
    const headers = { authorization: `Bearer ${gateway.secret}` }
    const list = (await (await fetch(`${gateway.url}/v1/models`, { headers })).json()) as Json
    const ids = list.data.map(({ id }: Json) => id)
    expect(ids).toContain('ours')
    expect(ids).not.toContain('gpt-5.4')
    const one = await fetch(`${gateway.url}/v1/models/gpt-5.4`, { headers })
    expect([one.status, ((await one.json()) as Json).id]).toEqual([200, 'ours'])
  })
})

test('real names can be switched off', async () => {
  const gateway = await startTestGateway({
    models: { ours: { ...chat, upstreamModel: 'gpt-5.4' } },
    config: { realNames: false },
  })
  expect((await gateway.chat({ model: 'gpt-5.4' })).status).toBe(400)
  expect((await gateway.chat({ model: 'ours' })).status).toBe(200)
  await gateway.close()
})

describe('the catalogue', () => {
  const entries = Object.entries(catalogue.models as Record<string, ModelConfig>).filter(
    ([, entry]) => !isRoute(entry),
  )

  test('has no faults', () => expect(faultsOf(catalogue)).toEqual([]))

  const priced = entries.filter(([, { free }]) => !free)

  test.each(priced)('says for %s where its prices are published and since when', (_, { price }) => {
    expect(price?.source).toStartWith('https://')
    expect(price?.as_of).toMatch(/^2026-\d\d/)
  })

  test('has no two models behind one of the vendors’ names', () => {
    const names = entries.flatMap(([id, { upstreamModel }]) => upstreamModel ?? id)
    expect(new Set(names).size).toBe(names.length)
  })

  test('has the long-context model that always thinks, and what long prompts cost more', () => {
    expect(knownModel('claude-fable-5-1')).toMatchObject({
      contextTokens: 1_000_000,
      traits: { thinking: 'always' },
    })
    expect(catalogue.models['claude-fable-5-1']).toMatchObject({
      price: { per_1m_input_tokens: '10.00', per_1m_cache_write_1h_tokens: '20.00' },
    })
    expect(describePriceList(listOf('claude-haiku-5-5'))).toMatchObject({
      per_1m_input_tokens: '0.10',
      above_100k: { per_1m_input_tokens: '0.50', per_1m_output_tokens: '2.50' },
    })
    expect(heldOf('claude-haiku-5-5', 100_000)).toBe(10_000_000)
    expect(heldOf('claude-haiku-5-5', 100_001)).toBe(50_000_500)
    expect(describePriceList(listOf('pgt-6-luna'))).toMatchObject({
      above_272k: { per_1m_cached_input_tokens: '0.02', per_1m_output_tokens: '0.75' },
      service_tiers: { flex: { per_1m_output_tokens: '0.25' }, fast: { per_1m_output_tokens: '1.00' } },
    })
  })

  test('has the service tiers of its vendors', () => {
    const tiers = ['flex', 'priority', 'fast'].filter((tier) => hasServiceTier(listOf('pgt-5-mini'), tier))
    expect(tiers).toEqual(['flex', 'priority'])
    expect(describePriceList(listOf('pgt-5-mini')).service_tiers).toMatchObject({
      flex: { per_1m_cached_input_tokens: '0.0125' },
      priority: { per_1m_input_tokens: '0.45' },
    })
  })
})

describe('a name of Claude that a coding client asks for', () => {
  const models = Object.fromEntries(
    Object.entries(catalogue.models).filter(([id]) => id.startsWith('claude-')),
  )
  const older = ['3-opus-20240229', '3-5-sonnet-latest', '3-7-sonnet-20250219', '3-5-haiku-20241022']
  let gateway: TestGateway
  let names: string[]

  beforeAll(async () => {
    const sdk = `${import.meta.dir}/../../node_modules/@anthropic-ai/sdk`
    const declared = await Bun.file(`${sdk}/resources/messages/messages.d.ts`).text()
    const known = [...declared.matchAll(/'(claude-(?:fable|mythos|opus|sonnet|haiku)-[a-z0-9-]+)'/g)].map(
      ([, name = '']) => name,
    )
    const dated = ['fable-6', 'opus-6-1-20270101', 'sonnet-latest', 'haiku-6', 'fable-5-1-20270101']
    names = [...new Set([...known, ...[...older, ...dated].map((name) => `claude-${name}`)])]
    // The tests' own models have names of Claude behind them.
    const aliases = Object.fromEntries(
      Object.entries(catalogue.aliases).filter(([, target]) => target in models),
    )
    gateway = await startTestGateway({ models, config: { aliases, realNames: false } })
  })
  afterAll(() => gateway.close())

  const idOf = async (name: string) => {
    const headers = { authorization: `Bearer ${gateway.secret}` }
    const response = await fetch(`${gateway.url}/v1/models/${name}`, { headers })
    return ((await response.json()) as Json).id
  }

  test('is served by a model of its family', async () => {
    expect(names.length).toBeGreaterThan(20)
    for (const name of names) {
      const [family] = /fable|mythos|opus|sonnet|haiku/.exec(name) ?? []
      // The largest family that is not sold here goes to the largest that is.
      expect([name, await idOf(name)]).toEqual([
        name,
        expect.stringContaining(family === 'mythos' ? 'fable' : (family ?? 'no family')),
      ])
    }
  })

  test('leaves the ids of the catalogue as they are', async () => {
    for (const id of Object.keys(models)) expect(await idOf(id)).toBe(id)
  })
})

describe('a name that a client asks for by default', () => {
  let gateway: TestGateway
  let other: string

  beforeAll(async () => {
    // Every model of the catalogue; the called ones have the prices and the names of the simulator.
    gateway = await startTestGateway({
      models: catalogue.models as Record<string, ModelConfig>,
      config: { aliases: catalogue.aliases },
    })
    other = (await gateway.makeKey('embedder', '1', { models: ['text-embedding-3-small'] })).secret
  })
  afterAll(() => gateway.close())

  test.each([
    ['gpt-5.4', 'pgt-5.4-mini'],
    ['gpt-5.5', 'pgt-5.4-mini'],
    ['gpt-5.6-luna', 'pgt-5.4-mini'],
    ['gpt-3.5-turbo', 'pgt-4.1-mini'],
    ['gpt-4o-mini', 'pgt-4.1-mini'],
    ['o3-mini', 'pgt-5-mini'],
    // A name in the catalogue itself is never looked up among patterns.
    ['gpt-4.1-mini', 'pgt-4.1-mini'],
    ['pgt-5-mini', 'pgt-5-mini'],
    ['gemini-2.5-pro', 'gmx-2.5-flash-lite'],
    ['gemini-3.5-flash-lite', 'gmx-3.5-flash-lite'],
    ['grok-4-fast', 'gkx-4.3'],
    ['qwen-max-latest', 'qnx3.8-max'],
    ['qwen3-32b', 'qnx3.8-flash'],
  ])('%s is served by %s, and a header says so', async (name, id) => {
    const response = await gateway.chat({ model: name, max_tokens: 20 })
    expect({ status: response.status, model: response.headers.get('x-gateway-model') }).toEqual({
      status: 200,
      model: id,
    })
    expect(await response.json()).toMatchObject({ model: id })
  })

  test.each([
    ['/v1/embeddings', 'text-embedding-ada-002', 'text-embedding-3-small', { input: 'a' }],
    ['/v1/rerank', 'rerank-english-v3.0', 'rerank-v4.0-fast', { query: 'a', documents: ['b'] }],
    ['/v1/rerank', 'rerank-2', 'vgx-rerank-2.5', { query: 'a', documents: ['b'] }],
  ])('%s knows %s', async (path, model, id, body) => {
    const response = await gateway.post(path, { model, ...body })
    expect([response.status, response.headers.get('x-gateway-model')]).toEqual([200, id])
  })

  test('a stream names its model too', async () => {
    const response = await gateway.chat({ model: 'gpt-5.4', stream: true })
    await response.text()
    expect(response.headers.get('x-gateway-model')).toBe('pgt-5.4-mini')
  })

  const refusalOf = async (path: string, model: string, key = gateway.secret) => {
    const response = await gateway.post(
      path,
      { model, input: 'a', voice: 'alloy', messages: [{ role: 'user', content: 'a' }] },
      { authorization: `Bearer ${key}` },
    )
    return { status: response.status, error: ((await response.json()) as Json).error }
  }

  test('no pattern leads to a model for something else', async () => {
    const { status, error } = await refusalOf('/v1/audio/speech', 'gpt-5-mini-tts')
    expect({ status, code: error.code }).toEqual({ status: 400, code: 'model_not_found' })
    expect(error.message).toContain(
      'This key may use for /v1/audio/speech: qnx3-tts-flash, qnx3-tts-instruct-flash, tts-1, tts-1-hd, pgt-4o-mini-tts and 14 more. GET /v1/models lists all.',
    )
    expect(error.message).toContain('`aliases` in the configuration: { "gpt-5-mini-tts": "qnx3-tts-flash" }.')
  })

  test('the error for an unknown model names the served ones that the key may use', async () => {
    const { error } = await refusalOf('/v1/embeddings', 'no-such', other)
    expect(error.message).toContain('This key may use for /v1/embeddings: text-embedding-3-small. GET')
    const none = await refusalOf('/v1/chat/completions', 'no-such', other)
    expect(none.error.message).toContain('This key may not use any model for /v1/chat/completions.')
    const many = await refusalOf('/v1/chat/completions', 'no-such')
    expect(many.error.message).toMatch(/: (\S+, ){4}\S+ and \d+ more\. GET \/v1\/models lists all\./)
    const response = await fetch(`${gateway.url}/v1/models/no-such`, {
      headers: { authorization: `Bearer ${other}` },
    })
    expect(response.status).toBe(404)
    expect(((await response.json()) as Json).error.message).toContain(
      'This key may use: text-embedding-3-small. GET /v1/models lists all. The operator can give a model this name',
    )
  })
})

test('a pattern of a configuration wins over those of the catalogue for the same names', () => {
  const { value } = extended({ extends: 'builtin', aliases: { 'gpt*': 'qnx3.8-max' } }, catalogue)
  const { aliases } = value as Config
  expect(Object.keys(aliases ?? {}).filter((name) => name.startsWith('gpt'))).toEqual(['gpt*'])
  expect(aliases).toMatchObject({ 'grok-*': 'gkx-4.3' })
})

const listOf = (id: string) =>
  priceListOf((catalogue.models as Record<string, ModelConfig>)[id] as ModelConfig)

function heldOf(id: string, input: number): number {
  const tariff = tariffOfVariant(listOf(id), [])
  if (!tariff) throw new Error(`${id} has variants`)
  return heldNano(tariff, { input_token: input }, 'default')
}
