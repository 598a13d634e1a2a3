// Reads how many rows of a list a query asks for.

import { invalidRequest } from '../lib/errors'

/** The `limit` of a query, at most `most`; `usual` for a query without one. Throws 400 for what is no such number. */
export function limitOfQuery(
  query: URLSearchParams,
  { usual, most }: { usual: number; most: number },
): number {
  const limit = Number(query.get('limit') ?? usual)
  if (Number.isInteger(limit) && limit >= 1 && limit <= most) return limit
  throw invalidRequest('limit', `Invalid 'limit': expected a whole number from 1 to ${most}.`)
}
