// A list as a table: columns are data, rows open by a link. Column titles sort if the whole list is loaded. If the table has too
// little room, columns are hidden, and each row shows them when it is expanded. On a narrow screen each row is a block of two lines
// with the same cells. The keys j and k move through the rows, like arrow keys.

import { type ComponentChildren, cloneElement, isValidElement, type VNode } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { address, setQuery } from '../address'
import {
  type Column,
  givingWay,
  nextOrder,
  type Order,
  orderOf,
  type SortValue,
  sorted,
  sortValueOf,
} from '../columns'
import { texts } from '../texts'
import { Icon } from './icon'
import { Empty } from './loaded'
import { fineDigitsOf, Money } from './money'
import { useResize } from './resize'

export type { Column } from '../columns'

export interface TableProps<Row> {
  /** The name of the list, for screen readers. */
  label: string
  columns: readonly Column<Row>[]
  rows: readonly Row[]
  keyOf(row: Row): string
  /** Tells screen readers which row a link opens, if its first cell is not a name. */
  rowName?(row: Row): string
  /** The address that a row opens. Absent: rows open nothing. */
  hrefOf?(row: Row): string
  /** The row that is open. */
  openKey?: string | null
  /** Shown instead of an empty table: what to do next. */
  empty: ComponentChildren
  /** Whether these are all rows of the list: an incomplete list is not sorted. */
  isWhole?: boolean
}

export function Table<Row>(props: TableProps<Row>) {
  const { rows, columns, empty } = props
  if (rows.length === 0) return <Empty>{empty}</Empty>
  return <FilledTable key={columns.map(({ title }) => title).join()} {...props} />
}

/** Number of rows that are drawn at first, and with each further step: thousands would block the browser. */
const LINES_AT_ONCE = 200
/** The width from which rows are lines of a table. */
const LINES = matchMedia('(min-width: 761px)')
/** Space for the button that expands a row, in pixels. */
const UNFOLD_WIDTH = 32

function FilledTable<Row>(props: TableProps<Row>) {
  const { label, columns, rows: given, hrefOf, isWhole = true } = props
  const frame = useRef<HTMLElement>(null)
  const { gone, isWide } = useRoom(frame, columns)
  const canSort = isWhole && given.length > 1
  const order = canSort ? orderOf(address.value.query.sort) : undefined
  const [most, setMost] = useState(LINES_AT_ONCE)
  // Whether a column sorts is determined from its first cells; all of them are computed only for the sorting column.
  const samples = columns.map((column) =>
    canSort ? valuesOf(column, given.slice(0, LINES_AT_ONCE)) : undefined,
  )
  const by = columns.findIndex(({ title }, place) => title === order?.title && samples[place])
  const sorting = columns[by] && valuesOf(columns[by], given)
  const all = order && sorting ? sorted(given, sorting, order.isDescending) : given
  const rows = all.slice(0, most)
  const fields = columns.map((column, place): Field<Row> => {
    const cells = aligned([...rows.map((row) => column.cell(row)), column.footer])
    return { column, place, cells, values: samples[place] }
  })
  const shown = fields.filter(({ place }) => !gone.includes(place))
  const folded = fields.filter(({ place }) => gone.includes(place))
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
            {shown.map((field) => (
              <Head field={field} order={order} key={field.column.title} />
            ))}
            {folded.length > 0 && <td class="unfold" />}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) => (
            <Line key={props.keyOf(row)} {...props} {...{ row, index, shown, folded }} />
          ))}
        </tbody>
        {columns.some(({ footer }) => footer !== undefined) && (
          <tfoot>
            <tr>
              {shown.map((field) => (
                <Cell field={field} key={field.column.title}>
                  {field.cells[rows.length]}
                </Cell>
              ))}
              {folded.length > 0 && <td class="unfold" />}
            </tr>
          </tfoot>
        )}
      </table>
      {all.length > rows.length && (
        <p class="list-end">
          <button type="button" onClick={() => setMost(most + LINES_AT_ONCE)}>
            {texts.showMore}
          </button>{' '}
          <span class="quiet">{texts.rowsOf(rows.length, all.length)}</span>
        </p>
      )}
    </section>
  )
}

/** A column with its cells, that of the footer at the end. */
interface Field<Row> {
  column: Column<Row>
  place: number
  cells: readonly ComponentChildren[]
  /** Values to sort by; undefined if the column cannot be sorted. */
  values: readonly SortValue[] | undefined
}

function Head<Row>({
  field: { column, place, values },
  order,
}: {
  field: Field<Row>
  order: Order | undefined
}) {
  const { title } = column
  const own = order?.title === title ? order : undefined
  return (
    <th
      scope="col"
      class={classOf(column)}
      data-place={place}
      aria-sort={own && (own.isDescending ? 'descending' : 'ascending')}
    >
      {values && title ? (
        <button
          type="button"
          class="sort"
          onClick={() => setQuery({ sort: nextOrder(order, title, values) })}
        >
          {title}
        </button>
      ) : (
        title
      )}
    </th>
  )
}

interface LineProps<Row> extends Pick<TableProps<Row>, 'keyOf' | 'hrefOf' | 'openKey' | 'rowName'> {
  row: Row
  index: number
  shown: readonly Field<Row>[]
  /** The hidden columns, which the row shows when it is expanded. */
  folded: readonly Field<Row>[]
}

function Line<Row>({ row, index, shown, folded, keyOf, hrefOf, openKey, rowName }: LineProps<Row>) {
  const [isUnfolded, setUnfolded] = useState(false)
  return (
    <>
      <tr aria-current={openKey === keyOf(row) ? 'true' : undefined}>
        {shown.map((field, place) => (
          <Cell field={field} key={field.column.title}>
            {place === 0 && hrefOf ? (
              <a class="row-link" href={hrefOf(row)}>
                {field.cells[index]}
                {rowName && <span class="hidden"> {rowName(row)}</span>}
              </a>
            ) : (
              field.cells[index]
            )}
          </Cell>
        ))}
        {folded.length > 0 && (
          <td class="unfold">
            <button
              type="button"
              class="plain"
              aria-expanded={isUnfolded}
              aria-label={texts.furtherColumns}
              onClick={() => setUnfolded(!isUnfolded)}
            >
              <Icon name="more" />
            </button>
          </td>
        )}
      </tr>
      {isUnfolded && folded.length > 0 && (
        <tr class="unfolded">
          <td colSpan={shown.length + 1}>
            <dl>
              {folded.map(({ column: { title }, cells }) => (
                <div key={title}>
                  <dt>{title}</dt>
                  <dd>{cells[index] || '–'}</dd>
                </div>
              ))}
            </dl>
          </td>
        </tr>
      )}
    </>
  )
}

function Cell<Row>({ field: { column }, children }: { field: Field<Row>; children: ComponentChildren }) {
  return (
    <td class={classOf(column)} data-title={column.title}>
      {children}
    </td>
  )
}

/** The values of a column to sort by, one per row; undefined if it cannot be sorted. */
function valuesOf<Row>(column: Column<Row>, rows: readonly Row[]): SortValue[] | undefined {
  const values = rows.map((row) =>
    column.sort ? column.sort(row) : sortValueOf(column.cell(row), column.isNumber),
  )
  return values.some((value) => value === undefined) || values.every((value) => value === null)
    ? undefined
    : (values as SortValue[])
}

/** Cells of one column, with aligned decimal points. */
function aligned(cells: readonly ComponentChildren[]): ComponentChildren[] {
  const fineDigits = Math.max(...cells.map((cell) => (isAmount(cell) ? fineDigitsOf(cell.props) : 0)))
  return cells.map((cell) => (isAmount(cell) ? cloneElement(cell, { fineDigits }) : cell))
}

function isAmount(cell: ComponentChildren): cell is VNode<Parameters<typeof Money>[0]> {
  return isValidElement(cell) && cell.type === Money
}

/**
 * The columns to hide so that a table fits its frame, which are computed again when the frame's width changes; and whether it is
 * still too wide. Only such a frame scrolls, because column titles stick to the page and not to a frame.
 */
function useRoom<Row>(frame: { current: HTMLElement | null }, columns: readonly Column<Row>[]) {
  const [gone, setGone] = useState<readonly number[]>([])
  const [isWide, setWide] = useState(false)
  const measured = useRef(0)
  const measure = () => {
    const box = frame.current
    if (!box) return
    if (box.clientWidth !== measured.current) {
      measured.current = box.clientWidth
      if (gone.length > 0) return setGone([])
    }
    const missing = box.scrollWidth - box.clientWidth
    const widths: number[] = []
    for (const head of box.querySelectorAll<HTMLElement>('th[data-place]'))
      widths[Number(head.dataset.place)] = head.offsetWidth
    const further = missing > 0 && LINES.matches ? givingWay(columns, widths, missing + UNFOLD_WIDTH) : []
    if (further.length > 0) setGone([...gone, ...further])
    setWide(missing > 0 && further.length === 0)
  }
  useLayoutEffect(measure)
  useResize(frame, measure)
  return { gone, isWide }
}

function classOf<Row>({ isNumber, isFirstLine }: Column<Row>): string {
  return `${isNumber ? 'number ' : ''}${isFirstLine ? 'first-line' : ''}`
}
