// The response cache: the repeated answers, their readers, their lifetime and their price. Each row counts calls to vendors,
// charges and rows of the log. Five faults reported by users of other gateways have their own tests.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { addCredit } from '../../src/billing/ledger/ledger'
import { reconcile } from '../../src/billing/proofs/reconciliation'
import { cacheSavings, sumSavings } from '../../src/billing/reports/cache-savings'
import { addToTotals } from '../../src/billing/reports/usage-totals'
import { faultsOf, type ModelConfig } from '../../src/config/schema'
import {
  findCachedAnswer,
  keepCachedAnswer,
  sweepCachedAnswers,
} from '../../src/kept-responses/cached-answers'
import { formatUsd } from '../../src/lib/money'
import { findRequest } from '../../src/request-log/look-up'
import { detailsJson } from '../../src/request-log/request-json'
import { databaseKinds } from '../support/databases/databases'
import { imageModel, startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import { startTwin } from '../support/nodes'
import type { Json } from '../support/scenario'
import { speechModels } from '../support/speech'

setDefaultTimeout(120_000)

const HOUR_MS = 3_600_000

const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const models: Record<string, ModelConfig> = {
  ...testModels,
  ...speechModels,
  'test-responses': { family: 'openai-responses', upstream: 'openai', upstreamModel: 'gpt-5-mini', price },
  'test-contents': {
    family: 'gemini-contents',
    upstream: 'google',
    upstreamModel: 'gemini-2.5-flash',
    price,
  },
  'test-image': imageModel,
  'test-search': {
    family: 'anthropic-messages',
    upstream: 'anthropic',
    upstreamModel: 'claude-sonnet-4-5',
    price: { ...price, per_1k_web_searches: '10' },
  },
}
delete models['odd-flash']

const say = (content: string) => [{ role: 'user', content }]

interface Exchange {
  response: Response
  text: string
  json: Json
  cache: string | null
  calls: number
  charge: Json
  row: Json
}

describe.each(databaseKinds.map((kind) => [kind] as const))('the response cache on %s', (database) => {
  let gateway: TestGateway
  const clock = { passedMs: 0 }
  let questions = 0

  beforeAll(async () => {
    const cache = { ttl: '1h', price: '0.25' }
    gateway = await startTestGateway({
      database,
      models: {
        ...Object.fromEntries(Object.entries(models).map(([id, entry]) => [id, { ...entry, cache }])),
        'not-cached': testModels['test-chat'] as ModelConfig,
        dear: { ...(testModels['test-chat'] as ModelConfig), cache: { ttl: '1h', price: '1' } },
        free: { ...(testModels['test-chat'] as ModelConfig), cache: { ttl: '1h', price: '0' } },
        first: { route: ['test-chat', 'test-local'] },
      },
      outside: { now: () => Date.now() + clock.passedMs },
    })
  })
  afterAll(() => gateway.close())

  /** A text that no other test asks. */
  const fresh = (words = '') => `Question ${++questions} ${words}`

  const kept = async () => {
    const [row] = await gateway.server.world.db.query({ sql: 'select count(*) as n from cached_answers' })
    return Number(row?.n)
  }

  /** Sends a request, reads its answer to the end, and returns its effects. */
  async function ask(path: string, body: Json, headers: Record<string, string> = {}): Promise<Exchange> {
    const before = gateway.sandbox.calls.length
    const response = await gateway.post(path, body, headers)
    const text = Buffer.from(await response.arrayBuffer()).toString('latin1')
    const id = response.headers.get('x-request-id')
    const row = (await gateway.requestLog()).find((each) => each.id === id) as Json
    return {
      response,
      text,
      json: text.startsWith('{') ? JSON.parse(text) : undefined,
      cache: response.headers.get('x-gateway-cache'),
      calls: gateway.sandbox.calls.length - before,
      charge: await gateway.charge(id),
      row,
    }
  }

  /** Sends a request twice, and waits in between until the first answer is kept. */
  async function askTwice(path: string, body: Json): Promise<[Exchange, Exchange]> {
    const before = await kept()
    const first = await ask(path, body)
    expect({ status: first.response.status, cache: first.cache, text: first.text }).toEqual({
      status: 200,
      cache: 'miss',
      text: first.text,
    })
    await waitFor(async () => (await kept()) > before, 30_000)
    return [first, await ask(path, body)]
  }

  const chat = (content: string, more: Json = {}) => ({ model: 'test-chat', messages: say(content), ...more })

  /** Waits until a later answer is kept: an answer before it is then kept too, or never. */
  async function afterWrites(): Promise<void> {
    const before = await kept()
    await ask('/v1/chat/completions', chat(fresh()))
    await waitFor(async () => (await kept()) > before)
  }

  const OPERATIONS: [name: string, path: string, body: () => Json][] = [
    ['a chat', '/v1/chat/completions', () => chat(fresh())],
    ['a message', '/v1/messages', () => ({ model: 'test-messages', max_tokens: 50, messages: say(fresh()) })],
    ['embeddings', '/v1/embeddings', () => ({ model: 'test-embedding', input: [fresh(), fresh()] })],
    [
      'a response that is not kept',
      '/v1/responses',
      () => ({ model: 'test-responses', input: fresh(), store: false }),
    ],
    [
      "contents, in Gemini's dialect",
      '/v1beta/models/test-contents:generateContent',
      () => ({ contents: [{ parts: [{ text: fresh() }] }] }),
    ],
    [
      'a chat in another dialect than its vendor',
      '/v1/chat/completions',
      () => ({ model: 'test-contents', messages: say(fresh()) }),
    ],
    [
      'speech as WAV',
      '/v1/audio/speech',
      () => ({ model: 'qnx3-tts-flash', input: fresh(), response_format: 'wav' }),
    ],
    ['speech as a growing MP3', '/v1/audio/speech', () => ({ model: 'qnx3-tts-flash', input: fresh() })],
    [
      'a picture as base64',
      '/v1/images/generations',
      () => ({ model: 'test-image', prompt: fresh(), response_format: 'b64_json' }),
    ],
    ['a streamed chat', '/v1/chat/completions', () => chat(fresh(), { stream: true })],
    [
      'a streamed message',
      '/v1/messages',
      () => ({ model: 'test-messages', max_tokens: 50, messages: say(fresh()), stream: true }),
    ],
    [
      'a streamed response',
      '/v1/responses',
      () => ({ model: 'test-responses', input: fresh(), store: false, stream: true }),
    ],
    [
      'streamed contents',
      '/v1beta/models/test-contents:streamGenerateContent?alt=sse',
      () => ({ contents: [{ parts: [{ text: fresh() }] }] }),
    ],
    [
      'embeddings of another vendor',
      '/v1/embeddings',
      () => ({ model: 'gmx-embedding-001', input: fresh() }),
    ],
  ]

  test.each(OPERATIONS)(
    '%s is repeated at its fraction of the price, to the nano-dollar',
    async (_name, path, body) => {
      const startedAt = Date.now()
      const [first, second] = await askTwice(path, body())
      expect({ cache: second.cache, calls: second.calls, text: second.text }).toEqual({
        cache: 'hit',
        calls: 0,
        text: first.text,
      })
      const price = Math.ceil(Number(first.charge.amount) / 4)
      expect(second.charge).toMatchObject({ state: 'settled', held: price, amount: price, ended_by: 'done' })
      expect(second.response.headers.get('x-gateway-cost-usd')).toBe(formatUsd(price))
      const ageSeconds = second.response.headers.get('age')
      expect(ageSeconds).toMatch(/^[0-9]+$/)
      expect(Number(ageSeconds) * 1_000).toBeLessThanOrEqual(Date.now() - startedAt)
      expect(second.row).toMatchObject({
        status: 200,
        amount: price,
        upstream: null,
        sent_ms: null,
        cache: `hit ${first.row.id}`,
        input_tokens: first.row.input_tokens,
        output_tokens: first.row.output_tokens,
      })
      expect(first.row.cache).toBe('miss')
    },
  )

  test('a hit leaves one charge, one row, and no call; ten cost ten', async () => {
    const body = chat(fresh())
    const [first] = await askTwice('/v1/chat/completions', body)
    const { availableNano } = await gateway.balance()
    const [rows, charges] = [(await gateway.requestLog()).length, (await gateway.charges()).length]
    const answers = await Promise.all(Array.from({ length: 10 }, () => gateway.chat(body)))
    expect(answers.map(({ headers }) => headers.get('x-gateway-cache'))).toEqual(Array(10).fill('hit'))
    expect(new Set(await Promise.all(answers.map((each) => each.text())))).toEqual(new Set([first.text]))
    expect((await gateway.requestLog()).length).toBe(rows + 10)
    expect((await gateway.charges()).length).toBe(charges + 10)
    const each = Math.ceil(Number(first.charge.amount) / 4)
    expect(availableNano - (await gateway.balance()).availableNano).toBe(10 * each)
  })

  test.each([
    ['free', 0],
    ['dear', 1],
  ])('the price of a hit of the model %s is %d of the whole', async (model, share) => {
    const [first, second] = await askTwice('/v1/chat/completions', chat(fresh(), { model }))
    expect(second.cache).toBe('hit')
    expect(second.charge.amount).toBe(first.charge.amount * share)
  })

  const NOT_KEPT: [name: string, body: () => Json, status: number, path?: string][] = [
    ['an error of the vendor', () => chat(fresh('[sandbox status=400]')), 400],
    ['an overload', () => chat(fresh('[sandbox status=503]')), 503],
    ['an error with the status 200', () => chat(fresh('[sandbox status=500 soft]')), 502],
    ['a stream that breaks off', () => chat(fresh('[sandbox cut_after=3]'), { stream: true }), 200],
    ['a stream that ends with an error', () => chat(fresh('[sandbox error_after=3]'), { stream: true }), 200],
    ['an answer without output', () => chat(fresh('[sandbox empty]')), 200],
    [
      'an answer that the vendor filtered',
      () => ({ contents: [{ parts: [{ text: fresh('[sandbox finish=SAFETY]') }] }] }),
      200,
      '/v1beta/models/test-contents:generateContent',
    ],
    [
      'an answer that the model refuses',
      () => ({ model: 'test-messages', max_tokens: 50, messages: say(fresh('[sandbox refusal]')) }),
      200,
      '/v1/messages',
    ],
    [
      'a picture at a temporary address',
      () => ({ model: 'test-image', prompt: fresh() }),
      200,
      '/v1/images/generations',
    ],
  ]

  test.each(NOT_KEPT)('%s is not kept', async (_name, body, status, path = '/v1/chat/completions') => {
    const before = await kept()
    const asked = body()
    const question = `Question ${questions} `
    for (let time = 0; time < 2; time++) {
      const answer = await ask(path, asked).catch(() => undefined)
      if (answer)
        expect({ status: answer.response.status, cache: answer.cache }).toEqual({
          status,
          cache: status < 400 ? 'miss' : null,
        })
      await afterWrites()
    }
    const calls = gateway.sandbox.calls.filter((call) => call.body?.includes(question))
    expect(calls.length).toBeGreaterThanOrEqual(2)
    // Only the answers that were waited for.
    expect(await kept()).toBe(before + 2)
  })

  const BYPASSED: [reason: string, path: string, body: () => Json, headers?: Record<string, string>][] = [
    ['no-store', '/v1/chat/completions', () => chat(fresh()), { 'cache-control': 'no-store' }],
    ['kept', '/v1/responses', () => ({ model: 'test-responses', input: fresh() })],
    ['deferred', '/v1/chat/completions?wait=300', () => chat(fresh(), { async: true })],
    [
      'tools',
      '/v1/messages',
      () => ({
        model: 'test-search',
        max_tokens: 50,
        messages: say(fresh()),
        tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }],
      }),
    ],
  ]

  test.each(BYPASSED)('a request bypasses the cache: %s', async (reason, path, body, headers = {}) => {
    const before = await kept()
    const asked = body()
    for (let time = 0; time < 2; time++) {
      const { cache, calls, row, response } = await ask(path, asked, headers)
      expect({ status: response.status, cache, calls, logged: row.cache }).toEqual({
        status: 200,
        cache: 'bypass',
        calls: 1,
        logged: `bypass ${reason}`,
      })
    }
    await afterWrites()
    expect(await kept()).toBe(before + 1)
  })

  test('tools of the caller do not bypass the cache', async () => {
    const tools = [{ type: 'function', function: { name: 'look_up', parameters: { type: 'object' } } }]
    const [first, second] = await askTwice('/v1/chat/completions', chat(fresh('[sandbox tool]'), { tools }))
    expect(first.json.choices[0].message.tool_calls).toHaveLength(1)
    expect({ cache: second.cache, text: second.text }).toEqual({ cache: 'hit', text: first.text })
  })

  test('no-cache and max-age request a new answer, which replaces the kept one', async () => {
    const body = chat(fresh())
    const [first] = await askTwice('/v1/chat/completions', body)
    const before = await kept()
    const anew = await ask('/v1/chat/completions', body, { 'cache-control': 'No-Cache' })
    expect({ cache: anew.cache, calls: anew.calls }).toEqual({ cache: 'miss', calls: 1 })
    let again: Exchange | undefined
    await waitFor(async () => {
      again = await ask('/v1/chat/completions', body)
      return again.row.cache === `hit ${anew.row.id}`
    }, 5_000)
    expect(again?.row.cache).not.toBe(`hit ${first.row.id}`)
    expect(await kept()).toBe(before)
    clock.passedMs += 60_000
    expect((await ask('/v1/chat/completions', body, { 'cache-control': 'max-age=120' })).cache).toBe('hit')
    expect((await ask('/v1/chat/completions', body, { 'cache-control': 'max-age=30' })).cache).toBe('miss')
  })

  test('the answer of a fallback is not kept as that of the first model', async () => {
    const body = chat(fresh('[sandbox status=503 times=1]'), { model: 'first' })
    const served = ({ response, cache }: Exchange) => [response.headers.get('x-gateway-model'), cache]
    expect(served(await ask('/v1/chat/completions', body))).toEqual(['test-local', 'miss'])
    await afterWrites()
    expect(served(await ask('/v1/chat/completions', body))).toEqual(['test-chat', 'miss'])
    await afterWrites()
    expect(served(await ask('/v1/chat/completions', body))).toEqual(['test-chat', 'hit'])
  })

  test('a model without the setting has no cache and no header', async () => {
    const body = chat(fresh(), { model: 'not-cached' })
    for (let time = 0; time < 2; time++) {
      const { cache, calls, row } = await ask('/v1/chat/completions', body)
      expect({ cache, calls, logged: row.cache }).toEqual({ cache: null, calls: 1, logged: null })
    }
  })

  test('the name of a route is answered from the cache of its model', async () => {
    const content = fresh()
    await askTwice('/v1/chat/completions', chat(content))
    const { cache, response, row } = await ask('/v1/chat/completions', chat(content, { model: 'first' }))
    // The caller's text has another name of the model, so it is another request.
    expect({ cache, model: response.headers.get('x-gateway-model'), asked: row.asked_model }).toEqual({
      cache: 'miss',
      model: 'test-chat',
      asked: 'first',
    })
  })

  test('an account that cannot pay for a hit gets 402, and one that can pay only for the hit gets it', async () => {
    const body = chat(fresh('[sandbox tokens=4000]'))
    const account = `bob-${database}`
    const bob = await gateway.makeKey(account, '0.0084')
    const headers = { authorization: `Bearer ${bob.secret}` }
    const before = await kept()
    const first = await ask('/v1/chat/completions', body, headers)
    expect(first.cache).toBe('miss')
    await waitFor(async () => (await kept()) > before, 30_000)
    const price = Math.ceil(first.charge.amount / 4)
    expect(await ask('/v1/chat/completions', body, headers)).toMatchObject({ calls: 0, charge: undefined })
    const { newId, now, db } = gateway.server.world
    const amountNano = price - (await gateway.balance(account)).availableNano
    await addCredit(db, { id: newId('tr'), account, amountNano, now: now(), note: null })
    const paid = await ask('/v1/chat/completions', body, headers)
    expect({ status: paid.response.status, cache: paid.cache, amount: paid.charge.amount }).toEqual({
      status: 200,
      cache: 'hit',
      amount: price,
    })
    const refused = await ask('/v1/chat/completions', body, headers)
    expect({ status: refused.response.status, calls: refused.calls, charge: refused.charge }).toEqual({
      status: 402,
      calls: 0,
      charge: undefined,
    })
  })

  test('an Idempotency-Key repeats a hit without a second charge', async () => {
    const body = chat(fresh())
    const [first] = await askTwice('/v1/chat/completions', body)
    const key = { 'idempotency-key': `once-${database}` }
    const hit = await ask('/v1/chat/completions', body, key)
    const repeated = await ask('/v1/chat/completions', body, key)
    expect([hit.cache, repeated.cache]).toEqual(['hit', null])
    expect(repeated.text).toBe(first.text)
    expect(repeated.charge).toBeUndefined()
    expect(repeated.response.headers.get('idempotent-replayed')).toBe('true')
  })

  test('the books show the savings, and reconciliation expects none of them from a vendor', async () => {
    const { db, now } = gateway.server.world
    const account = `erin-${database}`
    const { secret } = await gateway.makeKey(account, '1')
    const headers = { authorization: `Bearer ${secret}` }
    const paid: Exchange[] = []
    const bodies: [path: string, body: Json][] = [
      ['/v1/chat/completions', chat(fresh('[sandbox cached=10 prompt_tokens=40]'))],
      ['/v1/audio/speech', { model: 'qnx3-tts-flash', input: fresh() }],
    ]
    for (const [path, body] of bodies) {
      const before = await kept()
      const first = await ask(path, body, headers)
      await waitFor(async () => (await kept()) > before, 30_000)
      const hit = await ask(path, body, headers)
      expect(hit.cache).toBe('hit')
      paid.push(first, hit)
      const details = await findRequest({ db, requests: gateway.server.world.requestLog }, String(hit.row.id))
      if (!details) throw new Error('the request is not found')
      const json = detailsJson(String(hit.row.id), details, () => null)
      const lines = json.charges[0]?.lines ?? []
      const sum = lines.reduce((all, { amount_usd: usd }) => all + Math.round(Number(usd) * 1e12), 0)
      expect(sum).toBe(Number(hit.charge.amount) * 1_000)
      expect(lines.map(({ kind }) => kind)).toContain('cache')
      expect(json.charges[0]).toMatchObject({
        cost_usd: '0.00',
        margin_usd: hit.response.headers.get('x-gateway-cost-usd'),
      })
    }
    const characters = String(bodies.at(-1)?.[1].input).length
    await addToTotals(db)
    const { savings } = await cacheSavings(db, {
      since: 0,
      until: now() + HOUR_MS,
      account,
      recorded: async () => new Map([[String(paid[3]?.row.id), { character: characters }]]),
    })
    const [chatFirst, chatHit, spoken, spokenHit] = paid.map(({ charge }) => Number(charge.amount)) as [
      number,
      number,
      number,
      number,
    ]
    const { usage } = (paid[0] as Exchange).json
    const cached = Number(usage.prompt_tokens_details?.cached_tokens ?? 0)
    // A cached token is 900 nano-dollars cheaper than another.
    const byVendor = cached * 900
    expect(sumSavings(savings)).toEqual({
      savedNano: BigInt(byVendor + chatFirst - chatHit + spoken - spokenHit),
      unknown: 0,
    })
    const vendorNames = new Map([['test-chat', 'test-chat']])
    const { charged } = await reconcile(db, [], {
      since: 0,
      until: now() + HOUR_MS,
      vendorNames,
      tolerance: 0,
    })
    const rows = await db.query({
      sql: `select count(*) as n from charge_history where model = 'test-chat' and state = 'settled'
        and prices not like '%"share"%'`,
    })
    expect(charged.requests).toBe(Number(rows[0]?.n))
    expect(charged.requests).toBeGreaterThan(0)
  })

  describe('the faults of other gateways', () => {
    test('OmniRoute#12307: the name has tools, response_format and every other member', async () => {
      const content = fresh('as JSON')
      const tool = (name: string) => ({
        type: 'function',
        function: { name, parameters: { type: 'object' } },
      })
      const variants: Json[] = [
        {},
        { tools: [tool('one')] },
        { tools: [tool('two')] },
        { tools: [tool('one')], tool_choice: 'none' },
        { response_format: { type: 'json_object' } },
        { temperature: 0.5 },
        { seed: 7 },
        { max_tokens: 20 },
        { stop: 'x' },
        { stream: true },
        { stream: true, stream_options: { include_usage: true } },
        { user: 'somebody' },
      ]
      for (const more of variants) {
        const { cache, calls } = await ask('/v1/chat/completions', chat(content, more))
        expect({ more, cache, calls }).toEqual({ more, cache: 'miss', calls: 1 })
      }
    })

    test('OmniRoute#3740: an answer is never given to another account', async () => {
      const body = chat(fresh())
      await askTwice('/v1/chat/completions', body)
      const { secret } = await gateway.makeKey(`carol-${database}`, '1')
      const other = { authorization: `Bearer ${secret}` }
      const { cache, calls } = await ask('/v1/chat/completions', body, other)
      expect({ cache, calls }).toEqual({ cache: 'miss', calls: 1 })
      const { secret: own } = await gateway.makeKey('alice', '0')
      expect((await ask('/v1/chat/completions', body, { authorization: `Bearer ${own}` })).cache).toBe('hit')
    })

    test('semantic-router#2130: an error is not kept, and the next request gets its answer', async () => {
      const body = chat(fresh('[sandbox status=400 times=1]'))
      expect((await ask('/v1/chat/completions', body)).response.status).toBe(400)
      const { response, cache } = await ask('/v1/chat/completions', body)
      expect({ status: response.status, cache }).toEqual({ status: 200, cache: 'miss' })
    })

    test('litellm#31610: a repeated stream has its usage, as requested by its caller', async () => {
      const body = chat(fresh(), { stream: true, stream_options: { include_usage: true } })
      const [first, second] = await askTwice('/v1/chat/completions', body)
      expect(second.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
      const events = second.text.split('\n\n').filter((event) => event !== '')
      expect(events.at(-1)).toBe('data: [DONE]')
      const usages = events.slice(0, -1).map((event) => JSON.parse(event.slice('data: '.length)).usage)
      const { prompt_tokens: input, completion_tokens: output } = usages.at(-1)
      expect([input, output]).toEqual([first.row.input_tokens, first.row.output_tokens])
      expect([second.row.input_tokens, second.row.output_tokens]).toEqual([input, output])
      expect(second.cache).toBe('hit')
    })

    test('OmniRoute#12234: an answer lives for its time to live, to the millisecond, and not longer', async () => {
      const body = chat(fresh())
      const [first] = await askTwice('/v1/chat/completions', body)
      const [row] = await gateway.server.world.db.query({
        sql: 'select created_at, expires_at from cached_answers where request = $1',
        parameters: [String(first.row.id)],
      })
      const { created_at: createdAt, expires_at: expiresAt } = row as {
        created_at: number
        expires_at: number
      }
      expect(expiresAt - createdAt).toBe(HOUR_MS)
      const { db } = gateway.server.world
      const found = (now: number, ttlMs = HOUR_MS) =>
        findCachedAnswer(db, { id: idOf, account: 'alice' }, { madeAfter: now - ttlMs, now })
      const [{ id }] = (await db.query({
        sql: 'select id from cached_answers where request = $1',
        parameters: [String(first.row.id)],
      })) as [{ id: string }]
      const idOf = id
      expect(await found(expiresAt - 1)).toBeDefined()
      expect(await found(expiresAt)).toBeUndefined()
      // A shortened period also applies to older data.
      expect(await found(createdAt + 999, 1_000)).toBeDefined()
      expect(await found(createdAt + 1_000, 1_000)).toBeUndefined()
      clock.passedMs += HOUR_MS + 1_000
      const { cache, calls } = await ask('/v1/chat/completions', body)
      expect({ cache, calls }).toEqual({ cache: 'miss', calls: 1 })
      await sweepCachedAnswers(db, gateway.server.world.now())
      const [{ n }] = (await db.query({
        sql: 'select count(*) as n from cached_answers where expires_at <= $1',
        parameters: [gateway.server.world.now()],
      })) as [{ n: number }]
      expect(Number(n)).toBe(0)
    })
  })

  describe('the same request several times at once', () => {
    const atOnce = (body: Json, count: number, headers: Record<string, string> = {}) =>
      Promise.all(
        Array.from({ length: count }, async () => {
          const response = await gateway.chat(body, headers)
          return {
            status: response.status,
            cache: response.headers.get('x-gateway-cache'),
            text: await response.text(),
          }
        }),
      )

    test.each([
      ['whole', {}],
      ['streamed', { stream: true }],
    ])(
      'is sent once, %s, and the other requests get its answer at the price of a hit',
      async (_name, more) => {
        const calls = gateway.sandbox.calls.length
        const charges = (await gateway.charges()).length
        const answers = await atOnce(chat(fresh('[sandbox delay_ms=200]'), more), 8)
        expect(gateway.sandbox.calls.length - calls).toBe(1)
        expect(answers.map(({ cache }) => cache).sort()).toEqual([...Array(7).fill('hit'), 'miss'])
        expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
        const amounts = (await gateway.charges()).slice(charges).map(({ amount }) => Number(amount))
        const whole = Math.max(...amounts)
        expect(amounts.filter((amount) => amount === Math.ceil(whole / 4)).length).toBe(7)
      },
    )

    test('continues by itself if the first one fails', async () => {
      const calls = gateway.sandbox.calls.length
      const answers = await atOnce(chat(fresh('[sandbox status=400 delay_ms=100 times=1]')), 4)
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 400])
      expect(gateway.sandbox.calls.length - calls).toBe(4)
    })

    test('continues by itself if the caller of a stream disconnects', async () => {
      const body = chat(fresh('[sandbox token_delay_ms=20 tokens=100]'), { stream: true })
      const leaving = new AbortController()
      const first = await fetch(`${gateway.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.secret}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: leaving.signal,
      })
      expect(first.headers.get('x-gateway-cache')).toBe('miss')
      const second = ask('/v1/chat/completions', body)
      await Bun.sleep(50)
      leaving.abort()
      const { response, cache, text } = await second
      expect({ status: response.status, cache }).toEqual({ status: 200, cache: 'miss' })
      expect(text).toContain('[DONE]')
    })

    test('a request that bypasses the cache does not wait', async () => {
      const calls = gateway.sandbox.calls.length
      const answers = await atOnce(chat(fresh('[sandbox delay_ms=100]')), 2, { 'cache-control': 'no-cache' })
      expect(answers.map(({ cache }) => cache)).toEqual(['miss', 'miss'])
      expect(gateway.sandbox.calls.length - calls).toBe(2)
    })
  })

  test('a cache that cannot be read or written is a miss and a log line', async () => {
    const { db } = gateway.server.world
    const body = chat(fresh())
    await askTwice('/v1/chat/completions', body)
    const read = gateway.log.length
    await db.batch([{ sql: "update cached_answers set measured = '{'" }])
    const unreadable = await ask('/v1/chat/completions', body)
    expect({ status: unreadable.response.status, cache: unreadable.cache, calls: unreadable.calls }).toEqual({
      status: 200,
      cache: 'miss',
      calls: 1,
    })
    expect(gateway.log.slice(read).map(({ event }) => event)).toContain('cache_not_read')
    await db.batch([{ sql: 'alter table cached_answers rename to gone' }])
    try {
      const before = gateway.log.length
      const { response, cache, calls, charge } = await ask('/v1/chat/completions', chat(fresh()))
      expect({ status: response.status, cache, calls, state: charge.state }).toEqual({
        status: 200,
        cache: 'miss',
        calls: 1,
        state: 'settled',
      })
      await waitFor(() => gateway.log.slice(before).some(({ event }) => event === 'cache_not_written'), 5_000)
      expect(gateway.log.slice(before).map(({ event }) => event)).toContain('cache_not_read')
    } finally {
      await db.batch([{ sql: 'alter table gone rename to cached_answers' }])
    }
  })

  test('cached answers share the storage of kept responses: the oldest are removed, kept responses stay', async () => {
    const { db } = gateway.server.world
    const account = `dora-${database}`
    const answer = (id: string, createdAt: number, body = 'x'.repeat(1_000)) => ({
      id: `${id}-${database}`,
      account,
      model: 'm',
      operation: 'chat',
      request: 'req_1',
      contentType: 'application/json',
      body,
      measured: '',
      createdAt,
      expiresAt: createdAt + HOUR_MS,
    })
    const names = async () =>
      (
        await db.query({
          sql: 'select id from cached_answers where account = $1 order by id',
          parameters: [account],
        })
      ).map(({ id }) => String(id).split('-')[0])
    const total = async () =>
      (
        await db.query({ sql: 'select bytes from response_totals where account = $1', parameters: [account] })
      )[0]?.bytes
    for (const [at, id] of ['a', 'b', 'c'].entries())
      expect(await keepCachedAnswer(db, answer(id, at + 1), 2_500)).toBe(true)
    expect([await names(), await total()]).toEqual([['b', 'c'], 2_000])
    expect(await keepCachedAnswer(db, answer('c', 9, 'y'.repeat(500)), 2_500)).toBe(true)
    expect([await names(), await total()]).toEqual([['b', 'c'], 1_500])
    expect(await keepCachedAnswer(db, answer('d', 10, 'z'.repeat(3_000)), 2_500)).toBe(false)
    await db.batch([
      { sql: 'update response_totals set bytes = 2400 where account = $1', parameters: [account] },
    ])
    expect(await keepCachedAnswer(db, answer('e', 11), 2_500)).toBe(false)
  })
})

test('an answer that is shorter because its account cannot pay more is not kept', async () => {
  const cache = { ttl: '1h' }
  const gateway = await startTestGateway({
    models: { 'test-chat': { ...(testModels['test-chat'] as ModelConfig), cache } },
    config: { limitToBalance: true },
  })
  const { secret } = await gateway.makeKey('finn', '0.004')
  const { db, newId, now } = gateway.server.world
  const keptOf = async (account: string) =>
    (await db.query({ sql: 'select id from cached_answers where account = $1', parameters: [account] }))
      .length
  const askOf = async (content: string, by = gateway.secret) => {
    const response = await gateway.chat({ messages: say(content) }, { authorization: `Bearer ${by}` })
    const { usage } = (await response.json()) as Json
    return { cache: response.headers.get('x-gateway-cache'), output: usage?.completion_tokens }
  }
  const long = '[sandbox tokens=3000] Tell me all.'
  const short = await askOf(long, secret)
  expect(short).toEqual({ cache: 'miss', output: expect.any(Number) })
  expect(short.output).toBeLessThan(3_000)
  // Once a later answer is kept, an earlier one is kept too, or never.
  await askOf('Hello')
  await waitFor(async () => (await keptOf('alice')) === 1)
  expect(await keptOf('finn')).toBe(0)
  await addCredit(db, { id: newId('tr'), account: 'finn', amountNano: 1e9, now: now(), note: null })
  expect(await askOf(long, secret)).toEqual({ cache: 'miss', output: 3_000 })
  await waitFor(async () => (await keptOf('finn')) === 1)
  expect(await askOf(long, secret)).toEqual({ cache: 'hit', output: 3_000 })
  await gateway.close()
})

test('a kept answer is found by every node, without waiting', async () => {
  const cache = { ttl: '1h' }
  const options = { models: { 'test-chat': { ...(testModels['test-chat'] as ModelConfig), cache } } }
  const first = await startTestGateway({ database: 'postgres', ...options })
  const second = await startTwin(first, options)
  const body = { messages: say('Which node?') }
  const cold = await first.chat(body)
  await cold.text()
  const { db } = first.server.world
  await waitFor(async () => (await db.query({ sql: 'select id from cached_answers' })).length === 1)
  const warm = await fetch(`${second.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${first.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test-chat', ...body }),
  })
  expect([cold.headers.get('x-gateway-cache'), warm.headers.get('x-gateway-cache')]).toEqual(['miss', 'hit'])
  await second.close()
  await first.close()
})

test('invalid settings are reported with a remedy', () => {
  const entry = { family: 'openai-chat', upstream: 'openai', price }
  const faults = (model: Json) =>
    faultsOf({
      upstreams: {
        openai: { kind: 'openai', baseUrl: 'https://api.openai.com/v1', apiKey: 'sk-of-the-operator' },
      },
      models: { m: model },
    })
  expect(faults({ ...entry, cache: { ttl: '30d', price: '0' } })).toEqual([])
  expect(faults({ ...entry, cache: { ttl: '1h', price: '1.000' } })).toEqual([])
  expect(faults({ ...entry, cache: { ttl: '0h' } })).toEqual([
    'models.m.cache.ttl: "0h" is not a duration such as "1h"',
  ])
  expect(faults({ ...entry, cache: { ttl: '31d' } })).toEqual([
    'models.m.cache.ttl: "31d" is longer than "30d", the longest that an answer is kept',
  ])
  for (const price of ['1.1', '-0.1', '10%', '0.1234567'])
    expect(faults({ ...entry, cache: { ttl: '1h', price } })).toEqual([
      `models.m.cache.price: "${price}" is not a fraction from "0" to "1" with at most 6 decimals, such as "0.1"`,
    ])
  const { price: _, ...unpriced } = entry
  expect(faults({ ...unpriced, free: true, cache: { ttl: '1h', price: '0.1' } })).toEqual([
    'models.m.cache.price: a free model has no price: leave it out',
  ])
  expect(
    faults({ family: 'xai-video', upstream: 'openai', price: { per_second: '1' }, cache: { ttl: '1h' } }),
  ).toEqual(['models.m.cache: no answer of xai-video can be given again: leave it out'])
  expect(faults({ ...entry, cache: {} }).length).toBe(1)
})
