// The additional rerank endpoint of servers with this API, in the form of Jina: billed by tokens. It must never serve models of the
// real vendor, which has no such endpoint: only those named `local-…`.

import { asString, type JsonObject } from '../json'
import { jsonReply } from '../replies'
import { countRerank, rank, readRerank } from '../rerank'
import type { Reply, VendorRequest } from '../simulator'
import { reportUsage } from '../usage'
import { errorReply, headers, unknownModel } from './errors'
import { badRequest } from './fields'
import { isLenient } from './models'

export function answerRerank(request: VendorRequest, body: JsonObject): Reply {
  const model = asString(body.model) ?? ''
  if (!isLenient(model)) return unknownModel(model)
  const question = readRerank(body, 'top_n')
  if (!question) return errorReply(badRequest('query and documents must be provided', 'documents', null))
  const results = rank(question, request).map(({ text, ...result }) => ({
    ...result,
    ...(body.return_documents === true && { document: { text } }),
  }))
  const usage = reportUsage({ total_tokens: countRerank(question, request) }, request.directives.usage)
  return jsonReply(200, { model, object: 'list', ...(usage && { usage }), results }, headers())
}
