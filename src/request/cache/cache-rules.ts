// Decides what the response cache may store, and under which name: the request as the vendor gets it, for one account. A difference
// that could change the answer must be in the name, so the name covers everything. Pure.

import type { SavedAnswer } from '../../billing/ledger/idempotency'
import type { Measure, Outcome } from '../../billing/ledger/metering'
import type { Call } from '../../contract/family'
import { callUnits, type Quantities } from '../../contract/units'
import { asObject } from '../../lib/objects'
import type { CheckedRequest } from '../check'
import type { Reservation } from '../reservation'
import { textBodyOf } from '../upstream-call'

/** Why a request bypasses the cache. */
export type Bypass =
  /** The caller asks for it: `cache-control: no-store`. */
  | 'no-store'
  /** The answer is stored under its own id. */
  | 'kept'
  /** The vendor does more than answer: it searches, or runs code. */
  | 'tools'
  /** The request has files. */
  | 'form'
  /** The request is answered later, as a task. */
  | 'deferred'

/** The caller's options in `cache-control` (RFC 9111, 5.2.1). */
export interface CacheControl {
  /** The answer is neither read from the cache nor stored. */
  isNotStored: boolean
  /** Maximum age of an answer in milliseconds; 0: it must be new. */
  maxAgeMs: number
}

const DIRECTIVE = /^(?:(no-store)|(no-cache)|max-age="?(\d{1,9})"?)$/i

export function cacheControlOf(header: string | null | undefined): CacheControl {
  const control = { isNotStored: false, maxAgeMs: Number.POSITIVE_INFINITY }
  for (const directive of header?.split(',') ?? []) {
    const [found, noStore, noCache, seconds] = DIRECTIVE.exec(directive.trim()) ?? []
    if (found === undefined) continue
    if (noStore) control.isNotStored = true
    else control.maxAgeMs = Math.min(control.maxAgeMs, noCache ? 0 : Number(seconds) * 1_000)
  }
  return control
}

/** Whether the sent bytes are recorded: for a repeat with the same Idempotency-Key, or for the cache. */
export function isSaved({ request: { cacheUse }, idempotencyKey }: Reservation): boolean {
  return idempotencyKey !== null || cacheUse?.id !== undefined
}

/** The version of the stored form: answers in an earlier form are never read. */
const VERSION = 1

/**
 * The name of a request in the cache, or why it has none. The name covers each call as it is sent, and the caller's own text, which
 * also determines the answer.
 */
export function cacheIdOf(request: CheckedRequest): { id: string } | { bypass: Bypass } {
  const { key, model, family, operation, parsed, source, fingerprint, toKeep, background } = request
  if (request.deferral) return { bypass: 'deferred' }
  if (toKeep || background || parsed.answer?.compacted) return { bypass: 'kept' }
  if (!source || family.kind === 'task') return { bypass: 'form' }
  if (isWork(request)) return { bypass: 'tools' }
  const hash = new Bun.CryptoHasher('sha256')
  hash.update(JSON.stringify([VERSION, key.account, model.id, operation.name, family.name]))
  const calls: Call[] = [family.call(parsed, model)].flat()
  for (const call of calls) {
    const adapted = model.upstream.adapt(call, model.upstreamModel)
    const body = textBodyOf(request, adapted)
    if (body === undefined) return { bypass: 'form' }
    const { method, path, protocol, headers } = adapted
    // A length before each text, so that two different lists never give the same bytes.
    hash.update(`\n${JSON.stringify([method, path, protocol, headers])}\n${body?.length ?? 0}\n`)
    if (body !== null) hash.update(body)
  }
  hash.update('\n').update(fingerprint)
  return { id: hash.digest('hex') }
}

/** Fields that make some vendors search, or run something, without a tool. */
const WORK_FIELDS = [
  'web_search_options',
  'search_parameters',
  'enable_search',
  'plugins',
  'mcp_servers',
  'container',
]

/** Whether the vendor itself does something for the answer: its result may differ the next time. */
function isWork({ parsed, model, family }: CheckedRequest): boolean {
  const body = asObject(parsed.body)
  if (WORK_FIELDS.some((field) => body[field] !== undefined && body[field] !== null && body[field] !== false))
    return true
  const quote: Quantities = family.quote(parsed, model)
  if (callUnits.some((unit) => (quote[unit] ?? 0) > 0)) return true
  return Array.isArray(body.tools) && !body.tools.every(isRunByCaller)
}

const CALLERS_TYPES: ReadonlySet<unknown> = new Set([undefined, null, 'function', 'custom'])

/** Whether a tool is a function of the caller, in any dialect: the tools of vendors have their own type or member. */
function isRunByCaller(tool: unknown): boolean {
  const fields = asObject(tool)
  if (!CALLERS_TYPES.has(fields.type)) return false
  const { functionDeclarations, function_declarations: declared, ...others } = fields
  return (functionDeclarations ?? declared) === undefined
    ? fields.name !== undefined || fields.function !== undefined
    : Object.keys(others).length === 0
}

/** Maximum size of a cached answer, in bytes. */
const MAX_BYTES = 4 * 1024 * 1024

/**
 * Words with which answers of all dialects say that the vendor withheld something. They are members of JSON: the text of a model
 * has backslashes before its quotes.
 */
const WITHHELD =
  /"(finish_reason|stop_reason|reason)"\s*:\s*"(content_filter|refusal)"|"(finishReason|blockReason)"\s*:\s*"(?!STOP|MAX_TOKENS|FINISH_REASON_UNSPECIFIED)|"refusal"\s*:\s*"[^"]|"type"\s*:\s*"refusal"|"filtered"\s*:\s*true/

/** Whether an answer with results contains a URL at which they can be read only for a while. */
export function holdsAddress(body: string): boolean {
  return /"https?:\/\//.test(body)
}

/** Whether an answer may be repeated: it is complete, not empty, nothing was withheld, and it fits. */
export function isCacheable(
  { endedBy, failed, output, calls, isPart, usage }: Outcome,
  { status, body }: SavedAnswer,
  measured: Measure | undefined,
): boolean {
  if (!measured || endedBy !== 'done' || failed || isPart || status !== 200) return false
  if (output !== 'shown' || usage === 'invalid') return false
  const counted = calls ?? {}
  if (callUnits.some((unit) => (counted[unit] ?? measured.quantities[unit] ?? 0) > 0)) return false
  if (typeof body !== 'string') return body.length > 0 && body.length <= (MAX_BYTES / 4) * 3
  return body !== '' && Buffer.byteLength(body) <= MAX_BYTES && !WITHHELD.test(body)
}
