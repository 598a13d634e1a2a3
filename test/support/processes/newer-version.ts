// Loaded before the program, makes it version 9.9.9: `bun --preload` this file. Its schema has one step more, after which older
// versions answer 500 to requests with an idempotency key, unless TEST_SAME_SCHEMA is set. Only for processes of their own.

import { built } from '../../../src/db/schema/program'
import { migrations } from '../../../src/db/schema/steps'

built.version = '9.9.9'
if (!process.env.TEST_SAME_SCHEMA)
  (migrations as unknown[]).push(['alter table saved_answers rename to kept_answers'])
