// Requests of a customer in the time range.

import { hrefOf, periodQuery } from '../address'
import { call, fileAddress, type PageOf } from '../api'
import { Money } from '../parts/money'
import { PagedTable, usePages } from '../parts/paged'
import { HttpStatus } from '../parts/status'
import type { Column } from '../parts/table'
import { Duration, LogTime } from '../parts/time'
import { texts } from '../texts'

const words = texts.requests

/** A row as in the log: columns by name. */
export interface RequestOfCustomer {
  id: string
  at: string
  key: string | null
  model: string | null
  asked_model: string | null
  operation: string
  status: number
  error_code: string | null
  duration_ms: number
  amount_usd: string | null
}

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
  }) as unknown as Promise<PageOf<RequestOfCustomer>>
}

export const requestColumns: readonly Column<RequestOfCustomer>[] = [
  { title: texts.time, isFirstLine: true, cell: ({ at }) => <LogTime at={at} /> },
  {
    title: words.model,
    isFirstLine: true,
    cell: ({ model, asked_model: asked, operation }) => (
      <>
        <span class="whole">{model ?? asked ?? '–'}</span> <span class="quiet">{operation}</span>
      </>
    ),
  },
  { title: words.key, priority: 3, cell: ({ key }) => key && <a href={hrefOf('keys', {}, key)}>{key}</a> },
  {
    title: words.status,
    priority: 1,
    cell: ({ status, error_code }) => (
      <>
        <HttpStatus status={status} error={error_code} /> <span class="quiet">{error_code}</span>
      </>
    ),
  },
  { title: words.duration, isNumber: true, cell: ({ duration_ms }) => <Duration ms={duration_ms} /> },
  {
    title: words.paid,
    isNumber: true,
    isFirstLine: true,
    cell: ({ amount_usd }) => <Money usd={amount_usd} />,
  },
]

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
        columns={requestColumns}
        keyOf={({ id }) => id}
        hrefOf={({ id }) => hrefOf('requests', { account }, id)}
        empty={texts.accounts.noRequests}
      />
    </section>
  )
}
