// Computes the price and the cost of a charge by another configuration, for its model or a substitute, at the prices of the
// account's plan. Pure. It must use nothing but the two configurations and the charge.

import { costListOf } from '../../config/models/costs'
import { plansOf } from '../../config/models/plans'
import { priceListOf } from '../../config/models/prices'
import { type Config, isRoute, type ModelConfig, sharesOf } from '../../config/schema'
import { type PriceList, type Tariff, tariffOfJson } from '../../contract/prices'
import type { Quantities } from '../../contract/units'
import type { ArchivedCharge } from '../ledger/charge-rows'
import {
  costOfUse,
  priceOfUse,
  type RecordedUse,
  recordedUse,
  type Unpriced,
  variantsStored,
} from './recorded-use'

export interface RehearsedWorld {
  /** The current configuration, by which stored prices are matched to sizes and upstreams. */
  before: Config
  /** The configuration with the prices to try. */
  after: Config
  /** Ids of substitutes by the id of the model that they replace. */
  routes: ReadonlyMap<string, string>
}

/** The result for a charge in nano-dollars; the cost is null if unknown. */
export type Rehearsed = { priceNano: number; costNano: number | null } | { keeps: Unpriced }

/** Price lists shared by all charges of a model and a plan. */
interface Sold {
  prices: PriceList
  /** The costs at each upstream of the model; undefined if unknown. */
  costs: readonly (readonly [upstream: string, list: PriceList | undefined])[]
  /** Current price lists of the model: without a plan, and with each plan. */
  before: readonly PriceList[]
  /** The current costs at each upstream. */
  costsBefore: ReadonlyMap<string, PriceList | undefined>
}

/** Prices charges by another configuration. Lists are built once and shared, so memory grows only with the number of models and plans. */
export class RehearsedPrices {
  private readonly plansBefore
  private readonly plansAfter
  private readonly sold = new Map<string, Sold | Unpriced>()
  private readonly tariffs = new Map<string, Tariff | undefined>()
  private readonly variants = new Map<string, readonly string[]>()

  constructor(private readonly world: RehearsedWorld) {
    this.plansBefore = plansOf(world.before.plans)
    this.plansAfter = plansOf(world.after.plans)
  }

  /** Prices a settled charge of an account with this plan. `recorded` are quantities from a task or the request log. */
  price(charge: ArchivedCharge, plan: string | null, recorded: Quantities | undefined): Rehearsed {
    const { prices, amount, shortfall, ended_by: endedBy, usage: usageJson } = charge
    const sold = this.soldBy(charge.model, plan)
    if (typeof sold === 'string') return { keeps: sold }
    const tariff = prices === null ? undefined : this.tariffOf(prices)
    if (!tariff) return { keeps: 'prices' }
    const use = recordedUse({ priceNano: amount + shortfall, endedBy, usageJson, recorded }, tariff)
    if (typeof use === 'string') return { keeps: use }
    const variants = () => this.variantsOf(charge, plan, tariff, sold)
    const priceNano = priceOfUse(use, sold.prices, variants)
    if (typeof priceNano !== 'number') return { keeps: priceNano }
    return { priceNano, costNano: costOf(atCostTier(use, tariff), charge, sold, variants) }
  }

  /** The stored prices; undefined if they cannot be read. */
  private tariffOf(json: string): Tariff | undefined {
    if (!this.tariffs.has(json)) this.tariffs.set(json, readTariff(json))
    return this.tariffs.get(json)
  }

  private variantsOf(
    { model, prices }: ArchivedCharge,
    plan: string | null,
    tariff: Tariff,
    { before }: Sold,
  ): readonly string[] {
    const name = `${model}\n${plan}\n${prices}`
    const names = this.variants.get(name) ?? variantsStored(tariff, before)
    this.variants.set(name, names)
    return names
  }

  private soldBy(model: string, plan: string | null): Sold | Unpriced {
    const name = `${model}\n${plan}`
    const sold = this.sold.get(name) ?? this.makeSold(model, plan)
    this.sold.set(name, sold)
    return sold
  }

  private makeSold(model: string, planName: string | null): Sold | Unpriced {
    const { before, after, routes } = this.world
    const id = routes.get(model) ?? model
    const entry = modelIn(after, id)
    if (!entry) return 'model'
    const plan = planName === null ? undefined : this.plansAfter.get(planName)
    if (planName !== null && !plan) return 'plan'
    const list = priceListOf(entry)
    const old = modelIn(before, model)
    const oldList = old && priceListOf(old)
    return {
      prices: plan ? plan.listed(id, list) : list,
      costs: sharesOf(entry).map(([upstream]) => [upstream, costListOf(entry, upstream)] as const),
      // The account may have had another plan at the time.
      before: oldList
        ? [oldList, ...[...this.plansBefore.values()].map((each) => each.listed(model, oldList))]
        : [],
      costsBefore: new Map(
        old ? sharesOf(old).map(([upstream]) => [upstream, costListOf(old, upstream)] as const) : [],
      ),
    }
  }
}

function readTariff(json: string): Tariff | undefined {
  try {
    return tariffOfJson(json)
  } catch {
    return undefined
  }
}

function modelIn({ models }: Config, id: string): ModelConfig | undefined {
  const entry = Object.hasOwn(models, id) ? models[id] : undefined
  return entry && !isRoute(entry) ? entry : undefined
}

/** The use at the tier of the stored cost: a cost may have tiers that the price lacks. */
function atCostTier(use: RecordedUse, { cost }: Tariff): RecordedUse {
  const [first, ...others] = cost?.tables ?? []
  if (!first || others.length > 0 || first.tier === use.table.tier) return use
  return { ...use, table: { ...use.table, tier: first.tier } }
}

/**
 * The cost at the vendor. Among several upstreams, only those whose current cost is the stored cost match, and all of these must
 * agree. Null if unknown.
 */
function costOf(
  use: RecordedUse,
  { cost }: ArchivedCharge,
  { costs, costsBefore }: Sold,
  variants: () => readonly string[],
): number | null {
  const nanoBy = (list: PriceList | undefined) => (list ? costOfUse(use, list, variants) : null)
  const asked = costs.filter(([upstream]) => cost !== null && nanoBy(costsBefore.get(upstream)) === cost)
  const found = new Set((asked.length > 0 ? asked : costs).map(([, list]) => nanoBy(list)))
  const [nano, ...others] = found
  return others.length === 0 && typeof nano === 'number' ? nano : null
}
