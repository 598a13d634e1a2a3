// Makes prices/<vendor>.json, the lists of models and prices that the gateway ships with, from two published sources. Run it with
// `bun run prices`, and review what changed with `git diff prices`. It must never write a list that a guard rejects.

import { join } from 'node:path'
import { priceLeaps } from '../../src/config/models/price-leaps'
import { listOf, type VendorList, withLeastPrices } from './entries'
import { type Accepted, withoutDisagreements } from './guards'
import { FIRST, type Opinion, readFirst, readSecond, SECOND } from './sources'
import { type Vendor, vendors } from './vendors'

const FOLDER = join(import.meta.dir, '../../prices')

const accepted: Accepted = await readJson('accepted', {})
const entries = await readFirst()
const lists = vendors.map((vendor) => ({ vendor, list: listOf(vendor, entries, FIRST.asOf) }))
const opinions = await readSecond(lists.flatMap(({ vendor, list }) => questionsOf(vendor, list)))
const checked = lists.map(({ vendor, list }) => ({
  kind: vendor.kind,
  list: withLeastPrices(withoutDisagreements(vendor.kind, list, opinionsOf(vendor, list), accepted), vendor),
}))

const problems: string[] = []
for (const { kind, list } of checked) problems.push(...priceLeaps(kind, await readJson(kind, list), list))
if (problems.length > 0 && !process.argv.includes('--accept-leaps')) {
  console.error(
    `Nothing was written. These prices leap; check them at the vendor, then run again with --accept-leaps:`,
  )
  console.error(problems.map((problem) => `  ${problem}`).join('\n'))
  process.exit(1)
}
for (const { kind, list } of checked) {
  await writeJson(kind, {
    kind,
    source: `${FIRST.name} ${FIRST.version}, ${SECOND.name} ${SECOND.version}`,
    fetchedAt: FIRST.asOf,
    ...list,
  })
  console.log(`${kind}: ${count(list.models)} models, ${count(list.refused)} left out`)
}

function questionsOf({ second }: Vendor, { models }: VendorList): { provider: string; model: string }[] {
  return second === undefined ? [] : Object.keys(models).map((model) => ({ provider: second, model }))
}

function opinionsOf({ second }: Vendor, { models }: VendorList): ReadonlyMap<string, Opinion> {
  return new Map(
    Object.keys(models).flatMap((id) => {
      const opinion = opinions.get(`${second}/${id}`)
      return opinion ? [[id, opinion] as const] : []
    }),
  )
}

async function readJson<Value>(name: string, otherwise: Value): Promise<Value> {
  const file = Bun.file(join(FOLDER, `${name}.json`))
  return (await file.exists()) ? file.json() : otherwise
}

async function writeJson(name: string, value: object): Promise<void> {
  await Bun.write(join(FOLDER, `${name}.json`), `${JSON.stringify(value, null, 1)}\n`)
}

function count(entries: object): number {
  return Object.keys(entries).length
}
