// Tasks of images for clients of other gateways: POST /v1/images/generations/async and /v1/images/edits/async, and the polls of
// GET /v1/images/tasks/{id}. Each task is one request to the vendor and one charge, however often it is polled.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { databaseKinds } from '../support/databases/databases'
import { imageEditModel, imageModel, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import type { Json } from '../support/scenario'
import { foxPicture, sentFields } from '../support/sent-fields'
import { RECEIVER_NETWORK, startReceiver, type WebhookReceiver } from '../support/servers/webhook-receiver'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(60_000)

const GENERATE = '/v1/images/generations/async'
const EDIT = '/v1/images/edits/async'
const EDIT_NANO = 30_000_000
/** A generation with one input image. */
const JSON_EDIT_NANO = 22_000_000

const fox = foxPicture()

for (const database of databaseKinds) {
  describe(`tasks of images on ${database}`, () => {
    let vendor: OddVendor
    let receiver: WebhookReceiver & Disposable
    let gateway: TestGateway
    /** The bodies of requests that reached the vendor, each with its path. */
    const received: string[] = []
    let answer: () => Response | Promise<Response>

    beforeAll(async () => {
      vendor = startVendor({
        async answer(request) {
          const body = Buffer.from(await request.arrayBuffer()).toString('latin1')
          received.push(`${new URL(request.url).pathname}\n${body}`)
          return answer()
        },
      })
      receiver = startReceiver()
      gateway = await startTestGateway({
        database,
        upstreams: { odd: vendor.upstream },
        models: {
          'odd-image': { ...imageModel, upstream: 'odd' },
          'odd-edit': { ...imageEditModel, upstream: 'odd' },
        },
        config: { webhooks: { allow: [RECEIVER_NETWORK] } },
      })
    })
    afterAll(async () => {
      await gateway.close()
      await vendor.stop()
      receiver[Symbol.dispose]()
    })

    const edited = { created: 1, data: [{ url: 'https://files.example.com/night.png' }] }

    /** The vendor keeps later requests waiting, until the returned function is called. */
    function hold(reply: () => Response = () => Response.json(edited)): () => void {
      const gate = Promise.withResolvers<void>()
      answer = () => gate.promise.then(reply)
      return gate.resolve
    }

    function edit(fields: Record<string, string> = {}, headers: Record<string, string> = {}) {
      const { body, headers: own } = sentFields({
        model: 'odd-edit',
        prompt: 'At night',
        image: fox,
        ...fields,
      })
      return fetch(`${gateway.url}${EDIT}`, {
        method: 'POST',
        headers: { ...own, authorization: `Bearer ${gateway.secret}`, ...headers },
        body,
      })
    }

    const poll = (address: string, secret = gateway.secret) =>
      fetch(`${gateway.url}${address}`, { headers: { authorization: `Bearer ${secret}` } })

    /** Watches the books from here on. */
    async function books() {
      const [before, calls, end] = [await gateway.balance(), received.length, await gateway.newest()]
      return async () => {
        const { balanceNano, heldNano } = await gateway.balance()
        return {
          paid: before.balanceNano - balanceNano,
          held: heldNano,
          calls: received.length - calls,
          charges: (await gateway.charges(end.charge)).map(({ state }) => state),
        }
      }
    }

    test('an edit is submitted as a form, polled to its end, and charged once', async () => {
      const letGo = hold()
      const spent = await books()
      const delivered = receiver.deliveries.length
      const response = await edit({ webhook_url: receiver.url })
      const task = (await response.json()) as Json
      expect(response.status).toBe(202)
      expect(task).toEqual({
        id: expect.stringMatching(/^task_/),
        task_id: task.id,
        object: 'image.generation.task',
        status: 'processing',
        created_at: expect.any(Number),
        poll_url: `/v1/images/tasks/${task.id}`,
      })
      expect(response.headers.get('location')).toBe(task.poll_url)
      expect(response.headers.get('retry-after')).toBe('3')
      await waitFor(async () => (await spent()).calls === 1)
      const running = await poll(task.poll_url)
      expect([running.status, running.headers.get('retry-after')]).toEqual([200, '3'])
      expect(await running.json()).toEqual(task)
      expect(await spent()).toEqual({ paid: 0, held: EDIT_NANO, calls: 1, charges: ['held'] })
      letGo()
      const ended = (await (await poll(`${task.poll_url}?wait=300`)).json()) as Json
      const { poll_url: _, ...same } = task
      expect(ended).toEqual({
        ...same,
        status: 'completed',
        completed_at: expect.any(Number),
        http_status: 200,
        image_url: edited.data[0]?.url,
        result: edited,
      })
      for (let time = 0; time < 3; time++) expect(await (await poll(task.poll_url)).json()).toEqual(ended)
      expect(await spent()).toEqual({ paid: EDIT_NANO, held: 0, calls: 1, charges: ['settled'] })
      await waitFor(() => receiver.deliveries.length > delivered)
      expect(JSON.parse(receiver.deliveries.at(-1)?.body ?? '')).toMatchObject({
        type: 'task.succeeded',
        data: { id: task.id, operation: 'image-edit', result: edited },
      })
      expect(receiver.deliveries).toHaveLength(delivered + 1)
      // The vendor gets the file, and no field of the gateway.
      const [sent = ''] = received.slice(-1)
      expect(sent).toStartWith('/v1/images/edits\n')
      expect(sent).toContain(Buffer.from(await fox.arrayBuffer()).toString('latin1'))
      expect(sent).not.toContain('webhook_url')
      expect(readdirSync(join(gateway.dataDir, 'uploads'))).toEqual([])
    })

    test.each([
      ['an edit as JSON', EDIT, { image: { url: 'https://example.com/fox.png' } }, JSON_EDIT_NANO],
      ['a generation', GENERATE, {}, 20_000_000],
    ])('%s has the same task', async (_name, path, more, nano) => {
      const letGo = hold()
      letGo()
      const spent = await books()
      const response = await gateway.post(path, { model: 'odd-image', prompt: 'At night', ...more })
      const task = (await response.json()) as Json
      expect([response.status, task.object]).toEqual([202, 'image.generation.task'])
      const ended = await poll(`${task.poll_url}?wait=300`)
      expect(await ended.json()).toMatchObject({ id: task.id, status: 'completed', result: edited })
      expect(await spent()).toEqual({ paid: nano, held: 0, calls: 1, charges: ['settled'] })
      expect(received.at(-1)).toStartWith(path.replace('/async', '\n'))
    })

    test('a caller that waits for the edit gets the ended task', async () => {
      hold()()
      const response = await edit({}, { prefer: 'wait=300' })
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({
        status: 'completed',
        image_url: edited.data[0]?.url,
        result: edited,
      })
    })

    test('a repeat with the same Idempotency-Key is the same task, charged once', async () => {
      const letGo = hold()
      const spent = await books()
      const headers = { 'idempotency-key': `edit-${database}` }
      const first = (await (await edit({}, headers)).json()) as Json
      const again = await edit({}, headers)
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
      expect(await again.json()).toEqual(first)
      expect((await edit({ prompt: 'By day' }, headers)).status).toBe(422)
      letGo()
      await poll(`${first.poll_url}?wait=300`)
      expect(await spent()).toEqual({ paid: EDIT_NANO, held: 0, calls: 1, charges: ['settled'] })
    })

    test('an edit that the vendor refuses fails with its reason, and is free', async () => {
      hold(() => Response.json({ error: { message: 'not a square', code: 'bad_size' } }, { status: 400 }))()
      const spent = await books()
      const task = (await (await edit()).json()) as Json
      expect(await (await poll(`${task.poll_url}?wait=300`)).json()).toMatchObject({
        id: task.id,
        status: 'failed',
        completed_at: expect.any(Number),
        error: { type: 'api_error', code: 'bad_size', message: expect.stringContaining('not a square') },
      })
      expect(await spent()).toEqual({ paid: 0, held: 0, calls: 1, charges: ['released'] })
    })

    test('an edit with a fault is refused before it is a task, and another account does not see one', async () => {
      hold()()
      const spent = await books()
      for (const [fields, param] of [
        [{ prompt: '' }, 'prompt'],
        [{ stream: 'true' }, 'stream'],
        [{ webhook_url: 'http://10.0.0.1/x' }, 'webhook_url'],
      ] as const) {
        const refused = await edit(fields)
        expect([refused.status, ((await refused.json()) as Json).error.param]).toEqual([400, param])
      }
      expect(await spent()).toEqual({ paid: 0, held: 0, calls: 0, charges: [] })
      const task = (await (await edit()).json()) as Json
      await poll(`${task.poll_url}?wait=300`)
      const { secret } = await gateway.makeKey(`other-${database}`, '1')
      expect((await poll(task.poll_url, secret)).status).toBe(404)
      expect((await poll('/v1/images/tasks/task_none')).status).toBe(404)
    })
  })
}
