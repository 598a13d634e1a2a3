// The size of a body, and its names that are repeated or differ only in spelling from a known name, compared with a
// slow parser that follows the grammar letter by letter, on random JSON. A failure prints its seed.

import { describe, expect, test } from 'bun:test'
import { Type } from '@sinclair/typebox'
import { countMembers, findDuplicate, findVariant, fold, knownNamesOf } from '../../src/lib/field-names'
import { JsonCounter } from '../../src/lib/json/counter'
import { type JsonLimit, type JsonLimits, MAX_DEPTH, scanObject } from '../../src/lib/json/json'
import { casesOf, createRandom, type Random, seedOf } from '../support/random'

const ROUNDS = casesOf(3_000)
const firstSeed = seedOf('NAMES_SEED')

const spaces = ['', '', '', ' ', '\n', '\t\r\n']
const names = [
  ...[
    '"a"',
    '"\\u0061"',
    '"b"',
    '"A"',
    '""',
    '"__proto__"',
    '"constructor"',
    '"1"',
    '"\\u0031"',
    '"toString"',
  ],
  ...[
    '"q\\"uote"',
    '"q\\u0022uote"',
    '"back\\\\slash"',
    '"é"',
    '"\\u00e9"',
    '"{"',
    '"a:b,c"',
    '"\\ud83d\\ude00"',
  ],
]
const scalars = [
  ...[
    '0',
    '-1.5e3',
    'true',
    'null',
    '""',
    '"text"',
    '"\\\\"',
    '"\\""',
    '"a\\\\\\"b"',
    '"{\\"a\\":1,\\"a\\":2}"',
  ],
  ...['"\\n\\u0041"', '"],}"', '1e400', '123456789012345678901234567890'],
]

function randomJson(random: Random, depth: number): string {
  const space = () => random.pick(spaces)
  const kind = depth === 0 ? 2 : depth > 5 ? 0 : random.below(4)
  if (kind < 1) return random.pick(scalars)
  const inside = Array.from({ length: random.below(5) }, () => {
    const value = `${space()}${randomJson(random, depth + 1)}${space()}`
    return kind === 1 ? value : `${space()}${random.pick(names)}${space()}:${value}`
  })
  const text = inside.length > 0 ? inside.join(',') : space()
  return kind === 1 ? `[${text}]` : `{${text}}`
}

interface Facts extends Record<JsonLimit, number> {
  depth: number
  duplicate: string | undefined
}

/** The grammar of RFC 8259, letter by letter. `text` is valid and its outermost value an object. */
function readSlowly(text: string): Facts {
  const facts: Facts = {
    ...{ fields: 0, members: 0, parts: 0, values: 0, escapes: 0, plainCharacters: 0, depth: 0 },
    duplicate: undefined,
  }
  let at = 0
  const skip = () => {
    while (' \n\r\t'.includes(text[at] ?? '-')) at++
  }
  const readString = (): string => {
    const start = at
    at++
    for (; text[at] !== '"'; at++) {
      if (text[at] !== '\\') continue
      facts.escapes++
      at++
    }
    at++
    facts.plainCharacters -= at - start
    return JSON.parse(text.slice(start, at))
  }
  const readMembers = (path: string, depth: number) => {
    const seen: string[] = []
    do {
      at++
      skip()
      if (text[at] === '}') break
      const name = readString()
      facts.members++
      if (depth === 1) facts.fields++
      const inner = path === '' ? name : `${path}.${name}`
      if (seen.includes(name)) facts.duplicate ??= inner
      seen.push(name)
      skip()
      at++
      readValue(inner, depth)
      skip()
    } while (text[at] === ',')
    at++
    return seen.length
  }
  const readItems = (path: string, depth: number) => {
    let count = 0
    do {
      at++
      skip()
      if (text[at] === ']') break
      readValue(`${path}[${count++}]`, depth)
      skip()
    } while (text[at] === ',')
    at++
    return count
  }
  const readValue = (path: string, depth: number): void => {
    skip()
    if (depth > 0) facts.values++
    if (text[at] === '"') {
      facts.parts++
      readString()
    } else if (text[at] === '{' || text[at] === '[') {
      if (depth > 0) facts.parts++
      facts.depth = Math.max(facts.depth, depth + 1)
      const count = text[at] === '{' ? readMembers(path, depth + 1) : readItems(path, depth + 1)
      // An empty list is as much work as one with a value.
      if (count === 0 && depth > 0) facts.values++
    } else {
      while (!',]}'.includes(text[at] ?? ',') && !' \n\r\t'.includes(text[at] ?? '-')) at++
    }
  }
  readValue('', 0)
  facts.plainCharacters += text.length
  return facts
}

const generous: JsonLimits = {
  ...{ fields: 1e9, members: 1e9, parts: 1e9, values: 1e9, escapes: 1e9, plainCharacters: 1e9 },
}

function forEachSeed(check: (random: Random) => void): void {
  for (let seed = firstSeed; seed < firstSeed + ROUNDS; seed++) {
    try {
      check(createRandom(seed))
    } catch (error) {
      throw new Error(`NAMES_SEED=${seed}: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      })
    }
  }
}

describe('random JSON', () => {
  test('each limit accepts exactly its number and refuses one more', () => {
    forEachSeed((random) => {
      const text = `${random.pick(spaces)}${randomJson(random, 0)}${random.pick(spaces)}`
      const facts = readSlowly(text)
      for (const limit of Object.keys(generous) as JsonLimit[]) {
        const exact = scanObject(text, { ...generous, [limit]: facts[limit] })
        if (!('fault' in exact && exact.fault === 'duplicate key')) expect(exact).toHaveProperty('members')
        if (facts[limit] === 0) continue
        const less = scanObject(text, { ...generous, [limit]: facts[limit] - 1 })
        if ('fault' in less && less.fault === 'duplicate key') continue
        expect({ text, ...less }).toMatchObject({ text, fault: 'too much', limit })
      }
    })
  })

  test('the limits are the same for bytes that arrive in any pieces', () => {
    forEachSeed((random) => {
      const text = `${random.pick(spaces)}${randomJson(random, 0)}${random.pick(spaces)}`
      const facts = readSlowly(text)
      const bytes = Buffer.from(text)
      const push = (limits: JsonLimits) => {
        const counter = new JsonCounter(limits)
        for (let at = 0; at < bytes.length; ) {
          const end = at + 1 + random.below(random.pick([1, 5, 1_000]))
          const limit = counter.push(bytes.subarray(at, end))
          if (limit) return limit
          at = end
        }
        return undefined
      }
      for (const limit of Object.keys(generous) as JsonLimit[]) {
        expect({ text, passed: push({ ...generous, [limit]: facts[limit] }) }).toEqual({
          text,
          passed: undefined,
        })
        if (facts[limit] === 0) continue
        expect({ text, passed: push({ ...generous, [limit]: facts[limit] - 1 }) }).toEqual({
          text,
          passed: limit,
        })
      }
    })
  })

  test('members are counted, and the first repeated name is reported by its path', () => {
    let duplicates = 0
    forEachSeed((random) => {
      const text = randomJson(random, 0)
      const { members, duplicate } = readSlowly(text)
      const scan = scanObject(text)
      if ('fault' in scan) {
        const key = scan.fault === 'duplicate key' ? scan.key : scan.fault
        // The parser stops at the first repeated field, which can be inside another repeated field.
        expect(findDuplicate(text)).toBe(duplicate as string)
        expect(key in JSON.parse(text)).toBe(true)
        duplicates++
        return
      }
      expect({ text, count: scan.memberCount }).toEqual({ text, count: members })
      const isUnique = countMembers(JSON.parse(text)) === members
      expect({ text, isUnique }).toEqual({ text, isUnique: duplicate === undefined })
      expect({ text, found: findDuplicate(text) }).toEqual({ text, found: duplicate })
      if (!isUnique) duplicates++
    })
    expect(duplicates).toBeGreaterThan(ROUNDS / 20)
  })

  test('a cut or damaged text is never counted beyond the limits, and never throws', () => {
    const small: JsonLimits = {
      ...{ fields: 3, members: 6, parts: 6, values: 8, escapes: 4, plainCharacters: 40 },
    }
    const noise = ['"', '\\', '{', '}', '[', ']', ',', ':', ' ', '0', '\u0000']
    forEachSeed((random) => {
      let text = randomJson(random, 0).slice(0, 1 + random.below(200))
      for (let count = random.below(3); count > 0; count--) {
        const at = random.below(text.length + 1)
        text = text.slice(0, at) + random.pick(noise) + text.slice(at + random.below(2))
      }
      const scan = scanObject(text, small)
      if ('fault' in scan) return
      let value: unknown
      try {
        value = JSON.parse(text)
      } catch {
        return
      }
      const { depth, duplicate, ...facts } = readSlowly(text)
      expect(value).toBeObject()
      expect(depth).toBeLessThanOrEqual(MAX_DEPTH)
      for (const limit of Object.keys(small) as JsonLimit[]) {
        expect(facts[limit]).toBeLessThanOrEqual(small[limit])
      }
    })
  })
})

describe('other spellings of known names', () => {
  const schema = Type.Object({
    model: Type.String(),
    max_tokens: Type.Optional(Type.Union([Type.Integer(), Type.Null()])),
    promptExtend: Type.Optional(Type.Boolean()),
    items: Type.Optional(
      Type.Union([
        Type.String(),
        Type.Array(
          Type.Union([
            Type.Object({ text: Type.String() }),
            Type.Object({ image: Type.Object({ url: Type.String() }) }),
          ]),
        ),
      ]),
    ),
    free: Type.Optional(Type.Object({})),
    any: Type.Optional(Type.Unknown()),
  })
  const known = knownNamesOf(schema)
  const rows: [body: object, path: string | undefined, name?: string][] = [
    [{ model: 'a', max_tokens: null, promptExtend: true, other: 1 }, undefined],
    [{ Model: 'a' }, 'Model', 'model'],
    [{ model: 'a', 'max_to\u212aens': 1 }, 'max_to\u212aens', 'max_tokens'],
    [{ model: 'a', item\u017f: [] }, 'item\u017f', 'items'],
    [{ promptextend: true }, 'promptextend', 'promptExtend'],
    [{ items: [{ text: 'a' }, { Text: 'b' }] }, 'items[1].Text', 'text'],
    [{ items: [{ image: { URL: 'b' } }] }, 'items[0].image.URL', 'url'],
    [{ items: [null, 5, 'a', []] }, undefined],
    [{ extra: 1, EXTRA: 2 }, 'EXTRA', 'extra'],
    [{ free: { a: 1, A: 2, Model: 3 }, any: [{ b: 1, B: 2 }] }, undefined],
    [{ ['x'.repeat(10_000)]: 1, ['X'.repeat(10_000)]: 2 }, undefined],
  ]
  for (const [body, path, name] of rows) {
    test(JSON.stringify(body).slice(0, 80), () => {
      const found = known && findVariant(body, known)
      expect(found).toEqual(path === undefined ? undefined : { path, known: name as string })
    })
  }

  test('a schema without members has no known names, and further names can be added', () => {
    expect(knownNamesOf(Type.Unknown())).toBeUndefined()
    expect(knownNamesOf(Type.Object({}))).toBeUndefined()
    const more = knownNamesOf(Type.Object({ a: Type.String() }), [
      'service_tier',
      'tools[].type',
      'tools[].schema',
    ])
    const find = (body: object) => more && findVariant(body, more)
    expect(find({ Service_Tier: 'x' })).toEqual({ path: 'Service_Tier', known: 'service_tier' })
    expect(find({ tools: [{}, { Type: 'x' }] })).toEqual({ path: 'tools[1].Type', known: 'type' })
    expect(find({ tools: [{ schema: { a: 1, A: 2 } }] })).toBeUndefined()
  })

  test('letters are folded as in case-insensitive parsers', () => {
    for (const writing of ['STREAM', 'Stream', 'ſtream']) expect(fold(writing)).toBe('stream')
    for (const writing of ['TOKENS', 'to\u212aens', 'toKenſ']) expect(fold(writing)).toBe('tokens')
    expect(fold('stre_am')).not.toBe('stream')
  })
})
