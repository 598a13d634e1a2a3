// Plans: the models that accounts of a group may use, their limits and their prices. The price of a plan must be the one that is
// quoted, held, charged and shown: all of them read it from the model that the plan returns.

import { type Static, Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import type { Budget } from '../../contract/budgets'
import type { Model, ResponseCaching } from '../../contract/family'
import { FACTOR_DECIMALS, type PriceList, tariffOfVariant, timesFactor } from '../../contract/prices'
import { parseDecimal, parseUsd } from '../../lib/money'
import { Count, closed, optionalSetting, requiredSetting } from '../../lib/setting'
import { CacheRule, cacheRuleFaults, cachingOf } from './response-cache'

export const AmountEntry = Type.Object(
  {
    usd: requiredSetting('Dollars: `"100"`.', Type.String()),
    per: requiredSetting(
      'A calendar period in UTC.',
      Type.Union([Type.Literal('day'), Type.Literal('week'), Type.Literal('month')]),
    ),
  },
  closed,
)

export const PlanEntry = Type.Object(
  {
    priceFactor: optionalSetting(
      'The factor on each price that its accounts pay: `0.9`. Default 1.',
      Type.String(),
    ),
    priceFactors: optionalSetting(
      'The same for models by their ids, instead of `priceFactor`: `{ "small-*": "0.8" }`. A star at the end matches every id that begins so. An exact id takes precedence over a star, then the longest name.',
      Type.Record(Type.String(), Type.String()),
    ),
    models: optionalSetting(
      'The only models and routes that its accounts may use, by their ids; a star at the end matches every id that begins so. A key may allow fewer. Default: all.',
      Type.Array(Type.String({ minLength: 1 }), { minItems: 1 }),
    ),
    requestsPerMinute: optionalSetting(
      'Requests per minute of each key. A key may have a lower limit.',
      Count,
    ),
    tokensPerMinute: optionalSetting('Tokens per minute of each key. A key may have a lower limit.', Count),
    concurrency: optionalSetting('Running requests of each key. A key may have a lower limit.', Count),
    budget: optionalSetting(
      "Spending limit of each account per period, for all its keys together. The account's own budget replaces it.",
      AmountEntry,
    ),
    allowance: optionalSetting(
      'Amount credited to each account in each period. The unspent rest is taken back when the period ends.',
      AmountEntry,
    ),
    spenders: optionalSetting(
      "Limits of each spender below its keys, unless the key's rule or the spender has its own.",
      Type.Object(
        {
          budget: optionalSetting('Spending limit of each per period.', AmountEntry),
          requestsPerMinute: optionalSetting('The most requests of each a minute.', Count),
          mostNewPerDay: optionalSetting('New spenders of a key a day. Default 1,000.', Count),
        },
        closed,
      ),
    ),
    cache: optionalSetting(
      'The [response cache](operate/response-cache.md) of its accounts, for all models: `{ ttl: "1h", price: "0.1" }`, or `false` for none. It replaces the `cache` of models, and the cache rule of a key replaces it.',
      CacheRule,
    ),
  },
  closed,
)

/** Defaults for spenders. A setting is null if the operator has not set it. */
export interface SpenderDefaults {
  budget: Budget | null
  requestsPerMinute: number | null
  mostNewPerDay: number | null
}

export interface Plan {
  name: string
  requestsPerMinute: number | null
  tokensPerMinute: number | null
  concurrency: number | null
  budget: Budget | null
  allowance: Budget | null
  spenders: SpenderDefaults
  /** How answers are cached, regardless of the model's setting; false for not at all, null if the model decides. */
  cache: ResponseCaching | false | null
  mayUse(modelId: string): boolean
  /** The model at the price of the plan. The same object each time, because tariffs are made once. */
  priced(model: Model): Model
  /** The price list of a model for accounts of the plan. */
  listed(modelId: string, prices: PriceList): PriceList
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/

/** Faults of the plans of a configuration, except those that the schema reports. */
export function planFaults(plans: unknown, models: ReadonlyMap<string, unknown>): string[] {
  if (typeof plans !== 'object' || plans === null) return []
  return Object.entries(plans).flatMap(([name, entry]) => {
    const place = `plans.${name}`
    if (!NAME.test(name)) return [`${place}: a plan has small letters, digits, dots and dashes`]
    if (!Check(PlanEntry, entry)) return []
    const { priceFactor, priceFactors = {}, models: used = [], cache = false } = entry
    const ids = [...models.keys()]
    const known = (id: string) => ids.some((each) => matches(id, each))
    return [
      ...factorFaults(`${place}.priceFactor`, priceFactor),
      ...Object.entries(priceFactors).flatMap(([id, factor]) => [
        ...(known(id) ? [] : [`${place}.priceFactors.${id}: there is no such model`]),
        ...factorFaults(`${place}.priceFactors.${id}`, factor),
      ]),
      ...used.flatMap((id) => (known(id) ? [] : [`${place}.models: there is no model "${id}"`])),
      ...amountFaults(`${place}.budget`, entry.budget),
      ...amountFaults(`${place}.allowance`, entry.allowance),
      ...amountFaults(`${place}.spenders.budget`, entry.spenders?.budget),
      ...cacheRuleFaults(cache).map((fault) => `${place}${fault}`),
    ]
  })
}

function amountFaults(place: string, entry: Static<typeof AmountEntry> | undefined): string[] {
  if (!entry || (parseUsd(entry.usd) ?? 0) > 0) return []
  return [`${place}.usd: "${entry.usd}" is not an amount of dollars, such as "100"`]
}

function factorFaults(place: string, factor: string | undefined): string[] {
  if (factor === undefined) return []
  const parts = parseDecimal(factor, FACTOR_DECIMALS)
  // A factor must not make anything free: a model without a price must say so itself.
  if (typeof parts === 'bigint' && parts > 0n) return []
  return [`${place}: "${factor}" is not a factor such as "0.9", with at most ${FACTOR_DECIMALS} decimals`]
}

/** The plans of a valid configuration, by name. */
export function plansOf(plans: Readonly<Record<string, PlanEntry>> = {}): ReadonlyMap<string, Plan> {
  return new Map(Object.entries(plans).map(([name, entry]) => [name, planOf(name, entry)]))
}

/** The budgets that the plans of a valid configuration give to each of their accounts, by the name of the plan. */
export function budgetsOf(plans: Readonly<Record<string, PlanEntry>> = {}): ReadonlyMap<string, Budget> {
  return new Map(
    Object.entries(plans).flatMap(([name, entry]) => {
      const budget = amountOf(entry.budget)
      return budget ? [[name, budget]] : []
    }),
  )
}

export type PlanEntry = Static<typeof PlanEntry>

function planOf(name: string, entry: PlanEntry): Plan {
  const { models, priceFactor, priceFactors = {} } = entry
  const factors = Object.entries(priceFactors).sort(([one], [other]) => other.length - one.length)
  const exact = new Map(factors)
  const factorOf = (id: string) =>
    exact.get(id) ?? factors.find(([pattern]) => matches(pattern, id))?.[1] ?? priceFactor
  const known = new WeakMap<Model, Model>()
  return {
    name,
    requestsPerMinute: entry.requestsPerMinute ?? null,
    tokensPerMinute: entry.tokensPerMinute ?? null,
    concurrency: entry.concurrency ?? null,
    budget: amountOf(entry.budget),
    allowance: amountOf(entry.allowance),
    spenders: {
      budget: amountOf(entry.spenders?.budget),
      requestsPerMinute: entry.spenders?.requestsPerMinute ?? null,
      mostNewPerDay: entry.spenders?.mostNewPerDay ?? null,
    },
    cache: entry.cache === undefined ? null : entry.cache && cachingOf(entry.cache),
    mayUse: (modelId) => models?.some((pattern) => matches(pattern, modelId)) ?? true,
    listed: (modelId, prices) => atFactor(prices, factorOf(modelId)),
    priced(model) {
      const found = known.get(model) ?? pricedBy(model, factorOf(model.id))
      known.set(model, found)
      return found
    },
  }
}

/** The model at a factor of its price. The vendor's price does not change. */
function pricedBy(model: Model, factor: string | undefined): Model {
  const priceList = atFactor(model.priceList, factor)
  if (priceList === model.priceList) return model
  return { ...model, priceList, tariff: tariffOfVariant(priceList, [], model.costList) }
}

function atFactor(prices: PriceList, factor: string | undefined): PriceList {
  if (factor === undefined || prices.isFree) return prices
  return timesFactor(prices, parseDecimal(factor, FACTOR_DECIMALS) as bigint)
}

function amountOf(entry: Static<typeof AmountEntry> | undefined): Budget | null {
  return entry ? { amountNano: parseUsd(entry.usd) as number, period: entry.per } : null
}

/** Whether a name, or a prefix with a star, matches an id. */
function matches(pattern: string, id: string): boolean {
  return pattern.endsWith('*') ? id.startsWith(pattern.slice(0, -1)) : id === pattern
}
