// What a customer spends, what needs attention, and its last requests.

import { hrefOf } from '../address'
import { call, fileAddress } from '../api'
import { Spend, type SpendUsage } from '../charts/spend'
import { Icon } from '../parts/icon'
import { Loaded } from '../parts/loaded'
import { Table } from '../parts/table'
import { useQuery } from '../query'
import { FailuresOf } from '../records/failures'
import { texts } from '../texts'
import type { CustomerJson } from './customer'
import { askRequestsOf, customerRequestColumns } from './requests'

const words = texts.accounts
const LAST_REQUESTS = 8

export function CustomerOverview({ customer: { account } }: { customer: CustomerJson }) {
  return (
    <>
      <Attention account={account} />
      <Spend
        name={`usage of ${account}`}
        ask={(query, signal) =>
          call('getUsage', { query: { ...query, account }, signal }) as unknown as Promise<SpendUsage>
        }
        hrefOfModel={(model) => hrefOf('requests', { account, model })}
        fileOf={(query) => fileAddress('getUsage', { query: { ...query, account, format: 'csv' } })}
        empty={words.noRequests}
      />
      <FailuresOf owner={{ account }} />
      <LastRequests account={account} />
    </>
  )
}

/** Current conditions of this customer that are reported to operators. */
function Attention({ account }: { account: string }) {
  const load = useQuery(['conditions'], (signal) => call('listConditions', { signal }))
  const found = (load.data?.data ?? []).filter((each) => each.account === account)
  if (found.length === 0) return null
  return (
    <section class="part">
      <h2>{words.attention}</h2>
      <ul class="attention">
        {found.map(({ type, subject }) => (
          <li key={`${type} ${subject}`}>
            <Icon name="warning" />
            <span>
              {words.conditions[type] ?? type} {subject !== account && <span class="quiet">{subject}</span>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function LastRequests({ account }: { account: string }) {
  const load = useQuery(['last requests', account], (signal) =>
    askRequestsOf(account, { limit: LAST_REQUESTS }, signal),
  )
  return (
    <section class="part">
      <div class="page-head">
        <h2>{words.lastRequests}</h2>
        <div class="actions">
          <a href={hrefOf('requests', { account })}>{words.allRequests}</a>
          <a href={hrefOf('usage', { account, by: 'model' })}>{words.allUsage}</a>
          <a href={hrefOf('tasks', { account })}>{words.tasks}</a>
        </div>
      </div>
      <Loaded of={load}>
        {({ data }) => (
          <Table
            label={words.lastRequests}
            rows={data}
            columns={customerRequestColumns}
            keyOf={({ id }) => id}
            hrefOf={({ id }) => hrefOf('requests', { account }, id)}
            empty={words.noRequests}
          />
        )}
      </Loaded>
    </section>
  )
}
