// Messages served by chat models: the translation of recorded and random streams, whole conversations with tools
// through every simulated vendor, the official SDK, and the costs.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import type { ModelConfig } from '../../src/config/schema'
import type { Model, ParsedRequest } from '../../src/contract/family'
import type { Row } from '../../src/db/db'
import type { StreamMeter } from '../../src/request/stream/meter'
import { createTranslatingMeter } from '../../src/request/stream/translation'
import { chatStream } from '../support/answers/chat-streams'
import { type Fixture, fixtures } from '../support/answers/fixtures'
import { eventsOf, type ReadMessage, readEvents } from '../support/answers/message-events'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { casesOf, createRandom, seedOf } from '../support/random'
import { metered } from '../support/relaying'
import type { Json } from '../support/scenario'
import { type RecordedVendor, startRecordedVendor } from '../support/vendors/recorded'

setDefaultTimeout(180_000)

const seed = seedOf('MESSAGES_SEED')
const records = fixtures.filter(({ family }) => family === 'messages-on-chat')
const streams = records.filter(({ events }) => events)
const named = (list: readonly Fixture[]) => list.map((record) => [record.name, record] as const)

// 1,000 nano-dollars an input token, 2,000 an output token.
const recorded: ModelConfig = {
  family: 'openai-chat',
  upstream: 'recorded',
  upstreamModel: 'any',
  price: { per_1m_input_tokens: '1', per_1m_output_tokens: '2' },
}

let vendor: RecordedVendor
let gateway: TestGateway

beforeAll(async () => {
  vendor = startRecordedVendor()
  const upstream = { kind: 'openai', baseUrl: vendor.url, apiKey: 'none' }
  gateway = await startTestGateway({
    models: {
      recorded,
      plain: { ...recorded, upstream: 'plain' },
      bilingual: { ...recorded, family: ['openai-chat', 'anthropic-messages'] },
    },
    // The second one does not know the request for figures.
    upstreams: { recorded: upstream, plain: { ...upstream, streamUsage: false } },
  })
})

afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

/** The model as it serves messages. */
function bridgeOf(id: string): Model {
  const models = gateway.server.world.catalogue.models.get(id) ?? []
  return models.find(({ family }) => family.name === 'messages-on-chat') as Model
}

const ask: ParsedRequest = {
  body: { max_tokens: 9, messages: say('Hi') },
  byteLength: 50,
  at: 1_770_000_000_000,
}

/** A vendor's stream as the caller gets it, when it arrives in pieces that end at these offsets. */
function translated(text: string, cuts: readonly number[] = []): { events: string; meter: StreamMeter } {
  const model = bridgeOf('recorded')
  const { family } = model
  if (family.kind !== 'made' || !family.stream) throw new Error('there is no translation')
  const translator = family.stream.translate(ask, model)
  const meter = createTranslatingMeter(
    { model, hideUsage: true, judge: (usage) => usage, translateError: (json) => JSON.stringify(json) },
    translator,
  )
  return { events: metered(meter, Buffer.from(text), cuts), meter }
}

/** Requests a message; returns the rows that the request left behind. */
async function request(body: Record<string, Json>, headers: Record<string, string> = {}) {
  const calls = gateway.sandbox.calls.length
  const before = await gateway.newest()
  const whole = { model: 'test-chat', max_tokens: 500, messages: say('Hi'), ...body }
  const response = await gateway.post('/v1/messages', whole, headers)
  const { status } = response
  const text = await response.text()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  const id = response.headers.get('request-id')
  const chargeOf = () => gateway.charge(id)
  await waitFor(async () => (await chargeOf())?.state !== 'held')
  return {
    status,
    id,
    headers: response.headers,
    text,
    json: isStream ? undefined : (JSON.parse(text) as Json),
    message: isStream ? readEvents(text) : undefined,
    charge: (await chargeOf()) as Row,
    sent: gateway.sandbox.calls.slice(calls).map((call): Json => JSON.parse(call.body)),
    charges: (await gateway.charges(before.charge)).length,
    logRows: await gateway.requestLog(before.logRow),
  }
}

describe('as recorded:', () => {
  test.each(named(records))('%s is translated to the recorded request and answer', async (_, record) => {
    const { request: body, sent, events, reply, answer } = record
    vendor.answer = events ? { events, end: '[DONE]' } : { reply }
    const response = await gateway.post('/v1/messages', { model: 'recorded', ...body })
    expect(vendor.received).toEqual({ model: 'any', ...sent })
    const text = await response.text()
    if (!events) {
      expect(JSON.parse(text)).toEqual({ ...answer, model: 'recorded' })
      return
    }
    const came = eventsOf(text)
    expect(came).toMatchObject(answer)
    expect(came[0]?.message).toMatchObject({ model: 'recorded', id: expect.stringMatching(/^msg_\w+$/) })
  })

  test.each(named(streams))('%s is the same wherever the network cuts it', (_, { events = [] }) => {
    const text = [...events.map((event) => JSON.stringify(event)), '[DONE]']
      .map((data) => `data: ${data}\n\n`)
      .join('')
    const whole = translated(text).events
    readEvents(whole)
    const everywhere = Array.from({ length: Buffer.byteLength(text) }, (_, index) => index)
    expect(translated(text, everywhere).events).toBe(whole)
  })

  test('an answer that has no word in it is one of messages too', () => {
    const { events, meter } = translated('data: [DONE]\n\n')
    expect(readEvents(events)).toMatchObject({ content: [], stopReason: 'end_turn' })
    expect(meter.isComplete()).toBe(true)
    expect(translated('').events).toBe('')
  })

  test('a stream that is answered whole is a message all the same', async () => {
    const { request: body, reply, answer } = records.find(({ name }) => name === 'refusal') as Fixture
    vendor.answer = { reply }
    const { json, charge } = await request({ ...body, model: 'recorded', stream: true })
    expect(json).toEqual({ ...answer, model: 'recorded' })
    expect(charge).toMatchObject({ state: 'settled', usage_source: 'upstream', amount: 10_000 + 7 * 2_000 })
  })

  test('a null field counts as absent', async () => {
    const fields = [
      'system',
      'stream',
      'temperature',
      'top_p',
      'top_k',
      'stop_sequences',
      'tools',
      'thinking',
    ]
    const gone = Object.fromEntries([...fields, 'tool_choice', 'metadata'].map((field) => [field, null]))
    const { status, sent } = await request(gone)
    expect(status).toBe(200)
    expect(sent).toEqual([{ model: 'gpt-4.1-mini', max_tokens: 500, messages: say('Hi') }])
  })

  test('usage in streams is not requested from a server that cannot count it', async () => {
    const [{ events = [] }] = streams as [Fixture]
    vendor.answer = { events, end: '[DONE]' }
    const response = await gateway.post('/v1/messages', {
      model: 'plain',
      ...(ask.body as object),
      stream: true,
    })
    await response.text()
    expect(vendor.received).toEqual({ model: 'any', max_tokens: 9, messages: say('Hi'), stream: true })
  })
})

describe(`random streams (MESSAGES_SEED=${seed})`, () => {
  test('have the same text, calls and cost after translation', () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(1_000); round++) {
      const stream = chatStream(random)
      const { events, meter } = translated(stream.text)
      try {
        expectSame(stream, readEvents(events))
        expect(meter.isComplete()).toBe(true)
        expect(meter.failure()).toBeUndefined()
        expect(meter.outcome('done').usage).toEqual(quantitiesOf(stream.usage))
      } catch (error) {
        throw new Error(`round ${round}: ${error}\n${stream.text}`)
      }
    }
  })

  test('are the same wherever the network splits them', () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(200); round++) {
      const { text } = chatStream(random)
      const bytes = Buffer.byteLength(text)
      const cuts = Array.from({ length: 1 + random.below(40) }, () => random.below(bytes))
      expect(translated(text, cuts).events).toBe(translated(text).events)
    }
  })

  test('that break off anywhere are whole up to there, or not complete', () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(300); round++) {
      const { text } = chatStream(random)
      const { events, meter } = translated(text.slice(0, random.below(text.length)))
      if (meter.isComplete()) readEvents(events)
      // What the gateway ends it with.
      else readEvents(`${events}event: error\ndata: {"type":"error","error":{}}\n\n`)
    }
  })
})

type Stream = ReturnType<typeof chatStream>

function expectSame({ thinking, answer, calls, stopReason, usage }: Stream, message: ReadMessage): void {
  const textOf = (type: string, member: string) =>
    message.content.flatMap((block) => (block.type === type ? [block[member]] : [])).join('')
  expect(textOf('thinking', 'thinking')).toBe(thinking)
  expect(textOf('text', 'text')).toBe(answer)
  const uses = message.content.filter(({ type }) => type === 'tool_use')
  expect(uses).toEqual(
    calls.map(({ id = expect.stringMatching(/^toolu_\w+$/), ...call }) => ({
      type: 'tool_use',
      id,
      ...call,
    })),
  )
  expect(new Set(uses.map(({ id }) => id)).size).toBe(calls.length)
  expect(message.stopReason).toBe(stopReason)
  expect(message.usage).toEqual({
    input_tokens: usage?.input ?? 0,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: usage?.cached ?? 0,
    output_tokens: usage?.output ?? 0,
    ...(usage?.thinking ? { output_tokens_details: { thinking_tokens: usage.thinking } } : {}),
  })
}

function quantitiesOf(usage: Stream['usage']) {
  if (!usage) return undefined
  const { input, cached, output } = usage
  return { input_token: input, ...(cached > 0 && { cached_input_token: cached }), output_token: output }
}

describe('the start of a stream', () => {
  const started = (text: string): number => eventsOf(text)[0].message.usage.input_tokens

  test('begins with an estimate of the input and ends with the counted figures', async () => {
    const prose = 'The quick brown fox jumps over the lazy dog, and then it rests in the shade of a tree. '
    for (const times of [10, 100, 1_000]) {
      const { text, message } = await request({ stream: true, messages: say(prose.repeat(times)) })
      const exact = message?.usage.input_tokens
      expect(exact).toBeGreaterThan(15 * times)
      // Close enough for a bar that shows how full a conversation is.
      expect(started(text) / exact).toBeWithin(0.7, 1.5)
    }
  })

  test('counts images by their usual size, not by their bytes', async () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'QUJD'.repeat(50_000) }
    const content = [
      { type: 'image', source },
      { type: 'text', text: 'What is this?' },
    ]
    const { text } = await request({ stream: true, messages: [{ role: 'user', content }] })
    expect(started(text)).toBeWithin(1_500, 1_600)
  })
})

describe('the reader of these tests rejects', () => {
  const [start, open, delta, close, end, stop] = [
    {
      type: 'message_start',
      message: {
        id: 'a',
        model: 'm',
        type: 'message',
        role: 'assistant',
        content: [],
        stop_reason: null,
        usage: {},
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'a' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ] as const
  const textOf = (events: readonly { type: string }[]) =>
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

  test('no correct stream', () => {
    const good = textOf([start, { type: 'ping' }, open, delta, delta, close, end, stop])
    expect(readEvents(good)).toMatchObject({
      content: [{ type: 'text', text: 'aa' }],
      stopReason: 'end_turn',
    })
  })

  test.each([
    ['no start', [open, delta, close, end, stop]],
    ['a block without a start', [start, delta, close, end, stop]],
    ['a block without a stop', [start, open, delta, end, stop]],
    ['an overlap', [start, open, { ...open, index: 1 }, close, { ...close, index: 1 }, end, stop]],
    ['a gap', [start, { ...open, index: 1 }, { ...close, index: 1 }, end, stop]],
    [
      'a piece of another kind',
      [start, open, { ...delta, delta: { type: 'input_json_delta', partial_json: '' } }, close, end, stop],
    ],
    ['two ends', [start, end, end, stop]],
    ['no end', [start, open, close, stop]],
    ['no stop', [start, end]],
    ['a block after the end', [start, end, open, close, stop]],
    ['something after the stop', [start, end, stop, stop]],
    ['something after an error', [start, { type: 'error', error: {} }, stop]],
  ])('%s', (_, events) => expect(() => readEvents(textOf(events))).toThrow())
})

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const tools = [
  { name: 'get_weather', description: 'Weather of a city', input_schema: city },
  { name: 'get_time', description: 'Time in a city', input_schema: city },
]
const chatModels = ['test-chat', 'test-reasoning', 'test-local', 'test-dashscope', 'test-xai', 'test-google']

describe('a conversation with two tools at once', () => {
  const both = chatModels.flatMap((model) => [true, false].map((stream) => [model, stream] as const))

  test.each(both)('on %s (stream: %p)', async (model, stream) => {
    const question = say('[sandbox tool=2 reasoning=6] What is it like there?')
    // One vendor rejects sequences to stop at, and says so.
    const stops = model === 'test-xai' ? [] : ['###']
    const shared = { model, stream, tools, temperature: 0.5, stop_sequences: stops }
    const first = await request({ ...shared, messages: question })
    const content = contentOf(first)
    const uses = content.filter(({ type }) => type === 'tool_use')
    expect(uses.map(({ name }) => name)).toEqual(['get_weather', 'get_time'])
    expect(new Set(uses.map(({ id }) => id)).size).toBe(2)
    for (const { input } of uses) expect(input).toEqual({ city: expect.any(String) })
    expect(stopReasonOf(first)).toBe('tool_use')

    const results = uses.map(({ id, name }) => ({
      type: 'tool_result',
      tool_use_id: id,
      content: `${name} is fine`,
    }))
    const messages = [...question, { role: 'assistant', content }, { role: 'user', content: results }]
    const second = await request({ ...shared, messages })
    expect(second.sent[0].messages).toEqual([
      question[0],
      {
        role: 'assistant',
        content: null,
        tool_calls: uses.map(({ id, name, input }) => ({
          id,
          type: 'function',
          function: { name, arguments: JSON.stringify(input) },
        })),
      },
      ...uses.map(({ id, name }) => ({ role: 'tool', tool_call_id: id, content: `${name} is fine` })),
    ])
    expect(contentOf(second).find(({ type }) => type === 'text').text).toContain(
      'The tool answered: get_time is fine',
    )
    expect(stopReasonOf(second)).toBe('end_turn')
    for (const { charge } of [first, second]) {
      expect(charge).toMatchObject({ state: 'settled', operation: 'messages', usage_source: 'upstream' })
    }
  })
})

type Answered = Awaited<ReturnType<typeof request>>

/** The blocks as a client keeps them: with the input of calls parsed. */
function contentOf({ json, message, text }: Answered): Json[] {
  if (!json && !message) throw new Error(text)
  const parsed = message?.content.map(({ arguments: input, ...block }) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse(input || '{}') } : block,
  )
  return json?.content ?? parsed
}

const stopReasonOf = ({ json, message }: Answered): string => json?.stop_reason ?? message?.stopReason

test('a server that speaks both forms is never translated for', () => {
  const serving = (id: string) =>
    gateway.server.world.catalogue.models
      .get(id)
      ?.map(({ family }) => family.name)
      .sort()
  expect(serving('bilingual')).toEqual([
    'anthropic-messages',
    'gemini-on-chat',
    'openai-chat',
    'responses-on-chat',
  ])
  expect(serving('recorded')).toEqual([
    'gemini-on-chat',
    'messages-on-chat',
    'openai-chat',
    'responses-on-chat',
  ])
})

describe('a field', () => {
  const efforts: [wish: Record<string, Json>, effort: string | undefined][] = [
    [{}, undefined],
    [{ thinking: { type: 'adaptive' } }, undefined],
    [{ thinking: { type: 'enabled', budget_tokens: 1_024 } }, 'low'],
    [{ thinking: { type: 'enabled', budget_tokens: 16_384 } }, 'medium'],
    [{ thinking: { type: 'enabled', budget_tokens: 16_385 } }, 'high'],
    [{ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } }, 'high'],
    // It has no word for none.
    [{ thinking: { type: 'disabled' }, output_config: { effort: 'high' } }, 'minimal'],
  ]
  test.each(efforts)(
    'of thinking: %j is the effort %p of a model that reasons, and of no other',
    async (wish, effort) => {
      const sentTo = (model: string) => {
        const body = {
          ...(ask.body as object),
          model,
          temperature: 1,
          top_p: 1,
          stop_sequences: ['a'],
          ...wish,
        }
        const [call] = [bridgeOf(model).family.call({ ...ask, body }, bridgeOf(model))].flat()
        return (call as { body: { json: Json } }).body.json
      }
      const messages = say('Hi')
      expect(sentTo('test-reasoning')).toEqual({
        model: 'gpt-5-mini',
        messages,
        max_completion_tokens: 9,
        ...(effort && { reasoning_effort: effort }),
      })
      expect(sentTo('test-chat')).toEqual({
        model: 'gpt-4.1-mini',
        messages,
        max_tokens: 9,
        temperature: 1,
        top_p: 1,
        stop: ['a'],
      })
    },
  )

  test('for an effort that the model does not have is rejected, with those that it has', async () => {
    const { status, json } = await request({ model: 'test-reasoning', output_config: { effort: 'max' } })
    expect(status).toBe(400)
    expect(json.error).toEqual({
      type: 'invalid_request_error',
      message: expect.stringContaining("Supported values are: 'minimal', 'low', 'medium', and 'high'"),
    })
  })
})

describe('rejected before anything is sent', () => {
  const inUser = (...content: Json[]) => ({ messages: [{ role: 'user', content }] })
  const rows: [name: string, body: Record<string, Json>, field: string, word: string][] = [
    [
      'an image by a file id',
      inUser({ type: 'image', source: { type: 'file', file_id: 'f' } }),
      'messages[0].content[0].source',
      'base64',
    ],
    ['an image without a source', inUser({ type: 'image' }), 'messages[0].content[0].source', 'an object'],
    [
      'a document by its URL',
      inUser({ type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }),
      'messages[0].content[0].source',
      'base64',
    ],
    [
      'an upload for a container',
      inUser({ type: 'text', text: 'a' }, { type: 'container_upload', file_id: 'f' }),
      'messages[0].content[1].type',
      'container_upload',
    ],
    [
      'a result of no call',
      inUser({ type: 'tool_result', content: 'a' }),
      'messages[0].content[0].tool_use_id',
      'a string',
    ],
    [
      'an odd block in a result',
      inUser({ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'odd' }] }),
      'messages[0].content[0].content[0]',
      'odd',
    ],
    ['a text that is none', inUser({ type: 'text', text: 7 }), 'messages[0].content[0].text', 'a string'],
    [
      'a call without a name',
      { messages: [{ role: 'assistant', content: [{ type: 'tool_use', id: 'a' }] }] },
      'messages[0].content[0].name',
      'a string',
    ],
    [
      'a tool of the other vendor',
      { tools: [...tools, { type: 'bash_20250124', name: 'bash' }] },
      'tools[2].type',
      'bash_20250124',
    ],
    ['a server of tools', { mcp_servers: [{ type: 'url' }] }, 'mcp_servers', 'vendor'],
    ['a choice of no tool', { tools, tool_choice: { type: 'tool' } }, 'tool_choice', 'name'],
    ['no output at all', { max_tokens: 0 }, 'max_tokens', 'at least 1 token'],
    ['no length', { max_tokens: undefined }, 'max_tokens', 'Missing'],
  ]
  test.each(rows)('%s', async (_, body, field, word) => {
    const { status, json, sent, charges, logRows, id, charge } = await request(body)
    expect(json).toEqual({
      type: 'error',
      error: { type: 'invalid_request_error', message: expect.stringContaining(`'${field}'`) },
      request_id: id,
    })
    expect(json.error.message).toContain(word)
    expect({ status, sent, charges }).toEqual({ status: 400, sent: [], charges: 0 })
    expect(charge).toBeUndefined()
    expect(logRows).toMatchObject([{ id, status: 400, operation: 'messages' }])
  })
})

describe('an error of the vendor', () => {
  const rows: [words: string, status: number, type: string, message: string][] = [
    ['status=400 error_text="An odd wish"', 400, 'invalid_request_error', 'An odd wish'],
    ['status=413 error_text="Too much"', 413, 'request_too_large', 'Too much'],
    ['status=429 retry_after=7 error_text="Slow down"', 429, 'rate_limit_error', 'Slow down'],
    ['status=500', 502, 'api_error', 'HTTP 500'],
    ['status=503', 503, 'api_error', 'HTTP 503'],
    ['status=401', 503, 'api_error', 'operator'],
    ['quota', 503, 'api_error', 'operator'],
    ['status=500 soft error_text="It broke"', 502, 'api_error', 'It broke'],
    ['garbage', 502, 'api_error', 'not JSON'],
  ]
  test.each(rows)('%s reads as one of messages, and costs nothing', async (words, status, type, message) => {
    const answer = await request({ messages: say(`[sandbox ${words}] Hi`) })
    const { json, id, charge, sent, headers } = answer
    expect({ status: answer.status, text: answer.text }).toEqual({ status, text: answer.text })
    expect(json).toMatchObject({
      type: 'error',
      error: { message: expect.stringContaining(message) },
      request_id: id,
    })
    expect(json.error.type).toBe(type)
    expect(charge).toMatchObject({ state: 'released', amount: 0 })
    expect(sent).toHaveLength(1)
    if (words.includes('retry_after')) expect(headers.get('retry-after')).toBe('7')
  })

  test('within a stream ends it with the words of the vendor, and the part before is paid', async () => {
    const answer = await request({ stream: true, messages: say('[sandbox error_after=4 tokens=40] Hi') })
    expect(answer.message?.error).toEqual({
      type: 'api_error',
      message: 'The server had an error while processing your request. Sorry about that!',
    })
    expect(answer.charge).toMatchObject({ state: 'settled', usage_source: 'counted' })
  })

  test('is the last event that a caller gets, whatever the vendor still sends', () => {
    const data = [{ choices: [{ index: 0, delta: { content: 'a' } }] }, { error: 'Out of memory' }]
    const text = data.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    const { events, meter } = translated(`${text}${text}data: [DONE]\n\n`)
    expect(readEvents(events)).toMatchObject({ error: { type: 'api_error', message: 'Out of memory' } })
    expect(eventsOf(events).map(({ type }) => type)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_delta',
      'error',
    ])
    expect(meter.failure()).toBeDefined()
  })

  test('of a vendor that breaks off is an event too', async () => {
    const answer = await request({ stream: true, messages: say('[sandbox cut_after=4 tokens=40] Hi') })
    expect(answer.message?.error).toEqual({
      type: 'api_error',
      message: expect.stringContaining('stopped early'),
    })
  })

  test('money that is missing, and a key', async () => {
    const { secret } = await gateway.makeKey('poor', '0')
    const poor = await request({}, { authorization: `Bearer ${secret}` })
    expect(poor).toMatchObject({
      status: 402,
      sent: [],
      charges: 0,
      json: { error: { type: 'billing_error' } },
    })
    const nobody = await request({}, { authorization: 'Bearer sk-wrong' })
    expect(nobody).toMatchObject({ status: 401, sent: [], json: { error: { type: 'authentication_error' } } })
  })
})

describe('a message costs what the same completion costs', () => {
  const words = [
    'tokens=20',
    'prompt_tokens=1000 cached=300 tokens=20',
    'reasoning=30 tokens=5',
    'empty',
    'usage=missing tokens=20',
    'usage=negative tokens=20',
    'usage=string tokens=20',
    'usage=huge tokens=20',
    'usage=overflow tokens=20',
    'usage=nan tokens=20',
    'usage=every_chunk tokens=20',
    'usage=missing reasoning=9 tokens=20',
    'no_done tokens=20',
    'cut_after=0 tokens=20',
    'cut_after=5 tokens=20',
    'error_after=0 tokens=20',
    'error_after=5 tokens=20',
    'usage=every_chunk cut_after=5 tokens=20',
    'garbage',
    'wide split crlf tokens=30',
  ]
  const rows = words.flatMap((word) => [true, false].map((stream) => [word, stream] as const))

  test.each(rows)('%s (stream: %p)', async (word, stream) => {
    for (const model of ['test-chat', 'test-dashscope', 'test-xai']) {
      const body = { model, stream, max_tokens: 400, messages: say(`[sandbox ${word}] What is it?`) }
      const response = await gateway.chat(body)
      await response.text()
      const id = response.headers.get('x-request-id')
      const own = () => gateway.charge(id)
      await waitFor(async () => (await own())?.state !== 'held')
      const { charge } = await request(body)
      const [expected, got] = [(await own()) as Row, charge].map((row) => ({
        model,
        state: row.state,
        amount: row.amount,
        endedBy: row.ended_by,
        source: row.usage_source,
      }))
      expect(got).toEqual(expected)
      expect(Number(charge.held)).toBeGreaterThanOrEqual(Number(charge.amount))
    }
  })

  test('in figures: input, cached input and output each at its own price', async () => {
    for (const stream of [true, false]) {
      const content = '[sandbox prompt_tokens=1000 cached=300 tokens=20] Hi'
      const { charge } = await request({ stream, messages: say(content) })
      expect(charge.amount).toBe(700 * 1_000 + 300 * 100 + 20 * 2_000)
    }
  })

  test('a caller who disconnects pays for the delivered part', async () => {
    const leaving = new AbortController()
    const response = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secret}` },
      body: JSON.stringify({
        model: 'test-chat',
        max_tokens: 400,
        stream: true,
        messages: say('[sandbox tokens=300 token_delay_ms=20] Hi'),
      }),
      signal: leaving.signal,
    })
    const reader = response.body?.getReader()
    let text = ''
    while (!text.includes('text_delta')) text += Buffer.from((await reader?.read())?.value ?? []).toString()
    leaving.abort()
    const id = response.headers.get('request-id')
    const own = () => gateway.charge(id)
    await waitFor(async () => (await own())?.state !== 'held')
    const charge = (await own()) as Row
    expect(charge).toMatchObject({ state: 'settled', ended_by: 'client', usage_source: 'counted' })
    expect(Number(charge.amount)).toBeGreaterThan(0)
    expect(Number(charge.amount)).toBeLessThan(300 * 2_000)
  })
})

describe('the official SDK', () => {
  const connect = () =>
    new Anthropic({ baseURL: gateway.url, authToken: gateway.secret, apiKey: null, maxRetries: 0 })

  test('a message', async () => {
    const message = await connect().messages.create({
      model: 'test-chat',
      max_tokens: 100,
      messages: say('Hi there'),
    })
    expect(message).toMatchObject({
      type: 'message',
      role: 'assistant',
      model: 'test-chat',
      stop_reason: 'end_turn',
    })
    expect(message.content).toEqual([
      { type: 'text', text: expect.stringContaining('You said: Hi there') } as Json,
    ])
    expect(message.usage.output_tokens).toBeGreaterThan(0)
    expect(message._request_id).toMatch(/^req_/)
  })

  test.each(chatModels)('the streaming helper on %s: thinking, words and figures', async (model) => {
    const heard: string[] = []
    const stream = connect()
      .messages.stream({ model, max_tokens: 500, messages: say('[sandbox wide split reasoning=9] Hi') })
      .on('text', (piece) => heard.push(piece))
    const message = await stream.finalMessage()
    const text = message.content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('')
    expect(text).toBe(heard.join(''))
    expect(text).toContain('🎉')
    expect(message.stop_reason).toBe('end_turn')
    expect(message.usage.input_tokens).toBeGreaterThan(0)
    expect(message.usage.output_tokens).toBeGreaterThan(9)
    // These two vendors show what a model thinks.
    const shown = message.content[0]?.type === 'thinking'
    expect(shown).toBe(model === 'test-dashscope' || model === 'test-xai')
  })

  test('the figures of a stream as they come, and a count before it', async () => {
    const client = connect()
    const messages = say('How is the weather in the north of Norway in the middle of the winter?')
    const stream = client.messages.stream({ model: 'test-chat', max_tokens: 500, messages })
    let first = 0
    stream.on('streamEvent', (event) => {
      if (event.type === 'message_start') first = event.message.usage.input_tokens
    })
    const { usage } = await stream.finalMessage()
    const { input_tokens: counted } = await client.messages.countTokens({ model: 'test-chat', messages })
    expect(first).toBeWithin(15, 80)
    expect(usage.input_tokens).toBeWithin(counted, counted + 10)
  })

  test.each(chatModels)('a loop of tools on %s, streamed', async (model) => {
    const client = connect()
    const messages: Anthropic.MessageParam[] = say('Please get_weather [sandbox tool=2]')
    const settings = { model, max_tokens: 500, tools: tools as Anthropic.Tool[] }
    const first = await client.messages.stream({ ...settings, messages }).finalMessage()
    const uses = first.content.filter((block) => block.type === 'tool_use')
    expect(uses.map(({ name, input }) => [name, input])).toEqual([
      ['get_weather', { city: expect.any(String) }],
      ['get_time', { city: expect.any(String) }],
    ])
    messages.push({ role: 'assistant', content: first.content })
    messages.push({
      role: 'user',
      content: uses.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: 'Sunny at noon' })),
    })
    const second = await client.messages.stream({ ...settings, messages }).finalText()
    expect(second).toContain('The tool answered: Sunny at noon')
  })

  test('the errors that its users catch', async () => {
    const client = connect()
    const create = (words: string, stream = false) =>
      client.messages.create({
        model: 'test-chat',
        max_tokens: 50,
        stream,
        messages: say(`[sandbox ${words}] Hi`),
      })
    const caught = (words: string) =>
      create(words).then(
        () => undefined,
        (error: unknown) => error,
      )
    expect(await caught('status=400 error_text="An odd wish"')).toBeInstanceOf(Anthropic.BadRequestError)
    expect(await caught('status=429')).toBeInstanceOf(Anthropic.RateLimitError)
    expect(await caught('status=500')).toBeInstanceOf(Anthropic.InternalServerError)
    const broken = client.messages.stream({
      model: 'test-chat',
      max_tokens: 50,
      messages: say('[sandbox error_after=4 tokens=40] Hi'),
    })
    expect(String(await broken.finalMessage().catch((error) => error))).toContain('Sorry about that!')
  })
})
