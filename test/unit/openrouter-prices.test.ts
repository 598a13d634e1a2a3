// OpenRouter's price list: recorded entries are served at exactly their prices, and prices without a supported unit are
// refused with a reason.

import { describe, expect, test } from 'bun:test'
import { type PriceConfig, priceFaults, priceListOf } from '../../src/config/models/prices'
import type { Family } from '../../src/contract/family'
import { billedTable, type Tariff, tableNano, tariffOfVariant } from '../../src/contract/prices'
import type { Quantities } from '../../src/contract/units'
import { families } from '../../src/families'
import { readCompletion } from '../../src/families/chat/caller-side'
import { openrouter } from '../../src/upstreams/kinds/openrouter'
import recorded from '../fixtures/openrouter-models.json'

const entries = recorded.models.map(({ entry }) => entry)
const chat = families.get('openai-chat') as Family

function listed(...data: object[]) {
  return openrouter.listing?.read({ data }, new Map()) ?? { models: {}, refused: {} }
}

function priceOf(id: string): PriceConfig {
  const entry = entries.find((each) => each.id === id)
  return listed(entry as object).models[id]?.price as PriceConfig
}

function nanoOf(id: string, quantities: Quantities): number {
  const tariff = tariffOfVariant(priceListOf({ price: priceOf(id) }), []) as Tariff
  return tableNano(quantities, billedTable(tariff, quantities, undefined, undefined))
}

test('every recorded entry is served, by a price list without faults', () => {
  const { models, refused } = listed(...entries)
  expect(refused).toEqual({})
  expect(Object.keys(models)).toEqual(entries.map(({ id }) => id))
  for (const { price } of Object.values(models)) expect(priceFaults(price, [chat])).toEqual([])
})

test.each([
  ['anthropic/claude-sonnet-5', { cache_write_1h_token: 1_000_000 }, 4_000_000_000],
  ['anthropic/claude-sonnet-5', { cache_write_token: 1_000_000 }, 2_500_000_000],
  ['anthropic/claude-sonnet-5', { input_token: 10, output_token: 3 }, 20_000 + 30_000],
  // 83,333.3… pico-dollars each, never less than that: the next whole one.
  ['google/gemini-2.5-flash-lite', { cache_write_token: 1_000_000 }, 83_334_000],
  ['google/gemini-2.5-flash-lite', { input_audio_token: 1_000_000 }, 300_000_000],
  ['google/gemini-2.5-flash-lite', { cached_input_audio_token: 1_000_000 }, 30_000_000],
  ['google/gemini-3.8-flash', { cache_write_token: 1_000_000 }, 41_667_000],
  ['qwen/qwen3-max', { input_token: 32_000, output_token: 1_000 }, 24_960_000 + 3_900_000],
  ['qwen/qwen3-max', { input_token: 32_001, output_token: 1_000 }, 49_921_560 + 3_900_000],
  ['qwen/qwen3-max', { input_token: 128_001 }, 249_601_950],
  ['meta-llama/llama-4-maverick', { input_token: 10_000, output_token: 10_000 }, 1_875_000 + 6_525_000],
] as const)('%s bills %j exactly', (id, quantities, nano) => {
  expect(nanoOf(id, quantities)).toBe(nano)
})

test('cached sound is counted separately if that is certain, and has the price of sound if it has no own price', () => {
  const details = { audio_tokens: 60, cached_tokens: 80, cache_write_tokens: 5 }
  const usage = { prompt_tokens: 100, completion_tokens: 0, prompt_tokens_details: details }
  const figures = readCompletion({ choices: [], usage }).usage?.figures as Quantities
  expect(figures).toMatchObject({
    input_audio_token: 20,
    cached_input_audio_token: 40,
    cached_input_token: 35,
  })
  const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2', per_1m_input_audio_tokens: '10' }
  const tariff = tariffOfVariant(priceListOf({ price }), []) as Tariff
  expect(tableNano(figures, billedTable(tariff, figures, undefined, undefined))).toBe(
    60 * 10_000 + 40 * 1_000,
  )
})

const base = { prompt: '0.000001', completion: '0.000002' }
const model = (pricing: object, architecture?: object) => ({
  id: 'm',
  pricing: { ...base, ...pricing },
  architecture,
})

describe('overrides', () => {
  test('inherit the prices that they omit, and the later of two has precedence', () => {
    const overrides = [
      { min_prompt_tokens: 200_000, prompt: '0.000004' },
      { min_prompt_tokens: 100_000, prompt: '0.000002', completion: '0.000003' },
      { prompt: '0.0000005' },
    ]
    expect(listed(model({ overrides })).models.m?.price).toEqual({
      per_1m_input_tokens: '0.50',
      per_1m_output_tokens: '2.00',
      above_100000: { per_1m_input_tokens: '0.50', per_1m_output_tokens: '3.00' },
      above_200000: { per_1m_input_tokens: '0.50', per_1m_output_tokens: '3.00' },
    })
  })

  test('may add a price that the model does not have otherwise', () => {
    const overrides = [{ min_prompt_tokens: 1_000, input_cache_read: '0.0000001' }]
    const { price } = listed(model({ overrides })).models.m ?? {}
    expect(price).toEqual({
      per_1m_input_tokens: '1.00',
      per_1m_output_tokens: '2.00',
      per_1m_cached_input_tokens: '1.00',
      above_1000: {
        per_1m_input_tokens: '1.00',
        per_1m_output_tokens: '2.00',
        per_1m_cached_input_tokens: '0.10',
      },
    })
    expect(priceFaults(price, [chat])).toEqual([])
  })
})

test.each([
  [{ overrides: [{ utc_start: 100, utc_end: 400, prompt: '0.0000001' }] }, 'change with the time of day'],
  [{ overrides: [{ utc_days: ['sunday'], prompt: '0.0000001' }] }, 'change with the time of day'],
  [{ overrides: [{ min_prompt_tokens: 5, moon: 'full', prompt: '9' }] }, 'moon'],
  [{ overrides: 'many' }, 'overrides'],
  [{ image: '0.0036' }, 'image ("0.0036")'],
  [{ image_token: '0.00005' }, 'image_token'],
  [{ internal_reasoning: '0.00003' }, 'internal_reasoning'],
  [{ prompt: '-1', completion: '-1' }, 'prompt is "-1"'],
  [{ prompt: 7 }, 'prompt is 7'],
  [{ prompt: `0.${'1'.repeat(40)}` }, 'not an amount'],
  [{ discount: 0.15 }, 'discount'],
])('%j is refused with the reason', (pricing, reason) => {
  expect(listed(model(pricing)).refused.m).toContain(reason)
})

test('a price of generated pictures is ignored for a model that writes only text', () => {
  const text = { output_modalities: ['text'] }
  expect(listed(model({ image_output: '0.00012' }, text)).refused).toEqual({})
  const pictures = { output_modalities: ['text', 'image'] }
  expect(listed(model({ image_output: '0.00012' }, pictures)).refused.m).toContain('image_output')
})
