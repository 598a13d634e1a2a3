// Why a request failed, for its row in the log: the error's words without keys, the field, and who refused it. It must never be
// read before a request has failed: requests that succeed do no work for it.

import { GatewayError } from '../lib/errors'
import { redacted, redactionRules } from './redaction'
import type { RequestLogRow } from './row'

/** Who ended a failed request: the caller by leaving, the gateway by a check or fault of its own, or the vendor. */
export const REFUSERS = ['caller', 'gateway', 'vendor'] as const
export type Refuser = (typeof REFUSERS)[number]

/** Longest message that is kept, in characters. */
const LONGEST_MESSAGE = 500
const RULES = redactionRules([], LONGEST_MESSAGE)
/** Faults of vendors that come without a status. */
const VENDOR_FAULTS: ReadonlySet<string> = new Set([
  'upstream_cut',
  'upstream_empty',
  'upstream_error',
  'upstream_file_refused',
  'upstream_file_unavailable',
  'upstream_garbage',
  'upstream_timeout',
  'upstream_unreachable',
])

/** Who refused a request that failed with this error. */
export function refuserOf(error: unknown): Refuser {
  if (!(error instanceof GatewayError)) return 'gateway'
  if (error.code === 'caller_left') return 'caller'
  if (error.isDrill) return 'gateway'
  const { vendorStatus, operatorRefusal, code } = error
  return vendorStatus !== null || operatorRefusal !== null || VENDOR_FAULTS.has(code) ? 'vendor' : 'gateway'
}

/** Who caused a logged request to fail: a refusal by the gateway that the caller can fix is the caller's. */
export function refuserOfRow({ refusedBy, status }: Pick<RequestLogRow, 'refusedBy' | 'status'>): Refuser {
  if (refusedBy === null || refusedBy === 'gateway')
    return status >= 400 && status < 500 ? 'caller' : 'gateway'
  return refusedBy
}

/** Notes why a request failed. `code` replaces that of the error. */
export function noteFailure(logRow: RequestLogRow, error: unknown, code?: string): void {
  const known = error instanceof GatewayError ? error : undefined
  logRow.errorCode = code ?? known?.code ?? 'internal_error'
  logRow.errorMessage = messageOf(error)
  logRow.errorParam = (known?.param ?? known?.refusedField)?.slice(0, LONGEST_MESSAGE) || null
  logRow.refusedBy = refuserOf(error)
  logRow.vendorStatus = known?.vendorStatus ?? null
}

/** The words of an error for operators: those of the vendor that refuses its operator, or the error's own with their cause. */
function messageOf(error: unknown): string {
  return redacted(wordsOf(error), RULES).slice(0, LONGEST_MESSAGE)
}

function wordsOf(error: unknown): string {
  if (!(error instanceof GatewayError)) return String(error)
  const { operatorRefusal, message, cause } = error
  return operatorRefusal?.message ?? (cause === undefined ? message : `${message} (${String(cause)})`)
}
