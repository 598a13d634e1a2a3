// The step that lets charges be closed: what is left of a month when its charges have gone to an archive, and views in which
// a closed charge counts through its closing. Part of the migrations: it must never change once it has been released.

/** Without an index for it: what is asked for by position goes by its own bounds. */
const IS_OPEN = '+e.position > (select coalesce(max(position), 0) from closings)'

export const CLOSING_TABLES = [
  // Charges up to a position, from behind the closing before it: those of a month, and what came late of earlier ones. Each
  // row is signed with the one before it.
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
  // Up to which position closed charges have been removed.
  `insert into marks (name, position) values ('removed', 0)`,
  'drop view movements',
  'drop view charges',
  'drop view charge_history',
  `create view charge_history as
    select e.position, e.id, s.account, s.key_id, s.model, s.operation,
      case e.state when 1 then 'settled' when 0 then 'released' else 'impossible' end as state, e.held, e.amount,
      e.shortfall, p.prices, e.usage, u.shape as usage_shape,
      case e.usage_source when 0 then 'upstream' when 1 then 'counted' when 2 then 'estimated' end as usage_source,
      case e.ended_by when 0 then 'done' when 1 then 'balance' when 2 then 'client' when 3 then 'upstream'
        when 4 then 'timeout' when 5 then 'shutdown' when 6 then 'expired' end as ended_by, e.created_at, e.ended_at,
      e.cost
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
