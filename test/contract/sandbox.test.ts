// The sandbox uses every vendor's real wire format, including errors and quirks. No other
// test can detect its mistakes.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Sandbox, startSandbox, type VendorName } from '../../sandbox'
import { deliver } from '../../sandbox/delivery'
import { directiveHelp, promptText, readDirectives, withoutDirectives } from '../../sandbox/directives'
import { countTokens, cutIntoPieces } from '../../sandbox/pieces'
import { exampleOf } from '../../sandbox/schema-example'
import { waitFor } from '../support/gateway'
import { rejection } from '../support/rejection'

// biome-ignore lint/suspicious/noExplicitAny: replies of vendors have any shape, and the tests read them by path
type Json = any

let sandbox: Sandbox

beforeAll(() => {
  sandbox = startSandbox({ record: true })
})
afterAll(() => sandbox.stop())

interface Options {
  key?: string | null
  headers?: Record<string, string>
  signal?: AbortSignal
  method?: string
}

function send(vendor: VendorName, path: string, body: unknown, options: Options = {}): Promise<Response> {
  const key = options.key === undefined ? sandbox.secrets[vendor] : options.key
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  const native = vendor === 'google' && !path.startsWith('/openai')
  if (key !== null && native) headers['x-goog-api-key'] = key
  else if (key !== null && vendor === 'anthropic') headers['x-api-key'] = key
  else if (key !== null && vendor === 'elevenlabs') headers['xi-api-key'] = key
  else if (key !== null) headers.authorization = `${vendor === 'fal' ? 'Key' : 'Bearer'} ${key}`
  if (vendor === 'anthropic') headers['anthropic-version'] = '2023-06-01'
  if (vendor === 'runway') headers['x-runway-version'] = '2024-11-06'
  return fetch(sandbox.baseUrls[vendor] + path, {
    method: options.method ?? (body === undefined ? 'GET' : 'POST'),
    headers: { ...headers, ...options.headers },
    redirect: 'manual',
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    ...(options.signal ? { signal: options.signal } : {}),
  })
}

interface ChatVendor {
  vendor: VendorName
  path: string
  model: string
}

const chatVendors: ChatVendor[] = [
  { vendor: 'openai', path: '/chat/completions', model: 'gpt-4o-mini' },
  { vendor: 'dashscope', path: '/compatible-mode/v1/chat/completions', model: 'qwen-plus' },
  { vendor: 'google', path: '/openai/chat/completions', model: 'gemini-2.5-flash' },
  { vendor: 'xai', path: '/chat/completions', model: 'grok-3' },
]
const openaiChat = chatVendors[0] as ChatVendor
const dashscopeChat = chatVendors[1] as ChatVendor
const xaiChat = chatVendors[3] as ChatVendor

function chat(
  target: ChatVendor,
  text: string,
  extra: object = {},
  options: Options = {},
): Promise<Response> {
  const body = { model: target.model, messages: [{ role: 'user', content: text }], ...extra }
  return send(target.vendor, target.path, body, options)
}

async function reply(target: ChatVendor, text: string, extra: object = {}): Promise<Json> {
  const response = await chat(target, text, extra)
  const body = await response.json()
  if (response.status !== 200) throw new Error(JSON.stringify(body))
  return body
}

const withUsage = { stream: true, stream_options: { include_usage: true } }

function eventsOf(text: string): string[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => frame.replace(/^data: /, ''))
}

async function stream(target: ChatVendor, text: string, extra: object = withUsage): Promise<Json[]> {
  const response = await chat(target, text, { stream: true, ...extra })
  expect(response.headers.get('content-type')).toStartWith('text/event-stream')
  const events = eventsOf(await response.text())
  return events.map((event) => (event === '[DONE]' ? event : JSON.parse(event)))
}

function contentOf(chunks: Json[]): string {
  return chunks.map((chunk) => chunk.choices?.[0]?.delta?.content ?? '').join('')
}

async function failure(response: Response): Promise<{ status: number; body: Json }> {
  return { status: response.status, body: await response.json() }
}

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer' }, unit: { enum: ['C', 'F'] } },
      required: ['city', 'unit'],
    },
  },
}
const clock = { type: 'function', function: { name: 'read_clock' } }

describe('chat completions of every vendor', () => {
  test.each(chatVendors)('$vendor answers whole', async (target) => {
    const response = await chat(target, 'good morning')
    const body = (await response.json()) as Json
    expect(response.headers.get('x-sandbox')).toBe('true')
    expect(body.object).toBe('chat.completion')
    const [choice] = body.choices
    expect(choice.message.content).toStartWith('You said: good morning\n')
    expect(choice.message.content).toContain('sandbox')
    expect(choice.finish_reason).toBe('stop')
    expect(body.usage.completion_tokens).toBe(countTokens(choice.message.content))
    expect(body.usage.total_tokens).toBe(body.usage.prompt_tokens + body.usage.completion_tokens)
  })

  test.each(chatVendors)('$vendor streams the same text and usage', async (target) => {
    const whole = await reply(target, 'good morning')
    const chunks = await stream(target, 'good morning')
    expect(chunks.pop()).toBe('[DONE]')
    const last = chunks.pop()
    expect(last.choices).toEqual([])
    expect(last.usage).toEqual(whole.usage)
    expect(chunks.every((chunk) => chunk.usage === null && chunk.choices.length === 1)).toBe(true)
    expect(chunks[0].choices[0].delta.role).toBe('assistant')
    expect(chunks.at(-1).choices[0]).toMatchObject({ delta: {}, finish_reason: 'stop' })
    expect(contentOf(chunks)).toBe(whole.choices[0].message.content)
  })

  test.each(chatVendors)('$vendor streams usage only on request', async (target) => {
    const chunks = await stream(target, 'hi', { stream: true })
    expect(chunks.every((chunk) => chunk === '[DONE]' || !('usage' in chunk))).toBe(true)
  })

  test.each(chatVendors)('$vendor ends at the token limit', async (target) => {
    const body = await reply(target, 'hi', { max_tokens: 3 })
    expect(body.choices[0].finish_reason).toBe('length')
    expect(body.usage.completion_tokens).toBe(3)
    const free = await reply(target, '[sandbox tokens=40] hi')
    expect(free.choices[0].finish_reason).toBe('stop')
    expect(free.usage.completion_tokens).toBe(40)
  })

  test.each(chatVendors)('$vendor counts all choices in one usage', async (target) => {
    const body = await reply(target, '[sandbox tokens=5]', { n: 3 })
    expect(body.choices.map((choice: Json) => choice.index)).toEqual([0, 1, 2])
    expect(body.usage.completion_tokens).toBe(15)
    const chunks = await stream(target, '[sandbox tokens=5]', { n: 3, ...withUsage })
    expect(chunks.at(-2).usage.completion_tokens).toBe(15)
    expect(new Set(chunks.slice(0, -2).map((chunk) => chunk.choices[0].index)).size).toBe(3)
  })

  test.each(chatVendors)(
    '$vendor calls a tool that the prompt mentions, then uses its result',
    async (target) => {
      const tools = [clock, weather]
      const body = await reply(target, 'What is the weather?', { tools })
      const [call] = body.choices[0].message.tool_calls
      expect(body.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { content: null } })
      expect(call).toMatchObject({ type: 'function', function: { name: 'get_weather' } })
      expect(JSON.parse(call.function.arguments)).toEqual({ city: 'city', unit: 'C' })
      const messages = [
        { role: 'user', content: 'What is the weather?' },
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: 'rain' },
      ]
      const after = await reply(target, '', { tools, messages })
      expect(after.choices[0].message.content).toStartWith('The tool answered: rain')
    },
  )

  test.each(chatVendors)('$vendor streams the arguments of a tool call', async (target) => {
    const chunks = await stream(target, '[sandbox tool=2]', { tools: [clock, weather] })
    const deltas = chunks.flatMap((chunk) => chunk.choices?.[0]?.delta.tool_calls ?? [])
    const joined = ['', '']
    for (const delta of deltas) joined[delta.index] += delta.function.arguments
    expect(joined.map((text) => JSON.parse(text))).toEqual([{}, { city: 'city', unit: 'C' }])
    expect(deltas.filter((delta) => delta.function.name !== undefined).length).toBe(2)
    expect(chunks.at(-2).choices[0].finish_reason).toBe('tool_calls')
  })
})

describe('choosing a tool', () => {
  const tools = [clock, weather]
  test.each([
    ['a tool choice of `none`', { tools, tool_choice: 'none' }, undefined],
    ['no word in common', { tools }, undefined],
    ['a required call', { tools, tool_choice: 'required' }, 'read_clock'],
    [
      'a named tool',
      { tools, tool_choice: { type: 'function', function: { name: 'get_weather' } } },
      'get_weather',
    ],
  ])('%s', async (_name, extra, called) => {
    const body = await reply(openaiChat, 'hello', extra)
    expect(body.choices[0].message.tool_calls?.[0].function.name).toBe(called)
  })
})

describe('OpenAI', () => {
  const user = [{ role: 'user', content: 'hi' }]
  const reasoning = { model: 'gpt-5-mini', messages: user }

  test.each([
    ['no model', { messages: user }, 400, null, 'you must provide a model parameter'],
    [
      'no messages',
      { model: 'gpt-4o' },
      400,
      'missing_required_parameter',
      "Missing required parameter: 'messages'.",
    ],
    [
      'a misspelt field',
      { model: 'gpt-4o', messages: user, temprature: 1 },
      400,
      'unknown_parameter',
      "Unknown parameter: 'temprature'. Did you mean 'temperature'?",
    ],
    [
      'a wrong type',
      { model: 'gpt-4o', messages: user, n: '2' },
      400,
      'invalid_type',
      "Invalid type for 'n': expected an integer, but got a string instead.",
    ],
    [
      'a wrong range',
      { model: 'gpt-4o', messages: user, temperature: 3 },
      400,
      'decimal_above_max_value',
      "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got 3 instead.",
    ],
    [
      'an empty list',
      { model: 'gpt-4o', messages: [] },
      400,
      'empty_array',
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    ],
    [
      'an unknown role',
      { model: 'gpt-4o', messages: [{ role: 'assistantt', content: '' }] },
      400,
      'invalid_value',
      "Invalid value: 'assistantt'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.",
    ],
    [
      'content of null',
      { model: 'gpt-4o', messages: [{ role: 'user', content: null }] },
      400,
      null,
      "Invalid value for 'content': expected a string, got null.",
    ],
    [
      'stream options without a stream',
      { model: 'gpt-4o', messages: user, stream_options: {} },
      400,
      null,
      "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
    ],
    [
      'an unknown model',
      { model: 'constructor', messages: user },
      404,
      'model_not_found',
      'The model `constructor` does not exist or you do not have access to it.',
    ],
    [
      'max_tokens to a reasoning model',
      { ...reasoning, max_tokens: 5 },
      400,
      'unsupported_parameter',
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ],
    [
      'stop to a reasoning model',
      { ...reasoning, stop: ['x'] },
      400,
      'unsupported_parameter',
      "Unsupported parameter: 'stop' is not supported with this model.",
    ],
    [
      'temperature to a reasoning model',
      { ...reasoning, temperature: 0.5 },
      400,
      'unsupported_value',
      "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
    ],
    [
      'an effort that the model does not support',
      { ...reasoning, model: 'gpt-5.2', reasoning_effort: 'minimal' },
      400,
      'unsupported_value',
      "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'none', 'low', 'medium', 'high', and 'xhigh'.",
    ],
    [
      'modalities to a reasoning model',
      { ...reasoning, modalities: ['text'] },
      400,
      'unknown_parameter',
      "Unknown parameter: 'modalities'.",
    ],
  ])('rejects %s', async (_name, body, status, code, message) => {
    const refused = await failure(await send('openai', '/chat/completions', body))
    expect(refused.status).toBe(status)
    expect(refused.body.error).toMatchObject({ type: 'invalid_request_error', code, message })
  })

  test.each(['logit_bias', 'prediction', 'presence_penalty', 'frequency_penalty'])(
    'rejects %s for a reasoning model and accepts it for others',
    async (name) => {
      const value = name.endsWith('penalty') ? 0.5 : {}
      const refused = await chat({ ...openaiChat, model: 'o3' }, 'hi', { [name]: value })
      expect(refused.status).toBe(400)
      expect((await chat(openaiChat, 'hi', { [name]: value })).status).toBe(200)
    },
  )

  test('accepts sampling fields if thinking is disabled', async () => {
    const target = { ...openaiChat, model: 'gpt-5.1' }
    expect((await chat(target, 'hi', { temperature: 0.5, reasoning_effort: 'none' })).status).toBe(200)
    expect((await chat(target, 'hi', { temperature: 0.5, reasoning_effort: 'low' })).status).toBe(400)
  })

  test('spends the whole budget on thinking if it is too small', async () => {
    const target = { ...openaiChat, model: 'gpt-5' }
    const body = await reply(target, 'hi', { max_completion_tokens: 10 })
    expect(body.choices[0]).toMatchObject({ message: { content: '' }, finish_reason: 'length' })
    expect(body.usage.completion_tokens).toBe(10)
    expect(body.usage.completion_tokens_details.reasoning_tokens).toBe(10)
  })

  test('names the dated model and hides its thinking', async () => {
    const body = await reply({ ...openaiChat, model: 'gpt-5-mini' }, 'hi')
    expect(body.model).toMatch(/^gpt-5-mini-\d{4}-\d\d-\d\d$/)
    expect(body.choices[0].message.reasoning_content).toBeUndefined()
    expect(body.usage.completion_tokens_details.reasoning_tokens).toBe(16)
  })

  test('accepts any field for a model named local-…', async () => {
    const extra = { top_k: 5, guided_json: {}, max_tokens: 4 }
    const body = await reply({ ...openaiChat, model: 'local-llama' }, 'hi', extra)
    expect(body.model).toBe('local-llama')
    expect(body.usage.completion_tokens).toBe(4)
  })

  test('returns JSON on request', async () => {
    const schema = {
      type: 'object',
      properties: {
        name: { type: 'string' },
        tags: { type: 'array', items: { $ref: '#/$defs/tag' } },
        age: { type: 'integer' },
      },
      required: ['name', 'tags'],
      $defs: { tag: { enum: ['red'] } },
    }
    const format = { type: 'json_schema', json_schema: { name: 'person', schema } }
    const fitted = await reply(openaiChat, 'hi', { response_format: format })
    expect(JSON.parse(fitted.choices[0].message.content)).toEqual({ name: 'name', tags: ['red'] })
    const free = await reply(openaiChat, 'some json', { response_format: { type: 'json_object' } })
    expect(JSON.parse(free.choices[0].message.content).you_said).toBe('some json')
  })

  test('returns log probabilities', async () => {
    const body = await reply(openaiChat, 'hi', { logprobs: true, max_tokens: 2 })
    expect(body.choices[0].logprobs.content.map((entry: Json) => entry.token)).toEqual(['You', ' said'])
    expect(body.choices[0].logprobs.content[0].bytes).toEqual([89, 111, 117])
  })

  test('counts media parts', async () => {
    const content = [
      { type: 'text', text: 'look' },
      { type: 'image_url', image_url: { url: 'https://example.com/a.png' } },
    ]
    const plain = await reply(openaiChat, 'look')
    const withImage = await reply(openaiChat, '', { messages: [{ role: 'user', content }] })
    expect(withImage.usage.prompt_tokens - plain.usage.prompt_tokens).toBe(85)
  })

  test('rejects a prompt beyond the context window', async () => {
    const refused = await failure(await chat(openaiChat, 'a '.repeat(128_001)))
    expect(refused.body.error.code).toBe('context_length_exceeded')
  })

  test('lists models, and one of them', async () => {
    const list = (await (await send('openai', '/models', undefined)).json()) as Json
    expect(list.object).toBe('list')
    expect(list.data[0]).toMatchObject({ object: 'model', owned_by: 'openai' })
    const one = await send('openai', '/models/gpt-5-mini', undefined)
    expect(((await one.json()) as Json).id).toBe('gpt-5-mini')
    expect((await send('openai', '/models/nothing', undefined)).status).toBe(404)
  })

  test('sends its own headers', async () => {
    const { headers } = await chat(openaiChat, 'hi')
    expect(headers.get('x-request-id')).toStartWith('req_')
    expect(headers.get('openai-version')).toBe('2020-10-01')
    expect(headers.get('x-ratelimit-reset-requests')).toBe('6ms')
  })
})

interface EmbeddingVendor {
  vendor: VendorName
  path: string
  model: string
}

const openaiEmbeddings: EmbeddingVendor = {
  vendor: 'openai',
  path: '/embeddings',
  model: 'text-embedding-3-small',
}
const dashscopeEmbeddings: EmbeddingVendor = {
  vendor: 'dashscope',
  path: '/compatible-mode/v1/embeddings',
  model: 'text-embedding-v4',
}
const voyageEmbeddings: EmbeddingVendor = { vendor: 'voyage', path: '/embeddings', model: 'voyage-4' }

function embed(target: EmbeddingVendor, input: unknown, extra: object = {}): Promise<Response> {
  return send(target.vendor, target.path, { model: target.model, input, ...extra })
}

async function vectors(target: EmbeddingVendor, input: unknown, extra: object = {}): Promise<Json> {
  const response = await embed(target, input, extra)
  const body = await response.json()
  if (response.status !== 200) throw new Error(JSON.stringify(body))
  return body
}

function norm(vector: number[]): number {
  return Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0))
}

describe('embeddings', () => {
  test.each([
    { target: openaiEmbeddings, length: 1536 },
    { target: dashscopeEmbeddings, length: 1024 },
    { target: voyageEmbeddings, length: 1024 },
  ])('$target.vendor gives unit vectors, the same for the same text', async ({ target, length }) => {
    const body = await vectors(target, ['one', 'two', 'one'])
    const sorted = body.data.toSorted((left: Json, right: Json) => left.index - right.index)
    expect(sorted.map((item: Json) => item.embedding.length)).toEqual([length, length, length])
    expect(sorted[0].embedding).toEqual(sorted[2].embedding)
    expect(sorted[0].embedding).not.toEqual(sorted[1].embedding)
    expect(norm(sorted[0].embedding)).toBeCloseTo(1, 5)
    expect(body.usage.total_tokens).toBe(3)
  })

  test('OpenAI shortens, normalises and encodes', async () => {
    const short = await vectors(openaiEmbeddings, 'one', { dimensions: 256 })
    expect(norm(short.data[0].embedding)).toBeCloseTo(1, 5)
    const encoded = await vectors(openaiEmbeddings, 'one', { dimensions: 256, encoding_format: 'base64' })
    const bytes = Uint8Array.from(Buffer.from(encoded.data[0].embedding, 'base64'))
    const decoded = [...new Float32Array(bytes.buffer)]
    expect(decoded.length).toBe(256)
    expect(decoded[7]).toBeCloseTo(short.data[0].embedding[7], 6)
  })

  test('OpenAI accepts token ids', async () => {
    const body = await vectors(openaiEmbeddings, [[1, 2, 3], [4]])
    expect(body.usage).toEqual({ prompt_tokens: 4, total_tokens: 4 })
  })

  test.each([
    ['an empty text', { input: '' }, 400, null],
    ['too many texts', { input: Array(2049).fill('a') }, 400, 'array_above_max_length'],
    ['an unknown field', { input: 'a', input_type: 'query' }, 400, 'unknown_parameter'],
    ['too many dimensions', { input: 'a', dimensions: 4096 }, 400, null],
    ['an unsupported encoding', { input: 'a', encoding_format: 'hex' }, 400, 'invalid_value'],
    ['an unknown model', { input: 'a', model: 'toString' }, 404, 'model_not_found'],
  ])('OpenAI rejects %s', async (_name, body, status, code) => {
    const refused = await failure(
      await send('openai', '/embeddings', { model: 'text-embedding-3-small', ...body }),
    )
    expect(refused.status).toBe(status)
    expect(refused.body.error.code).toBe(code)
  })

  test.each([
    ['a batch of 11', { input: Array(11).fill('a') }, 'it should not be larger than 10'],
    ['odd dimensions', { input: 'a', dimensions: 100 }, 'dimension is invalid'],
    ['base64', { input: 'a', encoding_format: 'base64' }, "only 'float' is supported"],
    ['token ids', { input: [1, 2] }, 'neither str nor list of str'],
  ])('DashScope rejects %s', async (_name, body, words) => {
    const target = { model: 'text-embedding-v4', ...body }
    const refused = await failure(await send('dashscope', '/compatible-mode/v1/embeddings', target))
    expect(refused.status).toBe(400)
    expect(refused.body.error.code).toBe('InvalidParameter')
    expect(refused.body.error.message).toContain(words)
    expect(refused.body.request_id).toBeString()
  })
})

describe('Voyage', () => {
  test('shuffles, and reports only total_tokens', async () => {
    const body = await vectors(voyageEmbeddings, ['a', 'b', 'c'])
    expect(body.data.map((item: Json) => item.index)).toEqual([1, 2, 0])
    expect(body.usage).toEqual({ total_tokens: 3 })
  })

  test('has its own dimensions, number types and base64', async () => {
    const plain = await vectors(voyageEmbeddings, 'a', { output_dimension: 256 })
    expect(plain.data[0].embedding.length).toBe(256)
    const packed = await vectors(voyageEmbeddings, 'a', { output_dimension: 256, output_dtype: 'ubinary' })
    expect(packed.data[0].embedding.length).toBe(32)
    const narrow = await vectors(voyageEmbeddings, 'a', { output_dtype: 'int8' })
    expect(narrow.data[0].embedding.every((value: number) => value >= -128 && value <= 127)).toBe(true)
    const encoded = await vectors(voyageEmbeddings, 'a', { output_dimension: 256, encoding_format: 'base64' })
    expect(Buffer.from(encoded.data[0].embedding, 'base64').length).toBe(256 * 4)
  })

  test.each([
    [
      'dimensions',
      { input: 'a', dimensions: 256 },
      400,
      "Argument 'dimensions' is not supported by our API.",
    ],
    ['an empty text', { input: [''] }, 400, 'Input cannot contain empty strings or empty lists.'],
    [
      'too many texts',
      { input: Array(1200).fill('a') },
      400,
      'The batch size limit is 1000. Your batch size is 1200.',
    ],
    ['float by name', { input: 'a', encoding_format: 'float' }, 400, "'encoding_format' is not valid"],
    ['an unsupported length', { input: 'a', output_dimension: 100 }, 400, "'output_dimension' is not valid"],
    [
      'too many tokens',
      { input: Array(5).fill('a'.concat(' a'.repeat(30_999))), model: 'voyage-4-large' },
      400,
      'The max allowed tokens per submitted batch is 120000. Your batch has 155000 tokens after truncation.',
    ],
    [
      'a long text that must not be cut',
      { input: ['a', 'a '.repeat(40_000)], truncation: false },
      400,
      'The example at index 1',
    ],
    ['an unknown model', { input: 'a', model: 'constructor' }, 400, 'is not supported'],
  ])('rejects %s', async (_name, body, status, words) => {
    const refused = await failure(await send('voyage', '/embeddings', { model: 'voyage-4', ...body }))
    expect(refused.status).toBe(status)
    expect(Object.keys(refused.body)).toEqual(['detail'])
    expect(refused.body.detail).toContain(words)
  })

  test('answers 422 with a list to a malformed body', async () => {
    const refused = await failure(await embed(voyageEmbeddings, [1, 2]))
    expect(refused.status).toBe(422)
    expect(refused.body.detail[0]).toMatchObject({ loc: ['body', 'input', 0], type: 'string_type' })
  })
})

describe('Google', () => {
  const model = 'gemini-embedding-001'
  const entry = (text: string, extra: object = {}) => ({
    model: `models/${model}`,
    content: { parts: [{ text }] },
    ...extra,
  })

  test('embeds one text without any usage', async () => {
    const response = await send('google', `/models/${model}:embedContent`, entry('a'))
    const body = (await response.json()) as Json
    expect(Object.keys(body)).toEqual(['embedding'])
    expect(body.embedding.values.length).toBe(3072)
    expect(norm(body.embedding.values)).toBeCloseTo(1, 5)
  })

  test('normalises a shortened vector of model 2, but not of 001', async () => {
    const body = entry('a', { outputDimensionality: 768 })
    const first = (await (await send('google', `/models/${model}:embedContent`, body)).json()) as Json
    expect(first.embedding.values.length).toBe(768)
    expect(norm(first.embedding.values)).toBeLessThan(0.7)
    const path = '/models/gemini-embedding-2-preview:embedContent'
    const second = (await (await send('google', path, body)).json()) as Json
    expect(norm(second.embedding.values)).toBeCloseTo(1, 5)
  })

  test('embeds a batch in order', async () => {
    const path = `/models/${model}:batchEmbedContents`
    const response = await send('google', path, { requests: [entry('a'), entry('b'), entry('a')] })
    const { embeddings } = (await response.json()) as Json
    expect(embeddings.length).toBe(3)
    expect(embeddings[0]).toEqual(embeddings[2])
    expect(embeddings[0]).not.toEqual(embeddings[1])
  })

  test.each([
    [
      'a batch of 101',
      `${model}:batchEmbedContents`,
      { requests: Array(101).fill(entry('a')) },
      400,
      '* BatchEmbedContentsRequest.requests: at most 100 requests can be in one batch',
    ],
    [
      'a model without its prefix',
      `${model}:batchEmbedContents`,
      { requests: [{ ...entry('a'), model }] },
      400,
      'unexpected model name format',
    ],
    [
      'dimensions in the wrong field',
      `${model}:batchEmbedContents`,
      { requests: [entry('a')], outputDimensionality: 768 },
      400,
      'Unknown name "outputDimensionality"',
    ],
    [
      'the field name of OpenAI',
      `${model}:embedContent`,
      entry('a', { dimensions: 768 }),
      400,
      'Unknown name "dimensions"',
    ],
    [
      'text-embedding-004',
      'text-embedding-004:embedContent',
      entry('a'),
      404,
      'models/text-embedding-004 is not found for API version v1beta, or is not supported for embedContent.',
    ],
  ])('rejects %s', async (_name, path, body, status, words) => {
    const refused = await failure(await send('google', `/models/${path}`, body))
    expect(refused.status).toBe(status)
    expect(refused.body.error.code).toBe(status)
    expect(refused.body.error.message).toContain(words)
  })

  test('reports the retry time of a 429 in RetryInfo only', async () => {
    const response = await send(
      'google',
      `/models/${model}:embedContent`,
      entry('[sandbox status=429 retry_after=3]'),
    )
    expect(response.headers.get('retry-after')).toBeNull()
    const { error } = (await response.json()) as Json
    expect(error.status).toBe('RESOURCE_EXHAUSTED')
    expect(error.details.at(-1)).toMatchObject({ retryDelay: '3s' })
  })

  test('wraps errors of the compatible path in a list', async () => {
    const target = { vendor: 'google', path: '/openai/chat/completions', model: 'gpt-4o' } as const
    const refused = await failure(await chat(target, 'hi'))
    expect(refused.status).toBe(404)
    expect(refused.body[0].error.status).toBe('NOT_FOUND')
  })

  test('requires the key in a different header on each kind of path', async () => {
    const compatible = '/openai/chat/completions'
    const wrongHeader = { key: null, headers: { 'x-goog-api-key': sandbox.secrets.google } }
    expect((await send('google', compatible, {}, wrongHeader)).status).toBe(400)
    const bearer = { key: null, headers: { authorization: `Bearer ${sandbox.secrets.google}` } }
    expect((await send('google', `/models/${model}:embedContent`, entry('a'), bearer)).status).toBe(401)
    const bad = await failure(await send('google', '/models', undefined, { key: 'nonsense' }))
    expect(bad.status).toBe(400)
    expect(bad.body.error.details[0].reason).toBe('API_KEY_INVALID')
    expect((await send('google', '/models', undefined, { key: null })).status).toBe(403)
  })

  test('lists models in both forms', async () => {
    const native = (await (await send('google', '/models', undefined)).json()) as Json
    expect(native.models[0].name).toStartWith('models/')
    const compatible = (await (await send('google', '/openai/models', undefined)).json()) as Json
    expect(compatible.data[0].object).toBe('model')
  })

  test('embeds on the compatible path without index and usage', async () => {
    const target: EmbeddingVendor = { vendor: 'google', path: '/openai/embeddings', model }
    const body = await vectors(target, ['a', 'b'])
    expect(body.data.map((item: Json) => item.index)).toEqual([0, 0])
    expect(body.usage.prompt_tokens).toBe(0)
  })

  test('counts thinking only in the total on the compatible path', async () => {
    const target = { vendor: 'google', path: '/openai/chat/completions', model: 'gemini-2.5-pro' } as const
    const { usage } = await reply(target, '[sandbox reasoning=7]')
    expect(usage.total_tokens - usage.prompt_tokens - usage.completion_tokens).toBe(7)
  })
})

describe('DashScope', () => {
  test('shows its thinking, and counts it inside the completion', async () => {
    const body = await reply(dashscopeChat, '[sandbox tokens=5]', { enable_thinking: true })
    expect(body.choices[0].message.reasoning_content).toBeString()
    const { reasoning_tokens } = body.usage.completion_tokens_details
    expect(body.usage.completion_tokens).toBe(5 + reasoning_tokens)
    const chunks = await stream(dashscopeChat, '[sandbox reasoning=4]')
    expect(chunks.filter((chunk) => chunk.choices?.[0]?.delta.reasoning_content).length).toBe(4)
  })

  test('repeats an empty id in later pieces of a tool call', async () => {
    const chunks = await stream(dashscopeChat, '[sandbox tool]', { tools: [weather] })
    const deltas = chunks.flatMap((chunk) => chunk.choices?.[0]?.delta.tool_calls ?? [])
    expect(deltas[0].id).toStartWith('call_')
    expect(deltas.slice(1).every((delta) => delta.id === '')).toBe(true)
  })

  test('rejects thinking models without a stream', async () => {
    const refused = await failure(await chat({ ...dashscopeChat, model: 'qwq-plus' }, 'hi'))
    expect(refused.body.error).toMatchObject({ code: 'invalid_parameter_error' })
  })

  test('is flat on native paths and nested on compatible ones', async () => {
    const native = await failure(await send('dashscope', '/api/v1/tasks/1', undefined, { key: 'sk-other' }))
    expect(native.status).toBe(401)
    expect(native.body).toMatchObject({ code: 'InvalidApiKey', message: 'Invalid API-key provided.' })
    const compatible = await failure(await chat(dashscopeChat, 'hi', {}, { key: 'sk-other' }))
    expect(compatible.body.error.code).toBe('invalid_api_key')
  })
})

describe('xAI', () => {
  const thinker = { ...xaiChat, model: 'grok-4' }

  test('counts thinking next to the completion', async () => {
    const { usage, choices } = await reply(thinker, '[sandbox tokens=6 reasoning=9]')
    expect(usage.completion_tokens).toBe(6)
    expect(usage.completion_tokens_details.reasoning_tokens).toBe(9)
    expect(usage.total_tokens).toBe(usage.prompt_tokens + 15)
    expect(usage.cost_in_usd_ticks).toBeGreaterThan(0)
    expect(choices[0].message.reasoning_content).toBeString()
  })

  test.each([
    ['a wrong key', () => chat(xaiChat, 'hi', {}, { key: 'xai-other-key' }), 400, 'coded'],
    ['an unknown model', () => chat({ ...xaiChat, model: 'gpt-4o' }, 'hi'), 404, 'coded'],
    ['stop to a thinking model', () => chat(thinker, 'hi', { stop: 'x' }), 400, 'coded'],
    ['a chat without messages', () => chat(thinker, 'hi', { messages: [] }), 400, 'object'],
    ['a server error', () => chat(xaiChat, '[sandbox status=500]'), 500, 'text'],
    ['a body that does not parse', () => send('xai', '/chat/completions', '[]'), 422, 'text'],
  ])('answers %s in its shape', async (_name, ask, status, shape) => {
    const { status: seen, body } = await failure(await ask())
    expect(seen).toBe(status)
    const kind = typeof body.error === 'object' ? 'object' : body.code === undefined ? 'text' : 'coded'
    expect(kind).toBe(shape)
  })
})

describe('Anthropic', () => {
  const base = {
    model: 'claude-sonnet-4-5',
    max_tokens: 200,
    messages: [{ role: 'user', content: 'good morning' }],
  }

  test('answers whole', async () => {
    const response = await send('anthropic', '/messages?beta=true', base)
    const body = (await response.json()) as Json
    expect(response.headers.get('request-id')).toStartWith('req_')
    expect(body).toMatchObject({ type: 'message', role: 'assistant', stop_reason: 'end_turn' })
    expect(body.content[0].text).toStartWith('You said: good morning')
    expect(body.usage.output_tokens).toBe(countTokens(body.content[0].text))
  })

  test('streams named events around blocks, with cached input left out of the count', async () => {
    const messages = [{ role: 'user', content: '[sandbox reasoning=2 tokens=3 cached=5] hi' }]
    const response = await send('anthropic', '/messages', { ...base, messages, stream: true })
    const frames = (await response.text()).trim().split('\n\n')
    const names = frames.map((frame) => /^event: (.*)\ndata: (.*)$/.exec(frame)?.[1])
    expect(names.filter((name) => name !== 'content_block_delta')).toEqual([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_stop',
      'content_block_start',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
    const data = frames.map((frame) => JSON.parse(frame.split('\ndata: ')[1] ?? '{}'))
    expect(data.every((event, index) => event.type === names[index])).toBe(true)
    const { usage } = data.at(-2)
    expect(usage).toMatchObject({ cache_read_input_tokens: 5, output_tokens: 5 })
    expect(data[0].message.usage.output_tokens).toBe(1)
  })

  test('reports usage late, rejects, and sends unknown events on directives', async () => {
    const messages = [
      { role: 'user', content: '[sandbox usage=late written=7 cached=5 prompt_tokens=40] hi' },
    ]
    const late = await (await send('anthropic', '/messages', { ...base, messages, stream: true })).text()
    const figures = [...late.matchAll(/"input_tokens":(\d+)/g)].map(([, count]) => Number(count))
    expect(figures).toEqual([1, 28])
    expect(late.match(/"cache_creation_input_tokens":7/g)).toHaveLength(2)
    const odd = [{ role: 'user', content: '[sandbox refusal unknown] hi' }]
    const whole = (await (await send('anthropic', '/messages', { ...base, messages: odd })).json()) as Json
    expect(whole).toMatchObject({ stop_reason: 'refusal', stop_details: { type: 'refusal' } })
    expect(whole.content.map((block: Json) => block.type)).toEqual(['weather_report'])
  })

  test('calls a tool', async () => {
    const tools = [{ name: 'get_weather', input_schema: weather.function.parameters }]
    const response = await send('anthropic', '/messages', { ...base, tools, tool_choice: { type: 'any' } })
    const body = (await response.json()) as Json
    expect(body.stop_reason).toBe('tool_use')
    expect(body.content[0]).toMatchObject({ type: 'tool_use', input: { city: 'city', unit: 'C' } })
  })

  test.each([
    ['no key', base, { key: null }, 401, 'authentication_error', 'x-api-key header is required'],
    ['a wrong key', base, { key: 'x' }, 401, 'authentication_error', 'invalid x-api-key'],
    [
      'no max_tokens',
      { ...base, max_tokens: undefined },
      {},
      400,
      'invalid_request_error',
      'max_tokens: Field required',
    ],
    [
      'an unknown field',
      { ...base, foo: 1 },
      {},
      400,
      'invalid_request_error',
      'foo: Extra inputs are not permitted',
    ],
    [
      'a beta field without its header',
      { ...base, context_management: {} },
      {},
      400,
      'invalid_request_error',
      'context_management: Extra inputs are not permitted',
    ],
    ['an unknown model', { ...base, model: 'gpt-4o' }, {}, 404, 'not_found_error', 'model: gpt-4o'],
    [
      'a thinking budget that is too small',
      { ...base, thinking: { type: 'enabled', budget_tokens: 1024 } },
      {},
      400,
      'invalid_request_error',
      '`max_tokens` must be greater than `thinking.budget_tokens`.',
    ],
  ])('rejects %s', async (_name, body, options, status, type, message) => {
    const refused = await failure(await send('anthropic', '/messages', body, options as Options))
    expect(refused.status).toBe(status)
    expect(refused.body).toMatchObject({ type: 'error', error: { type, message } })
    expect(refused.body.request_id).toStartWith('req_')
  })

  test('accepts a beta field with its header, and counts tokens', async () => {
    const headers = { 'anthropic-beta': 'context-management-2025-06-27' }
    const body = { ...base, context_management: {} }
    expect((await send('anthropic', '/messages', body, { headers })).status).toBe(200)
    const { model, messages } = base
    const counted = await send('anthropic', '/messages/count_tokens', { model, messages })
    expect(await counted.json()).toEqual({ input_tokens: 9 })
    const refused = await failure(await send('anthropic', '/messages/count_tokens', base))
    expect(refused.body.error.message).toBe('max_tokens: Extra inputs are not permitted')
    const list = (await (await send('anthropic', '/models', undefined)).json()) as Json
    expect(list).toMatchObject({ has_more: false, first_id: list.data[0].id })
  })

  test('requires the version header', async () => {
    const url = `${sandbox.baseUrls.anthropic}/messages`
    const headers = { 'x-api-key': sandbox.secrets.anthropic }
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(base) })
    expect(response.status).toBe(400)
  })
})

/** Vendors that do not receive the key itself: test/contract/kinds.test.ts calls them through the gateway. */
type Proving = 'bedrock' | 'vertex'

/** The smallest request with a text for each vendor. */
const plainRequests: Record<Exclude<VendorName, Proving>, (text: string) => [path: string, body: unknown]> = {
  openai: (text) => ['/embeddings', { model: 'text-embedding-3-small', input: text }],
  dashscope: (text) => ['/compatible-mode/v1/embeddings', { model: 'text-embedding-v4', input: text }],
  google: (text) => ['/models/gemini-embedding-001:embedContent', { content: { parts: [{ text }] } }],
  voyage: (text) => ['/embeddings', { model: 'voyage-4', input: text }],
  xai: (text) => ['/chat/completions', { model: 'grok-3', messages: [{ role: 'user', content: text }] }],
  anthropic: (text) => [
    '/messages',
    { model: 'claude-haiku-4-5', max_tokens: 9, messages: [{ role: 'user', content: text }] },
  ],
  ark: (text) => ['/images/generations', { model: 'seedream-4-0-250828', prompt: text }],
  cohere: (text) => ['/rerank', { model: 'rerank-v4.0-fast', query: text, documents: [text] }],
  azure: (text) => ['/openai/v1/embeddings', { model: 'text-embedding-3-small', input: text }],
  openrouter: (text) => ['/chat/completions', chatBody('openai/gpt-4.1-mini', text)],
  ollama: (text) => ['/v1/chat/completions', chatBody('llama3.2:latest', text)],
  groq: (text) => ['/chat/completions', chatBody('llama-3.3-70b-versatile', text)],
  deepseek: (text) => ['/chat/completions', chatBody('deepseek-chat', text)],
  mistral: (text) => ['/chat/completions', chatBody('mistral-large-latest', text)],
  moonshot: (text) => ['/v1/chat/completions', chatBody('kimi-k2-0905-preview', text)],
  zai: (text) => ['/api/paas/v4/chat/completions', chatBody('glm-4.6', text)],
  minimax: (text) => [
    '/v1/t2a_v2',
    { model: 'speech-2.8-hd', text, voice_setting: { voice_id: 'male-qn-qingse' } },
  ],
  runway: (text) => ['/text_to_video', { model: 'gen4.5', promptText: text, ratio: '1280:720', duration: 5 }],
  fal: (text) => ['/fal-ai/wan/v2.7/text-to-video', { prompt: text }],
  elevenlabs: (text) => ['/text-to-speech/JBFqnCBsd6RMkjVDRZzb/stream', { text }],
}
const vendors = Object.keys(plainRequests) as Exclude<VendorName, Proving>[]

function chatBody(model: string, text: string) {
  return { model, messages: [{ role: 'user', content: text }] }
}

function ask(vendor: Exclude<VendorName, Proving>, text: string, options: Options = {}): Promise<Response> {
  const [path, body] = plainRequests[vendor](text)
  return send(vendor, path, body, options)
}

function messageOf(body: Json): string | undefined {
  const inner = Array.isArray(body) ? body[0] : body
  if (typeof inner.error === 'object') return inner.error.message
  return inner.base_resp?.status_msg ?? inner.error ?? inner.detail?.message ?? inner.detail ?? inner.message
}

describe('every vendor', () => {
  test.each(vendors.filter((name) => name !== 'ollama'))(
    '%s rejects an invalid key and no key',
    async (vendor) => {
      expect((await ask(vendor, 'hi', { key: 'sk-somebody-else' })).status).toBeOneOf([400, 401])
      expect((await ask(vendor, 'hi', { key: null })).status).toBeOneOf([400, 401, 403])
    },
  )

  test.each(vendors)('%s rejects a body that is not JSON', async (vendor) => {
    const [path] = plainRequests[vendor]('')
    const response = await send(vendor, path, '{"model":')
    expect(response.status).toBeOneOf([400, 422])
    await response.json()
  })

  test.each(vendors)('%s returns errors for unknown paths', async (vendor) => {
    const response = await send(vendor, '/nowhere', { model: 'x' })
    expect(response.status).toBe(404)
    await response.json()
  })

  test.each(vendors)('%s fails with the requested status, message and retry time', async (vendor) => {
    const limited = await ask(vendor, '[sandbox status=429 retry_after=2]')
    expect(limited.status).toBe(429)
    expect(limited.headers.get('retry-after')).toBe(vendor === 'google' ? null : '2')
    const broken = await failure(await ask(vendor, '[sandbox status=503 error_text="out of order"]'))
    expect(broken.status).toBe(503)
    expect(messageOf(broken.body)).toBe('out of order')
  })

  test.each([
    ['openai', 429, 'insufficient_quota'],
    ['dashscope', 400, 'Arrearage'],
    ['google', 400, 'FAILED_PRECONDITION'],
    ['voyage', 429, 'payment method'],
    ['xai', 403, 'credits'],
    ['anthropic', 402, 'billing_error'],
  ] as const)('%s complains about the account of its operator', async (vendor, status, words) => {
    const response = await ask(vendor, '[sandbox quota]')
    expect(response.status).toBe(status)
    expect(await response.text()).toContain(words)
  })

  test.each(vendors)('%s redirects, sends garbage and stops in the middle', async (vendor) => {
    const redirected = await ask(vendor, '[sandbox redirect=http://127.0.0.1:9/elsewhere]')
    expect(redirected.status).toBe(302)
    expect(redirected.headers.get('location')).toBe('http://127.0.0.1:9/elsewhere')
    const garbage = await ask(vendor, '[sandbox garbage]')
    expect(garbage.status).toBe(200)
    await rejection(garbage.json())
    const cut = ask(vendor, '[sandbox cut_after=1]').then((response) => response.text())
    await rejection(cut)
  })
})

describe('directives in a stream', () => {
  const ten = '[sandbox tokens=10'

  test('cut_after ends the transfer after the given number of chunks', async () => {
    const response = await chat(openaiChat, `${ten} cut_after=4]`, withUsage)
    const decoder = new TextDecoder()
    let seen = ''
    const reading = (async () => {
      for await (const bytes of response.body ?? []) seen += decoder.decode(bytes, { stream: true })
    })()
    await rejection(reading)
    expect(eventsOf(seen).length).toBe(4)
  })

  test.each(chatVendors)('error_after ends $vendor in an error event', async (target) => {
    const chunks = await stream(target, `${ten} error_after=3]`)
    expect(chunks.length).toBe(4)
    expect(chunks[3].error).toBeObject()
  })

  test('error_after ends anthropic in an error event', async () => {
    const messages = [{ role: 'user', content: '[sandbox error_after=3]' }]
    const body = { model: 'claude-opus-4-5', max_tokens: 50, stream: true, messages }
    const text = await (await send('anthropic', '/messages', body)).text()
    expect(text.trim().split('\n\n').at(-1)).toStartWith('event: error\ndata: {"type":"error"')
  })

  test('no_done omits the closing event', async () => {
    const chunks = await stream(openaiChat, `${ten} no_done]`)
    expect(chunks.at(-1).usage.completion_tokens).toBe(10)
  })

  test('crlf ends lines with CR LF', async () => {
    const text = await (await chat(openaiChat, `${ten} crlf]`, withUsage)).text()
    expect(text).toEndWith('data: [DONE]\r\n\r\n')
    expect(text.replaceAll('\r\n', '').includes('\n')).toBe(false)
  })

  test('wide adds multi-byte characters to the answer, and split cuts through them', async () => {
    const chunks = await stream(openaiChat, '[sandbox wide split]')
    expect(contentOf(chunks)).toStartWith('Grüße, 世界 🎉👩‍👩‍👧‍👦 You said:')
    const frame = { data: 'Grüße 🎉' }
    const body = { kind: 'events', stream: { frames: [frame], failure: frame } } as const
    const response = deliver(
      { status: 200, headers: {}, body },
      { directives: { split: true }, tokenDelayMs: 0, ended: new AbortController().signal, finished() {} },
    )
    const pieces: Uint8Array[] = []
    for await (const bytes of response.body ?? []) pieces.push(bytes)
    expect(Buffer.concat(pieces).toString()).toBe('data: Grüße 🎉\n\n')
    const leads = pieces.filter((bytes) => (bytes.at(-1) ?? 0) >= 0xc0)
    expect(leads.length).toBe(3)
  })

  test('empty returns no output', async () => {
    const body = await reply(openaiChat, '[sandbox empty]')
    expect(body.choices[0]).toMatchObject({ message: { content: '' }, finish_reason: 'stop' })
    expect(body.usage.completion_tokens).toBe(0)
    const chunks = await stream(openaiChat, '[sandbox empty]')
    expect(contentOf(chunks)).toBe('')
  })

  test('garbage is an event that is not JSON', async () => {
    const response = await chat(openaiChat, '[sandbox garbage]', withUsage)
    expect(response.status).toBe(200)
    expect(await response.text()).toStartWith('data: <html>')
  })
})

describe('directives about usage', () => {
  test.each([
    ['negative', /"completion_tokens":-10,/],
    ['string', /"completion_tokens":"10"/],
    ['huge', /"completion_tokens":9007199254740993,/],
    ['overflow', /"completion_tokens":1e\+308,/],
    ['nan', /"completion_tokens":NaN,/],
  ])('%s', async (fault, pattern) => {
    const text = `[sandbox tokens=10 usage=${fault}]`
    expect(await (await chat(openaiChat, text)).text()).toMatch(pattern)
    expect(await (await chat(openaiChat, text, withUsage)).text()).toMatch(pattern)
  })

  test('missing', async () => {
    expect(await reply(openaiChat, '[sandbox usage=missing]')).not.toHaveProperty('usage')
    const chunks = await stream(openaiChat, '[sandbox usage=missing]')
    expect(chunks.some((chunk) => chunk.usage)).toBe(false)
    expect(await vectors(openaiEmbeddings, '[sandbox usage=missing]')).not.toHaveProperty('usage')
  })

  test('every_chunk', async () => {
    const chunks = await stream(openaiChat, '[sandbox tokens=4 usage=every_chunk]')
    const counts = chunks.slice(0, -1).map((chunk) => chunk.usage.completion_tokens)
    expect(counts).toEqual([0, 1, 2, 3, 4, 4, 4])
  })

  test('cached and prompt_tokens', async () => {
    const { usage } = await reply(openaiChat, '[sandbox cached=100]')
    expect(usage.prompt_tokens_details.cached_tokens).toBe(100)
    expect(usage.prompt_tokens).toBe(100)
    const long = await reply(openaiChat, '[sandbox prompt_tokens=1000000 cached=10]')
    expect(long.usage.prompt_tokens).toBe(1_000_000)
    const embedded = await vectors(dashscopeEmbeddings, '[sandbox prompt_tokens=77]')
    expect(embedded.usage.total_tokens).toBe(77)
  })
})

describe('other directives', () => {
  test('times limits a fault to the first requests', async () => {
    const text = '[sandbox status=503 times=2 mark=a]'
    const statuses: number[] = []
    for (let round = 0; round < 3; round++) statuses.push((await chat(openaiChat, text)).status)
    expect(statuses).toEqual([503, 503, 200])
    expect((await chat(openaiChat, '[sandbox status=503 times=2 mark=b]')).status).toBe(503)
  })

  test('shuffle reorders vectors and keeps their index', async () => {
    const body = await vectors(openaiEmbeddings, ['a', 'b', '[sandbox shuffle]'])
    expect(body.data.map((item: Json) => item.index)).toEqual([1, 2, 0])
    const plain = await vectors(openaiEmbeddings, ['a', 'b'])
    expect(body.data[2].embedding).toEqual(plain.data[0].embedding)
  })

  test('delay_ms and token_delay_ms wait', async () => {
    const start = performance.now()
    await (await chat(openaiChat, '[sandbox delay_ms=60]')).text()
    const afterDelay = performance.now()
    await (await chat(openaiChat, '[sandbox token_delay_ms=20 tokens=3]', withUsage)).text()
    expect(afterDelay - start).toBeGreaterThan(55)
    // Role, three tokens, end, usage and the closing event: six pauses.
    expect(performance.now() - afterDelay).toBeGreaterThan(110)
  })

  test('only the last words of the user count', async () => {
    const messages = [
      { role: 'user', content: '[sandbox status=500]' },
      { role: 'assistant', content: '[sandbox status=500]' },
      { role: 'user', content: 'again' },
    ]
    expect((await chat(openaiChat, '', { messages })).status).toBe(200)
    expect((await chat(openaiChat, '', { messages: messages.slice(0, 1) })).status).toBe(500)
  })

  test('an unknown or invalid value has no effect', () => {
    expect(readDirectives('[sandbox status=42 tokens=-1 delay_ms=x foo bar=1 usage=odd redirect=]')).toEqual(
      {},
    )
    expect(readDirectives('[sandboxes quota] [sandbox] sandbox quota')).toEqual({})
    expect(readDirectives('a [sandbox quota] b [sandbox error_text="x y" status=400]')).toEqual({
      quota: true,
      errorText: 'x y',
      status: 400,
    })
  })

  test('every documented directive is read', () => {
    for (const { name, meaning } of directiveHelp) {
      expect(Object.keys(readDirectives(`[sandbox ${name}]`)).length).toBe(1)
      expect(meaning.length).toBeGreaterThan(5)
    }
  })

  test('directives are found deep in a body and omitted from the echo', () => {
    const body = { requests: [{ content: { parts: [{ text: '[sandbox quota]' }] } }] }
    expect(promptText(body)).toBe('[sandbox quota]')
    expect(withoutDirectives('one [sandbox quota] two')).toBe('one two')
  })
})

describe('a client that disconnects', () => {
  async function lastCall(text: string) {
    await until(() => sandbox.calls.some((call) => call.body.includes(text)))
    const call = sandbox.calls.findLast((candidate) => candidate.body.includes(text))
    if (!call) throw new Error('the call was not recorded')
    return call
  }

  async function until(condition: () => boolean): Promise<void> {
    await waitFor(condition)
    expect(condition()).toBe(true)
  }

  test.each([
    ['before the answer', '[sandbox hang mark=leave-1]', {}],
    ['during a delay', '[sandbox delay_ms=60000 mark=leave-2]', {}],
    ['during a stream', '[sandbox tokens=100000 mark=leave-3]', withUsage],
    ['during a slow stream', '[sandbox token_delay_ms=60000 mark=leave-4]', withUsage],
  ])('%s is noticed at once', async (_name, text, extra) => {
    const controller = new AbortController()
    const asking = chat(openaiChat, text, extra, { signal: controller.signal })
    asking.catch(() => {})
    const call = await lastCall(text)
    expect(call.aborted).toBe(false)
    if (extra === withUsage) await (await asking).body?.getReader().read()
    controller.abort()
    // None of these would end without the disconnect.
    await until(() => call.aborted)
  })

  test('is not mistaken for one that read everything', async () => {
    await (await chat(openaiChat, 'mark=stayed', withUsage)).text()
    await Bun.sleep(10)
    expect((await lastCall('mark=stayed')).aborted).toBe(false)
  })
})

describe('the sandbox itself', () => {
  test('records calls as the vendor sees them', async () => {
    await chat(openaiChat, 'recorded')
    const call = sandbox.calls.findLast(({ body }) => body.includes('recorded'))
    expect(call).toMatchObject({ vendor: 'openai', method: 'POST', path: '/v1/chat/completions' })
    expect(call?.headers.authorization).toBe(`Bearer ${sandbox.secrets.openai}`)
  })

  test('stores nothing by default, and stops during running requests', async () => {
    const other = startSandbox({ tokenDelayMs: 60_000 })
    const headers = { authorization: `Bearer ${other.secrets.openai}` }
    const ask = (text: string, extra: object) =>
      fetch(`${other.baseUrls.openai}/chat/completions`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model: 'gpt-4o', messages: [{ role: 'user', content: text }], ...extra }),
      }).then((response) => response.text())
    const open = [ask('[sandbox hang]', {}), ask('hi', { stream: true })]
    const ended = Promise.allSettled(open)
    await Bun.sleep(20)
    expect(other.calls).toEqual([])
    await other.stop()
    expect((await ended).map((result) => result.status)).toEqual(['rejected', 'rejected'])
  })

  test('a request for an unknown vendor returns the names of all vendors', async () => {
    const response = await fetch(new URL('/nobody/v1/models', sandbox.baseUrls.openai))
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('dashscope')
  })

  test('has base URLs in the form of the configuration', () => {
    const { origin } = new URL(sandbox.baseUrls.openai)
    expect(sandbox.baseUrls).toEqual({
      openai: `${origin}/openai/v1`,
      dashscope: `${origin}/dashscope`,
      google: `${origin}/google/v1beta`,
      voyage: `${origin}/voyage/v1`,
      xai: `${origin}/xai/v1`,
      anthropic: `${origin}/anthropic/v1`,
      ark: `${origin}/ark/api/v3`,
      cohere: `${origin}/cohere/v2`,
      azure: `${origin}/azure`,
      bedrock: `${origin}/bedrock`,
      vertex: `${origin}/vertex/v1`,
      openrouter: `${origin}/openrouter/api/v1`,
      ollama: `${origin}/ollama`,
      groq: `${origin}/groq/openai/v1`,
      deepseek: `${origin}/deepseek`,
      mistral: `${origin}/mistral/v1`,
      moonshot: `${origin}/moonshot`,
      zai: `${origin}/zai`,
      elevenlabs: `${origin}/elevenlabs/v1`,
      minimax: `${origin}/minimax`,
      fal: `${origin}/fal`,
      runway: `${origin}/runway/v1`,
    })
  })

  test('cuts text into pieces that join to the text', () => {
    for (const text of ['', 'a  b\n\n c', 'Grüße 世界 🎉', 'internationalisation!?', '\ud800x']) {
      expect(cutIntoPieces(text).join('')).toBe(text)
    }
  })

  test('finds an example for schemas that refer to themselves', () => {
    const schema = { properties: { next: { $ref: '#' } }, required: ['next'] }
    expect(JSON.stringify(exampleOf(schema))).toContain('null')
  })
})
