// Questions to the request log: which rows, from where on. Pure. Every place that keeps rows must give the same answer.

import type { Value } from '../db/db'
import type { Refuser } from './failure'
import { endedInError, type LoggedRequest } from './row'

/** Conditions that rows must meet, all of them. */
export interface RequestFilter {
  keyId?: string
  account?: string
  /** The id of the model that answered, or the name that the caller asked for. */
  model?: string
  upstream?: string
  operation?: string
  refusedBy?: Refuser
  metadata?: Metadata
  /** A status of HTTP such as `404`, a class such as `4xx`, or `failed`: see endedInError. */
  status?: string
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
  /** How many rows were looked at, where the page ends early because few of them match; else null. */
  looked: number | null
}

export interface PageRequest {
  limit: number
  /** The `next` of the page before. */
  after?: string | undefined
}

/** Columns that are compared as they are: one of them must have the value. The first names the term of a page. */
export const EQUAL_COLUMNS = [
  ['keyId', ['key_id']],
  ['account', ['account']],
  ['model', ['model', 'asked_model']],
  ['upstream', ['upstream']],
  ['operation', ['operation']],
  ['refusedBy', ['refused_by']],
] as const

/** The part of the metadata of a row, which is JSON, that says a value: quotes in a value are escaped, so nothing else has it. */
export function metadataText({ name, value }: Metadata): string {
  return `${JSON.stringify(name)}:${JSON.stringify(value)}`
}

export const FAILED = 'failed'

/** The words of a filter that a row goes by. */
export function statusWords(status: number, errorCode: Value): string[] {
  const words = [String(status), `${Math.floor(status / 100)}xx`]
  if (endedInError(status, errorCode)) words.push(FAILED)
  return words
}

/** Whether a word matches some rows. */
export function isStatusWord(word: string): boolean {
  return word === FAILED || statusRange(word) !== undefined
}

/** The first and last status that a word of a filter stands for; undefined for `failed` and other words. */
export function statusRange(word: string): readonly [from: number, to: number] | undefined {
  if (/^[1-9]xx$/.test(word)) return [Number(word[0]) * 100, Number(word[0]) * 100 + 99]
  return /^[1-9]\d\d$/.test(word) ? [Number(word), Number(word)] : undefined
}

export function matches(filter: RequestFilter, row: LoggedRequest): boolean {
  return (
    EQUAL_COLUMNS.every(
      ([name, columns]) =>
        filter[name] === undefined || columns.some((column) => row[column] === filter[name]),
    ) &&
    (filter.metadata === undefined || String(row.metadata).includes(metadataText(filter.metadata))) &&
    (filter.status === undefined ||
      statusWords(Number(row.status), row.error_code ?? null).includes(filter.status)) &&
    row.at >= (filter.since ?? 0) &&
    row.at < (filter.until ?? Number.POSITIVE_INFINITY)
  )
}

/** Thrown for a cursor that no page has given. */
export class UnknownCursor extends Error {
  constructor() {
    super('there is no such page: begin again without it')
  }
}

/** When a request arrived, by the time in its id, in milliseconds since 1970; undefined for other ids. */
export function timeOfId(id: string): number | undefined {
  const [, milliseconds] = /^[a-z]+_([0-9a-f]{12})7[0-9a-f]{19}$/.exec(id) ?? []
  return milliseconds === undefined ? undefined : Number.parseInt(milliseconds, 16)
}
