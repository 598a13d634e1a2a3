// The pure modules between a caller's text and a vendor: the scanner and editor of JSON text, the messages of the
// validator, and the parser of vendors' error shapes. The first two are tested with random text; a failure prints its
// seed.

import { describe, expect, test } from 'bun:test'
import { Type } from '@sinclair/typebox'
import { readErrorShape } from '../../src/lib/error-shapes'
import { errorBody, GatewayError } from '../../src/lib/errors'
import {
  type Edit,
  editObject,
  leadingField,
  MAX_DEPTH,
  type ScannedObject,
  scanObject,
} from '../../src/lib/json/json'
import { createValidator } from '../../src/lib/validate'
import { casesOf, createRandom, type Random, seedOf } from '../support/random'

const ROUNDS = casesOf(3_000)
const firstSeed = seedOf('JSON_SEED')

const spaces = ['', '', '', ' ', '\n', '\t', '\r\n', '  \n  ']
const scalars = [
  ...['0', '-0.0', '1.0', '1E2', '1e-7', '9007199254740993', '123456789012345678901234567890', '1e400'],
  ...['true', 'false', 'null', '""', '"text"', '"\\"quoted\\" \\\\"', '"\\\\"', '"\\u0041\\ud83d\\ude00\\/"'],
  ...['"{}[],:"', '"é 世界 🎉"', '"\\ud800"', '" \\n\\t "'],
]
const keys = [
  ...['"a"', '"b"', '"model"', '"\\u0061"', '"mod\\u0065l"', '"__proto__"', '"constructor"', '""', '" "'],
  ...['"with \\"quotes\\""', '"é🎉"', '"back\\\\slash"', '"{"', '"stream_options"'],
]

function randomValue(random: Random, depth: number): string {
  const space = () => random.pick(spaces)
  const kind = depth > 3 ? 0 : random.below(4)
  if (kind < 2) return random.pick(scalars)
  const items = Array.from({ length: random.below(4) }, (_, index) => {
    const value = `${space()}${randomValue(random, depth + 1)}${space()}`
    return kind === 2 ? value : `${space()}"key${index}"${space()}:${value}`
  })
  const inside = items.length > 0 ? items.join(',') : space()
  return kind === 2 ? `[${inside}]` : `{${inside}}`
}

interface RandomMember {
  key: string
  /** Key, colon and value as written. */
  text: string
  value: string
}

function randomMembers(random: Random): RandomMember[] {
  const members = new Map<string, RandomMember>()
  for (let count = random.below(8); count > 0; count--) {
    const quoted = random.pick(keys)
    const value = randomValue(random, 0)
    const text = `${quoted}${random.pick(spaces)}:${random.pick(spaces)}${value}`
    const key: string = JSON.parse(quoted)
    if (!members.has(key)) members.set(key, { key, text, value })
  }
  return [...members.values()]
}

function randomObject(random: Random) {
  const members = randomMembers(random)
  const space = () => random.pick(spaces)
  const inside = members.map(({ text }) => space() + text + space()).join(',') || space()
  const [before, after] = [space(), space()]
  return { members, before, after, text: `${before}{${inside}}${after}` }
}

function scanned(text: string): ScannedObject {
  const scan = scanObject(text)
  if ('fault' in scan) throw new Error(`${scan.fault}: ${text}`)
  return scan
}

/** Each member's text, as found by the scan. */
function textsOf(text: string): Map<string, string> {
  const { members } = scanned(text)
  return new Map([...members].map(([key, { start, valueEnd }]) => [key, text.slice(start, valueEnd)]))
}

function forEachSeed(check: (random: Random) => void): void {
  for (let seed = firstSeed; seed < firstSeed + ROUNDS; seed++) {
    try {
      check(createRandom(seed))
    } catch (error) {
      throw new Error(`JSON_SEED=${seed}: ${error instanceof Error ? error.message : error}`, {
        cause: error,
      })
    }
  }
}

describe('scanning and editing random objects', () => {
  test('every member is found at its place', () => {
    forEachSeed((random) => {
      const { text, members } = randomObject(random)
      const scan = scanned(text)
      expect([...scan.members.keys()]).toEqual(members.map(({ key }) => key))
      for (const { key, text: member, value } of members) {
        const place = scan.members.get(key)
        expect(text.slice(place?.start, place?.valueEnd)).toBe(member)
        expect(text.slice(place?.valueStart, place?.valueEnd)).toBe(value)
      }
      expect(text[scan.end]).toBe('}')
    })
  })

  test('an edit changes only what it names, keeps the other bytes in order, and results in valid JSON', () => {
    forEachSeed((random) => {
      const { text, members, before, after } = randomObject(random)
      const named = keys.map((key): string => JSON.parse(key))
      const drop = named.filter(() => random.below(4) === 0)
      const changes = new Map(
        named
          .filter((key) => random.below(4) === 0 && !drop.includes(key))
          .map((key) => [key, randomValue(random, 2)]),
      )
      const edited = editObject(text, scanned(text), { set: Object.fromEntries(changes), drop })

      const kept = members
        .filter(({ key }) => !drop.includes(key))
        .map(({ key, text: member, value }): [key: string, text: string, value: string] => {
          const changed = changes.get(key)
          if (changed === undefined) return [key, member, value]
          return [key, member.slice(0, member.length - value.length) + changed, changed]
        })
      const added = [...changes]
        .filter(([key]) => !members.some((member) => member.key === key))
        .map(([key, value]): [string, string, string] => [key, `${JSON.stringify(key)}:${value}`, value])
      const expected = [...kept, ...added]
      expect([...textsOf(edited)]).toEqual(expected.map(([key, member]) => [key, member]))
      expect(edited.startsWith(`${before}{`) && edited.endsWith(`}${after}`)).toBe(true)
      const parsed = Object.fromEntries(expected.map(([key, , value]) => [key, JSON.parse(value)]))
      expect(JSON.stringify(JSON.parse(edited))).toBe(JSON.stringify(parsed))
    })
  })

  test('an edit of names that are absent returns the same text', () => {
    forEachSeed((random) => {
      const { text } = randomObject(random)
      expect(editObject(text, scanned(text), { drop: ['not there'] })).toBe(text)
    })
  })

  test('in the beginning of an object, exactly the complete members are found', () => {
    forEachSeed((random) => {
      const { text, members } = randomObject(random)
      const beginning = text.slice(0, random.below(text.length + 1))
      for (const { key, value } of members) {
        expect(leadingField(text, key)).toBe(value)
        const found = leadingField(beginning, key)
        if (found !== undefined) expect({ beginning, found }).toEqual({ beginning, found: value })
      }
      expect(leadingField(text, 'not there')).toBeUndefined()
    })
  })

  test('damaged text never throws, and valid JSON is never refused', () => {
    const noise = ['"', '\\', '{', '}', '[', ']', ',', ':', ' ', '0', 'e', 'u', '\u0000', '\ud800']
    forEachSeed((random) => {
      let { text } = randomObject(random)
      for (let count = 1 + random.below(3); count > 0; count--) {
        const at = random.below(text.length + 1)
        text = text.slice(0, at) + random.pick(noise) + text.slice(at + random.below(2))
      }
      const scan = scanObject(text)
      const parsed = parse(text)
      const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)
      if ('fault' in scan) {
        if (scan.fault === 'not an object') expect(isObject).toBe(false)
      } else if (isObject) {
        expect([...scan.members.keys()].sort()).toEqual(Object.keys(parsed).sort())
      }
    })
  })
})

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

describe('scanning', () => {
  const faults: [text: string, fault: ReturnType<typeof scanObject>][] = [
    ['', { fault: 'not an object' }],
    ['[]', { fault: 'not an object' }],
    ['{', { fault: 'not an object' }],
    ['{"a"', { fault: 'not an object' }],
    ['{"a":', { fault: 'not an object' }],
    ['{"a":1', { fault: 'not an object' }],
    ['{"a":1,', { fault: 'not an object' }],
    ['{"a":1,}', { fault: 'not an object' }],
    ['{"a":"open}', { fault: 'not an object' }],
    ['{"a":[1,2}', { fault: 'not an object' }],
    ['{a:1}', { fault: 'not an object' }],
    ['{"a":1,"a":2}', { fault: 'duplicate key', key: 'a' }],
    ['{"model":1,"mod\\u0065l":2}', { fault: 'duplicate key', key: 'model' }],
    ['{"__proto__":1,"__proto__":2}', { fault: 'duplicate key', key: '__proto__' }],
  ]
  for (const [text, fault] of faults) {
    test(text || 'nothing', () => expect(scanObject(text)).toEqual(fault))
  }

  test(`${MAX_DEPTH} levels pass, one more does not, and quoted brackets do not count`, () => {
    const nested = (levels: number, open: string, close: string) =>
      // The object around it is the first level.
      `{"a":${open.repeat(levels - 1)}1${close.repeat(levels - 1)}}`
    for (const [open, close] of [
      ['[', ']'],
      ['{"b":', '}'],
    ] as const) {
      expect(scanObject(nested(MAX_DEPTH, open, close))).toHaveProperty('members')
      expect(scanObject(nested(MAX_DEPTH + 1, open, close))).toEqual({ fault: 'too deep', key: 'a' })
    }
    expect(scanObject(`{"a":["${'['.repeat(1_000)}"]}`)).toHaveProperty('members')
    expect(scanObject(`{"a":${'[],'.repeat(1_000)}[]}`)).toEqual({ fault: 'not an object' })
    expect(scanObject(`{"a":[${'[],'.repeat(1_000)}[]]}`)).toHaveProperty('members')
  })
})

describe('editing', () => {
  const rows: [text: string, edit: Edit, expected: string][] = [
    ['{}', {}, '{}'],
    ['{ }', { set: { a: '1' } }, '{ "a":1}'],
    ['{"a":1}', { set: { b: '[2]' } }, '{"a":1,"b":[2]}'],
    ['{"a" : 1 , "b":2}', { set: { a: '"x"' } }, '{"a" : "x" , "b":2}'],
    ['{"a":1}', { drop: ['a'] }, '{}'],
    ['{ "a":1 , "b":2 }', { drop: ['a'] }, '{ "b":2 }'],
    ['{ "a":1 , "b":2 }', { drop: ['b'] }, '{ "a":1 }'],
    ['{"a":1,"b":2,"c":3}', { drop: ['a', 'b'], set: { d: '4' } }, '{"c":3,"d":4}'],
    ['{"a":1}', { drop: ['a'], set: { 'a"b': '1' } }, '{"a\\"b":1}'],
    ['{"\\u0061":1}', { set: { a: '2' } }, '{"\\u0061":2}'],
    ['{"a":1,"__proto__":2}', { set: { a: '$&' }, drop: ['__proto__'] }, '{"a":$&}'],
  ]
  for (const [text, edit, expected] of rows) {
    test(`${text} and ${JSON.stringify(edit)}`, () => {
      expect(editObject(text, scanned(text), edit)).toBe(expected)
    })
  }
})

describe('the messages of the validator', () => {
  const schema = Type.Object({
    name: Type.String({ minLength: 1 }),
    size: Type.Optional(Type.Integer({ minimum: 1, maximum: 9 })),
    rate: Type.Optional(Type.Union([Type.Number({ minimum: 0, maximum: 2 }), Type.Null()])),
    mode: Type.Optional(Type.Union([Type.Literal('fast'), Type.Literal('slow'), Type.Null()])),
    list: Type.Optional(Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: 2 })])),
    nest: Type.Optional(Type.Array(Type.Object({ 'a/b~c': Type.Boolean() }))),
    only: Type.Optional(Type.Literal(5)),
  })
  const validate = createValidator(schema)
  const rows: [body: unknown, message: string, param: string | null, code: string][] = [
    ['x', 'Invalid type for the body: expected an object, but got a string instead.', null, 'invalid_type'],
    [{}, "Missing required parameter: 'name'.", 'name', 'missing_required_parameter'],
    [
      { name: 5 },
      "Invalid type for 'name': expected a string, but got a number instead.",
      'name',
      'invalid_type',
    ],
    [
      { name: '' },
      "Invalid 'name': empty string. Expected a text with at least one character.",
      'name',
      'empty_string',
    ],
    [
      { name: 'a', size: 0 },
      "Invalid 'size': integer below minimum value. Expected a value >= 1, but got 0 instead.",
      'size',
      'integer_below_min_value',
    ],
    [
      { name: 'a', size: 10 },
      "Invalid 'size': integer above maximum value. Expected a value <= 9, but got 10 instead.",
      'size',
      'integer_above_max_value',
    ],
    [
      { name: 'a', size: 1.5 },
      "Invalid type for 'size': expected an integer, but got a number instead.",
      'size',
      'invalid_type',
    ],
    [
      { name: 'a', size: null },
      "Invalid type for 'size': expected an integer, but got null instead.",
      'size',
      'invalid_type',
    ],
    [
      { name: 'a', rate: 3 },
      "Invalid 'rate': number above maximum value. Expected a value <= 2, but got 3 instead.",
      'rate',
      'decimal_above_max_value',
    ],
    [
      { name: 'a', rate: -1 },
      "Invalid 'rate': number below minimum value. Expected a value >= 0, but got -1 instead.",
      'rate',
      'decimal_below_min_value',
    ],
    [
      { name: 'a', rate: [] },
      "Invalid type for 'rate': expected a number, but got an array instead.",
      'rate',
      'invalid_type',
    ],
    [
      { name: 'a', mode: 'odd' },
      "Invalid value for 'mode'. Supported values are: 'fast', 'slow'.",
      'mode',
      'invalid_value',
    ],
    [
      { name: 'a', mode: 5 },
      "Invalid value for 'mode'. Supported values are: 'fast', 'slow'.",
      'mode',
      'invalid_value',
    ],
    [{ name: 'a', only: 6 }, "Invalid value for 'only'. Supported values are: '5'.", 'only', 'invalid_value'],
    [
      { name: 'a', list: 5 },
      "Invalid type for 'list': expected a string or an array, but got a number instead.",
      'list',
      'invalid_type',
    ],
    [
      { name: 'a', list: ['a', 5] },
      "Invalid type for 'list[1]': expected a string, but got a number instead.",
      'list[1]',
      'invalid_type',
    ],
    [
      { name: 'a', list: ['a', 'b', 'c'] },
      "Invalid 'list': array too long. Expected at most 2 items, but got 3 instead.",
      'list',
      'invalid_value',
    ],
    [
      { name: 'a', nest: [{}] },
      "Missing required parameter: 'nest[0].a/b~c'.",
      'nest[0].a/b~c',
      'missing_required_parameter',
    ],
    [
      { name: 'a', nest: [{ 'a/b~c': 1 }] },
      "Invalid type for 'nest[0].a/b~c': expected a boolean, but got a number instead.",
      'nest[0].a/b~c',
      'invalid_type',
    ],
  ]
  for (const [body, message, param, code] of rows) {
    test(message, () => {
      const thrown = (() => {
        try {
          validate(body)
        } catch (error) {
          return error as GatewayError
        }
      })()
      expect(thrown).toBeInstanceOf(GatewayError)
      expect({ ...thrown, message: thrown?.message }).toMatchObject({ status: 400, message, param, code })
    })
  }

  test('a fault in a long list is reported like one in a short list', () => {
    const item = Type.Union([Type.Integer(), Type.Object({ a: Type.Array(Type.String()) })])
    const long = Type.Object({
      list: Type.Union([Type.String(), Type.Array(item, { maxItems: 3_000 }), Type.Array(Type.Boolean())]),
      other: Type.Optional(Type.Boolean()),
    })
    const check = createValidator(long)
    const thrown = (body: unknown) => {
      try {
        check(body)
      } catch (error) {
        const { message, param, code } = error as GatewayError
        return { message, param, code }
      }
    }
    const faults: unknown[] = ['x', null, 1.5, true, {}, { a: 5 }, { a: [1] }, { a: ['x', 'y', null] }]
    for (const fault of faults) {
      const [few, many] = [2, 2_000].map((count) => thrown({ list: [...Array(count).fill(7), fault] }))
      expect({ fault, ...many }).toEqual({
        fault,
        message: few?.message.replaceAll('list[2]', 'list[2000]') ?? '',
        param: few?.param?.replace('list[2]', 'list[2000]') ?? null,
        code: few?.code ?? 'invalid_value',
      })
    }
    const inner = [...Array(1_000).fill('x'), 5]
    expect(thrown({ list: [...Array(1_000).fill(7), { a: inner }] })?.param).toBe('list[1000].a[1000]')
    expect(thrown({ list: Array(3_001).fill(7) })?.message).toContain('at most 3000 items, but got 3001')
    expect(thrown({ list: Array(2_000).fill(7), other: 5 })?.param).toBe('other')
    expect(thrown({ list: Array(2_000).fill(true), other: null })?.param).toBe('other')
    expect(thrown(Array(2_000).fill(7))?.message).toContain('expected an object, but got an array')
  })

  test('a valid value passes unchanged', () => {
    const body = Object.freeze({ name: 'a', rate: null, mode: null, list: ['a'], more: { any: 'thing' } })
    expect(() => validate(body)).not.toThrow()
  })
})

describe('the error shapes of vendors', () => {
  const nothing = { message: 'The upstream gave no reason.', code: null, type: null, param: null }
  const rows: [what: string, body: unknown, shape: Partial<ReturnType<typeof readErrorShape>>][] = [
    [
      'OpenAI',
      { error: { message: 'Bad.', type: 'invalid_request_error', param: 'n', code: 'invalid_value' } },
      { message: 'Bad.', type: 'invalid_request_error', param: 'n', code: 'invalid_value' },
    ],
    [
      'Google, in an array',
      [{ error: { code: 400, message: 'Bad.', status: 'INVALID' } }],
      { message: 'Bad.' },
    ],
    [
      'DashScope',
      { code: 'Arrearage', message: 'Pay.', request_id: '1' },
      { message: 'Pay.', code: 'Arrearage' },
    ],
    ['xAI, a sentence', { error: 'Not found' }, { message: 'Not found' }],
    ['xAI, with a code', { code: 'Bad key', error: 'No.' }, { message: 'No.', code: 'Bad key' }],
    ['Voyage', { detail: 'Slow down.' }, { message: 'Slow down.' }],
    [
      'Voyage, a list',
      { detail: [{ loc: ['body', 'input', 0], msg: 'Should be text', type: 'string_type' }, { odd: 1 }] },
      { message: 'body.input.0: Should be text; {"odd":1}' },
    ],
    [
      'ElevenLabs',
      { detail: { status: 'quota_exceeded', message: 'All is spent.' } },
      { message: 'All is spent.', code: 'quota_exceeded' },
    ],
    [
      'Anthropic',
      { type: 'error', error: { type: 'overloaded_error', message: 'Busy.' } },
      { message: 'Busy.', type: 'overloaded_error' },
    ],
    ['plain text', 'upstream connect error', { message: 'upstream connect error' }],
    ['numbers instead of texts', { error: { message: 5, code: 429, type: {}, param: [] } }, {}],
    ['nothing', undefined, {}],
    ['null', null, {}],
    ['an empty array', [], {}],
    ['an empty text', '', {}],
    ['an error that is null', { error: null, message: 'Still.' }, { message: 'Still.' }],
  ]
  for (const [what, body, shape] of rows) {
    test(what, () => expect(readErrorShape(body)).toEqual({ ...nothing, ...shape }))
  }

  test('a page of HTML is cut', () => {
    expect(readErrorShape('x'.repeat(1_000_000)).message).toHaveLength(2_000)
  })
})

describe('the dialects of our own errors', () => {
  const object = { message: 'No.', param: null, request_id: 'req_1' }
  test('OpenAI’s object', () => {
    const error = new GatewayError(402, { code: 'in_flight', message: 'No.' })
    const wanted = { ...object, type: 'insufficient_balance', code: 'in_flight' }
    expect(errorBody(error, 'openai', 'req_1')).toEqual({ error: wanted })
  })
  test('429 is flat, with the error object next to it for the SDKs', () => {
    const error = new GatewayError(429, { code: 'Throttling.RateQuota', message: 'No.' })
    const flat = { code: 'Throttling.RateQuota', message: 'No.', request_id: 'req_1' }
    const wanted = { ...object, type: 'rate_limit_error', code: 'Throttling.RateQuota' }
    expect(errorBody(error, 'openai', 'req_1')).toEqual({ ...flat, error: wanted })
    expect(errorBody(error, 'flat', 'req_1')).toEqual({ ...flat, error: wanted })
  })
  test('the error of messages', () => {
    const error = new GatewayError(401, { code: 'invalid_api_key', message: 'No.' })
    expect(errorBody(error, 'messages', 'req_1')).toEqual({
      type: 'error',
      error: { type: 'authentication_error', message: 'No.' },
      request_id: 'req_1',
    })
  })
})
