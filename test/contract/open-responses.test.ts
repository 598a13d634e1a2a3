// The acceptance cases of the Open Responses specification, asked of models of every kind: each answer has every member
// that the specification requires, of the right type, and each stream keeps the grammar of events.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { readResponse } from '../support/response-events'

const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const models = {
  'acceptance-native': {
    family: 'openai-responses',
    upstream: 'openai',
    upstreamModel: 'gpt-4.1-mini',
    price,
  },
}
const kinds = ['acceptance-native', 'test-chat', 'test-messages']

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
    tools: Type.Array(Type.Object({ type: text }, open)),
    tool_choice: Type.Union([text, Type.Object({ type: text }, open)]),
    truncation: Type.Union([Type.Literal('auto'), Type.Literal('disabled')]),
    parallel_tool_calls: Type.Boolean(),
    text: Type.Object({ format: Type.Object({ type: text }, open) }, open),
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
  /** Types of events that must come. */
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
    name: 'a picture',
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
]

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startTestGateway({ models })
})
afterAll(() => gateway.close())

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
        expect(
          [...Value.Errors(RequiredResponse, response)].map(({ path, message }) => `${path}: ${message}`),
        ).toEqual([])
        expect(response.status).toBe('completed')
        expect(response.output.map(({ type }: { type: string }) => type)).toContain(item)
        for (const type of events) expect(content).toContain(`event: ${type}\n`)
      })
    }
  })
}
