// The way to servers: one interface, behind which stand this program's own connections or Bun's fetch. An implementation
// must never send a request twice or follow a redirect.

import type { Cancellation } from '../lib/cancel-token'
import type { HttpResponse } from './response'

/** All that the program knows of the network when it is the client: vendors, files of results and webhooks. */
export interface Transport {
  /** Opens an origin by the address of any page on it; nothing is connected yet. */
  open(url: string, options?: OpenOptions): Origin
}

export interface OpenOptions {
  /**
   * The IP address to connect to, without a look-up of the host. The host is still what the request names, and what the
   * certificate must be of.
   */
  address?: string
}

/** A server that requests are sent to. */
export interface Origin {
  /**
   * Resolves with the head of the answer, whatever its status; the body is still to be read or cancelled. Rejects with
   * the signal's reason, with NotConnected, or with what broke the connection after the request was sent.
   */
  send(request: HttpRequest): Promise<HttpResponse>
  /** Closes the connections that wait for a request, and the others when theirs has ended. */
  close(): void
}

export interface HttpRequest {
  /** Not HEAD: the length in its answer is that of a body which does not come. */
  method: 'GET' | 'POST' | 'DELETE'
  /** With its query, as it is sent: `/v1/chat/completions`. */
  path: string
  /** One that is given again and again is best the same object each time: it is written down only once. */
  headers: Readonly<Record<string, string>>
  /** Text, or pieces whose sum `content-length` tells. */
  body: string | AsyncIterable<Uint8Array> | null
  signal: Cancellation
  /** Requests of different partitions, such as customers, get a connection after one another only when it has rested. */
  partition?: string
  /** False: a body that the server has compressed stays as it came. */
  decompress?: boolean
}

/** There is no connection, so not a byte of the request was sent. `code` is the system's or OpenSSL's. */
export class NotConnected extends Error {
  readonly code: string

  constructor(message: string, code: string) {
    super(message)
    this.code = code
  }
}
