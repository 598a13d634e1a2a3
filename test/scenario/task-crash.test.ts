// Video tasks when the process dies: the compiled executable is killed at each step between the hold and the webhook. At any step,
// no request is sent to a vendor twice, every task ends or is reported as unknown, it is charged at most once, and its webhook is
// delivered at least once, always under the same id.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createServer, type Socket } from 'node:net'
import type { Row } from '../../src/db/db'
import { databaseKinds, postgresUrl } from '../support/databases/databases'
import { TABLES } from '../support/databases/postgres'
import { lockDatabase, type Stall, stallAt } from '../support/databases/stalled-database'
import { waitFor } from '../support/gateway'
import { type Installation, install, type Running, stopWell } from '../support/processes/executable'
import { isWholeRun } from '../support/random'
import {
  idsOf,
  RECEIVER_NETWORK,
  startReceiver,
  type WebhookReceiver,
} from '../support/servers/webhook-receiver'
import {
  failed,
  heldBack,
  startTaskVendor,
  succeeded,
  type TaskVendor,
  taken,
  VIDEO_NANO,
  videoBody,
} from '../support/vendors/task'

setDefaultTimeout(180_000)

/** Increase it for a long run: CRASH_ROUNDS=100 bun test test/scenario/task-crash.test.ts */
const ROUNDS = Number(process.env.CRASH_ROUNDS ?? (isWholeRun ? 5 : 3))
const CALLERS = 8
const BALANCE_NANO = 100_000_000_000

/** An installation with its vendor, its receiver of webhooks, and a server that can be killed. */
interface Place {
  installation: Installation
  vendor: TaskVendor
  receiver: WebhookReceiver
  secret: string
}

async function preparePlace(
  vendor: TaskVendor,
  receiver: WebhookReceiver,
  { baseUrl, databaseUrl }: { baseUrl?: string | undefined; databaseUrl?: string | undefined } = {},
): Promise<Place> {
  const upstream = { ...vendor.upstream, pollsPerSecond: 1_000, ...(baseUrl !== undefined && { baseUrl }) }
  const installation = await install({
    upstreams: { dashscope: upstream },
    config: { webhooks: { allow: [RECEIVER_NETWORK] } },
    ...(databaseUrl !== undefined && { databaseUrl }),
  })
  return { installation, vendor, receiver, secret: await installation.makeKey('alice', '100') }
}

function submit({ secret, receiver }: Place, server: Running, prompt: string, headers: object = {}) {
  return fetch(`${server.url}/v1/videos/generations`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(videoBody(prompt, { webhook_url: receiver.url })),
  })
}

async function kill(server: Running): Promise<void> {
  server.kill('SIGKILL')
  expect((await server.ended).signal).toBe('SIGKILL')
}

async function onlyTask({ installation }: Place): Promise<Row | undefined> {
  const [task] = await installation.rows('select * from tasks')
  return task
}

/** The figures that the account must have in the end. */
async function expectPaid({ installation }: Place, paidNano: number): Promise<void> {
  expect(await installation.rows('select balance, held from accounts')).toEqual([
    { balance: BALANCE_NANO - paidNano, held: 0 },
  ])
  const paid = await installation.rows(`select amount from movements where kind = 'charge'`)
  expect(paid).toEqual(paidNano === 0 ? [] : [{ amount: paidNano }])
}

/** A point in the life of a task: its preparation, and how to see that the process has reached it. */
interface Point {
  title: string
  /** A change before which the process is stopped. */
  stall?: string
  /** The vendor does not even finish its handshake. */
  deaf?: boolean
  arrange?(place: Place): void
  reached(place: Place, stall: Stall | undefined, deaf: { connections: number }): Promise<boolean> | boolean
  /** One commit may contain the change and its precondition: then the process reaches the same point again. */
  mayBeEarly?: true
  /** The task and its charge after the next start. */
  leaves: 'nothing' | 'unknown' | 'followed' | 'ended'
  /** Submits that reached the vendor before the kill, and deliveries that reached the receiver. */
  submits: number
  deliveries?: number
}

const stalled = (_place: Place, stall: Stall | undefined) => stall?.isReached() ?? false
const endsAtOnce = ({ vendor }: Place) => {
  vendor.answerPoll = succeeded
}

const points: Point[] = [
  {
    title: 'after the hold, before recording that it is sent',
    stall: 'update of sent_at on tasks',
    reached: stalled,
    leaves: 'nothing',
    submits: 0,
  },
  {
    title: 'noted, and nothing of it has reached the vendor',
    deaf: true,
    reached: (_place, _stall, deaf) => deaf.connections > 0,
    leaves: 'unknown',
    submits: 0,
  },
  {
    title: 'taken by the vendor, which has not answered',
    arrange: ({ vendor }) => {
      vendor.answerSubmit = heldBack(succeeded).answer
    },
    reached: ({ vendor }) => vendor.submits.length === 1,
    leaves: 'unknown',
    submits: 1,
  },
  {
    title: "answered, and the vendor's id not stored",
    stall: 'update of upstream_id on tasks',
    reached: async (place, stall) => place.vendor.submits.length === 1 && (await stalled(place, stall)),
    leaves: 'unknown',
    submits: 1,
  },
  {
    title: "the vendor's id stored",
    reached: async (place) => typeof (await onlyTask(place))?.upstream_id === 'string',
    leaves: 'followed',
    submits: 1,
  },
  {
    title: 'in the middle of a poll',
    arrange: ({ vendor }) => {
      vendor.answerPoll = heldBack(succeeded).answer
    },
    reached: ({ vendor }) => vendor.polls.length === 1,
    leaves: 'followed',
    submits: 1,
  },
  {
    title: 'the end seen, and not stored',
    stall: 'update of state on tasks',
    arrange: endsAtOnce,
    reached: async (place, stall) => place.vendor.polls.length === 1 && (await stalled(place, stall)),
    leaves: 'followed',
    submits: 1,
  },
  {
    title: 'settled, and its webhook not sent',
    stall: 'update of lease_until on webhooks',
    arrange: endsAtOnce,
    reached: stalled,
    mayBeEarly: true,
    leaves: 'ended',
    submits: 1,
  },
  {
    title: 'the webhook sent, and not answered',
    arrange(place) {
      endsAtOnce(place)
      place.receiver.answer = () => new Promise(() => {})
    },
    reached: ({ receiver }) => receiver.deliveries.length === 1,
    leaves: 'ended',
    submits: 1,
    deliveries: 1,
  },
  {
    title: 'the webhook answered, and that not noted',
    stall: 'update of attempts on webhooks',
    arrange: endsAtOnce,
    reached: async (place, stall) => place.receiver.deliveries.length === 1 && (await stalled(place, stall)),
    leaves: 'ended',
    submits: 1,
    deliveries: 1,
  },
]

for (const database of databaseKinds) {
  describe(`kill -9 at a step of a task, on ${database}`, () => {
    for (const point of points) {
      test.concurrent(point.title, async () => {
        while (!(await isKilledAt(point, database === 'postgres')));
      })
    }
  })
}

/** False if the process was stopped too early to say anything about the point. */
async function isKilledAt(point: Point, isShared: boolean): Promise<boolean> {
  const { leaves, submits, deliveries = 0 } = point
  using vendor = startTaskVendor()
  using receiver = startReceiver()
  using deaf = await startDeafServer()
  const databaseUrl = isShared ? await postgresUrl({ template: TABLES }) : undefined
  const place = await preparePlace(vendor, receiver, {
    baseUrl: point.deaf ? deaf.url : undefined,
    databaseUrl,
  })
  const { installation } = place
  const first = await installation.serve()
  const stall =
    point.stall === undefined ? undefined : await stallAt(installation.dataDir, point.stall, databaseUrl)
  point.arrange?.(place)
  const headers = { 'idempotency-key': 'order-1' }
  const answer = submit(place, first, 'one', headers).catch(() => undefined)
  await waitFor(() => point.reached(place, stall, deaf))
  await kill(first)
  await answer
  await stall?.remove()
  expect(await installation.problems()).toEqual([])
  const before = await onlyTask(place)
  if (point.mayBeEarly && before?.state !== 'succeeded') return false
  expect(before?.state).toBe(leaves === 'ended' ? 'succeeded' : 'submitted')
  expect({ submits: vendor.submits.length, deliveries: receiver.deliveries.length }).toEqual({
    submits,
    deliveries,
  })

  if (isShared) await letTimePass(place)

  // From now on everybody answers, and the operator has repaired the connection.
  vendor.answerSubmit = taken
  vendor.answerPoll = succeeded
  receiver.answer = () => new Response('thanks')
  const second = await installation.serve()
  // A single process sweeps before it serves.
  if (isShared) await waitFor(() => isSwept(place, leaves))
  const again = await onlyTask(place)
  if (leaves === 'nothing') expect(again).toBeUndefined()
  else expect(again?.id).toBe(before?.id ?? null)
  expect(again?.error_code ?? null).toBe(leaves === 'unknown' ? 'unknown' : null)
  if (leaves === 'unknown') await waitFor(() => second.stderr().includes('"event":"task_unknown"'))

  // The caller tries again: the same task, or a new one if none exists.
  const repeated = await submit(place, second, 'one', headers)
  expect(repeated.status).toBe(202)
  expect(repeated.headers.get('idempotent-replayed')).toBe(leaves === 'nothing' ? null : 'true')
  const { id } = (await repeated.json()) as { id: string }
  expect(id).toBe(((await onlyTask(place))?.id as string) ?? '')
  expect(vendor.submits).toHaveLength(leaves === 'nothing' ? 1 : submits)

  const found = leaves === 'unknown' ? vendor.submits[0]?.id : undefined
  if (leaves === 'unknown')
    await installation.json('tasks', 'reconcile', id, found ? `--upstream-id=${found}` : '--not-begun')
  const isPaid = leaves !== 'unknown' || found !== undefined
  const delivered = async () =>
    (await installation.rows('select state from webhooks'))[0]?.state === 'delivered'
  await waitFor(delivered)
  expect(await delivered()).toBe(true)
  expect((await onlyTask(place))?.state).toBe(isPaid ? 'succeeded' : 'failed')
  await expectPaid(place, isPaid ? VIDEO_NANO : 0)
  expect(idsOf(receiver)).toHaveLength(1)
  expect(receiver.deliveries).toHaveLength(deliveries + 1)
  expect(new Set(receiver.deliveries.map(({ body }) => body)).size).toBe(1)
  await stopWell(installation, second)
  return true
}

/** Whether the next process has recovered the task of the dead one, if it must. */
async function isSwept(place: Place, leaves: Point['leaves']): Promise<boolean> {
  const task = await onlyTask(place)
  return leaves === 'nothing' ? task === undefined : leaves !== 'unknown' || task?.error_code === 'unknown'
}

/** The leases of a dead node expire, and its submissions count as dead. A single process knows that as soon as it starts. */
async function letTimePass({ installation }: Place): Promise<void> {
  await installation.rows(`update tasks set lease_until = 1, created_at = created_at - ${16 * 60_000}`)
  await installation.rows('update webhooks set lease_until = 1')
}

/** A server that accepts connections and is silent, so that no TLS handshake ends. */
async function startDeafServer() {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    deaf.connections++
    socket.on('error', () => {})
  })
  const port = await new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port))
  })
  const deaf = {
    url: `https://127.0.0.1:${port}`,
    connections: 0,
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
  return deaf
}

describe('kill -9 at random moments', () => {
  test.concurrent(
    `under ${CALLERS} callers, ${ROUNDS} times`,
    async () => {
      using vendor = startTaskVendor()
      using receiver = startReceiver()
      const place = await preparePlace(vendor, receiver)
      const { installation } = place
      // One in three fails, and some are slow to answer.
      const pause = (mostMs = 60) => Bun.sleep(Math.random() * mostMs)
      const accepted = async (id: string) => {
        await pause(400)
        return taken(id)
      }
      vendor.answerPoll = async (id) => {
        await pause()
        return hasFailed(id) ? failed(id) : succeeded(id)
      }
      receiver.answer = async () => {
        await pause()
        return new Response('thanks')
      }
      const answered: string[] = []
      for (let round = 1; round <= ROUNDS; round++) {
        const server = await installation.serve()
        const before = { submits: vendor.submits.length, polls: vendor.polls.length }
        // One answer of each round is lost.
        const lost = heldBack(taken)
        vendor.answerSubmit = (id) =>
          vendor.submits.length === before.submits + 1 ? lost.answer(id) : accepted(id)
        const callers = Array.from({ length: CALLERS }, (_, index) =>
          keepSubmitting(place, server, `${round}-${index}`, answered),
        )
        // Polls begin two seconds after the submit, and webhooks after them.
        await waitFor(() => vendor.submits.length > before.submits && vendor.polls.length > before.polls)
        await Bun.sleep(Math.random() * 600)
        await kill(server)
        lost.letGo()
        await Promise.all(callers)
        expect(await installation.problems()).toEqual([])
      }
      const last = await installation.serve()
      const unknown = (await installation.json('tasks', 'list', '--state', 'unknown', '--limit', '1000'))
        .length
      await waitFor(async () => (await open(installation)).length === 0)
      await expectAllTold(place, answered)
      expect(unknown).toBeGreaterThanOrEqual(ROUNDS)
      last.kill('SIGTERM')
      expect(await last.ended).toMatchObject({ code: 0, signal: null })
      expect(await installation.problems()).toEqual([])
    },
    120_000 + ROUNDS * 30_000,
  )
})

const hasFailed = (upstreamId: string) => Number(upstreamId.slice('ds-'.length)) % 3 === 0

/** Submits one task after another until the server is gone; records the id of each answered one. */
async function keepSubmitting(place: Place, server: Running, name: string, answered: string[]) {
  try {
    for (let number = 1; ; number++) {
      const reply = await submit(place, server, `${name}-${number}`)
      expect(reply.status).toBe(202)
      answered.push(((await reply.json()) as { id: string }).id)
    }
  } catch (error) {
    // It was killed.
    if (!/socket|closed|refused|ConnectionRefused|ECONNRESET|connect/i.test(String(error))) throw error
  }
}

/** Tasks that are still followed, and webhooks that are still to be delivered. */
function open(installation: Installation): Promise<Row[]> {
  return installation.rows(`select id from tasks where state = 'submitted' and upstream_id is not null
    union all select id from webhooks where state = 'pending'`)
}

/** Compares what the vendor, the receiver and the books say about all tasks of the rounds. */
async function expectAllTold(place: Place, answered: readonly string[]): Promise<void> {
  const { installation, vendor, receiver } = place
  expect(await open(installation)).toEqual([])
  const prompts = vendor.submits.map(({ prompt }) => prompt)
  expect(new Set(prompts).size).toBe(prompts.length)
  const tasks = await installation.rows('select * from tasks')
  const ids = new Set(tasks.map(({ id }) => id))
  expect(answered.filter((id) => !ids.has(id))).toEqual([])
  const followed = tasks.filter((task) => typeof task.upstream_id === 'string')
  for (const { state, upstream_id } of followed)
    expect(state).toBe(hasFailed(upstream_id as string) ? 'failed' : 'succeeded')
  const rest = tasks.filter((task) => task.upstream_id === null)
  expect(rest.filter(({ error_code, state }) => error_code !== 'unknown' || state !== 'submitted')).toEqual(
    [],
  )
  // Every submit that reached the vendor is a task of the gateway.
  expect(vendor.submits.length).toBeLessThanOrEqual(tasks.length)
  const good = tasks.filter(({ state }) => state === 'succeeded').length
  expect(await installation.rows('select balance, held from accounts')).toEqual([
    { balance: BALANCE_NANO - good * VIDEO_NANO, held: rest.length * VIDEO_NANO },
  ])
  const webhooks = await installation.rows('select id, task from webhooks')
  expect(new Set(webhooks.map(({ task }) => task)).size).toBe(followed.length)
  expect(idsOf(receiver).sort()).toEqual(webhooks.map(({ id }) => id as string).sort())
}

describe('a database that is unreachable when the vendor answers', () => {
  test.concurrent('has its id later, and the task is not sent again', async () => {
    using vendor = startTaskVendor()
    using receiver = startReceiver()
    const place = await preparePlace(vendor, receiver)
    const { installation } = place
    const held = heldBack(taken)
    vendor.answerSubmit = held.answer
    vendor.answerPoll = succeeded
    const server = await installation.serve()
    const answer = submit(place, server, 'one')
    await waitFor(() => vendor.submits.length === 1)
    const lock = lockDatabase(installation.dataDir)
    held.letGo()
    // It is answered although its id is not stored: the task exists, and the caller can query it.
    const reply = await answer
    expect(reply.status).toBe(202)
    const { id } = (await reply.json()) as { id: string }
    expect(await onlyTask(place)).toMatchObject({ id, upstream_id: null, state: 'submitted' })
    const reported = `"event":"task_not_stored_yet","task":"${id}","upstream_id":"ds-1"`
    await waitFor(() => server.stderr().includes(reported))
    lock.letGo()
    await waitFor(async () => (await onlyTask(place))?.state === 'succeeded')
    await waitFor(() => receiver.deliveries.length === 1)
    expect(vendor.submits).toHaveLength(1)
    await expectPaid(place, VIDEO_NANO)
    expect(idsOf(receiver)).toHaveLength(1)
    await stopWell(installation, server)
  })

  test.concurrent('and a process that dies meanwhile: the next one has its id from the disk', async () => {
    using vendor = startTaskVendor()
    using receiver = startReceiver()
    const place = await preparePlace(vendor, receiver)
    const { installation } = place
    const held = heldBack(taken)
    vendor.answerSubmit = held.answer
    vendor.answerPoll = succeeded
    const server = await installation.serve()
    const answer = submit(place, server, 'one')
    await waitFor(() => vendor.submits.length === 1)
    const lock = lockDatabase(installation.dataDir)
    held.letGo()
    const { id } = (await (await answer).json()) as { id: string }
    await kill(server)
    lock.letGo()
    expect((await server.ended).stderr).toContain(
      `"event":"task_not_stored_yet","task":"${id}","upstream_id":"ds-1"`,
    )
    expect(await onlyTask(place)).toMatchObject({ id, upstream_id: null })
    const again = await installation.serve()
    expect(await onlyTask(place)).toMatchObject({ id, upstream_id: 'ds-1', error_code: null })
    expect(vendor.submits).toHaveLength(1)
    await waitFor(async () => (await onlyTask(place))?.state === 'succeeded')
    await waitFor(() => receiver.deliveries.length === 1)
    await expectPaid(place, VIDEO_NANO)
    await stopWell(installation, again)
  })
})
