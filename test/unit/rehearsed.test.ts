// A configuration with other prices: the models that get prices from a vendor's list, and which of these are the
// vendor's own, with the current markups.

import { expect, test } from 'bun:test'
import { rehearsedConfig } from '../../src/config/rehearsed'
import type { Config, ModelConfig } from '../../src/config/schema'

const price = (input: string) => ({ per_1m_input_tokens: input, per_1m_output_tokens: '2' })
const chat = { family: 'openai-chat', upstream: 'near' }
const config: Config = {
  markup: '50%',
  upstreams: {
    near: { kind: 'openai', apiKey: 'none' },
    cheap: { kind: 'openai', apiKey: 'none', markup: '10%' },
    other: { kind: 'groq', apiKey: 'none' },
  },
  models: {
    marked: { ...chat, upstreamModel: 'm', cost: price('1'), price: price('1.5') },
    cheaper: { ...chat, upstream: 'cheap', upstreamModel: 'm', cost: price('1'), price: price('1.1') },
    foreign: { ...chat, upstream: 'other', upstreamModel: 'm', price: price('1') },
    shared: { ...chat, upstream: { near: 1, other: 1 }, upstreamModel: 'm', price: price('1') },
    unlisted: { ...chat, price: price('1') },
    gift: { ...chat, upstreamModel: 'g', free: true },
    either: { route: ['marked', 'cheaper'] },
  },
  plans: { gold: { priceFactor: '0.9', requestsPerMinute: 5 } },
}
const list = {
  kind: 'openai',
  source: 'a page',
  fetchedAt: '2026-11-25',
  models: { m: { price: price('10') }, g: { price: price('4') } },
}

function pricesBy(config: Config, other: Parameters<typeof rehearsedConfig>[1]) {
  const rehearsed = rehearsedConfig(config, other)
  if ('faults' in rehearsed) throw new Error(rehearsed.faults.join())
  return Object.fromEntries(
    Object.entries(rehearsed.config.models).map(([id, entry]) => {
      const { free, price, cost } = entry as ModelConfig
      const input = (prices: object | undefined) => (prices as Record<string, string>)?.per_1m_input_tokens
      return [id, [free ? 'free' : input(price), input(cost)]]
    }),
  )
}

test('a list sets prices of its vendor’s models, with the markup in force', () => {
  expect(pricesBy(config, { list })).toEqual({
    marked: ['15.00', '10'],
    cheaper: ['11.00', '10'],
    foreign: ['1', undefined],
    shared: ['1', undefined],
    unlisted: ['1', undefined],
    gift: ['free', '4'],
    either: [undefined, undefined],
  })
})

test('without a markup, the list sets the price, or the cost of a model that has both', () => {
  const { markup: _, ...plain } = config
  expect(pricesBy(plain, { list })).toMatchObject({
    marked: ['1.5', '10'],
    cheaper: ['11.00', '10'],
    gift: ['free', '4'],
  })
})

test('prices by id replace whole prices, and the configuration in force is unchanged', () => {
  const before = structuredClone(config)
  expect(
    pricesBy(config, { models: { marked: { free: true }, unlisted: { price: price('7') } } }),
  ).toMatchObject({
    marked: ['free', undefined],
    unlisted: ['7', undefined],
    cheaper: ['1.1', '1'],
  })
  expect(config).toEqual(before)
})

test('a plan takes the prices of a file and keeps the rest', () => {
  const rehearsed = rehearsedConfig(config, { plans: { gold: { priceFactors: { 'mar*': '2' } } } })
  expect(rehearsed).toMatchObject({
    config: { plans: { gold: { requestsPerMinute: 5, priceFactors: { 'mar*': '2' } } } },
  })
  expect('config' in rehearsed && rehearsed.config.plans?.gold?.priceFactor).toBeUndefined()
})

test('faults in prices and plans are reported with their places', () => {
  const faultsBy = (other: object) => {
    const rehearsed = rehearsedConfig(config, other)
    return 'faults' in rehearsed ? rehearsed.faults : []
  }
  expect(faultsBy({ plans: { silver: { priceFactor: '1' } } })).toEqual([
    'plans.silver: there is no such plan',
  ])
  expect(faultsBy({ plans: { gold: { priceFactor: '0' } } })[0]).toMatch(
    /^plans\.gold\.priceFactor: "0" is not/,
  )
  expect(faultsBy({ plans: { gold: { priceFactor: 2 } } })[0]).toMatch(/^plans\.gold\.priceFactor: /)
  expect(faultsBy({ models: { marked: {} } })[0]).toMatch(/^models\.marked\.price: missing/)
  expect(faultsBy({ models: { marked: { price: price('NaN') } } })[0]).toMatch(/"NaN" is not an amount/)
  expect(faultsBy({ list: { ...list, models: { m: { price: { per_1m_input_tokens: '1' } } } } })[0]).toMatch(
    /^models\.marked\.(price|cost): /,
  )
})
