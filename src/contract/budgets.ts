// An amount of each period of the calendar: what may be spent, or what is given. Data only.

export type BudgetPeriod = 'day' | 'week' | 'month'
export const BUDGET_PERIODS: readonly BudgetPeriod[] = ['day', 'week', 'month']

/** Nano-dollars of each day, week or month, in UTC. */
export interface Budget {
  amountNano: number
  period: BudgetPeriod
}
