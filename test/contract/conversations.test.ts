// Conversations through the whole gateway with the official client, on every database: their items, requests that
// continue them, and their owners.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { SandboxCall } from '../../sandbox'
import { sweepResponses } from '../../src/kept-responses/keep'
import { keptBytes } from '../../src/kept-responses/rows'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'

const price = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }
const models = {
  native: { family: 'openai-responses', upstream: 'openai', upstreamModel: 'gpt-5-mini', price },
  bridged: { family: 'openai-chat', upstream: 'openai', upstreamModel: 'local-model', price },
}
const DAY_MS = 86_400_000

/** The error of a call. The client's promises are not plain ones. */
async function refusalOf(call: PromiseLike<unknown>): Promise<object> {
  return await call.then(
    (value) => ({ value }),
    (error) => error,
  )
}

for (const database of databaseKinds) {
  describe(`conversations on ${database}`, () => {
    let gateway: TestGateway
    let client: OpenAI
    let aheadMs = 0
    const clientOf = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    beforeAll(async () => {
      gateway = await startTestGateway({ database, models, outside: { now: () => Date.now() + aheadMs } })
      client = clientOf(gateway.secret)
    })
    afterAll(() => gateway.close())

    const sent = () => (gateway.sandbox.calls.at(-1) as SandboxCall).body
    async function itemsOf(id: string) {
      const items = []
      for await (const item of client.conversations.items.list(id, { order: 'asc', limit: 3 }))
        items.push(item)
      return items
    }
    const countedBytes = async () => {
      const { db } = gateway.server.world
      const counted = await keptBytes(db, 'alice')
      const [row] = await db.query({
        sql: `select (select coalesce(sum(bytes), 0) from responses where account = 'alice') +
          (select coalesce(sum(bytes), 0) from conversations where account = 'alice') as bytes`,
      })
      const [items] = await db.query({
        sql: `select count(*) as wrong from conversations where items <>
          (select count(*) from conversation_items where conversation = conversations.id)`,
      })
      expect(Number(items?.wrong)).toBe(0)
      expect(Number(row?.bytes)).toBe(counted)
      return counted
    }

    test('are created, read, changed and permanently deleted', async () => {
      const before = await countedBytes()
      const empty = await client.conversations.create()
      expect(empty).toMatchObject({ object: 'conversation', metadata: {} })
      expect(empty.id).toMatch(/^conv_[0-9a-f]{32}$/)
      const made = await client.conversations.create({
        metadata: { topic: 'travel' },
        items: [{ role: 'user', content: 'Hello' }],
      })
      expect(await client.conversations.retrieve(made.id)).toEqual(made)
      const changed = await client.conversations.update(made.id, { metadata: { topic: 'food and drinks' } })
      expect(changed).toEqual({ ...made, metadata: { topic: 'food and drinks' } })
      expect(await client.conversations.retrieve(made.id)).toEqual(changed)
      await countedBytes()
      for (const { id } of [empty, made]) {
        const deleted = await client.conversations.delete(id)
        expect(deleted).toEqual({ id, object: 'conversation.deleted', deleted: true })
        const gone = { status: 404, code: 'conversation_not_found' }
        expect(await refusalOf(client.conversations.retrieve(id))).toMatchObject(gone)
        expect(await refusalOf(client.conversations.delete(id))).toMatchObject(gone)
      }
      expect(await countedBytes()).toBe(before)
    })

    test('items are added, listed in pages in both orders, read and deleted', async () => {
      const { id } = await client.conversations.create({ items: [{ role: 'user', content: 'One' }] })
      const added = await client.conversations.items.create(id, {
        items: [
          { role: 'assistant', content: 'Two' },
          { type: 'function_call', call_id: 'call_1', name: 'look', arguments: '{}' },
          { type: 'function_call_output', call_id: 'call_1', output: 'Nothing' },
          { role: 'user', content: [{ type: 'input_text', text: 'Three' }] },
        ],
      })
      expect(added.data.map(({ type }) => type)).toEqual([
        'message',
        'function_call',
        'function_call_output',
        'message',
      ])
      const items = await itemsOf(id)
      expect(items.slice(1)).toEqual(added.data)
      expect(items[0]).toMatchObject({
        type: 'message',
        role: 'user',
        status: 'completed',
        content: [{ type: 'input_text', text: 'One' }],
      })
      const newest = await client.conversations.items.list(id, { limit: 2 })
      expect(newest.data).toEqual(items.slice(-2).reverse())
      expect(newest.has_more).toBe(true)
      const itemId = String(added.data[0]?.id)
      expect(await client.conversations.items.retrieve(itemId, { conversation_id: id })).toEqual(
        added.data[0] as never,
      )
      expect(await client.conversations.items.delete(itemId, { conversation_id: id })).toMatchObject({ id })
      const gone = client.conversations.items.retrieve(itemId, { conversation_id: id })
      expect(await refusalOf(gone)).toMatchObject({ status: 404, code: 'item_not_found' })
      expect((await itemsOf(id)).length).toBe(4)
      await countedBytes()
    })

    for (const model of ['native', 'bridged']) {
      test(`a request continues a conversation and is appended with its answer: ${model}`, async () => {
        const { id } = await client.conversations.create({
          items: [{ role: 'user', content: 'x'.repeat(20_000) }],
        })
        const first = await client.responses.create({ model, input: 'Second', conversation: id })
        expect(first.conversation).toEqual({ id })
        expect(sent()).toContain('x'.repeat(20_000))
        expect(sent()).not.toContain(id)
        // At a nano-dollar per thousandth of a token, the hold covers the whole conversation.
        expect(Number((await gateway.newestCharge())?.held)).toBeGreaterThan(20_000 * 1_000)
        expect(await client.responses.retrieve(first.id)).toMatchObject({ conversation: { id } })
        const stream = client.responses.stream({ model, input: 'Third', conversation: { id } })
        const last = await stream.finalResponse()
        expect(last.conversation).toEqual({ id })
        expect(sent()).toContain('Second')
        const items = await itemsOf(id)
        const outputIds = [...first.output, ...last.output].map((item) => item.id as string)
        expect(items.length).toBe(3 + outputIds.length)
        expect(items.map((item) => item.id)).toEqual(expect.arrayContaining(outputIds))
        expect(JSON.stringify(items.at(1 + 1 + first.output.length))).toContain('Third')
        const { input_tokens: tokens } = await client.responses.inputTokens.count({ model, conversation: id })
        expect(tokens).toBeGreaterThan(100)
        await countedBytes()
      })
    }

    test('a background request is appended when it has ended', async () => {
      const { id } = await client.conversations.create()
      let response = await client.responses.create({
        model: 'bridged',
        input: 'Hello',
        conversation: id,
        background: true,
      })
      while (response.status === 'in_progress' || response.status === 'queued') {
        await Bun.sleep(50)
        response = await client.responses.retrieve(response.id)
      }
      expect(response).toMatchObject({ status: 'completed', conversation: { id } })
      expect((await itemsOf(id)).length).toBe(1 + response.output.length)
    })

    test('concurrent requests are all appended, each with its answer', async () => {
      const { id } = await client.conversations.create()
      const asked = Array.from({ length: 8 }, (_, index) => `Question ${index}`)
      const answers = await Promise.all(
        asked.map((input) => client.responses.create({ model: 'native', input, conversation: id })),
      )
      const items = await itemsOf(id)
      expect(items.length).toBe(answers.reduce((sum, { output }) => sum + 1 + output.length, 0))
      for (const [index, input] of asked.entries()) {
        const place = items.findIndex((item) => JSON.stringify(item).includes(input))
        expect(items[place + 1]?.id).toBe(answers[index]?.output[0]?.id as string)
      }
      await countedBytes()
    })

    test('a failed request appends nothing, and a request is answered even if its conversation is deleted meanwhile', async () => {
      const { id } = await client.conversations.create()
      const failed = client.responses.create({
        model: 'native',
        input: '[sandbox status=500] x',
        conversation: id,
      })
      expect(await refusalOf(failed)).toMatchObject({ status: expect.any(Number) })
      expect(await itemsOf(id)).toEqual([])
      const stream = await client.responses.create({
        model: 'native',
        input: 'Hello',
        conversation: id,
        stream: true,
      })
      await client.conversations.delete(id)
      const types = []
      for await (const { type } of stream) types.push(type)
      expect(types.at(-1)).toBe('response.completed')
      const [left] = await gateway.server.world.db.query({
        sql: 'select count(*) as items from conversation_items where conversation = $1',
        parameters: [id],
      })
      expect(Number(left?.items)).toBe(0)
      await countedBytes()
    })

    test('a broken, abandoned or canceled answer appends nothing, and a replay appends nothing again', async () => {
      const { id } = await client.conversations.create({ items: [{ role: 'user', content: 'One' }] })
      const broken = '[sandbox cut_after=4 tokens=40] Two'
      const slow = '[sandbox tokens=400 token_delay_ms=20] Two'
      for (const model of ['native', 'bridged']) {
        const body = { model, conversation: id, stream: true }
        const cut = await gateway.post('/v1/responses', { ...body, input: broken })
        expect(await cut.text()).toContain('event: response.failed')
        const left = await gateway.post('/v1/responses', { ...body, input: slow })
        await left.body?.cancel()
        const background = { model, conversation: id, input: slow, background: true }
        const { id: begun } = await client.responses.create(background)
        await client.responses.cancel(begun)
        await waitFor(async () => (await client.responses.retrieve(begun)).status !== 'in_progress')
        expect(await client.responses.retrieve(begun)).toMatchObject({ status: 'cancelled' })
      }
      await waitFor(async () => (await gateway.balance()).heldNano === 0)
      expect((await itemsOf(id)).length).toBe(1)
      for (const stream of [false, true]) {
        const before = (await itemsOf(id)).length
        const headers = { 'idempotency-key': `append-${database}-${stream}` }
        const body = { model: 'bridged', conversation: id, input: `Two ${stream}`, stream }
        for (const replayed of [null, 'true']) {
          const answered = await gateway.post('/v1/responses', body, headers)
          expect(answered.headers.get('idempotent-replayed')).toBe(replayed)
          await answered.text()
          expect((await itemsOf(id)).length).toBe(before + 2)
        }
      }
      await countedBytes()
    })

    test('those of another account are not found', async () => {
      const { id } = await client.conversations.create({ items: [{ role: 'user', content: 'Secret' }] })
      const [item] = await itemsOf(id)
      const other = clientOf((await gateway.makeKey(`other-${database}`, '10')).secret)
      const itemId = String(item?.id)
      const attempts = [
        () => other.conversations.retrieve(id),
        () => other.conversations.update(id, { metadata: {} }),
        () => other.conversations.delete(id),
        () => other.conversations.items.list(id),
        () => other.conversations.items.create(id, { items: [{ role: 'user', content: 'x' }] }),
        () => other.conversations.items.retrieve(itemId, { conversation_id: id }),
        () => other.conversations.items.delete(itemId, { conversation_id: id }),
        () => other.responses.create({ model: 'native', input: 'x', conversation: id }),
      ]
      for (const attempt of attempts) {
        const refused = { status: 404, code: 'conversation_not_found' }
        expect(await refusalOf(attempt())).toMatchObject(refused)
      }
      expect(await itemsOf(id)).toEqual([item as never])
    })

    test('an unsupported request is 400 with its field', async () => {
      const { id } = await client.conversations.create({
        items: [{ role: 'user', content: 'x', id: 'msg_own' } as never],
      })
      const ask = (body: object) =>
        client.responses.create({ model: 'native', input: 'x', conversation: id, ...body } as never)
      const kept = await client.responses.create({ model: 'native', input: 'x' })
      const cases: [() => Promise<unknown>, string][] = [
        [() => ask({ store: false }), 'conversation'],
        [() => ask({ previous_response_id: kept.id }), 'conversation'],
        [() => ask({ conversation: { name: id } }), 'conversation'],
        [() => ask({ input: [{ role: 'user', content: 'x', id: 'msg_own' }] }), 'input[0].id'],
        [() => client.conversations.create({ metadata: { a: 1 } as never }), 'metadata'],
        [
          () => client.conversations.create({ items: Array(21).fill({ role: 'user', content: 'x' }) }),
          'items',
        ],
        [() => client.conversations.items.create(id, { items: [{} as never] }), 'items[0]'],
      ]
      for (const [attempt, param] of cases) {
        expect(await refusalOf(attempt())).toMatchObject({ status: 400, param })
      }
      await client.conversations.items.create(id, { items: [{ type: 'nonsense' } as never] })
      expect(await refusalOf(ask({ model: 'bridged' }))).toMatchObject({ status: 400, param: 'conversation' })
    })

    test('a conversation that is too long is rejected, and one that is unused for too long is removed', async () => {
      const { db } = gateway.server.world
      const { id } = await client.conversations.create({ items: [{ role: 'user', content: 'Hello' }] })
      const set = (items: number) =>
        db.batch([{ sql: 'update conversations set items = $2 where id = $1', parameters: [id, items] }])
      await set(16_385)
      const tooLong = client.responses.create({ model: 'native', input: 'x', conversation: id })
      expect(await refusalOf(tooLong)).toMatchObject({ status: 400, code: 'conversation_too_long' })
      await set(1)
      aheadMs += 20 * DAY_MS
      await client.responses.create({ model: 'native', input: 'x', conversation: id })
      aheadMs += 20 * DAY_MS
      await client.conversations.retrieve(id)
      aheadMs += 20 * DAY_MS
      expect(await refusalOf(client.conversations.retrieve(id))).toMatchObject({ status: 404 })
      await sweepResponses(gateway.server.world)
      expect(await db.query({ sql: 'select id from conversations' })).toEqual([])
      expect(await db.query({ sql: 'select id from conversation_items' })).toEqual([])
      expect(await keptBytes(db, 'alice')).toBe(0)
      aheadMs = 0
    })
  })
}

test('a gateway that does not keep responses rejects them with the reason', async () => {
  const gateway = await startTestGateway({ models, config: { responses: { keep: 'off' } } })
  const client = new OpenAI({ apiKey: gateway.secret, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const made = client.conversations.create()
  expect(await refusalOf(made)).toMatchObject({ status: 400, code: 'unsupported_endpoint' })
  const asked = client.responses.create({ model: 'native', input: 'x', conversation: 'conv_1' })
  expect(await refusalOf(asked)).toMatchObject({ status: 400, param: 'conversation' })
  await gateway.close()
})

for (const database of databaseKinds) {
  test(`above an account's limit, the least recently used are removed, but not the one in use: ${database}`, async () => {
    const config = { responses: { maxBytes: '100KB' } }
    const gateway = await startTestGateway({ database, models, config })
    const client = new OpenAI({ apiKey: gateway.secret, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
    const items = [{ role: 'user' as const, content: 'x'.repeat(40_000) }]
    const used = await client.conversations.create({ items })
    const idle = await client.conversations.create({ items })
    await client.conversations.items.create(used.id, { items })
    expect(await client.conversations.retrieve(used.id)).toEqual(used)
    expect(await refusalOf(client.conversations.retrieve(idle.id))).toMatchObject({ status: 404 })
    expect(await keptBytes(gateway.server.world.db, 'alice')).toBeLessThanOrEqual(100_000)
    await gateway.close()
  })
}
