// Requests to an identity provider, over the program's own HTTP client: with a deadline, a limit on what is read, and no redirects.
// Its addresses are the operator's own configuration, and may be private. It must never log the content of a request.

import type { OpenOptions, Transport } from '../http-client/transport'
import { CancelToken } from '../lib/cancel-token'

/** Maximum time for an answer, in milliseconds. */
const TIMEOUT_MS = 5_000
const MAX_ANSWER_BYTES = 256 * 1024
/** The headers of answers that matter to a client of OpenID Connect. */
const READ_HEADERS = ['content-type', 'www-authenticate', 'location']

interface IssuerRequest {
  method?: string
  headers?: Readonly<Record<string, string>>
  body?: unknown
}

/** Thrown if an identity provider gave no readable answer. */
export class IssuerUnreachable extends Error {}

/** The function that sends requests. It rejects with IssuerUnreachable. */
export type IssuerFetch = (url: string, request?: IssuerRequest) => Promise<Response>

export function issuerFetch(transport: Transport, options: () => OpenOptions): IssuerFetch {
  return async (url, { method = 'GET', headers = {}, body } = {}) => {
    const { pathname, search } = new URL(url)
    const text = body === undefined || body === null ? null : String(body)
    const origin = transport.open(url, options())
    const cancel = new CancelToken()
    const timer = setTimeout(() => cancel.abort(new Error('no answer in time')), TIMEOUT_MS)
    try {
      const response = await origin.send({
        method: method === 'POST' ? 'POST' : 'GET',
        path: pathname + search,
        headers: {
          ...headers,
          ...(text !== null && { 'content-length': String(Buffer.byteLength(text)) }),
        },
        body: text,
        signal: cancel.signal,
      })
      const bytes = await response.body.bytes(MAX_ANSWER_BYTES)
      const read = READ_HEADERS.flatMap((name): [string, string][] => {
        const value = response.header(name)
        return value === null ? [] : [[name, value]]
      })
      const isEmpty = response.status === 204 || response.status === 304
      return new Response(isEmpty ? null : Buffer.from(bytes), { status: response.status, headers: read })
    } catch (error) {
      throw new IssuerUnreachable(`${new URL(url).origin} did not answer: ${reasonOf(error)}`)
    } finally {
      clearTimeout(timer)
      origin.close()
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
