// Reports requests and payments, summed from the charges, which are the truth about money. It must never write.

import type { Db, Row } from '../db/db'
import { type KeyLimits, periodOf } from './limits'

export type UsageDimension = 'key' | 'account' | 'model'

export interface Usage {
  /** The key's name, the account or the model. */
  name: string
  requests: number
  /** Charges that have not ended. */
  running: number
  /** Charges that cost nothing: refused by the vendor, failed, or cut before any output. */
  released: number
  /** Charges paid by a count of the text, because the vendor gave no figures. */
  counted: number
  /** Charges paid by an estimate, because not even the text was complete. */
  estimated: number
  amountNano: number
  /** Prices that the accounts could not cover: the operator's loss, in nano-dollars. */
  shortfallNano: number
}

const names: Record<UsageDimension, string> = {
  key: 'coalesce((select name from keys where keys.id = charges.key_id), charges.key_id)',
  account: 'account',
  model: 'model',
}

/** Usage of requests that began at `since` or later, the most expensive first. */
export async function usageBy(db: Db, dimension: UsageDimension, since: number): Promise<Usage[]> {
  const rows = await db.query({
    sql: `select used_by, count(*) as requests,
        cast(sum(case when state = 'held' then 1 else 0 end) as bigint) as running,
        cast(sum(case when state = 'released' then 1 else 0 end) as bigint) as released,
        cast(sum(case when usage_source = 'counted' then 1 else 0 end) as bigint) as counted,
        cast(sum(case when usage_source = 'estimated' then 1 else 0 end) as bigint) as estimated,
        cast(sum(amount) as bigint) as amount, cast(sum(shortfall) as bigint) as shortfall
      from (select ${names[dimension]} as used_by, state, usage_source, amount, shortfall from charges
        where created_at >= $1) as used
      group by used_by order by amount desc, requests desc, used_by`,
    parameters: [since],
  })
  return rows.map(usageOfRow)
}

export function totalUsage(usages: readonly Usage[]): Usage {
  const sum = (field: Exclude<keyof Usage, 'name'>) => usages.reduce((all, usage) => all + usage[field], 0)
  return {
    name: 'total',
    requests: sum('requests'),
    running: sum('running'),
    released: sum('released'),
    counted: sum('counted'),
    estimated: sum('estimated'),
    amountNano: sum('amountNano'),
    shortfallNano: sum('shortfallNano'),
  }
}

/** The price of an ended charge. */
export interface Cost {
  amountNano: number
  usageSource: string | null
  endedBy: string | null
}

/** End of the id of a charge for a success after a failure, which is a further charge of the same request. */
const LATE = /:late$/

/**
 * The costs of requests by their ids: of those of an operation that began at `since` or later and whose charges have
 * ended. For requests that are answered before their charge ends, such as videos.
 */
export async function costsSince(db: Db, operation: string, since: number): Promise<Map<string, Cost>> {
  const rows = await db.query({
    sql: `select id, amount, usage_source, ended_by from ended_charges where operation = $1 and created_at >= $2
      order by ended_at`,
    parameters: [operation, since],
  })
  // The later of two charges is the one that may have been paid.
  return new Map(
    rows.map((row) => [
      (row.id as string).replace(LATE, ''),
      {
        amountNano: row.amount as number,
        usageSource: row.usage_source as string | null,
        endedBy: row.ended_by as string | null,
      },
    ]),
  )
}

/** A charge as people look at it. */
export interface ChargeView {
  id: string
  account: string
  keyId: string
  model: string
  operation: string
  state: 'held' | 'settled' | 'released'
  heldNano: number
  amountNano: number
  shortfallNano: number
  /** The price list that applied, and the vendor's usage, both as JSON. */
  pricesJson: string | null
  usageJson: string | null
  usageSource: string | null
  endedBy: string | null
  createdAt: number
  endedAt: number | null
}

/** The charges of a request: that of its answer, and that of a success which came late. */
export async function chargesOf(db: Db, id: string): Promise<ChargeView[]> {
  const rows = await db.query({
    sql: 'select * from charges where id in ($1, $2) order by created_at, id',
    parameters: [id, `${id}:late`],
  })
  return rows.map((row) => ({
    id: row.id as string,
    account: row.account as string,
    keyId: row.key_id as string,
    model: row.model as string,
    operation: row.operation as string,
    state: row.state as ChargeView['state'],
    heldNano: row.held as number,
    amountNano: row.amount as number,
    shortfallNano: row.shortfall as number,
    pricesJson: row.prices as string | null,
    usageJson: row.usage as string | null,
    usageSource: row.usage_source as string | null,
    endedBy: row.ended_by as string | null,
    createdAt: row.created_at as number,
    endedAt: row.ended_at as number | null,
  }))
}

/** Nano-dollars that a key has spent or holds of its budget in the current period. */
export async function budgetUsedNano(db: Db, key: KeyLimits, now: number): Promise<number> {
  if (key.budgetNano === null) return 0
  const rows = await db.query({
    sql: 'select committed from budgets where key_id = $1 and period = $2',
    parameters: [key.id, periodOf(key, now).name],
  })
  return (rows[0]?.committed as number | undefined) ?? 0
}

function usageOfRow(row: Row): Usage {
  return {
    name: row.used_by as string,
    requests: row.requests as number,
    running: row.running as number,
    released: row.released as number,
    counted: row.counted as number,
    estimated: row.estimated as number,
    amountNano: row.amount as number,
    shortfallNano: row.shortfall as number,
  }
}
