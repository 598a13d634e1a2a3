// Retention as the server runs it: in a worker with its own connection, by one node of several, into a folder or a bucket, on an
// encrypted database. Every failure is logged with its reason.

import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { randomBytes } from '../../src/app/world'
import { openPlace } from '../../src/backup/schedule'
import { signingKey } from '../../src/billing/proofs/checkpoint'
import { closingsOf } from '../../src/billing/proofs/closings'
import { verify } from '../../src/billing/proofs/verify'
import { DAY_MS } from '../../src/billing/reports/usage-totals'
import type { Config } from '../../src/config/schema'
import { masterKeysOf } from '../../src/config/secrets'
import type { Db } from '../../src/db/db'
import { createCodec } from '../../src/db/encryption/codec'
import { registerKey } from '../../src/db/encryption/keys'
import { migrate } from '../../src/db/migrations'
import { placeOfArchives } from '../../src/retention/archive-place'
import { faultsOfArchives } from '../../src/retention/prove'
import { createRetentionSchedule } from '../../src/retention/schedule'
import {
  type DatabaseKind,
  databaseAddress,
  databaseKinds,
  openAddress,
  temporaryFolder,
} from '../support/databases/databases'
import { masterKeys } from '../support/databases/encrypted-gateway'
import { LongHistory } from '../support/databases/long-history'
import { waitFor } from '../support/gateway'
import { createRandom, seedOf } from '../support/random'
import { rejection } from '../support/rejection'
import { startObjectStore, storeKey } from '../support/servers/object-store'

setDefaultTimeout(180_000)

const NOW = Date.UTC(2025, 3, 1)
const HOUR_MS = 3_600_000
const store = startObjectStore()
afterAll(() => store.stop())

const s3 = {
  bucket: 'safe',
  endpoint: store.endpoint,
  region: 'auto',
  accessKeyId: storeKey,
  secretAccessKey: 'secret',
  prefix: 'old/',
}

/** An encrypted database with three months, and what a server has of it. */
async function filled(kind: DatabaseKind, retention: Config['retention']) {
  const address = await databaseAddress(kind)
  const secrets = { key: masterKeys[0] }
  const db = openAddress(address, createCodec(masterKeysOf(secrets), randomBytes))
  await migrate(db)
  await registerKey(db)
  const history = new LongHistory(db, createRandom(seedOf('RETENTION_SEED')))
  for (let month = 0; month < 3; month++) await history.grow(Date.UTC(2025, month), 28 * DAY_MS, 30)
  const config = {
    ...(kind === 'postgres' && { database: address }),
    upstreams: {},
    models: {},
    secrets,
    retention,
  } as Config
  return { address, db, history, config, dataDir: temporaryFolder() }
}

function node({ address, db, config, dataDir }: Awaited<ReturnType<typeof filled>>, clock: { now: number }) {
  const events: Record<string, unknown>[] = []
  const log = (event: string, fields: object = {}) => events.push({ event, ...fields })
  const parts = { configNow: () => config, dataDir, databaseFile: address, db, now: () => clock.now, log }
  return { ...createRetentionSchedule(parts), events }
}

async function expectProved(db: Db, config: Config, dataDir: string): Promise<void> {
  const key = await signingKey(db, randomBytes, NOW)
  const place = openPlace(placeOfArchives(config, dataDir))
  const faults = await faultsOfArchives(db, place, { scratch: dataDir })
  const { problems } = await verify(db, { now: NOW, key, whole: true, onProgress() {} })
  expect([...faults, ...problems]).toEqual([])
}

for (const kind of databaseKinds) {
  test(`one of two nodes closes the due months, once, on ${kind}`, async () => {
    const all = await filled(kind, { charges: '1mo', ...(kind === 'postgres' && { s3 }) })
    const { db, history, config, dataDir } = all
    const clock = { now: NOW }
    const nodes = [node(all, clock), node(all, clock)]
    await Promise.all(nodes.map((each) => each.beat()))
    await waitFor(async () => nodes.some(({ events }) => events.length > 0))
    expect(nodes.flatMap(({ events }) => events)).toMatchObject([
      { event: 'charges_closed', month: '2025-01' },
      { event: 'charges_closed', month: '2025-02' },
    ])
    await history.noteClosed()
    await history.compare()
    await expectProved(db, config, dataDir)
    expect(kind === 'postgres' ? [...store.objects.keys()] : []).toEqual(
      kind === 'postgres' ? (await closingsOf(db)).map(({ archive }) => `safe/old/${archive}`) : [],
    )
    for (let beats = 0; beats < 3; beats++) {
      clock.now += HOUR_MS
      await Promise.all(nodes.map((each) => each.beat()))
    }
    expect(nodes.flatMap(({ events }) => events)).toHaveLength(2)
    await db.close()
  })
}

test('a run that fails is logged with its reason and tried again an hour later', async () => {
  const all = await filled('sqlite', { charges: '1mo', folder: '/dev/null/archive' })
  const clock = { now: NOW }
  const { beat, events } = node(all, clock)
  await beat()
  await waitFor(async () => events.length > 0)
  expect(events).toMatchObject([{ event: 'charges_not_closed', reason: expect.stringContaining('ENOTDIR') }])
  all.config.retention = { charges: '1mo' }
  await beat()
  expect(await closingsOf(all.db)).toEqual([])
  clock.now += HOUR_MS
  await beat()
  await waitFor(async () => events.length > 1)
  expect(events.slice(1)).toMatchObject([{ month: '2025-01' }, { month: '2025-02' }])
  await expectProved(all.db, all.config, all.dataDir)
  await all.db.close()
})

test('a requested run returns what it closed or why it did not, one run at a time', async () => {
  const all = await filled('sqlite', { charges: '1mo', folder: '/dev/null/archive' })
  const { runNow, stop } = node(all, { now: NOW })
  expect((await rejection(runNow(1))).message).toContain('ENOTDIR')
  all.config.retention = { charges: '1mo' }
  const [asked, second] = await Promise.allSettled([runNow(2), runNow(1)])
  expect(asked).toMatchObject({ value: { closed: [{ month: '2025-01' }] } })
  expect(second).toMatchObject({ reason: { message: expect.stringContaining('A run is in progress') } })
  expect((await runNow(1)).closed).toMatchObject([{ month: '2025-02' }])
  expect(await runNow(1)).toMatchObject({ closed: [], waiting: undefined })
  await expectProved(all.db, all.config, all.dataDir)
  stop()
  expect((await rejection(runNow(1))).message).toContain('the process is stopping')
  await all.db.close()
})

test('a run of a process that stops continues in the next one', async () => {
  const all = await filled('sqlite', { charges: '1mo' })
  const clock = { now: NOW }
  const first = node(all, clock)
  await first.beat()
  first.stop()
  clock.now += HOUR_MS
  const next = node(all, clock)
  // The stopped worker may still be at its last statement.
  await waitFor(async () => {
    await next.beat()
    return (await closingsOf(all.db)).length === 2
  })
  await expectProved(all.db, all.config, all.dataDir)
  expect(first.events).toEqual([])
  await all.history.noteClosed()
  await all.history.compare()
  await all.db.close()
})
