// Responses translated from chat completions: streams in the styles of many servers, whole replies, and what the official client
// makes of them.

import { describe, expect, spyOn, test } from 'bun:test'
import { readChunk, readCompletion } from '../../src/families/chat/caller-side'
import { responseObject } from '../../src/families/responses/response-object'
import { GatewayError } from '../../src/lib/errors'
import { objectIn } from '../../src/lib/sse'
import { chatStream } from '../support/answers/chat-streams'
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
const model = bridgedModel('chat')

const translated = (text: string, cuts: readonly number[] = [], body: Json = {}) =>
  responseStream(model, responsesRequest(body), text, cuts)

/** A stream of these deltas, which ends for this reason. */
function streamOf(deltas: readonly Json[], finish: string | null = 'stop', more: Json = {}): string {
  const chunks: Json[] = deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] }))
  chunks.push({ choices: [{ index: 0, delta: {}, finish_reason: finish }], ...more })
  return [...chunks.map((chunk) => JSON.stringify(chunk)), '[DONE]']
    .map((data) => `data: ${data}\n\n`)
    .join('')
}

const readDeltas = (deltas: readonly Json[], finish?: string | null, body?: Json) =>
  readResponse(translated(streamOf(deltas, finish), [], body).events)

/** A piece of a call. */
function piece(index: number, text: string, head: Json = {}): Json {
  const { id, name } = head
  return {
    tool_calls: [
      {
        index,
        ...(id && { id, type: 'function' }),
        function: { ...(name && { name }), arguments: text },
      },
    ],
  }
}

describe(`random streams of chat (RESPONSES_SEED=${seed})`, () => {
  test('have the same text, calls and cost as a response', () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(1_000); round++) {
      const stream = chatStream(random)
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
      const { text } = chatStream(random)
      const bytes = Buffer.byteLength(text)
      const cuts = Array.from({ length: 1 + random.below(40) }, () => random.below(bytes))
      expect(translated(text, cuts).events).toBe(translated(text).events)
    }
  })

  test('that break off anywhere fail with everything that arrived, without repetitions', () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(300); round++) {
      const { text } = chatStream(random)
      const translator = translatorOf(responsesRequest(), model)
      let events = ''
      for (const line of text.slice(0, random.below(text.length)).split(/\r?\n\r?\n/)) {
        const chunk = objectIn(line.slice(6))
        if (!chunk) continue
        events += translator.push(chunk, 0, readChunk(chunk))
      }
      events += translator.fail?.(new GatewayError(502, { code: 'upstream_cut', message: 'It broke off.' }))
      const { response, items, deltas } = readResponse(events)
      expect(response.error).toEqual({ code: 'server_error', message: 'It broke off.' })
      for (const [place, item] of response.output.entries()) {
        if (!items[place] && item.type !== 'reasoning') expect(item.status).toMatch(/completed|incomplete/)
        if (item.type === 'function_call') expect(item.arguments).toBe(deltas[place])
      }
    }
  })

  test('are to the official client what they say they are', async () => {
    const random = createRandom(seed)
    for (let round = 0; round < 60; round++) {
      const { response, events } = readResponse(translated(chatStream(random).text).events)
      expect(await accumulatedResponse(events)).toMatchObject(response)
    }
  })

  test('give the same response as whole completions (litellm/11204)', () => {
    const random = createRandom(seed)
    for (let round = 0; round < casesOf(300); round++) {
      const { message, deltas } = messageInPieces(random)
      const finish = random.pick(['stop', 'length', 'tool_calls', 'content_filter', null])
      const figures = { prompt_tokens: 9, completion_tokens: 7, total_tokens: 16 }
      const more = { usage: figures, service_tier: random.pick(['default', 'flex', undefined]) }
      const reply = { choices: [{ index: 0, message, finish_reason: finish }], ...more }
      const { answer, events } = translated(streamOf(deltas, finish, more))
      readResponse(events)
      const usage = readCompletion(reply).usage?.figures
      if (!usage || usage === 'invalid') throw new Error('no figures')
      if (finish === null) continue
      expect(responseOf(reply, responsesRequest(), model, usage)).toEqual(answer)
    }
  })
})

/** A message, and the same in pieces. */
function messageInPieces(random: Random): { message: Json; deltas: Json[] } {
  const words = () => Array.from({ length: random.below(4) }, () => random.pick(['a', '世', '\n', '🎉', '"']))
  const [thinking, text, refusal] = [words(), words(), random.chance(0.2) ? words() : []]
  const calls = Array.from({ length: random.below(3) }, (_, index) => ({
    id: `call_${index}`,
    name: `tool_${index}`,
    pieces: random.pick([['{"a"', ':1}'], ['{', '}'], ['{"a":'], []]),
  }))
  return {
    message: {
      role: 'assistant',
      reasoning_content: thinking.join(''),
      content: text.join('') || null,
      refusal: refusal.join('') || null,
      tool_calls: calls.map(({ id, name, pieces }) => ({
        id,
        type: 'function',
        function: { name, arguments: pieces.join('') },
      })),
    },
    deltas: [
      { role: 'assistant', content: '' },
      ...thinking.map((reasoning_content) => ({ reasoning_content })),
      ...text.map((content) => ({ content })),
      ...refusal.map((text) => ({ refusal: text })),
      ...calls.flatMap(({ id, name, pieces }, index) => [
        piece(index, '', { id, name }),
        ...pieces.map((each) => piece(index, each)),
      ]),
    ],
  }
}

function expectSame(stream: ReturnType<typeof chatStream>, { response, items, deltas }: ReadResponse): void {
  const { thinking, answer, calls, stopReason, usage } = stream
  const textOf = (type: string) => items.flatMap((item, place) => (item.type === type ? [deltas[place]] : []))
  expect(textOf('reasoning').join('')).toBe(thinking)
  expect(textOf('message').join('')).toBe(answer)
  const made = items.filter(({ type }) => type === 'function_call')
  expect(made.map(({ call_id, name, arguments: text }) => ({ id: call_id, name, arguments: text }))).toEqual(
    calls.map(({ id = expect.stringMatching(/^call_\w+$/), ...call }) => ({ id, ...call })),
  )
  const isCut = stopReason === 'max_tokens'
  expect(response.status).toBe(isCut ? 'incomplete' : 'completed')
  expect(response.incomplete_details).toEqual(isCut ? { reason: 'max_output_tokens' } : null)
  expect(response.usage).toEqual({
    input_tokens: (usage?.input ?? 0) + (usage?.cached ?? 0),
    input_tokens_details: { cached_tokens: usage?.cached ?? 0, cache_write_tokens: 0 },
    output_tokens: usage?.output ?? 0,
    output_tokens_details: { reasoning_tokens: usage?.thinking ?? 0 },
    total_tokens: usage ? usage.input + usage.cached + usage.output : 0,
  })
}

/** A response at its beginning, with the settings of a request without any. */
const begun = {
  id: openSeals.id,
  object: 'response',
  created_at: 1_770_000_000,
  completed_at: null,
  status: 'in_progress',
  error: null,
  incomplete_details: null,
  model: 'house-model',
  output: [],
  instructions: null,
  previous_response_id: null,
  tools: [],
  tool_choice: 'auto',
  parallel_tool_calls: true,
  max_output_tokens: null,
  max_tool_calls: null,
  temperature: 1,
  top_p: 1,
  presence_penalty: 0,
  frequency_penalty: 0,
  top_logprobs: 0,
  truncation: 'disabled',
  text: { format: { type: 'text' } },
  reasoning: { effort: null, summary: null },
  background: false,
  store: true,
  service_tier: 'default',
  user: null,
  safety_identifier: null,
  prompt_cache_key: null,
  metadata: {},
  usage: null,
}

test('a stream of text is written event for event as clients expect it', () => {
  const usage = {
    prompt_tokens: 36,
    completion_tokens: 87,
    total_tokens: 123,
    prompt_tokens_details: { cached_tokens: 6 },
  }
  const { events } = readResponse(
    translated(
      streamOf([{ role: 'assistant', content: '' }, { content: 'H' }, { content: 'i' }], 'stop', { usage }),
    ).events,
  )
  const id = `msg_${'a1'.repeat(16)}00`
  const at = { item_id: id, output_index: 0, content_index: 0 }
  const part = { type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }
  const item = { id, type: 'message', role: 'assistant', status: 'completed', content: [part] }
  const expected = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    {
      type: 'response.output_item.added',
      output_index: 0,
      item: { ...item, status: 'in_progress', content: [] },
    },
    { type: 'response.content_part.added', ...at, part: { ...part, text: '' } },
    { type: 'response.output_text.delta', ...at, delta: 'H', logprobs: [] },
    { type: 'response.output_text.delta', ...at, delta: 'i', logprobs: [] },
    { type: 'response.output_text.done', ...at, text: 'Hi', logprobs: [] },
    { type: 'response.content_part.done', ...at, part },
    { type: 'response.output_item.done', output_index: 0, item },
    {
      type: 'response.completed',
      response: {
        ...begun,
        status: 'completed',
        completed_at: 1_770_000_002,
        output: [item],
        usage: {
          input_tokens: 36,
          input_tokens_details: { cached_tokens: 6, cache_write_tokens: 0 },
          output_tokens: 87,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 123,
        },
      },
    },
  ]
  expect(events).toEqual(expected.map((event, index) => ({ ...event, sequence_number: index })))
})

describe('items follow one another:', () => {
  const f = { id: 'call_f', name: 'f' }
  const g = { id: 'call_g', name: 'g' }
  const rows: [name: string, deltas: Json[], outline: string[]][] = [
    ['nothing at all', [], ['completed']],
    [
      'thinking, then text',
      [{ reasoning_content: 'Hm' }, { reasoning_content: '.' }, { content: 'Hi' }],
      [
        '0 + reasoning',
        '0 : Hm',
        '0 : .',
        '0 - completed',
        '1 + message',
        '1 : Hi',
        '1 - completed',
        'completed',
      ],
    ],
    [
      'thinking and text as lists',
      [
        { content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }] },
        {
          content: [
            { type: 'text', text: 'H' },
            { type: 'text', text: 'i' },
          ],
        },
      ],
      ['0 + reasoning', '0 : Hm', '0 - completed', '1 + message', '1 : Hi', '1 - completed', 'completed'],
    ],
    [
      'text and thinking by turns',
      [{ content: 'a' }, { reasoning: 'b' }, { content: 'c' }],
      [
        ...['0 + message', '0 : a', '0 - completed', '1 + reasoning', '1 : b', '1 - completed'],
        ...['2 + message', '2 : c', '2 - completed', 'completed'],
      ],
    ],
    [
      'a refusal after text is another part of the message',
      [{ content: 'a' }, { refusal: 'N' }, { refusal: 'o' }],
      ['0 + message', '0 : a', '0 : N', '0 : o', '0 - completed', 'completed'],
    ],
    [
      'text, then a call',
      [{ content: 'a' }, piece(0, '', f), piece(0, '{"a"'), piece(0, ':1}')],
      [
        ...['0 + message', '0 : a', '0 - completed'],
        ...['1 + function_call', '1 : {"a"', '1 : :1}', '1 - completed', 'completed'],
      ],
    ],
    [
      'one call after the other',
      [piece(0, '{}', f), piece(1, '{', g), piece(1, '}')],
      [
        ...['0 + function_call', '0 : {}', '0 - completed'],
        ...['1 + function_call', '1 : {', '1 : }', '1 - completed', 'completed'],
      ],
    ],
    [
      'two calls mixed, both open',
      [piece(0, '', f), piece(1, '', g), piece(0, '{"a":'), piece(1, '{'), piece(0, '1}'), piece(1, '}')],
      [
        ...['0 + function_call', '1 + function_call', '0 : {"a":', '1 : {', '0 : 1}', '0 - completed'],
        ...['1 : }', '1 - completed', 'completed'],
      ],
    ],
    [
      'text within a call',
      [piece(0, '{', f), { content: 'well,' }, piece(0, '}'), { content: ' so' }],
      [
        ...['0 + function_call', '0 : {', '1 + message', '1 : well,', '0 : }', '0 - completed', '1 :  so'],
        ...['1 - completed', 'completed'],
      ],
    ],
    [
      'text after a whole call',
      [piece(0, '{}', f), { content: 'Done.' }],
      [
        '0 + function_call',
        '0 : {}',
        '0 - completed',
        '1 + message',
        '1 : Done.',
        '1 - completed',
        'completed',
      ],
    ],
    [
      'white space after a whole call is left out',
      [piece(0, '{}', f), { content: 'a' }, piece(0, '\n')],
      ['0 + function_call', '0 : {}', '0 - completed', '1 + message', '1 : a', '1 - completed', 'completed'],
    ],
    [
      'a name that comes late, after arguments',
      [piece(0, '{', { id: 'call_f' }), piece(0, '}', { name: 'f' })],
      ['0 + function_call', '0 : {}', '0 - completed', 'completed'],
    ],
    [
      'a name that never comes',
      [piece(0, '{}', { id: 'call_f' })],
      ['0 + function_call', '0 : {}', '0 - completed', 'completed'],
    ],
    [
      'no arguments are an empty object',
      [piece(0, '', f), piece(1, '', g)],
      [
        ...['0 + function_call', '1 + function_call', '0 : {}', '0 - completed', '1 : {}', '1 - completed'],
        'completed',
      ],
    ],
  ]
  test.each(rows)('%s', async (_, deltas, outline) => {
    const { events, response } = readDeltas(deltas, 'tool_calls')
    expect(outlineOf(events)).toEqual(outline)
    expect(await accumulatedResponse(events)).toMatchObject(response)
  })
})

test('every mixture of two calls, a custom call and a text keeps all of each', () => {
  const tools = [{ type: 'custom', name: 'exec' }]
  const mixed = interleavings([
    [piece(0, '{"a"', { id: 'call_f', name: 'f' }), piece(0, ':1}')],
    [piece(1, '', { id: 'call_g', name: 'g' }), piece(1, '{}')],
    [piece(2, '{"input":', { id: 'call_x', name: 'exec' }), piece(2, '"x"}')],
    [{ content: 'a' }, { reasoning_content: 'Hm' }, { content: 'b' }],
  ])
  expect(mixed).toHaveLength(7560)
  for (let index = seed % MIXTURE_STEP; index < mixed.length; index += MIXTURE_STEP) {
    const deltas = mixed[index] as Json[]
    const { items, deltas: pieces } = readDeltas(deltas, 'tool_calls', { tools })
    const filled = new Map(items.map((item) => [item.call_id, item.arguments ?? item.input]))
    expect([filled.get('call_f'), filled.get('call_g'), filled.get('call_x')]).toEqual(['{"a":1}', '{}', 'x'])
    const texts = items.flatMap(({ type }, place) => (type === 'message' ? [pieces[place]] : []))
    expect(texts.join('')).toBe('ab')
    for (const { status, type } of items) expect(type === 'reasoning' || status === 'completed').toBe(true)
  }
})

describe('a call comes back', () => {
  const tools = [
    { type: 'function', name: 'plain' },
    { type: 'custom', name: 'apply_patch', format: { type: 'text' } },
    {
      type: 'namespace',
      name: 'mcp.files',
      tools: [
        { type: 'function', name: 'read' },
        { type: 'custom', name: 'write' },
      ],
    },
    { type: 'tool_search', execution: 'client' },
    { type: 'local_shell' },
  ]
  const callOf = (name: string, text: string) =>
    readDeltas([piece(0, text, { id: 'call_1', name })], 'stop', { tools })

  test('with the namespace and the name of the tool, exactly (codex/32318, litellm/35878, CLIProxyAPI/4850)', () => {
    const [item] = callOf('mcp_files__read', '{"a":1}').items
    expect(item).toMatchObject({
      type: 'function_call',
      name: 'read',
      namespace: 'mcp.files',
      arguments: '{"a":1}',
    })
  })

  test('without a namespace if the tool has none, and by the name that the model invented', () => {
    expect(callOf('plain', '{}').items[0]).not.toHaveProperty('namespace')
    expect(callOf('no_such_tool', '{}').items[0]).toMatchObject({
      type: 'function_call',
      name: 'no_such_tool',
    })
  })

  test('as a custom call with its raw text, in one piece (litellm/27276)', () => {
    const deltas = [
      piece(0, '{"inp', { id: 'call_1', name: 'apply_patch' }),
      piece(0, 'ut":"*** Begin'),
      piece(0, '\\n*** End"}'),
    ]
    const { events, items } = readDeltas(deltas, 'tool_calls', { tools })
    expect(items).toEqual([
      {
        id: expect.stringMatching(/^ctc_/),
        type: 'custom_tool_call',
        status: 'completed',
        call_id: 'call_1',
        name: 'apply_patch',
        input: '*** Begin\n*** End',
      },
    ])
    expect(events.map(({ type }) => type).filter((type) => type.includes('custom'))).toEqual([
      'response.custom_tool_call_input.delta',
      'response.custom_tool_call_input.done',
    ])
    expect(callOf('mcp_files__write', '{"input":"a"}').items[0]).toMatchObject({
      type: 'custom_tool_call',
      name: 'write',
      namespace: 'mcp.files',
      input: 'a',
    })
  })

  test('as a search for tools, whose arguments are an object', () => {
    expect(callOf('tool_search', '{"query":"mail"}').items[0]).toMatchObject({
      type: 'tool_search_call',
      execution: 'client',
      arguments: { query: 'mail' },
    })
  })

  test('as a call of the local shell, whole', () => {
    expect(callOf('local_shell', '{"command":["ls"]}').items[0]).toMatchObject({
      type: 'local_shell_call',
      status: 'completed',
      action: { type: 'exec', command: ['ls'] },
    })
  })

  test('as a patch that is whole when it is first seen, and in its place where another call is mixed with it', () => {
    const deltas = [
      piece(0, '{"type":"delete_file"', { id: 'call_1', name: 'apply_patch' }),
      piece(0, ',"path":"a"}'),
    ]
    const patch = { tools: [{ type: 'apply_patch' }, { type: 'function', name: 'plain' }] }
    const operation = { type: 'delete_file', path: 'a' }
    const alone = readDeltas(deltas, 'tool_calls', patch).events.filter(({ item }) => item)
    expect(alone.map(({ item }) => [item.status, item.operation])).toEqual([
      ['in_progress', operation],
      ['completed', operation],
    ])
    const plain = piece(1, '{}', { id: 'call_2', name: 'plain' })
    const mixed = readDeltas([deltas[0], plain, deltas[1]], 'tool_calls', patch)
    expect(mixed.items).toMatchObject([{ operation }, { name: 'plain' }])
    const half = streamOf([deltas[0]]).split('data: {"choices":[{"index":0,"delta":{}').at(0)
    const { response } = readResponse(translated(`${half}data: {"error":"No"}\n\n`, [], patch).events)
    expect(response.output).toMatchObject([{ type: 'apply_patch_call', status: 'in_progress' }])
  })

  test('with arguments as text where a server parses them (new-api/5800)', () => {
    const call = { index: 0, id: 'call_1', function: { name: 'plain', arguments: { a: [1] } } }
    expect(readDeltas([{ tool_calls: [call] }]).items[0]?.arguments).toBe('{"a":[1]}')
  })

  test('in the older form, of one call', () => {
    const deltas = [
      { function_call: { name: 'plain', arguments: '{"a"' } },
      { function_call: { arguments: ':1}' } },
    ]
    expect(readDeltas(deltas, 'function_call').items).toMatchObject([
      { type: 'function_call', name: 'plain', arguments: '{"a":1}' },
    ])
  })

  test('with an id of its own where a server gives none, or one twice', () => {
    const twice = [piece(0, '{}', { id: 'x', name: 'f' }), piece(1, '{}', { id: 'x', name: 'f' })]
    const { items } = readDeltas([...twice, piece(2, '{}', { name: 'f' })])
    expect(items.map(({ call_id: id }) => id)).toEqual([
      'x',
      expect.stringMatching(/^call_\w{34}$/),
      expect.stringMatching(/^call_\w{34}$/),
    ])
  })
})

describe('an answer ends', () => {
  const call = piece(0, '{"a":', { id: 'call_1', name: 'f' })

  test.each([
    ['stop', 'completed', null],
    ['tool_calls', 'completed', null],
    ['a_new_reason', 'completed', null],
    ['length', 'incomplete', 'max_output_tokens'],
    ['max_tokens', 'incomplete', 'max_output_tokens'],
    ['content_filter', 'incomplete', 'content_filter'],
  ])('for the reason %s as %s (bifrost/4679)', (finish, status, reason) => {
    const { response, items } = readDeltas([{ content: 'Hi' }, call], finish)
    expect(response.status).toBe(status)
    expect(response.incomplete_details).toEqual(reason && { reason })
    // The message was whole before the call began.
    expect(items.map((item) => item.status)).toEqual(['completed', status])
    expect(readDeltas([{ content: 'Hi' }], finish).items[0]?.status).toBe(status)
  })

  test('at its limit with whole calls whole, and none made up', () => {
    const whole = piece(0, '{"a":1}', { id: 'call_1', name: 'f' })
    expect(readDeltas([whole], 'length').items[0]?.status).toBe('completed')
    const begun = readDeltas([piece(0, '', { id: 'call_1', name: 'f' })], 'length').items[0]
    expect(begun).toMatchObject({ status: 'incomplete', arguments: '' })
  })

  test('at its limit in a call that clients would run with half of its input: the item has no end', async () => {
    const tools = [{ type: 'custom', name: 'exec' }, { type: 'apply_patch' }, { type: 'shell' }]
    const rows = [
      [
        'exec',
        '{"input":"rm -r /tmp',
        { type: 'custom_tool_call', status: 'incomplete', input: 'rm -r /tmp' },
      ],
      ['apply_patch', '{"type":"delete_file"', { type: 'apply_patch_call', status: 'in_progress' }],
    ] as const
    for (const [name, text, item] of rows) {
      const { events, response } = readDeltas([piece(0, text, { id: 'call_1', name })], 'length', { tools })
      expect(response.output).toMatchObject([item])
      expect(outlineOf(events)).toEqual([`0 + ${item.type}`, 'incomplete'])
      expect(await accumulatedResponse(events)).toMatchObject(response)
    }
    const shell = readDeltas([piece(0, '{"commands":["rm', { id: 'call_1', name: 'shell' })], 'length', {
      tools,
    })
    expect(shell.items).toMatchObject([{ status: 'incomplete', action: { commands: [] } }])
  })

  test('completed with a refusal, whatever the reason', () => {
    for (const finish of ['stop', 'content_filter']) {
      const { response } = readDeltas([{ refusal: 'No.' }], finish)
      expect(response).toMatchObject({
        status: 'completed',
        output: [{ type: 'message', status: 'completed', content: [{ type: 'refusal', refusal: 'No.' }] }],
      })
    }
  })

  test('incomplete where a refusal was cut at its limit', () => {
    expect(readDeltas([{ refusal: 'N' }], 'length').response.status).toBe('incomplete')
  })

  test('after the figures, which come last (new-api/2267)', () => {
    const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 }
    const text = streamOf([{ content: 'Hi' }]).replace(
      'data: [DONE]',
      `data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]`,
    )
    const { events, response } = readResponse(translated(text).events)
    expect(response.usage).toMatchObject({ input_tokens: 5, output_tokens: 3, total_tokens: 8 })
    expect(events.filter(({ type }) => type === 'response.completed')).toHaveLength(1)
  })

  test('with the tier that the vendor reports', () => {
    const tierOf = (tier: string) =>
      readResponse(translated(streamOf([], 'stop', { service_tier: tier })).events).response.service_tier
    expect([tierOf('flex'), tierOf('priority'), tierOf('standard')]).toEqual(['flex', 'priority', 'default'])
  })

  test('with an error in both forms, and a response that failed with it (codex/24973)', () => {
    const errors: [Json, string][] = [
      [{ message: 'Boom', type: 'server_error', code: null }, 'server_error'],
      [{ message: 'Slow down, try again in 3s', code: 'rate_limit_exceeded' }, 'rate_limit_exceeded'],
      [{ message: 'Too long', code: 'context_length_exceeded' }, 'context_length_exceeded'],
      // The caller does not learn whose quota it was.
      [{ message: 'Pay up', code: 'insufficient_quota' }, 'server_error'],
    ]
    for (const [error, code] of errors) {
      const half = streamOf([{ content: 'He' }, call])
        .split('data: {"choices":[{"index":0,"delta":{}')
        .at(0)
      const { events, meter, answer } = translated(`${half}data: ${JSON.stringify({ error })}\n\n`)
      const read = readResponse(events)
      expect(read.error).toMatchObject({
        code,
        message: error.message,
        error: { code, message: error.message },
      })
      expect(read.response).toMatchObject({
        status: 'failed',
        error: { code, message: error.message },
        output: [
          { status: 'completed' },
          { type: 'function_call', status: 'incomplete', arguments: '{"a":' },
        ],
      })
      // A client runs a call that is done.
      expect(read.items[1]).toBeUndefined()
      expect(answer).toEqual(read.response)
      expect(meter.failure()).toBeDefined()
    }
  })

  test('with an error where the vendor breaks off, and says nothing more', () => {
    const translator = translatorOf(responsesRequest(), model)
    const chunk = { choices: [{ delta: { content: 'He' } }] }
    const error = new GatewayError(504, { code: 'upstream_timeout', message: 'Too slow.' })
    const events = translator.push(chunk, 0, readChunk(chunk)) + translator.fail?.(error)
    expect(readResponse(events).response.error).toEqual({ code: 'server_error', message: 'Too slow.' })
    expect(translator.push(chunk, 0, readChunk(chunk))).toBe('')
    expect(translator.finish({}) + translator.fail?.(error) + translator.keepAlive?.()).toBe('')
    expect(translator.cut({})).toBe('')
  })

  test('with an error before anything else', () => {
    const { events } = translated('data: {"error":{"message":"No"}}\n\n')
    expect(outlineOf(readResponse(events).events)).toEqual(['error', 'failed'])
  })

  test('at the limit of what can be held, with what is paid', () => {
    const translator = translatorOf(responsesRequest(), model)
    const chunk = { choices: [{ delta: { content: 'He' } }] }
    const events =
      translator.push(chunk, 0, readChunk(chunk)) + translator.cut({ input_token: 5, output_token: 1 })
    const { response } = readResponse(events)
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete', content: [{ text: 'He' }] }],
      usage: { input_tokens: 5, output_tokens: 1 },
    })
    expect(translator.answer?.()).toEqual(response)
    expect(translator.finish({})).toBe('')
  })
})

test('a call with text among very many pieces is read in little time, and loses nothing', () => {
  const rows = 20_000
  const deltas = Array.from({ length: 2 * rows }, (_, index) =>
    index % 2 === 1
      ? { content: 'x' }
      : piece(0, index === 0 ? '[{}' : ',{}', index === 0 ? { id: 'a', name: 'f' } : {}),
  )
  const translator = translatorOf(responsesRequest(), model)
  const parse = spyOn(JSON, 'parse')
  for (const delta of deltas) translator.push({ choices: [{ delta }] }, 0, {})
  translator.finish({})
  const reads = parse.mock.calls.length
  parse.mockRestore()
  // Each reads all that came of the arguments.
  expect(reads).toBeLessThan(200)
  const [called, message] = ((translator.answer?.() ?? {}) as Json).output
  expect(called.arguments).toHaveLength(3 + 3 * (rows - 1))
  expect(message.content[0].text).toHaveLength(rows)
})

test('all that a translation shows is counted where the vendor counts nothing', () => {
  const countedIn = (delta: Json) => readChunk({ choices: [{ index: 0, delta }] }).output
  expect(countedIn({ content: [{ type: 'thinking', thinking: [{ type: 'text', text: 'Hm' }] }] })).toEqual({
    kind: 'shown',
    text: 'Hm',
  })
  expect(countedIn({ content: [{ type: 'text', text: 'Hi' }] })).toEqual({ kind: 'shown', text: 'Hi' })
  expect(countedIn({ function_call: { name: 'f', arguments: '{}' } })).toEqual({ kind: 'shown', text: 'f{}' })
})

test('silence is filled with numbered events that all clients know', async () => {
  const translator = translatorOf(responsesRequest(), model)
  const chunk = { choices: [{ delta: { content: 'Hi' } }] }
  expect(translator.answer?.()).toBeUndefined()
  const stream = [
    translator.keepAlive?.(),
    translator.push(chunk, 0, readChunk(chunk)),
    translator.keepAlive?.(),
    translator.finish({}),
  ].join('')
  const { events, response } = readResponse(stream)
  expect(outlineOf(events)).toEqual([
    'keepalive',
    '0 + message',
    '0 : Hi',
    'keepalive',
    '0 - completed',
    'completed',
  ])
  expect(await accumulatedResponse(events)).toMatchObject(response)
})

describe('probabilities of tokens', () => {
  const logprobs = {
    content: [
      {
        token: 'Hi',
        logprob: -0.5,
        bytes: [72, 105],
        top_logprobs: [{ token: 'Ho', logprob: -2, bytes: [] }],
      },
    ],
  }
  const text = `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content: 'Hi' }, logprobs }] })}\n\n${streamOf([])}`

  test('are shown to a caller who includes them', () => {
    const include = ['message.output_text.logprobs']
    const { response, events } = readResponse(translated(text, [], { include }).events)
    expect(response.output[0].content[0].logprobs).toEqual(logprobs.content)
    expect(events.find(({ delta }) => delta === 'Hi')?.logprobs).toEqual(logprobs.content)
  })

  test('are not shown to others', () => {
    expect(readResponse(translated(text).events).response.output[0].content[0].logprobs).toEqual([])
  })
})

describe('reasoning', () => {
  const deltas = [{ reasoning_content: 'Hm' }, { reasoning_content: '.' }, { content: 'Hi' }]
  const itemsOf = (upstreamModel: string, answer = openSeals) =>
    readResponse(
      responseStream(bridgedModel('chat', upstreamModel), responsesRequest({}, answer), streamOf(deltas))
        .events,
    ).items

  test('is shown as a summary, and sealed for vendors that want it back (bifrost/3802, litellm/11302)', () => {
    const item = {
      type: 'reasoning',
      id: expect.stringMatching(/^rs_/),
      status: 'completed',
      summary: [{ type: 'summary_text', text: 'Hm.' }],
    }
    expect(itemsOf('gpt-oss')[0]).toEqual(item)
    expect(itemsOf('vendor/DeepSeek-V4')[0]).toEqual({
      ...item,
      encrypted_content: `sealed ${JSON.stringify({ kind: 'chat', text: 'Hm.', writer: 'deepseek' })}`,
    })
  })
})

test('settings of the request are echoed in full, and secrets are not', () => {
  const body = {
    instructions: 'Be brief.',
    tools: [
      { type: 'function', name: 'f' },
      {
        type: 'mcp',
        server_label: 's',
        server_url: 'https://x',
        authorization: 'secret',
        headers: { a: 'secret' },
      },
    ],
    text: { format: { type: 'json_schema', name: 'n', schema: {} }, verbosity: null },
    reasoning: { effort: 'low', summary: null },
    metadata: { a: 'b' },
  }
  const { answer } = translated(streamOf([]), [], { ...body, tools: body.tools.slice(0, 1) })
  expect(answer).toMatchObject({
    instructions: 'Be brief.',
    tools: [{ type: 'function', name: 'f', description: null, parameters: null, strict: null }],
    text: { format: { type: 'json_schema', name: 'n', schema: {}, description: null, strict: false } },
    reasoning: { effort: 'low', summary: null },
    metadata: { a: 'b' },
  })
  expect(JSON.stringify(responseObject(responsesRequest(body), model))).not.toContain('secret')
})
