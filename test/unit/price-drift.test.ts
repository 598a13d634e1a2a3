// The comparison of a vendor's price with ours in isolation: bounds to the nano-dollar, what is not compared, and what is stored.

import { expect, test } from 'bun:test'
import {
  compareCharge,
  compareCost,
  DRIFT_TOLERANCE,
  exceedsTolerance,
  PriceDrifts,
  percentDifference,
} from '../../src/billing/proofs/price-drift'
import { vendorCostNano, vendorCostOfJson } from '../../src/billing/proofs/vendor-cost'
import { type PriceList, tariffOfVariant, timesFactor } from '../../src/contract/prices'
import { NANO_PER_USD } from '../../src/lib/money'

const table = { listed: { input_token: 1_000 } }
const amounts = { priceNano: 900, costNano: 500, usageSource: 'upstream', table }

test('an amount differs if it is more than a share above or below our cost', () => {
  const rows: [listNano: number, vendorNano: number, expected: boolean][] = [
    [100_000, 101_000, false],
    [100_000, 101_001, true],
    [100_000, 99_000, false],
    [100_000, 98_999, true],
    // Rounding up to a nano-dollar changes small amounts by more than a percent.
    [20, 22, false],
    [20, 23, true],
    [1, 3, false],
    [1, Number.MAX_SAFE_INTEGER, true],
    [Number.MAX_SAFE_INTEGER, 1, true],
  ]
  for (const [listNano, vendorNano, expected] of rows) {
    const row = { listNano, vendorNano, basis: 'cost' } as const
    expect({ ...row, isApart: exceedsTolerance(row, false) }).toEqual({ ...row, isApart: expected })
    // Sums are whole numbers of any size.
    const sums = { ...row, listNano: BigInt(listNano), vendorNano: BigInt(vendorNano) }
    expect(exceedsTolerance(sums, false, DRIFT_TOLERANCE)).toBe(expected)
  }
})

test('an operator’s own price may be above the vendor’s price, but not below', () => {
  const lower = { listNano: 1_000, vendorNano: 500, basis: 'price' } as const
  expect([exceedsTolerance(lower, false), exceedsTolerance(lower, true)]).toEqual([false, true])
  const higher = { ...lower, vendorNano: 1_500 }
  expect([exceedsTolerance(higher, false), exceedsTolerance(higher, true)]).toEqual([true, true])
})

test('our amount is the cost, or without one the price without the plan’s factor', () => {
  expect(compareCost(amounts, 7)).toEqual({ listNano: 500, vendorNano: 7, basis: 'cost' })
  const priced = { ...amounts, costNano: null }
  expect(compareCost(priced, 7)).toEqual({ listNano: 900, vendorNano: 7, basis: 'price' })
  const ofPlan = { ...priced, table: { ...table, factor: 800_000 } }
  expect(compareCost(ofPlan, 7)).toEqual({ listNano: 1_125, vendorNano: 7, basis: 'price' })
})

test('figures that are missing, or counted in other tokens than the vendor’s, are not compared', () => {
  for (const vendorNano of [undefined, 0]) expect(compareCost(amounts, vendorNano)).toBeUndefined()
  expect(compareCost({ ...amounts, costNano: 0 }, 7)).toBeUndefined()
  expect(compareCost({ ...amounts, priceNano: 0, costNano: null }, 7)).toBeUndefined()
  for (const usageSource of ['counted', 'estimated', null])
    expect(compareCost({ ...amounts, usageSource }, 7)).toBeUndefined()
  const pictures = { ...amounts, table: { listed: { image: 5 } } }
  expect(compareCost({ ...pictures, usageSource: 'counted' }, 7)).toMatchObject({ vendorNano: 7 })
  expect(compareCost({ ...pictures, usageSource: 'estimated' }, 7)).toBeUndefined()
})

test('the factor of a plan is stored with a charge’s prices, and can be removed from them', () => {
  const list: PriceList = {
    isFree: false,
    tables: [
      { tier: null, above: 0, minimumPico: 0, listed: { input_token: 333_333 } },
      { tier: 'flex', above: 0, minimumPico: 0, listed: { input_token: 77_777 } },
    ],
  }
  for (const factor of [1n, 333_333n, 900_000n, 2_500_000n]) {
    const tariff = tariffOfVariant(timesFactor(list, factor), [])
    for (const [index, table] of (tariff?.tables ?? []).entries()) {
      const count = 1_000_000
      const priceNano = Math.ceil((count * Number(table.prices.input_token)) / 1_000)
      const charge = { usageSource: 'upstream', costNano: null, amountNano: priceNano, shortfallNano: 0 }
      const stored = { ...charge, pricesJson: table.json, usageJson: '{"cost":1}', endedBy: 'done' }
      const listNano = (count * Number(list.tables[index]?.listed.input_token)) / 1_000
      const found = compareCharge(stored)?.listNano ?? 0
      // Each price is rounded up to a pico-dollar.
      expect(Math.abs(found - listNano)).toBeLessThanOrEqual((count / 1_000) * (1_000_000 / Number(factor)))
      // An answer that ended at its hold was charged up to the hold.
      expect(compareCharge({ ...stored, endedBy: 'balance' })).toBeUndefined()
      expect(compareCharge({ ...stored, endedBy: 'balance', costNano: 5 })).toMatchObject({ listNano: 5 })
      expect(compareCharge({ ...stored, pricesJson: null })).toBeUndefined()
    }
  }
})

test('a difference of any size is in percent with a sign and two decimals', () => {
  expect(percentDifference(1_000, 1_011)).toBe('+1.10')
  expect(percentDifference(1_000, 989)).toBe('-1.10')
  expect(percentDifference(3, 3)).toBe('+0.00')
  expect(percentDifference(1, 10n ** 25n)).toBe(`+${'9'.repeat(25)}00.00`)
})

test('figures in a usage that are not a valid price are ignored', () => {
  const rows: [json: string | null, nano: number | undefined][] = [
    [null, undefined],
    ['{"prompt_tokens":1}', undefined],
    ['{"cost":1', undefined],
    ['{"cost":1e400}', undefined],
    ['{"cost":NaN}', undefined],
    ['{"cost":0.5,"currency":"usd"}', NANO_PER_USD / 2],
    ['{"cost":0.5,"currency":"EUR"}', undefined],
    ['[{"cost":0},{"cost":0.5}]', NANO_PER_USD / 2],
    // Parts are added up before rounding up to a nano-dollar.
    [`[${Array.from({ length: 10 }, () => '{"cost":1.1e-9}').join()}]`, 11],
    [`[${Array.from({ length: 2 }, () => `{"cost":${Number.MAX_SAFE_INTEGER / 1e9}}`).join()}]`, undefined],
    ['{"cost":0.1,"is_byok":true,"cost_details":{"upstream_inference_cost":0.4}}', NANO_PER_USD / 2],
    ['{"cost":0.1,"is_byok":true}', undefined],
    ['{"cost":0.1,"is_byok":"true","cost_details":{"upstream_inference_cost":0.4}}', NANO_PER_USD / 10],
    ['{"cost":0.1,"is_byok":true,"cost_details":{"upstream_inference_cost":-0.4}}', undefined],
  ]
  for (const [json, nano] of rows) expect([json, vendorCostOfJson(json)]).toEqual([json, nano])
})

test('a price in dollars is parsed exactly, whether it is small or large', () => {
  for (let digit = 1; digit <= 9; digit++) {
    for (let power = 0; power <= 14; power++) {
      for (const more of [0, 1, 7]) {
        const pico = BigInt(digit) * 10n ** BigInt(power) + BigInt(more)
        const cost = Number(`${pico}e-12`)
        // The number of digits varies: the printed value is expected.
        const [whole, fraction = ''] = cost.toFixed(12).split('.')
        const printed = BigInt(`${whole}${fraction}`)
        expect(vendorCostNano({ cost })).toBe(Number((printed + 999n) / 1_000n))
      }
    }
  }
})

test('a vendor whose prices all differ is logged once per model and day, for a limited number of models', () => {
  let now = Date.UTC(2026, 10, 25)
  const lines: unknown[] = []
  const drifts = new PriceDrifts({
    now: () => now,
    log: (event, fields) => lines.push([event, fields?.model]),
  })
  let compared = 0
  const note = (id: string) =>
    drifts.note(
      { request: 'req', model: { id, upstream: { name: 'x' } as never }, usageJson: '{"cost":9}' },
      () => {
        compared++
        return amounts
      },
    )
  for (let round = 0; round < 3; round++) for (let index = 0; index < 10_050; index++) note(`m${index}`)
  expect([lines.length, compared]).toEqual([10_000, 10_000])
  now += 86_400_000
  note('m1')
  note('m1')
  expect(lines.slice(10_000)).toEqual([['price_drift', 'm1']])
})
