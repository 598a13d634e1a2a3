// Sessions of the console, newest first, each with a button that ends it. Only operators may see them.

import { call, type RowOf } from '../api'
import { Action } from '../parts/form'
import { PagedTable, usePages } from '../parts/paged'
import { Status } from '../parts/status'
import type { Column } from '../parts/table'
import { Time } from '../parts/time'
import { sellingTexts } from '../texts'

const words = sellingTexts.sessions

interface Session extends RowOf<'listSessions'> {
  created_at: string
  used_at: string
  ends_at: string
  client_address: string | null
  user_agent: string | null
}

const columns: readonly Column<Session>[] = [
  { title: words.who, isFirstLine: true, cell: ({ name }) => name },
  { title: words.kind, priority: 3, cell: ({ kind }) => words.kinds[kind] ?? kind },
  { title: words.status, isFirstLine: true, cell: ({ status }) => <Status state={status} /> },
  { title: words.began, priority: 3, cell: ({ created_at }) => <Time at={created_at} /> },
  { title: words.used, cell: ({ used_at }) => <Time at={used_at} /> },
  { title: words.ends, priority: 3, cell: ({ ends_at }) => <Time at={ends_at} /> },
  { title: words.from, cell: ({ client_address }) => client_address },
  {
    title: words.browser,
    priority: 5,
    cell: ({ user_agent }) => user_agent && <span class="small long">{user_agent}</span>,
  },
  {
    title: words.actions,
    cell: ({ id, status }) =>
      status === 'active' && (
        <Action title={words.end} act={() => call('revokeSession', { params: { session: id } })} />
      ),
  },
]

interface SessionTableProps {
  label: string
  /** Shows only sessions of holders of this account's keys. */
  account?: string
  kind?: 'admin' | 'key' | undefined
  empty: string
}

export function SessionTable({ label, account, kind, empty }: SessionTableProps) {
  const pages = usePages(
    ['sessions', account, kind],
    (after, signal) =>
      call('listSessions', { query: { account, kind, after, limit: 50 }, signal }) as unknown as Promise<{
        data: Session[]
        next: string | null
      }>,
  )
  return <PagedTable label={label} pages={pages} columns={columns} keyOf={({ id }) => id} empty={empty} />
}
