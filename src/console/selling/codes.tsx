// Codes that are worth money: creates, prints, lists and revokes them. A new code is shown once, when it is created, and must never
// be part of an address.

import { useState } from 'preact/hooks'
import { address, go, hrefOf, hrefOfRow, leaveTo } from '../address'
import { call, fileAddress, hasRole, type Reply, type RowOf } from '../api'
import { FilterBar } from '../parts/filter-bar'
import { Danger, Field, Form } from '../parts/form'
import { Money, moneyText } from '../parts/money'
import { PagedTable, usePages } from '../parts/paged'
import { Panel } from '../parts/panel'
import { Secret } from '../parts/secret'
import { Status } from '../parts/status'
import type { Column } from '../parts/table'
import { Time } from '../parts/time'
import { sellingTexts } from '../texts'

const words = sellingTexts.codes
type Code = RowOf<'listCodes'>
type NewCodes = Reply<'createCodes'>['data']

const columns: readonly Column<Code>[] = [
  { title: words.code, isFirstLine: true, cell: ({ hint }) => <code>{hint}</code> },
  { title: words.status, isFirstLine: true, cell: ({ status }) => <CodeStatus status={status} /> },
  {
    title: words.worth,
    isNumber: true,
    isFirstLine: true,
    cell: ({ amount_usd }) => <Money usd={amount_usd} />,
  },
  { title: words.note, priority: 3, cell: ({ note }) => note },
  {
    title: words.redeemedBy,
    cell: ({ redeemed_by: account }) =>
      account && <a href={hrefOf('accounts', { part: 'money' }, account)}>{account}</a>,
  },
  { title: words.redeemed, priority: 3, cell: ({ redeemed_at: at }) => at && <Time at={at} /> },
  { title: words.expires, priority: 3, cell: ({ expires_at: at }) => at && <Time at={at} /> },
  { title: words.created, priority: 4, cell: ({ created_at }) => <Time at={created_at} /> },
]

const actions: Column<Code> = {
  title: words.actions,
  cell: ({ id, hint, status, amount_usd }) =>
    status === 'open' && (
      <Danger
        action={words.revoke}
        title={words.revokeTitle(hint)}
        act={() => call('revokeCode', { params: { code: id } })}
      >
        <p>{words.revokeMeans(moneyText(amount_usd))}</p>
      </Danger>
    ),
}

function CodeStatus({ status }: { status: Code['status'] }) {
  return <Status state={status === 'open' ? 'pending' : status}>{words.states[status]}</Status>
}

export default function Codes() {
  const { id, query } = address.value
  const status = query.status as Code['status'] | undefined
  const [made, setMade] = useState<NewCodes>()
  const pages = usePages(['codes', status], (after, signal) =>
    call('listCodes', { query: { status, after, limit: 50 }, signal }),
  )
  const isOperator = hasRole('operator')
  return (
    <>
      <div class="page-head">
        <h1>{words.title}</h1>
        <div class="actions">
          {isOperator && (
            <a class="button" href={hrefOfRow('new')}>
              {words.create}
            </a>
          )}
        </div>
      </div>
      {made && <Made codes={made} close={() => setMade(undefined)} />}
      <FilterBar filters={[{ name: 'status', title: words.status, options: Object.entries(words.states) }]}>
        <a href={fileAddress('listCodes', { query: { status, format: 'csv' } })} download>
          CSV
        </a>
      </FilterBar>
      <PagedTable
        label={words.title}
        pages={pages}
        columns={isOperator ? [...columns, actions] : columns}
        keyOf={(code) => code.id}
        empty={status ? words.noneFound : words.empty}
      />
      {id === 'new' && isOperator && (
        <NewCodesPanel
          onMade={(codes) => {
            // Runs before they are shown, because leaving them needs confirmation.
            go(hrefOfRow(null))
            setMade(codes)
          }}
        />
      )}
    </>
  )
}

function NewCodesPanel({ onMade }: { onMade(codes: NewCodes): void }) {
  return (
    <Panel title={words.create}>
      <Form
        action={words.createAction}
        submit={async ({ amount_usd = '', count, expires_at: expires, note }) => {
          const body = {
            amount_usd,
            count: Number(count),
            expires_at: expires ? `${expires}Z` : null,
            note: note || null,
          }
          onMade((await call('createCodes', { body })).data)
        }}
      >
        <div class="fields">
          <Field name="amount_usd" title={words.worthEach} isRequired />
          <Field name="count" title={words.count} type="number" value={1} isRequired />
          <Field name="expires_at" title={words.expiresUtc} type="datetime-local" hint={words.expiresHint} />
          <Field name="note" title={words.note} hint={words.noteHint} />
        </div>
      </Form>
    </Panel>
  )
}

/** New codes; the page prints nothing else. */
function Made({ codes, close }: { codes: NewCodes; close(): void }) {
  const [first] = codes
  if (!first) return null
  const amount = moneyText(first.amount_usd)
  return (
    <section class="part to-print" aria-label={words.create}>
      <Secret
        title={words.made(codes.length, amount)}
        text={codes.map(({ code }) => code).join('\n')}
        note={words.shownOnce}
        further={(onSaved) => (
          <>
            <button
              type="button"
              onClick={() => {
                print()
                onSaved()
              }}
            >
              {words.print}
            </button>{' '}
            <button type="button" class="plain" onClick={() => leaveTo(close)}>
              {words.hide}
            </button>
          </>
        )}
      >
        <ul class="codes">
          {codes.map(({ id, code, expires_at: expires }) => (
            <li key={id}>
              <code>{code}</code>
              <span class="quiet">
                {amount}
                {expires && `, ${words.validUntil(expires.slice(0, 16).replace('T', ' '))}`}
              </span>
            </li>
          ))}
        </ul>
      </Secret>
    </section>
  )
}
