// The schema of the database: each table, index, view and function once. `bigint` holds nano-dollars and milliseconds since
// 1970. What was released must never change: a later change is a separate step (schema/steps.ts).

import { MOVEMENT_FUNCTIONS } from './movements/functions'
import { ACCOUNTS } from './schema/accounts'
import { CHARGE_VIEWS, CHARGES } from './schema/charges'
import { GATEWAY } from './schema/gateway'
import { LIST_INDEXES } from './schema/list-indexes'
import { RESPONSES } from './schema/responses'
import type { Step } from './schema/step'
import { TASKS } from './schema/tasks'

export const TABLES: Step = [
  ...ACCOUNTS,
  ...CHARGES,
  ...CHARGE_VIEWS,
  ...TASKS,
  ...RESPONSES,
  ...GATEWAY,
  ...LIST_INDEXES,
]

/** Functions that builds before 1.0 called. Without them, a node of such a build continues with single statements. */
const EARLIER_FUNCTIONS = [
  ...[1, 2, 3, 4, 5].flatMap((version) =>
    ['move_money', 'move_single', 'end_charges'].map((name) => `${name}_${version}`),
  ),
  ...['hold_charges_1', 'hold_charges_3', 'hold_charges_4', 'hold_charges_5', 'run_statements_1'],
  ...['decide_holds_5', 'count_holds_5', 'count_ends_5'],
]

/**
 * Tables whose rows every request changes. They are vacuumed after a fixed number of changes and without pauses, and keep their
 * space: truncating takes a lock that requests would wait for.
 */
const BUSY = ['accounts', 'budgets', 'open_charges', 'rate_windows'].map(
  (
    table,
  ) => `alter table ${table} set (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0, vacuum_truncate = false)`,
)

/**
 * Functions and settings on PostgreSQL. A database of the last build before 1.0 had the functions and two indexes under other
 * names.
 */
export const ON_POSTGRES: Step = [
  ...EARLIER_FUNCTIONS.map((name) => `drop function if exists ${name}`),
  'drop type if exists charge_hold_5, charge_end_5',
  'alter index if exists series_with_metadata_pkey rename to charge_series_pkey',
  `alter index if exists series_with_metadata_account_key_id_model_operation_metadat_key
    rename to charge_series_account_key_id_model_operation_metadata_id_key`,
  ...MOVEMENT_FUNCTIONS,
  ...BUSY,
].map((postgres) => ({ postgres }))
