// Reads the usage that vendors report in the files that they export, by day and model. Pure. It must never guess: a
// file with unknown columns, or a figure that is not a number, is an error.

import { parse } from 'csv-parse/sync'

/** Figures of a day and a model; a figure that the file does not have is absent. Cost in nano-dollars. */
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

/** Rows with one for each day and model, in which their figures are added up. */
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

/** The columns in which a file has what; several are added up. */
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

/** Rows of a file, one for each of its lines. Throws an Error that says what is wrong with it. */
export function readVendorUsage(text: string, named?: UsageColumns): VendorUsage[] {
  const records = parse(text, {
    bom: true,
    columns: true,
    delimiter: [',', '\t', ';'],
    relax_column_count: true,
    skip_empty_lines: true,
    trim: true,
  }) as Record<string, string>[]
  const titles = Object.keys(records[0] ?? {})
  if (titles.length === 0) throw new Error('it has no rows')
  const columns = named ?? usageExports.find((known) => namesOf(known).every((name) => titles.includes(name)))
  if (!columns) throw new Error(`its columns are not known: ${titles.join(', ')}`)
  const missing = namesOf(columns).filter((name) => !titles.includes(name))
  if (missing.length > 0) throw new Error(`it has no column ${missing.join(', ')}, only ${titles.join(', ')}`)
  return records.flatMap((record, index) => rowOf(record, columns, index + 2) ?? [])
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
  // Days without use are in some exports without any figure.
  if (isEmpty) return undefined
  if (row.model === '')
    throw new Error(`line ${line} has no model in ${modelColumn}: export it by model or line item`)
  return row
}

/** The model of a line item such as `name-of-model, input`. */
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
