// The response cache: what is given again, to whom, for how long and at what price. Each row counts calls of vendors, charges and rows of
// the log, and the five faults that users of other gateways report are tests by name.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { formatUsd } from '../../src/lib/money'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, testModels, waitFor } from '../support/gateway'
import type { Json } from '../support/scenario'

setDefaultTimeout(120_000)

const say = (content: string) => [{ role: 'user', content }]

interface Asked {
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
  let asked = 0

  beforeAll(async () => {
    const cache = { ttl: '1h', price: '0.25' }
    gateway = await startTestGateway({
      database,
      models: Object.fromEntries(Object.entries(testModels).map(([id, entry]) => [id, { ...entry, cache }])),
      outside: { now: () => Date.now() + clock.passedMs },
    })
  })
  afterAll(() => gateway.close())

  /** A text that no other test asks. */
  const fresh = (words = '') => `Question ${++asked} ${words}`

  const kept = async () => {
    const [row] = await gateway.server.world.db.query({ sql: 'select count(*) as n from cached_answers' })
    return Number(row?.n)
  }

  /** Sends a request, reads its answer to the end, and says what it left behind. */
  async function ask(path: string, body: Json, headers: Record<string, string> = {}): Promise<Asked> {
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

  /** Asks twice, and waits between until the first answer is kept. */
  async function askTwice(path: string, body: Json): Promise<[Asked, Asked]> {
    const before = await kept()
    const first = await ask(path, body)
    expect({ status: first.response.status, cache: first.cache, text: first.text }).toEqual({
      status: 200,
      cache: 'miss',
      text: first.text,
    })
    await waitFor(async () => (await kept()) > before, 5_000)
    return [first, await ask(path, body)]
  }

  const chat = (content: string, more: Json = {}) => ({ model: 'test-chat', messages: say(content), ...more })

  const OPERATIONS: [name: string, path: string, body: () => Json][] = [
    ['a chat', '/v1/chat/completions', () => chat(fresh())],
    ['a message', '/v1/messages', () => ({ model: 'test-messages', max_tokens: 50, messages: say(fresh()) })],
    ['embeddings', '/v1/embeddings', () => ({ model: 'test-embedding', input: [fresh(), fresh()] })],
    [
      'embeddings of another vendor',
      '/v1/embeddings',
      () => ({ model: 'gmx-embedding-001', input: fresh() }),
    ],
  ]

  test.each(OPERATIONS)(
    '%s is given again at its fraction, to the nano-dollar',
    async (_name, path, body) => {
      const [first, second] = await askTwice(path, body())
      expect({ cache: second.cache, calls: second.calls, text: second.text }).toEqual({
        cache: 'hit',
        calls: 0,
        text: first.text,
      })
      const price = Math.ceil(Number(first.charge.amount) / 4)
      expect(second.charge).toMatchObject({ state: 'settled', held: price, amount: price, ended_by: 'done' })
      expect(second.response.headers.get('x-gateway-cost-usd')).toBe(formatUsd(price))
      expect(second.response.headers.get('age')).toBe('0')
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
})
