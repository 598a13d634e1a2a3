// Drills: faults that an upstream shows to named keys until a time, and the affected requests.

import type { Step } from './step'

export const DRILLS: Step = [
  // `fault` and `keys` are JSON; the share is in millionths.
  `create table drills (
    id text primary key,
    upstream text not null,
    fault text not null,
    keys text not null,
    share bigint not null,
    begun_at bigint not null,
    ends_at bigint not null
  )`,
  'create index drills_by_end on drills (ends_at)',
  'create table drilled_requests (drill text not null, request text not null, primary key (drill, request))',
]
