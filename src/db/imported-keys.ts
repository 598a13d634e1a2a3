// The step that lets keys of other gateways in. Part of the migrations: it must never change once it has been released.

export const IMPORTED_KEYS = [
  // Their secrets have other forms, which are looked up only where there are such keys.
  'alter table keys add column imported bigint',
  'create index keys_imported on keys (imported) where imported is not null',
] as const
