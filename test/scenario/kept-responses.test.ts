// Kept responses on every database: chains, items by their ids, the limits, and their owners.

import { afterAll, describe, expect, test } from 'bun:test'
import { responseLimitsOf } from '../../src/config/responses'
import { apply, type Db } from '../../src/db/db'
import type { Item } from '../../src/kept-responses/content'
import { keepStatements, makeRoomForResponse, sweepResponses } from '../../src/kept-responses/keep'
import { recall } from '../../src/kept-responses/recall'
import { deleteResponse, findChain, keptBytes, MAX_CHAIN_LENGTH } from '../../src/kept-responses/rows'
import { databaseKinds, openTestDatabase } from '../support/databases/databases'
import { isWholeRun } from '../support/random'
import { rejection } from '../support/rejection'

const DAY_MS = 86_400_000
const opened: Db[] = []
afterAll(async () => {
  for (const db of opened) await db.close()
})

/** A store on its own database, with a clock that a test sets. */
async function openStore(kind: Db['kind'], limits = {}) {
  const db = await openTestDatabase(kind)
  opened.push(db)
  const clock = { now: 1_000_000 }
  const world = {
    db,
    pendingEnds: { count: 0 },
    now: () => clock.now,
    keptResponses: responseLimitsOf(limits),
  }
  let made = 0
  async function keep(input: readonly Item[], previousId: string | null = null, account = 'acme') {
    const id = `resp_${String(made++).padStart(32, '0')}`
    const output = [{ type: 'message', id: `msg_of_${id}`, role: 'assistant', content: [] }]
    await apply(db, keepStatements(world, { id, account, previousId, input, answer: { id, output } }))
    return id
  }
  return { db, clock, world, keep }
}

const say = (text: string): Item => ({ role: 'user', content: text })
const textsOf = (items: readonly Item[] = []) =>
  items.map(({ content, id }) => ((content as unknown[] | undefined)?.length ? content : id))

for (const kind of databaseKinds) {
  describe(`kept responses on ${kind}`, () => {
    test('a chain is the whole conversation, the oldest first', async () => {
      const { world, keep } = await openStore(kind)
      const first = await keep([say('one')])
      const second = await keep([say('two')], first)
      const { input, addedBytes } = await recall(world, 'acme', {
        previous_response_id: second,
        input: 'three',
      })
      expect(textsOf(input)).toEqual([
        'one',
        `msg_of_${first}`,
        'two',
        `msg_of_${second}`,
        [{ type: 'input_text', text: 'three' }],
      ])
      expect(addedBytes).toBe(await keptBytes(world.db, 'acme'))
    })

    test('items named by id are resolved, from outputs and inputs', async () => {
      const { world, keep } = await openStore(kind)
      const first = await keep([{ ...say('one'), id: 'msg_mine' }])
      const asked = [{ type: 'item_reference', id: 'msg_mine' }, { id: `msg_of_${first}` }, say('two')]
      const { input } = await recall(world, 'acme', { input: asked })
      expect(textsOf(input)).toEqual(['one', `msg_of_${first}`, 'two'])
      // A reference that was kept is looked up again when its response is continued.
      const second = await keep(asked, null)
      const { input: whole } = await recall(world, 'acme', { previous_response_id: second, input: [] })
      expect(textsOf(whole)).toEqual(['one', `msg_of_${first}`, 'two', `msg_of_${second}`])
    })

    test('all items are found, even if they exceed one query', async () => {
      const { world, keep } = await openStore(kind)
      const ids: string[] = []
      for (let count = 0; count < 70; count++) ids.push(`msg_of_${await keep([say('x')])}`)
      const { input } = await recall(world, 'acme', {
        input: ids.map((id) => ({ type: 'item_reference', id })),
      })
      expect(input?.map(({ id }) => id)).toEqual(ids)
    })

    test('responses and items of another account are reported as not found', async () => {
      const { world, keep } = await openStore(kind)
      const id = await keep([say('secret')])
      const errors = []
      for (const asked of [id, 'resp_unknown']) {
        errors.push(await recall(world, 'other', { previous_response_id: asked }).catch(String))
      }
      const [theirs, unknown] = errors.map((error) => String(error).replace(/'resp_\w+'/, 'ID'))
      expect(theirs).toBe(unknown as string)
      const item = recall(world, 'other', { input: [{ type: 'item_reference', id: `msg_of_${id}` }] })
      expect(await rejection(item)).toMatchObject({ status: 404, code: 'item_not_found' })
      const head = (await findChain(world.db, 'acme', id, 0))[0]
      if (!head) throw new Error('not kept')
      expect(await deleteResponse(world.db, { ...head, account: 'other' })).toBe(false)
      expect(await findChain(world.db, 'other', id, 0)).toEqual([])
    })

    test('a response is deleted once with its items, and a request that continues it is refused', async () => {
      const { world, keep } = await openStore(kind)
      const first = await keep([say('one')])
      const second = await keep([say('two')], first)
      const head = (await findChain(world.db, 'acme', first, 0))[0]
      if (!head) throw new Error('not kept')
      const deleted = await Promise.all([deleteResponse(world.db, head), deleteResponse(world.db, head)])
      expect(deleted.sort()).toEqual([false, true])
      expect(await rejection(recall(world, 'acme', { previous_response_id: second }))).toMatchObject({
        status: 400,
        code: 'previous_response_not_found',
        param: 'previous_response_id',
      })
      const item = recall(world, 'acme', { input: [{ type: 'item_reference', id: `msg_of_${first}` }] })
      expect(await rejection(item)).toMatchObject({ status: 404 })
      const [rest] = await findChain(world.db, 'acme', second, 0)
      expect(await keptBytes(world.db, 'acme')).toBe(rest?.bytes as number)
    })

    test('expired responses are not read, and then removed', async () => {
      const { world, clock, keep } = await openStore(kind, { keep: '1d' })
      const id = await keep([say('one')])
      clock.now += DAY_MS
      expect(await rejection(recall(world, 'acme', { previous_response_id: id }))).toMatchObject({
        status: 400,
      })
      await sweepResponses(world)
      expect(await keptBytes(world.db, 'acme')).toBe(0)
      expect(await world.db.query({ sql: 'select * from response_items' })).toEqual([])
    })

    // On PostgreSQL a tenth of the bytes, with a tenth of the limit: it is crossed as often.
    const bytes = kind === 'sqlite' ? 1e6 : 1e5
    const many = isWholeRun ? 1_000 : 100
    test(`${many} responses of ${bytes / 1e6} MB stay within the limit of their account, and leave others alone`, async () => {
      const maxBytes = 20 * bytes
      const { world, clock, keep } = await openStore(kind, { maxBytes: `${maxBytes / 1e6}MB` })
      const other = await keep([say('another account')], null, 'other')
      const text = 'x'.repeat(bytes)
      let most = 0
      let last = ''
      for (let count = 0; count < many; count++) {
        clock.now++
        await makeRoomForResponse(world, 'acme', bytes)
        last = await keep([say(text)])
        most = Math.max(most, await keptBytes(world.db, 'acme'))
      }
      expect(most).toBeLessThanOrEqual(maxBytes + 1_000)
      expect((await findChain(world.db, 'acme', last, 0)).length).toBe(1)
      expect((await findChain(world.db, 'other', other, 0)).length).toBe(1)
      const [row] = await world.db.query({
        sql: "select sum(bytes) as bytes from responses where account = 'acme'",
      })
      expect(Number(row?.bytes)).toBe(await keptBytes(world.db, 'acme'))
    })

    test('a response that is too large is not kept', async () => {
      const { world, keep } = await openStore(kind, { maxResponseBytes: '1KB' })
      const id = await keep([say('x'.repeat(1_000))])
      expect(await findChain(world.db, 'acme', id, 0)).toEqual([])
    })

    test('a chain that is too long is refused with advice', async () => {
      const { world, keep } = await openStore(kind)
      let id: string | null = null as string | null
      const statements = []
      for (let length = 0; length < MAX_CHAIN_LENGTH; length++) {
        const next = `resp_long_${length}`
        const answer = { id: next, output: [{ type: 'message', id: `msg_${length}` }] }
        const response = { id: next, account: 'acme', previousId: id, input: [say('x')], answer }
        statements.push(...keepStatements(world, response))
        id = next
      }
      await apply(world.db, statements)
      expect((await recall(world, 'acme', { previous_response_id: id })).input?.length).toBe(
        2 * MAX_CHAIN_LENGTH,
      )
      id = await keep([say('x')], id)
      expect(await rejection(recall(world, 'acme', { previous_response_id: id }))).toMatchObject({
        code: 'conversation_too_long',
      })
    })
  })
}
