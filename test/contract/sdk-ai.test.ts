// The Vercel AI SDK with its provider for OpenAI-compatible servers against the compiled executable: what its users do,
// on a chat model and on a messages model, and the errors that they catch.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import {
  APICallError,
  embed,
  embedMany,
  generateImage,
  generateObject,
  generateText,
  jsonSchema,
  Output,
  stepCountIs,
  streamText,
  tool,
} from 'ai'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { withinOneMinute } from '../support/gateway'
import { type Installation, install, type Running, stopWell } from '../support/processes/executable'

setDefaultTimeout(180_000)

// Its advice about deprecated names would hide what the tests say.
globalThis.AI_SDK_LOG_WARNINGS = false

const catalogue: Record<string, ModelConfig> = shipped.models
const ids = ['pgt-4.1-mini', 'claude-haiku-4-5', 'gkx-imagine-image', 'text-embedding-v4']

/** Models with the words of their vendors when a stream fails. The second is translated to another dialect and back. */
const languageModels = [
  { id: 'pgt-4.1-mini', failure: expect.stringContaining('The server had an error') },
  { id: 'claude-haiku-4-5', failure: 'Overloaded' },
]

let installation: Installation
let server: Running
let secret: string
let poor: string

beforeAll(async () => {
  const entries = ids.map((id) => [id, catalogue[id] as ModelConfig])
  installation = await install({ models: Object.fromEntries(entries) })
  secret = await installation.makeKey('alice', '100')
  poor = await installation.makeKey('poor', '0')
  server = await installation.serve()
})

afterAll(() => stopWell(installation, server))

/** A provider that counts its actual requests. */
function connect(apiKey = secret) {
  const requests: string[] = []
  const count = (input: Parameters<typeof fetch>[0], init?: RequestInit) => {
    requests.push(String(input))
    return fetch(input, init)
  }
  const provider = createOpenAICompatible({
    name: 'gateway',
    baseURL: `${server.url}/v1`,
    apiKey,
    includeUsage: true,
    supportsStructuredOutputs: true,
    fetch: Object.assign(count, { preconnect: fetch.preconnect }),
  })
  return { provider, requests }
}

const vendorCalls = () => installation.sandbox.calls.length

const inCity = jsonSchema<{ city: string }>({
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
})

for (const { id, failure } of languageModels) {
  describe(id, () => {
    test('generateText, with its usage and the price in a header', async () => {
      const { provider, requests } = connect()
      const { text, finishReason, usage, response } = await generateText({
        model: provider(id),
        instructions: 'Be brief.',
        prompt: '[sandbox tokens=20] Hi there',
      })
      expect(text).toStartWith('You said: Hi there')
      expect(finishReason).toBe('stop')
      expect(usage.outputTokens).toBe(20)
      expect(usage.inputTokens).toBeGreaterThan(0)
      expect(response.modelId).toBe(id)
      expect(Number(response.headers?.['x-gateway-cost-usd'])).toBeGreaterThan(0)
      expect(requests).toEqual([`${server.url}/v1/chat/completions`])
    })

    test('streamText: deltas, the reason of the end, and usage', async () => {
      const { provider } = connect()
      const failures: unknown[] = []
      const result = streamText({
        model: provider(id),
        prompt: '[sandbox tokens=40] Hi there',
        onError: ({ error }) => void failures.push(error),
      })
      const deltas: string[] = []
      for await (const delta of result.textStream) deltas.push(delta)
      expect(failures).toEqual([])
      expect(deltas.length).toBeGreaterThan(5)
      expect(deltas.join('')).toStartWith('You said: Hi there')
      expect(await result.text).toBe(deltas.join(''))
      expect(await result.finishReason).toBe('stop')
      expect(await result.usage).toMatchObject({ outputTokens: 40, inputTokens: expect.any(Number) })
    })

    test('an answer that reaches its limit says so', async () => {
      const { provider } = connect()
      const { finishReason, usage } = await generateText({
        model: provider(id),
        prompt: '[sandbox tokens=50] Hi',
        maxOutputTokens: 5,
      })
      expect(finishReason).toBe('length')
      expect(usage.outputTokens).toBe(5)
    })

    for (const streamed of [false, true]) {
      test(`tool calls and their results${streamed ? ', streamed' : ''}`, async () => {
        const { provider, requests } = connect()
        const before = vendorCalls()
        const cities: string[] = []
        const question = {
          model: provider(id),
          prompt: '[sandbox tool] How is it in Kyiv?',
          stopWhen: stepCountIs(3),
          tools: {
            get_weather: tool({
              description: 'Weather of a city',
              inputSchema: inCity,
              execute: ({ city }) => {
                cities.push(city)
                return '21 degrees'
              },
            }),
          },
        }
        const result = streamed ? streamText(question) : await generateText(question)
        expect(await result.text).toContain('21 degrees')
        const steps = await result.steps
        expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
        expect(steps[0]?.toolCalls).toMatchObject([{ toolName: 'get_weather', input: { city: cities[0] } }])
        expect(cities).toHaveLength(1)
        expect(requests).toHaveLength(2)
        expect(vendorCalls() - before).toBe(2)
      })
    }

    test('answers that fit a schema: generateObject, and streamText with an output', async () => {
      const { provider } = connect()
      const model = provider(id)
      const { object, usage } = await generateObject({ model, schema: inCity, prompt: 'Which city?' })
      expect(Object.keys(object)).toEqual(['city'])
      expect(usage.outputTokens).toBeGreaterThan(0)
      const output = Output.object({ schema: inCity })
      const streamed = streamText({ model, output, prompt: 'Which city?' })
      expect(Object.keys(await streamed.output)).toEqual(['city'])
    })

    test('the vendor’s refusal is an APICallError with its text', async () => {
      const { provider, requests } = connect()
      const prompt = '[sandbox status=400 error_text="there are too many cooks"] Hi'
      const caught = await failureOf(generateText({ model: provider(id), prompt }))
      expect(caught).toMatchObject({ statusCode: 400, isRetryable: false })
      expect(caught.message).toContain('there are too many cooks')
      expect(requests).toHaveLength(1)
    })

    test('a stream that breaks ends in an error, after the text that came', async () => {
      const { provider } = connect()
      const failures: unknown[] = []
      const result = streamText({
        model: provider(id),
        prompt: '[sandbox error_after=4] Hi there',
        onError: ({ error }) => void failures.push(error),
      })
      const parts: string[] = []
      for await (const part of result.fullStream) parts.push(part.type)
      expect(parts).toContain('text-delta')
      expect(parts.indexOf('error')).toBeGreaterThan(parts.lastIndexOf('text-delta'))
      expect(failures).toMatchObject([{ message: failure }])
    })
  })
}

describe('embeddings', () => {
  test('embed', async () => {
    const { provider } = connect()
    const { embedding, usage } = await embed({
      model: provider.embeddingModel('text-embedding-v4'),
      value: 'one',
      providerOptions: { gateway: { dimensions: 256 } },
    })
    expect(embedding).toHaveLength(256)
    expect(usage.tokens).toBeGreaterThan(0)
  })

  test('embedMany: more than the vendor takes at a time is one request, in order', async () => {
    const { provider, requests } = connect()
    const before = vendorCalls()
    const model = provider.embeddingModel('text-embedding-v4')
    const values = Array.from({ length: 25 }, (_, place) => `text number ${place}`)
    const { embeddings } = await embedMany({ model, values })
    expect(requests).toHaveLength(1)
    expect(vendorCalls() - before).toBe(3)
    expect(embeddings).toHaveLength(25)
    const { embedding } = await embed({ model, value: 'text number 17' })
    expect(embeddings[17]).toEqual(embedding)
  })
})

describe('images', () => {
  const b64 = { gateway: { response_format: 'b64_json' } }

  test('generateImage', async () => {
    const { provider, requests } = connect()
    const { images } = await generateImage({
      model: provider.imageModel('gkx-imagine-image'),
      prompt: 'a red fox',
      n: 2,
      providerOptions: b64,
    })
    expect(images).toHaveLength(2)
    for (const { mediaType, uint8Array } of images) {
      expect(mediaType).toStartWith('image/')
      expect(uint8Array.length).toBeGreaterThan(100)
    }
    expect(requests.every((url) => url.endsWith('/v1/images/generations'))).toBe(true)
  })

  test('a size of no shape that the model makes is rejected by name', async () => {
    const { provider } = connect()
    const before = vendorCalls()
    const model = provider.imageModel('gkx-imagine-image')
    const caught = await failureOf(
      generateImage({ model, prompt: 'a red fox', size: '4000x100', providerOptions: b64 }),
    )
    expect(caught).toMatchObject({ statusCode: 400 })
    expect(caught.message).toContain('size')
    expect(vendorCalls()).toBe(before)
  })
})

describe('errors', () => {
  for (const { id } of languageModels) {
    test(`${id}: a wrong key and an empty account are not tried again`, async () => {
      const before = vendorCalls()
      const cases = [
        { key: `${secret.slice(0, -1)}!`, statusCode: 401, says: 'Incorrect API key' },
        { key: poor, statusCode: 402, says: 'the account has $0.00 available' },
      ]
      for (const { key, statusCode, says } of cases) {
        const { provider, requests } = connect(key)
        const caught = await failureOf(generateText({ model: provider(id), prompt: 'Hi' }))
        expect(caught).toMatchObject({ statusCode, isRetryable: false })
        expect(caught.message).toContain(says)
        expect(caught.responseHeaders?.['x-request-id']).toMatch(/^req_/)
        expect(requests).toHaveLength(1)
      }
      expect(vendorCalls()).toBe(before)
    })
  }

  test('an unknown model', async () => {
    const { provider } = connect()
    const caught = await failureOf(generateText({ model: provider('no-such-model'), prompt: 'Hi' }))
    expect(caught).toMatchObject({ statusCode: 400, isRetryable: false })
    expect(caught.message).toContain('no-such-model')
  })

  test("a key's own limit: 429, readable, with the time to come back", () =>
    withinOneMinute(async () => {
      const limited = await installation.makeKey(`limited-${crypto.randomUUID()}`, '1', '--rpm', '1')
      const { provider } = connect(limited)
      const model = provider('pgt-4.1-mini')
      await generateText({ model, prompt: 'Hi' })
      const before = vendorCalls()
      const caught = await failureOf(generateText({ model, prompt: 'Hi', maxRetries: 0 }))
      expect(caught).toMatchObject({ statusCode: 429, isRetryable: true })
      expect(caught.message).toContain('This key may use 1 request')
      expect(Number(caught.responseHeaders?.['retry-after'])).toBeWithin(1, 61)
      expect(vendorCalls()).toBe(before)
    }))

  test('a busy vendor: the SDK tries again and gets its answer', async () => {
    const { provider, requests } = connect()
    const prompt = '[sandbox status=429 retry_after=0 times=1 sdk-ai] Hi'
    const { text } = await generateText({ model: provider('pgt-4.1-mini'), prompt })
    expect(text).toContain('You said')
    expect(requests).toHaveLength(2)
  })
})

/** The error of a call that must fail, as the SDK names it. */
async function failureOf(call: Promise<unknown>): Promise<APICallError> {
  const caught = await call.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  )
  if (!APICallError.isInstance(caught)) throw caught
  return caught
}
