// Quantities are derived from a stored charge only if they result in exactly its price. If several results are
// possible, or a part was cut or is not stored, a reason is returned instead of numbers.

import { describe, expect, test } from 'bun:test'
import {
  priceOfUse,
  type RecordedUse,
  recordedUse,
  type StoredUse,
  variantsStored,
} from '../../src/billing/rehearsal/recorded-use'
import { type PriceConfig, priceListOf } from '../../src/config/models/prices'
import { tariffOfJson, tariffOfVariant } from '../../src/contract/prices'
import type { Quantities } from '../../src/contract/units'

const tokens = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
const listOf = (price: object) => priceListOf({ price: price as PriceConfig })
const storedOf = (price: object, names: string[] = []) => {
  const tariff = tariffOfVariant(listOf(price), names)
  if (!tariff) throw new Error('there is no such variant')
  return tariffOfJson(tariff.json)
}
const charge = (priceNano: number, more: Partial<StoredUse> = {}): StoredUse => ({
  priceNano,
  endedBy: 'done',
  usageJson: null,
  recorded: undefined,
  ...more,
})
const usage = (...calls: object[]) => JSON.stringify(calls.length === 1 ? calls[0] : calls)
const chat = (input: number, output: number) => ({ prompt_tokens: input, completion_tokens: output })
const quantitiesOf = (use: RecordedUse | string): Quantities | string =>
  typeof use === 'string' ? use : use.quantities

describe('the quantities of a charge', () => {
  const stored = storedOf(tokens)
  test('are those of the log or the usage object that result in its price', () => {
    const recorded = { input_token: 10, output_token: 20 }
    const other = usage(chat(50, 0))
    for (const [one, quantities] of [
      [charge(50_000, { recorded }), recorded],
      [charge(50_000, { recorded, usageJson: other }), recorded],
      // A row of the log that does not result in the price is ignored.
      [
        charge(50_000, { recorded: { input_token: 11, output_token: 20 }, usageJson: other }),
        { input_token: 50 },
      ],
      [charge(50_000, { usageJson: usage(chat(10, 20)) }), recorded],
      [charge(50_000, { usageJson: usage({ input_tokens: 10, output_tokens: 20 }) }), recorded],
    ] as const)
      expect(quantitiesOf(recordedUse(one, stored))).toEqual(quantities)
  })

  test('are unknown if no figures result in the price, or if it was cut', () => {
    for (const [one, reason] of [
      [charge(50_000), 'usage'],
      [charge(50_001, { usageJson: usage(chat(10, 20)) }), 'usage'],
      [charge(50_000, { usageJson: 'not JSON' }), 'usage'],
      [charge(50_000, { usageJson: 'null' }), 'usage'],
      [charge(50_000, { usageJson: '[]' }), 'usage'],
      [charge(50_000, { usageJson: usage(chat(10, 20), {}) }), 'usage'],
      [charge(50_000, { recorded: { input_token: 0.5, output_token: 24.75 } }), 'usage'],
      [charge(50_000, { recorded: { input_token: -10, output_token: 30 } }), 'usage'],
      [charge(49_000, { endedBy: 'balance', recorded: { input_token: 10, output_token: 20 } }), 'cut'],
    ] as const)
      expect(recordedUse(one, stored)).toBe(reason)
  })

  test('are not read from a usage object if tool calls were free, which it may not count', () => {
    const used = { usageJson: usage(chat(10, 20)) }
    const free = storedOf({ ...tokens, per_1k_web_searches: '0.00' })
    expect(recordedUse(charge(50_000, used), free)).toBe('usage')
    const recorded = { input_token: 10, output_token: 20, web_search: 3 }
    expect(quantitiesOf(recordedUse(charge(50_000, { ...used, recorded }), free))).toEqual(recorded)
    const paid = storedOf({ ...tokens, per_1k_web_searches: '10.00' })
    expect(quantitiesOf(recordedUse(charge(50_000, used), paid))).toEqual({
      input_token: 10,
      output_token: 20,
    })
  })

  test('are also found for a stored list in nano-dollars', () => {
    const old = tariffOfJson('{"input_token":1000,"output_token":2000}')
    const found = recordedUse(charge(50_000, { usageJson: usage(chat(10, 20)) }), old)
    expect(quantitiesOf(found)).toEqual({ input_token: 10, output_token: 20 })
  })

  test('of one unit are derived from the price alone if they are certain', () => {
    const rows = [
      [storedOf({ per_1m_characters: '15' }), 15_000 * 7, { character: 7 }],
      [storedOf({ per_audio_minute: '0.006' }), 100_000 * 61, { audio_second: 61 }],
      [storedOf({ per_image: '0.02', per_request: '0.01' }), 50_000_000, { image: 2, request: 1 }],
      // They are uncertain below a nano-dollar per unit, at the minimum price, for tokens that may be cached, and for
      // two units.
      [storedOf({ per_1m_characters: '0.0005' }), 1, 'usage'],
      [storedOf({ per_1m_characters: '15', minimum: '0.001' }), 1_000_000, 'usage'],
      [storedOf({ per_1m_input_tokens: '1' }), 7_000, 'usage'],
      [storedOf({ per_image: '0.02', per_input_image: '0.00' }), 40_000_000, 'usage'],
      [storedOf({ per_1m_characters: '15' }), 15_000 * 7 + 1, 'usage'],
    ] as const
    for (const [tariff, priceNano, quantities] of rows)
      expect(quantitiesOf(recordedUse(charge(priceNano), tariff))).toEqual(quantities as never)
    const cut = charge(15_000 * 7, { endedBy: 'balance' })
    expect(recordedUse(cut, storedOf({ per_1m_characters: '15' }))).toBe('cut')
  })
})

describe('the price of recorded usage by another list', () => {
  const none = () => []
  const useOf = (one: StoredUse, price: object, names: string[] = []): RecordedUse => {
    const use = recordedUse(one, storedOf(price, names))
    if (typeof use === 'string') throw new Error(use)
    return use
  }

  test('is by the service tier that was charged, and by the prompt’s length', () => {
    const tiered = { ...tokens, service_tiers: { flex: '0.5' } }
    const flex = tariffOfVariant(listOf(tiered), [])?.tables.find(({ tier }) => tier === 'flex')
    const use = recordedUse(
      charge(25_000, { usageJson: usage(chat(10, 20)) }),
      tariffOfJson(flex?.json ?? ''),
    )
    if (typeof use === 'string') throw new Error(use)
    expect(priceOfUse(use, listOf({ ...tokens, service_tiers: { flex: '0.1' } }), none)).toBe(5_000)
    // A tier without a price is charged at the standard price.
    expect(priceOfUse(use, listOf(tokens), none)).toBe(50_000)
    const long = { ...tokens, above_100: { per_1m_input_tokens: '10', per_1m_output_tokens: '10' } }
    const one = useOf(charge(220_000, { usageJson: usage(chat(200, 10)) }), tokens)
    expect(priceOfUse(one, listOf(long), none)).toBe(2_100_000)
    // Of several calls, the longest counts.
    const two = useOf(charge(240_000, { usageJson: usage(chat(100, 10), chat(100, 10)) }), tokens)
    expect(priceOfUse(two, listOf(long), none)).toBe(240_000)
    const counted = useOf(
      charge(240_000, { usageJson: '[null,null]', recorded: { input_token: 200, output_token: 20 } }),
      tokens,
    )
    expect(priceOfUse(counted, listOf(long), none)).toBe('calls')
    expect(priceOfUse(counted, listOf(tokens), none)).toBe(240_000)
  })

  test('includes the minimum price of a request and a price per request', () => {
    const use = useOf(charge(50_000, { usageJson: usage(chat(10, 20)) }), tokens)
    expect(priceOfUse(use, listOf({ ...tokens, minimum: '0.01' }), none)).toBe(10_000_000)
    expect(priceOfUse(use, listOf({ ...tokens, per_request: '0.001' }), none)).toBe(1_050_000)
    const paid = useOf(charge(1_050_000, { usageJson: usage(chat(10, 20)) }), {
      ...tokens,
      per_request: '0.001',
    })
    expect(priceOfUse(paid, listOf(tokens), none)).toBe(50_000)
    expect(priceOfUse(paid, priceListOf({ free: true }), none)).toBe(0)
  })

  test('is unknown if the list lacks a unit', () => {
    const use = useOf(charge(50_000, { usageJson: usage(chat(10, 20)) }), tokens)
    expect(priceOfUse(use, listOf({ per_1m_input_tokens: '1' }), none)).toBe('unit')
    expect(priceOfUse(use, listOf({ per_image: '1' }), none)).toBe('unit')
  })

  test('by size is that of the sizes with the stored price, if they agree', () => {
    const sizes = { per_image: { small: '0.01', middle: '0.02', large: '0.02' } }
    const stored = storedOf(sizes, ['large'])
    const use = useOf(charge(40_000_000), sizes, ['large'])
    expect(use.quantities).toEqual({ image: 2 })
    expect(variantsStored(stored, [listOf(sizes)])).toEqual(['middle', 'large'])
    const names = () => variantsStored(stored, [listOf(sizes)])
    expect(priceOfUse(use, listOf({ per_image: { middle: '0.03', large: '0.03' } }), names)).toBe(60_000_000)
    expect(priceOfUse(use, listOf({ per_image: { middle: '0.03', large: '0.04' } }), names)).toBe('variant')
    expect(priceOfUse(use, listOf({ per_image: { huge: '0.03' } }), names)).toBe('variant')
    // It may have been the other size with this price.
    expect(priceOfUse(use, listOf({ per_image: { middle: '0.03' } }), names)).toBe('variant')
    expect(priceOfUse(use, listOf({ per_image: '0.05' }), names)).toBe(100_000_000)
  })
})
