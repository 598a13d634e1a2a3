// Routes that sort their models for each request: by price, by the time to the first output, or by running calls. Tests check which
// vendors are called and paid, that conversations keep their model, and what operators and callers can see.

import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { describeAccount } from '../../src/accounts/accounts'
import { faultsOf, type ModelConfig, type RouteConfig } from '../../src/config/schema'
import { databaseKinds } from '../support/databases/databases'
import { say, type TestGateway, type TestGatewayOptions, waitFor } from '../support/gateway'
import { closeNodes, startNodes } from '../support/nodes'
import { createCommandLine } from '../support/processes/command-line'
import type { Json } from '../support/scenario'
import {
  chunk,
  completion,
  DONE,
  eventStream,
  type OddVendor,
  startVendor,
  usageChunk,
} from '../support/vendors/vendor'

setDefaultTimeout(120_000)

const MINUTE = 60_000

/** Prices in dollars for a million tokens, so that one token costs as many thousands of nano-dollars. */
function modelOf(
  upstream: ModelConfig['upstream'],
  input: number,
  output: number,
  cached = input,
): ModelConfig {
  return {
    family: 'openai-chat',
    upstream,
    price: {
      per_1m_input_tokens: String(input),
      per_1m_cached_input_tokens: String(cached),
      per_1m_output_tokens: String(output),
    },
  }
}

/** A vendor for each name, a gateway over them, and a function that calls it. */
async function startRoutes<Name extends string>(
  names: readonly Name[],
  models: Record<string, ModelConfig | RouteConfig>,
  options: Omit<TestGatewayOptions, 'upstreams' | 'models'> & { nodes?: number } = {},
) {
  const vendors = Object.fromEntries(names.map((name) => [name, startVendor()])) as Record<Name, OddVendor>
  const asked: Name[] = []
  const answers = (name: Name, answer: OddVendor['answer']) => {
    vendors[name].answer = (request) => {
      asked.push(name)
      return answer(request)
    }
  }
  const reset = () => {
    for (const name of names) answers(name, () => Response.json(completion('Hello!', 10, 20)))
  }
  reset()
  const { nodes: count = 1, database = 'sqlite', ...others } = options
  const upstreams = Object.fromEntries(names.map((name) => [name, vendors[name].upstream]))
  const nodes = await startNodes(database, count, { ...others, upstreams, models })
  /** Sends one request. Returns the answer, the called vendors, its charges and its row. */
  const ask = async (body: Json, headers: Record<string, string> = {}, node: TestGateway = nodes[0]) => {
    const before = await node.newest()
    asked.length = 0
    const response = await node.chat(body, headers)
    const text = await response.text()
    const [row] = await node.requestLog(before.logRow)
    const order = JSON.parse((row?.route_order as string | null) ?? 'null') as Json | null
    return {
      status: response.status,
      header: response.headers.get('x-gateway-route'),
      id: response.headers.get('x-request-id') as string,
      text,
      asked: [...asked],
      charges: await node.charges(before.charge),
      row,
      order: order?.models.map(({ model, reason }: Json) => [model, reason]),
      details: order?.models.map(({ detail }: Json) => detail) as string[] | undefined,
    }
  }
  const close = async () => {
    await closeNodes(nodes)
    for (const name of names) await vendors[name].stop()
  }
  return { nodes, vendors, asked, answers, reset, ask, close }
}

const words = (count: number, word = 'fox') => say(Array.from({ length: count }, () => word).join(' '))
const busy = () => Response.json({ error: { message: 'busy' } }, { status: 503 })

describe.each(databaseKinds)('the cheapest model for a request on %s', (database) => {
  let routes: Awaited<ReturnType<typeof startRoutes<'reader' | 'writer'>>>
  let gateway: TestGateway
  beforeAll(async () => {
    routes = await startRoutes(
      ['reader', 'writer'],
      {
        reader: modelOf('reader', 1, 10),
        writer: modelOf('writer', 4, 2),
        thrift: { route: ['reader', 'writer'], prefer: 'cheapest' },
      },
      { database, config: { plans: { writers: { priceFactors: { reader: '100' } } } } },
    )
    gateway = routes.nodes[0]
  })
  afterAll(() => routes.close())
  afterEach(() => routes.reset())

  const [long, short] = [
    { messages: words(2_000), max_tokens: 10 },
    { messages: words(2), max_tokens: 2_000 },
  ]
  /** The price of the answer by each model, in nano-dollars. */
  const paid = { reader: 10 * 1_000 + 20 * 10_000, writer: 10 * 4_000 + 20 * 2_000 }

  test.each([
    ['reader', 'a long prompt', long],
    ['writer', 'a long answer', short],
  ] as const)(
    'is %s for %s: only it is called and paid, and the hold covers either',
    async (name, _, body) => {
      const { availableNano: before } = await gateway.balance()
      const each = {
        reader: await routes.ask({ model: 'reader', ...body }),
        writer: await routes.ask({ model: 'writer', ...body }),
      }
      const seen = await routes.ask({ model: 'thrift', ...body })
      const { availableNano: after } = await gateway.balance()
      expect(seen).toMatchObject({ status: 200, asked: [name] })
      expect(seen.charges).toMatchObject([{ state: 'settled', model: name, amount: paid[name] }])
      const heldOf = ({ charges }: typeof seen) => Number(charges[0]?.held)
      expect(heldOf(seen)).toBe(Math.max(heldOf(each.reader), heldOf(each.writer)))
      expect(heldOf(each[name])).toBeLessThan(heldOf(seen))
      expect(Number(before) - Number(after)).toBe(paid.reader + paid.writer + paid[name])
      expect(seen.order).toEqual([
        [name, 'best'],
        [name === 'reader' ? 'writer' : 'reader', 'later'],
      ])
    },
  )

  test.each([
    ['reader', long],
    ['writer', short],
  ] as const)('a quote names %s, holds nothing and calls no vendor', async (name, body) => {
    routes.asked.length = 0
    const before = await gateway.newest()
    const response = await gateway.post('/v1/quotes', {
      path: '/v1/chat/completions',
      body: { model: 'thrift', ...body },
    })
    const quote = (await response.json()) as Json
    expect({ status: response.status, model: quote.model }).toEqual({ status: 200, model: name })
    expect(quote.prices.output_token).toBe(name === 'reader' ? '0.00001' : '0.000002')
    expect(await gateway.charges(before.charge)).toEqual([])
    expect(routes.asked).toEqual([])
    const { charges } = await routes.ask({ model: 'thrift', ...body })
    expect(charges[0]?.held).toBe(Math.round(Number(quote.most_usd) * 1e9))
  })

  test('hands over to the next one if it fails, which is then paid', async () => {
    routes.answers('writer', busy)
    const seen = await routes.ask({ model: 'thrift', ...short }, { 'x-gateway-explain': 'route' })
    expect(seen).toMatchObject({
      status: 200,
      asked: ['writer', 'reader'],
      header: 'writer;failed=503, reader;answered',
    })
    expect(seen.charges).toMatchObject([{ state: 'settled', model: 'reader', amount: paid.reader }])
  })

  test('is chosen at the prices of the plan of its account', async () => {
    const { secret } = await gateway.makeKey(`planned-${database}`, '5')
    const sell = { displayName: null, note: null, budget: null }
    await describeAccount(gateway.server.world.db, {
      ...sell,
      account: `planned-${database}`,
      plan: 'writers',
    })
    const seen = await routes.ask({ model: 'thrift', ...long }, { authorization: `Bearer ${secret}` })
    expect(seen).toMatchObject({ status: 200, asked: ['writer'] })
    expect(seen.charges).toMatchObject([{ model: 'writer', amount: paid.writer }])
  })
})

describe('a conversation on a route of the cheapest', () => {
  const clock = { passedMs: 0 }
  let routes: Awaited<ReturnType<typeof startRoutes<'a' | 'b'>>>
  beforeAll(async () => {
    routes = await startRoutes(
      ['a', 'b'],
      {
        a: modelOf('a', 2, 1, 0.2),
        b: modelOf('b', 1, 4),
        talk: { route: ['b', 'a'], prefer: 'cheapest' },
      },
      { outside: { now: () => Date.now() + clock.passedMs } },
    )
  })
  afterAll(() => routes.close())

  const system = (name: string) => ({ role: 'system', content: `${name} ${'rule '.repeat(1_200)}` })
  const first = (name: string) => ({
    model: 'talk',
    messages: [system(name), ...say('Write a book')],
    max_tokens: 3_000,
  })
  const next = (name: string) => ({
    model: 'talk',
    messages: [system(name), ...say('Write a book'), { role: 'assistant', content: 'So.' }, ...say('Which?')],
    max_tokens: 100,
  })
  const answering = (cached: number) => {
    for (const name of ['a', 'b'] as const)
      routes.answers(name, () => {
        const body = completion('So.', 1_300, 5) as { usage: object }
        return Response.json({
          ...body,
          usage: { ...body.usage, prompt_tokens_details: { cached_tokens: cached } },
        })
      })
  }

  test('stays with the model that has cached its prompt, as long as that is cheaper', async () => {
    answering(0)
    expect(await routes.ask(next('cold'))).toMatchObject({ asked: ['b'] })
    expect(await routes.ask(first('warm'))).toMatchObject({ asked: ['a'] })
    answering(1_200)
    for (let turn = 0; turn < 3; turn++) {
      const seen = await routes.ask(next('warm'))
      expect(seen).toMatchObject({
        asked: ['a'],
        order: [
          ['a', 'conversation'],
          ['b', 'later'],
        ],
      })
      expect(seen.details?.[0]).toMatch(/^at most \$0\.00\d+, (9\d|100) % of the prompt cached$/)
    }
    clock.passedMs += 4 * MINUTE
    expect(await routes.ask(next('warm'))).toMatchObject({ asked: ['a'] })
    clock.passedMs += 5 * MINUTE
    expect(await routes.ask(next('warm'))).toMatchObject({
      asked: ['b'],
      order: [
        ['b', 'best'],
        ['a', 'later'],
      ],
    })
  })

  test('leaves a vendor that has cached nothing of it', async () => {
    answering(0)
    expect(await routes.ask(first('lost'))).toMatchObject({ asked: ['a'] })
    expect(await routes.ask(next('lost'))).toMatchObject({ asked: ['a'] })
    expect(await routes.ask(next('lost'))).toMatchObject({ asked: ['b'] })
  })
})

describe('models that cost about the same', () => {
  const upstreams = ['a', 'b'] as const
  test('share the conversations, and every node chooses the same for each', async () => {
    const routes = await startRoutes(
      upstreams,
      { a: modelOf('a', 1, 2), b: modelOf('b', 1.03, 2), talk: { route: ['b', 'a'], prefer: 'cheapest' } },
      { database: 'postgres', nodes: 2 },
    )
    const chosen: string[] = []
    for (let number = 0; number < 30; number++) {
      const body = { model: 'talk', messages: say(`Question ${number}`), max_tokens: 20 }
      const [one, other] = [await routes.ask(body), await routes.ask(body, {}, routes.nodes[1])]
      expect(other.asked).toEqual(one.asked)
      expect(one.order?.[0]?.[1]).toBe('equal')
      chosen.push(...one.asked)
    }
    for (const name of upstreams) expect(chosen.filter((each) => each === name).length).toBeGreaterThan(5)
    await routes.close()
  })

  test('are not equal for a request without a conversation: the cheapest is called', async () => {
    const routes = await startRoutes(
      upstreams,
      { a: modelOf('a', 1, 2), b: modelOf('b', 1.03, 2), talk: { route: ['b', 'a'], prefer: 'cheapest' } },
      { config: { affinity: false } },
    )
    for (let number = 0; number < 12; number++) {
      const seen = await routes.ask({ model: 'talk', messages: say(`Question ${number}`), max_tokens: 20 })
      expect(seen).toMatchObject({
        asked: ['a'],
        order: [
          ['a', 'best'],
          ['b', 'later'],
        ],
      })
    }
    await routes.close()
  })
})

describe('the fastest model', () => {
  const START = Date.UTC(2026, 4, 1)
  const clock = { passedMs: 0 }
  const delay = { a: 400, b: 1_000 }
  let routes: Awaited<ReturnType<typeof startRoutes<'a' | 'b'>>>
  beforeAll(async () => {
    routes = await startRoutes(
      ['a', 'b'],
      {
        a: modelOf('a', 1, 2),
        b: modelOf('b', 1, 2),
        quick: { route: ['b', 'a'], prefer: 'fastest' },
        'quick-too': { route: ['b', 'a'], prefer: 'fastest' },
      },
      { outside: { now: () => START + clock.passedMs } },
    )
    streamAfterDelays()
  })
  afterAll(() => routes.close())

  const streamAfterDelays = () => {
    for (const name of ['a', 'b'] as const)
      routes.answers(name, () => {
        clock.passedMs += delay[name]
        return eventStream(`${chunk('Hello!', 'stop')}${usageChunk(10, 20)}${DONE}`)
      })
  }
  const streamed = { stream: true, max_tokens: 20 }
  const turn = (name: string) => routes.ask({ model: 'quick', messages: say(name), ...streamed })
  const many = async (count: number, name: string) => {
    routes.asked.length = 0
    for (let number = 0; number < count; number++) {
      const body = { model: 'quick', messages: say(`${name} ${number}`), ...streamed }
      await (await routes.nodes[0].chat(body)).text()
    }
    return routes.asked.join('')
  }

  test('is found by measuring each, and one of 20 conversations measures again', async () => {
    expect(await many(40, 'first')).toBe(`bababa${'a'.repeat(13)}b${'a'.repeat(19)}b`)
    const seen = await turn('another')
    expect(seen).toMatchObject({
      asked: ['a'],
      order: [
        ['a', 'best'],
        ['b', 'later'],
      ],
    })
    expect(seen.details).toEqual(['first output after 400 ms', 'first output after 1000 ms'])
  })

  test('keeps its conversations until it is far slower: figures that go up and down move none', async () => {
    expect((await turn('kept')).asked).toEqual(['a'])
    for (const ms of [900, 1_500, 700, 1_900, 600, 1_700, 1_000, 1_800, 1_600, 1_900]) {
      delay.a = ms
      expect(await turn('kept')).toMatchObject({
        asked: ['a'],
        order: [
          ['a', 'conversation'],
          ['b', 'later'],
        ],
      })
    }
    // New ones go to the other one by now.
    expect(await many(5, 'second')).toContain('bbbb')
    delay.a = 9_000
    await turn('kept')
    await turn('kept')
    expect((await turn('kept')).asked).toEqual(['b'])
    delay.a = 100
    for (let count = 0; count < 10; count++) expect((await turn('kept')).asked).toEqual(['b'])
  })

  test('is found again after it was slow, because it is measured from time to time', async () => {
    const asked = await many(240, 'third')
    expect(asked).toStartWith('bbbb')
    expect(asked.slice(-18).replaceAll('b', '').length).toBeGreaterThan(15)
  })

  test('is not one that fails, though it fails at once', async () => {
    Object.assign(delay, { a: 400, b: 1_000 })
    const ask = (name: string) => routes.ask({ model: 'quick-too', messages: say(name), ...streamed })
    routes.answers('a', busy)
    const asked: string[] = []
    for (let number = 0; number < 20; number++) {
      const seen = await ask(`fourth ${number}`)
      expect(seen.status).toBe(200)
      asked.push(...seen.asked)
    }
    expect(asked.filter((name) => name === 'a')).toHaveLength(4)
    streamAfterDelays()
  })

  test('is not chosen for non-streaming requests, which measure nothing', async () => {
    const whole = { model: 'quick', messages: say('whole'), max_tokens: 20 }
    for (const name of ['a', 'b'] as const)
      routes.answers(name, () => {
        clock.passedMs += name === 'a' ? 60_000 : 10
        return Response.json(completion('Hello!', 10, 20))
      })
    for (let count = 0; count < 5; count++)
      expect(await routes.ask({ ...whole, messages: say(`whole ${count}`) })).toMatchObject({ asked: ['a'] })
    streamAfterDelays()
  })
})

describe('the least busy upstream', () => {
  test('gets the next call, and a conversation that has begun stays for a small difference', async () => {
    const routes = await startRoutes(['left', 'right'], {
      left: modelOf('left', 1, 2),
      right: modelOf('right', 1, 2),
      even: { route: ['left', 'right'], prefer: 'least_busy' },
    })
    const [gateway] = routes.nodes
    const ask = (name: string) => gateway.chat({ model: 'even', messages: say(name), max_tokens: 20 })
    const running = { left: 0, right: 0 }
    const gate = Promise.withResolvers<void>()
    const hold = () => {
      for (const name of ['left', 'right'] as const)
        routes.answers(name, async () => {
          running[name]++
          await gate.promise
          return Response.json(completion('Hello!', 10, 20))
        })
    }
    // One conversation each, which began while nothing ran.
    const homes = new Map<'left' | 'right', string>()
    for (let number = 0; homes.size < 2; number++) {
      const { asked } = await routes.ask({ model: 'even', messages: say(`home ${number}`), max_tokens: 20 })
      homes.set(asked[0] as 'left', `home ${number}`)
    }
    hold()
    const waiting: Promise<Response>[] = []
    for (let count = 1; count <= 24; count++) {
      waiting.push(ask(`new ${count}`))
      await waitFor(() => running.left + running.right === count)
      expect(Math.abs(running.left - running.right)).toBeLessThanOrEqual(4)
    }
    // Calls of one model alone make its upstream busy.
    for (let count = 1; count <= 6; count++) waiting.push(gateway.chat({ model: 'left', messages: say('x') }))
    await waitFor(() => running.left + running.right === 30)
    const [left, right] = [running.left, running.right]
    waiting.push(ask('after that'))
    await waitFor(() => running.right === right + 1)
    waiting.push(ask(homes.get('left') as string))
    await waitFor(() => running.left === left + 1)
    for (let count = 1; count <= 30; count++)
      waiting.push(gateway.chat({ model: 'left', messages: say('x') }))
    await waitFor(() => running.left === left + 31)
    waiting.push(ask(homes.get('left') as string))
    await waitFor(() => running.right === right + 2)
    gate.resolve()
    for (const response of await Promise.all(waiting)) expect(response.status).toBe(200)
    await routes.close()
  })

  test('is also found among the upstreams of one model, by their shares', async () => {
    const routes = await startRoutes(['large', 'small'], {
      one: modelOf({ large: 3, small: 1 }, 1, 2),
      even: { route: ['one'], prefer: 'least_busy' },
    })
    const [gateway] = routes.nodes
    const running = { large: 0, small: 0 }
    const gate = Promise.withResolvers<void>()
    for (const name of ['large', 'small'] as const)
      routes.answers(name, async () => {
        running[name]++
        await gate.promise
        return Response.json(completion('Hello!', 10, 20))
      })
    const waiting = Array.from({ length: 60 }, (_, number) => number)
    const responses: Promise<Response>[] = []
    for (const number of waiting) {
      responses.push(gateway.chat({ model: 'even', messages: say(`new ${number}`), max_tokens: 20 }))
      await waitFor(() => running.large + running.small === number + 1)
    }
    expect(running.large).toBeGreaterThan(40)
    expect(running.small).toBeGreaterThan(9)
    gate.resolve()
    await Promise.all(responses)
    await routes.close()
  })
})

test('operators see the order with its figures; callers who ask see it without prices and upstreams', async () => {
  const routes = await startRoutes(['east', 'west'], {
    cheap: modelOf('east', 1, 2),
    dear: modelOf('west', 10, 20),
    unfit: { ...modelOf('west', 1, 1), strictFields: true },
    thrift: { route: ['dear', 'unfit', 'cheap'], prefer: 'cheapest' },
    plain: { route: ['dear', 'cheap'] },
  })
  const [gateway] = routes.nodes
  const body = { model: 'thrift', messages: say('Hi'), max_tokens: 20, odd_field: 1 }
  const seen = await routes.ask(body, { 'x-gateway-explain': 'route' })
  expect(seen.header).toBe('unfit;passed=request, cheap;answered, dear;later=cheapest')
  const plain = await routes.ask({ ...body, model: 'plain' }, { 'x-gateway-explain': 'route' })
  expect(plain).toMatchObject({ header: 'dear;answered', order: undefined })
  await gateway.server.world.requestLog.flush()
  const { json, run } = createCommandLine(gateway.dataDir, gateway.dataDir)
  const [{ request }, { stdout }] = await Promise.all([
    json(`requests show ${seen.id}`),
    run(`requests show ${seen.id}`),
  ])
  expect(request.route_order).toEqual({
    prefer: 'cheapest',
    models: [
      {
        model: 'cheap',
        upstream: 'east',
        reason: 'best',
        detail: expect.stringMatching(/^at most \$0\.000\d+$/),
      },
      {
        model: 'dear',
        upstream: 'west',
        reason: 'later',
        detail: expect.stringMatching(/^at most \$0\.00\d+$/),
      },
    ],
  })
  expect(stdout).toMatch(/^ +cheapest +1\. cheap on east: best, at most \$0\.000\d+$/m)
  expect(stdout).toMatch(/^ +2\. dear on west: later, at most \$0\.00\d+$/m)
  await routes.close()
})

describe('a preference that cannot choose is reported with a remedy', () => {
  const config = (route: RouteConfig, models: Record<string, ModelConfig> = {}) => ({
    upstreams: { east: { kind: 'openai' }, west: { kind: 'openai' } },
    models: {
      one: modelOf('east', 1, 2),
      other: modelOf('west', 1, 2),
      neighbour: modelOf('east', 2, 4),
      equal: modelOf({ east: 1, west: 2 }, 1, 2),
      ...models,
      routed: route,
    },
  })
  const free = { family: 'openai-chat', free: true as const }
  const vectors = { family: 'openai-embeddings', price: { per_1m_input_tokens: '1' } }
  test.each([
    ['not so', config({ route: ['one', 'other'], prefer: 'cheapest' }), undefined],
    ['nor here', config({ route: ['equal'], prefer: 'least_busy' }), undefined],
    ['an unknown one', config({ route: ['one', 'other'], prefer: 'best' as 'cheapest' }), 'prefer'],
    ['one model', config({ route: ['one'], prefer: 'fastest' }), 'add one to `route`, or remove `prefer`'],
    [
      'one price',
      config({ route: ['equal'], prefer: 'cheapest' }),
      'add a model to `route`, or use "fastest"',
    ],
    [
      'no price',
      config(
        { route: ['a', 'b'], prefer: 'cheapest' },
        { a: { ...free, upstream: 'east' }, b: { ...free, upstream: 'west' } },
      ),
      'all its models are free: use "fastest" or "least_busy"',
    ],
    [
      'one upstream',
      config({ route: ['one', 'neighbour'], prefer: 'least_busy' }),
      'or a model on another upstream',
    ],
    [
      'no streams',
      config(
        { route: ['a', 'b'], prefer: 'fastest' },
        { a: { ...vectors, upstream: 'east' }, b: { ...vectors, upstream: 'west' } },
      ),
      'no streams',
    ],
  ])('%s', (_, configured, fault) => {
    const faults = faultsOf(configured)
    if (fault === undefined) expect(faults).toEqual([])
    else expect(faults.join(' ')).toContain(fault)
  })
})
