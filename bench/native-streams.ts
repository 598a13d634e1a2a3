// Streams of messages and responses as their own vendors send them, with the same texts as those of chat. Each of their events names
// its kind, which chat's do not. It must never depend on time or chance: the bytes are always the same.
import {
  CONTENT_FRAMES,
  CREATED_SECONDS,
  frameContent,
  INSTRUCTIONS,
  QUESTION,
  REPLY_MODEL,
  usage,
} from './exchange'

export const DIALECTS = ['messages', 'responses'] as const
export type NativeDialect = (typeof DIALECTS)[number]

/** The name of an answer by a vendor of a dialect. */
export const nativeAnswer = (dialect: NativeDialect, answer: string): string => `${dialect}-${answer}`

const MESSAGE_MODEL = 'claude-sonnet-4-5-20250929'
const ITEM_ID = 'msg_68af4030592c81938ec0a5fbab4a3e9f05438e46b5f69a3b'
const TEXT = Array.from({ length: CONTENT_FRAMES }, (_, index) => frameContent(index)).join('')

/** A request in the form of messages, with the same question as in chat. */
export function messagesBody(model: string): string {
  return JSON.stringify({
    model,
    system: INSTRUCTIONS,
    messages: [{ role: 'user', content: QUESTION }],
    max_tokens: 1024,
    stream: true,
  })
}

/** The events of one stream of messages, as in https://platform.claude.com/docs/en/build-with-claude/streaming. */
export function messagesFrames(): string[] {
  const message = {
    model: MESSAGE_MODEL,
    id: 'msg_01XFDUDYJgAACzvnptvVoYEL',
    type: 'message',
    role: 'assistant',
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: messagesUsage(1),
  }
  const deltas = Array.from({ length: CONTENT_FRAMES }, (_, index) =>
    event({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: frameContent(index) },
    }),
  )
  return [
    event({ type: 'message_start', message }),
    event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    event({ type: 'ping' }),
    ...deltas,
    event({ type: 'content_block_stop', index: 0 }),
    event({
      type: 'message_delta',
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      usage: messagesUsage(usage.completionTokens),
    }),
    event({ type: 'message_stop' }),
  ]
}

function messagesUsage(outputTokens: number): object {
  return {
    input_tokens: usage.promptTokens - usage.cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage.cachedTokens,
    output_tokens: outputTokens,
  }
}

/** The events of one stream of responses, as in https://platform.openai.com/docs/api-reference/responses-streaming. */
export function responsesFrames(): string[] {
  const part = (text: string) => ({ type: 'output_text', annotations: [], logprobs: [], text })
  const item = (status: string, content: object[]) => ({
    id: ITEM_ID,
    type: 'message',
    status,
    content,
    role: 'assistant',
  })
  const place = { item_id: ITEM_ID, output_index: 0, content_index: 0 }
  const deltas = Array.from({ length: CONTENT_FRAMES }, (_, index) => ({
    type: 'response.output_text.delta',
    ...place,
    delta: frameContent(index),
    logprobs: [],
    obfuscation: 'Qup1BsQ3',
  }))
  const done = item('completed', [part(TEXT)])
  const events = [
    { type: 'response.created', response: response('in_progress', []) },
    { type: 'response.in_progress', response: response('in_progress', []) },
    { type: 'response.output_item.added', output_index: 0, item: item('in_progress', []) },
    { type: 'response.content_part.added', ...place, part: part('') },
    ...deltas,
    { type: 'response.output_text.done', ...place, text: TEXT, logprobs: [] },
    { type: 'response.content_part.done', ...place, part: part(TEXT) },
    { type: 'response.output_item.done', output_index: 0, item: done },
    { type: 'response.completed', response: response('completed', [done]) },
  ]
  return events.map(({ type, ...rest }, index) => event({ type, sequence_number: index, ...rest }))
}

function response(status: string, output: object[]): object {
  return {
    id: 'resp_68af4030592c8193b1a2c3d4e5f60718',
    object: 'response',
    created_at: CREATED_SECONDS,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    instructions: INSTRUCTIONS,
    max_output_tokens: 1024,
    model: REPLY_MODEL,
    output,
    parallel_tool_calls: true,
    previous_response_id: null,
    reasoning: { effort: 'medium', summary: null },
    service_tier: 'default',
    store: false,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: 'auto',
    tools: [],
    top_p: 1,
    truncation: 'disabled',
    usage: status === 'completed' ? responsesUsage() : null,
    user: null,
    metadata: {},
  }
}

function responsesUsage(): object {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens },
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: usage.promptTokens + usage.completionTokens,
  }
}

function event(data: { type: string; [field: string]: unknown }): string {
  return `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
}
