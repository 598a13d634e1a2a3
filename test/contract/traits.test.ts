// Rules that vendors enforce for models, in all dialects, streamed and not: fields that a model rejects are never sent
// to it. The test vendor accepts and records everything; the rules are from the vendors' own pages, not from the table
// of traits.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

type Dialect = 'chat' | 'messages' | 'responses'
const dialects: readonly Dialect[] = ['chat', 'messages', 'responses']
const paths = { chat: '/v1/chat/completions', messages: '/v1/messages', responses: '/v1/responses' }

/** The vendor: its last request as text, and how many there were. */
let received = ''
let requests = 0
let vendor: ReturnType<typeof Bun.serve>
let gateway: TestGateway

const usage = { input_tokens: 5, output_tokens: 1 }
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: null, usage }
const answers: Record<string, { reply: Json; events: Json[]; end?: string }> = {
  '/messages': {
    reply: { ...message, content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' },
    events: [
      { type: 'message_start', message: { ...message, content: [] } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hi' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
      { type: 'message_stop' },
    ],
  },
  '/chat/completions': {
    reply: {
      object: 'chat.completion',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
    },
    events: [
      {
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta: { role: 'assistant', content: 'Hi' } }],
      },
      { object: 'chat.completion.chunk', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
      {
        object: 'chat.completion.chunk',
        choices: [],
        usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
      },
    ],
    end: '[DONE]',
  },
}

function answerTo(path: string, stream: boolean): Response {
  const answer = Object.entries(answers).find(([name]) => path.endsWith(name))?.[1]
  if (!answer) return new Response(null, { status: 404 })
  if (!stream) return Response.json(answer.reply)
  const data = [...answer.events.map((event) => JSON.stringify(event)), ...(answer.end ? [answer.end] : [])]
  return new Response(data.map((each) => `data: ${each}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })
}

const onMessages = (upstreamModel: string, more: Partial<ModelConfig> = {}): ModelConfig => ({
  family: 'anthropic-messages',
  upstream: 'claude',
  upstreamModel,
  free: true,
  ...more,
})
const onChat = (upstreamModel: string): ModelConfig => ({
  family: 'openai-chat',
  upstream: 'completions',
  upstreamModel,
  free: true,
})

beforeAll(async () => {
  vendor = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    development: false,
    async fetch(request) {
      requests++
      received = await request.text()
      return answerTo(new URL(request.url).pathname, JSON.parse(received).stream === true)
    },
  })
  const baseUrl = `http://127.0.0.1:${vendor.port}`
  gateway = await startTestGateway({
    models: {
      'opus-5-5': onMessages('claude-opus-5-5'),
      'sonnet-5-5': onMessages('anthropic/claude-sonnet-5.5'),
      'fable-5-1': onMessages('claude-fable-5-1'),
      'haiku-5-5': onMessages('claude-haiku-5-5'),
      'haiku-4-5': onMessages('claude-haiku-4-5-20251001'),
      'own-words': onMessages('claude-opus-5-5', { traits: { forcedToolChoice: 'always' } } as Json),
      unknown: onMessages('house-model'),
      deepseek: onChat('deepseek-v4-flash'),
      qwen: onChat('qwen3.8-max'),
      'gpt-5-mini': onChat('gpt-5-mini'),
      'gpt-6.1-sol': onChat('gpt-6.1-sol'),
      'gpt-6-luna': onChat('gpt-6-luna'),
      o3: onChat('o3-2025-04-16'),
      gemini: onChat('google/gemini-3-flash-preview'),
      shorthand: { ...onChat('house-thinker'), reasoning: true },
    },
    upstreams: {
      claude: { kind: 'anthropic', baseUrl, apiKey: 'none' },
      completions: { kind: 'openai', baseUrl, apiKey: 'none' },
    },
  })
})

afterAll(async () => {
  await gateway.close()
  await vendor.stop(true)
})

const tool = { name: 'look', description: 'Looks', parameters: { type: 'object', properties: {} } }
const withTools = {
  chat: { tools: [{ type: 'function', function: tool }] },
  messages: { tools: [{ name: 'look', description: 'Looks', input_schema: tool.parameters }] },
  responses: { tools: [{ type: 'function', ...tool }] },
}
const forced: Record<Dialect, Json[]> = {
  chat: ['required', { type: 'function', function: { name: 'look' } }].map((tool_choice) => ({
    ...withTools.chat,
    tool_choice,
  })),
  messages: [{ type: 'any' }, { type: 'tool', name: 'look' }].map((tool_choice) => ({
    ...withTools.messages,
    tool_choice,
  })),
  responses: ['required', { type: 'function', name: 'look' }].map((tool_choice) => ({
    ...withTools.responses,
    tool_choice,
  })),
}
const turns = [
  { role: 'user', content: 'Count.' },
  { role: 'assistant', content: 'One, two,' },
]
const prefilled: Record<Dialect, Json> = {
  chat: { messages: turns },
  messages: { messages: turns },
  responses: { input: turns },
}

/** Sends a request in a dialect: returns the status, the error if any, and the vendor's request; undefined without a call. */
async function ask(dialect: Dialect, model: string, body: Json, stream: boolean) {
  const before = requests
  const plain = {
    chat: { messages: [{ role: 'user', content: 'Hi' }] },
    messages: { max_tokens: 64_000, messages: [{ role: 'user', content: 'Hi' }] },
    responses: { input: 'Hi', max_output_tokens: 64_000 },
  }[dialect]
  const response = await gateway.post(paths[dialect], { model, ...plain, ...body, ...(stream && { stream }) })
  const text = await response.text()
  return {
    status: response.status,
    error: response.status === 200 ? undefined : (JSON.parse(text).error as Json),
    sent: requests === before ? undefined : (JSON.parse(received) as Json),
  }
}

/** Every dialect, streamed and not. */
const everyWay = dialects.flatMap((dialect) => [false, true].map((stream) => [dialect, stream] as const))
const refusing = ['opus-5-5', 'sonnet-5-5', 'fable-5-1'] as const

describe.each(everyWay)('%s (stream: %p)', (dialect, stream) => {
  const field = (message: Json) => message.error.param ?? message.error.message

  test.each([...refusing, 'haiku-5-5'])('%s is sent no sampling fields', async (model) => {
    for (const body of [{ temperature: 0 }, { top_p: 0.5 }, { temperature: 1, top_p: 1 }]) {
      const { status, sent } = await ask(dialect, model, body, stream)
      expect(status).toBe(200)
      for (const name of ['temperature', 'top_p', 'top_k']) expect(sent).not.toHaveProperty(name)
    }
    if (dialect === 'responses') return
    const { status, sent } = await ask(dialect, model, { top_k: 5 }, stream)
    expect([status, 'top_k' in sent]).toEqual([200, false])
  })

  test.each(refusing)('%s rejects a forced tool, and the error names the field', async (model) => {
    for (const body of forced[dialect]) {
      const refused = await ask(dialect, model, body, stream)
      expect([refused.status, refused.sent]).toEqual([400, undefined])
      expect(field(refused as Json)).toContain('tool_choice')
    }
    const { status, sent } = await ask(dialect, model, withTools[dialect], stream)
    expect([status, sent.tools.length]).toEqual([200, 1])
  })

  test.each([...refusing, 'haiku-5-5'])('%s rejects the beginning of its answer', async (model) => {
    const refused = await ask(dialect, model, prefilled[dialect], stream)
    expect([refused.status, refused.sent]).toEqual([400, undefined])
    expect(field(refused as Json)).toContain(dialect === 'responses' ? 'input' : 'messages[1]')
  })

  test('claude-haiku-5-5 takes a forced tool', async () => {
    for (const body of forced[dialect]) {
      const { status, sent } = await ask(dialect, 'haiku-5-5', body, stream)
      expect([status, ['any', 'tool'].includes(sent.tool_choice.type)]).toEqual([200, true])
    }
  })

  test('claude-haiku-4-5 is sent a number of tokens, and no effort', async () => {
    const effort = {
      chat: { reasoning_effort: 'low' },
      messages: { output_config: { effort: 'low' } },
      responses: { reasoning: { effort: 'low' } },
    }[dialect]
    const body = { ...effort, ...(dialect === 'chat' && { max_completion_tokens: 64_000 }) }
    const { status, sent } = await ask(dialect, 'haiku-4-5', body, stream)
    expect(status).toBe(200)
    expect(sent.thinking).toMatchObject({ type: 'enabled', budget_tokens: 4_096 })
    expect(sent).not.toHaveProperty('output_config')
  })

  test('a tool that must be called turns thinking off where the two exclude each other', async () => {
    for (const body of forced[dialect]) {
      const deepseek = await ask(dialect, 'deepseek', body, stream)
      expect([deepseek.status, deepseek.sent.thinking]).toEqual([200, { type: 'disabled' }])
      expect(deepseek.sent).not.toHaveProperty('reasoning_effort')
      const qwen = await ask(dialect, 'qwen', body, stream)
      expect([qwen.status, qwen.sent.enable_thinking]).toEqual([200, false])
      for (const { sent } of [deepseek, qwen]) expect(sent.tool_choice).toBeTruthy()
    }
    const { sent } = await ask(dialect, 'deepseek', withTools[dialect], stream)
    expect(sent).not.toHaveProperty('thinking')
  })

  test('`reasoning: true` stands for the traits of a model whose name is not known', async () => {
    const { status, sent } = await ask(dialect, 'shorthand', { temperature: 0.5, top_p: 0.5 }, stream)
    expect([status, 'temperature' in sent, 'top_p' in sent, 'max_tokens' in sent]).toEqual([
      200,
      false,
      false,
      false,
    ])
    if (dialect !== 'chat') expect(sent.max_completion_tokens).toBe(64_000)
  })

  test('o3 is not sent how many tools it may call at once', async () => {
    const one = {
      chat: { parallel_tool_calls: false },
      messages: { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
      responses: { parallel_tool_calls: false },
    }[dialect]
    const { status, sent } = await ask(dialect, 'o3', { ...withTools[dialect], ...one }, stream)
    expect([status, 'parallel_tool_calls' in sent]).toEqual([200, false])
  })

  if (dialect !== 'messages') {
    test('an effort that the caller wrote and the model lacks is rejected with those that it has', async () => {
      const name = dialect === 'chat' ? 'reasoning_effort' : 'reasoning.effort'
      const wish = (effort: string) =>
        dialect === 'chat' ? { reasoning_effort: effort } : { reasoning: { effort } }
      for (const model of refusing) {
        const { status, error, sent } = await ask(dialect, model, wish('none'), stream)
        expect([status, sent, error?.param]).toEqual([400, undefined, name])
        expect(error?.message).toContain("Supported values are: 'low', 'medium', 'high', 'xhigh', and 'max'")
      }
      const { status, sent } = await ask(dialect, 'haiku-5-5', wish('none'), stream)
      expect([status, sent.thinking]).toEqual([200, { type: 'disabled' }])
    })
  }

  if (dialect !== 'responses') {
    test.each(refusing)('%s cannot stop thinking: its lowest effort is meant', async (model) => {
      const { status, sent } = await ask(dialect, model, { thinking: { type: 'disabled' } }, stream)
      expect([status, 'thinking' in sent, sent.output_config]).toEqual([200, false, { effort: 'low' }])
    })

    test.each([...refusing, 'haiku-5-5'])('%s is sent an effort instead of a budget', async (model) => {
      const thinking = { type: 'enabled', budget_tokens: 10_000, display: 'summarized' }
      const { status, sent } = await ask(dialect, model, { thinking }, stream)
      expect([status, sent.thinking, sent.output_config]).toEqual([
        200,
        { type: 'adaptive', display: 'summarized' },
        { effort: 'medium' },
      ])
    })
  }
})

describe.each([false, true])('messages behind chat completions (stream: %p)', (stream) => {
  test.each([
    ['gpt-5-mini', 'minimal'],
    ['gpt-6.1-sol', 'low'],
    ['gpt-6-luna', 'none'],
    ['gemini', 'minimal'],
    // It cannot stop thinking, and which efforts it takes is not known.
    ['shorthand', undefined],
  ])('thinking is turned off on %s by the effort %s', async (model, effort) => {
    const { status, sent } = await ask('messages', model, { thinking: { type: 'disabled' } }, stream)
    expect([status, sent.reasoning_effort]).toEqual([200, effort])
  })

  test('and on a model with a switch by the switch', async () => {
    const off = { thinking: { type: 'disabled' } }
    expect((await ask('messages', 'deepseek', off, stream)).sent.thinking).toEqual(off.thinking)
    expect((await ask('messages', 'qwen', off, stream)).sent).toMatchObject({ enable_thinking: false })
  })
})

describe('a native request', () => {
  const head = '{ "model":"MODEL", "max_tokens":64000,\n "messages":[{"role":"user","content":"Hi 1.0"}]'
  const bytes = (model: string, rest = '') => `${head.replace('MODEL', model)}${rest}}`
  const send = async (text: string) => {
    const response = await gateway.post('/v1/messages', text)
    await response.text()
    return response.status
  }

  test.each([
    ['opus-5-5', 'claude-opus-5-5', ', "thinking":{"type":"adaptive"},"output_config":{ "effort":"max" }'],
    ['haiku-4-5', 'claude-haiku-4-5-20251001', ', "thinking":{"type":"enabled","budget_tokens":2e3}'],
    ['haiku-4-5', 'claude-haiku-4-5-20251001', ', "temperature":0.50, "top_k":3'],
    [
      'unknown',
      'house-model',
      ', "temperature":0.50, "thinking":{"type":"adaptive"}, "tool_choice":{"type":"any"}',
    ],
  ])('for %s passes byte for byte where nothing is forbidden', async (model, name, rest) => {
    expect(await send(bytes(model, rest))).toBe(200)
    expect(received).toBe(bytes(name, rest))
  })

  test('keeps all bytes except those of forbidden fields', async () => {
    const rest =
      ', "temperature":0.50, "output_config":{ "format":{"type":"json_schema","schema":{"maximum":1.0}} }'
    expect(await send(bytes('opus-5-5', `${rest}, "thinking":{"type":"disabled"}`))).toBe(200)
    expect(received).toBe(
      bytes(
        'claude-opus-5-5',
        ', "output_config":{ "format":{"type":"json_schema","schema":{"maximum":1.0}} ,"effort":"low"}',
      ),
    )
  })

  test('is sent without thinking to a model that cannot think and be forced', async () => {
    const rest = { ...forced.messages[0], thinking: { type: 'enabled', budget_tokens: 2_000 } }
    const { sent } = await ask('messages', 'haiku-4-5', rest, false)
    expect(sent.thinking).toEqual({ type: 'disabled' })
  })

  test('with an unknown effort is rejected, and with one below the lowest gets the lowest', async () => {
    const { status, error } = await ask(
      'messages',
      'opus-5-5',
      { output_config: { effort: 'minimal' } },
      false,
    )
    expect(status).toBe(200)
    expect(error).toBeUndefined()
    const refused = await ask('messages', 'opus-5-5', { output_config: { effort: 'extreme' } }, false)
    expect([refused.status, refused.sent]).toEqual([400, undefined])
    expect(refused.error?.message).toContain("'output_config.effort'")
  })

  test('has no higher effort than a model takes with thinking turned off', async () => {
    const off = { thinking: { type: 'disabled' }, output_config: { effort: 'xhigh' } }
    const { sent } = await ask('messages', 'haiku-5-5', off, false)
    expect([sent.thinking, sent.output_config]).toEqual([{ type: 'disabled' }, { effort: 'high' }])
  })

  test('is judged by the traits of the configuration first', async () => {
    const { status, sent } = await ask(
      'messages',
      'own-words',
      { ...forced.messages[0], temperature: 0 },
      false,
    )
    expect([status, sent.tool_choice, 'temperature' in sent]).toEqual([200, { type: 'any' }, false])
  })
})
