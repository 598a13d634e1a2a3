// Failed requests by hour and key, and by whose fault they were. Summed up as requests end, as the figures of models are: each process
// keeps rows of its own, which it writes again while their hour lasts. Lost with a crash is a minute at most; nothing here must be
// used for money.

import { Conditions } from '../db/conditions'
import type { Db, Statement } from '../db/db'
import type { Party } from './failure'
import { endedInError, type RequestLogRow } from './row'

export interface KeyFailures {
  /** The beginning of the hour in which they ended, in milliseconds since 1970. */
  hour: number
  /** Empty for requests without a known key, and for those of keys beyond the most that are counted. */
  keyId: string
  failedBy: Record<Party, number>
}

const HOUR_MS = 3_600_000
/** Keys that are counted separately within an hour; those of further keys are counted together. */
const MOST_KEYS = 1_000
const SAVED_AT_ONCE = 100

/** Sums up the failed requests of one process. */
export class KeyFailureKeeper {
  private readonly sums = new Map<string, KeyFailures>()
  private readonly changed = new Set<KeyFailures>()

  constructor(
    private readonly db: Db,
    /** Names the process among all that have written. */
    private readonly source: string,
  ) {}

  /** Counts ended requests. */
  readonly fold = (rows: readonly RequestLogRow[]): void => {
    for (const row of rows) {
      if (!endedInError(row.status, row.errorCode)) continue
      const sums = this.sumsOf(row)
      sums.failedBy[row.failedBy ?? 'gateway']++
      this.changed.add(sums)
    }
  }

  /** Writes what has changed, and forgets hours that are over. Rejects with DatabaseUnavailable. */
  async store(now: number): Promise<void> {
    const changed = [...this.changed]
    for (let from = 0; from < changed.length; from += SAVED_AT_ONCE) {
      const some = changed.slice(from, from + SAVED_AT_ONCE)
      const statements = some.map((failures) => saveFailures(this.source, failures))
      for (const failures of some) this.changed.delete(failures)
      await this.db.batch(statements).catch((error) => {
        for (const failures of some) this.changed.add(failures)
        throw error
      })
    }
    for (const [name, failures] of this.sums) {
      if (failures.hour < now - 2 * HOUR_MS && !this.changed.has(failures)) this.sums.delete(name)
    }
  }

  private sumsOf({ at, durationMs, keyId }: RequestLogRow): KeyFailures {
    const endedAt = Math.round(at + durationMs)
    const hour = endedAt - (endedAt % HOUR_MS)
    const found = this.sums.get(`${hour} ${keyId ?? ''}`)
    if (found) return found
    const own = this.sums.size >= MOST_KEYS ? '' : (keyId ?? '')
    const name = `${hour} ${own}`
    const sums = this.sums.get(name) ?? { hour, keyId: own, failedBy: { vendor: 0, gateway: 0, caller: 0 } }
    this.sums.set(name, sums)
    return sums
  }
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

/** Failures of whole hours with the names of keys and accounts, null for requests without a known key. */
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
