// All operations of the admin API, in the order of its document.

import type { AdminOperation } from '../operation'
import { accountOperations } from './accounts'
import { codeOperations } from './codes'
import { customerOperations } from './customers'
import { drillOperations } from './drills'
import { eventOperations } from './events'
import { gatewayOperations } from './gateway'
import { keyOperations } from './keys'
import { offerOperations } from './offer'
import { overviewOperations } from './overview'
import { planOperations } from './plans'
import { receiptOperations } from './receipts'
import { reconciliationOperations } from './reconciliation'
import { rehearsalOperations } from './rehearsal'
import { requestOperations } from './requests'
import { retentionOperations } from './retention'
import { sessionOperations } from './sessions'
import { spenderOperations } from './spenders'
import { statementOperations } from './statements'
import { taskOperations } from './tasks'
import { transferOperations } from './transfers'
import { tryOutOperations } from './try-out'

const operations = [
  ...accountOperations,
  ...customerOperations,
  ...keyOperations,
  ...spenderOperations,
  ...planOperations,
  ...codeOperations,
  ...transferOperations,
  ...requestOperations,
  ...reconciliationOperations,
  ...rehearsalOperations,
  ...taskOperations,
  ...offerOperations,
  ...eventOperations,
  ...statementOperations,
  ...receiptOperations,
  ...retentionOperations,
  ...sessionOperations,
  ...tryOutOperations,
  ...drillOperations,
  ...gatewayOperations,
  ...overviewOperations,
]

/** One of the operations, with its types. */
export type KnownOperation = (typeof operations)[number]

export const adminOperations: readonly AdminOperation[] = operations
