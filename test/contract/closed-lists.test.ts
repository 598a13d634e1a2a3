// Vendors with a closed list of fields: a valid request succeeds with any of its fields, in every dialect. A field
// without an effect on the answer is omitted, and one that would change it is rejected with its name before anything is
// held.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Sandbox, startSandbox, type VendorName } from '../../sandbox'
import type { ModelConfig } from '../../src/config/schema'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { say, startTestGateway, type TestGateway } from '../support/gateway'

const kinds = {
  google: 'gemini-2.5-flash',
  groq: 'llama-3.3-70b-versatile',
  mistral: 'mistral-large-latest',
  xai: 'grok-4-fast-non-reasoning',
} satisfies Partial<Record<VendorName, string>>
type Kind = keyof typeof kinds
const names = Object.keys(kinds) as Kind[]

// biome-ignore lint/suspicious/noExplicitAny: bodies are read by path
type Json = any

let sandbox: Sandbox
let gateway: TestGateway

beforeAll(async () => {
  sandbox = startSandbox({ record: true })
  const upstreams: Record<string, UpstreamConfig> = {}
  const models: Record<string, ModelConfig> = {}
  for (const kind of names) {
    upstreams[kind] = { kind, baseUrl: sandbox.baseUrls[kind], apiKey: sandbox.secrets[kind] }
    const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
    models[`any-${kind}`] = { family: 'openai-chat', upstream: kind, upstreamModel: kinds[kind], price }
  }
  upstreams.own = { ...(upstreams.groq as UpstreamConfig), omittedFields: ['verbosity', 'house_rule'] }
  models['any-own'] = { ...(models['any-groq'] as ModelConfig), upstream: 'own' }
  gateway = await startTestGateway({ sandbox, upstreams, models })
})
afterAll(async () => {
  await gateway.close()
  await sandbox.stop()
})

function lastBody(): Json {
  return JSON.parse(sandbox.calls.at(-1)?.body ?? '{}')
}

/** Every permitted field whose absence changes nothing. */
const labels = {
  store: true,
  metadata: { team: 'blue' },
  user: 'somebody',
  safety_identifier: 'somebody',
  prompt_cache_key: 'key',
  prompt_cache_retention: '24h',
  prediction: { type: 'content', content: 'hello' },
  seed: 7,
  frequency_penalty: 0.5,
  presence_penalty: 0.25,
  top_k: 20,
}
const tools = [{ name: 'look', input_schema: { type: 'object', properties: {} } }]
const requests: Record<string, (model: string) => [path: string, body: object]> = {
  chat: (model) => ['/v1/chat/completions', { model, messages: say('hi'), temperature: 0.5, ...labels }],
  messages: (model) => [
    '/v1/messages',
    {
      model,
      messages: say('hi'),
      max_tokens: 50,
      metadata: { user_id: 'somebody' },
      top_k: 20,
      tools,
      temperature: 0.5,
    },
  ],
  responses: (model) => [
    '/v1/responses',
    {
      model,
      input: 'hi',
      store: true,
      metadata: { team: 'blue' },
      user: 'somebody',
      safety_identifier: 'somebody',
      prompt_cache_key: 'key',
      text: { verbosity: 'low' },
      temperature: 0.5,
    },
  ],
}

describe.each(names)('%s', (kind) => {
  describe.each(Object.keys(requests))('%s', (dialect) => {
    test.each([false, true])('stream: %p', async (stream) => {
      const [path, body] = requests[dialect]?.(`any-${kind}`) ?? []
      const response = await gateway.post(path as string, { ...body, stream })
      const text = await response.text()
      expect([response.status, text]).toEqual([200, expect.not.stringContaining('"error":{')])
      expect(lastBody().temperature).toBe(0.5)
    })
  })
})

test('fields that a vendor supports are sent to it', async () => {
  await gateway.post('/v1/chat/completions', { model: 'any-mistral', messages: say('hi'), ...labels })
  const { messages: _, ...sent } = lastBody()
  expect(sent).toEqual({
    model: 'mistral-large-latest',
    random_seed: 7,
    metadata: { team: 'blue' },
    prompt_cache_key: 'key',
    prediction: { type: 'content', content: 'hello' },
    frequency_penalty: 0.5,
    presence_penalty: 0.25,
  })
  await gateway.post('/v1/chat/completions', { model: 'any-groq', messages: say('hi'), ...labels })
  expect(lastBody()).toMatchObject({ seed: 7, user: 'somebody' })
})

const refused: [Kind, string, unknown, plain: unknown][] = (['groq', 'mistral'] as const).flatMap((kind) => [
  [kind, 'logit_bias', { 50256: -100 }, {}],
  [kind, 'logprobs', true, false],
  [kind, 'top_logprobs', 3, 0],
])

describe.each([...refused, ['groq', 'n', 2, 1] as const])('%s rejects %s', (kind, field, value, plain) => {
  test('with the field’s name, and nothing is sent or held', async () => {
    const before = sandbox.calls.length
    const response = await gateway.chat({ model: `any-${kind}`, messages: say('hi'), [field]: value })
    const { error } = (await response.json()) as Json
    expect([response.status, error.param, error.code]).toEqual([400, field, 'unsupported_value'])
    expect(sandbox.calls.length).toBe(before)
  })

  test('but not a value that changes nothing', async () => {
    const response = await gateway.chat({ model: `any-${kind}`, messages: say('hi'), [field]: plain })
    expect(response.status).toBe(200)
  })
})

test('reasoning fields are rejected for Google in chat, and translated from responses', async () => {
  const reasoning = { effort: 'low' }
  const refusal = await gateway.chat({ model: 'any-google', messages: say('hi'), reasoning })
  const { error } = (await refusal.json()) as Json
  expect([refusal.status, error.param, error.code]).toEqual([400, 'reasoning', 'unsupported_parameter'])
  const answer = await gateway.post('/v1/responses', { model: 'any-google', input: 'hi', reasoning })
  expect(answer.status).toBe(200)
})

test.each([{ top_logprobs: 2 }, { include: ['message.output_text.logprobs'] }])(
  'log probabilities are rejected in responses as in chat: %j',
  async (more) => {
    for (const kind of ['groq', 'mistral']) {
      const response = await gateway.post('/v1/responses', { model: `any-${kind}`, input: 'hi', ...more })
      const { error } = (await response.json()) as Json
      expect([response.status, error.param]).toEqual([
        400,
        expect.stringMatching(/^(top_logprobs|include\[0\])$/),
      ])
    }
  },
)

test('an operator can configure further fields that a vendor does not get', async () => {
  const more = { verbosity: 'low', house_rule: null, seed: 3 }
  const response = await gateway.chat({ model: 'any-own', messages: say('hi'), ...more })
  expect(response.status).toBe(200)
  const { messages: _, ...sent } = lastBody()
  expect(sent).toEqual({ model: 'llama-3.3-70b-versatile', seed: 3 })
})
