// Queries of the request log: which rows, and where to start. Pure. Every store of rows must give the same answer.

import type { Value } from '../db/db'
import type { RowCodec } from '../db/encryption/codec'
import { COLUMNS, decodedMessage, endedInError, type LoggedRequest } from './row'

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
  /** Whether the values of a row, in the order of the columns, match. */
  isMet(values: readonly Value[]): boolean
}

export function columnPlace(column: (typeof COLUMNS)[number][0]): number {
  return COLUMNS.findIndex(([name]) => name === column)
}

const [ID, AT, STATUS, ERROR] = [
  columnPlace('id'),
  columnPlace('at'),
  columnPlace('status'),
  columnPlace('error_code'),
]
const [DURATION, AMOUNT, METADATA] = [
  columnPlace('duration_ms'),
  columnPlace('amount'),
  columnPlace('metadata'),
]
const MESSAGE = columnPlace('error_message')
/** Columns that are searched for words, apart from the message: those that the holder of a key sees. */
const SEARCHED = (['id', 'account', 'model', 'asked_model', 'error_code'] as const).map(columnPlace)

/** The conditions of a filter, the quick ones first. */
export function rowConditionsOf(filter: RequestFilter, codec: RowCodec): RowCondition[] {
  const { metadata, status, error, text, slowerMs, aboveNano, since, until } = filter
  const found: RowCondition[] = []
  const add = (name: keyof RequestFilter, isMet: RowCondition['isMet']) => found.push({ name, isMet })
  if (since !== undefined) add('since', (values) => Number(values[AT]) >= since)
  if (until !== undefined) add('until', (values) => Number(values[AT]) < until)
  for (const [name, columns] of EQUAL_COLUMNS) {
    const choice = filter[name]
    if (choice === undefined) continue
    const [wanted, places] = [choicesOf(choice), columns.map(columnPlace)]
    add(name, (values) => places.some((place) => wanted.includes(values[place] as string)))
  }
  if (status !== undefined) {
    const wanted = choicesOf(status)
    add('status', (values) =>
      statusWords(Number(values[STATUS]), values[ERROR] ?? null).some((word) => wanted.includes(word)),
    )
  }
  if (error !== undefined) add('error', (values) => choicesOf(error).includes(values[ERROR] as string))
  if (slowerMs !== undefined) add('slowerMs', (values) => Number(values[DURATION] ?? 0) > slowerMs)
  if (aboveNano !== undefined) add('aboveNano', (values) => Number(values[AMOUNT] ?? 0) > aboveNano)
  if (metadata !== undefined) {
    const said = metadataText(metadata)
    add('metadata', (values) => String(values[METADATA]).includes(said))
  }
  if (text !== undefined) add('text', hasWords(text.toLowerCase(), codec))
  return found
}

function hasWords(text: string, codec: RowCodec): RowCondition['isMet'] {
  const has = (value: Value | undefined) => typeof value === 'string' && value.toLowerCase().includes(text)
  return (values) => {
    if (SEARCHED.some((place) => has(values[place]))) return true
    const message = values[MESSAGE]
    return typeof message === 'string' && has(decodedMessage(message, String(values[ID]), codec))
  }
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
