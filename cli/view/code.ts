// Shows codes to people. It must never show the code itself: only its hint.

import type { ReplyOf } from '../../src/admin/client'
import { tableOf } from './table'
import { distance, shortTime } from './times'

type CodeReply = ReplyOf<'revokeCode'>

export function codesTable(codes: readonly CodeReply[], now: number): string {
  return tableOf(codes, [
    ['CODE', (code) => code.hint],
    ['AMOUNT', (code) => code.amount_usd, { align: 'decimal' }],
    ['MADE (UTC)', (code) => shortTime(Date.parse(code.created_at)), { optional: true }],
    ['STATUS', (code) => statusText(code, now), { flexible: true }],
    ['NOTE', (code) => code.note ?? '', { flexible: true }],
  ])
}

function statusText({ status, redeemed_by: by, expires_at: expiresAt }: CodeReply, now: number): string {
  if (status === 'redeemed') return `redeemed by ${by}`
  if (status === 'open' && expiresAt !== null) return `open, ends ${distance(Date.parse(expiresAt), now)}`
  return status
}
