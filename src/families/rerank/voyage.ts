// Reranking by Voyage AI, which has other names: `top_k`, and `data` instead of `results`. Callers may use either, and the
// answer has both lists: `data` is what the Voyage SDK reads (`voyageai/object/reranking.py`), with `usage.total_tokens`. Voyage
// refuses unknown fields, so only known ones must be sent.

import { nativeCall } from '../../contract/call'
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
  wantedResults,
} from './caller-side'

export const voyageRerank: MadeFamily<RerankBody> = {
  kind: 'made',
  name: 'voyage-rerank',
  operation: 'rerank',
  units: rerankUnits,
  dialect: 'openai',
  body: RerankBody,
  fields: ['truncation'],
  check: (body) => void wantedResults(body),
  quote: quoteRerank,

  call({ body }, model): Call {
    const { query, documents, return_documents: returned } = body
    const topK = wantedResults(body)
    const { truncation } = body as { truncation?: unknown }
    const json = {
      model: model.upstreamModel,
      query,
      documents: documents.map((document) => documentText(document, body)),
      ...(topK && { top_k: topK }),
      ...(typeof returned === 'boolean' && { return_documents: returned }),
      ...(truncation !== undefined && { truncation }),
    }
    return nativeCall('/rerank', { json })
  },

  reply([reply], _, model, paid) {
    const { data, usage } = asObject(reply)
    const ranked = (data as unknown[]).filter(isObject)
    const results = ranked.map(({ document, ...result }) => ({
      ...result,
      ...(document !== undefined && document !== null && { document: { text: document } }),
    }))
    const shown = { ...asObject(usage), ...shownRerankUsage(paid) }
    return { object: 'list', model: model.id, results, data: ranked, usage: shown }
  },

  read(reply) {
    const { data, usage } = asObject(reply)
    return readResults(reply, data, undefined, asObject(usage).total_tokens)
  },

  texts: textsOfRerank,
  plain: plainRerank,
}
