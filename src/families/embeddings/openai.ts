// Embeddings of OpenAI-compatible upstreams. Floats are requested in any case, whatever the caller wants: not all servers can send
// base64. It must never rely on the index that a server reports.

import { compatibleCall } from '../../contract/call'
import type { Call, MadeFamily } from '../../contract/family'
import { otherModels, serviceTier } from '../surcharges'
import {
  checkDimensions,
  chunk,
  type Embedding,
  EmbeddingsBody,
  embeddingsReply,
  inputsOf,
  plainEmbeddings,
  quoteInputs,
  readVectors,
} from './caller-side'

const MAX_INPUTS_A_CALL = 2048

export const openaiEmbeddings: MadeFamily<EmbeddingsBody> = {
  kind: 'made',
  name: 'openai-embeddings',
  operation: 'embeddings',
  units: [['input_token']],
  dialect: 'openai',
  body: EmbeddingsBody,
  fieldRules: [serviceTier, ...otherModels],
  check: checkDimensions,
  quote: quoteInputs,

  call({ body }, model): Call[] {
    const { model: _, input: __, encoding_format: ___, ...rest } = body
    return chunk(inputsOf(body), model.batchSize ?? MAX_INPUTS_A_CALL, model.batchTokens).map((input) =>
      compatibleCall('/embeddings', { json: { ...rest, model: model.upstreamModel, input } }),
    )
  },

  reply(replies, { body }, model, usage) {
    const chunks = (replies as Reply[]).map(({ data }) => {
      // Some servers omit the index or number every vector 0: then the order of arrival counts.
      const numbered = new Set(data.map(({ index }) => index)).size === data.length
      return data.map(
        ({ embedding, index }, position): Embedding => ({
          index: numbered && index !== undefined ? index : position,
          vector: embedding,
        }),
      )
    })
    return embeddingsReply(chunks, usage, body, model)
  },

  read(reply) {
    const { data, usage } = reply as Reply
    return readVectors(data, usage?.prompt_tokens ?? usage?.total_tokens)
  },
  texts: (body) => inputsOf(body).flatMap((input) => (typeof input === 'string' ? [input] : [])),
  plain: plainEmbeddings,
}

interface Reply {
  data: { embedding: number[]; index?: number }[]
  usage?: { prompt_tokens?: unknown; total_tokens?: unknown }
}
