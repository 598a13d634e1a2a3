// The step that lets operators be told of events. Part of the migrations: it must never change once it has been released.

export const EVENT_TABLES = [
  // Events for operators are delivered as webhooks are; null for the webhook of a task.
  'alter table webhooks add column recipient text',
  'create index webhooks_of_recipients on webhooks (id) where recipient is not null',
  `create index webhooks_failed on webhooks (ended_at) where state = 'failed'`,
  // States that operators are told of. A row without `told_at` was not told, or its end was.
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
]
