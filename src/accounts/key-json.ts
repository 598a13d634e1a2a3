// Shows keys as JSON, to their operators and to who holds them. It must never show a secret: only its hint.

import { type Balance, balanceJson } from '../billing/ledger/balances'
import { isoTime } from '../db/iso-time'
import { formatUsd } from '../lib/money'
import type { Key } from './keys'

type KeyStatus = 'active' | 'paused' | 'expired' | 'revoked'

export function keyStatusOf(key: Key, now: number): KeyStatus {
  if (key.revokedAt !== null) return 'revoked'
  if (key.expiresAt !== null && key.expiresAt <= now) return 'expired'
  return key.pausedAt === null ? 'active' : 'paused'
}

export function keyJson(key: Key, now: number) {
  return {
    id: key.id,
    name: key.name,
    account: key.account,
    account_status: key.accountState,
    hint: key.hint,
    status: keyStatusOf(key, now),
    models: key.models,
    requests_per_minute: key.requestsPerMinute,
    tokens_per_minute: key.tokensPerMinute,
    concurrency: key.concurrency,
    budget_usd: key.budgetNano === null ? null : formatUsd(key.budgetNano),
    budget_period: key.budgetPeriod,
    expires_at: isoTime(key.expiresAt),
    paused_at: isoTime(key.pausedAt),
    revoked_at: isoTime(key.revokedAt),
    created_at: isoTime(key.createdAt),
  }
}

/** A key with the money of its account. */
export function keyWithMoneyJson(key: Key, balance: Balance, now: number) {
  const { account: _, ...money } = balanceJson(balance)
  return { ...keyJson(key, now), ...money }
}
