// Responses of models whose vendor has this API: the vendor's request, the answer, and the charge.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { readResponse } from '../support/answers/response-events'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { type Json, type Played, play, type Scenario } from '../support/scenario'
import { eventStream, startVendor } from '../support/vendors/vendor'

const tokens = { per_1m_input_tokens: '1', per_1m_cached_input_tokens: '0.1', per_1m_output_tokens: '3' }

const vendor = startVendor()
let gateway: TestGateway
let client: OpenAI

beforeAll(async () => {
  gateway = await startTestGateway({
    models: {
      thinker: {
        family: ['openai-chat', 'openai-responses'],
        upstream: 'openai',
        upstreamModel: 'gpt-5-mini',
        reasoning: true,
        price: { ...tokens, service_tiers: { flex: '0.5' } },
      },
      searcher: {
        family: 'openai-responses',
        upstream: 'openai',
        upstreamModel: 'gpt-4.1-mini',
        price: { ...tokens, per_1k_web_searches: '10' },
      },
      'odd-searcher': {
        family: 'openai-responses',
        upstream: 'odd',
        upstreamModel: 'm',
        price: { ...tokens, per_1k_web_searches: '10' },
      },
    },
    upstreams: { odd: vendor.upstream },
    balance: '1000',
  })
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })
})
afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

test.each([
  ['nothing of its searches', {}, 2],
  ['that none of them was made', { tool_usage: { web_search: { num_requests: 0 } } }, 0],
  ['how many were made', { tool_usage: { web_search: { num_requests: 1 } } }, 1],
  ['by the names of xAI how many were made', { calls: { web_search_calls: 1, x_search_calls: 0 } }, 1],
])(
  'a stream that reports %s at its end is charged by that',
  async (_, { calls, ...facts }: Json, searches) => {
    const items = [
      { type: 'web_search_call', id: 'ws_1', status: 'completed' },
      { type: 'web_search_call', id: 'ws_2', status: 'completed' },
      { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Found.' }] },
    ]
    const counts = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
    const usage = { ...counts, ...(calls && { server_side_tool_usage_details: calls }) }
    const events = [
      { type: 'response.created', response: { id: 'resp_1', status: 'in_progress', output: [] } },
      ...items.flatMap((item, output_index) => [
        { type: 'response.output_item.added', output_index, item },
        { type: 'response.output_item.done', output_index, item },
      ]),
      { type: 'response.completed', response: { id: 'resp_1', status: 'completed', usage, ...facts } },
    ]
    vendor.answer = () => eventStream(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
    const body = { model: 'odd-searcher', input: 'Look', tools: [{ type: 'web_search' }], stream: true }
    await (await gateway.post('/v1/responses', body)).text()
    const paid = (await gateway.newestCharge())?.amount
    expect(Number(paid)).toBe(10 * 1_000 + 5 * 3_000 + searches * 10_000_000)
  },
)

test.each([true, false])(
  'of the actions of a search only searches are paid, streamed: %p',
  async (stream) => {
    const actions = [
      { type: 'search', query: 'lamps' },
      { type: 'open_page', url: 'https://example.com' },
      { type: 'find_in_page', url: 'https://example.com', pattern: 'red' },
      // The older form, recognizable only by the type of the item.
      undefined,
    ]
    const output = [
      ...actions.map((action, at) => ({
        type: 'web_search_call',
        id: `ws_${at}`,
        status: 'completed',
        ...(action && { action }),
      })),
      { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Found.' }] },
    ]
    const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
    const response = { id: 'resp_1', object: 'response', status: 'completed', usage }
    const events = [
      ...output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
      { type: 'response.completed', response },
    ]
    vendor.answer = () =>
      stream
        ? eventStream(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
        : Response.json({ ...response, output })
    const body = { model: 'odd-searcher', input: 'Look', tools: [{ type: 'web_search' }], stream }
    await (await gateway.post('/v1/responses', body)).text()
    const paid = (await gateway.newestCharge())?.amount
    expect(Number(paid)).toBe(10 * 1_000 + 5 * 3_000 + 2 * 10_000_000)
  },
)

test.each([true, false])(
  'cached tokens next to the input are paid and shown, and its price kept back, streamed: %p',
  async (stream) => {
    // What xAI reports of some models (vercel/ai#12485), with its own price.
    const usage = {
      input_tokens: 4142,
      input_tokens_details: { cached_tokens: 4328 },
      output_tokens: 50,
      total_tokens: 4192,
      cost_in_usd_ticks: 12_345,
    }
    const output = [
      { type: 'message', id: 'msg_1', role: 'assistant', content: [{ type: 'output_text', text: 'Found.' }] },
    ]
    const response = { id: 'resp_1', object: 'response', status: 'completed', usage }
    const events = [
      ...output.map((item, output_index) => ({ type: 'response.output_item.done', output_index, item })),
      { type: 'response.completed', response: { ...response, output } },
    ]
    vendor.answer = () =>
      stream
        ? eventStream(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
        : Response.json({ ...response, output })
    const answer = await (
      await gateway.post('/v1/responses', { model: 'odd-searcher', input: 'Hi', stream })
    ).text()
    expect(answer).toContain('"input_tokens":8470')
    expect(answer).toContain('"cached_tokens":4328')
    expect(answer).toContain('"total_tokens":8520')
    expect(answer).not.toContain('ticks')
    const charge = await gateway.newestCharge()
    expect(charge).toMatchObject({ usage_source: 'upstream', amount: 4142 * 1_000 + 4328 * 100 + 50 * 3_000 })
    expect(JSON.parse(String(charge?.usage))).toEqual(usage)
  },
)

test('the official client creates a response and follows a stream of one', async () => {
  const whole = await client.responses.create({ model: 'thinker', input: 'Hello there' })
  expect(whole).toMatchObject({ object: 'response', status: 'completed', model: 'thinker', error: null })
  expect(whole.output_text).toContain('You said: Hello there')
  const stream = client.responses.stream({ model: 'thinker', input: 'Hello there' })
  const kinds: string[] = []
  const numbers: number[] = []
  for await (const event of stream) {
    kinds.push(event.type)
    numbers.push(event.sequence_number)
    expect(event).not.toHaveProperty('obfuscation')
  }
  expect(kinds.slice(0, 3)).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
  ])
  expect(kinds.at(-1)).toBe('response.completed')
  expect(numbers).toEqual(numbers.map((_, index) => index))
  expect((await stream.finalResponse()).output_text).toContain('You said: Hello there')
})

/** A stream as sent. */
async function streamed(body: Record<string, unknown>): Promise<string> {
  const response = await gateway.post('/v1/responses', { model: 'thinker', stream: true, ...body })
  expect(response.status).toBe(200)
  return response.text()
}

const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }
const note = { type: 'custom', name: 'note' }

test.each([
  ['words', { input: 'Hello' }],
  ['thoughts that are shown', { input: 'Hello', reasoning: { effort: 'low', summary: 'auto' } }],
  ['calls', { input: '[sandbox tool=2] go', tools: [look, note] }],
  ['mixed calls', { input: '[sandbox tool=2 interleave] go', tools: [look, note] }],
  ['ids that change', { input: '[sandbox rotate_ids tool=2 interleave] go', tools: [look, note] }],
  ['signs of life', { input: '[sandbox keepalive] Hello' }],
  ['no output at the end', { input: '[sandbox empty_output] Hello' }],
  ['a limit', { input: 'Hello', max_output_tokens: 20 }],
  ['pieces at odd places', { input: '[sandbox split wide] Hello' }],
  ['a failure', { input: '[sandbox error_after=8] Hello' }],
  ['a cut', { input: '[sandbox cut_after=8] Hello' }],
])('the stream of an answer with %s is one that clients can follow', async (_, body) => {
  const { response, events } = readResponse(await streamed(body))
  expect(response.model).toBe('thinker')
  for (const event of events) expect(event).not.toHaveProperty('obfuscation')
})

/** Plays one row on the model that thinks. */
function ask(body: Record<string, unknown>, expected: Partial<Scenario> = {}): Promise<Played> {
  const rest = { status: 200, vendorCalls: 1, charges: 1, ...expected }
  return play(gateway, { name: 'ask', path: '/v1/responses', body: { model: 'thinker', ...body }, ...rest })
}

const sentBy = ({ calls }: Played) => calls.map(({ body }) => JSON.parse(body))

describe('the vendor gets', () => {
  test('the whole, under its own name, and keeps nothing', async () => {
    const input = [
      { role: 'developer', content: 'Be brief.' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
    ]
    const more = {
      text: { verbosity: 'low' },
      prompt_cache_key: 'k',
      client_metadata: { a: 'b' },
      metadata: {},
    }
    const [sent] = sentBy(await ask({ input, store: true, generate: false, ...more }))
    expect(sent).toEqual({
      ...more,
      input,
      model: 'gpt-5-mini',
      store: false,
      include: ['reasoning.encrypted_content'],
    })
  })

  test('no words by which it would only fill a cache: they cost, and have no output', async () => {
    const options = { mode: 'auto', prewarm: true }
    const played = await ask({ input: 'Hello', prompt_cache_options: options, generate: false })
    expect(sentBy(played)[0].prompt_cache_options).toEqual({ mode: 'auto' })
    expect(sentBy(played)[0]).not.toHaveProperty('generate')
    expect(played.charges[0]).toMatchObject({ state: 'settled' })
  })

  test('its own reasoning byte for byte, and none of others', async () => {
    const first = (await ask({ input: 'Hello', store: false })).json
    const [reasoning, message] = first.output
    expect([reasoning.type, reasoning.id.slice(0, 3)]).toEqual(['reasoning', 'rs_'])
    const foreign = { type: 'reasoning', id: 'rs_other', summary: [{ type: 'summary_text', text: 'x' }] }
    const sealed = { ...foreign, id: 'rs_sealed', encrypted_content: 'gw1.000000000000.abc' }
    const next = { role: 'user', content: 'And then?' }
    const [sent] = sentBy(await ask({ input: [foreign, sealed, reasoning, message, next], store: false }))
    expect(sent.input).toEqual([reasoning, message, next])
  })

  test('the request once more without reasoning that another account has sealed', async () => {
    const { output } = (await ask({ input: 'Hello', store: false })).json
    const next = { role: 'user', content: '[sandbox account=2] And then?' }
    for (const stream of [false, true]) {
      const played = await ask({ input: [...output, next], store: false, stream }, { vendorCalls: 2 })
      const [refused, sent] = sentBy(played)
      expect(refused.input).toEqual([...output, next])
      expect(sent.input).toEqual([output[1], next])
    }
    // Another fault of the request is reported at once.
    const wrong = { role: 'user', content: '[sandbox status=400] And then?' }
    await ask({ input: [...output, wrong], store: false }, { status: 400 })
  })
})

describe('the charge', () => {
  test('by the tier that answers, not the one that was asked for', async () => {
    const cheap = await ask({ input: '[sandbox prompt_tokens=1000 tier=flex] Hello', max_output_tokens: 100 })
    expect(cheap.json.service_tier).toBe('flex')
    const dear = await ask({ input: '[sandbox prompt_tokens=1000] Hello', max_output_tokens: 100 })
    expect(Number(dear.charges[0]?.amount)).toBe(2 * Number(cheap.charges[0]?.amount))
    await ask({ input: 'Hello', service_tier: 'priority' }, { status: 400, vendorCalls: 0, charges: 0 })
  })

  test('cached input at its own price, whole and streamed', async () => {
    for (const stream of [false, true]) {
      const { charges } = await ask({ input: '[sandbox prompt_tokens=1000 cached=600] Hello', stream })
      const { output_tokens: output } = JSON.parse(charges[0]?.usage as string)
      expect(charges[0]?.amount).toBe(400 * 1_000 + 600 * 100 + output * 3_000)
    }
  })

  test('thinking up to the limit, of which nothing is shown', async () => {
    const { json, charges } = await ask({ input: '[sandbox reasoning=90] Hello', max_output_tokens: 40 })
    expect(json).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } })
    expect(charges[0]).toMatchObject({ state: 'settled' })
  })

  test('reasoning to be sent back is requested from models that reason, whatever the caller includes', async () => {
    const include = ['reasoning.encrypted_content', 'message.output_text.logprobs']
    const thinks = await ask({ input: 'Hello', include })
    // It has no probabilities to give.
    expect(sentBy(thinks)[0].include).toEqual(['reasoning.encrypted_content'])
    const plain = await ask({ input: 'Hello', include, model: 'searcher' })
    expect(sentBy(plain)[0].include).toEqual(['message.output_text.logprobs'])
  })

  test('searches of the web, at most as many as are held', async () => {
    const search = { input: '[sandbox searches=2] Look it up', tools: [{ type: 'web_search' }] }
    const demanded = { ...search, tool_choice: { type: 'web_search' } }
    await ask(demanded, { status: 400, vendorCalls: 0, charges: 0, words: ['per_1k_web_searches'] })
    // Coding clients offer it with every request: without a price it is left out.
    const look = { type: 'function', name: 'look', parameters: {} }
    const added = { type: 'additional_tools', role: 'developer', tools: [look, { type: 'web_search' }] }
    const offered = await ask({
      ...search,
      input: [{ role: 'user', content: 'Look it up' }, added],
      tools: [
        look,
        { type: 'web_search' },
        { type: 'namespace', name: 'web', tools: [{ type: 'web_search_preview' }] },
      ],
      tool_choice: 'auto',
    })
    expect(JSON.stringify(sentBy(offered)[0])).not.toContain('web_search')
    expect(sentBy(offered)[0].tools[0]).toMatchObject({ name: 'look' })
    const alone = await ask({ ...search, tool_choice: 'auto' })
    expect(sentBy(alone)[0]).not.toContainAnyKeys(['tools', 'tool_choice', 'max_tool_calls'])
    const played = await ask({ ...search, model: 'searcher' })
    expect(sentBy(played)[0].max_tool_calls).toBe(10)
    expect(Number(played.charges[0]?.amount)).toBeWithin(2 * 10_000_000, 3 * 10_000_000)
    const hidden = { input: 'Look it up', tools: [{ type: 'namespace', name: 'web', tools: search.tools }] }
    expect(sentBy(await ask({ ...hidden, model: 'searcher' }))[0].max_tool_calls).toBe(10)
    const fewer = await ask({ ...search, model: 'searcher', max_tool_calls: 3 })
    expect(sentBy(fewer)[0].max_tool_calls).toBe(3)
    expect(Number(played.charges[0]?.held) - Number(fewer.charges[0]?.held)).toBeWithin(
      69_000_000,
      71_000_000,
    )
  })

  test('what a remote server tells the model, wherever its tool stands: more is held', async () => {
    const tools = [{ type: 'mcp', server_label: 'a', server_url: 'https://example.com' }]
    const added = { type: 'additional_tools', role: 'developer', tools }
    const heldFor = async (body: Record<string, unknown>) => Number((await ask(body)).charges[0]?.held)
    const plain = await heldFor({ input: [{ role: 'user', content: 'Hello' }] })
    expect(await heldFor({ input: 'Hello', tools })).toBeGreaterThan(plain + 60_000 * 1_000)
    expect(await heldFor({ input: [added, { role: 'user', content: 'Hello' }] })).toBeGreaterThan(
      plain + 60_000 * 1_000,
    )
  })

  test('is nothing for a failure', async () => {
    const failed = { status: 502, words: ['server_error'.slice(0, 6)] }
    await ask({ input: '[sandbox status=500 soft] Hello' }, failed)
    await ask({ input: '[sandbox error_after=2] Hello', stream: true }, { reported: 'upstream_error' })
    expect(await gateway.newestCharge()).toMatchObject({ state: 'released', amount: 0 })
  })
})

test.each([
  [
    'another item',
    { input: [{ type: 'message', role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] }] },
    'input[0].content[0].file_id',
  ],
  ['a template', { input: 'x', prompt: { id: 'pmpt_1' } }, 'prompt'],
  [
    'documents',
    { input: 'x', tools: [{ type: 'file_search', vector_store_ids: ['vs_1'] }] },
    'tools[0].type',
  ],
  [
    'a container',
    { input: 'x', tools: [{ type: 'shell', environment: { type: 'container_auto' } }] },
    'tools[0].environment.type',
  ],
  [
    'tools in an item',
    { input: [{ type: 'additional_tools', role: 'developer', tools: [{ type: 'code_interpreter' }] }] },
    'input[0].tools[0].type',
  ],
  ['another model', { input: 'x', models: ['gpt-5'] }, 'models'],
  ['a more expensive mode', { input: 'x', reasoning: { mode: 'pro' } }, 'reasoning.mode'],
])("what reaches the vendor's account or its bill is rejected: %s", async (_, body, param) => {
  await ask(body, { status: 400, vendorCalls: 0, charges: 0, error: { param } })
})

test('secrets of remote tools are never shown', async () => {
  const tool = {
    type: 'mcp',
    server_label: 'a',
    server_url: 'https://example.com',
    authorization: 'hush',
    headers: { x: 'hush' },
  }
  const { text } = await ask({ input: 'Hello', tools: [tool] })
  expect(text).toContain('server_label')
  expect(text).not.toContain('hush')
  expect(await streamed({ input: 'Hello', tools: [tool] })).not.toContain('hush')
})

describe('input tokens', () => {
  test('are counted by the vendor, for nothing', async () => {
    const { input_tokens: tokens, object } = await client.responses.inputTokens.count({
      model: 'thinker',
      input: '[sandbox prompt_tokens=321] Hello',
    })
    expect({ tokens, object }).toEqual({ tokens: 321, object: 'response.input_tokens' })
    const count = { path: '/v1/responses/input_tokens?beta=true', charges: 0, logRows: 0 }
    const played = await ask({ input: 'Hello', stream: true, store: true, max_output_tokens: 50 }, count)
    expect(played.calls[0]?.path).toBe('/v1/responses/input_tokens')
    expect(sentBy(played)[0]).toEqual({ model: 'gpt-5-mini', input: 'Hello' })
  })

  test('are those of what the request continues too', async () => {
    const first = (await ask({ input: 'Hello' })).json
    const count = { path: '/v1/responses/input_tokens', charges: 0, logRows: 0 }
    const played = await ask({ input: 'And then?', previous_response_id: first.id }, count)
    expect(sentBy(played)[0].input).toHaveLength(4)
    await ask({ input: 'x', previous_response_id: 'resp_no' }, { ...count, status: 400, vendorCalls: 0 })
  })
})
