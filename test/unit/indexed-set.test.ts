// Sets in which thousands of members are added and deleted: every member is found until it is deleted, in any order,
// and nothing refers to it afterwards.

import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { IndexedSet, type Member } from '../../src/lib/indexed-set'

interface Guest extends Member {
  name: number
  /** A rare kind of object, whose instances can be counted in memory. */
  luggage?: WeakMap<object, number>
}

const guest = (name: number): Guest => ({ name, index: -1 })
const namesIn = (set: IndexedSet<Guest>) =>
  set
    .all()
    .map(({ name }) => name)
    .sort((a, b) => a - b)

test('contains the members that were added and not deleted, in any order', () => {
  const set = new IndexedSet<Guest>()
  const present = new Map<number, Guest>()
  let seed = 7
  const below = (count: number) => {
    seed = (seed * 48_271) % 2_147_483_647
    return seed % count
  }
  for (let name = 0; name < 5000; name++) {
    if (present.size === 0 || below(5) < 3) {
      const comes = guest(name)
      present.set(name, comes)
      set.add(comes)
    } else {
      const leaves = [...present.values()][below(present.size)] as Guest
      present.delete(leaves.name)
      set.delete(leaves)
    }
    expect(set.size).toBe(present.size)
    if (name % 100 === 0) expect(namesIn(set)).toEqual([...present.keys()].sort((a, b) => a - b))
  }
})

test('a deleted member is not mistaken for another, and can be added again', () => {
  const set = new IndexedSet<Guest>()
  const [first, second] = [guest(1), guest(2)]
  set.add(first)
  set.add(second)
  set.delete(first)
  set.delete(first)
  expect(namesIn(set)).toEqual([2])
  set.add(first)
  expect(namesIn(set)).toEqual([1, 2])
})

test('a list of all members does not change while members are deleted', () => {
  const set = new IndexedSet<Guest>()
  for (let name = 0; name < 10; name++) set.add(guest(name))
  const seen: number[] = []
  for (const member of set.all()) {
    seen.push(member.name)
    set.delete(member)
  }
  expect(seen).toHaveLength(10)
  expect(set.size).toBe(0)
})

test('a deleted member is not in memory any more while others are added', () => {
  const set = new IndexedSet<Guest>()
  const waiting: Guest[] = []
  const before = weakMaps()
  for (let name = 0; name < 20_000; name++) {
    const comes: Guest = { ...guest(name), luggage: new WeakMap() }
    set.add(comes)
    waiting.push(comes)
    if (waiting.length > 32) set.delete(waiting.shift() as Guest)
  }
  expect(weakMaps() - before).toBeLessThan(200)
})

function weakMaps(): number {
  Bun.gc(true)
  return heapStats().objectTypeCounts.WeakMap ?? 0
}
