// POST /v1/completions: a model continues texts, as local servers and older clients use it, charged by tokens.

import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import OpenAI from 'openai'
import { withWholeUsage } from '../../src/billing/reports/usage-form'
import type { Row } from '../../src/db/db'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const family = 'openai-completions'
const [INPUT, OUTPUT] = [1_000, 2_000]

let gateway: TestGateway
let odd: OddVendor
let openai: OpenAI

beforeAll(async () => {
  odd = startVendor()
  gateway = await startTestGateway({
    balance: '100',
    upstreams: { odd: odd.upstream },
    models: {
      local: { family: ['openai-chat', family], upstream: 'openai', upstreamModel: 'local-text', price },
      instruct: { family, upstream: 'openai', upstreamModel: 'gpt-3.5-turbo-instruct', price },
      odd: { family, upstream: 'odd', price },
    },
  })
  openai = new OpenAI({ apiKey: gateway.secret, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
})
afterAll(async () => {
  await gateway.close()
  await odd.stop()
})
beforeEach(() => {
  odd.answer = () =>
    Response.json({ object: 'text_completion', choices: [{ index: 0, text: 'ok', finish_reason: 'stop' }] })
})

async function lastCharge() {
  const [charge] = await gateway.server.world.db.query({
    sql: 'select * from charges order by id desc limit 1',
  })
  return withWholeUsage(charge as Row)
}

describe('the official client', () => {
  test('a text with its cost', async () => {
    const { data, response } = await openai.completions
      .create({ model: 'local', prompt: 'Once upon a time', max_tokens: 5, stop: ['said'] })
      .withResponse()
    expect(data).toMatchObject({
      object: 'text_completion',
      model: 'local',
      choices: [{ index: 0, text: 'You ', finish_reason: 'stop' }],
    })
    const { prompt_tokens: read, completion_tokens: written } = data.usage as OpenAI.CompletionUsage
    const charge = await lastCharge()
    expect(charge).toMatchObject({
      operation: 'completions',
      usage_source: 'upstream',
      amount: read * INPUT + written * OUTPUT,
    })
    expect(Number(response.headers.get('x-gateway-cost-usd')) * 1e9).toBeCloseTo(Number(charge.amount), 3)
  })

  test('several prompts, several completions of each, the prompt repeated, and probabilities', async () => {
    const { choices, usage } = await openai.completions.create({
      model: 'local',
      prompt: ['One', 'Two'],
      n: 2,
      best_of: 3,
      echo: true,
      logprobs: 1,
      max_tokens: 4,
    })
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3])
    expect(choices.map(({ text }) => text.slice(0, 3))).toEqual(['One', 'One', 'Two', 'Two'])
    expect(choices[0]?.logprobs?.tokens?.[0]).toBe('One')
    // Six were generated, and four are returned.
    expect(usage?.completion_tokens).toBe(2 * 3 * 4)
    const [sent] = gateway.sandbox.calls.slice(-1)
    expect(JSON.parse(sent?.body ?? '')).toEqual({
      model: 'local-text',
      prompt: ['One', 'Two'],
      n: 2,
      best_of: 3,
      echo: true,
      logprobs: 1,
      max_tokens: 4,
    })
  })

  test('tokens instead of a text', async () => {
    const answer = await openai.completions.create({ model: 'instruct', prompt: [[1, 2, 3], [4]] })
    expect(answer.usage?.prompt_tokens).toBe(4)
    expect(answer.choices).toHaveLength(2)
  })

  test.each([true, false])('a stream, with usage only on request (%p)', async (asked) => {
    const stream = await openai.completions.create({
      model: 'local',
      prompt: 'Once upon a time',
      suffix: ' The end.',
      max_tokens: 6,
      stream: true,
      ...(asked && { stream_options: { include_usage: true } }),
    })
    let text = ''
    let usage: OpenAI.CompletionUsage | undefined
    for await (const chunk of stream) {
      expect(chunk.model).toBe('local')
      text += chunk.choices[0]?.text ?? ''
      usage = chunk.usage ?? usage
    }
    expect(text).toBe('You said: Once upon a')
    expect(usage !== undefined).toBe(asked)
    const charge = await lastCharge()
    const { prompt_tokens: read, completion_tokens: written } = JSON.parse(String(charge.usage))
    expect(charge).toMatchObject({ usage_source: 'upstream', amount: read * INPUT + written * OUTPUT })
  })
})

test.each([
  {},
  { suffix: ' The end.' },
  { echo: true },
  { logprobs: 2 },
  { n: 2 },
  { best_of: 2 },
  { prompt: ['One', 'Two'] },
])('a stream with %j arrives piece by piece, each before the vendor sends the next', async (more) => {
  const piece = (text: string) => `data: ${JSON.stringify({ choices: [{ index: 0, text }] })}\n\n`
  const words = ['A ', 'red ', 'fox']
  const { promise: taken, resolve: take } = Promise.withResolvers<void>()
  let waits = taken
  let next = take
  odd.answer = () => {
    const made = (async function* () {
      for (const word of words) {
        yield Buffer.from(piece(word))
        await waits
        const { promise, resolve } = Promise.withResolvers<void>()
        waits = promise
        next = resolve
      }
      yield Buffer.from('data: [DONE]\n\n')
    })()
    return new Response(made as never, { headers: { 'content-type': 'text/event-stream' } })
  }
  const body = { model: 'odd', prompt: 'Hi', max_tokens: 10, stream: true, ...more }
  const response = await gateway.post('/v1/completions', body)
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  for (const word of words) {
    const { value } = await reader.read()
    expect(Buffer.from(value ?? []).toString()).toBe(piece(word))
    next()
  }
  let rest = ''
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    rest += Buffer.from(read.value).toString()
  }
  expect(rest).toBe('data: [DONE]\n\n')
})

test('a stream ends with [DONE]', async () => {
  const response = await gateway.post('/v1/completions', { model: 'local', prompt: 'Hi', stream: true })
  expect(await response.text()).toEndWith('data: [DONE]\n\n')
})

describe('money', () => {
  async function complete(body: Record<string, unknown>) {
    const response = await gateway.post('/v1/completions', { model: 'odd', max_tokens: 10, ...body })
    await response.text()
    return { status: response.status, charge: await lastCharge() }
  }

  test('is held for every prompt and every completion, also if the vendor may return fewer', async () => {
    const one = await complete({ prompt: [[1, 2, 3]] })
    expect(one.charge).toMatchObject({ held: 3 * INPUT + 10 * OUTPUT })
    const many = await complete({
      prompt: [
        [1, 2, 3],
        [4, 5],
      ],
      n: 2,
      best_of: 5,
    })
    expect(many.charge).toMatchObject({ held: 5 * (5 * INPUT + 2 * 10 * OUTPUT) })
  })

  test('without vendor usage is by the count of texts, and a repeated prompt is not output', async () => {
    const prompt = 'Once upon a time there was a fox'
    const plain = await complete({ prompt })
    odd.answer = () => Response.json({ choices: [{ index: 0, text: `${prompt}ok`, finish_reason: 'stop' }] })
    const echoed = await complete({ prompt, echo: true })
    expect(plain.charge.usage_source).toBe('counted')
    expect(echoed.charge).toMatchObject({ amount: plain.charge.amount, usage_source: 'counted' })
  })

  test('for a repeated prompt in a stream without usage is at most that of output, within the hold', async () => {
    const prompt = 'Once upon a time there was a fox. '.repeat(20)
    const piece = (text: string) =>
      `data: ${JSON.stringify({ choices: [{ index: 0, text, finish_reason: null }] })}\n\n`
    odd.answer = () =>
      new Response(`${piece(prompt)}${piece('ok')}data: [DONE]\n\n`, {
        headers: { 'content-type': 'text/event-stream' },
      })
    const { charge } = await complete({ prompt, echo: true, stream: true, max_tokens: 1 })
    expect(charge).toMatchObject({ state: 'settled', usage_source: 'counted', shortfall: 0 })
    expect(Number(charge.amount)).toBeWithin(1, Number(charge.held) + 1)
  })

  test('is charged for the log probabilities of a prompt, also without output', async () => {
    odd.answer = () =>
      Response.json({
        choices: [{ index: 0, text: 'A fox', finish_reason: 'length' }],
        usage: { prompt_tokens: 2, completion_tokens: 0, total_tokens: 2 },
      })
    const { charge } = await complete({ prompt: 'A fox', echo: true, logprobs: 0, max_tokens: 0 })
    expect(charge).toMatchObject({ state: 'settled', amount: 2 * INPUT })
  })

  test.each([
    ['no candidate', { choices: [] }, 502],
    ['an error', { error: { message: 'no such model' } }, 400],
    ['nothing', {}, 502],
  ])('%s is free', async (_, reply, status) => {
    odd.answer = () => Response.json(reply)
    expect(await complete({ prompt: 'Hi' })).toMatchObject({
      status,
      charge: { state: 'released', amount: 0 },
    })
  })
})

test('a chat model is rejected with the path that serves it', async () => {
  const response = await gateway.post('/v1/completions', { model: 'test-chat', prompt: 'Hi' })
  expect(response.status).toBe(400)
  const { error } = (await response.json()) as { error: Record<string, string> }
  expect(error).toMatchObject({ param: 'model', code: 'endpoint_model_mismatch' })
  expect(error.message).toContain('POST /v1/chat/completions')
})
