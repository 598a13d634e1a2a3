// Deferred requests when the process dies: the compiled executable is killed at each step between the hold and the webhook. At any
// step, the vendor gets the request at most once, a delivered answer is charged once, and the caller gets one result under
// one id.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { ModelConfig } from '../../src/config/schema'
import type { Row } from '../../src/db/db'
import { databaseKinds, postgresUrl } from '../support/databases/databases'
import { TABLES } from '../support/databases/postgres'
import { type Stall, stallAt } from '../support/databases/stalled-database'
import { imageEditModel, imageModel, say, waitFor } from '../support/gateway'
import { type Installation, install, type Running, stopWell } from '../support/processes/executable'
import { foxPicture, sentFields, silentSound } from '../support/sent-fields'
import {
  idsOf,
  RECEIVER_NETWORK,
  startReceiver,
  type WebhookReceiver,
} from '../support/servers/webhook-receiver'
import { completion, type OddVendor, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const BALANCE_NANO = 100_000_000_000

const models = {
  'odd-image': { ...imageModel, upstream: 'odd' },
  'odd-edit': { ...imageEditModel, upstream: 'odd' },
  'odd-speech': { family: 'openai-speech', upstream: 'odd', price: { per_1m_characters: '15' } },
  'odd-chat': {
    family: 'openai-chat',
    upstream: 'odd',
    price: { per_1m_input_tokens: '1', per_1m_output_tokens: '2' },
  },
  'odd-hear': { family: 'openai-transcriptions', upstream: 'odd', price: { per_audio_minute: '0.006' } },
} satisfies Record<string, ModelConfig>

/** A kind of request with its price, the vendor's answer, and a text in the caller's result. */
interface Kind {
  path: string
  fields: Record<string, unknown>
  nano: number
  answer: () => Response
  result: string
}

const pictures = () => Response.json({ created: 1, data: [{ url: 'https://files.example.com/fox.png' }] })

const image: Kind = {
  path: '/v1/images/generations',
  fields: { model: 'odd-image', prompt: 'a red fox' },
  nano: 20_000_000,
  answer: pictures,
  result: 'fox.png',
}

/** The other kinds that can be deferred. */
const others: Record<string, Kind> = {
  edit: {
    path: '/v1/images/edits',
    fields: { model: 'odd-edit', prompt: 'At night', image: foxPicture() },
    nano: 30_000_000,
    answer: pictures,
    result: 'fox.png',
  },
  speech: {
    path: '/v1/audio/speech',
    fields: { model: 'odd-speech', input: 'Hello' },
    nano: 75_000,
    answer: () => new Response('ID3 the sound itself', { headers: { 'content-type': 'audio/mpeg' } }),
    result: 'ID3 the sound itself',
  },
  chat: {
    path: '/v1/chat/completions',
    fields: { model: 'odd-chat', messages: say('Hi') },
    nano: 50_000,
    answer: () => Response.json(completion('Hello there!', 10, 20)),
    result: 'Hello there!',
  },
  transcription: {
    path: '/v1/audio/transcriptions',
    fields: { model: 'odd-hear', response_format: 'text', file: silentSound(2) },
    nano: 200_000,
    answer: () => new Response('The sky is blue.', { headers: { 'content-type': 'text/plain' } }),
    result: 'The sky is blue.',
  },
}

interface Place {
  installation: Installation
  vendor: OddVendor
  receiver: WebhookReceiver
  answersAtOnce(): void
}

interface Point {
  title: string
  /** A change of the database before which the process is stopped. */
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

const early: Point[] = [
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
]

/** The vendor has been paid, and the caller has no answer. */
const decisive: Point[] = [
  {
    title: 'after the answer of the vendor, before the payment',
    stall: 'update of state on tasks',
    arrange: ({ answersAtOnce }) => answersAtOnce(),
    reached: stalled,
    calls: 1,
    isPaid: false,
  },
  {
    title: 'after the payment, while the webhook is unanswered',
    arrange(place) {
      place.answersAtOnce()
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
    for (const point of [...early, ...decisive])
      test.concurrent(`an image: ${point.title}`, () => killAt(point, image, database === 'postgres'))
    for (const [name, kind] of Object.entries(others))
      test.concurrent(`${name}: ${decisive.map(({ title }) => title).join('; ')}`, async () => {
        for (const point of decisive) await killAt(point, kind, database === 'postgres')
      })
  })
}

function submit({ url }: Running, secret: string, { path, fields }: Kind, webhook_url: string) {
  const { body, headers } = sentFields({ ...fields, webhook_url })
  return fetch(`${url}${path}`, {
    method: 'POST',
    headers: {
      ...headers,
      authorization: `Bearer ${secret}`,
      'idempotency-key': 'order-1',
      prefer: 'respond-async',
    },
    body,
  })
}

async function killAt(point: Point, kind: Kind, isShared: boolean): Promise<void> {
  const vendor = startVendor()
  vendor.answer = () => new Promise(() => {})
  using receiver = startReceiver()
  const databaseUrl = isShared ? await postgresUrl({ template: TABLES }) : undefined
  const installation = await install({
    upstreams: { odd: vendor.upstream },
    models,
    config: { webhooks: { allow: [RECEIVER_NETWORK] } },
    ...(databaseUrl !== undefined && { databaseUrl }),
  })
  const answersAtOnce = () => {
    vendor.answer = kind.answer
  }
  const place: Place = { installation, vendor, receiver, answersAtOnce }
  const secret = await installation.makeKey('alice', '100')
  const first = await installation.serve()
  const stall = point.stall && (await stallAt(installation.dataDir, point.stall, databaseUrl))
  point.arrange?.(place)
  const answered = await submit(first, secret, kind, receiver.url)
  const { id, error } = (await answered.json()) as { id: string; error?: unknown }
  expect({ status: answered.status, error }).toEqual({ status: 202, error: undefined })
  await waitFor(() => point.reached(place, stall || undefined))
  await kill(first)
  if (stall) await stall.remove()
  expect(await installation.problems()).toEqual([])
  const { calls, deliveries = 0, isPaid } = point
  expect({ calls: vendor.requests, deliveries: receiver.deliveries.length }).toEqual({ calls, deliveries })
  expect((await taskOf(place)).state).toBe(isPaid ? 'succeeded' : 'submitted')
  // As if the leases had expired; a single process knows that simply because it starts.
  if (isShared) {
    await installation.rows('update tasks set lease_until = 1')
    await installation.rows('update webhooks set lease_until = 1')
  }

  answersAtOnce()
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
  const again = await submit(second, secret, kind, receiver.url)
  expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([202, 'true'])
  expect(((await again.json()) as { id: string }).id).toBe(id)
  expect(vendor.requests).toBe(calls)
  await expectPaidOnce(installation, isPaid ? kind.nano : 0)
  expect(idsOf(receiver)).toHaveLength(1)
  expect(receiver.deliveries).toHaveLength(deliveries + 1)
  expect(new Set(receiver.deliveries.map(({ body }) => body)).size).toBe(1)
  const result = await fetch(`${second.url}/v1/tasks/${id}/result`, {
    headers: { authorization: `Bearer ${secret}` },
  })
  expect(result.status).toBe(isPaid ? 200 : 404)
  expect(await result.text()).toContain(isPaid ? kind.result : 'task_failed')
  expect(await installation.problems()).toEqual([])
  await stopWell(installation, second)
  await vendor.stop()
}

/** The request has one charge of this amount, and its files are gone. */
async function expectPaidOnce(installation: Installation, nano: number): Promise<void> {
  expect(await installation.rows('select balance, held from accounts')).toEqual([
    { balance: BALANCE_NANO - nano, held: 0 },
  ])
  const state = nano > 0 ? 'settled' : 'released'
  expect(await installation.rows('select state, amount from charges')).toEqual([{ state, amount: nano }])
  // The serving process has a folder, without files.
  const uploads = readdirSync(join(installation.dataDir, 'uploads'), { recursive: true, withFileTypes: true })
  expect(uploads.filter((entry) => entry.isFile()).map(({ name }) => name)).toEqual([])
}
