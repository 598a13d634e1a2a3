// Streams that hold their price in steps: everything delivered is held, on every path through the gateway and on both databases.
// When the account cannot pay for more, the answer ends as at its limit, the delivered part is paid, and the vendor stops.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { addCredit } from '../../src/billing/ledger/ledger'
import type { ModelConfig } from '../../src/config/schema'
import type { Row } from '../../src/db/db'
import { formatUsd, NANO_PER_USD } from '../../src/lib/money'
import { createTokenCounter } from '../../src/media/token-counter'
import { chunksOf, readChunks } from '../support/answers/chat-chunks'
import { readEvents } from '../support/answers/message-events'
import { readResponse } from '../support/answers/response-events'
import { databaseKinds } from '../support/databases/databases'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import type { Json } from '../support/scenario'
import { chunk, DONE, eventStream, startVendor, usageChunk } from '../support/vendors/vendor'

setDefaultTimeout(600_000)

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
  'step-text': {
    family: 'openai-completions',
    upstream: 'openai',
    upstreamModel: 'local-text',
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

/** Behind responses alone. */
const behind: Record<string, ModelConfig> = {
  'step-responses': {
    family: 'openai-responses',
    upstream: 'openai',
    upstreamModel: 'gpt-4.1-mini',
    reserveOutputTokens: STEP,
    price,
  },
}

/** The end of an answer as its caller reads it, in the words of chat. */
interface Read {
  finish: string | undefined
  answer: string
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
    const { finish, answer, usage } = readChunks(stream, true)
    return { finish, answer, inputTokens: usage.prompt_tokens, outputTokens: usage.completion_tokens }
  },
})
const textWay: Way = {
  name: 'plain completions',
  path: '/v1/completions',
  body: (words, maxTokens) => ({
    model: 'step-text',
    stream: true,
    prompt: words,
    ...(maxTokens && { max_tokens: maxTokens }),
    stream_options: { include_usage: true },
  }),
  read(stream) {
    const { chunks } = chunksOf(stream)
    const choices = chunks.flatMap((each) => each.choices)
    const { usage } = chunks.at(-1)
    expect(chunks.every(({ object }) => object === 'text_completion')).toBe(true)
    return {
      finish: choices.findLast((choice: Json) => choice.finish_reason)?.finish_reason,
      answer: choices.map(({ text }: Json) => text).join(''),
      inputTokens: usage.prompt_tokens,
      outputTokens: usage.completion_tokens,
    }
  },
}
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
    const answer = content.map(({ text = '', thinking = '' }) => text + thinking).join('')
    const finish = { max_tokens: 'length', end_turn: 'stop' }[stopReason]
    return { finish, answer, inputTokens: usage.input_tokens, outputTokens: usage.output_tokens }
  },
})
const responsesWay = (name: string, model: string): Way => ({
  name,
  path: '/v1/responses',
  body: (words, maxTokens) => ({
    model,
    stream: true,
    store: false,
    input: words,
    ...(maxTokens && { max_output_tokens: maxTokens }),
  }),
  read(stream) {
    const { response, deltas } = readResponse(stream)
    const finish = { incomplete: 'length', completed: 'stop' }[response.status as string]
    const { input_tokens: inputTokens, output_tokens: outputTokens } = response.usage
    return { finish, answer: deltas.join(''), inputTokens, outputTokens }
  },
})
const ways = [
  chatWay('chat', 'step-chat'),
  messagesWay('messages', 'step-messages'),
  chatWay('chat on messages', 'step-messages'),
  messagesWay('messages on chat', 'step-chat'),
  responsesWay('responses', 'step-responses'),
  chatWay('chat on responses', 'step-responses'),
  messagesWay('messages on responses', 'step-responses'),
  textWay,
]
/** Bridges hold more input than the body has bytes, so their tokens cannot all be computed here. */
const allWays = [
  ...ways,
  responsesWay('responses on chat', 'step-chat'),
  responsesWay('responses on messages', 'step-messages'),
]

/** The events with which an answer ends for lack of money, by the types of their dialect; chunks of chat have none. */
function eventsWithNote(stream: string): string[] {
  const events = stream
    .split('\n')
    .flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6)) as Json] : []))
  const noted = events.filter(({ gateway }) => gateway)
  for (const { gateway } of noted) expect(gateway).toEqual({ ended_by: 'balance' })
  expect(noted).toEqual(events.slice(events.length - noted.length))
  return noted.map(({ type, usage }) => type ?? (usage ? 'usage' : 'finish'))
}

function notedIn({ path }: Way): string[] {
  if (path === '/v1/messages') return ['message_delta', 'message_stop']
  return path === '/v1/responses' ? ['response.incomplete'] : ['finish', 'usage']
}

for (const kind of databaseKinds) {
  describe(`a stream on ${kind}`, () => {
    let gateway: TestGateway
    beforeAll(async () => {
      gateway = await startTestGateway({ database: kind, models: { ...models, ...behind } })
    })
    afterAll(() => gateway.close())

    /** Sends a request on an account with the money for its first hold and this number of further output tokens. */
    async function play(way: Way, account: string, words: string, moreTokens: number, maxTokens?: number) {
      const body = JSON.stringify(way.body(words, maxTokens))
      const firstNano = body.length * INPUT + STEP * OUTPUT
      const funds = firstNano + moreTokens * OUTPUT
      const { secret } = await gateway.makeKey(account, formatUsd(funds))
      const response = await gateway.post(way.path, body, { authorization: `Bearer ${secret}` })
      expect(response.status).toBe(200)
      const stream = await response.text()
      const read = way.read(stream)
      const noted = eventsWithNote(stream)
      const [charge] = (await gateway.charges()).filter((row) => row.account === account)
      return { read, noted, charge: charge as Row, firstNano, funds, balance: await gateway.balance(account) }
    }

    test.each(allWays)('$name: continues as long as the account can pay', async (way) => {
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

    test.each(allWays)('$name: ends as at its limit if the account can pay no more', async (way) => {
      const words = 'Say much. [sandbox tokens=20000 token_delay_ms=1]'
      const { read, noted, charge, funds, balance } = await play(way, `poor ${way.name}`, words, 400)
      expect(read.finish).toBe('length')
      expect(charge).toMatchObject({ state: 'settled', ended_by: 'balance', shortfall: 0 })
      // The caller reads what it paid.
      expect(charge.amount).toBe(read.inputTokens * INPUT + read.outputTokens * OUTPUT)
      expect(charge.amount).toBeLessThanOrEqual(charge.held as number)
      expect(balance).toMatchObject({ heldNano: 0, balanceNano: funds - (charge.amount as number) })
      expect(noted).toEqual(notedIn(way))
      expect(await gateway.newestLogged()).toMatchObject({ account: `poor ${way.name}`, ended_by: 'balance' })
      // It got nearly all that it could pay, and no more.
      expect(charge.amount).toBeGreaterThanOrEqual(funds * 0.9)
      expect(charge.amount).toBeLessThanOrEqual(funds)
      await waitFor(() => gateway.sandbox.calls.at(-1)?.aborted === true)
      expect(gateway.sandbox.calls.at(-1)?.aborted).toBe(true)
    })

    test('a stream that ended for lack of money is named by the next 402 and by GET /v1/me', async () => {
      const [way] = ways as [Way]
      const body = JSON.stringify(way.body('Say much. [sandbox tokens=20000]', undefined))
      const funds = body.length * INPUT + (STEP + 200) * OUTPUT
      const { secret } = await gateway.makeKey('named', formatUsd(funds))
      const headers = { authorization: `Bearer ${secret}` }
      const me = async () => (await (await fetch(`${gateway.url}/v1/me`, { headers })).json()) as Json
      expect((await me()).last_answer_cut).toBeNull()
      await (await gateway.post(way.path, body, headers)).text()
      const row = await gateway.newestLogged()
      expect((await me()).last_answer_cut).toEqual({
        ended_by: 'balance',
        request: row?.id,
        at: new Date(row?.at as number).toISOString(),
      })
      for (const _ of ['once', 'again']) {
        const refused = await gateway.post(way.path, body, headers)
        expect(refused.status).toBe(402)
        const { error } = (await refused.json()) as Json
        expect(error).toMatchObject({ code: 'insufficient_balance' })
        expect(error.message).toEndWith(
          ` The last answer, of request ${row?.id}, ended early for the same reason.`,
        )
      }
      const { db } = gateway.server.world
      await addCredit(db, {
        id: 'more',
        account: 'named',
        amountNano: NANO_PER_USD,
        now: Date.now(),
        note: null,
      })
      await (await gateway.post(way.path, way.body('Hi [sandbox tokens=5]', 10), headers)).text()
      await gateway.newestLogged()
      expect((await me()).last_answer_cut).toBeNull()
    })

    test.each(ways)('$name: holds no more than the limit of the request', async (way) => {
      const words = 'Say much. [sandbox tokens=250 prompt_tokens=20]'
      const { read, charge, firstNano } = await play(way, `limited ${way.name}`, words, 150, 250)
      expect(read.outputTokens).toBe(250)
      expect(charge).toMatchObject({ ended_by: 'done', shortfall: 0, held: firstNano + 150 * OUTPUT })
    })

    test.each(allWays)('$name: ends where the budget of its key ends', async (way) => {
      const body = JSON.stringify(way.body('Say much. [sandbox tokens=20000 token_delay_ms=1]', undefined))
      const budgetNano = body.length * INPUT + (STEP + 300) * OUTPUT
      const account = `budget ${way.name}`
      const { secret, id } = await gateway.makeKey(account, '100', { budgetNano, budgetPeriod: 'day' })
      const response = await gateway.post(way.path, body, { authorization: `Bearer ${secret}` })
      expect(way.read(await response.text()).finish).toBe('length')
      const [charge] = (await gateway.charges()).filter((row) => row.account === account)
      expect(charge).toMatchObject({ ended_by: 'balance', shortfall: 0 })
      expect(charge?.held).toBeLessThanOrEqual(budgetNano)
      const committed = 'select committed from budgets where key_id = $1'
      const rows = await gateway.server.world.db.query({ sql: committed, parameters: [id] })
      expect(rows).toEqual([{ committed: charge?.amount as number }])
    })

    test('a key’s tokens a minute are counted step by step, and cut nothing', async () => {
      const [way] = ways as [Way]
      const { secret, id } = await gateway.makeKey(`minute ${kind}`, '100', { tokensPerMinute: 50 })
      const headers = { authorization: `Bearer ${secret}` }
      const body = way.body('Say much. [sandbox tokens=600 prompt_tokens=20]', undefined)
      const response = await gateway.post(way.path, body, headers)
      expect(way.read(await response.text())).toMatchObject({ finish: 'stop', outputTokens: 600 })
      const sql = 'select requests, tokens from rate_windows where key_id = $1'
      const rows = await gateway.server.world.db.query({ sql, parameters: [id] })
      expect(rows).toEqual([{ requests: 1, tokens: 620 }])
    })

    test.each(ways.filter(({ path }) => path.endsWith('completions')))(
      '$name: several candidates end together, and are paid together',
      async (way) => {
        const words = 'Say much. [sandbox tokens=20000 token_delay_ms=1]'
        const body = JSON.stringify({ ...way.body(words, 64_000), n: 3 })
        const input = body.length * INPUT * (way.name === 'chat' ? 1 : 3)
        const account = `candidates ${way.name}`
        const funds = input + 3 * STEP * OUTPUT + 500 * OUTPUT
        const { secret } = await gateway.makeKey(account, formatUsd(funds))
        const calls = gateway.sandbox.calls.length
        const response = await gateway.post(way.path, body, { authorization: `Bearer ${secret}` })
        const { chunks, closed } = chunksOf(await response.text())
        const finished = chunks.flatMap(({ choices }) =>
          choices.filter((choice: Json) => choice.finish_reason !== null),
        )
        expect(closed).toBe(true)
        expect(finished.map((choice: Json) => `${choice.index} ${choice.finish_reason}`).sort()).toEqual([
          '0 length',
          '1 length',
          '2 length',
        ])
        const { usage } = chunks.at(-1)
        const [charge] = (await gateway.charges()).filter((row) => row.account === account)
        expect(charge).toMatchObject({ ended_by: 'balance', shortfall: 0 })
        expect(charge?.amount).toBe(usage.prompt_tokens * INPUT + usage.completion_tokens * OUTPUT)
        expect(charge?.amount).toBeLessThanOrEqual(charge?.held as number)
        const isStopped = () => gateway.sandbox.calls.slice(calls).every(({ aborted }) => aborted)
        await waitFor(isStopped)
        expect(isStopped()).toBe(true)
      },
    )

    test.each(allWays)('$name: an answer that was cut is the answer to its Idempotency-Key', async (way) => {
      const body = JSON.stringify(way.body('Say much. [sandbox tokens=20000 token_delay_ms=1]', undefined))
      const account = `again ${way.name}`
      const funds = body.length * INPUT + (STEP + 200) * OUTPUT
      const { secret } = await gateway.makeKey(account, formatUsd(funds))
      const headers = { authorization: `Bearer ${secret}`, 'idempotency-key': 'one' }
      const first = await (await gateway.post(way.path, body, headers)).text()
      expect(way.read(first).finish).toBe('length')
      const again = await gateway.post(way.path, body, headers)
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      expect(await again.text()).toBe(first)
      expect((await gateway.charges()).filter((row) => row.account === account)).toHaveLength(1)
    })
  })
}

describe('a stream of an unusual vendor', () => {
  const vendor = startVendor()
  let gateway: TestGateway
  beforeAll(async () => {
    const odd = { ...(models['step-chat'] as ModelConfig), upstream: 'odd' }
    const dear = {
      ...(models['step-chat'] as ModelConfig),
      price: { per_1m_input_tokens: '3.00', per_1m_output_tokens: '6.00' },
    }
    gateway = await startTestGateway({
      models: { ...models, odd, dear, either: { route: ['odd', 'dear'] } },
      upstreams: { odd: vendor.upstream },
    })
  })
  afterAll(async () => {
    await gateway.close()
    await vendor.stop()
  })

  async function play(account: string, model: string, words: string, balanceNano: number) {
    const { secret } = await gateway.makeKey(account, formatUsd(balanceNano))
    const headers = { authorization: `Bearer ${secret}` }
    const response = await gateway.chat({ model, stream: true, messages: say(words) }, headers)
    const text = await response.text()
    const [charge] = (await gateway.charges()).filter((row) => row.account === account)
    return { text, charge: charge as Row, balance: await gateway.balance(account) }
  }

  test('is answered by the next model of a route: its steps are held at its prices', async () => {
    vendor.answer = () => Response.json({ error: { message: 'busy' } }, { status: 503 })
    const words = 'Say much. [sandbox tokens=600 prompt_tokens=20]'
    const { charge } = await play('route', 'either', words, NANO_PER_USD)
    expect(charge).toMatchObject({ model: 'dear', ended_by: 'done', shortfall: 0 })
    expect(charge.amount).toBe(20 * 3 * INPUT + 600 * 3 * OUTPUT)
    expect(charge.held).toBeGreaterThanOrEqual(charge.amount as number)
  })

  /** Hardly a word, and growing figures in each event: the vendor thinks, and shows nothing of it. */
  const thinking = (events: number) => {
    let cancelled = false
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        for (let count = 1; count <= events && !cancelled; count++) {
          const usage = { prompt_tokens: 10, completion_tokens: count * 20 }
          const choices = [{ index: 0, delta: { content: count % 10 ? '' : '.' }, finish_reason: null }]
          controller.enqueue(Buffer.from(`data: ${JSON.stringify({ id: 'c', choices, usage })}\n\n`))
          await Bun.sleep(2)
        }
        if (cancelled) return
        controller.enqueue(Buffer.from(chunk('', 'stop') + DONE))
        controller.close()
      },
      cancel() {
        cancelled = true
      },
    })
    return { response: eventStream(body), isCancelled: () => cancelled }
  }

  test('thinks without showing it, and counts: what it counts is held', async () => {
    vendor.answer = () => thinking(100).response
    const { charge } = await play('thinks', 'odd', 'Hi', NANO_PER_USD)
    expect(charge).toMatchObject({ ended_by: 'done', amount: 10 * INPUT + 2_000 * OUTPUT, shortfall: 0 })
    expect(charge.held).toBeGreaterThan(1_900 * OUTPUT)
  })

  test('thinks for more than the account has: it is cut, and never paid beyond what is held', async () => {
    const { response, isCancelled } = thinking(10_000)
    vendor.answer = () => response
    const { text, charge, balance } = await play('thinks too much', 'odd', 'Hi', 1_000_000)
    expect(text).toContain('"finish_reason":"length"')
    expect(text).toEndWith('data: [DONE]\n\n')
    expect(charge).toMatchObject({ ended_by: 'balance', shortfall: 0 })
    expect(charge.amount).toBeLessThanOrEqual(charge.held as number)
    expect(balance.heldNano).toBe(0)
    await waitFor(isCancelled)
    expect(isCancelled()).toBe(true)
  })

  test('sends more in one event than the account can hold: none of it is delivered or charged', async () => {
    vendor.answer = () => eventStream(chunk('A word. ') + chunk('x'.repeat(50_000)) + DONE)
    const { text, charge } = await play('one event', 'odd', 'Hi', 1_000_000)
    expect(text).not.toContain('xxx')
    expect(text).toContain('"finish_reason":"length"')
    expect(charge).toMatchObject({ ended_by: 'balance', shortfall: 0, usage_source: 'counted' })
    expect(charge.amount).toBeLessThan(50 * OUTPUT)
  })
})

describe('a vendor that does not keep the limit of a request', () => {
  const vendor = startVendor()
  const counter = createTokenCounter()
  let gateway: TestGateway
  const dear = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '100.00' }
  const dearNano = 100_000
  beforeAll(async () => {
    const odd: ModelConfig = { family: 'openai-chat', upstream: 'odd', upstreamModel: 'local', price: dear }
    gateway = await startTestGateway({
      models: { odd, 'odd-text': { ...odd, family: 'openai-completions' } },
      upstreams: { odd: vendor.upstream },
    })
  })
  afterAll(async () => {
    await gateway.close()
    await vendor.stop()
    counter.close()
  })

  /** This number of tokens, each in its own event. */
  const endless = (tokens: number, piece: (word: string) => string) => () => {
    let sent = 0
    return eventStream(
      new ReadableStream<Uint8Array>({
        pull(controller) {
          for (let count = 0; count < 50 && sent < tokens; count++, sent++)
            controller.enqueue(Buffer.from(piece(' word')))
          if (sent < tokens) return
          controller.enqueue(Buffer.from(piece('.') + DONE))
          controller.close()
        },
      }),
    )
  }
  const saidIn = (stream: string) =>
    chunksOf(stream.endsWith('data: [DONE]\n\n') ? stream : `${stream}data: [DONE]\n\n`)
      .chunks.flatMap(({ choices }) => choices)
      .map(({ delta, text }: Json) => text ?? delta?.content ?? '')
      .join('')
  const chargesOf = async (account: string) =>
    (await gateway.charges()).filter((charge) => charge.account === account)

  const asks: { name: string; path: string; body: object; piece(word: string): string }[] = [
    {
      name: 'chat',
      path: '/v1/chat/completions',
      body: { model: 'odd', messages: say('Hi') },
      piece: (word) => chunk(word),
    },
    {
      name: 'plain completions that repeat the prompt',
      path: '/v1/completions',
      body: { model: 'odd-text', prompt: 'Hi', echo: true },
      piece: (text) =>
        `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, text, finish_reason: null }] })}\n\n`,
    },
  ]
  test.each(asks)('$name: 80,000 tokens for 20 are delivered as far as the account has paid', async (ask) => {
    vendor.answer = endless(80_000, ask.piece)
    const account = `20 of ${ask.name}`
    const { secret } = await gateway.makeKey(account, '0.05')
    const body = { ...ask.body, stream: true, max_tokens: 20 }
    const response = await gateway.post(ask.path, body, { authorization: `Bearer ${secret}` })
    const { tokens } = await counter.count(saidIn(await response.text()))
    const [charge] = await chargesOf(account)
    expect(charge).toMatchObject({ state: 'settled', ended_by: 'balance', shortfall: 0 })
    expect(charge?.amount).toBeLessThanOrEqual(charge?.held as number)
    expect(tokens * dearNano).toBeLessThanOrEqual(charge?.amount as number)
    // A caller with enough money gets everything that the vendor sends.
    expect(tokens).toBeGreaterThan(400)
  })

  test('40 streams with a limit of one token together deliver what the account can pay, and not a token more', async () => {
    vendor.answer = endless(2_000, (word) => chunk(word))
    const { secret } = await gateway.makeKey('forty', '0.05')
    const played = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const body = { model: 'odd', stream: true, messages: say('Hi'), max_completion_tokens: 1 }
        const response = await gateway.chat(body, { authorization: `Bearer ${secret}` })
        const text = await response.text()
        return response.status === 200 ? saidIn(text) : ''
      }),
    )
    const counts = await Promise.all(played.map(async (answer) => (await counter.count(answer)).tokens))
    const tokens = counts.reduce((sum, each) => sum + each, 0)
    expect(tokens * dearNano).toBeLessThanOrEqual(0.05 * NANO_PER_USD)
    const charges = await chargesOf('forty')
    for (const charge of charges) expect(charge).toMatchObject({ state: 'settled', shortfall: 0 })
    const paidNano = charges.reduce((sum, { amount }) => sum + (amount as number), 0)
    // By our count an answer within its limit has up to two tokens for each of the vendor's: here one more for each stream.
    expect((tokens - charges.length) * dearNano).toBeLessThanOrEqual(paidNano)
    const { balanceNano, heldNano } = await gateway.balance('forty')
    expect({ balanceNano, heldNano }).toEqual({ balanceNano: 0.05 * NANO_PER_USD - paidNano, heldNano: 0 })
  })

  // When the first count is due, one token a word is within the limit, and two are not.
  test.each([' word', ' qword'])(
    'delivers at most two tokens by our count for each held one if the account has no more: %p',
    async (word) => {
      const limit = 50
      vendor.answer = endless(2_000, () => chunk(word))
      const account = `twice ${word}`
      const body = JSON.stringify({ model: 'odd', stream: true, messages: say('Hi'), max_tokens: limit })
      const { secret } = await gateway.makeKey(account, formatUsd(body.length * INPUT + limit * dearNano))
      const response = await gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${secret}` })
      const { tokens } = await counter.count(saidIn(await response.text()))
      expect(tokens).toBeGreaterThanOrEqual(limit)
      expect(tokens).toBeLessThanOrEqual(2 * limit)
      expect(await chargesOf(account)).toMatchObject([{ state: 'settled', ended_by: 'balance' }])
    },
  )

  test('is not found in an honest answer of as many tokens as its limit, however another tokenizer counts them', async () => {
    const words = Array.from({ length: 50 }, (_, index) => (index % 3 ? ' word' : ' zqxj'))
    const { tokens } = await counter.count(words.join(''))
    expect(tokens).toBeGreaterThan(1.2 * words.length)
    expect(tokens).toBeLessThan(2 * words.length)
    vendor.answer = () =>
      eventStream(words.map((word) => chunk(word)).join('') + chunk('', 'length') + usageChunk(10, 50) + DONE)
    const body = JSON.stringify({ model: 'odd', stream: true, messages: say('Hi'), max_tokens: 50 })
    const heldNano = body.length * INPUT + 50 * dearNano
    const { secret } = await gateway.makeKey('honest', formatUsd(heldNano))
    const response = await gateway.post('/v1/chat/completions', body, { authorization: `Bearer ${secret}` })
    expect(saidIn(await response.text())).toBe(words.join(''))
    expect(await chargesOf('honest')).toMatchObject([
      { ended_by: 'done', held: heldNano, amount: 10 * INPUT + 50 * dearNano, shortfall: 0 },
    ])
  })
})

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
/** A model of which every token may cost twice as much, until the vendor reports the tier. */
const tiered: ModelConfig = {
  family: 'openai-chat',
  upstream: 'openai',
  upstreamModel: 'gpt-4.1-mini',
  price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '5.00', service_tiers: { priority: '2' } },
}
/** A turn as a coding agent requests it: tools and instructions of 20 KB, marked for the cache, and 64,000 output tokens. */
const turn = (words: string) => ({
  model: 'opus',
  max_tokens: 64_000,
  stream: true,
  system: [{ type: 'text', text: 'Be helpful. '.repeat(1_600), cache_control: { type: 'ephemeral' } }],
  messages: say(words),
})

/** English text of this length, in which a token has about as many bytes as in the instructions of a coding agent. */
function instructions(length: number): string {
  const sentences = [
    'Read the file before you edit it, and keep the style of the code around the change.',
    'Never commit unless the user asks for it; run the tests and report what failed.',
    'Prefer dedicated tools to shell commands, and call independent tools in parallel.\n',
  ]
  const times = Math.ceil(length / sentences.join(' ').length)
  return Array.from({ length: times }, () => sentences.join(' '))
    .join(' ')
    .slice(0, length)
}

describe('an agent that asks for 64,000 output tokens each turn', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway({ models: { opus, tiered } })
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
    // Holding everything requested would have taken more than the whole dollar.
    expect(64_000 * 20_000).toBeGreaterThan(NANO_PER_USD)
    expect(charge?.held).toBeLessThan(NANO_PER_USD / 4)
    const whole = await gateway.post('/v1/messages', { ...turn(words), stream: false }, headers)
    expect(whole.status).toBe(402)
    await whole.text()
  })

  test.each([
    { model: 'opus', usd: '1', path: '/v1/messages', body: turn('Say much. [sandbox tokens=60000]') },
    {
      model: 'tiered',
      usd: '0.06',
      path: '/v1/chat/completions',
      body: { model: 'tiered', stream: true, messages: say('Say much. [sandbox tokens=60000]') },
    },
  ])('uses nine tenths of $usd dollars on $model before it is cut', async ({ model, usd, path, body }) => {
    const account = `all of ${model}`
    const { secret } = await gateway.makeKey(account, usd)
    const response = await gateway.post(path, body, { authorization: `Bearer ${secret}` })
    await response.text()
    const [charge] = await chargesOf(account)
    expect(charge).toMatchObject({ state: 'settled', ended_by: 'balance', shortfall: 0 })
    const nano = Number(usd) * NANO_PER_USD
    expect(charge?.amount).toBeGreaterThanOrEqual(nano * 0.9)
    expect(charge?.amount).toBeLessThanOrEqual(charge?.held as number)
    expect(charge?.held).toBeLessThanOrEqual(nano)
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
    const { secret } = await gateway.makeKey('three cents', '0.03')
    const response = await gateway.post('/v1/messages', turn('hello'), { authorization: `Bearer ${secret}` })
    expect(response.status).toBe(402)
    const { error } = (await response.json()) as { error: { message: string } }
    // Not by the bytes, which would be $0.17.
    expect(error.message).toMatch(
      /^This stream holds \$0\.05\d+ before it begins; the account has \$0\.03 available\. Add money/,
    )
  })

  /** A turn of Claude Code: 80 KB of instructions and tools. */
  const largeTurn = (words: string, more: object = {}) => ({
    model: 'opus',
    max_tokens: 32_000,
    stream: true,
    system: [{ type: 'text', text: instructions(45_000), cache_control: { type: 'ephemeral' } }],
    tools: Array.from({ length: 20 }, (_, index) => ({
      name: `tool_${index}`,
      description: instructions(1_600),
      input_schema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    })),
    messages: say(words),
    ...more,
  })
  const ask = async (body: object, secret: string) => {
    const response = await gateway.post('/v1/messages', body, { authorization: `Bearer ${secret}` })
    return { status: response.status, text: await response.text() }
  }
  const words = 'Go on. [sandbox prompt_tokens=20000 tokens=400]'
  const priceNano = 20_000 * 4_000 + 400 * 20_000

  test.each([
    { of: 'balance', usd: '0.25', limits: {} },
    { of: 'key’s budget', usd: '9', limits: { budgetNano: NANO_PER_USD / 4, budgetPeriod: 'day' as const } },
  ])(
    'begins a turn of 80 KB with a quarter dollar of $of, by a count of its texts',
    async ({ of, usd, limits }) => {
      expect(JSON.stringify(largeTurn(words)).length).toBeGreaterThan(80_000)
      const { secret } = await gateway.makeKey(of, usd, limits)
      const { status, text } = await ask(largeTurn(words), secret)
      expect(status).toBe(200)
      expect(readEvents(text)).toMatchObject({ stopReason: 'end_turn', usage: { output_tokens: 400 } })
      const [charge] = await chargesOf(of)
      expect(charge).toMatchObject({ amount: priceNano, ended_by: 'done', shortfall: 0 })
      expect(charge?.held).toBeLessThanOrEqual(NANO_PER_USD / 4)
      expect(charge?.held).toBeGreaterThanOrEqual(priceNano)
    },
  )

  test('begins a short turn with less than a usual step if the balance has no more', async () => {
    const { secret } = await gateway.makeKey('two cents', '0.02')
    const short = { ...turn('Go on. [sandbox prompt_tokens=20 tokens=600]'), system: 'Be brief.' }
    const { status, text } = await ask(short, secret)
    expect(status).toBe(200)
    expect(readEvents(text).stopReason).toBe('end_turn')
    const amount = 20 * 4_000 + 600 * 20_000
    expect(await chargesOf('two cents')).toMatchObject([{ amount, ended_by: 'done', shortfall: 0 }])
  })

  test('holds the tokens of a picture next to the count of the texts', async () => {
    const { secret } = await gateway.makeKey('a cent', '0.01')
    const picture = (data: string) => ({
      type: 'image',
      source: { type: 'base64', media_type: 'image/png', data },
    })
    const withParts = (...parts: object[]) =>
      largeTurn('', { messages: [{ role: 'user', content: [{ type: 'text', text: 'Look.' }, ...parts] }] })
    const neededNano = async (body: object) => {
      const { status, text } = await ask(body, secret)
      expect(status).toBe(402)
      return Number(/holds \$(\S+) before/.exec(text)?.[1]) * NANO_PER_USD
    }
    const moreNano =
      (await neededNano(withParts(picture('A'.repeat(40_000))))) - (await neededNano(withParts()))
    expect(Math.round(moreNano)).toBe((4_784 + JSON.stringify(picture('')).length + 1) * 5_000)
  })

  test('holds a turn of 80 KB by its bytes if the account can pay for them', async () => {
    const { secret } = await gateway.makeKey('rich', '9')
    const body = largeTurn(words)
    expect((await ask(body, secret)).status).toBe(200)
    const [charge] = await chargesOf('rich')
    expect(charge?.held).toBeGreaterThanOrEqual(JSON.stringify(body).length * 5_000 + 4_096 * 20_000)
  })

  test('continues in steps, as far as the account can pay, after it began by a count', async () => {
    const { secret } = await gateway.makeKey('steps by count', '0.25')
    const body = largeTurn('Say much. [sandbox prompt_tokens=20000 tokens=30000]')
    expect(readEvents((await ask(body, secret)).text).stopReason).toBe('max_tokens')
    const [charge] = await chargesOf('steps by count')
    expect(charge).toMatchObject({ ended_by: 'balance', shortfall: 0 })
    expect(charge?.amount).toBeGreaterThanOrEqual(0.9 * 0.25 * NANO_PER_USD)
    expect(charge?.amount).toBeLessThanOrEqual(charge?.held as number)
  })

  test('a whole answer is held by a count too, and withheld if it costs more than the account has', async () => {
    const { secret } = await gateway.makeKey('whole by count', '0.25')
    const whole = { stream: false, max_tokens: 500 }
    expect((await ask(largeTurn(words, whole), secret)).status).toBe(200)
    const { balanceNano } = await gateway.balance('whole by count')
    expect(balanceNano).toBe(0.25 * NANO_PER_USD - priceNano)
    const { secret: other } = await gateway.makeKey('dense', '0.25')
    const { status, text } = await ask(
      largeTurn('Go on. [sandbox prompt_tokens=70000 tokens=9]', whole),
      other,
    )
    expect(status).toBe(402)
    expect(text).toContain('The answer costs $0.28018')
    expect(await gateway.balance('dense')).toMatchObject({ balanceNano: 0.25 * NANO_PER_USD, heldNano: 0 })
  })

  test.each([
    { of: 'digits', text: '0123456789'.repeat(8_000) },
    { of: 'another script', text: '会'.repeat(9) + '議は来週の火曜日に'.repeat(3_000) },
    { of: 'one character', text: ' '.repeat(80_000) },
  ])('text of $of keeps its bytes: tokenizers differ too much', async ({ of, text }) => {
    const { secret } = await gateway.makeKey(of, '0.25')
    const body = { ...turn('Hi'), system: [{ type: 'text', text, cache_control: { type: 'ephemeral' } }] }
    const { status, text: shown } = await ask(body, secret)
    expect(status).toBe(402)
    const [, needed] = /holds \$(\S+) before/.exec(shown) ?? []
    expect(Number(needed) * NANO_PER_USD).toBeGreaterThanOrEqual(Buffer.byteLength(text) * 5_000)
  })

  test('40 turns of 80 KB at once together hold the whole balance, and the others may retry', async () => {
    const { secret } = await gateway.makeKey('at once', '1.20')
    const slow = largeTurn('Go on. [sandbox prompt_tokens=20000 tokens=400 delay_ms=5000]')
    const answers = await Promise.all(Array.from({ length: 40 }, () => ask(slow, secret)))
    const paid = answers.filter(({ status }) => status === 200)
    const refused = answers.filter(({ status }) => status !== 200)
    for (const { status, text } of refused) {
      expect(status).toBe(402)
      expect(text).toContain('Try again when they have ended.')
    }
    const charges = await chargesOf('at once')
    expect(charges).toHaveLength(paid.length)
    for (const charge of charges) expect(charge).toMatchObject({ amount: priceNano, shortfall: 0 })
    // By bytes there would be two.
    expect(paid.length).toBeGreaterThan(2)
    expect(await gateway.balance('at once')).toMatchObject({
      balanceNano: 1.2 * NANO_PER_USD - paid.length * priceNano,
      heldNano: 0,
    })
  })
})

describe('limitToBalance', () => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway({ models: { ...models, ...behind }, config: { limitToBalance: true } })
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
    const { max_tokens: limit, max_completion_tokens: newer, max_output_tokens: flat } = sent()
    expect(limit ?? newer ?? flat).toBe(300)
    expect(charge).toMatchObject({ amount: 20 * INPUT + 300 * OUTPUT, shortfall: 0, ended_by: 'done' })
    expect(balance.heldNano).toBe(0)
    expect(balance.balanceNano).toBeGreaterThanOrEqual(0)
  })

  test.each(answerWays)('$name: a request is refused if no useful answer fits', async (way) => {
    const { status, wasSent } = await play(way, `nothing ${way.name}`, 'Say much.', 255)
    expect({ status, wasSent }).toEqual({ status: 402, wasSent: false })
  })

  test('a request that can be paid is sent unchanged', async () => {
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
