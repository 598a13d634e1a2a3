// gateway usage: shows requests and payments, summed from the charges. It must never write, but for the totals that it is
// asked to make anew.

import { defineCommand } from 'citty'
import {
  nameOfUsage,
  totalUsage,
  type Usage,
  type UsageDimension,
  usageBy,
  usageDimensions,
  usageJson,
} from '../../src/billing/usage-report'
import { rebuildTotals } from '../../src/billing/usage-totals'
import { isoTime } from '../../src/db/iso-time'
import { formatUsd } from '../../src/lib/money'
import { commandArgs, withDatabase } from '../lib/settings'
import { parseWord } from '../lib/values'
import { print, printJson, say } from '../view/output'
import { type Column, renderTable } from '../view/table'
import { parseDurationMs, parsePeriod, periodArgs } from '../view/times'

const DEFAULT_SINCE = '24h'

export const usage = defineCommand({
  meta: {
    name: 'usage',
    description: 'Show requests and what was paid for them, by key, account, model, operation, day or hour.',
    examples: [
      'gateway usage',
      'gateway usage --since 30d --by model',
      'gateway usage --month 2026-10 --by account',
      'gateway usage --since all --by account --json | jq -r .total.amount_usd',
    ],
  },
  args: {
    ...periodArgs,
    since: {
      type: 'string',
      valueHint: '24h',
      description: `How far back, a date, or all (default ${DEFAULT_SINCE})`,
    },
    by: { type: 'string', valueHint: usageDimensions.join('|'), description: 'What to sum by (default key)' },
    rebuild: { type: 'boolean', description: 'First make the totals anew from the charges' },
    ...commandArgs,
  },
  async run({ args }) {
    const by = args.by === undefined ? 'key' : parseWord('by', args.by, usageDimensions)
    const now = Date.now()
    const period = parsePeriod(args, now)
    const { since = now - parseDurationMs('since', DEFAULT_SINCE), until } = period
    await withDatabase(args, async (db) => {
      if (args.rebuild) await rebuildTotals(db, (done, all) => say(`Added up ${done} of ${all} charges.`))
      const used = await usageBy(db, by, { since, ...(until !== undefined && { until }) })
      const usages = used.map((each) => ({ ...each, name: nameOfUsage(each, by) }))
      const total = totalUsage(usages)
      if (!args.json) return showUsage(by, usages, total)
      printJson({
        since: since === 0 ? null : isoTime(since),
        ...(until !== undefined && { until: isoTime(until) }),
        by,
        rows: usages.map((each) => ({ [by]: each.name, ...usageJson(each) })),
        total: usageJson(total),
      })
    })
  },
})

interface UsageColumn extends Column {
  cell(used: Usage): string
  /** Names the figure without which the column is left out: it is zero for all. */
  zeroIn?: 'running' | 'counted' | 'estimated'
}

function usageColumns(by: UsageDimension): UsageColumn[] {
  return [
    { title: by.toUpperCase(), flexible: true, cell: ({ name }) => name },
    { title: 'REQUESTS', align: 'right', cell: ({ requests }) => String(requests) },
    { title: 'RUNNING', align: 'right', cell: ({ running }) => String(running), zeroIn: 'running' },
    { title: 'RELEASED', align: 'right', cell: ({ released }) => String(released) },
    { title: 'COUNTED', align: 'right', cell: (used) => shareOf(used, used.counted), zeroIn: 'counted' },
    {
      title: 'ESTIMATED',
      align: 'right',
      cell: (used) => shareOf(used, used.estimated),
      zeroIn: 'estimated',
    },
    { title: 'PAID', align: 'decimal', cell: ({ amountNano }) => formatUsd(amountNano) },
    { title: 'SHORTFALL', align: 'decimal', cell: ({ shortfallNano }) => formatUsd(shortfallNano) },
  ]
}

function showUsage(by: UsageDimension, usages: readonly Usage[], total: Usage): void {
  if (usages.length === 0) {
    say('There were no requests in this time.')
    return
  }
  const columns = usageColumns(by).filter(({ zeroIn }) => zeroIn === undefined || total[zeroIn] > 0)
  const rows = usages.length > 1 ? [...usages, total] : usages
  print(
    renderTable(
      columns,
      rows.map((used) => columns.map(({ cell }) => cell(used))),
    ),
  )
  if (total.released > 0) say('\nReleased requests cost nothing.')
  if (total.counted + total.estimated > 0) {
    say('\nCounted and estimated requests were charged without figures from the vendor.')
  }
}

/** A count with its share of the paid requests. */
function shareOf({ requests, running, released }: Usage, part: number): string {
  if (part === 0) return '0'
  return `${part} (${Math.max(1, Math.round((100 * part) / (requests - running - released)))}%)`
}
