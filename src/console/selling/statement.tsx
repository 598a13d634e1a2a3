// One statement in full: its balances, its usage, its payments, and its files. Operators and holders of keys see the same.

import { hrefOf } from '../address'
import { type Reply, session } from '../api'
import { numberText } from '../language'
import { Money, sumUsd } from '../parts/money'
import { Facts } from '../parts/panel'
import { type Column, Table } from '../parts/table'
import { Time } from '../parts/time'
import { sellingTexts, texts } from '../texts'

const words = sellingTexts.statements
type StatementJson = Pick<Reply<'getStatement'>, 'number' | 'issued_at' | 'content' | 'hash'>
type Content = StatementJson['content']

interface StatementRow {
  number: number
  month: string
  opening_usd: string | null
  used_usd: string | null
  closing_usd: string | null
  issued_at: string | null
}

/** Columns of lists of statements, whose amounts add up. */
export const statementColumns = [
  { title: words.number, isFirstLine: true, cell: ({ number }: StatementRow) => number },
  { title: words.month, isFirstLine: true, cell: ({ month }: StatementRow) => month },
  {
    title: words.before,
    isNumber: true,
    cell: ({ opening_usd }: StatementRow) => <Money usd={opening_usd} />,
  },
  { title: words.moved, isNumber: true, cell: (row: StatementRow) => <Money usd={movedIn(row)} /> },
  {
    title: words.used,
    isNumber: true,
    cell: ({ used_usd }: StatementRow) => <Money usd={used_usd && negative(used_usd)} />,
  },
  {
    title: words.balance,
    isNumber: true,
    cell: ({ closing_usd }: StatementRow) => <Money usd={closing_usd} />,
  },
  { title: words.issued, cell: ({ issued_at }: StatementRow) => <Time at={issued_at} /> },
] as const

/** All deposits and withdrawals except usage: with them the columns of a row add up. Null for an unreadable row. */
function movedIn({ opening_usd, used_usd, closing_usd }: StatementRow): string | null {
  if (opening_usd === null || used_usd === null || closing_usd === null) return null
  return sumUsd([closing_usd, negative(opening_usd), used_usd])
}

function negative(usd: string): string {
  return sumUsd([usd.startsWith('-') ? usd.slice(1) : `-${usd}`])
}

interface StatementProps {
  statement: StatementJson
  /** The address of the statement as a file. */
  fileOf(format: 'html' | 'csv' | 'json'): string
}

export function Statement({ statement, fileOf }: StatementProps) {
  const { number, issued_at, content, hash } = statement
  const { account, seller, tax, display_name: called } = content
  return (
    <>
      <p class="actions">
        <a class="button" href={fileOf('html')} target="_blank" rel="noreferrer">
          {words.open}
        </a>
        <a href={fileOf('csv')} download>
          CSV
        </a>
        <a href={fileOf('json')} download={`statement-${number}.json`}>
          JSON
        </a>
      </p>
      <Facts
        facts={[
          [
            words.account,
            session.value?.kind === 'admin' ? (
              <a href={hrefOf('accounts', {}, account)} key="account">
                {account}
              </a>
            ) : (
              account
            ),
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

/** The lines from the opening to the closing balance; they add up to the last one. */
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
