// When movements are sent together: under load, a small group waits for more, and other groups are sent immediately.

import { expect, test } from 'bun:test'
import type { Movement } from '../../src/db/db'
import { MovementGroups } from '../../src/db/movements/groups'

const movement: Movement = {
  kind: 'hold',
  account: 'alice',
  columns: () => ({ id: 'charge', account: 'alice', held: 1 }),
  statements: () => [],
  also: [],
}

/** Groups that call a server which answers each call only when permitted, and the sizes of its calls. */
function openGroups(mayAnswer: Promise<void> = Promise.resolve()) {
  const calls: number[] = []
  const groups = new MovementGroups({
    async call({ holds }) {
      const count = holds?.split('alice').length ?? 1
      calls.push(count - 1)
      await mayAnswer
      return JSON.stringify({ ends: null, holds: Array(count - 1).fill(null), singles: [] })
    },
    isRefused: () => false,
    translate: (error) => error,
    moveAlone: async () => ({ rows: [] }),
  })
  const add = (count: number) => Promise.all(Array.from({ length: count }, () => groups.add(movement)))
  return { calls, groups, add }
}

test('after a group that shows load, a few movements wait until there are enough for a call', async () => {
  const gate = Promise.withResolvers<void>()
  const { calls, groups, add } = openGroups(gate.promise)
  const first = add(8)
  await new Promise(setImmediate)
  expect(calls).toEqual([8])
  const few = add(3)
  gate.resolve()
  await first
  // No timer can end the pause before this point.
  const more = add(29)
  await Promise.all([few, more])
  expect(calls).toEqual([8, 32])
  await groups.whenIdle()
})

test('a pause ends by itself if no more movements arrive', async () => {
  const { calls, groups, add } = openGroups()
  const first = add(8)
  await first
  await add(3)
  expect(calls).toEqual([8, 3])
  await groups.whenIdle()
})

test('without load, each movement is sent immediately', async () => {
  const { calls, groups, add } = openGroups()
  const first = add(7)
  await first
  const few = add(3)
  await new Promise(setImmediate)
  expect(calls).toEqual([7, 3])
  await few
  await groups.whenIdle()
})
