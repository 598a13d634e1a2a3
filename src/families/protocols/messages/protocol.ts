// The protocol of vendors that speak Anthropic's messages, for callers who speak another dialect.

import type { Protocol } from '../../conversation/bridge'
import { readMessage, readMessageEvent } from '../../messages/caller-side'
import { messagesCan } from './can'
import { MessageReader, readMessageAnswer } from './read-events'
import { thinkingTokensOf, writeMessages } from './write'

export const messagesProtocol: Protocol = {
  name: 'messages',
  family: 'anthropic-messages',
  can: messagesCan,
  cachesByMarks: true,
  countsPixels: true,
  requiresLimit: true,
  write: writeMessages,
  thinkingTokens: thinkingTokensOf,
  // A request that cannot ask for empty output is judged by its result.
  read: (reply) => readMessage(reply, { body: {} } as never),
  readEvent: readMessageEvent,
  end: '{"type":"message_stop"}',
  readAnswer: readMessageAnswer,
  readEvents: (writer, model) => new MessageReader(writer, model),
}
