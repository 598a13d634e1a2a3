// The rule by which requests of a key name their spenders: where the name is found, and the default limits of a spender. Pure.

import { type Static, Type } from '@sinclair/typebox'
import { Nullable, OneOf } from '../api-operation/operation'
import type { SpenderLimits } from '../billing/ledger/limits'
import type { SpenderDefaults } from '../config/models/plans'
import { BUDGET_PERIODS } from '../contract/budgets'
import { invalidRequest } from '../lib/errors'
import { parseUsd } from '../lib/money'

/** Fields of the body that name an end user: that of OpenAI and LibreChat, its successor, and that of Claude Code. */
export const USER_FIELDS = ['user', 'safety_identifier', 'metadata.user_id'] as const
/** A header, such as those of Open WebUI, or a name in `x-gateway-metadata`, which makes a tag. */
const HEADER_SOURCE = /^x-[a-z0-9-]{1,62}$/
const TAG_SOURCE = /^tag\.[a-z0-9][a-z0-9_-]{0,39}$/
/** Headers that name a secret or the gateway's own business, and no person. */
const NOT_NAMES = new Set(['x-api-key', 'x-goog-api-key', 'x-gateway-metadata'])
const DEFAULT_NEW_PER_DAY = 1_000

export const SpenderRuleBody = Type.Object(
  {
    from: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: 8,
      description:
        'Where a request names its spender, the first that is present: `user`, `safety_identifier`, `metadata.user_id`, a header such as `x-openwebui-user-email`, or `tag.NAME` of `x-gateway-metadata`.',
    }),
    budget_usd: Type.Optional(
      Nullable(Type.String({ description: 'Dollars of each spender; needs `budget_period`.' })),
    ),
    budget_period: Type.Optional(Nullable(OneOf(BUDGET_PERIODS))),
    requests_per_minute: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 1_000_000_000 }))),
    create: Type.Optional(
      Type.Boolean({
        description: 'Whether a new name makes a spender; otherwise it is refused. Default true.',
      }),
    ),
    most_new_per_day: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1_000_000, description: 'New spenders a day. Default 1,000.' }),
    ),
  },
  { additionalProperties: false },
)
export type SpenderRule = Static<typeof SpenderRuleBody>

/** Replaces a stored rule that is unreadable. Requests of its key are refused, because they would have no limits. */
export const UNREADABLE_RULE: SpenderRule = { from: [] }

type Defaults = SpenderDefaults | undefined

/** Maximum number of new spenders of a key per day, by its rule, otherwise by its plan. */
export function mostNewPerDay({ most_new_per_day: most }: SpenderRule, defaults: Defaults): number {
  return most ?? defaults?.mostNewPerDay ?? DEFAULT_NEW_PER_DAY
}

/** A spender with the limits of its key's rule where it has none itself, and then with those of the plan. A token has only its own. */
export function withDefaults<Limited extends SpenderLimits>(
  spender: Limited,
  rule: SpenderRule | null,
  defaults: Defaults,
): Limited {
  if (spender.kind !== 'user' && spender.kind !== 'tag') return spender
  const {
    budget_usd: usd = null,
    budget_period: period = null,
    requests_per_minute: rate = null,
  } = rule ?? {}
  const own = { amountNano: spender.budgetNano, period: spender.budgetPeriod }
  const ofRule = { amountNano: usd === null ? null : (parseUsd(usd) ?? null), period }
  const budget = [own, ofRule].find(({ amountNano }) => amountNano !== null) ?? defaults?.budget ?? own
  return {
    ...spender,
    budgetNano: budget.amountNano,
    budgetPeriod: budget.period,
    requestsPerMinute: spender.requestsPerMinute ?? rate ?? defaults?.requestsPerMinute ?? null,
  }
}

/** Throws 400 for an invalid rule. */
export function checkSpenderRule(rule: SpenderRule): void {
  const unknown = rule.from.find((source) => !isSource(source))
  if (unknown !== undefined)
    throw invalidRequest(
      'spenders.from',
      `Invalid 'spenders.from': \`${unknown.slice(0, 64)}\` is not a place where requests name spenders.`,
    )
  const { budget_usd: budget = null, budget_period: period = null } = rule
  if (budget !== null && !((parseUsd(budget) ?? 0) > 0))
    throw invalidRequest('spenders.budget_usd', "Invalid 'spenders.budget_usd': expected dollars above 0.")
  if ((budget === null) !== (period === null))
    throw invalidRequest(
      'spenders.budget_period',
      "'spenders.budget_usd' and 'spenders.budget_period' need each other.",
    )
}

function isSource(source: string): boolean {
  if ((USER_FIELDS as readonly string[]).includes(source) || TAG_SOURCE.test(source)) return true
  return HEADER_SOURCE.test(source) && !NOT_NAMES.has(source)
}
