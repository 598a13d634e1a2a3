// Each family that translates one dialect to another protocol, and the family that is to take its place. Until there is
// one, a family is compared with itself. This table is all that changes when a new family is made.

import type { MadeFamily } from '../../../src/contract/family'
import { chatOnConverse } from '../../../src/families/chat/via-converse/family'
import { chatOnMessages } from '../../../src/families/chat/via-messages/family'
import { chatOnResponses } from '../../../src/families/chat/via-responses/family'
import { bedrockConverse } from '../../../src/families/messages/converse/family'
import { messagesOnChat } from '../../../src/families/messages/via-chat/family'
import { messagesOnResponses } from '../../../src/families/messages/via-responses/family'
import { responsesOnChat } from '../../../src/families/responses/via-chat/family'
import { responsesOnConverse } from '../../../src/families/responses/via-converse/family'
import { responsesOnMessages } from '../../../src/families/responses/via-messages/family'

export type CallerDialect = 'chat' | 'messages' | 'responses'
export type VendorProtocol = 'chat' | 'messages' | 'responses' | 'converse'

export interface Pair {
  dialect: CallerDialect
  protocol: VendorProtocol
  older: MadeFamily
  /** The family that is compared with it. */
  newer: MadeFamily
}

const row = <Body>(
  dialect: CallerDialect,
  protocol: VendorProtocol,
  older: MadeFamily<Body>,
  newer: MadeFamily<Body> = older,
): Pair => ({
  dialect,
  protocol,
  older: older as unknown as MadeFamily,
  newer: newer as unknown as MadeFamily,
})

export const pairs: readonly Pair[] = [
  row('chat', 'messages', chatOnMessages),
  row('chat', 'responses', chatOnResponses),
  row('chat', 'converse', chatOnConverse),
  row('messages', 'chat', messagesOnChat),
  row('messages', 'responses', messagesOnResponses),
  row('messages', 'converse', bedrockConverse),
  row('responses', 'chat', responsesOnChat),
  row('responses', 'messages', responsesOnMessages),
  row('responses', 'converse', responsesOnConverse),
]
