// The tables of the console: sessions, and the links that begin them. One step of the migrations, which must never change.

export const CONSOLE_TABLES = [
  // Sessions of the console. Only the hash of a token stands here, and that of the secret that its owner had.
  `create table console_sessions (
    id text primary key,
    hash text not null unique,
    kind text not null,
    subject text not null,
    secret_hash text not null,
    idle_ms bigint not null,
    created_at bigint not null,
    used_at bigint not null,
    expires_at bigint not null,
    ends_at bigint not null,
    revoked_at bigint,
    client_address text,
    user_agent text
  )`,
  `create index console_sessions_of_owner on console_sessions (kind, subject)`,
  // Links that sign somebody in once.
  `create table console_links (
    hash text primary key,
    kind text not null,
    subject text not null,
    created_at bigint not null,
    expires_at bigint not null,
    used_at bigint
  )`,
] as const
