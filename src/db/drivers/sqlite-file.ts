// A SQLite database as a file: copies a snapshot of it, and finds damage in a copy, or in the log next to a database. It must never
// change the file that it inspects.

import { Database } from 'bun:sqlite'
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs'
import { DatabaseUnavailable } from '../db'

/** How long a copy waits for another process that is about to lock the database. */
const BUSY_TIMEOUT_MS = 5_000
/** Sizes in SQLite's file formats: https://www.sqlite.org/fileformat2.html */
const LOG_HEADER_BYTES = 32
const FRAME_HEADER_BYTES = 24
const LOG_MAGIC = 0x377f0682
/** Maximum number of consecutive commits that a process leaves to the system to sync: see sqlite.ts. */
export const MAX_UNSYNCED = 2
/** Commits that a power failure may leave damaged: those of two processes, one taking over from the other, and the one being written. */
const MAX_TORN = 2 * MAX_UNSYNCED + 1

/**
 * Writes a copy to a new file. Others may read and write meanwhile: the copy is a snapshot of the moment at which it began. Blocks
 * the thread.
 */
export function copySqlite(path: string, to: string): void {
  requireWholeLog(path)
  const database = new Database(path, { readonly: true })
  try {
    database.run(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
    database.query('vacuum into ?').run(to)
  } finally {
    database.close()
  }
}

/** Why a file is not a complete SQLite database, in words that follow "it"; undefined if it is complete. Blocks the thread. */
export function fileFault(path: string): string | undefined {
  let database: Database | undefined
  try {
    database = new Database(path, { readonly: true })
    const { page_count } = database.query('pragma page_count').get() as { page_count: number }
    const { page_size } = database.query('pragma page_size').get() as { page_size: number }
    if (page_count === 0) return 'is empty'
    if (page_count * page_size !== statSync(path).size) return 'is cut off, or too long'
    const [first] = database.query('pragma integrity_check(1)').all() as { integrity_check: string }[]
    return first?.integrity_check === 'ok' ? undefined : `is damaged: ${first?.integrity_check}`
  } catch (error) {
    return `is damaged: ${(error as Error).message}`
  } finally {
    database?.close()
  }
}

/**
 * Fails if commits of a database are lost: SQLite would open the rest as if nothing were missing, and remove the log when it
 * closes. To be called before a file with money is opened, for whatever purpose.
 */
export function requireWholeLog(path: string): void {
  const fault = logFault(path)
  if (fault === undefined) return
  throw new DatabaseUnavailable(
    `${fault}. Nothing was changed. Copy the data directory, then restore a backup into an empty one; or, to continue with the readable part, remove the log`,
  )
}

/**
 * Why the write-ahead log of a database has lost synced commits; undefined if it has lost none. SQLite itself reads such a log up
 * to the damage and treats the rest as never written. A power failure alone leaves only a few incomplete commits, because nearly
 * every commit is synced before the next is written. Other processes may write meanwhile.
 */
export function logFault(path: string): string | undefined {
  const log = `${path}-wal`
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0
  if (size > LOG_HEADER_BYTES && !existsSync(path)) return `${path} is missing, but its log ${log} is there`
  const lost = size === 0 ? 0 : lostCommits(log, size)
  if (lost <= MAX_TORN) return undefined
  return `${log} is damaged: ${lost} commits in it can no longer be read`
}

/** Commits of the current round of the log that follow its first damage. */
function lostCommits(log: string, size: number): number {
  let file: number
  try {
    file = openSync(log, 'r')
  } catch (error) {
    // Its last user has closed it meanwhile.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0
    throw error
  }
  try {
    for (;;) {
      const header = readAt(file, 0, LOG_HEADER_BYTES)
      const lost = lostBehind(header, file, size)
      // Everything that was read belongs to one round, unless another process has begun the next.
      if (header.equals(readAt(file, 0, LOG_HEADER_BYTES))) return lost
    }
  } finally {
    closeSync(file)
  }
}

function lostBehind(header: Buffer, file: number, size: number): number {
  if (header.length < LOG_HEADER_BYTES) return 0
  const littleEndian = (header.readUInt32BE(0) & 1) === 0
  const pageBytes = header.readUInt32BE(8)
  const isPageSize = pageBytes >= 512 && pageBytes <= 65536 && (pageBytes & (pageBytes - 1)) === 0
  const isLog = (header.readUInt32BE(0) & ~1) >>> 0 === LOG_MAGIC && isPageSize
  let sum = checksum([0, 0], header.subarray(0, 24), littleEndian)
  // The header is synced before the first frame is written.
  if (!isLog || !equals(sum, header, 24))
    return size > LOG_HEADER_BYTES + FRAME_HEADER_BYTES ? Number.POSITIVE_INFINITY : 0
  let isWhole = true
  let lost = 0
  const frameBytes = FRAME_HEADER_BYTES + pageBytes
  for (let at = LOG_HEADER_BYTES; at + frameBytes <= size; at += frameBytes) {
    const frame = readAt(file, at, isWhole ? frameBytes : FRAME_HEADER_BYTES)
    const isOfRound = header.compare(frame, 8, 16, 16, 24) === 0
    // An older round follows the current one, unless the damage is in the mark of the round.
    if (!isOfRound) isWhole = false
    else if (isWhole) {
      sum = checksum(sum, frame.subarray(0, 8), littleEndian)
      sum = checksum(sum, frame.subarray(FRAME_HEADER_BYTES), littleEndian)
      isWhole = equals(sum, frame, 16)
    }
    const isCommit = frame.readUInt32BE(4) !== 0
    if (!isWhole && isOfRound && isCommit) lost++
  }
  return lost
}

function readAt(file: number, at: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  return buffer.subarray(0, readSync(file, buffer, 0, bytes, at))
}

type Checksum = readonly [number, number]

/** SQLite's checksum of a log, continued over more bytes. */
function checksum([first, second]: Checksum, bytes: Buffer, littleEndian: boolean): Checksum {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let [a, b] = [first, second]
  for (let at = 0; at < bytes.length; at += 8) {
    a = (a + view.getUint32(at, littleEndian) + b) >>> 0
    b = (b + view.getUint32(at + 4, littleEndian) + a) >>> 0
  }
  return [a, b]
}

function equals([first, second]: Checksum, bytes: Buffer, at: number): boolean {
  return bytes.readUInt32BE(at) === first && bytes.readUInt32BE(at + 4) === second
}
