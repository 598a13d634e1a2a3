// Reranking by Voyage AI, which has other names: `top_k`, and `data` instead of `results`. Voyage refuses unknown
// fields, so only known ones must be sent.

import type { Call, MadeFamily } from '../../contract/family'
import { asObject, isObject } from '../../lib/objects'
import {
  documentText,
  plainRerank,
  quoteRerank,
  RerankBody,
  readResults,
  rerankUnits,
  shownRerankUsage,
  textsOfRerank,
} from './caller-side'

export const voyageRerank: MadeFamily<RerankBody> = {
  kind: 'made',
  name: 'voyage-rerank',
  operation: 'rerank',
  units: rerankUnits,
  dialect: 'openai',
  body: RerankBody,
  fields: ['truncation'],
  quote: quoteRerank,

  call({ body }, model): Call {
    const { query, documents, top_n: topK, return_documents: returned } = body
    const { truncation } = body as { truncation?: unknown }
    const json = {
      model: model.upstreamModel,
      query,
      documents: documents.map(documentText),
      ...(topK && { top_k: topK }),
      ...(typeof returned === 'boolean' && { return_documents: returned }),
      ...(truncation !== undefined && { truncation }),
    }
    return { path: '/rerank', protocol: 'native', body: { json }, stream: false }
  },

  reply([reply], _, model, paid) {
    const { data, usage } = asObject(reply)
    const results = (data as unknown[]).filter(isObject).map(({ document, ...result }) => ({
      ...result,
      ...(document !== undefined && document !== null && { document: { text: document } }),
    }))
    return { model: model.id, results, usage: { ...asObject(usage), ...shownRerankUsage(paid) } }
  },

  read(reply) {
    const { data, usage } = asObject(reply)
    return readResults(reply, data, undefined, asObject(usage).total_tokens)
  },

  texts: textsOfRerank,
  plain: plainRerank,
}
