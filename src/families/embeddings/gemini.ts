// Embeddings of Gemini's native API (batchEmbedContents), `gmx-*` in gateway.config.ts. Replies have no token count, so
// the texts are counted here. It must never return a shortened vector that is not of unit length.

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
import { normalize } from './vectors'

const MAX_INPUTS_A_CALL = 100
/** Google's own fields, for callers who know them; a list of titles has one title per input. */
const NATIVE_FIELDS = ['taskType', 'title'] as const

interface NativeFields {
  taskType?: string
  title?: string | readonly (string | null)[]
}

export const geminiEmbeddings: MadeFamily<EmbeddingsBody> = {
  kind: 'made',
  name: 'gemini-embeddings',
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
    const name = `models/${model.upstreamModel}`
    const { taskType, title } = body as NativeFields
    const size = model.batchSize ?? MAX_INPUTS_A_CALL
    const request = (text: string, place: number) => {
      const own = typeof title === 'object' ? title[place] : title
      return {
        model: name,
        content: { parts: [{ text }] },
        ...(taskType ? { taskType } : {}),
        ...(own ? { title: own } : {}),
        ...(body.dimensions ? { outputDimensionality: body.dimensions } : {}),
      }
    }
    return chunk(textsOf(body), size).map((texts, batch) =>
      nativeCall(`/${name}:batchEmbedContents`, {
        json: { requests: texts.map((text, index) => request(text, batch * size + index)) },
      }),
    )
  },

  reply(replies, { body }, model, usage) {
    const chunks = (replies as Reply[]).map(({ embeddings }) =>
      // Shortened vectors of the older model are not of unit length, which callers of this API rely on.
      embeddings.map(({ values }, index) => ({
        index,
        vector: body.dimensions ? normalize(values) : values,
      })),
    )
    return embeddingsReply(chunks, usage, body, model)
  },

  read: (reply) => readVectors((reply as Reply).embeddings, (reply as Reply).usageMetadata?.promptTokenCount),
  texts: textsOf,
  plain: plainEmbeddings,
}

interface Reply {
  embeddings: { values: number[] }[]
  usageMetadata?: { promptTokenCount?: unknown }
}
