// Reads the forms in which vendors put an error into JSON. It must never throw: every body yields a message.

interface ErrorShape {
  message: string
  code: string | null
  type: string | null
  param: string | null
}

const MAX_MESSAGE_LENGTH = 2000
/** Pages of HTML or XML. Their text does not help callers and reveals what runs behind the vendor. */
const PAGE = /<(?:!doctype|\?xml|html|head|body|title|script|style|center|h[1-6]|div|error)\b/i
/** The message for a body that has none. */
export const NO_REASON = 'The upstream gave no reason.'

/**
 * Reads `{error:{…}}`, also within a `response`, `{error:'text'}`, `{code,message}`, `{detail}`, any of them in an
 * array, and plain text.
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
  return shape(outer)
}

/** Whether a body reports an error, in any of the known forms. */
export function isErrorShape(body: unknown): boolean {
  const { message, code } = readErrorShape(body)
  return message !== NO_REASON || code !== null
}

/**
 * Whether an event reports an error and names no type, in a stream whose events name theirs. Those of unknown types pass,
 * but an event without a type is not of such a stream: it is what the vendor says of a failure.
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
  const { code, type } = readErrorShape(body)
  return statusByWord.get(code ?? '') ?? statusByWord.get(type ?? '')
}

/** The status that belongs to a vendor's word for a failure which is not the caller's. */
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

/** A number, also as text. An object may have members that no conversion survives. */
function numberOf(value: unknown): number {
  return isPlain(value) ? Number(value) : Number.NaN
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
