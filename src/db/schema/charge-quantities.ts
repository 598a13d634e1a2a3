// What requests used, for their receipts: the ledger has the vendor's usage and the amount, from which the quantities cannot always
// be derived.

import type { Step } from './step'

export const CHARGE_QUANTITIES: Step = [
  `create table charge_quantities (
    request text primary key,
    quantities text not null,
    ended_at bigint not null
  )`,
  'create index charge_quantities_by_end on charge_quantities (ended_at)',
]
