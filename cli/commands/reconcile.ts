// gateway reconcile: compares what a vendor says was used with the charges, by day and model. It must never write.

import { readFileSync } from 'node:fs'
import { defineCommand } from 'citty'
import { closingAt } from '../../src/billing/closings'
import {
  reconcile as compareUsage,
  type Difference,
  type Reconciliation,
} from '../../src/billing/reconciliation'
import {
  FIGURE_NAMES,
  readVendorUsage,
  type UsageColumns,
  type VendorUsage,
} from '../../src/billing/vendor-usage'
import { type Config, isRoute } from '../../src/config/schema'
import { formatUsd } from '../../src/lib/money'
import { CommandFailed, lineOf, WrongUsage } from '../lib/errors'
import { commandArgs, withDatabase } from '../lib/settings'
import { print, printJson, say } from '../view/output'
import { type Column, renderTable } from '../view/table'
import { parsePeriod } from '../view/times'

/** Names of figures in flags, and how they are shown. */
const FIGURE_WORDS = {
  requests: 'requests',
  inputTokens: 'input',
  outputTokens: 'output',
  costNano: 'cost',
} as const

export const reconcile = defineCommand({
  meta: {
    name: 'reconcile',
    description: 'Compare what a vendor says was used with the charges; exit 1 with a list if they differ.',
    examples: [
      'gateway reconcile --upstream openai --month 2026-10 --file usage.csv,cost.csv',
      'gateway reconcile --upstream local --month 2026-10 --file use.csv --columns day=Date,model=Model,input=In,output=Out',
    ],
  },
  args: {
    upstream: {
      type: 'string',
      required: true,
      valueHint: 'NAME',
      description: 'The upstream of the vendor',
    },
    month: { type: 'string', required: true, valueHint: '2026-10', description: 'The month, in UTC' },
    file: {
      type: 'string',
      required: true,
      valueHint: 'FILES',
      description: 'What the vendor exported: usage or cost as CSV, several with commas between',
    },
    columns: {
      type: 'string',
      valueHint: 'A=B,…',
      description: 'Columns of a file of another form: day, model, and any of requests, input, output, cost',
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
      description: 'Differences that are not listed (default: 1)',
    },
    ...commandArgs,
  },
  async run({ args }) {
    const { since = 0, until = 0 } = parsePeriod({ month: args.month }, Date.now())
    const columns = args.columns === undefined ? undefined : parseColumns(args.columns)
    const names = new Map(args.names === undefined ? [] : parsePairs('names', args.names))
    const tolerance = parsePercent(args.tolerance ?? '1') / 100
    const rows = args.file.split(',').flatMap((file) => readFile(file.trim(), columns))
    const said = rows
      .filter(({ day }) => Date.parse(day) >= since && Date.parse(day) < until)
      .map((row) => ({ ...row, model: names.get(row.model) ?? row.model }))
    if (said.length === 0) throw new CommandFailed(`The files have nothing of ${args.month}.`)
    await withDatabase(args, async (db, config) => {
      const closing = await closingAt(db, since)
      if (closing)
        throw new CommandFailed(
          `The charges of ${args.month} are closed and can no longer be compared: they are in ${closing.archive}.`,
        )
      const { vendorNames, shared } = modelsOfUpstream(config, args.upstream)
      const result = await compareUsage(db, said, { since, until, vendorNames, tolerance })
      if (args.json) printJson(resultJson(result, shared))
      else showResult(result, shared)
      const { length } = result.differences
      if (length > 0)
        throw new CommandFailed(length === 1 ? 'One figure differs.' : `${length} figures differ.`)
    })
  },
})

function readFile(file: string, columns: UsageColumns | undefined): VendorUsage[] {
  try {
    return readVendorUsage(readFileSync(file, 'utf8'), columns)
  } catch (error) {
    throw new CommandFailed(
      `${file} cannot be read: ${lineOf(error)}. --columns names the columns of a file of another form.`,
    )
  }
}

/** The vendor's name of each model of an upstream, and the models that other upstreams serve too. */
function modelsOfUpstream({ models, upstreams }: Config, upstream: string) {
  if (!upstreams[upstream])
    throw new CommandFailed(
      `There is no upstream ${upstream}. There are: ${Object.keys(upstreams).join(', ')}.`,
    )
  const vendorNames = new Map<string, string>()
  const shared: string[] = []
  for (const [id, entry] of Object.entries(models)) {
    if (isRoute(entry)) continue
    const served = typeof entry.upstream === 'string' ? [entry.upstream] : Object.keys(entry.upstream)
    if (!served.includes(upstream)) continue
    vendorNames.set(id, entry.upstreamModel ?? id)
    if (served.length > 1) shared.push(id)
  }
  return { vendorNames, shared }
}

function parsePairs(flag: string, text: string): [string, string][] {
  return text.split(',').map((pair) => {
    const [, name, value] = /^\s*([^=]+)=(.+?)\s*$/.exec(pair) ?? []
    if (name === undefined || value === undefined)
      throw new WrongUsage(`--${flag} takes pairs such as a=b, not "${pair}".`)
    return [name, value]
  })
}

function parseColumns(text: string): UsageColumns {
  const { day, model, ...others } = Object.fromEntries(parsePairs('columns', text))
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

function shownFigure(figure: Difference['figure'], value: number | undefined): string {
  if (value === undefined) return '-'
  return figure === 'costNano' ? `$${formatUsd(value)}` : String(value)
}

function showResult(
  { differences, compared, vendor, charged, withoutFigures }: Reconciliation,
  shared: string[],
) {
  const right = { align: 'right' } as const
  if (differences.length > 0) {
    const columns: Column[] = [
      { title: 'DAY' },
      { title: 'MODEL', flexible: true },
      { title: 'FIGURE' },
      { title: 'VENDOR', ...right },
      { title: 'CHARGES', ...right },
      { title: 'APART', ...right },
    ]
    const cells = differences.map(({ day, model, figure, vendor: one, charged: other }) => [
      day,
      model,
      FIGURE_WORDS[figure],
      shownFigure(figure, one),
      shownFigure(figure, other),
      `${one >= other ? '+' : '-'}${shownFigure(figure, Math.abs(one - other))}`,
    ])
    print(`${renderTable(columns, cells)}\n`)
  }
  const total = [{ title: 'IN ALL' }, { title: 'VENDOR', ...right }, { title: 'CHARGES', ...right }]
  print(
    renderTable(
      total,
      FIGURE_NAMES.map((figure) => [
        FIGURE_WORDS[figure],
        shownFigure(figure, vendor[figure]),
        shownFigure(figure, charged[figure]),
      ]),
    ),
  )
  say(`\nCompared ${compared} figures. A cost is listed where the vendor asks for more than was charged.`)
  if (withoutFigures > 0)
    say(`${withoutFigures} charges have no tokens of the vendor: they were counted here.`)
  if (shared.length > 0)
    say(`Other upstreams serve these models too, and their charges are in it: ${shared.join(', ')}.`)
}

function resultJson({ differences, ...result }: Reconciliation, shared: string[]) {
  const figures = ({ requests, inputTokens, outputTokens, costNano }: Reconciliation['vendor']) => ({
    requests: requests ?? null,
    input_tokens: inputTokens ?? null,
    output_tokens: outputTokens ?? null,
    cost_usd: costNano === undefined ? null : formatUsd(costNano),
  })
  return {
    ok: differences.length === 0,
    differences: differences.map(({ figure, vendor, charged, ...place }) => ({
      ...place,
      figure: FIGURE_WORDS[figure],
      vendor: figure === 'costNano' ? formatUsd(vendor) : vendor,
      charges: figure === 'costNano' ? formatUsd(charged) : charged,
    })),
    compared: result.compared,
    vendor: figures(result.vendor),
    charges: figures(result.charged),
    charges_without_figures: result.withoutFigures,
    shared_models: shared,
  }
}
