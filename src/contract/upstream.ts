// What an upstream is: what a vendor is like, and what the line may ask of a connection to one.
// Types only: how a connection keeps its promises is said in upstreams/.

import type { HttpResponse } from '../http-client/response'
import type { Cancellation } from '../lib/cancel-token'
import type { GatewayError } from '../lib/errors'
import type { Call } from './family'

/** What a vendor is like, in one file each under upstreams/kinds/. */
export interface UpstreamKind {
  kind: string
  baseUrl: string
  /** The environment variable that people keep this vendor's key in. */
  secretVariable: string
  /** Where the protocols stand below the base URL. */
  prefix: { openai: string; native: string }
  headers(secret: string, protocol: Call['protocol']): Record<string, string>
  /** Hosts that its results lie on, beside its own: `files.example.com`, or `.example.com` with all below it. */
  fileHosts: readonly string[]
  /** Reads an error answer. Lenient: vendors have several shapes. */
  error(status: number, body: unknown): VendorError
}

/** What a vendor's error answer says. */
export interface VendorError {
  message: string
  code: string | null
  type: string | null
  param: string | null
  /** Operator: about the operator's account with the vendor, never to be shown as the caller's own 401 or 402. */
  whose: 'caller' | 'operator'
  /** How long the vendor asks to wait, where it says so in the body. */
  retryAfterSeconds?: number
  /** Its clients act on its words and its class of error: both reach the caller as they are, when the vendor fails too. */
  verbatim?: true
  /** The vendor's own body, for callers who know it; it stands beside the error. */
  relayed?: Record<string, unknown>
}

export interface Upstream {
  name: string
  onAbort: 'cancel' | 'drain'
  streamUsage: boolean
  /** Whether several customers use the account: none of them may then name what is kept in it. */
  sharedAccount: boolean
  timeoutMs: number
  idleTimeoutMs: number
  maxDurationMs: number
  pollsPerSecond: number
  taskDeadlineMs: number
  /**
   * Sends one call. Resolves with a 2xx answer whose body is still to be read; throws a GatewayError otherwise.
   * `done` must be called once the body has been read or given up: it frees the place of the request.
   * `account` is whose call it is: no connection goes from one account to another right behind an answer.
   */
  send(
    call: Call,
    body: CallBody,
    signal: Cancellation,
    account: string,
  ): Promise<{ response: HttpResponse; done(): void }>
  fetchFile: FetchFile
  /** The error of a vendor that answers 200 with an error in the body; a status that the body names wins. */
  errorOf(status: number, body: unknown): GatewayError
  /** Closes the connections that wait for a request. */
  close(): void
}

/** A call's body, ready to go: JSON, a form, or nothing. */
export type CallBody = string | EncodedForm | null

/**
 * Fetches a file of a vendor. The body is still to be read; throws a GatewayError where it is not to be had. `part` are the
 * headers that ask for a part of it: then the answer may also be that there is no such part (416).
 */
export type FetchFile = (
  url: string,
  signal: Cancellation,
  part?: Readonly<Record<string, string>>,
) => Promise<HttpResponse>

export interface EncodedForm {
  contentType: string
  /** Known before the first byte is sent: vendors want no body of unknown length. */
  byteLength: number
  /** A new stream of the same bytes each time, because a request may be tried again. */
  stream(): ReadableStream<Uint8Array>
}
