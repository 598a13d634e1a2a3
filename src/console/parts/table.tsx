// A list as a table: columns are data, rows open by a link. On a narrow screen each row is a block of two lines with the
// same cells. Arrow-like keys j and k go through the rows. `usePages` loads by cursor, so that a list of millions is no
// slower than one of ten.

import { type ComponentChildren, cloneElement, isValidElement, type VNode } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { ApiError, type PageOf } from '../api'
import { texts } from '../texts'
import { Empty, Failed, type Load, useLoaded, Waiting } from './loaded'
import { fineDigitsOf, Money } from './money'

export interface Column<Row> {
  title: string
  /** Numbers stand at the right. */
  isNumber?: boolean
  /** On a narrow screen: the first line has what names a row and its main figure. Default: the second, with its title. */
  isFirstLine?: boolean
  cell(row: Row): ComponentChildren
  /** The cell of the footer. */
  footer?: ComponentChildren
}

interface TableProps<Row> {
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

export interface Pages<Row> {
  load: Load<PageOf<Row>>
  rows: Row[]
  hasMore: boolean
  more(): Promise<void>
  moreError: ApiError | undefined
  isLoadingMore: boolean
  /** Whether something has happened since the first page was asked, which waits because the reader is further down. */
  hasNews: boolean
  showNews(): void
}

/**
 * A list by its cursor: the first page, and further ones when asked. `needs` are the values that the question depends on.
 * `news` grows when the list has changed: it is asked again while its beginning is seen, and otherwise when the reader wants it.
 */
export function usePages<Row>(
  ask: (after: string | undefined, signal?: AbortSignal) => Promise<PageOf<Row>>,
  needs: readonly unknown[],
  news = 0,
): Pages<Row> {
  const [further, setFurther] = useState<{ of: unknown; rows: Row[]; next: string | null }>()
  const [moreError, setMoreError] = useState<ApiError>()
  const [isLoadingMore, setLoadingMore] = useState(false)
  const load = useLoaded((signal) => ask(undefined, signal), needs)
  // Further pages belong to the first page that they were asked after.
  const own = further?.of === load.data ? further : undefined
  const next = own ? own.next : (load.data?.next ?? null)
  const shown = useRef(news)
  const showNews = () => {
    shown.current = news
    load.reload()
  }
  useEffect(() => {
    shown.current = news
  }, needs)
  useEffect(() => {
    if (news !== shown.current && !own && scrollY <= 0) showNews()
  }, [news])
  return {
    load,
    rows: [...(load.data?.data ?? []), ...(own?.rows ?? [])],
    hasMore: next !== null,
    moreError,
    isLoadingMore,
    hasNews: news !== shown.current,
    showNews() {
      scrollTo(0, 0)
      showNews()
    },
    async more() {
      if (next === null || isLoadingMore) return
      setLoadingMore(true)
      try {
        const page = await ask(next)
        setFurther({ of: load.data, rows: [...(own?.rows ?? []), ...page.data], next: page.next })
        setMoreError(undefined)
      } catch (error) {
        setMoreError(ApiError.from(error))
      } finally {
        setLoadingMore(false)
      }
    },
  }
}

/** A table of a list that is loaded by cursor. */
export function PagedTable<Row>({ pages, ...table }: { pages: Pages<Row> } & Omit<TableProps<Row>, 'rows'>) {
  return <Paged pages={pages}>{(rows) => <Table {...table} rows={rows} />}</Paged>
}

/** The rows of a list that is loaded by cursor, in any form, and what loads more of them. */
export function Paged<Row>({
  pages,
  children,
}: {
  pages: Pages<Row>
  children: (rows: readonly Row[]) => ComponentChildren
}) {
  const { load, rows, hasMore, more, moreError, isLoadingMore, hasNews, showNews } = pages
  if (load.error && !load.data) return <Failed error={load.error} retry={load.reload} />
  if (!load.data) return <Waiting />
  return (
    <div aria-busy={load.isLoading}>
      {load.error && <Failed error={load.error} retry={load.reload} />}
      <div class="list-news" role="status">
        {hasNews && !load.isLoading && (
          <button type="button" class="primary" onClick={showNews}>
            {texts.showNews}
          </button>
        )}
      </div>
      {rows.length === 0 && hasMore ? <Empty>{texts.noneSoFar}</Empty> : children(rows)}
      {moreError && <Failed error={moreError} />}
      {(rows.length > 0 || hasMore) && (
        <p class="list-end">
          {hasMore ? (
            <button type="button" onClick={more} disabled={isLoadingMore} aria-busy={isLoadingMore}>
              {rows.length > 0 ? texts.showMore : texts.lookFurther}
            </button>
          ) : (
            <span class="quiet">{texts.rowsInAll(rows.length)}</span>
          )}
        </p>
      )}
    </div>
  )
}
