// Rows of tasks that cannot be read, as after a lost key or a broken disk: lists show them by what can be read, and all others whole.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { listTasks } from '../../src/tasks/find'
import { taskJson } from '../../src/tasks/task-json'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'

setDefaultTimeout(120_000)

/** A text that was encrypted with a key that nobody has. */
const SEALED = `gw1.${'0'.repeat(12)}.AAAA`

const DAMAGES: [name: string, column: string, value: string][] = [
  ['a document that is not JSON', 'document', '<html>'],
  ['a document that is not an object', 'document', 'null'],
  ['a document that was encrypted with a key that is gone', 'document', SEALED],
  ['an address that was encrypted with a key that is gone', 'video_url', SEALED],
  ['a reason that was encrypted with a key that is gone', 'error_message', SEALED],
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
