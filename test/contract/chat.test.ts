// POST /v1/chat/completions and GET /v1/models as callers use them: every field of the spec reaches the vendor, the
// answer has the gateway's ids, and the reported usage is charged.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readCompletion } from '../../src/families/chat/caller-side'
import { formatUsd } from '../../src/lib/money'
import { say, startTestGateway, type TestGateway, testModels } from '../support/gateway'
import { type Json, type Played, play, type Scenario } from '../support/scenario'

let gateway: TestGateway

beforeAll(async () => {
  const audioPrices = { per_1m_input_audio_tokens: '10', per_1m_output_audio_tokens: '20' }
  const { price } = testModels['test-local'] ?? {}
  gateway = await startTestGateway({
    models: { 'test-sound': { ...testModels['test-local'], price: { ...price, ...audioPrices } } },
  })
})
afterAll(() => gateway.close())

const served = { status: 200, vendorCalls: 1, charges: 1 }

function chat(body: Record<string, unknown> | string, expected: Partial<Scenario> = {}): Promise<Played> {
  return play(gateway, { name: 'chat', body, ...served, ...expected })
}

function vendorBody(played: Played): Json {
  return JSON.parse(played.calls[0]?.body ?? '')
}

/** The events of a stream, without the closing one. */
function chunksOf(text: string): Json[] {
  const events = text.split('\n\n').filter((event) => event.startsWith('data: '))
  expect(events.at(-1)).toBe('data: [DONE]')
  return events.slice(0, -1).map((event) => JSON.parse(event.slice('data: '.length)))
}

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
}
const clock = { type: 'function', function: { name: 'read_clock' } }

/** Every optional field of the spec's table, with the other fields that it needs. */
const fields: [field: string, value: Json, others?: Record<string, Json>][] = [
  ['stream', false],
  ['temperature', 0.3],
  ['max_tokens', 77],
  ['top_p', 0.5],
  ['tools', [weather, clock]],
  ['tool_choice', 'auto', { tools: [weather] }],
  ['tool_choice', 'none', { tools: [weather] }],
  ['tool_choice', { type: 'function', function: { name: 'get_weather' } }, { tools: [weather] }],
  ['response_format', { type: 'json_schema', json_schema: { name: 'a', schema: { type: 'object' } } }],
  ['stop', ['END', '\n\n']],
  ['stop', 'END'],
  ['n', 3],
  ['seed', 42],
  ['frequency_penalty', -2],
  ['presence_penalty', 1.5],
  ['logit_bias', { 50256: -100 }],
  ['parallel_tool_calls', false, { tools: [weather] }],
  ['logprobs', true],
  ['top_logprobs', 4, { logprobs: true }],
  ['max_completion_tokens', 88],
  ['reasoning_effort', 'low'],
  ['verbosity', 'high'],
  ['modalities', ['text']],
  ['prediction', { type: 'content', content: 'Hello' }],
  ['stream_options', { include_usage: true }, { stream: true }],
  ['store', true],
  ['metadata', { team: 'blue', run: '7' }],
  ['user', 'user-1'],
  ['prompt_cache_key', 'prefix-1'],
  ['prompt_cache_retention', '24h'],
]

describe('every field of the spec', () => {
  for (const [field, value, others] of fields) {
    test(`${field} ${JSON.stringify(value)} reaches the vendor`, async () => {
      const sent = { model: 'test-local', messages: say('Hello!'), ...others, [field]: value }
      expect(vendorBody(await chat(sent))).toEqual({ ...sent, model: 'local-model' })
      // The gateway and the strict vendor accept the same fields.
      const strict = { ...sent, model: 'test-chat' }
      if (field !== 'reasoning_effort' && field !== 'verbosity') {
        expect(vendorBody(await chat(strict))).toEqual({ ...sent, model: 'gpt-4.1-mini' })
      }
    })
  }

  test.each([
    [{ modalities: ['text', 'audio'], audio: { voice: 'alloy', format: 'mp3' } }],
    [
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
              { type: 'text', text: 'Describe it.' },
            ],
          },
        ],
      },
    ],
  ])('sound reaches the vendor if the model has a price for it: %j', async (sound) => {
    const sent = { model: 'test-sound', messages: say('Hello!'), ...sound }
    expect(vendorBody(await chat(sent))).toEqual({ ...sent, model: 'local-model' })
  })

  test('cache writes are read from the fields of both vendors that report them', () => {
    for (const name of ['cache_write_tokens', 'cache_creation_input_tokens']) {
      const usage = {
        prompt_tokens: 100,
        completion_tokens: 5,
        total_tokens: 105,
        prompt_tokens_details: { cached_tokens: 20, [name]: 30 },
      }
      expect(readCompletion({ choices: [], usage }).usage?.figures).toEqual({
        input_token: 50,
        cached_input_token: 20,
        cache_write_token: 30,
        output_token: 5,
      })
    }
  })

  test('null means absent, and reaches the vendor unchanged', async () => {
    const nulls = Object.fromEntries(fields.map(([field]) => [field, null]))
    const sent = { model: 'test-local', messages: say('Hello!'), ...nulls }
    expect(vendorBody(await chat(sent))).toEqual({ ...sent, model: 'local-model' })
    await chat({ ...sent, model: 'test-chat' })
    await chat({ ...sent, model: 'test-reasoning' })
  })

  test('an effort is rejected for a model without efforts, and a verbosity is omitted', async () => {
    await chat(
      { model: 'test-chat', messages: say('Hello!'), reasoning_effort: 'low' },
      {
        status: 400,
        error: { param: 'reasoning_effort', code: 'unsupported_parameter' },
        vendorCalls: 0,
        charges: 0,
      },
    )
    const sent = { model: 'test-chat', messages: say('Hello!') }
    expect(vendorBody(await chat({ ...sent, verbosity: 'low' }))).toEqual({ ...sent, model: 'gpt-4.1-mini' })
  })

  test('a vendor’s own refusal of a field is returned, and nothing is charged', async () => {
    const { charges } = await chat(
      { model: 'test-chat', messages: say('Hello!'), enable_thinking: true },
      {
        status: 400,
        error: { param: 'enable_thinking', code: 'unknown_parameter', type: 'invalid_request_error' },
        words: ["Unknown parameter: 'enable_thinking'."],
      },
    )
    expect(charges).toMatchObject([{ state: 'released', amount: 0 }])
  })
})

describe('messages', () => {
  const toolCalls = [
    { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Bern"}' } },
  ]
  const conversations: [what: string, messages: Json[]][] = [
    ['a system message and an author label', [{ role: 'system', content: 'Be brief.' }, ...say('Hi')]],
    ['an author label', [{ role: 'user', content: 'Hi', name: 'ann' }]],
    [
      'earlier turns',
      [...say('Hi'), { role: 'assistant', content: 'Hello.' }, { role: 'user', content: 'Bye' }],
    ],
    [
      'a tool call without text and its result',
      [
        ...say('What is the weather?'),
        { role: 'assistant', content: null, tool_calls: toolCalls },
        { role: 'tool', tool_call_id: 'call_1', content: '21 degrees' },
      ],
    ],
    [
      'a tool call without the member content',
      [
        ...say('What is the weather?'),
        { role: 'assistant', tool_calls: toolCalls },
        { role: 'tool', tool_call_id: 'call_1', content: [{ type: 'text', text: '21 degrees' }] },
      ],
    ],
    [
      'text and images in parts',
      [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: 'https://example.com/a.png', detail: 'low' } },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          ],
        },
      ],
    ],
    [
      'video, whose part shape is the vendor’s own',
      [
        {
          role: 'user',
          content: [
            { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' }, fps: 2 },
            { type: 'text', text: 'Describe it.' },
          ],
        },
      ],
    ],
  ]

  for (const [what, messages] of conversations) {
    test(what, async () => {
      for (const [model, upstreamModel] of [
        ['test-local', 'local-model'],
        ['test-chat', 'gpt-4.1-mini'],
        ['test-dashscope', 'qwen-plus'],
      ]) {
        // This model is known not to accept video.
        if (model === 'test-chat' && what.startsWith('video')) continue
        expect(vendorBody(await chat({ model, messages }))).toEqual({ model: upstreamModel, messages })
      }
    })
  }

  test('the answer uses the result of a tool', async () => {
    const messages = conversations[3]?.[1]
    const { json } = await chat({ model: 'test-chat', messages, tools: [weather] })
    expect(json.choices[0].message.content).toContain('The tool answered: 21 degrees')
    expect(json.choices[0].finish_reason).toBe('stop')
  })
})

describe('tools', () => {
  const request = { messages: say('[sandbox tool=2] Weather and time?'), tools: [weather, clock] }

  for (const model of ['test-chat', 'test-dashscope', 'test-xai', 'test-google']) {
    test(`${model} calls two tools at once`, async () => {
      const { json } = await chat({ model, ...request })
      const [choice] = json.choices
      expect(choice.finish_reason).toBe('tool_calls')
      expect(choice.message.content).toBeNull()
      const names = choice.message.tool_calls.map((call: Json) => call.function.name)
      expect(names).toEqual(['get_weather', 'read_clock'])
      expect(Object.keys(JSON.parse(choice.message.tool_calls[0].function.arguments))).toEqual(['city'])
    })

    test(`${model} streams the same calls`, async () => {
      const { text } = await chat({ model, ...request, stream: true })
      const built: { name: string; arguments: string }[] = []
      for (const call of chunksOf(text).flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? [])) {
        const known = built[call.index] ?? { name: call.function.name, arguments: '' }
        built[call.index] = { ...known, arguments: known.arguments + (call.function.arguments ?? '') }
      }
      expect(built.map(({ name }) => name)).toEqual(['get_weather', 'read_clock'])
      expect(Object.keys(JSON.parse(built[0]?.arguments ?? ''))).toEqual(['city'])
    })
  }
})

describe('what the caller gets', () => {
  test('a whole answer: the spec’s members, the gateway’s model id, and the price', async () => {
    const { json, response, charges } = await chat({
      model: 'test-chat',
      messages: say('[sandbox prompt_tokens=100 tokens=20] Hello!'),
    })
    expect(json).toMatchObject({
      id: expect.stringMatching(/^chatcmpl-/),
      object: 'chat.completion',
      created: expect.any(Number),
      model: 'test-chat',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: expect.stringContaining('You said: Hello!') },
          finish_reason: 'stop',
        },
      ],
      usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
    })
    expect(response.headers.get('content-type')).toBe('application/json')
    // 100 tokens at 1,000 nano-dollars and 20 at 2,000.
    expect(response.headers.get('x-gateway-cost-usd')).toBe('0.00014')
    expect(charges).toMatchObject([{ state: 'settled', amount: 140_000, ended_by: 'done' }])
  })

  test('the vendor’s headers are removed, including its request id', async () => {
    const { response } = await chat({ model: 'test-chat', messages: say('Hello!') })
    const own = [
      'content-type',
      'content-length',
      'date',
      'x-request-id',
      'x-gateway-model',
      'x-gateway-cost-usd',
    ]
    expect([...response.headers.keys()].filter((name) => !own.includes(name))).toEqual([])
  })

  for (const model of ['test-chat', 'test-reasoning', 'test-dashscope', 'test-xai', 'test-google']) {
    test(`${model} streams with the gateway’s id in every chunk, and a usage chunk only on request`, async () => {
      const body = { model, messages: say('[sandbox tokens=6] Hello!'), stream: true }
      const plain = await chat(body, { answers: { 'content-type': /^text\/event-stream/ } })
      const chunks = chunksOf(plain.text)
      expect(new Set(chunks.map((chunk) => chunk.model))).toEqual(new Set([model]))
      expect(chunks.every((chunk) => chunk.choices.length === 1 && !chunk.usage)).toBe(true)
      expect(chunks.at(-1).choices[0].finish_reason).toBe('stop')
      expect(vendorBody(plain).stream_options).toEqual({ include_usage: true })

      const shown = await chat({
        ...body,
        stream_options: { include_usage: true, include_obfuscation: false },
      })
      const last = chunksOf(shown.text).at(-1)
      expect(last).toMatchObject({ model, choices: [], usage: { total_tokens: expect.any(Number) } })
      expect(vendorBody(shown).stream_options).toEqual({ include_usage: true, include_obfuscation: false })
      expect(shown.charges[0]?.amount).toBe(plain.charges[0]?.amount)
      expect(plain.charges[0]?.usage_source).toBe('upstream')
    })
  }

  test('include_usage: false keeps the other stream options, and the vendor’s usage is still charged', async () => {
    const { text, calls, charges } = await chat({
      model: 'test-chat',
      messages: say('[sandbox prompt_tokens=50 tokens=4] Hello!'),
      stream: true,
      stream_options: { include_usage: false, include_obfuscation: false },
    })
    expect(chunksOf(text).some((chunk) => chunk.usage)).toBe(false)
    expect(text).not.toContain('obfuscation')
    expect(JSON.parse(calls[0]?.body ?? '').stream_options).toEqual({
      include_usage: true,
      include_obfuscation: false,
    })
    expect(charges).toMatchObject([{ amount: 58_000, usage_source: 'upstream' }])
  })

  test('log probabilities and JSON answers are returned', async () => {
    const logprobs = await chat({ model: 'test-chat', messages: say('Hello!'), logprobs: true })
    expect(logprobs.json.choices[0].logprobs.content[0]).toMatchObject({ logprob: expect.any(Number) })
    const json = await chat({
      model: 'test-chat',
      messages: say('Answer in JSON.'),
      response_format: { type: 'json_object' },
    })
    expect(JSON.parse(json.json.choices[0].message.content)).toBeObject()
  })

  test('a limit of tokens ends the text with `length`', async () => {
    const { json } = await chat({
      model: 'test-chat',
      messages: say('[sandbox tokens=50] Hello!'),
      max_tokens: 5,
    })
    expect(json.choices[0].finish_reason).toBe('length')
    expect(json.usage.completion_tokens).toBe(5)
  })
})

describe('stop', () => {
  const text = '[sandbox] one two three four'

  test.each([
    ['three', 'You said: one two '],
    [['four', 'two'], 'You said: one '],
    [['nowhere'], undefined],
    ['wo thr', 'You said: one t'],
  ])(
    '%j ends the simulated answer before that text: whole, streamed and in messages',
    async (stop, expected) => {
      const body = { model: 'test-chat', messages: say(text), stop }
      const { json } = await chat(body)
      const content = expected ?? json.choices[0].message.content
      expect(json.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content } })
      expect(content).toContain('one')
      const streamed = await (await gateway.chat({ ...body, stream: true })).text()
      const pieces = streamed.split('\n').flatMap((line) => {
        if (!line.startsWith('data: {')) return []
        return JSON.parse(line.slice(6)).choices.map((choice: Json) => choice.delta.content ?? '')
      })
      expect(pieces.join('')).toBe(content)
      const message = {
        model: 'test-messages',
        max_tokens: 500,
        messages: say(text),
        stop_sequences: [stop].flat(),
      }
      const answer = (await (await gateway.post('/v1/messages', message)).json()) as Json
      expect(answer.content[0].text).toBe(content)
      expect(answer.stop_reason).toBe(expected === undefined ? 'end_turn' : 'stop_sequence')
    },
  )
})

describe('reasoning models', () => {
  const ask = { model: 'test-reasoning', messages: say('[sandbox tokens=10] Hello!') }

  test('get no fields that they reject, and the caller gets no error', async () => {
    const played = await chat({
      ...ask,
      temperature: 0.2,
      top_p: 0.1,
      stop: ['END'],
      frequency_penalty: 1,
      presence_penalty: 1,
      logit_bias: { 1: 1 },
      logprobs: true,
      top_logprobs: 2,
      modalities: ['text'],
      audio: { voice: 'alloy' },
      prediction: { type: 'content', content: 'x' },
      seed: 7,
      user: 'user-1',
    })
    expect(vendorBody(played)).toEqual({
      model: 'gpt-5-mini',
      messages: ask.messages,
      seed: 7,
      user: 'user-1',
    })
  })

  const ignored = [
    'temperature',
    'top_p',
    'stop',
    'frequency_penalty',
    'presence_penalty',
    'logit_bias',
    'logprobs',
    'top_logprobs',
    'modalities',
    'audio',
    'prediction',
  ]

  test.each(ignored)('%s has no effect, whatever its value or type', async (field) => {
    for (const value of [5, -7, 0.5, 'odd', '', true, null, [], ['x', 5], {}, { voice: 5 }]) {
      const played = await chat({ ...ask, [field]: value })
      expect(vendorBody(played)).toEqual({ model: 'gpt-5-mini', messages: ask.messages })
    }
    // For another model, the vendor reports what is wrong with the value.
    const odd = field === 'stop' || field === 'modalities' ? 5 : 'odd'
    const refused = { status: 400, error: { param: field }, vendorCalls: 0, charges: 0 }
    await chat({ ...ask, model: 'test-chat', [field]: odd }, refused)
  })

  test('of messages are removed for the same models', async () => {
    for (const odd of [{ temperature: 5 }, { top_p: 'x' }, { stop_sequences: 5 }]) {
      const body = { model: 'test-reasoning', max_tokens: 50, messages: ask.messages, ...odd }
      expect((await gateway.post('/v1/messages', body)).status).toBe(200)
      const strict = { ...body, model: 'test-chat' }
      expect((await gateway.post('/v1/messages', strict)).status).toBe(400)
    }
  })

  const limits: [sent: Record<string, unknown>, vendor: Record<string, unknown>][] = [
    [{ max_tokens: 500 }, { max_completion_tokens: 500 }],
    [{ max_completion_tokens: 500 }, { max_completion_tokens: 500 }],
    [{ max_tokens: 900, max_completion_tokens: 500 }, { max_completion_tokens: 500 }],
    [{ max_completion_tokens: null, max_tokens: 500 }, { max_completion_tokens: 500 }],
    [{ max_tokens: null }, {}],
  ]
  for (const [sent, vendor] of limits) {
    test(`${JSON.stringify(sent)} becomes ${JSON.stringify(vendor)}`, async () => {
      const played = await chat({ ...ask, ...sent })
      expect(vendorBody(played)).toEqual({ model: 'gpt-5-mini', messages: ask.messages, ...vendor })
    })
  }

  test('an unsupported effort is rejected with the list of supported ones, and nothing is held', async () => {
    await chat(
      { ...ask, reasoning_effort: 'xhigh' },
      {
        status: 400,
        error: { param: 'reasoning_effort', code: 'unsupported_value', type: 'invalid_request_error' },
        words: ["'minimal', 'low', 'medium', and 'high'"],
        vendorCalls: 0,
        charges: 0,
      },
    )
  })

  test('thinking can use the whole limit: the text is empty, the reason is `length`, and it is charged', async () => {
    const { json, charges } = await chat({
      ...ask,
      messages: say('[sandbox prompt_tokens=10] Hello!'),
      max_completion_tokens: 12,
    })
    expect(json.choices[0]).toMatchObject({ finish_reason: 'length', message: { content: '' } })
    expect(json.usage.completion_tokens).toBe(12)
    expect(json.usage.completion_tokens_details.reasoning_tokens).toBe(12)
    expect(charges).toMatchObject([{ state: 'settled', amount: 10_000 + 24_000 }])
  })

  test('less effort leaves room for the text', async () => {
    const { json } = await chat({ ...ask, max_completion_tokens: 12, reasoning_effort: 'minimal' })
    expect(json.usage.completion_tokens_details.reasoning_tokens).toBe(4)
    expect(json.choices[0].message.content).not.toBe('')
  })
})

describe('the vendor gets the caller’s bytes, except the edited members', () => {
  const odd = [
    '\n\t{ "messages" :[ {"role":"user",\r\n"content":"caf\\u00e9 é \\/ \\ud83d\\ude00 \\ud800 \\"model\\":\\"x\\"" , "name":"a" } ] ',
    ',"seed": 9007199254740993, "temperature":1.0 ,"top_p":1E-0, "zeta":{"b":1,"a":[ ]},',
    '"unknown\\u0020field":-0.0,"model"  :  "test-local"  , "big":123456789012345678901234567890,',
    '"metadata":{ },"__proto__":{"polluted":true}, "last" : [1.10, null , true]\t}\n ',
  ].join('')

  test('white space, big integers, 1.0, key order, escapes and unknown fields', async () => {
    const { calls } = await chat(odd)
    expect(calls[0]?.body).toBe(odd.replace('"test-local"', '"local-model"'))
  })

  test('a stream adds its options at the end and changes nothing else', async () => {
    const streamed = odd.replace('"last"', '"stream" :true, "last"')
    const { calls } = await chat(streamed)
    const expected = streamed
      .replace('"test-local"', '"local-model"')
      .replace(/}\n $/, ',"stream_options":{"include_usage":true}}\n ')
    expect(calls[0]?.body).toBe(expected)
  })

  test('fields that reasoning models reject are removed with their comma, wherever they are', async () => {
    const head = '{"temperature" : 0.5 ,"model":"test-reasoning", "stop":["a"],'
    const tail = ' "messages":[{"role":"user","content":"Hello!"}], "seed":9007199254740993 ,"top_p":0.1 }'
    const { calls } = await chat(head + tail)
    expect(calls[0]?.body).toBe(
      '{"model":"gpt-5-mini", "messages":[{"role":"user","content":"Hello!"}], "seed":9007199254740993 }',
    )
  })

  test('an escaped name is the member that it spells', async () => {
    const body = '{"\\u006dodel":"test-local","messages":[{"role":"user","content":"Hi"}]}'
    const { calls } = await chat(body)
    expect(calls[0]?.body).toBe(body.replace('test-local', 'local-model'))
  })

  test('10 MB of base64', async () => {
    const url = `data:image/png;base64,${Buffer.alloc(7_500_000, 'image').toString('base64')}`
    expect(url.length).toBeGreaterThan(10_000_000)
    const sent = JSON.stringify({
      model: 'test-local',
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    })
    const { calls } = await chat(sent)
    // Not compared with `toBe`, because a failure would print all of it.
    expect(calls[0]?.body === sent.replace('"test-local"', '"local-model"')).toBe(true)
  })
})

describe('the vendor’s usage is charged', () => {
  const bill = (input: number, cached: number, output: number) =>
    input * 1_000 + cached * 100 + output * 2_000
  const rows: [what: string, directive: string, extra: Record<string, unknown>, paidNano: number][] = [
    ['input and output', 'prompt_tokens=100 tokens=20 reasoning=0', {}, bill(100, 0, 20)],
    ['cached input separately', 'prompt_tokens=100 cached=40 tokens=20 reasoning=0', {}, bill(60, 40, 20)],
    ['reasoning as output, once', 'prompt_tokens=100 tokens=20 reasoning=30', {}, bill(100, 0, 50)],
    ['all candidates', 'prompt_tokens=100 tokens=20 reasoning=5', { n: 3 }, bill(100, 0, 75)],
    ['all of it', 'prompt_tokens=90 cached=90 tokens=7 reasoning=3', { n: 2 }, bill(0, 90, 20)],
  ]
  for (const model of [
    'test-chat',
    'test-reasoning',
    'test-local',
    'test-dashscope',
    'test-xai',
    'test-google',
  ]) {
    for (const [what, directive, extra, paidNano] of rows) {
      test(`${model}: ${what}, whole and streamed`, async () => {
        const body = { model, messages: say(`[sandbox ${directive}] Hello!`), ...extra }
        const whole = await chat(body)
        const streamed = await chat({ ...body, stream: true })
        for (const { charges, logRows } of [whole, streamed]) {
          expect(charges).toMatchObject([
            { state: 'settled', amount: paidNano, usage_source: 'upstream', shortfall: 0 },
          ])
          expect(logRows).toMatchObject([{ amount: paidNano, usage_source: 'upstream', ended_by: 'done' }])
        }
        // The vendor's own usage is kept for audits, and callers do not get the operator's cost.
        const { cost_in_usd_ticks: cost, ...figures } = JSON.parse(String(whole.charges[0]?.usage))
        expect(typeof cost).toBe(model === 'test-xai' ? 'number' : 'undefined')
        // Callers see all of the output, because its figures are billed.
        const output = figures.total_tokens - figures.prompt_tokens
        expect(whole.json.usage).toEqual({ ...figures, completion_tokens: output })
        expect(whole.response.headers.get('x-gateway-cost-usd')).toBe(formatUsd(paidNano))
        expect(whole.json.choices).toHaveLength(Number(extra.n ?? 1))
      })
    }
  }

  const holds: [limits: Record<string, unknown>, outputTokens: number][] = [
    [{}, 4_096],
    [{ n: 2 }, 8_192],
    [{ max_tokens: 50 }, 50],
    [{ max_completion_tokens: 60, n: 3 }, 180],
    // A vendor may support only one of the two, so a small value must not hide a large one.
    [{ max_completion_tokens: 1, max_tokens: 900 }, 900],
    [{ max_completion_tokens: 900, max_tokens: 1 }, 900],
  ]
  for (const [limits, outputTokens] of holds) {
    test(`before the call, ${JSON.stringify(limits)} holds the price of ${outputTokens} output tokens`, async () => {
      const body = JSON.stringify({ model: 'test-local', messages: say('Hello!'), ...limits })
      const { charges } = await chat(body)
      expect(charges).toMatchObject([{ held: bill(body.length, 0, outputTokens) }])
    })
  }

  test('thinking that vendors report only in their totals is charged', async () => {
    const rows: [model: string, extra: Record<string, unknown>, thinking: number][] = [
      ['test-xai', {}, 16],
      ['test-xai', { reasoning_effort: 'high' }, 32],
      ['test-google', { reasoning_effort: 'medium' }, 16],
      ['test-dashscope', { enable_thinking: true }, 24],
      ['test-reasoning', { reasoning_effort: 'high' }, 32],
    ]
    for (const [model, extra, thinking] of rows) {
      const messages = say('[sandbox prompt_tokens=10 tokens=5] Hello!')
      const { charges } = await chat({ model, messages, ...extra })
      expect({ model, amount: charges[0]?.amount }).toEqual({ model, amount: bill(10, 0, 5 + thinking) })
    }
  })
})

describe('GET /v1/models', () => {
  const list = { method: 'GET', path: '/v1/models', name: 'models', status: 200, logRows: 0 }

  test('lists the whole catalogue for a key without restrictions', async () => {
    const { json } = await play(gateway, list)
    expect(json.object).toBe('list')
    expect(json.data.map((model: Json) => model.id)).toEqual([
      ...gateway.server.world.catalogue.models.keys(),
    ])
    expect(json.data[0]).toMatchObject({
      id: 'test-chat',
      object: 'model',
      created: expect.any(Number),
      owned_by: 'openai',
    })
  })

  test('lists only the models that the key may use, and finds no others', async () => {
    const { secret: key } = await gateway.makeKey('bob', '1', { models: ['test-xai', 'vgx-4', 'not-there'] })
    const { json } = await play(gateway, { ...list, key })
    expect(json.data.map((model: Json) => model.id)).toEqual(['test-xai', 'vgx-4'])
    const one = await play(gateway, { ...list, key, path: '/v1/models/test-xai' })
    expect(one.json).toMatchObject({ id: 'test-xai', object: 'model', owned_by: 'xai' })
    for (const id of ['test-chat', 'nowhere', '%E0%A4%A', '..%2f..%2fetc']) {
      await play(gateway, {
        ...list,
        key,
        path: `/v1/models/${id}`,
        status: 404,
        error: { code: 'model_not_found', type: 'invalid_request_error' },
        words: ['does not exist or this key may not use it'],
      })
    }
    const nothing = await gateway.makeKey('carol', '1', { models: [] })
    expect((await play(gateway, { ...list, key: nothing.secret })).json.data).toEqual([])
  })

  test('finds an id as clients encode it', async () => {
    const { json } = await play(gateway, { ...list, path: '/v1/models/test%2Dchat' })
    expect(json.id).toBe('test-chat')
  })

  test('needs a key', async () => {
    for (const path of ['/v1/models', '/v1/models/test-chat']) {
      await play(gateway, {
        ...list,
        path,
        key: null,
        status: 401,
        error: { code: 'invalid_api_key' },
        answers: { 'www-authenticate': 'Bearer' },
        absent: ['owned_by'],
      })
    }
  })
})
