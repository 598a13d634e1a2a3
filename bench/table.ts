// Writes rows as a markdown table that reads well in a terminal too. It must never omit a row that missed its threshold.
import type { Fault } from './load-client'
import type { PerTarget, TargetName } from './targets'

export interface Row {
  figure: string
  bar?: string
  cells: PerTarget<string>
  ratio?: string
  missed?: boolean
}

const HEADINGS: [TargetName, string][] = [
  ['nginx', 'nginx'],
  ['pipe', 'bare pipe'],
  ['gateway', 'gateway'],
]

export function markdownTable(rows: Row[], nginx: boolean): string {
  const columns = HEADINGS.filter(([name]) => nginx || name !== 'nginx')
  const head = ['figure', 'bar', ...columns.map(([, heading]) => heading), 'gateway / pipe']
  const lines = rows.map((row) => [
    row.figure,
    bar(row),
    ...columns.map(([name]) => row.cells[name] ?? ''),
    row.ratio ?? '',
  ])
  return lined([head, ...lines], 2)
}

/** A markdown table whose columns are aligned: words to the left, and figures, from column `figuresFrom` on, to the right. */
export function lined(lines: string[][], figuresFrom: number): string {
  const [head = [], ...rows] = lines
  const widths = head.map((_, column) => Math.max(...lines.map((line) => (line[column] ?? '').length)))
  const pad = (cell: string, column: number) => {
    const width = widths[column] ?? 0
    return column < figuresFrom ? cell.padEnd(width) : cell.padStart(width)
  }
  const format = (line: string[]) => `| ${line.map(pad).join(' | ')} |`
  const rule = widths.map((width, column) =>
    column < figuresFrom ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  )
  return [format(head), format(rule), ...rows.map(format)].join('\n')
}

function bar(row: Row): string {
  if (row.bar === undefined) return ''
  return row.missed === true ? `${row.bar} **missed**` : row.bar
}

export function faultList(faults: Fault[]): string {
  return faults
    .map(({ subject, target, errors, of, examples }) => {
      const causes = [...new Set(examples)].map((example) => `    ${example}`)
      return [`${subject}, ${target}: ${errors} errors in ${of} replies or more`, ...causes].join('\n')
    })
    .join('\n')
}
