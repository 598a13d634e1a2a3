// Tables of money: transfers, open charges, data that charges share, and the sums and proofs of ended charges.

import { ENDED_CHARGES } from './ended-charges'
import type { Step } from './step'

export const CHARGES: Step = [
  // An open charge is a row here until it ends, so the table stays small however long the history. Its key begins with that of
  // the caller, because the running requests of a key are counted. `process` is set on SQLite only, where a process takes over
  // what another one left. `account_period` is the period of the account's budget.
  `create table open_charges (
    key_id text not null,
    id text not null,
    account text not null,
    model text not null,
    operation text not null,
    held bigint not null,
    budget_period text,
    window_minute bigint,
    window_tokens bigint not null,
    created_at bigint not null,
    expires_at bigint not null,
    price_list bigint,
    process text,
    account_period text,
    metadata_id bigint,
    primary key (key_id, id)
  )`,
  // What many charges share: account, key, model, operation, and a set of metadata (0 without one).
  `create table charge_series (
    id bigint primary key,
    account text not null,
    key_id text not null,
    model text not null,
    operation text not null,
    metadata_id bigint not null default 0,
    unique (account, key_id, model, operation, metadata_id)
  )`,
  // Price lists as they were when a charge was held or settled.
  `create table price_lists (
    id bigint primary key,
    hash text not null unique,
    prices text not null
  )`,
  // Usage objects of vendors without their figures.
  `create table usage_shapes (
    id bigint primary key,
    hash text not null unique,
    shape text not null
  )`,
  // Sets of values of metadata, as JSON. -1 is for those beyond the maximum.
  `create table usage_metadata (
    id bigint primary key,
    hash text not null unique,
    content text not null
  )`,
  ...ENDED_CHARGES,
  // Money that the operator moves. An ended charge is its own ledger entry.
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
  'create index transfers_to on transfers (to_book, at)',
  'create index transfers_from on transfers (from_book, at)',
  // Sums of ended charges per hour and day; the span is their length in milliseconds. The positions say where to find the charges.
  // `costed` is the amount that was paid for charges whose cost is known.
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
    cost bigint not null default 0,
    costed bigint not null default 0,
    primary key (span, start, series)
  )`,
  // Totals of one account or key have their own index.
  'create index totals_of_series on usage_totals (series, span, start)',
  // The last position that was added, or removed after its month was closed.
  `create table marks (
    name text primary key,
    position bigint not null
  )`,
  `insert into marks (name, position) values ('usage', 0), ('removed', 0)`,
  // How far the books were verified: up to which charge. Each row is signed together with the previous one.
  `create table checkpoints (
    position bigint primary key,
    at bigint not null,
    hash text not null,
    sums text not null,
    signature text not null
  )`,
  // A closed month: the charges after the previous closing, up to a position. Each row is signed together with the previous one.
  `create table closings (
    position bigint primary key,
    month text not null unique,
    ended_before bigint not null,
    at bigint not null,
    charges bigint not null,
    hash text not null,
    entries_hash text not null,
    archive text not null,
    archive_bytes bigint not null,
    signature text not null
  )`,
  // Sums of the closed charges of each series.
  `create table closing_entries (
    closing bigint not null,
    series bigint not null,
    requests bigint not null,
    released bigint not null,
    counted bigint not null,
    estimated bigint not null,
    amount bigint not null,
    shortfall bigint not null,
    cost bigint not null,
    costed bigint not null,
    primary key (closing, series)
  )`,
  // Statements as issued, numbered without gaps. Each contains its own hash and that of the previous one.
  `create table statements (
    number bigint primary key,
    account text not null,
    month text not null,
    issued_at bigint not null,
    content text not null,
    hash text not null,
    unique (account, month)
  )`,
]

/** The plus keeps the condition from using an index: queries by position use the bounds of the position. */
const IS_OPEN = '+e.position > (select coalesce(max(position), 0) from closings)'

/** Views of charges and of movements between books, with words instead of numbers. A closed charge counts through its closing. */
export const CHARGE_VIEWS: Step = [
  `create view held_charges as
    select o.id, o.account, o.key_id, o.model, o.operation, 'held' as state, o.held, 0 as amount, 0 as shortfall,
      p.prices, null as usage, null as usage_shape, null as usage_source, null as ended_by, o.created_at,
      null as ended_at
    from open_charges o left join price_lists p on p.id = o.price_list`,
  `create view charge_history as
    select e.position, e.id, s.account, s.key_id, s.model, s.operation,
      case e.state when 1 then 'settled' when 0 then 'released' else 'impossible' end as state, e.held, e.amount,
      e.shortfall, p.prices, e.usage, u.shape as usage_shape,
      case e.usage_source when 0 then 'upstream' when 1 then 'counted' when 2 then 'estimated' end as usage_source,
      case e.ended_by when 0 then 'done' when 1 then 'balance' when 2 then 'client' when 3 then 'upstream'
        when 4 then 'timeout' when 5 then 'shutdown' when 6 then 'expired' end as ended_by, e.created_at, e.ended_at,
      e.cost, s.metadata_id
    from ended_charges e left join charge_series s on s.id = e.series
      left join price_lists p on p.id = e.price_list left join usage_shapes u on u.id = e.usage_shape
    where ${IS_OPEN}`,
  `create view charges as
    select id, account, key_id, model, operation, state, held, amount, shortfall, prices,
      cast(usage as text) as usage, cast(usage_shape as text) as usage_shape,
      cast(usage_source as text) as usage_source, cast(ended_by as text) as ended_by, created_at,
      cast(ended_at as bigint) as ended_at, cast(null as bigint) as cost
    from held_charges
    union all
    select id, account, key_id, model, operation, state, held, amount, shortfall, prices, usage, usage_shape, usage_source,
      ended_by, created_at, ended_at, cost
    from charge_history`,
  `create view movements as
    select id, at, kind, from_book, to_book, amount, null as charge, note from transfers
    union all
    select e.id, e.ended_at, 'charge', 'account:' || s.account, 'revenue', e.amount, e.id, null
    from ended_charges e left join charge_series s on s.id = e.series where e.amount > 0 and ${IS_OPEN}
    union all
    select e.id || ':shortfall', e.ended_at, 'shortfall', 'shortfall', 'revenue', e.shortfall, e.id, null
    from ended_charges e where e.shortfall > 0 and ${IS_OPEN}
    union all
    select 'closing-' || c.month || '-' || e.series, c.ended_before - 1, 'closing', 'account:' || s.account, 'revenue',
      e.amount, null, c.archive
    from closing_entries e join closings c on c.position = e.closing left join charge_series s on s.id = e.series
    where e.amount > 0
    union all
    select 'closing-' || c.month || '-' || e.series || ':shortfall', c.ended_before - 1, 'shortfall', 'shortfall', 'revenue',
      e.shortfall, null, c.archive
    from closing_entries e join closings c on c.position = e.closing where e.shortfall > 0`,
]
