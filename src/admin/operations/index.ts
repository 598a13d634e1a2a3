// All operations of the admin API, in the order of its document.

import type { AdminOperation } from '../operation'
import { accountOperations } from './accounts'
import { gatewayOperations } from './gateway'
import { keyOperations } from './keys'
import { offerOperations } from './offer'
import { requestOperations } from './requests'
import { taskOperations } from './tasks'

export const adminOperations: readonly AdminOperation[] = [
  ...accountOperations,
  ...keyOperations,
  ...requestOperations,
  ...taskOperations,
  ...offerOperations,
  ...gatewayOperations,
]
