// Shared by all families of rerank: the caller's side of POST /v1/rerank, in the form of the best-known APIs, and its
// cost by searches or by tokens. The vendor's side must stay in each family's own file.

import { type Static, Type } from '@sinclair/typebox'
import type { Model, ParsedRequest, PlainForm, Quantities } from '../../contract/family'
import { hasPrice } from '../../contract/prices'
import { type Reading, SHOWN, usageReading } from '../../contract/reading'
import { inputTokensOf } from '../../contract/units'
import { isErrorShape } from '../../lib/error-shapes'
import { invalidRequest } from '../../lib/errors'
import { countedFigure, optionalField } from '../shared-schemas'

const MAX_DOCUMENTS = 10_000

export const RerankBody = Type.Object(
  {
    model: Type.String({ description: 'Id from GET /v1/models.' }),
    query: Type.String({ minLength: 1 }),
    documents: Type.Array(Type.Union([Type.String(), Type.Object({}, { additionalProperties: true })]), {
      minItems: 1,
      maxItems: MAX_DOCUMENTS,
      description: 'Texts, or objects with a `text`.',
    }),
    top_n: optionalField(
      Type.Integer({ minimum: 1, description: 'How many results to return. Default all.' }),
    ),
    top_k: optionalField(
      Type.Integer({ minimum: 1, description: 'The same as `top_n`, as clients of Voyage write it.' }),
    ),
    return_documents: optionalField(Type.Boolean()),
    max_tokens_per_doc: optionalField(Type.Integer({ minimum: 1 })),
    rank_fields: optionalField(
      Type.Array(Type.String(), { description: 'Members of objects that count. Default `text`.' }),
    ),
  },
  { additionalProperties: true },
)
export type RerankBody = Static<typeof RerankBody>
type RerankDocument = RerankBody['documents'][number]

/** The number of results, under either name; undefined for all. Throws 400 if both are given and differ. */
export function wantedResults({ top_n: topN, top_k: topK }: RerankBody): number | undefined {
  if (topN && topK && topN !== topK) {
    throw invalidRequest('top_k', "Invalid 'top_k': 'top_n' has another number. Send only one of them.")
  }
  return topN ?? topK ?? undefined
}

/** Price units: searches or tokens. */
export const rerankUnits = [['search'], ['input_token']] as const

/** Maximum number of documents per search. */
const DOCUMENTS_PER_SEARCH = 100
/**
 * Longer documents count as several; at least this many bytes each: 500 tokens less those of the query, at a byte each.
 */
const BYTES_PER_DOCUMENT = 400

export const plainRerank: PlainForm = {
  fields: [],
  body: ({ text }) => ({ query: text, documents: [text] }),
}

/** The maximum that a request can use: vendors read the query again for each document. */
export function quoteRerank({ body, byteLength }: ParsedRequest<RerankBody>, model: Model): Quantities {
  const queryBytes = Buffer.byteLength(body.query)
  if (!isPricedBySearch(model)) return { input_token: byteLength + queryBytes * body.documents.length }
  const parts = body.documents.map((document) =>
    Math.ceil(Math.max(1, Buffer.byteLength(documentText(document, body))) / BYTES_PER_DOCUMENT),
  )
  const count = parts.reduce((sum, each) => sum + each, 0)
  return { search: Math.ceil(count / DOCUMENTS_PER_SEARCH) }
}

/** Texts of a request, counted if the vendor reports no usage. */
export function textsOfRerank(body: RerankBody, model: Model): string[] | undefined {
  return isPricedBySearch(model)
    ? undefined
    : body.documents.flatMap((document) => [body.query, documentText(document, body)])
}

function isPricedBySearch({ priceList }: Model): boolean {
  return hasPrice(priceList, 'search')
}

/** A document as text: its `rank_fields` as lines of YAML, its `text`, or all of it as JSON. */
export function documentText(document: RerankDocument, { rank_fields: fields }: RerankBody): string {
  if (typeof document === 'string') return document
  const members = document as Record<string, unknown>
  const lines = (fields ?? [])
    .filter((field) => Object.hasOwn(members, field))
    .map((field) => `${field}: ${textIn(members[field])}`)
  if (lines.length > 0) return lines.join('\n')
  return typeof members.text === 'string' ? members.text : JSON.stringify(document)
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Reads a list of results, and the vendor's figures. An empty list is free. */
export function readResults(reply: unknown, results: unknown, searches: unknown, tokens: unknown): Reading {
  if (!Array.isArray(results)) {
    if (isErrorShape(reply)) return { end: 'failed' }
    throw new Error('an answer without results')
  }
  const figures = [searches, tokens].map(countedFigure)
  const output = results.length > 0 ? SHOWN : undefined
  if (figures.some(Number.isNaN)) return { output, usage: usageReading('invalid'), end: 'finished' }
  const [search = 0, token = 0] = figures
  const usage: Quantities = { ...(search > 0 && { search }), ...(token > 0 && { input_token: token }) }
  return {
    output,
    // Zeros mean that a server does not count.
    usage: usageReading(Object.keys(usage).length > 0 ? usage : undefined),
    end: 'finished',
  }
}

/** The usage for callers, for a model that is priced by tokens. */
export function shownRerankUsage(
  figures: Quantities,
  reported?: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> | undefined {
  const tokens = inputTokensOf(figures)
  return reported ?? (tokens > 0 ? { total_tokens: tokens } : undefined)
}
