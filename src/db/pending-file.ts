// A file of fixed size for changes that the database refuses: allocated in full at the start, so that it can be written even if the
// disk is full. What `add` has stored survives a crash of the process and a power failure. It must never grow, and never be read by
// two processes: each has its own file, and reads those of ended processes.

import {
  closeSync,
  fdatasyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'

/** The records of a process that must still be written to the database. */
export interface PendingRecords {
  /** The name of the file, which is that of the process. */
  readonly name: string
  /** Number of stored texts. */
  readonly count: number
  /** Stores a text, which is on disk when it returns. Returns its place; undefined if there is no room, or no disk. */
  add(text: string): number | undefined
  /** Removes a text. */
  remove(place: number): void
}

/** A record of another process. */
export interface OrphanedRecord {
  place: number
  text: string
  /** Whether an attempt to write it has failed for a reason other than an unavailable database. */
  hasFailed: boolean
}

const FOLDER = 'pending-ends'
const OWNER_ONLY = 0o600
/** The size of a file, and the minimum that is tried if a disk or a limit has no room for it, in bytes. */
const SIZE = 16 * 1024 * 1024
const MIN_SIZE = 1024 * 1024
const PIECE = Buffer.alloc(MIN_SIZE)
/** Before each record: its length, the checksum of its text, and its state. A length of 0 ends the file. */
const HEAD = 9
const STATE = 8
const states = { waiting: 1, failed: 2, done: 3 } as const

/** The file of this process. */
export class PendingFile implements PendingRecords {
  readonly name: string
  private descriptor: number | undefined
  private readonly path: string
  /** 0 if the disk had no room at the start. */
  private size = 0
  private end = 0
  private waiting = 0

  /** `name` is that of the process and unique, even among ended ones. */
  constructor(dataDir: string, name: string) {
    const folder = join(dataDir, FOLDER)
    this.name = name
    this.path = join(folder, name)
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      this.descriptor = openSync(this.path, 'wx+', OWNER_ONLY)
    } catch {
      return
    }
    for (let size = SIZE; size >= MIN_SIZE && this.size === 0; size /= 2) {
      if (fill(this.descriptor, size)) this.size = size
    }
  }

  get count(): number {
    return this.waiting
  }

  /** Whether it can store anything. */
  get hasRoom(): boolean {
    return this.size > 0
  }

  add(text: string): number | undefined {
    const bytes = Buffer.from(text)
    const length = HEAD + bytes.length
    if (this.descriptor === undefined || this.end + length + HEAD > this.size) return undefined
    // Followed by an end mark: older bytes there must not be read as a record.
    const record = Buffer.alloc(length + HEAD)
    record.writeUInt32BE(bytes.length, 0)
    record.writeUInt32BE(checksum(bytes), 4)
    record.writeUInt8(states.waiting, STATE)
    bytes.copy(record, HEAD)
    try {
      writeSync(this.descriptor, record, 0, record.length, this.end)
      fdatasyncSync(this.descriptor)
    } catch {
      return undefined
    }
    const place = this.end
    this.end += length
    this.waiting++
    return place
  }

  remove(place: number): void {
    if (this.descriptor === undefined) return
    this.waiting--
    // Losing a mark is harmless: changes that were already written are not applied again.
    writeState(this.descriptor, place, 'done')
    if (this.waiting > 0) return
    this.end = 0
    writeSync(this.descriptor, PIECE, 0, HEAD, 0)
  }

  /** Closes the file, and deletes it if nothing waits in it. */
  close(): void {
    if (this.descriptor === undefined) return
    closeSync(this.descriptor)
    this.descriptor = undefined
    if (this.waiting === 0) rmSync(this.path, { force: true })
  }
}

/** The names of all files of a data directory. */
export function pendingFiles(dataDir: string): string[] {
  try {
    return readdirSync(join(dataDir, FOLDER))
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return []
    throw error
  }
}

/** The waiting records of a file, oldest first. A record that a crash cut off while it was written does not count. */
export function readPending(dataDir: string, name: string): OrphanedRecord[] {
  const bytes = readFileSync(join(dataDir, FOLDER, name))
  const records: OrphanedRecord[] = []
  for (let place = 0; place + HEAD <= bytes.length; ) {
    const length = bytes.readUInt32BE(place)
    const text = bytes.subarray(place + HEAD, place + HEAD + length)
    if (length === 0 || text.length < length || checksum(text) !== bytes.readUInt32BE(place + 4)) break
    const state = bytes.readUInt8(place + STATE)
    if (state !== states.done)
      records.push({ place, text: text.toString(), hasFailed: state === states.failed })
    place += HEAD + length
  }
  return records
}

/** Marks a record of an ended process. */
export function markPending(dataDir: string, name: string, place: number, state: 'failed' | 'done'): void {
  const descriptor = openSync(join(dataDir, FOLDER, name), 'r+')
  try {
    writeState(descriptor, place, state)
    fdatasyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

export function deletePending(dataDir: string, name: string): void {
  rmSync(join(dataDir, FOLDER, name), { force: true })
}

function writeState(descriptor: number, place: number, state: keyof typeof states): void {
  writeSync(descriptor, Uint8Array.of(states[state]), 0, 1, place + STATE)
}

function checksum(bytes: Uint8Array): number {
  return Bun.hash.crc32(bytes)
}

/** Allocates space on the disk. False if there is not enough. */
function fill(descriptor: number, size: number): boolean {
  try {
    let filled = 0
    while (filled < size && writeSync(descriptor, PIECE, 0, PIECE.length, filled) === PIECE.length) {
      filled += PIECE.length
    }
    if (filled === size) return true
  } catch {
    // The disk is full, or a limit is reached.
  }
  ftruncateSync(descriptor, 0)
  return false
}
