// Routes, equal connections and aliases: which vendors are called, in which order and how often, which are paid, and which requests
// must not be sent twice. The vendors are real servers that count their requests.

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Key } from '../../src/accounts/keys'
import { inOrderOfSession, resolveModels } from '../../src/catalogue/models'
import { faultsOf, type ModelConfig, type RouteConfig } from '../../src/config/schema'
import type { Model } from '../../src/contract/family'
import { operations } from '../../src/contract/operations'
import type { Row } from '../../src/db/db'
import { hashOf } from '../../src/lib/rendezvous'
import { temporaryFolder } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway, type TestGatewayOptions, waitFor } from '../support/gateway'
import { createCommandLine } from '../support/processes/command-line'
import { createRandom } from '../support/random'
import type { Json } from '../support/scenario'
import { startBreakingVendor } from '../support/vendors/breaking'
import {
  chunk,
  completion,
  DONE,
  eventStream,
  type OddVendor,
  startVendor,
  usageChunk,
} from '../support/vendors/vendor'
import { makeClock } from '../support/video-requests'

setDefaultTimeout(180_000)

const names = ['first', 'second', 'third'] as const
type Name = (typeof names)[number]

/** Nano-dollars for a token of input, and twice as much for one of output. The second is the most expensive. */
const EACH = { first: 1_000, second: 3_000, third: 2_000 }
/** Usage that every vendor reports. */
const [INPUT, OUTPUT] = [10, 20]

const vendors = Object.fromEntries(names.map((name) => [name, startVendor()])) as Record<Name, OddVendor>

function modelOf(name: Name, upstream: ModelConfig['upstream'] = name): ModelConfig {
  const price = (nano: number) => String(nano / 1_000)
  return {
    family: 'openai-chat',
    upstream,
    upstreamModel: `${name}-inside`,
    price: { per_1m_input_tokens: price(EACH[name]), per_1m_output_tokens: price(2 * EACH[name]) },
  }
}

const models: Record<string, ModelConfig | RouteConfig> = {
  first: modelOf('first'),
  second: modelOf('second'),
  third: modelOf('third'),
  keyless: { ...modelOf('third'), upstream: 'keyless' },
  routed: { route: ['first', 'second', 'third'] },
  'any-form': { route: ['first', 'test-messages', 'third'], ownedBy: 'us' },
  'any-kind': { route: ['test-embedding', 'third'] },
  strict: { ...modelOf('second'), strictFields: true },
  tiered: { ...modelOf('third'), price: { ...modelOf('third').price, service_tiers: { flex: '0.5' } } },
  'by-price': { route: ['first', 'tiered'] },
  'by-need': { route: ['strict', 'first', 'test-messages', 'tiered'] },
  'half-there': { route: ['keyless', 'third'] },
  'not-there': { route: ['keyless'] },
  equals: modelOf('first', { first: 1, second: 1 }),
  'third-then-equals': { route: ['third', 'equals'] },
  'one-of-two': modelOf('first', { keyless: 9, first: 1 }),
  spread: modelOf('first', { first: 3, second: 2, third: 1, keyless: 5 }),
}

const upstreams = {
  first: vendors.first.upstream,
  second: vendors.second.upstream,
  third: vendors.third.upstream,
  keyless: { kind: 'openai', baseUrl: vendors.first.url },
}

const aliases = {
  'any-name': 'second',
  'claude-haiku-*': 'second',
  'claude-haiku-4-*': 'routed',
  'claude-haiku-4-5': 'third',
  'thir*': 'second',
  'key*': 'second',
  'messages-*': 'test-messages',
}

const good = () => Response.json(completion('Hello!', INPUT, OUTPUT))
const goodStream = () => eventStream(chunk('Hel') + chunk('lo!', 'stop') + usageChunk(INPUT, OUTPUT) + DONE)
const failing =
  (status: number, body: unknown = { error: { message: 'Not now.' } }, headers = {}) =>
  () =>
    Response.json(body, { status, headers })

let gateway: TestGateway

const start = (options: TestGatewayOptions = {}) =>
  startTestGateway({
    ...options,
    models: { ...models, ...options.models },
    upstreams: { ...upstreams, ...options.upstreams },
    config: { aliases },
  })

beforeAll(async () => {
  gateway = await start()
})

beforeEach(() => {
  for (const vendor of Object.values(vendors)) {
    vendor.answer = good
    vendor.requests = 0
  }
})

afterAll(async () => {
  await gateway.close()
  await Promise.all(Object.values(vendors).map((vendor) => vendor.stop()))
})

const asked = () => names.map((name) => vendors[name].requests)
const priceOf = (name: Name) => INPUT * EACH[name] + OUTPUT * 2 * EACH[name]

/** Requests a completion; returns the rows that the request left behind. */
async function ask(
  body: Record<string, Json> = {},
  { from = gateway, headers = {} as Record<string, string>, path = '/v1/chat/completions' } = {},
) {
  const [charges, earlierRows, log] = [await from.charges(), await from.requestLog(), from.log.length]
  const whole = { model: 'routed', max_tokens: 100, messages: say('Hi'), ...body }
  const response = await from.post(path, whole, headers)
  const text = await response.text()
  const newCharges = async () => (await from.charges()).slice(charges.length)
  await waitFor(async () => (await newCharges()).every(({ state }) => state !== 'held'))
  const [charge] = await newCharges()
  const rows = (await from.requestLog()).slice(earlierRows.length)
  expect(rows).toHaveLength(1)
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: (text.startsWith('{') ? JSON.parse(text) : undefined) as Json,
    charge: charge as Row,
    charges: (await newCharges()).length,
    logRow: rows[0] as Row,
    turns: from.log.slice(log).flatMap(({ event, fields }) => (event === 'route_next' ? [fields] : [])),
  }
}

type Answered = Awaited<ReturnType<typeof ask>>

/** The one that answered is named and paid, and nobody else. */
function expectAnsweredBy(name: Name, answer: Answered): void {
  const { status, charge, charges, logRow, turns, text } = answer
  expect({ status, text }).toEqual({ status: 200, text })
  if (answer.json) expect(answer.json.model).toBe(name)
  else expect([...text.matchAll(/"model":"([^"]*)"/g)].map(([, model]) => model)).toEqual([name, name])
  expect({ charges, ...charge }).toMatchObject({
    charges: 1,
    state: 'settled',
    model: name,
    amount: priceOf(name),
    usage_source: 'upstream',
  })
  expect(JSON.parse(charge.prices as string)).toMatchObject([
    { pico: { input_token: 1000 * EACH[name], output_token: 2000 * EACH[name] } },
  ])
  expect(logRow).toMatchObject({ model: name, upstream: name, status: 200, amount: priceOf(name) })
  expect(turns.map(({ from, to }) => [from, to])).toEqual(
    names.slice(0, names.indexOf(name)).map((each, index) => [each, names[index + 1]]),
  )
}

/** Forms of failure that say nothing about the request. */
const failures: [words: string, answer: () => Response][] = [
  ['is over its rate (429)', failing(429, undefined, { 'retry-after': '7' })],
  ['fails (500)', failing(500)],
  ['fails (502)', failing(502, 'Bad gateway')],
  ['is not available (503)', failing(503)],
  ['is overloaded (529)', failing(529)],
  ['does not know the operator (401)', failing(401)],
  ['wants the operator to pay (402)', failing(402)],
  ['keeps the operator out (403)', failing(403)],
  ['does not have the model (404)', failing(404)],
  ['answers with no JSON', () => new Response('<html>', { headers: { 'content-type': 'application/json' } })],
  ['answers with a redirect', () => new Response(null, { status: 302, headers: { location: '/' } })],
]

describe('a route', () => {
  test('calls only the first if it answers', async () => {
    for (const stream of [false, true]) {
      if (stream) vendors.first.answer = goodStream
      expectAnsweredBy('first', await ask({ stream }))
    }
    expect(asked()).toEqual([2, 0, 0])
  })

  for (const stream of [false, true]) {
    test.each(failures)(`moves on if the first one %s (stream: ${stream})`, async (_, answer) => {
      vendors.first.answer = answer
      if (stream) vendors.second.answer = goodStream
      const { turns, ...rest } = await ask({ stream })
      expectAnsweredBy('second', { turns, ...rest })
      expect(turns[0]?.reason).toMatch(/\w/)
      expect(asked()).toEqual([1, 1, 0])
    })
  }

  test.each(['refused', 'reset', 'close', 'half an answer'] as const)(
    'moves on if the connection of the first one ends so: %s',
    async (how) => {
      using breaking = startBreakingVendor()
      if (how !== 'refused') breaking.how = how
      const baseUrl = how === 'refused' ? 'http://127.0.0.1:9/v1' : `${breaking.url}/v1`
      const from = await start({ upstreams: { first: { ...vendors.first.upstream, baseUrl } } })
      expectAnsweredBy('second', await ask({}, { from }))
      // A vendor that may have begun is not asked twice.
      expect(breaking.requests).toBe(how === 'refused' ? 0 : 1)
      expect(asked()).toEqual([0, 1, 0])
      await from.close()
    },
  )

  test('moves on until one answers', async () => {
    vendors.first.answer = failing(500)
    vendors.second.answer = failing(429)
    expectAnsweredBy('third', await ask())
    expect(asked()).toEqual([1, 1, 1])
  })

  test('of which no model can answer returns the error of the last one, for free', async () => {
    for (const name of names) vendors[name].answer = failing(500)
    vendors.third.answer = failing(429, { error: { message: 'Slow down' } }, { 'retry-after': '7' })
    const { status, json, headers, charge, charges, logRow } = await ask()
    expect({ status, message: json.message }).toEqual({ status: 429, message: 'Slow down' })
    expect(headers.get('retry-after')).toBe('7')
    expect({ charges, ...charge }).toMatchObject({ charges: 1, state: 'released', amount: 0 })
    expect(logRow).toMatchObject({ model: 'third', upstream: 'third', status: 429, amount: null })
    expect(asked()).toEqual([1, 1, 1])
  })

  test('calls no vendor any more when the longest time of a request is over, as after a sleep of the machine', async () => {
    let sleptMs = 0
    const from = await start({ outside: { monotonic: () => Math.floor(performance.now()) + sleptMs } })
    vendors.first.answer = () => {
      sleptMs += 3_600_000
      return failing(500)()
    }
    const { status, charge, charges } = await ask({}, { from })
    expect({ status, charges, state: charge.state }).toEqual({ status: 504, charges: 1, state: 'released' })
    expect(asked()).toEqual([1, 0, 0])
    await from.close()
  })

  test.each([400, 413, 415, 422])(
    'stops at a %d: the next vendor would get the same request',
    async (status) => {
      vendors.first.answer = failing(status, { error: { message: 'An odd wish' } })
      const { json, charge, charges, logRow, ...answer } = await ask()
      expect(answer.status).toBe(status === 422 ? 400 : status)
      expect(json.error.message).toBe('An odd wish')
      expect({ charges, ...charge }).toMatchObject({
        charges: 1,
        state: 'released',
        amount: 0,
        model: 'first',
      })
      expect(logRow).toMatchObject({ model: 'first', upstream: 'first' })
      expect(asked()).toEqual([1, 0, 0])
    },
  )

  test('never moves on after the first byte', async () => {
    const endings = [
      chunk('Hel'),
      `${chunk('Hel')}data: {"error":{"message":"It broke"}}\n\n`,
      'data: {"error":{"message":"It broke"}}\n\n',
    ]
    for (const body of endings) {
      vendors.first.answer = () => eventStream(body)
      const { status, text, charge, charges } = await ask({ stream: true })
      expect(status).toBe(200)
      expect(text).toContain('"error"')
      expect({ charges, ...charge }).toMatchObject({
        charges: 1,
        model: 'first',
        state: body.includes('Hel') ? 'settled' : 'released',
      })
    }
    expect(asked()).toEqual([endings.length, 0, 0])
  })

  test('holds for the most expensive that may answer, and is refused where the money is not enough for it', async () => {
    const body = { messages: say('Hi there, what is it like?') }
    const [routed, dearest, cheapest] = [
      await ask(body),
      // Names of the same length.
      await ask({ ...body, model: 'second' }),
      await ask({ ...body, model: 'third' }),
    ]
    expect(routed.charge.held).toBe(dearest.charge.held as number)
    expect(Number(routed.charge.held)).toBeGreaterThan(Number(cheapest.charge.held))
    expect(await gateway.balance()).toMatchObject({ heldNano: 0 })

    const balance = ((Number(cheapest.charge.held) + 1) / 1e9).toFixed(9)
    const { secret } = await gateway.makeKey('modest', balance)
    const before = asked()
    const refused = await ask(body, { headers: { authorization: `Bearer ${secret}` } })
    expect(refused).toMatchObject({ status: 402, charges: 0 })
    expect(asked()).toEqual(before)
  })

  test('moves on if the first one is silent for too long', async () => {
    vendors.first.answer = () => new Promise(() => {})
    const from = await start({ upstreams: { first: { ...vendors.first.upstream, timeoutMs: 150 } } })
    for (const stream of [false, true]) {
      if (stream) vendors.second.answer = goodStream
      expectAnsweredBy('second', await ask({ stream }, { from }))
    }
    vendors.second.answer = failing(500)
    vendors.third.answer = failing(400)
    expect(await ask({}, { from })).toMatchObject({
      status: 400,
      charge: { state: 'released', ended_by: 'upstream' },
    })
    expect(asked()).toEqual([3, 3, 1])
    await from.close()
  })

  test('does not continue for a caller who has disconnected', async () => {
    vendors.first.answer = () => new Promise(() => {})
    const leaving = new AbortController()
    const charges = (await gateway.charges()).length
    const request = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secret}` },
      body: JSON.stringify({ model: 'routed', stream: true, messages: say('Hi') }),
      signal: leaving.signal,
    }).catch(() => {})
    await waitFor(() => vendors.first.requests === 1)
    leaving.abort()
    await request
    const own = async () => (await gateway.charges()).slice(charges)
    await waitFor(async () => (await own())[0]?.state === 'released')
    expect(await own()).toMatchObject([{ state: 'released', ended_by: 'client', amount: 0 }])
    expect(asked()).toEqual([1, 0, 0])
  })

  test('does not continue when the gateway is shutting down', async () => {
    vendors.first.answer = () => new Promise(() => {})
    const from = await start()
    const request = from.post('/v1/chat/completions', { model: 'routed', messages: say('Hi') })
    await waitFor(() => vendors.first.requests === 1)
    const stopping = from.server.stop(0)
    const response = await request
    expect(response.status).toBe(503)
    expect(await response.json()).toMatchObject({ error: { code: 'shutting_down' } })
    await stopping
    expect(asked()).toEqual([1, 0, 0])
    const { sandbox, dataDir } = from
    const next = await start({ sandbox, dataDir })
    expect(await next.charges()).toMatchObject([{ state: 'released', ended_by: 'shutdown', amount: 0 }])
    await next.close()
    await sandbox.stop()
  })

  test('skips models that cannot accept the request or serve another operation', async () => {
    vendors.first.answer = failing(500)
    // The second model cannot make this number of candidates in a stream.
    vendors.third.answer = goodStream
    const streamed = await ask({ model: 'any-form', stream: true, n: 17 })
    expect(streamed).toMatchObject({ status: 200, charge: { model: 'third' } })
    vendors.third.answer = good
    expect(await ask({ model: 'any-kind' })).toMatchObject({ status: 200, json: { model: 'third' } })
    const image = await gateway.post('/v1/images/generations', { model: 'any-kind', prompt: 'A' })
    expect(image.status).toBe(400)
    expect(await image.json()).toMatchObject({ error: { code: 'endpoint_model_mismatch' } })
  })

  test.each([
    ['a tier that only the last has a price for', 'tiered', { model: 'by-price', service_tier: 'flex' }],
    ['a field that only an open model takes', 'first', { anything: 1 }],
    ['both', 'tiered', { service_tier: 'flex', anything: 1 }],
    ['more candidates than the third can stream', 'tiered', { service_tier: 'flex', stream: true, n: 17 }],
  ])('begins with the first that can take the request: %s', async (_, answers, body) => {
    vendors.third.answer = 'stream' in body ? goodStream : good
    const { status, text, charge, charges, turns } = await ask({ model: 'by-need', ...body })
    expect({ status, text }).toEqual({ status: 200, text })
    expect({ charges, ...charge }).toMatchObject({ charges: 1, state: 'settled', model: answers })
    // No upstream was called needlessly.
    expect(turns).toEqual([])
    expect(asked().reduce((sum, requests) => sum + requests)).toBe(1)
  })

  test('that no model can serve is refused as by the first, for free', async () => {
    for (const [path, body, param] of [
      ['/v1/chat/completions', { service_tier: 'ultra' }, 'service_tier'],
      ['/v1/chat/completions', { unknown: 1, service_tier: 'ultra' }, 'unknown'],
      ['/v1/chat/completions', { n: 'many' }, 'n'],
      ['/v1/messages', { fallbacks: ['dear'] }, undefined],
    ] as const) {
      const { status, json, charges } = await ask({ model: 'by-need', ...body }, { path })
      expect({ status, charges, param: json.error.param }).toMatchObject({ status: 400, charges: 0, param })
    }
    expect(asked()).toEqual([0, 0, 0])
  })

  test.each(['/v1/chat/completions', '/v1/messages'])(
    '%s moves on to a model of another form',
    async (path) => {
      vendors.first.answer = failing(500)
      const calls = gateway.sandbox.calls.length
      for (const stream of [false, true]) {
        const { status, text, charge, logRow } = await ask({ model: 'any-form', stream }, { path })
        expect({ status, text }).toEqual({ status: 200, text })
        expect(text).toContain('"model":"test-messages"')
        expect(text).toContain(path === '/v1/messages' ? '"input_tokens"' : 'chat.completion')
        expect(charge).toMatchObject({ state: 'settled', model: 'test-messages', usage_source: 'upstream' })
        expect(logRow).toMatchObject({ model: 'test-messages', upstream: 'anthropic' })
      }
      expect(gateway.sandbox.calls.slice(calls).map((call) => call.path)).toEqual([
        '/v1/messages',
        '/v1/messages',
      ])
      expect(asked()).toEqual([2, 0, 0])
    },
  )

  test('answers an Idempotency-Key again, whichever model answered, and keeps nothing of a failure', async () => {
    const headers = { 'idempotency-key': 'routed' }
    for (const name of names) vendors[name].answer = failing(500)
    expect((await ask({}, { headers })).status).toBe(502)
    vendors.second.answer = good
    const first = await ask({}, { headers })
    expectAnsweredBy('second', first)
    const again = await ask({}, { headers })
    expect(again).toMatchObject({ status: 200, text: first.text, charges: 0 })
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(asked()).toEqual([2, 2, 1])
  })
})

describe('a batch in a route', () => {
  test('is sent again, whole, and nothing of it goes to the wrong one', async () => {
    const embedding = (name: Name): ModelConfig => ({
      family: 'openai-embeddings',
      upstream: name,
      upstreamModel: `${name}-inside`,
      batchSize: 1,
      price: { per_1m_input_tokens: '1' },
    })
    const bodies: Record<string, Json[]> = { first: [], second: [] }
    const upstream = (name: 'first' | 'second', fails: boolean) =>
      Bun.serve({
        hostname: '127.0.0.1',
        port: 0,
        async fetch(request) {
          bodies[name]?.push(await request.json())
          if (fails && bodies[name]?.length === 1) return failing(500)()
          // The others of the same batch are still under way when the first of them fails.
          if (fails) await Bun.sleep(30)
          const data = [{ object: 'embedding', index: 0, embedding: [0.5] }]
          return Response.json({ object: 'list', data, usage: { prompt_tokens: 1, total_tokens: 1 } })
        },
      })
    const servers = [upstream('first', true), upstream('second', false)]
    const [one, two] = servers.map(({ port }) => `http://127.0.0.1:${port}`)
    const node = await start({
      models: {
        'first-embedding': embedding('first'),
        'second-embedding': embedding('second'),
        batch: { route: ['first-embedding', 'second-embedding'] },
      },
      upstreams: {
        first: { ...vendors.first.upstream, baseUrl: `${one}/v1` },
        second: { ...vendors.second.upstream, baseUrl: `${two}/v1` },
      },
    })
    const input = Array.from({ length: 12 }, (_, index) => `text ${index}`)
    const { status, json, charge } = await ask(
      { model: 'batch', input, messages: undefined, max_tokens: undefined },
      { from: node, path: '/v1/embeddings' },
    )
    expect({ status, model: json.model, count: json.data?.length }).toEqual({
      status: 200,
      model: 'second-embedding',
      count: 12,
    })
    expect(charge).toMatchObject({ state: 'settled', model: 'second-embedding', amount: 12_000 })
    await Bun.sleep(60)
    expect(bodies.first?.length).toBeLessThanOrEqual(4)
    expect(bodies.second?.map(({ model }) => model)).toEqual(Array(12).fill('second-inside'))
    await node.close()
    for (const server of servers) await server.stop(true)
  })
})

describe('the breaker in a route', () => {
  test('sends all to the next one at once while it is open, and lets one of them try when its time is up', async () => {
    const clock = makeClock()
    const timeoutMs = 60_000
    const from = await start({
      upstreams: { first: { ...vendors.first.upstream, timeoutMs } },
      outside: { now: clock.now },
    })
    const many = (count: number) =>
      Promise.all(
        Array.from({ length: count }, () =>
          from.post('/v1/chat/completions', { model: 'routed', messages: say('Hi') }),
        ),
      )
    /** Sends requests, and lets the first vendor's time run out after this total number of calls. */
    const manyFailing = async (count: number, requests: number) => {
      const answers = many(count)
      await waitFor(() => vendors.first.requests === requests)
      clock.pass(timeoutMs)
      return answers
    }
    const modelsOf = async (responses: Response[]) =>
      (await Promise.all(responses.map((response) => response.json()))).map((json) => (json as Json).model)
    vendors.first.answer = () => new Promise(() => {})
    expect(await modelsOf(await manyFailing(5, 5))).toEqual(Array(5).fill('second'))
    expect(asked()).toEqual([5, 5, 0])
    expect(await modelsOf(await many(10))).toEqual(Array(10).fill('second'))
    expect(asked()).toEqual([5, 15, 0])
    clock.pass(5_000)
    // One of three tries without success; all three are answered.
    expect(await modelsOf(await manyFailing(3, 6))).toEqual(Array(3).fill('second'))
    expect(asked()).toEqual([6, 18, 0])
    clock.pass(5_000)
    vendors.first.answer = good
    expect(await modelsOf(await many(1))).toEqual(['first'])
    expect(await modelsOf(await many(4))).toEqual(Array(4).fill('first'))
    expect(asked()).toEqual([11, 18, 0])
    await from.close()
  })
})

const anyKey = { models: null } as Key
const chat = operations.find(({ name }) => name === 'chat') as (typeof operations)[number]

describe('equal connections', () => {
  const PICKS = 10_000
  const order = (session: number | undefined, random: () => number) => {
    const found = resolveModels(gateway.server.world.catalogue, anyKey, chat, 'spread', { now: Date.now })
    return inOrderOfSession(found, session, random)
  }
  const seeded = createRandom(7)
  const ways: readonly [string, (pick: number) => Model[]][] = [
    ['at random', () => order(undefined, () => seeded.below(2 ** 30) / 2 ** 30)],
    ['by session', (pick) => order(hashOf(`session-${pick}`), () => 0.5)],
  ]

  test.each(ways)('are picked %s as often as their shares say, in every place', (_, pickOf) => {
    const counts = new Map<string, number>()
    for (let pick = 0; pick < PICKS; pick++) {
      const found = pickOf(pick)
      expect(found).toHaveLength(3)
      for (const [place, { upstream }] of found.entries()) {
        const key = `${upstream.name} ${place}`
        counts.set(key, (counts.get(key) ?? 0) + 1)
      }
    }
    const shareOf = (name: Name, place: number) => (counts.get(`${name} ${place}`) ?? 0) / PICKS
    for (const [name, share] of [
      ['first', 3 / 6],
      ['second', 2 / 6],
      ['third', 1 / 6],
    ] as const) {
      expect(Math.abs(shareOf(name, 0) - share)).toBeLessThan(0.03)
    }
    // The second place goes to one of the remaining, by their shares.
    const second = (2 / 6) * (3 / 4) + (1 / 6) * (3 / 5)
    expect(Math.abs(shareOf('first', 1) - second)).toBeLessThan(0.03)
  })

  test('stay with their sessions, one after the other by their place on a route', () => {
    const { catalogue } = gateway.server.world
    const found = resolveModels(catalogue, anyKey, chat, 'third-then-equals', { now: Date.now })
    for (let session = 0; session < 50; session++) {
      const names = inOrderOfSession(found, session, Math.random).map(({ upstream }) => upstream.name)
      expect(names[0]).toBe('third')
      expect(names.slice(1).toSorted()).toEqual(['first', 'second'])
      expect(inOrderOfSession(found, session, Math.random).map(({ upstream }) => upstream.name)).toEqual(
        names,
      )
    }
  })

  test('get their share of real conversations', async () => {
    for (let count = 0; count < 40; count++)
      expect((await ask({ model: 'equals', messages: say(`Question ${count}`) })).status).toBe(200)
    const [first = 0, second = 0] = asked()
    expect(first + second).toBe(40)
    // Less than one in a million tests would see this fail by chance.
    expect(Math.min(first, second)).toBeGreaterThan(3)
  })

  test('replace each other at the same price, under the same name', async () => {
    vendors.first.answer = failing(503)
    const upstreamsSeen = new Set<unknown>()
    for (let count = 0; count < 20; count++) {
      const { status, json, charge, logRow } = await ask({
        model: 'equals',
        messages: say(`Question ${count}`),
      })
      expect({ status, model: json.model }).toEqual({ status: 200, model: 'equals' })
      expect(charge).toMatchObject({ state: 'settled', model: 'equals', amount: priceOf('first') })
      upstreamsSeen.add(logRow.upstream)
    }
    expect([...upstreamsSeen]).toEqual(['second'])
    expect(asked()[1]).toBe(20)
    expect(asked()[0]).toBeGreaterThan(0)
  })

  test('without a key are passed over', async () => {
    const { catalogue } = gateway.server.world
    const found = resolveModels(catalogue, anyKey, chat, 'one-of-two', { now: Date.now })
    expect(found.map(({ upstream }) => upstream.name)).toEqual(['first'])
    expect((await ask({ model: 'one-of-two' })).json.model).toBe('one-of-two')
  })
})

describe('what a key may use', () => {
  const list = async (secret = gateway.secret) => {
    const response = await fetch(`${gateway.url}/v1/models`, {
      headers: { authorization: `Bearer ${secret}` },
    })
    return ((await response.json()) as Json).data as Json[]
  }

  test('the list has routes that somebody can answer, each once, and no aliases', async () => {
    const data = await list()
    const ids = data.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toEqual(expect.arrayContaining(['routed', 'any-form', 'half-there', 'equals', 'spread']))
    for (const id of ['not-there', 'keyless', ...Object.keys(aliases)]) expect(ids).not.toContain(id)
    expect(data.find(({ id }) => id === 'routed').owned_by).toBe('route')
    expect(data.find(({ id }) => id === 'any-form').owned_by).toBe('us')
  })

  test('a route of which some models are missing calls the others', async () => {
    expect((await ask({ model: 'half-there' })).json.model).toBe('third')
    const { status, json, charges } = await ask({ model: 'not-there' })
    expect({ status, charges, code: json.error.code }).toEqual({
      status: 400,
      charges: 0,
      code: 'model_not_found',
    })
  })

  test('a key for a route may not name its models, nor vice versa', async () => {
    const routeOnly = (await gateway.makeKey('one', '1', { models: ['routed'] })).secret
    const modelOnly = (await gateway.makeKey('two', '1', { models: ['second'] })).secret
    expect((await list(routeOnly)).map(({ id }) => id)).toEqual(['routed'])
    expect((await list(modelOnly)).map(({ id }) => id)).toEqual(['second'])
    vendors.first.answer = failing(500)
    const statusOf = async (secret: string, model: string) =>
      (await ask({ model }, { headers: { authorization: `Bearer ${secret}` } })).status
    expect(await statusOf(routeOnly, 'routed')).toBe(200)
    expect(await statusOf(routeOnly, 'second')).toBe(400)
    expect(await statusOf(modelOnly, 'routed')).toBe(400)
    expect(await statusOf(modelOnly, 'second')).toBe(200)
    // Another name of a model neither gives nor takes away a permission.
    expect(await statusOf(modelOnly, 'any-name')).toBe(200)
    expect(await statusOf(routeOnly, 'any-name')).toBe(400)
    expect(await statusOf(routeOnly, 'claude-haiku-4-1')).toBe(200)
  })
})

describe('an alias', () => {
  test.each([
    ['any-name', 'second'],
    ['claude-haiku-9', 'second'],
    ['claude-haiku-', 'second'],
    // The longest beginning, then the whole name.
    ['claude-haiku-4-1-20260101', 'first'],
    ['claude-haiku-4-5', 'third'],
    // A model of the name itself.
    ['third', 'third'],
    ['thirst', 'second'],
  ] as const)('%s is %s, by name and price', async (alias, name) => {
    const { status, json, charge, logRow } = await ask({ model: alias })
    expect({ status, model: json.model }).toEqual({ status: 200, model: name })
    expect(charge).toMatchObject({ model: name, amount: priceOf(name) })
    expect(logRow.model).toBe(name)
  })

  test.each(['claude-haiku', 'any-name-2', 'keyless', 'not-there'])('%s is not a route', async (model) => {
    const { status, json, charges } = await ask({ model })
    expect({ status, charges }).toEqual({ status: 400, charges: 0 })
    expect(json.error).toMatchObject({ code: 'model_not_found', param: 'model' })
    expect(json.error.message).toContain(`\`${model}\``)
  })

  test('is one for every operation', async () => {
    const { status, json } = await ask({ model: 'messages-mini' }, { path: '/v1/messages' })
    expect({ status, model: json.model, type: json.type }).toEqual({
      status: 200,
      model: 'test-messages',
      type: 'message',
    })
    expect((await ask({ model: 'messages-mini' })).json).toMatchObject({
      object: 'chat.completion',
      model: 'test-messages',
    })
  })
})

describe('a configuration is wrong', () => {
  const right = {
    upstreams: { first: vendors.first.upstream, second: vendors.second.upstream },
    models: { first: modelOf('first'), second: modelOf('second'), both: { route: ['first', 'second'] } },
    aliases: { 'one-*': 'both' },
  }
  const withModel = (entry: unknown) => ({ ...right, models: { ...right.models, odd: entry } })

  test('not so', () => {
    expect(faultsOf(right)).toEqual([])
    expect(faultsOf(withModel(modelOf('first', { first: 2, second: 1 })))).toEqual([])
  })

  test.each([
    ['a route to nowhere', withModel({ route: ['nobody'] }), 'models.odd.route: there is no model "nobody"'],
    [
      'a route to a route',
      withModel({ route: ['first', 'both'] }),
      'models.odd.route: "both" is a route itself',
    ],
    ['a route to itself', withModel({ route: ['odd'] }), 'models.odd.route: "odd" is a route itself'],
    [
      'a route that turns back',
      withModel({ route: ['first', 'first'] }),
      'models.odd.route: "first" appears twice',
    ],
    ['an empty route', withModel({ route: [] }), 'models.odd.route: '],
    ['a route that is not a list', withModel({ route: 'first' }), 'models.odd.route: '],
    ['a route with a price', withModel({ route: ['first'], price: {} }), 'models.odd.price: '],
    [
      'an upstream that is not there',
      withModel(modelOf('first', { first: 1, east: 1 })),
      'models.odd.upstream: there is no upstream "east"',
    ],
    ['no upstream', withModel(modelOf('first', {})), 'models.odd.upstream: '],
    ['a share of nothing', withModel(modelOf('first', { first: 0 })), 'models.odd.upstream'],
    [
      'an alias of nothing',
      { ...right, aliases: { one: 'nobody' } },
      'aliases.one: there is no model "nobody"',
    ],
    [
      'an alias of an alias',
      { ...right, aliases: { one: 'both', two: 'one' } },
      'aliases.two: there is no model "one"',
    ],
    [
      'an alias of the name of a model',
      { ...right, aliases: { first: 'second' } },
      'aliases.first: there is a model of this name',
    ],
    [
      'an alias with a star in it',
      { ...right, aliases: { 'a-*-b': 'first' } },
      'aliases.a-*-b: a name, or the beginning',
    ],
    [
      'an alias for everything',
      { ...right, aliases: { '*': 'first' } },
      'aliases.*: a name, or the beginning',
    ],
  ])('%s', (_, config, fault) => {
    expect(faultsOf(config)).toEqual([expect.stringContaining(fault)])
  })
})

test('the command line shows routes, connections and aliases', async () => {
  const folder = temporaryFolder()
  const { json, run, allFail } = createCommandLine(folder)
  const config = {
    upstreams: { ...upstreams, third: { kind: 'openai' } },
    models: {
      first: modelOf('first'),
      equals: modelOf('first', { first: 2, second: 1 }),
      routed: { route: ['first', 'equals'], ownedBy: 'us' },
      third: modelOf('third'),
      'not-there': { route: ['third'] },
    },
    aliases: { 'claude-haiku-*': 'routed', 'any-name': 'first' },
  }
  writeFileSync(join(folder, 'gateway.config.ts'), `export default ${JSON.stringify(config)}\n`)
  const [list, table, check] = await Promise.all([
    json('models list'),
    run('models list'),
    json('config check'),
    allFail(1, [
      ['models price routed --text Hello', 'one of its models: first, equals'],
      ['models price any-other --text Hello', 'no model "any-other"'],
    ]),
  ])
  expect(list.map(({ id }: Json) => id)).toEqual(['first', 'equals', 'third', 'routed', 'not-there'])
  expect(list.find(({ id }: Json) => id === 'equals').upstream).toEqual({ first: 2, second: 1 })
  expect(list.find(({ id }: Json) => id === 'first').aliases).toEqual(['any-name'])
  expect(list.find(({ id }: Json) => id === 'routed')).toEqual({
    id: 'routed',
    aliases: ['claude-haiku-*'],
    operations: ['chat', 'messages', 'responses', 'contents'],
    route: ['first', 'equals'],
    owned_by: 'us',
    available: true,
    reason: null,
  })
  expect(list.find(({ id }: Json) => id === 'not-there')).toMatchObject({
    available: false,
    reason: 'none of third is available',
  })
  expect(check).toMatchObject({ ok: true, models: ['first', 'equals', 'routed'] })
  expect(check.hidden.map(({ id }: Json) => id)).toEqual(['third', 'not-there'])
  const { stdout, stderr } = table
  expect(stdout).toMatch(/^equals +chat, messages, responses, contents +first 2, second 1 +yes /m)
  expect(stdout).toMatch(
    /^routed +chat, messages, responses, contents +route +yes +that of the first model that answers: first, equals$/m,
  )
  expect(stdout).toMatch(/^not-there +chat, messages, responses, contents +route +no /m)
  expect(stdout).toMatch(/^ALIAS +STANDS FOR$/m)
  expect(stdout).toMatch(/^claude-haiku-\* +routed$/m)
  expect(stderr).toContain('none of third is available')
})
