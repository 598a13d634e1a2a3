// Reports on a real streaming replica of PostgreSQL: read there while it follows, from the database itself while it does not,
// and nothing that decides about money ever from there.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { createAdmin, makeToken } from '../../src/admin/admins'
import { noteTime } from '../../src/app/clock'
import { openReports, type Reports } from '../../src/app/reports'
import { newId, outside, randomBytes } from '../../src/app/world'
import { faultsOf } from '../../src/config/schema'
import type { Db } from '../../src/db/db'
import { openPostgres } from '../../src/db/postgres'
import { createCommandLine } from '../support/command-line'
import { databaseKinds, temporaryFolder } from '../support/databases'
import { startTestGateway, type TestGateway, waitFor } from '../support/gateway'
import { type PostgresServer, startPostgres, TABLES } from '../support/postgres'

setDefaultTimeout(180_000)

const group = databaseKinds.includes('postgres') ? describe : describe.skip

group('reports of a gateway with a replica', () => {
  let server: PostgresServer
  let replica: Awaited<ReturnType<PostgresServer['replicate']>>
  const addressOf = ({ url }: { url: string }) => new URL(TABLES, url).href
  beforeAll(async () => {
    server = await startPostgres(temporaryFolder(), { durable: true })
    replica = await server.replicate(temporaryFolder())
  })
  afterAll(async () => {
    await replica.stop()
    await server.stop()
  })

  test('are as old as the replica, while money is taken by the database', async () => {
    const config = { databaseReplica: addressOf(replica) }
    const gateway = await startTestGateway({ databaseUrl: addressOf(server), config, balance: '1' })
    const ask = await operatorOf(gateway)
    const standby = openPostgres(addressOf(replica))
    const paidTwice = async () => (await ask('/accounts/alice')).balance_usd
    await (await gateway.chat()).text()
    await waitFor(async () => (await ask('/usage')).total.requests === 1)
    const paidOnce = await paidTwice()
    await standby.query({ sql: 'select pg_wal_replay_pause()' })
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

  test('go to the database while the replica is behind or away, also in the middle of one, and come back', async () => {
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
    // A report never goes back to what is older than what it has read.
    expect(await isCopy()).toBe(0)
    await waitFor(async () => {
      time.monotonic += 10_000
      return readsReplica()
    })
    await reports.close()
    await primary.close()
  })

  test('need a database that the replica is a copy of', () => {
    const faults = faultsOf({ upstreams: {}, models: {}, databaseReplica: 'postgres://127.0.0.1/copy' })
    expect(faults).toEqual(['databaseReplica: it is a copy of `database`, which is not set'])
  })
})

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
  const requestLog = { list: () => Promise.reject(new Error('not asked')), find: async () => undefined }
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
