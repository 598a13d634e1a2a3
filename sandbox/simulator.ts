// The types of a simulated vendor, between the HTTP listener and one file for each vendor. It must never contain behaviour, or name
// a rule of a single vendor.

import type { Directives } from './directives'
import type { JsonObject } from './json'

export type FormField = readonly [name: string, value: string | File]

/** One request as a vendor sees it: read completely, its path below the vendor's own host. */
export interface VendorRequest {
  method: string
  path: string
  query: URLSearchParams
  /** Headers by lower-case name. */
  headers: Readonly<Record<string, string>>
  text: string
  /** The parsed body; undefined if the text is not JSON. */
  json: unknown
  /** The fields and files of a multipart body; undefined for any other. */
  form: readonly FormField[] | undefined
  /** Base of this vendor's own files: `http://…/files`. */
  filesUrl: string
  /** The vendor's time, in milliseconds since 1970. */
  now: number
  directives: Directives
}

export interface EventFrame {
  id?: string
  event?: string
  comment?: string
  data: string
  /** True if there is no space after the colons. */
  tight?: true
}

/** A stream is a lazy list, so that a reply of any length takes the memory of one frame. */
export interface EventStream {
  frames: Iterable<EventFrame>
  /** Sent after the frames, unless a directive drops it. */
  last?: EventFrame
  /** The error event of this vendor after the reply has begun, or several that it sends for one error. */
  failure: EventFrame | readonly EventFrame[]
  /** How events are sent, if not as server-sent events. */
  framing?: { contentType: string; encode(frame: EventFrame): Uint8Array }
}

export type ReplyBody =
  | { kind: 'json'; value: unknown }
  | { kind: 'text'; text: string; contentType: string }
  | { kind: 'bytes'; bytes: Uint8Array; contentType: string }
  | { kind: 'events'; stream: EventStream }

/** A reply as a value; delivery.ts sends it as bytes and applies transport faults. */
export interface Reply {
  status: number
  headers: Record<string, string>
  body: ReplyBody
}

/** A failure that a directive requests; the vendor writes its text. */
export interface Failure {
  status: number
  retryAfterSeconds: number | undefined
  text: string | undefined
  code: string | undefined
}

/** A model by a part of the path; a function chooses by the body. */
export type StandIn = readonly [path: string, model: string | ((body: JsonObject) => string)]

export interface Simulator {
  /** The only API key that is accepted; a function of the vendor's URL for a key that contains it. */
  secret: string | ((address: string) => string)
  /** The path of the base URL, after the vendor's host. */
  basePath: string
  /** The models that answer for unknown ones, if any model is accepted: the first matching row. */
  standIns: readonly StandIn[]
  /** The model that the path of a submit names; undefined for any other path. Absent: the body or a part of the path names it. */
  modelOf?(request: Pick<VendorRequest, 'method' | 'path'>): string | undefined
  /** Whether it simulates this model, by the vendor's own name for it. */
  knows(model: string): boolean
  /** The vendor's refusal of a missing or wrong key; undefined lets the request in. */
  refuse(request: VendorRequest): Reply | undefined
  /** An error of any status in the vendor's own form. */
  fail(request: VendorRequest, failure: Failure): Reply
  /** The vendor's error about the operator's account: no credit, no payment, unpaid bills. */
  outOfQuota(request: VendorRequest): Reply
  /** The reply; a promise if files of the request must be read. */
  answer(request: VendorRequest): Reply | Promise<Reply>
  /** A result below `filesUrl`, open to everybody who knows its path; undefined if there is none. */
  file?(path: string, query: URLSearchParams): { bytes: Uint8Array; contentType: string } | undefined
}
