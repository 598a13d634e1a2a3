// Requests with tools for models whose vendor rejects tools together with an effort in chat completions. The gateway
// sends them as responses, without a difference for callers. The simulated vendor rejects in the words of the recorded
// refusals.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { generateText, jsonSchema, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { startSandbox } from '../../sandbox'
import { describeAccount } from '../../src/accounts/accounts'
import type { ModelConfig } from '../../src/config/schema'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import type { Json } from '../support/scenario'

setDefaultTimeout(60_000)

const price = { per_1m_input_tokens: '1', per_1m_cached_input_tokens: '0.1', per_1m_output_tokens: '2' }
/** A model of the vendor that names both of its APIs. */
const both = (upstreamModel: string): ModelConfig => ({
  family: ['openai-chat', 'openai-responses'],
  upstream: 'openai',
  upstreamModel,
  price,
})
const chatOnly = (upstreamModel: string, upstream = 'openai'): ModelConfig => ({
  ...both(upstreamModel),
  family: 'openai-chat',
  upstream,
})

/** Models that think unless thinking is turned off. */
const thinkers = ['luna', 'luna-5.6', 'luna-chat'] as const

let gateway: TestGateway
let chat: OpenAI
let messages: Anthropic

beforeAll(async () => {
  const sandbox = startSandbox({ record: true })
  const azure = { kind: 'azure', baseUrl: sandbox.baseUrls.azure, apiKey: sandbox.secrets.azure }
  gateway = await startTestGateway({
    sandbox,
    models: {
      luna: both('gpt-6-luna'),
      'luna-5.6': both('gpt-5.6-luna'),
      'luna-chat': chatOnly('gpt-6-luna'),
      astra: chatOnly('gpt-6-astra'),
      mini: both('gpt-5.4-mini'),
      'mini-chat': chatOnly('gpt-5.4-mini'),
      older: both('gpt-5-mini'),
      'of-responses': { ...both('gpt-6-luna'), family: 'openai-responses' },
      azure: chatOnly('gpt-6-luna', 'azure'),
      'azure-old': chatOnly('gpt-6-luna', 'azure-old'),
      'azure-older': chatOnly('gpt-6-luna', 'azure-older'),
      spread: { ...chatOnly('gpt-6-luna'), upstream: { broken: 1, openai: 1 } },
      routed: { route: ['broken', 'luna'] },
      broken: chatOnly('gpt-6-luna', 'broken'),
      'of-all': { route: ['of-responses', 'older'] },
    },
    upstreams: {
      broken: { kind: 'openai', baseUrl: 'http://127.0.0.1:1', apiKey: 'none' },
      'azure-old': { ...azure, apiVersion: '2025-04-01-preview' },
      'azure-older': { ...azure, apiVersion: '2024-10-21' },
    },
    balance: '1000',
  })
  chat = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })
  messages = new Anthropic({ baseURL: gateway.url, authToken: gateway.secret, apiKey: null, maxRetries: 0 })
})

afterAll(async () => {
  await gateway.close()
  await gateway.sandbox.stop()
})

const schema = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: schema } }]
const question = { role: 'user' as const, content: 'The weather, please' }
const CHAT = '/v1/chat/completions'
const MESSAGES = '/v1/messages'

/** Tools that an item of the input brings. */
const added = (tools: Json[]) => ({
  input: [
    { type: 'additional_tools', role: 'developer', tools },
    { role: 'user', content: 'The weather, please' },
  ],
})

/** The targets of the calls after the given number of calls, with their bodies. */
const sentSince = (calls: number) =>
  gateway.sandbox.calls.slice(calls).map(({ path, body }) => ({ path, body: JSON.parse(body) as Json }))

/** Sends a request, and returns its answer with what the vendor was sent. */
async function ask(path: string, body: Json, headers?: Record<string, string>) {
  const calls = gateway.sandbox.calls.length
  const response = await gateway.post(path, body, headers)
  const text = await response.text()
  return { status: response.status, text, headers: response.headers, sent: sentSince(calls) }
}

const pathsOf = async (path: string, body: Json) => {
  const { status, text, sent } = await ask(path, body)
  expect({ status, text: status === 200 || text }).toEqual({ status: 200, text: true })
  return sent.map((call) => call.path)
}

describe('the vendor', () => {
  test('rejects tools next to an effort, in the words on record', async () => {
    const { openai } = gateway.server.world.config.upstreams
    const post = (body: Json, path = '/chat/completions') =>
      fetch(`${openai?.baseUrl}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${openai?.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    for (const [model, effort, status] of [
      ['gpt-6-luna', undefined, 400],
      ['gpt-6-luna', 'low', 400],
      ['gpt-6-luna', 'none', 200],
      ['gpt-5.6-luna', undefined, 400],
      ['gpt-5.4-mini', undefined, 200],
      ['gpt-5.4-mini', 'low', 400],
      ['gpt-5.4-mini', 'none', 200],
      ['gpt-5-mini', 'low', 200],
    ] as const) {
      const body = { model, messages: [question], tools, reasoning_effort: effort }
      const answered = await post(body)
      expect({ model, effort, status: answered.status }).toEqual({ model, effort, status })
      const { error } = (await answered.json()) as Json
      if (status === 400)
        expect(error).toMatchObject({
          message: expect.stringContaining(
            `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions.`,
          ),
          type: 'invalid_request_error',
          param: 'reasoning_effort',
          code: null,
        })
    }
  })
})

describe('chat completions', () => {
  for (const model of thinkers) {
    test(`${model}: the official client completes a tool loop, whole and streamed`, async () => {
      const create = async (body: Json, isStream: boolean) =>
        isStream
          ? await chat.chat.completions
              .stream({ ...(body as Json), stream_options: { include_usage: true } })
              .finalChatCompletion()
          : ((await chat.chat.completions.create(body as Json)) as Json)
      for (const isStream of [false, true]) {
        const calls = gateway.sandbox.calls.length
        const first = await create({ model, messages: [question], tools }, isStream)
        const [choice] = first.choices
        expect(first.model).toBe(model)
        expect([choice.finish_reason, choice.message.content || null]).toEqual(['tool_calls', null])
        const [call] = choice.message.tool_calls
        expect(call).toMatchObject({ type: 'function', function: { name: 'weather' } })
        expect(JSON.parse(call.function.arguments)).toHaveProperty('city')
        expect(first.usage.completion_tokens_details.reasoning_tokens).toBeGreaterThan(0)
        const turn = { role: 'assistant', content: null, tool_calls: choice.message.tool_calls }
        const result = { role: 'tool', tool_call_id: call.id, content: 'Rain' }
        const second = await create({ model, messages: [question, turn, result], tools }, isStream)
        expect(second.choices[0]).toMatchObject({
          finish_reason: 'stop',
          message: { content: expect.stringContaining('The tool answered: Rain') },
        })
        const sent = sentSince(calls)
        expect(sent.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses'])
        for (const { body } of sent) {
          expect(body.store).toBe(false)
          expect(body).not.toHaveProperty('reasoning')
        }
        // No reasoning is requested: a client of chat cannot send it back.
        expect(sent[1]?.body.input.map(({ type, role }: Json) => type ?? role)).toEqual([
          'user',
          'function_call',
          'function_call_output',
        ])
        // An item without the vendor's id is not bound to the reasoning that led to it.
        expect(sent[1]?.body.input[1]).toEqual({
          type: 'function_call',
          call_id: call.id,
          name: 'weather',
          arguments: call.function.arguments,
        })
        // Each turn is paid by what the vendor counted.
        const { amount, held } = (await gateway.newestCharge()) as Json
        const { prompt_tokens: input, completion_tokens: output } = second.usage
        expect(Number(amount)).toBe(input * 1_000 + output * 2_000)
        expect(Number(held)).toBeGreaterThanOrEqual(Number(amount))
      }
    })
  }

  test.each([
    ['no tools', 'luna', {}, CHAT],
    ['an empty list of tools', 'luna', { tools: [] }, CHAT],
    ['no tools, and an effort', 'luna', { reasoning_effort: 'high' }, CHAT],
    ['tools', 'luna', { tools }, '/v1/responses'],
    ['tools, and null', 'luna', { tools, reasoning_effort: null }, '/v1/responses'],
    ['tools, and an effort', 'luna', { tools, reasoning_effort: 'high' }, '/v1/responses'],
    ['tools without effort', 'luna', { tools, reasoning_effort: 'none' }, CHAT],
    ['tools that may not be called', 'luna', { tools, tool_choice: 'none' }, '/v1/responses'],
    ['tools', 'luna-chat', { tools }, '/v1/responses'],
    ['tools without effort', 'luna-chat', { tools, reasoning_effort: 'none' }, CHAT],
    ['tools', 'luna-5.6', { tools }, '/v1/responses'],
    ['tools', 'astra', { tools }, '/v1/responses'],
    ['tools, of a model that does not think by default', 'mini', { tools }, CHAT],
    ['tools, and an effort', 'mini', { tools, reasoning_effort: 'low' }, '/v1/responses'],
    ['tools, and an effort', 'mini-chat', { tools, reasoning_effort: 'low' }, '/v1/responses'],
    ['tools, and no effort', 'mini-chat', { tools, reasoning_effort: 'none' }, CHAT],
    ['tools, of a model that takes both', 'older', { tools, reasoning_effort: 'low' }, CHAT],
    ['no tools, of a model that is only there', 'of-responses', {}, '/v1/responses'],
    ['no tools, of a route', 'of-all', {}, '/v1/responses'],
  ])('%s: %s is sent to the right API', async (_, model, fields, path) => {
    for (const stream of [false, true])
      expect(await pathsOf(CHAT, { model, messages: [question], stream, ...fields })).toEqual([path])
  })

  test('an effort that the model does not have is rejected with those that it has', async () => {
    const body = { model: 'astra', messages: [question], tools, reasoning_effort: 'none' }
    const { status, text, sent } = await ask(CHAT, body)
    expect([status, sent.length]).toEqual([400, 0])
    expect(JSON.parse(text).error).toMatchObject({
      param: 'reasoning_effort',
      message: expect.stringContaining("'low', 'medium', 'high', 'xhigh', and 'max'"),
    })
  })

  test('a request that stays passes byte for byte', async () => {
    const calls = gateway.sandbox.calls.length
    const body = `{"model":"luna", "messages":[{"role":"user","content":"Hi"}],  "tools":${JSON.stringify(tools)},"reasoning_effort":"none"}`
    expect((await gateway.post(CHAT, body)).status).toBe(200)
    expect(gateway.sandbox.calls[calls]?.body).toBe(body.replace('"luna"', '"gpt-6-luna"'))
  })

  test('effort, format, choice of a tool, calls side by side and images are sent along', async () => {
    const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }
    const format = { type: 'json_schema', json_schema: { name: 'place', schema, strict: false } }
    const { status, sent } = await ask(CHAT, {
      model: 'luna',
      messages: [
        { role: 'developer', content: 'Be brief.' },
        { role: 'user', content: [{ type: 'text', text: '[sandbox tool=2] Where?' }, picture] },
      ],
      tools: [...tools, { type: 'custom', custom: { name: 'note' } }],
      tool_choice: { type: 'function', function: { name: 'weather' } },
      parallel_tool_calls: true,
      response_format: format,
      reasoning_effort: 'high',
      verbosity: 'low',
      max_completion_tokens: 900,
      prompt_cache_key: 'mine',
    })
    expect(status).toBe(200)
    expect(sent).toHaveLength(1)
    expect(sent[0]?.body).toEqual({
      model: 'gpt-6-luna',
      store: false,
      input: [
        { role: 'developer', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'input_text', text: '[sandbox tool=2] Where?' },
            { type: 'input_image', image_url: picture.image_url.url },
          ],
        },
      ],
      tools: [
        { type: 'function', name: 'weather', parameters: schema, strict: false },
        { type: 'custom', name: 'note' },
      ],
      tool_choice: { type: 'function', name: 'weather' },
      parallel_tool_calls: true,
      text: { format: { type: 'json_schema', name: 'place', schema, strict: false }, verbosity: 'low' },
      reasoning: { effort: 'high' },
      max_output_tokens: 900,
      prompt_cache_key: 'mine',
    })
  })

  test('several calls and custom tools come back in the form of chat, whole and streamed', async () => {
    const body = {
      model: 'luna',
      messages: say('[sandbox tool=2] Both'),
      tools: [...tools, { type: 'custom' as const, custom: { name: 'note' } }],
    }
    const whole = (await chat.chat.completions.create(body)) as Json
    const [weather, note] = whole.choices[0].message.tool_calls
    expect(weather).toMatchObject({ type: 'function', function: { name: 'weather' } })
    expect(note).toMatchObject({ type: 'custom', custom: { name: 'note' } })
    expect(note.custom.input).not.toBe('')
    const { text } = await ask(CHAT, { ...body, stream: true })
    const deltas = text
      .split('\n\n')
      .filter((line) => line.startsWith('data: {'))
      .flatMap((line): Json[] => JSON.parse(line.slice(6)).choices[0]?.delta.tool_calls ?? [])
    const pieces = (index: number) => deltas.filter((each) => each.index === index)
    // The arguments come while they are written.
    expect(pieces(0).length).toBeGreaterThan(2)
    const written = pieces(0).map((each) => each.function.arguments)
    expect(written.join('')).toBe(weather.function.arguments)
    expect(
      pieces(1)
        .map((each) => each.custom.input)
        .join(''),
    ).toBe(note.custom.input)
  })

  test('two candidates are two calls, held and paid as such', async () => {
    const { status, text, sent } = await ask(CHAT, { model: 'luna', messages: [question], tools, n: 2 })
    expect(status).toBe(200)
    expect(sent.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses'])
    const { choices, usage } = JSON.parse(text)
    expect(choices.map(({ finish_reason: finish }: Json) => finish)).toEqual(['tool_calls', 'tool_calls'])
    const { amount, held } = (await gateway.newestCharge()) as Json
    expect(Number(amount)).toBe(usage.prompt_tokens * 1_000 + usage.completion_tokens * 2_000)
    const quote = await gateway.post('/v1/quotes', {
      path: CHAT,
      body: { model: 'luna', messages: [question], tools, n: 2 },
    })
    const quoted = (await quote.json()) as Json
    expect(Number(quoted.most_usd) * 1e9).toBe(Number(held))
  })

  test('streamed candidates are calls side by side', async () => {
    const { status, text, sent } = await ask(CHAT, {
      model: 'luna',
      messages: [question],
      tools,
      n: 2,
      stream: true,
    })
    expect([status, sent.length]).toEqual([200, 2])
    for (const index of [0, 1])
      expect(text).toContain(
        `"choices":[{"index":${index},"delta":{},"logprobs":null,"finish_reason":"tool_calls"}]`,
      )
  })

  test("a key's plan has its price", async () => {
    const own = await startTestGateway({
      models: { luna: both('gpt-6-luna') },
      config: { plans: { half: { priceFactor: '0.5' } } },
      sandbox: gateway.sandbox,
    })
    await describeAccount(own.server.world.db, {
      account: 'alice',
      displayName: null,
      note: null,
      plan: 'half',
      budget: null,
    })
    await waitFor(async () => {
      const answered = await own.post(CHAT, { model: 'luna', messages: [question], tools })
      const { usage } = (await answered.json()) as Json
      const { amount } = (await own.newestCharge()) as Json
      return Number(amount) === usage.prompt_tokens * 500 + usage.completion_tokens * 1_000
    })
    expect(sentSince(gateway.sandbox.calls.length - 1)[0]?.path).toBe('/v1/responses')
    await own.close()
  })

  test('fields that reasoning models ignore are ignored there too, without an error', async () => {
    const ignored = {
      temperature: 0,
      top_p: 0.5,
      stop: ['x'],
      frequency_penalty: 1,
      presence_penalty: 1,
      logit_bias: { 1: 1 },
      logprobs: true,
      top_logprobs: 2,
      modalities: ['text'],
      audio: { voice: 'alloy', format: 'mp3' },
      prediction: { type: 'content', content: 'x' },
      seed: 7,
      metadata: { a: 'b' },
      store: true,
    }
    const plain = await ask(CHAT, { model: 'luna', messages: [question], tools })
    const { status, text, sent } = await ask(CHAT, { model: 'luna', messages: [question], tools, ...ignored })
    expect({ status, text: status === 200 || text }).toEqual({ status: 200, text: true })
    expect(sent).toEqual(plain.sent)
  })

  test('cached tokens are shown and paid as such', async () => {
    const messages = say('[sandbox cached=40] The weather, please')
    for (const stream of [false, true]) {
      const { text } = await ask(CHAT, {
        model: 'luna',
        messages,
        tools,
        stream,
        ...(stream && { stream_options: { include_usage: true } }),
      })
      const lines = text.split('\n\n').filter((line) => line.startsWith('data: {'))
      const { usage } = JSON.parse(stream ? (lines.at(-1)?.slice(6) as string) : text)
      expect(usage.prompt_tokens_details.cached_tokens).toBe(40)
      const { amount } = (await gateway.newestCharge()) as Json
      const fresh = usage.prompt_tokens - 40
      expect(Number(amount)).toBe(fresh * 1_000 + 40 * 100 + usage.completion_tokens * 2_000)
    }
  })

  test('an answer is repeated by its Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'tools-1' }
    const body = { model: 'luna', messages: [question], tools }
    const first = await ask(CHAT, body, headers)
    const again = await ask(CHAT, body, headers)
    expect([first.status, again.status]).toEqual([200, 200])
    expect(again.text).toBe(first.text)
    expect(again.sent).toEqual([])
  })

  test('a route moves on to a model that needs it', async () => {
    const { status, sent } = await ask(CHAT, { model: 'routed', messages: [question], tools })
    expect(status).toBe(200)
    expect(sent.map(({ path }) => path)).toEqual(['/v1/responses'])
  })

  test("an operator's effort decides as the caller's would", async () => {
    const upstream = { ...gateway.server.world.config.upstreams.openai }
    const models = { luna: chatOnly('gpt-6-luna'), mini: chatOnly('gpt-5.4-mini') }
    for (const [defaults, model, path] of [
      [{ reasoning_effort: 'none' }, 'luna', CHAT],
      [{ reasoning_effort: 'low' }, 'mini', '/v1/responses'],
    ] as const) {
      const own = await startTestGateway({
        models,
        upstreams: { openai: { ...upstream, defaultBody: defaults } as Json },
        sandbox: gateway.sandbox,
      })
      const calls = gateway.sandbox.calls.length
      const answered = await own.post(CHAT, { model, messages: [question], tools })
      expect({ status: answered.status, fault: answered.ok || (await answered.text()) }).toEqual({
        status: 200,
        fault: true,
      })
      expect(sentSince(calls).map((call) => call.path)).toEqual([path])
      // Responses do not know the field, and would be rejected with it.
      const families = own.server.world.catalogue.models.get(model)?.map(({ family }) => family.name)
      expect(families).not.toContain('openai-responses')
      await own.close()
    }
  })

  test('equal connections are tried each in the right way', async () => {
    for (let round = 0; round < 8; round++) {
      expect(await pathsOf(CHAT, { model: 'spread', messages: [question], tools })).toEqual(['/v1/responses'])
      expect(await pathsOf(CHAT, { model: 'spread', messages: [question] })).toEqual([CHAT])
    }
  })

  test('responses are requested from Azure too, by a version that has them', async () => {
    const path = '/openai/v1/responses'
    expect(await pathsOf(CHAT, { model: 'azure', messages: [question], tools })).toEqual([path])
    const older = '/openai/responses?api-version=2025-04-01-preview'
    expect(await pathsOf(CHAT, { model: 'azure-old', messages: [question], tools })).toEqual([older])
    const { status, sent } = await ask(CHAT, { model: 'azure-older', messages: [question], tools })
    expect(status).toBe(400)
    expect(sent[0]?.path).toContain('/chat/completions?api-version=2024-10-21')
  })

  test('a kind without responses is called as before, and its refusal reaches the caller and costs nothing', async () => {
    const { openai } = gateway.server.world.config.upstreams
    const own = await startTestGateway({
      models: {
        luna: chatOnly('gpt-6-luna', 'elsewhere'),
        named: { ...both('gpt-6-luna'), upstream: 'elsewhere' },
      },
      upstreams: { elsewhere: { ...openai, kind: 'deepseek' } },
      sandbox: gateway.sandbox,
    })
    const calls = gateway.sandbox.calls.length
    const refused = await own.post(CHAT, { model: 'luna', messages: [question], tools })
    expect({ status: refused.status, json: await refused.json() }).toMatchObject({
      status: 400,
      json: {
        error: {
          message: expect.stringContaining("use /v1/responses or set reasoning_effort to 'none'"),
          param: 'reasoning_effort',
        },
      },
    })
    expect(Number((await own.newestCharge())?.amount)).toBe(0)
    const served = await own.post(CHAT, { model: 'named', messages: [question], tools })
    expect(served.status).toBe(200)
    expect(sentSince(calls).map(({ path }) => path)).toEqual([CHAT, '/v1/responses'])
    await own.close()
  })

  test('a model whose traits allow it gets chat completions as before', async () => {
    const own = await startTestGateway({
      models: { luna: { ...both('gpt-6-luna'), traits: { toolsBesideEffort: true } } },
      sandbox: gateway.sandbox,
    })
    expect((await own.post(CHAT, { model: 'luna', messages: [question], tools })).status).toBe(400)
    await own.close()
  })

  for (const [name, isStream] of [
    ['generateText', false],
    ['streamText', true],
  ] as const)
    test(`the AI SDK: ${name} with tools, of both its providers`, async () => {
      const weather = tool({
        description: 'The weather of a city',
        inputSchema: jsonSchema<{ city: string }>(schema),
        execute: async () => 'Rain',
      })
      const settings = { baseURL: `${gateway.url}/v1`, apiKey: gateway.secret }
      const compatible = createOpenAICompatible({ ...settings, name: 'gateway', includeUsage: true })
      const native = createOpenAI(settings)
      for (const model of [compatible('luna'), native.chat('luna')]) {
        const calls = gateway.sandbox.calls.length
        const request = {
          model,
          prompt: 'The weather, please',
          tools: { weather },
          stopWhen: stepCountIs(3),
        }
        const text = isStream ? await streamText(request).text : (await generateText(request)).text
        expect(text).toContain('The tool answered: Rain')
        expect(sentSince(calls).map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses'])
      }
    })
})

describe('messages', () => {
  const uses = [{ name: 'weather', input_schema: schema }]
  const base = { max_tokens: 4_000, messages: [question] }

  for (const model of [...thinkers, 'astra'] as const)
    test(`${model}: the official client completes a tool loop, whole and streamed, and the model keeps its reasoning`, async () => {
      const create = async (body: Json, isStream: boolean): Promise<Json> =>
        isStream
          ? await messages.messages.stream(body as Json).finalMessage()
          : await messages.messages.create(body as Json)
      for (const isStream of [false, true]) {
        const calls = gateway.sandbox.calls.length
        const body = { model, ...base, tools: uses }
        const first = await create(body, isStream)
        expect(first).toMatchObject({ model, stop_reason: 'tool_use' })
        const [thought, use] = first.content
        // As the vendor of messages answers without `display`: a signature, and no text.
        expect(thought).toEqual({
          type: 'thinking',
          thinking: '',
          signature: expect.stringMatching(/^gw1\./),
        })
        expect(use).toMatchObject({ type: 'tool_use', name: 'weather', input: { city: expect.any(String) } })
        const result = { type: 'tool_result', tool_use_id: use.id, content: 'Rain' }
        const turns = [
          question,
          { role: 'assistant', content: first.content },
          { role: 'user', content: [result] },
        ]
        const second = await create({ ...body, messages: turns }, isStream)
        expect(second.content.at(-1).text).toContain('The tool answered: Rain')
        const sent = sentSince(calls)
        expect(sent.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses'])
        for (const { body } of sent) {
          expect(body).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] })
          expect(body.reasoning ?? {}).not.toHaveProperty('summary')
        }
        // The simulator rejects reasoning that is not as it was sealed.
        expect(sent[1]?.body.input.map(({ type, role }: Json) => type ?? role)).toEqual([
          'user',
          'reasoning',
          'function_call',
          'function_call_output',
        ])
        const { amount } = (await gateway.newestCharge()) as Json
        const { input_tokens: input, output_tokens: output } = second.usage
        expect(Number(amount)).toBe(input * 1_000 + output * 2_000)
      }
    })

  test.each([
    ['no tools', 'luna', {}, CHAT],
    ['tools', 'luna', { tools: uses }, '/v1/responses'],
    [
      'tools, and a budget',
      'luna',
      { tools: uses, thinking: { type: 'enabled', budget_tokens: 2_000 } },
      '/v1/responses',
    ],
    [
      'tools, and adaptive thinking',
      'luna',
      { tools: uses, thinking: { type: 'adaptive' } },
      '/v1/responses',
    ],
    ['tools without thinking', 'luna', { tools: uses, thinking: { type: 'disabled' } }, CHAT],
    ['tools', 'luna-chat', { tools: uses }, '/v1/responses'],
    ['tools, of a model that does not think by default', 'mini', { tools: uses }, CHAT],
    ['tools, and an effort', 'mini-chat', { tools: uses, output_config: { effort: 'low' } }, '/v1/responses'],
    ['tools, of a model that takes both', 'older', { tools: uses, output_config: { effort: 'low' } }, CHAT],
  ])('%s: %s is sent to the right API', async (_, model, fields, path) => {
    for (const stream of [false, true])
      expect(await pathsOf(MESSAGES, { model, ...base, stream, ...fields })).toEqual([path])
  })

  test('thinking that cannot be switched off is the lowest effort', async () => {
    const thinking = { type: 'disabled' }
    const { status, sent } = await ask(MESSAGES, { model: 'astra', ...base, tools: uses, thinking })
    expect(status).toBe(200)
    expect(sent.map(({ path, body }) => [path, body.reasoning])).toEqual([
      ['/v1/responses', { effort: 'low' }],
    ])
  })

  test('format, choice of a tool, one call at a time and images are sent along', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }
    const picture = { type: 'image', source }
    const { status, text, sent } = await ask(MESSAGES, {
      model: 'luna',
      max_tokens: 900,
      system: 'Be brief.',
      messages: [
        { role: 'user', content: [{ type: 'text', text: '[sandbox cached=40] Where?' }, picture] },
        {
          role: 'assistant',
          content: [{ type: 'tool_use', id: 'call_1', name: 'weather', input: { city: 'Oslo' } }],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'call_1', content: [picture] }] },
      ],
      tools: uses,
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      output_config: { effort: 'high', format: { type: 'json_schema', schema } },
      temperature: 0,
      stop_sequences: ['x'],
    })
    expect(status).toBe(200)
    const seen = { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=' }
    expect(sent).toEqual([
      {
        path: '/v1/responses',
        body: {
          model: 'gpt-6-luna',
          store: false,
          instructions: 'Be brief.',
          input: [
            { role: 'user', content: [{ type: 'input_text', text: '[sandbox cached=40] Where?' }, seen] },
            { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{"city":"Oslo"}' },
            { type: 'function_call_output', call_id: 'call_1', output: [seen] },
          ],
          tools: [{ type: 'function', name: 'weather', parameters: schema, strict: false }],
          tool_choice: 'required',
          parallel_tool_calls: false,
          text: { format: { type: 'json_schema', name: 'output', schema, strict: true } },
          reasoning: { effort: 'high' },
          include: ['reasoning.encrypted_content'],
          max_output_tokens: 900,
        },
      },
    ])
    const { usage } = JSON.parse(text)
    expect(usage.cache_read_input_tokens).toBe(40)
    const { amount } = (await gateway.newestCharge()) as Json
    expect(Number(amount)).toBe(usage.input_tokens * 1_000 + 40 * 100 + usage.output_tokens * 2_000)
  })

  test('an answer is repeated by its Idempotency-Key, whole and streamed', async () => {
    for (const stream of [false, true]) {
      const headers = { 'idempotency-key': `tools-messages-${stream}` }
      const body = { model: 'luna', ...base, tools: uses, stream }
      const first = await ask(MESSAGES, body, headers)
      const again = await ask(MESSAGES, body, headers)
      expect([first.status, again.status, again.sent.length]).toEqual([200, 200, 0])
      if (!stream) expect(again.text).toBe(first.text)
    }
  })

  test('a count of tokens costs nothing and asks no vendor', async () => {
    const calls = gateway.sandbox.calls.length
    const counted = await gateway.post('/v1/messages/count_tokens', { model: 'luna', ...base, tools: uses })
    expect(((await counted.json()) as Json).input_tokens).toBeGreaterThan(10)
    expect(gateway.sandbox.calls.length).toBe(calls)
  })

  test('thinking that was signed over one API is left out over the other, and the loop continues', async () => {
    const first: Json = await messages.messages.create({ model: 'luna', ...base, tools: uses })
    const use = first.content.at(-1)
    const result = { type: 'tool_result', tool_use_id: use.id, content: 'Rain' }
    const turns = [
      question,
      { role: 'assistant', content: first.content },
      { role: 'user', content: [result] },
    ]
    const { status, sent } = await ask(MESSAGES, {
      model: 'luna',
      ...base,
      messages: turns,
      tools: uses,
      thinking: { type: 'disabled' },
    })
    expect(status).toBe(200)
    expect(sent[0]?.path).toBe(CHAT)
    expect(JSON.stringify(sent[0]?.body)).not.toContain('signature')
  })

  test('a summary is requested where the caller shows thinking', async () => {
    for (const [display, summary] of [
      ['summarized', 'auto'],
      ['omitted', undefined],
      ['updates', undefined],
      [undefined, undefined],
    ] as const) {
      const thinking = { type: 'adaptive', ...(display && { display }) }
      const { status, text, sent } = await ask(MESSAGES, { model: 'luna', ...base, tools: uses, thinking })
      expect(status).toBe(200)
      expect(sent[0]?.body.reasoning?.summary).toBe(summary)
      const [thought] = JSON.parse(text).content
      expect({ display, hasText: thought.thinking !== '' }).toEqual({
        display,
        hasText: summary === 'auto',
      })
    }
  })
})

describe('responses', () => {
  const flat = [{ type: 'function', name: 'weather', parameters: schema }]
  const ask = { input: 'The weather, please' }

  test.each([
    ['tools', 'luna', { tools: flat }, '/v1/responses'],
    ['no tools', 'luna', {}, '/v1/responses'],
    ['tools', 'luna-chat', { tools: flat }, '/v1/responses'],
    ['tools that an item adds', 'luna-chat', added(flat), '/v1/responses'],
    ['tools without effort', 'luna-chat', { tools: flat, reasoning: { effort: 'none' } }, CHAT],
    ['no tools', 'luna-chat', {}, CHAT],
    ['tools, and an effort', 'mini-chat', { tools: flat, reasoning: { effort: 'low' } }, '/v1/responses'],
    ['tools, of a model that does not think by default', 'mini-chat', { tools: flat }, CHAT],
  ])('%s: %s is sent to the right API', async (_, model, fields, path) => {
    for (const stream of [false, true])
      expect(await pathsOf('/v1/responses', { model, ...ask, stream, ...fields })).toEqual([path])
  })

  test('an invalid request is rejected with its place, whatever it contains', async () => {
    for (const fields of [
      { input: [null], tools: flat },
      { input: [1], tools: [null] },
      { input: 7, tools: { a: 1 }, reasoning: 'x' },
    ]) {
      const answered = await gateway.post('/v1/responses', { model: 'luna-chat', ...fields })
      expect(answered.status).toBe(400)
    }
    for (const fields of [{ tools: [null] }, { tools: 'x' }, { tools, reasoning_effort: 5 }]) {
      const answered = await gateway.post(CHAT, { model: 'luna', messages: [question], ...fields })
      expect(answered.status).toBe(400)
    }
    for (const fields of [{ tools: [null] }, { tools: 'x' }, { tools, thinking: 5, output_config: null }]) {
      const answered = await gateway.post(MESSAGES, {
        model: 'luna',
        max_tokens: 9,
        messages: [question],
        ...fields,
      })
      expect(answered.status).toBe(400)
    }
  })

  test('a loop of tools is kept and continued', async () => {
    const first = await gateway.post('/v1/responses', { model: 'luna-chat', ...ask, tools: flat })
    const { id, output } = (await first.json()) as Json
    const call = output.find(({ type }: Json) => type === 'function_call')
    const calls = gateway.sandbox.calls.length
    const second = await gateway.post('/v1/responses', {
      model: 'luna-chat',
      previous_response_id: id,
      input: [{ type: 'function_call_output', call_id: call.call_id, output: 'Rain' }],
      tools: flat,
    })
    expect(await second.text()).toContain('The tool answered: Rain')
    expect(sentSince(calls).map(({ path }) => path)).toEqual(['/v1/responses'])
  })
})

// OpenAI rejects `reasoning.summary` for organizations that are not verified.
describe('an organization that is not verified', () => {
  const unverified = '[sandbox account=unverified] The weather, please'
  const uses = [{ name: 'weather', input_schema: schema }]
  const flat = [{ type: 'function', name: 'weather', parameters: schema }]
  const thinking = { type: 'enabled', budget_tokens: 2_000 }
  const withTools: Record<string, Json> = {
    [CHAT]: { messages: say(unverified), tools, reasoning_effort: 'low' },
    [MESSAGES]: { max_tokens: 4_000, messages: say(unverified), tools: uses, thinking },
    '/v1/responses': { input: unverified, tools: flat, reasoning: { effort: 'low' } },
  }

  describe.each(Object.entries(withTools))(
    'gets no `reasoning.summary` unless requested: %s',
    (path, body) => {
      test.each(
        ['luna', 'of-responses', 'mini-chat'].flatMap((model) => [
          { model, stream: false },
          { model, stream: true },
        ]),
      )('%j', async (request) => {
        const { status, text, sent } = await ask(path, { ...request, ...body })
        expect([status, text]).toEqual([200, expect.not.stringContaining('"error":{')])
        expect(sent.map((call) => [call.path, call.body.reasoning])).toEqual([
          ['/v1/responses', expect.not.objectContaining({ summary: expect.anything() })],
        ])
      })
    },
  )

  test('answers without the summary that a caller requested', async () => {
    const adaptive = { type: 'adaptive', display: 'summarized' }
    for (const stream of [false, true]) {
      const body = {
        model: 'luna',
        max_tokens: 4_000,
        messages: say(unverified),
        tools: uses,
        thinking: adaptive,
        stream,
      }
      const { status, sent } = await ask(MESSAGES, body)
      expect(status).toBe(200)
      expect(sent.map((call) => call.body.reasoning?.summary)).toEqual(['auto', undefined])
    }
    const shown = { model: 'luna', messages: say(unverified), tools, include_reasoning: true }
    expect(await pathsOf(CHAT, shown)).toEqual(['/v1/responses', '/v1/responses'])
  })
})
