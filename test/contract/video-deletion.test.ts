// DELETE /v1/videos/{id}: a task is deleted with its kept results, and its money does not change; a running task is stopped first,
// or stays if its vendor cannot stop it.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway } from '../support/gateway'
import type { Json } from '../support/scenario'
import { videoBody } from '../support/vendors/task'
import { type Clock, endAll, endOf, makeClock, passUntil, readTask, rowsOf } from '../support/video-requests'

setDefaultTimeout(180_000)

const CENT = 10_000_000
const fox = { model: 'gkx-imagine-video', prompt: 'a red fox [sandbox task_ms=0]' }

interface Error {
  status: number
  code: string
  headers: Headers
}

for (const kind of databaseKinds) {
  describe(kind, () => {
    let clock: Clock
    let gateway: TestGateway
    let client: OpenAI

    beforeAll(async () => {
      clock = makeClock()
      gateway = await startTestGateway({
        database: kind,
        balance: '1000',
        // Nodes of a PostgreSQL database keep results in a bucket only.
        config: kind === 'sqlite' ? { artifacts: { keep: '7d' } } : {},
        outside: clock,
      })
      client = connect(gateway.secret)
    })
    afterAll(async () => {
      clock.pass(25 * 3_600_000)
      await endAll(gateway, clock)
      await gateway.close()
    })

    const connect = (apiKey: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 })
    const failureOf = (work: Promise<unknown>): Promise<Error> =>
      work.then(
        () => {
          throw new Error('it succeeded')
        },
        (error) => error,
      )
    const submit = async (body: object): Promise<string> =>
      ((await (await gateway.post('/v1/videos/generations', body)).json()) as Json).id
    const artifacts = (charge: string) =>
      gateway.server.world.db.query({
        sql: 'select * from artifacts where charge = $1',
        parameters: [charge],
      })
    /** Deletes while the clock runs, which a stop needs. */
    async function deleteSoon(id: string): Promise<Json> {
      let answer: Json
      client.videos.delete(id).then(
        (value) => {
          answer = { value }
        },
        (error) => {
          answer = { error }
        },
      )
      await passUntil(clock, () => answer !== undefined, 100)
      return answer
    }

    const files = () =>
      readdirSync(join(gateway.dataDir, 'artifacts'), { recursive: true }).map((path) => String(path))

    if (kind === 'sqlite')
      test('deleting a video deletes its kept files', async () => {
        const id = await submit(fox)
        const { video_url: address } = await endOf(gateway, clock, id)
        const { charge } = await rowsOf(gateway, id)
        const [{ id: file }] = (await artifacts(charge)) as [Json]
        const isThere = () => files().some((path) => path.includes(file))
        expect([(await fetch(address)).status, isThere()]).toEqual([200, true])
        await client.videos.delete(id)
        expect([(await fetch(address)).status, isThere()]).toEqual([404, false])
        expect(await artifacts(charge)).toEqual([])
      })

    test('a finished video is deleted, and its charge is unchanged', async () => {
      const id = await submit(fox)
      await endOf(gateway, clock, id)
      const { charge } = await rowsOf(gateway, id)
      const before = await gateway.balance()

      expect(await client.videos.delete(id)).toEqual({ id, object: 'video.deleted', deleted: true })

      expect(await failureOf(client.videos.retrieve(id))).toMatchObject({
        status: 404,
        code: 'task_not_found',
      })
      expect(await failureOf(client.videos.downloadContent(id))).toMatchObject({ status: 404 })
      expect((await client.videos.list()).data.map((video) => video.id)).not.toContain(id)
      expect((await readTask(gateway, id)).error.code).toBe('task_not_found')
      expect(await gateway.balance()).toEqual(before)
      expect(await gateway.charge(charge)).toMatchObject({
        state: 'settled',
        amount: 4 * CENT,
      })
      // A second time there is nothing left to delete.
      const again = await failureOf(client.videos.delete(id))
      expect(again).toMatchObject({ status: 404, code: 'task_not_found' })
      expect(again.headers.get('x-should-retry')).toBe('false')
    })

    test('a video can be deleted by its vendor’s id', async () => {
      const id = await submit(fox)
      const { upstream_id: upstreamId } = await endOf(gateway, clock, id)
      expect(await client.videos.delete(upstreamId)).toMatchObject({ id, deleted: true })
    })

    test('a failed video can be deleted', async () => {
      const id = await submit({ ...fox, prompt: 'a fox [sandbox task_ms=0 task_end=failed]' })
      await endOf(gateway, clock, id)
      expect(await client.videos.delete(id)).toMatchObject({ deleted: true })
    })

    test('a video that waits at a vendor is stopped if the vendor can do that, and costs nothing', async () => {
      const id = await submit(videoBody('a fox [sandbox task_ms=600000]'))
      const { charge } = await rowsOf(gateway, id)
      expect(await deleteSoon(id)).toEqual({ value: { id, object: 'video.deleted', deleted: true } })
      expect(await rowsOf(gateway, id)).toBeUndefined()
      expect(await gateway.charge(charge)).toMatchObject({
        state: 'released',
        amount: 0,
      })
    })

    test('a video that its vendor cannot stop continues, and its deletion is rejected', async () => {
      const id = await submit({ ...fox, prompt: 'a fox [sandbox task_ms=600000]' })
      const { error } = await deleteSoon(id)
      expect(error).toMatchObject({ status: 409, code: 'video_not_ended' })
      expect(error.message).toContain('Tasks of this model cannot be stopped')
      expect(error.headers.get('x-should-retry')).toBe('false')
      expect(await rowsOf(gateway, id)).toMatchObject({ state: 'submitted', charge_state: 'held' })
    })

    test("another account's video is not found, and not deleted", async () => {
      const id = await submit(fox)
      await endOf(gateway, clock, id)
      const stranger = connect((await gateway.makeKey('bob', '1')).secret)
      const [another, none] = [
        await failureOf(stranger.videos.delete(id)),
        await failureOf(stranger.videos.delete('video_0')),
      ]
      expect([another.status, none.status, another.code]).toEqual([404, 404, none.code])
      expect(await client.videos.retrieve(id)).toMatchObject({ id, status: 'completed' })
    })

    test('the answer to an idempotency key stays, though its task is gone', async () => {
      const headers = { 'idempotency-key': 'fox-1' }
      const first = (await (await gateway.post('/v1/videos/generations', fox, headers)).json()) as Json
      await endOf(gateway, clock, first.id)
      await client.videos.delete(first.id)
      const again = await gateway.post('/v1/videos/generations', fox, headers)
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      expect(await again.json()).toMatchObject({ id: first.id })
      expect(await client.videos.create(fox, { headers })).toMatchObject({ id: expect.any(String) })
    })
  })
}

test('without a key nothing is deleted', async () => {
  const gateway = await startTestGateway()
  const response = await fetch(`${gateway.url}/v1/videos/video_1`, { method: 'DELETE' })
  expect([response.status, response.headers.get('x-should-retry')]).toEqual([401, 'false'])
  const operation = await fetch(`${gateway.url}/v1/videos/generations`, { method: 'DELETE' })
  expect([operation.status, operation.headers.get('allow')]).toEqual([405, 'POST'])
  await gateway.close()
})
