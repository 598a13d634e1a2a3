// Responses of models whose vendor speaks this API itself: what goes to the vendor, what comes back, and what is paid.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { readResponse } from '../support/response-events'

const tokens = { per_1m_input_tokens: '1', per_1m_cached_input_tokens: '0.1', per_1m_output_tokens: '3' }

let gateway: TestGateway
let client: OpenAI

beforeAll(async () => {
  gateway = await startTestGateway({
    models: {
      thinker: {
        family: ['openai-chat', 'openai-responses'],
        upstream: 'openai',
        upstreamModel: 'gpt-5-mini',
        reasoning: true,
        price: { ...tokens, service_tiers: { flex: '0.5' } },
      },
    },
    balance: '1000',
  })
  client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })
})
afterAll(() => gateway.close())

test('the official client creates a response and follows a stream of one', async () => {
  const whole = await client.responses.create({ model: 'thinker', input: 'Hello there' })
  expect(whole).toMatchObject({ object: 'response', status: 'completed', model: 'thinker', error: null })
  expect(whole.output_text).toContain('You said: Hello there')
  const stream = client.responses.stream({ model: 'thinker', input: 'Hello there' })
  const kinds: string[] = []
  const numbers: number[] = []
  for await (const event of stream) {
    kinds.push(event.type)
    numbers.push(event.sequence_number)
    expect(event).not.toHaveProperty('obfuscation')
  }
  expect(kinds.slice(0, 3)).toEqual([
    'response.created',
    'response.in_progress',
    'response.output_item.added',
  ])
  expect(kinds.at(-1)).toBe('response.completed')
  expect(numbers).toEqual(numbers.map((_, index) => index))
  expect((await stream.finalResponse()).output_text).toContain('You said: Hello there')
})

/** A stream as it was sent. */
async function streamed(body: Record<string, unknown>): Promise<string> {
  const response = await gateway.post('/v1/responses', { model: 'thinker', stream: true, ...body })
  expect(response.status).toBe(200)
  return response.text()
}

const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} } }
const note = { type: 'custom', name: 'note' }

test.each([
  ['words', { input: 'Hello' }],
  ['thoughts that are shown', { input: 'Hello', reasoning: { effort: 'low', summary: 'auto' } }],
  ['calls', { input: '[sandbox tool=2] go', tools: [look, note] }],
  ['mixed calls', { input: '[sandbox tool=2 interleave] go', tools: [look, note] }],
  ['ids that change', { input: '[sandbox rotate_ids tool=2 interleave] go', tools: [look, note] }],
  ['signs of life', { input: '[sandbox keepalive] Hello' }],
  ['no output at the end', { input: '[sandbox empty_output] Hello' }],
  ['a limit', { input: 'Hello', max_output_tokens: 20 }],
  ['pieces at odd places', { input: '[sandbox split wide] Hello' }],
  ['a failure', { input: '[sandbox error_after=8] Hello' }],
  ['a cut', { input: '[sandbox cut_after=8] Hello' }],
])('the stream of an answer with %s is one that clients can follow', async (_, body) => {
  const { response, events } = readResponse(await streamed(body))
  expect(response.model).toBe('thinker')
  for (const event of events) expect(event).not.toHaveProperty('obfuscation')
})
