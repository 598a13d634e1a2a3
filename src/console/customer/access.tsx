// Access to a customer: events about it, sign-ins with its keys, and changes by operators.

import { periodQuery } from '../address'
import { call, hasRole } from '../api'
import { usePages } from '../parts/paged'
import { AuditTable } from '../records/audit-table'
import { EventTable } from '../records/event-table'
import { SessionTable } from '../records/session-table'
import { texts } from '../texts'

const words = texts.accounts

export function CustomerAccess({ account }: { account: string }) {
  return (
    <>
      <section class="part">
        <h2>{words.events}</h2>
        <EventTable account={account} />
      </section>
      {hasRole('operator') && (
        <section class="part">
          <h2>{words.sessions}</h2>
          <SessionTable label={words.sessions} account={account} empty={words.noSessions} />
        </section>
      )}
      <History account={account} />
    </>
  )
}

function History({ account }: { account: string }) {
  const { since } = periodQuery()
  const target = `account:${account}`
  const pages = usePages(['audit', target, since], (after, signal) =>
    call('listAudit', { query: { target, since, after, limit: 50 }, signal }),
  )
  return (
    <section class="part">
      <h2>{words.history}</h2>
      <AuditTable label={words.history} pages={pages} empty={words.noHistory} />
    </section>
  )
}
