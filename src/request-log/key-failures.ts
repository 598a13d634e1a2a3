// Failed requests by hour, key and party at fault. Summed as requests end, like the figures of models. Nothing here must be used
// for money.

import { Conditions } from '../db/conditions'
import type { Db, Statement } from '../db/db'
import type { Party } from './failure'
import { HourlySums } from './hourly-sums'
import { endedInError, type RequestLogRow } from './row'

export interface KeyFailures {
  /** The beginning of the hour in which they ended, in milliseconds since 1970. */
  hour: number
  /** Empty for requests without a known key, and for those of keys beyond the maximum. */
  keyId: string
  failedBy: Record<Party, number>
}

const HOUR_MS = 3_600_000

/** Sums up the failed requests of one process. */
export class KeyFailureKeeper {
  private readonly sums: HourlySums<KeyFailures>

  /** `source` identifies the process among all that have written. */
  constructor(db: Db, source: string) {
    this.sums = new HourlySums(db, (failures) => saveFailures(source, failures), noFailures)
  }

  /** Counts ended requests. */
  readonly fold = (rows: readonly RequestLogRow[]): void => {
    for (const row of rows) {
      if (!endedInError(row.status, row.errorCode)) continue
      const sums = this.sums.of(row, [row.keyId ?? ''])
      sums.failedBy[row.failedBy ?? 'gateway']++
      this.sums.noteChange(sums)
    }
  }

  /** Writes the changed sums, and drops past hours. Rejects with DatabaseUnavailable. */
  store(now: number): Promise<void> {
    return this.sums.store(now)
  }
}

function noFailures(hour: number, [keyId = '']: readonly string[]): KeyFailures {
  return { hour, keyId, failedBy: { vendor: 0, gateway: 0, caller: 0 } }
}

function saveFailures(source: string, { hour, keyId, failedBy }: KeyFailures): Statement {
  return {
    sql: `insert into key_failures (hour, source, key_id, failed_by_vendor, failed_by_gateway, failed_by_caller)
      values ($1, $2, $3, $4, $5, $6)
      on conflict (hour, source, key_id) do update set failed_by_vendor = excluded.failed_by_vendor,
        failed_by_gateway = excluded.failed_by_gateway, failed_by_caller = excluded.failed_by_caller`,
    parameters: [hour, source, keyId, failedBy.vendor, failedBy.gateway, failedBy.caller],
  }
}

/** Failures of whole hours with the names of keys and accounts; null for requests without a known key. */
export async function keyFailuresBetween(
  db: Db,
  period: { since: number; until: number; keyId?: string | undefined; account?: string | undefined },
) {
  const list = new Conditions()
    .where('f.hour >= ?', period.since - (period.since % HOUR_MS))
    .where('f.hour < ?', period.until)
    .where('f.key_id = ?', period.keyId)
    .where('k.account = ?', period.account)
  const rows = await db.query({
    sql: `select f.*, k.name, k.account from key_failures f left join keys k on k.id = f.key_id
      ${list.sql} order by f.hour`,
    parameters: list.parameters,
  })
  return rows.map((row) => ({
    hour: row.hour as number,
    key: row.name as string | null,
    account: row.account as string | null,
    failedBy: {
      vendor: row.failed_by_vendor as number,
      gateway: row.failed_by_gateway as number,
      caller: row.failed_by_caller as number,
    },
  }))
}
