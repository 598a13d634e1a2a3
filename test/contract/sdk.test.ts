// The official OpenAI SDK against the compiled executable: what its users do, and the errors that they catch.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import OpenAI from 'openai'
import { say, waitFor, withinOneMinute } from '../support/gateway'
import { ask, type Installation, install, type Running, stopWell } from '../support/processes/executable'

setDefaultTimeout(180_000)

let installation: Installation
let server: Running
let secret: string
let poor: string

beforeAll(async () => {
  installation = await install()
  secret = await installation.makeKey('alice', '100')
  poor = await installation.makeKey('poor', '0')
  server = await installation.serve()
})

afterAll(() => stopWell(installation, server))

/** A client that counts its actual requests. */
function connect(apiKey = secret, options: { maxRetries?: number; timeout?: number } = {}) {
  const requests: string[] = []
  const client = new OpenAI({
    baseURL: `${server.url}/v1`,
    apiKey,
    ...options,
    fetch: (url, init) => {
      requests.push(String(url))
      return fetch(url, init)
    },
  })
  return { client, requests }
}

const vendorCalls = () => installation.sandbox.calls.length

const cityOnly = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}
const weather: OpenAI.ChatCompletionFunctionTool = {
  type: 'function',
  function: { name: 'get_weather', description: 'Weather of a city', parameters: cityOnly },
}

describe('chat', () => {
  test('a completion', async () => {
    const { client } = connect()
    const completion = await client.chat.completions.create({
      model: 'test-chat',
      messages: [{ role: 'user', content: 'Hi there' }],
    })
    expect(completion.choices[0]?.message.content).toContain('You said: Hi there')
    expect(completion.choices[0]?.finish_reason).toBe('stop')
    expect(completion.model).toBe('test-chat')
    expect(completion.usage?.completion_tokens).toBeGreaterThan(0)
    expect(completion._request_id).toMatch(/^req_/)
  })

  test('its price in a header that withResponse shows', async () => {
    const { client } = connect()
    const { response } = await client.chat.completions
      .create({ model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] })
      .withResponse()
    expect(Number(response.headers.get('x-gateway-cost-usd'))).toBeGreaterThan(0)
  })

  test('a stream, with usage only when it is asked for', async () => {
    const { client } = connect()
    for (const wantsUsage of [false, true]) {
      const stream = await client.chat.completions.create({
        model: 'test-chat',
        messages: [{ role: 'user', content: '[sandbox tokens=40] Hi' }],
        stream: true,
        ...(wantsUsage ? { stream_options: { include_usage: true } } : {}),
      })
      const chunks: OpenAI.ChatCompletionChunk[] = []
      for await (const chunk of stream) chunks.push(chunk)
      const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')
      expect(text).toStartWith('You said: Hi')
      expect(chunks.some((chunk) => chunk.choices[0]?.finish_reason === 'stop')).toBe(true)
      expect(new Set(chunks.map((chunk) => chunk.model))).toEqual(new Set(['test-chat']))
      expect(chunks.flatMap((chunk) => chunk.usage?.completion_tokens ?? [])).toEqual(wantsUsage ? [40] : [])
    }
  })

  test('the streaming helper', async () => {
    const { client } = connect()
    let heard = ''
    const stream = client.chat.completions
      .stream({
        model: 'test-chat',
        messages: [{ role: 'user', content: 'Hi' }],
        stream_options: { include_usage: true },
      })
      .on('content', (delta) => {
        heard += delta
      })
    const completion = await stream.finalChatCompletion()
    expect(completion.choices[0]?.message.content).toBe(heard)
    expect(heard).toContain('You said: Hi')
    expect((await stream.totalUsage()).total_tokens).toBeGreaterThan(0)
  })

  test('letters of several bytes, in pieces of odd length', async () => {
    const { client } = connect()
    const content = '[sandbox wide split crlf] Hi'
    const stream = client.chat.completions.stream({
      model: 'test-chat',
      messages: [{ role: 'user', content }],
    })
    expect(await stream.finalContent()).toStartWith('Grüße, 世界 🎉👩‍👩‍👧‍👦 You said: Hi')
  })

  test('tool calls and their results', async () => {
    const { client } = connect()
    const question = { role: 'user', content: '[sandbox tool] How is it in Kyiv?' } as const
    const first = await client.chat.completions.create({
      model: 'test-chat',
      messages: [question],
      tools: [weather],
    })
    const message = first.choices[0]?.message
    const call = message?.tool_calls?.[0]
    if (!message || call?.type !== 'function') throw new Error('no call')
    expect(first.choices[0]?.finish_reason).toBe('tool_calls')
    expect(call.function.name).toBe('get_weather')
    expect(JSON.parse(call.function.arguments)).toHaveProperty('city')
    const second = await client.chat.completions.create({
      model: 'test-chat',
      messages: [question, message, { role: 'tool', tool_call_id: call.id, content: '21 degrees' }],
      tools: [weather],
    })
    expect(second.choices[0]?.message.content).toContain('21 degrees')
  })

  test('tools that the SDK runs itself, streamed', async () => {
    const { client } = connect()
    const asked: string[] = []
    const runner = client.chat.completions.runTools({
      model: 'test-chat',
      stream: true,
      messages: [{ role: 'user', content: '[sandbox tool] How is it in Kyiv?' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'Weather of a city',
            parameters: cityOnly,
            parse: (text: string): { city: string } => JSON.parse(text),
            function: ({ city }: { city: string }) => {
              asked.push(city)
              return '19 degrees'
            },
          },
        },
      ],
    })
    expect(await runner.finalContent()).toContain('19 degrees')
    expect(asked).toHaveLength(1)
  })

  test('an answer that fits a schema', async () => {
    const { client } = connect()
    const completion = await client.chat.completions.parse({
      model: 'test-chat',
      messages: [{ role: 'user', content: 'Which city?' }],
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'answer', strict: true, schema: cityOnly },
      },
    })
    expect(completion.choices[0]?.message.parsed).toHaveProperty('city')
  })
})

describe('embeddings', () => {
  test('as base64, the SDK’s default, are the floats', async () => {
    const { client } = connect()
    for (const model of ['test-embedding', 'text-embedding-v4', 'gmx-embedding-001', 'vgx-4']) {
      const input = ['one', 'two', 'three']
      const unnamed = await client.embeddings.create({ model, input })
      const floats = await client.embeddings.create({ model, input, encoding_format: 'float' })
      expect(unnamed.data.map(({ index }) => index)).toEqual([0, 1, 2])
      expect(unnamed.model).toBe(model)
      expect(unnamed.usage.total_tokens).toBeGreaterThan(0)
      const vectors = unnamed.data.map(({ embedding }) => [...embedding])
      expect(vectors[0]?.length).toBeGreaterThan(100)
      expect(vectors).toEqual(floats.data.map(({ embedding }) => embedding.map(Math.fround)))
    }
  })
})

describe('models', () => {
  test('list and retrieve', async () => {
    const { client } = connect()
    const ids: string[] = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toContain('test-chat')
    expect(ids).toContain('gmx-embedding-001')
    expect(await client.models.retrieve('test-chat')).toMatchObject({
      id: 'test-chat',
      object: 'model',
      owned_by: 'openai',
    })
    const caught = await failureOf(client.models.retrieve('no-such-model'))
    expect(caught).toBeInstanceOf(OpenAI.NotFoundError)
    expect(caught.code).toBe('model_not_found')
  })
})

interface Failure {
  title: string
  key?: () => string
  body?: Partial<OpenAI.ChatCompletionCreateParamsNonStreaming>
  prompt?: string
  options?: { maxRetries?: number; timeout?: number }
  error: new (...args: never[]) => Error
  status: number | undefined
  code?: string
  says: string
  /** How often the SDK asks, and how many of its requests reach the vendor. */
  asks: number
  calls: number
}

const failures: Failure[] = [
  {
    title: 'a parameter out of range',
    body: { temperature: 5 },
    error: OpenAI.BadRequestError,
    status: 400,
    says: 'temperature',
    asks: 1,
    calls: 0,
  },
  {
    title: 'an unknown model',
    body: { model: 'no-such-model' },
    error: OpenAI.BadRequestError,
    status: 400,
    code: 'model_not_found',
    says: 'no-such-model',
    asks: 1,
    calls: 0,
  },
  {
    title: "the vendor's own 400",
    prompt: '[sandbox status=400 error_text="there are too many cooks" error_code=cooks]',
    error: OpenAI.BadRequestError,
    status: 400,
    code: 'cooks',
    says: 'there are too many cooks',
    asks: 1,
    calls: 1,
  },
  {
    title: 'a key that was mistyped',
    key: () => `${secret.slice(0, -1)}!`,
    error: OpenAI.AuthenticationError,
    status: 401,
    code: 'invalid_api_key',
    says: 'Incorrect API key',
    asks: 1,
    calls: 0,
  },
  {
    title: 'no money: not tried again',
    key: () => poor,
    error: OpenAI.APIError,
    status: 402,
    code: 'insufficient_balance',
    says: 'the account has $0.00 available',
    asks: 1,
    calls: 0,
  },
  {
    title: "the vendor's 429, readable",
    prompt: '[sandbox status=429 retry_after=30 error_text="slow down please"]',
    options: { maxRetries: 0 },
    error: OpenAI.RateLimitError,
    status: 429,
    says: 'slow down please',
    asks: 1,
    calls: 1,
  },
  {
    title: "the vendor's 500, tried again",
    prompt: '[sandbox status=500]',
    options: { maxRetries: 1 },
    error: OpenAI.InternalServerError,
    status: 502,
    code: 'upstream_error',
    says: 'The upstream openai failed (HTTP 500)',
    asks: 2,
    calls: 2,
  },
  {
    title: "the operator's trouble with the vendor is never the caller's key, and shown at once",
    prompt: '[sandbox status=401]',
    options: { maxRetries: 2 },
    error: OpenAI.InternalServerError,
    status: 503,
    code: 'upstream_unavailable',
    says: 'Its operator can see why',
    asks: 1,
    calls: 1,
  },
  {
    title: 'an answer that is not JSON',
    prompt: '[sandbox garbage]',
    options: { maxRetries: 0 },
    error: OpenAI.InternalServerError,
    status: 502,
    code: 'upstream_garbage',
    says: 'was not JSON',
    asks: 1,
    calls: 1,
  },
]

describe('errors', () => {
  for (const {
    title,
    key,
    body,
    prompt = 'Hi',
    options,
    error,
    status,
    code,
    says,
    asks,
    calls,
  } of failures) {
    test(title, async () => {
      const { client, requests } = connect(key?.(), options)
      const before = vendorCalls()
      const caught = await failureOf(
        client.chat.completions.create({
          model: 'test-chat',
          messages: [{ role: 'user', content: prompt }],
          ...body,
        }),
      )
      expect(caught).toBeInstanceOf(error)
      expect(caught.message).toContain(says)
      expect(caught.status).toBe(status)
      if (code) expect(caught.code).toBe(code)
      expect(caught.requestID).toMatch(/^req_/)
      expect(requests).toHaveLength(asks)
      expect(vendorCalls() - before).toBe(calls)
    })
  }

  test("a key's own limit: 429, readable, with the time to come back", () =>
    withinOneMinute(async () => {
      const limited = await installation.makeKey(`limited-${crypto.randomUUID()}`, '1', '--rpm', '1')
      const { client, requests } = connect(limited, { maxRetries: 0 })
      const messages = [{ role: 'user', content: 'Hi' } as const]
      const { response } = await client.chat.completions
        .create({ model: 'test-chat', messages })
        .withResponse()
      expect(response.headers.get('x-ratelimit-limit-requests')).toBe('1')
      const before = vendorCalls()
      const caught = await failureOf(client.chat.completions.create({ model: 'test-chat', messages }))
      expect(caught).toBeInstanceOf(OpenAI.RateLimitError)
      expect(caught.message).toContain('This key may use 1 request')
      expect(caught.code).toBe('Throttling.RateQuota')
      expect(Number(caught.headers?.get('retry-after'))).toBeWithin(1, 61)
      expect(caught.requestID).toMatch(/^req_/)
      expect(requests).toHaveLength(2)
      expect(vendorCalls()).toBe(before)
    }))

  test('a busy vendor: the SDK tries again and gets its answer, which is paid once', async () => {
    const { client, requests } = connect()
    const before = vendorCalls()
    const settledBefore = await settled()
    const content = '[sandbox status=429 retry_after=0 times=1 busy vendor]'
    const completion = await client.chat.completions.create({
      model: 'test-chat',
      messages: [{ role: 'user', content }],
    })
    expect(completion.choices).toHaveLength(1)
    expect(requests).toHaveLength(2)
    expect(vendorCalls() - before).toBe(2)
    expect((await settled()) - settledBefore).toBe(1)
  })

  test('an endpoint that is not there', async () => {
    const { client } = connect()
    const caught = await failureOf(client.batches.cancel('batch_1'))
    expect(caught).toBeInstanceOf(OpenAI.NotFoundError)
    expect(caught.message).toContain('POST /v1/batches/batch_1/cancel')
    expect(caught.requestID).toMatch(/^req_/)
  })

  test('a timeout of the client; the vendor is read to the end and paid', async () => {
    const { client, requests } = connect(secret, { timeout: 1_500, maxRetries: 0 })
    const settledBefore = await settled()
    const before = vendorCalls()
    const content = '[sandbox delay_ms=3000]'
    const caught = await failureOf(
      client.chat.completions.create({ model: 'test-chat', messages: [{ role: 'user', content }] }),
    )
    expect(caught).toBeInstanceOf(OpenAI.APIConnectionTimeoutError)
    expect(requests).toHaveLength(1)
    expect(vendorCalls() - before).toBe(1)
    await waitFor(async () => (await settled()) > settledBefore)
    expect((await settled()) - settledBefore).toBe(1)
  })
})

describe('a stream that breaks', () => {
  const broken = [
    { title: 'by an error of the vendor', prompt: '[sandbox error_after=4]', says: 'error' },
    { title: 'by a cut', prompt: '[sandbox cut_after=4]', says: 'The upstream stopped early' },
  ]
  for (const { title, prompt, says } of broken) {
    test(title, async () => {
      const { client } = connect()
      const stream = await client.chat.completions.create({
        model: 'test-chat',
        messages: [{ role: 'user', content: prompt }],
        stream: true,
      })
      let text = ''
      const caught = await failureOf(
        (async () => {
          for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
        })(),
      )
      expect(text).not.toBe('')
      expect(caught).toBeInstanceOf(OpenAI.APIError)
      expect(caught.message).toContain(says)
    })
  }

  test('by the client itself: the vendor is stopped, and the delivered part is paid', async () => {
    const { client } = connect()
    const content = '[sandbox tokens=2000 token_delay_ms=10]'
    const stream = await client.chat.completions.create({
      model: 'test-chat',
      messages: [{ role: 'user', content }],
      stream: true,
    })
    let chunks = 0
    for await (const _ of stream) if (++chunks === 20) break
    const call = installation.sandbox.calls.at(-1)
    await waitFor(() => call?.aborted === true)
    expect(call?.aborted).toBe(true)
    const last = async () =>
      (await installation.rows('select * from charges order by created_at desc, id desc limit 1'))[0]
    await waitFor(async () => (await last())?.state === 'settled')
    expect(await last()).toMatchObject({ state: 'settled', ended_by: 'client', usage_source: 'counted' })
  })
})

test('the id that an error carries is the one of the request log', async () => {
  const { client } = connect(poor)
  const caught = await failureOf(
    client.chat.completions.create({ model: 'test-chat', messages: [{ role: 'user', content: 'Hi' }] }),
  )
  const reply = await ask(server, poor, { messages: say('Hi') })
  const { error } = (await reply.json()) as { error: { request_id: string } }
  expect(error.request_id).toBe(reply.headers.get('x-request-id') ?? '')
  await waitFor(async () => (await logged()).includes(error.request_id))
  expect(await logged()).toContainEqual(caught.requestID ?? '')
})

async function logged(): Promise<string[]> {
  const { rows } = await installation.json('requests', 'list')
  return rows.map(({ id }: { id: string }) => id)
}

async function settled(): Promise<number> {
  const [row] = await installation.rows(`select count(*) as count from charges where state = 'settled'`)
  return row?.count as number
}

/** The error of a call that must fail. */
async function failureOf(call: PromiseLike<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  try {
    await call
  } catch (error) {
    return error as InstanceType<typeof OpenAI.APIError>
  }
  throw new Error('it did not fail')
}
