// The simulated models' answers to JSON schemas are valid by an independent validator, for schemas as programs write
// them and for random ones.

import { describe, expect, test } from 'bun:test'
import Ajv2020 from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import { exampleOf } from '../../sandbox/schema-example'
import { casesOf, createRandom, type Random, seedOf } from '../support/random'

const seed = seedOf('SCHEMA_SEED')
const ajv = new Ajv2020({ strict: false })
addFormats(ajv)

function expectFits(schema: object): void {
  const value = exampleOf(schema)
  const fits = ajv.validate(schema, value)
  if (!fits)
    throw new Error(`${JSON.stringify(value)} does not fit ${JSON.stringify(schema)}: ${ajv.errorsText()}`)
}

describe('a value is valid for', () => {
  const text = (rules: object) => ({ type: 'string', ...rules })
  const required = (properties: object) => ({ type: 'object', properties, required: Object.keys(properties) })
  const rows: [what: string, schema: object][] = [
    ['a minimum length', text({ minLength: 40 })],
    ['a maximum length', text({ maxLength: 2 })],
    ['an empty text', text({ maxLength: 0 })],
    ['a postal code', text({ pattern: '^[A-Z]{2}-\\d{4,5}$' })],
    ['a choice of words', text({ pattern: '^(red|green|blue)( light)?$' })],
    ['a version', text({ pattern: '^v?\\d+\\.\\d+\\.\\d+(-[a-z0-9.]+)?$' })],
    ['a variable name', text({ pattern: '^[a-zA-Z_$][\\w$]*$', minLength: 12 })],
    ['a pattern without an anchor', text({ pattern: 'b+c' })],
    ['a pattern that excludes characters', text({ pattern: '^[^a-z]+$' })],
    [
      'an e-mail address, as a library writes it',
      text({
        format: 'email',
        pattern:
          "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
      }),
    ],
    ...['date', 'date-time', 'time', 'duration', 'email', 'hostname', 'ipv4', 'ipv6', 'uri', 'uuid'].map(
      (format): [string, object] => [`the format ${format}`, text({ format })],
    ),
    ['a number above a limit', { type: 'number', exclusiveMinimum: 17 }],
    ['a number below a limit', { type: 'integer', exclusiveMaximum: -3 }],
    ['a number between limits', { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 0.01 }],
    ['a multiple', { type: 'integer', minimum: 11, multipleOf: 5 }],
    ['many items', { type: 'array', items: { type: 'string' }, minItems: 12 }],
    ['no items', { type: 'array', items: { type: 'string' }, maxItems: 0 }],
    ['unique items', { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true }],
    ['unique numbers', { type: 'array', items: { type: 'integer' }, minItems: 9, uniqueItems: true }],
    [
      'a tuple',
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer' }], minItems: 2, items: false },
    ],
    ['a record', { type: 'object', additionalProperties: { type: 'integer', minimum: 3 }, minProperties: 2 }],
    ['a constant', required({ kind: { const: 'circle' }, size: { enum: [4, 5] } })],
    ['a null', required({ parent: { type: 'null' }, other: { type: ['string', 'null'] } })],
    [
      'all of several',
      {
        allOf: [required({ a: { type: 'string' } }), { $ref: '#/$defs/b' }],
        $defs: { b: required({ b: { type: 'integer' } }) },
      },
    ],
    ['one of several', { oneOf: [required({ a: { const: 1 } }), required({ b: { const: 2 } })] }],
    [
      'a linked list',
      {
        $ref: '#/$defs/node',
        $defs: {
          node: required({
            value: { type: 'integer' },
            next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
          }),
        },
      },
    ],
    [
      'a tree',
      {
        ...required({ name: { type: 'string' }, children: { type: 'array', items: { $ref: '#' } } }),
        additionalProperties: false,
      },
    ],
    ['a name with a slash', { $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'boolean' } } }],
  ]
  test.each(rows)('%s', (_, schema) => expectFits(schema))

  test(`random schemas (SCHEMA_SEED=${seed})`, () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(2_000); round++) expectFits(schemaOf(random, 0))
  })
})

test('every schema gets an answer, whatever it contains', () => {
  const odd = [
    { $ref: '#' },
    { allOf: [{ $ref: '#' }] },
    { properties: { next: { $ref: '#' } }, required: ['next'] },
    { type: 'array', minItems: 3, items: { $ref: '#' } },
    { type: 'string', minLength: 1e12 },
    { type: 'array', minItems: 1e12 },
    { type: 'object', minProperties: 1e12 },
    { type: 'string', pattern: '(' },
    { type: 'string', pattern: '(a{9999}){9999}' },
    { type: 'string', pattern: '\\p{Lu}(?<=x)\\1' },
    { type: 'integer', minimum: 5, maximum: 3 },
    { type: 'number', multipleOf: 0 },
    { enum: [] },
    { required: [7, null] },
    null,
    7,
    [],
  ]
  for (const schema of odd) expect(JSON.stringify(exampleOf(schema))?.length ?? 0).toBeLessThan(2_000_000)
})

function schemaOf(random: Random, depth: number): object {
  const kinds = [
    'string',
    'integer',
    'number',
    'boolean',
    'null',
    'enum',
    ...(depth < 3 ? ['object', 'array', 'anyOf'] : []),
  ]
  switch (random.pick(kinds)) {
    case 'string': {
      const least = random.below(20)
      return {
        type: 'string',
        ...(random.chance(0.5) && { minLength: least }),
        ...(random.chance(0.5) && { maxLength: least + random.below(20) }),
      }
    }
    case 'integer': {
      const least = random.below(2_000) - 1_000
      const step = 1 + random.below(7)
      return {
        type: 'integer',
        ...(random.chance(0.5) && { minimum: least }),
        ...(random.chance(0.5) && { maximum: least + 2 * step }),
        ...(random.chance(0.3) && { multipleOf: step }),
      }
    }
    case 'number': {
      const least = random.below(200) - 100
      return {
        type: 'number',
        ...(random.chance(0.5) && { exclusiveMinimum: least }),
        ...(random.chance(0.5) && { exclusiveMaximum: least + 0.25 }),
      }
    }
    case 'boolean':
      return { type: 'boolean' }
    case 'null':
      return { type: 'null' }
    case 'enum':
      return {
        enum: Array.from({ length: 1 + random.below(4) }, (_none, index) =>
          random.chance(0.5) ? index : `word ${index}`,
        ),
      }
    case 'anyOf':
      return { anyOf: Array.from({ length: 1 + random.below(3) }, () => schemaOf(random, depth + 1)) }
    case 'array': {
      const least = random.below(8)
      return {
        type: 'array',
        items: schemaOf(random, depth + 1),
        ...(random.chance(0.5) && { minItems: least }),
        ...(random.chance(0.5) && { maxItems: least + random.below(4) }),
      }
    }
    default:
      return objectOf(random, depth)
  }
}

function objectOf(random: Random, depth: number): object {
  const names = Array.from({ length: random.below(5) }, (_none, index) => `field_${index}`)
  const properties = Object.fromEntries(names.map((name) => [name, schemaOf(random, depth + 1)]))
  const required = names.filter(() => random.chance(0.6))
  return {
    type: 'object',
    properties,
    required,
    ...(random.chance(0.5) && { additionalProperties: false }),
    ...(random.chance(0.3) && { minProperties: names.length }),
  }
}
