// Statements: issued ones, newest first; issuing a month; and one in full, as a printable page and as files. Issued statements
// never change, so nothing can be edited here.

import { useState } from 'preact/hooks'
import { address, clock, hrefOf, hrefOfRow } from '../address'
import { ApiError, call, fileAddress, hasRole, type Reply, type RowOf } from '../api'
import { FilterBar } from '../parts/filter-bar'
import { AccountField, Action, Field, Form } from '../parts/form'
import { Failed, Loaded } from '../parts/loaded'
import { PagedTable, usePages } from '../parts/paged'
import { Panel } from '../parts/panel'
import type { Column } from '../parts/table'
import { useQuery } from '../query'
import { Statement, statementColumns } from '../selling/statement'
import { lastMonth } from '../spans'
import { sellingTexts } from '../texts'

const words = sellingTexts.statements

const [number, month, ...amounts] = statementColumns
const columns: readonly Column<RowOf<'listStatements'>>[] = [
  number,
  month,
  {
    title: words.account,
    isFirstLine: true,
    cell: ({ account }) => <a href={hrefOf('accounts', {}, account)}>{account}</a>,
  },
  ...amounts,
]

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
          <Field
            name="month"
            title={words.month}
            value={lastMonth(clock.peek())}
            hint={words.monthHint}
            isRequired
          />
          <AccountField title={words.account} value={account ?? ''} hint={words.accountHint} />
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
      <Loaded of={load}>
        {(statement) => (
          <Statement
            statement={statement}
            fileOf={(format) => fileAddress('getStatement', { params: { number }, query: { format } })}
          />
        )}
      </Loaded>
    </Panel>
  )
}
