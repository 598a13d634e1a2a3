// A compaction requested by the last item of an ordinary request, on models of chat and of messages: one item instead of the
// answer, whole and streamed, paid like any answer, and continued by id, by conversation and by the item itself.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { ModelConfig } from '../../src/config/schema'
import { outlineOf, readResponse } from '../support/answers/response-events'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import type { Json } from '../support/scenario'
import { startTrilingualVendor, USED } from '../support/vendors/trilingual'

const price = { per_1m_input_tokens: '1', per_1m_output_tokens: '2' }
const models: Record<string, ModelConfig> = {
  chat: { family: 'openai-chat', upstream: 'of-chat', upstreamModel: 'gpt-4.1-mini', price },
  messages: { family: 'anthropic-messages', upstream: 'of-messages', upstreamModel: 'claude-opus-4', price },
}

const vendor = startTrilingualVendor()
let gateway: TestGateway
let client: OpenAI

afterAll(() => vendor.stop())
beforeEach(() => {
  vendor.received = []
  vendor.says = { text: 'The lamp is red.', thought: 'A thought.', call: 'look' }
})

const trigger = { type: 'compaction_trigger' }
const look = { type: 'function', name: 'look', parameters: { type: 'object', properties: {} }, strict: false }
const conversation: Json[] = [
  { role: 'developer', content: 'Be brief.' },
  { role: 'user', content: 'Which colour has the lamp?' },
  { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
  { type: 'function_call_output', call_id: 'call_1', output: 'crimson' },
  { role: 'assistant', content: 'It is lit.' },
  { role: 'user', content: 'And the door?' },
]
const request = { input: [...conversation, trigger], tools: [look], tool_choice: 'auto' }
const sealed = {
  type: 'compaction',
  id: expect.stringMatching(/^cmp_[0-9a-f]{34}$/),
  encrypted_content: expect.stringMatching(/^gw1\./),
}
const SUMMARY = 'Summary of the conversation until here:\\n\\nThe lamp is red.'

const create = (body: Json): Promise<Json> => client.responses.create(body as never) as never
const lastText = () => JSON.stringify(vendor.received.at(-1)?.body)
async function streamed(body: Json) {
  const answered = await gateway.post('/v1/responses', { ...body, stream: true })
  return readResponse(await answered.text())
}
const paid = async () => {
  const { amount, held, state } = (await gateway.newestCharge()) as Json
  return { amount: Number(amount), held: Number(held), state }
}
const COST = USED.input * 1_000 + USED.output * 2_000

/** The last request has the summary and the caller's new words, but no words of the summarized part. */
function expectContinued(): void {
  expect(lastText()).toContain(SUMMARY)
  expect(lastText()).toContain('Be brief.')
  expect(lastText()).toContain('And the door?')
  expect(lastText()).not.toContain('crimson')
  expect(lastText()).not.toContain('It is lit.')
  expect(lastText()).not.toContain('Write a summary')
}

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

  describe.each(Object.keys(models))('a compaction within an answer of the model %s', (model) => {
    test('is one item instead of the model’s text, and is charged', async () => {
      const format = { type: 'json_schema', name: 'a', schema: { type: 'object' } }
      const update = { type: 'configuration_update', text: { format } }
      const input = [...conversation, update, trigger]
      const answer = await create({ ...request, input, model, text: { format } })
      expect(answer).toMatchObject({ object: 'response', status: 'completed', error: null })
      expect(answer.output).toEqual([sealed])
      expect(answer.usage).toMatchObject({ input_tokens: USED.input, output_tokens: USED.output })
      expect(lastText()).toContain('Write a summary of the conversation above')
      expect(lastText()).toContain('crimson')
      expect(lastText()).not.toContain('json_schema')
      const { body } = vendor.received.at(-1) as { body: Json }
      expect(body.tools).toHaveLength(1)
      expect(JSON.stringify(body.tool_choice)).toContain('none')
      const { amount, held, state } = await paid()
      expect({ amount, state }).toEqual({ amount: COST, state: 'settled' })
      // The words that ask for the summary are held too.
      expect(held).toBeGreaterThan((JSON.stringify(input).length + 300) * 1_000)
    })

    test('is one item in a stream, in the grammar of events', async () => {
      const { events, response, items } = await streamed({ ...request, model })
      expect(outlineOf(events)).toEqual(['0 + compaction', '0 - compaction', 'completed'])
      expect(items).toEqual([sealed])
      expect(response.usage).toMatchObject({ input_tokens: USED.input, output_tokens: USED.output })
      expect(JSON.stringify(events)).not.toContain('lamp is red')
      expect(await paid()).toMatchObject({ amount: COST, state: 'settled' })
      const { final } = await client.responses
        .stream({ ...request, model } as never)
        .finalResponse()
        .then((answer) => ({ final: answer.output }))
      expect(final).toEqual([sealed as never])
    })

    test('is continued by its id, twice, and by the item, on each model', async () => {
      for (const next of Object.keys(models)) {
        vendor.says = { text: 'The lamp is red.' }
        const { response: compacted } = await streamed({ ...request, model })
        vendor.says = { text: 'Green.' }
        const after = { model: next, input: 'And the roof?', previous_response_id: compacted.id }
        const answer = await create(after)
        expectContinued()
        expect(lastText()).toContain('And the roof?')
        expect((await paid()).held).toBeGreaterThan(lastText().length * 1_000)
        // The second one replaces the first.
        vendor.says = { text: 'The lamp is red. The roof is green.' }
        const again = await create({ model, input: [trigger], previous_response_id: answer.id })
        expect(lastText()).toContain('Green.')
        await create({ model: next, input: 'Thanks.', previous_response_id: again.id })
        expectContinued()
        expect(lastText().split('Summary of the conversation')).toHaveLength(2)
        expect(lastText()).not.toContain('Green.')
        await create({
          model: next,
          input: [...compacted.output, { role: 'user', content: 'And the roof?' }],
        })
        expect(lastText()).toContain(SUMMARY)
        expect(lastText()).toContain('And the roof?')
        await create({ model: next, input: [{ type: 'item_reference', id: compacted.output[0].id }] })
        expect(lastText()).toContain(SUMMARY)
      }
    })

    test('is continued in a conversation, and made in the background', async () => {
      const { id } = await client.conversations.create({ items: conversation.slice(1) as never })
      await create({ model, input: [trigger], conversation: id })
      const { data } = await client.conversations.items.list(id, { order: 'desc', limit: 1 })
      expect(data).toEqual([sealed as never])
      await create({ model, input: 'And the roof?', conversation: id })
      expect(lastText()).toContain(SUMMARY)
      expect(lastText()).not.toContain('crimson')
      const begun = await create({ ...request, model, background: true })
      let answer: Json = begun
      await waitFor(async () => {
        answer = await client.responses.retrieve(begun.id)
        return answer.status !== 'in_progress'
      })
      expect(answer).toMatchObject({ status: 'completed', output: [sealed] })
    })

    test('that was cut off adds no item, and its conversation continues without it', async () => {
      vendor.says = { text: 'The lamp', isCut: true }
      const whole = await create({ ...request, model })
      const { response } = await streamed({ ...request, model })
      for (const answer of [whole, response]) {
        expect(answer).toMatchObject({
          status: 'incomplete',
          incomplete_details: { reason: 'max_output_tokens' },
          output: [],
        })
        expect(answer.usage.output_tokens).toBe(USED.output)
        await create({ model, input: 'And the roof?', previous_response_id: answer.id })
        expect(lastText()).toContain('crimson')
        expect(lastText()).not.toContain('Write a summary')
      }
    })

    test('without a summary is an error, and gives nothing to continue from', async () => {
      vendor.says = { thought: 'A thought.', call: 'look' }
      const refused = await create({ ...request, model }).catch(({ status }) => status)
      expect(refused).toBe(502)
      const { response, error } = await streamed({ ...request, model })
      expect(response).toMatchObject({ status: 'failed', output: [], error: { code: 'server_error' } })
      expect(error.message).toContain('no summary')
    })

    test('is triggered only by the last item', async () => {
      const answer = await gateway.post('/v1/responses', {
        model,
        input: [trigger, { role: 'user', content: 'Hm?' }],
      })
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({
        error: { param: 'input[0]', message: expect.stringContaining('must be the last item') },
      })
      expect(vendor.received).toEqual([])
      const { output } = await client.responses.compact({ ...request, model } as never)
      expect(output.map(({ type }: Json) => type)).toEqual(['message', 'message', 'compaction'])
      expect(vendor.received).toHaveLength(1)
    })
  })
})
