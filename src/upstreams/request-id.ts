// The id that a vendor gives its answer, by which its support can find it. For the operator only: callers have the gateway's id.

import type { HttpResponse } from '../http-client/response'

/** Headers with such an id, the most common first. */
const NAMES = [
  'x-request-id',
  'request-id',
  'x-amzn-requestid',
  'apim-request-id',
  'x-ms-request-id',
  'x-tt-logid',
]
const MAX_LENGTH = 128

/** The vendor's id of an answer; null if it has none that can be shown. */
export function requestIdOf(response: Pick<HttpResponse, 'header'>): string | null {
  for (const name of NAMES) {
    const id = response.header(name)
    if (id !== null) return id.length <= MAX_LENGTH && /^[!-~]+$/.test(id) ? id : null
  }
  return null
}
