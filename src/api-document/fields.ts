// Makes the page about fields, docs/fields.md, from the tables that requests are checked and translated by: one table for each
// dialect, with a column for each API that a vendor may speak. `bun run docs` writes it, and a test compares the two. It must
// hold no list of its own.

import type { BridgedField, Family, FieldRule } from '../contract/family'
import { type OperationName, operationOf } from '../contract/operations'
import { rowOf } from '../contract/units'

export function fieldsPage(families: ReadonlyMap<string, Family>): string {
  const bridges = [...families.values()].filter(({ bridge }) => bridge)
  const billed = [...families.values()].filter(({ fieldRules, bridge }) => fieldRules && !bridge)
  return [
    '# Fields',
    '',
    '```console elsewhere',
    '$ curl https://ai.example.com/v1/chat/completions -H "Authorization: Bearer $API_KEY" \\',
    `    --json '{"model":"gmx-3.5-flash-lite","logit_bias":{"1":1},"messages":[{"role":"user","content":"Hi"}]}'`,
    `{"error":{"message":"Unsupported value: 'logit_bias' is set: it weighs words by the numbers of another vocabulary. Leave it out, or`,
    'choose another model.","type":"invalid_request_error","param":"logit_bias","code":"unsupported_value",…}}',
    '```',
    '',
    'Made by `bun run docs` from the tables that requests are checked by; change those.',
    '',
    '[Dialects](dialects.md) says the same in a few words. To find a field on this page, search for its name in backquotes.',
    '',
    'A model whose vendor speaks the API of the request gets the request as it was written, unknown fields too, except fields that',
    'cost more than the plain price ([below](#fields-that-cost-more-than-the-plain-price-or-name-what-the-vendor-keeps)). With',
    '`strictFields: true` in its configuration it takes only fields that are described. For other models the request is translated,',
    'and each column says what becomes of a field at vendors of one API: the words it is sent in, **left out** where the answer is as',
    'good without it, or **refused** with status 400 and its name. An empty cell means that the field is treated with the one that',
    'contains it. Null is taken for every field.',
    ...[...Map.groupBy(bridges, ({ operation }) => operation).values()].flatMap((group) =>
      bridgeTable(group, families),
    ),
    '',
    '## Fields that cost more than the plain price, or name what the vendor keeps',
    '',
    'A model takes them where its price list has the price in the last column, or where it is `free`. Else they are refused with',
    'status 400 and their name, before anything is held or sent. Null is always taken. A field that names another model is refused',
    'at any price: it would go round the list of models of a key. Routes and aliases are what there is in their place.',
    '',
    "A field that names what is kept in the vendor's account is refused at any price too: all callers share the account, and an",
    "id would reach what is another's. An upstream with `sharedAccount: false` takes it. A video that is made from an earlier one",
    'names a task of the same account here, by its `id` or `upstream_id`.',
    '',
    'An address of a picture or a file must be public: one on this machine, in a private network or of a local file is refused,',
    'unless the upstream has `allowPrivateAddresses: true`. Host names are not looked up.',
    ...groupsOf(billed).flatMap(({ names, rules }) => ruleTable(names, rules)),
    '',
  ].join('\n')
}

/** The APIs of vendors by the operation of the family that speaks them. */
const APIS: Readonly<Partial<Record<OperationName, string>>> = {
  chat: 'Chat completions',
  messages: 'Messages',
  responses: 'Responses',
}

/** The table of a dialect: its fields, by how each API treats them. */
function bridgeTable(bridges: readonly Family[], families: ReadonlyMap<string, Family>): string[] {
  const [first] = bridges
  if (!first) return []
  const fields = [...new Set(bridges.flatMap(({ bridge = [] }) => bridge.map(({ field }) => field)))]
  const columns = bridges.map((family) => treatmentsOf(family))
  const heads = bridges.map(({ over, name }) => apiOf(over ?? name, families))
  return [
    '',
    `## POST ${operationOf(first.operation).path}`,
    '',
    `| Field | ${heads.join(' | ')} |`,
    `| --- | ${heads.map(() => '---').join(' | ')} |`,
    ...[...Map.groupBy(fields, spelling).values()].map((names) => {
      const cells = columns.map((column) => column(names[0] as string))
      const [first, ...others] = names.map(nameOf)
      return `| ${[first, ...others.slice(-1)].join(', ')} | ${cells.join(' | ')} |`
    }),
  ]
}

/** A field in one spelling: `topP` and `top_p` have one row. */
function spelling(field: string): string {
  return field.replaceAll('_', '').toLowerCase()
}

/** The head of the column of a vendor's API. One that is translated for every dialect has the name of its family. */
function apiOf(name: string, families: ReadonlyMap<string, Family>): string {
  const spoken = families.get(name)
  return (!spoken?.bridge && spoken && APIS[spoken.operation]) || `\`${name}\``
}

/** Finds how a family treats a field, in the terms of the page. */
function treatmentsOf({ bridge = [], ignoresUnknown }: Family): (field: string) => string {
  const byField = new Map(bridge.map((row) => [row.field, row]))
  return (field) => {
    const row = byField.get(field)
    if (row) return treatmentOf(row)
    // A part of a field has its own treatment only if the table names it.
    if (/[.[ ]/.test(field)) return ''
    return ignoresUnknown ? '**left out**' : '**refused**'
  }
}

function treatmentOf({ treatment, note, plain, unless }: BridgedField): string {
  if (treatment === 'translated') return cell(note)
  if (treatment === 'ignored') return `**left out**: ${cell(note)}`
  const values = plain === undefined ? '' : `, except ${valuesOf(plain)}`
  return `**refused**${values}: ${cell(note)}${unless ? '; left out for models that reason' : ''}`
}

function nameOf(field: string): string {
  const [name, type] = field.split(' ')
  return type === undefined ? `\`${name}\`` : `\`${name}\` of type \`${type}\``
}

function ruleTable(names: readonly string[], rules: readonly FieldRule[]): string[] {
  return [
    '',
    `### ${names.map((name) => `\`${name}\``).join(', ')}`,
    '',
    '| Field | Always taken | Why | What allows it |',
    '| --- | --- | --- | --- |',
    ...[...Map.groupBy(rules, (rule) => spelling(rule.field) + effectOf(rule)).values()].map((same) => {
      const [first, ...others] = same.map(ruleName)
      const [rule] = same as [FieldRule]
      return `| ${[first, ...others.slice(-1)].join(', ')} | ${effectOf(rule)} |`
    }),
  ]
}

function ruleName({ field, in: place }: FieldRule): string {
  return `${nameOf(field)}${place ? ` (${place})` : ''}`
}

/** The cells of a rule after its name. */
function effectOf(rule: FieldRule): string {
  return [alwaysTaken(rule), cell(rule.why), priceOf(rule)].join(' | ')
}

function priceOf({ price, orPrice, always, state }: FieldRule): string {
  if (state) return '`sharedAccount: false`'
  if (price === 'service_tier') return 'that of the tier'
  const keys = [price, orPrice].flatMap((unit) => (unit === undefined ? [] : [`\`${rowOf(unit).key}\``]))
  if (keys.length > 0) return keys.join(' or ')
  return always ? 'none' : '`free`'
}

function alwaysTaken({ plain, state }: FieldRule): string {
  if (plain === undefined) return ''
  return state ? 'what names none' : valuesOf(plain)
}

/** Groups of families with the same list, which share a table. */
function groupsOf(families: readonly Family[]): { names: string[]; rules: readonly FieldRule[] }[] {
  const groups = Map.groupBy(families, ({ fieldRules }) => JSON.stringify(fieldRules))
  return [...groups.values()].map((group) => ({
    names: group.map(({ name }) => name),
    rules: group[0]?.fieldRules ?? [],
  }))
}

function valuesOf(plain: NonNullable<FieldRule['plain']>): string {
  if (plain instanceof RegExp) return `\`${cell(String(plain))}\``
  return plain.map((value) => `\`${cell(String(value))}\``).join(', ')
}

/** The text of a table cell, without bars that would end it. */
function cell(text: string): string {
  return text.replaceAll('|', '\\|')
}
