// All columns of the database that are encrypted when the operator has set a key. A column that is written through the
// codec and does not stand here would be unreadable once its key is gone.

import { savedAnswerTexts } from '../billing/idempotency'
import type { EncodedTable } from '../db/reencryption'
import { secretTexts } from '../db/secrets'
import { refusalTexts } from '../request-log/refusals'
import { backgroundTexts } from '../responses/background-rows'
import { conversationTexts } from '../responses/conversation-rows'
import { responseTexts } from '../responses/rows'
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
  ...backgroundTexts,
  ...conversationTexts,
  refusalTexts,
]
