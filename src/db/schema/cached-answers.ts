// The table of the response cache. Its bytes are included in those of kept responses (response_totals). As there, large texts are
// not stored in key order.

import type { Step } from './step'

export const CACHED_ANSWERS: Step = [
  // The id is a hash of the account, the model and the request. `measured` is the charged usage of the answer, as JSON.
  `create table cached_answers (
    id text not null unique,
    account text not null,
    model text not null,
    operation text not null,
    request text not null,
    content_type text not null,
    body text not null,
    measured text not null,
    bytes bigint not null,
    created_at bigint not null,
    expires_at bigint not null
  )`,
  'create index cached_answers_of_account on cached_answers (account, created_at, bytes)',
  'create index cached_answers_by_end on cached_answers (expires_at)',
]
