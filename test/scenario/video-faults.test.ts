// Failing vendors of videos: a submit whose answer is lost is never repeated and its price stays held, a failed poll never ends a
// task, and the last report before the deadline counts.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createPoller } from '../../src/tasks/poller'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { freePort } from '../support/processes/free-port'
import type { Json } from '../support/scenario'
import { type Break, startBreakingVendor } from '../support/vendors/breaking'
import { type OddVendor, startVendor } from '../support/vendors/vendor'
import { videoVendors } from '../support/vendors/video-replies'
import { endAll, makeClock, passUntil, readTask, rowsOf } from '../support/video-requests'

setDefaultTimeout(180_000)

const PATH = '/v1/videos/generations'
const CENT = 10_000_000
const DAY_MS = 24 * 3_600_000
const form = videoVendors.xai
const entry = {
  family: form.family,
  upstreamModel: form.model,
  price: { per_second: { '720p': '0.01' } },
  durations: { min: 1, max: 15, default: 5 },
}

const clock = makeClock()
const breaking = startBreakingVendor()
let vendor: OddVendor
let gateway: TestGateway
let submitReply: (id: string) => Response | Promise<Response>
/** Answers to the polls of a task, one after the other; after them the task succeeds. */
let pollReplies: Map<string, (() => Response | Promise<Response>)[]>
/** The times of the polls of each task. */
let polls: Map<string, number[]>

const json =
  (body: unknown, status = 200, headers = {}) =>
  () =>
    Response.json(body, { status, headers })
const pending = json({ status: 'pending' }, 202)
const done = json(form.succeeded(''))
const gone = json({ code: 'Some requested entity was not found', error: 'not found' }, 404)
const broken = json({ error: 'Service temporarily unavailable' }, 500)
const taken = (id: string) => Response.json(form.submitted(id))

beforeAll(async () => {
  vendor = startVendor()
  submitReply = taken
  pollReplies = new Map()
  polls = new Map()
  vendor.answer = (request) => {
    if (request.method === 'POST') return submitReply(`task-${vendor.requests}`)
    const id = new URL(request.url).pathname.split('/').at(-1) ?? ''
    polls.set(id, [...(polls.get(id) ?? []), clock.now()])
    return (pollReplies.get(id)?.shift() ?? done)()
  }
  gateway = await startTestGateway({
    outside: clock,
    upstreams: {
      odd: { kind: form.kind, baseUrl: vendor.url, apiKey: 'none', timeoutMs: 500, pollsPerSecond: 1000 },
      breaking: { kind: form.kind, baseUrl: breaking.url, apiKey: 'none', timeoutMs: 60_000 },
      absent: { kind: form.kind, baseUrl: `http://127.0.0.1:${await freePort()}`, apiKey: 'none' },
    },
    models: {
      odd: { ...entry, upstream: 'odd' },
      breaking: { ...entry, upstream: 'breaking' },
      absent: { ...entry, upstream: 'absent' },
    },
  })
})
afterAll(async () => {
  await gateway.close()
  await vendor.stop()
  breaking[Symbol.dispose]()
})

function submit(model: string): Promise<Response> {
  return gateway.post(PATH, { model, ...form.body('x') })
}

/** Submits a task to the vendor of the tests. */
async function begin(replies: (() => Response | Promise<Response>)[]) {
  submitReply = taken
  const { id } = (await (await submit('odd')).json()) as Json
  const upstreamId: string = (await rowsOf(gateway, id)).upstream_id
  pollReplies.set(upstreamId, replies)
  return { id, polls: () => polls.get(upstreamId) ?? [] }
}

async function tasksOf(model: string): Promise<number> {
  const sql = 'select id from tasks where model = $1'
  return (await gateway.server.world.db.query({ sql, parameters: [model] })).length
}

const isEnded = (id: string) => async () => (await readTask(gateway, id)).status !== 'submitted'

describe('a submit', () => {
  test('that reaches no server is tried again, refused, and leaves nothing', async () => {
    const response = await submit('absent')
    const { error } = (await response.json()) as Json
    expect([response.status, error.code]).toEqual([502, 'upstream_unreachable'])
    expect(error.message).toContain('Try again later')
    expect(await gateway.newestCharge()).toMatchObject({ state: 'released', amount: 0 })
    expect(await tasksOf('absent')).toBe(0)
  })

  test.each(['reset', 'close', 'half an answer', 'no answer'] satisfies Break[])(
    'that ends in %s is sent once, and kept',
    async (how) => {
      breaking.how = how
      const before = breaking.requests
      const answer = submit('breaking')
      if (how === 'no answer') {
        await passUntil(clock, () => breaking.requests > before, 0)
        clock.pass(60_000)
      }
      await expectUnknown(await answer)
      expect(breaking.requests - before).toBe(1)
    },
  )

  const rows: [name: string, reply: () => Response][] = [
    ['500', json({ error: 'Internal error' }, 500)],
    ['502', () => new Response('<html>Bad gateway</html>', { status: 502 })],
    ['504', () => new Response('', { status: 504 })],
    ['a page', () => new Response('<html>Hello</html>', { headers: { 'content-type': 'text/html' } })],
    ['nothing', () => new Response('')],
    ['a list', json([])],
    ['an object without an id', json({ status: 'pending' })],
    ['an id that is a number', json({ request_id: 7 })],
    ['an id that is empty', json({ request_id: '' })],
    ['half an object', () => new Response('{"request_id":"task-')],
  ]
  test.each(rows)('that is answered by %s is sent once, and kept', async (_name, reply) => {
    submitReply = reply
    const before = vendor.requests
    await expectUnknown(await submit('odd'))
    expect(vendor.requests - before).toBe(1)
  })

  test('that is answered by the id of another task is kept, but not followed', async () => {
    const { id } = await begin(Array.from({ length: 100 }, () => pending))
    const { upstream_id: upstreamId } = await rowsOf(gateway, id)
    submitReply = () => taken(upstreamId)
    await expectUnknown(await submit('odd'))
    expect(gateway.log.some(({ event }) => event === 'task_id_refused')).toBe(true)
    expect(await readTask(gateway, upstreamId)).toMatchObject({ id })
    pollReplies.clear()
  })

  test('whose answer was lost is never sent again, is seen by the operator, and costs nothing in the end', async () => {
    const { db } = gateway.server.world
    const unknown = await db.query({ sql: `select id from tasks where error_code = 'unknown'` })
    expect(unknown).toHaveLength(4 + rows.length + 1)
    const alarms = gateway.log
      .filter(({ event }) => event === 'task_unknown')
      .map(({ fields }) => fields.task)
    expect(alarms.length).toBeGreaterThanOrEqual(unknown.length - 1)
    const before = [vendor.requests, breaking.requests]
    clock.pass(DAY_MS - 3_600_000)
    await createPoller(gateway.server.world).sweep()
    for (const { id } of unknown)
      expect(await readTask(gateway, id as string)).toMatchObject({ status: 'submitted' })
    clock.pass(3_700_000)
    await createPoller(gateway.server.world).sweep()
    for (const { id } of unknown) {
      const task = await readTask(gateway, id as string)
      expect(task).toMatchObject({ status: 'failed', error: { code: 'timed_out' } })
      expect(task.error.message).toContain('Nothing was charged')
      expect(await rowsOf(gateway, id as string)).toMatchObject({ charge_state: 'released', amount: 0 })
    }
    await endAll(gateway, clock)
    const posts = [vendor.requests - [...polls.values()].flat().length, breaking.requests]
    expect(posts[1]).toBe(before[1] as number)
    expect(posts[0]).toBe(rows.length + 2)
  })

  test('whose wait meets a fault of the gateway is answered with the task, and logged once', async () => {
    const { db } = gateway.server.world
    submitReply = taken
    const [calls, rows] = [vendor.requests, (await gateway.requestLog()).length]
    const answer = gateway.post(`${PATH}?wait=5`, { model: 'odd', ...form.body('x') })
    const isAccepted = 'select id from tasks where model = $1 and upstream_id = $2'
    await passUntil(
      clock,
      async () => (await db.query({ sql: isAccepted, parameters: ['odd', `task-${calls + 1}`] })).length > 0,
      0,
    )
    await db.batch([{ sql: 'alter table tasks rename to hidden_tasks' }])
    let response: Response
    try {
      await passUntil(clock, async () => gateway.log.some(({ event }) => event === 'task_wait_failed'), 250)
      response = await answer
    } finally {
      await db.batch([{ sql: 'alter table hidden_tasks rename to tasks' }])
    }
    const task = (await response.json()) as Json
    expect([response.status, task.status]).toEqual([200, 'submitted'])
    expect((await rowsOf(gateway, task.id)).upstream_id).toBe(`task-${calls + 1}`)
    expect((await gateway.requestLog()).slice(rows)).toMatchObject([{ status: 200, error_code: null }])
  })

  /** The caller has a task that can be queried; it has no vendor id, and its price is held. */
  async function expectUnknown(response: Response): Promise<void> {
    const task = (await response.json()) as Json
    expect([response.status, task.status]).toEqual([200, 'submitted'])
    expect(Object.keys(task)).toEqual(['id', 'model', 'status', 'created_at'])
    const { error } = await readTask(gateway, task.id)
    expect(error.code).toBe('unknown')
    expect(error.message).toContain('It is not sent again')
    expect(await rowsOf(gateway, task.id)).toMatchObject({
      state: 'submitted',
      upstream_id: null,
      charge_state: 'held',
      held: 5 * CENT,
    })
    const [row] = (await gateway.requestLog()).slice(-1)
    expect(row).toMatchObject({ status: 200, error_code: null })
  }
})

describe('a poll', () => {
  const hang = () => new Promise<Response>(() => {})
  const rows: [name: string, replies: (() => Response | Promise<Response>)[]][] = [
    ['500, five times', Array.from({ length: 5 }, () => broken)],
    ['429', [json({ error: 'Too many requests' }, 429, { 'retry-after': '60' })]],
    ['no answer', [hang]],
    ['a page', [() => new Response('<html>Hello</html>')]],
    ['half an object', [() => new Response('{"status":"do')]],
    ['a list', [json([])]],
    ['an unknown status', [json({ status: 'dreaming' }), json({ status: 7 })]],
    ['a refusal of the key', [json({ error: 'Incorrect API key provided' }, 401)]],
    ['a redirect', [() => Response.redirect('https://example.com/')]],
    ['404, once', [gone]],
    ['404 twice, and again after something else', [gone, gone, broken, gone, gone, pending, gone, gone]],
  ]
  test('without a usable answer never ends a task', async () => {
    const tasks = await Promise.all(
      rows.map(async ([name, replies]) => ({ name, count: replies.length, ...(await begin([...replies])) })),
    )
    await endAll(gateway, clock)
    for (const { name, count, id, polls } of tasks) {
      const { status } = await readTask(gateway, id)
      expect({ name, status, polls: polls().length }).toEqual({ name, status: 'succeeded', polls: count + 1 })
      expect(await rowsOf(gateway, id)).toMatchObject({ charge_state: 'settled', amount: 5 * CENT })
    }
  })

  test('that fails is tried later each time; one that waits is at most half a minute away', async () => {
    const failing = await begin(Array.from({ length: 9 }, () => broken))
    const busy = await begin([json({ error: 'Too many requests' }, 429, { 'retry-after': '120' })])
    const slow = await begin(Array.from({ length: 100 }, () => pending))
    for (const { id } of [failing, busy]) await passUntil(clock, isEnded(id), 20_000)
    const pauses = (times: number[]) => times.slice(1).map((time, index) => time - (times[index] as number))
    for (const [index, pause] of pauses(failing.polls()).entries()) {
      expect(pause).toBeGreaterThanOrEqual(Math.min(5_000 * 2 ** index, 300_000))
    }
    expect(pauses(busy.polls())[0]).toBeGreaterThanOrEqual(120_000)
    // By now it is older than five minutes.
    const count = slow.polls().length
    await passUntil(clock, () => slow.polls().length === count + 4, 5_000)
    expect(Math.min(...pauses(slow.polls()))).toBeGreaterThanOrEqual(3_000)
    expect(pauses(slow.polls()).at(-1)).toBeGreaterThanOrEqual(30_000)
    pollReplies.clear()
    await endAll(gateway, clock)
  })

  test('that finds no such task three times in a row ends it for free', async () => {
    const { id, polls } = await begin([pending, gone, gone, gone])
    await passUntil(clock, isEnded(id))
    const task = await readTask(gateway, id)
    expect(task).toMatchObject({ status: 'failed', error: { code: 'task_lost' } })
    expect(polls()).toHaveLength(4)
    expect(await rowsOf(gateway, id)).toMatchObject({ charge_state: 'released', amount: 0 })
  })
})

describe('the deadline', () => {
  test('ends a task that is still running, after a last poll', async () => {
    const { id, polls } = await begin(Array.from({ length: 10_000 }, () => pending))
    const { deadline_at: deadline } = await rowsOf(gateway, id)
    // A running poll must not arrive after the deadline: the clock waits for its answer.
    clock.pass(deadline - clock.now() - 1)
    await waitFor(async () => (await rowsOf(gateway, id)).poll_at === deadline)
    await passUntil(clock, isEnded(id))
    expect(await readTask(gateway, id)).toMatchObject({ status: 'failed', error: { code: 'timed_out' } })
    expect(polls().filter((time) => time >= deadline)).toHaveLength(1)
    expect(await rowsOf(gateway, id)).toMatchObject({ charge_state: 'released', amount: 0 })
  })

  test.each([
    ['says that it is done', done, 'succeeded', 5 * CENT],
    ['says nothing', broken, 'failed', 0],
  ] as const)('is too late if the last poll %s', async (_name, last, state, amount) => {
    const { id, polls } = await begin([pending, last])
    await passUntil(clock, async () => (await rowsOf(gateway, id)).polls === 1)
    // Nobody could ask for a day.
    clock.pass(DAY_MS)
    await passUntil(clock, isEnded(id))
    expect(polls()).toHaveLength(2)
    expect(await rowsOf(gateway, id)).toMatchObject({ state, amount })
  })
})
