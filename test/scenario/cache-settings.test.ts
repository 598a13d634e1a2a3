// The rules of the response cache: a key's rule precedes its plan's, and a plan's precedes the model's; and the answers that a
// route with a preference may repeat. Each row counts calls to vendors and charges.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { describeAccount } from '../../src/accounts/accounts'
import type { KeySettings } from '../../src/accounts/keys'
import { faultsOf, type ModelConfig } from '../../src/config/schema'
import { databaseKinds } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import type { Json } from '../support/scenario'
import { completion, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(120_000)

const HOUR_MS = 3_600_000
const model = (input: string, cache?: { ttl: string; price?: string }): ModelConfig => ({
  family: 'openai-chat',
  upstream: 'odd',
  price: { per_1m_input_tokens: input, per_1m_output_tokens: '2' },
  ...(cache && { cache }),
})

describe.each(databaseKinds)('rules of the response cache on %s', (database) => {
  const vendor = startVendor()
  const clock = { passedMs: 0 }
  let gateway: TestGateway
  let questions = 0
  beforeAll(async () => {
    vendor.answer = () => Response.json(completion('Hello!', 100, 100))
    gateway = await startTestGateway({
      database,
      upstreams: { odd: vendor.upstream },
      models: {
        plain: model('1'),
        cached: model('1', { ttl: '1h', price: '0.5' }),
        // So similar that the conversation decides which one is called.
        reader: model('1'),
        writer: model('1.01'),
        thrift: { route: ['reader', 'writer'], prefer: 'cheapest' },
      },
      config: {
        plans: {
          saving: { cache: { ttl: '2h', price: '0.25' } },
          fresh: { cache: false },
          usual: {},
        },
      },
      outside: { now: () => Date.now() + clock.passedMs },
    })
  })
  afterAll(async () => {
    await gateway.close()
    await vendor.stop()
  })

  const kept = async () => {
    const [row] = await gateway.server.world.db.query({ sql: 'select count(*) as n from cached_answers' })
    return Number(row?.n)
  }

  /** A key with its own account. */
  async function keyOf(plan: string | null, settings: Partial<KeySettings> = {}) {
    const account = `account-${++questions}`
    const { secret } = await gateway.makeKey(account, '5', settings)
    const details = { account, displayName: null, note: null, plan, budget: null }
    await describeAccount(gateway.server.world.db, details)
    return secret
  }

  async function ask(secret: string, body: Json, headers: Record<string, string> = {}) {
    const response = await gateway.chat(body, { authorization: `Bearer ${secret}`, ...headers })
    await response.text()
    const charge = await gateway.charge(response.headers.get('x-request-id'))
    return {
      status: response.status,
      cache: response.headers.get('x-gateway-cache'),
      model: response.headers.get('x-gateway-model'),
      amount: Number(charge?.amount),
    }
  }

  /** Sends the same request twice, and waits in between until the first answer is kept, if it is. */
  async function askTwice(secret: string, name: string, passedMs = 0) {
    const body = { model: name, messages: say(`Question ${++questions}`) }
    const before = await kept()
    const first = await ask(secret, body)
    expect(first.status).toBe(200)
    if (first.cache === 'miss') await waitFor(async () => (await kept()) > before)
    clock.passedMs += passedMs
    const second = await ask(secret, body)
    return { first, second }
  }

  const CACHE = { ttl: '3h', price: '0.1' }
  const RULES: [
    name: string,
    plan: string | null,
    key: KeySettings['cache'],
    model: string,
    share: number | null,
  ][] = [
    ['of a key, if neither plan nor model has one', null, CACHE, 'plain', 0.1],
    ['of a key before that of the model', null, CACHE, 'cached', 0.1],
    ['of a key before that of its plan', 'saving', CACHE, 'cached', 0.1],
    ['of a key that turns it off, before that of its plan and the model', 'saving', false, 'cached', null],
    ['of a key, in a plan that has none', 'fresh', CACHE, 'cached', 0.1],
    ['of a plan, if the model has none', 'saving', null, 'plain', 0.25],
    ['of a plan before that of the model', 'saving', null, 'cached', 0.25],
    ['of a plan that turns it off, before that of the model', 'fresh', null, 'cached', null],
    ['of the model, in a plan without one', 'usual', null, 'cached', 0.5],
    ['of the model', null, null, 'cached', 0.5],
    ['of nobody', 'usual', null, 'plain', null],
  ]
  test.each(RULES)('the rule %s is in force', async (_name, plan, cache, name, share) => {
    const { first, second } = await askTwice(await keyOf(plan, { cache }), name)
    expect(first.amount).toBe(300_000)
    expect({ cache: second.cache, amount: second.amount }).toEqual(
      share === null ? { cache: null, amount: first.amount } : { cache: 'hit', amount: first.amount * share },
    )
  })

  test('each rule has its own time to live', async () => {
    const secret = await keyOf('saving')
    const { second: within } = await askTwice(secret, 'cached', 1.5 * HOUR_MS)
    expect(within.cache).toBe('hit')
    const { second: after } = await askTwice(secret, 'cached', 2.5 * HOUR_MS)
    expect(after.cache).toBe('miss')
    const { second: longer } = await askTwice(
      await keyOf('saving', { cache: CACHE }),
      'cached',
      2.5 * HOUR_MS,
    )
    expect(longer.cache).toBe('hit')
  })

  test('a rule of a key does not share its answers with other accounts', async () => {
    const body = { model: 'plain', messages: say(`Question ${++questions}`) }
    const before = await kept()
    expect((await ask(await keyOf(null, { cache: CACHE }), body)).cache).toBe('miss')
    await waitFor(async () => (await kept()) > before)
    expect((await ask(await keyOf(null, { cache: CACHE }), body)).cache).toBe('miss')
  })

  test('a route with a preference repeats an answer of any of its models, at the price of that model', async () => {
    const secret = await keyOf(null, { cache: CACHE })
    const prices = { reader: 300_000, writer: 301_000 }
    const inSession = (body: Json, session: string, more = {}) =>
      ask(secret, { ...body, model: 'thrift' }, { 'x-session-id': session, ...more })
    /** A conversation whose first choice is a model. */
    const sessionOf = async (name: string) => {
      for (let number = 0; ; number++) {
        const probe = { messages: say(`Question ${++questions}`) }
        const { model } = await inSession(probe, `${name} ${number}`, { 'cache-control': 'no-store' })
        if (model === name) return `${name} ${number}`
      }
    }
    const sessions = { reader: await sessionOf('reader'), writer: await sessionOf('writer') }
    for (const [name, other] of [
      ['reader', 'writer'],
      ['writer', 'reader'],
    ] as const) {
      const body = { messages: say(`Question ${++questions}`) }
      const before = await kept()
      const first = await inSession(body, sessions[name])
      expect(first).toEqual({ status: 200, cache: 'miss', model: name, amount: prices[name] })
      await waitFor(async () => (await kept()) > before)
      const calls = vendor.requests
      for (const session of [sessions[other], sessions[name]])
        expect(await inSession(body, session)).toEqual({
          status: 200,
          cache: 'hit',
          model: name,
          amount: prices[name] / 10,
        })
      expect(vendor.requests).toBe(calls)
    }
  })

  test('of two equal requests at once on a route with a preference, only one is sent, whichever model each would go to', async () => {
    const secret = await keyOf(null, { cache: CACHE })
    const release = Promise.withResolvers<void>()
    const usual = vendor.answer
    vendor.answer = async (request) => {
      await release.promise
      return usual(request)
    }
    const body = { model: 'thrift', messages: say(`Question ${++questions}`) }
    const before = vendor.requests
    const asked = Array.from({ length: 8 }, (_, number) =>
      ask(secret, body, { 'x-session-id': `twin ${number}` }),
    )
    await waitFor(() => vendor.requests > before)
    release.resolve()
    const answers = await Promise.all(asked)
    vendor.answer = usual
    expect(answers.map(({ cache }) => cache).sort()).toEqual([...Array(7).fill('hit'), 'miss'])
    expect(vendor.requests).toBe(before + 1)
  })
})

test('invalid rules are reported', () => {
  const config = {
    upstreams: { openai: { kind: 'openai' } },
    models: { small: { family: 'openai-chat', upstream: 'openai', free: true } },
  }
  const faults = (cache: unknown) => faultsOf({ ...config, plans: { team: { cache } } })
  expect(faults(false)).toEqual([])
  expect(faults({ ttl: '1h', price: '0.1' })).toEqual([])
  expect(faults({ ttl: 'soon', price: '2' })).toEqual([
    'plans.team.cache.ttl: "soon" is not a duration such as "1h"',
    'plans.team.cache.price: "2" is not a fraction from "0" to "1" with at most 6 decimals, such as "0.1"',
  ])
  expect(faults(true)).toHaveLength(1)
})
