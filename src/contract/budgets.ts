// An amount per calendar period: a budget or a credit. Data only.

export type BudgetPeriod = 'day' | 'week' | 'month'
export const BUDGET_PERIODS: readonly BudgetPeriod[] = ['day', 'week', 'month']

/** Nano-dollars per day, week or month, in UTC. */
export interface Budget {
  amountNano: number
  period: BudgetPeriod
}
