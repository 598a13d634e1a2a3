// Checks a value against a JSON Schema of an OpenAPI document, for the part of JSON Schema that our document uses. An unknown
// keyword is an error: no value may pass unchecked.

type Schema = Record<string, unknown>

/** Keywords that do not restrict values. */
const SILENT = new Set([
  'description',
  'examples',
  'format',
  'discriminator',
  'default',
  'properties',
  'title',
])

/** Values that do not fit, with their places; empty if all fit. */
export function misfits(document: object, schema: Schema, value: unknown, place = ''): string[] {
  return Object.entries(schema).flatMap(([keyword, expected]) => {
    if (SILENT.has(keyword) && keyword !== 'properties') return []
    const check = checks[keyword]
    if (!check) throw new Error(`${place}: the keyword ${keyword} is not known`)
    return check({ document, schema, expected, value, place })
  })
}

interface Question {
  document: object
  schema: Schema
  expected: unknown
  value: unknown
  place: string
}

const unless = (fits: boolean, { place, expected, value }: Question, what: string): string[] =>
  fits ? [] : [`${place || '/'}: ${JSON.stringify(value)} is not ${what} ${JSON.stringify(expected)}`]

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const fitting = ({ document, expected, value, place }: Question): number =>
  (expected as Schema[]).filter((schema) => misfits(document, schema, value, place).length === 0).length

const bound =
  (measure: (value: unknown) => number | undefined, holds: (found: number, limit: number) => boolean) =>
  (question: Question): string[] => {
    const found = measure(question.value)
    return unless(found === undefined || holds(found, question.expected as number), question, 'within')
  }
const atLeast = (found: number, limit: number) => found >= limit
const atMost = (found: number, limit: number) => found <= limit
const amount = (value: unknown) => (typeof value === 'number' ? value : undefined)
const length = (value: unknown) => (typeof value === 'string' ? value.length : undefined)
const members = (value: unknown) => (isObject(value) ? Object.keys(value).length : undefined)
const items = (value: unknown) => (Array.isArray(value) ? value.length : undefined)

const checks: Record<string, (question: Question) => string[]> = {
  $ref: ({ document, expected, value, place }) =>
    misfits(document, lookUp(document, expected as string), value, place),
  type: (question) =>
    unless(
      [question.expected].flat().some((type) => isOf(type, question.value)),
      question,
      'of type',
    ),
  const: (question) => unless(question.value === question.expected, question, 'the value'),
  enum: (question) => unless((question.expected as unknown[]).includes(question.value), question, 'one of'),
  pattern: (question) => {
    const { value, expected } = question
    return unless(
      typeof value !== 'string' || new RegExp(expected as string).test(value),
      question,
      'of the form',
    )
  },
  anyOf: (question) => unless(fitting(question) > 0, question, 'any of'),
  oneOf: (question) => unless(fitting(question) === 1, question, 'exactly one of'),
  required: (question) => {
    const { value, expected } = question
    return unless(
      !isObject(value) || (expected as string[]).every((name) => name in value),
      question,
      'with all of',
    )
  },
  properties: ({ document, expected, value, place }) =>
    isObject(value)
      ? Object.entries(expected as Record<string, Schema>).flatMap(([name, schema]) =>
          name in value ? misfits(document, schema, value[name], `${place}/${name}`) : [],
        )
      : [],
  items: ({ document, expected, value, place }) =>
    Array.isArray(value)
      ? value.flatMap((item, index) => misfits(document, expected as Schema, item, `${place}/${index}`))
      : [],
  additionalProperties: (question) => {
    const { schema, value, expected } = question
    const forms = Object.keys(schema.patternProperties ?? {}).map((form) => new RegExp(form))
    const isKnown = (name: string) =>
      Object.hasOwn(schema.properties ?? {}, name) || forms.some((form) => form.test(name))
    return unless(
      expected === true || !isObject(value) || Object.keys(value).every(isKnown),
      question,
      'open as',
    )
  },
  patternProperties: ({ document, expected, value, place }) =>
    isObject(value)
      ? Object.entries(expected as Record<string, Schema>).flatMap(([form, schema]) =>
          Object.entries(value)
            .filter(([name]) => new RegExp(form).test(name))
            .flatMap(([name, member]) => misfits(document, schema, member, `${place}/${name}`)),
        )
      : [],
  maxProperties: bound(members, atMost),
  minimum: bound(amount, atLeast),
  maximum: bound(amount, atMost),
  minLength: bound(length, atLeast),
  maxLength: bound(length, atMost),
  minItems: bound(items, atLeast),
  maxItems: bound(items, atMost),
}

/** The schema that a reference inside the document names. */
export function lookUp(document: object, reference: string): Schema {
  const found = reference
    .slice(2)
    .split('/')
    .reduce((part: unknown, key) => (part as Schema | undefined)?.[key.replaceAll('~1', '/')], document)
  if (!isObject(found)) throw new Error(`there is no ${reference}`)
  return found
}

function isOf(type: unknown, value: unknown): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  if (type === 'integer') return Number.isInteger(value)
  return typeof value === type
}
