// Finds budgets of keys and accounts that are used up, or nearly: for notifications and reports of operators. Committed amounts of
// a period have a row per owner, so the search begins with the rows of the current periods: most keys have no budget, and most
// budgets are idle. It must never write.

import { BUDGET_PERIODS, type Budget } from '../../contract/budgets'
import type { Statement, Value } from '../../db/db'
import { bookOf } from './balances'
import { calendarPeriod } from './limits'

interface Fullness {
  /** Minimum of a budget that is spent or held, in percent. */
  percent: number
  now: number
}

/** Owners by name, regardless of how much of their budget is used. */
interface Named {
  names: readonly string[]
  now: number
}

const OF_PERIODS = `b.period in ($1, $2, $3)
  and b.period = case budget_period when 'day' then $1 when 'week' then $2 else $3 end`

/** Keys whose budget is full and that are still valid: `name`, `account`, `id`, `committed`, `budget` and `budget_period`. */
export function fullKeys({ percent, now }: Fullness): Statement {
  return {
    sql: `select k.name, k.account, k.id, b.committed, k.budget, k.budget_period
      from budgets b join keys k on k.id = b.key_id
      where ${OF_PERIODS} and k.revoked_at is null and (k.expires_at is null or k.expires_at > $4)
        and k.budget > 0 and b.committed * 100 >= k.budget * cast($5 as bigint)`,
    parameters: [...periodNames(now), now, percent],
  }
}

/** The keys with a budget among these names, full or not, with the columns of `fullKeys`. */
export function budgetsOfKeys({ names, now }: Named): Statement {
  const parameters: Value[] = periodNames(now)
  const places = names.map((name) => `$${parameters.push(name)}`)
  return {
    sql: `select k.name, k.account, k.id, coalesce(b.committed, 0) as committed, k.budget, k.budget_period
      from keys k left join budgets b on k.id = b.key_id and ${OF_PERIODS}
      where k.budget > 0 and k.name in (${places.join(', ')})`,
    parameters,
  }
}

/** The accounts with a budget among these names, full or not, with the columns of `fullAccounts`. */
export function budgetsOfAccounts(ofPlans: ReadonlyMap<string, Budget>, { names, now }: Named): Statement {
  const parameters: Value[] = [...periodNames(now), bookOf('')]
  const owners = budgetsOfOwners(ofPlans, parameters)
  const places = names.map((name) => `$${parameters.push(name)}`)
  return {
    sql: `select d.name, d.plan, coalesce(b.committed, 0) as committed, d.budget, d.budget_period
      from (${owners}) d left join budgets b on b.key_id = cast($4 as text) || d.name and ${OF_PERIODS}
      where d.budget > 0 and d.name in (${places.join(', ')})`,
    parameters,
  }
}

/**
 * Accounts whose budget is full, their own or otherwise that of their plan: `name`, `plan` if the budget is the plan's,
 * `committed`, `budget` and `budget_period`. `ofPlans` has the budgets of plans by the names of the plans.
 */
export function fullAccounts(ofPlans: ReadonlyMap<string, Budget>, { percent, now }: Fullness): Statement {
  const parameters: Value[] = [...periodNames(now), percent, bookOf('')]
  return {
    // An account is identified by the name in its book.
    sql: `select d.name, d.plan, b.committed, d.budget, d.budget_period
      from budgets b join (${budgetsOfOwners(ofPlans, parameters)}) d
      on d.name = substr(b.key_id, length(cast($5 as text)) + 1) and b.key_id = cast($5 as text) || d.name
      where ${OF_PERIODS} and d.budget > 0 and b.committed * 100 >= d.budget * cast($4 as bigint)`,
    parameters,
  }
}

/** The query of all accounts with their budget, their own or otherwise that of their plan. It adds what it needs to the parameters. */
function budgetsOfOwners(ofPlans: ReadonlyMap<string, Budget>, parameters: Value[]): string {
  const place = (value: Value) => `$${parameters.push(value)}`
  const elseOfPlan = (own: string, type: string, of: (budget: Budget) => Value) => {
    const cases = [...ofPlans].map(
      ([plan, budget]) => `when ${place(plan)} then cast(${place(of(budget))} as ${type})`,
    )
    return cases.length === 0 ? own : `coalesce(${own}, case plan ${cases.join(' ')} end)`
  }
  const budget = elseOfPlan('account_budget', 'bigint', ({ amountNano }) => amountNano)
  const period = elseOfPlan('account_budget_period', 'text', (each) => each.period)
  return `select name, case when account_budget is null then plan end as plan, ${budget} as budget,
      ${period} as budget_period
    from account_details where closed_at is null`
}

/** The names of this day, week and month. */
function periodNames(now: number): string[] {
  return BUDGET_PERIODS.map((period) => calendarPeriod(period, now).name)
}
