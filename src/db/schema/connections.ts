// Programs that connect to the tools by OAuth: the registered programs, and the grants of holders of keys.

import type { Step } from './step'

export const CONNECTIONS: Step = [
  'create table oauth_clients (id text primary key, name text not null, redirect_uris text not null, created_at bigint not null)',
  'create index oauth_clients_by_age on oauth_clients (created_at)',
  // Codes and refresh tokens are stored only as hashes. `family_hash` stays when a refresh token is replaced, `refresh_hash` does
  // not.
  `create table oauth_grants (
    id text primary key,
    client_id text not null,
    spender_id text not null unique,
    redirect_uri text not null,
    challenge text not null,
    code_hash text not null unique,
    code_ends_at bigint not null,
    code_used_at bigint,
    family_hash text unique,
    refresh_hash text,
    ends_at bigint not null,
    created_at bigint not null
  )`,
  'create index oauth_grants_of_client on oauth_grants (client_id)',
  'create index oauth_grants_by_end on oauth_grants (ends_at)',
  // The secret of a renewable token expires before the token does.
  'alter table spenders add column secret_ends_at bigint',
]
