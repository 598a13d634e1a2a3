// Reasoning that must come back, as vendors really send it: signatures in pieces of a stream and on several calls, calls without
// ids, details in fragments, steps within one turn. A vendor over real HTTP says it, in messages and responses, whole and streamed;
// the test then checks what it got back.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import type { Traits } from '../../src/contract/traits'
import { readEvents } from '../support/answers/message-events'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { eventStream, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(60_000)

const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
const modelOf = (upstream: string, upstreamModel: string, traits: Partial<Traits> = {}): ModelConfig => ({
  family: 'openai-chat',
  upstream,
  upstreamModel,
  price,
  traits,
})
const models = {
  google: modelOf('of-google', 'gemini-3-pro-preview'),
  latest: modelOf('of-google', 'models/gemini-flash-latest'),
  // Names that say nothing, with the rule in the configuration.
  'told-signatures': modelOf('of-google', 'house-model', { returned: 'signatures' }),
  'told-reasoning': modelOf('of-google', 'house-model', { returned: 'demanded_reasoning' }),
  'told-nothing': modelOf('of-google', 'gemini-3-pro-preview', { returned: 'nothing' }),
  older: modelOf('of-google', 'gemini-2.5-pro'),
  vertex: modelOf('of-vertex', 'google/gemini-3.5-flash'),
  router: modelOf('of-router', 'google/gemini-3-flash-preview'),
  groq: modelOf('of-groq', 'moonshotai/kimi-k2-instruct-0905'),
  mistral: modelOf('of-mistral', 'mistral-medium-3.5'),
  'router-deepseek': modelOf('of-router', 'deepseek/deepseek-v4-pro'),
}

let gateway: TestGateway
let vendor: OddVendor
let received: Json[] = []
/** Answers in their order, each as the deltas of a stream; then the vendor says that it has finished. */
let script: Json[][] = []

beforeAll(async () => {
  vendor = startVendor({
    async answer(request) {
      const body = (await request.json()) as Json
      received.push(body)
      const deltas = script.shift() ?? [{ content: 'Done.' }]
      return body.stream ? streamOf(deltas) : Response.json(completionOf(deltas))
    },
  })
  const at = { baseUrl: vendor.url, apiKey: 'none' }
  gateway = await startTestGateway({
    balance: '1000',
    models,
    upstreams: {
      'of-google': { ...at, kind: 'google' },
      'of-vertex': { ...at, kind: 'vertex', project: 'house' },
      'of-router': { ...at, kind: 'openrouter' },
      'of-groq': { ...at, kind: 'groq' },
      'of-mistral': { ...at, kind: 'mistral' },
    },
  })
})

afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }

function streamOf(deltas: readonly Json[]): Response {
  const chunks = [
    ...deltas.map((delta) => ({ choices: [{ index: 0, delta, finish_reason: null }] })),
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage },
  ]
  return eventStream(
    `${chunks.map((chunk) => `data: ${JSON.stringify({ id: 'c', ...chunk })}\n\n`).join('')}data: [DONE]\n\n`,
  )
}

/** A whole completion with the content of the deltas, each call in one of them. */
function completionOf(deltas: readonly Json[]): Json {
  const joined = (name: string) => deltas.map((delta) => delta[name] ?? '').join('') || undefined
  const listed = (name: string) => {
    const all = deltas.flatMap((delta) => delta[name] ?? [])
    return all.length > 0 ? all : undefined
  }
  const message = {
    role: 'assistant',
    content: joined('content') ?? null,
    reasoning: joined('reasoning'),
    reasoning_content: joined('reasoning_content'),
    tool_calls: listed('tool_calls'),
    reasoning_details: listed('reasoning_details'),
    extra_content: deltas.find(({ extra_content: extra }) => extra)?.extra_content,
  }
  return { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }
}

const signed = (thought_signature: string) => ({ google: { thought_signature } })
const call = (id: string, name: string, extra?: Json) => ({
  ...(id !== '' && { id }),
  type: 'function',
  function: { name, arguments: '{"at":1}' },
  ...(extra && { extra_content: extra }),
})

interface Dialect {
  path: string
  first: Json[]
  body(history: Json[]): Json
  read(response: Response, isStreamed: boolean): Promise<Json[]>
  results(answer: Json[]): Json[]
}

const dialects: Record<'messages' | 'responses', Dialect> = {
  messages: {
    path: '/v1/messages',
    first: [{ role: 'user', content: 'Go' }],
    body: (history) => ({ max_tokens: 100, messages: history }),
    async read(response, isStreamed) {
      if (!isStreamed) return [{ role: 'assistant', content: ((await response.json()) as Json).content }]
      const content = readEvents(await response.text()).content.map(({ arguments: text, ...block }) =>
        block.type === 'tool_use' ? { ...block, input: JSON.parse(text) } : block,
      )
      return [{ role: 'assistant', content }]
    },
    results: ([message]) => [
      {
        role: 'user',
        content: message?.content
          .filter(({ type }: Json) => type === 'tool_use')
          .map(({ id }: Json) => ({ type: 'tool_result', tool_use_id: id, content: 'ok' })),
      },
    ],
  },
  responses: {
    path: '/v1/responses',
    first: [{ role: 'user', content: 'Go' }],
    body: (history) => ({ input: history, store: false }),
    async read(response, isStreamed) {
      if (!isStreamed) return ((await response.json()) as Json).output
      const last = (await response.text()).split('\n').findLast((line) => line.startsWith('data: {')) ?? ''
      return JSON.parse(last.slice('data: '.length)).response.output
    },
    results: (output) =>
      output
        .filter(({ type }) => type === 'function_call')
        .map(({ call_id }) => ({ type: 'function_call_output', call_id, output: 'ok' })),
  },
}

/**
 * Lets the vendor answer this number of times with calls, each with their results, and then finally; returns the assistant's
 * messages to the vendor.
 */
async function loop(
  { path, first, body, read, results }: Dialect,
  model: keyof typeof models,
  isStreamed: boolean,
  answers: Json[][],
): Promise<{ assistants: Json[]; answers: Json[][] }> {
  script = structuredClone(answers)
  received = []
  const kept: Json[][] = []
  let history = [...first]
  for (let step = 0; step <= answers.length; step++) {
    const response = await gateway.post(path, { model, stream: isStreamed, ...body(history) })
    expect(response.status).toBe(200)
    const answer = await read(response, isStreamed)
    kept.push(answer)
    history = [...history, ...answer, ...results(answer)]
  }
  const assistants = received.at(-1)?.messages.filter(({ role }: Json) => role === 'assistant')
  return { assistants, answers: kept }
}

const text = { type: 'reasoning.text', index: 0, format: 'anthropic-claude-v1' }
const encrypted = { type: 'reasoning.encrypted', id: 'a', index: 1, format: 'google-gemini-v1', data: 'c2ln' }

/** An answer, and the members of its message that must come back. */
const cases: [string, keyof typeof models, Json[], Json][] = [
  [
    'parallel calls in deltas of their own, without an index, the first one signed (noho/dayu-agent#45)',
    'google',
    [{ tool_calls: [call('a', 'f', signed('s1'))] }, { tool_calls: [call('b', 'g')] }],
    { tool_calls: [call('a', 'f', signed('s1')), call('b', 'g')] },
  ],
  [
    'a signature on each of two calls',
    'google',
    [{ tool_calls: [call('a', 'f', signed('s1')), call('b', 'g', signed('s2'))] }],
    { tool_calls: [call('a', 'f', signed('s1')), call('b', 'g', signed('s2'))] },
  ],
  [
    'a text that is signed, before a call that is signed too',
    'google',
    [{ content: 'I look.', extra_content: signed('s0') }, { tool_calls: [call('a', 'f', signed('s1'))] }],
    { content: 'I look.', extra_content: signed('s0'), tool_calls: [call('a', 'f', signed('s1'))] },
  ],
  [
    'a signature of a text that comes after it, before a call',
    'google',
    [{ content: 'I ' }, { content: 'look.', extra_content: signed('s0') }, { tool_calls: [call('a', 'f')] }],
    {
      content: 'I look.',
      extra_content: signed('s0'),
      tool_calls: [call('a', 'f', signed('skip_thought_signature_validator'))],
    },
  ],
  [
    'other members next to the signature',
    'google',
    [{ tool_calls: [call('a', 'f', { google: { thought_signature: 's1', more: [1] }, other: {} })] }],
    { tool_calls: [call('a', 'f', { google: { thought_signature: 's1', more: [1] }, other: {} })] },
  ],
  [
    'a signature under the name of another endpoint (earendil-works/pi#6733)',
    'vertex',
    [{ tool_calls: [call('a', 'f', { vertex: { thought_signature: 's1' } })] }],
    { tool_calls: [call('a', 'f', { vertex: { thought_signature: 's1' } })] },
  ],
  [
    'no signature, at an endpoint with a name of its own',
    'vertex',
    [{ tool_calls: [call('a', 'f'), call('b', 'g')] }],
    {
      tool_calls: [
        call('a', 'f', { vertex: { thought_signature: 'skip_thought_signature_validator' } }),
        call('b', 'g'),
      ],
    },
  ],
  [
    'no signature, of a model whose name has no number (1jehuang/jcode#518)',
    'latest',
    [{ tool_calls: [call('a', 'f')] }],
    { tool_calls: [call('a', 'f', signed('skip_thought_signature_validator'))] },
  ],
  [
    'a signature of an older model, which misses none',
    'older',
    [{ tool_calls: [call('a', 'f', signed('s1'))] }],
    { tool_calls: [call('a', 'f', signed('s1'))] },
  ],
  [
    'no signature, of a model that is configured to need it',
    'told-signatures',
    [{ tool_calls: [call('a', 'f')] }],
    { tool_calls: [call('a', 'f', signed('skip_thought_signature_validator'))] },
  ],
  [
    'no reasoning, of a model that is configured to demand it',
    'told-reasoning',
    [{ tool_calls: [call('a', 'f')] }],
    { reasoning_content: ' ', tool_calls: [call('a', 'f')] },
  ],
  [
    'reasoning of a model that is configured to demand it',
    'told-reasoning',
    [{ reasoning_content: 'Hm.' }, { tool_calls: [call('a', 'f')] }],
    { reasoning_content: 'Hm.', tool_calls: [call('a', 'f')] },
  ],
  [
    'no signature, of a model that is configured to need none',
    'told-nothing',
    [{ tool_calls: [call('a', 'f')] }],
    { tool_calls: [call('a', 'f')] },
  ],
  [
    'details (OpenRouterTeam, preserving reasoning blocks)',
    'router',
    [
      { reasoning: 'Hm.', reasoning_details: [{ ...text, text: 'Hm.', signature: 's' }] },
      { tool_calls: [call('a', 'f')], reasoning_details: [encrypted] },
    ],
    {
      reasoning_details: [{ ...text, text: 'Hm.', signature: 's' }, encrypted],
      tool_calls: [call('a', 'f')],
    },
  ],
  [
    'details of a model whose reasoning is demanded',
    'router-deepseek',
    [{ reasoning: 'Hm.', reasoning_details: [{ ...text, text: 'Hm.' }] }, { tool_calls: [call('a', 'f')] }],
    {
      reasoning_content: 'Hm.',
      reasoning_details: [{ ...text, text: 'Hm.' }],
      tool_calls: [call('a', 'f')],
    },
  ],
]

describe.each(['messages', 'responses'] as const)('in %s', (name) => {
  const dialect = dialects[name]

  describe.each([false, true])('streamed: %p', (isStreamed) => {
    test.each(cases)('%s', async (_, model, deltas, expected) => {
      const { assistants } = await loop(dialect, model, isStreamed, [deltas])
      expect(assistants).toEqual([{ role: 'assistant', content: null, ...expected }])
    })

    test('steps of one turn, each with a signature of its own', async () => {
      const steps = ['s1', 's2', 's3'].map((signature, step) => [
        { tool_calls: [call(`c${step}`, 'f', signed(signature)), call(`d${step}`, 'g')] },
      ])
      const { assistants } = await loop(dialect, 'google', isStreamed, steps)
      expect(
        assistants.map(({ tool_calls: calls }) => calls.map((each: Json) => each.extra_content)),
      ).toEqual([
        [signed('s1'), undefined],
        [signed('s2'), undefined],
        [signed('s3'), undefined],
      ])
    })

    test('a call without an id', async () => {
      const { assistants } = await loop(dialect, 'google', isStreamed, [
        [{ tool_calls: [call('', 'f', signed('s1'))] }],
      ])
      expect(assistants[0]?.tool_calls[0]).toMatchObject({
        id: expect.stringMatching(/./),
        extra_content: signed('s1'),
      })
    })
  })

  test('details in fragments, of which the last is the signature (agno-agi/agno#5802)', async () => {
    const { assistants } = await loop(dialect, 'router', true, [
      [
        { reasoning: 'H', reasoning_details: [{ ...text, text: 'H' }] },
        { reasoning: 'm.', reasoning_details: [{ ...text, text: 'm.' }] },
        { reasoning_details: [{ ...text, signature: 's' }] },
        { tool_calls: [call('a', 'f')] },
        { reasoning_details: [encrypted] },
      ],
    ])
    expect(assistants[0]?.reasoning_details).toEqual([{ ...text, text: 'Hm.', signature: 's' }, encrypted])
  })

  test('a signature that comes after its call has begun', async () => {
    const { id, ...rest } = call('a', 'f')
    const { assistants } = await loop(dialect, 'google', true, [
      [
        { tool_calls: [{ index: 0, id, ...rest }] },
        { tool_calls: [{ index: 0, extra_content: signed('s1') }] },
      ],
    ])
    expect(assistants[0]?.tool_calls).toEqual([call('a', 'f', signed('s1'))])
  })

  test('the answer stays at the end of a stream, though its signature comes last', async () => {
    const { answers } = await loop(dialect, 'google', true, [
      [{ content: 'Hi.' }, { content: '', extra_content: signed('s0') }],
    ])
    const last = name === 'messages' ? answers[0]?.[0]?.content.at(-1) : answers[0]?.at(-1)
    expect(last.type).toBe(name === 'messages' ? 'text' : 'message')
  })
})

test('chat gets every byte of a signature, whole and streamed, and gives it back', async () => {
  const calls = [{ index: 0, ...call('a', 'f', { google: { thought_signature: 'a+/=\u00e9' } }) }]
  for (const stream of [false, true]) {
    script = [[{ tool_calls: calls }]]
    received = []
    const messages = [{ role: 'user', content: 'Go' }]
    const response = await gateway.post('/v1/chat/completions', { model: 'google', messages, stream })
    expect(await response.text()).toContain(JSON.stringify(calls[0]))
    const turn = { role: 'assistant', content: null, tool_calls: calls }
    const history = [...messages, turn, { role: 'tool', tool_call_id: 'a', content: 'ok' }]
    await (await gateway.post('/v1/chat/completions', { model: 'google', messages: history })).text()
    expect(received.at(-1)?.messages).toEqual(history)
  }
})

describe.each(['groq', 'mistral'] as const)('%s, which rejects all reasoning, gets none', (model) => {
  test('of a conversation that began at another vendor', async () => {
    const members = {
      reasoning_content: 'Hm.',
      reasoning: 'Hm.',
      reasoning_details: [encrypted],
      extra_content: signed('s'),
    }
    const history = [
      { role: 'user', content: 'Go' },
      { role: 'assistant', content: null, ...members, tool_calls: [call('a', 'f', signed('s'))] },
      { role: 'tool', tool_call_id: 'a', content: 'ok' },
    ]
    received = []
    expect((await gateway.post('/v1/chat/completions', { model, messages: history })).status).toBe(200)
    expect(received[0]?.messages[1]).toEqual({
      role: 'assistant',
      content: null,
      tool_calls: [call('a', 'f')],
    })
    const plain = history.map(({ role, content, tool_call_id }: Json) => ({ role, content, tool_call_id }))
    await gateway.post('/v1/chat/completions', { model, messages: plain.slice(0, 1) })
    expect(received[1]?.messages).toEqual(plain.slice(0, 1).map(({ role, content }) => ({ role, content })))
  })

  test.each(['messages', 'responses'] as const)('of its own, in %s', async (name) => {
    const { assistants } = await loop(dialects[name], model, false, [
      [{ reasoning: 'Hm.', tool_calls: [call('a', 'f')] }],
    ])
    expect(assistants).toEqual([{ role: 'assistant', content: null, tool_calls: [call('a', 'f')] }])
  })
})
