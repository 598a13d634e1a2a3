// Shows keys as JSON, to operators and to their holders. It must never show a secret: only its hint.

import { Nullable, OneOf } from '../api-operation/operation'
import { list, maybeCount, maybeText, text } from '../api-operation/schemas'
import { viewOf } from '../api-operation/view'
import { type Balance, balanceJson } from '../billing/ledger/balances'
import { CacheRule } from '../config/models/response-cache'
import { BUDGET_PERIODS } from '../contract/budgets'
import { isoTime } from '../db/iso-time'
import { formatUsd } from '../lib/money'
import type { Key } from './keys'
import { SpenderRuleBody } from './spender-rule'

type KeyStatus = 'active' | 'paused' | 'expired' | 'revoked'

export function keyStatusOf(key: Key, now: number): KeyStatus {
  if (key.revokedAt !== null) return 'revoked'
  if (key.expiresAt !== null && key.expiresAt <= now) return 'expired'
  return key.pausedAt === null ? 'active' : 'paused'
}

/** The state of a key at a time, as it is shown. */
export const keyView = viewOf<{ key: Key; now: number }>()({
  id: [text, ({ key }) => key.id],
  name: [text, ({ key }) => key.name],
  account: [text, ({ key }) => key.account],
  account_status: [
    OneOf(['open', 'frozen', 'closed'], 'Keys of an account that is not open are refused.'),
    ({ key }) => key.accountState,
  ],
  hint: [text, ({ key }) => key.hint],
  status: [OneOf(['active', 'paused', 'expired', 'revoked']), ({ key, now }) => keyStatusOf(key, now)],
  models: [Nullable(list(text), { description: 'What it may use; null: all.' }), ({ key }) => key.models],
  addresses: [
    Nullable(list(text), { description: 'Networks that it may be used from; null: anywhere.' }),
    ({ key }) => key.addresses,
  ],
  requests_per_minute: [maybeCount, ({ key }) => key.requestsPerMinute],
  tokens_per_minute: [maybeCount, ({ key }) => key.tokensPerMinute],
  concurrency: [maybeCount, ({ key }) => key.concurrency],
  budget_usd: [maybeText, ({ key }) => (key.budgetNano === null ? null : formatUsd(key.budgetNano))],
  budget_period: [Nullable(OneOf(BUDGET_PERIODS)), ({ key }) => key.budgetPeriod],
  spenders: [
    Nullable(SpenderRuleBody, { description: 'How its requests name their spenders; null: they name none.' }),
    ({ key }) => key.spenders,
  ],
  cache: [
    Nullable(CacheRule, {
      description: 'Its response cache, for all models; false: none. null: its plan and the model decide.',
    }),
    ({ key }) => key.cache,
  ],
  expires_at: [maybeText, ({ key }) => isoTime(key.expiresAt)],
  paused_at: [maybeText, ({ key }) => isoTime(key.pausedAt)],
  revoked_at: [maybeText, ({ key }) => isoTime(key.revokedAt)],
  created_at: [text, ({ key }) => isoTime(key.createdAt)],
})

/** A key with the money of its account. */
export function keyWithMoneyJson(key: Key, balance: Balance, now: number) {
  const { account: _, ...money } = balanceJson(balance)
  return { ...keyView.show({ key, now }), ...money }
}
