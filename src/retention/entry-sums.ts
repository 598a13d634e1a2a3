// Sums charges into the entries of a closing, from the lines of an archive: by owner, as written there. It must not know the
// database.

import type { ArchivedCharge } from '../billing/ledger/charge-rows'
import type { ClosingEntry, ClosingFigures } from '../billing/proofs/closings'
import { FIGURES } from '../billing/reports/usage-figures'

const NO_FIGURES: ClosingFigures = {
  requests: 0,
  released: 0,
  counted: 0,
  estimated: 0,
  amount: 0,
  shortfall: 0,
  cost: 0,
  costed: 0,
}

export class EntrySums {
  private readonly sums = new Map<string, ClosingFigures>()

  add(charge: ArchivedCharge): void {
    const name = JSON.stringify([
      charge.series,
      charge.account,
      charge.key_id,
      charge.model,
      charge.operation,
    ])
    let sum = this.sums.get(name)
    if (!sum) {
      sum = { ...NO_FIGURES }
      this.sums.set(name, sum)
    }
    sum.requests++
    if (charge.state === 'released') sum.released++
    if (charge.usage_source === 'counted') sum.counted++
    if (charge.usage_source === 'estimated') sum.estimated++
    sum.amount += charge.amount
    sum.shortfall += charge.shortfall
    sum.cost += charge.cost ?? 0
    if (charge.cost !== null) sum.costed += charge.amount
  }

  /** The entries in the order of their series. */
  entries(): ClosingEntry[] {
    const entries = [...this.sums].map(([name, sum]): ClosingEntry => {
      const of = JSON.parse(name) as [number, string, string, string, string]
      return [...of, ...FIGURES.map((figure) => sum[figure])]
    })
    return entries.toSorted(([one], [other]) => one - other)
  }
}
