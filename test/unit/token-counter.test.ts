// The worker that counts tokens ends when it is idle, and never while it is counting.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { createTokenCounter } from '../../src/media/token-counter'

setDefaultTimeout(180_000)

const long = 'The quick brown fox counts every single token of it. '.repeat(20_000)

test('a count that takes longer than the idle limit is exact, and so are later counts', async () => {
  const counter = createTokenCounter({ idleMs: 1 })
  const counts = await Promise.all(Array.from({ length: 4 }, (_, index) => counter.count(`${index} ${long}`)))
  for (const { exact, tokens } of counts) {
    expect(exact).toBe(true)
    expect(tokens).toBeGreaterThan(200_000)
  }
  // The worker has ended by now, and is started again.
  await Bun.sleep(50)
  expect(await counter.count('one two three')).toEqual({ tokens: 3, exact: true })
  counter.close()
})

test('a count that takes too long is estimated, also for scripts with more tokens than letters', async () => {
  const counter = createTokenCounter({ deadlineMs: 1 })
  expect(await counter.count(long)).toEqual({ tokens: Math.ceil(long.length / 4), exact: false })
  const chinese = '今天天气很好。'.repeat(20_000)
  expect(await counter.count(chinese)).toEqual({ tokens: Math.ceil((chinese.length * 3) / 4), exact: false })
  counter.close()
})
