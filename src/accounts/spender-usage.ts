// Names spenders in rows of usage, which have their ids. A deleted one has only its id.

import { isSpender, nameOfUsage, type Usage, type UsageDimension } from '../billing/reports/usage-report'
import type { Db } from '../db/db'
import { spenderNames } from './spenders'

/** The names of rows of usage by the dimensions that they are summed by; with a spender, also its id. */
export async function usageNaming(
  db: Db,
  usages: readonly Usage[],
  dimensions: readonly UsageDimension[],
): Promise<(used: Usage) => Record<string, string | null>> {
  const valuesOf = ({ name, second = '' }: Usage) => [name, second]
  const place = dimensions.indexOf('spender')
  const ids = place === -1 ? [] : [...new Set(usages.map((used) => valuesOf(used)[place] ?? ''))]
  const names = await spenderNames(db, ids.filter(isSpender))
  return (used) =>
    Object.fromEntries(
      dimensions.flatMap((dimension, index) => {
        const name = valuesOf(used)[index] ?? ''
        if (dimension !== 'spender') return [[dimension, nameOfUsage({ name }, dimension)]]
        return [
          [dimension, names.get(name) ?? name],
          ['spender_id', isSpender(name) ? name : null],
        ]
      }),
    )
}
