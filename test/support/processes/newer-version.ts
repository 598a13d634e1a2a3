// Turns the program into version 9.9.9 when loaded before it: `bun --preload` this file. Its schema has one step more, after which
// older versions answer 500 to requests with an idempotency key, unless TEST_SAME_SCHEMA is set. Only for separate processes.

import { built } from '../../../src/db/schema/program'
import { migrations } from '../../../src/db/schema/steps'

built.version = '9.9.9'
if (!process.env.TEST_SAME_SCHEMA)
  (migrations as unknown[]).push(['alter table saved_answers rename to kept_answers'])
