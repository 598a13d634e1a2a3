// Chat completions and messages served by models that are available only over responses: recordings, streams cut at any
// place, candidates, tool loops that keep their reasoning, and the official clients.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { ModelConfig } from '../../src/config/schema'
import type { Model, ParsedRequest } from '../../src/contract/family'
import { createTranslatingMeter } from '../../src/request/stream/translation'
import { chunksOf, readChunks } from '../support/answers/chat-chunks'
import { fixtures } from '../support/answers/fixtures'
import { readEvents } from '../support/answers/message-events'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import { createRandom, seedOf } from '../support/random'
import { metered } from '../support/relaying'
import type { Json } from '../support/scenario'
import { type RecordedVendor, startRecordedVendor } from '../support/vendors/recorded'

setDefaultTimeout(60_000)

const seed = seedOf('BEHIND_SEED')
const recorded: ModelConfig = {
  family: 'openai-responses',
  upstream: 'recorded',
  upstreamModel: 'any',
  price: { per_1m_input_tokens: '1', per_1m_cached_input_tokens: '0.1', per_1m_output_tokens: '2' },
}

let vendor: RecordedVendor
let gateway: TestGateway
let chat: OpenAI
let messages: Anthropic

beforeAll(async () => {
  vendor = startRecordedVendor()
  gateway = await startTestGateway({
    models: {
      recorded,
      words: { ...recorded, upstream: 'openai', upstreamModel: 'gpt-4.1-mini' },
      thinker: { ...recorded, upstream: 'openai', upstreamModel: 'gpt-5-mini', reasoning: true },
      bilingual: { ...recorded, family: ['openai-chat', 'openai-responses'] },
    },
    upstreams: { recorded: { kind: 'openai', baseUrl: vendor.url, apiKey: 'none' } },
    balance: '1000',
  })
  chat = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })
  messages = new Anthropic({ baseURL: gateway.url, authToken: gateway.secret, apiKey: null, maxRetries: 0 })
})

afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

const paths = { 'chat-on-responses': '/v1/chat/completions', 'messages-on-responses': '/v1/messages' }
const bridges = Object.entries(paths) as [keyof typeof paths, string][]

/** The model as it serves an operation. */
function bridgeOf(name: string, id = 'recorded'): Model {
  const models = gateway.server.world.catalogue.models.get(id) ?? []
  return models.find(({ family }) => family.name === name) as Model
}

/** The bodies that the vendor got after this number of calls. */
const sentSince = (calls: number): Json[] =>
  gateway.sandbox.calls.slice(calls).map(({ body }) => JSON.parse(body))

test.each([
  ['/v1/chat/completions', 'max_tokens'],
  ['/v1/chat/completions', 'max_completion_tokens'],
  ['/v1/messages', 'max_tokens'],
])(
  '%s with one token of %s requests and holds the vendor’s minimum number of tokens',
  async (path, field) => {
    for (const stream of [false, true]) {
      const calls = gateway.sandbox.calls.length
      const answered = await gateway.post(path, { model: 'words', messages: say('Hi'), [field]: 1, stream })
      expect({ status: answered.status, fault: answered.ok || (await answered.text()) }).toEqual({
        status: 200,
        fault: true,
      })
      await answered.text()
      expect(sentSince(calls)[0]?.max_output_tokens).toBe(16)
      const { amount, held } = (await gateway.newestCharge()) as Json
      expect(Number(held)).toBeGreaterThanOrEqual(16 * 2_000)
      expect(Number(amount)).toBeLessThanOrEqual(Number(held))
      expect(Number(amount)).toBeGreaterThan(0)
    }
  },
)

test('a model with two APIs is translated to the first one', () => {
  const forms = gateway.server.world.catalogue.models.get('bilingual') ?? []
  const names = forms.map(({ family }) => family.name)
  expect(names).toContain('openai-chat')
  expect(names).toContain('openai-responses')
  expect(names).toContain('messages-on-chat')
  expect(names).not.toContain('chat-on-responses')
  expect(names).not.toContain('messages-on-responses')
})

describe.each(bridges)('%s', (name, path) => {
  const records = fixtures.filter(({ family }) => family === name)

  test.each(records.filter(({ answer }) => answer).map((record) => [record.name, record] as const))(
    '%s is translated as recorded',
    async (_, { request, sent, reply, answer }) => {
      vendor.answer = { reply }
      const response = await gateway.post(path, { model: 'recorded', ...request })
      const json = (await response.json()) as Json
      expect(vendor.received).toEqual({ model: 'any', ...sent })
      const { created: _created, ...rest } = json
      expect(rest).toEqual({ ...answer, model: 'recorded' })
    },
  )

  /** A vendor's stream as the caller gets it, if it arrives in pieces that end at these offsets. */
  function translated(events: readonly Json[], cuts: readonly number[] = []): string {
    const model = bridgeOf(name)
    const { family } = model
    if (family.kind !== 'made' || !family.stream) throw new Error('there is no translation')
    const body = {
      messages: say('Hi'),
      max_tokens: 100,
      stream: true,
      stream_options: { include_usage: true },
    }
    const request: ParsedRequest = { body, byteLength: 50, at: 1_770_000_000_000 }
    const meter = createTranslatingMeter(
      { model, hideUsage: true, judge: (usage) => usage, translateError: (json) => JSON.stringify(json) },
      family.stream.translate(request, model),
    )
    const bytes = Buffer.from(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
    return metered(meter, bytes, cuts)
  }

  const read = (stream: string) => {
    if (name === 'messages-on-responses') {
      const { content, stopReason } = readEvents(stream)
      return JSON.stringify({ content, stopReason })
    }
    const { answer, thinking, calls, finish } = readChunks(stream, true)
    return JSON.stringify({ answer, thinking, calls, finish })
  }

  const streams = records.filter(({ events }) => events)
  test.each(streams.map((record) => [record.name, record] as const))(
    '%s is valid and the same wherever the network splits it',
    (_, { events = [] }) => {
      // Chat chunks can have custom tools, which the reader of these tests does not support.
      const known = events.filter(
        ({ output_index: place, item }) => !isCustom(item) && !(place === 1 && mixed(events)),
      )
      const whole = translated(known)
      read(whole)
      const length = Buffer.byteLength(known.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''))
      expect(
        translated(
          known,
          Array.from({ length }, (_, index) => index),
        ),
      ).toBe(whole)
    },
  )

  test('streams of any items in any order arrive complete and without repetitions', () => {
    const random = createRandom(seed)
    for (let round = 0; round < 300; round++) {
      const { events, content } = randomResponse(random)
      const stream = translated(events)
      const seen = seenBy(name, stream)
      expect({ round, ...seen }).toEqual({ round, ...content })
    }
  })
})

const isCustom = (item: Json) => item?.type === 'custom_tool_call'
const mixed = (events: readonly Json[]) => events.some(({ item }) => isCustom(item))

interface Content {
  answer: string
  thinking: string
  calls: { id: string; name: string; arguments: string }[]
}

/** A response of random items, whose events are in a random order that keeps the order within each item. */
function randomResponse(random: ReturnType<typeof createRandom>): { events: Json[]; content: Content } {
  const content: Content = { answer: '', thinking: '', calls: [] }
  const word = () => random.pick(['a', ' b', 'ä', '世', '🎉', '"', '\\', '\n'])
  const pieces = () => Array.from({ length: 1 + random.below(4) }, word)
  const lists = Array.from({ length: 1 + random.below(5) }, (_, place): Json[] => {
    const kind = random.pick(['message', 'reasoning', 'function_call'])
    const at = { output_index: place, item_id: `it_${place}` }
    const reported = random.chance(0.8) ? pieces() : []
    const whole = reported.length > 0 ? reported : pieces()
    const text = whole.join('')
    if (kind === 'message') {
      content.answer += text
      const part = { type: 'output_text', text, annotations: [] }
      return [
        {
          type: 'response.output_item.added',
          output_index: place,
          item: { type: kind, id: at.item_id, content: [] },
        },
        ...reported.map((delta) => ({ type: 'response.output_text.delta', ...at, content_index: 0, delta })),
        {
          type: 'response.output_item.done',
          output_index: place,
          item: { type: kind, id: at.item_id, content: [part] },
        },
      ]
    }
    if (kind === 'reasoning') {
      content.thinking += reported.join('')
      const summary = reported.length > 0 ? [{ type: 'summary_text', text }] : []
      const item = { type: kind, id: at.item_id, summary }
      return [
        { type: 'response.output_item.added', output_index: place, item: { ...item, summary: [] } },
        ...reported.map((delta) => ({
          type: 'response.reasoning_summary_text.delta',
          ...at,
          summary_index: 0,
          delta,
        })),
        { type: 'response.output_item.done', output_index: place, item },
      ]
    }
    const made = JSON.stringify({ text })
    const cuts = random.chance(0.8) ? [made.slice(0, 5), made.slice(5)] : []
    const call = { call_id: `call_${place}`, name: 'look' }
    content.calls.push({ id: call.call_id, name: call.name, arguments: made })
    const item = { type: kind, id: at.item_id, ...call, arguments: made }
    return [
      { type: 'response.output_item.added', output_index: place, item: { ...item, arguments: '' } },
      ...cuts.map((delta) => ({ type: 'response.function_call_arguments.delta', ...at, delta })),
      { type: 'response.output_item.done', output_index: place, item },
    ]
  })
  const isMixed = random.chance(0.5) && lists.every(([first]) => first.item.type === 'function_call')
  const events: Json[] = [{ type: 'response.created', response: { id: 'resp_1' } }]
  // Items are added in order.
  for (const list of lists) events.push(...(isMixed ? list.splice(0, 1) : list.splice(0)))
  while (lists.some((list) => list.length > 0)) {
    const list = random.pick(lists.filter((each) => each.length > 0))
    events.push(list.shift())
  }
  const usage = { input_tokens: 5, output_tokens: 7, total_tokens: 12 }
  events.push({
    type: 'response.completed',
    response: { id: 'resp_1', status: 'completed', output: [], usage },
  })
  return { events, content }
}

function seenBy(name: string, stream: string): Content {
  if (name === 'chat-on-responses') {
    const seen: Content = { answer: '', thinking: '', calls: [] }
    for (const { choices } of chunksOf(stream).chunks) {
      const {
        content = '',
        reasoning_content: thought = '',
        tool_calls: pieces = [],
      } = choices[0]?.delta ?? {}
      seen.answer += content
      seen.thinking += thought
      for (const { index, id, function: called } of pieces) {
        const known = seen.calls[index]
        if (known) known.arguments += called.arguments
        else seen.calls[index] = { id, ...called }
      }
    }
    return seen
  }
  const { content } = readEvents(stream)
  const join = (type: string, member: string) =>
    content.map((block) => (block.type === type ? block[member] : '')).join('')
  const calls = content.flatMap(({ type, id, name: called, arguments: text }) =>
    type === 'tool_use' ? [{ id, name: called, arguments: text }] : [],
  )
  return { answer: join('text', 'text'), thinking: join('thinking', 'thinking'), calls }
}

const schema = {
  type: 'object' as const,
  properties: { city: { type: 'string' } },
  required: ['city'],
}

describe('chat completions', () => {
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters: schema } }]

  test('the official client: text, a stream, candidates, an object and usage', async () => {
    const whole = await chat.chat.completions.create({
      model: 'words',
      messages: [{ role: 'user', content: 'Hi' }],
      n: 2,
    })
    expect(whole.choices.map(({ finish_reason: finish }) => finish)).toEqual(['stop', 'stop'])
    expect(whole.choices[1]?.message.content).toContain('You said: Hi')
    const stream = chat.chat.completions.stream({
      model: 'words',
      messages: [{ role: 'user', content: 'Hi' }],
      stream_options: { include_usage: true },
    })
    const streamed = await stream.finalChatCompletion()
    expect(streamed.choices[0]?.message.content).toBe(whole.choices[0]?.message.content as string)
    expect(streamed.usage?.completion_tokens).toBe((whole.usage?.completion_tokens as number) / 2)
    const { status, text } = await gateway
      .post('/v1/chat/completions', { model: 'words', messages: say('Hi'), n: 3, stream: true })
      .then(async (response) => ({ status: response.status, text: await response.text() }))
    expect(status).toBe(200)
    for (const index of [0, 1, 2])
      expect(text).toContain(
        `"choices":[{"index":${index},"delta":{},"logprobs":null,"finish_reason":"stop"}]`,
      )
    const format = { type: 'json_schema' as const, json_schema: { name: 'place', schema } }
    const object = await chat.chat.completions.create({
      model: 'words',
      messages: [{ role: 'user', content: 'Hi' }],
      response_format: format,
    })
    expect(JSON.parse(object.choices[0]?.message.content ?? '')).toHaveProperty('city')
  })

  test('a tool loop: the result refers to the id of the call', async () => {
    const question = { role: 'user' as const, content: 'The weather, please' }
    const first = await chat.chat.completions.create({ model: 'thinker', messages: [question], tools })
    const [choice] = first.choices
    expect(choice?.finish_reason).toBe('tool_calls')
    const call = choice?.message.tool_calls?.[0]
    expect(call?.id).toMatch(/^call_/)
    const calls = gateway.sandbox.calls.length
    const second = await chat.chat.completions.create({
      model: 'thinker',
      messages: [
        question,
        choice?.message as Json,
        { role: 'tool', tool_call_id: call?.id as string, content: 'Rain' },
      ],
      tools,
    })
    expect(second.choices[0]?.message.content).toContain('The tool answered: Rain')
    const [sent] = sentSince(calls)
    expect(sent.store).toBe(false)
    expect(sent).not.toHaveProperty('reasoning')
    expect(sent.tools[0]).toMatchObject({ type: 'function', name: 'weather', strict: false })
  })

  test('reasoning is returned on request, and a limit is respected', async () => {
    const ask = {
      model: 'thinker',
      messages: [{ role: 'user' as const, content: '[sandbox reasoning=9] Hi' }],
      reasoning_effort: 'low' as const,
    }
    const shown = { ...ask, include_reasoning: true }
    const { choices } = await chat.chat.completions.create(shown)
    expect((choices as Json)[0].message.reasoning_content).toContain('The user wants an answer')
    const [hidden] = (await chat.chat.completions.create(ask)).choices
    expect(hidden?.message).not.toHaveProperty('reasoning_content')
    const cut = await chat.chat.completions.create({
      model: 'words',
      messages: [{ role: 'user', content: '[sandbox tokens=90] Hi' }],
      max_tokens: 20,
    })
    expect(cut.choices[0]?.finish_reason).toBe('length')
  })

  test('log probabilities of the text', async () => {
    const response = await gateway.post('/v1/chat/completions', {
      model: 'words',
      messages: say('Hi'),
      logprobs: true,
      top_logprobs: 2,
    })
    expect(response.status).toBe(200)
    const [sent] = sentSince(gateway.sandbox.calls.length - 1)
    expect(sent).toMatchObject({ include: ['message.output_text.logprobs'], top_logprobs: 2 })
  })
})

describe('messages', () => {
  const tools = [{ name: 'weather', input_schema: schema }]
  const question = { role: 'user' as const, content: 'The weather, please' }
  const thinking = { type: 'enabled' as const, budget_tokens: 2_000, display: 'summarized' as const }

  test('a stream begins with an estimate of its input, and ends with the counted tokens', async () => {
    const prompt = say('How is the weather in the north of Norway in the middle of the winter?'.repeat(20))
    const stream = messages.messages.stream({ model: 'words', max_tokens: 300, messages: prompt })
    let first = 0
    stream.on('streamEvent', (event) => {
      if (event.type === 'message_start') first = event.message.usage.input_tokens
    })
    const { usage } = await stream.finalMessage()
    expect(usage.input_tokens).toBeGreaterThan(200)
    expect(first / usage.input_tokens).toBeWithin(0.7, 1.5)
  })

  test('the official client: text and a stream', async () => {
    const whole = await messages.messages.create({
      model: 'words',
      max_tokens: 500,
      messages: [{ role: 'user', content: 'Hi' }],
    })
    expect(whole).toMatchObject({ stop_reason: 'end_turn', content: [{ type: 'text' }] })
    const stream = messages.messages.stream({
      model: 'words',
      max_tokens: 500,
      messages: [{ role: 'user', content: 'Hi' }],
    })
    expect((await stream.finalMessage()).content as Json).toEqual(whole.content)
  })

  test.each([
    ['whole', false],
    ['streamed', true],
  ])('a tool loop keeps the model’s reasoning byte for byte: %s', async (_, isStream) => {
    const body = { model: 'thinker', max_tokens: 4_000, messages: [question], tools, thinking }
    const create = async (request: Json) =>
      isStream
        ? await messages.messages.stream(request).finalMessage()
        : await messages.messages.create(request)
    const first: Json = await create(body)
    expect(first.stop_reason).toBe('tool_use')
    expect(first.content.map(({ type }: Json) => type)).toEqual(['thinking', 'tool_use'])
    const [thought, use] = first.content
    expect(thought.signature).toMatch(/^gw1\./)
    const result = { type: 'tool_result', tool_use_id: use.id, content: 'Rain' }
    const next = {
      ...body,
      messages: [
        question,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [result] },
      ],
    }
    const calls = gateway.sandbox.calls.length
    expect(((await create(next)) as Json).content.at(-1).text).toContain('The tool answered: Rain')
    const [sent] = sentSince(calls)
    // The simulator rejects changed reasoning.
    expect(sent.input.map(({ type, role }: Json) => type ?? role)).toEqual([
      'user',
      'reasoning',
      'function_call',
      'function_call_output',
    ])
    expect(sent.input[1].id).toMatch(/^rs_/)
    expect(sent.input[1].summary).toEqual([{ type: 'summary_text', text: thought.thinking }])
    expect(sent.include).toEqual(['reasoning.encrypted_content'])
    expect(sent.reasoning).toEqual({ effort: 'low', summary: 'auto' })
  })

  test('changed reasoning is rejected with its place', async () => {
    const body = { model: 'thinker', max_tokens: 4_000, messages: [question], tools, thinking }
    const [block, use] = ((await messages.messages.create(body as Json)) as Json).content
    const signature: string = block.signature
    const other = signature.at(-9) === 'A' ? 'B' : 'A'
    const altered = { ...block, signature: signature.slice(0, -9) + other + signature.slice(-8) }
    const turn = [question, { role: 'assistant', content: [altered, use] }, { role: 'user', content: 'Rain' }]
    const calls = gateway.sandbox.calls.length
    for (const model of ['thinker', 'words', 'test-messages']) {
      const answered = await gateway.post('/v1/messages', { ...body, model, messages: turn })
      expect({ status: answered.status, json: await answered.json() }).toMatchObject({
        status: 400,
        json: {
          type: 'error',
          error: {
            type: 'invalid_request_error',
            message: expect.stringContaining('messages[1].content[0].signature'),
          },
        },
      })
    }
    expect(gateway.sandbox.calls.length).toBe(calls)
  })

  test('reasoning of another account, model, or vendor account is omitted', async () => {
    const body = { model: 'thinker', max_tokens: 4_000, messages: [question], tools, thinking }
    const first = (await messages.messages.create(body as Json)) as Json
    const [, use] = first.content
    const turn = (content: Json, text = 'Rain') => ({
      ...body,
      messages: [
        question,
        { role: 'assistant', content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: text }] },
      ],
    })
    const typesSent = async (request: Json, secret = gateway.secret) => {
      const calls = gateway.sandbox.calls.length
      const response = await gateway.post('/v1/messages', request, { authorization: `Bearer ${secret}` })
      expect(response.status).toBe(200)
      return sentSince(calls).map(({ input }) => input.map(({ type, role }: Json) => type ?? role))
    }
    const without = ['user', 'function_call', 'function_call_output']
    const { secret } = await gateway.makeKey('bob', '10')
    expect(await typesSent(turn(first.content), secret)).toEqual([without])
    expect(await typesSent({ ...turn(first.content), model: 'words' })).toEqual([without])
    const foreign = [{ type: 'thinking', thinking: 'Hm.', signature: 'EuYBCkQ=' }, use]
    expect(await typesSent(turn(foreign))).toEqual([without])
    // Reasoning whose turn was cut is not followed by an item.
    expect(
      await typesSent({
        ...body,
        messages: [question, { role: 'assistant', content: [first.content[0]] }, question],
      }),
    ).toEqual([['user']])
    const [refused, again] = await typesSent({ ...turn(first.content), system: '[sandbox account=2]' })
    expect(refused).toContain('reasoning')
    expect(again).toEqual(without)
  })

  test('a messages model that continues the conversation gets only reasoning that it has signed', async () => {
    const body = { model: 'thinker', max_tokens: 4_000, messages: [question], tools, thinking }
    const first = (await messages.messages.create(body as Json)) as Json
    const [, use] = first.content
    const own = { type: 'thinking', thinking: 'Hm.', signature: 'EuYBCkQ=' }
    const result = { type: 'tool_result', tool_use_id: use.id, content: 'Rain' }
    const turns = (content: Json) => [
      question,
      { role: 'assistant', content },
      { role: 'user', content: [result] },
    ]
    const model = 'test-messages'
    const calls = gateway.sandbox.calls.length
    const unsigned = { type: 'thinking', thinking: 'A chat model thought so.', signature: '' }
    for (const content of [first.content, [own, use], [unsigned, use]]) {
      const response = await gateway.post('/v1/messages', { ...body, model, messages: turns(content) })
      expect(response.status).toBe(200)
    }
    const sent = sentSince(calls)
    expect(sent[0].messages).toEqual(turns([use]))
    expect(sent[1].messages).toEqual(turns([own, use]))
    expect(sent[2].messages).toEqual(turns([use]))
  })

  test('a call after a text ends with tool use, and a limit with its own reason', async () => {
    vendor.answer = {
      reply: {
        id: 'resp_1',
        status: 'completed',
        output: [
          { type: 'function_call', call_id: 'call_1', name: 'weather', arguments: '{}' },
          { type: 'message', content: [{ type: 'output_text', text: 'Then I go on.' }] },
        ],
        usage: { input_tokens: 5, output_tokens: 7, total_tokens: 12 },
      },
    }
    const ask = { model: 'recorded', max_tokens: 100, messages: [question], tools }
    expect(await messages.messages.create(ask)).toMatchObject({ stop_reason: 'tool_use' })
    const cut = await messages.messages.create({
      model: 'words',
      max_tokens: 20,
      messages: [{ role: 'user', content: '[sandbox tokens=90] Hi' }],
    })
    expect(cut.stop_reason).toBe('max_tokens')
  })
})
