// Session affinity with vendors that cache prompts per key: cache hits across keys, nodes and pauses, how requests of one session
// are recognized, and the savings in reports.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { type Sandbox, startSandbox } from '../../sandbox'
import { faultsOf } from '../../src/config/schema'
import { startTestGateway, type TestGateway, type TestGatewayOptions } from '../support/gateway'
import { startTwin } from '../support/nodes'
import { createCommandLine } from '../support/processes/command-line'
import { createRandom } from '../support/random'
import type { Json } from '../support/scenario'

setDefaultTimeout(180_000)

const KEYS = ['one', 'two', 'three', 'four']
const CONVERSATIONS = 20
const TURNS = 16
/** A rest requested by the vendor, in milliseconds. */
const REST_MS = 20_000

/** More tokens than the minimum of a cache. */
const INSTRUCTIONS = Array.from({ length: 1_500 }, (_, number) => `rule ${number}`).join(' ')

/** As long as the output of a tool. */
const QUESTION = Array.from({ length: 150 }, (_, number) => `line ${number}`).join(' ')

interface Conversation {
  messages: Json[]
  keys: string[]
}

const begin = (number: number): Conversation => ({
  messages: [
    { role: 'system', content: `Case ${number}. ${INSTRUCTIONS}` },
    { role: 'user', content: `Question ${number}` },
  ],
  keys: [],
})

/** One turn of a conversation. Returns its tokens, and the cached ones among them. */
async function takeTurn(node: TestGateway, conversation: Conversation, model: string) {
  const { calls } = node.sandbox
  const response = await node.chat({ model, messages: conversation.messages, max_tokens: 20 })
  const { usage, choices } = (await response.json()) as Json
  expect(response.status).toBe(200)
  conversation.keys.push(keyOf(calls.at(-1)?.headers.authorization))
  conversation.messages.push(choices[0].message, { role: 'user', content: QUESTION })
  return { tokens: usage.prompt_tokens, cached: usage.prompt_tokens_details?.cached_tokens ?? 0 }
}

const keyOf = (authorization = '') => /\+(\w+)$/.exec(authorization)?.[1] ?? ''

interface Nodes {
  nodes: readonly TestGateway[]
  sandbox: Sandbox
  clock: { passedMs: number }
  close(): Promise<void>
}

async function startNodes(
  keys: readonly string[],
  count: number,
  config: TestGatewayOptions['config'] = {},
  more: (sandbox: Sandbox) => Pick<TestGatewayOptions, 'models' | 'upstreams'> = () => ({}),
): Promise<Nodes> {
  const sandbox = startSandbox({ record: true, promptCaches: true })
  const clock = { passedMs: 0 }
  const options: TestGatewayOptions = {
    sandbox,
    config,
    database: 'postgres',
    upstreams: {
      openai: { apiKey: keys.map((key) => `${sandbox.secrets.openai}+${key}`) },
      ...more(sandbox).upstreams,
    },
    models: more(sandbox).models ?? {},
    outside: { now: () => Date.now() + clock.passedMs },
  }
  const first = await startTestGateway(options)
  const nodes = [
    first,
    ...(await Promise.all(Array.from({ length: count - 1 }, () => startTwin(first, options)))),
  ]
  return {
    nodes,
    sandbox,
    clock,
    async close() {
      for (const node of nodes.toReversed()) await node.close()
      await sandbox.stop()
    },
  }
}

/**
 * Takes a turn of all conversations after the other, in any order and on any node. Returns the cached share of the tokens, and the
 * conversations.
 */
async function converse({ nodes }: Nodes, before: (turn: number) => void = () => {}, model = 'test-chat') {
  const random = createRandom(7)
  const conversations = Array.from({ length: CONVERSATIONS }, (_, number) => begin(number))
  let [tokens, cached] = [0, 0]
  for (let turn = 0; turn < TURNS; turn++) {
    before(turn)
    const places = new Map(conversations.map((each) => [each, random.below(2 ** 30)]))
    for (const conversation of conversations.toSorted(
      (a, b) => (places.get(a) ?? 0) - (places.get(b) ?? 0),
    )) {
      const used = await takeTurn(random.pick(nodes), conversation, model)
      tokens += used.tokens
      cached += used.cached
    }
  }
  return { share: cached / tokens, conversations }
}

describe('16 turns of 20 conversations', () => {
  let alone = 0

  beforeAll(async () => {
    const one = await startNodes(['only'], 1)
    alone = (await converse(one)).share
    expect(alone).toBeGreaterThan(0.85)
    await one.close()
  })

  test('lose their caches if keys take turns', async () => {
    const inTurn = await startNodes(KEYS, 2, { affinity: false })
    const { share } = await converse(inTurn)
    expect(share / alone).toBeLessThan(0.8)
    await inTurn.close()
  })

  test('over 4 keys on 2 nodes keep at least 95 % of the cached share of one key alone', async () => {
    const many = await startNodes(KEYS, 2)
    const { share, conversations } = await converse(many)
    expect(share / alone).toBeGreaterThanOrEqual(0.95)
    for (const { keys } of conversations) expect(new Set(keys).size).toBe(1)
    const used = new Set(conversations.map(({ keys }) => keys[0]))
    expect(used.size).toBe(KEYS.length)
    await many.close()
  })

  test('keep it too while a key rests and returns, and only the conversations of that key move', async () => {
    const many = await startNodes(KEYS, 2)
    const { sandbox, clock } = many
    const { share, conversations } = await converse(many, (turn) => {
      if (turn === 6) sandbox.busyKeys.add('two')
      if (turn === 9) {
        sandbox.busyKeys.clear()
        clock.passedMs += REST_MS
      }
    })
    expect(share / alone).toBeGreaterThanOrEqual(0.95)
    let moved = 0
    for (const { keys } of conversations) {
      const [usual] = keys as [string]
      const [during, others] = [keys.slice(6, 9), [...keys.slice(0, 6), ...keys.slice(9)]]
      expect(new Set(others)).toEqual(new Set([usual]))
      expect(new Set(during).size).toBe(1)
      expect(during[0] !== usual).toBe(usual === 'two')
      if (usual === 'two') moved++
    }
    expect(moved).toBeGreaterThan(0)
    await many.close()
  })

  test.each(['cheapest', 'least_busy'] as const)(
    'keep it on a route that prefers the %s of two models on 2 nodes',
    async (prefer) => {
      const price = { per_1m_cached_input_tokens: '0.10', per_1m_output_tokens: '2.00' }
      const modelOf = (upstream: string, input: string) => ({
        family: 'openai-chat',
        upstream,
        upstreamModel: 'gpt-4.1-mini',
        price: { ...price, per_1m_input_tokens: input },
      })
      const many = await startNodes(['one'], 2, {}, ({ baseUrls, secrets }) => ({
        upstreams: {
          west: { kind: 'openai', baseUrl: baseUrls.openai, apiKey: `${secrets.openai}+two` },
        },
        models: {
          here: modelOf('openai', '1.00'),
          there: modelOf('west', '1.02'),
          talk: { route: ['there', 'here'], prefer },
        },
      }))
      const { share, conversations } = await converse(many, () => {}, 'talk')
      expect(share / alone).toBeGreaterThanOrEqual(0.95)
      for (const { keys } of conversations) expect(new Set(keys).size).toBe(1)
      expect(new Set(conversations.map(({ keys }) => keys[0])).size).toBe(2)
      await many.close()
    },
  )
})

test('equal upstreams keep their conversations, and only those of a failed one move', async () => {
  const sandbox = startSandbox({ record: true })
  const names = ['east', 'west', 'north']
  const upstreams = names.map(
    (name) =>
      [
        name,
        { kind: 'openai', baseUrl: sandbox.baseUrls.openai, apiKey: `${sandbox.secrets.openai}+${name}` },
      ] as const,
  )
  const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
  const upstream = { east: 2, west: 1, north: 1 }
  const gateway = await startTestGateway({
    sandbox,
    upstreams: Object.fromEntries(upstreams),
    models: { equals: { family: 'openai-chat', upstream, upstreamModel: 'gpt-6-mini', price } },
  })
  const serve = async () => {
    const served: unknown[] = []
    for (let number = 0; number < 24; number++) {
      const messages = [{ role: 'user', content: `Question ${number}` }]
      const response = await gateway.chat({ model: 'equals', messages })
      expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 200 })
      served.push((await gateway.newestLogged())?.upstream)
    }
    return served
  }
  const before = await serve()
  expect(new Set(before).size).toBe(names.length)
  sandbox.busyKeys.add('east')
  const during = await serve()
  expect(during).not.toContain('east')
  for (const [number, name] of before.entries()) if (name !== 'east') expect(during[number]).toBe(name)
  sandbox.busyKeys.clear()
  expect(await serve()).toEqual(before)
  await gateway.close()
  await sandbox.stop()
})

describe('a session', () => {
  let gateway: TestGateway
  let sandbox: Sandbox

  beforeAll(async () => {
    sandbox = startSandbox({ record: true })
    const keysOf = (secret: string) => KEYS.map((key) => `${secret}+${key}`)
    gateway = await startTestGateway({
      sandbox,
      config: { affinity: { headers: ['X-Chat-Of-Ours'] } },
      models: {
        'test-vectors': {
          family: 'openai-embeddings',
          upstream: 'openai',
          upstreamModel: 'text-embedding-3-small',
          price: { per_1m_input_tokens: '1.00' },
        },
      },
      upstreams: {
        openai: { apiKey: keysOf(sandbox.secrets.openai) },
        anthropic: { apiKey: keysOf(sandbox.secrets.anthropic) },
      },
    })
  })
  afterAll(async () => {
    await gateway.close()
    await sandbox.stop()
  })

  /** Sends requests one after the other. Returns the key and the logged session of each, without repetitions. */
  async function sent(path: string, requests: readonly { body?: Json; headers?: Record<string, string> }[]) {
    const [keys, sessions] = [new Set<string>(), new Set<unknown>()]
    for (const { body = {}, headers = {} } of requests) {
      const response = await gateway.post(path, body, headers)
      expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 200 })
      const used = sandbox.calls.at(-1)?.headers
      keys.add(keyOf(used?.authorization ?? used?.['x-api-key']))
      sessions.add((await gateway.newestLogged())?.session)
    }
    return { keys: [...keys], sessions: [...sessions] }
  }

  const chat = (number: number, more: Json = {}) => ({
    model: 'test-chat',
    messages: [{ role: 'user', content: `Question ${number}` }],
    ...more,
  })
  const messages = (number: number, more: Json = {}) => ({
    model: 'test-messages',
    max_tokens: 20,
    messages: [{ role: 'user', content: `Question ${number}` }],
    ...more,
  })
  const eight = Array.from({ length: 8 }, (_, number) => number)
  const claudeCode = (session: string) => JSON.stringify({ device_id: 'd', session_id: session })
  const uuid = '0f8fad5b-d9cb-469f-a165-70867728950e'

  const headers = [
    'x-session-id',
    'x-session-affinity',
    'x-claude-code-session-id',
    'session-id',
    'session_id',
    'x-openwebui-chat-id',
    'x-chat-of-ours',
  ]
  const signs: readonly (readonly [
    by: string,
    path: string,
    request: (number: number, sign: string) => { body: Json; headers?: Record<string, string> },
  ])[] = [
    ...headers.map(
      (name) =>
        [
          name,
          '/v1/chat/completions',
          (number: number, sign: string) => ({ body: chat(number), headers: { [name]: sign } }),
        ] as const,
    ),
    [
      'session_id',
      '/v1/messages',
      (number, sign) => ({ body: messages(number), headers: { session_id: sign } }),
    ],
    [
      'prompt_cache_key',
      '/v1/chat/completions',
      (number, sign) => ({ body: chat(number, { prompt_cache_key: sign }) }),
    ],
    ['user', '/v1/chat/completions', (number, sign) => ({ body: chat(number, { user: sign }) })],
    [
      'metadata.user_id',
      '/v1/messages',
      (number, sign) => ({
        body: messages(number, { metadata: { user_id: claudeCode(`${sign} of ${uuid}`) } }),
      }),
    ],
    [
      'metadata.user_id',
      '/v1/messages',
      (number, sign) => ({ body: messages(number, { metadata: { user_id: `user-${sign}` } }) }),
    ],
  ]

  test.each(signs)(
    'named by %s on %s keeps one key, and other sessions get other keys',
    async (by, path, request) => {
      const same = await sent(
        path,
        eight.map((number) => request(number, 'this one')),
      )
      expect(same).toMatchObject({
        keys: [expect.any(String)],
        sessions: [expect.stringMatching(new RegExp(`^${by} [0-9a-f]{8}$`))],
      })
      const others = await sent(
        path,
        [...eight, ...eight].map((number, place) => request(number, `number ${place}`)),
      )
      expect(others.sessions).toHaveLength(16)
      expect(others.keys.length).toBeGreaterThan(1)
    },
  )

  test('is named by the first of several signs that is not empty', async () => {
    const all = chat(1, { prompt_cache_key: 'b', user: 'c' })
    const { sessions } = await sent('/v1/chat/completions', [
      { body: all, headers: { 'x-session-id': 'a', 'x-chat-of-ours': 'z' } },
      { body: all, headers: { 'x-session-id': 'a', 'x-session-affinity': 'y' } },
      { body: all },
      { body: chat(1, { prompt_cache_key: '', user: 'c' }), headers: { 'x-session-id': '' } },
    ])
    expect(sessions.map((session) => String(session).split(' ')[0])).toEqual([
      'x-chat-of-ours',
      'x-session-id',
      'prompt_cache_key',
      'user',
    ])
  })

  test('without a name is recognized by the model, the instructions, the tools and the first question', async () => {
    const tools = [
      { type: 'function', function: { name: 'look', description: 'Looks', parameters: { type: 'object' } } },
    ]
    const system = { role: 'system', content: 'Be brief.' }
    const base = chat(1, { tools, messages: [system, { role: 'user', content: 'Why?' }] })
    const later = {
      ...base,
      messages: [...base.messages, { role: 'assistant', content: 'So.' }, { role: 'user', content: 'And?' }],
    }
    const inParts = {
      ...later,
      messages: [system, { role: 'user', content: [{ type: 'text', text: 'Why?' }] }],
    }
    const same = await sent(
      '/v1/chat/completions',
      [base, later, inParts, { ...later, temperature: 0.5 }].map((body) => ({ body })),
    )
    expect(same).toMatchObject({ keys: { length: 1 }, sessions: [expect.stringMatching(/^content /)] })
    const { sessions } = await sent(
      '/v1/chat/completions',
      [
        base,
        { ...base, tools: undefined },
        { ...base, messages: [{ ...system, content: 'Be long.' }, base.messages[1]] },
        { ...base, messages: [system, { role: 'user', content: 'How?' }] },
      ].map((body) => ({ body })),
    )
    expect(sessions).toHaveLength(4)
  })

  test('stays the same if a client moves its cache mark from turn to turn', async () => {
    const marked = (text: string) => [{ type: 'text', text, cache_control: { type: 'ephemeral' } }]
    const { sessions } = await sent('/v1/messages', [
      {
        body: messages(1, {
          system: marked('Be brief.'),
          messages: [{ role: 'user', content: marked('Why?') }],
        }),
      },
      {
        body: messages(1, {
          system: 'Be brief.',
          messages: [
            { role: 'user', content: 'Why?' },
            { role: 'assistant', content: 'So.' },
            { role: 'user', content: marked('And?') },
          ],
        }),
      },
    ])
    expect(sessions).toEqual([expect.stringMatching(/^content /)])
  })

  test('is that of the whole conversation if a response continues another or a conversation', async () => {
    const ask = async (body: Json) => {
      const response = await gateway.post('/v1/responses', { model: 'test-chat', ...body })
      expect(response.status).toBe(200)
      const { id } = (await response.json()) as Json
      return { id, session: (await gateway.newestLogged())?.session }
    }
    const first = await ask({ input: 'Why?' })
    const second = await ask({ input: 'And then?', previous_response_id: first.id })
    const third = await ask({ input: 'And then?', previous_response_id: second.id })
    expect(first.session).toMatch(/^content /)
    expect([second.session, third.session]).toEqual([first.session, first.session])
    const conversation = ((await (await gateway.post('/v1/conversations', {})).json()) as Json).id
    const sessions = [
      (await ask({ input: 'Why?', conversation })).session,
      (await ask({ input: 'And?', conversation: { id: conversation } })).session,
    ]
    expect(new Set(sessions)).toEqual(new Set([expect.stringMatching(/^conversation /)]))
  })

  test('is separate for each account', async () => {
    const { secret } = await gateway.makeKey('bob', '1')
    const mine = { body: chat(1), headers: { 'x-session-id': 'same' } }
    const his = { ...mine, headers: { ...mine.headers, authorization: `Bearer ${secret}` } }
    expect((await sent('/v1/chat/completions', [mine, his])).sessions).toHaveLength(2)
  })

  test('does not exist if vendors have no prompts to cache: the keys take turns', async () => {
    const embedding = { model: 'test-vectors', input: 'Hi' }
    const { keys, sessions } = await sent(
      '/v1/embeddings',
      KEYS.map(() => ({ body: embedding, headers: { 'x-session-id': 'a' } })),
    )
    expect({ keys: keys.toSorted(), sessions }).toEqual({ keys: KEYS.toSorted(), sessions: [null] })
  })

  test('and the resting keys explain the chosen key in the API and on the command line', async () => {
    const body = chat(1, { prompt_cache_key: 'shown' })
    const [usual] = (await sent('/v1/chat/completions', [{ body }])).keys as [string]
    const number = 1 + KEYS.indexOf(usual)
    const shown = async () => {
      const response = await gateway.post('/v1/chat/completions', body)
      await response.text()
      await gateway.server.world.requestLog.flush()
      const id = response.headers.get('x-request-id') as string
      const { json, run } = createCommandLine(gateway.dataDir, gateway.dataDir)
      const [details, text] = await Promise.all([json(`requests show ${id}`), run(`requests show ${id}`)])
      return { request: details.request, text: text.stdout }
    }
    const before = await shown()
    expect(before.request).toMatchObject({
      upstream_key: number,
      session: { by: 'prompt_cache_key', hash: expect.stringMatching(/^[0-9a-f]{8}$/) },
      resting_keys: [],
    })
    expect(before.text).toMatch(/^ +session +[0-9a-f]{8}, named by prompt_cache_key$/m)
    expect(before.text).toMatch(new RegExp(`^ +key +${number}: the key of its session$`, 'm'))
    sandbox.busyKeys.add(usual)
    const moving = await shown()
    expect(moving.text).toMatch(new RegExp(`^ +before +test-chat on openai with key ${number}: 429 `, 'm'))
    sandbox.busyKeys.clear()
    const during = await shown()
    expect(during.request).toMatchObject({ session: before.request.session, resting_keys: [number] })
    expect(during.request.upstream_key).toBe(moving.request.upstream_key)
    expect(during.text).toMatch(
      new RegExp(`^ +key +${during.request.upstream_key}: instead of key ${number}, which was resting$`, 'm'),
    )
  })
})

test('a setting that cannot distinguish sessions is reported with a remedy', () => {
  const config = { upstreams: {}, models: {} }
  const faults = (affinity: unknown) => faultsOf({ ...config, affinity })
  for (const right of [undefined, false, {}, { headers: ['x-chat-id', 'X-Thread'] }])
    expect(faults(right)).toEqual([])
  for (const [wrong, fault] of [
    [
      { headers: ['Authorization'] },
      'affinity.headers: "Authorization" does not name a session: use a header that is',
    ],
    [{ headers: ['x-request-id'] }, 'affinity.headers: "x-request-id" does not name a session'],
    [
      { headers: ['x chat'] },
      'affinity.headers: "x chat" is not the name of a header: use letters, digits and hyphens',
    ],
    [{ headers: ['x-chat', 'X-Chat'] }, 'affinity.headers: "X-Chat" is listed twice: remove one'],
    [{ headers: [] }, 'affinity'],
    [{ header: 'x-chat' }, 'affinity'],
    [true, 'affinity'],
  ] as const)
    expect(faults(wrong)).toEqual([expect.stringContaining(fault)])
})
