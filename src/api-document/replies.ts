// Describes successful answers, with an example of each that must fit its own schema. Vendors add their own fields, so every object
// is open.

import type { Operation, OperationName } from '../contract/operations'
import { anyOf, type DescribedAnswer, type Media, type Schema, schemaOf } from './schema'

const text = { type: 'string' }
const count = { type: 'integer', minimum: 0 }
const object = (required: Record<string, Schema>, optional: Record<string, Schema> = {}): Schema => ({
  type: 'object',
  required: Object.keys(required),
  properties: { ...required, ...optional },
})
const list = (items: Schema): Schema => ({ type: 'array', items })

const tokenUsage = object(
  { prompt_tokens: count, completion_tokens: count, total_tokens: count },
  { completion_tokens_details: object({}, { reasoning_tokens: count }) },
)
const fault = object({ code: text, message: text })

export const replySchemas: Record<string, Schema> = {
  ChatCompletion: object(
    {
      id: text,
      object: { const: 'chat.completion' },
      created: count,
      model: text,
      choices: list(
        object({
          index: count,
          message: object({ role: { const: 'assistant' } }, { content: { type: ['string', 'null'] } }),
          finish_reason: { type: ['string', 'null'] },
        }),
      ),
    },
    { usage: tokenUsage },
  ),
  Message: object({
    id: text,
    type: { const: 'message' },
    role: { const: 'assistant' },
    model: text,
    content: list(object({ type: text })),
    stop_reason: { type: ['string', 'null'] },
    usage: object({ input_tokens: count, output_tokens: count }),
  }),
  ContentsAnswer: object(
    {
      candidates: list(
        object(
          { index: count },
          { content: object({ parts: list({ type: 'object' }) }), finishReason: text },
        ),
      ),
      usageMetadata: object({ promptTokenCount: count, totalTokenCount: count }),
      modelVersion: text,
    },
    { responseId: text },
  ),
  ContentsTokenCount: object({ totalTokens: count }),
  ContentsEmbedding: object({
    embedding: object({ values: list({ type: 'number' }) }),
    usageMetadata: object({ promptTokenCount: count }),
  }),
  ContentsEmbeddings: object({
    embeddings: list(object({ values: list({ type: 'number' }) })),
    usageMetadata: object({ promptTokenCount: count }),
  }),
  Response: object({
    id: text,
    object: { const: 'response' },
    created_at: count,
    status: text,
    model: text,
    output: list(object({ type: text })),
    usage: object({ input_tokens: count, output_tokens: count, total_tokens: count }),
  }),
  Compaction: object(
    {
      id: text,
      object: { const: 'response.compaction' },
      created_at: count,
      output: list(object({ type: text })),
      usage: object({ input_tokens: count, output_tokens: count, total_tokens: count }),
    },
    {
      status: { const: 'incomplete', description: 'Absent if the summary is whole.' },
      incomplete_details: object({ reason: text }),
    },
  ),
  EmbeddingList: object({
    object: { const: 'list' },
    model: text,
    data: list(
      object({
        object: { const: 'embedding' },
        index: count,
        embedding: anyOf([list({ type: 'number' }), { ...text, description: 'Base64 of 32-bit floats.' }]),
      }),
    ),
    usage: object({ prompt_tokens: count, total_tokens: count }),
  }),
  ImageList: object(
    { created: count, data: list(object({}, { url: text, b64_json: text })) },
    { usage: { type: 'object' }, size: text, quality: text, output_format: text, background: text },
  ),
  MultimodalImage: object({
    request_id: text,
    output: object({
      choices: list(
        object({
          finish_reason: text,
          message: object({ role: text, content: list(object({}, { image: text })) }),
        }),
      ),
    }),
    usage: object({ image_count: count }, { width: count, height: count }),
  }),
  Interaction: {
    type: 'object',
    description: 'The answer of models whose request has `input` instead of messages.',
  },
  VideoTask: object(
    {
      id: text,
      model: text,
      status: { enum: ['submitted', 'succeeded', 'failed'] },
      created_at: count,
    },
    { video_url: text, progress: { type: 'number' }, error: fault, content: {}, usage: {}, seed: {} },
  ),
  DeferredTask: object(
    {
      id: text,
      model: text,
      status: { enum: ['submitted', 'succeeded', 'failed'] },
      created_at: count,
      operation: text,
      result_url: text,
    },
    { content_type: text, bytes: count, result: {}, error: fault },
  ),
  ImageTask: object(
    {
      id: text,
      task_id: text,
      object: { const: 'image.generation.task' },
      status: { enum: ['processing', 'completed', 'failed'] },
      created_at: count,
    },
    { completed_at: count, poll_url: text, http_status: count, image_url: text, result: {}, error: {} },
  ),
  Video: object(
    {
      id: text,
      object: { const: 'video' },
      model: text,
      status: { enum: ['queued', 'in_progress', 'completed', 'failed'] },
      progress: count,
      created_at: count,
    },
    {
      completed_at: { type: ['integer', 'null'] },
      expires_at: { type: ['integer', 'null'] },
      seconds: { type: ['string', 'null'] },
      size: { type: ['string', 'null'] },
      error: anyOf([fault, { type: 'null' }]),
    },
  ),
  Health: object({ status: text, version: text, commit: text, schema: count }),
  Liveness: object({ status: text }),
  Readiness: object({ status: text, checks: object({ database: text, disk: text, configuration: text }) }),
}

const AT = 1_767_225_600
const task = { id: 'task_0193a1b2c3d47e8f', model: 'a-video-model', created_at: AT }
const file = 'https://gateway.example.com/v1/artifacts/art_0193?expires=1767312000&signature=1f2e'

export const replyExamples = {
  ChatCompletion: {
    id: 'chatcmpl-123',
    object: 'chat.completion',
    created: AT,
    model: 'a-chat-model',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
  },
  Message: {
    id: 'msg_123',
    type: 'message',
    role: 'assistant',
    model: 'a-chat-model',
    content: [{ type: 'text', text: 'Hello!' }],
    stop_reason: 'end_turn',
    usage: { input_tokens: 9, output_tokens: 3 },
  },
  ContentsAnswer: {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hello!' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 },
    modelVersion: 'a-chat-model',
    responseId: 'chatcmpl-123',
  },
  ContentsTokenCount: { totalTokens: 9 },
  ContentsEmbedding: {
    embedding: { values: [0.013, -0.021, 0.008] },
    usageMetadata: { promptTokenCount: 2 },
  },
  ContentsEmbeddings: {
    embeddings: [{ values: [0.013, -0.021, 0.008] }],
    usageMetadata: { promptTokenCount: 2 },
  },
  Compaction: {
    id: 'resp_123',
    object: 'response.compaction',
    created_at: AT,
    output: [{ type: 'compaction', id: 'cmp_123', encrypted_content: 'gw1.abc' }],
    usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
  },
  Response: {
    id: 'resp_123',
    object: 'response',
    created_at: AT,
    status: 'completed',
    model: 'a-chat-model',
    output: [
      {
        type: 'message',
        id: 'msg_123',
        status: 'completed',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'Hello!', annotations: [] }],
      },
    ],
    usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
  },
  EmbeddingList: {
    object: 'list',
    model: 'an-embedding-model',
    data: [{ object: 'embedding', index: 0, embedding: [0.013, -0.021, 0.008] }],
    usage: { prompt_tokens: 2, total_tokens: 2 },
  },
  ImageList: { created: AT, data: [{ url: file }] },
  MultimodalImage: {
    request_id: 'f3a0c1d2',
    output: {
      choices: [{ finish_reason: 'stop', message: { role: 'assistant', content: [{ image: file }] } }],
    },
    usage: { image_count: 1, width: 1024, height: 1024 },
  },
  Interaction: { id: 'v1_abc', status: 'completed' },
  VideoTask: { ...task, status: 'submitted' },
  DeferredTask: {
    id: 'task_01a1b2c3d47e8f',
    model: 'an-image-model',
    status: 'submitted',
    created_at: AT,
    operation: 'image',
    result_url: 'https://ai.example.com/v1/tasks/task_01a1b2c3d47e8f/result',
  },
  ImageTask: {
    id: 'task_01a1b2c3d47e8f',
    task_id: 'task_01a1b2c3d47e8f',
    object: 'image.generation.task',
    status: 'processing',
    created_at: AT,
    poll_url: '/v1/images/tasks/task_01a1b2c3d47e8f',
  },
  Video: { ...task, object: 'video', status: 'in_progress', progress: 40 },
  Health: { status: 'ok', version: '1.0.0', commit: '1f3a5b7c9d11', schema: 1 },
  Liveness: { status: 'ok' },
  Readiness: { status: 'ready', checks: { database: 'ok', disk: 'ok', configuration: 'ok' } },
} satisfies Record<keyof typeof replySchemas, unknown>
export type ReplyName = keyof typeof replyExamples

/** JSON in one of these forms. */
export function jsonMedia(...names: ReplyName[]): Record<string, Media> {
  const examples = Object.fromEntries(names.map((name) => [name, { value: replyExamples[name] }]))
  return { 'application/json': { schema: anyOf(names.map(schemaOf)), examples } }
}

/** A task that has succeeded or failed. */
export const endedTasks = {
  succeeded: { value: { ...task, status: 'succeeded', video_url: file } },
  failed: {
    value: {
      ...task,
      status: 'failed',
      error: { code: 'InvalidParameter', message: 'The prompt is too long.' },
    },
  },
}

const bytes = { type: 'string', format: 'binary' }
const events = (example: string): Record<string, Media> => ({
  'text/event-stream': {
    schema: { type: 'string', description: 'Server-sent events, where the request has `stream: true`.' },
    examples: { stream: { value: example } },
  },
})

/** The successful answers of an operation, by status. */
export function repliesOf({ name, answer }: Operation): Record<string, DescribedAnswer> {
  if (!answer) return replies[name] ?? {}
  const { description, example, texts = [], events: pieces } = answer
  const content = {
    'application/json': { schema: { type: 'object' }, examples: { answer: { value: example } } },
    ...Object.fromEntries(texts.map((type) => [type, { schema: text }])),
    ...(pieces !== undefined && events(pieces)),
  }
  return { '200': { description, content } }
}

/** Answers of operations whose row in the table defines none. */
const replies: Partial<Record<OperationName, Record<string, DescribedAnswer>>> = {
  chat: {
    '200': {
      description: 'The completion, or its pieces as events.',
      content: {
        ...jsonMedia('ChatCompletion'),
        ...events(
          'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hello!"}}]}\n\ndata: [DONE]\n\n',
        ),
      },
    },
  },
  messages: {
    '200': {
      description: 'The message, or its pieces as events.',
      content: {
        ...jsonMedia('Message'),
        ...events(
          'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello!"}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
        ),
      },
    },
  },
  responses: {
    '200': {
      description: 'The response, or its events.',
      content: {
        ...jsonMedia('Response'),
        ...events(
          'event: response.output_text.delta\ndata: {"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_123","output_index":0,"content_index":0,"delta":"Hello!"}\n\ndata: [DONE]\n\n',
        ),
      },
    },
  },
  contents: {
    '200': { description: 'The answer.', content: jsonMedia('ContentsAnswer') },
  },
  embeddings: {
    '200': { description: 'The vectors, in the order of the input.', content: jsonMedia('EmbeddingList') },
  },
  speech: {
    '200': {
      description: 'The sound, as it is made, or its events.',
      content: {
        ...Object.fromEntries(
          ['mpeg', 'opus', 'aac', 'flac', 'wav', 'pcm'].map((type) => [`audio/${type}`, { schema: bytes }]),
        ),
        ...events('data: {"type":"speech.audio.delta","audio":"…"}\n\n'),
      },
    },
  },
  image: {
    '200': {
      description: 'The images, in the form that belongs to the form of the request.',
      content: {
        ...jsonMedia('ImageList', 'MultimodalImage', 'Interaction'),
        ...events(
          'event: image_generation.completed\ndata: {"type":"image_generation.completed","b64_json":"…"}\n\n',
        ),
      },
    },
  },
  'image-edit': {
    '200': {
      description: 'The edited images.',
      content: {
        ...jsonMedia('ImageList'),
        ...events('event: image_edit.completed\ndata: {"type":"image_edit.completed","b64_json":"…"}\n\n'),
      },
    },
  },
  video: {
    '202': {
      description: 'The task is submitted: poll it, or wait for the webhook.',
      content: jsonMedia('VideoTask'),
    },
    '200': {
      description: 'The same for some models; and the ended task, where the request waited for it.',
      content: { 'application/json': { schema: schemaOf('VideoTask'), examples: endedTasks } },
    },
  },
}
