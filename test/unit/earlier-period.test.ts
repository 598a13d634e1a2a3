// The earlier period with which the console compares figures.

import { expect, test } from 'bun:test'
import { type Comparison, earlierPeriod } from '../../src/console/earlier-period'

const iso = (at: number) => new Date(at).toISOString().slice(0, 16)

test.each<[name: string, since: string, until: string, word: Exclude<Comparison, 'none'>, earlier: string]>([
  ['a day', '2026-11-27T08:31', '2026-11-28T08:31', 'before', '2026-11-26T08:31 2026-11-27T08:31'],
  ['whole hours', '2026-11-28T08:00', '2026-11-28T10:30', 'before', '2026-11-28T05:00 2026-11-28T07:30'],
  ['whole days', '2026-11-01T12:00', '2026-11-08T18:00', 'before', '2026-10-24T12:00 2026-10-31T18:00'],
  ['a month', '2026-03-01T00:00', '2026-04-01T00:00', 'before', '2026-02-01T00:00 2026-03-01T00:00'],
  ['a longer month', '2026-02-01T00:00', '2026-03-01T00:00', 'before', '2026-01-01T00:00 2026-02-01T00:00'],
  [
    'a month up to now',
    '2026-11-01T00:00',
    '2026-11-28T08:31',
    'before',
    '2026-10-01T00:00 2026-10-28T08:31',
  ],
  [
    'the last days of a month',
    '2026-03-01T00:00',
    '2026-03-30T08:31',
    'before',
    '2026-02-01T00:00 2026-03-01T00:00',
  ],
  ['a year', '2026-11-27T08:31', '2026-11-28T08:31', 'year', '2025-11-27T08:31 2025-11-28T08:31'],
  ['a leap day', '2028-02-29T00:00', '2028-03-01T00:00', 'year', '2027-02-28T00:00 2027-03-01T00:00'],
])('%s', (_, since, until, word, earlier) => {
  const period = { since: Date.parse(`${since}Z`), until: Date.parse(`${until}Z`) }
  const { since: from, until: to } = earlierPeriod(period, word)
  expect(`${iso(from)} ${iso(to)}`).toBe(earlier)
})
