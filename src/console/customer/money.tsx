// Money of a customer: deposits and corrections, its ledger with the balance after each movement, and its statements. A form sends
// its money once, however often it is sent.

import { useState } from 'preact/hooks'
import { hrefOf, periodQuery } from '../address'
import { call, fileAddress, hasRole, type RowOf } from '../api'
import { Dialog, Field, Form } from '../parts/form'
import { Money } from '../parts/money'
import { PagedTable, usePages } from '../parts/paged'
import type { Column } from '../parts/table'
import { LogTime, Time } from '../parts/time'
import { sellingTexts, texts } from '../texts'

const words = texts.accounts

export function AddMoney({ account }: { account: string }) {
  // Each opening of the form is one transfer.
  const [idempotencyKey, setKey] = useState<string>()
  const close = () => setKey(undefined)
  return (
    <>
      <button type="button" class="primary" onClick={() => setKey(crypto.randomUUID())}>
        {words.topUp}
      </button>
      {idempotencyKey && (
        <Dialog title={words.topUpTitle(account)} close={close}>
          <Form
            action={words.topUpAction}
            submit={({ amount_usd = '', note }) =>
              call('creditAccount', {
                params: { account },
                idempotencyKey,
                body: { amount_usd, note: note || null },
              })
            }
            onDone={close}
          >
            <div class="fields">
              <Field name="amount_usd" title={words.dollars} isRequired />
              <Field name="note" title={words.note} />
            </div>
          </Form>
        </Dialog>
      )}
    </>
  )
}

function Adjust({ account }: { account: string }) {
  const [idempotencyKey, setKey] = useState<string>()
  const close = () => setKey(undefined)
  return (
    <>
      <button type="button" onClick={() => setKey(crypto.randomUUID())}>
        {words.adjust}
      </button>
      {idempotencyKey && (
        <Dialog title={words.adjustTitle(account)} close={close}>
          <Form
            action={words.adjustAction}
            submit={({ amount_usd = '', note = '' }) =>
              call('adjustAccount', { params: { account }, idempotencyKey, body: { amount_usd, note } })
            }
            onDone={close}
          >
            <div class="fields">
              <Field name="amount_usd" title={words.signedDollars} isRequired />
              <Field name="note" title={words.why} isRequired />
            </div>
          </Form>
        </Dialog>
      )}
    </>
  )
}

export function CustomerMoney({ account }: { account: string }) {
  return (
    <>
      <Ledger account={account} />
      <Statements account={account} />
    </>
  )
}

const ledgerColumns: readonly Column<RowOf<'listLedger'>>[] = [
  { title: texts.time, isFirstLine: true, cell: ({ at }) => <LogTime at={at} /> },
  { title: words.kind, cell: ({ kind, note }) => (note ? `${kind}: ${note}` : kind) },
  {
    title: words.amount,
    isNumber: true,
    isFirstLine: true,
    cell: ({ amount_usd }) => <Money usd={amount_usd} />,
  },
  { title: words.after, isNumber: true, cell: ({ balance_after_usd }) => <Money usd={balance_after_usd} /> },
  {
    title: words.charge,
    cell: ({ charge }) => charge && <a href={hrefOf('requests', {}, charge)}>{texts.requests.one}</a>,
  },
]

function Ledger({ account }: { account: string }) {
  const period = periodQuery()
  const params = { account }
  const pages = usePages(['ledger', account, period], (after, signal) =>
    call('listLedger', { params, query: { ...period, after, limit: 50 }, signal }),
  )
  return (
    <section class="part">
      <div class="page-head">
        <h2>{words.ledger}</h2>
        <div class="actions">
          {hasRole('operator') && <Adjust account={account} />}
          <a href={fileAddress('listLedger', { params, query: { ...period, format: 'csv' } })} download>
            CSV
          </a>
        </div>
      </div>
      <PagedTable
        label={words.ledger}
        pages={pages}
        columns={ledgerColumns}
        keyOf={({ id }) => id}
        empty={texts.nothingYet}
      />
    </section>
  )
}

const statementWords = sellingTexts.statements

const statementColumns: readonly Column<RowOf<'listStatements'>>[] = [
  { title: statementWords.number, isFirstLine: true, cell: ({ number }) => number },
  { title: statementWords.month, isFirstLine: true, cell: ({ month }) => month },
  { title: statementWords.used, isNumber: true, cell: ({ used_usd }) => <Money usd={used_usd} /> },
  { title: statementWords.balance, isNumber: true, cell: ({ closing_usd }) => <Money usd={closing_usd} /> },
  { title: statementWords.issued, priority: 3, cell: ({ issued_at }) => <Time at={issued_at} /> },
]

function Statements({ account }: { account: string }) {
  const pages = usePages(['statements', account], (after, signal) =>
    call('listStatements', { query: { account, after, limit: 12 }, signal }),
  )
  return (
    <section class="part">
      <div class="page-head">
        <h2>{statementWords.title}</h2>
        <div class="actions">
          {hasRole('operator') && (
            <a class="button" href={hrefOf('statements', { account }, 'new')}>
              {words.issueStatements}
            </a>
          )}
        </div>
      </div>
      <PagedTable
        label={statementWords.title}
        pages={pages}
        columns={statementColumns}
        keyOf={({ number }) => String(number)}
        hrefOf={({ number }) => hrefOf('statements', { account }, String(number))}
        empty={words.noStatements}
      />
    </section>
  )
}
