// Shows codes, to people and as JSON. It must never show the code itself: only its hint.

import { type Code, statusOfCode } from '../../src/billing/codes'
import { isoTime } from '../../src/db/iso-time'
import { formatUsd } from '../../src/lib/money'
import { type Column, renderTable } from './table'
import { distance, shortTime } from './times'

export function codeJson(code: Code, now: number) {
  return {
    id: code.id,
    hint: code.hint,
    status: statusOfCode(code, now),
    amount_usd: formatUsd(code.amountNano),
    note: code.note,
    created_at: isoTime(code.createdAt),
    expires_at: isoTime(code.expiresAt),
    revoked_at: isoTime(code.revokedAt),
    redeemed_at: isoTime(code.redeemedAt),
    redeemed_by: code.redeemedBy,
  }
}

export function codesTable(codes: readonly Code[], now: number): string {
  const columns: Column[] = [
    { title: 'CODE' },
    { title: 'AMOUNT', align: 'decimal' },
    { title: 'MADE (UTC)', optional: true },
    { title: 'STATUS', flexible: true },
    { title: 'NOTE', flexible: true },
  ]
  return renderTable(
    columns,
    codes.map((code) => [
      code.hint,
      formatUsd(code.amountNano),
      shortTime(code.createdAt),
      statusText(code, now),
      code.note ?? '',
    ]),
  )
}

function statusText(code: Code, now: number): string {
  const status = statusOfCode(code, now)
  if (status === 'redeemed') return `redeemed by ${code.redeemedBy}`
  if (status === 'open' && code.expiresAt !== null) return `open, ends ${distance(code.expiresAt, now)}`
  return status
}
