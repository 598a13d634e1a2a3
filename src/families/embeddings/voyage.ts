// Embeddings of Voyage AI, `vgx-*` in gateway.config.ts. Voyage refuses unknown fields, so only known ones must be
// sent.

import { type Static, Type } from '@sinclair/typebox'
import { nativeCall } from '../../contract/call'
import type { Call, MadeFamily } from '../../contract/family'
import { invalidRequest } from '../../lib/errors'
import { optionalField } from '../shared-schemas'
import {
  checkDimensions,
  checkVectorLength,
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

const VoyageBody = Type.Object(
  {
    ...EmbeddingsBody.properties,
    // Source: Client.embed of Voyage's SDK for Python, 0.5.0.
    output_dimension: optionalField(
      Type.Integer({ minimum: 1, description: "Voyage's name of `dimensions`, which its SDKs send." }),
    ),
    output_dtype: optionalField(
      Type.Literal('float', { description: "A field of Voyage's SDKs: vectors are floats here." }),
    ),
  },
  { additionalProperties: true },
)
type VoyageBody = Static<typeof VoyageBody>

export const voyageEmbeddings: MadeFamily<VoyageBody> = {
  kind: 'made',
  name: 'voyage-embeddings',
  operation: 'embeddings',
  units: [['input_token']],
  dialect: 'openai',
  body: VoyageBody,
  fields: NATIVE_FIELDS,

  check(body, model) {
    const { dimensions, output_dimension: length } = body
    checkDimensions(body, model)
    if (dimensions && length && dimensions !== length) {
      throw invalidRequest(
        'output_dimension',
        "Invalid 'output_dimension': 'dimensions' has another number. Send only one of them.",
      )
    }
    checkVectorLength('output_dimension', length, model)
    textsOf(body)
  },

  quote: quoteInputs,

  call({ body }, model): Call[] {
    const extra: Record<string, unknown> = {}
    for (const field of NATIVE_FIELDS) {
      if (field in body) extra[field] = (body as Record<string, unknown>)[field]
    }
    const length = body.dimensions ?? body.output_dimension
    if (length) extra.output_dimension = length
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
