// Shows codes to people. It must never show the code itself: only its hint.

import type { ReplyOf } from '../../src/admin/client'
import { type Column, renderTable } from './table'
import { distance, shortTime } from './times'

type CodeReply = ReplyOf<'revokeCode'>

export function codesTable(codes: readonly CodeReply[], now: number): string {
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
      code.amount_usd,
      shortTime(Date.parse(code.created_at)),
      statusText(code, now),
      code.note ?? '',
    ]),
  )
}

function statusText({ status, redeemed_by: by, expires_at: expiresAt }: CodeReply, now: number): string {
  if (status === 'redeemed') return `redeemed by ${by}`
  if (status === 'open' && expiresAt !== null) return `open, ends ${distance(Date.parse(expiresAt), now)}`
  return status
}
