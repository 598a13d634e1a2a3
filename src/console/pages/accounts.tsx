// Customers: accounts with their balance, how long it lasts, what they spend and when they were last active. One of them in full is
// in customer/.

import { address, hrefOf, hrefOfRow } from '../address'
import { call, hasRole, type RowOf } from '../api'
import { Sparkline } from '../charts/sparkline'
import { Customer } from '../customer/customer'
import { NewCustomer } from '../customer/new-customer'
import { daysLeft } from '../lasting'
import { FilterBar } from '../parts/filter-bar'
import { dollarsOf, Money } from '../parts/money'
import { PagedTable, usePages } from '../parts/paged'
import { Status } from '../parts/status'
import type { Column } from '../parts/table'
import { useQuery } from '../query'
import { texts } from '../texts'

const words = texts.accounts
type Row = RowOf<'listCustomers'>

const columns: readonly Column<Row>[] = [
  {
    title: words.account,
    isFirstLine: true,
    sort: ({ account }) => account,
    cell: ({ account, display_name, status }) => (
      <>
        {account} {display_name && <span class="quiet">{display_name}</span>}{' '}
        {status !== 'open' && <Status state={status} />}
      </>
    ),
  },
  {
    title: words.plan,
    priority: 3,
    sort: ({ plan }) => plan,
    cell: ({ plan }) => plan && <a href={hrefOf('plans', {}, plan)}>{plan}</a>,
  },
  { title: words.keys, isNumber: true, priority: 5, cell: ({ keys }) => keys },
  { title: words.held, isNumber: true, priority: 4, cell: ({ held_usd }) => <Money usd={held_usd} /> },
  {
    title: words.available,
    isNumber: true,
    isFirstLine: true,
    cell: ({ available_usd }) => <Money usd={available_usd} />,
  },
  {
    title: words.lasts,
    isNumber: true,
    sort: lastsOf,
    cell: (row) => {
      const days = lastsOf(row)
      return days === null ? (
        <span class="quiet">–</span>
      ) : (
        <span title={words.rateMeans}>{words.lastsDays(days)}</span>
      )
    },
  },
  {
    title: words.trend,
    priority: 4,
    sort: () => null,
    cell: ({ account, spend_by_day_usd }) => (
      <Sparkline label={words.spendByDay(account)} values={spend_by_day_usd.map(dollarsOf)} />
    ),
  },
  {
    title: words.spend,
    isNumber: true,
    priority: 1,
    cell: ({ spend_usd }) => <Money usd={spend_usd} />,
  },
  {
    title: words.lastUsed,
    priority: 3,
    sort: ({ last_used_on }) => last_used_on,
    cell: ({ last_used_on }) => last_used_on ?? <span class="quiet">{words.notUsed}</span>,
  },
]

function lastsOf({ available_usd, spend_by_day_usd }: Row): number | null {
  return daysLeft(available_usd, spend_by_day_usd)
}

export default function Customers() {
  const { id } = address.value
  return id === null || id === 'new' ? <List isNew={id === 'new'} /> : <Customer key={id} account={id} />
}

function List({ isNew }: { isNew: boolean }) {
  const { text, plan, held: wanted } = address.value.query
  const held = words.heldFilter.find(([word]) => word === wanted)?.[0]
  const filter = { text, plan, held }
  const plans = useQuery(['plans'], (signal) => call('listPlans', { signal }))
  const pages = usePages(['customers', filter], (after, signal) =>
    call('listCustomers', { query: { ...filter, after, limit: 50 }, signal }),
  )
  const isFiltered = Object.values(filter).some(Boolean)
  return (
    <>
      <div class="page-head">
        <h1>{words.title}</h1>
        <div class="actions">
          {hasRole('operator') && (
            <a class="button" href={hrefOfRow('new')}>
              {words.create}
            </a>
          )}
        </div>
      </div>
      <FilterBar
        filters={[
          { name: 'text', title: words.search },
          {
            name: 'plan',
            title: words.plan,
            options: (plans.data?.data ?? []).map((each) => [each.plan, each.plan] as const),
          },
          { name: 'held', title: words.held, options: words.heldFilter },
        ]}
      />
      <PagedTable
        label={words.title}
        pages={pages}
        columns={columns}
        keyOf={({ account }) => account}
        hrefOf={({ account }) => hrefOf('accounts', filter, account)}
        empty={isFiltered ? words.noneFound : words.empty}
      />
      {isNew && hasRole('operator') && (
        <NewCustomer plans={plans.data?.data.map((each) => each.plan) ?? []} />
      )}
    </>
  )
}
