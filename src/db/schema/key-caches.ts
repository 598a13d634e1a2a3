// The response cache of a key: its rule, as JSON; null if the plan and the models decide.

import type { Step } from './step'

export const KEY_CACHES: Step = ['alter table keys add column cache text']
