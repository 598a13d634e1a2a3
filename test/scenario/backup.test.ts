// Backups: consistent copies during writes, their verification, retention and removal; restored on either database; moved to
// PostgreSQL in one step or in several. Damaged or truncated backups, and targets that are not empty, are reported.

import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BackupDamaged, type BackupSource, makeBackup } from '../../src/backup/backup'
import { bucketPlace, folderPlace, nameOfBackup, timeOfBackup } from '../../src/backup/place'
import { moveToPostgres, restore, TargetFilled } from '../../src/backup/restore'
import { createBackupSchedule } from '../../src/backup/schedule'
import { addCredit } from '../../src/billing/ledger/ledger'
import { audit } from '../../src/billing/proofs/audit'
import type { Config } from '../../src/config/schema'
import type { Db } from '../../src/db/db'
import { migrate } from '../../src/db/migrations'
import { differencesOf, tablesOf } from '../../src/db/table-copy'
import { createLedgerFuzz } from '../support/bookkeepers/ledger-fuzz'
import {
  type DatabaseKind,
  databaseAddress,
  databaseKinds,
  openAddress,
  postgresUrl,
  temporaryFolder,
} from '../support/databases/databases'
import { freePort } from '../support/processes/free-port'
import { createRandom, seedOf } from '../support/random'
import { rejection } from '../support/rejection'
import { MISSING_BUCKET, startObjectStore, storeKey } from '../support/servers/object-store'

setDefaultTimeout(180_000)

const seed = seedOf('BACKUP_SEED')
/** Before the random operations, so that none of their holds has expired. */
const START = Date.UTC(2026, 0, 30)
const store = startObjectStore()
afterAll(() => store.stop())

interface Filled {
  db: Db
  address: string
  source: BackupSource
  /** Moves more money. */
  wave(): Promise<unknown>
}

/** A database with the books of some hundred random operations. */
async function fill(kind: DatabaseKind): Promise<Filled> {
  const address = await databaseAddress(kind)
  const db = openAddress(address)
  await migrate(db)
  const fuzz = await createLedgerFuzz(db, createRandom(seed))
  for (let waves = 0; waves < 5; waves++) await fuzz.wave()
  const source = kind === 'sqlite' ? { file: address } : { url: address }
  return { db, address, source, wave: () => fuzz.wave() }
}

const silent = () => {}

async function expectSame(one: Db, other: Db): Promise<void> {
  const tables = await tablesOf(one.kind === 'sqlite' ? one : other)
  expect(await differencesOf(one, other, tables)).toEqual([])
}

for (const from of databaseKinds) {
  for (const to of databaseKinds) {
    test(`a backup of ${from}, made while money moves, is restored on ${to} (BACKUP_SEED=${seed})`, async () => {
      const { db, source, wave } = await fill(from)
      const scratch = temporaryFolder()
      const place = folderPlace(join(scratch, 'kept'))
      let isMoving = true
      const moving = (async () => {
        while (isMoving) await wave()
      })()
      const report = await makeBackup(source, place, 'one.zst', { scratch, now: START })
      isMoving = false
      await moving
      expect(report.problems).toEqual([])
      expect(report.charges).toBeGreaterThan(0)
      const address = await databaseAddress(to)
      const target = to === 'sqlite' ? { file: address } : { url: address }
      const packed = join(scratch, 'kept', 'one.zst')
      const found = await restore(packed, target, { scratch, now: START, onProgress: silent })
      expect({ accounts: found.accounts, charges: found.charges, problems: found.problems }).toEqual({
        accounts: report.accounts,
        charges: report.charges,
        problems: [],
      })
      const again = openAddress(address)
      await migrate(again)
      expect((await audit(again, START)).problems).toEqual([])
      // No temporary file is left behind.
      expect(readdirSync(scratch)).toEqual(['kept'])
      expect(statSync(packed).mode & 0o777).toBe(0o600)
      await again.close()
      await db.close()
    })
  }
}

test('a backup is the whole database, row for row', async () => {
  const { db, source } = await fill('sqlite')
  const scratch = temporaryFolder()
  await makeBackup(source, folderPlace(scratch), 'one.zst', { scratch, now: START })
  const file = join(scratch, 'again.sqlite')
  await restore(join(scratch, 'one.zst'), { file }, { scratch, now: START, onProgress: silent })
  const again = openAddress(file)
  await expectSame(db, again)
  await again.close()
  await db.close()
})

describe('refused', () => {
  test('a backup under a used name, and a restore over an existing database', async () => {
    const { db, source, address } = await fill('sqlite')
    const scratch = temporaryFolder()
    const place = folderPlace(scratch)
    await makeBackup(source, place, 'one.zst', { scratch, now: START })
    const bytes = readFileSync(join(scratch, 'one.zst'))
    expect(
      (await rejection(makeBackup(source, place, 'one.zst', { scratch, now: START }))).message,
    ).toContain('EEXIST')
    expect(readFileSync(join(scratch, 'one.zst')).equals(bytes)).toBe(true)
    const packed = join(scratch, 'one.zst')
    expect(
      await rejection(restore(packed, { file: address }, { scratch, now: START, onProgress: silent })),
    ).toBeInstanceOf(TargetFilled)
    expect((await audit(db, START)).problems).toEqual([])
    await db.close()
  })

  test('a backup that is cut off or changed, at any of many places', async () => {
    const { db, source } = await fill('sqlite')
    const scratch = temporaryFolder()
    await makeBackup(source, folderPlace(scratch), 'one.zst', { scratch, now: START })
    const whole = readFileSync(join(scratch, 'one.zst'))
    const random = createRandom(seed)
    let reported = 0
    for (let round = 0; round < 40; round++) {
      const at = round === 0 ? 0 : random.below(whole.length)
      const bytes = Buffer.from(whole)
      bytes.writeUInt8((bytes.readUInt8(at) + 1) & 255, at)
      const packed = join(scratch, `damaged-${round}`)
      const file = join(scratch, `restored-${round}`)
      writeFileSync(packed, round % 2 === 0 ? whole.subarray(0, at) : bytes)
      try {
        await restore(packed, { file }, { scratch, now: START, onProgress: silent })
        // Some bits of the format mean nothing: then nothing is lost either.
        const again = openAddress(file)
        await expectSame(db, again)
        await again.close()
      } catch (error) {
        expect(error).toBeInstanceOf(BackupDamaged)
        expect(existsSync(file)).toBe(false)
        reported++
      }
    }
    expect(reported).toBeGreaterThan(30)
    await db.close()
  })
})

describe.skipIf(!databaseKinds.includes('postgres'))('a move to PostgreSQL', () => {
  test('that was interrupted continues where it stopped, and duplicates nothing', async () => {
    const { db, address } = await fill('sqlite')
    const url = await postgresUrl()
    let isDone = false
    let tries = 0
    for (; !isDone && tries < 30; tries++) {
      let pages = 0
      const breakOff = () => {
        if (++pages > 3 + 5 * tries) throw new Error('the machine was switched off')
      }
      await moveToPostgres(address, url, { now: START, onProgress: breakOff })
        .then(() => {
          isDone = true
        })
        .catch((error) => expect(error.message).toBe('the machine was switched off'))
    }
    expect(isDone).toBe(true)
    expect(tries).toBeGreaterThan(2)
    const moved = openAddress(url)
    await expectSame(db, moved)
    expect((await audit(moved, START)).problems).toEqual([])
    // The next charge gets an unused number.
    const [next] = await moved.query({
      sql: `select nextval('charge_positions') > max(position) as is_new from ended_charges`,
    })
    expect(next).toMatchObject({ is_new: true })
    await moved.close()
    await db.close()
  })

  test('is refused if the target has rows, or an unfinished copy of another database', async () => {
    const { db, address } = await fill('sqlite')
    const url = await postgresUrl()
    const target = openAddress(url)
    await migrate(target)
    await addCredit(target, { id: 't', account: 'zoe', amountNano: 1, now: START, note: null })
    const move = () => moveToPostgres(address, url, { now: START, onProgress: silent })
    expect((await rejection(move())).message).toContain(
      'The database has rows already (accounts, transfers).',
    )
    await target.batch([
      { sql: 'create table copied_tables (name text primary key, position text, copied bigint)' },
    ])
    expect((await rejection(move())).message).toContain(
      'The database holds an unfinished copy of another one.',
    )
    expect((await audit(target, START)).accounts).toBe(1)
    await target.close()
    await db.close()
  })
})

const bucket = {
  bucket: 'safe',
  endpoint: store.endpoint,
  region: 'eu-central-1',
  accessKeyId: storeKey,
  secretAccessKey: 'secret',
  prefix: 'nightly/',
}

describe('a place', () => {
  const places = {
    'a folder': () => folderPlace(join(temporaryFolder(), 'new')),
    'a bucket': () => bucketPlace(bucket),
  }
  for (const [title, open] of Object.entries(places)) {
    test(`${title} lists backups by time, returns them, and replaces none`, async () => {
      const place = open()
      const folder = temporaryFolder()
      const times = [5, 3, 4, 1, 2, 0, 6].map((hour) => START + hour * 3_600_000)
      expect(await place.names()).toEqual([])
      for (const at of times) {
        const path = join(folder, `${at}`)
        writeFileSync(path, `backup of ${at}`)
        await place.put(path, nameOfBackup(at))
        expect(existsSync(path)).toBe(false)
      }
      const names = await place.names()
      expect(names.map(timeOfBackup)).toEqual([...times].sort((left, right) => left - right))
      const path = join(folder, 'fetched')
      await place.bring(nameOfBackup(START), path)
      expect(readFileSync(path, 'utf8')).toBe(`backup of ${START}`)
      writeFileSync(join(folder, 'other'), 'other')
      await rejection(place.put(join(folder, 'other'), nameOfBackup(START)))
      await place.remove(nameOfBackup(START))
      expect((await place.names()).length).toBe(6)
      await rejection(place.bring(nameOfBackup(START), join(folder, 'gone')))
    })
  }
})

describe('a server that makes backups by itself', () => {
  function open(
    db: Db,
    file: string,
    dataDir: string,
    clock: { now: number },
    backup: Config['backup'] = { every: '6h', keep: 2 },
  ) {
    const config = { backup, upstreams: {}, models: {} } as Config
    const events: string[] = []
    const reasons: unknown[] = []
    const log = (event: string, { reason }: Record<string, unknown>) => {
      events.push(event)
      reasons.push(reason)
    }
    const parts = { configNow: () => config, dataDir, databaseFile: file, db, now: () => clock.now, log }
    return { schedule: createBackupSchedule(parts), events, reasons }
  }

  test('makes one when it is due, in one of several processes, and keeps the configured number', async () => {
    const { db, address, wave } = await fill('sqlite')
    const dataDir = temporaryFolder()
    const place = folderPlace(join(dataDir, 'backups'))
    const clock = { now: START }
    const nodes = [open(db, address, dataDir, clock), open(db, address, dataDir, clock)]
    const beat = () => Promise.all(nodes.map(({ schedule }) => schedule.beat()))
    const hour = 3_600_000
    for (const [hours, count] of [
      [0, 1],
      [5, 1],
      [6, 2],
      [12, 2],
    ] as const) {
      clock.now = START + hours * hour
      await wave()
      await beat()
      expect((await place.names()).length).toBe(count)
    }
    expect(await place.names()).toEqual([nameOfBackup(START + 6 * hour), nameOfBackup(START + 12 * hour)])
    expect(nodes.flatMap(({ events }) => events)).toEqual(['backup_made', 'backup_made', 'backup_made'])
    await db.close()
  })

  test('makes each when it is due, even if processes are short-lived, and lists a bucket once', async () => {
    const { db, address } = await fill('sqlite')
    const s3 = { ...bucket, prefix: 'minutely/' }
    const countBefore = store.calls.length
    const clock = { now: START }
    const backup = { every: '1m', keep: 2, s3 }
    const lifeMs = 30_000
    const lives = 6
    let made = 0
    for (let life = 0; life < lives; life++) {
      const { schedule, events } = open(db, address, temporaryFolder(), clock, backup)
      for (const lateMs of [0, lifeMs / 2]) {
        clock.now = START + life * lifeMs + lateMs
        await schedule.beat()
      }
      made += events.filter((event) => event === 'backup_made').length
    }
    expect(made).toBe(3)
    // Once by each process, and by each backup for those that are too old.
    const lists = store.calls.slice(countBefore).filter((call) => call === 'GET')
    expect(lists.length).toBe(lives + made)
    // A backup made in another way is counted, even if the database is older than it.
    await db.batch([{ sql: `delete from times where name = 'backup'` }])
    const { schedule, events } = open(db, address, temporaryFolder(), clock, backup)
    await schedule.beat()
    expect(events).toEqual([])
    // A folder without a backup is due.
    const moved = open(db, address, temporaryFolder(), clock, { every: '1m' })
    await moved.schedule.beat()
    expect(moved.events).toEqual(['backup_made'])
    await db.close()
  })

  test('reports at the first attempt that a place cannot be used, with the error of the place', async () => {
    const { db, address } = await fill('sqlite')
    const clock = { now: START }
    const gone = { ...bucket, endpoint: `http://127.0.0.1:${await freePort()}` }
    const folder = join(temporaryFolder(), 'not-mounted', 'gateway')
    const rows: [place: Config['backup'], reason: RegExp][] = [
      [
        { s3: { ...bucket, bucket: MISSING_BUCKET } },
        /^The bucket missing at http\S+ cannot be used: NoSuchBucket: /,
      ],
      [{ s3: gone }, /^The bucket safe at http\S+ cannot be used: no answer \(ConnectionRefused\)$/],
      [{ folder }, /^There is no folder \S+not-mounted to make \S+gateway in\. Mount its disk, or create it/],
    ]
    for (const [place, reason] of rows) {
      const { schedule, events, reasons } = open(db, address, temporaryFolder(), clock, {
        every: '6h',
        ...place,
      })
      await schedule.beat()
      await schedule.beat()
      expect({ place, events }).toEqual({ place, events: ['backup_failed'] })
      expect(reasons[0]).toMatch(reason)
      clock.now += 10 * 60_000
    }
    expect(existsSync(folder)).toBe(false)
    await db.close()
  })

  test('reports why one failed, and tries again after ten minutes', async () => {
    const { db, address } = await fill('sqlite')
    const dataDir = temporaryFolder()
    const clock = { now: START }
    const missing = open(db, join(dataDir, 'missing.sqlite'), dataDir, clock)
    await missing.schedule.beat()
    await missing.schedule.beat()
    expect(missing.events).toEqual(['backup_failed'])
    const { schedule, events } = open(db, address, dataDir, clock)
    await schedule.beat()
    expect(events).toEqual([])
    clock.now += 10 * 60_000
    await schedule.beat()
    expect(events).toEqual(['backup_made'])
    await db.close()
  })
})
