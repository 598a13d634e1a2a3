// Makes the page about dialects, docs/dialects.md, from the tables that requests are checked and translated by. `bun
// run docs` writes it, and a test compares the two. It must hold no list of its own.

import type { BridgedField, Family, FieldRule } from '../contract/family'
import { type OperationName, operationOf } from '../contract/operations'
import { rowOf } from '../contract/units'

const TREATMENTS = { translated: 'Translated', ignored: 'Left out', refused: 'Refused' }

export function dialectsPage(families: ReadonlyMap<string, Family>): string {
  const bridges = [...families.values()].filter(({ bridge }) => bridge)
  const billed = [...families.values()].filter(({ fieldRules, bridge }) => fieldRules && !bridge)
  return [
    '# Fields and dialects',
    '',
    'Made by `bun run docs` from the tables that requests are checked by; change those.',
    '',
    'A model that speaks the dialect of the request gets the request as it was written, unknown fields too, except fields that',
    'cost more than the plain price (below). With `strictFields: true` in its configuration it takes only fields that are described.',
    'A model that speaks the other dialect is asked in that one, and so is a model that refuses tools on chat completions while it',
    'thinks: its chat and messages requests with tools are those of a model of responses. A field that changes what the model is asked is then translated',
    'or answered with status 400 and its name; none of them is dropped. What is left out changes nothing in what is asked. A',
    'top-level field that the table does not name is refused, unless it is null; of responses it is left out, because clients send',
    'notes of their own.',
    ...bridgesOf(bridges).flatMap((group) => bridgeTable(group, families)),
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

/** The models of an operation in the words of a title. */
const modelsOf: Partial<Record<OperationName, string>> = {
  chat: 'a model of chat completions',
  messages: 'a model of messages',
  responses: 'a model of responses',
}

/** The bridges, those with the same fields to the same family together. */
function bridgesOf(bridges: readonly Family[]): Family[][] {
  return [...Map.groupBy(bridges, ({ over, bridge }) => `${over} ${JSON.stringify(bridge)}`).values()]
}

function titleOf(group: readonly Family[], families: ReadonlyMap<string, Family>): string {
  const paths = group.map((family) => operationOf(family.operation).path).join(' and ')
  const over = group[0]?.over ?? group[0]?.name ?? ''
  const spoken = families.get(over)
  // A family that is translated itself speaks a vendor's own dialect.
  if (spoken?.bridge) return `POST ${paths} on a model of \`${over}\``
  const served = spoken && modelsOf[spoken.operation]
  return served ? `POST ${paths} on ${served}` : `POST ${paths} with a \`prompt\` on a model of \`${over}\``
}

function bridgeTable(group: readonly Family[], families: ReadonlyMap<string, Family>): string[] {
  const order = Object.keys(TREATMENTS)
  const bridge = group[0]?.bridge ?? []
  const sorted = bridge.toSorted((a, b) => order.indexOf(a.treatment) - order.indexOf(b.treatment))
  return [
    '',
    `## ${titleOf(group, families)}`,
    '',
    '| Field | | As what, or why |',
    '| --- | --- | --- |',
    ...sorted.map((row) => `| ${nameOf(row.field)} | ${treatmentOf(row)} | ${cell(row.note)} |`),
  ]
}

function nameOf(field: string): string {
  const [name, type] = field.split(' ')
  return type === undefined ? `\`${name}\`` : `\`${name}\` of type \`${type}\``
}

function treatmentOf({ treatment, plain, unless }: BridgedField): string {
  const values = plain === undefined ? '' : `, except ${valuesOf(plain)}`
  return `${TREATMENTS[treatment]}${values}${treatment === 'refused' && unless ? '; left out for models that reason' : ''}`
}

function ruleTable(names: readonly string[], rules: readonly FieldRule[]): string[] {
  return [
    '',
    `### ${names.map((name) => `\`${name}\``).join(', ')}`,
    '',
    '| Field | Always taken | Why | What allows it |',
    '| --- | --- | --- | --- |',
    ...rules.map(
      (rule) =>
        `| ${nameOf(rule.field)}${rule.in ? ` (${rule.in})` : ''} | ${alwaysTaken(rule)} | ${cell(rule.why)} | ${priceOf(rule)} |`,
    ),
  ]
}

function priceOf({ price, always, state }: FieldRule): string {
  if (state) return '`sharedAccount: false`'
  if (price === 'service_tier') return 'that of the tier'
  if (price !== undefined) return `\`${rowOf(price).key}\``
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
