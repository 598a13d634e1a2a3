// The checks of `gateway doctor` on models: those that their vendors retire by a day, who still uses them, and what replaces them.
// It must never change anything.

import { openRequestReader } from '../../src/app/request-store'
import { readDatabase } from '../../src/app/world'
import { rehearse } from '../../src/billing/rehearsal/rehearsal'
import { RehearsedPrices } from '../../src/billing/rehearsal/rehearsed-prices'
import { type Usage, usageBy } from '../../src/billing/reports/usage-report'
import { DAY_MS } from '../../src/billing/reports/usage-totals'
import { endingBefore } from '../../src/catalogue/retirement'
import type { Config } from '../../src/config/schema'
import type { Retirement } from '../../src/contract/retirement'
import type { Db } from '../../src/db/db'
import { isoDay } from '../../src/db/iso-time'
import { formatUsd } from '../../src/lib/money'
import { recordedQuantities } from '../../src/request-log/recorded-quantities'
import { listModels, modelFinder, type NamedModel } from '../configuration/catalogue'
import type { SettingsFlags } from '../configuration/settings'
import { counted } from '../view/counted'
import { type Finding, ok, warning } from './findings'

/** Days of use that are shown, and days before the end of a model at which it is worth a warning. */
const DAYS = 30

/** A model that is retired by a day, and its use in the last 30 days. */
export interface EndingModel {
  id: string
  retirement: Retirement
  /** The entry of the model that replaces it; undefined if none is named, or the named one is not served here. */
  successor: NamedModel | undefined
  requests: number
  amountNano: number
  accounts: readonly string[]
}

/** The use of a model in the last 30 days, priced as if its successor had served it. */
export interface SuccessorUse {
  amountNano: bigint
  /** Requests that keep their amount, because they cannot be priced by the successor's list. */
  notPriced: number
}

/** The models of the configuration that can be used and that end before a time, soonest first. */
export async function endingModels(
  config: Config,
  dataDir: string,
  flags: SettingsFlags,
  { now, before }: { now: number; before: number },
): Promise<EndingModel[]> {
  const usable = listModels(config, flags).flatMap(({ forms, reason }) => (reason === null ? [forms] : []))
  const ending = endingBefore(usable, before)
  if (ending.length === 0) return []
  const find = modelFinder(config)
  const used = await usesSince(config, dataDir, now - DAYS * DAY_MS)
  return ending
    .map(({ id, retirement }) => {
      const own = used.filter(({ name }) => name === id)
      return {
        id,
        retirement,
        successor: retirement.successor === undefined ? undefined : find(retirement.successor),
        requests: own.reduce((sum, { requests }) => sum + requests, 0),
        amountNano: own.reduce((sum, { amountNano }) => sum + amountNano, 0),
        accounts: own.flatMap(({ second }) => second ?? []),
      }
    })
    .sort((one, other) => one.retirement.at - other.retirement.at || other.requests - one.requests)
}

/** Use by model and account. Empty before the first start, and if the database is unreadable: its own finding says why. */
async function usesSince(config: Config, dataDir: string, since: number): Promise<Usage[]> {
  const read = readDatabase(config, dataDir, (db) => usageBy(db, 'model', { since }, 'account'))
  return (await read.catch(() => undefined)) ?? []
}

/** Prices the use of models by their successors, by the id of the model; absent if it has no use or no successor. */
export async function usesAtSuccessors(
  config: Config,
  dataDir: string,
  ending: readonly EndingModel[],
  now: number,
): Promise<ReadonlyMap<string, SuccessorUse>> {
  const wanted = ending.filter(({ requests, successor }) => requests > 0 && successor)
  const read = (db: Db) => priceAtSuccessors(db, config, dataDir, wanted, now)
  return (wanted.length > 0 && (await readDatabase(config, dataDir, read))) || new Map()
}

async function priceAtSuccessors(
  db: Db,
  config: Config,
  dataDir: string,
  ending: readonly EndingModel[],
  now: number,
): Promise<ReadonlyMap<string, SuccessorUse>> {
  const requests = openRequestReader({ db, dataDir })
  const uses = new Map<string, SuccessorUse>()
  const routes = new Map(ending.map(({ id, successor }) => [id, successor?.id ?? id]))
  const prices = new RehearsedPrices({ before: config, after: config, routes })
  try {
    for (const { id: model } of ending) {
      const { total } = await rehearse(db, {
        since: now - DAYS * DAY_MS,
        until: now,
        model,
        prices,
        recorded: (charges) => recordedQuantities({ db, requests }, charges),
      })
      uses.set(model, { amountNano: total.wouldPayNano, notPriced: total.kept })
    }
  } finally {
    await requests.close()
  }
  return uses
}

/** A warning for models that are used and end soon. */
export async function examineRetirements(
  config: Config,
  dataDir: string,
  flags: SettingsFlags,
  now: number,
): Promise<Finding> {
  const ending = await endingModels(config, dataDir, flags, { now, before: now + DAYS * DAY_MS })
  const used = ending.filter(({ requests }) => requests > 0)
  if (used.length === 0)
    return ok('retirements', `no model that was used in ${DAYS} days ends in the next ${DAYS}`)
  const found = used.map(
    ({ id, retirement, requests }) =>
      `${id} ends on ${isoDay(retirement.at)}, ${counted(requests, 'request')} in ${DAYS} days`,
  )
  return warning(
    'retirements',
    found.join('; '),
    `See gateway doctor --on ${isoDay(used.at(-1)?.retirement.at ?? now)}, and set onRetirement: 'successor' or another model.`,
  )
}

export function endingJson(
  { id, retirement, successor, requests, amountNano, accounts }: EndingModel,
  used: SuccessorUse | undefined,
) {
  return {
    model: id,
    retires: isoDay(retirement.at),
    hands_over: retirement.handsOver,
    successor: retirement.successor ?? null,
    successor_model: successor?.id ?? null,
    successor_price: successor?.entry.price ?? null,
    requests_30d: requests,
    paid_30d_usd: formatUsd(amountNano),
    accounts_30d: accounts,
    successor_paid_30d_usd: successor ? formatUsd(used?.amountNano ?? 0n) : null,
    not_priced_30d: used?.notPriced ?? 0,
  }
}
