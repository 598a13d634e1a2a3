// Who signs in by an identity provider, and which sessions of the console were begun so.

import type { Step } from './step'

export const SIGN_IN: Step = [
  // What a person of an identity provider is here: an admin, or a key whose secret nobody knows. The account is that which a
  // group shares, else empty. `lost_at` is when their last group was taken away, `expires_before` when the owner was to expire.
  `create table identities (
    issuer text not null,
    subject text not null,
    kind text not null,
    account text not null,
    owner text not null,
    asserted_at bigint not null,
    lost_at bigint,
    expires_before bigint,
    created_at bigint not null,
    primary key (issuer, subject, kind, account)
  )`,
  // Sessions whose provider is asked whether they continue, by the refresh token, which is encoded. `issuer` is its name in the
  // configuration, `answered_at` when it last said so.
  `create table session_checks (
    session text primary key,
    issuer text not null,
    refresh_token text,
    checked_at bigint not null,
    answered_at bigint not null
  )`,
  'create index session_checks_by_time on session_checks (checked_at)',
]

/** The last ID token of a session, by which the provider knows at sign-out which session is meant; encoded. */
export const SIGN_OUT_HINTS: Step = ['alter table session_checks add column id_token text']
