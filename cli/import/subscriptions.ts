// Subscriptions of New API: quota that a user has bought until a day, and that may be renewed each day, week or month. The rest of
// one becomes credit. Its renewals become a plan without accounts: an allowance has no end here, so an operator must assign it.
// Facts of model/subscription.go.

import { formatUsd } from '../../src/lib/money'
import type { Found, FoundAccount, PlanNames } from './found'
import { numberIn, type SourceRow, textIn } from './source'

/** Periods of an allowance by the periods of renewal there. */
const PERIODS = { daily: 'day', weekly: 'week', monthly: 'month' } as const

interface Context {
  accounts: ReadonlyMap<string, FoundAccount>
  /** Nano-dollars of a quota; undefined if it is too large to be counted. */
  nanoOf(quota: number): number | undefined
  names: PlanNames
  found: Found
  now: number
}

export function readSubscriptions(
  subscriptions: readonly SourceRow[],
  plans: readonly SourceRow[],
  context: Context,
): void {
  const byId = new Map(plans.map((row) => [textIn(row, 'id'), row]))
  const known = new Map<string, string>()
  for (const row of subscriptions) {
    const account = context.accounts.get(textIn(row, 'user_id'))
    const ends = (numberIn(row, 'end_time') ?? 0) * 1_000
    if (!account || textIn(row, 'status') !== 'active' || ends <= context.now) continue
    readSubscription(row, byId.get(textIn(row, 'plan_id')), account, { ...context, known, ends })
  }
}

function readSubscription(
  row: SourceRow,
  plan: SourceRow | undefined,
  account: FoundAccount,
  { nanoOf, names, found, known, ends }: Context & { known: Map<string, string>; ends: number },
): void {
  const title = (plan && textIn(plan, 'title')) || textIn(row, 'plan_id')
  const day = new Date(ends).toISOString().slice(0, 10)
  const leave = (why: string) => found.left.push({ what: `subscription ${title} of ${account.name}`, why })
  const total = numberIn(row, 'amount_total') ?? 0
  if (total <= 0) return void leave(`has no limit until ${day} there: nothing is credited for it`)
  const left = nanoOf(Math.max(total - (numberIn(row, 'amount_used') ?? 0), 0))
  const each = nanoOf(total)
  const balanceNano = account.balanceNano + (left ?? 0)
  if (left === undefined || each === undefined || !Number.isSafeInteger(balanceNano))
    return void leave('has more money than an account can have')
  account.balanceNano = balanceNano
  const credited = `what is left of it, $${formatUsd(left)}, is credited and does not end here; there it ends on ${day}`
  const renewed = textIn(row, 'quota_reset_period') || (plan ? textIn(plan, 'quota_reset_period') : '')
  if (renewed === '' || renewed === 'never') return void leave(credited)
  const per = PERIODS[renewed as keyof typeof PERIODS]
  if (per === undefined) return void leave(`${credited}; it is renewed in a period that no plan has`)
  const entry = { ...(account.plan && found.plans[account.plan]), allowance: { usd: formatUsd(each), per } }
  const identity = JSON.stringify([title, entry])
  const name = known.get(identity) ?? names.take(title)
  known.set(identity, name)
  found.plans[name] = entry
  leave(
    `${credited}. Plan ${name} gives its $${formatUsd(each)} of each ${per}, and nobody has it yet: gateway accounts update ${account.name} --plan ${name}`,
  )
}
