// Background jobs, with a clock that the test controls: no job is late, and an idle process sleeps.

import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { createKey, unlimited } from '../../src/accounts/keys'
import { startScheduler } from '../../src/app/scheduler'
import { openWorld, outside, type World } from '../../src/app/world'
import type { BackupSchedule } from '../../src/backup/schedule'
import type { Reencryption } from '../../src/db/encryption/reencryption'
import type { Transport } from '../../src/http-client/transport'
import type { Gateway } from '../../src/request/line'
import { createPoller, type Poller } from '../../src/tasks/poller'
import { insertTask } from '../../src/tasks/rows'
import { insertWebhook } from '../../src/webhooks/rows'
import { temporaryFolder } from '../support/databases/databases'

const START = Date.parse('2026-01-02T03:04:05Z')

let time: ReturnType<typeof createTime>
let world: World
/** The times at which each webhook was sent. */
let sentAt: number[]
let log: { event: string; fields: Record<string, unknown> }[]
let stop: () => Promise<void>
let leave: () => Promise<void>

beforeEach(async () => {
  time = createTime()
  sentAt = []
  log = []
  const transport: Transport = {
    open: () => ({
      async send() {
        sentAt.push(time.now())
        throw new Error('the receiver is away')
      },
      close() {},
    }),
  }
  world = await openWorld(
    { upstreams: {}, models: {}, webhooks: { allow: ['127.0.0.0/8'] } },
    temporaryFolder(),
    {
      ...outside,
      wall: time.now,
      monotonic: time.now,
      after: time.after,
      transport,
      lookup: async () => ['127.0.0.1'],
      log: (event, fields) => log.push({ event, fields }),
    },
  )
})

afterEach(async () => {
  const stopped = stop()
  await time.pass(3_000)
  await stopped
  await world.close()
})

/** How often each of the rare jobs has run. */
const runs = { encrypt: 0, renew: 0, backUp: 0, discover: 0 }

function start(
  poller: Poller = createPoller(world),
  backups: Pick<BackupSchedule, 'beat' | 'stop'> = { beat: async () => void runs.backUp++, stop() {} },
): void {
  const gateway = { runs: () => false, endLater: async () => {} } as unknown as Gateway
  const reencryption = { beat: async () => runs.encrypt++, stop() {} } as unknown as Reencryption
  const entrance = { renew: async () => void runs.renew++ }
  const retention = { beat: async () => {}, stop() {} }
  const takeover = { check: async () => {} }
  const discovery = { refresh: async () => void runs.discover++ }
  const scheduler = startScheduler(world, {
    gateway,
    poller,
    reencryption,
    entrance,
    takeover,
    backups,
    retention,
    discovery,
  })
  stop = () => scheduler.stop()
  leave = () => scheduler.leave()
}

describe('the scheduler', () => {
  test('wakes the process once per second while no task is open', async () => {
    start()
    expect(await time.pass(60_000)).toBeLessThanOrEqual(60)
  })

  test('polls four times per second while a task is open, from one second after its start', async () => {
    start()
    await time.pass(10_000)
    await addTask()
    await time.pass(1_000)
    expect(await time.pass(10_000)).toBe(40)
  })

  test('sends the webhook of an ended task within a quarter of a second', async () => {
    start()
    await addTask()
    await time.pass(10_100)
    await addWebhook()
    const dueAt = time.now()
    await time.pass(250)
    expect(sentAt).toHaveLength(1)
    expect(sentAt[0]).toBeWithin(dueAt, dueAt + 251)
  })

  test('sends a webhook again when it is due, and sleeps until then', async () => {
    start()
    await addWebhook()
    await time.pass(1_250)
    expect(sentAt).toHaveLength(1)
    const [row] = await world.db.query({ sql: 'select next_at from webhooks' })
    const dueAt = Number(row?.next_at)
    await time.pass(dueAt - time.now() - 1)
    expect(sentAt).toHaveLength(1)
    await time.pass(251)
    expect(sentAt).toHaveLength(2)
    // The next attempt is minutes away.
    await time.pass(1_000)
    expect(await time.pass(60_000)).toBeLessThanOrEqual(60)
  })

  test('runs rare jobs soon after the start, because a process may be replaced within a minute', async () => {
    Object.assign(runs, { encrypt: 0, renew: 0, backUp: 0, discover: 0 })
    start()
    await time.pass(10_000)
    expect(runs).toEqual({ encrypt: 1, renew: 1, backUp: 1, discover: 1 })
    await time.pass(60_000)
    expect(runs).toEqual({ encrypt: 2, renew: 2, backUp: 2, discover: 2 })
  })

  test('lets a backup finish in a process that has handed its jobs to another', async () => {
    const backup = Promise.withResolvers<void>()
    let isStopped = false
    const backups = {
      beat: () => backup.promise,
      stop: () => {
        isStopped = true
        backup.resolve()
      },
    }
    start(undefined, backups)
    await time.pass(10_000)
    await leave()
    let hasEnded = false
    const ended = stop().then(() => {
      hasEnded = true
    })
    await time.pass(10_000)
    expect({ isStopped, hasEnded }).toEqual({ isStopped: false, hasEnded: false })
    backup.resolve()
    await ended
  })

  test('repeats a job that has failed', async () => {
    let beats = 0
    start({
      beat: async () => {
        beats++
        throw new Error('no database')
      },
      sweep: async () => {},
      stop: async () => {},
    })
    await time.pass(5_000)
    expect(beats).toBe(5)
    expect(
      log.filter(({ event, fields }) => event === 'job_failed' && fields.job === 'poll tasks'),
    ).toHaveLength(5)
  })
})

async function addTask(): Promise<void> {
  const now = world.now()
  const task = insertTask({
    id: 'video_1',
    operation: 'video',
    leaseUntil: 0,
    account: 'alice',
    keyId: 'key_1',
    spenderId: null,
    model: 'a-video',
    upstream: 'a-vendor',
    charge: 'req_1',
    pollContext: {},
    quantities: {},
    webhookUrl: null,
    createdAt: now,
    deadlineAt: now + 3_600_000,
    gatewayUrl: 'http://localhost',
    size: null,
    costNano: 0,
  })
  await world.db.batch([task])
}

async function addWebhook(): Promise<void> {
  const key = {
    id: 'key_1',
    name: 'alice',
    account: 'alice',
    secret: 'sk-1',
    webhookSecret: 'whsec_AAECAwQF',
  }
  await createKey(world.db, { ...key, ...unlimited, createdAt: world.now() })
  const task = { id: 'video_1', account: 'alice', keyId: 'key_1', webhookUrl: 'http://example.com/' }
  await world.db.batch([insertWebhook(world.db, 'msg_1', task, 'succeeded', '{"id":"video_1"}', world.now())])
}

/** A clock that only the test moves. */
function createTime() {
  let now = START
  let timers: { at: number; run(): void }[] = []
  return {
    now: () => now,
    after(milliseconds: number, run: () => void) {
      const timer = { at: now + milliseconds, run }
      timers.push(timer)
      return () => {
        timers = timers.filter((other) => other !== timer)
      }
    },
    /** Lets time pass, and resolves with the number of times that the process was woken. */
    async pass(milliseconds: number): Promise<number> {
      const until = now + milliseconds
      let wakes = 0
      for (;;) {
        await workDone()
        const at = Math.min(...timers.map((timer) => timer.at))
        if (at > until) break
        now = at
        const due = timers.filter((timer) => timer.at === at)
        timers = timers.filter((timer) => timer.at !== at)
        for (const { run } of due) run()
        wakes++
      }
      now = until
      return wakes
    },
  }
}

/** Waits for the database and everything that its answers cause. */
async function workDone(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}
