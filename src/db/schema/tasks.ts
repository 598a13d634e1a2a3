// Tables of tasks and their results: webhooks, stored results, saved answers; and notifications of operators, which are delivered
// like webhooks.

import type { Step } from './step'

export const TASKS: Step = [
  `create table tasks (
    id text primary key,
    account text not null,
    key_id text not null,
    model text not null,
    upstream text not null,
    charge text not null unique,
    upstream_id text,
    state text not null,
    memo text not null,
    quantities text not null,
    cost bigint not null,
    webhook_url text,
    gateway_url text not null,
    size text,
    document text,
    video_url text,
    error_code text,
    error_message text,
    created_at bigint not null,
    sent_at bigint,
    ended_at bigint,
    deadline_at bigint not null,
    poll_at bigint not null,
    polls bigint not null,
    misses bigint not null,
    missing bigint not null,
    cancel_at bigint,
    cancel_answer text,
    lease_until bigint not null,
    fence bigint not null
  )`,
  `create index tasks_due on tasks (upstream, poll_at) where state = 'submitted'`,
  'create index tasks_by_time on tasks (created_at)',
  'create index tasks_of_account on tasks (account, created_at)',
  'create unique index tasks_by_upstream_id on tasks (upstream_id, upstream) where upstream_id is not null',
  `create table poll_windows (
    upstream text primary key,
    second bigint not null,
    polls bigint not null
  )`,
  // Bodies stay as they were when the task ended: every attempt sends the same bytes under the same id. `recipient` is null for
  // the webhook of a task.
  `create table webhooks (
    id text primary key,
    task text not null,
    account text not null,
    key_id text not null,
    url text not null,
    host text not null,
    body text not null,
    state text not null,
    attempts bigint not null,
    step bigint not null,
    next_at bigint not null,
    lease_until bigint not null,
    fence bigint not null,
    created_at bigint not null,
    ended_at bigint,
    recipient text
  )`,
  // The index contains everything that a claim needs: rows are large, and thousands for one busy receiver may precede the next
  // one's.
  `create index webhooks_due on webhooks (next_at, host, account, lease_until) where state = 'pending'`,
  'create index webhooks_of_task on webhooks (task)',
  'create index webhooks_of_recipients on webhooks (id) where recipient is not null',
  `create index webhooks_failed on webhooks (ended_at) where state = 'failed'`,
  'create index webhooks_by_end on webhooks (ended_at) where ended_at is not null',
  `create table webhook_attempts (
    webhook text not null,
    number bigint not null,
    at bigint not null,
    status bigint,
    answer text,
    duration_ms bigint not null,
    primary key (webhook, number)
  )`,
  // States to report to operators. Without `told_at` the state, or its end, has not been reported.
  `create table event_conditions (
    type text not null,
    subject text not null,
    account text,
    details text not null,
    began_at bigint not null,
    seen_at bigint not null,
    lasts_until bigint not null,
    calm_ms bigint not null,
    told_at bigint,
    primary key (type, subject)
  )`,
  // Kept results. `key_id` is null in old rows.
  `create table artifacts (
    id text primary key,
    account text not null,
    charge text not null,
    content_type text not null,
    bytes bigint not null,
    sha256 text,
    created_at bigint not null,
    expires_at bigint not null,
    place text not null,
    key_id text
  )`,
  'create index artifacts_by_end on artifacts (expires_at)',
  'create index artifacts_by_time on artifacts (created_at, bytes)',
  // The results of a task are deleted with it.
  'create index artifacts_of_charge on artifacts (charge)',
  'create index artifacts_of_key on artifacts (key_id, id)',
  // Answers for idempotency keys. A settlement finds its answer by the charge.
  `create table saved_answers (
    account text not null,
    idempotency_key text not null,
    request_hash text not null,
    charge text not null,
    status bigint,
    content_type text,
    body text,
    created_at bigint not null,
    primary key (account, idempotency_key)
  )`,
  'create index saved_answers_of_charge on saved_answers (charge)',
  'create index saved_answers_by_time on saved_answers (created_at)',
]
