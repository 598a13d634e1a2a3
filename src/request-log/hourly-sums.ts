// Sums of ended requests by hour and series, as one process collects and writes them: a row is rewritten until its hour ends. A
// crash loses a minute at most; nothing here must be used for money.

import type { Db, Statement } from '../db/db'
import type { RequestLogRow } from './row'

const HOUR_MS = 3_600_000
/** Number of series in the last hours that are counted separately; others are counted together. */
const MAX_SERIES = 1_000
const SAVED_AT_ONCE = 100

export class HourlySums<Sums extends { hour: number }> {
  private readonly sums = new Map<string, Sums>()
  private readonly changed = new Set<Sums>()

  constructor(
    private readonly db: Db,
    private readonly save: (sums: Sums) => Statement,
    private readonly begin: (hour: number, series: readonly string[]) => Sums,
  ) {}

  /** The sums of a series for the hour in which a request ended; those of the series of empty names once there are too many. */
  of({ at, durationMs }: Pick<RequestLogRow, 'at' | 'durationMs'>, series: readonly string[]): Sums {
    const endedAt = Math.round(at + durationMs)
    const hour = endedAt - (endedAt % HOUR_MS)
    const found = this.sums.get(nameOf(hour, series))
    if (found) return found
    const counted = this.sums.size >= MAX_SERIES ? series.map(() => '') : series
    const name = nameOf(hour, counted)
    const sums = this.sums.get(name) ?? this.begin(hour, counted)
    this.sums.set(name, sums)
    return sums
  }

  /** Marks sums that must be written. */
  noteChange(sums: Sums): void {
    this.changed.add(sums)
  }

  /** Writes the changed sums, and drops past hours. Rejects with DatabaseUnavailable. */
  async store(now: number): Promise<void> {
    const changed = [...this.changed]
    for (let from = 0; from < changed.length; from += SAVED_AT_ONCE) {
      const some = changed.slice(from, from + SAVED_AT_ONCE)
      const statements = some.map(this.save)
      for (const sums of some) this.changed.delete(sums)
      await this.db.batch(statements).catch((error) => {
        for (const sums of some) this.changed.add(sums)
        throw error
      })
    }
    for (const [name, sums] of this.sums) {
      if (sums.hour < now - 2 * HOUR_MS && !this.changed.has(sums)) this.sums.delete(name)
    }
  }
}

function nameOf(hour: number, series: readonly string[]): string {
  return `${hour}\n${series.join('\n')}`
}
