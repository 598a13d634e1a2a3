// The checks of `gateway doctor` on the places where files are stored: backups, archives, stored results. It must never change
// anything there.

import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Bucket } from '../../src/artifacts/s3-store'
import { timeOfBackup } from '../../src/backup/place'
import { type BackupTask, isBackupLate, openPlace, placeOf } from '../../src/backup/schedule'
import { backupEveryMs } from '../../src/config/backup'
import type { Config } from '../../src/config/schema'
import { isoTime } from '../../src/db/iso-time'
import { lineOf } from '../../src/lib/error-line'
import { placeOfArchives } from '../../src/retention/archive-place'
import { broken, type Finding, ok, warning } from './findings'

/** Judges a place by its title and the names of the backups in it. */
type Judge = (title: string, names: readonly string[]) => Finding

const ANSWER_MS = 10_000
const CURE = 'Check that it exists, that its disk is mounted, and that the gateway may write to it.'

/** A finding for backups, and one for each other place that the configuration names. */
export function examineStorage(config: Config, dataDir: string, now: number): Promise<Finding[]> {
  const { retention, artifacts } = config
  const others: [check: string, place: BackupTask['place']][] = []
  if (retention?.s3 || retention?.folder !== undefined)
    others.push(['archives', placeOfArchives(config, dataDir)])
  if (artifacts?.s3) others.push(['kept results', { s3: artifacts.s3 as Bucket }])
  return Promise.all([
    examinePlace('backups', placeOf(config, dataDir), dataDir, judgeBackups(config, now)),
    ...others.map(([check, place]) => examinePlace(check, place, dataDir, (title) => ok(check, title))),
  ])
}

async function examinePlace(
  check: string,
  where: BackupTask['place'],
  dataDir: string,
  judge: Judge,
): Promise<Finding> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`no answer in ${ANSWER_MS / 1000} s`)), ANSWER_MS)
  const place = openPlace(where)
  try {
    if ('folder' in where && dirname(where.folder) !== dataDir) requireWritable(where.folder)
    return judge(place.title, await Promise.race([place.names(), late.promise]))
  } catch (error) {
    return broken(check, `${place.title}: ${lineOf(error)}`, CURE)
  } finally {
    clearTimeout(timer)
  }
}

function judgeBackups({ backup }: Config, now: number): Judge {
  const everyMs = backupEveryMs(backup)
  return (title, names) => {
    const newest = names.at(-1)
    const at = newest === undefined ? 0 : timeOfBackup(newest)
    const found =
      newest === undefined ? `there are none in ${title}` : `the newest in ${title} is of ${isoTime(at)}`
    if (everyMs === undefined) return ok('backups', `${found}, and backup.every is not set`)
    return newest === undefined || isBackupLate(at, everyMs, now)
      ? warning('backups', found, 'Make one now to see the fault: gateway backup.')
      : ok('backups', found)
  }
}

/** Throws for a folder that cannot be written to, or created if its parent exists. */
function requireWritable(folder: string): void {
  if (existsSync(folder)) accessSync(folder, constants.W_OK)
  else if (existsSync(dirname(folder))) accessSync(dirname(folder), constants.W_OK)
  else throw new Error(`neither it nor ${dirname(folder)} is there`)
}
