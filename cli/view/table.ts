// Lays text out in columns: tables with a title line, and blocks of labelled lines. Without a width nothing must be
// wrapped or shortened, so that other programs get every value whole. A value must never begin a new line.

import { onOneLine, paint, print, terminalWidth } from './output'

export interface Column {
  title: string
  /** Alignment of the column, left by default. `decimal` aligns the decimal points of amounts. */
  align?: 'left' | 'right' | 'decimal'
  /** Shrinks if the table is wider than the terminal: its text is wrapped, and its long words are cut. */
  flexible?: boolean
  /** Minimum width of a flexible column. */
  widthMin?: number
  /** Hidden if the terminal is too narrow even for the minimum width of each column. */
  optional?: boolean
  /** An id that other commands accept: if it is too long, it is printed below its row, never truncated. */
  isId?: boolean
}

/** A label, its text, and whether long words must stay whole, such as a URL to copy. */
export type Entry = readonly [label: string, text: string, keep?: 'whole']

const GAP = '  '
const FLEXIBLE_WIDTH_MIN = 12
const LABEL_INDENT = '  '

/** A column of a table of rows: its title, what it shows of a row, and its layout. */
export type Shown<Row> = readonly [title: string, cell: (row: Row) => string, layout?: Omit<Column, 'title'>]

/** A table with one line per row. */
export function tableOf<Row>(rows: readonly Row[], columns: readonly Shown<Row>[]): string {
  return renderTable(
    columns.map(([title, , layout]) => ({ title, ...layout })),
    rows.map((row) => columns.map(([, cell]) => cell(row))),
  )
}

export function printTable<Row>(rows: readonly Row[], columns: readonly Shown<Row>[]): void {
  print(tableOf(rows, columns))
}

/** A table. The text of a flexible column must be unstyled. `below` are lines below each row. */
export function renderTable(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width = terminalWidth(),
  below: readonly string[] = [],
): string {
  const body = rows.map((row) => row.map(onOneLine))
  for (const [index, { align }] of columns.entries()) if (align === 'decimal') alignPoints(body, index)
  const natural = naturalWidths(columns, body)
  const id = columns.findIndex(({ isId }) => isId)
  const dispensable = id === -1 ? columns.findLastIndex(({ optional }) => optional) : id
  if (dispensable !== -1 && width !== undefined && totalOf(leastWidths(columns, natural)) > width) {
    const without = <Item>(items: readonly Item[]) => items.filter((_, index) => index !== dispensable)
    const ids = id === -1 ? below : body.map((row) => row[id] ?? '')
    return renderTable(without(columns), rows.map(without), width, ids)
  }
  const widths = fit(columns, natural, width)
  const titles = columns.map(({ title, align }, index) => pad(title, widths[index] ?? 0, align))
  const lines = [paint('dim', titles.join(GAP).trimEnd())]
  for (const [at, row] of body.entries()) {
    const cells = columns.map(({ flexible }, index) => {
      const text = row[index] ?? ''
      return flexible ? wrap(text, widths[index] ?? 0) : [text]
    })
    const height = Math.max(...cells.map((cell) => cell.length))
    for (let line = 0; line < height; line++) {
      const parts = columns.map(({ align }, index) =>
        pad(cells[index]?.[line] ?? '', widths[index] ?? 0, align),
      )
      lines.push(parts.join(GAP).trimEnd())
    }
    if (below[at]) lines.push(GAP + paint('dim', below[at]))
  }
  return lines.join('\n')
}

/** Labels in one column, texts in another; long texts wrap within theirs. */
export function renderBlock(entries: readonly Entry[], width = terminalWidth()): string {
  const labels = entries.map(([label]) => onOneLine(label))
  const labelWidth = Math.max(...labels.map((label) => label.length))
  const indent = LABEL_INDENT.length + labelWidth + GAP.length
  return entries
    .flatMap(([, text, keep], at) =>
      wrap(onOneLine(text), width === undefined || keep ? undefined : width - indent).map((line, index) =>
        index === 0
          ? `${LABEL_INDENT}${paint('dim', (labels[at] ?? '').padEnd(labelWidth))}${GAP}${line}`
          : `${' '.repeat(indent)}${line}`,
      ),
    )
    .join('\n')
}

/** Lines of at most `width`, broken between words. A longer word loses its middle. */
export function wrap(text: string, width: number | undefined): string[] {
  if (width === undefined || Bun.stringWidth(text) <= width) return [text]
  const lines: string[] = []
  let line = ''
  for (const whole of text.split(' ')) {
    const word = shorten(whole, width)
    if (line === '') line = word
    else if (Bun.stringWidth(line) + 1 + Bun.stringWidth(word) <= width) line += ` ${word}`
    else {
      lines.push(line)
      line = word
    }
  }
  return [...lines, line]
}

/** The width at which no word of the texts is cut. */
export function wordsWidth(texts: readonly string[]): number {
  return Math.max(0, ...texts.flatMap((text) => text.split(' ')).map((word) => Bun.stringWidth(word)))
}

function shorten(word: string, width: number): string {
  if (Bun.stringWidth(word) <= width) return word
  const kept = Math.max(width - 1, 2)
  // A style that is cut in two would be displayed as text.
  const plain = Bun.stripANSI(word)
  return `${plain.slice(0, Math.ceil(kept / 2))}…${plain.slice(-Math.floor(kept / 2))}`
}

function naturalWidths(columns: readonly Column[], rows: readonly string[][]): number[] {
  return columns.map(({ title }, index) =>
    Math.max(title.length, ...rows.map((row) => Bun.stringWidth(row[index] ?? ''))),
  )
}

function leastWidths(columns: readonly Column[], natural: readonly number[]): number[] {
  return columns.map(({ title, flexible, widthMin = FLEXIBLE_WIDTH_MIN }, index) => {
    const own = natural[index] ?? 0
    return flexible ? Math.min(own, Math.max(widthMin, title.length)) : own
  })
}

function totalOf(widths: readonly number[]): number {
  return widths.reduce((sum, each) => sum + each, 0) + GAP.length * (widths.length - 1)
}

/** The widths of columns: flexible ones shrink, the last first, until the table fits or none can shrink further. */
function fit(columns: readonly Column[], natural: number[], width: number | undefined): number[] {
  const widths = [...natural]
  if (width === undefined) return widths
  const least = leastWidths(columns, natural)
  let excess = totalOf(widths) - width
  for (let index = columns.length - 1; index >= 0 && excess > 0; index--) {
    const own = widths[index] ?? 0
    const given = Math.min(excess, own - (least[index] ?? own))
    widths[index] = own - given
    excess -= given
  }
  return widths
}

/** Pads all amounts of a column to the decimals of the longest. */
function alignPoints(rows: string[][], column: number): void {
  const decimals = (text: string) => (text.includes('.') ? text.length - text.indexOf('.') : 0)
  const most = Math.max(0, ...rows.map((row) => decimals(row[column] ?? '')))
  for (const row of rows) {
    const text = row[column] ?? ''
    row[column] = text + ' '.repeat(most - decimals(text))
  }
}

function pad(text: string, width: number, align: Column['align'] = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - Bun.stringWidth(text)))
  return align === 'left' ? text + space : space + text
}
