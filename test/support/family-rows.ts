// What the conformance test must know of each family: the catalogue entry that it is tried with, what of a request or a
// reply is documented to change on its way, and requests that are wrong. A new family needs a row here, or beside it for
// pictures and videos.

import type { ModelConfig } from '../../src/config/schema'
import type { Dialect } from '../../src/lib/errors'
import { mediaFamilyRows } from './media-family-rows'

export interface FamilyRow {
  /** The catalogue entry but for its family and upstream; its upstream is of this kind. */
  kind: string
  model: Omit<ModelConfig, 'family' | 'upstream'>
  /** How its errors read; by default as OpenAI's. */
  dialect?: Dialect
  /** Where a request does not reach the vendor as it was sent, as globs of paths. `model` always is the vendor's name. */
  translated?: string[]
  /** Where a reply does not reach the caller as it came. */
  answered?: string[]
  /** Values of a wrong type or size, put into the first recorded request, and the field that the error must name. */
  refused: [path: string, value: unknown, field?: string][]
}

const tokens = { per_1m_input_tokens: '1', per_1m_cached_input_tokens: '0.1', per_1m_output_tokens: '3' }

/** By the minute and by tokens, whichever the vendor reports. */
const audioPrice = { ...tokens, per_1m_input_audio_tokens: '6', per_audio_minute: '0.006' }
const audioRefused: FamilyRow['refused'] = [
  ['file', 'https://example.com/speech.mp3'],
  ['response_format', 'docx'],
  ['temperature', 'warm'],
  ['temperature', 2],
  ['url', 'https://example.com/speech.mp3'],
]

export const familyRows: Record<string, FamilyRow> = {
  'openai-chat': {
    kind: 'openai',
    model: { upstreamModel: 'gpt-4.1-mini', price: tokens },
    answered: ['usage/cost_in_usd_ticks'],
    refused: [
      ['messages', 'Hello'],
      ['messages', []],
      ['messages/0/role', 'robot', 'messages[0].role'],
      ['messages/0/content', 7, 'messages[0].content'],
      ['temperature', 3],
      ['temperature', '1'],
      ['max_tokens', 0],
      ['n', 1.5],
      ['tools', {}],
      ['metadata', 'x'],
      ['logit_bias', []],
      ['stream', 'yes'],
    ],
  },
  'anthropic-messages': {
    kind: 'anthropic',
    dialect: 'messages',
    model: { upstreamModel: 'claude-sonnet-4-5', price: { ...tokens, per_1m_cache_write_tokens: '1.25' } },
    refused: [
      ['max_tokens', undefined],
      ['max_tokens', '300'],
      ['messages', []],
      ['messages/0/role', 'robot', 'messages[0].role'],
      ['messages/0/content', 7, 'messages[0].content'],
      ['temperature', 2],
      ['stop_sequences', '###'],
      ['tools', {}],
      ['tool_choice', 'auto'],
      ['thinking', true],
      ['stream', 'yes'],
    ],
  },
  'messages-on-chat': {
    kind: 'openai',
    dialect: 'messages',
    model: { upstreamModel: 'local-model', price: tokens },
    // AnswerPart in the words of chat. Fields without a counterpart are left out.
    translated: [
      'system',
      'system/**',
      'messages/*/content/**',
      'messages/*/role',
      'messages/*/content',
      'messages/*/x_unknown/**',
      'tools/*/**',
      'tool_choice/**',
      'stop_sequences/**',
      'top_k',
      'metadata/**',
      'thinking/**',
      'output_config/**',
      'context_management/**',
    ],
    answered: ['**'],
    refused: [
      ['max_tokens', undefined],
      ['max_tokens', 0],
      ['messages', []],
      ['messages/0/role', 'robot', 'messages[0].role'],
      ['messages/0/content', 7, 'messages[0].content'],
      ['temperature', 2],
      ['stop_sequences', '###'],
      ['system', [{ type: 'text' }], 'system[0].text'],
      ['tools', [{ type: 'web_search_20250305', name: 'web_search' }], 'tools[0].type'],
      ['tools/0/name', undefined, 'tools[0].name'],
      ['tools/0/input_schema', undefined, 'tools[0].input_schema'],
      ['tool_choice', { type: 'some' }],
      ['mcp_servers', [{ type: 'url', url: 'https://example.com', name: 'a' }]],
    ],
  },
  'chat-on-messages': {
    kind: 'anthropic',
    model: { upstreamModel: 'claude-sonnet-4-5', price: { ...tokens, per_1m_cache_write_tokens: '1.25' } },
    // AnswerPart in the words of messages. Fields without a counterpart are left out.
    translated: [
      'messages/**',
      'max_tokens',
      'max_completion_tokens',
      'temperature',
      'top_p',
      'n',
      'stop',
      'stop/**',
      'user',
      'seed',
      'presence_penalty',
      'frequency_penalty',
      'logprobs',
      'store',
      'metadata/**',
      'verbosity',
      'service_tier',
      'reasoning_effort',
      'tools/**',
      'tool_choice',
      'tool_choice/**',
      'parallel_tool_calls',
      'response_format/**',
      'stream_options/**',
    ],
    answered: ['**'],
    refused: [
      ['messages', 'Hello'],
      ['messages', []],
      ['messages/0/role', 'robot', 'messages[0].role'],
      ['messages/0/role', 'function', 'messages[0].role'],
      ['messages/0/content', 7, 'messages[0].content'],
      ['messages', [{ role: 'system', content: 'Be brief.' }]],
      ['messages/1/content/0/type', 'input_audio', 'messages[1].content[0].type'],
      ['messages/1/content/0/text', 7, 'messages[1].content[0].text'],
      ['messages/1/content/2/image_url/url', 'a.png', 'messages[1].content[2].image_url.url'],
      ['messages/1/content/4/file/file_data', undefined, 'messages[1].content[4].file.file_data'],
      ['messages/2/tool_calls/0/id', undefined, 'messages[2].tool_calls[0]'],
      ['messages/3/tool_call_id', undefined, 'messages[3].tool_call_id'],
      ['temperature', 3],
      ['max_tokens', 0],
      ['n', 1.5],
      ['tools', {}],
      ['tools/0/function/name', undefined, 'tools[0]'],
      ['tools/0/type', 'custom', 'tools[0].type'],
      ['functions', [{ name: 'look' }]],
      ['response_format', { type: 'xml' }, 'response_format.type'],
      ['response_format', { type: 'json_schema' }, 'response_format.json_schema.schema'],
    ],
  },
  'openai-completions': {
    kind: 'openai',
    model: { upstreamModel: 'local-model', price: tokens },
    refused: [
      ['prompt', undefined],
      ['prompt', null],
      ['prompt', []],
      ['prompt', { text: 'Hello' }],
      ['prompt', [1.5], 'prompt[0]'],
      ['max_tokens', -1],
      ['n', 0],
      ['best_of', '2'],
      ['echo', 'yes'],
      ['logprobs', true],
      ['suffix', 7],
      ['stop', 7],
      ['stream', 'yes'],
      ['temperature', 3],
      ['n_predict', 500],
      ['prompt_embeds', 'AAAA'],
    ],
  },
  'openai-responses': {
    kind: 'openai',
    model: { upstreamModel: 'gpt-5-mini', price: tokens, reasoning: true },
    // The id is the gateway's; the padding of events is left out.
    answered: ['id', '*/response/id', '*/obfuscation'],
    refused: [
      ['input', undefined],
      ['input', []],
      ['input', 7],
      ['parallel_tool_calls', 'no'],
      ['max_output_tokens', 0],
      ['tools', {}],
      ['tools/0/type', 7, 'tools[0].type'],
      ['tools/0/type', 'code_interpreter', 'tools[0].type'],
      ['tools/0/type', 'web_search', 'tools[0].type'],
      ['background', true],
      ['conversation', 'conv_1'],
      ['prompt', { id: 'pmpt_1' }],
      ['service_tier', 'priority'],
      ['input/1/content/1/file_id', 'file-1', 'input[1].content[1].file_id'],
      ['stream', 'yes'],
    ],
  },
  'openai-embeddings': {
    kind: 'openai',
    model: { upstreamModel: 'text-embedding-3-small', price: { per_1m_input_tokens: '1' } },
    // Always asked for numbers: base64 is made here.
    translated: ['encoding_format'],
    // The answer is made anew, from the vectors of all parts of a batch.
    answered: ['id', 'x_unknown/**', '*/x_unknown/**', 'data/*/x_unknown/**'],
    refused: [
      ['input', ''],
      ['input', []],
      ['input', [1.5], 'input[0]'],
      ['input', { text: 'hello' }],
      ['input', undefined],
      ['dimensions', 0],
      ['dimensions', '3'],
      ['encoding_format', 'hex'],
      ['user', 7],
    ],
  },
  'gemini-embeddings': {
    kind: 'google',
    model: { upstreamModel: 'gemini-embedding-001', price: { per_1m_input_tokens: '1' } },
    // Its own words for everything, and a refusal of all others.
    translated: ['input', 'input/*', 'dimensions', 'x_unknown/**'],
    answered: ['embeddings/**', 'usageMetadata/**', 'x_unknown/**'],
    refused: [
      ['input', [[1, 2]]],
      ['input', undefined],
      ['dimensions', 1.5],
    ],
  },
  'voyage-embeddings': {
    kind: 'voyage',
    model: { upstreamModel: 'voyage-4', price: { per_1m_input_tokens: '1' } },
    // It refuses fields that it does not know.
    translated: ['dimensions', 'user', 'x_unknown/**'],
    answered: ['data/*/text', 'x_unknown/**', '*/x_unknown/**', 'data/*/x_unknown/**'],
    refused: [
      ['input', [1, 2], 'input'],
      ['input', undefined],
      ['dimensions', '256'],
    ],
  },
  'cohere-rerank': {
    kind: 'cohere',
    model: { upstreamModel: 'rerank-v4.0-pro', price: { per_1k_searches: '2', per_1m_input_tokens: '1' } },
    refused: [
      ['query', undefined],
      ['query', ''],
      ['query', ['capital']],
      ['documents', undefined],
      ['documents', []],
      ['documents', 'Washington'],
      ['documents/0', 7, 'documents[0]'],
      ['top_n', 0],
      ['return_documents', 'yes'],
      ['models', ['another']],
    ],
  },
  'voyage-rerank': {
    kind: 'voyage',
    model: { upstreamModel: 'rerank-2.5', price: { per_1m_input_tokens: '1' } },
    // It refuses fields that it does not know, and has other words for some.
    translated: ['documents/1/**', 'top_n', 'x_unknown/**'],
    // In the words of the others.
    answered: ['object', 'data/**', 'x_unknown/**'],
    refused: [
      ['query', undefined],
      ['documents', []],
      ['top_n', '1'],
    ],
  },
  'openai-transcriptions': {
    kind: 'openai',
    model: { upstreamModel: 'local-listener', price: audioPrice },
    refused: [
      ...audioRefused,
      ['stream', 'maybe'],
      ['timestamp_granularities', 'minute', 'timestamp_granularities[0]'],
    ],
  },
  'openai-translations': {
    kind: 'openai',
    model: { upstreamModel: 'whisper-1', price: { per_audio_minute: '0.006' } },
    refused: audioRefused,
  },
  'openai-moderation': {
    kind: 'openai',
    model: { upstreamModel: 'omni-moderation-latest', price: { per_request: '0.001' } },
    refused: [
      ['input', undefined],
      ['input', 7],
      ['input', []],
      ['input', { type: 'text', text: 'Hello' }],
      ['input/0/type', 7, 'input[0].type'],
      ['input/0', { type: 'audio' }, 'input[0].type'],
      ['input/1/image_url/url', 'asset://1', 'input[1].image_url.url'],
      ['fallbacks', ['another']],
    ],
  },
  'dashscope-speech': {
    kind: 'dashscope',
    model: { upstreamModel: 'qwen3-tts-flash', price: { per_1m_characters: '10', per_request: '0.001' } },
    // Only what the vendor knows goes on, under its own names; the answer is the sound itself.
    translated: [
      'input',
      'voice',
      'response_format',
      'speed',
      'language_type',
      'stream_format',
      'x_unknown/**',
    ],
    refused: [
      ['input', undefined],
      ['input', ''],
      ['input', '  '],
      ['input', ['Hello']],
      ['voice', 7],
      ['response_format', 'opus'],
      ['speed', 'fast'],
      ['instructions', 'Whisper'],
      ['stream_format', 'sse'],
    ],
  },
  ...mediaFamilyRows,
}
