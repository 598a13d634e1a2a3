// A replica of the database for reports, such as a streaming replica of PostgreSQL, so that they put no load on the primary. A
// replica lags behind: nothing that decides about money may be read there.

import type { After, Log } from '../../lib/system'
import type { Db } from '../db'

interface ReplicaParts {
  primary: Db
  copy: Db
  /** The last time that a serving process has recorded in a database, in milliseconds since 1970; undefined if none is recorded. */
  notedAt(db: Db): Promise<number | undefined>
  now(): number
  monotonic(): number
  after: After
  log: Log
}

/** Maximum lag of a replica. Serving processes record the time every 15 seconds, so a record may be that old even without lag. */
const MAX_LAG_MS = 30_000
/** How long the result of a check of the replica is used. */
const FRESH_MS = 2_000
/** When an unusable replica is checked again. */
const AWAY_MS = 10_000
/** Maximum duration of a check: until then a report waits. */
const PROBE_MS = 2_000

export class Replica {
  private probe: { until: number; isFit: Promise<boolean> } | undefined
  private isUsed = true

  constructor(private readonly parts: ReplicaParts) {}

  /**
   * The database for one report: the replica while it answers and is up to date, otherwise the primary. A report whose replica
   * fails continues on the primary, and never switches back: rows that it has already counted might be missing there.
   */
  async forReport(): Promise<Db> {
    const { primary, copy, monotonic } = this.parts
    if (!this.probe || monotonic() >= this.probe.until) this.begin()
    if (!(await this.probe?.isFit)) return primary
    let from = copy
    return {
      ...primary,
      query: async (statement) => {
        if (from === primary) return primary.query(statement)
        try {
          return await copy.query(statement)
        } catch (error) {
          // This includes errors about objects that the replica does not have yet, such as a new table. An error in our SQL occurs
          // on the primary too.
          from = primary
          this.leave(String(error))
          return primary.query(statement)
        }
      },
    }
  }

  close(): Promise<void> {
    return this.parts.copy.close()
  }

  private begin(): void {
    const { monotonic } = this.parts
    // Reports that begin meanwhile wait for the same check.
    const probe = { until: Number.POSITIVE_INFINITY, isFit: this.isFit() }
    this.probe = probe
    void probe.isFit.then((isFit) => {
      probe.until = monotonic() + (isFit ? FRESH_MS : AWAY_MS)
    })
  }

  private async isFit(): Promise<boolean> {
    const { copy, notedAt, now, after, log } = this.parts
    const late = Promise.withResolvers<never>()
    const cancel = after(PROBE_MS, () => late.reject(new Error(`no answer in ${PROBE_MS / 1000} s`)))
    try {
      const noted = await Promise.race([notedAt(copy), late.promise])
      const behindMs = now() - (noted ?? 0)
      if (behindMs > MAX_LAG_MS) throw new Error(`it is ${Math.round(behindMs / 1000)} s behind`)
      if (!this.isUsed) log('replica_used', { behindMs })
      this.isUsed = true
      return true
    } catch (error) {
      this.leave(String(error))
      return false
    } finally {
      cancel()
    }
  }

  private leave(reason: string): void {
    const { monotonic, log } = this.parts
    this.probe = { until: monotonic() + AWAY_MS, isFit: Promise.resolve(false) }
    if (this.isUsed) log('replica_not_used', { reason })
    this.isUsed = false
  }
}
