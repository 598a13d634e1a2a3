// Tables of kept responses and conversations. Large texts are not stored in key order: rows of megabytes between the keys would
// slow down every look-up.

import type { Step } from './step'

export const RESPONSES: Step = [
  // A response with its input items. `previous` chains the rows of one conversation.
  `create table responses (
    id text not null unique,
    account text not null,
    previous text,
    input text not null,
    answer text not null,
    items bigint not null,
    bytes bigint not null,
    created_at bigint not null,
    expires_at bigint not null
  )`,
  'create index responses_of_account on responses (account, created_at, bytes)',
  'create index responses_by_end on responses (expires_at)',
  `create table response_items (
    account text not null,
    id text not null,
    response text not null,
    primary key (account, id)
  )`,
  'create index items_of_response on response_items (response)',
  // Bytes of all responses of an account: otherwise every request would have to sum them.
  `create table response_totals (
    account text primary key,
    bytes bigint not null
  )`,
  `create table background_responses (
    id text not null unique,
    account text not null,
    answer text not null,
    has_ended bigint not null,
    is_cancelled bigint not null,
    lease_until bigint not null,
    created_at bigint not null,
    expires_at bigint not null
  )`,
  'create index background_by_lease on background_responses (lease_until) where has_ended = 0',
  'create index background_by_end on background_responses (expires_at)',
  `create table background_events (
    response text not null,
    first bigint not null,
    last bigint not null,
    events text not null,
    unique (response, first)
  )`,
  `create table conversations (
    id text not null unique,
    account text not null,
    metadata text not null,
    metadata_bytes bigint not null,
    items bigint not null,
    bytes bigint not null,
    next_position bigint not null,
    created_at bigint not null,
    expires_at bigint not null
  )`,
  'create index conversations_of_account on conversations (account, expires_at)',
  'create index conversations_by_end on conversations (expires_at)',
  // An id may occur twice, because callers and vendors assign them.
  `create table conversation_items (
    conversation text not null,
    position bigint not null,
    id text not null,
    content text not null,
    bytes bigint not null,
    unique (conversation, position)
  )`,
  'create index items_of_conversation on conversation_items (conversation, id, position)',
]
