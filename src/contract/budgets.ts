// An amount per calendar period: what may be spent, or what is credited. Data only.

export type BudgetPeriod = 'day' | 'week' | 'month'
export const BUDGET_PERIODS: readonly BudgetPeriod[] = ['day', 'week', 'month']

/** Nano-dollars per day, week or month, in UTC. */
export interface Budget {
  amountNano: number
  period: BudgetPeriod
}
