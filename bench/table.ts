// Writes rows as a markdown table that reads well in a terminal too. It must never leave out a row that missed.
import type { Fault } from './load-client'
import type { Row } from './rows'
import type { TargetName } from './targets'

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
  const widths = head.map((title, column) =>
    Math.max(title.length, ...lines.map((line) => (line[column] as string).length)),
  )
  const format = (line: string[]) =>
    `| ${line.map((cell, column) => pad(cell, widths[column] ?? 0, column)).join(' | ')} |`
  const rule = widths.map((width, column) => (column < 2 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [format(head), format(rule), ...lines.map(format)].join('\n')
}

function bar(row: Row): string {
  if (row.bar === undefined) return ''
  return row.missed === true ? `${row.bar} **missed**` : row.bar
}

/** Words to the left, figures to the right. */
function pad(cell: string, width: number, column: number): string {
  return column < 2 ? cell.padEnd(width) : cell.padStart(width)
}

export function faultList(faults: Fault[]): string {
  return faults
    .map(({ subject, target, errors, of, examples }) => {
      const causes = [...new Set(examples)].map((example) => `    ${example}`)
      return [`${subject}, ${target}: ${errors} errors in ${of} replies or more`, ...causes].join('\n')
    })
    .join('\n')
}
