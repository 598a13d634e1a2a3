// Conditions of request lists in the form of a query: each parameter may have several values, separated by commas, one of which
// must match. It serves operators and holders of keys alike.

import { type Static, Type } from '@sinclair/typebox'
import { invalidRequest } from '../lib/errors'
import { parseUsd } from '../lib/money'
import { PARTIES } from './failure'
import { isStatusWord, type RequestFilter } from './filter'

const MAX_VALUES = 50

const several = (description: string) =>
  Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: `${description} Several are separated by commas.`,
    }),
  )

/** Filters of the holder of a key. */
export const ownFilterQuery = {
  status: several(
    'A status such as `429`, a class such as `5xx`, or `failed`: those from 400 on, and streams that broke after 200.',
  ),
  model: several('Only those answered by this model, or requested by this name of an alias or a route.'),
  operation: several('Only this operation, such as `chat`.'),
  spender: several('Only those of this token or named spender, by name or id.'),
  error: several('Only those that ended with this error code, such as `budget_exceeded`.'),
  failed_by: several(
    'Only failures of the `caller`, the `gateway` or the `vendor`: the party that can fix them.',
  ),
  text: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 200,
      description: 'Only those with these words in the id, a name of a model, the error or its message.',
    }),
  ),
  slower_ms: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 86_400_000, description: 'Only those that took longer.' }),
  ),
  above_usd: Type.Optional(
    Type.String({
      maxLength: 32,
      description: 'Only those that cost more when they ended, in dollars: `0.01`. Tasks are paid later.',
    }),
  ),
}
const ownFilter = Type.Object(ownFilterQuery)
export type OwnFilterQuery = {
  [Name in keyof Static<typeof ownFilter>]?: Static<typeof ownFilter>[Name] | undefined
}

/** The values of a query parameter; undefined if it is absent. */
export function choicesOfQuery(text: string | undefined, field: string): string[] | undefined {
  const values = (text ?? '').split(',').map((value) => value.trim())
  const found = [...new Set(values.filter((value) => value !== ''))]
  if (found.length > MAX_VALUES)
    throw invalidRequest(field, `Invalid '${field}': expected at most ${MAX_VALUES} values.`)
  return found.length > 0 ? found : undefined
}

/** The filter of a query. Throws 400 if it is invalid. */
export function filterOfQuery(query: OwnFilterQuery): RequestFilter {
  const { slower_ms: slowerMs, above_usd: aboveUsd, text } = query
  const aboveNano = aboveUsd === undefined ? undefined : parseUsd(aboveUsd)
  if (aboveUsd !== undefined && aboveNano === undefined)
    throw invalidRequest('above_usd', "Invalid 'above_usd': expected dollars, such as 0.01.")
  const status = choicesOfQuery(query.status, 'status')
  if (status?.some((word) => !isStatusWord(word)))
    throw invalidRequest(
      'status',
      "Invalid 'status': expected a status such as 429, a class such as 5xx, or failed.",
    )
  const failedBy = choicesOfQuery(query.failed_by, 'failed_by')
  if (failedBy?.some((word) => !PARTIES.some((party) => party === word)))
    throw invalidRequest('failed_by', `Invalid 'failed_by': expected ${PARTIES.join(', ')}.`)
  return defined({
    status,
    failedBy,
    model: choicesOfQuery(query.model, 'model'),
    operation: choicesOfQuery(query.operation, 'operation'),
    error: choicesOfQuery(query.error, 'error'),
    text,
    slowerMs,
    aboveNano,
  })
}

/** A filter without undefined members. */
export function defined(
  filter: { [Name in keyof RequestFilter]: RequestFilter[Name] | undefined },
): RequestFilter {
  return Object.fromEntries(
    Object.entries(filter).filter(([, value]) => value !== undefined),
  ) as RequestFilter
}

const count = Type.Integer()
const text = Type.String()
const maybeCount = Type.Union([count, Type.Null()])

/** Sums of requests, as JSON. */
export const summarySchema = Type.Object({
  requests: count,
  failed: Type.Integer({ description: 'Those from 400 on, and streams that broke after 200.' }),
  failed_by: Type.Object({ caller: count, gateway: count, vendor: count }),
  amount_usd: Type.String({
    description: 'What was paid, by the log: rows can be lost, and usage is exact.',
  }),
  input_tokens: count,
  output_tokens: count,
  first_byte_p50_ms: maybeCount,
  first_byte_p99_ms: maybeCount,
  duration_p50_ms: maybeCount,
  duration_p99_ms: maybeCount,
  span_ms: Type.Integer({ description: 'Length of a span of `spans`, in milliseconds.' }),
  spans: Type.Array(Type.Object({ since: text, requests: count, failed: count, amount_usd: text })),
  facets: Type.Record(text, Type.Array(Type.Object({ value: text, requests: count, failed: count })), {
    description: 'The most frequent values by the name of the query, each under all other conditions.',
  }),
  looked: Type.Integer({ description: 'Rows that were read.' }),
  covered_since: Type.Union([text, Type.Null()], {
    description: 'Where not all rows of the period were read: the time from which on they were. Else null.',
  }),
})
