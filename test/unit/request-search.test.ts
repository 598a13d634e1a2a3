// Text typed into the console's search of requests, as filters.

import { describe, expect, test } from 'bun:test'
import { toggled, withTyped } from '../../src/console/explore/search'

describe('the search of requests', () => {
  test.each([
    ['error:budget_exceeded', { error: 'budget_exceeded' }],
    ['>5s', { slower_ms: '5000' }],
    ['>500ms >$0.01', { slower_ms: '500', above_usd: '0.01' }],
    ['model:a,b model:b failed_by:vendor', { model: 'a,b', failed_by: 'vendor' }],
    ['team=search', { metadata: 'team=search' }],
    ['metadata:a=b', { metadata: 'a=b' }],
    ['is not available', { text: 'is not available' }],
    ['status:failed rate limit', { status: 'failed', text: 'rate limit' }],
    ['colour:red', { text: 'colour:red' }],
    ['', {}],
  ])('%s', (typed, filters) => expect(withTyped({}, typed)).toEqual(filters))

  test('adds a value to the selected ones, and keeps the other filters', () => {
    expect(withTyped({ model: 'a', text: 'before', account: 'north' }, 'model:b now')).toEqual({
      model: 'a,b',
      account: 'north',
      text: 'now',
    })
    expect([toggled(undefined, 'a'), toggled('a,b', 'a'), toggled('b', 'b')]).toEqual(['a', 'b', undefined])
  })
})
