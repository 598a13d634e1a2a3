// Events for operators, a part of Settings: current conditions, sent notifications, and a test of each recipient. Recipients are in
// the configuration, and their addresses must never be shown.

import { useState } from 'preact/hooks'
import { hrefOf } from '../address'
import { call, hasRole, type RowOf } from '../api'
import { FilterBar } from '../parts/filter-bar'
import { Dialog, Field, Form } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { type Column, Table } from '../parts/table'
import { Time } from '../parts/time'
import { useQuery } from '../query'
import { EventTable } from '../records/event-table'
import { sellingTexts } from '../texts'

const words = sellingTexts.events

const lastingColumns: readonly Column<RowOf<'listConditions'>>[] = [
  { title: words.type, isFirstLine: true, cell: ({ type }) => type },
  { title: words.about, isFirstLine: true, cell: ({ subject }) => subject },
  {
    title: words.account,
    cell: ({ account }) => account && <a href={hrefOf('accounts', {}, account)}>{account}</a>,
  },
  { title: words.since, cell: ({ since }) => <Time at={since} /> },
]

export function Events() {
  const lasting = useQuery(['conditions'], (signal) => call('listConditions', { signal }))
  const recipients = useRecipients()
  return (
    <>
      <section class="part">
        <h2>{words.lasting}</h2>
        <Loaded of={lasting}>
          {({ data }) => (
            <Table
              label={words.lasting}
              rows={data}
              columns={lastingColumns}
              keyOf={({ type, subject }) => `${type} ${subject}`}
              empty={words.nothingLasts}
            />
          )}
        </Loaded>
      </section>
      <section class="part">
        <div class="page-head">
          <h2>{words.sent}</h2>
          <div class="actions">
            {hasRole('operator') && recipients.length > 0 && <Test recipients={recipients} />}
          </div>
        </div>
        {recipients.length === 0 && <p class="quiet">{words.noRecipients}</p>}
        <FilterBar
          filters={[
            { name: 'delivery', title: words.delivery, options: Object.entries(words.deliveries) },
            {
              name: 'recipient',
              title: words.recipient,
              options: recipients.map((name) => [name, name]),
            },
          ]}
        />
        <EventTable />
      </section>
    </>
  )
}

/** The names of the recipients in the configuration. */
function useRecipients(): readonly string[] {
  const load = useQuery(['configuration'], (signal) => call('getConfiguration', { signal }))
  const { events } = (load.data ?? {}) as { events?: { to?: object } }
  return Object.keys(events?.to ?? {})
}

function Test({ recipients }: { recipients: readonly string[] }) {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        {words.test}
      </button>
      {isOpen && (
        <Dialog title={words.test} close={close}>
          <p>{words.testMeans}</p>
          <Form
            action={words.test}
            submit={({ recipient = '' }) => call('testEvent', { body: { recipient } })}
            onDone={close}
          >
            <Field
              name="recipient"
              title={words.recipient}
              value={recipients[0] ?? null}
              options={recipients.map((name) => [name, name])}
            />
          </Form>
        </Dialog>
      )}
    </>
  )
}
