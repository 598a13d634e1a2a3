// Retention in the settings: months to close, closed months, and closing months, for owners.

import { call, hasRole, type Reply } from '../api'
import { numberText } from '../language'
import { useQuery } from '../query'
import { sellingTexts } from '../texts'
import { Danger } from './form'
import { Loaded } from './loaded'
import { Money } from './money'
import { type Column, Table } from './table'
import { Time } from './time'

const words = sellingTexts.retention
type Found = Reply<'getRetention'>
type MonthToClose = Reply<'listMonthsToClose'>['data'][number]

const monthColumns: readonly Column<MonthToClose>[] = [
  { title: words.month, isFirstLine: true, cell: ({ month }) => month },
  { title: words.charges, isNumber: true, cell: ({ charges }) => numberText(charges) },
  {
    title: words.paid,
    isNumber: true,
    isFirstLine: true,
    cell: ({ amount_usd }) => <Money usd={amount_usd} />,
  },
  { title: words.waits, cell: ({ open }) => open > 0 && words.openCharges(open) },
]

const closedColumns: readonly Column<Found['closed'][number]>[] = [
  { title: words.month, isFirstLine: true, cell: ({ month }) => month },
  { title: words.charges, isNumber: true, cell: ({ charges }) => numberText(charges) },
  {
    title: words.paid,
    isNumber: true,
    isFirstLine: true,
    cell: ({ amount_usd }) => <Money usd={amount_usd} />,
  },
  { title: words.closed, cell: ({ closed_at }) => <Time at={closed_at} /> },
  { title: words.size, isNumber: true, cell: ({ bytes }) => words.bytes(bytes) },
  { title: words.archive, cell: ({ archive }) => <code>{archive}</code> },
]

export function Retention() {
  const load = useQuery(['retention'], (signal) => call('getRetention', { signal }))
  return (
    <Loaded of={load}>
      {(found) => (
        <>
          <p class="part">{found.charges === null ? words.off : words.on(found.charges)}</p>
          {found.charges !== null && <Next found={found} />}
          <section class="part">
            <h2>{words.last}</h2>
            <Table
              label={words.last}
              rows={found.closed.toReversed()}
              columns={closedColumns}
              keyOf={({ archive }) => archive}
              empty={words.nothingClosed}
            />
            {found.closed.length > 0 && <p class="list-end quiet">{words.place(found.place)}</p>}
          </section>
        </>
      )}
    </Loaded>
  )
}

function Next({ found: { place } }: { found: Found }) {
  const next = useQuery(['months to close'], (signal) => call('listMonthsToClose', { signal }))
  const months = next.data?.data ?? []
  const [first] = months
  const charges = months.reduce((sum, each) => sum + each.charges, 0)
  return (
    <section class="part">
      <div class="page-head">
        <h2>{words.next}</h2>
        <div class="actions">
          {hasRole('owner') && first && (
            <Danger
              action={words.close}
              title={words.closeTitle}
              nameToType={first.month}
              act={() => call('closeMonths', { body: {} })}
            >
              <p>{words.closeMeans(months.length, charges, place)}</p>
            </Danger>
          )}
        </div>
      </div>
      <Loaded of={next}>
        {({ data }) => (
          <Table
            label={words.next}
            rows={data}
            columns={monthColumns}
            keyOf={({ month }) => month}
            empty={words.nothingToClose}
          />
        )}
      </Loaded>
    </section>
  )
}
