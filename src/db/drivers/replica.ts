// A copy of the database for reports, such as a streaming replica of PostgreSQL, so that they put no load on the
// primary. A copy lags behind: nothing that decides about money may be read there.

import type { After, Log } from '../../lib/system'
import type { Db } from '../db'

interface ReplicaParts {
  primary: Db
  copy: Db
  /** The last time that a serving process has noted in a database, in milliseconds since 1970; undefined for none. */
  notedAt(db: Db): Promise<number | undefined>
  now(): number
  monotonic(): number
  after: After
  log: Log
}

/** The most that a copy may be behind. Serving processes note the time every 15 seconds, so a note is as old by itself. */
const MOST_BEHIND_MS = 30_000
/** How long a copy that was looked at counts as it was found. */
const FRESH_MS = 2_000
/** When a copy that could not be used is looked at again. */
const AWAY_MS = 10_000
/** How long a look may take: until then a report waits. */
const LOOK_MS = 2_000

export class Replica {
  private probe: { until: number; isFit: Promise<boolean> } | undefined
  private isUsed = true

  constructor(private readonly parts: ReplicaParts) {}

  /**
   * The database for one report: the copy while it answers and is close behind, else the primary. A report whose copy fails
   * goes over to the primary, and never back: rows that it has counted on would not be there yet.
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
          // Also what the copy does not know yet, such as a new table. A fault of our own shows itself at the primary.
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
    // Reports that begin meanwhile wait for the same look.
    const probe = { until: Number.POSITIVE_INFINITY, isFit: this.isFit() }
    this.probe = probe
    void probe.isFit.then((isFit) => {
      probe.until = monotonic() + (isFit ? FRESH_MS : AWAY_MS)
    })
  }

  private async isFit(): Promise<boolean> {
    const { copy, notedAt, now, after, log } = this.parts
    const late = Promise.withResolvers<never>()
    const cancel = after(LOOK_MS, () => late.reject(new Error(`no answer in ${LOOK_MS / 1000} s`)))
    try {
      const noted = await Promise.race([notedAt(copy), late.promise])
      const behindMs = now() - (noted ?? 0)
      if (behindMs > MOST_BEHIND_MS) throw new Error(`it is ${Math.round(behindMs / 1000)} s behind`)
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
