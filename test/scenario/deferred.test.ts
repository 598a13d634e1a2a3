// Deferred requests: the task that a caller gets, its result, wait and webhook, the payment, and the requests to the vendor. Each
// on both databases, with a vendor under the test's control.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import shipped from '../../gateway.config'
import type { ModelConfig } from '../../src/config/schema'
import { sweepResponses } from '../../src/kept-responses/keep'
import { databaseKinds } from '../support/databases/databases'
import { holdTask } from '../support/databases/task-rows'
import { imageModel, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { startNodes } from '../support/nodes'
import type { Json } from '../support/scenario'
import { foxPicture, sentFields, silentSound } from '../support/sent-fields'
import { RECEIVER_NETWORK, startReceiver, type WebhookReceiver } from '../support/servers/webhook-receiver'
import { completion, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(60_000)

const IMAGES = '/v1/images/generations'
const IMAGE_NANO = 20_000_000
const LATER = { prefer: 'respond-async' }
const image = { model: 'odd-image', prompt: 'a red fox' }
const tokens = { per_1m_input_tokens: '1.00', per_1m_output_tokens: '2.00' }

for (const database of databaseKinds) {
  describe(`requests that are answered later on ${database}`, () => {
    let vendor: OddVendor
    let receiver: WebhookReceiver & Disposable
    let gateway: TestGateway
    /** Lets the vendor answer; it holds every request until then. */
    let letGo: () => void
    let answers: () => Response

    beforeAll(async () => {
      vendor = startVendor()
      receiver = startReceiver()
      gateway = await startTestGateway({
        database,
        upstreams: { odd: vendor.upstream },
        models: {
          'odd-image': { ...imageModel, upstream: 'odd' },
          'odd-chat': { family: 'openai-chat', upstream: 'odd', upstreamModel: 'odd', price: tokens },
          'odd-speech': {
            family: 'openai-speech',
            upstream: 'odd',
            upstreamModel: 'tts',
            price: { per_1m_characters: '15.00' },
          },
        },
        config: { webhooks: { allow: [RECEIVER_NETWORK] } },
      })
    })
    afterAll(async () => {
      await gateway.close()
      await vendor.stop()
      receiver[Symbol.dispose]()
    })

    const picture = () => ({ created: 1, data: [{ url: `${vendor.url}/fox.png` }] })

    /** The vendor keeps the next requests waiting. */
    function hold(answer: () => Response = () => Response.json(picture())): void {
      const gate = Promise.withResolvers<void>()
      letGo = gate.resolve
      answers = answer
      vendor.answer = async () => {
        await gate.promise
        return answers()
      }
    }

    async function read(path: string): Promise<Response> {
      return fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${gateway.secret}` } })
    }
    const taskOf = async (id: string): Promise<Json> => (await read(`/v1/tasks/${id}?wait=300`)).json()

    /** Watches the books from here on: the price of requests, and the number of calls to the vendor. */
    async function books() {
      const [before, requests, end] = [await gateway.balance(), vendor.requests, await gateway.newest()]
      return async () => {
        const after = await gateway.balance()
        const charges = await gateway.charges(end.charge)
        return {
          paid: before.balanceNano - after.balanceNano,
          held: after.heldNano,
          calls: vendor.requests - requests,
          charges: charges.map(({ state }) => state),
        }
      }
    }

    test('an image: the task at once, then its result, its webhook and one payment', async () => {
      hold()
      const spent = await books()
      const delivered = receiver.deliveries.length
      const response = await gateway.post(IMAGES, { ...image, webhook_url: receiver.url }, LATER)
      const task = (await response.json()) as Json
      expect(response.status).toBe(202)
      expect(response.headers.get('preference-applied')).toBe('respond-async')
      expect(response.headers.get('location')).toBe(`/v1/tasks/${task.id}`)
      expect(response.headers.get('retry-after')).toBe('3')
      expect(task).toEqual({
        id: expect.stringMatching(/^task_/),
        model: 'odd-image',
        status: 'submitted',
        created_at: expect.any(Number),
        operation: 'image',
        result_url: `${gateway.url}/v1/tasks/${task.id}/result`,
      })
      await waitFor(async () => (await spent()).calls === 1)
      expect(await spent()).toEqual({ paid: 0, held: IMAGE_NANO, calls: 1, charges: ['held'] })
      const early = await read(`/v1/tasks/${task.id}/result`)
      expect(early.status).toBe(202)
      expect(await early.json()).toEqual(task)
      letGo()
      expect(await taskOf(task.id)).toMatchObject({
        id: task.id,
        operation: 'image',
        state: 'succeeded',
        result: picture(),
      })
      const result = await read(`/v1/tasks/${task.id}/result`)
      expect(result.headers.get('content-type')).toBe('application/json')
      expect(await result.json()).toEqual(picture())
      expect(await spent()).toEqual({ paid: IMAGE_NANO, held: 0, calls: 1, charges: ['settled'] })
      await waitFor(() => receiver.deliveries.length > delivered)
      const reported = JSON.parse(receiver.deliveries.at(-1)?.body ?? '')
      expect(reported.data ?? reported).toMatchObject({ id: task.id, status: 'succeeded', result: picture() })
      expect(receiver.deliveries).toHaveLength(delivered + 1)
      expect(await gateway.newestLogged()).toMatchObject({
        operation: 'image',
        status: 200,
        amount: IMAGE_NANO,
      })
    })

    test('the vendor sees neither the field nor the address of the webhook', async () => {
      let sent: unknown
      vendor.answer = () => Response.json(completion('Hello!', 10, 20))
      const watched = startVendor({
        async answer(request) {
          sent = await request.json()
          return Response.json(completion('Hello!', 10, 20))
        },
      })
      const own = await startTestGateway({
        upstreams: { odd: watched.upstream },
        models: {
          'odd-chat': { family: 'openai-chat', upstream: 'odd', upstreamModel: 'odd', price: tokens },
        },
        config: { webhooks: { allow: [RECEIVER_NETWORK] } },
      })
      const messages = [{ role: 'user', content: 'Hi' }]
      const body = { async: true, model: 'odd-chat', messages, webhook_url: receiver.url }
      const response = await own.post('/v1/chat/completions', body)
      expect(response.status).toBe(202)
      expect(response.headers.get('preference-applied')).toBeNull()
      await waitFor(() => sent !== undefined)
      expect(sent).toEqual({ model: 'odd', messages })
      await own.close()
      await watched.stop()
    })

    test('a waiting caller gets the ended task', async () => {
      hold()
      letGo()
      const response = await gateway.post(IMAGES, image, { prefer: 'respond-async, wait=300' })
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ status: 'succeeded', result: picture() })
    })

    test('speech is returned as bytes', async () => {
      const sound = Buffer.from('ID3 the sound itself')
      hold(() => new Response(sound, { headers: { 'content-type': 'audio/mpeg' } }))
      letGo()
      const spent = await books()
      const body = { model: 'odd-speech', input: 'Hello', voice: 'alloy', async: true }
      const task = (await (await gateway.post('/v1/audio/speech', body)).json()) as Json
      expect(await taskOf(task.id)).toMatchObject({ state: 'succeeded', content_type: 'audio/mpeg' })
      const result = await read(`/v1/tasks/${task.id}/result`)
      expect(result.headers.get('content-type')).toBe('audio/mpeg')
      expect(Buffer.from(await result.arrayBuffer())).toEqual(sound)
      expect(await spent()).toEqual({ paid: 75_000, held: 0, calls: 1, charges: ['settled'] })
    })

    test('a chat, its task in the log, and a result that is too large for a webhook', async () => {
      const long = completion('x'.repeat(100_000), 10, 20)
      hold(() => Response.json(long))
      letGo()
      const delivered = receiver.deliveries.length
      const body = {
        model: 'odd-chat',
        messages: [{ role: 'user', content: 'Hi' }],
        webhook_url: receiver.url,
      }
      const response = await gateway.post('/v1/chat/completions', body, LATER)
      const task = (await response.json()) as Json
      const ended = await taskOf(task.id)
      expect(ended).toMatchObject({ operation: 'chat', state: 'succeeded', amount_usd: '0.00005' })
      const atOnce = await gateway.post('/v1/chat/completions', {
        model: body.model,
        messages: body.messages,
      })
      const text = await (await read(`/v1/tasks/${task.id}/result`)).text()
      expect(text).toBe(await atOnce.text())
      expect(ended.result).toEqual(JSON.parse(text))
      await waitFor(() => receiver.deliveries.length > delivered)
      const reported = JSON.parse(receiver.deliveries.at(-1)?.body ?? '')
      expect(reported.type).toBe('task.succeeded')
      expect(reported.data).toMatchObject({
        id: task.id,
        bytes: text.length,
        content_type: 'application/json',
      })
      expect(reported.data.result).toBeUndefined()
      const seen = (await (await read(`/v1/requests/${response.headers.get('x-request-id')}`)).json()) as Json
      expect(seen.task).toMatchObject({ id: task.id, operation: 'chat', state: 'succeeded' })
    })

    test('forms: an edit deferred by its field and a transcription by the header, with complete files', async () => {
      const parts: string[] = []
      const watched = startVendor({
        async answer(request) {
          await Bun.sleep(300)
          parts.push(Buffer.from(await request.arrayBuffer()).toString('latin1'))
          return request.url.endsWith('/edits')
            ? Response.json({ created: 1, data: [{ b64_json: 'iVBORw0KGgo=' }] })
            : new Response('The sky is blue.', { headers: { 'content-type': 'text/plain' } })
        },
      })
      const own = await startTestGateway({
        database,
        upstreams: { odd: watched.upstream },
        models: {
          edit: { ...(shipped.models as Record<string, ModelConfig>)['pgt-image-2'], upstream: 'odd' },
          hear: {
            family: 'openai-transcriptions',
            upstream: 'odd',
            upstreamModel: 'whisper',
            price: { per_audio_minute: '0.006' },
          },
        },
      })
      const send = (path: string, fields: Record<string, string | File>, more = {}) => {
        const { body, headers } = sentFields(fields)
        return fetch(`${own.url}${path}`, {
          method: 'POST',
          headers: { ...headers, authorization: `Bearer ${own.secret}`, ...more },
          body,
        })
      }
      const ended = async (response: Response) => {
        expect(response.status).toBe(202)
        const { id } = (await response.json()) as Json
        const headers = { authorization: `Bearer ${own.secret}` }
        await fetch(`${own.url}/v1/tasks/${id}?wait=300`, { headers })
        return fetch(`${own.url}/v1/tasks/${id}/result`, { headers })
      }
      const edited = await ended(
        await send('/v1/images/edits', {
          model: 'edit',
          prompt: 'Night',
          image: foxPicture(),
          async: 'true',
        }),
      )
      expect(await edited.json()).toMatchObject({ data: [{ b64_json: 'iVBORw0KGgo=' }] })
      const heard = await ended(
        await send(
          '/v1/audio/transcriptions',
          { model: 'hear', file: silentSound(2), response_format: 'text' },
          LATER,
        ),
      )
      expect(heard.headers.get('content-type')).toContain('text/plain')
      expect(await heard.text()).toBe('The sky is blue.')
      expect(parts).toHaveLength(2)
      expect(parts.join()).not.toContain('name="async"')
      expect(parts[0]).toContain('fox.png')
      expect((await own.charges()).map(({ state }) => state)).toEqual(['settled', 'settled'])
      await own.close()
      await watched.stop()
      expect(readdirSync(join(own.dataDir, 'uploads'))).toEqual([])
    })

    test('an error of the vendor ends the task and costs nothing', async () => {
      hold(() => Response.json({ error: { message: 'no such size' } }, { status: 400 }))
      letGo()
      const spent = await books()
      const delivered = receiver.deliveries.length
      const task = (await (
        await gateway.post(IMAGES, { ...image, async: true, webhook_url: receiver.url })
      ).json()) as Json
      const ended = await taskOf(task.id)
      expect(ended).toMatchObject({
        state: 'failed',
        error: { message: expect.stringContaining('no such size') },
      })
      const result = await read(`/v1/tasks/${task.id}/result`)
      expect(result.status).toBe(404)
      expect(await result.json()).toMatchObject({ error: { code: 'task_failed' } })
      expect(await spent()).toEqual({ paid: 0, held: 0, calls: 1, charges: ['released'] })
      await waitFor(() => receiver.deliveries.length > delivered)
      expect(receiver.deliveries.at(-1)?.body).toContain('"status":"failed"')
    })

    test('the same Idempotency-Key returns the same task, and refuses another request', async () => {
      hold()
      const spent = await books()
      const headers = { 'idempotency-key': `order-${database}` }
      const ask = (more: Json = {}) => gateway.post(IMAGES, { ...image, async: true, ...more }, headers)
      const first = (await (await ask()).json()) as Json
      const again = await ask()
      expect(again.status).toBe(202)
      expect(again.headers.get('idempotent-replayed')).toBe('true')
      expect(await again.json()).toEqual(first)
      expect((await ask({ prompt: 'a blue fox' })).status).toBe(422)
      letGo()
      await taskOf(first.id)
      expect(await (await ask()).json()).toEqual(first)
      expect(await spent()).toEqual({ paid: IMAGE_NANO, held: 0, calls: 1, charges: ['settled'] })
    })

    test('an Idempotency-Key of a deferred request is refused for the same request without deferral', async () => {
      hold()
      letGo()
      const key = { 'idempotency-key': `later-${database}` }
      const task = (await (await gateway.post(IMAGES, image, { ...LATER, ...key })).json()) as Json
      await taskOf(task.id)
      expect((await gateway.post(IMAGES, image, key)).status).toBe(422)
      expect(await (await gateway.post(IMAGES, image, { ...LATER, ...key })).json()).toEqual(task)
    })

    test('clients of other gateways find their paths and field names', async () => {
      hold()
      const response = await gateway.post(`${IMAGES}/async`, image)
      const task = (await response.json()) as Json
      expect(response.status).toBe(202)
      expect(task).toMatchObject({
        id: task.task_id,
        object: 'image.generation.task',
        status: 'processing',
        poll_url: `/v1/images/tasks/${task.id}`,
      })
      expect(response.headers.get('location')).toBe(task.poll_url)
      expect(await (await read(task.poll_url)).json()).toMatchObject({ status: 'processing' })
      letGo()
      const ended = await read(`${task.poll_url}?wait=300`)
      expect(await ended.json()).toMatchObject({
        status: 'completed',
        http_status: 200,
        image_url: picture().data[0]?.url,
        result: picture(),
      })
    })

    test('a request that cannot be deferred is refused, or answered at once if deferral was only preferred', async () => {
      const spent = await books()
      hold()
      letGo()
      const refused = async (path: string, body: Json) => {
        const response = await gateway.post(path, body)
        const { error } = (await response.json()) as Json
        return { status: response.status, param: error.param, message: error.message }
      }
      expect(await refused(IMAGES, { ...image, async: true, stream: true })).toMatchObject({
        status: 400,
        param: 'stream',
        message: expect.stringContaining("leave out 'stream'"),
      })
      expect(await refused(IMAGES, { ...image, async: 'yes' })).toMatchObject({ status: 400, param: 'async' })
      expect(
        await refused('/v1/embeddings', { model: 'test-embedding', input: 'x', async: true }),
      ).toMatchObject({ status: 400, param: 'async' })
      expect(
        await refused(IMAGES, { ...image, async: true, webhook_url: 'http://10.0.0.1/x' }),
      ).toMatchObject({
        status: 400,
        param: 'webhook_url',
      })
      expect(await spent()).toEqual({ paid: 0, held: 0, calls: 0, charges: [] })
      const embedded = await gateway.post('/v1/embeddings', { model: 'test-embedding', input: 'x' }, LATER)
      expect([embedded.status, embedded.headers.get('preference-applied')]).toEqual([200, null])
      const atOnce = await gateway.post(IMAGES, { ...image, async: false })
      expect(atOnce.status).toBe(200)
      expect(await atOnce.json()).toEqual(picture())
    })

    test('an account has at most 100 open tasks, and nothing more is held or sent', async () => {
      hold()
      const { secret } = await gateway.makeKey(`busy-${database}`, '100')
      const ask = () => gateway.post(IMAGES, { ...image, async: true }, { authorization: `Bearer ${secret}` })
      const calls = vendor.requests
      const statuses = await Promise.all(
        Array.from({ length: 104 }, () => ask().then(({ status }) => status)),
      )
      expect(statuses.filter((status) => status === 202)).toHaveLength(100)
      expect(statuses.filter((status) => status === 429)).toHaveLength(4)
      expect((await gateway.balance(`busy-${database}`)).heldNano).toBe(100 * IMAGE_NANO)
      letGo()
      await waitFor(async () => (await gateway.balance(`busy-${database}`)).heldNano === 0)
      expect((await gateway.balance(`busy-${database}`)).balanceNano).toBe(98_000_000_000)
      expect(vendor.requests - calls).toBe(100)
    })

    test('an account without money gets 402 at once', async () => {
      const { secret } = await gateway.makeKey(`poor-${database}`, '0.01')
      const response = await gateway.post(
        IMAGES,
        { ...image, async: true },
        { authorization: `Bearer ${secret}` },
      )
      expect(response.status).toBe(402)
    })

    test('a task whose call has begun can neither be stopped nor deleted; an ended one can be deleted', async () => {
      hold()
      const spent = await books()
      const task = (await (await gateway.post(IMAGES, { ...image, async: true })).json()) as Json
      await waitFor(async () => (await spent()).calls === 1)
      const stop = await gateway.post(`/v1/tasks/${task.id}/cancel`, {})
      expect(stop.status).toBe(409)
      expect(await stop.json()).toMatchObject({ error: { code: 'task_begun' } })
      const remove = () =>
        fetch(`${gateway.url}/v1/tasks/${task.id}`, {
          method: 'DELETE',
          headers: { authorization: `Bearer ${gateway.secret}` },
        })
      expect((await remove()).status).toBe(409)
      letGo()
      await taskOf(task.id)
      expect((await remove()).status).toBe(200)
      expect((await read(`/v1/tasks/${task.id}/result`)).status).toBe(404)
      expect(await spent()).toEqual({ paid: IMAGE_NANO, held: 0, calls: 1, charges: ['settled'] })
    })

    test('a task that was not sent yet can be stopped: nothing is paid, and the webhook reports it', async () => {
      const { db, now } = gateway.server.world
      const [key] = await db.query({ sql: `select id from keys where account = 'alice'` })
      const before = await gateway.balance()
      const delivered = receiver.deliveries.length
      const { id } = await holdTask(db, {
        id: `task_held_${database}`,
        charge: `charge_held_${database}`,
        operation: 'image',
        keyId: key?.id as string,
        webhookUrl: receiver.url,
        createdAt: now(),
        leaseUntil: now() + 60_000,
      })
      expect((await gateway.balance()).heldNano).toBeGreaterThan(0)
      const stopped = await gateway.post(`/v1/tasks/${id}/cancel`, {})
      expect(stopped.status).toBe(200)
      expect(await stopped.json()).toMatchObject({ id, state: 'failed', error: { code: 'canceled' } })
      expect(await gateway.balance()).toEqual(before)
      await waitFor(() => receiver.deliveries.length > delivered)
      expect(receiver.deliveries.at(-1)?.body).toContain('"type":"task.failed"')
      expect((await gateway.post(`/v1/tasks/${id}/cancel`, {})).status).toBe(409)
    })

    test('another account does not see a task, and videos do not list it', async () => {
      hold()
      letGo()
      const task = (await (await gateway.post(IMAGES, { ...image, async: true })).json()) as Json
      await taskOf(task.id)
      const { secret } = await gateway.makeKey(`other-${database}`, '1')
      for (const path of ['', '/result']) {
        const response = await fetch(`${gateway.url}/v1/tasks/${task.id}${path}`, {
          headers: { authorization: `Bearer ${secret}` },
        })
        expect(response.status).toBe(404)
      }
      expect(((await (await read('/v1/videos')).json()) as Json).data).toEqual([])
    })
  })
}

test('speech is an artifact if artifacts are stored, supports ranges, and is deleted with its task', async () => {
  const sound = Buffer.from('ID3 the sound itself')
  const vendor = startVendor()
  vendor.answer = () => new Response(sound, { headers: { 'content-type': 'audio/mpeg' } })
  const gateway = await startTestGateway({
    upstreams: { odd: vendor.upstream },
    models: {
      speech: {
        family: 'openai-speech',
        upstream: 'odd',
        upstreamModel: 'tts',
        price: { per_1m_characters: '15.00' },
      },
    },
    config: { artifacts: { keep: '1h', maxBytes: '1GB' } },
  })
  const body = { model: 'speech', input: 'Hello', voice: 'alloy', async: true }
  const task = (await (await gateway.post('/v1/audio/speech?wait=300', body)).json()) as Json
  expect(task).toMatchObject({ status: 'succeeded', content_type: 'audio/mpeg', bytes: sound.length })
  const headers = { authorization: `Bearer ${gateway.secret}` }
  const part = await fetch(task.result_url, { headers: { ...headers, range: 'bytes=0-2' } })
  expect([part.status, part.headers.get('content-type'), await part.text()]).toEqual([
    206,
    'audio/mpeg',
    'ID3',
  ])
  const kept = async () =>
    ((await (await fetch(`${gateway.url}/v1/artifacts`, { headers })).json()) as Json).data
  expect(await kept()).toMatchObject([{ content_type: 'audio/mpeg', bytes: sound.length }])
  const removed = await fetch(`${gateway.url}/v1/tasks/${task.id}`, { method: 'DELETE', headers })
  expect(removed.status).toBe(200)
  expect(await kept()).toEqual([])
  await gateway.close()
  await vendor.stop()
})

test('results share the storage of responses: the oldest is removed if there is no room', async () => {
  const vendor = startVendor()
  vendor.answer = () => Response.json(completion('x'.repeat(600_000), 10, 20))
  const gateway = await startTestGateway({
    upstreams: { odd: vendor.upstream },
    models: { 'odd-chat': { family: 'openai-chat', upstream: 'odd', upstreamModel: 'odd', price: tokens } },
    config: { responses: { maxBytes: '1MB' } },
  })
  const headers = { authorization: `Bearer ${gateway.secret}` }
  const body = { model: 'odd-chat', messages: [{ role: 'user', content: 'Hi' }], async: true }
  const ask = async () => (await (await gateway.post('/v1/chat/completions?wait=300', body)).json()) as Json
  const [first, second] = [await ask(), await ask()]
  await sweepResponses(gateway.server.world)
  const result = ({ id }: Json) => fetch(`${gateway.url}/v1/tasks/${id}/result`, { headers })
  const gone = await result(first)
  expect([gone.status, ((await gone.json()) as Json).error.code]).toEqual([404, 'response_not_found'])
  expect((await result(second)).status).toBe(200)
  // The task itself is still there, and no response has its id.
  expect(await (await fetch(`${gateway.url}/v1/tasks/${first.id}`, { headers })).json()).toMatchObject({
    state: 'succeeded',
  })
  expect((await fetch(`${gateway.url}/v1/responses/${second.id}`, { headers })).status).toBe(404)
  await gateway.close()
  await vendor.stop()
})

test('if no answers are stored, a required deferral is refused and a preferred one is answered at once', async () => {
  const vendor = startVendor()
  vendor.answer = () => Response.json({ created: 1, data: [{ url: `${vendor.url}/fox.png` }] })
  const gateway = await startTestGateway({
    upstreams: { odd: vendor.upstream },
    models: { 'odd-image': { ...imageModel, upstream: 'odd' } },
    config: { responses: { keep: 'off' } },
  })
  const refused = await gateway.post(IMAGES, { ...image, async: true })
  expect(refused.status).toBe(400)
  expect(await refused.json()).toMatchObject({
    error: { message: expect.stringContaining('responses.keep') },
  })
  const answered = await gateway.post(IMAGES, image, LATER)
  expect([answered.status, answered.headers.get('preference-applied')]).toEqual([200, null])
  expect(vendor.requests).toBe(1)
  await gateway.close()
  await vendor.stop()
})

test.skipIf(!databaseKinds.includes('postgres'))(
  'a node that stops while it makes the answer: nothing is paid, and another node reports the end',
  async () => {
    const vendor = startVendor()
    vendor.answer = () => new Promise(() => {})
    const [first, second] = await startNodes('postgres', 2, {
      upstreams: { odd: vendor.upstream },
      models: { 'odd-image': { ...imageModel, upstream: 'odd' } },
    })
    if (!second) throw new Error('there is one node')
    const task = (await (await first.post(IMAGES, { ...image, async: true })).json()) as Json
    await waitFor(() => vendor.requests === 1)
    await first.server.stop(0)
    const response = await fetch(`${second.url}/v1/tasks/${task.id}?wait=300`, {
      headers: { authorization: `Bearer ${first.secret}` },
    })
    expect(await response.json()).toMatchObject({ state: 'failed', error: { code: 'shutting_down' } })
    expect((await second.balance()).balanceNano).toBe(100_000_000_000)
    await second.close()
    await vendor.stop()
  },
)

test.skipIf(!databaseKinds.includes('postgres'))(
  'another node knows a task that is made here: repeats, polls, waits, its result and its deletion',
  async () => {
    const vendor = startVendor()
    const gate = Promise.withResolvers<void>()
    const made = { created: 1, data: [{ url: 'https://files.example.com/fox.png' }] }
    vendor.answer = () => gate.promise.then(() => Response.json(made))
    const [first, second] = await startNodes('postgres', 2, {
      upstreams: { odd: vendor.upstream },
      models: { 'odd-image': { ...imageModel, upstream: 'odd' } },
    })
    if (!second) throw new Error('there is one node')
    const authorization = `Bearer ${first.secret}`
    const submit = (node: TestGateway) =>
      node.post(IMAGES, { ...image, async: true }, { authorization, 'idempotency-key': 'order-1' })
    const call = (path: string, method = 'GET') =>
      fetch(`${second.url}${path}`, { method, headers: { authorization } })
    const task = (await (await submit(first)).json()) as Json
    await waitFor(() => vendor.requests === 1)
    const again = await submit(second)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
    expect(((await again.json()) as Json).id).toBe(task.id)
    expect(await (await call(`/v1/images/tasks/${task.id}`)).json()).toMatchObject({ status: 'processing' })
    expect((await call(`/v1/tasks/${task.id}/result`)).status).toBe(202)
    for (const [path, method] of [
      [`/v1/tasks/${task.id}/cancel`, 'POST'],
      [`/v1/tasks/${task.id}`, 'DELETE'],
    ] as const)
      expect((await call(path, method)).status).toBe(409)
    const waiting = call(`/v1/tasks/${task.id}?wait=300`)
    gate.resolve()
    expect(await (await waiting).json()).toMatchObject({ state: 'succeeded', result: made })
    expect(await (await call(`/v1/tasks/${task.id}/result`)).json()).toEqual(made)
    expect(vendor.requests).toBe(1)
    expect((await second.charges()).map(({ state, amount }) => [state, amount])).toEqual([
      ['settled', IMAGE_NANO],
    ])
    expect((await call(`/v1/tasks/${task.id}`, 'DELETE')).status).toBe(200)
    const gone = await fetch(`${first.url}/v1/tasks/${task.id}/result`, { headers: { authorization } })
    expect(gone.status).toBe(404)
    await second.close()
    await first.close()
    await vendor.stop()
  },
)
