// Responses translated from messages: streams in the styles of many servers, whole replies, thinking that comes back, and what the
// official client makes of them.

import { describe, expect, test } from 'bun:test'
import { readMessage, readMessageEvent } from '../../src/families/messages/caller-side'
import { openReasoning } from '../../src/families/sealed-reasoning'
import { GatewayError } from '../../src/lib/errors'
import { objectIn } from '../../src/lib/sse'
import { messageStream } from '../support/answers/message-streams'
import {
  bridgedModel,
  openSeals,
  responseOf,
  responseStream,
  responsesRequest,
  translatorOf,
} from '../support/answers/response-bridges'
import { outlineOf, type ReadResponse, readResponse } from '../support/answers/response-events'
import { accumulatedResponse } from '../support/answers/response-reader'
import { casesOf, createRandom, interleavings, MIXTURE_STEP, type Random, seedOf } from '../support/random'
import type { Json } from '../support/scenario'

const seed = seedOf('RESPONSES_SEED')
const model = bridgedModel('messages', 'claude-opus-5')

const translated = (text: string, cuts: readonly number[] = [], body: Json = {}) =>
  responseStream(model, responsesRequest(body), text, cuts)

/** The blocks of a stream: what begins each, and its deltas. */
type StreamedBlock = [start: Json, ...deltas: Json[]]

const textDelta = (text: string) => ({ type: 'text_delta', text })
const thought = (thinking: string) => ({ type: 'thinking_delta', thinking })
const signed = (signature: string) => ({ type: 'signature_delta', signature })
const argued = (partial_json: string) => ({ type: 'input_json_delta', partial_json })
const text = { type: 'text', text: '' }
const thinking = { type: 'thinking', thinking: '', signature: '' }
const use = { type: 'tool_use', id: 'toolu_1', name: 'f', input: {} }

function eventsOf(blocks: readonly StreamedBlock[], end: Json = {}): Json[] {
  const { usage, ...delta } = { stop_reason: 'end_turn', usage: { output_tokens: 7 }, ...end }
  return [
    { type: 'message_start', message: { id: 'msg_1', usage: { input_tokens: 5, output_tokens: 1 } } },
    ...blocks.flatMap(([block, ...deltas], index) => [
      { type: 'content_block_start', index, content_block: block },
      ...deltas.map((each) => ({ type: 'content_block_delta', index, delta: each })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta, usage },
    { type: 'message_stop' },
  ]
}

const streamOf = (events: readonly Json[]) =>
  events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')

const readBlocks = (blocks: readonly StreamedBlock[], end?: Json, body?: Json) =>
  readResponse(translated(streamOf(eventsOf(blocks, end)), [], body).events)

/** The sealed blocks in an item of reasoning. */
function sealedIn({ encrypted_content: sealed }: Json): Json {
  const opened = sealed && openReasoning(responsesRequest(), model, sealed)
  return opened?.kind === 'messages' ? opened.blocks : undefined
}

describe(`random streams of messages (RESPONSES_SEED=${seed})`, () => {
  test('have the same text, calls and cost as a response', () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(1_000); round++) {
      const stream = messageStream(random)
      const { events, meter, answer } = translated(stream.text)
      try {
        const read = readResponse(events)
        expectSame(stream, read)
        expect(answer).toEqual(read.response)
        expect(meter.isComplete()).toBe(true)
      } catch (error) {
        throw new Error(`round ${round}: ${error}\n${stream.text}\n${events}`)
      }
    }
  })

  test('are the same wherever the network splits them', () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(200); round++) {
      const { text } = messageStream(random)
      const bytes = Buffer.byteLength(text)
      const cuts = Array.from({ length: 1 + random.below(40) }, () => random.below(bytes))
      expect(translated(text, cuts).events).toBe(translated(text).events)
    }
  })

  test('that break off anywhere fail with everything that arrived, without repetitions', () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(300); round++) {
      const { text } = messageStream(random)
      const translator = translatorOf(responsesRequest(), model)
      let events = ''
      for (const line of text.slice(0, random.below(text.length)).split(/\r?\n/)) {
        const event = line.startsWith('data: ') ? objectIn(line.slice(6)) : undefined
        if (event) events += translator.push(event, 0, readMessageEvent(event))
      }
      const late = random.chance(0.5)
      events += late
        ? translator.cut({})
        : translator.fail?.(new GatewayError(502, { code: 'upstream_cut', message: 'It broke off.' }))
      const { response, items, deltas } = readResponse(events)
      expect(response.status).toBe(late ? 'incomplete' : 'failed')
      for (const [place, item] of response.output.entries()) {
        if (!items[place] && item.type !== 'reasoning') expect(item.status).toMatch(/completed|incomplete/)
        if (item.type === 'function_call') expect(item.arguments).toBe(deltas[place])
      }
    }
  })

  test('are to the official client what they say they are', async () => {
    const random = createRandom(seed)
    for (let round = 0; round < 60; round++) {
      const { response, events } = readResponse(translated(messageStream(random).text).events)
      expect(await accumulatedResponse(events)).toMatchObject(response)
    }
  })

  test('give the same response as whole messages', () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(300); round++) {
      const { content, blocks } = contentInPieces(random)
      const end = {
        stop_reason: random.pick(['end_turn', 'tool_use', 'max_tokens', 'refusal']),
        stop_details: random.pick([null, { type: 'refusal', explanation: 'I would rather not.' }]),
      }
      const figures = {
        input_tokens: 5,
        cache_read_input_tokens: 3,
        output_tokens: 7,
        service_tier: 'priority',
      }
      const message = { id: 'msg_1', type: 'message', role: 'assistant', content, ...end, usage: figures }
      const usage = readMessage(message, { body: {}, byteLength: 9, at: 1 }).usage?.figures
      if (!usage || usage === 'invalid') throw new Error('no figures')
      const { answer } = translated(streamOf(eventsOf(blocks, { ...end, usage: figures })))
      expect(responseOf(message, responsesRequest(), model, usage)).toEqual(answer)
    }
  })
})

/** The content of a message, and the same in pieces. */
function contentInPieces(random: Random): { content: Json[]; blocks: StreamedBlock[] } {
  const words = () => Array.from({ length: random.below(4) }, () => random.pick(['a', '世', '\n', '🎉', '"']))
  const all = Array.from({ length: random.below(6) }, (_, index): { block: Json; pieces: StreamedBlock } => {
    const pieces = words()
    const whole = pieces.join('')
    switch (random.below(4)) {
      case 0:
        return { block: { ...text, text: whole }, pieces: [text, ...pieces.map(textDelta)] }
      case 1:
        return {
          block: { ...thinking, thinking: whole, signature: `sig${index}` },
          pieces: [thinking, ...pieces.map(thought), signed(`sig${index}`)],
        }
      case 2:
        return {
          block: { type: 'redacted_thinking', data: `data${index}` },
          pieces: [{ type: 'redacted_thinking', data: `data${index}` }],
        }
      default: {
        const input = random.pick([{}, { a: whole }])
        const call = { ...use, id: `toolu_${index}` }
        const json = JSON.stringify(input)
        return { block: { ...call, input }, pieces: [call, argued(json.slice(0, 1)), argued(json.slice(1))] }
      }
    }
  })
  // The input of a whole call that is empty, and the last, may have been cut off: no piece of it came.
  const last = all.at(-1)
  if (last?.block.type === 'tool_use') last.block.input = { a: 1 }
  if (last?.block.type === 'tool_use') last.pieces.splice(1, 2, argued('{"a":1}'))
  return { content: all.map(({ block }) => block), blocks: all.map(({ pieces }) => pieces) }
}

function expectSame(
  stream: ReturnType<typeof messageStream>,
  { response, items, deltas }: ReadResponse,
): void {
  const { thinking, answer, calls, finish, usage } = stream
  const refusal = finish === 'content_filter' ? 'The model declined to answer.' : ''
  const textOf = (type: string) => items.flatMap((item, place) => (item.type === type ? [deltas[place]] : []))
  expect(textOf('reasoning').join('')).toBe(thinking)
  expect(textOf('message').join('')).toBe(answer + refusal)
  const sealed = items.flatMap((item) => (item.type === 'reasoning' ? sealedIn(item) : []))
  expect(sealed.map((block) => block.thinking ?? '').join('')).toBe(thinking)
  for (const block of sealed) expect(block.signature ?? block.redacted).toMatch(/^(EuYB|c2VjcmV0)$/)
  const made = items.filter(({ type }) => type === 'function_call')
  const isCut = finish === 'length'
  expect(made.map(({ call_id, name, arguments: text }) => ({ id: call_id, name, arguments: text }))).toEqual(
    calls.map((call, index) => {
      const isLast = index === calls.length - 1 && items.at(-1)?.type === 'function_call'
      // Nothing of these arguments came, and the answer was cut there.
      const isUnsure = isCut && isLast && call.arguments === '{}'
      return { ...call, arguments: isUnsure ? expect.stringMatching(/^(\{\})?$/) : call.arguments }
    }),
  )
  expect(response.status).toBe(isCut ? 'incomplete' : 'completed')
  expect(response.incomplete_details).toEqual(isCut ? { reason: 'max_output_tokens' } : null)
  const input = usage.input + usage.cached + usage.written
  expect(response.usage).toEqual({
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cached, cache_write_tokens: usage.written },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.thinking },
    total_tokens: input + usage.output,
  })
}

describe('blocks are items, one for one:', () => {
  const rows: [name: string, blocks: StreamedBlock[], outline: string[]][] = [
    ['nothing at all', [], ['completed']],
    ['an empty text', [[text]], ['completed']],
    [
      'two texts',
      [[text, textDelta('a'), textDelta('b')], [{ ...text, text: 'c' }]],
      [
        '0 + message',
        '0 : a',
        '0 : b',
        '0 - completed',
        '1 + message',
        '1 : c',
        '1 - completed',
        'completed',
      ],
    ],
    [
      'thinking, text and calls',
      [
        [thinking, thought('Hm'), signed('s')],
        [text, textDelta('a')],
        [use, argued('{"a"'), argued(':1}')],
        [{ ...use, id: 'toolu_2' }, argued('{}')],
      ],
      [
        ...['0 + reasoning', '0 : Hm', '0 - completed', '1 + message', '1 : a', '1 - completed'],
        ...['2 + function_call', '2 : {"a"', '2 : :1}', '2 - completed'],
        ...['3 + function_call', '3 : {}', '3 - completed', 'completed'],
      ],
    ],
    [
      'thinking between calls',
      [[use, argued('{}')], [thinking, thought('Hm'), signed('s')], [{ ...use, id: 'toolu_2' }]],
      [
        ...['0 + function_call', '0 : {}', '0 - completed', '1 + reasoning', '1 : Hm', '1 - completed'],
        ...['2 + function_call', '2 : {}', '2 - completed', 'completed'],
      ],
    ],
    [
      'an input that comes whole at the start',
      [[{ ...use, input: { a: 1 } }, argued('')]],
      ['0 + function_call', '0 : {"a":1}', '0 - completed', 'completed'],
    ],
    [
      'an input that pieces replace',
      [[{ ...use, input: { a: 1 } }, argued('{"a":'), argued('1}')]],
      ['0 + function_call', '0 : {"a":', '0 : 1}', '0 - completed', 'completed'],
    ],
    [
      'a call without arguments, and text after it',
      [[use], [text, textDelta('a')]],
      ['0 + function_call', '0 : {}', '0 - completed', '1 + message', '1 : a', '1 - completed', 'completed'],
    ],
    [
      'blocks of the vendor alone are left out',
      [
        [{ type: 'server_tool_use', id: 's', name: 'n', input: {} }, argued('{"a":1}')],
        [text, textDelta('a')],
      ],
      ['0 + message', '0 : a', '0 - completed', 'completed'],
    ],
  ]
  test.each(rows)('%s', async (_, blocks, outline) => {
    const { events, response } = readBlocks(blocks)
    expect(outlineOf(events)).toEqual(outline)
    expect(await accumulatedResponse(events)).toMatchObject(response)
  })

  test('blocks that overlap lose nothing', () => {
    const events = eventsOf([])
    events.splice(
      1,
      0,
      { type: 'content_block_start', index: 0, content_block: use },
      { type: 'content_block_start', index: 1, content_block: text },
      { type: 'content_block_delta', index: 0, delta: argued('{"a"') },
      { type: 'content_block_delta', index: 1, delta: textDelta('b') },
      { type: 'content_block_delta', index: 0, delta: argued(':1}') },
    )
    const { items } = readResponse(translated(streamOf(events)).events)
    expect(items).toMatchObject([{ arguments: '{"a":1}' }, { content: [{ text: 'b' }] }])
  })

  test('blocks in any mixture keep all of each', () => {
    const lists = [
      [text, textDelta('a'), textDelta('b')],
      [{ ...use, id: 'toolu_1' }, argued('{"a"'), argued(':1}')],
      [{ ...use, id: 'toolu_2' }, argued('{}')],
    ].map(([block, ...deltas], index) => [
      { type: 'content_block_start', index, content_block: block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ])
    const mixed = interleavings<Json>(lists)
    expect(mixed).toHaveLength(11_550)
    for (let index = seed % MIXTURE_STEP; index < mixed.length; index += MIXTURE_STEP) {
      const blocks = mixed[index] as Json[]
      const events = eventsOf([])
      const { items, deltas } = readResponse(translated(streamOf(events.toSpliced(1, 0, ...blocks))).events)
      const filled = new Map(items.map((item) => [item.call_id, item.arguments]))
      expect([filled.get('toolu_1'), filled.get('toolu_2')]).toEqual(['{"a":1}', '{}'])
      const texts = items.flatMap(({ type }, place) => (type === 'message' ? [deltas[place]] : []))
      expect(texts.join('')).toBe('ab')
    }
  })

  test('content that comes with the start of the message is kept', () => {
    const [start, ...rest] = eventsOf([])
    const content = [
      { type: 'text', text: 'a' },
      { ...use, input: { a: 1 } },
    ]
    const { items } = readResponse(
      translated(streamOf([{ ...start, message: { ...start.message, content } }, ...rest])).events,
    )
    expect(items).toMatchObject([{ content: [{ text: 'a' }] }, { arguments: '{"a":1}' }])
  })
})

describe('thinking comes back', () => {
  test('sealed with its signature, when its item is done and not before (codex/8145, litellm/11302)', () => {
    const { events, items } = readBlocks([
      [thinking, thought('a'), thought('b'), signed('s1'), signed('s2')],
      [text, textDelta('c')],
    ])
    expect(items[0]).toEqual({
      type: 'reasoning',
      id: expect.stringMatching(/^rs_/),
      status: 'completed',
      summary: [{ type: 'summary_text', text: 'ab' }],
      encrypted_content: `sealed ${JSON.stringify({ kind: 'messages', blocks: [{ thinking: 'ab', signature: 's1s2' }], writer: 'claude-opus-5' })}`,
    })
    const having = events.filter((event) => JSON.stringify(event).includes('encrypted_content'))
    expect(having.map(({ type }) => type)).toEqual(['response.output_item.done', 'response.completed'])
  })

  test('as one item of a run, with a part for each block that is shown', () => {
    const { items } = readBlocks([
      [thinking, thought('a'), signed('s1')],
      [{ type: 'redacted_thinking', data: 'r' }],
      [thinking, signed('s2')],
      [thinking, thought('b'), signed('s3')],
      [text, textDelta('c')],
      [thinking, thought('d'), signed('s4')],
    ])
    expect(items.map(({ type }) => type)).toEqual(['reasoning', 'message', 'reasoning'])
    expect(items[0]?.summary.map((part: Json) => part.text)).toEqual(['a', 'b'])
    expect(items.map((item) => sealedIn(item))).toEqual([
      [
        { thinking: 'a', signature: 's1' },
        { redacted: 'r' },
        { thinking: '', signature: 's2' },
        { thinking: 'b', signature: 's3' },
      ],
      undefined,
      [{ thinking: 'd', signature: 's4' }],
    ])
  })

  test('hidden, where the vendor shows none', () => {
    const { items, events } = readBlocks([
      [thinking, signed('s')],
      [text, textDelta('c')],
    ])
    expect(items[0]?.summary).toEqual([])
    expect(sealedIn(items[0])).toEqual([{ thinking: '', signature: 's' }])
    expect(outlineOf(events).slice(0, 2)).toEqual(['0 + reasoning', '0 - completed'])
  })

  test('without a seal, where the vendor did not sign it', () => {
    const { items } = readBlocks([
      [thinking, thought('a')],
      [text, textDelta('b')],
    ])
    expect(items[0]).not.toHaveProperty('encrypted_content')
    expect(items[0]?.summary).toEqual([{ type: 'summary_text', text: 'a' }])
  })

  test('to its own account and model, wherever that is served, and to no other', () => {
    const { encrypted_content: sealed } = readBlocks([[thinking, signed('s')]]).items[0]
    const openedBy = (upstreamModel: string, answer = openSeals) =>
      openReasoning(responsesRequest({}, answer), bridgedModel('messages', upstreamModel), sealed)
    expect(openedBy('anthropic/claude-opus-5')?.kind).toBe('messages')
    expect(openedBy('us.anthropic.claude-opus-5-20260101-v1:0')?.kind).toBe('messages')
    expect(openedBy('kimi-k3')).toBeUndefined()
    expect(openedBy('claude-sonnet-5')).toBeUndefined()
    expect(openedBy('claude-opus-5', { ...openSeals, open: () => undefined })).toBeUndefined()
  })
})

describe('an answer ends', () => {
  const cut: StreamedBlock = [use, argued('{"a":')]

  test.each([
    ['end_turn', 'completed', null],
    ['stop_sequence', 'completed', null],
    ['tool_use', 'completed', null],
    ['pause_turn', 'completed', null],
    ['a_new_reason', 'completed', null],
    ['max_tokens', 'incomplete', 'max_output_tokens'],
    ['model_context_window_exceeded', 'incomplete', 'max_output_tokens'],
  ])('for the reason %s as %s', (stop_reason, status, reason) => {
    const { response, items } = readBlocks([[text, textDelta('a')], cut], { stop_reason })
    expect(response.status).toBe(status)
    expect(response.incomplete_details).toEqual(reason && { reason })
    expect(items.map((item) => item.status)).toEqual(['completed', status])
    expect(readBlocks([[text, textDelta('a')]], { stop_reason }).items[0]?.status).toBe(status)
  })

  test('at its limit with whole calls whole, and no arguments made up', () => {
    const end = { stop_reason: 'max_tokens' }
    expect(readBlocks([[use, argued('{"a":1}')]], end).items[0]?.status).toBe('completed')
    expect(readBlocks([[use]], end).items[0]).toMatchObject({ status: 'incomplete', arguments: '' })
  })

  test('with a refusal, in the words of the vendor if it has any', () => {
    const stop_details = { type: 'refusal', category: 'x', explanation: 'I would rather not.' }
    const refused = readBlocks([[text, textDelta('a')]], { stop_reason: 'refusal', stop_details })
    expect(refused.response).toMatchObject({
      status: 'completed',
      output: [
        {
          content: [
            { type: 'output_text', text: 'a' },
            { type: 'refusal', refusal: 'I would rather not.' },
          ],
        },
      ],
    })
    expect(readBlocks([], { stop_reason: 'refusal' }).items).toMatchObject([
      { type: 'message', content: [{ type: 'refusal', refusal: 'The model declined to answer.' }] },
    ])
  })

  test('with the turn of a model that calls and says that it is done (bifrost/6123)', () => {
    const { response } = readBlocks([[use, argued('{}')]], { stop_reason: 'end_turn' })
    expect(response).toMatchObject({
      status: 'completed',
      output: [{ type: 'function_call', status: 'completed' }],
    })
  })

  test('with all input in the figures, and the parts read from or written to a cache', () => {
    const usage = {
      input_tokens: 1,
      cache_read_input_tokens: 20,
      cache_creation_input_tokens: 300,
      cache_creation: { ephemeral_5m_input_tokens: 100, ephemeral_1h_input_tokens: 200 },
      output_tokens: 50,
      output_tokens_details: { thinking_tokens: 30 },
      service_tier: 'standard',
    }
    const { response } = readBlocks([[text, textDelta('a')]], { usage })
    expect(response.service_tier).toBe('default')
    expect(response.usage).toEqual({
      input_tokens: 321,
      input_tokens_details: { cached_tokens: 20, cache_write_tokens: 300 },
      output_tokens: 50,
      output_tokens_details: { reasoning_tokens: 30 },
      total_tokens: 371,
    })
    // The last event has the totals only.
    const [start, ...rest] = eventsOf([], { usage: { ...usage, cache_creation: undefined } })
    const again = [{ ...start, message: { usage } }, ...rest]
    expect(readResponse(translated(streamOf(again)).events).response.usage).toEqual(response.usage)
  })

  test.each([
    ['overloaded_error', 'server_is_overloaded'],
    ['rate_limit_error', 'rate_limit_exceeded'],
    ['api_error', 'server_error'],
  ])('with the error %s as %s', (type, code) => {
    const events = [
      ...eventsOf([[text, textDelta('a')], cut]).slice(0, -3),
      { type: 'error', error: { type, message: 'Boom' } },
    ]
    const { response, error, items } = readResponse(translated(streamOf(events)).events)
    expect(response.error).toEqual({ code, message: 'Boom' })
    expect(error).toMatchObject({
      code,
      message: 'Boom',
      error: { type, code, message: 'Boom', param: null },
    })
    expect(items).toMatchObject([{ status: 'completed' }, undefined as never])
  })
})

test('custom tools, names and namespaces come back', () => {
  const tools = [
    { type: 'custom', name: 'apply_patch' },
    { type: 'namespace', name: 'mcp', tools: [{ type: 'function', name: 'read' }] },
  ]
  const { items } = readBlocks(
    [
      [{ ...use, name: 'apply_patch' }, argued('{"input":"a'), argued('\\nb"}')],
      [{ ...use, name: 'mcp__read', id: 'toolu_2' }, argued('{}')],
    ],
    {},
    { tools },
  )
  expect(items).toMatchObject([
    { type: 'custom_tool_call', name: 'apply_patch', input: 'a\nb', call_id: 'toolu_1' },
    { type: 'function_call', name: 'read', namespace: 'mcp', arguments: '{}', call_id: 'toolu_2' },
  ])
})
