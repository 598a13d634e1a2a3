// Reranking by Cohere and Jina, and by the many servers that speak their API, such as vLLM and Infinity. The caller's
// JSON and the vendor's reply must never be changed. Cohere reports searches in `meta.billed_units`, Jina tokens in
// `usage`.

import type { Call, JsonFamily } from '../../contract/family'
import { asObject } from '../../lib/objects'
import { otherModels } from '../surcharges'
import { fileIds } from '../vendor-state'
import {
  plainRerank,
  quoteRerank,
  RerankBody,
  readResults,
  rerankUnits,
  shownRerankUsage,
  textsOfRerank,
  wantedResults,
} from './caller-side'

export const cohereRerank: JsonFamily<RerankBody> = {
  kind: 'json',
  name: 'cohere-rerank',
  operation: 'rerank',
  units: rerankUnits,
  dialect: 'openai',
  body: RerankBody,
  fieldRules: [...otherModels, ...fileIds('documents[].file_id')],
  fields: ['rank_fields', 'max_chunks_per_doc', 'truncation', 'priority'],
  check: (body) => void wantedResults(body),
  quote: quoteRerank,

  call({ body }, model): Call {
    const set: Record<string, string> = { model: JSON.stringify(model.upstreamModel) }
    const wanted = wantedResults(body)
    if (wanted !== undefined) set.top_n = String(wanted)
    return { path: '/rerank', protocol: 'openai', body: { edit: { set, drop: ['top_k'] } }, stream: false }
  },

  read(reply) {
    const { results, meta, usage } = asObject(reply)
    const { billed_units: billed, tokens } = asObject(meta)
    const { search_units: searches, total_tokens: billedTokens } = asObject(billed)
    const counted = asObject(usage).total_tokens ?? billedTokens ?? asObject(tokens).input_tokens
    return readResults(reply, results, searches, counted)
  },

  usage: shownRerankUsage,
  texts: textsOfRerank,
  plain: plainRerank,
}
