// The connection to servers. An implementation must never send a request twice or follow a redirect.

import type { CancelSignal } from '../lib/cancel-token'
import type { HttpResponse } from './response'

/** The network for outgoing requests: vendors, files of results and webhooks. */
export interface Transport {
  /** Opens an origin by the URL of any page on it; nothing is connected yet. */
  open(url: string, options?: OpenOptions): Origin
}

export interface OpenOptions {
  /**
   * The IP address to connect to, without a look-up of the host. The request still names the host, and the certificate
   * must be the host's.
   */
  address?: string
  /** URL of the proxy; null if none is used. Absent: that of the environment, if the transport has one. */
  proxy?: string | null
  tls?: TlsOptions
}

/** Certificates in PEM form. */
export interface TlsOptions {
  /** Authorities that vouch for the server, instead of the system's. */
  ca?: string
  /** The certificate with which the client authenticates, and its private key. */
  cert?: string
  key?: string
}

/** A server that receives requests. */
export interface Origin {
  /**
   * Sends a request. Resolves with the head of the answer, whatever its status; the body is still to be read or
   * cancelled. Rejects with the signal's reason, with NotConnected, or with the error that broke the connection after
   * the request was sent.
   */
  send(request: HttpRequest): Promise<HttpResponse>
  /** Closes waiting connections, and the others when their request has ended. */
  close(): void
}

export interface HttpRequest {
  /** HEAD is not supported, because its answer has the length of a body that is not sent. */
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The path with its query, as it is sent: `/v1/chat/completions`. */
  path: string
  /** Headers. Repeated headers should be the same object each time: it is written only once. */
  headers: Readonly<Record<string, string>>
  /** Text, or pieces whose sum is the `content-length`. */
  body: string | AsyncIterable<Uint8Array> | null
  signal: CancelSignal
  /**
   * Requests of different partitions, such as customers, share a connection only after it has rested.
   */
  partition?: string
  /** False leaves a compressed body unchanged. */
  decompress?: boolean
}

/**
 * Thrown if there is no connection, so that not a byte of the request was sent. `code` is the system's or OpenSSL's.
 */
export class NotConnected extends Error {
  readonly code: string

  constructor(message: string, code: string) {
    super(message)
    this.code = code
  }
}
