// The console's words for the page of plans. A page must not have words of its own.

import { numberText } from '../../language'

export const plans = {
  title: 'Plans',
  one: (plan: string) => `Plan ${plan}`,
  plan: 'Plan',
  accounts: 'Accounts',
  price: 'Price',
  factor: (factor: string) => `× ${factor}`,
  usualPrice: 'as listed',
  priceOf: (model: string) => `Price of ${model}`,
  budget: 'Budget',
  budgetOfEach: 'Budget of each account',
  allowance: 'Allowance',
  allowanceOfEach: 'Allowance of each account',
  limits: 'Limits',
  limitsOfKeys: 'Limits of each key',
  requestsPerMinute: (count: number) => `${numberText(count)} requests per minute`,
  tokensPerMinute: (count: number) => `${numberText(count)} tokens per minute`,
  concurrency: (count: number) => `${numberText(count)} at a time`,
  models: 'Models',
  none: 'none',
  gone: 'not configured',
  goneMeans:
    'This plan is no longer configured. Keys of its accounts are refused until it is configured again, or until they have another plan.',
  empty: 'No plans yet. Add them under plans in the configuration, and reload it.',
  available: 'Available',
  budgetUsed: 'Budget used',
  allowanceUsed: 'Allowance used',
  ofBudget: (used: string, of: string, period: string) =>
    `${used} of ${of} ${period === 'day' ? 'today' : `this ${period}`}`,
  ofAllowance: (used: string, of: string) => `${used} of ${of}`,
  noMembers: 'No account has this plan.',
  add: 'Add an account',
  addAction: (plan: string) => `Move it to ${plan}`,
  account: 'Account',
}
