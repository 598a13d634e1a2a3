// The step that gave accounts plans, budgets and allowances. Part of the migrations: it must never change once it has been
// released.

import { MOVEMENT_FUNCTIONS_WITH_ACCOUNT_BUDGETS } from './movements/functions'

export const ACCOUNT_PLANS = [
  'alter table account_details add column plan text',
  'alter table account_details add column account_budget bigint',
  'alter table account_details add column account_budget_period text',
  // The period of the account's budget that a hold counts in. The budget itself has the account's book for its key.
  'alter table open_charges add column account_period text',
  // What accounts of a plan were given for a period, and when it was settled what is left of it.
  `create table allowances (
      account text not null,
      period text not null,
      amount bigint not null,
      begins_at bigint not null,
      ends_at bigint not null,
      ended_at bigint,
      primary key (account, period)
    )`,
  'create index allowances_by_end on allowances (ends_at) where ended_at is null',
  ...MOVEMENT_FUNCTIONS_WITH_ACCOUNT_BUDGETS.map((postgres) => ({ postgres })),
]
