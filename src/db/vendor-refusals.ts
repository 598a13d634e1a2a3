// The step that counts what vendors refuse. Part of the migrations: it must never change once it has been released.

export const VENDOR_REFUSALS = [
  // Requests that a vendor refused for what is in them, by model and field, with its words of the last time.
  `create table vendor_refusals (
    id text primary key,
    upstream text not null,
    model text not null,
    field text not null,
    status bigint not null,
    message text not null,
    refusals bigint not null,
    first_at bigint not null,
    last_at bigint not null
  )`,
  'create index vendor_refusals_by_time on vendor_refusals (last_at)',
]
