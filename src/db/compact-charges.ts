// The step that brought ended charges into their short form: what many of them have in common stands once in tables of
// its own, and codes stand for words. Part of the migrations: it must never change once it has been released.

/** Columns of an ended charge, the ones that reports add up first: a database reads a row from its beginning. */
const columns = (position: string) => `
      ${position},
      series integer not null,
      state smallint not null,
      amount bigint not null,
      shortfall bigint not null,
      ended_at bigint not null,
      created_at bigint not null,
      usage_source smallint,
      ended_by smallint not null,
      held bigint not null,
      price_list integer not null,
      usage_shape integer,
      id text not null,
      usage text,
      check (amount >= 0), check (shortfall >= 0)`

/** Partitions for the months of the charges that are there, of this month and of the next two. */
const partitions = `do $$
  declare
    month timestamp := date_trunc('month', coalesce(
      (select to_timestamp(greatest(min(ended_at), 1577836800000) / 1000) at time zone 'UTC' from charges_before
        having count(*) > 0),
      now() at time zone 'UTC'));
    following timestamp;
  begin
    while month < date_trunc('month', now() at time zone 'UTC') + interval '3 months' loop
      following := month + interval '1 month';
      execute format('create table %I partition of ended_charges for values from (%s) to (%s)',
        'ended_charges_' || to_char(month, 'YYYY_MM'),
        (extract(epoch from month) * 1000)::bigint, (extract(epoch from following) * 1000)::bigint);
      month := following;
    end loop;
  end $$`

const copyCharges = (
  join: string,
) => `insert into ended_charges (id, series, price_list, state, held, amount, shortfall,
      usage, usage_source, ended_by, created_at, ended_at)
    select c.id, s.id, p.id, case c.state when 'settled' then 1 else 0 end, c.held, c.amount, c.shortfall, c.usage,
      case c.usage_source when 'upstream' then 0 when 'counted' then 1 when 'estimated' then 2 end,
      case c.ended_by when 'done' then 0 when 'balance' then 1 when 'client' then 2 when 'upstream' then 3
        when 'timeout' then 4 when 'shutdown' then 5 else 6 end,
      c.created_at, c.ended_at
    from charges_before c
      ${join} charge_series s on s.account = c.account and s.key_id = c.key_id and s.model = c.model
        and s.operation = c.operation
      ${join} price_lists p on p.prices = c.prices`

export const COMPACT_CHARGES = [
  // Account, key, model and operation of a charge.
  `create table charge_series (
      id bigint primary key,
      account text not null,
      key_id text not null,
      model text not null,
      operation text not null,
      unique (account, key_id, model, operation)
    )`,
  // Price lists as they were when a charge was held or settled. Texts that were there before have no hash.
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
  'drop view movements',
  'drop view charges',
  `insert into charge_series (id, account, key_id, model, operation)
    select row_number() over (order by account, key_id, model, operation), account, key_id, model, operation
    from (select distinct account, key_id, model, operation from ended_charges) as known`,
  `insert into price_lists (id, hash, prices)
    select row_number() over (order by prices), 'before ' || row_number() over (order by prices), prices
    from (select prices from ended_charges union select prices from open_charges) as known`,
  'alter table open_charges add column price_list bigint',
  `update open_charges set price_list = (select p.id from price_lists p where p.prices = open_charges.prices)`,
  'alter table open_charges drop column prices',
  'alter table ended_charges rename to charges_before',
  {
    // Rows stand in the order in which they were written.
    sqlite: `create table ended_charges (${columns('position integer primary key')})`,
    postgres: 'create sequence charge_positions',
    otherwise: 'create sequence charge_positions',
  },
  {
    postgres: `create table ended_charges (${columns(`position bigint not null default nextval('charge_positions')`)})
      partition by range (ended_at)`,
    otherwise: `create table ended_charges (${columns(`position bigint primary key default nextval('charge_positions')`)})`,
  },
  { postgres: partitions },
  { postgres: `create table ended_charges_other partition of ended_charges default` },
  // SQLite keeps the order of the tables in a cross join, and so the order of the charges.
  { sqlite: 'create index prices_before on price_lists (prices)' },
  { sqlite: copyCharges('cross join'), postgres: copyCharges('join'), otherwise: copyCharges('join') },
  { sqlite: 'drop index prices_before' },
  'drop table charges_before',
  {
    // Rows lie nearly in the order of both, so that an index of ranges of pages costs next to nothing.
    postgres: `create index charges_by_position on ended_charges
      using brin (position) with (pages_per_range = 32, autosummarize = on)`,
  },
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
        when 4 then 'timeout' when 5 then 'shutdown' when 6 then 'expired' end as ended_by, e.created_at, e.ended_at
    from ended_charges e left join charge_series s on s.id = e.series
      left join price_lists p on p.id = e.price_list left join usage_shapes u on u.id = e.usage_shape`,
  `create view charges as
    select id, account, key_id, model, operation, state, held, amount, shortfall, prices,
      cast(usage as text) as usage, cast(usage_shape as text) as usage_shape,
      cast(usage_source as text) as usage_source, cast(ended_by as text) as ended_by, created_at,
      cast(ended_at as bigint) as ended_at
    from held_charges
    union all
    select id, account, key_id, model, operation, state, held, amount, shortfall, prices, usage, usage_shape, usage_source,
      ended_by, created_at, ended_at
    from charge_history`,
  `create view movements as
    select id, at, kind, from_book, to_book, amount, null as charge, note from transfers
    union all
    select e.id, e.ended_at, 'charge', 'account:' || s.account, 'revenue', e.amount, e.id, null
    from ended_charges e left join charge_series s on s.id = e.series where e.amount > 0
    union all
    select id || ':shortfall', ended_at, 'shortfall', 'shortfall', 'revenue', shortfall, id, null
    from ended_charges where shortfall > 0`,
]
