// Kept responses, as callers see them: continued, referenced item by item, read, listed and deleted. The vendor always
// gets the whole conversation, and the gateway never asks it to keep one.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { SandboxCall } from '../../sandbox'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'

type Fields = Record<string, unknown>
type Answer = Fields & { id: string; output: Fields[] }
type Page = { data: Fields[]; last_id: string; has_more: boolean }

const models = {
  'test-responses': {
    family: 'openai-responses',
    upstream: 'openai',
    upstreamModel: 'gpt-5-mini',
    reasoning: true,
    price: { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' },
  },
}

for (const database of databaseKinds) {
  describe(`kept responses over HTTP on ${database}`, () => {
    let gateway: TestGateway
    beforeAll(async () => {
      gateway = await startTestGateway({ database, models })
    })
    afterAll(() => gateway.close())

    async function create(body: Fields): Promise<Answer> {
      const response = await gateway.post('/v1/responses', { model: 'test-responses', ...body })
      expect({ status: response.status, body: response.ok ? '' : await response.text() }).toEqual({
        status: 200,
        body: '',
      })
      return (await response.json()) as Answer
    }
    const ask = (method: string, path: string, secret = gateway.secret) =>
      fetch(`${gateway.url}/v1/responses${path}`, {
        method,
        headers: { authorization: `Bearer ${secret}` },
      })
    const sent = () => {
      const { body } = gateway.sandbox.calls.at(-1) as SandboxCall
      return JSON.parse(body)
    }

    test('a response is returned as it was answered, and permanently deleted', async () => {
      const made = await create({ input: 'Hello' })
      expect(made).toMatchObject({ object: 'response', status: 'completed', store: true })
      expect(made.id).toMatch(/^resp_[0-9a-f]{32}$/)
      expect(await (await ask('GET', `/${made.id}`)).json()).toEqual(made)
      const deleted = await ask('DELETE', `/${made.id}`)
      expect(await deleted.json()).toEqual({ id: made.id, object: 'response', deleted: true })
      for (const method of ['GET', 'DELETE']) {
        const gone = await ask(method, `/${made.id}`)
        expect(gone.status).toBe(404)
        expect(await gone.json()).toMatchObject({ error: { code: 'response_not_found' } })
      }
    })

    test('a streamed response can be continued as soon as its end is read', async () => {
      const response = await gateway.post('/v1/responses', {
        model: 'test-responses',
        input: 'One',
        stream: true,
      })
      const events = (await response.text())
        .split('\n\n')
        .flatMap((event) =>
          event.match(/^data: (\{.*)/m)?.[1]
            ? [JSON.parse(event.match(/^data: (\{.*)/m)?.[1] as string)]
            : [],
        )
      const last = events.at(-1)
      expect(last.type).toBe('response.completed')
      const { id, output } = last.response
      expect(await (await ask('GET', `/${id}`)).json()).toEqual(last.response)
      await create({ input: 'Two', previous_response_id: id })
      const { input, previous_response_id: previous, store } = sent()
      expect(store).toBe(false)
      expect(previous).toBeUndefined()
      expect(JSON.stringify(input)).toContain('One')
      expect(JSON.stringify(input)).toContain('Two')
      expect(input.length).toBe(2 + output.length)
    })

    test('instructions are not inherited, and the hold counts the whole chain', async () => {
      const long = 'x'.repeat(50_000)
      const first = await create({ input: long, instructions: 'Be brief.' })
      const second = await create({ input: 'Two', previous_response_id: first.id })
      expect(second.previous_response_id).toBe(first.id)
      expect(second.instructions).toBeNull()
      expect(sent().instructions ?? null).toBeNull()
      const charge = await gateway.newestCharge()
      // A nano-dollar for a thousandth of a token: the text of the first request is held again.
      expect(Number(charge?.held)).toBeGreaterThan(50_000 * 1_000)
    })

    test('items are named by their ids, as the Vercel AI SDK does in each loop of tools', async () => {
      const first = await create({ input: 'One' })
      const [item] = first.output
      await create({
        input: [
          { role: 'user', content: 'One' },
          ...first.output.map(({ id }) => ({ type: 'item_reference', id })),
          { role: 'user', content: 'Two' },
        ],
      })
      expect(sent().input[1]).toMatchObject({ type: item?.type as string })
      const missing = await gateway.post('/v1/responses', {
        model: 'test-responses',
        input: [{ type: 'item_reference', id: 'rs_unknown' }],
      })
      expect(missing.status).toBe(404)
      expect(await missing.json()).toMatchObject({
        error: { message: expect.stringContaining("Item with id 'rs_unknown' not found") },
      })
    })

    test('with store: false nothing is written, and a request that continues it is rejected', async () => {
      const rows = () => gateway.server.world.db.query({ sql: 'select id from responses' })
      const before = await rows()
      const made = await create({ input: 'Secret', store: false })
      expect(made.store).toBe(false)
      expect(await rows()).toEqual(before)
      expect((await ask('GET', `/${made.id}`)).status).toBe(404)
      const next = await gateway.post('/v1/responses', {
        model: 'test-responses',
        input: 'Two',
        previous_response_id: made.id,
      })
      expect(next.status).toBe(400)
      expect(await next.json()).toMatchObject({
        error: { code: 'previous_response_not_found', param: 'previous_response_id' },
      })
    })

    test("another account's ids are 404 for every operation", async () => {
      const made = await create({ input: 'Secret' })
      const other = (await gateway.makeKey(`other-${database}`, '1')).secret
      for (const [method, path] of [
        ['GET', ''],
        ['GET', '/input_items'],
        ['DELETE', ''],
      ] as const) {
        expect((await ask(method, `/${made.id}${path}`, other)).status).toBe(404)
      }
      const headers = { authorization: `Bearer ${other}` }
      const body = { model: 'test-responses', input: 'Two', previous_response_id: made.id }
      const continued = await gateway.post('/v1/responses', body, headers)
      expect(continued.status).toBe(400)
      const reference = { model: 'test-responses', input: [{ id: made.output[0]?.id }] }
      expect((await gateway.post('/v1/responses', reference, headers)).status).toBe(404)
      expect((await ask('GET', `/${made.id}`)).status).toBe(200)
    })

    test('input items are the whole conversation by pages, the newest first', async () => {
      const first = await create({ input: 'One' })
      const second = await create({ input: 'Two', previous_response_id: first.id })
      const whole = (await (await ask('GET', `/${second.id}/input_items?order=asc`)).json()) as Page
      expect(whole).toMatchObject({ object: 'list', has_more: false })
      expect(whole.data.length).toBe(2 + first.output.length)
      expect(whole.data.every(({ id }: Fields) => typeof id === 'string')).toBe(true)
      const seen: unknown[] = []
      let after = ''
      for (let more = true; more; ) {
        const page = (await (await ask('GET', `/${second.id}/input_items?limit=1${after}`)).json()) as Page
        seen.push(...page.data)
        after = `&after=${page.last_id}`
        more = page.has_more
      }
      expect(seen).toEqual(whole.data.toReversed())
      for (const wrong of ['limit=0', 'limit=101', 'order=up', 'after=nothing'])
        expect((await ask('GET', `/${second.id}/input_items?${wrong}`)).status).toBe(400)
    })

    test('a request that fails keeps nothing', async () => {
      const rows = () => gateway.server.world.db.query({ sql: 'select id from responses' })
      const before = await rows()
      const response = await gateway.post('/v1/responses', {
        model: 'test-responses',
        input: '[sandbox status=400]',
      })
      expect(response.status).toBeGreaterThanOrEqual(400)
      expect(await rows()).toEqual(before)
    })
  })
}

test('with keep: off every request is as with store: false', async () => {
  const gateway = await startTestGateway({ models, config: { responses: { keep: 'off' } } })
  const body = { model: 'test-responses', input: 'Hello', store: true }
  const made = (await (await gateway.post('/v1/responses', body)).json()) as Answer
  expect(made.store).toBe(false)
  expect(await gateway.server.world.db.query({ sql: 'select id from responses' })).toEqual([])
  await gateway.close()
})

test('a connection by WebSocket is rejected at once with 426, on a path that is served', async () => {
  const gateway = await startTestGateway({ models })
  const headers = { upgrade: 'websocket', connection: 'upgrade', authorization: `Bearer ${gateway.secret}` }
  const ask = (path: string) => fetch(`${gateway.url}${path}`, { headers })
  const refused = await ask('/v1/responses')
  expect(refused.status).toBe(426)
  expect(await refused.json()).toMatchObject({ error: { code: 'upgrade_required' } })
  expect((await ask('/v1/nothing')).status).toBe(404)
  await gateway.close()
})
