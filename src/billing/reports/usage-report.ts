// Reports requests and payments, summed from the charges, which are the authoritative records of money. It must never write.

import { METADATA_NAME } from '../../config/usage'
import { DatabaseUnavailable, type Db, type Row, type Statement, type Value } from '../../db/db'
import { jsonOfColumn } from '../../db/json-column'
import { formatUsd } from '../../lib/money'
import { type KeyLimits, periodOf } from '../ledger/limits'
import { OTHER_METADATA } from '../ledger/shared-rows'
import { type ClosedPart, closedPart } from '../proofs/closings'
import { FIGURES, SUMS } from './usage-figures'
import { withWholeUsage } from './usage-form'
import { DAY_MS, firstPositionSince, HOUR_MS, markOf, totalsOfSeries, totalsWithin } from './usage-totals'

export const usageDimensions = ['key', 'account', 'spender', 'model', 'operation', 'day', 'hour'] as const
/** A dimension of all requests, or a name of their metadata: `metadata.team`. */
export type UsageDimension = (typeof usageDimensions)[number] | MetadataDimension
/** Dimensions in the metadata of a request, to which the gateway itself adds the id of the spender. */
type MetadataDimension = 'spender' | `metadata.${string}`
/** The form of a dimension that is a name of metadata. */
export const METADATA_DIMENSION = new RegExp(`^metadata\\.${METADATA_NAME}$`)

/** The dimension in a text; undefined if it is not one. */
export function usageDimensionOf(text: string): UsageDimension | undefined {
  if (METADATA_DIMENSION.test(text)) return text as MetadataDimension
  return usageDimensions.find((each) => each === text)
}

export type Usage = ReturnType<typeof usageOfRow>

function usageOfRow(row: Row) {
  return {
    /** The key's name, the account, the spender's id, the model or the operation; for days and hours, their start in milliseconds. */
    name: String(row.used_by),
    /** The name in a second dimension; absent if usage is summed by one. */
    ...(row.then_by !== null && { second: String(row.then_by) }),
    requests: row.requests as number,
    /** Charges that have not ended. */
    running: row.running as number,
    /** Charges of zero: refused by the vendor, failed, or cut before any output. */
    released: row.released as number,
    /** Charges by a count of the text, because the vendor gave no figures. */
    counted: row.counted as number,
    /** Charges by an estimate, because not even the text was complete. */
    estimated: row.estimated as number,
    amountNano: row.amount as number,
    /** Prices that the accounts could not cover: the operator's loss, in nano-dollars. */
    shortfallNano: row.shortfall as number,
    /** The sum that vendors charge, as far as their prices are known. For operators only. */
    costNano: row.cost as number,
    /** The part of `amountNano` that was paid for requests whose cost is known: minus the cost, it is the margin. */
    costedNano: row.costed as number,
  }
}

/** The period that counts, from (inclusive) and before, in milliseconds since 1970. */
export interface UsagePeriod {
  since: number
  /** Absent: everything until now, including running requests. */
  until?: number
  /** Only charges of this key, by its id, or of this account. Absent: all. */
  keyId?: string
  account?: string
  /** Only charges of these accounts. Absent: all. */
  accounts?: readonly string[]
}

const names: Record<Exclude<(typeof usageDimensions)[number], 'spender'>, string> = {
  key: 'coalesce((select name from keys where keys.id = key_id), key_id)',
  account: 'account',
  model: 'model',
  operation: 'operation',
  day: `at - at % ${DAY_MS}`,
  hour: `at - at % ${HOUR_MS}`,
}

/** Columns that charges of a series have in common. Looking up the series for each total would take longer than reading the total. */
const SERIES = 'account, key_id, model, operation, metadata_id'
const RUNNING_SERIES = 'account, key_id, model, operation, coalesce(metadata_id, 0)'

/** How often a report is repeated because charges were added to the totals meanwhile. */
const TRIES = 20

/**
 * Usage of requests that ended in a period, the most expensive first, or days and hours in order: from the totals, and from the
 * charges that these lack or that are in partial hours at both ends. If charges are closed, a period begins and ends with the hour
 * that contains its time.
 */
export async function usageBy(
  db: Db,
  dimension: UsageDimension,
  period: UsagePeriod,
  second?: UsageDimension,
): Promise<Usage[]> {
  if (period.accounts?.length === 0) return []
  for (let attempt = 0; attempt < TRIES; attempt++) {
    const [mark, closed] = [await markOf(db), await closedPart(db)]
    const counted = inWholeHours(period, closed)
    // This part matches nothing, for a partial hour that is closed; a statement needs at least one part.
    if (counted.until !== undefined && counted.until <= counted.since) return []
    const rows = await db.query(await usageStatement(db, [dimension, second], counted, mark))
    // One statement reads one snapshot of the database: if both are the same in it, each charge was counted once.
    const isSame = rows.every((row) => row.mark === mark && row.closed === closed.position)
    if (isSame) return byValue(rows.map(usageOfRow), dimension, second).toSorted(orderOf(dimension))
  }
  throw new DatabaseUnavailable('the totals of usage change all the time')
}

function inWholeHours(period: UsagePeriod, { endedBefore }: ClosedPart): UsagePeriod {
  const within = (at: number) => (at < endedBefore ? at - (((at % HOUR_MS) + HOUR_MS) % HOUR_MS) : at)
  const { since, until } = period
  return { ...period, since: within(since), ...(until !== undefined && { until: within(until) }) }
}

async function usageStatement(
  db: Db,
  [dimension, second]: readonly [UsageDimension, UsageDimension | undefined],
  { since, until = Number.MAX_SAFE_INTEGER, keyId, account, accounts }: UsagePeriod,
  mark: number,
): Promise<Statement> {
  const parameters: Value[] = []
  const value = (parameter: Value) => `$${parameters.push(parameter)}`
  const owners = Object.entries({ account, key_id: keyId }).flatMap(([column, wanted]) =>
    wanted === undefined ? [] : [`${column} = ${value(wanted)}`],
  )
  if (accounts) owners.push(`account in (${accounts.map(value).join(', ')})`)
  const isOwned = owners.join(' and ')
  const dimensions = second === undefined ? [dimension] : [dimension, second]
  const isOfTime = dimensions.every(isTime)
  const sums = FIGURES.map((name) => `cast(sum(${name}) as bigint) as ${name}`)
  // Without a period, each part is summed by itself: otherwise all rows of its totals would be passed to the next step.
  const [summed, groups] = dimensions.some(isTime)
    ? [`select series, start as at, ${FIGURES.join(', ')}`, '']
    : [`select series, 0 as at, ${sums.join(', ')}`, ' group by series']
  const parts: string[] = []
  const totals = (span: number, from: number, to: number) => {
    if (from >= to) return
    const within = { span, from: value(from), to: value(to) }
    const source = isOwned === '' ? totalsWithin(within) : totalsOfSeries(db.kind, isOwned, within)
    parts.push(`${summed} from ${source}${groups}`)
  }
  const charges = (from: number, to: number, after: number, last: number) => {
    if (from >= to || after >= last) return
    parts.push(`select series, ended_at - ended_at % ${HOUR_MS} as at, ${SUMS} from ended_charges
      where position > ${value(after)} and position <= ${value(last)}
        and ended_at >= ${value(from)} and ended_at < ${value(to)}
        ${isOwned && `and series in (select id from charge_series where ${isOwned})`} group by 1, 2`)
  }
  const firstHour = Math.min(Math.ceil(since / HOUR_MS) * HOUR_MS, until)
  const lastHour = Math.max(firstHour, until - (until % HOUR_MS))
  const firstDay = Math.ceil(firstHour / DAY_MS) * DAY_MS
  const lastDay = dimensions.includes('hour') ? 0 : lastHour - (lastHour % DAY_MS)
  if (firstDay < lastDay) {
    totals(HOUR_MS, firstHour, firstDay)
    totals(DAY_MS, firstDay, lastDay)
    totals(HOUR_MS, lastDay, lastHour)
  } else totals(HOUR_MS, firstHour, lastHour)
  for (const [from, to] of [[since, firstHour] as const, [lastHour, until] as const]) {
    if (from >= to || to === Number.MAX_SAFE_INTEGER) continue
    const [first, last] = await positionsOfHour(db, from)
    charges(from, to, first - 1, Math.min(last, mark))
  }
  charges(since, until, mark, Number.MAX_SAFE_INTEGER)
  const noFigures = FIGURES.map(() => '0')
  return {
    sql: `select used_by, then_by, cast(sum(running) as bigint) as running, ${sums.join(', ')},
        (select position from marks where name = 'usage') as mark,
        (select coalesce(max(position), 0) from closings) as closed
      from (select ${columnOf(dimension)} as used_by, ${second ? columnOf(second) : 'null'} as then_by, running, ${FIGURES.join(', ')} from (
        select ${isOfTime ? '' : `${SERIES}, `}at, 0 as running, ${FIGURES.join(', ')}
        from (${parts.join(' union all ')}) as ended ${isOfTime ? '' : 'join charge_series on charge_series.id = series'}
        union all
        select ${isOfTime ? '' : `${RUNNING_SERIES}, `}created_at, 1, ${['1', ...noFigures.slice(1)].join(', ')}
        from open_charges where created_at >= ${value(since)} and created_at < ${value(until)} ${isOwned && `and ${isOwned}`}) as all_of_them) as used
      group by used_by, then_by`,
    parameters,
  }
}

/**
 * The column of a dimension. The whole metadata of a request is one value: JSON, or a number for requests without metadata and for
 * the rest.
 */
function columnOf(dimension: UsageDimension): string {
  if (!isOfMetadata(dimension)) return names[dimension]
  return `coalesce((select content from usage_metadata where usage_metadata.id = metadata_id), cast(metadata_id as text))`
}

function isTime(dimension: UsageDimension): boolean {
  return dimension === 'day' || dimension === 'hour'
}

function isOfMetadata(dimension: UsageDimension): dimension is MetadataDimension {
  return dimension === 'spender' || dimension.startsWith('metadata.')
}

/** Converts usage by whole sets of metadata to usage by the values of one name. */
function byValue(usages: readonly Usage[], one: UsageDimension, other: UsageDimension | undefined): Usage[] {
  if (!isOfMetadata(one) && !(other && isOfMetadata(other))) return [...usages]
  const namesOf = ({ name, second }: Usage) =>
    JSON.stringify([valueIn(name, one), ...(other && second !== undefined ? [valueIn(second, other)] : [])])
  return [...Map.groupBy(usages, namesOf)].map(([names, group]) => {
    const [name, second] = JSON.parse(names) as [string, string?]
    return { ...totalUsage(group), name, ...(second !== undefined && { second }) }
  })
}

/** The value of a dimension in a row: for a name of metadata, its value in the set. */
export function valueIn(content: string, dimension: UsageDimension): string {
  if (!isOfMetadata(dimension)) return content
  if (content === String(OTHER_METADATA)) return '(other)'
  const name = dimension === 'spender' ? dimension : dimension.slice('metadata.'.length)
  const values = jsonOfColumn<Record<string, string>>(content, {}) ?? {}
  return Object.hasOwn(values, name) ? (values[name] as string) : '(none)'
}

/** Whether a value of the dimension is the id of a spender, and not a word for requests without one. */
export function isSpender(value: string): boolean {
  return value !== '' && !value.startsWith('(')
}

/** The range of positions that contains all charges of an hour, as far as they are in the totals. */
async function positionsOfHour(db: Db, at: number): Promise<[first: number, last: number]> {
  const [row] = await db.query({
    sql: `select min(first_position) as first, max(last_position) as last from usage_totals
      where span = ${HOUR_MS} and start = $1`,
    parameters: [at - (at % HOUR_MS)],
  })
  return row?.first == null ? [1, 0] : [row.first as number, row.last as number]
}

function orderOf(dimension: UsageDimension): (one: Usage, other: Usage) => number {
  if (isTime(dimension)) return (one, other) => Number(one.name) - Number(other.name)
  return (one, other) =>
    other.amountNano - one.amountNano || other.requests - one.requests || (one.name < other.name ? -1 : 1)
}

export function totalUsage(usages: readonly Usage[]): Usage {
  const sum = (field: Exclude<keyof Usage, 'name' | 'second'>) =>
    usages.reduce((all, usage) => all + usage[field], 0)
  return {
    name: 'total',
    requests: sum('requests'),
    running: sum('running'),
    released: sum('released'),
    counted: sum('counted'),
    estimated: sum('estimated'),
    amountNano: sum('amountNano'),
    shortfallNano: sum('shortfallNano'),
    costNano: sum('costNano'),
    costedNano: sum('costedNano'),
  }
}

/** The readable name of a row: days and hours as dates, `2026-10-31` and `2026-10-31 14:00`. */
export function nameOfUsage({ name }: Pick<Usage, 'name'>, by: UsageDimension): string {
  if (by !== 'day' && by !== 'hour') return name
  const text = new Date(Number(name)).toISOString()
  return by === 'day' ? text.slice(0, 10) : text.slice(0, 16).replace('T', ' ')
}

/** Whether the cost of any request is known. */
export function hasCost({ costNano, costedNano }: Usage): boolean {
  return costNano > 0 || costedNano > 0
}

/** Margin in nano-dollars: the payments for requests whose cost is known, minus that cost. */
function marginNano({ costNano, costedNano }: Usage): number {
  return costedNano - costNano
}

/** Usage for operators: with the vendors' cost, which is null if unknown. */
export function usageWithCostJson(used: Usage) {
  const known = hasCost(used)
  return {
    ...usageJson(used),
    cost_usd: known ? formatUsd(used.costNano) : null,
    margin_usd: known ? formatUsd(marginNano(used)) : null,
    /** The part of `amount_usd` for which the cost is known. */
    amount_with_cost_usd: formatUsd(used.costedNano),
  }
}

/** Usage with its amounts in dollars, as text, for a holder of a key. */
export function usageJson(used: Usage) {
  return {
    requests: used.requests,
    running: used.running,
    released: used.released,
    counted: used.counted,
    estimated: used.estimated,
    amount_usd: formatUsd(used.amountNano),
    shortfall_usd: formatUsd(used.shortfallNano),
  }
}

/** The price of an ended charge. */
export interface Cost {
  /** The id of its request. */
  request: string
  createdAt: number
  amountNano: number
  usageSource: string | null
  endedBy: string | null
}

/** Suffix of the charge id for a success after a failure, which is an additional charge of the same request. */
const LATE = /:late$/

/**
 * The costs of requests of an operation whose charges are between two positions (the first inclusive), newest first. For requests
 * that are answered before their charge ends, such as videos.
 */
export async function costsBetween(
  db: Db,
  operation: string,
  { from, to, begunBefore }: { from: number; to: number; begunBefore: number },
): Promise<Cost[]> {
  const rows = await db.query({
    sql: `select id, created_at, amount, usage_source, ended_by from charge_history
      where position >= $1 and position < $2 and operation = $3 and created_at < $4 order by position desc`,
    parameters: [from, to, operation, begunBefore],
  })
  return rows.map((row) => ({
    request: (row.id as string).replace(LATE, ''),
    createdAt: row.created_at as number,
    amountNano: row.amount as number,
    usageSource: row.usage_source as string | null,
    endedBy: row.ended_by as string | null,
  }))
}

/** A charge as shown to people. */
export type ChargeView = ReturnType<typeof chargeViewOf>

/** `metadata` has the sets of metadata by their ids. */
function chargeViewOf(row: Row, metadata: ReadonlyMap<number, string>) {
  return {
    /** The metadata that it counts under, as JSON; null if it has none. */
    metadata: metadata.get(row.metadata_id as number) ?? null,
    id: row.id as string,
    account: row.account as string,
    keyId: row.key_id as string,
    model: row.model as string,
    operation: row.operation as string,
    state: row.state as 'held' | 'settled' | 'released',
    heldNano: row.held as number,
    amountNano: row.amount as number,
    shortfallNano: row.shortfall as number,
    /** The vendor's price, for operators only; null if unknown. */
    costNano: (row.cost ?? null) as number | null,
    /** The price list that applied, and the vendor's usage, both as JSON. */
    pricesJson: row.prices as string | null,
    usageJson: withWholeUsage(row).usage as string | null,
    usageSource: row.usage_source as string | null,
    endedBy: row.ended_by as string | null,
    createdAt: row.created_at as number,
    endedAt: row.ended_at as number | null,
  }
}

/** Hours after its start in which the charges of a request are searched, one after another. */
const SEARCHED_HOURS = [2, 12, 72, 300, Number.POSITIVE_INFINITY]

/** Whether no other charge of a request can follow those that were found: only a video can succeed after it has failed. */
async function areAll(db: Db, id: string, rows: readonly Row[]): Promise<boolean> {
  if (rows.some(({ state }) => state === 'settled')) return true
  const own = rows.find((row) => row.id === id)
  if (own?.state !== 'released' || own.operation !== 'video' || rows.length > 1) return own !== undefined
  // A video that succeeds late moves to the additional charge.
  return (
    (await db.query({ sql: 'select 1 as one from tasks where charge = $1', parameters: [id] })).length > 0
  )
}

/** The charges of a request: that of its answer, and that of a late success. */
export async function chargesOf(db: Db, id: string): Promise<ChargeView[]> {
  const ids = [id, `${id}:late`]
  const begin = beginOf(id)
  const open = await db.query({ sql: 'select * from held_charges where id in ($1, $2)', parameters: ids })
  const ended = (after: number, to: number) =>
    db.query({
      // By this time, PostgreSQL excludes the partitions of earlier months.
      sql: `select * from charge_history where position > $3 and position <= $4 and ended_at >= $5 and id in ($1, $2)
        order by created_at, id`,
      parameters: [...ids, after, to, Math.max(0, begin - HOUR_MS)],
    })
  const rows = [...open]
  let after = (await firstPositionSince(db, begin)) - 1
  // Nearly all have ended an hour later. An id in another form does not show when it began.
  for (const hours of begin === 0 ? [Number.POSITIVE_INFINITY] : SEARCHED_HOURS) {
    if (await areAll(db, id, rows)) break
    const to =
      hours === Number.POSITIVE_INFINITY
        ? Number.MAX_SAFE_INTEGER
        : await lastPositionBefore(db, begin + hours * HOUR_MS)
    rows.push(...(await ended(after, to)))
    after = Math.max(after, to)
  }
  const sets = [...new Set(rows.map((row) => (row.metadata_id ?? 0) as number))].filter((id) => id > 0)
  const metadata = new Map<number, string>()
  for (const set of sets) {
    const sql = 'select content from usage_metadata where id = $1'
    const [found] = await db.query({ sql, parameters: [set] })
    if (found) metadata.set(set, found.content as string)
  }
  return rows.map((row) => chargeViewOf(row, metadata))
}

/** The highest position of charges in the totals that ended before the hour of a time. */
async function lastPositionBefore(db: Db, at: number): Promise<number> {
  const [row] = await db.query({
    sql: `select coalesce(max(last_position), 0) as last from usage_totals
      where span = ${HOUR_MS} and start < $1 and start >= $2`,
    parameters: [at - (at % HOUR_MS), at - (at % HOUR_MS) - 3 * HOUR_MS],
  })
  return row?.last as number
}

/** How much later than its id a clock may have dated the end of a request, in milliseconds. */
const CLOCKS_MS = 60_000

/** A time before the end of a request: its id begins with the time when it arrived. Zero for an id in another form. */
export function beginOf(id: string): number {
  const [, at = '0'] = /^[a-z]+_([0-9a-f]{12})[0-9a-f]{20}$/.exec(id) ?? []
  return Math.max(0, Number.parseInt(at, 16) - CLOCKS_MS)
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
