// The dialect of POST /v1/responses, for models whose vendor speaks another one. It must never decide what a vendor is sent.

import { asObject } from '../../../lib/objects'
import type { ConversationDialect } from '../../conversation/bridge'
import { checkParts } from '../../media-parts'
import { plainResponses, ResponsesBody } from '../../responses/caller-side'
import { allTools, unsentTools } from '../../responses/sent-tools'
import { ignoredInResponses } from '../../traits/ignored'
import { responsesDialectFields, responsesRulesOn } from './fields'
import { readResponses } from './read'
import { addedBytes } from './settings'
import { streamedResponse, wholeResponse } from './write'

export const responsesDialect: ConversationDialect<ResponsesBody> = {
  name: 'responses',
  operation: 'responses',
  errors: 'openai',
  body: ResponsesBody,
  fields: responsesDialectFields,
  fieldRules: responsesRulesOn,
  ignoredFor: ignoredInResponses,
  ignoresUnknown: true,
  ignored: unsentTools,
  deciding: (body) => ({
    tools: allTools(body as ResponsesBody),
    effort: asObject(body.reasoning).effort,
  }),
  addedBytes,
  checkMedia: (body, model) => checkParts(model, body.input, 'input', ['content', 'output']),
  read: readResponses,
  whole: wholeResponse,
  stream: streamedResponse,
  plain: plainResponses,
}
