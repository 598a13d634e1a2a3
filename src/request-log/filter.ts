// Queries of the request log: which rows, and where to start. Pure. Every store of rows must give the same answer.

import type { Value } from '../db/db'
import type { RowCodec } from '../db/encryption/codec'
import type { NumberColumn, RowColumns, RowTest } from './page-columns'
import { decodedMessage, endedInError, type LoggedRequest } from './row'

/** One value, or several, one of which must match. */
export type AnyOf = string | readonly string[]

/** Conditions that rows must all meet. */
export interface RequestFilter {
  keyId?: AnyOf
  spenderId?: AnyOf
  account?: AnyOf
  /** The id of the model that answered, or the name in the request. */
  model?: AnyOf
  upstream?: AnyOf
  operation?: AnyOf
  failedBy?: AnyOf
  metadata?: Metadata
  /** An HTTP status such as `404`, a class such as `4xx`, or `failed`: see endedInError. */
  status?: AnyOf
  /** The code of an error. */
  error?: AnyOf
  /** Words, in any case, in the id, the account, the model, the requested name, the error or its message. */
  text?: string
  /** Minimum duration (exclusive), in milliseconds. */
  slowerMs?: number
  /** Minimum amount (exclusive) that was paid when it ended, in nano-dollars. */
  aboveNano?: number
  /** Arrived at this time or later, in milliseconds since 1970. */
  since?: number
  /** Arrived before this time. */
  until?: number
}

/** One value of the metadata that usage is counted by. */
export interface Metadata {
  name: string
  value: string
}

/** One page of rows, newest first. */
export interface RequestPage {
  rows: LoggedRequest[]
  /** Continues the list; null at its end. */
  next: string | null
  /** How many rows were read, if the page ends early because few of them match; otherwise null. */
  looked: number | null
}

export interface PageRequest {
  limit: number
  /** The `next` of the previous page. */
  after?: string | undefined
}

/** Columns that are compared unchanged: one of them must have the value. The first names the term of a page. */
export const EQUAL_COLUMNS = [
  ['keyId', ['key_id']],
  ['spenderId', ['spender_id']],
  ['account', ['account']],
  ['model', ['model', 'asked_model']],
  ['upstream', ['upstream']],
  ['operation', ['operation']],
  ['failedBy', ['failed_by']],
] as const

/** The part of a row's metadata, which is JSON, that contains a value: quotes in a value are escaped, so nothing else matches. */
export function metadataText({ name, value }: Metadata): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`
}

const FAILED = 'failed'

/** The words of a filter, as rows are searched for them. */
export function statusWords(status: number, errorCode: Value): string[] {
  const words = [String(status), `${Math.floor(status / 100)}xx`]
  if (endedInError(status, errorCode)) words.push(FAILED)
  return words
}

/** Whether a word matches some rows. */
export function isStatusWord(word: string): boolean {
  return word === FAILED || /^[1-9](xx|\d\d)$/.test(word)
}

export function choicesOf(choice: AnyOf): readonly string[] {
  return typeof choice === 'string' ? [choice] : choice
}

/** A part of a filter. */
export interface RowCondition {
  /** The member of the filter. */
  name: keyof RequestFilter
  /** The test of the rows of a page. */
  on(rows: RowColumns): RowTest
}

/** Columns that are searched for words, apart from the id and the message: those that the holder of a key sees. */
const WORD_COLUMNS = ['account', 'model', 'asked_model', 'error_code'] as const

/** The conditions of a filter, the quick ones first. */
export function rowConditionsOf(filter: RequestFilter, codec: RowCodec): RowCondition[] {
  const { metadata, status, error, text, slowerMs, aboveNano, since, until } = filter
  const found: RowCondition[] = []
  const add = (name: keyof RequestFilter, on: RowCondition['on']) => found.push({ name, on })
  const addNumber = (name: keyof RequestFilter, column: NumberColumn, isWanted: (value: number) => boolean) =>
    add(name, (rows) => {
      const value = rows.number(column)
      return (row) => isWanted(value(row) ?? 0)
    })
  if (since !== undefined) addNumber('since', 'at', (at) => at >= since)
  if (until !== undefined) addNumber('until', 'at', (at) => at < until)
  for (const [name, columns] of EQUAL_COLUMNS) {
    const choice = filter[name]
    if (choice === undefined) continue
    const wanted = choicesOf(choice)
    add(name, (rows) => anyOf(columns.map((column) => rows.text(column, (value) => wanted.includes(value)))))
  }
  if (status !== undefined) add('status', (rows) => hasStatus(choicesOf(status), rows))
  if (error !== undefined)
    add('error', (rows) => rows.text('error_code', (value) => choicesOf(error).includes(value)))
  if (slowerMs !== undefined) addNumber('slowerMs', 'duration_ms', (duration) => duration > slowerMs)
  if (aboveNano !== undefined) addNumber('aboveNano', 'amount', (amount) => amount > aboveNano)
  if (metadata !== undefined) {
    const wanted = metadataText(metadata)
    add('metadata', (rows) => rows.text('metadata', (value) => value.includes(wanted)))
  }
  if (text !== undefined) add('text', (rows) => hasWords(text.toLowerCase(), rows, codec))
  return found
}

function anyOf(tests: readonly RowTest[]): RowTest {
  return (row) => tests.some((test) => test(row))
}

function hasStatus(wanted: readonly string[], rows: RowColumns): RowTest {
  const [status, hasError] = [rows.number('status'), rows.text('error_code', () => true)]
  const known = new Map<number, boolean>()
  return (row) => {
    const [code, isFailed] = [status(row) ?? 0, hasError(row)]
    const key = 2 * code + Number(isFailed)
    const isWanted =
      known.get(key) ?? statusWords(code, isFailed ? FAILED : null).some((word) => wanted.includes(word))
    known.set(key, isWanted)
    return isWanted
  }
}

function hasWords(text: string, rows: RowColumns, codec: RowCodec): RowTest {
  const has = (value: string | null) => value?.toLowerCase().includes(text) ?? false
  return anyOf([
    ...WORD_COLUMNS.map((column) => rows.text(column, has)),
    rows.hasInId(has),
    rows.text('error_message', (stored, id) => has(decodedMessage(stored, id, codec))),
  ])
}

/** Thrown for a cursor that no page has returned. */
export class UnknownCursor extends Error {
  constructor() {
    super('there is no such page: start again without it')
  }
}

/** When a request arrived, according to the time in its id, in milliseconds since 1970; undefined for other ids. */
export function timeOfId(id: string): number | undefined {
  const [, milliseconds] = /^[a-z]+_([0-9a-f]{12})7[0-9a-f]{19}$/.exec(id) ?? []
  return milliseconds === undefined ? undefined : Number.parseInt(milliseconds, 16)
}
