// Events that were sent to operators, newest first, each with the state of its delivery and a button that sends it again.

import { address, hrefOf } from '../address'
import { call, hasRole, type RowOf } from '../api'
import { Action } from '../parts/form'
import { PagedTable, usePages } from '../parts/paged'
import { Status } from '../parts/status'
import type { Column } from '../parts/table'
import { LogTime } from '../parts/time'
import { sellingTexts } from '../texts'

const words = sellingTexts.events
type Event = RowOf<'listEvents'>
type Delivery = Event['delivery']

/** Number of subjects that a row names; an event can be about hundreds. */
const MAX_SUBJECTS = 3

const columns = (account: string | undefined): readonly Column<Event>[] => [
  { title: words.time, isFirstLine: true, cell: ({ created_at: at }) => at && <LogTime at={at} /> },
  { title: words.type, isFirstLine: true, cell: ({ type }) => type },
  { title: words.about, cell: ({ items }) => <Subjects items={items} account={account} /> },
  { title: words.state, priority: 3, cell: ({ state }) => state && (words.states[state] ?? state) },
  { title: words.recipient, cell: ({ recipient }) => recipient },
  {
    title: words.delivery,
    priority: 1,
    cell: ({ delivery }) => <Status state={delivery}>{words.deliveries[delivery] ?? delivery}</Status>,
  },
  { title: words.attempts, isNumber: true, priority: 4, cell: ({ attempts }) => attempts },
  {
    title: words.answer,
    priority: 5,
    cell: ({ last_status: status, last_answer: answer }) => (
      <span class="small long">{[status, answer].filter((each) => each !== null).join(' ')}</span>
    ),
  },
]

const actions: Column<Event> = {
  title: words.actions,
  cell: ({ id }) => (
    <Action title={words.again} act={() => call('redeliverEvent', { params: { event: id } })} />
  ),
}

function Subjects({ items, account }: { items: Event['items']; account: string | undefined }) {
  const own = account === undefined ? items : items.filter((item) => item.account === account)
  const further = own.length - MAX_SUBJECTS
  return (
    <>
      {own.slice(0, MAX_SUBJECTS).map(({ subject, account: of }) => (
        <div key={subject}>
          {subject}{' '}
          {of && of !== subject && account === undefined && <a href={hrefOf('accounts', {}, of)}>{of}</a>}
        </div>
      ))}
      {further > 0 && <span class="quiet">+ {further}</span>}
    </>
  )
}

/** The events that match the filters of the address, or those about a customer. */
export function EventTable({ account }: { account?: string }) {
  const { delivery: wanted, recipient } = account === undefined ? address.value.query : {}
  const delivery = wanted as Delivery | undefined
  const pages = usePages(['events', account, delivery, recipient], (after, signal) =>
    call('listEvents', { query: { account, delivery, recipient, after, limit: 50 }, signal }),
  )
  const isFiltered = delivery !== undefined || recipient !== undefined
  const own = columns(account)
  return (
    <PagedTable
      label={words.sent}
      pages={pages}
      columns={hasRole('operator') ? [...own, actions] : own}
      keyOf={({ id }) => id}
      empty={account !== undefined ? words.noneAbout : isFiltered ? words.noneFound : words.none}
    />
  )
}
