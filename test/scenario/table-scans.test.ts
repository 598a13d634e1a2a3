// The daily work of a gateway: requests of each kind, tasks, and every job of its scheduler. None of its statements reads a growing
// table from the beginning, according to the plans of SQLite and PostgreSQL's own counters, which include statements in functions.

import { expect, setDefaultTimeout, test } from 'bun:test'
import { batchOf, type Db, type Row, type Statement } from '../../src/db/db'
import { openPostgres } from '../../src/db/drivers/postgres'
import { LIST_INDEXES } from '../../src/db/schema/list-indexes'
import { databaseKinds, postgresUrl } from '../support/databases/databases'
import { TABLES } from '../support/databases/postgres'
import { say, startTestGateway, type TestGateway, type TestGatewayOptions, waitFor } from '../support/gateway'
import { startTaskVendor, succeeded, videoBody } from '../support/vendors/task'

setDefaultTimeout(180_000)

/**
 * Tables with few rows however long a gateway serves: settings, one row for each account, session or connected program, and
 * presently open things.
 */
const SMALL = new Set([
  ...[
    'account_details',
    'accounts',
    'admins',
    'allowances',
    'console_links',
    'console_sessions',
    'response_totals',
    'session_checks',
    'times',
  ],
  ...[
    'charge_positions',
    'encryption_keys',
    'event_conditions',
    'marks',
    'oauth_grants',
    'poll_windows',
    'rate_windows',
    'secrets',
  ],
  ...['charge_series', 'price_lists', 'usage_metadata', 'usage_shapes', 'request_numbers', 'schema_versions'],
  ...['checkpoints', 'closing_entries', 'closings', 'open_charges', 'top_up_codes'],
])
/** Some tables that must have been read at all. */
const GROWING = [
  'tasks',
  'keys',
  'saved_answers',
  'responses',
  'webhooks',
  'usage_totals',
  'background_events',
]
/** The indexes that are for lists: a change that finds its few rows by one reads all rows of their state or account. */
const LISTED_BY = new RegExp(`\\b(${LIST_INDEXES.map((sql) => sql.split(' ')[2]).join('|')})\\b`)
/** All jobs of a scheduler run for the first time within this number of its seconds. */
const JOBS_SECONDS = 12

const models = {
  'test-responses': {
    family: 'openai-responses',
    upstream: 'openai',
    upstreamModel: 'gpt-5-mini',
    reasoning: true,
    price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' },
  },
}

test.skipIf(!databaseKinds.includes('postgres'))(
  'PostgreSQL reads no table that grows from its beginning',
  async () => {
    const databaseUrl = await postgresUrl({ template: TABLES })
    const admin = openPostgres(databaseUrl)
    // A table of three rows would be read whole for its size.
    const name = new URL(databaseUrl).pathname.slice(1)
    await admin.query({ sql: `alter database ${name} set enable_seqscan = off` })
    await admin.close()
    const { gateway } = await serveAll({ databaseUrl })
    await gateway.server.stop(0)

    // Sessions report their reads at the latest when they end.
    const counters = openPostgres(databaseUrl)
    const rows = await counters.query({
      sql: 'select cast(relname as text) as name, idx_scan, seq_scan, seq_tup_read from pg_stat_user_tables',
    })
    const used = rows.filter((row) => Number(row.idx_scan) > 0).map((row) => String(row.name))
    for (const table of GROWING) expect(used).toContain(table)
    const scanned = rows.filter((row) => Number(row.seq_scan) > 0 && !SMALL.has(String(row.name)))
    // The indexes of a new partition are made from its rows, and it is empty.
    const isNew = ({ name, seq_tup_read: read }: Row) => /_\d{8}$/.test(String(name)) && Number(read) === 0
    expect(scanned.filter((row) => !isNew(row)).map((row) => row.name)).toEqual([])
    await counters.close()
  },
)

test('SQLite reads no table that grows from its beginning, and changes no rows by an index for lists', async () => {
  const statements = new Map<string, Statement>()
  const { gateway } = await serveAll({}, (statement) => statements.set(statement.sql, statement))
  const { query } = gateway.server.world.db
  const tables = (await query({ sql: `select name from sqlite_master where type = 'table'` })).map(
    ({ name }) => String(name),
  )
  const used = new Set<string | undefined>()
  const scans: string[] = []
  for (const { sql, parameters = [] } of [...statements.values()]) {
    if (!/^\s*(with|select|insert|update|delete)\b/.test(sql)) continue
    const changes = /^\s*(update|delete)\b/.test(sql)
    for (const { detail } of await query({ sql: `explain query plan ${sql}`, parameters })) {
      const [, how, name = ''] = /^(SCAN|SEARCH) (\w+)/.exec(String(detail)) ?? []
      // A table, or its short name in the statement; everything else read was made by the statement itself.
      const table = tables.find(
        (each) => each === name || new RegExp(`\\b${each} (as )?${name}\\b`).test(sql),
      )
      used.add(table)
      if (changes && LISTED_BY.test(String(detail))) scans.push(`${detail}: ${sql}`)
      // The first row of an index is not read from its beginning.
      const isFirst = / USING .*INDEX /.test(String(detail)) && / limit 1$/.test(sql)
      if (how === 'SCAN' && !isFirst && table !== undefined && !SMALL.has(table))
        scans.push(`${detail}: ${sql}`)
    }
  }
  for (const table of GROWING) expect([...used]).toContain(table)
  expect(scans).toEqual([])
  await gateway.server.stop(0)
})

/** A gateway that has done everything once, all jobs of its scheduler too. */
async function serveAll(options: TestGatewayOptions, note?: (statement: Statement) => void) {
  using vendor = startTaskVendor()
  vendor.answerPoll = succeeded
  let seconds = 0
  const gateway = await startTestGateway({
    ...options,
    models,
    upstreams: { dashscope: vendor.upstream },
    outside: {
      // The pauses of the scheduler pass quickly.
      after(milliseconds, run) {
        const isPause = milliseconds === 250 || milliseconds === 1_000
        if (isPause) seconds += milliseconds / 1_000
        const timer = setTimeout(run, isPause ? milliseconds / 50 : milliseconds)
        return () => clearTimeout(timer)
      },
    },
  })
  const { db } = gateway.server.world
  if (note) noteStatements(db, note)
  await useAll(gateway)
  const before = seconds
  await waitFor(() => seconds > before + JOBS_SECONDS)
  expect(gateway.log.filter(({ event }) => event === 'job_failed')).toEqual([])
  await gateway.sandbox.stop()
  return { gateway }
}

function noteStatements(db: Db, note: (statement: Statement) => void): void {
  const { query, batch, move } = db
  db.query = (statement) => {
    note(statement)
    return query(statement)
  }
  db.batch = (statements) => {
    for (const statement of statements) note(statement)
    return batch(statements)
  }
  db.move = (movement) => {
    for (const statement of batchOf(movement)) note(statement)
    return move(movement)
  }
}

/** Requests with every possible limit of a key, kept answers, and a video. */
async function useAll(gateway: TestGateway): Promise<void> {
  const { secret } = await gateway.makeKey('bob', '100', {
    requestsPerMinute: 1_000,
    tokensPerMinute: 1_000_000,
    concurrency: 10,
    budgetNano: 50e9,
    budgetPeriod: 'month',
  })
  const authorization = `Bearer ${secret}`
  const post = async (path: string, body: unknown, headers = {}) => {
    const reply = await gateway.post(path, body, { authorization, ...headers })
    const text = await reply.text()
    expect({ path, ok: reply.ok, text: reply.ok ? '' : text }).toEqual({ path, ok: true, text: '' })
    return text.startsWith('{') ? JSON.parse(text) : text
  }
  const ask = async (method: string, path: string) => {
    const reply = await fetch(`${gateway.url}${path}`, { method, headers: { authorization } })
    expect({ path, ok: reply.ok }).toEqual({ path, ok: true })
    await reply.arrayBuffer()
  }
  const chat = { model: 'test-chat', messages: say('Hello!') }
  for (const stream of [false, true, false])
    await post('/v1/chat/completions', { ...chat, stream }, { 'idempotency-key': `stream ${stream}` })
  await post('/v1/embeddings', { model: 'test-embedding', input: ['one', 'two'] })

  const response = { model: 'test-responses', input: 'Hello' }
  const kept = await post('/v1/responses', response)
  const next = await post('/v1/responses', { ...response, previous_response_id: kept.id, stream: false })
  const named = { type: 'item_reference', id: next.output.at(-1).id }
  await post('/v1/responses', { ...response, input: [named, { role: 'user', content: 'Go on' }] })
  const conversation = await post('/v1/conversations', {})
  await post('/v1/responses', { ...response, conversation: conversation.id })
  const behind = await post('/v1/responses', { ...response, background: true })
  for (const path of [`/${next.id}`, `/${next.id}/input_items`, `/${behind.id}`])
    await ask('GET', `/v1/responses${path}`)
  await ask('GET', `/v1/conversations/${conversation.id}/items`)
  await ask('DELETE', `/v1/responses/${kept.id}`)
  await ask('DELETE', `/v1/conversations/${conversation.id}`)

  const video = await post('/v1/videos/generations', videoBody('one'))
  const isDone = async () =>
    (await gateway.server.world.db.query({ sql: `select id from tasks where state = 'succeeded'` })).length
  await waitFor(async () => (await isDone()) === 1)
  for (const path of [
    `/v1/videos/generations/${video.id}`,
    '/v1/me',
    '/v1/requests',
    '/v1/tasks',
    '/v1/usage',
    '/v1/holds',
  ])
    await ask('GET', path)
}
