// Rehearses all charges of a test's gateway at their original prices, as an operator would: no charge may differ. Tests with many
// kinds of requests end with it.

import { expect } from 'bun:test'
import { rehearse } from '../../src/billing/rehearsal/rehearsal'
import { RehearsedPrices } from '../../src/billing/rehearsal/rehearsed-prices'
import { recordedQuantities } from '../../src/request-log/recorded-quantities'
import type { TestGateway } from './gateway'

/** The settled charges that were priced again. */
export interface RehearsedCount {
  priced: number
  settled: number
}

/** Fails if anything differs. `withoutLog` is a gateway whose request log was deleted. */
export async function expectSamePrices(
  { server: { world } }: TestGateway,
  { withoutLog = false }: { withoutLog?: boolean } = {},
): Promise<RehearsedCount> {
  const { db, config, requestLog } = world
  await requestLog.flush()
  const requests = withoutLog ? { list: async () => ({ rows: [], next: null, looked: null }) } : requestLog
  let settled = 0
  const { total } = await rehearse(db, {
    since: 0,
    until: Number.MAX_SAFE_INTEGER,
    prices: new RehearsedPrices({ before: config, after: config, routes: new Map() }),
    recorded: (charges) => {
      settled += charges.length
      return recordedQuantities({ db, requests }, charges)
    },
  })
  expect({ differ: total.wouldPayNano - total.paidNano, refused: total.refused }).toEqual({
    differ: 0n,
    refused: 0,
  })
  return { priced: settled - total.kept, settled }
}
