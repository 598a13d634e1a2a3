// Backups that the server makes automatically, in a worker so that nobody waits for them. One of several nodes makes each, and the
// next is due relative to the last one, however short processes live. It must never remove a backup before a newer one is in place.

import { join } from 'node:path'
import type { Bucket } from '../artifacts/s3-store'
import { backupEveryMs } from '../config/backup'
import type { Config } from '../config/schema'
import { apply, type Db, tryApply } from '../db/db'
import { lineOf } from '../lib/error-line'
import type { System } from '../lib/system'
import type { BackupReport, BackupSource } from './backup'
import { type BackupPlace, bucketPlace, folderPlace, nameOfBackup, timeOfBackup } from './place'

/** Everything that a worker needs for one backup, as plain data. */
export interface BackupTask {
  source: BackupSource
  place: { folder: string } | { s3: Bucket }
  name: string
  scratch: string
  now: number
}
export type BackupAnswer = { report: BackupReport } | { error: string }

export interface BackupSchedule {
  /** Makes a backup if one is due. */
  beat(): Promise<void>
  /** Makes a backup now. Rejects if it cannot be made. */
  makeNow(): Promise<BackupReport>
  stop(): void
}

/** The worker's path: next to this file in a checkout; in an executable the worker keeps its folder. */
const WORKER = import.meta.url.endsWith('/src/backup/schedule.ts')
  ? './backup-worker.ts'
  : './src/backup/backup-worker.ts'
/** When a failed backup is retried, or sooner if the next is due sooner. */
const RETRY_MS = 10 * 60_000

/** Tolerance for a late backup, in addition to the time between two of them. */
const GRACE_MS = 10 * 60_000

/** The place of a configuration's backups, as plain data. */
export function placeOf({ backup }: Config, dataDir: string): BackupTask['place'] {
  if (backup?.s3) return { s3: backup.s3 as Bucket }
  return { folder: backup?.folder ?? join(dataDir, 'backups') }
}

/** `make` creates a folder, with its parents. */
export function openPlace(place: BackupTask['place'], options: { make?: boolean } = {}): BackupPlace {
  return 'folder' in place ? folderPlace(place.folder, options) : bucketPlace(place.s3)
}

export function sourceOf({ database }: Config, databaseFile: string): BackupSource {
  return database ? { url: database } : { file: databaseFile }
}

/** Removes the oldest backups until `keep` are left. Returns the removed names. */
export async function removeOld(place: BackupPlace, keep: number | undefined): Promise<string[]> {
  if (keep === undefined) return []
  const old = (await place.names()).slice(0, -keep)
  for (const name of old) await place.remove(name)
  return old
}

interface ScheduleParts extends Pick<System, 'now' | 'log'> {
  /** The current configuration. */
  configNow(): Config
  dataDir: string
  databaseFile: string
  db: Db
}

/** When the last backup was tried and when the last complete one was begun, in milliseconds since 1970; 0: never. */
interface LastBackup {
  triedAt: number
  madeAt: number
}

export async function lastBackup(db: Db): Promise<LastBackup> {
  const [row] = await db.query({ sql: `select at, reference from times where name = 'backup'` })
  return { triedAt: Number(row?.at ?? 0), madeAt: Number(row?.reference ?? 0) }
}

/** Whether the newest backup is older than the time between two of them allows. */
export function isBackupLate(madeAt: number, everyMs: number, now: number): boolean {
  return now - madeAt > 2 * everyMs + GRACE_MS
}

/** Whether this process makes the backup: of several nodes that have seen the same last one, one claims the next. */
function claim(db: Db, { triedAt }: LastBackup, now: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: `insert into times (name, at, reference) values ('backup', $1, 0)
        on conflict (name) do update set at = excluded.at where times.at = $2`,
      parameters: [now, triedAt],
      guard: true,
    },
  ])
}

/** Records that a backup that was begun at this time is complete. */
async function noteMade(db: Db, at: number): Promise<void> {
  await apply(db, [
    {
      sql: `insert into times (name, at, reference) values ('backup', $1, $1)
        on conflict (name) do update set reference = excluded.reference where times.reference < excluded.reference`,
      parameters: [at],
    },
  ])
}

/** The place that this process has listed: it is listed once, then the database records new backups. */
class KnownPlace {
  private known: BackupTask['place'] | undefined

  constructor(private readonly db: Db) {}

  /** When the newest backup in a place was begun; 0 if the place has no backup. */
  async newestIn(place: BackupTask['place'], { madeAt }: LastBackup): Promise<number> {
    if (Bun.deepEquals(place, this.known)) return madeAt
    const newest = (await openPlace(place).names()).at(-1)
    this.known = place
    // A name has seconds only.
    if (newest === nameOfBackup(madeAt)) return madeAt
    const at = newest === undefined ? 0 : timeOfBackup(newest)
    if (at > madeAt) await noteMade(this.db, at)
    return at
  }
}

/** The thread that makes one backup. */
class BackupThread {
  private worker: Worker | undefined

  run(task: BackupTask): Promise<BackupReport> {
    const { promise, resolve, reject } = Promise.withResolvers<BackupReport>()
    const worker = new Worker(new URL(WORKER, import.meta.url).href)
    this.worker = worker
    worker.onmessage = ({ data }: MessageEvent<BackupAnswer>) => {
      if ('report' in data) resolve(data.report)
      else reject(new Error(data.error))
    }
    worker.onerror = ({ message }) => reject(new Error(message))
    worker.addEventListener('close', () => reject(new Error('the backup was stopped')))
    worker.postMessage(task)
    return promise.finally(() => this.stop())
  }

  stop(): void {
    this.worker?.terminate()
    this.worker = undefined
  }
}

export function createBackupSchedule(parts: ScheduleParts): BackupSchedule {
  const { configNow, dataDir, db, now, log } = parts
  const thread = new BackupThread()

  /** Makes a backup, and removes the oldest. Logs the result, and throws if it failed. */
  async function make(config: Config, startedAt: number): Promise<BackupReport> {
    const kept = placeOf(config, dataDir)
    const name = nameOfBackup(startedAt)
    const source = sourceOf(config, parts.databaseFile)
    try {
      const made = await thread.run({ source, place: kept, name, scratch: dataDir, now: startedAt })
      const { problems, ...report } = made
      await noteMade(db, startedAt)
      const removed = await removeOld(openPlace(kept), config.backup?.keep)
      log('backup_made', { ...report, durationMs: now() - startedAt, removed: removed.length })
      if (problems.length > 0) log('books_wrong', { backup: name, problems: problems.slice(0, 5) })
      return made
    } catch (error) {
      fail(name, error)
      throw error
    }
  }

  function fail(name: string, error: unknown): void {
    log('backup_failed', { name, reason: lineOf(error) })
  }

  let running: Promise<BackupReport> | undefined
  /** One at a time: further requests wait for the one that is being made. */
  function makeOne(config: Config, startedAt: number): Promise<BackupReport> {
    running ??= make(config, startedAt).finally(() => {
      running = undefined
    })
    return running
  }

  const seen = new KnownPlace(db)

  return {
    async beat() {
      const config = configNow()
      const everyMs = backupEveryMs(config.backup)
      if (everyMs === undefined) return
      const startedAt = now()
      const last = await lastBackup(db)
      // The last attempt has failed, or is still running.
      if (last.triedAt > last.madeAt && startedAt - last.triedAt < Math.min(RETRY_MS, everyMs)) return
      const looked = await seen.newestIn(placeOf(config, dataDir), last).catch((error: Error) => error)
      if (typeof looked === 'number' && startedAt - looked < everyMs) return
      if (!(await claim(db, last, startedAt))) return
      // Failure to list the place counts as a failed attempt.
      if (looked instanceof Error) return fail(nameOfBackup(startedAt), looked)
      // The log has the reason of a failure.
      await makeOne(config, startedAt).catch(() => {})
    },
    makeNow: () => makeOne(configNow(), now()),
    stop: () => thread.stop(),
  }
}
