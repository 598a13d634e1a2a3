// An answer with status 200 but without output costs nothing, whole or streamed, whatever figures come with it; thinking, calls of
// tools and refusals are output. Every row counts its effects: calls, charges, and the change of the balance.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { picture } from '../../sandbox/pictures'
import type { ModelConfig } from '../../src/config/schema'
import type { UpstreamConfig } from '../../src/upstreams/settings'
import { familyRows } from '../support/answers/family-rows'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { type RecordedVendor, startRecordedVendor } from '../support/vendors/recorded'

setDefaultTimeout(180_000)

let vendor: RecordedVendor
let gateway: TestGateway

beforeAll(async () => {
  vendor = startRecordedVendor()
  const models: Record<string, ModelConfig> = {}
  const upstreams: Record<string, UpstreamConfig> = {}
  for (const [family, { kind, model }] of Object.entries(familyRows)) {
    models[family] = { ...model, family, upstream: `recorded-${kind}` }
    upstreams[`recorded-${kind}`] = { kind, baseUrl: vendor.url, apiKey: 'none' }
  }
  gateway = await startTestGateway({ models, upstreams })
})

afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

interface Seen {
  status: number
  text: string
  json: Json
  state: unknown
  amount: number
  taken: number
}

/** Sends a request while the vendor answers in this way, and counts the effects. */
async function ask(path: string, body: Json | FormData): Promise<Seen> {
  const before = { ...(await gateway.newest()), ...(await gateway.balance()) }
  vendor.requests = 0
  const isForm = body instanceof FormData
  const response = await fetch(`${gateway.url}${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${gateway.secret}`,
      ...(isForm ? {} : { 'content-type': 'application/json' }),
    },
    body: isForm ? body : JSON.stringify(body),
  })
  const text = await response.text()
  const charges = await gateway.charges(before.charge)
  expect({ calls: vendor.requests, charges: charges.length, text }).toEqual({ calls: 1, charges: 1, text })
  const after = await gateway.balance()
  return {
    status: response.status,
    text,
    json: jsonOf(text),
    state: charges[0]?.state,
    amount: Number(charges[0]?.amount),
    taken: before.balanceNano - after.balanceNano,
  }
}

function jsonOf(text: string): Json {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function expectFree({ status, text, state, amount, taken }: Seen, expected: number): void {
  expect({ text, status, state, amount, taken }).toEqual({
    text,
    status: expected,
    state: 'released',
    amount: 0,
    taken: 0,
  })
}

function expectPaid({ status, text, state, amount, taken }: Seen): void {
  expect({ text, status, state, paid: amount > 0, taken }).toEqual({
    text,
    status: 200,
    state: 'settled',
    paid: true,
    taken: amount,
  })
}

/** An error in an answer with status 200, and the words for the caller. */
const disguises: [name: string, reply: Json, status: number, words: string][] = [
  ['an error object', { error: { message: 'The model broke', code: 'odd' } }, 400, 'The model broke'],
  ['an error with its status', { error: { message: 'Too many', code: 429 } }, 429, 'Too many'],
  ['an error of the operator', { error: { message: 'No such key', code: 401 } }, 503, 'operator'],
  ['an error in a sentence', { error: 'The model broke' }, 400, 'The model broke'],
  ['a code and a message', { code: 'ModelBroke', message: 'The model broke' }, 400, 'The model broke'],
  ['a status and a message', { code: 503, message: 'Overloaded' }, 503, 'Overloaded'],
  ['a detail', { detail: 'The model broke' }, 400, 'The model broke'],
  ['a list of details', { detail: [{ loc: ['body'], msg: 'broke' }] }, 400, 'broke'],
  ['an error of old servers', { object: 'error', message: 'It broke', code: 400 }, 400, 'It broke'],
  ['an error of unknown form', { base_resp: { status_code: 1004 } }, 502, 'without a result'],
  ['an empty object', {}, 502, 'without a result'],
]

/** Errors that differ from an event without meaning. An event in a form known to clients passes unchanged. */
const disguisedEvents = disguises.filter(([name]) => !/operator|unknown form|empty/.test(name))

const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 }
const say = [{ role: 'user', content: 'Hello' }]

function completion(message: Json, finish = 'stop', figures: Json = usage): Json {
  const choices = [{ index: 0, message, finish_reason: finish }]
  return { id: 'chatcmpl-1', object: 'chat.completion', created: 1, model: 'm', choices, usage: figures }
}

const role = 'assistant'
const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{}' } }
const thought = { ...usage, completion_tokens_details: { reasoning_tokens: 3 } }

/** Answers of a chat model without content: whole, and as the only delta of a stream. */
const emptyMessages: [name: string, message: Json, finish?: string][] = [
  ['empty content', { role, content: '' }],
  ['null content', { role, content: null, refusal: null, tool_calls: [], annotations: [], audio: null }],
  ['no content', { role }],
  ['no message', undefined],
  ['an empty list of parts', { role, content: [] }],
  ['parts that are empty', { role, content: [{ type: 'text', text: '' }] }],
  ['empty thoughts', { role, content: '', reasoning_content: '', reasoning_details: [] }],
  ['a name and nothing else', { role, name: 'Odd AI', content: '', audio_content: '' }],
  ['no text and an unreached limit', { role, content: '' }, 'length no tokens'],
]

/** Answers with output, though some of it is not text. */
const fullMessages: [name: string, message: Json, finish?: string, figures?: Json][] = [
  ['a text', { role, content: 'Hi' }],
  ['a space', { role, content: ' ' }],
  ['parts', { role, content: [{ type: 'text', text: 'Hi' }] }],
  ['thinking', { role, content: '', reasoning_content: 'Hm' }],
  ['thinking under another name', { role, content: null, reasoning: 'Hm' }],
  ['sealed thinking', { role, content: '', reasoning_details: [{ type: 'sealed', data: 'QUJD' }] }],
  ['a call', { role, content: null, tool_calls: [{ index: 0, ...call }] }, 'tool_calls'],
  ['an older call', { role, content: null, function_call: call.function }, 'function_call'],
  ['a refusal', { role, content: null, refusal: 'No.' }],
  ['sound', { role, content: null, audio: { id: 'audio_1', data: 'QUJD', expires_at: 1 } }],
  ['a picture', { role, content: '', images: [{ type: 'image_url', image_url: { url: 'data:,x' } }] }],
  ['thinking to the limit', { role, content: '' }, 'length', thought],
  ['a limit, without details', { role, content: '' }, 'length', usage],
  ['thinking and no answer', { role, content: '' }, 'stop', thought],
  ['thinking in addition', { role, content: '' }, 'stop', { ...usage, total_tokens: 20 }],
  ['a filtered text', { role, content: '' }, 'content_filter', usage],
]

/** Rows of one length, because a parameter behind the last value of a row would be a callback. */
function padded<Row extends readonly unknown[]>(rows: readonly Row[], length: number): Row[] {
  return rows.map((row) => Array.from({ length }, (_, index) => row[index]) as unknown as Row)
}

const noTokens = { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 }

function figuresOf(finish = 'stop'): { finish: string; figures: Json } {
  const [word = '', rest] = finish.split(' ')
  return { finish: word, figures: rest ? noTokens : usage }
}

function chunks(delta: Json, finish: string, figures: Json): Json[] {
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'm' }
  return [
    { ...head, choices: [{ index: 0, delta: { role, content: '' }, finish_reason: null }] },
    { ...head, choices: [{ index: 0, delta, finish_reason: null }] },
    { ...head, choices: [{ index: 0, delta: {}, finish_reason: finish }] },
    ...(figures ? [{ ...head, choices: [], usage: figures }] : []),
  ]
}

const chatForms = [
  ['openai-chat', '/v1/chat/completions', { messages: say }],
  ['messages-on-chat', '/v1/messages', { messages: say, max_tokens: 9 }],
] as const

describe.each(chatForms)('%s', (model, path, body) => {
  const whole = (reply: Json) => {
    vendor.answer = { reply }
    return ask(path, { model, ...body })
  }
  const streamed = (events: Json[]) => {
    vendor.answer = { events, end: '[DONE]' }
    return ask(path, { model, stream: true, ...body })
  }

  test.each(disguises)('%s is free and reported as an error', async (_, reply, status, words) => {
    const seen = await whole(reply)
    expectFree(seen, status)
    expect(seen.json.error.message).toContain(words)
    // Requested as a stream, and answered whole.
    vendor.answer = { reply }
    expectFree(await ask(path, { model, stream: true, ...body }), status)
  })

  test.each([
    ['no choices', { ...completion({}), choices: [] }],
    ['null for choices', { ...completion({}), choices: null }],
    ['choices of null', { ...completion({}), choices: [null] }],
    ['an error as the end', completion({ role, content: '' }, 'error')],
  ])('%s is free and reported as an error', async (_, reply) => {
    const seen = await whole(reply)
    expectFree(seen, 502)
    expect(seen.text).toContain('without a result')
  })

  test.each(padded(emptyMessages, 3))('%s is free', async (_, message, ending) => {
    const { finish, figures } = figuresOf(ending)
    for (const reported of ending ? [figures] : [figures, null]) {
      expectFree(await whole(completion(message, finish, reported)), 200)
      expectFree(await streamed(chunks(message ?? {}, finish, reported)), 200)
    }
  })

  test.each(padded(fullMessages, 4))(
    '%s is paid for',
    async (_, message, finish = 'stop', figures = usage) => {
      expectPaid(await whole(completion(message, finish, figures)))
      expectPaid(await streamed(chunks(message, finish, figures)))
    },
  )

  test('an empty stream is free', async () => {
    expectFree(await streamed([]), 200)
    expectFree(await streamed([{ choices: [], usage }]), 200)
    expectFree(await streamed(chunks({}, 'error', usage)), 200)
  })

  test.each(disguisedEvents)(
    '%s as an event is free and reported as an error',
    async (_, event, __, words) => {
      const seen = await streamed([event])
      expectFree(seen, 200)
      const reported = seen.text.split('\n').flatMap((line) => jsonOf(line.replace(/^data: /, '')) ?? [])
      const error = reported.find((data) => data.error)?.error
      expect(error?.message ?? error).toContain(words)
    },
  )

  test('output before an error is paid for', async () => {
    const [first, second] = chunks({ content: 'Hi' }, 'stop', usage)
    const seen = await streamed([first, second, { error: { message: 'The model broke' } }])
    expectPaid(seen)
  })
})

function message(content: Json, reason = 'end_turn', output = 3): Json {
  const usage = { input_tokens: 9, output_tokens: output }
  return { id: 'msg_1', type: 'message', role, model: 'm', content, stop_reason: reason, usage }
}

function messageEvents(content: Json, reason: string, output: number, details?: Json): Json[] {
  const first = { ...message([], 'end_turn', 1), stop_reason: null }
  const blocks = (content as Json[]).flatMap((block, index) => [
    { type: 'content_block_start', index, content_block: block },
    { type: 'content_block_stop', index },
  ])
  return [
    { type: 'message_start', message: first },
    { type: 'ping' },
    ...blocks,
    {
      type: 'message_delta',
      delta: { stop_reason: reason, stop_sequence: null },
      usage: { output_tokens: output, ...details },
    },
  ]
}

const thinking = { type: 'thinking', thinking: '', signature: 'EuYB' }
const tool = { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} }
const emptyContents: [name: string, content: Json, reason?: string, output?: number][] = [
  ['no blocks', []],
  ['an empty text', [{ type: 'text', text: '', citations: null }]],
  ['empty thinking', [{ type: 'thinking', thinking: '', signature: '' }]],
]
const fullContents: [name: string, content: Json, reason?: string, output?: number][] = [
  ['a text', [{ type: 'text', text: 'Hi' }]],
  ['thinking that is not shown', [thinking], 'end_turn'],
  ['sealed thinking', [{ type: 'redacted_thinking', data: 'QUJD' }]],
  ['a call', [tool], 'tool_use'],
  ['a refusal without words', [], 'refusal', 0],
  ['a limit that was used up', [], 'max_tokens', 3],
]

const messageForms = [
  ['anthropic-messages', '/v1/messages', { messages: say, max_tokens: 9 }],
  ['chat-on-messages', '/v1/chat/completions', { messages: say }],
] as const

describe.each(messageForms)('%s', (model, path, body) => {
  const whole = (reply: Json) => {
    vendor.answer = { reply }
    return ask(path, { model, ...body })
  }
  const streamed = (events: Json[]) => {
    vendor.answer = { events, end: '{"type":"message_stop"}' }
    return ask(path, { model, stream: true, ...body })
  }

  test.each(disguises)('%s is free and reported as an error', async (_, reply, status, words) => {
    const seen = await whole(reply)
    expectFree(seen, status)
    expect(seen.json.error.message).toContain(words)
  })

  test.each([
    ['null for content', { ...message([]), content: null }],
    ['no content', { type: 'message', role, usage: { input_tokens: 9, output_tokens: 3 } }],
  ])('%s is free and reported as an error', async (_, reply) => expectFree(await whole(reply), 502))

  test.each(padded(emptyContents, 4))('%s is free', async (_, content, reason = 'end_turn', output = 3) => {
    expectFree(await whole(message(content, reason, output)), 200)
    expectFree(await streamed(messageEvents(content, reason, output)), 200)
  })

  test.each(padded(fullContents, 4))(
    '%s is paid for',
    async (_, content, reason = 'end_turn', output = 3) => {
      expectPaid(await whole(message(content, reason, output)))
      expectPaid(await streamed(messageEvents(content, reason, output)))
    },
  )

  test('each piece of a block counts as output', async () => {
    const [first, ping, ...rest] = messageEvents([], 'end_turn', 3)
    const start = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
    const piece = (delta: Json) => ({ type: 'content_block_delta', index: 0, delta })
    expectFree(await streamed([first, ping, start, piece({ type: 'text_delta', text: '' }), ...rest]), 200)
    expectPaid(await streamed([first, ping, start, piece({ type: 'text_delta', text: 'Hi' }), ...rest]))
    expectPaid(await streamed([first, start, piece({ type: 'signature_delta', signature: 'Eu' }), ...rest]))
  })

  test('thinking that only the usage shows is output', async () => {
    const details = { output_tokens_details: { thinking_tokens: 3 } }
    const reply = message([])
    expectPaid(await whole({ ...reply, usage: { ...reply.usage, ...details } }))
    expectPaid(await streamed(messageEvents([], 'end_turn', 3, details)))
  })

  test.each(disguisedEvents)(
    '%s as an event is free and reported as an error',
    async (_, event, __, words) => {
      const seen = await streamed([event])
      expectFree(seen, 200)
      const reported = seen.text.split('\n').flatMap((line) => jsonOf(line.replace(/^data: /, '')) ?? [])
      expect(reported.find((data) => data.error)?.error.message).toContain(words)
    },
  )
})

test('a request without output that fills a cache is paid for', async () => {
  const reply = message([], 'max_tokens', 0)
  vendor.answer = { reply: { ...reply, usage: { ...reply.usage, cache_creation_input_tokens: 5 } } }
  const body = { model: 'anthropic-messages', max_tokens: 0, messages: say }
  expectPaid(await ask('/v1/messages', body))
})

const embeddings: [model: string, list: (vectors: Json[]) => Json][] = [
  [
    'openai-embeddings',
    (vectors) => ({ data: vectors.map((embedding, index) => ({ index, embedding })), usage }),
  ],
  ['gemini-embeddings', (vectors) => ({ embeddings: vectors.map((values) => ({ values })) })],
  [
    'voyage-embeddings',
    (vectors) => ({ data: vectors.map((embedding, index) => ({ index, embedding })), usage }),
  ],
]

describe.each(embeddings)('%s', (model, list) => {
  const answer = (reply: Json) => {
    vendor.answer = { reply }
    return ask('/v1/embeddings', { model, input: ['one', 'two'] })
  }

  test.each(disguises)('%s is free and reported as an error', async (_, reply, status, words) => {
    const seen = await answer(reply)
    expectFree(seen, status)
    expect(seen.json.error.message).toContain(words)
  })

  test.each([
    ['no vectors', []],
    ['one of two', [[1, 2]]],
    ['empty vectors', [[], []]],
    ['one empty vector', [[1, 2], []]],
    ['nulls', [null, null]],
    ['vectors of nulls', [[null], [null]]],
    ['texts', ['', '']],
  ])('%s are free', async (_, vectors) => expectFree(await answer(list(vectors)), 502))

  test('vectors are paid for', async () => expectPaid(await answer(list([[1], [0.5]]))))
})

function edit(model: string): FormData {
  const { bytes, contentType } = picture('png', 64, 48)
  const form = new FormData()
  form.append('model', model)
  form.append('prompt', 'A fox')
  form.append('image', new File([new Uint8Array(bytes)], 'fox.png', { type: contentType }))
  return form
}

const imageUsage = { input_tokens: 5, output_tokens: 100, total_tokens: 105 }
const GENERATIONS = '/v1/images/generations'
const prompt = { prompt: 'A fox' }
const listed = (...data: Json[]) => ({ created: 1, data, usage: imageUsage })
const openAiEmpties: Json[] = [
  listed(),
  listed({}),
  listed(null),
  listed({ b64_json: '' }),
  listed({ url: null }),
]
const flat = (...content: Json[]) => ({
  output: { choices: [{ finish_reason: 'stop', message: { role, content } }] },
  usage: { image_count: 1 },
})
const steps = (...content: Json[]) => ({
  status: 'completed',
  steps: [{ type: 'model_output', content }],
  usage: { total_input_tokens: 5, total_output_tokens: 9, total_tokens: 14 },
})

/** Without a picture, and with one. */
const images: [model: string, path: string, body: () => Json, empties: Json[], full: Json][] = [
  ['openai-images', GENERATIONS, () => prompt, openAiEmpties, listed({ b64_json: 'QUJD' })],
  [
    'openai-image-edits',
    '/v1/images/edits',
    () => edit('openai-image-edits'),
    openAiEmpties,
    listed({ b64_json: 'QUJD' }),
  ],
  ['dalle-images', GENERATIONS, () => prompt, openAiEmpties, listed({ url: 'https://x.example/a.png' })],
  [
    'dalle-image-edits',
    '/v1/images/edits',
    () => edit('dalle-image-edits'),
    openAiEmpties,
    listed({ b64_json: 'QUJD' }),
  ],
  [
    'ark-images',
    GENERATIONS,
    () => prompt,
    [...openAiEmpties, { data: [], usage: { generated_images: 1 } }],
    listed({ url: 'https://x.example/a.png' }),
  ],
  ['xai-images', GENERATIONS, () => prompt, openAiEmpties, listed({ url: 'https://x.example/a.png' })],
  [
    'dashscope-images',
    GENERATIONS,
    () => ({ input: { messages: [{ role: 'user', content: [{ text: 'A fox' }] }] } }),
    [flat(), flat({ image: '' }), flat({ text: 'no' })],
    flat({ image: 'https://x.example/a.png' }),
  ],
  [
    'gemini-images',
    GENERATIONS,
    () => ({ input: 'A fox' }),
    [steps(), steps({ type: 'text', text: '' }), steps({ type: 'image', data: '' }), { status: 'completed' }],
    steps({ type: 'text', text: 'No fox today.' }),
  ],
]

describe.each(images)('%s', (model, path, bodyOf, empties, full) => {
  const answer = (reply: Json) => {
    vendor.answer = { reply }
    const body = bodyOf()
    return ask(path, body instanceof FormData ? body : { model, ...body })
  }

  test.each(disguises)('%s is free and reported as an error', async (_, reply, status, words) => {
    const seen = await answer(reply)
    expectFree(seen, status)
    expect(seen.text).toContain(words)
  })

  test('without a picture it is free', async () => {
    for (const reply of empties) {
      // This vendor omits what its moderation withholds, which is reported.
      const isHeldBack = model === 'xai-images' && reply.data.length > 0
      expectFree(await answer(reply), isHeldBack ? 400 : 502)
    }
  })

  test('an answer with the reason of each failure is free', async () => {
    if (model !== 'ark-images') return
    expectFree(await answer({ data: [{ error: { code: 'OutputImageSensitive' } }] }), 200)
  })

  test('with one it is paid for', async () => expectPaid(await answer(full)))
})

describe('streams of pictures', () => {
  const streamed = (model: string, events: Json[], end: string | null) => {
    vendor.answer = { events, end }
    const what = model === 'gemini-images' ? { input: 'A fox' } : prompt
    return ask(GENERATIONS, { model, stream: true, ...what })
  }

  test.each([
    ['openai-images', [{ type: 'image_generation.completed', b64_json: '', usage: imageUsage }], null],
    ['openai-images', [{ type: 'image_generation.completed', usage: imageUsage }], null],
    ['ark-images', [{ type: 'image_generation.completed', usage: { generated_images: 1 } }], '[DONE]'],
    ['ark-images', [{ type: 'image_generation.partial_succeeded', url: '' }], '[DONE]'],
    ['gemini-images', [{ event_type: 'interaction.completed', interaction: steps() }], '[DONE]'],
  ])('%s without a picture is free', async (model, events, end) =>
    expectFree(await streamed(model, events, end), 200),
  )

  test.each([
    ['openai-images', [{ type: 'image_generation.completed', b64_json: 'QUJD', usage: imageUsage }], null],
    [
      'ark-images',
      [
        { type: 'image_generation.partial_succeeded', url: 'https://x.example/a.png' },
        { type: 'image_generation.completed', usage: { generated_images: 1 } },
      ],
      '[DONE]',
    ],
    [
      'gemini-images',
      [
        { delta: { type: 'text', text: 'No.' } },
        { event_type: 'interaction.completed', interaction: steps() },
      ],
      '[DONE]',
    ],
  ])('%s with a picture is paid for', async (model, events, end) =>
    expectPaid(await streamed(model, events, end)),
  )
})

describe('dashscope-speech', () => {
  const speak = (answer: RecordedVendor['answer']) => {
    vendor.answer = answer
    return ask('/v1/audio/speech', { model: 'dashscope-speech', input: 'Hello', response_format: 'wav' })
  }
  const sound = (audio: Json, finish: Json = 'stop') => ({
    output: { finish_reason: finish, audio },
    usage: { characters: 5 },
  })

  test.each(disguises)('%s is free and reported as an error', async (_, reply, status, words) => {
    const seen = await speak({ reply })
    expectFree(seen, status)
    expect(seen.json.error.message).toContain(words.replace('a result', 'a sound'))
  })

  test.each([
    ['no audio', sound(null)],
    ['an empty piece', sound({ data: '', url: '' })],
    ['no address', sound({})],
  ])('%s is free', async (_, reply) => {
    expectFree(await speak({ reply }), 502)
    expectFree(await speak({ events: [reply], end: null }), 502)
  })

  test('sound is paid for', async () => {
    const data = Buffer.alloc(4_800).toString('base64')
    expectPaid(await speak({ events: [sound({ data }, null), sound({ data: '' })], end: null }))
  })
})
