// Requests for responses as chat requests: what clients send in the middle of a tool loop, and how a chat vendor
// receives each field, item, part and tool.

import { describe, expect, test } from 'bun:test'
import { families } from '../../src/families'
import type { ResponsesBody } from '../../src/families/responses/caller-side'
import { sealReasoning } from '../../src/families/sealed-reasoning'
import { GatewayError } from '../../src/lib/errors'
import { checkFields } from '../../src/request/fields'
import { fixtures } from '../support/answers/fixtures'
import { bridgedModel, requestOf, responsesRequest } from '../support/answers/response-bridges'
import { agents, aiSdk, codex, langchain, newestCodex } from '../support/answers/response-requests'
import type { Json } from '../support/scenario'

const local = bridgedModel('chat', 'local-model')
const thinker = bridgedModel('chat', 'qwen3-thinking', {}, { reasoning: true })
const openai = bridgedModel('chat', 'gpt-5-mini')
const kimi = bridgedModel('chat', 'moonshotai/Kimi-K3')

const sent = (body: Json, model = local): Json => requestOf(responsesRequest(body), model)
const reasoning = (model = kimi, text = 'I should look.') =>
  sealReasoning(responsesRequest(), model, { kind: 'chat', text }) as string

function refusalOf(body: Json, model = local): GatewayError {
  const family = families.get('responses-on-chat')
  if (!family) throw new Error('there is no bridge')
  const parsed = responsesRequest(body)
  try {
    checkFields({ ...model, family }, parsed)
    family.check?.(parsed.body as ResponsesBody, model)
  } catch (error) {
    if (error instanceof GatewayError) return error
    throw error
  }
  throw new Error(`nothing was rejected in ${JSON.stringify(body)}`)
}

test.each(
  fixtures
    .filter(({ family }) => family === 'responses-on-chat')
    .map((record) => [record.name, record] as const),
)('%s is sent as on record', (_, { request, sent: recorded }) => {
  expect(sent(request)).toEqual({ model: 'local-model', ...(recorded as Json) })
})

describe('a request of', () => {
  test('a coding command line', () => {
    expect(sent(codex('foreign'))).toEqual({
      model: 'local-model',
      messages: [
        { role: 'system', content: 'You are a coding agent.\n\n<permissions>Ask first.</permissions>' },
        { role: 'user', content: '<environment_context>cwd: /src</environment_context>\n\nFix the test.' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'call_1',
              type: 'function',
              function: { name: 'exec_command', arguments: '{"cmd":"bun test"}' },
            },
            { id: 'call_2', type: 'function', function: { name: 'mcp__files__list', arguments: '{}' } },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: '1 fail' },
        { role: 'tool', tool_call_id: 'call_2', content: 'a.ts\n\n(Shown in the next message.)' },
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }],
        },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'exec_command',
            description: 'Runs a command.',
            parameters: {
              type: 'object',
              properties: { cmd: { type: 'string' } },
              required: ['cmd'],
              additionalProperties: false,
            },
          },
        },
        {
          type: 'function',
          function: {
            name: 'mcp__files__list',
            description: 'About the tools mcp__files: Files.',
            parameters: { type: 'object', properties: { key: { type: 'string' } } },
          },
        },
      ],
      tool_choice: 'auto',
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  test('the same with tools in the input', () => {
    const { messages, tools } = sent(newestCodex('foreign'))
    expect(tools.map((tool: Json) => tool.function.name)).toEqual([
      'functions__exec',
      'functions__wait',
      'clock__sleep',
      'tool_search',
    ])
    expect(tools[0].function.description).toContain('start: /.+/')
    expect(messages).toEqual([
      { role: 'system', content: 'You are a coding agent.' },
      { role: 'user', content: 'Fix the test.' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'functions__exec', arguments: '{"input":"await run(\\"bun test\\")"}' },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'call_1', content: '1 fail' },
    ])
  })

  test('a toolkit, whose reasoning is returned to a vendor that requires it', () => {
    const [system, user, assistant, result] = sent(aiSdk(reasoning()), kimi).messages
    expect([system.role, user.content, result.content]).toEqual([
      'system',
      'Weather in Rome?',
      '{"degrees":21}',
    ])
    expect(assistant).toMatchObject({
      role: 'assistant',
      content: 'I look.',
      reasoning_content: 'I should look.',
      tool_calls: [{ id: 'call_1' }],
    })
    // Another model's reasoning is dropped, but this vendor rejects a turn without reasoning. Other vendors get none.
    const other = sent(aiSdk(reasoning(bridgedModel('chat', 'deepseek-v4'))), kimi)
    expect(other.messages[2].reasoning_content).toBe(' ')
    expect(JSON.stringify(other)).not.toContain('I should look.')
    const glm = bridgedModel('chat', 'glm-5')
    expect(sent(aiSdk(reasoning(glm)), glm).messages[2].reasoning_content).toBe('I should look.')
    expect(JSON.stringify(sent(aiSdk('foreign'), glm))).not.toContain('reasoning')
    expect(JSON.stringify(sent(aiSdk(reasoning(local)), local))).not.toContain('reasoning')
  })

  test('agents', () => {
    expect(sent(agents())).toMatchObject({
      max_tokens: 500,
      temperature: 0.2,
      parallel_tool_calls: false,
      tools: [{ type: 'function', function: { name: 'weather', strict: true } }],
      response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true } },
    })
    expect(Object.keys(sent(agents())).sort()).toEqual([
      'max_tokens',
      'messages',
      'model',
      'parallel_tool_calls',
      'response_format',
      'temperature',
      'tools',
    ])
  })

  test('chains', () => {
    const { tools, tool_choice: choice, messages, user } = sent(langchain())
    expect(tools[0].function).not.toHaveProperty('strict')
    expect(choice).toEqual({ type: 'function', function: { name: 'weather' } })
    expect(messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ])
    expect(user).toMatch(/^[0-9a-f]{64}$/)
  })
})

const tools = [
  { type: 'function', name: 'a' },
  { type: 'function', name: 'b' },
]

describe('a field:', () => {
  test.each([
    ['max_output_tokens', { max_output_tokens: 50 }, { max_tokens: 50 }],
    ['temperature', { temperature: 0.5 }, { temperature: 0.5 }],
    ['top_p', { top_p: 0.5 }, { top_p: 0.5 }],
    ['top_logprobs', { top_logprobs: 3 }, { logprobs: true, top_logprobs: 3 }],
    ['include', { include: ['message.output_text.logprobs'] }, { logprobs: true }],
    [
      'include, with other values',
      { include: ['web_search_call.results', 'reasoning.encrypted_content'] },
      {},
    ],
    ['text', { text: {} }, {}],
    ['text.format text', { text: { format: { type: 'text' } } }, {}],
    [
      'text.format json_object',
      { text: { format: { type: 'json_object' } } },
      { response_format: { type: 'json_object' } },
    ],
    [
      'text.format json_schema',
      {
        text: {
          format: { type: 'json_schema', name: 'n', schema: {}, description: 'd', strict: false },
        },
      },
      {
        response_format: { type: 'json_schema', json_schema: { name: 'n', schema: {}, description: 'd' } },
      },
    ],
    [
      'a format that an item changes',
      {
        input: [
          { role: 'user', content: 'Hi' },
          { type: 'configuration_update', text: { format: { type: 'json_object' } } },
        ],
      },
      { response_format: { type: 'json_object' } },
    ],
    ['reasoning', { reasoning: { effort: 'high', summary: 'auto', mode: 'pro' } }, {}],
    ['text.verbosity', { text: { verbosity: 'high' } }, {}],
    ['prompt_cache_key', { prompt_cache_key: 'a' }, {}],
    ['service_tier without a price', { service_tier: 'priority' }, {}],
    ['parallel_tool_calls without tools', { parallel_tool_calls: false }, {}],
    ['tool_choice without tools', { tools: [], tool_choice: 'auto' }, {}],
    ['tools that are all dropped', { tools: [{ type: 'web_search' }], tool_choice: 'auto' }, {}],
    [
      'fields without effect behind a bridge',
      {
        store: true,
        max_tool_calls: 3,
        truncation: 'auto',
        metadata: { a: 'b' },
        prompt_cache_options: { prewarm: true },
        prompt_cache_retention: '24h',
        context_management: [{ type: 'compaction' }],
        moderation: {},
        access_programs: [],
        image: {},
        client_metadata: { a: 'b' },
        field_of_tomorrow: 7,
        background: false,
        conversation: null,
        generate: false,
      },
      {},
    ],
  ])('%s', (_, body, fields) => {
    const { model: _model, messages: _messages, ...rest } = sent(body)
    expect(rest).toEqual(fields)
  })

  test('a reasoning model gets an effort and no sampling fields', () => {
    const body = {
      max_output_tokens: 50,
      reasoning: { effort: 'minimal' },
      temperature: 0.5,
      top_logprobs: 2,
    }
    const { model: _model, messages: _messages, ...rest } = sent(body, thinker)
    expect(rest).toEqual({ max_completion_tokens: 50, reasoning_effort: 'minimal' })
    const updated = {
      ...body,
      input: [
        { role: 'user', content: 'Hi' },
        { type: 'configuration_update', reasoning: { effort: 'max' } },
      ],
    }
    expect(sent(updated, thinker).reasoning_effort).toBe('max')
  })

  test("OpenAI's own models support more: the developer role, verbosity, cache keys, allowed tools", () => {
    const body = {
      instructions: 'a',
      input: [
        { role: 'user', content: 'Hi' },
        { role: 'developer', content: 'b' },
      ],
      text: { verbosity: 'low' },
      prompt_cache_key: 'k',
      tools,
      tool_choice: {
        type: 'allowed_tools',
        mode: 'required',
        tools: [{ type: 'function', name: 'b' }, tools[0]],
      },
    }
    expect(sent(body, openai)).toMatchObject({
      messages: [
        { role: 'developer', content: 'a' },
        { role: 'user', content: 'Hi' },
        { role: 'developer', content: 'b' },
      ],
      verbosity: 'low',
      prompt_cache_key: 'k',
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'required',
          tools: [
            { type: 'function', function: { name: 'b' } },
            { type: 'function', function: { name: 'a' } },
          ],
        },
      },
    })
    const other = sent(body, local)
    expect(other.messages).toEqual([
      { role: 'system', content: 'a' },
      { role: 'user', content: 'Hi\n\n<system>\nb\n</system>' },
    ])
    expect(other.tool_choice).toBe('required')
    expect(other.tools.map((tool: Json) => tool.function.name)).toEqual(['a', 'b'])
    expect(Object.keys(other)).not.toContain('prompt_cache_key')
    // Open models of the same vendor are served by other vendors.
    expect(sent(body, bridgedModel('chat', 'openai/gpt-oss-120b')).messages[0].role).toBe('system')
  })

  test('a tier with a price is requested', () => {
    const price = {
      per_1m_input_tokens: '1',
      per_1m_output_tokens: '3',
      service_tiers: { priority: { per_1m_input_tokens: '2', per_1m_output_tokens: '6' } },
    }
    const model = bridgedModel('chat', 'gpt-5-mini', { price })
    expect(sent({ service_tier: 'priority' }, model).service_tier).toBe('priority')
    expect(sent({ service_tier: 'flex' }, model)).not.toHaveProperty('service_tier')
    expect(sent({ service_tier: 'default' }, model)).not.toHaveProperty('service_tier')
  })

  test.each([
    ['none', 'none'],
    ['auto', 'auto'],
    ['required', 'required'],
    [
      { type: 'function', name: 'b' },
      { type: 'function', function: { name: 'b' } },
    ],
  ])('tool_choice %j', (choice, meant) => {
    expect(sent({ tools, tool_choice: choice }).tool_choice).toEqual(meant)
  })

  test('a schema keyword that some vendors reject is omitted', () => {
    const parameters = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: { format: { type: 'string', format: 'date' } },
    }
    expect(
      sent({ tools: [{ type: 'function', name: 'f', parameters }] }).tools[0].function.parameters,
    ).toEqual({
      type: 'object',
      properties: { format: { type: 'string' } },
    })
  })

  test('parts', () => {
    const content = [
      { type: 'input_text', text: 'a' },
      { type: 'input_image', image_url: 'https://example.com/a.png', detail: 'original' },
      { type: 'input_image', image_url: 'https://example.com/b.png', detail: 'low' },
      { type: 'input_file', file_data: 'data:application/pdf;base64,AA', filename: 'a.pdf' },
      { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
    ]
    expect(sent({ input: [{ role: 'user', content }] }).messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'high' } },
          { type: 'image_url', image_url: { url: 'https://example.com/b.png', detail: 'low' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,AA' } },
          { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
        ],
      },
    ])
  })

  test('thinking without output is not a message', () => {
    const input = [
      { role: 'user', content: 'Hi' },
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: reasoning() },
    ]
    expect(sent({ input }, kimi).messages).toEqual([{ role: 'user', content: 'Hi' }])
  })

  test('a limit lowered by the hold is sent', () => {
    const lower = { ...responsesRequest({ max_output_tokens: 500 }), outputTokens: 100 }
    expect(requestOf(lower, local)).toMatchObject({ max_tokens: 100 })
    expect(requestOf({ ...lower, body: { ...lower.body, max_output_tokens: 50 } }, local)).toMatchObject({
      max_tokens: 50,
    })
    expect(requestOf({ ...responsesRequest(), outputTokens: 100 }, thinker)).toMatchObject({
      max_completion_tokens: 100,
    })
  })
})

describe('rejected with its path:', () => {
  const file = (part: Json) => ({
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'a' }, part] }],
  })
  test.each([
    [{ prompt: { id: 'pmpt_1' } }, 'prompt', 'unsupported_parameter'],
    [{ tools: [...tools, { type: 'file_search' }] }, 'tools[2].type', 'unsupported_parameter'],
    [{ tools: [{ type: 'mcp', server_label: 'a' }] }, 'tools[0].type', 'unsupported_parameter'],
    [
      { tools: [{ type: 'shell', environment: { type: 'container_auto' } }] },
      'tools[0].environment.type',
      'unsupported_parameter',
    ],
    [{ tools, tool_choice: { type: 'code_interpreter' } }, 'tool_choice.type', 'unsupported_parameter'],
    [
      { tools: [{ type: 'web_search' }], tool_choice: { type: 'web_search' } },
      'tool_choice',
      'invalid_value',
    ],
    [{ tools: [{ type: 'web_search' }], tool_choice: 'required' }, 'tool_choice', 'invalid_value'],
    [file({ type: 'input_file', file_id: 'f' }), 'input[0].content[1].file_id', 'unsupported_parameter'],
    [file({ type: 'input_image', file_id: 'f' }), 'input[0].content[1].file_id', 'unsupported_parameter'],
    [
      file({ type: 'input_file', file_url: 'https://example.com/a.pdf' }),
      'input[0].content[1].file_url',
      'unsupported_parameter',
    ],
    [
      { input: [{ type: 'compaction_trigger' }, { role: 'user', content: 'a' }] },
      'input[0]',
      'invalid_value',
    ],
    [{ input: [{ type: 'poem' }] }, 'input[0].type', 'invalid_value'],
    [{ input: [] }, 'input', 'missing_required_parameter'],
    [{ reasoning: { effort: 'some' } }, 'reasoning.effort', 'invalid_value', thinker],
    [{ text: { verbosity: 'some' } }, 'text.verbosity', 'invalid_value', openai],
    [{ text: { format: { type: 'xml' } } }, 'text.format.type', 'invalid_value'],
    [
      { text: { format: { type: 'json_schema', schema: {} } } },
      'text.format.name',
      'missing_required_parameter',
    ],
    [
      { text: { format: { type: 'json_schema', name: 'n' } } },
      'text.format.schema',
      'missing_required_parameter',
    ],
    [{ metadata: { a: 7 } }, 'metadata.a', 'invalid_type'],
    [
      { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, index) => [index, 'a'])) },
      'metadata',
      'invalid_value',
    ],
  ] as [Json, string, string, typeof local?][])('%j', (body, param, code, model = local) => {
    const error = refusalOf(body, model)
    expect({ status: error.status, param: error.param, code: error.code as string }).toEqual({
      status: 400,
      param,
      code,
    })
  })
})
