// The chart of usage: payments over time by up to seven names with the previous period as a line, or the shares of rows without a
// time.

import { colourOf } from '../charts/colours'
import { Chart } from '../parts/chart'
import { dollarsOf, dollarsText, moneyText, sumUsd } from '../parts/money'
import { SPANS_MS, spanStarts, timeOfSpan } from '../spans'
import { texts } from '../texts'
import type { Dimension, UsageRow } from './usage'

const words = texts.usage
/** Number of bars with their own name; the others are merged. */
const MAX_SERIES = 7

interface UsageChartProps {
  rows: readonly UsageRow[]
  by: Dimension
  and: Dimension | undefined
  /** Rows of the earlier period, and how much earlier it is, in milliseconds. */
  earlier: { rows: readonly UsageRow[]; shiftMs: number } | undefined
}

export function UsageChart({ rows, by, and, earlier }: UsageChartProps) {
  const time = [by, and].find((each) => each === 'day' || each === 'hour')
  if (!time || rows.length === 0) return <Shares rows={rows} by={by} and={and} />
  const other = time === by ? and : by
  const spanMs = SPANS_MS[time]
  const at = (row: UsageRow) => timeOfSpan(row[time] ?? '')
  const known = [...rows.map(at), ...(earlier?.rows ?? []).map((row) => at(row) + (earlier?.shiftMs ?? 0))]
  const times = spanStarts(Math.min(...known), Math.max(...known) + spanMs, spanMs)
  const names = namesByAmount(rows, (row) => (other ? (row[other] ?? '') : words.paid))
  const shown = names.slice(0, MAX_SERIES)
  const titles = names.length > shown.length ? [...shown, words.others] : shown
  const sums = new Map<string, string>()
  for (const row of rows) {
    const own = other ? (row[other] ?? '') : words.paid
    const key = `${at(row)} ${shown.includes(own) ? own : words.others}`
    sums.set(key, sumUsd([sums.get(key), row.amount_usd]))
  }
  return (
    <Chart
      label={words.chart(time)}
      kind="bars"
      times={times}
      spanMs={spanMs}
      series={titles.map((title) => ({
        title,
        values: times.map((each) => dollarsOf(sums.get(`${each} ${title}`) ?? '0')),
      }))}
      {...(earlier && {
        before: times.map((each) =>
          dollarsOf(
            sumUsd(
              earlier.rows.flatMap((row) => (at(row) + earlier.shiftMs === each ? [row.amount_usd] : [])),
            ),
          ),
        ),
      })}
      write={dollarsText}
    />
  )
}

function namesByAmount(rows: readonly UsageRow[], nameOf: (row: UsageRow) => string): string[] {
  const sums = new Map<string, number>()
  for (const row of rows) sums.set(nameOf(row), (sums.get(nameOf(row)) ?? 0) + dollarsOf(row.amount_usd))
  return [...sums].toSorted(([, one], [, two]) => two - one).map(([name]) => name)
}

/** Shares without a time axis: a bar per row, the most expensive first. */
function Shares({ rows, by, and }: { rows: readonly UsageRow[]; by: Dimension; and: Dimension | undefined }) {
  const most = Math.max(0, ...rows.map((row) => dollarsOf(row.amount_usd)))
  if (most === 0) return null
  const paid = rows.filter((row) => dollarsOf(row.amount_usd) > 0)
  return (
    <ul class="shares">
      {paid.slice(0, MAX_SERIES).map((row) => (
        <li key={`${row[by]} ${and ? row[and] : ''}`}>
          <span>
            {row[by]} {and && <span class="quiet">{row[and]}</span>}
          </span>
          <i
            style={{
              background: colourOf(row[by] ?? ''),
              width: `${(dollarsOf(row.amount_usd) / most) * 100}%`,
            }}
          />
          <span class="number">{moneyText(row.amount_usd)}</span>
        </li>
      ))}
    </ul>
  )
}
