// The official Anthropic SDK against the compiled executable: what its users do, and the errors that they catch.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema'
import { say, waitFor } from '../support/gateway'
import { type Installation, install, type Running, stopWell } from '../support/processes/executable'

setDefaultTimeout(180_000)

let installation: Installation
let server: Running
let secret: string
let poor: string

beforeAll(async () => {
  installation = await install({ config: { aliases: { 'claude-haiku-*': 'test-messages' } } })
  secret = await installation.makeKey('alice', '100')
  poor = await installation.makeKey('poor', '0')
  server = await installation.serve()
})

afterAll(() => stopWell(installation, server))

/** A client that counts its actual requests. */
function connect(apiKey = secret, options: { maxRetries?: number; baseURL?: string } = {}) {
  const requests: string[] = []
  const client = new Anthropic({
    // Without /v1: the SDK adds it.
    baseURL: server.url,
    apiKey,
    authToken: null,
    ...options,
    fetch: (url, init) => {
      requests.push(String(url))
      return fetch(url, init)
    },
  })
  return { client, requests }
}

const vendorCalls = () => installation.sandbox.calls.length
const lastBody = () => JSON.parse(installation.sandbox.calls.at(-1)?.body ?? '')

const model = 'test-messages'
const weather: Anthropic.Tool = {
  name: 'get_weather',
  description: 'Weather of a city',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

describe('messages', () => {
  test('whole, and its price in a header', async () => {
    const { client, requests } = connect()
    const { data, response } = await client.messages
      .create({ model, max_tokens: 100, messages: say('Hi there') })
      .withResponse()
    expect(data).toMatchObject({ type: 'message', role: 'assistant', model, stop_reason: 'end_turn' })
    expect(data.content[0]).toMatchObject({
      type: 'text',
      text: expect.stringContaining('You said: Hi there'),
    })
    expect(data.usage.input_tokens).toBeGreaterThan(0)
    expect(response.headers.get('request-id')).toMatch(/^req_/)
    expect(Number(response.headers.get('x-gateway-cost-usd'))).toBeGreaterThan(0)
    expect(requests).toEqual([`${server.url}/v1/messages`])
  })

  test('streamed, event by event', async () => {
    const { client } = connect()
    const stream = await client.messages.create({
      model,
      max_tokens: 100,
      messages: say('[sandbox tokens=20] Hi'),
      stream: true,
    })
    const kinds: string[] = []
    let text = ''
    for await (const event of stream) {
      kinds.push(event.type)
      if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') text += event.delta.text
    }
    expect(text).toStartWith('You said: Hi')
    expect([kinds[0], kinds.at(-2), kinds.at(-1)]).toEqual(['message_start', 'message_delta', 'message_stop'])
  })

  test('the streaming helper, with letters of several bytes in pieces of odd length', async () => {
    const { client } = connect()
    let heard = ''
    const stream = client.messages
      .stream({ model, max_tokens: 200, messages: say('[sandbox wide split crlf] Hi') })
      .on('text', (delta) => {
        heard += delta
      })
    const message = await stream.finalMessage()
    expect(heard).toStartWith('Grüße, 世界 🎉👩‍👩‍👧‍👦 You said: Hi')
    expect(message).toMatchObject({ model, content: [{ type: 'text', text: heard }] })
    expect(message.usage.output_tokens).toBeGreaterThan(10)
  })

  test('events and blocks that the SDK does not know do not disturb it', async () => {
    const { client } = connect()
    const stream = await client.messages.create({
      model,
      max_tokens: 100,
      messages: say('[sandbox unknown] Hi'),
      stream: true,
    })
    const seen: unknown[] = []
    for await (const event of stream) {
      if (event.type === 'content_block_start') seen.push(event.content_block.type)
    }
    expect(seen).toEqual(['text', 'weather_report'])
  })

  test('thinking', async () => {
    const { client } = connect()
    const ask = {
      model,
      max_tokens: 2_000,
      thinking: { type: 'enabled', budget_tokens: 1_024 },
      messages: say('Think about it'),
    } as const
    for (const message of [
      await client.messages.create(ask),
      await client.messages.stream(ask).finalMessage(),
    ]) {
      expect(message.content.map(({ type }) => type)).toEqual(['thinking', 'text'])
      expect(message.content[0]).toHaveProperty('signature')
      // It goes back as it came.
      const messages = [...say('Think about it'), { role: 'assistant', content: message.content } as const]
      await client.messages.create({ ...ask, messages: [...messages, ...say('And now?')] })
      expect(lastBody().messages[1].content).toEqual(message.content)
    }
  })

  test('tool calls and their results, streamed', async () => {
    const { client } = connect()
    const question = say('[sandbox tool] How is it in Kyiv?')
    const first = await client.messages
      .stream({ model, max_tokens: 500, messages: question, tools: [weather] })
      .finalMessage()
    expect(first.stop_reason).toBe('tool_use')
    const call = first.content.find((block) => block.type === 'tool_use')
    if (!call) throw new Error('no call')
    expect(call).toMatchObject({ name: 'get_weather', input: { city: expect.any(String) } })
    const second = await client.messages.create({
      model,
      max_tokens: 500,
      tools: [weather],
      messages: [
        ...question,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: '21 degrees' }] },
      ],
    })
    expect(second.content[0]).toMatchObject({ type: 'text', text: expect.stringContaining('21 degrees') })
  })

  test.each([model, 'test-chat'])(
    'the tool runner, which would keep its conversation at the vendor, continues with all of it: %s',
    async (model) => {
      const { client, requests } = connect()
      const before = vendorCalls()
      const answer = await client.beta.messages.toolRunner({
        model,
        max_tokens: 500,
        messages: say(`[sandbox tool times=1 ${model}] How is it in Kyiv?`),
        tools: [
          betaTool({
            name: 'get_weather',
            description: 'Weather of a city',
            inputSchema: { type: 'object', properties: { city: { type: 'string' } } },
            run: () => '21 degrees',
          }),
        ],
      })
      expect(answer.content[0]).toMatchObject({ text: expect.stringContaining('21 degrees') })
      // One is rejected, before anything is sent or paid.
      expect([requests.length, vendorCalls() - before]).toEqual([3, 2])
      const { messages } = lastBody()
      expect(messages.map(({ role }: { role: string }) => role)).toEqual([
        'user',
        'assistant',
        model === 'test-chat' ? 'tool' : 'user',
      ])
      expect(lastBody()).not.toHaveProperty('thread')
    },
  )

  test('beta features: the header and the fields go together', async () => {
    const { client, requests } = connect()
    const message = await client.beta.messages.create({
      model: 'claude-haiku-4-5-20251001',
      max_tokens: 100,
      messages: say('Hi'),
      betas: ['context-management-2025-06-27'],
      context_management: { edits: [{ type: 'clear_tool_uses_20250919' }] },
    })
    expect(message.model).toBe(model)
    expect(requests).toHaveLength(1)
    expect(installation.sandbox.calls.at(-1)?.headers['anthropic-beta']).toContain(
      'context-management-2025-06-27',
    )
    expect(lastBody().context_management).toEqual({ edits: [{ type: 'clear_tool_uses_20250919' }] })
  })

  test('a key as a token, which is the same to the gateway', async () => {
    const client = new Anthropic({ baseURL: server.url, apiKey: null, authToken: secret })
    expect((await client.messages.create({ model, max_tokens: 9, messages: say('Hi') })).model).toBe(model)
  })

  test('a base URL that ends with /v1 by mistake', async () => {
    const { client } = connect(secret, { baseURL: `${server.url}/v1` })
    const message = await client.messages.create({ model, max_tokens: 9, messages: say('Hi') })
    expect(message.model).toBe(model)
  })
})

describe('next to messages', () => {
  test('counting tokens: by the vendor, and here for models of other formats', async () => {
    const { client } = connect(poor)
    const before = vendorCalls()
    const asked = await client.messages.countTokens({
      model,
      messages: say('How long is this?'),
      tools: [weather],
    })
    expect(asked.input_tokens).toBeGreaterThan(20)
    expect(vendorCalls() - before).toBe(1)
    const counted = await client.messages.countTokens({
      model: 'test-chat',
      messages: say('How long is this?'),
    })
    expect(counted.input_tokens).toBe(5)
    expect(vendorCalls() - before).toBe(1)
    const beta = await client.beta.messages.countTokens({ model, messages: say('How long is this?') })
    expect(beta.input_tokens).toBeGreaterThan(5)
  })

  test('the list of models, all pages of it, and one model', async () => {
    const { client, requests } = connect()
    const ids: string[] = []
    for await (const { id, type } of client.models.list({ limit: 4 })) {
      expect(type).toBe('model')
      ids.push(id)
    }
    expect(ids).toContain(model)
    expect(new Set(ids).size).toBe(ids.length)
    expect(requests.length).toBe(Math.ceil(ids.length / 4))
    expect(await client.models.retrieve(model)).toMatchObject({
      id: model,
      type: 'model',
      display_name: model,
    })
    const caught = await failureOf(client.models.retrieve('no-such-model'))
    expect(caught).toBeInstanceOf(Anthropic.NotFoundError)
    expect(caught.type).toBe('not_found_error')
  })
})

interface Failure {
  title: string
  key?: () => string
  body?: Record<string, unknown>
  prompt?: string
  maxRetries?: number
  error: new (...args: never[]) => Error
  status: number
  type: string
  says: string
  /** How often the SDK asks, and how many of its requests reach the vendor. */
  asks?: number
  calls?: number
}

const failures: Failure[] = [
  {
    title: 'a parameter out of range',
    body: { temperature: 5 },
    error: Anthropic.BadRequestError,
    status: 400,
    type: 'invalid_request_error',
    says: 'temperature',
  },
  {
    title: 'an unknown model',
    body: { model: 'no-such-model' },
    error: Anthropic.BadRequestError,
    status: 400,
    type: 'invalid_request_error',
    says: 'no-such-model',
  },
  {
    title: 'a key that was mistyped',
    key: () => `${secret.slice(0, -1)}!`,
    error: Anthropic.AuthenticationError,
    status: 401,
    type: 'authentication_error',
    says: 'Incorrect API key',
  },
  {
    title: 'no money: not tried again',
    key: () => poor,
    error: Anthropic.PaymentRequiredError,
    status: 402,
    type: 'billing_error',
    says: 'the account has $0.00 available',
  },
  {
    title: "the vendor's own 400, in its words",
    prompt: '[sandbox status=400 error_text="prompt is too long: 210000 tokens > 200000 maximum"]',
    error: Anthropic.BadRequestError,
    status: 400,
    type: 'invalid_request_error',
    says: 'prompt is too long: 210000 tokens > 200000 maximum',
    calls: 1,
  },
  {
    title: 'a vendor with too many requests',
    prompt: '[sandbox status=429 retry_after=30]',
    error: Anthropic.RateLimitError,
    status: 429,
    type: 'rate_limit_error',
    says: 'would exceed the rate limit',
    maxRetries: 0,
    calls: 1,
  },
  {
    title: 'a vendor that is overloaded, tried again',
    prompt: '[sandbox status=529 retry_after=0]',
    error: Anthropic.OverloadedError,
    status: 529,
    type: 'overloaded_error',
    says: 'Overloaded',
    maxRetries: 1,
    asks: 2,
    calls: 2,
  },
  {
    title: 'a vendor that fails',
    prompt: '[sandbox status=500]',
    error: Anthropic.InternalServerError,
    status: 502,
    type: 'api_error',
    says: 'Internal server error',
    maxRetries: 0,
    calls: 1,
  },
]

describe('errors', () => {
  for (const failure of failures) {
    test(failure.title, async () => {
      const {
        key,
        body,
        prompt = 'Hi',
        maxRetries = 2,
        error,
        status,
        type,
        says,
        asks = 1,
        calls = 0,
      } = failure
      const { client, requests } = connect(key?.(), { maxRetries })
      const before = vendorCalls()
      const caught = await failureOf(
        client.messages.create({ model, max_tokens: 9, messages: say(prompt), ...body }),
      )
      expect(caught).toBeInstanceOf(error)
      expect(caught).toMatchObject({ status, type, requestID: expect.stringMatching(/^req_/) })
      expect(caught.message).toContain(says)
      expect(requests).toHaveLength(asks)
      expect(vendorCalls() - before).toBe(calls)
    })
  }

  test('a key given in the vendor’s way: the SDK sends x-api-key and nothing else', async () => {
    const client = new Anthropic({ baseURL: server.url, apiKey: secret, authToken: null, maxRetries: 0 })
    const message = await client.messages.create({ model, max_tokens: 9, messages: say('Hi') })
    expect(message.content.length).toBeGreaterThan(0)
  })

  test('a stream that breaks: by an error of the vendor, and by a cut', async () => {
    const { client } = connect()
    for (const [directive, type, says] of [
      ['error_after=6', 'overloaded_error', 'Overloaded'],
      ['cut_after=6', 'api_error', 'The upstream stopped early'],
    ]) {
      const messages = say(`[sandbox ${directive} tokens=40] Hi`)
      const stream = await client.messages.create({ model, max_tokens: 100, messages, stream: true })
      let pieces = 0
      const caught = await failureOf(
        (async () => {
          for await (const event of stream) if (event.type === 'content_block_delta') pieces++
        })(),
      )
      expect(pieces).toBeGreaterThan(0)
      expect(caught).toBeInstanceOf(Anthropic.APIError)
      expect(caught.type).toBe(type as Anthropic.ErrorType)
      expect(caught.message).toContain(says as string)
    }
  })

  test('a caller who aborts a request stops the vendor', async () => {
    const { client } = connect()
    const stream = client.messages.stream({
      model,
      max_tokens: 1_000,
      messages: say('[sandbox tokens=900 token_delay_ms=5] Hi'),
    })
    stream.on('text', () => stream.abort())
    const caught = await failureOf(stream.finalMessage())
    expect(caught).toBeInstanceOf(Anthropic.APIUserAbortError)
    await waitFor(() => installation.sandbox.calls.at(-1)?.aborted === true)
    expect(installation.sandbox.calls.at(-1)?.aborted).toBe(true)
  })
})

/** The error that a promise is rejected with. */
async function failureOf(promise: Promise<unknown>): Promise<InstanceType<typeof Anthropic.APIError>> {
  try {
    await promise
  } catch (error) {
    return error as InstanceType<typeof Anthropic.APIError>
  }
  throw new Error('it succeeded')
}
