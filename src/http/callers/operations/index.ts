// All free operations of callers, in the order of the document.

import type { CallerOperation } from '../operation'
import { audioListOperations } from './audio-lists'
import { redeemOperations } from './codes'
import { conversationOperations } from './conversations'
import { fileOperations } from './files'
import { modelOperations } from './models'
import { otherGatewayOperations } from './other-gateways'
import { ownKeyOperations } from './own-key'
import { ownRecordOperations } from './own-records'
import { ownSecretOperations } from './own-secrets'
import { ownStatementOperations } from './own-statements'
import { paymentOperations } from './payments'
import { quoteOperations } from './quotes'
import { ownReceiptOperations } from './receipts'
import { responseOperations } from './responses'
import { ownTaskOperations } from './tasks'
import { tokenCountOperations } from './token-counts'
import { tokenOperations } from './tokens'
import { videoTaskOperations } from './video-task'
import { videoOperations } from './videos'

const operations = [
  ...modelOperations,
  ...tokenCountOperations,
  ...responseOperations,
  ...conversationOperations,
  ...videoTaskOperations,
  ...videoOperations,
  ...audioListOperations,
  ...fileOperations,
  ...redeemOperations,
  ...ownKeyOperations,
  ...ownRecordOperations,
  ...ownReceiptOperations,
  ...ownStatementOperations,
  ...ownTaskOperations,
  ...quoteOperations,
  ...ownSecretOperations,
  ...tokenOperations,
  ...otherGatewayOperations,
  ...paymentOperations,
]

/** One of the operations, with its types. */
export type KnownCallerOperation = (typeof operations)[number]

export const callerOperations: readonly CallerOperation[] = operations
