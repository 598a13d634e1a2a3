// Indexes for lists of a million rows: one for each filter of a list, in the order of the list.

export const LIST_INDEXES = [
  'create index tasks_by_state on tasks (state, created_at)',
  'create index tasks_of_model on tasks (model, created_at)',
  'create index tasks_of_key on tasks (key_id, created_at)',
  'create index webhooks_by_state on webhooks (state, id) where recipient is null',
  'create index webhooks_of_account on webhooks (account, id) where recipient is null',
  'create index artifacts_of_account on artifacts (account, id)',
  'create index audit_by_actor on audit_trail (actor, id)',
  'create index audit_by_action on audit_trail (action, id)',
  'create index audit_by_target on audit_trail (target, id)',
  'create index keys_of_account on keys (account, id)',
] as const
