// Costs and markups in the configuration: their permitted values, and the prices that result from a markup.

import { describe, expect, test } from 'bun:test'
import { extended } from '../../src/config/extension'
import { withMarkups } from '../../src/config/models/costs'
import { type PriceConfig, priceListOf } from '../../src/config/models/prices'
import { faultsOf, type ModelConfig } from '../../src/config/schema'
import { tariffOfJson, tariffOfVariant } from '../../src/contract/prices'
import { createRandom, seedOf } from '../support/random'

const tokens = (input: string, output: string) => ({
  per_1m_input_tokens: input,
  per_1m_output_tokens: output,
})
const upstreams = { east: { kind: 'openai', apiKey: 'x' }, west: { kind: 'openai', apiKey: 'x' } }

const chat = { family: 'openai-chat', upstream: 'east' }
const image = { family: 'xai-images', upstream: 'east' }

/** The faults that the gateway finds in a configuration with one model. */
function faults(model: object, more: object = {}): string[] {
  const sold = withMarkups({ upstreams, models: { m: model }, ...more })
  return [...sold.faults, ...faultsOf(sold.value)]
}

/** The model with its price for customers. */
function soldAs(model: object, more: object = {}): ModelConfig {
  const { value } = withMarkups({ upstreams, models: { m: model }, ...more })
  return (value as { models: { m: ModelConfig } }).models.m
}

describe('a cost', () => {
  const price = tokens('1', '2')
  const read = { per_input_image: '0.01' }
  test.each<[name: string, model: object, faults: string[]]>([
    ['in the units of the price', { ...chat, price, cost: tokens('0.5', '1') }, []],
    ['of a free model', { ...chat, free: true, cost: tokens('0.5', '1') }, []],
    [
      'with a cheaper cache, which the price counts as input',
      { ...chat, price, cost: { ...tokens('0.5', '1'), per_1m_cached_input_tokens: '0.05' } },
      [],
    ],
    [
      'of requests, which are free for callers',
      { ...chat, price, cost: { ...tokens('0.5', '1'), per_request: '0.01' } },
      [
        'models.m.cost.per_request: the price has none, so it is not counted; give the price "0.00" for it if callers do not pay it',
      ],
    ],
    [
      'of searches that are not billed',
      {
        ...chat,
        price: { ...price, per_1k_web_searches: '0.00' },
        cost: { ...price, per_1k_web_searches: '10' },
      },
      [],
    ],
    [
      'without a unit of the price',
      { ...chat, price: { ...price, per_1k_web_searches: '10' }, cost: price },
      [
        'models.m.cost: per_1k_web_searches is missing, which the price has; say "0.00" if the vendor asks nothing for it',
      ],
    ],
    [
      'with a typing error',
      { ...chat, price, cost: { ...price, per_1m_output_tokens: '1,5' } },
      ['models.m.cost.per_1m_output_tokens: "1,5" is not an amount of dollars such as "0.25"'],
    ],
    [
      'by size, although the price is one amount',
      {
        ...image,
        price: { ...read, per_image: '0.05' },
        cost: { ...read, per_image: { '1024x1024': '0.04' } },
      },
      ['models.m.cost.per_image: the price is one amount, so give one amount here too'],
    ],
    [
      'by size, without a size of the price',
      {
        ...image,
        price: { ...read, per_image: { '1024x1024': '0.05', '1024x1536': '0.06' } },
        cost: { ...read, per_image: { '1024x1024': '0.04' } },
      },
      ['models.m.cost.per_image: 1024x1536 is missing, which the price has'],
    ],
    [
      'for each upstream',
      {
        ...chat,
        upstream: { east: 1, west: 2 },
        price,
        cost: { upstreams: { east: tokens('0.5', '1'), west: tokens('0.4', '1') } },
      },
      [],
    ],
    [
      'for an unknown upstream',
      { ...chat, price, cost: { upstreams: { west: tokens('0.5', '1') } } },
      ['models.m.cost.upstreams.west: it is not an upstream of this model'],
    ],
    [
      'in both forms',
      { ...chat, price, cost: { ...price, upstreams: { east: price } } },
      ['models.m.cost: with upstreams, give prices below each of them only'],
    ],
    [
      'without a price or a markup',
      { ...chat, cost: price },
      ['models.m.price: missing; a model with a cost needs a price too, or a markup'],
    ],
  ])('%s', (_, model, expected) => expect(faults(model)).toEqual(expected))
})

describe('a markup', () => {
  const cost = tokens('0.15', '0.6')
  test('of a model overrides that of its upstream, which overrides the general one', () => {
    const inputOf = (model: object, more: object = {}) => soldAs(model, more).price?.per_1m_input_tokens
    const dear = { upstreams: { ...upstreams, east: { ...upstreams.east, markup: '50%' } }, markup: '100%' }
    expect(inputOf({ ...chat, cost })).toBeUndefined()
    expect(inputOf({ ...chat, cost }, { markup: '100%' })).toBe('0.30')
    expect(inputOf({ ...chat, cost }, dear)).toBe('0.225')
    expect(inputOf({ ...chat, cost, markup: '20%' }, dear)).toBe('0.18')
    expect(inputOf({ ...chat, cost, price: tokens('7', '7') }, dear)).toBe('7')
  })

  test.each<[name: string, model: object, more: object, fault: string]>([
    [
      'that is not a percentage',
      { ...chat, cost, markup: '1.2' },
      {},
      'models.m.markup: expected a percentage on the cost such as "20%"',
    ],
    [
      'of an upstream that does not exist',
      { ...chat, price: cost },
      { upstreams: { ...upstreams, east: { ...upstreams.east, markup: '-5%' } } },
      'upstreams.east.markup: expected a percentage on the cost such as "20%"',
    ],
    [
      'next to a price',
      { ...chat, cost, price: cost, markup: '20%' },
      {},
      'models.m.markup: a model with a price of its own, or a free one, has no markup',
    ],
    ['without a cost', { ...chat, markup: '20%' }, {}, 'models.m.markup: it needs the cost that it is on'],
    [
      'that differs between the upstreams of a model',
      { ...chat, upstream: { east: 1, west: 1 }, cost },
      { upstreams: { ...upstreams, east: { ...upstreams.east, markup: '5%' } }, markup: '10%' },
      'models.m.markup: missing; its upstreams have different ones, so it needs its own',
    ],
    [
      'on a cost for each upstream',
      {
        ...chat,
        upstream: { east: 1, west: 1 },
        markup: '5%',
        cost: { upstreams: { east: cost, west: cost } },
      },
      {},
      'models.m.price: missing; a markup needs one cost, and this model has one for each upstream',
    ],
  ])('%s is a fault', (_, model, more, fault) => expect(faults(model, more)).toContain(fault))

  test('keeps the factors of service tiers, and raises all other prices, also of longer prompts', () => {
    const full: PriceConfig = {
      ...cost,
      above_200k: tokens('0.3', '1.2'),
      service_tiers: { flex: '0.5', priority: { ...cost, above_200k: cost } },
      minimum: '0.001',
      source: 'https://example.com/prices',
      as_of: '2026-11',
    }
    const model = { ...chat, cost: full, markup: '10%' }
    expect(faults(model)).toEqual([])
    expect(soldAs(model).price as object).toEqual({
      ...tokens('0.165', '0.66'),
      above_200k: tokens('0.33', '1.32'),
      service_tiers: {
        flex: '0.5',
        priority: { ...tokens('0.165', '0.66'), above_200k: tokens('0.165', '0.66') },
      },
      minimum: '0.0011',
    })
  })

  const seed = seedOf('MARKUP_SEED')
  test(`is rounded up by less than a pico-dollar (MARKUP_SEED=${seed})`, () => {
    const random = createRandom(seed)
    for (let round = 0; round < 2_000; round++) {
      const micros = random.below(50_000_000)
      const percent = random.below(5_000_000)
      const text = (parts: number, decimals: number) =>
        `${Math.floor(parts / 10 ** decimals)}.${String(parts % 10 ** decimals).padStart(decimals, '0')}`
      const model = { ...chat, cost: tokens(text(micros, 6), '1'), markup: `${text(percent, 4)}%` }
      const { price } = soldAs(model)
      const sold = priceListOf({ price: price as PriceConfig }).tables[0]?.listed.input_token as number
      // In ten-thousandths of a percent: 100 % are a million.
      const exact = BigInt(micros) * (1_000_000n + BigInt(percent))
      const paid = BigInt(sold) * 1_000_000n
      expect(paid >= exact && paid - exact < 1_000_000n).toBe(true)
    }
  })

  test('turns the prices of the built-in catalogue into costs', () => {
    const catalogue = {
      upstreams: { east: upstreams.east },
      models: { listed: { ...chat, price: { ...cost, source: 'x' } }, free: { ...chat, free: true } },
      aliases: {},
    }
    const own = { extends: 'builtin', models: { mine: { ...chat, price: cost } } }
    const models = (written: object) =>
      (withMarkups(extended(written, catalogue).value).value as { models: Record<string, ModelConfig> })
        .models
    expect(models(own).listed?.cost).toBeUndefined()
    const sold = models({ ...own, markup: '20%' })
    expect(sold.listed).toMatchObject({ cost: { ...cost, source: 'x' }, price: tokens('0.18', '0.72') })
    expect(sold.free).toEqual({ ...chat, free: true } as ModelConfig)
    // A price set by the operator is unchanged.
    expect(sold.mine?.price).toEqual(cost)
  })
})

test('prices and costs stored with a charge are restored exactly', () => {
  const list = (price: PriceConfig) => priceListOf({ price })
  const tariff = tariffOfVariant(
    list({ ...tokens('1', '2'), service_tiers: { flex: '0.5' } }),
    [],
    list({ ...tokens('0.5', '1'), above_200k: tokens('1', '2'), minimum: '0.01' }),
  )
  expect(tariff?.cost?.tables).toHaveLength(2)
  expect(tariffOfJson(tariff?.json as string)).toEqual(tariff as NonNullable<typeof tariff>)
})
