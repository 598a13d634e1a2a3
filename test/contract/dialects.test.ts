// The page about fields is correct: it is generated from the tables, and every row of a table is tested.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import type { BridgedField, Family } from '../../src/contract/family'
import { families } from '../../src/families'
import { ignoredInChat } from '../../src/families/traits/ignored'
import { knownModel, traitsOf } from '../../src/families/traits/known-models'
import { pathsOf } from '../../src/request/fields'
import {
  responsesOnChatSamples,
  responsesOnConverseSamples,
  responsesOnMessagesSamples,
} from '../support/answers/response-samples'
import { say, startTestGateway, type TestGateway, testModels } from '../support/gateway'

type Json = Record<string, unknown>

describe('every field of the official SDKs is described:', () => {
  const SDKS = [
    ['openai/resources/chat/completions/completions.d.ts', 'ChatCompletionCreateParamsBase', 'openai-chat'],
    [
      'openai/resources/chat/completions/completions.d.ts',
      'ChatCompletionCreateParamsBase',
      'chat-on-messages',
    ],
    [
      'openai/resources/chat/completions/completions.d.ts',
      'ChatCompletionCreateParamsBase',
      'chat-on-responses',
    ],
    ['@anthropic-ai/sdk/resources/messages/messages.d.ts', 'MessageCreateParamsBase', 'bedrock-converse'],
    ['openai/resources/responses/responses.d.ts', 'ResponseCreateParamsBase', 'openai-responses'],
    [
      '@anthropic-ai/sdk/resources/messages/messages.d.ts',
      'MessageCreateParamsBase',
      'messages-on-responses',
    ],
    ['@anthropic-ai/sdk/resources/messages/messages.d.ts', 'MessageCreateParamsBase', 'anthropic-messages'],
    ['@anthropic-ai/sdk/resources/messages/messages.d.ts', 'MessageCreateParamsBase', 'messages-on-chat'],
    [
      '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts',
      'MessageCreateParamsBase',
      'anthropic-messages',
    ],
    [
      '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts',
      'MessageCreateParamsBase',
      'messages-on-chat',
    ],
    ['openai/resources/responses/responses.d.ts', 'ResponseCreateParamsBase', 'openai-responses'],
    ['openai/resources/responses/responses.d.ts', 'ResponseCreateParamsBase', 'responses-on-chat'],
    ['openai/resources/responses/responses.d.ts', 'ResponseCreateParamsBase', 'responses-on-messages'],
    ['openai/resources/responses/responses.d.ts', 'ResponseCreateParamsBase', 'responses-on-converse'],
  ] as const
  test.each(SDKS)('%s %s in %s', async (file, type, name) => {
    const source = await Bun.file(`${import.meta.dir}/../../node_modules/${file}`).text()
    const [, body = ''] = new RegExp(`export interface ${type} \\{\\n(.*?)\\n\\}`, 's').exec(source) ?? []
    const fields = [...body.matchAll(/^ {4}(\w+)\??: /gm)].map(([, field]) => field as string)
    expect(fields.length).toBeGreaterThan(15)
    const family = families.get(name) as Family
    const known = new Set([
      ...Object.keys(family.body.properties),
      ...pathsOf(family).map((path) => path.split(/[[. ]/)[0]),
    ])
    expect(fields.filter((field) => !known.has(field) && !IN_HEADERS.has(field))).toEqual([])
  })

  test('every tool of the official SDKs is classified by who runs it', async () => {
    const file = '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts'
    const source = await Bun.file(`${import.meta.dir}/../../node_modules/${file}`).text()
    const [, union = ''] = /export type BetaToolUnion = (.*?);/.exec(source) ?? []
    const types = union.split(' | ').flatMap((name) => {
      const [, body = ''] = new RegExp(`export interface ${name} \\{\\n(.*?)\\n\\}`, 's').exec(source) ?? []
      return /^ {4}type\??: '(\w+)'/m.exec(body)?.[1] ?? []
    })
    expect(types.length).toBeGreaterThan(20)
    const rules = (families.get('anthropic-messages')?.fieldRules ?? []).filter(
      ({ field }) => field === 'tools[].type',
    )
    const isBilled = (type: string) => rules.some(({ plain }) => plain instanceof RegExp && !plain.test(type))
    const kinds = types.filter(isBilled).map((type) => type.replace(/_\d+$/, ''))
    expect([...new Set(kinds)].toSorted()).toEqual(['advisor', 'code_execution', 'web_search'])
  })
})

/** The SDK sends these as headers, of which the gateway forwards the betas. */
const IN_HEADERS = new Set(['betas', 'user_profile_id', 'workspace_id'])

let gateway: TestGateway
beforeAll(async () => {
  const thinker = { ...testModels['test-messages'], upstreamModel: 'claude-fable-5-1' } as ModelConfig
  const { price, ...local } = testModels['test-local'] as ModelConfig
  const tiers = { ...local, price: { ...price, service_tiers: { priority: { ...price } } } } as ModelConfig
  const behind = { ...(testModels['test-local'] as ModelConfig), family: 'openai-responses' }
  const converse: ModelConfig = {
    ...(testModels['test-messages'] as ModelConfig),
    family: 'bedrock-converse',
    upstream: 'bedrock',
    upstreamModel: 'us.amazon.nova-lite-v1:0',
  }
  gateway = await startTestGateway({
    balance: '1000',
    models: {
      'test-converse': converse,
      'test-converse-thinker': { ...converse, reasoning: true },
      'test-thinker': thinker,
      'test-tiers': tiers,
      'test-sound': { ...local, price: { ...price, per_1m_input_audio_tokens: '6' } } as ModelConfig,
      'test-responses': behind,
      'test-responses-thinker': { ...behind, reasoning: true },
    },
  })
})
afterAll(() => gateway.close())

interface Bridge {
  path: string
  model: string
  body: Json
  /** A request with the field of each row. Undefined if every request has it; a list if a field has several rows. */
  samples: Record<string, Json | undefined | readonly Json[]>
}

const user = (...content: Json[]) => ({ messages: [{ role: 'user', content }] })
const assistant = (...content: Json[]) => ({
  messages: [...say('Hi'), { role: 'assistant', content }, ...say('And now?')],
})
const text = { type: 'text', text: 'Hello' }
const schema = { type: 'object', properties: { a: { type: 'string' } } }
const strictSchema = { ...schema, required: ['a'], additionalProperties: false }
const tool = { name: 'look', description: 'Looks', input_schema: schema }
const called = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
const withTool = (more: Json) => ({ tools: [{ ...tool, ...more }] })
const document = (more: Json) => ({
  type: 'document',
  source: { type: 'text', media_type: 'text/plain', data: 'All is well.' },
  ...more,
})
const png = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }
const format = { type: 'json_schema', schema }
const cached = { cache_control: { type: 'ephemeral' } }
const results = (content: unknown, more: Json = {}) => ({
  messages: [
    ...say('Hi'),
    { role: 'assistant', content: [called] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content, ...more }] },
  ],
  tools: [tool],
})

const ofMessages: Bridge = {
  path: '/v1/messages',
  model: 'test-local',
  body: { max_tokens: 50, messages: say('Hi') },
  samples: {
    model: undefined,
    max_tokens: { max_tokens: 77 },
    system: { system: 'Be kind.' },
    'messages[].role': { messages: [...say('Hi'), { role: 'system', content: 'Be kind.' }] },
    'messages[].content[] text': user(text),
    'messages[].content[] image': user({ type: 'image', source: png }),
    'messages[].content[] document': user(document({ context: 'Of today.' })),
    'messages[].content[] search_result': user({
      type: 'search_result',
      title: 'A',
      source: 'b',
      content: [text],
    }),
    'messages[].content[] tool_use': { ...results('fine') },
    'messages[].content[] tool_result': { ...results('fine', { is_error: true }) },
    'messages[].content[] tool_reference': results([{ type: 'tool_reference', tool_name: 'look' }]),
    'messages[].content[] compaction': assistant({ type: 'compaction', content: 'They greeted.' }),
    stop_sequences: { stop_sequences: ['#'] },
    stream: { stream: true },
    temperature: { temperature: 0.5 },
    top_p: { top_p: 0.5 },
    tools: { tools: [{ ...tool, input_examples: [{ a: 'b' }] }] },
    tool_choice: { tools: [tool], tool_choice: { type: 'any' } },
    'tool_choice.disable_parallel_tool_use': {
      tools: [tool],
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
    },
    thinking: {
      model: 'test-reasoning',
      thinking: { type: 'enabled', budget_tokens: 5_000 },
      max_tokens: 9_000,
    },
    'output_config.effort': { model: 'test-reasoning', output_config: { effort: 'low' } },
    'output_config.format': { output_config: { format } },
    output_format: { output_format: format },
    metadata: { metadata: { user_id: 'u' } },
    // Reasoning that only this account can send back is tested with the models.
    'messages[].content[] thinking': undefined,
    'messages[].content[] redacted_thinking': undefined,
    'messages[].content[] fallback': assistant(
      { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } },
      text,
    ),
    cache_control: cached,
    'system[].cache_control': { system: [{ ...text, ...cached }] },
    'tools[].cache_control': withTool(cached),
    'messages[].content[].cache_control': user({ ...text, ...cached }),
    top_k: { top_k: 5 },
    'thinking.display': { thinking: { type: 'adaptive', display: 'omitted' } },
    'tools[].strict': withTool({ strict: true, input_schema: strictSchema }),
    'tools[].defer_loading': withTool({ defer_loading: true }),
    'tools[].eager_input_streaming': withTool({ eager_input_streaming: true }),
    'messages[].content[].caller': {
      ...results('fine'),
      messages: [
        ...say('Hi'),
        { role: 'assistant', content: [{ ...called, caller: { type: 'direct' } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'fine' }] },
      ],
    },
    diagnostics: { diagnostics: { previous_message_id: 'msg_1' } },
    fallback_credit_token: { fallback_credit_token: 'x' },
    anthropic_version: { anthropic_version: '2023-06-01' },
    anthropic_beta: { anthropic_beta: ['a'] },
    thread: { thread: { type: 'create' } },
    container: { container: 'container_1' },
    mcp_servers: { mcp_servers: [{ type: 'url', url: 'https://example.com', name: 'a' }] },
    fallbacks: { fallbacks: 'default' },
    compaction: { compaction: { type: 'summarize' } },
    'context_management.edits[].type': { context_management: { edits: [{ type: 'compact_20260112' }] } },
    'output_config.format.type': { output_config: { format: { type: 'grammar' } } },
    'output_config.task_budget': { output_config: { task_budget: { type: 'tokens', total: 9 } } },
    'output_format.type': { output_format: { type: 'grammar' } },
    service_tier: { service_tier: 'priority' },
    speed: { speed: 'fast' },
    inference_geo: { inference_geo: 'us' },
    'billing_policy.bill_to': { billing_policy: { type: 'billing_policy', bill_to: 'user_profile' } },
    'tools[].type': { tools: [{ type: 'web_search_20250305', name: 'web_search' }] },
    'tools[].allowed_callers[]': withTool({ allowed_callers: ['code_execution_20260521'] }),
    'messages[].clear_at': {
      messages: [...say('Hi'), { role: 'system', content: 'a', clear_at: 'next_user_message' }],
    },
    'messages[].output_config': {
      messages: [...say('Hi'), { role: 'system', content: 'a', output_config: {} }],
    },
    'messages[].content[].citations.enabled': user(document({ citations: { enabled: true } })),
    'messages[].content[].content[].citations.enabled': results([document({ citations: { enabled: true } })]),
    'messages[].content[].type': user({ type: 'container_upload', file_id: 'f' }),
  },
}

const functionTool = { type: 'function', function: { name: 'look', parameters: schema } }
const otherFunction = { type: 'function', function: { name: 'hear', parameters: schema } }
const customTool = { type: 'custom', custom: { name: 'a' } }
const withFunction = (more: Json) => ({
  tools: [{ ...functionTool, function: { ...functionTool.function, ...more } }],
})
const chatCall = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
const turn = (message: Json) => ({ messages: [...say('Hi'), message, ...say('And now?')] })

const unsigned = turn({ role: 'assistant', content: 'Yes?', reasoning_content: 'Hm.' })

const ofChat: Bridge = {
  path: '/v1/chat/completions',
  model: 'test-messages',
  body: { max_tokens: 50, messages: say('Hi') },
  samples: {
    model: undefined,
    'messages[].role': turn({ role: 'developer', content: 'Be kind.' }),
    'messages[].content': { messages: say('Good day') },
    'messages[].content[] text': user(text),
    'messages[].content[] refusal': turn({
      role: 'assistant',
      content: [{ type: 'refusal', refusal: 'No.' }],
    }),
    'messages[].content[] image_url': user({
      type: 'image_url',
      image_url: { url: 'https://example.com/a.png' },
    }),
    'messages[].content[] file': user({
      type: 'file',
      file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
    }),
    'messages[].name': { messages: [{ role: 'user', content: 'Hi', name: 'Ada' }] },
    'messages[].tool_calls': turn({ role: 'assistant', content: null, tool_calls: [chatCall] }),
    'messages[].tool_call_id': turn({ role: 'tool', content: 'fine', tool_call_id: 'call_1' }),
    'messages[].refusal': turn({ role: 'assistant', content: null, refusal: 'No.' }),
    'messages[].content[].cache_control': user({ ...text, ...cached }),
    max_completion_tokens: { max_completion_tokens: 60 },
    max_tokens: { max_tokens: 60 },
    temperature: { temperature: 0.5 },
    top_p: { top_p: 0.5 },
    top_k: { top_k: 5 },
    stop: { stop: ['#'] },
    stream: { stream: true },
    stream_options: { stream: true, stream_options: { include_usage: true } },
    n: { n: 2 },
    tools: { tools: [functionTool] },
    tool_choice: { tools: [functionTool], tool_choice: 'required' },
    parallel_tool_calls: { tools: [functionTool], parallel_tool_calls: false },
    response_format: { response_format: { type: 'json_object' } },
    reasoning_effort: { reasoning_effort: 'low' },
    thinking: { thinking: { type: 'enabled', budget_tokens: 1_024 }, max_tokens: 2_000 },
    verbosity: { verbosity: 'low' },
    user: { user: 'u' },
    safety_identifier: { safety_identifier: 'u' },
    // Reasoning that a vendor requires back is tested with the models.
    'messages[].reasoning_content': undefined,
    'messages[].content[].image_url.detail': user({
      type: 'image_url',
      image_url: { url: 'https://example.com/a.png', detail: 'low' },
    }),
    seed: { seed: 7 },
    frequency_penalty: { frequency_penalty: 1 },
    presence_penalty: { presence_penalty: 1 },
    repetition_penalty: { repetition_penalty: 1.1 },
    min_p: { min_p: 0.1 },
    prediction: { prediction: { type: 'content', content: 'a' } },
    store: { store: true },
    metadata: { metadata: { a: 'b' } },
    prompt_cache_key: { prompt_cache_key: 'a' },
    prompt_cache_retention: { prompt_cache_retention: '24h' },
    prompt_cache_options: { prompt_cache_options: { mode: 'explicit' } },
    usage: { usage: { include: true } },
    include_reasoning: { include_reasoning: true },
    'response_format.json_schema.strict': {
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'a', schema: strictSchema, strict: true },
      },
    },
    logit_bias: { logit_bias: { 5: -100 } },
    logprobs: { logprobs: true },
    top_logprobs: { logprobs: false, top_logprobs: 2 },
    'modalities[]': { modalities: ['text', 'audio'] },
    audio: { audio: { voice: 'ash', format: 'mp3' } },
    functions: { functions: [{ name: 'a' }] },
    function_call: { function_call: { name: 'a' } },
    service_tier: { service_tier: 'priority' },
    web_search_options: { web_search_options: {} },
    search_parameters: { search_parameters: { mode: 'on' } },
    enable_search: { enable_search: true },
    moderation: { moderation: { model: 'a' } },
    plugins: { plugins: [{ id: 'web' }] },
    models: { models: ['a'] },
    fallbacks: { fallbacks: ['a'] },
    reasoning: { reasoning: { effort: 'high' } },
    enable_thinking: { enable_thinking: true },
    thinking_budget: { thinking_budget: 9 },
    chat_template_kwargs: { chat_template_kwargs: { a: 1 } },
    'tools[].type': [{ tools: [customTool] }, { tools: [{ type: 'web_search' }] }],
    'tools[].function.strict': withFunction({ parameters: strictSchema, strict: true }),
    'tools[].cache_control': { tools: [{ ...functionTool, ...cached }] },
    'tool_choice.type': [
      { tools: [functionTool], tool_choice: { type: 'custom', custom: { name: 'note' } } },
      {
        tools: [functionTool, otherFunction],
        tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [functionTool] } },
      },
      { tools: [functionTool], tool_choice: { type: 'web_search' } },
    ],
    'response_format.type': { response_format: { type: 'grammar' } },
    'messages[].function_call': turn({
      role: 'assistant',
      content: 'a',
      function_call: { name: 'a', arguments: '' },
    }),
    'messages[].audio': turn({ role: 'assistant', content: 'a', audio: { id: 'a' } }),
    'messages[].content[].type': [
      user({ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }),
      user({ type: 'poem', poem: 'a' }),
    ],
  },
}

const ofResponses: Bridge = {
  path: '/v1/responses',
  model: 'test-local',
  body: { input: 'Hi', max_output_tokens: 50, store: false },
  samples: responsesOnChatSamples,
}
const ofResponsesOnMessages: Bridge = {
  ...ofResponses,
  model: 'test-messages',
  samples: responsesOnMessagesSamples,
}

const ofResponsesOnConverse: Bridge = {
  ...ofResponses,
  model: 'test-converse',
  samples: responsesOnConverseSamples,
}

const thinker = { model: 'test-responses-thinker' }

const ofChatOnResponses: Bridge = {
  ...ofChat,
  model: 'test-responses',
  samples: {
    ...ofChat.samples,
    'messages[].reasoning_content': unsigned,
    logprobs: { logprobs: true },
    top_logprobs: { logprobs: true, top_logprobs: 2 },
    reasoning_effort: { ...thinker, reasoning_effort: 'low' },
    include_reasoning: { ...thinker, include_reasoning: true },
    service_tier: { service_tier: 'default' },
    thinking: { ...thinker, thinking: { type: 'enabled', budget_tokens: 1_024 } },
  },
}

const ofMessagesOnResponses: Bridge = {
  ...ofMessages,
  model: 'test-responses',
  samples: {
    ...ofMessages.samples,
    thinking: { ...ofMessages.samples.thinking, ...thinker },
    'thinking.display': { ...thinker, thinking: { type: 'adaptive', display: 'summarized' } },
    'output_config.effort': { ...thinker, output_config: { effort: 'low' } },
  },
}

const ofConverse: Bridge = {
  ...ofMessages,
  model: 'test-converse',
  samples: {
    ...ofMessages.samples,
    'messages[].content[] thinking': assistant({ type: 'thinking', thinking: 'Hm.', signature: 'x' }, text),
    'messages[].content[] redacted_thinking': assistant({ type: 'redacted_thinking', data: 'x' }, text),
    // It is only in the path.
    stream: undefined,
    thinking: { ...ofMessages.samples.thinking, model: 'test-converse-thinker' },
    'output_config.effort': { model: 'test-converse-thinker', output_config: { effort: 'max' } },
  },
}

const inlined = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }

const ofChatOnConverse: Bridge = {
  ...ofChat,
  model: 'test-converse',
  samples: {
    ...ofChat.samples,
    'messages[].reasoning_content': unsigned,
    stream: undefined,
    'messages[].content[] image_url': user(inlined),
    'messages[].content[].image_url.detail': user({
      ...inlined,
      image_url: { ...inlined.image_url, detail: 'low' },
    }),
    // A conversation with tool calls needs their tools.
    'messages[].tool_calls': { ...ofChat.samples['messages[].tool_calls'], tools: [functionTool] },
    'messages[].tool_call_id': { ...ofChat.samples['messages[].tool_call_id'], tools: [functionTool] },
    reasoning_effort: { model: 'test-converse-thinker', reasoning_effort: 'low' },
    thinking: { ...ofChat.samples.thinking, model: 'test-converse-thinker' },
  },
}

/** The request for a row of the table. */
function sampleOf({ samples }: Bridge, table: readonly BridgedField[], place: number): Json | undefined {
  const { field } = table[place] as BridgedField
  const sample = samples[field]
  if (!Array.isArray(sample)) return sample as Json | undefined
  return sample[table.slice(0, place).filter((row) => row.field === field).length]
}

/** The request without the field, wherever it is. */
function without(value: unknown, field: string): unknown {
  const [, type] = field.split(' ')
  const last = field.replaceAll('[]', '').split(/[. ]/).at(-1) as string
  const drop = (inner: unknown): unknown => {
    if (Array.isArray(inner)) {
      const isType = (each: unknown) => type !== undefined && (each as Json | null)?.type === type
      return inner.filter((each) => !isType(each)).map(drop)
    }
    if (typeof inner !== 'object' || inner === null) return inner
    return Object.fromEntries(
      Object.entries(inner).flatMap(([key, member]) => (key === last ? [] : [[key, drop(member)]])),
    )
  }
  return drop(value)
}

async function send(bridge: Bridge, body: Json) {
  const calls = gateway.sandbox.calls.length
  const response = await gateway.post(bridge.path, { model: bridge.model, ...bridge.body, ...body })
  const answer = await response.text()
  return {
    status: response.status,
    answer,
    sent: gateway.sandbox.calls.slice(calls).map(({ body }) => JSON.parse(body)),
  }
}

const tried = {
  'messages-on-chat': ofMessages,
  'chat-on-messages': ofChat,
  'chat-on-responses': ofChatOnResponses,
  'messages-on-responses': ofMessagesOnResponses,
  'bedrock-converse': ofConverse,
  'chat-on-converse': ofChatOnConverse,
  'responses-on-chat': ofResponses,
  'responses-on-messages': ofResponsesOnMessages,
  'responses-on-converse': ofResponsesOnConverse,
}

for (const [name, bridge] of Object.entries(tried)) {
  const table = families.get(name)?.bridge ?? []

  describe(name, () => {
    test('exactly the rows of the tables are tested', () => {
      const rows = Object.entries(bridge.samples).flatMap(([field, sample]) =>
        Array.isArray(sample) ? sample.map(() => field) : [field],
      )
      expect(rows.toSorted()).toEqual(table.map(({ field }) => field).toSorted())
    })

    test.each(table.map((row, place) => [`${row.field} is ${row.treatment}`, row, place] as const))(
      '%s',
      async (_, row, place) => {
        const sample = sampleOf(bridge, table, place)
        if (sample === undefined) return
        const answer = await send(bridge, sample)
        if (row.treatment === 'refused') return expectRefused(answer, row.field, notesOf(table, row.field))
        expect({ status: answer.status, answer: answer.status === 200 || answer.answer }).toEqual({
          status: 200,
          answer: true,
        })
        const plain = await send(bridge, without(sample, row.field) as Json)
        if (row.treatment === 'ignored') expect(answer.sent).toEqual(plain.sent)
        // This field changes only the format of the answer.
        else if (row.field !== 'stream_options') expect(answer.sent).not.toEqual(plain.sent)
      },
    )

    test('a field without a row is rejected with its name unless it is null, or is omitted', async () => {
      if (families.get(name)?.ignoresUnknown) {
        const plain = (await send(bridge, {})).sent
        expect((await send(bridge, { field_of_tomorrow: 1 })).sent).toEqual(plain)
        return
      }
      const { status, answer, sent } = await send(bridge, { field_of_tomorrow: 1 })
      expect([status, sent.length]).toEqual([400, 0])
      expect(answer).toContain("'field_of_tomorrow'")
      expect((await send(bridge, { field_of_tomorrow: null })).status).toBe(200)
    })

    if (bridge === ofChat) {
      test('fields that reasoning models ignore are omitted for them, without an error', async () => {
        const plain = (await send(bridge, { model: 'test-thinker' })).sent
        for (const field of ignoredInChat(traitsOf({}, knownModel('claude-fable-5-1')))) {
          const [sample] = [bridge.samples[field] ?? bridge.samples[`${field}[]`]].flat()
          const value = (sample as Json | undefined)?.[field]
          if (field === 'stop' || value === undefined) continue
          const { status, sent } = await send(bridge, { model: 'test-thinker', [field]: value })
          expect({ field, status, sent }).toEqual({ field, status: 200, sent: plain })
        }
      })
    }

    test('default values of rejected fields are accepted', async () => {
      const plain = (await send(bridge, {})).sent
      for (const { field, treatment, plain: values } of table) {
        if (treatment !== 'refused' || !Array.isArray(values) || !/^\w+$/.test(field)) continue
        for (const value of values) {
          const read = typeof value === 'string' && /^[[{]/.test(value) ? JSON.parse(value) : value
          expect({ field, value, sent: (await send(bridge, { [field]: read })).sent }).toEqual({
            field,
            value,
            sent: plain,
          })
        }
      }
    })
  })
}

/** The reasons for rejecting a field. */
function notesOf(table: readonly BridgedField[], field: string): string[] {
  return table.flatMap((row) => (row.field === field && row.treatment === 'refused' ? [row.note] : []))
}

function expectRefused(
  { status, answer, sent }: Awaited<ReturnType<typeof send>>,
  field: string,
  notes: readonly string[],
): void {
  expect({ status, sent }).toEqual({ status: 400, sent: [] })
  const { error } = JSON.parse(answer)
  const place = new RegExp(`'${field.replaceAll('.', '\\.').replaceAll('[]', '\\[\\d+\\]')}'`)
  expect(error.message).toMatch(place)
  expect(notes.filter((note) => error.message.includes(note))).not.toEqual([])
}
