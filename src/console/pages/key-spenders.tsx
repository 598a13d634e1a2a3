// Who spends on behalf of a key: end users and tags that its requests name, tokens of web pages, and connected programs. Operators
// see limits and what each has spent; the holder of the key sees its tokens.

import { hrefOf } from '../address'
import { call, hasRole, type RowOf } from '../api'
import { askTokens, type OwnToken, revokeOwnToken } from '../key-api'
import { Danger } from '../parts/form'
import { Loaded } from '../parts/loaded'
import { Money } from '../parts/money'
import { PagedTable, usePages } from '../parts/paged'
import { Status } from '../parts/status'
import { type Column, Table } from '../parts/table'
import { Time } from '../parts/time'
import { useQuery } from '../query'
import { texts } from '../texts'

const words = texts.spenders
type Spender = RowOf<'listSpenders'>

/** Columns of tokens and of other spenders. */
const shared: readonly Column<OwnToken>[] = [
  {
    title: words.name,
    isFirstLine: true,
    cell: ({ name, hint, id }) => name ?? (hint ? <code>{hint}</code> : <code>{id}</code>),
  },
  { title: words.kind, cell: ({ kind }) => words.kinds[kind] },
  {
    title: words.used,
    isNumber: true,
    isFirstLine: true,
    cell: ({ budget_usd: budget, budget_used_usd: used, budget_period: period }) =>
      budget === null ? (
        <span class="quiet">{words.noBudget}</span>
      ) : (
        <>
          <Money usd={used ?? '0'} /> / <Money usd={budget} /> {texts.each(period ?? '')}
        </>
      ),
  },
  {
    title: words.rate,
    isNumber: true,
    priority: 3,
    cell: ({ requests_per_minute: rate }) => rate ?? <span class="quiet">–</span>,
  },
  { title: words.expires, priority: 3, cell: ({ expires_at: at }) => at && <Time at={at} /> },
  { title: words.status, cell: ({ status }) => <Status state={status} /> },
]

/** The spenders of a key, newest first. Nothing if it has none. */
export function SpendersOfKey({ name }: { name: string }) {
  const pages = usePages(['spenders', name], (after, signal) =>
    call('listSpenders', { query: { key: name, after, limit: 50 }, signal }),
  )
  const columns: readonly Column<Spender>[] = [
    ...shared,
    {
      title: words.actions,
      isFirstLine: true,
      cell: (spender) => (
        <>
          <a href={hrefOf('requests', { spender: spender.id })}>{texts.requests.title}</a>{' '}
          {hasRole('operator') && <Ending of={spender} />}
        </>
      ),
    },
  ]
  return (
    <section>
      <h3>{words.title}</h3>
      <PagedTable
        label={words.title}
        pages={pages}
        columns={columns}
        keyOf={({ id }) => id}
        empty={words.empty}
      />
    </section>
  )
}

/** A token is revoked; for others the name is deleted. */
function Ending({ of: { id, name, hint, status } }: { of: Spender }) {
  const params = { spender: id }
  const shown = name ?? hint ?? id
  if (hint !== null)
    return status !== 'active' ? null : (
      <Danger
        action={words.revoke}
        title={words.revokeTitle(shown)}
        act={() => call('revokeSpender', { params })}
      >
        <p>{words.revokeMeans}</p>
      </Danger>
    )
  return name === null ? null : (
    <Danger
      action={words.forget}
      title={words.forgetTitle(name)}
      act={() => call('forgetSpender', { params })}
    >
      <p>{words.forgetMeans(name)}</p>
    </Danger>
  )
}

/** Tokens of web pages and programs that are connected with the signed-in key. */
export function OwnTokens() {
  const tokens = useQuery(['own tokens'], askTokens)
  const columns: readonly Column<OwnToken>[] = [
    ...shared,
    {
      title: words.actions,
      isFirstLine: true,
      cell: ({ id, name, hint, status }) =>
        status === 'active' && (
          <Danger
            action={words.revoke}
            title={words.revokeTitle(name ?? hint ?? id)}
            act={() => revokeOwnToken(id)}
          >
            <p>{words.revokeMeans}</p>
          </Danger>
        ),
    },
  ]
  return (
    <section class="part">
      <h2>{words.own}</h2>
      <Loaded of={tokens}>
        {({ data }) => (
          <Table
            label={words.own}
            columns={columns}
            rows={data}
            keyOf={({ id }) => id}
            empty={words.noneOwn}
          />
        )}
      </Loaded>
    </section>
  )
}
