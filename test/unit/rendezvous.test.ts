// Weighted rendezvous hashing: shares by weight, independence of the members, and the values themselves, which must
// never change.

import { describe, expect, test } from 'bun:test'
import { drawOf, hashOf, scoreOf } from '../../src/lib/rendezvous'
import { createRandom, seedOf } from '../support/random'

const SESSIONS = 10_000
const seed = seedOf('RENDEZVOUS_SEED')

interface Member {
  hash: number
  weight: number
}

function orderFor(session: number, members: readonly Member[]): Member[] {
  const scoreOfMember = ({ hash, weight }: Member) => scoreOf(drawOf(session, hash), weight)
  return members.toSorted((one, other) => scoreOfMember(other) - scoreOfMember(one))
}

describe('rendezvous hashing', () => {
  const names: readonly [string, (number: number) => number][] = [
    ['numbers as text', (number) => hashOf(String(number))],
    ['UUIDs', () => hashOf(crypto.randomUUID())],
    ['consecutive hashes', (number) => number],
    ['hashes of one account', (number) => hashOf('a long conversation', hashOf(`account-${number}`))],
  ]
  const weights: readonly (readonly number[])[] = [
    [1, 1],
    [1, 1, 1, 1],
    [3, 2, 1],
    [9, 1],
    [1_000_000, 500_000],
  ]
  for (const [title, hashOfSession] of names) {
    test.each(weights.map((each) => [each]))(
      `gives ${title} to members by weights %j, within 3 %%`,
      (each) => {
        const members = each.map((weight, place) => ({ hash: hashOf(`key-${place}`), weight }))
        const sum = each.reduce((all, weight) => all + weight, 0)
        const counts = new Map<Member, number>()
        for (let number = 0; number < SESSIONS; number++) {
          const [first] = orderFor(hashOfSession(number), members)
          if (first) counts.set(first, (counts.get(first) ?? 0) + 1)
        }
        for (const member of members)
          expect(Math.abs((counts.get(member) ?? 0) / SESSIONS - member.weight / sum)).toBeLessThan(0.03)
      },
    )
  }

  test(`keeps the order of the others when a member is removed (RENDEZVOUS_SEED=${seed})`, () => {
    const random = createRandom(seed)
    for (let count = 0; count < 2_000; count++) {
      const members = Array.from({ length: 2 + random.below(8) }, () => ({
        hash: hashOf(`member-${random.below(2 ** 30)}`),
        weight: 1 + random.below(10),
      }))
      const session = random.below(2 ** 32)
      const gone = random.pick(members)
      const left = members.filter((member) => member !== gone)
      expect(orderFor(session, left)).toEqual(orderFor(session, members).filter((member) => member !== gone))
    }
  })

  test('draws numbers between 0 and 1 for any bits', () => {
    for (const session of [0, 1, 2 ** 31, 2 ** 32 - 1])
      for (const member of [0, 1, 2 ** 31, 2 ** 32 - 1]) {
        const draw = drawOf(session, member)
        expect(draw > 0 && draw < 1).toBe(true)
      }
  })

  test('never changes its values, because nodes of two versions run side by side', () => {
    const session = hashOf('session', hashOf('alice'))
    const values = [session, drawOf(session, hashOf('east')), scoreOf(drawOf(session, hashOf('east')), 3)]
    expect(values).toEqual([1_308_512_245, 0.5117047197418287, -0.2233358465211289])
  })
})
