// Streams that hold their price in steps: what is delivered is held, on every way through the gateway and on both databases.
// Where the account can pay for no more, the answer ends as at its limit, is paid for what was delivered, and the vendor
// stops.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import type { Row } from '../../src/db/db'
import { formatUsd, NANO_PER_USD } from '../../src/lib/money'
import { readChunks } from '../support/chat-chunks'
import { databaseKinds } from '../support/databases'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import { readEvents } from '../support/message-events'

setDefaultTimeout(180_000)

/** Nano-dollars of an input and an output token. */
const INPUT = 1_000
const OUTPUT = 2_000
/** Output tokens of a step. */
const STEP = 100
const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const models: Record<string, ModelConfig> = {
  'step-chat': {
    family: 'openai-chat',
    upstream: 'openai',
    upstreamModel: 'gpt-4.1-mini',
    reserveOutputTokens: STEP,
    price,
  },
  'step-messages': {
    family: 'anthropic-messages',
    upstream: 'anthropic',
    upstreamModel: 'claude-sonnet-4-5',
    reserveOutputTokens: STEP,
    maxOutputTokens: 64_000,
    price,
  },
}

/** The end of an answer as its caller reads it, in the words of chat. */
interface Read {
  finish: string | undefined
  said: string
  inputTokens: number
  outputTokens: number
}

interface Way {
  name: string
  path: string
  body(words: string, maxTokens: number | undefined): Record<string, unknown>
  read(stream: string): Read
}

const chatWay = (name: string, model: string): Way => ({
  name,
  path: '/v1/chat/completions',
  body: (words, maxTokens) => ({
    model,
    stream: true,
    messages: say(words),
    ...(maxTokens && { max_tokens: maxTokens }),
    stream_options: { include_usage: true },
  }),
  read(stream) {
    const { finish, said, usage } = readChunks(stream, true)
    return { finish, said, inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens }
  },
})
const messagesWay = (name: string, model: string): Way => ({
  name,
  path: '/v1/messages',
  body: (words, maxTokens = 64_000) => ({
    model,
    stream: true,
    messages: say(words),
    max_tokens: maxTokens,
  }),
  read(stream) {
    const { stopReason, content, usage } = readEvents(stream)
    const said = content.map(({ text = '', thinking = '' }) => text + thinking).join('')
    const finish = { max_tokens: 'length', end_turn: 'stop' }[stopReason]
    return { finish, said, inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }
  },
})
const ways = [
  chatWay('chat', 'step-chat'),
  messagesWay('messages', 'step-messages'),
  chatWay('chat on messages', 'step-messages'),
  messagesWay('messages on chat', 'step-chat'),
]

for (const kind of databaseKinds) {
  describe(`a stream on ${kind}`, () => {
    let gateway: TestGateway
    beforeAll(async () => {
      gateway = await startTestGateway({ database: kind, models })
    })
    afterAll(() => gateway.close())

    /** Asks on an account that has what the request holds at first, and so many output tokens more. */
    async function play(way: Way, account: string, words: string, moreTokens: number, maxTokens?: number) {
      const body = JSON.stringify(way.body(words, maxTokens))
      const firstNano = body.length * INPUT + STEP * OUTPUT
      const funds = firstNano + moreTokens * OUTPUT
      const { secret } = await gateway.makeKey(account, formatUsd(funds))
      const response = await gateway.post(way.path, body, { authorization: `Bearer ${secret}` })
      expect(response.status).toBe(200)
      const read = way.read(await response.text())
      const [charge] = (await gateway.charges()).filter((row) => row.account === account)
      return { read, charge: charge as Row, firstNano, funds, balance: await gateway.balance(account) }
    }

    test.each(ways)('$name: goes on as long as the account can pay', async (way) => {
      const words = 'Say much. [sandbox tokens=600 prompt_tokens=20]'
      const { read, charge, firstNano } = await play(way, `rich ${way.name}`, words, 64_000)
      expect(read).toMatchObject({ finish: 'stop', outputTokens: 600 })
      expect(charge).toMatchObject({
        state: 'settled',
        ended_by: 'done',
        shortfall: 0,
        usage_source: 'upstream',
      })
      expect(charge.amount).toBe(20 * INPUT + 600 * OUTPUT)
      expect(charge.held).toBeGreaterThanOrEqual(firstNano + 500 * OUTPUT)
    })

    test.each(ways)('$name: ends as at its limit where it can pay no more', async (way) => {
      const words = 'Say much. [sandbox tokens=20000 token_delay_ms=1]'
      const { read, charge, funds, balance } = await play(way, `poor ${way.name}`, words, 400)
      expect(read.finish).toBe('length')
      expect(charge).toMatchObject({ state: 'settled', ended_by: 'balance', shortfall: 0 })
      // What the caller reads is what it paid.
      expect(charge.amount).toBe(read.inputTokens * INPUT + read.outputTokens * OUTPUT)
      expect(charge.amount).toBeLessThanOrEqual(charge.held as number)
      expect(balance).toMatchObject({ heldNano: 0, balanceNano: funds - (charge.amount as number) })
      // It got a good part of what it could pay, and no more.
      expect(read.outputTokens).toBeGreaterThan(150)
      expect(read.outputTokens).toBeLessThanOrEqual(STEP + 400)
    })

    test.each(ways)('$name: holds no more than the limit of the request', async (way) => {
      const words = 'Say much. [sandbox tokens=250 prompt_tokens=20]'
      const { read, charge, firstNano } = await play(way, `limited ${way.name}`, words, 150, 250)
      expect(read.outputTokens).toBe(250)
      expect(charge).toMatchObject({ ended_by: 'done', shortfall: 0, held: firstNano + 150 * OUTPUT })
    })
  })
}

/** A price list of a large model: 64,000 output tokens are $1.28. */
const opus: ModelConfig = {
  family: 'anthropic-messages',
  upstream: 'anthropic',
  upstreamModel: 'claude-opus-5-5',
  price: {
    per_1m_input_tokens: '4.00',
    per_1m_cached_input_tokens: '0.20',
    per_1m_cache_write_tokens: '5.00',
    per_1m_cache_write_1h_tokens: '8.00',
    per_1m_output_tokens: '20.00',
  },
}
/** A turn as a coding agent asks for it: tools and instructions of 20 KB, marked for the cache, and 64,000 output tokens. */
const turn = (words: string) => ({
  model: 'opus',
  max_tokens: 64_000,
  stream: true,
  system: [{ type: 'text', text: 'Be helpful. '.repeat(1_600), cache_control: { type: 'ephemeral' } }],
  messages: say(words),
})

describe('an agent that asks for 64,000 output tokens each turn', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway({ models: { opus } })
  })
  afterAll(() => gateway.close())

  const chargesOf = async (account: string) =>
    (await gateway.charges()).filter((charge) => charge.account === account)

  test('is served hello by an account with a dollar', async () => {
    const { secret } = await gateway.makeKey('a dollar', '1')
    const headers = { authorization: `Bearer ${secret}` }
    const words = 'hello [sandbox prompt_tokens=5000 tokens=400]'
    const response = await gateway.post('/v1/messages', turn(words), headers)
    expect(response.status).toBe(200)
    expect(readEvents(await response.text())).toMatchObject({ stopReason: 'end_turn' })
    const [charge] = await chargesOf('a dollar')
    expect(charge?.amount).toBe(5_000 * 4_000 + 400 * 20_000)
    // It would have taken more than the whole dollar to hold all that was asked for.
    expect(64_000 * 20_000).toBeGreaterThan(NANO_PER_USD)
    expect(charge?.held).toBeLessThan(NANO_PER_USD / 4)
    const whole = await gateway.post('/v1/messages', { ...turn(words), stream: false }, headers)
    expect(whole.status).toBe(402)
    await whole.text()
  })

  test('runs in three sessions side by side on two dollars, and none of them waits for another', async () => {
    const { secret } = await gateway.makeKey('two dollars', '2')
    const headers = { authorization: `Bearer ${secret}` }
    const session = async () => {
      const statuses: number[] = []
      for (let turns = 0; turns < 6; turns++) {
        const words = 'Go on. [sandbox prompt_tokens=5000 tokens=1500]'
        const response = await gateway.post('/v1/messages', turn(words), headers)
        statuses.push(response.status)
        expect(readEvents(await response.text()).stopReason).toBe('end_turn')
      }
      return statuses
    }
    const statuses = await Promise.all([session(), session(), session()])
    expect(statuses.flat()).toEqual(Array.from({ length: 18 }, () => 200))
    const charges = await chargesOf('two dollars')
    for (const charge of charges) expect(charge.amount).toBe(5_000 * 4_000 + 1_500 * 20_000)
  })

  test('learns what a stream holds before it begins if there is less', async () => {
    const { secret } = await gateway.makeKey('ten cents', '0.10')
    const response = await gateway.post('/v1/messages', turn('hello'), { authorization: `Bearer ${secret}` })
    expect(response.status).toBe(402)
    const { error } = (await response.json()) as { error: { message: string } }
    expect(error.message).toMatch(
      /^This stream holds \$0\.17\d+ before it begins; the account has \$0\.10 available\. Add money/,
    )
  })
})

describe('limitToBalance', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway({ models, config: { limitToBalance: true } })
  })
  afterAll(() => gateway.close())

  const sent = () => JSON.parse(gateway.sandbox.calls.at(-1)?.body ?? '{}')
  const answerWays = ways.map(
    (way): Way => ({
      ...way,
      body: (words: string, maxTokens?: number) => ({ ...way.body(words, maxTokens), stream: false }),
    }),
  )

  async function play(way: Way, account: string, words: string, tokens: number, more: object = {}) {
    const { stream_options: _, ...asked } = way.body(words, 64_000)
    const body = JSON.stringify({ ...asked, ...more })
    const { secret } = await gateway.makeKey(account, formatUsd(body.length * INPUT + tokens * OUTPUT))
    const calls = gateway.sandbox.calls.length
    const response = await gateway.post(way.path, body, { authorization: `Bearer ${secret}` })
    const json = (await response.json()) as Record<string, unknown>
    const [charge] = (await gateway.charges()).filter((row) => row.account === account)
    const balance = await gateway.balance(account)
    return { status: response.status, json, charge, balance, wasSent: gateway.sandbox.calls.length > calls }
  }

  test.each(answerWays)('$name: a request is sent with the limit that the balance covers', async (way) => {
    const words = 'Say much. [sandbox tokens=5000 prompt_tokens=20]'
    const { status, charge, balance } = await play(way, `limited ${way.name}`, words, 300)
    expect(status).toBe(200)
    const { max_tokens: limit, max_completion_tokens: newer } = sent()
    expect(limit ?? newer).toBe(300)
    expect(charge).toMatchObject({ amount: 20 * INPUT + 300 * OUTPUT, shortfall: 0, ended_by: 'done' })
    expect(balance.heldNano).toBe(0)
    expect(balance.balanceNano).toBeGreaterThanOrEqual(0)
  })

  test.each(answerWays)('$name: and refused where no useful answer fits', async (way) => {
    const { status, wasSent } = await play(way, `nothing ${way.name}`, 'Say much.', 255)
    expect({ status, wasSent }).toEqual({ status: 402, wasSent: false })
  })

  test('what can be paid is sent as it is', async () => {
    const [way] = answerWays as [Way]
    await play(way, 'enough', 'Say much. [sandbox tokens=10]', 64_000)
    expect(sent().max_tokens).toBe(64_000)
  })

  test('a limit within the budget of thinking is never sent', async () => {
    const way = answerWays[1] as Way
    const thinking = { thinking: { type: 'enabled', budget_tokens: 1_024 } }
    const few = await play(way, 'thinks', 'Say much.', 1_100, thinking)
    expect({ status: few.status, wasSent: few.wasSent }).toEqual({ status: 402, wasSent: false })
    const more = await play(way, 'thinks more', 'Say much. [sandbox tokens=10]', 1_400, thinking)
    expect({ status: more.status, limit: sent().max_tokens }).toEqual({ status: 200, limit: 1_400 })
  })

  test('the limit of several candidates is that of each', async () => {
    const [way] = answerWays as [Way]
    const words = 'Say much. [sandbox tokens=5000]'
    const { status, charge } = await play(way, 'three', words, 900, { n: 3 })
    expect({ status, limit: sent().max_tokens }).toEqual({ status: 200, limit: 300 })
    expect(charge?.shortfall).toBe(0)
  })

  test('the budget of a key counts as the balance does', async () => {
    const [way] = answerWays as [Way]
    const { stream_options: _, ...asked } = way.body('Say much. [sandbox tokens=5000]', 64_000)
    const body = JSON.stringify(asked)
    const budgetNano = body.length * INPUT + 400 * OUTPUT
    const { secret } = await gateway.makeKey('budgeted', '100', { budgetNano, budgetPeriod: 'day' })
    const response = await gateway.post(way.path, body, { authorization: `Bearer ${secret}` })
    expect({ status: response.status, limit: sent().max_tokens }).toEqual({ status: 200, limit: 400 })
    await response.text()
  })

  test('without it such a request is refused', async () => {
    const plain = await startTestGateway({ models })
    const [way] = answerWays as [Way]
    const { secret } = await plain.makeKey('few', '0.001')
    const { stream_options: _, ...asked } = way.body('Say much.', 64_000)
    const response = await plain.post(way.path, asked, { authorization: `Bearer ${secret}` })
    expect(response.status).toBe(402)
    await response.text()
    await plain.close()
  })
})
