// Responses in the background: made, kept and paid while nobody waits; looked at, followed from any event, cancelled.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { BackgroundResponses } from '../../src/responses/background'
import { insertBackground } from '../../src/responses/background-rows'
import { databaseKinds } from '../support/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const models = {
  'test-responses': {
    family: 'openai-responses',
    upstream: 'openai',
    upstreamModel: 'gpt-5-mini',
    reasoning: true,
    price,
  },
}
const request = { model: 'test-responses', background: true }

/** The error of a request; undefined if it was answered. */
async function refusal(asked: PromiseLike<unknown>): Promise<unknown> {
  try {
    await asked
    return undefined
  } catch (error) {
    return error
  }
}

for (const database of databaseKinds) {
  describe(`responses in the background on ${database}`, () => {
    let gateway: TestGateway
    let client: OpenAI
    beforeAll(async () => {
      gateway = await startTestGateway({ database, models, tokenDelayMs: 20 })
      client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: gateway.secret, maxRetries: 0 })
    })
    afterAll(() => gateway.close())

    async function ended(id: string) {
      let found = await client.responses.retrieve(id)
      await waitFor(async () => {
        found = await client.responses.retrieve(id)
        return found.status !== 'in_progress'
      })
      return found
    }
    const chargeCount = async () => (await gateway.charges()).length

    test('the answer comes at once, and the response is there when it has ended, paid', async () => {
      const charges = await chargeCount()
      const begun = await client.responses.create({ ...request, input: 'Hello', background: true })
      expect(begun).toMatchObject({ status: 'in_progress', background: true, store: true, output_text: '' })
      const found = await ended(begun.id)
      expect(found).toMatchObject({ id: begun.id, status: 'completed', background: true })
      expect(found.output_text).not.toBe('')
      expect(await chargeCount()).toBe(charges + 1)
      expect(await gateway.newestCharge()).toMatchObject({ state: 'settled', usage_source: 'upstream' })
      const next = await client.responses.create({
        model: 'test-responses',
        input: 'And then?',
        previous_response_id: begun.id,
      })
      expect(next.status).toBe('completed')
    })

    test('its events are followed from any of them, as often as wanted, also by who asked for them first', async () => {
      const stream = await client.responses.create({
        ...request,
        input: 'Hello',
        background: true,
        stream: true,
      })
      const first: OpenAI.Responses.ResponseStreamEvent[] = []
      for await (const event of stream) {
        first.push(event)
        // The caller leaves, and the response goes on.
        if (first.length === 4) break
      }
      const [created] = first
      if (created?.type !== 'response.created') throw new Error('not created')
      const { id } = created.response
      const read = async (after?: number) => {
        const events: OpenAI.Responses.ResponseStreamEvent[] = []
        const rest = await client.responses.retrieve(id, {
          stream: true,
          ...(after !== undefined && { starting_after: after }),
        })
        for await (const event of rest) events.push(event)
        return events
      }
      const [all, some] = await Promise.all([read(), read(3)])
      expect(all.map(({ sequence_number }) => sequence_number)).toEqual(all.map((_, number) => number))
      expect(all.slice(0, 4)).toEqual(first)
      expect(all.slice(4)).toEqual(some)
      expect(all.at(-1)).toMatchObject({ type: 'response.completed', response: { id } })
      expect(await read(all.length - 2)).toEqual(all.slice(-1))
    })

    test('a cancel stops the vendor and pays what was made; twice is as once', async () => {
      const begun = await client.responses.create({
        ...request,
        input: '[sandbox tokens=2000] Tell me a long story.',
        background: true,
      })
      const cancelled = await client.responses.cancel(begun.id)
      expect(cancelled).toMatchObject({ id: begun.id, status: 'cancelled' })
      expect(await client.responses.cancel(begun.id)).toMatchObject({ status: 'cancelled' })
      await waitFor(() => gateway.sandbox.calls.at(-1)?.aborted === true)
      expect(gateway.sandbox.calls.at(-1)?.aborted).toBe(true)
      await waitFor(async () => (await gateway.charges()).every(({ state }) => state !== 'held'))
      const events: string[] = []
      for await (const event of await client.responses.retrieve(begun.id, { stream: true }))
        events.push(event.type)
      expect(events.at(-1)).toBe('response.incomplete')
    })

    test("another account's is 404 for whatever is asked, and one that was not in the background is 400", async () => {
      const begun = await client.responses.create({ ...request, input: 'Hello', background: true })
      const { secret } = await gateway.makeKey(`stranger-${database}`, '1')
      const stranger = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: secret, maxRetries: 0 })
      expect(await refusal(stranger.responses.retrieve(begun.id))).toMatchObject({ status: 404 })
      expect(await refusal(stranger.responses.cancel(begun.id))).toMatchObject({ status: 404 })
      expect(await refusal(stranger.responses.delete(begun.id))).toMatchObject({ status: 404 })
      expect((await ended(begun.id)).status).toBe('completed')
      const usual = await client.responses.create({ model: 'test-responses', input: 'Hello' })
      expect(await refusal(client.responses.cancel(usual.id))).toMatchObject({ status: 400 })
      expect(await refusal(client.responses.retrieve(usual.id, { stream: true }))).toMatchObject({
        status: 400,
      })
    })

    test('a delete stops it and leaves nothing', async () => {
      const begun = await client.responses.create({
        ...request,
        input: '[sandbox tokens=2000] Tell me a long story.',
        background: true,
      })
      await client.responses.delete(begun.id)
      expect(await refusal(client.responses.retrieve(begun.id))).toMatchObject({ status: 404 })
      const { db } = gateway.server.world
      const parameters = [begun.id]
      expect(
        await db.query({ sql: 'select first from background_events where response = $1', parameters }),
      ).toEqual([])
    })

    test('what must be kept and may not, or has a key of its own, is refused before anything is held', async () => {
      const charges = await chargeCount()
      const body = { ...request, input: 'Hello', background: true }
      const refused = [
        refusal(client.responses.create({ ...body, store: false })),
        refusal(client.responses.create(body, { headers: { 'idempotency-key': 'one' } })),
      ]
      for (const each of refused) expect(await each).toMatchObject({ status: 400, param: 'background' })
      expect(await chargeCount()).toBe(charges)
    })

    test('one whose process is gone is ended by another', async () => {
      const { db, now, after } = gateway.server.world
      const answer = JSON.stringify({
        id: 'resp_lost',
        object: 'response',
        status: 'in_progress',
        output: [],
      })
      const times = { now: now(), leaseUntil: now(), expiresAt: now() + 60_000 }
      await db.batch([insertBackground(db, { id: 'resp_lost', account: 'alice', answer }, times)])
      const other = new BackgroundResponses({ db, now, after, log: () => {}, keepMs: () => 60_000 })
      await other.sweep()
      expect(await client.responses.retrieve('resp_lost')).toMatchObject({
        status: 'failed',
        error: { code: 'server_error' },
      })
      const events: string[] = []
      for await (const event of await client.responses.retrieve('resp_lost', { stream: true }))
        events.push(event.type)
      expect(events).toEqual(['response.failed'])
    })
  })
}
