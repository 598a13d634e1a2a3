// SDKs that speak responses by default against the compiled executable: the Vercel AI SDK with OpenAI's provider, and
// OpenAI's agents SDK, each with a model that has this API, one of chat completions, one of messages and one of Converse behind it.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createOpenAI } from '@ai-sdk/openai'
import { Agent, tool as agentTool, OpenAIProvider, Runner, setTracingDisabled } from '@openai/agents'
import { generateObject, generateText, stepCountIs, streamText, tool } from 'ai'
import OpenAI from 'openai'
import { z } from 'zod'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { type Installation, install, type Running, stopWell } from '../support/processes/executable'

setDefaultTimeout(180_000)
setTracingDisabled(true)
// Its advice about deprecated names would hide what the tests say.
globalThis.AI_SDK_LOG_WARNINGS = false

const catalogue: Record<string, ModelConfig> = shipped.models
const local: ModelConfig = {
  family: 'openai-chat',
  upstream: 'openai',
  upstreamModel: 'local-model',
  price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' },
}
const models = {
  'pgt-5-mini': catalogue['pgt-5-mini'] as ModelConfig,
  'claude-haiku-4-5': catalogue['claude-haiku-4-5'] as ModelConfig,
  'local-model': local,
  'nova-lite': {
    ...local,
    family: 'bedrock-converse',
    upstream: 'bedrock',
    upstreamModel: 'us.amazon.nova-lite-v1:0',
  },
} satisfies Record<string, ModelConfig>
/** Models with the path of their vendor that is called for responses. */
const kinds = [
  ['pgt-5-mini', '/responses'],
  ['local-model', '/chat/completions'],
  ['claude-haiku-4-5', '/messages'],
  ['nova-lite', 'converse'],
] as const

/** The smallest PNG: one pixel. */
const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

let installation: Installation
let server: Running
let secret: string

beforeAll(async () => {
  installation = await install({ models })
  secret = await installation.makeKey('alice', '100')
  server = await installation.serve()
})

afterAll(() => stopWell(installation, server))

const provider = () => createOpenAI({ baseURL: `${server.url}/v1`, apiKey: secret })
const client = () => new OpenAI({ baseURL: `${server.url}/v1`, apiKey: secret, maxRetries: 0 })
const calls = () => installation.sandbox.calls

/** The tool that the models should call. */
const weather = (cities: string[]) => ({
  description: 'Weather of a city',
  execute: async ({ city }: { city: string }) => {
    cities.push(city)
    return '21 degrees'
  },
})
const inCity = z.object({ city: z.string() })

for (const [id, path] of kinds) {
  describe(`the Vercel AI SDK in its default mode with ${id}`, () => {
    test('text, whole and streamed, with usage', async () => {
      const model = provider()(id)
      const { text, finishReason, usage, response } = await generateText({
        model,
        instructions: 'Be brief.',
        prompt: '[sandbox tokens=20] Hi there',
      })
      expect(text).toStartWith('You said: Hi there')
      expect(finishReason).toBe('stop')
      expect(usage.inputTokens).toBeGreaterThan(0)
      expect(usage.outputTokens).toBeGreaterThanOrEqual(20)
      expect(response.modelId).toBe(id)
      expect(calls().at(-1)?.path).toContain(path)
      const streamed = streamText({ model, prompt: '[sandbox tokens=40] Hi there' })
      const deltas: string[] = []
      for await (const delta of streamed.textStream) deltas.push(delta)
      expect(deltas.length).toBeGreaterThan(5)
      expect(deltas.join('')).toStartWith('You said: Hi there')
      expect(await streamed.finishReason).toBe('stop')
      expect((await streamed.usage).outputTokens).toBeGreaterThanOrEqual(40)
    })

    for (const streamed of [false, true]) {
      test(`tools, there and back by ids of items${streamed ? ', streamed' : ''}`, async () => {
        const cities: string[] = []
        const before = calls().length
        const question = {
          model: provider()(id),
          prompt: '[sandbox tool] How is it in Kyiv?',
          stopWhen: stepCountIs(3),
          tools: { get_weather: tool({ ...weather(cities), inputSchema: inCity }) },
        }
        const result = streamed ? streamText(question) : await generateText(question)
        expect(await result.text).toContain('21 degrees')
        const steps = await result.steps
        expect(steps.map(({ finishReason }) => finishReason)).toEqual(['tool-calls', 'stop'])
        expect(cities).toHaveLength(1)
        expect(calls().length - before).toBe(2)
      })
    }

    test('objects that fit a schema', async () => {
      const { object } = await generateObject({
        model: provider()(id),
        schema: inCity,
        prompt: 'Which city?',
      })
      expect(Object.keys(object)).toEqual(['city'])
    })

    test('images', async () => {
      const { text } = await generateText({
        model: provider()(id),
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Look at this' },
              { type: 'file', data: PIXEL, mediaType: 'image/png' },
            ],
          },
        ],
      })
      expect(text).toContain('Look at this')
      expect(calls().at(-1)?.body).toContain(PIXEL)
    })

    test('an answer that reaches its limit says so', async () => {
      const { finishReason } = await generateText({
        model: provider()(id),
        prompt: '[sandbox tokens=50] Hi',
        maxOutputTokens: 16,
      })
      expect(finishReason).toBe('length')
    })

    test('with nothing stored the items are sent whole', async () => {
      const cities: string[] = []
      const { text } = await generateText({
        model: provider()(id),
        prompt: '[sandbox tool] How is it in Kyiv?',
        stopWhen: stepCountIs(3),
        tools: { get_weather: tool({ ...weather(cities), inputSchema: inCity }) },
        providerOptions: { openai: { store: false } },
      })
      expect(text).toContain('21 degrees')
      expect(cities).toHaveLength(1)
    })
  })

  describe(`the agents SDK in its default mode with ${id}`, () => {
    const runner = () => new Runner({ modelProvider: new OpenAIProvider({ openAIClient: client() }) })

    test('an agent with a tool, whole and streamed', async () => {
      for (const stream of [false, true]) {
        const cities: string[] = []
        const agent = new Agent({
          name: 'Forecaster',
          instructions: 'Be brief.',
          model: id,
          tools: [agentTool({ name: 'get_weather', ...weather(cities), parameters: inCity })],
        })
        const prompt = '[sandbox tool] How is it in Kyiv?'
        if (stream) {
          const result = await runner().run(agent, prompt, { stream: true })
          for await (const _ of result);
          expect(result.finalOutput).toContain('21 degrees')
        } else expect((await runner().run(agent, prompt)).finalOutput).toContain('21 degrees')
        expect(cities).toHaveLength(1)
      }
    })

    test('an answer of a type', async () => {
      const agent = new Agent({ name: 'Cities', model: id, outputType: inCity })
      const { finalOutput } = await runner().run(agent, 'Which city?')
      expect(Object.keys(finalOutput ?? {})).toEqual(['city'])
    })
  })

  describe(`OpenAI's SDK with ${id}`, () => {
    test('create, and a conversation that is continued by its id', async () => {
      const first = await client().responses.create({ model: id, input: 'My name is Ada.' })
      expect(first.output_text).toContain('My name is Ada.')
      expect(first).toMatchObject({ status: 'completed', store: true, object: 'response' })
      const second = await client().responses.create({
        model: id,
        input: 'What is my name?',
        previous_response_id: first.id,
      })
      expect(calls().at(-1)?.body).toContain('My name is Ada.')
      expect(second.previous_response_id).toBe(first.id)
    })

    test('the stream helper and parse', async () => {
      const stream = client().responses.stream({ model: id, input: '[sandbox tokens=30] Hi there' })
      let text = ''
      stream.on('response.output_text.delta', ({ delta }) => {
        text += delta
      })
      const final = await stream.finalResponse()
      expect(final.output_text).toBe(text)
      expect(text).toStartWith('You said: Hi there')
      const format = {
        type: 'json_schema' as const,
        name: 'city',
        strict: true,
        schema: z.toJSONSchema(inCity) as Record<string, unknown>,
      }
      const parsed = await client().responses.parse({ model: id, input: 'Which city?', text: { format } })
      expect(Object.keys(parsed.output_parsed as object)).toEqual(['city'])
    })

    test('input tokens are counted', async () => {
      const { input_tokens: few } = await client().responses.inputTokens.count({ model: id, input: 'Hi' })
      const { input_tokens: more } = await client().responses.inputTokens.count({
        model: id,
        input: 'Hi there, how are you on this fine day?',
      })
      expect(few).toBeGreaterThan(0)
      expect(more as number).toBeGreaterThan(few as number)
    })

    test('an error of the vendor within a stream is thrown with its text', async () => {
      const stream = await client().responses.create({
        model: id,
        input: '[sandbox tokens=60 error_after=20] Hi there',
        stream: true,
      })
      let caught: unknown
      let deltas = 0
      try {
        for await (const event of stream) if (event.type === 'response.output_text.delta') deltas++
      } catch (error) {
        caught = error
      }
      expect(caught).toBeInstanceOf(Error)
      expect(deltas).toBeGreaterThan(0)
    })
  })
}
