// The dialect of Google's generateContent, for models whose vendor speaks another one. It must never decide what a vendor is sent.

import { asObject } from '../../../lib/objects'
import type { ConversationDialect } from '../../conversation/bridge'
import { GeminiBody, memberOf, plainGemini } from './body'
import { geminiDialectFields, geminiRules, tierRules } from './fields'
import { readGemini, toolsOf } from './read'
import { streamedGemini, wholeGemini } from './write'

export const geminiDialect: ConversationDialect<GeminiBody> = {
  name: 'gemini',
  operation: 'contents',
  errors: 'gemini',
  body: GeminiBody,
  fields: geminiDialectFields,
  fieldRules: ({ can }) => ('as' in can.service_tier ? [...tierRules, ...geminiRules] : geminiRules),
  seals: true,
  deciding: (body) => ({
    tools: toolsOf(body as GeminiBody),
    effort: effortIn(memberOf(memberOf(body, 'generationConfig'), 'thinkingConfig')),
  }),
  read: readGemini,
  whole: wholeGemini,
  stream: streamedGemini,
  plain: plainGemini,
}

function effortIn(thinking: unknown): unknown {
  if (memberOf(thinking, 'thinkingBudget') === 0) return 'none'
  const { thinkingLevel: level = memberOf(thinking, 'thinkingLevel') } = asObject(thinking)
  return typeof level === 'string' ? level.toLowerCase() : undefined
}
