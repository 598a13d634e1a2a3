// Reranking as simulated vendors do it: the more words a document shares with the query, the more relevant it is. It must never
// name a vendor: the name of results and the reported members come from the caller.

import { asArray, asNumber, asObject, asString, isGiven, type JsonObject } from './json'
import { countTokens } from './pieces'
import type { VendorRequest } from './simulator'

interface Ranked {
  index: number
  relevance_score: number
  text: string
}

interface RerankQuestion {
  query: string
  documents: readonly string[]
  most: number | undefined
}

/** Undefined if the request has no query or no documents. */
export function readRerank(body: JsonObject, limit: 'top_n' | 'top_k'): RerankQuestion | undefined {
  const query = asString(body.query)
  const documents = asArray(body.documents)?.map((document) =>
    typeof document === 'string'
      ? document
      : (asString(asObject(document)?.text) ?? JSON.stringify(document)),
  )
  if (!query || !documents || documents.length === 0) return undefined
  const most = isGiven(body[limit]) ? asNumber(body[limit]) : undefined
  return { query, documents, most }
}

/** The best results first, up to the requested number. */
export function rank({ query, documents, most }: RerankQuestion, { directives }: VendorRequest): Ranked[] {
  if (directives.empty) return []
  const wanted = wordsOf(query)
  const ranked = documents.map((text, index) => {
    const words = wordsOf(text)
    const shared = [...wanted].filter((word) => words.has(word)).length
    const score = (shared + 0.1) / (wanted.size + 0.2)
    return { index, relevance_score: Math.round(score * 1e6) / 1e6, text }
  })
  return ranked.sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index).slice(0, most)
}

/** The query is read again for each document. */
export function countRerank({ query, documents }: RerankQuestion, { directives }: VendorRequest): number {
  if (directives.promptTokens !== undefined) return directives.promptTokens
  return documents.reduce((sum, text) => sum + countTokens(text) + countTokens(query), 0)
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? [])
}
