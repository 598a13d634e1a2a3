// What accounts were charged in a finished month, sealed by a hash of all its charges and a signature.

import type { Step } from './step'

export const SEALED_MONTHS: Step = [
  // The charges are those of the month up to the position.
  `create table sealed_months (
    account text not null,
    month text not null,
    position bigint not null,
    seal text not null,
    sealed_at bigint not null,
    primary key (account, month)
  )`,
]
