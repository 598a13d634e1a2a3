// The trace context of W3C (https://www.w3.org/TR/trace-context/): read from callers, written for vendors. Pure. A caller can
// determine only the ids of its own trace.

export interface TraceContext {
  /** 32 hex digits. */
  traceId: string
  /** The span of the request here, and that of its call to a vendor: 16 hex digits each. */
  spanId: string
  callSpanId: string
  /** The caller's span; null if the trace begins here. */
  parentId: string | null
  isSampled: boolean
  /** The caller's `tracestate`, which is passed on unchanged. */
  state: string | null
}

/** The headers in which a caller names the trace of its request. */
export interface CallerTrace {
  parent: string | null
  state: string | null
}

/** The trace that a request says it belongs to. */
export function callerTraceOf(headers: Headers): CallerTrace {
  return { parent: headers.get('traceparent'), state: headers.get('tracestate') }
}

const FORM = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-.*)?$/
const MAX_STATE_LENGTH = 512

/** Continues the caller's trace, or begins one. `hexId` makes random ids of a number of bytes. */
export function beginTrace(
  { parent, state }: CallerTrace,
  hexId: (bytes: number) => string,
  isChosen: () => boolean,
): TraceContext {
  const [, traceId, parentId, flags = ''] = FORM.exec(parent ?? '') ?? []
  const own = { spanId: hexId(8), callSpanId: hexId(8) }
  if (traceId === undefined || parentId === undefined) {
    return { ...own, traceId: hexId(16), parentId: null, isSampled: isChosen(), state: null }
  }
  const isSampled = (Number.parseInt(flags, 16) & 1) === 1
  const kept = state !== null && state.length <= MAX_STATE_LENGTH && /^[ -~]*$/.test(state) ? state : null
  return { ...own, traceId, parentId, isSampled, state: kept }
}

/** The headers of a call to a vendor. */
export function traceHeaders({
  traceId,
  callSpanId,
  isSampled,
  state,
}: TraceContext): Record<string, string> {
  const traceparent = `00-${traceId}-${callSpanId}-${isSampled ? '01' : '00'}`
  return state === null ? { traceparent } : { traceparent, tracestate: state }
}
