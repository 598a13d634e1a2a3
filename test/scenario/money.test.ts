// Money end to end: real requests to the real gateway, simulated vendors behind it, on both databases. Each test counts
// the calls to vendors and the charges, and closing a gateway audits its books.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { addCredit, hold } from '../../src/billing/ledger/ledger'
import type { ModelConfig } from '../../src/config/schema'
import type { Family, Model } from '../../src/contract/family'
import { plainTraits } from '../../src/contract/traits'
import { inputTokensOf, outputTokensOf } from '../../src/contract/units'
import type { Row } from '../../src/db/db'
import { families } from '../../src/families'
import { formatUsd, MAX_NANO, NANO_PER_USD } from '../../src/lib/money'
import { generators } from '../support/answers/generated-bodies'
import { type DatabaseKind, databaseKinds, openAddress } from '../support/databases/databases'
import { makeCharge } from '../support/databases/ledger-rows'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { closeNodes, flood, restart, startNodes, startTwin, statusesOf } from '../support/nodes'
import { createRandom, isWholeRun, seedOf } from '../support/random'
import { type HeldVendor, startHeldVendor } from '../support/vendors/held'
import { completion } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const seed = seedOf('QUOTE_SEED')
const ROUNDS = isWholeRun ? 400 : 100
const CENT = NANO_PER_USD / 100

/** A cent for each request, whatever it says: the hold is the price. */
const flatPrice = { per_1m_input_tokens: '0', per_1m_output_tokens: '0', per_request: '0.01' }
const models: Record<string, ModelConfig> = {
  'flat-chat': { family: 'openai-chat', upstream: 'openai', upstreamModel: 'local-model', price: flatPrice },
  'flat-embedding': {
    family: 'openai-embeddings',
    upstream: 'openai',
    upstreamModel: 'text-embedding-3-small',
    price: { per_1m_input_tokens: '0', per_request: '0.01' },
  },
}

// Those that take long begin first and go on next to the others.
describe.concurrent('a hold', () => {
  test('that nobody ends, as after the death of a node, is released when its time is over', async () => {
    const clock = makeClock()
    const gateway = await startTestGateway({ balance: '0.01', models, outside: { now: clock.now } })
    const orphan = makeCharge(CENT, { createdAt: clock.now(), expiresAt: clock.now() + 60_000 })
    expect(await hold(gateway.server.world.db, orphan)).toEqual({ held: true })
    expect((await gateway.post(...flatRequest(0))).status).toBe(402)
    clock.pass(60_000)
    // Its process is given some time to prolong it.
    await waitFor(async () => {
      clock.pass(1_000)
      return (await gateway.balance()).heldNano === 0
    })
    expect((await gateway.charges())[0]).toMatchObject({ state: 'released', ended_by: 'expired', amount: 0 })
    expect((await gateway.post(...flatRequest(0))).status).toBe(200)
    await gateway.close()
  })

  test('is never outlived by its request', async () => {
    const gateway = await startTestGateway({
      models,
      // Longer than a busy machine pauses a process before it sends a request.
      upstreams: { openai: { maxDurationMs: 6_000, timeoutMs: 60_000, idleTimeoutMs: 60_000 } },
    })
    const prompts = ['[sandbox delay_ms=20000]', '[sandbox hang]']
    for (const prompt of prompts) {
      const response = await gateway.chat({ model: 'flat-chat', messages: say(prompt) })
      const { error } = (await response.json()) as { error: { code: string } }
      expect([response.status, error.code]).toEqual([504, 'upstream_timeout'])
    }
    const input = Array.from({ length: 3 }, () => '[sandbox delay_ms=20000]')
    const response = await gateway.post('/v1/embeddings', { model: 'flat-embedding', input })
    expect(response.status).toBe(504)
    for (const charge of await gateway.charges())
      expect(charge).toMatchObject({ state: 'released', ended_by: 'timeout' })
    await gateway.close()
  })
})

describe.concurrent('an Idempotency-Key', () => {
  test.each([
    ['empty', ''],
    ['too long', 'k'.repeat(256)],
  ])('that is %s is refused, and nothing is sent', async (_, value) => {
    const gateway = await startTestGateway()
    const response = await gateway.chat({}, { 'idempotency-key': value })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      error: { param: 'Idempotency-Key', message: expect.stringContaining('1 to 255') },
    })
    expect(gateway.sandbox.calls).toEqual([])
    expect((await gateway.chat({}, { 'idempotency-key': 'k'.repeat(255) })).status).toBe(200)
    await gateway.close()
  })

  test.each([false, true])(
    'of an answer that is too large to keep says so instead of paying twice (stream: %p)',
    async (stream) => {
      const gateway = await startTestGateway({ models })
      const key = { 'idempotency-key': 'large' }
      const words = '界'.repeat(2_000)
      const body = {
        model: 'flat-chat',
        stream,
        n: 24,
        messages: say(`${words} [sandbox tokens=${stream ? 900 : 48000}]`),
      }
      const first = await gateway.chat(body, key)
      expect(first.status).toBe(200)
      expect(Buffer.byteLength(await first.text())).toBeGreaterThan(4 * 1024 * 1024)
      const again = await gateway.chat(body, key)
      expect(again.status).toBe(409)
      expect(await again.json()).toMatchObject({ error: { code: 'idempotency_answer_too_large' } })
      expect(again.headers.get('x-should-retry')).toBe('false')
      expect(gateway.sandbox.calls).toHaveLength(1)
      await gateway.close()
    },
  )
})

for (const kind of databaseKinds) {
  // PostgreSQL has only so many connections to give.
  const group = kind === 'sqlite' ? describe.concurrent : describe
  group(`limits of a key on ${kind}`, () => {
    budgetTests(kind)
    rateTests(kind)
    rateHeaderTests(kind)
    concurrencyTests(kind)
  })
  group(`running requests on ${kind}`, () => inFlightTests(kind))
  group(`an Idempotency-Key on ${kind}`, () => idempotencyTests(kind))
  group(`the price of a request on ${kind}`, () => priceTests(kind))
  group(`a price above the hold on ${kind}`, () => pricesAboveTheHold(kind))
  group(`a database that is down: ${kind}`, () => outageTests(kind))
  describe(`overdraft on ${kind}`, () => overdraftTests(kind))
  describe(`refusals on ${kind}`, () => refusalTests(kind))
}

/** Rows in the logs of all nodes; on PostgreSQL they have one log. */
async function countLogged(nodes: readonly TestGateway[]): Promise<number> {
  const logs = await Promise.all(nodes.map((node) => node.requestLog()))
  const isShared = nodes[0]?.databaseUrl !== undefined
  return (isShared ? await nodes[0]?.requestLog() : logs.flat())?.length ?? 0
}

function overdraftTests(kind: DatabaseKind): void {
  test('1,000 requests at once, money for 10: 10 are served, 990 are not, nothing is left', async () => {
    const nodes = await startNodes(kind, 3, { balance: '0.10', models })
    const [first] = nodes
    const answers = await flood(1_000, (index) => {
      const node = nodes[index % nodes.length] as TestGateway
      return node.post(...flatRequest(index), bearer(first.secret))
    })
    expect(statusesOf(answers)).toEqual({ 200: 10, 402: 990 })
    for (const { status, text, headers } of answers) {
      if (status === 200) continue
      const { error } = JSON.parse(text)
      expect(error.message).toContain('may cost up to $0.01')
      expect(['in_flight', 'insufficient_balance']).toContain(error.code)
      expect(headers.get('retry-after')).toBe(error.code === 'in_flight' ? '1' : null)
    }
    expect(first.sandbox.calls).toHaveLength(10)
    // A charge that a busy database could not end at once ends a moment later.
    await waitFor(async () => (await first.balance()).heldNano === 0)
    expect(await first.balance()).toMatchObject({ balanceNano: 0, heldNano: 0 })
    expect((await first.charges()).map(({ state, amount }) => [state, amount])).toEqual(
      Array.from({ length: 10 }, () => ['settled', CENT]),
    )
    // A row is written a moment after its answer.
    await waitFor(async () => (await countLogged(nodes)) === 1_000)
    await closeNodes(nodes)
  })

  test('requests that cost less than they hold never spend more than there is', async () => {
    const gateway = await startTestGateway({ database: kind, balance: '0.005' })
    const answers = await flood(300, () => gateway.chat({ max_tokens: 500 }))
    const { 200: served = 0, 402: refused = 0 } = statusesOf(answers)
    expect(served + refused).toBe(300)
    expect(served).toBeGreaterThan(3)
    expect(gateway.sandbox.calls).toHaveLength(served)
    const paid = (await gateway.charges()).map(({ amount }) => amount as number)
    const { balanceNano, heldNano } = await gateway.balance()
    expect([balanceNano, heldNano]).toEqual([5_000_000 - paid.reduce((sum, amount) => sum + amount, 0), 0])
    await gateway.close()
  })

  test('an account without money gets nothing, not even with its first requests', async () => {
    const gateway = await startTestGateway({ database: kind, models })
    const { secret } = await gateway.makeKey('bob', '0')
    const answers = await flood(100, (index) => gateway.post(...flatRequest(index), bearer(secret)))
    expect(statusesOf(answers)).toEqual({ 402: 100 })
    expect(gateway.sandbox.calls).toEqual([])
    expect(await gateway.charges()).toEqual([])
    await gateway.close()
  })
}

function refusalTests(kind: DatabaseKind): void {
  test('a request that can cost more than any account can have is refused with 402', async () => {
    const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '1000000' }
    const dear = { ...models['flat-chat'], price } as ModelConfig
    const gateway = await startTestGateway({ database: kind, balance: '1000', models: { dear } })
    const body = { model: 'dear', messages: say('Hi'), max_tokens: 100_000_000, n: 128 }
    const most = formatUsd(MAX_NANO)
    const response = await gateway.post('/v1/chat/completions', body)
    const { error } = (await response.json()) as { error: Record<string, unknown> }
    expect([response.status, error.code]).toEqual([402, 'insufficient_balance'])
    expect(error.message).toContain(`may cost up to $${most};`)
    // A key with a budget is refused because of it, and a price is reported before anything is sent.
    const { secret } = await gateway.makeKey('thrifty', '5', {
      budgetNano: NANO_PER_USD,
      budgetPeriod: 'day',
    })
    const refused = await gateway.post('/v1/chat/completions', body, bearer(secret))
    expect(refused.status).toBe(402)
    expect(gateway.sandbox.calls).toEqual([])
    await gateway.close()
  })

  test('402 says how much is needed and how much is available', async () => {
    const gateway = await startTestGateway({ database: kind, balance: '0.001' })
    const response = await gateway.chat({ max_tokens: 1_000 })
    expect(response.status).toBe(402)
    const { error } = (await response.json()) as { error: Record<string, unknown> }
    const needed = Number(/^This request may cost up to \$([\d.]+);/.exec(String(error.message))?.[1])
    // 2,000 nano-dollars for each token of output, and a little for the input.
    expect(needed).toBeGreaterThan(0.002)
    expect(needed).toBeLessThan(0.0022)
    expect(gateway.sandbox.calls).toEqual([])
    expect(error).toMatchObject({ code: 'insufficient_balance', type: 'insufficient_balance', param: null })
    expect(error.message).toContain('the account has $0.001 available. Add money to the account')
    expect(error.request_id).toBe(response.headers.get('x-request-id'))
    expect(response.headers.get('retry-after')).toBeNull()
    expect(response.headers.get('x-should-retry')).toBe('false')
    await gateway.close()
  })
}

function budgetTests(kind: DatabaseKind): void {
  test('a budget is exact from the first request on, and does not touch the account’s other keys', async () => {
    const nodes = await startNodes(kind, 2, { models, outside: { now: makeClock().now } })
    const [first] = nodes
    const { secret } = await first.makeKey('alice', '0', { budgetNano: 5 * CENT, budgetPeriod: 'day' })
    const answers = await flood(100, (index) => {
      const node = nodes[index % nodes.length] as TestGateway
      return node.post(...flatRequest(index), bearer(secret))
    })
    expect(statusesOf(answers)).toEqual({ 200: 5, 402: 95 })
    const refused = answers.find(({ status }) => status === 402)
    expect(['budget_exceeded', 'in_flight']).toContain(JSON.parse(refused?.text ?? '').error.code)
    expect(refused?.text).toContain("this key's budget of $0.05 a day")
    expect(first.sandbox.calls).toHaveLength(5)
    const late = await first.post(...flatRequest(0), bearer(secret))
    expect([late.headers.get('retry-after'), late.headers.get('x-should-retry')]).toEqual([null, 'false'])
    const { error } = (await late.json()) as { error: { code: string; message: string } }
    expect(error.code).toBe('budget_exceeded')
    expect(error.message).toMatch(/a day has \$0\.00 left\. It is renewed at \d{4}-\d\d-\d\dT00:00:00/)
    expect((await first.post(...flatRequest(0))).status).toBe(200)
    await closeNodes(nodes)
  })

  test('a first request above the whole budget is not sent', async () => {
    const gateway = await startTestGateway({ database: kind, models })
    const { secret } = await gateway.makeKey('alice', '0', { budgetNano: CENT - 1, budgetPeriod: 'month' })
    expect((await gateway.post(...flatRequest(0), bearer(secret))).status).toBe(402)
    expect(gateway.sandbox.calls).toEqual([])
    expect(await gateway.charges()).toEqual([])
    await gateway.close()
  })
}

function rateTests(kind: DatabaseKind): void {
  test('a rate of requests is exact on all nodes, says when to come back, and serves then', async () => {
    const clock = makeClock()
    const nodes = await startNodes(kind, 2, { models, outside: { now: clock.now } })
    const [first] = nodes
    const { secret } = await first.makeKey('alice', '0', { requestsPerMinute: 7 })
    const send = (index: number) => {
      const node = nodes[index % nodes.length] as TestGateway
      return node.post(...flatRequest(index), bearer(secret))
    }
    const answers = await flood(100, send)
    expect(statusesOf(answers)).toEqual({ 200: 7, 429: 93 })
    const refused = answers.find(({ status }) => status === 429)
    expect(Object.keys(JSON.parse(refused?.text ?? ''))).toEqual(['code', 'message', 'request_id', 'error'])
    expect(JSON.parse(refused?.text ?? '')).toMatchObject({
      code: 'Throttling.RateQuota',
      message: 'This key may use 7 requests a minute. Try again in 45 s.',
      error: { code: 'Throttling.RateQuota', type: 'rate_limit_error' },
    })
    expect(refused?.headers.get('retry-after')).toBe('45')
    expect(first.sandbox.calls).toHaveLength(7)
    clock.pass(44_999)
    expect((await send(0)).status).toBe(429)
    clock.pass(1)
    expect((await send(0)).status).toBe(200)
    await closeNodes(nodes)
  })

  test('a rate of tokens counts what was really used', async () => {
    const clock = makeClock()
    const gateway = await startTestGateway({ database: kind, outside: { now: clock.now } })
    const { secret } = await gateway.makeKey('alice', '0', { tokensPerMinute: 1_000 })
    const chat = (tokens: number) =>
      gateway.chat(
        { messages: say(`[sandbox tokens=${tokens} prompt_tokens=100]`), max_tokens: 900 },
        bearer(secret),
      )
    const first = await chat(300)
    expect(first.headers.get('x-ratelimit-limit-tokens')).toBe('1000')
    expect(first.headers.get('x-ratelimit-remaining-tokens')).toBe('600')
    expect(first.headers.get('x-ratelimit-reset-tokens')).toBe('45s')
    expect(first.headers.has('x-ratelimit-limit-requests')).toBe(false)
    expect((await chat(550)).headers.get('x-ratelimit-remaining-tokens')).toBe('0')
    const refused = await chat(1)
    expect(refused.status).toBe(429)
    expect(((await refused.json()) as { message: string }).message).toContain('1000 tokens a minute')
    expect(refused.headers.get('retry-after')).toBe('45')
    clock.pass(45_000)
    expect((await chat(1)).status).toBe(200)
    expect(gateway.sandbox.calls).toHaveLength(3)
    await gateway.close()
  })
}

function rateHeaderTests(kind: DatabaseKind): void {
  test('a key with a rate sees in every answer what is left of it', async () => {
    const clock = makeClock()
    const gateway = await startTestGateway({ database: kind, outside: { now: clock.now } })
    const { secret } = await gateway.makeKey('alice', '0', { requestsPerMinute: 3, tokensPerMinute: 90_000 })
    const seen: (string | null)[][] = []
    for (const stream of [false, true, false, false]) {
      const response = await gateway.chat({ stream }, bearer(secret))
      await response.text()
      seen.push([
        String(response.status),
        response.headers.get('x-ratelimit-limit-requests'),
        response.headers.get('x-ratelimit-remaining-requests'),
        response.headers.get('x-ratelimit-reset-requests'),
      ])
    }
    expect(seen).toEqual([
      ['200', '3', '2', '45s'],
      ['200', '3', '1', '45s'],
      ['200', '3', '0', '45s'],
      ['429', '3', '0', '45s'],
    ])
    const plain = await gateway.chat()
    expect([...plain.headers.keys()].filter((name) => name.startsWith('x-ratelimit'))).toEqual([])
    await gateway.close()
  })

  test('an answer that comes in a later minute shows the rest of that minute', async () => {
    const clock = makeClock()
    const vendor = startHeldVendor()
    const gateway = await startTestGateway({
      database: kind,
      ...heldBy(vendor),
      outside: { now: clock.now },
    })
    const { secret } = await gateway.makeKey('alice', '0', { requestsPerMinute: 3 })
    const running = [false, true].map((stream) =>
      gateway.chat({ model: 'held-chat', stream }, bearer(secret)),
    )
    await waitFor(() => vendor.requests === running.length)
    clock.pass(45_000)
    vendor.letGo()
    for (const response of await Promise.all(running)) {
      await response.text()
      expect([
        response.status,
        response.headers.get('x-ratelimit-remaining-requests'),
        response.headers.get('x-ratelimit-reset-requests'),
      ]).toEqual([200, '3', '60s'])
    }
    await gateway.close()
    await vendor.stop()
  })
}

function concurrencyTests(kind: DatabaseKind): void {
  test('places for running requests are exact on all nodes and come free again', async () => {
    const vendor = startHeldVendor()
    const nodes = await startNodes(kind, 2, heldBy(vendor))
    const [first] = nodes
    const { secret } = await first.makeKey('alice', '0', { concurrency: 3 })
    const statuses: number[] = []
    const running = flood(50, async (index) => {
      const node = nodes[index % nodes.length] as TestGateway
      const response = await node.chat({ model: 'held-chat' }, bearer(secret))
      statuses.push(response.status)
      return response
    })
    await waitFor(() => statuses.length === 47)
    expect(statusesOf(statuses.map((status) => ({ status })))).toEqual({ 429: 47 })
    vendor.letGo()
    const answers = await running
    expect(statusesOf(answers)).toEqual({ 200: 3, 429: 47 })
    const refused = answers.find(({ status }) => status === 429)
    expect(JSON.parse(refused?.text ?? '')).toMatchObject({ code: 'Throttling.ConcurrencyQuota' })
    expect(refused?.headers.get('retry-after')).toBe('1')
    expect(vendor.requests).toBe(3)
    expect((await first.post(...flatRequest(0), bearer(secret))).status).toBe(200)
    await closeNodes(nodes)
    await vendor.stop()
  })
}

function inFlightTests(kind: DatabaseKind): void {
  test.each([
    { whole: 'the account', balance: '0.05', budgetNano: null, words: 'the account has $0.00 available' },
    {
      whole: 'the budget',
      balance: '1',
      budgetNano: 5 * CENT,
      words: "this key's budget of $0.05 a day has $0.00 left",
    },
  ])(
    'that hold all of $whole make others wait, and then their turn comes',
    async ({ balance, budgetNano, words }) => {
      // The vendor finally fails, so that the money is released.
      const vendor = startHeldVendor(() => Response.json({}, { status: 500 }))
      const outside = { now: makeClock().now }
      const gateway = await startTestGateway({ database: kind, balance: '0', ...heldBy(vendor), outside })
      const { secret } = await gateway.makeKey('alice', balance, { budgetNano, budgetPeriod: 'day' })
      const running = flood(5, () => gateway.chat({ model: 'held-chat' }, bearer(secret)))
      await waitFor(() => vendor.requests === 5)
      const refused = await gateway.post(...flatRequest(0), bearer(secret))
      expect(refused.status).toBe(402)
      expect([refused.headers.get('retry-after'), refused.headers.get('x-should-retry')]).toEqual([
        '1',
        'true',
      ])
      const { error } = (await refused.json()) as { error: { code: string; message: string } }
      expect(error.code).toBe('in_flight')
      expect(error.message).toContain(`${words} while running requests hold $0.05`)
      vendor.letGo()
      expect(statusesOf(await running)).toEqual({ 502: 5 })
      expect((await gateway.post(...flatRequest(0), bearer(secret))).status).toBe(200)
      expect(await gateway.charges()).toHaveLength(6)
      expect((await gateway.balance()).heldNano).toBe(0)
      await gateway.close()
      await vendor.stop()
    },
  )
}

function pricesAboveTheHold(kind: DatabaseKind): void {
  test('may be above the hold when the caller set no limit: the rest is taken from the balance', async () => {
    const gateway = await startTestGateway({
      database: kind,
      balance: '0.01',
      models: { 'test-chat': { reserveOutputTokens: 10 } },
    })
    const response = await gateway.chat({ messages: say('[sandbox tokens=1000 prompt_tokens=5]') })
    expect(response.status).toBe(200)
    expect(response.headers.get('x-gateway-cost-usd')).toBe('0.002005')
    const [charge] = await gateway.charges()
    // The rest was held before anything was delivered.
    expect(charge).toMatchObject({ amount: 2_005_000, held: 2_005_000, shortfall: 0 })
    expect(await gateway.balance()).toMatchObject({ balanceNano: 7_995_000, heldNano: 0 })
    await gateway.close()
  })

  test('above all that is there is not delivered, not charged, and said', async () => {
    const gateway = await startTestGateway({
      database: kind,
      balance: '0.0005',
      models: { 'test-chat': { reserveOutputTokens: 10 } },
    })
    const ask = () => gateway.chat({ messages: say('[sandbox tokens=1000 prompt_tokens=5]') })
    const response = await ask()
    expect(response.status).toBe(402)
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    expect(error.code).toBe('insufficient_balance')
    expect(error.message).toMatch(
      /^The answer costs \$0\.002005, more than the \$0\.000\d+ that was held for it, and the account has \$0\.000\d+ available for the rest\. It is not delivered and not charged\./,
    )
    expect(await gateway.charges()).toMatchObject([
      { state: 'released', ended_by: 'balance', amount: 0, shortfall: 0 },
    ])
    expect(await gateway.balance()).toMatchObject({ balanceNano: 500_000, heldNano: 0 })
    expect(await gateway.newestLogged()).toMatchObject({ status: 402, ended_by: 'balance' })
    await gateway.close()
  })

  test('above the budget of its key is not delivered, and its Idempotency-Key is free again', async () => {
    const gateway = await startTestGateway({
      database: kind,
      models: { 'test-chat': { reserveOutputTokens: 10 } },
    })
    const { secret } = await gateway.makeKey('rich', '1', { budgetNano: 500_000, budgetPeriod: 'day' })
    const headers = { authorization: `Bearer ${secret}`, 'idempotency-key': 'one' }
    const ask = () => gateway.chat({ messages: say('[sandbox tokens=1000 prompt_tokens=5]') }, headers)
    for (const code of ['budget_exceeded', 'budget_exceeded']) {
      const response = await ask()
      expect({ status: response.status, error: (await response.json()) as unknown }).toMatchObject({
        status: 402,
        error: { error: { code } },
      })
    }
    expect(await gateway.balance('rich')).toMatchObject({ balanceNano: NANO_PER_USD, heldNano: 0 })
    await gateway.close()
  })
}

function priceTests(kind: DatabaseKind): void {
  test('is the one of its beginning, though it changes while the request runs', async () => {
    const vendor = startHeldVendor()
    const priced = (dollars: string) => {
      const price = { per_1m_input_tokens: dollars, per_1m_output_tokens: dollars }
      const { upstreams, models: held } = heldBy(vendor)
      return { upstreams, models: { ...held, 'held-chat': { ...held['held-chat'], price } } }
    }
    const ask = (gateway: TestGateway) => flood(1, () => gateway.chat({ model: 'held-chat' }))
    const old = await startTestGateway({ database: kind, ...priced('1.00') })
    const running = [ask(old)]
    await waitFor(() => vendor.requests === 1)
    // PostgreSQL: another node with new prices next to the old one. SQLite: the old one ends and a new one begins.
    const twin = kind === 'postgres' ? await startTwin(old, priced('3.00')) : undefined
    if (twin) running.push(ask(twin))
    await waitFor(() => vendor.requests === running.length)
    vendor.letGo()
    await Promise.all(running)
    const young = twin ?? (await restart(old, priced('3.00')))
    await ask(young)
    const rows = await young.charges()
    const figures = rows.map(({ prices, amount }) => [
      JSON.parse(prices as string)[0].pico.output_token,
      amount,
    ])
    const both = [
      [1_000_000, 30_000],
      [3_000_000, 90_000],
    ]
    expect(figures).toEqual(kind === 'postgres' ? [...both, [3_000_000, 90_000]] : both)
    await young.close()
    if (kind === 'postgres') await old.close()
    else await old.sandbox.stop()
    await vendor.stop()
  })

  test('is the total of all candidates, with cached tokens at their own price', async () => {
    const gateway = await startTestGateway({ database: kind })
    const messages = say('[sandbox tokens=40 prompt_tokens=100 cached=60]')
    const response = await gateway.chat({ messages, n: 3 })
    expect(await response.json()).toMatchObject({ usage: { prompt_tokens: 100, completion_tokens: 120 } })
    expect((await gateway.charges())[0]).toMatchObject({ amount: 40 * 1_000 + 60 * 100 + 120 * 2_000 })
    await gateway.close()
  })
}

interface UsageFault {
  fault: string
  source: 'upstream' | 'counted' | 'estimated'
  logged: boolean
}

/** Usage that vendors report, and the usage that is charged: never nothing, and never a credit. */
const usageFaults: UsageFault[] = [
  { fault: 'missing', source: 'counted', logged: false },
  { fault: 'negative', source: 'estimated', logged: true },
  { fault: 'string', source: 'estimated', logged: true },
  { fault: 'huge', source: 'estimated', logged: true },
  { fault: 'overflow', source: 'estimated', logged: true },
  // A number, but not one that so short a request can have come to.
  { fault: 'every_chunk prompt_tokens=5000000', source: 'estimated', logged: true },
  { fault: 'every_chunk', source: 'upstream', logged: false },
]

const chatFamilies = ['test-chat', 'test-dashscope', 'test-xai', 'test-google']
const embeddingFamilies = ['test-embedding', 'text-embedding-v4', 'vgx-4']

describe('usage that a vendor reports wrongly', () => {
  // One gateway for all, because the tokenizer takes a while to load; each test has an account of its own.
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway()
  })
  afterAll(() => gateway.close())

  async function open(account: string) {
    const { secret } = await gateway.makeKey(account, '10')
    const charges = async () => (await gateway.charges()).filter((charge) => charge.account === account)
    const isFlag = ({ event }: { event: string }) => event === 'upstream_usage_invalid'
    return {
      headers: bearer(secret),
      charges,
      balance: async () => (await gateway.balance(account)).balanceNano,
      /** How many of the charges the operator's log calls wrong. */
      flags: async () => {
        const ids = new Set((await charges()).map(({ id }) => id))
        return gateway.log.filter((line) => isFlag(line) && ids.has(line.fields.request as string)).length
      },
    }
  }

  test.each(usageFaults)(
    '$fault is $source in a chat, streamed or not',
    async ({ fault, source, logged }) => {
      const caller = await open(`chat ${fault}`)
      const messages = say(`Say a few words. [sandbox tokens=50 usage=${fault}]`)
      for (const model of chatFamilies) {
        for (const stream of [false, true]) {
          const response = await gateway.chat({ model, stream, messages }, caller.headers)
          expect({ model, stream, status: response.status }).toEqual({ model, stream, status: 200 })
          await response.text()
        }
      }
      const charges = await caller.charges()
      expect(charges).toHaveLength(chatFamilies.length * 2)
      for (const { usage_source, amount, held, shortfall, ended_by } of charges) {
        expect({ usage_source, shortfall, ended_by }).toEqual({
          usage_source: source,
          shortfall: 0,
          ended_by: 'done',
        })
        // 50 tokens of output at 2,000, and a prompt of a dozen: a count of the text comes near it.
        expect(amount as number).toBeGreaterThan(60_000)
        expect(amount as number).toBeLessThan(180_000)
        expect(amount as number).toBeLessThanOrEqual(held as number)
      }
      expect(await caller.flags()).toBe(logged ? charges.length : 0)
      expect(await caller.balance()).toBe(10 * NANO_PER_USD - sumOf(charges))
    },
  )

  test.each(usageFaults.filter(({ fault }) => fault !== 'every_chunk'))(
    '$fault is $source in embeddings, and the caller sees the figure that was charged',
    async ({ fault, source, logged }) => {
      const caller = await open(`embeddings ${fault}`)
      const input = [`Some words to embed. [sandbox usage=${fault}]`, 'And a few more of them.']
      for (const model of embeddingFamilies) {
        const response = await gateway.post('/v1/embeddings', { model, input }, caller.headers)
        expect({ model, status: response.status }).toEqual({ model, status: 200 })
        const { usage } = (await response.json()) as { usage: { prompt_tokens: number } }
        const charge = (await caller.charges()).at(-1)
        expect(charge).toMatchObject({ usage_source: source, amount: usage.prompt_tokens * 1_000 })
        expect(usage.prompt_tokens).toBeGreaterThan(8)
        expect(usage.prompt_tokens).toBeLessThan(40)
      }
      expect(await caller.flags()).toBe(logged ? embeddingFamilies.length : 0)
    },
  )

  test('NaN in a stream is estimated and kept from a caller who did not ask for usage', async () => {
    const caller = await open('streamed NaN')
    const response = await gateway.chat(
      { stream: true, messages: say('Hello. [sandbox tokens=50 usage=nan]') },
      caller.headers,
    )
    const text = await response.text()
    expect(text).not.toContain('NaN')
    expect(text).toEndWith('data: [DONE]\n\n')
    const [charge] = await caller.charges()
    expect(charge).toMatchObject({ usage_source: 'estimated', state: 'settled' })
    expect(charge?.amount as number).toBeGreaterThan(60_000)
  })

  test('NaN in a whole reply is not JSON: the caller gets an error and pays nothing', async () => {
    const caller = await open('whole NaN')
    const response = await gateway.chat({ messages: say('Hello. [sandbox usage=nan]') }, caller.headers)
    expect(response.status).toBe(502)
    expect(((await response.json()) as { error: { code: string } }).error.code).toBe('upstream_garbage')
    expect((await caller.charges())[0]).toMatchObject({ state: 'released', amount: 0 })
  })

  test('a figure beyond anything a model has is estimated', async () => {
    const caller = await open('absurd')
    const response = await gateway.chat(
      { messages: say('Hello. [sandbox tokens=5 prompt_tokens=900000000]') },
      caller.headers,
    )
    expect(response.status).toBe(200)
    expect((await caller.charges())[0]).toMatchObject({ usage_source: 'estimated', shortfall: 0 })
  })
})

function idempotencyTests(kind: DatabaseKind): void {
  test('50 times at once is one call and one charge', async () => {
    const nodes = await startNodes(kind, 2)
    const [first] = nodes
    const body = { messages: say('[sandbox delay_ms=300]') }
    const answers = await flood(50, (index) => {
      const node = nodes[index % nodes.length] as TestGateway
      return node.chat(body, { ...bearer(first.secret), 'idempotency-key': 'once' })
    })
    const { 200: served = 0, 409: refused = 0 } = statusesOf(answers)
    expect(served + refused).toBe(50)
    expect(served).toBeGreaterThan(0)
    expect(new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text)).size).toBe(1)
    for (const { status, text, headers } of answers) {
      if (status === 200) continue
      expect(JSON.parse(text).error).toMatchObject({
        code: 'idempotency_key_in_use',
        type: 'idempotency_error',
      })
      expect([headers.get('retry-after'), headers.get('x-should-retry')]).toEqual(['1', 'true'])
    }
    expect(first.sandbox.calls).toHaveLength(1)
    expect(await first.charges()).toHaveLength(1)
    const again = await first.chat(body, { 'idempotency-key': 'once' })
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    expect(await again.text()).toBe(answers.find(({ status }) => status === 200)?.text as string)
    expect(first.sandbox.calls).toHaveLength(1)
    await closeNodes(nodes)
  })

  test('on another request is refused, and is another one on another account', async () => {
    const gateway = await startTestGateway({ database: kind })
    const bob = await gateway.makeKey('bob', '1')
    const key = { 'idempotency-key': 'mine' }
    expect((await gateway.chat({}, key)).status).toBe(200)
    const embeddings = { model: 'test-embedding', input: 'x' }
    for (const response of [
      await gateway.chat({ temperature: 0 }, key),
      await gateway.post('/v1/embeddings', embeddings, key),
    ]) {
      expect(response.status).toBe(422)
      const { error } = (await response.json()) as { error: Record<string, unknown> }
      expect(error).toMatchObject({ code: 'idempotency_key_reused' })
      expect(error.message).toContain('Use a new key for a new request')
    }
    expect(gateway.sandbox.calls).toHaveLength(1)
    const other = await gateway.chat({}, { ...key, ...bearer(bob.secret) })
    expect([other.status, other.headers.get('idempotent-replayed')]).toEqual([200, null])
    expect(gateway.sandbox.calls).toHaveLength(2)
    await gateway.close()
  })

  test('has its answer after a restart, streamed or not', async () => {
    const before = await startTestGateway({ database: kind })
    const bodies = [{}, { stream: true, messages: say('[sandbox wide tokens=40]') }]
    const texts: string[] = []
    for (const [index, body] of bodies.entries()) {
      texts.push(await (await before.chat(body, { 'idempotency-key': `key ${index}` })).text())
    }
    const after = await restart(before)
    for (const [index, body] of bodies.entries()) {
      const headers = { 'idempotency-key': `key ${index}`, ...bearer(before.secret) }
      const response = await after.chat(body, headers)
      expect([response.status, response.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
      expect(response.headers.get('content-type')).toStartWith(
        index === 0 ? 'application/json' : 'text/event-stream',
      )
      expect(await response.text()).toBe(texts[index] as string)
    }
    expect(texts[1]).toContain('世界')
    expect(after.sandbox.calls).toHaveLength(2)
    expect(await after.charges()).toHaveLength(2)
    await after.close()
    await before.sandbox.stop()
  })

  test('is free again after a request that failed, or that could not be paid', async () => {
    const gateway = await startTestGateway({ database: kind, balance: '0', models })
    const key = { 'idempotency-key': 'try again' }
    const body = { model: 'flat-chat', messages: say('[sandbox times=1 status=500]') }
    const send = () => gateway.post('/v1/chat/completions', body, key)
    expect((await send()).status).toBe(402)
    const money = { id: 'tr', account: 'alice', amountNano: CENT, now: Date.now(), note: null }
    await addCredit(gateway.server.world.db, money)
    expect((await send()).status).toBe(502)
    expect(await gateway.balance()).toMatchObject({ balanceNano: CENT, heldNano: 0 })
    expect((await send()).status).toBe(200)
    expect((await send()).headers.get('idempotent-replayed')).toBe('true')
    expect(gateway.sandbox.calls).toHaveLength(2)
    expect((await gateway.charges()).map(({ state }) => state)).toEqual(['released', 'settled'])
    await gateway.close()
  })

  test('never replays a stream that broke off', async () => {
    const gateway = await startTestGateway({ database: kind })
    const key = { 'idempotency-key': 'broken' }
    const body = { stream: true, messages: say('[sandbox times=1 tokens=30 cut_after=10]') }
    const broken = await (await gateway.chat(body, key)).text()
    expect(broken).toContain('upstream_cut')
    const whole = await gateway.chat(body, key)
    expect(whole.headers.get('idempotent-replayed')).toBeNull()
    expect(await whole.text()).toEndWith('data: [DONE]\n\n')
    expect((await gateway.chat(body, key)).headers.get('idempotent-replayed')).toBe('true')
    expect(gateway.sandbox.calls).toHaveLength(2)
    await gateway.close()
  })

  test('never replays a stream that a shutdown or a time limit cut', async () => {
    const slow = { messages: say('[sandbox times=1 tokens=800 token_delay_ms=20]'), stream: true }
    const before = await startTestGateway({ database: kind, upstreams: { openai: { maxDurationMs: 6_000 } } })
    const cut = await (await before.chat(slow, { 'idempotency-key': 'timeout' })).text()
    expect(cut).toContain('upstream_timeout')
    const shutdown = { ...slow, messages: say('[sandbox times=1 tokens=801 token_delay_ms=20]') }
    const calls = before.sandbox.calls.length
    const running = await before.chat(shutdown, { 'idempotency-key': 'shutdown' })
    const text = running.text()
    await waitFor(() => before.sandbox.calls.length > calls)
    await Bun.sleep(100)
    const after = await restart(before)
    expect(await text.catch(() => 'cut off')).not.toEndWith('data: [DONE]\n\n')
    for (const [name, body] of [
      ['timeout', slow],
      ['shutdown', shutdown],
    ] as const) {
      const response = await after.chat(body, { 'idempotency-key': name })
      expect({ name, replayed: response.headers.get('idempotent-replayed') }).toEqual({
        name,
        replayed: null,
      })
      expect(await response.text()).toEndWith('data: [DONE]\n\n')
    }
    await after.close()
    await before.sandbox.stop()
  })

  test('keeps the whole answer for a caller who disconnected', async () => {
    const gateway = await startTestGateway({ database: kind })
    const key = { 'idempotency-key': 'left' }
    const body = { stream: true, messages: say('[sandbox tokens=40 token_delay_ms=5]') }
    const response = await gateway.chat(body, key)
    await response.body?.cancel()
    await waitFor(async () => (await gateway.charges())[0]?.state === 'settled')
    const again = await gateway.chat(body, key)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true'])
    expect(await again.text()).toEndWith('data: [DONE]\n\n')
    expect(gateway.sandbox.calls).toHaveLength(1)
    await gateway.close()
  })
}

describe(`the hold covers the price (QUOTE_SEED=${seed})`, () => {
  test('of every family', () => {
    // A new family needs a generator of bodies, or nothing proves that its quote is high enough.
    expect(Object.keys(generators).sort()).toEqual([...families.keys()].sort())
  })

  test.each(Object.keys(generators))('%s: by two tokenizers', async (name) => {
    const family = families.get(name) as Family
    const random = createRandom(seed)
    const [{ countTokens: newest }, { countTokens: oldest }] = await Promise.all([
      import('gpt-tokenizer/encoding/o200k_base'),
      import('gpt-tokenizer/encoding/r50k_base'),
    ])
    const options = { disallowedSpecial: new Set<string>() }
    for (let round = 0; round < ROUNDS; round++) {
      const generated = (generators[name] as (typeof generators)[string])(random, 'm')
      const { body, inputTokens, outputTokens, images, characters } = generated
      const byteLength = Buffer.byteLength(JSON.stringify(body))
      const listed = { input_token: 1, input_audio_token: 1, output_token: 1 }
      const priceList = generated.byToken
        ? { isFree: false, tables: [{ listed }] }
        : { isFree: true, tables: [] }
      const upstream = { streamUsage: true }
      const known = { family, traits: plainTraits, reserveOutputTokens: 1 }
      const model = { upstreamModel: 'm', upstream, priceList, ...known } as unknown as Model
      const quote = family.quote({ body, byteLength, at: 0 }, model)
      const { image = 0, output_image_token: painted = 0, input_image_token: seen = 0 } = quote
      const output = outputTokensOf(quote) - painted
      const input = inputTokensOf(quote) - seen
      for (const countTokens of [newest, oldest]) {
        const counted = inputTokens((text) => countTokens(text, options))
        if (input < counted)
          throw new Error(`${input} is less than ${counted} tokens of ${JSON.stringify(body)}`)
      }
      expect(output).toBeGreaterThanOrEqual(outputTokens)
      expect(image).toBeGreaterThanOrEqual(images ?? 0)
      expect(quote.input_image_token ?? 0).toBeGreaterThanOrEqual(generated.inputImageTokens ?? 0)
      expect(quote.output_image_token ?? 0).toBeGreaterThanOrEqual(generated.outputImageTokens ?? 0)
      expect(quote.output_video_token ?? 0).toBeGreaterThanOrEqual(generated.outputVideoTokens ?? 0)
      expect(quote.character ?? 0).toBe(characters ?? 0)
      expect(quote.second ?? 0).toBeGreaterThanOrEqual(generated.seconds ?? 0)
    }
  })

  test.each([
    ['openai-chat', 'test-local'],
    ['openai-embeddings', 'test-embedding'],
    ['openai-embeddings', 'text-embedding-v4'],
    ['gemini-embeddings', 'gmx-embedding-001'],
    ['voyage-embeddings', 'vgx-4'],
  ])('%s: as %s reports it', async (name, model) => {
    const gateway = await startTestGateway()
    const random = createRandom(seed)
    const isChat = name === 'openai-chat'
    for (let round = 0; round < 80; round++) {
      const generated = (generators[name] as (typeof generators)[string])(random, model)
      const { body } = generated
      if (model !== 'test-embedding' && isTokens(body.input)) continue
      // As much output as the limits allow.
      if (isChat) (body.messages as unknown[]).push(...say('[sandbox tokens=5000]'))
      const response = await gateway.post(isChat ? '/v1/chat/completions' : '/v1/embeddings', body)
      const text = await response.text()
      if (response.status !== 200) throw new Error(`${text} for ${JSON.stringify(body)}`)
      const charge = (await gateway.newestCharge()) as Row
      expect(charge).toMatchObject({ state: 'settled', shortfall: 0 })
      expect(charge.amount as number).toBeLessThanOrEqual(charge.held as number)
      if (isChat) expect(charge.amount as number).toBeGreaterThan(generated.outputTokens * 2_000)
    }
    expect(gateway.sandbox.calls.length).toBeGreaterThan(40)
    await gateway.close()
  })
})

function fullDiskTests(): void {
  test('a full disk: no request is sent without a hold, and everything is settled when there is space again', async () => {
    // More than the pages have room for that the database has already.
    const requests = 400
    const gateway = await startTestGateway({ models })
    const { db } = gateway.server.world
    await fillDisk(db)
    const statuses: number[] = []
    for (let index = 0; index < requests; index++) {
      const response = await gateway.post(...flatRequest(index))
      const text = await response.text()
      statuses.push(response.status)
      if (response.status === 200) continue
      expect(JSON.parse(text).error).toMatchObject({ code: 'database_unavailable', type: 'server_error' })
      expect(response.headers.get('retry-after')).toBe('1')
    }
    const served = statuses.filter((status) => status === 200).length
    expect(statuses.filter((status) => status === 503)).toHaveLength(requests - served)
    expect(served).toBeLessThan(requests)
    expect(gateway.sandbox.calls).toHaveLength(served)
    await db.query({ sql: 'pragma max_page_count = 1000000' })
    expect((await gateway.post(...flatRequest(0))).status).toBe(200)
    await waitFor(async () => (await gateway.balance()).heldNano === 0)
    expect((await gateway.balance()).balanceNano).toBe(100 * NANO_PER_USD - (served + 1) * CENT)
    await gateway.close()
  })

  test('a disk that fills up while a request runs: its answer comes and is paid later', async () => {
    // An answer that needs new pages when it is saved.
    const vendor = startHeldVendor(() => Response.json(completion('x'.repeat(100_000), 10, 20)))
    const gateway = await startTestGateway(heldBy(vendor))
    const { db } = gateway.server.world
    const running = gateway.chat({ model: 'held-chat' }, { 'idempotency-key': 'late' })
    await waitFor(() => vendor.requests === 1)
    await fillDisk(db)
    vendor.letGo()
    const response = await running
    expect(response.status).toBe(200)
    await response.text()
    expect(gateway.log.some(({ event }) => event === 'charge_not_ended_yet')).toBe(true)
    expect((await gateway.charges())[0]).toMatchObject({ state: 'held' })
    await db.query({ sql: 'pragma max_page_count = 1000000' })
    await waitFor(async () => (await gateway.charges())[0]?.state === 'settled')
    expect(await gateway.balance()).toMatchObject({ balanceNano: 100 * NANO_PER_USD - CENT, heldNano: 0 })
    await gateway.close()
    await vendor.stop()
  })

  test('a stop waits for a database that cannot be written, and what was answered is paid', async () => {
    const vendor = startHeldVendor(() => Response.json(completion('x'.repeat(100_000), 10, 20)))
    const gateway = await startTestGateway(heldBy(vendor))
    const { db } = gateway.server.world
    const running = gateway.chat({ model: 'held-chat' }, { 'idempotency-key': 'late' })
    await waitFor(() => vendor.requests === 1)
    await fillDisk(db)
    vendor.letGo()
    await (await running).text()
    const stopped = gateway.server.stop(60_000)
    // Time to end in, if it waited for nothing.
    await Bun.sleep(500)
    await db.query({ sql: 'pragma max_page_count = 1000000' })
    expect(await stopped).toBe(0)
    const left = openAddress(join(gateway.server.world.dataDir, 'gateway.sqlite'))
    expect(await left.query({ sql: 'select state from charges' })).toEqual([{ state: 'settled' }])
    await left.close()
    await vendor.stop()
  })
}

function outageTests(kind: DatabaseKind): void {
  if (kind === 'sqlite') {
    fullDiskTests()
    return
  }

  test('connections that are cut: every answer is paid exactly once, and new requests are served again', async () => {
    const vendor = startHeldVendor()
    const gateway = await startTestGateway({ database: kind, ...heldBy(vendor) })
    const other = openAddress(gateway.databaseUrl as string)
    const running = flood(40, () => gateway.chat({ model: 'held-chat' }))
    await waitFor(() => vendor.requests === 40)
    await other.query({
      sql: `select pg_terminate_backend(pid) as done from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`,
    })
    vendor.letGo()
    expect(statusesOf(await running)).toEqual({ 200: 40 })
    // Each dead connection of the pool fails one more query.
    const { db } = gateway.server.world
    await waitFor(async () => {
      const reads = Array.from({ length: 32 }, () => db.query({ sql: 'select pg_sleep(0.01)' }))
      return (await Promise.allSettled(reads)).every(({ status }) => status === 'fulfilled')
    })
    await waitFor(async () => (await gateway.balance()).heldNano === 0)
    expect((await gateway.balance()).balanceNano).toBe(100 * NANO_PER_USD - 40 * CENT)
    expect((await gateway.charges()).filter(({ state }) => state === 'settled')).toHaveLength(40)
    expect((await gateway.post(...flatRequest(0))).status).toBe(200)
    await other.close()
    await gateway.close()
    await vendor.stop()
  })
}

/** The settings of a gateway with a model of a vendor that waits; a request costs a cent. */
function heldBy(vendor: HeldVendor) {
  const held: ModelConfig = { family: 'openai-chat', upstream: 'held', price: flatPrice }
  return { upstreams: { held: vendor.upstream }, models: { ...models, 'held-chat': held } }
}

/** A request that costs a cent: a chat, a streamed chat or an embedding. */
function flatRequest(index: number): [path: string, body: unknown] {
  if (index % 3 === 2) return ['/v1/embeddings', { model: 'flat-embedding', input: 'Hello!' }]
  return ['/v1/chat/completions', { model: 'flat-chat', messages: say('Hello!'), stream: index % 3 === 1 }]
}

function bearer(secret: string): Record<string, string> {
  return { authorization: `Bearer ${secret}` }
}

/** A clock that only moves when told to, 45 seconds before the next minute. */
function makeClock() {
  let now = Date.UTC(2026, 2, 10, 12, 0, 15)
  return {
    now: () => now,
    pass(milliseconds: number) {
      now += milliseconds
    },
  }
}

function isTokens(input: unknown): boolean {
  return Array.isArray(input) && typeof [input].flat(3)[0] === 'number'
}

function sumOf(charges: readonly Record<string, unknown>[]): number {
  return charges.reduce((sum, { amount }) => sum + (amount as number), 0)
}

/** Not one page can be added to the file from now on. */
async function fillDisk(db: TestGateway['server']['world']['db']): Promise<void> {
  const [row] = await db.query({ sql: 'pragma page_count' })
  await db.query({ sql: `pragma max_page_count = ${row?.page_count}` })
}
