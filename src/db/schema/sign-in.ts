// Who signs in by an identity provider, and which sessions of the console began that way.

import type { Step } from './step'

export const SIGN_IN: Step = [
  // The role of a person from an identity provider: an admin, or a key whose secret nobody knows. The account is the one that a
  // group shares, otherwise empty. `lost_at` is when their last group was removed, `expires_before` when the owner was to expire
  // before that.
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
  // Sessions whose provider is asked whether they continue, using the refresh token, which is encoded. `issuer` is its name in the
  // configuration, `answered_at` when it last confirmed the session.
  `create table session_checks (
    session text primary key,
    issuer text not null,
    refresh_token text,
    checked_at bigint not null,
    answered_at bigint not null
  )`,
  'create index session_checks_by_time on session_checks (checked_at)',
]

/** The last ID token of a session, by which the provider identifies the session at sign-out; encoded. */
export const SIGN_OUT_HINTS: Step = ['alter table session_checks add column id_token text']
