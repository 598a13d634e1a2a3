// Failed requests per hour by key and by party at fault, one row for each process that counted. The key is empty for requests
// without a known one.

import type { Step } from './step'

export const KEY_FAILURES: Step = [
  `create table key_failures (
    hour bigint not null,
    source text not null,
    key_id text not null,
    failed_by_vendor bigint not null,
    failed_by_gateway bigint not null,
    failed_by_caller bigint not null,
    primary key (hour, source, key_id)
  )`,
]
