// Shows spenders as JSON, to operators and to the holder of their key. It must never show a secret: only its hint.

import { Nullable, OneOf } from '../api-operation/operation'
import { list, maybeCount, maybeText, text } from '../api-operation/schemas'
import { viewOf } from '../api-operation/view'
import { committedNano, type SpenderKind, spenderPeriodOf } from '../billing/ledger/limits'
import { BUDGET_PERIODS } from '../contract/budgets'
import type { Db } from '../db/db'
import { isoTime } from '../db/iso-time'
import { formatUsd } from '../lib/money'
import type { Spender } from './spenders'

const KINDS: readonly SpenderKind[] = ['browser', 'mcp', 'user', 'tag']

interface Shown {
  spender: Spender
  usedNano: number
  now: number
}

/** A spender at a time, with the spent or held part of its budget. */
export const spenderView = viewOf<Shown>()({
  id: [text, ({ spender }) => spender.id],
  kind: [OneOf(KINDS), ({ spender }) => spender.kind],
  name: [maybeText, ({ spender }) => spender.name],
  hint: [maybeText, ({ spender }) => spender.hint],
  status: [OneOf(['active', 'expired', 'revoked']), ({ spender, now }) => statusOf(spender, now)],
  models: [
    Nullable(list(text), { description: 'What it may use of the models of its key; null: all of them.' }),
    ({ spender }) => spender.models,
  ],
  requests_per_minute: [maybeCount, ({ spender }) => spender.requestsPerMinute],
  budget_usd: [
    maybeText,
    ({ spender }) => (spender.budgetNano === null ? null : formatUsd(spender.budgetNano)),
  ],
  budget_period: [
    Nullable(OneOf(BUDGET_PERIODS), { description: 'null: the budget is never renewed.' }),
    ({ spender }) => spender.budgetPeriod,
  ],
  budget_used_usd: [
    maybeText,
    ({ spender, usedNano }) => (spender.budgetNano === null ? null : formatUsd(usedNano)),
  ],
  expires_at: [maybeText, ({ spender }) => isoTime(spender.expiresAt)],
  created_at: [text, ({ spender }) => isoTime(spender.createdAt)],
})

function statusOf({ endedAt, expiresAt }: Spender, now: number): 'active' | 'expired' | 'revoked' {
  if (endedAt !== null) return 'revoked'
  return expiresAt !== null && expiresAt <= now ? 'expired' : 'active'
}

/** Spenders as they are shown. */
export function spendersJson(db: Db, spenders: readonly Spender[], now: number) {
  return Promise.all(
    spenders.map(async (spender) => {
      const counted = spenderPeriodOf(spender, now)
      const usedNano = counted ? await committedNano(db, counted.id, counted.period) : 0
      return spenderView.show({ spender, usedNano, now })
    }),
  )
}
