// Tables and blocks of the command line: which parts shrink on a narrow terminal, that none does without a terminal, and that no
// value makes a line or moves a column.

import { describe, expect, test } from 'bun:test'
import { type Column, renderBlock, renderTable } from '../../cli/view/table'
import { hostileText, TERMINAL_CONTROL } from '../support/hostile-text'
import { casesOf, createRandom, seedOf } from '../support/random'

const columns: Column[] = [
  { title: 'MODEL' },
  { title: 'UPSTREAM', optional: true },
  { title: 'PRICE', flexible: true, widthMin: 16 },
]
const rows = [
  ['small', 'east', '0.25 in, 2.00 out per 1M tokens'],
  ['large', 'west', 'free'],
]
/** 5 and 8 columns, the price, and two gaps of 2. */
const WHOLE = 48

describe('a table', () => {
  const cases: [name: string, width: number | undefined, lines: string[]][] = [
    [
      'is whole without a terminal',
      undefined,
      ['MODEL  UPSTREAM  PRICE', 'small  east      0.25 in, 2.00 out per 1M tokens', 'large  west      free'],
    ],
    [
      'wraps what is flexible before it leaves anything out',
      WHOLE - 15,
      [
        'MODEL  UPSTREAM  PRICE',
        'small  east      0.25 in, 2.00',
        '                 out per 1M',
        '                 tokens',
        'large  west      free',
      ],
    ],
    [
      'leaves out what is optional where even that is too wide',
      WHOLE - 16,
      ['MODEL  PRICE', 'small  0.25 in, 2.00 out per 1M', '       tokens', 'large  free'],
    ],
    [
      'keeps the least of a flexible column, however narrow the terminal',
      10,
      ['MODEL  PRICE', 'small  0.25 in, 2.00', '       out per 1M', '       tokens', 'large  free'],
    ],
  ]
  const ids: Column[] = [{ title: 'ID', isId: true }, ...columns]
  const withIds: typeof cases = [
    [
      'has ids in a column of their own where there is room',
      undefined,
      [
        'ID     MODEL  UPSTREAM  PRICE',
        'req_1  small  east      0.25 in, 2.00 out per 1M tokens',
        'req_2  large  west      free',
      ],
    ],
    [
      'has ids below their rows, whole, before it leaves anything out',
      WHOLE - 15,
      [
        'MODEL  UPSTREAM  PRICE',
        'small  east      0.25 in, 2.00',
        '                 out per 1M',
        '                 tokens',
        '  req_1',
        'large  west      free',
        '  req_2',
      ],
    ],
  ]
  for (const [name, width, lines] of withIds) {
    test(name, () => {
      const all = rows.map((row, index) => [`req_${index + 1}`, ...row])
      expect(Bun.stripANSI(renderTable(ids, all, width)).split('\n')).toEqual(lines)
    })
  }
  for (const [name, width, lines] of cases) {
    test(name, () => {
      const shown = Bun.stripANSI(renderTable(columns, rows, width))
      expect(shown.split('\n')).toEqual(lines)
    })
  }
})

const seed = seedOf('PRINTABLE_SEED')
test(`a value is one line, as wide as it looks, whatever it holds (seed ${seed})`, () => {
  const random = createRandom(seed)
  for (let round = 0; round < casesOf(2_000); round++) {
    const value = hostileText(random)
    const [, row = '', ...more] = renderTable(columns, [[value, value, 'end']], undefined).split('\n')
    const block = renderBlock([
      [value, value],
      ['b', 'c'],
    ]).split('\n')
    expect([more, block.length]).toEqual([[], 2])
    for (const line of [row, ...block]) expect(line).not.toMatch(TERMINAL_CONTROL)
    expect(row).toEndWith('  end')
  }
})
