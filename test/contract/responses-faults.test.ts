// Misbehaving vendors of responses, and failures of other gateways with such vendors. Each test names the project where
// the fault was seen.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readResponse } from '../support/answers/response-events'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

let gateway: TestGateway
let odd: OddVendor

beforeAll(async () => {
  odd = startVendor()
  const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
  const served = { family: 'openai-responses', upstreamModel: 'gpt-5-mini', price }
  gateway = await startTestGateway({
    models: {
      odd: { ...served, upstream: 'odd' },
      thinker: { ...served, upstream: 'openai', reasoning: true },
    },
    upstreams: { odd: odd.upstream },
    balance: '1000',
  })
})
afterAll(async () => {
  await gateway.close()
  await odd.stop()
})

const usage = { input_tokens: 5, output_tokens: 7, total_tokens: 12 }
const message = (text: string) => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
})
const reply = (output: unknown[], more: Json = {}) => ({
  id: 'resp_v',
  status: 'completed',
  output,
  usage,
  ...more,
})
const events = (...list: Json[]) => list.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
const created = { type: 'response.created', response: { id: 'resp_v' } }
const delta = {
  type: 'response.output_text.delta',
  output_index: 0,
  item_id: 'msg_1',
  content_index: 0,
  delta: 'Hi',
}
const completed = { type: 'response.completed', response: reply([message('Hi')]) }

/** A body whose type nobody guesses. */
function streamOf(text: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from(text))
      controller.close()
    },
  })
}

/** The vendor answers with these bytes from now on. */
function answers(
  body: string | object,
  headers: Record<string, string> = { 'content-type': 'text/event-stream' },
) {
  odd.answer = () =>
    typeof body === 'string' ? new Response(streamOf(body), { headers }) : Response.json(body)
}

async function ask(body: Json = {}) {
  const response = await gateway.post('/v1/responses', { model: 'odd', input: 'Hi', ...body })
  const text = await response.text()
  const charge = await gateway.newestCharge()
  return { status: response.status, headers: response.headers, text, charge }
}

const stream = async (body: Json = {}) => {
  const { status, headers, text, charge } = await ask({ stream: true, ...body })
  expect({ status, type: headers.get('content-type') }).toEqual({
    status: 200,
    type: 'text/event-stream; charset=utf-8',
  })
  return { ...readResponse(text), charge }
}

test('new-api: a stream that just ends is an error, and a failed response', async () => {
  answers(events(created, delta))
  const { response, error } = await stream()
  expect(error.error).toMatchObject({ code: 'server_error' })
  expect(response).toMatchObject({ status: 'failed', error: { code: 'server_error' } })
})

test('new-api: a stream without a content type is still read as a stream', async () => {
  answers(events(created, delta, completed), {})
  expect((await stream()).response.status).toBe('completed')
})

test('new-api: arguments that came parsed are text', async () => {
  const call = { id: 'fc_1', type: 'function_call', call_id: 'call_1', name: 'look', arguments: { a: 1 } }
  answers(reply([call]))
  expect(JSON.parse((await ask()).text).output[0].arguments).toBe('{"a":1}')
  answers(
    events(
      created,
      { type: 'response.output_item.done', output_index: 0, item: call },
      { ...completed, response: reply([call]) },
    ),
  )
  const { items, response } = await stream()
  expect(items[0].arguments).toBe('{"a":1}')
  expect(response.output[0].arguments).toBe('{"a":1}')
})

test.each([
  ['null', null],
  ['a list', [message('no')]],
  ['a text', 'text'],
  ['a number', 7],
  ['an object without a type', { id: 'msg_9' }],
])('%s among the items is left out of what is shown, kept and continued', async (_, odd) => {
  const { id: conversation } = (await (await gateway.post('/v1/conversations', {})).json()) as Json
  answers(reply([odd, message('Hi'), odd]))
  const whole = await ask({ conversation })
  expect(whole).toMatchObject({ status: 200, charge: { state: 'settled' } })
  const { id, output } = JSON.parse(whole.text)
  expect(output).toMatchObject([{ type: 'message' }])
  answers(events(created, delta, { type: 'response.completed', response: reply([message('Hi'), odd]) }))
  const { response, charge } = await stream({ conversation })
  expect({ status: response.status, charge }).toMatchObject({
    status: 'completed',
    charge: { state: 'settled' },
  })
  expect(response.output).toMatchObject([{ type: 'message' }])
  answers(reply([message('Again')]))
  expect(await ask({ previous_response_id: id })).toMatchObject({ status: 200 })
  expect(await ask({ conversation })).toMatchObject({ status: 200 })
})

test('a vendor that says the least of its items: each has its id, its status and its lists', async () => {
  const least = [
    { type: 'reasoning' },
    { type: 'message', status: null, content: [{ type: 'output_text', text: 'Hi' }] },
    { type: 'function_call', id: '', call_id: 'call_1', name: 'look', arguments: '{}' },
  ]
  const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[0-9a-f]+$`))
  const status = 'completed'
  const whole = [
    { type: 'reasoning', id: id('rs'), status, summary: [] },
    {
      type: 'message',
      id: id('msg'),
      status,
      role: 'assistant',
      content: [{ type: 'output_text', text: 'Hi', annotations: [], logprobs: [] }],
    },
    { type: 'function_call', id: id('fc'), status, call_id: 'call_1', name: 'look', arguments: '{}' },
  ]
  answers(reply(least))
  expect(JSON.parse((await ask()).text).output).toEqual(whole)
  answers(events(created, { type: 'response.completed', response: reply(least) }))
  expect((await stream()).response.output).toEqual(whole)
})

test('a vendor that answers a response in the background whole has ended it', async () => {
  answers(reply([message('Hi')]))
  const { status, text, charge } = await ask({ background: true })
  expect({ status, charge }).toMatchObject({ status: 200, charge: { state: 'settled' } })
  const { id } = JSON.parse(text)
  const headers = { authorization: `Bearer ${gateway.secret}` }
  const found = await fetch(`${gateway.url}/v1/responses/${id}`, { headers })
  expect(await found.json()).toEqual(JSON.parse(text))
  const followed = await fetch(`${gateway.url}/v1/responses/${id}?stream=true`, { headers })
  expect(await followed.text()).toContain('event: response.completed')
})

test('litellm: the object and its status are those of a response, whatever the vendor says', async () => {
  answers({ output: [message('Hi')], usage, object: 'chat.completion' })
  const json = JSON.parse((await ask()).text)
  expect(json).toMatchObject({ object: 'response', status: 'completed', error: null, model: 'odd' })
  expect(json.id).toMatch(/^resp_[0-9a-f]{32}$/)
  expect(json.usage.output_tokens_details).toEqual({ reasoning_tokens: 0 })
})

test('ollama: an empty answer is the fault of the vendor, and free', async () => {
  for (const empty of [{}, { id: 'resp_v', output: null }, { status: 'queued', output: [] }]) {
    answers(empty)
    const { status, charge } = await ask()
    expect({ status, state: charge?.state }).toEqual({ status: 502, state: 'released' })
  }
})

test('ollama: a response that is not kept is an error, not forgotten', async () => {
  const before = odd.requests
  const { status, text } = await ask({ previous_response_id: 'resp_none' })
  expect({ status, code: JSON.parse(text).error.code, asked: odd.requests - before }).toEqual({
    status: 400,
    code: 'previous_response_not_found',
    asked: 0,
  })
})

test.each([
  ['context_length_exceeded', 'context_length_exceeded'],
  ['rate_limit_exceeded', 'rate_limit_exceeded'],
  ['server_is_overloaded', 'server_is_overloaded'],
  ['invalid_prompt', 'invalid_prompt'],
  // Only the operator sees the operator's costs, and a repeat does not pay them.
  ['insufficient_quota', 'server_is_overloaded'],
  ['server_error', 'server_error'],
  ['vector_store_timeout', 'server_error'],
])('codex: an error within a stream is in the response too: %s is %s', async (code, reported) => {
  const failed = { code, message: 'Please try again in 3s.' }
  const error = {
    type: 'error',
    sequence_number: 2,
    error: { type: 'invalid_request_error', ...failed, param: null },
  }
  const end = { type: 'response.failed', response: { ...reply([]), status: 'failed', error: failed } }
  for (const list of [[error, end], [error], [end], [{ type: 'error', ...failed }]]) {
    answers(events(created, ...list))
    const { response, error: seen, charge } = await stream()
    expect(response).toMatchObject({ status: 'failed', error: { code: reported } })
    expect(seen).toMatchObject({ code: reported, error: { code: reported } })
    expect(charge).toMatchObject({ state: 'released', amount: 0 })
  }
})

test('codex: names and namespaces come back exactly, those of tools in an item too', async () => {
  const namespaced = {
    type: 'namespace',
    name: 'files',
    tools: [{ type: 'function', name: 'read', parameters: {} }],
  }
  const added = { type: 'additional_tools', role: 'developer', tools: [{ type: 'custom', name: 'exec' }] }
  const asked = { role: 'user', content: '[sandbox tool=2] go' }
  const body = { model: 'thinker', input: [added, asked], tools: [namespaced], store: false }
  const calls = [
    { type: 'function_call', name: 'read', namespace: 'files' },
    { type: 'custom_tool_call', name: 'exec' },
  ]
  const whole = JSON.parse((await ask(body)).text)
  expect(whole.output.slice(1)).toMatchObject(calls)
  expect((await stream(body)).items.slice(1)).toMatchObject(calls)
})

test('sub2api: the conversation continues after a key was replaced', async () => {
  const first = JSON.parse((await ask({ model: 'thinker', store: false })).text)
  const next = { role: 'user', content: '[sandbox account=2] And then?' }
  const { status, text } = await ask({ model: 'thinker', store: false, input: [...first.output, next] })
  expect({ status, said: JSON.parse(text).status }).toEqual({ status: 200, said: 'completed' })
})

test('codex: no sign of a broken tool call: an unknown event, a padding or a gap in the numbers', async () => {
  answers(
    events(
      created,
      { type: 'ping' },
      { ...delta, obfuscation: 'xx', sequence_number: 90 },
      { type: 'response.mood' },
      completed,
    ),
  )
  const { events: seen, deltas } = await stream()
  expect(deltas).toEqual(['Hi'])
  expect(JSON.stringify(seen)).not.toContain('obfuscation')
})

test('a vendor’s [DONE] at the end makes no difference', async () => {
  answers(`${events(created, delta, completed)}data: [DONE]\n\n`)
  const { response, charge } = await stream()
  expect(response.status).toBe('completed')
  expect(charge).toMatchObject({ state: 'settled', amount: 5 * 1_000 + 7 * 2_000 })
})
