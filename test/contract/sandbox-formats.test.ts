// How the simulated chat models treat stop texts and requested formats, through the gateway in every dialect, whole and as streams:
// clients of structured output can be tried without a vendor.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateObject, jsonSchema } from 'ai'
import Ajv2020 from 'ajv/dist/2020'
import addFormats from 'ajv-formats'
import OpenAI from 'openai'
import { readEvents } from '../support/answers/message-events'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

globalThis.AI_SDK_LOG_WARNINGS = false

let gateway: TestGateway
const ajv = new Ajv2020({ strict: false })
addFormats(ajv)

beforeAll(async () => {
  gateway = await startTestGateway()
})
afterAll(() => gateway.close())

const person = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 12 },
    mail: { type: 'string', format: 'email' },
    born: { type: 'string', format: 'date' },
    code: { type: 'string', pattern: '^[A-Z]{3}-\\d+$' },
    age: { type: 'integer', exclusiveMinimum: 17 },
    tags: { type: 'array', items: { enum: ['a', 'b', 'c'] }, minItems: 3, uniqueItems: true },
  },
  required: ['name', 'mail', 'born', 'code', 'age', 'tags'],
  additionalProperties: false,
}

const models = ['test-chat', 'test-local', 'test-dashscope', 'test-google', 'test-messages']
const everyWay = models.flatMap((model) => [false, true].map((stream) => [model, stream] as const))

/** The text of a completion, and why it ended. */
async function complete(model: string, stream: boolean, body: Record<string, unknown>) {
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })
  const asked = { model, messages: say('Hello, as json please'), max_tokens: 500, ...body }
  if (!stream) {
    const { choices } = await client.chat.completions.create({ ...asked, stream: false } as Json)
    return { text: choices[0]?.message.content as string, reason: choices[0]?.finish_reason }
  }
  const whole = await client.chat.completions.stream(asked as Json).finalChatCompletion()
  return { text: whole.choices[0]?.message.content as string, reason: whole.choices[0]?.finish_reason }
}

describe.each(everyWay)('a completion of %s (streamed: %p)', (model, stream) => {
  test('ends before the first stop text', async () => {
    const whole = await complete(model, stream, {})
    expect(whole.text).toContain('no vendor was called')
    for (const stop of ['vendor', ['never said', 'vendor', 'was called'], ['called', 'This']]) {
      const cut = await complete(model, stream, { stop })
      const first = Math.min(
        ...[stop]
          .flat()
          .map((word) => whole.text.indexOf(word))
          .filter((at) => at >= 0),
      )
      expect(cut).toEqual({ text: whole.text.slice(0, first), reason: 'stop' })
    }
    // Whichever comes first wins: the limit or the text.
    const cut = await complete(model, stream, { stop: 'called', max_tokens: 3 })
    expect(cut.reason).toBe('length')
  })

  test('is a JSON object on request', async () => {
    const { text, reason } = await complete(model, stream, { response_format: { type: 'json_object' } })
    expect(JSON.parse(text)).toMatchObject({ you_said: expect.stringContaining('Hello') })
    expect(reason).toBe('stop')
  })

  test('fits the requested schema', async () => {
    const format = { type: 'json_schema', json_schema: { name: 'person', schema: person, strict: true } }
    const { text } = await complete(model, stream, { response_format: format })
    expect(ajv.validate(person, JSON.parse(text)) || ajv.errorsText()).toBe(true)
  })
})

describe.each(everyWay)('a message of %s (streamed: %p)', (model, stream) => {
  async function message(body: Record<string, unknown>) {
    const asked = { model, messages: say('Hello'), max_tokens: 500, stream, ...body }
    const text = await (await gateway.post('/v1/messages', asked)).text()
    const { content, stop_reason: reason, stop_sequence: sequence } = JSON.parse(stream ? '{}' : text) as Json
    if (!stream) return { text: content[0].text as string, reason, sequence }
    const read = readEvents(text)
    return { text: read.content[0].text as string, reason: read.stopReason, sequence: read.stopSequence }
  }

  test('ends before the first stop text, and reports it if the vendor does', async () => {
    const { text, reason, sequence } = await message({ stop_sequences: ['vendor', 'never said'] })
    expect(text).toEndWith('This is the sandbox: no ')
    const reported = model === 'test-messages'
    expect([reason, sequence]).toEqual(reported ? ['stop_sequence', 'vendor'] : ['end_turn', null])
  })

  test('fits the requested schema', async () => {
    const { text } = await message({ output_config: { format: { type: 'json_schema', schema: person } } })
    expect(ajv.validate(person, JSON.parse(text)) || ajv.errorsText()).toBe(true)
  })
})

test('the Vercel AI SDK makes objects with every model', async () => {
  const provider = createOpenAICompatible({
    name: 'gateway',
    baseURL: `${gateway.url}/v1`,
    apiKey: gateway.secret,
    supportsStructuredOutputs: true,
  })
  for (const model of models) {
    const { object } = await generateObject({
      model: provider(model),
      schema: jsonSchema(person as Json),
      prompt: 'Somebody',
    })
    expect(ajv.validate(person, object) || ajv.errorsText()).toBe(true)
  }
})
