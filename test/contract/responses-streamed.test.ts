// Streamed responses of bridged models over the real gateway: the streamed response is kept and paid, thinking goes back sealed,
// and every failure ends in the two events that clients read.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Row } from '../../src/db/db'
import { outlineOf, type ReadResponse, readResponse } from '../support/answers/response-events'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import type { Json } from '../support/scenario'

setDefaultTimeout(180_000)

const models = ['test-xai', 'test-dashscope', 'test-messages']
const tools = [
  {
    type: 'namespace',
    name: 'weather.service',
    tools: [
      {
        type: 'function',
        name: 'get',
        parameters: { type: 'object', properties: { city: { type: 'string' } } },
      },
    ],
  },
  { type: 'custom', name: 'exec' },
]

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startTestGateway()
})

afterAll(() => gateway.close())

interface Answered {
  read: ReadResponse
  charge: Row
  /** Body of the request to the vendor. */
  sent: Json
}

async function streamed(body: Json): Promise<Answered> {
  const calls = gateway.sandbox.calls.length
  const response = await gateway.post('/v1/responses', { stream: true, ...body })
  const id = response.headers.get('x-request-id')
  const text = await response.text()
  if (response.status !== 200) throw new Error(text)
  const chargeOf = () => gateway.charge(id)
  await waitFor(async () => (await chargeOf())?.state !== 'held')
  return {
    read: readResponse(text),
    charge: (await chargeOf()) as Row,
    sent: JSON.parse(gateway.sandbox.calls[calls]?.body ?? '{}'),
  }
}

const kept = async (id: string): Promise<Json> => {
  const response = await fetch(`${gateway.url}/v1/responses/${id}`, {
    headers: { authorization: `Bearer ${gateway.secret}` },
  })
  return await response.json()
}

describe.each(models)('a stream of %s', (model) => {
  test('is kept and paid as it was said, and is the whole answer in pieces', async () => {
    const body = { model, input: '[sandbox tokens=20 cached=3 prompt_tokens=40] Hi' }
    const { read, charge } = await streamed(body)
    const { response } = read
    expect(response).toMatchObject({ status: 'completed', model, store: true })
    expect(response.usage).toMatchObject({ input_tokens: 40, input_tokens_details: { cached_tokens: 3 } })
    expect(charge).toMatchObject({ state: 'settled', usage_source: 'upstream' })
    expect(await kept(response.id)).toEqual(response)
    const whole = (await (await gateway.post('/v1/responses', body)).json()) as Json
    const withoutIds = (items: Json[]) => items.map(({ id: _, encrypted_content: __, ...item }) => item)
    expect(withoutIds(whole.output)).toEqual(withoutIds(response.output))
    expect(whole.usage).toEqual(response.usage)
  })

  test('calls tools by the names and namespaces that the caller gave them', async () => {
    const { items } = (await streamed({ model, tools, input: '[sandbox tool=2] Weather?' })).read
    const calls = items.filter(({ call_id: id }) => id)
    expect(calls).toMatchObject([
      { type: 'function_call', name: 'get', namespace: 'weather.service' },
      { type: 'custom_tool_call', name: 'exec', input: expect.any(String) },
    ])
  })

  test.each([
    ['cut_after=6 tokens=40', 'server_error'],
    ['error_after=6 tokens=40', /server_error|server_is_overloaded/],
  ])('that ends by %s ends in an error and a response that failed', async (words, code) => {
    const { read } = await streamed({ model, input: `[sandbox ${words}] Hi` })
    expect(read.response).toMatchObject({ status: 'failed', error: { code: expect.stringMatching(code) } })
    expect(outlineOf(read.events).slice(-2)).toEqual(['error', 'failed'])
  })

  test('without end or figures is whole all the same, or says that it is not', async () => {
    for (const words of ['no_done', 'usage=missing', 'empty', 'split', 'crlf', 'wide']) {
      const { read } = await streamed({ model, input: `[sandbox ${words}] Hi` })
      expect(read.response.status).toMatch(/completed|failed/)
    }
  })

  test('at the limit of its output is incomplete', async () => {
    const { read } = await streamed({ model, max_output_tokens: 20, input: '[sandbox tokens=400] Hi' })
    expect(read.response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
    })
  })
})

test('thinking goes back to the model that signed it, and to no other account', async () => {
  const ask = { model: 'test-messages', tools, reasoning: { effort: 'high', summary: 'auto' } }
  const first = await streamed({ ...ask, input: '[sandbox tool=1 reasoning=8] Weather?' })
  const [reasoning, call] = first.read.items
  expect(reasoning?.encrypted_content).toMatch(/^gw1\./)
  const output = { type: 'function_call_output', call_id: call?.call_id, output: 'sunny' }
  const turn = (sent: Json) => sent.messages.find(({ role }: Json) => role === 'assistant')?.content
  const thinking = { type: 'thinking', thinking: first.read.deltas[0], signature: expect.any(String) }
  const byId = await streamed({ ...ask, input: [output], previous_response_id: first.read.response.id })
  expect(turn(byId.sent)?.[0]).toEqual(thinking)
  const items = ['[sandbox tool=1] Weather?', ...first.read.items].map((item) =>
    typeof item === 'string' ? { role: 'user', content: item } : item,
  )
  const byItems = await streamed({ ...ask, store: false, input: [...items, output] })
  expect(turn(byItems.sent)?.[0]).toEqual(thinking)
  const { secret } = await gateway.makeKey('bob', '10')
  const calls = gateway.sandbox.calls.length
  const other = await gateway.post(
    '/v1/responses',
    { ...ask, store: false, input: [...items, output] },
    { authorization: `Bearer ${secret}` },
  )
  await other.text()
  expect(gateway.sandbox.calls[calls]?.body).not.toContain('"thinking":"')
})
