// Embeddings of Voyage AI, `vgx-*` in gateway.config.ts. Voyage refuses unknown fields, so only known ones must be
// sent.

import { nativeCall } from '../../contract/call'
import type { Call, MadeFamily } from '../../contract/family'
import {
  checkDimensions,
  chunk,
  EmbeddingsBody,
  embeddingsReply,
  plainEmbeddings,
  quoteInputs,
  readVectors,
  textsOf,
} from './caller-side'

const MAX_INPUTS_A_CALL = 1000
/** The smallest limit among Voyage's models, in tokens; the catalogue names the limit of each. */
const MAX_TOKENS_A_CALL = 120_000
/** Voyage's own fields, for callers who know them. */
const NATIVE_FIELDS = ['input_type', 'truncation'] as const

export const voyageEmbeddings: MadeFamily<EmbeddingsBody> = {
  kind: 'made',
  name: 'voyage-embeddings',
  operation: 'embeddings',
  units: [['input_token']],
  dialect: 'openai',
  body: EmbeddingsBody,
  fields: NATIVE_FIELDS,

  check(body, model) {
    checkDimensions(body, model)
    textsOf(body)
  },

  quote: quoteInputs,

  call({ body }, model): Call[] {
    const extra: Record<string, unknown> = {}
    for (const field of NATIVE_FIELDS) {
      if (field in body) extra[field] = (body as Record<string, unknown>)[field]
    }
    if (body.dimensions) extra.output_dimension = body.dimensions
    const chunks = chunk(
      textsOf(body),
      model.batchSize ?? MAX_INPUTS_A_CALL,
      model.batchTokens ?? MAX_TOKENS_A_CALL,
    )
    return chunks.map((input) =>
      nativeCall('/embeddings', { json: { model: model.upstreamModel, input, ...extra } }),
    )
  },

  reply(replies, { body }, model, usage) {
    const chunks = (replies as Reply[]).map(({ data }) =>
      data.map(({ embedding, index }) => ({ index, vector: embedding })),
    )
    return embeddingsReply(chunks, usage, body, model)
  },

  read: (reply) => readVectors((reply as Reply).data, (reply as Reply).usage?.total_tokens),
  texts: textsOf,
  plain: plainEmbeddings,
}

interface Reply {
  data: { embedding: number[]; index: number }[]
  usage?: { total_tokens?: unknown }
}
