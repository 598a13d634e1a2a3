// gateway usage: shows requests and payments, summed from the charges, or the newest requests one by one. It must never
// write.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { defineCommand } from 'citty'
import { listKeys } from '../../src/accounts/keys'
import { outside } from '../../src/app/world'
import {
  costsSince,
  totalUsage,
  type Usage,
  type UsageDimension,
  usageBy,
} from '../../src/billing/usage-report'
import type { Db, Row } from '../../src/db/db'
import { openSqlite } from '../../src/db/sqlite'
import { formatUsd } from '../../src/lib/money'
import { openRequestLog } from '../../src/request/request-log'
import { WrongUsage } from '../lib/errors'
import { commandArgs, dataDirOf, type SettingsFlags, withDatabase } from '../lib/settings'
import { parseCount, parseWord } from '../lib/values'
import { paint, print, printJson, say } from '../view/output'
import { type Column, renderTable } from '../view/table'
import { isoTime, parseDurationMs, shortTime } from '../view/times'

const DIMENSIONS: readonly UsageDimension[] = ['key', 'account', 'model']
const DEFAULT_SINCE = '24h'
const DEFAULT_LIMIT = 20
/** How much earlier than its row in the log a charge may have begun, by the clock, in milliseconds. */
const CLOCKS_MS = 60_000

export const usage = defineCommand({
  meta: {
    name: 'usage',
    description:
      'Show requests and what was paid for them, by key, account or model; or the newest requests.',
    examples: [
      'gateway usage',
      'gateway usage --since 30d --by model',
      'gateway usage --since all --by account --json | jq -r .total.amount_usd',
      'gateway usage --requests --limit 50',
    ],
  },
  args: {
    since: {
      type: 'string',
      valueHint: '24h',
      description: `How far back, or all (default ${DEFAULT_SINCE})`,
    },
    by: { type: 'string', valueHint: DIMENSIONS.join('|'), description: 'What to sum by (default key)' },
    requests: { type: 'boolean', description: 'Show the newest requests instead of sums' },
    limit: { type: 'string', valueHint: 'N', description: `How many requests (default ${DEFAULT_LIMIT})` },
    ...commandArgs,
  },
  async run({ args }) {
    if (args.requests) {
      if (args.since !== undefined || args.by !== undefined)
        throw new WrongUsage('--requests takes --limit, not --since or --by.')
      const limit = args.limit === undefined ? DEFAULT_LIMIT : parseCount('limit', args.limit)
      return showRequests(args, limit, args.json === true)
    }
    if (args.limit !== undefined) throw new WrongUsage('--limit goes with --requests.')
    const by = args.by === undefined ? 'key' : parseWord('by', args.by, DIMENSIONS)
    const since = sinceOf(args.since ?? DEFAULT_SINCE)
    await withDatabase(args, async (db) => {
      const usages = await usageBy(db, by, since)
      const total = totalUsage(usages)
      if (!args.json) return showUsage(by, usages, total)
      printJson({
        since: since === 0 ? null : isoTime(since),
        by,
        rows: usages.map((each) => ({ [by]: each.name, ...usageJson(each) })),
        total: usageJson(total),
      })
    })
  },
})

function sinceOf(text: string): number {
  return text === 'all' ? 0 : Date.now() - parseDurationMs('since', text)
}

function usageJson(used: Usage) {
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

async function showRequests(flags: SettingsFlags, limit: number, json: boolean): Promise<void> {
  const file = join(dataDirOf(flags), 'journal.sqlite')
  const logged = existsSync(file) ? await newestRequests(file, limit) : []
  const { names, rows } = await withDatabase(flags, async (db) => ({
    names: new Map((await listKeys(db)).map((key) => [key.id, key.name])),
    rows: await withCosts(db, logged),
  }))
  const nameOf = (row: Row) => names.get(row.key_id as string) ?? null
  if (json) return printJson(rows.map((row) => requestJson(row, nameOf(row))))
  if (rows.length === 0) return say('No requests have been made yet.')
  const columns: Column[] = [
    { title: 'TIME (UTC)' },
    { title: 'KEY', flexible: true },
    { title: 'STATUS' },
    { title: 'TOKENS', align: 'right' },
    { title: 'PAID', align: 'decimal' },
    { title: 'TOOK', align: 'right' },
    { title: 'MODEL AND ERROR', flexible: true },
  ]
  print(
    renderTable(
      columns,
      rows.map((row) => requestRow(row, nameOf(row))),
    ),
  )
}

/** The rows with what was paid after their request was answered, as for a video. */
async function withCosts(db: Db, rows: readonly Row[]): Promise<Row[]> {
  const open = rows.filter(isUnpaid)
  const since = open.reduce((first, { at }) => Math.min(first, at as number), Number.MAX_SAFE_INTEGER)
  const operations = [...new Set(open.map(({ operation }) => operation as string))]
  const costs = await Promise.all(operations.map((operation) => costsSince(db, operation, since - CLOCKS_MS)))
  const byId = new Map(costs.flatMap((each) => [...each]))
  return rows.map((row) => {
    const cost = isUnpaid(row) ? byId.get(row.id as string) : undefined
    if (!cost) return row
    return { ...row, amount: cost.amountNano, usage_source: cost.usageSource, ended_by: cost.endedBy }
  })
}

/** Whether a request was answered, and its log does not say at what price. */
function isUnpaid({ amount, status }: Row): boolean {
  return amount === null && Number(status) < 400
}

async function newestRequests(file: string, limit: number): Promise<Row[]> {
  const requestLog = await openRequestLog(openSqlite(file, { durable: false }), outside.log)
  try {
    return await requestLog.recent(limit)
  } finally {
    await requestLog.close()
  }
}

function requestJson(row: Row, key: string | null) {
  const { number: _, id, at, stream, amount, ...rest } = row
  return {
    id,
    at: isoTime(at as number),
    key,
    ...rest,
    stream: stream === 1,
    amount_usd: amount === null ? null : formatUsd(amount as number),
  }
}

function requestRow(row: Row, key: string | null): string[] {
  const status = String(row.status)
  return [
    // Without the year: the newest requests are rarely from another.
    shortTime(row.at as number).slice(5),
    key ?? '-',
    Number(status) < 400 ? status : paint('red', status),
    row.input_tokens === null ? '' : `${row.input_tokens}+${row.output_tokens ?? 0}`,
    row.amount === null ? '' : formatUsd(row.amount as number),
    `${row.duration_ms} ms`,
    [row.model, row.error_code].filter((text) => text !== null).join(' '),
  ]
}
