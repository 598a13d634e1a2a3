// The shape of the database, as numbered steps that run once each, in order.
// A step that has been released must never change: add another one.

import { ACCOUNT_PLANS } from './account-plans'
import { CHARGE_COSTS } from './charge-costs'
import { CLOSING_TABLES } from './closing-tables'
import { COMPACT_CHARGES } from './compact-charges'
import { CONSOLE_TABLES } from './console-tables'
import { CONVERSATION_TABLES } from './conversation-tables'
import { DatabaseUnavailable, type Db, type Statement } from './db'
import { EVENT_TABLES } from './event-tables'
import { IMPORTED_KEYS } from './imported-keys'
import { LIST_INDEXES } from './list-indexes'
import { MOVEMENT_FUNCTIONS } from './movements/functions'
import { MOVEMENT_RECORDS } from './movements/records'
import { REQUEST_FIGURES } from './request-figures'
import { STATEMENT_TABLES } from './statement-tables'
import { STORED_CHARGES } from './stored-charges'
import { USAGE_METADATA } from './usage-metadata'
import { VENDOR_REFUSALS } from './vendor-refusals'

/** A statement that is not the same for all; absent where it has nothing to do. */
export interface Variants {
  sqlite?: string
  postgres?: string
  /** For servers that speak PostgreSQL and lack what the statement needs. The gateway can do without it. */
  otherwise?: string
}

/** The statements of one transaction. */
type Step = readonly (string | Variants)[]

/** The steps. `bigint` holds nano-dollars and milliseconds since 1970. */
export const migrations: readonly Step[] = [
  [
    `create table accounts (
      name text primary key,
      balance bigint not null,
      held bigint not null,
      created_at bigint not null,
      check (held >= 0), check (balance >= held)
    )`,
    `create table keys (
      id text primary key,
      name text not null unique,
      account text not null,
      hash text not null unique,
      hint text not null,
      models text,
      requests_per_minute bigint,
      tokens_per_minute bigint,
      concurrency bigint,
      budget bigint,
      budget_period text,
      expires_at bigint,
      revoked_at bigint,
      webhook_secret text,
      webhook_secret_before text,
      webhook_secret_before_until bigint,
      created_at bigint not null
    )`,
    // An open charge is a row here until it ends, so the table stays small however long the history. Indexed by key,
    // because the running requests of a key are counted.
    `create table open_charges (
      key_id text not null,
      id text not null,
      account text not null,
      model text not null,
      operation text not null,
      held bigint not null,
      prices text not null,
      budget_period text,
      window_minute bigint,
      window_tokens bigint not null,
      created_at bigint not null,
      expires_at bigint not null,
      primary key (key_id, id)
    )`,
    // An ended charge is a row here. The table is append-only and has no index, because every request writes a row. The
    // row is also the ledger entry: the amount goes from the account to the revenue, the shortfall from the operator's
    // own book.
    `create table ended_charges (
      id text not null,
      account text not null,
      key_id text not null,
      model text not null,
      operation text not null,
      state text not null,
      held bigint not null,
      amount bigint not null,
      shortfall bigint not null,
      prices text not null,
      usage text,
      usage_source text,
      ended_by text not null,
      created_at bigint not null,
      ended_at bigint not null,
      check (amount >= 0), check (shortfall >= 0)
    )`,
    `create view charges as
      select id, account, key_id, model, operation, 'held' as state, held, 0 as amount, 0 as shortfall, prices,
        null as usage, null as usage_source, null as ended_by, created_at, null as ended_at
      from open_charges
      union all
      select id, account, key_id, model, operation, state, held, amount, shortfall, prices,
        usage, usage_source, ended_by, created_at, ended_at
      from ended_charges`,
    `create table transfers (
      id text primary key,
      at bigint not null,
      kind text not null,
      from_book text not null,
      to_book text not null,
      amount bigint not null,
      note text,
      check (amount > 0)
    )`,
    `create view movements as
      select id, at, kind, from_book, to_book, amount, null as charge, note from transfers
      union all
      select id, ended_at, 'charge', 'account:' || account, 'revenue', amount, id, null
      from ended_charges where amount > 0
      union all
      select id || ':shortfall', ended_at, 'shortfall', 'shortfall', 'revenue', shortfall, id, null
      from ended_charges where shortfall > 0`,
    `create table rate_windows (
      key_id text not null,
      minute bigint not null,
      requests bigint not null,
      tokens bigint not null,
      primary key (key_id, minute)
    )`,
    `create table budgets (
      key_id text not null,
      period text not null,
      committed bigint not null,
      primary key (key_id, period)
    )`,
    `create table saved_answers (
      account text not null,
      idempotency_key text not null,
      request_hash text not null,
      charge text not null,
      status bigint,
      content_type text,
      body text,
      created_at bigint not null,
      primary key (account, idempotency_key)
    )`,
    `create table tasks (
      id text primary key,
      account text not null,
      key_id text not null,
      model text not null,
      upstream text not null,
      charge text not null unique,
      upstream_id text,
      state text not null,
      memo text not null,
      quantities text not null,
      cost bigint not null,
      webhook_url text,
      gateway_url text not null,
      size text,
      document text,
      video_url text,
      error_code text,
      error_message text,
      created_at bigint not null,
      sent_at bigint,
      ended_at bigint,
      deadline_at bigint not null,
      poll_at bigint not null,
      polls bigint not null,
      misses bigint not null,
      missing bigint not null,
      cancel_at bigint,
      cancel_answer text,
      lease_until bigint not null,
      fence bigint not null
    )`,
    `create index tasks_due on tasks (upstream, poll_at) where state = 'submitted'`,
    `create index tasks_by_time on tasks (created_at)`,
    `create index tasks_of_account on tasks (account, created_at)`,
    `create unique index tasks_by_upstream_id on tasks (upstream_id, upstream) where upstream_id is not null`,
    `create table poll_windows (
      upstream text primary key,
      second bigint not null,
      polls bigint not null
    )`,
    // Bodies stay as they were when the task ended: every attempt sends the same bytes under the same id.
    `create table webhooks (
      id text primary key,
      task text not null,
      account text not null,
      key_id text not null,
      url text not null,
      host text not null,
      body text not null,
      state text not null,
      attempts bigint not null,
      step bigint not null,
      next_at bigint not null,
      lease_until bigint not null,
      fence bigint not null,
      created_at bigint not null,
      ended_at bigint
    )`,
    // The index holds all that a claim asks for: rows are large, and thousands for one busy receiver may lie before the
    // next one's.
    `create index webhooks_due on webhooks (next_at, host, account, lease_until) where state = 'pending'`,
    `create index webhooks_of_task on webhooks (task)`,
    `create table webhook_attempts (
      webhook text not null,
      number bigint not null,
      at bigint not null,
      status bigint,
      answer text,
      duration_ms bigint not null,
      primary key (webhook, number)
    )`,
    `create table artifacts (
      id text primary key,
      account text not null,
      charge text not null,
      content_type text not null,
      bytes bigint not null,
      sha256 text,
      created_at bigint not null,
      expires_at bigint not null,
      place text not null
    )`,
    `create index artifacts_by_end on artifacts (expires_at)`,
    `create index artifacts_by_time on artifacts (created_at, bytes)`,
    `create table times (
      name text primary key,
      at bigint not null,
      reference bigint not null
    )`,
    `create table secrets (
      name text primary key,
      value text not null,
      created_at bigint not null
    )`,
  ],
  [
    // An answer with the items that were sent for it. The rows of one conversation are a chain by their column previous.
    // Not stored by its key, because rows of megabytes between the keys make every look-up read past them.
    `create table responses (
      id text not null unique,
      account text not null,
      previous text,
      input text not null,
      answer text not null,
      items bigint not null,
      bytes bigint not null,
      created_at bigint not null,
      expires_at bigint not null
    )`,
    `create index responses_of_account on responses (account, created_at, bytes)`,
    `create index responses_by_end on responses (expires_at)`,
    `create table response_items (
      account text not null,
      id text not null,
      response text not null,
      primary key (account, id)
    )`,
    `create index items_of_response on response_items (response)`,
    // Bytes of all answers of an account: their sum would be read for every request.
    `create table response_totals (
      account text primary key,
      bytes bigint not null
    )`,
  ],
  // The results of a task are deleted with it.
  [`create index artifacts_of_charge on artifacts (charge)`],
  [
    // Keys that rows may be encrypted with, by their ids. While a process encrypts with one, its uses are counted up.
    `create table encryption_keys (
      id text primary key,
      uses bigint not null
    )`,
  ],
  [
    // Large texts stand between keys: see responses.
    `create table background_responses (
      id text not null unique,
      account text not null,
      answer text not null,
      has_ended bigint not null,
      is_cancelled bigint not null,
      lease_until bigint not null,
      created_at bigint not null,
      expires_at bigint not null
    )`,
    `create index background_by_lease on background_responses (lease_until) where has_ended = 0`,
    `create index background_by_end on background_responses (expires_at)`,
    `create table background_events (
      response text not null,
      first bigint not null,
      last bigint not null,
      events text not null,
      unique (response, first)
    )`,
  ],
  // Each settlement with an idempotency key finds its answer by the charge.
  [`create index saved_answers_of_charge on saved_answers (charge)`],
  CONVERSATION_TABLES,
  MOVEMENT_FUNCTIONS.map((postgres) => ({ postgres })),
  COMPACT_CHARGES,
  [
    // Sums of ended charges: a span is an hour or a day in milliseconds, and their positions are where to find them.
    `create table usage_totals (
      span bigint not null,
      start bigint not null,
      series bigint not null,
      requests bigint not null,
      released bigint not null,
      counted bigint not null,
      estimated bigint not null,
      amount bigint not null,
      shortfall bigint not null,
      first_position bigint not null,
      last_position bigint not null,
      primary key (span, start, series)
    )`,
    // Up to which position charges were worked on.
    `create table marks (
      name text primary key,
      position bigint not null
    )`,
    `insert into marks (name, position) values ('usage', 0)`,
  ],
  [
    `create index transfers_to on transfers (to_book, at)`,
    `create index transfers_from on transfers (from_book, at)`,
  ],
  [
    // What was verified of the books, and up to which charge. Each row is signed with the one before it.
    `create table checkpoints (
      position bigint primary key,
      at bigint not null,
      hash text not null,
      sums text not null,
      signature text not null
    )`,
  ],
  // On SQLite two processes serve for a while, and each ends what it began.
  ['alter table open_charges add column process text'],
  [
    `alter table keys add column paused_at bigint`,
    // Apart from the balance, whose row is written anew with every request.
    `create table account_details (
      name text primary key,
      display_name text,
      note text,
      frozen_at bigint,
      closed_at bigint
    )`,
  ],
  [
    `create table top_up_codes (
      id text primary key,
      hash text not null unique,
      hint text not null,
      amount bigint not null,
      note text,
      created_at bigint not null,
      expires_at bigint,
      revoked_at bigint,
      redeemed_at bigint,
      redeemed_by text,
      redeemed_by_key text,
      check (amount > 0)
    )`,
    `create index top_up_codes_by_time on top_up_codes (created_at, id)`,
  ],
  [
    // Operators of the admin API. Only the hash of a token stands here.
    `create table admins (
      id text primary key,
      name text not null unique,
      role text not null,
      hash text not null unique,
      hint text not null,
      expires_at bigint,
      revoked_at bigint,
      created_at bigint not null
    )`,
    // Changes by operators, each written with what it changed. Rows are never changed; their ids are in the order of time.
    `create table audit_trail (
      id text primary key,
      at bigint not null,
      actor text not null,
      action text not null,
      target text not null,
      before text,
      after text,
      request_id text,
      client_address text
    )`,
  ],
  CHARGE_COSTS,
  EVENT_TABLES,
  CONSOLE_TABLES,
  CLOSING_TABLES,
  ACCOUNT_PLANS,
  REQUEST_FIGURES,
  USAGE_METADATA,
  IMPORTED_KEYS,
  STATEMENT_TABLES,
  // Totals of one account or key, which must not be looked for among those of all.
  ['create index totals_of_series on usage_totals (series, span, start)'],
  MOVEMENT_RECORDS.map((postgres) => ({ postgres })),
  LIST_INDEXES,
  [
    // Whose key has made a kept result. Those that are there stay without until they expire: no index finds their charges.
    `alter table artifacts add column key_id text`,
    `create index artifacts_of_key on artifacts (key_id, id)`,
  ],
  // Budgets that are full are looked for among those of the periods that run.
  [`create index budgets_of_period on budgets (period)`],
  [
    // What is forgotten after a time is found by it, so that nobody reads what is kept.
    'create index saved_answers_by_time on saved_answers (created_at)',
    'create index webhooks_by_end on webhooks (ended_at) where ended_at is not null',
    'delete from background_events where response not in (select id from background_responses)',
  ],
  STORED_CHARGES,
  VENDOR_REFUSALS,
]

/** Settings for one transaction of PostgreSQL that may take long. */
const PATIENCE: readonly Statement[] = [
  { sql: 'set local statement_timeout = 0' },
  { sql: 'set local lock_timeout = 0' },
]

/** The version of the database; 0 for an empty one. Nothing is changed. */
export async function schemaVersion(db: Db): Promise<number> {
  await db.query({ sql: 'select 1 as alive' })
  const sql = 'select max(version) as version from schema_versions'
  const [row] = await db.query({ sql }).catch(() => [])
  return Number(row?.version ?? 0)
}

/** Throws for a version of the database that a newer gateway has made. */
export function requireKnown(version: number, newest = migrations.length): void {
  if (version <= newest) return
  throw new Error(
    `The database has schema version ${version}, this gateway knows only ${newest}: use a newer gateway.`,
  )
}

/**
 * Brings the database to the newest version. Several nodes may start at once: the version row decides which one runs a
 * step. `announce` is called before an existing database is changed.
 */
export async function migrate(
  db: Db,
  steps = migrations,
  announce: (from: number, to: number) => void = () => {},
): Promise<void> {
  const versions: Statement = {
    sql: 'create table if not exists schema_versions (version bigint primary key)',
  }
  // On PostgreSQL, nodes that start at once can collide here in spite of `if not exists`. The second try then finds the
  // table.
  await db.batch([versions]).catch(() => db.batch([versions]))
  const [row] = await db.query({ sql: 'select max(version) as version from schema_versions' })
  const version = Number(row?.version ?? 0)
  requireKnown(version, steps.length)
  if (version > 0 && version < steps.length) announce(version, steps.length)
  // A step may take minutes on large tables, while other nodes wait for it.
  const patience = db.kind === 'postgres' ? PATIENCE : []
  for (let next = version + 1; next <= steps.length; next++) {
    const claim: Statement = {
      sql: 'insert into schema_versions (version) values ($1) on conflict (version) do nothing',
      parameters: [next],
      guard: true,
    }
    const step = steps[next - 1] as Step
    const run = (kind: keyof Variants) =>
      // A miss means that another node is running this step in its transaction, or has run it.
      db.batch([...patience, claim, ...statementsOf(step, kind)])
    await run(db.kind).catch((error) => {
      // Where the user may not make functions, or the server has none, all goes without them.
      const hasVariants = step.some((part) => typeof part !== 'string')
      if (db.kind === 'sqlite' || !hasVariants || error instanceof DatabaseUnavailable) throw error
      return run('otherwise')
    })
  }
}

function statementsOf(step: Step, kind: keyof Variants): Statement[] {
  const texts = step.map((part) => (typeof part === 'string' ? part : part[kind]))
  return texts.flatMap((sql) => (sql === undefined ? [] : [{ sql }]))
}
