// The audit trail of operators: who did what, with the values before and after.

import { hrefOf } from '../address'
import type { RowOf } from '../api'
import { PagedTable, type Pages } from '../parts/paged'
import type { Column } from '../parts/table'
import { LogTime } from '../parts/time'
import { texts } from '../texts'

const words = texts.settings
type Entry = RowOf<'listAudit'>

const columns: readonly Column<Entry>[] = [
  { title: texts.time, isFirstLine: true, cell: ({ at }) => <LogTime at={at} /> },
  { title: words.who, isFirstLine: true, cell: ({ actor }) => <span class="long">{actor}</span> },
  { title: words.action, cell: ({ action }) => action },
  { title: words.target, cell: ({ target }) => <Target target={target} /> },
  { title: words.before, cell: ({ before }) => <Values values={before} /> },
  {
    title: words.after,
    cell: ({ after, action }) => <Values values={after ?? words.outcomes[action]} />,
  },
  { title: words.from, cell: ({ client_address }) => <span class="quiet">{client_address}</span> },
]

/** Kinds of targets that have a page, by the prefix of the name. */
const PAGES_OF: Readonly<Record<string, string>> = {
  key: 'keys',
  account: 'accounts',
  task: 'tasks',
  request: 'requests',
  plan: 'plans',
}

function Target({ target }: { target: string }) {
  const [kind = '', ...rest] = target.split(':')
  const page = PAGES_OF[kind]
  if (!page || rest.length === 0) return <span class="long">{target}</span>
  return (
    <a class="long" href={hrefOf(page, {}, rest.join(':'))}>
      {target}
    </a>
  )
}

/** Names and values, one per line. */
function Values({ values }: { values: unknown }) {
  if (values === null || typeof values !== 'object') return null
  const shown = Object.entries(values).filter(([, value]) => value !== null)
  return (
    <ul class="small values">
      {shown.map(([name, value]) => (
        <li key={name}>
          <span class="quiet">{name}</span> {typeof value === 'string' ? value : JSON.stringify(value)}
        </li>
      ))}
    </ul>
  )
}

export function AuditTable({ label, pages, empty }: { label: string; pages: Pages<Entry>; empty: string }) {
  return <PagedTable label={label} pages={pages} columns={columns} keyOf={({ id }) => id} empty={empty} />
}
