// Where the archives of closed charges are stored: in a folder, by default in the data directory, or in a bucket.

import { join } from 'node:path'
import type { Bucket } from '../artifacts/s3-store'
import type { BackupTask } from '../backup/schedule'
import type { Config } from '../config/schema'

/** The place of a configuration's archives, as plain data. */
export function placeOfArchives({ retention }: Config, dataDir: string): BackupTask['place'] {
  if (retention?.s3) return { s3: retention.s3 as Bucket }
  return { folder: retention?.folder ?? join(dataDir, 'archive') }
}
