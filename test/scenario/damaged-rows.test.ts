// Unreadable rows, as after a lost key or a broken disk: lists show their readable parts, and all other rows completely.
// Permissions in the damaged part are not granted.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { newId, randomBytes } from '../../src/app/world'
import { draftStatements, faultsOfStatements, issueStatement } from '../../src/billing/reports/statements'
import { openSqlite } from '../../src/db/drivers/sqlite'
import { noteCondition } from '../../src/events/conditions'
import { beginDrill, RunningDrills } from '../../src/request/answer/drills'
import { joinPages } from '../../src/request-log/pages'
import { COLUMNS } from '../../src/request-log/row'
import { listTasks } from '../../src/tasks/find'
import { taskJson } from '../../src/tasks/task-json'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import type { Json } from '../support/scenario'

setDefaultTimeout(120_000)

/** A text encrypted with an unknown key. */
const SEALED = `gw1.${'0'.repeat(12)}.AAAA`

const DAMAGES: [name: string, column: string, value: string][] = [
  ['a document that is not JSON', 'document', '<html>'],
  ['a document that is not an object', 'document', 'null'],
  ['a document that was encrypted with a lost key', 'document', SEALED],
  ['an address that was encrypted with a lost key', 'video_url', SEALED],
  ['a reason that was encrypted with a lost key', 'error_message', SEALED],
  ['notes that are cut off', 'memo', '{"seed":'],
  ['notes that are not an object', 'memo', 'null'],
  ['quantities that are empty', 'quantities', ''],
]

describe.each(databaseKinds)('a damaged row of a task on %s', (database) => {
  let gateway: TestGateway
  beforeAll(async () => {
    gateway = await startTestGateway({ database })
  })
  afterAll(() => gateway.close())

  const read = async (path: string) => {
    const response = await fetch(`${gateway.url}${path}`, {
      headers: { authorization: `Bearer ${gateway.secret}` },
    })
    return { status: response.status, body: (await response.json()) as Json }
  }

  test.each(DAMAGES)('with %s hides no other', async (_name, column, value) => {
    const { db } = gateway.server.world
    const ids: string[] = []
    for (let number = 0; number < 3; number++) {
      const response = await gateway.post('/v1/videos/generations', {
        model: 'vidw2.6-t2v',
        input: { prompt: 'A cat [sandbox task_ms=0]' },
      })
      expect(response.status).toBe(202)
      ids.push(((await response.json()) as Json).id)
    }
    const [first, damaged, last] = ids
    const [kept] = await db.query({
      sql: `select ${column} from tasks where id = $1`,
      parameters: [damaged as string],
    })
    const write = (content: unknown) =>
      db.batch([
        {
          sql: `update tasks set ${column} = $2 where id = $1`,
          parameters: [damaged as string, content as string],
        },
      ])
    await write(value)
    const expected = [last, damaged, first]
    for (const path of ['/v1/videos?limit=3', '/v1/tasks?limit=3']) {
      const { status, body } = await read(path)
      expect({ path, status, ids: body.data?.map(({ id }: Json) => id) }).toEqual({
        path,
        status: 200,
        ids: expected,
      })
    }
    const shown = (await listTasks(db, { limit: 3 })).map(taskJson)
    expect(shown.map(({ id }) => id)).toEqual(expected as string[])
    expect(shown[1]).toMatchObject({ model: 'vidw2.6-t2v', account: 'alice' })
    await write(kept?.[column])
  })
})

/** A gateway and a client of its admin API. */
async function openAdmin(database: (typeof databaseKinds)[number]) {
  const gateway = await startTestGateway({ database, balance: '1000' })
  const { db } = gateway.server.world
  const token = makeToken(randomBytes)
  const owner = { id: newId('adm'), name: 'owner', role: 'owner' as const, expiresAt: null, createdAt: 1 }
  await createAdmin(db, { ...owner, token })
  const ask = async (path: string, by = token, method = 'GET', body?: object) => {
    const response = await fetch(`${gateway.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { status: response.status, body: (await response.json()) as Json }
  }
  const write = (sql: string, ...parameters: string[]) => db.batch([{ sql, parameters }])
  // With SQLite the log of requests is a separate file.
  const pages = database === 'sqlite' ? openSqlite(join(gateway.dataDir, 'requests.sqlite')) : db
  const close = async () => {
    if (pages !== db) await pages.close()
    await gateway.close()
  }
  return { gateway, db, ask, write, pages, close }
}

const KEY_DAMAGES: [column: string, value: string, refusal: object][] = [
  ['models', '["test-chat"', { status: 400, body: { error: { code: 'model_not_found' } } }],
  ['models', '{}', { status: 400, body: { error: { code: 'model_not_found' } } }],
  ['addresses', '', { status: 403, body: { error: { code: 'address_not_allowed' } } }],
  ['spenders', '<html>', { status: 403, body: { error: { code: 'spender_unknown' } } }],
  ['spenders', '[1]', { status: 403, body: { error: { code: 'spender_unknown' } } }],
  ['cache', '{"ttl":', { status: 200 }],
  ['cache', 'null', { status: 200 }],
]

describe.each(databaseKinds)('damaged rows of the log of requests on %s', (database) => {
  // A gateway of its own: rows of earlier requests may be written late. It joins no pages while a test changes one: pages are never
  // changed otherwise, so joining would replace the changed page, or the test the joined one.
  let opened: Awaited<ReturnType<typeof openAdmin>>
  beforeAll(async () => {
    opened = await openAdmin(database)
    opened.gateway.server.world.requestLog.trim = async () => {}
  })
  afterAll(() => opened.close())

  /** Sends a request, and waits for the row, which follows the answer: the next request is then on another page. */
  async function chatOnOwnPage(): Promise<string | null> {
    const { gateway, ask } = opened
    const id = (await gateway.chat()).headers.get('x-request-id')
    await waitFor(async () => {
      await gateway.server.world.requestLog.flush()
      return (await ask('/admin/v1/requests?limit=1')).body.data?.[0]?.id === id
    })
    return id
  }

  /** Sends three requests, each on its own page, and returns their ids and the middle page. */
  async function chatOnThreePages(): Promise<{
    ids: (string | null)[]
    page: { number: number; rows: string }
  }> {
    const ids: (string | null)[] = []
    for (let count = 0; count < 3; count++) ids.push(await chatOnOwnPage())
    const [page] = await opened.pages.query({
      sql: 'select number, rows from request_pages order by number desc limit 1 offset 1',
    })
    return { ids, page: page as { number: number; rows: string } }
  }

  const MEMBERS = ['attempts', 'metadata', 'passed_over', 'route_order', 'quantities'] as const
  test.each(MEMBERS)('a request whose %s cannot be read does not hide others', async (member) => {
    const { gateway, pages, ask } = opened
    const { ids, page } = await chatOnThreePages()
    const place = COLUMNS.findIndex(([name]) => name === member)
    for (const content of ['{"cut":', 'null', '5', '[null]']) {
      const rows = (JSON.parse(page.rows) as unknown[][]).map((row) => {
        const values = COLUMNS.map((_column, index) => row[index] ?? null)
        values[place] = content
        return values
      })
      await pages.batch([
        {
          sql: 'update request_pages set rows = $1 where number = $2',
          parameters: [JSON.stringify(rows), page.number],
        },
      ])
      for (const [path, by] of [
        ['/admin/v1/requests?limit=3', undefined],
        ['/v1/requests?limit=3', gateway.secret],
      ] as const) {
        const { status, body } = await ask(path, by)
        expect({ path, content, status, ids: body.data?.map(({ id }: Json) => id) }).toEqual({
          path,
          content,
          status: 200,
          ids: ids.toReversed(),
        })
      }
      expect(await ask(`/admin/v1/requests/${ids[1]}`)).toMatchObject({ status: 200, body: { id: ids[1] } })
    }
  })

  test('unreadable pages of requests do not hide others in lists and sums, and are not joined', async () => {
    const { pages, ask } = opened
    const { ids, page } = await chatOnThreePages()
    const sum = async () => (await ask('/admin/v1/requests/summary')).body.requests
    const before = await sum()
    const damage = `update request_pages set rows = '[[1', columns = '[' where number = $1`
    await pages.batch([{ sql: damage, parameters: [page.number] }])
    const { status, body } = await ask('/admin/v1/requests?limit=2')
    expect({ status, ids: body.data?.map(({ id }: Json) => id) }).toEqual({
      status: 200,
      ids: [ids[2], ids[0]],
    })
    expect(await sum()).toBe(before - 1)
    await joinPages(pages, 0)
    const [kept] = await pages.query({ sql: `select rows from request_pages where number = ${page.number}` })
    expect(kept?.rows).toBe('[[1')
  })
})

describe.each(databaseKinds)('damaged rows of other lists on %s', (database) => {
  let opened: Awaited<ReturnType<typeof openAdmin>>
  beforeAll(async () => {
    opened = await openAdmin(database)
  })
  afterAll(() => opened.close())

  test.each(KEY_DAMAGES)(
    'a key whose %s are %j does not hide others, and allows nothing',
    async (column, value, refusal) => {
      const { gateway, ask, write } = opened
      const keys: { secret: string; id: string }[] = []
      for (let number = 0; number < 3; number++) keys.push(await gateway.makeKey('keyed', '1'))
      const [first, damaged, last] = keys as [(typeof keys)[0], (typeof keys)[0], (typeof keys)[0]]
      await write(`update keys set ${column} = $1 where id = $2`, value, damaged.id)
      const { status, body } = await ask('/admin/v1/keys?limit=3')
      expect({ status, ids: body.data?.map(({ id }: Json) => id) }).toEqual({
        status: 200,
        ids: [last.id, damaged.id, first.id],
      })
      const request = { model: 'test-chat', messages: [{ role: 'user', content: 'Hello!' }] }
      expect(await ask('/v1/chat/completions', damaged.secret, 'POST', request)).toMatchObject(refusal)
      // Another change keeps the unreadable permission closed; only the same setting opens it.
      const path = `/admin/v1/keys/${damaged.id}`
      expect(await ask(path, undefined, 'PATCH', { concurrency: 5 })).toMatchObject({ status: 200 })
      expect(await ask('/v1/chat/completions', damaged.secret, 'POST', request)).toMatchObject(refusal)
      expect(await ask(path, undefined, 'PATCH', { [column]: null })).toMatchObject({ status: 200 })
      const isOpen = async () =>
        (await ask('/v1/chat/completions', damaged.secret, 'POST', request)).status === 200
      await waitFor(isOpen)
      expect(await ask(`${path}/revoke`, undefined, 'POST')).toMatchObject({ status: 200 })
    },
  )

  test('an unreadable entry of the audit trail does not hide others', async () => {
    const { gateway, ask, write } = opened
    const { id } = await gateway.makeKey('audited', '1')
    for (const concurrency of [1, 2, 3])
      await ask(`/admin/v1/keys/${id}`, undefined, 'PATCH', { concurrency })
    const trail = async () => (await ask('/admin/v1/audit?limit=3')).body.data
    const [, damaged] = await trail()
    await write(`update audit_trail set after = '<html>' where id = $1`, damaged.id)
    expect((await trail()).map(({ after }: Json) => after?.concurrency)).toEqual([3, undefined, 1])
  })

  test('an unreadable drill does not hide others, and has no effect', async () => {
    const { db, ask, write } = opened
    const ids = ['drill_1', 'drill_2', 'drill_3']
    const now = Date.now()
    for (const id of ids) {
      const [begunAt, endsAt, shareMillionths] = [now, now + 3_600_000, 1_000_000]
      const fault = { kind: 'hang' } as const
      await beginDrill(db, {
        id,
        upstream: id,
        fault,
        keyIds: ['key_drilled'],
        shareMillionths,
        begunAt,
        endsAt,
      })
    }
    const running = new RunningDrills({ db, now: () => now, random: () => 0 })
    const faultOf = (id: string) => running.faultFor(id, 'key_drilled', `req_${id}`)
    for (const column of ['fault', 'keys']) {
      await write(`update drills set ${column} = '<html>' where id = 'drill_2'`)
      const { status, body } = await ask('/admin/v1/drills?limit=3')
      const shown = body.data?.map(({ id }: Json) => id)
      expect({ status, shown }).toEqual({ status: 200, shown: ids.toReversed() })
      await running.follow()
      expect(await faultOf('drill_1')).toEqual({ kind: 'hang' })
      expect(await faultOf('drill_2')).toEqual(column === 'keys' ? undefined : { kind: 'delay', delayMs: 0 })
    }
  })

  const CONTENTS = ['{"cut":', 'null', '{}', '{"opening_usd":"1.00"}']
  test('an unreadable statement does not hide others, is not shown, and does not prevent the next one', async () => {
    const { gateway, db, ask, write } = opened
    const months = ['2026-01', '2026-02', '2026-03']
    const now = Date.UTC(2026, 4)
    await db.batch([{ sql: 'update transfers set at = $1', parameters: [Date.UTC(2025, 11)] }])
    for (const month of months)
      for (const content of await draftStatements(db, month, {}, 'alice'))
        await issueStatement(db, content, now)
    const lists = [
      ['/admin/v1/statements?account=alice', undefined],
      ['/v1/statements', gateway.secret],
    ] as const
    for (const content of CONTENTS) {
      await write(`update statements set content = $1 where month = '2026-02' and account = 'alice'`, content)
      for (const [path, by] of lists) {
        const { status, body } = await ask(path, by)
        expect({ path, content, status, months: body.data?.map(({ month }: Json) => month) }).toEqual({
          path,
          content,
          status: 200,
          months: months.toReversed(),
        })
        expect(body.data.map(({ used_usd }: Json) => used_usd)).toEqual(['0.00', null, '0.00'])
        const { number } = body.data[1]
        for (const format of ['json', 'html', 'csv'])
          expect(await ask(`${path.split('?')[0]}/${number}?format=${format}`, by)).toMatchObject({
            status: 500,
            body: { error: { code: 'statement_unreadable' } },
          })
      }
      expect((await faultsOfStatements(db)).faults).toEqual([expect.stringContaining('not as it was issued')])
    }
    await write(`delete from statements where month = '2026-03'`)
    expect(await draftStatements(db, '2026-03', {}, 'alice')).toMatchObject([{ earlier_usd: '0.00' }])
  })

  test('an unreadable refusal of a vendor does not hide others, and is still counted', async () => {
    const { ask, write } = opened
    for (const [number, message] of ['one', SEALED, 'three'].entries())
      await write(
        `insert into vendor_refusals (id, upstream, model, field, status, message, refusals, first_at, last_at)
          values ('refusal_${number}', 'openai', 'pgt-5', '${number}', 400, $1, 7, ${number}, ${number})`,
        message,
      )
    const { status, body } = await ask('/admin/v1/upstreams/refusals')
    const shown = body.data?.map(({ message, count }: Json) => [message, count])
    expect({ status, shown }).toEqual({
      status: 200,
      shown: [
        ['three', 7],
        ['', 7],
        ['one', 7],
      ],
    })
  })

  test('an unreadable condition does not hide others', async () => {
    const { db, ask, write } = opened
    const now = Date.now()
    for (const subject of ['one', 'two', 'three'])
      await db.batch([
        noteCondition(
          { type: 'balance.low', subject, account: null, details: { balance_usd: '1' } },
          now,
          3_600_000,
        ),
      ])
    await write(`update event_conditions set details = '<html>' where subject = 'two'`)
    const { status, body } = await ask('/admin/v1/conditions')
    expect({ status, subjects: body.data?.map(({ subject }: Json) => subject).toSorted() }).toEqual({
      status: 200,
      subjects: ['one', 'three', 'two'],
    })
  })
})
