// Chat completions served by models with the messages API: the translation of recorded and random streams,
// conversations with tools, several candidates, the official SDK, and the costs.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import OpenAI from 'openai'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import type { Model, ParsedRequest } from '../../src/contract/family'
import type { Row } from '../../src/db/db'
import { knownModel } from '../../src/families/traits/known-models'
import type { StreamMeter } from '../../src/request/stream/meter'
import { createTranslatingMeter } from '../../src/request/stream/translation'
import { chunksOf, readChunks } from '../support/answers/chat-chunks'
import { type Fixture, fixtures } from '../support/answers/fixtures'
import { type GeneratedMessage, messageStream } from '../support/answers/message-streams'
import { say, startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { casesOf, createRandom, seedOf } from '../support/random'
import { metered } from '../support/relaying'
import type { Json } from '../support/scenario'
import { type RecordedVendor, startRecordedVendor } from '../support/vendors/recorded'

setDefaultTimeout(180_000)

const seed = seedOf('CHAT_SEED')
const STOP = '{"type":"message_stop"}'
const records = fixtures.filter(({ family }) => family === 'chat-on-messages')
const streams = records.filter(({ events }) => events)
const named = (list: readonly Fixture[]) => list.map((record) => [record.name, record] as const)

// In nano-dollars: 1,000 for an input token, 100 for a cached one, 1,250 for one written to the cache, 2,000 for an output token.
const recorded: ModelConfig = {
  family: 'anthropic-messages',
  upstream: 'recorded',
  upstreamModel: 'any',
  price: {
    per_1m_input_tokens: '1',
    per_1m_cached_input_tokens: '0.1',
    per_1m_cache_write_tokens: '1.25',
    per_1m_output_tokens: '2',
  },
}

let vendor: RecordedVendor
let gateway: TestGateway

beforeAll(async () => {
  vendor = startRecordedVendor()
  gateway = await startTestGateway({
    models: {
      recorded,
      // Without a configured limit: that of the model known by its name.
      'test-long-messages': testModels['test-messages'] as ModelConfig,
      'test-unknown-messages': {
        ...(testModels['test-messages'] as ModelConfig),
        upstreamModel: 'claude-3-sonnet-20240229',
      },
      'recorded-thinker': { ...recorded, reasoning: true },
      // A vendor's own dialect is never translated.
      bilingual: { ...recorded, family: ['openai-chat', 'anthropic-messages'] },
    },
    upstreams: { recorded: { kind: 'anthropic', baseUrl: vendor.url, apiKey: 'none' } },
  })
})

afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

/** The model as it serves chat completions. */
function bridgeOf(id: string): Model {
  const models = gateway.server.world.catalogue.models.get(id) ?? []
  return models.find(({ family }) => family.operation === 'chat') as Model
}

const askFor = (body: Json): ParsedRequest => ({ body, byteLength: 50, at: 1_770_000_000_000 })
const ask = askFor({ messages: say('Hi'), stream_options: { include_usage: true } })

/** A vendor's stream as the caller gets it, if it arrives in pieces that end at these offsets. */
function translated(
  text: string,
  cuts: readonly number[] = [],
  request = ask,
): { chunks: string; meter: StreamMeter } {
  const model = bridgeOf('recorded')
  const { family } = model
  if (family.kind !== 'made' || !family.stream) throw new Error('there is no translation')
  const translator = family.stream.translate(request, model)
  const meter = createTranslatingMeter(
    { model, hideUsage: true, judge: (usage) => usage, translateError: (json) => JSON.stringify(json) },
    translator,
  )
  return { chunks: metered(meter, Buffer.from(text), cuts), meter }
}

const textOf = (events: readonly unknown[]) =>
  [...events.map((event) => JSON.stringify(event)), STOP].map((data) => `data: ${data}\n\n`).join('')

/** Requests a completion, and returns the rows that the request created. */
async function request(body: Record<string, Json>, headers: Record<string, string> = {}) {
  const calls = gateway.sandbox.calls.length
  const before = await gateway.newest()
  const whole = { model: 'test-messages', max_tokens: 500, messages: say('Hi'), ...body }
  const response = await gateway.post('/v1/chat/completions', whole, headers)
  const text = await response.text()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  const id = response.headers.get('x-request-id')
  const chargeOf = () => gateway.charge(id)
  await waitFor(async () => (await chargeOf())?.state !== 'held')
  const showsUsage = (body.stream_options as Json)?.include_usage === true
  return {
    status: response.status,
    id,
    headers: response.headers,
    text,
    json: isStream ? undefined : (JSON.parse(text) as Json),
    // Interleaved candidates have their own tests.
    completion: isStream && !(Number(body.n) > 1) ? readChunks(text, showsUsage) : undefined,
    charge: (await chargeOf()) as Row,
    sent: gateway.sandbox.calls.slice(calls).map((call): Json => JSON.parse(call.body)),
    paths: gateway.sandbox.calls.slice(calls).map(({ path }) => path),
    charges: (await gateway.charges(before.charge)).length,
    logRows: await gateway.requestLog(before.logRow),
  }
}

describe('as recorded:', () => {
  test.each(named(records))('%s is translated to the recorded request and answer', async (_, record) => {
    const { request: body, sent, events, reply, answer } = record
    vendor.answer = events ? { events, end: STOP } : { reply }
    const response = await gateway.post('/v1/chat/completions', { model: 'recorded', ...body })
    expect(vendor.received).toEqual({ model: 'any', ...sent })
    const text = await response.text()
    const common = { model: 'recorded', created: expect.any(Number) }
    if (!events) {
      expect(JSON.parse(text)).toEqual({ ...answer, ...common })
      return
    }
    const { chunks, closed } = chunksOf(text)
    expect(chunks).toEqual(answer.map((chunk: Json) => ({ ...chunk, ...common })))
    expect(closed).toBe(true)
  })

  test.each(named(streams))('%s is the same wherever the network splits it', (_, { events = [] }) => {
    const text = textOf(events)
    const whole = translated(text).chunks
    readChunks(whole, true)
    const everywhere = Array.from({ length: Buffer.byteLength(text) }, (_, index) => index)
    expect(translated(text, everywhere).chunks).toBe(whole)
  })

  test('a stream request that the vendor answers with a whole reply is still a completion', async () => {
    const { request: body, reply, answer } = records.find(({ name }) => name === 'refusal') as Fixture
    vendor.answer = { reply }
    const { json, charge } = await request({ ...body, model: 'recorded', stream: true })
    expect(json).toEqual({ ...answer, model: 'recorded', created: expect.any(Number) })
    expect(charge).toMatchObject({ state: 'settled', usage_source: 'upstream', amount: 21_000 + 2_000 })
  })

  test('a stream with any one event missing still becomes a valid stream', () => {
    const { events = [] } = streams.find(({ name }) => name === 'stream-tools') as Fixture
    const end = events.length - 1
    for (const [gone, event] of events.entries()) {
      // A block that does not stop may continue next to the next one. Only the last is stopped by the end.
      if ((event as Json).type === 'content_block_stop' && gone < end - 1) continue
      const { finish } = readChunks(translated(textOf(events.toSpliced(gone, 1))).chunks, true)
      expect(finish).toBe('tool_calls')
    }
    expect(readChunks(translated(textOf([])).chunks, true)).toMatchObject({ answer: '', finish: 'stop' })
  })

  test('an answer that is not a message is a vendor failure, and free', async () => {
    for (const reply of [{}, { type: 'message', content: 'Hello' }, { ok: true }]) {
      vendor.answer = { reply }
      const { status, json, charge } = await request({ model: 'recorded' })
      expect({ status, code: json.error.code }).toEqual({ status: 502, code: 'upstream_empty' })
      expect(charge).toMatchObject({ state: 'released', amount: 0 })
    }
  })

  test('a null field counts as absent', async () => {
    const fields = [
      'stream',
      'temperature',
      'top_p',
      'max_completion_tokens',
      'stop',
      'tools',
      'tool_choice',
      'response_format',
      'parallel_tool_calls',
      'reasoning_effort',
      'user',
      'n',
      'stream_options',
    ]
    const { status, sent } = await request(Object.fromEntries(fields.map((field) => [field, null])))
    expect(status).toBe(200)
    expect(sent).toEqual([
      {
        model: 'claude-sonnet-4-5',
        max_tokens: 500,
        messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      },
    ])
  })

  test('without a caller’s limit, the answer may reach the model’s limit, and the hold is not larger', async () => {
    const body = { messages: say('[sandbox tokens=5000] Hello!'), max_tokens: null }
    const usual = await request({ ...body, model: 'test-long-messages', max_tokens: 4_096 })
    const cut = await request({ ...body, model: 'test-unknown-messages' })
    expect(cut.sent[0].max_tokens).toBe(bridgeOf('test-unknown-messages').reserveOutputTokens)
    expect(cut.json.choices[0].finish_reason).toBe('length')
    const { sent, json, charge } = await request({ ...body, model: 'test-long-messages' })
    expect(sent[0].max_tokens).toBe(64_000)
    expect(json.choices[0].finish_reason).toBe('stop')
    expect(json.usage.completion_tokens).toBe(5_000)
    // The cost beyond the usual hold was held before the delivery.
    expect(charge?.held).toBe(Math.max(Number(charge?.amount), Number(usual.charge?.held)))
    expect(Number(charge?.amount)).toBeGreaterThanOrEqual(5_000 * 2_000)
    // The caller's own limit has precedence.
    const answer = await request({ ...body, model: 'test-long-messages', max_completion_tokens: 70 })
    expect(answer.sent[0].max_tokens).toBe(70)
  })

  test('every messages model of the catalogue has an output limit', () => {
    const spoken: [string, Partial<ModelConfig>][] = Object.entries(shipped.models)
    const native = spoken.filter(([, { family }]) => [family].flat().includes('anthropic-messages'))
    expect(native.length).toBeGreaterThan(4)
    for (const [
      id,
      { upstreamModel = id, maxOutputTokens = knownModel(upstreamModel)?.maxOutputTokens },
    ] of native)
      expect({ id, most: maxOutputTokens ?? 0 }).toEqual({ id, most: id.includes('4-5') ? 64_000 : 128_000 })
  })

  test('a thinking model gets no sampling fields', async () => {
    vendor.answer = { reply: records.find(({ name }) => name === 'refusal')?.reply }
    await request({ model: 'recorded-thinker', temperature: 0.2, top_p: 0.3 })
    expect(Object.keys(vendor.received as object)).toEqual(['model', 'max_tokens', 'messages'])
  })

  test('a temperature above the maximum of messages becomes the maximum, which is the default', async () => {
    for (const temperature of [1, 1.5, 2])
      expect((await request({ temperature })).sent[0]).not.toHaveProperty('temperature')
    expect((await request({ temperature: 0, top_p: 0.5 })).sent[0]).toMatchObject({ temperature: 0 })
  })

  test('a model with chat completions gets chat completions', () => {
    expect(bridgeOf('bilingual').family.name).toBe('openai-chat')
    expect(bridgeOf('recorded').family.name).toBe('chat-on-messages')
  })
})

describe(`random streams (CHAT_SEED=${seed})`, () => {
  test('have the same text, calls and cost after translation', () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(1_000); round++) {
      const stream = messageStream(random)
      const { chunks, meter } = translated(stream.text)
      try {
        expectSame(stream, chunks)
        expect(meter.isComplete()).toBe(true)
        expect(meter.failure()).toBeUndefined()
        const { input, cached, written, output } = stream.usage
        expect(meter.outcome('done').usage).toMatchObject({
          input_token: input,
          cached_input_token: cached,
          cache_write_token: written,
          output_token: output,
        })
      } catch (error) {
        throw new Error(`round ${round}: ${error}\n${stream.text}`)
      }
    }
  })

  test('are the same wherever the network splits them', () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(200); round++) {
      const { text } = messageStream(random)
      const bytes = Buffer.byteLength(text)
      const cuts = Array.from({ length: 1 + random.below(40) }, () => random.below(bytes))
      expect(translated(text, cuts).chunks).toBe(translated(text).chunks)
    }
  })

  test('that break off anywhere are an incomplete beginning of the whole', () => {
    const random = createRandom(seed)
    let broken = 0
    for (let round = 0; round < casesOf(300); round++) {
      const { text } = messageStream(random)
      const { chunks, meter } = translated(text.slice(0, random.below(text.length)))
      expect(translated(text).chunks).toStartWith(chunks)
      if (meter.isComplete()) continue
      broken++
      expect(chunksOf(chunks).closed).toBe(false)
      // The gateway's own end of the stream.
      readChunks(`${chunks}data: {"error":{}}\n\n`, true)
    }
    expect(broken).toBeGreaterThan(casesOf(200))
  })
})

function expectSame({ thinking, answer, calls, finish, usage }: GeneratedMessage, chunks: string): void {
  const prompt = usage.input + usage.cached + usage.written
  expect(readChunks(chunks, true)).toEqual({
    id: 'chatcmpl-7',
    model: 'recorded',
    thinking,
    answer,
    calls,
    finish,
    usage: {
      prompt_tokens: prompt,
      completion_tokens: usage.output,
      total_tokens: prompt + usage.output,
      prompt_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.written },
      completion_tokens_details: { reasoning_tokens: usage.thinking },
    },
    error: undefined,
  })
}

describe('the reader of these tests rejects', () => {
  const head = { id: 'a', object: 'chat.completion.chunk', created: 1, model: 'm' }
  const chunk = (delta: Json, finish: string | null = null): Json => ({
    ...head,
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }],
  })
  const call = (fields: Json) => chunk({ tool_calls: [fields] })
  const [start, word, end] = [
    chunk({ role: 'assistant', content: '' }),
    chunk({ content: 'a' }),
    chunk({}, 'stop'),
  ]
  const begun = call({ index: 0, id: 'c', type: 'function', function: { name: 'f', arguments: '' } })
  const figures = { ...head, choices: [], usage: {} }
  const streamOf = (chunks: Json[]) =>
    [...chunks.map((each) => JSON.stringify(each)), '[DONE]'].map((data) => `data: ${data}\n\n`).join('')

  test('no correct stream', () => {
    const more = call({ index: 0, function: { arguments: '{}' } })
    expect(readChunks(streamOf([start, word, begun, more, end]), false)).toMatchObject({
      answer: 'a',
      calls: [{ id: 'c', name: 'f', arguments: '{}' }],
      finish: 'stop',
    })
  })

  test.each([
    ['no role', [word, end]],
    ['two roles', [start, start, end]],
    ['no end', [start, word]],
    ['two ends', [start, end, end]],
    ['a word after the end', [start, end, word]],
    ['an empty piece', [start, chunk({ content: '' }), end]],
    ['another id', [start, { ...word, id: 'b' }, end]],
    ['a piece of a call that has not begun', [start, call({ index: 0, function: { arguments: '{}' } }), end]],
    ['a call that begins twice', [start, begun, begun, end]],
    ['a gap between calls', [start, call({ ...begun.choices[0].delta.tool_calls[0], index: 1 }), end]],
    ['usage that was not requested', [start, end, figures]],
  ])('%s', (_, chunks) => expect(() => readChunks(streamOf(chunks), false)).toThrow())

  test('a stream that is not closed, and missing usage', () => {
    expect(() => readChunks(streamOf([start, end]).replace('data: [DONE]\n\n', ''), false)).toThrow(
      'not closed',
    )
    expect(() => readChunks(streamOf([start, end]), true)).toThrow('no figures')
  })
})

const city = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const tools = ['get_weather', 'get_time'].map((name) => ({
  type: 'function' as const,
  function: { name, description: `The ${name.slice(4)} of a city`, parameters: city },
}))

describe('a conversation with two calls at once', () => {
  test.each([true, false])('with their results (stream: %p)', async (stream) => {
    const question = say('[sandbox tool=2 reasoning=6] What is it like there?')
    const first = await request({ stream, tools, messages: question })
    const message = messageOf(first)
    expect(message.finish).toBe('tool_calls')
    expect(message.thinking).not.toBe('')
    expect(message.calls.map(({ name }) => name)).toEqual(['get_weather', 'get_time'])
    expect(new Set(message.calls.map(({ id }) => id)).size).toBe(2)
    for (const { arguments: text } of message.calls)
      expect(JSON.parse(text)).toEqual({ city: expect.any(String) })

    const toolCalls = message.calls.map(({ id, ...called }) => ({ id, type: 'function', function: called }))
    const results = message.calls.map(({ id, name }) => ({
      role: 'tool',
      tool_call_id: id,
      content: `${name} is fine`,
    }))
    const messages = [...question, { role: 'assistant', content: null, tool_calls: toolCalls }, ...results]
    const second = await request({ stream, tools, messages })
    expect(second.sent[0].messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: question[0]?.content }] },
      {
        role: 'assistant',
        content: message.calls.map(({ id, name, arguments: text }) => ({
          type: 'tool_use',
          id,
          name,
          input: JSON.parse(text),
        })),
      },
      {
        role: 'user',
        content: message.calls.map(({ id, name }) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: [{ type: 'text', text: `${name} is fine` }],
        })),
      },
    ])
    expect(messageOf(second)).toMatchObject({
      finish: 'stop',
      calls: [],
      answer: expect.stringContaining('get_time is fine'),
    })
    for (const { charge, charges, logRows, paths } of [first, second]) {
      expect(charge).toMatchObject({
        state: 'settled',
        operation: 'chat',
        model: 'test-messages',
        usage_source: 'upstream',
      })
      expect({ charges, logRows: logRows.length, paths }).toEqual({
        charges: 1,
        logRows: 1,
        paths: ['/v1/messages'],
      })
    }
  })
})

type Answered = Awaited<ReturnType<typeof request>>

/** A translated answer, whole or streamed. */
function messageOf({ json, completion, text }: Answered) {
  if (completion) return completion
  const [choice] = json?.choices ?? []
  if (!choice) throw new Error(text)
  const { content, reasoning_content: thinking = '', tool_calls: calls = [] } = choice.message
  return {
    answer: content ?? '',
    thinking,
    calls: calls.map(({ id, function: called }: Json) => ({ id, ...called })) as {
      id: string
      name: string
      arguments: string
    }[],
    finish: choice.finish_reason as string,
  }
}

describe('several candidates', () => {
  test.each([2, 6])('%d are the same number of calls, one charge, and one row in the log', async (n) => {
    const { json, charge, charges, logRows, sent, headers } = await request({
      n,
      messages: say('[sandbox prompt_tokens=100 cached=30 written=20 tokens=10] Hi'),
    })
    expect(json.choices.map(({ index }: Json) => index)).toEqual(
      Array.from({ length: n }, (_, index) => index),
    )
    for (const { message } of json.choices) expect(message.content).toContain('You said: Hi')
    expect(json.usage).toMatchObject({
      prompt_tokens: n * 100,
      completion_tokens: n * 10,
      total_tokens: n * 110,
      prompt_tokens_details: { cached_tokens: n * 30, cache_write_tokens: n * 20 },
    })
    const amount = n * (50 * 1_000 + 30 * 100 + 20 * 1_250 + 10 * 2_000)
    expect(charge).toMatchObject({ state: 'settled', amount, usage_source: 'upstream' })
    expect(Number(charge.held)).toBeGreaterThanOrEqual(amount)
    expect({ charges, logRows: logRows.length, sent: sent.length }).toEqual({
      charges: 1,
      logRows: 1,
      sent: n,
    })
    expect(Number(headers.get('x-gateway-cost-usd'))).toBe(amount / 1e9)
    // Each request is for one message, because the dialect does not support more.
    for (const body of sent) expect(body).not.toHaveProperty('n')
  })

  test('of which one fails are an error, and free', async () => {
    const { status, json, charge } = await request({
      n: 3,
      messages: say('[sandbox status=500 times=1 one-of-three] Hi'),
    })
    expect({ status, code: json.error.code }).toEqual({ status: 502, code: 'upstream_error' })
    expect(charge).toMatchObject({ state: 'released', amount: 0 })
  })

  test('that all fail are not requested again', async () => {
    const { status, sent } = await request({ n: 100, messages: say('[sandbox status=429] Hi') })
    expect(status).toBe(429)
    expect(sent.length).toBeLessThanOrEqual(4)
  })

  test('are held, each with its own input', async () => {
    const [one, five] = [await request({ n: 1 }), await request({ n: 5 })]
    // A digit more or less is the same number of bytes.
    expect(five.charge.held).toBe(5 * Number(one.charge.held))
  })

  /** The chunks of each candidate of a stream, and the other members of the chunk. */
  async function streamed(body: Record<string, unknown>) {
    const played = await request({ n: 3, stream: true, stream_options: { include_usage: true }, ...body })
    const events = [...played.text.matchAll(/^data: (.*)$/gm)].map(([, data = '']) => data)
    const chunks = events.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data))
    const of = (index: number) =>
      chunks.flatMap(({ choices }) => choices ?? []).filter((choice) => choice.index === index)
    return { ...played, events, chunks, of }
  }

  test('are streamed concurrently, each with its index, and charged as one answer', async () => {
    const { events, chunks, of, status, sent, charge, charges, logRows } = await streamed({
      messages: say('[sandbox tokens=10 cached=30 written=20 prompt_tokens=100] Hi'),
    })
    expect({ status, sent: sent.length, charges, logRows: logRows.length }).toEqual({
      status: 200,
      sent: 3,
      charges: 1,
      logRows: 1,
    })
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1)
    expect(events.filter((data) => data === '[DONE]')).toHaveLength(1)
    expect(events.at(-1)).toBe('[DONE]')
    const texts = [0, 1, 2].map((index) => {
      const choices = of(index)
      expect(choices[0].delta.role).toBe('assistant')
      expect(choices.filter((choice) => choice.finish_reason !== null)).toHaveLength(1)
      expect(choices.at(-1).finish_reason).toBe('stop')
      return choices.map((choice) => choice.delta.content ?? '').join('')
    })
    expect(texts[0]).not.toBe('')
    expect(new Set(texts).size).toBe(1)
    const amount = 3 * (50 * 1_000 + 30 * 100 + 20 * 1_250 + 10 * 2_000)
    expect(charge).toMatchObject({ state: 'settled', amount, usage_source: 'upstream' })
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { prompt_tokens: 300, completion_tokens: 30 } })
    for (const body of sent) expect(body).toMatchObject({ stream: true })
  })

  test('of which one cannot begin are an error, and free', async () => {
    const { status, charge } = await request({
      n: 3,
      stream: true,
      messages: say('[sandbox status=500 times=1 one-stream-of-three] Hi'),
    })
    expect(status).toBe(502)
    expect(charge).toMatchObject({ state: 'released', amount: 0 })
  })

  test('of which one breaks off end with an error, and the delivered part is charged', async () => {
    const { events, charge } = await streamed({
      messages: say('[sandbox cut_after=6 times=1 tokens=40 one-cut-of-three] Hi'),
    })
    expect(events.join()).toContain('upstream_cut')
    expect(events).not.toContain('[DONE]')
    expect(charge).toMatchObject({ state: 'settled', ended_by: 'upstream' })
    expect(Number(charge.amount)).toBeGreaterThan(0)
  })

  test.each([false, true])('have usage that is checked as one sum, streamed: %p', async (stream) => {
    // Each alone is within the model's context, but the sum is more than one request can use.
    const { status, charge } = await request({
      n: 3,
      stream,
      messages: say('[sandbox prompt_tokens=100000 tokens=10] Hi'),
    })
    expect(status).toBe(200)
    expect(charge).toMatchObject({ state: 'settled', usage_source: 'estimated' })
    expect(Number(charge.amount)).toBeLessThan(100_000 * 1_000)
  })

  test('are limited to sixteen in a stream, with a clear error', async () => {
    const { status, json, sent, charges } = await request({ n: 17, stream: true })
    expect({ status, sent, charges }).toEqual({ status: 400, sent: [], charges: 0 })
    expect(json.error).toMatchObject({ param: 'n', message: expect.stringContaining('at most 16') })
  })
})

describe('an error', () => {
  const rows: [words: string, status: number, message: string][] = [
    ['status=400 error_text="An odd wish"', 400, 'An odd wish'],
    ['status=413 error_text="Too much"', 413, 'Too much'],
    ['status=429 retry_after=7 error_text="Slow down"', 429, 'Slow down'],
    ['status=529', 529, 'Overloaded'],
    ['status=401', 503, 'operator'],
    ['quota', 503, 'operator'],
    ['status=500 soft error_text="It broke"', 400, 'It broke'],
    ['garbage', 502, 'not JSON'],
  ]
  test.each(rows)('%s becomes one of chat completions, and is free', async (words, status, message) => {
    const { json, id, charge, sent, headers, ...answer } = await request({
      messages: say(`[sandbox ${words}] Hi`),
    })
    expect({ status: answer.status, text: answer.text }).toEqual({ status, text: answer.text })
    expect(json.error).toEqual({
      message: expect.stringContaining(message),
      type: expect.any(String),
      param: null,
      code: expect.any(String),
      request_id: id,
    })
    expect(charge).toMatchObject({ state: 'released', amount: 0 })
    expect(sent).toHaveLength(1)
    if (words.includes('retry_after')) expect(headers.get('retry-after')).toBe('7')
  })

  test('within a stream ends it with the vendor’s message, and the part before is charged', async () => {
    const answer = await request({ stream: true, messages: say('[sandbox error_after=6 tokens=40] Hi') })
    expect(answer.completion?.error).toEqual({
      message: 'Overloaded',
      type: 'overloaded_error',
      param: null,
      code: 'overloaded_error',
    })
    expect(answer.completion?.answer).not.toBe('')
    expect(answer.charge).toMatchObject({ state: 'settled', usage_source: 'counted' })
  })

  test('is the last event that a caller gets, whatever the vendor sends afterwards', () => {
    const { events = [] } = streams[0] as Fixture
    const broken = [...events.slice(0, 4), { type: 'error', error: { type: 'api_error', message: 'Out' } }]
    const { chunks, meter } = translated(textOf([...broken, ...events]))
    expect(readChunks(chunks, true).error).toMatchObject({ message: 'Out' })
    expect(meter.failure()).toBeDefined()
  })

  test('for a vendor that breaks off is a chunk too', async () => {
    const answer = await request({ stream: true, messages: say('[sandbox cut_after=6 tokens=40] Hi') })
    expect(answer.completion?.error).toMatchObject({
      code: 'upstream_cut',
      message: expect.stringContaining('stopped early'),
    })
  })

  test('a missing balance and a missing key are rejected in this form', async () => {
    const { secret } = await gateway.makeKey('poor', '0')
    const poor = await request({}, { authorization: `Bearer ${secret}` })
    expect(poor).toMatchObject({
      status: 402,
      sent: [],
      charges: 0,
      json: { error: { code: 'insufficient_balance' } },
    })
    const nobody = await request({}, { authorization: 'Bearer sk-wrong' })
    expect(nobody).toMatchObject({ status: 401, sent: [], json: { error: { code: 'invalid_api_key' } } })
  })
})

describe('a completion costs what the same message costs', () => {
  const words = [
    'tokens=20',
    'prompt_tokens=1000 cached=300 written=200 tokens=20',
    'reasoning=30 tokens=5',
    'empty',
    'refusal',
    'unknown tokens=20',
    'usage=missing tokens=20',
    'usage=negative tokens=20',
    'usage=string tokens=20',
    'usage=huge tokens=20',
    'usage=overflow tokens=20',
    'usage=nan tokens=20',
    'usage=late tokens=20',
    'no_done tokens=20',
    'cut_after=0 tokens=20',
    'cut_after=1 tokens=20',
    'cut_after=6 tokens=20',
    'error_after=1 tokens=20',
    'error_after=6 tokens=20',
    'garbage',
    'wide split crlf tokens=30',
  ]
  const rows = words.flatMap((word) => [true, false].map((stream) => [word, stream] as const))

  test.each(rows)('%s (stream: %p)', async (word, stream) => {
    const body = {
      model: 'test-messages',
      stream,
      max_tokens: 400,
      messages: say(`[sandbox ${word}] What is it?`),
    }
    const native = await gateway.post('/v1/messages', body)
    await native.text()
    const id = native.headers.get('x-request-id')
    const own = () => gateway.charge(id)
    await waitFor(async () => (await own())?.state !== 'held')
    const { charge } = await request(body)
    const [expected, got] = [(await own()) as Row, charge].map((row) => ({
      state: row.state,
      held: row.held,
      amount: row.amount,
      endedBy: row.ended_by,
      source: row.usage_source,
    }))
    expect(got).toEqual(expected)
    expect(Number(charge.held)).toBeGreaterThanOrEqual(Number(charge.amount))
  })

  test('by usage: input, cache reads, cache writes and output, each at its own price', async () => {
    for (const stream of [true, false]) {
      const content = '[sandbox prompt_tokens=1000 cached=300 written=200 tokens=20] Hi'
      const { charge } = await request({ stream, messages: say(content) })
      expect(charge.amount).toBe(500 * 1_000 + 300 * 100 + 200 * 1_250 + 20 * 2_000)
    }
  })

  test('and the caller gets the gateway’s count if the vendor counts nothing', async () => {
    const { json, charge } = await request({ messages: say('[sandbox usage=missing tokens=20] Hi') })
    const { prompt_tokens: input, completion_tokens: output } = json.usage
    expect(charge.usage_source).toBe('counted')
    expect(input * 1_000 + output * 2_000).toBe(Number(charge.amount))
    expect(output).toBeGreaterThan(0)
  })

  test('a caller who disconnects pays for the delivered part', async () => {
    const leaving = new AbortController()
    const response = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secret}` },
      body: JSON.stringify({
        model: 'test-messages',
        max_tokens: 400,
        stream: true,
        messages: say('[sandbox tokens=300 token_delay_ms=20] Hi'),
      }),
      signal: leaving.signal,
    })
    const reader = response.body?.getReader()
    let text = ''
    while (!text.includes('"content":"You'))
      text += Buffer.from((await reader?.read())?.value ?? []).toString()
    leaving.abort()
    const id = response.headers.get('x-request-id')
    const own = () => gateway.charge(id)
    await waitFor(async () => (await own())?.state !== 'held')
    const charge = (await own()) as Row
    expect(charge).toMatchObject({ state: 'settled', ended_by: 'client', usage_source: 'counted' })
    expect(Number(charge.amount)).toBeGreaterThan(0)
    expect(Number(charge.amount)).toBeLessThan(300 * 2_000)
  })
})

describe('the official SDK', () => {
  const connect = () => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })
  const model = 'test-messages'

  test('a completion', async () => {
    const completion = await connect().chat.completions.create({ model, messages: say('Hi there') })
    expect(completion).toMatchObject({ object: 'chat.completion', model })
    expect(completion.id).toStartWith('chatcmpl-')
    expect(completion.choices[0]).toMatchObject({ finish_reason: 'stop', message: { role: 'assistant' } })
    expect(completion.choices[0]?.message.content).toContain('You said: Hi there')
    expect(completion.usage?.completion_tokens).toBeGreaterThan(0)
    expect(completion._request_id).toMatch(/^req_/)
  })

  test.each([true, false])('a stream, with usage only if requested (%p)', async (wantsUsage) => {
    const stream = await connect().chat.completions.create({
      model,
      messages: say('[sandbox tokens=40] Hi'),
      stream: true,
      ...(wantsUsage ? { stream_options: { include_usage: true } } : {}),
    })
    const chunks: OpenAI.ChatCompletionChunk[] = []
    for await (const chunk of stream) chunks.push(chunk)
    expect(chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join('')).toStartWith('You said: Hi')
    expect(chunks.flatMap((chunk) => chunk.choices[0]?.finish_reason ?? [])).toEqual(['stop'])
    expect(chunks.flatMap((chunk) => chunk.usage?.completion_tokens ?? [])).toEqual(wantsUsage ? [40] : [])
  })

  test('the streaming helper: text, calls and usage', async () => {
    let heard = ''
    const stream = connect()
      .chat.completions.stream({
        model,
        messages: say('[sandbox wide split reasoning=9] Hi'),
        stream_options: { include_usage: true },
      })
      .on('content', (delta) => {
        heard += delta
      })
    const completion = await stream.finalChatCompletion()
    expect(completion.choices[0]?.message.content).toBe(heard)
    expect(heard).toContain('🎉')
    expect((await stream.totalUsage()).completion_tokens).toBeGreaterThan(9)

    const calling = connect().chat.completions.stream({ model, messages: say('[sandbox tool=2] Hi'), tools })
    const { choices } = await calling.finalChatCompletion()
    const calls = choices[0]?.message.tool_calls ?? []
    expect(calls.map((call) => call.type === 'function' && call.function.name)).toEqual([
      'get_weather',
      'get_time',
    ])
  })

  test('tools that it runs itself, streamed', async () => {
    const cities: string[] = []
    const runner = connect().chat.completions.runTools({
      model,
      stream: true,
      messages: say('[sandbox tool] How is it in Kyiv?'),
      tools: [
        {
          type: 'function',
          function: {
            name: 'get_weather',
            description: 'Weather of a city',
            parameters: city,
            parse: (text: string): { city: string } => JSON.parse(text),
            function: ({ city }: { city: string }) => {
              cities.push(city)
              return '19 degrees'
            },
          },
        },
      ],
    })
    expect(await runner.finalContent()).toContain('19 degrees')
    expect(cities).toHaveLength(1)
  })

  test('an answer that fits a schema', async () => {
    const completion = await connect().chat.completions.parse({
      model,
      messages: say('Which city?'),
      response_format: { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema: city } },
    })
    expect(completion.choices[0]?.message.parsed).toHaveProperty('city')
  })

  test('the errors that users catch', async () => {
    const caught = (words: string, stream = false) =>
      connect()
        .chat.completions.create({ model, stream, messages: say(`[sandbox ${words}] Hi`) })
        .then(async (answer) => {
          if (Symbol.asyncIterator in answer) for await (const _ of answer);
        })
        .catch((error: unknown) => error)
    expect(await caught('status=400 error_text="An odd wish"')).toBeInstanceOf(OpenAI.BadRequestError)
    expect(await caught('status=429')).toBeInstanceOf(OpenAI.RateLimitError)
    expect(await caught('status=500')).toBeInstanceOf(OpenAI.InternalServerError)
    expect(await caught('error_after=6 tokens=40', true)).toMatchObject({
      message: expect.stringContaining('Overloaded'),
    })
  })
})
