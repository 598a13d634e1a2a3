// Indexes of spenders: by name, for filters, and by age, for the daily maximum of a key.

import type { Step } from './step'

export const SPENDER_LOOK_UPS: Step = [
  'create index spenders_by_name on spenders (name) where name is not null',
  'create index spenders_by_age on spenders (key_id, created_at)',
]
