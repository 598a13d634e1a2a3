// The numbered steps that make the schema: each runs once, in order. A released step must never change: append one.

import { ON_POSTGRES, TABLES } from '../schema'
import { CACHED_ANSWERS } from './cached-answers'
import { CHARGE_QUANTITIES } from './charge-quantities'
import { CLIENT_ADDRESSES } from './client-addresses'
import { CONNECTIONS } from './connections'
import { DRILLS } from './drills'
import { FAILURE_CLASSES } from './failure-classes'
import { KEY_CACHES } from './key-caches'
import { KEY_FAILURES } from './key-failures'
import { NAMED_SPENDERS } from './named-spenders'
import { SEALED_MONTHS } from './sealed-months'
import { SIGN_IN, SIGN_OUT_HINTS } from './sign-in'
import { SPENDER_LOOK_UPS } from './spender-look-ups'
import { SPENDERS } from './spenders'
import type { Step } from './step'

/** The number of steps of builds before 1.0, which were removed: `TABLES` is the schema after the last of them. */
export const EARLIER_STEPS = 32
/** A commit that contains all of them. */
export const EARLIER_COMMIT = '89af6918'

/** Requests that are answered later are tasks too. Older tasks are videos. */
const DEFERRED_TASKS: Step = [
  `alter table tasks add column operation text not null default 'video'`,
  // Running tasks: a few among all tasks of an account.
  `create index tasks_deferred on tasks (account) where state = 'submitted' and operation <> 'video'`,
]

/** The steps; the index of each, from 1, is its number. Those of builds before 1.0 are empty, and are not recorded. */
export const migrations: readonly Step[] = [
  ...Array<Step>(EARLIER_STEPS).fill([]),
  TABLES,
  ON_POSTGRES,
  CLIENT_ADDRESSES,
  DEFERRED_TASKS,
  CACHED_ANSWERS,
  CHARGE_QUANTITIES,
  SIGN_IN,
  SEALED_MONTHS,
  SPENDERS,
  FAILURE_CLASSES,
  CONNECTIONS,
  DRILLS,
  NAMED_SPENDERS,
  SPENDER_LOOK_UPS,
  KEY_CACHES,
  SIGN_OUT_HINTS,
  KEY_FAILURES,
]
