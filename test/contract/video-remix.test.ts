// POST /v1/videos/{id}/remix: another video made from an earlier one, with the money and the rules of a new one, if the model can
// make it; and a clear refusal if it cannot.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import OpenAI from 'openai'
import { databaseKinds } from '../support/databases/databases'
import { startTestGateway, type TestGateway, videoModels } from '../support/gateway'
import type { Json } from '../support/scenario'
import { videoBody } from '../support/vendors/task'
import { type Clock, endAll, endOf, makeClock, rowsOf } from '../support/video-requests'

setDefaultTimeout(180_000)

const NANO = 1_000_000_000
const fox = { model: 'gkx-imagine-video', prompt: 'a red fox [sandbox task_ms=0]' }

for (const kind of databaseKinds) {
  describe(kind, () => {
    let clock: Clock
    let gateway: TestGateway
    let client: OpenAI

    beforeAll(async () => {
      clock = makeClock()
      const imagine = videoModels['gkx-imagine-video']
      gateway = await startTestGateway({
        database: kind,
        balance: '1000',
        outside: clock,
        models: {
          'gkx-imagine-video': {
            ...imagine,
            price: { per_second: { '480p': '0.05', '720p': '0.07' }, per_input_second: '0.01' },
          },
          'flat-video': { ...imagine, price: { per_second: { '480p': '0.05', '720p': '0.07' } } },
        },
      })
      client = connect(gateway.secret)
    })
    afterAll(async () => {
      clock.pass(25 * 3_600_000)
      await endAll(gateway, clock)
      await gateway.close()
    })

    const connect = (apiKey: string) => new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 })
    const failureOf = (work: Promise<unknown>): Promise<Json> =>
      work.then(
        () => {
          throw new Error('it succeeded')
        },
        (error) => error,
      )
    const lastSubmit = () => gateway.sandbox.calls.findLast(({ method }) => method === 'POST')
    async function make(body: object): Promise<string> {
      const task = (await (await gateway.post('/v1/videos/generations', body)).json()) as Json
      await endOf(gateway, clock, task.id)
      return task.id
    }

    test.each([
      ['gkx-imagine-video', { duration: 4, resolution: '720p' }, 4 * 0.08],
      ['gkx-imagine-video', { duration: 2 }, 2 * 0.06],
      // A price list without edited seconds has them in the price of those that are made.
      ['flat-video', { duration: 2 }, 2 * 0.05],
    ])(
      'of %s %j is made from the earlier one, and costs the seconds of both',
      async (model, settings, usd) => {
        const id = await make({ ...fox, model, ...settings })
        const { video_url: earlier } = await rowsOf(gateway, id)
        const remix = await client.videos.remix(id, { prompt: 'a blue fox [sandbox task_ms=0]' })
        expect(remix).toMatchObject({
          object: 'video',
          status: 'queued',
          model,
          seconds: String(settings.duration),
          remixed_from_video_id: id,
        })
        expect(remix.id).not.toBe(id)
        expect(lastSubmit()).toMatchObject({ path: '/v1/videos/edits' })
        expect(JSON.parse(lastSubmit()?.body ?? '')).toEqual({
          model: 'grok-imagine-video',
          prompt: 'a blue fox [sandbox task_ms=0]',
          video: { url: earlier },
        })
        expect(await rowsOf(gateway, remix.id)).toMatchObject({
          charge_state: 'held',
          held: Math.round(usd * NANO),
        })
        await endOf(gateway, clock, remix.id)
        expect(await rowsOf(gateway, remix.id)).toMatchObject({
          charge_state: 'settled',
          amount: Math.round(usd * NANO),
        })
        expect(await client.videos.retrieve(remix.id)).toMatchObject({
          status: 'completed',
          remixed_from_video_id: id,
        })
        // Another one of it is as long and as large.
        const third = await client.videos.remix(remix.id, { prompt: 'a green fox [sandbox task_ms=0]' })
        expect(await rowsOf(gateway, third.id)).toMatchObject({ held: Math.round(usd * NANO) })
      },
    )

    test('is sent once for one idempotency key, and another video needs another key', async () => {
      const [one, other] = [await make({ ...fox, duration: 1 }), await make({ ...fox, duration: 1 })]
      const headers = { 'idempotency-key': `remix-${kind}` }
      const prompt = 'a blue fox [sandbox task_ms=0]'
      const first = await client.videos.remix(one, { prompt }, { headers })
      expect(await client.videos.remix(one, { prompt }, { headers })).toMatchObject({ id: first.id })
      const refused = await failureOf(client.videos.remix(other, { prompt }, { headers }))
      expect(refused).toMatchObject({ status: 422, code: 'idempotency_key_reused' })
    })

    test('nothing is sent that the account cannot pay', async () => {
      const poor = await gateway.makeKey('poor', '0.05')
      const headers = { authorization: `Bearer ${poor.secret}` }
      const made = await gateway.post('/v1/videos/generations', { ...fox, duration: 1 }, headers)
      const { id } = (await made.json()) as Json
      await endOf({ ...gateway, secret: poor.secret }, clock, id)
      const calls = gateway.sandbox.calls.length
      const refused = await failureOf(connect(poor.secret).videos.remix(id, { prompt: 'a blue fox' }))
      expect(refused).toMatchObject({ status: 402 })
      expect(gateway.sandbox.calls).toHaveLength(calls)
    })

    describe('is rejected', () => {
      test.each([
        ['for a vendor that makes none', videoBody('a fox [sandbox task_ms=0]'), 'unsupported_operation'],
        [
          'for a model that needs an image',
          {
            model: 'gkx-imagine-video-1.5-preview',
            prompt: 'a fox [sandbox task_ms=0]',
            image: { url: 'https://example.com/a.png' },
            resolution: '480p',
          },
          'invalid_value',
        ],
        ['for a video that is too long', { ...fox, duration: 9 }, 'invalid_value'],
      ])('%s', async (_, body, code) => {
        const id = await make(body)
        const refused = await failureOf(client.videos.remix(id, { prompt: 'a blue fox' }))
        expect(refused).toMatchObject({ status: 400, code, param: 'id' })
        expect(refused.message).toContain(id)
      })

      test.each([
        ['without a prompt', {}, 'prompt'],
        ['with an empty prompt', { prompt: '' }, 'prompt'],
        ['with a length of its own', { prompt: 'a blue fox', seconds: '4' }, 'seconds'],
        ['with a model of its own', { prompt: 'a blue fox', model: 'flat-video' }, 'model'],
      ])('%s', async (_, body, param) => {
        const id = await make({ ...fox, duration: 1 })
        const refused = await gateway.post(`/v1/videos/${id}/remix`, body)
        expect(refused.status).toBe(400)
        expect(await refused.json()).toMatchObject({ error: { param } })
      })

      test('while the earlier one is made, after it has failed, and when it is gone', async () => {
        const running = await client.videos.create({ ...fox, prompt: 'a fox [sandbox task_ms=600000]' })
        expect(await failureOf(client.videos.remix(running.id, { prompt: 'a blue fox' }))).toMatchObject({
          status: 409,
          code: 'video_not_ready',
        })
        const failed = await make({ ...fox, prompt: 'a fox [sandbox task_ms=0 task_end=failed]' })
        expect(await failureOf(client.videos.remix(failed, { prompt: 'a blue fox' }))).toMatchObject({
          status: 404,
          code: 'video_failed',
        })
        const old = await make(fox)
        clock.pass(25 * 3_600_000)
        expect(await failureOf(client.videos.remix(old, { prompt: 'a blue fox' }))).toMatchObject({
          status: 404,
          code: 'video_expired',
        })
      })

      test("of another account's video, like a missing one", async () => {
        const id = await make({ ...fox, duration: 1 })
        const stranger = connect((await gateway.makeKey('bob', '1')).secret)
        for (const each of [id, 'video_0'])
          expect(await failureOf(stranger.videos.remix(each, { prompt: 'a blue fox' }))).toMatchObject({
            status: 404,
            code: 'task_not_found',
          })
      })
    })
  })
}
