// Reranking by Cohere and Jina, and by the many servers that speak their API, such as vLLM and Infinity. Cohere reports searches in
// `meta.billed_units`, Jina tokens in `usage`. Documents are sent as texts, because Cohere's second version accepts nothing else,
// and it returns none: they are added to the results here. Documents with pictures must be sent as they are.

import { compatibleCall } from '../../contract/call'
import type { Call, MadeFamily } from '../../contract/family'
import { asObject, isObject } from '../../lib/objects'
import { otherModels } from '../surcharges'
import { fileIds } from '../vendor-state'
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

/** Members of documents that are not plain text, in the forms of Jina (`image`) and vLLM (`content`). */
const NOT_TEXT = ['image', 'content']

export const cohereRerank: MadeFamily<RerankBody> = {
  kind: 'made',
  name: 'cohere-rerank',
  operation: 'rerank',
  units: rerankUnits,
  dialect: 'openai',
  body: RerankBody,
  fieldRules: [...otherModels, ...fileIds('documents[].file_id')],
  fields: ['max_chunks_per_doc', 'truncation', 'priority'],
  check: (body) => void wantedResults(body),
  quote: quoteRerank,

  call({ body }, model): Call {
    const set: Record<string, string> = { model: JSON.stringify(model.upstreamModel) }
    const wanted = wantedResults(body)
    if (wanted !== undefined) set.top_n = String(wanted)
    if (body.documents.some(isTextual)) set.documents = JSON.stringify(sentDocuments(body))
    const drop = ['top_k', 'rank_fields']
    return compatibleCall('/rerank', { edit: { set, drop } })
  },

  read(reply) {
    const { results, meta, usage } = asObject(reply)
    const { billed_units: billed, tokens } = asObject(meta)
    const { search_units: searches, total_tokens: billedTokens } = asObject(billed)
    const counted = asObject(usage).total_tokens ?? billedTokens ?? asObject(tokens).input_tokens
    return readResults(reply, results, searches, counted)
  },

  reply([reply], { body }, model, paid) {
    const { results, usage, ...about } = asObject(reply)
    const shown = { ...asObject(usage), ...shownRerankUsage(paid) }
    return {
      ...about,
      ...('model' in about && { model: model.id }),
      results: (results as unknown[]).map((result) => withDocument(result, body)),
      ...(Object.keys(shown).length > 0 && { usage: shown }),
    }
  },

  texts: textsOfRerank,
  plain: plainRerank,
}

function isTextual(document: RerankBody['documents'][number]): boolean {
  return typeof document === 'object' && !NOT_TEXT.some((member) => member in document)
}

function sentDocuments(body: RerankBody): unknown[] {
  return body.documents.map((document) => (isTextual(document) ? documentText(document, body) : document))
}

/** A result with its document, if the caller wants documents and the vendor omitted it. */
function withDocument(result: unknown, { documents, return_documents: isWanted }: RerankBody): unknown {
  if (!isObject(result)) return result
  const { index, document } = result
  const own = documents[index as number]
  if (!isWanted || isObject(document) || own === undefined) return result
  return { ...result, document: typeof own === 'string' ? { text: own } : own }
}
