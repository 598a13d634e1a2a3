// Usage files as spreadsheets and databases write them (RFC 4180, also with semicolons and tabs) are parsed correctly.
// VENDOR_USAGE_SEED repeats a run.

import { expect, test } from 'bun:test'
import { readVendorUsage, type VendorUsage } from '../../src/lib/file-formats/vendor-usage'
import { casesOf, createRandom, type Random, seedOf } from '../support/random'

const SEED = seedOf('VENDOR_USAGE_SEED')
const CASES = casesOf(2_000)
const SEPARATORS = [',', ';', '\t'] as const
const PIECES = ['"', '""', ',', ';', '\t', '\n', '\r\n', '\r', 'é', '语', '😀', '-', 'a b', '$', "'", '\\']

/** A value that must not be split. Spaces around a value are not a part of it. */
function awkward(random: Random): string {
  const pieces = Array.from({ length: random.below(6) }, () => random.pick(PIECES))
  return `x${pieces.join('')}y`
}

/** A value according to RFC 4180: quoted if it contains one of these characters, and sometimes otherwise. */
function written(value: string, separators: readonly string[], random: Random): string {
  const isPlain = ![...separators, '"', '\n', '\r'].some((part) => value.includes(part))
  if (isPlain && random.chance(0.7)) return value
  let quoted = ''
  for (const character of value) quoted += character === '"' ? '""' : character
  return `"${quoted}"`
}

function dollars(nano: number): string {
  return `${Math.floor(nano / 1e9)}.${String(nano % 1e9).padStart(9, '0')}`
}

function makeFile(random: Random) {
  const [day, model, input, more, cost, note] = Array.from({ length: 6 }, (_, place) =>
    `${place}${awkward(random)}`.trim(),
  ) as [string, string, string, string, string, string]
  const columns = { day, model, inputTokens: [input, more], costNano: [cost] }
  const order = [day, model, input, more, cost, note].toSorted(() => random.below(3) - 1)
  const rows = Array.from({ length: 1 + random.below(5) }, () => {
    const [first, second, costNano] = [random.below(1e6), random.below(1e6), random.below(1e12)]
    const row: VendorUsage = {
      day: `2026-1${random.below(3)}-${10 + random.below(19)}`,
      model: awkward(random),
      inputTokens: first + second,
      costNano,
    }
    const values = new Map([
      [day, random.chance(0.5) ? row.day : `${row.day}T00:00:00+00:00`],
      [model, random.chance(0.5) ? row.model : `${row.model}, input`],
      [input, String(first)],
      [more, first > 0 && second === 0 ? '' : String(second)],
      [cost, `${random.chance(0.3) ? '$' : ''}${dollars(costNano)}`],
      [note, random.chance(0.2) ? '' : awkward(random)],
    ])
    return { row, line: order.map((title) => values.get(title) ?? '') }
  })
  const separator = random.pick(SEPARATORS)
  const end = random.pick(['\n', '\r\n'])
  const lines = [order, ...rows.map(({ line }) => line)].map((line) => {
    // The separator is detected in the titles, so other separators are quoted there.
    const separators = line === order ? SEPARATORS : [separator]
    return line.map((value) => written(value, separators, random)).join(separator)
  })
  const text = (random.chance(0.3) ? '\ufeff' : '') + lines.join(end) + (random.chance(0.7) ? end : '')
  return { text, columns, rows: rows.map(({ row }) => row) }
}

test(`${CASES} files with quotes, separators and line ends in titles and values are parsed as written (seed ${SEED})`, () => {
  const random = createRandom(SEED)
  for (let number = 0; number < CASES; number++) {
    const { text, columns, rows } = makeFile(random)
    expect({ text, read: readVendorUsage(text, columns) }).toEqual({ text, read: rows })
  }
})

test.each([
  ['a value of two lines', 'day,model,cost\n2026-10-01,"a\nb",1\n2026-10-02,c,many\n', 'line 4 has "many"'],
  ['titles of two lines', '"day",model,"co\nst"\n2026-10-01,a,many\n', 'line 3 has "many"'],
  ['blank lines', 'day,model,cost\r\n\r\n\r\n2026-10-01,a,many\r\n', 'line 4 has "many"'],
  ['an open quote', 'day,model,cost\n\n2026-10-01,"a\nb",1\n2026-10-02,"c\n', 'line 5 has a quote'],
])('a fault after %s has its line in the file', (_, text, fault) => {
  const cost = text.includes('co\nst') ? 'co\nst' : 'cost'
  expect(() => readVendorUsage(text, { day: 'day', model: 'model', costNano: [cost] })).toThrow(fault)
})
