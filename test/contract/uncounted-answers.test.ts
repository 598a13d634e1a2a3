// Answers of vendors without usage, or with implausible usage: whole and streamed, in each dialect on models of each kind, the
// caller sees the paid usage.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { ModelConfig } from '../../src/config/schema'
import { say, startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { type OddFigures, startTrilingualVendor, THINKING, USED } from '../support/vendors/trilingual'

const INPUT = 1_000
const OUTPUT = 2_000
const SEARCH = 10_000_000
const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2', per_1k_web_searches: '10' }
const models: Record<string, ModelConfig> = {
  chat: { family: 'openai-chat', upstream: 'of-chat', upstreamModel: 'gpt-4.1-mini', price },
  messages: { family: 'anthropic-messages', upstream: 'of-messages', upstreamModel: 'claude-opus-4', price },
  text: { family: 'openai-completions', upstream: 'of-chat', upstreamModel: 'local-text', price },
  responses: { family: 'openai-responses', upstream: 'of-chat', upstreamModel: 'gpt-5-mini', price },
}

const vendor = startTrilingualVendor()
let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway({
    models,
    upstreams: vendor.upstreams,
  })
})
afterAll(async () => {
  await gateway.close()
  await vendor.stop()
})
beforeEach(() => {
  vendor.says = { text: 'The lamp on the table is red.', thought: 'A thought.', isUncounted: true }
})

interface Dialect {
  path: string
  body: Json
  /** Input and output tokens in the last event with usage, or in the whole answer. */
  usage(answer: Json): [input: number, output: number] | undefined
}

const dialects: Record<string, Dialect> = {
  chat: {
    path: '/v1/chat/completions',
    body: { messages: say('Which colour has the lamp?') },
    usage: ({ usage }) => usage && [usage.prompt_tokens, usage.completion_tokens],
  },
  messages: {
    path: '/v1/messages',
    body: { messages: say('Which colour has the lamp?'), max_tokens: 100 },
    usage: ({ usage }) => usage && [usage.input_tokens, usage.output_tokens],
  },
  responses: {
    path: '/v1/responses',
    body: { input: 'Which colour has the lamp?', store: false },
    usage: ({ response, usage = response?.usage }) => usage && [usage.input_tokens, usage.output_tokens],
  },
}

async function ask({ path, body, usage }: Dialect, model: string, more: Json) {
  const response = await gateway.post(path, { model, ...body, ...more })
  const text = await response.text()
  expect({ status: response.status, text }).toMatchObject({ status: 200 })
  const answers: Json[] = more.stream
    ? text.split('\n').flatMap((line) => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
    : [JSON.parse(text)]
  const charge = await gateway.newestCharge()
  return {
    shown: answers.flatMap((answer) => [usage(answer) ?? []].filter(({ length }) => length)).at(-1),
    charge,
  }
}

const plainText: Dialect = {
  path: '/v1/completions',
  body: { prompt: 'Which colour has the lamp?' },
  usage: ({ usage }) => usage && [usage.prompt_tokens, usage.completion_tokens],
}

const ways = Object.keys(dialects).flatMap((dialect) =>
  ['chat', 'messages', 'responses'].flatMap((model) =>
    [false, true].map((stream) => ({ dialect, model, stream, form: stream ? 'a stream' : 'a whole answer' })),
  ),
)

test.each(ways)('$form in $dialect by a model of $model ends with the paid usage', async (way) => {
  const usage = way.dialect === 'messages' ? {} : { stream_options: { include_usage: true } }
  const stream = way.stream && { stream: true, ...usage }
  const { shown, charge } = await ask(dialects[way.dialect] as Dialect, way.model, { ...stream })
  const [input = 0, output = 0] = shown ?? []
  expect(input).toBeGreaterThan(3)
  expect(output).toBeGreaterThan(3)
  expect(charge).toMatchObject({ state: 'settled', amount: input * INPUT + output * OUTPUT })
  expect(charge?.usage_source).not.toBe('upstream')
})

const figures = ['zero', 'absurd', 'less', 'separate'] as const satisfies OddFigures[]
const oddWays = ways.flatMap((way) => figures.map((odd) => ({ ...way, odd })))

test.each(oddWays)(
  '$form in $dialect by a model of $model with $odd figures shows the paid usage',
  async (way) => {
    const { odd, dialect, model, stream } = way
    vendor.says = { text: 'The lamp on the table is red.', thought: 'A thought.', figures: odd }
    const asks = stream && {
      stream: true,
      ...(dialect === 'chat' && { stream_options: { include_usage: true } }),
    }
    const { shown, charge } = await ask(dialects[dialect] as Dialect, model, { ...asks })
    const [input = 0, output = 0] = shown ?? []
    expect(charge).toMatchObject({ state: 'settled', amount: input * INPUT + output * OUTPUT })
    const isCounted = odd === 'zero' || odd === 'absurd'
    expect(charge?.usage_source === 'upstream').toBe(!isCounted)
    // Chat and responses have a total, by which thinking is found.
    const thinking = odd === 'separate' && model !== 'messages' ? THINKING : 0
    if (!isCounted) expect([input, output]).toEqual([USED.input, USED.output + thinking])
    else expect(Math.min(input, output)).toBeGreaterThan(3)
  },
)

test.each(['zero', 'separate'] as const)(
  'a plain completion with %s figures shows what is paid',
  async (odd) => {
    for (const stream of [false, true]) {
      vendor.says = { text: 'The lamp on the table is red.', figures: odd }
      const asks = stream && { stream: true, stream_options: { include_usage: true } }
      const { shown, charge } = await ask(plainText, 'text', { ...asks })
      const [input = 0, output = 0] = shown ?? []
      expect(Math.min(input, output)).toBeGreaterThan(3)
      expect(charge).toMatchObject({ amount: input * INPUT + output * OUTPUT })
    }
  },
)

test('a stream of a plain completion ends with what is paid', async () => {
  const stream = { stream: true, stream_options: { include_usage: true } }
  const { shown, charge } = await ask(plainText, 'text', stream)
  const [input = 0, output = 0] = shown ?? []
  expect(Math.min(input, output)).toBeGreaterThan(3)
  expect(charge).toMatchObject({ amount: input * INPUT + output * OUTPUT })
})

test('usage of a stream is sent only on request', async () => {
  const response = await gateway.post('/v1/chat/completions', {
    model: 'chat',
    messages: say('Hi'),
    stream: true,
  })
  const text = await response.text()
  expect(text).not.toContain('usage')
  expect(text).toEndWith('data: [DONE]\n\n')
})

describe('searches are paid though nothing is counted', () => {
  const searching: Record<string, Json> = {
    messages: { tools: [{ type: 'web_search_20250305', name: 'web_search', max_uses: 3 }] },
    responses: { tools: [{ type: 'web_search' }], max_tool_calls: 3 },
  }
  test.each(['messages', 'responses'].flatMap((name) => [[name, false] as const, [name, true] as const]))(
    'by a model of %s, streamed: %p',
    async (name, stream) => {
      const price = async () => {
        const { charge } = await ask(dialects[name] as Dialect, name, { ...searching[name], stream })
        return Number(charge?.amount)
      }
      vendor.says.searches = 2
      const found = await price()
      vendor.says.searches = 0
      const plain = await price()
      // The queries are output too.
      expect(Math.floor((found - plain) / SEARCH)).toBe(2)
      vendor.says.searches = 9
      // No more than was held.
      expect(Math.floor((await price()) / SEARCH)).toBe(3)
    },
  )
})
