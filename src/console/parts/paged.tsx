// A list that is loaded by cursor, so that one of millions is no slower than one of ten: its first page, and further ones on
// demand. A list that changes must never move under its reader.

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, type PageOf } from '../api'
import { type Load, useQuery } from '../query'
import { texts } from '../texts'
import { Empty, Failed, Waiting } from './loaded'
import { Table, type TableProps } from './table'

export interface Pages<Row> {
  load: Load<PageOf<Row>>
  rows: Row[]
  hasMore: boolean
  more(): Promise<void>
  moreError: ApiError | undefined
  isLoadingMore: boolean
  /** Whether there are changes since the first page was loaded, which wait because the reader is further down. */
  hasNews: boolean
  showNews(): void
}

/**
 * A list by its cursor: the first page, and further ones on demand. The key contains everything that the list depends on. `news`
 * increases when the list has changed: it is requested again while its beginning is visible, and otherwise when the reader wants
 * it.
 */
export function usePages<Row>(
  key: readonly unknown[],
  ask: (after: string | undefined, signal?: AbortSignal) => Promise<PageOf<Row>>,
  news = 0,
): Pages<Row> {
  const [further, setFurther] = useState<{ of: unknown; rows: Row[]; next: string | null }>()
  const [moreError, setMoreError] = useState<ApiError>()
  const [isLoadingMore, setLoadingMore] = useState(false)
  const load = useQuery(key, (signal) => ask(undefined, signal))
  // Further pages belong to the first page after which they were requested.
  const own = further?.of === load.data ? further : undefined
  const next = own ? own.next : (load.data?.next ?? null)
  const shown = useRef(news)
  const showNews = () => {
    shown.current = news
    load.reload()
  }
  useEffect(() => {
    shown.current = news
  }, [JSON.stringify(key)])
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
export function PagedTable<Row>({
  pages,
  ...table
}: { pages: Pages<Row> } & Omit<TableProps<Row>, 'rows' | 'isWhole'>) {
  return <Paged pages={pages}>{(rows) => <Table {...table} rows={rows} isWhole={!pages.hasMore} />}</Paged>
}

/** The rows of a list that is loaded by cursor, in any form, and a button that loads more of them. */
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
