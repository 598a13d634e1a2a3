// The dialect of POST /v1/messages, for models whose vendor speaks another one. It must never decide what a vendor is sent.

import type { ConversationDialect } from '../../conversation/bridge'
import { MessagesBody, plainMessages } from '../../messages/caller-side'
import { effortOfBudget } from '../../traits/efforts'
import { ignoredInMessages } from '../../traits/ignored'
import { messagesDialectFields, messagesRulesOn } from './fields'
import { budgetIn, effortIn, readMessages } from './read'
import { streamedMessage, wholeMessage } from './write'

export const messagesDialect: ConversationDialect<MessagesBody> = {
  name: 'messages',
  operation: 'messages',
  errors: 'messages',
  body: MessagesBody,
  fields: messagesDialectFields,
  fieldRules: messagesRulesOn,
  ignoredFor: ignoredInMessages,
  seals: true,
  deciding: (body) => {
    const budget = budgetIn(body)
    return {
      tools: body.tools,
      effort: effortIn(body) ?? (budget === undefined ? undefined : effortOfBudget(budget)),
    }
  },
  read: readMessages,
  whole: wholeMessage,
  stream: streamedMessage,
  plain: plainMessages,
}
