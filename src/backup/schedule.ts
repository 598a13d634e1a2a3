// Backups that the server makes by itself, in a worker so that nobody waits for them. One node of several makes each. It
// must never remove a backup before a newer one is in place.

import { join } from 'node:path'
import type { Bucket } from '../artifacts/blob-store'
import { backupEveryMs } from '../config/backup'
import type { Config } from '../config/schema'
import { type Db, tryApply } from '../db/db'
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
/** When a backup that failed is tried again. */
const RETRY_MS = 10 * 60_000

/** The place of a configuration's backups, as plain data. */
export function placeOf({ backup }: Config, dataDir: string): BackupTask['place'] {
  if (backup?.s3) return { s3: backup.s3 as Bucket }
  return { folder: backup?.folder ?? join(dataDir, 'backups') }
}

export function openPlace(place: BackupTask['place']): BackupPlace {
  return 'folder' in place ? folderPlace(place.folder) : bucketPlace(place.s3)
}

export function sourceOf({ database }: Config, databaseFile: string): BackupSource {
  return database ? { url: database } : { file: databaseFile }
}

/** Removes the oldest backups until `keep` are left. Returns the names that are gone. */
export async function removeOld(place: BackupPlace, keep: number | undefined): Promise<string[]> {
  if (keep === undefined) return []
  const old = (await place.names()).slice(0, -keep)
  for (const name of old) await place.remove(name)
  return old
}

interface ScheduleParts extends Pick<System, 'now' | 'log'> {
  /** The configuration in force at this moment. */
  configNow(): Config
  dataDir: string
  databaseFile: string
  db: Db
}

async function isDue(place: BackupPlace, everyMs: number, now: number): Promise<boolean> {
  const newest = (await place.names()).at(-1)
  return newest === undefined || now - timeOfBackup(newest) >= everyMs
}

/** Whether this process makes the backup: of several nodes one claims it, and others wait as long as a try may take. */
function claim(db: Db, now: number): Promise<boolean> {
  return tryApply(db, [
    {
      sql: `insert into times (name, at, reference) values ('backup', $1, 0)
        on conflict (name) do update set at = excluded.at where times.at <= $2`,
      parameters: [now, now - RETRY_MS],
      guard: true,
    },
  ])
}

export function createBackupSchedule(parts: ScheduleParts): BackupSchedule {
  const { configNow, dataDir, db, now, log } = parts
  let worker: Worker | undefined

  function run(task: BackupTask): Promise<BackupReport> {
    const { promise, resolve, reject } = Promise.withResolvers<BackupReport>()
    worker = new Worker(new URL(WORKER, import.meta.url).href)
    worker.onmessage = ({ data }: MessageEvent<BackupAnswer>) => {
      if ('report' in data) resolve(data.report)
      else reject(new Error(data.error))
    }
    worker.onerror = ({ message }) => reject(new Error(message))
    worker.addEventListener('close', () => reject(new Error('the backup was stopped')))
    worker.postMessage(task)
    return promise.finally(stop)
  }

  function stop(): void {
    worker?.terminate()
    worker = undefined
  }

  /** Makes a backup, and removes the oldest. Logs how it went, and throws if it failed. */
  async function make(config: Config): Promise<BackupReport> {
    const kept = placeOf(config, dataDir)
    const startedAt = now()
    const name = nameOfBackup(startedAt)
    const source = sourceOf(config, parts.databaseFile)
    try {
      const made = await run({ source, place: kept, name, scratch: dataDir, now: startedAt })
      const { problems, ...report } = made
      const removed = await removeOld(openPlace(kept), config.backup?.keep)
      log('backup_made', { ...report, durationMs: now() - startedAt, removed: removed.length })
      if (problems.length > 0) log('books_wrong', { backup: name, problems: problems.slice(0, 5) })
      return made
    } catch (error) {
      log('backup_failed', { name, reason: error instanceof Error ? error.message : String(error) })
      throw error
    }
  }

  let running: Promise<BackupReport> | undefined
  /** One at a time: whoever asks while one is made gets that. */
  function makeOne(config: Config): Promise<BackupReport> {
    running ??= make(config).finally(() => {
      running = undefined
    })
    return running
  }

  return {
    async beat() {
      const config = configNow()
      const everyMs = backupEveryMs(config.backup)
      if (everyMs === undefined) return
      const place = openPlace(placeOf(config, dataDir))
      if (!(await isDue(place, everyMs, now())) || !(await claim(db, now()))) return
      // The log has the reason of a failure.
      await makeOne(config).catch(() => {})
    },
    makeNow: () => makeOne(configNow()),
    stop,
  }
}
