// What comes and goes by the thousand: everyone is there until they leave, in whatever order, and then nothing holds them.

import { heapStats } from 'bun:jsc'
import { expect, test } from 'bun:test'
import { type Member, Roster } from '../../src/lib/indexed-set'

interface Guest extends Member {
  name: number
  /** A kind of object that is rare, and so can be counted. */
  luggage?: WeakMap<object, number>
}

const guest = (name: number): Guest => ({ name, place: -1 })
const namesIn = (roster: Roster<Guest>) =>
  roster
    .all()
    .map(({ name }) => name)
    .sort((a, b) => a - b)

test('holds who has come and not left, in any order of coming and leaving', () => {
  const roster = new Roster<Guest>()
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
      roster.add(comes)
    } else {
      const leaves = [...present.values()][below(present.size)] as Guest
      present.delete(leaves.name)
      roster.delete(leaves)
    }
    expect(roster.size).toBe(present.size)
    if (name % 100 === 0) expect(namesIn(roster)).toEqual([...present.keys()].sort((a, b) => a - b))
  }
})

test('who has left is not taken for another, and may come again', () => {
  const roster = new Roster<Guest>()
  const [first, second] = [guest(1), guest(2)]
  roster.add(first)
  roster.add(second)
  roster.delete(first)
  roster.delete(first)
  expect(namesIn(roster)).toEqual([2])
  roster.add(first)
  expect(namesIn(roster)).toEqual([1, 2])
})

test('a list of all stays as it was while members leave', () => {
  const roster = new Roster<Guest>()
  for (let name = 0; name < 10; name++) roster.add(guest(name))
  const seen: number[] = []
  for (const member of roster.all()) {
    seen.push(member.name)
    roster.delete(member)
  }
  expect(seen).toHaveLength(10)
  expect(roster.size).toBe(0)
})

test('who has left is not in memory any more, while others go on coming', () => {
  const roster = new Roster<Guest>()
  const waiting: Guest[] = []
  const before = weakMaps()
  for (let name = 0; name < 20_000; name++) {
    const comes: Guest = { ...guest(name), luggage: new WeakMap() }
    roster.add(comes)
    waiting.push(comes)
    if (waiting.length > 32) roster.delete(waiting.shift() as Guest)
  }
  expect(weakMaps() - before).toBeLessThan(200)
})

function weakMaps(): number {
  Bun.gc(true)
  return heapStats().objectTypeCounts.WeakMap ?? 0
}
