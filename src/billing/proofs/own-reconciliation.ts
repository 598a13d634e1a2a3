// Compares the prices that vendors reported for single requests with our price list, by model. It reads our own records and needs no
// file of the vendor. It must never write.

import type { Db, Row } from '../../db/db'
import { withWholeUsage } from '../reports/usage-form'
import { type Comparison, compareCharge, exceedsTolerance } from './price-drift'
import { settledPages } from './reconciliation'
import { COST_MEMBER } from './vendor-cost'

/** The requests of a model for which the vendor reported a price. Amounts in nano-dollars. */
export interface ComparedModel {
  model: string
  /** Whether costs were compared, or list prices before plans. A model that had both in a period has two rows. */
  basis: Comparison['basis']
  requests: number
  listNano: bigint
  vendorNano: bigint
  isApart: boolean
}

export interface OwnReconciliation {
  models: ComparedModel[]
  /** Requests whose vendor reported a price that cannot be compared: it is zero, or the usage was counted by the gateway. */
  notCompared: number
}

/**
 * Compares a period and sorts the result by model. `models` limits it to some models; absent: all models. `isListPrice` says
 * whether the price of a model is the one that its vendor lists.
 */
export async function reconcileOwn(
  db: Db,
  options: {
    since: number
    until: number
    tolerance: number
    models?: ReadonlyMap<string, unknown>
    isListPrice(model: string): boolean
  },
): Promise<OwnReconciliation> {
  const { models, tolerance, isListPrice } = options
  const sums = new Map<string, Omit<ComparedModel, 'isApart'>>()
  let notCompared = 0
  for await (const rows of settledPages(db, options, COLUMNS, NAMES_COST)) {
    for (const row of rows) {
      const model = row.model as string
      if (models && !models.has(model)) continue
      const compared = comparisonOf(row)
      if (!compared) notCompared++
      else add(sums, model, compared)
    }
  }
  const found = [...sums.values()].map((sum) => ({
    ...sum,
    isApart: exceedsTolerance(sum, isListPrice(sum.model), tolerance),
  }))
  return { models: found.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)), notCompared }
}

const COLUMNS = 'model, amount, shortfall, cost, usage, usage_shape, usage_source, ended_by, prices, ended_at'
/** Most vendors report no price; their usage is not read. */
const NAMES_COST = `coalesce(usage_shape, usage) like '%${COST_MEMBER}%'`

function comparisonOf(row: Row): Comparison | undefined {
  return compareCharge({
    pricesJson: row.prices as string | null,
    usageJson: withWholeUsage(row).usage as string | null,
    usageSource: row.usage_source as string | null,
    costNano: row.cost as number | null,
    amountNano: row.amount as number,
    shortfallNano: row.shortfall as number,
    endedBy: row.ended_by as string | null,
  })
}

function add(
  sums: Map<string, Omit<ComparedModel, 'isApart'>>,
  model: string,
  { basis, listNano, vendorNano }: Comparison,
): void {
  const name = nameOf({ model, basis })
  const sum = sums.get(name) ?? { model, basis, requests: 0, listNano: 0n, vendorNano: 0n }
  sums.set(name, {
    ...sum,
    requests: sum.requests + 1,
    listNano: sum.listNano + BigInt(listNano),
    vendorNano: sum.vendorNano + BigInt(vendorNano),
  })
}

function nameOf({ model, basis }: Pick<ComparedModel, 'model' | 'basis'>): string {
  return `${model} ${basis}`
}
