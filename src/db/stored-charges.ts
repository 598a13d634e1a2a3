// The step that made ended charges on PostgreSQL smaller: rows stand in a table of their own without what can be told from the
// rest, and the view `ended_charges` shows them as they are on SQLite, takes new ones and removes them. Part of the migrations:
// it must never change once it has been released.

import { USAGE_METADATA } from './usage-metadata'

/**
 * Whether an id is one that the gateway gives: its digits are then 16 bytes in `request`, and `id` is null. A count in the
 * pattern would take six times as long.
 */
const IS_USUAL = `length(new.id) = 36 and new.id ~ '^req_[0-9a-f]*$'`
/** Whether a charge took so little time that `duration_ms` holds it, and `created_at` is null: less than 24 days. */
const IS_SHORT = 'new.ended_at - new.created_at between 0 and 2147483647'

/** The columns of the view by their names on SQLite, each as it is told from a stored row and as it is stored. */
const COLUMNS: readonly (readonly [name: string, told?: string, stored?: string])[] = [
  ['position'],
  ['series'],
  ['state'],
  ['amount'],
  ['shortfall', 'coalesce(shortfall, 0)', 'nullif(new.shortfall, 0)'],
  ['ended_at'],
  [
    'created_at',
    'coalesce(created_at, ended_at - duration_ms)',
    `case when ${IS_SHORT} then null else new.created_at end`,
  ],
  ['usage_source'],
  ['ended_by'],
  ['held'],
  ['price_list'],
  ['usage_shape'],
  [
    'id',
    `coalesce(id, 'req_' || encode(uuid_send(request), 'hex'))`,
    `case when ${IS_USUAL} then null else new.id end`,
  ],
  ['usage'],
  ['cost'],
]
const names = COLUMNS.map(([name]) => name).join(', ')
const told = COLUMNS.map(([name, expression = name]) => `${expression} as ${name}`).join(', ')
const stored = COLUMNS.map(([name, , expression = `new.${name}`]) => expression).join(', ')

/**
 * The partitions of before, with their rows: they stay as they are, and what comes is stored in the new form. Those without
 * rows are made anew in the order of columns of the new table.
 */
const MOVE_PARTITIONS = `do $$
  declare
    checked record;
    month record;
    has_rows boolean;
  begin
    if (select relkind from pg_class where oid = to_regclass('ended_charges')) <> 'p' then
      raise exception 'the server has no partitions';
    end if;
    -- Partitions must have them by the same names, which the server has chosen.
    for checked in
      select conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
      where conrelid = to_regclass('ended_charges') and contype = 'c'
    loop
      execute format('alter table stored_charges add constraint %I %s', checked.name, checked.definition);
    end loop;
    for month in
      select c.relname as name, pg_get_expr(c.relpartbound, c.oid) as bounds
      from pg_inherits i join pg_class c on c.oid = i.inhrelid
      where i.inhparent = to_regclass('ended_charges') order by 1
    loop
      execute format('alter table ended_charges detach partition %I', month.name);
      execute format('select exists (select 1 from %I)', month.name) into has_rows;
      if has_rows then
        execute format('alter table %I add column request uuid, add column duration_ms integer, alter column id drop not null,
          alter column created_at drop not null, alter column shortfall drop not null', month.name);
      else
        execute format('drop table %I', month.name);
        execute format('create table %I (like stored_charges including constraints)', month.name);
      end if;
      execute format('alter table stored_charges attach partition %I %s', month.name, month.bounds);
    end loop;
  end $$`

/** Views that read ended charges, which must not go with the table that they were made for. */
const VIEWS = ['charge_history', 'charges', 'movements'].map((name) => {
  const view = USAGE_METADATA.find(
    (step) => typeof step === 'string' && step.startsWith(`create view ${name} `),
  )
  if (typeof view !== 'string') throw new Error(`there is no view ${name}`)
  return view
})

export const STORED_CHARGES = [
  'drop view movements',
  'drop view charges',
  'drop view charge_history',
  // The widest columns first, so that nothing is left empty between them. Nearly each row has a null: one more is free.
  `create table stored_charges (
      position bigint not null,
      amount bigint not null,
      ended_at bigint not null,
      held bigint not null,
      created_at bigint,
      shortfall bigint,
      cost bigint,
      series integer not null,
      price_list integer not null,
      usage_shape integer,
      duration_ms integer,
      state smallint not null,
      usage_source smallint,
      ended_by smallint not null,
      request uuid,
      id text,
      usage text
    ) partition by range (ended_at)`,
  MOVE_PARTITIONS,
  'drop table ended_charges',
  `create index charges_by_position on stored_charges
      using brin (position) with (pages_per_range = 32, autosummarize = on)`,
  `create view ended_charges as select ${told} from stored_charges`,
  `alter view ended_charges alter column position set default nextval('charge_positions')`,
  // A rule and no trigger: it is part of the statement that inserts, and a trigger would be called for each row.
  `create rule store_charge as on insert to ended_charges do instead
    insert into stored_charges (${names}, request, duration_ms)
    values (${stored}, case when ${IS_USUAL} then cast(substr(new.id, 5) as uuid) end,
      case when ${IS_SHORT} then cast(new.ended_at - new.created_at as integer) end)
    returning ${told}`,
  ...VIEWS,
].map((postgres) => ({ postgres }))
