// Tables as comma-separated values, sent as they are read, so that a large one takes no memory. A value must never be
// read as a formula by a program for tables.

import { entryJson, type LedgerEntry } from '../billing/ledger/account-ledger'
import type { requestJson } from '../request-log/request-json'

export const LEDGER_TITLES = ['id', 'at', 'kind', 'amount_usd', 'balance_after_usd', 'charge', 'note']

export function ledgerLine(entry: LedgerEntry): (string | null)[] {
  return Object.values(entryJson(entry))
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

export function csvResponse<Row>(
  name: string,
  titles: readonly string[],
  pages: AsyncIterable<readonly Row[]> | Iterable<readonly Row[]>,
  cells: (row: Row) => readonly (string | number | null)[],
): Response {
  // Bun takes a generator as a body.
  async function* lines() {
    const encoder = new TextEncoder()
    yield encoder.encode(`${titles.join(',')}\r\n`)
    for await (const page of pages) {
      const text = page.map((row) => `${cells(row).map(csvCell).join(',')}\r\n`).join('')
      if (text !== '') yield encoder.encode(text)
    }
  }
  return new Response(lines() as unknown as ReadableStream, {
    headers: {
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': `attachment; filename="${name.replaceAll(/[^\w.-]/g, '_')}"`,
    },
  })
}

function csvCell(value: string | number | null): string {
  if (value === null) return ''
  const text = String(value)
  const isFormula = typeof value === 'string' && /^[=+@\t\r]|^-(?![\d.]+$)/.test(text)
  const safe = isFormula ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
