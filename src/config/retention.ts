// The part of the configuration that says how long charges stay in the database, and where their archives go. Off by
// default: charges stay permanently.

import { type Static, Type } from '@sinclair/typebox'
import { Check } from '@sinclair/typebox/value'
import { closed, optionalSetting, requiredSetting } from '../lib/setting'
import { BucketEntry, bucketFaults } from './bucket'

/** A number of months: `24mo`. */
export const MONTHS = /^[1-9][0-9]{0,3}mo$/

export const RetentionEntry = Type.Object(
  {
    charges: requiredSetting(
      'How many months charges stay in the database, such as `24mo`. An older month is closed as a whole: its charges are moved to an archive, and their sums stay in the books (docs/operate/retention.md).',
      Type.String({ pattern: MONTHS.source }),
    ),
    folder: optionalSetting(
      'The folder for archives, the same for all nodes. Default: `archive` in the data directory.',
      Type.String({ minLength: 1 }),
    ),
    s3: optionalSetting(
      'Stores archives in a bucket instead of a folder: `bucket`, `endpoint`, `region`, `accessKeyId`, `secretAccessKey`, and `prefix` before the name of each.',
      BucketEntry,
    ),
  },
  closed,
)
export type RetentionEntry = Static<typeof RetentionEntry>

/** Faults that the schema cannot express; empty if the entry does not fit the schema. */
export function retentionFaults(entry: unknown): string[] {
  if (!Check(RetentionEntry, entry)) return []
  const { folder, s3 } = entry
  const faults = bucketFaults('retention.s3', s3)
  if (folder !== undefined && s3) faults.push('retention.folder: give either folder or s3')
  return faults
}

/** The number in a text such as `24mo`; undefined for other text. */
export function parseMonths(text: string): number | undefined {
  return MONTHS.test(text) ? Number.parseInt(text, 10) : undefined
}
