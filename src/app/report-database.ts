// The database that reports read: the configured replica while it is usable, otherwise the primary.

import type { ReportSource } from '../admin/operation'
import type { Config } from '../config/schema'
import type { Db } from '../db/db'
import { openPostgres } from '../db/drivers/postgres'
import { Replica } from '../db/drivers/replica'
import type { System } from '../lib/system'
import { readPartitions } from '../request-log/partitions'
import { latestTime } from './clock'

interface ReportParts extends Pick<System, 'now' | 'monotonic' | 'after' | 'log'> {
  db: Db
  requestLog: ReportSource['requestLog']
}

export interface Reports {
  /** A place for one report. */
  source(): Promise<ReportSource>
  close(): Promise<void>
}

/** `patient` is for commands, whose reports may read for minutes. */
export function openReports(
  config: Pick<Config, 'databaseReplica'>,
  parts: ReportParts,
  options: { patient?: boolean } = {},
): Reports {
  const { db, requestLog } = parts
  const { databaseReplica } = config
  if (databaseReplica === undefined) return { source: async () => ({ db, requestLog }), async close() {} }
  const replica = new Replica({
    ...parts,
    primary: db,
    copy: openPostgres(databaseReplica, { ...options, codec: db.codec }),
    notedAt: async (copy) => (await latestTime(copy))?.at,
  })
  return {
    async source() {
      const chosen = await replica.forReport()
      return { db: chosen, requestLog: chosen === db ? requestLog : readPartitions(chosen) }
    },
    close: () => replica.close(),
  }
}
