// Accounts of a plan: the amount that each may still spend in its period, and the rest of its allowance. It must never write.

import { bookOf } from '../billing/ledger/balances'
import { calendarPeriod } from '../billing/ledger/limits'
import { usageBy } from '../billing/reports/usage-report'
import { BUDGET_PERIODS, type Budget } from '../contract/budgets'
import type { Db } from '../db/db'
import { type Account, listAccounts } from './accounts'

export interface PlanMember extends Account {
  /** The effective budget: its own, otherwise that of the plan; null without a budget. */
  budgetInForce: Budget | null
  /** Nano-dollars of that budget that are spent or held in the current period. */
  committedNano: number
  /** The allowance of the current period, and how much of it is spent; null without an allowance. */
  allowance: { amountNano: number; usedNano: number; endsAt: number } | null
}

/** How many accounts each plan has, by name, including plans that are no longer configured. */
export async function planSizes(db: Db): Promise<ReadonlyMap<string, number>> {
  const rows = await db.query({
    sql: `select plan, count(*) as members from account_details join accounts on accounts.name = account_details.name
      where plan is not null group by plan order by plan`,
  })
  return new Map(rows.map((row) => [row.plan as string, row.members as number]))
}

/** Accounts of a plan by their names, after a name. */
export async function membersOf(
  db: Db,
  { name, budget }: { name: string; budget: Budget | null },
  { after, limit }: { after: string; limit: number },
  now: number,
): Promise<PlanMember[]> {
  const accounts = await listAccounts(db, { plan: name, after, limit })
  const last = accounts.at(-1)?.account
  if (last === undefined) return []
  const within = { after, last }
  const [committed, allowances] = [
    await committedWithin(db, within, now),
    await allowancesWithin(db, within, now),
  ]
  return accounts.map((account) => {
    const budgetInForce = account.budget ?? budget
    const period = budgetInForce && calendarPeriod(budgetInForce.period, now).name
    return {
      ...account,
      budgetInForce,
      committedNano: committed.get(`${account.account} ${period}`) ?? 0,
      allowance: allowances.get(account.account) ?? null,
    }
  })
}

/** A page of accounts: those after the first name, up to and including the second. */
interface Within {
  after: string
  last: string
}

/** Nano-dollars spent or held in the current periods, by the name of the account and of the period. */
async function committedWithin(db: Db, { after, last }: Within, now: number): Promise<Map<string, number>> {
  const periods = BUDGET_PERIODS.map((period) => calendarPeriod(period, now).name)
  const rows = await db.query({
    sql: `select accounts.name, period, committed from accounts join budgets on key_id = cast($1 as text) || accounts.name
      where accounts.name > $2 and accounts.name <= $3 and period in ($4, $5, $6)`,
    parameters: [bookOf(''), after, last, ...periods],
  })
  return new Map(rows.map((row) => [`${row.name} ${row.period}`, row.committed as number]))
}

async function allowancesWithin(
  db: Db,
  { after, last }: Within,
  now: number,
): Promise<Map<string, NonNullable<PlanMember['allowance']>>> {
  const rows = await db.query({
    sql: `select account, amount, begins_at, ends_at from allowances
      where account > $1 and account <= $2 and ends_at > $3 order by ends_at desc`,
    parameters: [after, last, now],
  })
  // Accounts of one plan mostly have one period, so that this is a single query.
  const used = new Map<number, Map<string, number>>()
  for (const since of new Set(rows.map((row) => row.begins_at as number))) {
    const usage = await usageBy(db, 'account', { since })
    used.set(since, new Map(usage.map(({ name, amountNano }) => [name, amountNano])))
  }
  return new Map(
    rows.map((row) => {
      const amountNano = row.amount as number
      const spentNano = used.get(row.begins_at as number)?.get(row.account as string) ?? 0
      const usedNano = Math.min(amountNano, spentNano)
      return [row.account as string, { amountNano, usedNano, endsAt: row.ends_at as number }]
    }),
  )
}
