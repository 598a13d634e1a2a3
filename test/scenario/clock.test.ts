// The gateway's clock when the system clock is set: it never jumps or goes back, it follows within a day, and stored times stay
// valid. Then the whole gateway, while the system clock is set by hours.

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import {
  createClock,
  followDatabase,
  gatewayTime,
  latestTime,
  type NotedTime,
  noteTime,
  ReachedTime,
  timeOf,
} from '../../src/app/clock'
import type { Outside } from '../../src/app/world'
import type { ModelConfig } from '../../src/config/schema'
import { directTransport } from '../../src/http-client/origin'
import { databaseKinds, openTestDatabase } from '../support/databases/databases'
import { say, startTestGateway, testModels, waitFor } from '../support/gateway'
import { closeNodes, restart, startTwin } from '../support/nodes'
import { createRandom } from '../support/random'
import { rejection } from '../support/rejection'
import type { Json } from '../support/scenario'
import { startTaskVendor, succeeded, videoBody, working } from '../support/vendors/task'
import { completion, startVendor } from '../support/vendors/vendor'

setDefaultTimeout(180_000)

const START = Date.UTC(2026, 4, 1, 12)
const SECOND = 1_000
const HOUR = 3_600_000
const DAY = 24 * HOUR

/** A machine whose time passes only when a test says so, and whose clock can be set. */
function makeMachine() {
  let passedMs = 0
  let setMs = START
  return {
    monotonic: () => passedMs,
    wall: () => setMs + passedMs,
    pass(milliseconds: number) {
      passedMs += milliseconds
    },
    set(byMs: number) {
      setMs += byMs
    },
  }
}

function makeClock(noted?: NotedTime) {
  const machine = makeMachine()
  const log: unknown[] = []
  const now = createClock({
    monotonic: machine.monotonic,
    reference: machine.wall,
    log: (event, fields) => log.push([event, fields]),
    noted,
  })
  return { ...machine, now, log }
}

describe('the clock', () => {
  test('follows the clock of the machine while nobody sets it', () => {
    const { now, wall, pass, log } = makeClock()
    for (let look = 0; look < 1_000; look++) {
      pass(look % 7)
      expect(now()).toBe(wall())
    }
    expect(log).toEqual([])
  })

  const hours = [-5, -1, 1, 3, 12, 24 * 365]
  for (const byHours of hours) {
    test(`continues when the machine is set by ${byHours} hours, and is right within two days`, () => {
      const { now, wall, pass, set, log } = makeClock()
      pass(HOUR)
      const before = now()
      set(byHours * HOUR)
      expect(now()).toBe(before)
      pass(SECOND)
      expect(Math.abs(now() - before - SECOND)).toBeLessThanOrEqual(
        Math.ceil(SECOND * Math.max(0.1, Math.abs(byHours) / 24)),
      )
      for (let minutes = 0; minutes < 2 * 24 * 60; minutes++) {
        const last = now()
        pass(60 * SECOND)
        expect(now()).toBeGreaterThanOrEqual(last + 30 * SECOND)
      }
      expect(now()).toBe(wall())
      expect(log).toEqual([['clock_jumped', { by_ms: byHours * HOUR }]])
    })
  }

  test('hardly moves if a jump is soon corrected', () => {
    const { now, pass, set } = makeClock()
    set(3 * HOUR)
    for (let second = 0; second < 600; second++) {
      pass(SECOND)
      now()
    }
    set(-3 * HOUR)
    expect(now() - START - 600 * SECOND).toBeLessThanOrEqual(80 * SECOND)
  })

  test('never goes back and stays within its bounds, whatever happens to the clock of the machine', () => {
    const random = createRandom(7)
    for (let run = 0; run < 200; run++) {
      const { now, pass, set } = makeClock()
      let last = now()
      for (let step = 0; step < 200; step++) {
        if (random.chance(0.1)) set((random.below(10 * HOUR) - 5 * HOUR) | 0)
        const passedMs = random.below(random.pick([10, 1_000, 600_000]))
        pass(passedMs)
        const at = now()
        expect(at - last).toBeGreaterThanOrEqual(Math.floor(passedMs / 2) - 1)
        expect(at - last).toBeLessThanOrEqual(Math.ceil(passedMs * 4) + 1)
        last = at
      }
    }
  })

  test('starts at the recorded time if the machine was set back meanwhile, unless the recorded time is absurd', () => {
    const begun = (at: number, reference = at) => makeClock({ at, reference }).now()
    expect(begun(START - HOUR)).toBe(START)
    expect(begun(START + HOUR)).toBe(START + HOUR)
    expect(begun(START + 2 * DAY)).toBe(START)
  })

  test('starts with the time of running nodes, which have not followed a jump yet', () => {
    const begun = (at: number, reference: number) => makeClock({ at, reference }).now()
    expect(begun(START - 3 * HOUR, START - 5 * SECOND)).toBe(START - 3 * HOUR + 5 * SECOND)
    expect(begun(START + 3 * HOUR, START - 5 * SECOND)).toBe(START + 3 * HOUR + 5 * SECOND)
    expect(begun(START - 3 * HOUR, START - 10 * 60 * SECOND)).toBe(START)
  })

  test('of two nodes that started at different times differs by seconds at most, however often the reference is set', async () => {
    const random = createRandom(11)
    for (let run = 0; run < 2; run++) {
      const db = await openTestDatabase('sqlite')
      const { monotonic, wall, pass, set } = makeMachine()
      const start = async () => {
        const reached = new ReachedTime(monotonic)
        const noted = await latestTime(db)
        const parts = { monotonic, reference: wall, log: () => {}, noted, reached: reached.at }
        return { now: createClock(parts), reached }
      }
      const nodes = [await start(), await start()]
      let aheadHours = 0
      for (let beat = 0; beat < 400; beat++) {
        const byHours = random.chance(0.02) ? random.pick([-5, -3, -1, 1, 2]) : 0
        if (Math.abs(aheadHours + byHours) < 10) {
          set(byHours * HOUR)
          aheadHours += byHours
        }
        if (random.chance(0.02)) nodes[random.below(2)] = await start()
        pass(15 * SECOND)
        for (const { now, reached } of nodes) {
          await noteTime(db, { at: now(), reference: wall() })
          await reached.refresh(db)
        }
        const [one = 0, other = 0] = nodes.map(({ now }) => now())
        // Between two comparisons one may run faster than the other by half.
        expect(Math.abs(one - other)).toBeLessThan(20 * SECOND)
      }
      await db.close()
    }
  })

  for (const kind of databaseKinds) {
    test(`records the latest time of all nodes that share a database on ${kind}`, async () => {
      const db = await openTestDatabase(kind)
      const note = async (at: number) => {
        await noteTime(db, { at, reference: START })
        return (await latestTime(db))?.at
      }
      expect(await latestTime(db)).toBeUndefined()
      expect(await note(START)).toBe(START)
      expect(await note(START - HOUR)).toBe(START)
      expect(await note(START + HOUR)).toBe(START + HOUR)
      expect(await note(START - 3 * DAY)).toBe(START - 3 * DAY)
      // The clock was set between two notes of one moment: a node that starts now compares its own with the later.
      const later = { at: START, reference: START + 3 * HOUR }
      await note(START)
      await noteTime(db, later)
      expect(await latestTime(db)).toEqual(later)
      await db.close()
    })
  }

  for (const kind of databaseKinds) {
    test(`is also the time of commands that run next to the gateway on ${kind}`, async () => {
      const db = await openTestDatabase(kind)
      const reference = async () => (kind === 'postgres' ? await timeOf(db) : START)
      /** Milliseconds that the gateway's time is behind the reference, which keeps running: at least, and at most. */
      const behindMs = async (): Promise<[number, number]> => {
        const before = await reference()
        const time = await gatewayTime(db, START)
        return [before - time, (await reference()) - time]
      }
      const [least, most] = await behindMs()
      expect(least).toBeLessThanOrEqual(0)
      expect(most).toBeGreaterThanOrEqual(0)
      // The clock was set by an hour, and the nodes make up for it within a day.
      const reported = await reference()
      await noteTime(db, { at: reported - HOUR - 2 * SECOND, reference: reported - 2 * SECOND })
      const [leastSet, mostSet] = await behindMs()
      expect(leastSet).toBeLessThanOrEqual(HOUR)
      expect(mostSet).toBeGreaterThanOrEqual(HOUR)
      await db.close()
    })
  }

  test('of nodes on PostgreSQL is the time of the database', async () => {
    const db = await openTestDatabase('postgres')
    // The clock of this process stands still, so its estimate of the database's time lies between two readings of that.
    const { at, refresh } = await followDatabase(
      () => timeOf(db),
      () => 0,
    )
    const before = await timeOf(db)
    await refresh()
    expect(at()).toBeGreaterThanOrEqual(before)
    expect(at()).toBeLessThanOrEqual(await timeOf(db))
    await db.close()
  })

  test('does not mistake a slow reading for a jump, and survives an unreachable database', async () => {
    const machine = makeMachine()
    let slowMs = 0
    const { at, refresh } = await followDatabase(async () => {
      if (slowMs < 0) throw new Error('away')
      machine.pass(slowMs)
      return machine.wall()
    }, machine.monotonic)
    slowMs = 10 * SECOND
    await refresh()
    expect(at()).toBe(machine.wall())
    slowMs = -1
    expect((await rejection(refresh())).message).toContain('away')
    machine.pass(HOUR)
    expect(at()).toBe(machine.wall())
  })
})

for (const kind of databaseKinds) {
  for (const byHours of [3, 1, -1, -5]) {
    describe(`a machine whose clock is set by ${byHours} hours, on ${kind}`, () => {
      test.concurrent('cuts no stream, releases no hold, and stops no poll', () =>
        survives(kind, byHours * HOUR))
      test.concurrent('continues its tasks after a restart', () => survivesRestart(kind, byHours * HOUR))
    })
  }
}

/** A clock that is set while real time passes. */
function makeSetClock() {
  let setMs = 0
  const wall = () => Date.now() + setMs
  return {
    outside: { wall, databaseTime: async () => wall() },
    set(byMs: number) {
      setMs += byMs
    },
  }
}

async function survives(kind: 'sqlite' | 'postgres', byMs: number) {
  using vendor = startTaskVendor()
  const machine = makeSetClock()
  const gateway = await startTestGateway({
    database: kind,
    outside: machine.outside,
    upstreams: { dashscope: vendor.upstream },
    tokenDelayMs: 250,
  })
  const { db, followTime } = gateway.server.world
  const streamed = await gateway.chat({ stream: true, max_tokens: 40 })
  const { id } = (await (await gateway.post('/v1/videos/generations', videoBody('x'))).json()) as Json
  vendor.answerPoll = working
  machine.set(byMs)
  await followTime()
  // The hold of the stream and the task exist all the time, and the vendor is polled.
  await waitFor(() => vendor.polls.length > 0)
  expect(vendor.polls.length).toBeGreaterThan(0)
  const whole = await streamed.text()
  expect(whole).toContain('[DONE]')
  expect(whole).not.toContain('"error"')
  vendor.answerPoll = succeeded
  const stateOf = async () =>
    (await db.query({ sql: 'select state from tasks where id = $1', parameters: [id] }))[0]?.state
  await waitFor(async () => (await stateOf()) === 'succeeded')
  expect(await stateOf()).toBe('succeeded')
  const charges = await gateway.charges()
  expect(charges.map(({ state, ended_by }) => `${state} ${ended_by}`)).toEqual([
    'settled done',
    'settled done',
  ])
  await gateway.close()
}

async function survivesRestart(kind: 'sqlite' | 'postgres', byMs: number) {
  using vendor = startTaskVendor()
  const machine = makeSetClock()
  const options = {
    outside: machine.outside,
    upstreams: { dashscope: vendor.upstream },
  }
  const gateway = await startTestGateway({ ...options, database: kind })
  const { id } = (await (await gateway.post('/v1/videos/generations', videoBody('x'))).json()) as Json
  vendor.answerPoll = working
  const polls = async () =>
    (await gateway.server.world.db.query({ sql: 'select polls from tasks' }))[0]?.polls as number
  await waitFor(async () => (await polls()) > 0)
  machine.set(byMs)
  vendor.answerPoll = succeeded
  const again = await restart(gateway, options)
  const { db } = again.server.world
  const stateOf = async () =>
    (await db.query({ sql: 'select state from tasks where id = $1', parameters: [id] }))[0]?.state
  await waitFor(async () => (await stateOf()) === 'succeeded')
  expect(await stateOf()).toBe('succeeded')
  await again.close()
  await gateway.sandbox.stop()
}

/** How many times faster than real time the nodes of the test below run. */
const SPEED = 10

test.skipIf(!databaseKinds.includes('postgres'))(
  'a database that is two hours ahead while a node starts has no running hold released',
  async () => {
    const begunAt = Date.now()
    let setMs = 0
    let hasStarted = false
    const monotonic = () => performance.now() * SPEED
    const timeAhead = (aheadMs: number) => begunAt + monotonic() + aheadMs
    const after: Outside['after'] = (milliseconds, run) => {
      const timer = setTimeout(run, milliseconds / SPEED)
      return () => clearTimeout(timer)
    }
    const outsideOf = (aheadMs: () => number) => ({
      monotonic,
      after,
      wall: () => timeAhead(0),
      databaseTime: async () => timeAhead(aheadMs()),
    })
    // The first one looks at the clock every few seconds: it learns of the jump after the other has begun with it.
    const first = await startTestGateway({
      database: 'postgres',
      outside: outsideOf(() => (hasStarted ? setMs : 0)),
      tokenDelayMs: 200,
    })
    const body = { stream: true, max_tokens: 40, messages: say('[sandbox tokens=40]') }
    const streams = await Promise.all(Array.from({ length: 20 }, () => first.chat(body)))
    setMs = 2 * HOUR
    const second = await startTwin(first, { outside: outsideOf(() => setMs) })
    hasStarted = true
    expect(second.server.world.now() - first.server.world.now()).toBeGreaterThan(HOUR)
    const texts = await Promise.all(streams.map((stream) => stream.text()))
    expect(texts.filter((text) => text.endsWith('data: [DONE]\n\n'))).toHaveLength(20)
    const charges = await first.charges()
    expect(charges.map(({ state, ended_by }) => `${state} ${ended_by}`)).toEqual(
      Array(20).fill('settled done'),
    )
    expect(charges.filter(({ id }) => String(id).endsWith(':late'))).toEqual([])
    await closeNodes([first, second])
  },
)

test('a process that is paused between a hold and its request sends nothing, and a repeat is answered', async () => {
  const STILL_MS = HOUR
  let still = 0
  let standsStill = false
  const stand = () => {
    if (standsStill) still += STILL_MS
    standsStill = false
  }
  const vendor = startVendor()
  let asked = 0
  vendor.answer = () => {
    asked++
    return Response.json(completion('Hi', 5, 7))
  }
  const gateway = await startTestGateway({
    upstreams: { odd: vendor.upstream },
    models: { odd: { ...(testModels['test-chat'] as ModelConfig), upstream: 'odd' } },
    outside: {
      monotonic: () => performance.now() + still,
      transport: {
        open: (...place) => {
          const origin = directTransport.open(...place)
          return {
            ...origin,
            close: () => origin.close(),
            send(request) {
              stand()
              return origin.send(request)
            },
          }
        },
      },
    },
  })
  const ask = () => gateway.chat({ model: 'odd' })
  expect((await ask()).status).toBe(200)
  const refused = async () => {
    const { status, headers } = await ask()
    return [status, headers.get('retry-after'), asked]
  }
  // If the last check of the time was before the call, on a new or a used connection.
  standsStill = true
  expect(await refused()).toEqual([503, '1', 1])
  const { db } = gateway.server.world
  const { move } = db
  db.move = async (movement) => {
    db.move = move
    const result = await move(movement)
    standsStill = true
    stand()
    return result
  }
  expect(await refused()).toEqual([503, '1', 1])
  expect((await ask()).status).toBe(200)
  await waitFor(async () => (await gateway.balance()).heldNano === 0)
  expect((await gateway.charges()).filter(({ amount }) => Number(amount) > 0)).toHaveLength(2)
  await gateway.close()
  await vendor.stop()
})
