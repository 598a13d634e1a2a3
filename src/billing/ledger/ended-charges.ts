// How an ended charge is stored: once, in a short form, as the row that is also its ledger entry. What it shares with
// other charges is stored in separate tables. A row must never change.

import { strict as assert } from 'node:assert'
import { type EndedBy, endsAtHold } from '../../contract/failures'
import type { Db, Row, Statement } from '../../db/db'
import { assertNano } from '../../lib/money'
import type { Charge, Settlement, UsageSource } from './ledger'
import { referencesOf, type StoredUsage } from './shared-rows'

/** Words that a stored charge replaces by their indexes in these lists. The view `charges` translates them back. */
const USAGE_SOURCES: readonly UsageSource[] = ['upstream', 'counted', 'estimated']
const ENDINGS: readonly EndedBy[] = [
  'done',
  'balance',
  'client',
  'upstream',
  'timeout',
  'shutdown',
  'expired',
]
const STATES = ['released', 'settled'] as const

/** The index of an end in the list. The ledger does not distinguish streams that ended at the hold. */
function placeOf(endedBy: EndedBy): number {
  return ENDINGS.indexOf(endsAtHold(endedBy) ? 'balance' : endedBy)
}

/** The end as the ledger stores it. */
export function bookedEnding(endedBy: EndedBy): string | null {
  return ENDINGS[placeOf(endedBy)] ?? null
}

/** The end of a charge as the caller knows it. A charge that costs nothing has no source of usage. */
type ChargeEnding = Pick<Settlement, 'costNano' | 'endedBy' | 'endedAt'> &
  Partial<Pick<Settlement, 'usageJson' | 'usageSource'>>

/** The words of a row that are stored as indexes. */
export function describeCodes(row: Row): { state: string; usage_source: string | null; ended_by: string } {
  return {
    state: STATES[row.state as number] ?? 'impossible',
    usage_source: row.usage_source === null ? null : (USAGE_SOURCES[row.usage_source as number] ?? null),
    ended_by: ENDINGS[row.ended_by as number] ?? 'impossible',
  }
}

/** The row of an ended charge by its columns, without the amounts. */
export type EndedRow = {
  id: string
  series: number
  price_list: number
  state: number
  held: number
  usage_shape: number | null
  usage: string | null
  usage_source: number | null
  ended_by: number
  created_at: number
  ended_at: number
  cost: number | null
}

/** Makes the row of a charge. It is a promise only if something appears for the first time. */
export function endedRow(
  db: Db,
  charge: Charge,
  state: (typeof STATES)[number],
  ending: ChargeEnding,
): EndedRow | Promise<EndedRow> {
  const references = referencesOf(db)
  const series = references.seriesId(charge)
  const priceList = references.priceListId(charge.pricesJson)
  if (typeof series !== 'number' || typeof priceList !== 'number') {
    return Promise.all([series, priceList]).then(() => endedRow(db, charge, state, ending))
  }
  const places = { state: STATES.indexOf(state), series, price_list: priceList }
  const { usageJson = null } = ending
  const usage = usageJson === null ? NO_USAGE : references.usage(series, usageJson)
  if (usage instanceof Promise) return usage.then((stored) => rowOf(charge, ending, places, stored))
  return rowOf(charge, ending, places, usage)
}

const NO_USAGE: StoredUsage = { usageShape: null, usage: null }

function rowOf(
  charge: Charge,
  { costNano = null, usageSource, endedBy, endedAt }: ChargeEnding,
  { state, series, price_list }: Pick<EndedRow, 'state' | 'series' | 'price_list'>,
  { usageShape, usage }: StoredUsage,
): EndedRow {
  if (costNano !== null) {
    assertNano(costNano)
    assert(costNano >= 0, 'a vendor asks for nothing or more')
  }
  return {
    id: charge.id,
    series,
    price_list,
    state,
    held: charge.heldNano,
    usage_shape: usageShape,
    usage,
    usage_source: usageSource === undefined ? null : USAGE_SOURCES.indexOf(usageSource),
    ended_by: placeOf(endedBy),
    created_at: charge.createdAt,
    ended_at: endedAt,
    cost: costNano,
  }
}

export const ENDED_COLUMNS =
  'id, series, price_list, state, held, amount, shortfall, usage_shape, usage, usage_source, ended_by, created_at, ended_at, cost'

/** A constant: a text that is built each time would be parsed each time to find its prepared statement. */
const INSERT_ENDED = `insert into ended_charges (${ENDED_COLUMNS})
  values ($1, $2, $3, $4, $5, $6, 0, $7, $8, $9, $10, $11, $12, $13)`

/** The charge's permanent row, which is also its ledger entry. */
export function insertEnded(amountNano: number, row: EndedRow): Statement {
  return {
    sql: INSERT_ENDED,
    parameters: [
      row.id,
      row.series,
      row.price_list,
      row.state,
      row.held,
      amountNano,
      row.usage_shape,
      row.usage,
      row.usage_source,
      row.ended_by,
      row.created_at,
      row.ended_at,
      row.cost,
    ],
  }
}
