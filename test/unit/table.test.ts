// Tables and blocks of the command line: which parts shrink on a narrow terminal, that none shrink without a terminal,
// and that no value adds a line or shifts a column.

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
/** Two columns of 5 and 8 characters, the price, and two gaps of 2. */
const WHOLE = 48

describe('a table', () => {
  const cases: [name: string, width: number | undefined, lines: string[]][] = [
    [
      'is complete without a terminal',
      undefined,
      ['MODEL  UPSTREAM  PRICE', 'small  east      0.25 in, 2.00 out per 1M tokens', 'large  west      free'],
    ],
    [
      'wraps flexible columns before it omits anything',
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
      'omits optional columns if that is still too wide',
      WHOLE - 16,
      ['MODEL  PRICE', 'small  0.25 in, 2.00 out per 1M', '       tokens', 'large  free'],
    ],
    [
      'keeps the minimum width of a flexible column, however narrow the terminal',
      10,
      ['MODEL  PRICE', 'small  0.25 in, 2.00', '       out per 1M', '       tokens', 'large  free'],
    ],
  ]
  const ids: Column[] = [{ title: 'ID', isId: true }, ...columns]
  const withIds: typeof cases = [
    [
      'has ids in a separate column if there is room',
      undefined,
      [
        'ID     MODEL  UPSTREAM  PRICE',
        'req_1  small  east      0.25 in, 2.00 out per 1M tokens',
        'req_2  large  west      free',
      ],
    ],
    [
      'has complete ids below their rows before it omits anything',
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
test(`a value is one line of its displayed width, whatever it contains (seed ${seed})`, () => {
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
