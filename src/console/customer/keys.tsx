// The keys of a customer. The rights of each key are on its own page.

import { hrefOf } from '../address'
import { call, type RowOf } from '../api'
import { Money } from '../parts/money'
import { PagedTable, usePages } from '../parts/paged'
import { Status } from '../parts/status'
import type { Column } from '../parts/table'
import { Time } from '../parts/time'
import { texts } from '../texts'

const words = texts.keys

const columns: readonly Column<RowOf<'listKeys'>>[] = [
  { title: words.key, isFirstLine: true, cell: ({ name }) => name },
  { title: words.secret, cell: ({ hint }) => <code>{hint}</code> },
  { title: words.status, isFirstLine: true, cell: ({ status }) => <Status state={status} /> },
  {
    title: words.budget,
    isNumber: true,
    cell: ({ budget_usd, budget_period }) =>
      budget_usd === null ? (
        <span class="quiet">–</span>
      ) : (
        <>
          <Money usd={budget_usd} /> {texts.each(budget_period ?? '')}
        </>
      ),
  },
  { title: words.models, cell: ({ models }) => (models ? words.someModels(models.length) : texts.all) },
  { title: words.expires, priority: 3, cell: ({ expires_at }) => <Time at={expires_at} /> },
  { title: words.created, priority: 4, cell: ({ created_at }) => <Time at={created_at} /> },
]

export function CustomerKeys({ account }: { account: string }) {
  const pages = usePages(['keys', account], (after, signal) =>
    call('listKeys', { query: { account, after, limit: 50 }, signal }),
  )
  return (
    <section class="part">
      <h2 class="hidden">{words.title}</h2>
      <PagedTable
        label={words.title}
        pages={pages}
        columns={columns}
        keyOf={({ name }) => name}
        hrefOf={({ name }) => hrefOf('keys', { account }, name)}
        empty={texts.accounts.noKeys}
      />
    </section>
  )
}
