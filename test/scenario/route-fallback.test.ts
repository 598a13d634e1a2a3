// When a route tries the next model, apart from failures: prompts that are too long, empty answers, and answers that a filter held
// back. Every row counts the called and the paid vendors, whole and as a stream, and the operator's costs for undelivered answers.

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { ModelConfig, RouteConfig } from '../../src/config/schema'
import type { Row } from '../../src/db/db'
import { databaseKinds } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import type { Json } from '../support/scenario'
import { chunk, completion, DONE, eventStream, startVendor, usageChunk } from '../support/vendors/vendor'

setDefaultTimeout(60_000)

const names = ['first', 'second', 'third'] as const
type Name = (typeof names)[number]
const vendors = { first: startVendor(), second: startVendor(), third: startVendor() }
afterAll(async () => {
  for (const vendor of Object.values(vendors)) await vendor.stop()
})

/** Nano-dollars for a token of input at the vendor and for the caller; output costs twice as much. */
const COST = { first: 500, second: 700, third: 900 }
const PRICE = { first: 1_000, second: 3_000, third: 2_000 }
const dollars = (nano: number) => String(nano / 1_000)
const modelOf = (name: Name, more: Partial<ModelConfig> = {}): ModelConfig => ({
  family: 'openai-chat',
  upstream: name,
  price: { per_1m_input_tokens: dollars(PRICE[name]), per_1m_output_tokens: dollars(2 * PRICE[name]) },
  cost: { per_1m_input_tokens: dollars(COST[name]), per_1m_output_tokens: dollars(2 * COST[name]) },
  ...more,
})
const chain = { route: ['first', 'second', 'third'] }
const { cost: _, ...unknownCost } = modelOf('first')

const models: Record<string, ModelConfig | RouteConfig> = {
  first: modelOf('first'),
  second: modelOf('second'),
  third: modelOf('third'),
  uncosted: unknownCost,
  'first-again': modelOf('first'),
  usual: chain,
  all: { ...chain, fallback: { on: ['too_long', 'empty', 'filtered'] } },
  none: { ...chain, fallback: { on: [] } },
  filtered: { ...chain, fallback: { on: ['filtered'] } },
  'unknown-cost': { route: ['uncosted', 'second'], fallback: { on: ['filtered', 'empty'] } },
  twins: modelOf('first', { upstream: { first: 1_000_000, second: 1 } }),
  'twins-only': { route: ['twins'], fallback: { on: ['too_long', 'empty', 'filtered'] } },
  'small-then-same': { route: ['small', 'same', 'third'] },
  small: modelOf('first', { contextTokens: 100_000 }),
  same: modelOf('second', { contextTokens: 100_000 }),
  bridged: { route: ['of-messages', 'third'], fallback: { on: ['empty', 'filtered'] } },
  'of-messages': {
    family: 'anthropic-messages',
    upstream: 'messages',
    price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00', per_1m_cache_write_tokens: '1.25' },
  },
}

type Answer = () => Response | Promise<Response>
const [INPUT, OUTPUT] = [10, 20]
const whole = (content: string | null, finish: string, output = OUTPUT) => {
  const answer = completion('', INPUT, output) as { choices: Json[] }
  answer.choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish }]
  return answer
}
/** An answer to a request of either kind. */
const either =
  (body: unknown, events: string): ((stream: boolean) => Answer) =>
  (stream) =>
  () =>
    stream ? eventStream(events) : Response.json(body)
const good = either(
  completion('Hello!', INPUT, OUTPUT),
  chunk('Hel') + chunk('lo!', 'stop') + usageChunk(INPUT, OUTPUT) + DONE,
)
const empty = either(whole('', 'stop', 0), chunk('') + chunk('', 'stop') + usageChunk(INPUT, 0) + DONE)
const filtered = either(
  whole('', 'content_filter'),
  chunk('') + chunk('', 'content_filter') + usageChunk(INPUT, OUTPUT) + DONE,
)
const refusing =
  (error: Record<string, Json>, status = 400): ((stream: boolean) => Answer) =>
  () =>
  () =>
    Response.json({ error }, { status })
const tooLong = refusing({
  message:
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
  code: 'context_length_exceeded',
})
const blocked = refusing({ message: 'The response was filtered.', code: 'content_filter' })

const priceOf = (name: Name) => (INPUT + 2 * OUTPUT) * PRICE[name]
const costOf = (name: Name, output = OUTPUT) => (INPUT + 2 * output) * COST[name]

describe.each(databaseKinds)('a route on %s', (database) => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway({
      database,
      models,
      upstreams: {
        first: vendors.first.upstream,
        second: vendors.second.upstream,
        third: vendors.third.upstream,
        messages: { kind: 'anthropic', baseUrl: `${vendors.first.url}/v1`, apiKey: 'none' },
      },
    })
  })
  afterAll(() => gateway.close())
  beforeEach(() => {
    for (const vendor of Object.values(vendors)) vendor.requests = 0
  })
  const asked = () => names.map((name) => vendors[name].requests)

  /** Sends one request, and returns its effects. */
  async function ask(
    body: Record<string, Json>,
    answers: Partial<Record<Name, (stream: boolean) => Answer>>,
    headers: Record<string, string> = {},
  ) {
    const before = await gateway.newest()
    for (const name of names) vendors[name].answer = (answers[name] ?? good)(body.stream === true)
    const response = await gateway.chat({ messages: say('Hi'), max_tokens: 50, ...body }, headers)
    const text = await response.text()
    const charges = () => gateway.charges(before.charge)
    await waitFor(async () => (await charges()).every(({ state }) => state !== 'held'))
    const rows = await gateway.requestLog(before.logRow)
    expect(rows).toHaveLength(1)
    const attempts = JSON.parse((rows[0]?.attempts as string | null) ?? '[]') as Json[]
    return { status: response.status, text, charges: await charges(), row: rows[0] as Row, attempts }
  }

  /** Exactly one charge, of the model that answered; the cost is that of all answers. */
  function expectPaid(
    { status, charges, text }: Awaited<ReturnType<typeof ask>>,
    name: Name,
    costNano: number | null,
  ) {
    expect({ status, text }).toEqual({ status: 200, text })
    expect(text).toContain(text.startsWith('data:') ? 'lo!' : 'Hello!')
    expect(charges).toHaveLength(1)
    expect(charges[0]).toMatchObject({ state: 'settled', model: name, amount: priceOf(name), cost: costNano })
  }

  for (const stream of [false, true]) {
    describe(stream ? 'streamed' : 'whole', () => {
      test.each([
        ['too long by its code', 'usual', tooLong, 'context_length_exceeded', 400, 0],
        [
          'too long by the words of Anthropic',
          'usual',
          refusing({ message: 'prompt is too long: 210000 tokens > 200000 maximum' }),
          'upstream_refused',
          400,
          0,
        ],
        ['an empty answer', 'usual', empty, 'upstream_empty', 200, costOf('first', 0)],
        ['a filtered answer', 'filtered', filtered, 'content_policy_violation', 200, costOf('first')],
        ['a filtered prompt', 'filtered', blocked, 'content_filter', 400, 0],
      ] as const)('%s goes to the next model of %s', async (_, model, answer, error, status, spent) => {
        const seen = await ask({ model, stream }, { first: answer })
        expectPaid(seen, 'second', costOf('second') + spent)
        expect(asked()).toEqual([1, 1, 0])
        expect(seen.attempts).toMatchObject([{ model: 'first', upstream: 'first', error, status }])
        const cost = spent === 0 ? undefined : (spent / 1e9).toFixed(9).replace(/0+$/, '')
        expect(seen.attempts[0]?.costUsd).toBe(cost)
        expect(seen.row).toMatchObject({ model: 'second', upstream: 'second', amount: priceOf('second') })
      })

      test.each([
        ['too long', 'none', tooLong],
        ['an empty answer', 'none', empty],
        ['a filtered answer', 'none', filtered],
        ['a filtered answer', 'usual', filtered],
        ['a filtered prompt', 'usual', blocked],
        ['an empty answer', 'filtered', empty],
        ['too long', 'filtered', tooLong],
        ['too long', 'twins-only', tooLong],
        ['a filtered answer', 'twins-only', filtered],
        ['any other refusal', 'all', refusing({ message: 'An odd wish' })],
      ] as const)('%s does not leave the first model of %s', async (_, model, answer) => {
        const { charges, attempts } = await ask({ model, stream }, { first: answer })
        expect(asked()).toEqual([1, 0, 0])
        expect(charges).toHaveLength(1)
        expect(attempts).toEqual([])
      })

      test('the costs of all undelivered answers are added up, and no caller pays them', async () => {
        const seen = await ask({ model: 'all', stream }, { first: filtered, second: empty })
        expectPaid(seen, 'third', costOf('third') + costOf('first') + costOf('second', 0))
        expect(asked()).toEqual([1, 1, 1])
      })

      test('they remain a cost if no model answers at all', async () => {
        const failing = refusing({ message: 'Not now.' }, 500)
        const { status, charges } = await ask(
          { model: 'all', stream },
          { first: filtered, second: failing, third: failing },
        )
        expect(status).toBe(502)
        expect(charges).toHaveLength(1)
        expect(charges[0]).toMatchObject({ state: 'released', amount: 0, cost: costOf('first') })
        expect(await gateway.balance()).toMatchObject({ heldNano: 0 })
      })

      test('an unknown cost makes the whole unknown', async () => {
        const seen = await ask({ model: 'unknown-cost', stream }, { first: filtered })
        expectPaid(seen, 'second', null)
        expect(seen.attempts[0]).not.toHaveProperty('costUsd')
      })

      test('the answer of the last model is final', async () => {
        const last = await ask({ model: 'all', stream }, { first: tooLong, second: tooLong, third: tooLong })
        expect({ status: last.status, text: last.text }).toMatchObject({ status: 400 })
        expect(last.text).toContain('maximum context length')
        expect(last.charges).toMatchObject([{ state: 'released', amount: 0 }])
        const { status, charges } = await ask(
          { model: 'all', stream },
          { first: empty, second: empty, third: empty },
        )
        expect(status).toBe(200)
        expect(charges).toMatchObject([
          {
            state: 'released',
            amount: 0,
            cost: costOf('first', 0) + costOf('second', 0) + costOf('third', 0),
          },
        ])
        expect(asked()).toEqual([2, 2, 2])
      })

      test('a model with no larger context than the one that refused is skipped', async () => {
        const seen = await ask({ model: 'small-then-same', stream }, { first: tooLong })
        expectPaid(seen, 'third', costOf('third'))
        expect(asked()).toEqual([1, 0, 1])
      })

      test('an answer of another protocol that is refused by its classifier is tried elsewhere', async () => {
        const message = {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          stop_reason: 'refusal',
          usage: { input_tokens: INPUT, output_tokens: 1 },
        }
        const { content, stop_reason: reason, ...begun } = message
        const events = [
          { type: 'message_start', message: { ...begun, content, stop_reason: null } },
          { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 1 } },
          { type: 'message_stop' },
        ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        const seen = await ask({ model: 'bridged', stream }, { first: either(message, events.join('')) })
        expectPaid(seen, 'third', null)
        expect(asked()).toEqual([1, 0, 1])
      })

      test('the answer for an idempotency key is repeated, and no vendor is called twice for it', async () => {
        const headers = { 'idempotency-key': `fallback-${database}-${stream}` }
        const first = await ask({ model: 'all', stream }, { first: filtered }, headers)
        expectPaid(first, 'second', costOf('second') + costOf('first'))
        const again = await ask({ model: 'all', stream }, {}, headers)
        expect(again).toMatchObject({ status: 200, text: first.text, charges: [] })
        expect(asked()).toEqual([1, 1, 0])
      })
    })
  }

  test('a stream moves on only before the first word is sent', async () => {
    const cutShort = () => () =>
      eventStream(chunk('Hel') + chunk('', 'content_filter') + usageChunk(INPUT, OUTPUT) + DONE)
    const { text, charges } = await ask({ model: 'all', stream: true }, { first: cutShort })
    expect(text).toContain('Hel')
    expect(charges).toMatchObject([{ model: 'first', state: 'settled', amount: priceOf('first') }])
    expect(asked()).toEqual([1, 0, 0])
  })

  test.each([
    ['reports an error of its own', 'data: {"error":{"message":"It broke","code":503}}\n\n'],
    ['closes', chunk('')],
  ])('a stream that %s before the first word moves on', async (_, events) => {
    const seen = await ask({ model: 'usual', stream: true }, { first: () => () => eventStream(events) })
    expectPaid(seen, 'second', costOf('second'))
    expect(asked()).toEqual([1, 1, 0])
  })

  test('a silent stream is begun anyway, and its caller can disconnect', async () => {
    const leaving = new AbortController()
    const before = await gateway.newest()
    vendors.first.answer = () =>
      eventStream(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode(chunk(''))),
        }),
      )
    const request = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.secret}` },
      body: JSON.stringify({ model: 'usual', stream: true, messages: say('Hi') }),
      signal: leaving.signal,
    }).catch(() => {})
    await waitFor(() => vendors.first.requests === 1)
    leaving.abort()
    await request
    const charges = () => gateway.charges(before.charge)
    await waitFor(async () => (await charges())[0]?.state === 'released')
    expect(await charges()).toMatchObject([{ state: 'released', ended_by: 'client', amount: 0 }])
    expect(asked()).toEqual([1, 0, 0])
  })
})
