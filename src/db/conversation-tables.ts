// The step that made the tables of conversations. Part of the migrations: it must never change once it has been released.

export const CONVERSATION_TABLES = [
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
  `create index conversations_of_account on conversations (account, expires_at)`,
  `create index conversations_by_end on conversations (expires_at)`,
  // Large texts stand between keys: see responses. An id may be there twice, because callers and vendors give them.
  `create table conversation_items (
    conversation text not null,
    position bigint not null,
    id text not null,
    content text not null,
    bytes bigint not null,
    unique (conversation, position)
  )`,
  `create index items_of_conversation on conversation_items (conversation, id, position)`,
] as const
