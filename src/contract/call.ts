// A request to a vendor as a value. Nothing here must know a vendor or HTTP.

import type { Edit } from '../lib/json/json'
import type { FormPart } from './upload'

/** A request to a vendor as a value. Path is relative to the vendor's base URL for that protocol. */
export interface Call {
  /** POST by default. */
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  path: string
  /**
   * The API to call. Many vendors offer an OpenAI-compatible one in addition to their native one, under another prefix and with different
   * authentication.
   */
  protocol: 'openai' | 'native'
  /** An edit of the caller's own text, a new JSON value, the parts of a form in order, or nothing. */
  body: { edit: Edit } | { json: unknown } | { form: readonly FormPart[] } | null
  /** Headers in addition to those of the connection. */
  headers?: Readonly<Record<string, string>>
  /** True if the answer should arrive as server-sent events. */
  stream: boolean
}

type Further = Pick<Call, 'method' | 'headers'>

/** A call of a vendor's own API that is answered whole. */
export function nativeCall(path: string, body: Call['body'], further?: Further): Call {
  return { path, protocol: 'native', body, stream: false, ...further }
}

/** A call of a vendor's OpenAI-compatible API that is answered whole. */
export function compatibleCall(path: string, body: Call['body'], further?: Further): Call {
  return { path, protocol: 'openai', body, stream: false, ...further }
}
