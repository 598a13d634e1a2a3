// The write-ahead log of a SQLite database: damage that SQLite would silently ignore is reported, and the normal result
// of a power failure is not.

import { Database } from 'bun:sqlite'
import { describe, expect, test } from 'bun:test'
import { copyFileSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { logFault } from '../../src/db/drivers/sqlite-file'
import { temporaryFolder } from '../support/databases/databases'
import { createRandom, seedOf } from '../support/random'

const seed = seedOf('LOG_SEED')
const COMMITS = 12
/** Commits that a power failure may leave damaged. */
const MAX_TORN = 5
const FRAME_BYTES = 24 + 4096

/** A database whose content is only in its log, as a killed process leaves it. */
function crashed(): string {
  const folder = temporaryFolder()
  const path = join(folder, 'gateway.sqlite')
  const live = new Database(join(folder, 'live.sqlite'), { create: true })
  live.run('pragma journal_mode = wal')
  live.run('pragma wal_autocheckpoint = 0')
  live.run('create table rows (number integer, text text)')
  for (let number = 1; number < COMMITS; number++)
    live.run('insert into rows values (?, ?)', [number, 'x'.repeat(9000)])
  for (const end of ['', '-wal']) copyFileSync(join(folder, `live.sqlite${end}`), path + end)
  live.close()
  return path
}

/** The rows that SQLite finds without our check. */
function rowsOf(path: string): number {
  const database = new Database(path)
  try {
    return (database.query('select count(*) as count from rows').get() as { count: number }).count
  } catch {
    return 0
  } finally {
    database.close()
  }
}

function flip(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  writeFileSync(path, bytes)
}

/** The place where each commit ends in the log, according to SQLite's mark in its last frame. */
function commitEnds(log: string): number[] {
  const bytes = readFileSync(log)
  const ends: number[] = []
  for (let at = 32; at < bytes.length; at += FRAME_BYTES)
    if (bytes.readUInt32BE(at + 4) !== 0) ends.push(at + FRAME_BYTES)
  return ends
}

/**
 * Whether the byte belongs to the salt that marks a frame as part of the current round: bytes 8 to 15 of its header.
 */
function isMark(at: number): boolean {
  const within = (at - 32) % FRAME_BYTES
  return at >= 32 && within >= 8 && within < 16
}

describe('the log of a database', () => {
  test('is valid if it is undamaged or does not exist', () => {
    const path = crashed()
    expect(logFault(path)).toBeUndefined()
    expect(rowsOf(path)).toBe(COMMITS - 1)
    expect(logFault(join(temporaryFolder(), 'none.sqlite'))).toBeUndefined()
  })

  test(`that is damaged anywhere before its last commits is reported (LOG_SEED=${seed})`, () => {
    const random = createRandom(seed)
    for (let round = 0; round < 30; round++) {
      const path = crashed()
      const ends = commitEnds(`${path}-wal`)
      let at = random.below(ends.at(-1 - MAX_TORN) as number)
      // A commit whose salt is damaged looks like one of an older round, and does not count as torn.
      if (isMark(at)) at %= ends.at(-2 - MAX_TORN) as number
      flip(`${path}-wal`, at)
      expect(logFault(path)).toContain('is damaged')
      // SQLite itself reports nothing.
      expect(rowsOf(path)).toBeLessThan(COMMITS - 1)
    }
  })

  test('with a damaged salt in one frame is reported', () => {
    for (const byte of [8, 15]) {
      const path = crashed()
      flip(`${path}-wal`, 32 + 3 * FRAME_BYTES + byte)
      expect(logFault(path)).toContain('is damaged')
    }
  })

  test('may end with a few incomplete commits, as after a power failure', () => {
    for (let torn = 1; torn <= MAX_TORN; torn++) {
      const path = crashed()
      const ends = commitEnds(`${path}-wal`)
      const before = ends.at(-1 - torn) as number
      flip(`${path}-wal`, before + 100)
      expect(logFault(path)).toBeUndefined()
      for (const size of [(ends.at(-1) as number) - 1, before + 10, before]) {
        truncateSync(`${path}-wal`, size)
        expect(logFault(path)).toBeUndefined()
      }
    }
  })

  test('with frames of old rounds after its end is valid', () => {
    const folder = temporaryFolder()
    const path = join(folder, 'gateway.sqlite')
    const live = new Database(path, { create: true })
    live.run('pragma journal_mode = wal')
    live.run('create table rows (number integer, text text)')
    for (let number = 0; number < 30; number++)
      live.run('insert into rows values (?, ?)', [number, 'x'.repeat(9000)])
    live.run('pragma wal_checkpoint(restart)')
    live.run('insert into rows values (99, null)')
    expect(readFileSync(`${path}-wal`).length).toBeGreaterThan(20 * FRAME_BYTES)
    expect(logFault(path)).toBeUndefined()
    live.close()
  })

  test('without its database is reported', () => {
    const path = crashed()
    rmSync(path)
    expect(logFault(path)).toContain('is missing, but its log')
  })
})
