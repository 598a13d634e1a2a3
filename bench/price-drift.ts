// Processor time that the comparison with a vendor's own price adds to a request, in a loop: for a vendor that reports no price,
// and for one that does. Next to it, in the same run, the time of a whole charge by the price list, which every request needs
// anyway. Run it with `bun bench/price-drift.ts`. It must never log.

import { PriceDrifts } from '../src/billing/proofs/price-drift'
import type { Model } from '../src/contract/family'
import { tableNano, tariffOfJson } from '../src/contract/prices'

const ROUNDS = 5
const TIMES = 1_000_000
/** Processor time of a whole request without a stream, at 128 connections: docs/benchmarks.md. */
const REQUEST_US = 87
const SHARE_LIMIT = 0.01

const quantities = { input_token: 1_200, output_token: 300 }
const tariff = tariffOfJson('{"input_token":1250,"output_token":10000}')
const [table] = tariff.tables
const amounts = () => ({
  priceNano: tableNano(quantities, table),
  costNano: null,
  usageSource: 'upstream',
  table,
})
const model = { id: 'x', upstream: { name: 'x' }, isListPrice: true } as unknown as Model
const silent =
  '{"prompt_tokens":1200,"completion_tokens":300,"total_tokens":1500,"prompt_tokens_details":{"cached_tokens":0}}'
const priced = `${silent.slice(0, -1)},"cost":${amounts().priceNano / 1e9}}`

/** Nanoseconds of processor time for one call: the minimum of several rounds. */
function nanosecondsOf(work: () => void): number {
  let least = Number.POSITIVE_INFINITY
  for (let round = 0; round < ROUNDS; round++) {
    const before = process.cpuUsage()
    for (let time = 0; time < TIMES; time++) work()
    const { user, system } = process.cpuUsage(before)
    least = Math.min(least, ((user + system) * 1_000) / TIMES)
  }
  return least
}

const drifts = new PriceDrifts({
  now: Date.now,
  log: () => {
    throw new Error('the prices differ')
  },
})
/** Several usages in turn, so that nothing about one is cached. */
const noted = (usage: string) => {
  const usages = Array.from({ length: 64 }, (_, index) => usage.replace('{', `{"index":${index},`))
  let turn = 0
  return () => {
    turn = (turn + 1) % usages.length
    drifts.note({ request: 'r', model, usageJson: usages[turn] as string }, amounts)
  }
}
const rows: [name: string, nanoseconds: number][] = [
  ['no price in the usage', nanosecondsOf(noted(silent))],
  ['a price that is the same', nanosecondsOf(noted(priced))],
  ['the price by the list alone', nanosecondsOf(() => void amounts())],
]
for (const [name, nanoseconds] of rows) {
  const share = nanoseconds / 1_000 / REQUEST_US
  const verdict = share <= SHARE_LIMIT ? 'within' : 'above'
  console.log(
    `${name}: ${nanoseconds.toFixed(0)} ns, ${(share * 100).toFixed(2)} % of a request (${verdict} 1 %)`,
  )
}
