// Where a key or the token of an operator may be used: networks as a JSON list, or null for anywhere.

import type { Step } from './step'

export const CLIENT_ADDRESSES: Step = [
  'alter table keys add column addresses text',
  'alter table admins add column addresses text',
]
