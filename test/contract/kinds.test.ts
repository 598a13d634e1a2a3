// Kinds of upstreams whose path to a model differs from that of the vendor that defined the API: each is called through
// the gateway, whole and streamed, and with every kind of failure.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import catalogue from '../../gateway.config'
import { type Sandbox, startSandbox, type VendorName } from '../../sandbox'
import type { ModelConfig } from '../../src/config/schema'
import { upstreamKinds } from '../../src/upstreams/kinds'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { say, startTestGateway, type TestGateway } from '../support/gateway'

interface Row {
  /** Name of the model, and of its upstream. */
  name: string
  kind: VendorName
  settings?: Partial<UpstreamConfig>
  family?: string | string[]
  upstreamModel: string
  /** The vendor's paths for a chat completion, whole and streamed. */
  path: string
  streamPath?: string
}

const rows: Row[] = [
  {
    name: 'azure-v1',
    kind: 'azure',
    upstreamModel: 'gpt-4.1-mini',
    path: '/openai/v1/chat/completions',
  },
  {
    name: 'azure-deployment',
    kind: 'azure',
    settings: { apiVersion: '2024-10-21' },
    upstreamModel: 'gpt-4.1-mini',
    path: '/openai/deployments/gpt-4.1-mini/chat/completions?api-version=2024-10-21',
  },
  {
    name: 'openrouter',
    kind: 'openrouter',
    upstreamModel: 'openai/gpt-4.1-mini',
    path: '/api/v1/chat/completions',
  },
  { name: 'ollama', kind: 'ollama', upstreamModel: 'llama3.2:latest', path: '/v1/chat/completions' },
  {
    name: 'groq',
    kind: 'groq',
    upstreamModel: 'llama-3.3-70b-versatile',
    path: '/openai/v1/chat/completions',
  },
  { name: 'deepseek', kind: 'deepseek', upstreamModel: 'deepseek-chat', path: '/chat/completions' },
  {
    name: 'deepseek-messages',
    kind: 'deepseek',
    family: 'anthropic-messages',
    upstreamModel: 'deepseek-chat',
    path: '/anthropic/v1/messages',
  },
  { name: 'mistral', kind: 'mistral', upstreamModel: 'mistral-large-latest', path: '/v1/chat/completions' },
  { name: 'moonshot', kind: 'moonshot', upstreamModel: 'kimi-k2-0905-preview', path: '/v1/chat/completions' },
  {
    name: 'moonshot-messages',
    kind: 'moonshot',
    family: 'anthropic-messages',
    upstreamModel: 'kimi-k2-0905-preview',
    path: '/anthropic/v1/messages',
  },
  { name: 'zai', kind: 'zai', upstreamModel: 'glm-4.6', path: '/api/paas/v4/chat/completions' },
  {
    name: 'zai-messages',
    kind: 'zai',
    family: 'anthropic-messages',
    upstreamModel: 'glm-4.6',
    path: '/api/anthropic/v1/messages',
  },
  {
    name: 'bedrock',
    kind: 'bedrock',
    family: 'anthropic-messages',
    upstreamModel: 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0',
    path: '/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke',
    streamPath: '/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke-with-response-stream',
  },
  {
    name: 'bedrock-converse',
    kind: 'bedrock',
    family: 'bedrock-converse',
    upstreamModel: 'us.amazon.nova-lite-v1:0',
    path: '/model/us.amazon.nova-lite-v1%3A0/converse',
    streamPath: '/model/us.amazon.nova-lite-v1%3A0/converse-stream',
  },
  {
    name: 'bedrock-chat',
    kind: 'bedrock',
    settings: { region: 'eu-central-1' },
    upstreamModel: 'openai.gpt-oss-120b-1:0',
    path: '/openai/v1/chat/completions',
  },
  {
    name: 'vertex',
    kind: 'vertex',
    settings: { region: 'europe-west4' },
    upstreamModel: 'google/gemini-2.5-flash',
    path: '/v1/projects/sandbox-project/locations/europe-west4/endpoints/openapi/chat/completions',
  },
  {
    name: 'vertex-messages',
    kind: 'vertex',
    family: 'anthropic-messages',
    upstreamModel: 'claude-sonnet-4-5@20250929',
    path: '/v1/projects/sandbox-project/locations/global/publishers/anthropic/models/claude-sonnet-4-5%4020250929:rawPredict',
    streamPath:
      '/v1/projects/sandbox-project/locations/global/publishers/anthropic/models/claude-sonnet-4-5%4020250929:streamRawPredict',
  },
]

// biome-ignore lint/suspicious/noExplicitAny: answers are read by path
type Json = any

let sandbox: Sandbox
let gateway: TestGateway

beforeAll(async () => {
  sandbox = startSandbox({ record: true })
  const upstreams: Record<string, UpstreamConfig> = {}
  const models: Record<string, ModelConfig> = {
    'azure-answers': {
      family: 'openai-responses',
      upstream: 'azure-deployment',
      upstreamModel: 'gpt-4.1-mini',
      price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' },
    },
    'azure-vectors': {
      family: 'openai-embeddings',
      upstream: 'azure-deployment',
      upstreamModel: 'text-embedding-3-small',
      free: true,
    },
  }
  for (const { name, kind, settings, family = 'openai-chat', upstreamModel } of rows) {
    const upstream = { kind, baseUrl: sandbox.baseUrls[kind], apiKey: sandbox.secrets[kind], ...settings }
    upstreams[name] = upstream
    upstreams[`${name}-refused`] = { project: 'sandbox-project', ...upstream, apiKey: 'a-key-of-nobody-0001' }
    const price = {
      per_1m_input_tokens: '1.00',
      per_1m_cached_input_tokens: '0.10',
      per_1m_output_tokens: '2.00',
    }
    models[name] = { family, upstream: name, upstreamModel, price }
    models[`${name}-missing`] = { family, upstream: name, upstreamModel: 'no-such-model', price }
    models[`${name}-refused`] = { family, upstream: `${name}-refused`, upstreamModel, price }
  }
  gateway = await startTestGateway({ sandbox, upstreams, models })
})
afterAll(async () => {
  await gateway.close()
  await sandbox.stop()
})

async function ask(model: string, text: string, more: object = {}): Promise<{ status: number; body: Json }> {
  const response = await gateway.chat({ model, messages: say(text), ...more })
  return { status: response.status, body: await response.json() }
}

async function stream(model: string, text: string, more: object = {}): Promise<string> {
  const asked = { stream: true, stream_options: { include_usage: true }, ...more }
  const response = await gateway.chat({ model, messages: say(text), ...asked })
  return response.text()
}

function chunksOf(text: string): Json[] {
  return text
    .split('\n\n')
    .filter((event) => event.startsWith('data: {'))
    .map((event) => JSON.parse(event.slice('data: '.length)))
}

const contentOf = (chunks: Json[]) => chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? '').join('')

const lastCharge = async () => (await gateway.newestCharge()) as Json

test('each kind without models in the built-in catalogue is tested here', () => {
  const asked = [...rows, ...Object.values(catalogue.upstreams ?? {})].map(({ kind }) => kind as string)
  expect([...upstreamKinds.keys()].filter((kind) => !asked.includes(kind))).toEqual([])
})

describe.each(rows)('$name', ({ name, kind, path, streamPath = path }) => {
  test('answers whole, and is charged by the reported usage', async () => {
    const { status, body } = await ask(name, '[sandbox tokens=12 prompt_tokens=30] good morning')
    expect(status).toBe(200)
    expect(body).toMatchObject({ object: 'chat.completion', model: name })
    expect(body.usage).toMatchObject({ prompt_tokens: 30, completion_tokens: 12 })
    expect(sandbox.calls.at(-1)).toMatchObject({ vendor: kind, path })
    expect(Number((await lastCharge()).amount)).toBe(30_000 + 24_000)
  })

  test('answers the same in a stream', async () => {
    const whole = await ask(name, 'good morning')
    const text = await stream(name, 'good morning')
    expect(text).toEndWith('data: [DONE]\n\n')
    const chunks = chunksOf(text)
    expect(contentOf(chunks)).toBe(whole.body.choices[0].message.content)
    // One vendor names no model in its first chunk, which has no choice.
    expect(new Set(chunks.map(({ model }) => model || name))).toEqual(new Set([name]))
    const { usage } = chunks.at(-1)
    const { prompt_tokens: read, completion_tokens: written } = whole.body.usage
    expect(usage).toMatchObject({ prompt_tokens: read, completion_tokens: written })
    expect(sandbox.calls.at(-1)).toMatchObject({ vendor: kind, path: streamPath })
    expect(Number((await lastCharge()).amount)).toBe(1_000 * read + 2_000 * written)
  })

  test('calls a tool, whole and streamed, and reads its result', async () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const tools = [{ type: 'function', function: { name: 'get_weather', parameters } }]
    const { body } = await ask(name, 'What is the weather?', { tools })
    const [call] = body.choices[0].message.tool_calls
    expect(body.choices[0].finish_reason).toBe('tool_calls')
    expect(JSON.parse(call.function.arguments)).toEqual({ city: 'city' })
    const deltas = chunksOf(await stream(name, 'What is the weather?', { tools })).flatMap(
      (chunk) => chunk.choices?.[0]?.delta.tool_calls ?? [],
    )
    expect(deltas.map((delta) => delta.function?.arguments ?? '').join('')).toBe('{"city":"city"}')
    const after = await ask(name, '', {
      tools,
      messages: [
        ...say('What is the weather?'),
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: 'rain' },
      ],
    })
    expect(after.body.choices[0].message.content).toStartWith('The tool answered: rain')
  })

  test('ends at the limit of the caller', async () => {
    const { body } = await ask(name, 'hi', { max_tokens: 3 })
    expect(body.choices[0].finish_reason).toBe('length')
    expect(body.usage.completion_tokens).toBe(3)
  })

  test.each([
    ['[sandbox status=429 retry_after=2]', 429],
    ['[sandbox status=503]', 503],
    ['[sandbox status=500]', 502],
    ['[sandbox status=400 error_text="no such thing"]', 400],
    ['[sandbox garbage]', 502],
    ['[sandbox quota]', 503],
  ])('%s is an error of %d that costs nothing', async (text, status) => {
    const answer = await ask(name, text)
    expect(answer.status).toBe(status)
    expect(answer.body.error.message).toBeString()
    if (status === 400) expect(answer.body.error.message).toContain('no such thing')
    expect(Number((await lastCharge()).amount)).toBe(0)
  })

  test('a missing model and a rejected key are reported as the operator’s problem', async () => {
    const missing = await ask(`${name}-missing`, 'hi')
    expect(missing.body.error.code).toBeOneOf(['upstream_model_missing', 'upstream_unavailable'])
    // One of them needs no key, and ignores one.
    if (kind === 'ollama') return
    const refused = await ask(`${name}-refused`, 'hi')
    expect([refused.status, refused.body.error.code]).toEqual([503, 'upstream_unavailable'])
  })

  test('a stream that breaks off or is cut reports an error, and has no closing event', async () => {
    for (const fault of ['error_after=3', 'cut_after=3']) {
      const text = await stream(name, `[sandbox tokens=40 ${fault}] hi`)
      expect(text).toContain('"error"')
      expect(text).not.toContain('[DONE]')
    }
  })

  test('a stream in odd pieces is the same stream', async () => {
    const odd = contentOf(chunksOf(await stream(name, '[sandbox split tokens=30] Grüße 世界')))
    const { body } = await ask(name, '[sandbox tokens=30] Grüße 世界')
    expect(odd).toBe(body.choices[0].message.content)
  })
})

describe('Azure', () => {
  test('serves responses and embeddings of its deployments', async () => {
    const answer = await gateway.post('/v1/responses', { model: 'azure-answers', input: 'hi', store: false })
    expect(answer.status).toBe(200)
    expect(sandbox.calls.at(-1)?.path).toBe('/openai/responses?api-version=2024-10-21')
    const vectors = await gateway.post('/v1/embeddings', { model: 'azure-vectors', input: 'hi' })
    expect(vectors.status).toBe(200)
    expect(sandbox.calls.at(-1)?.path).toBe(
      '/openai/deployments/text-embedding-3-small/embeddings?api-version=2024-10-21',
    )
    expect(sandbox.calls.at(-1)?.headers['api-key']).toBe(sandbox.secrets.azure)
  })
})

test.each(['deepseek', 'moonshot', 'azure-v1'])('%s bills cached input at its own price', async (name) => {
  for (const more of [{}, { stream: true }]) {
    const text = '[sandbox tokens=1 prompt_tokens=100 cached=60] hi'
    const response = await gateway.chat({ model: name, messages: say(text), ...more })
    await response.text()
    expect(Number((await lastCharge()).amount)).toBe(40 * 1_000 + 60 * 100 + 2_000)
  }
})

test('Mistral gets fields by its own names, and none that it rejects', async () => {
  const asked = { max_completion_tokens: 9, seed: 7, user: 'me', temperature: 0.5 }
  await stream('mistral', 'hi', asked)
  const { messages: _, ...sent } = JSON.parse(sandbox.calls.at(-1)?.body ?? '{}')
  expect(sent).toEqual({
    model: 'mistral-large-latest',
    stream: true,
    max_tokens: 9,
    random_seed: 7,
    temperature: 0.5,
  })
  // Through a translation too.
  const answer = await gateway.post('/v1/messages', { model: 'mistral', max_tokens: 5, messages: say('hi') })
  expect(answer.status).toBe(200)
})

test.each(['models', 'route', 'provider', 'plugins', 'web_search_options', 'preset'])(
  'OpenRouter is not sent %s, which a price list cannot cover',
  async (field) => {
    const before = sandbox.calls.length
    const { status, body } = await ask('openrouter', 'hi', { [field]: ['x'] })
    expect(status).toBe(400)
    expect(body.error).toMatchObject({ param: field, code: expect.stringContaining('unsupported_') })
    expect(sandbox.calls.length).toBe(before)
  },
)

test('a full tier of Groq counts as a busy vendor', async () => {
  const { status, body } = await ask('groq', '[sandbox status=498] hi')
  expect(status).toBe(503)
  expect(body.error.code).toBe('upstream_error')
})
