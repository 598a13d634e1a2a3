// POST /v1/messages in the vendor's own format: content that passes unchanged, charges, and errors.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import { say, startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { type Json, type Played, play, type Scenario } from '../support/scenario'

let gateway: TestGateway
let poor: string
/** Added to the clock of the gateway. */
let aheadMs = 0

beforeAll(async () => {
  gateway = await startTestGateway({
    outside: { now: () => Date.now() + aheadMs },
    // A model that accepts the requests of coding clients.
    models: {
      'test-coding': { ...(testModels['test-messages'] as ModelConfig), upstreamModel: 'claude-opus-4-6' },
    },
    config: { aliases: { 'claude-haiku-*': 'test-coding', 'claude-*': 'test-messages' } },
  })
  poor = (await gateway.makeKey('poor', '0')).secret
})
afterAll(() => gateway.close())

const PATH = '/v1/messages'

function ask(body: Record<string, unknown>, expected: Partial<Scenario> = {}): Promise<Played> {
  const whole = { model: 'test-messages', max_tokens: 200, messages: say('Hello!'), ...body }
  const rest = { status: 200, vendorCalls: 1, charges: 1, ...expected }
  return play(gateway, { name: 'messages', path: PATH, body: whole, ...rest })
}

test('below either base address', async () => {
  // The Anthropic SDK adds /v1/messages to it, the AI SDK only /messages.
  for (const path of ['/messages', '/v1/messages', '/v1/v1/messages']) {
    const played = await ask({}, { path })
    expect(played.json).toMatchObject({ type: 'message' })
    const counted = await gateway.post(
      `${path}/count_tokens`,
      { model: 'test-messages', messages: say('Hello!') },
      { 'x-api-key': gateway.secret, authorization: '' },
    )
    expect({ status: counted.status, json: await counted.json() }).toMatchObject({
      status: 200,
      json: { input_tokens: expect.any(Number) },
    })
    // Errors before the route are in the dialect of the operation too.
    const wrong = await fetch(gateway.url + path, { headers: { origin: 'https://page.example' } })
    expect({ status: wrong.status, json: await wrong.json() }).toMatchObject({
      status: 405,
      json: { type: 'error', error: { type: 'invalid_request_error' } },
    })
    expect(wrong.headers.get('access-control-allow-origin')).toBe('*')
  }
})

const prompt = (text: string, more: Record<string, unknown> = {}) => ({ messages: say(text), ...more })

interface Event {
  name: string | undefined
  data: Json
}

/** The events of a stream; fails if the name and the type of one differ. */
function eventsOf({ text }: Played): Event[] {
  const events = text
    .split(/\r?\n\r?\n/)
    .filter((frame) => frame !== '')
    .map((frame) => {
      const [, name, data = 'null'] = /^event: (.*)\r?\ndata: (.*)$/.exec(frame) ?? []
      return { name: name?.trim(), data: JSON.parse(data) }
    })
  for (const { name, data } of events) expect(data?.type).toBe(name)
  return events
}

const namesOf = (played: Played) => eventsOf(played).map(({ name }) => name)

function textOfEvents(played: Played): string {
  return eventsOf(played)
    .map(({ data }) => data.delta?.text ?? '')
    .join('')
}

/** As a coding command line writes it: beta fields, cache marks, a system message in the middle, unknown kinds. */
function codingRequest(stream: boolean): string {
  return `{
  "model" : "claude-haiku-4-5-20251001", "max_tokens": 32000,
  "system": [
    {"type":"text","text":"x-anthropic-billing-header: cc_version=2.1.283.00; cc_entrypoint=sdk-cli;"},
    {"type":"text","text":"You are a coding agent.","cache_control":{"type":"ephemeral","ttl":"5m"}},
    {"type":"text","text":"Gr\\u00fc\\u00dfe \\/ \u4e16\u754c","cache_control":{"type":"ephemeral"}}],
  "messages":[
    {"role":"user","content":[{"type":"text","text":"<system-reminder>be kind</system-reminder>"},
      {"type":"text","text":"List the files","cache_control":{"type":"ephemeral"},"future_field":[1.0,12345678901234567890]}]},
    {"role":"assistant","content":[
      {"type":"thinking","thinking":"Let me look.","signature":"EuYB=="},
      {"type":"redacted_thinking","data":"AAAA"},
      {"type":"tool_use","id":"toolu_01","name":"Bash","input":{"command":"ls","timeout":1e3},"caller":{"type":"direct"}}]},
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_01","is_error":false,
      "content":[{"type":"text","text":"a.ts"},{"type":"tool_reference","tool_name":"Edit"}]},
      {"type":"block_of_tomorrow","payload":{"deep":[null,true]}}]},
    {"role":"system","content":[{"type":"text","text":"Mind the gap."}]},
    {"role":"user","content":"Go on"}],
  "tools":[{"name":"Bash","description":"Runs it","input_schema":{"$schema":"http://json-schema.org/draft-07/schema#",
    "type":"object","properties":{"command":{"type":"string"}}},"strict":true,"eager_input_streaming":true}],
  "metadata":{"user_id":"{\\"device_id\\":\\"d\\",\\"session_id\\":\\"s\\"}"},
  "thinking":{"type":"adaptive","display":"omitted"},
  "context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},
  "output_config":{"effort":"high"}, "temperature":1.0, "stream":${stream}
}`
}

const betas = 'claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27'

describe('the vendor gets', () => {
  for (const stream of [false, true]) {
    test(`a coding client's request${stream ? ', streamed' : ''}: byte for byte except the model`, async () => {
      const body = codingRequest(stream)
      const { calls, text } = await play(gateway, {
        name: 'a coding client',
        path: `${PATH}?beta=true`,
        headers: {
          'anthropic-version': '2024-10-22',
          'anthropic-beta': betas,
          'user-agent': 'claude-cli/2.1.283 (external, sdk-cli)',
          'x-app': 'cli',
          'x-claude-code-session-id': crypto.randomUUID(),
        },
        body,
        status: 200,
        vendorCalls: 1,
        charges: 1,
      })
      expect(calls[0]?.body).toBe(body.replace('claude-haiku-4-5-20251001', 'claude-opus-4-6'))
      expect(calls[0]?.path).toBe('/v1/messages')
      expect(calls[0]?.headers).toMatchObject({
        'anthropic-version': '2024-10-22',
        'anthropic-beta': betas,
        'x-api-key': gateway.sandbox.secrets.anthropic,
        'content-type': 'application/json',
      })
      expect(calls[0]?.headers).not.toHaveProperty('authorization')
      expect(text).toContain('"model":"test-coding"')
    })
  }

  test('the vendor names a beta field whose header is missing, in its own words', async () => {
    await ask(
      { context_management: {} },
      { status: 400, words: ['"context_management: Extra inputs are not permitted"'] },
    )
  })

  test('a caller without a version gets the one that the gateway knows', async () => {
    const { calls } = await ask({})
    expect(calls[0]?.headers).toMatchObject({ 'anthropic-version': '2023-06-01' })
    expect(calls[0]?.headers).not.toHaveProperty('anthropic-beta')
  })

  test('a hundred kilobytes of tools and a body of four megabytes', async () => {
    const tools = Array.from({ length: 100 }, (_, index) => ({
      name: `tool_${index}`,
      description: 'x'.repeat(1_000),
      input_schema: { type: 'object', properties: {} },
    }))
    const data = 'QUJD'.repeat(1024 * 1024)
    const picture = { type: 'image', source: { type: 'base64', media_type: 'image/png', data } }
    const content = [{ type: 'text', text: 'What is this?' }, picture]
    const body = { tools, messages: [{ role: 'user', content }], stream: true }
    const { calls, charges } = await ask(body)
    expect(JSON.parse(calls[0]?.body ?? '')).toMatchObject({ ...body, model: 'claude-sonnet-4-5' })
    // An image is held by its largest size on the screen, not by its bytes.
    expect(Number(charges[0]?.held)).toBeLessThan(200_000_000)
  })

  test('a path with /v1 twice, as of a base URL that has it already', async () => {
    const { calls } = await ask({}, { path: `/v1${PATH}` })
    expect(calls[0]?.path).toBe('/v1/messages')
  })
})

describe('answers', () => {
  test('a message', async () => {
    const { json, response } = await ask(prompt('[sandbox tokens=5] Hello!'))
    expect(json).toMatchObject({ type: 'message', role: 'assistant', model: 'test-messages' })
    expect(json).toMatchObject({ stop_reason: 'end_turn', stop_sequence: null, stop_details: null })
    expect(json.usage).toMatchObject({ output_tokens: 5, cache_read_input_tokens: 0 })
    expect(response.headers.get('request-id')).toBe(response.headers.get('x-request-id'))
    expect(response.headers.get('x-gateway-cost-usd')).toMatch(/^0\.0+\d+$/)
    // Those are the operator's.
    for (const name of response.headers.keys()) expect(name).not.toStartWith('anthropic-')
  })

  test('a stream: named events, pings, and the same id in both headers', async () => {
    const played = await ask(prompt('[sandbox tokens=5 reasoning=3] Hello!', { stream: true }))
    expect(namesOf(played).filter((name) => name !== 'content_block_delta')).toEqual([
      'message_start',
      'content_block_start',
      'ping',
      'content_block_stop',
      'content_block_start',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ])
    expect(eventsOf(played)[0]?.data.message.model).toBe('test-messages')
    expect(played.response.headers.get('content-type')).toStartWith('text/event-stream')
    expect(played.response.headers.get('request-id')).toBe(played.response.headers.get('x-request-id'))
  })

  test('unknown events and blocks pass, whole and streamed', async () => {
    const whole = await ask(prompt('[sandbox unknown] Hello!'))
    expect(whole.json.content.at(-1)).toEqual({ type: 'weather_report', station: 'Bergen', readings: [12] })
    const streamed = await ask(prompt('[sandbox unknown] Hello!', { stream: true }))
    const events = eventsOf(streamed).map(({ data }) => data)
    expect(events).toContainEqual({ type: 'message_mood', mood: 'sunny' })
    expect(events).toContainEqual({
      type: 'content_block_delta',
      index: 1,
      delta: { type: 'reading_delta', millimetres: 12 },
    })
  })

  test('a stream cut anywhere, with letters of several bytes and lines that end in CR LF', async () => {
    const played = await ask(prompt('[sandbox wide split crlf] Hello!', { stream: true }))
    expect(textOfEvents(played)).toStartWith('Grüße, 世界 🎉👩‍👩‍👧‍👦 You said: Hello!')
    expect(namesOf(played).at(-1)).toBe('message_stop')
  })

  test('a tool, there and back', async () => {
    const tools = [
      { name: 'get_weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } },
    ]
    const { json } = await ask({ tools, tool_choice: { type: 'any' } })
    expect(json.stop_reason).toBe('tool_use')
    const [call] = json.content
    const messages = [
      ...say('How is it?'),
      { role: 'assistant', content: json.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: '21 degrees' }] },
    ]
    const second = await ask({ tools, messages })
    expect(second.json.content[0].text).toContain('The tool answered: 21 degrees')
  })

  test('a refusal is an answer', async () => {
    for (const stream of [false, true]) {
      const played = await ask(prompt('[sandbox refusal prompt_tokens=30] Hello!', { stream }))
      const { json } = played
      const end = stream ? eventsOf(played).find(({ name }) => name === 'message_delta')?.data.delta : json
      expect(end).toMatchObject({ stop_reason: 'refusal', stop_details: { type: 'refusal' } })
      expect(played.charges).toMatchObject([{ state: 'settled', amount: 30_000, usage_source: 'upstream' }])
    }
  })

  test('a ping is sent during silence, in the form of this dialect', async () => {
    const body = {
      model: 'test-messages',
      max_tokens: 9,
      stream: true,
      messages: say('[sandbox token_delay_ms=600 tokens=2] Hi'),
    }
    const response = await gateway.post(PATH, body)
    aheadMs += 20_000
    const frames = (await response.text()).split('\n\n')
    expect(frames.filter((frame) => frame === 'event: ping\ndata: {"type":"ping"}').length).toBeGreaterThan(1)
    expect(frames.some((frame) => frame.startsWith(':'))).toBe(false)
  })
})

describe('the charge', () => {
  // 1,000 nano-dollars for an input token, 100 for a cached one, 1,250 for one written to the cache, 2,000 for an output token.
  const rows: [directives: string, amount: number][] = [
    ['prompt_tokens=100 tokens=10', 120_000],
    ['prompt_tokens=100 cached=40 written=20 tokens=10', 40_000 + 4_000 + 25_000 + 20_000],
    ['prompt_tokens=100 cached=100 tokens=1', 10_000 + 2_000],
    ['prompt_tokens=100 reasoning=30 tokens=10', 100_000 + 80_000],
    // The first report is too low; a later one takes its place.
    ['prompt_tokens=500 cached=100 usage=late tokens=10', 400_000 + 10_000 + 20_000],
  ]
  for (const [directives, amount] of rows) {
    for (const stream of [false, true]) {
      test(`${directives}${stream ? ', streamed' : ''}: $${amount / 1e9}`, async () => {
        const { charges, logRows } = await ask(prompt(`[sandbox ${directives}] Hello!`, { stream }))
        expect(charges).toMatchObject([{ state: 'settled', amount, usage_source: 'upstream', shortfall: 0 }])
        expect(logRows).toMatchObject([{ amount, ended_by: 'done' }])
        // All of the vendor's figures, so that the price can be found again.
        expect(JSON.parse(String(charges[0]?.usage))).toMatchObject({
          input_tokens: expect.any(Number),
          cache_read_input_tokens: expect.any(Number),
          cache_creation_input_tokens: expect.any(Number),
          output_tokens: expect.any(Number),
        })
      })
    }
  }

  test('a request for no output at all', async () => {
    const { charges, json } = await ask(prompt('[sandbox prompt_tokens=100] Hello!', { max_tokens: 0 }))
    expect(json.usage.output_tokens).toBe(0)
    expect(charges).toMatchObject([{ amount: 100_000 }])
  })

  for (const fault of ['missing', 'negative', 'string', 'huge', 'overflow', 'nan']) {
    for (const stream of [false, true]) {
      test(`usage that is ${fault}${stream ? ', streamed' : ''}: the texts are counted`, async () => {
        // A whole reply with NaN is not JSON, and so a failure of the vendor.
        if (fault === 'nan' && !stream) {
          const failed = await ask(prompt('[sandbox usage=nan] Hello!'), { status: 502 })
          expect(failed.charges).toMatchObject([{ state: 'released', amount: 0 }])
          return
        }
        const body = prompt(`[sandbox usage=${fault} tokens=40] Hello!`, { stream })
        const { charges } = await ask(body)
        const source = fault === 'missing' ? 'counted' : 'estimated'
        expect(charges).toMatchObject([{ state: 'settled', usage_source: source, shortfall: 0 }])
        // Some 15 tokens in, about 40 out.
        expect(charges[0]?.amount).toBeWithin(40_000, 150_000)
      })
    }
  }

  /** The error that the log must have for a stream that the simulator ends with one. */
  const reportedBy = (directive: string) =>
    directive.startsWith('error_after') ? { reported: 'upstream_error' } : {}

  for (const directive of ['cut_after=35', 'error_after=35', 'no_done']) {
    test(`${directive}: the part before is paid, the input by the vendor's figure`, async () => {
      const played = await ask(
        prompt(`[sandbox prompt_tokens=100 tokens=60 ${directive}] Hello!`, { stream: true }),
        reportedBy(directive),
      )
      const [charge] = played.charges
      expect(namesOf(played).at(-1)).toBe('error')
      expect(eventsOf(played).at(-1)?.data.error).toMatchObject({ type: expect.stringMatching(/_error$/) })
      expect(charge).toMatchObject({ state: 'settled', shortfall: 0, ended_by: 'upstream' })
      // The first event reports one written token: that is the vendor's first figure, not the last.
      const output = (Number(charge?.amount) - 100_000) / 2_000
      if (directive === 'no_done') expect(output).toBe(60)
      else expect(output).toBeWithin(15, 60)
    })
  }

  test('an error before any output is free', async () => {
    for (const directive of ['error_after=1', 'cut_after=1']) {
      const body = prompt(`[sandbox ${directive}] Hello!`, { stream: true })
      const { charges } = await ask(body, reportedBy(directive))
      expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
    }
  })

  test('a caller who disconnects pays for everything written until then', async () => {
    const before = (await gateway.charges()).length
    const leaving = new AbortController()
    const response = await fetch(`${gateway.url}${PATH}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secret}` },
      body: JSON.stringify({
        model: 'test-messages',
        max_tokens: 1_000,
        stream: true,
        messages: say('[sandbox prompt_tokens=100 tokens=900 token_delay_ms=2] Hello!'),
      }),
      signal: leaving.signal,
    })
    let heard = ''
    const decoder = new TextDecoder()
    for await (const piece of response.body ?? []) {
      heard += decoder.decode(piece, { stream: true })
      if (heard.split('text_delta').length > 80) break
    }
    leaving.abort()
    await waitFor(async () => (await gateway.charges())[before]?.state === 'settled')
    const charge = (await gateway.charges())[before]
    expect(charge).toMatchObject({ state: 'settled', ended_by: 'client' })
    const output = (Number(charge?.amount) - 100_000) / 2_000
    expect(output).toBeWithin(40, 600)
  })
})

describe('the hold', () => {
  const text = { type: 'text', text: 'Summarise.' }
  const cached = { ...text, cache_control: { type: 'ephemeral' } }
  const document = (source: Json) => ({ type: 'document', source })
  const tool = { name: 'web_fetch', type: 'web_fetch_20250910' }
  const hold = async (body: Record<string, unknown>) =>
    Number((await ask({ max_tokens: 1, ...body })).charges[0]?.held)
  const withBlocks = (...content: Json[]) => ({ messages: [{ role: 'user', content }] })

  test('at the price of writing a cache where the caller asks for one', async () => {
    const plain = await hold(withBlocks(text))
    const caching = await hold(withBlocks(cached))
    expect(caching).toBeGreaterThan(plain * 1.25)
    expect(await hold({ cache_control: { type: 'ephemeral' } })).toBeGreaterThan(plain)
    expect(await hold({ system: [cached] })).toBeGreaterThan(plain * 1.25)
  })

  test('room for what the vendor fetches by itself', async () => {
    const plain = await hold(withBlocks(text))
    const linked = document({ type: 'url', url: 'https://example.com/a.pdf' })
    const inResult = { type: 'tool_result', tool_use_id: 'toolu_1', content: [linked] }
    const quoted = document({ type: 'text', media_type: 'text/plain', data: 'All is well.' })
    for (const block of [linked, inResult]) {
      expect(await hold(withBlocks(text, block))).toBeGreaterThan(plain + 65_000_000)
    }
    expect(await hold({ ...withBlocks(text), tools: [tool] })).toBeGreaterThan(plain + 65_000_000)
    expect(await hold(withBlocks(text, quoted))).toBeLessThan(plain + 1_000_000)
  })

  test('a document in the request by its size, in results of tools too', async () => {
    const plain = await hold(withBlocks(text))
    const pdf = (bytes: number) =>
      document({
        type: 'base64',
        media_type: 'application/pdf',
        data: Buffer.alloc(bytes, 7).toString('base64'),
      })
    const inResult = (bytes: number) => ({
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      content: [pdf(bytes)],
    })
    for (const block of [pdf, inResult]) {
      // A page at least, and four tokens for each byte.
      expect(await hold(withBlocks(text, block(12)))).toBeLessThan(plain + 6_000_000)
      expect(await hold(withBlocks(text, block(12)))).toBeGreaterThan(plain + 4_784_000)
      const held = await hold(withBlocks(text, block(9_000)))
      expect(held).toBeGreaterThan(plain + 9_000 * 4_000)
      expect(held).toBeLessThan(plain + 9_000 * 4_000 + 6_000_000)
    }
  })

  test('a long document that the vendor counts is paid as counted', async () => {
    const linked = document({ type: 'url', url: 'https://example.com/a.pdf' })
    const asked = { type: 'text', text: '[sandbox prompt_tokens=180000 tokens=5] Summarise.' }
    const { charges } = await ask(withBlocks(asked, linked))
    expect(charges).toMatchObject([{ usage_source: 'upstream', amount: 180_010_000 }])
  })
})

type ErrorRow = [
  name: string,
  scenario: Partial<Scenario>,
  status: number,
  type: string,
  words: string[],
  effects?: Partial<Scenario>,
]

const VENDOR = { vendorCalls: 1, charges: 1 }
const vendorFails = (directives: string) => ({
  body: { model: 'test-messages', max_tokens: 9, messages: say(`[sandbox ${directives}]`) },
})
const valid = { model: 'test-messages', max_tokens: 9, messages: say('Hello!') }
const wrong = (change: Record<string, unknown>) => ({ body: { ...valid, ...change } })

const errors: ErrorRow[] = [
  ['no key', { key: null }, 401, 'authentication_error', ['`Authorization: Bearer <API_KEY>`']],
  [
    'a wrong key in x-api-key',
    { key: null, headers: { 'x-api-key': 'sk-1' } },
    401,
    'authentication_error',
    ['Incorrect API key'],
  ],
  ['a wrong key', { key: 'sk-wrong' }, 401, 'authentication_error', ['Incorrect API key']],
  ['no body', { body: '' }, 400, 'invalid_request_error', ['The body is empty']],
  ['no JSON', { body: '{"model":' }, 400, 'invalid_request_error', ['not a JSON object']],
  ['no model', wrong({ model: undefined }), 400, 'invalid_request_error', ['You must provide a model']],
  [
    'an unknown model',
    wrong({ model: 'nothing' }),
    400,
    'invalid_request_error',
    ['`nothing` does not exist'],
  ],
  [
    'a model of another operation',
    wrong({ model: 'vgx-4' }),
    400,
    'invalid_request_error',
    ['does not serve /v1/messages'],
  ],
  ['no max_tokens', wrong({ max_tokens: undefined }), 400, 'invalid_request_error', ["'max_tokens'"]],
  ['a text as max_tokens', wrong({ max_tokens: '9' }), 400, 'invalid_request_error', ["'max_tokens'"]],
  ['no messages', wrong({ messages: [] }), 400, 'invalid_request_error', ["'messages'"]],
  [
    'an unknown role',
    wrong({ messages: [{ role: 'robot', content: 'x' }] }),
    400,
    'invalid_request_error',
    ["'messages[0].role'", "'user', 'assistant', 'system'"],
  ],
  ['a temperature of 2', wrong({ temperature: 2 }), 400, 'invalid_request_error', ["'temperature'"]],
  [
    'a body that is too large',
    { body: () => new Uint8Array(65 * 1024 * 1024) },
    413,
    'request_too_large',
    ['larger'],
  ],
  [
    "the vendor's 400, in its words",
    vendorFails('status=400 error_text="messages.0: text content blocks must be non-empty"'),
    400,
    'invalid_request_error',
    ['"messages.0: text content blocks must be non-empty"'],
    VENDOR,
  ],
  [
    'a field that the vendor does not know',
    wrong({ foo: 1 }),
    400,
    'invalid_request_error',
    ['"foo: Extra inputs are not permitted"'],
    VENDOR,
  ],
  [
    'a class of error that nobody knows yet',
    vendorFails('status=400 error_code=thinking_error'),
    400,
    'thinking_error',
    [],
    VENDOR,
  ],
  ["the vendor's 413", vendorFails('status=413'), 413, 'request_too_large', [], VENDOR],
  [
    'a file that the vendor does not have',
    vendorFails('status=404 error_text="File file_011CNha8 was not found."'),
    404,
    'not_found_error',
    ['File file_011CNha8 was not found.'],
    VENDOR,
  ],
  [
    "the vendor's 429",
    vendorFails('status=429 retry_after=7'),
    429,
    'rate_limit_error',
    ['would exceed the rate limit'],
    { ...VENDOR, answers: { 'retry-after': '7' } },
  ],
  [
    'a vendor that is overloaded, which clients know by its number and its class',
    vendorFails('status=529'),
    529,
    'overloaded_error',
    ['"message":"Overloaded"'],
    { ...VENDOR, answers: { 'retry-after': '1' } },
  ],
  ['a vendor that fails', vendorFails('status=500'), 502, 'api_error', ['"Internal server error"'], VENDOR],
  ['a vendor that took too long', vendorFails('status=504'), 504, 'timeout_error', [], VENDOR],
  ["the operator's key", vendorFails('status=401'), 503, 'api_error', ['Its operator can see why'], VENDOR],
  ["the operator's bill", vendorFails('quota'), 503, 'api_error', ['Its operator can see why'], VENDOR],
  [
    'a model that the vendor has not',
    vendorFails('status=404 error_text="model: claude-sonnet-4-5"'),
    502,
    'api_error',
    ['does not have this model'],
    { ...VENDOR, answers: { 'x-should-retry': 'false' } },
  ],
  ['an answer that is not JSON', vendorFails('garbage'), 502, 'api_error', ['was not JSON'], VENDOR],
]

describe('errors', () => {
  for (const [name, scenario, status, type, words, effects] of errors) {
    test(`${name}: ${status} ${type}`, async () => {
      const { json, charges, response } = await play(gateway, {
        name,
        path: PATH,
        body: valid,
        ...scenario,
        status,
        words,
        ...effects,
        answers: { 'request-id': /^req_/, 'content-type': /^application\/json/, ...effects?.answers },
      })
      const message = expect.stringMatching(/\S/)
      expect(json).toEqual({
        type: 'error',
        error: { type, message },
        request_id: response.headers.get('x-request-id'),
        // 429 carries the flat fields in every dialect (spec, Errors).
        ...(status === 429 && { code: expect.stringMatching(/\S/), message }),
      })
      expect(charges.map(({ state, amount }) => ({ state, amount }))).toEqual(
        charges.map(() => ({ state: 'released', amount: 0 })),
      )
    })
  }

  test('no money: 402 billing_error, not to be tried again', async () => {
    const { json } = await ask(
      {},
      { key: poor, status: 402, vendorCalls: 0, charges: 0, answers: { 'x-should-retry': 'false' } },
    )
    expect(json.error).toEqual({ type: 'billing_error', message: expect.stringContaining('$0.00 available') })
  })

  test("a key's own limit: 429 rate_limit_error, and when to come back", async () => {
    const { secret } = await gateway.makeKey('limited', '1', { concurrency: 1 })
    const slow = gateway.post(
      PATH,
      { model: 'test-messages', max_tokens: 9, messages: say('[sandbox delay_ms=5000] Hello!') },
      { authorization: `Bearer ${secret}` },
    )
    await waitFor(() => gateway.sandbox.calls.at(-1)?.body.includes('delay_ms=5000') === true)
    const response = await gateway.post(PATH, valid, { authorization: `Bearer ${secret}` })
    expect(response.status).toBe(429)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await response.json()).toMatchObject({ type: 'error', error: { type: 'rate_limit_error' } })
    expect((await slow).status).toBe(200)
  })

  test('errors of a wrong method and of a path below have this form too', async () => {
    const read = (path: string) => fetch(`${gateway.url}${path}`)
    const wrongMethod = await read(PATH)
    expect(wrongMethod.status).toBe(405)
    expect(await wrongMethod.json()).toMatchObject({
      type: 'error',
      error: { type: 'invalid_request_error' },
    })
    const below = await read(`${PATH}/batches`)
    expect(below.status).toBe(404)
    expect(await below.json()).toMatchObject({ type: 'error', error: { type: 'not_found_error' } })
    const elsewhere = await read('/v1/nothing')
    expect(await elsewhere.json()).toMatchObject({ error: { code: 'unknown_route' } })
  })

  test('a repeated answer has both ids', async () => {
    const headers = { 'idempotency-key': crypto.randomUUID() }
    const first = await gateway.post(PATH, valid, headers)
    const again = await gateway.post(PATH, valid, headers)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.headers.get('request-id')).toBe(again.headers.get('x-request-id'))
    expect(await again.text()).toBe(await first.text())
  })
})

describe('a key in x-api-key', () => {
  const call = ({ url }: TestGateway, headers: Record<string, string>, path = PATH, body: object = valid) =>
    fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })

  test('is accepted on the paths of messages, as built-in providers of clients send it', async () => {
    const headers = { 'x-api-key': gateway.secret }
    for (const path of [PATH, `/v1${PATH}`, `${PATH}/count_tokens`])
      expect({ path, status: (await call(gateway, headers, path)).status }).toEqual({ path, status: 200 })
    const list = { ...headers, 'anthropic-version': '2023-06-01' }
    expect((await fetch(`${gateway.url}/v1/models`, { headers: list })).status).toBe(200)
    // Elsewhere the contract knows bearer tokens only.
    const chat = { model: 'test-chat', messages: say('Hi') }
    expect((await call(gateway, headers, '/v1/chat/completions', chat)).status).toBe(401)
    expect((await fetch(`${gateway.url}/v1/models`, { headers })).status).toBe(401)
  })

  test('gives way to a bearer token, but not to an Authorization header without one', async () => {
    const token = `Bearer ${gateway.secret}`
    const rows: [authorization: string, key: string, status: number][] = [
      [token, 'sk-ant-of-somebody', 200],
      ['Bearer sk-wrong', gateway.secret, 401],
      ['Basic dXNlcjpwYXNz', gateway.secret, 200],
      ['Bearer ', gateway.secret, 200],
    ]
    for (const [authorization, key, status] of rows) {
      const response = await call(gateway, { authorization, 'x-api-key': key })
      expect({ authorization, status: response.status }).toEqual({ authorization, status })
    }
    // A caller's key never reaches a vendor.
    for (const { headers } of gateway.sandbox.calls) expect(headers['x-api-key']).not.toBe(gateway.secret)
  })

  test('is read on all paths or on none if the operator configures that', async () => {
    for (const acceptXApiKey of [true, false]) {
      const set = await startTestGateway({ config: { server: { acceptXApiKey } } })
      try {
        const headers = { 'x-api-key': set.secret }
        const chat = { model: 'test-chat', messages: say('Hi') }
        const status = acceptXApiKey ? 200 : 401
        expect((await call(set, headers)).status).toBe(status)
        expect((await call(set, headers, '/v1/chat/completions', chat)).status).toBe(status)
      } finally {
        await set.close()
      }
    }
  })
})
