// Totals of ended charges by hour and by day. The scheduler keeps them next to the charges, from which they can be
// rebuilt at any time. A mark stores the last included position, so that each charge is counted exactly once.

import { strict as assert } from 'node:assert'
import { tableOfCharges } from '../../db/charge-partitions'
import { apply, type Db, type Statement, tryApply } from '../../db/db'
import { isoTime } from '../../db/iso-time'
import { closedPart } from '../proofs/closings'
import { FIGURES, SUMS } from './usage-figures'

export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

/** Charges that are added in one transaction: some milliseconds of work. */
const CHUNK = 5_000
/** Maximum number of transactions per run, so that a stopping process is not delayed. */
const MAX_CHUNKS = 400

/** The last position whose charge is in the totals. */
export async function markOf(db: Db): Promise<number> {
  const [row] = await db.query({ sql: `select position from marks where name = 'usage'` })
  assert(row, 'a database has a mark of its totals')
  return row.position as number
}

/** Adds charges that have ended since the last call. Returns the number of positions. */
export async function addToTotals(db: Db): Promise<number> {
  const from = await markOf(db)
  const to = await lastPosition(db)
  let done = from
  for (let chunk = 0; done < to && chunk < MAX_CHUNKS; chunk++) {
    const next = Math.min(done + CHUNK, to)
    // A miss means that another node is doing the same.
    if (!(await tryApply(db, [moveMark(done, next), add(HOUR_MS, done, next), add(DAY_MS, done, next)])))
      break
    done = next
  }
  return done - from
}

/** Discards the totals of charges that are not closed, and rebuilds them. Those of closed charges stay. */
export async function rebuildTotals(db: Db, onProgress: (done: number, all: number) => void): Promise<void> {
  const [from, { position }] = [await markOf(db), await closedPart(db)]
  const isReset = await tryApply(db, [
    moveMark(from, position),
    takeOut(HOUR_MS, position, from),
    takeOut(DAY_MS, position, from),
    { sql: 'delete from usage_totals where requests <= 0 or first_position > $1', parameters: [position] },
    { sql: 'update usage_totals set last_position = $1 where last_position > $1', parameters: [position] },
    {
      sql: 'select 1 as one where (select coalesce(max(position), 0) from closings) = $1',
      parameters: [position],
      guard: true,
    },
  ])
  if (!isReset) return rebuildTotals(db, onProgress)
  const all = await lastPosition(db)
  for (let added = 1; added > 0; ) {
    added = await addToTotals(db)
    onProgress(await markOf(db), all)
  }
}

/**
 * The last position below which no charge can appear any more. On PostgreSQL a charge may be committed after one with a higher
 * position: the lock waits for those that are being written.
 */
export async function lastPosition(db: Db): Promise<number> {
  if (db.kind === 'sqlite') {
    const [row] = await db.query({ sql: 'select coalesce(max(position), 0) as position from ended_charges' })
    return row?.position as number
  }
  const table = await tableOfCharges(db)
  const rows = await apply(db, [
    // Settlements wait for this lock, so it is better to skip this run than to hold it long.
    { sql: `set local lock_timeout = '100ms'` },
    { sql: `lock table only ${table.name} in share mode` },
    // A database that was moved here continues the numbers, but its own counter has not started.
    {
      sql: 'select case when is_called then last_value else last_value - 1 end as position from charge_positions',
    },
  ])
  return rows[2]?.[0]?.position as number
}

/** The lowest position of charges that ended at a time or later. */
export async function firstPositionSince(db: Db, at: number): Promise<number> {
  const [row] = await db.query({
    // The hours to the end of a day, then whole days, to read fewer rows.
    sql: `select coalesce((select min(first) from (
          select min(first_position) as first from usage_totals where span = ${HOUR_MS} and start >= $1 and start < $2
          union all select min(first_position) from usage_totals where span = ${DAY_MS} and start >= $2) as firsts),
        (select position + 1 from marks where name = 'usage')) as position`,
    parameters: [startOf(HOUR_MS, at), startOf(DAY_MS, at + DAY_MS - 1)],
  })
  // Without the mark no charge would be found at all, and a failed look-up would look like a missing charge.
  assert(typeof row?.position === 'number', 'a database has a mark of its totals')
  return row.position
}

/** The start of the hour or day of a time. */
function startOf(spanMs: number, at: number): number {
  return at - (((at % spanMs) + spanMs) % spanMs)
}

/** Totals that begin in a span (its start inclusive, its end exclusive); both are SQL. */
interface TotalsWithin {
  span: number
  from: string
  to: string
}

/** Totals of all series, ordered by time. */
export function totalsWithin({ span, from, to }: TotalsWithin): string {
  return `usage_totals where span = ${span} and start >= ${from} and start < ${to}`
}

/**
 * Totals of the series that satisfy a condition, by their own index: a query for one account or key must not cost as much as one
 * for all. SQLite keeps the order of a cross join. It considers every compared column selective, and would rather read all totals
 * of a time; pairs make it choose the index. PostgreSQL expects pairs to match one row, and would read all totals of a time;
 * `offset 0` makes it read series by series.
 */
export function totalsOfSeries(
  kind: Db['kind'],
  condition: string,
  { span, from, to }: TotalsWithin,
): string {
  if (kind === 'sqlite')
    return `charge_series cross join usage_totals where ${condition} and series = charge_series.id
      and (span, start) >= (${span}, ${from}) and (span, start) < (${span}, ${to})`
  return `charge_series cross join lateral (select * from usage_totals where series = charge_series.id
    and span = ${span} and start >= ${from} and start < ${to} offset 0) as totals where ${condition}`
}

function moveMark(from: number, to: number): Statement {
  return {
    sql: `update marks set position = $1 where name = 'usage' and position = $2`,
    parameters: [to, from],
    guard: true,
  }
}

const CLOSED_UNTIL = '(select coalesce(max(ended_before), 0) from closings)'

/** The statement that subtracts charges from the totals that they share with closed ones. */
function takeOut(spanMs: number, after: number, to: number): Statement {
  const rest = FIGURES.map((name) => `${name} = usage_totals.${name} - c.${name}`)
  return {
    sql: `update usage_totals set ${rest.join(', ')}
      from (select ended_at - ended_at % ${spanMs} as start, series, ${SUMS} from ended_charges
        where position > $1 and position <= (select coalesce(max(last_position), 0) from usage_totals
            where span = ${HOUR_MS} and start < ${CLOSED_UNTIL})
          and position <= $2 and ended_at < ${CLOSED_UNTIL}
        group by 1, 2) as c
      where span = ${spanMs} and usage_totals.start = c.start and usage_totals.series = c.series
        and first_position <= $1`,
    parameters: [after, to],
  }
}

function add(spanMs: number, after: number, to: number): Statement {
  const sums = FIGURES.map((name) => `${name} = usage_totals.${name} + excluded.${name}`)
  return {
    sql: `insert into usage_totals (span, start, series, ${FIGURES.join(', ')}, first_position, last_position)
      select ${spanMs}, ended_at - ended_at % ${spanMs}, series, ${SUMS}, min(position), max(position)
      from ended_charges where position > $1 and position <= $2 group by 2, 3
      on conflict (span, start, series) do update set ${sums.join(', ')},
        first_position = case when excluded.first_position < usage_totals.first_position
          then excluded.first_position else usage_totals.first_position end,
        last_position = case when excluded.last_position > usage_totals.last_position
          then excluded.last_position else usage_totals.last_position end`,
    parameters: [after, to],
  }
}

/**
 * One sentence for each hour whose totals differ from its charges, for hours that began after a position. With `since`, the time of
 * a charge, charges and totals of earlier hours are skipped.
 */
export async function faultsOfTotals(db: Db, after: number, since = 0): Promise<string[]> {
  const differ = FIGURES.map((name) => `t.${name} <> c.${name}`).join(' or ')
  const rows = await db.query({
    sql: `select distinct c.start from (select ended_at - ended_at % ${HOUR_MS} as start, series, ${SUMS}
        from ended_charges where position > $1 and position <= (select position from marks where name = 'usage')
          and ended_at >= $2
        group by 1, 2) as c
      left join usage_totals t on t.span = ${HOUR_MS} and t.start >= $2 and t.start = c.start and t.series = c.series
      where (t.first_position is null or t.first_position > $1) and (t.requests is null or ${differ}) order by c.start`,
    parameters: [after, startOf(HOUR_MS, since)],
  })
  return rows.map(
    ({ start }) =>
      `usage of the hour ${isoTime(start as number)} is not what its charges say: rebuild it with gateway usage --rebuild`,
  )
}

/** One sentence for each series whose lifetime totals differ from the sum of its closed and other charges. */
export async function faultsOfClosedTotals(db: Db, closed: number): Promise<string[]> {
  const faults: string[] = []
  for (const [span, name] of [
    [HOUR_MS, 'hour'],
    [DAY_MS, 'day'],
  ] as const) {
    const sums = (sign: string) => FIGURES.map((figure) => `${sign}${figure} as ${figure}`).join(', ')
    const differ = FIGURES.map((figure) => `sum(${figure}) <> 0`).join(' or ')
    const rows = await db.query({
      sql: `select account, model, operation from (
          select series, ${sums('')} from usage_totals where span = ${span}
          union all select series, ${sums('-')} from closing_entries
          union all select series, ${sums('-')} from (select series, ${SUMS} from ended_charges
            where position > $1 and position <= (select position from marks where name = 'usage') group by series) as c
        ) as parts left join charge_series on charge_series.id = series
        group by series, account, model, operation having ${differ}`,
      parameters: [closed],
    })
    for (const { account, model, operation } of rows)
      faults.push(
        `usage of ${account} by ${name}, ${operation} with ${model}, is not what its closed and other charges say`,
      )
  }
  return faults
}

/** Ranges of positions, exclusive and inclusive, that contain all open-month charges of a period. */
export async function positionsBetween(
  db: Db,
  since: number,
  until: number,
): Promise<(readonly [after: number, to: number])[]> {
  const end = await highestPosition(db)
  const first = (await firstPositionSince(db, since)) - 1
  const [row] = await db.query({
    sql: `select (select position from marks where name = 'usage') as mark,
      (select coalesce(max(last), 0) from (
        select max(last_position) as last from usage_totals where span = ${DAY_MS} and start < $1
        union all select max(last_position) from usage_totals where span = ${HOUR_MS} and start >= $1 and start < $2)
        as lasts) as last`,
    parameters: [startOf(DAY_MS, until), until],
  })
  const { position } = await closedPart(db)
  // Charges that the totals do not include yet may have ended at any time.
  return [
    [Math.max(first, position), row?.last as number],
    [Math.max(row?.mark as number, first), end],
  ]
}

/** A position after which no charge ended before a time. */
export async function lastPositionUntil(db: Db, until: number): Promise<number> {
  const ranges = await positionsBetween(db, until, until)
  const [[, last], [mark, end]] = ranges as [readonly [number, number], readonly [number, number]]
  return last < mark ? last : end
}

/** The highest position of any charge. */
export async function highestPosition(db: Db): Promise<number> {
  const [row] = await db.query({
    sql:
      db.kind === 'sqlite'
        ? 'select coalesce(max(position), 0) as last from ended_charges'
        : 'select last_value as last from charge_positions',
  })
  return row?.last as number
}
