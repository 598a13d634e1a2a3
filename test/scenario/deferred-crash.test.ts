// Deferred requests when the process dies: the compiled executable is killed at each step between the hold and the webhook.
// At any step, the vendor gets the request at most once, a delivered answer is charged once, and the caller gets one result under
// one id.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Row } from '../../src/db/db'
import { databaseKinds, postgresUrl } from '../support/databases/databases'
import { TABLES } from '../support/databases/postgres'
import { type Stall, stallAt } from '../support/databases/stalled-database'
import { imageModel, waitFor } from '../support/gateway'
import { type Installation, install, type Running, stopWell } from '../support/processes/executable'
import {
  idsOf,
  RECEIVER_NETWORK,
  startReceiver,
  type WebhookReceiver,
} from '../support/servers/webhook-receiver'
import { type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const BALANCE_NANO = 100_000_000_000
const IMAGE_NANO = 20_000_000

interface Place {
  installation: Installation
  vendor: OddVendor
  receiver: WebhookReceiver
}

interface Point {
  title: string
  /** A change of SQLite before which the process is stopped. */
  stall?: string
  arrange?(place: Place): void
  reached(place: Place, stall: Stall | undefined): boolean | Promise<boolean>
  /** Requests that reached the vendor, and deliveries before the kill. */
  calls: number
  deliveries?: number
  /** Whether the task had its answer and was paid. */
  isPaid: boolean
}

const stalled = async (_place: Place, stall: Stall | undefined) => (await stall?.isReached()) ?? false
const answersAtOnce = ({ vendor }: Place) => {
  vendor.answer = () => Response.json({ created: 1, data: [{ url: `${vendor.url}/fox.png` }] })
}

const steps: Point[] = [
  {
    title: 'after the hold, before recording that it is sent',
    stall: 'update of sent_at on tasks',
    reached: stalled,
    calls: 0,
    isPaid: false,
  },
  {
    title: 'while the vendor makes it',
    reached: ({ vendor }) => vendor.requests === 1,
    calls: 1,
    isPaid: false,
  },
  {
    title: 'after the answer of the vendor, before the payment',
    stall: 'update of state on tasks',
    arrange: answersAtOnce,
    reached: stalled,
    calls: 1,
    isPaid: false,
  },
  {
    title: 'after the payment, while the webhook is unanswered',
    arrange(place) {
      answersAtOnce(place)
      place.receiver.answer = () => new Promise(() => {})
    },
    reached: ({ receiver }) => receiver.deliveries.length === 1,
    calls: 1,
    deliveries: 1,
    isPaid: true,
  },
]

async function kill(server: Running): Promise<void> {
  server.kill('SIGKILL')
  expect((await server.ended).signal).toBe('SIGKILL')
}

async function taskOf({ installation }: Place): Promise<Row> {
  const tasks = await installation.rows('select * from tasks')
  expect(tasks).toHaveLength(1)
  return tasks[0] as Row
}

for (const database of databaseKinds) {
  describe(`kill -9 at a step of a deferred request, on ${database}`, () => {
    for (const point of steps.filter(({ stall }) => database === 'sqlite' || stall === undefined)) {
      test.concurrent(point.title, () => killAt(point, database === 'postgres'))
    }
  })
}

function submit({ url }: Running, secret: string, receiver: WebhookReceiver): Promise<Response> {
  return fetch(`${url}/v1/images/generations`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
      'idempotency-key': 'order-1',
      prefer: 'respond-async',
    },
    body: JSON.stringify({ model: 'odd-image', prompt: 'a red fox', webhook_url: receiver.url }),
  })
}

async function killAt(point: Point, isShared: boolean): Promise<void> {
  const vendor = startVendor()
  vendor.answer = () => new Promise(() => {})
  using receiver = startReceiver()
  const options = {
    upstreams: { odd: vendor.upstream },
    models: { 'odd-image': { ...imageModel, upstream: 'odd' } },
    config: { webhooks: { allow: [RECEIVER_NETWORK] } },
    ...(isShared && { databaseUrl: await postgresUrl({ template: TABLES }) }),
  }
  const installation = await install(options)
  const place: Place = { installation, vendor, receiver }
  const secret = await installation.makeKey('alice', '100')
  const first = await installation.serve()
  const stall = point.stall === undefined ? undefined : stallAt(installation.dataDir, point.stall)
  point.arrange?.(place)
  const answered = await submit(first, secret, receiver)
  expect(answered.status).toBe(202)
  const { id } = (await answered.json()) as { id: string }
  await waitFor(() => point.reached(place, stall))
  await kill(first)
  stall?.remove()
  expect(await installation.problems()).toEqual([])
  const { calls, deliveries = 0, isPaid } = point
  expect({ calls: vendor.requests, deliveries: receiver.deliveries.length }).toEqual({ calls, deliveries })
  expect((await taskOf(place)).state).toBe(isPaid ? 'succeeded' : 'submitted')
  // As if the leases had expired; a single process knows that simply because it starts.
  if (isShared) {
    await installation.rows('update tasks set lease_until = 1')
    await installation.rows('update webhooks set lease_until = 1')
  }

  answersAtOnce(place)
  receiver.answer = () => new Response('thanks')
  const second = await installation.serve()
  const delivered = async () =>
    (await installation.rows('select state from webhooks'))[0]?.state === 'delivered'
  await waitFor(delivered)
  expect(await taskOf(place)).toMatchObject({
    id,
    state: isPaid ? 'succeeded' : 'failed',
    error_code: isPaid ? null : 'task_interrupted',
  })
  // The repeat of the request is the same task.
  const again = await submit(second, secret, receiver)
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
  expect(((await again.json()) as { id: string }).id).toBe(id)
  expect(vendor.requests).toBe(calls)
  expect(await installation.rows('select balance, held from accounts')).toEqual([
    { balance: BALANCE_NANO - (isPaid ? IMAGE_NANO : 0), held: 0 },
  ])
  expect(idsOf(receiver)).toHaveLength(1)
  expect(receiver.deliveries).toHaveLength(deliveries + 1)
  expect(new Set(receiver.deliveries.map(({ body }) => body)).size).toBe(1)
  const result = await fetch(`${second.url}/v1/tasks/${id}/result`, {
    headers: { authorization: `Bearer ${secret}` },
  })
  expect(result.status).toBe(isPaid ? 200 : 404)
  expect(await installation.problems()).toEqual([])
  await stopWell(installation, second)
  await vendor.stop()
}
