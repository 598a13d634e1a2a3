// The lines of a price add up exactly to the charge, for any quantities at any prices.

import { expect, test } from 'bun:test'
import { chargeLinesJson } from '../../src/billing/reports/bill-lines'
import { type PriceConfig, priceListOf } from '../../src/config/models/prices'
import { type BilledTable, tableNano, tariffOfJson, tariffOfVariant } from '../../src/contract/prices'
import { type Quantities, rowOf, type Unit, units } from '../../src/contract/units'
import { createRandom } from '../support/random'

const PRICE = {
  per_1m_input_tokens: '0.25',
  per_1m_cached_input_tokens: '0.025',
  per_1m_output_tokens: '2.00',
}
const ended = { shortfallNano: 0, endedBy: 'done' }

/** The sum of the lines' amounts in pico-dollars, as a person would add up the column. */
function sumOf(lines: readonly { amount_usd: string }[] | null): bigint {
  return (lines ?? []).reduce((sum, { amount_usd: usd }) => {
    const [whole = '0', decimals = ''] = usd.replace('-', '').split('.')
    const pico = BigInt(`${whole}${decimals.padEnd(12, '0')}`)
    return usd.startsWith('-') ? sum - pico : sum + pico
  }, 0n)
}

function tableOf(price: PriceConfig): BilledTable {
  const tariff = tariffOfVariant(priceListOf({ price }), [])
  if (!tariff) throw new Error('there is a price')
  return tariff.tables[0]
}

test('each quantity has a line with the price from the list', () => {
  const quantities = { input_token: 412, cached_input_token: 128, output_token: 1 }
  const table = tableOf(PRICE)
  const amountNano = tableNano(quantities, table)
  const lines = chargeLinesJson({ ...ended, pricesJson: table.json, amountNano }, quantities)
  expect(lines).toEqual([
    {
      kind: 'quantity',
      unit: 'input tokens',
      count: 412,
      price_usd: '0.25',
      per: '1M',
      amount_usd: '0.000103',
    },
    {
      kind: 'quantity',
      unit: 'cached input tokens',
      count: 128,
      price_usd: '0.025',
      per: '1M',
      amount_usd: '0.0000032',
    },
    {
      kind: 'quantity',
      unit: 'output token',
      count: 1,
      price_usd: '2.00',
      per: '1M',
      amount_usd: '0.000002',
    },
  ])
  expect(sumOf(lines)).toBe(BigInt(amountNano) * 1_000n)
})

test('a minimum price, rounding, a hold and an exhausted balance have separate lines', () => {
  const quantities = { input_token: 1, output_token: 1 }
  const kinds = (
    table: BilledTable,
    charge: { amountNano: number; shortfallNano?: number; endedBy?: string },
  ) => {
    const lines = chargeLinesJson({ ...ended, pricesJson: table.json, ...charge }, quantities)
    expect(sumOf(lines)).toBe(BigInt(charge.amountNano) * 1_000n)
    return lines?.map((line) => ('unit' in line ? line.unit : line.kind))
  }
  const counted = ['input token', 'output token']
  const fine = tableOf({ per_1m_input_tokens: '0.0001', per_1m_output_tokens: '2.00' })
  expect(kinds(fine, { amountNano: 2_001 })).toEqual([...counted, 'rounding'])
  expect(kinds(tableOf({ ...PRICE, minimum: '0.01' }), { amountNano: 10_000_000 })).toEqual([
    ...counted,
    'minimum',
  ])
  expect(kinds(tableOf(PRICE), { amountNano: 2_000, endedBy: 'balance' })).toEqual([...counted, 'hold'])
  expect(kinds(tableOf(PRICE), { amountNano: 2_000, shortfallNano: 250 })).toEqual([...counted, 'shortfall'])
})

test('quantities that do not result in the amount have no lines', () => {
  const table = tableOf(PRICE)
  const linesOf = (amountNano: number, quantities: Quantities) =>
    chargeLinesJson({ ...ended, pricesJson: table.json, amountNano }, quantities)
  expect(linesOf(251, { input_token: 1 })).toBeNull()
  expect(linesOf(250, { input_token: 1, image: 1 })).toBeNull()
  expect(chargeLinesJson({ ...ended, pricesJson: null, amountNano: 250 }, { input_token: 1 })).toBeNull()
  expect(linesOf(250, { input_token: 1, image: 0 })).toHaveLength(1)
})

test('the lines of any quantities at any prices add up to the charge', () => {
  const random = createRandom(20_261_123)
  for (let turn = 0; turn < 500; turn++) {
    const some = units.filter(() => random.below(3) === 0)
    const pico = Object.fromEntries(some.map((unit) => [unit, random.below(10 ** (1 + random.below(9)))]))
    const prices = [{ pico, ...(random.below(2) === 0 && { minimum: random.below(10 ** 9) }) }]
    const [table] = tariffOfJson(JSON.stringify(prices)).tables
    const quantities = Object.fromEntries(
      some.map((unit) => [unit, random.below(rowOf(unit as Unit).tokens ? 100_000 : 20)]),
    ) as Quantities
    const priceNano = tableNano(quantities, table)
    const shortfallNano = random.below(priceNano + 1)
    const charge = {
      pricesJson: table.json,
      amountNano: priceNano - shortfallNano,
      shortfallNano,
      endedBy: 'done',
    }
    const lines = chargeLinesJson(charge, quantities)
    expect({ turn, lines: lines !== null, sum: sumOf(lines) }).toEqual({
      turn,
      lines: true,
      sum: BigInt(charge.amountNano) * 1_000n,
    })
  }
})
