// Reads the usage in files that vendors export, by day and model. Pure. It must never guess: a file with unknown columns, or a
// figure that is not a number, is an error.

import { formatUsd } from '../money'

/** Figures of a day and a model; a figure missing from the file is absent. Cost in nano-dollars. */
export interface UsageFigures {
  requests?: number
  inputTokens?: number
  outputTokens?: number
  costNano?: number
}

export const FIGURE_NAMES = ['requests', 'inputTokens', 'outputTokens', 'costNano'] as const
export type FigureName = (typeof FIGURE_NAMES)[number]

export interface VendorUsage extends UsageFigures {
  /** The day in UTC: `2026-10-31`. */
  day: string
  /** The vendor's name of the model. */
  model: string
}

/** Rows merged to one per day and model, with their figures summed. */
export function summedUsage(rows: readonly VendorUsage[]): VendorUsage[] {
  const sums = new Map<string, VendorUsage>()
  for (const row of rows) {
    const place = `${row.day} ${row.model}`
    const sum = sums.get(place) ?? { day: row.day, model: row.model }
    for (const name of FIGURE_NAMES) if (row[name] !== undefined) sum[name] = (sum[name] ?? 0) + row[name]
    sums.set(place, sum)
  }
  return [...sums.values()]
}

/** A row in the form of the admin API. */
export function usageRowJson({ day, model, requests, inputTokens, outputTokens, costNano }: VendorUsage) {
  return {
    day,
    model,
    ...(requests !== undefined && { requests }),
    ...(inputTokens !== undefined && { input_tokens: inputTokens }),
    ...(outputTokens !== undefined && { output_tokens: outputTokens }),
    ...(costNano !== undefined && { cost_usd: formatUsd(costNano) }),
  }
}

/** The columns of a file for each figure; several are summed. */
export interface UsageColumns extends Partial<Record<FigureName, readonly string[]>> {
  day: string
  model: string
}

/** Columns of known exports. A file belongs to the first export whose columns it all has. */
const usageExports: readonly UsageColumns[] = [
  {
    day: 'start_time_iso',
    model: 'model',
    requests: ['num_model_requests'],
    inputTokens: ['input_tokens'],
    outputTokens: ['output_tokens'],
  },
  // Embeddings have no output.
  { day: 'start_time_iso', model: 'model', requests: ['num_model_requests'], inputTokens: ['input_tokens'] },
  { day: 'start_time_iso', model: 'line_item', costNano: ['amount_value'] },
  {
    day: 'usage_date_utc',
    model: 'model_version',
    inputTokens: [
      'usage_input_tokens_no_cache',
      'usage_input_tokens_cache_write_5m',
      'usage_input_tokens_cache_write_1h',
      'usage_input_tokens_cache_read',
    ],
    outputTokens: ['usage_output_tokens'],
  },
  { day: 'usage_date_utc', model: 'model', costNano: ['cost_usd'] },
]

/** Rows of a file, one per line. Throws an Error that describes its fault. */
export function readVendorUsage(text: string, named?: UsageColumns): VendorUsage[] {
  const records = recordsOf(text)
  const titles = Object.keys(records[0]?.values ?? {})
  if (titles.length === 0) throw new Error('it has no rows')
  const columns = named ?? usageExports.find((known) => namesOf(known).every((name) => titles.includes(name)))
  if (!columns) throw new Error(`its columns are not known: ${titles.join(', ')}`)
  const missing = namesOf(columns).filter((name) => !titles.includes(name))
  if (missing.length > 0) throw new Error(`it has no column ${missing.join(', ')}, only ${titles.join(', ')}`)
  return records.flatMap(({ line, values }) => rowOf(values, columns, line) ?? [])
}

/** Separators of values; a file uses the first of them that its titles contain outside quotes. */
const SEPARATORS = ['\t', ';', ','] as const

/** A row of a table: its values by their titles. */
interface TableRow {
  /** The number of its first line in the file. */
  line: number
  values: Record<string, string>
}

/** The rows of a table below its titles. A value may be quoted, over several lines. Throws an Error for an unclosed quote. */
function recordsOf(text: string): TableRow[] {
  const plain = text.replace(/^\ufeff/, '')
  const [first = ''] = plain.replace(/"[^"]*"/g, '').split('\n', 1)
  const separator = SEPARATORS.find((each) => first.includes(each)) ?? ','
  const value = new RegExp(` *(?:"((?:[^"]|"")*)" *|([^"\r\n${separator}]*))(${separator}|\r?\n|$)`, 'y')
  const rows: { line: number; texts: string[] }[] = [{ line: 1, texts: [] }]
  let line = 1
  while (value.lastIndex < plain.length) {
    const [whole = '', quoted, bare = '', end] = value.exec(plain) ?? []
    if (end === undefined) throw new Error(`line ${line} has a quote in an odd place`)
    line += whole.split('\n').length - 1
    rows.at(-1)?.texts.push((quoted?.replaceAll('""', '"') ?? bare).trim())
    if (end !== separator) rows.push({ line, texts: [] })
  }
  const [titles, ...others] = rows.filter(({ texts }) => texts.some((each) => each !== ''))
  return others.map(({ line, texts }) => ({
    line,
    values: Object.fromEntries(titles?.texts.map((title, place) => [title, texts[place] ?? '']) ?? []),
  }))
}

function namesOf({ day, model, ...figures }: UsageColumns): string[] {
  return [day, model, ...Object.values(figures).flat()]
}

function rowOf(record: Record<string, string>, columns: UsageColumns, line: number): VendorUsage | undefined {
  const { day: dayColumn, model: modelColumn } = columns
  const day = /^\d{4}-\d\d-\d\d/.exec(record[dayColumn] ?? '')?.[0]
  if (day === undefined) throw new Error(`line ${line} has no day in ${dayColumn}`)
  const row: VendorUsage = { day, model: modelOf(record[modelColumn] ?? '') }
  let isEmpty = true
  for (const name of FIGURE_NAMES) {
    const values = (columns[name] ?? []).map((column) => record[column] ?? '')
    if (columns[name]) row[name] = values.reduce((sum, value) => sum + figureOf(value, name, line), 0)
    if (values.some((value) => value !== '')) isEmpty = false
  }
  // Some exports list days without use without any figure.
  if (isEmpty) return undefined
  if (row.model === '')
    throw new Error(`line ${line} has no model in ${modelColumn}: export it by model or line item`)
  return row
}

/** The model in a line item such as `name-of-model, input`. */
function modelOf(text: string): string {
  return text.split(', ')[0] ?? ''
}

function figureOf(text: string, name: FigureName, line: number): number {
  const plain = text.replace(/^\$/, '')
  const number = plain === '' ? 0 : Number(plain)
  const figure = name === 'costNano' ? Math.round(number * 1e9) : number
  if (!Number.isSafeInteger(figure))
    throw new Error(`line ${line} has "${text}", which is not a number of ${name}`)
  return figure
}
