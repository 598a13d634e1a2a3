// Refuses parameters of a query that its path does not know: a report would otherwise be of more than was asked for, unseen.

import { invalidRequest } from '../lib/errors'

const MOST_SHOWN = 64

/** Throws 400 for a parameter that is none of the names. */
export function assertKnownQuery(query: URLSearchParams, names: readonly string[]): void {
  for (const name of query.keys())
    if (!names.includes(name)) {
      const shown = name.slice(0, MOST_SHOWN)
      throw invalidRequest(shown, `Unknown parameter '${shown}'. Known here are: ${names.join(', ')}.`)
    }
}
