// Spenders over the admin API: tokens that act for keys, and users that requests name; listed, limited, revoked and forgotten. No
// answer contains a secret.

import { Type } from '@sinclair/typebox'
import { checkKeySettings, requireKey } from '../../accounts/key-changes'
import { findKey } from '../../accounts/keys'
import { spendersJson, spenderView } from '../../accounts/spender-json'
import { withDefaults } from '../../accounts/spender-rule'
import {
  findSpender,
  forgetSpender,
  listSpenders,
  revokeToken,
  type Spender,
  type SpenderSettings,
  updateSpender,
} from '../../accounts/spenders'
import { Nullable, OneOf, open } from '../../api-operation/operation'
import { plansOf } from '../../config/models/plans'
import { BUDGET_PERIODS } from '../../contract/budgets'
import { notFound } from '../../lib/errors'
import { formatUsd } from '../../lib/money'
import {
  changing,
  closedBody,
  limitOf,
  type OperationContext,
  operationsIn,
  optionalText,
  PageOf,
  pageOf,
  pageQuery,
  Text,
} from '../operation'
import { positiveAmountOf } from './accounts'

const operation = operationsIn('Spenders')
const SpenderReply = Type.Object(
  {
    key: Type.String({ description: 'The name of its key.' }),
    inherited: Type.Array(OneOf(['budget', 'requests_per_minute']), {
      description: 'Limits that are not its own: the rule of its key gives them, or the plan.',
    }),
    ...spenderView.schema.properties,
  },
  open,
)

/** Spenders with their effective limits. */
async function shown({ world: { db, now, config } }: OperationContext, spenders: readonly Spender[]) {
  const ids = [...new Set(spenders.map(({ keyId }) => keyId))]
  const keys = new Map(await Promise.all(ids.map(async (id) => [id, await findKey(db, id)] as const)))
  const plans = plansOf(config.plans)
  const limited = spenders.map((spender) => {
    const key = keys.get(spender.keyId)
    return withDefaults(spender, key?.spenders ?? null, plans.get(key?.planName ?? '')?.spenders)
  })
  const rows = await spendersJson(db, limited, now())
  return rows.map((row, index) => {
    const [own, { budgetNano, requestsPerMinute }] = [spenders[index] as Spender, limited[index] as Spender]
    const inherited: ('budget' | 'requests_per_minute')[] = []
    if (budgetNano !== own.budgetNano) inherited.push('budget')
    if (requestsPerMinute !== own.requestsPerMinute) inherited.push('requests_per_minute')
    return { key: keys.get(own.keyId)?.name ?? '', inherited, ...row }
  })
}

async function spenderOf({ world, params }: OperationContext): Promise<Spender> {
  const found = await findSpender(world.db, params.spender ?? '')
  if (!found) throw notFound('token', params.spender)
  return found
}

const list = operation({
  id: 'listSpenders',
  endpoint: 'GET /spenders',
  role: 'viewer',
  summary: 'Spenders',
  description:
    'Newest first: tokens of keys, and users that requests name, with what each has spent of its budget.',
  query: Type.Object({ ...pageQuery, key: optionalText('Only those of this key, by its name or id.') }),
  reply: PageOf(SpenderReply),
  async run(context, query) {
    const { db } = context.world
    const limit = limitOf(query)
    const keyId = query.key === undefined ? undefined : (await requireKey(db, query.key)).id
    const found = await listSpenders(db, { keyId, after: query.after, limit: limit + 1 })
    return pageOf(
      await shown(context, found),
      limit,
      (row) => row,
      ({ id }) => id,
    )
  },
})

/** The answer for one spender. */
async function oneShown(context: OperationContext, spender: Spender) {
  const [row] = await shown(context, [spender])
  if (!row) throw notFound('token', spender.id)
  return row
}

const show = operation({
  id: 'getSpender',
  endpoint: 'GET /spenders/{spender}',
  role: 'viewer',
  summary: 'One spender by its id',
  reply: SpenderReply,
  run: async (context) => oneShown(context, await spenderOf(context)),
})

const settings = {
  models: Type.Optional(Nullable(Type.Array(Text('Id of a model.'), { minItems: 1, maxItems: 1_000 }))),
  requests_per_minute: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: 1_000_000_000 }))),
  budget_usd: Type.Optional(Nullable(Text('Dollars.'))),
  budget_period: Type.Optional(
    Nullable(OneOf(BUDGET_PERIODS, { description: 'null: the budget is never renewed.' })),
  ),
}

const update = operation({
  id: 'updateSpender',
  endpoint: 'PATCH /spenders/{spender}',
  role: 'operator',
  summary: 'Change a spender',
  description: 'What is not named stays; null leaves it to the rule of its key.',
  body: Type.Object(settings, closedBody),
  reply: SpenderReply,
  async run(context, _query, body) {
    const before = await spenderOf(context)
    const budget =
      body.budget_usd === undefined ? before.budgetNano : body.budget_usd && positiveAmountOf(body.budget_usd)
    const after = {
      models: body.models === undefined ? before.models : body.models,
      requestsPerMinute:
        body.requests_per_minute === undefined ? before.requestsPerMinute : body.requests_per_minute,
      budgetNano: budget || null,
      budgetPeriod: !budget
        ? null
        : body.budget_period === undefined
          ? before.budgetPeriod
          : body.budget_period,
    }
    checkKeySettings(
      { models: body.models ?? null, budgetNano: null, budgetPeriod: null },
      context.world.config,
    )
    const db = changing(context, {
      action: 'spender.update',
      target: `spender:${before.id}`,
      before: limitsJson(before),
      after: limitsJson(after),
    })
    await updateSpender(db, before.id, after)
    return oneShown(context, await spenderOf(context))
  },
})

function limitsJson({ models, requestsPerMinute, budgetNano, budgetPeriod }: SpenderSettings): object {
  return {
    models,
    requests_per_minute: requestsPerMinute,
    budget_usd: budgetNano === null ? null : formatUsd(budgetNano),
    budget_period: budgetPeriod,
  }
}

const forget = operation({
  id: 'forgetSpender',
  endpoint: 'POST /spenders/{spender}/forget',
  role: 'operator',
  summary: 'Forget a spender',
  description: 'Its sums stay with its id; a token is revoked.',
  reply: SpenderReply,
  async run(context) {
    const { id } = await spenderOf(context)
    const db = changing(context, { action: 'spender.forget', target: `spender:${id}` })
    await forgetSpender(db, id, context.world.now())
    return oneShown(context, await spenderOf(context))
  },
})

const revoke = operation({
  id: 'revokeSpender',
  endpoint: 'POST /spenders/{spender}/revoke',
  role: 'operator',
  summary: 'Refuse a token permanently',
  reply: SpenderReply,
  async run(context) {
    const before = await spenderOf(context)
    const { name, hint } = before
    if (hint === null) throw notFound('token', before.id)
    const db = changing(context, {
      action: 'token.revoke',
      target: `key:${(await oneShown(context, before)).key}`,
      before: { id: before.id, name, hint },
    })
    await revokeToken(db, before.id, context.world.now())
    return oneShown(context, await spenderOf(context))
  },
})

export const spenderOperations = [list, show, update, forget, revoke]
