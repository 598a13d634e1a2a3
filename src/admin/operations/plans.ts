// Plans over the admin API: their settings, and what their accounts have used. Plans are in the configuration; an
// account is put into one by `updateAccount`. It must never write.

import { Type } from '@sinclair/typebox'
import { accountView } from '../../accounts/accounts'
import { membersOf, type PlanMember, planSizes } from '../../accounts/plan-members'
import { Nullable, open } from '../../api-operation/operation'
import { type PlanEntry, plansOf } from '../../config/models/plans'
import { CacheRule } from '../../config/models/response-cache'
import { isoTime } from '../../db/iso-time'
import { notFound } from '../../lib/errors'
import { formatUsd, parseUsd } from '../../lib/money'
import { limitOf, type OperationContext, operationsIn, PageOf, pageOf, pageQuery } from '../operation'
import { AccountReply } from './accounts'

const operation = operationsIn('Plans')
const Dollars = Nullable(Type.String({ description: 'Dollars, as text.' }))
const Count = Nullable(Type.Integer())
const PlanReply = Type.Object(
  {
    plan: Type.String(),
    configured: Type.Boolean({
      description:
        'False for one that accounts still have: their keys are refused until it is, or they have another.',
    }),
    accounts: Type.Integer({ description: 'How many accounts have it.' }),
    price_factor: Type.String(),
    price_factors: Type.Object({}, open),
    models: Nullable(Type.Array(Type.String())),
    requests_per_minute: Count,
    tokens_per_minute: Count,
    concurrency: Count,
    budget_usd: Dollars,
    budget_period: Nullable(Type.String()),
    allowance_usd: Dollars,
    allowance_period: Nullable(Type.String()),
    spenders: Type.Object(
      {
        budget_usd: Dollars,
        budget_period: Nullable(Type.String()),
        requests_per_minute: Count,
        most_new_per_day: Count,
      },
      { description: 'Defaults for each spender below its keys.' },
    ),
    cache: Nullable(CacheRule, {
      description: 'Its response cache, for all models; null: the model decides.',
    }),
  },
  open,
)
const MemberReply = Type.Object(
  {
    ...AccountReply.properties,
    budget_in_force_usd: Dollars,
    budget_in_force_period: Nullable(Type.String()),
    budget_used_usd: Dollars,
    allowance_usd: Dollars,
    allowance_used_usd: Dollars,
    allowance_ends_at: Nullable(Type.String()),
  },
  open,
)

function planJson(plan: string, entry: PlanEntry | undefined, accounts: number) {
  const { priceFactor = '1', priceFactors = {}, models = null, budget, allowance, spenders } = entry ?? {}
  return {
    plan,
    configured: entry !== undefined,
    accounts,
    price_factor: priceFactor,
    price_factors: priceFactors,
    models,
    requests_per_minute: entry?.requestsPerMinute ?? null,
    tokens_per_minute: entry?.tokensPerMinute ?? null,
    concurrency: entry?.concurrency ?? null,
    budget_usd: budget ? formatUsd(parseUsd(budget.usd) as number) : null,
    budget_period: budget?.per ?? null,
    allowance_usd: allowance ? formatUsd(parseUsd(allowance.usd) as number) : null,
    allowance_period: allowance?.per ?? null,
    spenders: {
      budget_usd: spenders?.budget ? formatUsd(parseUsd(spenders.budget.usd) as number) : null,
      budget_period: spenders?.budget?.per ?? null,
      requests_per_minute: spenders?.requestsPerMinute ?? null,
      most_new_per_day: spenders?.mostNewPerDay ?? null,
    },
    cache: entry?.cache ?? null,
  }
}

function memberJson({ budgetInForce, committedNano, allowance, ...account }: PlanMember) {
  return {
    ...accountView.show(account),
    budget_in_force_usd: budgetInForce && formatUsd(budgetInForce.amountNano),
    budget_in_force_period: budgetInForce?.period ?? null,
    budget_used_usd: budgetInForce && formatUsd(committedNano),
    allowance_usd: allowance && formatUsd(allowance.amountNano),
    allowance_used_usd: allowance && formatUsd(allowance.usedNano),
    allowance_ends_at: isoTime(allowance?.endsAt ?? null),
  }
}

/** Plans of the configuration, followed by those that only accounts have. */
async function plansFor({ world: { db, config } }: OperationContext) {
  const members = await planSizes(db)
  const configured = Object.entries(config.plans ?? {})
  const names = new Set(configured.map(([name]) => name))
  return [
    ...configured.map(([name, entry]) => planJson(name, entry, members.get(name) ?? 0)),
    ...[...members].flatMap(([name, count]) => (names.has(name) ? [] : [planJson(name, undefined, count)])),
  ]
}

async function planFor(context: OperationContext) {
  const { plan: name } = context.params
  const found = (await plansFor(context)).find(({ plan }) => plan === name)
  if (!found) throw notFound('plan', name)
  return found
}

const list = operation({
  id: 'listPlans',
  endpoint: 'GET /plans',
  role: 'viewer',
  summary: 'Plans',
  description: 'Those of the configuration, and those that only accounts still have.',
  reply: Type.Object({ data: Type.Array(PlanReply) }, open),
  run: async (context) => ({ data: await plansFor(context) }),
})

const show = operation({
  id: 'getPlan',
  endpoint: 'GET /plans/{plan}',
  role: 'viewer',
  summary: 'One plan',
  reply: PlanReply,
  run: (context) => planFor(context),
})

const listMembers = operation({
  id: 'listPlanAccounts',
  endpoint: 'GET /plans/{plan}/accounts',
  role: 'viewer',
  summary: 'Accounts of a plan',
  description: 'By their names, with what they have used of their budget and allowance.',
  query: Type.Object(pageQuery),
  reply: PageOf(MemberReply),
  async run(context, query) {
    const { db, config, now } = context.world
    const { plan: name } = await planFor(context)
    const budget = plansOf(config.plans).get(name)?.budget ?? null
    const limit = limitOf(query)
    const page = { after: query.after ?? '', limit: limit + 1 }
    const rows = await membersOf(db, { name, budget }, page, now())
    return pageOf(rows, limit, memberJson, ({ account }) => account)
  },
})

export const planOperations = [list, show, listMembers]
