// Closes one month: its charges are compared with the checkpoints, written to an archive that is read back, and replaced in the
// books by their sums in one transaction. It must remove nothing: until that transaction nothing has changed, and after it the
// charges are closed, wherever the process ends.

import { strict as assert } from 'node:assert'
import { join } from 'node:path'
import type { BackupPlace } from '../backup/place'
import { archivedCharge, pagesOfCharges, RowsHash, readReferences } from '../billing/ledger/charge-rows'
import {
  areSigned,
  type Checkpoint,
  checkpointsOf,
  readCharges,
  type Sums,
  writeClosing,
} from '../billing/proofs/checkpoint'
import {
  type Closing,
  type ClosingEntry,
  closedPart,
  closedSums,
  closingsOf,
  hashOfEntries,
} from '../billing/proofs/closings'
import { verify } from '../billing/proofs/verify'
import { FIGURES } from '../billing/reports/usage-figures'
import type { Db } from '../db/db'
import { isoTime } from '../db/iso-time'
import { withScratchFolder } from '../db/scratch-folder'
import { archiveFault, nameOfArchive, writeArchive } from './archive'
import { EntrySums } from './entry-sums'
import type { MonthToClose } from './months'

export interface ClosingParts {
  db: Db
  /** Where archives are stored. */
  place: BackupPlace
  /** The key that signs checkpoints; undefined if none can be trusted. */
  key: string | undefined
  /** A folder with space for one or two archives. */
  scratch: string
  now(): number
  onProgress?(text: string): void
}

/** Thrown if the books or an archive are wrong; nothing was closed. */
export class NotClosed extends Error {
  override readonly name = 'NotClosed'

  constructor(
    message: string,
    readonly problems: readonly string[] = [],
  ) {
    super([message, ...problems].join('\n  '))
  }
}

/** Closes a month. Undefined if another process wrote a closing or a checkpoint meanwhile: then nothing has changed. */
export async function closeMonth(
  parts: ClosingParts,
  month: MonthToClose,
  later: readonly MonthToClose[] = [],
): Promise<Closing | undefined> {
  const { db, key, scratch } = parts
  const { problems } = await verify(db, { now: parts.now(), key, whole: false, onProgress: () => {} })
  if (problems.length > 0 || key === undefined) throw new NotClosed('The books are wrong:', problems)
  const [closings, checkpoints] = [await closingsOf(db), await checkpointsOf(db)]
  if ((await closedPart(db)).position !== month.after) return undefined
  assert(areSigned(closings, checkpoints, key), 'what was verified is signed')
  return await withScratchFolder(scratch, async (folder) => {
    const path = join(folder, 'archive.zst')
    const reading = new MonthReading(db, month, checkpoints)
    parts.onProgress?.(`Reading the charges up to ${month.month}.`)
    const linesHash = await writeArchive(path, reading.lines())
    const entries = reading.entries()
    const kept = await reading.checkpointsBehind(later.map(({ position }) => position))
    const closing = {
      ...pick(month),
      at: parts.now(),
      charges: reading.charges,
      hash: reading.hash,
      entriesHash: hashOfEntries(entries),
      ...(await nameOfArchive(month.month, path)),
    }
    await store(parts.place, path, closing.archive)
    parts.onProgress?.(`Reading the archive of ${month.month} back.`)
    const fault = await archiveFault(parts.place, closing, { scratch, linesHash })
    if (fault !== undefined) throw new NotClosed(`The archive ${closing.archive} ${fault}.`)
    const isWritten = await writeClosing(db, { closing, entries, closings, checkpoints, kept }, key)
    return isWritten ? (await closingsOf(db)).at(-1) : undefined
  })
}

function pick({ month, position, endedBefore }: MonthToClose) {
  return { month, position, endedBefore }
}

/** Puts a file in its place. An existing file with this name has the same content: an earlier attempt has put it there. */
async function store(place: BackupPlace, path: string, name: string): Promise<void> {
  await place.put(path, name).catch(async (error) => {
    if (!(await place.has(name))) throw error
  })
}

/** The charges of a month, read once: for the archive, the sums, and the hashes of the checkpoints that cover them. */
class MonthReading {
  charges = 0
  hash = ''
  private readonly sums = new EntrySums()
  /** Hash of the charges since the previous checkpoint. */
  private sinceCheckpoint = new RowsHash()

  constructor(
    private readonly db: Db,
    private readonly month: MonthToClose,
    private readonly checkpoints: readonly Checkpoint[],
  ) {
    assert(this.next(month.position), 'charges that are closed have been verified')
  }

  /** The lines of the archive. */
  async *lines(): AsyncGenerator<string> {
    const { after, position } = this.month
    const references = await readReferences(this.db)
    const hash = new RowsHash()
    for await (const rows of this.pages(after, position)) {
      let text = ''
      for (const row of rows) {
        assert(
          (row.ended_at as number) < this.month.endedBefore,
          'what is closed ended before the end of the month',
        )
        hash.add(row)
        const charge = archivedCharge(row, references)
        this.sums.add(charge)
        text += `${JSON.stringify(charge)}\n`
      }
      this.charges += rows.length
      if (text !== '') yield text
    }
    this.hash = hash.digest()
  }

  /**
   * The checkpoints after the month. Charges that a checkpoint covers together with the month's are read and hashed again, in parts
   * that end with the months that are closed next, so that they are read once for all of them.
   */
  async checkpointsBehind(ends: readonly number[]): Promise<Omit<Checkpoint, 'signature'>[]> {
    const { position } = this.month
    const behind = this.checkpoints.filter((checkpoint) => checkpoint.position > position)
    const [next] = behind
    const endsHere = this.checkpoints.some((checkpoint) => checkpoint.position === position)
    if (!next || endsHere) return behind
    const sums = withEntries(await closedSums(this.db), this.entries())
    const parts: Omit<Checkpoint, 'signature'>[] = []
    let after = position
    for (const to of [...ends.filter((end) => end > position && end < next.position), next.position]) {
      const hash = await readCharges(this.db, after, to, sums, (rows) => {
        for (const row of rows) this.sinceCheckpoint.add(row)
      })
      parts.push({ position: to, at: next.at, hash, sums: structuredClone(sums) })
      after = to
    }
    this.compare(next)
    return [...parts, ...behind.slice(1)]
  }

  entries(): ClosingEntry[] {
    const entries = this.sums.entries()
    assert(
      entries.every((entry) =>
        entry.every((value) => typeof value === 'string' || Number.isSafeInteger(value)),
      ),
      'sums of a month are exact',
    )
    return entries
  }

  /** The first checkpoint at or after a position. */
  private next(position: number): Checkpoint | undefined {
    return this.checkpoints.find((checkpoint) => checkpoint.position >= position)
  }

  /** Rows between two positions; those of each checkpoint are compared with it. */
  private async *pages(after: number, to: number) {
    for (let from = after; from < to; ) {
      const checkpoint = this.next(from + 1)
      const end = Math.min(checkpoint?.position ?? to, to)
      for await (const { rows } of pagesOfCharges(this.db, from, end)) {
        for (const row of rows) this.sinceCheckpoint.add(row)
        yield rows
      }
      if (end === checkpoint?.position) this.compare(checkpoint)
      from = end
    }
  }

  private compare({ position, hash, at }: Checkpoint): void {
    const found = this.sinceCheckpoint.digest()
    this.sinceCheckpoint = new RowsHash()
    if (found === hash) return
    const when = isoTime(at)
    throw new NotClosed(
      `The charges up to position ${position} are not those that were verified on ${when}: see gateway balance verify --whole.`,
    )
  }
}

/** Sums that include the entries of another closing. */
function withEntries({ charges, paid, shortfall }: Sums, entries: readonly ClosingEntry[]): Sums {
  const all: Sums = { charges, paid: { ...paid }, shortfall }
  for (const [, account, , , , ...figures] of entries) {
    const of = Object.fromEntries(FIGURES.map((name, index) => [name, figures[index] as number]))
    all.charges += of.requests as number
    all.paid[account] = String(BigInt(all.paid[account] ?? 0) + BigInt(of.amount as number))
    all.shortfall = String(BigInt(all.shortfall) + BigInt(of.shortfall as number))
  }
  return all
}
