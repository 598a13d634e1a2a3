// A real streaming replica of PostgreSQL. Reports are read there while it follows the primary, and otherwise from the primary.
// Decisions about money never use it. When the primary fails, the replica is promoted and nodes continue.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { noteTime } from '../../src/app/clock'
import { createLiveness } from '../../src/app/readiness'
import { openReports, type Reports } from '../../src/app/report-database'
import { newId, outside, randomBytes } from '../../src/app/world'
import { faultsOf } from '../../src/config/schema'
import { DatabaseUnavailable, type Db } from '../../src/db/db'
import { openPostgres } from '../../src/db/drivers/postgres'
import { databaseKinds, temporaryFolder } from '../support/databases/databases'
import {
  type PostgresReplica,
  type PostgresServer,
  startPostgres,
  TABLES,
} from '../support/databases/postgres'
import { say, startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { createCommandLine } from '../support/processes/command-line'
import { rejection } from '../support/rejection'
import { startTaskVendor, succeeded, VIDEO_NANO, videoBody } from '../support/vendors/task'

setDefaultTimeout(180_000)

const group = databaseKinds.includes('postgres') ? describe : describe.skip

let server: PostgresServer
let replica: PostgresReplica
const addressOf = ({ url }: { url: string }) => new URL(TABLES, url).href

group('a replica of PostgreSQL', () => {
  beforeAll(async () => {
    server = await startPostgres(temporaryFolder(), { durable: true })
    replica = await server.replicate(temporaryFolder())
  })
  afterAll(async () => {
    await replica.stop()
    await server.stop()
  })

  describe('that reports are read from', reportContract)
  describe('that is behind or away: reports', absenceContract)
  // Last, because there is no way back.
  describe('that replaces its server', failoverContract)
})

function reportContract(): void {
  test('are as old as the replica, while the database moves money', async () => {
    const config = { databaseReplica: addressOf(replica) }
    const gateway = await startTestGateway({ databaseUrl: addressOf(server), config, balance: '1' })
    const ask = await operatorOf(gateway)
    const standby = openPostgres(addressOf(replica))
    const paidTwice = async () => (await ask('/accounts/alice')).balance_usd
    await (await gateway.chat()).text()
    await waitFor(async () => (await ask('/usage')).total.requests === 1)
    const paidOnce = await paidTwice()
    await standby.query({ sql: 'select pg_wal_replay_pause()' })
    // It only asks for a pause.
    const state = `select pg_get_wal_replay_pause_state() as state`
    await waitFor(async () => (await standby.query({ sql: state }))[0]?.state === 'paused')
    await (await gateway.chat()).text()
    expect(await paidTwice()).not.toBe(paidOnce)
    expect((await ask('/usage')).total.requests).toBe(1)
    const [last] = (await ask('/accounts/alice/ledger?last=1')).data
    expect(Number(last.balance_after_usd)).toBe(Number(paidOnce))
    const { call } = createCommandLine(temporaryFolder())
    const env = {
      GATEWAY_DATABASE_URL: addressOf(server),
      GATEWAY_DATABASE_REPLICA_URL: addressOf(replica),
    }
    const { stdout } = await call(['usage', '--json'], { env })
    expect(JSON.parse(stdout).total.requests).toBe(1)
    await standby.query({ sql: 'select pg_wal_replay_resume()' })
    await waitFor(async () => (await ask('/usage')).total.requests === 2)
    await standby.close()
    await gateway.close()
  })

  test('need a database that the replica is a copy of', () => {
    const faults = faultsOf({ upstreams: {}, models: {}, databaseReplica: 'postgres://127.0.0.1/copy' })
    expect(faults).toEqual(['databaseReplica: it is a copy of `database`, which is not set'])
  })
}

function absenceContract(): void {
  test('switch to the database, even in the middle of a report, and back', async () => {
    const primary = openPostgres(addressOf(server))
    const events: string[] = []
    const time = { now: Date.now(), monotonic: 0 }
    const reports = reportsOf(primary, addressOf(replica), time, events)
    const readsReplica = async () => (await reports.source()).db !== primary
    await noteTime(primary, { at: time.now, reference: time.now })
    await waitFor(async () => {
      time.monotonic += 10_000
      return readsReplica()
    })
    events.length = 0

    time.now += 31_000
    time.monotonic += 2_000
    expect(await readsReplica()).toBe(false)
    expect(events).toEqual(['replica_not_used'])

    await noteTime(primary, { at: time.now, reference: time.now })
    // It is not asked again at once.
    expect(await readsReplica()).toBe(false)
    await waitFor(async () => {
      time.monotonic += 10_000
      return readsReplica()
    })
    expect(events).toEqual(['replica_not_used', 'replica_used'])

    const { db } = await reports.source()
    const isCopy = async () =>
      (await db.query({ sql: 'select cast(pg_is_in_recovery() as int) as copy' }))[0]?.copy
    expect(await isCopy()).toBe(1)
    await replica.stop()
    expect(await isCopy()).toBe(0)
    expect(await readsReplica()).toBe(false)
    expect(events).toEqual(['replica_not_used', 'replica_used', 'replica_not_used'])

    await replica.start()
    // A report never goes back to older data than it has already read.
    expect(await isCopy()).toBe(0)
    await waitFor(async () => {
      time.monotonic += 10_000
      return readsReplica()
    })
    await reports.close()
    await primary.close()
  })
}

const BALANCE_NANO = 100e9

function failoverContract(): void {
  test('under load: no charge is lost or doubled, and callers are asked to retry', async () => {
    await makeSynchronous()
    using vendor = startTaskVendor()
    vendor.answerPoll = succeeded
    const gateway = await startTestGateway({
      databaseUrl: addressOfBoth(),
      upstreams: { dashscope: vendor.upstream },
    })
    const { db } = gateway.server.world
    const { secret } = await gateway.makeKey('bob', '100')
    const load = startLoad(gateway, { authorization: `Bearer ${secret}` })
    await waitFor(() => load.answered('chat') > 30 && load.answered('video') > 5)
    await server.kill()
    await waitFor(() => load.refusals.size > 0)
    await replica.promote()
    const before = { chat: load.answered('chat'), video: load.answered('video') }
    await waitFor(() => load.answered('chat') > before.chat + 30 && load.answered('video') > before.video + 5)
    await load.stop()
    expect(await serverBehind(db)).toBe(replica)
    // The latter if the answer to a hold was lost, until the hold is released.
    const clear = [
      '503 database_unavailable, repeat after 1 s',
      '409 idempotency_key_in_use, repeat after 1 s',
    ]
    expect([...load.refusals].filter((refusal) => !clear.includes(refusal))).toEqual([])

    const [chats, videos] = [load.answered('chat'), load.answered('video')]
    const tasks = () => db.query({ sql: 'select state, count(*) as count from tasks group by state' })
    await waitFor(async () => Bun.deepEquals(await tasks(), [{ state: 'succeeded', count: videos }]))
    expect(vendor.submits.map(({ prompt }) => prompt).toSorted()).toEqual(load.prompts.toSorted())
    await waitFor(async () => (await db.query({ sql: 'select id from open_charges' })).length === 0)
    const charges = (await gateway.charges()).filter(
      ({ account, state }) => account === 'bob' && state === 'settled',
    )
    const paid = (operation: string) => charges.filter((charge) => charge.operation === operation)
    expect({ chats: paid('chat').length, videos: paid('video').length }).toEqual({ chats, videos })
    expect(paid('video').every(({ amount }) => amount === VIDEO_NANO)).toBe(true)
    const paidNano = charges.reduce((sum, { amount }) => sum + Number(amount), 0)
    expect(await gateway.balance('bob')).toMatchObject({ balanceNano: BALANCE_NANO - paidNano, heldNano: 0 })
    await gateway.close()
  })

  test('is used by all nodes, and the replaced server never again', async () => {
    // As when a machine comes back and starts what it ran before.
    await server.start()
    const old = openPostgres(addressOf(server), { silenceMs: 3_000 })
    const isWritable = { sql: 'select cast(not pg_is_in_recovery() as int) as is_writable' }
    expect(await old.query(isWritable)).toEqual([{ is_writable: 1 }])
    // A synchronous server promises nothing without its replica.
    expect(await rejection(noteTime(old, { at: 1, reference: 1 }))).toBeInstanceOf(DatabaseUnavailable)
    await old.close()

    const db = openPostgres(addressOfBoth())
    expect(await serverBehind(db)).toBe(replica)
    await replica.stop()
    // The first to ask finds the connections closed.
    const errors = [await rejection(db.query(isWritable)), await rejection(db.query(isWritable))]
    for (const error of errors) expect(error).toBeInstanceOf(DatabaseUnavailable)
    expect(String(errors[1])).toContain('were replaced by one that was promoted')
    await expectRestartHelps(db)
    await db.close()
  })
}

/** An orchestrator restarts a process whose server was replaced, and the next process accepts it. */
async function expectRestartHelps(db: Db): Promise<void> {
  let now = 0
  const isLive = createLiveness({ db, monotonic: () => now })
  expect(isLive()).toBe(true)
  now += 299_999
  expect(isLive()).toBe(true)
  now += 1
  expect(isLive()).toBe(false)
  const next = openPostgres(addressOfBoth())
  expect(await serverBehind(next)).toBe(server)
  expect(createLiveness({ db: next, monotonic: () => now })()).toBe(true)
  await next.close()
}

/** From now on a change is promised when the replica has it too. */
async function makeSynchronous(): Promise<void> {
  const db = openPostgres(addressOf(server))
  await db.query({ sql: `alter system set synchronous_standby_names = '*'` })
  await db.query({ sql: 'select pg_reload_conf()' })
  const state = { sql: 'select cast(sync_state as text) as state from pg_stat_replication' }
  await waitFor(async () => (await db.query(state))[0]?.state === 'sync')
  await db.close()
}

/** One address of both servers. */
function addressOfBoth(): string {
  return addressOf(server).replace(/(?<=@)[^/]+/, (host) => `${host},${new URL(replica.url).host}`)
}

/** The server that a database is read from. */
async function serverBehind(db: Db): Promise<PostgresReplica | PostgresServer> {
  const [row] = await db.query({ sql: 'select inet_server_port() as port' })
  return Number(new URL(replica.url).port) === row?.port ? replica : server
}

/** Callers that repeat each request under its own idempotency key until it is answered. */
function startLoad({ post }: TestGateway, authorization: { authorization: string }) {
  const answers = { chat: 0, video: 0 }
  const refusals = new Set<string>()
  const prompts: string[] = []
  let isStopped = false
  let keys = 0
  const ask = async (kind: keyof typeof answers, path: string, body: unknown) => {
    const headers = { ...authorization, 'idempotency-key': `call ${++keys}` }
    for (;;) {
      const reply = await post(path, body, headers)
      const text = await reply.text()
      if (reply.ok) {
        if (!text.startsWith('{')) expect(text).toEndWith('data: [DONE]\n\n')
        answers[kind]++
        return
      }
      const after = reply.headers.get('retry-after')
      refusals.add(`${reply.status} ${JSON.parse(text).error.code}, repeat after ${after} s`)
      await Bun.sleep(20)
    }
  }
  const chat = async (stream: boolean) => {
    const messages = say('Hello! [sandbox tokens=10 token_delay_ms=5]')
    while (!isStopped) await ask('chat', '/v1/chat/completions', { model: 'test-chat', messages, stream })
  }
  const video = async () => {
    while (!isStopped) {
      const prompt = `film ${prompts.length}`
      prompts.push(prompt)
      await ask('video', '/v1/videos/generations', videoBody(prompt))
    }
  }
  const calls = Promise.all([
    ...[true, true, true, true, false, false, false, false].map(chat),
    video(),
    video(),
  ])
  return {
    answered: (kind: keyof typeof answers) => answers[kind],
    refusals,
    prompts,
    async stop() {
      isStopped = true
      await calls
    },
  }
}

/** Asks the admin API as an operator. */
async function operatorOf({ url, server }: TestGateway) {
  const token = makeToken(randomBytes)
  const { db } = server.world
  const admin = { id: newId('adm'), name: 'operator', role: 'owner' as const, expiresAt: null, createdAt: 1 }
  await createAdmin(db, { ...admin, token })
  return async (path: string) => {
    const response = await fetch(`${url}/admin/v1${path}`, { headers: { authorization: `Bearer ${token}` } })
    expect(response.status).toBe(200)
    // biome-ignore lint/suspicious/noExplicitAny: answers of several operations
    return (await response.json()) as any
  }
}

function reportsOf(
  db: Db,
  databaseReplica: string,
  time: { now: number; monotonic: number },
  events: string[],
): Reports {
  const requestLog = {
    list: () => Promise.reject(new Error('not asked')),
    find: async () => undefined,
    scan: async () => true,
  }
  return openReports(
    { databaseReplica },
    {
      db,
      requestLog,
      now: () => time.now,
      monotonic: () => time.monotonic,
      after: outside.after,
      log: (event) => events.push(event),
    },
  )
}
