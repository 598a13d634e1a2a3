// Spenders: users or programs that spend on behalf of a key, within limits of their own below those of the key.

import type { Step } from './step'

export const SPENDERS: Step = [
  // `hash` is that of a token's secret. A budget without a period is for its lifetime. `ended_at`: a token was revoked.
  `create table spenders (
    id text primary key,
    key_id text not null,
    kind text not null,
    name text,
    hash text not null unique,
    hint text,
    models text,
    requests_per_minute bigint,
    budget bigint,
    budget_period text,
    expires_at bigint,
    ended_at bigint,
    created_at bigint not null
  )`,
  'create index spenders_of_key on spenders (key_id, id)',
  'create index spenders_by_end on spenders (expires_at) where expires_at is not null',
  // The spender whose budget a hold also counts toward, and its period.
  'alter table open_charges add column spender text',
  'alter table open_charges add column spender_period text',
  // The spender for whom a task was made, who may read it; null for the key itself.
  'alter table tasks add column spender text',
]
