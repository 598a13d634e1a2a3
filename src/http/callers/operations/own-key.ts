// The data that holders of keys may see about their key: GET /v1/me, /v1/usage and /v1/prices. A paused key may call these too: the
// answer says that it is paused. It must never write, or show another account, or another key of the same account.

import { type Static, Type } from '@sinclair/typebox'
import { keyView, keyWithMoneyJson } from '../../../accounts/key-json'
import { type Key, mayUse } from '../../../accounts/keys'
import { usageNaming } from '../../../accounts/spender-usage'
import { Nullable, OneOf } from '../../../api-operation/operation'
import { count, dollars, list, mapOf, maybeText, text } from '../../../api-operation/schemas'
import { periodOf } from '../../../billing/ledger/limits'
import {
  budgetUsedNano,
  totalUsage,
  usageBy,
  usageDimensionOf,
  usageJson,
} from '../../../billing/reports/usage-report'
import { DAY_MS } from '../../../billing/reports/usage-totals'
import { allowanceOf } from '../../../billing/selling/allowances'
import { cardOf } from '../../../catalogue/model-card'
import { formsFor, modelsOf } from '../../../catalogue/models'
import { lowBalanceOf } from '../../../config/events'
import type { DescribedPrices } from '../../../config/models/prices'
import { BUDGET_PERIODS } from '../../../contract/budgets'
import type { Model } from '../../../contract/family'
import { operations } from '../../../contract/operations'
import { isoTime } from '../../../db/iso-time'
import { invalidRequest } from '../../../lib/errors'
import { formatUsd } from '../../../lib/money'
import { lastCutOf } from '../../../request-log/last-cut'
import { csvResponse } from '../../csv'
import { periodOfQuery } from '../../query-time'
import { accountOf, accountUsed, spendByDay, spendTotals } from '../key-spend'
import { callerOperation } from '../operation'
import { voicesOf } from './audio-lists'

/** The default period of a usage report. */
const DEFAULT_DAYS = 30
/** Usage can be summed by these. */
const DIMENSIONS = 'model, operation, spender, day, hour, metadata.NAME'
/** Hours are listed for at most this many days. */
const MAX_HOURLY_DAYS = 31

/** Properties shared by all operations that show a holder its key. */
export const ownKey = { tag: 'Keys', mayRest: true, isPrivate: true } as const

const me = callerOperation(
  Type.Object({
    object: Type.Literal('key'),
    ...keyView.schema.properties,
    balance_usd: dollars,
    held_usd: dollars,
    available_usd: dollars,
    account_display_name: maybeText,
    plan: maybeText,
    account_budget_usd: maybeText,
    account_budget_period: Nullable(OneOf(BUDGET_PERIODS)),
    account_budget_used_usd: maybeText,
    allowance_usd: maybeText,
    allowance_ends_at: maybeText,
    budget_used_usd: maybeText,
    budget_renewed_at: maybeText,
    last_answer_cut: Nullable(Type.Object({ ended_by: Type.Literal('balance'), request: text, at: text }), {
      description:
        'The last answer of a day, if it was a stream that ended early because no more could be held.',
    }),
    spend_usd: Type.Object({ today: dollars, this_week: dollars, this_month: dollars, total: dollars }),
    low_balance_usd: Nullable(Type.String(), {
      description: 'The balance of the account is low below this; null if its operator has set no limit.',
    }),
    account_spend_by_day_usd: list(dollars, {
      description: 'Spend of the account on each of the last seven days in UTC, up to today.',
    }),
  }),
)({
  ...ownKey,
  id: 'getMe',
  endpoint: 'GET /v1/me',
  summary: 'This key',
  description: 'Its limits, what it has spent, and what its account has.',
  async run({ world: { db, requestLog, config, now }, key }) {
    const at = now()
    const [account, usedNano, accountUsedNano, allowance, spend, cut, byDay] = await Promise.all([
      accountOf(db, key),
      budgetUsedNano(db, key, at),
      accountUsed(db, key, at),
      allowanceOf(db, key.account, at),
      spendTotals(db, { keyId: key.id }, at),
      lastCutOf(requestLog, key.id, at),
      spendByDay(db, key.account, at),
    ])
    return {
      object: 'key',
      ...keyWithMoneyJson(key, account, at),
      models: usableModels(key, Object.keys(config.models)),
      account_display_name: account.displayName,
      plan: key.planName,
      account_budget_usd: key.accountBudget && formatUsd(key.accountBudget.amountNano),
      account_budget_period: key.accountBudget?.period ?? null,
      account_budget_used_usd: accountUsedNano === null ? null : formatUsd(accountUsedNano),
      allowance_usd: allowance ? formatUsd(allowance.amountNano) : null,
      allowance_ends_at: isoTime(allowance?.endsAt ?? null),
      budget_used_usd: key.budgetNano === null ? null : formatUsd(usedNano),
      budget_renewed_at: key.budgetNano === null ? null : isoTime(periodOf(key, at).endsAt),
      last_answer_cut: cut ? { ended_by: 'balance', request: cut.id, at: isoTime(cut.at) } : null,
      spend_usd: {
        today: formatUsd(spend.dayNano),
        this_week: formatUsd(spend.weekNano),
        this_month: formatUsd(spend.monthNano),
        total: formatUsd(spend.totalNano),
      },
      low_balance_usd: config.events ? formatUsd(lowBalanceOf(config.events, key.account)) : null,
      account_spend_by_day_usd: byDay.map((nano) => formatUsd(nano)),
    }
  },
})

/** Ids that a key may use by its own list and by its plan; null: all. */
function usableModels(key: Key, known: readonly string[]): string[] | null {
  const ids = key.models ?? known
  const usable = ids.filter((id) => mayUse(key, id))
  return key.models === null && usable.length === known.length ? null : usable
}

const used = {
  requests: count,
  running: count,
  released: count,
  counted: count,
  estimated: count,
  amount_usd: dollars,
  shortfall_usd: dollars,
}

const usage = callerOperation(
  Type.Object({
    object: Type.Literal('usage'),
    since: text,
    until: maybeText,
    by: text,
    rows: list(Type.Object(used)),
    total: Type.Object(used),
  }),
)({
  ...ownKey,
  id: 'getUsage',
  endpoint: 'GET /v1/usage',
  summary: 'Requests of this key, and what was paid for them',
  query: Type.Object(
    {
      by: Type.String({ default: 'model', description: `What to sum by: ${DIMENSIONS}.` }),
      since: Type.Optional(
        Type.String({
          description: `From this time in UTC, such as \`2026-10-01\`. Default: ${DEFAULT_DAYS} days ago.`,
        }),
      ),
      until: Type.Optional(Type.String({ description: 'Before this time.' })),
      format: Type.Optional(OneOf(['json', 'csv'], '`csv` is the rows as a file. Default `json`.')),
    },
    { additionalProperties: false },
  ),
  async run({ world: { db, now }, key }, query) {
    const at = now()
    const by = usageDimensionOf(query.by)
    if (!by || by === 'key' || by === 'account')
      throw invalidRequest('by', `Invalid 'by'. Supported values are: ${DIMENSIONS}.`)
    const period = periodOfQuery(query, at - DEFAULT_DAYS * DAY_MS)
    const { since, until } = period
    if (by === 'hour' && (until ?? at) - since > MAX_HOURLY_DAYS * DAY_MS)
      throw invalidRequest('since', `Hourly figures are listed for at most ${MAX_HOURLY_DAYS} days.`)
    const used = await usageBy(db, by, { ...period, keyId: key.id })
    const namesIn = await usageNaming(db, used, [by])
    const rows = used.map((each) => ({ ...namesIn(each), ...usageJson(each) }))
    const total = usageJson(totalUsage(used))
    if (query.format === 'csv') {
      const titles = Object.keys({ ...namesIn({ ...totalUsage([]), name: '' }), ...total })
      return csvResponse(`usage-by-${by}.csv`, titles, [rows], (row) => Object.values(row))
    }
    return { object: 'usage', since: isoTime(since), until: isoTime(until ?? null), by, rows, total }
  },
})

const PlainOptions = Type.Object({
  fields: list(text),
  sizes: Type.Optional(list(text)),
  durations: Type.Optional(
    Type.Object({ min: Type.Integer(), max: Type.Integer(), default: Type.Integer() }),
  ),
  dimensions: Type.Optional(
    Type.Union([list(Type.Integer()), Type.Object({ min: Type.Integer(), max: Type.Integer() })]),
  ),
  input: Type.Optional(list(text)),
  voices: Type.Optional(list(text)),
})

const prices = callerOperation(
  Type.Object({
    object: Type.Literal('list'),
    currency: Type.Literal('USD'),
    data: list(
      Type.Object({
        id: text,
        operations: list(OneOf(operations.map(({ name }) => name))),
        context_length: Nullable(Type.Integer(), {
          description: 'Tokens that it reads at most; 0 for a model that reads none.',
        }),
        pricing: mapOf(text, 'Dollars per unit, by the names used in model lists.'),
        prices: Nullable(Type.Unsafe<DescribedPrices>({ type: 'object' }), {
          description: 'The whole price list, as the configuration has it.',
        }),
        shutdown_date: Type.Optional(Type.String({ description: 'The day on which its vendor ends it.' })),
        successor: Type.Optional(Type.String({ description: 'The model that takes its place.' })),
        options: mapOf(PlainOptions, 'Options of a plain request besides its text, by operation.'),
        route: Type.Optional(list(text, { description: 'The models of a route.' })),
      }),
    ),
  }),
)({
  ...ownKey,
  id: 'getPrices',
  forTokens: true,
  endpoint: 'GET /v1/prices',
  summary: 'Prices of the models that this key may use',
  async run({ world: { catalogue }, key }) {
    const data = modelsOf(catalogue, key).flatMap(({ id }) => {
      const card = cardOf(catalogue, key, id)
      if (!card) return []
      const { operations, context_length: context, pricing, prices, shutdown_date: day, successor } = card
      const route = catalogue.routes.get(id)?.models
      const options = optionsOf((route ?? [id]).flatMap((each) => formsFor(catalogue, key, each)))
      return [
        {
          id,
          operations,
          context_length: context,
          pricing,
          prices: prices ?? null,
          ...(day !== undefined && { shutdown_date: day }),
          ...(successor !== undefined && { successor }),
          options,
          ...(route && { route }),
        },
      ]
    })
    return { object: 'list', currency: 'USD', data }
  },
})

/** Fields that a plain request may have next to its text, and their values if known, by operation. */
function optionsOf(forms: readonly Model[]) {
  const options: Record<string, Static<typeof PlainOptions>> = {}
  for (const model of forms) {
    const { family, sizes, durations, dimensions, inputModalities } = model
    options[family.operation] ??= {
      fields: family.plain.fields.filter((name) => name !== 'uploads'),
      ...(sizes && { sizes }),
      ...(durations && { durations }),
      ...(dimensions && { dimensions }),
      ...(inputModalities && { input: inputModalities }),
      ...(family.kind === 'speech' && { voices: voicesOf(model) }),
    }
  }
  return options
}

export const ownKeyOperations = [me, usage, prices]
