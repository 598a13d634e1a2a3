// Defaults that clients send with every request: they are omitted if they cannot be served, and a header of the answer
// names them. A forced call is rejected instead.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

const tokens = { per_1m_input_tokens: '1', per_1m_output_tokens: '3' }
const bedrockModels = ['opus-4-8', 'opus-4-6'].flatMap((name) =>
  ['anthropic-messages', 'bedrock-converse'].map((family): [string, ModelConfig] => [
    `${family}-${name}`,
    { family, upstream: 'bedrock', upstreamModel: `us.anthropic.claude-${name}`, price: tokens },
  ]),
)
let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({
    balance: '100',
    models: {
      native: { family: 'openai-responses', upstream: 'openai', upstreamModel: 'gpt-5-mini', price: tokens },
      searcher: {
        family: 'openai-responses',
        upstream: 'openai',
        upstreamModel: 'gpt-5-mini',
        price: { ...tokens, per_1k_web_searches: '10' },
      },
      ...Object.fromEntries(bedrockModels),
    },
  })
})
afterAll(() => gateway.close())

async function ask(path: string, body: Json, headers: Record<string, string> = {}) {
  const before = gateway.sandbox.calls.length
  const response = await gateway.post(path, body, headers)
  const text = await response.text()
  return {
    status: response.status,
    ignored: response.headers.get('x-gateway-ignored'),
    text,
    sent: gateway.sandbox.calls.slice(before).map(({ body: sent }) => JSON.parse(sent) as Json),
  }
}

const read = { type: 'function', name: 'read_file', parameters: { type: 'object', properties: {} } }

/** The models by the families that serve responses: the vendor's own, behind chat and behind messages. */
const models = ['native', 'test-chat', 'test-messages']

describe.each(models)('responses of %s', (model) => {
  // The body of Cline's openai-native provider, which offers images in each request.
  const cline = {
    model,
    instructions: 'You are Cline.',
    input: [{ role: 'user', content: [{ type: 'input_text', text: 'Hello' }] }],
    tools: [read, { type: 'image_generation' }],
    reasoning: { effort: 'medium', summary: 'auto' },
  }

  test.each([false, true])(
    'a tool for images is left out, and a header says so (stream: %p)',
    async (stream) => {
      const { status, ignored, sent, text } = await ask('/v1/responses', { ...cline, stream })
      expect({ status, ignored, text: status === 200 || text }).toEqual({
        status: 200,
        ignored: 'image_generation',
        text: true,
      })
      expect(sent).toHaveLength(1)
      expect(JSON.stringify(sent)).toContain('read_file')
      expect(JSON.stringify(sent)).not.toContain('image_generation')
    },
  )

  test('a tool for images is also left out if it is in an item, or the only tool', async () => {
    const added = { type: 'additional_tools', role: 'developer', tools: [read, { type: 'image_generation' }] }
    const inItem = await ask('/v1/responses', { ...cline, input: [...cline.input, added], tools: [read] })
    expect([inItem.status, inItem.ignored]).toEqual([200, 'image_generation'])
    const alone = await ask('/v1/responses', {
      ...cline,
      tools: [{ type: 'image_generation', size: 'auto' }],
    })
    expect([alone.status, alone.ignored]).toEqual([200, 'image_generation'])
    expect(alone.sent[0]).not.toHaveProperty('tools')
  })

  test('searches are named too, and nothing where nothing is left out', async () => {
    const tools = [{ type: 'web_search_preview' }, read, { type: 'image_generation' }]
    const both = await ask('/v1/responses', { ...cline, tools })
    expect([both.status, both.ignored]).toEqual([200, 'web_search, image_generation'])
    expect((await ask('/v1/responses', { ...cline, tools: [read] })).ignored).toBeNull()
  })

  test('a tool that must be called is rejected', async () => {
    const forced = { ...cline, tool_choice: { type: 'image_generation' } }
    const { status, text, sent } = await ask('/v1/responses', forced)
    expect({ status, sent }).toEqual({ status: 400, sent: [] })
    expect(JSON.parse(text).error.param).toStartWith('tool_choice')
  })
})

test('a search that has a price is sent, and not named', async () => {
  const tools = [{ type: 'web_search' }, { type: 'image_generation' }]
  const { ignored, sent } = await ask('/v1/responses', { model: 'searcher', input: 'Hello', tools })
  expect(ignored).toBe('image_generation')
  expect(sent[0].tools).toEqual([{ type: 'web_search' }])
})

describe.each(['anthropic-messages', 'bedrock-converse'])('strict tools of %s at Bedrock', (family) => {
  const parameters = { type: 'object', properties: {} }
  const requests: [path: string, body: Json][] = [
    [
      '/v1/chat/completions',
      {
        messages: say('Hello!'),
        tools: [{ type: 'function', function: { name: 'look', parameters, strict: true } }],
      },
    ],
    [
      '/v1/messages',
      {
        max_tokens: 100,
        messages: say('Hello!'),
        tools: [{ name: 'look', input_schema: parameters, strict: true }],
      },
    ],
    [
      '/v1/responses',
      { input: 'Hello!', tools: [{ type: 'function', name: 'look', parameters, strict: true }] },
    ],
  ]

  test.each(requests)(
    '%s: a model that rejects them gets the tool, and a header says so',
    async (path, body) => {
      const { status, ignored, sent } = await ask(path, { ...body, model: `${family}-opus-4-8` })
      expect([status, ignored]).toEqual([200, 'tools[].strict'])
      expect(JSON.stringify(sent)).toContain('look')
      expect(JSON.stringify(sent)).not.toContain('strict')
    },
  )

  test.each(requests)('%s: others get them', async (path, body) => {
    const { status, ignored, sent } = await ask(path, { ...body, model: `${family}-opus-4-6` })
    expect([status, ignored]).toEqual([200, null])
    expect(JSON.stringify(sent)).toContain('"strict":true')
  })
})

test('names of other authors than users are left out for xAI, and a header says so', async () => {
  const messages = [
    { role: 'system', name: 'rules', content: 'Be short.' },
    { role: 'user', name: 'ann', content: 'Hello' },
    { role: 'assistant', name: 'bob', content: 'Hi' },
    { role: 'user', content: 'Where?' },
  ]
  const { status, ignored, sent } = await ask('/v1/chat/completions', { model: 'test-xai', messages })
  expect([status, ignored]).toEqual([200, 'messages[].name'])
  expect(sent[0].messages.map(({ name }: Json) => name)).toEqual([undefined, 'ann', undefined, undefined])
  const users = await ask('/v1/chat/completions', { model: 'test-xai', messages: messages.slice(1, 2) })
  expect([users.status, users.ignored]).toEqual([200, null])
})

describe('an empty list of tools', () => {
  const chat = { model: 'test-chat', messages: say('Hello!') }

  // LangChain's bind_tools([]) and agents without tools, with the other fields that they send.
  test.each([
    [{ tools: [] }, 'tools'],
    [
      { tools: [], tool_choice: 'auto', parallel_tool_calls: true },
      'tools, tool_choice, parallel_tool_calls',
    ],
    [{ tools: [], tool_choice: 'none', stream: true }, 'tools, tool_choice'],
    [{ functions: [], function_call: 'auto' }, 'functions, function_call'],
  ])('%j is not sent to a vendor that rejects it', async (fields, named) => {
    const { status, ignored, sent } = await ask('/v1/chat/completions', { ...chat, ...fields })
    expect({ status, ignored }).toEqual({ status: 200, ignored: named })
    expect(sent[0]).not.toContainAnyKeys(['tools', 'functions', 'tool_choice', 'parallel_tool_calls'])
  })

  test('is sent to the vendor, which rejects it, if a call is forced', async () => {
    const { status, ignored } = await ask('/v1/chat/completions', {
      ...chat,
      tools: [],
      tool_choice: 'required',
    })
    expect({ status, ignored }).toEqual({ status: 400, ignored: null })
  })

  test.each(models)('is served by %s in every dialect', async (model) => {
    for (const [path, body] of [
      ['/v1/chat/completions', { messages: say('Hello!') }],
      ['/v1/messages', { messages: say('Hello!'), max_tokens: 50 }],
      ['/v1/responses', { input: 'Hello!' }],
    ] as const) {
      const { status, text } = await ask(path, { model, tools: [], ...body })
      expect({ path, status, text: status === 200 || text }).toEqual({ path, status: 200, text: true })
    }
  })
})

describe('the older name of an output format, as litellm sends it', () => {
  const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
  const body = {
    model: 'test-messages',
    max_tokens: 100,
    messages: say('Where?'),
    output_format: { type: 'json_schema', schema },
  }
  const beta = { 'anthropic-version': '2023-06-01', 'anthropic-beta': 'structured-outputs-2025-11-13' }

  test('is served with its beta header, and rejected without', async () => {
    const { status, text, sent } = await ask('/v1/messages', body, beta)
    expect(status).toBe(200)
    expect(sent[0].output_format).toEqual(body.output_format)
    expect(JSON.parse(JSON.parse(text).content[0].text)).toEqual({ city: expect.any(String) })
    const without = await ask('/v1/messages', body)
    expect(without.status).toBe(400)
    expect(without.text).toContain('output_format: Extra inputs are not permitted')
  })
})
