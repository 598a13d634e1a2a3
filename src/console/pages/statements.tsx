// Statements: those that were issued, the newest first; a month that is issued; and one in full, as a page to print and as
// files. What was issued never changes, so nothing of it can be edited here.

import { useState } from 'preact/hooks'
import { address, clock, hrefOf, hrefOfRow } from '../address'
import { ApiError, call, fileAddress, hasRole, type Reply, type RowOf } from '../api'
import { numberText } from '../language'
import { FilterBar } from '../parts/filter-bar'
import { Action, Field, Form } from '../parts/form'
import { Failed, Loaded } from '../parts/loaded'
import { Money, sumUsd } from '../parts/money'
import { PagedTable, usePages } from '../parts/paged'
import { Facts, Panel } from '../parts/panel'
import { type Column, Table } from '../parts/table'
import { Time } from '../parts/time'
import { useQuery } from '../query'
import { sellingTexts, texts } from '../texts'

const words = sellingTexts.statements

const columns: readonly Column<RowOf<'listStatements'>>[] = [
  { title: words.number, isFirstLine: true, cell: ({ number }) => number },
  { title: words.month, isFirstLine: true, cell: ({ month }) => month },
  {
    title: words.account,
    isFirstLine: true,
    cell: ({ account }) => <a href={hrefOf('accounts', {}, account)}>{account}</a>,
  },
  { title: words.before, isNumber: true, cell: ({ opening_usd }) => <Money usd={opening_usd} /> },
  { title: words.moved, isNumber: true, cell: (row) => <Money usd={movedIn(row)} /> },
  { title: words.used, isNumber: true, cell: ({ used_usd }) => <Money usd={negative(used_usd)} /> },
  { title: words.balance, isNumber: true, cell: ({ closing_usd }) => <Money usd={closing_usd} /> },
  { title: words.issued, cell: ({ issued_at }) => <Time at={issued_at} /> },
]

/** All that came in and went out, apart from what was used: with it the columns of a row add up. */
function movedIn({ opening_usd, used_usd, closing_usd }: RowOf<'listStatements'>): string {
  return sumUsd([closing_usd, negative(opening_usd), used_usd])
}

function negative(usd: string): string {
  return sumUsd([usd.startsWith('-') ? usd.slice(1) : `-${usd}`])
}

export default function Statements() {
  const { id, query } = address.value
  const { account, month } = query
  const pages = usePages(['statements', account, month], (after, signal) =>
    call('listStatements', { query: { account, month, after, limit: 50 }, signal }),
  )
  return (
    <>
      <div class="page-head">
        <h1>{words.title}</h1>
        <div class="actions">
          <Verify />
          {hasRole('operator') && (
            <a class="button" href={hrefOfRow('new')}>
              {words.issue}
            </a>
          )}
        </div>
      </div>
      <FilterBar
        filters={[
          { name: 'account', title: words.account },
          { name: 'month', title: words.month },
        ]}
      />
      <PagedTable
        label={words.title}
        pages={pages}
        columns={columns}
        keyOf={({ number }) => String(number)}
        hrefOf={({ number }) => hrefOfRow(String(number))}
        openKey={id}
        empty={words.empty}
      />
      {id === 'new' && hasRole('operator') && <IssuePanel account={account} />}
      {id !== null && id !== 'new' && <StatementPanel key={id} number={id} />}
    </>
  )
}

function Verify() {
  const [found, setFound] = useState<Reply<'verifyStatements'>>()
  const faults = found?.faults ?? []
  return (
    <>
      <Action title={words.verify} act={async () => setFound(await call('verifyStatements'))} />
      {found && faults.length === 0 && <span role="status">{words.verified(found.checked)}</span>}
      {faults.length > 0 && <Failed error={new ApiError(faults.join('. '), 0, null, null)} />}
    </>
  )
}

/** The month before the one that runs, in UTC. */
function lastMonth(): string {
  const now = new Date(clock.peek())
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 1)).toISOString().slice(0, 7)
}

function IssuePanel({ account }: { account: string | undefined }) {
  const [issued, setIssued] = useState<{ month: string; count: number }>()
  return (
    <Panel title={words.issue}>
      <p>{words.issueMeans}</p>
      <Form
        action={words.issueAction}
        submit={async ({ month = '', account: only }) => {
          const { data } = await call('issueStatements', { body: { month, ...(only && { account: only }) } })
          setIssued({ month, count: data.length })
        }}
      >
        <div class="fields">
          <Field name="month" title={words.month} value={lastMonth()} hint={words.monthHint} isRequired />
          <Field name="account" title={words.account} value={account ?? ''} hint={words.accountHint} />
        </div>
      </Form>
      {issued && <p role="status">{words.issuedCount(issued.count, issued.month)}</p>}
    </Panel>
  )
}

function StatementPanel({ number }: { number: string }) {
  const load = useQuery(['statement', number], (signal) =>
    call('getStatement', { params: { number }, signal }),
  )
  return (
    <Panel title={words.one(number)}>
      <Loaded of={load}>{(statement) => <Statement statement={statement} />}</Loaded>
    </Panel>
  )
}

type Content = Reply<'getStatement'>['content']

function Statement({ statement }: { statement: Reply<'getStatement'> }) {
  const { number, account, issued_at, content, hash } = statement
  const params = { number: String(number) }
  const file = (format: 'html' | 'csv' | 'json') => fileAddress('getStatement', { params, query: { format } })
  const { seller, tax, display_name: called } = content
  return (
    <>
      <p class="actions">
        <a class="button" href={file('html')} target="_blank" rel="noreferrer">
          {words.open}
        </a>
        <a href={file('csv')} download>
          CSV
        </a>
        <a href={file('json')} download={`statement-${number}.json`}>
          JSON
        </a>
      </p>
      <Facts
        facts={[
          [
            words.account,
            <a href={hrefOf('accounts', {}, account)} key="account">
              {account}
            </a>,
          ],
          called !== null && [words.calledAs, called],
          [words.period, words.fromTo(content.from, content.to)],
          [words.issued, <Time at={issued_at} key="issued" />],
          seller !== null && [words.seller, seller.name],
          tax !== null && [
            words.tax(tax.name, tax.percent, tax.included),
            <Money usd={tax.tax_usd} key="tax" />,
          ],
        ]}
      />
      <Balance content={content} />
      <Used content={content} />
      <Transfers content={content} />
      <p class="small quiet">
        {words.hash} <code>{hash}</code>
      </p>
    </>
  )
}

/** From the balance before to the balance after: the lines add up to the last one. */
function Balance({ content }: { content: Content }) {
  const { opening_usd, earlier_usd, transfers, used_usd, closing_usd, from, to } = content
  const moved = sumUsd(transfers.map(({ amount_usd }) => amount_usd))
  const rows = [
    { what: words.balanceBefore(from), usd: opening_usd },
    ...(earlier_usd === '0.00' ? [] : [{ what: words.earlier, usd: earlier_usd }]),
    { what: words.moved, usd: moved },
    { what: words.used, usd: negative(used_usd) },
  ]
  const columns: readonly Column<(typeof rows)[number]>[] = [
    { title: words.balance, isFirstLine: true, cell: ({ what }) => what, footer: words.balanceOn(to) },
    {
      title: words.amount,
      isNumber: true,
      isFirstLine: true,
      cell: ({ usd }) => <Money usd={usd} />,
      footer: <Money usd={closing_usd} />,
    },
  ]
  return (
    <section>
      <h3>{words.balance}</h3>
      <Table
        label={words.balance}
        rows={rows}
        columns={columns}
        keyOf={({ what }) => what}
        empty={texts.nothingYet}
      />
    </section>
  )
}

function Used({ content: { usage, used_usd: used } }: { content: Content }) {
  const columns: readonly Column<Content['usage'][number]>[] = [
    { title: words.model, isFirstLine: true, cell: ({ model }) => model, footer: words.total },
    {
      title: words.requests,
      isNumber: true,
      cell: ({ requests }) => numberText(requests),
      footer: numberText(usage.reduce((sum, { requests }) => sum + requests, 0)),
    },
    {
      title: words.paid,
      isNumber: true,
      isFirstLine: true,
      cell: ({ amount_usd }) => <Money usd={amount_usd} />,
      footer: <Money usd={used} />,
    },
  ]
  return (
    <section>
      <h3>{words.used}</h3>
      <Table
        label={words.used}
        rows={usage}
        columns={columns}
        keyOf={({ model }) => model}
        empty={words.nothingUsed}
      />
    </section>
  )
}

const transferColumns: readonly Column<Content['transfers'][number]>[] = [
  { title: texts.time, isFirstLine: true, cell: ({ at }) => <Time at={at} /> },
  { title: words.kind, cell: ({ kind }) => kind },
  { title: words.note, cell: ({ note }) => note },
  {
    title: words.amount,
    isNumber: true,
    isFirstLine: true,
    cell: ({ amount_usd }) => <Money usd={amount_usd} />,
  },
]

function Transfers({ content: { transfers } }: { content: Content }) {
  return (
    <section>
      <h3>{words.transfers}</h3>
      <Table
        label={words.transfers}
        rows={transfers}
        columns={transferColumns}
        keyOf={({ at, kind, amount_usd }) => `${at} ${kind} ${amount_usd}`}
        empty={words.noTransfers}
      />
    </section>
  )
}
