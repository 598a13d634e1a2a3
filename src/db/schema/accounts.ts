// Tables of accounts, of keys and their limits, of operators and of sessions. Secrets are hashes, or encoded by `db.codec`.

import type { Step } from './step'

export const ACCOUNTS: Step = [
  `create table accounts (
    name text primary key,
    balance bigint not null,
    held bigint not null,
    created_at bigint not null,
    check (held >= 0), check (balance >= held)
  )`,
  // Separate from the balance, whose row is rewritten by every request.
  `create table account_details (
    name text primary key,
    display_name text,
    note text,
    frozen_at bigint,
    closed_at bigint,
    plan text,
    account_budget bigint,
    account_budget_period text
  )`,
  // What the accounts of a plan were credited for a period. `ended_at` is set once the rest was taken back.
  `create table allowances (
    account text not null,
    period text not null,
    amount bigint not null,
    begins_at bigint not null,
    ends_at bigint not null,
    ended_at bigint,
    primary key (account, period)
  )`,
  'create index allowances_by_end on allowances (ends_at) where ended_at is null',
  `create table keys (
    id text primary key,
    name text not null unique,
    account text not null,
    hash text not null unique,
    hint text not null,
    models text,
    requests_per_minute bigint,
    tokens_per_minute bigint,
    concurrency bigint,
    budget bigint,
    budget_period text,
    expires_at bigint,
    revoked_at bigint,
    webhook_secret text,
    webhook_secret_before text,
    webhook_secret_before_until bigint,
    created_at bigint not null,
    paused_at bigint,
    imported bigint
  )`,
  // Secrets of imported keys have other forms; they are looked up only if such keys exist.
  'create index keys_imported on keys (imported) where imported is not null',
  `create table rate_windows (
    key_id text not null,
    minute bigint not null,
    requests bigint not null,
    tokens bigint not null,
    primary key (key_id, minute)
  )`,
  // Budgets of keys by id, and of accounts by book.
  `create table budgets (
    key_id text not null,
    period text not null,
    committed bigint not null,
    primary key (key_id, period)
  )`,
  // Full budgets are searched among those of the current periods.
  'create index budgets_of_period on budgets (period)',
  `create table top_up_codes (
    id text primary key,
    hash text not null unique,
    hint text not null,
    amount bigint not null,
    note text,
    created_at bigint not null,
    expires_at bigint,
    revoked_at bigint,
    redeemed_at bigint,
    redeemed_by text,
    redeemed_by_key text,
    check (amount > 0)
  )`,
  'create index top_up_codes_by_time on top_up_codes (created_at, id)',
  // Operators of the admin API, by the hashes of their tokens.
  `create table admins (
    id text primary key,
    name text not null unique,
    role text not null,
    hash text not null unique,
    hint text not null,
    expires_at bigint,
    revoked_at bigint,
    created_at bigint not null
  )`,
  // Changes by operators, each written in the transaction of the change. Rows never change; their ids are chronological.
  `create table audit_trail (
    id text primary key,
    at bigint not null,
    actor text not null,
    action text not null,
    target text not null,
    before text,
    after text,
    request_id text,
    client_address text
  )`,
  // Sessions of the console: the hash of the session's token, and of the secret with which its owner signed in.
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
  'create index console_sessions_of_owner on console_sessions (kind, subject)',
  // Links that sign somebody in once.
  `create table console_links (
    hash text primary key,
    kind text not null,
    subject text not null,
    created_at bigint not null,
    expires_at bigint not null,
    used_at bigint
  )`,
]
