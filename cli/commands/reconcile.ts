// gateway reconcile: compares a vendor's usage report with the charges, by day and model, or the prices that vendors reported for
// single requests with the price list. It must never write.

import { readFileSync } from 'node:fs'
import type { ReplyOf } from '../../src/admin/client'
import { lineOf } from '../../src/lib/error-line'
import {
  FIGURE_NAMES,
  readVendorUsage,
  summedUsage,
  type UsageColumns,
  usageRowJson,
  type VendorUsage,
} from '../../src/lib/file-formats/vendor-usage'
import { formatUsd, parseUsd } from '../../src/lib/money'
import { CommandFailed, WrongUsage } from '../lib/errors'
import { type Gateway, gatewayCommand } from '../lib/gateway'
import type { GatewayFlags } from '../lib/remote'
import { parsePairs } from '../lib/values'
import { counted } from '../view/counted'
import { paint, print, printJson, say } from '../view/output'
import { printTable } from '../view/table'
import { parsePeriod, periodArgs, periodQueryOf, utcTime } from '../view/times'

type Reconciliation = ReplyOf<'reconcileUpstream'>
type OwnReconciliation = ReplyOf<'reconcileOwn'>
type ReconciledFigure = Reconciliation['differences'][number]['figure']

/** The form of flags with pairs, as errors name it. */
const PAIRS = 'pairs such as a=b'
const OWN_SINCE = 'from a date such as 2026-10-01, or a time ago (default: 30d)'

/** Names of figures in flags. */
const FIGURE_WORDS = {
  requests: 'requests',
  inputTokens: 'input',
  outputTokens: 'output',
  costNano: 'cost',
} as const

/** How figures are shown. */
const SHOWN_FIGURES: Record<ReconciledFigure, string> = {
  requests: 'requests',
  input_tokens: 'input',
  output_tokens: 'output',
  cost_usd: 'cost',
}

export const reconcile = gatewayCommand({
  name: 'reconcile',
  description:
    'Compare what a vendor says was used with the charges, or the prices it reports with the price list; exit 1 if they differ.',
  examples: [
    'gateway reconcile --own --since 7d',
    'gateway reconcile --upstream openai --month 2026-10 --file usage.csv,cost.csv',
    'gateway reconcile --upstream local --month 2026-10 --file use.csv --columns day=Date,model=Model,input=In,output=Out',
  ],
  args: {
    own: {
      type: 'boolean',
      description: "Compare the prices in the vendors' answers with the price list, by model, without a file",
    },
    upstream: {
      type: 'string',
      valueHint: 'NAME',
      description: 'The upstream of the vendor; with --own only its models are compared',
    },
    ...periodArgs,
    since: { ...periodArgs.since, description: `With --own: ${OWN_SINCE}` },
    until: { ...periodArgs.until, description: 'With --own: before a date, or a time ago' },
    file: {
      type: 'string',
      valueHint: 'FILES',
      description: "The vendor's export of usage or cost as CSV; separate several files by commas",
    },
    columns: {
      type: 'string',
      valueHint: 'A=B,…',
      description:
        'Columns of a file in another format: day, model, and any of requests, input, output, cost',
    },
    names: {
      type: 'string',
      valueHint: 'A=B,…',
      description:
        "Names of models in the file, and what the configuration has for them as the vendor's name",
    },
    tolerance: {
      type: 'string',
      valueHint: 'PERCENT',
      description: 'Differences up to this percentage are not listed (default: 1)',
    },
  },
  run(args) {
    if (args.own) return ownComparison(args)
    const { upstream, month, file } = filesOf(args)
    const { since = 0, until = 0 } = parsePeriod({ month }, Date.now())
    const columns = args.columns === undefined ? undefined : parseColumns(args.columns)
    const names = new Map(args.names === undefined ? [] : parsePairs('names', PAIRS, args.names))
    const percent = parsePercent(args.tolerance ?? '1')
    const rows = file.split(',').flatMap((each) => readFile(each.trim(), columns))
    const said = rows
      .filter(({ day }) => Date.parse(day) >= since && Date.parse(day) < until)
      .map((row) => ({ ...row, model: names.get(row.model) ?? row.model }))
    if (said.length === 0) throw new CommandFailed(`The files have nothing of ${month}.`)
    return async (gateway) => {
      const result = await gateway.call('reconcileUpstream', {
        params: { upstream },
        body: { month, rows: summedUsage(said).map(usageRowJson), tolerance_percent: percent },
      })
      if (args.json) printJson(result)
      else showResult(result)
      const { length } = result.differences
      if (length > 0)
        throw new CommandFailed(length === 1 ? 'One figure differs.' : `${length} figures differ.`)
    }
  },
})

interface Flags extends GatewayFlags {
  upstream?: string | undefined
  month?: string | undefined
  file?: string | undefined
  columns?: string | undefined
  names?: string | undefined
  since?: string | undefined
  until?: string | undefined
  tolerance?: string | undefined
  json?: boolean | undefined
}

/** The flags of a comparison with files. Throws if one is missing, or belongs to `--own`. */
function filesOf({ upstream, month, file, since, until }: Flags) {
  if (since !== undefined || until !== undefined)
    throw new WrongUsage('--since and --until need --own; files are compared with one --month.')
  if (upstream === undefined || month === undefined || file === undefined)
    throw new WrongUsage('Give --upstream, --month and --file, or --own to compare without a file.')
  return { upstream, month, file }
}

/** Compares the prices in the vendors' answers with the price list. */
function ownComparison(args: Flags) {
  for (const flag of ['file', 'columns', 'names'] as const)
    if (args[flag] !== undefined) throw new WrongUsage(`--${flag} cannot be combined with --own.`)
  const percent = parsePercent(args.tolerance ?? '1')
  const period = periodQueryOf(parsePeriod(args, Date.now()))
  return async (gateway: Gateway) => {
    const query = { ...period, upstream: args.upstream, tolerance_percent: String(percent) }
    const result = await gateway.call('reconcileOwn', { query })
    if (args.json) printJson(result)
    else showOwn(result)
    const { length } = result.models.filter(({ differs }) => differs)
    if (length > 0) throw new CommandFailed(length === 1 ? 'One model differs.' : `${length} models differ.`)
  }
}

const RIGHT = { align: 'right' } as const

function showOwn({ models, since, until, not_compared: notCompared }: OwnReconciliation): void {
  const apart = (percent: string, differs: boolean) =>
    differs ? paint('red', `${percent} %`) : `${percent} %`
  if (models.length === 0) print(`No vendor reported a price since ${since.slice(0, 10)}.`)
  else
    printTable(models, [
      ['MODEL', ({ model }) => model, { flexible: true }],
      ['REQUESTS', ({ requests }) => String(requests), RIGHT],
      ['OURS', ({ basis }) => basis],
      ['OUR SUM', ({ list_usd }) => list_usd, { align: 'decimal' }],
      ["VENDOR'S SUM", ({ vendor_usd }) => vendor_usd, { align: 'decimal' }],
      ['APART', ({ percent, differs }) => apart(percent, differs), RIGHT],
    ])
  const from = utcTime(Date.parse(since))
  const period = until === null ? `Since ${from}` : `From ${from} to ${utcTime(Date.parse(until))}`
  say(
    `\n${period}. Prices are those before any plan. A price without a source may be higher than the vendor's.`,
  )
  if (notCompared > 0)
    say(
      `Not compared: ${counted(notCompared, 'request')} with an unusable figure of the vendor, such as a price of zero.`,
    )
}

function readFile(file: string, columns: UsageColumns | undefined): VendorUsage[] {
  try {
    return readVendorUsage(readFileSync(file, 'utf8'), columns)
  } catch (error) {
    throw new CommandFailed(
      `${file} cannot be read: ${lineOf(error)}. --columns names the columns of a file of another form.`,
    )
  }
}

function parseColumns(text: string): UsageColumns {
  const { day, model, ...others } = Object.fromEntries(parsePairs('columns', PAIRS, text))
  if (day === undefined || model === undefined) throw new WrongUsage('--columns names day=… and model=….')
  const columns: UsageColumns = { day, model }
  for (const [word, title] of Object.entries(others)) {
    const figure = FIGURE_NAMES.find((name) => FIGURE_WORDS[name] === word)
    if (!figure || title === undefined)
      throw new WrongUsage(
        `--columns takes day, model, ${Object.values(FIGURE_WORDS).join(', ')}, not "${word}".`,
      )
    columns[figure] = title.split('+')
  }
  return columns
}

function parsePercent(text: string): number {
  if (!/^\d{1,2}(\.\d{1,4})?$/.test(text))
    throw new WrongUsage(`--tolerance takes a percentage such as 0.5, not "${text}".`)
  return Number(text)
}

type Figure = number | string | null

/** A figure as it is shown; costs come as text. */
function shownFigure(figure: Figure): string {
  if (figure === null) return '-'
  return typeof figure === 'string' ? `$${figure}` : String(figure)
}

/** How far the vendor's figure is above or below the charges. */
function shownDifference(vendor: Figure, charges: Figure): string {
  if (typeof vendor === 'number' && typeof charges === 'number')
    return `${vendor >= charges ? '+' : '-'}${Math.abs(vendor - charges)}`
  const apartNano = (parseUsd(String(vendor)) ?? 0) - (parseUsd(String(charges)) ?? 0)
  return `${apartNano >= 0 ? '+' : '-'}$${formatUsd(Math.abs(apartNano))}`
}

function showResult({ differences, compared, vendor, charges, ...result }: Reconciliation) {
  if (differences.length > 0) {
    printTable(differences, [
      ['DAY', ({ day }) => day],
      ['MODEL', ({ model }) => model, { flexible: true }],
      ['FIGURE', ({ figure }) => SHOWN_FIGURES[figure]],
      ['VENDOR', ({ vendor }) => shownFigure(vendor), RIGHT],
      ['CHARGES', ({ charges }) => shownFigure(charges), RIGHT],
      ['APART', ({ vendor, charges }) => shownDifference(vendor, charges), RIGHT],
    ])
    print('')
  }
  printTable(Object.keys(SHOWN_FIGURES) as ReconciledFigure[], [
    ['IN ALL', (figure) => SHOWN_FIGURES[figure]],
    ['VENDOR', (figure) => shownFigure(vendor[figure]), RIGHT],
    ['CHARGES', (figure) => shownFigure(charges[figure]), RIGHT],
  ])
  const { charges_without_figures: withoutFigures, shared_models: shared } = result
  say(`\nCompared ${compared} figures. A cost is listed if the vendor charges more than was charged here.`)
  if (withoutFigures > 0)
    say(`Counted here, because the vendor reported no tokens: ${counted(withoutFigures, 'charge')}.`)
  if (shared.length > 0)
    say(`Other upstreams also serve these models, and their charges are included: ${shared.join(', ')}.`)
}
