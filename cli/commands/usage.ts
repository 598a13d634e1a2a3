// gateway usage: shows requests and payments, summed from the charges. It must never write, except for the totals that it is asked
// to rebuild.

import type { ReplyOf } from '../../src/admin/client'
import {
  type UsageDimension,
  usageDimensionOf,
  usageDimensions,
} from '../../src/billing/reports/usage-report'
import { rebuildTotals } from '../../src/billing/reports/usage-totals'
import { isoTime } from '../../src/db/iso-time'
import { gatewayCommand, needDatabase } from '../lib/gateway'
import { parseWord } from '../lib/values'
import { counted } from '../view/counted'
import { printJson, say } from '../view/output'
import { type Column, printTable } from '../view/table'
import { parseDurationMs, parsePeriod, periodArgs, periodQueryOf } from '../view/times'

const DEFAULT_SINCE = '24h'

export const usage = gatewayCommand({
  name: 'usage',
  description:
    'Show requests and what was paid for them, by key, account, spender, model, operation, day or hour.',
  examples: [
    'gateway usage',
    'gateway usage --since 30d --by model',
    'gateway usage --month 2026-10 --by account --and model',
    'gateway usage --by account --saved',
    'gateway usage --since all --by account --json | jq -r .total.amount_usd',
  ],
  args: {
    ...periodArgs,
    since: {
      type: 'string',
      valueHint: '24h',
      description: `How far back, a date, or all (default ${DEFAULT_SINCE})`,
    },
    by: {
      type: 'string',
      valueHint: usageDimensions.join('|'),
      description: 'The dimension to sum by, also metadata.NAME (default key)',
    },
    and: {
      type: 'string',
      valueHint: 'WORD',
      description: 'A second dimension: a row for each pair',
    },
    saved: {
      type: 'boolean',
      description: "Also show the savings of vendors' prompt caches; reads all charges of the period",
    },
    rebuild: { type: 'boolean', description: 'First rebuild the totals from the charges' },
  },
  run(args) {
    const by = readDimension('by', args.by ?? 'key')
    const and = args.and === undefined ? undefined : readDimension('and', args.and)
    const now = Date.now()
    const period = parsePeriod(args, now)
    const { since = now - parseDurationMs('since', DEFAULT_SINCE), until } = period
    return async (gateway) => {
      if (args.rebuild) {
        const { db } = needDatabase(gateway, '--rebuild')
        await rebuildTotals(db, (done, all) => say(`Added up ${done} of ${counted(all, 'charge')}.`))
      }
      const query = {
        by,
        and,
        ...(args.saved && { saved: 'true' as const }),
        ...periodQueryOf({ since, ...(until !== undefined && { until }) }),
      }
      const reply = await gateway.call('getUsage', { query })
      const { rows, total, saved_since: savedSince } = reply
      if (!args.json) {
        showUsage(and ? [by, and] : [by], rows, total)
        return noteMissingSavings(reply)
      }
      printJson({
        since: since === 0 ? null : isoTime(since),
        ...(until !== undefined && { until: isoTime(until) }),
        by,
        ...(and && { and }),
        ...(savedSince && { saved_since: savedSince }),
        rows,
        total,
      })
    }
  },
})

function readDimension(flag: string, text: string): UsageDimension {
  return (
    usageDimensionOf(text) ?? parseWord(flag, text, [...usageDimensions, 'metadata.NAME' as UsageDimension])
  )
}

/** A row of usage; its name is under the requested dimension. */
type UsageReply = ReplyOf<'getUsage'>['rows'][number] & Readonly<Record<string, unknown>>

interface UsageColumn extends Column {
  cell(used: UsageReply): string
  /** Names the figure that decides whether the column is shown: it is hidden if the figure is zero in all rows. */
  zeroIn?: 'running' | 'counted' | 'estimated'
  /** True for a column that is hidden if no cost is known. */
  ofCost?: true
  /** True for a column that is hidden unless savings are requested. */
  ofSavings?: true
}

function usageColumns(by: readonly UsageDimension[]): UsageColumn[] {
  return [
    ...by.map((dimension, index) => ({
      title: dimension.toUpperCase(),
      flexible: true,
      cell: (used: UsageReply) => String(used[dimension] ?? (index === 0 ? 'total' : '')),
    })),
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
    { title: 'PAID', align: 'decimal', cell: ({ amount_usd }) => amount_usd },
    { title: 'SHORTFALL', align: 'decimal', cell: ({ shortfall_usd }) => shortfall_usd },
    { title: 'COST', align: 'decimal', cell: ({ cost_usd }) => cost_usd ?? '', ofCost: true },
    { title: 'MARGIN', align: 'decimal', cell: ({ margin_usd }) => margin_usd ?? '', ofCost: true },
    { title: 'SAVED', align: 'decimal', cell: ({ saved_usd: saved }) => saved ?? '', ofSavings: true },
  ]
}

function showUsage(by: readonly UsageDimension[], usages: readonly UsageReply[], total: UsageReply): void {
  if (usages.length === 0) {
    say('There were no requests in this period.')
    return
  }
  const columns = usageColumns(by).filter(
    ({ zeroIn, ofCost, ofSavings }) =>
      (zeroIn === undefined || total[zeroIn] > 0) &&
      (!ofCost || total.cost_usd !== null) &&
      (!ofSavings || total.saved_usd !== undefined),
  )
  const rows = usages.length > 1 ? [...usages, total] : usages
  printTable(
    rows,
    columns.map(({ title, cell, ...layout }) => [title, cell, layout]),
  )
  if (total.released > 0) say('\nReleased requests cost nothing.')
  if (total.cost_usd !== null && total.amount_with_cost_usd !== total.amount_usd) {
    say(
      `\nThe margin is that of $${total.amount_with_cost_usd}: what vendors ask for the rest of what was paid is not known.`,
    )
  }
  if (total.counted + total.estimated > 0) {
    say('\nCounted and estimated requests were charged without figures from the vendor.')
  }
}

/** Says which charges the savings do not include. */
function noteMissingSavings({ since, saved_since: savedSince, total }: ReplyOf<'getUsage'>): void {
  if (savedSince && savedSince > since)
    say(`\nSAVED begins at ${savedSince}: the charges before are closed, in archives.`)
  if (total.saved_unknown)
    say(
      `\nSAVED does not include ${counted(total.saved_unknown, 'request')} whose cached input is not known any more.`,
    )
}

/** A count with its share of the paid requests. */
function shareOf({ requests, running, released }: UsageReply, part: number): string {
  if (part === 0) return '0'
  return `${part} (${Math.max(1, Math.round((100 * part) / (requests - running - released)))}%)`
}
