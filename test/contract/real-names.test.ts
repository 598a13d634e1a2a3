// The vendors' own names work as ids beside those of the catalogue: the same model, the same key's list, the same price,
// not listed twice. And what the built-in catalogue says of its prices.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import catalogue from '../../gateway.config'
import { describePriceList, priceListOf } from '../../src/config/prices'
import { faultsOf, isRoute, type ModelConfig } from '../../src/config/schema'
import { hasServiceTier, heldNano, tariffOfVariant } from '../../src/contract/prices'
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

  test('is asked for as the model’s id is, and the answer names that id', async () => {
    const answer = await ask('gpt-5.4')
    expect(answer).toMatchObject({ status: 200, json: { model: 'ours' }, charged: 'ours' })
  })

  test('that two models share stands for neither, and one that is taken for what has it', async () => {
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

  test.each(priced)('says of %s where its prices stand and since when', (_, { price }) => {
    expect(price?.source).toStartWith('https://')
    expect(price?.as_of).toMatch(/^2026-\d\d/)
  })

  test('has no two models behind one of the vendors’ names', () => {
    const names = entries.flatMap(([id, { upstreamModel }]) => upstreamModel ?? id)
    expect(new Set(names).size).toBe(names.length)
  })

  test('has the long-context model that always thinks, and what long prompts cost more', () => {
    expect(catalogue.models['claude-fable-5-1']).toMatchObject({
      contextTokens: 1_000_000,
      reasoning: true,
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
    gateway = await startTestGateway({ models, config: { aliases: catalogue.aliases, realNames: false } })
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

const listOf = (id: string) =>
  priceListOf((catalogue.models as Record<string, ModelConfig>)[id] as ModelConfig)

function heldOf(id: string, input: number): number {
  const tariff = tariffOfVariant(listOf(id), [])
  if (!tariff) throw new Error(`${id} has variants`)
  return heldNano(tariff, { input_token: input }, 'default')
}
