// Usage at the end of a chat stream is sent only on request, wherever servers put it: without a choice, or next to an
// empty one, as some gateways do. The charge is the same.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import OpenAI from 'openai'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const usage = { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 }
const PAID = 7 * 1_000 + 2 * 2_000

let gateway: TestGateway
let odd: OddVendor

beforeAll(async () => {
  odd = startVendor()
  const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
  gateway = await startTestGateway({
    balance: '10',
    upstreams: { odd: odd.upstream },
    models: {
      odd: { family: 'openai-chat', upstream: 'odd', price },
      'odd-text': { family: 'openai-completions', upstream: 'odd', price },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await odd.stop()
})

type Choice = Record<string, unknown>
const chunk = (choices: Choice[], more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'odd',
  choices,
  ...more,
})
const first = { index: 0, delta: { role: 'assistant', content: 'Hel' }, finish_reason: null }
const second = { index: 0, delta: { content: 'lo' }, finish_reason: null }
const end = { index: 0, delta: {}, finish_reason: 'stop' }

/** The ways in which servers send the figures after the last word. */
const ways: Record<string, Choice[]> = {
  'next to no choice': [],
  'next to an empty delta': [{ index: 0, delta: {} }],
  'next to a delta of nulls': [
    {
      index: 0,
      finish_reason: null,
      logprobs: null,
      delta: { provider_specific_fields: null, content: null, role: null, tool_calls: null },
    },
  ],
  'next to an empty text': [{ index: 0, finish_reason: null, delta: { content: '' } }],
  'next to an empty delta and an empty list': [{ index: 0, delta: { content: '', tool_calls: [] } }],
}

function answerWith(events: object[]): void {
  const text = [...events.map((event) => JSON.stringify(event)), '[DONE]'].map((data) => `data: ${data}\n\n`)
  odd.answer = () => new Response(text.join(''), { headers: { 'content-type': 'text/event-stream' } })
}

async function ask(body: Record<string, unknown> = {}) {
  const response = await gateway.chat({ model: 'odd', stream: true, ...body })
  const text = await response.text()
  const chunks = text.split('\n\n').flatMap((event) => {
    const data = event.replace(/^data: /, '')
    return data.startsWith('{') ? [JSON.parse(data)] : []
  })
  return { text, chunks, charge: await gateway.newestCharge() }
}

describe.each(Object.entries(ways))('%s', (_, choices) => {
  const events = [chunk([first]), chunk([second]), chunk([end]), chunk(choices, { usage })]

  test('the usage is hidden by default, and charged', async () => {
    answerWith(events)
    const { text, chunks, charge } = await ask()
    expect(chunks).toEqual(events.slice(0, 3))
    expect(text).toEndWith('data: [DONE]\n\n')
    expect(charge).toMatchObject({ amount: PAID, usage_source: 'upstream' })
  })

  test('the usage is returned on request', async () => {
    answerWith(events)
    const { chunks, charge } = await ask({ stream_options: { include_usage: true } })
    expect(chunks).toEqual(events)
    expect(charge).toMatchObject({ amount: PAID, usage_source: 'upstream' })
  })

  test('the official client sees nothing but the answer', async () => {
    answerWith(events)
    const client = new OpenAI({ apiKey: gateway.secret, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    const stream = client.chat.completions.stream({
      model: 'odd',
      messages: [{ role: 'user', content: 'Hi' }],
    })
    const { choices: shown } = await stream.finalChatCompletion()
    expect(shown).toMatchObject([{ finish_reason: 'stop', message: { content: 'Hello' } }])
  })
})

describe('nothing else is hidden', () => {
  test.each([
    [
      'the role',
      [
        chunk([{ index: 0, delta: { role: 'assistant', content: '' } }], { usage }),
        chunk([second]),
        chunk([end]),
      ],
    ],
    ['a word', [chunk([first], { usage }), chunk([second], { usage }), chunk([end], { usage })]],
    ['the reason of the end', [chunk([first]), chunk([second]), chunk([end], { usage })]],
    [
      'a refusal',
      [chunk([{ index: 0, delta: { role: 'assistant', refusal: 'No.' } }], { usage }), chunk([end])],
    ],
    [
      'a thought',
      [chunk([{ index: 0, delta: { reasoning_content: 'Hm' } }], { usage }), chunk([second]), chunk([end])],
    ],
    [
      'a call',
      [
        chunk(
          [
            {
              index: 0,
              delta: { tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '' } }] },
            },
          ],
          { usage },
        ),
        chunk([end]),
      ],
    ],
  ])('%s with figures next to it', async (_, events) => {
    answerWith(events)
    const { chunks, charge } = await ask()
    expect(chunks).toEqual(events)
    expect(charge).toMatchObject({ amount: PAID, usage_source: 'upstream' })
  })

  test('an error next to figures', async () => {
    answerWith([chunk([first]), chunk([{ index: 0, delta: {} }], { usage, error: { message: 'It broke.' } })])
    expect((await ask()).text).toContain('It broke.')
  })
})

test('completions of plain texts keep the same rule', async () => {
  const piece = (text: string, more: object = {}) => ({
    object: 'text_completion',
    model: 'odd-text',
    choices: [{ index: 0, text, finish_reason: null, logprobs: null }],
    ...more,
  })
  const last = {
    object: 'text_completion',
    model: 'odd-text',
    choices: [{ index: 0, text: '', finish_reason: 'stop' }],
  }
  answerWith([piece('Hello'), last, piece('', { usage })])
  const response = await gateway.post('/v1/completions', { model: 'odd-text', prompt: 'Hi', stream: true })
  expect(await response.text()).not.toContain('usage')
  expect(await gateway.newestCharge()).toMatchObject({ amount: PAID, usage_source: 'upstream' })
})
