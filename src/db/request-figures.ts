// The step that keeps figures of requests by hour. Part of the migrations: it must never change once it has been released.

export const REQUEST_FIGURES = [
  // Figures of requests by hour, a row for each process that counted. Durations are counts by length, as text.
  `create table request_figures (
    hour bigint not null,
    source text not null,
    model text not null,
    upstream text not null,
    requests bigint not null,
    failed bigint not null,
    first_bytes text not null,
    durations text not null,
    primary key (hour, source, model, upstream)
  )`,
]
