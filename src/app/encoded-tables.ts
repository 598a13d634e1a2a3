// All columns of the database that are encrypted when the operator has set a key. A column that is written through the
// codec and missing here would be unreadable once its key is removed.

import { sessionCheckTexts } from '../admin/session-checks'
import { savedAnswerTexts } from '../billing/ledger/idempotency'
import type { EncodedTable } from '../db/encryption/reencryption'
import { secretTexts } from '../db/encryption/secrets'
import { backgroundTexts } from '../kept-responses/background-rows'
import { cachedAnswerTexts } from '../kept-responses/cached-answers'
import { conversationTexts } from '../kept-responses/conversation-rows'
import { responseTexts } from '../kept-responses/rows'
import { refusalTexts } from '../request-log/refusals'
import { taskTexts } from '../tasks/rows'
import { webhookTexts } from '../webhooks/rows'
import { webhookSecretTexts } from '../webhooks/secrets'

export const encodedTables: readonly EncodedTable[] = [
  secretTexts,
  webhookSecretTexts,
  savedAnswerTexts,
  taskTexts,
  webhookTexts,
  responseTexts,
  cachedAnswerTexts,
  ...backgroundTexts,
  ...conversationTexts,
  refusalTexts,
  sessionCheckTexts,
]
