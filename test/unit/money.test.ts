// Dollars as text and nano-dollars as numbers: the round trip is exact, and whatever is not a plain amount is refused.
// The oracle counts in bigints.

import { expect, test } from 'bun:test'
import { assertNano, formatUsd, MAX_NANO, NANO_PER_USD, parseUsd } from '../../src/lib/money'
import { createRandom, type Random, seedOf } from '../support/random'

const seed = seedOf('MONEY_SEED')
const ROUNDS = 20_000

test.each([
  ['5', 5_000_000_000],
  ['0.25', 250_000_000],
  ['-1.5', -1_500_000_000],
  ['0', 0],
  ['-0', 0],
  ['-0.000', 0],
  ['0.000000001', 1],
  ['-0.000000001', -1],
  ['0.1', 100_000_000],
  ['0.3', 300_000_000],
  ['1.005', 1_005_000_000],
  ['007', 7_000_000_000],
  [' 12.50 ', 12_500_000_000],
  ['9007199.254740991', MAX_NANO],
  ['-9007199.254740991', -MAX_NANO],
])('%p is %p nano-dollars', (text, nano) => {
  expect(parseUsd(text)).toBe(nano)
})

test.each([
  ...[
    '',
    ' ',
    '.',
    '-',
    '-.',
    '.5',
    '5.',
    '+5',
    '--5',
    '5-',
    '1e3',
    '1E-3',
    '0x10',
    '1,000',
    '1.000,50',
    '1_000',
    '$5',
  ],
  ...[
    '5 USD',
    '5 5',
    '1.2.3',
    'NaN',
    'Infinity',
    '-Infinity',
    'null',
    'five',
    '५',
    '５',
    '−5',
    '5\u0000',
    '1.0000000001',
  ],
  ...[
    '9007199.254740992',
    '9007199.254740993',
    '-9007199.254740992',
    '9999999.999999999',
    '10000000',
    '99999999999999999999',
  ],
])('%p is not an amount', (text) => {
  expect(parseUsd(text)).toBeUndefined()
})

test.each([
  [0, '0.00'],
  [1, '0.000000001'],
  [-1, '-0.000000001'],
  [NANO_PER_USD, '1.00'],
  [5_100_000_000, '5.10'],
  [4_999_300_000, '4.9993'],
  [-1_500_000_000, '-1.50'],
  [MAX_NANO, '9007199.254740991'],
  [-MAX_NANO, '-9007199.254740991'],
])('%p nano-dollars are written as %p', (nano, text) => {
  expect(formatUsd(nano)).toBe(text)
})

test.each([0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, -(2 ** 53), 1e308])(
  '%p is not an amount of nano-dollars',
  (value) => {
    expect(() => assertNano(value)).toThrow()
    expect(() => formatUsd(value)).toThrow()
  },
)

test(`any amount is the same after writing and reading (MONEY_SEED=${seed})`, () => {
  const random = createRandom(seed)
  for (let round = 0; round < ROUNDS; round++) {
    const nano = anyAmount(random)
    const text = formatUsd(nano)
    expect(text).toMatch(/^-?\d{1,7}\.\d{2,9}$/)
    // Only the cents may end in zeros.
    expect(text).not.toMatch(/\.\d{2,}0$/)
    expect(parseUsd(text)).toBe(nano)
    expect(oracle(text)).toBe(BigInt(nano))
  }
})

test(`any decimal with up to nine places is read exactly, or refused (MONEY_SEED=${seed})`, () => {
  const random = createRandom(seed)
  for (let round = 0; round < ROUNDS; round++) {
    const text = anyDecimal(random)
    const exact = oracle(text)
    const allowed = exact <= BigInt(MAX_NANO) && exact >= -BigInt(MAX_NANO)
    const nano = parseUsd(text)
    expect({ text, nano }).toEqual({ text, nano: allowed ? Number(exact) : undefined })
    if (nano !== undefined) expect(Object.is(nano, -0)).toBe(false)
  }
})

function anyAmount(random: Random): number {
  const size = random.pick([10, 1_000, NANO_PER_USD, 1_000 * NANO_PER_USD, MAX_NANO])
  const amount = random.below(2 ** 26) * 2 ** 27 + random.below(2 ** 27)
  return (random.chance(0.5) ? 1 : -1) * (amount % size) || 0
}

function anyDecimal(random: Random): string {
  const digits = (count: number) => Array.from({ length: count }, () => random.below(10)).join('')
  const places = random.below(10)
  return `${random.chance(0.3) ? '-' : ''}${digits(1 + random.below(7))}${places === 0 ? '' : `.${digits(places)}`}`
}

/** The calculation with bigints. */
function oracle(text: string): bigint {
  const [dollars = '', decimals = ''] = text.replace('-', '').split('.')
  const nano = BigInt(dollars + decimals.padEnd(9, '0'))
  return text.startsWith('-') ? -nano : nano
}
