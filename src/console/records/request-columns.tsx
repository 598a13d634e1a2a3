// Columns of lists of requests that operators see, of one customer or of all.

import { hrefOf } from '../address'
import { Money } from '../parts/money'
import { HttpStatus } from '../parts/status'
import type { Column } from '../parts/table'
import { Duration, LogTime } from '../parts/time'
import { texts } from '../texts'

const words = texts.requests

/** A row as in the log: columns by name. */
export interface ListedRequest {
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

export const requestColumns = {
  time: { title: texts.time, isFirstLine: true, cell: ({ at }) => <LogTime at={at} /> },
  model: {
    title: words.model,
    isFirstLine: true,
    cell: ({ model, asked_model: asked, operation }) => (
      <>
        <span class="whole">{model ?? asked ?? '–'}</span> <span class="quiet">{operation}</span>
      </>
    ),
  },
  key: {
    title: words.key,
    priority: 3,
    cell: ({ key }) => key && <a href={hrefOf('keys', {}, key)}>{key}</a>,
  },
  status: {
    title: words.status,
    priority: 1,
    cell: ({ status, error_code }) => (
      <>
        <HttpStatus status={status} error={error_code} /> <span class="quiet">{error_code}</span>
      </>
    ),
  },
  duration: {
    title: words.duration,
    isNumber: true,
    cell: ({ duration_ms }) => <Duration ms={duration_ms} />,
  },
  paid: {
    title: words.paid,
    isNumber: true,
    isFirstLine: true,
    cell: ({ amount_usd }) => <Money usd={amount_usd} />,
  },
} satisfies Record<string, Column<ListedRequest>>
