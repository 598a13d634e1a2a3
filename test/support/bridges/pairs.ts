// Each family that translates one dialect to another protocol, and the family that is to take its place. Until there is
// one, a family is compared with itself. This table is all that changes when a new family is made.

import type { MadeFamily } from '../../../src/contract/family'
import { chatOnConverse } from '../../../src/families/chat/via-converse/family'
import { chatOnMessages } from '../../../src/families/chat/via-messages/family'
import { chatOnResponses } from '../../../src/families/chat/via-responses/family'
import { bridge } from '../../../src/families/conversation/bridge'
import { chatDialect } from '../../../src/families/dialects/chat/dialect'
import { messagesDialect } from '../../../src/families/dialects/messages/dialect'
import { responsesDialect } from '../../../src/families/dialects/responses/dialect'
import { bedrockConverse } from '../../../src/families/messages/converse/family'
import { messagesOnChat } from '../../../src/families/messages/via-chat/family'
import { messagesOnResponses } from '../../../src/families/messages/via-responses/family'
import { converseProtocol } from '../../../src/families/protocols/converse/protocol'
import { messagesProtocol } from '../../../src/families/protocols/messages/protocol'
import { openaiChatProtocol } from '../../../src/families/protocols/openai-chat/protocol'
import { responsesProtocol } from '../../../src/families/protocols/responses/protocol'
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
  row('chat', 'messages', chatOnMessages, bridge(chatDialect, messagesProtocol)),
  row('chat', 'responses', chatOnResponses, bridge(chatDialect, responsesProtocol)),
  row('chat', 'converse', chatOnConverse, bridge(chatDialect, converseProtocol)),
  row('messages', 'chat', messagesOnChat, bridge(messagesDialect, openaiChatProtocol)),
  row('messages', 'responses', messagesOnResponses, bridge(messagesDialect, responsesProtocol)),
  row('messages', 'converse', bedrockConverse, bridge(messagesDialect, converseProtocol, 'bedrock-converse')),
  row('responses', 'chat', responsesOnChat, bridge(responsesDialect, openaiChatProtocol)),
  row('responses', 'messages', responsesOnMessages, bridge(responsesDialect, messagesProtocol)),
  row('responses', 'converse', responsesOnConverse, bridge(responsesDialect, converseProtocol)),
]
