// Why a request failed, for its row in the log: the error message without keys, the field, and who caused it. It must never be
// read before a request has failed: successful requests do no work for it.

import { GatewayError } from '../lib/errors'
import { redacted, redactionRules } from './redaction'
import type { RequestLogRow } from './row'

/**
 * Parties at fault for a failed request: whoever can fix it. The caller disconnected, or was refused for a field, a key, money or a
 * limit. The gateway had an internal error, or only its operator can fix it. The vendor refused or failed.
 */
export const PARTIES = ['caller', 'gateway', 'vendor'] as const
export type Party = (typeof PARTIES)[number]

/** Maximum length of a stored message, in characters. */
const MAX_MESSAGE_LENGTH = 500
const RULES = redactionRules([], MAX_MESSAGE_LENGTH)
/** Faults of vendors without a status. */
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

/** The party at fault for a request that failed with this error: the one rule for all rows, counts and filters. */
export function failedByOf(error: unknown): Party {
  if (!(error instanceof GatewayError) || error.isOperators) return 'gateway'
  const { vendorStatus, operatorRefusal, code, status } = error
  if (vendorStatus !== null || operatorRefusal !== null || VENDOR_FAULTS.has(code)) return 'vendor'
  return status < 500 ? 'caller' : 'gateway'
}

/** Records why a request failed. `code` replaces that of the error. */
export function noteFailure(logRow: RequestLogRow, error: unknown, code?: string): void {
  const known = error instanceof GatewayError ? error : undefined
  logRow.errorCode = code ?? known?.code ?? 'internal_error'
  logRow.errorMessage = messageOf(error)
  logRow.errorParam = (known?.param ?? known?.refusedField)?.slice(0, MAX_MESSAGE_LENGTH) || null
  logRow.failedBy = failedByOf(error)
  logRow.vendorStatus = known?.vendorStatus ?? null
}

/** The message of an error for operators: the vendor's if it refuses the operator, otherwise the error's own with its cause. */
function messageOf(error: unknown): string {
  return redacted(wordsOf(error), RULES).slice(0, MAX_MESSAGE_LENGTH)
}

function wordsOf(error: unknown): string {
  if (!(error instanceof GatewayError)) return String(error)
  const { operatorRefusal, message, cause } = error
  return operatorRefusal?.message ?? (cause === undefined ? message : `${message} (${String(cause)})`)
}
