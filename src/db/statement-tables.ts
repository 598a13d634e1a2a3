// The step that keeps statements. Part of the migrations: it must never change once it has been released.

export const STATEMENT_TABLES = [
  // Statements as they were issued, numbered without gaps. Each has the hash of itself and of the one before it.
  `create table statements (
      number bigint primary key,
      account text not null,
      month text not null,
      issued_at bigint not null,
      content text not null,
      hash text not null,
      unique (account, month)
    )`,
]
