// The columns of tables that operators get as files.

import { entryView, type LedgerEntry } from '../billing/ledger/account-ledger'
import type { requestJson } from '../request-log/request-json'

export const LEDGER_TITLES = entryView.titles

export function ledgerLine(entry: LedgerEntry): (string | null)[] {
  return Object.values(entryView.show(entry))
}

const REQUEST_TITLES = [
  'id',
  'at',
  'key',
  'key_id',
  'account',
  'operation',
  'model',
  'upstream',
  'stream',
  'status',
  'error_code',
  'sent_ms',
  'first_byte_ms',
  'upstream_ms',
  'duration_ms',
  'input_tokens',
  'output_tokens',
  'held_usd',
  'amount_usd',
  'usage_source',
  'ended_by',
  'upstream_request_id',
  'client_address',
  'asked_model',
  'failed_by',
  'vendor_status',
  'error_param',
  'error_message',
  'spender',
  'spender_id',
] as const

/** The titles of requests, with a column for each name of metadata. */
export function requestTitles(metadataNames: readonly string[]): string[] {
  return [...REQUEST_TITLES, 'failed_attempts', ...metadataNames.map((name) => `metadata.${name}`)]
}

export function requestCells(
  request: ReturnType<typeof requestJson>,
  metadataNames: readonly string[],
): (string | number | null)[] {
  const cells = REQUEST_TITLES.map((title) => request[title])
  const values = metadataNames.map((name) => request.metadata?.[name] ?? null)
  return [
    ...cells.map((cell) => (typeof cell === 'boolean' ? String(cell) : cell)),
    request.attempts.length,
    ...values,
  ]
}
