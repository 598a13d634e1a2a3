// The step that gave charges and the totals of usage the cost at the vendor. Part of the migrations: it must never change
// once it has been released.

import { MOVEMENT_FUNCTIONS_WITH_COST } from './movements/functions'

export const CHARGE_COSTS = [
  // Null where the vendor's prices are not known.
  'alter table ended_charges add column cost bigint',
  'alter table usage_totals add column cost bigint not null default 0',
  // What was paid for charges whose cost is known.
  'alter table usage_totals add column costed bigint not null default 0',
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
      left join price_lists p on p.id = e.price_list left join usage_shapes u on u.id = e.usage_shape`,
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
  ...MOVEMENT_FUNCTIONS_WITH_COST.map((postgres) => ({ postgres })),
]
