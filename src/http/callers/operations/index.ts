// All operations of callers beside those that are paid, in the order of the document.

import type { CallerOperation } from '../operation'
import { redeemOperations } from './codes'
import { otherGatewayOperations } from './other-gateways'
import { ownKeyOperations } from './own-key'
import { ownRecordOperations } from './own-records'
import { ownSecretOperations } from './own-secrets'
import { quoteOperations } from './quotes'

const operations = [
  ...redeemOperations,
  ...ownKeyOperations,
  ...ownRecordOperations,
  ...quoteOperations,
  ...ownSecretOperations,
  ...otherGatewayOperations,
]

/** One of the operations, with its types. */
export type KnownCallerOperation = (typeof operations)[number]

export const callerOperations: readonly CallerOperation[] = operations
