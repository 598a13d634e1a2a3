// The acceptance cases of the Open Responses specification, asked of models of every kind: each answer has every member
// that the specification requires, of the right type, and each stream keeps the grammar of events. The same of the schemas
// by which the SDKs of vendors reject answers.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { readResponse } from '../support/answers/response-events'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { startTrilingualVendor } from '../support/vendors/trilingual'

const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const models = {
  'acceptance-native': {
    family: 'openai-responses',
    upstream: 'openai',
    upstreamModel: 'gpt-4.1-mini',
    price,
  },
  'bare-native': { family: 'openai-responses', upstream: 'bare', upstreamModel: 'm', price },
  'bare-chat': { family: 'openai-chat', upstream: 'bare', upstreamModel: 'm', price },
  'bare-messages': { family: 'anthropic-messages', upstream: 'bare-messages', upstreamModel: 'm', price },
}
const kinds = ['acceptance-native', 'test-chat', 'test-messages']
const strictModels = {
  'strict-native': { ...models['acceptance-native'], upstreamModel: 'gpt-5-mini', reasoning: true },
  'strict-chat': { family: 'openai-chat', upstream: 'deepseek', upstreamModel: 'deepseek-reasoner', price },
  'strict-messages': {
    family: 'anthropic-messages',
    upstream: 'anthropic',
    upstreamModel: 'claude-sonnet-4-5',
    price,
  },
  'strict-converse': {
    family: 'bedrock-converse',
    upstream: 'bedrock',
    upstreamModel: 'us.amazon.nova-premier-v1:0',
    price,
  },
}

const open = { additionalProperties: true }
const orNull = (schema: TSchema) => Type.Union([schema, Type.Null()])
const text = Type.String({ minLength: 1 })
const count = Type.Integer({ minimum: 0 })

const OutputText = Type.Object(
  {
    type: Type.Literal('output_text'),
    text: Type.String(),
    annotations: Type.Array(Type.Unknown()),
    logprobs: Type.Array(Type.Unknown()),
  },
  open,
)
const Item = Type.Union([
  Type.Object(
    {
      type: Type.Literal('message'),
      id: text,
      status: text,
      role: Type.Literal('assistant'),
      content: Type.Array(OutputText),
    },
    open,
  ),
  Type.Object(
    {
      type: Type.Literal('function_call'),
      id: text,
      call_id: text,
      name: text,
      arguments: Type.String(),
      status: text,
    },
    open,
  ),
  Type.Object({ type: Type.Literal('reasoning'), id: text, summary: Type.Array(Type.Unknown()) }, open),
])
const Usage = Type.Object(
  {
    input_tokens: count,
    output_tokens: count,
    total_tokens: count,
    input_tokens_details: Type.Object({ cached_tokens: count }, open),
    output_tokens_details: Type.Object({ reasoning_tokens: count }, open),
  },
  open,
)
const otherThan = (word: string) => Type.String({ pattern: `^(?!${word}$).+` })
const FunctionTool = Type.Object(
  {
    type: Type.Literal('function'),
    name: text,
    description: orNull(Type.String()),
    parameters: orNull(Type.Object({}, open)),
    strict: orNull(Type.Boolean()),
  },
  open,
)
const PlainFormat = Type.Object({ type: otherThan('json_schema') }, open)
const SchemaFormat = Type.Object(
  {
    type: Type.Literal('json_schema'),
    name: text,
    description: orNull(Type.String()),
    schema: orNull(Type.Object({}, open)),
    strict: Type.Boolean(),
  },
  open,
)
/** Every member that a response must have. */
const RequiredResponse = Type.Object(
  {
    id: text,
    object: Type.Literal('response'),
    created_at: count,
    completed_at: orNull(count),
    status: text,
    incomplete_details: orNull(Type.Object({ reason: text }, open)),
    model: text,
    previous_response_id: orNull(text),
    instructions: orNull(Type.String()),
    output: Type.Array(Item),
    error: orNull(Type.Object({ code: text, message: text }, open)),
    tools: Type.Array(Type.Union([FunctionTool, Type.Object({ type: otherThan('function') }, open)])),
    tool_choice: Type.Union([text, Type.Object({ type: text }, open)]),
    truncation: Type.Union([Type.Literal('auto'), Type.Literal('disabled')]),
    parallel_tool_calls: Type.Boolean(),
    text: Type.Object({ format: Type.Union([SchemaFormat, PlainFormat]) }, open),
    top_p: Type.Number(),
    presence_penalty: Type.Number(),
    frequency_penalty: Type.Number(),
    top_logprobs: count,
    temperature: Type.Number(),
    reasoning: orNull(Type.Object({ effort: orNull(text), summary: orNull(text) }, open)),
    user: orNull(text),
    usage: orNull(Usage),
    max_output_tokens: orNull(count),
    max_tool_calls: orNull(count),
    store: Type.Boolean(),
    background: Type.Boolean(),
    service_tier: text,
    metadata: Type.Record(Type.String(), Type.String()),
    safety_identifier: orNull(text),
    prompt_cache_key: orNull(text),
  },
  open,
)

const RequiredCompaction = Type.Object(
  {
    id: text,
    object: Type.Literal('response.compaction'),
    created_at: count,
    output: Type.Array(
      Type.Union([
        Type.Object({ type: Type.Literal('message'), id: text, status: text, role: text }, open),
        Type.Object({ type: Type.Literal('compaction'), id: text, encrypted_content: text }, open),
      ]),
    ),
    usage: Usage,
  },
  open,
)

const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const message = (role: string, content: unknown) => ({ type: 'message', role, content })
const weather = {
  input: [message('user', '[sandbox tool] How is the weather in Lisbon?')],
  tools: [
    {
      type: 'function',
      name: 'get_weather',
      description: 'The weather of a place',
      parameters: { type: 'object', properties: { location: { type: 'string' } }, required: ['location'] },
    },
  ],
}

interface Case {
  name: string
  body: Record<string, unknown>
  streamed?: true
  /** The type of an item that the output must have. */
  item: string
  /** The types of events that must come. */
  events?: string[]
}

const cases: Case[] = [
  { name: 'a plain text', body: { input: [message('user', 'Greet me.')] }, item: 'message' },
  {
    name: 'a plain text, streamed',
    body: { input: [message('user', 'Count to five.')] },
    streamed: true,
    item: 'message',
    events: ['response.output_text.delta'],
  },
  {
    name: 'a system message',
    body: { input: [message('system', 'Talk like a sailor.'), message('user', 'Greet me.')] },
    item: 'message',
  },
  { name: 'a tool', body: weather, item: 'function_call' },
  {
    name: 'a tool, streamed',
    body: weather,
    streamed: true,
    item: 'function_call',
    events: ['response.function_call_arguments.delta', 'response.function_call_arguments.done'],
  },
  {
    name: 'an image',
    body: {
      input: [
        message('user', [
          { type: 'input_text', text: 'Name what you see.' },
          { type: 'input_image', image_url: PIXEL },
        ]),
      ],
    },
    item: 'message',
  },
  {
    name: 'several turns',
    body: {
      input: [
        message('user', 'I am Grace.'),
        message('assistant', 'Welcome, Grace.'),
        message('user', 'Who am I?'),
      ],
    },
    item: 'message',
  },
  {
    name: 'phases of the assistant',
    body: {
      input: [
        { ...message('assistant', 'I look it up.'), phase: 'commentary' },
        { ...message('assistant', 'It is seven.'), phase: 'final_answer' },
        message('user', 'Once more?'),
      ],
    },
    item: 'message',
  },
  {
    name: 'a format',
    body: {
      input: [message('user', 'Name a town.')],
      text: {
        format: { type: 'json_schema', name: 'town', schema: { type: 'object', properties: {} } },
        verbosity: 'low',
      },
    },
    item: 'message',
  },
]

const vendor = startTrilingualVendor()
let aheadMs = 0
let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({
    models: { ...models, ...strictModels },
    upstreams: {
      bare: { kind: 'openai', baseUrl: vendor.url, apiKey: 'none' },
      'bare-messages': { kind: 'anthropic', baseUrl: vendor.url, apiKey: 'none' },
    },
    outside: { now: () => Date.now() + aheadMs },
  })
})
afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

const faultsIn = (schema: TSchema, value: unknown) =>
  [...Value.Errors(schema, value)].map(({ path, message }) => `${path}: ${message}`)

for (const model of kinds) {
  describe(model, () => {
    for (const { name, body, streamed = false, item, events = [] } of cases) {
      test(name, async () => {
        const answered = await gateway.post('/v1/responses', { ...body, model, stream: streamed })
        const content = await answered.text()
        expect({ status: answered.status, content: answered.ok ? '' : content }).toEqual({
          status: 200,
          content: '',
        })
        const response = streamed ? readResponse(content).response : JSON.parse(content)
        expect(faultsIn(RequiredResponse, response)).toEqual([])
        expect(response.status).toBe('completed')
        expect(response.output.map(({ type }: { type: string }) => type)).toContain(item)
        for (const type of events) expect(content).toContain(`event: ${type}\n`)
      })
    }
  })
}

describe.each(['bare-native', 'bare-chat', 'bare-messages'])('%s, whose vendor sends the least', (model) => {
  test.each([false, true])(
    'every member is there, and the time of the end (streamed: %p)',
    async (streamed) => {
      vendor.says = { text: 'Seven.' }
      vendor.onRequest = () => {
        aheadMs += 5_000
      }
      const answered = await gateway.post('/v1/responses', { ...weather, model, stream: streamed })
      const content = await answered.text()
      const response = streamed ? readResponse(content).response : JSON.parse(content)
      expect(faultsIn(RequiredResponse, response)).toEqual([])
      expect(response.completed_at - response.created_at).toBeGreaterThanOrEqual(5)
    },
  )

  test('a compaction needs a model, and has every member', async () => {
    const input = [message('user', 'We meet at noon.'), message('assistant', 'Noted.')]
    const lacking = await gateway.post('/v1/responses/compact', { input })
    expect(lacking.status).toBe(400)
    const answered = await gateway.post('/v1/responses/compact', { model, input, prompt_cache_key: 'k' })
    expect(faultsIn(RequiredCompaction, await answered.json())).toEqual([])
  })
})

/** The schemas of an SDK for a whole response and for an event, which it rejects the rest by. */
interface StrictSdk {
  faultsInResponse(response: unknown): Promise<string | undefined>
  faultsInEvent(event: unknown): Promise<string | undefined>
}

const sdkSources = `${import.meta.dir}/../../node_modules/@ai-sdk`
const xai = await import(`${sdkSources}/xai/src/responses/xai-responses-api.ts`)
const openai = await import(`${sdkSources}/openai/src/responses/openai-responses-api.ts`)
const faultOf = ({ success, error }: { success: boolean; error?: Error }) =>
  success ? undefined : String(error?.message)
const strictSdks: Record<string, StrictSdk> = {
  '@ai-sdk/xai': {
    faultsInResponse: async (response) => faultOf(xai.xaiResponsesResponseSchema.safeParse(response)),
    faultsInEvent: async (event) => faultOf(xai.xaiResponsesChunkSchema.safeParse(event)),
  },
  '@ai-sdk/openai': {
    faultsInResponse: async (response) =>
      faultOf(await openai.openaiResponsesResponseSchema().validate(response)),
    faultsInEvent: async (event) => faultOf(await openai.openaiResponsesChunkSchema().validate(event)),
  },
}

const reasoning = { effort: 'low', summary: 'auto' }
const strictCases: { name: string; body: Record<string, unknown>; items: string[] }[] = [
  {
    name: 'a thought and a text',
    body: { input: '[sandbox reasoning=40] Greet me.', reasoning },
    items: ['reasoning', 'message'],
  },
  { name: 'a thought and a call', body: { ...weather, reasoning }, items: ['function_call'] },
  {
    name: 'a call of a custom tool',
    body: {
      input: '[sandbox tool] Write it.',
      tools: [{ type: 'custom', name: 'write', description: 'Writes a text' }],
    },
    items: ['custom_tool_call'],
  },
  {
    name: 'an answer that reaches its limit',
    body: { input: '[sandbox tokens=200] Tell me more.', max_output_tokens: 16, reasoning },
    items: [],
  },
]

describe.each(Object.keys(strictModels))('%s for the strictest SDKs', (model) => {
  describe.each(strictCases)('$name', ({ body, items }) => {
    test.each([false, true])('is rejected by none (streamed: %p)', async (streamed) => {
      const answered = await gateway.post('/v1/responses', { ...body, model, stream: streamed })
      const content = await answered.text()
      expect({ status: answered.status, content: answered.ok ? '' : content }).toEqual({
        status: 200,
        content: '',
      })
      const response = streamed ? readResponse(content).response : JSON.parse(content)
      const types = response.output.map(({ type }: { type: string }) => type)
      expect(types).toEqual(expect.arrayContaining(items))
      const events = streamed
        ? content
            .split('\n')
            .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
        : []
      for (const [sdk, { faultsInResponse, faultsInEvent }] of Object.entries(strictSdks)) {
        expect({ sdk, fault: await faultsInResponse(response) }).toEqual({ sdk, fault: undefined })
        for (const event of events)
          expect({ sdk, type: event.type, fault: await faultsInEvent(event) }).toEqual({
            sdk,
            type: event.type,
            fault: undefined,
          })
      }
    })
  })
})

test.each(['strict-chat', 'strict-messages'])(
  '%s: reasoning that was altered is rejected by its place',
  async (model) => {
    const ask = async (input: unknown, headers = {}) => {
      const answered = await gateway.post(
        '/v1/responses',
        { ...weather, model, input, reasoning, store: false },
        headers,
      )
      return { status: answered.status, json: (await answered.json()) as Json }
    }
    const asked = message('user', '[sandbox tool reasoning=40] How is the weather in Lisbon?')
    const { output } = (await ask([asked])).json
    const place = output.findIndex(({ type }: Json) => type === 'reasoning')
    const call = output.find(({ type }: Json) => type === 'function_call')
    const result = { type: 'function_call_output', call_id: call.call_id, output: '21 degrees' }
    const sealed: string = output[place].encrypted_content
    const other = sealed.at(-9) === 'A' ? 'B' : 'A'
    const altered = { ...output[place], encrypted_content: sealed.slice(0, -9) + other + sealed.slice(-8) }
    const changed = output.with(place, altered)
    expect(await ask([asked, ...changed, result])).toMatchObject({
      status: 400,
      json: { error: { code: 'invalid_encrypted_content', param: `input[${place + 1}].encrypted_content` } },
    })
    expect(await ask([asked, ...output, result])).toMatchObject({ status: 200 })
    // Another account's is left out, as it cannot be read.
    const { secret } = await gateway.makeKey(`other-of-${model}`, '10')
    const stranger = { authorization: `Bearer ${secret}` }
    expect(await ask([asked, ...output, result], stranger)).toMatchObject({ status: 200 })
  },
)
