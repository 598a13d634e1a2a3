// Requests of a customer in the time range.

import { hrefOf, periodQuery } from '../address'
import { call, fileAddress, type PageOf } from '../api'
import { PagedTable, usePages } from '../parts/paged'
import type { Column } from '../parts/table'
import { type ListedRequest, requestColumns } from '../records/request-columns'
import { texts } from '../texts'

const words = texts.requests

interface Part {
  since?: string
  until?: string
  after?: string | undefined
  limit: number
}

export function askRequestsOf(account: string, part: Part, signal?: AbortSignal) {
  return call('listRequests', {
    query: { account, ...part },
    ...(signal && { signal }),
  }) as unknown as Promise<PageOf<ListedRequest>>
}

export const customerRequestColumns: readonly Column<ListedRequest>[] = Object.values(requestColumns)

export function CustomerRequests({ account }: { account: string }) {
  const period = periodQuery()
  const pages = usePages(['requests of', account, period], (after, signal) =>
    askRequestsOf(account, { ...period, after, limit: 50 }, signal),
  )
  return (
    <section class="part">
      <div class="page-head">
        <h2>{words.title}</h2>
        <div class="actions">
          <a href={hrefOf('requests', { account })}>{texts.accounts.allRequests}</a>
          <a href={fileAddress('listRequests', { query: { account, ...period, format: 'csv' } })} download>
            CSV
          </a>
        </div>
      </div>
      <PagedTable
        label={words.title}
        pages={pages}
        columns={customerRequestColumns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => hrefOf('requests', { account }, id)}
        empty={texts.accounts.noRequests}
      />
    </section>
  )
}
