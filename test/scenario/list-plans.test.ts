// Query plans of the lists of the console and of the admin API: with each filter and on each page, they read only their own rows. A
// query that reads a table from its beginning gets slower with every row, and fails here with three rows.

import { expect, test } from 'bun:test'
import { listAccounts } from '../../src/accounts/accounts'
import { listKeysAfter } from '../../src/accounts/keys'
import { listAudit } from '../../src/admin/audit-trail'
import { accountsAtLimit, keysAtLimit, openNow } from '../../src/admin/overview-figures'
import { listArtifacts } from '../../src/artifacts/rows'
import { usageBy } from '../../src/billing/reports/usage-report'
import type { Db, Statement } from '../../src/db/db'
import { listTasks } from '../../src/tasks/find'
import { listEvents, listWebhooks } from '../../src/webhooks/rows'
import { databaseKinds, openTestDatabase } from '../support/databases/databases'

/** Each list with a filter or a cursor that few rows fit. */
const lists: Record<string, (db: Db) => Promise<unknown>> = {
  'accounts that something is held on': (db) => listAccounts(db, { isHeld: true, limit: 50 }),
  'accounts of a later page': (db) => listAccounts(db, { after: 'x', limit: 50 }),
  'tasks of a state': (db) => listTasks(db, { state: 'failed', limit: 50 }),
  'tasks that are unknown': (db) => listTasks(db, { state: 'unknown', limit: 50 }),
  'tasks of a model': (db) => listTasks(db, { model: 'm', limit: 50 }),
  'tasks of an account': (db) => listTasks(db, { account: 'alice', limit: 50 }),
  'tasks of a key': (db) => listTasks(db, { keyId: 'key-1', limit: 50 }),
  'tasks whose webhook failed': (db) => listTasks(db, { webhook: 'failed', limit: 50 }),
  'tasks since a time': (db) => listTasks(db, { since: 5, limit: 50 }),
  'tasks of a later page': (db) => listTasks(db, { after: { createdAt: 5, id: 'x' }, limit: 50 }),
  'failed tasks of a later page': (db) =>
    listTasks(db, { state: 'failed', after: { createdAt: 5, id: 'x' }, limit: 50 }),
  'webhooks of a state': (db) => listWebhooks(db, { state: 'failed', limit: 50 }),
  'webhooks of an account': (db) => listWebhooks(db, { account: 'alice', limit: 50 }),
  'webhooks of a later page': (db) => listWebhooks(db, { after: 'x', limit: 50 }),
  'events of a later page': (db) => listEvents(db, { after: 'x', limit: 50 }),
  'kept results of a request': (db) => listArtifacts(db, { charge: 'req_1', limit: 50 }),
  'kept results of an account': (db) => listArtifacts(db, { account: 'alice', limit: 50 }),
  'kept results of a key': (db) => listArtifacts(db, { keyId: 'key-1', readableAt: 5, limit: 50 }),
  'kept results of a key and a request': (db) =>
    listArtifacts(db, { keyId: 'key-1', charge: 'req_1', readableAt: 5, limit: 50 }),
  'kept results of a later page': (db) => listArtifacts(db, { after: 'x', limit: 50 }),
  'keys of an account': (db) => listKeysAfter(db, { account: 'alice', limit: 50 }),
  'keys of a later page': (db) => listKeysAfter(db, { after: 'x', limit: 50 }),
  'changes by somebody': (db) => listAudit(db, { actor: 'ada', limit: 50 }),
  'changes of a kind': (db) => listAudit(db, { action: 'key.create', limit: 50 }),
  'changes of one thing': (db) => listAudit(db, { target: 'key:x', limit: 50 }),
  'changes of a later page': (db) => listAudit(db, { before: 'x', limit: 50 }),
  'keys at their budgets': (db) => keysAtLimit(db, 5),
  'accounts at their budgets': (db) =>
    accountsAtLimit(db, new Map([['team', { amountNano: 5, period: 'day' }]]), 5),
  'what is open now': (db) => openNow(db),
  'usage by model and day': (db) => usageBy(db, 'model', { since: 5, until: 9_000_000_000 }, 'day'),
}

/** A table that can have a million rows, read from its beginning, or from its end without a place to begin. */
const WHOLE =
  /\b(SCAN|Seq Scan on) (accounts|tasks|webhooks|artifacts|keys|budgets|account_details|audit_trail|ended_charges\w*|usage_totals)\b/

/** The lines of the plan of a statement. */
async function planOf(db: Db, { sql, parameters = [] }: Statement): Promise<string[]> {
  if (db.kind === 'sqlite') {
    const rows = await db.query({ sql: `explain query plan ${sql}`, parameters })
    return rows.map(({ detail }) => String(detail))
  }
  const result = await db.batch([
    // A table of three rows would be read whole for its size.
    { sql: 'set local enable_seqscan = off' },
    { sql: `explain ${sql}`, parameters },
  ])
  const rows = 'rows' in result ? (result.rows[1] ?? []) : []
  return rows.map((row) => String(Object.values(row)[0]))
}

for (const kind of databaseKinds)
  test(`no list reads a table from its beginning (${kind})`, async () => {
    const db = await openTestDatabase(kind)
    const found: Record<string, string[]> = {}
    for (const [name, list] of Object.entries(lists)) {
      const statements: Statement[] = []
      const query: Db['query'] = (statement) => {
        statements.push(statement)
        return db.query(statement)
      }
      await list({ ...db, query })
      expect(statements.length).toBeGreaterThan(0)
      for (const statement of statements) {
        const whole = (await planOf(db, statement)).filter((line) => WHOLE.test(line))
        if (whole.length > 0) found[name] = whole
      }
    }
    expect(found).toEqual({})
    await db.close()
  }, 120_000)

test('a list that reads a table from its beginning is noticed', async () => {
  const db = await openTestDatabase('sqlite')
  const sql = 'select * from artifacts where charge = $1 or cast($1 as text) is null order by id desc'
  const plan = await planOf(db, { sql, parameters: ['req_1'] })
  expect(plan.join()).toMatch(WHOLE)
  await db.close()
})
