// Spenders that requests of a key name: the rule of the key, as JSON; null if its requests name none.

import type { Step } from './step'

export const NAMED_SPENDERS: Step = ['alter table keys add column spenders text']
