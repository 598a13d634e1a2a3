// The step that lets usage be counted by metadata of requests. Part of the migrations: it must never change once it has been
// released.

import { CLOSING_TABLES } from './closing-tables'
import { MOVEMENT_FUNCTIONS_WITH_METADATA } from './movements/functions'

/** A view of the closings as it was made there, with a column more. */
function viewWith(name: string, before: string, column: string): string {
  const view = CLOSING_TABLES.find((sql) => sql.startsWith(`create view ${name} `))
  if (!view?.includes(before)) throw new Error(`there is no view ${name} with ${before}`)
  return view.replaceAll(before, `${before}${column}`)
}

export const USAGE_METADATA = [
  // Sets of values of metadata, as JSON. A set is referred to by its number: 0 for none, -1 for what came beyond the most.
  `create table usage_metadata (
      id bigint primary key,
      hash text not null unique,
      content text not null
    )`,
  'alter table open_charges add column metadata_id bigint',
  'drop view movements',
  'drop view charges',
  'drop view charge_history',
  // A series with other metadata is another one. What is unique cannot be changed, so the table is made anew.
  `create table series_with_metadata (
      id bigint primary key,
      account text not null,
      key_id text not null,
      model text not null,
      operation text not null,
      metadata_id bigint not null default 0,
      unique (account, key_id, model, operation, metadata_id)
    )`,
  `insert into series_with_metadata (id, account, key_id, model, operation)
    select id, account, key_id, model, operation from charge_series`,
  'drop table charge_series',
  'alter table series_with_metadata rename to charge_series',
  viewWith('charge_history', 'e.cost', ', s.metadata_id'),
  CLOSING_TABLES.find((sql) => sql.startsWith('create view charges ')) as string,
  CLOSING_TABLES.find((sql) => sql.startsWith('create view movements ')) as string,
  ...MOVEMENT_FUNCTIONS_WITH_METADATA.map((postgres) => ({ postgres })),
]
