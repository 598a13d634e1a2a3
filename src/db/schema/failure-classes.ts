// Failed requests per hour by cause. Rows of older gateways do not have it.

import type { Step } from './step'

export const FAILURE_CLASSES: Step = [
  'alter table request_figures add column failed_by_vendor bigint not null default 0',
  'alter table request_figures add column failed_by_gateway bigint not null default 0',
  'alter table request_figures add column failed_by_caller bigint not null default 0',
]
