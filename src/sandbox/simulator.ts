// What a simulated vendor is: the types between the HTTP listener and the one file per vendor.
// Must never: hold behaviour, or name what a single vendor does.

import type { Directives } from './directives'

export type VendorName = 'openai' | 'dashscope' | 'google' | 'voyage' | 'xai' | 'anthropic' | 'ark' | 'cohere'

export type FormField = readonly [name: string, value: string | File]

/** One request as a vendor sees it: read completely, its path below the vendor's own host. */
export interface VendorRequest {
  method: string
  path: string
  query: URLSearchParams
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>
  text: string
  /** The parsed body; undefined when the text is not JSON. */
  json: unknown
  /** The fields and files of a multipart body; undefined for any other. */
  form: readonly FormField[] | undefined
  /** Where this vendor's own files lie: `http://…/files`. */
  filesUrl: string
  directives: Directives
}

export interface EventFrame {
  id?: string
  event?: string
  comment?: string
  data: string
  /** Written without the blank behind the colons. */
  tight?: true
}

/** A stream is a lazy list, so that a reply of any length costs the memory of one frame. */
export interface EventStream {
  frames: Iterable<EventFrame>
  /** Sent after the frames, unless a directive drops it. */
  last?: EventFrame
  /** How this vendor reports an error after the reply has begun. */
  failure: EventFrame
}

export type ReplyBody =
  | { kind: 'json'; value: unknown }
  | { kind: 'text'; text: string; contentType: string }
  | { kind: 'bytes'; bytes: Uint8Array; contentType: string }
  | { kind: 'events'; stream: EventStream }

/** A reply as a value; delivery.ts turns it into bytes and applies the faults of transport. */
export interface Reply {
  status: number
  headers: Record<string, string>
  body: ReplyBody
}

/** A failure that a directive asked for, to be put into the vendor's own words. */
export interface Failure {
  status: number
  retryAfterSeconds: number | undefined
  text: string | undefined
  code: string | undefined
}

export interface Simulator {
  /** The only API key it accepts. */
  secret: string
  /** What a configured base URL has behind the vendor's host. */
  basePath: string
  /** The vendor's refusal of a missing or wrong key; undefined lets the request in. */
  refuse(request: VendorRequest): Reply | undefined
  /** An error of any status in the vendor's own shape. */
  fail(request: VendorRequest, failure: Failure): Reply
  /** The vendor's complaint about the operator's account: no credit, no payment, arrears. */
  outOfQuota(request: VendorRequest): Reply
  /** A promise where it looks into files that were sent. */
  answer(request: VendorRequest): Reply | Promise<Reply>
  /** A result below `filesUrl`, which everybody may fetch who knows its path; undefined when there is none. */
  file?(path: string, query: URLSearchParams): { bytes: Uint8Array; contentType: string } | undefined
}
