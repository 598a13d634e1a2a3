// A list as a table: columns are data, rows open by a link. On a narrow screen each row is a block of two lines with the
// same cells. Arrow-like keys j and k go through the rows.

import { type ComponentChildren, cloneElement, isValidElement, type VNode } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Empty } from './loaded'
import { fineDigitsOf, Money } from './money'

export interface Column<Row> {
  title: string
  /** Numbers are right-aligned. */
  isNumber?: boolean
  /** On a narrow screen: the first line has what names a row and its main figure. Default: the second, with its title. */
  isFirstLine?: boolean
  cell(row: Row): ComponentChildren
  /** The cell of the footer. */
  footer?: ComponentChildren
}

export interface TableProps<Row> {
  /** The name of the list, for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf(row: Row): string
  /** The address that a row opens; absent where there is none. */
  hrefOf?(row: Row): string
  /** The row that is open. */
  openKey?: string | null
  /** Shown instead of an empty table: what to do next. */
  empty: ComponentChildren
}

export function Table<Row>(props: TableProps<Row>) {
  return props.rows.length === 0 ? <Empty>{props.empty}</Empty> : <FilledTable {...props} />
}

function FilledTable<Row>({ label, columns, rows, keyOf, hrefOf, openKey }: TableProps<Row>) {
  const frame = useRef<HTMLElement>(null)
  const isWide = useIsWide(frame)
  const hasFooter = columns.some(({ footer }) => footer !== undefined)
  const cells = columns.map((column) => aligned([...rows.map((row) => column.cell(row)), column.footer]))
  return (
    <section
      ref={frame}
      class={`table-frame ${isWide ? 'wide' : ''}`}
      aria-label={label}
      tabIndex={isWide ? 0 : undefined}
    >
      <table aria-label={label} class={hrefOf ? 'opens' : ''}>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={classOf(column)} key={column.title}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, rowIndex) => (
            <tr key={keyOf(row)} aria-current={openKey === keyOf(row) ? 'true' : undefined}>
              {columns.map((column, index) => (
                <td class={classOf(column)} data-title={column.title} key={column.title}>
                  {index === 0 && hrefOf ? (
                    <a class="row-link" href={hrefOf(row)}>
                      {cells[index]?.[rowIndex]}
                    </a>
                  ) : (
                    cells[index]?.[rowIndex]
                  )}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
        {hasFooter && (
          <tfoot>
            <tr>
              {columns.map((column, index) => (
                <td class={classOf(column)} data-title={column.title} key={column.title}>
                  {cells[index]?.[rows.length]}
                </td>
              ))}
            </tr>
          </tfoot>
        )}
      </table>
    </section>
  )
}

/** Cells of one column, with the decimal points of its amounts below each other. */
function aligned(cells: readonly ComponentChildren[]): ComponentChildren[] {
  const fineDigits = Math.max(...cells.map((cell) => (isAmount(cell) ? fineDigitsOf(cell.props) : 0)))
  return cells.map((cell) => (isAmount(cell) ? cloneElement(cell, { fineDigits }) : cell))
}

function isAmount(cell: ComponentChildren): cell is VNode<Parameters<typeof Money>[0]> {
  return isValidElement(cell) && cell.type === Money
}

/** Whether a table is wider than its frame: only such a frame scrolls, because heads stick to the page and not to a frame. */
function useIsWide(frame: { current: HTMLElement | null }): boolean {
  const [isWide, setWide] = useState(false)
  useLayoutEffect(() => {
    const box = frame.current
    const table = box?.firstElementChild
    if (!box || !table) return
    const measure = () => setWide(box.scrollWidth > box.clientWidth)
    const observer = new ResizeObserver(measure)
    observer.observe(box)
    observer.observe(table)
    measure()
    return () => observer.disconnect()
  }, [])
  return isWide
}

function classOf<Row>({ isNumber, isFirstLine }: Column<Row>): string {
  return `${isNumber ? 'number ' : ''}${isFirstLine ? 'first-line' : ''}`
}
