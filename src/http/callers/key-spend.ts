// Amounts that keys and accounts have spent, and can still spend, for operations that show them. It must never write.

import { findAccount } from '../../accounts/accounts'
import type { Key } from '../../accounts/keys'
import { type Balance, bookOf } from '../../billing/ledger/balances'
import { accountPeriodOf, committedNano } from '../../billing/ledger/limits'
import { budgetUsedNano, usageBy } from '../../billing/reports/usage-report'
import { DAY_MS } from '../../billing/reports/usage-totals'
import type { Db } from '../../db/db'

export async function accountOf(db: Db, key: Key) {
  const account = await findAccount(db, key.account)
  if (!account) throw new Error(`key ${key.name} has no account`)
  return account
}

/** The most that a key can spend now: the available balance of its account, or what is left of its budget or the account's. */
export async function leftNano(db: Db, key: Key, now: number): Promise<number> {
  const [{ availableNano }, usedNano, accountUsedNano] = await Promise.all([
    accountOf(db, key) satisfies Promise<Balance>,
    budgetUsedNano(db, key, now),
    accountUsed(db, key, now),
  ])
  const left = [availableNano]
  if (key.budgetNano !== null) left.push(key.budgetNano - usedNano)
  if (key.accountBudget) left.push(key.accountBudget.amountNano - (accountUsedNano ?? 0))
  return Math.max(0, Math.min(...left))
}

/** Nano-dollars that are spent or held of the account's budget in its period; null without a budget. */
export async function accountUsed(db: Db, key: Key, now: number): Promise<number | null> {
  const period = accountPeriodOf(key, now)
  return period === null ? null : committedNano(db, bookOf(key.account), period)
}

export interface Spend {
  dayNano: number
  weekNano: number
  monthNano: number
  totalNano: number
}

/** Amounts that were paid since the start of this day, week and month in UTC, and in total. */
export async function spendTotals(
  db: Db,
  of: { keyId?: string; account?: string },
  now: number,
): Promise<Spend> {
  const days = await usageBy(db, 'day', { since: 0, ...of })
  const today = now - (now % DAY_MS)
  const date = new Date(today)
  const since = (at: number) =>
    days.reduce((sum, { name, amountNano }) => (Number(name) >= at ? sum + amountNano : sum), 0)
  return {
    dayNano: since(today),
    weekNano: since(today - ((date.getUTCDay() + 6) % 7) * DAY_MS),
    monthNano: since(Date.UTC(date.getUTCFullYear(), date.getUTCMonth())),
    totalNano: since(0),
  }
}

/** Number of days over which spending is averaged. */
const RATE_DAYS = 7

/** Nano-dollars that an account spent on each of the last days in UTC, up to today. */
export async function spendByDay(db: Db, account: string, now: number): Promise<number[]> {
  const today = now - (now % DAY_MS)
  const days = Array.from({ length: RATE_DAYS }, (_, day) => today - (RATE_DAYS - 1 - day) * DAY_MS)
  const used = await usageBy(db, 'day', { since: days[0] ?? today, account })
  const amounts = new Map(used.map(({ name, amountNano }) => [Number(name), amountNano]))
  return days.map((day) => amounts.get(day) ?? 0)
}
