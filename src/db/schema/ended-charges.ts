// Ended charges: one row each, written once, never changed, identified by position. On SQLite `ended_charges` is a table; on
// PostgreSQL it is a view of `stored_charges`, which omits what can be derived and has a partition per month. It must look the same
// on both: decisions/history.md says why it is stored this way.

import type { Step } from './step'

/** The columns on SQLite, first those that reports sum: a database reads a row from its beginning. */
const asTable = (position: string) => `create table ended_charges (
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
    cost bigint,
    check (amount >= 0), check (shortfall >= 0)
  )`

/** The widest columns first, so that there is no padding between them. Nearly every row has a null: another one is free. */
const STORED = `create table stored_charges (
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
    usage text,
    constraint ended_charges_amount_check check (amount >= 0),
    constraint ended_charges_shortfall_check check (shortfall >= 0)
  ) partition by range (ended_at)`

/** Partitions for this month and the next two; charge-partitions.ts creates later ones. */
const PARTITIONS = `do $$
  declare
    month timestamp := date_trunc('month', now() at time zone 'UTC');
    following timestamp;
  begin
    for ahead in 0..2 loop
      following := month + interval '1 month';
      execute format('create table %I partition of stored_charges for values from (%s) to (%s)',
        'ended_charges_' || to_char(month, 'YYYY_MM'),
        (extract(epoch from month) * 1000)::bigint, (extract(epoch from following) * 1000)::bigint);
      month := following;
    end loop;
  end $$`

/**
 * Whether an id is one of the gateway's own: its digits are then 16 bytes in `request`, and `id` is null. A repetition count in the
 * pattern would take six times as long.
 */
const IS_USUAL = `length(new.id) = 36 and new.id ~ '^req_[0-9a-f]*$'`
/** Whether a charge was short enough for `duration_ms`, so that `created_at` is null: less than 24 days. */
const IS_SHORT = 'new.ended_at - new.created_at between 0 and 2147483647'

/** The columns of the view as on SQLite, with the expressions that read and store each. */
const COLUMNS: readonly (readonly [name: string, read?: string, stored?: string])[] = [
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
const read = COLUMNS.map(([name, expression = name]) => `${expression} as ${name}`).join(', ')
const stored = COLUMNS.map(([name, , expression = `new.${name}`]) => expression).join(', ')

export const ENDED_CHARGES: Step = [
  { postgres: 'create sequence charge_positions', otherwise: 'create sequence charge_positions' },
  {
    // Rows are in the order in which they were written.
    sqlite: asTable('position integer primary key'),
    postgres: STORED,
    otherwise: asTable(`position bigint primary key default nextval('charge_positions')`),
  },
  { postgres: PARTITIONS },
  // Charges of months without a partition.
  { postgres: 'create table ended_charges_other partition of stored_charges default' },
  {
    // Rows are nearly in the order of position, so that an index of page ranges costs almost nothing.
    postgres: `create index charges_by_position on stored_charges
      using brin (position) with (pages_per_range = 32, autosummarize = on)`,
  },
  { postgres: `create view ended_charges as select ${read} from stored_charges` },
  {
    postgres: `alter view ended_charges alter column position set default nextval('charge_positions')`,
  },
  {
    // A rule, not a trigger: it is part of the inserting statement, while a trigger would be called for each row.
    postgres: `create rule store_charge as on insert to ended_charges do instead
      insert into stored_charges (${names}, request, duration_ms)
      values (${stored}, case when ${IS_USUAL} then cast(substr(new.id, 5) as uuid) end,
        case when ${IS_SHORT} then cast(new.ended_at - new.created_at as integer) end)
      returning ${read}`,
  },
]
