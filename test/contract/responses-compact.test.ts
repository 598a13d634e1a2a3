// Compaction of a conversation over HTTP, on models of each kind: its answer, its price, and that the summary reaches the
// next model, but no other account.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { ModelConfig } from '../../src/config/schema'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'
import { rejection } from '../support/rejection'
import type { Json } from '../support/scenario'
import { startTrilingualVendor } from '../support/vendors/trilingual'

const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
const models: Record<string, ModelConfig> = {
  chat: { family: 'openai-chat', upstream: 'of-chat', upstreamModel: 'gpt-4.1-mini', price },
  messages: { family: 'anthropic-messages', upstream: 'of-messages', upstreamModel: 'claude-opus-4', price },
  native: { family: 'openai-responses', upstream: 'of-chat', upstreamModel: 'gpt-5-mini', price },
  both: {
    family: ['openai-chat', 'openai-responses'],
    upstream: 'of-chat',
    upstreamModel: 'gpt-5-mini',
    price,
  },
}

const vendor = startTrilingualVendor()
let gateway: TestGateway
let client: OpenAI

afterAll(() => vendor.stop())
beforeEach(() => {
  vendor.received = []
  vendor.says = { text: 'The lamp is red.', thought: 'A thought.' }
})

const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false }
const conversation: Json[] = [
  { role: 'user', content: 'Which colour has the lamp?' },
  { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'red' },
  { role: 'assistant', content: 'Red.' },
  { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And the door?' }] },
]
const compact = (body: Json): Promise<Json> => client.responses.compact(body as never)
const lastText = () => JSON.stringify(vendor.received.at(-1)?.body)

describe.each(databaseKinds)('on %s', (database) => {
  beforeAll(async () => {
    gateway = await startTestGateway({
      database,
      models,
      upstreams: vendor.upstreams,
    })
    client = new OpenAI({ apiKey: gateway.secret, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  })
  afterAll(() => gateway.close())

  describe.each(Object.keys(models))('a compaction by the model %s', (model) => {
    test('has the user’s messages and one sealed summary, and is charged like a response', async () => {
      const before = (await gateway.charges()).length
      const answer = await compact({ model, input: conversation })
      expect(vendor.received).toHaveLength(1)
      expect(vendor.received[0]?.body.stream ?? false).toBe(false)
      expect(lastText()).toContain('Write a summary of the conversation')
      expect(answer).toMatchObject({ object: 'response.compaction', created_at: expect.any(Number) })
      expect(answer.id).toMatch(/^resp_[0-9a-f]{32}$/)
      expect(answer.usage).toMatchObject({ input_tokens: 10, output_tokens: 5, total_tokens: 15 })
      const text = (words: string) => [{ type: 'input_text', text: words }]
      const user = { type: 'message', role: 'user', status: 'completed', id: expect.stringMatching(/^msg_/) }
      expect(answer.output).toEqual([
        { ...user, content: text('Which colour has the lamp?') },
        { ...user, content: text('And the door?') },
        {
          type: 'compaction',
          id: expect.stringMatching(/^cmp_/),
          encrypted_content: expect.stringMatching(/^gw1\./),
        },
      ])
      expect(JSON.stringify(answer)).not.toContain('lamp is red')
      const charges = await gateway.charges()
      expect(charges).toHaveLength(before + 1)
      const { amount, held } = charges.at(-1) as Json
      expect(Number(amount)).toBe(10 * 1_000 + 5 * 2_000)
      // The words that ask for the summary are held too.
      expect(Number(held)).toBeGreaterThan((JSON.stringify(conversation).length + 300) * 1_000)
      // A compaction is not kept.
      expect(await client.responses.retrieve(answer.id).catch(({ status }) => status)).toBe(404)
    })

    test('is an error if the summary was cut', async () => {
      vendor.says.isCut = true
      const answer = await compact({ model, input: conversation })
      expect(answer).toMatchObject({
        object: 'response.compaction',
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output: [],
        usage: { input_tokens: 10, output_tokens: 5 },
      })
      expect(Number((await gateway.newestCharge())?.amount)).toBe(10 * 1_000 + 5 * 2_000)
    })

    test('can be continued with any model, by itself or by the id of a later response', async () => {
      const { output } = await compact({ model, input: conversation, instructions: 'Be exact.' })
      expect(lastText()).toContain('Be exact.')
      for (const next of Object.keys(models)) {
        vendor.says = { text: 'Green.' }
        const input = [...output, { role: 'user', content: 'And the roof?' }]
        const answer = await client.responses.create({ model: next, input })
        expect(lastText()).toContain('Summary of the conversation until here:\\n\\nThe lamp is red.')
        expect(lastText()).toContain('And the door?')
        expect(lastText()).not.toContain('gw1.')
        // The kept response has the sealed item, which is opened when the response is continued.
        await client.responses.create({ model: next, input: 'Thanks.', previous_response_id: answer.id })
        expect(lastText()).toContain('The lamp is red.')
        const again = await compact({ model, previous_response_id: answer.id })
        expect(lastText()).toContain('The lamp is red.')
        expect(again.output.map(({ type }: Json) => type)).toEqual([
          'message',
          'message',
          'message',
          'compaction',
        ])
      }
    })

    test("another account's summary, and one that was altered, are rejected by their place", async () => {
      const { output } = await compact({ model, input: conversation })
      const input = [...output, { role: 'user', content: 'And the roof?' }]
      const { secret } = await gateway.makeKey(`stranger-of-${model}`, '10')
      const stranger = new OpenAI({ apiKey: secret, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
      const calls = vendor.received.length
      const place = output.length - 1
      const refused = {
        status: 400,
        param: `input[${place}].encrypted_content`,
        code: 'invalid_encrypted_content',
      }
      expect(await rejection(stranger.responses.create({ model, input }))).toMatchObject(refused)
      const sealed = output.at(-1)
      const text: string = sealed.encrypted_content
      // Not its end, of which some bits say nothing.
      const other = text.at(-9) === 'A' ? 'B' : 'A'
      const changed = { ...sealed, encrypted_content: text.slice(0, -9) + other + text.slice(-8) }
      const spoiled = client.responses.create({ model, input: [changed, { role: 'user', content: 'Hm?' }] })
      expect(await rejection(spoiled)).toMatchObject({ ...refused, param: 'input[0].encrypted_content' })
      expect(await rejection(compact({ model, input: [changed] }))).toMatchObject({ status: 400 })
      expect(vendor.received.length).toBe(calls)
    })

    test('calls no tools and has no format, whatever the request says', async () => {
      const format = { type: 'json_schema', name: 'a', schema: { type: 'object' } }
      await compact({ model, input: conversation, tools: [look], tool_choice: 'required', text: { format } })
      const { body } = vendor.received.at(-1) as { body: Json }
      expect(body.tools).toHaveLength(1)
      expect(['none', 'object']).toContain(
        typeof body.tool_choice === 'string' ? body.tool_choice : typeof body.tool_choice,
      )
      expect(JSON.stringify(body.tool_choice)).toContain('none')
      expect(lastText()).not.toContain('json_schema')
      // A search that is left out leaves no choice behind.
      await compact({ model, input: 'Hi', tools: [{ type: 'web_search' }] })
      expect(Object.keys(vendor.received.at(-1)?.body ?? {}).filter((name) => /tool/.test(name))).toEqual([])
    })

    test('is rejected without a conversation, as a stream, and without a summary', async () => {
      const refused = async (body: Json) =>
        compact({ model, ...body }).then(
          () => undefined,
          ({ status, param }) => ({ status, param }),
        )
      expect(await refused({})).toEqual({ status: 400, param: 'input' })
      expect(await refused({ input: [] })).toEqual({ status: 400, param: 'input' })
      expect(await refused({ input: 7 })).toEqual({ status: 400, param: 'input' })
      expect(await refused({ input: [null] })).toMatchObject({ status: 400 })
      expect(await refused({ input: 'Hi', stream: true })).toEqual({ status: 400, param: 'stream' })
      expect(await refused({ input: 'Hi', background: true })).toEqual({ status: 400, param: 'background' })
      expect(await refused({ input: 'Hi', previous_response_id: 'resp_a' })).toMatchObject({
        status: 400,
        param: 'previous_response_id',
      })
      expect(vendor.received).toEqual([])
      vendor.says = { text: ' ' }
      expect(await refused({ input: 'Hi' })).toMatchObject({ status: 502 })
    })
  })

  test('a repeat with the same idempotency key is answered again, apart from a response of the same words', async () => {
    const headers = { 'idempotency-key': 'compaction-1' }
    const body = { model: 'chat', input: 'Hi' }
    const first = (await (await gateway.post('/v1/responses/compact', body, headers)).json()) as Json
    const second = await (await gateway.post('/v1/responses/compact', body, headers)).json()
    expect(second).toEqual(first)
    expect(vendor.received).toHaveLength(1)
    const other = await gateway.post('/v1/responses', body, headers)
    expect(other.status).toBe(422)
    const counted = await gateway.post('/v1/responses/input_tokens', { model: 'chat', input: first.output })
    expect(await counted.json()).toMatchObject({ object: 'response.input_tokens' })
  })

  test('a model that answers no responses is rejected by name, and an account without money', async () => {
    const refused = await gateway.post('/v1/responses/compact', { model: 'test-embedding', input: 'Hi' })
    expect(refused.status).toBe(400)
    const { secret } = await gateway.makeKey('poor', '0')
    const unpaid = await gateway.post(
      '/v1/responses/compact',
      { model: 'chat', input: 'Hi' },
      { authorization: `Bearer ${secret}` },
    )
    expect(unpaid.status).toBe(402)
    expect(vendor.received).toEqual([])
  })
})
