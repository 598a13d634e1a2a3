// Closing old charges during failures: a process killed at any step, two nodes that do it at once while others report and settle,
// and a database restored from before or from the middle.

import { afterEach, expect, setDefaultTimeout, test } from 'bun:test'
import { readdirSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { makeBackup } from '../../src/backup/backup'
import { folderPlace } from '../../src/backup/place'
import { moveToPostgres, restore } from '../../src/backup/restore'
import { pageOfLedger } from '../../src/billing/ledger/account-ledger'
import { signingKey } from '../../src/billing/proofs/checkpoint'
import { closingsOf } from '../../src/billing/proofs/closings'
import { verify } from '../../src/billing/proofs/verify'
import { usageBy } from '../../src/billing/reports/usage-report'
import { addToTotals, DAY_MS, rebuildTotals } from '../../src/billing/reports/usage-totals'
import { makeChargePartitions } from '../../src/db/charge-partitions'
import { DatabaseUnavailable, type Db } from '../../src/db/db'
import { migrate } from '../../src/db/migrations'
import { removeAbandoned } from '../../src/db/scratch-folder'
import { closeMonth } from '../../src/retention/close'
import { monthsToClose } from '../../src/retention/months'
import { faultsOfArchives } from '../../src/retention/prove'
import { runRetention } from '../../src/retention/run'
import {
  type DatabaseKind,
  databaseAddress,
  databaseKinds,
  openAddress,
  postgresUrl,
  temporaryFolder,
} from '../support/databases/databases'
import { LongHistory } from '../support/databases/long-history'
import { createRandom, seedOf } from '../support/random'

setDefaultTimeout(240_000)

const seed = seedOf('RETENTION_SEED')
const MONTHS = 5
const NOW = Date.UTC(2025, MONTHS)
const WORKER = join(import.meta.dir, '../support/processes/close-until-killed.ts')

const open: Db[] = []
afterEach(async () => {
  for (const db of open.splice(0)) await db.close()
})

function connect(address: string): Db {
  const db = openAddress(address)
  open.push(db)
  return db
}

/** A database with some months of charges. */
async function filled(kind: DatabaseKind) {
  const address = await databaseAddress(kind)
  const db = connect(address)
  await migrate(db)
  const history = new LongHistory(db, createRandom(seed))
  for (let month = 0; month < MONTHS; month++) await makeChargePartitions(db, Date.UTC(2025, month))
  for (let month = 0; month < MONTHS; month++) await history.grow(Date.UTC(2025, month), 28 * DAY_MS, 40)
  return { address, db, history, folder: temporaryFolder() }
}

async function partsOf(db: Db, folder: string) {
  const key = await signingKey(db, (count) => crypto.getRandomValues(new Uint8Array(count)), NOW)
  return { db, place: folderPlace(folder), key, scratch: temporaryFolder(), now: () => NOW }
}

/** Closes old charges. It is tried again, as the schedule does, if a lock did not come in time on a busy machine. */
async function closeMonths(db: Db, folder: string) {
  for (;;) {
    try {
      return await runRetention(await partsOf(db, folder), 1)
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error
      // A closed database fails without a turn of the event loop: without this pause no time limit would end the test.
      await Bun.sleep(50)
    }
  }
}

async function expectProved(db: Db, folder: string): Promise<void> {
  const { key } = await partsOf(db, folder)
  const { problems } = await verify(db, { now: NOW, key, whole: true, onProgress() {} })
  const faults = await faultsOfArchives(db, folderPlace(folder), { scratch: temporaryFolder() })
  expect([...problems, ...faults]).toEqual([])
}

/** Runs it, and kills it after a number of changes. True if it finished before that. */
async function runKilled(words: readonly string[], changes: number): Promise<boolean> {
  const child = Bun.spawn([process.execPath, WORKER, ...words], { stdout: 'pipe', stderr: 'inherit' })
  let output = ''
  for await (const piece of child.stdout) {
    output += new TextDecoder().decode(piece)
    if (output.split('changed').length > changes) child.kill('SIGKILL')
  }
  await child.exited
  if (child.exitCode !== 0 && child.signalCode !== 'SIGKILL') throw new Error(`it failed: ${output}`)
  return child.exitCode === 0
}

/** The months of 2025 that have a partition. */
async function partitionsOf(db: Db): Promise<string[]> {
  const rows = await db.query({
    sql: `select substr(relname, 15) as month from pg_class where relkind = 'r' and relname like 'ended_charges_2025%' order by 1`,
  })
  return rows.map(({ month }) => month as string)
}

for (const kind of databaseKinds) {
  test(`a process that is killed at any step loses and doubles nothing, on ${kind} (RETENTION_SEED=${seed})`, async () => {
    const { address, db, history, folder } = await filled(kind)
    const scratch = temporaryFolder()
    const words = [address, folder, scratch, String(NOW)]
    let kills = 0
    for (; !(await runKilled(words, kills + 1)); kills++) {
      await history.noteClosed()
      await history.compare()
    }
    expect(kills).toBeGreaterThan(3)
    await history.noteClosed()
    await history.compare()
    await expectProved(db, folder)
    const closings = await closingsOf(db)
    expect(closings.map(({ month }) => month)).toEqual(['2025-01', '2025-02', '2025-03', '2025-04'])
    const [left] = await db.query({
      sql: 'select count(*) as count, min(position) as first from ended_charges',
    })
    expect(left?.first).toBe((closings.at(-1)?.position ?? 0) + 1)
    if (kind === 'postgres') expect(await partitionsOf(db)).toEqual(['2025_05', '2025_06', '2025_07'])
    // Neither an archive nor a temporary file of a killed process is left once it is old enough.
    expect(readdirSync(folder).sort()).toEqual(closings.map(({ archive }) => archive))
    for (const name of readdirSync(scratch)) utimesSync(join(scratch, name), 0, 0)
    await removeAbandoned(scratch)
    expect(readdirSync(scratch)).toEqual([])
  })

  test(`two nodes close each month once, during reports and settlements, on ${kind}`, async () => {
    const { address, db, history, folder } = await filled(kind)
    const used = await usageBy(db, 'account', { since: 0, until: NOW })
    const last = await pageOfLedger(db, 'alice', { until: NOW }, 1)
    const other = connect(address)
    const runs = [db, other].map((each) => closeMonths(each, folder))
    let isDone = false
    const done = Promise.all(runs).finally(() => {
      isDone = true
    })
    let reads = 0
    const watching = (async () => {
      for (; !isDone; reads++) {
        expect(await usageBy(db, 'account', { since: 0, until: NOW })).toEqual(used)
        const end = await pageOfLedger(db, 'alice', { until: NOW }, 1).catch((error) => {
          if (error instanceof DatabaseUnavailable) return undefined
          throw error
        })
        if (end) expect(end.entries[0]?.balanceAfterNano).toBe(last?.entries[0]?.balanceAfterNano as number)
        if (reads % 3 === 0) await addToTotals(other).catch(() => 0)
        if (reads % 5 === 0) await rebuildTotals(other, () => {})
        await Bun.sleep(1)
      }
    })()
    const closed = (await done).flatMap((report) => report.closed)
    await watching
    // A month that both wanted to close may be left to the next run.
    await closeMonths(db, folder)
    expect(reads).toBeGreaterThan(0)
    expect(new Set(closed.map(({ month }) => month)).size).toBe(closed.length)
    await history.noteClosed()
    await history.grow(NOW, 20 * DAY_MS, 30)
    await history.compare()
    await expectProved(db, folder)
    expect(await closingsOf(db)).toHaveLength(MONTHS - 1)
  })

  test(`a database from before or from the middle is closed again, to the same archives, on ${kind}`, async () => {
    const { address, db, folder } = await filled(kind)
    const source = kind === 'sqlite' ? { file: address } : { url: address }
    const place = folderPlace(temporaryFolder())
    const options = { scratch: temporaryFolder(), now: NOW }
    await makeBackup(source, place, 'before.zst', options)
    const parts = await partsOf(db, folder)
    // Closed, and nothing removed.
    for (const month of (await monthsToClose(db, 1, NOW)).slice(0, 2)) await closeMonth(parts, month)
    expect(await makeBackup(source, place, 'between.zst', options)).toMatchObject({ problems: [] })
    await runRetention(parts, 1)
    expect(await makeBackup(source, place, 'after.zst', options)).toMatchObject({ problems: [] })
    const archives = readdirSync(folder)
    const used = await usageBy(db, 'hour', { since: 0 })
    const onProgress = () => {}
    for (const name of ['before.zst', 'between.zst', 'after.zst']) {
      const packed = join(temporaryFolder(), 'packed')
      await place.bring(name, packed)
      const again = kind === 'sqlite' ? await postgresUrl() : join(temporaryFolder(), 'again.sqlite')
      const target = kind === 'sqlite' ? { url: again } : { file: again }
      expect(await restore(packed, target, { ...options, onProgress })).toMatchObject({ problems: [] })
      const restored = connect(again)
      await runRetention(await partsOf(restored, folder), 1)
      expect(await usageBy(restored, 'hour', { since: 0 })).toEqual(used)
      expect(readdirSync(folder)).toEqual(archives)
      await expectProved(restored, folder)
    }
    if (kind === 'postgres') return
    await db.close()
    const url = await postgresUrl()
    expect(await moveToPostgres(address, url, { now: NOW, onProgress })).toMatchObject({ problems: [] })
    await expectProved(connect(url), folder)
  })
}
