// Reads the JSON forms of vendors' errors. It must never throw: every body yields a message.

/** The known facts of an error; members that a vendor does not give are null. */
export interface ErrorShape {
  message: string
  code: string | null
  type: string | null
  param: string | null
}

const MAX_MESSAGE_LENGTH = 2000
/** Pages of HTML or XML. Their text does not help callers and reveals what runs behind the vendor. */
const PAGE = /<(?:!doctype|\?xml|html|head|body|title|script|style|center|h[1-6]|div|error)\b/i
/** The message for a body that contains none. */
export const NO_REASON = 'The upstream gave no reason.'

/**
 * Failures that Z.ai reports as a finish reason, with the status for its caller. The reference of its API (docs.bigmodel.cn, the
 * result of an asynchronous completion, 2026-11-24) describes `sensitive` as content that the safety review has intercepted, and
 * `network_error` as a model that failed.
 */
const FAILED_REASONS: ReadonlyMap<unknown, { status: number; code: string; message: string }> = new Map([
  [
    'network_error',
    { status: 502, code: 'network_error', message: 'The model failed while it made the answer.' },
  ],
  [
    'sensitive',
    {
      status: 400,
      code: 'content_policy_violation',
      message: "The answer was blocked by the upstream's safety review. Change the request.",
    },
  ],
])

/**
 * Finish reasons of Gemini candidates that are failures of the model, such as a call that nobody can make
 * (NousResearch/hermes-agent#83882, 2026-08-11): https://ai.google.dev/api/generate-content#FinishReason.
 */
const FAILED_CANDIDATES: ReadonlySet<unknown> = new Set([
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
])

export function isFailedCandidate({ finishReason }: Readonly<Record<string, unknown>>): boolean {
  return FAILED_CANDIDATES.has(finishReason)
}

/** The failure in a completion's finish reason; undefined if the reason is not a failure. */
export function failureByReason(choices: unknown) {
  if (!Array.isArray(choices)) return undefined
  for (const choice of choices) {
    const failure = FAILED_REASONS.get(asObject(choice).finish_reason)
    if (failure) return failure
  }
  return undefined
}

/**
 * Reads `{error:{…}}`, also inside a `response`, `{error:'text'}`, `{code,message}`, `{detail}`, `{detail:{status,message}}`, any
 * of them in an array, plain text, and a completion that ended with a failure.
 */
export function readErrorShape(body: unknown): ErrorShape {
  if (Array.isArray(body)) return readErrorShape(body[0])
  if (typeof body === 'string') return shape({ message: body })
  const outer = asObject(body)
  const inner = outer.error
  if (typeof inner === 'string') return shape({ ...outer, message: inner })
  if (inner && typeof inner === 'object') return shape(asObject(inner))
  const within = asObject(outer.response).error
  if (within && typeof within === 'object') return shape(asObject(within))
  if (Array.isArray(outer.detail)) return shape({ message: outer.detail.map(detailOf).join('; ') })
  if (typeof outer.detail === 'string') return shape({ message: outer.detail })
  // ElevenLabs: help.elevenlabs.io/hc/en-us/articles/19572237925521 has both members, and the types of its SDK have more.
  const detail = asObject(outer.detail)
  if (textOf(detail.message)) return shape({ ...detail, code: detail.code ?? detail.status })
  const failure = failureByReason(outer.choices)
  if (failure) return shape({ code: failure.code, message: failure.message })
  const candidate = failedCandidateIn(outer)
  return shape(candidate ? candidateFailure(candidate) : outer)
}

function failedCandidateIn({ candidates }: Record<string, unknown>): Record<string, unknown> | undefined {
  return (Array.isArray(candidates) ? candidates.map(asObject) : []).find(isFailedCandidate)
}

/** The failure of a candidate: Google says in its message which call it was. */
function candidateFailure({ finishReason, finishMessage }: Record<string, unknown>): Record<string, unknown> {
  const message = textOf(finishMessage) || 'The model failed while it made the answer. A retry can help.'
  return { code: finishReason, message }
}

/** Whether a body reports an error, in any known form. */
export function isErrorShape(body: unknown): boolean {
  const { message, code } = readErrorShape(body)
  return message !== NO_REASON || code !== null
}

/**
 * Whether an event without a type reports an error, in a stream whose events have types. Events of unknown types pass, but an event
 * without a type does not belong to such a stream: it reports a failure of the vendor.
 */
export function isUntypedError(event: unknown): boolean {
  return typeof asObject(event).type !== 'string' && isErrorShape(event)
}

/** The HTTP status named in a body, for an error that came with status 200. */
export function statedStatus(body: unknown): number | undefined {
  const outer = asObject(Array.isArray(body) ? body[0] : body)
  const places = [asObject(outer.error), asObject(asObject(outer.response).error), outer]
  for (const { code, status, status_code: stated } of places) {
    const found = [code, status, stated].map(numberOf).find((number) => number >= 400 && number <= 599)
    if (Number.isInteger(found)) return found
  }
  const failure = failureByReason(outer.choices)
  if (failure) return failure.status
  if (failedCandidateIn(outer)) return 502
  const { code, type } = readErrorShape(body)
  return statusByWord.get(code ?? '') ?? statusByWord.get(type ?? '')
}

/** The status for a vendor's word for a failure that is not the caller's. */
const statusByWord: ReadonlyMap<string, number> = new Map([
  ['server_error', 500],
  ['rate_limit_exceeded', 429],
  ['server_is_overloaded', 503],
  ['overloaded_error', 503],
])

/** Detail lists as Python validation libraries write them, as text: `body.loc.0: message`. */
function detailOf(detail: unknown): string {
  const { loc, msg } = asObject(detail)
  return `${Array.isArray(loc) ? `${loc.filter(isPlain).join('.')}: ` : ''}${typeof msg === 'string' ? msg : JSON.stringify(detail)}`
}

function isPlain(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

function shape(fields: Record<string, unknown>): ErrorShape {
  const text = textOf(fields.message)
  const message = text === undefined || PAGE.test(text) ? undefined : text.slice(0, MAX_MESSAGE_LENGTH)
  return {
    message: message || NO_REASON,
    code: textOf(fields.code) ?? null,
    type: textOf(fields.type) ?? null,
    param: textOf(fields.param) ?? null,
  }
}

function asObject(value: unknown): Record<string, unknown> {
  return value && typeof value === 'object' ? (value as Record<string, unknown>) : {}
}

/** A number, possibly as text. An object may have members that make any conversion fail. */
function numberOf(value: unknown): number {
  return isPlain(value) ? Number(value) : Number.NaN
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
