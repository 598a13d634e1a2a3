// How well typed text matches a title in the palette.

import { expect, test } from 'bun:test'
import { matchOf } from '../../src/console/palette/match'

const TITLES = [
  'Overview',
  'Accounts',
  'Statements',
  'New key',
  'Settings: Audit trail',
  'Requests',
  'Requests that failed',
]

const best = (typed: string) =>
  TITLES.map((title) => ({ title, score: matchOf(typed, title) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score)
    .map(({ title }) => title)

test('titles are found by letters in order; matches of words and beginnings are first', () => {
  expect(best('nk')).toEqual(['New key'])
  expect(best('stmts')).toEqual(['Statements'])
  expect(best('audit')).toEqual(['Settings: Audit trail'])
  expect(best('requests')).toEqual(['Requests', 'Requests that failed'])
  expect(best('req fail')[0]).toBe('Requests that failed')
})

test('missing letters, or letters that match only by chance, find nothing', () => {
  expect(best('')).toEqual([])
  expect(best('xyz')).toEqual([])
  expect(best('tea')).toEqual([])
  expect(best('eee')).toEqual([])
})
