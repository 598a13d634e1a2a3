// The Google provider of the Vercel AI SDK, as its users call it: texts, streams, loops of tools, objects, images, embeddings,
// thinking and errors, for models of every protocol.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createGoogle } from '@ai-sdk/google'
import {
  embedMany,
  generateText,
  jsonSchema,
  type LanguageModel,
  Output,
  stepCountIs,
  streamText,
  tool,
} from 'ai'
import { picture } from '../../sandbox/pictures'
import { startTestGateway, type TestGateway, testModels } from '../support/gateway'
import { rejection } from '../support/rejection'

const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({
    models: {
      'on-responses': { family: 'openai-responses', upstream: 'openai', upstreamModel: 'gpt-5-mini', price },
      'on-contents': {
        family: 'gemini-contents',
        upstream: 'google',
        upstreamModel: 'gemini-3-flash-preview',
        price,
      },
      thinking: { ...testModels['test-messages'], upstreamModel: 'claude-opus-4-5' } as never,
    },
  })
})
afterAll(() => gateway.close())

const provider = (apiKey = gateway.secret) => createGoogle({ apiKey, baseURL: `${gateway.url}/v1beta` })
const schema = jsonSchema<{ city: string }>({
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
})
const weather = tool({
  description: 'Weather of a city',
  inputSchema: schema,
  execute: async ({ city }) => `sunny in ${city}`,
})
const loop = { prompt: '[sandbox tool] How is it?', tools: { weather }, stopWhen: stepCountIs(3) }

const image = picture('png', 64, 64).bytes

async function streamed(options: Parameters<typeof streamText>[0]): Promise<string> {
  let text = ''
  for await (const piece of streamText(options).textStream) text += piece
  return text
}

describe.each(['test-chat', 'test-messages', 'on-responses', 'on-contents'])('%s', (id) => {
  test('a text, whole and streamed', async () => {
    const model = provider()(id)
    const { text, usage } = await generateText({ model, prompt: 'Hello there' })
    expect(text).toContain('You said: Hello there')
    expect(usage.totalTokens).toBeGreaterThan(0)
    expect(await streamed({ model, prompt: 'Hello there' })).toBe(text)
  })

  test('a loop of tools, whole and streamed', async () => {
    const model = provider()(id)
    expect((await generateText({ model, ...loop })).text).toContain('sunny in')
    expect(await streamed({ model, ...loop })).toContain('sunny in')
  })

  test('an object', async () => {
    const { output } = await generateText({
      model: provider()(id),
      prompt: 'A city',
      output: Output.object({ schema }),
    })
    expect(output).toHaveProperty('city')
  })

  test('an image, whole and streamed', async () => {
    const content = [
      { type: 'text' as const, text: 'Describe it' },
      { type: 'file' as const, data: image, mediaType: 'image/png' },
    ]
    const request = { model: provider()(id), messages: [{ role: 'user' as const, content }] }
    const texts = [(await generateText(request)).text, await streamed(request)]
    const sent = gateway.sandbox.calls.slice(-2).map(({ body }) => body)
    for (const text of texts) expect(text).toContain('Describe it')
    for (const body of sent) expect(body).toContain(Buffer.from(image).toString('base64'))
  })

  test('a wrong key is rejected once, whole and streamed', async () => {
    await expectRejected(provider('sk-wrong')(id), 401)
  })

  test('a request that the balance does not cover is rejected once, whole and streamed', async () => {
    const { secret } = await gateway.makeKey(`broke-${id}`, '0')
    await expectRejected(provider(secret)(id), 402)
  })
})

/** Each request fails with this status. The client does not repeat it, and no vendor gets it. */
async function expectRejected(model: LanguageModel, statusCode: number): Promise<void> {
  const [vendorCalls, { logRow }] = [gateway.sandbox.calls.length, await gateway.newest()]
  const prompt = 'Hello'
  const errors: unknown[] = [await rejection(generateText({ model, prompt }))]
  await streamText({ model, prompt, onError: ({ error }) => void errors.push(error) }).consumeStream()
  expect(errors).toMatchObject([{ statusCode }, { statusCode }])
  expect(gateway.sandbox.calls.length).toBe(vendorCalls)
  expect((await gateway.requestLog(logRow)).map(({ status }) => status)).toEqual([statusCode, statusCode])
}

test('thinking comes back signed', async () => {
  const { steps } = await generateText({
    model: provider()('thinking'),
    ...loop,
    providerOptions: { google: { thinkingConfig: { includeThoughts: true, thinkingBudget: 1_024 } } },
  })
  expect(steps[0]?.reasoningText).not.toBe('')
  const { messages } = JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '')
  expect(messages[1].content[0]).toMatchObject({ type: 'thinking', signature: expect.any(String) })
})

test('embeddings', async () => {
  const model = provider().embedding('gmx-embedding-001')
  const { embeddings } = await embedMany({ model, values: ['one', 'two'] })
  expect(embeddings.map(({ length }) => length)).toEqual([3_072, 3_072])
})
