// Spenders by what they are called, for filters, and by their age, for the most that a key makes in a day.

import type { Step } from './step'

export const SPENDER_LOOK_UPS: Step = [
  'create index spenders_by_name on spenders (name) where name is not null',
  'create index spenders_by_age on spenders (key_id, created_at)',
]
