// Movements as the records that PostgreSQL's functions read (functions.ts): their columns, types, and text in a call. Only this
// file represents records as text.

import type { Columns } from '../db'

type Column = readonly [name: string, type: 'text' | 'bigint' | 'smallint' | 'int' | 'boolean']

export const OPEN_FIELDS: readonly Column[] = [
  ['id', 'text'],
  ['account', 'text'],
  ['key_id', 'text'],
  ['model', 'text'],
  ['operation', 'text'],
  ['held', 'bigint'],
  ['price_list', 'bigint'],
  ['budget_period', 'text'],
  ['window_minute', 'bigint'],
  ['window_tokens', 'bigint'],
  ['created_at', 'bigint'],
  ['expires_at', 'bigint'],
  ['account_period', 'text'],
  ['metadata_id', 'bigint'],
]

export const ENDED_FIELDS: readonly Column[] = [
  ['id', 'text'],
  ['series', 'bigint'],
  ['price_list', 'bigint'],
  ['state', 'smallint'],
  ['held', 'bigint'],
  ['usage_shape', 'bigint'],
  ['usage', 'text'],
  ['usage_source', 'smallint'],
  ['ended_by', 'smallint'],
  ['created_at', 'bigint'],
  ['ended_at', 'bigint'],
  ['cost', 'bigint'],
]

/** The columns of both records, after the place in the group, which counts from one as PostgreSQL's arrays do. */
const RECORDS: Record<'hold' | 'end', readonly Column[]> = {
  hold: [
    ...OPEN_FIELDS,
    ['most_requests', 'bigint'],
    ['most_tokens', 'bigint'],
    ['most_running', 'bigint'],
    ['most_committed', 'bigint'],
    ['most_of_account', 'bigint'],
    ['idempotency_key', 'text'],
    ['request_hash', 'text'],
  ],
  end: [
    ...ENDED_FIELDS,
    ['account', 'text'],
    ['key_id', 'text'],
    ['price', 'bigint'],
    ['tokens', 'bigint'],
    ['window_minute', 'bigint'],
    ['window_tokens', 'bigint'],
    ['budget_period', 'text'],
    ['account_period', 'text'],
    ['answer_status', 'bigint'],
    ['answer_type', 'text'],
    ['answer_body', 'text'],
    ['frees_key', 'boolean'],
  ],
}

/** A movement as the text of a record in an array, except for its place. */
export function movementRecord(kind: 'hold' | 'end', columns: Columns): string {
  let text = ''
  for (const [name] of RECORDS[kind]) {
    const value = columns[name] ?? null
    text += ','
    if (typeof value === 'string') text += textInRecord(value)
    else if (value !== null) text += value
  }
  return text
}

/** An array of records, each from `movementRecord`. */
export function arrayOfRecords(records: readonly string[]): string {
  return `{${records.map((record, index) => `"(${index + 1}${record})"`).join(',')}}`
}

export function arrayOfTexts(texts: readonly string[]): string {
  return `{${texts.map((text) => `"${escaped(text.toWellFormed())}"`).join(',')}}`
}

/** Texts that need no quotes, such as ids and names: a record is an element of an array, so its quotes are escaped too. */
const PLAIN = /^[\w.:/-]+$/

function textInRecord(text: string): string {
  return PLAIN.test(text) ? text : `\\"${escaped(escaped(text.toWellFormed()))}\\"`
}

function escaped(text: string): string {
  return text.replaceAll(/["\\]/g, '\\$&')
}

/** The statement that creates the type of a record. */
export function typeOf(kind: keyof typeof RECORDS): string {
  return `create type charge_${kind} as (place int, ${RECORDS[kind].map((column) => column.join(' ')).join(', ')})`
}

export function namesOf(columns: readonly Column[]): string {
  return columns.map(([name]) => name).join(', ')
}

/** The names of columns of the record `i`. */
export function namesIn(columns: readonly Column[]): string {
  return columns.map(([name]) => `i.${name}`).join(', ')
}

/** The function that applies a group: names of accounts, ends, holds, and single movements. */
export const MOVE_MONEY = 'move_money'
