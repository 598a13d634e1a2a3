// The dialect of POST /v1/chat/completions, for models whose vendor speaks another one. It must never decide what a vendor is sent.

import { ChatBody, plainChat } from '../../chat/caller-side'
import type { ConversationDialect } from '../../conversation/bridge'
import { ignoredInChat } from '../../traits/ignored'
import { chatDialectFields, chatRulesOn } from './fields'
import { readChat } from './read'
import { streamedCompletion, wholeCompletion } from './write'

export const chatDialect: ConversationDialect<ChatBody> = {
  name: 'chat',
  operation: 'chat',
  errors: 'openai',
  body: ChatBody,
  fields: chatDialectFields,
  fieldRules: chatRulesOn,
  ignoredFor: ignoredInChat,
  deciding: ({ tools, reasoning_effort: effort }) => ({ tools, effort }),
  read: readChat,
  whole: wholeCompletion,
  stream: streamedCompletion,
  plain: plainChat,
}
