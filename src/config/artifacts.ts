// The part of the configuration that says how results are stored: how long, how much, and where. Off by default. It must never let
// two nodes store files where the other cannot read them.

import { type Static, Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import { parseBytes, parseDurationMs } from '../lib/durations'
import { closed, optionalSetting, requiredSetting } from '../lib/setting'
import { BucketEntry, bucketFaults } from './bucket'

export const ArtifactsEntry = Type.Object(
  {
    keep: requiredSetting('How long results are kept: `12h`, `7d`.', Type.String()),
    maxBytes: optionalSetting(
      'Maximum size of all results, such as `500MB`; the oldest are deleted first. Default 10GB.',
      Type.String(),
    ),
    s3: optionalSetting(
      'Stores them in a bucket instead of the data directory, as several nodes require: `bucket`, `endpoint`, `region`, `accessKeyId`, `secretAccessKey`, and `prefix` before the name of each object.',
      BucketEntry,
    ),
  },
  closed,
)
type ArtifactsEntry = Static<typeof ArtifactsEntry>

const DEFAULT_MAX_BYTES = 10e9

/** Faults that the schema cannot express; empty if the entry does not fit the schema. */
export function artifactFaults(entry: unknown, database: unknown): string[] {
  if (!Check(ArtifactsEntry, entry)) return []
  const { keep, maxBytes, s3 } = entry
  const faults: string[] = []
  if (parseDurationMs(keep) === undefined) {
    faults.push(`artifacts.keep: "${keep}" is not a duration such as "12h" or "7d"`)
  }
  if (maxBytes !== undefined && parseBytes(maxBytes) === undefined) {
    faults.push(`artifacts.maxBytes: "${maxBytes}" is not a size such as "500MB" or "10GB"`)
  }
  if (database !== undefined && !s3) {
    faults.push(
      'artifacts.s3: missing; the nodes of a PostgreSQL database cannot read the files of each other’s disks, so artifacts need a bucket',
    )
  }
  return [...faults, ...bucketFaults('artifacts.s3', s3)]
}

/** The limits of a valid entry. */
export function artifactLimitsOf({ keep, maxBytes = '' }: ArtifactsEntry): {
  keepMs: number
  maxBytes: number
} {
  const keepMs = parseDurationMs(keep)
  if (keepMs === undefined) throw new Error('a configuration with faults')
  return { keepMs, maxBytes: parseBytes(maxBytes) ?? DEFAULT_MAX_BYTES }
}
