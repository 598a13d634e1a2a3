// Models that their vendors retire on a known date: headers and the model list announce it, and from that date on a
// model's successor serves its requests, at the successor's price.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { faultsOf, type ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

const DAY = 86_400_000
const ENDS = Date.parse('2026-12-11')

const old: ModelConfig = {
  family: 'openai-chat',
  upstream: 'openai',
  upstreamModel: 'gpt-4.1-mini',
  retires: '2026-12-11',
  price: { per_1m_input_tokens: '1', per_1m_output_tokens: '1', as_of: '2026-11-24' },
}
const next: ModelConfig = {
  family: 'openai-chat',
  upstream: 'openai',
  upstreamModel: 'gpt-4.1',
  price: { per_1m_input_tokens: '10', per_1m_output_tokens: '10' },
}

describe('a model that ends', () => {
  let gateway: TestGateway
  let narrow: string
  const clock = { now: ENDS - 40 * DAY }

  beforeAll(async () => {
    gateway = await startTestGateway({
      balance: '100',
      models: {
        // The successor by the name that the vendor has for it.
        leaving: { ...old, successor: 'gpt-4.1', onRetirement: 'successor' },
        staying: { ...old, successor: 'next' },
        chained: { ...old, successor: 'leaving', onRetirement: 'successor' },
        circling: { ...old, successor: 'circled', onRetirement: 'successor' },
        circled: { ...old, successor: 'circling', onRetirement: 'successor' },
        // Only the pattern of an alias knows the name, and leads to another kind of model.
        starred: { ...old, successor: 'gpt-image-9', onRetirement: 'successor' },
        // A successor that does not serve the operation.
        voiced: { ...old, successor: 'test-embedding', onRetirement: 'successor' },
        orphaned: { ...old, successor: 'nobody-serves-this', onRetirement: 'successor' },
        next,
        'by-route': { route: ['leaving', 'staying'] },
      },
      config: { realNames: true, aliases: { 'gpt-*': 'next' } },
      outside: { now: () => clock.now },
    })
    narrow = (await gateway.makeKey('narrow', '10', { models: ['leaving'] })).secret
  })
  afterAll(() => gateway.close())

  const ask = async (model: string, key = gateway.secret) => {
    const response = await gateway.chat({ model }, { authorization: `Bearer ${key}` })
    await response.text()
    const { headers, status } = response
    const charge = await gateway.newestCharge()
    return {
      status,
      served: headers.get('x-gateway-model'),
      deprecation: headers.get('deprecation'),
      sunset: headers.get('sunset'),
      successor: headers.get('x-gateway-successor'),
      charged: charge?.model,
    }
  }

  test('is announced in headers and in the model list before its date', async () => {
    expect(await ask('leaving')).toEqual({
      status: 200,
      served: 'leaving',
      deprecation: `@${Date.parse('2026-11-24') / 1_000}`,
      sunset: 'Fri, 11 Dec 2026 00:00:00 GMT',
      successor: 'gpt-4.1',
      charged: 'leaving',
    })
    expect(await ask('next')).toMatchObject({ sunset: null, deprecation: null, successor: null })
    const list = (await (
      await fetch(`${gateway.url}/v1/models`, { headers: { authorization: `Bearer ${gateway.secret}` } })
    ).json()) as { data: Json[] }
    const found = (id: string) => list.data.find((model) => model.id === id)
    expect(found('staying')).toMatchObject({ shutdown_date: '2026-12-11', successor: 'next' })
    expect(found('next')).not.toHaveProperty('shutdown_date')
  })

  test('is replaced by its successor on its date and not earlier, also within a route', async () => {
    clock.now = ENDS - 1_000
    expect((await ask('leaving')).charged).toBe('leaving')
    clock.now = ENDS
    expect(await ask('leaving')).toMatchObject({ status: 200, served: 'next', charged: 'next', sunset: null })
    expect(await ask('by-route')).toMatchObject({ status: 200, charged: 'next' })
    // A key for the model alone is served too: the operator chose the successor.
    expect(await ask('leaving', narrow)).toMatchObject({ status: 200, charged: 'next' })
    expect((await ask('next', narrow)).status).toBe(400)
  })

  test('is replaced along a chain of successors, and never in a cycle', async () => {
    clock.now = ENDS
    expect(await ask('chained')).toMatchObject({ status: 200, charged: 'next' })
    expect(await ask('circling')).toMatchObject({ status: 200, charged: 'circling' })
    for (const id of ['orphaned', 'starred', 'voiced'])
      expect(await ask(id)).toMatchObject({ status: 200, charged: id })
  })

  test('is still sent to its vendor if it has no usable successor', async () => {
    clock.now = ENDS + DAY
    expect(await ask('staying')).toMatchObject({ status: 200, served: 'staying', charged: 'staying' })
  })

  test('has the price of the successor in a quote', async () => {
    clock.now = ENDS
    const body = { model: 'leaving', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 10 }
    const response = await gateway.post('/v1/quotes', { path: '/v1/chat/completions', body })
    expect((await response.json()) as Json).toMatchObject({ model: 'next' })
  })
})

test('a date that is not a day is a fault of the configuration', () => {
  const faults = (model: object) =>
    faultsOf({ upstreams: { openai: { kind: 'openai', apiKey: 'k' } }, models: { m: { ...old, ...model } } })
  expect(faults({})).toEqual([])
  expect(faults({ retires: '2026-12-11T00:00:00Z' })).toHaveLength(1)
  expect(faults({ retires: 'soon' })).toHaveLength(1)
  expect(faults({ onRetirement: 'refuse' })).toHaveLength(1)
})
