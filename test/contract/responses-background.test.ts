// Background responses: created, kept and charged while no caller waits; read, followed from any event, and canceled.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import { tryApply } from '../../src/db/db'
import { BackgroundResponses } from '../../src/kept-responses/background'
import {
  deleteBackground,
  endBackground,
  endOverdue,
  eventsAfter,
  insertBackground,
  insertEvents,
  removeUnfinished,
} from '../../src/kept-responses/background-rows'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { inTime } from '../support/in-time'
import { closeNodes, startNodes } from '../support/nodes'

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
/** How long a cancel waits for the end. */
const CANCEL_MS = 10_000

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
        // The caller disconnects, and the response continues.
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

    test('a cancel stops the vendor and pays for the part made so far; a second one changes nothing', async () => {
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

    test('a request that must be kept but may not, or has its own key, is rejected before anything is held', async () => {
      const charges = await chargeCount()
      const body = { ...request, input: 'Hello', background: true }
      const refused = [
        refusal(client.responses.create({ ...body, store: false })),
        refusal(client.responses.create(body, { headers: { 'idempotency-key': 'one' } })),
      ]
      for (const each of refused) expect(await each).toMatchObject({ status: 400, param: 'background' })
      expect(await chargeCount()).toBe(charges)
    })

    const rowOf = async (id: string) => {
      const sql = 'select has_ended, answer from background_responses where id = $1'
      const [row] = await gateway.server.world.db.query({ sql, parameters: [id] })
      return row && { hasEnded: row.has_ended === 1, answer: JSON.parse(row.answer as string) }
    }
    /** Begins a response, and does something just before its charge ends, and just after. */
    async function aroundEnd(around: {
      before?(id: string): Promise<unknown>
      after?(id: string): Promise<unknown>
    }) {
      const { db } = gateway.server.world
      const move = db.move.bind(db)
      const begun = Promise.withResolvers<string>()
      const ended = Promise.withResolvers<void>()
      let isFirst = true
      db.move = async (movement) => {
        if (movement.kind !== 'end' || !isFirst) return move(movement)
        isFirst = false
        const id = await begun.promise
        await around.before?.(id)
        const result = await move(movement)
        await around.after?.(id)
        ended.resolve()
        return result
      }
      const { id } = await client.responses.create({ ...request, input: 'Hello', background: true })
      begun.resolve(id)
      await ended.promise
      db.move = move
      await waitFor(async () => (await gateway.newestCharge())?.state !== 'held')
      return { id, charge: await gateway.newestCharge() }
    }

    test('a response and its charge end in one transaction: a charged response is never shown as failed', async () => {
      const atOnce: unknown[] = []
      const { id, charge } = await aroundEnd({ after: async (id) => atOnce.push(await rowOf(id)) })
      expect(charge).toMatchObject({ state: 'settled' })
      expect(atOnce).toMatchObject([{ hasEnded: true, answer: { status: 'completed' } }])
      // The events that lead to the end are there with it.
      const types: string[] = []
      for await (const { type } of await client.responses.retrieve(id, { stream: true })) types.push(type)
      expect(types.slice(-3)).toEqual([
        'response.content_part.done',
        'response.output_item.done',
        'response.completed',
      ])
    })

    test('a background response that another process has ended is not charged, and stays failed', async () => {
      const { db, now, after } = gateway.server.world
      const other = new BackgroundResponses({ db, now: () => now() + 120_000, after, log: () => {} })
      const { id, charge } = await aroundEnd({ before: () => other.sweep() })
      expect(charge).toMatchObject({ state: 'released', amount: 0 })
      await waitFor(async () => (await gateway.newestLogged())?.id === charge?.id)
      expect(await gateway.newestLogged()).toMatchObject({ amount: 0, error_code: 'server_error' })
      expect(gateway.log.at(-1)).toMatchObject({ event: 'background_lost', fields: { response: id } })
      const events: string[] = []
      for await (const event of await client.responses.retrieve(id, { stream: true })) events.push(event.type)
      expect(events.at(-1)).toBe('response.failed')
      expect(events).not.toContain('response.completed')
      expect(await client.responses.retrieve(id)).toMatchObject({ status: 'failed' })
      const kept = { model: 'test-responses', input: 'And then?', previous_response_id: id }
      expect(await refusal(client.responses.create(kept))).toMatchObject({
        code: 'previous_response_not_found',
      })
    })

    test('a response deleted before its end is paid, and not kept', async () => {
      const { db } = gateway.server.world
      const { id, charge } = await aroundEnd({ before: (id) => deleteBackground(db, 'alice', id) })
      expect(charge).toMatchObject({ state: 'settled' })
      expect(Number(charge?.amount)).toBeGreaterThan(0)
      expect(await refusal(client.responses.retrieve(id))).toMatchObject({ status: 404 })
    })

    test('a background response whose row cannot be written is not sent to a vendor, and ends once', async () => {
      const { db } = gateway.server.world
      const rename = (from: string, to: string) => db.batch([{ sql: `alter table ${from} rename to ${to}` }])
      const [calls, logged] = [gateway.sandbox.calls.length, (await gateway.requestLog()).length]
      await rename('background_responses', 'elsewhere')
      const failure = await refusal(client.responses.create({ ...request, input: 'Hello', background: true }))
      await rename('elsewhere', 'background_responses')
      expect(failure).toMatchObject({ status: 500 })
      expect(gateway.sandbox.calls.length).toBe(calls)
      expect((await gateway.requestLog()).length).toBe(logged + 1)
      expect((await gateway.charges()).filter(({ state }) => state === 'held')).toEqual([])
    })

    test('a background response that the vendor rejects leaves nothing', async () => {
      const count = async () =>
        (await gateway.server.world.db.query({ sql: 'select id from background_responses' })).length
      const rows = await count()
      const refused = { ...request, input: '[sandbox status=400]', background: true }
      expect(await refusal(client.responses.create(refused))).toMatchObject({ status: 400 })
      expect(await count()).toBe(rows)
    })

    test('no statement changes one that has ended, and none ends one whose lease was renewed', async () => {
      const { db, now } = gateway.server.world
      const times = { now: now(), leaseUntil: now() + 30_000, expiresAt: now() + 60_000 }
      await db.batch([insertBackground(db, { id: 'resp_end', account: 'alice', answer: '{}' }, times)])
      expect(await tryApply(db, [endOverdue(db, { id: 'resp_end', answer: '{"a":1}', now: now() })])).toBe(
        false,
      )
      expect(await tryApply(db, [endBackground(db, 'resp_end', '{"a":2}')])).toBe(true)
      for (const late of [
        endBackground(db, 'resp_end', '{"a":3}'),
        endOverdue(db, { id: 'resp_end', answer: '{"a":4}', now: now() + 90_000 }),
        removeUnfinished('resp_end'),
        insertEvents(db, 'resp_end', { first: 0, last: 0, text: 'late' }),
      ])
        await tryApply(db, [late])
      expect(await rowOf('resp_end')).toEqual({ hasEnded: true, answer: { a: 2 } })
      expect(await eventsAfter(db, 'resp_end', -1)).toEqual([])
    })

    test('one that runs past its lease keeps it, and a cancel at another node stops it', () =>
      inTime(CANCEL_MS, async (part) => {
        let aheadMs = 0
        const now = () => Date.now() + aheadMs
        const nodes = await startNodes(database, 2, { models, tokenDelayMs: 20, outside: { now } })
        const [maker, second = maker] = nodes
        const { db, after } = maker.server.world
        const at = ({ url }: TestGateway) =>
          new OpenAI({ baseURL: `${url}/v1`, apiKey: maker.secret, maxRetries: 0 })
        const { id } = await at(maker).responses.create({
          ...request,
          input: '[sandbox tokens=4000] Tell me a very long story.',
          background: true,
        })
        const other = new BackgroundResponses({ db, now, after, log: () => {} })
        const leaseMs = async () => {
          const sql = 'select lease_until from background_responses where id = $1'
          const [row] = await db.query({ sql, parameters: [id] })
          return Number(row?.lease_until) - now()
        }
        // The first lease covers the time that the vendor may take to begin.
        await waitFor(async () => (await leaseMs()) <= 30_000)
        for (let passed = 0; passed < 3; passed++) {
          aheadMs += 29_000
          await waitFor(async () => (await leaseMs()) > 20_000)
          await other.sweep()
          expect(await at(second).responses.retrieve(id)).toMatchObject({ status: 'in_progress' })
        }
        part.begin()
        expect(await at(second).responses.cancel(id)).toMatchObject({ id, status: 'cancelled' })
        part.end()
        await waitFor(() => maker.sandbox.calls.at(-1)?.aborted === true)
        await waitFor(async () => (await maker.newestCharge())?.state === 'settled')
        await closeNodes(nodes)
      }))

    test('a background response whose process has ended is ended by another process', async () => {
      const { db, now, after } = gateway.server.world
      const answer = JSON.stringify({
        id: 'resp_lost',
        object: 'response',
        status: 'in_progress',
        output: [],
      })
      const times = { now: now(), leaseUntil: now(), expiresAt: now() + 60_000 }
      await db.batch([insertBackground(db, { id: 'resp_lost', account: 'alice', answer }, times)])
      const other = new BackgroundResponses({ db, now, after, log: () => {} })
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
