// Requests for responses as messages: what clients send in the middle of a tool loop, each field as a messages vendor
// receives it, and thinking, which is returned byte for byte and keeps the prompt cache valid.

import { describe, expect, test } from 'bun:test'
import type { Model } from '../../src/contract/family'
import { families } from '../../src/families'
import type { ResponsesBody } from '../../src/families/responses/caller-side'
import { sealReasoning, type ThinkingBlock } from '../../src/families/sealed-reasoning'
import { GatewayError } from '../../src/lib/errors'
import { checkFields } from '../../src/request/fields'
import { fixtures } from '../support/answers/fixtures'
import {
  bridgedModel,
  openSeals,
  requestOf,
  responseOf,
  responsesRequest,
} from '../support/answers/response-bridges'
import { agents, aiSdk, codex, langchain, newestCodex } from '../support/answers/response-requests'
import type { Json } from '../support/scenario'

const older = bridgedModel('messages', 'claude-sonnet-4-5', { maxOutputTokens: 64_000 })
const newer = bridgedModel('messages', 'claude-opus-4-6', { maxOutputTokens: 128_000 })
const always = bridgedModel('messages', 'claude-fable-5-1', { maxOutputTokens: 128_000 })
const foreign = bridgedModel('messages', 'kimi-k3')

const sent = (body: Json, model: Model = newer): Json => requestOf(responsesRequest(body), model)

const thought = { thinking: 'I should look.', signature: 'EuYB+/Ck=' }
const hidden = { redacted: 'c2Vjcm V0' }
const sealed = (model = newer, blocks: readonly ThinkingBlock[] = [thought, hidden]) =>
  sealReasoning(responsesRequest(), model, { kind: 'messages', blocks }) as string

function refusalOf(body: Json, model: Model = newer): GatewayError {
  const family = families.get('responses-on-messages')
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
    .filter(({ family }) => family === 'responses-on-messages')
    .map((record) => [record.name, record] as const),
)('%s is sent as on record', (_, { request, sent: recorded }) => {
  expect(sent(request, older)).toEqual({ model: 'claude-sonnet-4-5', ...(recorded as Json) })
})

describe('a request of', () => {
  test('a coding command line: thinking is returned first in its turn, byte for byte', () => {
    const {
      messages,
      thinking,
      output_config: config,
      cache_control: cache,
      system,
      tools,
    } = sent(codex(sealed()))
    expect(system).toBe('You are a coding agent.\n\n<permissions>Ask first.</permissions>')
    expect(messages[1]).toEqual({
      role: 'assistant',
      content: [
        { type: 'thinking', ...thought },
        { type: 'redacted_thinking', data: hidden.redacted },
        { type: 'tool_use', id: 'call_1', name: 'exec_command', input: { cmd: 'bun test' } },
        { type: 'tool_use', id: 'call_2', name: 'mcp__files__list', input: {} },
      ],
    })
    expect(thinking).toEqual({ type: 'adaptive', display: 'summarized' })
    expect(config).toEqual({ effort: 'medium' })
    expect(cache).toEqual({ type: 'ephemeral' })
    expect(tools.map(({ name }: Json) => name)).toEqual(['exec_command', 'mcp__files__list'])
    expect(JSON.stringify(tools)).not.toContain('encrypted')
  })

  test('the same with tools in the input', () => {
    const { messages, tools, system, thinking } = sent(newestCodex(sealed(always)), always)
    expect(system).toBe('You are a coding agent.')
    expect(tools.map(({ name }: Json) => name)).toEqual([
      'functions__exec',
      'functions__wait',
      'clock__sleep',
      'tool_search',
    ])
    expect(messages[1].content.at(-1)).toEqual({
      type: 'tool_use',
      id: 'call_1',
      name: 'functions__exec',
      input: { input: 'await run("bun test")' },
    })
    expect(thinking).toEqual({ type: 'adaptive', display: 'omitted' })
  })

  test('a toolkit', () => {
    const [, assistant, result] = sent(aiSdk(sealed())).messages
    expect(assistant.content.map(({ type }: Json) => type)).toEqual([
      'thinking',
      'redacted_thinking',
      'text',
      'tool_use',
    ])
    expect(result.content).toEqual([
      { type: 'tool_result', tool_use_id: 'call_1', content: [{ type: 'text', text: '{"degrees":21}' }] },
    ])
  })

  test('agents', () => {
    const { tools, tool_choice: choice, output_config: config, temperature, messages } = sent(agents())
    expect(tools[0]).toMatchObject({ name: 'weather', strict: true })
    expect(choice).toEqual({ type: 'auto', disable_parallel_tool_use: true })
    expect(config.format.type).toBe('json_schema')
    expect(config.format).not.toHaveProperty('name')
    expect(temperature).toBe(0.2)
    expect(messages[1].content).toEqual([{ type: 'tool_use', id: 'call_1', name: 'weather', input: {} }])
  })

  test('chains', () => {
    const { tools, tool_choice: choice, metadata } = sent(langchain())
    expect(tools[0]).not.toHaveProperty('strict')
    expect(choice).toEqual({ type: 'tool', name: 'weather' })
    expect(metadata.user_id).toMatch(/^[0-9a-f]{64}$/)
  })
})

const tools = [
  { type: 'function', name: 'a' },
  { type: 'function', name: 'b' },
]

describe('a field:', () => {
  test.each([
    ['max_output_tokens', { max_output_tokens: 50 }, { max_tokens: 50 }],
    ['no limit', {}, { max_tokens: 128_000 }],
    ['temperature', { temperature: 0.5, top_p: 0.5 }, { temperature: 0.5 }],
    ['a temperature above the maximum of messages', { temperature: 1.5, top_p: 0.5 }, { top_p: 0.5 }],
    [
      'text.format json_object',
      { text: { format: { type: 'json_object' } } },
      { system: 'Answer with one JSON object and nothing else.' },
    ],
    [
      'text.format json_schema',
      { text: { format: { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: false } } },
      { output_config: { format: { type: 'json_schema', schema: { type: 'object' } } } },
    ],
    ['prompt_cache_key', { prompt_cache_key: 'k' }, { cache_control: { type: 'ephemeral' } }],
    ['stream', { stream: true }, { stream: true }],
    ['tools that are all dropped', { tools: [{ type: 'web_search' }], tool_choice: 'auto' }, {}],
    [
      'fields without effect behind a bridge',
      {
        service_tier: 'priority',
        include: ['message.output_text.logprobs'],
        text: { verbosity: 'low' },
        top_logprobs: 0,
        store: true,
        max_tool_calls: 3,
        truncation: 'auto',
        metadata: { a: 'b' },
        prompt_cache_retention: '24h',
        context_management: [],
        client_metadata: { a: 'b' },
        field_of_tomorrow: 7,
      },
      {},
    ],
  ])('%s', (_, body, fields) => {
    const { model: _model, messages: _messages, ...rest } = sent(body)
    expect(rest).toEqual({ max_tokens: 128_000, ...fields })
  })

  test.each([
    ['none', { type: 'none' }, ['a', 'b']],
    ['auto', { type: 'auto' }, ['a', 'b']],
    ['required', { type: 'any' }, ['a', 'b']],
    [{ type: 'function', name: 'b' }, { type: 'tool', name: 'b' }, ['a', 'b']],
    [
      { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'b' }] },
      { type: 'auto' },
      ['b'],
    ],
    [{ type: 'allowed_tools', mode: 'required', tools: [tools[1], tools[0]] }, { type: 'any' }, ['a', 'b']],
  ])('tool_choice %j', (choice, meant, names) => {
    const request = sent({ tools, tool_choice: choice })
    expect(request.tool_choice).toEqual(meant)
    expect(request.tools.map(({ name }: Json) => name)).toEqual(names)
  })

  test('parallel_tool_calls', () => {
    const choiceOf = (choice: unknown) =>
      sent({ tools, parallel_tool_calls: false, tool_choice: choice }).tool_choice
    expect(choiceOf(undefined)).toEqual({ type: 'auto', disable_parallel_tool_use: true })
    expect(choiceOf('required')).toEqual({ type: 'any', disable_parallel_tool_use: true })
    expect(choiceOf('none')).toEqual({ type: 'none' })
    expect(sent({ tools, parallel_tool_calls: true })).not.toHaveProperty('tool_choice')
  })

  test('a limit lowered by the hold is sent', () => {
    const lower = { ...responsesRequest({ max_output_tokens: 500 }), outputTokens: 100 }
    expect(requestOf(lower, newer).max_tokens).toBe(100)
    expect(requestOf({ ...lower, outputTokens: 900 }, newer).max_tokens).toBe(500)
  })
})

describe('thinking', () => {
  const omitted = { display: 'omitted' }
  test.each([
    ['newer', undefined, undefined, undefined],
    ['newer', 'none', { type: 'disabled' }, undefined],
    ['newer', 'minimal', { type: 'adaptive', ...omitted }, 'low'],
    ['newer', 'low', { type: 'adaptive', ...omitted }, 'low'],
    ['newer', 'max', { type: 'adaptive', ...omitted }, 'max'],
    ['older', 'none', { type: 'disabled' }, undefined],
    ['older', 'low', { type: 'enabled', budget_tokens: 4_096, ...omitted }, undefined],
    ['older', 'max', { type: 'enabled', budget_tokens: 48_000, ...omitted }, undefined],
    ['foreign', 'low', { type: 'enabled', budget_tokens: 3_072, ...omitted }, undefined],
    ['always', undefined, undefined, undefined],
    ['always', 'high', { type: 'adaptive', ...omitted }, 'high'],
    ['always', 'xhigh', { type: 'adaptive', ...omitted }, 'xhigh'],
  ] as const)('of a model that is %s, by the effort %s', (kind, effort, thinking, word) => {
    const request = sent(effort ? { reasoning: { effort } } : {}, { newer, older, foreign, always }[kind])
    expect(request.thinking).toEqual(thinking as Json)
    expect(request.output_config?.effort).toBe(word as string)
  })

  test.each([
    'claude-3-7-sonnet-20250219',
    'claude-sonnet-4-20250514',
    'claude-opus-4-1-20250805',
    'claude-haiku-4-5',
    'anthropic.claude-sonnet-4-5-v1:0',
  ])('%s is sent a number of tokens', (name) => {
    expect(sent({ reasoning: { effort: 'low' } }, bridgedModel('messages', name)).thinking.type).toBe(
      'enabled',
    )
  })

  test.each([
    'claude-opus-4-6',
    'claude-sonnet-4-6-20260101',
    'claude-opus-4-10',
    'claude-haiku-5-5',
    'claude-opus-5',
  ])('%s decides itself', (name) => {
    expect(sent({ reasoning: { effort: 'low' } }, bridgedModel('messages', name)).thinking.type).toBe(
      'adaptive',
    )
  })

  test('a summary is returned on request', () => {
    for (const summary of ['auto', 'concise', 'detailed']) {
      expect(sent({ reasoning: { effort: 'low', summary } }).thinking.display).toBe('summarized')
    }
    expect(sent({ reasoning: { summary: 'auto' } }, always).thinking).toEqual({
      type: 'adaptive',
      display: 'summarized',
    })
    expect(sent({ reasoning: { summary: 'auto' } })).not.toHaveProperty('thinking')
  })

  test('is off if a tool is required or the limit is too low', () => {
    const forced = { tools, tool_choice: 'required', reasoning: { effort: 'low' } }
    expect(sent(forced).thinking).toEqual({ type: 'disabled' })
    expect(sent({ reasoning: { effort: 'low' }, max_output_tokens: 1_200 }, older).thinking).toEqual({
      type: 'disabled',
    })
  })

  test('sampling fields are only sent without thinking', () => {
    expect(sent({ temperature: 0.5, reasoning: { effort: 'low' } })).not.toHaveProperty('temperature')
    expect(sent({ temperature: 0.5, reasoning: { effort: 'none' } }).temperature).toBe(0.5)
  })

  const loop = (reasoning: Json[]) => ({
    input: [
      { role: 'user', content: 'Hi' },
      ...reasoning,
      { type: 'function_call', call_id: 'call_1', name: 'a', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'fine' },
    ],
    tools,
    reasoning: { effort: 'low' },
    temperature: 0.5,
  })
  const item = (encrypted: string) => ({
    type: 'reasoning',
    id: 'rs_1',
    summary: [],
    encrypted_content: encrypted,
  })

  test('missing from the last calls: an older model does not think in this request', () => {
    expect(sent(loop([item(sealed(older))]), older).thinking.type).toBe('enabled')
    for (const lost of [[], [item('gAAAA_foreign')], [item(sealed(older, []))]]) {
      const request = sent(loop(lost), older)
      expect(request.thinking).toEqual({ type: 'disabled' })
      expect(JSON.stringify(request.messages)).not.toContain('thinking')
      expect(request.temperature).toBe(0.5)
    }
    // A newer model accepts calls without thinking.
    expect(sent(loop([]), newer).thinking.type).toBe('adaptive')
    // A finished loop needs no reasoning.
    const { input, ...rest } = loop([])
    const ended = [...input, { role: 'assistant', content: 'Done.' }, { role: 'user', content: 'Thanks' }]
    expect(sent({ ...rest, input: ended }, older).thinking.type).toBe('enabled')
  })

  test('of another account is dropped, and so is damaged thinking', () => {
    const own = loop([item(sealed())])
    const stranger = responsesRequest(own, { ...openSeals, open: () => undefined })
    expect(JSON.stringify(requestOf(stranger, newer).messages)).not.toContain('thinking')
    expect(JSON.stringify(sent(loop([item(`${sealed()}x`)])).messages)).not.toContain('thinking')
  })
})

describe('a loop of 20 turns with thinking', () => {
  test('each request begins with the whole previous one, so that the cache is hit', () => {
    const tool = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }
    const input: Json[] = [{ role: 'user', content: 'Look twenty times.' }]
    let before: Json | undefined
    for (let turn = 0; turn < 20; turn++) {
      const body = {
        input,
        tools: [tool],
        reasoning: { effort: 'high', summary: 'auto' },
        prompt_cache_key: 'k',
        store: false,
      }
      const request = sent(body)
      expect(request.cache_control).toEqual({ type: 'ephemeral' })
      expect(request.thinking).toEqual({ type: 'adaptive', display: 'summarized' })
      if (before) {
        const { messages, ...rest } = request
        const { messages: earlier, ...same } = before
        expect(rest).toEqual(same)
        expect(JSON.stringify(messages.slice(0, earlier.length))).toBe(JSON.stringify(earlier))
        const answered = messages[earlier.length].content
        expect(answered[0]).toEqual({
          type: 'thinking',
          thinking: `Look ${turn - 1}.`,
          signature: `sig${turn - 1}=`,
        })
        expect(messages.length).toBe(earlier.length + 2)
      }
      before = request
      // The caller keeps the items of the answer and adds the output.
      const reply = {
        type: 'message',
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: `Look ${turn}.`, signature: `sig${turn}=` },
          { type: 'text', text: `Now ${turn}.` },
          { type: 'tool_use', id: `toolu_${turn}`, name: 'look', input: { deep: { turn } } },
        ],
        stop_reason: 'tool_use',
        usage: { input_tokens: 1, output_tokens: 1 },
      }
      const answer = { ...openSeals, id: `resp_${turn.toString(16).padStart(32, '0')}` }
      const { output } = responseOf(reply, responsesRequest(body, answer), newer, {}) as Json
      input.push(...output, {
        type: 'function_call_output',
        call_id: `toolu_${turn}`,
        output: `seen ${turn}`,
      })
    }
  })
})

describe('rejected with its path:', () => {
  const part = (content: Json) => ({ input: [{ role: 'user', content: [content] }] })
  test.each([
    [{ top_logprobs: 2 }, 'top_logprobs', 'unsupported_value'],
    [{ prompt: { id: 'pmpt_1' } }, 'prompt', 'unsupported_parameter'],
    [{ tools: [{ type: 'code_interpreter' }] }, 'tools[0].type', 'unsupported_parameter'],
    [
      { input: [{ type: 'additional_tools', tools: [{ type: 'mcp' }] }] },
      'input[0].tools[0].type',
      'unsupported_parameter',
    ],
    [
      part({ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }),
      'input[0].content[0].type',
      'unsupported_value',
    ],
    [part({ type: 'input_image', image_url: 'a.png' }), 'input[0].content[0].image_url', 'invalid_value'],
    [
      part({ type: 'input_file', file_data: 'data:application/zip;base64,AA' }),
      'input[0].content[0].file_data',
      'unsupported_parameter',
    ],
    [part({ type: 'input_file', file_data: 'JVBERi0=' }), 'input[0].content[0].file_data', 'invalid_value'],
    [part({ type: 'input_file', file_id: 'f' }), 'input[0].content[0].file_id', 'unsupported_parameter'],
    [{ input: [{ role: 'developer', content: 'a' }] }, 'input', 'invalid_value'],
    [{ reasoning: { effort: 'some' } }, 'reasoning.effort', 'invalid_value'],
    [{ text: { verbosity: 'some' } }, 'text.verbosity', 'invalid_value'],
  ])('%j', (body, param, code) => {
    const error = refusalOf(body as Json)
    expect({ status: error.status, param: error.param, code: error.code as string }).toEqual({
      status: 400,
      param,
      code,
    })
  })
})
