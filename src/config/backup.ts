// The part of the configuration that says when the server backs its database up, and where to. Off by default.

import { type Static, Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import { parseDurationMs } from '../lib/durations'
import { closed, optionalSetting } from '../lib/setting'
import { BucketEntry, bucketFaults } from './bucket'

export const BackupEntry = Type.Object(
  {
    every: optionalSetting(
      'How often the server makes a backup, such as `6h`; one of several nodes makes it. Default: never.',
      Type.String(),
    ),
    keep: optionalSetting(
      'How many backups are kept; the oldest are removed. Default: all.',
      Type.Integer({ minimum: 1, maximum: 100_000 }),
    ),
    folder: optionalSetting(
      'The folder for backups. Default: `backups` in the data directory.',
      Type.String({ minLength: 1 }),
    ),
    s3: optionalSetting(
      'Stores backups in a bucket instead of a folder: `bucket`, `endpoint`, `region`, `accessKeyId`, `secretAccessKey`, and `prefix` before the name of each.',
      BucketEntry,
    ),
  },
  closed,
)
export type BackupEntry = Static<typeof BackupEntry>

/** The shortest time between two backups. */
const MIN_INTERVAL_MS = 60_000

/** Faults that the schema cannot express; empty if the entry does not fit the schema. */
export function backupFaults(entry: unknown): string[] {
  if (!Check(BackupEntry, entry)) return []
  const { every, folder, s3 } = entry
  const faults = bucketFaults('backup.s3', s3)
  if (every !== undefined && (parseDurationMs(every) ?? 0) < MIN_INTERVAL_MS)
    faults.push(`backup.every: "${every}" is not a duration of a minute or more, such as "6h" or "1d"`)
  if (folder !== undefined && s3) faults.push('backup.folder: give either folder or s3')
  return faults
}

/** How often the server makes a backup, in milliseconds; undefined if it does not. */
export function backupEveryMs(entry: BackupEntry | undefined): number | undefined {
  return entry?.every === undefined ? undefined : parseDurationMs(entry.every)
}
