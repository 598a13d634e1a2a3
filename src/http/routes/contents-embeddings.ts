// Translates Google's embedContent and batchEmbedContents to POST /v1/embeddings, for every embedding model. A field that the model
// does not support must be refused, or named in the answer as ignored. https://ai.google.dev/api/embeddings

import { type Static, Type } from '@sinclair/typebox'
import type { Model } from '../../contract/family'
import { invalidRequest } from '../../lib/errors'
import { createValidator } from '../../lib/validate'

/** Google's JSON accepts each name in both spellings. */
const EmbedRequest = Type.Object({
  content: Type.Object({
    parts: Type.Array(Type.Object({ text: Type.Optional(Type.String()) }), { minItems: 1 }),
  }),
  taskType: Type.Optional(Type.String()),
  task_type: Type.Optional(Type.String()),
  title: Type.Optional(Type.String()),
  outputDimensionality: Type.Optional(Type.Integer({ minimum: 1 })),
  output_dimensionality: Type.Optional(Type.Integer({ minimum: 1 })),
})
type EmbedRequest = Static<typeof EmbedRequest>
const BatchRequest = Type.Object({ requests: Type.Array(EmbedRequest, { minItems: 1 }) })

const validateOne = createValidator(EmbedRequest)
const validateBatch = createValidator(BatchRequest)

/** Names of the families' fields in these requests. */
export const EMBEDDING_FIELDS: Readonly<Record<string, string>> = {
  input: 'content',
  dimensions: 'outputDimensionality',
}

/** Voyage's names of the tasks that it supports. https://docs.voyageai.com/docs/embeddings */
const INPUT_TYPES: Readonly<Record<string, string>> = {
  RETRIEVAL_QUERY: 'query',
  QUESTION_ANSWERING: 'query',
  FACT_VERIFICATION: 'query',
  CODE_RETRIEVAL_QUERY: 'query',
  RETRIEVAL_DOCUMENT: 'document',
}

/** The request in the form of POST /v1/embeddings, and the fields that the model does not support. */
export function rewordEmbedding(
  body: Record<string, unknown>,
  model: Model,
  isBatch: boolean,
): { body: Record<string, unknown>; ignored: string[] } {
  if (isBatch) validateBatch(body)
  else validateOne(body)
  const requests = isBatch ? (body as Static<typeof BatchRequest>).requests : [body as EmbedRequest]
  const input = requests.map(({ content }, place) =>
    textOf(content, isBatch ? `requests[${place}].content` : 'content'),
  )
  const dimensions = sameOf(
    requests.map((request) => request.outputDimensionality ?? request.output_dimensionality),
    'outputDimensionality',
  )
  const taskType = sameOf(
    requests.map((request) => request.taskType ?? request.task_type),
    'taskType',
  )
  const hasTitles = requests.some(({ title }) => title !== undefined)
  const knows = (field: string) => model.family.fields?.includes(field) ?? false
  const inputType = taskType === undefined ? undefined : INPUT_TYPES[taskType]
  const takesTask = knows('taskType') || (knows('input_type') && inputType !== undefined)
  return {
    body: {
      model: body.model,
      input,
      ...(dimensions !== undefined && { dimensions }),
      ...(taskType !== undefined && knows('taskType') && { taskType }),
      ...(inputType !== undefined && knows('input_type') && { input_type: inputType }),
      ...(hasTitles && knows('title') && { title: requests.map(({ title }) => title ?? null) }),
    },
    ignored: [
      ...(taskType !== undefined && !takesTask ? ['taskType'] : []),
      ...(hasTitles && !knows('title') ? ['title'] : []),
    ],
  }
}

interface EmbeddingsAnswer {
  data: readonly { embedding: readonly number[] }[]
  usage: { prompt_tokens: number }
}

/** Google's answer, made from that of POST /v1/embeddings. */
export function embeddingAnswerOf(answer: unknown, isBatch: boolean): object {
  const { data, usage } = answer as EmbeddingsAnswer
  const embeddings = data.map(({ embedding }) => ({ values: embedding }))
  const usageMetadata = { promptTokenCount: usage.prompt_tokens }
  return isBatch ? { embeddings, usageMetadata } : { embedding: embeddings[0], usageMetadata }
}

/** The text of one content. Its parts are one input for the model. */
function textOf({ parts }: EmbedRequest['content'], path: string): string {
  const texts = parts.map(({ text }, place) => {
    if (text !== undefined) return text
    const part = `${path}.parts[${place}]`
    throw invalidRequest(part, `Invalid '${part}': only parts with text can be embedded here.`)
  })
  const text = texts.join('\n')
  if (text === '') throw invalidRequest(path, `Invalid '${path}': expected a text that is not empty.`)
  return text
}

/** The value shared by all requests of a batch. Throws 400 if they differ: the batch is one request for the model. */
function sameOf<Value>(values: readonly Value[], field: string): Value {
  const [first] = values
  if (values.every((value) => value === first)) return first as Value
  throw invalidRequest(
    `requests[].${field}`,
    `Invalid 'requests[].${field}': all requests of a batch must have the same. Send several batches.`,
  )
}
