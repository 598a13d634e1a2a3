// One sentence about a failed request: what happened, who must act, and whether a repeat can help. Made only from its row in the
// log, so that no body is needed.

import { type ErrorCode, errorCodes } from '../lib/error-codes'
import { canRepeatHelp } from '../lib/errors'
import type { Party } from './failure'
import type { LoggedColumns } from './row'

export type FailedRow = Pick<
  LoggedColumns,
  'status' | 'error_code' | 'failed_by' | 'vendor_status' | 'upstream' | 'model' | 'sent_ms'
>

/** Vendors' refusals of the operator, and faults in the configuration of the upstream. */
const OPERATORS: ReadonlySet<string> = new Set([
  'upstream_unavailable',
  'upstream_model_missing',
  'upstream_redirect',
  'upstream_file_refused',
])
/** Temporary faults of the gateway. */
const PASSING: ReadonlySet<string> = new Set(['shutting_down', 'hold_expired', 'upstream_unavailable'])

/** The sentence; null for a request that did not fail, and for a row of an older gateway, which does not say who caused it. */
export function explanationOf(row: FailedRow): string | null {
  if (row.failed_by === null || row.error_code === null) return null
  const party = row.failed_by as Party
  if (row.error_code === 'caller_left')
    return 'The caller disconnected before the answer: nothing needs to be done, and the caller may retry the request.'
  return `${eventOf(row, party)}: ${actorOf(row, party)}, and ${repeatOf(row)}.`
}

function eventOf(row: FailedRow, party: Party): string {
  const { status, error_code: code, upstream, vendor_status: vendorStatus, sent_ms: sentMs } = row
  const hasBegun = Number(status) < 400
  if (party !== 'vendor') {
    if (hasBegun) return `The gateway stopped the answer early (${code})`
    const when = sentMs === null ? 'before anything was sent to a vendor' : 'after a vendor was called'
    return `The gateway refused the request with ${status} (${code}) ${when}`
  }
  const name = `The vendor of ${upstream ?? 'the upstream'}`
  if (hasBegun) return `${name} stopped the answer early (${code})`
  if (vendorStatus === null) return `${name} gave no usable answer (${code})`
  const asShown = vendorStatus === status ? '' : `, shown to the caller as ${status}`
  return `${name} refused the request with ${vendorStatus}${asShown} (${code})`
}

/** Who must act so that such a request succeeds. */
function actorOf({ status: shown, error_code: code }: FailedRow, party: Party): string {
  const status = Number(shown)
  if (party === 'vendor') {
    if (OPERATORS.has(String(code))) return 'the operator of the gateway must act'
    if (status === 429) return 'the caller must wait, or the operator must raise the limit at the vendor'
    return status >= 400 && status < 500 ? 'the caller must change the request' : 'the vendor must act'
  }
  if (status === 429 || code === 'in_flight') return 'the caller must wait'
  if (status === 402) return 'the owner of the account must add money or ask for less'
  if (party === 'gateway' && status < 500) return 'the operator of the gateway must act'
  if (status === 401 || status === 403) return 'the owner of the key must act'
  if (status >= 400 && status < 500) return 'the caller must change the request'
  return PASSING.has(String(code)) ? 'nobody has to act' : 'the operator of the gateway must act'
}

function repeatOf({ status, error_code: code, failed_by: party }: FailedRow): string {
  const facts = Object.hasOwn(errorCodes, String(code)) ? errorCodes[code as ErrorCode] : undefined
  // An answer that stopped early began with 200: its error code has the status.
  const own = Number(status) < 400 ? (facts?.statuses[0] ?? 500) : Number(status)
  const isOperators = party === 'vendor' && OPERATORS.has(String(code))
  const known = facts?.repeat === 'yes' || facts?.repeat === 'no' ? facts.repeat === 'yes' : undefined
  return !isOperators && (known ?? canRepeatHelp(own))
    ? 'a repeat can help'
    : 'a repeat cannot help before that'
}
