// Compares the usage that a vendor reports with the charges, by day and model. Charges name models of the gateway: several of them
// may be the same model of the vendor. It must never write.

import { STORED_SHARE } from '../../contract/prices'
import type { Db, Row } from '../../db/db'
import { isoDay } from '../../db/iso-time'
import {
  FIGURE_NAMES,
  type FigureName,
  type UsageFigures,
  type VendorUsage,
} from '../../lib/file-formats/vendor-usage'
import { asObject } from '../../lib/objects'
import { wholeUsageOf } from '../reports/usage-form'
import { positionsBetween } from '../reports/usage-totals'

/** A figure for a day and a model that differs between the two sides. */
export interface Difference {
  day: string
  model: string
  figure: FigureName
  vendor: number
  charged: number
}

export interface Reconciliation {
  differences: Difference[]
  /** Figures that were compared. */
  compared: number
  /** Figures missing from all files are absent. */
  vendor: UsageFigures
  charged: Required<UsageFigures>
  /** Charges whose tokens no vendor has reported: they were counted or estimated by the gateway. */
  withoutFigures: number
}

/** Number of charges per read. */
const PAGE = 5_000
/** Charges of answers from a vendor: those from the response cache have a share of the price in their tables. */
const SENT_TO_VENDOR = `coalesce(prices, '') not like '%${STORED_SHARE}%'`
const DAY_LENGTH = '2026-10-31'.length
const NOTHING: Required<UsageFigures> = { requests: 0, inputTokens: 0, outputTokens: 0, costNano: 0 }

type Table = Map<string, Required<UsageFigures>>

/**
 * Compares a period. `vendorNames` maps each model of the gateway to the vendor's name. A figure differs if it deviates by more
 * than `tolerance`, a share; a cost only if the vendor charges more than was charged here.
 */
export async function reconcile(
  db: Db,
  said: readonly VendorUsage[],
  options: { since: number; until: number; vendorNames: ReadonlyMap<string, string>; tolerance: number },
): Promise<Reconciliation> {
  const { vendorNames, tolerance } = options
  const known = new Set(vendorNames.values())
  const vendor: Table = new Map()
  const has = new Set(FIGURE_NAMES.filter((name) => said.some((row) => row[name] !== undefined)))
  for (const { day, model, ...figures } of said) add(vendor, day, plainName(model, known), figures)
  const { charged, withoutFigures } = await chargedFigures(db, options)
  const differences: Difference[] = []
  const places = [...new Set([...vendor.keys(), ...charged.keys()])].sort()
  for (const place of places) {
    const [day, model] = [place.slice(0, DAY_LENGTH), place.slice(DAY_LENGTH + 1)]
    for (const figure of has) {
      const [one, other] = [vendor.get(place)?.[figure] ?? 0, charged.get(place)?.[figure] ?? 0]
      const apart = figure === 'costNano' ? one - other : Math.abs(one - other)
      if (apart > Math.max(one, other) * tolerance)
        differences.push({ day, model, figure, vendor: one, charged: other })
    }
  }
  return {
    differences,
    compared: places.length * has.size,
    vendor: Object.fromEntries(Object.entries(sumOf(vendor)).filter(([name]) => has.has(name as FigureName))),
    charged: sumOf(charged),
    withoutFigures,
  }
}

/** A vendor's name with a date, such as `model-2026-04-14`; without the date if only that name is known. */
function plainName(name: string, known: ReadonlySet<string>): string {
  const undated = name.replace(/-(\d{4}-\d\d-\d\d|\d{8})$/, '')
  return known.has(name) || !known.has(undated) ? name : undated
}

async function chargedFigures(
  db: Db,
  { since, until, vendorNames }: { since: number; until: number; vendorNames: ReadonlyMap<string, string> },
): Promise<{ charged: Table; withoutFigures: number }> {
  const charged: Table = new Map()
  let withoutFigures = 0
  const columns = 'model, amount + shortfall as price, usage, usage_shape, ended_at'
  for await (const rows of settledPages(db, { since, until }, columns, SENT_TO_VENDOR)) {
    for (const row of rows) {
      const model = vendorNames.get(row.model as string)
      if (model === undefined) continue
      const tokens = tokensOf(row)
      if (!tokens) withoutFigures++
      const day = isoDay(row.ended_at as number)
      const figures = { requests: 1, costNano: row.price as number, ...tokens }
      add(charged, day, model, figures)
    }
  }
  return { charged, withoutFigures }
}

/** The settled charges of a period, a page at a time. `columns` and `condition` are SQL of `charge_history`. */
export async function* settledPages(
  db: Db,
  { since, until }: { since: number; until: number },
  columns: string,
  condition = '1 = 1',
): AsyncGenerator<Row[]> {
  for (const [from, to] of await positionsBetween(db, since, until)) {
    for (let after = from; after < to; after += PAGE) {
      yield await db.query({
        sql: `select ${columns} from charge_history where position > $1 and position <= $2
          and ended_at >= $3 and ended_at < $4 and state = 'settled' and ${condition}`,
        parameters: [after, Math.min(after + PAGE, to), since, until],
      })
    }
  }
}

/** The tokens of a vendor's usage object, with those of its caches. */
function tokensOf({
  usage,
  usage_shape: shape,
}: Row): Pick<UsageFigures, 'inputTokens' | 'outputTokens'> | undefined {
  if (usage === null) return undefined
  const figures = asObject(
    JSON.parse(wholeUsageOf({ shape: shape as string | null, figures: usage as string })),
  )
  const sum = (...names: string[]) => names.reduce((all, name) => all + countOfTokens(figures[name]), 0)
  const inputTokens =
    figures.prompt_tokens === undefined
      ? sum('input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens')
      : sum('prompt_tokens')
  return {
    inputTokens,
    outputTokens: sum(figures.completion_tokens === undefined ? 'output_tokens' : 'completion_tokens'),
  }
}

function countOfTokens(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}

function add(table: Table, day: string, model: string, figures: UsageFigures): void {
  const sums = table.get(`${day} ${model}`) ?? { ...NOTHING }
  for (const name of FIGURE_NAMES) sums[name] += figures[name] ?? 0
  table.set(`${day} ${model}`, sums)
}

function sumOf(table: Table): Required<UsageFigures> {
  const sums = { ...NOTHING }
  for (const figures of table.values()) for (const name of FIGURE_NAMES) sums[name] += figures[name]
  return sums
}
