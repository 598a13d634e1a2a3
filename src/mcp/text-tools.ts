// The tools whose answer is text or numbers: chat, embed, rerank and moderate. They must say exactly as much as the answer over
// HTTP.

import { Type } from '@sinclair/typebox'
import { operationOf } from '../contract/operations'
import { invalidRequest } from '../lib/errors'
import { bodyFields, checkedOptions, modelField, optionsField, paidFields } from './fields'
import { costOutput, type PaidTool } from './paid-tool'
import { isPresent, optionalArgument } from './tool'

const chatFields = bodyFields('chat', ['max_tokens', 'temperature', 'reasoning_effort', 'response_format'])
const { messages } = bodyFields('chat', ['messages'])
const rerankFields = bodyFields('rerank', ['query', 'documents', 'top_n', 'return_documents'])
const moderationFields = bodyFields('moderation', ['input'])
const embeddingFields = bodyFields('embeddings', ['input', 'dimensions'])

interface Completion {
  choices?: { message?: { content?: unknown }; finish_reason?: unknown }[]
  usage?: unknown
}

export const chat: PaidTool = {
  name: 'chat',
  title: 'Ask a chat model',
  description:
    'Asks a chat model and returns its answer. Give a prompt, or a whole conversation as messages; images go into messages as parts.',
  input: Type.Object({
    model: modelField,
    prompt: optionalArgument(Type.String({ minLength: 1, description: 'One message of the user.' })),
    system: optionalArgument(Type.String({ description: 'Instructions for the model.' })),
    ...(messages && { messages: optionalArgument(messages) }),
    ...chatFields,
    options: optionsField,
    ...paidFields,
  }),
  output: Type.Object({
    text: Type.Optional(Type.String()),
    message: Type.Optional(Type.Object({}, { additionalProperties: true })),
    finish_reason: Type.Optional(Type.String()),
    choices: Type.Optional(Type.Array(Type.Unknown())),
    usage: Type.Optional(Type.Object({}, { additionalProperties: true })),
    ...costOutput,
  }),
  prepare({ prompt, system, messages, options, ...fields }) {
    const body = { ...fields, ...checkedOptions(options), messages: conversation(prompt, system, messages) }
    return { operation: operationOf('chat'), content: Buffer.from(JSON.stringify(body)) }
  },
  async answer({ response, facts }) {
    const { choices = [], usage } = (await response.json()) as Completion
    const [first] = choices
    const text = first?.message?.content
    return {
      structured: {
        ...(typeof text === 'string' && { text }),
        ...(isPresent(first?.message) && { message: first.message }),
        ...(typeof first?.finish_reason === 'string' && { finish_reason: first.finish_reason }),
        ...(choices.length > 1 && { choices }),
        ...(isPresent(usage) && { usage }),
        ...facts,
      },
    }
  },
}

export const embed: PaidTool = {
  name: 'embed',
  title: 'Embed texts',
  description: 'Turns a text, or a list of texts, into vectors.',
  input: Type.Object({ model: modelField, ...embeddingFields, options: optionsField, ...paidFields }),
  output: Type.Object({
    embeddings: Type.Array(Type.Array(Type.Number()), { description: 'One vector for each text, in order.' }),
    dimensions: Type.Integer(),
    usage: Type.Optional(Type.Object({}, { additionalProperties: true })),
    ...costOutput,
  }),
  prepare({ options, ...fields }) {
    const own = checkedOptions(options)
    if (isPresent(own.encoding_format) && own.encoding_format !== 'float') {
      throw invalidRequest(
        'options.encoding_format',
        "Invalid 'options.encoding_format': this tool returns numbers. Leave it out.",
      )
    }
    return {
      operation: operationOf('embeddings'),
      content: Buffer.from(JSON.stringify({ ...own, ...fields })),
    }
  },
  async answer({ response, facts }) {
    const { data, usage } = (await response.json()) as { data: { embedding: number[] }[]; usage?: unknown }
    const embeddings = data.map(({ embedding }) => embedding)
    const dimensions = embeddings[0]?.length ?? 0
    return { structured: { embeddings, dimensions, ...(isPresent(usage) && { usage }), ...facts } }
  },
}

export const rerank: PaidTool = {
  name: 'rerank',
  title: 'Rank documents',
  description: 'Ranks documents by how well each answers a query, the best first.',
  input: Type.Object({ model: modelField, ...rerankFields, options: optionsField, ...paidFields }),
  output: Type.Object({
    results: Type.Array(
      Type.Object({ index: Type.Integer(), relevance_score: Type.Number() }, { additionalProperties: true }),
      { description: 'By the places of the documents in the call.' },
    ),
    ...costOutput,
  }),
  prepare({ options, ...fields }) {
    const body = { ...checkedOptions(options), ...fields }
    return { operation: operationOf('rerank'), content: Buffer.from(JSON.stringify(body)) }
  },
  async answer({ response, facts }) {
    const { results } = (await response.json()) as { results: unknown[] }
    return { structured: { results, ...facts } }
  },
}

export const moderate: PaidTool = {
  name: 'moderate',
  title: 'Check for harm',
  description: 'Checks whether texts, or a text with a picture, are harmful, and in what way.',
  input: Type.Object({ model: modelField, ...moderationFields, options: optionsField, ...paidFields }),
  output: Type.Object({
    results: Type.Array(Type.Object({ flagged: Type.Boolean() }, { additionalProperties: true }), {
      description: 'One for each text, or one for all parts.',
    }),
    ...costOutput,
  }),
  prepare({ options, ...fields }) {
    const body = { ...checkedOptions(options), ...fields }
    return { operation: operationOf('moderation'), content: Buffer.from(JSON.stringify(body)) }
  },
  async answer({ response, facts }) {
    const { results } = (await response.json()) as { results: unknown[] }
    return { structured: { results, ...facts } }
  },
}

function conversation(prompt: unknown, system: unknown, messages: unknown): unknown[] {
  if (isPresent(prompt) === isPresent(messages)) {
    throw invalidRequest(
      isPresent(prompt) ? 'messages' : 'prompt',
      "Send either 'prompt', one message, or 'messages', a whole conversation.",
    )
  }
  const rest = isPresent(messages) ? (messages as unknown[]) : [{ role: 'user', content: prompt }]
  return isPresent(system) ? [{ role: 'system', content: system }, ...rest] : rest
}
