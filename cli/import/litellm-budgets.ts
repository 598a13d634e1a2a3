// Budgets and limits of LiteLLM: of keys, of the tiers in its budget table, of members of teams, and of teams and users. A key must
// never get more here than the lowest limit that applied to it there.

import type { KeySettings } from '../../src/accounts/keys'
import type { BudgetPeriod } from '../../src/contract/budgets'
import { formatUsd, parseUsd } from '../../src/lib/money'
import { budgetOfRest, type Found, type FoundBudget } from './found'
import { numberIn, type SourceRow, textIn } from './source'

export interface Budgets {
  /** The tier that a row names by its `budget_id`. */
  tierOf(row: SourceRow | undefined): SourceRow | undefined
  /** The membership of the user of a key in its team. */
  memberOf(key: SourceRow): SourceRow | undefined
  /** How many keys the user of a key has in its team. */
  keysOfMember(key: SourceRow): number
}

/** The number in a column of a row, otherwise that of the tier that the row names: a key without its own follows its tier. */
function ownOrTier(row: SourceRow, tier: SourceRow | undefined, column: string): number | undefined {
  return numberIn(row, column) ?? (tier && numberIn(tier, column))
}

/** Limits per minute: the lowest of the key, of its user in the team, and of the team or user that it belongs to. */
export function leastLimits(
  key: SourceRow,
  budgets: Budgets,
  holder: SourceRow | undefined,
): Pick<KeySettings, 'requestsPerMinute' | 'tokensPerMinute' | 'concurrency'> {
  const tier = budgets.tierOf(key)
  const member = budgets.tierOf(budgets.memberOf(key))
  const least = (column: string) => {
    const limits = [
      ownOrTier(key, tier, column),
      member && numberIn(member, column),
      holder && numberIn(holder, column),
    ]
    const counted = limits.flatMap((limit) => positive(limit) ?? [])
    return counted.length === 0 ? null : Math.min(...counted)
  }
  return {
    requestsPerMinute: least('rpm_limit'),
    tokensPerMinute: least('tpm_limit'),
    concurrency: least('max_parallel_requests'),
  }
}

/** A limit; undefined if it is too large to be counted. */
function positive(value: number | undefined): number | undefined {
  return value !== undefined && value >= 1 && value <= Number.MAX_SAFE_INTEGER ? Math.trunc(value) : undefined
}

/** The budget of a key: its own, otherwise that of its tier, otherwise that of its user in the team. */
export function keyBudgetOf(key: SourceRow, budgets: Budgets, leave: (why: string) => void): FoundBudget {
  const tier = budgets.tierOf(key)
  const member = budgets.memberOf(key)
  const ofMember = budgets.tierOf(member)
  const most = ownOrTier(key, tier, 'max_budget')
  const mostOfMember = ofMember && numberIn(ofMember, 'max_budget')
  if (member && mostOfMember !== undefined && (most !== undefined || budgets.keysOfMember(key) > 1))
    leave(
      `its user may spend $${mostOfMember} in the team with all its keys there: that limit is not carried`,
    )
  else if (member && ofMember && mostOfMember !== undefined)
    return budgetOf(mostOfMember, numberIn(member, 'spend') ?? 0, textIn(ofMember, 'budget_duration'))
  if (most === undefined) return { isSpent: false, settings: {} }
  const duration = textIn(key, 'budget_duration') || (tier ? textIn(tier, 'budget_duration') : '')
  return budgetOf(most, numberIn(key, 'spend') ?? 0, duration)
}

const DURATION = /^(\d+)(s|m|h|d|w|mo)$/
const UNIT_DAYS = { s: 1 / 86_400, m: 1 / 1_440, h: 1 / 24, d: 1, w: 7, mo: 30 } as const
/** Calendar periods by the equivalent durations. */
const PERIODS: Readonly<Record<string, BudgetPeriod>> = {
  '1d': 'day',
  '24h': 'day',
  '7d': 'week',
  '1w': 'week',
  '30d': 'month',
  '31d': 'month',
  '1mo': 'month',
}

/** A calendar budget, never larger than the original. */
function budgetOf(most: number, spend: number, duration: string): FoundBudget {
  const [, count = '', unit = 'd'] = DURATION.exec(duration) ?? []
  const days = Number(count) * UNIT_DAYS[unit as keyof typeof UNIT_DAYS]
  if (duration === '' || !(days > 0)) return budgetOfNano(most - spend, budgetOfRest)
  const period = days <= 1 ? 'day' : days <= 7 ? 'week' : 'month'
  const usd = days > 31 ? (most * 30) / days : most
  return budgetOfNano(usd, (nano) => {
    if (nano <= 0) return { isSpent: true, settings: {}, why: 'may use nothing: it is paused' }
    return {
      isSpent: false,
      settings: { budgetNano: nano, budgetPeriod: period },
      ...(!(duration in PERIODS) && { why: `its budget of each ${duration} becomes one of each ${period}` }),
    }
  })
}

/** A budget in dollars; undefined if it is too large to be counted. */
function budgetOfNano(usd: number, budgetOf: (nano: number) => FoundBudget): FoundBudget {
  const nano = usd > 0 ? parseUsd(usd.toFixed(9)) : 0
  return nano === undefined ? { isSpent: false, settings: {} } : budgetOf(nano)
}

/**
 * The opening credit of a team, a user or a key: the rest of its budget. A budget that resets there becomes a plan with an
 * allowance, which an operator gives to the account: importing it as a credit too would pay twice for this period.
 */
export function balanceOf(row: SourceRow, account: string, found: Found): number {
  const budget = numberIn(row, 'max_budget')
  const leave = (why: string) => found.left.push({ what: `account ${account}`, why })
  if (budget === undefined) {
    leave('has no budget there, so it begins without money: gateway balance add')
    return 0
  }
  const left = parseUsd((budget - (numberIn(row, 'spend') ?? 0)).toFixed(9))
  const duration = textIn(row, 'budget_duration')
  if (left === undefined) leave('has spent more than its budget, or has more money than an account can have')
  if (duration !== '')
    leave(`its budget is renewed each ${duration} there: ${renewalOf(account, { budget, duration }, found)}`)
  return Math.max(left ?? 0, 0)
}

/** Advice about a budget that resets: a plan is written if a calendar period is equivalent. */
function renewalOf(
  account: string,
  { budget, duration }: { budget: number; duration: string },
  found: Found,
): string {
  const per = PERIODS[duration]
  const nano = parseUsd(budget.toFixed(9))
  if (per === undefined || nano === undefined || nano <= 0) return 'here money is added'
  const usd = formatUsd(nano)
  const name = `allowance-${usd}-${per}`
  found.plans[name] = { allowance: { usd, per } }
  return `what is left is credited, and plan ${name}, which nobody has yet, gives as much: gateway accounts update ${account} --plan ${name}`
}
